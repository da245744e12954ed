// modules: modules that are loaded and unloaded in turn, so that one comes to lie where another was. Each of their kernels, all of one name, does its own work; and it
// takes as many clocks as it took when all modules were there together.
#include "driver_app.h"
#include <string>

static const struct { const char *step; unsigned steps, adds; } works[] = {
    {"add.u32 %r1, %r1, 3;", 64, 3}, {"mad.lo.u32 %r1, %r1, 1, 5;", 16, 5}, {"div.u32 %r2, %r1, %r3; add.u32 %r1, %r1, 7;", 8, 7}, {"add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1;", 200, 2}};
enum { WORKS = sizeof works / sizeof *works, ROUNDS = 40 };

static CUmodule load(int i)
{
    CUmodule m;
    std::string text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n.reg .b64 %rd<3>; .reg .b32 %r<8>;\n"
                       "ld.param.u64 %rd1, [out]; ld.global.u32 %r1, [%rd1]; ld.global.u32 %r3, [%rd1+4];\n"
                       "add.u32 %r6, %r1, %r3; mov.u32 %r4, %clock;\n"; // when the loads are back
    for (unsigned k = 0; k < works[i].steps; k++)
        text += std::string(works[i].step) + "\n";
    text += "mov.u32 %r5, %clock; sub.u32 %r5, %r5, %r4; st.global.u32 [%rd1], %r1; st.global.u32 [%rd1+8], %r5; st.global.u32 [%rd1+12], %r6; ret;\n}\n";
    OK(cuModuleLoadData(&m, text.c_str()));
    return m;
}

static unsigned clocks(CUmodule m, int i, CUdeviceptr out)
{
    unsigned values[3] = {1000, 3, 0};
    void *args[] = {&out};
    CUfunction f;
    OK(cuModuleGetFunction(&f, m, "k"));
    OK(cuMemcpyHtoD(out, values, sizeof values));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
    OK(cuMemcpyDtoH(values, out, sizeof values));
    EXPECT(values[0] == 1000 + works[i].steps * works[i].adds, "kernel %d: %u", i, values[0]);
    return values[2];
}

int main()
{
    CUdevice dev;
    CUcontext ctx;
    CUdeviceptr out;
    CUmodule m[WORKS];
    unsigned together[WORKS];
    OK(cuInit(0));
    OK(cuDeviceGet(&dev, 0));
    OK(cuDevicePrimaryCtxRetain(&ctx, dev));
    OK(cuCtxSetCurrent(ctx));
    OK(cuMemAlloc(&out, 64));
    for (int i = 0; i < WORKS; i++)
        m[i] = load(i);
    for (int i = 0; i < WORKS; i++)
        together[i] = clocks(m[i], i, out);
    for (int i = 0; i < WORKS; i++)
        OK(cuModuleUnload(m[i]));
    for (int k = 0; k < ROUNDS; k++) {
        int i = k % WORKS;
        CUmodule one = load(i);
        unsigned n = clocks(one, i, out);
        if (getenv("SAME_CLOCKS"))
            EXPECT(n == together[i], "round %d: kernel %d took %u clocks, and %u before", k, i, n, together[i]);
        OK(cuModuleUnload(one));
    }
    puts(failures ? "FAIL" : "PASS");
    return failures != 0;
}
