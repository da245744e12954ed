/* The `tensormap` line of a case: arguments of cuTensorMapEncodeTiled, or of cuTensorMapEncodeIm2col when there are pixels, of ..Im2colWide when there is a mode.
 *
 *   tensormap type=7 dims=12,5 strides=64 box=4,3 steps=1,1 swizzle=3 fill=1
 *   tensormap type=6 dims=32,14,9,4 strides=64,896,8064 lower=-1,-1 upper=-1,-1 channels=8 pixels=16
 *
 * Numbers are those of the driver's enumerators; what is left out is 0, steps are 1. The tensor begins at the buffer of the case. Included by run.c only. */
#ifndef HEDDLE_TESTS_PTX_MAP_H
#define HEDDLE_TESTS_PTX_MAP_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *dims, const uint64_t *strides, const unsigned *box, const unsigned *steps,
                           int interleave, int swizzle, int promotion, int fill);
int cuTensorMapEncodeIm2col(void *map, int type, unsigned rank, void *address, const uint64_t *dims, const uint64_t *strides, const int *lower, const int *upper,
                            unsigned channels, unsigned pixels, const unsigned *steps, int interleave, int swizzle, int promotion, int fill);
int cuTensorMapEncodeIm2colWide(void *map, int type, unsigned rank, void *address, const uint64_t *dims, const uint64_t *strides, int lower, int upper, unsigned channels,
                                unsigned pixels, const unsigned *steps, int interleave, int mode, int swizzle, int promotion, int fill);

/* The numbers behind `key=` in text; how many. */
static unsigned map_numbers(const char *text, const char *key, long long v[5])
{
    size_t n = strlen(key);
    for (const char *p = text; (p = strstr(p, key)) != NULL; p += n) {
        if ((p != text && p[-1] != ' ') || p[n] != '=')
            continue;
        unsigned count = 0;
        char *end = (char *)(uintptr_t)p + n;
        do
            v[count++] = strtoll(end + 1, &end, 0);
        while (*end == ',' && count < 5);
        return count;
    }
    return 0;
}

static long long map_number(const char *text, const char *key)
{
    long long v[5] = {0};
    return map_numbers(text, key, v) ? v[0] : 0;
}

/* The CUDA error of the call. */
static int map_encode(void *map, const char *text, unsigned long long address)
{
    long long v[5];
    uint64_t dims[5] = {0}, strides[5] = {0};
    unsigned box[5] = {0}, steps[5] = {1, 1, 1, 1, 1}, rank = map_numbers(text, "dims", v);
    int lower[3] = {0}, upper[3] = {0};
    for (unsigned i = 0; i < rank; i++)
        dims[i] = (uint64_t)v[i];
    for (unsigned i = 0, n = map_numbers(text, "strides", v); i < n; i++)
        strides[i] = (uint64_t)v[i];
    for (unsigned i = 0, n = map_numbers(text, "box", v); i < n; i++)
        box[i] = (unsigned)v[i];
    for (unsigned i = 0, n = map_numbers(text, "steps", v); i < n; i++)
        steps[i] = (unsigned)v[i];
    for (unsigned i = 0, n = map_numbers(text, "lower", v); i < n && i < 3; i++)
        lower[i] = (int)v[i];
    for (unsigned i = 0, n = map_numbers(text, "upper", v); i < n && i < 3; i++)
        upper[i] = (int)v[i];
    int type = (int)map_number(text, "type"), interleave = (int)map_number(text, "interleave"), swizzle = (int)map_number(text, "swizzle"),
        fill = (int)map_number(text, "fill");
    unsigned channels = (unsigned)map_number(text, "channels"), pixels = (unsigned)map_number(text, "pixels");
    void *at = (void *)(uintptr_t)address;
    if (map_numbers(text, "mode", v))
        return cuTensorMapEncodeIm2colWide(map, type, rank, at, dims, strides, lower[0], upper[0], channels, pixels, steps, interleave, (int)v[0], swizzle, 0, fill);
    if (pixels)
        return cuTensorMapEncodeIm2col(map, type, rank, at, dims, strides, lower, upper, channels, pixels, steps, interleave, swizzle, 0, fill);
    return cuTensorMapEncodeTiled(map, type, rank, at, dims, strides, box, steps, interleave, swizzle, 0, fill);
}

#endif
