/* Copies and fills. Device memory is host memory, so the calling thread can do them itself when the stream has nothing before them. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/checkpoint/host.h"
#include "runtime/graph.h"
#include "runtime/debug/debug.h"
#include "runtime/internal.h"

enum { DIRECT_BYTES = 64 << 10 };              /* asynchronous work up to this size is done at once on an idle stream: cheaper than a hand-over */

void copy_run(const struct rt_copy *c)
{
    for (uint64_t z = 0; z < c->depth; z++)
        for (uint64_t y = 0; y < c->height; y++)
            memmove((void *)(uintptr_t)(c->dst + z * c->dst_slice + y * c->dst_pitch), (const void *)(uintptr_t)(c->src + z * c->src_slice + y * c->src_pitch), c->width);
    if (debug_on())
        debug_host_wrote();
}

/* Copies and fills that threads do by themselves, outside every lock. */
static atomic_int own_copies;
static atomic_bool held;

static void own_begin(void)
{
    atomic_fetch_add(&own_copies, 1);
    while (atomic_load(&held)) {
        atomic_fetch_sub(&own_copies, 1);
        pthread_mutex_lock(&the.lock);         /* whoever holds copies has it */
        pthread_mutex_unlock(&the.lock);
        atomic_fetch_add(&own_copies, 1);
    }
}

static void own_end(void) { atomic_fetch_sub(&own_copies, 1); }

/* As the operation that it would be, had it been queued. */
static void own_copy(const struct op *op, enum place dst, enum place src)
{
    own_begin();
    host_watched() ? host_copy(op, (int)dst, (int)src) : copy_run(&op->u.copy);
    own_end();
}

void copies_hold(void)
{
    atomic_store(&held, true);
    while (atomic_load(&own_copies))           /* as long as a copy takes */
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

void copies_let(void) { atomic_store(&held, false); }

static void fill(void *at, uint32_t value, uint32_t elem_bytes, uint64_t width)
{
    unsigned char byte = (unsigned char)value;
    uint32_t all = elem_bytes == 1 ? byte * 0x01010101u : elem_bytes == 2 ? (value & 0xffffu) * 0x00010001u : value;
    if (all == byte * 0x01010101u) {
        memset(at, byte, width * elem_bytes);
        return;
    }
    if (elem_bytes == 2)
        for (uint64_t i = 0; i < width; i++)
            memcpy((char *)at + 2 * i, &(uint16_t){(uint16_t)value}, 2);
    else
        for (uint64_t i = 0; i < width; i++)
            memcpy((char *)at + 4 * i, &value, 4);
}

void set_run(const struct set *s)
{
    for (uint64_t y = 0; y < s->height; y++)
        fill((void *)(uintptr_t)(s->dst + y * s->pitch), s->value, s->elem_bytes, s->width);
    if (debug_on())
        debug_host_wrote();
}

void op_move(struct op *op)
{
    if (op->kind == OP_COPY)
        host_watched() ? host_op_copy(op) : copy_run(&op->u.copy);
    else
        host_watched() ? host_op_set(op) : set_run(&op->u.set);
}

/* Bytes from the first to the last one touched; 0 when that overflows. */
static uint64_t extent(uint64_t width, uint64_t height, uint64_t depth, uint64_t pitch, uint64_t slice)
{
    uint64_t rows, slices, all;
    if (__builtin_mul_overflow(height - 1, pitch, &rows) || __builtin_mul_overflow(depth - 1, slice, &slices) ||
        __builtin_add_overflow(rows, slices, &all) || __builtin_add_overflow(all, width, &all))
        return 0;
    return all;
}

static enum place place_of(uint64_t address, const struct rt_copy *c, uint64_t pitch, uint64_t slice)
{
    uint64_t bytes = extent(c->width, c->height, c->depth, pitch, slice);
    if (!bytes || !address || (c->height > 1 && pitch < c->width))
        return PLACE_BAD;
    return memory_place(address, bytes);
}

/* Copies and fills of a simulated GPU take its time: they go through the queues. Those of a replay are over. */
static bool always_queued(void) { return sim_on() && !host_replayed(); }

/* An operation that is waited for. */
static enum status run_queued(struct rt_stream *s, const struct op *what)
{
    enum status st = ST_OUT_OF_MEMORY;
    pthread_mutex_lock(&the.lock);
    struct op *op = op_new(s, (enum op_kind)what->kind);
    if (op) {
        op->u = what->u;
        op_push(op);
        fifo_wait(s, op->seq);
        st = ST_OK;
    }
    pthread_mutex_unlock(&the.lock);
    context_flush(s->context);
    return st == ST_OK ? context_status(s->context) : st;
}

static enum status wait_then_copy(struct rt_stream *s, const struct rt_copy *copy, enum place dst, enum place src)
{
    struct op op = {.kind = OP_COPY, .u.copy = *copy};
    if (streams_in_simulation())
        return ST_NOT_PERMITTED;
    if (always_queued())
        return run_queued(s, &op);
    pthread_mutex_lock(&the.lock);
    stream_wait(s);
    pthread_mutex_unlock(&the.lock);
    context_flush(s->context);
    enum status st = context_status(s->context);
    if (st != ST_OK)
        return st;
    if (host_watched())
        host_pushed(&op);
    own_copy(&op, dst, src);
    return ST_OK;
}

/* The source packed into a buffer of the operation's own. */
static bool stage(struct op *op)
{
    struct rt_copy *c = &op->u.copy;
    op->owned = malloc(c->width * c->height * c->depth);
    if (!op->owned)
        return false;
    struct rt_copy in = *c;
    in.dst = (uint64_t)(uintptr_t)op->owned;
    in.dst_pitch = c->width;
    in.dst_slice = c->width * c->height;
    copy_run(&in);
    c->src = in.dst;
    c->src_pitch = in.dst_pitch;
    c->src_slice = in.dst_slice;
    return true;
}

static enum status copy_async(struct rt_stream *s, const struct rt_copy *copy, enum place dst, enum place src)
{
    bool src_pageable = src == PLACE_PAGEABLE;
    uint64_t bytes = copy->width * copy->height * copy->depth;
    enum status st = ST_OK;
    struct op done = {.kind = OP_COPY, .u.copy = *copy};
    pthread_mutex_lock(&the.lock);
    bool now = (bytes <= DIRECT_BYTES || src_pageable) && !always_queued() && stream_idle(s);
    if (!now) {
        struct op *op = op_new(s, OP_COPY);
        if (op)
            op->u.copy = *copy;
        if (op && (!src_pageable || stage(op))) {
            op_push(op);
        } else {
            st = ST_OUT_OF_MEMORY;
            if (op)
                op_drop(op);
        }
    } else if (host_watched()) {
        host_pushed(&done);
    }
    pthread_mutex_unlock(&the.lock);
    if (now)
        own_copy(&done, dst, src);
    return st;
}

enum status copy_check(const struct rt_copy *c)
{
    if (!c->width || !c->height || !c->depth)
        return ST_INVALID_VALUE;
    bool bad = place_of(c->dst, c, c->dst_pitch, c->dst_slice) == PLACE_BAD || place_of(c->src, c, c->src_pitch, c->src_slice) == PLACE_BAD;
    return bad ? ST_INVALID_VALUE : ST_OK;
}

static bool copy_captured(struct rt_stream *s, const struct rt_copy *copy, enum rt_wait wait, enum status *st)
{
    if (wait == RT_SYNC)
        return (*st = capture_refuse(s)) != ST_OK;
    struct rt_node_params p = {.type = RT_NODE_COPY, .context = s->context};
    p.u.copy = *copy;
    return capture_take(s, &p, NULL, st);
}

enum status rt_memcpy(struct rt_stream *s, const struct rt_copy *copy, enum rt_wait wait)
{
    enum status st = context_status(s->context);
    if (st != ST_OK || !copy->width || !copy->height || !copy->depth)
        return st;
    if (capture_any() && copy_captured(s, copy, wait, &st))
        return st;
    enum place dst = place_of(copy->dst, copy, copy->dst_pitch, copy->dst_slice), src = place_of(copy->src, copy, copy->src_pitch, copy->src_slice);
    if (dst == PLACE_BAD || src == PLACE_BAD)
        return ST_INVALID_VALUE;
    if (host_watched() && src == PLACE_PAGEABLE && (st = host_verify_source(copy)) != ST_OK)
        return st;
    bool large = copy->width * copy->height * copy->depth > DIRECT_BYTES;
    if (wait == RT_SYNC || dst == PLACE_PAGEABLE || (src == PLACE_PAGEABLE && large))
        return wait_then_copy(s, copy, dst, src);
    return copy_async(s, copy, dst, src);
}

enum status rt_memcpy_linear(struct rt_stream *s, uint64_t dst, uint64_t src, uint64_t bytes, enum rt_wait wait)
{
    return rt_memcpy(s, &(struct rt_copy){.dst = dst, .src = src, .width = bytes, .height = 1, .depth = 1}, wait);
}

static enum status set_place(const struct set *s, uint64_t *bytes)
{
    uint64_t row = 0;
    bool good = (s->elem_bytes == 1 || s->elem_bytes == 2 || s->elem_bytes == 4) && s->dst % s->elem_bytes == 0 && s->width && s->height &&
                !__builtin_mul_overflow(s->width, s->elem_bytes, &row);
    good = good && (s->height == 1 || (s->pitch >= row && s->pitch % s->elem_bytes == 0)) && (*bytes = extent(row, s->height, 1, s->pitch, 0)) != 0;
    enum place place = good ? memory_place(s->dst, *bytes) : PLACE_BAD;
    return place == PLACE_BAD || place == PLACE_PAGEABLE ? ST_INVALID_VALUE : ST_OK;
}

enum status set_check(const struct set *s)
{
    uint64_t bytes;
    return set_place(s, &bytes);
}

static bool set_captured(struct rt_stream *s, const struct set *set, enum rt_wait wait, enum status *st)
{
    if (wait == RT_SYNC)
        return (*st = capture_refuse(s)) != ST_OK;
    struct rt_node_params p = {.type = RT_NODE_SET, .context = s->context};
    p.u.set.dst = set->dst, p.u.set.pitch = set->pitch, p.u.set.value = set->value, p.u.set.elem_bytes = set->elem_bytes;
    p.u.set.width = set->width, p.u.set.height = set->height;
    return capture_take(s, &p, NULL, st);
}

enum status rt_memset(struct rt_stream *s, uint64_t dst, uint64_t pitch, uint32_t value, uint32_t elem_bytes, uint64_t width, uint64_t height, enum rt_wait wait)
{
    enum status st = context_status(s->context);
    if (st != ST_OK || !width || !height)
        return st;
    struct set set = {.dst = dst, .pitch = pitch, .value = value, .elem_bytes = elem_bytes, .width = width, .height = height};
    if (capture_any() && set_captured(s, &set, wait, &st))
        return st;
    uint64_t bytes = 0;
    st = set_place(&set, &bytes);
    if (st != ST_OK)
        return st;
    if (wait == RT_SYNC && streams_in_simulation())
        return ST_NOT_PERMITTED;
    if (wait == RT_SYNC && always_queued())
        return run_queued(s, &(struct op){.kind = OP_SET, .u.set = set});
    pthread_mutex_lock(&the.lock);
    if (wait == RT_SYNC)
        stream_wait(s);
    bool now = wait == RT_SYNC || (bytes <= DIRECT_BYTES && !always_queued() && stream_idle(s));
    if (!now) {
        struct op *op = op_new(s, OP_SET);
        if (op) {
            op->u.set = set;
            op_push(op);
        } else {
            st = ST_OUT_OF_MEMORY;
        }
    } else if (host_watched()) {
        host_step();
    }
    pthread_mutex_unlock(&the.lock);
    if (wait == RT_SYNC) {
        context_flush(s->context);
        st = context_status(s->context);
    }
    if (now && st == ST_OK) {
        own_begin();
        host_watched() ? host_set(&set) : set_run(&set);
        own_end();
    }
    return st;
}
