// pinned: kernels store into pinned and mapped host memory, copies go to it, and what the host finds there decides what it does next.
#include "app.h"

enum { N = 3000 };

// Counts in *left how many values are still above 1; halves even ones, 3n + 1 for odd ones.
__global__ void step(unsigned *values, unsigned *left)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N)
        return;
    unsigned v = values[i];
    if (v > 1)
        v = v % 2 ? 3 * v + 1 : v / 2;
    values[i] = v;
    if (v > 1)
        atomicAdd(left, 1);
}

int main(void)
{
    unsigned *mapped, *left, *copy, *dev, left_before = N;
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaHostAlloc(&mapped, N * sizeof *mapped, cudaHostAllocMapped));
    OK(cudaHostAlloc(&left, 2 * sizeof *left, cudaHostAllocDefault));
    OK(cudaMallocHost(&copy, N * sizeof *copy));
    OK(cudaMalloc(&dev, N * sizeof *dev));
    for (int i = 0; i < N; i++)
        mapped[i] = i + 1;
    OK(cudaMemcpyAsync(dev, mapped, N * sizeof *dev, cudaMemcpyHostToDevice, s));
    int rounds = 0;
    while (left_before && rounds < 400) {
        left[0] = left[1] = 0;
        step<<<(N + 127) / 128, 128, 0, s>>>(mapped, &left[0]);          // into the host's memory
        step<<<(N + 127) / 128, 128, 0, s>>>(dev, &left[1]);             // and the same into the device's
        OK(cudaMemcpyAsync(copy, dev, N * sizeof *copy, cudaMemcpyDeviceToHost, s));
        OK(cudaStreamSynchronize(s));
        EXPECT(left[0] == left[1], "round %d: %u and %u values are left", rounds, left[0], left[1]);
        EXPECT(memcmp(copy, mapped, N * sizeof *copy) == 0, "round %d: the two differ", rounds);
        if (left[0] < left_before / 2)                                   // the host has a hand in it
            mapped[rounds % N] = copy[rounds % N] = 27, cudaMemcpy(dev, copy, N * sizeof *dev, cudaMemcpyHostToDevice);
        left_before = left[0];
        rounds++;
    }
    printf("%d rounds\n", rounds);
    EXPECT(left_before == 0, "%u values are left", left_before);
    OK(cudaFreeHost(mapped));
    OK(cudaFreeHost(left));
    OK(cudaFreeHost(copy));
    OK(cudaFree(dev));
    return app_verdict();
}
