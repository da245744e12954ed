// damaged: half of the embedded device code is overwritten after the build: the launch gives an error, the process goes on.
#include "app.h"

__device__ const unsigned noise[512] = {0x9e3779b9, 0x7f4a7c15, 0xbf58476d, 0x1ce4e5b9}; // so that there is something to lose

__global__ void damaged(unsigned *p) { p[threadIdx.x] = noise[threadIdx.x & 511] * 3; }

int main(void)
{
    unsigned *p;
    cudaError_t err = cudaMalloc(&p, 4096);
    if (err == cudaSuccess) {
        damaged<<<1, 32>>>(p);
        err = cudaGetLastError();
        if (err == cudaSuccess)
            err = cudaDeviceSynchronize();
    }
    EXPECT(err != cudaSuccess, "a kernel ran from damaged code");
    return app_verdict();
}
