// hostfunc: host functions and stream callbacks run in stream order, see earlier copies, and hold up later work.
#include "app.h"

struct visit {
    int *data;
    int n, seen, order;
    cudaError_t status;
};

static int turn;

__global__ void add(int *p, int n, int by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] += by;
}

// Sums what has been copied to the host so far and changes it for the copy that follows.
static void look(void *arg)
{
    visit *v = (visit *)arg;
    for (int i = 0; i < v->n; i++) {
        v->seen += v->data[i];
        v->data[i] *= 2;
    }
    v->order = ++turn;
}

static void CUDART_CB callback(cudaStream_t, cudaError_t status, void *arg)
{
    ((visit *)arg)->status = status;
    look(arg);
}

int main(void)
{
    const int n = 1000, blocks = (n + 255) / 256;
    int *host, *dev;
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaMallocHost(&host, n * sizeof(int)));
    OK(cudaMalloc(&dev, n * sizeof(int)));
    OK(cudaMemset(dev, 0, n * sizeof(int)));
    OK(cudaDeviceSynchronize());
    visit first = {host, n, 0, 0, cudaSuccess}, second = {host, n, 0, 0, cudaErrorUnknown};
    add<<<blocks, 256, 0, s>>>(dev, n, 1);
    OK(cudaMemcpyAsync(host, dev, n * sizeof(int), cudaMemcpyDeviceToHost, s));
    OK(cudaLaunchHostFunc(s, look, &first));
    OK(cudaMemcpyAsync(dev, host, n * sizeof(int), cudaMemcpyHostToDevice, s));
    add<<<blocks, 256, 0, s>>>(dev, n, 5);
    OK(cudaMemcpyAsync(host, dev, n * sizeof(int), cudaMemcpyDeviceToHost, s));
    OK(cudaStreamAddCallback(s, callback, &second, 0));
    OK(cudaStreamSynchronize(s));
    EXPECT(first.seen == n && first.order == 1, "the first saw %d, order %d", first.seen, first.order);
    EXPECT(second.seen == 7 * n && second.order == 2, "the second saw %d, order %d", second.seen, second.order);
    EXPECT(second.status == cudaSuccess, "the callback was told %s", cudaGetErrorName(second.status));
    EXPECT(host[n - 1] == 14, "the last element is %d", host[n - 1]);
    OK(cudaStreamDestroy(s));
    return app_verdict();
}
