/* What kernels ask of the device runtime. Every call is made by a worker in the middle of a grid; kernels that launch run on one.
 *
 * Calls that change something are one structure each. With a debugger, which may take the grid back to an earlier moment, they are remembered: the nest is then
 * made once more from those before that moment. */
#include <string.h>

#include "runtime/debug/debug.h"
#include "runtime/dispatch.h"
#include "runtime/nest.h"
#include "timing/timing.h"

/* Streams, as kernels name them. Those that they make are numbers that no other grid has. */
enum { STREAM_NULL, STREAM_LEGACY, STREAM_PER_THREAD, STREAM_TAIL, STREAM_FIRE_AND_FORGET };
enum { FLAG_NON_BLOCKING = 1, FLAG_DISABLE_TIMING = 2 };       /* without which kernels can make no stream, no event */
enum { EVENTS_A_LAUNCH = 2 };                                   /* as many as launches may be pending, times this */

/* Keys of streams. A block's is its number, a thread's its number in the grid. */
#define KEY_THREAD ((uint64_t)1 << 62)
#define KEY_MADE   ((uint64_t)2 << 62)
#define KEY_ONCE   ((uint64_t)3 << 62)         /* of one launch: fire and forget, and the tail */

static uint64_t thread_of(const struct nest_call *k) { return k->block << 10 | k->thread; }

/* A number that no other grid has given out, and never that of a stream that all have. */
static uint64_t handle(const struct nest *n, uint64_t i) { return (n->parent->u.launch.run->grid_id << 32 | (i & UINT32_MAX)) & ~KEY_ONCE; }

/* A stream by its name; one that every block or thread has comes into being. NULL: there is none, *st says why. */
static struct nest_stream *stream_at(struct nest *n, const struct nest_call *k, enum status *st)
{
    uintptr_t found;
    *st = ST_OUT_OF_MEMORY;
    switch (k->stream) {
    case STREAM_NULL: case STREAM_LEGACY: return nest_stream(n, k->block);
    case STREAM_PER_THREAD:               return nest_stream(n, KEY_THREAD | thread_of(k));
    case STREAM_TAIL:                     return n->tail = n->tail ? n->tail : nest_stream(n, KEY_ONCE);
    case STREAM_FIRE_AND_FORGET:          return nest_stream(n, KEY_ONCE | (++n->launched & ~KEY_ONCE));
    default:                              break;
    }
    *st = ST_INVALID_VALUE;
    struct nest_stream *s = map_get_int(&n->streams, KEY_MADE | k->stream, &found) ? (struct nest_stream *)found : NULL;
    return s && !s->destroyed ? s : NULL;
}

/* The tail and what is forgotten can be neither recorded nor made to wait. */
static struct nest_stream *ordered_stream_at(struct nest *n, const struct nest_call *k, enum status *st)
{
    *st = ST_INVALID_VALUE;
    return k->stream != STREAM_TAIL && k->stream != STREAM_FIRE_AND_FORGET ? stream_at(n, k, st) : NULL;
}

static struct nest_event *event_at(struct nest *n, uint64_t event)
{
    uint64_t i = (event & UINT32_MAX) - 1;
    return i < n->events.n && event == handle(n, i + 1) && n->events.at[i].live ? &n->events.at[i] : NULL;
}

/* ---- calls that change something. Under the.lock ---- */

/* An operation with memory for parameters, which a launch will find. *k->answer: its address; not 0: where it was before. */
static enum status do_buffer(struct nest *n, struct nest_call *k)
{
    if (n->parent->u.launch.depth >= NEST_DEPTH)
        return ST_LAUNCH_MAX_DEPTH_EXCEEDED;
    struct op *op = op_new(n->parent->stream, OP_LAUNCH);
    uint64_t at = k->answer ? k->answer : op ? params_get(k->bytes, true) : 0;
    if (!op || !at || !map_put_int(&n->buffers, at, (uintptr_t)op)) {
        if (at)
            params_put(at, k->bytes, true);
        if (op)
            op_drop(op);
        return ST_OUT_OF_MEMORY;
    }
    op->u.launch = k->launch;
    op->u.launch.params = k->answer = at;
    op->u.launch.slot_bytes = k->bytes;
    return ST_OK;
}

/* A GPU begins what was launched while the launcher goes on, and counts as pending what it had no time for. Here that takes no time that could be told, so only what
 * waits for the end of the launcher, the tail, counts against the limit. Where there are many others, they get their turn now. */
static bool crowded(const struct rt_context *x)
{
    return !sim_on() && !debug_on() && x->pending_launches > x->limits[RT_LIMIT_PENDING_LAUNCHES] / 2;
}

static enum status do_launch(struct nest *n, struct nest_call *k)
{
    enum status st;
    uintptr_t found;
    struct rt_context *x = n->parent->stream->context;
    if (!map_get_int(&n->buffers, k->buffer, &found))
        return ST_INVALID_VALUE;
    struct op *op = (struct op *)found;
    if (k->launch.function && k->launch.param_bytes <= op->u.launch.slot_bytes) {
        struct launch_op had = op->u.launch;
        op->u.launch = k->launch;
        op->u.launch.params = had.params;
        op->u.launch.slot_bytes = had.slot_bytes;
    }
    if (!op->u.launch.function)
        return ST_INVALID_VALUE;
    struct nest_stream *s = stream_at(n, k, &st);
    if (!s)
        return st;
    if (s == n->tail && x->pending_tails >= x->limits[RT_LIMIT_PENDING_LAUNCHES])
        return ST_LAUNCH_OUT_OF_RESOURCES;
    (void)map_del_int(&n->buffers, k->buffer);
    op->u.launch.ready_cycle = k->cycle;
    nest_push(s, op);
    if (crowded(x))
        n->parent->u.launch.run->crowded = true;
    if (sim_on())
        timing_gpu_return(x->device->gpu);
    return ST_OK;
}

static enum status do_stream_create(struct nest *n, struct nest_call *k)
{
    k->answer = handle(n, ++n->named << 4);
    struct nest_stream *s = nest_stream(n, KEY_MADE | k->answer);
    if (!s)
        return ST_OUT_OF_MEMORY;
    s->named = true;
    return ST_OK;
}

static enum status do_stream_destroy(struct nest *n, struct nest_call *k)
{
    enum status st = ST_INVALID_VALUE;
    struct nest_stream *s = k->stream > STREAM_FIRE_AND_FORGET ? stream_at(n, k, &st) : NULL;
    if (!s)
        return st;
    s->destroyed = true;
    nest_stream_idle(s);
    return ST_OK;
}

static enum status do_stream_wait(struct nest *n, struct nest_call *k)
{
    enum status st = ST_INVALID_VALUE;
    const struct nest_event *e = event_at(n, k->event);
    struct nest_stream *s = e ? ordered_stream_at(n, k, &st) : NULL;
    if (!s)
        return st;
    bool wait = e->stream && e->stream != s && !fifo_clear(&e->stream->stream, e->seq);
    struct op *op = wait ? op_new(&s->stream, OP_WAIT_EVENT) : NULL;
    if (op) {
        op->u.wait.stream = &e->stream->stream;
        op->u.wait.seq = e->seq;
        nest_push(s, op);
    }
    nest_stream_idle(s);
    return wait && !op ? ST_OUT_OF_MEMORY : ST_OK;
}

static enum status do_event_create(struct nest *n, struct nest_call *k)
{
    if (n->live_events >= EVENTS_A_LAUNCH * n->parent->stream->context->limits[RT_LIMIT_PENDING_LAUNCHES])
        return ST_OUT_OF_MEMORY;
    uint32_t i = n->free_event ? n->free_event - 1 : (uint32_t)n->events.n;
    if (n->free_event)
        n->free_event = n->events.at[i].next_free;
    else if (!vec_push(&n->events, ((struct nest_event){0})))
        return ST_OUT_OF_MEMORY;
    n->events.at[i] = (struct nest_event){.live = true};
    n->live_events++;
    k->answer = handle(n, i + 1);
    return ST_OK;
}

static enum status do_event_record(struct nest *n, struct nest_call *k)
{
    enum status st = ST_INVALID_VALUE;
    struct nest_event *e = event_at(n, k->event);
    struct nest_stream *s = e ? ordered_stream_at(n, k, &st) : NULL;
    if (!s)
        return st;
    s->recorded = true;
    e->stream = s;
    e->seq = s->stream.tail ? s->stream.tail->seq : 0;
    return ST_OK;
}

static enum status do_event_destroy(struct nest *n, struct nest_call *k)
{
    struct nest_event *e = event_at(n, k->event);
    if (!e)
        return ST_INVALID_VALUE;
    *e = (struct nest_event){.next_free = n->free_event};
    n->free_event = (uint32_t)(e - n->events.at) + 1;
    n->live_events--;
    return ST_OK;
}

/* buffer: the graph. */
static enum status do_graph(struct nest *n, struct nest_call *k)
{
    enum status st;
    if (debug_on() && !n->blocks_ended) {
        st = graph_device_may(n->parent, k->buffer, k->stream, n->graphs.at, n->graphs.n);
        return st != ST_OK || vec_push(&n->graphs, ((struct graph_asked){k->buffer, k->stream})) ? st : ST_OUT_OF_MEMORY;
    }
    st = graph_device_launch(n->parent, k->buffer, k->stream);
    if (st == ST_OK && sim_on())
        timing_gpu_return(n->parent->stream->context->device->gpu);
    return st;
}

static enum status do_set_error(struct nest *n, struct nest_call *k)
{
    if (k->error)
        return map_put_int(&n->errors, thread_of(k), k->error) ? ST_OK : ST_OUT_OF_MEMORY;     /* then it goes unnoticed */
    (void)map_del_int(&n->errors, thread_of(k));
    return ST_OK;
}

/* ---- the calls as kernels make them ---- */

static enum status ask(struct emu_caller *c, struct nest_call *k)
{
    struct op *op = c->launcher;
    k->block = c->block;
    k->thread = c->thread;
    k->cycle = c->cycle;
    pthread_mutex_lock(&the.lock);
    struct nest *n = nest_of(op);
    enum status st = n ? k->fn(n, k) : ST_OUT_OF_MEMORY;
    if (st == ST_OK && debug_on() && !vec_push(&n->calls, *k))
        log_warn("no host memory to remember what %s launches: going back in it will go wrong", rt_function_name(op->u.launch.function));
    c->yield = op->u.launch.run->crowded;
    pthread_mutex_unlock(&the.lock);
    return st;
}

uint64_t nest_moment(const struct op *op) { return op->u.launch.nest ? op->u.launch.nest->calls.n : 0; }

void nest_back(struct op *op, uint64_t moment)
{
    pthread_mutex_lock(&the.lock);
    struct nest *n = op->u.launch.nest;
    if (n) {
        nest_empty(n);
        for (size_t i = moment; i < n->calls.n; i++)
            if (n->calls.at[i].fn == do_buffer)
                params_put(n->calls.at[i].answer, n->calls.at[i].bytes, true);
        n->calls.n = moment;
        for (size_t i = 0; i < moment; i++)
            (void)n->calls.at[i].fn(n, &n->calls.at[i]);
    }
    pthread_mutex_unlock(&the.lock);
}

static void set_error(struct emu_caller *c, uint32_t error) { (void)ask(c, &(struct nest_call){.fn = do_set_error, .error = error}); }

static uint32_t last_error(struct emu_caller *c)
{
    uintptr_t e = 0;
    const struct op *op = c->launcher;
    pthread_mutex_lock(&the.lock);
    const struct nest *n = op->u.launch.nest;
    if (n)
        (void)map_get_int(&n->errors, thread_of(&(struct nest_call){.block = c->block, .thread = c->thread}), &e);
    pthread_mutex_unlock(&the.lock);
    return (uint32_t)e;
}

static bool is_kernel(const struct ptx_function *f) { return f->is_entry && f->has_body; }

/* What kernels may launch gets its object now: later it would depend on what runs. */
void nest_module(struct rt_module *m)
{
    const struct ptx_module *p = m->code->ptx;
    m->launches_graphs = ptx_function_find(p, "cudaGraphLaunch") >= 0;
    if (ptx_function_find(p, "__cuda_syscall_cnpv2LaunchDeviceV2") < 0 && ptx_function_find(p, "cnpLaunchDeviceV2") < 0)
        return;
    for (uint32_t i = 0; i < m->n_slots; i++)
        if (is_kernel(&p->functions[i]))
            (void)module_function_at(m, i);    /* without memory: no function of that address */
}

static struct rt_function *function_at(const struct emu_caller *c, uint64_t address)
{
    const struct rt_module *m = ((const struct op *)c->launcher)->u.launch.function->module;
    uint64_t number = (address - EMU_CODE_WINDOW) / 16;
    bool is = address >= EMU_CODE_WINDOW && address % 16 == 0 && number < m->n_slots && is_kernel(&m->code->ptx->functions[number]);
    return is ? m->slots[number] : NULL;
}

/* What there is to say before the launch, without its parameters. */
static enum status check(const struct emu_caller *c, const struct emu_child *child, struct launch_op *out)
{
    struct error why = {0};
    struct cluster_choice cluster;
    const struct op *parent = c->launcher;
    struct rt_function *f = function_at(c, child->function);
    if (!f)
        return ST_INVALID_DEVICE_FUNCTION;
    struct rt_launch l = {.function = f, .dynamic_shared_bytes = child->shared_bytes};
    memcpy(l.grid, child->grid, sizeof l.grid);
    memcpy(l.block, child->block, sizeof l.block);
    enum status st = launch_check_nested(&l, &cluster, &why);
    if (st != ST_OK) {
        log_info("in %s: %s", rt_function_name(parent->u.launch.function), why.text);
        return st;
    }
    *out = (struct launch_op){.function = f, .dynamic_shared_bytes = child->shared_bytes, .explicit_cluster = cluster.asked, .depth = parent->u.launch.depth + 1, .nested = true,
                              .param_bytes = f->module->code->ptx->functions[f->index].proto.param_bytes};
    for (int i = 0; i < 3; i++)
        out->grid[i] = f->facts.blocks_are_clusters ? child->grid[i] * cluster.ctas[i] : child->grid[i];
    memcpy(out->block, child->block, sizeof out->block);
    memcpy(out->cluster, cluster.ctas, sizeof out->cluster);
    return ST_OK;
}

static enum status buffer(struct emu_caller *c, const struct emu_child *child, uint64_t bytes, uint64_t *address)
{
    struct nest_call k = {.fn = do_buffer, .launch.nested = true, .bytes = (uint32_t)bytes};
    enum status st = child->function ? check(c, child, &k.launch) : ST_OK;
    if (child->function)
        k.bytes = k.launch.param_bytes;
    if (st == ST_OK)
        st = ask(c, &k);
    if (st != ST_OK)
        set_error(c, (uint32_t)status_cuda(st));
    *address = k.answer;
    return st;
}

static enum status launch(struct emu_caller *c, uint64_t address, const struct emu_child *child, uint64_t stream)
{
    struct nest_call k = {.fn = do_launch, .buffer = address, .stream = stream};
    enum status st = child ? check(c, child, &k.launch) : ST_OK;
    return st == ST_OK ? ask(c, &k) : st;
}

static enum status graph_launch(struct emu_caller *c, uint64_t graph, uint64_t stream)
{
    return ask(c, &(struct nest_call){.fn = do_graph, .buffer = graph, .stream = stream});
}

static enum status stream_create(struct emu_caller *c, uint32_t flags, uint64_t *stream)
{
    struct nest_call k = {.fn = do_stream_create};
    enum status st = flags == FLAG_NON_BLOCKING ? ask(c, &k) : ST_INVALID_VALUE;
    *stream = k.answer;
    return st;
}

static enum status event_create(struct emu_caller *c, uint32_t flags, uint64_t *event)
{
    struct nest_call k = {.fn = do_event_create};
    enum status st = flags == FLAG_DISABLE_TIMING ? ask(c, &k) : ST_INVALID_VALUE;
    *event = k.answer;
    return st;
}

static enum status stream_destroy(struct emu_caller *c, uint64_t stream) { return ask(c, &(struct nest_call){.fn = do_stream_destroy, .stream = stream}); }

static enum status wait_event(struct emu_caller *c, uint64_t stream, uint64_t event)
{
    return ask(c, &(struct nest_call){.fn = do_stream_wait, .stream = stream, .event = event});
}

static enum status event_record(struct emu_caller *c, uint64_t event, uint64_t stream)
{
    return ask(c, &(struct nest_call){.fn = do_event_record, .stream = stream, .event = event});
}

static enum status event_destroy(struct emu_caller *c, uint64_t event) { return ask(c, &(struct nest_call){.fn = do_event_destroy, .event = event}); }

/* ---- facts ---- */

static enum status function_fact(struct rt_function *f, uint64_t number, uint64_t *value)
{
    enum { MAX_THREADS, SHARED, CONST, LOCAL, REGS, PTX_VERSION, BINARY_VERSION };
    struct rt_function_info i;
    enum status st = function_ready(f, NULL);
    if (st == ST_OK)
        st = rt_function_info(f, &i, NULL);
    if (st != ST_OK)
        return st;
    switch (number) {
    case MAX_THREADS:    *value = i.max_threads; return ST_OK;
    case SHARED:         *value = i.shared_bytes; return ST_OK;
    case CONST:          *value = i.const_bytes; return ST_OK;
    case LOCAL:          *value = i.local_bytes; return ST_OK;
    case REGS:           *value = i.regs; return ST_OK;
    case PTX_VERSION:    *value = i.ptx_version; return ST_OK;
    case BINARY_VERSION: *value = i.binary_version; return ST_OK;
    default:             return ST_INVALID_VALUE;
    }
}

static enum status occupancy(struct rt_function *f, const uint64_t a[3], uint64_t *value)
{
    int blocks = 0;
    enum status st = f ? function_ready(f, NULL) : ST_INVALID_VALUE;
    if (st == ST_OK)
        st = rt_occupancy_blocks(f, (uint32_t)a[1], a[2], &blocks);
    *value = (uint64_t)blocks;
    return st;
}

static enum status fact(struct emu_caller *c, enum emu_fact what, const uint64_t a[3], uint64_t *value)
{
    const struct rt_context *x = ((const struct op *)c->launcher)->stream->context;
    struct rt_function *f;
    int number = 0;
    switch (what) {
    case EMU_FACT_DEVICE:  *value = (uint64_t)x->device->ordinal; return ST_OK;
    case EMU_FACT_DEVICES: *value = (uint64_t)the.n_devices; return ST_OK;
    case EMU_FACT_ATTRIBUTE:
        if (!device_at((int)a[1]))
            return ST_INVALID_DEVICE;
        if (!rt_device_attribute((int)a[1], (int)a[0], &number))
            return ST_INVALID_VALUE;
        *value = (uint64_t)number;
        return ST_OK;
    case EMU_FACT_LIMIT:
        *value = a[0] < RT_LIMITS ? x->limits[a[0]] : 0;        /* the numbers are the same */
        return a[0] < RT_LIMITS && a[0] != RT_LIMIT_SYNC_DEPTH ? ST_OK : ST_UNSUPPORTED_LIMIT;
    case EMU_FACT_FUNCTION:
        f = function_at(c, a[1]);
        return f ? function_fact(f, a[0], value) : ST_INVALID_VALUE;
    case EMU_FACT_OCCUPANCY: return occupancy(function_at(c, a[0]), a, value);
    }
    return ST_INVALID_VALUE;
}

const struct emu_device_runtime nest_calls = {
    .buffer = buffer, .launch = launch, .graph_launch = graph_launch, .stream_create = stream_create, .stream_destroy = stream_destroy, .stream_wait = wait_event, .event_create = event_create,
    .event_record = event_record, .event_destroy = event_destroy, .error = last_error, .set_error = set_error, .fact = fact,
};
