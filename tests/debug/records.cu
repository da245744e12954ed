// records.ptx is what `nvcc -ptx -G -arch=sm_75` makes of this, without what names a machine: structs, and their members by name.
struct thing { int id; };
struct node : thing {
    float weight[2];
    node *next;
    union { int bits; float real; };
    struct { short a, b; } in;
};
__device__ node pair[2];

__global__ void chain(int *data, int n)
{
    node own = {{data[0] + 5}, {1.5f, -2.0f}, &pair[1], {0x3f800000}, {3, -3}};
    pair[0] = own;
    node *first = &pair[0];
    first->next->id = own.id + 1;
    data[0] = pair[1].id;
}
