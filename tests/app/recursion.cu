// recursion: direct and mutual recursion, recursion with local arrays, depths that differ from lane to lane, a larger stack.
#include "app.h"

__host__ __device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

__host__ __device__ __noinline__ int ackermann(int m, int n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__host__ __device__ int odd(int n);
__host__ __device__ __noinline__ int even(int n) { return n == 0 ? 1 : odd(n - 1); }
__host__ __device__ __noinline__ int odd(int n) { return n == 0 ? 0 : even(n - 1); }

// Quicksort on an array in local memory.
__host__ __device__ __noinline__ void quicksort(int *a, int lo, int hi)
{
    if (lo >= hi)
        return;
    int pivot = a[(lo + hi) / 2], i = lo, j = hi;
    while (i <= j) {
        while (a[i] < pivot)
            i++;
        while (a[j] > pivot)
            j--;
        if (i <= j) {
            int t = a[i];
            a[i++] = a[j];
            a[j--] = t;
        }
    }
    quicksort(a, lo, j);
    quicksort(a, i, hi);
}

// Every frame keeps an array that must survive the calls below it.
__host__ __device__ __noinline__ int frames(int depth, int seed)
{
    int keep[8];
    for (int i = 0; i < 8; i++)
        keep[i] = seed * 31 + i * depth;
    int below = depth > 0 ? frames(depth - 1, seed + 1) : 0, sum = 0;
    for (int i = 0; i < 8; i++)
        sum = sum * 3 + keep[(i + below) & 7];
    return sum ^ below;
}

__host__ __device__ int all(int t, int which)
{
    if (which == 0)
        return fib(t % 13);
    if (which == 1)
        return ackermann(2, t % 5);
    if (which == 2)
        return even(t) * 2 + odd(t);
    if (which == 3)
        return frames(t % 40, t);
    int a[24], hash = 0;
    for (int i = 0; i < 24; i++)
        a[i] = (t + 7) * (i * i + 3) % 101;
    quicksort(a, 0, 23);
    for (int i = 0; i < 24; i++)
        hash = hash * 5 + a[i];
    return hash;
}

__global__ void run(int *out, int which)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = all(t, which);
}

int main(void)
{
    const int n = 96;
    int out[n], *dout;
    size_t stack;
    OK(cudaDeviceSetLimit(cudaLimitStackSize, 16 * 1024));
    OK(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
    EXPECT(stack >= 16 * 1024, "the stack limit is %zu", stack);
    OK(cudaMalloc(&dout, sizeof(out)));
    for (int which = 0; which < 5; which++) {
        run<<<2, n / 2>>>(dout, which);
        OK_LAUNCH();
        app_to_host(out, dout, n);
        for (int t = 0; t < n; t++)
            EXPECT(out[t] == all(t, which), "case %d thread %d is %d, not %d", which, t, out[t], all(t, which));
    }
    printf("fib(12) %d\n", fib(12));
    return app_verdict();
}
