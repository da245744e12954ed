// reduce_shfl: reductions by warp shuffles (down, xor, up, idx; 4 and 8 bytes; segments of 8 and 16), lane values at the edges.
#include "app.h"
#include <vector>

#define FULL 0xffffffffu

__global__ void reduce(const int *in, int n, unsigned long long *sum, int *largest)
{
    long long s = 0;
    int m = -2147483647 - 1;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        s += in[i];
        m = in[i] > m ? in[i] : m;
    }
    __shared__ long long part[32];
    __shared__ int top[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int d = 16; d; d >>= 1) {
        s += __shfl_down_sync(FULL, s, d);
        int o = __shfl_xor_sync(FULL, m, d);
        m = o > m ? o : m;
    }
    if (lane == 0) {
        part[warp] = s;
        top[warp] = m;
    }
    __syncthreads();
    if (warp == 0) {
        s = lane < blockDim.x / 32 ? part[lane] : 0;
        m = lane < blockDim.x / 32 ? top[lane] : -2147483647 - 1;
        for (int d = 16; d; d >>= 1) {
            s += __shfl_xor_sync(FULL, s, d);
            m = max(m, __shfl_down_sync(FULL, m, d));
        }
        if (lane == 0) {
            atomicAdd(sum, (unsigned long long)s);
            atomicMax(largest, m);
        }
    }
}

// What each lane receives: one row of 32 results for each form.
__global__ void forms(int *out, double *dout)
{
    int lane = threadIdx.x, v = lane * 10;
    out[lane] = __shfl_sync(FULL, v, 5);
    out[32 + lane] = __shfl_sync(FULL, v, 3, 8);
    out[64 + lane] = __shfl_sync(FULL, v, lane + 1);
    out[96 + lane] = __shfl_up_sync(FULL, v, 3);
    out[128 + lane] = __shfl_up_sync(FULL, v, 2, 16);
    out[160 + lane] = __shfl_down_sync(FULL, v, 7);
    out[192 + lane] = __shfl_down_sync(FULL, v, 5, 8);
    out[224 + lane] = __shfl_xor_sync(FULL, v, 9);
    out[256 + lane] = __shfl_xor_sync(FULL, v, 3, 16);
    dout[lane] = __shfl_sync(FULL, lane + 0.25, 31 - lane);
    // Two halves of the warp, each with its own mask, in different branches.
    if (lane < 16)
        out[288 + lane] = __shfl_xor_sync(0x0000ffffu, v, 1);
    else
        out[288 + lane] = __shfl_xor_sync(0xffff0000u, v + 1, 2);
}

static int want(int form, int l)
{
    switch (form) {
    case 0: return 50;
    case 1: return ((l & ~7) + 3) * 10;
    case 2: return ((l + 1) & 31) * 10;
    case 3: return (l < 3 ? l : l - 3) * 10;
    case 4: return ((l & 15) < 2 ? l : l - 2) * 10;
    case 5: return (l + 7 > 31 ? l : l + 7) * 10;
    case 6: return ((l & 7) + 5 > 7 ? l : l + 5) * 10;
    case 7: return (l ^ 9) * 10;
    case 8: return (l ^ 3) * 10;
    default: return l < 16 ? (l ^ 1) * 10 : (l ^ 2) * 10 + 1;
    }
}

int main(void)
{
    const int n = 50021;
    std::vector<int> in(n);
    unsigned seed = 3;
    long long sum = 0;
    int top = -2147483647 - 1;
    for (auto &x : in) {
        x = (int)app_rand(&seed);
        sum += x;
        top = x > top ? x : top;
    }
    int *din = app_to_device(in.data(), n), *dmax = app_to_device(&in[0], 1), max;
    unsigned long long zero = 0, got, *dsum = app_to_device(&zero, 1);
    reduce<<<13, 256>>>(din, n, dsum, dmax);
    OK_LAUNCH();
    app_to_host(&got, dsum, 1);
    app_to_host(&max, dmax, 1);
    EXPECT((long long)got == sum, "the sum is %lld, not %lld", (long long)got, sum);
    EXPECT(max == top, "the maximum is %d, not %d", max, top);

    int out[320], *dout;
    double dd[32], *ddout;
    OK(cudaMalloc(&dout, sizeof(out)));
    OK(cudaMalloc(&ddout, sizeof(dd)));
    forms<<<1, 32>>>(dout, ddout);
    OK_LAUNCH();
    app_to_host(out, dout, 320);
    app_to_host(dd, ddout, 32);
    for (int i = 0; i < 320; i++)
        EXPECT(out[i] == want(i / 32, i % 32), "form %d lane %d is %d, not %d", i / 32, i % 32, out[i], want(i / 32, i % 32));
    for (int l = 0; l < 32; l++)
        EXPECT(dd[l] == 31 - l + 0.25, "double, lane %d is %g", l, dd[l]);
    printf("sum %lld max %d\n", sum, top);
    return app_verdict();
}
