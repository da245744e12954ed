// rdc/b: uses a's variables and functions; a kernel that main launches; objects whose virtual functions lie in two units.
#include "shared.h"

static __device__ __noinline__ int hidden(int x) { return x + 2000; }

__device__ int from_b(int x) { return hidden(x) - common_inline(x) + own_value; }

__device__ int Doubling::next(int by) { return total = (total + by) * 2; }

__device__ Counter *make_counter(int kind, int start)
{
    if (kind)
        return new Doubling(start);
    return new Counter(start);
}

__global__ void kernel_b(int *out, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        atomicAdd(&shared_total, square(i));
        out[i] = (int)(shared_scale * 2 * i) + shared_function(i);
        if (i == 0)
            shared_managed++;
    }
}
