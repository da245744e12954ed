/* What the translation units of the rdc test share. */
#pragma once

struct Counter {
    int total;
    __device__ explicit Counter(int t) : total(t) {}
    __device__ virtual int next(int by);
    __device__ virtual ~Counter() {}
};

struct Doubling : Counter {
    __device__ explicit Doubling(int t) : Counter(t) {}
    __device__ int next(int by) override;
};

typedef int (*transform)(int);

extern __device__ int shared_table[16];
extern __device__ int shared_total;
extern __constant__ float shared_scale;
extern __managed__ int shared_managed;
extern __device__ transform shared_function;

__device__ int square(int x);
__device__ int from_a(int x);
__device__ int from_b(int x);
__device__ Counter *make_counter(int kind, int start);
__global__ void kernel_b(int *out, int n);
void launch_a(int *out, int n);

/* Every unit has its own copy of the first and one common copy of the second. */
static __device__ int own_value = 100;
template <typename T> __device__ __noinline__ T common_inline(T x) { return x * 3 + 1; }
