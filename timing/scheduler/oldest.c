/* Oldest first: the warp that started first. */
#include "timing/model.h"

int scheduler_oldest_of(uint64_t candidates, const struct warp_slot *warps)
{
    int best = __builtin_ctzll(candidates);
    for (uint64_t c = candidates & (candidates - 1); c; c &= c - 1) {
        int slot = __builtin_ctzll(c);
        if (warps[slot].age < warps[best].age)
            best = slot;
    }
    return best;
}

static int pick(struct scheduler *s, uint64_t candidates, const struct warp_slot *warps)
{
    (void)s;
    return scheduler_oldest_of(candidates, warps);
}

const struct scheduler_policy scheduler_oldest = {"oldest", pick, .never_refuses = true};
