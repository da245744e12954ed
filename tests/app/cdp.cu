/* Kernels that launch kernels: recursion, streams of a grid and their order, the tail, events, limits, errors on the device, memory and facts.
 * What a grid prints, or which of two independent ones runs first, is nobody's business here. */
#include "app.h"

/* ---- quicksort ---- */

enum { SORT_N = 3000, SORT_SMALL = 16, SORT_DEPTH = 20 };

__device__ void selection_sort(unsigned *at, int lo, int hi)
{
    for (int i = lo; i < hi; i++) {
        int least = i;
        for (int k = i + 1; k < hi; k++)
            if (at[k] < at[least])
                least = k;
        unsigned x = at[i];
        at[i] = at[least];
        at[least] = x;
    }
}

__global__ void sort(unsigned *at, int lo, int hi, int depth)
{
    if (hi - lo <= SORT_SMALL || depth == SORT_DEPTH) {
        selection_sort(at, lo, hi);
        return;
    }
    unsigned pivot = at[(lo + hi) / 2];
    int i = lo, k = hi - 1;
    while (i <= k) {
        while (at[i] < pivot)
            i++;
        while (at[k] > pivot)
            k--;
        if (i <= k) {
            unsigned x = at[i];
            at[i++] = at[k];
            at[k--] = x;
        }
    }
    cudaStream_t s;
    if (lo < k + 1) {
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        sort<<<1, 1, 0, s>>>(at, lo, k + 1, depth + 1);
        cudaStreamDestroy(s);
    }
    if (i < hi)
        sort<<<1, 1, 0, cudaStreamFireAndForget>>>(at, i, hi, depth + 1);
}

static void quicksort(void)
{
    unsigned *at, state = 7;
    OK(cudaMallocManaged(&at, SORT_N * sizeof *at));
    unsigned long long sum = 0, after = 0;
    for (int i = 0; i < SORT_N; i++)
        sum += at[i] = app_rand(&state) % 5000;
    sort<<<1, 1>>>(at, 0, SORT_N, 0);
    OK_LAUNCH();
    for (int i = 0; i < SORT_N; i++) {
        after += at[i];
        EXPECT(!i || at[i - 1] <= at[i], "quicksort: element %d is %u, behind %u", i, at[i], at[i - 1]);
    }
    EXPECT(sum == after, "quicksort: the sum was %llu and is %llu", sum, after);
    OK(cudaFree(at));
}

/* ---- many launches ---- */

__global__ void add(int *to, int n) { atomicAdd(to, n); }

__global__ void fan_out(int *to)
{
    int me = blockIdx.x * blockDim.x + threadIdx.x;
    add<<<2, 3, 0, cudaStreamFireAndForget>>>(to, me);
    add<<<1, 1>>>(to + 1, 1);
}

static void fan(void)
{
    enum { BLOCKS = 40, THREADS = 64, N = BLOCKS * THREADS };
    int *to;
    OK(cudaMallocManaged(&to, 2 * sizeof *to));
    to[0] = to[1] = 0;
    fan_out<<<BLOCKS, THREADS>>>(to);
    OK_LAUNCH();
    EXPECT(to[0] == 6 * (N * (N - 1) / 2), "fan out: %d", to[0]);
    EXPECT(to[1] == N, "fan out: %d of %d launches", to[1], N);
    OK(cudaFree(to));
}

/* ---- order within a stream of a block ---- */

enum { STEPS = 9 };
struct book { int n, step[STEPS]; };

__global__ void note(struct book *b, int step) { b->step[b->n++] = step; }

__global__ void in_order(struct book *b)
{
    b += blockIdx.x;
    for (int i = 0; i < 3; i++) {              /* another thread each time: the stream is the block's */
        if (threadIdx.x == 33 * (2 - i))
            for (int k = 0; k < STEPS / 3; k++)
                note<<<1, 1>>>(b, 3 * i + k);
        __syncthreads();
    }
}

static void order(void)
{
    enum { BLOCKS = 12 };
    struct book *b;
    OK(cudaMallocManaged(&b, BLOCKS * sizeof *b));
    memset(b, 0, BLOCKS * sizeof *b);
    in_order<<<BLOCKS, 96>>>(b);
    OK_LAUNCH();
    for (int i = 0; i < BLOCKS; i++)
        for (int k = 0; k < STEPS; k++)
            EXPECT(b[i].n == STEPS && b[i].step[k] == k, "block %d: %d steps, number %d was %d", i, b[i].n, k, b[i].step[k]);
    OK(cudaFree(b));
}

/* ---- the tail ---- */

__global__ void copy_int(int *to, const int *from) { *to = *from; }

__global__ void child_with_tail(int *sum, int leaf)
{
    if (threadIdx.x)
        return;
    if (!leaf) {
        child_with_tail<<<1, 32, 0, cudaStreamTailLaunch>>>(sum, 1);
        add<<<4, 4, 0, cudaStreamFireAndForget>>>(sum, 1);
    }
    atomicAdd(sum, leaf ? 100 : 1);
}

__global__ void with_tail(int *x)
{
    if (threadIdx.x)
        return;
    if (!blockIdx.x) {
        copy_int<<<1, 1, 0, cudaStreamTailLaunch>>>(x + 1, x);     /* sees all that is launched, even later */
        copy_int<<<1, 1, 0, cudaStreamTailLaunch>>>(x + 2, x + 1);
    }
    child_with_tail<<<1, 32>>>(x, 0);
}

__global__ void chain(int *x, int left)
{
    *x += left;
    if (left > 1)
        chain<<<1, 1, 0, cudaStreamTailLaunch>>>(x, left - 1);
}

static void tail(void)
{
    enum { BLOCKS = 10, EACH = 1 + 16 + 100 };
    int *x;
    OK(cudaMallocManaged(&x, 6 * sizeof *x));
    memset(x, 0, 6 * sizeof *x);
    with_tail<<<BLOCKS, 64>>>(x);
    copy_int<<<1, 1>>>(x + 3, x + 2);          /* the host's next in the stream */
    OK_LAUNCH();
    for (int i = 0; i < 4; i++)
        EXPECT(x[i] == BLOCKS * EACH, "tail: copy %d is %d, not %d", i, x[i], BLOCKS * EACH);
    chain<<<1, 1>>>(x + 4, 20);
    copy_int<<<1, 1>>>(x + 5, x + 4);
    OK_LAUNCH();
    EXPECT(x[4] == 210 && x[5] == 210, "chain of tails: %d, behind it %d", x[4], x[5]);
    OK(cudaFree(x));
}

/* ---- events ---- */

__global__ void slow(int *x, int n)
{
    int y = 0;
    for (int i = 0; i < n; i++)
        y += i % 3 == 1;
    *x = y;
}

__global__ void events(int *x, int *err)
{
    cudaStream_t a, b;
    cudaEvent_t e, never;
    err[0] = cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    err[1] = cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    err[2] = cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    err[3] = cudaEventCreateWithFlags(&never, cudaEventDisableTiming);
    slow<<<1, 1, 0, a>>>(x, 3000);
    err[4] = cudaEventRecord(e, a);
    slow<<<1, 1, 0, a>>>(x + 3, 60);           /* not waited for */
    err[5] = cudaStreamWaitEvent(b, e, 0);
    err[6] = cudaStreamWaitEvent(b, never, 0);
    copy_int<<<1, 1, 0, b>>>(x + 1, x);
    err[7] = cudaEventRecord(e, b);
    err[8] = cudaStreamWaitEvent(0, e, 0);
    err[9] = cudaEventDestroy(e);
    err[10] = cudaStreamDestroy(a);
    copy_int<<<1, 1>>>(x + 2, x + 1);
    err[11] = cudaGetLastError();
    /* and what is refused */
    err[12] = cudaEventRecord(never, cudaStreamTailLaunch);
    err[13] = cudaStreamWaitEvent(cudaStreamFireAndForget, never, 0);
    err[14] = cudaEventRecord(e, b);
    err[15] = cudaStreamWaitEvent(a, never, 0);
    err[16] = cudaStreamCreateWithFlags(&a, cudaStreamDefault);
    err[17] = cudaEventCreateWithFlags(&e, cudaEventDefault);
}

static void events_test(void)
{
    int *x;
    OK(cudaMallocManaged(&x, 40 * sizeof *x));
    memset(x, 0, 40 * sizeof *x);
    events<<<1, 1>>>(x, x + 10);
    OK_LAUNCH();
    EXPECT(x[0] == 1000 && x[1] == 1000 && x[2] == 1000 && x[3] == 20, "events: %d %d %d %d", x[0], x[1], x[2], x[3]);
    for (int i = 0; i < 18; i++)
        EXPECT(x[10 + i] == (i < 12 ? cudaSuccess : cudaErrorInvalidValue), "events: call %d gave %d", i, x[10 + i]);
    OK(cudaFree(x));
}

/* ---- errors and limits ---- */

__global__ void bad(int *err)
{
    int me = threadIdx.x;
    if (me == 1)
        add<<<1, 2048>>>(err + 20, 1);
    if (me == 2)
        add<<<0, 1>>>(err + 20, 1);
    if (me == 3)
        add<<<1, 1>>>(err + 21, 1);
    err[me] = cudaPeekAtLastError();
    err[4 + me] = cudaGetLastError();
    err[8 + me] = cudaGetLastError();
}

__global__ void overflow(int *count, int n)
{
    for (int i = 0; i < n; i++) {
        add<<<1, 1, 0, cudaStreamTailLaunch>>>(count, 1);
        cudaError_t e = cudaGetLastError();
        count[e == cudaSuccess ? 1 : e == cudaErrorLaunchOutOfResources ? 2 : 3]++;
    }
}

__global__ void deeper(int *seen, int depth)
{
    seen[depth] = 1;
    deeper<<<1, 1>>>(seen, depth + 1);
    cudaError_t e = cudaGetLastError();
    if (e != cudaSuccess)
        seen[100] = e, seen[101] = depth;
}

static void errors(void)
{
    enum { LIMIT = 128, TRIES = 150 };
    int *x;
    OK(cudaMallocManaged(&x, 200 * sizeof *x));
    memset(x, 0, 200 * sizeof *x);
    bad<<<1, 4>>>(x);
    OK_LAUNCH();
    for (int i = 0; i < 4; i++) {
        int want = i == 1 || i == 2 ? cudaErrorInvalidConfiguration : cudaSuccess;
        EXPECT(x[i] == want && x[4 + i] == want && x[8 + i] == cudaSuccess, "thread %d: errors %d, %d and %d", i, x[i], x[4 + i], x[8 + i]);
    }
    EXPECT(x[20] == 0 && x[21] == 1, "launches with errors ran: %d, those without: %d", x[20], x[21]);

    OK(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, LIMIT));
    memset(x, 0, 200 * sizeof *x);
    overflow<<<1, 1>>>(x, TRIES);
    OK_LAUNCH();
    EXPECT(x[0] == x[1] && x[1] && x[2] && !x[3] && x[1] + x[2] == TRIES, "pending launches: %d ran, %d were taken, %d refused, %d otherwise", x[0], x[1], x[2], x[3]);
    OK(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 2 * LIMIT));
    memset(x, 0, 200 * sizeof *x);
    overflow<<<1, 1>>>(x, TRIES);
    OK_LAUNCH();
    EXPECT(x[0] == TRIES && x[1] == TRIES, "with a higher limit: %d of %d ran", x[0], TRIES);

    memset(x, 0, 200 * sizeof *x);
    deeper<<<1, 1>>>(x, 0);
    OK_LAUNCH();
    EXPECT(x[24] && !x[25] && x[100] == cudaErrorLaunchMaxDepthExceeded && x[101] == 24, "nesting: error %d at depth %d", x[100], x[101]);
    OK(cudaFree(x));
}

/* ---- memory, facts ----
 * Fills are of 0: libcudadevrt of CUDA 13.0 passes no other value on. Its version on the device is its own. */

__global__ void look_and_free(unsigned char *p, int n, int *wrong)
{
    for (int i = 0; i < n; i++)
        *wrong += p[i] != (i < n / 2 ? 0 : i < n - 6 ? 0x21 : 0);
    cudaFree(p);
}

__global__ void memory(unsigned char *from, int n, int *out)
{
    unsigned char *p;
    out[0] = cudaMalloc(&p, n);
    for (int i = 0; i < n; i++)
        p[i] = 1;
    out[1] = cudaMemsetAsync(p, 0, n, 0);
    out[2] = cudaMemcpyAsync(p + n / 2, from, n - n / 2, cudaMemcpyDeviceToDevice, 0);
    out[3] = cudaMemset2DAsync(p + n - 6, 3, 0, 3, 2, 0);
    look_and_free<<<1, 1>>>(p, n, out + 5);
    out[4] = cudaGetLastError();
}

struct facts { int device, count, warp, blocks, blocks2; size_t heap; struct cudaFuncAttributes f; char name[40]; cudaError_t bad; };

__global__ void __launch_bounds__(256) some(double *x)
{
    __shared__ double s[100];
    s[threadIdx.x % 100] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[(threadIdx.x + 1) % 100];
}

__global__ void ask(struct facts *f)
{
    cudaGetDevice(&f->device);
    cudaGetDeviceCount(&f->count);
    cudaDeviceGetAttribute(&f->warp, cudaDevAttrWarpSize, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&f->blocks, some, 128, 4000);
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&f->blocks2, some, 128, 4000, 0);
    cudaDeviceGetLimit(&f->heap, cudaLimitMallocHeapSize);
    cudaFuncGetAttributes(&f->f, some);
    f->bad = cudaDeviceGetAttribute(&f->warp, cudaDevAttrWarpSize, 999);
    const char *name = cudaGetErrorName(cudaErrorInvalidDevice);
    for (int i = 0; i < 39 && name[i]; i++)
        f->name[i] = name[i];
}

static void facts(void)
{
    enum { N = 5000 };
    unsigned char *from;
    int *out, blocks;
    OK(cudaMallocManaged(&from, N));
    OK(cudaMallocManaged(&out, 6 * sizeof *out));
    memset(from, 0x21, N);
    memset(out, 0, 6 * sizeof *out);
    memory<<<1, 1>>>(from, N, out);
    OK_LAUNCH();
    for (int i = 0; i < 6; i++)
        EXPECT(out[i] == 0, "memory: call %d gave %d", i, out[i]);

    struct facts *f;
    struct cudaFuncAttributes own;
    size_t heap;
    OK(cudaMallocManaged(&f, sizeof *f));
    memset(f, 0, sizeof *f);
    ask<<<1, 1>>>(f);
    OK_LAUNCH();
    OK(cudaFuncGetAttributes(&own, some));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, some, 128, 4000));
    OK(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
    EXPECT(f->device == 0 && f->count == 1 && f->warp == 32, "facts: %d %d %d", f->device, f->count, f->warp);
    EXPECT(f->blocks == blocks && f->blocks2 == blocks, "occupancy %d and %d, the host says %d", f->blocks, f->blocks2, blocks);
    EXPECT(f->heap == heap, "heap %zu, the host says %zu", f->heap, heap);
    EXPECT(f->f.sharedSizeBytes == own.sharedSizeBytes && f->f.numRegs == own.numRegs && f->f.maxThreadsPerBlock == own.maxThreadsPerBlock &&
               f->f.localSizeBytes == own.localSizeBytes && f->f.binaryVersion == own.binaryVersion,
           "attributes: %zu %d %d", f->f.sharedSizeBytes, f->f.numRegs, f->f.maxThreadsPerBlock);
    EXPECT(f->bad == cudaErrorInvalidDevice && !strcmp(f->name, "cudaErrorInvalidDevice"), "error %d, %s", f->bad, f->name);
    OK(cudaFree(f));
    OK(cudaFree(out));
    OK(cudaFree(from));
}

int main(void)
{
    quicksort();
    fan();
    order();
    tail();
    events_test();
    errors();
    facts();
    return app_verdict();
}
