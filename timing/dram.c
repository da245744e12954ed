#include "timing/dram.h"

#include <stdlib.h>

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
    d->n_nodes = d->spec.queue + d->spec.write_queue + d->spec.return_queue;
    d->nodes = calloc(d->n_nodes, sizeof *d->nodes);
    if (!d->nodes)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for a DRAM queue of %u requests", d->n_nodes);
    for (uint32_t i = 0; i < d->n_nodes; i++)
        d->nodes[i].next = i + 1 < d->n_nodes ? i + 1 : DRAM_NONE;
    for (uint32_t i = 0; i < spec->banks; i++) {
        d->banks[i].current = DRAM_NONE;
        d->banks[i].group = spec->group_low_bits ? i % spec->groups : i / (spec->banks / spec->groups);
    }
    return ST_OK;
}

void dram_destroy(struct dram *d)
{
    free(d->nodes);
    d->nodes = NULL;
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
    d->nodes[i] = (struct dram_node){.r = *r, .order = ++d->serial, .pushed = d->cycle};
    d->stats.requests++;
    list_add(d, &d->banks[r->bank].waiting[apart], i);
    d->waiting[apart] |= 1ull << r->bank;
    d->quiet = 0;
    if (apart)
        d->n_writes++;
    else
        d->n_reads++;
}

bool dram_busy(const struct dram *d) { return d->n_reads || d->n_writes || d->flight.n; }

bool dram_returned(struct dram *d, uint64_t *id)
{
    if (!d->returned.n)
        return false;
    uint32_t i = d->returned.first;
    *id = d->nodes[i].r.id;
    list_remove(d, &d->returned, i);
    node_free(d, i);
    d->quiet = 0;                              /* there is room to return */
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

static void retire(struct dram *d)
{
    while (d->flight.n && d->nodes[d->flight.first].order <= d->cycle) {
        uint32_t i = d->flight.first;
        list_remove(d, &d->flight, i);
        list_add(d, &d->returned, i);
    }
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

/* At most one request to one free bank. False: none. */
static bool schedule(struct dram *d)
{
    for (uint64_t free = d->waiting[d->draining] & ~(d->hits | d->misses); free;) {
        uint32_t n = first_of(d, free);
        struct dram_bank *b = &d->banks[n];
        struct dram_list *l = &b->waiting[d->draining];
        free &= ~bit(n);
        uint32_t i = d->spec.order->choose(d, b, l);
        if (i == DRAM_NONE)
            continue;
        list_remove(d, l, i);
        if (!l->n)
            d->waiting[d->draining] &= ~bit(n);
        b->current = i;
        bool hit = b->open && b->row == d->nodes[i].r.row;
        *(hit ? &d->hits : &d->misses) |= bit(n);
        *(hit ? &d->stats.row_hits : &d->stats.row_misses) += 1;
        return true;
    }
    return false;
}

static bool room_to_return(const struct dram *d) { return d->flight.n + d->returned.n < d->spec.return_queue; }

static void at_least(uint64_t *t, uint64_t v)
{
    if (*t < v)
        *t = v;
}

static void finish_write(struct dram *d, uint32_t i)
{
    if (d->spec.write_queue)
        d->n_writes--;
    else
        d->n_reads--;
    node_free(d, i);
}

static void count_wait(struct dram *d, uint64_t pushed)
{
    uint64_t n = d->cycle - pushed;
    d->stats.queue_latency += n;
    d->stats.queue_latency_max = n > d->stats.queue_latency_max ? n : d->stats.queue_latency_max;
    timing_histogram_count(d->stats.queue_latencies, n);
}

static uint64_t latest(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* From when on bank n's column command may go. */
static uint64_t column_from(const struct dram *d, uint32_t n)
{
    const struct dram_bank *b = &d->banks[n];
    bool write = d->nodes[b->current].r.write;
    if (!write && !room_to_return(d))
        return UINT64_MAX;
    uint64_t own = latest(write ? b->write_from : b->column_from, d->group_from[b->group]);
    return latest(own, latest(write ? d->write_from : d->read_from, d->any_column_from));
}

/* From when on bank n's row command may go: activate or precharge. */
static uint64_t row_from(const struct dram *d, uint32_t n)
{
    const struct dram_bank *b = &d->banks[n];
    return b->open ? b->precharge_from : latest(b->activate_from, d->any_activate_from);
}

static void column(struct dram *d, uint32_t n)
{
    struct dram_bank *b = &d->banks[n];
    const struct dram_spec *s = &d->spec;
    uint32_t i = b->current;
    uint64_t t = d->cycle;
    d->any_column_from = t + (s->ccd > s->burst_cycles ? s->ccd : s->burst_cycles);
    d->group_from[b->group] = t + s->ccdl;
    d->stats.column_commands++;
    d->stats.busy_clocks += s->burst_cycles;
    count_wait(d, d->nodes[i].pushed);
    b->current = DRAM_NONE;
    d->hits &= ~bit(n);
    if (d->nodes[i].r.write) {
        d->stats.writes++;
        at_least(&d->read_from, t + s->wl + s->burst_cycles + s->cdlr);
        at_least(&b->precharge_from, t + s->wl + s->burst_cycles + s->wr);
        finish_write(d, i);
    } else {
        d->stats.reads++;
        d->n_reads--;
        at_least(&d->write_from, t + s->cl + s->burst_cycles + 2 > s->wl ? t + s->cl + s->burst_cycles + 2 - s->wl : 0);
        at_least(&b->precharge_from, t + (s->burst_cycles > s->rtpl ? s->burst_cycles : s->rtpl));
        d->nodes[i].order = t + s->cl + s->burst_cycles;
        d->issued = d->nodes[i].r.id;
        d->issued_slice = d->nodes[i].r.slice;
        list_add(d, &d->flight, i);
    }
}

static void row(struct dram *d, uint32_t n)
{
    struct dram_bank *b = &d->banks[n];
    const struct dram_spec *s = &d->spec;
    uint64_t t = d->cycle;
    d->stats.row_commands++;
    if (b->open) {
        b->open = false;
        at_least(&b->activate_from, t + s->rp);
        d->stats.precharges++;
        return;
    }
    b->open = true;
    b->row = d->nodes[b->current].r.row;
    b->column_from = t + s->rcd;
    b->write_from = t + (s->rcd > s->wl + 1 ? s->rcd - (s->wl + 1) : 0);
    at_least(&b->precharge_from, t + s->ras);
    b->activate_from = t + s->rc;
    d->any_activate_from = t + s->rrd;
    d->stats.activates++;
    d->misses &= ~bit(n);
    d->hits |= bit(n);
}

/* The first bank of the set, in this cycle's order, whose command may go now; DRAM_NONE: none. *next: not later than when the first of the others may. */
static uint32_t ready_of(const struct dram *d, uint64_t set, uint64_t (*from)(const struct dram *d, uint32_t n), uint64_t *next)
{
    while (set) {
        uint32_t n = first_of(d, set);
        uint64_t t = from(d, n);
        if (t <= d->cycle)
            return n;
        *next = t < *next ? t : *next;
        set &= ~bit(n);
    }
    return DRAM_NONE;
}

/* Commands of this cycle: one; with two command buses, one of each kind. False: none. */
static bool command(struct dram *d, uint64_t *next)
{
    uint32_t r = ready_of(d, d->misses, row_from, next), c = ready_of(d, d->hits, column_from, next);
    bool both = r != DRAM_NONE && c != DRAM_NONE;
    if (both && !d->spec.dual_bus)             /* the one whose bank has its turn first */
        *(first_of(d, bit(r) | bit(c)) == r ? &c : &r) = DRAM_NONE;
    if (r != DRAM_NONE)
        row(d, r);
    if (c != DRAM_NONE)
        column(d, c);
    d->stats.both_commands += both && d->spec.dual_bus;
    return r != DRAM_NONE || c != DRAM_NONE;
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
    retire(d);
    uint64_t next = UINT64_MAX;
    bool was = d->draining, any = false;
    count_cycles(d, 1);
    if (d->n_reads || d->n_writes) {
        choose_direction(d);
        any = schedule(d);
        any = command(d, &next) || any;
        turn(d, 1);
    }
    if (!any && was == d->draining) {
        if (d->flight.n && d->nodes[d->flight.first].order < next)
            next = d->nodes[d->flight.first].order;
        d->quiet = next;
    }
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
    if (d->flight.n)
        return d->nodes[d->flight.first].order;
    return d->n_reads ? d->cycle + d->spec.cl + d->spec.burst_cycles : UINT64_MAX;
}
