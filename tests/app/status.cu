// status: the program's exit status and output pass through unchanged.
#include "app.h"

__global__ void set(int *p) { *p = 42; }

int main(void)
{
    int *p, host = 0;
    OK(cudaMalloc(&p, sizeof(int)));
    set<<<1, 1>>>(p);
    OK_LAUNCH();
    app_to_host(&host, p, 1);
    printf("leaving with %d\n", host);
    return host;
}
