/* interpose: what the handlers of api.def share.
 *
 * A call comes in through an exported symbol (export.c), which runs the row's handler, traces it when asked, and turns its
 * status into a CUresult or cudaError_t. Handlers check arguments and handles and call runtime/runtime.h; nothing here keeps
 * a fact about the device. All of it may be called by any thread. */
#ifndef HEDDLE_API_H
#define HEDDLE_API_H
#include <stdbool.h>

#include "interpose/abi.h"
#include "interpose/args.h"
#include "runtime/base/error.h"
#include "runtime/checkpoint/host.h"
#include "runtime/runtime.h"
#include "runtime/share.h"

#define CU(name, suffix, since, variant, handler, params) enum status handler(PARAMS params);
#define CUDA(symbol, variant, context, handler, params) enum status handler(PARAMS params);
#include "interpose/api.def"

/* One per thread. */
struct api_thread {
    bool per_thread_stream;                    /* inside a _ptsz or _ptds call: stream 0 is the thread's own */
    int last_error;                            /* of the runtime API: cudaGetLastError */
    int device;                                /* of the runtime API: cudaSetDevice */
    const void *caller;                        /* of the driver function that runs: where it returns to */
};
extern _Thread_local struct api_thread api_thread;

/* The calling thread's context: ST_NOT_INITIALIZED, ST_INVALID_CONTEXT (none), ST_CONTEXT_IS_DESTROYED, its sticky error, or ST_OK. */
enum status api_context(struct rt_context **out) MUST_CHECK;
/* What programs call a context: one of its own, or a green context (*g), which is the primary one of a device with some of its SMs; and back. */
enum status api_context_named(CUcontext handle, struct rt_context **c, struct rt_green **g) MUST_CHECK;
CUcontext api_context_handle(struct rt_context *c, struct rt_green *g);
enum status api_context_green(CUcontext handle, struct rt_context **out, struct rt_green **g) MUST_CHECK;      /* as the next one */
/* c when it is given, else the thread's. */
enum status api_context_or_current(CUcontext c, struct rt_context **out) MUST_CHECK;
/* ST_NOT_INITIALIZED, ST_INVALID_DEVICE or ST_OK. */
enum status api_device(CUdevice dev) MUST_CHECK;
/* Resolves a stream argument; ST_INVALID_HANDLE for anything that is no stream. */
enum status api_stream(CUstream handle, struct rt_stream **out) MUST_CHECK;
/* A CUfunction argument, which may be a CUkernel (then the current context's function is taken). */
enum status api_function(CUfunction handle, struct rt_function **out) MUST_CHECK;
/* CUstreamWaitValue_flags. ST_INVALID_VALUE */
enum status api_compare(unsigned flags, enum rt_compare *how) MUST_CHECK;
enum status api_check(const void *handle, enum rt_kind kind) MUST_CHECK;           /* ST_INVALID_HANDLE */

/* Places that advice and prefetching may name; managed memory that they may speak of (memory.c). */
enum status api_location(CUmemLocation where) MUST_CHECK;
enum status api_prefetch(CUdeviceptr ptr, size_t count, CUmemLocation where) MUST_CHECK;
enum status api_managed_range(CUdeviceptr ptr, size_t count) MUST_CHECK;

/* Logs a message that a failed call left in err (once per call), returns st. */
enum status api_report(enum status st, const struct error *err);

/* Reads a whole file; the caller frees it. One NUL is put behind it, so that PTX text ends. ST_FILE_NOT_FOUND. */
enum status api_read_file(const char *path, void **data, size_t *bytes) MUST_CHECK;

/* The compute capability that the caller of the driver function that runs is told, as 10 * major + minor, when it is one of NVIDIA's libraries
 * (caller.c); 0: the truth. */
int api_caller_sm(void);

void api_logs_start(void);                     /* messages from now on are kept for cuLogs* (logs.c) */

/* ---- the trace (setting api_trace) ---- */
struct api_arg { const char *type, *name; const void *at; size_t bytes; };
extern bool api_tracing;
void api_trace(const char *symbol, const struct api_arg *args, const char *result);   /* args end with a name of NULL */
/* A call that is recorded or replayed (runtime/checkpoint/host.h). The call that starts the runtime is not: nothing is watched before. */
enum status api_enter(struct host_site *site, const struct api_arg *args) MUST_CHECK;
#define ENTER(symbol, params)                                                 \
    static struct host_site site = {#symbol, "", 0, 0, {0}, false};                    \
    const bool watched = host_watched();                                      \
    enum status st = watched ? api_enter(&site, (const struct api_arg[]){TRACED params {0}}) : ST_OK
#define LEAVE()                                                               \
    if (__builtin_expect(watched, 0))                                         \
        st = host_leave(st)
/* Names a function without a handler in the log the first time (told is the function's own flag). ST_NOT_SUPPORTED. */
enum status api_unsupported(const char *symbol, bool *told);

/* ---- entry points (proc.c) ---- */
enum { PROC_DEFAULT, PROC_LEGACY_STREAM, PROC_PER_THREAD_STREAM };
enum proc_result { PROC_FOUND, PROC_NOT_FOUND, PROC_VERSION_TOO_LOW };
struct proc_row { const char *name, *symbol; int since; bool per_thread; void *entry; };
extern const struct proc_row proc_rows[];
extern const size_t proc_count;
/* The driver function that a program built for CUDA `version` means by `name`. */
enum proc_result proc_find(const char *name, int version, uint64_t flags, void **entry);

/* What cuDriverGetVersion answers: newer than any runtime that asks, so that none refuses to start. */
enum { API_DRIVER_VERSION = 14000 };

/* The device's primary context for the runtime API's sake: retained by the first call, and not released by us. */
enum status api_primary(int device, struct rt_context **out) MUST_CHECK;

#endif
