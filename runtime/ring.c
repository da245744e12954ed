#include "runtime/ring.h"

#include "runtime/checkpoint/host.h"

struct rt_stream *ring;

void ring_add(struct rt_stream *s)
{
    if (!ring) {
        ring = s->next_active = s->prev_active = s;
        return;
    }
    s->next_active = ring;                     /* last in the present round */
    s->prev_active = ring->prev_active;
    s->prev_active->next_active = s;
    ring->prev_active = s;
}

void ring_remove(struct rt_stream *s)
{
    if (s->next_active == s) {
        ring = NULL;
        return;
    }
    s->prev_active->next_active = s->next_active;
    s->next_active->prev_active = s->prev_active;
    if (ring == s)
        ring = s->prev_active;
}

size_t ring_count(void)
{
    size_t n = 0;
    for (const struct rt_stream *t = ring; t && (n == 0 || t != ring); t = t->next_active)
        n++;
    return n;
}

static struct rt_stream *find(uint64_t id)
{
    struct rt_stream *t = ring;
    for (size_t n = ring_count(); n; n--, t = t->next_active)
        if (t->id == id)
            return t;
    return NULL;
}

void ring_order(const uint64_t *ids, size_t n)
{
    struct rt_stream *last = NULL;             /* those that are named follow each other, from there on */
    for (size_t i = n; i-- > 0;) {
        struct rt_stream *s = find(ids[i]);
        if (!s)
            continue;
        ring_remove(s);
        ring = last ? last : ring;
        ring_add(s);                           /* in front of ring */
        last = s;
    }
    ring = last ? last : ring;
}

/* ---- order ---- */

static bool blocking(const struct rt_stream *s) { return !s->is_legacy && !(s->flags & RT_STREAM_NON_BLOCKING); }

bool fifo_clear(const struct rt_stream *s, uint64_t seq) { return !s->head || s->head->seq > seq; }

bool ring_others_clear(const struct rt_stream *s, uint64_t seq)
{
    if (blocking(s))
        return fifo_clear(s->context->legacy, seq);
    if (!s->is_legacy || !ring)
        return true;
    const struct rt_stream *t = ring;
    do {
        if (t->context == s->context && blocking(t) && !fifo_clear(t, seq))
            return false;
        t = t->next_active;
    } while (t != ring);
    return true;
}

static bool op_ready(const struct op *op)
{
    if (op->started)
        return false;
    if (context_status(op->stream->context) != ST_OK)
        return true;                           /* to be dropped */
    if (op->held && host_replayed())
        return false;
    if (!ring_others_clear(op->stream, op->seq))
        return false;
    if (op->kind == OP_WAIT_EVENT)
        return fifo_clear(op->u.wait.stream, op->u.wait.seq);
    if (op->kind == OP_CONDITION)
        return graph_condition_ready(op);
    return op->kind != OP_WAIT_VALUE || op_value_ready(op);
}

struct op *ring_pick(void)
{
    if (!ring)
        return NULL;
    struct rt_stream *best = NULL, *s = ring->next_active;
    for (bool last = false; !last; s = s->next_active) {
        last = s == ring;
        if (!op_ready(s->head))
            continue;
        if (s->is_legacy) {
            best = s;
            break;
        }
        if (!best || s->priority < best->priority)
            best = s;
    }
    if (best && !best->is_legacy)
        ring = best;
    return best ? best->head : NULL;
}

bool ring_context_clear(const struct rt_context *c, uint64_t seq)
{
    const struct rt_stream *t = ring;
    if (t)
        do {
            if (t->context == c && !fifo_clear(t, seq))
                return false;
            t = t->next_active;
        } while (t != ring);
    return true;
}

bool ring_value_awaited(void)
{
    const struct rt_stream *t = ring;
    for (size_t n = ring_count(); n; n--, t = t->next_active)
        if (t->head->kind == OP_WAIT_VALUE)
            return true;
    return false;
}
