// D = A * B^T in f16 with f32 sums, the way kernels for sm_90a are written: a producer warp fetches tiles with TMA (tensor maps, 128-byte swizzle) into a ring of
// shared memory, mbarriers count the bytes and hand stages back, and a warpgroup multiplies them with wgmma m64n64k16 by descriptor. Quarters of small
// integers: the CPU's sums are exact.
#include <cstdint>
#include <cuda.h>
#include <cuda_fp16.h>

#include "app.h"

enum { M = 192, N = 128, K = 320, BM = 64, BN = 64, BK = 64, STAGES = 3 };
struct stage { half a[BM * BK], b[BN * BK]; };
struct shared { stage stages[STAGES]; uint64_t full[STAGES], empty[STAGES]; };

__device__ uint32_t address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ void barrier_init(uint64_t *b, int count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(b)), "r"(count)); }

__device__ void barrier_wait(uint64_t *b, int parity)
{
    asm volatile("{\n.reg .pred p;\nWAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE;\nbra WAIT;\nDONE:\n}" ::"r"(address(b)), "r"(parity) : "memory");
}

__device__ void tile_fetch(void *to, const CUtensorMap *map, int x, int y, uint64_t *b)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(address(to)), "l"(map),
                 "r"(x), "r"(y), "r"(address(b)) : "memory");
}

// Rows of 128 bytes, eight of them a block of the swizzle: stride 1024 bytes, swizzle mode 1.
__device__ uint64_t descriptor(const half *p) { return (uint64_t)(address(p) >> 4) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62; }

#define FOUR(c, i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3])
__device__ void multiply(float c[32], uint64_t a, uint64_t b, int accumulate)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
                 "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0;\n}"
                 : FOUR(c, 0), FOUR(c, 4), FOUR(c, 8), FOUR(c, 12), FOUR(c, 16), FOUR(c, 20), FOUR(c, 24), FOUR(c, 28)
                 : "l"(a), "l"(b), "r"(accumulate));
}

__device__ void consume(shared *s, float *d, int block_m, int block_n)
{
    float c[32];
    for (int i = 0; i < 32; i++) c[i] = 0;
    for (int r = 0; r < K / BK; r++) {
        int at = r % STAGES;
        barrier_wait(&s->full[at], r / STAGES & 1);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        uint64_t a = descriptor(s->stages[at].a), b = descriptor(s->stages[at].b);
        for (int k = 0; k < BK / 16; k++) multiply(c, a + 2 * k, b + 2 * k, r + k);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(&s->empty[at])) : "memory");
    }
    int lane = threadIdx.x % 32, row = block_m + threadIdx.x / 32 * 16 + lane / 4;
    for (int j = 0; j < BN / 8; j++)
        for (int h = 0; h < 2; h++)
            *(float2 *)&d[(row + 8 * h) * N + block_n + 8 * j + lane % 4 * 2] = make_float2(c[4 * j + 2 * h], c[4 * j + 2 * h + 1]);
}

__device__ void produce(shared *s, const CUtensorMap *a, const CUtensorMap *b, int block_m, int block_n)
{
    for (int r = 0; r < K / BK; r++) {
        int at = r % STAGES;
        barrier_wait(&s->empty[at], (r / STAGES & 1) ^ 1);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&s->full[at])), "r"((int)sizeof(stage)) : "memory");
        tile_fetch(s->stages[at].a, a, r * BK, block_m, &s->full[at]);
        tile_fetch(s->stages[at].b, b, r * BK, block_n, &s->full[at]);
    }
}

__global__ void __launch_bounds__(160) gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float *d)
{
    extern __shared__ __align__(1024) unsigned char room[];
    shared *s = (shared *)room;
    int block_m = blockIdx.y * BM, block_n = blockIdx.x * BN;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(&s->full[i], 1);
            barrier_init(&s->empty[i], 128);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x < 128) consume(s, d, block_m, block_n);
    else if (threadIdx.x == 128) produce(s, &a, &b, block_m, block_n);
}

typedef CUresult (*encode_fn)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *, const cuuint32_t *, const cuuint32_t *,
                              CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// A matrix of `rows` rows of K halves, fetched in boxes of BK x 64.
static CUtensorMap map_of(encode_fn encode, half *p, int rows, int box_rows)
{
    CUtensorMap map;
    cuuint64_t size[2] = { K, (cuuint64_t)rows }, stride[1] = { K * sizeof(half) };
    cuuint32_t box[2] = { BK, (cuuint32_t)box_rows }, step[2] = { 1, 1 };
    CUresult r = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, p, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    EXPECT(r == CUDA_SUCCESS, "cuTensorMapEncodeTiled gave %d", (int)r);
    return map;
}

static half a[M * K], b[N * K];
static float d[M * N];

int main(void)
{
    half *da, *db;
    float *dd;
    void *encode = NULL;
    cudaDriverEntryPointQueryResult found;
    unsigned seed = 5;
    for (int i = 0; i < M * K; i++) a[i] = __float2half((float)((int)((seed = seed * 1664525 + 1013904223) >> 20) % 17 - 8) / 4);
    for (int i = 0; i < N * K; i++) b[i] = __float2half((float)((int)((seed = seed * 1664525 + 1013904223) >> 20) % 17 - 8) / 4);
    OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found));
    OK(cudaMalloc(&da, sizeof a));
    OK(cudaMalloc(&db, sizeof b));
    OK(cudaMalloc(&dd, sizeof d));
    OK(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice));
    CUtensorMap map_a = map_of((encode_fn)encode, da, M, BM), map_b = map_of((encode_fn)encode, db, N, BN);
    OK(cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sizeof(shared)));
    gemm<<<dim3(N / BN, M / BM), 160, sizeof(shared)>>>(map_a, map_b, dd);
    OK_LAUNCH();
    OK(cudaMemcpy(d, dd, sizeof d, cudaMemcpyDeviceToHost));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float want = 0;
            for (int k = 0; k < K; k++) want += __half2float(a[i * K + k]) * __half2float(b[j * K + k]);
            EXPECT(d[i * N + j] == want, "(%d, %d) is %g, not %g", i, j, d[i * N + j], want);
        }
    return app_verdict();
}
