/* Multicast objects: generic allocation handles, as those of cuMemCreate. */
#include "interpose/api.h"

static struct rt_mapping *mapping_of(CUmemGenericAllocationHandle handle) { return (struct rt_mapping *)(uintptr_t)handle; }

/* Simulated devices are linked to each other; without a second one there is nothing to cast to. */
static bool supported(CUdevice dev) { return rt_device_count() > 1 && rt_device_facts(dev)->sm >= 90; }

static enum status object_check(CUmemGenericAllocationHandle handle)
{
    enum status st = api_check(mapping_of(handle), RT_MAPPING);
    if (st != ST_OK)
        return st == ST_INVALID_HANDLE ? ST_INVALID_VALUE : st;
    return rt_is_multicast(mapping_of(handle)) ? ST_OK : ST_INVALID_VALUE;
}

static enum status props(const CUmulticastObjectProp *prop)
{
    enum { HANDLE_POSIX_FD = 1, HANDLE_TYPES = 15 };
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!prop || !prop->devices || prop->flags || prop->handle_types & ~(uint64_t)HANDLE_TYPES)
        return ST_INVALID_VALUE;
    return !supported(0) || prop->handle_types ? ST_NOT_SUPPORTED : ST_OK;
}

enum status cu_multicast_create(CUmemGenericAllocationHandle *handle, const CUmulticastObjectProp *prop)
{
    struct rt_mapping *m = NULL;
    enum status st = props(prop);
    if (st == ST_OK)
        st = handle ? rt_multicast_create(&m, prop->devices, prop->bytes) : ST_INVALID_VALUE;
    if (st == ST_OK)
        *handle = (uintptr_t)m;
    return st;
}

enum status cu_multicast_get_granularity(size_t *granularity, const CUmulticastObjectProp *prop, int option)
{
    enum { MINIMUM, RECOMMENDED };
    enum status st = props(prop);
    if (st != ST_OK)
        return st;
    if (!granularity || (option != MINIMUM && option != RECOMMENDED))
        return ST_INVALID_VALUE;
    *granularity = RT_GRANULARITY;
    return ST_OK;
}

enum status cu_multicast_add_device(CUmemGenericAllocationHandle handle, CUdevice dev)
{
    enum status st = object_check(handle);
    st = st == ST_OK ? api_device(dev) : st;
    if (st != ST_OK)
        return st;
    return supported(dev) ? rt_multicast_add(mapping_of(handle), dev) : ST_NOT_SUPPORTED;
}

enum status cu_multicast_bind_mem(CUmemGenericAllocationHandle handle, size_t at, CUmemGenericAllocationHandle memory, size_t offset, size_t size, uint64_t flags)
{
    enum status st = object_check(handle);
    if (st != ST_OK)
        return st;
    if (flags || !rt_is(mapping_of(memory), RT_MAPPING))
        return ST_INVALID_VALUE;
    return rt_multicast_bind(mapping_of(handle), at, mapping_of(memory), offset, size);
}

enum status cu_multicast_bind_addr(CUmemGenericAllocationHandle handle, size_t at, CUdeviceptr address, size_t size, uint64_t flags)
{
    enum status st = object_check(handle);
    if (st != ST_OK)
        return st;
    return flags ? ST_INVALID_VALUE : rt_multicast_bind_address(mapping_of(handle), at, address, size);
}

enum status cu_multicast_unbind(CUmemGenericAllocationHandle handle, CUdevice dev, size_t at, size_t size)
{
    enum status st = object_check(handle);
    st = st == ST_OK ? api_device(dev) : st;
    return st == ST_OK ? rt_multicast_unbind(mapping_of(handle), dev, at, size) : st;
}
