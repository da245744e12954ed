/* Stopping and going on: the hook that warps call, plans that end at another place, and the events of a stop.
 *
 * A request that runs (`stepi`, `next`, ..) makes a plan. Where the focused warp can go on by itself it is stepped on the spot; otherwise the kernel runs on,
 * asking before every instruction, until the plan is fulfilled. On the simulated GPU the latter is always so. */
#include <string.h>

#include "runtime/debug/past.h"
#include "runtime/debug/watch.h"

static bool hook(void *user, struct emu_worker *w, struct emu_cta *cta, uint32_t warp);
static void fault(void *user, struct emu_worker *w, struct emu_cta *cta, uint32_t warp);
struct debug_state dbg = {.big = PTHREAD_MUTEX_INITIALIZER, .hook = {.fn = hook, .fault = fault}};

/* ---- events ---- */

static struct out stop_event(const char *reason)
{
    struct out o = server_event_new("stopped");
    out_str(&o, "reason", reason);
    return o;
}

/* What a call that was finished has returned: it lies in the variable that the call names, and the next load tells its type. */
static void say_returned(struct out *o, const struct focus *f)
{
    struct emu_frame frame;
    struct value v;
    struct textbuf text = {0};
    if (!focus_frame(f, &frame) || !frame.insn)
        return;
    const struct ptx_module *m = f->run->module->code->ptx;
    const struct ptx_function *fn = &m->functions[frame.function];
    const struct ptx_insn *call = &fn->insns[frame.insn - 1];
    if (call->op != PTX_OP_CALL || call->operands[0].kind != PTX_OPERAND_LIST || !call->operands[0].count)
        return;
    int32_t sym = fn->vec_pool[call->operands[0].first].sym;
    const struct ptx_var *var = ptx_symbol_var(m, fn, sym);
    if (!var || var->space != PTX_SPACE_PARAM || var_value(&v, f, &frame, var, sym, NULL) != ST_OK)
        return;
    const struct ptx_insn *load = frame.insn < fn->n_insns ? &fn->insns[frame.insn] : NULL;
    if (load && load->op == PTX_OP_LD && load->operands[0].kind == PTX_OPERAND_REG && load->operands[1].sym == sym) {
        struct type t = reg_type(fn, (uint32_t)load->operands[0].index);
        v.type = type_bytes(&t) == type_bytes(&v.type) ? t : v.type;
    }
    value_print(&text, &v, 0, f);
    if (text.at)
        out_str(o, "returned", text.at);
    textbuf_free(&text);
}

static struct out step_event(const struct plan *p, struct emu_cta *cta)
{
    struct emu_spot s;
    struct focus f = {.run = p->run, .cta = cta, .warp = p->warp, .lane = p->lane};
    bool alive = focus_spot(&f, &s);
    if (!alive || (p->kind == PLAN_INSN && s.state > EMU_LANE_READY)) {        /* the lanes that run now are what is stepped */
        struct focus other;
        struct emu_spot spots[EMU_SPOTS];
        bool any = emu_warp_spots(cta, p->warp, spots) && (!alive || spots[0].state <= EMU_LANE_READY) && focus_default(&other, cta, p->warp);
        f = any ? other : f;
    }
    dbg.focus = f;
    struct out o = stop_event(alive ? "step" : "warp-done");
    if (p->kind == PLAN_FINISH)
        say_returned(&o, &dbg.focus);
    focus_say(&o, &dbg.focus);
    return o;
}

static struct out break_event(struct breakpoint *b, const struct error *why)
{
    struct out o = stop_event("breakpoint");
    break_say_hit(&o, b, why);
    focus_say(&o, &dbg.focus);
    break_told(b);
    return o;
}

static struct out watch_event(struct breakpoint *b, struct watch_hit *hit)
{
    struct out o = stop_event("watchpoint");
    break_say_hit(&o, b, NULL);
    watch_say(&o, b, hit);
    watch_hit_free(hit);
    break_told(b);
    return o;
}

static struct out fault_event(struct emu_cta *cta, const struct emu_fault *f)
{
    struct out o = stop_event("error");
    out_u64(&o, "status", (uint64_t)status_cu(f->status));
    out_str(&o, "name", status_cu_name(f->status));
    out_str(&o, "report", f->report);
    dbg.faulted = true;
    if (cta) {
        const struct emu_launch *l = emu_cta_launch(cta);
        uint32_t t = f->tid[0] + l->block[0] * (f->tid[1] + l->block[1] * f->tid[2]);
        dbg.focus = (struct focus){.run = run_of(cta), .cta = cta, .warp = t / WARP_SIZE, .lane = t % WARP_SIZE};
        for (uint32_t w = 0; w < emu_cta_warps(cta) && !emu_warp_live(cta, dbg.focus.warp); w++)   /* a deadlock names no thread: any that waits */
            (void)focus_default(&dbg.focus, cta, w);
    }
    focus_say(&o, &dbg.focus);
    return o;
}

/* ---- stepping on the spot ---- */

enum { STEPS_ALONE = 1 << 20 };                /* then the others get their turn: what the warp does may be waiting for them */

static bool is_memory(const struct debug_run *r, const struct emu_cta *cta, uint32_t warp)
{
    struct emu_spot s[EMU_SPOTS];
    if (!emu_warp_spots(cta, warp, s))
        return false;
    struct site at = site_of_spot(r, &s[0]);
    return at.insn < site_function(&at)->n_insns && watch_insn(&site_function(&at)->insns[at.insn]);
}

/* One instruction of the warp. True: it is to be told, and *event is made. */
static bool step_one(struct debug_run *r, struct emu_cta *cta, uint32_t warp, int32_t *patience, enum emu_result *how, struct out *event)
{
    struct emu_event e;
    struct watch_hit hit = {0};
    struct breakpoint *b = NULL;
    if (watch_any() && is_memory(r, cta, warp))
        b = watch_step(r, cta, warp, patience, &hit, how);
    else
        *how = emu_debug_step(cta, dbg.worker, warp, patience, &e);
    if (*how == EMU_FAULT) {
        watch_hit_free(&hit);
        *event = fault_event(cta, emu_worker_fault(dbg.worker));
        return true;
    }
    if (b)
        *event = watch_event(b, &hit);
    return b != NULL;
}

/* The warp ended. The next one of the block is focused; when there is none, whoever comes next. */
static bool warp_ended(struct plan *p, struct emu_cta *cta, struct out *event)
{
    for (uint32_t w = 0; w < emu_cta_warps(cta); w++)
        if (focus_default(&dbg.focus, cta, w)) {
            *event = stop_event("warp-done");
            focus_say(event, &dbg.focus);
            p->kind = PLAN_NONE;
            return true;
        }
    p->kind = PLAN_ANY;
    p->count = 1;
    return false;
}

static bool round_of_all(struct plan *p, struct emu_cta *cta, struct out *event)
{
    while (p->count--)
        for (uint32_t w = 0; w < emu_cta_warps(cta); w++) {
            int32_t patience = 0;
            enum emu_result how;
            if (!emu_warp_running(cta, w))
                continue;
            bool told = step_one(p->run, cta, w, &patience, &how, event);
            past_step(p->run, cta, w);
            if (told)
                return true;
        }
    *event = step_event(p, cta);
    return true;
}

/* Carries the plan out as far as its warp goes by itself. True: *event says where it stopped; false: the kernel has to run on for it. */
static bool walk(struct plan *p, struct out *event)
{
    struct emu_cta *cta = run_block(p->run, p->block);
    struct error why = {0};
    int32_t patience = 0;
    enum emu_result how;
    if (!cta)
        return false;
    if (p->kind == PLAN_ROUND)
        return round_of_all(p, cta, event);
    for (uint32_t n = 0; n < STEPS_ALONE; n++) {
        bool told = step_one(p->run, cta, p->warp, &patience, &how, event);
        if (how == EMU_BLOCKED)
            return false;
        past_step(p->run, cta, p->warp);
        if (told)
            return true;
        if (how == EMU_DONE)
            return warp_ended(p, cta, event);
        struct focus f = {.run = p->run, .cta = cta, .warp = p->warp, .lane = p->lane};
        if (plan_there(p, &f)) {
            *event = step_event(p, cta);
            return true;
        }
        struct breakpoint *b = break_hit(p->run, cta, p->warp, &why);
        if (b) {
            *event = break_event(b, &why);
            return true;
        }
        if (atomic_load(&dbg.interrupt))
            return false;
    }
    return false;
}

/* Stops, and goes on as requests say. False: the kernel is given up. */
static bool stop_here(struct debug_run *r, struct out *event)
{
    for (;;) {
        dbg.plan.kind = PLAN_NONE;
        atomic_store(&dbg.interrupt, false);
        server_stop(event);
        bool failed = dbg.faulted;             /* the warp comes to the same error when it runs on */
        dbg.faulted = false;
        r->told = r->told || failed;
        if (past_restarts() || r->killed)
            return false;
        if (failed || dbg.plan.kind == PLAN_NONE || dbg.plan.kind == PLAN_CYCLE || !r->worker || !walk(&dbg.plan, event))
            return true;
    }
}

/* ---- the hook ---- */

static struct breakpoint *entry_break(struct debug_run *r, struct emu_cta *cta, uint32_t warp)
{
    struct error why = {0};
    r->entered = true;
    for (size_t i = 0; i < dbg.breaks.n; i++) {
        struct breakpoint *b = dbg.breaks.at[i];
        struct focus f;
        bool its = b->what == BREAK_ENTRY || (b->what == BREAK_LAUNCH && b->n == r->launch);
        if (b->enabled && its && focus_default(&f, cta, warp) && break_counts(b, &f, 1u << f.lane, &why)) {
            dbg.focus = f;
            return b;
        }
    }
    return NULL;
}

/* Whether a cycle has come at which somebody wanted to stop. The focus goes back to where the request was made, if its block is still there; else cta's warp
 * gets it. */
static bool cycle_has_come(struct debug_run *r, struct emu_cta *cta, uint32_t warp, struct out *event)
{
    const struct plan *p = &dbg.plan;
    struct breakpoint *hit = NULL;
    bool planned = p->kind == PLAN_CYCLE && p->cycle <= dbg.cycle;
    for (size_t i = 0; i < dbg.breaks.n; i++) {
        struct breakpoint *b = dbg.breaks.at[i];
        if (b->what == BREAK_CYCLE && b->enabled && b->n > dbg.cycle_checked && b->n <= dbg.cycle)
            hit = b;
    }
    dbg.cycle_checked = dbg.cycle > dbg.cycle_checked ? dbg.cycle : dbg.cycle_checked;
    if (!hit && !planned)
        return false;
    struct emu_cta *was = planned && p->run == r ? run_block(r, p->block) : NULL;
    dbg.focus = (struct focus){.run = r, .cta = was, .warp = p->warp, .lane = p->lane};
    if (!was)
        (void)focus_default(&dbg.focus, cta, warp);
    *event = stop_event(hit ? "breakpoint" : "step");
    if (hit) {
        hit->hits++;
        break_say_hit(event, hit, NULL);
    }
    out_u64(event, "now", dbg.cycle);
    focus_say(event, &dbg.focus);
    if (hit)
        break_told(hit);
    return true;
}

/* Whether something stops the warp before its next instruction. */
static bool look(struct debug_run *r, struct emu_cta *cta, uint32_t warp, struct out *event)
{
    struct error why = {0};
    if (!r->worker && cycle_has_come(r, cta, warp, event))
        return true;
    struct breakpoint *b = !r->entered ? entry_break(r, cta, warp) : NULL;
    if (!b)
        b = break_hit(r, cta, warp, &why);
    if (b) {
        *event = break_event(b, &why);
        return true;
    }
    struct emu_cta *block = cta;
    if (dbg.plan.kind == PLAN_ROUND && !r->worker && plan_round_there(&dbg.plan, r, cta, warp, &block)) {
        if (block) {
            *event = step_event(&dbg.plan, block);
            return true;
        }
        dbg.plan.kind = PLAN_ANY;
    }
    if (plan_is_of(&dbg.plan, r, cta, warp)) {
        struct focus f = {.run = r, .cta = cta, .warp = warp, .lane = dbg.plan.lane};
        if (dbg.plan.kind == PLAN_ANY) {
            focus_default(&dbg.focus, cta, warp);
            *event = stop_event("warp-done");
            focus_say(event, &dbg.focus);
            return true;
        }
        if (plan_there(&dbg.plan, &f)) {
            *event = step_event(&dbg.plan, cta);
            return true;
        }
    }
    if (atomic_load(&dbg.interrupt) && focus_default(&dbg.focus, cta, warp)) {
        *event = stop_event("interrupt");
        focus_say(event, &dbg.focus);
        return true;
    }
    return false;
}

/* On the simulated GPU. False: the kernel is given up. */
static bool issue_watched(struct debug_run *r, struct emu_cta *cta, uint32_t warp)
{
    struct watch_hit hit;
    struct breakpoint *b = past_replays() ? NULL : watch_issue(r, cta, warp, 0, &hit);
    if (!b)
        return true;
    struct out event = watch_event(b, &hit);
    past_stop(r, cta, warp);
    return stop_here(r, &event);
}

static bool looks(struct debug_run *r, struct emu_cta *cta, uint32_t warp)
{
    int32_t patience = 0;
    struct out event;
    for (bool told = false;;) {
        enum emu_result how;
        bool replays = past_replays();
        if (!told && (replays ? past_hook(r, cta, warp, &event) : look(r, cta, warp, &event))) {
            if (!replays)
                past_stop(r, cta, warp);
            if (!stop_here(r, &event))
                return false;
        }
        if (past_restarts())
            return false;
        if (!r->worker && watch_any() && !issue_watched(r, cta, warp))
            return false;
        if (r->told || !r->worker || past_replays() || !watch_any() || !emu_warp_running(cta, warp) || !is_memory(r, cta, warp))
            return true;
        told = step_one(r, cta, warp, &patience, &how, &event);        /* as the schedule would: no step of the debugger's */
        if (told) {
            past_stop(r, cta, warp);
            if (!stop_here(r, &event))
                return false;
        }
        if (how == EMU_DONE || how == EMU_BLOCKED || !emu_warp_running(cta, warp))
            return true;
        if (!told && !emu_break_here(cta, warp) && !atomic_load(&dbg.hook.every))
            return true;
    }
}

static bool hook(void *user, struct emu_worker *w, struct emu_cta *cta, uint32_t warp)
{
    (void)user;
    server_take();
    struct debug_run *r = run_of(cta);
    bool go = true;
    if (r && !server_gone()) {
        dbg.worker = w;
        if (!r->worker)
            dbg.cycle = emu_debug_cycle(w);
        if (atomic_exchange(&dbg.dirty, false))
            for (struct debug_run *x = dbg.runs; x; x = x->next)
                breaks_put(x);
        go = looks(r, cta, warp);
    }
    run_every();
    server_leave();
    return go;
}

void run_stop_fault(struct debug_run *r, struct emu_cta *cta, const struct emu_fault *f)
{
    struct out o = fault_event(cta, f);
    if (dbg.focus.cta)
        past_stop(r, dbg.focus.cta, dbg.focus.warp);
    (void)stop_here(r, &o);
}

void run_stop_cycle(struct op *op)
{
    struct debug_run *r = dbg.runs;
    struct emu_cta *cta;
    struct out event;
    while (r && r->op != op)
        r = r->next;
    bool replays = past_replays();
    if (!r || !(replays ? replay_cycle_come(r, &event) : run_blocks(r, &cta, 1) && cycle_has_come(r, cta, 0, &event)))
        return;
    past_stop(r, NULL, 0);
    (void)stop_here(r, &event);
}

void run_stop_watch(struct breakpoint *b, struct watch_hit *hit)
{
    struct out o = watch_event(b, hit);
    server_stop(&o);
    dbg.plan.kind = PLAN_NONE;
}

/* On the simulated GPU. */
static void fault(void *user, struct emu_worker *w, struct emu_cta *cta, uint32_t warp)
{
    (void)user, (void)warp;
    server_take();
    dbg.worker = w;
    dbg.cycle = emu_debug_cycle(w);
    server_leave();
    (void)debug_fault(cta, emu_worker_fault(w));
}
