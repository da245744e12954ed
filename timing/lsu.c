/* The load/store unit of an SM: shared memory, the first-level data cache, and the port to the interconnect.
 *
 * Instructions are served in order. One to shared memory holds the unit for its bank cycles. One to global or local memory is cut into accesses
 * (coalesce.c); each looks at the L1 tags when it enters, and its hit is there l1_latency later. An access that cannot get a line, an MSHR or a place in the
 * port's queue holds up those behind it and tries again each cycle. */
#include "timing/model.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LOADS = 2048, MAX_PENDING = 512 };

enum status lsu_create(struct sm *s, struct error *err)
{
    const struct timing_cache *c = &s->gpu->config.l1d;
    s->queue_room = s->collect ? LSU_DEPTH_COLLECTED : LSU_DEPTH;
    s->n_loads = MAX_LOADS;
    s->loads = slab_alloc(MAX_LOADS, sizeof *s->loads);
    s->pending = calloc(MAX_PENDING, sizeof *s->pending);
    s->pending_order = calloc(MAX_PENDING, sizeof *s->pending_order);
    s->free_pending = calloc(MAX_PENDING, sizeof *s->free_pending);
    if (!s->loads || !s->pending || !s->pending_order || !s->free_pending)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for the load/store unit of SM %u", s->number);
    for (uint32_t i = 1; i < MAX_LOADS; i++)   /* 0 is no load */
        s->loads[i].next_free = i + 1 < MAX_LOADS ? i + 1 : 0;
    s->free_load = 1;
    for (uint32_t i = 0; i < MAX_PENDING; i++)
        s->free_pending[i] = i;
    s->n_pending = s->n_free_pending = MAX_PENDING;
    if (!c->present)
        return ST_OK;
    struct cache_spec spec = cache_spec_of(c);
    if (s->gpu->config.derived.l1_ways_max > spec.ways)
        spec.ways = s->gpu->config.derived.l1_ways_max;
    spec.dirty_percent = s->gpu->config.lsu.l1_dirty_percent;
    enum status st = cache_create(&s->l1, &spec, err);
    return st == ST_OK ? mshr_create(&s->l1_mshr, c->mshrs, c->merge, err) : st;
}

void lsu_destroy(struct sm *s)
{
    cache_destroy(&s->l1);
    mshr_destroy(&s->l1_mshr);
    slab_free(s->loads);
    free(s->pending);
    free(s->pending_order);
    free(s->free_pending);
    slab_free(s->pool);
    slab_free(s->pool_free);
}

bool lsu_room(const struct sm *s) { return s->queue_n < s->queue_room; }

void lsu_wake_waiters(struct sm *s)
{
    if (s->lsu_waiters)
        sm_wake_set(s, s->lsu_waiters, s->now + 1);
    s->lsu_waiters = 0;
}

/* ---- what enters ---------------------------------------------------------------------------------------------------------------------- */

static enum mem_class class_of(const struct emu_event *e)
{
    if (e->insn->space == PTX_SPACE_CONST)
        return MEM_CLASS_CONST;
    switch (e->space) {
    case PTX_SPACE_SHARED: return MEM_CLASS_SHARED;
    case PTX_SPACE_LOCAL: return MEM_CLASS_LOCAL;
    case PTX_SPACE_PARAM: return MEM_CLASS_PARAM;
    case PTX_SPACE_TEX: return MEM_CLASS_TEXTURE;
    default: return MEM_CLASS_GLOBAL;
    }
}

static enum request_kind kind_of(const struct emu_event *e)
{
    if (e->strong)
        return e->atomic ? REQUEST_ATOMIC : e->store ? REQUEST_STRONG_WRITE : REQUEST_STRONG_READ;
    return e->store ? REQUEST_WRITE : REQUEST_READ;
}

/* Local memory is interleaved over the threads of the GPU in words of 4 bytes, so that lanes at the same offset are neighbours. One pass for each word. */
static uint32_t coalesce_local(const struct sm *s, uint32_t slot, const struct emu_event *e, bool sectors, struct access *out)
{
    uint64_t threads = (uint64_t)s->gpu->n_sms * s->gpu->config.sm.threads, first = (uint64_t)s->number * s->gpu->config.sm.threads + slot * WARP_LANES, at[WARP_LANES];
    uint32_t n = 0, words = e->bytes <= 4 ? 1 : e->bytes / 4u;
    for (uint32_t k = 0; k < words; k++) {
        for (uint32_t lane = 0; lane < WARP_LANES; lane++) {
            uint64_t offset = e->lanes >> lane & 1 ? e->address[lane] - EMU_LOCAL_WINDOW + 4 * k : 0;
            at[lane] = EMU_LOCAL_WINDOW + (offset / 4 * threads + first + lane) * 4 + offset % 4;
        }
        struct lanes l = {.address = at, .mask = e->lanes, .bytes = e->bytes < 4 ? e->bytes : 4};
        if (n + 2 * WARP_LANES > MAX_ACCESSES)
            break;
        n += coalesce(&s->gpu->coalescer, &l, sectors, out + n);
    }
    return n;
}

static bool bypasses(const struct sm *s, const struct emu_event *e, enum request_kind kind)
{
    return kind >= REQUEST_ATOMIC || !s->gpu->config.l1d.present || !s->l1.ways || (s->gpu->config.lsu.skip_l1 && e->space != PTX_SPACE_LOCAL) ||
           ptx_insn_has(e->insn, PTX_MOD_CG) || ptx_insn_has(e->insn, PTX_MOD_CV);
}

void lsu_count(struct sm *s, const struct emu_event *e)
{
    uint32_t lanes = (uint32_t)__builtin_popcount(e->lanes);
    switch (class_of(e)) {
    case MEM_CLASS_SHARED:  s->stats.shared_instructions += lanes; break;
    case MEM_CLASS_CONST:   s->stats.const_instructions += lanes; break;
    case MEM_CLASS_PARAM:   s->stats.param_instructions += lanes; break;
    case MEM_CLASS_TEXTURE: s->stats.texture_instructions += lanes; break;
    case MEM_CLASS_GLOBAL:
    case MEM_CLASS_LOCAL:
        *(e->atomic ? &s->stats.atomic_instructions : e->store ? &s->stats.store_instructions : &s->stats.load_instructions) += lanes;
    }
}

static uint64_t atom_of(const struct sm *s, uint64_t address)
{
    return address & ~(uint64_t)(s->l1.spec.sectored ? SECTOR_BYTES - 1 : s->l1.spec.line_bytes - 1);
}

void lsu_push(struct sm *s, uint32_t slot, const struct emu_event *e, int32_t pending, uint32_t load, uint64_t from)
{
    const struct timing_config *c = &s->gpu->config;
    struct mem_op *m = &s->queue[(s->queue_at + s->queue_n++) & (s->queue_room - 1)];
    enum request_kind kind = kind_of(e);
    struct lanes lanes = {.address = e->address, .mask = e->lanes, .bytes = e->bytes};
    m->warp = slot;
    m->load = load;
    m->kind = (uint8_t)kind;
    m->class = (uint8_t)class_of(e);
    m->pending = pending;
    m->from = from;
    m->n = m->next = 0;
    m->cycles = 1;
    m->side = NULL;
    if (m->class == MEM_CLASS_CONST) {
        constant_push(s, m, &lanes);
    } else if (m->class == MEM_CLASS_TEXTURE) {
        texture_push(s, m, e);
    } else if (m->class == MEM_CLASS_SHARED) {
        m->cycles = e->atomic ? atomic_bank_cycles(&lanes, c->smem.banks) : c->smem.one_broadcast ? bank_cycles_of_one(&lanes, c->smem.banks) : bank_cycles(&lanes, c->smem.banks);
        s->stats.shared_bank_conflicts += m->cycles - 1;
        s->stats.stall_shared_bank += m->cycles - 1;
    } else if (m->class == MEM_CLASS_GLOBAL || m->class == MEM_CLASS_LOCAL) {
        m->bypass = bypasses(s, e, kind);
        bool sectors = coalesce_by_sectors(&s->gpu->coalescer, m->bypass);
        if (m->class == MEM_CLASS_LOCAL)
            m->n = coalesce_local(s, slot, e, sectors, m->at);
        else
            m->n = kind == REQUEST_ATOMIC ? coalesce_atomic(&s->gpu->coalescer, &lanes, sectors, m->at) : coalesce(&s->gpu->coalescer, &lanes, sectors, m->at);
        if (c->lsu.l1_model == TIMING_L1_WAVEFRONT) {
            uint32_t quarters = wavefront_quarter_cycles(&lanes, c->lsu.l1_return_bytes) + s->lsu_quarters;
            m->cycles = quarters / 4;
            s->lsu_quarters = quarters % 4;
        }
    }
    uint32_t left = m->n ? m->n : 1, seen = 0;
    for (uint32_t i = 0; i < m->n; i++) {      /* a lane's access is performed once, though it may touch two segments */
        m->at[i].lanes &= ~seen;
        seen |= m->at[i].lanes;
        if (!m->bypass && !m->side && s->l1.lines) {
            cache_expect(&s->l1, m->at[i].address);
            mshr_expect(&s->l1_mshr, atom_of(s, m->at[i].address));
        }
    }
    s->loads[load].left = left;
}

/* ---- what comes out --------------------------------------------------------------------------------------------------------------------- */

void lsu_access_done(struct sm *s, uint32_t id, uint64_t cycle)
{
    struct load *l = &s->loads[id];
    l->ready = cycle > l->ready ? cycle : l->ready;
    if (--l->left == 0)
        issue_load_done(s, id);
}

bool lsu_port_room(const struct sm *s) { return s->in_network < s->gpu->config.noc.input_queue; }

static bool is_write(const struct packet *p) { return p->kind == REQUEST_WRITE || p->kind == REQUEST_STRONG_WRITE || p->kind == REQUEST_ATOMIC; }

static void count_sent(struct sm *s, const struct packet *p)
{
#define SUM(name) offsetof(struct timing_sm_stats, name)
    static const size_t sums[TIMING_ACCESS_TYPES] = {
        [TIMING_GLOBAL_ACC_R] = SUM(sent_read_global), [TIMING_GLOBAL_ACC_W] = SUM(sent_write_global), [TIMING_LOCAL_ACC_R] = SUM(sent_read_local),
        [TIMING_LOCAL_ACC_W] = SUM(sent_write_local), [TIMING_CONST_ACC_R] = SUM(sent_const), [TIMING_TEXTURE_ACC_R] = SUM(sent_texture)};
#undef SUM
    if (sums[p->type])
        ++*(uint64_t *)(void *)((char *)&s->stats + sums[p->type]);
    s->stats.sent[p->type][is_write(p) && p->sectors < TIMING_PACKET_SIZES ? p->sectors : 0]++;
}

static bool pool_grow(struct sm *s)
{
    uint32_t n = s->pool_size ? s->pool_size * 2 : 256;
    uint32_t *free_ones = n >> PACKET_BITS ? NULL : slab_grow(s->pool_free, s->pool_size, n, sizeof *free_ones);
    if (!free_ones)
        return false;
    s->pool_free = free_ones;
    struct packet *more = slab_grow(s->pool, s->pool_size, n, sizeof *more);
    if (!more)
        return false;
    s->pool = more;
    for (uint32_t i = s->pool_size; i < n; i++) {                     /* whole: they are saved, used or not */
        s->pool[i] = (struct packet){.tag = TAG_NOBODY};
        s->pool_free[i] = 0;
    }
    for (uint32_t i = n; i-- > s->pool_size;)
        s->pool_free[s->n_pool_free++] = i;
    s->pool_size = n;
    return true;
}

/* Memory that is perfect: the reply is there as soon as the request could have left. What has its place in the order of memory goes to L2 all the same. */
static bool answer_at_once(struct sm *s, uint32_t at, uint64_t slot, uint32_t slice)
{
    struct packet *p = &s->pool[at];
    size_t i = s->inbox.n;
    struct message *last = vec_add(&s->inbox);
    if (!last)
        return false;
    for (; i > s->inbox_at && s->inbox.at[i - 1].time > slot; i--)
        s->inbox.at[i] = s->inbox.at[i - 1];
    s->inbox.at[i] = (struct message){.time = slot, .packet = s->number << PACKET_BITS | at, .slice = slice};
    p->ready = slot;
    p->data = is_write(p) ? 0 : p->sectors;
    return true;
}

/* One packet a cycle of the interconnect. */
bool lsu_send(struct sm *s, const struct packet *p, uint64_t ready)
{
    const struct timing_gpu *g = s->gpu;
    uint64_t slot = clock_convert(&g->clocks, CLOCK_CORE, CLOCK_ICNT, ready);
    uint32_t slice = addrmap_slice(&g->map, p->address), thread = g->n_threads == 1 ? 0 : slice / g->config.mem.slices % g->n_threads;
    if (!s->n_pool_free && !pool_grow(s))
        return false;
    uint32_t at = s->pool_free[--s->n_pool_free];
    slot = slot > s->port_from ? slot : s->port_from;
    s->port_from = slot + 1;
    s->pool[at] = *p;
    s->pool[at].sent = s->now;
    if (g->config.lsu.perfect && p->pending < 0) {
        s->packets++;
        count_sent(s, p);
        return answer_at_once(s, at, slot, slice);
    }
    struct message *to = vec_add(&s->out[thread]);
    if (!to) {
        s->n_pool_free++;
        return false;
    }
    *to = (struct message){.time = slot, .packet = s->number << PACKET_BITS | at, .slice = slice};
    s->in_network++;
    s->packets++;
    count_sent(s, p);
    return true;
}

static enum timing_access_type type_of(const struct mem_op *m)
{
    bool write = m->kind == REQUEST_WRITE || m->kind == REQUEST_STRONG_WRITE;
    if (m->class == MEM_CLASS_LOCAL)
        return write ? TIMING_LOCAL_ACC_W : TIMING_LOCAL_ACC_R;
    if (m->class == MEM_CLASS_TEXTURE && m->kind == REQUEST_READ)
        return TIMING_TEXTURE_ACC_R;
    return write ? TIMING_GLOBAL_ACC_W : TIMING_GLOBAL_ACC_R;
}

static void count_access(struct sm *s, const struct mem_op *m, enum timing_outcome outcome) { s->stats.l1d.access[type_of(m)][outcome]++; }

static void count_refused(struct sm *s, const struct mem_op *m, enum timing_fail why, uint64_t times)
{
    s->stats.l1d.access[type_of(m)][TIMING_RESERVATION_FAIL] += times;
    s->stats.l1d.fail[type_of(m)][why] += times;
    s->stats.stall_l1_resource += times;
    s->stats.memory_stall += times;
}

/* The access must try again. */
static bool fails(struct sm *s, const struct mem_op *m, enum timing_fail why)
{
    count_refused(s, m, why, 1);
    s->lsu_stuck = (uint8_t)(1 + why);
    return false;
}

static struct packet packet_for(const struct mem_op *m, const struct access *a, uint32_t tag)
{
    return (struct packet){.address = a->address, .tag = tag, .lanes = a->lanes, .pending = m->pending, .kind = m->kind, .source = SOURCE_DATA,
                            .sectors = (uint8_t)(a->bytes / SECTOR_BYTES), .type = (uint8_t)type_of(m), .bytes = a->touched};
}

static bool send_access(struct sm *s, const struct mem_op *m, const struct access *a)
{
    if (!lsu_port_room(s)) 
        return fails(s, m, TIMING_MISS_QUEUE_FULL);
    struct packet r = packet_for(m, a, m->load);
    return lsu_send(s, &r, s->now + s->gpu->config.lsu.l1_latency);
}

/* Writes what a dirty victim held. */
static void write_back(struct sm *s, const struct cache_victim *v, uint64_t ready)
{
    for (unsigned i = 0; v->dirty && i < LINE_SECTORS; i++) {
        if (!v->bytes.sector[i])
            continue;
        struct packet r = {.address = v->line_address + i * SECTOR_BYTES, .tag = 0, .pending = -1, .kind = REQUEST_WRITE, .type = TIMING_L1_WRBK_ACC, .source = SOURCE_DATA, .sectors = 1};
        r.bytes.sector[i] = v->bytes.sector[i];
        lsu_send(s, &r, ready);
    }
}

/* False: it must try again. */
static bool load_access(struct sm *s, const struct mem_op *m, const struct access *a)
{
    uint64_t hit_at = s->now + s->gpu->config.lsu.l1_latency, atom = atom_of(s, a->address);
    enum cache_result r = cache_probe(&s->l1, a->address, &a->touched, false);
    struct cache_victim v = {.dirty = false};
    if (r == CACHE_HIT) {
        cache_read(&s->l1, a->address, &a->touched, &v);
        count_access(s, m, TIMING_HIT);
        lsu_access_done(s, m->load, hit_at);
        return true;
    }
    enum mshr_result k = mshr_check(&s->l1_mshr, atom);
    if (k == MSHR_ENTRIES_FULL || k == MSHR_MERGE_FULL)
        return fails(s, m, k == MSHR_ENTRIES_FULL ? TIMING_MSHR_ENRTY_FAIL : TIMING_MSHR_MERGE_ENRTY_FAIL);
    if (k == MSHR_MERGED) {
        mshr_add(&s->l1_mshr, atom, m->load);
        count_access(s, m, outcome_of(r));
        count_access(s, m, TIMING_MSHR_HIT);
        return true;
    }
    if (!lsu_port_room(s)) 
        return fails(s, m, TIMING_MISS_QUEUE_FULL);
    r = cache_read(&s->l1, a->address, &a->touched, &v);
    if (r == CACHE_RESERVATION_FAIL)
        return fails(s, m, TIMING_LINE_ALLOC_FAIL);
    count_access(s, m, outcome_of(r));
    write_back(s, &v, hit_at);
    mshr_add(&s->l1_mshr, atom, m->load);
    struct packet q = packet_for(m, a, TAG_FILL);
    q.address = atom;
    q.sectors = (uint8_t)(s->l1.spec.sectored ? 1 : s->l1.spec.line_bytes / SECTOR_BYTES);
    return lsu_send(s, &q, hit_at);
}

static bool store_access(struct sm *s, const struct mem_op *m, const struct access *a)
{
    const struct cache_spec *spec = &s->l1.spec;
    bool local = m->class == MEM_CLASS_LOCAL;
    bool keeps = spec->write == CACHE_WRITE_BACK || (spec->write == CACHE_LOCAL_BACK && local);
    struct cache_victim v = {.dirty = false};
    enum cache_result r = CACHE_MISS;
    if (keeps) {
        if (!lsu_port_room(s))
            return fails(s, m, TIMING_MISS_QUEUE_FULL);
        r = cache_write(&s->l1, a->address, &a->touched, true, &v);
        if (r == CACHE_RESERVATION_FAIL || r == CACHE_HIT_RESERVED)
            return fails(s, m, r == CACHE_HIT_RESERVED ? TIMING_MSHR_RW_PENDING : TIMING_LINE_ALLOC_FAIL);
        write_back(s, &v, s->now);
        count_access(s, m, outcome_of(r));
        lsu_access_done(s, m->load, s->now + 1);
        return true;
    }
    if (!lsu_port_room(s)) 
        return fails(s, m, TIMING_MISS_QUEUE_FULL);
    if (spec->write == CACHE_WRITE_THROUGH && spec->write_alloc != CACHE_NO_ALLOCATE)
        r = cache_write(&s->l1, a->address, &a->touched, false, &v);
    else if (spec->write == CACHE_WRITE_THROUGH)
        r = cache_update(&s->l1, a->address, &a->touched, false);
    else
        cache_evict(&s->l1, a->address);
    write_back(s, &v, s->now);
    count_access(s, m, r == CACHE_HIT ? TIMING_HIT : r == CACHE_HIT_RESERVED ? TIMING_HIT_RESERVED : TIMING_MISS);
    struct packet q = packet_for(m, a, m->load);
    return lsu_send(s, &q, s->now + s->gpu->config.lsu.l1_latency);
}

static bool one_access(struct sm *s, struct mem_op *m)
{
    const struct access *a = &m->at[m->next];
    bool store = m->kind == REQUEST_WRITE;
    bool done = m->bypass ? send_access(s, m, a) : store ? store_access(s, m, a) : load_access(s, m, a);
    m->next += done;
    return done;
}

static uint32_t bank_of(const struct timing_config *c, uint64_t address)
{
    static const enum set_hash hashes[] = {SET_LINEAR, SET_XOR, SET_IPOLY, SET_FERMI};
    return hash_set(hashes[c->lsu.l1_bank_hash], address / c->lsu.l1_bank_bytes, c->lsu.l1_banks);
}

/* As many accesses as have banks of their own, in order. */
static void banked(struct sm *s, struct mem_op *m)
{
    uint64_t busy = 0;
    for (uint32_t i = 0; i < s->gpu->config.lsu.l1_banks && m->next < m->n; i++) {
        uint64_t bank = 1ull << bank_of(&s->gpu->config, m->at[m->next].address);
        if (busy & bank) {
            s->stats.l1_bank_conflicts++;
            break;
        }
        if (!one_access(s, m))
            break;
        busy |= bank;
    }
    s->stats.stall_uncoalesced += m->next < m->n;
    s->lsu_from = s->now + 1;
}

/* All at once, and then the unit is busy for as long as the rule says. */
static void wavefront(struct sm *s, struct mem_op *m)
{
    while (m->next < m->n)
        if (!one_access(s, m)) {
            s->lsu_from = s->now + 1;
            return;
        }
    s->stats.stall_uncoalesced += m->cycles > 1 ? m->cycles - 1 : 0;
    s->lsu_from = s->now + (m->cycles ? m->cycles : 1);
}

static void pop(struct sm *s)
{
    s->queue_at = (s->queue_at + 1) & (s->queue_room - 1);
    s->queue_n--;
    lsu_wake_waiters(s);
}

/* An access that was refused tries again each cycle. What refuses it changes when a window begins, a reply or a CTA comes, or one leaves: until then the tries are
 * only counted, as what one of them counts. */
void lsu_settle(struct sm *s)
{
    const struct mem_op *m = &s->queue[s->queue_at];
    if (!s->lsu_stuck || s->lsu_from >= s->now)
        return;
    enum timing_fail why = (enum timing_fail)(s->lsu_stuck - 1);
    uint64_t times = s->now - s->lsu_from;
    s->lsu_from = s->now;
    if (m->side) {
        side_count_refused(m->side, why, times);
        s->stats.stall_const += m->class == MEM_CLASS_CONST ? times : 0;
        return;
    }
    count_refused(s, m, why, times);
    s->stats.stall_uncoalesced += s->gpu->config.lsu.l1_model == TIMING_L1_WAVEFRONT ? 0 : times;
}

void lsu_cycle(struct sm *s)
{
    const struct timing_config *c = &s->gpu->config;
    struct mem_op *m = &s->queue[s->queue_at];
    if (!s->queue_n || s->lsu_from > s->now || m->from > s->now)
        return;
    lsu_settle(s);
    s->lsu_stuck = 0;
    s->lsu_retry = false;
    if (m->n == 0) {                           /* shared memory, constants */
        uint32_t latency = m->class == MEM_CLASS_SHARED ? c->smem.latency : CONSTANT_CYCLES;
        s->lsu_from = s->now + m->cycles;
        uint32_t load = m->load, cycles = m->cycles;
        pop(s);
        lsu_access_done(s, load, s->now + latency - 1 + cycles - 1);
        return;
    }
    if (m->side) {
        if (!side_serve(s, m))
            s->stats.stall_const += m->class == MEM_CLASS_CONST;
        s->lsu_from = s->now + 1;
    } else if (c->lsu.l1_model == TIMING_L1_WAVEFRONT)
        wavefront(s, m);
    else
        banked(s, m);
    if (m->next == m->n)
        pop(s);
}

uint64_t lsu_next(const struct sm *s)
{
    if (!s->queue_n || (s->lsu_stuck && !s->lsu_retry))
        return NEVER;
    uint64_t from = s->queue[s->queue_at].from;
    from = from > s->lsu_from ? from : s->lsu_from;
    return from > s->now ? from : s->now;
}

/* ---- replies ------------------------------------------------------------------------------------------------------------------------------ */

static void wake_load(void *user, uint32_t load) { lsu_access_done(user, load, ((struct sm *)user)->now + 1); }

static void count_reply(struct sm *s, const struct packet *p, uint64_t time)
{
    uint64_t trip = s->now - p->sent, back = clock_convert(&s->gpu->clocks, CLOCK_ICNT, CLOCK_CORE, time - p->ready);
    s->stats.fetches++;
    s->stats.fetch_latency += trip;
    s->stats.fetch_latency_max = trip > s->stats.fetch_latency_max ? trip : s->stats.fetch_latency_max;
    timing_histogram_count(s->stats.fetch_latencies, trip);
    s->stats.return_latency += back;
    s->stats.return_latency_max = back > s->stats.return_latency_max ? back : s->stats.return_latency_max;
    timing_histogram_count(s->stats.return_latencies, back);
    s->stats.received[p->type][p->data < TIMING_PACKET_SIZES ? p->data : 0]++;
}

static bool fills_l1(const struct packet *p) { return p->tag == TAG_FILL && p->source == SOURCE_DATA; }

static struct packet *packet_in(const struct sm *s, size_t i) { return &s->pool[packet_index(s->inbox.at[i].packet)]; }

/* Each loop reads what the one before it has told the host to fetch: packets, tags, lines and waiters, loads, warps. */
void lsu_expect(const struct sm *s, uint64_t until)
{
    uint64_t end = clock_convert(&s->gpu->clocks, CLOCK_CORE, CLOCK_ICNT, until);
    size_t first = s->inbox_at, n = first;
    for (; n < s->inbox.n && s->inbox.at[n].time < end; n++)
        __builtin_prefetch(packet_in(s, n));
    for (size_t i = first; i < n; i++) {
        const struct packet *p = packet_in(s, i);
        if (fills_l1(p)) {
            cache_expect(&s->l1, p->address);
            mshr_expect(&s->l1_mshr, atom_of(s, p->address));
        } else if (p->tag != TAG_FILL)
            __builtin_prefetch(&s->loads[p->tag], 1);
    }
    for (size_t i = first; i < n; i++) {
        const struct packet *p = packet_in(s, i);
        if (fills_l1(p)) {
            cache_expect_line(&s->l1, p->address);
            uint32_t load = mshr_first(&s->l1_mshr, atom_of(s, p->address));
            if (load != MSHR_NONE)
                __builtin_prefetch(&s->loads[load], 1);
        } else if (p->tag != TAG_FILL)
            __builtin_prefetch(&s->warps[s->loads[p->tag].warp], 1);
    }
    for (size_t i = first; i < n; i++) {
        const struct packet *p = packet_in(s, i);
        uint32_t load = fills_l1(p) ? mshr_first(&s->l1_mshr, atom_of(s, p->address)) : MSHR_NONE;
        if (load != MSHR_NONE)
            __builtin_prefetch(&s->warps[s->loads[load].warp], 1);
    }
}

static void take_reply(struct sm *s, const struct packet *p)
{
    if (p->tag != TAG_FILL) {
        if (p->tag != TAG_NOBODY)              /* as for the write-back of a victim */
            lsu_access_done(s, p->tag, s->now + 1);
        return;
    }
    if (p->source == SOURCE_INSTRUCTION) {
        fetch_reply(s, p->address);
        return;
    }
    if (p->source != SOURCE_DATA) {
        side_reply(s, p->source == SOURCE_CONSTANT ? &s->l1c : &s->l1t, p->address);
        return;
    }
    struct cache_victim v;
    cache_fill(&s->l1, p->address, &v);
    write_back(s, &v, s->now);
    mshr_fill(&s->l1_mshr, atom_of(s, p->address), wake_load, s);
}

void lsu_reply(struct sm *s, const struct message *m)
{
    uint32_t at = packet_index(m->packet);
    struct packet p = s->pool[at];
    s->pool_free[s->n_pool_free++] = at;
    s->lsu_retry |= s->lsu_stuck != 1 + TIMING_MISS_QUEUE_FULL;       /* the port has room again in the next window */
    count_reply(s, &p, m->time);
    take_reply(s, &p);
}
