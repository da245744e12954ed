/* Graphs and their nodes. */
#include <string.h>

#include "interpose/copy.h"
#include "interpose/graph.h"
#include "interpose/launch.h"

enum status graph_check(CUgraph g) { return !rt_started() ? ST_NOT_INITIALIZED : rt_is(g, RT_GRAPH) ? ST_OK : ST_INVALID_VALUE; }

static enum status node_live(CUgraphNode n) { return !rt_started() ? ST_NOT_INITIALIZED : rt_is(n, RT_GRAPH_NODE) ? ST_OK : ST_INVALID_VALUE; }

enum status node_check_handle(CUgraphNode n, enum rt_node_type type)
{
    enum status st = node_live(n);
    return st == ST_OK && rt_node_params(n)->type != type ? ST_INVALID_VALUE : st;
}

/* ---- parameters ---- */

enum status graph_kernel(const CUDA_KERNEL_NODE_PARAMS *p, CUfunction func, const void *handle, struct rt_node_params *out)
{
    *out = (struct rt_node_params){.type = RT_NODE_KERNEL};
    if (p->params && p->extra)
        return ST_INVALID_VALUE;
    struct rt_launch *l = &out->u.kernel.launch;
    enum status st = api_function(func, &l->function);
    if (st != ST_OK)
        return st;
    out->u.kernel.handle = handle ? handle : func;
    memcpy(l->grid, p->grid, sizeof l->grid);
    memcpy(l->block, p->block, sizeof l->block);
    l->dynamic_shared_bytes = p->shared_bytes;
    l->params = (void *const *)p->params;
    return api_parameter_block(l, p->extra);
}

static enum status kernel_v1(const CUDA_KERNEL_NODE_PARAMS *p, struct rt_node_params *out) { return p ? graph_kernel(p, p->func, NULL, out) : ST_INVALID_VALUE; }

/* A kernel and its function may both be named: cudart does. */
static enum status kernel_v2(const CUDA_KERNEL_NODE_PARAMS *p, struct rt_node_params *out)
{
    return p ? graph_kernel(p, p->func ? p->func : (CUfunction)(void *)p->kern, p->kern, out) : ST_INVALID_VALUE;
}

enum status graph_copy_params(const struct rt_copy *c, struct rt_node_params *out)
{
    *out = (struct rt_node_params){.type = RT_NODE_COPY};
    out->u.copy = *c;
    return ST_OK;
}

static enum status copy_3d(const CUDA_MEMCPY3D *p, struct rt_node_params *out)
{
    struct rt_copy c;
    enum status st = api_copy_3d_shape(p, &c);
    return st == ST_OK ? graph_copy_params(&c, out) : st;
}

enum status graph_set_params(const CUDA_MEMSET_NODE_PARAMS *p, struct rt_node_params *out)
{
    if (!p)
        return ST_INVALID_VALUE;
    *out = (struct rt_node_params){.type = RT_NODE_SET};
    out->u.set.dst = p->dst, out->u.set.pitch = p->pitch, out->u.set.value = p->value, out->u.set.elem_bytes = p->elem_bytes;
    out->u.set.width = p->width, out->u.set.height = p->height;
    return ST_OK;
}

static enum status host(const CUDA_HOST_NODE_PARAMS *p, struct rt_node_params *out)
{
    if (!p)
        return ST_INVALID_VALUE;
    *out = (struct rt_node_params){.type = RT_NODE_HOST};
    out->u.host.fn = p->fn, out->u.host.user = p->user;
    return ST_OK;
}

static enum status event(CUevent e, enum rt_node_type type, struct rt_node_params *out)
{
    *out = (struct rt_node_params){.type = type};
    out->u.event = e;
    return ST_OK;
}

static enum status child(CUgraph g, struct rt_node_params *out)
{
    *out = (struct rt_node_params){.type = RT_NODE_GRAPH};
    out->u.child = g;
    return ST_OK;
}

static enum status alloc(const CUDA_MEM_ALLOC_NODE_PARAMS *p, struct rt_node_params *out)
{
    enum { PINNED = 1 };
    if (!p || p->pool.alloc_type != PINNED || (p->n_access && !p->access))
        return ST_INVALID_VALUE;
    if (p->pool.handle_types || p->pool.location.type != LOCATION_DEVICE)
        return ST_NOT_SUPPORTED;
    *out = (struct rt_node_params){.type = RT_NODE_ALLOC};
    out->u.alloc.bytes = p->bytes, out->u.alloc.device = p->pool.location.id;
    return ST_OK;
}

static enum status release(CUdeviceptr p, struct rt_node_params *out)
{
    *out = (struct rt_node_params){.type = RT_NODE_FREE};
    out->u.free = p;
    return ST_OK;
}

static enum status condition(const CUgraphNodeParams *p, struct rt_node_params *out)
{
    *out = (struct rt_node_params){.type = RT_NODE_CONDITION};
    out->u.condition.handle = p->u.condition.handle, out->u.condition.type = (enum rt_condition)p->u.condition.type, out->u.condition.n = p->u.condition.size;
    return ST_OK;
}

static enum status any(const CUgraphNodeParams *p, struct rt_node_params *out)
{
    enum { SEMAPHORES_SIGNAL = 8, SEMAPHORES_WAIT = 9 };     /* nothing here makes external semaphores */
    *out = (struct rt_node_params){.type = RT_NODE_EMPTY};
    if (!p)
        return ST_INVALID_VALUE;
    switch (p->type) {
    case RT_NODE_KERNEL: return kernel_v2(&p->u.kernel, out);
    case RT_NODE_COPY: return copy_3d(&p->u.copy.copy, out);
    case RT_NODE_SET: return graph_set_params(&p->u.set, out);
    case RT_NODE_HOST: return host(&p->u.host, out);
    case RT_NODE_GRAPH: return p->u.graph.ownership ? ST_NOT_SUPPORTED : child(p->u.graph.graph, out);
    case RT_NODE_EMPTY: return ST_OK;
    case RT_NODE_WAIT: case RT_NODE_RECORD: return event(p->u.event, (enum rt_node_type)p->type, out);
    case RT_NODE_ALLOC: return alloc(&p->u.alloc, out);
    case RT_NODE_FREE: return release(p->u.free, out);
    case RT_NODE_VALUES: return graph_values_params(&p->u.batch, out);
    case RT_NODE_CONDITION: return condition(p, out);
    default: return p->type == SEMAPHORES_SIGNAL || p->type == SEMAPHORES_WAIT ? ST_NOT_SUPPORTED : ST_INVALID_VALUE;
    }
}

/* ---- the calls ---- */

enum status graph_add(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n, struct rt_node_params *p)
{
    enum status st = graph_check(g);
    if (st == ST_OK)
        st = api_context(&p->context);
    if (st != ST_OK)
        return st;
    if (!out || (n && !deps))
        return ST_INVALID_VALUE;
    struct error err = {0};
    st = api_report(rt_node_add(out, g, deps, n, p, &err), &err);
    return st == ST_INVALID_CONFIGURATION ? ST_INVALID_VALUE : st;
}

enum status graph_set(CUgraphNode node, const struct rt_node_params *p)
{
    enum status st = node_live(node);
    struct error err = {0};
    return st == ST_OK ? api_report(rt_node_set_params(node, p, &err), &err) : st;
}

static enum status exec_node(CUgraphExec exec, CUgraphNode node, CUgraphNode *out)
{
    enum status st = node_live(node);
    if (st != ST_OK)
        return st;
    *out = rt_is(exec, RT_GRAPH_EXEC) ? rt_exec_node(exec, node) : NULL;
    return *out ? ST_OK : ST_INVALID_VALUE;
}

enum status graph_exec_set(CUgraphExec exec, CUgraphNode node, const struct rt_node_params *p)
{
    CUgraphNode own;
    enum status st = exec_node(exec, node, &own);
    if (st == ST_OK && p->type == RT_NODE_GRAPH)
        return rt_is(p->u.child, RT_GRAPH) ? rt_exec_set_child(own, p->u.child) : ST_INVALID_VALUE;
    return st == ST_OK ? graph_set(own, p) : st;
}

/* add, set and set in an exec, of parameters that `make` makes. */
static enum status added(enum status st, CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n, struct rt_node_params *p)
{
    return st == ST_OK ? graph_add(out, g, deps, n, p) : st;
}
static enum status set(enum status st, CUgraphNode node, const struct rt_node_params *p) { return st == ST_OK ? graph_set(node, p) : st; }
static enum status exec_set(enum status st, CUgraphExec x, CUgraphNode node, const struct rt_node_params *p) { return st == ST_OK ? graph_exec_set(x, node, p) : st; }

#define ADD(name, type, make)                                                                                             \
    enum status name(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n, type params)                    \
    {                                                                                                                    \
        struct rt_node_params p;                                                                                         \
        return added(make, out, graph, deps, n, &p);                                                                     \
    }
#define SET(name, type, make)                                                                                             \
    enum status name(CUgraphNode node, type params)                                                                       \
    {                                                                                                                    \
        struct rt_node_params p;                                                                                         \
        return set(make, node, &p);                                                                                      \
    }
#define EXEC_SET(name, type, make)                                                                                        \
    enum status name(CUgraphExec exec, CUgraphNode node, type params)                                                     \
    {                                                                                                                    \
        struct rt_node_params p;                                                                                         \
        return exec_set(make, exec, node, &p);                                                                           \
    }
ADD(cu_graph_add_kernel_node, const CUDA_KERNEL_NODE_PARAMS *, kernel_v1(params, &p))
ADD(cu_graph_add_kernel_node_v2, const CUDA_KERNEL_NODE_PARAMS *, kernel_v2(params, &p))
ADD(cu_graph_add_host_node, const CUDA_HOST_NODE_PARAMS *, host(params, &p))
ADD(cu_graph_add_child_graph_node, CUgraph, child(params, &p))
ADD(cu_graph_add_event_record_node, CUevent, event(params, RT_NODE_RECORD, &p))
ADD(cu_graph_add_event_wait_node, CUevent, event(params, RT_NODE_WAIT, &p))
ADD(cu_graph_add_mem_free_node, CUdeviceptr, release(params, &p))
SET(cu_graph_kernel_node_set_params, const CUDA_KERNEL_NODE_PARAMS *, kernel_v1(params, &p))
SET(cu_graph_kernel_node_set_params_v2, const CUDA_KERNEL_NODE_PARAMS *, kernel_v2(params, &p))
SET(cu_graph_memcpy_node_set_params, const CUDA_MEMCPY3D *, copy_3d(params, &p))
SET(cu_graph_memset_node_set_params, const CUDA_MEMSET_NODE_PARAMS *, graph_set_params(params, &p))
SET(cu_graph_host_node_set_params, const CUDA_HOST_NODE_PARAMS *, host(params, &p))
SET(cu_graph_event_record_node_set_event, CUevent, event(params, RT_NODE_RECORD, &p))
SET(cu_graph_event_wait_node_set_event, CUevent, event(params, RT_NODE_WAIT, &p))
EXEC_SET(cu_graph_exec_kernel_node_set_params, const CUDA_KERNEL_NODE_PARAMS *, kernel_v1(params, &p))
EXEC_SET(cu_graph_exec_kernel_node_set_params_v2, const CUDA_KERNEL_NODE_PARAMS *, kernel_v2(params, &p))
EXEC_SET(cu_graph_exec_host_node_set_params, const CUDA_HOST_NODE_PARAMS *, host(params, &p))
EXEC_SET(cu_graph_exec_child_graph_node_set_params, CUgraph, child(params, &p))
EXEC_SET(cu_graph_exec_event_record_node_set_event, CUevent, event(params, RT_NODE_RECORD, &p))
EXEC_SET(cu_graph_exec_event_wait_node_set_event, CUevent, event(params, RT_NODE_WAIT, &p))

enum status cu_graph_node_set_params(CUgraphNode node, CUgraphNodeParams *params)
{
    struct rt_node_params p;
    enum status st = set(any(params, &p), node, &p);
    graph_values_free(&p);
    return st;
}

enum status cu_graph_exec_node_set_params(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
    struct rt_node_params p;
    enum status st = exec_set(any(params, &p), exec, node, &p);
    graph_values_free(&p);
    return st;
}

/* Memory is in one address space: the context that a copy or a fill names says nothing. */
enum status cu_graph_add_memcpy_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n, const CUDA_MEMCPY3D *params, CUcontext ctx)
{
    struct rt_node_params p;
    (void)ctx;
    return added(copy_3d(params, &p), out, graph, deps, n, &p);
}

enum status cu_graph_add_memset_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx)
{
    struct rt_node_params p;
    (void)ctx;
    return added(graph_set_params(params, &p), out, graph, deps, n, &p);
}

enum status cu_graph_exec_memcpy_node_set_params(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *params, CUcontext ctx)
{
    struct rt_node_params p;
    (void)ctx;
    return exec_set(copy_3d(params, &p), exec, node, &p);
}

enum status cu_graph_exec_memset_node_set_params(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx)
{
    struct rt_node_params p;
    (void)ctx;
    return exec_set(graph_set_params(params, &p), exec, node, &p);
}

enum status cu_graph_add_empty_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n)
{
    return graph_add(out, graph, deps, n, &(struct rt_node_params){.type = RT_NODE_EMPTY});
}

enum status cu_graph_add_mem_alloc_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    struct rt_node_params p;
    enum status st = added(alloc(params, &p), out, graph, deps, n, &p);
    if (st == ST_OK)
        params->dptr = p.u.alloc.address;
    return st;
}

enum status cu_graph_add_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n, CUgraphNodeParams *params)
{
    struct rt_node_params p;
    enum status st = added(any(params, &p), out, graph, deps, n, &p);
    if (st == ST_OK && p.type == RT_NODE_ALLOC)
        params->u.alloc.dptr = p.u.alloc.address;
    if (st == ST_OK && p.type == RT_NODE_GRAPH)
        params->u.graph.graph = rt_node_params(*out)->u.child;
    if (st == ST_OK && p.type == RT_NODE_CONDITION)
        params->u.condition.bodies = p.u.condition.bodies;
    graph_values_free(&p);
    return st;
}

enum status cu_graph_add_node_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, const CUgraphEdgeData *edges, size_t n, CUgraphNodeParams *params)
{
    (void)edges;                               /* they may only loosen the order */
    return cu_graph_add_node(out, graph, deps, n, params);
}
