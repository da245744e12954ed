// mandelbrot [LAUNCHES [N]]: N x N (1024) pixels of at most 256 iterations in float, 4 launches; the iterations of some rows are compared
// with the CPU's (within 1 %: the device fuses multiplications and additions).
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define MOST 1024
#define LIMIT 256

__host__ __device__ int escape(int px, int py, int n)
{
    float cx = -2.25f + 3.0f * px / n, cy = -1.25f + 2.5f * py / n, x = 0, y = 0;
    int i = 0;
    while (i < LIMIT && x * x + y * y <= 4.0f) {
        float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        i++;
    }
    return i;
}

__global__ void mandelbrot(int *out, int n)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    out[py * n + px] = escape(px, py, n);
}

int main(int argc, char **argv)
{
    static int out[MOST * MOST];
    int *dout, wrong = 0, launches = argc > 1 ? atoi(argv[1]) : 4, n = argc > 2 ? atoi(argv[2]) : MOST;
    if (n > MOST || n % 64) {
        fprintf(stderr, "mandelbrot: N must be a multiple of 64, at most %d\n", MOST);
        return 2;
    }
    cudaMalloc(&dout, sizeof(out));
    for (int i = 0; i < launches; i++)
        mandelbrot<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(dout, n);
    wrong += cudaMemcpy(out, dout, sizeof(out), cudaMemcpyDeviceToHost) != cudaSuccess;
    long long got = 0, want = 0;
    for (int y = 0; y < n; y += 64)
        for (int x = 0; x < n; x++) {
            got += out[y * n + x];
            want += escape(x, y, n);
        }
    wrong += got < want - want / 100 || got > want + want / 100;
    printf("mandelbrot %d: %s\n", n, wrong ? "wrong" : "right");
    return wrong != 0;
}
