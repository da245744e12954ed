/* Starting, and what the devices are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/api.h"
#include "runtime/base/log.h"
#include "runtime/knobs.h"

enum status cu_init(unsigned flags)
{
    if (flags)
        return ST_INVALID_VALUE;
    api_tracing = rt_knobs()->api_trace;
    api_logs_start();
    struct error err = {0};
    enum status st = api_report(rt_start(&err), &err);
    return st == ST_OK && rt_device_count() == 0 ? ST_NO_DEVICE : st;
}

enum status cu_driver_get_version(int *driver_version)
{
    if (!driver_version)
        return ST_INVALID_VALUE;
    *driver_version = API_DRIVER_VERSION;
    return ST_OK;
}

enum status cu_device_get(CUdevice *device, int ordinal)
{
    if (!device)
        return ST_INVALID_VALUE;
    enum status st = api_device(ordinal);
    if (st == ST_OK)
        *device = ordinal;
    return st;
}

enum status cu_device_get_count(int *count)
{
    if (!count)
        return ST_INVALID_VALUE;
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    *count = rt_device_count();
    return ST_OK;
}

enum status cu_device_get_name(char *name, int len, CUdevice dev)
{
    enum status st = api_device(dev);
    if (st != ST_OK)
        return st;
    if (!name || len <= 0)
        return ST_INVALID_VALUE;
    snprintf(name, (size_t)len, "%s", rt_device_facts(dev)->name);
    return ST_OK;
}

enum status cu_device_get_uuid(CUuuid *uuid, CUdevice dev)
{
    enum status st = api_device(dev);
    if (st != ST_OK)
        return st;
    if (!uuid)
        return ST_INVALID_VALUE;
    rt_device_uuid(dev, uuid->bytes);
    return ST_OK;
}

enum status cu_device_total_mem_v2(size_t *bytes, CUdevice dev)
{
    enum status st = api_device(dev);
    if (st != ST_OK)
        return st;
    if (!bytes)
        return ST_INVALID_VALUE;
    uint64_t free_bytes, total;
    rt_device_memory(dev, &free_bytes, &total);
    *bytes = total;
    return ST_OK;
}

enum status cu_device_total_mem(unsigned *bytes, CUdevice dev)
{
    size_t total = 0;
    enum status st = cu_device_total_mem_v2(&total, dev);
    if (st != ST_OK)
        return st;
    if (!bytes)
        return ST_INVALID_VALUE;
    *bytes = total > UINT32_MAX ? UINT32_MAX : (unsigned)total;
    return ST_OK;
}

enum { CC_MAJOR = 75, CC_MINOR = 76 };

enum status cu_device_get_attribute(int *value, int attrib, CUdevice dev)
{
    enum status st = api_device(dev);
    if (st != ST_OK)
        return st;
    if (!value || !rt_device_attribute(dev, attrib, value))
        return ST_INVALID_VALUE;
    int told = attrib == CC_MAJOR || attrib == CC_MINOR ? api_caller_sm() : 0;
    if (told)
        *value = attrib == CC_MAJOR ? told / 10 : told % 10;
    return ST_OK;
}

enum status cu_device_get_properties(CUdevprop *prop, CUdevice dev)
{
    enum status st = api_device(dev);
    if (st != ST_OK)
        return st;
    if (!prop)
        return ST_INVALID_VALUE;
    const struct rt_device_facts *f = rt_device_facts(dev);
    *prop = (CUdevprop){
        .max_threads_per_block = (int)f->max_threads_per_block,
        .max_threads_dim = {(int)f->max_block_x, (int)f->max_block_y, (int)f->max_block_z},
        .max_grid_size = {(int)f->max_grid_x, (int)f->max_grid_y, (int)f->max_grid_z},
        .shared_mem_per_block = (int)f->shared_per_block_bytes, .total_constant_memory = (int)f->const_bytes, .simd_width = (int)f->warp_size,
        .mem_pitch = (int)f->max_pitch_bytes, .regs_per_block = (int)f->regs_per_block, .clock_rate = (int)f->clock_khz,
        .texture_align = (int)f->texture_align_bytes,
    };
    return ST_OK;
}

enum status cu_device_compute_capability(int *major, int *minor, CUdevice dev)
{
    enum status st = api_device(dev);
    if (st != ST_OK)
        return st;
    if (!major || !minor)
        return ST_INVALID_VALUE;
    enum status first = cu_device_get_attribute(major, CC_MAJOR, dev);
    return first == ST_OK ? cu_device_get_attribute(minor, CC_MINOR, dev) : first;
}

enum status cu_device_get_pci_bus_id(char *pci_bus_id, int len, CUdevice dev)
{
    enum status st = api_device(dev);
    if (st != ST_OK)
        return st;
    struct rt_pci pci = rt_device_pci(dev);
    char text[32];
    int n = snprintf(text, sizeof text, "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
    if (!pci_bus_id || len <= n)
        return ST_INVALID_VALUE;
    memcpy(pci_bus_id, text, (size_t)n + 1);
    return ST_OK;
}

/* domain:bus:device.function, domain:bus:device, or bus:device.function, all hexadecimal. */
enum status cu_device_get_by_pci_bus_id(CUdevice *dev, const char *pci_bus_id)
{
    if (!dev || !pci_bus_id)
        return ST_INVALID_VALUE;
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    unsigned domain = 0, bus, device, function = 0;
    if (sscanf(pci_bus_id, "%x:%x:%x.%x", &domain, &bus, &device, &function) < 3) {
        domain = 0;
        if (sscanf(pci_bus_id, "%x:%x.%x", &bus, &device, &function) < 2)
            return ST_INVALID_VALUE;
    }
    for (int i = 0; i < rt_device_count(); i++) {
        struct rt_pci pci = rt_device_pci(i);
        if (pci.domain == domain && pci.bus == bus && pci.device == device && function == 0) {
            *dev = i;
            return ST_OK;
        }
    }
    return ST_INVALID_DEVICE;
}

static enum status two_devices(CUdevice a, CUdevice b)
{
    enum status st = api_device(a);
    return st == ST_OK ? api_device(b) : st;
}

enum status cu_device_can_access_peer(int *can_access_peer, CUdevice dev, CUdevice peer_dev)
{
    if (!can_access_peer)
        return ST_INVALID_VALUE;
    enum status st = two_devices(dev, peer_dev);
    if (st == ST_OK)
        *can_access_peer = dev != peer_dev;
    return st;
}

enum status cu_device_get_p2p_attribute(int *value, int attrib, CUdevice src, CUdevice dst)
{
    enum { PERFORMANCE_RANK = 1, ACCESS, NATIVE_ATOMIC, ARRAY_ACCESS, PARTIAL_ATOMIC };
    enum status st = two_devices(src, dst);
    if (st != ST_OK)
        return st == ST_NOT_INITIALIZED ? st : ST_INVALID_DEVICE;
    if (src == dst)
        return ST_INVALID_DEVICE;
    if (!value || attrib < PERFORMANCE_RANK || attrib > PARTIAL_ATOMIC)
        return ST_INVALID_VALUE;
    *value = attrib == ACCESS || attrib == NATIVE_ATOMIC || attrib == ARRAY_ACCESS;
    return ST_OK;
}

/* All atomics work everywhere: there is one memory. The mask bits are CUatomicOperationCapability's. */
static enum status atomics(unsigned *capabilities, const int *operations, unsigned count)
{
    enum { OPERATIONS = 12, SIGNED_UNSIGNED_REDUCTION_32_64 = 0x1f };
    if (!capabilities || !operations || !count)
        return ST_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        if (operations[i] < 0 || operations[i] > OPERATIONS)
            return ST_INVALID_VALUE;
        capabilities[i] = SIGNED_UNSIGNED_REDUCTION_32_64;
    }
    return ST_OK;
}

enum status cu_device_get_host_atomic_capabilities(unsigned *capabilities, const int *operations, unsigned count, CUdevice dev)
{
    enum status st = api_device(dev);
    return st == ST_OK ? atomics(capabilities, operations, count) : st;
}

enum status cu_device_get_p2p_atomic_capabilities(unsigned *capabilities, const int *operations, unsigned count, CUdevice src, CUdevice dst)
{
    enum status st = two_devices(src, dst);
    return st == ST_OK ? atomics(capabilities, operations, count) : st;
}

enum status cu_device_get_texture_1d_linear_max_width(size_t *max_width_in_elements, int format, unsigned num_channels, CUdevice dev)
{
    (void)format;                              /* the limit counts texels, whatever they are made of */
    enum status st = api_device(dev);
    if (st != ST_OK)
        return st;
    if (!max_width_in_elements || num_channels < 1 || num_channels > 4)
        return ST_INVALID_VALUE;
    *max_width_in_elements = rt_device_facts(dev)->tex1d_linear_width;
    return ST_OK;
}

enum status cu_device_get_exec_affinity_support(int *value, int type, CUdevice dev)
{
    enum status st = api_device(dev);
    if (st != ST_OK)
        return st;
    if (!value || type != 0)
        return ST_INVALID_VALUE;
    *value = 0;                                /* that needs MPS */
    return ST_OK;
}

enum status cu_device_get_default_mem_pool(CUmemoryPool *pool_out, CUdevice dev)
{
    enum status st = api_device(dev);
    if (st != ST_OK)
        return st;
    if (!pool_out)
        return ST_INVALID_VALUE;
    *pool_out = rt_pool_default(dev);
    return *pool_out ? ST_OK : ST_OUT_OF_MEMORY;
}

enum status cu_device_get_mem_pool(CUmemoryPool *pool, CUdevice dev)
{
    enum status st = api_device(dev);
    if (st != ST_OK)
        return st;
    if (!pool)
        return ST_INVALID_VALUE;
    *pool = rt_pool_current(dev);
    return *pool ? ST_OK : ST_OUT_OF_MEMORY;
}

enum status cu_device_set_mem_pool(CUdevice dev, CUmemoryPool pool)
{
    enum status st = api_device(dev);
    if (st != ST_OK)
        return st;
    if (!rt_is(pool, RT_POOL) || rt_pool_device(pool) != dev)
        return ST_INVALID_VALUE;
    return rt_pool_set_current(dev, pool);
}
