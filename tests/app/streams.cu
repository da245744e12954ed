// streams: work in several streams ordered by events; queries while work is held back; elapsed time; stream priorities and
// flags; events that were never recorded; stream-ordered allocation.
#include "app.h"
#include <condition_variable>
#include <mutex>

__global__ void step(int *p, int n, int mul, int add)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = p[i] * mul + add;
}

// A host function that holds its stream until the gate opens.
struct gate {
    std::mutex m;
    std::condition_variable c;
    bool open = false;
    void release()
    {
        std::lock_guard<std::mutex> l(m);
        open = true;
        c.notify_all();
    }
};

static void wait_at(void *arg)
{
    gate *g = (gate *)arg;
    std::unique_lock<std::mutex> l(g->m);
    g->c.wait(l, [g] { return g->open; });
}

int main(void)
{
    const int n = 3000, k = 4, blocks = (n + 127) / 128;
    cudaStream_t s[k];
    cudaEvent_t e[k], never, start;
    int *buf, *host, least, greatest;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    for (int i = 0; i < k; i++) {
        OK(i < 2 ? cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking)
                 : cudaStreamCreateWithPriority(&s[i], cudaStreamNonBlocking, i == 2 ? least : greatest));
        OK(cudaEventCreateWithFlags(&e[i], i ? cudaEventDisableTiming : cudaEventDefault));
    }
    OK(cudaEventCreate(&never));
    OK(cudaEventCreate(&start));
    OK(cudaMalloc(&buf, n * sizeof(int)));
    OK(cudaMallocHost(&host, n * sizeof(int)));
    for (int i = 0; i < n; i++)
        host[i] = i;

    // A chain through all the streams, held back at its head; a stream that does not depend on it runs meanwhile.
    gate g;
    int *free_buf, free_host = -1;
    OK(cudaMalloc(&free_buf, sizeof(int)));
    OK(cudaMemset(free_buf, 0, sizeof(int)));
    OK(cudaDeviceSynchronize());
    OK(cudaLaunchHostFunc(s[0], wait_at, &g));
    OK(cudaEventRecord(start, s[0]));
    OK(cudaMemcpyAsync(buf, host, n * sizeof(int), cudaMemcpyHostToDevice, s[0]));
    for (int i = 0; i < 3; i++) {
        step<<<blocks, 128, 0, s[i]>>>(buf, n, i + 2, i + 1);
        OK(cudaEventRecord(e[i], s[i]));
        OK(cudaStreamWaitEvent(s[(i + 1) % 3], e[i], 0));
    }
    OK(cudaMemcpyAsync(host, buf, n * sizeof(int), cudaMemcpyDeviceToHost, s[0]));
    OK(cudaEventRecord(e[0], s[0]));
    step<<<1, 32, 0, s[3]>>>(free_buf, 1, 1, 77);
    OK(cudaMemcpyAsync(&free_host, free_buf, sizeof(int), cudaMemcpyDeviceToHost, s[3]));
    OK(cudaStreamSynchronize(s[3]));
    EXPECT(free_host == 77, "the independent stream computed %d", free_host);
    EXPECT(cudaStreamQuery(s[2]) == cudaErrorNotReady, "stream 2 must wait for the gate");
    EXPECT(cudaEventQuery(e[0]) == cudaErrorNotReady, "event 0 must wait for the gate");
    EXPECT(cudaEventQuery(start) == cudaErrorNotReady, "the first event must wait for the gate");
    (void)cudaGetLastError(); // whether cudaErrorNotReady is remembered is not documented
    g.release();
    OK(cudaEventSynchronize(e[0]));
    for (int i = 0; i < n; i++) {
        int want = ((i * 2 + 1) * 3 + 2) * 4 + 3;
        EXPECT(host[i] == want, "element %d is %d, not %d", i, host[i], want);
    }
    OK(cudaStreamQuery(s[0]));
    OK(cudaEventQuery(e[0]));
    float ms = -1;
    OK(cudaEventElapsedTime(&ms, start, e[0]));
    EXPECT(ms >= 0, "elapsed time %g", ms);

    OK(cudaEventQuery(never)); // never recorded: complete
    OK(cudaEventSynchronize(never));
    OK(cudaStreamWaitEvent(s[1], never, 0));
    OK(cudaStreamSynchronize(s[1]));
    EXPECT_ERROR(cudaEventElapsedTime(&ms, never, e[0]), cudaErrorInvalidResourceHandle);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    unsigned flags;
    int priority;
    OK(cudaStreamGetFlags(s[1], &flags));
    OK(cudaStreamGetPriority(s[3], &priority));
    EXPECT(flags == cudaStreamNonBlocking && priority == greatest, "flags %u priority %d", flags, priority);

    int *pool, last;
    OK(cudaMallocAsync(&pool, n * sizeof(int), s[1]));
    OK(cudaMemsetAsync(pool, 0, n * sizeof(int), s[1]));
    step<<<blocks, 128, 0, s[1]>>>(pool, n, 1, 9);
    OK(cudaMemcpyAsync(&last, pool + n - 1, sizeof(int), cudaMemcpyDeviceToHost, s[1]));
    OK(cudaFreeAsync(pool, s[1]));
    OK(cudaStreamSynchronize(s[1]));
    EXPECT(last == 9, "stream-ordered memory holds %d", last);

    for (int i = 0; i < k; i++) {
        OK(cudaEventDestroy(e[i]));
        OK(cudaStreamDestroy(s[i]));
    }
    OK(cudaDeviceSynchronize());
    return app_verdict();
}
