/* Batches: copies, prefetches and discards, many in one call. As a whole they are in stream order; among themselves they may run in any. */
#include "interpose/copy.h"
#include "interpose/cudart.h"

/* CUmemcpySrcAccessOrder, CUmemcpy3DOperandType. */
enum { ORDER_STREAM = 1, ORDER_DURING_CALL, ORDER_ANY };
enum { OPERAND_POINTER = 1, OPERAND_ARRAY = 2 };

/* The legacy stream is no place for a batch. */
static enum status stream_check(CUstream stream)
{
    bool legacy = (uintptr_t)stream == STREAM_LEGACY || (!stream && !api_thread.per_thread_stream);
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    return st == ST_OK && legacy ? ST_INVALID_VALUE : st;
}

/* Indices of the first member of each stretch: from 0 on, rising, all below count. */
static enum status stretches_check(const void *of, const size_t *first, size_t n, size_t count)
{
    if (!of || !first || !n || n > count || first[0])
        return ST_INVALID_VALUE;
    for (size_t i = 1; i < n; i++)
        if (first[i] <= first[i - 1] || first[i] >= count)
            return ST_INVALID_VALUE;
    return ST_OK;
}

/* What is said about the source may only loosen the order, or tighten it to the call. */
static enum status order_wait(int order, uint64_t src, enum rt_wait *wait)
{
    struct rt_memory m;
    *wait = order == ORDER_DURING_CALL && rt_memory_find(src, &m) ? RT_SYNC : RT_ASYNC;       /* pageable sources are read in the call anyway */
    return order >= ORDER_STREAM && order <= ORDER_ANY ? ST_OK : ST_INVALID_VALUE;
}

/* ---- copies ---- */

enum status cu_memcpy_batch_async_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *attrs_idxs,
                                     size_t num_attrs, CUstream stream)
{
    enum status st = stream_check(stream);
    if (st == ST_OK)
        st = dsts && srcs && sizes && count ? stretches_check(attrs, attrs_idxs, num_attrs, count) : ST_INVALID_VALUE;
    for (size_t i = 0, k = 0; i < count && st == ST_OK; i++) {
        enum rt_wait wait;
        while (k + 1 < num_attrs && attrs_idxs[k + 1] <= i)
            k++;
        st = order_wait(attrs[k].src_order, srcs[i], &wait);
        if (st == ST_OK)
            st = api_copy_linear(stream, dsts[i], srcs[i], sizes[i], wait);
    }
    return st;
}

enum status cu_memcpy_batch_async(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *attrs_idxs,
                                  size_t num_attrs, size_t *fail_idx, CUstream stream)
{
    if (fail_idx)
        *fail_idx = SIZE_MAX;                  /* no copy in particular */
    return cu_memcpy_batch_async_v2(dsts, srcs, sizes, count, attrs, attrs_idxs, num_attrs, stream);
}

static bool array_of(const CUmemcpy3DOperand *o, uint64_t *texel_bytes)
{
    if (o->type != OPERAND_ARRAY || api_check(o->op.array.array, RT_ARRAY) != ST_OK)
        return false;
    *texel_bytes = rt_array_shape(o->op.array.array)->texel_bytes;
    return true;
}

static enum status operand(const CUmemcpy3DOperand *o, const CUDA_MEMCPY3D_BATCH_OP *op, uint64_t element, struct place *out)
{
    uint64_t width = op->width * element;
    if (o->type == OPERAND_ARRAY)
        return api_array_place(o->op.array.array, o->op.array.x * element, o->op.array.y, o->op.array.z, width, op->height, op->depth, out);
    uint64_t row = o->op.ptr.row_length, layer = o->op.ptr.layer_height;
    if (o->type != OPERAND_POINTER || !o->op.ptr.ptr || (row && row < op->width) || (layer && layer < op->height))
        return ST_INVALID_VALUE;
    uint64_t pitch = (row ? row : op->width) * element;
    *out = (struct place){o->op.ptr.ptr, pitch, pitch * (layer ? layer : op->height)};
    return ST_OK;
}

static enum status copy_box(const CUDA_MEMCPY3D_BATCH_OP *op, CUstream stream)
{
    uint64_t element = 1, other = 1;
    struct place dst = {0}, src = {0};
    enum rt_wait wait;
    bool from_array = array_of(&op->src, &element), to_array = array_of(&op->dst, &other);
    if (!op->width || !op->height || !op->depth || op->width > SIZE_MAX / 64 || (from_array && to_array && element != other))
        return ST_INVALID_VALUE;
    element = from_array ? element : other;
    enum status st = operand(&op->dst, op, element, &dst);
    if (st == ST_OK)
        st = operand(&op->src, op, element, &src);
    if (st == ST_OK)
        st = order_wait(op->src_order, src.address, &wait);
    return st == ST_OK ? copy_places(stream, &dst, &src, op->width * element, op->height, op->depth, wait) : st;
}

enum status cu_memcpy_3d_batch_async_v2(size_t num_ops, CUDA_MEMCPY3D_BATCH_OP *ops, uint64_t flags, CUstream stream)
{
    enum status st = stream_check(stream);
    if (st == ST_OK)
        st = num_ops && ops && !flags ? ST_OK : ST_INVALID_VALUE;
    for (size_t i = 0; i < num_ops && st == ST_OK; i++)
        st = copy_box(&ops[i], stream);
    return st;
}

enum status cu_memcpy_3d_batch_async(size_t num_ops, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail_idx, uint64_t flags, CUstream stream)
{
    if (fail_idx)
        *fail_idx = SIZE_MAX;
    return cu_memcpy_3d_batch_async_v2(num_ops, ops, flags, stream);
}

/* ---- prefetches and discards: checked; host memory is device memory, and what is in discarded memory may as well stay ---- */

static enum status ranges_check(const CUdeviceptr *ptrs, const size_t *sizes, size_t count, uint64_t flags, CUstream stream)
{
    enum status st = stream_check(stream);
    if (st == ST_OK)
        st = ptrs && sizes && count && !flags ? ST_OK : ST_INVALID_VALUE;
    for (size_t i = 0; i < count && st == ST_OK; i++)
        st = api_managed_range(ptrs[i], sizes[i]);
    return st;
}

enum status cu_mem_prefetch_batch_async(CUdeviceptr *ptrs, size_t *sizes, size_t count, CUmemLocation *locations, size_t *location_idxs, size_t num_locations,
                                        uint64_t flags, CUstream stream)
{
    enum status st = ranges_check(ptrs, sizes, count, flags, stream);
    if (st == ST_OK)
        st = stretches_check(locations, location_idxs, num_locations, count);
    for (size_t i = 0; i < num_locations && st == ST_OK; i++)
        st = api_location(locations[i]);
    for (size_t i = 0, k = 0; i < count && st == ST_OK; i++) {
        while (k + 1 < num_locations && location_idxs[k + 1] <= i)
            k++;
        st = api_prefetch(ptrs[i], sizes[i], locations[k]);
    }
    return st;
}

enum status cu_mem_discard_batch_async(CUdeviceptr *ptrs, size_t *sizes, size_t count, uint64_t flags, CUstream stream)
{
    return ranges_check(ptrs, sizes, count, flags, stream);
}

/* ---- the runtime API: 13.0 has no index of the copy that failed ---- */

enum { NO_FAIL_IDX_SINCE = 13 };

enum status cuda_memcpy_batch_async(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *attrs_idxs,
                                    size_t num_attrs, void *fail_or_stream, CUstream stream)
{
    if (cudart_major() >= NO_FAIL_IDX_SINCE)
        return cu_memcpy_batch_async_v2(dsts, srcs, sizes, count, attrs, attrs_idxs, num_attrs, fail_or_stream);
    return cu_memcpy_batch_async(dsts, srcs, sizes, count, attrs, attrs_idxs, num_attrs, fail_or_stream, stream);
}

enum status cuda_memcpy_3d_batch_async(size_t num_ops, CUDA_MEMCPY3D_BATCH_OP *ops, uintptr_t fail_or_flags, uintptr_t flags_or_stream, CUstream stream)
{
    if (cudart_major() >= NO_FAIL_IDX_SINCE)
        return cu_memcpy_3d_batch_async_v2(num_ops, ops, fail_or_flags, (CUstream)flags_or_stream);
    return cu_memcpy_3d_batch_async(num_ops, ops, (size_t *)fail_or_flags, flags_or_stream, stream);
}
