/* Two levels: a few active warps share the issue slot, round robin; one that waits for memory, a barrier or other lanes, or has ended, makes room for the oldest of the
 * others (Narasiman et al., MICRO 2011). */
#include "timing/model.h"

static int pick(struct scheduler *s, uint64_t candidates, const struct warp_slot *warps)
{
    for (uint64_t m = s->active & ~candidates; m; m &= m - 1) {
        const struct warp_slot *w = &warps[__builtin_ctzll(m)];
        if (!w->block || (w->wait != WAIT_NONE && w->wait != WAIT_FETCH))
            s->active &= ~(m & -m);
    }
    while ((uint32_t)__builtin_popcountll(s->active) < s->limit && candidates & ~s->active)
        s->active |= 1ull << scheduler_oldest_of(candidates & ~s->active, warps);
    return candidates & s->active ? scheduler_lrr.pick(s, candidates & s->active, warps) : -1;
}

const struct scheduler_policy scheduler_two_level = {"two_level", pick, .never_refuses = false};
