// mandelbrot: 1024 x 1024 pixels of at most 256 iterations in float; the iterations of some rows are compared
// with the CPU's (within 1 %: the device fuses multiplications and additions).
#include <cstdio>
#include <cuda_runtime.h>

#define N 1024
#define LIMIT 256

__host__ __device__ int escape(int px, int py)
{
    float cx = -2.25f + 3.0f * px / N, cy = -1.25f + 2.5f * py / N, x = 0, y = 0;
    int i = 0;
    while (i < LIMIT && x * x + y * y <= 4.0f) {
        float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        i++;
    }
    return i;
}

__global__ void mandelbrot(int *out)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    out[py * N + px] = escape(px, py);
}

int main(void)
{
    static int out[N * N];
    int *dout, wrong = 0;
    cudaMalloc(&dout, sizeof(out));
    for (int i = 0; i < 4; i++)
        mandelbrot<<<dim3(N / 32, N / 8), dim3(32, 8)>>>(dout);
    wrong += cudaMemcpy(out, dout, sizeof(out), cudaMemcpyDeviceToHost) != cudaSuccess;
    long long got = 0, want = 0;
    for (int y = 0; y < N; y += 64)
        for (int x = 0; x < N; x++) {
            got += out[y * N + x];
            want += escape(x, y);
        }
    wrong += got < want - want / 100 || got > want + want / 100;
    printf("mandelbrot %d: %s\n", N, wrong ? "wrong" : "right");
    return wrong != 0;
}
