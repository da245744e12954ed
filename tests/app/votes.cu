// votes: ballot, any, all, activemask, match_any, match_all and syncwarp, with full and partial masks, in divergent branches and
// in warps that are not full.
#include "app.h"

#define FULL 0xffffffffu
#define ROWS 14

__global__ void vote(unsigned *out)
{
    int l = threadIdx.x & 31, w = threadIdx.x >> 5, r = 0;
    unsigned *o = out + w * ROWS * 32 + l;
#define ROW(v) o[32 * r++] = (unsigned)(v)
    ROW(__ballot_sync(FULL, l % 3 == w % 3));
    ROW(__any_sync(FULL, l == 40));
    ROW(__any_sync(FULL, l == 31));
    ROW(__all_sync(FULL, l < 32));
    ROW(__all_sync(FULL, l != 7));
    ROW(__activemask());
    ROW(__match_any_sync(FULL, l / 5));
    ROW(__match_any_sync(FULL, (unsigned long long)(l % 4) << 40));
    int same;
    unsigned m = __match_all_sync(FULL, w * 3, &same);
    ROW(m + same);
    m = __match_all_sync(FULL, l == 9 ? 1.5 : 2.5, &same);
    ROW(m * 2 + same);
    // Each branch votes among its own lanes.
    if (l % 2)
        ROW(__ballot_sync(0xaaaaaaaau, l > 10));
    else
        ROW(__ballot_sync(0x55555555u, l < 10));
    unsigned self = 1u << l, active = 0;
    if (l >= 8 && l < 20) {
        active = __activemask();
        active = (active & self) && !(active & ~0x000fff00u) ? 1 : 2; // itself, and nobody from outside the branch
    }
    ROW(active);
    // Data handed over inside the warp with __syncwarp.
    __shared__ int box[64];
    box[threadIdx.x] = l * 3;
    __syncwarp();
    int v = box[(threadIdx.x & 32) + (l + 1) % 32];
    __syncwarp(FULL);
    box[threadIdx.x] = v;
    __syncwarp();
    ROW(box[(threadIdx.x & 32) + 31 - l]);
    ROW(__ballot_sync(FULL, __popc(__ballot_sync(FULL, l & 1)) == 16 && l < 4));
#undef ROW
}

static unsigned want(int row, int l, int w)
{
    unsigned m = 0;
    switch (row) {
    case 0:
        for (int k = 0; k < 32; k++)
            m |= (unsigned)(k % 3 == w % 3) << k;
        return m;
    case 1: return 0;
    case 2: case 3: return 1;
    case 4: return 0;
    case 5: return FULL;
    case 6:
        for (int k = 0; k < 32; k++)
            m |= (unsigned)(k / 5 == l / 5) << k;
        return m;
    case 7: return 0x11111111u << l % 4;
    case 8: return FULL + 1;
    case 9: return 0;
    case 10: return l % 2 ? 0xaaaaaaaau & ~0x7ffu : 0x55555555u & 0x3ffu;
    case 11: return l >= 8 && l < 20;
    case 12: return (31 - l + 1) % 32 * 3;
    default: return 0xf;
    }
}

// A warp of 20 threads, of which those above `keep` leave first.
__global__ void partial(unsigned *out, int keep)
{
    int l = threadIdx.x;
    if (l >= keep)
        return;
    unsigned mask = (1u << keep) - 1;
    out[l] = __ballot_sync(mask, l % 2 == 0);
    out[32 + l] = __all_sync(mask, l < keep);
    out[64 + l] = __shfl_down_sync(mask, l * 2, 1);
}

int main(void)
{
    unsigned out[2 * ROWS * 32], *dout;
    OK(cudaMalloc(&dout, sizeof(out)));
    vote<<<1, 64>>>(dout);
    OK_LAUNCH();
    app_to_host(out, dout, 2 * ROWS * 32);
    for (int w = 0; w < 2; w++)
        for (int r = 0; r < ROWS; r++)
            for (int l = 0; l < 32; l++) {
                unsigned got = out[(w * ROWS + r) * 32 + l];
                EXPECT(got == want(r, l, w), "row %d, warp %d, lane %d: %x, not %x", r, w, l, got, want(r, l, w));
            }
    for (int keep : {20, 13}) {
        partial<<<1, 20>>>(dout, keep);
        OK_LAUNCH();
        app_to_host(out, dout, 96);
        for (int l = 0; l < keep; l++) {
            EXPECT(out[l] == (0x55555555u & ((1u << keep) - 1)), "%d lanes, ballot: %x", keep, out[l]);
            EXPECT(out[32 + l] == 1, "%d lanes, all: %u", keep, out[32 + l]);
            EXPECT(l == keep - 1 || out[64 + l] == (unsigned)(l + 1) * 2, "%d lanes, shuffle: %u", keep, out[64 + l]);
        }
    }
    return app_verdict();
}
