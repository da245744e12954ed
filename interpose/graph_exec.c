/* Graphs: instantiation, launch, update. */
#include "interpose/graph.h"

static enum status exec_check(CUgraphExec x) { return !rt_started() ? ST_NOT_INITIALIZED : rt_is(x, RT_GRAPH_EXEC) ? ST_OK : ST_INVALID_VALUE; }

enum status graph_instantiate(CUgraphExec *out, CUgraph graph, uint64_t flags, CUgraphNode *bad)
{
    enum { FLAGS = RT_EXEC_AUTO_FREE | RT_EXEC_UPLOAD | RT_EXEC_DEVICE_LAUNCH | RT_EXEC_NODE_PRIORITY };
    CUgraphNode none;
    enum status st = graph_check(graph);
    if (st != ST_OK)
        return st;
    if (!out || flags & ~(uint64_t)FLAGS)
        return ST_INVALID_VALUE;
    return rt_exec_create(out, graph, flags, bad ? bad : &none);
}

enum status cu_graph_instantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node, char *log, size_t bytes)
{
    CUgraphNode bad = NULL;
    enum status st = graph_instantiate(out, graph, 0, &bad);
    if (log && bytes)
        log[0] = '\0';
    if (error_node)
        *error_node = bad;
    return st;
}

enum status cu_graph_instantiate_with_flags(CUgraphExec *out, CUgraph graph, uint64_t flags) { return graph_instantiate(out, graph, flags, NULL); }

enum status cu_graph_instantiate_with_params(CUgraphExec *out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    enum { SUCCESS, ERROR, INVALID_STRUCTURE, NODE_NOT_SUPPORTED, CONTEXTS_NOT_SUPPORTED };
    if (!params)
        return ST_INVALID_VALUE;
    CUgraphNode bad = NULL;
    enum status st = graph_instantiate(out, graph, params->flags, &bad);
    params->error_node = bad;
    params->result = st == ST_OK ? SUCCESS : st == ST_NOT_SUPPORTED ? NODE_NOT_SUPPORTED : st == ST_INVALID_CONTEXT ? CONTEXTS_NOT_SUPPORTED : bad ? INVALID_STRUCTURE : ERROR;
    return st == ST_INVALID_CONTEXT ? ST_INVALID_VALUE : st;
}

enum status cu_graph_exec_destroy(CUgraphExec exec)
{
    enum status st = exec_check(exec);
    return st == ST_OK ? rt_exec_destroy(exec) : st;
}

enum status cu_graph_exec_get_flags(CUgraphExec exec, uint64_t *flags)
{
    enum status st = exec_check(exec);
    if (st != ST_OK || !flags)
        return st != ST_OK ? st : ST_INVALID_VALUE;
    *flags = rt_exec_flags(exec);
    return ST_OK;
}

enum status cu_graph_launch(CUgraphExec exec, CUstream stream)
{
    struct rt_stream *s;
    enum status st = exec_check(exec);
    if (st == ST_OK)
        st = api_stream(stream, &s);
    struct error err = {0};
    return st == ST_OK ? api_report(rt_exec_launch(exec, s, &err), &err) : st;
}

/* What a graph needs is on the device from the start, but kernels may not launch it sooner. */
enum status cu_graph_upload(CUgraphExec exec, CUstream stream)
{
    struct rt_stream *s;
    enum status st = exec_check(exec);
    if (st == ST_OK)
        st = api_stream(stream, &s);
    if (st == ST_OK)
        rt_exec_upload(exec);
    return st;
}

enum status cu_graph_exec_update_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    enum status st = exec_check(exec);
    if (st == ST_OK)
        st = graph_check(graph);
    if (st != ST_OK)
        return st;
    if (!info)
        return ST_INVALID_VALUE;
    struct rt_update_result r;
    st = rt_exec_update(exec, graph, &r);
    *info = (CUgraphExecUpdateResultInfo){(int)r.result, r.node, r.from};
    return st;
}

enum status cu_graph_exec_update(CUgraphExec exec, CUgraph graph, CUgraphNode *error_node, int *result)
{
    CUgraphExecUpdateResultInfo info = {0};
    enum status st = cu_graph_exec_update_v2(exec, graph, &info);
    if (error_node)
        *error_node = info.error_node;
    if (result)
        *result = info.result;
    return st;
}

static enum status node_of(CUgraphExec exec, CUgraphNode node, CUgraphNode *own)
{
    enum status st = exec_check(exec);
    if (st != ST_OK)
        return st;
    *own = rt_is(node, RT_GRAPH_NODE) ? rt_exec_node(exec, node) : NULL;
    return *own ? ST_OK : ST_INVALID_VALUE;
}

enum status cu_graph_node_set_enabled(CUgraphExec exec, CUgraphNode node, unsigned is_enabled)
{
    CUgraphNode own;
    enum status st = node_of(exec, node, &own);
    return st == ST_OK ? rt_node_enable(own, is_enabled != 0) : st;
}

enum status cu_graph_node_get_enabled(CUgraphExec exec, CUgraphNode node, unsigned *is_enabled)
{
    CUgraphNode own;
    enum status st = node_of(exec, node, &own);
    if (st != ST_OK || !is_enabled)
        return st != ST_OK ? st : ST_INVALID_VALUE;
    *is_enabled = rt_node_enabled(own);
    return ST_OK;
}
