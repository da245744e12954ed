// batch: many copies, boxes, prefetches and discards in one call; attributes of streams; error logs; access to reserved memory.
#include "app.h"
#include <string>

static void copies(cudaStream_t s)
{
    const int parts = 5, n = 100;
    int host[parts][n], back[parts][n], *dev[parts];
    void *dsts[parts];
    const void *srcs[parts];
    size_t sizes[parts], first[2] = {0, 3};
    cudaMemcpyAttributes attrs[2] = {};
    attrs[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream, attrs[1].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
    for (int i = 0; i < parts; i++) {
        for (int k = 0; k < n; k++)
            host[i][k] = 1000 * i + k;
        OK(cudaMalloc(&dev[i], sizeof host[i]));
        dsts[i] = dev[i], srcs[i] = host[i], sizes[i] = sizeof host[i] - i * sizeof(int);
    }
    memset(back, 0, sizeof back);
    OK(cudaMemcpyBatchAsync(dsts, srcs, sizes, parts, attrs, first, 2, s));
    for (int i = 0; i < parts; i++)
        srcs[i] = dev[i], dsts[i] = back[i];
    OK(cudaMemcpyBatchAsync(dsts, srcs, sizes, parts, attrs, first, 1, s));
    OK(cudaStreamSynchronize(s));
    for (int i = 0; i < parts; i++)
        for (int k = 0; k < n; k++)
            EXPECT(back[i][k] == (k < n - i ? host[i][k] : 0), "part %d, element %d is %d", i, k, back[i][k]);
    EXPECT_ERROR(cudaMemcpyBatchAsync(dsts, srcs, sizes, parts, attrs, first, 2, 0), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemcpyBatchAsync(dsts, srcs, sizes, parts, attrs, first, 0, s), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, attrs, first, 2, s), cudaErrorInvalidValue); // the second index is out of range
    attrs[0].srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    EXPECT_ERROR(cudaMemcpyBatchAsync(dsts, srcs, sizes, parts, attrs, first, 1, s), cudaErrorInvalidValue);
    for (int i = 0; i < parts; i++)
        OK(cudaFree(dev[i]));
}

static void boxes(cudaStream_t s)
{
    const int w = 7, h = 5, d = 3;
    float box[d][h][w], out[d][h][w];
    for (int i = 0; i < w * h * d; i++)
        (&box[0][0][0])[i] = (float)i;
    memset(out, 0, sizeof out);
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    OK(cudaMalloc3DArray(&array, &desc, make_cudaExtent(w, h, d)));
    cudaMemcpy3DBatchOp op = {};
    op.src.type = cudaMemcpyOperandTypePointer, op.src.op.ptr.ptr = box, op.src.op.ptr.rowLength = w, op.src.op.ptr.layerHeight = h;
    op.dst.type = cudaMemcpyOperandTypeArray, op.dst.op.array.array = array;
    op.extent = make_cudaExtent(w, h, d), op.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    OK(cudaMemcpy3DBatchAsync(1, &op, 0, s));
    cudaMemcpy3DBatchOp back = {}; // a part of it, from (2, 1, 1) on
    back.src.type = cudaMemcpyOperandTypeArray, back.src.op.array.array = array, back.src.op.array.offset = {2, 1, 1};
    back.dst.type = cudaMemcpyOperandTypePointer, back.dst.op.ptr.ptr = out, back.dst.op.ptr.rowLength = w, back.dst.op.ptr.layerHeight = h;
    back.extent = make_cudaExtent(3, 2, 2), back.srcAccessOrder = cudaMemcpySrcAccessOrderAny;
    OK(cudaMemcpy3DBatchAsync(1, &back, 0, s));
    OK(cudaStreamSynchronize(s));
    for (int z = 0; z < d; z++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                float want = z < 2 && y < 2 && x < 3 ? box[z + 1][y + 1][x + 2] : 0.0f;
                EXPECT(out[z][y][x] == want, "(%d, %d, %d) is %g, not %g", x, y, z, out[z][y][x], want);
            }
    back.extent.width = 6;
    EXPECT_ERROR(cudaMemcpy3DBatchAsync(1, &back, 0, s), cudaErrorInvalidValue);
    back.extent.width = 3, back.dst.op.ptr.rowLength = 2;
    EXPECT_ERROR(cudaMemcpy3DBatchAsync(1, &back, 0, s), cudaErrorInvalidValue);
    OK(cudaFreeArray(array));
}

static void managed(cudaStream_t s)
{
    int *m;
    OK(cudaMallocManaged(&m, 4096));
    void *ptrs[2] = {m, m + 512};
    size_t sizes[2] = {2048, 2048}, first[1] = {0};
    cudaMemLocation where = {cudaMemLocationTypeDevice, {0}}, nowhere = {cudaMemLocationTypeDevice, {77}};
    OK(cudaMemPrefetchBatchAsync(ptrs, sizes, 2, &where, first, 1, 0, s));
    OK(cudaMemDiscardBatchAsync(ptrs, sizes, 1, 0, s));
    OK(cudaMemDiscardAndPrefetchBatchAsync(ptrs, sizes, 2, &where, first, 1, 0, s));
    EXPECT_ERROR(cudaMemPrefetchBatchAsync(ptrs, sizes, 2, &nowhere, first, 1, 0, s), cudaErrorInvalidDevice);
    sizes[1] = 4096;
    EXPECT_ERROR(cudaMemDiscardBatchAsync(ptrs, sizes, 2, 0, s), cudaErrorInvalidValue);
    OK(cudaStreamSynchronize(s));
    OK(cudaFree(m));
}

static int asked(const void *p, size_t n, cudaMemRangeAttribute what)
{
    int v = 77;
    OK(cudaMemRangeGetAttribute(&v, sizeof v, what, p, n));
    return v;
}

// What was advised is answered for a range when it holds for all of its pages.
static void advice()
{
    const size_t page = 4096;
    char *m;
    cudaMemLocation gpu = {cudaMemLocationTypeDevice, {0}}, cpu = {cudaMemLocationTypeHost, {0}};
    OK(cudaMallocManaged(&m, 8 * page));
    EXPECT(asked(m, 8 * page, cudaMemRangeAttributePreferredLocation) == cudaInvalidDeviceId && !asked(m, page, cudaMemRangeAttributeReadMostly), "advice from nowhere");
    OK(cudaMemAdvise(m, 4 * page, cudaMemAdviseSetReadMostly, gpu));
    OK(cudaMemAdvise(m + 2 * page, 4 * page, cudaMemAdviseSetPreferredLocation, gpu));
    OK(cudaMemAdvise(m, 8 * page, cudaMemAdviseSetAccessedBy, cpu));
    OK(cudaMemAdvise(m, page, cudaMemAdviseSetAccessedBy, gpu));
    OK(cudaMemPrefetchAsync(m + page + 1, page, gpu, 0, 0)); // two pages
    EXPECT(asked(m, 4 * page, cudaMemRangeAttributeReadMostly) == 1 && asked(m, 5 * page, cudaMemRangeAttributeReadMostly) == 0, "read mostly");
    EXPECT(asked(m + 2 * page, 4 * page, cudaMemRangeAttributePreferredLocation) == 0 && asked(m, 4 * page, cudaMemRangeAttributePreferredLocation) == cudaInvalidDeviceId, "preferred");
    EXPECT(asked(m + page, 2 * page, cudaMemRangeAttributeLastPrefetchLocation) == 0 && asked(m + page, 3 * page, cudaMemRangeAttributeLastPrefetchLocation) == cudaInvalidDeviceId, "prefetched");
    EXPECT(asked(m + 2 * page, page, cudaMemRangeAttributePreferredLocationType) == cudaMemLocationTypeDevice, "its type");
    int by[3];
    OK(cudaMemRangeGetAttribute(by, sizeof by, cudaMemRangeAttributeAccessedBy, m, page));
    EXPECT(by[0] == 0 && by[1] == cudaCpuDeviceId && by[2] == cudaInvalidDeviceId, "accessed by %d, %d, %d", by[0], by[1], by[2]);
    OK(cudaMemRangeGetAttribute(by, sizeof by, cudaMemRangeAttributeAccessedBy, m, 2 * page));
    EXPECT(by[0] == cudaCpuDeviceId && by[1] == cudaInvalidDeviceId, "accessed by %d, %d", by[0], by[1]);
    OK(cudaMemAdvise(m, 8 * page, cudaMemAdviseUnsetPreferredLocation, gpu));
    EXPECT(asked(m + 2 * page, page, cudaMemRangeAttributePreferredLocation) == cudaInvalidDeviceId, "preferred after all");
    EXPECT_ERROR(cudaMemAdvise(m, 9 * page, cudaMemAdviseSetReadMostly, gpu), cudaErrorInvalidValue);
    OK(cudaFree(m));
}

static void attributes(cudaStream_t s)
{
    cudaStreamAttrValue v = {}, got = {};
    cudaStream_t other;
    OK(cudaStreamCreate(&other));
    OK(cudaStreamGetAttribute(s, cudaStreamAttributeSynchronizationPolicy, &got));
    EXPECT(got.syncPolicy == cudaSyncPolicyAuto, "the policy is %d", (int)got.syncPolicy);
    v.syncPolicy = cudaSyncPolicyYield;
    OK(cudaStreamSetAttribute(s, cudaStreamAttributeSynchronizationPolicy, &v));
    v.accessPolicyWindow.base_ptr = &v, v.accessPolicyWindow.num_bytes = 4096, v.accessPolicyWindow.hitRatio = 0.5f;
    OK(cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &v));
    OK(cudaStreamCopyAttributes(other, s));
    OK(cudaStreamGetAttribute(other, cudaStreamAttributeSynchronizationPolicy, &got));
    EXPECT(got.syncPolicy == cudaSyncPolicyYield, "the copied policy is %d", (int)got.syncPolicy);
    OK(cudaStreamGetAttribute(other, cudaStreamAttributeAccessPolicyWindow, &got));
    EXPECT(got.accessPolicyWindow.num_bytes == 4096 && got.accessPolicyWindow.hitRatio == 0.5f, "the copied window has %zu bytes", got.accessPolicyWindow.num_bytes);
    v.priority = -3;
    OK(cudaStreamSetAttribute(other, cudaStreamAttributePriority, &v));
    int priority;
    OK(cudaStreamGetPriority(other, &priority));
    EXPECT(priority == -3, "the priority is %d", priority);
    EXPECT_ERROR(cudaStreamSetAttribute(s, (cudaStreamAttrID)cudaLaunchAttributeClusterDimension, &v), cudaErrorInvalidValue);
    OK(cudaStreamDestroy(other));
}

static std::string heard;
static void listener(void *data, cudaLogLevel level, char *message, size_t length)
{
    *(int *)data += level == cudaLogLevelError;
    heard.assign(message, length);
}

static void logs()
{
    int errors = 0;
    cudaLogsCallbackHandle handle;
    cudaLogIterator at, end;
    char text[4096];
    size_t size = sizeof text;
    OK(cudaLogsCurrent(&at, 0));
    OK(cudaLogsRegisterCallback(listener, &errors, &handle));
    cudaLibrary_t library;
    EXPECT_ERROR(cudaLibraryLoadData(&library, "no code at all", nullptr, nullptr, 0, nullptr, nullptr, 0), cudaErrorInvalidPtx);
    OK(cudaLogsUnregisterCallback(handle));
    EXPECT_ERROR(cudaLogsUnregisterCallback(handle), cudaErrorInvalidValue);
    EXPECT(errors >= 1 && heard.find("module") != std::string::npos, "%d errors heard, the last: %s", errors, heard.c_str());
    end = at;
    OK(cudaLogsDumpToMemory(&end, text, &size, 0));
    EXPECT(end > at && size == strlen(text) && strstr(text, "module"), "%zu bytes: %s", size, text);
    size = sizeof text;
    OK(cudaLogsDumpToMemory(&end, text, &size, 0));
    EXPECT(size == 0, "%zu bytes behind the end", size);
    size = 20;
    EXPECT_ERROR(cudaLogsDumpToMemory(&at, text, &size, 0), cudaErrorInvalidValue);
    EXPECT(size == 0, "%zu bytes in too little room", size);
}

int main(void)
{
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    copies(s);
    boxes(s);
    managed(s);
    advice();
    attributes(s);
    logs();
    return app_verdict();
}
