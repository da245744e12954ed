/* How many blocks of a kernel one SM holds: the least of what threads, warps, registers and shared memory allow, each handed out in the GPU's units
 * (rows of gpus.def; the CUDA Occupancy Calculator's rules for compute capability 7 to 9). */
#include "runtime/internal.h"

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t round_up(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

static uint64_t shared_of_block(const struct rt_function *f, const struct rt_device_facts *d, uint64_t dynamic_bytes)
{
    return round_up(f->facts.shared_bytes + dynamic_bytes + d->shared_reserved_bytes, d->shared_unit_bytes);
}

uint32_t function_ctas_per_sm(const struct rt_function *f, uint32_t block_threads, uint64_t dynamic_shared_bytes)
{
    const struct rt_device_facts *d = f->module->context->device->facts;
    if (!block_threads || block_threads > f->max_threads || dynamic_shared_bytes > f->max_dynamic_shared_bytes)
        return 0;
    uint64_t warps = round_up(block_threads, d->warp_size) / d->warp_size;
    uint64_t ctas = least(d->max_ctas_per_sm, d->max_threads_per_sm / d->warp_size / warps);
    uint64_t regs_per_warp = round_up(f->regs * d->warp_size, d->reg_unit_per_warp);
    uint64_t warps_by_regs = d->regs_per_sm / d->reg_partitions / regs_per_warp * d->reg_partitions;
    ctas = least(ctas, warps_by_regs / warps);
    uint64_t shared = shared_of_block(f, d, dynamic_shared_bytes);
    if (shared)
        ctas = least(ctas, d->shared_per_sm_bytes / shared);
    if (!ctas && f->facts.max_threads)         /* __launch_bounds__ promises that one fits */
        ctas = 1;
    return (uint32_t)ctas;
}

enum status rt_occupancy_blocks(struct rt_function *f, uint32_t block_threads, uint64_t dynamic_shared_bytes, int *blocks)
{
    enum status st = function_known(f, NULL);
    if (st != ST_OK)
        return st;
    if (!block_threads)
        return ST_INVALID_VALUE;
    *blocks = (int)function_ctas_per_sm(f, block_threads, dynamic_shared_bytes);
    return ST_OK;
}

/* The block size with the most threads on an SM; of equals the largest, as CUDA's search from the top finds it. */
enum status rt_occupancy_block_size(struct rt_function *f, rt_block_shared_fn shared_of, size_t dynamic_shared_bytes, int limit_threads, int *min_grid, int *block_threads)
{
    enum status st = function_known(f, NULL);
    if (st != ST_OK)
        return st;
    const struct rt_device_facts *d = f->module->context->device->facts;
    uint32_t top = f->max_threads;
    if (limit_threads > 0 && (uint32_t)limit_threads < top)
        top = (uint32_t)limit_threads;
    uint32_t best = 0, best_threads = 0, best_ctas = 0;
    for (uint32_t rounded = (uint32_t)round_up(top, d->warp_size); rounded; rounded -= (uint32_t)d->warp_size) {
        uint32_t n = rounded < top ? rounded : top;
        uint32_t ctas = function_ctas_per_sm(f, n, shared_of ? shared_of((int)n) : dynamic_shared_bytes);
        if (ctas * n > best_threads) {
            best_threads = ctas * n;
            best = n;
            best_ctas = ctas;
        }
        if (best_threads == d->max_threads_per_sm)
            break;
    }
    *block_threads = (int)best;
    *min_grid = (int)(best_ctas * d->sm_count);
    return ST_OK;
}

enum status rt_occupancy_shared(struct rt_function *f, int blocks, int block_threads, size_t *dynamic_shared_bytes)
{
    enum status st = function_known(f, NULL);
    if (st != ST_OK)
        return st;
    const struct rt_device_facts *d = f->module->context->device->facts;
    if (blocks <= 0 || block_threads <= 0)
        return ST_INVALID_VALUE;
    if ((uint32_t)blocks > function_ctas_per_sm(f, (uint32_t)block_threads, 0))
        return ST_INVALID_VALUE;
    uint64_t each = d->shared_per_sm_bytes / (uint64_t)blocks / d->shared_unit_bytes * d->shared_unit_bytes;
    uint64_t taken = f->facts.shared_bytes + d->shared_reserved_bytes;
    *dynamic_shared_bytes = each > taken ? least(each - taken, f->max_dynamic_shared_bytes) : 0;
    return ST_OK;
}
