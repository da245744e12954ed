// scan_block: a work-efficient (Blelloch) scan in shared memory and a scan over many blocks in three kernels.
#include "app.h"
#include <vector>

#define N 512

// Exclusive scan of each block's 2*blockDim elements; the block's total goes to totals.
__global__ void scan(const unsigned *in, unsigned *out, unsigned *totals, int n)
{
    __shared__ unsigned t[N];
    int tid = threadIdx.x, base = blockIdx.x * N;
    t[2 * tid] = base + 2 * tid < n ? in[base + 2 * tid] : 0;
    t[2 * tid + 1] = base + 2 * tid + 1 < n ? in[base + 2 * tid + 1] : 0;
    int offset = 1;
    for (int d = N >> 1; d > 0; d >>= 1, offset <<= 1) {
        __syncthreads();
        if (tid < d)
            t[offset * (2 * tid + 2) - 1] += t[offset * (2 * tid + 1) - 1];
    }
    if (tid == 0) {
        totals[blockIdx.x] = t[N - 1];
        t[N - 1] = 0;
    }
    for (int d = 1; d < N; d <<= 1) {
        offset >>= 1;
        __syncthreads();
        if (tid < d) {
            int a = offset * (2 * tid + 1) - 1, b = offset * (2 * tid + 2) - 1;
            unsigned x = t[a];
            t[a] = t[b];
            t[b] += x;
        }
    }
    __syncthreads();
    if (base + 2 * tid < n)
        out[base + 2 * tid] = t[2 * tid];
    if (base + 2 * tid + 1 < n)
        out[base + 2 * tid + 1] = t[2 * tid + 1];
}

__global__ void shift(unsigned *out, const unsigned *offsets, int n)
{
    for (int i = threadIdx.x; i < N; i += blockDim.x)
        if (blockIdx.x * N + i < n)
            out[blockIdx.x * N + i] += offsets[blockIdx.x];
}

int main(void)
{
    const int n = 100 * N - 77, blocks = (n + N - 1) / N;
    std::vector<unsigned> in(n), out(n);
    unsigned seed = 11;
    for (auto &x : in)
        x = app_rand(&seed) % 1000;
    unsigned *din = app_to_device(in.data(), n), *dout, *dtot, *doff, *dnone;
    OK(cudaMalloc(&dout, n * sizeof(unsigned)));
    OK(cudaMalloc(&dtot, blocks * sizeof(unsigned)));
    OK(cudaMalloc(&doff, blocks * sizeof(unsigned)));
    OK(cudaMalloc(&dnone, sizeof(unsigned)));
    scan<<<blocks, N / 2>>>(din, dout, dtot, n);
    scan<<<1, N / 2>>>(dtot, doff, dnone, blocks);
    shift<<<blocks, 128>>>(dout, doff, n);
    OK_LAUNCH();
    app_to_host(out.data(), dout, n);
    unsigned sum = 0, total;
    for (int i = 0; i < n; i++) {
        EXPECT(out[i] == sum, "prefix %d is %u, not %u", i, out[i], sum);
        sum += in[i];
    }
    app_to_host(&total, dnone, 1);
    EXPECT(total == sum, "the total is %u, not %u", total, sum);
    printf("%d elements, total %u\n", n, sum);
    return app_verdict();
}
