// devices: two devices, seen in the order that CUDA_VISIBLE_DEVICES gives (the row in `list` says 1,0): contexts apart, copies and
// accesses from one to the other, errors of peer access.
#include "app.h"

__global__ void add_one(int *p) { p[threadIdx.x]++; }

int main(void)
{
    const int n = 32;
    int count = 0, can = 0, host[n], *mem[2];
    cudaDeviceProp p[2];
    cudaPointerAttributes a;
    OK(cudaGetDeviceCount(&count));
    EXPECT(count == 2, "%d devices", count);
    if (count != 2)
        return app_verdict();
    for (int d = 0; d < 2; d++) {
        OK(cudaGetDeviceProperties(&p[d], d));
        OK(cudaSetDevice(d));
        OK(cudaMalloc(&mem[d], n * sizeof(int)));
        OK(cudaMemset(mem[d], 0, n * sizeof(int)));
        add_one<<<1, n>>>(mem[d]);
        OK_LAUNCH();
        OK(cudaPointerGetAttributes(&a, mem[d]));
        EXPECT(a.device == d && a.type == cudaMemoryTypeDevice, "memory of device %d is on %d", d, a.device);
    }
    EXPECT(p[0].pciBusID > p[1].pciBusID, "1,0 gives bus %d before %d", p[0].pciBusID, p[1].pciBusID);
    EXPECT(memcmp(&p[0].uuid, &p[1].uuid, sizeof p[0].uuid) != 0, "both have one UUID");
    OK(cudaDeviceCanAccessPeer(&can, 1, 0));
    EXPECT(can == 1, "peer access");
    OK(cudaDeviceEnablePeerAccess(0, 0));
    EXPECT_ERROR(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
    EXPECT_ERROR(cudaDeviceEnablePeerAccess(1, 0), cudaErrorInvalidDevice);
    EXPECT(cudaGetLastError() == cudaErrorInvalidDevice, "the last error");
    add_one<<<1, n>>>(mem[0]); // device 1 writes into memory of device 0
    OK_LAUNCH();
    OK(cudaMemcpyPeer(mem[1], 1, mem[0], 0, n * sizeof(int)));
    OK(cudaDeviceDisablePeerAccess(0));
    EXPECT_ERROR(cudaDeviceDisablePeerAccess(0), cudaErrorPeerAccessNotEnabled);
    app_to_host(host, mem[1], n);
    for (int i = 0; i < n; i++)
        EXPECT(host[i] == 2, "word %d is %d", i, host[i]);
    EXPECT_ERROR(cudaSetDevice(2), cudaErrorInvalidDevice);
    OK(cudaFree(mem[0]));
    OK(cudaFree(mem[1]));
    return app_verdict();
}
