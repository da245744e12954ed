// hostmem: page-locked, mapped and registered host memory used by kernels; pointer attributes; every direction of cudaMemcpy;
// unified addressing; cudaMemset.
#include "app.h"
#include <stdint.h>
#include <vector>

__global__ void scale(int *p, int n, int by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = p[i] * by + i;
}

static void fill(int *p, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = i % 97;
}

static void check(const char *what, const int *p, int n, int by)
{
    for (int i = 0; i < n; i++)
        EXPECT(p[i] == i % 97 * by + i, "%s: element %d is %d", what, i, p[i]);
}

int main(void)
{
    const int n = 5000, blocks = (n + 255) / 256;
    int *pinned, *mapped, *view, *dev, *dev2;
    OK(cudaMallocHost(&pinned, n * sizeof(int)));
    OK(cudaHostAlloc(&mapped, n * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable));
    OK(cudaMalloc(&dev, n * sizeof(int)));
    OK(cudaMalloc(&dev2, n * sizeof(int)));

    fill(mapped, n);
    OK(cudaHostGetDevicePointer(&view, mapped, 0));
    scale<<<blocks, 256>>>(view, n, 3);
    OK_LAUNCH();
    check("mapped", mapped, n, 3);

    std::vector<int> plain(n);
    fill(plain.data(), n);
    OK(cudaHostRegister(plain.data(), n * sizeof(int), cudaHostRegisterMapped));
    OK(cudaHostGetDevicePointer(&view, plain.data(), 0));
    scale<<<blocks, 256>>>(view, n, 5);
    OK_LAUNCH();
    check("registered", plain.data(), n, 5);
    OK(cudaHostUnregister(plain.data()));

    fill(pinned, n);
    OK(cudaMemcpy(dev, pinned, n * sizeof(int), cudaMemcpyHostToDevice));
    scale<<<blocks, 256>>>(dev, n, 7);
    OK(cudaMemcpyAsync(dev2, dev, n * sizeof(int), cudaMemcpyDeviceToDevice, 0));
    OK(cudaMemset(pinned, 0, n * sizeof(int)));
    OK(cudaMemcpy(pinned, dev2, n * sizeof(int), cudaMemcpyDefault));
    check("pinned", pinned, n, 7);
    std::vector<int> other(n);
    OK(cudaMemcpy(other.data(), pinned, n * sizeof(int), cudaMemcpyHostToHost));
    check("host to host", other.data(), n, 7);

    OK(cudaMemset(dev, 0xab, n * sizeof(int)));
    OK(cudaMemset((char *)dev + 5, 0x01, 3)); // unaligned
    OK(cudaMemsetAsync(dev + 100, 0, 40, 0));
    app_to_host(other.data(), dev, n);
    EXPECT((unsigned)other[0] == 0xabababab && (unsigned)other[1] == 0x010101ab, "memset gave %x %x", other[0], other[1]);
    EXPECT(other[100] == 0 && other[109] == 0 && (unsigned)other[110] == 0xabababab && (unsigned)other[99] == 0xabababab,
           "memset in the middle");

    cudaPointerAttributes attr;
    OK(cudaPointerGetAttributes(&attr, dev + 17));
    EXPECT(attr.type == cudaMemoryTypeDevice && attr.devicePointer == dev + 17, "device pointer: type %d", attr.type);
    OK(cudaPointerGetAttributes(&attr, mapped));
    EXPECT(attr.type == cudaMemoryTypeHost && attr.hostPointer == mapped, "page-locked pointer: type %d", attr.type);
    int local;
    OK(cudaPointerGetAttributes(&attr, &local));
    EXPECT(attr.type == cudaMemoryTypeUnregistered, "stack pointer: type %d", attr.type);
    unsigned flags;
    OK(cudaHostGetFlags(&flags, mapped));
    EXPECT(flags & cudaHostAllocMapped, "the flags are %x", flags);

    for (int i = 0; i < 20; i++) { // alignment that programs rely on
        void *p;
        OK(cudaMalloc(&p, 1 + i * 13));
        EXPECT((uintptr_t)p % 256 == 0, "allocation %d is at %p", i, p);
    }
    OK(cudaFreeHost(pinned));
    OK(cudaFreeHost(mapped));
    OK(cudaFree(dev));
    OK(cudaFree(dev2));
    return app_verdict();
}
