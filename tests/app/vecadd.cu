// vecadd: element-wise addition with a grid that does not divide the vector; nothing behind the end is written.
#include "app.h"
#include <vector>

__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

int main(void)
{
    const int n = 100003, guard = 256;
    std::vector<float> a(n), b(n), c(n + guard, -1.0f);
    unsigned seed = 1;
    for (int i = 0; i < n; i++) {
        a[i] = app_uniform(&seed, -100, 100);
        b[i] = app_uniform(&seed, -100, 100);
    }
    float *da = app_to_device(a.data(), n), *db = app_to_device(b.data(), n), *dc = app_to_device(c.data(), n + guard);
    add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
    OK_LAUNCH();
    app_to_host(c.data(), dc, n + guard);
    for (int i = 0; i < n; i++)
        EXPECT(c[i] == a[i] + b[i], "element %d is %g, not %g", i, c[i], a[i] + b[i]);
    for (int i = n; i < n + guard; i++)
        EXPECT(c[i] == -1.0f, "element %d behind the end was written", i);
    OK(cudaFree(da));
    OK(cudaFree(db));
    OK(cudaFree(dc));
    printf("%d elements\n", n);
    return app_verdict();
}
