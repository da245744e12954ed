// Kernels that go wrong, each in a way of its own. faults.ptx is what `nvcc -ptx -lineinfo -arch=sm_75` makes of them, so that the tests need no nvcc.
#include <cassert>

__global__ void crooked(int *data, int n)
{
    char *bytes = (char *)data;
    if (threadIdx.x == 3)
        *(int *)(bytes + 2) = n;            // no multiple of 4
}

__global__ void asserts(int *data, int n)
{
    int i = threadIdx.x;
    assert(data[i] != 40);
    data[i] = n;
}

__global__ void traps(int *data, int n)
{
    if (data[threadIdx.x] > 61)
        __trap();
}

__device__ __noinline__ int newer(int x)
{
    if (x > 2)                              // an instruction that is not emulated; when it is, this needs another
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    return x;
}

__global__ void unsupported(int *data, int n)
{
    data[threadIdx.x] = newer(threadIdx.x);
}

__global__ void waits(int *data, int n)
{
    int i = threadIdx.x;
    if (i < 32)
        asm volatile("bar.sync 1, 64;");    // half of them never come
    data[i] = n;
}

__global__ void stops(int *data, int n)
{
    int i = threadIdx.x;
    if (data[i] % 32 == 5)
        __brkpt();
    data[i] = n;
}

__global__ void together(int *data, int n)
{
    int i = threadIdx.x;
    if (i % 32 < 12)
        data[0] = i + 100;                  // all to one place: the last lane's stays
}

__global__ void atomics(int *data, int n)
{
    int i = threadIdx.x;
    atomicCAS(&data[0], 0, i + 200);        // the first lane's stays: the others find no 0
    atomicMax(&data[1], 50 - (i - 7) * (i - 7));
}
