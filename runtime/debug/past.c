/* The history of a kernel (or of a simulated GPU: past_sim.c): memory when it began, moments since, and a log of what the debugger did.
 *
 * One worker runs a kernel's blocks in an order that depends on nothing but the kernel, so doing it again does the same. What the debugger added (steps of a warp,
 * values it set) is logged, each with the stop at which it was done. Moments lie between turns of blocks, far apart while the kernel runs and closer
 * together where somebody goes back (reverse.c); when there are too many, those go that leave the smallest hole. */
#include "runtime/debug/past.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/dispatch.h"

enum {
    QUIET_BYTES = 8 << 20, MOST_BYTES = 1 << 30,       /* of memory that is copied: always; when somebody may want to stop in the kernel */
    QUIET_FIRST = 256 << 20,                           /* for kernels of the first kind, all together, before instructions have to pay for more */
    MOST_MOMENTS = 32, MOMENT_BYTES = 256 << 20,       /* all together */
    SPACING = 1 << 20, SPACING_PART = 16,              /* instructions between moments: at least, and as a part of all so far; */
    BYTES_AN_INSN = 16,                                /* and so that comparing memory costs little beside running. The same where an instruction takes a microsecond: */
    SIM_SPACING = 1 << 17, SIM_BYTES_AN_INSN = 96,
};

/* ---- moments ---- */

uint64_t past_now(const struct debug_run *r)
{
    struct emu_counters n;
    if (r->history->gpu)
        return sim_issued(r->history->gpu);
    emu_worker_counters(r->worker, &n);
    return n.warp_insns - r->history->base;
}

static void moment_drop(struct history *h, size_t i)
{
    h->bytes -= moment_bytes(h->moments.at[i]);
    moment_free(h->moments.at[i]);
    memmove(h->moments.at + i, h->moments.at + i + 1, (--h->moments.n - i) * sizeof *h->moments.at);
}

/* Drops the one that leaves the smallest hole, seen from the newest, but neither that one nor `held`: so they are the closer together the nearer they are. */
static void thin_out(struct history *h, const struct moment *held)
{
    size_t best = h->moments.n;
    double smallest = 0;
    uint64_t newest = h->moments.n ? h->moments.at[h->moments.n - 1]->insns : 0;
    for (size_t i = 0; i + 1 < h->moments.n; i++) {
        uint64_t before = i ? h->moments.at[i - 1]->insns : h->first->insns;
        double hole = (double)(h->moments.at[i + 1]->insns - before) / (double)(newest - before + 1);
        if (h->moments.at[i] == held || (best < h->moments.n && hole >= smallest))
            continue;
        smallest = hole;
        best = i;
    }
    if (best < h->moments.n)
        moment_drop(h, best);
}

void moments_forget(struct history *h, uint64_t insns)
{
    while (h->moments.n && h->moments.at[h->moments.n - 1]->insns > insns)
        moment_drop(h, h->moments.n - 1);
}

struct moment *moment_before(const struct history *h, uint64_t insns)
{
    struct moment *found = h->first;
    for (size_t i = 0; i < h->moments.n && h->moments.at[i]->insns <= insns; i++)
        found = h->moments.at[i];
    return found;
}

struct moment *moment_keep(struct debug_run *r, size_t cursor, const struct moment *held)
{
    struct history *h = r->history;
    uint64_t now = past_now(r);
    struct moment *m = moment_before(h, now);
    size_t i = 0;
    if (m->insns == now)
        return m;
    while (h->moments.n >= MOST_MOMENTS)
        thin_out(h, held);
    m = moment_take(r, &h->ground, MOMENT_BYTES);
    if (!m || !vec_reserve(&h->moments, h->moments.n + 1)) {
        moment_free(m);
        return NULL;
    }
    m->insns = now;
    m->cursor = cursor;
    while (i < h->moments.n && h->moments.at[i]->insns < now)
        i++;
    memmove(h->moments.at + i + 1, h->moments.at + i, (h->moments.n++ - i) * sizeof *h->moments.at);
    h->moments.at[i] = m;
    h->bytes += moment_bytes(m);
    for (size_t n = h->moments.n + 1; h->bytes > MOMENT_BYTES && n > h->moments.n; n--)
        thin_out(h, m);
    return m;
}

/* ---- the beginning and the end ---- */

/* What copies may cost for kernels in which nobody means to stop: bytes. Each instruction that was executed allows some more, so that thousands of tiny kernels
 * do not spend their time on copies; by their count and not by the clock, so that the same can be had again in every run. */
static uint64_t quiet_bytes = QUIET_FIRST;

static void quiet_earn(const struct debug_run *r)
{
    uint64_t more = atomic_load(&r->op->u.launch.run->warp_insns) * BYTES_AN_INSN;
    quiet_bytes = quiet_bytes + more < QUIET_FIRST ? quiet_bytes + more : QUIET_FIRST;
}

void past_look(const struct debug_run *r, bool soon) { r->op->u.launch.run->look_at = soon ? 0 : UINT64_MAX; }

void entries_forget(struct history *h, size_t from)
{
    for (size_t i = from; i < h->log.n; i++)
        free(h->log.at[i].value);
    if (from < h->log.n)
        h->log.n = from;
}

static void history_forget(struct history *h)
{
    while (h->moments.n)
        moment_drop(h, h->moments.n - 1);
    moment_free(h->first);
    h->first = NULL;
    ground_free(&h->ground);
    entries_forget(h, 0);
}

/* Whether somebody may want to stop in the kernel, or one of the simulated GPU. */
static bool of_interest(const struct debug_run *r)
{
    bool any = dbg.plan.kind != PLAN_NONE || atomic_load(&dbg.interrupt);
    for (const struct debug_run *x = dbg.runs; x && !any; x = x->next)
        any = x->history == r->history && x->n_put;
    for (size_t i = 0; i < dbg.breaks.n && !any; i++)
        any = dbg.breaks.at[i]->enabled && dbg.breaks.at[i]->what > BREAK_PTX && dbg.breaks.at[i]->what != BREAK_ERROR;
    return any;
}

/* The spacing of moments that copy so much each. */
static uint64_t spacing_of(const struct history *h, uint64_t bytes)
{
    uint64_t least = h->gpu ? SIM_SPACING : SPACING, by_bytes = bytes / (h->gpu ? SIM_BYTES_AN_INSN : BYTES_AN_INSN);
    return by_bytes > least ? by_bytes : least;
}

static void count_begin(struct debug_run *r)
{
    struct history *h = r->history;
    struct emu_counters n;
    if (h->gpu) {
        h->boundary = past_now(r);
        h->gap = h->ends.n = 0;
        return;
    }
    emu_worker_counters(r->worker, &n);
    h->base = n.warp_insns;
    r->op->u.launch.run->turn_from = n;
    past_look(r, true);
}

static const char *history_begin(struct debug_run *r, bool interest)
{
    struct history *h = r->history;
    uint64_t bytes = ground_bytes();
    bool again = h->turned;
    h->turned = true;
    h->stale = h->apart = false;
    history_forget(h);
    if (!interest && (again || bytes > QUIET_BYTES))
        return again ? "no breakpoint was set in it, and it shared the device with others" :
                       "no breakpoint was set in it when the kernel began, and the program's device memory is large (8 MiB)";
    if (!interest && !h->gpu && bytes > quiet_bytes)
        return "no breakpoint was set in it when the kernel began, and it was one of many small ones (break launch:N, and run again)";
    quiet_bytes -= interest || h->gpu ? 0 : bytes;
    const char *why_not = ground_take(&h->ground, MOST_BYTES);
    if (why_not)
        return why_not;
    h->at_launch = !again;
    h->printed = h->text = (struct text_stamp){0, 0};
    count_begin(r);
    h->first = moment_take(r, NULL, MOMENT_BYTES);
    if (!h->first)
        return "no host memory for its blocks";
    h->first->insns = past_now(r);
    h->spacing = spacing_of(h, bytes + moment_work(h->first));
    h->due = h->first->insns + h->spacing;
    if (h->gpu)
        past_spent(bytes + moment_work(h->first));
    return NULL;
}

bool past_printed(void)
{
    const struct debug_run *r = dbg.turn;
    struct history *h = r ? r->history : NULL;
    if (!h || !h->first)
        return false;
    uint64_t now = past_now(r);
    struct text_stamp t = {now, now == h->text.insns ? h->text.n + 1 : 1};     /* lanes print one after the other */
    bool before = t.insns < h->printed.insns || (t.insns == h->printed.insns && t.n <= h->printed.n);
    h->text = t;
    h->printed = before ? h->printed : t;
    return before;
}

void past_begin(struct debug_run *r)
{
    struct device *gpu = r->worker ? NULL : r->op->stream->context->device;
    struct debug_run *other = gpu ? past_run_on(gpu) : NULL;
    r->history = other ? other->history : calloc(1, sizeof *r->history);
    if (!r->history)
        return;
    r->history->gpu = gpu;
    r->history->whole = r->history->whole || r->op->u.launch.run->cluster_ctas > 1;
    r->history->users++;
    r->history->stale = other != NULL;
}

/* Takes the first moment. */
static void begin_now(struct debug_run *r, bool interest)
{
    struct history *h = r->history;
    h->why_not = history_begin(r, interest);
    if (!h->why_not)
        return;
    history_forget(h);
    ground_forget();
}

/* A moment of a simulated GPU takes some ten milliseconds, in which small kernels end: where nobody may want to stop, or there were many, the first one is made later. */
static bool begins_later(struct debug_run *r, bool interest)
{
    struct history *h = r->history;
    if (!h->gpu || (interest && past_affords(h)))
        return false;
    history_forget(h);
    h->why_not = NULL;
    h->turned = true;
    h->stale = false;
    h->due = past_now(r) + SIM_SPACING;
    return true;
}

void past_turn(struct debug_run *r)
{
    struct history *h = r->history;
    for (struct debug_run *x = dbg.runs; x; x = x->next)
        if (x->history && x->history != h)
            x->history->stale = true;
    if (!h || (h->turned && !h->stale && !h->apart))
        return;
    bool interest = of_interest(r);
    if (!begins_later(r, interest))
        begin_now(r, interest);
}

void past_apart(struct debug_run *r)
{
    if (r->history)
        r->history->apart = true;
}

void past_host_wrote(void)
{
    for (struct debug_run *r = dbg.runs; r; r = r->next)
        if (r->history)
            r->history->stale = true;
}

void past_end(struct debug_run *r)
{
    struct history *h = r->history;
    quiet_earn(r);
    r->history = NULL;
    past_lost();
    if (!h)
        return;
    h->stale = true;
    if (--h->users)
        return;
    history_forget(h);
    vec_free(&h->moments);
    vec_free(&h->log);
    vec_free(&h->ends);
    free(h);
}

const char *past_why_not(const struct debug_run *r)
{
    const struct history *h = r->history;
    if (!h || h->why_not)
        return h ? h->why_not : "no host memory";
    if (h->stale)
        return "memory was changed by others while the kernel ran";
    return h->first ? NULL : h->gpu ? "it has hardly begun, and no breakpoint was set in it, or many small kernels have run since the last stop" : "its blocks ran on several threads";
}

bool past_can_begin_anew(const struct debug_run *r) { return !past_why_not(r) && r->history->at_launch && !r->history->ground.with_host && !r->history->stopped; }

uint64_t past_boundary(struct debug_run *r)
{
    struct history *h = r->history;
    if (past_replays()) {
        replay_boundary(r);
        return 0;
    }
    uint64_t now = past_now(r);
    if (h->gpu && !h->first && !h->why_not && now >= h->due)
        begin_now(r, true);
    if (past_why_not(r))
        return UINT64_MAX;
    if (now >= h->due) {
        const struct moment *m = moment_keep(r, h->log.n, NULL);
        uint64_t least = m ? spacing_of(h, h->ground.bytes + moment_work(m)) : 0;
        h->spacing = h->spacing < least ? least : h->spacing;
        if (h->moments.n == MOST_MOMENTS && h->spacing < now / SPACING_PART)
            h->spacing = now / SPACING_PART;
        h->due = now + h->spacing;
    }
    return h->base + h->due;
}

/* ---- the log ---- */

struct stamp stamp_of(const struct debug_run *r, const struct emu_cta *cta, uint32_t warp)
{
    struct emu_spot s[EMU_SPOTS];
    struct stamp st = {.insns = past_now(r), .run = r, .block = emu_cta_index(cta), .warp = warp};
    if (emu_warp_spots(cta, warp, s)) {
        st.function = s[0].function;
        st.insn = s[0].insn;
        st.mask = s[0].mask;
    }
    return st;
}

static bool same(const struct stamp *a, const struct stamp *b)
{
    return a->insns == b->insns && a->run == b->run && a->block == b->block && a->warp == b->warp && a->function == b->function && a->insn == b->insn && a->mask == b->mask;
}

/* Whether a replay has come to a stop of the run before. The count of instructions grows at control records alone: at a stop that was made
 * while not every instruction was told, it may lack those since the last one. A loop comes to the same place only after more. */
bool stamp_reached(const struct stamp *stop, const struct stamp *at)
{
    struct stamp exact = *at;
    exact.insns = stop->insns;
    return at->insns >= stop->insns && same(stop, &exact);
}

void past_stop(struct debug_run *r, struct emu_cta *cta, uint32_t warp)
{
    if (r->history && !past_replays()) {
        r->history->here = cta ? stamp_of(r, cta, warp) : (struct stamp){.insns = past_now(r), .cycle = dbg.cycle, .run = r};
        r->history->between = !cta;
        r->history->stopped = true;
        if (r->history->gpu)
            past_budget_renew(r->history);
    }
}

static void log_add(struct history *h, const struct entry *e)
{
    if (!vec_push(&h->log, *e)) {
        free(e->value);
        h->why_not = "no host memory for what was done";
    }
}

static bool logs(const struct debug_run *r) { return r->history && r->history->first && !r->history->why_not && !past_replays(); }

void past_step(struct debug_run *r, const struct emu_cta *cta, uint32_t warp)
{
    struct history *h = r->history;
    if (!logs(r))
        return;
    struct entry *last = h->log.n ? &h->log.at[h->log.n - 1] : NULL;
    if (last && last->kind == ENTRY_STEP && same(&last->at, &h->here) && last->block == emu_cta_index(cta) && last->warp == warp) {
        last->n++;
        return;
    }
    log_add(h, &(struct entry){.kind = ENTRY_STEP, .at = h->here, .run = r, .block = emu_cta_index(cta), .warp = warp, .n = 1});
}

void past_started(struct debug_run *r)
{
    if (logs(r))
        log_add(r->history, &(struct entry){.kind = ENTRY_START, .at = r->history->here, .run = r});
}

void past_wrote(struct debug_run *r, const struct focus *f, uint64_t at, const void *value, size_t bytes)
{
    struct history *h = r->history;
    if (!logs(r))
        return;
    h->printed.insns = 0;                      /* from here on it may go another way */
    struct entry e = {.kind = bytes ? ENTRY_BYTES : ENTRY_REGISTER, .at = h->here, .run = f->run, .block = emu_cta_index(f->cta), .warp = f->warp, .lane = f->lane, .frame = f->frame,
                      .n = at, .bytes = bytes ? bytes : 16};
    e.value = malloc(e.bytes);
    if (e.value)
        memcpy(e.value, value, e.bytes);
    else
        h->why_not = "no host memory for what was done";
    if (e.value)
        log_add(h, &e);
}
