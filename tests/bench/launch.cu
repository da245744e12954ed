// launch: 10,000 launches of an empty kernel in one stream, then one wait.
#include <chrono>
#include <cstdio>
#include <cuda_runtime.h>

__global__ void empty(void) {}

int main(void)
{
    const int launches = 10000;
    int wrong = 0;
    empty<<<1, 32>>>(); // loads the module
    cudaDeviceSynchronize();
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; i++)
        empty<<<1, 32>>>();
    wrong += cudaGetLastError() != cudaSuccess;
    wrong += cudaDeviceSynchronize() != cudaSuccess;
    std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    printf("launch: %s, %.2f us each\n", wrong ? "wrong" : "right", took.count() / launches);
    return wrong;
}
