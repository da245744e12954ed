/* CUDA_VISIBLE_DEVICES: which of the machine's devices a program sees, and in which order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

/* GPU-hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh, as nvidia-smi -L prints it. */
static void uuid_text(const struct rt_device_facts *gpu, int number, char text[48])
{
    uint8_t u[16];
    device_uuid(gpu, number, u);
    int n = snprintf(text, 48, "GPU-");
    for (int i = 0; i < 16; i++)
        n += snprintf(text + n, 48 - (size_t)n, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
}

/* The device that an item of the list names: a number, or the beginning of a UUID that fits one device alone. -1: none. */
static int item_device(const struct rt_device_facts *gpu, int n, const char *item, size_t length)
{
    char text[48], *end;
    if (length > 4 && strncmp(item, "GPU-", 4) == 0) {
        int found = -1;
        for (int i = 0; i < n; i++) {
            uuid_text(gpu, i, text);
            if (strncmp(text, item, length) == 0)
                found = found < 0 ? i : n;
        }
        return found < n ? found : -1;
    }
    long number = strtol(item, &end, 10);
    return length && end == item + length && number >= 0 && number < n ? (int)number : -1;
}

int visible_devices(const char *list, const struct rt_device_facts *gpu, int n, int number[MAX_DEVICES])
{
    int count = 0;
    if (!list) {
        for (; count < n; count++)
            number[count] = count;
        return n;
    }
    for (const char *at = list;; at++) {
        at += strspn(at, " ");
        size_t length = strcspn(at, ", ");
        int device = item_device(gpu, n, at, length);
        if (device < 0)
            return count;                      /* CUDA looks no further than the first that does not exist */
        for (int i = 0; i < count; i++)
            if (number[i] == device)
                return 0;                      /* nor does it take one twice */
        number[count++] = device;
        at += length;
        at += strspn(at, " ");
        if (*at != ',')
            return count;
    }
}
