// What a copy to shared memory costs beside a plain 16-byte load: 16 of either in a loop, by 8 warps of one block. Prints nanoseconds a warp instruction.
#include <chrono>
#include <cstdio>
#include <cuda_runtime.h>

enum { ROUNDS = 4000, EACH = 16, THREADS = 256 };

__global__ void loads(const int4 *in, int *out)
{
    int sum = 0;
    for (int r = 0; r < ROUNDS; r++)
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            int4 v;
            asm volatile("ld.global.v4.s32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(in + threadIdx.x + k * THREADS));
            sum = v.x;
        }
    out[threadIdx.x] = sum;
}

__global__ void copies(const int4 *in, int *out)
{
    __shared__ int4 tile[2 * THREADS];
    unsigned s = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
    for (int r = 0; r < ROUNDS; r++) {
#pragma unroll
        for (int k = 0; k < EACH; k++)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(s + (k & 1) * THREADS * 16), "l"(in + threadIdx.x + k * THREADS) : "memory");
        asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
    }
    out[threadIdx.x] = tile[threadIdx.x].x;
}

static double nanoseconds(void (*kernel)(const int4 *, int *), const int4 *in, int *out)
{
    double best = 1e30;
    for (int i = 0; i < 5; i++) {
        auto from = std::chrono::steady_clock::now();
        kernel<<<1, THREADS>>>(in, out);
        cudaDeviceSynchronize();
        double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - from).count() / ((double)ROUNDS * EACH * (THREADS / 32));
        best = ns < best ? ns : best;
    }
    return best;
}

int main(void)
{
    int4 *in;
    int *out;
    cudaMalloc(&in, EACH * THREADS * sizeof *in);
    cudaMemset(in, 1, EACH * THREADS * sizeof *in);
    cudaMalloc(&out, THREADS * sizeof *out);
    double load = nanoseconds(loads, in, out), copy = nanoseconds(copies, in, out);
    printf("ld.global.v4 %.1f ns, cp.async 16 bytes %.1f ns a warp instruction: %.2f times\n", load, copy, copy / load);
    return cudaGetLastError() != cudaSuccess;
}
