/* What the model needs to know of each PTX instruction of a function: made once, at the first launch that executes it. Immutable afterwards, but for the table,
 * which has a lock inside. Functions are known by their address: before a module goes, timing_forget says so to the tables of all GPUs. */
#ifndef HEDDLE_TIMING_CODE_H
#define HEDDLE_TIMING_CODE_H
#include <pthread.h>

#include "ptx/lower.h"
#include "timing/config.h"
#include "timing/lowering.h"
#include "timing/timing.h"

enum unit_kind { UNIT_INT, UNIT_SP, UNIT_DP, UNIT_SFU, UNIT_TENSOR, UNIT_MEM, UNIT_NONE /* issues without a unit: branches, barriers */, UNIT_KINDS };

enum op_flags { OP_MEMORY = 1, OP_BARRIER = 2, OP_FENCE = 4, OP_BRANCH = 8, OP_EXIT = 16, OP_CALL = 32, OP_PAUSE = 64 /* the warp looks again later: others must get their turn */,
                OP_COPY = 128 /* cp.async: nobody waits for it but */, OP_WAIT_COPIES = 256, OP_COMMIT = 512 /* ends a group of them */ };

enum { OP_GROUPS = PTX_GROUPS };
/* A PTX instruction issues the machine instructions of its groups in turn. Those that access memory begin with the group of the load/store unit. */
struct op_info {
    struct op_group { uint8_t unit /* enum unit_kind */, count, gap /* cycles from one of them to the next */; uint16_t initiation /* cycles: unit busy */; } groups[OP_GROUPS];
    uint8_t n_groups;
    uint8_t newest;                            /* OP_WAIT_COPIES: groups that may be under way still; 255: not even what was not committed */
    uint16_t flags;
    uint16_t count;                            /* machine instructions of all groups; 0: folded into others, costs nothing */
    uint16_t latency;                          /* cycles: issue of the last one to result */
    uint8_t n_src, n_dst;                      /* registers: regs[first..], sources, then destinations */
    uint32_t first;
    uint64_t touched;                          /* the same registers, by their numbers' lowest six bits */
    uint32_t place;                            /* bytes of code in front of it */
};

struct timing_code {
    const struct ptx_function *function;
    struct op_info *ops;                       /* by instruction */
    uint32_t *regs;                            /* the function's own numbers: calls and returns wait until no register is on its way */
    uint64_t base; uint32_t bytes;             /* where its machine code is taken to lie */
    struct timing_code *next;
};
/* The group of the machine instruction number `micro`. */
static inline const struct op_group *op_group(const struct op_info *op, uint32_t micro)
{
    const struct op_group *g = op->groups;
    while (micro >= g->count && g + 1 < op->groups + op->n_groups) {
        micro -= g->count;
        g++;
    }
    return g;
}
static inline const uint32_t *op_sources(const struct timing_code *c, const struct op_info *op) { return c->regs + op->first; }
static inline const uint32_t *op_results(const struct timing_code *c, const struct op_info *op) { return c->regs + op->first + op->n_src; }

struct code_table { struct code_table *next; pthread_mutex_t lock; struct timing_code *buckets[256]; const struct timing_config *config; timing_lower_fn *lower; void *user; };
void code_table_init(struct code_table *t, const struct timing_config *config);
void code_table_free(struct code_table *t);
/* NULL: no host memory. Any thread. */
const struct timing_code *code_of(struct code_table *t, const struct ptx_function *f);
/* tensor.c: cycles for which a matrix product of one warp holds a tensor unit; 0: it is none, or the configuration does not say (sass.tensor_rate). */
uint32_t tensor_cycles(const struct timing_config *c, const struct ptx_insn *in);
/* fetch.c: gives a function whose ops are known its place. */
void fetch_place(struct timing_code *c, const struct timing_config *config);

#endif
