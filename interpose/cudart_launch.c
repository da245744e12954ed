/* Runtime API: kernels by host function: launches, attributes, occupancy. */
#include "interpose/cudart.h"
#include "interpose/launch.h"

/* ---- launches ---- */

static enum status launch(const void *func, struct dim3 grid, struct dim3 block, void **args, size_t shared_bytes, CUstream stream, bool cooperative,
                          const CUlaunchAttribute *attrs, unsigned n_attrs)
{
    struct launch l = {NULL, stream, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes, args, NULL, attrs, n_attrs, cooperative};
    enum status st = cudart_function(func, &l.func);
    return st == ST_OK ? api_launch(&l) : st;
}

enum status cuda_launch_kernel(const void *func, struct dim3 grid_dim, struct dim3 block_dim, void **args, size_t shared_mem, CUstream stream)
{
    return launch(func, grid_dim, block_dim, args, shared_mem, stream, false, NULL, 0);
}

enum status cuda_launch_cooperative_kernel(const void *func, struct dim3 grid_dim, struct dim3 block_dim, void **args, size_t shared_mem, CUstream stream)
{
    return launch(func, grid_dim, block_dim, args, shared_mem, stream, true, NULL, 0);
}

enum status cuda_launch_kernel_ex_c(const struct cudaLaunchConfig *config, const void *func, void **args)
{
    if (!config)
        return ST_INVALID_VALUE;
    return launch(func, config->grid, config->block, args, config->shared_bytes, config->stream, false, config->attrs, config->n_attrs);
}

/* nvcc's stubs ask once, keep the handle and do not look at the status: a kernel that cannot be had keeps its host address for a handle, so that
 * each launch fails for the true reason. */
enum status cuda_get_registered_kernel(CUkernel *out, const void *func)
{
    if (!out)
        return ST_INVALID_VALUE;
    enum status st = cudart_kernel(func, out);
    if (st != ST_OK)
        *out = (CUkernel)(uintptr_t)func;
    return st;
}

enum status cuda_launch_registered_kernel(CUkernel kernel, struct dim3 grid, struct dim3 block, void **params, size_t shared_bytes, CUstream stream)
{
    return launch(kernel, grid, block, params, shared_bytes, stream, false, NULL, 0);
}

/* ---- functions ---- */

enum status cuda_get_kernel(CUkernel *kernel_ptr, const void *entry_func_addr)
{
    return kernel_ptr ? cudart_kernel(entry_func_addr, kernel_ptr) : ST_INVALID_VALUE;
}

enum status cuda_get_func_by_symbol(CUfunction *function_ptr, const void *symbol_ptr)
{
    CUfunction f;
    enum status st = cudart_function(symbol_ptr, &f);
    if (st != ST_OK)
        return st;
    return function_ptr ? api_function(f, function_ptr) : ST_INVALID_VALUE;
}

static enum status function_of(const void *func, struct rt_function **out)
{
    CUfunction f;
    enum status st = cudart_function(func, &f);
    return st == ST_OK ? api_function(f, out) : st;
}

enum status cuda_func_get_attributes(struct cudaFuncAttributes *attr, const void *func)
{
    struct rt_function *f;
    enum status st = function_of(func, &f);
    if (st != ST_OK)
        return st;
    if (!attr)
        return ST_INVALID_VALUE;
    struct rt_function_info i;
    struct error err = {0};
    st = api_report(rt_function_info(f, &i, &err), &err);
    if (st != ST_OK)
        return st;
    attr->shared_bytes = i.shared_bytes, attr->const_bytes = i.const_bytes, attr->local_bytes = i.local_bytes;
    attr->max_threads = (int)i.max_threads, attr->regs = (int)i.regs;
    attr->ptx_version = (int)i.ptx_version, attr->binary_version = (int)i.binary_version;
    attr->cache_mode_ca = 0;
    attr->max_dynamic_shared_bytes = (int)i.max_dynamic_shared_bytes, attr->carveout = i.carveout;
    if (cudart_major() < 12)
        return ST_OK;                          /* the struct ended here */
    attr->cluster_must_be_set = i.cluster_required;
    for (int a = 0; a < 3; a++)
        attr->cluster[a] = (int)i.cluster[a];
    attr->cluster_policy = i.cluster_policy, attr->cluster_non_portable = i.cluster_non_portable;
    return ST_OK;
}

enum status cuda_func_set_attribute(const void *func, int attr, int value)
{
    CUfunction f;
    enum status st = cudart_function(func, &f);
    return st == ST_OK ? cu_func_set_attribute(f, attr, value) : st;
}

enum status cuda_func_set_cache_config(const void *func, int cache_config)
{
    CUfunction f;
    enum status st = cudart_function(func, &f);
    return st == ST_OK ? cu_func_set_cache_config(f, cache_config) : st;
}

enum status cuda_func_set_shared_mem_config(const void *func, int config)
{
    CUfunction f;
    enum status st = cudart_function(func, &f);
    return st == ST_OK ? cu_func_set_shared_mem_config(f, config) : st;
}

enum status cuda_func_get_name(const char **name, const void *func)
{
    CUfunction f;
    enum status st = cudart_function(func, &f);
    return st == ST_OK ? cu_func_get_name(name, f) : st;
}

enum status cuda_func_get_param_info(const void *func, size_t param_index, size_t *param_offset, size_t *param_size)
{
    CUfunction f;
    enum status st = cudart_function(func, &f);
    return st == ST_OK ? cu_func_get_param_info(f, param_index, param_offset, param_size) : st;
}

enum status cuda_kernel_set_attribute_for_device(CUkernel kernel, int attr, int value, int device)
{
    return cu_kernel_set_attribute(attr, value, kernel, device);
}

/* ---- occupancy ---- */

enum status cuda_occupancy_blocks_with_flags(int *num_blocks, const void *func, int block_size, size_t dynamic_bytes, unsigned flags)
{
    CUfunction f;
    enum status st = cudart_function(func, &f);
    return st == ST_OK ? cu_occupancy_blocks_with_flags(num_blocks, f, block_size, dynamic_bytes, flags) : st;
}

enum status cuda_occupancy_blocks(int *num_blocks, const void *func, int block_size, size_t dynamic_bytes)
{
    return cuda_occupancy_blocks_with_flags(num_blocks, func, block_size, dynamic_bytes, 0);
}

enum status cuda_occupancy_dynamic_shared(size_t *dynamic_bytes, const void *func, int num_blocks, int block_size)
{
    CUfunction f;
    enum status st = cudart_function(func, &f);
    return st == ST_OK ? cu_occupancy_dynamic_shared(dynamic_bytes, f, num_blocks, block_size) : st;
}

static CUlaunchConfig to_driver(const struct cudaLaunchConfig *c)
{
    return (CUlaunchConfig){{c->grid.x, c->grid.y, c->grid.z}, {c->block.x, c->block.y, c->block.z}, (unsigned)c->shared_bytes, c->stream, c->attrs, c->n_attrs};
}

enum status cuda_occupancy_max_potential_cluster_size(int *cluster_size, const void *func, const struct cudaLaunchConfig *launch_config)
{
    CUfunction f;
    enum status st = cudart_function(func, &f);
    if (st != ST_OK || !launch_config)
        return st != ST_OK ? st : ST_INVALID_VALUE;
    CUlaunchConfig c = to_driver(launch_config);
    return cu_occupancy_max_potential_cluster_size(cluster_size, f, &c);
}

enum status cuda_occupancy_max_active_clusters(int *num_clusters, const void *func, const struct cudaLaunchConfig *launch_config)
{
    CUfunction f;
    enum status st = cudart_function(func, &f);
    if (st != ST_OK || !launch_config)
        return st != ST_OK ? st : ST_INVALID_VALUE;
    CUlaunchConfig c = to_driver(launch_config);
    return cu_occupancy_max_active_clusters(num_clusters, f, &c);
}
