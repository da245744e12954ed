/* Green contexts, and events of whole contexts.
 *
 * A green context is the primary context of a device and a set of its SMs: memory, modules and errors are the primary context's. Its streams know it; where it is
 * current, streams are made for it, and its default stream takes the NULL stream's place. */
#include <stdlib.h>
#include <string.h>

#include "runtime/checkpoint/host.h"
#include "runtime/internal.h"

struct rt_resources { struct object object; int device; struct rt_sms sms; };
struct rt_green {
    struct object object;
    struct rt_context *context;
    struct rt_sms sms;
    uint64_t id;
    struct rt_stream *own;                     /* the default stream */
    struct rt_stream *gate;                    /* see rt_context_wait; NULL: nobody asked for one */
};
_Static_assert(sizeof(struct rt_resources) <= 128 && sizeof(struct rt_green) <= 128, "object_bytes in process.c");

struct rt_resources *rt_resources_new(int device, const struct rt_sms *sms)
{
    struct rt_resources *r = object_new(RT_RESOURCES);
    if (r) {
        r->device = device;
        r->sms = *sms;
    }
    return r;
}

int rt_resources_device(const struct rt_resources *r) { return r->device; }

enum status rt_green_create(struct rt_green **out, const struct rt_resources *r)
{
    struct rt_context *c;
    *out = NULL;
    enum status st = rt_primary_retain(&c, r->device);
    if (st != ST_OK)
        return st;
    struct rt_green *g = object_new(RT_GREEN);
    if (!g) {
        (void)rt_primary_release(r->device);
        return ST_OUT_OF_MEMORY;
    }
    g->context = c;
    g->sms = r->sms;
    pthread_mutex_lock(&the.lock);
    g->id = host_numbered(&the.next_id);
    pthread_mutex_unlock(&the.lock);
    st = rt_green_stream(&g->own, g, RT_STREAM_NON_BLOCKING, 0);
    if (st == ST_OK) {
        *out = g;
        return ST_OK;
    }
    object_free(g);
    (void)rt_primary_release(r->device);
    return st;
}

enum status rt_green_destroy(struct rt_green *g)
{
    struct rt_context *c = g->context;
    pthread_mutex_lock(&the.lock);
    for (struct rt_stream *s = c->streams; s; s = s->next_in_context)
        if (s->green == g)
            s->green = NULL;
    struct rt_stream *own[] = {g->gate, g->own};
    pthread_mutex_unlock(&the.lock);
    for (int i = 0; i < 2; i++)
        if (own[i] && rt_is(own[i], RT_STREAM))      /* gone where the primary context was reset */
            (void)rt_stream_destroy(own[i]);
    int device = c->device->ordinal;
    object_free(g);
    return rt_primary_release(device);
}

struct rt_context *rt_green_context(const struct rt_green *g) { return g->context; }
const struct rt_sms *rt_green_sms(const struct rt_green *g) { return &g->sms; }
struct rt_stream *rt_green_default(const struct rt_green *g) { return g->own; }
uint64_t rt_green_id(const struct rt_green *g) { return g->id; }
struct rt_green *rt_stream_green(const struct rt_stream *s) { return s->green; }

enum status rt_green_stream(struct rt_stream **out, struct rt_green *g, uint32_t flags, int priority)
{
    enum status st = rt_stream_create(out, g->context, flags, priority);
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&the.lock);
    (*out)->green = g;
    if (g->gate)
        st = stream_follow(*out, g->gate);
    pthread_mutex_unlock(&the.lock);
    return st;
}

enum status rt_green_synchronize(struct rt_green *g)
{
    if (streams_in_simulation())
        return ST_NOT_PERMITTED;
    enum status st = capture_any() ? capture_refuse_context(g->context) : ST_OK;
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&the.lock);
    for (struct rt_stream *s = g->context->streams; s;) {
        bool wait = s->green == g && s->head;
        if (wait)
            stream_wait(s);                    /* lets go of the lock: the list may be another one now */
        s = wait ? g->context->streams : s->next_in_context;
    }
    pthread_mutex_unlock(&the.lock);
    context_flush(g->context);
    return context_status(g->context);
}

/* ---- events of whole contexts ---- */

enum status stream_follow(struct rt_stream *s, struct rt_stream *first)
{
    struct op *op = first->head ? op_new(s, OP_WAIT_EVENT) : NULL;
    if (first->head && !op)
        return ST_OUT_OF_MEMORY;
    if (op) {
        op->u.wait.stream = first;
        op->u.wait.seq = first->tail->seq;
        op_push(op);
    } else if (host_watched()) {
        host_step();
    }
    return ST_OK;
}

/* Captures would have to be left and entered; CUDA refuses, and they are invalid from then on. */
static enum status refuse(struct rt_context *c, struct rt_event *e)
{
    enum status st = context_status(c);
    if (st == ST_OK && capture_any())
        st = capture_refuse_context(c);
    return st == ST_OK && e->captured ? capture_refuse_event(e) : st;
}

/* Streams of our own: what goes through them has no other end than events. */
static enum status helper(struct rt_stream **out, struct rt_context *c)
{
    enum { NON_BLOCKING = 1 };
    enum status st = rt_stream_create(out, c, NON_BLOCKING, 0);
    if (st == ST_OK)
        (*out)->helper = true;
    return st;
}

enum status rt_context_record(struct rt_context *c, const struct rt_green *g, struct rt_event *e)
{
    struct rt_stream *all = NULL;
    if (rt_event_context(e) != c)
        return ST_INVALID_HANDLE;
    enum status st = refuse(c, e);
    if (st == ST_OK)
        st = helper(&all, c);
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&the.lock);
    for (struct rt_stream *s = c->streams; s && st == ST_OK; s = s->next_in_context)
        if (!s->helper && (!g || s->green == g))
            st = stream_follow(all, s);
    pthread_mutex_unlock(&the.lock);
    if (st == ST_OK)
        st = rt_event_record(e, all);
    (void)rt_stream_destroy(all);
    return st;
}

/* A gate waits for the event, the streams for the gate, those that are still to be made as well. */
enum status rt_context_wait(struct rt_context *c, struct rt_green *g, struct rt_event *e)
{
    struct rt_stream **gate = g ? &g->gate : &c->gate;
    enum status st = refuse(c, e);
    if (st == ST_OK && !*gate)
        st = helper(gate, c);
    if (st == ST_OK)
        st = rt_stream_wait_event(*gate, e);
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&the.lock);
    for (struct rt_stream *s = c->streams; s && st == ST_OK; s = s->next_in_context)
        if (!s->helper && (!g || s->green == g))
            st = stream_follow(s, *gate);
    pthread_mutex_unlock(&the.lock);
    return st;
}
