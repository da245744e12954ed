// D = A * B in f16 with f32 sums, the way CUTLASS writes it for sm_80: tiles come by cp.async into a ring of three stages of swizzled shared memory, ldmatrix
// (transposing for B) takes fragments out, mma.sync m16n8k16 multiplies. Quarters of small integers: the CPU's sums are exact.
#include <cstdint>
#include <cuda_fp16.h>

#include "app.h"

enum { M = 192, N = 256, K = 160, BM = 64, BN = 64, BK = 32, STAGES = 3, WARPS = 4 };

// A tile has rows of BK (A) or BN (B) halves; its pieces of 16 bytes are xored with the row, so that neither copies nor ldmatrix conflict.
__device__ uint32_t place(uint32_t base, int row, int piece, int pieces)
{
    int x = pieces == 4 ? piece ^ (row >> 1 & 3) : piece ^ (row & 7);
    return base + (uint32_t)(row * pieces + x) * 16;
}

__device__ void copy16(uint32_t to, const void *from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from)); }

__device__ void load_stage(uint32_t sa, uint32_t sb, const half *a, const half *b, int block_m, int block_n, int k)
{
    for (int i = threadIdx.x; i < BM * BK / 8; i += WARPS * 32) copy16(place(sa, i / 4, i % 4, 4), a + (block_m + i / 4) * K + k + i % 4 * 8);
    for (int i = threadIdx.x; i < BK * BN / 8; i += WARPS * 32) copy16(place(sb, i / 8, i % 8, 8), b + (k + i / 8) * N + block_n + i % 8 * 8);
}

__global__ void __launch_bounds__(WARPS * 32) gemm(const half *a, const half *b, float *d)
{
    extern __shared__ __align__(128) char shared[];
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(shared), a_bytes = BM * BK * 2, stage = a_bytes + BK * BN * 2;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warp_m = warp / 2 * 32, warp_n = warp % 2 * 32;
    const int block_m = blockIdx.y * BM, block_n = blockIdx.x * BN, rounds = K / BK;
    float sum[2][4][4] = {};
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < rounds) load_stage(base + s * stage, base + s * stage + a_bytes, a, b, block_m, block_n, s * BK);
        asm volatile("cp.async.commit_group;");
    }
    for (int r = 0; r < rounds; r++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();
        const uint32_t sa = base + r % STAGES * stage, sb = sa + a_bytes;
        int ahead = r + STAGES - 1;
        if (ahead < rounds) {
            const uint32_t to = base + ahead % STAGES * stage;
            load_stage(to, to + a_bytes, a, b, block_m, block_n, ahead * BK);
        }
        asm volatile("cp.async.commit_group;");
        for (int k = 0; k < BK; k += 16) {
            uint32_t fa[2][4], fb[4][2];
            for (int i = 0; i < 2; i++) {
                uint32_t at = place(sa, warp_m + i * 16 + lane % 16, k / 8 + lane / 16, 4);
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(fa[i][0]), "=r"(fa[i][1]), "=r"(fa[i][2]), "=r"(fa[i][3]) : "r"(at));
            }
            for (int j = 0; j < 4; j += 2) {
                uint32_t at = place(sb, k + lane % 16, (warp_n + j * 8) / 8 + lane / 16, 8);
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(fb[j][0]), "=r"(fb[j][1]), "=r"(fb[j + 1][0]), "=r"(fb[j + 1][1]) : "r"(at));
            }
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                                 : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]), "+f"(sum[i][j][3])
                                 : "r"(fa[i][0]), "r"(fa[i][1]), "r"(fa[i][2]), "r"(fa[i][3]), "r"(fb[j][0]), "r"(fb[j][1]));
        }
    }
    asm volatile("cp.async.wait_all;");
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int h = 0; h < 2; h++) {
                int row = block_m + warp_m + i * 16 + h * 8 + lane / 4, col = block_n + warp_n + j * 8 + lane % 4 * 2;
                *(float2 *)&d[row * N + col] = make_float2(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
            }
}

static half a[M * K], b[K * N];
static float d[M * N];

int main(void)
{
    half *da, *db;
    float *dd;
    unsigned seed = 7;
    for (int i = 0; i < M * K; i++) a[i] = __float2half((float)((int)((seed = seed * 1664525 + 1013904223) >> 20) % 17 - 8) / 4);
    for (int i = 0; i < K * N; i++) b[i] = __float2half((float)((int)((seed = seed * 1664525 + 1013904223) >> 20) % 17 - 8) / 4);
    OK(cudaMalloc(&da, sizeof a));
    OK(cudaMalloc(&db, sizeof b));
    OK(cudaMalloc(&dd, sizeof d));
    OK(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice));
    int bytes = STAGES * (BM * BK + BK * BN) * 2;
    OK(cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    gemm<<<dim3(N / BN, M / BM), WARPS * 32, bytes>>>(da, db, dd);
    OK_LAUNCH();
    OK(cudaMemcpy(d, dd, sizeof d, cudaMemcpyDeviceToHost));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float want = 0;
            for (int k = 0; k < K; k++) want += __half2float(a[i * K + k]) * __half2float(b[k * N + j]);
            EXPECT(d[i * N + j] == want, "(%d, %d) is %g, not %g", i, j, d[i * N + j], want);
        }
    return app_verdict();
}
