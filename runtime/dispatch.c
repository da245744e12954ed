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
 * never time, so that a run can be repeated. */
#include <fenv.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "emu/debug.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/warm.h"
#include "runtime/debug/debug.h"
#include "runtime/dispatch.h"
#include "timing/timing.h"

enum {
    QUANTUM_FREE = 1 << 20,                    /* warp instructions between looks at the stop flag, for kernels that cannot wait */
    QUANTUM_FIRST = 1 << 15, QUANTUM_SPIN = 1 << 11,
    PATIENCE = 16,                             /* first quanta in a row for a CTA that computes */
    SPIN_LANES = 4,                            /* fewer active lanes an instruction than this: spins */
    NEARER = 4,                                /* towards a halt: by this part of the rest each time, since a quantum counts loops alone; */
    CREEP_INSNS = 1 << 16,                     /* and the last of it one by one: some milliseconds */
    SHARE_FROM = 30000,                        /* warp instructions left that are worth waking helpers for: some 100 us */
    BATCH_INSNS = 4096, BATCH_MAX = 16,
    DEBUG_RESIDENTS = 64,                      /* CTAs at most that a debugger finds started: each takes memory */
};

struct worker {
    struct emu_worker *emu; pthread_t thread; sem_t start; int number; bool runs;
    uint64_t told;                             /* its count of instructions when it last added to a grid's live_insns */
};
static struct worker workers[MAX_WORKERS];
static int n_started;                          /* helpers that exist */
static sem_t all_done;
static atomic_int busy;
static bool woken;                             /* all_done will be posted once */
static struct grid_run *shared_run;
static atomic_bool quitting;

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

/* The lowest is kept for a debugger to look at, once all workers are done. */
static void note_apart(struct grid_run *r, struct worker *w, uint64_t index, struct emu_cta *cta, const struct emu_fault *f)
{
    struct emu_cta *other = cta;
    if (debug_fault_apart(r->op))
        f = NULL;
    pthread_mutex_lock(&r->fault_lock);
    if (f && index < atomic_load(&r->stop)) {
        other = r->faulted.cta;
        r->faulted = (struct resident){.cta = cta, .index = index};
        r->fault = *f;
        atomic_store(&r->stop, index);
    }
    pthread_mutex_unlock(&r->fault_lock);
    emu_cta_free(other, w->emu);
}

/* cta: that it happened in; NULL: none. A debugger may want it done again. True: cta is taken, and may be gone. */
static bool note_error(struct grid_run *r, struct worker *w, uint64_t index, struct emu_cta *cta, const struct emu_fault *f)
{
    if (debug_on() && cta && r->apart) {
        note_apart(r, w, index, cta, f);
        return true;
    }
    if (!debug_on() || !cta || debug_fault(cta, f))
        note_fault(r, index, f);
    return false;
}

static bool note_failure(struct grid_run *r, struct worker *w, uint64_t index, struct emu_cta *cta, const struct error *e)
{
    struct emu_fault f = {.status = e->status};
    memcpy(f.report, e->text, sizeof f.report < sizeof e->text ? sizeof f.report : sizeof e->text);
    f.report[sizeof f.report - 1] = 0;
    return note_error(r, w, index, cta, &f);
}

static bool note_deadlock(struct grid_run *r, struct worker *w, uint64_t index, struct emu_cta *cta)
{
    struct error e = {0};
    char who[900];
    emu_cta_explain(cta, who, sizeof who);
    error_set(&e, ST_LAUNCH_FAILED, "deadlock in %s: block number %llu can never go on\n%s", rt_function_name(r->function), (unsigned long long)index, who);
    return note_failure(r, w, index, cta, &e);
}

/* n instructions of a CTA, one by one: emu_cta_run ends only where loops close. */
static enum emu_result creep(const struct grid_run *r, struct emu_cta *cta, struct emu_worker *w, uint64_t n)
{
    while (n) {
        uint64_t before = n;
        for (uint32_t i = 0; i < r->warps * r->cluster_ctas && n; i++) {
            struct emu_event e;
            enum emu_result how = emu_warp_step(emu_cta_of_rank(cta, i / r->warps), w, i % r->warps, &e);
            if (how == EMU_FAULT || how == EMU_BREAK)
                return how;
            n -= how == EMU_YIELD;
        }
        enum emu_result how = n == before ? emu_cta_run(cta, w, 1) : EMU_YIELD;     /* nobody could go on: the engine knows why */
        if (how != EMU_YIELD)
            return how;
        n -= n == before;
    }
    return EMU_YIELD;
}

/* As creep, and what it touches is noted. Lanes that wait for others of their warp let them go on. */
static enum emu_result creep_noted(const struct grid_run *r, struct emu_cta *cta, struct emu_worker *w, uint64_t n)
{
    enum { WARPS = 1024 / 32 * 16 };           /* of a cluster */
    int32_t patience[WARPS] = {0};
    while (n) {
        uint64_t before = n;
        for (uint32_t i = 0; i < r->warps * r->cluster_ctas && i < WARPS && n; i++) {
            struct emu_event e;
            enum emu_result how = emu_debug_step(emu_cta_of_rank(cta, i / r->warps), w, i % r->warps, &patience[i], &e);
            if (how == EMU_FAULT || how == EMU_BREAK)
                return how;
            if (how == EMU_YIELD || e.insn)    /* DONE: its last one */
                warm_note(&e);
            n -= how == EMU_YIELD;
        }
        enum emu_result how = n == before ? emu_cta_run(cta, w, 1) : EMU_YIELD;
        if (how != EMU_YIELD)
            return how;
        n -= n == before;
    }
    return EMU_YIELD;
}

/* As emu_cta_run, but not beyond where the grid must halt: exactly there when this is the only worker. */
static enum emu_result cta_some(struct grid_run *r, struct worker *w, struct emu_cta *cta, int64_t quantum)
{
    bool noted = warm_on();
    if (r->halt_insns == UINT64_MAX)
        return noted ? creep_noted(r, cta, w->emu, (uint64_t)quantum) : emu_cta_run(cta, w->emu, quantum);
    struct emu_counters n;
    emu_worker_counters(w->emu, &n);
    uint64_t more = n.warp_insns - w->told, ran = atomic_fetch_add_explicit(&r->live_insns, more, memory_order_relaxed) + more;
    w->told = n.warp_insns;
    uint64_t rest = ran < r->halt_insns ? r->halt_insns - ran : 0, near = rest / NEARER + 1;
    bool exact = !r->halt_loosely && rest <= CREEP_INSNS;
    enum emu_result how = !rest ? EMU_YIELD : noted ? creep_noted(r, cta, w->emu, exact || near > (uint64_t)quantum ? (exact ? rest : (uint64_t)quantum) : near) : exact ? creep(r, cta, w->emu, rest) : emu_cta_run(cta, w->emu, near < (uint64_t)quantum ? (int64_t)near : quantum);
    if (how == EMU_YIELD && (!rest || exact)) {
        r->halt_reached = true;
        atomic_store(&r->halt, true);
    }
    return how;
}

/* The turn ends, and the blocks that have begun stay. */
static bool turn_ends(const struct grid_run *r) { return grid_halted(r) || r->crowded; }

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
    if (debug_on() && r->apart && debug_pauses())
        atomic_store_explicit(&r->pause, true, memory_order_relaxed);
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
    (void)note_failure(r, w, index, NULL, &e);
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
    (void)note_failure(r, w, index, NULL, &(struct error){.status = ST_OUT_OF_MEMORY, .text = "no host memory to put a block aside"});
}

static bool take_kept(struct grid_run *r, struct resident *out)
{
    pthread_mutex_lock(&r->fault_lock);
    bool any = r->residents.n && !grid_halted(r);
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
        enum emu_result how = cta_some(r, w, cta, QUANTUM_FREE);
        if ((how == EMU_FAULT && note_error(r, w, index, cta, emu_worker_fault(w->emu))) || (how == EMU_BLOCKED && note_deadlock(r, w, index, cta)))
            return true;
        if (how != EMU_YIELD || stopped(r, index))
            break;
        progress(r, w);
        if (grid_halted(r)) {
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
        struct emu_cta *cta = grid_halted(r) ? NULL : cta_make(r, w, index);
        if (cta)
            n += cta_whole(r, w, cta, index);
        else if (grid_halted(r))
            keep(r, w, NULL, index);
    }
    count_done(r, n);
    return n;
}

/* With a debugger: every resident lies still, and whoever is put back here goes on the same way. */
static void boundary(struct grid_run *r, const struct worker *w)
{
    struct emu_counters n;
    emu_worker_counters(w->emu, &n);
    if (n.warp_insns - r->boundary > r->gap)
        r->gap = n.warp_insns - r->boundary;
    r->boundary = n.warp_insns;
    if (n.warp_insns >= r->look_at)
        r->look_at = debug_boundary(r->op);
}

/* A turn of a CTA that may wait. True: it is still there. */
static bool cta_turn(struct grid_run *r, struct worker *w, struct resident *c, int patience)
{
    while (!stopped(r, c->index)) {
        struct emu_counters before, after;
        emu_worker_counters(w->emu, &before);
        enum emu_result how = cta_some(r, w, c->cta, c->quantum);
        if (how == EMU_FAULT)
            (void)note_error(r, w, c->index, c->cta, emu_worker_fault(w->emu));
        else if (how == EMU_BREAK && !debug_restarting())
            note_fault(r, c->index, emu_worker_fault(w->emu));
        else if (how == EMU_BLOCKED)
            (void)note_deadlock(r, w, c->index, c->cta);
        if (how != EMU_YIELD)
            return false;
        emu_worker_counters(w->emu, &after);
        uint64_t warp = after.warp_insns - before.warp_insns, thread = after.thread_insns - before.thread_insns;
        if (turn_ends(r))
            return true;
        bool spins = thread < warp * SPIN_LANES;
        if (spins)
            c->quantum = QUANTUM_SPIN;
        else if (patience == 0)
            c->quantum = c->quantum * 2 < QUANTUM_FIRST ? c->quantum * 2 : QUANTUM_FIRST;
        progress(r, w);
        if (debug_on() && !r->together && r->residents.n == 1)
            boundary(r, w);
        if (spins || grid_halted(r) || patience-- <= 0)
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
    bool may_share = w->number == 0 && !r->ordered && the.n_workers > 1 && (r->halt_insns == UINT64_MAX || r->halt_loosely);
    uint64_t ran = 0, batch = 1;
    struct emu_counters first, now;
    emu_worker_counters(w->emu, &first);
    for (struct resident c; take_kept(r, &c);) {
        if (!c.cta && !(c.cta = cta_make(r, w, c.index)))
            continue;
        count_done(r, cta_whole(r, w, c.cta, c.index));
    }
    while (!grid_halted(r)) {
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
        if (turn_ends(r) || cta_turn(r, w, c, 0))
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
    while (r->residents.n < r->residency && (next = atomic_load(&r->next)) < r->end && !stopped(r, next) && !turn_ends(r)) {
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
    if (next >= r->end || stopped(r, next) || grid_halted(r))
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
    r->boundary = r->turn_from.warp_insns;
    residents_turn(r, w);
    while (r->residents.n < most && start_next(r, w)) {
        struct resident *c = r->residents.n ? &r->residents.at[r->residents.n - 1] : NULL;
        if (!c || cta_turn(r, w, c, PATIENCE))
            continue;
        cta_end(r, w, c->cta);
        c->cta = NULL;
        residents_compact(r);
        if (!r->residents.n)
            boundary(r, w);
    }
    boundary(r, w);
}

static void work(struct grid_run *r, struct worker *w)
{
    struct emu_counters before, after;
    emu_worker_counters(w->emu, &before);
    w->told = before.warp_insns;
    if (w->number == 0)
        r->turn_from = before;
    if (r->ordered)
        emu_grid_set_clock(r->grid, w->emu, r->clock_from + atomic_load(&r->warp_insns));
    if (debug_on())
        emu_worker_hook(w->emu, debug_hook(r->apart));
    if (debug_on() && !r->apart)
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

static bool dispatch_ready(void)
{
    if (workers[0].emu)
        return true;
    if (sem_init(&all_done, 0, 0) != 0 || emu_worker_create(&workers[0].emu, NULL) != ST_OK)
        return false;
    return true;
}

struct emu_worker *dispatch_worker(void) { return dispatch_ready() ? workers[0].emu : NULL; }

/* A block that failed while others ran: with a debugger, which may look at it now. */
static void show_fault(struct grid_run *r)
{
    struct resident c = r->faulted;
    r->faulted.cta = NULL;
    if (!c.cta)
        return;
    if (vec_push(&r->residents, c))
        (void)debug_fault(c.cta, &r->fault);
    else
        emu_cta_free(c.cta, workers[0].emu);
}

void dispatch_turn(struct grid_run *r)
{
    atomic_store(&r->live_insns, atomic_load(&r->warp_insns));
    atomic_store(&r->pause, false);
    r->crowded = false;
    work(r, &workers[0]);
    helpers_join();
    show_fault(r);
}
