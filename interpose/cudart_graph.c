/* Runtime API: graphs, where it is not the driver's: kernels by host function, copies by other structs, signatures that changed between versions. */
#include "interpose/copy.h"
#include "interpose/cudart.h"
#include "interpose/graph.h"

enum { EDGES_ADDED = 13 };                     /* the version from which the plain names take edge data */

/* ---- kernels ---- */

static enum status kernel(const CUDA_KERNEL_NODE_PARAMS *p, struct rt_node_params *out)
{
    CUfunction f;
    if (!p)
        return ST_INVALID_VALUE;
    enum status st = cudart_function(p->func, &f);
    return st == ST_OK ? graph_kernel(p, f, p->func, out) : st;
}

enum status cuda_graph_add_kernel_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n, const CUDA_KERNEL_NODE_PARAMS *params)
{
    struct rt_node_params p;
    enum status st = kernel(params, &p);
    return st == ST_OK ? graph_add(out, graph, deps, n, &p) : st;
}

enum status cuda_graph_kernel_node_set_params(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
    struct rt_node_params p;
    enum status st = kernel(params, &p);
    return st == ST_OK ? graph_set(node, &p) : st;
}

enum status cuda_graph_exec_kernel_node_set_params(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
    struct rt_node_params p;
    enum status st = kernel(params, &p);
    return st == ST_OK ? graph_exec_set(exec, node, &p) : st;
}

/* ---- copies ---- */

static enum status box(const struct cudaMemcpy3DParms *c, struct rt_node_params *out)
{
    struct rt_copy copy;
    enum status st = cudart_copy_shape(c, &copy);
    return st == ST_OK ? graph_copy_params(&copy, out) : st;
}

static enum status line(uint64_t dst, uint64_t src, size_t count, int kind, struct rt_node_params *out)
{
    enum status st = cudart_directed(dst, src, kind);
    struct rt_copy copy = {.dst = dst, .src = src, .dst_pitch = count, .src_pitch = count, .dst_slice = count, .src_slice = count, .width = count, .height = 1, .depth = 1};
    return st == ST_OK ? graph_copy_params(&copy, out) : st;
}

static enum status to_symbol(const void *symbol, const void *src, size_t count, size_t offset, int kind, struct rt_node_params *out)
{
    uint64_t at;
    enum status st = cudart_symbol_part(symbol, offset, count, &at);
    return st == ST_OK ? line(at, (uintptr_t)src, count, kind, out) : st;
}

static enum status from_symbol(void *dst, const void *symbol, size_t count, size_t offset, int kind, struct rt_node_params *out)
{
    uint64_t at;
    enum status st = cudart_symbol_part(symbol, offset, count, &at);
    return st == ST_OK ? line((uintptr_t)dst, at, count, kind, out) : st;
}

/* add, set and set in an exec, of the parameters that `make` makes of `args`. */
#define COPIES(name, make, ...)                                                                                           \
    enum status cuda_graph_add_##name(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n, __VA_ARGS__)    \
    {                                                                                                                    \
        struct rt_node_params p;                                                                                         \
        enum status st = make;                                                                                           \
        return st == ST_OK ? graph_add(out, graph, deps, n, &p) : st;                                                    \
    }                                                                                                                    \
    enum status cuda_graph_set_##name(CUgraphNode node, __VA_ARGS__)                                                      \
    {                                                                                                                    \
        struct rt_node_params p;                                                                                         \
        enum status st = make;                                                                                           \
        return st == ST_OK ? graph_set(node, &p) : st;                                                                   \
    }                                                                                                                    \
    enum status cuda_graph_exec_set_##name(CUgraphExec exec, CUgraphNode node, __VA_ARGS__)                               \
    {                                                                                                                    \
        struct rt_node_params p;                                                                                         \
        enum status st = make;                                                                                           \
        return st == ST_OK ? graph_exec_set(exec, node, &p) : st;                                                        \
    }
COPIES(memcpy, box(params, &p), const struct cudaMemcpy3DParms *params)
COPIES(memcpy_1d, line((uintptr_t)dst, (uintptr_t)src, count, kind, &p), void *dst, const void *src, size_t count, int kind)
COPIES(memcpy_to_symbol, to_symbol(symbol, src, count, offset, kind, &p), const void *symbol, const void *src, size_t count, size_t offset, int kind)
COPIES(memcpy_from_symbol, from_symbol(dst, symbol, count, offset, kind, &p), void *dst, const void *symbol, size_t count, size_t offset, int kind)

enum status cuda_graph_memcpy_node_get_params(CUgraphNode node, struct cudaMemcpy3DParms *out)
{
    enum status st = node_check_handle(node, RT_NODE_COPY);
    if (st != ST_OK || !out)
        return st != ST_OK ? st : ST_INVALID_VALUE;
    const struct rt_copy *c = &rt_node_params(node)->u.copy;
    size_t src_rows = c->src_pitch ? c->src_slice / c->src_pitch : c->height, dst_rows = c->dst_pitch ? c->dst_slice / c->dst_pitch : c->height;
    *out = (struct cudaMemcpy3DParms){
        .src = {(void *)(uintptr_t)c->src, c->src_pitch, c->width, src_rows}, .dst = {(void *)(uintptr_t)c->dst, c->dst_pitch, c->width, dst_rows},
        .extent = {c->width, c->height, c->depth}, .kind = COPY_DEFAULT};
    return ST_OK;
}

enum status cuda_graph_add_memset_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n, const CUDA_MEMSET_NODE_PARAMS *params)
{
    return cu_graph_add_memset_node(out, graph, deps, n, params, NULL);
}

enum status cuda_graph_exec_memset_node_set_params(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params)
{
    return cu_graph_exec_memset_node_set_params(exec, node, params, NULL);
}

/* ---- nodes of any type ---- */

/* Kernels and copies are made here; the others have the driver's layout. */
static enum status any(struct cudaGraphNodeParams *p, struct rt_node_params *out, bool *made)
{
    *made = p && (p->type == RT_NODE_KERNEL || p->type == RT_NODE_COPY);
    if (!*made)
        return ST_OK;
    return p->type == RT_NODE_KERNEL ? kernel(&p->u.kernel, out) : box(&p->u.copy.copy, out);
}

enum status cuda_graph_add_node_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, const CUgraphEdgeData *edges, size_t n, struct cudaGraphNodeParams *params)
{
    struct rt_node_params p;
    bool made;
    enum status st = any(params, &p, &made);
    if (st != ST_OK)
        return st;
    return made ? graph_add(out, graph, deps, n, &p) : cu_graph_add_node_v2(out, graph, deps, edges, n, (CUgraphNodeParams *)(void *)params);
}

enum status cuda_graph_add_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, void *a, void *b, struct cudaGraphNodeParams *c)
{
    if (cudart_major() >= EDGES_ADDED)
        return cuda_graph_add_node_v2(out, graph, deps, a, (size_t)b, c);
    return cuda_graph_add_node_v2(out, graph, deps, NULL, (size_t)a, b);
}

enum status cuda_graph_node_set_params(CUgraphNode node, struct cudaGraphNodeParams *params)
{
    struct rt_node_params p;
    bool made;
    enum status st = any(params, &p, &made);
    if (st != ST_OK)
        return st;
    return made ? graph_set(node, &p) : cu_graph_node_set_params(node, (CUgraphNodeParams *)(void *)params);
}

enum status cuda_graph_exec_node_set_params(CUgraphExec exec, CUgraphNode node, struct cudaGraphNodeParams *params)
{
    struct rt_node_params p;
    bool made;
    enum status st = any(params, &p, &made);
    if (st != ST_OK)
        return st;
    return made ? graph_exec_set(exec, node, &p) : cu_graph_exec_node_set_params(exec, node, (CUgraphNodeParams *)(void *)params);
}

/* ---- signatures that changed ---- */

enum status cuda_graph_instantiate(CUgraphExec *out, CUgraph graph, uintptr_t flags_or_node, char *log, size_t bytes)
{
    enum { FLAGS_SINCE = 12 };
    if (cudart_major() >= FLAGS_SINCE)
        return graph_instantiate(out, graph, flags_or_node, NULL);
    return cu_graph_instantiate_v2(out, graph, (CUgraphNode *)flags_or_node, log, bytes);
}

enum status cuda_graph_exec_update(CUgraphExec exec, CUgraph graph, void *info_or_node, int *result)
{
    enum { INFO_SINCE = 12 };
    return cudart_major() >= INFO_SINCE ? cu_graph_exec_update_v2(exec, graph, info_or_node) : cu_graph_exec_update(exec, graph, info_or_node, result);
}

enum status cuda_graph_add_dependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, void *edges_or_n, size_t n)
{
    return cu_graph_add_dependencies(graph, from, to, cudart_major() >= EDGES_ADDED ? n : (size_t)edges_or_n);
}

enum status cuda_graph_remove_dependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, void *edges_or_n, size_t n)
{
    return cu_graph_remove_dependencies(graph, from, to, cudart_major() >= EDGES_ADDED ? n : (size_t)edges_or_n);
}

enum status cuda_graph_get_edges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, void *edges_or_n, size_t *n)
{
    bool edges = cudart_major() >= EDGES_ADDED;
    return cu_graph_get_edges_v2(graph, from, to, edges ? edges_or_n : NULL, edges ? n : edges_or_n);
}

enum status cuda_graph_node_get_dependencies(CUgraphNode node, CUgraphNode *nodes, void *edges_or_n, size_t *n)
{
    bool edges = cudart_major() >= EDGES_ADDED;
    return cu_graph_node_get_dependencies_v2(node, nodes, edges ? edges_or_n : NULL, edges ? n : edges_or_n);
}

enum status cuda_graph_node_get_dependent_nodes(CUgraphNode node, CUgraphNode *nodes, void *edges_or_n, size_t *n)
{
    bool edges = cudart_major() >= EDGES_ADDED;
    return cu_graph_node_get_dependent_nodes_v2(node, nodes, edges ? edges_or_n : NULL, edges ? n : edges_or_n);
}

enum status cuda_stream_update_capture_dependencies(CUstream stream, CUgraphNode *deps, void *edges_or_n, size_t n_or_flags, unsigned flags)
{
    if (cudart_major() >= EDGES_ADDED)
        return cu_stream_update_capture_dependencies(stream, deps, n_or_flags, flags);
    return cu_stream_update_capture_dependencies(stream, deps, (size_t)edges_or_n, (unsigned)n_or_flags);
}
