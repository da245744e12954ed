/* Greedy, then oldest: the warp that issued last goes on while it can; then the oldest (Rogers et al., MICRO 2012). */
#include "timing/model.h"

static int pick(struct scheduler *s, uint64_t candidates, const struct warp_slot *warps)
{
    if (s->last >= 0 && candidates >> s->last & 1)
        return s->last;
    return scheduler_oldest_of(candidates, warps);
}

const struct scheduler_policy scheduler_gto = {"gto", pick, .never_refuses = true};
