// occupancy: blocks per multiprocessor follow from the device's limits: threads, shared memory, registers, blocks; the
// suggested block size.
#include "app.h"

__global__ void light(int *p) { p[threadIdx.x] = 1; }

__global__ void shared_user(int *p)
{
    extern __shared__ int s[];
    s[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

static int attribute(cudaDeviceAttr a)
{
    int v;
    OK(cudaDeviceGetAttribute(&v, a, 0));
    return v;
}

int main(void)
{
    const int threads = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
    const int shared = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    const int most = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
    const int reserved = attribute(cudaDevAttrReservedSharedMemoryPerBlock);
    const int sms = attribute(cudaDevAttrMultiProcessorCount);
    const int registers = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
    cudaFuncAttributes a;
    OK(cudaFuncGetAttributes(&a, light));
    EXPECT(a.numRegs > 0 && a.numRegs <= 255 && a.maxThreadsPerBlock == 1024, "registers %d, block of at most %d", a.numRegs,
           a.maxThreadsPerBlock);
    for (int block : {32, 64, 96, 128, 256, 500, 512, 768, 1024}) {
        int blocks, warps = (block + 31) / 32, want = threads / (32 * warps);
        OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, light, block, 0));
        want = want > most ? most : want;
        EXPECT(blocks <= want && blocks * warps * 32 * a.numRegs <= registers, "blocks of %d: %d, not %d", block, blocks, want);
        if (a.numRegs <= 32) // 64 Ki registers hold 2048 threads of 32
            EXPECT(blocks == want, "blocks of %d: %d, not %d", block, blocks, want);
    }
    int previous = 1 << 30;
    for (int bytes : {0, 1024, 8192, 16384, 20000, 40960, 49152}) {
        int blocks;
        OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared_user, 64, bytes));
        EXPECT(blocks > 0 && blocks <= previous, "%d bytes: %d blocks after %d", bytes, blocks, previous);
        if (bytes >= 8192) {
            int exact = shared / ((bytes + reserved + 127) / 128 * 128);
            exact = exact > most ? most : exact;
            EXPECT(blocks == exact, "%d bytes: %d blocks, not %d", bytes, blocks, exact);
        }
        previous = blocks;
    }
    int grid = 0, block = 0;
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, light, 0, 0));
    EXPECT(block >= 32 && block <= 1024 && block % 32 == 0, "the suggested block is %d", block);
    int per_sm;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, light, block, 0));
    EXPECT(grid == per_sm * sms, "the suggested grid is %d, not %d x %d", grid, per_sm, sms);
    EXPECT(per_sm * block == threads || a.numRegs > 32, "the suggestion does not fill the multiprocessor: %d x %d", per_sm, block);
    size_t available;
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&available, shared_user, 2, 64));
    EXPECT(available > 0 && available <= (size_t)shared, "available: %zu", available);
    EXPECT_ERROR(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, light, 0, 0), cudaErrorInvalidValue);
    (void)cudaGetLastError();
    return app_verdict();
}
