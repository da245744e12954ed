/* cuBLAS as it is: `cublas N` makes N products of 512 x 512 matrices; `cublas 0` creates the library and ends. */
#include <cublas_v2.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char **argv)
{
    const int n = 512, count = argc > 1 ? std::atoi(argv[1]) : 3;
    const float one = 1, zero = 0;
    std::vector<float> ones(n * n, 1.0f);
    void *a, *c;
    cublasHandle_t h;
    if (cublasCreate(&h) || cudaMalloc(&a, n * n * 4) || cudaMalloc(&c, n * n * 4) || cudaMemcpy(a, ones.data(), n * n * 4, cudaMemcpyHostToDevice))
        return 1;
    for (int i = 0; i < count; i++)
        if (cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, static_cast<float *>(a), n, static_cast<float *>(a), n, &zero, static_cast<float *>(c), n))
            return 1;
    if (cudaMemcpy(ones.data(), c, n * n * 4, cudaMemcpyDeviceToHost) || (count && ones[777] != 512))
        return 1;
    return 0;
}
