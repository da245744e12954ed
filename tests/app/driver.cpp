// driver: a driver-API program without cudart: context, module from PTX text, functions, globals and constants, launches with
// kernelParams and with a packed buffer, streams, events, memory, attributes, error names.
#include "driver_app.h"
#include <string.h>

static const char ptx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.const .align 4 .b32 factor = 3;
.global .align 4 .u32 calls;
.global .align 8 .u64 start[2] = {100, 200};

// out[i] = in[i] * factor + add, for i below n
.visible .entry scale(.param .u64 out, .param .u64 in, .param .u32 add, .param .u32 n)
{
    .reg .pred p;
    .reg .b32 r<9>;
    .reg .b64 d<6>;
    ld.param.u64 d0, [out];
    ld.param.u64 d1, [in];
    ld.param.u32 r0, [add];
    ld.param.u32 r1, [n];
    cvta.to.global.u64 d0, d0;
    cvta.to.global.u64 d1, d1;
    mov.u32 r2, %ctaid.x;
    mov.u32 r3, %ntid.x;
    mov.u32 r4, %tid.x;
    mad.lo.u32 r2, r2, r3, r4;
    setp.ge.u32 p, r2, r1;
    @p bra DONE;
    mul.wide.u32 d2, r2, 4;
    add.s64 d3, d1, d2;
    ld.global.u32 r5, [d3];
    ld.const.u32 r6, [factor];
    mad.lo.u32 r5, r5, r6, r0;
    add.s64 d4, d0, d2;
    st.global.u32 [d4], r5;
    atom.global.add.u32 r7, [calls], 1;
DONE:
    ret;
}

.visible .entry tagged(.param .u8 tag, .param .u64 out)
{
    .reg .b16 h;
    .reg .b32 r;
    .reg .b64 d<2>;
    ld.param.u8 h, [tag];
    ld.param.u64 d0, [out];
    cvt.u32.u16 r, h;
    ld.global.u64 d1, [start+8];
    st.global.u64 [d0], d1;
    st.global.u32 [d0+8], r;
    ret;
}
)";

int main(void)
{
    CUdevice dev;
    CUcontext ctx, current;
    CUmodule mod;
    CUfunction scale, tagged;
    int count, version, value;
    char name[128];
    EXPECT(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED, "a call before cuInit succeeded");
    OK(cuInit(0));
    OK(cuDriverGetVersion(&version));
    OK(cuDeviceGetCount(&count));
    EXPECT(count >= 1 && version >= 11000, "%d devices, version %d", count, version);
    OK(cuDeviceGet(&dev, 0));
    OK(cuDeviceGetName(name, sizeof(name), dev));
    EXPECT(strlen(name) > 0, "no name");
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, dev));
    EXPECT(value == 32, "a warp of %d", value);
#if CUDA_VERSION >= 13000
    OK(cuCtxCreate(&ctx, nullptr, 0, dev));
#else
    OK(cuCtxCreate(&ctx, 0, dev));
#endif
    OK(cuCtxGetCurrent(&current));
    EXPECT(current == ctx, "the new context is not current");
    OK(cuModuleLoadData(&mod, ptx));
    OK(cuModuleGetFunction(&scale, mod, "scale"));
    OK(cuModuleGetFunction(&tagged, mod, "tagged"));
    CUfunction none;
    EXPECT(cuModuleGetFunction(&none, mod, "missing") == CUDA_ERROR_NOT_FOUND, "a missing function was found");
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, scale));
    EXPECT(value == 1024, "a block of at most %d", value);

    const unsigned n = 1000;
    static unsigned in[n], out[n];
    CUdeviceptr din, dout, global;
    size_t bytes;
    for (unsigned i = 0; i < n; i++)
        in[i] = i * i;
    OK(cuMemAlloc(&din, sizeof(in)));
    OK(cuMemAlloc(&dout, sizeof(out)));
    OK(cuMemcpyHtoD(din, in, sizeof(in)));
    unsigned add = 5, count_arg = n;
    void *args[] = {&dout, &din, &add, &count_arg};
    OK(cuLaunchKernel(scale, 8, 1, 1, 128, 1, 1, 0, nullptr, args, nullptr));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(out, dout, sizeof(out)));
    for (unsigned i = 0; i < n; i++)
        EXPECT(out[i] == i * i * 3 + 5, "element %u is %u", i, out[i]);

    OK(cuModuleGetGlobal(&global, &bytes, mod, "calls"));
    EXPECT(bytes == 4, "calls has %zu bytes", bytes);
    unsigned calls;
    OK(cuMemcpyDtoH(&calls, global, 4));
    EXPECT(calls == n, "%u calls", calls);
    OK(cuModuleGetGlobal(&global, &bytes, mod, "factor"));
    unsigned factor = 10;
    OK(cuMemcpyHtoD(global, &factor, 4));

    // The packed form, in a stream, timed by events.
    CUstream stream;
    CUevent before, after;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&before, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&after, CU_EVENT_DEFAULT));
    struct {
        CUdeviceptr out, in;
        unsigned add, n;
    } packed = {dout, din, 1, n};
    size_t size = sizeof(packed);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    OK(cuEventRecord(before, stream));
    OK(cuLaunchKernel(scale, 4, 1, 1, 256, 1, 1, 0, stream, nullptr, extra));
    OK(cuMemcpyDtoHAsync(out, dout, sizeof(out), stream));
    OK(cuEventRecord(after, stream));
    OK(cuStreamSynchronize(stream));
    float ms = -1;
    OK(cuEventElapsedTime(&ms, before, after));
    EXPECT(ms >= 0, "%g ms", ms);
    for (unsigned i = 0; i < n; i++)
        EXPECT(out[i] == i * i * 10 + 1, "packed: element %u is %u", i, out[i]);

    unsigned char tag = 201;
    void *tag_args[] = {&tag, &dout};
    OK(cuLaunchKernel(tagged, 1, 1, 1, 1, 1, 1, 0, nullptr, tag_args, nullptr));
    OK(cuMemcpyDtoH(out, dout, 12));
    EXPECT(out[0] == 200 && out[1] == 0 && out[2] == 201, "tagged: %u %u %u", out[0], out[1], out[2]);
    OK(cuMemsetD32(dout, 0x01020304, 10));
    OK(cuMemsetD8(dout + 4, 9, 3));
    OK(cuMemcpyDtoH(out, dout, 12));
    EXPECT(out[0] == 0x01020304 && out[1] == 0x01090909 && out[2] == 0x01020304, "memset: %x %x %x", out[0], out[1], out[2]);

    CUresult bad = cuLaunchKernel(scale, 0, 1, 1, 128, 1, 1, 0, nullptr, args, nullptr);
    EXPECT(bad == CUDA_ERROR_INVALID_VALUE || bad == (CUresult)9, "an empty grid gave %d", bad);
    const char *text;
    OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    EXPECT(!strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS"), "the name is %s", text);
    OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    EXPECT(!strcmp(text, "out of memory"), "the text is %s", text);
    void *symbol = nullptr;
    OK(cuGetProcAddress("cuMemAlloc", &symbol, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, nullptr));
    EXPECT(symbol != nullptr, "cuGetProcAddress found nothing");

    CUcontext primary;
    OK(cuDevicePrimaryCtxRetain(&primary, dev));
    OK(cuCtxPushCurrent(primary));
    OK(cuCtxGetCurrent(&current));
    EXPECT(current == primary && primary != ctx, "the primary context is not current");
    OK(cuCtxPopCurrent(&current));
    OK(cuDevicePrimaryCtxRelease(dev));
    OK(cuEventDestroy(before));
    OK(cuEventDestroy(after));
    OK(cuStreamDestroy(stream));
    OK(cuMemFree(din));
    OK(cuMemFree(dout));
    OK(cuModuleUnload(mod));
    OK(cuCtxDestroy(ctx));
    if (!failures)
        printf("PASS\n");
    return failures != 0;
}
