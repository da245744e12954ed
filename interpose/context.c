/* Contexts: explicit ones, each device's primary one, and the calling thread's stack of them. */
#include "interpose/api.h"

enum { CTX_FLAGS = 0xff };

/* ---- primary contexts ---- */

enum status cu_device_primary_ctx_retain(CUcontext *out, CUdevice dev)
{
    enum status st = api_device(dev);
    if (st != ST_OK)
        return st;
    return out ? rt_primary_retain(out, dev) : ST_INVALID_VALUE;
}

enum status cu_device_primary_ctx_release(CUdevice dev)
{
    enum status st = api_device(dev);
    return st == ST_OK ? rt_primary_release(dev) : st;
}

enum status cu_device_primary_ctx_set_flags(CUdevice dev, unsigned flags)
{
    enum status st = api_device(dev);
    if (st != ST_OK)
        return st;
    return flags & ~(unsigned)CTX_FLAGS ? ST_INVALID_VALUE : rt_primary_set_flags(dev, flags);
}

enum status cu_device_primary_ctx_get_state(CUdevice dev, unsigned *flags, int *active)
{
    enum status st = api_device(dev);
    if (st != ST_OK)
        return st;
    if (!flags || !active)
        return ST_INVALID_VALUE;
    bool on;
    rt_primary_state(dev, flags, &on);
    *active = on;
    return ST_OK;
}

enum status cu_device_primary_ctx_reset(CUdevice dev)
{
    enum status st = api_device(dev);
    return st == ST_OK ? rt_primary_reset(dev) : st;
}

/* ---- explicit contexts ---- */

enum status cu_ctx_create(CUcontext *out, unsigned flags, CUdevice dev)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!out || flags & ~(unsigned)CTX_FLAGS)
        return ST_INVALID_VALUE;
    enum status st = api_device(dev);
    if (st != ST_OK)
        return st;
    struct rt_context *c;
    st = rt_context_create(&c, dev, flags);
    if (st == ST_OK)
        st = rt_push_current(c, NULL);
    if (st == ST_OK)
        *out = c;
    return st;
}

enum status cu_ctx_create_v3(CUcontext *out, CUexecAffinityParam *affinity, int n, unsigned flags, CUdevice dev)
{
    if (n < 0 || (n && !affinity))
        return ST_INVALID_VALUE;
    return n ? ST_UNSUPPORTED_EXEC_AFFINITY : cu_ctx_create(out, flags, dev);      /* affinity needs MPS */
}

enum status cu_ctx_create_v4(CUcontext *out, CUctxCreateParams *params, unsigned flags, CUdevice dev)
{
    if (params && params->cig)
        return ST_NOT_SUPPORTED;
    return cu_ctx_create_v3(out, params ? params->affinity : NULL, params ? params->n_affinity : 0, flags, dev);
}

enum status cu_ctx_destroy(CUcontext ctx)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!ctx)
        return ST_INVALID_VALUE;
    return rt_is(ctx, RT_CONTEXT) ? rt_context_destroy(ctx) : rt_is(ctx, RT_GREEN) ? ST_INVALID_CONTEXT : ST_CONTEXT_IS_DESTROYED;
}

/* The reference counting of CUDA 1: one reference, so attaching is looking and detaching is destroying. */
enum status cu_ctx_attach(CUcontext *out, unsigned flags)
{
    struct rt_context *c;
    if (!out || flags)
        return ST_INVALID_VALUE;
    enum status st = api_context(&c);
    if (st == ST_OK)
        *out = api_context_handle(c, rt_current_green());
    return st;
}

enum status cu_ctx_detach(CUcontext ctx) { return cu_ctx_destroy(ctx); }

/* ---- the thread's stack ---- */

enum status cu_ctx_push_current(CUcontext ctx)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    struct rt_context *c;
    struct rt_green *g;
    enum status st = api_context_named(ctx, &c, &g);
    return st == ST_OK ? rt_push_current(c, g) : st;
}

enum status cu_ctx_pop_current(CUcontext *out)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    struct rt_context *c;
    struct rt_green *g;
    enum status st = rt_pop_current(&c, &g);
    if (st == ST_OK && out)
        *out = api_context_handle(c, g);
    return st;
}

enum status cu_ctx_set_current(CUcontext ctx)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    struct rt_context *c = NULL;
    struct rt_green *g = NULL;
    enum status st = ctx ? api_context_named(ctx, &c, &g) : ST_OK;
    return st == ST_OK ? rt_set_current(c, g) : st;
}

enum status cu_ctx_get_current(CUcontext *out)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!out)
        return ST_INVALID_VALUE;
    *out = api_context_handle(rt_current(), rt_current_green());
    return ST_OK;
}

/* ---- what a context knows ---- */

/* For questions that a poisoned context still answers. */
static enum status asked_green(CUcontext ctx, struct rt_context **out, struct rt_green **g)
{
    enum status st = api_context_green(ctx, out, g);
    if (st == ST_NOT_INITIALIZED || st == ST_INVALID_CONTEXT || st == ST_CONTEXT_IS_DESTROYED)
        return st;
    return ST_OK;
}

static enum status asked(CUcontext ctx, struct rt_context **out)
{
    struct rt_green *any;
    return asked_green(ctx, out, &any);
}

enum status cu_ctx_get_device_v2(CUdevice *device, CUcontext ctx)
{
    struct rt_context *c;
    enum status st = asked(ctx, &c);
    if (st != ST_OK)
        return st;
    if (!device)
        return ST_INVALID_VALUE;
    *device = rt_context_device(c);
    return ST_OK;
}

enum status cu_ctx_get_device(CUdevice *device) { return cu_ctx_get_device_v2(device, NULL); }

enum status cu_ctx_get_flags(unsigned *flags)
{
    struct rt_context *c;
    enum status st = asked(NULL, &c);
    if (st != ST_OK)
        return st;
    if (!flags)
        return ST_INVALID_VALUE;
    *flags = rt_context_flags(c);
    return ST_OK;
}

enum status cu_ctx_set_flags(unsigned flags)
{
    struct rt_context *c;
    enum status st = asked(NULL, &c);
    if (st != ST_OK)
        return st;
    return flags & ~(unsigned)CTX_FLAGS ? ST_INVALID_VALUE : rt_context_set_flags(c, flags);
}

enum status cu_ctx_get_id(CUcontext ctx, uint64_t *ctx_id)
{
    struct rt_context *c;
    struct rt_green *g;
    enum status st = asked_green(ctx, &c, &g);
    if (st != ST_OK)
        return st;
    if (!ctx_id)
        return ST_INVALID_VALUE;
    *ctx_id = g ? rt_green_id(g) : rt_context_id(c);
    return ST_OK;
}

enum status cu_ctx_get_api_version(CUcontext ctx, unsigned *version)
{
    enum { API_VERSION = 3020 };               /* what every driver with 64-bit device addresses answers */
    struct rt_context *c;
    enum status st = asked(ctx, &c);
    if (st != ST_OK)
        return st;
    if (!version)
        return ST_INVALID_VALUE;
    *version = API_VERSION;
    return ST_OK;
}

enum status cu_ctx_synchronize_v2(CUcontext ctx)
{
    struct rt_context *c;
    struct rt_green *g;
    enum status st = api_context_green(ctx, &c, &g);
    return st != ST_OK ? st : g ? rt_green_synchronize(g) : rt_context_synchronize(c);
}

enum status cu_ctx_synchronize(void) { return cu_ctx_synchronize_v2(NULL); }

enum status cu_ctx_get_stream_priority_range(int *least_priority, int *greatest_priority)
{
    struct rt_context *c;
    enum status st = asked(NULL, &c);
    if (st != ST_OK)
        return st;
    if (least_priority)
        *least_priority = RT_PRIORITY_LOWEST;
    if (greatest_priority)
        *greatest_priority = RT_PRIORITY_HIGHEST;
    return ST_OK;
}

/* ---- limits and preferences ---- */

/* CUlimit, in its order; the numbers behind these concern MPS and graphics and are read as 0. */
static const enum rt_limit limits[] = {
    RT_LIMIT_STACK, RT_LIMIT_PRINTF_FIFO, RT_LIMIT_MALLOC_HEAP, RT_LIMIT_SYNC_DEPTH, RT_LIMIT_PENDING_LAUNCHES, RT_LIMIT_L2_FETCH, RT_LIMIT_L2_PERSISTING,
};
enum { LIMITS = sizeof limits / sizeof limits[0], LIMITS_READABLE = LIMITS + 3 };

enum status cu_ctx_get_limit(size_t *value, int limit)
{
    struct rt_context *c;
    enum status st = asked(NULL, &c);
    if (st != ST_OK)
        return st;
    if (!value)
        return ST_INVALID_VALUE;
    if (limit < 0 || limit >= LIMITS_READABLE)
        return ST_UNSUPPORTED_LIMIT;
    if (limit >= LIMITS) {
        *value = 0;
        return ST_OK;
    }
    return rt_context_limit(c, limits[limit], value);
}

enum status cu_ctx_set_limit(int limit, size_t value)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (limit < 0 || limit >= LIMITS)
        return ST_UNSUPPORTED_LIMIT;
    return rt_context_set_limit(c, limits[limit], value);
}

static enum status get_setting(enum rt_setting s, int *value)
{
    struct rt_context *c;
    enum status st = asked(NULL, &c);
    if (st != ST_OK)
        return st;
    if (!value)
        return ST_INVALID_VALUE;
    *value = rt_context_setting(c, s);
    return ST_OK;
}

static enum status set_setting(enum rt_setting s, int value, int max)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (value < 0 || value > max)
        return ST_INVALID_VALUE;
    rt_context_set_setting(c, s, value);
    return ST_OK;
}

enum { CACHE_PREFER_EQUAL = 3, BANKS_EIGHT_BYTES = 2 };
enum status cu_ctx_get_cache_config(int *config) { return get_setting(RT_SETTING_CACHE_CONFIG, config); }
enum status cu_ctx_set_cache_config(int config) { return set_setting(RT_SETTING_CACHE_CONFIG, config, CACHE_PREFER_EQUAL); }
enum status cu_ctx_get_shared_mem_config(int *config) { return get_setting(RT_SETTING_SHARED_BANKS, config); }
enum status cu_ctx_set_shared_mem_config(int config) { return set_setting(RT_SETTING_SHARED_BANKS, config, BANKS_EIGHT_BYTES); }

enum status cu_ctx_reset_persisting_l2_cache(void)
{
    struct rt_context *c;
    return api_context(&c);                    /* a hint to the cache: results do not depend on it */
}

/* ---- peers ---- */

static enum status peers(CUcontext handle, struct rt_context **own, struct rt_context **peer)
{
    struct rt_green *any;
    enum status st = api_context(own);
    return st == ST_OK ? api_context_named(handle, peer, &any) : st;
}

enum status cu_ctx_enable_peer_access(CUcontext peer_context, unsigned flags)
{
    struct rt_context *c, *peer;
    enum status st = peers(peer_context, &c, &peer);
    if (st != ST_OK)
        return st;
    if (flags)
        return ST_INVALID_VALUE;
    if (rt_context_device(c) == rt_context_device(peer))
        return ST_INVALID_DEVICE;
    return rt_peer_enable(c, peer);
}

enum status cu_ctx_disable_peer_access(CUcontext peer_context)
{
    struct rt_context *c, *peer;
    enum status st = peers(peer_context, &c, &peer);
    return st == ST_OK ? rt_peer_disable(c, peer) : st;
}

enum status cu_flush_gpu_direct_rdma_writes(int target, int scope)
{
    (void)target, (void)scope;
    struct rt_context *c;
    return api_context(&c);                    /* host writes are visible at once: one memory */
}

/* The device attribute says that there is none of it. */
enum status cu_ctx_get_exec_affinity(CUexecAffinityParam *affinity, int type)
{
    enum { SM_COUNT = 0 };
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    return affinity && type == SM_COUNT ? ST_UNSUPPORTED_EXEC_AFFINITY : ST_INVALID_VALUE;
}
