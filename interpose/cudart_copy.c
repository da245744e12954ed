/* Runtime API: copies and fills. The direction that a program states is checked for being one; the addresses say the rest. */
#include "interpose/copy.h"
#include "interpose/cudart.h"

static bool direction(int kind) { return kind >= COPY_HOST_TO_HOST && kind <= COPY_DEFAULT; }

/* What the stated direction calls device memory must be memory that CUDA knows. */
enum status cudart_directed(uint64_t dst, uint64_t src, int kind)
{
    struct rt_memory m;
    if (!direction(kind))
        return ST_INVALID_MEMCPY_DIRECTION;
    if ((kind == COPY_HOST_TO_DEVICE || kind == COPY_DEVICE_TO_DEVICE) && !rt_memory_find(dst, &m))
        return ST_INVALID_VALUE;
    if ((kind == COPY_DEVICE_TO_HOST || kind == COPY_DEVICE_TO_DEVICE) && !rt_memory_find(src, &m))
        return ST_INVALID_VALUE;
    return ST_OK;
}

/* ---- straight copies ---- */

static enum status linear(void *dst, const void *src, size_t count, int kind, CUstream stream, enum rt_wait wait)
{
    enum status st = count ? cudart_directed((uintptr_t)dst, (uintptr_t)src, kind) : direction(kind) ? ST_OK : ST_INVALID_MEMCPY_DIRECTION;
    return st == ST_OK ? api_copy_linear(stream, (uintptr_t)dst, (uintptr_t)src, count, wait) : st;
}

enum status cuda_memcpy(void *dst, const void *src, size_t count, int kind) { return linear(dst, src, count, kind, NULL, RT_SYNC); }

enum status cuda_memcpy_async(void *dst, const void *src, size_t count, int kind, CUstream stream)
{
    return linear(dst, src, count, kind, stream, RT_ASYNC);
}

enum status cuda_memcpy_peer_async(void *dst, int dst_device, const void *src, int src_device, size_t count, CUstream stream)
{
    if (api_device(dst_device) != ST_OK || api_device(src_device) != ST_OK)
        return ST_INVALID_DEVICE;
    return api_copy_linear(stream, (uintptr_t)dst, (uintptr_t)src, count, RT_ASYNC);
}

enum status cuda_memcpy_peer(void *dst, int dst_device, const void *src, int src_device, size_t count)
{
    if (api_device(dst_device) != ST_OK || api_device(src_device) != ST_OK)
        return ST_INVALID_DEVICE;
    return api_copy_linear(NULL, (uintptr_t)dst, (uintptr_t)src, count, RT_SYNC);
}

/* ---- symbols ---- */

enum status cudart_symbol_part(const void *symbol, size_t offset, size_t count, uint64_t *address)
{
    uint64_t base, bytes;
    enum status st = cudart_symbol(symbol, &base, &bytes);
    if (st != ST_OK)
        return st;
    *address = base + offset;
    return offset <= bytes && count <= bytes - offset ? ST_OK : ST_INVALID_VALUE;
}

static enum status to_symbol(const void *symbol, const void *src, size_t count, size_t offset, int kind, CUstream stream, enum rt_wait wait)
{
    uint64_t dst = 0;
    if (kind != COPY_HOST_TO_DEVICE && kind != COPY_DEVICE_TO_DEVICE && kind != COPY_DEFAULT)
        return ST_INVALID_MEMCPY_DIRECTION;
    enum status st = cudart_symbol_part(symbol, offset, count, &dst);
    return st == ST_OK ? api_copy_linear(stream, dst, (uintptr_t)src, count, wait) : st;
}

static enum status from_symbol(void *dst, const void *symbol, size_t count, size_t offset, int kind, CUstream stream, enum rt_wait wait)
{
    uint64_t src = 0;
    if (kind != COPY_DEVICE_TO_HOST && kind != COPY_DEVICE_TO_DEVICE && kind != COPY_DEFAULT)
        return ST_INVALID_MEMCPY_DIRECTION;
    enum status st = cudart_symbol_part(symbol, offset, count, &src);
    return st == ST_OK ? api_copy_linear(stream, (uintptr_t)dst, src, count, wait) : st;
}

enum status cuda_memcpy_to_symbol(const void *symbol, const void *src, size_t count, size_t offset, int kind)
{
    return to_symbol(symbol, src, count, offset, kind, NULL, RT_SYNC);
}

enum status cuda_memcpy_to_symbol_async(const void *symbol, const void *src, size_t count, size_t offset, int kind, CUstream stream)
{
    return to_symbol(symbol, src, count, offset, kind, stream, RT_ASYNC);
}

enum status cuda_memcpy_from_symbol(void *dst, const void *symbol, size_t count, size_t offset, int kind)
{
    return from_symbol(dst, symbol, count, offset, kind, NULL, RT_SYNC);
}

enum status cuda_memcpy_from_symbol_async(void *dst, const void *symbol, size_t count, size_t offset, int kind, CUstream stream)
{
    return from_symbol(dst, symbol, count, offset, kind, stream, RT_ASYNC);
}

/* ---- rectangles ---- */

static enum status rows(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, int kind, CUstream stream, enum rt_wait wait)
{
    if (!direction(kind))
        return ST_INVALID_MEMCPY_DIRECTION;
    if (!width || !height)
        return ST_OK;
    if (dpitch < width || spitch < width)
        return ST_INVALID_PITCH_VALUE;
    enum status st = cudart_directed((uintptr_t)dst, (uintptr_t)src, kind);
    struct place to = {(uintptr_t)dst, dpitch, 0}, from = {(uintptr_t)src, spitch, 0};
    return st == ST_OK ? copy_places(stream, &to, &from, width, height, 1, wait) : st;
}

enum status cuda_memcpy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, int kind)
{
    return rows(dst, dpitch, src, spitch, width, height, kind, NULL, RT_SYNC);
}

enum status cuda_memcpy_2d_async(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, int kind, CUstream stream)
{
    return rows(dst, dpitch, src, spitch, width, height, kind, stream, RT_ASYNC);
}

/* ---- boxes ---- */

static uint32_t texel(CUarray array) { return rt_is(array, RT_ARRAY) ? rt_array_shape(array)->texel_bytes : 1; }

struct end { CUarray array; struct cudaPos pos; struct cudaPitchedPtr ptr; };

/* Positions count texels in an array and bytes beside one; the extent counts texels when either end is an array. */
static enum status end_place(const struct end *e, size_t width_bytes, size_t height, size_t depth, struct place *out)
{
    if (e->array)
        return api_array_place(e->array, e->pos.x * texel(e->array), e->pos.y, e->pos.z, width_bytes, height, depth, out);
    size_t pitch = e->ptr.pitch, slice = pitch * (e->ptr.ysize ? e->ptr.ysize : height);
    if (!e->ptr.ptr)
        return ST_INVALID_VALUE;
    if (pitch < width_bytes + e->pos.x && (height > 1 || depth > 1))
        return ST_INVALID_PITCH_VALUE;
    *out = (struct place){(uintptr_t)e->ptr.ptr + e->pos.z * slice + e->pos.y * pitch + e->pos.x, pitch, slice};
    return ST_OK;
}

static enum status box(const struct end *d, const struct end *s, struct cudaExtent extent, CUstream stream, enum rt_wait wait)
{
    size_t width = extent.width * (d->array ? texel(d->array) : s->array ? texel(s->array) : 1);
    if (!width || !extent.height || !extent.depth)
        return ST_OK;
    struct place dst, src;
    enum status st = end_place(d, width, extent.height, extent.depth, &dst);
    if (st == ST_OK)
        st = end_place(s, width, extent.height, extent.depth, &src);
    return st == ST_OK ? copy_places(stream, &dst, &src, width, extent.height, extent.depth, wait) : st;
}

enum status cudart_copy_shape(const struct cudaMemcpy3DParms *p, struct rt_copy *out)
{
    if (!p)
        return ST_INVALID_VALUE;
    if (!direction(p->kind))
        return ST_INVALID_MEMCPY_DIRECTION;
    struct end d = {p->dst_array, p->dst_pos, p->dst}, s = {p->src_array, p->src_pos, p->src};
    size_t width = p->extent.width * (d.array ? texel(d.array) : s.array ? texel(s.array) : 1);
    struct place dst, src;
    enum status st = end_place(&d, width, p->extent.height, p->extent.depth, &dst);
    if (st == ST_OK)
        st = end_place(&s, width, p->extent.height, p->extent.depth, &src);
    return st == ST_OK ? copy_shape(&dst, &src, width, p->extent.height, p->extent.depth, out) : st;
}

static enum status copy_box(const struct cudaMemcpy3DParms *p, CUstream stream, enum rt_wait wait)
{
    if (!p)
        return ST_INVALID_VALUE;
    if (!direction(p->kind))
        return ST_INVALID_MEMCPY_DIRECTION;
    return box(&(struct end){p->dst_array, p->dst_pos, p->dst}, &(struct end){p->src_array, p->src_pos, p->src}, p->extent, stream, wait);
}

enum status cuda_memcpy_3d(const struct cudaMemcpy3DParms *p) { return copy_box(p, NULL, RT_SYNC); }
enum status cuda_memcpy_3d_async(const struct cudaMemcpy3DParms *p, CUstream stream) { return copy_box(p, stream, RT_ASYNC); }

static enum status copy_box_peer(const struct cudaMemcpy3DPeerParms *p, CUstream stream, enum rt_wait wait)
{
    if (!p)
        return ST_INVALID_VALUE;
    if (api_device(p->src_device) != ST_OK || api_device(p->dst_device) != ST_OK)
        return ST_INVALID_DEVICE;
    return box(&(struct end){p->dst_array, p->dst_pos, p->dst}, &(struct end){p->src_array, p->src_pos, p->src}, p->extent, stream, wait);
}

enum status cuda_memcpy_3d_peer(const struct cudaMemcpy3DPeerParms *p) { return copy_box_peer(p, NULL, RT_SYNC); }
enum status cuda_memcpy_3d_peer_async(const struct cudaMemcpy3DPeerParms *p, CUstream stream) { return copy_box_peer(p, stream, RT_ASYNC); }

/* ---- fills ---- */

static enum status fill(void *p, size_t pitch, int value, size_t width, size_t height, CUstream stream, enum rt_wait wait)
{
    return api_fill(stream, (uintptr_t)p, pitch, (uint8_t)value, 1, width, height, wait);
}

enum status cuda_memset(void *dev_ptr, int value, size_t count) { return fill(dev_ptr, 0, value, count, 1, NULL, RT_SYNC); }
enum status cuda_memset_async(void *dev_ptr, int value, size_t count, CUstream stream) { return fill(dev_ptr, 0, value, count, 1, stream, RT_ASYNC); }

enum status cuda_memset_2d(void *dev_ptr, size_t pitch, int value, size_t width, size_t height)
{
    return fill(dev_ptr, pitch, value, width, height, NULL, RT_SYNC);
}

enum status cuda_memset_2d_async(void *dev_ptr, size_t pitch, int value, size_t width, size_t height, CUstream stream)
{
    return fill(dev_ptr, pitch, value, width, height, stream, RT_ASYNC);
}

static enum status fill_box(struct cudaPitchedPtr p, int value, struct cudaExtent extent, CUstream stream, enum rt_wait wait)
{
    enum status st = ST_OK;
    if (p.ysize == extent.height || extent.depth <= 1)      /* slices follow each other: one fill */
        return fill(p.ptr, p.pitch, value, extent.width, extent.height * extent.depth, stream, wait);
    for (size_t z = 0; z < extent.depth && st == ST_OK; z++)
        st = fill((char *)p.ptr + z * p.pitch * p.ysize, p.pitch, value, extent.width, extent.height, stream, wait);
    return st;
}

enum status cuda_memset_3d(struct cudaPitchedPtr pitched_dev_ptr, int value, struct cudaExtent extent) { return fill_box(pitched_dev_ptr, value, extent, NULL, RT_SYNC); }
enum status cuda_memset_3d_async(struct cudaPitchedPtr pitched_dev_ptr, int value, struct cudaExtent extent, CUstream stream)
{
    return fill_box(pitched_dev_ptr, value, extent, stream, RT_ASYNC);
}
