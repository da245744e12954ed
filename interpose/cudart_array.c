/* Runtime API: copies to, from and between arrays. Offsets count bytes across and rows down. */
#include "interpose/copy.h"
#include "interpose/cudart.h"

static bool direction(int kind) { return kind >= COPY_HOST_TO_HOST && kind <= COPY_DEFAULT; }

/* ---- rectangles ---- */

static enum status rect_to(CUarray dst, size_t x, size_t y, uint64_t src, size_t spitch, size_t width, size_t height, int kind, CUstream stream, enum rt_wait wait)
{
    struct place to, from = {src, spitch, 0};
    if (!direction(kind))
        return ST_INVALID_MEMCPY_DIRECTION;
    if (spitch < width && height > 1)
        return ST_INVALID_PITCH_VALUE;
    enum status st = api_array_place(dst, x, y, 0, width, height, 1, &to);
    return st == ST_OK ? copy_places(stream, &to, &from, width, height, 1, wait) : st;
}

static enum status rect_from(uint64_t dst, size_t dpitch, CUarray src, size_t x, size_t y, size_t width, size_t height, int kind, CUstream stream, enum rt_wait wait)
{
    struct place to = {dst, dpitch, 0}, from;
    if (!direction(kind))
        return ST_INVALID_MEMCPY_DIRECTION;
    if (dpitch < width && height > 1)
        return ST_INVALID_PITCH_VALUE;
    enum status st = api_array_place(src, x, y, 0, width, height, 1, &from);
    return st == ST_OK ? copy_places(stream, &to, &from, width, height, 1, wait) : st;
}

enum status cuda_memcpy_2d_to_array(CUarray dst, size_t w_offset, size_t h_offset, const void *src, size_t spitch, size_t width, size_t height, int kind)
{
    return rect_to(dst, w_offset, h_offset, (uintptr_t)src, spitch, width, height, kind, NULL, RT_SYNC);
}

enum status cuda_memcpy_2d_to_array_async(CUarray dst, size_t w_offset, size_t h_offset, const void *src, size_t spitch, size_t width, size_t height, int kind,
                                          CUstream stream)
{
    return rect_to(dst, w_offset, h_offset, (uintptr_t)src, spitch, width, height, kind, stream, RT_ASYNC);
}

enum status cuda_memcpy_2d_from_array(void *dst, size_t dpitch, CUarray src, size_t w_offset, size_t h_offset, size_t width, size_t height, int kind)
{
    return rect_from((uintptr_t)dst, dpitch, src, w_offset, h_offset, width, height, kind, NULL, RT_SYNC);
}

enum status cuda_memcpy_2d_from_array_async(void *dst, size_t dpitch, CUarray src, size_t w_offset, size_t h_offset, size_t width, size_t height, int kind,
                                            CUstream stream)
{
    return rect_from((uintptr_t)dst, dpitch, src, w_offset, h_offset, width, height, kind, stream, RT_ASYNC);
}

enum status cuda_memcpy_2d_array_to_array(CUarray dst, size_t w_offset_dst, size_t h_offset_dst, CUarray src, size_t w_offset_src, size_t h_offset_src,
                                          size_t width, size_t height, int kind)
{
    struct place from;
    enum status st = api_array_place(src, w_offset_src, h_offset_src, 0, width, height, 1, &from);
    return st == ST_OK ? rect_to(dst, w_offset_dst, h_offset_dst, from.address, from.pitch, width, height, kind, NULL, RT_SYNC) : st;
}

/* ---- runs of bytes that go on in the next row ---- */

/* The next piece of a run that stands at byte x of a row: it ends with the row. */
static enum status row_left(CUarray array, size_t x, size_t count, size_t *piece)
{
    enum status st = api_check(array, RT_ARRAY);
    if (st != ST_OK)
        return st;
    size_t row = rt_array_row_bytes(array);
    if (x >= row)
        return ST_INVALID_VALUE;
    *piece = count < row - x ? count : row - x;
    return ST_OK;
}

static enum status run_to(CUarray dst, size_t x, size_t y, uint64_t src, size_t count, int kind, CUstream stream, enum rt_wait wait)
{
    enum status st = ST_OK;
    for (size_t piece; count && st == ST_OK; count -= piece, src += piece, x = 0, y++)
        if ((st = row_left(dst, x, count, &piece)) == ST_OK)
            st = rect_to(dst, x, y, src, piece, piece, 1, kind, stream, wait);
        else
            break;
    return st;
}

static enum status run_from(uint64_t dst, CUarray src, size_t x, size_t y, size_t count, int kind, CUstream stream, enum rt_wait wait)
{
    enum status st = ST_OK;
    for (size_t piece; count && st == ST_OK; count -= piece, dst += piece, x = 0, y++)
        if ((st = row_left(src, x, count, &piece)) == ST_OK)
            st = rect_from(dst, piece, src, x, y, piece, 1, kind, stream, wait);
        else
            break;
    return st;
}

enum status cuda_memcpy_to_array(CUarray dst, size_t w_offset, size_t h_offset, const void *src, size_t count, int kind)
{
    return run_to(dst, w_offset, h_offset, (uintptr_t)src, count, kind, NULL, RT_SYNC);
}

enum status cuda_memcpy_to_array_async(CUarray dst, size_t w_offset, size_t h_offset, const void *src, size_t count, int kind, CUstream stream)
{
    return run_to(dst, w_offset, h_offset, (uintptr_t)src, count, kind, stream, RT_ASYNC);
}

enum status cuda_memcpy_from_array(void *dst, CUarray src, size_t w_offset, size_t h_offset, size_t count, int kind)
{
    return run_from((uintptr_t)dst, src, w_offset, h_offset, count, kind, NULL, RT_SYNC);
}

enum status cuda_memcpy_from_array_async(void *dst, CUarray src, size_t w_offset, size_t h_offset, size_t count, int kind, CUstream stream)
{
    return run_from((uintptr_t)dst, src, w_offset, h_offset, count, kind, stream, RT_ASYNC);
}

enum status cuda_memcpy_array_to_array(CUarray dst, size_t w_offset_dst, size_t h_offset_dst, CUarray src, size_t w_offset_src, size_t h_offset_src, size_t count,
                                       int kind)
{
    enum status st = ST_OK;
    for (size_t piece, other; count && st == ST_OK; count -= piece) {
        if ((st = row_left(dst, w_offset_dst, count, &piece)) != ST_OK || (st = row_left(src, w_offset_src, piece, &other)) != ST_OK)
            break;
        piece = other;
        st = cuda_memcpy_2d_array_to_array(dst, w_offset_dst, h_offset_dst, src, w_offset_src, h_offset_src, piece, 1, kind);
        uint64_t dst_row = rt_array_row_bytes(dst), src_row = rt_array_row_bytes(src);
        w_offset_dst += piece, w_offset_src += piece;
        h_offset_dst += w_offset_dst / dst_row, w_offset_dst %= dst_row;
        h_offset_src += w_offset_src / src_row, w_offset_src %= src_row;
    }
    return st;
}
