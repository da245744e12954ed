// Cycles that a warp's load which hits L1 takes, against the distance of neighbouring lanes: throughput, averaged over starting points.
#include "micro.h"

enum { THREADS = 512, BATCH = 8 };

template <typename T> __device__ T load(const T *p);
template <> __device__ float load(const float *p)
{
    float v;
    asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(v) : "l"(p));
    return v;
}
template <> __device__ double load(const double *p)
{
    double v;
    asm volatile("ld.global.ca.f64 %0, [%1];" : "=d"(v) : "l"(p));
    return v;
}

template <typename T> __global__ void strides(const T *a, int stride, int rounds, long long *out, T *never)
{
    const T *p = a + threadIdx.x % 32 * stride;
    T v[BATCH];
    __shared__ long long first, last;
    if (threadIdx.x == 0) {
        first = 1ll << 62;
        last = 0;
    }
    for (int k = 0; k < BATCH; k++)
        v[k] = load(p + k * 4);
    __syncthreads();
    long long start = now();
    for (int i = 0; i < rounds; i++)
#pragma unroll
        for (int k = 0; k < BATCH; k++)
            v[k] = load(p + k * 4);
#pragma unroll
    for (int k = 0; k < BATCH; k++)
        if (v[k] == T(123.5))
            *never = v[k];
    long long stop = now();
    span(&first, &last, start, stop);
    __syncthreads();
    if (threadIdx.x == 0)
        *out = last - first;
}

template <typename T> static void measure(int bits, int stride, char *a, long long *out)
{
    strides<T><<<1, THREADS>>>((const T *)a, stride, 2, out, (T *)a);
    double start = cycles_at(out);             // what begins and ends the measurement
    strides<T><<<1, THREADS>>>((const T *)a, stride, 8, out, (T *)a);
    report((cycles_at(out) - start) / (THREADS / 32 * 6 * BATCH), "cycles", "strides",
           "L1-hit %d-bit load, lane stride %d words: cycles per warp instruction", bits, stride);
}

int main(void)
{
    char *a;
    long long *out;
    CHECK(cudaMalloc(&a, 1 << 20));
    CHECK(cudaMemset(a, 0, 1 << 20));
    CHECK(cudaMalloc(&out, sizeof *out));
    for (int stride = 0; stride <= 64; stride++) {
        measure<float>(32, stride, a, out);
        measure<double>(64, stride, a, out);
    }
    return 0;
}
