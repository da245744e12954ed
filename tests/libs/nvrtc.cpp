// NVRTC, linked: compiled for a real architecture, the "cubin" is loaded by the driver; sizes, lowered names, constants and textual errors.
#include <cuda.h>
#include <nvrtc.h>

#include <cstring>
#include <string>

#include "check.h"

static const char source[] = R"(
__constant__ float factor;
template <class T> __global__ void scale(T *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= factor; }
extern "C" __global__ void squares(int *out) { out[threadIdx.x] = threadIdx.x * threadIdx.x; }
)";

int main()
{
    int major = 0, minor = 0;
    CUdevice dev;
    CUcontext context;
    OK(cuInit(0));
    OK(cuDeviceGet(&dev, 0));
    OK(cuDevicePrimaryCtxRetain(&context, dev));
    OK(cuCtxSetCurrent(context));
    OK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev));
    OK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev));
    std::string real = "--gpu-architecture=sm_" + std::to_string(major) + std::to_string(minor);
    std::string virt = "--gpu-architecture=compute_" + std::to_string(major) + std::to_string(minor);
    const char *options[] = {real.c_str()}, *options2[] = {virt.c_str()};
    nvrtcProgram p;
    OK(nvrtcCreateProgram(&p, source, "kernels.cu", 0, nullptr, nullptr));
    OK(nvrtcAddNameExpression(p, "scale<float>"));
    OK(nvrtcCompileProgram(p, 1, options));
    size_t bytes = 0;
    OK(nvrtcGetCUBINSize(p, &bytes));
    check(bytes > 0, "a size");
    std::vector<char> cubin(bytes);
    OK(nvrtcGetCUBIN(p, cubin.data()));
    const char *name;
    OK(nvrtcGetLoweredName(p, "scale<float>", &name));
    CUmodule m;
    CUfunction scale, squares;
    CUdeviceptr factor;
    OK(cuModuleLoadData(&m, cubin.data()));
    OK(cuModuleGetFunction(&scale, m, name));
    OK(cuModuleGetFunction(&squares, m, "squares"));
    OK(cuModuleGetGlobal(&factor, &bytes, m, "factor"));
    check(bytes == 4, "the constant's size");
    float f = 2.5f;
    OK(cuMemcpyHtoD(factor, &f, 4));
    Buffer<float> x(random_vector<float>(1000));
    std::vector<float> want(x.host);
    for (float &v : want) v *= f;
    int n = 1000;
    float *px = x;
    void *args[] = {&px, &n};
    OK(cuLaunchKernel(scale, 8, 1, 1, 128, 1, 1, 0, nullptr, args, nullptr));
    close_to(x.down(), want, 0, "scale<float>");
    Buffer<int> s(64);
    int *ps = s;
    void *args2[] = {&ps};
    OK(cuLaunchKernel(squares, 1, 1, 1, 64, 1, 1, 0, nullptr, args2, nullptr));
    check(s.down()[9] == 81, "squares");
    OK(nvrtcDestroyProgram(&p));

    // For a virtual architecture there is no cubin, and NVRTC says so.
    OK(nvrtcCreateProgram(&p, source, "kernels.cu", 0, nullptr, nullptr));
    OK(nvrtcCompileProgram(p, 1, options2));
    OK(nvrtcGetCUBINSize(p, &bytes));
    check(bytes == 0, "no cubin for a virtual architecture");
    OK(nvrtcGetPTXSize(p, &bytes));
    check(bytes > 0, "but PTX");
    OK(nvrtcDestroyProgram(&p));
    check(nvrtcGetCUBINSize(nullptr, &bytes) != NVRTC_SUCCESS, "no program");
    return report();
}
