// What the microbenchmarks share. Each prints lines of the columns gpu, quantity, value, unit, source, separated by tabs.
// On a GPU MICRO_SCALE=16 makes the measurements of bandwidth long enough; simulated, 1 (the default) is.
#ifndef MICRO_H
#define MICRO_H
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                                            \
    do {                                                                                                                       \
        cudaError_t e_ = (call);                                                                                               \
        if (e_ != cudaSuccess) {                                                                                               \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e_));                             \
            exit(1);                                                                                                           \
        }                                                                                                                      \
    } while (0)

static cudaDeviceProp micro_gpu(void)
{
    static cudaDeviceProp p;
    if (!p.name[0])
        CHECK(cudaGetDeviceProperties(&p, 0));
    return p;
}

static inline int micro_scale(void)
{
    const char *s = getenv("MICRO_SCALE");
    return s && atoi(s) > 0 ? atoi(s) : 1;
}

static inline void report(double value, const char *unit, const char *program, const char *quantity, ...)
{
    const char *name = getenv("MICRO_GPU"), *source = getenv("MICRO_SOURCE");
    va_list a;
    printf("%s\t", name ? name : micro_gpu().name);
    va_start(a, quantity);
    vprintf(quantity, a);
    va_end(a);
    printf("\t%.4g\t%s\ttests/micro/%s%s%s\n", value, unit, program, source ? ", " : "", source ? source : "");
    fflush(stdout);
}

// Cycles that a kernel left at *device.
static inline double cycles_at(const long long *device)
{
    long long n;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&n, device, sizeof n, cudaMemcpyDeviceToHost));
    return (double)n;
}

// The clock, behind everything before it and before everything after it.
static inline __device__ long long now(void)
{
    long long t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
    return t;
}

// The span of a block's measurements: one lane of each warp notes its own.
static inline __device__ void span(long long *first, long long *last, long long begin, long long end)
{
    if (threadIdx.x % 32 == 0) {
        atomicMin((unsigned long long *)first, (unsigned long long)begin);
        atomicMax((unsigned long long *)last, (unsigned long long)end);
    }
}
#endif
