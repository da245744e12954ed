/* Address conversion (cvta), address queries (isspacep, istypep), fences. */
#include "emu/mem_addr.h"
#include "emu/cluster.h"

/* d = expression of the lane's value x, in the lanes that execute. */
#define EACH(name, expression)                                                            \
    const struct insn *name(const struct insn *in, struct warp *w, struct ctx *c)         \
    {                                                                                     \
        (void)c;                                                                          \
        uint32_t mask = insn_mask(in, w);                                                 \
        uint64_t *d = row(w, in->d);                                                      \
        const uint64_t *a = row(w, in->a);                                                \
        for (uint32_t l = 0; l < WARP_SIZE; l++) {                                        \
            uint64_t x = a[l];                                                            \
            x = (expression);                                                             \
            d[l] = mask >> l & 1 ? x : d[l];                                              \
        }                                                                                 \
        return in + 1;                                                                    \
    }

static uint64_t generic_of_shared(uint64_t x, uint32_t own)
{
    return cluster_generic(cluster_rank_of((uint32_t)x, own), (uint32_t)x & CLUSTER_MASK);
}

EACH(addr_copy, x)
EACH(addr_add, x + in->imm)
EACH(addr_from_shared, generic_of_shared(x, c->cta->cluster_rank))
EACH(addr_from_param, x + c->grid->launch.param_address)
EACH(addr_to_shared, cluster_of_generic(x, c->cta->cluster_rank))
EACH(addr_to_local, (uint32_t)x)
EACH(addr_to_param, x - c->grid->launch.param_address)

static bool listed(const struct addr_ranges *r, uint64_t x)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (x >= r->at[i].lo && x < r->at[i].hi)
            return true;
    return false;
}

/* The upper half is that of the variable that holds the address, or of the first when none does: then the access is the error that it would be. */
static uint64_t const32(const struct addr_ranges *r, uint32_t x)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (x - (uint32_t)r->at[i].lo < r->at[i].hi - r->at[i].lo)
            return r->at[i].lo + (x - (uint32_t)r->at[i].lo);
    return r->n ? (r->at[0].lo & ~(uint64_t)UINT32_MAX) | x : x;
}

EACH(addr_const32, const32((const struct addr_ranges *)(uintptr_t)in->imm, (uint32_t)x))

static bool in_window(uint64_t x, uint64_t window) { return x - window < EMU_WINDOW_BYTES; }

static bool query(const struct insn *in, const struct ctx *c, uint64_t x)
{
    const struct addr_ranges *r = (const struct addr_ranges *)(uintptr_t)in->imm;
    const struct emu_launch *launch = &c->grid->launch;
    switch ((enum addr_query)in->extra) {
    case ADDR_SHARED: return in_window(x, EMU_SHARED_WINDOW);
    case ADDR_SHARED_CTA: return in_window(x, EMU_SHARED_WINDOW) && (uint32_t)x >> CLUSTER_SHIFT == c->cta->cluster_rank;
    case ADDR_LOCAL: return in_window(x, EMU_LOCAL_WINDOW);
    case ADDR_PARAM: return launch->param_address && x - launch->param_address < launch->param_bytes;
    case ADDR_GLOBAL: return !in_window(x, EMU_SHARED_WINDOW) && !in_window(x, EMU_LOCAL_WINDOW) && !listed(r, x);
    case ADDR_LISTED: break;
    }
    return listed(r, x);
}

const struct insn *addr_query(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t mask = insn_mask(in, w), yes = 0;
    const uint64_t *a = row(w, in->a);
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        yes |= (uint32_t)query(in, c, a[l]) << l;
    }
    uint32_t *d = row(w, in->d);
    *d = (*d & ~mask) | yes;
    return in + 1;
}

const struct insn *addr_fence(const struct insn *in, struct warp *w, struct ctx *c)
{
    (void)w;
    (void)c;
    volatile unsigned word = 0;                /* a locked instruction is a full fence, and cheaper than the one of that name */
    __atomic_exchange_n(&word, 1, __ATOMIC_SEQ_CST);
    return in + 1;
}
