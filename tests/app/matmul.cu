// matmul: shared-memory tiles, dimensions that are no multiple of the tile, 2-D blocks; small integers, so exact in float.
#include "app.h"
#include <vector>

#define TILE 16

__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < k; t += TILE) {
        int ac = t + threadIdx.x, br = t + threadIdx.y;
        as[threadIdx.y][threadIdx.x] = row < m && ac < k ? a[row * k + ac] : 0;
        bs[threadIdx.y][threadIdx.x] = br < k && col < n ? b[br * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}

int main(void)
{
    const int m = 75, n = 110, k = 61;
    std::vector<float> a(m * k), b(k * n), c(m * n);
    unsigned seed = 7;
    for (auto &x : a)
        x = (float)(int)(app_rand(&seed) % 17) - 8;
    for (auto &x : b)
        x = (float)(int)(app_rand(&seed) % 17) - 8;
    float *da = app_to_device(a.data(), a.size()), *db = app_to_device(b.data(), b.size()), *dc;
    OK(cudaMalloc(&dc, c.size() * sizeof(float)));
    matmul<<<dim3((n + TILE - 1) / TILE, (m + TILE - 1) / TILE), dim3(TILE, TILE)>>>(da, db, dc, m, n, k);
    OK_LAUNCH();
    app_to_host(c.data(), dc, c.size());
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float want = 0;
            for (int x = 0; x < k; x++)
                want += a[i * k + x] * b[x * n + j];
            EXPECT(c[i * n + j] == want, "c[%d][%d] is %g, not %g", i, j, c[i * n + j], want);
        }
    printf("%d x %d x %d\n", m, n, k);
    return app_verdict();
}
