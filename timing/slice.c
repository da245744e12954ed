/* A slice of L2.
 *
 *     interconnect -> grant (iSLIP) -> ROP delay -> slice: one sector a cycle -> reply port -> interconnect
 *                                                     |  ^
 *                                       misses, write-backs  fills
 *                                                     v  |
 *                                                   channel.c
 *
 * The latency of the slice is on the way back as far as a window is long: a reply that is made in one window must not reach its SM before the next. What is
 * left of it is the delay in front.
 *
 * Everything here counts L2 cycles, but for the times of messages. Atomics and strong accesses are performed when their sector is in the slice and their turn has
 * come: that is their place in the order of memory.
 *
 * A slice that is held up until something is filled or sent to DRAM sleeps. Hardware would try again each cycle, and each try is counted: slice_count does so later. */
#include "timing/model.h"

#include <stdlib.h>

enum { ROP_MOST_SECTORS = 8 /* of one packet */, MOST_GRANTED = 4095, ICNT_CYCLES = 1, NO_NODE = UINT32_MAX };

enum status slice_create(struct slice *l, const struct timing_gpu *g, uint32_t number, struct error *err)
{
    const struct timing_config *c = &g->config;
    struct cache_spec spec = cache_spec_of(&c->l2);
    l->number = number;
    enum status st = cache_create(&l->l2, &spec, err);
    if (st == ST_OK)
        st = mshr_create(&l->mshr, c->l2.mshrs, c->l2.merge, err);
    st = st == ST_OK ? halves_create(l, g, err) : st;
    if (st != ST_OK)
        return st;
    l->l2.map = &g->map;
    l->by_sm = slab_alloc(g->n_sms, sizeof *l->by_sm);
    l->present = calloc((g->n_sms + 63) / 64, sizeof *l->present);
    l->rop_room = c->mem.l2_latency + c->mem.queue_in + ROP_MOST_SECTORS;       /* the delay holds one a cycle */
    l->rop = slab_alloc(l->rop_room, sizeof *l->rop);
    if (!l->by_sm || !l->present || !l->rop || !ring_create(&l->to_dram, c->mem.queue_to_dram + LINE_SECTORS) ||
        !ring_create(&l->from_dram, c->mem.queue_from_dram))
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for L2 slice %u", number);
    for (uint32_t i = 0; i < g->n_sms; i++)
        l->by_sm[i].first = NO_NODE;
    l->free_node = NO_NODE;
    l->next = NEVER;
    return ST_OK;
}

void slice_destroy(struct slice *l)
{
    cache_destroy(&l->l2);
    mshr_destroy(&l->mshr);
    vec_free(&l->arrivals);
    halves_destroy(l);
    for (unsigned t = 0; t < MAX_THREADS; t++) {
        vec_free(&l->out[t]);
        vec_free(&l->far[t]);
    }
    slab_free(l->by_sm);
    free(l->present);
    slab_free(l->nodes);
    slab_free(l->rop);
    free(l->to_dram.at);
    free(l->from_dram.at);
}

static struct packet *packet_of(const struct channel *c, uint32_t handle) { return &c->gpu->sms[packet_sm(handle)].pool[packet_index(handle)]; }

/* ---- from the interconnect -------------------------------------------------------------------------------------------------------------------- */

/* The first of more free nodes; NO_NODE: no host memory. */
static uint32_t nodes_grow(struct slice *l)
{
    uint32_t n = l->n_nodes ? l->n_nodes * 2 : 256;
    struct packet_node *more = slab_grow(l->nodes, l->n_nodes, n, sizeof *more);
    if (!more)
        return NO_NODE;
    for (uint32_t i = l->n_nodes; i < n; i++)
        more[i] = (struct packet_node){0, i + 1 < n ? i + 1 : NO_NODE};
    l->nodes = more;
    l->free_node = l->n_nodes;
    l->n_nodes = n;
    return l->free_node;
}

/* Packets that are at the slice's output of the crossbar by now go to the lists of their inputs. */
static void admit(struct channel *c, struct slice *l)
{
    if (l->arrivals_at >= l->arrivals.n)
        return;
    uint64_t icnt = clock_convert(&c->gpu->clocks, CLOCK_L2, CLOCK_ICNT, c->now);
    while (l->arrivals_at < l->arrivals.n && l->arrivals.at[l->arrivals_at].time + ICNT_CYCLES <= icnt) {
        uint32_t handle = l->arrivals.at[l->arrivals_at].packet, sm = packet_sm(handle), i = l->free_node;
        if (i == NO_NODE && (i = nodes_grow(l)) == NO_NODE)
            return;                            /* no host memory: they wait */
        struct packet_list *q = &l->by_sm[sm];
        l->arrivals_at++;
        l->free_node = l->nodes[i].next;
        l->nodes[i] = (struct packet_node){handle, NO_NODE};
        if (q->first == NO_NODE)
            q->first = i;
        else
            l->nodes[q->last].next = i;
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
        uint32_t w = first + k < words ? first + k : first + k - words;
        uint64_t bits = l->present[w];
        if (k == 0)
            bits &= UINT64_MAX << l->grant % 64;
        if (bits)
            return w * 64 + (uint32_t)__builtin_ctzll(bits);
    }
    return l->grant;
}

/* ---- to the interconnect ------------------------------------------------------------------------------------------------------------------------- */

static bool out_room(const struct channel *c, const struct slice *l)
{
    uint64_t icnt = clock_convert(&c->gpu->clocks, CLOCK_L2, CLOCK_ICNT, c->now);
    return l->out_from < icnt + c->gpu->config.mem.queue_out;
}

static void perform(struct channel *c, uint32_t handle, const struct packet *p)
{
    if (p->pending >= 0 && p->lanes)
        (void)emu_warp_perform(&c->gpu->sms[packet_sm(handle)].pending[p->pending], c->worker, p->lanes);   /* addresses were checked when it issued */
}

/* A sector of the packet is done; with the last one the reply goes out. A read's reply has a packet for each sector. */
static void sector_done(struct channel *c, struct slice *l, uint32_t handle)
{
    struct packet *p = packet_of(c, handle);
    const struct timing_gpu *g = c->gpu;
    if (--p->left)
        return;
    perform(c, handle, p);
    p->ready = clock_convert(&g->clocks, CLOCK_L2, CLOCK_ICNT, c->now + 1 + (p->kind == REQUEST_ATOMIC ? c->atomic_delay : 0));
    uint64_t slot = p->ready > l->out_from ? p->ready : l->out_from;
    p->data = p->kind == REQUEST_READ || p->kind == REQUEST_STRONG_READ ? p->sectors : p->kind == REQUEST_ATOMIC;
    l->out_from = slot + (p->data ? p->data : 1);
    l->stats.replies += p->data;
    unsigned thread = thread_of_sm(g, packet_sm(handle));
    struct message *to = p->far ? vec_add(&l->far[thread]) : vec_add(&l->out[thread]);
    if (to)
        *to = (struct message){.time = l->out_from - 1 + ICNT_CYCLES + c->way_back + (p->far ? c->crossing : 0), .packet = handle, .slice = l->number};
    l->n_granted--;
    c->packets++;
}

/* ---- grants ---- */

static void count_arrival(struct channel *c, struct slice *l, const struct packet *p)
{
    uint64_t core = clock_convert(&c->gpu->clocks, CLOCK_L2, CLOCK_CORE, c->now), n = core > p->sent ? core - p->sent : 0;
    l->stats.requests++;
    l->stats.arrival_latency += n;
    l->stats.arrival_latency_max = n > l->stats.arrival_latency_max ? n : l->stats.arrival_latency_max;
    timing_histogram_count(l->stats.arrival_latencies, n);
}

static bool grant_room(const struct channel *c, const struct slice *l)
{
    return l->rop_n + ROP_MOST_SECTORS <= c->front_delay + c->gpu->config.mem.queue_in + ROP_MOST_SECTORS && l->n_granted < MOST_GRANTED;
}

/* Takes one packet and cuts it into sectors. */
static void grant(struct channel *c, struct slice *l)
{
    if (!l->n_waiting)
        return;
    if (!grant_room(c, l)) {
        l->stats.full_stall++;
        return;
    }
    uint32_t sm = granted(c, l);
    struct packet_list *q = &l->by_sm[sm];
    uint32_t i = q->first, handle = l->nodes[i].packet;
    struct packet *p = packet_of(c, handle);
    q->first = l->nodes[i].next;
    l->nodes[i].next = l->free_node;
    l->free_node = i;
    if (q->first == NO_NODE)
        l->present[sm / 64] &= ~(1ull << sm % 64);
    l->n_waiting--;
    l->n_granted++;
    count_arrival(c, l, p);
    l->grant = sm + 1 < c->gpu->n_sms ? sm + 1 : 0;
    c->granted[sm]++;
    p->left = p->far = 0;
    if (l->halved)
        halves_arrive(c->gpu, l, handle, p);
    uint64_t due = c->now + (p->source == SOURCE_TEXTURE ? 0 : c->front_delay);
    for (uint32_t k = 0; k < p->sectors; k++) {
        unsigned sector = (unsigned)((p->address / SECTOR_BYTES + k) % LINE_SECTORS);
        if (p->kind == REQUEST_WRITE && !p->bytes.sector[sector])
            continue;
        l->rop[ring_place(l->rop_at, l->rop_n++, l->rop_room)] = (struct waiting){.address = p->address + k * SECTOR_BYTES, .due = due, .packet = handle};
        p->left++;
    }
    if (!p->left) {                            /* a write of no bytes: there is nothing to do */
        p->left = 1;
        sector_done(c, l, handle);
    }
    if (l->n_waiting)                          /* most probably the next */
        __builtin_prefetch(packet_of(c, l->nodes[l->by_sm[granted(c, l)].first].packet), 1);
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

uint64_t slice_atom(const struct slice *l, uint64_t address)
{
    return address & ~(uint64_t)(l->l2.spec.sectored ? SECTOR_BYTES - 1 : l->l2.spec.line_bytes - 1);
}

static void count_access(struct slice *l, const struct packet *p, enum timing_outcome outcome) { l->stats.l2.access[p->type][outcome]++; }

static void count_refused(struct slice *l, const struct packet *p, enum timing_fail why, uint64_t times)
{
    l->stats.l2.access[p->type][TIMING_RESERVATION_FAIL] += times;
    l->stats.l2.fail[p->type][why] += times;
}

static bool reads(const struct packet *p) { return p->kind == REQUEST_READ || p->kind == REQUEST_STRONG_READ || p->kind == REQUEST_ATOMIC; }

/* The access must try again; nothing changes for it before something is filled or, unless it is a read without an MSHR or a line, sent to DRAM. */
static bool fails(struct slice *l, const struct packet *p, enum timing_fail why)
{
    count_refused(l, p, why, 1);
    l->stuck = (uint8_t)(1 + why);
    l->awaits_fill = reads(p) && why != TIMING_MISS_QUEUE_FULL;
    return false;
}

/* Waiters are packets. */
static bool miss(struct slice *l, const struct waiting *w, const struct packet *p, const struct line_mask *bytes)
{
    uint64_t atom = slice_atom(l, w->address);
    enum mshr_result k = mshr_check(&l->mshr, atom);
    if (k == MSHR_ENTRIES_FULL || k == MSHR_MERGE_FULL)
        return fails(l, p, k == MSHR_ENTRIES_FULL ? TIMING_MSHR_ENRTY_FAIL : TIMING_MSHR_MERGE_ENRTY_FAIL);
    if (k == MSHR_MERGED) {
        mshr_add(&l->mshr, atom, w->packet);
        count_access(l, p, outcome_of(cache_probe(&l->l2, w->address, bytes, false)));
        count_access(l, p, TIMING_MSHR_HIT);
        return true;
    }
    if (!dram_room_for_miss(l))
        return fails(l, p, TIMING_MISS_QUEUE_FULL);
    struct cache_victim v;
    enum cache_result r = cache_read(&l->l2, w->address, bytes, &v);
    if (r == CACHE_RESERVATION_FAIL)
        return fails(l, p, TIMING_LINE_ALLOC_FAIL);
    count_access(l, p, outcome_of(r));
    write_back(l, &v);
    mshr_add(&l->mshr, atom, w->packet);
    ring_put(&l->to_dram, w->address);
    return true;
}

/* False: it must try again. */
static bool read_sector(struct channel *c, struct slice *l, const struct waiting *w, const struct packet *p)
{
    static const struct line_mask whole = {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}};
    const struct line_mask *bytes = p->kind == REQUEST_ATOMIC || p->tag == TAG_FILL ? &whole : &p->bytes;
    struct cache_victim v;
    if (cache_probe(&l->l2, w->address, bytes, false) != CACHE_HIT)
        return miss(l, w, p, bytes);
    if (!out_room(c, l)) {
        l->stats.reply_stall++;
        return false;
    }
    cache_read(&l->l2, w->address, bytes, &v);
    count_access(l, p, TIMING_HIT);
    if (l->halved)
        halves_hit(c->gpu, l, w->packet, packet_of(c, w->packet), w->address);
    if (p->kind == REQUEST_ATOMIC) {
        cache_update(&l->l2, w->address, &p->bytes, true);
        l->stats.atomics++;
    }
    sector_done(c, l, w->packet);
    return true;
}

static bool whole_sector(const struct packet *p, uint64_t address) { return p->bytes.sector[address / SECTOR_BYTES % LINE_SECTORS] == UINT32_MAX; }

static bool write_sector(struct channel *c, struct slice *l, const struct waiting *w, const struct packet *p)
{
    struct cache_victim v;
    if (l->halved)
        halves_written(c->gpu, l, w->packet, w->address);
    if (!out_room(c, l)) {                     /* time alone makes room there */
        count_refused(l, p, TIMING_MISS_QUEUE_FULL, 1);
        return false;
    }
    if (!dram_room_for_miss(l))
        return fails(l, p, TIMING_MISS_QUEUE_FULL);
    enum cache_result there = l->l2.spec.write_alloc == CACHE_LAZY_FETCH ? CACHE_HIT : cache_probe(&l->l2, w->address, &p->bytes, true);
    bool missed = there == CACHE_MISS || there == CACHE_SECTOR_MISS;
    if (missed && l->l2.spec.write_alloc == CACHE_FETCH_ON_WRITE && !whole_sector(p, w->address))
        return miss(l, w, p, &p->bytes);       /* the write joins the sector when it is there */
    if (missed && l->l2.spec.write_alloc == CACHE_NO_ALLOCATE) {
        ring_put(&l->to_dram, w->address | 1);
        count_access(l, p, outcome_of(there));
        sector_done(c, l, w->packet);
        return true;
    }
    enum cache_result r = cache_write(&l->l2, w->address, &p->bytes, true, &v);
    if (r == CACHE_RESERVATION_FAIL)
        return fails(l, p, TIMING_LINE_ALLOC_FAIL);
    if (r == CACHE_HIT_RESERVED) {             /* behind the fill that is under way */
        if (mshr_add(&l->mshr, slice_atom(l, w->address), w->packet) >= MSHR_ENTRIES_FULL)
            return fails(l, p, TIMING_MSHR_MERGE_ENRTY_FAIL);
        count_access(l, p, TIMING_HIT_RESERVED);
        return true;
    }
    if (missed && l->l2.spec.write_alloc == CACHE_ALLOCATE)
        ring_put(&l->to_dram, w->address);     /* the rest of the sector */
    write_back(l, &v);
    count_access(l, p, outcome_of(r));
    sector_done(c, l, w->packet);
    return true;
}

/* The host fetches what the accesses behind the first will need, each thing some accesses ahead of its use. */
static void expect_accesses(const struct channel *c, const struct slice *l)
{
    enum { PACKET_AHEAD = 5, TAGS_AHEAD = 4, LINE_AHEAD = 2 };
    if (l->rop_n > PACKET_AHEAD)
        __builtin_prefetch(packet_of(c, l->rop[ring_place(l->rop_at, PACKET_AHEAD, l->rop_room)].packet), 1);
    if (l->rop_n > TAGS_AHEAD) {
        uint64_t address = l->rop[ring_place(l->rop_at, TAGS_AHEAD, l->rop_room)].address;
        cache_expect(&l->l2, address);
        mshr_expect(&l->mshr, slice_atom(l, address));
    }
    if (l->rop_n > LINE_AHEAD)
        cache_expect_line(&l->l2, l->rop[ring_place(l->rop_at, LINE_AHEAD, l->rop_room)].address);
}

/* The head of the queue, when its delay is over and the data port is free. */
static void access_slice(struct channel *c, struct slice *l)
{
    if (!l->rop_n || l->port_from > c->now)
        return;
    const struct waiting *w = &l->rop[l->rop_at];
    if (w->due > c->now)
        return;
    const struct packet *p = packet_of(c, w->packet);
    if (l->stuck) {
        count_refused(l, p, (enum timing_fail)(l->stuck - 1), 1);
        return;
    }
    if (!(reads(p) ? read_sector(c, l, w, p) : write_sector(c, l, w, p)))
        return;
    l->port_from = c->now + c->port_cycles;
    l->stats.l2.data_port_busy++;
    expect_accesses(c, l);
    l->rop_at = ring_place(l->rop_at, 1, l->rop_room);
    l->rop_n--;
}

struct filled { struct channel *c; struct slice *l; uint64_t address; };

static void wake_packet(void *user, uint32_t handle)
{
    const struct filled *f = user;
    struct slice *l = f->l;
    const struct packet *p = packet_of(f->c, handle);
    if (p->kind == REQUEST_WRITE || p->kind == REQUEST_STRONG_WRITE || p->kind == REQUEST_ATOMIC)
        cache_update(&l->l2, f->address, &p->bytes, true);
    l->stats.atomics += p->kind == REQUEST_ATOMIC;
    if (l->halved)
        halves_filled(f->c->gpu, l, handle, f->address);
    sector_done(f->c, l, handle);
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
    mshr_fill(&l->mshr, slice_atom(l, f.address), wake_packet, &f);
    l->port_from = c->now + c->port_cycles;
    l->stats.l2.fill_port_busy++;
    l->stuck = 0;
}

/* ---- time -------------------------------------------------------------------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t latest(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* The next L2 cycle at which the slice has something to do, if nothing comes from DRAM or goes there before. */
static uint64_t next_cycle(const struct channel *c, const struct slice *l)
{
    uint64_t next = NEVER;
    if ((l->from_dram.n && dram_room_for_miss(l)) || (l->n_waiting && !l->stalled))
        return c->now + 1;
    if (l->rop_n && !l->stuck)
        next = latest(l->rop[l->rop_at].due, l->port_from);
    if (l->arrivals_at < l->arrivals.n)
        next = least(next, clock_convert(&c->gpu->clocks, CLOCK_ICNT, CLOCK_L2, l->arrivals.at[l->arrivals_at].time + ICNT_CYCLES));
    return latest(next, c->now + 1);
}

void slice_count(struct channel *c, struct slice *l, uint64_t until)
{
    if (l->counted >= until)
        return;
    uint64_t n = until - l->counted;
    l->counted = until;
    if (l->stuck)
        count_refused(l, packet_of(c, l->rop[l->rop_at].packet), (enum timing_fail)(l->stuck - 1), n);
    if (l->stalled)
        l->stats.full_stall += n;
}

void slice_run(struct channel *c, struct slice *l)
{
    slice_count(c, l, c->now);
    l->counted = c->now + 1;
    fill(c, l);
    access_slice(c, l);
    admit(c, l);
    grant(c, l);
    l->stalled = l->n_waiting && !grant_room(c, l);
    l->next = next_cycle(c, l);
}

void slice_flush(struct slice *l)
{
    cache_invalidate(&l->l2);
    for (unsigned h = 0; h < HALVES; h++)
        cache_invalidate(&l->near[h]);
}

void slice_sent(struct channel *c, struct slice *l)
{
    if ((l->stuck && !l->awaits_fill) || l->from_dram.n) {
        slice_count(c, l, c->now + 1);
        l->stuck = l->awaits_fill ? l->stuck : 0;
        l->next = least(l->next, c->now + 1);
    }
}

/* What arrives in this window will be looked up in it: the host fetches it. */
void slice_window(struct channel *c, struct slice *l)
{
    slice_count(c, l, c->now);
    l->next = c->now;
    l->stuck = 0;                              /* the program's copies may have changed what is there */
    enum { AHEAD = 8 };
    for (size_t i = 0; i < l->arrivals.n + AHEAD; i++) {
        if (i < l->arrivals.n)
            __builtin_prefetch(packet_of(c, l->arrivals.at[i].packet), 1);
        if (i < AHEAD)
            continue;
        uint64_t address = packet_of(c, l->arrivals.at[i - AHEAD].packet)->address;
        cache_expect(&l->l2, address);
        mshr_expect(&l->mshr, slice_atom(l, address));
    }
    for (size_t i = 0; i < l->arrivals.n; i++)
        cache_expect_line(&l->l2, packet_of(c, l->arrivals.at[i].packet)->address);
}
