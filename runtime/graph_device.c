/* Graphs that kernels launch.
 *
 * A graph whose kernels may do so runs in an environment: its nodes, and the environments of what they launch beside it (fire and forget). When all those have ended,
 * the graph that they launched to come behind them (tail) takes the environment over. What they launch as a sibling runs in the environment around theirs. A launch by
 * the host has two, that of its graph and one around it.
 *
 * What ends an environment is a condition without a node: an operation that enqueues one graph after the other while there are any. It stands behind the nodes of a
 * host's launch, and alone in a stream of its own otherwise. */
#include <stdlib.h>
#include <string.h>

#include "runtime/graph_internal.h"

enum { MOST_BESIDE = 120, MOST_TAILS = 255 };  /* as CUDA has it */
enum { TAIL = 1, BESIDE = 2, SIBLING = 3, HOW_SHIFT = 56 };      /* of the streams by which kernels name them */

/* All under the.lock. */
struct graph_env {
    struct graph_env *around;                  /* NULL: around a host's launch */
    struct graph_hold *hold;                   /* the graph whose turn it is; NULL: it has none */
    uint32_t refs;                             /* what ends it, and environments in it */
    uint32_t beside;                           /* launches of its graph so far */
    bool ran;
    VEC(struct graph_hold *) tails;
    size_t tail_at;                            /* those of the graph whose turn it is go before those of graphs before it */
};

static struct op *waiting, **waiting_end = &waiting;      /* what ends environments that have no stream yet; through next */

/* ---- which graphs ---- */

static bool node_allowed(const struct rt_node *n)
{
    const struct rt_copy *c = &n->p.u.copy;
    if (n->p.type == RT_NODE_COPY)             /* what the host can page out is no matter of a device */
        return memory_place(c->dst, c->width) != PLACE_PAGEABLE && memory_place(c->src, c->width) != PLACE_PAGEABLE;
    return n->p.type == RT_NODE_KERNEL || n->p.type == RT_NODE_SET;
}

enum status graph_device_check(const node_list *order, struct rt_context **context, struct rt_node **bad)
{
    for (size_t i = 0; i < order->n; i++) {
        struct rt_node *n = order->at[i];
        struct rt_context *its = n->p.type == RT_NODE_KERNEL ? n->p.u.kernel.launch.function->module->context : n->p.context;
        *bad = n;
        if (!node_allowed(n))
            return ST_NOT_SUPPORTED;
        if (*context && its != *context)
            return ST_INVALID_CONTEXT;
        *context = its;
    }
    *bad = NULL;
    return order->n ? ST_OK : ST_INVALID_VALUE;
}

bool graph_device_launches(const struct rt_graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        const struct rt_node_params *p = &g->nodes.at[i]->p;
        if (p->type == RT_NODE_KERNEL && rt_is(p->u.kernel.launch.function, RT_FUNCTION) && p->u.kernel.launch.function->module->launches_graphs)
            return true;
        if (p->type == RT_NODE_GRAPH && graph_device_launches(p->u.child))
            return true;
        for (uint32_t k = 0; p->type == RT_NODE_CONDITION && k < p->u.condition.n; k++)
            if (graph_device_launches(p->u.condition.bodies[k]))
                return true;
    }
    return false;
}

uint64_t graph_device_current(const struct op *op)
{
    const struct graph_env *env = op->u.launch.env;
    pthread_mutex_lock(&the.lock);
    uint64_t current = env && env->hold && env->hold->context ? (uintptr_t)env->hold->exec : 0;
    pthread_mutex_unlock(&the.lock);
    return current;
}

/* ---- environments. Under the.lock ---- */

static struct graph_env *env_new(struct graph_env *around, struct graph_hold *hold)
{
    struct graph_env *env = calloc(1, sizeof *env);
    if (!env)
        return NULL;
    *env = (struct graph_env){.around = around, .hold = hold, .refs = 1};
    if (around)
        around->refs++;
    if (hold) {
        hold->refs++;
        hold->runs++;
    }
    return env;
}

/* One that has no graph any more. */
static void env_unref(struct graph_env *env)
{
    while (env && --env->refs == 0) {
        struct graph_env *around = env->around;
        vec_free(&env->tails);
        free(env);
        env = around;
    }
}

static struct op *end_new(struct rt_stream *s, struct graph_env *env)
{
    struct op *op = env ? op_new(s, OP_CONDITION) : NULL;
    if (op)
        op->u.condition = (struct condition_op){.env = env};
    return op;
}

/* The graph that had it; its reference is the caller's. */
static struct graph_hold *env_leave(struct graph_env *env)
{
    struct graph_hold *hold = env->hold;
    env->hold = NULL;
    if (hold)
        hold->runs--;
    return hold;
}

bool graph_device_alone(const struct graph_env *env) { return env->refs == 1; }
struct graph_hold *graph_device_hold(const struct graph_env *env) { return env->hold; }

/* ---- launches by the host ---- */

struct graph_env *graph_device_enter(struct graph_hold *h, struct rt_stream *s, struct op *ends[2])
{
    pthread_mutex_lock(&the.lock);
    struct graph_env *outer = env_new(NULL, NULL), *env = outer ? env_new(outer, h) : NULL;
    ends[0] = end_new(s, env);
    ends[1] = end_new(s, outer);
    bool ok = ends[0] && ends[1];
    if (ok) {
        env->ran = true;                       /* the caller enqueues its nodes */
    } else {
        for (int i = 0; i < 2; i++)
            if (ends[i])
                op_drop(ends[i]);
        if (env) {
            env_leave(env)->refs--;            /* the exec's own is there */
            env_unref(env);
        }
        env_unref(outer);
        ends[0] = ends[1] = NULL;
    }
    pthread_mutex_unlock(&the.lock);
    return ok ? env : NULL;
}

void graph_device_leave(struct op *ends[2])
{
    pthread_mutex_lock(&the.lock);
    for (int i = 0; i < 2 && ends[i]; i++)
        op_push(ends[i]);
    pthread_mutex_unlock(&the.lock);
}

/* ---- launches by kernels. Under the.lock ---- */

static struct graph_hold *launched_by(const struct op *by, uint64_t graph)
{
    const struct graph_env *env = by->u.launch.env;
    const void *exec = (const void *)(uintptr_t)graph;
    if (!env || !env->hold || !rt_is(exec, RT_GRAPH_EXEC))
        return NULL;
    struct graph_hold *h = graph_hold_of(exec);
    return h->context && h->uploaded && h->context->device == by->stream->context->device ? h : NULL;
}

static bool has_tail(const struct graph_env *env, const struct graph_hold *h)
{
    for (size_t i = 0; i < env->tails.n; i++)
        if (env->tails.at[i] == h)
            return true;
    return false;
}

enum status graph_device_may(const struct op *by, uint64_t graph, uint64_t stream, const struct graph_asked *before, size_t n)
{
    const struct graph_hold *h = launched_by(by, graph);
    const struct graph_env *env = by->u.launch.env;
    uint64_t how = stream >> HOW_SHIFT;
    bool again = false;                        /* asked for by this very kernel, where a debugger keeps that back */
    for (size_t i = 0; i < n; i++)
        again |= before[i].graph == graph && (before[i].stream >> HOW_SHIFT == TAIL) == (how == TAIL);
    if (!h || how < TAIL || how > SIBLING || stream << (64 - HOW_SHIFT))
        return ST_INVALID_VALUE;
    if (how == TAIL)                           /* itself once: what has not begun cannot be told from it */
        return env->tails.n >= MOST_TAILS ? ST_LAUNCH_PENDING_COUNT_EXCEEDED : h == env->hold && (again || has_tail(env, h)) ? ST_INVALID_VALUE : ST_OK;
    if (h->runs || again)                      /* a graph runs once at a time */
        return ST_INVALID_VALUE;
    return (how == SIBLING ? env->around : env)->beside >= MOST_BESIDE ? ST_LAUNCH_PENDING_COUNT_EXCEEDED : ST_OK;
}

enum status graph_device_launch(const struct op *by, uint64_t graph, uint64_t stream)
{
    enum status st = graph_device_may(by, graph, stream, NULL, 0);
    if (st != ST_OK)
        return st;
    struct graph_env *env = by->u.launch.env;
    struct graph_hold *h = launched_by(by, graph);
    if (stream >> HOW_SHIFT == TAIL) {
        if (!vec_reserve(&env->tails, env->tails.n + 1))
            return ST_OUT_OF_MEMORY;
        memmove(env->tails.at + env->tail_at + 1, env->tails.at + env->tail_at, (env->tails.n++ - env->tail_at) * sizeof *env->tails.at);
        env->tails.at[env->tail_at++] = h;
        h->refs++;
        return ST_OK;
    }
    struct graph_env *around = stream >> HOW_SHIFT == SIBLING ? env->around : env, *its = env_new(around, h);
    struct op *end = end_new(by->stream, its);
    if (!end && its) {
        env_leave(its)->refs--;
        env_unref(its);
    }
    if (!end)
        return ST_OUT_OF_MEMORY;
    around->beside++;
    *waiting_end = end;
    waiting_end = &end->next;
    return ST_OK;
}

bool graph_device_waits(void) { return waiting != NULL; }

/* ---- the queue's part. Without locks ---- */

void graph_device_begin(void)
{
    pthread_mutex_lock(&the.lock);
    struct op *op = waiting;
    waiting = op->next;
    if (!waiting)
        waiting_end = &waiting;
    op->next = NULL;
    pthread_mutex_unlock(&the.lock);
    struct rt_context *context = op->u.condition.env->hold->context;
    struct rt_stream *s;
    enum status st = rt_stream_create(&s, context, RT_STREAM_NON_BLOCKING, op->stream->priority);
    if (st != ST_OK) {
        log_error("a graph that a kernel launched: %s", status_text(st));
        context_poison(context, st);
        graph_condition_done(op);
    }
    pthread_mutex_lock(&the.lock);
    if (st == ST_OK) {
        s->green = op->stream->green;
        op->stream = s;
    }
    st == ST_OK ? op_push(op) : op_drop(op);
    pthread_mutex_unlock(&the.lock);
    if (st == ST_OK)
        (void)rt_stream_destroy(s);            /* it goes with the operation */
}

struct rt_graph *graph_device_next(struct graph_env *env)
{
    struct graph_hold *before = NULL;
    pthread_mutex_lock(&the.lock);
    bool next = env->hold && !env->ran;
    if (!next && env->tails.n) {
        next = true;
        before = env_leave(env);
        env->hold = env->tails.at[0];
        env->hold->runs++;
        memmove(env->tails.at, env->tails.at + 1, --env->tails.n * sizeof *env->tails.at);
        env->tail_at = env->beside = 0;
    }
    env->ran = true;
    pthread_mutex_unlock(&the.lock);
    if (before)
        graph_unhold(before);
    return next ? env->hold->graph : NULL;
}

void graph_device_done(struct graph_env *env)
{
    pthread_mutex_lock(&the.lock);
    struct graph_hold *hold = env_leave(env);
    struct graph_hold **tails = env->tails.at;
    size_t n = env->tails.n;
    env->tails.at = NULL;
    vec_free(&env->tails);
    env_unref(env);
    pthread_mutex_unlock(&the.lock);
    if (hold)
        graph_unhold(hold);
    for (size_t i = 0; i < n; i++)             /* a context that has failed drops them */
        graph_unhold(tails[i]);
    free(tails);
}
