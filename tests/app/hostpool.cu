// hostpool: pools of host memory, and of managed memory: default and current ones, stream-ordered allocation, limits, errors; host memory that is mapped.
#include "app.h"
#include <cuda.h>
#include <stdint.h>

__global__ void add(int *p, int n, int x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] += x;
}

#if CUDART_VERSION >= 13000
static void one(cudaMemLocation where, cudaMemAllocationType type)
{
    enum { N = 3000 };
    cudaMemPool_t standard, current, own;
    cudaStream_t s;
    int *p;
    OK(cudaStreamCreate(&s));
    OK(cudaMemGetDefaultMemPool(&standard, &where, type));
    OK(cudaMemGetMemPool(&current, &where, type));
    EXPECT(standard == current, "the default pool of place %d is not the current one", where.type);
    cudaMemPoolProps props = {};
    props.allocType = type;
    props.location = where;
    props.maxSize = 1 << 20;
    OK(cudaMemPoolCreate(&own, &props));
    OK(cudaMemSetMemPool(&where, type, own));
    OK(cudaMemGetMemPool(&current, &where, type));
    EXPECT(current == own, "the pool of place %d was not set", where.type);
    for (cudaMemPool_t pool : {standard, own}) {
        OK(cudaMallocFromPoolAsync((void **)&p, N * sizeof *p, pool, s));
        OK(cudaMemsetAsync(p, 0, N * sizeof *p, s));
        add<<<(N + 255) / 256, 256, 0, s>>>(p, N, 7);
        OK(cudaStreamSynchronize(s));
        long sum = 0;
        for (int i = 0; i < N; i++)            // the host reads it as its own
            sum += p[i];
        EXPECT(sum == 7L * N, "sum %ld in place %d", sum, where.type);
        cudaPointerAttributes a;
        OK(cudaPointerGetAttributes(&a, p));
        cudaMemoryType wanted = type == cudaMemAllocationTypeManaged ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
        EXPECT(a.type == wanted && a.hostPointer == p && a.devicePointer == p, "pointer of type %d in place %d", a.type, where.type);
        uint64_t used;
        OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
        EXPECT(used == N * sizeof *p, "%llu bytes used", (unsigned long long)used);
        EXPECT(cudaFreeHost(p) == cudaErrorInvalidValue, "cudaFreeHost of a pool's memory");
        OK(cudaFreeAsync(p, s));
        OK(cudaStreamSynchronize(s));
        OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
        EXPECT(used == 0, "%llu bytes left", (unsigned long long)used);
    }
    EXPECT(cudaMallocFromPoolAsync((void **)&p, 2 << 20, own, s) == cudaErrorMemoryAllocation, "more than the pool may have");
    cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
    cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemPoolGetAccess(&flags, own, &device));
    EXPECT(flags == cudaMemAccessFlagsProtReadWrite, "access %d", flags);
    EXPECT(cudaMemPoolDestroy(standard) == cudaErrorInvalidValue, "a default pool stays");
    OK(cudaMemPoolDestroy(own));
    OK(cudaMemGetMemPool(&current, &where, type));
    EXPECT(current == standard, "the default pool of place %d is not the current one again", where.type);
    OK(cudaStreamDestroy(s));
    (void)cudaGetLastError();
}

static void errors()
{
    cudaMemPool_t pool, host;
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeHostNumaCurrent;
    EXPECT(cudaMemPoolCreate(&pool, &props) == cudaErrorInvalidValue, "a pool of the current node");
    props.location.type = cudaMemLocationTypeNone;
    EXPECT(cudaMemPoolCreate(&pool, &props) == cudaErrorInvalidValue, "a pool of nowhere");
    props.location.type = cudaMemLocationTypeHostNuma;
    props.location.id = 5;
    EXPECT(cudaMemPoolCreate(&pool, &props) == cudaErrorInvalidValue, "a pool of node 5");
    props.location.type = cudaMemLocationTypeHost;
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    EXPECT(cudaMemPoolCreate(&pool, &props) == cudaErrorInvalidValue, "a pool of host memory for others");
    props.handleTypes = cudaMemHandleTypeNone;
    OK(cudaMemPoolCreate(&host, &props));
    cudaMemLocation device = {cudaMemLocationTypeDevice, 0}, nowhere = {cudaMemLocationTypeDevice, 99};
    EXPECT(cudaMemSetMemPool(&device, cudaMemAllocationTypePinned, host) == cudaErrorInvalidValue, "a pool of another place");
    EXPECT(cudaDeviceSetMemPool(0, host) == cudaErrorInvalidValue, "a pool of the host for a device");
    EXPECT(cudaMemGetMemPool(&pool, &nowhere, cudaMemAllocationTypePinned) == cudaErrorInvalidDevice, "device 99");
    EXPECT(cudaMemGetMemPool(&pool, &device, (cudaMemAllocationType)9) == cudaErrorInvalidValue, "allocations of type 9");
    EXPECT(cudaMemGetMemPool(&pool, NULL, cudaMemAllocationTypePinned) == cudaErrorInvalidValue, "no place");
    OK(cudaMemPoolDestroy(host));
    (void)cudaGetLastError();
}

// cuMemCreate: memory of the host at an address of one's own
static void mapped(CUmemLocationType place)
{
    enum { N = 1000 };
    CUmemAllocationProp prop = {}, back;
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;
    size_t grain, free_before, free_after, total;
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = place;
    OK(cudaMemGetInfo(&free_before, &total));
    EXPECT(cuMemGetAllocationGranularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS, "granularity");
    EXPECT(cuMemCreate(&handle, grain, &prop, 0) == CUDA_SUCCESS, "cuMemCreate in place %d", place);
    OK(cudaMemGetInfo(&free_after, &total));
    EXPECT(free_before == free_after, "host memory is charged to the device");
    EXPECT(cuMemGetAllocationPropertiesFromHandle(&back, handle) == CUDA_SUCCESS && back.location.type != CU_MEM_LOCATION_TYPE_DEVICE, "place %d", back.location.type);
    EXPECT(cuMemAddressReserve(&at, grain, 0, 0, 0) == CUDA_SUCCESS && cuMemMap(at, grain, 0, handle, 0) == CUDA_SUCCESS, "mapping");
    CUmemAccessDesc access[2] = {{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}, {{place, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
    EXPECT(cuMemSetAccess(at, grain, access, 2) == CUDA_SUCCESS, "access");
    int *p = (int *)at;
    for (int i = 0; i < N; i++)
        p[i] = i;
    add<<<4, 250>>>(p, N, 5);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++)
        EXPECT(p[i] == i + 5, "element %d is %d", i, p[i]);
    unsigned type = 0;
    EXPECT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) == CUDA_SUCCESS && type == CU_MEMORYTYPE_HOST, "memory of type %u", type);
    EXPECT(cuMemUnmap(at, grain) == CUDA_SUCCESS && cuMemRelease(handle) == CUDA_SUCCESS && cuMemAddressFree(at, grain) == CUDA_SUCCESS, "the end");
}
#endif

int main()
{
#if CUDART_VERSION >= 13000
    one({cudaMemLocationTypeHost, 0}, cudaMemAllocationTypePinned);
    one({cudaMemLocationTypeHostNuma, 0}, cudaMemAllocationTypePinned);
    one({cudaMemLocationTypeHost, 0}, cudaMemAllocationTypeManaged);
    one({cudaMemLocationTypeDevice, 0}, cudaMemAllocationTypeManaged);
    one({cudaMemLocationTypeNone, 0}, cudaMemAllocationTypeManaged);
    errors();
    mapped(CU_MEM_LOCATION_TYPE_HOST);
    mapped(CU_MEM_LOCATION_TYPE_HOST_NUMA);
#endif
    return app_verdict();
}
