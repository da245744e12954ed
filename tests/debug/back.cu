// For going back on the simulated GPU: what a replay has to do again. back.ptx is what `nvcc -ptx -lineinfo -arch=sm_75` makes of it.
#include <cstdio>

__device__ int total;

__global__ void stir(int *data, int n)
{
    __shared__ int part[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (int round = 0; round < 12; round++) {
        part[threadIdx.x] = data[(i * 37 + round) % n];
        __syncthreads();
        if (threadIdx.x % 8 == 0)
            atomicAdd(&total, part[threadIdx.x ^ 8] & 7);
        data[i % n] += part[63 - threadIdx.x];
        __syncthreads();
    }
}

__global__ void keep(int *data, int n)
{
    int *mine = (int *)malloc(64);
    mine[3] = data[threadIdx.x];
#pragma unroll 1
    for (int k = 0; k < 5; k++)
        mine[3] = mine[3] * 3 + k;
    if (threadIdx.x == 40)
        printf("kept %d\n", mine[3]);
    data[threadIdx.x] = mine[3];
    free(mine);
}
