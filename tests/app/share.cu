// share: pools and physical allocations that go to another process as file descriptors over a socket.
#include "app.h"
#include <cuda.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CU(call)                                                                                                    \
    do {                                                                                                            \
        CUresult cu_err = (call);                                                                                   \
        if (cu_err != CUDA_SUCCESS) {                                                                               \
            printf("FAIL: line %d: %s gave %d\n", __LINE__, #call, (int)cu_err);                                    \
            exit(1);                                                                                                \
        }                                                                                                           \
    } while (0)

__global__ void add(int *p, int n, int by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] += by;
}

const int N = 1000;
const size_t BYTES = 4 << 20;

static void send_fd(int to, int fd, const void *data, size_t bytes)
{
    char control[CMSG_SPACE(sizeof(int))] = {};
    iovec io = {(void *)data, bytes};
    msghdr m = {};
    m.msg_iov = &io, m.msg_iovlen = 1, m.msg_control = control, m.msg_controllen = sizeof control;
    cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    EXPECT(sendmsg(to, &m, 0) == (ssize_t)bytes, "a descriptor cannot be sent");
}

static int get_fd(int from, void *data, size_t bytes)
{
    char control[CMSG_SPACE(sizeof(int))] = {};
    iovec io = {data, bytes};
    msghdr m = {};
    m.msg_iov = &io, m.msg_iovlen = 1, m.msg_control = control, m.msg_controllen = sizeof control;
    if (recvmsg(from, &m, MSG_WAITALL) != (ssize_t)bytes || !CMSG_FIRSTHDR(&m))
        return -1;
    int fd;
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    return fd;
}

static void *map(CUmemGenericAllocationHandle h)
{
    CUdeviceptr at;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CU(cuMemAddressReserve(&at, BYTES, 0, 0, 0));
    CU(cuMemMap(at, BYTES, 0, h, 0));
    CU(cuMemSetAccess(at, BYTES, &access, 1));
    return (void *)at;
}

// Adds to what the parent left and says when it has.
static int other(int socket)
{
    cudaMemPoolPtrExportData data[2];
    char nothing;
    int fd = get_fd(socket, data, sizeof data);
    cudaMemPool_t pool;
    OK(cudaMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, cudaMemHandleTypePosixFileDescriptor, 0));
    close(fd);
    int *p[2], *q;
    OK(cudaMemPoolImportPointer((void **)&p[0], pool, &data[0]));
    OK(cudaMemPoolImportPointer((void **)&p[1], pool, &data[1]));
    EXPECT_ERROR(cudaMallocFromPoolAsync((void **)&q, 64, pool, 0), cudaErrorInvalidValue);
    (void)cudaGetLastError();
    for (int i = 0; i < 2; i++)
        add<<<4, 256>>>(p[i], N, 10 * (i + 1));
    OK_LAUNCH();
    OK(cudaFreeAsync(p[0], 0));
    OK(cudaFree(p[1]));
    OK(cudaStreamSynchronize(0));
    OK(cudaMemPoolDestroy(pool));

    fd = get_fd(socket, &nothing, 1);
    CUmemGenericAllocationHandle h;
    CU(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    CUmemAllocationProp prop;
    CU(cuMemGetAllocationPropertiesFromHandle(&prop, h));
    EXPECT(prop.location.id == 0 && prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE, "the allocation's device is %d", prop.location.id);
    int *m = (int *)map(h);
    CU(cuMemRelease(h));
    add<<<4, 256>>>(m, N, 100);
    OK_LAUNCH();
    OK(cudaGetLastError());
    EXPECT(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)socket, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == CUDA_ERROR_INVALID_VALUE, "a socket is imported");
    char done = 1;
    return write(socket, &done, 1) != 1 || app_failures;
}

static void check(const char *what, const int *dev, int add)
{
    int host[N];
    app_to_host(host, dev, N);
    for (int i = 0; i < N; i++)
        EXPECT(host[i] == i + add, "%s: element %d is %d, not %d", what, i, host[i], i + add);
}

static void pools(int socket, const int *host, int **p)
{
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    props.location = {cudaMemLocationTypeDevice, {0}};
    cudaMemPool_t pool, plain;
    OK(cudaMemPoolCreate(&pool, &props));
    props.handleTypes = cudaMemHandleTypeNone;
    OK(cudaMemPoolCreate(&plain, &props));
    int fd;
    EXPECT_ERROR(cudaMemPoolExportToShareableHandle(&fd, plain, cudaMemHandleTypePosixFileDescriptor, 0), cudaErrorInvalidValue);
    OK(cudaMemPoolDestroy(plain));
    cudaMemPoolPtrExportData data[2];
    for (int i = 0; i < 2; i++) {
        OK(cudaMallocFromPoolAsync((void **)&p[i], N * sizeof(int), pool, 0));
        OK(cudaMemcpyAsync(p[i], host, N * sizeof(int), cudaMemcpyHostToDevice, 0));
        OK(cudaMemPoolExportPointer(&data[i], p[i]));
    }
    OK(cudaStreamSynchronize(0));
    OK(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    send_fd(socket, fd, data, sizeof data);
    close(fd);
}

static int *physical(int socket, const int *host)
{
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    CUmemGenericAllocationHandle h, again;
    CU(cuMemCreate(&h, BYTES, &prop, 0));
    int fd;
    EXPECT(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) == CUDA_ERROR_INVALID_VALUE, "an allocation that was not made for it is exported");
    CU(cuMemRelease(h));
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CU(cuMemCreate(&h, BYTES, &prop, 0));
    int *m = (int *)map(h);
    CU(cuMemRetainAllocationHandle(&again, m + 5));
    EXPECT(again == h, "retaining gives another handle");
    CU(cuMemRelease(again));
    unsigned long long flags;
    CUmemLocation where = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    CU(cuMemGetAccess(&flags, &where, (CUdeviceptr)m));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "access is %llu", flags);
    OK(cudaMemcpy(m, host, N * sizeof(int), cudaMemcpyHostToDevice));
    CU(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    send_fd(socket, fd, "x", 1);
    close(fd);
    CU(cuMemRelease(h));
    return m;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return other(atoi(argv[1]));
    int ends[2];
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "no socket");
    pid_t pid = fork();
    if (pid == 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", ends[1]);
        execl("/proc/self/exe", argv[0], number, (char *)nullptr);
        _exit(99);
    }
    close(ends[1]);
    int host[N], *p[2];
    for (int i = 0; i < N; i++)
        host[i] = i;
    OK(cudaSetDevice(0));
    OK(cudaFree(0));
    pools(ends[0], host, p);
    int *m = physical(ends[0], host);
    char done = 0;
    EXPECT(read(ends[0], &done, 1) == 1 && done, "the other process says nothing");
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the other process: status %x", status);
    check("first of the pool", p[0], 10);
    check("second of the pool", p[1], 20);
    check("physical", m, 100);
    for (int i = 0; i < 2; i++)
        OK(cudaFreeAsync(p[i], 0));
    OK(cudaStreamSynchronize(0));
    return app_verdict();
}
