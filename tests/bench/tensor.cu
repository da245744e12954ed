// Tensor instructions, one block of one warp on one host thread: nanoseconds per warp instruction of mma.sync m16n8k16 (f16, f32 accumulators), alone among
// other instructions, 16 in a row, and in the order of a tile of 64 x 64; of ldmatrix.x4 and of the plain 16-byte load that moves as many bytes. Processor time, so that neighbours do not count; an empty loop is taken off.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <cuda_runtime.h>

enum { ROUNDS = 20000, UNROLL = 16 };
enum kind { EMPTY, MMA, ALONE, BETWEEN, TILE, LDMATRIX, LOAD };

#define PRODUCT(c, a, b)                                                                                                             \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"   \
                 : "+f"((c)[0]), "+f"((c)[1]), "+f"((c)[2]), "+f"((c)[3])                                                              \
                 : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"((b)[0]), "r"((b)[1]))

template <int what> __global__ void loop(float *out, int rounds)
{
    __shared__ __align__(16) uint4 tile[32];
    uint32_t a[4] = { 0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00 }, b[2] = { threadIdx.x, 0 }, x[4] = { 0 };
    float c[4] = { 0 };
    tile[threadIdx.x] = make_uint4(1, 2, 3, 4);
    uint32_t at = (uint32_t)__cvta_generic_to_shared(&tile[threadIdx.x]);
    for (int r = 0; r < rounds; r++) {
#pragma unroll
        for (int i = 0; i < UNROLL; i++) {
            if (what == MMA || what == ALONE) PRODUCT(c, a, b);
            if (what == ALONE || what == BETWEEN) asm volatile("membar.cta;");
            if (what == LDMATRIX)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at));
            if (what == LOAD)
                asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at));
        }
    }
    out[threadIdx.x] = c[0] + c[1] + c[2] + c[3] + (float)(x[0] + x[1] + x[2] + x[3]);
}

// Four A, eight B, 32 products.
__global__ void tile(float *out, int rounds)
{
    uint32_t a[4][4], b[8][2];
    float c[4][8][4] = { 0 };
    for (int i = 0; i < 16; i++) a[i / 4][i % 4] = 0x3c003c00 + i, b[i / 2][i % 2] = 0x2c002c00 + i + threadIdx.x;
    for (int r = 0; r < rounds; r++) {
#pragma unroll
        for (int m = 0; m < 4; m++)
#pragma unroll
            for (int n = 0; n < 8; n++) PRODUCT(c[m][n], a[m], b[n]);
    }
    float sum = 0;
    for (int i = 0; i < 128; i++) sum += c[i / 32][i / 4 % 8][i % 4];
    out[threadIdx.x] = sum;
}

static double now()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

template <int what> static double measure(float *out)
{
    double best = 1e30;
    for (int i = 0; i < 5; i++) {
        double start = now();
        if (what == TILE) tile<<<1, 32>>>(out, ROUNDS * UNROLL / 32);
        else loop<what><<<1, 32>>>(out, ROUNDS);
        cudaDeviceSynchronize();
        double took = now() - start;
        best = took < best ? took : best;
    }
    return best / ((double)ROUNDS * UNROLL);
}

int main()
{
    float *out;
    cudaMalloc(&out, 128);
    double empty = measure<EMPTY>(out), mma = measure<MMA>(out) - empty, alone = measure<ALONE>(out) - measure<BETWEEN>(out), tiled = measure<TILE>(out);
    double matrix = measure<LDMATRIX>(out) - empty, load = measure<LOAD>(out) - empty;
    printf("mma.m16n8k16   %6.1f ns in a row, %.1f in a tile, %.1f alone\nldmatrix.x4    %6.1f ns\nld.shared.v4   %6.1f ns\nldmatrix/ld    %6.2f\n", mma, tiled, alone,
           matrix, load, matrix / load);
    return cudaGetLastError() != cudaSuccess;
}
