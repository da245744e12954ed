// funcptr: pointers to device functions in __device__ and __constant__ tables, as kernel arguments fetched by the host, in
// structures, and different ones in the lanes of one warp.
#include "app.h"

typedef int (*op)(int, int);

__host__ __device__ __noinline__ int op_add(int a, int b) { return a + b; }
__host__ __device__ __noinline__ int op_sub(int a, int b) { return a - b; }
__host__ __device__ __noinline__ int op_mul(int a, int b) { return a * b; }
__host__ __device__ __noinline__ int op_mix(int a, int b) { return a % (b + 1) ^ b << 3; }

__device__ op table[4] = {op_add, op_sub, op_mul, op_mix};
__constant__ op constant_table[4] = {op_mix, op_mul, op_sub, op_add};
__device__ op chosen = op_mul;

struct task {
    op f;
    int a, b;
};

__device__ __noinline__ int apply(op f, int a, int b) { return f(a, b); }

__global__ void by_table(int *out)
{
    int t = threadIdx.x;
    out[t] = table[t & 3](t, t + 5) * 3 + constant_table[(t >> 1) & 3](t, 2);
}

__global__ void by_argument(op f, int *out) { out[threadIdx.x] = apply(f, threadIdx.x, 7); }

__global__ void by_struct(int *out)
{
    task tasks[4];
    for (int i = 0; i < 4; i++)
        tasks[i] = task{table[(i + threadIdx.x) & 3], (int)threadIdx.x, i};
    int sum = 0;
    for (int i = 0; i < 4; i++)
        sum = sum * 7 + tasks[i].f(tasks[i].a, tasks[i].b);
    out[threadIdx.x] = sum;
}

int main(void)
{
    const op host[4] = {op_add, op_sub, op_mul, op_mix}, host_constant[4] = {op_mix, op_mul, op_sub, op_add};
    const int n = 64;
    int out[n], *dout;
    OK(cudaMalloc(&dout, sizeof(out)));
    by_table<<<1, n>>>(dout);
    OK_LAUNCH();
    app_to_host(out, dout, n);
    for (int t = 0; t < n; t++) {
        int want = host[t & 3](t, t + 5) * 3 + host_constant[(t >> 1) & 3](t, 2);
        EXPECT(out[t] == want, "table: thread %d is %d, not %d", t, out[t], want);
    }
    op f;
    OK(cudaMemcpyFromSymbol(&f, chosen, sizeof(f)));
    by_argument<<<1, n>>>(f, dout);
    OK_LAUNCH();
    app_to_host(out, dout, n);
    for (int t = 0; t < n; t++)
        EXPECT(out[t] == t * 7, "argument: thread %d is %d", t, out[t]);
    by_struct<<<1, n>>>(dout);
    OK_LAUNCH();
    app_to_host(out, dout, n);
    for (int t = 0; t < n; t++) {
        int want = 0;
        for (int i = 0; i < 4; i++)
            want = want * 7 + host[(i + t) & 3](t, i);
        EXPECT(out[t] == want, "struct: thread %d is %d, not %d", t, out[t], want);
    }
    printf("4 functions\n");
    return app_verdict();
}
