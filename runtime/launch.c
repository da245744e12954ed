/* Functions and launches: attributes, the checks of a launch with CUDA's codes. */
#include <string.h>

#include "runtime/base/symbol.h"
#include "runtime/checkpoint/host.h"
#include "runtime/graph.h"
#include "runtime/internal.h"
#include "runtime/lowering.h"

/* ---- functions ---- */

enum { MAX_REGS = 255, MIN_REGS = 16, DEFAULT_SHARED = 48 << 10 };

static uint32_t threads_by_regs(const struct rt_device_facts *d, uint32_t regs)
{
    uint32_t per_warp = (uint32_t)((regs * 32 + d->reg_unit_per_warp - 1) / d->reg_unit_per_warp * d->reg_unit_per_warp);
    uint32_t warps = (uint32_t)(d->regs_per_sm / d->reg_partitions / per_warp * d->reg_partitions);
    uint32_t threads = warps * 32;
    return threads < d->max_threads_per_block ? threads : (uint32_t)d->max_threads_per_block;
}

/* Decoding and what it tells; after the.code, before the.lock. A kernel that launches others asks for it while it runs. */
static pthread_mutex_t preparing = PTHREAD_MUTEX_INITIALIZER;

/* Under preparing. */
static void know(struct rt_function *f, const struct emu_kernel_facts *facts, uint32_t regs)
{
    const struct rt_device_facts *d = f->module->context->device->facts;
    f->facts = *facts;
    f->regs = regs < MIN_REGS ? MIN_REGS : regs > MAX_REGS ? MAX_REGS : regs;
    f->max_threads = threads_by_regs(d, f->regs);
    if (f->facts.max_threads && f->facts.max_threads < f->max_threads)
        f->max_threads = f->facts.max_threads;
    else if (f->facts.max_threads)             /* ptxas keeps the promise of .maxntid by spending fewer registers */
        f->max_threads = f->facts.max_threads < d->max_threads_per_block ? f->facts.max_threads : (uint32_t)d->max_threads_per_block;
    f->max_dynamic_shared_bytes = f->facts.shared_bytes < DEFAULT_SHARED ? DEFAULT_SHARED - f->facts.shared_bytes : 0;
    __atomic_store_n(&f->known, true, __ATOMIC_RELEASE);
}

static enum status prepare(struct rt_function *f, struct error *err)
{
    struct emu_kernel *k;
    struct emu_kernel_facts facts;
    enum status st = emu_kernel_get(&k, f->module->image, f->index, err);
    if (st != ST_OK)
        return st;
    emu_kernel_facts(k, &facts);
    f->ordered = facts.ordered;
    f->can_wait = facts.can_wait;
    f->calls_host = facts.calls_host;
    f->launches = facts.launches;
    f->shared_bytes = facts.shared_bytes;
    if (!f->known) {
        uint32_t regs = f->cubin ? f->cubin->registers : facts.regs;
        if (sim_on())
            regs = lowering_prepare(f->module->code->ptx, f->index, (unsigned)f->module->context->device->facts->sm, f->cubin);
        know(f, &facts, regs);
    }
    __atomic_store_n(&f->kernel, k, __ATOMIC_RELEASE);
    return ST_OK;
}

enum status function_ready(struct rt_function *f, struct error *err)
{
    if (__atomic_load_n(&f->kernel, __ATOMIC_ACQUIRE))
        return ST_OK;
    pthread_mutex_lock(&preparing);
    enum status st = f->kernel ? ST_OK : prepare(f, err);
    pthread_mutex_unlock(&preparing);
    return st;
}

enum status function_known(struct rt_function *f, struct error *err)
{
    if (__atomic_load_n(&f->known, __ATOMIC_ACQUIRE))
        return ST_OK;
    if (!f->cubin || sim_on())
        return function_ready(f, err);
    pthread_mutex_lock(&preparing);
    if (!f->known) {
        struct emu_kernel_facts facts;
        emu_function_facts(f->module->code->ptx, f->index, &facts);
        facts.shared_bytes = (uint32_t)f->cubin->shared_bytes;
        know(f, &facts, f->cubin->registers);
    }
    pthread_mutex_unlock(&preparing);
    return ST_OK;
}

uint64_t function_shared_limit(const struct rt_function *f) { return (uint64_t)f->shared_bytes + f->max_dynamic_shared_bytes; }

enum status rt_function_info(struct rt_function *f, struct rt_function_info *out, struct error *err)
{
    enum status st = function_known(f, err);
    if (st != ST_OK)
        return st;
    const struct ptx_module *ptx = f->module->code->ptx;
    const struct ptx_function *p = &ptx->functions[f->index];
    *out = (struct rt_function_info){
        .name = p->name, .max_threads = f->max_threads, .regs = f->regs,
        .shared_bytes = f->facts.shared_bytes, .const_bytes = f->facts.const_bytes,
        .local_bytes = f->cubin ? f->cubin->local_bytes : f->facts.local_bytes,
        .max_dynamic_shared_bytes = f->max_dynamic_shared_bytes, .carveout = f->carveout,
        .ptx_version = ptx->target_sm, .binary_version = (uint32_t)f->module->context->device->facts->sm,
        .cluster_required = f->facts.explicit_cluster || f->facts.cluster[0], .cluster_non_portable = f->non_portable, .cluster_policy = f->cluster_policy,
        .n_params = p->proto.n_params, .param_bytes = p->proto.param_bytes,
    };
    memcpy(out->cluster, f->facts.cluster[0] ? f->facts.cluster : f->cluster, sizeof out->cluster);
    return ST_OK;
}

static const struct ptx_var *param_at(const struct rt_function *f, uint32_t i)
{
    const struct ptx_function *p = &f->module->code->ptx->functions[f->index];
    return i < p->proto.n_params ? &p->vars[p->proto.params[i]] : NULL;
}

enum status rt_function_param(struct rt_function *f, uint32_t index, uint64_t *offset, uint64_t *bytes)
{
    const struct ptx_var *v = param_at(f, index);
    if (!v)
        return ST_INVALID_VALUE;
    *offset = v->offset;
    *bytes = v->bytes;
    return ST_OK;
}

enum status rt_function_set_max_dynamic_shared(struct rt_function *f, int bytes)
{
    enum status st = function_known(f, NULL);
    if (st != ST_OK)
        return st;
    uint64_t most = f->module->context->device->facts->shared_per_block_optin_bytes;
    if (bytes < 0 || f->facts.shared_bytes + (uint64_t)bytes > most)
        return ST_INVALID_VALUE;
    f->max_dynamic_shared_bytes = (uint32_t)bytes;
    return ST_OK;
}

enum status rt_function_set_carveout(struct rt_function *f, int percent)
{
    if (percent < -1 || percent > 100)
        return ST_INVALID_VALUE;
    f->carveout = percent;
    return ST_OK;
}

/* ---- checks ---- */

static enum status check_dimensions(const struct rt_launch *l, const struct rt_device_facts *d, const char *name, struct error *err)
{
    const uint64_t grid_max[3] = {d->max_grid_x, d->max_grid_y, d->max_grid_z}, block_max[3] = {d->max_block_x, d->max_block_y, d->max_block_z};
    for (int i = 0; i < 3; i++) {
        if (!l->grid[i] || l->grid[i] > grid_max[i])
            return error_set(err, ST_INVALID_CONFIGURATION, "launch of %s: grid.%c is %u, %s takes 1 to %llu", name, 'x' + i, l->grid[i], d->name, (unsigned long long)grid_max[i]);
        if (!l->block[i] || l->block[i] > block_max[i])
            return error_set(err, ST_INVALID_CONFIGURATION, "launch of %s: block.%c is %u, %s takes 1 to %llu", name, 'x' + i, l->block[i], d->name, (unsigned long long)block_max[i]);
    }
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    if (threads > d->max_threads_per_block)
        return error_set(err, ST_INVALID_CONFIGURATION, "launch of %s: %u x %u x %u = %llu threads a block, %s takes %llu", name, l->block[0], l->block[1], l->block[2],
                         (unsigned long long)threads, d->name, (unsigned long long)d->max_threads_per_block);
    return ST_OK;
}

static enum status check_resources(const struct rt_launch *l, const struct rt_function *f, const char *name, struct error *err)
{
    uint32_t threads = l->block[0] * l->block[1] * l->block[2];
    if (threads > f->max_threads) {
        error_set(err, ST_LAUNCH_OUT_OF_RESOURCES, "launch of %s: %u threads a block, this kernel can have %u (%u registers a thread%s)", name, threads, f->max_threads, f->regs,
                  f->facts.max_threads ? ", __launch_bounds__" : "");
        error_hint(err, "use smaller blocks, or compile with __launch_bounds__(%u)", threads);
        return ST_LAUNCH_OUT_OF_RESOURCES;
    }
    const uint32_t *req = f->facts.req_threads;
    if (req[0] && (req[0] != l->block[0] || (req[1] ? req[1] : 1) != l->block[1] || (req[2] ? req[2] : 1) != l->block[2]))
        return error_set(err, ST_INVALID_VALUE, "launch of %s: block %u x %u x %u, the kernel was compiled for exactly %u x %u x %u", name, l->block[0], l->block[1], l->block[2],
                         req[0], req[1] ? req[1] : 1, req[2] ? req[2] : 1);
    if (l->dynamic_shared_bytes > f->max_dynamic_shared_bytes) {
        error_set(err, ST_INVALID_VALUE, "launch of %s: %u bytes of dynamic shared memory, the limit is %u", name, l->dynamic_shared_bytes, f->max_dynamic_shared_bytes);
        uint64_t most = f->module->context->device->facts->shared_per_block_optin_bytes - f->facts.shared_bytes;
        if (l->dynamic_shared_bytes <= most)
            error_hint(err, "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, %u) raises it", l->dynamic_shared_bytes);
        return ST_INVALID_VALUE;
    }
    return ST_OK;
}

static enum status check_cluster(const struct rt_launch *l, const struct rt_function *f, struct cluster_choice *out, const char *name, struct error *err)
{
    enum status st = function_cluster(f, l->cluster, out, name, err);
    for (int i = 0; i < 3 && st == ST_OK; i++)
        if (l->grid[i] % out->ctas[i] && !f->facts.blocks_are_clusters)
            st = error_set(err, ST_INVALID_CLUSTER_SIZE, "launch of %s: grid.%c is %u, no multiple of the cluster's %u", name, 'x' + i, l->grid[i], out->ctas[i]);
    return st;
}

static enum status check_cooperative(const struct rt_launch *l, const struct rt_function *f, const char *name, struct error *err)
{
    uint64_t ctas = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    uint64_t most = function_ctas_per_sm(f, l->block[0] * l->block[1] * l->block[2], l->dynamic_shared_bytes) * f->module->context->device->facts->sm_count;
    if (ctas <= most)
        return ST_OK;
    return error_set(err, ST_COOPERATIVE_LAUNCH_TOO_LARGE, "cooperative launch of %s: %llu blocks, %s holds %llu of them at once", name, (unsigned long long)ctas,
                     f->module->context->device->facts->name, (unsigned long long)most);
}

/* ---- parameters ---- */

static enum status check_params(const struct rt_launch *l, const struct rt_function *f, const char *name, struct error *err)
{
    const struct ptx_proto *p = &f->module->code->ptx->functions[f->index].proto;
    if (!p->n_params)
        return ST_OK;
    if (!l->params && !l->buffer)
        return error_set(err, ST_INVALID_VALUE, "launch of %s: it takes %u parameters, none were given", name, p->n_params);
    /* A structure at the end may be given in part: NCCL declares 4096 bytes and passes those that it filled. */
    const struct ptx_var *last = param_at(f, p->n_params - 1);
    bool in_part = l->buffer_bytes > last->offset && last->bytes > sizeof(uint64_t);
    if (!l->params && l->buffer_bytes < p->param_bytes && !in_part)
        return error_set(err, ST_INVALID_VALUE, "launch of %s: %zu bytes of parameters, it takes %u", name, l->buffer_bytes, p->param_bytes);
    return ST_OK;
}

static void write_params(void *block, const struct rt_launch *l, const struct rt_function *f, uint32_t bytes)
{
    if (!l->params) {
        size_t given = l->buffer_bytes < bytes ? l->buffer_bytes : bytes;
        memcpy(block, l->buffer, given);
        memset((char *)block + given, 0, bytes - given);
        return;
    }
    const struct ptx_function *p = &f->module->code->ptx->functions[f->index];
    for (uint32_t i = 0; i < p->proto.n_params; i++) {
        const struct ptx_var *v = &p->vars[p->proto.params[i]];
        memcpy((char *)block + v->offset, l->params[i], v->bytes);
    }
}

/* ---- the launch ---- */

static enum status enqueue(const struct rt_launch *l, const struct cluster_choice *cluster, struct error *err)
{
    struct rt_function *f = l->function;
    uint32_t bytes = f->module->code->ptx->functions[f->index].proto.param_bytes;
    enum status st = ST_OK;
    pthread_mutex_lock(&the.lock);
    struct op *op = op_new(l->stream, OP_LAUNCH);
    uint64_t params = op && bytes ? params_get(bytes, false) : 0;
    if (!op || (bytes && !params)) {
        st = error_set(err, ST_OUT_OF_MEMORY, "no memory for a launch");
        if (op)
            op_drop(op);
    } else {
        struct launch_op *o = &op->u.launch;
        *o = (struct launch_op){.function = f, .dynamic_shared_bytes = l->dynamic_shared_bytes, .param_bytes = bytes, .params = params, .cooperative = l->cooperative, .env = l->env};
        for (int i = 0; i < 3; i++)
            o->grid[i] = f->facts.blocks_are_clusters ? l->grid[i] * cluster->ctas[i] : l->grid[i];
        memcpy(o->block, l->block, sizeof o->block);
        memcpy(o->cluster, cluster->ctas, sizeof o->cluster);
        o->explicit_cluster = cluster->asked;
        if (params)
            write_params((void *)(uintptr_t)params, l, f, bytes);
        if (host_watched() && params)
            st = host_verify("parameters of the kernel", (const void *)(uintptr_t)params, bytes);
        if (st == ST_OK) {
            op_push(op);
        } else {
            params_put(params, bytes, false);
            op_drop(op);
        }
    }
    pthread_mutex_unlock(&the.lock);
    return st;
}

/* name: of the kernel, for the messages. */
static enum status check_shape(const struct rt_launch *l, struct cluster_choice *cluster, const char *name, struct error *err)
{
    struct rt_function *f = l->function;
    enum status st = check_dimensions(l, f->module->context->device->facts, name, err);
    if (st == ST_OK)
        st = function_ready(f, err);
    if (st == ST_OK)
        st = check_resources(l, f, name, err);
    return st == ST_OK ? check_cluster(l, f, cluster, name, err) : st;
}

enum status launch_check_nested(const struct rt_launch *l, struct cluster_choice *cluster, struct error *err)
{
    return check_shape(l, cluster, rt_function_name(l->function), err);
}

static enum status check(const struct rt_launch *l, struct cluster_choice *cluster, const char *name, struct error *err)
{
    struct rt_function *f = l->function;
    struct rt_context *c = f->module->context;
    if (l->stream && l->stream->context != c)
        return error_set(err, ST_INVALID_HANDLE, "launch of %s: the stream belongs to another context", name);
    enum status st = check_shape(l, cluster, name, err);
    if (st == ST_OK && l->cooperative)
        st = check_cooperative(l, f, name, err);
    return st == ST_OK ? check_params(l, f, name, err) : st;
}

enum status launch_check(const struct rt_launch *l, struct error *err)
{
    struct cluster_choice cluster;
    return check(l, &cluster, rt_function_name(l->function), err);
}

void launch_params(void *block, const struct rt_launch *l)
{
    write_params(block, l, l->function, l->function->module->code->ptx->functions[l->function->index].proto.param_bytes);
}

static bool captured(const struct rt_launch *l, struct error *err, enum status *st)
{
    struct rt_node_params p = {.type = RT_NODE_KERNEL, .context = l->stream->context};
    p.u.kernel.launch = *l;
    p.u.kernel.handle = l->function;
    return capture_take(l->stream, &p, err, st);
}

enum status rt_launch(const struct rt_launch *l, struct error *err)
{
    const char *mangled = rt_function_name(l->function);
    char name[256];
    struct cluster_choice cluster;
    enum status st = context_status(l->function->module->context);
    if (st != ST_OK)
        return st;
    if (capture_any() && captured(l, err, &st))
        return st;
    if (check(l, &cluster, mangled, err) == ST_OK)
        return enqueue(l, &cluster, err);
    /* Once more for the message: a launch that succeeds has no time for readable names. */
    return check(l, &cluster, symbol_demangle(mangled, name, sizeof name), err);
}
