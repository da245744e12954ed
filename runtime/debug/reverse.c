/* Backwards: a kernel runs again from its beginning to the place before.
 *
 * One worker runs a kernel's blocks in an order that depends on nothing but the kernel, so doing it again does the same. What the debugger added (steps
 * of a warp, values it set) is kept in a log, each with the stop at which it was done. Going back takes two passes: the first counts instructions up to
 * where we are, and remembers the last one that would do; the second stops at that one. Memory is what it was at the launch: a copy is made then. */
#include <stdlib.h>
#include <string.h>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/debug/watch.h"

enum { QUIET_BYTES = 8 << 20, MOST_BYTES = 1 << 30 };          /* of memory that is copied at a launch: always; when somebody may want to stop in it */

/* A moment in a kernel, the same in every run of it: the warp is about to execute the instruction. */
struct stamp { uint64_t insns, block; uint32_t warp, function, insn, mask; };

enum entry_kind { ENTRY_STEP, ENTRY_BYTES, ENTRY_REGISTER, ENTRY_START };
struct entry {
    enum entry_kind kind;
    struct stamp at;                           /* the stop */
    uint64_t block; uint32_t warp, lane, frame;
    uint64_t n;                                /* STEP: steps; else where: address or register, */
    size_t bytes; void *value;                 /* and what */
};

struct copy { uint64_t address, bytes; char *at; };
struct history {
    VEC(struct copy) copies;
    struct device_heap heap;
    uint64_t bytes;
    const char *why_not;                       /* why there is no way back; NULL: there is */
    uint64_t base;                             /* the worker's count of warp instructions when the grid began */
    VEC(struct entry) log;
    bool with_host;                            /* the host may write what was copied, or not all was that the kernel may write */
    bool apart, stopped;                       /* it runs on several threads, for now; it has stopped */
    struct stamp here;                         /* the present stop's hook */
};

enum want { WANT_INSN, WANT_LINE, WANT_NEXT, WANT_HIT };
static struct {
    bool active;
    atomic_bool restart;
    enum want want;
    int pass;
    uint64_t t, target, count;                 /* instructions told so far; where to end; how many places back */
    size_t cursor;                             /* next entry of the log */
    uint64_t block; uint32_t warp, lane, depth;        /* who goes back */
    uint64_t *ring; size_t ring_n;             /* the last places that would do, newest at ring[ring_n % room] */
    size_t room;
    uint32_t hit, last_hit;                    /* breakpoint of the newest place, and of the one before */
    uint64_t before;                           /* the place looked at last */
    const char *file; uint32_t line, at_depth, function;       /* where the lane was then */
} replay;

bool past_replays(void) { return replay.active; }
bool past_restarts(void) { return atomic_load_explicit(&replay.restart, memory_order_relaxed); }

/* ---- the beginning ---- */

/* Memory for a copy: most often the one of the last launch, which the host has given pages already. */
static VEC(struct copy) spare;

static char *copy_room(uint64_t bytes)
{
    for (size_t i = 0; i < spare.n; i++)
        if (spare.at[i].bytes == bytes) {
            char *at = spare.at[i].at;
            spare.at[i] = spare.at[--spare.n];
            return at;
        }
    return malloc(bytes ? bytes : 1);
}

static void copy_free(const struct copy *c)
{
    enum { MOST_SPARE = 64 };
    if (spare.n >= MOST_SPARE || !vec_push(&spare, *c))
        free(c->at);
}

static void spare_free(void)
{
    for (size_t i = 0; i < spare.n; i++)
        free(spare.at[i].at);
    spare.n = 0;
}

static void copy_one(void *user, const struct allocation *a)
{
    struct history *h = user;
    struct copy c = {a->base, a->bytes, NULL};
    h->with_host = h->with_host || !a->block || (a->kind != RT_MEMORY_VARIABLE && memory_side(a->kind) == BLOCK_HOST);
    if (!a->block || h->why_not)
        return;
    h->bytes += a->bytes;
    if (h->bytes > MOST_BYTES)
        h->why_not = "the program's device memory was too large to keep a copy (1 GiB)";
    else if (!(c.at = copy_room(a->bytes)) || !vec_push(&h->copies, c))
        h->why_not = "no host memory for a copy of the device's";
    else
        memcpy(c.at, (const void *)(uintptr_t)a->base, a->bytes);
}

static void count_one(void *user, const struct allocation *a)
{
    if (a->block)
        *(uint64_t *)user += a->bytes;
}

static void entries_free(struct history *h, size_t from)
{
    for (size_t i = from; i < h->log.n; i++)
        free(h->log.at[i].value);
    if (from < h->log.n)
        h->log.n = from;
}

static void past_free(struct history *h)
{
    for (size_t i = 0; i < h->copies.n; i++)
        copy_free(&h->copies.at[i]);
    vec_free(&h->copies);
    entries_free(h, 0);
    vec_free(&h->log);
    free(h);
}

static uint64_t worker_insns(const struct debug_run *r)
{
    struct emu_counters n;
    emu_worker_counters(r->worker, &n);
    return n.warp_insns;
}

/* Whether somebody may want to stop in the kernel. */
static bool of_interest(const struct debug_run *r)
{
    bool any = dbg.plan.kind != PLAN_NONE || atomic_load(&dbg.interrupt);
    for (size_t i = 0; i < dbg.breaks.n && !any; i++) {
        const struct breakpoint *b = dbg.breaks.at[i];
        any = b->enabled && b->what > BREAK_PTX && b->what != BREAK_ERROR;
        for (size_t k = 0; k < b->sites.n && b->enabled && !any; k++) {
            const struct site *s = &b->sites.at[k];
            any = s->module == r->module && (s->function == r->op->u.launch.function->index || !site_function(s)->is_entry);
        }
    }
    return any;
}

void past_begin(struct debug_run *r)
{
    uint64_t bytes = 0;
    struct history *h = r->worker ? calloc(1, sizeof *h) : NULL;
    r->history = h;
    if (!h)
        return;
    h->base = worker_insns(r);
    for (struct debug_run *x = dbg.runs; x; x = x->next)
        if (x != r) {
            h->why_not = "other kernels ran at the same time";
            if (x->history)
                x->history->why_not = h->why_not;
        }
    allocations_visit(count_one, &bytes);
    if (bytes > QUIET_BYTES && !of_interest(r))
        h->why_not = "no breakpoint was set in it when the kernel began, and the program's device memory is large (8 MiB)";
    if (h->why_not) {
        spare_free();
    } else {
        allocations_visit(copy_one, h);
        h->heap = r->op->stream->context->heap;
    }
}

void past_turn(struct debug_run *r)
{
    if (r->history && r->history->apart)
        r->history->why_not = "its blocks ran on several threads before it was stopped";
}

void past_apart(struct debug_run *r)
{
    if (r->history)
        r->history->apart = true;
}

bool past_can_begin_anew(const struct debug_run *r)
{
    const struct history *h = r->history;
    return h && !h->why_not && !h->with_host && !h->stopped;
}

void past_begin_anew(void) { atomic_store(&replay.restart, true); }

void past_host_wrote(void)
{
    for (struct debug_run *r = dbg.runs; r; r = r->next)
        if (r->history)
            r->history->why_not = "the host copied or filled memory while the kernel ran";
}

void past_end(struct debug_run *r)
{
    if (r->history)
        past_free(r->history);
    r->history = NULL;
    replay.active = false;
    atomic_store(&replay.restart, false);
}

bool past_restore(struct debug_run *r)
{
    struct history *h = r->history;
    struct device_heap *heap = &r->op->stream->context->heap;
    for (size_t i = 0; i < h->copies.n; i++)
        memcpy((void *)(uintptr_t)h->copies.at[i].address, h->copies.at[i].at, h->copies.at[i].bytes);
    if (heap->base == h->heap.base) {
        heap->top = h->heap.top;
        memcpy(heap->free_head, h->heap.free_head, sizeof heap->free_head);
    }
    h->base = worker_insns(r);
    h->apart = false;
    r->told = false;
    atomic_store(&replay.restart, false);
    replay.t = replay.before = 0;
    replay.cursor = 0;
    replay.line = replay.at_depth = 0;
    replay.file = "";
    watch_refresh();
    emu_worker_hook(r->worker, &dbg.hook);     /* nothing has been told yet */
    return true;
}

/* ---- the log ---- */

static struct stamp stamp_of(const struct debug_run *r, const struct emu_cta *cta, uint32_t warp)
{
    struct emu_spot s[EMU_SPOTS];
    struct stamp st = {.insns = worker_insns(r) - r->history->base, .block = emu_cta_index(cta), .warp = warp};
    if (emu_warp_spots(cta, warp, s)) {
        st.function = s[0].function;
        st.insn = s[0].insn;
        st.mask = s[0].mask;
    }
    return st;
}

static bool same(const struct stamp *a, const struct stamp *b)
{
    return a->insns == b->insns && a->block == b->block && a->warp == b->warp && a->function == b->function && a->insn == b->insn && a->mask == b->mask;
}

/* Whether a replay has come to a stop of the run before. The count of instructions grows at control records alone: at a stop that was made
 * while not every instruction was told, it may lack those since the last one. A loop comes to the same place only after more. */
static bool reached(const struct stamp *stop, const struct stamp *at)
{
    struct stamp exact = *at;
    exact.insns = stop->insns;
    return at->insns >= stop->insns && same(stop, &exact);
}

void past_stop(struct debug_run *r, struct emu_cta *cta, uint32_t warp)
{
    if (r->history && !replay.active) {
        r->history->here = stamp_of(r, cta, warp);
        r->history->stopped = true;
    }
}

static void log_add(struct history *h, const struct entry *e)
{
    if (!vec_push(&h->log, *e)) {
        free(e->value);
        h->why_not = "no host memory for what was done";
    }
}

void past_step(struct debug_run *r, const struct emu_cta *cta, uint32_t warp)
{
    struct history *h = r->history;
    if (!h || h->why_not || replay.active)
        return;
    struct entry *last = h->log.n ? &h->log.at[h->log.n - 1] : NULL;
    if (last && last->kind == ENTRY_STEP && same(&last->at, &h->here) && last->block == emu_cta_index(cta) && last->warp == warp) {
        last->n++;
        return;
    }
    log_add(h, &(struct entry){.kind = ENTRY_STEP, .at = h->here, .block = emu_cta_index(cta), .warp = warp, .n = 1});
}

void past_started(struct debug_run *r)
{
    if (r->history && !r->history->why_not && !replay.active)
        log_add(r->history, &(struct entry){.kind = ENTRY_START, .at = r->history->here});
}

void past_wrote(struct debug_run *r, const struct focus *f, uint64_t at, const void *value, size_t bytes)
{
    struct history *h = r->history;
    if (!h || h->why_not || replay.active)
        return;
    struct entry e = {.kind = bytes ? ENTRY_BYTES : ENTRY_REGISTER, .at = h->here, .block = emu_cta_index(f->cta), .warp = f->warp, .lane = f->lane, .frame = f->frame,
                      .n = at, .bytes = bytes ? bytes : 16};
    e.value = malloc(e.bytes);
    if (e.value)
        memcpy(e.value, value, e.bytes);
    else
        h->why_not = "no host memory for what was done";
    if (e.value)
        log_add(h, &e);
}

/* ---- a replay ---- */

static void remember(uint64_t t, uint32_t hit)
{
    if (replay.ring_n && replay.ring[(replay.ring_n - 1) % replay.room] == t)
        return;
    replay.ring[replay.ring_n++ % replay.room] = t;
    replay.last_hit = replay.hit;
    replay.hit = hit;
}

/* A lane's place begins a line when the one before was on another. */
static void consider_line(struct debug_run *r, const struct emu_cta *cta, uint64_t t)
{
    struct emu_spot s;
    if (!emu_lane_spot(cta, replay.warp, replay.lane, &s) || s.state > EMU_LANE_READY)
        return;
    struct site at = site_of_spot(r, &s);
    struct source_line src = site_source(&at);
    uint32_t depth = emu_spot_frames(&s, NULL, 0);
    bool deeper = replay.want == WANT_NEXT && depth > replay.depth;
    bool begins = !src.line || src.line != replay.line || depth != replay.at_depth || s.function != replay.function || strcmp(src.file, replay.file) != 0;
    bool back = depth < replay.at_depth;       /* out of a call: in the middle of the line that made it */
    if (!deeper && begins && !back)
        remember(t, 0);
    replay.line = src.line;
    replay.file = src.file;
    replay.function = s.function;
    replay.at_depth = depth;
}

/* The warp stands before the t-th instruction of the replay. */
static void consider(struct debug_run *r, struct emu_cta *cta, uint32_t warp, uint64_t t)
{
    struct watch_hit hit = {0};
    bool mine = emu_cta_index(cta) == replay.block && warp == replay.warp;
    if (replay.want == WANT_HIT) {
        struct breakpoint *b = watch_any() ? watch_look(&hit) : NULL;
        watch_hit_free(&hit);
        if (b && replay.before)
            remember(replay.before, b->number);
        b = break_would(r, cta, warp);
        if (b)
            remember(t, b->number);
    } else if (mine && replay.want == WANT_INSN) {
        remember(t, 0);
    } else if (mine) {
        consider_line(r, cta, t);
    }
    replay.before = t;
}

/* The first pass has come to where we were: `now` instructions were told before. */
static void turn_back(uint64_t now)
{
    size_t kept = replay.ring_n < replay.room ? replay.ring_n : replay.room, skip = 0;
    while (kept > skip && replay.ring[(replay.ring_n - 1 - skip) % replay.room] >= now) {
        skip++;
        replay.hit = replay.last_hit;
    }
    uint64_t left = kept - skip;
    replay.target = left >= replay.count ? replay.ring[(replay.ring_n - skip - replay.count) % replay.room] : 1;
    if (left < replay.count)
        replay.hit = 0;
    replay.pass = 2;
    atomic_store(&replay.restart, true);
}

static struct out arrived(struct debug_run *r, struct emu_cta *cta, uint32_t warp)
{
    bool stopped = atomic_load(&dbg.interrupt);
    struct breakpoint *b = replay.hit && !stopped ? break_find(replay.hit) : NULL;
    bool end = replay.target <= 1;
    struct emu_spot s;
    replay.active = false;
    free(replay.ring);
    replay.ring = NULL;
    struct focus f = {.run = r, .cta = cta, .warp = replay.warp, .lane = replay.lane};
    bool mine = emu_cta_index(cta) == replay.block && warp == replay.warp && emu_lane_spot(cta, warp, replay.lane, &s) && s.state <= EMU_LANE_READY;
    if (!mine)
        focus_default(&f, cta, warp);
    if (b && !b->watch)
        f.lane = break_lane(b, &f);
    dbg.focus = f;
    watch_refresh();
    struct out o = server_event_new("stopped");
    out_str(&o, "reason", stopped ? "interrupt" : !b ? "reverse" : b->watch ? "watchpoint" : "breakpoint");
    if (b) {
        break_say_hit(&o, b, NULL);
        out_u64(&o, "reverse", 1);
    }
    if (!b && end && !stopped)
        out_u64(&o, "end", 1);
    focus_say(&o, &dbg.focus);
    return o;
}

/* Whether instruction number t, which the warp is about to execute, is where the second pass ends. */
static bool at_target(struct debug_run *r, struct emu_cta *cta, uint32_t warp, uint64_t t, struct out *event)
{
    if (replay.pass == 1)
        consider(r, cta, warp, t);
    if (!atomic_load(&dbg.interrupt) && (replay.pass == 1 || t != replay.target))
        return false;                          /* an interrupt ends the journey where it is */
    *event = arrived(r, cta, warp);
    return true;
}

static void redo_write(struct debug_run *r, const struct entry *e)
{
    struct emu_frame frame;
    struct error err;
    struct focus f = {.run = r, .cta = run_block(r, e->block), .warp = e->warp, .lane = e->lane, .frame = e->frame};
    char *p = e->kind == ENTRY_BYTES && f.cta ? memory_at(&f, e->n, e->bytes, true, &err) : NULL;
    if (p)
        memcpy(p, e->value, e->bytes);
    if (e->kind == ENTRY_REGISTER && focus_frame(&f, &frame))
        (void)emu_reg_write(&frame, e->lane, (uint32_t)e->n, e->value);
}

/* Does again what was done at this stop. True: the second pass ends in the middle of it. */
static bool redo(struct debug_run *r, const struct stamp *at, struct out *event)
{
    struct history *h = r->history;
    for (; replay.cursor < h->log.n && reached(&h->log.at[replay.cursor].at, at); replay.cursor++) {
        struct entry *e = &h->log.at[replay.cursor];
        struct emu_cta *cta = run_block(r, e->block);
        int32_t patience = 0;
        if (e->kind == ENTRY_START)
            (void)grid_start_more(r->op);
        if (e->kind != ENTRY_STEP) {
            redo_write(r, e);
            continue;
        }
        for (uint64_t i = 0; cta && i < e->n; i++) {
            struct emu_event what;
            if (at_target(r, cta, e->warp, ++replay.t, event)) {
                e->n = i;
                entries_free(h, replay.cursor + (i != 0));
                return true;
            }
            if (emu_debug_step(cta, dbg.worker, e->warp, &patience, &what) == EMU_FAULT)
                break;
        }
    }
    return false;
}

bool past_hook(struct debug_run *r, struct emu_cta *cta, uint32_t warp, struct out *event)
{
    struct history *h = r->history;
    if (!h)
        return false;
    struct stamp at = stamp_of(r, cta, warp);
    uint64_t t = ++replay.t;
    size_t first = replay.cursor;
    r->entered = true;
    if (at_target(r, cta, warp, t, event)) {
        entries_free(h, replay.cursor);
        h->here = at;
        return true;
    }
    if (redo(r, &at, event)) {
        h->here = at;
        return true;
    }
    if (replay.pass == 1 && replay.cursor == h->log.n && reached(&h->here, &at))
        turn_back(replay.cursor > first ? replay.t + 1 : t);
    return false;
}

bool past_fault(struct debug_run *r)
{
    if (!replay.active || !r->history)
        return false;
    if (replay.pass == 1 && !past_restarts())
        turn_back(replay.t + 1);
    atomic_store(&replay.restart, true);
    return true;
}

/* ---- requests ---- */

static bool back(enum want want, const struct request *q, struct error *err)
{
    enum { MOST = 1 << 20 };
    uint64_t n = 1;
    struct emu_spot s;
    struct debug_run *r = dbg.focus.run;
    const char *text = request_word(q, 0);
    if (text && (!request_number(text, &n) || !n || n > MOST))
        return refuse(err, "'%.40s' is no count up to %d", text, MOST);
    if (!r->worker)
        return refuse(err, "backwards goes in functional mode alone, not on the simulated GPU");
    if (!r->history || r->history->why_not)
        return refuse(err, "no way back: %s", r->history ? r->history->why_not : "no host memory");
    replay.room = (size_t)n + 2;
    replay.ring = malloc(replay.room * sizeof *replay.ring);
    if (!replay.ring)
        return refuse(err, "no host memory");
    replay.ring_n = 0;
    replay.hit = replay.last_hit = 0;
    replay.want = want;
    replay.count = n;
    replay.pass = 1;
    replay.block = emu_cta_index(dbg.focus.cta);
    replay.warp = dbg.focus.warp;
    replay.lane = dbg.focus.lane;
    replay.depth = focus_spot(&dbg.focus, &s) ? emu_spot_frames(&s, NULL, 0) : 1;
    replay.active = true;
    atomic_store(&replay.restart, true);
    dbg.go = true;
    return true;
}

bool serve_reverse_stepi(const struct request *q, struct out *o, struct error *err) { (void)o; return back(WANT_INSN, q, err); }
bool serve_reverse_step(const struct request *q, struct out *o, struct error *err) { (void)o; return back(WANT_LINE, q, err); }
bool serve_reverse_next(const struct request *q, struct out *o, struct error *err) { (void)o; return back(WANT_NEXT, q, err); }
bool serve_reverse_continue(const struct request *q, struct out *o, struct error *err) { (void)o; return back(WANT_HIT, q, err); }

bool serve_checkpoint(const struct request *q, struct out *o, struct error *err)
{
    const char *file = request_word(q, 0);
    (void)o;
    if (!file)
        return refuse(err, "checkpoint FILE");
    if (sim_on())
        return refuse(err, "on the simulated GPU checkpoints are not written from the debugger: heddle sim --checkpoint=kernel:N,cycle:C does");
    return checkpoint_save(file, "in the debugger", err) == ST_OK;
}
