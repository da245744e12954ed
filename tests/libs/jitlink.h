// What nvjitlink.cpp and opened.cpp share: two texts, the kernel in one, the function that it calls in the other.
#pragma once
static const char kernel_source[] = "extern __device__ int twice(int);\nextern \"C\" __global__ void run(int *out) { out[threadIdx.x] = twice(threadIdx.x) + 1; }\n";
static const char function_source[] = "__device__ int twice(int x) { return x + x; }\n";
