// errors: bad launches, bad frees and bad copies give CUDA's codes and leave the device usable; which errors are remembered.
#include "app.h"

__global__ void write(int *p) { p[threadIdx.x] = threadIdx.x; }
__global__ void __launch_bounds__(128) bounded(int *p) { p[threadIdx.x] = 1; }

static void not_a_kernel(int *p) { *p = 1; }

#define BAD_LAUNCH(want, grid, block, shared)                                                                       \
    do {                                                                                                            \
        write<<<grid, block, shared>>>(dev);                                                                        \
        EXPECT_ERROR(cudaPeekAtLastError(), want);                                                                  \
        EXPECT_ERROR(cudaGetLastError(), want);                                                                     \
        EXPECT_ERROR(cudaGetLastError(), cudaSuccess);                                                              \
    } while (0)

int main(void)
{
    int *dev, local = 0, host[32];
    OK(cudaMalloc(&dev, 4096));
    BAD_LAUNCH(cudaErrorInvalidConfiguration, 0, 32, 0);
    BAD_LAUNCH(cudaErrorInvalidConfiguration, dim3(1, 0), 32, 0);
    BAD_LAUNCH(cudaErrorInvalidConfiguration, dim3(1, 1, 0), 32, 0);
    BAD_LAUNCH(cudaErrorInvalidConfiguration, 1, 0, 0);
    BAD_LAUNCH(cudaErrorInvalidConfiguration, 1, 1025, 0);
    BAD_LAUNCH(cudaErrorInvalidConfiguration, 1, dim3(32, 33), 0);
    BAD_LAUNCH(cudaErrorInvalidConfiguration, 1, dim3(1, 1, 65), 0);
    BAD_LAUNCH(cudaErrorInvalidConfiguration, dim3(1, 65536), 32, 0);
    BAD_LAUNCH(cudaErrorInvalidConfiguration, dim3(1, 1, 65536), 32, 0);
    BAD_LAUNCH(cudaErrorInvalidValue, 1, 32, 49153);
    BAD_LAUNCH(cudaErrorInvalidValue, 1, 32, 1 << 24);
    bounded<<<1, 129>>>(dev);
    EXPECT(cudaGetLastError() != cudaSuccess, "a block larger than the launch bound ran");

    EXPECT_ERROR(cudaFree(&local), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaFree(dev + 1), cudaErrorInvalidValue);
    OK(cudaFree(nullptr));
    int *twice;
    OK(cudaMalloc(&twice, 64));
    OK(cudaFree(twice));
    EXPECT_ERROR(cudaFree(twice), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaFreeHost(&local), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaHostUnregister(&local), cudaErrorHostMemoryNotRegistered);
    void *p = &local;
    OK(cudaMalloc(&p, 0));
    EXPECT(p == nullptr, "an allocation of nothing is at %p", p);
    EXPECT_ERROR(cudaMalloc(&p, (size_t)1 << 50), cudaErrorMemoryAllocation);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorMemoryAllocation);
    EXPECT_ERROR(cudaMalloc((void **)nullptr, 16), cudaErrorInvalidValue);

    EXPECT_ERROR(cudaMemcpy(dev, host, 8192, cudaMemcpyHostToDevice), cudaErrorInvalidValue); // longer than the allocation
    EXPECT_ERROR(cudaMemcpy(nullptr, host, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemcpy(dev, host, 16, (cudaMemcpyKind)77), cudaErrorInvalidMemcpyDirection);
    OK(cudaMemcpy(dev, host, 0, cudaMemcpyHostToDevice));
    EXPECT_ERROR(cudaMemset(dev, 0, 8192), cudaErrorInvalidValue);
    EXPECT(cudaDeviceSetLimit((cudaLimit)99, 1) != cudaSuccess, "a limit that does not exist was set");
    EXPECT_ERROR(cudaGetDeviceProperties((cudaDeviceProp *)nullptr, 0), cudaErrorInvalidValue);
    int value;
    EXPECT_ERROR(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99), cudaErrorInvalidDevice);
    (void)cudaGetLastError();

    cudaFuncAttributes attr;
    // The second code is that of a kernel handle, which runtimes from 12 on take in the same place.
    cudaError_t err = cudaFuncGetAttributes(&attr, (const void *)not_a_kernel);
    EXPECT(err == cudaErrorInvalidDeviceFunction || err == cudaErrorInvalidResourceHandle, "attributes of no kernel: %s",
           cudaGetErrorName(err));
    void *args[] = {&dev};
    err = cudaLaunchKernel((const void *)not_a_kernel, dim3(1), dim3(1), args, 0, 0);
    EXPECT(err == cudaErrorInvalidDeviceFunction || err == cudaErrorInvalidResourceHandle, "launch of no kernel: %s",
           cudaGetErrorName(err));
    (void)cudaGetLastError();

    EXPECT(!strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress"), "a name is wrong");
    EXPECT(!strcmp(cudaGetErrorString(cudaErrorIllegalAddress), "an illegal memory access was encountered"), "a text is wrong");
    EXPECT(!strcmp(cudaGetErrorString(cudaErrorInvalidConfiguration), "invalid configuration argument"), "a text is wrong");
    EXPECT(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"), "a text is wrong");
    EXPECT(!strcmp(cudaGetErrorString(cudaSuccess), "no error"), "a text is wrong");
    EXPECT(!strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code"), "the text of no error is wrong");

    write<<<1, 32>>>(dev); // after all of this the device still works
    OK_LAUNCH();
    app_to_host(host, dev, 32);
    for (int i = 0; i < 32; i++)
        EXPECT(host[i] == i, "element %d is %d", i, host[i]);
    return app_verdict();
}
