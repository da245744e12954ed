/* Plans: where a request that runs is to end. */
#include <string.h>

#include "runtime/debug/state.h"

const struct verb verbs[] = {
#define VERB(name, fn, when) {name, fn, when},
#include "runtime/debug/verbs.def"
#undef VERB
    {NULL, NULL, WHEN_ANY}};

/* ---- plans ---- */

static void plan_base(struct plan *p, const struct focus *f, const struct emu_spot *s)
{
    struct site at = site_of_spot(f->run, s);
    struct source_line src = site_source(&at);
    p->depth = emu_spot_frames(s, NULL, 0);
    p->function = s->function;
    p->insn = s->insn;
    p->line = src.line;
    p->file = src.file;
}

static bool plan_make(enum plan_kind kind, uint64_t count, struct error *err)
{
    struct emu_spot s;
    if (dbg.faulted)
        return refuse(err, "the kernel has failed here: continue gives the error to the program");
    if (!focus_spot(&dbg.focus, &s))
        return refuse(err, "the focused thread has ended: focus another one");
    struct plan *p = &dbg.plan;
    p->kind = kind;
    p->count = count;
    p->run = dbg.focus.run;
    p->block = emu_cta_index(dbg.focus.cta);
    p->warp = dbg.focus.warp;
    p->lane = dbg.focus.lane;
    plan_base(p, &dbg.focus, &s);
    dbg.go = true;
    return true;
}

static bool new_line(struct plan *p, const struct source_line *s, const struct emu_spot *spot)
{
    if (!p->line)
        return spot->insn != p->insn || spot->function != p->function;
    return s->line && (s->line != p->line || strcmp(s->file, p->file) != 0);
}

static bool at_sites(const struct plan *p, const struct site *at)
{
    for (size_t i = 0; i < p->sites.n; i++)
        if (p->sites.at[i].module == at->module && p->sites.at[i].function == at->function && p->sites.at[i].insn == at->insn)
            return true;
    return false;
}

/* Whether the planned lane, which executed something, stands where it should. */
static bool lane_there(struct plan *p, const struct focus *f, const struct emu_spot *s)
{
    struct site at = site_of_spot(f->run, s);
    struct source_line src = site_source(&at);
    uint32_t depth = emu_spot_frames(s, NULL, 0);
    bool by_line = p->kind == PLAN_STEP || p->kind == PLAN_NEXT || p->kind == PLAN_UNTIL;
    if (s->state > EMU_LANE_READY || at.insn >= site_function(&at)->n_insns)
        return false;
    if (p->kind == PLAN_FINISH)
        return depth < p->depth;
    if (p->kind == PLAN_ADVANCE)
        return at_sites(p, &at) || depth < p->depth;
    if (p->kind == PLAN_NEXT_INSN)
        return depth <= p->depth;
    if (by_line && depth < p->depth) {         /* returned: on to the caller's next line */
        plan_base(p, f, s);
        return !p->line;
    }
    if (depth > p->depth)
        return p->kind == PLAN_STEP && (src.line || !p->line);
    if (p->kind == PLAN_UNTIL && s->insn <= p->insn)
        return false;
    return new_line(p, &src, s);
}

/* The planned warp stands before an instruction. True: the plan is fulfilled. */
bool plan_there(struct plan *p, const struct focus *f)
{
    struct emu_spot s;
    if (p->kind == PLAN_INSN || p->kind == PLAN_ANY)
        return !--p->count;
    if (!emu_lane_spot(f->cta, p->warp, p->lane, &s))
        return true;
    if (!lane_there(p, f, &s) || --p->count)
        return false;
    return true;
}

/* ---- a round on the simulated GPU ---- */

static void round_begin(struct plan *p, const struct emu_cta *cta)
{
    struct emu_spot s[EMU_SPOTS];
    p->round.waiting = p->round.about = 0;
    for (uint32_t w = 0; w < emu_cta_warps(cta) && w < WARP_SIZE; w++)
        if (emu_warp_running(cta, w) && emu_warp_spots(cta, w, s)) {
            p->round.waiting |= 1u << w;
            p->round.at[w].function = s[0].function;
            p->round.at[w].insn = s[0].insn;
        }
}

static bool has_moved(const struct plan *p, const struct emu_cta *cta, uint32_t w)
{
    struct emu_spot s[EMU_SPOTS];
    return !emu_warp_running(cta, w) || !emu_warp_spots(cta, w, s) || s[0].function != p->round.at[w].function || s[0].insn != p->round.at[w].insn;
}

bool plan_round_there(struct plan *p, const struct debug_run *r, const struct emu_cta *cta, uint32_t warp, struct emu_cta **block)
{
    *block = p->run == r ? run_block(r, p->block) : NULL;
    if (p->run != r)
        return false;
    if (!*block)
        return true;                           /* it has ended */
    if (emu_cta_index(cta) == p->block) {      /* who is about to step once more has stepped, if only in a circle */
        p->round.waiting &= ~(p->round.about & 1u << warp);
        p->round.about |= 1u << warp;
    }
    for (uint32_t m = p->round.waiting; m; m &= m - 1)
        if (has_moved(p, *block, (uint32_t)__builtin_ctz(m)))
            p->round.waiting &= ~(m & -m);
    if (p->round.waiting)
        return false;
    if (!--p->count)
        return true;
    round_begin(p, *block);
    return false;
}

bool plan_is_of(const struct plan *p, const struct debug_run *r, const struct emu_cta *cta, uint32_t warp)
{
    if (p->kind == PLAN_ROUND && !r->worker)
        return false;
    return p->kind == PLAN_ANY ? p->run == r : p->kind != PLAN_NONE && p->kind != PLAN_CYCLE && p->run == r && p->warp == warp && emu_cta_index(cta) == p->block;
}

/* ---- requests ---- */

static bool count_word(const struct request *q, unsigned i, uint64_t *count, struct error *err)
{
    const char *text = request_word(q, i);
    *count = 1;
    if (text && (!request_number(text, count) || !*count))
        return refuse(err, "'%.40s' is no count", text);
    return true;
}

static bool plan_counted(const struct request *q, enum plan_kind kind, struct error *err)
{
    uint64_t n;
    return count_word(q, 0, &n, err) && plan_make(kind, n, err);
}

bool serve_continue(const struct request *q, struct out *o, struct error *err)
{
    (void)q, (void)o, (void)err;
    dbg.plan.kind = PLAN_NONE;
    dbg.go = true;
    return true;
}

bool serve_stepi(const struct request *q, struct out *o, struct error *err)
{
    const char *first = request_word(q, 0);
    uint64_t n;
    (void)o;
    bool all = (first && strcmp(first, "all") == 0) || request_option(q, "all");
    if (!all)
        return plan_counted(q, PLAN_INSN, err);
    if (!count_word(q, first != NULL, &n, err) || !plan_make(PLAN_ROUND, n, err))
        return false;
    round_begin(&dbg.plan, dbg.focus.cta);
    return true;
}

bool serve_nexti(const struct request *q, struct out *o, struct error *err) { (void)o; return plan_counted(q, PLAN_NEXT_INSN, err); }
bool serve_step(const struct request *q, struct out *o, struct error *err) { (void)o; return plan_counted(q, PLAN_STEP, err); }
bool serve_next(const struct request *q, struct out *o, struct error *err) { (void)o; return plan_counted(q, PLAN_NEXT, err); }

bool serve_finish(const struct request *q, struct out *o, struct error *err)
{
    struct emu_spot s;
    (void)q, (void)o;
    if (focus_spot(&dbg.focus, &s) && emu_spot_frames(&s, NULL, 0) < 2)
        return refuse(err, "the kernel itself was called by nobody: continue runs to its end");
    return plan_make(PLAN_FINISH, 1, err);
}

bool serve_advance(const struct request *q, struct out *o, struct error *err)
{
    struct sites found = {0};
    enum break_what what;
    uint64_t n;
    (void)o;
    const char *at = request_word(q, 0) ? request_word(q, 0) : request_option(q, "at");
    if (!at)
        return refuse(err, "advance to where?");
    if (location_find(&found, at, &what, &n, err) != ST_OK || !found.at.n) {
        vec_free(&found.at);
        return *err->text ? false : refuse(err, "'%.80s' is no place in the code", at);
    }
    vec_free(&dbg.plan.sites);
    memcpy(&dbg.plan.sites, &found.at, sizeof found.at);
    return plan_make(PLAN_ADVANCE, 1, err);
}

bool serve_until(const struct request *q, struct out *o, struct error *err)
{
    return request_word(q, 0) || request_option(q, "at") ? serve_advance(q, o, err) : plan_make(PLAN_UNTIL, 1, err);
}

bool serve_cycle(const struct request *q, struct out *o, struct error *err)
{
    uint64_t n;
    (void)o;
    if (!sim_on())
        return refuse(err, "cycles exist on the simulated GPU alone");
    if (!dbg.runs)
        return refuse(err, "no kernel is under way");
    if (!count_word(q, 0, &n, err))
        return false;
    dbg.plan.kind = PLAN_CYCLE;
    dbg.plan.cycle = dbg.cycle + n;
    dbg.plan.run = dbg.focus.run;
    dbg.plan.block = dbg.focus.cta ? emu_cta_index(dbg.focus.cta) : UINT64_MAX;
    dbg.plan.warp = dbg.focus.warp;
    dbg.plan.lane = dbg.focus.lane;
    dbg.go = true;
    return true;
}

bool serve_interrupt(const struct request *q, struct out *o, struct error *err)
{
    (void)q, (void)o, (void)err;
    if (!server_stopped()) {
        atomic_store(&dbg.interrupt, true);
        run_every();
    }
    return true;
}

bool serve_kill(const struct request *q, struct out *o, struct error *err)
{
    (void)q, (void)o, (void)err;
    dbg.focus.run->killed = true;
    dbg.plan.kind = PLAN_NONE;
    dbg.go = true;
    return true;
}
