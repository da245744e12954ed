// hello: the smallest program with a kernel: start-up and end.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void one(int *p) { *p = 1; }

int main(void)
{
    int *p, host = 0;
    cudaMalloc(&p, sizeof(int));
    one<<<1, 1>>>(p);
    cudaMemcpy(&host, p, sizeof(int), cudaMemcpyDeviceToHost);
    printf("hello: %s\n", host == 1 ? "right" : "wrong");
    return host != 1;
}
