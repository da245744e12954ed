/* runtime: the device as the host sees it.
 *
 * Contexts, modules, device memory, streams, events, launches and the end-of-run summary. Behaviour lives here; the ABI (argument structs, special handle
 * values, version differences, which error code a NULL gets) is interpose's.
 *
 * Life: rt_start makes the process-wide runtime at the first call; nothing exists, and no thread runs, before. The simulation thread starts with the first
 * operation that needs it. A child forked after rt_start answers ST_NOT_INITIALIZED; one forked before it works.
 *
 * Threads: every function may be called by any thread; the current-context stack is the calling thread's own. Waits sleep, they never spin.
 *
 * Handles: pointers to the objects below. Objects of a kind live in one reserved range and are never handed back to the system, so rt_is() answers for any
 * pointer, destroyed ones included. No function checks a handle by itself except where it says so: interpose calls rt_is.
 *
 * Addresses: a device pointer is a host address (uint64_t here). Sizes in bytes, times in milliseconds where a double says so.
 *
 * Errors: enum status; functions with something to explain take `struct error *err` last (may be NULL). A context that a fault has poisoned answers its
 * sticky status from every function that takes it, directly or through a stream, module or event. The report of a fault is printed once, by the runtime. */
#ifndef HEDDLE_RUNTIME_H
#define HEDDLE_RUNTIME_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "runtime/knobs.h"                 /* rt_knobs(): the process's settings */

struct rt_context; struct rt_module; struct rt_library; struct rt_kernel; struct rt_function;
struct rt_resources; struct rt_green;
struct rt_stream;  struct rt_event;  struct rt_pool;    struct rt_array;  struct rt_link;

enum rt_kind { RT_CONTEXT, RT_MODULE, RT_LIBRARY, RT_KERNEL, RT_FUNCTION, RT_STREAM, RT_EVENT, RT_POOL, RT_ARRAY, RT_LINK, RT_MAPPING, RT_MIPMAP, RT_TEXREF, RT_SURFREF,
               RT_GRAPH, RT_GRAPH_NODE, RT_GRAPH_EXEC, RT_USER_OBJECT, RT_RESOURCES, RT_GREEN, RT_KINDS };
bool rt_is(const void *handle, enum rt_kind kind);      /* a live object of that kind? Any bits may be asked. */

/* ---- process and devices ------------------------------------------------------------------------------------------------------------------------- */

enum status rt_start(struct error *err) MUST_CHECK;     /* idempotent; ST_NOT_INITIALIZED in a child forked after the start */
bool rt_started(void);
int rt_device_count(void);                              /* --devices */

struct rt_device_facts {                                /* rows of runtime/gpus.def: what cuDeviceGetAttribute and the property structs are made of */
    const char *key, *name;
#define FACT(field, unit, v100, t4, rtx2060, rtx3070, a40, l40, a100, h100, h200) uint64_t field;
#include "runtime/gpus.def"
};
const struct rt_device_facts *rt_device_facts(int device);       /* NULL: no such ordinal */
const struct rt_device_facts *rt_gpu_find(const char *key);      /* NULL: no such GPU; key NULL or "": the default */
const struct rt_device_facts *rt_gpu_at(size_t i);               /* all of them, NULL behind the last */
char *rt_gpu_keys(char *buf, size_t n);                          /* "v100, t4, ..", cut where buf ends. Returns buf */
void rt_device_uuid(int device, uint8_t uuid[16]);
struct rt_pci { uint32_t domain, bus, device; };
struct rt_pci rt_device_pci(int device);
bool rt_device_attribute(int device, int number, int *value);    /* rows of runtime/attr.def; false: there is no such device or attribute */
/* The machine's GPUs by number, visible to the program or not. Need no start. */
int rt_machine_devices(void);
void rt_machine_uuid(int number, uint8_t uuid[16]);
int rt_machine_ordinal(int number);                     /* as the program counts, after rt_start; -1: not visible to it */
void rt_device_memory(int device, uint64_t *free_bytes, uint64_t *total_bytes);

/* ---- contexts -------------------------------------------------------------------------------------------------------------------------------------- */

enum status rt_context_create(struct rt_context **out, int device, uint32_t flags) MUST_CHECK;  /* not made current */
enum status rt_context_destroy(struct rt_context *c);            /* waits; pops it from the calling thread's stack top */
enum status rt_primary_retain(struct rt_context **out, int device) MUST_CHECK;
enum status rt_primary_release(int device);                      /* ST_INVALID_CONTEXT when not retained */
enum status rt_primary_reset(int device);                        /* destroys what it holds, clears a sticky error; the handle stays good after the next retain */
void rt_primary_state(int device, uint32_t *flags, bool *active);
enum status rt_primary_set_flags(int device, uint32_t flags);

struct rt_context *rt_current(void);                             /* NULL: none. A destroyed context stays current: rt_is tells */
struct rt_green *rt_current_green(void);                         /* of the current context; NULL: it has all SMs. Destroyed ones stay, too */
/* g: NULL, or a green context of c. */
enum status rt_set_current(struct rt_context *c, struct rt_green *g);        /* replaces the top; NULL empties the top */
enum status rt_push_current(struct rt_context *c, struct rt_green *g);
enum status rt_pop_current(struct rt_context **c, struct rt_green **g);      /* ST_INVALID_CONTEXT: stack empty */

int rt_context_device(const struct rt_context *c);
uint32_t rt_context_flags(const struct rt_context *c);
enum status rt_context_set_flags(struct rt_context *c, uint32_t flags);
uint64_t rt_context_id(const struct rt_context *c);
enum status rt_context_error(const struct rt_context *c);        /* sticky status or ST_OK */
enum status rt_context_synchronize(struct rt_context *c);

enum rt_limit { RT_LIMIT_STACK, RT_LIMIT_PRINTF_FIFO, RT_LIMIT_MALLOC_HEAP, RT_LIMIT_SYNC_DEPTH, RT_LIMIT_PENDING_LAUNCHES, RT_LIMIT_L2_FETCH, RT_LIMIT_L2_PERSISTING, RT_LIMITS };
enum status rt_context_limit(struct rt_context *c, enum rt_limit limit, size_t *value);
enum status rt_context_set_limit(struct rt_context *c, enum rt_limit limit, size_t value);
enum rt_setting { RT_SETTING_CACHE_CONFIG, RT_SETTING_SHARED_BANKS, RT_SETTINGS };   /* remembered, without effect on results */
int rt_context_setting(const struct rt_context *c, enum rt_setting s);
void rt_context_set_setting(struct rt_context *c, enum rt_setting s, int value);
enum status rt_peer_enable(struct rt_context *c, struct rt_context *peer);           /* ST_PEER_ACCESS_ALREADY_ENABLED */
enum status rt_peer_disable(struct rt_context *c, struct rt_context *peer);          /* ST_PEER_ACCESS_NOT_ENABLED */

/* Values that others hang on a context; dtor runs when the context is destroyed or reset. put replaces. get: ST_INVALID_HANDLE when absent. */
typedef void (*rt_dtor)(void *context, void *key, void *value);
enum status rt_context_put(struct rt_context *c, void *key, void *value, rt_dtor dtor);
enum status rt_context_get(struct rt_context *c, void *key, void **value);
enum status rt_context_delete(struct rt_context *c, void *key);

/* ---- memory ---------------------------------------------------------------------------------------------------------------------------------------- */

enum rt_memory_kind { RT_MEMORY_DEVICE, RT_MEMORY_HOST, RT_MEMORY_REGISTERED, RT_MEMORY_MANAGED, RT_MEMORY_VARIABLE, RT_MEMORY_ASYNC, RT_MEMORY_ARRAY, RT_MEMORY_MAPPED };
struct rt_memory {                                      /* the allocation that holds an address */
    uint64_t base, bytes;
    enum rt_memory_kind kind;
    struct rt_context *context;                         /* where it was made; NULL: a managed variable before any context */
    int device;
    uint32_t flags;                                     /* as given to the allocation; MAPPED: 1 = of the host's memory */
    uint64_t id;                                        /* unique in the process */
    struct rt_pool *pool;                               /* ASYNC only */
    bool sync_memops;
};
bool rt_memory_find(uint64_t address, struct rt_memory *out);    /* false: memory CUDA does not know (pageable) */
enum status rt_memory_set_sync_memops(uint64_t address, bool on);

/* Advice about managed memory (CUmem_advise; by pages), and prefetches: kept for questions, without effect. ST_INVALID_VALUE: not managed. */
enum { RT_PLACE_NONE, RT_PLACE_DEVICE, RT_PLACE_HOST, RT_PLACE_NUMA };          /* CUmemLocationType */
struct rt_place { int type, id; };                       /* zeroed: nowhere */
#define RT_ACCESSED_BY_HOST (1ull << 32)
struct rt_advice { bool read_mostly; struct rt_place preferred, prefetched; uint64_t accessed_by; /* a bit a device, and RT_ACCESSED_BY_HOST */ };
enum rt_advise { RT_ADVISE_READ_MOSTLY = 1, RT_ADVISE_NOT_READ_MOSTLY, RT_ADVISE_PREFERRED, RT_ADVISE_NOT_PREFERRED, RT_ADVISE_ACCESSED_BY, RT_ADVISE_NOT_ACCESSED_BY,
                 RT_ADVISE_PREFETCHED };
enum status rt_advise(uint64_t address, uint64_t bytes, enum rt_advise what, struct rt_place place);
enum status rt_advice(uint64_t address, uint64_t bytes, struct rt_advice *out);      /* what holds for all of its pages */

enum status rt_alloc(struct rt_context *c, uint64_t bytes, uint64_t *address, struct error *err) MUST_CHECK;        /* 512-byte aligned, zeroed; bytes 0: ST_INVALID_VALUE */
enum status rt_alloc_pitch(struct rt_context *c, uint64_t width, uint64_t height, uint64_t *address, uint64_t *pitch, struct error *err) MUST_CHECK;
enum status rt_alloc_managed(struct rt_context *c, uint64_t bytes, uint32_t flags, uint64_t *address, struct error *err) MUST_CHECK;
enum status rt_free(uint64_t address);                  /* device or managed; waits for the device's work; 0 is fine; ST_INVALID_VALUE: no allocation starts there */
enum status rt_host_alloc(struct rt_context *c, uint64_t bytes, uint32_t flags, void **p, struct error *err) MUST_CHECK;
enum status rt_host_free(void *p);
enum status rt_host_register(struct rt_context *c, void *p, uint64_t bytes, uint32_t flags);      /* ST_HOST_MEMORY_ALREADY_REGISTERED */
enum status rt_host_unregister(void *p);                                                          /* ST_HOST_MEMORY_NOT_REGISTERED */

enum rt_pool_attribute { RT_POOL_REUSE_FOLLOW_EVENTS, RT_POOL_REUSE_OPPORTUNISTIC, RT_POOL_REUSE_INTERNAL, RT_POOL_RELEASE_THRESHOLD,
                         RT_POOL_RESERVED_CURRENT, RT_POOL_RESERVED_HIGH, RT_POOL_USED_CURRENT, RT_POOL_USED_HIGH, RT_POOL_ATTRIBUTES };
struct rt_pool *rt_pool_default(int device);
struct rt_pool *rt_pool_current(int device);
enum status rt_pool_set_current(int device, struct rt_pool *p);
enum status rt_pool_create(struct rt_pool **out, int device, uint64_t max_bytes) MUST_CHECK;      /* max_bytes 0: no limit */
enum status rt_pool_destroy(struct rt_pool *p);
int rt_pool_device(const struct rt_pool *p);                     /* -1: of none */
/* Pools of memory anywhere: pinned memory of the host, or managed memory that prefers a place. A device's own are those of place DEVICE, not managed. */
struct rt_home { struct rt_place place; bool managed; };
enum status rt_pool_create_at(struct rt_pool **out, struct rt_home home, uint64_t max_bytes) MUST_CHECK;
struct rt_home rt_pool_home(const struct rt_pool *p);
enum status rt_home_pools(struct rt_home home, struct rt_pool **standard, struct rt_pool **current) MUST_CHECK;      /* either may be NULL */
enum status rt_home_set_current(struct rt_home home, struct rt_pool *p);             /* ST_INVALID_VALUE: a pool of another home */
enum status rt_pool_attribute(const struct rt_pool *p, enum rt_pool_attribute a, uint64_t *value);
enum status rt_pool_set_attribute(struct rt_pool *p, enum rt_pool_attribute a, uint64_t value);
enum status rt_pool_trim(struct rt_pool *p, uint64_t keep_bytes);
enum status rt_alloc_async(struct rt_stream *s, struct rt_pool *p, uint64_t bytes, uint64_t *address, struct error *err) MUST_CHECK;   /* p NULL: the device's current pool */
enum status rt_free_async(struct rt_stream *s, uint64_t address);

/* Virtual memory management (cuMemCreate and family). A reservation holds no memory; a physical handle is mapped into one at an offset. */
struct rt_mapping;                                      /* a physical allocation */
enum { RT_GRANULARITY = 2 << 20 };
enum status rt_reserve(uint64_t bytes, uint64_t align, uint64_t *address) MUST_CHECK;
enum status rt_reserve_free(uint64_t address, uint64_t bytes);
enum status rt_physical_create(struct rt_mapping **out, int device, uint64_t bytes) MUST_CHECK;
enum status rt_physical_create_host(struct rt_mapping **out, uint64_t bytes) MUST_CHECK;     /* of the host's memory */
bool rt_physical_is_host(const struct rt_mapping *m);
/* Multicast objects are mapped and released like physical allocations. */
enum status rt_multicast_create(struct rt_mapping **out, unsigned devices, uint64_t bytes) MUST_CHECK;
bool rt_is_multicast(const struct rt_mapping *m);
enum status rt_multicast_add(struct rt_mapping *m, int device);              /* ST_INVALID_VALUE: it is in, or all are */
enum status rt_multicast_bind(struct rt_mapping *m, uint64_t at, struct rt_mapping *physical, uint64_t offset, uint64_t bytes);     /* ST_ILLEGAL_STATE: devices are missing */
enum status rt_multicast_bind_address(struct rt_mapping *m, uint64_t at, uint64_t address, uint64_t bytes);
enum status rt_multicast_unbind(struct rt_mapping *m, int device, uint64_t at, uint64_t bytes);
enum status rt_physical_release(struct rt_mapping *m);  /* memory goes when also unmapped */
enum status rt_physical_retain(struct rt_mapping **out, uint64_t address);      /* what is mapped there; one more release. ST_INVALID_VALUE: nothing */
void rt_physical_set_compressed(struct rt_mapping *m);  /* asked for; without effect */
bool rt_physical_is_compressed(const struct rt_mapping *m);
void rt_physical_share(struct rt_mapping *m);           /* it may go to other processes: runtime/share.h */
bool rt_physical_is_shared(const struct rt_mapping *m);
uint64_t rt_physical_bytes(const struct rt_mapping *m);
int rt_physical_device(const struct rt_mapping *m);
enum status rt_map(uint64_t address, uint64_t bytes, uint64_t offset, struct rt_mapping *m);
enum status rt_unmap(uint64_t address, uint64_t bytes);
enum status rt_map_access(uint64_t address, uint64_t bytes, bool readable, bool writable);        /* before it, kernels fault there */
enum status rt_map_access_get(uint64_t address, bool *readable, bool *writable);         /* ST_INVALID_VALUE: nothing is mapped there */

/* Arrays: texels in rows of `pitch` bytes, slices of pitch * rows; kernels see them through textures and surfaces only (runtime/texture.h). */
struct rt_array_shape {
    uint64_t width, height, depth;                      /* texels; height or depth 0: that dimension is absent */
    uint32_t texel_bytes;                               /* channels * bytes per channel; of a block of 4 x 4 texels, where they are compressed: */
    bool blocks;                                        /* then a row of memory is a row of blocks */
    int format; uint32_t channels, flags;               /* as given */
};
enum status rt_array_create(struct rt_array **out, struct rt_context *c, const struct rt_array_shape *shape, struct error *err) MUST_CHECK;
enum status rt_array_destroy(struct rt_array *a);
const struct rt_array_shape *rt_array_shape(const struct rt_array *a);
void rt_array_storage(const struct rt_array *a, uint64_t *address, uint64_t *pitch);

/* A copy: `depth` slices of `height` rows of `width` bytes. Any address, device or host, on either side. */
struct rt_copy {
    uint64_t dst, dst_pitch, dst_slice;                 /* slice: bytes from one slice to the next */
    uint64_t src, src_pitch, src_slice;
    uint64_t width, height, depth;
};
enum rt_wait { RT_ASYNC, RT_SYNC };
/* RT_SYNC returns when a CUDA copy of that kind would; RT_ASYNC as the Async form does: pageable sources are read before the call returns, pageable
 * destinations are written before it returns. A bad range is ST_INVALID_VALUE. */
enum status rt_memcpy(struct rt_stream *s, const struct rt_copy *copy, enum rt_wait wait);
enum status rt_memcpy_linear(struct rt_stream *s, uint64_t dst, uint64_t src, uint64_t bytes, enum rt_wait wait);
/* height rows of width elements of elem_bytes (1, 2 or 4), each set to value. */
enum status rt_memset(struct rt_stream *s, uint64_t dst, uint64_t pitch, uint32_t value, uint32_t elem_bytes, uint64_t width, uint64_t height, enum rt_wait wait);

/* ---- streams and events ---------------------------------------------------------------------------------------------------------------------------- */

enum { RT_STREAM_NON_BLOCKING = 1, RT_PRIORITY_LOWEST = 0, RT_PRIORITY_HIGHEST = -5 };
struct rt_stream *rt_stream_legacy(struct rt_context *c);
struct rt_stream *rt_stream_per_thread(struct rt_context *c);    /* the calling thread's; NULL: no memory */
enum status rt_stream_create(struct rt_stream **out, struct rt_context *c, uint32_t flags, int priority) MUST_CHECK;
enum status rt_stream_destroy(struct rt_stream *s);              /* returns at once; queued work still runs */

/* Green contexts: the primary context of a device with some of its SMs. What is launched into their streams runs there on the simulated GPU; without one they
 * are remembered. */
enum { RT_SM_WORDS = 4 };
struct rt_sms { uint64_t bits[RT_SM_WORDS]; };                   /* by number */
struct rt_resources *rt_resources_new(int device, const struct rt_sms *sms);                 /* lives as long as the process; NULL: no memory */
enum status rt_green_create(struct rt_green **out, const struct rt_resources *r) MUST_CHECK; /* retains the primary context */
enum status rt_green_destroy(struct rt_green *g);                /* its streams go on as the primary context's */
int rt_resources_device(const struct rt_resources *r);
struct rt_context *rt_green_context(const struct rt_green *g);
const struct rt_sms *rt_green_sms(const struct rt_green *g);
uint64_t rt_green_id(const struct rt_green *g);
enum status rt_green_stream(struct rt_stream **out, struct rt_green *g, uint32_t flags, int priority) MUST_CHECK;
struct rt_stream *rt_green_default(const struct rt_green *g);   /* the stream of those who name none */
enum status rt_green_synchronize(struct rt_green *g);            /* waits for its streams */
struct rt_green *rt_stream_green(const struct rt_stream *s);     /* NULL: it is of none */
/* e happens when all is done that the context, or with g that green context, has been given; and: what it is given from now on waits for e. */
enum status rt_context_record(struct rt_context *c, const struct rt_green *g, struct rt_event *e);
enum status rt_context_wait(struct rt_context *c, struct rt_green *g, struct rt_event *e);
struct rt_context *rt_stream_context(const struct rt_stream *s);
uint32_t rt_stream_flags(const struct rt_stream *s);
int rt_stream_priority(const struct rt_stream *s);
uint64_t rt_stream_id(const struct rt_stream *s);
/* CUstreamAttrID: 1 access window, 3 synchronisation policy, 8 priority, 9 and 10 memory domains. Hints, kept for whoever asks; values of RT_STREAM_ATTRIBUTE_BYTES.
 * ST_INVALID_VALUE: another one. */
enum { RT_STREAM_ATTRIBUTE_BYTES = 64 };
enum status rt_stream_attribute(struct rt_stream *s, int id, void *value);
enum status rt_stream_set_attribute(struct rt_stream *s, int id, const void *value);
enum status rt_stream_query(struct rt_stream *s);                /* ST_NOT_READY: work is left */
enum status rt_stream_synchronize(struct rt_stream *s);
enum status rt_stream_wait_event(struct rt_stream *s, struct rt_event *e);      /* waits for the record that is the latest now; none: nothing */
typedef void (*rt_host_fn)(void *user);
typedef void (*rt_callback_fn)(void *stream_handle, int cu_status, void *user);
enum status rt_stream_host(struct rt_stream *s, rt_host_fn fn, void *user);     /* not run when the context is poisoned */
enum status rt_stream_callback(struct rt_stream *s, rt_callback_fn fn, void *stream_handle, void *user);   /* always run, with the status */
enum rt_compare { RT_GEQ, RT_EQ, RT_AND, RT_NOR };
enum status rt_stream_wait_value(struct rt_stream *s, uint64_t address, uint64_t value, uint32_t bytes, enum rt_compare how);
struct rt_value_op { uint64_t address, value; uint32_t bytes; bool wait; enum rt_compare how; };        /* wait for, or else write */
enum status rt_stream_values(struct rt_stream *s, const struct rt_value_op *ops, size_t n);      /* all or, where one is no good, none: ST_INVALID_VALUE */
enum status rt_stream_write_value(struct rt_stream *s, uint64_t address, uint64_t value, uint32_t bytes);

enum { RT_EVENT_BLOCKING_SYNC = 1, RT_EVENT_NO_TIMING = 2, RT_EVENT_IPC = 4 };
enum status rt_event_create(struct rt_event **out, struct rt_context *c, uint32_t flags) MUST_CHECK;
enum status rt_event_destroy(struct rt_event *e);                /* pending records and waits still complete */
struct rt_context *rt_event_context(const struct rt_event *e);
enum status rt_event_record(struct rt_event *e, struct rt_stream *s);           /* ST_INVALID_HANDLE: stream of another context */
enum status rt_event_query(struct rt_event *e);                  /* never recorded: ST_OK */
enum status rt_event_synchronize(struct rt_event *e);
enum status rt_event_elapsed(double *ms, struct rt_event *start, struct rt_event *end);   /* ST_NOT_READY; ST_INVALID_HANDLE: not recorded or no timing */

/* ---- code ------------------------------------------------------------------------------------------------------------------------------------------ */

/* image: a fatbin wrapper, a fatbin header, PTX text (NUL-terminated unless bytes says where it ends), a cubin, or what rt_link_complete gave.
 * bytes 0: unknown, the image says it itself. Nothing is kept of the image after the call. name: for messages, may be NULL.
 * ST_NO_BINARY_FOR_GPU: no PTX in it that the GPU can run; ST_INVALID_IMAGE; ST_INVALID_PTX. */
enum status rt_module_load(struct rt_module **out, struct rt_context *c, const void *image, size_t bytes, const char *name, struct error *err) MUST_CHECK;
enum status rt_module_unload(struct rt_module *m);
enum status rt_module_function(struct rt_function **out, struct rt_module *m, const char *name, struct error *err) MUST_CHECK;     /* ST_NOT_FOUND */
enum status rt_module_global(struct rt_module *m, const char *name, uint64_t *address, uint64_t *bytes, struct error *err);        /* ST_NOT_FOUND */
size_t rt_module_functions(struct rt_module *m, struct rt_function **out, size_t n);     /* how many entries there are; fills in up to n */

/* A library is code that no context owns yet: it becomes a module of each context at first use. */
enum status rt_library_load(struct rt_library **out, const void *image, size_t bytes, const char *name, struct error *err) MUST_CHECK;
enum status rt_library_unload(struct rt_library *l);
enum status rt_library_module(struct rt_module **out, struct rt_library *l, struct rt_context *c, struct error *err) MUST_CHECK;
enum status rt_library_kernel(struct rt_kernel **out, struct rt_library *l, const char *name, struct error *err) MUST_CHECK;       /* ST_NOT_FOUND */
enum status rt_library_global(struct rt_library *l, struct rt_context *c, const char *name, uint64_t *address, uint64_t *bytes, struct error *err);
enum status rt_library_managed(struct rt_library *l, const char *name, uint64_t *address, uint64_t *bytes, struct error *err);     /* needs no context */
size_t rt_library_kernels(struct rt_library *l, struct rt_kernel **out, size_t n);
enum status rt_kernel_function(struct rt_function **out, struct rt_kernel *k, struct rt_context *c, struct error *err) MUST_CHECK;
struct rt_library *rt_kernel_library(const struct rt_kernel *k);
const char *rt_kernel_name(const struct rt_kernel *k);

/* Linking at run time (cuLink*): inputs are images as above. The result belongs to the link and is an image; it may be copied.
 * c says which GPU it is for; NULL: the configured one, as for compilers that know no context. */
enum status rt_link_create(struct rt_link **out, struct rt_context *c) MUST_CHECK;
enum status rt_link_add(struct rt_link *l, const void *image, size_t bytes, const char *name, struct error *err);
enum status rt_link_complete(struct rt_link *l, void **image, size_t *bytes, struct error *err);
enum status rt_link_destroy(struct rt_link *l);

struct rt_function_info {
    const char *name;
    uint32_t max_threads, regs;                         /* per block; per thread */
    uint64_t shared_bytes, const_bytes, local_bytes;    /* static; per thread */
    uint32_t max_dynamic_shared_bytes;
    int carveout;                                       /* percent, -1: no preference */
    uint32_t ptx_version, binary_version;               /* major * 10 + minor of the target */
    uint32_t cluster[3]; bool cluster_required, cluster_non_portable; int cluster_policy;
    uint32_t n_params, param_bytes;
};
enum status rt_function_info(struct rt_function *f, struct rt_function_info *out, struct error *err);   /* decodes the kernel when that was not done */
struct rt_module *rt_function_module(const struct rt_function *f);
struct rt_context *rt_function_context(const struct rt_function *f);
const char *rt_function_name(const struct rt_function *f);
enum status rt_function_param(struct rt_function *f, uint32_t index, uint64_t *offset, uint64_t *bytes);   /* ST_INVALID_VALUE: no such parameter */
enum status rt_function_set_max_dynamic_shared(struct rt_function *f, int bytes);        /* ST_INVALID_VALUE: more than the GPU has beside the static part */
enum status rt_function_set_carveout(struct rt_function *f, int percent);
enum status rt_function_set_cluster(struct rt_function *f, int axis, int blocks);         /* checked at launch; ST_NOT_PERMITTED: compiled for other ones */
enum status rt_function_set_non_portable(struct rt_function *f, bool on);
enum status rt_function_set_cluster_policy(struct rt_function *f, int policy);           /* kept, without effect */

/* A launch. Parameters come as an array of pointers (params) or as a ready block (buffer); with neither, the kernel must take none. */
struct rt_launch {
    struct rt_function *function;
    struct rt_stream *stream;                           /* never NULL */
    uint32_t grid[3], block[3], cluster[3];             /* cluster 0,0,0: what the kernel says */
    uint32_t dynamic_shared_bytes;
    void *const *params;
    const void *buffer; size_t buffer_bytes;
    bool cooperative;
    struct graph_env *env;                              /* NULL, but for graphs: what the kernel may launch graphs from */
};
/* ST_INVALID_CONFIGURATION (dimensions out of the GPU's range; interpose maps it to 1 for the driver API), ST_INVALID_VALUE (too much shared memory, parameters),
 * ST_LAUNCH_OUT_OF_RESOURCES (more threads than the kernel's registers or .maxntid allow), ST_COOPERATIVE_LAUNCH_TOO_LARGE, ST_INVALID_CLUSTER_SIZE.
 * About a microsecond; the grid runs later. */
enum status rt_launch(const struct rt_launch *l, struct error *err);

/* Occupancy: blocks of f that one SM of its GPU holds at once. */
enum status rt_occupancy_blocks(struct rt_function *f, uint32_t block_threads, uint64_t dynamic_shared_bytes, int *blocks);
typedef size_t (*rt_block_shared_fn)(int block_threads);
enum status rt_occupancy_block_size(struct rt_function *f, rt_block_shared_fn shared_of /* or NULL */, size_t dynamic_shared_bytes, int limit_threads, int *min_grid, int *block_threads);
enum status rt_occupancy_shared(struct rt_function *f, int blocks, int block_threads, size_t *dynamic_shared_bytes);
/* cluster 0,0,0: what the kernel says; ST_INVALID_CLUSTER_SIZE when it says nothing. */
enum status rt_occupancy_clusters(struct rt_function *f, const uint32_t cluster[3], const uint32_t block[3], size_t dynamic_shared_bytes, int *clusters, struct error *err);
enum status rt_occupancy_cluster_size(struct rt_function *f, const uint32_t block[3], size_t dynamic_shared_bytes, int *ctas);

/* ---- what happened --------------------------------------------------------------------------------------------------------------------------------- */

struct rt_totals { uint64_t cycles /* simulated */, kernels, ctas, thread_insns, warp_insns; double kernel_ms; uint64_t memory_peak_bytes; };
void rt_totals(struct rt_totals *out);
void rt_flush_output(void);                             /* device printf text so far to the process's stdout */

#endif
