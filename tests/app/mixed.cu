// mixed: the runtime's memory and the driver's calls, and the other way round: one context, whoever made it, and one address space.
#include "app.h"
#include <cuda.h>

#define DRV(call)                                                       \
    do {                                                                \
        CUresult drv_r = (call);                                        \
        if (drv_r != CUDA_SUCCESS) {                                    \
            printf("FAIL: line %d: %s: %d\n", __LINE__, #call, drv_r);  \
            exit(1);                                                    \
        }                                                               \
    } while (0)

__global__ void triple(int *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] *= 3;
}

int main(void)
{
    enum { N = 1000 };
    int in[N], out[N], *a;
    CUdeviceptr b, base;
    size_t size;
    CUcontext now = 0, primary = 0;
    for (int i = 0; i < N; i++)
        in[i] = i - 500;
    OK(cudaMalloc(&a, sizeof in));
    DRV(cuCtxGetCurrent(&now));
    DRV(cuDevicePrimaryCtxRetain(&primary, 0));
    EXPECT(now == primary, "the runtime's context is not the primary one");
    DRV(cuMemcpyHtoD((CUdeviceptr)a, in, sizeof in));
    triple<<<4, 256>>>(a, N);
    DRV(cuCtxSynchronize());
    DRV(cuMemcpyDtoH(out, (CUdeviceptr)a, sizeof out));
    for (int i = 0; i < N; i++)
        EXPECT(out[i] == 3 * in[i], "runtime's memory, element %d: %d", i, out[i]);
    DRV(cuMemGetAddressRange(&base, &size, (CUdeviceptr)a + 40));
    EXPECT(base == (CUdeviceptr)a && size >= sizeof in, "range of the runtime's memory: %llx, %zu", (unsigned long long)base, size);
    DRV(cuMemAlloc(&b, sizeof in));
    OK(cudaMemcpy((void *)b, a, sizeof in, cudaMemcpyDeviceToDevice));
    triple<<<4, 256>>>((int *)b, N);
    OK_LAUNCH();
    OK(cudaMemcpy(out, (void *)b, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        EXPECT(out[i] == 9 * in[i], "driver's memory, element %d: %d", i, out[i]);
    OK(cudaFree((void *)b));
    DRV(cuMemFree((CUdeviceptr)a));
    DRV(cuDevicePrimaryCtxRelease(0));
    return app_verdict();
}
