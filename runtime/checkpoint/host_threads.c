/* The threads of the program: who they are, whose turn it is, and how all of them come to stand still. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/checkpoint/host_internal.h"

enum { SLICE_NS = 5000000 };
_Thread_local struct host_me host_me;

bool host_inside(void) { return host_me.thread && host_me.depth > 0 && !host_me.waits; }
static void be_at(struct host_thread *t, enum whereabouts p) { __atomic_store_n(&t->place, p, __ATOMIC_SEQ_CST); }
static int place_of(const struct host_thread *t) { return __atomic_load_n(&t->place, __ATOMIC_SEQ_CST); }
static bool stopping(void) { return __builtin_expect(__atomic_load_n(&host.stopping, __ATOMIC_SEQ_CST), 0); }

static void tell(void)
{
    pthread_mutex_lock(&host.lock);
    pthread_cond_broadcast(&host.changed);
    pthread_mutex_unlock(&host.lock);
}

/* Under host.lock. */
static void wait_a_little(void)
{
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

/* ---- asleep ---- */

static bool read_sleep(int tid, uint64_t *switches)
{
    char path[64], line[200], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    while (fgets(line, sizeof line, f)) {
        (void)sscanf(line, "State: %c", &state);
        (void)sscanf(line, "voluntary_ctxt_switches: %lu", switches);
    }
    fclose(f);
    return state == 'S';
}

/* It sleeps, and has slept since it was asked for last. */
static bool sleeps_on(int tid, struct sleep *last)
{
    struct sleep now = {0};
    now.asleep = tid && read_sleep(tid, &now.switches);
    bool still = now.asleep && last->asleep && last->switches == now.switches;
    *last = now;
    return still;
}

static bool sleeps(struct host_thread *t) { return sleeps_on(t->tid, &t->sleep); }

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
        pthread_mutex_lock(&host.lock);
        host.active = false;
        if (host.threads.n > 1)
            pthread_cond_broadcast(&host.changed);
        pthread_mutex_unlock(&host.lock);
    }
}

/* ---- turns, replayed ---- */

static bool lent(uint16_t number)
{
    for (size_t i = 0; i < host.threads.n; i++)
        if (host.threads.at[i]->as == number && place_of(host.threads.at[i]) == WAITS)
            return true;
    return false;
}

/* While nobody is at it: to the next record that is some thread's. NULL: there is none. */
static const struct tape_head *advance(void)
{
    static const struct tape_head nothing_but_the_turn;        /* a call may end without a record */
    const char *contents;
    const struct tape_head *h = NULL;
    while (!host.returns && (h = host_peek(&contents))) {
        if (h->type == REC_TURN) {
            host.owner = h->number;
            host.returns = lent(host.owner);
        } else if (h->type == REC_CALL && host_open(host.calls + 1))
            host.calls++;
        else
            break;
        (void)host_next((enum record)h->type, &contents);
    }
    return host.returns ? &nothing_but_the_turn : h;
}

/* Under host.lock. */
static struct host_thread *thread_of(uint32_t number)
{
    for (size_t i = 0; i < host.threads.n; i++)
        if (host.threads.at[i]->number == number)
            return host.threads.at[i];
    return NULL;
}

/* Every thread is where it was at the checkpoint. */
static bool all_there(void)
{
    bool all = true;
    for (size_t i = 0; i < host.stood.n; i++) {
        struct host_thread *t = thread_of(host.stood.at[i].number);
        all = t && all && (place_of(t) == AT_GATE || (host.stood.at[i].outside && (t->gone || (place_of(t) == OUTSIDE && sleeps(t)))));
    }
    return all;
}

static const char *owner_name(void) { return host.owner - 1u < host.thread_names.n ? host.thread_names.at[host.owner - 1] : "?"; }

/* Its turn has not come for some time. Under host.lock, which it gives up for a while. *asleep: the thread whose turn it is does nothing, *last for that. */
static enum status wait_for_others(unsigned slices, struct sleep *last, bool *asleep)
{
    enum { SLICES_PER_S = 200, PATIENCE_S = 20, LAST_S = 60 };
    *asleep = false;
    wait_a_little();
    if (!host_replayed() || host.active || host.ending || !advance())
        return ST_OK;
    const struct host_thread *next = thread_of(host.owner);
    if (next && place_of(next) != OUTSIDE)
        return ST_OK;
    if (next && next->gone)
        return host_diverged("thread %s has ended, and at the checkpoint it made call %llu", owner_name(), (unsigned long long)host.calls + 1);
    *asleep = sleeps_on(next ? next->tid : thread_tid(owner_name()), last);
    if (slices == SLICES_PER_S * PATIENCE_S)
        log_warn("resume: call %llu was made by thread %s of the program, which %s; the others wait for it", (unsigned long long)host.calls + 1, owner_name(),
                 *asleep ? "waits for something else" : next ? "is busy with other things" : "has not come yet");
    if (*asleep && slices >= SLICES_PER_S * LAST_S)
        return host_diverged("call %llu was made by thread %s, which waits for another one now: threads of the program race for a lock in another order than they did",
                             (unsigned long long)host.calls + 1, owner_name());
    return ST_OK;
}

/* Where threads race for a lock around calls, as for the start of a library, another one may get it first than did then, and makes the calls of that one, which waits for
 * it. So a thread may take the turn of one that is asleep when it wants the very same call: at once where that one has made no call yet, else after a while. */
static bool stands_in(const struct host_thread *t, unsigned naps)
{
    enum { LONG = 60 };
    return !thread_of(host.owner) || t->as == host.owner || naps > LONG;
}

enum status host_gate(struct host_thread *t, const struct host_site *site, const uint64_t *words, unsigned n)
{
    enum status st = ST_OK;
    unsigned slices = 0, naps = 0;
    struct sleep last = {0};
    bool asleep = false;
    pthread_mutex_lock(&host.lock);
    be_at(t, AT_GATE);
    pthread_cond_broadcast(&host.changed);
    while (host_replayed() && st == ST_OK) {
        const struct tape_head *next = host.active ? NULL : advance();
        bool end = !host.active && !next;
        if (host.diverged) {
            st = ST_UNKNOWN;
        } else if (next && !host.returns && ((t->number && host.owner == t->number) || (naps && host_is_call(next, site, words, n) && stands_in(t, naps)))) {
            t->as = host.owner;
            host.active = true;
            host_me.hold = HOLDS_TURN;
            break;
        } else if (end && !host.ending && all_there()) {
            host.ending = true;
            pthread_mutex_unlock(&host.lock);
            st = host_finish_replay();
            pthread_mutex_lock(&host.lock);
            pthread_cond_broadcast(&host.changed);
        } else {
            st = wait_for_others(++slices, &last, &asleep);
            naps = asleep ? naps + 1 : 0;
        }
    }
    be_at(t, INSIDE);
    pthread_mutex_unlock(&host.lock);
    return st;
}

/* The tape says that the thread gave up its turn here, and others had theirs. */
static bool gave_up(enum yield how, uint32_t step)
{
    const char *contents;
    const struct tape_head *h = host_peek(&contents);
    return h && h->type == REC_TURN && h->flags == how && h->step == step;
}

static void turn_again(struct host_thread *t)
{
    bool asleep;
    struct sleep last = {0};
    pthread_mutex_lock(&host.lock);
    for (unsigned slices = 0; host_replayed() && !host.diverged; slices++) {
        if (!host.active && advance() && host.returns && host.owner == t->as)
            break;
        (void)(wait_for_others(slices, &last, &asleep) == ST_OK);   /* else host.diverged tells all of them */
    }
    host.active = true;
    host.returns = false;
    be_at(t, INSIDE);
    pthread_mutex_unlock(&host.lock);
}

/* ---- waiting ---- */

/* A thread that waits may execute kernels, which is no doing of the program's. */
static void wait_as(enum yield how, uint32_t step)
{
    struct host_thread *t = host_me.thread;
    bool replayed = host_replayed();
    host_me.waits = true;
    if (host_me.hold != HOLDS_TURN || (replayed && !gave_up(how, step)))
        return;
    host_me.hold = LENT_TURN;
    be_at(t, WAITS);
    if (!replayed) {
        turn_yield(how, step);
        if (stopping())
            tell();
        return;
    }
    pthread_mutex_lock(&host.lock);
    host.active = false;
    pthread_cond_broadcast(&host.changed);
    pthread_mutex_unlock(&host.lock);
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

bool host_waited_for_room(void) { return host_replayed() && host_inside() && host_me.hold == HOLDS_TURN && gave_up(YIELD_FULL, host_me.thread->step); }

void host_goes_on(void)
{
    if (!host_me.waits)
        return;
    host_me.waits = false;
    if (host_me.hold != LENT_TURN)
        return;
    if (host_replayed())
        turn_again(host_me.thread);
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
        int p = place_of(t);
        all = all && (t->gone || p == WAITS || p == AT_GATE || (p == OUTSIDE && host.threads.n > 1 && sleeps(t)));
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
        wait_a_little();
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
        if (place_of(t) != WAITS || t->gone)
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
