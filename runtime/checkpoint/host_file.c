/* The host's sections of a checkpoint: written after host_stop, read at the start of a replay, and its end. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/snapshot.h"
#include "runtime/base/hello.h"
#include "runtime/checkpoint/file.h"
#include "runtime/checkpoint/host_internal.h"
#include "runtime/checkpoint/program.h"

/* ---- writing ---- */

static VEC(struct op *) found;

static void find(void *unused, struct op *op)
{
    (void)unused;
    (void)vec_push(&found, op);
}

static int by_seq(const void *a, const void *b)
{
    const struct op *x = *(struct op *const *)a, *y = *(struct op *const *)b;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Operations in queues that calls up to `last` enqueued, in their order. Under the.lock. */
static void find_all(uint64_t last)
{
    size_t n = 0;
    found.n = 0;
    queue_each(find, NULL);
    for (size_t i = 0; i < found.n; i++)
        if (found.at[i]->call <= last && !host_open(found.at[i]->call))
            found.at[n++] = found.at[i];
    found.n = n;
    if (found.n)
        qsort(found.at, found.n, sizeof found.at[0], by_seq);
}

static void put_events(struct sink *to)
{
    uint32_t n = 0;
    for (int count = 1; count >= 0; count--) { /* once to count them */
        for (const struct rt_context *c = the.contexts; c; c = c->next)
            for (const struct rt_event *e = c->events; e; e = e->next) {
                n += (uint32_t)count;
                if (count)
                    continue;
                uint64_t now = device_now_ns(e->context->device);
                put_u64(to, rt_handle_number(e));
                put_u64(to, now > e->time_ns ? now - e->time_ns : 0);
            }
        if (count)
            put_u32(to, n);
    }
}

/* Where the threads are. Calls in which some wait are made again: on the tape they count as open from here on. */
static bool put_threads(struct sink *to)
{
    VEC(struct stood) stood = {0};
    bool ok = true;
    size_t open = host.open.n;
    for (size_t i = 0; i < host.threads.n && ok; i++) {
        const struct host_thread *t = host.threads.at[i];
        int place = __atomic_load_n(&t->place, __ATOMIC_SEQ_CST);
        struct stood s = {t->number, place == OUTSIDE};
        if (t->gone || !t->number)
            continue;
        ok = vec_push(&stood, s) && (place != WAITS || vec_push(&host.open, t->call));
    }
    put_u32(to, (uint32_t)stood.n);
    for (size_t i = 0; i < stood.n; i++) {
        put_u32(to, stood.at[i].number);
        put_u8(to, stood.at[i].outside);
    }
    put_u32(to, (uint32_t)host.open.n);
    put(to, host.open.at, host.open.n * sizeof *host.open.at);
    vec_free(&stood);
    if (!ok)
        host.open.n = open;
    return ok;
}

static void find_stretch(void *user, uint64_t lo, uint64_t hi)
{
    put_u64(user, lo);
    put_u64(user, hi);
}

/* What kernels have written and no thread has waited for yet: what is recorded after a resume begins with that. */
static void put_written(struct sink *to)
{
    if (the.space)
        emu_space_written(the.space, false, find_stretch, to);
    put_u64(to, 0);
}

enum status host_save(struct hck_writer *w, struct error *err)
{
    size_t open = host.open.n;
    struct program self;
    enum status st = program_self(&self, rt_knobs(), err);
    if (st != ST_OK)
        return st;
    struct sink *to = hck_section(w, HCK_CALLS);
    program_put(&self, to);
    program_free(&self);
    put_u64(to, host.calls);
    bool memory = put_threads(to);
    pthread_mutex_lock(&the.lock);
    find_all(host.calls);
    put_u32(to, (uint32_t)found.n);
    for (size_t i = 0; i < found.n; i++) {
        put_u64(to, found.at[i]->call);
        put_u32(to, found.at[i]->step);
        put_u32(to, found.at[i]->kind);
    }
    put_events(to);
    pthread_mutex_unlock(&the.lock);
    vec_free(&found);
    put_written(to);
    put_u64(to, tape_bytes(host.tape) + tape_bytes(host.op_tape));
    st = memory ? tape_save(host.tape, to, err) : error_set(err, ST_OUT_OF_MEMORY, "no host memory for the program's threads");
    host.open.n = open;                        /* this run goes on with those calls */
    return st == ST_OK ? tape_save(host.op_tape, to, err) : st;
}

/* ---- reading ---- */

static bool load_threads(struct source *from)
{
    uint32_t n = get_u32(from);
    for (uint32_t i = 0; i < n && !from->failed; i++) {
        struct stood t = {.number = get_below(from, UINT16_MAX + 1), .outside = get_u8(from)};
        if (!vec_push(&host.stood, t))
            return false;
    }
    n = get_u32(from);
    for (uint32_t i = 0; i < n && !from->failed; i++)
        if (!vec_push(&host.open, get_u64(from)))
            return false;
    return true;
}

static bool load_written(struct source *from)
{
    for (uint64_t lo; (lo = get_u64(from)) && !from->failed;) {
        struct stretch s = {lo, get_u64(from)};
        if (!vec_push(&host.written, s))
            return false;
    }
    return true;
}

static bool load_survivors(struct source *from)
{
    uint32_t n = get_u32(from);
    for (uint32_t i = 0; i < n && !from->failed; i++) {
        struct survivor s = {.call = get_u64(from), .step = get_below(from, HOST_ALL_STEPS), .kind = get_below(from, 256)};
        if (!vec_push(&host.survivors, s) || !map_put_int(&host.held, host_key(s.call, s.step), i) || !map_put_int(&host.held, host_key(s.call, HOST_ALL_STEPS), i))
            return false;
    }
    return true;
}

static bool load_events(struct source *from)
{
    uint32_t n = get_u32(from);
    for (uint32_t i = 0; i < n && !from->failed; i++) {
        struct event_age e = {.number = get_u64(from), .age_ns = get_u64(from)};
        if (!vec_push(&host.events, e))
            return false;
    }
    return true;
}

static bool load_tape(struct source *from)
{
    host.n = get_u64(from);
    if (from->failed || host.n > (uint64_t)1 << 46)
        return false;
    void *p = host.n ? mmap(NULL, host.n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : NULL;
    if (p == MAP_FAILED)
        return false;
    host.bytes = p;
    return get(from, p, host.n);
}

/* Names and keyed records, which are looked up; and that the tape is whole. */
static bool index_tape(void)
{
    const struct tape_head *h;
    uint64_t at = 0, next, call;
    for (; (h = tape_record(host.bytes, host.n, at, &next)); at = next) {
        const char *contents = (const char *)(h + 1);
        bool good = true;
        if (h->type == REC_NAME) {
            good = h->bytes && !contents[h->bytes - 1] && h->number == host.names.n + 1 && vec_push(&host.names, contents);
        } else if (h->type == REC_THREAD) {
            good = h->bytes && !contents[h->bytes - 1] && h->number == host.thread_names.n + 1 && vec_push(&host.thread_names, contents);
        } else if (h->type == REC_CALL) {
            good = h->bytes >= sizeof call && h->bytes % sizeof call == 0;
        } else if (h->type == REC_OP_COPY || h->type == REC_OP_FAULT) {
            good = h->bytes >= sizeof call;
            memcpy(&call, contents, good ? sizeof call : 0);
            good = good && map_put_int(&host.keyed, host_key(call, h->step), (uintptr_t)at);
        }
        if (!good)
            return false;
    }
    return at == host.n;
}

static enum status check_program(struct source *from, struct error *err)
{
    struct program then, now;
    enum status st = program_get(&then, from, err);
    if (st != ST_OK)
        return st;
    st = program_self(&now, rt_knobs(), err);
    if (st == ST_OK && !rt_knobs()->force) {
        st = program_compare(&then, &now, err);
        if (st == ST_OK && strcmp(then.gpu, now.gpu) != 0)
            st = error_set(err, ST_INVALID_VALUE, "the checkpoint was taken on %s, not on %s", then.gpu, now.gpu);
        if (st == ST_OK && (then.devices != now.devices || then.visible_set != now.visible_set || strcmp(then.visible, now.visible) != 0))
            st = error_set(err, ST_INVALID_VALUE, "the program saw other devices when the checkpoint was taken: --devices=%u and CUDA_VISIBLE_DEVICES %s%s", then.devices,
                           then.visible_set ? "= " : "not set", then.visible);
    }
    program_free(&now);
    program_free(&then);
    return st;
}

enum status host_load(const char *path, struct error *err)
{
    enum status st = hck_open(&host.file, path, err);
    if (st == ST_OK)
        st = hck_check(host.file, err);
    if (st != ST_OK)
        return st;
    struct source *from = hck_find(host.file, HCK_CALLS);
    if (!from) {
        error_set(err, ST_NOT_SUPPORTED, "%s: the calls of the program are not in this checkpoint", path);
        error_hint(err, "heddle resume --kernel-only %s  goes on without the program", path);
        return ST_NOT_SUPPORTED;
    }
    st = check_program(from, err);
    if (st != ST_OK)
        return st;
    host.last = get_u64(from);
    bool good = load_threads(from) && load_survivors(from) && load_events(from) && load_written(from) && load_tape(from) && index_tape() && host_turns_load();
    if (!good || from->failed) {
        (void)hck_error(host.file, err);
        return error_set(err, ST_INVALID_VALUE, "%s: the recorded calls make no sense, or there is no memory for them", path);
    }
    return ST_OK;
}

/* ---- the end of a replay ---- */

/* Every operation that was left at the checkpoint must be there again. Waits for events that have happened meanwhile need not. */
static enum status match(void)
{
    size_t at = 0;
    for (size_t i = 0; i < host.survivors.n; i++) {
        const struct survivor *s = &host.survivors.at[i];
        while (at < found.n && !(found.at[at]->call == s->call && found.at[at]->step == s->step))
            at++;
        if (at == found.n && s->kind != OP_WAIT_EVENT)
            return host_diverged("what call %llu had enqueued, and was not finished at the checkpoint, was not enqueued again", (unsigned long long)s->call);
        if (at == found.n)
            at = 0;
    }
    return ST_OK;
}

static void set_event_times(void)
{
    for (struct rt_context *c = the.contexts; c; c = c->next)
        for (struct rt_event *e = c->events; e; e = e->next)
            for (size_t i = 0; i < host.events.n; i++)
                if (host.events.at[i].number == rt_handle_number(e)) {
                    uint64_t now = device_now_ns(c->device), age = host.events.at[i].age_ns;
                    e->time_ns = now > age ? now - age : 0;
                }
}

static void forget(void)
{
    hck_close(host.file);
    host.file = NULL;
    if (host.n)
        munmap(host.bytes, host.n);
    host.bytes = NULL;
    host.n = 0;
    vec_free(&host.turns);
    vec_free(&host.lanes);
    map_free(&host.keyed);
    map_free(&host.held);
    vec_free(&host.names);
    vec_free(&host.thread_names);
    vec_free(&host.stood);
    vec_free(&host.written);
    vec_free(&host.events);
    vec_free(&host.moved);
    vec_free(&host.survivors);
}

/* What this run does from here on comes behind what it was held against. */
static void go_on_recording(void)
{
    struct error err = {0};
    for (size_t i = 0; i < host.written.n; i++)
        emu_space_mark_written(the.space, host.written.at[i].lo, host.written.at[i].hi);
    if (host_record(&err) == ST_OK)
        return;
    log_warn("checkpoints of this run will hold the device alone: %s", err.text);
    __atomic_store_n(&host_mode_now, HOST_FREE, __ATOMIC_RELEASE);
}

enum status host_finish_replay(void)
{
    struct error err = {0};
    queue_settle();
    pthread_mutex_lock(&the.lock);
    find_all(host.last);
    enum status st = match();
    if (st == ST_OK && host.moved.n)
        st = host_diverged("memory that the program registered at 0x%llx, and that is registered still, was at 0x%llx: kernels may hold its address",
                           (unsigned long long)host.moved.at[0].now, (unsigned long long)host.moved.at[0].then);
    size_t n = 0;
    for (size_t i = 0; i < found.n; i++)
        if (found.at[i]->kind == OP_LAUNCH)
            found.at[n++] = found.at[i];
    pthread_mutex_unlock(&the.lock);
    if (st == ST_OK)
        st = device_restore ? device_restore(host.file, found.at, n, &err) : error_set(&err, ST_NOT_SUPPORTED, "this build cannot put a device's state in place");
    if (st != ST_OK && !host.diverged) {
        log_error("resume: %s", err.text);
        hello_failed();
        host.diverged = true;                  /* nothing more is executed */
    }
    pthread_mutex_lock(&the.lock);
    if (st == ST_OK) {
        set_event_times();
        host.calls = host.on_tape;
        host.owner = host.turns.n ? host.turns.at[host.turns.n - 1].owner : 0;
        if (host_records())
            go_on_recording();
        else
            __atomic_store_n(&host_mode_now, HOST_FREE, __ATOMIC_RELEASE);
        forget();
        queue_wake();
    }
    pthread_mutex_unlock(&the.lock);
    vec_free(&found);
    return st == ST_OK ? ST_OK : ST_UNKNOWN;
}
