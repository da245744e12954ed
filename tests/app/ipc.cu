// ipc: memory and events of one process in another: a parent and two unrelated copies of the program (fork and exec), which talk through files only.
#include "app.h"
#include <sys/wait.h>
#include <unistd.h>

__global__ void add(int *p, int n, int by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] += by;
}

const int SMALL = 100, LARGE = 3 << 20;

struct Shared {
    cudaIpcMemHandle_t small, neighbour, large;
    cudaIpcEventHandle_t filled, answered;
};

// The other process: adds 1000 to the neighbour and 7 to the large array behind `filled`, then records `answered`.
static int other(const char *path)
{
    Shared s;
    FILE *f = fopen(path, "rb");
    EXPECT(f && fread(&s, sizeof s, 1, f) == 1, "the handles cannot be read");
    if (!f)
        return 1;
    fclose(f);
    int *small, *again, *neighbour, *large;
    cudaEvent_t filled, answered;
    OK(cudaIpcOpenMemHandle((void **)&small, s.small, cudaIpcMemLazyEnablePeerAccess));
    OK(cudaIpcOpenMemHandle((void **)&again, s.small, cudaIpcMemLazyEnablePeerAccess));
    OK(cudaIpcOpenMemHandle((void **)&neighbour, s.neighbour, cudaIpcMemLazyEnablePeerAccess));
    OK(cudaIpcOpenMemHandle((void **)&large, s.large, cudaIpcMemLazyEnablePeerAccess));
    OK(cudaIpcOpenEventHandle(&filled, s.filled));
    OK(cudaIpcOpenEventHandle(&answered, s.answered));
    EXPECT(again == small, "a handle that is opened twice gives another address");
    cudaPointerAttributes a;
    OK(cudaPointerGetAttributes(&a, large));
    EXPECT(a.type == cudaMemoryTypeDevice, "opened memory is of type %d", (int)a.type);
    EXPECT_ERROR(cudaFree(large), cudaErrorInvalidValue);
    int host[SMALL];
    app_to_host(host, small, SMALL);
    for (int i = 0; i < SMALL; i++)
        EXPECT(host[i] == i, "element %d of the small array is %d", i, host[i]);
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamWaitEvent(stream, filled, 0));
    add<<<(LARGE + 255) / 256, 256, 0, stream>>>(large, LARGE, 7);
    add<<<1, 128, 0, stream>>>(neighbour, SMALL, 1000);
    OK(cudaEventRecord(answered, stream));
    OK(cudaEventSynchronize(answered));
    OK(cudaEventDestroy(filled));
    OK(cudaEventDestroy(answered));
    OK(cudaIpcCloseMemHandle(large));
    OK(cudaIpcCloseMemHandle(small));
    OK(cudaIpcCloseMemHandle(small));
    EXPECT_ERROR(cudaIpcCloseMemHandle(small), cudaErrorInvalidValue);
    return app_failures != 0; // the neighbour is left open: it goes with the process
}

static pid_t start(const char *self, const char *path)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", self, path, (char *)nullptr);
        _exit(99);
    }
    return pid;
}

static void errors(int *own)
{
    cudaIpcMemHandle_t h, nothing = {};
    cudaIpcEventHandle_t eh;
    cudaEvent_t plain;
    int *p, *managed;
    OK(cudaMallocManaged(&managed, 64));
    OK(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
    EXPECT_ERROR(cudaIpcGetMemHandle(&h, nullptr), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaIpcGetMemHandle(&h, managed), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaIpcOpenMemHandle((void **)&p, nothing, cudaIpcMemLazyEnablePeerAccess), cudaErrorInvalidResourceHandle);
    OK(cudaIpcGetMemHandle(&h, own));
    EXPECT_ERROR(cudaIpcOpenMemHandle((void **)&p, h, 8), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaIpcOpenMemHandle((void **)&p, h, cudaIpcMemLazyEnablePeerAccess), cudaErrorDeviceUninitialized);
    EXPECT_ERROR(cudaIpcCloseMemHandle(own), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaIpcGetEventHandle(&eh, plain), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaEventCreateWithFlags(&plain, cudaEventInterprocess), cudaErrorInvalidValue);
    OK(cudaFree(managed));
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return other(argv[1]);
    int host[SMALL], *small, *neighbour, *large;
    for (int i = 0; i < SMALL; i++)
        host[i] = i;
    small = app_to_device(host, SMALL);
    neighbour = app_to_device(host, SMALL);
    OK(cudaMalloc(&large, LARGE * sizeof(int)));
    errors(small);
    cudaEvent_t filled, answered;
    OK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming | cudaEventInterprocess));
    OK(cudaEventCreateWithFlags(&answered, cudaEventDisableTiming | cudaEventInterprocess));
    char path[] = "/tmp/heddle-ipc-XXXXXX";
    int fd = mkstemp(path);
    Shared s;
    OK(cudaIpcGetMemHandle(&s.small, small));
    OK(cudaIpcGetMemHandle(&s.neighbour, neighbour));
    OK(cudaIpcGetMemHandle(&s.large, large));
    OK(cudaIpcGetEventHandle(&s.filled, filled));
    OK(cudaIpcGetEventHandle(&s.answered, answered));
    EXPECT(fd >= 0 && write(fd, &s, sizeof s) == sizeof s, "the handles cannot be written");
    OK(cudaMemset(large, 0, LARGE * sizeof(int)));
    add<<<(LARGE + 255) / 256, 256>>>(large, LARGE, 5);
    OK(cudaEventRecord(filled));
    for (int round = 1; round <= 2; round++) { // one after the other: each adds to what is there
        pid_t pid = start(argv[0], path);
        int status = -1;
        waitpid(pid, &status, 0);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the other process: status %x", status);
        OK(cudaEventSynchronize(answered));
        int seen[SMALL], *all = (int *)malloc(LARGE * sizeof(int));
        app_to_host(seen, neighbour, SMALL);
        app_to_host(all, large, LARGE);
        for (int i = 0; i < SMALL; i++)
            EXPECT(seen[i] == i + 1000 * round, "round %d: neighbour %d is %d", round, i, seen[i]);
        for (int i = 0; i < LARGE; i++)
            EXPECT(all[i] == 5 + 7 * round, "round %d: element %d is %d", round, i, all[i]);
        free(all);
    }
    close(fd);
    unlink(path);
    OK(cudaFree(small));
    OK(cudaFree(neighbour));
    OK(cudaFree(large));
    int *fresh;
    OK(cudaMalloc(&fresh, LARGE * sizeof(int))); // where the shared one was: private and zero again, or at least ours
    OK(cudaMemset(fresh, 0, LARGE * sizeof(int)));
    OK(cudaFree(fresh));
    return app_verdict();
}
