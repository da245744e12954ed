#include "timing/dram.h"

#include "runtime/base/slab.h"
#include "timing/ring.h"

enum { UNLIMITED = 4096 };

enum status dram_create(struct dram *d, const struct dram_spec *spec, struct error *err)
{
    *d = (struct dram){.spec = *spec, .free_node = 0, .issued = DRAM_NO_READ};
    if (spec->banks == 0 || spec->banks > DRAM_MAX_BANKS)
        return error_set(err, ST_INVALID_VALUE, "%u DRAM banks: 1 to %d can be modelled", spec->banks, DRAM_MAX_BANKS);
    if (spec->groups == 0 || spec->banks % spec->groups)
        return error_set(err, ST_INVALID_VALUE, "%u DRAM bank groups do not divide %u banks", spec->groups, spec->banks);
    if (!d->spec.queue)
        d->spec.queue = UNLIMITED;
    if (!d->spec.return_queue)
        d->spec.return_queue = UNLIMITED;
    d->n_nodes = d->spec.queue + d->spec.write_queue;
    d->nodes = slab_alloc(d->n_nodes, sizeof *d->nodes);
    d->queued = slab_alloc(d->n_nodes, sizeof *d->queued);
    d->back = slab_alloc(d->spec.return_queue, sizeof *d->back);
    if (!d->nodes || !d->queued || !d->back)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for a DRAM queue of %u requests", d->n_nodes);
    for (uint32_t i = 0; i < d->n_nodes; i++)
        d->nodes[i].next = i + 1 < d->n_nodes ? i + 1 : DRAM_NONE;
    for (uint32_t i = 0; i < spec->banks; i++)
        d->group[i] = (uint8_t)(spec->group_low_bits ? i % spec->groups : i / (spec->banks / spec->groups));
    return ST_OK;
}

void dram_destroy(struct dram *d)
{
    slab_free(d->nodes);
    slab_free(d->queued);
    slab_free(d->back);
    d->nodes = NULL;
    d->queued = NULL;
    d->back = NULL;
}

/* ---- lists ---- */

static void list_add(struct dram *d, struct dram_list *l, uint32_t i)
{
    struct dram_node *n = &d->nodes[i];
    n->next = DRAM_NONE;
    n->prev = l->n ? l->last : DRAM_NONE;
    if (l->n++)
        d->nodes[l->last].next = i;
    else
        l->first = i;
    l->last = i;
}

static void list_remove(struct dram *d, struct dram_list *l, uint32_t i)
{
    const struct dram_node *n = &d->nodes[i];
    if (n->prev != DRAM_NONE)
        d->nodes[n->prev].next = n->next;
    else
        l->first = n->next;
    if (n->next != DRAM_NONE)
        d->nodes[n->next].prev = n->prev;
    else
        l->last = n->prev;
    if (--l->n == 0)
        l->first = l->last = DRAM_NONE;
}

static void node_free(struct dram *d, uint32_t i)
{
    d->nodes[i].next = d->free_node;
    d->free_node = i;
}

/* ---- requests ---- */

bool dram_room(const struct dram *d, bool write)
{
    return write && d->spec.write_queue ? d->n_writes < d->spec.write_queue : d->n_reads < d->spec.queue;
}

void dram_push(struct dram *d, const struct dram_request *r)
{
    uint32_t i = d->free_node;
    d->free_node = d->nodes[i].next;
    bool apart = r->write && d->spec.write_queue;
    d->nodes[i].row = r->row;
    d->queued[i] = (struct dram_queued){.r = *r, .order = ++d->serial, .pushed = d->cycle};
    d->stats.requests++;
    list_add(d, &d->banks[r->bank].waiting[apart], i);
    d->waiting[apart] |= 1ull << r->bank;
    d->quiet = 0;
    if (apart)
        d->n_writes++;
    else
        d->n_reads++;
}

bool dram_busy(const struct dram *d) { return d->n_reads || d->n_writes || (d->back_n && !dram_there(d)); }

const struct dram_back *dram_there(const struct dram *d)
{
    const struct dram_back *b = &d->back[d->back_first];
    return d->back_n && b->there < d->cycle ? b : NULL;
}

bool dram_returned(struct dram *d, uint64_t *id)
{
    const struct dram_back *b = dram_there(d);
    if (!b)
        return false;
    *id = b->id;
    if (d->back_n-- == d->spec.return_queue)   /* there is room to return */
        d->column_next = d->quiet = 0;
    d->back_first = d->back_n ? ring_place(d->back_first, 1, d->spec.return_queue) : 0;
    return true;
}

/* ---- a cycle ---- */

static uint64_t bit(uint32_t bank) { return 1ull << bank; }

/* The first bank of a set (not empty) in this cycle's order. */
static uint32_t first_of(const struct dram *d, uint64_t set)
{
    uint64_t later = set & (UINT64_MAX << d->rotate);
    return (uint32_t)__builtin_ctzll(later ? later : set);
}

/* Reads have their turn until the write queue is full to its mark, or nothing else is to do; then writes down to the other mark. */
static void choose_direction(struct dram *d)
{
    if (!d->spec.write_queue)
        return;
    if (d->draining)
        d->draining = d->n_writes > d->spec.write_low || (d->n_writes && !d->n_reads);
    else
        d->draining = d->n_writes >= d->spec.write_high || (d->n_writes && !d->n_reads);
}

static void at_least(uint64_t *t, uint64_t v)
{
    if (*t < v)
        *t = v;
}

static void count_wait(struct dram *d, uint64_t pushed)
{
    uint64_t n = d->cycle - pushed;
    d->stats.queue_latency += n;
    d->stats.queue_latency_max = n > d->stats.queue_latency_max ? n : d->stats.queue_latency_max;
    timing_histogram_count(d->stats.queue_latencies, n);
}

static uint64_t latest(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Bank n's next command is a column command, or one for its row. It lowers what *_next says; all else makes times later. */
static void await_column(struct dram *d, uint32_t n)
{
    d->hits |= bit(n);
    d->from[n] = d->writing & bit(n) ? d->banks[n].write_from : d->banks[n].column_from;
    d->column_next = least(d->column_next, d->from[n]);
}

static void await_row(struct dram *d, uint32_t n)
{
    d->misses |= bit(n);
    d->from[n] = d->open & bit(n) ? d->banks[n].precharge_from : d->banks[n].activate_from;
    d->row_next = least(d->row_next, d->from[n]);
}

/* At most one request to one free bank. False: none. */
static bool schedule(struct dram *d)
{
    for (uint64_t free = d->waiting[d->draining] & ~(d->hits | d->misses); free;) {
        uint32_t n = first_of(d, free);
        struct dram_bank *b = &d->banks[n];
        struct dram_list *l = &b->waiting[d->draining];
        free &= ~bit(n);
        uint32_t i = d->spec.order->choose(d, n, l);
        if (i == DRAM_NONE)
            continue;
        list_remove(d, l, i);
        if (!l->n)
            d->waiting[d->draining] &= ~bit(n);
        b->current = i;
        d->writing = d->queued[i].r.write ? d->writing | bit(n) : d->writing & ~bit(n);
        bool hit = d->open & bit(n) && b->row == d->nodes[i].row;
        *(hit ? &d->stats.row_hits : &d->stats.row_misses) += 1;
        (hit ? await_column : await_row)(d, n);
        return true;
    }
    return false;
}

static void column(struct dram *d, uint32_t n)
{
    struct dram_bank *b = &d->banks[n];
    const struct dram_spec *s = &d->spec;
    uint32_t i = b->current;
    uint64_t t = d->cycle;
    d->any_column_from = t + (s->ccd > s->burst_cycles ? s->ccd : s->burst_cycles);
    d->group_from[d->group[n]] = t + s->ccdl;
    d->stats.column_commands++;
    d->stats.busy_clocks += s->burst_cycles;
    d->column_next = d->any_column_from;
    count_wait(d, d->queued[i].pushed);
    d->hits &= ~bit(n);
    if (d->writing & bit(n)) {
        d->stats.writes++;
        at_least(&d->read_from, s->no_turnaround ? 0 : t + s->wl + s->burst_cycles + s->cdlr);
        at_least(&b->precharge_from, t + s->wl + s->burst_cycles + s->wr);
        *(s->write_queue ? &d->n_writes : &d->n_reads) -= 1;
    } else {
        d->stats.reads++;
        d->n_reads--;
        at_least(&d->write_from, !s->no_turnaround && t + s->cl + s->burst_cycles + 2 > s->wl ? t + s->cl + s->burst_cycles + 2 - s->wl : 0);
        at_least(&b->precharge_from, t + (s->burst_cycles > s->rtpl ? s->burst_cycles : s->rtpl));
        const struct dram_request *r = &d->queued[i].r;
        d->issued = r->id;
        d->issued_slice = r->slice;
        d->back[ring_place(d->back_first, d->back_n++, s->return_queue)] = (struct dram_back){r->id, t + s->cl + s->burst_cycles, r->slice};
    }
    node_free(d, i);
}

static void row(struct dram *d, uint32_t n)
{
    struct dram_bank *b = &d->banks[n];
    const struct dram_spec *s = &d->spec;
    uint64_t t = d->cycle;
    d->stats.row_commands++;
    d->row_next = t + 1;
    if (d->open & bit(n)) {
        d->open &= ~bit(n);
        at_least(&b->activate_from, t + s->rp);
        d->stats.precharges++;
        await_row(d, n);
        return;
    }
    d->open |= bit(n);
    b->row = d->nodes[b->current].row;
    b->column_from = t + s->rcd;
    b->write_from = t + (s->rcd > s->wl + 1 ? s->rcd - (s->wl + 1) : 0);
    at_least(&b->precharge_from, t + s->ras);
    b->activate_from = t + s->rc;
    d->any_activate_from = t + s->rrd;
    d->stats.activates++;
    d->misses &= ~bit(n);
    await_column(d, n);
}

/* Of a set whose commands may go from cycle `from` on as far as the channel is concerned: all, or none. *next: not later than the first of those left out. */
static uint64_t allowed(const struct dram *d, uint64_t set, uint64_t from, uint64_t *next)
{
    if (from <= d->cycle)
        return set;
    *next = set ? least(*next, from) : *next;
    return 0;
}

/* The first bank in this cycle's order whose column command may go; DRAM_NONE: none. */
static uint32_t ready_column(struct dram *d)
{
    uint64_t next = UINT64_MAX;
    if (d->column_next > d->cycle)
        return DRAM_NONE;
    uint64_t set = allowed(d, d->hits & ~d->writing, d->back_n < d->spec.return_queue ? latest(d->read_from, d->any_column_from) : UINT64_MAX, &next) |
                   allowed(d, d->hits & d->writing, latest(d->write_from, d->any_column_from), &next);
    while (set) {
        uint32_t n = first_of(d, set);
        uint64_t from = latest(d->from[n], d->group_from[d->group[n]]);
        if (from <= d->cycle)
            return n;
        next = least(next, from);
        set &= ~bit(n);
    }
    d->column_next = next;
    return DRAM_NONE;
}

static uint32_t ready_row(struct dram *d)
{
    uint64_t next = UINT64_MAX;
    if (d->row_next > d->cycle)
        return DRAM_NONE;
    uint64_t set = (d->misses & d->open) | allowed(d, d->misses & ~d->open, d->any_activate_from, &next);
    while (set) {
        uint32_t n = first_of(d, set);
        if (d->from[n] <= d->cycle)
            return n;
        next = least(next, d->from[n]);
        set &= ~bit(n);
    }
    d->row_next = next;
    return DRAM_NONE;
}

/* Commands of this cycle: one; with two command buses, one of each kind. False: no column command. */
static bool command(struct dram *d)
{
    uint32_t r = ready_row(d), c = ready_column(d);
    bool both = r != DRAM_NONE && c != DRAM_NONE;
    if (both && !d->spec.dual_bus)             /* the one whose bank has its turn first */
        *(first_of(d, bit(r) | bit(c)) == r ? &c : &r) = DRAM_NONE;
    if (r != DRAM_NONE)
        row(d, r);
    if (c != DRAM_NONE)
        column(d, c);
    d->stats.both_commands += both && d->spec.dual_bus;
    return c != DRAM_NONE;
}

/* n cycles with something queued go by. */
static void count_cycles(struct dram *d, uint64_t n)
{
    uint32_t queued = d->n_reads + d->n_writes;
    if (!queued)
        return;
    d->stats.active_clocks += n;
    d->stats.queue_sum += n * queued;
    d->stats.queue_max = queued > d->stats.queue_max ? queued : d->stats.queue_max;
}

static void turn(struct dram *d, uint64_t n)
{
    n += d->rotate;
    d->rotate = (uint32_t)(n < d->spec.banks ? n : n % d->spec.banks);
}

void dram_tick(struct dram *d)
{
    bool was = d->draining, changed = false;   /* banks or the direction: the next cycle may schedule what this one could not */
    count_cycles(d, 1);
    if (d->n_reads || d->n_writes) {
        choose_direction(d);
        changed = schedule(d);
        changed = command(d) || changed;
        turn(d, 1);
    }
    bool again = was != d->draining || (changed && (d->spec.write_queue || d->waiting[d->draining] & ~(d->hits | d->misses)));
    d->quiet = !d->n_reads && !d->n_writes ? UINT64_MAX : again ? 0 : least(d->column_next, d->row_next);
    d->cycle++;
}

void dram_run(struct dram *d, uint64_t until)
{
    while (d->cycle < until) {
        if (d->quiet <= d->cycle) {
            dram_tick(d);
            continue;
        }
        uint64_t n = (until < d->quiet ? until : d->quiet) - d->cycle;
        count_cycles(d, n);
        if (d->n_reads || d->n_writes)
            turn(d, n);
        d->cycle += n;
    }
}

uint64_t dram_next_return(const struct dram *d)
{
    if (d->back_n)
        return d->back[d->back_first].there;
    return d->n_reads ? d->cycle + d->spec.cl + d->spec.burst_cycles : UINT64_MAX;
}
