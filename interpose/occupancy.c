/* Occupancy: questions about how many blocks fit. */
#include "interpose/api.h"

enum { DISABLE_CACHING_OVERRIDE = 1 };

enum status cu_occupancy_blocks_with_flags(int *num_blocks, CUfunction func, int block_size, size_t dynamic_bytes, unsigned flags)
{
    struct rt_function *f;
    enum status st = api_function(func, &f);
    if (st != ST_OK)
        return st;
    if (!num_blocks || block_size <= 0 || flags & ~(unsigned)DISABLE_CACHING_OVERRIDE)
        return ST_INVALID_VALUE;
    return rt_occupancy_blocks(f, (uint32_t)block_size, dynamic_bytes, num_blocks);
}

enum status cu_occupancy_blocks(int *num_blocks, CUfunction func, int block_size, size_t dynamic_bytes)
{
    return cu_occupancy_blocks_with_flags(num_blocks, func, block_size, dynamic_bytes, 0);
}

enum status cu_occupancy_block_size_with_flags(int *min_grid_size, int *block_size, CUfunction func, CUoccupancyB2DSize block_size_to_dynamic_smem_size,
                                               size_t dynamic_bytes, int block_size_limit, unsigned flags)
{
    struct rt_function *f;
    enum status st = api_function(func, &f);
    if (st != ST_OK)
        return st;
    if (!min_grid_size || !block_size || block_size_limit < 0 || flags & ~(unsigned)DISABLE_CACHING_OVERRIDE)
        return ST_INVALID_VALUE;
    return rt_occupancy_block_size(f, block_size_to_dynamic_smem_size, dynamic_bytes, block_size_limit, min_grid_size, block_size);
}

enum status cu_occupancy_block_size(int *min_grid_size, int *block_size, CUfunction func, CUoccupancyB2DSize block_size_to_dynamic_smem_size,
                                    size_t dynamic_bytes, int block_size_limit)
{
    return cu_occupancy_block_size_with_flags(min_grid_size, block_size, func, block_size_to_dynamic_smem_size, dynamic_bytes, block_size_limit, 0);
}

enum status cu_occupancy_dynamic_shared(size_t *dynamic_bytes, CUfunction func, int num_blocks, int block_size)
{
    struct rt_function *f;
    enum status st = api_function(func, &f);
    if (st != ST_OK)
        return st;
    if (!dynamic_bytes || num_blocks <= 0 || block_size <= 0)
        return ST_INVALID_VALUE;
    return rt_occupancy_shared(f, num_blocks, block_size, dynamic_bytes);
}

enum status cu_occupancy_max_potential_cluster_size(int *cluster_size, CUfunction func, const CUlaunchConfig *config)
{
    struct rt_function *f;
    enum status st = api_function(func, &f);
    if (st != ST_OK)
        return st;
    return cluster_size && config ? rt_occupancy_cluster_size(f, config->block, config->shared_bytes, cluster_size) : ST_INVALID_VALUE;
}

enum status cu_occupancy_max_active_clusters(int *num_clusters, CUfunction func, const CUlaunchConfig *config)
{
    struct rt_function *f;
    enum status st = api_function(func, &f);
    if (st != ST_OK)
        return st;
    if (!num_clusters || !config || (config->n_attrs && !config->attrs))
        return ST_INVALID_VALUE;
    uint32_t cluster[3] = {0, 0, 0};           /* what the kernel says */
    for (unsigned i = 0; i < config->n_attrs; i++)
        if (config->attrs[i].id == ATTR_CLUSTER_DIM) {
            const CUlaunchAttributeValue *v = &config->attrs[i].value;
            cluster[0] = v->cluster.x, cluster[1] = v->cluster.y, cluster[2] = v->cluster.z;
        }
    struct error err = {0};
    return api_report(rt_occupancy_clusters(f, cluster, config->block, config->shared_bytes, num_clusters, &err), &err);
}
