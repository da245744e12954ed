/* Streams: order, waiting, callbacks, attributes. */
#include <string.h>

#include "interpose/api.h"
#include "runtime/graph.h"

enum status cu_stream_create_with_priority(CUstream *out, unsigned flags, int priority)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (!out || flags & ~(unsigned)RT_STREAM_NON_BLOCKING)
        return ST_INVALID_VALUE;
    priority = priority > RT_PRIORITY_LOWEST ? RT_PRIORITY_LOWEST : priority < RT_PRIORITY_HIGHEST ? RT_PRIORITY_HIGHEST : priority;
    struct rt_green *g = rt_current_green();
    return g ? rt_green_stream(out, g, flags, priority) : rt_stream_create(out, c, flags, priority);
}

enum status cu_stream_create(CUstream *out, unsigned flags) { return cu_stream_create_with_priority(out, flags, RT_PRIORITY_LOWEST); }

enum status cu_stream_destroy(CUstream stream)
{
    enum status st = api_check(stream, RT_STREAM);
    return st == ST_OK ? rt_stream_destroy(stream) : st;
}

enum status cu_stream_synchronize(CUstream stream)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    return st == ST_OK ? rt_stream_synchronize(s) : st;
}

enum status cu_stream_query(CUstream stream)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    return st == ST_OK ? rt_stream_query(s) : st;
}

enum status cu_stream_wait_event(CUstream stream, CUevent event, unsigned flags)
{
    enum { EXTERNAL = 1 };
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st == ST_OK)
        st = api_check(event, RT_EVENT);
    if (st != ST_OK)
        return st;
    if (flags & ~(unsigned)EXTERNAL)
        return ST_INVALID_VALUE;
    return flags & EXTERNAL ? rt_stream_wait_external(s, event) : rt_stream_wait_event(s, event);
}

/* ---- questions ---- */

enum status cu_stream_get_priority(CUstream stream, int *priority)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    if (!priority)
        return ST_INVALID_VALUE;
    *priority = rt_stream_priority(s);
    return ST_OK;
}

enum status cu_stream_get_flags(CUstream stream, unsigned *flags)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    if (!flags)
        return ST_INVALID_VALUE;
    *flags = rt_stream_flags(s);
    return ST_OK;
}

enum status cu_stream_get_id(CUstream stream, uint64_t *stream_id)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    if (!stream_id)
        return ST_INVALID_VALUE;
    *stream_id = rt_stream_id(s);
    return ST_OK;
}

enum status cu_stream_get_ctx(CUstream stream, CUcontext *out)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    if (!out)
        return ST_INVALID_VALUE;
    *out = api_context_handle(rt_stream_context(s), rt_stream_green(s));
    return ST_OK;
}

enum status cu_stream_get_green_ctx(CUstream stream, CUgreenCtx *green)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK || !green)
        return st != ST_OK ? st : ST_INVALID_VALUE;
    *green = rt_stream_green(s);
    return ST_OK;
}

enum status cu_stream_get_ctx_v2(CUstream stream, CUcontext *out, CUgreenCtx *green)
{
    struct rt_stream *s;
    enum { PER_THREAD = 2 };
    if ((uintptr_t)stream == PER_THREAD && rt_started() && rt_current_green())
        return ST_INVALID_HANDLE;
    enum status st = cu_stream_get_green_ctx(stream, green);
    if (st == ST_OK)
        st = api_stream(stream, &s);
    if (st != ST_OK || !out)
        return st != ST_OK ? st : ST_INVALID_VALUE;
    *out = rt_stream_context(s);
    return ST_OK;
}

enum status cu_stream_get_device(CUstream stream, CUdevice *device)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    if (!device)
        return ST_INVALID_VALUE;
    *device = rt_context_device(rt_stream_context(s));
    return ST_OK;
}

/* ---- host work and memory operations in order ---- */

enum status cu_launch_host_func(CUstream stream, CUhostFn fn, void *user_data)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    return fn ? rt_stream_host(s, fn, user_data) : ST_INVALID_VALUE;
}

enum status cu_stream_add_callback(CUstream stream, CUstreamCallback callback, void *user_data, unsigned flags)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    return callback && !flags ? rt_stream_callback(s, callback, stream, user_data) : ST_INVALID_VALUE;
}

enum status cu_stream_attach_mem_async(CUstream stream, CUdeviceptr dptr, size_t length, unsigned flags)
{
    enum { GLOBAL = 1, HOST = 2, SINGLE = 4 };
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    struct rt_memory m;
    if ((flags != GLOBAL && flags != HOST && flags != SINGLE) || !rt_memory_find(dptr, &m) || (length && length > m.base + m.bytes - dptr))
        return ST_INVALID_VALUE;
    return ST_OK;                              /* one memory: everybody may always use it */
}

static enum status wait_value(CUstream stream, CUdeviceptr addr, uint64_t value, unsigned flags, uint32_t bytes)
{
    enum rt_compare how;
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st == ST_OK)
        st = api_compare(flags, &how);
    return st == ST_OK ? rt_stream_wait_value(s, addr, value, bytes, how) : st;
}

static enum status write_value(CUstream stream, CUdeviceptr addr, uint64_t value, unsigned flags, uint32_t bytes)
{
    enum { NO_MEMORY_BARRIER = 1 };
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    return flags & ~(unsigned)NO_MEMORY_BARRIER ? ST_INVALID_VALUE : rt_stream_write_value(s, addr, value, bytes);
}

enum status cu_stream_wait_value_32(CUstream stream, CUdeviceptr addr, uint32_t value, unsigned flags) { return wait_value(stream, addr, value, flags, 4); }
enum status cu_stream_wait_value_64(CUstream stream, CUdeviceptr addr, uint64_t value, unsigned flags) { return wait_value(stream, addr, value, flags, 8); }
enum status cu_stream_write_value_32(CUstream stream, CUdeviceptr addr, uint32_t value, unsigned flags) { return write_value(stream, addr, value, flags, 4); }
enum status cu_stream_write_value_64(CUstream stream, CUdeviceptr addr, uint64_t value, unsigned flags) { return write_value(stream, addr, value, flags, 8); }

/* ---- attributes ---- */

enum status cu_stream_get_attribute(CUstream stream, int attr, CUstreamAttrValue *value)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    return value ? rt_stream_attribute(s, attr, value) : ST_INVALID_VALUE;
}

enum status cu_stream_set_attribute(CUstream stream, int attr, const CUstreamAttrValue *value)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    return value ? rt_stream_set_attribute(s, attr, value) : ST_INVALID_VALUE;
}

enum status cu_stream_copy_attributes(CUstream dst, CUstream src)
{
    static const int all[] = {ATTR_ACCESS_WINDOW, ATTR_SYNC_POLICY, ATTR_SYNC_DOMAIN_MAP, ATTR_SYNC_DOMAIN};      /* a priority stays */
    struct rt_stream *to, *from;
    CUstreamAttrValue value;
    enum status st = api_stream(dst, &to);
    if (st == ST_OK)
        st = api_stream(src, &from);
    for (size_t i = 0; i < sizeof all / sizeof all[0] && st == ST_OK; i++) {
        st = rt_stream_attribute(from, all[i], &value);
        if (st == ST_OK)
            st = rt_stream_set_attribute(to, all[i], &value);
    }
    return st;
}
