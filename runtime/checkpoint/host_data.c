/* What the device gives to the host: kept on the tape, or taken from there. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/host_internal.h"

bool host_visible(uint64_t address)
{
    struct rt_memory m;
    return !rt_memory_find(address, &m) || m.kind == RT_MEMORY_HOST || m.kind == RT_MEMORY_REGISTERED || m.kind == RT_MEMORY_MANAGED;
}

static bool recorded(void) { return host_mode() == HOST_RECORDED && host_inside(); }
static bool replayed(void) { return host_replayed() && host_inside() && !host.diverged; }
static unsigned long long call(void) { return (unsigned long long)host_me.thread->call; }

/* ---- answers and checks ---- */

void host_answer(void *data, size_t bytes)
{
    const char *was;
    if (recorded()) {
        tape_put(host.tape, &(struct tape_head){.type = REC_ANSWER, .bytes = bytes}, data);
        host_me.thread->said = true;
    } else if (replayed() && host_me.extra) {  /* as the time before */
        if (host_me.thread->poll == host_me.thread->polled && bytes == sizeof(bool))
            memcpy(data, &host_me.thread->answered, bytes);
    } else if (replayed()) {
        const struct tape_head *h = host_next(REC_ANSWER, &was);
        if (h && h->bytes == bytes)
            memcpy(data, was, bytes);
        else
            (void)host_diverged("call %llu asks the device for something else", call());
        if (host_me.thread->poll && bytes == sizeof(bool)) {
            host_me.thread->polled = host_me.thread->poll;
            host_me.thread->answered = *(const bool *)data;
        }
    }
}

uint64_t host_numbered(uint64_t *last)
{
    uint64_t n = *last + 1;
    if (host_watched())
        host_answer(&n, sizeof n);
    *last = n > *last ? n : *last;
    return n;
}

enum status host_verify(const char *what, const void *data, size_t bytes)
{
    const char *was;
    if (recorded())
        tape_put(host.tape, &(struct tape_head){.type = REC_VERIFY, .bytes = bytes}, data);
    if (!replayed())
        return host.diverged ? ST_UNKNOWN : ST_OK;
    const struct tape_head *h = host_next(REC_VERIFY, &was);
    if (!h || h->bytes != bytes)
        return host_diverged("call %llu: %s: expected %llu bytes, found %zu", call(), what, h ? (unsigned long long)h->bytes : 0ull, bytes);
    for (size_t at = 0; at < bytes; at += 8) {
        uint64_t found = 0, want = 0;
        size_t n = bytes - at < 8 ? bytes - at : 8;
        memcpy(&found, (const char *)data + at, n);
        memcpy(&want, was + at, n);
        if (found != want && !(host_address(found) && host_address(want)))
            return host_diverged("call %llu: %s: at byte %zu expected 0x%llx, found 0x%llx", call(), what, at, (unsigned long long)want, (unsigned long long)found);
    }
    return ST_OK;
}

void host_registers(const void *p, uint64_t bytes)
{
    struct moved m = {.now = (uint64_t)(uintptr_t)p, .then = (uint64_t)(uintptr_t)p, .bytes = bytes};
    host_answer(&m.then, sizeof m.then);
    if (m.then != m.now && !vec_push(&host.moved, m))
        (void)host_diverged("call %llu: no host memory", call());
}

void host_unregisters(const void *p)
{
    size_t n = 0;
    for (size_t i = 0; i < host.moved.n && replayed(); i++)
        if (host.moved.at[i].now != (uint64_t)(uintptr_t)p)
            host.moved.at[n++] = host.moved.at[i];
    host.moved.n = replayed() ? n : host.moved.n;
}

static uint64_t where_now(uint64_t then)
{
    for (size_t i = 0; i < host.moved.n; i++)
        if (then - host.moved.at[i].then < host.moved.at[i].bytes)
            return host.moved.at[i].now + (then - host.moved.at[i].then);
    return then;
}

enum status host_verify_source(const struct rt_copy *c)
{
    if (!recorded() && !replayed())
        return host.diverged ? ST_UNKNOWN : ST_OK;
    uint64_t hash = 0;
    if (c->height == 1 && c->depth == 1)
        hash = XXH3_64bits((const void *)(uintptr_t)c->src, c->width);
    for (uint64_t z = 0; z < c->depth && c->height * c->depth > 1; z++)
        for (uint64_t y = 0; y < c->height; y++)
            hash = XXH3_64bits_withSeed((const void *)(uintptr_t)(c->src + z * c->src_slice + y * c->src_pitch), c->width, hash);
    return host_verify("hash of the bytes that are copied to the device", &hash, sizeof hash);
}

/* ---- copies ---- */

static uint64_t bytes_of(const struct rt_copy *c) { return c->width * c->height * c->depth; }

/* To the host, from memory that kernels can write: where the bytes would be missing in a replay. */
static bool gives(const struct rt_copy *c, int dst, int src)
{
    return src != PLACE_PAGEABLE && (dst != PLACE_DEVICE || host_visible(c->dst));     /* managed memory is the device's, too */
}

static char *row_of(const struct rt_copy *c, uint64_t i)
{
    return (char *)(uintptr_t)(c->dst + i / c->height * c->dst_slice + i % c->height * c->dst_pitch);
}

static void keep_rows(const struct op *op)
{
    const struct rt_copy *c = &op->u.copy;
    struct tape *t = host.op_tape;
    tape_open(t, &(struct tape_head){.type = REC_OP_COPY, .step = op->step, .bytes = sizeof op->call + bytes_of(c)});
    tape_add(t, &op->call, sizeof op->call);
    if (c->width == c->dst_pitch || c->height == 1) {
        for (uint64_t z = 0; z < c->depth; z++)
            tape_add(t, row_of(c, z * c->height), c->width * c->height);
    } else {
        for (uint64_t i = 0; i < c->height * c->depth; i++)
            tape_add(t, row_of(c, i), c->width);
    }
    tape_close(t);
}

static void put_rows(const struct rt_copy *c, const char *from)
{
    for (uint64_t i = 0; i < c->height * c->depth; i++, from += c->width)
        memcpy(row_of(c, i), from, c->width);
}

void host_set(const struct set *s)
{
    if (!replayed() || host_visible(s->dst))
        set_run(s);
}

/* ---- operations ---- */

void host_copy(const struct op *op, int dst, int src)
{
    const struct rt_copy *c = &op->u.copy;
    uintptr_t at;
    if (!host_replayed() || !op->call) {
        copy_run(c);
        if (host_mode() == HOST_RECORDED && gives(c, dst, src)) {
            if (op->call)
                keep_rows(op);
            else
                host_spoil("a conditional node of a graph has copied to the host");
        }
    } else if (!gives(c, dst, src)) {
        if (host_visible(c->dst))              /* device memory is replaced at the checkpoint */
            copy_run(c);
    } else if (map_get_int(&host.keyed, host_key(op->call, op->step), &at)) {
        const struct tape_head *h = (const struct tape_head *)(const void *)(host.bytes + at);
        if (h->type == REC_OP_COPY && h->bytes == bytes_of(c) + sizeof op->call)
            put_rows(c, (const char *)(h + 1) + sizeof op->call);
        else
            (void)host_diverged("call %llu copies %llu bytes to the host, expected %llu", (unsigned long long)op->call, (unsigned long long)bytes_of(c),
                                (unsigned long long)(h->bytes - sizeof op->call));
    }
}

void host_op_copy(const struct op *op)
{
    host_copy(op, (int)memory_place(op->u.copy.dst, 1), (int)memory_place(op->u.copy.src, 1));
}

void host_op_set(const struct op *op)
{
    if (!host_replayed() || host_visible(op->u.set.dst))
        set_run(&op->u.set);
}

void host_op_fault(const struct op *op, enum status st)
{
    uint64_t what[2] = {op->call, (uint64_t)st};
    if (host_mode() == HOST_RECORDED && op->call)
        tape_put(host.op_tape, &(struct tape_head){.type = REC_OP_FAULT, .step = op->step, .bytes = sizeof what}, what);
}

enum status host_op_skip(const struct op *op)
{
    uintptr_t at;
    checkpoint_kernel_skipped(rt_function_name(op->u.launch.function));
    if (!map_get_int(&host.keyed, host_key(op->call, op->step), &at))
        return ST_OK;
    const struct tape_head *h = (const struct tape_head *)(const void *)(host.bytes + at);
    const uint64_t *what = (const uint64_t *)(const void *)(h + 1);
    return h->type == REC_OP_FAULT && h->bytes == 2 * sizeof *what && what[1] < ST_COUNT ? (enum status)what[1] : ST_OK;
}

/* ---- after waiting ---- */

static void keep_memory(void *unused, uint64_t lo, uint64_t hi)
{
    (void)unused;
    tape_open(host.tape, &(struct tape_head){.type = REC_MEMORY, .bytes = sizeof lo + hi - lo});
    tape_add(host.tape, &lo, sizeof lo);
    tape_add(host.tape, (const void *)(uintptr_t)lo, hi - lo);
    tape_close(host.tape);
    host_me.thread->said = true;
}

static void keep(struct rt_context *c)
{
    if (emu_space_any_written(the.space)) {
        pthread_mutex_lock(&the.lock);         /* no kernel begins meanwhile */
        emu_space_written(the.space, queue_quiet(), keep_memory, NULL);
        pthread_mutex_unlock(&the.lock);
    }
    if (!__atomic_load_n(&c->output.n, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&c->output_lock);
    if (c->output.n) {
        tape_put(host.tape, &(struct tape_head){.type = REC_TEXT, .bytes = c->output.n}, c->output.at);
        host_me.thread->said = true;
    }
    pthread_mutex_unlock(&c->output_lock);
}

static void put_memory(const struct tape_head *h, const char *contents)
{
    uint64_t at;
    struct rt_memory m;
    memcpy(&at, contents, sizeof at);
    at = where_now(at);
    uint64_t n = h->bytes - sizeof at;
    if (rt_memory_find(at, &m) && host_visible(at) && n <= m.base + m.bytes - at)
        memcpy((void *)(uintptr_t)at, contents + sizeof at, n);
    else
        (void)host_diverged("call %llu: there is no memory of the host at 0x%llx, where kernels had written %llu bytes", call(), (unsigned long long)at, (unsigned long long)n);
}

static void give(struct rt_context *c, const struct tape_head *h, const char *contents)
{
    if (h->type == REC_TEXT && c)
        context_output(c, contents, (size_t)h->bytes);
    else if (h->type == REC_MEMORY && h->bytes > sizeof(uint64_t))
        put_memory(h, contents);
}

void host_skip_poll(void)
{
    const char *contents;
    const struct tape_head *h;
    (void)host_next(REC_CALL, &contents);
    while ((h = host_peek(&contents)) && h->type != REC_CALL && h->type != REC_TURN) {
        (void)host_next((enum record)h->type, &contents);
        give(the.contexts, h, contents);
    }
}

void host_synchronised(struct rt_context *c)
{
    if (recorded())
        keep(c);
    const char *contents;
    const struct tape_head *h;
    while (replayed() && (h = host_peek(&contents)) && (h->type == REC_TEXT || h->type == REC_MEMORY)) {
        (void)host_next((enum record)h->type, &contents);
        give(c, h, contents);
    }
}
