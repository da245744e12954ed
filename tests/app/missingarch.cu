// missingarch: built for sm_80 alone, without PTX: nothing for this GPU to run: cudaErrorNoKernelImageForDevice, and a report that
// says how to recompile.
#include "app.h"

__global__ void no_image(int *p) { *p = 1; }

int main(void)
{
    int *p;
    OK(cudaMalloc(&p, sizeof(int)));
    no_image<<<1, 1>>>(p);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorNoKernelImageForDevice);
    return app_verdict();
}
