// green: green contexts over parts of a device's SMs, events of whole contexts; what is said of core dumps; imports from other APIs, which are refused.
// With PARTS=seen each kernel must run on SMs of its part alone (the simulated GPU).
#include "driver_app.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <set>

static const char ptx[] = R"(
.version 7.0
.target sm_70
.address_size 64

// out[block] = the SM it ran on, after a while
.visible .entry where(.param .u64 out)
{
    .reg .pred p;
    .reg .b32 r<4>;
    .reg .b64 d<4>;
    mov.u32 r3, 0;
loop:
    add.u32 r3, r3, 1;
    setp.lt.u32 p, r3, 200;
    @p bra loop;
    mov.u32 r1, %smid;
    mov.u32 r2, %ctaid.x;
    ld.param.u64 d1, [out];
    mul.wide.u32 d2, r2, 4;
    add.u64 d1, d1, d2;
    st.global.u32 [d1], r1;
    ret;
}
)";

static CUdevice dev;
static CUdevResource whole;

static void parts()
{
    CUdevResource half[2], rest, fine[64], again;
    unsigned n = 0;
    CUdevResourceDesc desc;
    OK(cuDeviceGetDevResource(dev, &whole, CU_DEV_RESOURCE_TYPE_SM));
    int sms;
    OK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev));
    EXPECT(whole.type == CU_DEV_RESOURCE_TYPE_SM && whole.sm.smCount == (unsigned)sms && whole.sm.minSmPartitionSize == 8 && whole.sm.smCoscheduledAlignment == 8);
    OK(cuDevSmResourceSplitByCount(NULL, &n, &whole, NULL, 0, 10));
    EXPECT(n == (unsigned)sms / 16);
    n = 2;
    OK(cuDevSmResourceSplitByCount(half, &n, &whole, &rest, 0, 60));
    EXPECT(n == 2 && half[0].sm.smCount == 64 && half[1].sm.smCount == 64 && rest.sm.smCount == (unsigned)sms - 128);
    n = 64;
    OK(cuDevSmResourceSplitByCount(fine, &n, &whole, NULL, CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, 1));
    EXPECT(n == 64 && fine[63].sm.smCount == 2);
    EXPECT(cuDevSmResourceSplitByCount(&again, &n, &half[0], NULL, 0, 8) == CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    n = 1;
    EXPECT(cuDevSmResourceSplitByCount(&again, &n, &whole, NULL, 0, (unsigned)sms + 1) == CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    EXPECT(cuDevSmResourceSplitByCount(&again, &n, &whole, NULL, 4, 8) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuDeviceGetDevResource(dev, &again, CU_DEV_RESOURCE_TYPE_INVALID) == CUDA_ERROR_INVALID_RESOURCE_TYPE);
    EXPECT(cuDeviceGetDevResource(99, &again, CU_DEV_RESOURCE_TYPE_SM) == CUDA_ERROR_INVALID_DEVICE);
    CUdevResource mixed[2] = {half[0], fine[0]}, joined[2] = {half[1], rest}, empty = {};
    EXPECT(cuDevResourceGenerateDesc(&desc, mixed, 2) == CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    EXPECT(cuDevResourceGenerateDesc(&desc, &empty, 1) == CUDA_ERROR_INVALID_RESOURCE_TYPE);
    EXPECT(cuDevResourceGenerateDesc(&desc, NULL, 1) == CUDA_ERROR_INVALID_VALUE);
    OK(cuDevResourceGenerateDesc(&desc, joined, 2));
    CUgreenCtx g;
    EXPECT(cuGreenCtxCreate(&g, desc, dev, 0) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuGreenCtxCreate(&g, NULL, dev, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_ERROR_INVALID_VALUE);
    OK(cuGreenCtxCreate(&g, desc, dev, CU_GREEN_CTX_DEFAULT_STREAM));
    OK(cuGreenCtxGetDevResource(g, &again, CU_DEV_RESOURCE_TYPE_SM));
    EXPECT(again.sm.smCount == (unsigned)sms - 64);
    n = 1;
    OK(cuDevSmResourceSplitByCount(fine, &n, &again, NULL, 0, 8));     // of a green context, parts can be cut again
    OK(cuGreenCtxDestroy(g));
    EXPECT(cuGreenCtxDestroy(g) == CUDA_ERROR_INVALID_CONTEXT);
}

static void contexts()
{
    enum { BLOCKS = 1000 };
    CUdevResource part[2];
    unsigned n = 2;
    CUdevResourceDesc desc;
    CUgreenCtx green[2], of;
    CUcontext primary, ctx, again;
    CUstream stream[2], plain;
    CUmodule module;
    CUfunction where;
    CUdeviceptr out[2];
    CUevent all;
    unsigned long long id[2];
    OK(cuDevicePrimaryCtxRetain(&primary, dev));
    OK(cuDevSmResourceSplitByCount(part, &n, &whole, NULL, 0, 16));
    for (int i = 0; i < 2; i++) {
        OK(cuDevResourceGenerateDesc(&desc, &part[i], 1));
        OK(cuGreenCtxCreate(&green[i], desc, dev, CU_GREEN_CTX_DEFAULT_STREAM));
        OK(cuGreenCtxGetId(green[i], &id[i]));
    }
    EXPECT(id[0] != id[1]);
    OK(cuCtxFromGreenCtx(&ctx, green[0]));
    OK(cuCtxSetCurrent(ctx));
    OK(cuModuleLoadData(&module, ptx));
    OK(cuModuleGetFunction(&where, module, "where"));
    EXPECT(cuGreenCtxStreamCreate(&stream[0], green[0], CU_STREAM_DEFAULT, 0) == CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&all, CU_EVENT_DISABLE_TIMING));
    unsigned host[2][BLOCKS];
    for (int i = 0; i < 2; i++) {
        OK(cuGreenCtxStreamCreate(&stream[i], green[i], CU_STREAM_NON_BLOCKING, 0));
        OK(cuStreamGetGreenCtx(stream[i], &of));
        EXPECT(of == green[i]);
        OK(cuStreamGetCtx_v2(stream[i], &again, &of));
        EXPECT(again == primary && of == green[i]);
        OK(cuMemAlloc(&out[i], sizeof host[i]));
        void *params[] = {&out[i]};
        OK(cuLaunchKernel(where, BLOCKS, 1, 1, 32, 1, 1, 0, stream[i], params, NULL));
    }
    // a copy that waits for both, and the host for the copy
    OK(cuGreenCtxRecordEvent(green[0], all));
    OK(cuStreamWaitEvent(plain, all, 0));
    OK(cuCtxRecordEvent(ctx, all));
    OK(cuCtxWaitEvent(ctx, all));
    OK(cuGreenCtxWaitEvent(green[1], all));
    CUstream late;
    OK(cuStreamCreate(&late, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 2; i++)
        OK(cuMemcpyDtoHAsync(host[i], out[i], sizeof host[i], late));
    OK(cuCtxRecordEvent(NULL, all));
    OK(cuEventSynchronize(all));
    std::set<unsigned> seen[2];
    for (int i = 0; i < 2; i++)
        seen[i].insert(host[i], host[i] + BLOCKS);
    if (getenv("PARTS")) {
        EXPECT(seen[0].size() == 16 && seen[1].size() == 16);
        for (unsigned sm : seen[0])
            EXPECT(!seen[1].count(sm));
    }
    CUcontext other;
    CUevent foreign;
    OK(cuCtxCreate(&other, NULL, 0, dev));
    OK(cuEventCreate(&foreign, 0));
    EXPECT(cuGreenCtxRecordEvent(green[0], foreign) == CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxDestroy(other));
    OK(cuCtxSetCurrent(ctx));
    OK(cuStreamBeginCapture(plain, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT(cuCtxRecordEvent(ctx, all) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUgraph graph;
    EXPECT(cuStreamEndCapture(plain, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    for (int i = 0; i < 2; i++) {
        OK(cuStreamDestroy(stream[i]));
        OK(cuGreenCtxDestroy(green[i]));
    }
    OK(cuDevicePrimaryCtxRelease(dev));
}

// A context of its own: what is made while it is current is its.
static void as_context()
{
    enum { BLOCKS = 500 };
    CUdevResource part, mine;
    unsigned n = 1, host[2][BLOCKS];
    unsigned long long id, again_id;
    CUdevResourceDesc desc;
    CUgreenCtx green, of;
    CUcontext primary, ctx, again;
    CUstream stream;
    CUmodule module;
    CUfunction where;
    CUdeviceptr out[2];
    CUevent event;
    OK(cuDevicePrimaryCtxRetain(&primary, dev));
    OK(cuDevSmResourceSplitByCount(&part, &n, &whole, NULL, 0, 16));
    OK(cuDevResourceGenerateDesc(&desc, &part, 1));
    OK(cuGreenCtxCreate(&green, desc, dev, CU_GREEN_CTX_DEFAULT_STREAM));
    OK(cuCtxFromGreenCtx(&ctx, green));
    OK(cuCtxFromGreenCtx(&again, green));
    EXPECT(ctx != primary && ctx == again);
    OK(cuCtxSetCurrent(primary));
    OK(cuCtxPushCurrent(ctx));
    OK(cuCtxGetCurrent(&again));
    EXPECT(again == ctx);
    OK(cuCtxGetDevResource(ctx, &mine, CU_DEV_RESOURCE_TYPE_SM));
    EXPECT(mine.sm.smCount == part.sm.smCount);
    OK(cuCtxGetDevResource(primary, &mine, CU_DEV_RESOURCE_TYPE_SM));
    EXPECT(mine.sm.smCount == whole.sm.smCount);
    OK(cuGreenCtxGetId(green, &id));
    OK(cuCtxGetId(ctx, &again_id));
    EXPECT(id == again_id);
    OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    OK(cuStreamGetCtx(stream, &again));
    EXPECT(again == ctx);
    OK(cuStreamGetCtx_v2(NULL, &again, &of));
    EXPECT(again == primary && of == green);
    EXPECT(cuStreamGetCtx_v2(CU_STREAM_PER_THREAD, &again, &of) == CUDA_ERROR_INVALID_HANDLE);
    OK(cuModuleLoadData(&module, ptx));
    OK(cuModuleGetFunction(&where, module, "where"));
    for (int i = 0; i < 2; i++) {
        OK(cuMemAlloc(&out[i], sizeof host[i]));
        void *params[] = {&out[i]};
        OK(cuLaunchKernel(where, BLOCKS, 1, 1, 32, 1, 1, 0, i ? stream : NULL, params, NULL));
    }
    OK(cuCtxSynchronize());
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuCtxRecordEvent(ctx, event));
    OK(cuEventQuery(event));
    OK(cuCtxPopCurrent(&again));
    EXPECT(again == ctx);
    OK(cuCtxGetCurrent(&again));
    EXPECT(again == primary);
    std::set<unsigned> seen;
    for (int i = 0; i < 2; i++) {              // memory is the primary context's
        OK(cuMemcpyDtoH(host[i], out[i], sizeof host[i]));
        OK(cuMemFree(out[i]));
        seen.insert(host[i], host[i] + BLOCKS);
    }
    EXPECT(!getenv("PARTS") || seen.size() == 16);
    EXPECT(cuCtxDestroy(ctx) == CUDA_ERROR_INVALID_CONTEXT);
    OK(cuStreamDestroy(stream));
    OK(cuCtxSetCurrent(ctx));
    OK(cuGreenCtxDestroy(green));
    EXPECT(cuStreamCreate(&stream, CU_STREAM_DEFAULT) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT(cuCtxSetCurrent(ctx) == CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxSetCurrent(NULL));
    OK(cuDevicePrimaryCtxRelease(dev));
}

static void dumps()
{
    bool on = true;
    unsigned flags;
    size_t size = 0;
    char name[1024];
    CUcontext ctx;
    OK(cuCtxCreate(&ctx, NULL, 0, dev));
    OK(cuCoredumpGetAttribute(CU_COREDUMP_FILE, NULL, &size));
    EXPECT(size > strlen("core.cuda.") && size < 400);
    size = sizeof name;
    OK(cuCoredumpGetAttribute(CU_COREDUMP_FILE, name, &size));
    EXPECT(strncmp(name, "core.cuda.", 10) == 0);
    size = sizeof on;
    OK(cuCoredumpGetAttribute(CU_COREDUMP_TRIGGER_HOST, &on, &size));
    EXPECT(on);
    OK(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size));
    EXPECT(!on);
    on = true;
    OK(cuCoredumpSetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size));
    on = false;
    OK(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size));
    EXPECT(on);                                // as for all
    on = true;
    OK(cuCoredumpSetAttribute(CU_COREDUMP_LIGHTWEIGHT, &on, &size));
    size = sizeof flags;
    OK(cuCoredumpGetAttribute(CU_COREDUMP_GENERATION_FLAGS, &flags, &size));
    EXPECT(flags == CU_COREDUMP_LIGHTWEIGHT_FLAGS);
    OK(cuCoredumpGetAttributeGlobal(CU_COREDUMP_GENERATION_FLAGS, &flags, &size));
    EXPECT(flags == 0);
    size = sizeof on;
    EXPECT(cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_USER_TRIGGER, &on, &size) == CUDA_ERROR_NOT_PERMITTED);
    EXPECT(cuCoredumpGetAttribute((CUcoredumpSettings)0, &on, &size) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuCoredumpGetAttribute(CU_COREDUMP_FILE, name, &size) == CUDA_ERROR_INVALID_VALUE);
    size = 6;
    OK(cuCoredumpSetAttribute(CU_COREDUMP_FILE, (void *)"a.dump", &size));
    size = sizeof name;
    OK(cuCoredumpGetAttribute(CU_COREDUMP_FILE, name, &size));
    EXPECT(strcmp(name, "a.dump") == 0);
    OK(cuCtxDestroy(ctx));
}

static void imports()
{
    CUcontext ctx;
    CUexternalMemory memory;
    CUexternalSemaphore semaphore;
    CUdeviceptr address;
    OK(cuCtxCreate(&ctx, NULL, 0, dev));
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC m = {};
    m.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    m.handle.fd = open("/dev/null", O_RDONLY);
    EXPECT(cuImportExternalMemory(&memory, &m) == CUDA_ERROR_INVALID_VALUE);       // of no size
    m.size = 4096;
    EXPECT(cuImportExternalMemory(&memory, &m) == CUDA_ERROR_NOT_SUPPORTED);
    EXPECT(cuImportExternalMemory(&memory, NULL) == CUDA_ERROR_INVALID_VALUE);
    m.flags = 2;
    EXPECT(cuImportExternalMemory(&memory, &m) == CUDA_ERROR_INVALID_VALUE);
    m.flags = CUDA_EXTERNAL_MEMORY_DEDICATED;
    close(m.handle.fd);
    EXPECT(cuImportExternalMemory(&memory, &m) == CUDA_ERROR_INVALID_HANDLE);
    m.type = (CUexternalMemoryHandleType)77;
    EXPECT(cuImportExternalMemory(&memory, &m) == CUDA_ERROR_INVALID_VALUE);
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC b = {};
    EXPECT(cuExternalMemoryGetMappedBuffer(&address, (CUexternalMemory)1, &b) == CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuDestroyExternalMemory((CUexternalMemory)1) == CUDA_ERROR_INVALID_HANDLE);
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC s = {};
    EXPECT(cuImportExternalSemaphore(&semaphore, &s) == CUDA_ERROR_INVALID_VALUE);
    s.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC;
    EXPECT(cuImportExternalSemaphore(&semaphore, &s) == CUDA_ERROR_NOT_SUPPORTED);
    semaphore = (CUexternalSemaphore)1;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS p = {};
    EXPECT(cuSignalExternalSemaphoresAsync(&semaphore, &p, 1, 0) == CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuSignalExternalSemaphoresAsync(NULL, &p, 1, 0) == CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxDestroy(ctx));
}

int main()
{
    OK(cuInit(0));
    OK(cuDeviceGet(&dev, 0));
    parts();
    contexts();
    as_context();
    dumps();
    imports();
    printf(failures ? "" : "PASS\n");
    return failures != 0;
}
