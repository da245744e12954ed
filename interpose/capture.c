/* Capture of streams. */
#include "interpose/graph.h"

static enum status begin(CUstream stream, CUgraph graph, const CUgraphNode *deps, size_t n, int mode)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    return mode < RT_CAPTURE_GLOBAL || mode > RT_CAPTURE_RELAXED ? ST_INVALID_VALUE : rt_capture_begin(s, (enum rt_capture_mode)mode, graph, deps, n);
}

enum status cu_stream_begin_capture_v2(CUstream stream, int mode) { return begin(stream, NULL, NULL, 0, mode); }
enum status cu_stream_begin_capture(CUstream stream) { return begin(stream, NULL, NULL, 0, RT_CAPTURE_GLOBAL); }

enum status cu_stream_begin_capture_to_graph(CUstream stream, CUgraph graph, const CUgraphNode *deps, const CUgraphEdgeData *edges, size_t n, int mode)
{
    (void)edges;
    enum status st = graph_check(graph);
    return st != ST_OK ? st : n && !deps ? ST_INVALID_VALUE : begin(stream, graph, deps, n, mode);
}

enum status cu_stream_end_capture(CUstream stream, CUgraph *out)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    return st == ST_OK ? rt_capture_end(s, out) : st;
}

static enum status info_of(CUstream stream, struct rt_capture_info *info)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    return st == ST_OK ? rt_capture_info(s, info) : st;
}

enum status cu_stream_is_capturing(CUstream stream, int *capture_status)
{
    struct rt_capture_info i;
    enum status st = info_of(stream, &i);
    if (st != ST_OK || !capture_status)
        return st != ST_OK ? st : ST_INVALID_VALUE;
    *capture_status = i.status;
    return ST_OK;
}

enum status cu_stream_get_capture_info_v3(CUstream stream, int *capture_status_out, uint64_t *id_out, CUgraph *graph_out,
                                          const CUgraphNode **dependencies_out, const CUgraphEdgeData **edge_data_out, size_t *num_dependencies_out)
{
    struct rt_capture_info i;
    enum status st = info_of(stream, &i);
    if (st != ST_OK || !capture_status_out)
        return st != ST_OK ? st : ST_INVALID_VALUE;
    *capture_status_out = i.status;
    if (id_out)
        *id_out = i.id;
    if (i.status != RT_CAPTURE_ACTIVE)
        return ST_OK;
    if (graph_out)
        *graph_out = i.graph;
    if (dependencies_out)
        *dependencies_out = i.deps;
    if (edge_data_out)
        *edge_data_out = NULL;                 /* all are of the plain kind */
    if (num_dependencies_out)
        *num_dependencies_out = i.n_deps;
    return ST_OK;
}

enum status cu_stream_get_capture_info_v2(CUstream stream, int *capture_status_out, uint64_t *id_out, CUgraph *graph_out,
                                          const CUgraphNode **dependencies_out, size_t *num_dependencies_out)
{
    return cu_stream_get_capture_info_v3(stream, capture_status_out, id_out, graph_out, dependencies_out, NULL, num_dependencies_out);
}

enum status cu_stream_get_capture_info(CUstream stream, int *capture_status_out, uint64_t *id_out)
{
    return cu_stream_get_capture_info_v3(stream, capture_status_out, id_out, NULL, NULL, NULL, NULL);
}

enum status cu_stream_update_capture_dependencies(CUstream stream, CUgraphNode *deps, size_t n, unsigned flags)
{
    enum { ADD, REPLACE };
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    return flags > REPLACE || (n && !deps) ? ST_INVALID_VALUE : rt_capture_update(s, deps, n, flags == REPLACE);
}

enum status cu_stream_update_capture_dependencies_v2(CUstream stream, CUgraphNode *deps, const CUgraphEdgeData *edges, size_t n, unsigned flags)
{
    (void)edges;
    return cu_stream_update_capture_dependencies(stream, deps, n, flags);
}

enum status cu_thread_exchange_stream_capture_mode(int *mode)
{
    if (!mode || *mode < RT_CAPTURE_GLOBAL || *mode > RT_CAPTURE_RELAXED)
        return ST_INVALID_VALUE;
    *mode = (int)rt_capture_exchange((enum rt_capture_mode)*mode);
    return ST_OK;
}
