/* Operations as objects, and those on a word of memory. */
#include <stdlib.h>

#include "runtime/checkpoint/host.h"
#include "runtime/internal.h"

enum { OPS_PER_CHUNK = 64 };

static struct op *free_ops;                    /* under the.lock */

struct op *op_new(struct rt_stream *s, enum op_kind kind)
{
    if (!free_ops) {
        struct op *chunk = calloc(OPS_PER_CHUNK, sizeof *chunk);
        if (!chunk)
            return NULL;
        for (size_t i = 0; i < OPS_PER_CHUNK; i++) {
            chunk[i].next = free_ops;
            free_ops = &chunk[i];
        }
    }
    struct op *op = free_ops;
    free_ops = op->next;
    op->next = NULL;
    op->stream = s;
    op->kind = (uint8_t)kind;
    op->started = op->held = false;
    op->call = 0;
    op->owned = NULL;
    return op;
}

void op_drop(struct op *op)
{
    free(op->owned);
    op->next = free_ops;
    free_ops = op;
}

bool op_value_ready(const struct op *op)
{
    if (host_replayed())                       /* what writes it may be a kernel, which does not run */
        return true;
    uint64_t now = op->u.value.bytes == 8 ? __atomic_load_n((uint64_t *)(uintptr_t)op->u.value.address, __ATOMIC_ACQUIRE)
                                          : __atomic_load_n((uint32_t *)(uintptr_t)op->u.value.address, __ATOMIC_ACQUIRE);
    uint64_t want = op->u.value.value;
    switch (op->u.value.how) {
    case RT_GEQ: return op->u.value.bytes == 8 ? (int64_t)(now - want) >= 0 : (int32_t)(uint32_t)(now - want) >= 0;
    case RT_EQ:  return now == want;
    case RT_AND: return now & want;
    case RT_NOR: return op->u.value.bytes == 8 ? ~(now | want) != 0 : (uint32_t) ~(now | want) != 0;
    }
    return true;
}

void op_value_write(const struct op *op)
{
    if (op->u.value.bytes == 8)
        __atomic_store_n((uint64_t *)(uintptr_t)op->u.value.address, op->u.value.value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((uint32_t *)(uintptr_t)op->u.value.address, (uint32_t)op->u.value.value, __ATOMIC_RELEASE);
}
