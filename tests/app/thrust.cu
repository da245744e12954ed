// thrust: sort, reduce and transform on device vectors (radix sort and reduction kernels of the library, temporary storage).
#include "app.h"
#include <algorithm>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <vector>

int main(void)
{
    const int n = 30000;
    std::vector<int> host(n);
    unsigned seed = 17;
    long long sum = 0;
    for (auto &x : host) {
        x = (int)app_rand(&seed);
        sum += x;
    }
    thrust::device_vector<int> v(host.begin(), host.end());
    long long got = thrust::reduce(v.begin(), v.end(), 0ll, thrust::plus<long long>());
    EXPECT(got == sum, "the sum is %lld, not %lld", got, sum);
    int top = thrust::reduce(v.begin(), v.end(), -2147483647 - 1, thrust::maximum<int>());
    EXPECT(top == *std::max_element(host.begin(), host.end()), "the maximum is %d", top);
    thrust::sort(v.begin(), v.end());
    std::vector<int> sorted(n);
    OK(cudaMemcpy(sorted.data(), thrust::raw_pointer_cast(v.data()), n * sizeof(int), cudaMemcpyDeviceToHost));
    std::sort(host.begin(), host.end());
    for (int i = 0; i < n; i++)
        EXPECT(sorted[i] == host[i], "element %d is %d, not %d", i, sorted[i], host[i]);
    EXPECT(v[n / 2] == host[n / 2], "reading one element");
    printf("%d elements, sum %lld\n", n, sum);
    return app_verdict();
}
