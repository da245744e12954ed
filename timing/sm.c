/* An SM's time: it wakes at cycles at which something can change, and sleeps over the others. */
#include "timing/model.h"

#include <stdlib.h>
#include <string.h>

/* ---- making ------------------------------------------------------------------------------------------------------------------------------- */

static const struct scheduler_policy *policy_of(int policy)
{
    static const struct scheduler_policy *const policies[] = {
        [TIMING_LRR] = &scheduler_lrr, [TIMING_GTO] = &scheduler_gto, [TIMING_OLDEST] = &scheduler_oldest, [TIMING_RRR] = &scheduler_lrr,
        [TIMING_TWO_LEVEL] = &scheduler_two_level, [TIMING_LIMITED] = &scheduler_limited, [TIMING_YOUNGEST] = &scheduler_youngest};
    return policies[policy];
}

static void pool_set(struct sm *s, enum unit_kind kind, uint32_t n)
{
    const struct timing_config *c = &s->gpu->config;
    struct unit_pool *p = &s->units[kind];
    p->n = n < 64 ? n : 64;
    p->per_scheduler = c->issue.sub_cores && n >= c->issue.schedulers ? p->n / c->issue.schedulers : 0;
}

enum status sm_create(struct sm *s, struct timing_gpu *g, uint32_t number, struct error *err)
{
    const struct timing_config *c = &g->config;
    s->gpu = g;
    s->number = number;
    s->free_slots = c->derived.warps_per_sm >= 64 ? UINT64_MAX : (1ull << c->derived.warps_per_sm) - 1;
    for (uint32_t i = 0; i < c->issue.schedulers; i++) {
        s->schedulers[i] = (struct scheduler){.policy = policy_of(c->issue.policy), .last = -1,
                                              .limit = c->issue.policy == TIMING_TWO_LEVEL ? c->issue.active_warps : c->issue.limit};
        for (uint32_t w = i; w < MAX_WARPS; w += c->issue.schedulers)
            s->schedulers[i].owned |= 1ull << w;
    }
    pool_set(s, UNIT_INT, c->units.integer);
    pool_set(s, UNIT_SP, c->units.sp);
    pool_set(s, UNIT_DP, c->units.dp);
    pool_set(s, UNIT_SFU, c->units.sfu ? c->units.sfu : c->units.sp);
    pool_set(s, UNIT_TENSOR, c->units.tensor);
    s->units[UNIT_MEM] = (struct unit_pool){.n = 1};
    enum status st = collect_create(s, err);           /* units are known */
    st = st == ST_OK ? lsu_create(s, err) : st;
    st = st == ST_OK ? fetch_create(s, err) : st;
    st = st == ST_OK ? constant_create(s, err) : st;
    return st == ST_OK ? texture_create(s, err) : st;
}

/* The block's CTA is not needed any more. */
static void cta_leave(struct sm *s, const struct block *b)
{
    if (b->cluster)
        cluster_leave(b->cluster, b, s->worker);
    else
        emu_cta_free(b->cta, s->worker);
}

void sm_clear(struct sm *s)
{
    for (uint32_t i = 0; i < MAX_WARPS; i++) {
        if (s->blocks[i].cta)
            cta_leave(s, &s->blocks[i]);
        s->blocks[i] = (struct block){.cta = NULL};
    }
    for (unsigned t = 0; t < MAX_THREADS; t++)
        s->out[t].n = 0;
    s->ended.n = 0;
}

void sm_destroy(struct sm *s)
{
    sm_clear(s);
    collect_destroy(s);
    lsu_destroy(s);
    fetch_destroy(s);
    constant_destroy(s);
    texture_destroy(s);
    for (unsigned t = 0; t < MAX_THREADS; t++)
        vec_free(&s->out[t]);
    vec_free(&s->inbox);
    vec_free(&s->ended);
}

/* ---- CTAs ----------------------------------------------------------------------------------------------------------------------------------- */

static uint32_t warps_of(const struct kernel *k) { return (k->spec.threads + WARP_LANES - 1) / WARP_LANES; }

bool sm_fits(const struct sm *s, const struct kernel *k)
{
    const struct timing_config *c = &s->gpu->config;
    uint32_t warps = warps_of(k), threads = warps * WARP_LANES, regs = threads * ((k->spec.regs + 3) & ~3u);
    if (s->now < s->cta_from || s->n_blocks >= (s->n_blocks ? c->sm.ctas : 1) || (uint32_t)__builtin_popcountll(s->free_slots) < warps)
        return false;
    for (uint32_t i = 0; i < MAX_WARPS && s->n_blocks; i++)
        if (s->blocks[i].cta && s->blocks[i].kernel != k && !c->sm.share_kernels)
            return false;
    if (c->sm.ignore_limits && !s->n_blocks)
        return true;
    return s->n_blocks < k->per_sm && s->threads + threads <= c->sm.threads && s->regs + regs <= c->sm.registers &&
           s->shared_bytes + k->spec.shared_bytes + c->smem.reserved <= k->shared_limit;
}

static uint32_t least32(uint32_t a, uint32_t b) { return a < b ? a : b; }

uint32_t sm_room(const struct sm *s, const struct kernel *k)
{
    const struct timing_config *c = &s->gpu->config;
    uint32_t warps = warps_of(k), regs = warps * WARP_LANES * ((k->spec.regs + 3) & ~3u), bytes = k->spec.shared_bytes + c->smem.reserved;
    if (!sm_fits(s, k))
        return 0;
    if (c->sm.ignore_limits && k->per_sm == 1)
        return 1;
    uint32_t n = least32(k->per_sm - s->n_blocks, (uint32_t)__builtin_popcountll(s->free_slots) / warps);
    n = least32(n, (c->sm.threads - s->threads) / (warps * WARP_LANES));
    n = regs ? least32(n, (c->sm.registers - s->regs) / regs) : n;
    return bytes ? least32(n, (k->shared_limit - s->shared_bytes) / bytes) : n;
}

/* Before the first CTA of a kernel: the carve-out. A streaming cache takes lines when data comes, but at the miss for kernels without shared memory. */
static void prepare(struct sm *s, const struct kernel *k)
{
    if (s->l1.lines && s->l1.ways != k->l1_ways)
        cache_set_ways(&s->l1, k->l1_ways);
    if (s->gpu->config.l1d.allocate == TIMING_STREAMING)
        s->l1.spec.alloc = k->spec.shared_bytes ? CACHE_ON_FILL : CACHE_ON_MISS;
}

struct block *sm_place(struct sm *s, struct kernel *k, struct emu_cta *cta)
{
    const struct timing_config *c = &s->gpu->config;
    uint32_t at = 0, warps = warps_of(k);
    while (s->blocks[at].cta)
        at++;
    struct block *b = &s->blocks[at];
    *b = (struct block){.kernel = k, .live = warps, .cta = cta};
    if (!s->n_blocks)
        prepare(s, k);
    s->lsu_retry = true;
    s->n_blocks++;
    s->threads += warps * WARP_LANES;
    s->regs += warps * WARP_LANES * ((k->spec.regs + 3) & ~3u);
    s->shared_bytes += k->spec.shared_bytes + c->smem.reserved;
    s->cta_from = s->now + 1;
    s->launch_from = s->launch_from > s->now + 1 ? s->launch_from : s->now + 1;
    for (uint32_t i = 0; i < warps; i++) {
        uint32_t slot = (uint32_t)__builtin_ctzll(s->free_slots);
        s->free_slots &= s->free_slots - 1;
        s->taken_slots |= 1ull << slot;
        b->warps |= 1ull << slot;
        s->launch_from += c->sm.warp_start;
        s->warps[slot] = (struct warp_slot){.block = b, .number = (uint16_t)i, .unit = s->warps[slot].unit /* as by_unit has it */, .age = s->next_age++, .code = NULL, .from = s->launch_from + c->sm.cta_start};
        sm_wake_at(s, slot, s->now + 1);
    }
    return b;
}

enum status sm_take(struct sm *s, struct kernel *k, uint64_t index, struct error *err)
{
    struct emu_cta *cta;
    enum status st = kernel_cta_start(&cta, k, s->worker, index, s->number, err);
    if (st == ST_OK)
        sm_place(s, k, cta);
    return st;
}

enum status kernel_cta_start(struct emu_cta **out, const struct kernel *k, struct emu_worker *w, uint64_t i, uint32_t smid, struct error *err)
{
    return k->spec.start ? k->spec.start(k->spec.start_user, out, w, i, smid, err) : emu_cta_start(out, k->spec.grid, w, i, smid, err);
}

static void block_end(struct sm *s, struct block *b)
{
    struct kernel *k = b->kernel;
    uint32_t warps = warps_of(k);
    cta_leave(s, b);
    s->free_slots |= b->warps;
    s->taken_slots &= ~b->warps;
    fetch_forget(s, b->warps);
    s->stats.ctas++;
    s->n_blocks--;
    s->threads -= warps * WARP_LANES;
    s->regs -= warps * WARP_LANES * ((k->spec.regs + 3) & ~3u);
    s->shared_bytes -= k->spec.shared_bytes + s->gpu->config.smem.reserved;
    for (uint64_t m = b->warps; m; m &= m - 1)
        s->warps[__builtin_ctzll(m)].block = NULL;
    struct ended_cta *e = vec_add(&s->ended);
    if (e)
        *e = (struct ended_cta){k, s->now + 1, b->thread_insns, b->warp_insns};
    b->cta = NULL;
    s->wants_cta = s->more_ctas;
    if (!s->n_blocks && s->gpu->config.sm.flush_l1)
        cache_invalidate(&s->l1);
    s->lsu_retry = true;
}

void sm_drained(struct sm *s, uint32_t slot)
{
    struct warp_slot *w = &s->warps[slot];
    if (w->wait != WAIT_DRAIN || w->loads || w->strong)            /* plain stores are on their way, and nobody asks for them */
        return;
    struct block *b = w->block;
    w->wait = WAIT_ENDED;
    s->ready &= ~(1ull << slot);
    if (--b->live == 0)
        block_end(s, b);
}

void sm_block_wake(struct sm *s, const struct block *b, uint64_t cycle)
{
    for (uint64_t m = b->warps; m; m &= m - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(m);
        if (s->warps[slot].wait == WAIT_BLOCKED)
            sm_wake_at(s, slot, cycle);
    }
}

void sm_fault(struct sm *s)
{
    if (!s->faulted) {
        s->faulted = true;
        s->fault = *emu_worker_fault(s->worker);
    }
}

/* ---- time ------------------------------------------------------------------------------------------------------------------------------------- */

void sm_wake_at(struct sm *s, uint32_t slot, uint64_t cycle) { sm_wake_set(s, 1ull << slot, cycle); }

void sm_wake_set(struct sm *s, uint64_t slots, uint64_t cycle)
{
    if (cycle <= s->now)
        cycle = s->now + 1;
    if (cycle - s->now >= NEVER_SOON)
        cycle = s->now + NEVER_SOON - 1;       /* looks again then */
    uint32_t at = cycle % NEVER_SOON;
    s->wheel[at] |= slots;
    s->wheel_bits[at / 64] |= 1ull << at % 64;
}

/* The next cycle after now with wake-ups; NEVER: none. */
static uint64_t wheel_next(const struct sm *s)
{
    uint32_t from = (uint32_t)((s->now + 1) % NEVER_SOON), word = from / 64;
    uint64_t bits = s->wheel_bits[word] >> from % 64;
    if (bits)
        return s->now + 1 + (uint32_t)__builtin_ctzll(bits);
    for (uint32_t k = 1; k <= NEVER_SOON / 64; k++) {                 /* the last one: what of the first lies before `from`, a turn later */
        bits = s->wheel_bits[(word + k) % (NEVER_SOON / 64)];
        if (bits)
            return s->now + 1 + k * 64 - from % 64 + (uint32_t)__builtin_ctzll(bits);
    }
    return NEVER;
}

static void wake(struct sm *s)
{
    uint32_t at = s->now % NEVER_SOON;
    if (!(s->wheel_bits[at / 64] >> at % 64 & 1))
        return;
    uint64_t slots = s->wheel[at];
    s->wheel[at] = 0;
    s->wheel_bits[at / 64] &= ~(1ull << at % 64);
    if (!s->fetch.l1i.on) {                    /* nothing can have changed for these; a fetch may have to be asked for again */
        s->ready |= slots & s->parked;
        s->parked &= ~slots;
        slots &= ~s->ready;
    }
    for (; slots; slots &= slots - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(slots);
        if (s->warps[slot].wait < WAIT_DRAIN)
            issue_evaluate(s, slot);
    }
}

static uint64_t inbox_next(const struct sm *s)
{
    if (s->inbox_at >= s->inbox.n)
        return NEVER;
    uint64_t t = clock_convert(&s->gpu->clocks, CLOCK_ICNT, CLOCK_CORE, s->inbox.at[s->inbox_at].time);
    return t > s->now ? t : s->now;
}

/* One reply a cycle. */
static void receive(struct sm *s)
{
    if (inbox_next(s) == s->now)
        lsu_reply(s, &s->inbox.at[s->inbox_at++]);
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

void sm_run(struct sm *s, uint64_t until)
{
    while (s->now < until && !s->faulted) {
        receive(s);
        if (s->fetch.wanted)
            fetch_cycle(s);
        wake(s);
        if (lsu_next(s) == s->now)
            lsu_cycle(s);
        if (s->ready) {
            s->issued_at = s->now;
            issue_cycle(s);
        }
        if (s->wants_cta && s->more_ctas)
            return;                            /* at `now`, which is simulated already: goes on with the next */
        sm_advance(s, until);
    }
    lsu_settle(s);
}

void sm_advance(struct sm *s, uint64_t until)
{
    uint64_t next = s->ready | s->fetch.wanted ? s->now + 1 : wheel_next(s);
    uint64_t lsu = lsu_next(s), in = inbox_next(s);
    next = least(next, lsu > s->now ? lsu : s->now + 1);
    next = least(next, in > s->now ? in : s->now + 1);
    next = least(next, until);
    if (s->n_blocks) {
        const struct timing_config *c = &s->gpu->config;
        uint64_t n = next - s->now;
        s->stats.active_cycles += n;
        s->stats.resident_warp_cycles += n * (s->threads / WARP_LANES);
        s->stats.warp_slot_cycles += n * c->derived.warps_per_sm;
        s->stats.issue_slots += n * c->issue.schedulers;
        uint64_t idle = s->issued_at == s->now ? n - 1 : n;    /* issue_cycle counted this one */
        for (uint32_t i = 0; idle && i < c->issue.schedulers; i++)
            issue_count_idle(s, &s->schedulers[i], idle);
    }
    s->now = next;
}

bool sm_idle(const struct sm *s)
{
    if (s->n_blocks || s->inbox_at < s->inbox.n || s->queue_n || s->ready | s->fetch.wanted)
        return false;
    uint64_t wakes = 0;
    for (uint32_t w = 0; w < NEVER_SOON / 64; w++)
        wakes |= s->wheel_bits[w];
    return !wakes;
}
