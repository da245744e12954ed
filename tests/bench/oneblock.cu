// oneblock [ROUNDS]: one block of 256 threads, 2000 rounds of arithmetic and a load each: what a GPU of many idle SMs costs to simulate.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void oneblock(const int *table, int *out, int rounds)
{
    int x = threadIdx.x;
    for (int i = 0; i < rounds; i++)
        x = (x * 5 + table[(x + i) & 1023]) & 0xffff;
    out[threadIdx.x] = x;
}

int main(int argc, char **argv)
{
    int table[1024], out[256], *dtable, *dout, rounds = argc > 1 ? atoi(argv[1]) : 2000;
    for (int i = 0; i < 1024; i++)
        table[i] = i * 7;
    cudaMalloc(&dtable, sizeof(table));
    cudaMalloc(&dout, sizeof(out));
    cudaMemcpy(dtable, table, sizeof(table), cudaMemcpyHostToDevice);
    oneblock<<<1, 256>>>(dtable, dout, rounds);
    int wrong = cudaMemcpy(out, dout, sizeof(out), cudaMemcpyDeviceToHost) != cudaSuccess;
    for (int t = 0; t < 256; t++) {
        int x = t;
        for (int i = 0; i < rounds; i++)
            x = (x * 5 + table[(x + i) & 1023]) & 0xffff;
        wrong += out[t] != x;
    }
    printf("oneblock %d: %s\n", rounds, wrong ? "wrong" : "right");
    return wrong != 0;
}
