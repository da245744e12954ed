/* The threads of the program: who they are, whose turn it is, and how all of them come to stand still. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/checkpoint/host_internal.h"

_Thread_local struct host_me host_me;

bool host_inside(void) { return host_me.thread && host_me.depth > 0 && !host_me.waits; }
static void be_at(struct host_thread *t, enum whereabouts p) { __atomic_store_n(&t->place, p, __ATOMIC_SEQ_CST); }
int host_place(const struct host_thread *t) { return __atomic_load_n(&t->place, __ATOMIC_SEQ_CST); }
static bool stopping(void) { return __builtin_expect(__atomic_load_n(&host.stopping, __ATOMIC_SEQ_CST), 0); }

static void tell(void)
{
    pthread_mutex_lock(&host.lock);
    pthread_cond_broadcast(&host.changed);
    pthread_mutex_unlock(&host.lock);
}

void host_wait_a_little(void)
{
    enum { SLICE_NS = 5000000 };
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += SLICE_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&host.changed, &host.lock, &until);
}

/* ---- who they are ---- */

static pthread_key_t ending;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool have_key;

static void thread_ends(void *t)
{
    pthread_mutex_lock(&host.lock);
    ((struct host_thread *)t)->gone = true;
    pthread_cond_broadcast(&host.changed);
    pthread_mutex_unlock(&host.lock);
}

static void make_key(void) { have_key = pthread_key_create(&ending, thread_ends) == 0; }

static uint16_t number_of(const char *name)
{
    for (size_t i = 0; *name && i < host.thread_names.n; i++)
        if (strcmp(host.thread_names.at[i], name) == 0)
            return (uint16_t)(i + 1);
    return 0;
}

struct host_thread *host_thread(void)
{
    if (host_me.known)
        return host_me.thread;
    host_me.known = true;
    struct host_thread *t = streams_in_simulation() ? NULL : calloc(1, sizeof *t);     /* host functions are none of the program's threads */
    if (!t)
        return NULL;
    snprintf(t->name, sizeof t->name, "%s", thread_name());
    t->tid = (int)syscall(SYS_gettid);
    pthread_once(&once, make_key);
    if (have_key)
        (void)pthread_setspecific(ending, t);
    pthread_mutex_lock(&host.lock);
    t->number = host_replayed() ? number_of(t->name) : 0;
    if (vec_push(&host.threads, t))
        host_me.thread = t;
    pthread_mutex_unlock(&host.lock);
    if (!host_me.thread)
        free(t);
    else if (!*t->name)
        host_spoil("a thread that pthread_create did not make calls CUDA, and could not be told from others");
    return host_me.thread;
}

/* ---- turns, recorded ---- */

static void stand(struct host_thread *t, enum whereabouts p)
{
    pthread_mutex_lock(&host.lock);
    while (stopping()) {
        be_at(t, p);
        pthread_cond_broadcast(&host.changed);
        pthread_cond_wait(&host.changed, &host.lock);
    }
    pthread_mutex_unlock(&host.lock);
}

static void turn_begin(struct host_thread *t, enum whereabouts from)
{
    if (pthread_mutex_trylock(&host.turn) != 0) {
        be_at(t, from);
        pthread_mutex_lock(&host.turn);
    }
    /* Nobody takes a thread for standing until it says so: the order of these does not matter. */
    __atomic_store_n(&t->place, INSIDE, __ATOMIC_RELAXED);
    if (__builtin_expect(__atomic_load_n(&host.stopping, __ATOMIC_RELAXED), 0)) {
        stand(t, from);
        be_at(t, INSIDE);
    }
    host_me.hold = HOLDS_TURN;
    if (host_mode() != HOST_RECORDED || (t->number && host.owner == t->number))
        return;
    if (!t->number) {
        if (host.numbers == UINT16_MAX) {
            host_spoil("more than 65535 threads call CUDA");
            return;
        }
        t->number = ++host.numbers;
        tape_put(host.tape, &(struct tape_head){.type = REC_THREAD, .number = t->number, .bytes = strlen(t->name) + 1}, t->name);
    }
    tape_put(host.tape, &(struct tape_head){.type = REC_TURN, .flags = (uint8_t)host.yielded, .number = t->number, .step = host.yielded_step}, NULL);
    host.owner = t->number;
}

static void turn_yield(enum yield how, uint32_t step)
{
    host.yielded = how;
    host.yielded_step = step;
    pthread_mutex_unlock(&host.turn);
}

void host_turn_take(struct host_thread *t) { turn_begin(t, AT_GATE); }

void host_turn_end(struct host_thread *t)
{
    enum hold held = host_me.hold;
    host_me.hold = HOLDS_NOTHING;
    __atomic_store_n(&t->place, OUTSIDE, __ATOMIC_RELAXED);
    if (held == HOLDS_TURN && !host_replayed()) {
        turn_yield(YIELD_LEAVES, 0);
    } else if (held == HOLDS_TURN) {
        host_turn_over(t, false);
    }
}

/* ---- waiting ---- */

/* A thread that waits may execute kernels, which is no doing of the program's. */
static void wait_as(enum yield how, uint32_t step)
{
    struct host_thread *t = host_me.thread;
    bool replayed = host_replayed();
    host_me.waits = true;
    if (host_me.hold != HOLDS_TURN || (replayed && !host_gave_up(t, how, step)))
        return;
    host_me.hold = LENT_TURN;
    be_at(t, WAITS);
    if (replayed) {
        host_turn_over(t, true);
        return;
    }
    turn_yield(how, step);
    if (stopping())
        tell();
}

void host_waits(void)
{
    if (host_inside())
        wait_as(YIELD_WAITS, ++host_me.thread->waits);
}

void host_waits_for_room(void)
{
    if (host_inside())
        wait_as(YIELD_FULL, host_me.thread->step);
}

bool host_waited_for_room(void)
{
    return host_replayed() && host_inside() && host_me.hold == HOLDS_TURN && host_gave_up(host_me.thread, YIELD_FULL, host_me.thread->step);
}

void host_goes_on(void)
{
    if (!host_me.waits)
        return;
    host_me.waits = false;
    if (host_me.hold != LENT_TURN)
        return;
    if (host_replayed())
        host_turn_again(host_me.thread);
    else
        turn_begin(host_me.thread, WAITS);
    host_me.hold = HOLDS_TURN;
}

/* ---- standing still ---- */

/* A program of one thread is waited for. Of several, some may sleep until others let them go on. */
static bool still(void)
{
    bool all = true;
    for (size_t i = 0; i < host.threads.n; i++) {
        struct host_thread *t = host.threads.at[i];
        int p = host_place(t);
        all = all && (t->gone || p == WAITS || p == AT_GATE || (p == OUTSIDE && host.threads.n > 1 && thread_sleeps_on(t->tid, &t->sleep)));
    }
    return all;
}

enum stillness { STILL, BUSY /* a host function is at work, and may be for as long as the host stands */, RESTLESS };

/* Under host.lock, after some seconds at the latest. */
static enum stillness wait_until_still(void)
{
    enum { SLICES = 2000, BUSY_SLICES = 4 };
    for (int i = 0, busy = 0; i < SLICES; i++) {
        if (still()) {
            pthread_mutex_unlock(&host.lock);
            bool idle = queue_callbacks_idle();
            pthread_mutex_lock(&host.lock);
            if (idle)
                return STILL;
            if (busy++ == BUSY_SLICES)
                return BUSY;
        }
        if (atomic_load(&the.leaving))
            return RESTLESS;
        host_wait_a_little();
    }
    return RESTLESS;
}

struct count { uint64_t call; uint32_t n; };

static void count_own(void *user, struct op *op)
{
    struct count *c = user;
    c->n += op->call == c->call && op->kind != OP_LAUNCH;
}

static void find_condition(void *user, struct op *op) { *(bool *)user |= op->kind == OP_CONDITION; }

/* Kernels decide what a condition enqueues, and it is no call's. */
static bool condition_under_way(void)
{
    bool any = false;
    pthread_mutex_unlock(&host.lock);
    pthread_mutex_lock(&the.lock);
    queue_each(find_condition, &any);
    pthread_mutex_unlock(&the.lock);
    pthread_mutex_lock(&host.lock);
    return any;
}

/* A thread waits in a call that cannot be made again: one of which something has happened that is not an operation still in its queue. Under host.lock. */
static bool in_the_middle(void)
{
    bool any = false;
    for (size_t i = 0; i < host.threads.n; i++) {
        const struct host_thread *t = host.threads.at[i];
        struct count c = {.call = t->call};
        if (host_place(t) != WAITS || t->gone)
            continue;
        pthread_mutex_unlock(&host.lock);
        pthread_mutex_lock(&the.lock);
        queue_each(count_own, &c);
        pthread_mutex_unlock(&the.lock);
        pthread_mutex_lock(&host.lock);
        any = any || t->said || c.n != t->step;
    }
    return any;
}

enum status host_stop(struct error *err)
{
    if (host_mode() != HOST_RECORDED)
        return error_set(err, ST_NOT_SUPPORTED, "the calls of this run are not recorded");
    pthread_mutex_lock(&host.lock);
    __atomic_store_n(&host.stopping, true, __ATOMIC_SEQ_CST);
    enum stillness how = wait_until_still();
    bool middle = how == STILL && in_the_middle(), condition = how == STILL && condition_under_way();
    enum status st = tape_error(host.tape, err);
    if (st == ST_OK)
        st = tape_error(host.op_tape, err);
    if (host.spoiled)
        st = error_set(err, ST_NOT_SUPPORTED, "a checkpoint of this run cannot be resumed with its program: %s", host.spoiled);
    else if (condition)
        st = error_set(err, ST_NOT_SUPPORTED, "a checkpoint here cannot be resumed with its program: a graph with conditional nodes, or one whose kernels launch graphs, is under way");
    else if (how == RESTLESS && atomic_load(&the.leaving))
        st = error_set(err, ST_NOT_SUPPORTED, "the program is ending");
    else if (how == RESTLESS)
        st = error_set(err, ST_NOT_SUPPORTED, "a checkpoint here could not be resumed with its program, which computes for seconds without a call of CUDA: "
                                              "it may be talking to the running kernel through shared memory");
    else if (st == ST_OK && how == BUSY)
        st = error_set(err, ST_NOT_READY, "a host function of the program is at work");
    else if (st == ST_OK && middle)
        st = error_set(err, ST_NOT_READY, "the program is in the middle of a call");
    pthread_mutex_unlock(&host.lock);
    if (st != ST_OK)
        host_let_go();
    return st;
}

void host_let_go(void)
{
    pthread_mutex_lock(&host.lock);
    __atomic_store_n(&host.stopping, false, __ATOMIC_SEQ_CST);
    pthread_cond_broadcast(&host.changed);
    pthread_mutex_unlock(&host.lock);
}
