/* What every program in this folder shares: checks that say what failed, and the verdict.
 *
 * A program computes a reference on the CPU, states each expectation with EXPECT, and ends with `return app_verdict();`:
 * "PASS" and exit status 0, or "FAIL: ..." lines and 1. Output is deterministic, so that two runs can be compared. */
#pragma once
#include <cuda_runtime.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int app_failures;

/* Names one failed expectation; a wrong kernel fails in thousands of places, so only the first few are printed. */
static inline void app_fail(const char *fmt, ...)
{
    va_list ap;
    if (app_failures++ >= 5)
        return;
    printf("FAIL: ");
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
}

#define EXPECT(cond, ...) ((cond) ? (void)0 : app_fail(__VA_ARGS__))

/* For calls without whose success the rest makes no sense. */
#define OK(call)                                                                                                    \
    do {                                                                                                            \
        cudaError_t ok_err = (call);                                                                                \
        if (ok_err != cudaSuccess) {                                                                                \
            printf("FAIL: line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(ok_err));                           \
            exit(1);                                                                                                \
        }                                                                                                           \
    } while (0)

/* For calls that must fail, with the code CUDA documents. */
#define EXPECT_ERROR(call, want)                                                                                    \
    do {                                                                                                            \
        cudaError_t got_err = (call);                                                                               \
        EXPECT(got_err == (want), "line %d: %s gave %s, not %s", __LINE__, #call, cudaGetErrorName(got_err),        \
               cudaGetErrorName(want));                                                                             \
    } while (0)

/* Launch errors first, then those of the execution. */
#define OK_LAUNCH()                                                                                                 \
    do {                                                                                                            \
        OK(cudaGetLastError());                                                                                     \
        OK(cudaDeviceSynchronize());                                                                                \
    } while (0)

static inline int app_verdict(void)
{
    if (app_failures) {
        printf("FAIL: %d expectations\n", app_failures);
        return 1;
    }
    printf("PASS\n");
    return 0;
}

/* xorshift32: the same numbers everywhere. The state must not be 0. */
static inline unsigned app_rand(unsigned *state)
{
    unsigned x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

/* A float in [lo, hi). */
static inline float app_uniform(unsigned *state, float lo, float hi)
{
    return lo + (hi - lo) * (float)(app_rand(state) >> 8) / 16777216.0f;
}

/* Device memory with a copy of n elements of host memory, and back. */
template <typename T> static inline T *app_to_device(const T *host, size_t n)
{
    T *dev;
    OK(cudaMalloc(&dev, n * sizeof(T)));
    OK(cudaMemcpy(dev, host, n * sizeof(T), cudaMemcpyHostToDevice));
    return dev;
}

template <typename T> static inline void app_to_host(T *host, const T *dev, size_t n)
{
    OK(cudaMemcpy(host, dev, n * sizeof(T), cudaMemcpyDeviceToHost));
}
