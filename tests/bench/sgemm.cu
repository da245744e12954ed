// sgemm [LAUNCHES [N]]: N x N x N (512) in float with 16 x 16 tiles in shared memory, 20 launches; spot checks against the CPU.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define TILE 16
#define MOST 512

__global__ void sgemm(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n; t += TILE) {
        as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + col];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++)
            sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

int main(int argc, char **argv)
{
    static float a[MOST * MOST], b[MOST * MOST], c[MOST * MOST];
    float *da, *db, *dc;
    int launches = argc > 1 ? atoi(argv[1]) : 20, n = argc > 2 ? atoi(argv[2]) : MOST;
    if (n > MOST || n % TILE) {
        fprintf(stderr, "sgemm: N must be a multiple of %d, at most %d\n", TILE, MOST);
        return 2;
    }
    for (int i = 0; i < n * n; i++) {
        a[i] = (float)(i % 7) - 3;
        b[i] = (float)(i % 5) - 2;
    }
    cudaMalloc(&da, sizeof(a));
    cudaMalloc(&db, sizeof(b));
    cudaMalloc(&dc, sizeof(c));
    cudaMemcpy(da, a, sizeof(a), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b, sizeof(b), cudaMemcpyHostToDevice);
    for (int i = 0; i < launches; i++)
        sgemm<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(da, db, dc, n);
    cudaError_t err = cudaMemcpy(c, dc, sizeof(c), cudaMemcpyDeviceToHost);
    int wrong = err != cudaSuccess;
    for (int i = 0; i < n; i++) { // one element of each row
        int j = i * 37 % n;
        float want = 0;
        for (int k = 0; k < n; k++)
            want += a[i * n + k] * b[k * n + j];
        wrong += c[i * n + j] != want;
    }
    printf("sgemm %d: %s\n", n, wrong ? "wrong" : "right");
    return wrong != 0;
}
