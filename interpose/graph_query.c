/* Graphs: questions about nodes and edges, copies of graphs, user objects, memory. */
#include <stdio.h>
#include <string.h>

#include "interpose/graph.h"

/* ---- parameters of nodes ---- */

enum status cu_graph_node_get_type(CUgraphNode node, int *type)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!rt_is(node, RT_GRAPH_NODE) || !type)
        return ST_INVALID_VALUE;
    *type = (int)rt_node_params(node)->type;
    return ST_OK;
}

#define GETTER(name, kind, type)                                                         \
    static void name##_fill(type *out, const struct rt_node_params *p);                 \
    enum status name(CUgraphNode node, type *out)                                       \
    {                                                                                    \
        enum status st = node_check_handle(node, kind);                                 \
        if (st != ST_OK)                                                                 \
            return st;                                                                   \
        if (!out)                                                                        \
            return ST_INVALID_VALUE;                                                     \
        name##_fill(out, rt_node_params(node));                                          \
        return ST_OK;                                                                    \
    }                                                                                    \
    static void name##_fill(type *out, const struct rt_node_params *p)

/* All of the struct but its last two members. */
static void fill_kernel(CUDA_KERNEL_NODE_PARAMS *out, const struct rt_node_params *p)
{
    const struct rt_launch *l = &p->u.kernel.launch;
    out->func = (CUfunction)(uintptr_t)p->u.kernel.handle;
    memcpy(out->grid, l->grid, sizeof l->grid);
    memcpy(out->block, l->block, sizeof l->block);
    out->shared_bytes = l->dynamic_shared_bytes;
    out->params = (void **)(uintptr_t)l->params;
    out->extra = NULL;
}

GETTER(cu_graph_kernel_node_get_params, RT_NODE_KERNEL, CUDA_KERNEL_NODE_PARAMS) { fill_kernel(out, p); }
GETTER(cu_graph_kernel_node_get_params_v2, RT_NODE_KERNEL, CUDA_KERNEL_NODE_PARAMS)
{
    fill_kernel(out, p);
    out->kern = NULL;
    out->ctx = rt_function_context(p->u.kernel.launch.function);
    if (rt_is(out->func, RT_KERNEL)) {
        out->kern = (CUkernel)(void *)out->func;
        out->func = p->u.kernel.launch.function;
    }
}

static bool on_host(uint64_t address)
{
    struct rt_memory m;
    return !rt_memory_find(address, &m) || m.kind == RT_MEMORY_HOST || m.kind == RT_MEMORY_REGISTERED;
}

/* Ends in arrays come back as the addresses of their storage. */
GETTER(cu_graph_memcpy_node_get_params, RT_NODE_COPY, CUDA_MEMCPY3D)
{
    const struct rt_copy *c = &p->u.copy;
    *out = (CUDA_MEMCPY3D){.width_bytes = c->width, .height = c->height, .depth = c->depth};
    out->src_pitch = c->src_pitch, out->dst_pitch = c->dst_pitch;
    out->src_height = c->src_pitch ? c->src_slice / c->src_pitch : c->height;
    out->dst_height = c->dst_pitch ? c->dst_slice / c->dst_pitch : c->height;
    out->src_type = on_host(c->src) ? MEMORYTYPE_HOST : MEMORYTYPE_DEVICE;
    out->dst_type = on_host(c->dst) ? MEMORYTYPE_HOST : MEMORYTYPE_DEVICE;
    out->src_host = (const void *)(uintptr_t)c->src, out->src_device = c->src;
    out->dst_host = (void *)(uintptr_t)c->dst, out->dst_device = c->dst;
}
GETTER(cu_graph_memset_node_get_params, RT_NODE_SET, CUDA_MEMSET_NODE_PARAMS)
{
    *out = (CUDA_MEMSET_NODE_PARAMS){p->u.set.dst, p->u.set.pitch, p->u.set.value, p->u.set.elem_bytes, p->u.set.width, p->u.set.height};
}
GETTER(cu_graph_host_node_get_params, RT_NODE_HOST, CUDA_HOST_NODE_PARAMS) { *out = (CUDA_HOST_NODE_PARAMS){p->u.host.fn, p->u.host.user}; }
GETTER(cu_graph_child_graph_node_get_graph, RT_NODE_GRAPH, CUgraph) { *out = p->u.child; }
GETTER(cu_graph_event_record_node_get_event, RT_NODE_RECORD, CUevent) { *out = p->u.event; }
GETTER(cu_graph_event_wait_node_get_event, RT_NODE_WAIT, CUevent) { *out = p->u.event; }
GETTER(cu_graph_mem_free_node_get_params, RT_NODE_FREE, CUdeviceptr) { *out = p->u.free; }
GETTER(cu_graph_mem_alloc_node_get_params, RT_NODE_ALLOC, CUDA_MEM_ALLOC_NODE_PARAMS)
{
    *out = (CUDA_MEM_ALLOC_NODE_PARAMS){.pool = {.alloc_type = 1, .location = {LOCATION_DEVICE, p->u.alloc.device}}, .bytes = p->u.alloc.bytes, .dptr = p->u.alloc.address};
}

enum status cu_graph_kernel_node_get_attribute(CUgraphNode node, int attr, CUstreamAttrValue *value)
{
    enum status st = node_check_handle(node, RT_NODE_KERNEL);
    return st != ST_OK ? st : value ? rt_node_attribute(node, attr, value) : ST_INVALID_VALUE;
}

enum status cu_graph_kernel_node_set_attribute(CUgraphNode node, int attr, const CUstreamAttrValue *value)
{
    enum status st = node_check_handle(node, RT_NODE_KERNEL);
    return st != ST_OK ? st : value ? rt_node_set_attribute(node, attr, value) : ST_INVALID_VALUE;
}

enum status cu_graph_kernel_node_copy_attributes(CUgraphNode dst, CUgraphNode src)
{
    enum status st = node_check_handle(dst, RT_NODE_KERNEL);
    if (st == ST_OK)
        st = node_check_handle(src, RT_NODE_KERNEL);
    return st == ST_OK ? rt_node_copy_attributes(dst, src) : st;
}

/* ---- lists ---- */

/* Without a place for them, how many there are; else up to *n of them, NULL behind the last. */
static enum status give(struct rt_node *const *from, size_t count, CUgraphNode *to, size_t *n)
{
    for (size_t i = 0; to && i < *n; i++)
        to[i] = i < count ? from[i] : NULL;
    if (!to || *n > count)
        *n = count;
    return ST_OK;
}

enum status cu_graph_get_nodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
    enum status st = graph_check(graph);
    if (st != ST_OK || !n)
        return st != ST_OK ? st : ST_INVALID_VALUE;
    size_t count;
    struct rt_node *const *all = rt_graph_nodes(graph, &count);
    return give(all, count, nodes, n);
}

enum status cu_graph_get_root_nodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
    enum status st = graph_check(graph);
    if (st != ST_OK || !n)
        return st != ST_OK ? st : ST_INVALID_VALUE;
    size_t count, roots = 0, before;
    struct rt_node *const *all = rt_graph_nodes(graph, &count);
    for (size_t i = 0; i < count; i++)
        if ((void)rt_node_before(all[i], &before), !before) {
            if (nodes && roots < *n)
                nodes[roots] = all[i];
            roots++;
        }
    for (size_t i = roots; nodes && i < *n; i++)
        nodes[i] = NULL;
    if (!nodes || *n > roots)
        *n = roots;
    return ST_OK;
}

static enum status neighbours(CUgraphNode node, bool after, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *n)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!rt_is(node, RT_GRAPH_NODE) || !n)
        return ST_INVALID_VALUE;
    size_t count;
    struct rt_node *const *all = after ? rt_node_after(node, &count) : rt_node_before(node, &count);
    if (edges && nodes)
        memset(edges, 0, *n * sizeof *edges);
    return give(all, count, nodes, n);
}

enum status cu_graph_node_get_dependencies_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *n) { return neighbours(node, false, nodes, edges, n); }
enum status cu_graph_node_get_dependencies(CUgraphNode node, CUgraphNode *nodes, size_t *n) { return neighbours(node, false, nodes, NULL, n); }
enum status cu_graph_node_get_dependent_nodes_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *n) { return neighbours(node, true, nodes, edges, n); }
enum status cu_graph_node_get_dependent_nodes(CUgraphNode node, CUgraphNode *nodes, size_t *n) { return neighbours(node, true, nodes, NULL, n); }

enum status cu_graph_get_edges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges, size_t *n)
{
    enum status st = graph_check(graph);
    if (st != ST_OK)
        return st;
    if (!n || !from != !to)
        return ST_INVALID_VALUE;
    size_t count, at = 0, room = from ? *n : 0;
    struct rt_node *const *all = rt_graph_nodes(graph, &count);
    for (size_t i = 0; i < count; i++) {
        size_t after;
        struct rt_node *const *next = rt_node_after(all[i], &after);
        for (size_t k = 0; k < after; k++, at++)
            if (at < room)
                from[at] = all[i], to[at] = next[k];
    }
    for (size_t i = at; i < room; i++)
        from[i] = to[i] = NULL;
    if (edges && from)
        memset(edges, 0, room * sizeof *edges);
    *n = !from || room > at ? at : room;
    return ST_OK;
}

enum status cu_graph_get_edges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *n) { return cu_graph_get_edges_v2(graph, from, to, NULL, n); }

enum status cu_graph_add_dependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
    enum status st = graph_check(graph);
    if (st != ST_OK || !n)
        return st;
    return from && to ? rt_graph_edges_add(graph, from, to, n) : ST_INVALID_VALUE;
}

enum status cu_graph_remove_dependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
    enum status st = graph_check(graph);
    if (st != ST_OK || !n)
        return st;
    return from && to ? rt_graph_edges_remove(graph, from, to, n) : ST_INVALID_VALUE;
}

enum status cu_graph_add_dependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edges, size_t n)
{
    (void)edges;                               /* they may only loosen the order */
    return cu_graph_add_dependencies(graph, from, to, n);
}

enum status cu_graph_remove_dependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edges, size_t n)
{
    (void)edges;
    return cu_graph_remove_dependencies(graph, from, to, n);
}

/* ---- graphs ---- */

enum status cu_graph_create(CUgraph *out, unsigned flags)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    return out && !flags ? rt_graph_create(out) : ST_INVALID_VALUE;
}

enum status cu_graph_destroy(CUgraph graph)
{
    enum status st = graph_check(graph);
    return st == ST_OK ? rt_graph_destroy(graph) : st;
}

enum status cu_graph_clone(CUgraph *out, CUgraph graph)
{
    enum status st = graph_check(graph);
    return st != ST_OK ? st : out ? rt_graph_clone(out, graph) : ST_INVALID_VALUE;
}

enum status cu_graph_node_find_in_clone(CUgraphNode *out, CUgraphNode original, CUgraph clone)
{
    enum status st = graph_check(clone);
    if (st != ST_OK)
        return st;
    if (!out || !rt_is(original, RT_GRAPH_NODE))
        return ST_INVALID_VALUE;
    *out = rt_graph_find_clone(clone, original);
    return *out ? ST_OK : ST_INVALID_VALUE;
}

enum status cu_graph_destroy_node(CUgraphNode node)
{
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    return rt_is(node, RT_GRAPH_NODE) ? rt_node_destroy(node) : ST_INVALID_VALUE;
}

enum status cu_graph_debug_dot_print(CUgraph graph, const char *path, unsigned flags)
{
    enum status st = graph_check(graph);
    (void)flags;
    FILE *f = st == ST_OK && path ? fopen(path, "w") : NULL;
    if (!f)
        return st != ST_OK ? st : path ? ST_OPERATING_SYSTEM : ST_INVALID_VALUE;
    rt_graph_print(graph, f);
    return fclose(f) == 0 ? ST_OK : ST_OPERATING_SYSTEM;
}

/* ---- user objects ---- */

static enum status object_check(CUuserObject o) { return !rt_started() ? ST_NOT_INITIALIZED : rt_is(o, RT_USER_OBJECT) ? ST_OK : ST_INVALID_VALUE; }

enum status cu_user_object_create(CUuserObject *out, void *ptr, CUhostFn destroy, unsigned refs, unsigned flags)
{
    enum { NO_DESTRUCTOR_SYNC = 1 };
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    return out && flags == NO_DESTRUCTOR_SYNC ? rt_user_object_create(out, ptr, destroy, refs) : ST_INVALID_VALUE;
}

enum status cu_user_object_retain(CUuserObject object, unsigned count)
{
    enum status st = object_check(object);
    return st == ST_OK ? rt_user_object_retain(object, count) : st;
}

enum status cu_user_object_release(CUuserObject object, unsigned count)
{
    enum status st = object_check(object);
    return st == ST_OK ? rt_user_object_release(object, count) : st;
}

enum status cu_graph_retain_user_object(CUgraph graph, CUuserObject object, unsigned count, unsigned flags)
{
    enum { MOVE = 1 };
    enum status st = graph_check(graph);
    if (st == ST_OK)
        st = object_check(object);
    if (st != ST_OK)
        return st;
    return flags & ~(unsigned)MOVE ? ST_INVALID_VALUE : rt_graph_retain(graph, object, count, flags & MOVE);
}

enum status cu_graph_release_user_object(CUgraph graph, CUuserObject object, unsigned count)
{
    enum status st = graph_check(graph);
    if (st == ST_OK)
        st = object_check(object);
    return st == ST_OK ? rt_graph_release(graph, object, count) : st;
}

/* ---- memory of graphs ---- */

enum status cu_device_graph_mem_trim(CUdevice device)
{
    enum status st = api_device(device);
    if (st == ST_OK)
        rt_graph_memory_trim(device);
    return st;
}

enum status cu_device_get_graph_mem_attribute(CUdevice device, int attr, void *value)
{
    enum status st = api_device(device);
    if (st != ST_OK)
        return st;
    if (!value || attr < 0 || attr >= RT_GRAPH_MEMORIES)
        return ST_INVALID_VALUE;
    *(uint64_t *)value = rt_graph_memory(device, (enum rt_graph_memory)attr);
    return ST_OK;
}

enum status cu_device_set_graph_mem_attribute(CUdevice device, int attr, void *value)
{
    enum status st = api_device(device);
    if (st != ST_OK)
        return st;
    return value && !*(const uint64_t *)value ? rt_graph_memory_reset(device, (enum rt_graph_memory)attr) : ST_INVALID_VALUE;
}
