/* One launch: checks, and the copy of everything it says. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cluster.h"
#include "emu/flow.h"

static atomic_uint_fast64_t serials = 1;

static enum status check_cluster(const struct emu_kernel_facts *f, const struct emu_launch *l, struct error *err)
{
    uint64_t ctas = 1;
    for (int i = 0; i < 3; i++) {
        uint32_t n = l->cluster[i] ? l->cluster[i] : 1;
        ctas *= n;
        if (ctas > CLUSTER_MAX) return error_set(err, ST_INVALID_CLUSTER_SIZE, "%s: more than %d blocks a cluster", f->name, CLUSTER_MAX);
        if (l->grid[i] % n)
            return error_set(err, ST_INVALID_CLUSTER_SIZE, "%s: grid.%c is %u, no multiple of the cluster's %u", f->name, 'x' + i, l->grid[i], n);
    }
    return ST_OK;
}

static enum status check_launch(const struct emu_kernel_facts *f, const struct emu_launch *l, struct error *err)
{
    for (int i = 0; i < 3; i++)
        if (!l->grid[i] || !l->block[i])
            return error_set(err, ST_INVALID_VALUE, "%s: a dimension of the grid or block is 0", f->name);
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    if (threads > 1024)
        return error_set(err, ST_INVALID_VALUE, "%s: %llu threads a block, the limit is 1024", f->name, (unsigned long long)threads);
    if (f->max_threads && threads > f->max_threads)
        return error_set(err, ST_INVALID_VALUE, "%s: %llu threads a block, but the kernel was built for %u", f->name,
                         (unsigned long long)threads, f->max_threads);
    if (l->max_shared_bytes && (uint64_t)f->shared_bytes + l->dynamic_shared_bytes > l->max_shared_bytes)
        return error_set(err, ST_INVALID_VALUE, "%s: %u static and %u dynamic bytes of shared memory, the limit is %u a block", f->name,
                         f->shared_bytes, l->dynamic_shared_bytes, l->max_shared_bytes);
    if (l->param_bytes < f->param_bytes || (f->param_bytes && !l->params))
        return error_set(err, ST_INVALID_VALUE, "%s: %u bytes of parameters given, %u needed", f->name, l->param_bytes, f->param_bytes);
    return check_cluster(f, l, err);
}

enum { PARAMS_AT = (sizeof(struct emu_grid) + 15) / 16 * 16 };        /* accesses of 16 bytes are one move: they need their alignment */

enum status emu_grid_create(struct emu_grid **out, struct emu_kernel *k, const struct emu_launch *launch, struct error *err)
{
    *out = NULL;
    struct emu_kernel_facts f;
    emu_kernel_facts(k, &f);
    enum status st = check_launch(&f, launch, err);
    if (st) return st;
    const struct code *code = kernel_code(k, kernel_entry(k), err);
    if (!code) return err ? err->status : ST_OUT_OF_MEMORY;
    struct emu_grid *g = calloc(1, PARAMS_AT + launch->param_bytes + 16);
    if (!g) return error_set(err, ST_OUT_OF_MEMORY, "the host has no memory left for a launch");
    g->kernel = k;
    g->code = code;
    g->launch = *launch;
    char *params = (char *)g + PARAMS_AT;
    if (launch->param_bytes) memcpy(params, launch->params, launch->param_bytes);
    g->launch.params = params;
    for (int i = 0; i < 3; i++)
        if (!g->launch.cluster[i]) g->launch.cluster[i] = 1;
    g->cluster_ctas = g->launch.cluster[0] * g->launch.cluster[1] * g->launch.cluster[2];
    g->launch.explicit_cluster |= g->cluster_ctas > 1;
    g->serial = atomic_fetch_add(&serials, 1);
    g->n_ctas = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    g->threads = launch->block[0] * launch->block[1] * launch->block[2];
    g->warps = (g->threads + WARP_SIZE - 1) / WARP_SIZE;
    g->static_shared_bytes = f.shared_bytes;
    g->shared_bytes = launch->dynamic_shared_bytes ? kernel_dynamic_at(k) + launch->dynamic_shared_bytes : f.shared_bytes;
    if (kernel_reserves(k)) g->shared_bytes = ((g->shared_bytes + 15) & ~15u) + KERNEL_RESERVED;
    g->local_stride = f.local_bytes;
    if (kernel_stacks(k)) g->local_stride += (launch->stack_bytes ? launch->stack_bytes : 1024) + CALL_LOCAL_BYTES;
    g->local_stride = (g->local_stride + 15) & ~15u;
    *out = g;
    return ST_OK;
}

void emu_grid_free(struct emu_grid *g) { free(g); }
uint64_t emu_grid_ctas(const struct emu_grid *g) { return g->n_ctas; }
uint64_t emu_grid_clusters(const struct emu_grid *g) { return g->n_ctas / g->cluster_ctas; }
