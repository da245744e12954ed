/* Streams as programs see them; queue.c works them off. */
#include <stdlib.h>
#include <string.h>

#include "runtime/checkpoint/host.h"
#include "runtime/graph.h"
#include "runtime/internal.h"

static int clamp(int priority) { return priority < RT_PRIORITY_HIGHEST ? RT_PRIORITY_HIGHEST : priority > RT_PRIORITY_LOWEST ? RT_PRIORITY_LOWEST : priority; }

enum status rt_stream_create(struct rt_stream **out, struct rt_context *c, uint32_t flags, int priority)
{
    *out = NULL;
    enum status st = context_status(c);
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&the.lock);             /* a wait for an event may still look at a stream whose place this one takes */
    struct rt_stream *s = object_new(RT_STREAM);
    if (!s) {
        pthread_mutex_unlock(&the.lock);
        return ST_OUT_OF_MEMORY;
    }
    s->context = c;
    s->flags = flags;
    s->priority = clamp(priority);
    s->attributes[1][0] = 1;                   /* of the policies: automatic */
    s->attributes[2][1] = 1;                   /* the remote domain is 1 */
    s->id = host_numbered(&the.next_id);
    s->next_in_context = c->streams;
    c->streams = s;
    st = c->gate ? stream_follow(s, c->gate) : ST_OK;
    pthread_mutex_unlock(&the.lock);
    *out = s;
    return st;
}

static void unlink_stream(struct rt_stream *s)
{
    for (struct rt_stream **at = &s->context->streams; *at; at = &(*at)->next_in_context)
        if (*at == s) {
            *at = s->next_in_context;
            return;
        }
}

enum status rt_stream_destroy(struct rt_stream *s)
{
    if (s->is_legacy)
        return ST_INVALID_HANDLE;
    struct rt_graph *left = capture_forget_stream(s);
    if (left)
        graph_drop(left);
    pthread_mutex_lock(&the.lock);
    unlink_stream(s);
    if (s->head)
        s->destroyed = true;                   /* goes with its last operation */
    else
        object_free(s);
    pthread_mutex_unlock(&the.lock);
    return ST_OK;
}

void stream_free_all(struct rt_context *c)
{
    c->gate = NULL;
    while (c->streams) {
        struct rt_stream *s = c->streams;
        c->streams = s->next_in_context;
        (void)capture_forget_stream(s);        /* locks are held, and a graph of a context that goes is good for nothing */
        if (s->head)
            s->destroyed = true;
        else
            object_free(s);
    }
}

/* ---- the per-thread default stream ---- */

struct own_stream { struct own_stream *next; struct rt_stream *stream; uint64_t id; const struct rt_context *context; };
static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;
static bool own_ok;

static void own_free(void *list)
{
    for (struct own_stream *o = list, *next; o; o = next) {
        next = o->next;
        if (rt_started() && rt_is(o->stream, RT_STREAM) && o->stream->id == o->id)
            rt_stream_destroy(o->stream);
        free(o);
    }
}

static void own_init(void) { own_ok = pthread_key_create(&own_key, own_free) == 0; }

struct rt_stream *rt_stream_per_thread(struct rt_context *c)
{
    pthread_once(&own_once, own_init);
    if (!own_ok)
        return NULL;
    struct own_stream *first = pthread_getspecific(own_key), *o = first;
    while (o && o->context != c)
        o = o->next;
    if (o && rt_is(o->stream, RT_STREAM) && o->stream->id == o->id)
        return o->stream;
    if (!o) {
        o = calloc(1, sizeof *o);
        if (!o)
            return NULL;
        o->next = first;
        o->context = c;
        if (pthread_setspecific(own_key, o) != 0) {
            free(o);
            return NULL;
        }
    }
    if (rt_stream_create(&o->stream, c, 0, 0) != ST_OK)
        return NULL;
    o->id = o->stream->id;
    return o->stream;
}

/* ---- facts ---- */

struct rt_stream *rt_stream_legacy(struct rt_context *c) { return c->legacy; }
struct rt_context *rt_stream_context(const struct rt_stream *s) { return s->context; }
uint32_t rt_stream_flags(const struct rt_stream *s) { return s->flags; }
int rt_stream_priority(const struct rt_stream *s) { return s->priority; }
uint64_t rt_stream_id(const struct rt_stream *s) { return s->id; }

static int hint(int id)
{
    enum { ACCESS_WINDOW = 1, SYNC_POLICY = 3, DOMAIN_MAP = 9, DOMAIN = 10 };
    static const int ids[RT_STREAM_HINTS] = {ACCESS_WINDOW, SYNC_POLICY, DOMAIN_MAP, DOMAIN};
    for (int i = 0; i < RT_STREAM_HINTS; i++)
        if (ids[i] == id)
            return i;
    return -1;
}

enum { PRIORITY = 8 };

enum status rt_stream_attribute(struct rt_stream *s, int id, void *value)
{
    int at = hint(id);
    if (at < 0 && id != PRIORITY)
        return ST_INVALID_VALUE;
    memset(value, 0, RT_STREAM_ATTRIBUTE_BYTES);
    pthread_mutex_lock(&the.lock);
    memcpy(value, at < 0 ? (const void *)&s->priority : s->attributes[at], at < 0 ? sizeof s->priority : RT_STREAM_ATTRIBUTE_BYTES);
    pthread_mutex_unlock(&the.lock);
    return ST_OK;
}

enum status rt_stream_set_attribute(struct rt_stream *s, int id, const void *value)
{
    int at = hint(id), priority;
    if (at < 0 && id != PRIORITY)
        return ST_INVALID_VALUE;
    memcpy(&priority, value, sizeof priority);
    pthread_mutex_lock(&the.lock);
    if (at < 0)
        s->priority = clamp(priority);
    else
        memcpy(s->attributes[at], value, RT_STREAM_ATTRIBUTE_BYTES);
    pthread_mutex_unlock(&the.lock);
    return ST_OK;
}

/* ---- waiting and order ---- */

enum status rt_stream_query(struct rt_stream *s)
{
    struct rt_context *c = s->context;
    enum status st = capture_any() ? capture_refuse(s) : ST_OK;
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&the.lock);
    if (!stream_idle(s))
        queue_ask();
    bool idle = stream_idle(s), now = idle;
    if (host_watched())
        host_answer(&idle, sizeof idle);
    if (idle && !now)                          /* a replay: then it can only be a matter of time */
        stream_wait(s);
    pthread_mutex_unlock(&the.lock);
    if (idle)
        context_flush(c);
    st = context_status(c);
    return st != ST_OK ? st : idle ? ST_OK : ST_NOT_READY;
}

enum status rt_stream_synchronize(struct rt_stream *s)
{
    if (streams_in_simulation())
        return ST_NOT_PERMITTED;
    struct rt_context *c = s->context;
    enum status st = capture_any() ? capture_refuse(s) : ST_OK;
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&the.lock);
    stream_wait(s);
    pthread_mutex_unlock(&the.lock);
    context_flush(c);
    return context_status(c);
}

/* Enqueues what `fill` describes. */
static enum status enqueue(struct rt_stream *s, const struct op *like)
{
    enum status st = context_status(s->context);
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&the.lock);
    struct op *op = op_new(s, like->kind);
    if (op) {
        op->u = like->u;
        op_push(op);
    }
    pthread_mutex_unlock(&the.lock);
    return op ? ST_OK : ST_OUT_OF_MEMORY;
}

enum status rt_stream_wait_event(struct rt_stream *s, struct rt_event *e)
{
    enum status st = context_status(s->context);
    if (st != ST_OK)
        return st;
    if ((capture_any() || e->captured) && capture_wait(s, e, &st))
        return st;
    uint64_t foreign;
    pthread_mutex_lock(&the.lock);
    if (e->share && event_share_foreign(e, &foreign)) {
        struct op *op = op_new(s, OP_WAIT_VALUE);
        if (op) {
            op->u.value.address = (uint64_t)(uintptr_t)event_share_done(e);
            op->u.value.value = foreign;
            op->u.value.bytes = 8;
            op->u.value.how = RT_GEQ;
            op_push(op);
        } else {
            st = ST_OUT_OF_MEMORY;
        }
    } else if (e->stream && e->stream != s && !fifo_clear(e->stream, e->seq)) {
        struct op *op = op_new(s, OP_WAIT_EVENT);
        if (op) {
            op->u.wait.stream = e->stream;
            op->u.wait.seq = e->seq;
            op_push(op);
        } else {
            st = ST_OUT_OF_MEMORY;
        }
    } else if (host_watched()) {
        host_step();
    }
    pthread_mutex_unlock(&the.lock);
    return st;
}

enum status rt_stream_host(struct rt_stream *s, rt_host_fn fn, void *user)
{
    enum status st;
    struct rt_node_params p = {.type = RT_NODE_HOST, .context = s->context};
    p.u.host.fn = fn, p.u.host.user = user;
    if (capture_any() && capture_take(s, &p, NULL, &st))
        return st;
    struct op op = {.kind = OP_HOST};
    op.u.call.host = fn;
    op.u.call.user = user;
    return enqueue(s, &op);
}

enum status rt_stream_callback(struct rt_stream *s, rt_callback_fn fn, void *stream_handle, void *user)
{
    enum status st = capture_any() ? capture_refuse(s) : ST_OK;
    if (st != ST_OK)
        return st;
    struct op op = {.kind = OP_CALLBACK};
    op.u.call.callback = fn;
    op.u.call.handle = stream_handle;
    op.u.call.user = user;
    return enqueue(s, &op);
}

enum status values_check(const struct rt_value_op *ops, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool shape = (ops[i].bytes == 4 || ops[i].bytes == 8) && ops[i].address % ops[i].bytes == 0;
        enum place place = shape ? memory_place(ops[i].address, ops[i].bytes) : PLACE_BAD;
        if (place == PLACE_BAD || place == PLACE_PAGEABLE)
            return ST_INVALID_VALUE;
    }
    return ST_OK;
}

enum status rt_stream_values(struct rt_stream *s, const struct rt_value_op *ops, size_t n)
{
    enum status st = values_check(ops, n);
    if (st != ST_OK)
        return st;
    struct rt_node_params p = {.type = RT_NODE_VALUES, .context = s->context};
    p.u.values.ops = ops, p.u.values.n = n;
    if (capture_any() && capture_take(s, &p, NULL, &st))
        return st;
    for (size_t i = 0; i < n && st == ST_OK; i++) {
        struct op op = {.kind = ops[i].wait ? OP_WAIT_VALUE : OP_WRITE_VALUE};
        op.u.value.address = ops[i].address;
        op.u.value.value = ops[i].bytes == 4 ? (uint32_t)ops[i].value : ops[i].value;
        op.u.value.bytes = ops[i].bytes;
        op.u.value.how = ops[i].how;
        st = enqueue(s, &op);
    }
    return st;
}

enum status rt_stream_wait_value(struct rt_stream *s, uint64_t address, uint64_t value, uint32_t bytes, enum rt_compare how)
{
    return rt_stream_values(s, &(struct rt_value_op){address, value, bytes, true, how}, 1);
}

enum status rt_stream_write_value(struct rt_stream *s, uint64_t address, uint64_t value, uint32_t bytes)
{
    return rt_stream_values(s, &(struct rt_value_op){address, value, bytes, false, RT_EQ}, 1);
}
