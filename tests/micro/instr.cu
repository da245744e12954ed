// Latency of dependent instructions and throughput of independent ones, by kind.
#include "micro.h"
#include <cuda_fp16.h>
#include <mma.h>

enum { CHAIN = 256, THREADS = 1024 };

// One kernel for each kind: a chain in one warp measures latency, many warps with four chains each measure throughput.
#define KIND(name, type, constraint, start, text)                                                                              \
    __global__ void name##_kernel(int rounds, long long *out, type *never)                                                     \
    {                                                                                                                          \
        type x = start, y = start, z = start, w = start, c = start;                                                            \
        __shared__ long long first, last;                                                                                      \
        if (threadIdx.x == 0) { first = 1ll << 62; last = 0; }                                                                 \
        __syncthreads();                                                                                                       \
        long long begin = 0;                                                                                                   \
        _Pragma("unroll 1") for (int pass = 0; pass < 2; pass++) {             /* the first brings the code into the caches */ \
        __syncthreads();                                                                                                       \
        begin = now();                                                                                                         \
        if (rounds == 0) {                                                                                                     \
            _Pragma("unroll") for (int i = 0; i < CHAIN; i++) asm volatile(text : "+" constraint(x) : constraint(c));          \
        } else {                                                                                                               \
            for (int r = 0; r < rounds; r++)                                                                                   \
                _Pragma("unroll") for (int i = 0; i < 16; i++)                                                                 \
                {                                                                                                              \
                    asm volatile(text : "+" constraint(x) : constraint(c));                                                    \
                    asm volatile(text : "+" constraint(y) : constraint(c));                                                    \
                    asm volatile(text : "+" constraint(z) : constraint(c));                                                    \
                    asm volatile(text : "+" constraint(w) : constraint(c));                                                    \
                }                                                                                                              \
        }                                                                                                                      \
        }                                                                                                                      \
        asm volatile("" : "+" constraint(x), "+" constraint(y), "+" constraint(z), "+" constraint(w));                         \
        long long end = now();                                                                                                 \
        if (threadIdx.x == 1000000)                                                                                            \
            *never = x;                                                                                                        \
        span(&first, &last, begin, end);                                                       \
        __syncthreads();                                                                                                       \
        if (threadIdx.x == 0)                                                                                                  \
            *out = last - first;                                                                                               \
    }                                                                                                                          \
    static void name(const char *what, int ops, const char *unit, int rounds, long long *out, void *never)                     \
    {                                                                                                                          \
        name##_kernel<<<1, 32>>>(0, out, (type *)never);                                                                       \
        report(cycles_at(out) / CHAIN, "cycles", "instr", "%s dependent latency", what);                                       \
        name##_kernel<<<1, THREADS>>>(rounds, out, (type *)never);                                                             \
        report((double)THREADS * rounds * 64 * ops / cycles_at(out), unit, "instr", "%s throughput", what);                    \
    }

KIND(ffma, float, "f", 1.0f, "fma.rn.f32 %0, %0, %1, %1;")
KIND(fadd, float, "f", 1.0f, "add.rn.f32 %0, %0, %1;")
KIND(dfma, double, "d", 1.0, "fma.rn.f64 %0, %0, %1, %1;")
KIND(imad, int, "r", 3, "mad.lo.s32 %0, %0, %1, %1;")
KIND(iadd, int, "r", 3, "add.s32 %0, %0, %1;")
KIND(hfma2, unsigned, "r", 0x3c003c00u, "fma.rn.f16x2 %0, %0, %1, %1;")
KIND(ex2, float, "f", 0.5f, "ex2.approx.ftz.f32 %0, %0; // %1")
KIND(rsqrt, float, "f", 2.0f, "rsqrt.approx.ftz.f32 %0, %0; // %1")
KIND(shfl, int, "r", 3, "shfl.sync.bfly.b32 %0, %0, 1, 31, -1; // %1")

// wmma: a chain of 16x16x16 multiplications of halves into floats.
__global__ void wmma_kernel(int n, long long *out, float *never)
{
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, half, row_major> a;
    fragment<matrix_b, 16, 16, 16, half, col_major> b;
    fragment<accumulator, 16, 16, 16, float> c, d;
    fill_fragment(a, __float2half(0.5f));
    fill_fragment(b, __float2half(0.5f));
    fill_fragment(c, 0.0f);
    fill_fragment(d, 0.0f);
    __shared__ long long first, last;
    if (threadIdx.x == 0) { first = 1ll << 62; last = 0; }
    __syncthreads();
    long long begin = now();
    for (int i = 0; i < n; i++) {
        mma_sync(c, a, b, c);
        if (blockDim.x > 32)
            mma_sync(d, a, b, d);
    }
    if (c.x[0] == -1.0f || d.x[0] == -1.0f)
        *never = 1;
    long long end = now();
    span(&first, &last, begin, end);
    __syncthreads();
    if (threadIdx.x == 0)
        *out = last - first;
}

int main(void)
{
    long long *out;
    void *never;
    CHECK(cudaMalloc(&out, sizeof *out));
    CHECK(cudaMalloc(&never, 16));
    ffma("FP32 FMA", 2, "flop/clk/SM", 4, out, never);
    fadd("FP32 add", 1, "op/clk/SM", 4, out, never);
    imad("INT32 IMAD", 2, "op/clk/SM", 4, out, never);
    iadd("INT32 add", 1, "op/clk/SM", 4, out, never);
    dfma("FP64 FMA", 2, "flop/clk/SM", 2, out, never);
    hfma2("FP16 HFMA2", 4, "flop/clk/SM", 4, out, never);
    ex2("SFU ex2", 1, "op/clk/SM", 2, out, never);
    rsqrt("SFU rsqrt", 1, "op/clk/SM", 2, out, never);
    shfl("shuffle", 1, "op/clk/SM", 2, out, never);
    wmma_kernel<<<1, 32>>>(64, out, (float *)never);
    report(cycles_at(out) / 64, "cycles", "instr", "wmma 16x16x16 latency");
    wmma_kernel<<<1, 512>>>(32, out, (float *)never);
    report(16.0 * 64 * 4096 / cycles_at(out), "FMA/clk/SM", "instr", "tensor throughput");
    return 0;
}
