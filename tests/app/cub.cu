// cub: device-wide reduce, inclusive scan (decoupled look-back between blocks) and radix sort of pairs (onesweep).
#include "app.h"
#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <numeric>
#include <vector>

int main(void)
{
    const int n = 70000;
    std::vector<unsigned> in(n), out(n), vals(n), gvals(n);
    unsigned seed = 23;
    for (int i = 0; i < n; i++) {
        in[i] = app_rand(&seed) & 0xffff;
        vals[i] = i;
    }
    unsigned *din = app_to_device(in.data(), n), *dvals = app_to_device(vals.data(), n), *dout, *dvout;
    OK(cudaMalloc(&dout, n * sizeof(unsigned)));
    OK(cudaMalloc(&dvout, n * sizeof(unsigned)));
    void *tmp = nullptr;
    size_t bytes = 0, most = 0;
    OK(cub::DeviceReduce::Sum(nullptr, bytes, din, dout, n));
    most = std::max(most, bytes);
    OK(cub::DeviceScan::InclusiveSum(nullptr, bytes, din, dout, n));
    most = std::max(most, bytes);
    OK(cub::DeviceRadixSort::SortPairs(nullptr, bytes, din, dout, dvals, dvout, n));
    most = std::max(most, bytes);
    OK(cudaMalloc(&tmp, most));

    unsigned sum = std::accumulate(in.begin(), in.end(), 0u), got;
    OK(cub::DeviceReduce::Sum(tmp, most, din, dout, n));
    OK_LAUNCH();
    app_to_host(&got, dout, 1);
    EXPECT(got == sum, "the sum is %u, not %u", got, sum);

    OK(cub::DeviceScan::InclusiveSum(tmp, most, din, dout, n));
    OK_LAUNCH();
    app_to_host(out.data(), dout, n);
    unsigned prefix = 0;
    for (int i = 0; i < n; i++) {
        prefix += in[i];
        EXPECT(out[i] == prefix, "prefix %d is %u, not %u", i, out[i], prefix);
    }

    OK(cub::DeviceRadixSort::SortPairs(tmp, most, din, dout, dvals, dvout, n));
    OK_LAUNCH();
    app_to_host(out.data(), dout, n);
    app_to_host(gvals.data(), dvout, n);
    std::stable_sort(vals.begin(), vals.end(), [&](unsigned a, unsigned b) { return in[a] < in[b]; });
    for (int i = 0; i < n; i++)
        EXPECT(gvals[i] == vals[i] && out[i] == in[vals[i]], "rank %d: key %u value %u, not %u %u", i, out[i], gvals[i],
               in[vals[i]], vals[i]);
    printf("%d elements, sum %u\n", n, sum);
    return app_verdict();
}
