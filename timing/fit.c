/* How many CTAs of a kernel an SM holds, and how it divides its memory for them. */
#include "timing/model.h"

#include <math.h>

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

uint32_t timing_ctas_per_sm(const struct timing_gpu *g, const struct timing_kernel_spec *spec)
{
    const struct timing_config *c = &g->config;
    uint32_t threads = (spec->threads + 31) & ~31u, regs = threads * ((spec->regs + 3) & ~3u), bytes = spec->shared_bytes + c->smem.reserved;
    uint32_t n = least(c->sm.ctas, threads ? c->sm.threads / threads : 0);
    bool holds = n > 0;                        /* its warps have places */
    if (regs)
        n = least(n, c->sm.registers / regs);
    if (bytes)
        n = least(n, c->smem.size / bytes);
    return n || !holds || !c->sm.ignore_limits ? n : 1;
}

/* The smallest option that holds as many CTAs as fit otherwise. */
uint32_t fit_shared(const struct timing_config *c, uint32_t bytes, uint32_t ctas)
{
    if (!c->lsu.adaptive || !c->smem.options.n)
        return c->smem.size;
    uint64_t total = (uint64_t)bytes * ctas;
    for (uint32_t i = 0; i < c->smem.options.n; i++)
        if ((uint64_t)c->smem.options.at[i] * 1024 >= total)
            return c->smem.options.at[i] * 1024;
    return c->smem.options.at[c->smem.options.n - 1] * 1024;
}

uint32_t fit_l1_ways(const struct timing_config *c, uint32_t shared)
{
    if (!c->lsu.adaptive || !c->lsu.unified)
        return c->l1d.assoc;
    double share = 1.0 - (double)shared / (c->lsu.unified * 1024.0);
    return (uint32_t)lround(c->derived.l1_ways_max * share);
}
