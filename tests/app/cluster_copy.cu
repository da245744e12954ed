// Blocks of a cluster that feed each other: a multicast copy that every block's mbarrier hears of, stores and reductions into a neighbour's shared memory
// (st.async, red.async), bulk copies from block to block, and arrivals at another block's mbarrier.
#include "app.h"
#include <cooperative_groups.h>
#include <cstdint>
#include <vector>
namespace cg = cooperative_groups;

enum { N = 4, TILE = 256, STEPS = 6 };             // blocks, ints, rounds

__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned in_block(unsigned address, unsigned rank)
{
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}
__device__ void wait(unsigned bar, unsigned parity)
{
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1; @p bra D; bra W; D: }" ::"r"(bar), "r"(parity) : "memory");
}
__device__ void expect(unsigned bar, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

__global__ void __cluster_dims__(N, 1, 1) exchange(const int *in, int *out, int *ring, int *sums)
{
    __shared__ __align__(128) int tile[TILE], from_left[TILE];
    __shared__ __align__(16) int pair[4];
    __shared__ unsigned total;
    __shared__ uint64_t full, free_, passed, told, added;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), t = threadIdx.x, cluster_id = blockIdx.x / N;
    if (t == 0) {
        total = 0;
        for (uint64_t *b : {&full, &passed, &told, &added})
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(b)) : "memory");
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(&free_)), "r"(N) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster.sync();
    int sum = 0;
    for (int s = 0; s < STEPS; s++) {              // rank 0 sends one tile to all, as soon as all have done with the last
        if (t == 0)
            expect(at(&full), TILE * 4);
        if (rank == 0 && t == 0) {
            if (s)
                wait(at(&free_), (s - 1) & 1);
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(at(tile)),
                         "l"(in + (cluster_id * STEPS + s) * TILE), "r"(TILE * 4), "r"(at(&full)), "h"((unsigned short)((1 << N) - 1)) : "memory");
        }
        wait(at(&full), s & 1);
        sum += tile[(t * 3 + rank) % TILE] * (s + 1);
        __syncthreads();
        if (t == 0)
            asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(in_block(at(&free_), 0)) : "memory");
    }
    out[blockIdx.x * TILE + t] = sum;

    unsigned right = (rank + 1) % N;               // each passes its sums to the right
    __syncthreads();
    tile[t] = sum;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        expect(at(&passed), TILE * 4);
        expect(at(&told), 16);
        expect(at(&added), 4 * N * 32);
    }
    cluster.sync();
    if (t == 0) {
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(in_block(at(from_left), right)), "r"(at(tile)),
                     "r"(TILE * 4), "r"(in_block(at(&passed), right)) : "memory");
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(in_block(at(pair), right)), "r"(rank), "r"(right),
                     "r"(sum), "r"(-sum), "r"(in_block(at(&told), right)) : "memory");
    }
    if (t < 32)
        for (unsigned r = 0; r < N; r++)
            asm volatile("red.async.relaxed.cluster.mbarrier::complete_tx::bytes.shared::cluster.add.u32 [%0], %1, [%2];" ::"r"(in_block(at(&total), r)), "r"(rank * 100 + t),
                         "r"(in_block(at(&added), r)) : "memory");
    wait(at(&passed), 0);
    wait(at(&told), 0);
    wait(at(&added), 0);
    ring[blockIdx.x * TILE + t] = from_left[t];
    if (t < 4)
        sums[blockIdx.x * 5 + t] = pair[t];
    if (t == 4)
        sums[blockIdx.x * 5 + 4] = (int)total;
    cluster.sync();
}

int main(void)
{
    enum { CLUSTERS = 3, BLOCKS = CLUSTERS * N };
    std::vector<int> in(CLUSTERS * STEPS * TILE), out(BLOCKS * TILE), ring(BLOCKS * TILE), sums(BLOCKS * 5), want(BLOCKS * TILE);
    unsigned seed = 5;
    for (int &x : in)
        x = (int)(app_rand(&seed) % 2001) - 1000;
    int *din = app_to_device(in.data(), in.size()), *dout, *dring, *dsums;
    OK(cudaMalloc(&dout, out.size() * 4));
    OK(cudaMalloc(&dring, ring.size() * 4));
    OK(cudaMalloc(&dsums, sums.size() * 4));
    exchange<<<BLOCKS, TILE>>>(din, dout, dring, dsums);
    OK_LAUNCH();
    app_to_host(out.data(), dout, out.size());
    app_to_host(ring.data(), dring, ring.size());
    app_to_host(sums.data(), dsums, sums.size());
    int wrong = 0, all = 0;
    for (int b = 0; b < BLOCKS; b++)
        for (int t = 0; t < TILE; t++) {
            for (int s = 0; s < STEPS; s++)
                want[b * TILE + t] += in[(b / N * STEPS + s) * TILE + (t * 3 + b % N) % TILE] * (s + 1);
            wrong += out[b * TILE + t] != want[b * TILE + t];
        }
    EXPECT(!wrong, "multicast: %d sums", wrong);
    for (int r = 0; r < N; r++)
        for (int t = 0; t < 32; t++)
            all += r * 100 + t;
    for (int b = 0; b < BLOCKS; b++) {
        int left = b / N * N + (b + N - 1) % N;
        for (int t = 0; t < TILE; t++)
            EXPECT(ring[b * TILE + t] == want[left * TILE + t], "block %d thread %d: not the left one's sum", b, t);
        const int *s = &sums[b * 5];
        EXPECT(s[0] == left % N && s[1] == b % N && s[2] == want[left * TILE] && s[3] == -want[left * TILE], "block %d: st.async brought %d %d %d %d", b, s[0], s[1], s[2], s[3]);
        EXPECT(s[4] == all, "block %d: red.async made %d of %d", b, s[4], all);
    }
    return app_verdict();
}
