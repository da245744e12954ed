/* Operand collection in detail, as GPGPU-Sim has it (rf.model = detailed):
 *
 *     issue -> entry register -> input port -> collector -> register banks -> output port -> exit register -> unit
 *
 * An entry register (pipe.id_oc_*) is what issue waits for. An input port puts one instruction a step into a collector: those of a kind of unit into its own or a generic
 * one, generic ports into a generic one. There are rf.steps steps in a cycle; in each a bank serves one register, results of units before sources. When a collector has its
 * sources, one of its set's output ports hands it on to an exit register (pipe.oc_ex_*), where it stays until its unit takes it. With sub-cores each scheduler has its part
 * of registers, collectors, banks and units; ports serve all.
 *
 * As everywhere in issue times are reservations: at its issue an instruction is given its place in all of them, in the order of issue. So a later instruction that has
 * its sources earlier does not overtake an earlier one at a port; that is what is lost. In rf.model = simple none of this exists, and issue.c asks the banks alone. */
#include "timing/model.h"

#include <stdlib.h>

enum { MOST_PORTS = 256, MOST_WIDTH = 64, BANK_SLOTS = 4096 };

struct places { uint32_t n; uint64_t from[MOST_PORTS]; };      /* of each, when it is free again */
struct collect_set { struct places units, in, out; };        /* steps */
struct collectors {
    struct collect_set sets[UNIT_NONE + 1];    /* of a kind of unit; the last is generic */
    struct unit_pool exit[UNIT_NONE], units[UNIT_NONE];        /* cycles; s->units are the entry registers */
    uint64_t bank_step[BANK_SLOTS], bank_busy[BANK_SLOTS];     /* ring of steps: which banks serve somebody in it */
};

size_t collect_bytes(void) { return sizeof(struct collectors); }

static uint32_t within(uint32_t n, uint32_t most) { return n < 1 ? 1 : n > most ? most : n; }

static struct unit_pool pool(const struct timing_config *c, uint32_t n)
{
    n = within(n, MOST_WIDTH);
    return (struct unit_pool){.n = n, .per_scheduler = c->issue.sub_cores ? n / c->issue.schedulers : 0};
}

enum status collect_create(struct sm *s, struct error *err)
{
    const struct timing_config *g = &s->gpu->config;
    if (g->rf.model != TIMING_COLLECT_DETAILED)
        return ST_OK;
    struct collectors *c = s->collect = calloc(1, sizeof *c);
    if (!c)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for the operand collectors of SM %u", s->number);
    const struct { enum unit_kind kind; uint32_t entry, exit, units, in, out; } kinds[] = {
        {UNIT_SP, g->pipe.id_oc_sp, g->pipe.oc_ex_sp, g->oc.sp, g->oc.in_sp, g->oc.out_sp},
        {UNIT_DP, g->pipe.id_oc_dp, g->pipe.oc_ex_dp, g->oc.dp, g->oc.in_dp, g->oc.out_dp},
        {UNIT_INT, g->pipe.id_oc_int, g->pipe.oc_ex_int, g->oc.integer, g->oc.in_integer, g->oc.out_integer},
        {UNIT_SFU, g->pipe.id_oc_sfu, g->pipe.oc_ex_sfu, g->oc.sfu, g->oc.in_sfu, g->oc.out_sfu},
        {UNIT_TENSOR, g->pipe.id_oc_tensor, g->pipe.oc_ex_tensor, g->oc.tensor, g->oc.in_tensor, g->oc.out_tensor},
        {UNIT_MEM, g->pipe.id_oc_mem, g->pipe.oc_ex_mem, g->oc.mem, g->oc.in_mem, g->oc.out_mem}};
    struct collect_set *generic = &c->sets[UNIT_NONE];
    if (g->oc.generic) {
        generic->units.n = within(g->oc.generic, MOST_PORTS);
        generic->in.n = within(g->oc.in_generic, MOST_PORTS);
        generic->out.n = within(g->oc.out_generic, MOST_PORTS);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct collect_set *own = &c->sets[kinds[i].kind];
        c->units[kinds[i].kind] = s->units[kinds[i].kind];
        s->units[kinds[i].kind] = pool(g, kinds[i].entry);
        c->exit[kinds[i].kind] = pool(g, kinds[i].exit);
        if ((g->oc.by_unit && kinds[i].units) || !g->oc.generic) {
            own->units.n = within(kinds[i].units, MOST_PORTS);
            own->in.n = within(kinds[i].in, MOST_PORTS);
            own->out.n = within(kinds[i].out, MOST_PORTS);
        }
    }
    return ST_OK;
}

void collect_destroy(struct sm *s)
{
    free(s->collect);
    s->collect = NULL;
}

/* The one that is free first among those of a scheduler. */
static uint64_t *earliest(uint64_t *from, uint32_t n, const struct timing_config *c, uint32_t scheduler)
{
    uint32_t first = 0, end = n;
    if (c->issue.sub_cores && n >= c->issue.schedulers) {
        first = scheduler * (n / c->issue.schedulers);
        end = first + n / c->issue.schedulers;
    }
    uint64_t *best = &from[first];
    for (uint32_t i = first + 1; i < end; i++)
        best = from[i] < *best ? &from[i] : best;
    return best;
}

static uint64_t *any(struct places *p)
{
    uint64_t *best = &p->from[0];
    for (uint32_t i = 1; i < p->n; i++)
        best = p->from[i] < *best ? &p->from[i] : best;
    return best;
}

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint32_t bank_of(const struct timing_config *c, uint32_t slot, uint32_t reg)
{
    uint32_t banks = c->rf.banks < 64 ? c->rf.banks : 64;
    if (!c->issue.sub_cores || banks < c->issue.schedulers)
        return (reg + slot) % banks;
    banks /= c->issue.schedulers;
    return slot % c->issue.schedulers * banks + (reg + slot) % banks;
}

/* The first step from `step` on in which the bank serves nobody yet: it serves us. */
static uint64_t bank_take(struct collectors *c, uint32_t bank, uint64_t step)
{
    for (;; step++) {
        uint32_t at = step % BANK_SLOTS;
        if (c->bank_step[at] != step) {
            c->bank_step[at] = step;
            c->bank_busy[at] = 0;
        }
        if (!(c->bank_busy[at] >> bank & 1)) {
            c->bank_busy[at] |= 1ull << bank;
            return step;
        }
    }
}

void collect_result(struct sm *s, uint32_t slot, uint32_t reg, uint64_t cycle)
{
    const struct timing_config *g = &s->gpu->config;
    if ((cycle - s->now + 64) * g->rf.steps < BANK_SLOTS)              /* beyond that nobody looks now */
        bank_take(s->collect, bank_of(g, slot, reg), cycle * g->rf.steps);
}

/* A port and a collector: of the kind's own, or generic. */
struct way { struct collect_set *set; uint64_t *in, *unit; uint64_t step; };

static void consider(struct way *best, struct collect_set *set, struct places *ports, const struct timing_config *g, uint32_t scheduler)
{
    if (!ports->n || !set->units.n)
        return;
    struct way w = {.set = set, .in = any(ports), .unit = earliest(set->units.from, set->units.n, g, scheduler)};
    w.step = later(*w.in, *w.unit);
    if (!best->set || w.step < best->step)
        *best = w;
}

uint64_t collect_enter(struct sm *s, uint64_t *entry, uint32_t scheduler, uint32_t slot, const struct op_group *group, const uint32_t *src, uint32_t n_src)
{
    const struct timing_config *g = &s->gpu->config;
    struct collectors *c = s->collect;
    struct collect_set *own = &c->sets[group->unit], *generic = &c->sets[UNIT_NONE];
    uint32_t steps = g->rf.steps;
    struct way w = {.set = NULL};
    consider(&w, own, &own->in, g, scheduler);
    consider(&w, generic, &own->in, g, scheduler);
    consider(&w, generic, &generic->in, g, scheduler);
    uint64_t taken = later(w.step, (s->now + 1) * steps), last = taken;
    for (uint32_t i = 0; i < n_src; i++)
        last = later(last, bank_take(c, bank_of(g, slot, src[i]), taken + 1));
    struct unit_pool *p = &c->units[group->unit], *e = &c->exit[group->unit];
    uint64_t *out = any(&w.set->out), *exit = earliest(e->free_from, e->n, g, scheduler);
    uint64_t leaves = later(later(last + 1, *out), *exit * steps);
    uint64_t *unit = earliest(p->free_from, p->n ? p->n : 1, g, scheduler), enters = later(leaves / steps + 1, *unit);
    *entry = taken / steps;
    *w.in = taken + 1;
    *w.unit = leaves;
    *out = leaves + 1;
    *exit = enters;
    *unit = enters + group->initiation;
    s->stats.register_bank_stalls += last > taken + 1 ? (last - taken - 1) / steps : 0;
    return enters;
}
