// inlineasm: PTX that C does not reach: bfe, bfi, bfind, lop3, the modes of prmt, slct, set, setp with two results and combined
// predicates, negated predicates, labels, scoped registers, packing moves, mad24, sad, cnot.
#include "app.h"
#include <stdint.h>
#include <vector>

static uint64_t bfe(uint64_t a, int pos, int len, int width, bool is_signed)
{
    uint64_t d = 0;
    int last = pos + len - 1 < width - 1 ? pos + len - 1 : width - 1;
    uint64_t fill = is_signed && len ? a >> last & 1 : 0;
    for (int i = 0; i < width; i++)
        d |= (i < len && pos + i < width ? a >> (pos + i) & 1 : fill) << i;
    return d;
}

static uint64_t bfi(uint64_t a, uint64_t b, int pos, int len, int width)
{
    for (int i = 0; i < len && pos + i < width; i++)
        b = (b & ~(1ull << (pos + i))) | (a >> i & 1) << (pos + i);
    return b;
}

static uint32_t bfind(uint64_t a, int width)
{
    for (int i = width - 1; i >= 0; i--)
        if (a >> i & 1)
            return (uint32_t)i;
    return 0xffffffffu;
}

static uint32_t prmt(uint32_t a, uint32_t b, uint32_t selectors)
{
    uint32_t d = 0;
    for (int i = 0; i < 4; i++) {
        unsigned s = selectors >> 4 * i & 15, byte = (uint32_t)(((uint64_t)b << 32 | a) >> 8 * (s & 7)) & 255;
        d |= (s & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * i;
    }
    return d;
}

// The modes as selectors for the general form, by the low two bits of c.
static const uint32_t f4e[4] = {0x3210, 0x4321, 0x5432, 0x6543}, b4e[4] = {0x5670, 0x6701, 0x7012, 0x0123},
                      rc8[4] = {0x0000, 0x1111, 0x2222, 0x3333}, ecl[4] = {0x3210, 0x3211, 0x3222, 0x3333},
                      ecr[4] = {0x0000, 0x1110, 0x2210, 0x3210}, rc16[4] = {0x1010, 0x3232, 0x1010, 0x3232};

static uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, unsigned table)
{
    uint32_t d = 0;
    for (int i = 0; i < 32; i++)
        d |= (table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i;
    return d;
}

#define LOW24(v) ((uint64_t)((v) & 0xffffff))
#define MASKED(op, mask) "{.reg .u32 p, l; and.b32 p, %2, " #mask "; and.b32 l, %3, " #mask "; " op " p, l;}"

// One row: PTX with result %0 and operands %1 %2 %3, and the same of a, b, c on the host.
#define FORMS(X)                                                                                                    \
    X("bfe.u32 %0, %1, %2, %3;", bfe(a, b & 255, c & 255, 32, false))                                               \
    X("bfe.s32 %0, %1, %2, %3;", bfe(a, b & 255, c & 255, 32, true))                                                \
    X(MASKED("bfe.s32 %0, %1,", 63), bfe(a, b & 63, c & 63, 32, true))                                              \
    X(MASKED("bfi.b32 %0, %1, 0xdeadbeef,", 31), bfi(a, 0xdeadbeef, b & 31, c & 31, 32))                            \
    X("bfind.u32 %0, %1;", bfind(a, 32))                                                                            \
    X("bfind.s32 %0, %1;", bfind((int32_t)a < 0 ? (uint32_t)~a : a, 32))                                            \
    X("bfind.shiftamt.u32 %0, %1;", a ? 31 - bfind(a, 32) : 0xffffffffu)                                            \
    X("{.reg .b64 x; mov.b64 x, {%2, %1}; bfind.u64 %0, x;}", bfind((uint64_t)a << 32 | b, 64))                     \
    X("{.reg .b64 x; mov.b64 x, {%2, %1}; popc.b64 %0, x;}", (uint32_t)__builtin_popcountll((uint64_t)a << 32 | b)) \
    X("lop3.b32 %0, %1, %2, %3, 0xe8;", lop3(a, b, c, 0xe8))                                                        \
    X("lop3.b32 %0, %1, %2, %3, 0x1b;", lop3(a, b, c, 0x1b))                                                        \
    X("prmt.b32 %0, %1, %2, %3;", prmt(a, b, c))                                                                    \
    X("prmt.b32.f4e %0, %1, %2, %3;", prmt(a, b, f4e[c & 3]))                                                       \
    X("prmt.b32.b4e %0, %1, %2, %3;", prmt(a, b, b4e[c & 3]))                                                       \
    X("prmt.b32.rc8 %0, %1, %2, %3;", prmt(a, b, rc8[c & 3]))                                                       \
    X("prmt.b32.ecl %0, %1, %2, %3;", prmt(a, b, ecl[c & 3]))                                                       \
    X("prmt.b32.ecr %0, %1, %2, %3;", prmt(a, b, ecr[c & 3]))                                                       \
    X("prmt.b32.rc16 %0, %1, %2, %3;", prmt(a, b, rc16[c & 3]))                                                     \
    X("slct.u32.s32 %0, %1, %2, %3;", (int32_t)c >= 0 ? a : b)                                                      \
    X("set.lt.u32.u32 %0, %1, %2;", a < b ? 0xffffffffu : 0)                                                        \
    X("{.reg .pred p, q, r; setp.ne.u32 r, %3, 0; setp.lt.and.u32 p|q, %1, %2, r; @!p bra NO; mov.u32 %0, 11; bra END; "    \
      "NO: selp.u32 %0, 22, 33, q; END: }", a < b && c ? 11 : !(a < b) && c ? 22 : 33)                              \
    X("{.reg .pred p, q; setp.eq.u32 q, %3, 0; setp.gt.xor.s32 p, %1, %2, !q; selp.u32 %0, %1, %2, p;}",            \
      ((int32_t)a > (int32_t)b) != (c != 0) ? a : b)                                                                \
    X("{.reg .pred p; setp.ge.u32 p, %1, %2; @p add.u32 %0, %1, 1; @!p sub.u32 %0, %2, 1;}", a >= b ? a + 1 : b - 1) \
    X("{.reg .u32 t<3>; add.u32 t0, %1, %2; sub.u32 t1, %1, %3; xor.b32 t2, t0, t1; mov.u32 %0, t2;}", (a + b) ^ (a - c)) \
    X("{.reg .b16 e, f; mov.b32 {e, f}, %1; mov.b32 %0, {f, e};}", a << 16 | a >> 16)                               \
    X("{.reg .u32 n, v; .reg .pred p; mov.u32 n, 0; mov.u32 v, %1; AGAIN: shr.u32 v, v, 1; add.u32 n, n, 1; "       \
      "setp.ne.u32 p, v, 0; @p bra AGAIN; mov.u32 %0, n;}", a > 1 ? bfind(a, 32) + 1 : 1)                           \
    X("cnot.b32 %0, %1;", a == 0)                                                                                   \
    X("mad24.lo.u32 %0, %1, %2, %3;", (uint32_t)(LOW24(a) * LOW24(b)) + c)                                          \
    X("sad.u32 %0, %1, %2, %3;", (a > b ? a - b : b - a) + c)                                                       \
    X("mad.hi.s32 %0, %1, %2, %3;", (uint32_t)((int64_t)(int32_t)a * (int32_t)b >> 32) + c)                         \
    X("{.reg .s64 w; mul.wide.s32 w, %1, %2; shr.s64 w, w, 20; cvt.u32.s64 %0, w;}",                                \
      (uint32_t)((int64_t)(int32_t)a * (int32_t)b >> 20))                                                           \
    X("{.reg .b16 h, k; cvt.u16.u32 h, %1; cvt.u16.u32 k, %2; mul.hi.s16 h, h, k; cvt.s32.s16 %0, h;}",             \
      (uint32_t)((int16_t)a * (int16_t)b >> 16))                                                                    \
    X("{.reg .b32 z; cvt.sat.s8.s32 z, %1; cvt.s32.s8 %0, z;}",                                                     \
      (uint32_t)((int32_t)a < -128 ? -128 : (int32_t)a > 127 ? 127 : (int32_t)a))                                   \
    X("add.sat.s32 %0, %1, %2;", saturated((int64_t)(int32_t)a + (int32_t)b))

static uint32_t saturated(int64_t v) { return (uint32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v); }

static const char *const text[] = {
#define X(ptx, host) ptx,
    FORMS(X)
#undef X
};
static const int rows = sizeof(text) / sizeof(text[0]);

__global__ void evaluate(const uint32_t *as, const uint32_t *bs, const uint32_t *cs, uint32_t *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint32_t a = as[i], b = bs[i], c = cs[i], r;
#define X(ptx, host)                                                                                                \
    asm(ptx : "=&r"(r) : "r"(a), "r"(b), "r"(c));                                                                   \
    out[i] = r;                                                                                                     \
    out += n;
    FORMS(X)
#undef X
}

static uint32_t reference(int row, uint32_t a, uint32_t b, uint32_t c)
{
    int r = 0;
#define X(ptx, host)                                                                                                \
    if (row == r++)                                                                                                 \
        return (uint32_t)(host);
    FORMS(X)
#undef X
    return 0;
}

int main(void)
{
    const uint32_t edges[] = {0, 1, 2, 31, 32, 63, 0x7fffffff, 0x80000000, 0xffffffff, 0x00ff8081};
    const int n = 1024, m = sizeof(edges) / sizeof(edges[0]);
    std::vector<uint32_t> in[3], out(rows * n);
    uint32_t *d[3], *dout;
    unsigned seed = 8;
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < n; i++)
            in[k].push_back(i < 5 * m * m ? edges[k == 0 ? i % m : k == 1 ? i / m % m : (i / 3 + i / 70) % m] : app_rand(&seed));
        d[k] = app_to_device(in[k].data(), n);
    }
    OK(cudaMalloc(&dout, out.size() * sizeof(uint32_t)));
    evaluate<<<n / 128, 128>>>(d[0], d[1], d[2], dout, n);
    OK_LAUNCH();
    app_to_host(out.data(), dout, out.size());
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i++) {
            uint32_t want = reference(r, in[0][i], in[1][i], in[2][i]);
            EXPECT(out[r * n + i] == want, "`%s` of %08x %08x %08x is %08x, not %08x", text[r], in[0][i], in[1][i], in[2][i],
                   out[r * n + i], want);
        }
    printf("%d forms\n", rows);
    return app_verdict();
}
