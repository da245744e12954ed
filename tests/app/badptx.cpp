// badptx: malformed PTX given to cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX, an error log that names the line, and a program that can
// go on and load a good module.
#include <cuda.h>
#include <stdio.h>
#include <string.h>
#include <string>

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

static const struct {
    const char *what, *text, *line; // the line that the log must name
} modules[] = {
    {"unknown instruction", HEAD ".visible .entry k()\n{\n  frobnicate.u32 %r1, %r2;\n  ret;\n}\n", "6"},
    {"undeclared register", HEAD ".visible .entry k()\n{\n  .reg .b32 a;\n  add.u32 a, a, missing;\n  ret;\n}\n", "7"},
    {"missing semicolon", HEAD ".visible .entry k()\n{\n  .reg .b32 a;\n  mov.u32 a, 1\n  ret;\n}\n", "8"},
    {"unclosed body", HEAD ".visible .entry k()\n{\n  ret;\n", nullptr},
    {"no version", ".target sm_70\n.visible .entry k() { ret; }\n", nullptr},
    {"no PTX at all", "this is not PTX\n", nullptr},
};

// A module of more than a megabyte may be parsed kernel by kernel: then a bad kernel fails where it is first used, and a good one beside it runs.
static int late_error(CUmodule mod)
{
    std::string text = HEAD;
    for (int i = 0; i < 40000; i++)
        text += ".visible .entry good" + std::to_string(i) + "()\n{\n  ret;\n}\n";
    text += ".visible .entry bad()\n{\n  frobnicate.u32 %r1;\n  ret;\n}\n";
    CUresult err = cuModuleLoadData(&mod, text.c_str());
    CUfunction f;
    if (err == CUDA_SUCCESS) {
        if (cuModuleGetFunction(&f, mod, "good39999") || cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) || cuCtxSynchronize()) {
            printf("FAIL: a good kernel beside a bad one\n");
            return 1;
        }
        err = cuModuleGetFunction(&f, mod, "bad");
        if (err == CUDA_SUCCESS)
            err = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
    }
    if (err != CUDA_ERROR_INVALID_PTX) {
        printf("FAIL: a bad kernel of a large module: error %d\n", err);
        return 1;
    }
    return cuCtxSynchronize() != CUDA_SUCCESS; // not sticky
}

int main(void)
{
    CUdevice dev;
    CUcontext ctx;
    CUmodule mod;
    int failures = 0;
    if (cuInit(0) || cuDeviceGet(&dev, 0) || cuDevicePrimaryCtxRetain(&ctx, dev) || cuCtxSetCurrent(ctx)) {
        printf("FAIL: no context\n");
        return 1;
    }
    for (auto &m : modules) {
        char log[4096] = "";
        CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
        void *values[] = {log, (void *)sizeof(log)};
        CUresult err = cuModuleLoadDataEx(&mod, m.text, 2, options, values);
        CUfunction f;
        if (err == CUDA_SUCCESS) // function bodies may be read at first use
            err = cuModuleGetFunction(&f, mod, "k");
        if (err != CUDA_ERROR_INVALID_PTX && err != CUDA_ERROR_INVALID_IMAGE) {
            printf("FAIL: %s: error %d\n", m.what, err);
            failures++;
        } else if (m.line && log[0] && !strstr(log, m.line)) {
            printf("FAIL: %s: the log does not name line %s: %s\n", m.what, m.line, log);
            failures++;
        }
    }
    failures += late_error(mod);
    CUfunction f;
    if (cuModuleLoadData(&mod, HEAD ".visible .entry k()\n{\n  ret;\n}\n") || cuModuleGetFunction(&f, mod, "k") ||
        cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr) || cuCtxSynchronize()) {
        printf("FAIL: a good module afterwards\n");
        failures++;
    }
    if (!failures)
        printf("PASS\n");
    return failures != 0;
}
