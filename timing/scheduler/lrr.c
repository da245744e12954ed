/* Loose round robin: the slot after the one that issued last comes first. */
#include "timing/model.h"

static int pick(struct scheduler *s, uint64_t candidates, const struct warp_slot *warps)
{
    (void)warps;
    uint64_t after = s->last < 0 || s->last == 63 ? 0 : candidates >> (s->last + 1) << (s->last + 1);
    return __builtin_ctzll(after ? after : candidates);
}

const struct scheduler_policy scheduler_lrr = {"lrr", pick, .never_refuses = true};
