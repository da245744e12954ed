/* Launching kernels. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/launch.h"
#include "runtime/base/map.h"

/* ---- the common way ---- */

static enum status apply(struct rt_launch *to, const CUlaunchAttribute *attrs, unsigned n, struct rt_event **after)
{
    if (n && !attrs)
        return ST_INVALID_VALUE;
    for (unsigned i = 0; i < n; i++) {
        const CUlaunchAttributeValue *v = &attrs[i].value;
        switch (attrs[i].id) {
        case ATTR_COOPERATIVE:
            to->cooperative = v->cooperative != 0;
            break;
        case ATTR_CLUSTER_DIM:
            if (!v->cluster.x || !v->cluster.y || !v->cluster.z)
                return ST_INVALID_VALUE;
            to->cluster[0] = v->cluster.x, to->cluster[1] = v->cluster.y, to->cluster[2] = v->cluster.z;
            break;
        case ATTR_CLUSTER_SCHEDULING:
            if (v->cluster_policy < CLUSTER_POLICY_DEFAULT || v->cluster_policy > CLUSTER_POLICY_LOAD_BALANCING)
                return ST_INVALID_VALUE;
            break;
        case ATTR_COMPLETION_EVENT: case ATTR_PROGRAMMATIC_EVENT:
            if (!rt_is(v->event.event, RT_EVENT))
                return ST_INVALID_HANDLE;
            *after = v->event.event;           /* recorded behind the kernel: late, but never early */
            break;
        default: break;                        /* hints about caches, order and placement do not change results */
        }
    }
    return ST_OK;
}

enum status api_parameter_block(struct rt_launch *to, void **extra)
{
    enum { END, BLOCK, BLOCK_BYTES };
    for (; extra && (uintptr_t)*extra != END; extra += 2)
        switch ((uintptr_t)*extra) {
        case BLOCK: to->buffer = extra[1]; break;
        case BLOCK_BYTES:
            if (!extra[1])
                return ST_INVALID_VALUE;
            to->buffer_bytes = *(const size_t *)extra[1];
            break;
        default: return ST_INVALID_VALUE;
        }
    return to->buffer_bytes && !to->buffer ? ST_INVALID_VALUE : ST_OK;
}

enum status api_launch(const struct launch *l)
{
    struct rt_launch to = {.params = (void *const *)l->params, .cooperative = l->cooperative};
    enum status st = api_stream(l->stream, &to.stream);
    if (st != ST_OK)
        return st;
    bool is_kernel = rt_is(l->func, RT_KERNEL);
    if (is_kernel) {
        struct error err = {0};
        st = rt_kernel_function(&to.function, (struct rt_kernel *)(void *)l->func, rt_stream_context(to.stream), &err);
        if (st != ST_OK)
            return api_report(st, &err);
    } else if ((st = api_function(l->func, &to.function)) != ST_OK) {
        return st;
    }
    if (l->params && l->extra)
        return ST_INVALID_VALUE;
    struct rt_event *after = NULL;
    st = apply(&to, l->attrs, l->n_attrs, &after);
    if (st == ST_OK)
        st = api_parameter_block(&to, l->extra);
    if (st != ST_OK)
        return st;
    if (l->shared_bytes > UINT32_MAX)
        return ST_INVALID_VALUE;
    memcpy(to.grid, l->grid, sizeof to.grid);
    memcpy(to.block, l->block, sizeof to.block);
    to.dynamic_shared_bytes = (uint32_t)l->shared_bytes;
    struct error err = {0};
    st = api_report(rt_launch(&to, &err), &err);
    if (st == ST_INVALID_CONFIGURATION && !is_kernel)
        return ST_INVALID_VALUE;
    return st == ST_OK && after ? rt_event_record(after, to.stream) : st;
}

/* ---- the driver's entry points ---- */

enum status cu_launch_kernel(CUfunction func, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                             unsigned shared_bytes, CUstream stream, void **params, void **extra)
{
    return api_launch(&(struct launch){func, stream, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, params, extra, NULL, 0, false});
}

enum status cu_launch_cooperative_kernel(CUfunction func, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                                         unsigned block_z, unsigned shared_bytes, CUstream stream, void **params)
{
    return api_launch(&(struct launch){func, stream, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, params, NULL, NULL, 0, true});
}

enum status cu_launch_kernel_ex(const CUlaunchConfig *config, CUfunction func, void **params, void **extra)
{
    if (!config)
        return ST_INVALID_VALUE;
    const CUlaunchConfig *c = config;
    return api_launch(&(struct launch){func, c->stream, {c->grid[0], c->grid[1], c->grid[2]}, {c->block[0], c->block[1], c->block[2]}, c->shared_bytes,
                                       params, extra, c->attrs, c->n_attrs, false});
}

/* ---- the way of CUDA 1 to 3: a function holds its next launch's block shape and parameters ---- */

struct old_launch { unsigned block[3], shared_bytes; size_t bytes; char params[4096]; };
static struct map old_launches;                /* function -> struct old_launch; small and only grows */
static pthread_mutex_t old_lock = PTHREAD_MUTEX_INITIALIZER;

static enum status old_of(CUfunction func, struct old_launch **out)
{
    enum status st = api_check(func, RT_FUNCTION);
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&old_lock);
    uintptr_t at;
    if (!map_get_int(&old_launches, (uintptr_t)func, &at)) {
        struct old_launch *fresh = calloc(1, sizeof *fresh);
        at = fresh && map_put_int(&old_launches, (uintptr_t)func, (uintptr_t)fresh) ? (uintptr_t)fresh : 0;
        if (!at)
            free(fresh);
    }
    pthread_mutex_unlock(&old_lock);
    *out = (struct old_launch *)at;
    return at ? ST_OK : ST_OUT_OF_MEMORY;
}

enum status cu_func_set_block_shape(CUfunction func, int x, int y, int z)
{
    struct old_launch *o;
    enum status st = old_of(func, &o);
    if (st != ST_OK)
        return st;
    if (x < 1 || y < 1 || z < 1)
        return ST_INVALID_VALUE;
    o->block[0] = (unsigned)x, o->block[1] = (unsigned)y, o->block[2] = (unsigned)z;
    return ST_OK;
}

enum status cu_func_set_shared_size(CUfunction func, unsigned bytes)
{
    struct old_launch *o;
    enum status st = old_of(func, &o);
    if (st == ST_OK)
        o->shared_bytes = bytes;
    return st;
}

enum status cu_param_set_size(CUfunction func, unsigned numbytes)
{
    struct old_launch *o;
    enum status st = old_of(func, &o);
    if (st != ST_OK)
        return st;
    if (numbytes > sizeof o->params)
        return ST_INVALID_VALUE;
    o->bytes = numbytes;
    return ST_OK;
}

enum status cu_param_setv(CUfunction func, int offset, void *ptr, unsigned numbytes)
{
    struct old_launch *o;
    enum status st = old_of(func, &o);
    if (st != ST_OK)
        return st;
    if (!ptr || offset < 0 || (size_t)offset > sizeof o->params || numbytes > sizeof o->params - (size_t)offset)
        return ST_INVALID_VALUE;
    memcpy(o->params + offset, ptr, numbytes);
    return ST_OK;
}

enum status cu_param_seti(CUfunction func, int offset, unsigned value) { return cu_param_setv(func, offset, &value, sizeof value); }
enum status cu_param_setf(CUfunction func, int offset, float value) { return cu_param_setv(func, offset, &value, sizeof value); }

enum status cu_launch_grid_async(CUfunction func, int grid_width, int grid_height, CUstream stream)
{
    struct old_launch *o;
    enum status st = old_of(func, &o);
    if (st != ST_OK)
        return st;
    if (grid_width < 1 || grid_height < 1 || !o->block[0])
        return ST_INVALID_VALUE;
    size_t bytes = o->bytes;
    void *extra[] = {(void *)1, o->params, (void *)2, &bytes, NULL};
    return api_launch(&(struct launch){func, stream, {(unsigned)grid_width, (unsigned)grid_height, 1}, {o->block[0], o->block[1], o->block[2]},
                                       o->shared_bytes, NULL, extra, NULL, 0, false});
}

enum status cu_launch_grid(CUfunction func, int grid_width, int grid_height) { return cu_launch_grid_async(func, grid_width, grid_height, NULL); }
enum status cu_launch(CUfunction func) { return cu_launch_grid(func, 1, 1); }
