/* A queue of fixed room, of sector addresses. */
#ifndef HEDDLE_TIMING_RING_H
#define HEDDLE_TIMING_RING_H
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct ring { uint64_t *at; uint32_t room, first, n; };

static inline bool ring_create(struct ring *r, uint32_t room)
{
    *r = (struct ring){.at = calloc(room, sizeof *r->at), .room = room};
    return r->at != NULL;
}
static inline bool ring_full(const struct ring *r) { return r->n == r->room; }
/* The place behind i + n of a ring with so much room; n is at most that. */
static inline uint32_t ring_place(uint32_t i, uint32_t n, uint32_t room) { return i + n < room ? i + n : i + n - room; }
static inline void ring_put(struct ring *r, uint64_t v) { r->at[ring_place(r->first, r->n++, r->room)] = v; }
static inline uint64_t ring_get(struct ring *r)
{
    uint64_t v = r->at[r->first];
    r->first = ring_place(r->first, 1, r->room);
    r->n--;
    return v;
}

#endif
