/* Youngest first: the warp that started last. */
#include "timing/model.h"

static int pick(struct scheduler *s, uint64_t candidates, const struct warp_slot *warps)
{
    (void)s;
    int best = __builtin_ctzll(candidates);
    for (uint64_t c = candidates; c; c &= c - 1) {
        int slot = __builtin_ctzll(c);
        if (warps[slot].age > warps[best].age)
            best = slot;
    }
    return best;
}

const struct scheduler_policy scheduler_youngest = {"youngest", pick, .never_refuses = true};
