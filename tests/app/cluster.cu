// cluster: thread-block clusters of one, two and three dimensions: who is where, a histogram spread over the shared memories of a cluster, reductions through
// map_shared_rank, neighbours that pass values round a ring, atomics on other blocks' memory, kernels with and without __cluster_dims__.
#include "app.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// ---- who is where

struct where { unsigned id[3], n[3], at[3], size[3], rank, ranks, own_rank, threads, thread_rank; };

__global__ void places(where *out)
{
    cg::cluster_group c = cg::this_cluster();
    __shared__ int mine;
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    where w;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(w.id[0]));
    asm("mov.u32 %0, %%clusterid.y;" : "=r"(w.id[1]));
    asm("mov.u32 %0, %%clusterid.z;" : "=r"(w.id[2]));
    asm("mov.u32 %0, %%nclusterid.x;" : "=r"(w.n[0]));
    asm("mov.u32 %0, %%nclusterid.y;" : "=r"(w.n[1]));
    asm("mov.u32 %0, %%nclusterid.z;" : "=r"(w.n[2]));
    w.at[0] = c.block_index().x, w.at[1] = c.block_index().y, w.at[2] = c.block_index().z;
    w.size[0] = c.dim_blocks().x, w.size[1] = c.dim_blocks().y, w.size[2] = c.dim_blocks().z;
    w.rank = c.block_rank(), w.ranks = c.num_blocks();
    w.own_rank = c.query_shared_rank(&mine);
    w.threads = c.num_threads(), w.thread_rank = c.thread_rank();
    if (threadIdx.x == blockDim.x - 1)
        out[block] = w;
}

static cudaError_t launch_places(dim3 grid, unsigned threads, dim3 cluster, where *out)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attr = {};
    config.gridDim = grid, config.blockDim = threads;
    attr.id = cudaLaunchAttributeClusterDimension;
    attr.val.clusterDim.x = cluster.x, attr.val.clusterDim.y = cluster.y, attr.val.clusterDim.z = cluster.z;
    config.attrs = &attr, config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, places, out);
}

static void check_places(dim3 grid, dim3 cluster)
{
    const unsigned threads = 48, blocks = grid.x * grid.y * grid.z;
    where *dev, *got = new where[blocks];
    OK(cudaMalloc(&dev, blocks * sizeof *dev));
    OK(launch_places(grid, threads, cluster, dev));
    OK_LAUNCH();
    app_to_host(got, dev, blocks);
    const unsigned g[3] = {grid.x, grid.y, grid.z}, k[3] = {cluster.x, cluster.y, cluster.z};
    for (unsigned b = 0; b < blocks; b++) {
        const unsigned at[3] = {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y};
        const where &w = got[b];
        for (int i = 0; i < 3; i++)
            EXPECT(w.id[i] == at[i] / k[i] && w.n[i] == g[i] / k[i] && w.at[i] == at[i] % k[i] && w.size[i] == k[i], "block %u axis %d: cluster %u of %u, %u in %u",
                   b, i, w.id[i], w.n[i], w.at[i], w.size[i]);
        unsigned rank = at[0] % k[0] + k[0] * (at[1] % k[1] + k[1] * (at[2] % k[2])), ranks = k[0] * k[1] * k[2];
        EXPECT(w.rank == rank && w.ranks == ranks && w.own_rank == rank, "block %u: rank %u of %u, its memory says %u", b, w.rank, w.ranks, w.own_rank);
        EXPECT(w.threads == ranks * threads && w.thread_rank == rank * threads + threads - 1, "block %u: thread %u of %u", b, w.thread_rank, w.threads);
    }
    OK(cudaFree(dev));
    delete[] got;
}

// ---- a histogram whose bins are spread over the blocks of a cluster

__global__ void histogram(unsigned *bins, int n_bins, const int *in, int n)
{
    extern __shared__ unsigned part[];
    cg::cluster_group c = cg::this_cluster();
    const int each = n_bins / c.num_blocks();
    for (int i = threadIdx.x; i < each; i += blockDim.x)
        part[i] = 0;
    c.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned bin = in[i] < 0 ? 0 : in[i] >= n_bins ? n_bins - 1 : in[i];
        unsigned *there = c.map_shared_rank(part, bin / each);
        atomicAdd(&there[bin % each], 1);
    }
    c.sync();
    for (int i = threadIdx.x; i < each; i += blockDim.x)
        atomicAdd(&bins[c.block_rank() * each + i], part[i]);
}

static void check_histogram(int cluster)
{
    enum { N = 50000, BINS = 512 };
    static int in[N];
    static unsigned want[BINS], got[BINS];
    unsigned seed = 7;
    memset(want, 0, sizeof want);
    for (int i = 0; i < N; i++) {
        in[i] = (int)(app_rand(&seed) % (BINS + 20)) - 10;
        want[in[i] < 0 ? 0 : in[i] >= BINS ? BINS - 1 : in[i]]++;
    }
    int *dev = app_to_device(in, N);
    unsigned *bins;
    OK(cudaMalloc(&bins, sizeof got));
    OK(cudaMemset(bins, 0, sizeof got));
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attr = {};
    config.gridDim = 4 * cluster, config.blockDim = 128, config.dynamicSmemBytes = BINS / cluster * sizeof(unsigned);
    attr.id = cudaLaunchAttributeClusterDimension;
    attr.val.clusterDim.x = cluster, attr.val.clusterDim.y = attr.val.clusterDim.z = 1;
    config.attrs = &attr, config.numAttrs = 1;
    if (cluster > 8)
        OK(cudaFuncSetAttribute(histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    OK(cudaLaunchKernelEx(&config, histogram, bins, (int)BINS, (const int *)dev, (int)N));
    OK_LAUNCH();
    app_to_host(got, bins, BINS);
    for (int i = 0; i < BINS; i++)
        EXPECT(got[i] == want[i], "clusters of %d, bin %d: %u, not %u", cluster, i, got[i], want[i]);
    OK(cudaFree(dev));
    OK(cudaFree(bins));
}

// ---- reductions: every block reads the partial sums of all others

__global__ void __cluster_dims__(4, 2, 1) reduce(const double *in, double *out, int each)
{
    __shared__ double part[256], sum;
    cg::cluster_group c = cg::this_cluster();
    unsigned block = blockIdx.x + gridDim.x * blockIdx.y, t = threadIdx.x;
    double v = 0;
    for (int i = t; i < each; i += blockDim.x)
        v += in[block * each + i];
    part[t] = v;
    __syncthreads();
    for (unsigned d = blockDim.x / 2; d; d /= 2) {
        if (t < d)
            part[t] += part[t + d];
        __syncthreads();
    }
    if (t == 0)
        sum = part[0];
    c.sync();
    if (t == 0) {
        double all = 0;
        for (unsigned r = 0; r < c.num_blocks(); r++)
            all += *c.map_shared_rank(&sum, r);
        out[block] = all;
    }
    c.sync();                                  // nobody leaves while others read
}

static void check_reduce()
{
    enum { BLOCKS = 8 * 4, EACH = 1000 };
    static double in[BLOCKS * EACH], got[BLOCKS];
    unsigned seed = 3;
    for (double &x : in)
        x = (double)(app_rand(&seed) % 1000);  // sums of integers: exact in any order
    double *dev = app_to_device(in, BLOCKS * EACH), *out;
    OK(cudaMalloc(&out, sizeof got));
    reduce<<<dim3(8, 4), 256>>>(dev, out, EACH);
    OK_LAUNCH();
    app_to_host(got, out, BLOCKS);
    for (int b = 0; b < BLOCKS; b++) {
        double want = 0;
        for (int o = 0; o < BLOCKS; o++)
            if (o % 8 / 4 == b % 8 / 4 && o / 8 / 2 == b / 8 / 2)
                for (int i = 0; i < EACH; i++)
                    want += in[o * EACH + i];
        EXPECT(got[b] == want, "sum of block %d: %g, not %g", b, got[b], want);
    }
    OK(cudaFree(dev));
    OK(cudaFree(out));
}

// ---- a ring: values go to the next block, arrive and wait apart, every kind of access

__global__ void __cluster_dims__(4) ring(unsigned *out, int rounds)
{
    __shared__ unsigned slot[2][64];
    __shared__ unsigned votes;
    __shared__ unsigned long long wide;
    cg::cluster_group c = cg::this_cluster();
    unsigned t = threadIdx.x, r = c.block_rank(), n = c.num_blocks();
    slot[0][t] = r * 1000 + t;
    if (t == 0)
        votes = 0, wide = 0;
    auto token = c.barrier_arrive();
    unsigned busy = t * 3;                     // something between arrive and wait
    c.barrier_wait(static_cast<decltype(token) &&>(token));
    for (int i = 0; i < rounds; i++) {
        unsigned *next = c.map_shared_rank(slot[(i + 1) & 1], (r + 1) % n);
        next[t] = slot[i & 1][t] + 1;
        c.sync();
    }
    atomicAdd(c.map_shared_rank(&votes, 0), t + busy);
    atomicMax(c.map_shared_rank(&wide, n - 1), (unsigned long long)slot[rounds & 1][t] << 20);
    if (t == 0)
        atomicCAS(c.map_shared_rank(&slot[(rounds + 1) & 1][r], (r + 2) % n), 0xffffffffu, 1u);
    c.sync();
    out[blockIdx.x * 64 + t] = slot[rounds & 1][t];
    if (t == 0 && r == 0)
        out[gridDim.x * 64 + blockIdx.x / n] = votes;
    if (t == 0 && r == n - 1)
        out[gridDim.x * 64 + gridDim.x / n + blockIdx.x / n] = (unsigned)(wide >> 20);
}

static void check_ring()
{
    enum { BLOCKS = 12, T = 64, ROUNDS = 7 };
    static unsigned got[BLOCKS * T + 2 * BLOCKS / 4];
    unsigned *out;
    OK(cudaMalloc(&out, sizeof got));
    ring<<<BLOCKS, T>>>(out, ROUNDS);
    OK_LAUNCH();
    app_to_host(got, out, BLOCKS * T + 2 * BLOCKS / 4);
    for (int b = 0; b < BLOCKS; b++)
        for (int t = 0; t < T; t++) {
            unsigned want = (unsigned)((b % 4 - ROUNDS % 4 + 4) % 4 * 1000 + t + ROUNDS);
            EXPECT(got[b * T + t] == want, "ring, block %d thread %d: %u, not %u", b, t, got[b * T + t], want);
        }
    for (int k = 0; k < BLOCKS / 4; k++) {
        EXPECT(got[BLOCKS * T + k] == 4 * 4 * (T * (T - 1) / 2), "votes of cluster %d: %u", k, got[BLOCKS * T + k]);
        EXPECT(got[BLOCKS * T + BLOCKS / 4 + k] == 3000 + T - 1 + ROUNDS, "largest of cluster %d: %u", k, got[BLOCKS * T + BLOCKS / 4 + k]);
    }
    OK(cudaFree(out));
}

// ---- spinning on a flag that another block sets, and blocks that leave early

__global__ void __cluster_dims__(2) relay(int *out)
{
    __shared__ volatile int flag;
    __shared__ int value;
    cg::cluster_group c = cg::this_cluster();
    if (threadIdx.x == 0)
        flag = 0, value = 0;
    c.sync();
    unsigned r = c.block_rank();
    if (r == 0 && threadIdx.x == 32) {
        *c.map_shared_rank(&value, 1) = 42 + blockIdx.x;
        __threadfence();
        *c.map_shared_rank((int *)&flag, 1) = 1;
    }
    if (r == 1 && threadIdx.x == 0) {
        while (!flag)
            ;
        out[blockIdx.x / 2] = value;
    }
    if (threadIdx.x % 3 == 1)
        return;                                // who has left is not waited for
    c.sync();
    if (threadIdx.x == 63)
        atomicAdd(&out[gridDim.x / 2], 1);
}

static void check_relay()
{
    int got[4], *out;
    OK(cudaMalloc(&out, sizeof got));
    OK(cudaMemset(out, 0, sizeof got));
    relay<<<6, 64>>>(out);
    OK_LAUNCH();
    app_to_host(got, out, 4);
    EXPECT(got[0] == 42 && got[1] == 44 && got[2] == 46 && got[3] == 6, "relay: %d %d %d, %d", got[0], got[1], got[2], got[3]);
    OK(cudaFree(out));
}

// ---- no cluster at all: one of its own

__global__ void alone(unsigned *out)
{
    __shared__ unsigned x;
    cg::cluster_group c = cg::this_cluster();
    if (threadIdx.x == 7)
        x = blockIdx.x + 5;
    c.sync();
    unsigned *same = c.map_shared_rank(&x, 0);
    if (threadIdx.x == 40)
        out[blockIdx.x] = *same + 100 * c.num_blocks() + 1000 * c.block_rank() + 10000 * (same == &x);
}

static void check_alone()
{
    unsigned got[3], *out;
    OK(cudaMalloc(&out, sizeof got));
    alone<<<3, 64>>>(out);
    OK_LAUNCH();
    app_to_host(got, out, 3);
    for (unsigned b = 0; b < 3; b++)
        EXPECT(got[b] == b + 5 + 100 + 10000, "block %u alone: %u", b, got[b]);
    OK(cudaFree(out));
}

int main()
{
    check_places(dim3(6), dim3(2));
    check_places(dim3(4, 6), dim3(2, 3));
    check_places(dim3(4, 2, 6), dim3(2, 1, 3));
    check_places(dim3(2, 4, 2), dim3(2, 2, 2));
    check_places(dim3(5, 3), dim3(1, 1, 1));
    for (int cluster = 1; cluster <= 16; cluster *= 2)
        check_histogram(cluster);
    check_reduce();
    check_ring();
    check_relay();
    check_alone();
    return app_verdict();
}
