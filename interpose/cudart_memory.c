/* Runtime API: allocation, symbols, what a pointer is, arrays, and the functions whose signature changed between versions. */
#include <string.h>

#include "interpose/cudart.h"

/* ---- linear memory ---- */

/* A size of 0 gives NULL and no error. */
enum status cuda_malloc(void **dev_ptr, size_t size)
{
    if (!dev_ptr)
        return ST_INVALID_VALUE;
    uint64_t address = 0;
    enum status st = size ? cu_mem_alloc(&address, size) : ST_OK;
    if (st == ST_OK)
        *dev_ptr = (void *)(uintptr_t)address;
    return st;
}

enum status cuda_malloc_host(void **ptr, size_t size)
{
    if (!ptr)
        return ST_INVALID_VALUE;
    *ptr = NULL;
    return size ? cu_mem_host_alloc(ptr, size, 0) : ST_OK;
}

enum status cuda_free_host(void *ptr) { return ptr ? cu_mem_free_host(ptr) : ST_OK; }

enum status cuda_malloc_pitch(void **dev_ptr, size_t *pitch, size_t width, size_t height)
{
    enum { ELEMENT = 16 };
    if (!dev_ptr || !pitch)
        return ST_INVALID_VALUE;
    *dev_ptr = NULL;
    *pitch = 0;
    if (!width || !height)
        return ST_OK;
    uint64_t address;
    enum status st = cu_mem_alloc_pitch(&address, pitch, width, height, ELEMENT);
    if (st == ST_OK)
        *dev_ptr = (void *)(uintptr_t)address;
    return st;
}

enum status cuda_malloc_3d(struct cudaPitchedPtr *pitched_dev_ptr, struct cudaExtent extent)
{
    if (!pitched_dev_ptr)
        return ST_INVALID_VALUE;
    *pitched_dev_ptr = (struct cudaPitchedPtr){NULL, 0, extent.width, extent.height};
    return cuda_malloc_pitch(&pitched_dev_ptr->ptr, &pitched_dev_ptr->pitch, extent.width, extent.height * extent.depth);
}

/* ---- symbols ---- */

enum status cuda_get_symbol_address(void **dev_ptr, const void *symbol)
{
    uint64_t address, bytes;
    if (!dev_ptr)
        return ST_INVALID_VALUE;
    enum status st = cudart_symbol(symbol, &address, &bytes);
    if (st == ST_OK)
        *dev_ptr = (void *)(uintptr_t)address;
    return st;
}

enum status cuda_get_symbol_size(size_t *size, const void *symbol)
{
    uint64_t address, bytes;
    if (!size)
        return ST_INVALID_VALUE;
    enum status st = cudart_symbol(symbol, &address, &bytes);
    if (st == ST_OK)
        *size = bytes;
    return st;
}

/* ---- what a pointer is ---- */

enum status cuda_pointer_get_attributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
    enum { UNREGISTERED, HOST, DEVICE, MANAGED, UNREGISTERED_DEVICE = -2 };
    if (!attributes)
        return ST_INVALID_VALUE;
    struct rt_memory m;
    void *p = (void *)(uintptr_t)ptr;
    struct cudaPointerAttributes a = {.type = UNREGISTERED, .device = UNREGISTERED_DEVICE, .host_pointer = p};
    if (rt_memory_find((uintptr_t)ptr, &m)) {
        a.type = m.kind == RT_MEMORY_MANAGED ? MANAGED : m.kind == RT_MEMORY_HOST || m.kind == RT_MEMORY_REGISTERED ? HOST : DEVICE;
        a.device = m.device;
        a.device_pointer = p;
        a.host_pointer = a.type == DEVICE ? NULL : p;
    }
    size_t bytes = cudart_major() < 13 ? offsetof(struct cudaPointerAttributes, reserved) : sizeof a;
    memcpy(attributes, &a, bytes);
    return ST_OK;
}

/* ---- functions that changed between versions ---- */

/* Before 13.0 a device number stood where the place is now: the low half of the same register. */
static CUmemLocation place(CUmemLocation location)
{
    enum { CPU = -1 };
    if (cudart_major() >= 13)
        return location;
    return location.type == CPU ? (CUmemLocation){LOCATION_HOST, 0} : (CUmemLocation){LOCATION_DEVICE, location.type};
}

enum status cuda_mem_advise(CUdeviceptr ptr, size_t count, int advice, CUmemLocation location)
{
    return cu_mem_advise_v2(ptr, count, advice, place(location));
}

/* Before 13.0: (ptr, count, device, stream), so the stream stands where the flags are now. */
enum status cuda_mem_prefetch_async(CUdeviceptr ptr, size_t count, CUmemLocation location, unsigned flags, CUstream stream)
{
    bool old = cudart_major() < 13;
    return cu_mem_prefetch_async_v2(ptr, count, place(location), old ? 0 : flags, old ? NULL : stream);
}

/* 11.x: (stream, status, id). 12.x: the same under this name. 13.0: with graph, dependencies and edges, set only while capturing. */
enum status cuda_stream_get_capture_info(CUstream stream, int *status, uint64_t *id, void *graph, void *dependencies, void *edges, size_t *n)
{
    return cudart_major() < 13 ? cu_stream_get_capture_info(stream, status, id) : cu_stream_get_capture_info_v3(stream, status, id, graph, dependencies, edges, n);
}

/* ---- creation without flags ---- */

enum status cuda_stream_create(CUstream *stream) { return cu_stream_create(stream, 0); }
enum status cuda_event_create(CUevent *event) { return cu_event_create(event, 0); }
