/* What the rest of the runtime tells the debugger: modules, launches, turns, errors, the host's copies. */
#include <stdlib.h>
#include <string.h>

#include "runtime/debug/dwarf.h"
#include "runtime/debug/watch.h"

/* ---- kernels under way ---- */

struct debug_run *run_of(const struct emu_cta *cta)
{
    uint64_t id = emu_cta_launch(cta)->grid_id;
    for (struct debug_run *r = dbg.runs; r; r = r->next)
        if (r->grid_id == id)
            return r;
    return NULL;
}

size_t run_blocks(const struct debug_run *r, struct emu_cta **out, size_t n)
{
    enum { MOST = 4096 };
    static struct emu_cta *handles[MOST];      /* under big */
    size_t have = grid_residents(r->op, handles, MOST), count = 0;
    for (size_t i = 0; i < have && i < MOST; i++)
        for (uint32_t k = 0; k < emu_cta_ranks(handles[i]); k++) {
            struct emu_cta *cta = sim_on() ? handles[i] : emu_cta_of_rank(handles[i], k);
            if (count < n)
                out[count] = cta;
            count++;
            if (sim_on())
                break;
        }
    return count;
}

void run_start_more(struct debug_run *r)
{
    if (r->worker && grid_start_more(r->op))
        past_started(r);
}

struct emu_cta *run_block(const struct debug_run *r, uint64_t index)
{
    enum { MOST = 8192 };
    static struct emu_cta *all[MOST];          /* under big */
    size_t n = run_blocks(r, all, MOST);
    for (size_t i = 0; i < n && i < MOST; i++)
        if (emu_cta_index(all[i]) == index)
            return all[i];
    return NULL;
}

bool focus_default(struct focus *f, struct emu_cta *cta, uint32_t warp)
{
    struct emu_spot s[EMU_SPOTS];
    uint32_t n = emu_warp_spots(cta, warp, s);
    *f = (struct focus){.run = run_of(cta), .cta = cta, .warp = warp};
    if (n)
        f->lane = (uint32_t)__builtin_ctz(s[0].mask);
    return n != 0;
}

bool run_wants_entry(const struct debug_run *r)
{
    for (size_t i = 0; i < dbg.breaks.n; i++) {
        const struct breakpoint *b = dbg.breaks.at[i];
        if (b->enabled && (b->what == BREAK_ENTRY || (b->what == BREAK_LAUNCH && b->n == r->launch)))
            return true;
    }
    return false;
}

/* Under big. */
void run_every(void)
{
    bool any = dbg.plan.kind != PLAN_NONE || atomic_load(&dbg.interrupt) || atomic_load(&dbg.dirty) || past_every();
    for (const struct debug_run *r = dbg.runs; r && !any; r = r->next)
        any = !r->entered && run_wants_entry(r);
    for (size_t i = 0; i < dbg.breaks.n && !any && dbg.runs; i++)
        any = dbg.breaks.at[i]->what == BREAK_CYCLE && dbg.breaks.at[i]->enabled && dbg.breaks.at[i]->n > dbg.cycle_checked;
    atomic_store_explicit(&dbg.hook.every, any, memory_order_relaxed);
}

/* ---- what the runtime says ---- */

/* Stops where somebody has changed what is watched. Under big. */
static void look_after(const char *who, struct debug_run *r)
{
    struct watch_hit hit = {0};
    struct breakpoint *b;
    while (!server_gone() && watch_any() && (b = watch_next(&hit, who, r))) {
        dbg.focus = (struct focus){0};
        run_stop_watch(b, &hit);
        run_every();
    }
    watch_refresh();                           /* those that only look at reads, too */
}

static void tell_launch(const struct debug_run *r)
{
    const struct launch_op *l = &r->op->u.launch;
    char name[1024];
    struct out o = server_event_new("launch");
    out_u64(&o, "launch", r->launch);
    out_str(&o, "kernel", rt_function_name(l->function));
    out_str(&o, "kernel_name", name_readable(rt_function_name(l->function), name, sizeof name));
    out_xyz(&o, "grid", l->grid);
    out_xyz(&o, "block", l->block);
    out_u64(&o, "stream", rt_stream_id(r->op->stream));
    server_event(&o);
}

static void tell_finished(const struct debug_run *r)
{
    struct out o = server_event_new("finished");
    out_u64(&o, "launch", r->launch);
    out_str(&o, "kernel", rt_function_name(r->op->u.launch.function));
    server_event(&o);
}

void debug_launch(struct op *op, uint64_t grid_id, struct emu_worker *worker)
{
    const struct launch_op *l = &op->u.launch;
    struct debug_run *r = calloc(1, sizeof *r);
    server_take();
    look_after("host", NULL);                  /* plain stores to managed memory: nobody tells of them */
    dbg.launches++;
    if (r) {
        *r = (struct debug_run){.next = dbg.runs, .op = op, .module = l->function->module, .grid_id = grid_id, .launch = dbg.launches, .worker = worker};
        dbg.runs = r;
        if (!dbg.launches_off)
            tell_launch(r);
        breaks_put(r);
        past_begin(r);
        run_every();
    }
    server_leave();
}

void debug_finished(struct op *op)
{
    server_take();
    for (struct debug_run **at = &dbg.runs; *at; at = &(*at)->next) {
        struct debug_run *r = *at;
        if (r->op != op)
            continue;
        if (!r->worker)
            look_after("kernel", r);           /* what its last stores have changed, which no later access told of */
        *at = r->next;
        if (!dbg.launches_off || r->seen)
            tell_finished(r);
        emu_breaks_clear(op->u.launch.function->kernel);
        for (struct debug_run *x = dbg.runs; x; x = x->next)        /* another launch may run the same code */
            breaks_put(x);
        past_end(r);
        if (dbg.plan.run == r)
            dbg.plan.kind = PLAN_NONE;
        if (dbg.focus.run == r)
            dbg.focus = (struct focus){0};
        if (dbg.turn == r)
            dbg.turn = NULL;
        free(r);
        break;
    }
    run_every();
    server_leave();
}

bool debug_fault(struct emu_cta *cta, const struct emu_fault *f)
{
    bool counts = true;
    server_take();
    struct debug_run *r = cta ? run_of(cta) : dbg.turn;
    if (r && r->worker)
        dbg.worker = r->worker;
    if (r && past_fault(r)) {
        counts = false;
    } else if (r && !r->killed && !dbg.error_off && !server_gone() && !past_restarts() && !r->told) {
        struct emu_cta *block = cta;
        for (uint32_t i = 0; cta && i < emu_cta_ranks(cta) && !sim_on(); i++) {
            uint32_t id[3];
            emu_cta_id(emu_cta_of_rank(cta, i), id);
            if (memcmp(id, f->ctaid, sizeof id) == 0)
                block = emu_cta_of_rank(cta, i);
        }
        dbg.focus = (struct focus){0};
        r->told = true;
        run_stop_fault(r, block, f);
        counts = !past_restarts();
    }
    run_every();
    server_leave();
    return counts;
}

void debug_module(struct rt_module *m)
{
    server_take();
    struct rt_module **more = realloc(dbg.modules, (dbg.n_modules + 1) * sizeof *more);
    if (more) {
        dbg.modules = more;
        dbg.modules[dbg.n_modules++] = m;
        uint64_t kernels = 0;
        for (uint32_t i = 0; i < m->code->ptx->n_functions; i++)
            kernels += m->code->ptx->functions[i].is_entry && m->code->ptx->functions[i].has_body;
        struct out o = server_event_new("module");
        out_str(&o, "name", m->code->ptx->name);
        out_u64(&o, "kernels", kernels);
        server_event(&o);
        breaks_module(m);
    }
    server_leave();
}

void debug_module_gone(const struct rt_module *m)
{
    server_take();
    for (size_t i = 0; i < dbg.n_modules; i++)
        if (dbg.modules[i] == m) {
            memmove(dbg.modules + i, dbg.modules + i + 1, (--dbg.n_modules - i) * sizeof *dbg.modules);
            break;
        }
    breaks_module_gone(m);
    dwarf_forget(m);
    server_leave();
}

void debug_host_wrote(void)
{
    server_take();
    past_host_wrote();
    look_after("host", NULL);
    server_leave();
}

bool debug_restarting(void) { return past_restarts(); }
bool debug_silent(void) { return past_replays(); }
bool debug_printed(void) { return past_replays() || past_printed(); }

void debug_cycle(struct op *op, uint64_t now)
{
    server_take();
    dbg.cycle = now;
    if (!server_gone() && !past_restarts())
        run_stop_cycle(op);
    run_every();
    server_leave();
}

static struct debug_run *run_of_op(const struct op *op)
{
    struct debug_run *r = dbg.runs;
    while (r && r->op != op)
        r = r->next;
    return r;
}

bool debug_goes_on(struct op *op, bool ended)
{
    server_take();
    struct debug_run *r = run_of_op(op);
    bool on = r && !past_restarts() && past_replays() && !ended;
    while (r && past_restarts()) {
        on = past_restore(r);
        if (on && !r->worker)                  /* the cycle that somebody goes back to may be that of the moment */
            run_stop_cycle(op);
    }
    if (r && !on && past_replays())
        past_lost();
    run_every();
    server_leave();
    return on;
}

uint64_t debug_boundary(struct op *op)
{
    server_take();
    struct debug_run *r = run_of_op(op);
    uint64_t next = !r ? UINT64_MAX : past_restarts() ? 0 : past_boundary(r);
    run_every();
    server_leave();
    return next;
}

