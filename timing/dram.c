#include "timing/dram.h"

#include <stdlib.h>

enum { UNLIMITED = 4096 };

enum status dram_create(struct dram *d, const struct dram_spec *spec, struct error *err)
{
    *d = (struct dram){.spec = *spec, .free_node = 0};
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
    for (uint32_t i = 0; i < spec->banks; i++)
        d->banks[i].current = DRAM_NONE;
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
    return true;
}

/* ---- a cycle ---- */

static uint32_t group_of(const struct dram *d, uint32_t bank)
{
    return d->spec.group_low_bits ? bank % d->spec.groups : bank / (d->spec.banks / d->spec.groups);
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

/* At most one request to one free bank. */
static void schedule(struct dram *d)
{
    choose_direction(d);
    for (uint32_t k = 0; k < d->spec.banks; k++) {
        struct dram_bank *b = &d->banks[(d->rotate + k) % d->spec.banks];
        struct dram_list *l = &b->waiting[d->draining];
        if (b->current != DRAM_NONE || !l->n)
            continue;
        uint32_t i = d->spec.order->choose(d, b, l);
        if (i == DRAM_NONE)
            continue;
        list_remove(d, l, i);
        b->current = i;
        if (b->open && b->row == d->nodes[i].r.row)
            d->stats.row_hits++;
        else
            d->stats.row_misses++;
        return;
    }
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

/* A column command of bank n, when it may go now. */
static bool column(struct dram *d, uint32_t n)
{
    struct dram_bank *b = &d->banks[n];
    const struct dram_spec *s = &d->spec;
    uint32_t i = b->current, g = group_of(d, n);
    uint64_t t = d->cycle;
    bool write = d->nodes[i].r.write;
    if (!b->open || b->row != d->nodes[i].r.row || t < (write ? b->write_from : b->column_from) || t < d->any_column_from || t < d->group_from[g])
        return false;
    if (write ? t < d->write_from : t < d->read_from || !room_to_return(d))
        return false;
    d->any_column_from = t + (s->ccd > s->burst_cycles ? s->ccd : s->burst_cycles);
    d->group_from[g] = t + s->ccdl;
    d->stats.busy_clocks += s->burst_cycles;
    count_wait(d, d->nodes[i].pushed);
    b->current = DRAM_NONE;
    if (write) {
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
        list_add(d, &d->flight, i);
    }
    return true;
}

/* A row command of bank n: activate or precharge. */
static bool row(struct dram *d, uint32_t n)
{
    struct dram_bank *b = &d->banks[n];
    const struct dram_spec *s = &d->spec;
    uint64_t t = d->cycle;
    if (b->open) {
        if (b->row == d->nodes[b->current].r.row || t < b->precharge_from)
            return false;
        b->open = false;
        at_least(&b->activate_from, t + s->rp);
        d->stats.precharges++;
        return true;
    }
    if (t < b->activate_from || t < d->any_activate_from)
        return false;
    b->open = true;
    b->row = d->nodes[b->current].r.row;
    b->column_from = t + s->rcd;
    b->write_from = t + (s->rcd > s->wl + 1 ? s->rcd - (s->wl + 1) : 0);
    at_least(&b->precharge_from, t + s->ras);
    b->activate_from = t + s->rc;
    d->any_activate_from = t + s->rrd;
    d->stats.activates++;
    return true;
}

void dram_tick(struct dram *d)
{
    retire(d);
    if (d->n_reads || d->n_writes) {
        uint32_t queued = d->n_reads + d->n_writes;
        d->stats.active_clocks++;
        d->stats.queue_sum += queued;
        d->stats.queue_max = queued > d->stats.queue_max ? queued : d->stats.queue_max;
        schedule(d);
        bool column_done = false, row_done = false;
        for (uint32_t k = 0; k < d->spec.banks && !(column_done && row_done); k++) {
            uint32_t n = (d->rotate + k) % d->spec.banks;
            if (d->banks[n].current == DRAM_NONE)
                continue;
            if (!column_done && column(d, n))
                column_done = true;
            else if (!row_done && row(d, n))
                row_done = true;
            if (!d->spec.dual_bus && (column_done || row_done))
                break;
        }
        d->rotate = (d->rotate + 1) % d->spec.banks;
        d->stats.row_commands += row_done;
        d->stats.column_commands += column_done;
        d->stats.both_commands += row_done && column_done;
    }
    d->cycle++;
}

uint64_t dram_idle_cycles(const struct dram *d)
{
    if (d->n_reads || d->n_writes)
        return 0;
    if (!d->flight.n)
        return UINT64_MAX;
    uint64_t next = d->nodes[d->flight.first].order;
    return next > d->cycle ? next - d->cycle : 0;
}
