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

uint64_t debug_turn_end(struct device *d, uint64_t now, uint64_t until)
{
    server_take();
    struct debug_run *r = past_run_on(d);
    uint64_t wanted = past_replays() ? replay_cycle_wanted() : dbg.plan.kind == PLAN_CYCLE ? dbg.plan.cycle : UINT64_MAX;
    for (size_t i = 0; i < dbg.breaks.n && !past_replays(); i++) {
        const struct breakpoint *b = dbg.breaks.at[i];
        if (b->what == BREAK_CYCLE && b->enabled && b->n > dbg.cycle_checked && b->n < wanted)
            wanted = b->n;
    }
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
    server_take();
    struct debug_run *r = past_run_on(d);
    struct history *h = r ? r->history : NULL;
    if (h) {
        uint64_t now = past_now(r);
        dbg.cycle = sim_cycle(d);
        h->gap = now - h->boundary > h->gap ? now - h->boundary : h->gap;
        h->boundary = now;
        (void)past_boundary(r);
    }
    run_every();
    server_leave();
    return past_restarts();
}

void debug_kernels_ended(struct device *d)
{
    server_take();
    struct debug_run *r = past_run_on(d);
    if (r)
        r->history->stale = true;
    server_leave();
}
