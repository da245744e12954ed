/* Events. */
#include "interpose/api.h"
#include "runtime/graph.h"

enum status cu_event_create(CUevent *out, unsigned flags)
{
    enum { FLAGS = RT_EVENT_BLOCKING_SYNC | RT_EVENT_NO_TIMING | RT_EVENT_IPC };
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (!out || flags & ~(unsigned)FLAGS || (flags & RT_EVENT_IPC && !(flags & RT_EVENT_NO_TIMING)))
        return ST_INVALID_VALUE;
    return rt_event_create(out, c, flags);
}

enum status cu_event_destroy(CUevent event)
{
    enum status st = api_check(event, RT_EVENT);
    return st == ST_OK ? rt_event_destroy(event) : st;
}

enum status cu_event_record_with_flags(CUevent event, CUstream stream, unsigned flags)
{
    enum { EXTERNAL = 1 };
    struct rt_stream *s;
    enum status st = api_check(event, RT_EVENT);
    if (st == ST_OK)
        st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    if (flags & ~(unsigned)EXTERNAL)
        return ST_INVALID_VALUE;
    return flags & EXTERNAL ? rt_event_record_external(event, s) : rt_event_record(event, s);
}

enum status cu_event_record(CUevent event, CUstream stream) { return cu_event_record_with_flags(event, stream, 0); }

enum status cu_event_query(CUevent event)
{
    enum status st = api_check(event, RT_EVENT);
    return st == ST_OK ? rt_event_query(event) : st;
}

enum status cu_event_synchronize(CUevent event)
{
    enum status st = api_check(event, RT_EVENT);
    return st == ST_OK ? rt_event_synchronize(event) : st;
}

enum status cu_event_elapsed_time(float *milliseconds, CUevent start, CUevent end)
{
    enum status st = api_check(start, RT_EVENT);
    if (st == ST_OK)
        st = api_check(end, RT_EVENT);
    if (st != ST_OK)
        return st;
    if (!milliseconds)
        return ST_INVALID_VALUE;
    double ms;
    st = rt_event_elapsed(&ms, start, end);
    if (st == ST_OK)
        *milliseconds = (float)ms;
    return st;
}
