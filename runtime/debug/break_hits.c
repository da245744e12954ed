/* Whom breakpoints stop: filters, conditions, counts. */
#include <string.h>

#include "runtime/debug/breaks.h"
#include "runtime/debug/quick.h"

bool filter_lets(const struct breakpoint *b, const struct focus *f)
{
    uint32_t tid[3], id[3];
    const struct filter *x = &b->filter;
    if (x->has_launch && x->launch != f->run->launch)
        return false;
    if (x->kernel && !name_matches(rt_function_name(f->run->op->u.launch.function), x->kernel))
        return false;
    if (x->has_warp && x->warp != f->warp)
        return false;
    emu_cta_id(f->cta, id);
    if (x->has_block && memcmp(id, x->block, sizeof id) != 0)
        return false;
    focus_thread(f, tid);
    return !x->has_thread || memcmp(tid, x->thread, sizeof tid) == 0;
}

static bool condition_holds(const struct breakpoint *b, const struct focus *f, struct error *why)
{
    struct value v;
    if (!b->parsed)
        return true;
    dbg.hits = b->reached;
    enum status st = expr_eval(&v, b->parsed, f, why);
    return st != ST_OK || value_true(&v);      /* what cannot be evaluated stops, and says why */
}

static const struct quickened *find_quick(const struct breakpoint *b, const struct ptx_function *fn, uint32_t insn)
{
    for (size_t i = 0; i < b->quick.n; i++)
        if (b->quick.at[i].f == fn && b->quick.at[i].insn == insn)
            return &b->quick.at[i];
    return NULL;
}

static const struct ptx_function *function_of(const struct debug_run *r, const struct emu_spot *spot) { return &r->module->code->ptx->functions[spot->function]; }

/* The condition for all lanes of a spot at once. NULL: lane by lane, then. */
static const struct quick *quickened(struct breakpoint *b, const struct focus *f, const struct emu_spot *spot)
{
    enum { MOST_PLACES = 32 };
    struct focus first = *f;
    const struct quickened *known = find_quick(b, function_of(f->run, spot), spot->insn);
    if (known || b->quick.n >= MOST_PLACES)
        return known ? known->q : NULL;
    first.frame = 0;
    first.lane = (uint32_t)__builtin_ctz(spot->mask);
    struct quickened x = {function_of(f->run, spot), spot->insn, quick_make(b->parsed, &first)};
    if (vec_push(&b->quick, x))
        return x.q;
    quick_free(x.q);
    return NULL;
}

/* The condition holds for no lane of the spot. */
static void count_passed(struct breakpoint *b, const struct focus *f, const struct emu_spot *spot)
{
    struct focus at = *f;
    for (uint32_t m = spot->mask; m; m &= m - 1) {
        at.lane = (uint32_t)__builtin_ctz(m);
        bool lets = filter_lets(b, &at);
        if (lets)
            __atomic_fetch_add(&b->reached, 1, __ATOMIC_RELAXED);      /* by many threads at once in break_passes */
        if (lets || !b->filter.has_thread)     /* what else a filter asks for is the same for all lanes */
            break;
    }
}

/* As break_counts, for the lanes of a spot. */
static bool counts_at(struct breakpoint *b, struct focus *f, const struct emu_spot *spot, struct error *condition_error)
{
    const struct quick *q = b->parsed ? quickened(b, f, spot) : NULL;
    if (!q || (spot->mask & quick_lanes(q, dbg.worker, f, spot)))
        return break_counts(b, f, spot->mask, condition_error);
    count_passed(b, f, spot);
    return false;
}

bool break_counts(struct breakpoint *b, struct focus *f, uint32_t mask, struct error *condition_error)
{
    struct focus at = *f;
    bool first = true;
    at.frame = 0;
    for (; mask; mask &= mask - 1) {
        at.lane = (uint32_t)__builtin_ctz(mask);
        condition_error->status = ST_OK;
        *condition_error->text = 0;
        if (!filter_lets(b, &at))
            continue;
        b->reached += first;
        first = false;
        if (!condition_holds(b, &at, condition_error))
            continue;
        b->hits++;
        if (b->ignore) {
            b->ignore--;
            return false;
        }
        *f = at;
        return true;
    }
    return false;
}

static bool is_at(const struct breakpoint *b, const struct site *s)
{
    for (size_t i = 0; i < b->sites.n; i++)
        if (b->sites.at[i].module == s->module && b->sites.at[i].function == s->function && b->sites.at[i].insn == s->insn)
            return true;
    return false;
}

/* A branch parts the lanes if the next step would: some of those at it go, some do not. */
static bool parts(const struct site *s, const struct emu_spot *spot)
{
    const struct ptx_insn *in = &site_function(s)->insns[s->insn];
    return break_at_branch(in) && spot->active && spot->active != spot->mask;
}

static bool is_here(const struct breakpoint *b, const struct site *at, const struct emu_spot *spot)
{
    if (at->insn >= site_function(at)->n_insns)
        return false;
    return is_at(b, at) || (b->what == BREAK_DIVERGENCE && parts(at, spot)) ||
           (b->what == BREAK_BARRIER && break_at_barrier(&site_function(at)->insns[at->insn]) && spot->active);
}

/* A brkpt instruction is a breakpoint that is always there: without a number, a filter and a condition. */
static struct breakpoint at_brkpt = {.what = BREAK_BRKPT, .enabled = true};

static bool is_brkpt(const struct site *at, const struct emu_spot *spot)
{
    return at->insn < site_function(at)->n_insns && site_function(at)->insns[at->insn].op == PTX_OP_BRKPT && spot->active;
}

struct breakpoint *break_hit(struct debug_run *r, struct emu_cta *cta, uint32_t warp, struct error *condition_error)
{
    struct emu_spot spots[EMU_SPOTS];
    struct breakpoint *found = NULL;
    struct error own = {0};
    if (!emu_warp_spots(cta, warp, spots) || !emu_break_here(cta, warp))
        return NULL;
    struct site at = site_of_spot(r, &spots[0]);
    for (size_t i = 0; i < dbg.breaks.n; i++) {
        struct breakpoint *b = dbg.breaks.at[i];
        struct focus f = {.run = r, .cta = cta, .warp = warp};
        if (!b->enabled || !is_here(b, &at, &spots[0]) || !counts_at(b, &f, &spots[0], &own) || found)
            continue;
        found = b;
        dbg.focus = f;
        *condition_error = own;
    }
    if (found || !is_brkpt(&at, &spots[0]))
        return found;
    dbg.focus = (struct focus){.run = r, .cta = cta, .warp = warp, .lane = (uint32_t)__builtin_ctz(spots[0].active)};
    return &at_brkpt;
}

bool break_passes(struct debug_run *r, struct emu_worker *w, struct emu_cta *cta, uint32_t warp)
{
    struct emu_spot spots[EMU_SPOTS];
    struct focus f = {.run = r, .cta = cta, .warp = warp};
    if (!emu_warp_spots(cta, warp, spots))
        return true;
    struct site at = site_of_spot(r, &spots[0]);
    f.lane = (uint32_t)__builtin_ctz(spots[0].mask);
    if (is_brkpt(&at, &spots[0]))
        return false;
    for (size_t i = 0; i < dbg.breaks.n; i++) {
        struct breakpoint *b = dbg.breaks.at[i];
        if (!b->enabled || !is_here(b, &at, &spots[0]))
            continue;
        const struct quickened *known = b->parsed ? find_quick(b, function_of(r, &spots[0]), spots[0].insn) : NULL;
        if (!known || !known->q || (quick_lanes(known->q, w, &f, &spots[0]) & spots[0].mask))
            return false;
    }
    for (size_t i = 0; i < dbg.breaks.n; i++)
        if (dbg.breaks.at[i]->enabled && is_here(dbg.breaks.at[i], &at, &spots[0]))
            count_passed(dbg.breaks.at[i], &f, &spots[0]);
    return true;
}

uint32_t break_lane(const struct breakpoint *b, const struct focus *f)
{
    struct emu_spot spots[EMU_SPOTS];
    struct focus at = *f;
    struct error why;
    uint32_t mask = emu_warp_spots(f->cta, f->warp, spots) ? spots[0].mask : 0;
    const struct quickened *known = mask && b->parsed ? find_quick(b, function_of(f->run, &spots[0]), spots[0].insn) : NULL;
    if (known && known->q)
        mask &= quick_lanes(known->q, dbg.worker, f, &spots[0]);
    for (; mask; mask &= mask - 1) {
        at.lane = (uint32_t)__builtin_ctz(mask);
        if (filter_lets(b, &at) && condition_holds(b, &at, &why))
            return at.lane;
    }
    return WARP_SIZE;
}

struct breakpoint *break_would(struct debug_run *r, struct emu_cta *cta, uint32_t warp)
{
    struct emu_spot spots[EMU_SPOTS];
    struct focus f = {.run = r, .cta = cta, .warp = warp};
    if (!emu_warp_spots(cta, warp, spots) || !emu_break_here(cta, warp))
        return NULL;
    struct site at = site_of_spot(r, &spots[0]);
    for (size_t i = 0; i < dbg.breaks.n; i++)
        if (dbg.breaks.at[i]->enabled && is_here(dbg.breaks.at[i], &at, &spots[0]) && break_lane(dbg.breaks.at[i], &f) < WARP_SIZE)
            return dbg.breaks.at[i];
    return is_brkpt(&at, &spots[0]) ? &at_brkpt : NULL;
}

void break_say_hit(struct out *o, const struct breakpoint *b, const struct error *condition_error)
{
    out_str(o, "what", break_what_text(b->what));
    if (!b->number)
        return;
    out_u64(o, "breakpoint", b->number);
    out_u64(o, "hits", b->hits);
    if (b->temporary)
        out_u64(o, "temporary", 1);
    if (condition_error && condition_error->status)
        out_str(o, "condition_error", condition_error->text);
}

void break_told(struct breakpoint *b)
{
    if (!b->temporary)
        return;
    break_remove(b);
    breaks_put_all();
}
