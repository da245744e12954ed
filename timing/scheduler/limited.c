/* Static wavefront limiting: greedy then oldest among the oldest few warps of the scheduler; the others wait until one of them ends
 * (Rogers et al., MICRO 2012). One at a barrier is none of them: those behind may be who it waits for. */
#include "timing/model.h"

static int pick(struct scheduler *s, uint64_t candidates, const struct warp_slot *warps)
{
    uint64_t all = 0, allowed = 0;
    for (uint64_t c = s->owned; c; c &= c - 1)
        if (warps[__builtin_ctzll(c)].block && warps[__builtin_ctzll(c)].wait < WAIT_BLOCKED)
            all |= c & -c;
    for (uint32_t n = 0; n < s->limit && all & ~allowed; n++)
        allowed |= 1ull << scheduler_oldest_of(all & ~allowed, warps);
    return candidates & allowed ? scheduler_gto.pick(s, candidates & allowed, warps) : -1;
}

const struct scheduler_policy scheduler_limited = {"limited", pick, .never_refuses = false};
