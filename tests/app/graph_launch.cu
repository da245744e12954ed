/* Graphs that kernels launch: beside the launching graph, behind it (tail), and as its sibling; by itself again and again; what may not be launched. */
#include "app.h"

enum { LOG = 64 };

struct log_of { int n, at[LOG]; };

/* As order goes by what kernels write, each says its number. */
__device__ void say(log_of *log, int number) { log->at[atomicAdd(&log->n, 1) % LOG] = number; }

__device__ void wait_for(const int *flag)
{
    while (*(volatile const int *)flag == 0)
        ;
}

__global__ void speak(log_of *log, int number) { say(log, number); }
__global__ void raise(int *flag) { atomicExch(flag, 1); }
__global__ void spin(const int *flag, log_of *log, int number)
{
    wait_for(flag);
    say(log, number);
}
__global__ void add(int *p, int n, int by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] += by;
}

struct launches { int n; cudaGraphExec_t graph[6]; cudaStream_t how[6]; cudaError_t answer[6]; };

__global__ void launch(launches *l, log_of *log, int number)
{
    say(log, number);
    for (int i = 0; i < l->n; i++)
        l->answer[i] = cudaGraphLaunch(l->graph[i], l->how[i]);
}

__global__ void launch_and_wait(cudaGraphExec_t graph, const int *flag, log_of *log)
{
    cudaError_t e = cudaGraphLaunch(graph, cudaStreamGraphFireAndForget);
    if (e == cudaSuccess)
        wait_for(flag);
    say(log, e == cudaSuccess ? 1 : -1);
}

__global__ void again(int *left, log_of *log, cudaGraphExec_t *self)
{
    *self = cudaGetCurrentGraphExec();
    say(log, *left);
    if (--*left > 0 && cudaGraphLaunch(*self, cudaStreamGraphTailLaunch) != cudaSuccess)
        say(log, -1);
}

template <typename... P, typename... A> static cudaGraphNode_t node(cudaGraph_t g, cudaGraphNode_t after, void (*f)(P...), A... args)
{
    void *list[] = {&args...};
    cudaKernelNodeParams p = {};
    p.func = (void *)f;
    p.gridDim = p.blockDim = dim3(1);
    p.kernelParams = list;
    cudaGraphNode_t n;
    OK(cudaGraphAddKernelNode(&n, g, after ? &after : nullptr, after ? 1 : 0, &p));
    return n;
}

static cudaGraphExec_t made(cudaGraph_t g, unsigned flags)
{
    cudaGraphExec_t x;
    OK(cudaGraphInstantiate(&x, g, flags));
    if (flags)
        OK(cudaGraphUpload(x, 0));
    OK(cudaGraphDestroy(g));
    return x;
}

enum { HOST = 0, DEVICE = cudaGraphInstantiateFlagDeviceLaunch };

template <typename... P, typename... A> static cudaGraphExec_t one(unsigned flags, void (*f)(P...), A... args)
{
    cudaGraph_t g;
    OK(cudaGraphCreate(&g, 0));
    node(g, nullptr, f, args...);
    return made(g, flags);
}

template <typename T> static T *managed(void)
{
    T *p;
    OK(cudaMallocManaged(&p, sizeof *p));
    memset(p, 0, sizeof *p);
    return p;
}

static launches *plan(int n, const cudaGraphExec_t *graph, const cudaStream_t *how)
{
    launches *l = managed<launches>();
    l->n = n;
    memcpy(l->graph, graph, n * sizeof *graph);
    memcpy(l->how, how, n * sizeof *how);
    return l;
}

static void run(cudaGraphExec_t x)
{
    OK(cudaGraphLaunch(x, 0));
    OK(cudaDeviceSynchronize());
}

static void expect_log(const char *what, log_of *log, int n, const int *want)
{
    EXPECT(log->n == n, "%s: %d kernels have spoken, not %d", what, log->n, n);
    for (int i = 0; i < n && i < log->n; i++)
        EXPECT(log->at[i] == want[i], "%s: %d is number %d, not %d", what, log->at[i], i, want[i]);
    memset(log, 0, sizeof *log);
}

static void expect_answers(const char *what, const launches *l, const cudaError_t *want)
{
    for (int i = 0; i < l->n; i++)
        EXPECT(l->answer[i] == want[i], "%s: launch %d answers %d, not %d", what, i, (int)l->answer[i], (int)want[i]);
}

static const cudaError_t good[6] = {};

/* Its launcher waits for it; the graph behind the launcher's comes after both. */
static void beside(log_of *log)
{
    int *flag = managed<int>();
    cudaGraphExec_t child = one(DEVICE, raise, flag), root = one(HOST, launch_and_wait, child, (const int *)flag, log), then = one(HOST, speak, log, 2);
    for (int i = 0; i < 3; i++) {
        *flag = 0;
        OK(cudaGraphLaunch(root, 0));
        OK(cudaGraphLaunch(then, 0));
        OK(cudaDeviceSynchronize());
        const int want[] = {1, 2};
        expect_log("beside", log, 2, want);
    }
}

/* The tails of a tail go before those that were there. What runs beside a graph comes before its tails. */
static void tails(log_of *log)
{
    cudaGraphExec_t z = one(DEVICE, speak, log, 4), y = one(DEVICE, speak, log, 5), beside = one(DEVICE, speak, log, 2);
    cudaStream_t tail = cudaStreamGraphTailLaunch, forget = cudaStreamGraphFireAndForget;
    launches *of_x = plan(1, &z, &tail);
    cudaGraphExec_t x = one(DEVICE, launch, of_x, log, 3);
    const cudaGraphExec_t graphs[] = {x, y, beside};
    const cudaStream_t how[] = {tail, tail, forget};
    launches *of_root = plan(3, graphs, how);
    cudaGraphExec_t root = one(HOST, launch, of_root, log, 1);
    for (int i = 0; i < 2; i++) {
        run(root);
        const int want[] = {1, 2, 3, 4, 5};
        expect_log("tails", log, 5, want);
        expect_answers("tails", of_root, good);
        expect_answers("tail of a tail", of_x, good);
    }
}

static void itself(log_of *log)
{
    int *left = managed<int>();
    cudaGraphExec_t *self = managed<cudaGraphExec_t>(), x = one(DEVICE, again, left, log, self);
    *left = 5;
    run(x);
    const int want[] = {5, 4, 3, 2, 1};
    expect_log("itself", log, 5, want);
    EXPECT(*self == x, "a kernel of a graph does not know the graph");
}

/* The tail does not wait for the sibling, which waits for the tail; the stream waits for all. */
static void sibling(log_of *log)
{
    int *flag = managed<int>();
    const cudaGraphExec_t graphs[] = {one(DEVICE, spin, (const int *)flag, log, 2), one(DEVICE, raise, flag)};
    const cudaStream_t how[] = {cudaStreamGraphFireAndForgetAsSibling, cudaStreamGraphTailLaunch};
    launches *l = plan(2, graphs, how);
    run(one(HOST, launch, l, log, 1));
    const int want[] = {1, 2};
    expect_log("sibling", log, 2, want);
    expect_answers("sibling", l, good);
}

static void refused_launches(log_of *log)
{
    int *flag = managed<int>();
    cudaGraphExec_t busy = one(DEVICE, spin, (const int *)flag, log, 2), tail = one(DEVICE, raise, flag), host_only = one(HOST, speak, log, 9);
    const cudaGraphExec_t graphs[] = {busy, busy, host_only, tail, tail};
    const cudaStream_t how[] = {cudaStreamGraphFireAndForgetAsSibling, cudaStreamGraphFireAndForgetAsSibling, cudaStreamGraphFireAndForget, 0, cudaStreamGraphTailLaunch};
    const cudaError_t want[] = {cudaSuccess, cudaErrorInvalidValue, cudaErrorInvalidValue, cudaErrorInvalidValue, cudaSuccess};
    launches *l = plan(5, graphs, how);
    run(one(HOST, launch, l, log, 1));
    const int order[] = {1, 2};
    expect_log("refused", log, 2, order);
    expect_answers("refused", l, want);
    launch<<<1, 1>>>(l, log, 1);               /* of no graph */
    OK_LAUNCH();
    for (int i = 0; i < l->n; i++)
        EXPECT(l->answer[i] != cudaSuccess, "a kernel of no graph launches one");
    memset(log, 0, sizeof *log);
}

/* A fill, a copy, kernels and a child graph, launched from the body of a conditional node. */
static void all_nodes(log_of *log)
{
    enum { N = 1000 };
    int *a, *b, host[N];
    OK(cudaMalloc(&a, sizeof host));
    OK(cudaMalloc(&b, sizeof host));
    cudaGraph_t g, child;
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphCreate(&child, 0));
    cudaMemsetParams fill = {a, 0, 7, 4, N, 1};
    cudaGraphNode_t n[4];
    OK(cudaGraphAddMemsetNode(&n[0], g, nullptr, 0, &fill));
    void *args[] = {&a, (void *)&(const int &)N, (void *)&(const int &)1};
    int count = N, by = 1;
    args[1] = &count, args[2] = &by;
    cudaKernelNodeParams p = {(void *)add, dim3(8), dim3(128), 0, args, nullptr};
    OK(cudaGraphAddKernelNode(&n[1], g, &n[0], 1, &p));
    OK(cudaGraphAddMemcpyNode1D(&n[2], g, &n[1], 1, b, a, sizeof host, cudaMemcpyDeviceToDevice));
    args[0] = &b;
    OK(cudaGraphAddKernelNode(&n[3], child, nullptr, 0, &p));
    OK(cudaGraphAddChildGraphNode(&n[3], g, &n[2], 1, child));
    cudaGraphExec_t x = made(g, DEVICE);
    cudaStream_t forget = cudaStreamGraphFireAndForget;
    launches *l = plan(1, &x, &forget);

    cudaGraph_t root;
    cudaGraphConditionalHandle h;
    OK(cudaGraphCreate(&root, 0));
    OK(cudaGraphConditionalHandleCreate(&h, root, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams c = {cudaGraphNodeTypeConditional};
    c.conditional.handle = h;
    c.conditional.type = cudaGraphCondTypeIf;
    c.conditional.size = 1;
    OK(cudaGraphAddNode(&n[0], root, nullptr, nullptr, 0, &c));
    node(c.conditional.phGraph_out[0], nullptr, launch, l, log, 1);
    run(made(root, HOST));
    expect_answers("all nodes", l, good);
    OK(cudaMemcpy(host, b, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        EXPECT(host[i] == 9, "all nodes: element %d is %d", i, host[i]);
    memset(log, 0, sizeof *log);
}

static void refused_graphs(log_of *log)
{
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaGraphNode_t n;
    OK(cudaGraphCreate(&g, 0));
    EXPECT_ERROR(cudaGraphInstantiate(&x, g, DEVICE), cudaErrorInvalidValue);        /* it is empty */
    node(g, nullptr, speak, log, 1);
    EXPECT_ERROR(cudaGraphInstantiate(&x, g, DEVICE | cudaGraphInstantiateFlagAutoFreeOnLaunch), cudaErrorInvalidValue);
    cudaHostNodeParams p = {[](void *) {}, nullptr};
    OK(cudaGraphAddHostNode(&n, g, nullptr, 0, &p));
    cudaGraphInstantiateParams how = {DEVICE};
    EXPECT(cudaGraphInstantiateWithParams(&x, g, &how) != cudaSuccess, "a graph with a host function is one for the device");
    EXPECT(how.result_out == cudaGraphInstantiateNodeOperationNotSupported && how.errNode_out == n, "the reason is %d", (int)how.result_out);
    OK(cudaGraphDestroy(g));
}

int main()
{
    log_of *log = managed<log_of>();
    beside(log);
    tails(log);
    itself(log);
    sibling(log);
    refused_launches(log);
    all_nodes(log);
    refused_graphs(log);
    return app_verdict();
}
