/* Copies between memory of any kind. */
#include "interpose/copy.h"

/* ---- the common way ---- */

enum status api_copy_linear(CUstream stream, uint64_t dst, uint64_t src, size_t bytes, enum rt_wait wait)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK || !bytes)
        return st;
    return dst && src ? rt_memcpy_linear(s, dst, src, bytes, wait) : ST_INVALID_VALUE;
}

enum status api_array_place(CUarray array, size_t x_bytes, size_t y, size_t z, size_t width_bytes, size_t height, size_t depth, struct place *out)
{
    enum status st = api_check(array, RT_ARRAY);
    if (st != ST_OK)
        return st;
    uint64_t rows = rt_array_rows(array), slices = rt_array_shape(array)->depth ? rt_array_shape(array)->depth : 1, row = rt_array_row_bytes(array);
    if (x_bytes > row || width_bytes > row - x_bytes || y > rows || height > rows - y || z > slices || depth > slices - z)
        return ST_INVALID_VALUE;
    uint64_t base, pitch;
    rt_array_storage(array, &base, &pitch);
    *out = (struct place){base + z * pitch * rows + y * pitch + x_bytes, pitch, pitch * rows};
    return ST_OK;
}

enum status copy_shape(const struct place *dst, const struct place *src, size_t width_bytes, size_t height, size_t depth, struct rt_copy *out)
{
    if (!dst->address || !src->address)
        return ST_INVALID_VALUE;
    *out = (struct rt_copy){
        .dst = dst->address, .dst_pitch = dst->pitch ? dst->pitch : width_bytes,
        .src = src->address, .src_pitch = src->pitch ? src->pitch : width_bytes,
        .width = width_bytes, .height = height, .depth = depth,
    };
    if (height > 1 && (out->dst_pitch < width_bytes || out->src_pitch < width_bytes))
        return ST_INVALID_VALUE;
    out->dst_slice = dst->slice ? dst->slice : out->dst_pitch * height;
    out->src_slice = src->slice ? src->slice : out->src_pitch * height;
    return ST_OK;
}

enum status copy_places(CUstream stream, const struct place *dst, const struct place *src, size_t width_bytes, size_t height, size_t depth, enum rt_wait wait)
{
    struct rt_stream *s;
    struct rt_copy c;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK || !width_bytes || !height || !depth)
        return st;
    st = copy_shape(dst, src, width_bytes, height, depth, &c);
    return st == ST_OK ? rt_memcpy(s, &c, wait) : st;
}

/* One side of a CUDA_MEMCPY struct. */
struct side { int type; uint64_t host, device; CUarray array; size_t x, y, z, pitch, height; };

static enum status resolve(const struct side *e, size_t width, size_t height, size_t depth, struct place *out)
{
    switch (e->type) {
    case MEMORYTYPE_HOST: out->address = e->host; break;
    case MEMORYTYPE_DEVICE: case MEMORYTYPE_UNIFIED: out->address = e->device; break;
    case MEMORYTYPE_ARRAY: return api_array_place(e->array, e->x, e->y, e->z, width, height, depth, out);
    default: return ST_INVALID_VALUE;
    }
    if (!out->address && width && height && depth)
        return ST_INVALID_VALUE;
    out->pitch = e->pitch ? e->pitch : e->x + width;
    if (out->pitch < e->x + width && (height > 1 || depth > 1))
        return ST_INVALID_VALUE;
    if (e->height && e->height < height && depth > 1)
        return ST_INVALID_VALUE;
    out->slice = out->pitch * (e->height ? e->height : height);
    out->address += e->z * out->slice + e->y * out->pitch + e->x;
    return ST_OK;
}

enum status api_copy_3d_shape(const CUDA_MEMCPY3D_PEER *c, struct rt_copy *out)
{
    if (!c || c->src_lod || c->dst_lod)
        return ST_INVALID_VALUE;
    struct side d = {c->dst_type, (uintptr_t)c->dst_host, c->dst_device, c->dst_array, c->dst_x, c->dst_y, c->dst_z, c->dst_pitch, c->dst_height};
    struct side s = {c->src_type, (uintptr_t)c->src_host, c->src_device, c->src_array, c->src_x, c->src_y, c->src_z, c->src_pitch, c->src_height};
    struct place dst = {0}, src = {0};
    enum status st = resolve(&d, c->width_bytes, c->height, c->depth, &dst);
    if (st == ST_OK)
        st = resolve(&s, c->width_bytes, c->height, c->depth, &src);
    return st == ST_OK ? copy_shape(&dst, &src, c->width_bytes, c->height, c->depth, out) : st;
}

static enum status both(const struct side *d, const struct side *s, size_t width, size_t height, size_t depth, CUstream stream, enum rt_wait wait)
{
    struct place dst = {0}, src = {0};
    enum status st = resolve(d, width, height, depth, &dst);
    if (st == ST_OK)
        st = resolve(s, width, height, depth, &src);
    return st == ST_OK ? copy_places(stream, &dst, &src, width, height, depth, wait) : st;
}

enum status api_copy_3d(const CUDA_MEMCPY3D_PEER *c, CUstream stream, enum rt_wait wait)
{
    if (!c || c->src_lod || c->dst_lod)
        return ST_INVALID_VALUE;
    struct side d = {c->dst_type, (uintptr_t)c->dst_host, c->dst_device, c->dst_array, c->dst_x, c->dst_y, c->dst_z, c->dst_pitch, c->dst_height};
    struct side s = {c->src_type, (uintptr_t)c->src_host, c->src_device, c->src_array, c->src_x, c->src_y, c->src_z, c->src_pitch, c->src_height};
    return both(&d, &s, c->width_bytes, c->height, c->depth, stream, wait);
}

static enum status copy_2d(const CUDA_MEMCPY2D *c, CUstream stream, enum rt_wait wait)
{
    if (!c)
        return ST_INVALID_VALUE;
    struct side d = {c->dst_type, (uintptr_t)c->dst_host, c->dst_device, c->dst_array, c->dst_x, c->dst_y, 0, c->dst_pitch, 0};
    struct side s = {c->src_type, (uintptr_t)c->src_host, c->src_device, c->src_array, c->src_x, c->src_y, 0, c->src_pitch, 0};
    return both(&d, &s, c->width_bytes, c->height, 1, stream, wait);
}

/* ---- straight copies ---- */

enum status cu_memcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes) { return api_copy_linear(NULL, dst, src, bytes, RT_SYNC); }
enum status cu_memcpy_async(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) { return api_copy_linear(stream, dst, src, bytes, RT_ASYNC); }

/* The sides that a name calls device memory must be memory that CUDA knows. */
static enum status known(uint64_t address, size_t bytes)
{
    struct rt_memory m;
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    return !bytes || rt_memory_find(address, &m) ? ST_OK : ST_INVALID_VALUE;
}

static enum status to_device(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream, enum rt_wait wait)
{
    enum status st = known(dst, bytes);
    return st == ST_OK ? api_copy_linear(stream, dst, (uintptr_t)src, bytes, wait) : st;
}

static enum status from_device(void *dst, CUdeviceptr src, size_t bytes, CUstream stream, enum rt_wait wait)
{
    enum status st = known(src, bytes);
    return st == ST_OK ? api_copy_linear(stream, (uintptr_t)dst, src, bytes, wait) : st;
}

static enum status on_device(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream, enum rt_wait wait)
{
    enum status st = known(dst, bytes);
    if (st == ST_OK)
        st = known(src, bytes);
    return st == ST_OK ? api_copy_linear(stream, dst, src, bytes, wait) : st;
}

enum status cu_memcpy_h2d(CUdeviceptr dst, const void *src, size_t bytes) { return to_device(dst, src, bytes, NULL, RT_SYNC); }
enum status cu_memcpy_d2h(void *dst, CUdeviceptr src, size_t bytes) { return from_device(dst, src, bytes, NULL, RT_SYNC); }
enum status cu_memcpy_d2d(CUdeviceptr dst, CUdeviceptr src, size_t bytes) { return on_device(dst, src, bytes, NULL, RT_SYNC); }
enum status cu_memcpy_h2d_async(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream) { return to_device(dst, src, bytes, stream, RT_ASYNC); }
enum status cu_memcpy_d2h_async(void *dst, CUdeviceptr src, size_t bytes, CUstream stream) { return from_device(dst, src, bytes, stream, RT_ASYNC); }
enum status cu_memcpy_d2d_async(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) { return on_device(dst, src, bytes, stream, RT_ASYNC); }

static enum status peers(CUcontext a, CUcontext b)
{
    struct rt_context *c;
    struct rt_green *any;
    enum status st = api_context_named(a, &c, &any);
    return st == ST_OK ? api_context_named(b, &c, &any) : st;
}

enum status cu_memcpy_peer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t bytes)
{
    enum status st = peers(dst_ctx, src_ctx);
    return st == ST_OK ? api_copy_linear(NULL, dst, src, bytes, RT_SYNC) : st;
}

enum status cu_memcpy_peer_async(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t bytes, CUstream stream)
{
    enum status st = peers(dst_ctx, src_ctx);
    return st == ST_OK ? api_copy_linear(stream, dst, src, bytes, RT_ASYNC) : st;
}

/* ---- rectangles and boxes ---- */

enum status cu_memcpy_2d(const CUDA_MEMCPY2D *copy) { return copy_2d(copy, NULL, RT_SYNC); }
enum status cu_memcpy_2d_async(const CUDA_MEMCPY2D *copy, CUstream stream) { return copy_2d(copy, stream, RT_ASYNC); }
enum status cu_memcpy_3d(const CUDA_MEMCPY3D *copy) { return api_copy_3d(copy, NULL, RT_SYNC); }
enum status cu_memcpy_3d_async(const CUDA_MEMCPY3D *copy, CUstream stream) { return api_copy_3d(copy, stream, RT_ASYNC); }
enum status cu_memcpy_3d_peer(const CUDA_MEMCPY3D_PEER *copy) { return api_copy_3d(copy, NULL, RT_SYNC); }
enum status cu_memcpy_3d_peer_async(const CUDA_MEMCPY3D_PEER *copy, CUstream stream) { return api_copy_3d(copy, stream, RT_ASYNC); }

/* ---- to and from the first row of an array ---- */

static enum status row(CUarray array, size_t offset, size_t bytes, struct place *out) { return api_array_place(array, offset, 0, 0, bytes, 1, 1, out); }

static enum status to_array(CUarray dst, size_t offset, uint64_t src, size_t bytes, CUstream stream, enum rt_wait wait)
{
    struct place to;
    enum status st = row(dst, offset, bytes, &to);
    return st == ST_OK ? api_copy_linear(stream, to.address, src, bytes, wait) : st;
}

static enum status from_array(uint64_t dst, CUarray src, size_t offset, size_t bytes, CUstream stream, enum rt_wait wait)
{
    struct place from;
    enum status st = row(src, offset, bytes, &from);
    return st == ST_OK ? api_copy_linear(stream, dst, from.address, bytes, wait) : st;
}

enum status cu_memcpy_h2a(CUarray dst_array, size_t dst_offset, const void *src, size_t bytes) { return to_array(dst_array, dst_offset, (uintptr_t)src, bytes, NULL, RT_SYNC); }
enum status cu_memcpy_d2a(CUarray dst_array, size_t dst_offset, CUdeviceptr src, size_t bytes) { return to_array(dst_array, dst_offset, src, bytes, NULL, RT_SYNC); }
enum status cu_memcpy_a2h(void *dst, CUarray src_array, size_t src_offset, size_t bytes) { return from_array((uintptr_t)dst, src_array, src_offset, bytes, NULL, RT_SYNC); }
enum status cu_memcpy_a2d(CUdeviceptr dst, CUarray src_array, size_t src_offset, size_t bytes) { return from_array(dst, src_array, src_offset, bytes, NULL, RT_SYNC); }

enum status cu_memcpy_h2a_async(CUarray dst_array, size_t dst_offset, const void *src, size_t bytes, CUstream stream)
{
    return to_array(dst_array, dst_offset, (uintptr_t)src, bytes, stream, RT_ASYNC);
}

enum status cu_memcpy_a2h_async(void *dst, CUarray src_array, size_t src_offset, size_t bytes, CUstream stream)
{
    return from_array((uintptr_t)dst, src_array, src_offset, bytes, stream, RT_ASYNC);
}

enum status cu_memcpy_a2a(CUarray dst_array, size_t dst_offset, CUarray src_array, size_t src_offset, size_t bytes)
{
    struct place from;
    enum status st = row(src_array, src_offset, bytes, &from);
    return st == ST_OK ? to_array(dst_array, dst_offset, from.address, bytes, NULL, RT_SYNC) : st;
}
