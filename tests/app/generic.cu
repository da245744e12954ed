// generic: one function works on pointers to global, shared, local and constant memory; address-space tests and conversions;
// atomics through generic pointers; pointers to shared memory kept in memory.
#include "app.h"

__constant__ int in_constant[8] = {5, 6, 7, 8, 9, 10, 11, 12};
__device__ int in_global[8] = {1, 1, 2, 3, 5, 8, 13, 21};

__device__ __noinline__ int sum(const int *p, int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s = s * 2 + p[i];
    return s;
}

__device__ __noinline__ void add_to(int *p, int v) { atomicAdd(p, v); }

__global__ void spaces(int *out, int seed)
{
    __shared__ int in_shared[8];
    __shared__ int *pointers[4];
    int in_local[8], t = threadIdx.x;
    if (t < 8)
        in_shared[t] = t * seed;
    for (int i = 0; i < 8; i++)
        in_local[(i + t) & 7] = i + t;
    if (t == 0) {
        pointers[0] = in_shared + 2;
        pointers[1] = in_global + 1;
        pointers[2] = out + 100;
    }
    __syncthreads();
    // Lanes of one warp hand pointers of four spaces to one function.
    const int *p = t % 4 == 0 ? in_shared : t % 4 == 1 ? in_global : t % 4 == 2 ? in_local : in_constant;
    out[t] = sum(p, 8);
    unsigned kind = (__isShared(p) != 0) | (__isGlobal(p) != 0) << 1 | (__isLocal(p) != 0) << 2 | (__isConstant(p) != 0) << 3;
    out[32 + t] = kind;
    int v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"((unsigned)__cvta_generic_to_shared(in_shared + 3)));
    out[64 + t] = v + *pointers[1] + sum(pointers[0], 4);
    __syncthreads();
    if (t < 2)
        pointers[3] = nullptr;
    add_to(t & 1 ? in_shared : out + 100, t);
    __syncthreads();
    if (t == 0)
        out[101] = in_shared[0] + (pointers[2] == out + 100) * 1000;
    size_t round_trip = (size_t)__cvta_shared_to_generic(__cvta_generic_to_shared(&in_shared[5]));
    out[128 + t] = round_trip == (size_t)&in_shared[5] && in_local != (int *)in_shared;
}

static int host_sum(const int *p, int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s = s * 2 + p[i];
    return s;
}

int main(void)
{
    const int seed = 3, constants[8] = {5, 6, 7, 8, 9, 10, 11, 12}, globals[8] = {1, 1, 2, 3, 5, 8, 13, 21};
    int out[160], *dout, shared[8], local[8];
    OK(cudaMalloc(&dout, sizeof(out)));
    OK(cudaMemset(dout, 0, sizeof(out)));
    spaces<<<1, 32>>>(dout, seed);
    OK_LAUNCH();
    app_to_host(out, dout, 160);
    for (int i = 0; i < 8; i++)
        shared[i] = i * seed;
    for (int t = 0; t < 32; t++) {
        for (int i = 0; i < 8; i++)
            local[(i + t) & 7] = i + t;
        const int *p = t % 4 == 0 ? shared : t % 4 == 1 ? globals : t % 4 == 2 ? local : constants;
        EXPECT(out[t] == host_sum(p, 8), "thread %d: %d, not %d", t, out[t], host_sum(p, 8));
        EXPECT(out[32 + t] == 1 << t % 4, "thread %d: the space is %x", t, out[32 + t]);
        EXPECT(out[64 + t] == 9 + 1 + host_sum(shared + 2, 4), "thread %d: through pointers %d", t, out[64 + t]);
        EXPECT(out[128 + t] == 1, "thread %d: addresses", t);
    }
    EXPECT(out[100] == 240 && out[101] == 256 + 1000, "atomics: %d %d", out[100], out[101]);
    return app_verdict();
}
