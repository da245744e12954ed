// Tensor copies (cp.async.bulk.tensor) against a reference on the CPU: ranks 1 to 5, element sizes, every swizzle, boxes that hang over all edges, element strides,
// NaN fill, stores, reductions, im2col, and tensor maps edited on the device. The reference takes swizzles from the tables of the PTX ISA.
#include "app.h"
#include <cuda.h>
#include <cstdint>
#include <vector>

typedef CUresult (*encode_tiled)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *, const cuuint32_t *, const cuuint32_t *,
                                 CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
typedef CUresult (*encode_im2col)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *, const int *, const int *, cuuint32_t,
                                  cuuint32_t, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
typedef CUresult (*replace_address)(CUtensorMap *, void *);
static encode_tiled tiled;
static encode_im2col im2col;
static replace_address replace;

static void *entry(const char *name)
{
    void *p = nullptr;
    cudaDriverEntryPointQueryResult found;
    OK(cudaGetDriverEntryPointByVersion(name, &p, 12000, cudaEnableDefault, &found));
    EXPECT(found == cudaDriverEntryPointSuccess, "%s is not there", name);
    return p;
}

struct coords { int at[5]; int offset[3]; };
enum { SHARED = 1024 * 64 };

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void wait(unsigned bar, unsigned parity)
{
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra D; bra W; D: }" ::"r"(bar), "r"(parity) : "memory");
}

#define LOAD(dims, regs, ...)                                                                                                                        \
    asm volatile("cp.async.bulk.tensor." dims ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {" regs "}], [%2];" ::"r"(to), "l"(map), \
                 "r"(bar), __VA_ARGS__ : "memory")
#define IM2COL(dims, regs, offsets, ...)                                                                                                             \
    asm volatile("cp.async.bulk.tensor." dims ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {" regs "}], [%2], {" offsets "};" ::"r"(to), \
                 "l"(map), "r"(bar), __VA_ARGS__ : "memory")

__device__ void load(int rank, bool columns, unsigned to, const CUtensorMap *map, unsigned bar, coords c)
{
    const int *a = c.at;
    unsigned short w = (unsigned short)c.offset[0], h = (unsigned short)c.offset[1], d = (unsigned short)c.offset[2];
    switch (rank + (columns ? 10 : 0)) {
    case 1: LOAD("1d", "%3", "r"(a[0])); break;
    case 2: LOAD("2d", "%3, %4", "r"(a[0]), "r"(a[1])); break;
    case 3: LOAD("3d", "%3, %4, %5", "r"(a[0]), "r"(a[1]), "r"(a[2])); break;
    case 4: LOAD("4d", "%3, %4, %5, %6", "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])); break;
    case 5: LOAD("5d", "%3, %4, %5, %6, %7", "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4])); break;
    case 13: IM2COL("3d", "%3, %4, %5", "%6", "r"(a[0]), "r"(a[1]), "r"(a[2]), "h"(w)); break;
    case 14: IM2COL("4d", "%3, %4, %5, %6", "%7, %8", "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "h"(w), "h"(h)); break;
    case 15: IM2COL("5d", "%3, %4, %5, %6, %7", "%8, %9, %10", "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "h"(w), "h"(h), "h"(d)); break;
    }
}

// Loads a box and hands shared memory out as it is. bytes: what the copy counts.
__global__ void box_out(const __grid_constant__ CUtensorMap map, int rank, bool columns, coords c, unsigned bytes, unsigned char *out, unsigned n)
{
    extern __shared__ __align__(1024) unsigned char box[];
    __shared__ uint64_t barrier;
    unsigned bar = shared_address(&barrier);
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        box[i] = 0x5a;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.proxy.async.shared::cta;" ::"r"(bar) : "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("fence.proxy.async.shared::cta; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
        load(rank, columns, shared_address(box), &map, bar, c);
    }
    wait(bar, 0);
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = box[i];
}

// The byte of shared memory, from the start of a pattern, that the byte at `at` is moved to.
static unsigned swizzled(CUtensorMapSwizzle s, unsigned at)
{
    static const int xor128[8][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4},
                                     {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2}, {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};
    static const int atom32[4][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 6, 7, 4, 5}, {4, 5, 6, 7, 0, 1, 2, 3}, {6, 7, 4, 5, 2, 3, 0, 1}};
    static const int atom64[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 6, 7, 0, 1, 2, 3}};
    unsigned line = at / 128, chunk = at / 16 % 8, rest = at % 16;
    switch (s) {
    case CU_TENSOR_MAP_SWIZZLE_32B: chunk = xor128[line % 2][chunk]; break;
    case CU_TENSOR_MAP_SWIZZLE_64B: chunk = xor128[line % 4][chunk]; break;
    case CU_TENSOR_MAP_SWIZZLE_128B: chunk = xor128[line % 8][chunk]; break;
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B: chunk = atom32[line % 4][chunk]; break;
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B: chunk = atom32[line % 4][chunk]; rest = line % 2 ? (rest + 8) % 16 : rest; break;
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B: chunk = atom64[line % 2][chunk]; break;
    default: break;
    }
    return line * 128 + chunk * 16 + rest;
}

struct tensor {
    int rank, bytes;                               // of an element
    CUtensorMapDataType type;
    cuuint64_t dim[5], stride[5];                  // stride[i] of dimension i + 1
    cuuint32_t box[5], step[5];
    CUtensorMapSwizzle swizzle;
    CUtensorMapFloatOOBfill fill;
    std::vector<unsigned char> data;
    unsigned char *dev;
    CUtensorMap map;
};

static void make(tensor &t, unsigned seed)
{
    cuuint64_t size = t.dim[0] * t.bytes;
    for (int i = 1; i < t.rank; i++) {
        t.stride[i - 1] = (size + 15) / 16 * 16 + 16;          // with padding
        size = t.stride[i - 1] * t.dim[i];
    }
    t.data.resize(size);
    for (auto &x : t.data)
        x = (unsigned char)(app_rand(&seed) >> 5 & 0x3f);      // no NaNs: as elements of any type
    t.dev = app_to_device(t.data.data(), size);
}

static void encode(tensor &t)
{
    CUresult e = tiled(&t.map, t.type, t.rank, t.dev, t.dim, t.stride, t.box, t.step, CU_TENSOR_MAP_INTERLEAVE_NONE, t.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, t.fill);
    EXPECT(e == CUDA_SUCCESS, "encode: rank %d gives %d", t.rank, e);
}

// Offset of an element in global memory, or -1 when it is outside.
static long long inside(const tensor &t, const long long *at)
{
    long long off = at[0] * t.bytes;
    for (int i = 0; i < t.rank; i++) {
        if (at[i] < 0 || at[i] >= (long long)t.dim[i])
            return -1;
        if (i)
            off += at[i] * (long long)t.stride[i - 1];
    }
    return off;
}

static int span(CUtensorMapSwizzle s) { return s == CU_TENSOR_MAP_SWIZZLE_NONE ? 0 : s == CU_TENSOR_MAP_SWIZZLE_32B ? 32 : s == CU_TENSOR_MAP_SWIZZLE_64B ? 64 : 128; }

// All rows of a box, as coordinates of their first elements.
static std::vector<std::vector<long long>> rows_of(const tensor &t, const coords &c)
{
    std::vector<std::vector<long long>> rows(1, std::vector<long long>(c.at, c.at + 5));
    for (int i = 1; i < t.rank; i++) {                         // the lower dimension varies fastest
        std::vector<std::vector<long long>> more;
        for (cuuint32_t k = 0; k < (t.box[i] + t.step[i] - 1) / t.step[i]; k++)
            for (auto row : rows) {
                row[i] = c.at[i] + (long long)k * t.step[i];
                more.push_back(row);
            }
        rows = more;
    }
    return rows;
}

static void expect_box(const char *what, const tensor &t, const std::vector<std::vector<long long>> &rows, int n, const std::vector<unsigned char> &got)
{
    int pitch = n * t.bytes > span(t.swizzle) ? n * t.bytes : span(t.swizzle), wrong = 0;
    for (size_t r = 0; r < rows.size(); r++)
        for (int e = 0; e < n; e++)
            for (int b = 0; b < t.bytes; b++) {
                std::vector<long long> at = rows[r];
                at[0] += e;
                long long off = inside(t, at.data());
                unsigned to = swizzled(t.swizzle, (unsigned)(r * pitch + e * t.bytes + b));
                if (off >= 0)
                    wrong += got[to] != t.data[off + b];
                else if (t.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
                    wrong += got[to] != 0;
                else
                    wrong += b == t.bytes - 1 && (got[to] & 0x7f) != 0x7f;     // some NaN
            }
    EXPECT(!wrong, "%s: rank %d, %d-byte elements, swizzle %d: %d wrong bytes", what, t.rank, t.bytes, (int)t.swizzle, wrong);
}

static std::vector<unsigned char> run(const tensor &t, bool columns, const coords &c, unsigned bytes)
{
    std::vector<unsigned char> got(SHARED);
    unsigned char *out;
    OK(cudaMalloc(&out, SHARED));
    OK(cudaFuncSetAttribute(box_out, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED));
    box_out<<<1, 64, SHARED>>>(t.map, t.rank, columns, c, bytes, out, SHARED);
    OK_LAUNCH();
    app_to_host(got.data(), out, SHARED);
    OK(cudaFree(out));
    return got;
}

static void check_load(const char *what, tensor &t, const coords &c)
{
    auto rows = rows_of(t, c);
    unsigned bytes = (unsigned)rows.size() * t.box[0] * t.bytes;
    expect_box(what, t, rows, t.box[0], run(t, false, c, bytes));
}

static void loads()
{
    static const CUtensorMapDataType types[] = {CU_TENSOR_MAP_DATA_TYPE_UINT8, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, CU_TENSOR_MAP_DATA_TYPE_INT32, CU_TENSOR_MAP_DATA_TYPE_FLOAT64};
    for (int k = 0; k < 4; k++)
        for (int s = 0; s <= 6; s++) {
            int bytes = 1 << k, wide = span((CUtensorMapSwizzle)s) ? span((CUtensorMapSwizzle)s) : 128;
            for (int half = 0; half < 2; half++) {
                tensor t = {2, bytes, types[k], {300, 40}, {}, {(cuuint32_t)(wide / bytes >> half), 19}, {1, 1}, (CUtensorMapSwizzle)s};
                make(t, 7 + s);
                encode(t);
                check_load("inside", t, coords{{32 / bytes, 3}});
                check_load("over the end", t, coords{{300 - 4, 30}});
                check_load("before the start", t, coords{{-3, -5}});
                OK(cudaFree(t.dev));
            }
        }
    for (int rank = 1; rank <= 5; rank++) {
        tensor t = {rank, 4, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, {50, 9, 8, 7, 6}, {}, {8, 4, 3, 5, 2}, {1, 1, 1, 1, 1}};
        make(t, 99);
        encode(t);
        check_load("ranks", t, coords{{1, 2, 3, 1, 2}});
        check_load("ranks, over", t, coords{{46, 7, 6, 4, 5}});
        t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
        t.step[1] = 2, t.step[3] = 3;
        encode(t);
        check_load("NaN fill and steps", t, coords{{-4, 5, -1, 2, 5}});
        OK(cudaFree(t.dev));
    }
}

// Pixels of an im2col column: along W, H, D within the bounding box, then the next image.
static void columns()
{
    for (int rank = 3; rank <= 5; rank++)
        for (int step = 1; step <= 2; step++) {
            tensor t = {rank, 2, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, {64, 14, 9, 6, 5}, {}, {32}, {1, (cuuint32_t)step, (cuuint32_t)step, (cuuint32_t)step, 1}, CU_TENSOR_MAP_SWIZZLE_64B};
            t.step[rank - 1] = 1;
            make(t, 5);
            int lower[3] = {-1, -1, -1}, upper[3] = {-1, -1, -1}, pixels = 64, n = rank - 2;
            CUresult e = im2col(&t.map, t.type, rank, t.dev, t.dim, t.stride, lower, upper, 32, pixels, t.step, CU_TENSOR_MAP_INTERLEAVE_NONE, t.swizzle,
                                CU_TENSOR_MAP_L2_PROMOTION_NONE, t.fill);
            EXPECT(e == CUDA_SUCCESS, "encode im2col gives %d", e);
            coords c = {{32, 4, 2, 1, 1}, {2, 1, 2}};
            c.at[rank - 1] = 3;
            std::vector<std::vector<long long>> rows;
            std::vector<long long> at(c.at, c.at + 5);
            for (int p = 0; p < pixels; p++) {
                std::vector<long long> row = at;
                for (int i = 0; i < n; i++)
                    row[1 + i] += c.offset[i];
                rows.push_back(row);
                int i = 1;
                for (; i <= n; i++) {
                    at[i] += step;
                    if (at[i] <= (long long)t.dim[i] - 1 + upper[i - 1])
                        break;
                    at[i] = lower[i - 1];
                }
                if (i > n)
                    at[n + 1]++;
            }
            expect_box("im2col", t, rows, 32, run(t, true, c, pixels * 32 * 2));
            OK(cudaFree(t.dev));
        }
}

__global__ void store_box(const __grid_constant__ CUtensorMap map, int x, int y, const unsigned char *in, unsigned n, int how)
{
    extern __shared__ __align__(1024) unsigned char box[];
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        box[i] = in[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x)
        return;
    unsigned from = shared_address(box);
    if (how == 0)
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x), "r"(y), "r"(from) : "memory");
    else if (how == 1)
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x), "r"(y), "r"(from) : "memory");
    else
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x), "r"(y), "r"(from) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;" ::: "memory");
}

static void stores()
{
    for (int s = 0; s <= 6; s++)
        for (int how = 0; how < 3; how++) {
            if (s == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B)
                continue;                                      // loads only
            int wide = (span((CUtensorMapSwizzle)s) ? span((CUtensorMapSwizzle)s) : 128) / 4, high = 20, x = 60 - wide + 5, y = 9;
            tensor t = {2, 4, CU_TENSOR_MAP_DATA_TYPE_INT32, {60, 25}, {}, {(cuuint32_t)wide, (cuuint32_t)high}, {1, 1}, (CUtensorMapSwizzle)s};
            make(t, 3);
            encode(t);
            std::vector<int> box(wide * high), shared(SHARED / 4), want(t.data.size() / 4), got(t.data.size() / 4);
            memcpy(want.data(), t.data.data(), want.size() * 4);
            unsigned seed = 77;
            for (int i = 0; i < wide * high; i++) {
                box[i] = (int)(app_rand(&seed) >> 1) - (1 << 29);
                shared[swizzled((CUtensorMapSwizzle)s, 4u * i) / 4] = box[i];
                int c = x + i % wide, r = y + i / wide;
                if (c < 60 && r < 25) {
                    int &w = want[r * (t.stride[0] / 4) + c];
                    w = how == 0 ? box[i] : how == 1 ? w + box[i] : w > box[i] ? w : box[i];
                }
            }
            unsigned char *in = app_to_device((unsigned char *)shared.data(), (size_t)wide * high * 4);
            OK(cudaFuncSetAttribute(store_box, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED));
            store_box<<<1, 64, SHARED>>>(t.map, x, y, in, wide * high * 4, how);
            OK_LAUNCH();
            app_to_host((unsigned char *)got.data(), t.dev, t.data.size());
            EXPECT(memcmp(got.data(), want.data(), t.data.size()) == 0, "store %d, swizzle %d", how, s);
            OK(cudaFree(in));
            OK(cudaFree(t.dev));
        }
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define HAS_REPLACE 1
#endif
// A map for another tensor, made from the one that came: in shared memory, then published in global memory.
__global__ void edit(const __grid_constant__ CUtensorMap from, CUtensorMap *to, void *address, unsigned wide, unsigned high, unsigned long long stride)
{
#ifdef HAS_REPLACE
    __shared__ __align__(128) CUtensorMap m;
    unsigned s = shared_address(&m);
    if (threadIdx.x < 32)
        ((unsigned *)&m)[threadIdx.x] = ((const unsigned *)&from)[threadIdx.x];
    __syncwarp();
    if (threadIdx.x == 0) {
        asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(s), "l"(address) : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(s), "r"(wide) : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(s), "r"(high) : "memory");
        asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(s), "l"(stride) : "memory");
        asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(s), "r"(7) : "memory");
        asm volatile("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%0], 3;" ::"r"(s) : "memory");
    }
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(to), "r"(s) : "memory");
#endif
}

__global__ void box_out_global(const CUtensorMap *map, int rank, coords c, unsigned bytes, unsigned char *out, unsigned n)
{
    extern __shared__ __align__(1024) unsigned char box[];
    __shared__ uint64_t barrier;
    unsigned bar = shared_address(&barrier);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
        load(rank, false, shared_address(box), map, bar, c);
    }
    wait(bar, 0);
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = box[i];
}

static void edits()
{
    tensor t = {2, 2, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, {80, 30}, {}, {64, 16}, {1, 1}, CU_TENSOR_MAP_SWIZZLE_NONE}, u = t;
    make(t, 4);
    encode(t);
    u.dim[0] = 100, u.dim[1] = 11, u.box[1] = 7, u.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    make(u, 8);
    CUtensorMap *map;
    unsigned char *out;
    std::vector<unsigned char> got(SHARED);
    OK(cudaMalloc(&map, sizeof *map));
    OK(cudaMalloc(&out, SHARED));
    edit<<<1, 32>>>(t.map, map, u.dev, 100, 11, u.stride[0]);
    OK_LAUNCH();
    OK(cudaFuncSetAttribute(box_out_global, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED));
    coords c = {{50, 6}};
    box_out_global<<<1, 64, SHARED>>>(map, 2, c, 64 * 7 * 2, out, SHARED);
    OK_LAUNCH();
    app_to_host(got.data(), out, SHARED);
    expect_box("edited", u, rows_of(u, c), 64, got);
    // and on the host
    EXPECT(replace(&t.map, t.dev + 32) == CUDA_SUCCESS, "cuTensorMapReplaceAddress");
    auto moved = run(t, false, coords{{0, 0}}, 64 * 16 * 2);
    EXPECT(memcmp(moved.data(), t.data.data() + 32, 128) == 0, "moved map");
}

static void refusals()
{
    tensor t = {2, 4, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, {64, 64}, {256}, {32, 8}, {1, 1}, CU_TENSOR_MAP_SWIZZLE_128B};
    OK(cudaMalloc(&t.dev, 1 << 16));
    alignas(64) char room[256];
    struct { const char *what; CUresult got; } bad[20];
    int n = 0;
    auto with = [&](const char *what, auto change) {
        tensor b = t;
        void *at = &b.map;
        CUtensorMapInterleave inter = CU_TENSOR_MAP_INTERLEAVE_NONE;
        change(b, at, inter);
        bad[n++] = {what, tiled((CUtensorMap *)at, b.type, b.rank, b.dev, b.dim, b.stride, b.box, b.step, inter, b.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, b.fill)};
    };
    with("object not aligned", [&](tensor &, void *&at, CUtensorMapInterleave &) { at = room + 8; });
    with("address not aligned", [](tensor &b, void *&, CUtensorMapInterleave &) { b.dev += 8; });
    with("rank 0", [](tensor &b, void *&, CUtensorMapInterleave &) { b.rank = 0; });
    with("rank 6", [](tensor &b, void *&, CUtensorMapInterleave &) { b.rank = 6; });
    with("dimension 0", [](tensor &b, void *&, CUtensorMapInterleave &) { b.dim[1] = 0; });
    with("dimension too large", [](tensor &b, void *&, CUtensorMapInterleave &) { b.dim[1] = (1ull << 32) + 1; });
    with("stride not a multiple of 16", [](tensor &b, void *&, CUtensorMapInterleave &) { b.stride[0] = 264; });
    with("stride too large", [](tensor &b, void *&, CUtensorMapInterleave &) { b.stride[0] = 1ull << 40; });
    with("box 0", [](tensor &b, void *&, CUtensorMapInterleave &) { b.box[1] = 0; });
    with("box 257", [](tensor &b, void *&, CUtensorMapInterleave &) { b.box[1] = 257; });
    with("box row not a multiple of 16", [](tensor &b, void *&, CUtensorMapInterleave &) { b.box[0] = 3; });
    with("box row wider than the swizzle", [](tensor &b, void *&, CUtensorMapInterleave &) { b.box[0] = 64; });
    with("element stride 0", [](tensor &b, void *&, CUtensorMapInterleave &) { b.step[1] = 0; });
    with("element stride 9", [](tensor &b, void *&, CUtensorMapInterleave &) { b.step[1] = 9; });
    with("interleave of rank 2", [](tensor &, void *&, CUtensorMapInterleave &i) { i = CU_TENSOR_MAP_INTERLEAVE_16B; });
    with("NaN in integers", [](tensor &b, void *&, CUtensorMapInterleave &) { b.type = CU_TENSOR_MAP_DATA_TYPE_INT32; b.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA; });
    with("no such type", [](tensor &b, void *&, CUtensorMapInterleave &) { b.type = (CUtensorMapDataType)16; });
    for (int i = 0; i < n; i++)
        EXPECT(bad[i].got == CUDA_ERROR_INVALID_VALUE, "%s gives %d", bad[i].what, bad[i].got);
    encode(t);                                                 // as it stood it is right
}

int main(void)
{
    tiled = (encode_tiled)entry("cuTensorMapEncodeTiled");
    im2col = (encode_im2col)entry("cuTensorMapEncodeIm2col");
    replace = (replace_address)entry("cuTensorMapReplaceAddress");
    OK(cudaFree(0));
    loads();
    columns();
    stores();
    edits();
    refusals();
    return app_verdict();
}
