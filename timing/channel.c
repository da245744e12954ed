/* A memory channel: its L2 slices, and the DRAM behind them.
 *
 *     interconnect -> grant (iSLIP) -> ROP delay -> slice: one sector a cycle -> reply port -> interconnect
 *                                                     |  ^
 *                                       misses, write-backs  fills
 *                                                     v  |
 *                                   round robin -> fixed delay -> DRAM queue
 *
 * The latency of the slice is on the way back as far as a window is long: a reply that is made in one window must not reach its SM before the next. What is
 * left of it is the delay in front.
 *
 * Everything here counts L2 cycles, but for DRAM's own and for the times of messages. Atomics and strong accesses are performed when their sector is in
 * the slice and their turn has come: that is their place in the order of memory. */
#include "timing/model.h"

#include <stdlib.h>
#include <string.h>

enum { ROP_MOST_SECTORS = 8 /* of one packet */, MOST_GRANTED = 4095, NO_PACKET = UINT32_MAX, ICNT_CYCLES = 1 };

/* ---- rings --------------------------------------------------------------------------------------------------------------------------------- */

static bool ring_create(struct ring *r, uint32_t room)
{
    *r = (struct ring){.at = calloc(room, sizeof *r->at), .room = room};
    return r->at != NULL;
}
static bool ring_full(const struct ring *r) { return r->n == r->room; }
static void ring_put(struct ring *r, uint64_t v) { r->at[(r->first + r->n++) % r->room] = v; }
static uint64_t ring_get(struct ring *r)
{
    uint64_t v = r->at[r->first];
    r->first = (r->first + 1) % r->room;
    r->n--;
    return v;
}

/* ---- making -------------------------------------------------------------------------------------------------------------------------------- */

static enum status slice_create(struct slice *l, const struct timing_gpu *g, uint32_t number, struct error *err)
{
    const struct timing_config *c = &g->config;
    struct cache_spec spec = cache_spec_of(&c->l2);
    l->number = number;
    enum status st = cache_create(&l->l2, &spec, err);
    if (st == ST_OK)
        st = mshr_create(&l->mshr, c->l2.mshrs, c->l2.merge, err);
    if (st != ST_OK)
        return st;
    l->l2.map = &g->map;
    l->by_sm = calloc(g->n_sms, sizeof *l->by_sm);
    l->present = calloc((g->n_sms + 63) / 64, sizeof *l->present);
    l->rop_room = c->mem.l2_latency + c->mem.queue_in + ROP_MOST_SECTORS;       /* the delay holds one a cycle */
    l->rop = calloc(l->rop_room, sizeof *l->rop);
    if (!l->by_sm || !l->present || !l->rop || !ring_create(&l->to_dram, c->mem.queue_to_dram + LINE_SECTORS) ||
        !ring_create(&l->from_dram, c->mem.queue_from_dram))
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for L2 slice %u", number);
    for (uint32_t i = 0; i < g->n_sms; i++)
        l->by_sm[i].first = NO_PACKET;
    l->next = NEVER;
    return ST_OK;
}

static struct dram_spec dram_spec_of(const struct timing_config *c)
{
    return (struct dram_spec){
        .banks = c->dram.banks, .groups = c->dram.bank_groups ? c->dram.bank_groups : 1, .group_low_bits = c->dram.group_bits == TIMING_GROUP_LOW,
        .ccd = c->dram.tCCD, .ccdl = c->dram.tCCDL, .rrd = c->dram.tRRD, .rcd = c->dram.tRCD, .ras = c->dram.tRAS, .rp = c->dram.tRP, .rc = c->dram.tRC,
        .cl = c->dram.tCL, .wl = c->dram.tWL, .cdlr = c->dram.tCDLR, .wr = c->dram.tWR, .rtpl = c->dram.tRTPL,
        .burst_cycles = c->derived.dram_burst_clocks ? c->derived.dram_burst_clocks : 1, .atom_bytes = c->derived.dram_atom,
        .order = c->dram.scheduler == TIMING_FCFS ? &dram_fcfs : &dram_frfcfs, .queue = c->dram.queue, .return_queue = c->dram.return_queue,
        .write_queue = c->dram.write_queue ? c->dram.write_queue_size : 0, .write_high = c->dram.write_queue_high, .write_low = c->dram.write_queue_low,
        .dual_bus = c->dram.dual_command};
}

static uint64_t core_to_l2(const struct channel *c, uint64_t n) { return clock_convert(&c->gpu->clocks, CLOCK_CORE, CLOCK_L2, n); }

enum status channel_create(struct channel *c, struct timing_gpu *g, uint32_t number, struct error *err)
{
    uint32_t n = g->config.mem.slices;
    *c = (struct channel){.gpu = g, .number = number, .dram_from = NEVER};
    c->dram_delay = core_to_l2(c, g->config.dram.latency);
    c->front_delay = g->config.mem.l2_latency > g->window ? core_to_l2(c, g->config.mem.l2_latency - g->window) : 0;   /* the way back has the rest of the slice's latency */
    c->delay_room = (uint32_t)c->dram_delay + 1;       /* one enters a cycle: more are in it only when DRAM holds them up */
    c->slices = calloc(n, sizeof *c->slices);
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
    for (uint32_t i = 0; c->slices && i < c->gpu->config.mem.slices; i++) {
        struct slice *l = &c->slices[i];
        cache_destroy(&l->l2);
        mshr_destroy(&l->mshr);
        vec_free(&l->arrivals);
        for (unsigned t = 0; t < MAX_THREADS; t++)
            vec_free(&l->out[t]);
        free(l->by_sm);
        free(l->present);
        free(l->packets);
        free(l->free_packets);
        free(l->rop);
        free(l->to_dram.at);
        free(l->from_dram.at);
    }
    free(c->slices);
    free(c->delay);
    dram_destroy(&c->dram);
}

/* ---- from the interconnect -------------------------------------------------------------------------------------------------------------------- */

static bool packets_grow(struct slice *l)
{
    uint32_t n = l->n_packets ? l->n_packets * 2 : 64;
    struct packet *more = realloc(l->packets, n * sizeof *more);
    l->packets = more ? more : l->packets;
    uint32_t *free_packets = realloc(l->free_packets, n * sizeof *free_packets);
    l->free_packets = free_packets ? free_packets : l->free_packets;
    if (!more || !free_packets)
        return false;
    for (uint32_t i = n; i-- > l->n_packets;)
        l->free_packets[l->n_free_packets++] = i;
    l->n_packets = n;
    return true;
}

bool channel_arrive(struct channel *c, const struct request *r)
{
    struct slice *l = &c->slices[r->slice % c->gpu->config.mem.slices];
    if (!l->n_free_packets && !packets_grow(l))
        return false;
    struct arrival *to = vec_add(&l->arrivals);
    if (!to)
        return false;
    uint32_t i = l->free_packets[--l->n_free_packets];
    l->packets[i].r = *r;
    *to = (struct arrival){r->time, r->address, i};
    c->fresh = true;
    return true;
}

/* Packets that are at the slice's output of the crossbar by now go to the lists of their inputs. */
static void admit(struct channel *c, struct slice *l)
{
    uint64_t icnt = clock_convert(&c->gpu->clocks, CLOCK_L2, CLOCK_ICNT, c->now);
    while (l->arrivals_at < l->arrivals.n && l->arrivals.at[l->arrivals_at].time + ICNT_CYCLES <= icnt) {
        uint32_t i = l->arrivals.at[l->arrivals_at++].packet, sm = l->packets[i].r.sm;
        struct packet_list *q = &l->by_sm[sm];
        l->packets[i].next = NO_PACKET;
        if (q->first == NO_PACKET)
            q->first = i;
        else
            l->packets[q->last].next = i;
        q->last = i;
        l->present[sm / 64] |= 1ull << sm % 64;
        l->n_waiting++;
    }
}

/* The first SM with a packet from the grant pointer on. */
static uint32_t granted(const struct channel *c, const struct slice *l)
{
    uint32_t words = (c->gpu->n_sms + 63) / 64, first = l->grant / 64;
    for (uint32_t k = 0; k <= words; k++) {
        uint32_t w = (first + k) % words;
        uint64_t bits = l->present[w];
        if (k == 0)
            bits &= UINT64_MAX << l->grant % 64;
        if (bits)
            return w * 64 + (uint32_t)__builtin_ctzll(bits);
    }
    return l->grant;
}

static void count_arrival(struct channel *c, struct slice *l, const struct request *r)
{
    uint64_t core = clock_convert(&c->gpu->clocks, CLOCK_L2, CLOCK_CORE, c->now), n = core > r->sent ? core - r->sent : 0;
    l->stats.requests++;
    l->stats.arrival_latency += n;
    l->stats.arrival_latency_max = n > l->stats.arrival_latency_max ? n : l->stats.arrival_latency_max;
    timing_histogram_count(l->stats.arrival_latencies, n);
}

static uint64_t rop_limit(const struct channel *c) { return c->front_delay + c->gpu->config.mem.queue_in + ROP_MOST_SECTORS; }

/* Takes one packet and cuts it into sectors. */
static void grant(struct channel *c, struct slice *l)
{
    if (!l->n_waiting)
        return;
    if (l->rop_n + ROP_MOST_SECTORS > rop_limit(c) || l->n_granted >= MOST_GRANTED) {
        l->stats.full_stall++;
        return;
    }
    uint32_t sm = granted(c, l);
    struct packet_list *q = &l->by_sm[sm];
    uint32_t i = q->first;
    struct packet *p = &l->packets[i];
    const struct request *r = &p->r;
    q->first = p->next;
    if (q->first == NO_PACKET)
        l->present[sm / 64] &= ~(1ull << sm % 64);
    l->n_waiting--;
    l->n_granted++;
    count_arrival(c, l, r);
    l->grant = (sm + 1) % c->gpu->n_sms;
    c->granted[sm]++;
    p->left = 0;
    uint64_t due = c->now + (r->source == SOURCE_TEXTURE ? 0 : c->front_delay);
    for (uint32_t k = 0; k < r->sectors; k++) {
        unsigned sector = (unsigned)((r->address / SECTOR_BYTES + k) % LINE_SECTORS);
        if (r->kind == REQUEST_WRITE && !r->bytes.sector[sector])
            continue;
        l->rop[(l->rop_at + l->rop_n++) % l->rop_room] = (struct waiting){.address = r->address + k * SECTOR_BYTES, .due = due, .packet = i};
        p->left++;
    }
}

/* ---- to the interconnect ------------------------------------------------------------------------------------------------------------------------- */

static bool out_room(const struct channel *c, const struct slice *l)
{
    uint64_t icnt = clock_convert(&c->gpu->clocks, CLOCK_L2, CLOCK_ICNT, c->now);
    return l->out_from < icnt + c->gpu->config.mem.queue_out;
}

static void perform(struct channel *c, const struct request *r)
{
    if (r->pending >= 0 && r->lanes)
        (void)emu_warp_perform(&c->gpu->sms[r->sm].pending[r->pending], c->worker, r->lanes);   /* addresses were checked when it issued */
}

/* A sector of the packet is done; with the last one the reply goes out. A read's reply has a packet for each sector. */
static void sector_done(struct channel *c, struct slice *l, uint32_t packet)
{
    struct packet *p = &l->packets[packet];
    if (--p->left)
        return;
    const struct request *r = &p->r;
    perform(c, r);
    uint64_t ready = clock_convert(&c->gpu->clocks, CLOCK_L2, CLOCK_ICNT, c->now + 1 + (r->kind == REQUEST_ATOMIC ? core_to_l2(c, c->gpu->config.mem.atomic_latency) : 0)), slot = ready;
    slot = slot > l->out_from ? slot : l->out_from;
    uint8_t data = r->kind == REQUEST_READ || r->kind == REQUEST_STRONG_READ ? r->sectors : r->kind == REQUEST_ATOMIC;
    l->out_from = slot + (data ? data : 1);
    l->stats.replies += data;
    uint64_t way = ICNT_CYCLES + clock_convert(&c->gpu->clocks, CLOCK_CORE, CLOCK_ICNT, c->gpu->window);
    struct reply *to = vec_add(&l->out[r->sm / c->gpu->group % c->gpu->n_threads]);
    if (to)
        *to = (struct reply){.time = l->out_from - 1 + way, .left = ready, .sent = r->sent, .type = r->type, .sectors = data, .address = r->address, .sm = r->sm, .tag = r->tag,
                             .kind = r->kind, .source = r->source, .slice = l->number, .serial = l->serial++};
    l->free_packets[l->n_free_packets++] = packet;
    l->n_granted--;
    c->packets++;
}

/* ---- the slice -------------------------------------------------------------------------------------------------------------------------------------- */

static void write_back(struct slice *l, const struct cache_victim *v)
{
    for (unsigned i = 0; v->dirty && i < LINE_SECTORS; i++)
        if (v->bytes.sector[i]) {
            ring_put(&l->to_dram, (v->line_address + i * SECTOR_BYTES) | 1);
            l->stats.l2.access[TIMING_L2_WRBK_ACC][TIMING_HIT]++;
        }
}

/* Room for a miss and a victim's sectors. */
static bool dram_room_for_miss(const struct slice *l) { return l->to_dram.n + LINE_SECTORS < l->to_dram.room; }

static uint64_t atom_of(const struct slice *l, uint64_t address)
{
    return address & ~(uint64_t)(l->l2.spec.sectored ? SECTOR_BYTES - 1 : l->l2.spec.line_bytes - 1);
}

static void count_access(struct slice *l, const struct request *r, enum timing_outcome outcome) { l->stats.l2.access[r->type][outcome]++; }

/* The access must try again. */
static bool fails(struct slice *l, const struct request *r, enum timing_fail why)
{
    count_access(l, r, TIMING_RESERVATION_FAIL);
    l->stats.l2.fail[r->type][why]++;
    return false;
}

static bool reads(const struct request *r) { return r->kind == REQUEST_READ || r->kind == REQUEST_STRONG_READ || r->kind == REQUEST_ATOMIC; }

/* Waiters are packets. */
static bool miss(struct slice *l, const struct waiting *w, const struct request *q, const struct line_mask *bytes)
{
    uint64_t atom = atom_of(l, w->address);
    enum mshr_result k = mshr_check(&l->mshr, atom);
    if (k == MSHR_ENTRIES_FULL || k == MSHR_MERGE_FULL)
        return fails(l, q, k == MSHR_ENTRIES_FULL ? TIMING_MSHR_ENRTY_FAIL : TIMING_MSHR_MERGE_ENRTY_FAIL);
    if (k == MSHR_MERGED) {
        mshr_add(&l->mshr, atom, w->packet);
        count_access(l, q, outcome_of(cache_probe(&l->l2, w->address, bytes, false)));
        count_access(l, q, TIMING_MSHR_HIT);
        return true;
    }
    if (!dram_room_for_miss(l))
        return fails(l, q, TIMING_MISS_QUEUE_FULL);
    struct cache_victim v;
    enum cache_result r = cache_read(&l->l2, w->address, bytes, &v);
    if (r == CACHE_RESERVATION_FAIL)
        return fails(l, q, TIMING_LINE_ALLOC_FAIL);
    count_access(l, q, outcome_of(r));
    write_back(l, &v);
    mshr_add(&l->mshr, atom, w->packet);
    ring_put(&l->to_dram, w->address);
    return true;
}

/* False: it must try again. */
static bool read_sector(struct channel *c, struct slice *l, const struct waiting *w, const struct request *q)
{
    static const struct line_mask whole = {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}};
    const struct line_mask *bytes = q->kind == REQUEST_ATOMIC || q->tag == TAG_FILL ? &whole : &q->bytes;
    struct cache_victim v;
    if (cache_probe(&l->l2, w->address, bytes, false) != CACHE_HIT)
        return miss(l, w, q, bytes);
    if (!out_room(c, l)) {
        l->stats.reply_stall++;
        return false;
    }
    cache_read(&l->l2, w->address, bytes, &v);
    count_access(l, q, TIMING_HIT);
    if (q->kind == REQUEST_ATOMIC) {
        cache_update(&l->l2, w->address, &q->bytes, true);
        l->stats.atomics++;
    }
    sector_done(c, l, w->packet);
    return true;
}

static bool whole_sector(const struct request *q, uint64_t address) { return q->bytes.sector[address / SECTOR_BYTES % LINE_SECTORS] == UINT32_MAX; }

static bool write_sector(struct channel *c, struct slice *l, const struct waiting *w, const struct request *q)
{
    struct cache_victim v;
    if (!out_room(c, l) || !dram_room_for_miss(l))
        return fails(l, q, TIMING_MISS_QUEUE_FULL);
    enum cache_result there = l->l2.spec.write_alloc == CACHE_LAZY_FETCH ? CACHE_HIT : cache_probe(&l->l2, w->address, &q->bytes, true);
    bool missed = there == CACHE_MISS || there == CACHE_SECTOR_MISS;
    if (missed && l->l2.spec.write_alloc == CACHE_FETCH_ON_WRITE && !whole_sector(q, w->address))
        return miss(l, w, q, &q->bytes);       /* the write joins the sector when it is there */
    if (missed && l->l2.spec.write_alloc != CACHE_FETCH_ON_WRITE)              /* not allocated: it goes on to DRAM; allocated: the rest of it is read */
        ring_put(&l->to_dram, w->address | (l->l2.spec.write_alloc == CACHE_NO_ALLOCATE));
    if (missed && l->l2.spec.write_alloc == CACHE_NO_ALLOCATE) {
        count_access(l, q, outcome_of(there));
        sector_done(c, l, w->packet);
        return true;
    }
    enum cache_result r = cache_write(&l->l2, w->address, &q->bytes, true, &v);
    if (r == CACHE_RESERVATION_FAIL)
        return fails(l, q, TIMING_LINE_ALLOC_FAIL);
    if (r == CACHE_HIT_RESERVED) {             /* behind the fill that is under way */
        if (mshr_add(&l->mshr, atom_of(l, w->address), w->packet) >= MSHR_ENTRIES_FULL)
            return fails(l, q, TIMING_MSHR_MERGE_ENRTY_FAIL);
        count_access(l, q, TIMING_HIT_RESERVED);
        return true;
    }
    write_back(l, &v);
    count_access(l, q, outcome_of(r));
    sector_done(c, l, w->packet);
    return true;
}

/* The head of the queue, when its delay is over and the data port is free. */
static void access_slice(struct channel *c, struct slice *l)
{
    if (!l->rop_n || l->port_from > c->now)
        return;
    const struct waiting *w = &l->rop[l->rop_at];
    if (w->due > c->now)
        return;
    const struct request *q = &l->packets[w->packet].r;
    if (!(reads(q) ? read_sector(c, l, w, q) : write_sector(c, l, w, q)))
        return;
    uint32_t port = c->gpu->config.l2.port;
    l->port_from = c->now + (port && port < SECTOR_BYTES ? SECTOR_BYTES / port : 1);
    l->stats.l2.data_port_busy++;
    l->rop_at = (l->rop_at + 1) % l->rop_room;
    l->rop_n--;
}

struct filled { struct channel *c; struct slice *l; uint64_t address; };

static void wake_packet(void *user, uint32_t packet)
{
    const struct filled *f = user;
    struct slice *l = f->l;
    const struct request *r = &l->packets[packet].r;
    if (r->kind == REQUEST_WRITE || r->kind == REQUEST_STRONG_WRITE || r->kind == REQUEST_ATOMIC)
        cache_update(&l->l2, f->address, &r->bytes, true);
    l->stats.atomics += r->kind == REQUEST_ATOMIC;
    sector_done(f->c, l, packet);
}

/* One fill a cycle, before accesses. */
static void fill(struct channel *c, struct slice *l)
{
    if (!l->from_dram.n || l->port_from > c->now || !dram_room_for_miss(l) || !out_room(c, l))
        return;
    struct filled f = {c, l, ring_get(&l->from_dram)};
    struct cache_victim v;
    cache_fill(&l->l2, f.address, &v);
    write_back(l, &v);
    mshr_fill(&l->mshr, atom_of(l, f.address), wake_packet, &f);
    uint32_t port = c->gpu->config.l2.port;
    l->port_from = c->now + (port && port < SECTOR_BYTES ? SECTOR_BYTES / port : 1);
    l->stats.l2.fill_port_busy++;
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
    if (c->dram.returned.n)
        return c->now + 1;
    uint64_t next = dram_next_return(&c->dram);
    return next == NEVER ? NEVER : clock_after(&c->gpu->clocks, CLOCK_DRAM, CLOCK_L2, next);
}

/* One request of a slice, round robin, enters the fixed delay; one whose delay is over enters the controller. */
static void feed_dram(struct channel *c)
{
    uint32_t n = c->gpu->config.mem.slices;
    for (uint32_t k = 0; k < n && c->delay_n < c->delay_room; k++) {
        struct slice *l = &c->slices[(c->turn + k) % n];
        if (!l->to_dram.n)
            continue;
        uint64_t v = ring_get(&l->to_dram);
        c->delay[(c->delay_at + c->delay_n++) % c->delay_room] =
            (struct delayed){.due = c->now + c->dram_delay, .address = v & ~1ull, .slice = (c->turn + k) % n, .write = v & 1};
        c->turn = (c->turn + k + 1) % n;
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
    if (!d->write) {
        const struct slice *l = &c->slices[d->slice];
        cache_expect(&l->l2, d->address);
        mshr_expect(&l->mshr, atom_of(l, d->address));
    }
    c->delay_at = (c->delay_at + 1) % c->delay_room;
    c->delay_n--;
}

/* One read a cycle goes back to its slice. */
static void run_dram(struct channel *c)
{
    dram_run(&c->dram, dram_cycle(c, c->now));
    if (c->dram.returned.n) {
        struct slice *l = &c->slices[c->dram.nodes[c->dram.returned.first].r.slice];
        uint64_t id;
        if (!ring_full(&l->from_dram) && dram_returned(&c->dram, &id)) {
            ring_put(&l->from_dram, id);
            cache_expect_line(&l->l2, id);
            l->next = c->now;
        }
    }
    c->dram_from = dram_returns(c);
}

/* ---- time -------------------------------------------------------------------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t latest(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* The next L2 cycle at which the slice has something to do, if nothing comes from DRAM before. */
static uint64_t slice_next(const struct channel *c, const struct slice *l)
{
    uint64_t next = NEVER;
    if (l->from_dram.n || l->n_waiting)
        return c->now + 1;
    if (l->rop_n)
        next = latest(l->rop[l->rop_at].due, l->port_from);
    if (l->arrivals_at < l->arrivals.n)
        next = least(next, clock_convert(&c->gpu->clocks, CLOCK_ICNT, CLOCK_L2, l->arrivals.at[l->arrivals_at].time + ICNT_CYCLES));
    return latest(next, c->now + 1);
}

static void run_slice(struct channel *c, struct slice *l)
{
    fill(c, l);
    access_slice(c, l);
    admit(c, l);
    grant(c, l);
    l->next = slice_next(c, l);
}

/* The next L2 cycle at which the channel has something to do. */
static uint64_t channel_next(const struct channel *c)
{
    uint64_t next = c->dram_from;
    if (c->delay_n)
        next = least(next, c->delay[c->delay_at].due);
    for (uint32_t i = 0; i < c->gpu->config.mem.slices; i++)
        next = least(next, c->slices[i].to_dram.n ? 0 : c->slices[i].next);
    return latest(next, c->now + 1);
}

bool channel_idle(const struct channel *c)
{
    for (uint32_t i = 0; i < c->gpu->config.mem.slices; i++)
        for (unsigned t = 0; t < c->gpu->n_threads; t++)
            if (c->slices[i].out[t].n)
                return false;
    return channel_next(c) == NEVER;
}

/* What arrives in this window will be looked up in it. */
static void expect(const struct slice *l)
{
    for (size_t i = 0; i < l->arrivals.n; i++) {
        const struct arrival *a = &l->arrivals.at[i];
        const struct packet *p = &l->packets[a->packet];
        __builtin_prefetch(p, 1);
        __builtin_prefetch((const char *)(p + 1) - 1, 1);
        cache_expect(&l->l2, a->address);
        mshr_expect(&l->mshr, atom_of(l, a->address));
    }
    for (size_t i = 0; i < l->arrivals.n; i++)
        cache_expect_line(&l->l2, l->arrivals.at[i].address);
}

void channel_run(struct channel *c, uint64_t until_core_cycle)
{
    uint64_t until = clock_convert(&c->gpu->clocks, CLOCK_CORE, CLOCK_L2, until_core_cycle);
    uint32_t n = c->gpu->config.mem.slices;
    if (!c->fresh && c->next >= until) {
        c->now = until;
        dram_run(&c->dram, dram_cycle(c, until - 1));
        return;
    }
    c->fresh = false;
    for (uint32_t i = 0; i < n; i++) {         /* what arrives was not there when it said when */
        c->slices[i].next = c->now;
        expect(&c->slices[i]);
    }
    for (; c->now < until; c->now = least(c->next, until)) {
        if (c->dram_from <= c->now)
            run_dram(c);
        for (uint32_t i = 0; i < n; i++)
            if (c->slices[i].next <= c->now)
                run_slice(c, &c->slices[i]);
        feed_dram(c);
        c->next = channel_next(c);
    }
    dram_run(&c->dram, dram_cycle(c, until - 1));        /* what it does while the slices sleep */
}
