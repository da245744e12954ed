/* The process-wide runtime: made at the first call, gone (to itself) in a forked child, summed up at exit. Objects of all kinds. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/hello.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/host.h"
#include "runtime/checkpoint/plan.h"
#include "runtime/graph_internal.h"
#include "runtime/debug/debug.h"
#include "runtime/internal.h"

enum { NOT_STARTED, STARTED, FORKED };

struct runtime the = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .memory = PTHREAD_MUTEX_INITIALIZER,
    .code = PTHREAD_MUTEX_INITIALIZER, .handles = PTHREAD_MUTEX_INITIALIZER,
};
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- objects ---- */

#define OBJECT_RANGE ((size_t)1 << 30)         /* addresses only */
enum { LIVE = 0x6c646448, OBJECT_ALIGN = 64 };

static const size_t object_bytes[RT_KINDS] = {
    [RT_CONTEXT] = sizeof(struct rt_context), [RT_MODULE] = sizeof(struct rt_module), [RT_FUNCTION] = sizeof(struct rt_function),
    [RT_STREAM] = sizeof(struct rt_stream), [RT_EVENT] = sizeof(struct rt_event),
    [RT_LIBRARY] = 256, [RT_KERNEL] = 128, [RT_POOL] = 192, [RT_ARRAY] = 192, [RT_LINK] = 128, [RT_MAPPING] = 128, [RT_MIPMAP] = 256, [RT_TEXREF] = 384, [RT_SURFREF] = 384,
    [RT_GRAPH] = sizeof(struct rt_graph), [RT_GRAPH_NODE] = sizeof(struct rt_node), [RT_GRAPH_EXEC] = 192, [RT_USER_OBJECT] = 128, [RT_RESOURCES] = 128, [RT_GREEN] = 128,
};
static char *object_base;
static size_t object_top;
static struct object *object_freed[RT_KINDS];
static uint64_t objects_made;

void *object_new(enum rt_kind kind)
{
    pthread_mutex_lock(&the.handles);
    struct object *o = object_freed[kind];
    if (o) {
        object_freed[kind] = o->next_free;
    } else {
        size_t bytes = (object_bytes[kind] + OBJECT_ALIGN - 1) / OBJECT_ALIGN * OBJECT_ALIGN;
        if (bytes <= OBJECT_RANGE - object_top) {
            o = (struct object *)(void *)(object_base + object_top);
            object_top += bytes;
        }
    }
    if (o) {
        memset(o, 0, object_bytes[kind]);
        o->number = streams_in_simulation() ? 0 : host_numbered(&objects_made);      /* by the program's calls alone: what kernels decide is no matter of a replay */
        o->kind = (uint8_t)kind;
        o->magic = LIVE;
    }
    pthread_mutex_unlock(&the.handles);
    return o;
}

void object_free(void *p)
{
    struct object *o = p;
    pthread_mutex_lock(&the.handles);
    o->magic = 0;
    o->next_free = object_freed[o->kind];
    object_freed[o->kind] = o;
    pthread_mutex_unlock(&the.handles);
}

bool rt_is(const void *handle, enum rt_kind kind)
{
    uintptr_t at = (uintptr_t)handle, base = (uintptr_t)object_base;
    if (!base || at < base || at >= base + OBJECT_RANGE || at % OBJECT_ALIGN)
        return false;
    const struct object *o = handle;
    return __atomic_load_n(&o->magic, __ATOMIC_RELAXED) == LIVE && o->kind == kind;
}

uint64_t rt_handle_number(const void *handle)
{
    uintptr_t at = (uintptr_t)handle, base = (uintptr_t)object_base;
    bool is = base && at >= base && at < base + OBJECT_RANGE && at % OBJECT_ALIGN == 0;
    return is ? ((const struct object *)handle)->number : 0;
}

/* ---- start ---- */

static void fork_child(void)
{
    if (atomic_load(&the.state) == STARTED)
        atomic_store(&the.state, FORKED);
    host_mode_now = HOST_FREE;                 /* the parent's business */
}

/* A fork in the middle of a start must not leave a child with half a runtime. */
static void fork_prepare(void) { pthread_mutex_lock(&starting); }
static void fork_parent(void) { pthread_mutex_unlock(&starting); }
static void fork_child_start(void)
{
    pthread_mutex_unlock(&starting);
    fork_child();
}

/* Registered at the first CUDA call, so it runs before the handlers of a CUDA runtime inside the program, which unload its code. */
static void leave(void) { atomic_store(&the.leaving, true); }

static int worker_count(int64_t asked)
{
    long n = asked > 0 ? (long)asked : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MAX_WORKERS ? MAX_WORKERS : (int)n;
}

static enum status start(struct error *err)
{
    const struct rt_knobs *knobs = rt_knobs();
    const struct rt_device_facts *gpu = rt_gpu_find(knobs->gpu);
    if (!gpu) {
        char keys[256];
        error_set(err, ST_NO_DEVICE, "unknown GPU '%s'", knobs->gpu);
        error_hint(err, "--gpu= takes one of %s", rt_gpu_keys(keys, sizeof keys));
        return ST_NO_DEVICE;
    }
    enum status st = emu_space_create(&the.space, err);
    if (st != ST_OK)
        return st;
    void *objects = mmap(NULL, OBJECT_RANGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (objects == MAP_FAILED)
        return error_set(err, ST_OUT_OF_MEMORY, "cannot reserve addresses for handles");
    object_base = objects;
    int there = rt_machine_devices(), number[MAX_DEVICES];
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    the.n_devices = visible_devices(visible, gpu, there, number);
    if (there && !the.n_devices)
        log_warn("CUDA_VISIBLE_DEVICES is '%s', which leaves none of %d device%s visible (--devices=N makes more)", visible, there, there == 1 ? "" : "s");
    the.n_workers = worker_count(knobs->threads);
    the.quiet = knobs->quiet;
    the.pid = (int)getpid();
    if (atexit(leave) != 0)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for an exit handler");
    for (int i = 0; i < the.n_devices; i++) {
        struct device *d = &the.devices[i];
        *d = (struct device){.ordinal = i, .number = number[i], .facts = gpu};
        st = device_make(d);
        if (st != ST_OK)
            return error_set(err, st, "no host memory for device %d", i);
    }
    st = plugins_load(err);
    if (st == ST_OK)
        st = checkpoint_start(err);
    return st == ST_OK ? host_start(err) : st;
}

enum status rt_start(struct error *err)
{
    int state = atomic_load_explicit(&the.state, memory_order_acquire);
    if (state == STARTED)
        return ST_OK;
    if (state == FORKED)
        return error_set(err, ST_NOT_INITIALIZED, "this process was forked from one that had already used CUDA: its device is gone");
    static bool hooked;
    static struct error failure;               /* of an earlier try: the answer stays the same */
    (void)!emu_space_reserve(NULL);            /* registers its fork handlers before ours; start() reports a failure */
    pthread_mutex_lock(&starting);
    enum status st = failure.status;
    if (atomic_load(&the.state) == NOT_STARTED && st == ST_OK) {
        if (!hooked) {
            pthread_atfork(fork_prepare, fork_parent, fork_child_start);
            hooked = true;
        }
        st = start(&failure);
        if (st == ST_OK) {
            debug_start();
            if (debug_on() && sim_on())
                the.n_workers = 1;             /* hooks look at the whole GPU */
            atomic_store_explicit(&the.state, STARTED, memory_order_release);
            hello_cuda_called();
        }
    }
    if (st != ST_OK && err)
        *err = failure;
    pthread_mutex_unlock(&starting);
    return st;
}

bool rt_started(void) { return atomic_load(&the.state) == STARTED; }

__attribute__((destructor)) static void finish(void)
{
    if (!rt_started() || the.pid != (int)getpid())
        return;
    host_end();
    streams_stop();
    if (debug_on())
        debug_exit();
    checkpoint_end();
    if (!the.quiet)
        summary_print();
}

/* ---- devices ---- */

int rt_device_count(void) { return the.n_devices; }

struct device *device_at(int ordinal) { return ordinal >= 0 && ordinal < the.n_devices ? &the.devices[ordinal] : NULL; }

const struct rt_device_facts *rt_device_facts(int device)
{
    const struct device *d = device_at(device);
    return d ? d->facts : NULL;
}

/* Stable in every run, different for every GPU model and number. */
void device_uuid(const struct rt_device_facts *gpu, int number, uint8_t uuid[16])
{
    uint64_t h = hash_bytes(gpu->name, strlen(gpu->name));
    memcpy(uuid, &h, 8);
    memcpy(uuid + 8, "heddle", 6);
    uuid[14] = 0;
    uuid[15] = (uint8_t)number;
}

void rt_device_uuid(int device, uint8_t uuid[16])
{
    const struct device *d = device_at(device);
    memset(uuid, 0, 16);
    if (d)
        device_uuid(d->facts, d->number, uuid);
}

int rt_machine_devices(void)
{
    int64_t n = rt_knobs()->devices;
    return n < 0 ? 0 : n > MAX_DEVICES ? MAX_DEVICES : (int)n;
}

void rt_machine_uuid(int number, uint8_t uuid[16])
{
    const struct rt_device_facts *gpu = rt_gpu_find(rt_knobs()->gpu);
    memset(uuid, 0, 16);
    if (gpu)
        device_uuid(gpu, number, uuid);
}

int rt_machine_ordinal(int number)
{
    for (int i = 0; i < the.n_devices; i++)
        if (the.devices[i].number == number)
            return i;
    return -1;
}

struct rt_pci rt_device_pci(int device)
{
    const struct device *d = device_at(device);
    return (struct rt_pci){.domain = 0, .bus = 1 + (uint32_t)(d ? d->number : device), .device = 0};
}

bool rt_device_attribute(int device, int number, int *value)
{
    enum { ATTR_LAST = 147, ATTR_LATER = 255 };
    const struct rt_device_facts *f = rt_device_facts(device);
    struct rt_pci pci = rt_device_pci(device);
    switch (f ? number : 0) {
#define ATTR(n, name, expression) case n: *value = (int)(expression); return true;
#include "runtime/attr.def"
    default: break;
    }
    /* The driver's version is ahead of the toolkits it was written after: what later ones ask for are features, and no simulated GPU has them. */
    *value = 0;
    return f && number > ATTR_LAST && number <= ATTR_LATER;
}
