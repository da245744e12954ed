// sgemm: 512 x 512 x 512 in float with 16 x 16 tiles in shared memory, 20 launches; spot checks against the CPU.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define TILE 16
#define N 512

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
    static float a[N * N], b[N * N], c[N * N];
    float *da, *db, *dc;
    int launches = argc > 1 ? atoi(argv[1]) : 20;
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(i % 7) - 3;
        b[i] = (float)(i % 5) - 2;
    }
    cudaMalloc(&da, sizeof(a));
    cudaMalloc(&db, sizeof(b));
    cudaMalloc(&dc, sizeof(c));
    cudaMemcpy(da, a, sizeof(a), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b, sizeof(b), cudaMemcpyHostToDevice);
    for (int i = 0; i < launches; i++)
        sgemm<<<dim3(N / TILE, N / TILE), dim3(TILE, TILE)>>>(da, db, dc, N);
    cudaError_t err = cudaMemcpy(c, dc, sizeof(c), cudaMemcpyDeviceToHost);
    int wrong = err != cudaSuccess;
    for (int i = 0; i < N; i++) { // one element of each row
        int j = i * 37 % N;
        float want = 0;
        for (int k = 0; k < N; k++)
            want += a[i * N + k] * b[k * N + j];
        wrong += c[i * N + j] != want;
    }
    printf("sgemm %d: %s\n", N, wrong ? "wrong" : "right");
    return wrong != 0;
}
