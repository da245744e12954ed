/* Stream-ordered allocation and memory pools, and virtual memory management. */
#include <string.h>

#include "interpose/api.h"

enum { HANDLE_POSIX_FD = 1 };                   /* CUmemAllocationHandleType */
enum { COMPRESSION_GENERIC = 1 };

/* ---- stream-ordered allocation ---- */

static enum status alloc(CUdeviceptr *out, size_t bytes, struct rt_pool *pool, CUstream stream)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    if (!out)
        return ST_INVALID_VALUE;
    struct error err = {0};
    st = rt_alloc_async(s, pool, bytes, out, &err);
    return st == ST_OUT_OF_MEMORY ? st : api_report(st, &err);
}

enum status cu_mem_alloc_async(CUdeviceptr *out, size_t bytes, CUstream stream) { return alloc(out, bytes, NULL, stream); }

enum status cu_mem_alloc_from_pool_async(CUdeviceptr *out, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    enum status st = api_check(pool, RT_POOL);
    return st == ST_OK ? alloc(out, bytes, pool, stream) : st == ST_INVALID_HANDLE ? ST_INVALID_VALUE : st;
}

enum status cu_mem_free_async(CUdeviceptr dptr, CUstream stream)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    return dptr ? rt_free_async(s, dptr) : ST_OK;
}

/* ---- pools ---- */

static enum status pool_check(CUmemoryPool pool)
{
    enum status st = api_check(pool, RT_POOL);
    return st == ST_INVALID_HANDLE ? ST_INVALID_VALUE : st;
}

enum { PINNED = 1, MANAGED };                              /* CUmemAllocationType */

/* Whose pool: the numbers of places are CUmemLocationType's. */
static enum status home_of(struct rt_home *out, CUmemLocation where, int type)
{
    if ((type != PINNED && type != MANAGED) || where.type > LOCATION_HOST_NUMA || where.type < (type == MANAGED ? LOCATION_INVALID : LOCATION_DEVICE))
        return ST_INVALID_VALUE;
    *out = (struct rt_home){{where.type, where.type == LOCATION_HOST ? 0 : where.id}, type == MANAGED};
    return where.type == LOCATION_DEVICE ? api_device(where.id) : ST_OK;
}

enum status cu_mem_pool_create(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    struct rt_home home;
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!pool || !props)
        return ST_INVALID_VALUE;
    enum status st = home_of(&home, props->location, props->alloc_type);
    if (st != ST_OK)
        return st;
    if (!props->handle_types)
        return rt_pool_create_at(pool, home, props->max_bytes);
    if (home.managed || home.place.type == RT_PLACE_HOST)
        return ST_INVALID_VALUE;
    if (props->handle_types & ~HANDLE_POSIX_FD || home.place.type != RT_PLACE_DEVICE)
        return ST_NOT_SUPPORTED;               /* other systems' handles */
    return rt_pool_create_shared(pool, home.place.id, props->max_bytes);
}

enum status cu_mem_pool_destroy(CUmemoryPool pool)
{
    enum status st = pool_check(pool);
    return st == ST_OK ? rt_pool_destroy(pool) : st;
}

enum status cu_mem_pool_trim_to(CUmemoryPool pool, size_t min_bytes_to_keep)
{
    enum status st = pool_check(pool);
    return st == ST_OK ? rt_pool_trim(pool, min_bytes_to_keep) : st;
}

/* CUmemPool_attribute counts from 1 in the order of enum rt_pool_attribute; the first three are ints, the others 64-bit. */
enum { POOL_INTS = 3 };

enum status cu_mem_pool_get_attribute(CUmemoryPool pool, int attr, void *value)
{
    enum status st = pool_check(pool);
    if (st != ST_OK)
        return st;
    if (!value || attr < 1 || attr > RT_POOL_ATTRIBUTES)
        return ST_INVALID_VALUE;
    uint64_t v;
    st = rt_pool_attribute(pool, (enum rt_pool_attribute)(attr - 1), &v);
    if (st == ST_OK)
        memcpy(value, &v, attr <= POOL_INTS ? sizeof(int) : sizeof v);
    return st;
}

enum status cu_mem_pool_set_attribute(CUmemoryPool pool, int attr, void *value)
{
    enum status st = pool_check(pool);
    if (st != ST_OK)
        return st;
    if (!value || attr < 1 || attr > RT_POOL_ATTRIBUTES)
        return ST_INVALID_VALUE;
    uint64_t v = 0;
    memcpy(&v, value, attr <= POOL_INTS ? sizeof(int) : sizeof v);
    return rt_pool_set_attribute(pool, (enum rt_pool_attribute)(attr - 1), v);
}

enum { ACCESS_NONE, ACCESS_READ = 1, ACCESS_READ_WRITE = 3 };

/* Every device reaches all memory; taking the owner's own access away is the one thing that CUDA forbids. */
enum status cu_mem_pool_set_access(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    enum status st = pool_check(pool);
    if (st != ST_OK)
        return st;
    if (!map || !count)
        return ST_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        if (map[i].location.type != LOCATION_DEVICE || (map[i].flags != ACCESS_NONE && map[i].flags != ACCESS_READ_WRITE))
            return ST_INVALID_VALUE;
        if ((st = api_device(map[i].location.id)) != ST_OK)
            return st;
        if (map[i].flags == ACCESS_NONE && map[i].location.id == rt_pool_device(pool))
            return ST_INVALID_DEVICE;
    }
    return ST_OK;
}

enum status cu_mem_pool_get_access(int *flags, CUmemoryPool pool, CUmemLocation *location)
{
    enum status st = pool_check(pool);
    if (st != ST_OK)
        return st;
    if (!flags || !location)
        return ST_INVALID_VALUE;
    bool host = location->type == LOCATION_HOST && rt_pool_device(pool) < 0;
    if (location->type != LOCATION_DEVICE && !host)
        return ST_INVALID_VALUE;
    st = host ? ST_OK : api_device(location->id);
    if (st == ST_OK)
        *flags = ACCESS_READ_WRITE;
    return st;
}

/* The forms of 13.0 name a place instead of a device. */
static enum status place(struct rt_home *out, const CUmemLocation *location, int type)
{
    return !rt_started() ? ST_NOT_INITIALIZED : location ? home_of(out, *location, type) : ST_INVALID_VALUE;
}

enum status cu_mem_get_default_mem_pool(CUmemoryPool *pool_out, CUmemLocation *location, int type)
{
    struct rt_home home;
    enum status st = place(&home, location, type);
    return st != ST_OK ? st : pool_out ? rt_home_pools(home, pool_out, NULL) : ST_INVALID_VALUE;
}

enum status cu_mem_get_mem_pool(CUmemoryPool *pool, CUmemLocation *location, int type)
{
    struct rt_home home;
    enum status st = place(&home, location, type);
    return st != ST_OK ? st : pool ? rt_home_pools(home, NULL, pool) : ST_INVALID_VALUE;
}

enum status cu_mem_set_mem_pool(CUmemLocation *location, int type, CUmemoryPool pool)
{
    struct rt_home home;
    enum status st = place(&home, location, type);
    st = st == ST_OK ? pool_check(pool) : st;
    return st == ST_OK ? rt_home_set_current(home, pool) : st;
}

/* ---- virtual memory management ---- */

enum status cu_mem_address_reserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr, uint64_t flags)
{
    (void)addr;                                /* a wish */
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!ptr || !size || size % RT_GRANULARITY || flags || (alignment & (alignment - 1)))
        return ST_INVALID_VALUE;
    return rt_reserve(size, alignment, ptr);
}

enum status cu_mem_address_free(CUdeviceptr ptr, size_t size) { return rt_started() ? rt_reserve_free(ptr, size) : ST_NOT_INITIALIZED; }

static struct rt_mapping *mapping_of(CUmemGenericAllocationHandle handle) { return (struct rt_mapping *)(uintptr_t)handle; }

enum status cu_mem_create(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop, uint64_t flags)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!handle || !prop || !size || size % RT_GRANULARITY || flags || prop->type != PINNED)
        return ST_INVALID_VALUE;
    struct rt_home home;
    enum status st = home_of(&home, prop->location, PINNED);
    bool host = home.place.type != RT_PLACE_DEVICE;
    if (st != ST_OK)
        return st;
    if (host && (home.place.id != 0 || (prop->handle_types && home.place.type == RT_PLACE_HOST)))
        return ST_INVALID_VALUE;
    if (prop->handle_types & ~HANDLE_POSIX_FD || (host && prop->handle_types))
        return ST_NOT_SUPPORTED;
    struct rt_mapping *m;
    st = host ? rt_physical_create_host(&m, size) : rt_physical_create(&m, prop->location.id, size);
    if (st == ST_OK && prop->handle_types)
        rt_physical_share(m);
    if (st == ST_OK && !host && prop->compression == COMPRESSION_GENERIC && rt_device_facts(prop->location.id)->generic_compression)
        rt_physical_set_compressed(m);
    if (st == ST_OK)
        *handle = (uintptr_t)m;
    return st;
}

enum status cu_mem_release(CUmemGenericAllocationHandle handle)
{
    enum status st = api_check(mapping_of(handle), RT_MAPPING);
    return st == ST_OK ? rt_physical_release(mapping_of(handle)) : st == ST_INVALID_HANDLE ? ST_INVALID_VALUE : st;
}

enum status cu_mem_map(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle, uint64_t flags)
{
    enum status st = api_check(mapping_of(handle), RT_MAPPING);
    if (st != ST_OK)
        return st == ST_INVALID_HANDLE ? ST_INVALID_VALUE : st;
    if (flags || !size || ptr % RT_GRANULARITY || size % RT_GRANULARITY || offset % RT_GRANULARITY)
        return ST_INVALID_VALUE;
    return rt_map(ptr, size, offset, mapping_of(handle));
}

enum status cu_mem_unmap(CUdeviceptr ptr, size_t size) { return rt_started() ? rt_unmap(ptr, size) : ST_NOT_INITIALIZED; }

/* One memory, one set of rights: the last descriptor decides. */
enum status cu_mem_set_access(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    enum { MOST = 64 };                        /* a count beyond all devices is none: what lies behind the array is not read */
    if (!desc || !count || count > MOST || !size)
        return ST_INVALID_VALUE;
    enum status st = ST_OK;
    for (size_t i = 0; i < count && st == ST_OK; i++) {
        int f = desc[i].flags;
        if (f != ACCESS_NONE && f != ACCESS_READ && f != ACCESS_READ_WRITE)
            return ST_INVALID_VALUE;
        bool device = desc[i].location.type == LOCATION_DEVICE, host = desc[i].location.type == LOCATION_HOST || desc[i].location.type == LOCATION_HOST_NUMA;
        if (device)
            st = api_device(desc[i].location.id);
        if (st == ST_OK && (device || host))
            st = rt_map_access(ptr, size, f != ACCESS_NONE, f == ACCESS_READ_WRITE);
    }
    return st;
}

enum status cu_mem_get_allocation_granularity(size_t *granularity, const CUmemAllocationProp *prop, int option)
{
    enum { MINIMUM, RECOMMENDED };
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!granularity || !prop || (option != MINIMUM && option != RECOMMENDED))
        return ST_INVALID_VALUE;
    *granularity = RT_GRANULARITY;
    return ST_OK;
}

enum status cu_mem_get_allocation_properties(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
    enum status st = api_check(mapping_of(handle), RT_MAPPING);
    if (st != ST_OK)
        return st == ST_INVALID_HANDLE ? ST_INVALID_VALUE : st;
    if (!prop)
        return ST_INVALID_VALUE;
    *prop = (CUmemAllocationProp){.type = PINNED, .handle_types = rt_physical_is_shared(mapping_of(handle)) ? HANDLE_POSIX_FD : 0,
                                  .location = {rt_physical_is_host(mapping_of(handle)) ? LOCATION_HOST : LOCATION_DEVICE, rt_physical_device(mapping_of(handle))}, .compression = rt_physical_is_compressed(mapping_of(handle))};
    return ST_OK;
}
