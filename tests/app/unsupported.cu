// unsupported: a module that contains an instruction heddle does not emulate loads, and its other kernels run; executing the
// instruction (-DEXECUTE) gives the program an error and stderr a located message.
// The instruction is one that is not emulated yet; when it is, this program needs another.
#include "app.h"

__global__ void plain(int *p) { p[threadIdx.x] = threadIdx.x * 2; }

__global__ void uses_tcgen05(float *p)
{
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    p[threadIdx.x] = 0;
}

int main(void)
{
    int host[128], *p;
    OK(cudaMalloc(&p, sizeof(host)));
    plain<<<1, 128>>>(p);
    OK_LAUNCH();
    app_to_host(host, p, 128);
    for (int i = 0; i < 128; i++)
        EXPECT(host[i] == i * 2, "element %d is %d", i, host[i]);
    cudaFuncAttributes attr;
    OK(cudaFuncGetAttributes(&attr, uses_tcgen05)); // it is there
#ifdef EXECUTE
    uses_tcgen05<<<1, 128>>>((float *)p);
    cudaError_t err = cudaGetLastError();
    if (err == cudaSuccess)
        err = cudaDeviceSynchronize();
    EXPECT(err != cudaSuccess, "the instruction was executed without an error");
#endif
    return app_verdict();
}
