// What a barrier and an empty kernel cost.
#include "micro.h"

enum { BARRIERS = 64 };

__global__ void barrier(long long *out)
{
    __syncthreads();
    long long begin = now();
#pragma unroll
    for (int i = 0; i < BARRIERS; i++)
        __syncthreads();
    if (threadIdx.x == 0)
        *out = now() - begin;
}

__global__ void empty(void) {}

int main(void)
{
    static const int sizes[] = {32, 256, 1024};
    long long *out;
    int khz = 0;
    CHECK(cudaMalloc(&out, 64));
    for (int n : sizes) {
        barrier<<<1, n>>>(out);
        report(cycles_at(out) / BARRIERS, "cycles", "launch", "barrier of %d threads", n);
    }
    CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    cudaEvent_t a, b;
    float ms;
    CHECK(cudaEventCreate(&a));
    CHECK(cudaEventCreate(&b));
    empty<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventRecord(a));
    for (int i = 0; i < 16; i++)
        empty<<<1, 32>>>();
    CHECK(cudaEventRecord(b));
    CHECK(cudaEventSynchronize(b));
    CHECK(cudaEventElapsedTime(&ms, a, b));
    report(ms * khz / 16, "cycles", "launch", "kernel launch overhead (empty kernel)");
    return 0;
}
