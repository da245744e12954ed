/* What goes to other processes and comes from them: IPC handles, and pools and physical allocations as file descriptors. */
#include "interpose/api.h"

/* CUmemAllocationHandleType. */
enum { HANDLE_POSIX_FD = 1, HANDLE_TYPES = 1 | 2 | 4 | 8 };

/* The one type that there is on Linux without a fabric. */
static enum status handle_type(int type)
{
    if (type == HANDLE_POSIX_FD)
        return ST_OK;
    return type && !(type & ~HANDLE_TYPES) ? ST_NOT_SUPPORTED : ST_INVALID_VALUE;
}

/* ---- IPC handles ---- */

enum status cu_ipc_get_mem(struct rt_share *handle, CUdeviceptr dptr)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    return handle && dptr ? rt_share_memory(dptr, handle) : ST_INVALID_VALUE;
}

enum status cu_ipc_open_mem(CUdeviceptr *dptr, struct rt_share handle, unsigned flags)
{
    enum { LAZY_ENABLE_PEER_ACCESS = 1 };
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (!dptr || flags & ~(unsigned)LAZY_ENABLE_PEER_ACCESS)
        return ST_INVALID_VALUE;
    struct error err = {0};
    return api_report(rt_share_memory_open(c, &handle, dptr, &err), &err);
}

enum status cu_ipc_close_mem(CUdeviceptr dptr)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    return st == ST_OK ? rt_share_memory_close(dptr) : st;
}

enum status cu_ipc_get_event(struct rt_share *handle, CUevent event)
{
    enum status st = api_check(event, RT_EVENT);
    if (st != ST_OK)
        return st;
    return handle ? rt_share_event(event, handle) : ST_INVALID_VALUE;
}

enum status cu_ipc_open_event(CUevent *event, struct rt_share handle)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    return event ? rt_share_event_open(event, c, &handle) : ST_INVALID_VALUE;
}

/* ---- pools ---- */

static enum status pool_check(CUmemoryPool pool)
{
    enum status st = api_check(pool, RT_POOL);
    return st == ST_INVALID_HANDLE ? ST_INVALID_VALUE : st;
}

enum status cu_mem_pool_export(void *handle_out, CUmemoryPool pool, int type, uint64_t flags)
{
    enum status st = pool_check(pool);
    if (st != ST_OK)
        return st;
    if (!handle_out || flags)
        return ST_INVALID_VALUE;
    st = handle_type(type);
    return st == ST_OK ? rt_pool_export(pool, handle_out) : st;
}

/* The handle is the descriptor itself. */
enum status cu_mem_pool_import(CUmemoryPool *pool, void *handle, int type, uint64_t flags)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!pool || flags)
        return ST_INVALID_VALUE;
    enum status st = handle_type(type);
    return st == ST_OK ? rt_pool_import(pool, (int)(intptr_t)handle) : st;
}

enum status cuda_mem_pool_export(void *handle_out, CUmemoryPool pool, int type, unsigned flags) { return cu_mem_pool_export(handle_out, pool, type, flags); }
enum status cuda_mem_pool_import(CUmemoryPool *pool, void *handle, int type, unsigned flags) { return cu_mem_pool_import(pool, handle, type, flags); }

enum status cu_mem_pool_export_pointer(struct rt_share *data, CUdeviceptr ptr)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    return data ? rt_pool_export_pointer(ptr, data) : ST_INVALID_VALUE;
}

enum status cu_mem_pool_import_pointer(CUdeviceptr *ptr, CUmemoryPool pool, const struct rt_share *data)
{
    enum status st = pool_check(pool);
    struct rt_context *c;
    if (st == ST_OK)                           /* a pool needs no context, and cudart makes none current for it */
        st = rt_current() ? api_context(&c) : api_primary(rt_pool_device(pool), &c);
    if (st != ST_OK)
        return st;
    struct error err = {0};
    return ptr && data ? api_report(rt_pool_import_pointer(pool, c, data, ptr, &err), &err) : ST_INVALID_VALUE;
}

/* ---- physical allocations ---- */

static struct rt_mapping *mapping_of(CUmemGenericAllocationHandle handle) { return (struct rt_mapping *)(uintptr_t)handle; }

enum status cu_mem_export(void *out, CUmemGenericAllocationHandle handle, int type, uint64_t flags)
{
    enum status st = api_check(mapping_of(handle), RT_MAPPING);
    if (st != ST_OK)
        return st == ST_INVALID_HANDLE ? ST_INVALID_VALUE : st;
    if (!out || flags)
        return ST_INVALID_VALUE;
    st = handle_type(type);
    return st == ST_OK ? rt_physical_export(mapping_of(handle), out) : st;
}

enum status cu_mem_import(CUmemGenericAllocationHandle *handle, void *os_handle, int type)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!handle)
        return ST_INVALID_VALUE;
    struct rt_mapping *m = NULL;
    enum status st = handle_type(type);
    if (st == ST_OK)
        st = rt_physical_import(&m, (int)(intptr_t)os_handle);
    if (st == ST_OK)
        *handle = (uintptr_t)m;
    return st;
}

enum status cu_mem_retain(CUmemGenericAllocationHandle *handle, void *addr)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    struct rt_mapping *m = NULL;
    enum status st = handle ? rt_physical_retain(&m, (uintptr_t)addr) : ST_INVALID_VALUE;
    if (st == ST_OK)
        *handle = (uintptr_t)m;
    return st;
}

enum status cu_mem_get_access(uint64_t *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
    enum { READ = 1, READ_WRITE = 3 };
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!flags || !location || location->type != LOCATION_DEVICE)
        return ST_INVALID_VALUE;
    bool readable, writable;
    enum status st = api_device(location->id);
    if (st == ST_OK)
        st = rt_map_access_get(ptr, &readable, &writable);
    if (st == ST_OK)
        *flags = writable ? READ_WRITE : readable ? READ : 0;
    return st;
}
