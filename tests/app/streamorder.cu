// streamorder: the legacy default stream waits for blocking streams and they for it, non-blocking streams do not. Built a
// second time as `ptds` with --default-stream per-thread, where the default stream is an ordinary one.
#include "app.h"
#include <condition_variable>
#include <mutex>

static std::mutex mutex;
static std::condition_variable condition;
static bool open_gate;

static void wait_at_gate(void *)
{
    std::unique_lock<std::mutex> l(mutex);
    condition.wait(l, [] { return open_gate; });
}

static void set_gate(bool open)
{
    std::lock_guard<std::mutex> l(mutex);
    open_gate = open;
    condition.notify_all();
}

__device__ int journal[16];
__device__ int entries;

__global__ void note(int what) { journal[atomicAdd(&entries, 1)] = what; }

static void expect_journal(const char *name, int n, const int *want)
{
    int got[16], count, zero = 0;
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyFromSymbol(&count, entries, sizeof(count)));
    OK(cudaMemcpyFromSymbol(got, journal, sizeof(got)));
    EXPECT(count == n, "%s: %d entries, not %d", name, count, n);
    for (int i = 0; i < n; i++)
        EXPECT(got[i] == want[i], "%s: entry %d is %d, not %d", name, i, got[i], want[i]);
    OK(cudaMemcpyToSymbol(entries, &zero, sizeof(zero)));
    OK(cudaDeviceSynchronize());
}

int main(void)
{
    cudaStream_t blocking, free_stream;
    OK(cudaStreamCreate(&blocking));
    OK(cudaStreamCreateWithFlags(&free_stream, cudaStreamNonBlocking));
    note<<<1, 1, 0, cudaStreamLegacy>>>(0);
    const int warm[] = {0};
    expect_journal("first", 1, warm);

    // blocking: gate, 1; legacy default: 2; blocking: 3; the free stream's 4 passes them all.
    OK(cudaLaunchHostFunc(blocking, wait_at_gate, nullptr));
    note<<<1, 1, 0, blocking>>>(1);
    note<<<1, 1, 0, cudaStreamLegacy>>>(2);
    note<<<1, 1, 0, blocking>>>(3);
    note<<<1, 1, 0, free_stream>>>(4);
    OK(cudaStreamSynchronize(free_stream));
    EXPECT(cudaStreamQuery(cudaStreamLegacy) == cudaErrorNotReady, "the legacy stream did not wait");
    set_gate(true);
    const int legacy[] = {4, 1, 2, 3};
    expect_journal("legacy", 4, legacy);

    // The default stream as this program was compiled.
    set_gate(false);
    OK(cudaLaunchHostFunc(blocking, wait_at_gate, nullptr));
    note<<<1, 1, 0, blocking>>>(1);
    note<<<1, 1>>>(2);
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    OK(cudaStreamSynchronize(0)); // does not wait for the gate
    const int order[] = {2, 1};
#else
    EXPECT(cudaStreamQuery(0) == cudaErrorNotReady, "the default stream did not wait");
    const int order[] = {1, 2};
#endif
    set_gate(true);
    expect_journal("default", 2, order);

    // The per-thread stream is asked for by name: ordered with the legacy stream, not with the others.
    set_gate(false);
    OK(cudaLaunchHostFunc(free_stream, wait_at_gate, nullptr));
    note<<<1, 1, 0, cudaStreamPerThread>>>(5);
    note<<<1, 1, 0, cudaStreamLegacy>>>(6);
    note<<<1, 1, 0, cudaStreamPerThread>>>(7);
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    set_gate(true);
    const int named[] = {5, 6, 7};
    expect_journal("per thread", 3, named);
    return app_verdict();
}
