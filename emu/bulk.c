/* cp.async.bulk, cp.reduce.async.bulk, st.bulk. */
#include "emu/bulk.h"

#include <string.h>

#include "emu/cluster.h"
#include "emu/mbarrier.h"

char *bulk_peer(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lane, uint32_t rank, uint32_t offset, uint32_t bytes)
{
    struct mem_place p = { .space = MEM_SHARED, .form = MEM_ROW64, .store = true };
    return mem_span(in, &p, w, c, lane, cluster_address(rank, offset, c->cta->cluster_rank), bytes, 1);
}

static void move(const struct bulk *b, const struct warp *w, const struct ctx *c, uint32_t lane, char *to, const char *from, uint32_t n)
{
    uint32_t mask = b->byte_mask ? ((const uint32_t *)row(w, b->byte_mask))[lane] : 0;
    if (b->combine)
        b->combine(to, from, n / b->element, c->parallel && b->done == BULK_GROUP);
    else if (!b->byte_mask)
        memmove(to, from, n);
    else
        for (uint32_t i = 0; i < n; i++)
            if (mask >> (i & 15) & 1)
                to[i] = from[i];
}

static const char *tell(struct ctx *c, char *barrier, uint32_t n) { return mbarrier_update(c, barrier, -(int64_t)n, 0, 0, false); }

/* To the same place in each block of the mask; its own mbarrier hears of it. False: fault. */
static bool multicast(const struct insn *in, const struct bulk *b, struct warp *w, struct ctx *c, uint32_t lane, const char *from, uint32_t n)
{
    uint32_t to = (uint32_t)mem_place_address(&b->to, w, lane) & CLUSTER_MASK, barrier = (uint32_t)mem_place_address(&b->mbarrier, w, lane) & CLUSTER_MASK;
    for (uint32_t m = ((const uint32_t *)row(w, b->ctas))[lane] & 0xffff; m; m &= m - 1) {
        uint32_t rank = (uint32_t)__builtin_ctz(m);
        char *p = n ? bulk_peer(in, w, c, lane, rank, to, n) : NULL, *q = bulk_peer(in, w, c, lane, rank, barrier, 8);
        if ((n && !p) || !q)
            return false;
        if (n)
            move(b, w, c, lane, p, from, n);
        const char *why = tell(c, q, n);
        if (why)
            return mbarrier_fault(in, w, c, lane, why);
    }
    return true;
}

static bool copy_lane(const struct insn *in, const struct bulk *b, struct warp *w, struct ctx *c, uint32_t lane)
{
    uint32_t n = ((const uint32_t *)row(w, b->size))[lane];
    if (n % 16)
        return insn_fault(in, w, c, lane, ST_LAUNCH_FAILED, "a bulk copy of %u bytes: must be a multiple of 16", n);
    char *from = n ? mem_span(in, &b->from, w, c, lane, mem_place_address(&b->from, w, lane), n, 16) : NULL;
    if (n && !from)
        return false;
    if (b->ctas)
        return multicast(in, b, w, c, lane, from, n);
    char *to = n ? mem_span(in, &b->to, w, c, lane, mem_place_address(&b->to, w, lane), n, 16) : NULL;
    if (n && !to)
        return false;
    char *barrier = NULL;
    if (b->done == BULK_MBARRIER && !(barrier = mem_span(in, &b->mbarrier, w, c, lane, mem_place_address(&b->mbarrier, w, lane), 8, 8)))
        return false;
    if (n)
        move(b, w, c, lane, to, from, n);
    const char *why = barrier ? tell(c, barrier, n) : NULL;
    return !why || mbarrier_fault(in, w, c, lane, why);
}

const struct insn *bulk_copy(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct bulk *b = (const struct bulk *)(uintptr_t)in->imm;
    for (uint32_t m = insn_mask(in, w); m; m &= m - 1)
        if (!copy_lane(in, b, w, c, (uint32_t)__builtin_ctz(m)))
            return NULL;
    return in + 1;
}

const struct insn *bulk_zero(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct bulk *b = (const struct bulk *)(uintptr_t)in->imm;
    for (uint32_t m = insn_mask(in, w); m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        uint64_t n = ((const uint64_t *)row(w, b->size))[l];
        if (n % 8 || n > UINT32_MAX)
            return insn_fault(in, w, c, l, ST_LAUNCH_FAILED, "st.bulk of %llu bytes: must be a multiple of 8, and fit into shared memory", (unsigned long long)n);
        char *to = n ? mem_span(in, &b->to, w, c, l, mem_place_address(&b->to, w, l), (uint32_t)n, 8) : NULL;
        if (n && !to)
            return NULL;
        if (n)
            memset(to, 0, n);
    }
    return in + 1;
}
