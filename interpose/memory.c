/* Memory: allocation of every kind, and what is known about an address. */
#include <string.h>

#include "interpose/api.h"
#include "runtime/base/log.h"

/* Running out of memory is an ordinary answer, which programs provoke to find the limit: it is told at level info only. */
static enum status tell(enum status st, const struct error *err)
{
    if (st == ST_OUT_OF_MEMORY) {
        if (err->text[0])
            log_info("%s", err->text);
        return st;
    }
    return api_report(st, err);
}

/* ---- device memory ---- */

enum status cu_mem_alloc(CUdeviceptr *out, size_t bytes)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (!out)
        return ST_INVALID_VALUE;
    struct error err = {0};
    return tell(rt_alloc(c, bytes, out, &err), &err);
}

enum status cu_mem_alloc_pitch(CUdeviceptr *out, size_t *pitch, size_t width_in_bytes, size_t height, unsigned element_size_bytes)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    bool element = element_size_bytes == 4 || element_size_bytes == 8 || element_size_bytes == 16;
    if (!out || !pitch || !width_in_bytes || !height || !element)
        return ST_INVALID_VALUE;
    struct error err = {0};
    return tell(rt_alloc_pitch(c, width_in_bytes, height, out, pitch, &err), &err);
}

enum status cu_mem_free(CUdeviceptr dptr)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    return st == ST_OK ? rt_free(dptr) : st;
}

enum status cu_mem_get_info(size_t *free_bytes, size_t *total)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    uint64_t left, all;
    rt_device_memory(rt_context_device(c), &left, &all);
    if (free_bytes)
        *free_bytes = left;
    if (total)
        *total = all;
    return ST_OK;
}

enum status cu_mem_get_address_range(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    struct rt_memory m;
    if (!rt_memory_find(dptr, &m))
        return ST_NOT_FOUND;
    if (pbase)
        *pbase = m.base;
    if (psize)
        *psize = m.bytes;
    return ST_OK;
}

enum status cu_mem_alloc_managed(CUdeviceptr *out, size_t bytes, unsigned flags)
{
    enum { GLOBAL = 1, HOST = 2 };
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (!out || (flags != GLOBAL && flags != HOST))
        return ST_INVALID_VALUE;
    struct error err = {0};
    return tell(rt_alloc_managed(c, bytes, flags, out, &err), &err);
}

/* ---- host memory ---- */

enum { HOST_ALLOC_FLAGS = 7, HOST_REGISTER_FLAGS = 15 };

enum status cu_mem_host_alloc(void **out, size_t bytes, unsigned flags)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (!out || flags & ~(unsigned)HOST_ALLOC_FLAGS)
        return ST_INVALID_VALUE;
    struct error err = {0};
    return tell(rt_host_alloc(c, bytes, flags, out, &err), &err);
}

enum status cu_mem_alloc_host_v2(void **out, size_t bytes) { return cu_mem_host_alloc(out, bytes, 0); }
enum status cu_mem_alloc_host(void **out, unsigned bytes) { return cu_mem_host_alloc(out, bytes, 0); }

enum status cu_mem_free_host(void *p)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    return p ? rt_host_free(p) : ST_INVALID_VALUE;
}

enum status cu_mem_host_register(void *p, size_t bytes, unsigned flags)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (!p || !bytes || flags & ~(unsigned)HOST_REGISTER_FLAGS)
        return ST_INVALID_VALUE;
    return rt_host_register(c, p, bytes, flags);
}

enum status cu_mem_host_unregister(void *p)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    return p ? rt_host_unregister(p) : ST_INVALID_VALUE;
}

static bool pinned(const void *p, struct rt_memory *m)
{
    return p && rt_memory_find((uintptr_t)p, m) && (m->kind == RT_MEMORY_HOST || m->kind == RT_MEMORY_REGISTERED);
}

enum status cu_mem_host_get_device_pointer(CUdeviceptr *out, void *p, unsigned flags)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    struct rt_memory m;
    if (!out || flags || !pinned(p, &m))
        return ST_INVALID_VALUE;
    *out = (uintptr_t)p;
    return ST_OK;
}

enum status cu_mem_host_get_flags(unsigned *flags, void *p)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    struct rt_memory m;
    if (!flags || !pinned(p, &m))
        return ST_INVALID_VALUE;
    *flags = m.flags | 2;                      /* with unified addressing all of it is mapped */
    return ST_OK;
}

/* ---- what a pointer is ---- */

/* CUpointer_attribute. */
enum {
    P_CONTEXT = 1, P_MEMORY_TYPE, P_DEVICE_POINTER, P_HOST_POINTER, P_P2P_TOKENS, P_SYNC_MEMOPS, P_BUFFER_ID, P_IS_MANAGED, P_DEVICE_ORDINAL, P_IPC_CAPABLE,
    P_RANGE_START, P_RANGE_SIZE, P_MAPPED, P_HANDLE_TYPES, P_RDMA_CAPABLE, P_ACCESS_FLAGS, P_POOL, P_MAPPING_SIZE, P_MAPPING_BASE, P_BLOCK_ID,
    P_DECOMPRESS_CAPABLE, P_ATTRIBUTES
};
static const uint8_t attribute_bytes[P_ATTRIBUTES] = {
    [P_CONTEXT] = 8, [P_MEMORY_TYPE] = 4, [P_DEVICE_POINTER] = 8, [P_HOST_POINTER] = 8, [P_P2P_TOKENS] = 16, [P_SYNC_MEMOPS] = 4, [P_BUFFER_ID] = 8,
    [P_IS_MANAGED] = 4, [P_DEVICE_ORDINAL] = 4, [P_IPC_CAPABLE] = 4, [P_RANGE_START] = 8, [P_RANGE_SIZE] = 8, [P_MAPPED] = 4, [P_HANDLE_TYPES] = 8,
    [P_RDMA_CAPABLE] = 4, [P_ACCESS_FLAGS] = 4, [P_POOL] = 8, [P_MAPPING_SIZE] = 8, [P_MAPPING_BASE] = 8, [P_BLOCK_ID] = 8, [P_DECOMPRESS_CAPABLE] = 4,
};

static bool is_host(const struct rt_memory *m) { return m->kind == RT_MEMORY_HOST || m->kind == RT_MEMORY_REGISTERED || (m->kind == RT_MEMORY_MAPPED && m->flags); }

static uint64_t pointer_value(int attribute, uint64_t ptr, const struct rt_memory *m)
{
    enum { READ_WRITE = 3 };
    switch (attribute) {
    case P_CONTEXT: return (uintptr_t)m->context;
    case P_MEMORY_TYPE: return is_host(m) ? MEMORYTYPE_HOST : MEMORYTYPE_DEVICE;
    case P_DEVICE_POINTER: return ptr;
    case P_HOST_POINTER: return is_host(m) || m->kind == RT_MEMORY_MANAGED ? ptr : 0;
    case P_SYNC_MEMOPS: return m->sync_memops;
    case P_BUFFER_ID: case P_BLOCK_ID: return m->id;
    case P_IS_MANAGED: return m->kind == RT_MEMORY_MANAGED;
    case P_DEVICE_ORDINAL: return (uint64_t)(int64_t)m->device;
    case P_RANGE_START: case P_MAPPING_BASE: return m->base;
    case P_RANGE_SIZE: case P_MAPPING_SIZE: return m->bytes;
    case P_MAPPED: return 1;
    case P_ACCESS_FLAGS: return READ_WRITE;
    case P_POOL: return (uintptr_t)m->pool;
    case P_IPC_CAPABLE: return m->kind == RT_MEMORY_DEVICE;
    case P_HANDLE_TYPES: return m->kind == RT_MEMORY_ASYNC && m->pool && rt_pool_is_shared(m->pool);
    default: return 0;                         /* what other hardware could do with it: nothing */
    }
}

enum status cu_pointer_get_attribute(void *data, int attribute, CUdeviceptr ptr)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!data || attribute < P_CONTEXT || attribute >= P_ATTRIBUTES || attribute == P_P2P_TOKENS)
        return ST_INVALID_VALUE;
    struct rt_memory m;
    if (!rt_memory_find(ptr, &m) || (attribute == P_HOST_POINTER && !pointer_value(attribute, ptr, &m)))
        return ST_INVALID_VALUE;
    uint64_t v = pointer_value(attribute, ptr, &m);
    memcpy(data, &v, attribute_bytes[attribute]);
    return ST_OK;
}

/* Unlike the single form, this one answers for pageable memory too: with nothing. */
enum status cu_pointer_get_attributes(unsigned num_attributes, int *attributes, void **data, CUdeviceptr ptr)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!num_attributes || !attributes || !data)
        return ST_INVALID_VALUE;
    struct rt_memory m;
    bool known = rt_memory_find(ptr, &m);
    for (unsigned i = 0; i < num_attributes; i++) {
        int a = attributes[i];
        if (a < P_CONTEXT || a >= P_ATTRIBUTES || a == P_P2P_TOKENS || !data[i])
            return ST_INVALID_VALUE;
        uint64_t nothing = a == P_DEVICE_ORDINAL ? (uint64_t)-2 : a == P_HOST_POINTER ? ptr : 0;
        uint64_t v = known ? pointer_value(a, ptr, &m) : nothing;
        memcpy(data[i], &v, attribute_bytes[a]);
    }
    return ST_OK;
}

enum status cu_pointer_set_attribute(const void *value, int attribute, CUdeviceptr ptr)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!value || attribute != P_SYNC_MEMOPS)
        return ST_INVALID_VALUE;
    return rt_memory_set_sync_memops(ptr, *(const unsigned *)value != 0);
}

/* ---- advice and prefetching: hints, because host memory is device memory ---- */

enum status api_location(CUmemLocation where)
{
    switch (where.type) {
    case LOCATION_DEVICE: return api_device(where.id);
    case LOCATION_HOST: case LOCATION_HOST_NUMA: case LOCATION_HOST_NUMA_CURRENT: return ST_OK;
    default: return ST_INVALID_VALUE;
    }
}

enum status api_managed_range(CUdeviceptr ptr, size_t count)
{
    struct rt_memory m;
    bool managed = ptr && count && rt_memory_find(ptr, &m) && m.kind == RT_MEMORY_MANAGED;
    return managed && count <= m.base + m.bytes - ptr ? ST_OK : ST_INVALID_VALUE;
}

/* By NUMA node is by the host. */
static struct rt_place place_of(CUmemLocation where)
{
    switch (where.type) {
    case LOCATION_DEVICE: return (struct rt_place){RT_PLACE_DEVICE, where.id};
    case LOCATION_HOST_NUMA: return (struct rt_place){RT_PLACE_NUMA, where.id};
    default: return (struct rt_place){RT_PLACE_HOST, 0};
    }
}

enum status cu_mem_advise_v2(CUdeviceptr dev_ptr, size_t count, int advice, CUmemLocation location)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (advice < RT_ADVISE_READ_MOSTLY || advice > RT_ADVISE_NOT_ACCESSED_BY)
        return ST_INVALID_VALUE;
    if (advice == RT_ADVISE_PREFERRED || advice >= RT_ADVISE_ACCESSED_BY)
        st = api_location(location);
    if (st == ST_OK)
        st = api_managed_range(dev_ptr, count);
    return st == ST_OK ? rt_advise(dev_ptr, count, (enum rt_advise)advice, place_of(location)) : st;
}

static CUmemLocation location_of(CUdevice dev)
{
    enum { CPU = -1 };
    return dev == CPU ? (CUmemLocation){LOCATION_HOST, 0} : (CUmemLocation){LOCATION_DEVICE, dev};
}

enum status cu_mem_advise(CUdeviceptr dev_ptr, size_t count, int advice, CUdevice device)
{
    return cu_mem_advise_v2(dev_ptr, count, advice, location_of(device));
}

enum status api_prefetch(CUdeviceptr dev_ptr, size_t count, CUmemLocation location)
{
    enum status st = api_location(location);
    if (st == ST_OK)
        st = api_managed_range(dev_ptr, count);
    return st == ST_OK ? rt_advise(dev_ptr, count, RT_ADVISE_PREFETCHED, place_of(location)) : st;
}

enum status cu_mem_prefetch_async_v2(CUdeviceptr dev_ptr, size_t count, CUmemLocation location, unsigned flags, CUstream stream)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    return flags ? ST_INVALID_VALUE : api_prefetch(dev_ptr, count, location);
}

enum status cu_mem_prefetch_async(CUdeviceptr dev_ptr, size_t count, CUdevice dst_device, CUstream stream)
{
    return cu_mem_prefetch_async_v2(dev_ptr, count, location_of(dst_device), 0, stream);
}

enum { CPU_DEVICE = -1, INVALID_DEVICE = -2 };

static int device_of(struct rt_place p) { return p.type == RT_PLACE_DEVICE ? p.id : p.type == RT_PLACE_NONE ? INVALID_DEVICE : CPU_DEVICE; }

/* Devices, then INVALID_DEVICE up to the end. */
static void accessed_by(const struct rt_advice *a, int *out, size_t n)
{
    size_t at = 0;
    for (int d = 0; d < 32 && at < n; d++)
        if (a->accessed_by >> d & 1)
            out[at++] = d;
    if (a->accessed_by & RT_ACCESSED_BY_HOST && at < n)
        out[at++] = CPU_DEVICE;
    while (at < n)
        out[at++] = INVALID_DEVICE;
}

/* CUmem_range_attribute. */
enum status cu_mem_range_get_attribute(void *data, size_t data_size, int attribute, CUdeviceptr dev_ptr, size_t count)
{
    enum { READ_MOSTLY = 1, PREFERRED, ACCESSED_BY, LAST_PREFETCH, PREFERRED_TYPE, PREFERRED_ID, PREFETCH_TYPE, PREFETCH_ID };
    struct rt_context *c;
    struct rt_advice a;
    enum status st = api_context(&c);
    if (st == ST_OK)
        st = api_managed_range(dev_ptr, count);
    if (st == ST_OK)
        st = rt_advice(dev_ptr, count, &a);
    if (st != ST_OK)
        return st;
    if (!data || attribute < READ_MOSTLY || attribute > PREFETCH_ID || !data_size || data_size % sizeof(int) || (attribute != ACCESSED_BY && data_size != sizeof(int)))
        return ST_INVALID_VALUE;
    int value = 0;
    switch (attribute) {
    case READ_MOSTLY: value = a.read_mostly; break;
    case PREFERRED: value = device_of(a.preferred); break;
    case ACCESSED_BY: accessed_by(&a, data, data_size / sizeof(int)); return ST_OK;
    case LAST_PREFETCH: value = device_of(a.prefetched); break;
    case PREFERRED_TYPE: value = a.preferred.type; break;
    case PREFERRED_ID: value = a.preferred.id; break;
    case PREFETCH_TYPE: value = a.prefetched.type; break;
    case PREFETCH_ID: value = a.prefetched.id; break;
    }
    memcpy(data, &value, sizeof value);
    return ST_OK;
}

enum status cu_mem_range_get_attributes(void **data, size_t *data_sizes, int *attributes, size_t num_attributes, CUdeviceptr dev_ptr, size_t count)
{
    if (!data || !data_sizes || !attributes || !num_attributes)
        return ST_INVALID_VALUE;
    enum status st = ST_OK;
    for (size_t i = 0; i < num_attributes && st == ST_OK; i++)
        st = cu_mem_range_get_attribute(data[i], data_sizes[i], attributes[i], dev_ptr, count);
    return st;
}
