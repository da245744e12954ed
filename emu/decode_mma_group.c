/* Groups of matrix products: finds them, and plans which slot an operand is in. See struct mma_group. */
#include <string.h>

#include "emu/decoder.h"
#include "emu/isa.h"
#include "emu/mma.h"

enum { USES = 3 };                             /* products a filled A must serve on average, to be worth it */

static const struct mma *op_of(const struct insn *in) { return (const struct mma *)(uintptr_t)in->imm; }

static bool writes_any(const struct mma *op, const uint32_t *rows, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < op->n_d; k++)
            if (op->d_rows[k] == rows[i]) return true;
    return false;
}

/* Whether a product may join: nothing before it in the group writes what it multiplies. */
static bool joins(const struct mma_group *g, const struct mma *op)
{
    for (uint32_t i = 0; i < g->n; i++)
        if (writes_any(g->of[i].op, op->a_rows, op->n_a) || writes_any(g->of[i].op, op->b_rows, op->n_b)) return false;
    return true;
}

/* The slot that has these rows, or else the one that was used longest ago. */
struct slots { const uint32_t *rows[MMA_B_SLOTS]; uint32_t used[MMA_B_SLOTS], n, now; };

static uint8_t slot_for(struct slots *s, const uint32_t *rows, uint32_t n_rows, bool *fill)
{
    uint8_t at = 0;
    *fill = true;
    for (uint8_t i = 0; i < s->n; i++) {
        if (s->rows[i] && memcmp(s->rows[i], rows, n_rows * sizeof *rows) == 0) {
            at = i;
            *fill = false;
            break;
        }
        if (s->used[i] < s->used[at]) at = i;
    }
    s->rows[at] = rows;
    s->used[at] = ++s->now;
    return at;
}

uint32_t decode_mma_group(struct decoder *d, struct insn *in, uint32_t left)
{
    static const mma_group_table *const tables[ISA_COUNT] = { &mma_group_base, &mma_group_avx2, &mma_group_avx512 };
    struct mma_group plan = { 0 };
    struct slots a = { .n = MMA_A_SLOTS }, b = { .n = MMA_B_SLOTS };
    uint32_t filled = 0;
    for (; plan.n < left && plan.n < MMA_GROUP; plan.n++) {
        const struct insn *at = &in[plan.n];
        if (at->full != in->full || !joins(&plan, op_of(at))) break;
        struct mma_part *part = &plan.of[plan.n];
        part->op = op_of(at);
        part->a = slot_for(&a, part->op->a_rows, part->op->n_a, &part->new_a);
        part->b = slot_for(&b, part->op->b_rows, part->op->n_b, &part->new_b);
        filled += part->new_a;
    }
    const struct mma *first = plan.of[0].op;
    if (plan.n < USES * filled) return 1;
    struct mma_group *g = decode_aux(d, sizeof *g);
    if (!g) return 1;
    *g = plan;
    ((struct mma *)(uintptr_t)in->imm)->group = g;
    in->full = (*tables[isa_level()])[first->a == MMA_BF16];
    return plan.n;
}
