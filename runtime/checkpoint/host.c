/* Calls: on the tape and held against it. */
#include "runtime/checkpoint/host_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/hello.h"

int host_mode_now = HOST_FREE;
struct host host = {.turn = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

uint64_t host_key(uint64_t call, uint32_t step) { return call << 20 | step; }

void host_spoil(const char *why)
{
    if (host_mode() != HOST_RECORDED)
        return;
    pthread_mutex_lock(&host.lock);
    host.spoiled = host.spoiled ? host.spoiled : why;
    pthread_mutex_unlock(&host.lock);
}

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

static void record_call(const struct host_thread *t, struct host_site *site, const uint64_t *words, unsigned n)
{
    if (!site->number)
        name_site(site);
    enum { MOST = 16 };
    uint64_t all[MOST + 1];
    n = n < MOST ? n : MOST;
    for (unsigned i = 0; i < n; i++)
        all[i] = words[i];
    all[n] = t->before;
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
    return ST_UNKNOWN;                         /* threads that wait for their turn look again by themselves */
}

/* The k-th of "bytes, flags". */
static int arg_name(const char *args, unsigned k, const char **at)
{
    for (; k && *args; k--)
        args += strcspn(args, ",") + (args[strcspn(args, ",")] != 0);
    *at = args + strspn(args, " ");
    return (int)strcspn(*at, ",");
}

static enum status compare_args(uint64_t call, const struct host_site *site, const uint64_t *words, unsigned n, const uint64_t *want, unsigned n_want)
{
    if (n != n_want)
        return host_diverged("call %llu, %s, has %u arguments, expected %u", (unsigned long long)call, site->symbol, n, n_want);
    for (unsigned i = 0; i < n; i++) {
        const char *name;
        int length = arg_name(site->args, i, &name);
        if (words[i] != want[i])
            return host_diverged("call %llu, %s: expected %.*s = %lld (0x%llx), found %lld (0x%llx)", (unsigned long long)call, site->symbol, length, name,
                                 (long long)want[i], (unsigned long long)want[i], (long long)words[i], (unsigned long long)words[i]);
    }
    return ST_OK;
}

static const char *name_of(const struct tape_head *h) { return h->number - 1u < host.names.n ? host.names.at[h->number - 1] : "?"; }

static enum status replay_call(const struct host_thread *t, uint64_t call, struct host_site *site, const uint64_t *words, unsigned n)
{
    const char *contents;
    const struct tape_head *h = host_next(REC_CALL, &contents);
    const uint64_t *want = (const uint64_t *)(const void *)contents;
    if (!h)
        return host_diverged("call %llu, %s, comes before the one before had the device do what it did then", (unsigned long long)call, site->symbol);
    unsigned n_want = (unsigned)(h->bytes / sizeof *want) - 1;
    const char *name = name_of(h);
    if (strcmp(name, site->symbol) != 0)
        return host_diverged("call %llu: expected %s, found %s", (unsigned long long)call, name, site->symbol);
    bool own = t->as == t->was_as && t->call != 0;
    if (own && want[n_want] != (uint64_t)t->before)
        return host_diverged("the call before call %llu, %s, answered \"%s\", expected \"%s\"", (unsigned long long)call, name, status_text(t->before),
                             want[n_want] < ST_COUNT ? status_text((enum status)want[n_want]) : "?");
    site->number = h->number;                  /* for what is recorded behind the replay */
    return compare_args(call, site, words, n, want, n_want);
}

/* ---- polls ---- */

bool host_polls(const char *symbol)
{
    const char *what = symbol + 2 + (strncmp(symbol, "cuda", 4) == 0 ? 2 : 0);
    return strncmp(symbol, "cu", 2) == 0 && (strncmp(what, "StreamQuery", 11) == 0 || strncmp(what, "EventQuery", 10) == 0);
}

bool host_is_poll(const struct tape_head *h) { return h && h->type == REC_CALL && host_polls(name_of(h)); }

bool host_is_call(const struct tape_head *h, const struct host_site *site, const uint64_t *words, unsigned n)
{
    return h && h->type == REC_CALL && strcmp(name_of(h), site->symbol) == 0 && h->bytes == (n + 1) * sizeof *words && memcmp(h + 1, words, n * sizeof *words) == 0;
}

/* Among the polls that come next, before anything else, the first of which is h: this one? */
static bool comes_soon(const struct tape_head *h, const struct host_site *site, const uint64_t *words, unsigned n)
{
    for (uint64_t at = h ? (uint64_t)((const char *)h - host.bytes) : host.n; (h = tape_record(host.bytes, host.n, at, &at));)
        if (host_is_call(h, site, words, n))
            return true;
        else if (h->type == REC_TURN || (h->type == REC_CALL && !host_is_poll(h)))
            return false;
    return false;
}

/* With the turn: lets the tape and the program's polls agree. False: others have their turn first. */
static bool agree(struct host_thread *t, const struct host_site *site, const uint64_t *words, unsigned n)
{
    const char *contents;
    const struct tape_head *h = host_peek(&contents);
    if (host_is_call(h, site, words, n) || (!site->poll && !host_is_poll(h)))
        return true;
    host_me.extra = site->poll && !comes_soon(h, site, words, n);
    if (host_me.extra)
        return true;
    host_skip_poll();
    host_turn_end(t);
    return false;
}

/* ---- calls ---- */

static void begin(struct host_thread *t, uint64_t call)
{
    t->call = call;
    t->step = t->waits = 0;
    t->said = false;
    for (size_t i = 0; host_replayed() && i < host.survivors.n; i++)
        host.survivors.at[i].made |= host.survivors.at[i].call == call;
}

enum status host_enter(struct host_site *site, const uint64_t *words, unsigned n)
{
    struct host_thread *t = host_me.depth++ ? NULL : host_thread();
    if (!t)
        return ST_OK;
    t->poll = site->poll ? (uintptr_t)site ^ words[0] << 32 : 0;
    while (host_replayed()) {
        enum status st = host_gate(t, site, words, n);
        if (st != ST_OK)
            return st;
        if (!host_replayed() || (!t->beside && !agree(t, site, words, n)))
            continue;
        host_me.extra |= t->beside;
        if (host_me.extra)
            return ST_OK;
        uint64_t call = host_call_number();
        host.calls = call > host.calls ? call : host.calls;
        enum status same = replay_call(t, call, site, words, n);
        begin(t, call);
        return same;
    }
    if (host_mode() == HOST_RECORDED) {
        host_turn_take(t);
        begin(t, ++host.calls);
        record_call(t, site, words, n);
    }
    return ST_OK;
}

enum status host_leave(enum status st)
{
    struct host_thread *t = host_me.thread;
    if (--host_me.depth || !t)
        return st;
    if (host.diverged)
        st = ST_UNKNOWN;
    t->before = t->poll ? ST_OK : st;
    host_me.extra = false;
    host_turn_end(t);
    return st;
}

/* ---- operations ---- */

void host_step(void)
{
    if (host_inside())
        host_me.thread->step++;
}

void host_pushed(struct op *op)
{
    uintptr_t i;
    op->call = 0;
    op->held = false;
    if (!host_inside()) {
        if (op->kind == OP_HOST)               /* of a condition's body: kernels decide what those enqueue, and when */
            host_spoil("a conditional node of a graph has called a host function");
        return;
    }
    op->call = host_me.thread->call;
    op->step = host_me.thread->step++;
    op->held = host_replayed() && map_get_int(&host.held, host_key(op->call, op->step), &i);
}

bool host_open(uint64_t call)
{
    for (size_t i = host.open.n; i-- > 0;)
        if (host.open.at[i] == call)
            return true;
    return false;
}

bool host_call_survives(void)
{
    uintptr_t i;
    return host_inside() && map_get_int(&host.held, host_key(host_me.thread->call, HOST_ALL_STEPS), &i);
}

/* ---- the process ---- */

enum status host_record(struct error *err)
{
    enum status st = tape_create(&host.tape, false, err);
    if (st == ST_OK)
        st = tape_create(&host.op_tape, true, err);
    if (st == ST_OK && host.n)                 /* on a tape that was replayed */
        tape_append(host.tape, host.bytes, host.n);
    host.sites = (uint16_t)host.names.n;
    host.numbers = (uint16_t)host.thread_names.n;
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

bool host_records(void) { return host_mode() == HOST_RECORDED || (host_replayed() && checkpoint_armed && checkpoint_armed()); }

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
