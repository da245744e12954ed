// Warp specialisation with mbarriers: cuda::barrier between halves of a block, threads that drop out, a ring of buffers that one thread fills with bulk
// copies, and results that leave by bulk stores and reductions.
#include "app.h"
#include <cstdint>
#include <cuda/barrier>
#include <vector>

enum { TILE = 256, STAGES = 3 };                   // ints
typedef cuda::barrier<cuda::thread_scope_block> barrier;
#pragma nv_diag_suppress static_var_with_dynamic_init

__global__ void halves(const int *in, int tiles, int *out)
{
    __shared__ barrier full[2], empty[2];
    __shared__ int buf[2][128];
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++) {
            init(&full[i], blockDim.x);
            init(&empty[i], blockDim.x);
        }
    __syncthreads();
    if (threadIdx.x < 128) {
        for (int t = 0; t < tiles; t++) {
            empty[t & 1].arrive_and_wait();
            buf[t & 1][threadIdx.x] = in[t * 128 + threadIdx.x];
            (void)full[t & 1].arrive();
        }
        return;
    }
    int lane = threadIdx.x - 128, sum = 0;
    (void)empty[0].arrive();
    (void)empty[1].arrive();
    for (int t = 0; t < tiles; t++) {
        full[t & 1].arrive_and_wait();
        sum += buf[t & 1][(lane * 7 + 3) % 128] * (t + 1);
        (void)empty[t & 1].arrive();
    }
    out[lane] = sum;
}

// In round r the threads above 255 - 32 r have left; those who stay count how many are still there.
__global__ void leavers(int *out)
{
    __shared__ barrier bar;
    __shared__ int present[8];
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        for (int r = 0; r < 8; r++)
            present[r] = 0;
    }
    __syncthreads();
    for (int r = 0; r < 8; r++) {
        if (threadIdx.x >= 256 - 32 * r) {
            bar.arrive_and_drop();
            return;
        }
        atomicAdd(&present[r], 1);
        bar.wait(bar.arrive());
        if (threadIdx.x == 0)
            out[r] = present[r];
    }
}

__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void wait(unsigned bar, unsigned parity)
{
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra D; bra W; D: }" ::"r"(bar), "r"(parity) : "memory");
}

// Warp 0 has one thread that copies tiles; the others add theirs up. Each block's sums leave by a bulk store and are added to a total by a bulk reduction.
__global__ void ring(const int *in, int tiles, int *sums, int *total)
{
    __shared__ __align__(128) int tile[STAGES][TILE];
    __shared__ __align__(128) int result[TILE];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int consumers = blockDim.x - 32;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&full[s])) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(&empty[s])), "r"(consumers) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    in += (size_t)blockIdx.x * tiles * TILE;
    if (threadIdx.x < 32) {
        for (int t = 0; t < tiles && threadIdx.x == 0; t++) {
            int s = t % STAGES, round = t / STAGES;
            wait(at(&empty[s]), (round & 1) ^ 1);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&full[s])), "r"(TILE * 4) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(tile[s])), "l"(in + t * TILE), "r"(TILE * 4),
                         "r"(at(&full[s])) : "memory");
        }
    } else {
        int me = threadIdx.x - 32, sum = 0;
        for (int t = 0; t < tiles; t++) {
            int s = t % STAGES;
            wait(at(&full[s]), t / STAGES & 1);
            sum += tile[s][(me * 5 + t) % TILE];
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(&empty[s])) : "memory");
        }
        result[me] = sum;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(sums + blockIdx.x * TILE), "r"(at(result)), "r"(TILE * 4) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" ::"l"(total), "r"(at(result)), "r"(TILE * 4) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

int main(void)
{
    enum { TILES = 20, BLOCKS = 9, N = BLOCKS * TILES * TILE };
    std::vector<int> in(N);
    unsigned seed = 11;
    for (int &x : in)
        x = (int)(app_rand(&seed) % 20001) - 10000;
    int *dev = app_to_device(in.data(), N), *out, *total, got[BLOCKS * TILE], sum[TILE], wrong = 0;
    OK(cudaMalloc(&out, sizeof got));
    OK(cudaMalloc(&total, sizeof sum));
    OK(cudaMemset(total, 0, sizeof sum));

    halves<<<1, 256>>>(dev, TILES, out);
    OK_LAUNCH();
    app_to_host(got, out, 128);
    for (int i = 0; i < 128; i++) {
        int want = 0;
        for (int t = 0; t < TILES; t++)
            want += in[t * 128 + (i * 7 + 3) % 128] * (t + 1);
        wrong += got[i] != want;
    }
    EXPECT(!wrong, "halves: %d threads", wrong);

    leavers<<<1, 256>>>(out);
    OK_LAUNCH();
    app_to_host(got, out, 8);
    for (int r = 0; r < 8; r++)
        EXPECT(got[r] == 256 - 32 * r, "round %d: %d threads", r, got[r]);

    ring<<<BLOCKS, 32 + TILE>>>(dev, TILES, out, total);
    OK_LAUNCH();
    app_to_host(got, out, BLOCKS * TILE);
    app_to_host(sum, total, TILE);
    wrong = 0;
    for (int i = 0; i < TILE; i++) {
        int all = 0;
        for (int b = 0; b < BLOCKS; b++) {
            int want = 0;
            for (int t = 0; t < TILES; t++)
                want += in[(b * TILES + t) * TILE + (i * 5 + t) % TILE];
            wrong += got[b * TILE + i] != want;
            all += want;
        }
        wrong += sum[i] != all;
    }
    EXPECT(!wrong, "ring: %d values", wrong);
    return app_verdict();
}
