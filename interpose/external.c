/* Memory and semaphores of other APIs (Vulkan, Direct3D, NvSci). There is no GPU here that such an API could share them from: a well-formed import is not
 * supported, so no handle is ever a good one. */
#include <errno.h>
#include <fcntl.h>

#include "interpose/graph.h"

enum { OPAQUE_FD = 1, DMABUF_FD = 9, MEMORY_TYPES = 9, TIMELINE_FD = 9, SEMAPHORE_TYPES = 10 };

static bool open_descriptor(int fd) { return fd >= 0 && (fcntl(fd, F_GETFD) >= 0 || errno != EBADF); }

enum status cu_import_external_memory(CUexternalMemory *out, const CUexternalMemoryDesc *desc)
{
    enum { DEDICATED = 1 };
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (!out || !desc || desc->type < 1 || desc->type > MEMORY_TYPES || !desc->bytes || desc->flags & ~(unsigned)DEDICATED)
        return ST_INVALID_VALUE;
    if ((desc->type == OPAQUE_FD || desc->type == DMABUF_FD) && !open_descriptor(desc->handle.fd))
        return ST_INVALID_HANDLE;
    return ST_NOT_SUPPORTED;
}

enum status cu_import_external_semaphore(CUexternalSemaphore *out, const CUexternalSemaphoreDesc *desc)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (!out || !desc || desc->type < 1 || desc->type > SEMAPHORE_TYPES)
        return ST_INVALID_VALUE;
    if ((desc->type == OPAQUE_FD || desc->type == TIMELINE_FD) && !open_descriptor(desc->handle.fd))
        return ST_INVALID_HANDLE;
    return ST_NOT_SUPPORTED;
}

static enum status no_handle(const void *a, const void *b)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    return st != ST_OK ? st : a && b ? ST_INVALID_HANDLE : ST_INVALID_VALUE;
}

enum status cu_external_memory_get_buffer(CUdeviceptr *out, CUexternalMemory memory, const void *desc)
{
    (void)memory;
    return no_handle(out, desc);
}

enum status cu_external_memory_get_mipmap(CUmipmappedArray *out, CUexternalMemory memory, const void *desc)
{
    (void)memory;
    return no_handle(out, desc);
}

enum status cu_destroy_external_memory(CUexternalMemory memory)
{
    (void)memory;
    return rt_started() ? ST_INVALID_HANDLE : ST_NOT_INITIALIZED;
}

enum status cu_destroy_external_semaphore(CUexternalSemaphore semaphore)
{
    (void)semaphore;
    return rt_started() ? ST_INVALID_HANDLE : ST_NOT_INITIALIZED;
}

/* Signals and waits. */
enum status cu_external_semaphores_async(const CUexternalSemaphore *semaphores, const void *params, unsigned n, CUstream stream)
{
    struct rt_stream *s;
    enum status st = api_stream(stream, &s);
    if (st != ST_OK)
        return st;
    return semaphores && params && n ? ST_INVALID_HANDLE : ST_INVALID_VALUE;
}

/* ---- nodes of graphs ---- */

enum status cu_graph_add_external_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n, const void *params)
{
    (void)out;
    (void)deps;
    (void)n;
    (void)params;
    enum status st = graph_check(graph);
    return st == ST_OK ? ST_INVALID_VALUE : st;
}

enum status cu_graph_external_node_params(CUgraphNode node, const void *params)
{
    (void)params;
    (void)node;                                /* none is of this type */
    return rt_started() ? ST_INVALID_VALUE : ST_NOT_INITIALIZED;
}

enum status cu_graph_exec_external_node_params(CUgraphExec exec, CUgraphNode node, const void *params)
{
    (void)exec;
    return cu_graph_external_node_params(node, params);
}
