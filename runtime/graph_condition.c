/* Conditions of graphs: values that kernels set, and nodes that run one of their bodies, or one again and again, by such a value.
 *
 * What a condition node does is only known when its stream gets there: its operation then enqueues a body in a stream of its own, and stays at the head
 * of the queue until that has run. */
#include <stdlib.h>
#include <string.h>

#include "runtime/graph_internal.h"

/* ---- values ---- */

enum status rt_condition_create(uint64_t *handle, struct rt_graph *g, struct rt_context *c, uint32_t value, bool assign)
{
    struct graph_condition *k = calloc(1, sizeof *k);
    if (!k || !vec_reserve(&g->conditions, g->conditions.n + 1)) {
        free(k);
        return ST_OUT_OF_MEMORY;
    }
    /* Of no context: it lives as long as the graphs. */
    struct allocation_request q = {.device = c->device, .kind = RT_MEMORY_VARIABLE, .bytes = sizeof(uint32_t), .what = "condition of a graph"};
    enum status st = allocation_make(&k->allocation, &q, NULL);
    if (st != ST_OK) {
        free(k);
        return st;
    }
    k->refs = 1;
    k->value = value;
    k->assign = assign;
    g->conditions.at[g->conditions.n++] = k;
    *handle = k->allocation->base;
    return ST_OK;
}

bool condition_of(const struct rt_graph *g, uint64_t handle)
{
    for (; g; g = g->owner ? g->owner->graph : NULL)
        for (size_t i = 0; i < g->conditions.n; i++)
            if (g->conditions.at[i]->allocation->base == handle)
                return true;
    return false;
}

enum status conditions_share(struct rt_graph *to, const struct rt_graph *from)
{
    for (size_t i = 0; i < from->conditions.n; i++) {
        if (!vec_push(&to->conditions, from->conditions.at[i]))
            return ST_OUT_OF_MEMORY;
        pthread_mutex_lock(&the.memory);
        from->conditions.at[i]->refs++;
        pthread_mutex_unlock(&the.memory);
    }
    return ST_OK;
}

void conditions_drop(struct rt_graph *g)
{
    for (size_t i = 0; i < g->conditions.n; i++) {
        struct graph_condition *k = g->conditions.at[i];
        pthread_mutex_lock(&the.memory);
        bool last = --k->refs == 0;
        pthread_mutex_unlock(&the.memory);
        if (!last)
            continue;
        allocation_drop(k->allocation);
        free(k);
    }
    vec_free(&g->conditions);
}

enum status conditions_begin(const struct rt_graph *g, struct rt_stream *s)
{
    enum status st = ST_OK;
    for (size_t i = 0; i < g->conditions.n && st == ST_OK; i++)
        if (g->conditions.at[i]->assign)
            st = rt_stream_write_value(s, g->conditions.at[i]->allocation->base, g->conditions.at[i]->value, sizeof(uint32_t));
    return st;
}

/* ---- nodes ---- */

enum status condition_check(const struct rt_node_params *p)
{
    uint32_t n = p->u.condition.n;
    switch (p->u.condition.type) {
    case RT_CONDITION_IF: return n == 1 || n == 2 ? ST_OK : ST_INVALID_VALUE;
    case RT_CONDITION_WHILE: return n == 1 ? ST_OK : ST_INVALID_VALUE;
    case RT_CONDITION_SWITCH: return n ? ST_OK : ST_INVALID_VALUE;
    }
    return ST_INVALID_VALUE;
}

void condition_bodies_drop(struct rt_node *n)
{
    for (uint32_t i = 0; n->p.u.condition.bodies && i < n->p.u.condition.n; i++)
        if (n->p.u.condition.bodies[i])
            graph_drop(n->p.u.condition.bodies[i]);
    free(n->p.u.condition.bodies);
    n->p.u.condition.bodies = NULL;
}

/* Empty ones, or copies of those that p has. */
enum status condition_bodies_make(struct rt_node *n, const struct rt_node_params *p, bool copy)
{
    enum { MOST = 1 << 16 };
    enum status st = p->u.condition.n <= MOST ? ST_OK : ST_INVALID_VALUE;
    n->p.u.condition.bodies = st == ST_OK ? calloc(p->u.condition.n, sizeof *n->p.u.condition.bodies) : NULL;
    if (!n->p.u.condition.bodies)
        return st != ST_OK ? st : ST_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < p->u.condition.n && st == ST_OK; i++) {
        struct rt_graph **body = &n->p.u.condition.bodies[i];
        st = copy ? graph_copy(body, p->u.condition.bodies[i], true) : rt_graph_create(body);
        if (st == ST_OK)
            (*body)->owner = n;
    }
    if (st != ST_OK)
        condition_bodies_drop(n);
    return st;
}

/* ---- execution ---- */

bool graph_condition_ready(const struct op *op)
{
    const struct condition_op *c = &op->u.condition;
    return (!c->body || fifo_clear(c->body, c->body_seq)) && (c->node || graph_device_alone(c->env));
}

/* NULL: none, or none any more. */
static struct rt_graph *body_now(const struct condition_op *c)
{
    const struct rt_node_params *p = &c->node->p;
    uint32_t value = __atomic_load_n((uint32_t *)(uintptr_t)p->u.condition.handle, __ATOMIC_ACQUIRE), n = p->u.condition.n;
    if (c->ran && p->u.condition.type != RT_CONDITION_WHILE)
        return NULL;
    switch (p->u.condition.type) {
    case RT_CONDITION_IF: return value ? p->u.condition.bodies[0] : n > 1 ? p->u.condition.bodies[1] : NULL;
    case RT_CONDITION_WHILE: return value ? p->u.condition.bodies[0] : NULL;
    case RT_CONDITION_SWITCH: return value < n ? p->u.condition.bodies[value] : NULL;
    }
    return NULL;
}

bool graph_condition_turn(struct op *op)
{
    struct condition_op *c = &op->u.condition;
    struct rt_context *context = op->stream->context;
    struct rt_graph *body = c->node ? body_now(c) : graph_device_next(c->env);
    if (!body)
        return false;
    struct error err = {0};
    struct rt_stream *s = c->body;
    enum status st = s ? ST_OK : rt_stream_create(&s, context, RT_STREAM_NON_BLOCKING, op->stream->priority);
    if (st == ST_OK)
        st = graph_run_nodes(body, c->node ? c->hold : graph_device_hold(c->env), c->env, s, &err);
    pthread_mutex_lock(&the.lock);
    if (s)
        s->green = op->stream->green;
    c->body = s;
    c->body_seq = seq_next();
    c->ran = true;
    pthread_mutex_unlock(&the.lock);
    if (st == ST_OK)
        return true;
    log_error("%s: %s", c->node ? "the body of a conditional node" : "a graph that a kernel launched", err.text[0] ? err.text : status_text(st));
    context_poison(context, st);
    return false;
}

void graph_condition_done(struct op *op)
{
    struct condition_op *c = &op->u.condition;
    if (c->body)
        (void)rt_stream_destroy(c->body);
    c->node ? graph_unhold(c->hold) : graph_device_done(c->env);
}
