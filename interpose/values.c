/* Batches of memory operations: in a stream and as nodes of graphs; conditions of graphs. */
#include <stdlib.h>
#include <string.h>

#include "interpose/graph.h"

/* CUstreamBatchMemOpType. */
enum { WAIT_32 = 1, WRITE_32 = 2, FLUSH = 3, WAIT_64 = 4, WRITE_64 = 5, BARRIER = 6 };
enum { MOST_OPS = 256 };

/* The low bits of a wait's flags say how to compare; a flush flag above them needs nothing here. */
enum status api_compare(unsigned flags, enum rt_compare *how)
{
    static const enum rt_compare hows[] = {RT_GEQ, RT_EQ, RT_AND, RT_NOR};
    enum { COMPARE = 3, FLUSH_FLAG = 1 << 30 };
    *how = hows[flags & COMPARE];
    return flags & ~(unsigned)(COMPARE | FLUSH_FLAG) ? ST_INVALID_VALUE : ST_OK;
}

/* Flushes and barriers are left out: everything is in order. */
static enum status convert(const CUstreamBatchMemOpParams *from, struct rt_value_op *to, size_t *n)
{
    enum { NO_MEMORY_BARRIER = 1, GPU_SCOPE = 1 };
    bool wait = from->operation == WAIT_32 || from->operation == WAIT_64, wide = from->operation == WAIT_64 || from->operation == WRITE_64;
    switch (from->operation) {
    case WAIT_32: case WAIT_64: case WRITE_32: case WRITE_64:
        *to = (struct rt_value_op){.address = from->value.address, .value = wide ? from->value.value : (uint32_t)from->value.value, .bytes = wide ? 8 : 4, .wait = wait};
        ++*n;
        return wait ? api_compare(from->value.flags, &to->how) : from->value.flags & ~(unsigned)NO_MEMORY_BARRIER ? ST_INVALID_VALUE : ST_OK;
    case FLUSH: return from->barrier.flags ? ST_INVALID_VALUE : ST_OK;
    case BARRIER: return from->barrier.flags & ~(unsigned)GPU_SCOPE ? ST_INVALID_VALUE : ST_OK;
    default: return ST_INVALID_VALUE;
    }
}

enum status graph_values_params(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, struct rt_node_params *out)
{
    *out = (struct rt_node_params){.type = RT_NODE_VALUES};
    if (!p || !p->count || p->count > MOST_OPS || !p->ops || p->flags)
        return ST_INVALID_VALUE;
    struct rt_value_op *ops = calloc(p->count, sizeof *ops);
    if (!ops)
        return ST_OUT_OF_MEMORY;
    out->u.values.ops = ops;
    out->u.values.given = p->ops;
    out->u.values.given_bytes = p->count * sizeof *p->ops;
    enum status st = ST_OK;
    for (unsigned i = 0; i < p->count && st == ST_OK; i++)
        st = convert(&p->ops[i], &ops[out->u.values.n], &out->u.values.n);
    if (st != ST_OK)
        graph_values_free(out);
    return st;
}

void graph_values_free(struct rt_node_params *p)
{
    if (p->type != RT_NODE_VALUES)
        return;
    free((void *)(uintptr_t)p->u.values.ops);
    p->u.values.ops = NULL;
}

enum status cu_stream_batch_mem_op(CUstream stream, unsigned count, CUstreamBatchMemOpParams *ops, unsigned flags)
{
    struct rt_stream *s;
    struct rt_node_params p;
    enum status st = api_stream(stream, &s);
    if (st == ST_OK)
        st = graph_values_params(&(CUDA_BATCH_MEM_OP_NODE_PARAMS){.count = count, .ops = ops, .flags = flags}, &p);
    if (st != ST_OK)
        return st;
    st = rt_stream_values(s, p.u.values.ops, p.u.values.n);
    graph_values_free(&p);
    return st;
}

/* ---- nodes ---- */

enum status cu_graph_add_batch_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n, const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    struct rt_node_params p;
    enum status st = graph_values_params(params, &p);
    if (st == ST_OK)
        st = graph_add(out, graph, deps, n, &p);
    graph_values_free(&p);
    return st;
}

enum status cu_graph_batch_node_set_params(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    struct rt_node_params p;
    enum status st = graph_values_params(params, &p);
    if (st == ST_OK)
        st = graph_set(node, &p);
    graph_values_free(&p);
    return st;
}

enum status cu_graph_exec_batch_node_set_params(CUgraphExec exec, CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    struct rt_node_params p;
    enum status st = graph_values_params(params, &p);
    if (st == ST_OK)
        st = graph_exec_set(exec, node, &p);
    graph_values_free(&p);
    return st;
}

enum status cu_graph_batch_node_get_params(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *out)
{
    enum status st = node_check_handle(node, RT_NODE_VALUES);
    if (st != ST_OK || !out)
        return st != ST_OK ? st : ST_INVALID_VALUE;
    const struct rt_node_params *p = rt_node_params(node);
    *out = (CUDA_BATCH_MEM_OP_NODE_PARAMS){.ctx = p->context, .count = (unsigned)(p->u.values.given_bytes / sizeof *out->ops),
                                           .ops = (CUstreamBatchMemOpParams *)(uintptr_t)p->u.values.given};
    return ST_OK;
}

/* ---- conditions ---- */

enum status cu_graph_condition_create(uint64_t *handle, CUgraph graph, CUcontext ctx, unsigned value, unsigned flags)
{
    enum { ASSIGN_DEFAULT = 1 };
    struct rt_context *c;
    enum status st = graph_check(graph);
    if (st == ST_OK)
        st = api_context_or_current(ctx, &c);
    if (st != ST_OK)
        return st;
    return handle && !(flags & ~(unsigned)ASSIGN_DEFAULT) ? rt_condition_create(handle, graph, c, value, flags & ASSIGN_DEFAULT) : ST_INVALID_VALUE;
}

enum status cuda_graph_condition_create(uint64_t *handle, CUgraph graph, unsigned value, unsigned flags)
{
    return cu_graph_condition_create(handle, graph, NULL, value, flags);
}
