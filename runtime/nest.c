/* The order of nested grids. */
#include <stdlib.h>

#include "runtime/debug/debug.h"
#include "runtime/nest.h"

static struct op_list ready;                      /* in the order in which they will run */
static struct op_list fresh;                      /* ready since the queue last looked */
static struct op_list blocked;                    /* waits for events, each at the head of its stream */
static atomic_size_t nests;

bool nest_any(void) { return atomic_load(&nests) != 0; }

static void list_add(struct op_list *l, struct op *op)
{
    op->next_ready = NULL;
    if (l->last)
        l->last->next_ready = op;
    else
        l->first = op;
    l->last = op;
}

/* All of b behind a; b is empty then. */
static void list_move(struct op_list *a, struct op_list *b)
{
    if (!b->first)
        return;
    if (a->last)
        a->last->next_ready = b->first;
    else
        a->first = b->first;
    a->last = b->last;
    *b = (struct op_list){0};
}

/* ---- nests ---- */

struct nest *nest_of(struct op *parent)
{
    struct nest *n = parent->u.launch.nest;
    if (n)
        return n;
    n = parent->u.launch.nest = calloc(1, sizeof *n);
    if (n) {
        n->parent = parent;
        atomic_fetch_add(&nests, 1);
    }
    return n;
}

struct nest_stream *nest_stream(struct nest *n, uint64_t key)
{
    uintptr_t found;
    if (map_get_int(&n->streams, key, &found))
        return (struct nest_stream *)found;
    struct nest_stream *s = calloc(1, sizeof *s);
    if (!s || !map_put_int(&n->streams, key, (uintptr_t)s)) {
        free(s);
        return NULL;
    }
    const struct rt_stream *of = n->parent->stream;
    s->stream = (struct rt_stream){.context = of->context, .id = of->id, .priority = of->priority, .flags = RT_STREAM_NON_BLOCKING, .green = of->green, .nested = s};
    s->nest = n;
    s->key = key;
    return s;
}

void nest_stream_idle(struct nest_stream *s)
{
    if (s->stream.head || s->recorded || (s->named && !s->destroyed) || s == s->nest->tail)
        return;
    (void)map_del_int(&s->nest->streams, s->key);
    free(s);
}

static size_t *waiting(const struct nest_stream *s)
{
    struct rt_context *c = s->stream.context;
    return s == s->nest->tail ? &c->pending_tails : &c->pending_launches;
}

void nest_begins(struct op *op)
{
    if (op->kind == OP_LAUNCH)
        --*waiting(op->stream->nested);
}

/* What was asked for and never launched. */
static void buffers_drop(struct nest *n, bool put)
{
    for (size_t i = 0; i < n->buffers.cap; i++) {
        struct op *op = n->buffers.slots[i].hash ? (struct op *)n->buffers.slots[i].value : NULL;
        if (op && put)
            params_put(op->u.launch.params, op->u.launch.slot_bytes, true);
        if (op)
            op_drop(op);
    }
    map_free(&n->buffers);
}

/* Streams and what is in them; nothing of it runs. */
static void streams_drop(struct nest *n)
{
    for (size_t i = 0; i < n->streams.cap; i++) {
        struct nest_stream *s = n->streams.slots[i].hash ? (struct nest_stream *)n->streams.slots[i].value : NULL;
        for (struct op *op = s ? s->stream.head : NULL, *next; op; op = next) {
            next = op->next;
            nest_begins(op);
            op_drop(op);
        }
        free(s);
    }
    map_free(&n->streams);
}

void nest_empty(struct nest *n)
{
    buffers_drop(n, false);
    streams_drop(n);
    vec_free(&n->events);
    vec_free(&n->graphs);
    map_free(&n->errors);
    n->unfinished = 0;
    n->tail = NULL;
    n->named = n->launched = 0;
    n->free_event = n->live_events = 0;
    n->held = (struct op_list){0};
}

static void nest_free(struct nest *n)
{
    nest_empty(n);
    vec_free(&n->calls);
    n->parent->u.launch.nest = NULL;
    free(n);
    atomic_fetch_sub(&nests, 1);
}

/* ---- order ---- */

static bool waits_for_event(const struct op *op) { return op->kind == OP_WAIT_EVENT && !fifo_clear(op->u.wait.stream, op->u.wait.seq); }

/* It has come to the head of its stream. With a debugger nothing begins before the blocks have ended: they may be run again. */
static void make_ready(struct nest *n, struct op *op)
{
    if (debug_on() && !n->blocks_ended)
        list_add(&n->held, op);
    else
        list_add(waits_for_event(op) ? &blocked : &fresh, op);
}

void nest_push(struct nest_stream *s, struct op *op)
{
    struct rt_stream *to = &s->stream;
    op->stream = to;
    op->seq = seq_next();
    op->call = s->nest->parent->call;          /* a fault of it is one of the host's launch, to who records */
    op->step = s->nest->parent->step;
    if (to->tail)
        to->tail->next = op;
    else
        to->head = op;
    to->tail = op;
    if (op->kind == OP_LAUNCH)
        ++*waiting(s);
    if (s == s->nest->tail)
        return;
    s->nest->unfinished++;
    if (to->head == op)
        make_ready(s->nest, op);
}

/* Some waits may be over. */
static void look_at_blocked(void)
{
    struct op_list all = blocked;
    blocked = (struct op_list){0};
    for (struct op *op = all.first, *next; op; op = next) {
        next = op->next_ready;
        list_add(waits_for_event(op) ? &blocked : &fresh, op);
    }
}

struct op *nest_next(size_t running)
{
    list_move(&fresh, &ready);
    ready = fresh;
    fresh = (struct op_list){0};
    struct op *op = running < NEST_RUNNING ? ready.first : NULL;
    if (op && !(ready.first = op->next_ready))
        ready.last = NULL;
    return op;
}

/* ---- ends ---- */

/* The launch, if it is complete now. */
static struct op *complete(struct nest *n)
{
    if (!n->blocks_ended || n->unfinished)
        return NULL;
    if (n->tail && n->tail->stream.head) {
        if (!n->tail_runs)
            make_ready(n, n->tail->stream.head);
        n->tail_runs = true;
        return NULL;
    }
    struct op *parent = n->parent;
    nest_free(n);
    return parent;
}

struct op *nest_finish(struct op *op)
{
    struct nest_stream *s = op->stream->nested;
    struct nest *n = s->nest;
    s->stream.head = op->next;
    if (s->stream.head)
        make_ready(n, s->stream.head);
    else
        s->stream.tail = NULL;
    n->unfinished -= s != n->tail;
    look_at_blocked();
    nest_stream_idle(s);
    return complete(n);
}

bool nest_blocks_ended(struct op *op)
{
    struct nest *n = op->u.launch.nest;
    if (!n)
        return true;
    n->blocks_ended = true;
    buffers_drop(n, true);
    for (struct op *held = n->held.first, *next; held; held = next) {
        next = held->next_ready;
        make_ready(n, held);
    }
    n->held = (struct op_list){0};
    for (size_t i = 0; i < n->graphs.n; i++)
        if (graph_device_launch(op, n->graphs.at[i].graph, n->graphs.at[i].stream) != ST_OK)
            log_warn("no host memory for a graph that %s launched", rt_function_name(op->u.launch.function));
    vec_free(&n->graphs);
    return complete(n) != NULL;
}
