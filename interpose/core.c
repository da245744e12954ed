/* What every handler needs: the thread's state, and the checks of contexts, devices and handles. */
#include "interpose/api.h"
#include "runtime/base/log.h"

_Thread_local struct api_thread api_thread;

enum status api_context(struct rt_context **out)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    struct rt_context *c = rt_current();
    if (!c)
        return ST_INVALID_CONTEXT;
    if (!rt_is(c, RT_CONTEXT) || (rt_current_green() && !rt_is(rt_current_green(), RT_GREEN)))
        return ST_CONTEXT_IS_DESTROYED;
    *out = c;
    return rt_context_error(c);
}

enum status api_context_named(CUcontext handle, struct rt_context **c, struct rt_green **g)
{
    *g = rt_is(handle, RT_GREEN) ? (struct rt_green *)(void *)handle : NULL;
    *c = *g ? rt_green_context(*g) : handle;
    return !rt_started() ? ST_NOT_INITIALIZED : rt_is(*c, RT_CONTEXT) ? ST_OK : ST_INVALID_CONTEXT;
}

CUcontext api_context_handle(struct rt_context *c, struct rt_green *g) { return g ? (CUcontext)(void *)g : c; }

enum status api_context_green(CUcontext handle, struct rt_context **out, struct rt_green **g)
{
    enum status st = handle ? api_context_named(handle, out, g) : api_context(out);
    if (!handle)
        *g = rt_started() ? rt_current_green() : NULL;
    return st == ST_OK ? rt_context_error(*out) : st;
}

enum status api_context_or_current(CUcontext handle, struct rt_context **out)
{
    struct rt_green *any;
    return api_context_green(handle, out, &any);
}

enum status api_device(CUdevice dev)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    return rt_device_facts(dev) ? ST_OK : ST_INVALID_DEVICE;
}

enum status api_stream(CUstream handle, struct rt_stream **out)
{
    uintptr_t special = (uintptr_t)handle;
    if (special > STREAM_PER_THREAD) {
        if (!rt_started())
            return ST_NOT_INITIALIZED;
        *out = handle;
        return rt_is(handle, RT_STREAM) ? ST_OK : ST_INVALID_HANDLE;
    }
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (rt_current_green()) {                  /* it has one stream for those who name none */
        *out = rt_green_default(rt_current_green());
        return rt_is(*out, RT_STREAM) ? ST_OK : ST_CONTEXT_IS_DESTROYED;
    }
    bool own = special == STREAM_PER_THREAD || (special == 0 && api_thread.per_thread_stream);
    *out = own ? rt_stream_per_thread(c) : rt_stream_legacy(c);
    return *out ? ST_OK : ST_OUT_OF_MEMORY;
}

enum status api_check(const void *handle, enum rt_kind kind)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    return rt_is(handle, kind) ? ST_OK : ST_INVALID_HANDLE;
}

enum status api_function(CUfunction handle, struct rt_function **out)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (rt_is(handle, RT_FUNCTION)) {
        *out = handle;
        return ST_OK;
    }
    if (!rt_is(handle, RT_KERNEL))
        return ST_INVALID_HANDLE;
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    struct error err = {0};
    return api_report(rt_kernel_function(out, (struct rt_kernel *)(void *)handle, c, &err), &err);
}

enum status api_report(enum status st, const struct error *err)
{
    if (st != ST_OK && err->text[0])
        log_error("%s", err->text);
    return st;
}

enum status api_primary(int device, struct rt_context **out)
{
    enum { DEVICES = 64 };
    static struct rt_context *_Atomic kept[DEVICES];
    if (device < 0 || device >= DEVICES)
        return ST_INVALID_DEVICE;
    struct rt_context *c = kept[device];
    if (!c) {
        enum status st = rt_primary_retain(&c, device);
        if (st != ST_OK)
            return st;
        struct rt_context *none = NULL;
        if (!__atomic_compare_exchange_n((struct rt_context **)&kept[device], &none, c, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            st = rt_primary_release(device);   /* another thread was first; it is the same context */
        if (st != ST_OK)
            return st;
    }
    *out = c;
    return ST_OK;
}
