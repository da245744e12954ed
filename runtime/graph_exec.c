/* Graphs in execution: an exec is a copy of its graph in topological order; a launch enqueues it node by node. */
#include <stdlib.h>
#include <string.h>

#include "runtime/graph_internal.h"

struct own_stream { struct rt_context *context; struct rt_stream *stream; uint64_t id; };

struct rt_exec {
    struct object object;
    struct graph_hold *hold;
    struct rt_graph *graph;                             /* the hold's */
    uint64_t flags;
    node_list order;                                    /* child graphs' nodes in their node's place */
    VEC(struct own_stream) streams;                     /* for nodes of other contexts than the launch's */
    struct rt_stream *last;                             /* of the launch before: its last operation; the stream may be gone, as with events */
    uint64_t last_seq;
};
_Static_assert(sizeof(struct rt_exec) <= 192, "object_bytes in process.c");

/* ---- making ---- */

/* The nodes of g, child graphs unfolded. A node on a cycle, or NULL. */
static struct rt_node *unfold(struct rt_graph *g, node_list *out, enum status *st)
{
    node_list own = {0};
    struct rt_node *bad = graph_order(g, &own, st);
    for (size_t i = 0; i < own.n && !bad && *st == ST_OK; i++)
        if (own.at[i]->p.type == RT_NODE_GRAPH)
            bad = unfold(own.at[i]->p.u.child, out, st);
        else if (!vec_push(out, own.at[i]))
            *st = ST_OUT_OF_MEMORY;
    vec_free(&own);
    return bad;
}

enum status rt_exec_create(struct rt_exec **out, struct rt_graph *g, uint64_t flags, struct rt_node **bad)
{
    *out = NULL;
    node_list order = {0};
    struct rt_context *context = NULL;
    enum status st;
    *bad = unfold(g, &order, &st);
    if (*bad)
        st = ST_INVALID_VALUE;
    else if (st == ST_OK && flags & RT_EXEC_DEVICE_LAUNCH)
        st = flags & RT_EXEC_AUTO_FREE ? ST_INVALID_VALUE : graph_device_check(&order, &context, bad);
    vec_free(&order);
    if (st != ST_OK)
        return st;
    struct rt_exec *x = object_new(RT_GRAPH_EXEC);
    if (!x)
        return ST_OUT_OF_MEMORY;
    x->flags = flags;
    x->hold = calloc(1, sizeof *x->hold);
    st = x->hold ? graph_copy(&x->graph, g, true) : ST_OUT_OF_MEMORY;
    if (st == ST_OK) {
        *x->hold = (struct graph_hold){.graph = x->graph, .exec = x, .context = context, .uploaded = flags & RT_EXEC_UPLOAD, .refs = 1};
        x->graph->of_exec = true;
        (void)unfold(x->graph, &x->order, &st);
    }
    if (st != ST_OK) {
        (void)rt_exec_destroy(x);
        return st;
    }
    *out = x;
    return ST_OK;
}

void graph_unhold(struct graph_hold *h)
{
    pthread_mutex_lock(&the.lock);
    bool last = --h->refs == 0;
    pthread_mutex_unlock(&the.lock);
    if (last) {
        graph_drop(h->graph);
        free(h);
    }
}

enum status rt_exec_destroy(struct rt_exec *x)
{
    if (x->graph)
        graph_unhold(x->hold);
    else
        free(x->hold);
    for (size_t i = 0; i < x->streams.n; i++)
        if (rt_is(x->streams.at[i].stream, RT_STREAM) && rt_stream_id(x->streams.at[i].stream) == x->streams.at[i].id)
            (void)rt_stream_destroy(x->streams.at[i].stream);
    vec_free(&x->order);
    vec_free(&x->streams);
    object_free(x);
    return ST_OK;
}

struct graph_hold *graph_hold_of(const struct rt_exec *x) { return x->hold; }

void rt_exec_upload(struct rt_exec *x)
{
    pthread_mutex_lock(&the.lock);
    x->hold->uploaded = true;
    pthread_mutex_unlock(&the.lock);
}

uint64_t rt_exec_flags(const struct rt_exec *x) { return x->flags; }
struct rt_node *rt_exec_node(const struct rt_exec *x, const struct rt_node *n) { return rt_graph_find_clone(x->graph, n); }

bool rt_node_enabled(const struct rt_node *n) { return !n->disabled; }

enum status rt_node_enable(struct rt_node *n, bool on)
{
    if (n->p.type != RT_NODE_KERNEL && n->p.type != RT_NODE_COPY && n->p.type != RT_NODE_SET)
        return ST_INVALID_VALUE;
    n->disabled = !on;
    return ST_OK;
}

/* ---- launching ---- */

static enum status push(struct rt_stream *s, const struct op *like)
{
    pthread_mutex_lock(&the.lock);
    struct op *op = op_new(s, like->kind);
    if (op) {
        op->u = like->u;
        if (like->kind == OP_CONDITION)
            like->u.condition.hold->refs++;
        op_push(op);
    }
    pthread_mutex_unlock(&the.lock);
    return op ? ST_OK : ST_OUT_OF_MEMORY;
}

/* s waits for operation seq of another stream. */
static enum status wait_for(struct rt_stream *s, struct rt_stream *other, uint64_t seq)
{
    struct op op = {.kind = OP_WAIT_EVENT};
    op.u.wait.stream = other;
    op.u.wait.seq = seq;
    return push(s, &op);
}

static uint64_t seq_so_far(void)
{
    pthread_mutex_lock(&the.lock);
    uint64_t seq = seq_next();
    pthread_mutex_unlock(&the.lock);
    return seq;
}

/* Pageable memory is read and written when the node runs, so these bypass rt_memcpy, which does that at the call. */
static enum status enqueue(struct rt_node *n, struct graph_hold *h, struct graph_env *env, struct rt_stream *s, struct error *err)
{
    struct op op = {0};
    switch (n->p.type) {
    case RT_NODE_KERNEL: {
        struct rt_launch l = n->p.u.kernel.launch;
        l.stream = s;
        l.env = env;
        return rt_launch(&l, err);
    }
    case RT_NODE_COPY:
        op.kind = OP_COPY;
        op.u.copy = n->p.u.copy;
        return push(s, &op);
    case RT_NODE_SET:
        op.kind = OP_SET;
        op.u.set = (struct set){n->p.u.set.dst, n->p.u.set.pitch, n->p.u.set.value, n->p.u.set.elem_bytes, n->p.u.set.width, n->p.u.set.height};
        return push(s, &op);
    case RT_NODE_HOST: return rt_stream_host(s, n->p.u.host.fn, n->p.u.host.user);
    case RT_NODE_WAIT: return rt_is(n->p.u.event, RT_EVENT) ? rt_stream_wait_event(s, n->p.u.event) : ST_INVALID_HANDLE;
    case RT_NODE_RECORD: return rt_is(n->p.u.event, RT_EVENT) ? rt_event_record(n->p.u.event, s) : ST_INVALID_HANDLE;
    case RT_NODE_ALLOC: graph_memory_live(n->memory, true); return ST_OK;
    case RT_NODE_FREE: {
        struct allocation *a = allocation_at(n->p.u.free);
        return a && a->graph ? graph_memory_free(a->graph) : ST_INVALID_VALUE;
    }
    case RT_NODE_VALUES: return rt_stream_values(s, n->p.u.values.ops, n->p.u.values.n);
    case RT_NODE_CONDITION:
        op.kind = OP_CONDITION;
        op.u.condition = (struct condition_op){.node = n, .hold = h, .env = env};
        return push(s, &op);
    case RT_NODE_GRAPH: case RT_NODE_EMPTY: break;
    }
    return ST_OK;
}

static struct rt_stream *stream_in(struct rt_exec *x, struct rt_context *c)
{
    for (size_t i = 0; i < x->streams.n; i++) {
        struct own_stream *o = &x->streams.at[i];
        if (o->context == c && rt_is(o->stream, RT_STREAM) && rt_stream_id(o->stream) == o->id)
            return o->stream;
    }
    struct own_stream own = {.context = c};
    if (rt_stream_create(&own.stream, c, RT_STREAM_NON_BLOCKING, 0) != ST_OK)
        return NULL;
    own.id = rt_stream_id(own.stream);
    if (vec_push(&x->streams, own))
        return own.stream;
    (void)rt_stream_destroy(own.stream);
    return NULL;
}

/* What may have changed since the nodes were made: memory that was freed, memory of the last launch that was not, destroyed functions. */
static enum status check(const node_list *order, uint64_t flags)
{
    for (size_t i = 0; i < order->n; i++) {
        struct rt_node *n = order->at[i];
        if (n->p.type == RT_NODE_ALLOC && !n->memory->allocation)
            return ST_INVALID_VALUE;
        if (n->p.type == RT_NODE_ALLOC && n->memory->live) {
            if (!(flags & RT_EXEC_AUTO_FREE))
                return ST_INVALID_VALUE;
            graph_memory_live(n->memory, false);
        }
        bool run = !n->disabled;
        if (run && n->p.type == RT_NODE_KERNEL && !rt_is(n->p.u.kernel.launch.function, RT_FUNCTION))
            return ST_INVALID_HANDLE;
        if (run && (n->p.type == RT_NODE_COPY || n->p.type == RT_NODE_SET)) {
            enum status st = node_check(&n->p, NULL);
            if (st != ST_OK)
                return st;
        }
    }
    return ST_OK;
}

static enum status run_in(struct rt_exec *x, struct rt_stream *s, struct error *err)
{
    struct rt_stream *at = s;
    struct op *ends[2] = {0};
    struct graph_env *env = graph_device_launches(x->graph) ? graph_device_enter(x->hold, s, ends) : NULL;
    enum status st = x->last && x->last != s ? wait_for(s, x->last, x->last_seq) : ST_OK;
    if (st == ST_OK)
        st = conditions_begin(x->graph, s);
    for (size_t i = 0; i < x->order.n && st == ST_OK; i++) {
        struct rt_node *n = x->order.at[i];
        if (n->disabled)
            continue;
        struct rt_context *c = n->p.type == RT_NODE_KERNEL ? n->p.u.kernel.launch.function->module->context
                             : n->p.type == RT_NODE_RECORD && rt_is(n->p.u.event, RT_EVENT) ? rt_event_context(n->p.u.event) : at->context;
        struct rt_stream *next = c == s->context ? s : c == at->context ? at : stream_in(x, c);
        if (!next)
            st = ST_OUT_OF_MEMORY;
        else if (next != at)
            st = wait_for(next, at, seq_so_far());
        at = next ? next : at;
        if (st == ST_OK)
            st = enqueue(n, x->hold, env, at, err);
    }
    if (st == ST_OK && at != s)
        st = wait_for(s, at, seq_so_far());
    graph_device_leave(ends);
    x->last = s;
    x->last_seq = seq_so_far();
    return st;
}

/* The body of a condition: one context, as CUDA demands. */
enum status graph_run_nodes(struct rt_graph *g, struct graph_hold *h, struct graph_env *env, struct rt_stream *s, struct error *err)
{
    node_list order = {0};
    enum status st;
    struct rt_node *bad = unfold(g, &order, &st);
    if (bad)
        st = ST_INVALID_VALUE;
    if (st == ST_OK)
        st = check(&order, 0);
    if (st == ST_OK)
        st = conditions_begin(g, s);
    for (size_t i = 0; i < order.n && st == ST_OK; i++)
        if (!order.at[i]->disabled)
            st = enqueue(order.at[i], h, env, s, err);
    vec_free(&order);
    return st;
}

enum status rt_exec_launch(struct rt_exec *x, struct rt_stream *s, struct error *err)
{
    enum status st = context_status(s->context);
    if (st != ST_OK)
        return st;
    if (capture_any()) {
        struct rt_node_params p = {.type = RT_NODE_GRAPH, .context = s->context};
        p.u.child = x->graph;
        if (capture_take(s, &p, err, &st))
            return st;
    }
    st = check(&x->order, x->flags);
    if (st == ST_OK && x->hold->context)
        rt_exec_upload(x);
    return st == ST_OK ? run_in(x, s, err) : st;
}

/* ---- update ---- */

static void number(const struct rt_graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++)
        g->nodes.at[i]->mark = (uint32_t)i;
}

/* Nodes of numbered graphs. */
static bool same_order(const struct rt_node *m, const struct rt_node *n)
{
    if (m->before.n != n->before.n)
        return false;
    for (size_t i = 0; i < m->before.n; i++) {
        bool found = false;
        for (size_t k = 0; k < n->before.n && !found; k++)
            found = n->before.at[k]->mark == m->before.at[i]->mark;
        if (!found)
            return false;
    }
    return true;
}

static enum rt_update node_differs(const struct rt_node *m, const struct rt_node *n)
{
    if (m->p.type == RT_NODE_KERNEL && m->p.u.kernel.launch.function->module->context != n->p.u.kernel.launch.function->module->context)
        return RT_UPDATE_FUNCTION;
    if (m->p.type == RT_NODE_KERNEL && m->p.u.kernel.launch.cooperative != n->p.u.kernel.launch.cooperative)
        return RT_UPDATE_NOT_SUPPORTED;
    if (m->p.type == RT_NODE_ALLOC && (m->p.u.alloc.bytes != n->p.u.alloc.bytes || m->p.u.alloc.address != n->p.u.alloc.address))
        return RT_UPDATE_PARAMETERS;
    if (m->p.type == RT_NODE_FREE && m->p.u.free != n->p.u.free)
        return RT_UPDATE_PARAMETERS;
    if (m->p.type == RT_NODE_CONDITION && (m->p.u.condition.handle != n->p.u.condition.handle || m->p.u.condition.type != n->p.u.condition.type ||
                                           m->p.u.condition.n != n->p.u.condition.n))
        return RT_UPDATE_PARAMETERS;
    return RT_UPDATE_SUCCESS;
}

/* Nodes are paired in the order of their creation. */
static bool comparable(const struct rt_graph *mine, const struct rt_graph *g, struct rt_update_result *out)
{
    number(mine);
    number(g);
    for (size_t i = 0; i < g->nodes.n || i < mine->nodes.n; i++) {
        struct rt_node *n = i < g->nodes.n ? g->nodes.at[i] : NULL, *m = i < mine->nodes.n ? mine->nodes.at[i] : NULL;
        enum rt_update r = RT_UPDATE_SUCCESS;
        if (!n || !m)
            r = RT_UPDATE_TOPOLOGY;
        else if (n->p.type != m->p.type)
            r = RT_UPDATE_NODE_TYPE;
        else if (!same_order(m, n))
            r = RT_UPDATE_TOPOLOGY;
        else
            r = node_differs(m, n);
        if (r != RT_UPDATE_SUCCESS) {
            *out = (struct rt_update_result){r, n, NULL};
            return false;
        }
        if (n->p.type == RT_NODE_GRAPH && !comparable(m->p.u.child, n->p.u.child, out))
            return false;
        for (uint32_t k = 0; n->p.type == RT_NODE_CONDITION && k < n->p.u.condition.n; k++)
            if (!comparable(m->p.u.condition.bodies[k], n->p.u.condition.bodies[k], out))
                return false;
    }
    return true;
}

static enum status take_params(struct rt_graph *mine, const struct rt_graph *g, struct rt_update_result *out)
{
    enum status st = ST_OK;
    for (size_t i = 0; i < g->nodes.n && st == ST_OK; i++) {
        struct rt_node *n = g->nodes.at[i], *m = mine->nodes.at[i];
        if (n->p.type == RT_NODE_GRAPH)
            st = take_params(m->p.u.child, n->p.u.child, out);
        else if (n->p.type == RT_NODE_CONDITION)
            for (uint32_t k = 0; k < n->p.u.condition.n && st == ST_OK; k++)
                st = take_params(m->p.u.condition.bodies[k], n->p.u.condition.bodies[k], out);
        else if (n->p.type != RT_NODE_ALLOC && n->p.type != RT_NODE_FREE)
            st = rt_node_set_params(m, &n->p, NULL);
        if (st == ST_OK && n->p.type == RT_NODE_KERNEL)
            st = rt_node_copy_attributes(m, n);
        if (st != ST_OK && out->result == RT_UPDATE_SUCCESS)
            *out = (struct rt_update_result){RT_UPDATE_ERROR, n, NULL};
    }
    return st;
}

enum status rt_exec_update(struct rt_exec *x, struct rt_graph *g, struct rt_update_result *out)
{
    *out = (struct rt_update_result){.result = RT_UPDATE_SUCCESS};
    return comparable(x->graph, g, out) && take_params(x->graph, g, out) == ST_OK ? ST_OK : ST_GRAPH_EXEC_UPDATE_FAILURE;
}

enum status rt_exec_set_child(struct rt_node *n, struct rt_graph *g)
{
    struct rt_update_result r = {.result = RT_UPDATE_SUCCESS};
    if (n->p.type != RT_NODE_GRAPH || !comparable(n->p.u.child, g, &r))
        return ST_INVALID_VALUE;
    return take_params(n->p.u.child, g, &r);
}
