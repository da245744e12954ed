// cg_tiles: cooperative groups of every size from 1 to 512 threads, in divergent code, labelled and binary partitions, elections, all against the same sums on the CPU.
#include "app.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

enum { N = 512 };

static __host__ __device__ int value(int t) { return t * 37 % 101 - 20; }

// Sum, maximum, a scan and a ring of shuffles in tiles of one size; half of the tiles skip it when `some`.
template <int SIZE> __device__ void tile(int *out, bool some)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<SIZE> t = cg::tiled_partition<SIZE>(block);
    int me = block.thread_rank(), v = value(me), *to = out + 4 * me;
    if (some && t.meta_group_rank() % 2)
        return;
    to[0] = cg::reduce(t, v, cg::plus<int>());
    to[1] = cg::reduce(t, v, cg::greater<int>());
    to[2] = cg::inclusive_scan(t, v, cg::plus<int>());
    to[3] = t.shfl(v, (t.thread_rank() + 1) % SIZE) + 1000 * t.any(v == 0) + 10000 * t.all(v > -25);
    t.sync();
}

template <int SIZE> __global__ void run(int *out, bool some) { tile<SIZE>(out, some); }

template <int SIZE> static void check()
{
    static int got[4 * N];
    int *dev;
    OK(cudaMalloc(&dev, sizeof got));
    for (int some = 0; some < 2; some++) {
        OK(cudaMemset(dev, 0xff, sizeof got));
        run<SIZE><<<1, N>>>(dev, some);
        OK_LAUNCH();
        app_to_host(got, dev, 4 * N);
        for (int t = 0; t < N; t++) {
            int first = t / SIZE * SIZE, sum = 0, most = -1000, scan = 0, zero = 0;
            for (int i = first; i < first + SIZE; i++) {
                sum += value(i);
                most = value(i) > most ? value(i) : most;
                scan += i <= t ? value(i) : 0;
                zero |= value(i) == 0;
            }
            bool skipped = some && t / SIZE % 2;
            int ring = value(first + (t - first + 1) % SIZE) + 1000 * zero + 10000;
            const int want[4] = {skipped ? -1 : sum, skipped ? -1 : most, skipped ? -1 : scan, skipped ? -1 : ring};
            for (int k = 0; k < 4; k++)
                EXPECT(got[4 * t + k] == want[k], "tiles of %d, thread %d, %d: %d, not %d", SIZE, t, k, got[4 * t + k], want[k]);
        }
    }
    OK(cudaFree(dev));
}

// ---- groups that the data makes

__global__ void partitions(int *out)
{
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int t = threadIdx.x, v = value(t), *to = out + 6 * t;
    auto two = cg::binary_partition(warp, v > 20);
    to[0] = two.size() * 1000 + two.thread_rank();
    to[1] = cg::reduce(two, v, cg::plus<int>());
    auto many = cg::labeled_partition(warp, v % 7);
    to[2] = many.size() * 1000 + many.thread_rank();
    to[3] = cg::reduce(many, v, cg::plus<int>());
    to[4] = to[5] = 0;
    if (v & 1) {
        cg::coalesced_group odd = cg::coalesced_threads();
        auto inner = cg::labeled_partition(odd, v & 2);
        to[4] = cg::reduce(inner, v, cg::plus<int>());
        to[5] = inner.shfl(v, 0);
    }
}

static void check_partitions()
{
    static int got[6 * N];
    int *dev;
    OK(cudaMalloc(&dev, sizeof got));
    partitions<<<1, N>>>(dev);
    OK_LAUNCH();
    app_to_host(got, dev, 6 * N);
    for (int t = 0; t < N; t++) {
        int n[3] = {}, rank[3] = {}, sum[3] = {}, first[3] = {};
        for (int i = t / 32 * 32; i < t / 32 * 32 + 32; i++) {
            const bool same[3] = {(value(i) > 20) == (value(t) > 20), value(i) % 7 == value(t) % 7, (value(i) & 1) && (value(i) & 2) == (value(t) & 2)};
            for (int k = 0; k < 3; k++)
                if (same[k]) {
                    if (!n[k])
                        first[k] = value(i);
                    n[k]++, rank[k] += i < t, sum[k] += value(i);
                }
        }
        bool odd = value(t) & 1;
        const int want[6] = {n[0] * 1000 + rank[0], sum[0], n[1] * 1000 + rank[1], sum[1], odd ? sum[2] : 0, odd ? first[2] : 0};
        for (int k = 0; k < 6; k++)
            EXPECT(got[6 * t + k] == want[k], "partition, thread %d, %d: %d, not %d", t, k, got[6 * t + k], want[k]);
    }
    OK(cudaFree(dev));
}

// ---- tiles of more than a warp meet through memory; one thread of a group is asked to do something

__global__ void large(int *out, int *once)
{
    __shared__ cg::block_tile_memory<N> memory;
    cg::thread_block block = cg::this_thread_block(memory);
    auto t64 = cg::tiled_partition<64>(block);
    auto t256 = cg::tiled_partition<256>(block);
    int me = block.thread_rank();
    out[3 * me] = cg::reduce(t64, value(me), cg::plus<int>());
    out[3 * me + 1] = cg::reduce(t256, value(me), cg::less<int>());
    out[3 * me + 2] = t64.shfl(me, 5) + 10000 * t256.any(me == 300);
    cg::invoke_one(t64, [&] { atomicAdd(once, 1); });
    out[3 * N + me] = cg::invoke_one_broadcast(cg::tiled_partition<8>(block), [&] { return atomicAdd(once + 1, 1) * 0 + 7; });
}

static void check_large()
{
    static int got[4 * N], once[2];
    int *dev, *count;
    OK(cudaMalloc(&dev, sizeof got));
    OK(cudaMalloc(&count, sizeof once));
    OK(cudaMemset(count, 0, sizeof once));
    large<<<1, N>>>(dev, count);
    OK_LAUNCH();
    app_to_host(got, dev, 4 * N);
    app_to_host(once, count, 2);
    for (int t = 0; t < N; t++) {
        int sum = 0, least = 1000;
        for (int i = t / 64 * 64; i < t / 64 * 64 + 64; i++)
            sum += value(i);
        for (int i = t / 256 * 256; i < t / 256 * 256 + 256; i++)
            least = value(i) < least ? value(i) : least;
        EXPECT(got[3 * t] == sum && got[3 * t + 1] == least && got[3 * t + 2] == t / 64 * 64 + 5 + 10000 * (t >= 256), "large tiles, thread %d: %d %d %d", t, got[3 * t], got[3 * t + 1],
               got[3 * t + 2]);
        EXPECT(got[3 * N + t] == 7, "invoke_one_broadcast, thread %d: %d", t, got[3 * N + t]);
    }
    EXPECT(once[0] == N / 64 && once[1] == N / 8, "invoke_one: %d and %d times", once[0], once[1]);
    OK(cudaFree(dev));
    OK(cudaFree(count));
}

int main()
{
    check<1>();
    check<2>();
    check<4>();
    check<8>();
    check<16>();
    check<32>();
    check_partitions();
    check_large();
    return app_verdict();
}
