// gather [LAUNCHES]: 256 Ki threads each sum four floats from anywhere in 4 Mi, 40 launches: what a memory system likes least. The sums are compared with the CPU's.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define TABLE (1 << 22)
#define READS 4

__host__ __device__ unsigned place(unsigned x) // a mixing of 32 bits: neighbours land apart
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return x % TABLE;
}

__host__ __device__ float value(unsigned i) { return (float)(i & 1023); }

__global__ void fill(float *table)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < TABLE; i += gridDim.x * blockDim.x)
        table[i] = value(i);
}

__global__ void gather(const float *table, float *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (unsigned k = 0; k < READS; k++)
        sum += table[place(i * READS + k)];
    out[i] = sum;
}

int main(int argc, char **argv)
{
    const unsigned n = 1 << 18;
    static float out[n];
    float *table, *dout;
    int launches = argc > 1 ? atoi(argv[1]) : 40;
    cudaMalloc(&table, TABLE * sizeof(float));
    cudaMalloc(&dout, n * sizeof(float));
    fill<<<1024, 256>>>(table);
    for (int i = 0; i < launches; i++)
        gather<<<n / 256, 256>>>(table, dout);
    int wrong = cudaMemcpy(out, dout, sizeof(out), cudaMemcpyDeviceToHost) != cudaSuccess;
    for (unsigned i = 0; i < n; i++) {
        float sum = 0;
        for (unsigned k = 0; k < READS; k++)
            sum += value(place(i * READS + k));
        wrong += out[i] != sum;
    }
    printf("gather %u: %s\n", n, wrong ? "wrong" : "right");
    return wrong != 0;
}
