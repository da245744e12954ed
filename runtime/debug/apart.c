/* Kernels whose blocks run on all host threads, as they do without a debugger.
 *
 * That is so while nothing can stop in one. Where breakpoints are in its code, but no lane may ever come to them or fulfil their conditions, its blocks run
 * so too, as scouts: the first that would stop ends the try, memory becomes what it was at the launch, and the kernel runs once more, one block after
 * the other, so that the stop is the same in every run. Scouting needs a copy of all memory that the kernel may have changed, conditions that
 * look at nothing but the thread's own state, and nobody else who changed anything meanwhile. */
#include "runtime/debug/watch.h"

static bool scout(void *user, struct emu_worker *w, struct emu_cta *cta, uint32_t warp);
static void nothing(void *user, struct emu_worker *w, struct emu_cta *cta, uint32_t warp) { (void)user, (void)w, (void)cta, (void)warp; }
static const struct emu_hook scouts = {.fn = scout, .fault = nothing};

const struct emu_hook *debug_hook(bool apart) { return apart ? &scouts : &dbg.hook; }

void counts_keep(bool back)
{
    for (size_t i = 0; i < dbg.breaks.n; i++) {
        struct breakpoint *b = dbg.breaks.at[i];
        if (back) {
            b->reached = b->reached_before;
            b->hits = b->hits_before;
            b->ignore = b->ignore_before;
        }
        b->reached_before = b->reached;
        b->hits_before = b->hits;
        b->ignore_before = b->ignore;
    }
}

static bool may_run_apart(const struct debug_run *r)
{
    if (r->alone || r->killed || r->told || past_replays() || dbg.plan.kind != PLAN_NONE || atomic_load(&dbg.interrupt) || watch_any() || (!r->entered && run_wants_entry(r)))
        return false;
    return !r->n_put || past_can_begin_anew(r);
}

bool debug_turn(struct op *op, bool may_share)
{
    bool apart = false;
    server_take();
    for (struct debug_run *r = dbg.runs; r; r = r->next) {
        if (r->op != op)
            continue;
        dbg.turn = r;
        if (atomic_exchange(&dbg.dirty, false))
            for (struct debug_run *x = dbg.runs; x; x = x->next)
                breaks_put(x);
        past_turn(r);
        apart = r->apart = may_share && may_run_apart(r);
        if (apart) {
            r->entered = true;
            past_apart(r);
            counts_keep(false);
        }
    }
    run_every();
    server_leave();
    return apart;
}

bool debug_pauses(void) { return atomic_load_explicit(&dbg.interrupt, memory_order_relaxed) || atomic_load_explicit(&dbg.dirty, memory_order_relaxed); }

/* Under big. */
static void again(struct debug_run *r)
{
    if (!past_restarts())
        counts_keep(true);
    r->alone = true;
    past_begin_anew();
}

static bool scout(void *user, struct emu_worker *w, struct emu_cta *cta, uint32_t warp)
{
    struct error why = {0};
    (void)user;
    server_look();
    struct debug_run *r = run_of(cta);
    bool go = !past_restarts(), passes = go && (!r || server_gone() || atomic_load(&dbg.dirty) || break_passes(r, w, cta, warp));
    server_looked();
    if (passes)
        return true;
    server_take();
    r = run_of(cta);
    go = !past_restarts();
    if (r && go && !server_gone() && !atomic_load(&dbg.dirty)) {
        dbg.worker = w;
        dbg.looked_around = false;
        if ((break_hit(r, cta, warp, &why) || dbg.looked_around) && past_can_begin_anew(r))      /* else a brkpt in code that was decoded late: it is passed */
            again(r);
        go = !past_restarts();
    }
    server_leave();
    return go;
}

bool debug_fault_apart(struct op *op)
{
    bool once_more = false;
    server_take();
    for (struct debug_run *r = dbg.runs; r; r = r->next)
        if (r->op == op && !dbg.error_off && !server_gone() && past_can_begin_anew(r)) {
            again(r);
            once_more = true;
        }
    server_leave();
    return once_more;
}
