/* Two levels: a few active warps share the issue slot, round robin; one that waits for memory or a barrier makes room for the oldest of the others
 * (Narasiman et al., MICRO 2011). */
#include "timing/model.h"

static int pick(struct scheduler *s, uint64_t candidates, const struct warp_slot *warps)
{
    while ((uint32_t)__builtin_popcountll(s->active) < s->limit && candidates & ~s->active)
        s->active |= 1ull << scheduler_oldest_of(candidates & ~s->active, warps);
    return candidates & s->active ? scheduler_lrr.pick(s, candidates & s->active, warps) : -1;
}

/* The slot leaves the active set; whoever is picked next enters it. */
static void stalled(struct scheduler *s, int slot, const struct warp_slot *warps)
{
    (void)warps;
    s->active &= ~(1ull << slot);
}

const struct scheduler_policy scheduler_two_level = {"two_level", pick, stalled};
