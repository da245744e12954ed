/* Calls: on the tape and held against it; and where the host stands still for a checkpoint. */
#include "runtime/checkpoint/host_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/hello.h"

int host_mode_now = HOST_FREE;
struct host host = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

enum role { UNKNOWN, THE_HOST, ANOTHER, OURS };            /* OURS: host functions run there; CUDA refuses nearly all of their calls */
enum whereabouts { OUTSIDE, INSIDE, WAITS, AT_GATE };            /* of the host thread, as to calls */
static _Thread_local struct { enum role role; int depth; bool waits; } me;

/* A thread that waits may execute kernels, which is no doing of the host's. */
bool host_inside(void) { return me.role == THE_HOST && me.depth > 0 && !me.waits; }
uint64_t host_key(uint64_t call, uint32_t step) { return call << 20 | step; }

static void be_at(enum whereabouts p) { __atomic_store_n(&host.place, p, __ATOMIC_SEQ_CST); }
static bool stopping(void) { return __atomic_load_n(&host.stopping, __ATOMIC_SEQ_CST); }

static enum role role(void)
{
    if (me.role != UNKNOWN)
        return me.role;
    pthread_mutex_lock(&host.lock);
    me.role = streams_in_simulation() ? OURS : host.taken ? ANOTHER : THE_HOST;
    if (me.role == THE_HOST)
        host.taken = true;
    pthread_mutex_unlock(&host.lock);
    if (me.role == ANOTHER)
        host_spoil("it calls CUDA from several threads, and in which order is not recorded");
    return me.role;
}

void host_spoil(const char *why)
{
    if (host_mode() != HOST_RECORDED)
        return;
    pthread_mutex_lock(&host.lock);
    host.spoiled = host.spoiled ? host.spoiled : why;
    pthread_mutex_unlock(&host.lock);
}

/* ---- standing still ---- */

/* Stays at `p` while a checkpoint is made. */
static void stand(enum whereabouts p)
{
    pthread_mutex_lock(&host.lock);
    while (stopping()) {
        be_at(p);
        pthread_cond_broadcast(&host.changed);
        pthread_cond_wait(&host.changed, &host.lock);
    }
    be_at(INSIDE);
    pthread_mutex_unlock(&host.lock);
}

void host_waits(void)
{
    if (!host_inside())
        return;
    me.waits = true;
    be_at(WAITS);
    if (stopping()) {
        pthread_mutex_lock(&host.lock);
        pthread_cond_broadcast(&host.changed);
        pthread_mutex_unlock(&host.lock);
    }
}

void host_goes_on(void)
{
    if (!me.waits)
        return;
    me.waits = false;
    be_at(INSIDE);
    if (stopping())
        stand(WAITS);
}

static bool still(void)
{
    int p = __atomic_load_n(&host.place, __ATOMIC_SEQ_CST);
    return p == WAITS || p == AT_GATE;
}

enum stillness { STILL, BUSY /* a host function is at work, and may be for as long as the host stands */, RESTLESS };

/* Under host.lock, after some seconds at the latest. */
static enum stillness wait_until_still(void)
{
    enum { SLICE_NS = 5000000, SLICES = 2000, BUSY_SLICES = 4 };
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
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += SLICE_NS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&host.changed, &host.lock, &until);
    }
    return RESTLESS;
}

static void count_own(void *count, struct op *op)
{
    if (op->call == host.calls && op->kind != OP_LAUNCH)
        ++*(uint32_t *)count;
}

/* Operations of the present call that wait in queues. A call of which nothing has happened can be made again, and enqueues them again: it counts as not begun. */
static uint32_t count_left(void)
{
    uint32_t n = 0;
    pthread_mutex_unlock(&host.lock);
    pthread_mutex_lock(&the.lock);
    queue_each(count_own, &n);
    pthread_mutex_unlock(&the.lock);
    pthread_mutex_lock(&host.lock);
    return n;
}

enum status host_stop(struct error *err)
{
    if (host_mode() != HOST_RECORDED)
        return error_set(err, ST_NOT_SUPPORTED, "the calls of this run are not recorded");
    pthread_mutex_lock(&host.lock);
    __atomic_store_n(&host.stopping, true, __ATOMIC_SEQ_CST);
    enum stillness how = wait_until_still();
    uint32_t left = how == STILL ? count_left() : 0;
    enum status st = tape_error(host.tape, err);
    if (st == ST_OK)
        st = tape_error(host.op_tape, err);
    if (host.spoiled)
        st = error_set(err, ST_NOT_SUPPORTED, "a checkpoint of this run cannot be resumed with its program: %s", host.spoiled);
    else if (how == RESTLESS && atomic_load(&the.leaving))
        st = error_set(err, ST_NOT_SUPPORTED, "the program is ending");
    else if (how == RESTLESS)
        st = error_set(err, ST_NOT_SUPPORTED, "a checkpoint here could not be resumed with its program, which computes for seconds without a call of CUDA: "
                                              "it may be talking to the running kernel through shared memory");
    else if (st == ST_OK && how == BUSY)
        st = error_set(err, ST_NOT_READY, "a host function of the program is at work");
    else if (st == ST_OK && host.place == WAITS && (host.said || left != host.step))
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

uint64_t host_calls_over(void) { return host.place == AT_GATE ? host.calls : host.calls - 1; }

/* ---- a recorded call ---- */

static void name_site(struct host_site *site)
{
    size_t a = strlen(site->symbol) + 1, b = strlen(site->args) + 1;
    struct tape_head h = {.type = REC_NAME, .number = ++host.sites, .bytes = a + b};
    tape_open(host.tape, &h);
    tape_add(host.tape, site->symbol, a);
    tape_add(host.tape, site->args, b);
    tape_close(host.tape);
    site->number = h.number;
}

static void record_call(struct host_site *site, const uint64_t *words, unsigned n)
{
    if (!site->number)
        name_site(site);
    enum { MOST = 16 };
    uint64_t all[MOST + 1];
    n = n < MOST ? n : MOST;
    for (unsigned i = 0; i < n; i++)
        all[i] = words[i];
    all[n] = host.before;
    tape_put(host.tape, &(struct tape_head){.type = REC_CALL, .number = site->number, .bytes = (n + 1) * sizeof *words}, all);
}

/* ---- a replayed call ---- */

enum status host_diverged(const char *fmt, ...)
{
    if (host.diverged)
        return ST_UNKNOWN;
    host.diverged = true;
    char what[700];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    log_error("resume: the program does not do what it did up to the checkpoint: %s\n"
              "hint: its arguments, input files and environment must be the same, and time, random numbers and addresses must not matter", what);
    hello_failed();
    pthread_mutex_lock(&host.lock);
    pthread_cond_broadcast(&host.changed);     /* to other threads that wait for the end of the replay */
    pthread_mutex_unlock(&host.lock);
    return ST_UNKNOWN;
}

const struct tape_head *host_peek(const char **contents)
{
    const struct tape_head *h;
    uint64_t next;
    while ((h = tape_record(host.bytes, host.n, host.at, &next))) {
        if (h->type != REC_NAME && h->type != REC_OP_COPY && h->type != REC_OP_FAULT)
            break;
        host.at = next;
    }
    *contents = h ? (const char *)(h + 1) : NULL;
    return h;
}

const struct tape_head *host_next(enum record type, const char **contents)
{
    const struct tape_head *h = host_peek(contents);
    if (!h || h->type != type)
        return NULL;
    (void)tape_record(host.bytes, host.n, host.at, &host.at);
    return h;
}

/* The k-th of "bytes, flags". */
static int arg_name(const char *args, unsigned k, const char **at)
{
    for (; k && *args; k--)
        args += strcspn(args, ",") + (args[strcspn(args, ",")] != 0);
    *at = args + strspn(args, " ");
    return (int)strcspn(*at, ",");
}

static enum status compare_args(const struct host_site *site, const uint64_t *words, unsigned n, const uint64_t *want, unsigned n_want)
{
    if (n != n_want)
        return host_diverged("call %llu, %s, has %u arguments, expected %u", (unsigned long long)host.calls, site->symbol, n, n_want);
    for (unsigned i = 0; i < n; i++) {
        const char *name;
        int length = arg_name(site->args, i, &name);
        if (words[i] != want[i])
            return host_diverged("call %llu, %s: expected %.*s = %lld (0x%llx), found %lld (0x%llx)", (unsigned long long)host.calls, site->symbol, length, name,
                                 (long long)want[i], (unsigned long long)want[i], (long long)words[i], (unsigned long long)words[i]);
    }
    return ST_OK;
}

static enum status replay_call(const struct host_site *site, const uint64_t *words, unsigned n)
{
    const char *contents;
    const struct tape_head *h = host_next(REC_CALL, &contents);
    const uint64_t *want = (const uint64_t *)(const void *)contents;
    if (!h)
        return host_diverged("call %llu, %s, comes before the one before had the device do what it did then", (unsigned long long)host.calls, site->symbol);
    unsigned n_want = (unsigned)(h->bytes / sizeof *want) - 1;
    const char *name = h->number - 1u < host.names.n ? host.names.at[h->number - 1] : "?";
    if (strcmp(name, site->symbol) != 0)
        return host_diverged("call %llu: expected %s, found %s", (unsigned long long)host.calls, name, site->symbol);
    if (want[n_want] != (uint64_t)host.before && host.calls > 1)
        return host_diverged("call %llu answered \"%s\", expected \"%s\"", (unsigned long long)host.calls - 1, status_text(host.before),
                             want[n_want] < ST_COUNT ? status_text((enum status)want[n_want]) : "?");
    return compare_args(site, words, n, want, n_want);
}

/* ---- calls ---- */

static enum status wait_for_end_of_replay(void)
{
    pthread_mutex_lock(&host.lock);
    while (host_mode() == HOST_REPLAYED && !host.diverged)
        pthread_cond_wait(&host.changed, &host.lock);
    pthread_mutex_unlock(&host.lock);
    return host.diverged ? ST_UNKNOWN : ST_OK;
}

/* A thread whose first call comes while the host stands still. */
static enum status wait_for_checkpoint(void)
{
    pthread_mutex_lock(&host.lock);
    while (stopping())
        pthread_cond_wait(&host.changed, &host.lock);
    pthread_mutex_unlock(&host.lock);
    return ST_OK;
}

enum status host_enter(struct host_site *site, const uint64_t *words, unsigned n)
{
    if (me.depth++)
        return ST_OK;
    enum role r = role();
    if (r == OURS)
        return ST_OK;
    if (r == ANOTHER)
        return host_replayed() ? wait_for_end_of_replay() : wait_for_checkpoint();
    /* Nobody takes this thread for standing until it says so: the order of these two does not matter. */
    __atomic_store_n(&host.place, INSIDE, __ATOMIC_RELAXED);
    if (__builtin_expect(__atomic_load_n(&host.stopping, __ATOMIC_RELAXED), 0))
        stand(AT_GATE);
    if (host_replayed() && host.diverged)
        return ST_UNKNOWN;
    if (host_replayed() && host.calls == host.last)
        return host_finish_replay();
    host.calls++;
    host.step = 0;
    host.said = false;
    if (host_replayed())
        return replay_call(site, words, n);
    if (host_mode() == HOST_RECORDED)
        record_call(site, words, n);
    return ST_OK;
}

enum status host_leave(enum status st)
{
    if (--me.depth || me.role != THE_HOST)
        return st;
    if (host.diverged)
        st = ST_UNKNOWN;
    host.before = st;
    __atomic_store_n(&host.place, OUTSIDE, __ATOMIC_RELAXED);
    return st;
}

/* ---- operations ---- */

void host_step(void)
{
    if (host_inside())
        host.step++;
}

void host_pushed(struct op *op)
{
    uintptr_t i;
    op->call = 0;
    op->held = false;
    if (op->kind == OP_CONDITION)              /* kernels decide what it enqueues, and when */
        host_spoil("it has launched a graph with conditional nodes");
    if (!host_inside())
        return;
    op->call = host.calls;
    op->step = host.step++;
    op->held = host_replayed() && map_get_int(&host.held, host_key(op->call, op->step), &i);
}

bool host_call_survives(void)
{
    uintptr_t i;
    return host_inside() && map_get_int(&host.held, host_key(host.calls, HOST_ALL_STEPS), &i);
}

/* ---- the process ---- */

enum status host_record(struct error *err)
{
    enum status st = tape_create(&host.tape, false, err);
    if (st == ST_OK)
        st = tape_create(&host.op_tape, true, err);
    if (st == ST_OK)
        __atomic_store_n(&host_mode_now, HOST_RECORDED, __ATOMIC_RELEASE);
    return st;
}

enum status host_replay(const char *path, struct error *err)
{
    enum status st = host_load(path, err);
    if (st == ST_OK)
        __atomic_store_n(&host_mode_now, HOST_REPLAYED, __ATOMIC_RELEASE);
    return st;
}

bool host_is_ours(void)
{
    static int is = -1;                        /* asked under rt_start's lock */
    if (is >= 0)
        return is;
    is = hello_claim();
    if (!is)
        log_warn("process %d takes no part in checkpoints: another one of this run, which called CUDA before, does", (int)getpid());
    return is;
}

enum status host_start(struct error *err)
{
    const struct rt_knobs *k = rt_knobs();
    bool armed = checkpoint_armed && checkpoint_armed();
    if (!*k->resume && !armed)
        return ST_OK;
    if (!host_is_ours())
        return ST_OK;
    enum status st = *k->resume ? host_replay(k->resume, err) : host_record(err);
    if (st != ST_OK && *k->resume)
        hello_failed();
    return st;
}

void host_end(void)
{
    if (!host_replayed() || host.diverged)
        return;
    log_error("resume: the program ended after %llu of the %llu calls that it had made at the checkpoint", (unsigned long long)host.calls, (unsigned long long)host.last);
    hello_failed();
}
