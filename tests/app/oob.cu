// oob: one thread reads behind its allocation: cudaErrorIllegalAddress for the program, and a report on stderr that names kernel,
// block, thread, source line (-lineinfo), address and the nearest allocation.
#include "app.h"

__global__ void read_past(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) // should be <
        out[i] = in[i]; // the line of the report
}

int main(void)
{
    const int n = 450; // block 3, thread 66 of 128 is the first that reads too far
    int *in, *out;
    OK(cudaMalloc(&in, n * sizeof(int)));
    OK(cudaMalloc(&out, 512 * sizeof(int)));
    OK(cudaMemset(in, 0, n * sizeof(int)));
    read_past<<<4, 128>>>(in, out, n);
    OK(cudaGetLastError());
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaFree(in), cudaErrorIllegalAddress);
    return app_verdict();
}
