/* Backwards: a kernel runs again from a moment before the present place, to the one that was asked for.
 *
 * The past is searched in stretches from a kept moment up to where the last search began, newest first. A search counts what is told (`looks`: each hook that the
 * warps call) and remembers the last ones that would do; a second run from the same moment ends at the one that was wanted. Where every instruction has to be
 * told, which is slow, the kernel first runs up close to the end of the stretch as fast as it can, keeping moments at half the distance each time. */
#include <stdlib.h>
#include <string.h>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/debug/past.h"
#include "runtime/debug/watch.h"
#include "runtime/dispatch.h"

enum want { WANT_INSN, WANT_LINE, WANT_NEXT, WANT_HIT, WANT_CYCLE };
enum stage { APPROACH, SEARCH, GO };
struct found { uint64_t look; uint32_t hit /* number of a breakpoint, or 0 */; uint64_t cycle; };
static struct {
    bool active;
    atomic_bool restart;
    enum want want;
    enum stage stage;
    struct moment *from;                       /* where this run began */
    uint64_t end, zone, half;                  /* in instructions: of the stretch; how much before it is told of at least; where the next moment is kept */
    bool last;                                 /* the stretch ends where we were, not at a boundary; */
    bool between;                              /* or at the boundary where we were */
    bool beyond;                               /* its end was passed; only the next look at the lane counts */
    uint64_t gap;                              /* boundaries are no further apart */
    uint64_t looks, target, left;              /* so far; which one to end at; how many places back */
    bool to_first;                             /* nothing was found: to the beginning */
    uint64_t cycle;                            /* GO: to this one, not to a look; 0: no */
    uint64_t before_cycle;                     /* cycle breakpoints before this one are to come */
    size_t cursor;                             /* next entry of the log */
    struct debug_run *run; uint64_t block; uint32_t warp, lane, depth;         /* who goes back */
    struct found *ring, hit; size_t ring_n, room;      /* the last looks that would do, newest at ring[(ring_n - 1) % room] */
    uint64_t before;                           /* the look before */
    bool known;                                /* where the lane was then: */
    const char *file; uint32_t line, at_depth, function;
} replay;

bool past_replays(void) { return replay.active; }
bool past_restarts(void) { return atomic_load_explicit(&replay.restart, memory_order_relaxed); }
void past_begin_anew(void) { atomic_store(&replay.restart, true); }

void past_lost(void)
{
    replay.active = false;
    atomic_store(&replay.restart, false);
    free(replay.ring);
    replay.ring = NULL;
}

/* ---- stretches ---- */

/* Goes to the stretch that ends at replay.end. */
static void stretch(struct debug_run *r)
{
    struct moment *m = moment_before(r->history, replay.last ? replay.end : replay.end - 1);
    replay.from = m;
    replay.stage = replay.want != WANT_HIT && replay.end - m->insns > replay.zone ? APPROACH : SEARCH;
    replay.half = m->insns + (replay.end - m->insns) / 2;
    past_begin_anew();
}

static void stretch_begins(const struct history *h)
{
    replay.looks = replay.before = 0;
    replay.ring_n = 0;
    replay.beyond = false;
    replay.known = replay.from == h->first;
    replay.line = replay.at_depth = 0;
    replay.file = "";
}

/* Whether the block had not begun at the moment: nothing lies before. */
static bool not_begun(const struct debug_run *r, const struct moment *m)
{
    return r->op->u.launch.run->cluster_ctas == 1 && replay.block >= m->next;
}

static void go(struct moment *from, struct found to, uint64_t cycle)
{
    replay.hit = to;
    replay.target = to.look;
    replay.cycle = cycle;
    replay.from = from;
    replay.stage = GO;
    past_begin_anew();
}

/* The cycle breakpoint that comes last before replay.before_cycle, but not before `from`. NULL: there is none. */
static const struct breakpoint *cycle_break(const struct history *h, uint64_t from)
{
    const struct breakpoint *last = NULL;
    for (size_t i = 0; i < dbg.breaks.n && h->gpu && replay.want == WANT_HIT; i++) {
        const struct breakpoint *b = dbg.breaks.at[i];
        if (b->what == BREAK_CYCLE && b->enabled && b->n > from && b->n < replay.before_cycle && (!last || b->n > last->n))
            last = b;
    }
    return last;
}

static struct moment *moment_at_cycle(const struct history *h, uint64_t cycle)
{
    struct moment *found = h->first;
    for (size_t i = 0; i < h->moments.n && h->moments.at[i]->cycle <= cycle; i++)
        found = h->moments.at[i];
    return found;
}

/* The stretch was searched. Looks from `now` on do not count. */
static void searched(struct debug_run *r, uint64_t now)
{
    const struct history *h = r->history;
    size_t kept = replay.ring_n < replay.room ? replay.ring_n : replay.room, at = 0;
    bool any = false;
    while (at < kept && replay.ring[(replay.ring_n - 1 - at) % replay.room].look >= now)
        at++;
    for (;; any = true) {
        const struct found *f = at < kept ? &replay.ring[(replay.ring_n - 1 - at) % replay.room] : NULL;
        const struct breakpoint *c = cycle_break(h, f ? f->cycle : replay.from->cycle);
        if (!f && !c)
            break;
        if (!--replay.left) {
            struct found to = c ? (struct found){.hit = c->number} : *f;
            go(c ? moment_at_cycle(h, c->n) : replay.from, to, c ? c->n : 0);
            return;
        }
        at += !c;
        replay.before_cycle = c ? c->n : replay.before_cycle;
    }
    replay.to_first = replay.from == h->first || (replay.want != WANT_HIT && not_begun(r, replay.from));
    if (replay.to_first) {
        go(h->first, (struct found){.look = 1}, 0);
        return;
    }
    replay.end = replay.from->insns;
    replay.last = replay.between = false;
    replay.before_cycle = replay.from->cycle < replay.before_cycle ? replay.from->cycle + 1 : replay.before_cycle;
    replay.zone = any || replay.zone > UINT64_MAX / 2 ? replay.zone : replay.zone * 2;
    stretch(r);
}

/* A simulated GPU is at the moment. */
static void back_at(struct history *h, const struct moment *m)
{
    for (struct debug_run *x = dbg.runs; x; x = x->next)
        x->told = x->told && x->history != h;
    h->boundary = m->insns;
    dbg.cycle = dbg.cycle_checked = h->end = m->cycle;
    watch_accesses_forget();
}

bool past_restore(struct debug_run *r)
{
    struct history *h = r->history;
    const struct moment *m = replay.active ? replay.from : h->first;
    ground_back(&h->ground);
    bool good = moment_back(r, m);
    struct emu_counters n;
    if (h->gpu) {
        back_at(h, m);
    } else {
        emu_worker_counters(r->worker, &n);
        h->base = n.warp_insns - m->insns;
    }
    h->apart = false;
    h->text.insns = UINT64_MAX;
    r->told = false;
    atomic_store(&replay.restart, false);
    replay.cursor = m->cursor;
    stretch_begins(h);
    past_look(r, true);
    watch_refresh();
    if (!good)
        past_lost();
    return good;
}

/* The cycle that the replay ends at is that of a look, since no window ends there. */
static bool cycle_by_look(const struct history *h) { return replay.stage == GO && replay.cycle && h->whole; }

/* Before every instruction: where it is searched so, and from the last boundary on before a place that has to be recognized. */
bool past_every(void)
{
    const struct debug_run *r = dbg.turn;
    if (!replay.active || !r || !r->history)
        return replay.active;
    const struct history *h = r->history;
    uint64_t near = past_now(r) + replay.gap;
    return atomic_load(&dbg.interrupt) || cycle_by_look(h) || (replay.want < WANT_HIT && replay.stage != APPROACH) || replay.to_first || (replay.last && h->here.insns <= near) ||
           (replay.cursor < h->log.n && h->log.at[replay.cursor].at.insns <= near);
}

/* ---- what would do ---- */

/* In the order of looks, though a change on the simulated GPU is found some looks behind the access that made it. */
static void remember(uint64_t look, uint32_t hit)
{
    size_t kept = replay.ring_n < replay.room ? replay.ring_n : replay.room, at = 0;
    while (at < kept && replay.ring[(replay.ring_n - 1 - at) % replay.room].look > look)
        at++;
    if (at < kept ? replay.ring[(replay.ring_n - 1 - at) % replay.room].look == look : kept == replay.room)
        return;                                /* known; or older than all that are kept */
    for (size_t i = 0; i < at; i++)
        replay.ring[(replay.ring_n - i) % replay.room] = replay.ring[(replay.ring_n - 1 - i) % replay.room];
    replay.ring[(replay.ring_n++ - at) % replay.room] = (struct found){look, hit, dbg.cycle};
}

/* A change of watched memory that the present look, or the boundary, finds: by the access before, or the newest one that can have made it. */
static void consider_watch(struct debug_run *r, struct emu_cta *cta, uint32_t warp, uint64_t look)
{
    struct watch_hit hit = {0};
    struct breakpoint *b = !watch_any() ? NULL : !r->history->gpu ? watch_look(&hit, NULL) : cta ? watch_issue(r, cta, warp, look, &hit) : NULL;
    uint64_t at = hit.look ? hit.look : replay.before;
    watch_hit_free(&hit);
    if (b && (at || r->history->gpu) && replay.stage == SEARCH)
        remember(at ? at : look, b->number);
}

static bool is_mine(const struct debug_run *r, const struct emu_cta *cta, uint32_t warp)
{
    return r == replay.run && emu_cta_index(cta) == replay.block && warp == replay.warp;
}

/* A lane's place begins a line when the one before was on another. */
static void consider_line(struct debug_run *r, const struct emu_cta *cta, uint64_t look)
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
    if (replay.known && !deeper && begins && !back)
        remember(look, 0);
    replay.known = true;
    replay.line = src.line;
    replay.file = src.file;
    replay.function = s.function;
    replay.at_depth = depth;
}

static void consider(struct debug_run *r, struct emu_cta *cta, uint32_t warp, uint64_t look)
{
    bool mine = is_mine(r, cta, warp);
    if (replay.want == WANT_HIT) {
        const struct breakpoint *b = break_would(r, cta, warp);
        if (b)
            remember(look, b->number);
    } else if (mine && replay.want == WANT_INSN) {
        remember(look, 0);
    } else if (mine) {
        consider_line(r, cta, look);
        if (replay.beyond)
            searched(r, UINT64_MAX);
    }
    replay.before = look;
}

/* ---- a replay ---- */

static void stretch_ends(struct debug_run *r)
{
    struct emu_cta *cta = NULL;
    if (replay.want == WANT_HIT && (!r->history->gpu || run_blocks(r, &cta, 1)))
        consider_watch(r, cta, 0, replay.looks);
    if ((replay.want == WANT_LINE || replay.want == WANT_NEXT) && !replay.between)
        replay.beyond = true;
    else
        searched(r, UINT64_MAX);
}

static void redo_write(const struct entry *e);

void replay_boundary(struct debug_run *r)
{
    const struct history *h = r->history;
    uint64_t now = past_now(r);
    for (; h->gpu && replay.cursor < h->log.n && h->log.at[replay.cursor].at.cycle && h->log.at[replay.cursor].at.cycle <= dbg.cycle; replay.cursor++)
        redo_write(&h->log.at[replay.cursor]);
    if (replay.stage == APPROACH && now + replay.gap + replay.zone >= replay.end) {
        struct moment *m = moment_keep(r, replay.cursor, replay.from);
        replay.stage = SEARCH;
        if (m)
            replay.from = m;
        else
            past_begin_anew();                 /* all of the stretch, then */
        stretch_begins(r->history);
    } else if (replay.stage == APPROACH && now >= replay.half) {
        struct moment *m = moment_keep(r, replay.cursor, replay.from);
        replay.from = m ? m : replay.from;
        replay.half = now + (replay.end - now) / 2;
    } else if (replay.stage == SEARCH && !replay.last && now >= replay.end && !replay.beyond) {
        stretch_ends(r);
    }
}

/* The focus goes to who went back, where he is there; else to the warp. */
static void focus_back(struct emu_cta *cta, uint32_t warp, const struct breakpoint *b)
{
    struct emu_spot s;
    struct focus f = {.run = replay.run, .cta = cta, .warp = replay.warp, .lane = replay.lane};
    bool mine = run_of(cta) == replay.run && emu_cta_index(cta) == replay.block && warp == replay.warp && emu_lane_spot(cta, warp, replay.lane, &s) && s.state <= EMU_LANE_READY;
    if (!mine)
        focus_default(&f, cta, warp);
    if (b && b->what != BREAK_CYCLE && !b->watch)
        f.lane = break_lane(b, &f);
    dbg.focus = f;
}

static struct out arrived(struct debug_run *r, struct emu_cta *cta, uint32_t warp)
{
    bool stopped = atomic_load(&dbg.interrupt);
    struct breakpoint *b = replay.hit.hit && !stopped ? break_find(replay.hit.hit) : NULL;
    bool end = replay.to_first && replay.stage == GO;
    struct history *h = r->history;
    past_lost();
    counts_keep(true);                         /* what a replay looks at is no hit */
    moments_forget(h, past_now(r));
    h->due = past_now(r) + h->spacing;
    past_ends_forget(h);
    dbg.cycle_checked = h->gpu ? dbg.cycle : dbg.cycle_checked;
    focus_back(cta, warp, b);
    watch_refresh();
    struct out o = server_event_new("stopped");
    out_str(&o, "reason", stopped ? "interrupt" : !b ? "reverse" : b->watch ? "watchpoint" : "breakpoint");
    if (b) {
        break_say_hit(&o, b, NULL);
        out_u64(&o, "reverse", 1);
    }
    if (!b && end && !stopped) {
        out_u64(&o, "end", 1);
        if (!h->at_launch)
            out_str(&o, "before", "others ran, or several threads");
    }
    if (h->gpu)
        out_u64(&o, "now", dbg.cycle);
    focus_say(&o, &dbg.focus);
    return o;
}

uint64_t replay_cycle_wanted(void) { return replay.active && replay.stage == GO && replay.cycle ? replay.cycle : UINT64_MAX; }

bool replay_cycle_come(struct debug_run *r, struct out *event)
{
    struct emu_cta *cta = NULL;
    if (replay_cycle_wanted() > dbg.cycle)
        return false;
    if (!(cta = run_block(replay.run, replay.block)) && !run_blocks(r, &cta, 1)) {
        replay.to_first = true;                /* nothing has begun: then to the first that does */
        replay.target = replay.looks + 1;
        replay.cycle = 0;
        return false;
    }
    uint32_t warp = run_of(cta) == replay.run && emu_cta_index(cta) == replay.block ? replay.warp : 0;
    entries_forget(r->history, replay.cursor);
    *event = arrived(r, cta, warp);
    return true;
}

/* The warp is about to execute an instruction: whether the replay ends here. */
static bool look(struct debug_run *r, struct emu_cta *cta, uint32_t warp, struct out *event)
{
    bool there = ++replay.looks == replay.target && replay.stage == GO && !replay.cycle;
    if (cycle_by_look(r->history) && dbg.cycle >= replay.cycle) {
        struct emu_cta *was = run_block(replay.run, replay.block);
        there = true;
        cta = was ? was : cta;
        warp = was ? replay.warp : warp;
    }
    if (!there && (r->history->gpu || (replay.stage == SEARCH && replay.want == WANT_HIT)))
        consider_watch(r, cta, warp, replay.looks);
    if (replay.stage == SEARCH)
        consider(r, cta, warp, replay.looks);
    if (past_restarts() || (!atomic_load(&dbg.interrupt) && !there))
        return false;                          /* an interrupt ends the journey where it is */
    *event = arrived(r, cta, warp);
    return true;
}

static void redo_write(const struct entry *e)
{
    struct emu_frame frame;
    struct error err;
    struct focus f = {.run = e->run, .cta = run_block(e->run, e->block), .warp = e->warp, .lane = e->lane, .frame = e->frame};
    char *p = e->kind == ENTRY_BYTES && f.cta ? memory_at(&f, e->n, e->bytes, true, &err) : NULL;
    if (p)
        memcpy(p, e->value, e->bytes);
    if (e->kind == ENTRY_REGISTER && focus_frame(&f, &frame))
        (void)emu_reg_write(&frame, e->lane, (uint32_t)e->n, e->value);
}

/* Does again what was done at this stop. True: the replay ends in the middle of it. */
static bool redo(struct debug_run *r, const struct stamp *at, struct out *event)
{
    struct history *h = r->history;
    bool looked = true;                        /* at the warp of the stop, and nothing was done since */
    for (; replay.cursor < h->log.n && stamp_reached(&h->log.at[replay.cursor].at, at); replay.cursor++) {
        struct entry *e = &h->log.at[replay.cursor];
        struct emu_cta *cta = run_block(e->run, e->block);
        int32_t patience = 0;
        if (e->kind == ENTRY_START)
            (void)grid_start_more(r->op);
        if (e->kind != ENTRY_STEP) {
            redo_write(e);
            looked = looked && e->kind == ENTRY_START;
            continue;
        }
        for (uint64_t i = 0; cta && i < e->n; i++) {
            struct emu_event what;
            bool known = looked && e->block == at->block && e->warp == at->warp;
            looked = false;
            if (!known && look(r, cta, e->warp, event)) {
                e->n = i;
                entries_forget(h, replay.cursor + (i != 0));
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
    if (!h || past_restarts())
        return false;
    struct stamp at = stamp_of(r, cta, warp);
    r->entered = true;
    bool ends = look(r, cta, warp, event);
    size_t first = replay.cursor;
    if (ends)
        entries_forget(h, replay.cursor);
    if (ends || redo(r, &at, event)) {
        h->here = at;
        h->between = false;
        return true;
    }
    if (past_restarts() || !replay.last || replay.stage == GO || replay.cursor != h->log.n || !stamp_reached(&h->here, &at))
        return false;
    while (first < replay.cursor && h->log.at[first].kind == ENTRY_START)
        first++;
    if (replay.stage == SEARCH) {
        searched(r, replay.cursor > first ? replay.looks + 1 : replay.looks);
    } else {                                   /* came too far: all of the stretch, then */
        replay.zone = UINT64_MAX;
        stretch(r);
    }
    return false;
}

bool past_fault(struct debug_run *r)
{
    if (!replay.active || !r->history)
        return false;
    if (past_restarts())
        return true;
    if (replay.stage != SEARCH || !replay.last) {
        past_lost();
        return false;
    }
    searched(r, replay.looks + 1);
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
    if (past_why_not(r))
        return refuse(err, "no way back: %s", past_why_not(r));
    struct history *h = r->history;
    uint64_t gap, since = past_since(r, &gap);
    free(replay.ring);
    replay.room = (size_t)n + 2;
    replay.ring = malloc(replay.room * sizeof *replay.ring);
    if (!replay.ring)
        return refuse(err, "no host memory");
    replay.want = want;
    replay.left = n;
    replay.to_first = false;
    replay.cycle = 0;
    replay.before_cycle = dbg.cycle;
    replay.run = r;
    replay.block = emu_cta_index(dbg.focus.cta);
    replay.warp = dbg.focus.warp;
    replay.lane = dbg.focus.lane;
    replay.depth = focus_spot(&dbg.focus, &s) ? emu_spot_frames(&s, NULL, 0) : 1;
    replay.gap = gap > since ? gap : since;
    replay.zone = replay.gap;
    replay.end = past_now(r);
    replay.last = !h->between;
    replay.between = h->between;
    moments_forget(h, h->here.insns);
    replay.active = true;
    counts_keep(false);
    dbg.go = true;
    if (want != WANT_CYCLE) {
        stretch(r);
        return true;
    }
    uint64_t to = n < dbg.cycle ? dbg.cycle - n : 0;
    replay.to_first = to <= h->first->cycle;
    go(moment_at_cycle(h, to), (struct found){.look = replay.to_first}, replay.to_first ? 0 : to);
    return true;
}

bool serve_reverse_stepi(const struct request *q, struct out *o, struct error *err) { (void)o; return back(WANT_INSN, q, err); }
bool serve_reverse_step(const struct request *q, struct out *o, struct error *err) { (void)o; return back(WANT_LINE, q, err); }
bool serve_reverse_next(const struct request *q, struct out *o, struct error *err) { (void)o; return back(WANT_NEXT, q, err); }
bool serve_reverse_cycle(const struct request *q, struct out *o, struct error *err)
{
    (void)o;
    return sim_on() ? back(WANT_CYCLE, q, err) : refuse(err, "cycles exist on the simulated GPU alone");
}
bool serve_reverse_continue(const struct request *q, struct out *o, struct error *err) { (void)o; return back(WANT_HIT, q, err); }

bool serve_checkpoint(const struct request *q, struct out *o, struct error *err)
{
    const char *file = request_word(q, 0);
    if (!file)
        return refuse(err, "checkpoint FILE");
    if (sim_on() && sim_inside()) {            /* a warp stopped in the middle of a window */
        if (!checkpoint_ask(file))
            return refuse(err, "another checkpoint is written first, when the kernel goes on");
        out_line(o);
        out_str(o, "written", "later");
        return true;
    }
    return checkpoint_save(file, "in the debugger", err) == ST_OK;
}
