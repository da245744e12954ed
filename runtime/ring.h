/* Streams with work, in the ring in which they have their turns. All under the.lock. */
#ifndef HEDDLE_RUNTIME_RING_H
#define HEDDLE_RUNTIME_RING_H
#include "runtime/internal.h"

extern struct rt_stream *ring;                 /* the stream served last, its next_active has its turn; NULL: no work anywhere */
void ring_add(struct rt_stream *s);            /* last in the present round */
void ring_remove(struct rt_stream *s);
size_t ring_count(void);
/* Those with these ids first, in this order; the first of them was served last. Ids that are not there mean nothing. */
void ring_order(const uint64_t *ids, size_t n);

#endif
