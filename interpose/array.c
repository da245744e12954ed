/* Arrays: the memory behind textures and surfaces, which hosts fill and read. */
#include "interpose/api.h"

/* Bytes of one channel of a CUarray_format; 0 for formats that Heddle has no arrays of (planar video, block compression). */
static uint32_t channel_bytes(int format)
{
    enum { U8 = 1, U16 = 2, U32 = 3, S8 = 8, S16 = 9, S32 = 10, HALF = 16, FLOAT = 32, UNORM8X1 = 0xc0, SNORM16X4 = 0xcb };
    static const uint8_t norm[] = {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2};    /* UNORM 8 x1 x2 x4, 16 x1 x2 x4, then SNORM: the channels come apart from it */
    switch (format) {
    case U8: case S8: return 1;
    case U16: case S16: case HALF: return 2;
    case U32: case S32: case FLOAT: return 4;
    default: return format >= UNORM8X1 && format <= SNORM16X4 ? norm[format - UNORM8X1] : 0;
    }
}

enum status cu_array_3d_create(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (!out || !d || !d->width || (d->depth && !d->height && !(d->flags & 1)))
        return ST_INVALID_VALUE;
    uint32_t bytes = channel_bytes(d->format);
    if (!bytes || (d->channels != 1 && d->channels != 2 && d->channels != 4))
        return ST_INVALID_VALUE;
    struct rt_array_shape shape = {d->width, d->height, d->depth, bytes * d->channels, d->format, d->channels, d->flags};
    struct error err = {0};
    st = rt_array_create(out, c, &shape, &err);
    return st == ST_OUT_OF_MEMORY ? st : api_report(st, &err);
}

enum status cu_array_create(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *d)
{
    if (!d)
        return ST_INVALID_VALUE;
    return cu_array_3d_create(out, &(CUDA_ARRAY3D_DESCRIPTOR){d->width, d->height, 0, d->format, d->channels, 0});
}

enum status cu_array_destroy(CUarray array)
{
    enum status st = api_check(array, RT_ARRAY);
    return st == ST_OK ? rt_array_destroy(array) : st;
}

enum status cu_array_3d_get_descriptor(CUDA_ARRAY3D_DESCRIPTOR *d, CUarray array)
{
    enum status st = api_check(array, RT_ARRAY);
    if (st != ST_OK)
        return st;
    if (!d)
        return ST_INVALID_VALUE;
    const struct rt_array_shape *s = rt_array_shape(array);
    *d = (CUDA_ARRAY3D_DESCRIPTOR){s->width, s->height, s->depth, s->format, s->channels, s->flags};
    return ST_OK;
}

enum status cu_array_get_descriptor(CUDA_ARRAY_DESCRIPTOR *d, CUarray array)
{
    CUDA_ARRAY3D_DESCRIPTOR full;
    enum status st = cu_array_3d_get_descriptor(&full, array);
    if (st != ST_OK)
        return st;
    if (!d)
        return ST_INVALID_VALUE;
    *d = (CUDA_ARRAY_DESCRIPTOR){full.width, full.height, full.format, full.channels};
    return ST_OK;
}
