// What nvjitlink.cpp and opened.cpp share: two texts, the kernel in one, the function that it calls in the other; and running what was linked.
#pragma once
static const char kernel_source[] = "extern __device__ int twice(int);\nextern \"C\" __global__ void run(int *out) { out[threadIdx.x] = twice(threadIdx.x) + 1; }\n";
static const char function_source[] = "__device__ int twice(int x) { return x + x; }\n";

static void run_linked(const std::vector<char> &cubin, const char *what)
{
    CUmodule m;
    CUfunction run;
    OK(cuModuleLoadData(&m, cubin.data()));
    OK(cuModuleGetFunction(&run, m, "run"));
    Buffer<int> out(32);
    int *p = out;
    void *args[] = {&p};
    OK(cuLaunchKernel(run, 1, 1, 1, 32, 1, 1, 0, nullptr, args, nullptr));
    check(out.down()[20] == 41, what);
    OK(cuModuleUnload(m));
}
