// graph_condition: conditional nodes (if, if/else, while, switch, nested), their handles, and batches of memory operations as nodes.
#include "app.h"
#include <cuda.h>

__global__ void set(cudaGraphConditionalHandle h, const int *flag) { cudaGraphSetConditional(h, *flag); }
__global__ void count_down(cudaGraphConditionalHandle h, int *left, int *turns)
{
    ++*turns;
    if (--*left <= 0)
        cudaGraphSetConditional(h, 0);
}
__global__ void reset(cudaGraphConditionalHandle h, int *left, int to)
{
    *left = to;
    cudaGraphSetConditional(h, 1);
}
__global__ void add(int *p, int by) { *p += by; }

static int *cell(int value)
{
    return app_to_device(&value, 1);
}

static int get(const int *p)
{
    int v;
    app_to_host(&v, p, 1);
    return v;
}

template <typename... P, typename... A> static cudaGraphNode_t kernel(cudaGraph_t g, cudaGraphNode_t after, void (*f)(P...), A... args)
{
    cudaGraphNodeParams p = {cudaGraphNodeTypeKernel};
    void *list[] = {&args...};
    p.kernel.func = (void *)f;
    p.kernel.gridDim = p.kernel.blockDim = dim3(1);
    p.kernel.kernelParams = list;
    cudaGraphNode_t n;
    OK(cudaGraphAddNode(&n, g, after ? &after : nullptr, nullptr, after ? 1 : 0, &p));
    return n;
}

static cudaGraph_t *condition(cudaGraph_t g, cudaGraphNode_t after, cudaGraphConditionalHandle h, cudaGraphConditionalNodeType type, int bodies, cudaGraphNode_t *node = nullptr)
{
    cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};
    p.conditional.handle = h;
    p.conditional.type = type;
    p.conditional.size = bodies;
    cudaGraphNode_t n;
    OK(cudaGraphAddNode(&n, g, after ? &after : nullptr, nullptr, after ? 1 : 0, &p));
    cudaGraphNodeType t;
    OK(cudaGraphNodeGetType(n, &t));
    EXPECT(t == cudaGraphNodeTypeConditional, "the node's type is %d", (int)t);
    if (node)
        *node = n;
    return p.conditional.phGraph_out;
}

static cudaGraphExec_t instantiate(cudaGraph_t g)
{
    cudaGraphExec_t x;
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphDestroy(g));
    return x;
}

static void run(cudaGraphExec_t x)
{
    OK(cudaGraphLaunch(x, 0));
    OK(cudaDeviceSynchronize());
}

static void choices()
{
    int *flag = cell(0), *yes = cell(0), *no = cell(0), *arm[3];
    for (int i = 0; i < 3; i++)
        arm[i] = cell(0);
    cudaGraph_t g;
    cudaGraphConditionalHandle either, which;
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphConditionalHandleCreate(&either, g, 0, 0));
    OK(cudaGraphConditionalHandleCreate(&which, g, 0, 0));
    cudaGraphNode_t a = kernel(g, nullptr, set, either, (const int *)flag), b = kernel(g, a, set, which, (const int *)flag), node;
    cudaGraph_t *bodies = condition(g, b, either, cudaGraphCondTypeIf, 2, &node);
    kernel(bodies[0], nullptr, add, yes, 1);
    kernel(bodies[1], nullptr, add, no, 1);
    bodies = condition(g, node, which, cudaGraphCondTypeSwitch, 3);
    for (int i = 0; i < 3; i++) {
        cudaGraphNode_t first = kernel(bodies[i], nullptr, add, arm[i], 1);
        kernel(bodies[i], first, add, arm[i], 10);
    }
    cudaGraph_t clone;
    EXPECT_ERROR(cudaGraphClone(&clone, g), cudaErrorNotSupported);
    cudaGraphExec_t x = instantiate(g);
    for (int v = 0; v < 5; v++) { // 0, 1, 2 and what has no body
        OK(cudaMemcpy(flag, &v, sizeof v, cudaMemcpyHostToDevice));
        run(x);
    }
    EXPECT(get(yes) == 4 && get(no) == 1, "if %d, else %d", get(yes), get(no));
    for (int i = 0; i < 3; i++)
        EXPECT(get(arm[i]) == 11, "arm %d is %d", i, get(arm[i]));
    OK(cudaGraphExecDestroy(x));
}

static void loops()
{
    int *left = cell(0), *turns = cell(0), *inner_left = cell(0), *inner_turns = cell(0), *after = cell(0);
    cudaGraph_t g;
    cudaGraphConditionalHandle outer, inner;
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphConditionalHandleCreate(&outer, g, 1, cudaGraphCondAssignDefault));
    OK(cudaGraphConditionalHandleCreate(&inner, g, 0, 0));
    cudaGraphNode_t start = kernel(g, nullptr, reset, outer, left, 7), loop;
    cudaGraph_t body = *condition(g, start, outer, cudaGraphCondTypeWhile, 1, &loop);
    cudaGraphNode_t first = kernel(body, nullptr, reset, inner, inner_left, 3), nested;
    cudaGraph_t deep = *condition(body, first, inner, cudaGraphCondTypeWhile, 1, &nested);
    kernel(deep, nullptr, count_down, inner, inner_left, inner_turns);
    kernel(body, nested, count_down, outer, left, turns);
    kernel(g, loop, add, after, 1);
    cudaGraphExec_t x = instantiate(g);
    for (int i = 0; i < 3; i++)
        OK(cudaGraphLaunch(x, 0));
    add<<<1, 1>>>(after, 100);
    OK(cudaGraphExecDestroy(x)); // what was launched still runs
    OK(cudaDeviceSynchronize());
    EXPECT(get(turns) == 3 * 7 && get(inner_turns) == 3 * 7 * 3 && get(after) == 103, "%d turns, %d inner ones, %d behind", get(turns), get(inner_turns), get(after));
}

static void errors()
{
    cudaGraph_t g, other;
    cudaGraphNode_t n;
    cudaGraphConditionalHandle h, foreign;
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphConditionalHandleCreate(&h, g, 0, 0));
    OK(cudaGraphConditionalHandleCreate(&foreign, other, 0, 0));
    EXPECT_ERROR(cudaGraphConditionalHandleCreate(&h, g, 0, 8), cudaErrorInvalidValue);
    struct { cudaGraphConditionalHandle handle; int type; unsigned size; } bad[] = {{h, 9, 1}, {h, cudaGraphCondTypeWhile, 2}, {h, cudaGraphCondTypeIf, 3}, {h, cudaGraphCondTypeSwitch, 0}, {foreign, cudaGraphCondTypeIf, 1}, {0, cudaGraphCondTypeIf, 1}};
    for (auto &b : bad) {
        cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};
        p.conditional.handle = b.handle, p.conditional.type = (cudaGraphConditionalNodeType)b.type, p.conditional.size = b.size;
        EXPECT_ERROR(cudaGraphAddNode(&n, g, nullptr, nullptr, 0, &p), cudaErrorInvalidValue);
    }
    condition(g, nullptr, h, cudaGraphCondTypeIf, 1);
    EXPECT_ERROR(cudaGraphAddChildGraphNode(&n, other, nullptr, 0, g), cudaErrorNotSupported);
    OK(cudaGraphDestroy(g));
    OK(cudaGraphDestroy(other));
    (void)cudaGetLastError();
}

static void batches()
{
    int *p = cell(0), *seen = cell(0);
    CUgraph g;
    CUgraphNode first, batch;
    CUgraphExec x;
    CUstreamBatchMemOpParams ops[3] = {}, *back;
    ops[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, ops[0].writeValue.address = (CUdeviceptr)p, ops[0].writeValue.value = 41;
    ops[1].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
    ops[2].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32, ops[2].waitValue.address = (CUdeviceptr)p, ops[2].waitValue.value = 40, ops[2].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
    CUcontext c;
    EXPECT(cuCtxGetCurrent(&c) == CUDA_SUCCESS, "no context");
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {c, 3, ops, 0}, out;
    EXPECT(cuGraphCreate(&g, 0) == CUDA_SUCCESS, "no graph");
    EXPECT(cuGraphAddBatchMemOpNode(&batch, g, nullptr, 0, &params) == CUDA_SUCCESS, "no batch node");
    EXPECT(cuGraphBatchMemOpNodeGetParams(batch, &out) == CUDA_SUCCESS && out.count == 3 && out.paramArray[0].writeValue.value == 41, "its parameters");
    back = out.paramArray;
    EXPECT(back != ops, "the parameters are not the node's own");
    first = (CUgraphNode)kernel((cudaGraph_t)g, (cudaGraphNode_t)batch, add, p, 1);
    EXPECT(cuGraphInstantiate(&x, g, 0) == CUDA_SUCCESS && cuGraphLaunch(x, 0) == CUDA_SUCCESS && cuCtxSynchronize() == CUDA_SUCCESS, "launch");
    EXPECT(get(p) == 42, "the value is %d", get(p));
    params.count = 1, ops[0].writeValue.value = 7;
    EXPECT(cuGraphExecBatchMemOpNodeSetParams(x, batch, &params) == CUDA_SUCCESS && cuGraphLaunch(x, 0) == CUDA_SUCCESS && cuCtxSynchronize() == CUDA_SUCCESS, "launch again");
    EXPECT(get(p) == 8, "the value is %d", get(p));
    ops[0].operation = (CUstreamBatchMemOpType)77;
    EXPECT(cuGraphBatchMemOpNodeSetParams(batch, &params) == CUDA_ERROR_INVALID_VALUE, "an operation of no kind");
    params.count = 0;
    EXPECT(cuGraphBatchMemOpNodeSetParams(batch, &params) == CUDA_ERROR_INVALID_VALUE, "a batch of nothing");
    (void)first;
    // In a stream, and captured.
    ops[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, ops[0].writeValue.value = 500;
    CUstream s;
    CUgraph captured;
    size_t n = 0;
    EXPECT(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS && cuStreamBatchMemOp(s, 3, ops, 0) == CUDA_SUCCESS && cuStreamSynchronize(s) == CUDA_SUCCESS, "a batch in a stream");
    EXPECT(get(p) == 500, "the value is %d", get(p));
    EXPECT(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS && cuStreamWriteValue32(s, (CUdeviceptr)seen, 3, 0) == CUDA_SUCCESS &&
               cuStreamEndCapture(s, &captured) == CUDA_SUCCESS && cuGraphGetNodes(captured, nullptr, &n) == CUDA_SUCCESS && n == 1, "%zu nodes captured", n);
    EXPECT(get(seen) == 0, "capture wrote");
}

int main(void)
{
    OK(cudaFree(0));
    choices();
    loops();
    errors();
    batches();
    return app_verdict();
}
