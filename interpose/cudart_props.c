/* Runtime API: cudaGetDeviceProperties in the layouts of 11, 12 and 13. */
#include <string.h>

#include "interpose/cudart_props.h"

enum { V11 = 1, V12 = 2, V13 = 4, OLD = V11 | V12, NEW = V12 | V13, ALL = V11 | V12 | V13 };
enum { INT = 4, SIZE = 8, BYTES = 1, SPECIAL = -1 };

struct field { uint8_t versions, type; uint16_t count; const char *name; int attribute; };
static const struct field fields[] = {
#define PROP(versions, type, count, field, attribute) {versions, type, count, #field, attribute},
#include "interpose/devprop.def"
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

static int version_bit(int major) { return major <= 11 ? V11 : major == 12 ? V12 : V13; }

static void special(const char *name, int device, char *to, size_t bytes)
{
    if (strcmp(name, "name") == 0) {
        strncpy(to, rt_device_facts(device)->name, bytes - 1);
    } else if (strcmp(name, "uuid") == 0) {
        rt_device_uuid(device, (uint8_t *)to);
    } else {
        size_t total = 0;
        if (cu_device_total_mem_v2(&total, device) == ST_OK)
            memcpy(to, &total, sizeof total);
    }
}

size_t cudart_props_layout(int major, int device, char *to, const char *wanted, size_t *offset)
{
    size_t at = 0;
    for (size_t i = 0; i < FIELDS; i++) {
        const struct field *f = &fields[i];
        if (!(f->versions & version_bit(major)))
            continue;
        size_t end = at, bytes = (size_t)f->type * f->count;
        at = (at + f->type - 1u) / f->type * f->type;
        if (wanted && strcmp(wanted, f->name) == 0)
            *offset = at;
        if (to) {
            memset(to + end, 0, at - end + bytes);             /* holes too: programs compare whole structs */
            int value = 0;
            if (f->attribute == SPECIAL)
                special(f->name, device, to + at, bytes);
            else if (f->attribute && cu_device_get_attribute(&value, f->attribute, device) == ST_OK)
                memcpy(to + at, &value, sizeof value);       /* the upper half of a SIZE is zero: no attribute is negative there */
        }
        at += bytes;
    }
    return (at + 7) / 8 * 8;
}

static enum status properties(void *prop, int device, int major)
{
    enum status st = api_device(device);
    if (st != ST_OK)
        return st;
    if (!prop)
        return ST_INVALID_VALUE;
    cudart_props_layout(major, device, prop, NULL, NULL);
    return ST_OK;
}

/* In 12.x the plain name still had the layout of 11; programs built with its headers ask for _v2. */
enum status cuda_get_device_properties(void *prop, int device) { return properties(prop, device, cudart_major() >= 13 ? 13 : 11); }
enum status cuda_get_device_properties_v2(void *prop, int device) { return properties(prop, device, 12); }
