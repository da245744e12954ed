#include "runtime/ring.h"

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
