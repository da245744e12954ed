// bitonic: a bitonic sort of keys with values: steps inside shared memory, wider steps in global memory, many launches.
#include "app.h"
#include <algorithm>
#include <vector>

#define BLOCK 256

__device__ void order(unsigned &k1, unsigned &v1, unsigned &k2, unsigned &v2, bool up)
{
    if ((k1 > k2) == up) {
        unsigned t = k1;
        k1 = k2, k2 = t;
        t = v1, v1 = v2, v2 = t;
    }
}

__global__ void wide_step(unsigned *k, unsigned *v, unsigned j, unsigned size)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;
    if (other > i)
        order(k[i], v[i], k[other], v[other], (i & size) == 0);
}

// All steps whose partner lies within the block's 2*BLOCK elements, from step `from` of merge size `size` on.
__global__ void near_steps(unsigned *k, unsigned *v, unsigned from, unsigned size)
{
    __shared__ unsigned ks[2 * BLOCK], vs[2 * BLOCK];
    unsigned base = blockIdx.x * 2 * BLOCK;
    for (unsigned i = threadIdx.x; i < 2 * BLOCK; i += BLOCK)
        ks[i] = k[base + i], vs[i] = v[base + i];
    for (unsigned j = from; j > 0; j >>= 1) {
        __syncthreads();
        unsigned i = 2 * threadIdx.x - (threadIdx.x & (j - 1));
        order(ks[i], vs[i], ks[i + j], vs[i + j], ((base + i) & size) == 0);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 2 * BLOCK; i += BLOCK)
        k[base + i] = ks[i], v[base + i] = vs[i];
}

int main(void)
{
    const unsigned n = 1 << 14;
    std::vector<unsigned> k(n), v(n), gk(n), gv(n);
    unsigned seed = 9;
    for (unsigned i = 0; i < n; i++) {
        k[i] = app_rand(&seed) % 50000;
        v[i] = i;
    }
    unsigned *dk = app_to_device(k.data(), n), *dv = app_to_device(v.data(), n);
    for (unsigned size = 2; size <= n; size <<= 1) {
        unsigned j = size >> 1;
        for (; j > BLOCK; j >>= 1)
            wide_step<<<n / BLOCK, BLOCK>>>(dk, dv, j, size);
        near_steps<<<n / (2 * BLOCK), BLOCK>>>(dk, dv, j, size);
    }
    OK_LAUNCH();
    app_to_host(gk.data(), dk, n);
    app_to_host(gv.data(), dv, n);
    std::vector<unsigned> sorted = k, seen(n);
    std::sort(sorted.begin(), sorted.end());
    for (unsigned i = 0; i < n; i++) {
        EXPECT(gk[i] == sorted[i], "key %u is %u, not %u", i, gk[i], sorted[i]);
        EXPECT(gv[i] < n && k[gv[i]] == gk[i] && !seen[gv[i]]++, "value %u does not belong to its key", i);
    }
    printf("%u keys\n", n);
    return app_verdict();
}
