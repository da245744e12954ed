/* A kernel that a kernel launched goes wrong: the report names it, the context has the error, and what waited for it never runs. */
#include "app.h"

__global__ void victim(int *x, int i) { x[i] = 1; }
__global__ void late(int *x) { *x = 1; }

__global__ void launcher(int *x, int *after)
{
    victim<<<2, 64>>>(x, blockIdx.x ? 2000 : 0);
    late<<<1, 1, 0, cudaStreamTailLaunch>>>(after);
}

int main(void)
{
    int *x, *after;
    OK(cudaMalloc(&x, 4096));
    OK(cudaMallocHost(&after, sizeof *after));
    *after = 0;
    launcher<<<2, 1>>>(x, after);
    OK(cudaGetLastError());
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaMemset(x, 0, 4), cudaErrorIllegalAddress);
    EXPECT(*after == 0, "the tail ran");
    return app_verdict();
}
