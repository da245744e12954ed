/* Runtime API: start, devices, implicit contexts. */
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/cudart.h"

enum status cudart_start(void)
{
    api_thread.caller = NULL;                  /* the program itself: NVIDIA's libraries have a runtime of their own inside */
    return rt_started() ? ST_OK : cu_init(0);
}

enum status cudart_context(void)
{
    enum status st = cudart_start();
    if (st != ST_OK || rt_is(rt_current(), RT_CONTEXT))
        return st;
    struct rt_context *c;
    st = api_primary(api_thread.device, &c);
    return st == ST_OK ? rt_set_current(c, NULL) : st;
}

/* ---- which runtime the program was built for ---- */

static int look(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    const char *at = info->dlpi_name ? strstr(info->dlpi_name, "libcudart.so.") : NULL;
    int major = at ? atoi(at + strlen("libcudart.so.")) : 0;
    if (major)
        *(int *)user = major;
    return major != 0;
}

static int the_major = 13;
static void find_major(void) { dl_iterate_phdr(look, &the_major); }

int cudart_major(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_major);
    return the_major;
}

enum status cuda_runtime_get_version(int *runtime_version)
{
    if (!runtime_version)
        return ST_INVALID_VALUE;
    *runtime_version = cudart_major() * 1000 + (cudart_major() == 11 ? 80 : cudart_major() == 12 ? 90 : 0);
    return ST_OK;
}

/* ---- the thread's device ---- */

enum status cuda_get_device_count(int *count) { return cu_device_get_count(count); }

enum status cuda_get_device(int *device)
{
    if (!device)
        return ST_INVALID_VALUE;
    struct rt_context *c = rt_current();
    *device = rt_is(c, RT_CONTEXT) ? rt_context_device(c) : api_thread.device;
    return ST_OK;
}

enum status cuda_set_device(int device)
{
    enum status st = api_device(device);
    struct rt_context *c;
    if (st == ST_OK)
        st = api_primary(device, &c);
    if (st == ST_OK)
        st = rt_set_current(c, NULL);
    if (st == ST_OK)
        api_thread.device = device;
    return st;
}

enum status cuda_init_device(int device, unsigned device_flags, unsigned flags)
{
    enum { FLAGS_ARE_VALID = 1 };
    enum status st = api_device(device);
    if (st != ST_OK)
        return st;
    if (flags & ~(unsigned)FLAGS_ARE_VALID)
        return ST_INVALID_VALUE;
    struct rt_context *c;
    st = api_primary(device, &c);
    return st == ST_OK && flags ? cu_device_primary_ctx_set_flags(device, device_flags) : st;
}

enum status cuda_set_valid_devices(int *device_arr, int len)
{
    if (len < 0 || (len && !device_arr) || len > rt_device_count())
        return ST_INVALID_VALUE;
    for (int i = 0; i < len; i++)
        if (api_device(device_arr[i]) != ST_OK)
            return ST_INVALID_DEVICE;
    if (len && !rt_is(rt_current(), RT_CONTEXT))
        api_thread.device = device_arr[0];
    return ST_OK;
}

/* The devices are alike: the first is as close to any wish as the others. */
enum status cuda_choose_device(int *device, const void *prop)
{
    if (!device || !prop)
        return ST_INVALID_VALUE;
    *device = 0;
    return ST_OK;
}

enum status cuda_set_device_flags(unsigned flags)
{
    int device = 0;
    enum status st = cuda_get_device(&device);
    return st == ST_OK ? cu_device_primary_ctx_set_flags(device, flags) : st;
}

enum status cuda_get_device_flags(unsigned *flags)
{
    enum { MAP_HOST = 8 };
    int device = 0, active;
    enum status st = cuda_get_device(&device);
    if (st == ST_OK)
        st = cu_device_primary_ctx_get_state(device, flags, &active);
    if (st == ST_OK)
        *flags |= MAP_HOST;                    /* always on with unified addressing */
    return st;
}

enum status cuda_device_reset(void)
{
    int device = 0;
    enum status st = cuda_get_device(&device);
    return st == ST_OK ? rt_primary_reset(device) : st;
}

static enum status peer(int device, struct rt_context **out)
{
    enum status st = api_device(device);
    return st == ST_OK ? api_primary(device, out) : st;
}

enum status cuda_device_enable_peer_access(int peer_device, unsigned flags)
{
    struct rt_context *c;
    enum status st = peer(peer_device, &c);
    return st == ST_OK ? cu_ctx_enable_peer_access(c, flags) : st;
}

enum status cuda_device_disable_peer_access(int peer_device)
{
    struct rt_context *c;
    enum status st = peer(peer_device, &c);
    return st == ST_OK ? cu_ctx_disable_peer_access(c) : st;
}

enum status cuda_device_flush_gpu_direct_rdma_writes(int target, int scope) { return cu_flush_gpu_direct_rdma_writes(target, scope); }

/* ---- driver entry points ---- */

enum status cuda_get_driver_entry_point_by_version(const char *symbol, void **out, unsigned version, uint64_t flags, int *result)
{
    if (!symbol || !out)
        return ST_INVALID_VALUE;
    if (!flags && api_thread.per_thread_stream)
        flags = PROC_PER_THREAD_STREAM;
    enum proc_result found = proc_find(symbol, (int)version, flags, out);
    if (result)
        *result = (int)found;
    return found == PROC_FOUND || result ? ST_OK : ST_NOT_FOUND;
}

/* Before 12.0 there was no result argument: what stands in its register is not looked at. */
enum status cuda_get_driver_entry_point(const char *symbol, void **out, uint64_t flags, int *result)
{
    int major = cudart_major();
    unsigned version = major == 11 ? 11080 : major == 12 ? 12090 : 13000;
    return cuda_get_driver_entry_point_by_version(symbol, out, version, flags, major < 12 ? NULL : result);
}
