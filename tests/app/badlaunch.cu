// badlaunch: a block of 1025 threads: cudaErrorInvalidConfiguration for the program, one report that gives the number.
#include "app.h"

__global__ void too_wide(int *p) { p[threadIdx.x] = 1; }

int main(void)
{
    int *p;
    OK(cudaMalloc(&p, 8192));
    too_wide<<<1, 1025>>>(p);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidConfiguration);
    OK(cudaDeviceSynchronize());
    return app_verdict();
}
