// unsupported: a module that contains an instruction heddle does not emulate loads, and its other kernels run; executing the
// instruction (-DEXECUTE) gives the program an error and stderr a located message.
// The instruction is one that is not emulated yet; when it is, this program needs another.
#include "app.h"

__global__ void plain(int *p) { p[threadIdx.x] = threadIdx.x * 2; }

__global__ void uses_wgmma(float *p, unsigned long long a, unsigned long long b)
{
    float d[4] = {};
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 0, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(a), "l"(b));
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;");
    p[threadIdx.x] = d[0];
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
    OK(cudaFuncGetAttributes(&attr, uses_wgmma)); // it is there
#ifdef EXECUTE
    uses_wgmma<<<1, 128>>>((float *)p, 0, 0);
    cudaError_t err = cudaGetLastError();
    if (err == cudaSuccess)
        err = cudaDeviceSynchronize();
    EXPECT(err != cudaSuccess, "the instruction was executed without an error");
#endif
    return app_verdict();
}
