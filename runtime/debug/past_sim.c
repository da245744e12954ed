/* The history of a simulated GPU: of all kernels that are on it. It is one thread that runs window after window, so doing them again does the same, as long as windows end
 * at the same cycles: SMs have their turns within a window. Moments lie between windows. Whatever comes from outside (a kernel that begins, copies) begins a new history. */
#include "runtime/debug/past.h"
#include "runtime/dispatch.h"

size_t past_ops(const struct history *h, struct op *out[RUNS_MOST])
{
    size_t n = 0;
    for (struct debug_run *r = dbg.runs; r && n < RUNS_MOST; r = r->next)
        if (r->history == h)
            out[n++] = r->op;
    return n;
}

struct debug_run *past_run_on(const struct device *d)
{
    struct debug_run *r = dbg.runs;
    while (r && !(r->history && r->history->gpu == d))
        r = r->next;
    return r;
}

uint64_t past_since(const struct debug_run *r, uint64_t *gap)
{
    const struct history *h = r->history;
    const struct grid_run *run = r->op->u.launch.run;
    *gap = h->gpu ? h->gap : run->gap;
    return past_now(r) + (h->gpu ? 0 : h->base) - (h->gpu ? h->boundary : run->boundary);
}

void past_ends_forget(struct history *h)
{
    while (h->ends.n && h->ends.at[h->ends.n - 1] > h->end)
        h->ends.n--;
    if (h->gpu && (!h->ends.n || h->ends.at[h->ends.n - 1] < h->end) && !vec_push(&h->ends, h->end))
        h->why_not = "no host memory for where its turns ended";
}

/* Of all simulated GPUs, in instructions since somebody looked last: what was earned by running, and spent on first moments. A window without any costs
 * something, too. So some moments are made at once and then so many that the program keeps half its speed; counted, not timed, so that it is so in every run. */
static struct { uint64_t from, spent, last; } budget;
enum { AT_ONCE = 16, CYCLES_AN_INSN = 8, BYTES_AN_INSN = 256 };

static uint64_t earned(const struct history *h) { return sim_issued(h->gpu) + sim_cycle(h->gpu) / CYCLES_AN_INSN; }

bool past_affords(const struct history *h) { return budget.spent <= earned(h) - budget.from + AT_ONCE * budget.last; }

void past_spent(uint64_t bytes)
{
    budget.last = bytes / BYTES_AN_INSN;
    budget.spent += budget.last;
}

void past_budget_renew(const struct history *h)
{
    budget.from = earned(h);
    budget.spent = 0;
}

/* The first end that lies ahead of a replay; `until` where there is none. */
static uint64_t end_again(const struct history *h, uint64_t now, uint64_t until)
{
    for (size_t i = 0; i < h->ends.n; i++)
        if (h->ends.at[i] > now)
            return h->ends.at[i];
    return until;
}

/* Somebody may have gone back: what lies ahead is not so yet. */
static void note_end(struct history *h, uint64_t now, uint64_t end)
{
    while (h->ends.n && h->ends.at[h->ends.n - 1] > now)
        h->ends.n--;
    if (!vec_push(&h->ends, end))
        h->why_not = "no host memory for where its turns ended";
}

/* A cycle ahead at which somebody wants to stop between two windows. */
static uint64_t cycle_wanted(const struct history *h)
{
    uint64_t wanted = past_replays() ? replay_cycle_wanted() : dbg.plan.kind == PLAN_CYCLE ? dbg.plan.cycle : UINT64_MAX;
    for (size_t i = 0; i < dbg.breaks.n && !past_replays(); i++) {
        const struct breakpoint *b = dbg.breaks.at[i];
        if (b->what == BREAK_CYCLE && b->enabled && b->n > dbg.cycle_checked && b->n < wanted)
            wanted = b->n;
    }
    return h && h->whole ? UINT64_MAX : wanted;        /* then the first warp that comes there stops */
}

uint64_t debug_turn_end(struct device *d, uint64_t now, uint64_t until)
{
    server_take();
    struct debug_run *r = past_run_on(d);
    uint64_t wanted = cycle_wanted(r ? r->history : NULL);
    until = r && past_replays() ? end_again(r->history, now, until) : until;
    until = wanted > now && wanted < until ? wanted : until;
    if (r && !past_replays())
        note_end(r->history, now, until);
    if (r)
        r->history->end = until;
    server_leave();
    return until;
}

bool debug_window(struct device *d)
{
    bool sooner = false;
    server_take();
    struct debug_run *r = past_run_on(d);
    struct history *h = r ? r->history : NULL;
    if (h) {
        uint64_t now = past_now(r);
        dbg.cycle = sim_cycle(d);
        h->gap = now - h->boundary > h->gap ? now - h->boundary : h->gap;
        h->boundary = now;
        (void)past_boundary(r);
        sooner = !past_replays() && cycle_wanted(h) > dbg.cycle && cycle_wanted(h) < h->end;   /* somebody has asked for it in the middle of the turn */
    }
    run_every();
    server_leave();
    return past_restarts() || sooner;
}

void debug_kernels_ended(struct device *d)
{
    server_take();
    struct debug_run *r = past_run_on(d);
    if (r)
        r->history->stale = true;
    server_leave();
}
