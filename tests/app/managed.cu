// managed: __managed__ variables and cudaMallocManaged memory used by host and device in turn; linked data; attributes.
#include "app.h"

struct item {
    int value;
    item *next;
};

__managed__ int counter = 5;
__managed__ int table[64] = {1, 2, 3};

__global__ void bump(int by)
{
    atomicAdd(&counter, by);
    table[threadIdx.x] += threadIdx.x;
}

__global__ void walk(item *head, int *sum)
{
    int s = 0;
    for (item *i = head; i; i = i->next) {
        s += i->value;
        i->value = -i->value;
    }
    *sum = s;
}

int main(void)
{
    counter += 1; // the host writes before the device has been touched
    bump<<<1, 64>>>(2);
    OK_LAUNCH();
    EXPECT(counter == 6 + 128, "counter is %d", counter);
    for (int i = 0; i < 64; i++)
        EXPECT(table[i] == (i < 3 ? i + 1 : 0) + i, "table[%d] is %d", i, table[i]);
    int copy;
    OK(cudaMemcpyFromSymbol(&copy, counter, sizeof(copy)));
    EXPECT(copy == counter, "the symbol holds %d, the variable %d", copy, counter);

    item *head = nullptr;
    int *sum, want = 0;
    OK(cudaMallocManaged(&sum, sizeof(int)));
    for (int i = 1; i <= 100; i++) {
        item *n;
        OK(cudaMallocManaged(&n, sizeof(item)));
        n->value = i * i;
        n->next = head;
        head = n;
        want += i * i;
    }
    walk<<<1, 1>>>(head, sum);
    OK_LAUNCH();
    EXPECT(*sum == want, "the list sums to %d, not %d", *sum, want);
    int back = 0;
    for (item *i = head, *next; i; i = next) {
        next = i->next;
        back -= i->value;
        OK(cudaFree(i));
    }
    EXPECT(back == want, "the host sees %d, not %d", back, want);

    cudaPointerAttributes attr;
    OK(cudaPointerGetAttributes(&attr, sum));
    EXPECT(attr.type == cudaMemoryTypeManaged, "the memory type is %d", attr.type);
    EXPECT(attr.hostPointer == sum && attr.devicePointer == sum, "managed memory has one address");
    int device, managed;
    OK(cudaGetDevice(&device));
    OK(cudaDeviceGetAttribute(&managed, cudaDevAttrManagedMemory, device));
    EXPECT(managed == 1, "the managed-memory attribute is %d", managed);
    cudaMemLocation where = {cudaMemLocationTypeDevice, device};
    int *big;
    OK(cudaMallocManaged(&big, 1 << 20));
    OK(cudaMemAdvise(big, 1 << 20, cudaMemAdviseSetReadMostly, where));
    OK(cudaMemPrefetchAsync(big, 1 << 20, where, 0));
    OK(cudaMemset(big, 0x11, 1 << 20));
    OK(cudaDeviceSynchronize());
    EXPECT(big[(1 << 18) - 1] == 0x11111111, "after cudaMemset the host reads %x", big[(1 << 18) - 1]);
    OK(cudaFree(big));
    OK(cudaFree(sum));
    printf("list sum %d\n", want);
    return app_verdict();
}
