/* What the model needs to know of each PTX instruction of a function: made once, at the first launch that executes it. Immutable afterwards, but for the table,
 * which has a lock inside. */
#ifndef HEDDLE_TIMING_CODE_H
#define HEDDLE_TIMING_CODE_H
#include <pthread.h>

#include "ptx/ptx.h"
#include "timing/config.h"

enum unit_kind { UNIT_INT, UNIT_SP, UNIT_DP, UNIT_SFU, UNIT_TENSOR, UNIT_MEM, UNIT_NONE /* issues without a unit: branches, barriers */, UNIT_KINDS };

enum op_flags { OP_MEMORY = 1, OP_BARRIER = 2, OP_FENCE = 4, OP_BRANCH = 8, OP_EXIT = 16, OP_CALL = 32, OP_LONG_SOURCE = 64 };

struct op_info {
    uint8_t unit;                              /* enum unit_kind */
    uint8_t flags;
    uint8_t count;                             /* machine instructions; 0: folded into others, costs nothing */
    uint8_t gap;                               /* cycles from one of them to the next */
    uint16_t latency, initiation;              /* cycles: issue to result; unit busy */
    uint8_t n_src, n_dst;                      /* registers: regs[first..], sources, then destinations */
    uint32_t first;
};

struct timing_code {
    const struct ptx_function *function;
    struct op_info *ops;                       /* by instruction */
    uint32_t *regs;                            /* numbers that are unique among functions */
    struct timing_code *next;
};
static inline const uint32_t *op_sources(const struct timing_code *c, const struct op_info *op) { return c->regs + op->first; }
static inline const uint32_t *op_results(const struct timing_code *c, const struct op_info *op) { return c->regs + op->first + op->n_src; }

struct code_table { pthread_mutex_t lock; struct timing_code *buckets[256]; uint32_t next_reg; const struct timing_config *config; };
void code_table_init(struct code_table *t, const struct timing_config *config);
void code_table_free(struct code_table *t);
/* NULL: no host memory. Any thread. */
const struct timing_code *code_of(struct code_table *t, const struct ptx_function *f);

#endif
