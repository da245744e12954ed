// vecadd [LAUNCHES]: 1 Mi floats, so that the engine is measured and not the memory, 160 launches. The data is made on the device and compared in parts, so that the process holds little else.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void vecadd(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

__global__ void fill(float *a, float *b, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        a[i] = (float)(i & 1023);
        b[i] = (float)(i >> 10 & 255) * 0.5f;
    }
}

int main(int argc, char **argv)
{
    const int n = 1 << 20, part = 1 << 16;
    static float c[part];
    float *da, *db, *dc;
    int wrong = 0, launches = argc > 1 ? atoi(argv[1]) : 160;
    cudaMalloc(&da, n * sizeof(float));
    cudaMalloc(&db, n * sizeof(float));
    cudaMalloc(&dc, n * sizeof(float));
    fill<<<1024, 256>>>(da, db, n);
    for (int i = 0; i < launches; i++)
        vecadd<<<(n + 255) / 256, 256>>>(da, db, dc, n);
    for (int at = 0; at < n; at += part) {
        wrong += cudaMemcpy(c, dc + at, sizeof(c), cudaMemcpyDeviceToHost) != cudaSuccess;
        for (int i = at; i < at + part; i++)
            wrong += c[i - at] != (float)(i & 1023) + (float)(i >> 10 & 255) * 0.5f;
    }
    printf("vecadd %d: %s\n", n, wrong ? "wrong" : "right");
    return wrong != 0;
}
