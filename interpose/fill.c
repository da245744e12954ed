/* Fills: cuMemset*. */
#include "interpose/copy.h"

enum status api_fill(CUstream stream, uint64_t dst, size_t pitch, uint32_t value, uint32_t elem_bytes, size_t width, size_t height, enum rt_wait wait)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK || !width || !height)
        return st;
    if (!dst || dst % elem_bytes || (height > 1 && (pitch < width * elem_bytes || pitch % elem_bytes)))
        return ST_INVALID_VALUE;
    return rt_memset(s, dst, pitch, value, elem_bytes, width, height, wait);
}

/* One function of each width: linear, its Async form, rows with a pitch, and that one's Async form. */
#define FILL(bits, type)                                                                                                              \
    enum status cu_memset_d##bits(CUdeviceptr dst, type value, size_t n)                                                             \
    {                                                                                                                                \
        return api_fill(NULL, dst, 0, value, bits / 8, n, 1, RT_SYNC);                                                              \
    }                                                                                                                                \
    enum status cu_memset_d##bits##_async(CUdeviceptr dst, type value, size_t n, CUstream stream)                                    \
    {                                                                                                                                \
        return api_fill(stream, dst, 0, value, bits / 8, n, 1, RT_ASYNC);                                                           \
    }                                                                                                                                \
    enum status cu_memset_2d_d##bits(CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height)                         \
    {                                                                                                                                \
        return api_fill(NULL, dst, pitch, value, bits / 8, width, height, RT_SYNC);                                                 \
    }                                                                                                                                \
    enum status cu_memset_2d_d##bits##_async(CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height, CUstream stream) \
    {                                                                                                                                \
        return api_fill(stream, dst, pitch, value, bits / 8, width, height, RT_ASYNC);                                              \
    }
FILL(8, uint8_t)
FILL(16, uint16_t)
FILL(32, unsigned)
