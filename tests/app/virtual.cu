// virtual: virtual functions of objects made on the device: overriding, several bases, virtual destructors, divergent targets.
#include "app.h"

struct Shape {
    int id;
    __host__ __device__ explicit Shape(int i) : id(i) {}
    __host__ __device__ virtual int area() const = 0;
    __host__ __device__ virtual int corners() const { return 0; }
    __host__ __device__ virtual ~Shape() {}
};

struct Named {
    int name;
    __host__ __device__ explicit Named(int n) : name(n) {}
    __host__ __device__ virtual int label() const { return name; }
    __host__ __device__ virtual ~Named() {}
};

struct Square : Shape {
    int side;
    __host__ __device__ Square(int i, int s) : Shape(i), side(s) {}
    __host__ __device__ int area() const override { return side * side; }
    __host__ __device__ int corners() const override { return 4; }
};

struct Triangle : Shape, Named { // the second base needs its this pointer adjusted
    int base, height;
    __host__ __device__ Triangle(int i, int b, int h) : Shape(i), Named(i * 100), base(b), height(h) {}
    __host__ __device__ int area() const override { return base * height / 2; }
    __host__ __device__ int corners() const override { return 3; }
    __host__ __device__ int label() const override { return name + base; }
};

struct Disc : Shape {
    int radius;
    int *dead;
    __host__ __device__ Disc(int i, int r, int *d) : Shape(i), radius(r), dead(d) {}
    __host__ __device__ int area() const override { return 3 * radius * radius; }
    __host__ __device__ ~Disc() override { ++*dead; }
};

__host__ __device__ Shape *make(int i, int *dead)
{
    switch (i % 3) {
    case 0: return new Square(i, i + 1);
    case 1: return new Triangle(i, i + 2, i + 3);
    default: return new Disc(i, i, dead);
    }
}

__host__ __device__ int describe(const Shape *s) { return s->area() * 10 + s->corners() + s->id * 1000; }

__global__ void build(Shape **shapes, int *dead, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        dead[i] = 0;
        shapes[i] = make(i, &dead[i]);
    }
}

// A later kernel: the objects and their tables outlive the one that made them.
__global__ void use(Shape **shapes, int *out, int *labels, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        out[i] = describe(shapes[(i * 7) % n]);
        const Named *named = i % 3 == 1 ? static_cast<const Triangle *>(shapes[i]) : nullptr;
        labels[i] = named ? named->label() : -1;
    }
}

__global__ void destroy(Shape **shapes, int n)
{
    if (threadIdx.x < n)
        delete shapes[threadIdx.x];
}

int main(void)
{
    const int n = 60;
    Shape **shapes;
    int *dout, *ddead, *dlabels, out[n], dead[n], labels[n];
    OK(cudaMalloc(&shapes, n * sizeof(Shape *)));
    OK(cudaMalloc(&dout, sizeof(out)));
    OK(cudaMalloc(&ddead, sizeof(dead)));
    OK(cudaMalloc(&dlabels, sizeof(labels)));
    build<<<1, 64>>>(shapes, ddead, n);
    use<<<1, 64>>>(shapes, dout, dlabels, n);
    destroy<<<1, 64>>>(shapes, n);
    OK_LAUNCH();
    app_to_host(out, dout, n);
    app_to_host(dead, ddead, n);
    app_to_host(labels, dlabels, n);
    for (int i = 0; i < n; i++) {
        int hdead = 0;
        Shape *s = make((i * 7) % n, &hdead);
        EXPECT(out[i] == describe(s), "shape %d is %d, not %d", i, out[i], describe(s));
        delete s;
        EXPECT(dead[i] == (i % 3 == 2), "shape %d was destroyed %d times", i, dead[i]);
        EXPECT(labels[i] == (i % 3 == 1 ? i * 100 + i + 2 : -1), "label %d is %d", i, labels[i]);
    }
    printf("%d shapes\n", n);
    return app_verdict();
}
