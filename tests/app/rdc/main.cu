// rdc: relocatable device code in three translation units: extern __device__, __constant__ and __managed__ variables, functions
// and function pointers across units, equal static names, virtual functions, kernels of other units, symbols from the host.
#include "../app.h"
#include "shared.h"

__global__ void objects(int *out)
{
    Counter *c = make_counter(threadIdx.x & 1, threadIdx.x);
    c->next(1);
    out[threadIdx.x] = c->next(2);
    delete c;
}

int main(void)
{
    const int n = 64;
    int out[n], *dout;
    OK(cudaMalloc(&dout, sizeof(out)));
    launch_a(dout, n);
    OK_LAUNCH();
    app_to_host(out, dout, n);
    const int table[16] = {3, 1, 4, 1, 5, 9, 2, 6};
    for (int i = 0; i < n; i++) {
        int want = (i + 1000) + (3 * i + 1) + (i + 2000) - (3 * i + 1) + 100 + table[i & 15];
        EXPECT(out[i] == want, "a: thread %d is %d, not %d", i, out[i], want);
    }

    float scale = 2.5f, read;
    OK(cudaMemcpyToSymbol(shared_scale, &scale, sizeof(scale)));
    OK(cudaMemcpyFromSymbol(&read, shared_scale, sizeof(read)));
    EXPECT(read == 2.5f, "the constant reads %g", read);
    kernel_b<<<1, n>>>(dout, n);
    OK_LAUNCH();
    app_to_host(out, dout, n);
    int total, squares = 0;
    for (int i = 0; i < n; i++) {
        EXPECT(out[i] == 5 * i + i * i, "b: thread %d is %d", i, out[i]);
        squares += i * i;
    }
    OK(cudaMemcpyFromSymbol(&total, shared_total, sizeof(total)));
    EXPECT(total == squares, "the total is %d, not %d", total, squares);
    EXPECT(shared_managed == 41, "the managed variable is %d", shared_managed);

    objects<<<1, n>>>(dout);
    OK_LAUNCH();
    app_to_host(out, dout, n);
    for (int i = 0; i < n; i++) {
        int want = i & 1 ? ((i + 1) * 2 + 2) * 2 : i + 3;
        EXPECT(out[i] == want, "object %d is %d, not %d", i, out[i], want);
    }
    printf("squares %d\n", squares);
    return app_verdict();
}
