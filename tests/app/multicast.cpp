// multicast: an object over three devices; multimem stores, reductions and loads reach the memory of each. Errors of the calls.
#include "driver_app.h"

static const char ptx[] = R"(
.version 8.1
.target sm_90
.address_size 64

// all[i] += i + 1 on each device; out[i] = sum over the devices; all[64 + i] = i on each; vectors of four f32 behind
.visible .entry work(.param .u64 all, .param .u64 out)
{
    .reg .b32 r<5>;
    .reg .f32 f<9>;
    .reg .b64 d<6>;
    ld.param.u64 d1, [all];
    ld.param.u64 d2, [out];
    mov.u32 r1, %tid.x;
    mul.wide.u32 d3, r1, 4;
    add.u64 d4, d1, d3;
    add.u64 d5, d2, d3;
    add.u32 r2, r1, 1;
    multimem.red.relaxed.sys.global.add.u32 [d4], r2;
    multimem.ld_reduce.relaxed.sys.global.add.u32 r3, [d4];
    st.global.u32 [d5], r3;
    multimem.st.relaxed.sys.global.u32 [d4+256], r1;
    mul.wide.u32 d3, r1, 16;
    add.u64 d4, d1, d3;
    cvt.rn.f32.u32 f1, r1;
    multimem.red.relaxed.sys.global.add.v4.f32 [d4+4096], {f1, f1, 0f3F800000, 0f00000000};
    multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {f2, f3, f4, f5}, [d4+4096];
    add.f32 f2, f2, f4;
    st.global.f32 [d5+256], f2;
    ret;
}
.visible .entry plain(.param .u64 all)
{
    .reg .b64 d1;
    ld.param.u64 d1, [all];
    st.global.u32 [d1], 1;
    ret;
}
)";

enum { DEVICES = 3 };

int main()
{
    CUdevice dev[DEVICES];
    CUcontext ctx;
    CUmodule module;
    CUfunction work, plain;
    CUmemGenericAllocationHandle object, memory[DEVICES], early;
    CUdeviceptr all, own[DEVICES], out;
    CUmulticastObjectProp prop = {};
    size_t grain = 0;
    int count, yes;
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    EXPECT(count == DEVICES);
    for (int i = 0; i < DEVICES; i++) {
        OK(cuDeviceGet(&dev[i], i));
        OK(cuDeviceGetAttribute(&yes, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, dev[i]));
        EXPECT(yes == 1);
    }
    OK(cuCtxCreate(&ctx, NULL, 0, dev[0]));
    OK(cuModuleLoadData(&module, ptx));
    OK(cuModuleGetFunction(&work, module, "work"));
    OK(cuModuleGetFunction(&plain, module, "plain"));
    prop.numDevices = DEVICES;
    prop.size = 1;
    EXPECT(cuMulticastGetGranularity(&grain, NULL, CU_MULTICAST_GRANULARITY_MINIMUM) == CUDA_ERROR_INVALID_VALUE);
    OK(cuMulticastGetGranularity(&grain, &prop, CU_MULTICAST_GRANULARITY_MINIMUM));
    EXPECT(cuMulticastCreate(&object, &prop) == CUDA_ERROR_INVALID_VALUE);         // no multiple of it
    prop.size = 2 * grain;
    prop.numDevices = DEVICES + 1;
    EXPECT(cuMulticastCreate(&object, &prop) == CUDA_ERROR_INVALID_VALUE);
    prop.numDevices = DEVICES;
    OK(cuMulticastCreate(&object, &prop));

    CUmemAllocationProp where = {};
    where.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    where.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    OK(cuMemCreate(&early, grain, &where, 0));
    OK(cuMulticastAddDevice(object, dev[0]));
    EXPECT(cuMulticastAddDevice(object, dev[0]) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMulticastAddDevice(early, dev[1]) == CUDA_ERROR_INVALID_VALUE);       // no multicast object
    EXPECT(cuMulticastBindMem(object, 0, early, 0, grain, 0) == CUDA_ERROR_ILLEGAL_STATE);     // devices are missing
    OK(cuMulticastAddDevice(object, dev[1]));
    OK(cuMulticastAddDevice(object, dev[2]));

    OK(cuMemAddressReserve(&all, 2 * grain, 0, 0, 0));
    OK(cuMemMap(all, 2 * grain, 0, object, 0));
    CUmemAccessDesc access[DEVICES];
    for (int i = 0; i < DEVICES; i++) {
        where.location.id = i;
        access[i].location = where.location;
        access[i].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        OK(cuMemCreate(&memory[i], grain, &where, 0));
        OK(cuMemAddressReserve(&own[i], grain, 0, 0, 0));
        OK(cuMemMap(own[i], grain, 0, memory[i], 0));
    }
    for (int i = 0; i < DEVICES; i++)
        OK(cuMemSetAccess(own[i], grain, access, DEVICES));
    OK(cuMemSetAccess(all, 2 * grain, access, DEVICES));
    // the second half of the object is theirs
    OK(cuMulticastBindMem(object, grain, memory[0], 0, grain, 0));
    EXPECT(cuMulticastBindMem(object, grain, memory[0], 0, grain, 0) == CUDA_ERROR_INVALID_VALUE);      // twice
    EXPECT(cuMulticastBindMem(object, grain, memory[1], 0, 2 * grain, 0) == CUDA_ERROR_INVALID_VALUE);
    OK(cuMulticastBindMem(object, grain, memory[1], 0, grain, 0));
    OK(cuMulticastBindAddr(object, grain, own[2], grain, 0));
    for (int i = 0; i < DEVICES; i++)
        OK(cuMemsetD32(own[i], 100u * i, 64));

    OK(cuMemAlloc(&out, 512));
    CUdeviceptr half = all + grain;
    void *params[] = {&half, &out};
    OK(cuLaunchKernel(work, 1, 1, 1, 64, 1, 1, 0, 0, params, NULL));
    OK(cuCtxSynchronize());
    unsigned host[128], sums[64];
    float floats[64];
    OK(cuMemcpyDtoH(sums, out, sizeof sums));
    OK(cuMemcpyDtoH(floats, out + 256, sizeof floats));
    for (unsigned k = 0; k < DEVICES; k++) {
        OK(cuMemcpyDtoH(host, own[k], sizeof host));
        for (unsigned i = 0; i < 64; i++) {
            EXPECT(host[i] == 100 * k + i + 1);
            EXPECT(host[64 + i] == i);
        }
    }
    for (unsigned i = 0; i < 64; i++) {
        EXPECT(sums[i] == 300 + 3 * (i + 1));
        EXPECT(floats[i] == 3.0f * i + 3.0f);
    }
    OK(cuMulticastUnbind(object, dev[1], grain, grain));
    EXPECT(cuMulticastUnbind(object, dev[1], grain, grain) == CUDA_ERROR_INVALID_VALUE);
    OK(cuMemRelease(object));                  // the mapping keeps it
    OK(cuMemUnmap(all, 2 * grain));
    OK(cuMemAddressFree(all, 2 * grain));
    EXPECT(cuMulticastAddDevice(object, dev[0]) == CUDA_ERROR_INVALID_VALUE);
    // what is no longer mapped is no memory
    OK(cuLaunchKernel(plain, 1, 1, 1, 1, 1, 1, 0, 0, params, NULL));
    EXPECT(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
    printf(failures ? "" : "PASS\n");
    return failures != 0;
}
