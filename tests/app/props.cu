// props: device properties agree with attributes and with each other; every attribute has an answer; PCI bus id, versions,
// memory info, limits, flags, cache configuration.
#include "app.h"

static int attribute(cudaDeviceAttr a, int device)
{
    int v = -1;
    OK(cudaDeviceGetAttribute(&v, a, device));
    return v;
}

int main(void)
{
    int count, device, runtime, driver, value;
    OK(cudaGetDeviceCount(&count));
    EXPECT(count >= 1, "%d devices", count);
    OK(cudaDriverGetVersion(&driver));
    OK(cudaRuntimeGetVersion(&runtime));
    EXPECT(driver >= runtime && runtime == CUDART_VERSION, "driver %d, runtime %d", driver, runtime);
    for (int d = 0; d < count; d++) {
        cudaDeviceProp p;
        OK(cudaSetDevice(d));
        OK(cudaGetDevice(&device));
        EXPECT(device == d, "the device is %d, not %d", device, d);
        OK(cudaGetDeviceProperties(&p, d));
        EXPECT(strlen(p.name) > 0, "the name is empty");
        EXPECT(p.warpSize == 32 && p.maxThreadsPerBlock == 1024, "warp %d, block %d", p.warpSize, p.maxThreadsPerBlock);
        EXPECT(p.maxThreadsDim[0] == 1024 && p.maxThreadsDim[2] == 64 && p.maxGridSize[0] == 2147483647 &&
                   p.maxGridSize[1] == 65535, "dimensions %d %d %d %d", p.maxThreadsDim[0], p.maxThreadsDim[2], p.maxGridSize[0],
               p.maxGridSize[1]);
        EXPECT(p.major >= 7 && p.multiProcessorCount > 0 && p.totalGlobalMem > 1u << 30 && p.unifiedAddressing == 1 &&
                   p.concurrentKernels == 1 && p.regsPerBlock == 65536 && p.totalConstMem == 65536,
               "sm_%d%d, %d multiprocessors, %zu bytes", p.major, p.minor, p.multiProcessorCount, p.totalGlobalMem);
#define SAME(field, attr)                                                                                           \
    value = attribute(attr, d);                                                                                     \
    EXPECT((long long)p.field == value, "%s is %lld, the attribute %d", #field, (long long)p.field, value)
        SAME(major, cudaDevAttrComputeCapabilityMajor);
        SAME(minor, cudaDevAttrComputeCapabilityMinor);
        SAME(multiProcessorCount, cudaDevAttrMultiProcessorCount);
        SAME(sharedMemPerBlock, cudaDevAttrMaxSharedMemoryPerBlock);
        SAME(sharedMemPerBlockOptin, cudaDevAttrMaxSharedMemoryPerBlockOptin);
        SAME(sharedMemPerMultiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
        SAME(maxThreadsPerMultiProcessor, cudaDevAttrMaxThreadsPerMultiProcessor);
        SAME(regsPerMultiprocessor, cudaDevAttrMaxRegistersPerMultiprocessor);
        SAME(l2CacheSize, cudaDevAttrL2CacheSize);
        SAME(memoryBusWidth, cudaDevAttrGlobalMemoryBusWidth);
        SAME(asyncEngineCount, cudaDevAttrAsyncEngineCount);
        SAME(canMapHostMemory, cudaDevAttrCanMapHostMemory);
        SAME(managedMemory, cudaDevAttrManagedMemory);
        SAME(cooperativeLaunch, cudaDevAttrCooperativeLaunch);
        SAME(pageableMemoryAccess, cudaDevAttrPageableMemoryAccess);
        SAME(pciBusID, cudaDevAttrPciBusId);
        char bus[32];
        OK(cudaDeviceGetPCIBusId(bus, sizeof(bus), d));
        OK(cudaDeviceGetByPCIBusId(&device, bus));
        EXPECT(device == d, "device %d has bus id %s, which is device %d", d, bus, device);

        size_t free1, total1, free2, total2;
        void *mem;
        OK(cudaMemGetInfo(&free1, &total1));
        OK(cudaMalloc(&mem, 64 << 20));
        OK(cudaMemGetInfo(&free2, &total2));
        EXPECT(total1 == total2 && total1 <= p.totalGlobalMem && free1 <= total1, "total %zu then %zu", total1, total2);
        EXPECT(free2 + (64 << 20) <= free1, "64 MB took %lld", (long long)(free1 - free2));
        OK(cudaFree(mem));
        int answered = 0;
        for (int a = 1; a < 140; a++) {
            cudaError_t err = cudaDeviceGetAttribute(&value, (cudaDeviceAttr)a, d);
            EXPECT(err == cudaSuccess || err == cudaErrorInvalidValue, "attribute %d: %s", a, cudaGetErrorName(err));
            answered += err == cudaSuccess;
        }
        (void)cudaGetLastError();
        EXPECT(answered >= 95, "%d attributes have an answer", answered);
    }
    OK(cudaSetDevice(0));
    EXPECT_ERROR(cudaSetDevice(count), cudaErrorInvalidDevice);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidDevice);
    OK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2 << 20));
    size_t limit;
    OK(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
    EXPECT(limit >= 2 << 20, "the printf buffer is %zu", limit);
    OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    cudaFuncCache config;
    OK(cudaDeviceGetCacheConfig(&config));
    unsigned flags;
    OK(cudaGetDeviceFlags(&flags));
    return app_verdict();
}
