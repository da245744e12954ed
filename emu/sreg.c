/* Special registers and other constant rows that are known only when a warp starts. One table says how far each register is constant. */
#include <string.h>

#include "emu/flow.h"

enum scope { SCOPE_LAUNCH, SCOPE_CTA, SCOPE_WARP, SCOPE_LANE, SCOPE_VOLATILE };

static const uint8_t scopes[PTX_SREG_COUNT] = {                    /* all others: SCOPE_LAUNCH */
    [PTX_SREG_TID] = SCOPE_LANE,            [PTX_SREG_LANEID] = SCOPE_LANE,
    [PTX_SREG_LANEMASK_EQ] = SCOPE_LANE,    [PTX_SREG_LANEMASK_LE] = SCOPE_LANE,  [PTX_SREG_LANEMASK_LT] = SCOPE_LANE,
    [PTX_SREG_LANEMASK_GE] = SCOPE_LANE,    [PTX_SREG_LANEMASK_GT] = SCOPE_LANE,
    [PTX_SREG_WARPID] = SCOPE_WARP,
    [PTX_SREG_CTAID] = SCOPE_CTA,           [PTX_SREG_CLUSTERID] = SCOPE_CTA,     [PTX_SREG_CLUSTER_CTAID] = SCOPE_CTA,
    [PTX_SREG_CLUSTER_CTARANK] = SCOPE_CTA, [PTX_SREG_SMID] = SCOPE_CTA,
    [PTX_SREG_CLOCK] = SCOPE_VOLATILE,      [PTX_SREG_CLOCK_HI] = SCOPE_VOLATILE, [PTX_SREG_CLOCK64] = SCOPE_VOLATILE,
    [PTX_SREG_GLOBALTIMER] = SCOPE_VOLATILE, [PTX_SREG_GLOBALTIMER_LO] = SCOPE_VOLATILE, [PTX_SREG_GLOBALTIMER_HI] = SCOPE_VOLATILE,
};

bool sreg_is_constant(enum ptx_sreg s) { return scopes[s] != SCOPE_VOLATILE; }
bool sreg_is_clock(enum ptx_sreg s) { return s == PTX_SREG_CLOCK || s == PTX_SREG_CLOCK_HI || s == PTX_SREG_CLOCK64; }
bool sreg_is_reserved(enum ptx_sreg s) { return s >= PTX_SREG_RESERVED_SMEM_OFFSET_BEGIN && s <= PTX_SREG_RESERVED_SMEM_OFFSET_1; }
bool sreg_is_cta(enum ptx_sreg s) { return scopes[s] == SCOPE_CTA; }

static uint32_t tid(const struct warp *w, const struct emu_grid *g, unsigned component, uint32_t lane)
{
    uint32_t t = w->number * WARP_SIZE + lane, x = g->launch.block[0], y = g->launch.block[1];
    return component == 0 ? t % x : component == 1 ? t / x % y : component == 2 ? t / x / y : 0;
}

static uint32_t lane_value(enum ptx_sreg s, const struct warp *w, const struct emu_grid *g, unsigned component, uint32_t lane)
{
    uint32_t bit = 1u << lane;
    switch (s) {
    case PTX_SREG_TID: return tid(w, g, component, lane);
    case PTX_SREG_LANEID: return lane;
    case PTX_SREG_LANEMASK_EQ: return bit;
    case PTX_SREG_LANEMASK_LT: return bit - 1;
    case PTX_SREG_LANEMASK_LE: return bit | (bit - 1);
    case PTX_SREG_LANEMASK_GE: return ~(bit - 1);
    default: return ~(bit | (bit - 1));
    }
}

/* Vectors of three with a fourth component of 0 (sizes: 1 would be as good; the ISA says nothing). */
static uint32_t of3(const uint32_t v[3], unsigned component) { return component < 3 ? v[component] : 0; }

static uint32_t in_cluster(const struct emu_cta *cta, const struct emu_launch *l, unsigned c, bool inside)
{
    if (c > 2) return 0;
    return inside ? cta->ctaid[c] % l->cluster[c] : cta->ctaid[c] / l->cluster[c];
}

/* Shared memory is given out in units; from sm_80 the system keeps some of its own. (PTX ISA: %total_smem_size, %aggr_smem_size) */
enum { SHARED_UNIT = 128, SHARED_UNIT_SM7 = 256 };
static uint32_t shared_units(const struct emu_grid *g)
{
    uint32_t unit = g->launch.sm < 80 ? SHARED_UNIT_SM7 : SHARED_UNIT;
    uint32_t bytes = g->shared_bytes - (kernel_reserves(g->kernel) ? KERNEL_RESERVED : 0);
    return (bytes + unit - 1) / unit * unit;
}

/* What the compiler's headers take of the reserved part (cooperative groups: 288 bytes from offset 1) fits in its halves. */
static uint32_t reserved(enum ptx_sreg s, const struct emu_grid *g)
{
    uint32_t begin = g->shared_bytes - KERNEL_RESERVED;
    switch (s) {
    case PTX_SREG_RESERVED_SMEM_OFFSET_END: return begin + KERNEL_RESERVED;
    case PTX_SREG_RESERVED_SMEM_OFFSET_CAP: return KERNEL_RESERVED;
    case PTX_SREG_RESERVED_SMEM_OFFSET_1: return begin + KERNEL_RESERVED / 2;
    default: return begin;
    }
}

static uint64_t warp_value(enum ptx_sreg s, const struct warp *w, const struct emu_grid *g, unsigned c)
{
    const struct emu_launch *l = &g->launch;
    if (sreg_is_reserved(s)) return reserved(s, g);
    if (s >= PTX_SREG_ENVREG0 && s <= PTX_SREG_ENVREG31) return l->envreg[s - PTX_SREG_ENVREG0];
    switch (s) {
    case PTX_SREG_NTID: return of3(l->block, c);
    case PTX_SREG_NCTAID: return of3(l->grid, c);
    case PTX_SREG_CTAID: return of3(w->cta->ctaid, c);
    case PTX_SREG_CLUSTERID: return in_cluster(w->cta, l, c, false);
    case PTX_SREG_NCLUSTERID: return c < 3 ? l->grid[c] / l->cluster[c] : 0;
    case PTX_SREG_CLUSTER_CTAID: return in_cluster(w->cta, l, c, true);
    case PTX_SREG_CLUSTER_NCTAID: return of3(l->cluster, c);
    case PTX_SREG_CLUSTER_CTARANK:
        return in_cluster(w->cta, l, 0, true) + l->cluster[0] * (in_cluster(w->cta, l, 1, true) + l->cluster[1] * in_cluster(w->cta, l, 2, true));
    case PTX_SREG_CLUSTER_NCTARANK: return g->cluster_ctas;
    case PTX_SREG_IS_EXPLICIT_CLUSTER: return l->explicit_cluster;
    case PTX_SREG_WARPID: return w->number;
    case PTX_SREG_NWARPID: return l->max_warps_per_sm ? l->max_warps_per_sm : 64;
    case PTX_SREG_SMID: return w->cta->smid;
    case PTX_SREG_NSMID: return l->n_sm ? l->n_sm : 1;
    case PTX_SREG_GRIDID: return l->grid_id;
    case PTX_SREG_TOTAL_SMEM_SIZE: return shared_units(g);
    case PTX_SREG_AGGR_SMEM_SIZE: return shared_units(g) + (l->sm >= 80 ? KERNEL_RESERVED : 0);
    case PTX_SREG_DYNAMIC_SMEM_SIZE: return l->dynamic_shared_bytes;
    case PTX_SREG_CURRENT_GRAPH_EXEC: return l->host.graph;
    default: return 0;                         /* %pm counters */
    }
}

/* The clock ticks once a warp instruction of this worker, from where emu_grid_set_clock put it. Many readings with next to nothing in between are a loop that waits for
 * the clock: then it runs ahead, faster and faster, so that a wait of milliseconds at the GPU's rate ends soon. Loops that time something
 * seldom read it so often, and see the plain clock. */
static uint64_t clock_now(struct ctx *c)
{
    if (c->cycle)
        return c->cycle;
    enum { CLOSE = 16 /* instructions */, PLAIN = 256 /* readings */, FASTEST = 256 /* ticks a reading */ };
    struct worker_clock *k = worker_clock(c);
    if (c->warp_insns - k->read_at > CLOSE) k->readings = 0;
    k->read_at = c->warp_insns;
    uint64_t step = ++k->readings / PLAIN;
    k->ahead += step < FASTEST ? step : FASTEST;
    return c->grid->clock_offset + c->warp_insns + k->ahead;
}

void emu_grid_set_clock(struct emu_grid *g, struct emu_worker *w, uint64_t now)
{
    struct emu_counters n;
    emu_worker_counters(w, &n);
    g->clock_offset = now - n.warp_insns;
    worker_clock((struct ctx *)(void *)w)->readings = 0;
}

uint64_t sreg_volatile(enum ptx_sreg s, struct ctx *c, const struct warp *w)
{
    (void)w;
    const struct emu_host *h = &c->grid->launch.host;
    switch (s) {
    case PTX_SREG_CLOCK: return (uint32_t)clock_now(c);
    case PTX_SREG_CLOCK_HI: return clock_now(c) >> 32;
    case PTX_SREG_CLOCK64: return clock_now(c);
    default: break;
    }
    uint64_t t = h->time_ns ? h->time_ns(h->user) : clock_now(c);
    return s == PTX_SREG_GLOBALTIMER ? t : s == PTX_SREG_GLOBALTIMER_LO ? (uint32_t)t : t >> 32;
}

uint64_t sreg_show(enum ptx_sreg s, unsigned component, struct ctx *c, const struct warp *w, uint32_t lane)
{
    struct worker_clock *k = worker_clock(c), was = *k;
    const struct emu_grid *g = w->cta->grid;
    if (scopes[s] == SCOPE_LANE) return lane_value(s, w, g, component, lane);
    if (scopes[s] != SCOPE_VOLATILE) return warp_value(s, w, g, component);
    c->grid = w->cta->grid;
    uint64_t v = sreg_volatile(s, c, w);
    *k = was;                                  /* looking does not count as a reading */
    return v;
}

/* ---- rows ------------------------------------------------------------------------------------------------------------ */

static void broadcast(char *row_, unsigned width, uint64_t value)
{
    uint16_t *r2 = (void *)row_;
    uint32_t *r4 = (void *)row_;
    uint64_t *r8 = (void *)row_;
    switch (width) {
    case 0: *r4 = value ? FULL_MASK : 0; break;
    case 2: for (int l = 0; l < WARP_SIZE; l++) r2[l] = (uint16_t)value; break;
    case 4: for (int l = 0; l < WARP_SIZE; l++) r4[l] = (uint32_t)value; break;
    case 8: for (int l = 0; l < WARP_SIZE; l++) r8[l] = value; break;
    default: for (int l = 0; l < WARP_SIZE; l++) { r8[2 * l] = value; r8[2 * l + 1] = 0; } break;
    }
}

static uint64_t param_value(const struct fill *f, const struct emu_launch *l)
{
    uint64_t v = 0;
    if (f->bytes > 8 || f->offset > l->param_bytes || l->param_bytes - f->offset < f->bytes) return 0;
    memcpy(&v, (const char *)l->params + f->offset, f->bytes);
    unsigned shift = 64 - 8u * f->bytes;
    return f->sign && f->bytes ? (uint64_t)((int64_t)(v << shift) >> shift) : v;
}

static void fill_lanes(char *row_, unsigned width, const struct fill *f, const struct warp *w, const struct emu_grid *g)
{
    for (uint32_t l = 0; l < WARP_SIZE; l++) {
        uint64_t v = lane_value((enum ptx_sreg)f->sreg, w, g, f->component, l);
        memcpy(row_ + width * l, &v, width);   /* width is 2, 4 or 8 */
    }
}

void fill_rows(const struct code *code, char *frame, const struct warp *w, const struct emu_grid *g, uint32_t local_sp)
{
    for (uint32_t i = 0; i < code->n_fills; i++) {
        const struct fill *f = &code->fills[i];
        char *r = frame + f->at;
        if (f->kind == FILL_PARAM) broadcast(r, f->width, param_value(f, &g->launch));
        else if (f->kind == FILL_LOCAL) broadcast(r, f->width, (uint64_t)local_sp + f->offset);
        else if (scopes[f->sreg] == SCOPE_LANE) fill_lanes(r, f->width, f, w, g);
        else broadcast(r, f->width, warp_value((enum ptx_sreg)f->sreg, w, g, f->component));
    }
}

void fill_cta_rows(const struct code *code, struct emu_cta *cta)
{
    for (uint32_t i = code->first_cta_fill; i < code->n_fills; i++) {
        const struct fill *f = &code->fills[i];
        uint64_t value = warp_value((enum ptx_sreg)f->sreg, &cta->warps[0], cta->grid, f->component);
        for (uint32_t k = 0; k < cta->n_warps; k++) broadcast(cta->warps[k].flow->base.frame + f->at, f->width, value);
    }
}
