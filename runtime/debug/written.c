/* Which registers can have been written when a thread comes to an instruction. In the others lies what some earlier thread left: nothing to show. */
#include <string.h>

#include "runtime/debug/eval.h"

typedef VEC(uint64_t) bits;
static struct {                                /* of the place that was asked for last: conditions ask for the same over and over */
    const struct ptx_function *f;
    uint32_t insn;
    bits may;
} last;
struct by_hand { const struct ptx_function *f; uint32_t reg; };
static VEC(struct by_hand) by_hand;            /* by the debugger */

static void mark(void *user, int32_t reg, bool write)
{
    uint64_t *row = user;
    if (write && reg >= 0)
        row[reg / 64] |= 1ull << reg % 64;
}

/* Spreads what blocks write over those that come behind them. rows: n_blocks times in, then n_blocks times what the block itself writes. */
static void spread(const struct ptx_cfg *cfg, uint64_t *in, const uint64_t *own, uint32_t words)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < cfg->n_blocks; b++)
            for (uint32_t s = 0; s < cfg->blocks[b].n_succ; s++)
                for (uint32_t w = 0; w < words; w++) {
                    uint64_t *to = &in[cfg->blocks[b].succ[s] * words + w], more = in[b * words + w] | own[b * words + w];
                    changed = changed || (more & ~*to);
                    *to |= more;
                }
    }
}

static bool find(const struct ptx_function *f, uint32_t insn)
{
    struct arena a = {0};
    struct ptx_cfg cfg;
    uint32_t words = f->n_regs / 64 + 1;
    bool good = insn < f->n_insns && ptx_cfg_build(&cfg, f, &a, NULL) == ST_OK && vec_reserve(&last.may, words);
    size_t bytes = good ? (size_t)cfg.n_blocks * words * sizeof(uint64_t) : 0;
    uint64_t *in = good ? arena_alloc(&a, bytes) : NULL, *own = in ? arena_alloc(&a, bytes) : NULL;
    if (own) {
        memset(in, 0, bytes);
        memset(own, 0, bytes);
        for (uint32_t i = 0; i < f->n_insns; i++)
            ptx_insn_regs(f, &f->insns[i], mark, &own[cfg.block_of[i] * words]);
        spread(&cfg, in, own, words);
        uint32_t b = cfg.block_of[insn];
        for (uint32_t i = cfg.blocks[b].first; i < insn; i++)
            ptx_insn_regs(f, &f->insns[i], mark, &in[b * words]);
        memcpy(last.may.at, &in[b * words], words * sizeof(uint64_t));
        last.f = f;
        last.insn = insn;
    }
    arena_free(&a);
    return own != NULL;
}

bool reg_unwritten(const struct ptx_function *f, uint32_t insn, uint32_t reg)
{
    if ((last.f != f || last.insn != insn) && !find(f, insn))
        return false;
    if (last.may.at[reg / 64] >> reg % 64 & 1)
        return false;
    for (size_t i = 0; i < by_hand.n; i++)
        if (by_hand.at[i].f == f && by_hand.at[i].reg == reg)
            return false;
    return true;
}

void reg_written(const struct ptx_function *f, uint32_t reg) { (void)vec_push(&by_hand, ((struct by_hand){f, reg})); }

void written_forget(void)
{
    last.f = NULL;
    by_hand.n = 0;
}
