/* Events: a place in a stream. An event is done when its stream has passed the number of its newest record. */
#include <time.h>

#include "runtime/checkpoint/host.h"
#include "runtime/internal.h"

enum status rt_event_create(struct rt_event **out, struct rt_context *c, uint32_t flags)
{
    *out = NULL;
    enum status st = context_status(c);
    if (st != ST_OK)
        return st;
    struct rt_event *e = object_new(RT_EVENT);
    if (!e)
        return ST_OUT_OF_MEMORY;
    e->context = c;
    e->flags = flags;
    pthread_mutex_lock(&the.lock);
    e->next = c->events;
    if (c->events)
        c->events->prev = e;
    c->events = e;
    pthread_mutex_unlock(&the.lock);
    *out = e;
    return ST_OK;
}

static void event_drop(struct rt_event *e)
{
    capture_forget_event(e);
    if (e->share)
        event_share_drop(e);
    if (e->next)
        e->next->prev = e->prev;
    if (e->prev)
        e->prev->next = e->next;
    else
        e->context->events = e->next;
    object_free(e);
}

void event_unref(struct rt_event *e)
{
    if (--e->refs == 0 && e->destroyed)
        event_drop(e);
}

enum status rt_event_destroy(struct rt_event *e)
{
    pthread_mutex_lock(&the.lock);
    if (e->refs)
        e->destroyed = true;
    else
        event_drop(e);
    pthread_mutex_unlock(&the.lock);
    return ST_OK;
}

void context_free_events(struct rt_context *c)
{
    while (c->events)
        event_drop(c->events);
}

struct rt_context *rt_event_context(const struct rt_event *e) { return e->context; }

void record_happened(struct rt_event *e, uint64_t seq)
{
    if (e->seq != seq)
        return;
    e->time_ns = device_now_ns(e->context->device);
    if (e->share)
        event_share_happened(e);
}

enum status rt_event_record(struct rt_event *e, struct rt_stream *s)
{
    if (e->context != s->context)
        return ST_INVALID_HANDLE;
    enum status st = context_status(s->context);
    if (st != ST_OK)
        return st;
    if ((capture_any() || e->captured) && capture_record(e, s, &st))
        return st;
    pthread_mutex_lock(&the.lock);
    if (e->share)
        event_share_recorded(e);
    if (stream_idle(s)) {
        e->stream = s;
        e->seq = seq_next();
        record_happened(e, e->seq);
        if (host_watched())
            host_step();
    } else {
        struct op *op = op_new(s, OP_RECORD);
        if (op) {
            e->stream = s;
            e->refs++;
            op->u.record = e;
            op_push(op);
            e->seq = op->seq;
        } else {
            st = ST_OUT_OF_MEMORY;
        }
    }
    pthread_mutex_unlock(&the.lock);
    return st;
}

static bool done(const struct rt_event *e)
{
    uint64_t seq;
    if (e->share && event_share_foreign(e, &seq))
        return false;
    return !e->stream || fifo_clear(e->stream, e->seq);
}

/* Nobody tells what other processes do. Without the.lock. */
static void foreign_wait(const struct rt_event *e)
{
    enum { POLL_NS = 50000 };
    uint64_t seq;
    while (event_share_foreign(e, &seq))
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
}

/* Of questions about it. */
static enum status refuse(struct rt_event *e)
{
    enum status st = e->captured ? capture_refuse_event(e) : ST_OK;
    return st == ST_OK && capture_any() ? capture_refuse_unsafe() : st;
}

enum status rt_event_query(struct rt_event *e)
{
    enum status st = refuse(e);
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&the.lock);
    if (!done(e))
        queue_ask();
    bool is = done(e), now = is;
    if (host_watched())
        host_answer(&is, sizeof is);
    if (is && !now && e->stream)               /* a replay: then it can only be a matter of time */
        fifo_wait(e->stream, e->seq);
    pthread_mutex_unlock(&the.lock);
    if (is)
        context_flush(e->context);
    st = context_status(e->context);
    return st != ST_OK ? st : is ? ST_OK : ST_NOT_READY;
}

enum status rt_event_synchronize(struct rt_event *e)
{
    if (streams_in_simulation())
        return ST_NOT_PERMITTED;
    enum status st = refuse(e);
    if (st != ST_OK)
        return st;
    if (e->share)
        foreign_wait(e);
    pthread_mutex_lock(&the.lock);
    if (e->stream)
        fifo_wait(e->stream, e->seq);
    pthread_mutex_unlock(&the.lock);
    context_flush(e->context);
    return context_status(e->context);
}

enum status rt_event_elapsed(double *ms, struct rt_event *start, struct rt_event *end)
{
    pthread_mutex_lock(&the.lock);
    enum status st = ST_OK;
    if (start->captured || end->captured)
        st = ST_CAPTURED_EVENT;
    else if (!start->stream || !end->stream || ((start->flags | end->flags) & RT_EVENT_NO_TIMING))
        st = ST_INVALID_HANDLE;
    else if (!done(start) || !done(end))
        st = ST_NOT_READY;
    else
        *ms = ((double)end->time_ns - (double)start->time_ns) * 1e-6;
    pthread_mutex_unlock(&the.lock);
    if (host_watched()) {
        struct { int32_t status, none; double ms; } answer = {.status = (int32_t)st, .ms = st == ST_OK ? *ms : 0};
        host_answer(&answer, sizeof answer);
        st = (enum status)answer.status;
        *ms = st == ST_OK ? answer.ms : *ms;
    }
    return st;
}
