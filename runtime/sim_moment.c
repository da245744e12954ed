/* Moments of a simulated GPU, for a debugger: as a checkpoint with the complete state, but in memory, of this process, and of the device alone. */
#include <string.h>

#include "emu/snapshot.h"
#include "runtime/dispatch.h"
#include "runtime/nest.h"
#include "timing/timing.h"

struct names { struct op *const *ops; size_t n; struct source *blocks; struct sink *to; };

static struct grid_run *run_of(const struct op *op) { return op->u.launch.run; }

static uint32_t kernel_number(void *user, const void *kernel)
{
    const struct names *n = user;
    uint32_t i = 0;
    while (i < n->n && &run_of(n->ops[i])->sim != kernel)
        i++;
    return i;
}

static bool kernel(void *user, uint32_t number, struct timing_kernel_spec *spec)
{
    const struct names *n = user;
    if (number >= n->n)
        return false;
    sim_links(run_of(n->ops[number]), spec);
    return true;
}

/* A function's name is its address. */
_Static_assert(sizeof(const struct ptx_function *) == 2 * sizeof(uint32_t), "a pointer has the room of its two numbers");
static bool function_number(void *user, const struct ptx_function *f, uint32_t number[2])
{
    (void)user;
    memcpy(number, &f, sizeof f);
    return true;
}

static const struct ptx_function *function(void *user, const uint32_t number[2])
{
    const struct ptx_function *f;
    (void)user;
    memcpy(&f, number, sizeof f);
    return f;
}

static struct emu_cta *resident(void *user, const void *kernel, struct emu_worker *w)
{
    const struct names *n = user;
    struct error err = {0};
    struct emu_cta *cta = NULL;
    uint32_t i = kernel_number(user, kernel);
    return i < n->n && emu_cta_restore(&cta, run_of(n->ops[i])->grid, w, UINT32_MAX, n->blocks, &err) == ST_OK ? cta : NULL;
}

static void keep_one(void *user, const void *kernel, struct emu_cta *cta, struct emu_worker *w)
{
    const struct names *n = user;
    (void)kernel;
    emu_cta_save(cta, w, n->to);
}

static struct timing_links links_of(struct names *n) { return (struct timing_links){n, kernel_number, function_number, kernel, function, resident}; }

bool sim_keep(struct device *d, struct op *const *ops, size_t n, struct sink *blocks, struct sink *state)
{
    struct names names = {.ops = ops, .n = n, .to = blocks};
    struct timing_links links = links_of(&names);
    struct grid_state now;
    struct error err = {0};
    for (size_t i = 0; i < n; i++) {
        if (!sim_state(run_of(ops[i]), &now))  /* blocks of a checkpoint wait for their SM, and can be read from it once */
            return false;
        put_u64(blocks, nest_moment(ops[i]));
        heap_keep(&run_of(ops[i])->context->heap, blocks);
    }
    timing_gpu_residents(d->gpu, keep_one, &names);
    return sim_save(d, &links, state, &err) == ST_OK && !blocks->failed && !state->failed;
}

enum status sim_put_back(struct device *d, struct op *const *ops, size_t n, struct source *blocks, struct source *state, struct error *err)
{
    struct names names = {.ops = ops, .n = n, .blocks = blocks};
    struct timing_links links = links_of(&names);
    timing_gpu_clear(d->gpu);
    for (size_t i = 0; i < n; i++) {
        run_of(ops[i])->sim.fault.status = ST_OK;
        nest_back(ops[i], get_u64(blocks));
        heap_put_back(&run_of(ops[i])->context->heap, blocks);
    }
    return sim_load(d, &links, state, err);
}

uint64_t sim_issued(const struct device *d) { return d->gpu ? timing_debug_issued(d->gpu) : 0; }
