// A whole program whose device code calls the plug-in: PTX alone (-code=compute_75), so that no linker asks for the functions.
#include <cstdio>

struct vec2 { float x, y; };
extern "C" __device__ vec2 turned(vec2 v, double degrees);
extern "C" __device__ int sum_of(const int *values, int n);

__device__ int table[4] = {1, 2, 3, 4};
__device__ int first_of(const int *values, int n) { return n ? values[0] : 0; }
__device__ int (*choices[2])(const int *, int) = {sum_of, first_of};

__global__ void k(float *angle, int *sums)
{
    int mine[3] = {int(threadIdx.x), 10, 20};
    vec2 v = turned(vec2{1, 0}, 30.0 * threadIdx.x);
    angle[threadIdx.x] = v.x;
    sums[threadIdx.x] = sum_of(table, 4) * 100 + sum_of(mine, 3) + choices[threadIdx.x % 2](table, 4) * 10000;
}

int main()
{
    float *angle;
    int *sums;
    cudaMallocManaged(&angle, 4 * sizeof *angle);
    cudaMallocManaged(&sums, 4 * sizeof *sums);
    k<<<1, 4>>>(angle, sums);
    cudaError_t e = cudaDeviceSynchronize();
    std::printf("%s: %.3f %.3f %d %d\n", cudaGetErrorString(e), angle[1], angle[2], sums[0], sums[3]);
    return e != cudaSuccess;
}
