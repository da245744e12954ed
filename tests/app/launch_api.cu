// launch_api: cudaLaunchKernel, cudaLaunchKernelExC with attributes, launches of templates and overloads, function attributes,
// names, and the special registers that describe a launch.
#include "app.h"

template <typename T> __global__ void fill(T *out, T value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = value + (T)i;
}

__global__ void with_shared(int *out)
{
    __shared__ int s[256];
    s[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[255 - threadIdx.x];
}

__global__ void __launch_bounds__(192) bounded(int *out, int i)
{
    int a[50];
    for (int k = 0; k < 50; k++)
        a[(k * 7 + i) % 50] = out[k];
    out[i] = a[out[i] % 50];
}

// Each thread notes its coordinates as one number.
__global__ void coordinates(int *out)
{
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned lane, nwarp, warp;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm volatile("mov.u32 %0, %%nwarpid;" : "=r"(nwarp));
    bool good = lane == thread % 32 && warp < nwarp && warpSize == 32;
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] = good ? block * 1000 + thread : -1;
}

int main(void)
{
    int *dev, host[1200], n = 500;
    OK(cudaMalloc(&dev, sizeof(host)));
    int value = 40;
    void *args[] = {&dev, &value, &n};
    OK(cudaLaunchKernel((const void *)fill<int>, dim3(4), dim3(128), args, 0, 0));
    OK_LAUNCH();
    app_to_host(host, dev, n);
    for (int i = 0; i < n; i++)
        EXPECT(host[i] == 40 + i, "cudaLaunchKernel: %d is %d", i, host[i]);
    float *fdev = (float *)dev;
    fill<float><<<4, 128>>>(fdev, 0.5f, n);
    OK_LAUNCH();
    app_to_host(host, dev, n);
    for (int i = 0; i < n; i++)
        EXPECT(((float *)host)[i] == 0.5f + i, "template: %d is %g", i, ((float *)host)[i]);

    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributePriority;
    attribute.val.priority = 0;
    config.gridDim = dim3(4);
    config.blockDim = dim3(128);
    config.attrs = &attribute;
    config.numAttrs = 1;
    value = 77;
    OK(cudaLaunchKernelExC(&config, (const void *)fill<int>, args));
    OK_LAUNCH();
    OK(cudaLaunchKernelEx(&config, fill<int>, dev + 600, 5, 10));
    OK_LAUNCH();
    app_to_host(host, dev, 620);
    for (int i = 0; i < n; i++)
        EXPECT(host[i] == 77 + i, "cudaLaunchKernelExC: %d is %d", i, host[i]);
    EXPECT(host[609] == 14, "cudaLaunchKernelEx: %d", host[609]);

    const dim3 grids[] = {dim3(3, 2, 2), dim3(1, 5, 1), dim3(2, 1, 3)}, blocks[] = {dim3(5, 4, 3), dim3(33, 1, 2), dim3(1, 64, 1)};
    for (int k = 0; k < 3; k++) {
        int threads = blocks[k].x * blocks[k].y * blocks[k].z, total = grids[k].x * grids[k].y * grids[k].z;
        coordinates<<<grids[k], blocks[k]>>>(dev);
        OK_LAUNCH();
        app_to_host(host, dev, threads * total);
        for (int i = 0; i < threads * total; i++)
            EXPECT(host[i] == i / threads * 1000 + i % threads, "launch %d, thread %d: %d", k, i, host[i]);
    }

    cudaFuncAttributes a;
    OK(cudaFuncGetAttributes(&a, with_shared));
    EXPECT(a.sharedSizeBytes == 1024 && a.localSizeBytes == 0 && a.maxThreadsPerBlock == 1024,
           "with_shared: %zu shared, %zu local, %d threads", a.sharedSizeBytes, a.localSizeBytes, a.maxThreadsPerBlock);
    EXPECT(a.ptxVersion >= 75 && a.binaryVersion >= 75 && a.numRegs > 0, "with_shared: ptx %d, binary %d, %d registers",
           a.ptxVersion, a.binaryVersion, a.numRegs);
    OK(cudaFuncGetAttributes(&a, bounded));
    EXPECT(a.maxThreadsPerBlock == 192 && a.localSizeBytes >= 200, "bounded: %d threads, %zu local", a.maxThreadsPerBlock,
           a.localSizeBytes);
    const char *name = nullptr;
    OK(cudaFuncGetName(&name, (const void *)with_shared));
    EXPECT(name && strstr(name, "with_shared"), "the name is %s", name ? name : "missing");
    OK(cudaFuncSetCacheConfig(with_shared, cudaFuncCachePreferShared));
    OK(cudaFuncSetAttribute(with_shared, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    return app_verdict();
}
