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

struct op *ring_pick(void);                    /* the next operation that may run; NULL: none */
/* Nothing up to seq is left: in the streams that the legacy stream and s hold each other up by; in a context. */
bool ring_others_clear(const struct rt_stream *s, uint64_t seq);
bool ring_context_clear(const struct rt_context *c, uint64_t seq);
bool ring_value_awaited(void);                 /* some stream waits for a value in memory */

#endif
