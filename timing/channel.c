/* A memory channel: what its L2 slices (slice.c) miss and write back goes through a fixed delay to DRAM, what DRAM reads goes back to them.
 *
 *     slices -> round robin -> fixed delay -> DRAM queue
 *
 * Everything here counts L2 cycles, but for DRAM's own. */
#include "timing/model.h"

#include <stdlib.h>

static struct dram_spec dram_spec_of(const struct timing_config *c)
{
    return (struct dram_spec){
        .banks = c->dram.banks, .groups = c->dram.bank_groups ? c->dram.bank_groups : 1, .group_low_bits = c->dram.group_bits == TIMING_GROUP_LOW,
        .ccd = c->dram.tCCD, .ccdl = c->dram.tCCDL, .rrd = c->dram.tRRD, .rcd = c->dram.tRCD, .ras = c->dram.tRAS, .rp = c->dram.tRP, .rc = c->dram.tRC,
        .cl = c->dram.tCL, .wl = c->dram.tWL, .cdlr = c->dram.tCDLR, .wr = c->dram.tWR, .rtpl = c->dram.tRTPL,
        .burst_cycles = c->derived.dram_burst_clocks ? c->derived.dram_burst_clocks : 1, .atom_bytes = c->derived.dram_atom,
        .order = c->dram.scheduler == TIMING_FCFS ? &dram_fcfs : &dram_frfcfs, .queue = c->dram.queue, .return_queue = c->dram.return_queue,
        .write_queue = c->dram.write_queue ? c->dram.write_queue_size : 0, .write_high = c->dram.write_queue_high, .write_low = c->dram.write_queue_low,
        .no_turnaround = c->dram.no_turnaround, .dual_bus = c->dram.dual_command};
}

static uint64_t core_to_l2(const struct channel *c, uint64_t n) { return clock_convert(&c->gpu->clocks, CLOCK_CORE, CLOCK_L2, n); }

enum status channel_create(struct channel *c, struct timing_gpu *g, uint32_t number, struct error *err)
{
    uint32_t n = g->config.mem.slices;
    *c = (struct channel){.gpu = g, .number = number, .dram_from = NEVER};
    c->dram_delay = core_to_l2(c, g->config.dram.latency);
    c->front_delay = g->config.mem.l2_latency > g->window ? core_to_l2(c, g->config.mem.l2_latency - g->window) : 0;   /* the way back has the rest of the slice's latency */
    c->atomic_delay = core_to_l2(c, g->config.mem.atomic_latency);
    c->way_back = clock_convert(&g->clocks, CLOCK_CORE, CLOCK_ICNT, g->window);
    c->crossing = 2 * clock_convert(&g->clocks, CLOCK_CORE, CLOCK_ICNT, g->config.mem.partition_latency);
    c->port_cycles = g->config.l2.port && g->config.l2.port < SECTOR_BYTES ? SECTOR_BYTES / g->config.l2.port : 1;
    c->delay_room = (uint32_t)c->dram_delay + 1;       /* one enters a cycle: more are in it only when DRAM holds them up */
    c->slices = slab_alloc(n, sizeof *c->slices);
    c->delay = calloc(c->delay_room, sizeof *c->delay);
    c->granted = g->exchange[number % g->n_threads].granted;
    if (!c->slices || !c->delay)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for memory channel %u", number);
    for (uint32_t i = 0; i < n; i++) {
        enum status st = slice_create(&c->slices[i], g, number * n + i, err);
        if (st != ST_OK)
            return st;
    }
    struct dram_spec spec = dram_spec_of(&g->config);
    ipoly_init(&c->bank_poly, log2_ceil(spec.banks));
    return dram_create(&c->dram, &spec, err);
}

void channel_destroy(struct channel *c)
{
    for (uint32_t i = 0; c->slices && i < c->gpu->config.mem.slices; i++)
        slice_destroy(&c->slices[i]);
    slab_free(c->slices);
    free(c->delay);
    dram_destroy(&c->dram);
}

/* ---- DRAM ------------------------------------------------------------------------------------------------------------------------------------------- */

/* Rows that follow each other at one bank's distance are spread over the banks. */
static uint32_t bank_of(const struct channel *c, uint32_t bank, uint64_t row)
{
    switch (c->gpu->config.dram.bank_hash) {
    case TIMING_DRAM_XOR: return (uint32_t)((bank ^ row) % c->dram.spec.banks);
    case TIMING_DRAM_IPOLY: return ipoly_apply(&c->bank_poly, bank | row << c->bank_poly.k) % c->dram.spec.banks;
    default: return bank;
    }
}

static uint64_t dram_cycle(const struct channel *c, uint64_t l2_cycle) { return clock_convert(&c->gpu->clocks, CLOCK_L2, CLOCK_DRAM, l2_cycle); }

/* The first L2 cycle at which a read may be back. */
static uint64_t dram_returns(const struct channel *c)
{
    if (dram_there(&c->dram))
        return c->now + 1;
    uint64_t next = dram_next_return(&c->dram);
    return next == NEVER ? NEVER : clock_after(&c->gpu->clocks, CLOCK_DRAM, CLOCK_L2, next);
}

/* A read was issued: its data will be here after some others. */
static void expect_fill(struct channel *c)
{
    struct expected *e = c->expected;
    e[1] = e[0];
    e[0] = (struct expected){c->dram.issued, c->dram.issued_slice};
    c->dram.issued = DRAM_NO_READ;
    const struct slice *l = &c->slices[e[0].slice];
    cache_expect(&l->l2, e[0].address);
    mshr_expect(&l->mshr, slice_atom(l, e[0].address));
    l = &c->slices[e[1].slice];
    cache_expect_line(&l->l2, e[1].address);
    uint32_t waiter = mshr_first(&l->mshr, slice_atom(l, e[1].address));
    if (waiter != MSHR_NONE)
        __builtin_prefetch(&c->gpu->sms[packet_sm(waiter)].pool[packet_index(waiter)], 1);
}

/* One request of a slice, round robin, enters the fixed delay; one whose delay is over enters the controller. */
static void feed_dram(struct channel *c)
{
    uint32_t n = c->gpu->config.mem.slices;
    for (uint32_t k = 0; k < n && c->delay_n < c->delay_room; k++) {
        uint32_t i = ring_place(c->turn, k, n);
        struct slice *l = &c->slices[i];
        if (!l->to_dram.n)
            continue;
        uint64_t v = ring_get(&l->to_dram);
        c->delay[ring_place(c->delay_at, c->delay_n++, c->delay_room)] = (struct delayed){.due = c->now + c->dram_delay, .address = v & ~1ull, .slice = i, .write = v & 1};
        c->turn = ring_place(i, 1, n);
        slice_sent(c, l);
        break;
    }
    if (!c->delay_n || c->delay[c->delay_at].due > c->now)
        return;
    const struct delayed *d = &c->delay[c->delay_at];
    dram_run(&c->dram, dram_cycle(c, c->now));
    if (!dram_room(&c->dram, d->write))
        return;
    uint32_t bank, row;
    addrmap_bank(&c->gpu->map, d->address, &bank, &row);
    dram_push(&c->dram, &(struct dram_request){.id = d->address, .bank = bank_of(c, bank % c->dram.spec.banks, row), .row = row, .slice = d->slice, .write = d->write});
    if (c->dram_from == NEVER)
        c->dram_from = dram_returns(c);
    c->delay_at = ring_place(c->delay_at, 1, c->delay_room);
    c->delay_n--;
}

/* One read a cycle goes back to its slice. */
static void run_dram(struct channel *c)
{
    dram_run(&c->dram, dram_cycle(c, c->now));
    const struct dram_back *there = dram_there(&c->dram);
    if (there) {
        struct slice *l = &c->slices[there->slice];
        uint64_t id;
        if (!ring_full(&l->from_dram) && dram_returned(&c->dram, &id)) {
            ring_put(&l->from_dram, id);
            l->next = c->now;
        }
    }
    c->dram_from = dram_returns(c);
}

/* ---- time -------------------------------------------------------------------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t latest(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* The next L2 cycle at which the channel has something to do. */
static uint64_t channel_next(const struct channel *c)
{
    uint64_t next = c->dram_from;
    if (c->delay_n)
        next = least(next, c->delay[c->delay_at].due);
    for (uint32_t i = 0; i < c->gpu->config.mem.slices; i++)
        next = least(next, c->slices[i].to_dram.n && c->delay_n < c->delay_room ? 0 : c->slices[i].next);
    return latest(next, c->now + 1);
}

bool channel_idle(const struct channel *c)
{
    for (uint32_t i = 0; i < c->gpu->config.mem.slices; i++)
        for (unsigned t = 0; t < c->gpu->n_threads; t++)
            if (c->slices[i].out[t].n || c->slices[i].far[t].n)
                return false;
    return channel_next(c) == NEVER;
}

/* Nothing arrives, and nothing is due. */
static bool sleeps(const struct channel *c, uint64_t until)
{
    bool stuck = false;
    for (uint32_t i = 0; i < c->gpu->config.mem.slices; i++)
        stuck = stuck || c->slices[i].stuck;
    return !c->fresh && !stuck && c->next >= until;
}

void channel_run(struct channel *c, uint64_t until_core_cycle)
{
    uint64_t until = clock_convert(&c->gpu->clocks, CLOCK_CORE, CLOCK_L2, until_core_cycle);
    uint32_t n = c->gpu->config.mem.slices;
    bool asleep = sleeps(c, until);
    for (uint32_t i = 0; i < n && !asleep; i++)
        slice_window(c, &c->slices[i]);
    if (asleep)
        c->now = until;
    for (; c->now < until; c->now = least(c->next, until)) {
        if (c->dram_from <= c->now)
            run_dram(c);
        for (uint32_t i = 0; i < n; i++)
            if (c->slices[i].next <= c->now)
                slice_run(c, &c->slices[i]);
        feed_dram(c);
        if (c->dram.issued != DRAM_NO_READ)
            expect_fill(c);
        c->next = channel_next(c);
    }
    c->fresh = false;
    for (uint32_t i = 0; i < n; i++)
        slice_count(c, &c->slices[i], until);
    dram_run(&c->dram, dram_cycle(c, until - 1));        /* what it does while the slices sleep */
}
