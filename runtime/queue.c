/* The queues and the thread that works them off.
 *
 * Every stream is a FIFO of operations; streams with work form a ring. The simulation thread takes the next operation that may run: the
 * legacy stream's first, then round robin from the stream served last, higher priorities before lower ones. Copies, fills and records are
 * done on the spot (on the simulated GPU copies and fills end when their time is over: transfer.c); a launch joins the running grids, which take turns; host functions go to the callback thread, because they may
 * block on what another stream does.
 *
 * A thread that waits for the device does the simulation thread's work itself as long as that one has not begun: a short kernel followed
 * by a synchronisation then costs no change of threads. `driven` says that somebody is at it.
 *
 * On the simulated GPU time stands still while the host is busy: cycles pass only while a thread waits for the device, asks how far it is, or has done nothing
 * with CUDA for PATIENCE_NS though it had a processor, so that what is enqueued together starts together, and cycles do not depend on how fast the host is.
 *
 * An operation of the legacy stream waits for everything enqueued earlier in blocking streams of its context, and they for it: both
 * are comparisons of `seq`, since the head of a FIFO is its oldest unfinished operation.
 *
 * Longer than 600 lines; reason: order, waiting and driving share one set of variables, and nobody else may see them. */
#include <errno.h>
#include <fenv.h>
#include <string.h>
#include <time.h>

#include "runtime/checkpoint/host.h"
#include "runtime/nest.h"
#include "runtime/ring.h"

enum { MAX_PENDING = 16384 };
enum { POLL_NS = 100000 };                     /* cuStreamWaitValue: nobody tells when memory changes */

struct waiter {
    struct waiter *next;
    const struct rt_stream *stream;            /* NULL: the whole context */
    const struct rt_context *context;
    uint64_t seq;
    bool fifo_only;
    pthread_cond_t wake;
};

static uint64_t last_seq;
static size_t pending;                         /* operations in queues */
static struct waiter *waiters;

static pthread_t thread;
static bool thread_runs, thread_sleeps, quitting;
static unsigned pauses;                        /* streams_pause: nobody executes any */
static bool driven;                            /* one thread at a time executes operations: */
static pthread_t driver;
static pthread_cond_t work, room = PTHREAD_COND_INITIALIZER;
static VEC(struct op *) running;               /* launches that have begun */
static size_t turn;
static bool turn_first;                        /* it goes on before anything begins: a checkpoint was in its middle */
static size_t abandoned;
static size_t callbacks;                       /* host functions handed over and not finished */
static unsigned drivers;                       /* threads that wait, and drive meanwhile */
static bool asked;                             /* somebody asks how far the device is: one turn */
static uint64_t quiet_ns;                      /* how long the host has not enqueued, asked, or ended a wait, as far as it had a processor */
enum { LOOK_NS = 20000000, PATIENCE_NS = 10 * LOOK_NS };
static _Thread_local bool in_simulation;

bool streams_in_simulation(void) { return in_simulation; }
size_t streams_left(void) { return abandoned; }
uint64_t seq_next(void) { return ++last_seq; }

bool stream_idle(const struct rt_stream *s)
{
    return !s->head && ring_others_clear(s, last_seq) && !(host_replayed() && host_call_survives());
}

/* ---- waiting ---- */

static bool satisfied(const struct waiter *w)
{
    if (!w->stream)
        return ring_context_clear(w->context, w->seq);
    return fifo_clear(w->stream, w->seq) && (w->fifo_only || !w->stream->is_legacy || ring_others_clear(w->stream, w->seq));
}

static bool drive(void);

/* Whether simulated time may go on. */
static bool time_goes(void)
{
    if (!sim_on() || quitting || asked || pending >= MAX_PENDING || atomic_load(&the.leaving))
        return true;
    bool wanted = drivers != 0;
    for (const struct waiter *w = waiters; w && !wanted; w = w->next)
        wanted = !satisfied(w);
    return (wanted && !callbacks) || quiet_ns >= PATIENCE_NS;
}

/* Kernels or copies are there, and simulated time stands still. */
static bool frozen(void) { return (running.n || transfers_any()) && !time_goes(); }

void queue_ask(void)
{
    if (!sim_on() || driven || in_simulation || !thread_runs)
        return;
    if (host_watched()) {                      /* a checkpoint in that turn wants this thread at its next call, not inside this one */
        asked = true;
        if (thread_sleeps)
            pthread_cond_signal(&work);
        return;
    }
    fenv_t own;
    fegetenv(&own);
    fesetenv(FE_DFL_ENV);
    quiet_ns = 0;
    asked = true;
    while (asked && !driven && !quitting && drive())
        ;
    asked = false;
    fesetenv(&own);
}

/* The wait of a thread that has nothing else to do. The program's floating-point environment is not the device's. */
static void drive_until(const struct waiter *w)
{
    fenv_t own;
    fegetenv(&own);
    fesetenv(FE_DFL_ENV);
    drivers++;
    while (!satisfied(w) && !driven && !quitting && drive())
        ;
    drivers--;
    fesetenv(&own);
    if (!driven && ring && thread_sleeps)      /* what is left is the simulation thread's again */
        pthread_cond_signal(&work);
}

static void sleep_until(struct waiter *w)
{
    pthread_cond_init(&w->wake, NULL);
    w->next = waiters;
    waiters = w;
    while (!satisfied(w))
        pthread_cond_wait(&w->wake, &the.lock);
    for (struct waiter **at = &waiters; *at; at = &(*at)->next)
        if (*at == w) {
            *at = w->next;
            break;
        }
    pthread_cond_destroy(&w->wake);
}

static void waited(void)
{
    if (!host_watched())
        return;
    pthread_mutex_unlock(&the.lock);
    host_goes_on();
    pthread_mutex_lock(&the.lock);
}

static void wait_for(struct waiter *w)
{
    if (driven && pthread_equal(driver, pthread_self()))
        return;                                /* exit() in a signal handler, on top of what this thread was driving */
    if (host_watched())
        host_waits();
    if (!satisfied(w) && !driven && thread_runs)
        drive_until(w);
    if (!satisfied(w))
        sleep_until(w);
    quiet_ns = 0;
    waited();
}

void stream_wait(struct rt_stream *s) { wait_for(&(struct waiter){.stream = s, .seq = last_seq}); }
void context_wait(struct rt_context *c) { wait_for(&(struct waiter){.context = c, .seq = last_seq}); }

/* Work that nobody waited for ends with the process, as on a GPU. */
void context_wind_up(struct rt_context *c)
{
    if (atomic_load(&the.leaving) && !ring_context_clear(c, last_seq))
        context_poison(c, ST_DEINITIALIZED);
    context_wait(c);
}

void fifo_wait(struct rt_stream *s, uint64_t seq) { wait_for(&(struct waiter){.stream = s, .seq = seq, .fifo_only = true}); }

static void wake_waiters(void)
{
    for (struct waiter *w = waiters; w; w = w->next)
        if (satisfied(w))
            pthread_cond_signal(&w->wake);
}

/* ---- finishing ---- */

/* Of the host; no launch is complete with it: see nest_finish. */
static struct op *leave_stream(struct op *op)
{
    struct rt_stream *s = op->stream;
    s->head = op->next;
    if (!s->head) {
        s->tail = NULL;
        ring_remove(s);
        if (s->destroyed)
            object_free(s);
    }
    if (pending-- == MAX_PENDING)
        pthread_cond_broadcast(&room);
    return NULL;
}

static void finish(struct op *op)
{
    struct op *parent = op->stream->nested ? nest_finish(op) : leave_stream(op);
    if (op->kind == OP_RECORD) {
        record_happened(op->u.record, op->seq);
        event_unref(op->u.record);
    }
    if (op->kind == OP_LAUNCH && op->u.launch.params)
        params_put(op->u.launch.params, op->u.launch.nested ? op->u.launch.slot_bytes : op->u.launch.param_bytes, op->u.launch.nested);
    op_drop(op);
    if (parent)
        finish(parent);                        /* NEST_DEPTH times at most */
    else if (waiters)
        wake_waiters();
}

/* ---- threads ---- */

void streams_enter(void) { in_simulation = true; }

void call_finished(struct op *op)
{
    finish(op);
    callbacks--;
    queue_wake();
}

/* ---- the simulation thread ---- */

static void fail(struct rt_context *c, const struct error *e)
{
    log_error("%s", e->text);
    context_poison(c, e->status);
}

static void launch_begin(struct op *op)
{
    struct error e = {0};
    op->started = true;
    pthread_mutex_unlock(&the.lock);
    enum status st = grid_begin(op, &e);
    pthread_mutex_lock(&the.lock);
    if (st == ST_OK && !vec_push(&running, op)) {
        st = error_set(&e, ST_OUT_OF_MEMORY, "no host memory for a running kernel");
        grid_end(op);
    }
    if (st == ST_OK)
        return;
    if (host_watched())
        host_op_fault(op, st);
    fail(op->stream->context, &e);
    finish(op);
}

/* It enqueues, so that for a moment the thread may not wait for room, whichever it is. */
static void condition_turn(struct op *op, bool dropped)
{
    bool outer = in_simulation;
    in_simulation = op->started = true;
    pthread_mutex_unlock(&the.lock);
    bool again = !dropped && graph_condition_turn(op);
    if (!again)
        graph_condition_done(op);
    pthread_mutex_lock(&the.lock);
    in_simulation = outer;
    op->started = false;
    if (!again)
        finish(op);
}

static void graphs_begin(void)
{
    bool outer = in_simulation;
    in_simulation = true;
    while (graph_device_waits()) {
        pthread_mutex_unlock(&the.lock);
        graph_device_begin();
        pthread_mutex_lock(&the.lock);
    }
    in_simulation = outer;
}

static void run(struct op *op)
{
    struct rt_context *c = op->stream->context;
    bool dropped = context_status(c) != ST_OK;
    if (op->stream->nested)
        nest_begins(op);
    if (op->kind == OP_CALLBACK || (op->kind == OP_HOST && !dropped)) {
        op->started = true;
        callbacks++;
        quiet_ns = 0;
        if (!call_hand_over(op)) {
            callbacks--;
            fail(c, &(struct error){.status = ST_OUT_OF_MEMORY, .text = "no host memory for a host function"});
            finish(op);
        }
        return;
    }
    if (op->kind == OP_CONDITION) {
        condition_turn(op, dropped || host_replayed());        /* its bodies were kernels of the device alone */
        return;
    }
    if (op->kind == OP_LAUNCH && !dropped && !host_replayed()) {
        launch_begin(op);
        return;
    }
    if (op->kind == OP_LAUNCH && !dropped) {   /* of a replay */
        enum status st = host_op_skip(op);
        if (st != ST_OK)
            context_poison(c, st);
    }
    abandoned += op->kind == OP_LAUNCH && atomic_load(&the.leaving);
    bool slow = !dropped && (op->kind == OP_COPY || op->kind == OP_SET);
    if (slow || op->kind == OP_FREE) {
        op->started = true;
        pthread_mutex_unlock(&the.lock);
        op->kind == OP_FREE ? allocation_drop(op->u.allocation) : op_move(op);
        pthread_mutex_lock(&the.lock);
        if (slow && sim_on() && !host_replayed() && transfer_begin(op))
            return;
    } else if (op->kind == OP_WRITE_VALUE && !dropped) {
        op_value_write(op);
    }
    finish(op);
}

/* One turn of one running grid. */
static void run_turn(void)
{
    turn = turn < running.n ? turn : 0;
    turn_first = false;
    size_t at = turn;
    struct op *op = running.at[at];
    struct rt_context *c = op->stream->context;
    enum slice end = SLICE_DONE;
    if (context_status(c) == ST_OK) {          /* else another grid of the context has faulted: this one ends with it */
        pthread_mutex_unlock(&the.lock);
        end = grid_slice(op);
        pthread_mutex_lock(&the.lock);
    }
    if (end == SLICE_AGAIN) {
        turn++;
        return;
    }
    if (end == SLICE_FAULT) {
        if (host_watched())
            host_op_fault(op, grid_status(op));
        context_poison(c, grid_status(op));
    }
    memmove(running.at + at, running.at + at + 1, (--running.n - at) * sizeof *running.at);
    grid_end(op);
    if (nest_blocks_ended(op))                 /* else what they launched has not */
        finish(op);
}

/* What the last LOOK_NS say of the host: when its threads stood in line for a processor it was quiet for as long as they had one. */
static uint64_t was_quiet(void)
{
    static struct host_share before;
    struct host_share now = threads_share();
    bool starved = now.ready || now.starved_ns - before.starved_ns > LOOK_NS / 4;
    uint64_t ran = now.ran_ns - before.ran_ns;
    before = now;
    return starved && ran < LOOK_NS ? ran : LOOK_NS;
}

static void sleep_for_work(void)
{
    thread_sleeps = true;
    bool awaited = ring_value_awaited();
    if (awaited || frozen()) {
        uint64_t nap = awaited ? POLL_NS : LOOK_NS, until = now_ns() + nap;
        struct timespec t = {.tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000)};
        if (pthread_cond_timedwait(&work, &the.lock, &t) == ETIMEDOUT)
            quiet_ns += awaited ? nap : was_quiet();
    } else {
        pthread_cond_wait(&work, &the.lock);
    }
    thread_sleeps = false;
}

/* One operation, or one turn of a running grid. False: there was nothing to do. */
static bool drive(void)
{
    bool turns = pauses || (turn_first && running.n);
    bool graphs = !turns && graph_device_waits();
    struct op *op = turns || graphs ? NULL : nest_next(running.n);
    op = op || turns || graphs ? op : ring_pick();
    if (!op && !graphs && (pauses || !(running.n || transfers_any()) || !time_goes()))
        return false;
    asked &= op != NULL;
    driven = true;
    driver = pthread_self();
    struct op *ended = op || graphs || (turn_first && running.n) ? NULL : transfer_ended(!running.n);
    if (graphs)
        graphs_begin();
    else if (op)
        run(op);
    else if (ended)
        finish(ended);
    else
        run_turn();
    driven = false;
    if (quitting || pauses)
        pthread_cond_broadcast(&room);
    return true;
}

static void *simulate(void *unused)
{
    (void)unused;
    in_simulation = true;
    fesetenv(FE_DFL_ENV);                      /* the program may run with another rounding or without denormals (-ffast-math) */
    pthread_mutex_lock(&the.lock);
    while (!quitting)
        if (driven || !drive())
            sleep_for_work();
    pthread_mutex_unlock(&the.lock);
    return NULL;
}

static bool simulation_start(void)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&work, &attr);
    pthread_condattr_destroy(&attr);
    return thread_start(&thread, simulate);
}

static void wait_for_room(void)
{
    if (host_watched())
        host_waits_for_room();
    while (pending >= MAX_PENDING)
        pthread_cond_wait(&room, &the.lock);
    waited();
}

void op_push(struct op *op)
{
    struct rt_stream *s = op->stream;
    if ((pending >= MAX_PENDING || (host_replayed() && host_waited_for_room())) && !in_simulation)
        wait_for_room();
    op->seq = ++last_seq;
    quiet_ns = 0;
    if (host_watched())
        host_pushed(op);
    pending++;
    if (s->tail)
        s->tail->next = op;
    else
        s->head = op;
    s->tail = op;
    if (s->head == op)
        ring_add(s);
    if (!thread_runs) {
        thread_runs = simulation_start();
        if (!thread_runs)                      /* no thread to be had: the queue would never move */
            context_poison(s->context, ST_OUT_OF_MEMORY);
    }
    queue_wake();
}

/* Not for the simulation thread itself. */
void streams_pause(void)
{
    pthread_mutex_lock(&the.lock);
    pauses++;
    while (driven && !pthread_equal(driver, pthread_self()))
        pthread_cond_wait(&room, &the.lock);
    copies_hold();
}

void streams_resume(void)
{
    copies_let();
    if (--pauses == 0 && ring && thread_sleeps)
        pthread_cond_signal(&work);
    pthread_mutex_unlock(&the.lock);
}

/* ---- for checkpoints ---- */

void queue_each(void (*fn)(void *user, struct op *op), void *user)
{
    const struct rt_stream *t = ring;
    for (size_t n = ring_count(); n; n--, t = t->next_active)
        for (struct op *op = t->head; op; op = op->next)
            fn(user, op);
}

bool queue_turns(struct queue_turns *out)
{
    *out = (struct queue_turns){.turn = turn};
    bool good = true;
    const struct rt_stream *t = ring;
    for (size_t n = ring_count(); n; n--, t = t->next_active)
        good = vec_push(&out->streams, t->id) && good;
    for (size_t i = 0; i < running.n; i++)
        good = vec_push(&out->running, running.at[i]) && good;
    return good;
}

void queue_turns_free(struct queue_turns *t)
{
    vec_free(&t->streams);
    vec_free(&t->running);
}

void queue_turns_set(const struct queue_turns *in)
{
    ring_order(in->streams.at, in->streams.n);
    size_t n = 0;
    for (size_t i = 0; i < in->running.n; i++)
        for (size_t k = n; k < running.n; k++)
            if (running.at[k] == in->running.at[i]) {
                memmove(running.at + n + 1, running.at + n, (k - n) * sizeof running.at[0]);
                running.at[n++] = in->running.at[i];
                break;
            }
    turn = in->turn;
    turn_first = true;
}

bool queue_quiet(void) { return !running.n && !nest_any() && !transfers_any() && !driven; }

void queue_wake(void)
{
    if (thread_sleeps)
        pthread_cond_signal(&work);
}

void queue_settle(void)
{
    enum { NAP_NS = 100000 };
    pthread_mutex_lock(&the.lock);
    while (driven || callbacks || ring_pick()) {
        if (driven || callbacks) {
            pthread_mutex_unlock(&the.lock);
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
            pthread_mutex_lock(&the.lock);
        } else {
            (void)drive();
        }
    }
    pthread_mutex_unlock(&the.lock);
}

bool queue_callbacks_idle(void)
{
    pthread_mutex_lock(&the.lock);
    bool idle = !callbacks;
    pthread_mutex_unlock(&the.lock);
    return idle;
}

void queue_resume(struct op *op)
{
    if (!vec_push(&running, op))
        fail(op->stream->context, &(struct error){.status = ST_OUT_OF_MEMORY, .text = "no host memory for a running kernel"});
}

/* exit() may come from a signal handler, on top of a thread that holds the lock or drives: then things are left as they are. */
void streams_stop(void)
{
    enum { PATIENCE_S = 2 };
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    dispatch_quit();
    if (pthread_mutex_timedlock(&the.lock, &until) != 0)
        return;
    quitting = true;
    bool join = thread_runs && !pthread_equal(thread, pthread_self()), own = driven && pthread_equal(driver, pthread_self());
    pthread_cond_signal(&work);
    while (driven && !own)
        pthread_cond_wait(&room, &the.lock);
    pthread_mutex_unlock(&the.lock);
    if (join)
        pthread_join(thread, NULL);
    if (!own) {
        dispatch_stop();
        sim_stop();
    }
    const struct rt_stream *t = ring;
    for (size_t n = ring_count(); n; n--, t = t->next_active)
        for (const struct op *op = t->head; op; op = op->next)
            abandoned += op->kind == OP_LAUNCH;
}
