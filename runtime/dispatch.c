/* The dispatcher: CTAs of a running grid onto host threads.
 *
 * The simulation thread is worker 0; helpers sleep on a semaphore until a grid is worth sharing. CTAs are handed out in ctaid order. A CTA
 * belongs to the worker that started it. Kernels whose CTAs must not overlap in time for the same result (`ordered`) run on worker 0 alone; every
 * kernel that can wait for another CTA is among them.
 *
 * A kernel that cannot wait runs each CTA to its end. One that can gives a CTA a quantum; a CTA that is still
 * there afterwards stays resident while the next ones start, up to what the GPU would hold, and the residents take turns: so look-back chains,
 * grid barriers and handshakes finish. Whether a CTA that used up its quantum computes or spins shows in how many lanes its instructions
 * had: spinning is mostly done by one thread. Spinners get short turns, workers long ones. All of it counts instructions,
 * never time, so that a run can be repeated.
 *
 * (Longer than most files; reason: CTAs, workers and the begin and end of grids share the workers and the counters.) */
#include <fenv.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "emu/debug.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/debug/debug.h"
#include "runtime/dispatch.h"
#include "timing/timing.h"

enum {
    QUANTUM_FREE = 1 << 20,                    /* warp instructions between looks at the stop flag, for kernels that cannot wait */
    QUANTUM_FIRST = 1 << 15, QUANTUM_SPIN = 1 << 11,
    PATIENCE = 16,                             /* first quanta in a row for a CTA that computes */
    SPIN_LANES = 4,                            /* fewer active lanes an instruction than this: spins */
    SHARE_FROM = 30000,                        /* warp instructions left that are worth waking helpers for: some 100 us */
    BATCH_INSNS = 4096, BATCH_MAX = 16,
    DEBUG_RESIDENTS = 64,                      /* CTAs at most that a debugger finds started: each takes memory */
};

struct worker { struct emu_worker *emu; pthread_t thread; sem_t start; int number; bool runs; };
static struct worker workers[MAX_WORKERS];
static int n_started;                          /* helpers that exist */
static sem_t all_done;
static atomic_int busy;
static bool woken;                             /* all_done will be posted once */
static struct grid_run *shared_run;
static atomic_bool quitting;
static struct grid_run *free_runs;
static uint64_t next_grid_id, launches;
static uint64_t device_clock;                  /* warp instructions of all grids that ended: where %clock goes on */

void dispatch_quit(void) { atomic_store(&quitting, true); }

/* ---- one CTA ---- */

static void note_fault(struct grid_run *r, uint64_t index, const struct emu_fault *f)
{
    pthread_mutex_lock(&r->fault_lock);
    if (index < atomic_load(&r->stop)) {
        r->fault = *f;
        atomic_store(&r->stop, index);
    }
    pthread_mutex_unlock(&r->fault_lock);
}

/* cta: that it happened in; NULL: none. A debugger may want it done again. */
static void note_error(struct grid_run *r, uint64_t index, struct emu_cta *cta, const struct emu_fault *f)
{
    if (!debug_on() || !cta || debug_fault(cta, f))
        note_fault(r, index, f);
}

static void note_failure(struct grid_run *r, uint64_t index, struct emu_cta *cta, const struct error *e)
{
    struct emu_fault f = {.status = e->status};
    memcpy(f.report, e->text, sizeof f.report < sizeof e->text ? sizeof f.report : sizeof e->text);
    f.report[sizeof f.report - 1] = 0;
    note_error(r, index, cta, &f);
}

static void note_deadlock(struct grid_run *r, uint64_t index, struct emu_cta *cta)
{
    struct error e = {0};
    char who[900];
    emu_cta_explain(cta, who, sizeof who);
    error_set(&e, ST_LAUNCH_FAILED, "deadlock in %s: block number %llu can never go on\n%s", rt_function_name(r->function), (unsigned long long)index, who);
    note_failure(r, index, cta, &e);
}

static bool halted(const struct grid_run *r) { return atomic_load_explicit(&r->halt, memory_order_relaxed); }

/* Instructions that worker 0 may run before the grid must halt. */
static int64_t allowance(struct grid_run *r, const struct worker *w, int64_t quantum)
{
    if (r->halt_insns == UINT64_MAX)
        return quantum;
    struct emu_counters n;
    emu_worker_counters(w->emu, &n);
    uint64_t ran = r->insns_before + n.warp_insns;
    if (ran >= r->halt_insns)
        atomic_store(&r->halt, true);
    return ran >= r->halt_insns ? 0 : r->halt_insns - ran < (uint64_t)quantum ? (int64_t)(r->halt_insns - ran) : quantum;
}

static bool stopped(const struct grid_run *r, uint64_t index)
{
    return atomic_load_explicit(&quitting, memory_order_relaxed) || index > atomic_load_explicit(&r->stop, memory_order_relaxed) ||
           context_status(r->context) != ST_OK || (debug_on() && debug_restarting());
}

static void account(struct grid_run *r, const struct emu_counters *before, const struct emu_counters *after)
{
    atomic_fetch_add_explicit(&r->thread_insns, after->thread_insns - before->thread_insns, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->warp_insns, after->warp_insns - before->warp_insns, memory_order_relaxed);
}

static void count_done(struct grid_run *r, uint64_t ctas) { atomic_fetch_add_explicit(&r->done, ctas, memory_order_relaxed); }

static void cta_end(struct grid_run *r, struct worker *w, struct emu_cta *cta)
{
    emu_cta_free(cta, w->emu);
    count_done(r, 1);
    if (atomic_load_explicit(&r->done, memory_order_relaxed) >= r->halt_done)
        atomic_store(&r->halt, true);
}

static void progress(struct grid_run *r, const struct worker *w)
{
    if (checkpoint_wanted())
        atomic_store_explicit(&r->halt, true, memory_order_relaxed);
    if (w->number == 0)
        summary_progress(rt_function_name(r->function), atomic_load(&r->done), r->n_ctas, r->started_ns);
}

static struct emu_cta *cta_make(struct grid_run *r, struct worker *w, uint64_t index)
{
    struct emu_cta *cta;
    struct error e = {0};
    uint32_t n_sm = (uint32_t)r->context->device->facts->sm_count;
    if (emu_cta_start(&cta, r->grid, w->emu, index, (uint32_t)(index * r->cluster_ctas % n_sm), &e) == ST_OK)
        return cta;
    note_failure(r, index, NULL, &e);
    return NULL;
}

/* For later: a CTA that the halt caught half way, or before it started. Without memory for the note the CTA is lost, which is a fault. */
static void keep(struct grid_run *r, struct worker *w, struct emu_cta *cta, uint64_t index)
{
    struct resident c = {.cta = cta, .index = index, .quantum = QUANTUM_FREE};
    pthread_mutex_lock(&r->fault_lock);
    bool kept = vec_push(&r->residents, c);
    pthread_mutex_unlock(&r->fault_lock);
    if (kept)
        return;
    emu_cta_free(cta, w->emu);
    note_failure(r, index, NULL, &(struct error){.status = ST_OUT_OF_MEMORY, .text = "no host memory to put a block aside"});
}

static bool take_kept(struct grid_run *r, struct resident *out)
{
    pthread_mutex_lock(&r->fault_lock);
    bool any = r->residents.n && !halted(r);
    if (any) {
        *out = r->residents.at[0];
        memmove(r->residents.at, r->residents.at + 1, --r->residents.n * sizeof *r->residents.at);
    }
    pthread_mutex_unlock(&r->fault_lock);
    return any;
}

/* To the end, or to a halt; for kernels that cannot wait. True: it ended, which the caller counts. */
static bool cta_whole(struct grid_run *r, struct worker *w, struct emu_cta *cta, uint64_t index)
{
    for (;;) {
        int64_t quantum = allowance(r, w, QUANTUM_FREE);
        enum emu_result how = quantum ? emu_cta_run(cta, w->emu, quantum) : EMU_YIELD;
        if (how == EMU_FAULT)
            note_fault(r, index, emu_worker_fault(w->emu));
        else if (how == EMU_BLOCKED)
            note_deadlock(r, index, cta);
        if (how != EMU_YIELD || stopped(r, index))
            break;
        progress(r, w);
        if (halted(r)) {
            keep(r, w, cta, index);
            return false;
        }
    }
    emu_cta_free(cta, w->emu);
    return true;
}

/* CTAs from index up to end; how many were run. */
static uint64_t ctas_whole(struct grid_run *r, struct worker *w, uint64_t index, uint64_t end)
{
    uint64_t n = 0;
    for (; index < end && !stopped(r, index); index++) {
        struct emu_cta *cta = halted(r) ? NULL : cta_make(r, w, index);
        if (cta)
            n += cta_whole(r, w, cta, index);
        else if (halted(r))
            keep(r, w, NULL, index);
    }
    count_done(r, n);
    return n;
}

/* A turn of a CTA that may wait. True: it is still there. */
static bool cta_turn(struct grid_run *r, struct worker *w, struct resident *c, int patience)
{
    while (!stopped(r, c->index)) {
        struct emu_counters before, after;
        emu_worker_counters(w->emu, &before);
        int64_t quantum = allowance(r, w, c->quantum);
        if (!quantum)
            return true;
        enum emu_result how = emu_cta_run(c->cta, w->emu, quantum);
        if (how == EMU_FAULT)
            note_error(r, c->index, c->cta, emu_worker_fault(w->emu));
        else if (how == EMU_BREAK && !debug_restarting())
            note_fault(r, c->index, emu_worker_fault(w->emu));
        else if (how == EMU_BLOCKED)
            note_deadlock(r, c->index, c->cta);
        if (how != EMU_YIELD)
            return false;
        emu_worker_counters(w->emu, &after);
        uint64_t warp = after.warp_insns - before.warp_insns, thread = after.thread_insns - before.thread_insns;
        if (halted(r))
            return true;
        bool spins = thread < warp * SPIN_LANES;
        if (spins)
            c->quantum = QUANTUM_SPIN;
        else if (patience == 0)
            c->quantum = c->quantum * 2 < QUANTUM_FIRST ? c->quantum * 2 : QUANTUM_FIRST;
        progress(r, w);
        if (spins || halted(r) || patience-- <= 0)
            return true;
    }
    return false;
}

/* ---- one worker's part of a turn ---- */

static void helpers_wake(struct grid_run *r);

/* Tiny CTAs are taken several at a time; near the end one at a time, so that all workers finish together. */
static uint64_t batch_size(const struct grid_run *r, uint64_t insns_per_cta)
{
    uint64_t taken = atomic_load_explicit(&r->next, memory_order_relaxed);
    uint64_t left = taken < r->n_ctas ? r->n_ctas - taken : 0;
    uint64_t n = BATCH_INSNS / (insns_per_cta + 1) + 1, fair = left / (4 * (uint64_t)the.n_workers) + 1;
    if (n > BATCH_MAX)
        n = BATCH_MAX;
    return n < fair ? n : fair;
}

static void work_free(struct grid_run *r, struct worker *w)
{
    bool may_share = w->number == 0 && !r->ordered && the.n_workers > 1 && r->halt_insns == UINT64_MAX;
    uint64_t ran = 0, batch = 1;
    struct emu_counters first, now;
    emu_worker_counters(w->emu, &first);
    for (struct resident c; take_kept(r, &c);) {
        if (!c.cta && !(c.cta = cta_make(r, w, c.index)))
            continue;
        count_done(r, cta_whole(r, w, c.cta, c.index));
    }
    while (!halted(r)) {
        uint64_t index = atomic_fetch_add_explicit(&r->next, batch, memory_order_relaxed);
        uint64_t end = index + batch < r->end ? index + batch : r->end;
        if (index >= r->end)
            return;
        ran += ctas_whole(r, w, index, end);
        if (stopped(r, end - 1))
            return;
        emu_worker_counters(w->emu, &now);
        uint64_t each = (now.warp_insns - first.warp_insns) / (ran ? ran : 1);
        batch = batch_size(r, each);
        progress(r, w);
        if (may_share && (r->end - end) * each > SHARE_FROM) {
            helpers_wake(r);
            may_share = false;
        }
    }
}

static void residents_compact(struct grid_run *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->residents.n; i++)
        if (r->residents.at[i].cta)
            r->residents.at[kept++] = r->residents.at[i];
    r->residents.n = kept;
}

/* Gives every resident one turn. */
static void residents_turn(struct grid_run *r, struct worker *w)
{
    for (size_t i = 0; i < r->residents.n; i++) {
        struct resident *c = &r->residents.at[i];
        if (!c->cta && !(c->cta = cta_make(r, w, c->index)))
            continue;
        if (halted(r) || cta_turn(r, w, c, 0))
            continue;
        cta_end(r, w, c->cta);
        c->cta = NULL;
    }
    residents_compact(r);
}

/* Starts what fits, then gives every resident one turn. */
static void work_waiting(struct grid_run *r, struct worker *w)
{
    uint64_t next;                             /* moves on while CTAs run, too: see claim */
    while (r->residents.n < r->residency && (next = atomic_load(&r->next)) < r->end && !stopped(r, next) && !halted(r)) {
        struct resident c = {.index = next, .quantum = QUANTUM_FIRST};
        atomic_store(&r->next, next + 1);
        c.cta = cta_make(r, w, c.index);
        if (c.cta && !(cta_turn(r, w, &c, PATIENCE) && vec_push(&r->residents, c)))
            cta_end(r, w, c.cta);
    }
    residents_turn(r, w);
}

/* For a debugger, which finds all that runs in the list of residents: the next CTA goes there. False: there is none. */
static bool start_next(struct grid_run *r, struct worker *w)
{
    uint64_t next = atomic_load(&r->next);
    if (next >= r->end || stopped(r, next) || halted(r))
        return false;
    struct resident c = {.index = next, .quantum = QUANTUM_FIRST};
    atomic_store(&r->next, next + 1);
    c.cta = cta_make(r, w, c.index);
    if (c.cta && !vec_push(&r->residents, c))
        cta_end(r, w, c.cta);
    return true;
}

bool grid_start_more(struct op *op)
{
    struct grid_run *r = op->u.launch.run;
    bool any = false;
    while (!sim_on() && r->residents.n < r->residency && r->residents.n < DEBUG_RESIDENTS && start_next(r, &workers[0]))
        any = true;
    return any;
}

/* One CTA after the other, or all that may wait for each other; and those that the debugger had started. */
static void work_debugged(struct grid_run *r, struct worker *w)
{
    size_t most = r->together ? r->residency : 1;
    if (!vec_reserve(&r->residents, most > DEBUG_RESIDENTS ? most : DEBUG_RESIDENTS))      /* they stay where they are while one of them runs */
        return;
    residents_turn(r, w);
    while (r->residents.n < most && start_next(r, w)) {
        struct resident *c = r->residents.n ? &r->residents.at[r->residents.n - 1] : NULL;
        if (!c || cta_turn(r, w, c, PATIENCE))
            continue;
        cta_end(r, w, c->cta);
        c->cta = NULL;
        residents_compact(r);
    }
}

static void work(struct grid_run *r, struct worker *w)
{
    struct emu_counters before, after;
    emu_worker_counters(w->emu, &before);
    if (w->number == 0)
        r->insns_before = atomic_load(&r->warp_insns) - before.warp_insns;
    if (r->ordered)
        emu_grid_set_clock(r->grid, w->emu, r->clock_from + atomic_load(&r->warp_insns));
    if (debug_on())
        work_debugged(r, w);
    else if (r->waits)
        work_waiting(r, w);
    else
        work_free(r, w);
    emu_worker_counters(w->emu, &after);
    account(r, &before, &after);
}

/* ---- helpers ---- */

static void *help(void *user)
{
    struct worker *w = user;
    fesetenv(FE_DFL_ENV);                      /* as in queue.c */
    for (;;) {
        while (sem_wait(&w->start) != 0)
            ;
        if (!shared_run)
            return NULL;
        work(shared_run, w);
        if (atomic_fetch_sub(&busy, 1) == 1)
            sem_post(&all_done);
    }
}

static bool helper_start(struct worker *w)
{
    if (emu_worker_create(&w->emu, NULL) != ST_OK || sem_init(&w->start, 0, 0) != 0)
        return false;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    w->runs = pthread_create(&w->thread, NULL, help, w) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return w->runs;
}

/* At most once a turn. Helpers that cannot be had are done without. */
static void helpers_wake(struct grid_run *r)
{
    while (n_started < the.n_workers - 1) {
        struct worker *w = &workers[n_started + 1];
        w->number = n_started + 1;
        if (!helper_start(w)) {
            the.n_workers = n_started + 1;
            break;
        }
        n_started++;
    }
    uint64_t taken = atomic_load(&r->next), left = taken < r->end ? r->end - taken : 0;
    int n = left < (uint64_t)n_started ? (int)left : n_started;
    if (!n)
        return;
    shared_run = r;
    woken = true;
    atomic_store(&busy, n);
    for (int i = 1; i <= n; i++)
        sem_post(&workers[i].start);
}

static void helpers_join(void)
{
    while (woken && sem_wait(&all_done) != 0)
        ;
    woken = false;
    shared_run = NULL;
}

void dispatch_stop(void)
{
    shared_run = NULL;
    for (int i = 1; i <= n_started; i++)
        sem_post(&workers[i].start);
    for (int i = 1; i <= n_started; i++)
        pthread_join(workers[i].thread, NULL);
    n_started = 0;
}

/* ---- a grid's life ---- */

static bool dispatch_ready(void)
{
    if (workers[0].emu)
        return true;
    if (sem_init(&all_done, 0, 0) != 0 || emu_worker_create(&workers[0].emu, NULL) != ST_OK)
        return false;
    if (debug_on())
        emu_worker_hook(workers[0].emu, debug_hook());
    return true;
}

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
    r->ordered = f->ordered || the.n_workers == 1 || r->n_ctas == 1;
    r->waits = (f->can_wait && f->ordered) || o->cooperative;     /* waiting takes a strong load or an atomic with a result */
    r->together = r->waits;
    r->waits = r->waits || debug_on();         /* on one thread, for others than the host's */
    r->ordered = r->ordered || r->waits;
    uint64_t per_sm = function_ctas_per_sm(f, o->block[0] * o->block[1] * o->block[2], o->dynamic_shared_bytes);
    uint64_t most = (per_sm ? per_sm : 1) * c->device->facts->sm_count / r->cluster_ctas;
    r->residency = !most ? 1 : most < UINT32_MAX / 2 ? (uint32_t)most : UINT32_MAX / 2;
    r->end = r->n_ctas;
    r->halt_insns = r->halt_done = UINT64_MAX;
    atomic_store(&r->halt, false);
    r->workspace_at = 0;
    r->fault.status = ST_OK;
    r->started_ns = now_ns();
    r->spent_ns = 0;
    r->clock_from = device_clock;
}

static void residents_free(struct grid_run *r)
{
    for (size_t i = 0; i < r->residents.n; i++)
        emu_cta_free(r->residents.at[i].cta, workers[0].emu);
    r->residents.n = 0;
}

enum status grid_begin(struct op *op, struct error *err) { return grid_begin_from(op, NULL, err); }

enum status grid_begin_from(struct op *op, struct grid_state *from, struct error *err)
{
    struct launch_op *o = &op->u.launch;
    struct rt_function *f = o->function;
    struct rt_context *c = f->module->context;
    const struct rt_device_facts *d = c->device->facts;
    struct grid_run *r = dispatch_ready() ? run_new() : NULL;
    if (!r) {
        from_free(from);
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory to run %s", rt_function_name(f));
    }
    run_fill(r, o);
    r->from = from;
    r->number = from ? from->number : ++launches;
    r->grid_id = from ? from->grid_id : ++next_grid_id;
    struct emu_launch l = {
        .dynamic_shared_bytes = o->dynamic_shared_bytes, .params = (const void *)(uintptr_t)o->params, .param_bytes = o->param_bytes, .param_address = o->params,
        .grid_id = r->grid_id, .cooperative = o->cooperative,
        .n_sm = (uint32_t)d->sm_count, .max_warps_per_sm = (uint32_t)(d->max_threads_per_sm / d->warp_size), .sm = (uint32_t)d->sm,
        .max_shared_bytes = (uint32_t)function_shared_limit(f), .stack_bytes = (uint32_t)c->limits[RT_LIMIT_STACK], .policy = (uint8_t)(sim_on() ? sim_policy(c->device) : EMU_ITS), .parallel = !r->ordered,
        .host = {.user = c, .output = context_output, .heap_alloc = heap_alloc, .heap_free = heap_free, .time_ns = device_time},
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
    if (from && from->workspace_at)
        workspace_tell(r, &l, from->workspace_at);
    if (st == ST_OK)
        st = emu_grid_create(&r->grid, f->kernel, &l, err);
    if (st == ST_OK && from && (st = grid_take_up(r, err)) != ST_OK) {
        residents_free(r);
        emu_grid_free(r->grid);
    }
    if (st == ST_OK && sim_on() && (st = sim_start(c->device, r->grid, o, op->stream, &r->sim, err)) != ST_OK)
        emu_grid_free(r->grid);
    if (st != ST_OK) {
        run_free(r);
        return st;
    }
    o->run = r;
    if (debug_on())
        debug_launch(op, r->grid_id, sim_on() ? NULL : workers[0].emu);
    checkpoint_grid_begins(r);
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

/* A turn on the simulated GPU. */
static enum slice sim_turn(struct grid_run *r, uint64_t from)
{
    enum slice end = sim_slice(r->context->device, &r->sim);
    r->spent_ns += now_ns() - from;
    if (end == SLICE_FAULT) {
        r->fault = r->sim.fault;
        log_error("%s", r->fault.report);
    }
    atomic_store(&r->thread_insns, r->sim.thread_insns);
    atomic_store(&r->warp_insns, r->sim.warp_insns);
    atomic_store(&r->done, r->sim.ctas);
    return end;
}

/* From its first CTA on, for a debugger, which has seen to memory. */
static enum slice begin_anew(struct grid_run *r)
{
    residents_free(r);
    atomic_store(&r->next, 0);
    atomic_store(&r->done, 0);
    atomic_store(&r->stop, UINT64_MAX);
    atomic_store(&r->thread_insns, 0);
    atomic_store(&r->warp_insns, 0);
    r->fault.status = ST_OK;
    return SLICE_AGAIN;
}

enum slice grid_slice(struct op *op)
{
    struct grid_run *r = op->u.launch.run;
    uint64_t from = now_ns();
    if (debug_on())
        debug_turn(op);
    if (sim_on()) {
        enum slice end = sim_turn(r, from);
        if (debug_on() && end == SLICE_AGAIN)
            debug_cycle(op, timing_gpu_cycle(r->context->device->gpu));
        return end;
    }
    work(r, &workers[0]);
    helpers_join();
    r->spent_ns += now_ns() - from;
    if (debug_on() && debug_restarts(op))
        return begin_anew(r);
    if (atomic_load(&r->stop) != UINT64_MAX) {
        log_error("%s", r->fault.report);
        return SLICE_FAULT;
    }
    if (atomic_load(&r->next) > r->end)
        atomic_store(&r->next, r->end);        /* what several workers took beyond it */
    if (halted(r) || (r->end < r->n_ctas && atomic_load(&r->done) >= r->end))
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

struct emu_worker *dispatch_worker(void) { return dispatch_ready() ? workers[0].emu : NULL; }

enum status grid_status(const struct op *op) { return op->u.launch.run->fault.status; }

void grid_end(struct op *op)
{
    struct grid_run *r = op->u.launch.run;
    if (debug_on())
        debug_finished(op);
    residents_free(r);
    emu_grid_free(r->grid);
    device_clock += atomic_load(&r->warp_insns);
    summary_cycles(r->sim.cycles);
    summary_kernel(&(struct emu_counters){.thread_insns = atomic_load(&r->thread_insns), .warp_insns = atomic_load(&r->warp_insns), .ctas = atomic_load(&r->done) * r->cluster_ctas}, r->spent_ns);
    run_free(r);
}
