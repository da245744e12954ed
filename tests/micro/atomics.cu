// Atomics: latency of one that returns, and how many of a kind finish in a cycle.
#include "micro.h"

enum { CHAIN = 128, ROUNDS = 16 };

__global__ void global_latency(unsigned *p, long long *out)
{
    unsigned v = 0;
    long long begin = now();
    for (int i = 0; i < CHAIN; i++)
        v = atomicAdd(p + v, v);
    *out = now() - begin + (v == 1);
}

__global__ void shared_latency(long long *out)
{
    __shared__ unsigned s;
    s = 0;
    unsigned v = 0;
    long long begin = now();
    for (int i = 0; i < CHAIN; i++)
        v = atomicAdd(&s + v, v);
    *out = now() - begin + (v == 1);
}

// Every thread adds; apart: to a word of its own, else to one of all.
__global__ void global_many(unsigned *p, int apart, int rounds)
{
    unsigned *q = apart ? p + (size_t)blockIdx.x * blockDim.x + threadIdx.x : p;
    for (int i = 0; i < rounds; i++)
        atomicAdd(q, 1u);
}

__global__ void shared_many(int apart, long long *out)
{
    __shared__ unsigned s[1024];
    __shared__ long long first, last;
    s[threadIdx.x] = 0;
    if (threadIdx.x == 0) { first = 1ll << 62; last = 0; }
    __syncthreads();
    long long begin = now();
    unsigned v = 0;
    for (int i = 0; i < ROUNDS; i++)
        v += atomicAdd(&s[apart ? threadIdx.x : 0], 1u);
    long long end = now() + (v == 0xffffffffu);
    span(&first, &last, begin, end);
    __syncthreads();
    if (threadIdx.x == 0)
        *out = last - first;
}

static double milliseconds(unsigned *p, int apart, int rounds)
{
    cudaEvent_t a, b;
    float ms;
    CHECK(cudaEventCreate(&a));
    CHECK(cudaEventCreate(&b));
    CHECK(cudaEventRecord(a));
    global_many<<<micro_gpu().multiProcessorCount, 256>>>(p, apart, rounds);
    CHECK(cudaEventRecord(b));
    CHECK(cudaEventSynchronize(b));
    CHECK(cudaEventElapsedTime(&ms, a, b));
    return ms;
}

int main(void)
{
    long long *out;
    unsigned *p;
    cudaDeviceProp g = micro_gpu();
    CHECK(cudaMalloc(&out, 64));
    CHECK(cudaMalloc(&p, 1 << 20));
    CHECK(cudaMemset(p, 0, 1 << 20));
    int khz = 0;
    CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    global_latency<<<1, 1>>>(p, out);
    report(cycles_at(out) / CHAIN, "cycles", "atomics", "atomic latency (global, L2)");
    shared_latency<<<1, 1>>>(out);
    report(cycles_at(out) / CHAIN, "cycles", "atomics", "atomic latency (shared)");
    for (int apart = 0; apart < 2; apart++) {
        int scale = micro_scale();
        double cycles = (milliseconds(p, apart, 10 * scale) - milliseconds(p, apart, 2 * scale)) * khz;
        report(8.0 * scale * 256 * g.multiProcessorCount / cycles, "atomics/clk", "atomics", "global atomic throughput, %s", apart ? "distinct addresses" : "same address");
        shared_many<<<1, 1024>>>(apart, out);
        report(1024.0 * ROUNDS / cycles_at(out), "atomics/clk/SM", "atomics", "shared atomic throughput, %s", apart ? "distinct addresses" : "same address");
    }
    return 0;
}
