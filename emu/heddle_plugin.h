/* Plug-ins of Heddle: host functions that device code calls.
 *
 * A kernel that calls a function which no module defines (`.extern .func` in PTX, `extern "C" __device__` in CUDA C++) is given the
 * function of that name from a shared library:
 *
 *     extern "C" __device__ float oracle(const float *row, int n);       device.cu, compiled with -rdc=true -ptx
 *     float oracle(const float *row, int n) { ... }                      plugin.c
 *     cc -shared -fPIC plugin.c -o plugin.so && heddle --plugin=./plugin.so ./app
 *
 * It is called once for each active thread, in the order of lanes; blocks of such a kernel run in the order of their indices (under
 * `heddle sim` in that of simulated time), so that calls come in the same order in every run, whatever --threads is. Calls never
 * overlap. They come from a thread of Heddle's, in the program's process, and must not call CUDA. A plug-in that crashes takes the
 * program with it.
 *
 * Arguments are passed as this machine's C passes them: integers, pointers, float, double, _Float16 (.f16), __int128 (.b128),
 * structures by value; results alike. PTX does not always tell a float from an integer (.b32), nor the fields of a structure: what
 * it leaves open is taken from the loads and stores around the call, as nvcc writes them. HEDDLE_SIGNATURE says it for sure.
 *
 * Pointers to global, constant, managed and host memory are addresses of this process: they may be used as they are. Pointers to
 * shared or local memory, and whatever shall be checked, go through heddle_at. */
#ifndef HEDDLE_PLUGIN_H
#define HEDDLE_PLUGIN_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_PLUGIN_VERSION 1
#define HEDDLE_PLUGIN_PUBLIC __attribute__((visibility("default")))

/* The signature of a function of the plug-in, in PTX's types, result first:
 *     HEDDLE_SIGNATURE(blend, "{f32, f32} ({f32, f32}, f64, b64, s8)")
 * s8 s16 s32 s64 u8 .. u64 b8 .. b128 f16 f32 f64; pred is bool; b64 is a pointer, too; { } is a structure (with nested ones and
 * arrays: {f32[3], {s8, s8}}); void. An integer may be narrower than what the PTX declares, as nvcc passes char as .b32. */
#ifdef __cplusplus
#define HEDDLE_SIGNATURE(function, text) extern "C" HEDDLE_PLUGIN_PUBLIC const char heddle_signature_##function[]; const char heddle_signature_##function[] = text;
#else
#define HEDDLE_SIGNATURE(function, text) extern HEDDLE_PLUGIN_PUBLIC const char heddle_signature_##function[]; const char heddle_signature_##function[] = text;
#endif

struct heddle_thread {                         /* who calls */
    const char *kernel;                        /* its name in PTX; lives as long as the call */
    uint64_t launch;                           /* %gridid */
    uint32_t grid[3], block[3];                /* gridDim, blockDim */
    uint32_t block_index[3], thread_index[3];
    uint32_t warp, lane, sm;
    uint32_t lanes;                            /* mask of the lanes that make this call together */
    uint64_t clock;                            /* cycle of the simulated GPU; without one, warp instructions so far */
    uint32_t again;                            /* 1: the debugger goes back, and the kernel runs unseen, once more, to where that is */
};

struct heddle_plugin_host {                    /* filled in by Heddle; use the functions below */
    uint32_t version;
    void (*thread)(struct heddle_thread *out, size_t bytes);
    void *(*at)(const void *address, size_t bytes, int write);
    void (*failed)(const char *text);
};
#ifndef HEDDLE_PLUGIN_TYPES_ONLY               /* Heddle itself is no plug-in */
/* Heddle's side, found by this name when the library is loaded. */
__attribute__((weak)) HEDDLE_PLUGIN_PUBLIC const struct heddle_plugin_host *heddle_plugin;

/* The rest is for use inside a call only; elsewhere the thread is all zero, and no memory is found. */

static inline struct heddle_thread heddle_thread(void)
{
    struct heddle_thread t;
    memset(&t, 0, sizeof t);
    if (heddle_plugin)
        heddle_plugin->thread(&t, sizeof t);
    return t;
}

/* Where `bytes` bytes at a device pointer of any kind lie in this process, as the calling thread sees them (shared: its block's; local: its own);
 * NULL when it may not touch them all. write: not 0 when they will be written. Valid until the call returns. */
static inline void *heddle_at(const void *address, size_t bytes, int write)
{
    return heddle_plugin ? heddle_plugin->at(address, bytes, write) : NULL;
}

/* The call is an error of its thread: after it returns the kernel stops, as with any error of a kernel (cudaErrorLaunchFailure), and Heddle reports the
 * text with kernel, block, thread, instruction and source line. The first text of a call counts. */
static inline void heddle_fail(const char *text)
{
    if (heddle_plugin)
        heddle_plugin->failed(text);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
