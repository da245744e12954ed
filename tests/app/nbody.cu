// nbody: an all-pairs step with tiles of float4 in shared memory; exact against the CPU with 1/sqrtf (-fmad=false), and within
// the documented error of rsqrtf.
#include "app.h"
#include <vector>

#define TILE 128

template <bool EXACT> __device__ float inverse_root(float x) { return EXACT ? 1.0f / sqrtf(x) : rsqrtf(x); }

template <bool EXACT> __global__ void forces(const float4 *pos, float3 *acc, int n)
{
    __shared__ float4 tile[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    float4 p = i < n ? pos[i] : make_float4(0, 0, 0, 0);
    float3 a = make_float3(0, 0, 0);
    for (int t = 0; t < n; t += TILE) {
        int j = t + threadIdx.x;
        tile[threadIdx.x] = j < n ? pos[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            float4 q = tile[k];
            float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
            float r = inverse_root<EXACT>(dx * dx + dy * dy + dz * dz + 0.01f);
            float s = q.w * (r * r * r);
            a.x += dx * s;
            a.y += dy * s;
            a.z += dz * s;
        }
        __syncthreads();
    }
    if (i < n)
        acc[i] = a;
}

int main(void)
{
    const int n = 500, padded = (n + TILE - 1) / TILE * TILE;
    std::vector<float4> pos(padded, make_float4(0, 0, 0, 0));
    std::vector<float3> acc(n), want(n), fast(n);
    unsigned seed = 21;
    for (int i = 0; i < n; i++)
        pos[i] = make_float4(app_uniform(&seed, -1, 1), app_uniform(&seed, -1, 1), app_uniform(&seed, -1, 1),
                             app_uniform(&seed, 0.1f, 1));
    for (int i = 0; i < n; i++) {
        float3 a = make_float3(0, 0, 0);
        for (int j = 0; j < padded; j++) { // the padding has mass 0 and adds 0
            float dx = pos[j].x - pos[i].x, dy = pos[j].y - pos[i].y, dz = pos[j].z - pos[i].z;
            float r = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float s = pos[j].w * (r * r * r);
            a.x += dx * s;
            a.y += dy * s;
            a.z += dz * s;
        }
        want[i] = a;
    }
    float4 *dpos = app_to_device(pos.data(), n);
    float3 *dacc;
    OK(cudaMalloc(&dacc, n * sizeof(float3)));
    forces<true><<<padded / TILE, TILE>>>(dpos, dacc, n);
    OK_LAUNCH();
    app_to_host(acc.data(), dacc, n);
    forces<false><<<padded / TILE, TILE>>>(dpos, dacc, n);
    OK_LAUNCH();
    app_to_host(fast.data(), dacc, n);
    double total = 0;
    for (int i = 0; i < n; i++) {
        EXPECT(!memcmp(&acc[i], &want[i], sizeof(float3)), "body %d: (%.9g %.9g %.9g), not (%.9g %.9g %.9g)", i, acc[i].x,
               acc[i].y, acc[i].z, want[i].x, want[i].y, want[i].z);
        float err = fabsf(fast[i].x - want[i].x) + fabsf(fast[i].y - want[i].y) + fabsf(fast[i].z - want[i].z);
        EXPECT(err < 0.02f, "rsqrtf, body %d: error %g", i, err);
        total += want[i].x + want[i].y + want[i].z;
    }
    printf("%d bodies, sum %.6f\n", n, total);
    return app_verdict();
}
