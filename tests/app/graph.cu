/* Graphs: nodes of every kind made by hand, capture with forks and joins, update, clones, child graphs, memory nodes, and what capture forbids. */
#include "app.h"

#define CHECK(cond) EXPECT(cond, "line %d: %s", __LINE__, #cond)

__global__ void add(int *p, int n, int v)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] += v;
}
__global__ void scale(int *p, int n, int v)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] *= v;
}
__global__ void sum(const int *a, const int *b, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a[i] + b[i];
}

enum { N = 1000 };
static int seen;
static int host[N];

static void CUDART_CB see(void *user) { seen += ((int *)user)[N - 1]; }

static cudaKernelNodeParams kernel_params(void *f, void **args)
{
    cudaKernelNodeParams p = {};
    p.func = f;
    p.gridDim = dim3((N + 127) / 128);
    p.blockDim = dim3(128);
    p.kernelParams = args;
    return p;
}

/* memset -> add -> copy to pageable memory -> host function; then other parameters in the exec, an enabled switch, an update and a clone. */
static void by_hand()
{
    int *d, n = N, v = 5;
    OK(cudaMalloc(&d, N * sizeof(int)));
    cudaGraph_t g;
    OK(cudaGraphCreate(&g, 0));
    cudaGraphNode_t set, k, copy, h, empty;
    cudaMemsetParams m = {};
    m.dst = d, m.value = 7, m.elementSize = 4, m.width = N, m.height = 1;
    OK(cudaGraphAddMemsetNode(&set, g, NULL, 0, &m));
    void *args[] = {&d, &n, &v};
    cudaKernelNodeParams p = kernel_params((void *)add, args);
    OK(cudaGraphAddKernelNode(&k, g, &set, 1, &p));
    OK(cudaGraphAddMemcpyNode1D(&copy, g, &k, 1, host, d, sizeof host, cudaMemcpyDeviceToHost));
    cudaHostNodeParams hp = {see, host};
    OK(cudaGraphAddHostNode(&h, g, NULL, 0, &hp));
    OK(cudaGraphAddEmptyNode(&empty, g, &h, 1));
    v = 1000;                                  /* parameters were read when the node was made */

    size_t count = 0, edges = 0;
    OK(cudaGraphGetNodes(g, NULL, &count));
    CHECK(count == 5);
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(copy, &type));
    CHECK(type == cudaGraphNodeTypeMemcpy);
    cudaKernelNodeParams back;
    OK(cudaGraphKernelNodeGetParams(k, &back));
    CHECK(back.func == (void *)add && back.blockDim.x == 128 && *(int *)back.kernelParams[2] == 5);

#if CUDART_VERSION >= 13000
    OK(cudaGraphAddDependencies(g, &copy, &h, NULL, 1));
    CHECK(cudaGraphAddDependencies(g, &copy, &h, NULL, 1) == cudaErrorInvalidValue);
    OK(cudaGraphGetEdges(g, NULL, NULL, NULL, &edges));
    CHECK(edges == 4);
    OK(cudaGraphAddDependencies(g, &empty, &set, NULL, 1));
    cudaGraphExec_t bad;
    CHECK(cudaGraphInstantiate(&bad, g, 0) == cudaErrorInvalidValue);          /* a cycle */
    OK(cudaGraphRemoveDependencies(g, &empty, &set, NULL, 1));
#else
    OK(cudaGraphAddDependencies(g, &copy, &h, 1));
    OK(cudaGraphGetEdges(g, NULL, NULL, &edges));
    CHECK(edges == 4);
#endif
    size_t roots = 0;
    OK(cudaGraphGetRootNodes(g, NULL, &roots));
    CHECK(roots == 1);

    cudaGraphExec_t x;
    OK(cudaGraphInstantiate(&x, g, 0));
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaGraphUpload(x, s));
    for (int i = 0; i < 3; i++)
        OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    CHECK(seen == 36 && host[0] == 12);

    v = 100;
    OK(cudaGraphExecKernelNodeSetParams(x, k, &p));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    CHECK(host[N / 2] == 107);
    OK(cudaGraphNodeSetEnabled(x, k, 0));
    unsigned on = 1;
    OK(cudaGraphNodeGetEnabled(x, k, &on));
    CHECK(!on);
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    CHECK(host[N / 2] == 7);
    OK(cudaGraphNodeSetEnabled(x, k, 1));
    CHECK(cudaGraphNodeSetEnabled(x, h, 0) == cudaErrorInvalidValue);

    cudaGraph_t clone;
    OK(cudaGraphClone(&clone, g));
    cudaGraphNode_t k2;
    OK(cudaGraphNodeFindInClone(&k2, k, clone));
    v = 30;
    OK(cudaGraphKernelNodeSetParams(k2, &p));
    cudaGraphExecUpdateResultInfo info;
    OK(cudaGraphExecUpdate(x, clone, &info));
    CHECK(info.result == cudaGraphExecUpdateSuccess);
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    CHECK(host[1] == 37);
    cudaGraphNode_t more;
    OK(cudaGraphAddEmptyNode(&more, clone, NULL, 0));
    CHECK(cudaGraphExecUpdate(x, clone, &info) == cudaErrorGraphExecUpdateFailure && info.result == cudaGraphExecUpdateErrorTopologyChanged);
    OK(cudaGraphDestroyNode(more));

    cudaGraph_t outer;                         /* the clone twice, one after the other */
    OK(cudaGraphCreate(&outer, 0));
    cudaGraphNode_t c1, c2;
    OK(cudaGraphAddChildGraphNode(&c1, outer, NULL, 0, clone));
    OK(cudaGraphAddChildGraphNode(&c2, outer, &c1, 1, clone));
    OK(cudaGraphDestroy(clone));
    cudaGraphExec_t y;
    OK(cudaGraphInstantiate(&y, outer, 0));
    seen = 0;
    OK(cudaGraphLaunch(y, s));
    OK(cudaStreamSynchronize(s));
    CHECK(seen == 74);
    OK(cudaGraphExecDestroy(y));
    OK(cudaGraphDestroy(outer));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    CHECK(cudaGraphLaunch(NULL, s) == cudaErrorInvalidValue);
    OK(cudaStreamDestroy(s));
    OK(cudaFree(d));
}

/* a: set, add; b, forked by an event: set, scale; joined: sum, copy, host function. The same work captured again updates the exec. */
static cudaGraph_t capture(cudaStream_t s, cudaStream_t t, int *d, int v)
{
    cudaEvent_t fork, join;
    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    cudaGraph_t g;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(d, 0, 2 * N * sizeof(int), s));
    OK(cudaEventRecord(fork, s));
    OK(cudaStreamWaitEvent(t, fork, 0));
    add<<<(N + 127) / 128, 128, 0, s>>>(d, N, v);
    add<<<(N + 127) / 128, 128, 0, t>>>(d + N, N, 1);
    scale<<<(N + 127) / 128, 128, 0, t>>>(d + N, N, 10);
    OK(cudaEventRecord(join, t));
    OK(cudaStreamWaitEvent(s, join, 0));
    sum<<<(N + 127) / 128, 128, 0, s>>>(d, d + N, d + 2 * N, N);
    OK(cudaMemcpyAsync(host, d + 2 * N, sizeof host, cudaMemcpyDeviceToHost, s));
    OK(cudaLaunchHostFunc(s, see, host));
    cudaStreamCaptureStatus status;
    OK(cudaStreamIsCapturing(t, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaStreamIsCapturing(t, &status));
    CHECK(status == cudaStreamCaptureStatusNone);
    CHECK(cudaEventQuery(join) == cudaErrorCapturedEvent);
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(join));
    return g;
}

static void captured()
{
    int *d;
    cudaStream_t s, t;
    OK(cudaMalloc(&d, 3 * N * sizeof(int)));
    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreate(&t));
    seen = 0;
    memset(host, 0, sizeof host);
    cudaGraph_t g = capture(s, t, d, 3);
    CHECK(seen == 0 && host[0] == 0);
    size_t count = 0;
    OK(cudaGraphGetNodes(g, NULL, &count));
    CHECK(count == 7);
    cudaGraphExec_t x;
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaGraphLaunch(x, t));                 /* not beside the first: behind it */
    OK(cudaDeviceSynchronize());
    CHECK(seen == 26 && host[N - 1] == 13);
    cudaGraph_t again = capture(s, t, d, 50);
    cudaGraphExecUpdateResultInfo info;
    OK(cudaGraphExecUpdate(x, again, &info));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    CHECK(host[0] == 60);
    OK(cudaGraphDebugDotPrint(g, "/dev/null", 0));
    OK(cudaGraphDestroy(again));
    OK(cudaGraphDestroy(g));

    cudaGraph_t outer;                         /* a graph launched into a capture becomes a child graph */
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamEndCapture(s, &outer));
    OK(cudaGraphGetNodes(outer, NULL, &count));
    CHECK(count == 1);
    OK(cudaGraphDestroy(outer));
    OK(cudaGraphExecDestroy(x));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(t));
    OK(cudaFree(d));
}

static void memory()
{
    cudaGraph_t g;
    cudaGraphNode_t a1, set, copy, f1, a2;
    OK(cudaGraphCreate(&g, 0));
    cudaMemAllocNodeParams p = {};
    p.poolProps.allocType = cudaMemAllocationTypePinned;
    p.poolProps.location.type = cudaMemLocationTypeDevice;
    p.bytesize = N * sizeof(int);
    OK(cudaGraphAddMemAllocNode(&a1, g, NULL, 0, &p));
    void *d = p.dptr;
    CHECK(d);
    cudaMemsetParams m = {};
    m.dst = d, m.value = 9, m.elementSize = 4, m.width = N, m.height = 1;
    OK(cudaGraphAddMemsetNode(&set, g, &a1, 1, &m));
    OK(cudaGraphAddMemcpyNode1D(&copy, g, &set, 1, host, d, sizeof host, cudaMemcpyDefault));
    OK(cudaGraphAddMemFreeNode(&f1, g, &copy, 1, d));
    OK(cudaGraphAddMemAllocNode(&a2, g, &f1, 1, &p));   /* not freed by the graph */
    cudaGraph_t clone;
    CHECK(cudaGraphClone(&clone, g) == cudaErrorNotSupported);
    cudaGraphExec_t x, y;
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, 0));
    OK(cudaDeviceSynchronize());
    CHECK(host[5] == 9);
    CHECK(cudaGraphLaunch(x, 0) == cudaErrorInvalidValue);
    OK(cudaMemset(p.dptr, 0, p.bytesize));
    OK(cudaFreeAsync(p.dptr, 0));
    OK(cudaGraphLaunch(x, 0));
    OK(cudaFree(p.dptr));
    unsigned long long used = 1;
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
    CHECK(used == sizeof host);
    OK(cudaDeviceGraphMemTrim(0));
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
    CHECK(used == 0);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphInstantiate(&y, g, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    OK(cudaGraphLaunch(y, 0));
    OK(cudaGraphLaunch(y, 0));
    OK(cudaFree(p.dptr));
    OK(cudaGraphExecDestroy(y));
    OK(cudaGraphDestroy(g));

    cudaStream_t s;                            /* the same, captured */
    OK(cudaStreamCreate(&s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync(&d, sizeof host, s));
    OK(cudaMemsetAsync(d, 0, sizeof host, s));
    add<<<(N + 127) / 128, 128, 0, s>>>((int *)d, N, 21);
    OK(cudaMemcpyAsync(host, d, sizeof host, cudaMemcpyDeviceToHost, s));
    OK(cudaFreeAsync(d, s));
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    CHECK(host[N - 1] == 21);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaStreamDestroy(s));
}

/* Events as nodes: of one stream's graph, and waited for outside. */
static void events()
{
    int *d;
    cudaEvent_t e;
    cudaStream_t s, t;
    OK(cudaMalloc(&d, N * sizeof(int)));
    OK(cudaMemset(d, 0, N * sizeof(int)));
    OK(cudaEventCreate(&e));
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    cudaGraph_t g;
    cudaGraphNode_t k, r, w;
    OK(cudaGraphCreate(&g, 0));
    int n = N, v = 4;
    void *args[] = {&d, &n, &v};
    cudaKernelNodeParams p = kernel_params((void *)add, args);
    OK(cudaGraphAddEventWaitNode(&w, g, NULL, 0, e));
    OK(cudaGraphAddKernelNode(&k, g, &w, 1, &p));
    OK(cudaGraphAddEventRecordNode(&r, g, &k, 1, e));
    cudaEvent_t same;
    OK(cudaGraphEventRecordNodeGetEvent(r, &same));
    CHECK(same == e);
    cudaGraphExec_t x;
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamWaitEvent(t, e, 0));
    OK(cudaMemcpyAsync(host, d, sizeof host, cudaMemcpyDeviceToHost, t));
    OK(cudaStreamSynchronize(t));
    CHECK(host[7] == 4);
    OK(cudaEventSynchronize(e));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));        /* external events are nodes, not forks */
    OK(cudaStreamWaitEvent(s, e, cudaEventWaitExternal));
    OK(cudaEventRecordWithFlags(e, s, cudaEventRecordExternal));
    OK(cudaStreamEndCapture(s, &g));
    size_t count = 0;
    OK(cudaGraphGetNodes(g, NULL, &count));
    CHECK(count == 2);
    OK(cudaGraphDestroy(g));
    OK(cudaEventQuery(e));
    OK(cudaEventDestroy(e));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(t));
    OK(cudaFree(d));
}

static int destroyed;
static void CUDART_CB destroy(void *p) { destroyed += *(int *)p; }

static void user_objects()
{
    int one = 1;
    cudaUserObject_t o;
    cudaGraph_t g;
    OK(cudaUserObjectCreate(&o, &one, destroy, 1, cudaUserObjectNoDestructorSync));
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphRetainUserObject(g, o, 1, cudaGraphUserObjectMove));
    cudaGraphExec_t x;
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphDestroy(g));
    CHECK(!destroyed);
    OK(cudaGraphExecDestroy(x));
    OK(cudaDeviceSynchronize());
    CHECK(destroyed == 1);
}

static void misuse()
{
    cudaStream_t s, t;
    cudaEvent_t e;
    cudaGraph_t g = NULL;
    void *p;
    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreate(&t));
    OK(cudaEventCreate(&e));
    CHECK(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal) == cudaErrorStreamCaptureUnsupported);
    CHECK(cudaStreamEndCapture(s, &g) == cudaErrorIllegalState);

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal) == cudaErrorIllegalState);
    CHECK(cudaStreamSynchronize(s) == cudaErrorStreamCaptureUnsupported);
    cudaStreamCaptureStatus status;
    OK(cudaStreamIsCapturing(s, &status));
    CHECK(status == cudaStreamCaptureStatusInvalidated);
    CHECK(cudaStreamEndCapture(s, &g) == cudaErrorStreamCaptureInvalidated && !g);

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(cudaMalloc(&p, 64) == cudaErrorStreamCaptureUnsupported);
    CHECK(cudaStreamEndCapture(s, &g) == cudaErrorStreamCaptureInvalidated);

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    OK(cudaMalloc(&p, 64));
    CHECK(cudaMemsetAsync(p, 0, 64, 0) == cudaErrorStreamCaptureImplicit);     /* the legacy stream would wait for s */
    CHECK(cudaStreamEndCapture(s, &g) == cudaErrorStreamCaptureInvalidated);

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));                /* forked and not joined */
    OK(cudaEventRecord(e, s));
    OK(cudaStreamWaitEvent(t, e, 0));
    OK(cudaMemsetAsync(p, 0, 64, t));
    CHECK(cudaStreamEndCapture(s, &g) == cudaErrorStreamCaptureUnjoined);

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));                /* ended where it did not begin */
    OK(cudaEventRecord(e, s));
    OK(cudaStreamWaitEvent(t, e, 0));
    CHECK(cudaStreamEndCapture(t, &g) == cudaErrorStreamCaptureUnmatched);
    CHECK(cudaStreamEndCapture(s, &g) == cudaErrorStreamCaptureInvalidated);

    OK(cudaEventRecord(e, t));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));                /* work outside */
    CHECK(cudaStreamWaitEvent(s, e, 0) == cudaErrorStreamCaptureIsolation);
    CHECK(cudaStreamEndCapture(s, &g) == cudaErrorStreamCaptureInvalidated);

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));                /* two captures */
    OK(cudaStreamBeginCapture(t, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(e, s));
    CHECK(cudaStreamWaitEvent(t, e, 0) == cudaErrorStreamCaptureMerge);
    CHECK(cudaStreamEndCapture(s, &g) == cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamEndCapture(t, &g) == cudaErrorStreamCaptureInvalidated);

    (void)cudaGetLastError();
    OK(cudaFree(p));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(t));
    OK(cudaEventDestroy(e));
}

int main()
{
    by_hand();
    captured();
    memory();
    events();
    user_objects();
    misuse();
    return app_verdict();
}
