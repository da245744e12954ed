/* Functions and kernels: names, attributes, parameters. */
#include "interpose/api.h"

/* CUfunction_attribute. */
enum {
    F_MAX_THREADS, F_SHARED, F_CONST, F_LOCAL, F_REGS, F_PTX_VERSION, F_BINARY_VERSION, F_CACHE_CA, F_MAX_DYNAMIC_SHARED, F_CARVEOUT,
    F_CLUSTER_MUST_BE_SET, F_CLUSTER_X, F_CLUSTER_Y, F_CLUSTER_Z, F_NON_PORTABLE, F_CLUSTER_POLICY, F_ATTRIBUTES,
    F_LATER = 32                               /* up to here: features of toolkits after ours, which no kernel has */
};

static enum status get_attribute(int *value, int attrib, struct rt_function *f)
{
    if (!value || attrib < 0 || attrib >= F_LATER)
        return ST_INVALID_VALUE;
    struct rt_function_info i;
    struct error err = {0};
    enum status st = api_report(rt_function_info(f, &i, &err), &err);
    if (st != ST_OK)
        return st;
    const int values[F_LATER] = {
        [F_MAX_THREADS] = (int)i.max_threads, [F_SHARED] = (int)i.shared_bytes, [F_CONST] = (int)i.const_bytes, [F_LOCAL] = (int)i.local_bytes,
        [F_REGS] = (int)i.regs, [F_PTX_VERSION] = (int)i.ptx_version, [F_BINARY_VERSION] = (int)i.binary_version, [F_CACHE_CA] = 0,
        [F_MAX_DYNAMIC_SHARED] = (int)i.max_dynamic_shared_bytes, [F_CARVEOUT] = i.carveout, [F_CLUSTER_MUST_BE_SET] = i.cluster_required,
        [F_CLUSTER_X] = (int)i.cluster[0], [F_CLUSTER_Y] = (int)i.cluster[1], [F_CLUSTER_Z] = (int)i.cluster[2],
        [F_NON_PORTABLE] = i.cluster_non_portable, [F_CLUSTER_POLICY] = i.cluster_policy,
    };
    *value = values[attrib];
    return ST_OK;
}

static enum status set_attribute(struct rt_function *f, int attrib, int value)
{
    switch (attrib) {
    case F_MAX_DYNAMIC_SHARED: return rt_function_set_max_dynamic_shared(f, value);
    case F_CARVEOUT: return value < -1 || value > 100 ? ST_INVALID_VALUE : rt_function_set_carveout(f, value);
    case F_CLUSTER_X: case F_CLUSTER_Y: case F_CLUSTER_Z: return rt_function_set_cluster(f, attrib - F_CLUSTER_X, value);
    case F_NON_PORTABLE: return rt_function_set_non_portable(f, value != 0);
    case F_CLUSTER_POLICY: return rt_function_set_cluster_policy(f, value);
    default: return ST_INVALID_VALUE;
    }
}

/* ---- functions ---- */

enum status cu_func_get_attribute(int *value, int attrib, CUfunction func)
{
    struct rt_function *f;
    enum status st = api_function(func, &f);
    return st == ST_OK ? get_attribute(value, attrib, f) : st;
}

enum status cu_func_set_attribute(CUfunction func, int attrib, int value)
{
    struct rt_function *f;
    enum status st = api_function(func, &f);
    return st == ST_OK ? set_attribute(f, attrib, value) : st;
}

enum { CACHE_PREFER_EQUAL = 3, BANKS_EIGHT_BYTES = 2 };

enum status cu_func_set_cache_config(CUfunction func, int config)
{
    struct rt_function *f;
    enum status st = api_function(func, &f);
    return st != ST_OK ? st : config < 0 || config > CACHE_PREFER_EQUAL ? ST_INVALID_VALUE : ST_OK;
}

enum status cu_func_set_shared_mem_config(CUfunction func, int config)
{
    struct rt_function *f;
    enum status st = api_function(func, &f);
    return st != ST_OK ? st : config < 0 || config > BANKS_EIGHT_BYTES ? ST_INVALID_VALUE : ST_OK;
}

enum status cu_func_get_module(CUmodule *module, CUfunction func)
{
    struct rt_function *f;
    enum status st = api_function(func, &f);
    if (st != ST_OK)
        return st;
    if (!module)
        return ST_INVALID_VALUE;
    *module = rt_function_module(f);
    return ST_OK;
}

enum status cu_func_get_name(const char **name, CUfunction func)
{
    struct rt_function *f;
    enum status st = api_function(func, &f);
    if (st != ST_OK)
        return st;
    if (!name)
        return ST_INVALID_VALUE;
    *name = rt_function_name(f);
    return ST_OK;
}

static enum status param_info(struct rt_function *f, size_t index, size_t *offset, size_t *size)
{
    if (!offset || index > UINT32_MAX)
        return ST_INVALID_VALUE;
    uint64_t at, bytes;
    enum status st = rt_function_param(f, (uint32_t)index, &at, &bytes);
    if (st != ST_OK)
        return st;
    *offset = at;
    if (size)
        *size = bytes;
    return ST_OK;
}

enum status cu_func_get_param_info(CUfunction func, size_t param_index, size_t *param_offset, size_t *param_size)
{
    struct rt_function *f;
    enum status st = api_function(func, &f);
    return st == ST_OK ? param_info(f, param_index, param_offset, param_size) : st;
}

enum status cu_func_is_loaded(int *state, CUfunction function)
{
    enum { LOADED = 1 };
    struct rt_function *f;
    enum status st = api_function(function, &f);
    if (st != ST_OK)
        return st;
    if (!state)
        return ST_INVALID_VALUE;
    *state = LOADED;
    return ST_OK;
}

enum status cu_func_load(CUfunction function)
{
    struct rt_function *f;
    return api_function(function, &f);
}

/* ---- kernels: a function of every device ---- */

/* The kernel's function in the primary context of dev. */
static enum status on_device(CUkernel kernel, CUdevice dev, struct rt_function **out)
{
    enum status st = api_check(kernel, RT_KERNEL);
    if (st == ST_OK)
        st = api_device(dev);
    if (st != ST_OK)
        return st;
    struct rt_context *c = rt_current();
    if (!rt_is(c, RT_CONTEXT) || rt_context_device(c) != dev)
        st = api_primary(dev, &c);
    if (st != ST_OK)
        return st;
    struct error err = {0};
    return api_report(rt_kernel_function(out, kernel, c, &err), &err);
}

enum status cu_kernel_get_attribute(int *value, int attrib, CUkernel kernel, CUdevice dev)
{
    struct rt_function *f;
    enum status st = on_device(kernel, dev, &f);
    return st == ST_OK ? get_attribute(value, attrib, f) : st;
}

enum status cu_kernel_set_attribute(int attrib, int val, CUkernel kernel, CUdevice dev)
{
    struct rt_function *f;
    enum status st = on_device(kernel, dev, &f);
    return st == ST_OK ? set_attribute(f, attrib, val) : st;
}

enum status cu_kernel_set_cache_config(CUkernel kernel, int config, CUdevice dev)
{
    enum status st = api_check(kernel, RT_KERNEL);
    if (st == ST_OK)
        st = api_device(dev);
    return st != ST_OK ? st : config < 0 || config > CACHE_PREFER_EQUAL ? ST_INVALID_VALUE : ST_OK;
}

enum status cu_kernel_get_function(CUfunction *func, CUkernel kernel)
{
    enum status st = api_check(kernel, RT_KERNEL);
    if (st != ST_OK)
        return st;
    return func ? api_function((CUfunction)(void *)kernel, func) : ST_INVALID_VALUE;
}

enum status cu_kernel_get_library(CUlibrary *library, CUkernel kernel)
{
    enum status st = api_check(kernel, RT_KERNEL);
    if (st != ST_OK)
        return st;
    if (!library)
        return ST_INVALID_VALUE;
    *library = rt_kernel_library(kernel);
    return ST_OK;
}

enum status cu_kernel_get_name(const char **name, CUkernel kernel)
{
    enum status st = api_check(kernel, RT_KERNEL);
    if (st != ST_OK)
        return st;
    if (!name)
        return ST_INVALID_VALUE;
    *name = rt_kernel_name(kernel);
    return ST_OK;
}

enum status cu_kernel_get_param_info(CUkernel kernel, size_t param_index, size_t *param_offset, size_t *param_size)
{
    enum status st = api_check(kernel, RT_KERNEL);
    struct rt_function *f;
    if (st == ST_OK)
        st = api_function((CUfunction)(void *)kernel, &f);
    return st == ST_OK ? param_info(f, param_index, param_offset, param_size) : st;
}
