// gridsync: cooperative launches: grid.sync() over many blocks, grid ranks and sizes, a grid that fills the device, and
// cudaErrorCooperativeLaunchTooLarge for one block more.
#include "app.h"
#include <cooperative_groups.h>
#include <vector>

namespace cg = cooperative_groups;

// Prefix doubling over the whole array with a grid barrier between the steps.
__global__ void prefix(int *a, int *b, int n)
{
    cg::grid_group grid = cg::this_grid();
    int *from = a, *to = b;
    for (int d = 1; d < n; d *= 2) {
        for (int i = grid.thread_rank(); i < n; i += grid.size())
            to[i] = from[i] + (i >= d ? from[i - d] : 0);
        grid.sync();
        int *t = from;
        from = to, to = t;
    }
    if (from != a)
        for (int i = grid.thread_rank(); i < n; i += grid.size())
            a[i] = from[i];
}

__global__ void count(int *counter, int *wrong)
{
    cg::grid_group grid = cg::this_grid();
    if (!grid.is_valid())
        atomicAdd(wrong, 1000000);
    for (int phase = 1; phase <= 3; phase++) {
        if (threadIdx.x == 0)
            atomicAdd(counter, 1);
        grid.sync();
        if (*(volatile int *)counter != phase * (int)gridDim.x)
            atomicAdd(wrong, 1);
        grid.sync();
    }
}

int main(void)
{
    int device, cooperative, sms, per_sm;
    OK(cudaGetDevice(&device));
    OK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device));
    EXPECT(cooperative == 1, "the cooperative-launch attribute is %d", cooperative);

    int n = 3000;
    std::vector<int> in(n), got(n);
    for (int i = 0; i < n; i++)
        in[i] = i % 17;
    int *da = app_to_device(in.data(), n), *db;
    OK(cudaMalloc(&db, n * sizeof(int)));
    void *args[] = {&da, &db, &n};
    OK(cudaLaunchCooperativeKernel((void *)prefix, dim3(12), dim3(64), args, 0, 0));
    OK_LAUNCH();
    app_to_host(got.data(), da, n);
    for (int i = 0, sum = 0; i < n; i++) {
        sum += in[i];
        EXPECT(got[i] == sum, "prefix %d is %d, not %d", i, got[i], sum);
    }

    int zero = 0, *counter = app_to_device(&zero, 1), *wrong = app_to_device(&zero, 1), w;
    OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, count, 512, 0));
    void *count_args[] = {&counter, &wrong};
    OK(cudaLaunchCooperativeKernel((void *)count, dim3(sms * per_sm), dim3(512), count_args, 0, 0));
    OK_LAUNCH();
    app_to_host(&w, wrong, 1);
    EXPECT(w == 0, "a full grid: %d threads saw a wrong count", w);

    EXPECT_ERROR(cudaLaunchCooperativeKernel((void *)count, dim3(sms * per_sm + 1), dim3(512), count_args, 0, 0),
                 cudaErrorCooperativeLaunchTooLarge);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
    OK(cudaDeviceSynchronize());
    return app_verdict();
}
