// rdc/a: definitions of the shared variables, a static function with the same name as one in b, a launch from here.
#include "shared.h"

__device__ int shared_table[16] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int shared_total;
__constant__ float shared_scale = 1.5f;
__managed__ int shared_managed = 40;

static __device__ __noinline__ int hidden(int x) { return x + 1000; }

__device__ __noinline__ int square(int x) { return x * x; }
__device__ transform shared_function = square;

__device__ int from_a(int x)
{
    own_value = 7; // not the one that b reads
    return hidden(x) + common_inline(x);
}

__device__ int Counter::next(int by) { return total += by; }

static __global__ void kernel_a(int *out, int n)
{
    int i = threadIdx.x;
    if (i < n)
        out[i] = from_a(i) + from_b(i) + shared_table[i & 15];
}

void launch_a(int *out, int n) { kernel_a<<<1, n>>>(out, n); }
