/* Issue: schedulers, scoreboard, execution units, register banks.
 *
 * Times are reservations: an issued instruction says at once when its unit is free again and when its result is there. A warp whose next instruction
 * can go is in the ready set; one that will be able to at a known cycle is in the wheel; one that waits for a load, a barrier or a fence is woken by it. */
#include "timing/model.h"

/* ---- scoreboard ----------------------------------------------------------------------------------------------------------------------- */

/* Takes note of flight[i], one of those that are kept. */
static void flight_note(struct warp_slot *w, const struct in_flight *f)
{
    w->flying |= 1ull << f->reg % 64;
    w->flight_from = f->ready < w->flight_from ? f->ready : w->flight_from;
}

static void flight_expire(struct warp_slot *w, uint64_t now)
{
    uint32_t n = w->n_flight;
    if (!n || w->flight_from > now)
        return;
    w->n_flight = 0;
    w->flying = 0;
    w->flight_from = NEVER;
    for (uint32_t i = 0; i < n; i++)
        if (w->flight[i].ready > now) {
            w->flight[w->n_flight++] = w->flight[i];
            flight_note(w, &w->flight[i]);
        }
}

/* When register reg may be used; write: as a destination. NEVER: a load or a pending operation has it. */
static uint64_t flight_ready(const struct warp_slot *w, uint32_t reg, bool write)
{
    uint64_t ready = 0;
    for (uint32_t i = 0; i < w->n_flight; i++)
        if (w->flight[i].reg == reg && (write || !w->flight[i].held) && w->flight[i].ready > ready)
            ready = w->flight[i].ready;
    return ready;
}

static uint64_t operands_ready(const struct warp_slot *w, const struct op_info *op)
{
    const uint32_t *src = op_sources(w->code, op), *dst = op_results(w->code, op);
    uint64_t ready = 0;
    if (!w->n_flight || !(w->flying & op->touched))
        return 0;
    for (uint32_t i = 0; i < op->n_src; i++) {
        uint64_t t = flight_ready(w, src[i], false);
        ready = t > ready ? t : ready;
    }
    for (uint32_t i = 0; i < op->n_dst; i++) {
        uint64_t t = flight_ready(w, dst[i], true);
        ready = t > ready ? t : ready;
    }
    return ready;
}

static uint64_t all_ready(const struct warp_slot *w)
{
    uint64_t ready = 0;
    for (uint32_t i = 0; i < w->n_flight; i++)
        ready = w->flight[i].ready > ready ? w->flight[i].ready : ready;
    return ready;
}

static void flight_add(struct warp_slot *w, uint32_t reg, bool held, uint64_t ready, uint32_t load)
{
    if (w->n_flight == IN_FLIGHT)
        return;
    if (!w->n_flight) {
        w->flying = 0;
        w->flight_from = NEVER;
    }
    struct in_flight *f = &w->flight[w->n_flight++];
    *f = (struct in_flight){.reg = reg, .held = held, .ready = ready, .load = (uint16_t)load};
    flight_note(w, f);
}

static void results_at(struct warp_slot *w, const struct op_info *op, uint64_t ready, uint32_t load)
{
    const uint32_t *dst = op_results(w->code, op);
    for (uint32_t i = 0; i < op->n_dst; i++)
        flight_add(w, dst[i], false, ready, load);
}

/* ---- when can a slot issue? ------------------------------------------------------------------------------------------------------------- */

static bool peek(struct sm *s, uint32_t slot)
{
    struct warp_slot *w = &s->warps[slot];
    struct emu_next next;
    if (w->peeked)
        return true;
    switch (emu_warp_peek(w->block->cta, s->worker, w->number, &next)) {
    case EMU_DONE:
        w->wait = WAIT_DRAIN;
        sm_drained(s, slot);
        return false;
    case EMU_BLOCKED:
        w->wait = WAIT_BLOCKED;
        w->blocked_from = w->blocked_from ? w->blocked_from : s->now;
        return false;
    case EMU_FAULT: case EMU_BREAK:
        sm_fault(s);
        return false;
    case EMU_YIELD:
        break;
    }
    if (w->blocked_from) {
        s->stats.stall_barrier += s->now - w->blocked_from;
        w->blocked_from = 0;
    }
    if (!w->code || w->code->function != next.function)
        w->code = code_of(&s->gpu->codes, next.function);
    if (!w->code) {
        sm_fault(s);
        return false;
    }
    w->insn = next.insn;
    w->lanes = next.mask;
    w->peeked = true;
    w->micro = 0;
    return true;
}

static bool step(struct sm *s, uint32_t slot, struct emu_event *e, struct emu_pending *pending);

/* Groups that are older than the newest few: is anything of them under way? The open group counts when not even one may be. */
static bool copies_awaited(const struct warp_slot *w, uint32_t newest)
{
    uint32_t spared = newest == UINT8_MAX ? 0 : newest + 1;
    for (uint32_t k = spared; k < COPY_GROUPS; k++)
        if (w->copies[(w->copy_group + COPY_GROUPS - k) % COPY_GROUPS])
            return true;
    return false;
}

static void become_ready(struct sm *s, uint32_t slot, const struct op_info *op)
{
    struct warp_slot *w = &s->warps[slot];
    uint64_t bit = 1ull << slot;
    s->by_unit[w->unit] &= ~bit;
    w->unit = op_group(op, w->micro)->unit;
    s->by_unit[w->unit] |= bit;
    s->enters_lsu = op->flags & OP_MEMORY && w->micro == 0 ? s->enters_lsu | bit : s->enters_lsu & ~bit;
    s->ready |= bit;
}

void issue_evaluate(struct sm *s, uint32_t slot)
{
    struct warp_slot *w = &s->warps[slot];
    s->ready &= ~(1ull << slot);
    s->parked &= ~(1ull << slot);
    bool found = w->goes && w->goes == s->now;
    w->goes = 0;
    if (!w->block)
        return;
    if (found) {                               /* nothing but its own issuing makes that later */
        become_ready(s, slot, &w->code->ops[w->insn]);
        return;
    }
    for (;;) {
        w->wait = WAIT_NONE;
        if (!peek(s, slot))
            return;
        const struct op_info *op = &w->code->ops[w->insn];
        if (s->fetch.l1i.on && op->count && !fetch_has(s, slot))
            return;
        flight_expire(w, s->now);
        uint64_t ready = w->micro ? 0 : operands_ready(w, op);
        if (op->flags & (OP_FENCE | OP_CALL) && w->n_flight)
            ready = all_ready(w);
        if (ready == NEVER || (op->flags & OP_FENCE && w->stores)) {
            w->wait = op->flags & (OP_FENCE | OP_CALL) ? WAIT_FENCE : WAIT_REGISTER;
            return;
        }
        if (op->flags & OP_WAIT_COPIES && copies_awaited(w, op->newest)) {
            w->wait = WAIT_FENCE;
            return;
        }
        if (w->n_flight + op->n_dst + op->n_src > IN_FLIGHT) {         /* as many as the scoreboard holds */
            sm_wake_at(s, slot, s->now + 1);
            return;
        }
        ready = w->from > ready ? w->from : ready;
        if (ready > s->now) {
            w->goes = op->count && !s->fetch.l1i.on ? ready : 0;
            sm_wake_at(s, slot, ready);
            return;
        }
        if (op->count) {
            become_ready(s, slot, op);
            return;
        }
        struct emu_event e;                    /* folded into its users: no issue slot, no time */
        struct emu_pending none;
        if (!step(s, slot, &e, &none))
            return;
        w->peeked = false;
    }
}

/* ---- units ------------------------------------------------------------------------------------------------------------------------------ */

/* An instance of the unit that is free now, or NULL and *when one will be; with collectors in detail, of the register in front of them. */
static uint64_t *unit_free(struct sm *s, enum unit_kind kind, uint32_t scheduler, uint64_t *when)
{
    struct unit_pool *p = &s->units[kind];
    uint32_t first = p->per_scheduler ? scheduler * p->per_scheduler : 0, n = p->per_scheduler ? p->per_scheduler : p->n;
    *when = NEVER;
    for (uint32_t i = first; i < first + n; i++) {
        if (p->free_from[i] <= s->now)
            return &p->free_from[i];
        *when = p->free_from[i] < *when ? p->free_from[i] : *when;
    }
    return NULL;
}

/* Extra cycles that reading the sources takes: each bank gives rf.steps operands a cycle. */
static uint32_t collect(struct sm *s, uint32_t slot, const struct warp_slot *w, const struct op_info *op)
{
    const struct timing_config *c = &s->gpu->config;
    uint32_t banks = c->rf.banks < 64 ? c->rf.banks : 64, base = 0, steps = c->rf.steps;
    if (c->issue.sub_cores && banks >= c->issue.schedulers) {
        banks /= c->issue.schedulers;
        base = slot % c->issue.schedulers * banks;
    }
    const uint32_t *src = op_sources(w->code, op);
    uint64_t last = s->now * steps;
    for (uint32_t i = 0; i < op->n_src && i < MACHINE_SOURCES; i++) {
        uint64_t *from = &s->bank_from[base + (src[i] + slot) % banks];
        *from = (*from > s->now * steps ? *from : s->now * steps) + 1;
        last = *from > last ? *from : last;
    }
    uint64_t cycles = (last + steps - 1) / steps - s->now;
    s->stats.register_bank_stalls += cycles > 1 ? cycles - 1 : 0;
    return cycles > 1 ? (uint32_t)(cycles - 1) : 0;
}

/* The first cycle from `ready` on at which the result bus has room. */
static uint64_t write_back(struct sm *s, uint64_t ready)
{
    uint32_t width = s->gpu->config.pipe.ex_wb;
    for (;; ready++) {
        uint32_t at = ready % NEVER_SOON;
        if (s->result_bus[at] != ready) {
            s->result_bus[at] = ready;
            s->result_bus_used[at] = 0;
        }
        if (s->result_bus_used[at] < width) {
            s->result_bus_used[at]++;
            return ready;
        }
    }
}

/* ---- issuing ------------------------------------------------------------------------------------------------------------------------------ */

/* Executes the instruction. False: it faulted. */
static bool step(struct sm *s, uint32_t slot, struct emu_event *e, struct emu_pending *pending)
{
    struct warp_slot *w = &s->warps[slot];
    enum emu_result r = emu_warp_issue(w->block->cta, s->worker, w->number, s->now + 1, &w->patience, e, pending);
    if (r == EMU_FAULT || r == EMU_BREAK) {
        sm_fault(s);
        return false;
    }
    uint32_t lanes = e->mask == UINT32_MAX ? WARP_LANES : (uint32_t)__builtin_popcount(e->mask);
    w->block->warp_insns++;
    w->block->thread_insns += lanes;
    s->stats.warp_instructions++;
    s->stats.instructions += lanes;
    s->stats.lane_slots += s->gpu->config.sample.active_lanes ? lanes : WARP_LANES;
    s->stats.issued_lanes[lanes]++;
    return true;
}

static uint32_t load_new(struct sm *s, uint32_t slot, bool is_store)
{
    uint32_t id = s->free_load;
    s->free_load = s->loads[id].next_free;
    s->loads[id] = (struct load){.warp = slot, .age = s->warps[slot].age, .is_store = is_store, .pending = -1};
    return id;
}

/* from: the cycle at which it is at the load/store unit. */
static void issue_memory(struct sm *s, uint32_t slot, const struct op_info *op, const struct emu_event *e, const struct emu_pending *pending, uint64_t from)
{
    struct warp_slot *w = &s->warps[slot];
    if (!e->bytes || !e->lanes) {              /* nobody accessed anything */
        results_at(w, op, s->now + 1, 0);
        return;
    }
    lsu_count(s, e);
    bool is_store = e->store || op->n_dst == 0;
    uint32_t id = load_new(s, slot, is_store);
    int32_t index = -1;
    if (e->strong) {
        index = (int32_t)s->free_pending[--s->n_free_pending];
        s->pending[index] = *pending;
        s->pending_order[index] = s->next_pending++;
        const uint32_t *src = op_sources(w->code, op);
        for (uint32_t i = 0; i < op->n_src; i++)
            flight_add(w, src[i], true, NEVER, id);
        s->loads[id].pending = index;
    }
    results_at(w, op, NEVER, id);
    if (is_store)
        w->stores++;
    else
        w->loads++;
    w->strong = (uint16_t)(w->strong + (is_store && index >= 0));
    if (op->flags & OP_COPY) {
        s->loads[id].copy = (uint8_t)(1 + w->copy_group % COPY_GROUPS);
        w->copies[w->copy_group % COPY_GROUPS]++;
    }
    lsu_push(s, slot, e, index, id, from);
}

/* After an instruction by which other warps may go on. */
static void release_others(struct sm *s, struct block *b, const struct op_info *op)
{
    if (op->flags & (OP_BARRIER | OP_EXIT))
        sm_block_wake(s, b, s->now + 1 + s->gpu->config.sm.barrier_latency);
    if (op->flags & (OP_BARRIER | OP_EXIT) && b->cluster)
        cluster_wake(b->cluster, s->now + 1 + s->gpu->config.sm.barrier_latency);
}

static void park(struct sm *s, uint64_t slots)
{
    s->ready &= ~slots;
    s->parked |= slots;
}

static void results_known(struct sm *s, uint32_t slot, const struct op_info *op, uint64_t ready)
{
    struct warp_slot *w = &s->warps[slot];
    results_at(w, op, ready, 0);
    if (s->collect)
        for (uint32_t i = 0; i < op->n_dst; i++)
            collect_result(s, slot, op_results(w->code, op)[i], ready);
}

static bool lsu_takes(const struct sm *s) { return lsu_room(s) && s->free_load && s->n_free_pending; }

/* Parks all candidates at once, as trying one after the other would do where none can issue. False: one can, and nothing was done. */
static inline __attribute__((always_inline)) bool park_all(struct sm *s, uint32_t scheduler, uint64_t candidates)
{
    struct { uint64_t slots, when; } busy[UNIT_NONE];
    uint64_t left = candidates, waiters = 0;
    unsigned n = 0;
    for (unsigned kind = 0; kind < UNIT_NONE && left; kind++) {
        uint64_t of = left & s->by_unit[kind], when;
        left &= ~of;
        if (!of)
            continue;
        if (!unit_free(s, (enum unit_kind)kind, scheduler, &when)) {
            busy[n].slots = of;
            busy[n++].when = when;
        } else if (of & ~s->enters_lsu || lsu_takes(s))
            return false;
        else
            waiters |= of;
    }
    if (left)
        return false;
    park(s, candidates);
    s->lsu_waiters |= waiters;
    while (n--)
        sm_wake_set(s, busy[n].slots, busy[n].when);
    return true;
}

static bool try_issue(struct sm *s, uint32_t scheduler, uint32_t slot)
{
    struct warp_slot *w = &s->warps[slot];
    const struct op_info *op = &w->code->ops[w->insn];
    const struct op_group *group = op_group(op, w->micro);
    uint64_t *unit = NULL, when;
    if (group->unit != UNIT_NONE && !(unit = unit_free(s, (enum unit_kind)group->unit, scheduler, &when))) {
        park(s, 1ull << slot);
        sm_wake_at(s, slot, when);
        return false;
    }
    if (op->flags & OP_MEMORY && w->micro == 0 && !lsu_takes(s)) {
        park(s, 1ull << slot);
        s->lsu_waiters |= 1ull << slot;
        return false;
    }
    s->ready &= ~(1ull << slot);
    uint64_t begins = s->now;                  /* in its unit */
    if (!s->collect) {
        begins += collect(s, slot, w, op);
        if (unit)
            *unit = s->now + group->initiation;
    } else if (unit) {
        begins = collect_enter(s, unit, scheduler, slot, group, op_sources(w->code, op), op->n_src < MACHINE_SOURCES ? op->n_src : MACHINE_SOURCES);
    }
    s->stats.machine_instructions++;
    struct block *b = w->block;
    if (w->micro == 0) {
        struct emu_event e;
        struct emu_pending pending;
        flight_expire(w, s->now);
        if (!step(s, slot, &e, &pending))
            return false;
        if (op->flags & OP_MEMORY)
            issue_memory(s, slot, op, &e, &pending, s->collect ? begins : s->now + 1);
    }
    w->from = s->now + 1;
    if (++w->micro < op->count) {
        w->from = s->now + group->gap;
    } else {
        if (!(op->flags & OP_MEMORY))
            results_known(s, slot, op, write_back(s, begins + op->latency));
        if (op->flags & OP_BRANCH)
            w->from = s->now + BRANCH_CYCLES;
        w->copy_group += (op->flags & OP_COMMIT) != 0;
        if (op->flags & OP_PAUSE)
            w->from = s->now + PAUSE_CYCLES;
        if (op->flags & OP_BARRIER)            /* also for the one that opens it */
            w->from = s->now + 1 + s->gpu->config.sm.barrier_latency;
        w->peeked = false;
        release_others(s, b, op);
    }
    issue_evaluate(s, slot);
    return true;
}

/* What became of a scheduler's chance in this cycle. */
static void count_slot(struct sm *s, const struct scheduler *d, uint32_t number, unsigned issued, bool any)
{
    if (issued == 1)
        s->stats.single_issue[number % TIMING_SCHEDULERS]++;
    else if (issued == 2)
        s->stats.dual_issue[number % TIMING_SCHEDULERS]++;
    else if (any)
        s->stats.stall_pipeline++;
    else
        issue_count_idle(s, d, 1);
}

void issue_count_idle(struct sm *s, const struct scheduler *d, uint64_t cycles)
{
    if (d->owned & s->taken_slots)
        s->stats.stall_scoreboard += cycles;
    else
        s->stats.stall_idle += cycles;
}

static uint8_t next_unit(const struct warp_slot *w) { return op_group(&w->code->ops[w->insn], w->micro)->unit; }

/* The chance of scheduler i in this cycle. */
static inline __attribute__((always_inline)) void issue_of(struct sm *s, const struct timing_config *c, uint32_t i)
{
    struct scheduler *d = &s->schedulers[i];
    uint64_t candidates = s->ready & d->owned;
    unsigned issued = 0;
    bool any = candidates != 0;
    if (any && d->policy->never_refuses && park_all(s, i, candidates))
        candidates = 0;
    while (candidates) {
        int slot = d->policy->pick(d, candidates, s->warps);
        if (slot < 0)
            break;
        uint8_t unit = next_unit(&s->warps[slot]);
        if (try_issue(s, i, (uint32_t)slot)) {
            d->last = slot;
            issued = 1;
            for (uint32_t n = 1; n < c->issue.per_warp && s->ready >> slot & 1; n++) {
                uint8_t other = next_unit(&s->warps[slot]);
                if ((c->issue.different_units && other == unit) || !try_issue(s, i, (uint32_t)slot))
                    break;
                issued = 2;
            }
            break;
        }
        candidates &= ~(1ull << slot);
    }
    count_slot(s, d, i, issued, any);
}

/* What is in front of collectors is shared: who goes first changes each cycle. */
static __attribute__((noinline)) void issue_in_turn(struct sm *s, const struct timing_config *c)
{
    uint32_t n = c->issue.schedulers, first = (uint32_t)(s->now % n);
    for (uint32_t k = 0; k < n; k++)
        issue_of(s, c, (first + k) % n);
}

void issue_cycle(struct sm *s)
{
    const struct timing_config *c = &s->gpu->config;
    if (s->collect) {
        issue_in_turn(s, c);
        return;
    }
    for (uint32_t i = 0; i < c->issue.schedulers; i++)
        issue_of(s, c, i);
}

void issue_load_done(struct sm *s, uint32_t id)
{
    struct load *l = &s->loads[id];
    uint32_t slot = l->warp;
    struct warp_slot *w = &s->warps[slot];
    uint64_t ready = l->ready > s->now ? l->ready : s->now;
    bool alive = w->block && w->age == l->age;
    uint32_t kept = 0;
    for (uint32_t i = 0; alive && i < w->n_flight; i++) {
        struct in_flight f = w->flight[i];
        if (f.ready == NEVER && f.load == id) {
            if (f.held)
                continue;
            f.ready = ready;
            if (s->collect)
                collect_result(s, slot, f.reg, ready);
            flight_note(w, &f);
        }
        w->flight[kept++] = f;
    }
    if (alive) {
        w->n_flight = (uint8_t)kept;
        if (l->is_store)
            w->stores--;
        else
            w->loads--;
        w->strong = (uint16_t)(w->strong - (l->is_store && l->pending >= 0));
        if (l->copy)
            w->copies[l->copy - 1]--;
    }
    if (l->pending >= 0)
        s->free_pending[s->n_free_pending++] = (uint32_t)l->pending;
    l->next_free = s->free_load;
    s->free_load = id;
    if (s->lsu_waiters)
        lsu_wake_waiters(s);
    if (!alive)
        return;
    if (w->wait == WAIT_DRAIN)
        sm_drained(s, slot);
    else if (w->wait == WAIT_REGISTER || w->wait == WAIT_FENCE)
        sm_wake_at(s, slot, ready > s->now ? ready : s->now + 1);
}
