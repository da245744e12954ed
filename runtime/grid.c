/* The life of a grid: what a launch makes of it, its turns, its end. Which of its CTAs runs when is dispatch.c's affair. */
#include <stdlib.h>
#include <string.h>

#include "emu/debug.h"
#include "emu/snapshot.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/warm.h"
#include "runtime/debug/debug.h"
#include "runtime/dispatch.h"
#include "runtime/nest.h"
#include "timing/timing.h"

static struct grid_run *free_runs;
static VEC(struct grid_run *) on_gpus;         /* grids that run on simulated GPUs */
static uint64_t next_grid_id, launches;
static uint64_t device_clock;                  /* warp instructions of all grids that ended: where %clock goes on */

static struct grid_run *run_new(void)
{
    struct grid_run *r = free_runs;
    if (r) {
        free_runs = r->next_free;
        return r;
    }
    r = calloc(1, sizeof *r);
    if (r)
        pthread_mutex_init(&r->fault_lock, NULL);
    return r;
}

static void from_free(struct grid_state *from)
{
    if (from && from->free)
        from->free(from->user);
    free(from);
}

static void run_free(struct grid_run *r)
{
    if (r->workspace)
        allocation_drop(r->workspace);
    r->workspace = NULL;
    from_free(r->from);
    r->from = NULL;
    r->grid = NULL;
    r->next_free = free_runs;
    free_runs = r;
}

static void workspace_tell(struct grid_run *r, struct emu_launch *l, uint64_t at)
{
    r->workspace_at = at;
    l->envreg[1] = (uint32_t)(at >> 32);
    l->envreg[2] = (uint32_t)at;
}

/* Cooperative groups keep the grid barrier in a workspace whose address is in %envreg1 (high half) and %envreg2. */
static enum status workspace(struct grid_run *r, struct emu_launch *l, struct error *err)
{
    enum { WORKSPACE_BYTES = 1024 };
    struct allocation_request q = {.context = r->context, .device = r->context->device, .kind = RT_MEMORY_VARIABLE, .bytes = WORKSPACE_BYTES, .what = "grid workspace"};
    enum status st = allocation_make(&r->workspace, &q, err);
    if (st != ST_OK)
        return st;
    *(uint32_t *)(uintptr_t)r->workspace->base = WORKSPACE_BYTES;
    workspace_tell(r, l, r->workspace->base);
    return ST_OK;
}

/* The next CTA or cluster, to a kernel that does its work in place of it. Such kernels run on one thread. */
static bool claim(void *user, uint64_t *index)
{
    struct grid_run *r = user;
    *index = atomic_load(&r->next);
    if (*index >= r->n_ctas)
        return false;
    atomic_store(&r->next, *index + 1);
    atomic_fetch_add(&r->done, 1);
    return true;
}

static uint64_t device_time(void *context)
{
    return device_now_ns(((const struct rt_context *)context)->device);
}

static bool runs_again(void *context)
{
    (void)context;
    return debug_on() && debug_silent();
}

static void run_fill(struct grid_run *r, const struct launch_op *o)
{
    const struct rt_function *f = o->function;
    struct rt_context *c = f->module->context;
    r->context = c;
    r->function = o->function;
    r->cluster_ctas = o->cluster[0] * o->cluster[1] * o->cluster[2];
    r->n_ctas = (uint64_t)o->grid[0] * o->grid[1] * o->grid[2] / r->cluster_ctas;
    atomic_store(&r->next, 0);
    atomic_store(&r->done, 0);
    atomic_store(&r->stop, UINT64_MAX);
    atomic_store(&r->thread_insns, 0);
    atomic_store(&r->warp_insns, 0);
    r->ordered = f->ordered || the.n_workers == 1 || r->n_ctas == 1 || warm_on();
    r->waits = (f->can_wait && f->ordered) || o->cooperative;     /* waiting takes a strong load or an atomic with a result */
    r->together = r->waits;
    r->waits = r->waits || f->launches;        /* its blocks let those take turns that they launched */
    r->ordered = r->ordered || r->waits;
    uint64_t per_sm = function_ctas_per_sm(f, o->block[0] * o->block[1] * o->block[2], o->dynamic_shared_bytes);
    uint64_t most = (per_sm ? per_sm : 1) * c->device->facts->sm_count / r->cluster_ctas;
    r->residency = !most ? 1 : most < UINT32_MAX / 2 ? (uint32_t)most : UINT32_MAX / 2;
    r->end = r->n_ctas;
    r->halt_insns = r->halt_done = r->halt_cycle = UINT64_MAX;
    r->halt_loosely = true;
    r->halt_reached = false;
    r->warps = (o->block[0] * o->block[1] * o->block[2] + 31) / 32;
    r->crowded = false;
    atomic_store(&r->halt, false);
    r->faulted.cta = NULL;
    r->look_at = debug_on() ? 0 : UINT64_MAX;
    r->gap = 0;
    r->workspace_at = 0;
    r->fault.status = ST_OK;
    r->started_ns = now_ns();
    r->spent_ns = 0;
    r->clock_from = device_clock;
}

static void residents_free(struct grid_run *r)
{
    for (size_t i = 0; i < r->residents.n; i++)
        emu_cta_free(r->residents.at[i].cta, dispatch_worker());
    r->residents.n = 0;
}

enum status grid_begin(struct op *op, struct error *err) { return grid_begin_from(op, NULL, err); }

enum status grid_begin_from(struct op *op, struct grid_state *from, struct error *err)
{
    struct launch_op *o = &op->u.launch;
    struct rt_function *f = o->function;
    struct rt_context *c = f->module->context;
    const struct rt_device_facts *d = c->device->facts;
    struct grid_run *r = dispatch_worker() ? run_new() : NULL;
    if (!r) {
        from_free(from);
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory to run %s", rt_function_name(f));
    }
    run_fill(r, o);
    r->op = op;
    r->from = from;
    r->number = from ? from->number : ++launches;
    r->grid_id = from ? from->grid_id : ++next_grid_id;
    struct emu_launch l = {
        .dynamic_shared_bytes = o->dynamic_shared_bytes, .params = (const void *)(uintptr_t)o->params, .param_bytes = o->param_bytes, .param_address = o->params,
        .grid_id = r->grid_id, .cooperative = o->cooperative,
        .n_sm = (uint32_t)d->sm_count, .max_warps_per_sm = (uint32_t)(d->max_threads_per_sm / d->warp_size), .sm = (uint32_t)d->sm,
        .max_shared_bytes = (uint32_t)function_shared_limit(f), .stack_bytes = (uint32_t)c->limits[RT_LIMIT_STACK], .policy = (uint8_t)(sim_on() ? sim_policy(c->device) : EMU_ITS), .parallel = !r->ordered,
        .host = {.user = c, .output = context_output, .heap_alloc = heap_alloc, .heap_free = heap_free, .time_ns = device_time, .again = runs_again, .device = &nest_calls, .launcher = op, .graph = o->env ? graph_device_current(op) : 0},
    };
    memcpy(l.grid, o->grid, sizeof l.grid);
    memcpy(l.block, o->block, sizeof l.block);
    memcpy(l.cluster, o->cluster, sizeof l.cluster);
    l.explicit_cluster = o->explicit_cluster;
    if (r->waits && !sim_on()) {
        l.claim = claim;
        l.claim_user = r;
    }
    enum status st = o->cooperative && !from ? workspace(r, &l, err) : ST_OK;
    if (from && from->workspace_at) {
        r->workspace = allocation_at(from->workspace_at);
        workspace_tell(r, &l, from->workspace_at);
    }
    if (st == ST_OK)
        st = emu_grid_create(&r->grid, f->kernel, &l, err);
    if (st == ST_OK && from && (st = grid_take_up(r, err)) != ST_OK) {
        residents_free(r);
        emu_grid_free(r->grid);
    }
    if (st == ST_OK && sim_on() && (st = sim_start(c->device, r, o, op->stream, err)) != ST_OK)
        emu_grid_free(r->grid);
    if (st != ST_OK) {
        run_free(r);
        return st;
    }
    o->run = r;
    if (debug_on())
        debug_launch(op, r->grid_id, sim_on() ? NULL : dispatch_worker());
    checkpoint_grid_begins(r);
    if (sim_on() && !vec_push(&on_gpus, r))
        log_warn("no host memory: no checkpoint is taken in %s", rt_function_name(f));
    return ST_OK;
}

size_t grid_residents(const struct op *op, struct emu_cta **out, size_t n)
{
    const struct grid_run *r = op->u.launch.run;
    size_t count = 0;
    if (sim_on())
        return sim_residents(r->context->device, r->grid_id, out, n);
    for (size_t i = 0; i < r->residents.n; i++)
        if (r->residents.at[i].cta && count++ < n)
            out[count - 1] = r->residents.at[i].cta;
    return count;
}

struct grid_progress grid_progress(const struct op *op)
{
    const struct grid_run *r = op->u.launch.run;
    return (struct grid_progress){r->n_ctas * r->cluster_ctas, atomic_load(&r->done) * r->cluster_ctas, atomic_load(&r->next) * r->cluster_ctas};
}

/* Where it stands, as far as can be told. */
static void sim_look(struct grid_run *r)
{
    struct grid_state now;
    if (!sim_state(r, &now))
        return;
    atomic_store(&r->thread_insns, now.thread_insns);
    atomic_store(&r->warp_insns, now.warp_insns);
    atomic_store(&r->done, now.done);
    atomic_store(&r->next, now.next);
}

/* On the simulated GPU a checkpoint is taken between two windows, which is within some hundred cycles of what was asked for, and nothing is held up for it. */
static bool grid_due(struct grid_run *r)
{
    if (r->sim.done)
        return false;
    bool limits = (r->halt_insns & r->halt_done & r->halt_cycle) != UINT64_MAX || r->end < r->n_ctas;
    if (limits)
        sim_look(r);
    return grid_halted(r) || checkpoint_wanted() ||
           (limits && (atomic_load(&r->warp_insns) >= r->halt_insns || atomic_load(&r->done) >= r->halt_done || (r->end < r->n_ctas && atomic_load(&r->done) >= r->end) ||
                       sim_cycle(r->context->device) >= r->halt_cycle));
}

static struct grid_run *first_due(const struct device *d)
{
    for (size_t i = 0; i < on_gpus.n; i++)
        if (on_gpus.at[i]->context->device == d && grid_due(on_gpus.at[i]))
            return on_gpus.at[i];
    return NULL;
}

bool sim_due(void *device)
{
    bool back = debug_on() && debug_window(device);
    return back || (!(debug_on() && debug_silent()) && first_due(device));
}

static void sim_halt(struct device *d)
{
    struct grid_run *r = first_due(d);
    if (!r)
        return;
    sim_look(r);
    checkpoint_grid_halts(r);
}

/* A turn on the simulated GPU. */
static enum slice sim_turn(struct grid_run *r, uint64_t from)
{
    struct device *d = r->context->device;
    struct emu_cta *cta;
    enum slice end;
    bool back;
    do {
        if (!r->sim.done && !(debug_on() && debug_silent()))
            sim_halt(d);
        end = sim_slice(d, &r->sim);
        if (debug_on() && end == SLICE_AGAIN)
            debug_cycle(r->op, timing_gpu_cycle(d->gpu));
        if (debug_on() && end == SLICE_FAULT && grid_residents(r->op, &cta, 1))        /* a deadlock, which no warp told of */
            (void)debug_fault(cta, &r->sim.fault);
        back = debug_on() && debug_goes_on(r->op, r->sim.done);
    } while (end == SLICE_HALTED || back);
    r->spent_ns += now_ns() - from;
    if (end == SLICE_AGAIN)
        sim_progress(r);
    if (end == SLICE_FAULT) {
        r->fault = r->sim.fault;
        log_error("%s", r->fault.report);
    }
    if (end != SLICE_AGAIN) {
        atomic_store(&r->thread_insns, r->sim.thread_insns);
        atomic_store(&r->warp_insns, r->sim.warp_insns);
        atomic_store(&r->done, r->sim.ctas);
    }
    return end;
}

void grid_keep(const struct grid_run *r, struct sink *to)
{
    struct emu_counters now;
    emu_worker_counters(dispatch_worker(), &now);
    put_u64(to, nest_moment(r->op));
    put_u64(to, atomic_load(&r->next));
    put_u64(to, atomic_load(&r->done));
    put_u64(to, atomic_load(&r->thread_insns) + now.thread_insns - r->turn_from.thread_insns);
    put_u64(to, atomic_load(&r->warp_insns) + now.warp_insns - r->turn_from.warp_insns);
    emu_worker_save(dispatch_worker(), to);
    uint64_t n = 0;
    for (size_t i = 0; i < r->residents.n; i++)
        n += r->residents.at[i].cta != NULL;
    put_u64(to, n);
    for (size_t i = 0; i < r->residents.n; i++) {
        const struct resident *c = &r->residents.at[i];
        if (!c->cta)
            continue;
        put_u64(to, c->index);
        put_u64(to, (uint64_t)c->quantum);
        emu_cta_save(c->cta, dispatch_worker(), to);
    }
}

bool grid_put_back(struct grid_run *r, struct source *from)
{
    struct error err = {0};
    residents_free(r);
    atomic_store(&r->stop, UINT64_MAX);
    r->fault.status = ST_OK;
    nest_back(r->op, get_u64(from));
    atomic_store(&r->next, get_u64(from));
    atomic_store(&r->done, get_u64(from));
    atomic_store(&r->thread_insns, get_u64(from));
    atomic_store(&r->warp_insns, get_u64(from));
    (void)emu_worker_restore(dispatch_worker(), from);
    for (uint64_t n = get_u64(from); n; n--) {
        struct resident c = {.index = get_u64(from), .quantum = (int64_t)get_u64(from)};
        enum status st = emu_cta_restore(&c.cta, r->grid, dispatch_worker(), UINT32_MAX, from, &err);
        if (st == ST_OK && vec_push(&r->residents, c))
            continue;
        emu_cta_free(c.cta, dispatch_worker());
        r->fault.status = ST_OUT_OF_MEMORY;
        memcpy(r->fault.report, err.text, sizeof err.text);
        atomic_store(&r->stop, 0);
        return false;
    }
    return true;
}

enum slice grid_slice(struct op *op)
{
    struct grid_run *r = op->u.launch.run;
    uint64_t from = now_ns();
    if (debug_on())
        r->apart = debug_turn(op, !sim_on() && !r->ordered);
    if (sim_on())
        return sim_turn(r, from);
    for (dispatch_turn(r); debug_on() && debug_goes_on(op, atomic_load(&r->done) >= r->n_ctas); dispatch_turn(r))
        r->apart = false;
    r->spent_ns += now_ns() - from;
    if (atomic_load(&r->stop) != UINT64_MAX) {
        log_error("%s", r->fault.report);
        return SLICE_FAULT;
    }
    if (atomic_load(&r->next) > r->end)
        atomic_store(&r->next, r->end);        /* what several workers took beyond it */
    if (atomic_load(&r->halt) || (r->end < r->n_ctas && atomic_load(&r->done) >= r->end))
        checkpoint_grid_halts(r);
    return atomic_load(&r->done) >= r->n_ctas ? SLICE_DONE : SLICE_AGAIN;
}

struct dispatch_clock dispatch_clock(void) { return (struct dispatch_clock){device_clock, next_grid_id, launches}; }

void dispatch_clock_set(struct dispatch_clock c)
{
    device_clock = c.device_clock;
    next_grid_id = c.grid_id;
    launches = c.launches;
}

enum status grid_status(const struct op *op) { return op->u.launch.run->fault.status; }

void grid_end(struct op *op)
{
    struct grid_run *r = op->u.launch.run;
    if (debug_on())
        debug_finished(op);
    for (size_t i = 0; i < on_gpus.n; i++)
        if (on_gpus.at[i] == r)
            on_gpus.at[i--] = on_gpus.at[--on_gpus.n];
    residents_free(r);
    emu_grid_free(r->grid);
    device_clock += atomic_load(&r->warp_insns);
    summary_cycles(r->sim.cycles);
    checkpoint_grid_ends(r);
    summary_kernel(&(struct emu_counters){.thread_insns = atomic_load(&r->thread_insns), .warp_insns = atomic_load(&r->warp_insns), .ctas = atomic_load(&r->done) * r->cluster_ctas}, r->spent_ns);
    run_free(r);
}
