// Shared memory: latency, bandwidth, and cycles of a load against the distance of lanes for 4, 8 and 16 bytes.
#include "micro.h"

enum { WORDS = 8192, CHAIN = 256 };

__global__ void latency(long long *out, int *never)
{
    __shared__ unsigned s[32];
    s[threadIdx.x] = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x]);
    __syncwarp();
    unsigned p = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x]);
    long long begin = now();
#pragma unroll
    for (int i = 0; i < CHAIN; i++)
        asm volatile("ld.shared.u32 %0, [%0];" : "+r"(p));
    long long end = now() + (p == 1);
    if (threadIdx.x == 0)
        *out = end - begin;
    if (p == 1)
        *never = 1;
}

template <int WIDTH> __device__ void access(unsigned p, unsigned &v)
{
    unsigned a, b, c;
    if (WIDTH == 4)
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(p));
    else if (WIDTH == 8)
        asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v), "=r"(a) : "r"(p));
    else
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v), "=r"(a), "=r"(b), "=r"(c) : "r"(p));
}

template <int WIDTH> __global__ void conflicts(int stride, int rounds, long long *out, unsigned *never)
{
    __shared__ __align__(16) unsigned s[WORDS];
    __shared__ long long first, last;
    for (int i = threadIdx.x; i < WORDS; i += blockDim.x)
        s[i] = 0;
    if (threadIdx.x == 0) { first = 1ll << 62; last = 0; }
    __syncthreads();
    unsigned p = (unsigned)__cvta_generic_to_shared(s) + threadIdx.x % 32 * stride * WIDTH, v[8];
    long long begin = now();
    for (int r = 0; r < rounds; r++)
#pragma unroll
        for (int k = 0; k < 8; k++)
            access<WIDTH>(p, v[k]);
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (v[k] == 1)
            *never = 1;
    long long end = now();
    span(&first, &last, begin, end);
    __syncthreads();
    if (threadIdx.x == 0)
        *out = last - first;
}

// The difference of two lengths: start and end cancel.
template <int WIDTH> static void measure(int stride, long long *out)
{
    conflicts<WIDTH><<<1, 512>>>(stride, 4, out, (unsigned *)out);
    double a = cycles_at(out);
    conflicts<WIDTH><<<1, 512>>>(stride, 12, out, (unsigned *)out);
    report((cycles_at(out) - a) / (16 * 8 * 8), "cycles", "shared", "shared %d-bit load, lane stride %d elements: cycles per warp instruction", WIDTH * 8, stride);
}

int main(void)
{
    static const int strides[] = {0, 1, 2, 3, 4, 5, 8, 16, 17, 31, 32};
    long long *out;
    CHECK(cudaMalloc(&out, 64));
    latency<<<1, 32>>>(out, (int *)out);
    report(cycles_at(out) / CHAIN, "cycles", "shared", "shared load latency");
    for (int s : strides) {
        measure<4>(s, out);
        measure<8>(s, out);
        measure<16>(s, out);
    }
    return 0;
}
