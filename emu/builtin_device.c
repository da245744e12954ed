/* The system calls of the device runtime. libcudadevrt, which nvcc links into programs whose kernels launch kernels, comes as PTX; it checks arguments, copies
 * and fills by kernels of its own, and knows the errors' texts. What it cannot do itself it asks the driver for by these calls: launches, streams, events, facts.
 * They answer error numbers of their own, which libcudadevrt turns into cudaError_t by a table. */
#include <string.h>

#include "emu/builtin.h"
#include "emu/device_runtime.h"
#include "emu/mem.h"

typedef uint32_t (*rows)[32];

static uint32_t number_of(enum status st)
{
    static const struct { enum status status; uint32_t number; } numbers[] = {
        { ST_OK, 0 }, { ST_INVALID_VALUE, 1 }, { ST_INVALID_DEVICE, 3 }, { ST_OUT_OF_MEMORY, 4 }, { ST_LAUNCH_MAX_DEPTH_EXCEEDED, 5 },
        { ST_LAUNCH_OUT_OF_RESOURCES, 6 }, { ST_INVALID_CONFIGURATION, 7 }, { ST_LAUNCH_PENDING_COUNT_EXCEEDED, 12 }, { ST_UNSUPPORTED_LIMIT, 13 },
        { ST_INVALID_CLUSTER_SIZE, 14 },
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].status == st) return numbers[i].number;
    return 1;
}

/* A call of one lane. */
struct call { struct ctx *c; struct warp *w; uint32_t lane; rows params, returns; const struct emu_device_runtime *device; struct emu_caller who; };

static uint32_t word(const struct call *k, unsigned i) { return k->params[i][k->lane]; }
static uint64_t wide(const struct call *k, unsigned i) { return builtin_wide(k->params, i, k->lane); }

/* Writes n bytes at a generic address. A bad one is the kernel's mistake, told as that of an argument. */
static enum status put(const struct call *k, uint64_t address, const void *from, uint64_t n)
{
    uint64_t room;
    char *at = mem_at(k->w, k->c, k->lane, address, true, &room);
    if (!at || room < n) return ST_INVALID_VALUE;
    memcpy(at, from, n);
    return ST_OK;
}

static enum status get(const struct call *k, uint64_t address, void *to, uint64_t n)
{
    uint64_t room;
    const char *at = mem_at(k->w, k->c, k->lane, address, false, &room);
    if (!at || room < n) return ST_INVALID_VALUE;
    memcpy(to, at, n);
    return ST_OK;
}

static struct emu_child child_at(const struct call *k)      /* function, grid, block, bytes of shared memory, as V2 passes them */
{
    struct emu_child child = { .function = wide(k, 0), .shared_bytes = word(k, 8) };
    for (unsigned i = 0; i < 3; i++) {
        child.grid[i] = word(k, 2 + i);
        child.block[i] = word(k, 5 + i);
    }
    return child;
}

/* ---- launches: a buffer of NULL stands for an error, which is the thread's last one then -------------------------------------------------------- */

static enum status buffer_v2(struct call *k)
{
    struct emu_child child = child_at(k);
    uint64_t at = 0;
    (void)k->device->buffer(&k->who, &child, 0, &at);
    builtin_set_wide(k->returns, 0, k->lane, at);
    return ST_OK;
}

static enum status buffer_v1(struct call *k)                /* alignment, bytes */
{
    struct emu_child child = { 0 };
    uint64_t at = 0;
    (void)k->device->buffer(&k->who, &child, word(k, 1), &at);
    builtin_set_wide(k->returns, 0, k->lane, at);
    return ST_OK;
}

static enum status launch_v2(struct call *k) { return k->device->launch(&k->who, wide(k, 0), NULL, wide(k, 2)); }

static enum status launch_v1(struct call *k)                /* function, buffer, addresses of grid and block, bytes of shared memory, stream */
{
    struct emu_child child = { .function = wide(k, 0), .shared_bytes = word(k, 8) };
    enum status st = get(k, wide(k, 4), child.grid, sizeof child.grid);
    if (st == ST_OK) st = get(k, wide(k, 6), child.block, sizeof child.block);
    return st == ST_OK ? k->device->launch(&k->who, wide(k, 2), &child, wide(k, 10)) : st;
}

/* cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) */
static enum status graph_launch(struct call *k)
{
    k->returns[0][k->lane] = (uint32_t)status_cuda(k->device->graph_launch(&k->who, wide(k, 0), wide(k, 2)));
    return ST_OK;
}

/* ---- streams and events --------------------------------------------------------------------------------------------------------------------------- */

static enum status stream_create(struct call *k)
{
    uint64_t stream;
    enum status st = k->device->stream_create(&k->who, word(k, 2), &stream);
    return st == ST_OK ? put(k, wide(k, 0), &stream, sizeof stream) : st;
}

static enum status event_create(struct call *k)
{
    uint64_t event;
    enum status st = k->device->event_create(&k->who, word(k, 2), &event);
    return st == ST_OK ? put(k, wide(k, 0), &event, sizeof event) : st;
}

static enum status stream_destroy(struct call *k) { return k->device->stream_destroy(&k->who, wide(k, 0)); }
static enum status stream_wait(struct call *k) { return k->device->stream_wait(&k->who, wide(k, 0), wide(k, 2)); }
static enum status event_record(struct call *k) { return k->device->event_record(&k->who, wide(k, 0), wide(k, 2)); }
static enum status event_destroy(struct call *k) { return k->device->event_destroy(&k->who, wide(k, 0)); }

/* ---- errors and facts ------------------------------------------------------------------------------------------------------------------------------ */

static enum status last_error(struct call *k)
{
    k->returns[0][k->lane] = k->device->error(&k->who);
    return ST_OK;
}

static enum status set_last_error(struct call *k)
{
    k->device->set_error(&k->who, word(k, 0));
    k->returns[0][k->lane] = word(k, 0);
    return ST_OK;
}

/* The first parameter is where the answer goes. */
static enum status fact(struct call *k, enum emu_fact what, uint64_t a, uint64_t b, uint64_t x, unsigned bytes)
{
    uint64_t value, arguments[3] = { a, b, x };
    enum status st = k->device->fact(&k->who, what, arguments, &value);
    return st == ST_OK ? put(k, wide(k, 0), &value, bytes) : st;
}

static enum status device(struct call *k) { return fact(k, EMU_FACT_DEVICE, 0, 0, 0, 4); }
static enum status device_count(struct call *k) { return fact(k, EMU_FACT_DEVICES, 0, 0, 0, 4); }
static enum status device_attribute(struct call *k) { return fact(k, EMU_FACT_ATTRIBUTE, word(k, 2), word(k, 3), 0, 4); }
static enum status limit(struct call *k) { return fact(k, EMU_FACT_LIMIT, word(k, 2), 0, 0, 8); }
static enum status occupancy(struct call *k) { return fact(k, EMU_FACT_OCCUPANCY, wide(k, 2), word(k, 4), wide(k, 6), 4); }

static enum status function_attribute(struct call *k)
{
    enum { SHARED = 1, LOCAL = 3 };            /* the sizes among them are size_t */
    uint32_t number = word(k, 2);
    return fact(k, EMU_FACT_FUNCTION, number, wide(k, 4), 0, number >= SHARED && number <= LOCAL ? 8 : 4);
}

/* Caches and banks of shared memory are as they are. */
static enum status no_preference(struct call *k) { return put(k, wide(k, 0), &(uint32_t){ 0 }, 4); }

/* ---- calls --------------------------------------------------------------------------------------------------------------------------------------------- */

/* own: the function has answered, and what comes back is no error number. */
static enum status call(struct ctx *c, struct warp *w, const struct insn *in, uint32_t mask, rows params, rows returns, enum status (*fn)(struct call *k), bool own)
{
    const struct emu_launch *l = &c->grid->launch;
    const uint32_t *id = w->cta->ctaid;
    struct call k = { .c = c, .w = w, .params = params, .returns = returns, .device = l->host.device };
    if (!k.device) {
        insn_fault(in, w, c, (uint32_t)__builtin_ctz(mask), ST_NOT_SUPPORTED, "the device runtime is not there");
        return ST_NOT_SUPPORTED;
    }
    k.who = (struct emu_caller){ .launcher = l->host.launcher, .block = id[0] + (uint64_t)l->grid[0] * (id[1] + (uint64_t)l->grid[1] * id[2]), .cycle = c->cycle };
    for (uint32_t m = mask; m; m &= m - 1) {
        k.lane = (uint32_t)__builtin_ctz(m);
        k.who.thread = w->number * WARP_SIZE + k.lane;
        enum status st = fn(&k);
        if (!own) returns[0][k.lane] = number_of(st);
    }
    if (k.who.yield) c->budget = -(int64_t)UINT32_MAX;  /* more than any quantum: the block's turn ends where a loop closes next */
    return ST_OK;
}

#define CALL(name, own)                                                                                                                        \
    static enum status run_##name(struct ctx *c, struct warp *w, const struct insn *in, uint32_t mask, rows params, rows returns)              \
    {                                                                                                                                          \
        return call(c, w, in, mask, params, returns, name, own);                                                                               \
    }
CALL(buffer_v2, true)
CALL(buffer_v1, true)
CALL(launch_v2, false)
CALL(launch_v1, false)
CALL(graph_launch, true)
CALL(stream_create, false)
CALL(stream_destroy, false)
CALL(stream_wait, false)
CALL(event_create, false)
CALL(event_record, false)
CALL(event_destroy, false)
CALL(last_error, true)
CALL(set_last_error, true)
CALL(device, false)
CALL(device_count, false)
CALL(device_attribute, false)
CALL(limit, false)
CALL(occupancy, false)
CALL(function_attribute, false)
CALL(no_preference, false)

/* The older kind of dynamic parallelism (CDP1) has the same calls under other names, but for this one: a block that waits for what it launched. */
static enum status run_synchronize(struct ctx *c, struct warp *w, const struct insn *in, uint32_t mask, rows params, rows returns)
{
    (void)params, (void)returns;
    insn_fault(in, w, c, (uint32_t)__builtin_ctz(mask), ST_NOT_SUPPORTED,
               "cudaDeviceSynchronize in a kernel, which CUDA 12 took away for sm_90 and later: let a kernel in cudaStreamTailLaunch go on with the results");
    return ST_NOT_SUPPORTED;
}

#define SYSCALL(name, fn, traits) { "__cuda_syscall_cnpv2" name, fn, traits }, { "cnp" name, fn, traits }
#define FACT(name, fn) { "__cuda_syscall_cnpv2" name, fn, 0 }, { "__cuda_syscall_cnp" name, fn, 0 }

const struct builtin builtin_device[] = {
    SYSCALL("GetParameterBufferV2", run_buffer_v2, BUILTIN_ORDERED | BUILTIN_LAUNCHES),
    SYSCALL("GetParameterBuffer", run_buffer_v1, BUILTIN_ORDERED | BUILTIN_LAUNCHES),
    SYSCALL("LaunchDeviceV2", run_launch_v2, BUILTIN_ORDERED | BUILTIN_LAUNCHES),
    SYSCALL("LaunchDevice", run_launch_v1, BUILTIN_ORDERED | BUILTIN_LAUNCHES),
    SYSCALL("StreamCreate", run_stream_create, BUILTIN_ORDERED),
    SYSCALL("StreamDestroy", run_stream_destroy, BUILTIN_ORDERED),
    SYSCALL("StreamWaitEvent", run_stream_wait, BUILTIN_ORDERED),
    SYSCALL("EventCreate", run_event_create, BUILTIN_ORDERED),
    SYSCALL("EventRecord", run_event_record, BUILTIN_ORDERED),
    SYSCALL("EventDestroy", run_event_destroy, BUILTIN_ORDERED),
    SYSCALL("GetLastError", run_last_error, 0),
    SYSCALL("SetLastError", run_set_last_error, 0),
    SYSCALL("GetDevice", run_device, 0),
    SYSCALL("GetDeviceCount", run_device_count, 0),
    SYSCALL("DeviceGetAttribute", run_device_attribute, 0),
    SYSCALL("GetLimit", run_limit, 0),
    SYSCALL("GetCacheConfig", run_no_preference, 0),
    SYSCALL("GetSharedMemConfig", run_no_preference, 0),
    SYSCALL("FuncGetAttribute", run_function_attribute, 0),
    FACT("MaxActiveBlocksPerMultiprocessor", run_occupancy),
    FACT("MaxActiveBlocksPerMultiprocessorWithFlags", run_occupancy),
    { "cudaGraphLaunch", run_graph_launch, BUILTIN_ORDERED | BUILTIN_LAUNCHES },
    { "cudaDeviceSynchronize", run_synchronize, 0 },
    { 0 },
};
