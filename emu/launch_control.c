/* clusterlaunchcontrol. Which clusters have not started is the business of whoever starts them: emu_launch.claim asks. The answer is there, and
 * the mbarrier knows, when the instruction is done: the ISA lets that happen at any time. */
#include "emu/launch_control.h"

#include <string.h>

#include "emu/cluster.h"
#include "emu/mbarrier.h"

static struct launch_answer ask(const struct emu_grid *g)
{
    struct launch_answer a = { { 0 } };
    uint64_t index;
    if (!g->launch.claim || !g->launch.claim(g->launch.claim_user, &index)) return a;
    a.word[LAUNCH_CANCELED] = 1;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t n = g->launch.grid[i] / g->launch.cluster[i];
        a.word[i] = (uint32_t)(index % n) * g->launch.cluster[i];
        index /= n;
    }
    return a;
}

/* Tells one block. False: fault. */
static bool answer(const struct insn *in, const struct launch_control *k, struct warp *w, struct ctx *c, uint32_t lane, uint64_t at, uint64_t barrier_at,
                   const struct launch_answer *a)
{
    char *to = mem_span(in, &k->to, w, c, lane, at, sizeof *a, sizeof *a);
    char *barrier = to ? mem_span(in, &k->mbarrier, w, c, lane, barrier_at, 8, 8) : NULL;
    if (!barrier) return false;
    memcpy(to, a, sizeof *a);
    const char *why = mbarrier_update(c, barrier, -(int64_t)sizeof *a, 0, 0, false);
    return !why || mbarrier_fault(in, w, c, lane, why);
}

/* The address in the block of a rank: the offset is the same. */
static uint64_t of_rank(uint64_t at, uint32_t rank, uint32_t own)
{
    return at > UINT32_MAX ? cluster_generic(rank, (uint32_t)at & CLUSTER_MASK) : cluster_address(rank, (uint32_t)at, own);
}

const struct insn *launch_try_cancel(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct launch_control *k = (const struct launch_control *)(uintptr_t)in->imm;
    for (uint32_t m = insn_mask(in, w); m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m), n = k->all ? c->grid->cluster_ctas : 1, own = c->cta->cluster_rank;
        uint64_t to = mem_place_address(&k->to, w, lane), barrier = mem_place_address(&k->mbarrier, w, lane);
        const struct launch_answer a = ask(c->grid);
        for (uint32_t rank = 0; rank < n; rank++)
            if (!answer(in, k, w, c, lane, n > 1 ? of_rank(to, rank, own) : to, n > 1 ? of_rank(barrier, rank, own) : barrier, &a)) return NULL;
    }
    return in + 1;
}

const struct insn *launch_is_canceled(const struct insn *in, struct warp *w, struct ctx *c)
{
    (void)c;
    const struct launch_answer *a = row(w, in->a);
    uint32_t mask = insn_mask(in, w), yes = 0, *d = row(w, in->d);
    for (uint32_t l = 0; l < WARP_SIZE; l++) yes |= (uint32_t)(a[l].word[LAUNCH_CANCELED] != 0) << l;
    *d = (*d & ~mask) | (yes & mask);
    return in + 1;
}

const struct insn *launch_first_ctaid(const struct insn *in, struct warp *w, struct ctx *c)
{
    (void)c;
    const struct launch_answer *a = row(w, in->a);
    uint32_t *d = row(w, in->d);
    for (uint32_t m = insn_mask(in, w); m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        d[l] = a[l].word[in->extra];
    }
    return in + 1;
}
