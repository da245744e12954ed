// cg: cooperative groups inside a block: tiles of 4 to 32 threads, sub-tiles, coalesced groups in divergent branches, reduce and
// scan (redux.sync from sm_80 on), block groups, labelled partitions.
#include "app.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

template <int SIZE> __device__ int tile_sum(cg::thread_block block, int v)
{
    auto tile = cg::tiled_partition<SIZE>(block);
    for (int d = SIZE / 2; d; d /= 2)
        v += tile.shfl_xor(v, d);
    return v * 1000 + tile.meta_group_rank() * 10 + tile.any(tile.thread_rank() == SIZE - 1);
}

__global__ void run(int *out)
{
    cg::thread_block block = cg::this_thread_block();
    const int t = block.thread_rank(), n = block.size();
    out[t] = tile_sum<4>(block, t);
    out[n + t] = tile_sum<8>(block, t);
    out[2 * n + t] = tile_sum<32>(block, t);
    auto warp = cg::tiled_partition<32>(block);
    out[3 * n + t] = cg::reduce(warp, t, cg::plus<int>());
    out[4 * n + t] = cg::reduce(warp, t * 7 % 32, cg::less<int>()) + 100 * cg::reduce(warp, t % 50, cg::greater<int>());
    out[5 * n + t] = cg::inclusive_scan(warp, t, cg::plus<int>());
    out[6 * n + t] = (int)cg::reduce(warp, 1u << t % 32, cg::bit_or<unsigned>());
    int mine = -1;
    if (t % 3 == 0) { // whichever of these threads are together, each takes a slot of its own
        cg::coalesced_group active = cg::coalesced_threads();
        int first = 0;
        if (active.thread_rank() == 0)
            first = atomicAdd(&out[8 * n], (int)active.size());
        mine = active.shfl(first, 0) + active.thread_rank();
    }
    out[7 * n + t] = mine;
    block.sync();
    auto label = cg::labeled_partition(warp, t % 5);
    out[8 * n + 1 + t] = cg::reduce(label, t, cg::plus<int>()) + 100000 * (int)label.size();
}

int main(void)
{
    const int n = 96, size = 9 * n + 1;
    int out[size], *dout;
    OK(cudaMalloc(&dout, sizeof(out)));
    OK(cudaMemset(dout, 0, sizeof(out)));
    run<<<1, n>>>(dout);
    OK_LAUNCH();
    app_to_host(out, dout, size);
    bool taken[n] = {};
    for (int t = 0; t < n; t++) {
        const int sizes[3] = {4, 8, 32}, w = t / 32 * 32;
        for (int k = 0; k < 3; k++) {
            int first = t / sizes[k] * sizes[k], sum = 0;
            for (int i = 0; i < sizes[k]; i++)
                sum += first + i;
            EXPECT(out[k * n + t] == sum * 1000 + t / sizes[k] * 10 + 1, "tile of %d, thread %d: %d", sizes[k], t, out[k * n + t]);
        }
        int sum = 0, low = 1000, high = 0, prefix = 0, labelled = 0, members = 0;
        for (int i = w; i < w + 32; i++) {
            sum += i;
            low = i * 7 % 32 < low ? i * 7 % 32 : low;
            high = i % 50 > high ? i % 50 : high;
            prefix += i <= t ? i : 0;
            labelled += i % 5 == t % 5 ? i : 0;
            members += i % 5 == t % 5;
        }
        EXPECT(out[3 * n + t] == sum, "sum, thread %d: %d, not %d", t, out[3 * n + t], sum);
        EXPECT(out[4 * n + t] == low + 100 * high, "least and greatest, thread %d: %d", t, out[4 * n + t]);
        EXPECT(out[5 * n + t] == prefix, "scan, thread %d: %d, not %d", t, out[5 * n + t], prefix);
        EXPECT(out[6 * n + t] == -1, "or, thread %d: %x", t, out[6 * n + t]);
        int slot = out[7 * n + t];
        if (t % 3)
            EXPECT(slot == -1, "thread %d has slot %d", t, slot);
        else
            EXPECT(slot >= 0 && slot < n / 3 && !taken[slot], "thread %d has slot %d", t, slot);
        if (slot >= 0 && slot < n)
            taken[slot] = true;
        EXPECT(out[8 * n + 1 + t] == labelled + 100000 * members, "label, thread %d: %d", t, out[8 * n + 1 + t]);
    }
    EXPECT(out[8 * n] == n / 3, "%d slots", out[8 * n]);
    return app_verdict();
}
