// intrinsics: integer intrinsics against plain loops: popc, clz, ffs, brev, byte_perm, mulhi, mul24, funnel shifts, dp4a, dp2a,
// averages, sad; shifts by too much; division by every kind of number; 64-bit forms.
#include "app.h"
#include <stdint.h>
#include <vector>

#define ROWS 40

__global__ void evaluate(const uint32_t *as, const uint32_t *bs, const uint32_t *cs, uint64_t *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, r = 0;
    if (i >= n)
        return;
    uint32_t a = as[i], b = bs[i], c = cs[i];
    uint64_t x = (uint64_t)a << 32 | b, y = (uint64_t)c << 32 | a;
#define ROW(value) out[(r++) * n + i] = (uint64_t)(value)
    ROW(__popc(a));
    ROW(__popcll(x));
    ROW(__clz(a));
    ROW(__clzll(x));
    ROW(__ffs(a));
    ROW(__ffsll(x));
    ROW(__brev(a));
    ROW(__brevll(x));
    ROW(__byte_perm(a, b, c & 0x7777));
    ROW((uint32_t)__mulhi((int)a, (int)b));
    ROW(__umulhi(a, b));
    ROW(__mul64hi((long long)x, (long long)y));
    ROW(__umul64hi(x, y));
    ROW((uint32_t)__mul24((int)a, (int)b));
    ROW(__umul24(a, b));
    ROW(__funnelshift_l(a, b, c));
    ROW(__funnelshift_r(a, b, c));
    ROW(__funnelshift_lc(a, b, c & 63));
    ROW(__funnelshift_rc(a, b, c & 63));
    ROW((uint32_t)__dp4a((int)a, (int)b, (int)c));
    ROW(__dp4a(a, b, c));
    ROW((uint32_t)__dp2a_lo((int)a, (int)b, (int)c));
    ROW(__dp2a_hi(a, b, c));
    ROW((uint32_t)__hadd((int)a, (int)b));
    ROW((uint32_t)__rhadd((int)a, (int)b));
    ROW(__uhadd(a, b));
    ROW(__urhadd(a, b));
    ROW(__sad((int)a, (int)b, c));
    ROW(__usad(a, b, c));
    ROW((uint32_t)((int)a / (int)(b | 1)));
    ROW((uint32_t)((int)a % (int)(b >> 7 | 1)));
    ROW(a / (b >> 9 | 1));
    ROW(a % (b | 1));
    ROW((int64_t)x / (int64_t)(y >> 17 | 1));
    ROW(x % (y >> 33 | 1));
    ROW(a >> (c & 31) | x >> (c & 63));
    ROW((uint32_t)((int)a >> (c & 31)) ^ (uint64_t)((int64_t)x >> (c & 63)));
    ROW(x << (c & 63));
    ROW(x * y + a);
    ROW((uint32_t)abs((int)a) + (uint64_t)min((int)a, (int)b) + max(a, c));
#undef ROW
}

static int64_t sign_byte(uint32_t v, int k) { return (int8_t)(v >> 8 * k); }
static int64_t sign24(uint32_t v) { return (int32_t)(v << 8) >> 8; }

static uint64_t reference(int row, uint32_t a, uint32_t b, uint32_t c)
{
    uint64_t x = (uint64_t)a << 32 | b, y = (uint64_t)c << 32 | a, r = 0, v = row & 1 ? x : a;
    int bits = row & 1 ? 64 : 32, s;
    const int64_t sa = (int32_t)a, sb = (int32_t)b, sc = (int32_t)c;
    switch (row) {
    case 0: case 1:
        for (int k = 0; k < bits; k++)
            r += v >> k & 1;
        return r;
    case 2: case 3:
        while (r < (uint64_t)bits && !(v >> (bits - 1 - r) & 1))
            r++;
        return r;
    case 4: case 5:
        for (int k = 0; k < bits; k++)
            if (v >> k & 1)
                return k + 1;
        return 0;
    case 6: case 7:
        for (int k = 0; k < bits; k++)
            r |= (v >> k & 1) << (bits - 1 - k);
        return r;
    case 8:
        for (int k = 0; k < 4; k++)
            r |= (((uint64_t)b << 32 | a) >> 8 * (c >> 4 * k & 7) & 255) << 8 * k;
        return r;
    case 9: return (uint32_t)(sa * sb >> 32);
    case 10: return (uint64_t)a * b >> 32;
    case 11: return (uint64_t)((__int128)(int64_t)x * (int64_t)y >> 64);
    case 12: return (uint64_t)((unsigned __int128)x * y >> 64);
    case 13: return (uint32_t)(sign24(a) * sign24(b));
    case 14: return (uint32_t)((uint64_t)(a & 0xffffff) * (b & 0xffffff));
    case 15: return (uint32_t)(((uint64_t)b << 32 | a) << (c & 31) >> 32);
    case 16: return (uint32_t)(((uint64_t)b << 32 | a) >> (c & 31));
    case 17: s = (c & 63) > 32 ? 32 : c & 63; return s == 32 ? a : (uint32_t)(((uint64_t)b << 32 | a) << s >> 32);
    case 18: s = (c & 63) > 32 ? 32 : c & 63; return (uint32_t)(((uint64_t)b << 32 | a) >> s);
    case 19:
        for (int k = 0; k < 4; k++)
            r += (uint64_t)(sign_byte(a, k) * sign_byte(b, k));
        return (uint32_t)(r + c);
    case 20:
        for (int k = 0; k < 4; k++)
            r += (uint64_t)(a >> 8 * k & 255) * (b >> 8 * k & 255);
        return (uint32_t)(r + c);
    case 21: return (uint32_t)((int16_t)a * sign_byte(b, 0) + (int16_t)(a >> 16) * sign_byte(b, 1) + sc);
    case 22: return (uint32_t)((a & 0xffff) * (b >> 16 & 255) + (a >> 16) * (b >> 24) + c);
    case 23: return (uint32_t)((sa + sb) >> 1);
    case 24: return (uint32_t)((sa + sb + 1) >> 1);
    case 25: return ((uint64_t)a + b) >> 1;
    case 26: return ((uint64_t)a + b + 1) >> 1;
    case 27: return (uint32_t)((sa > sb ? sa - sb : sb - sa) + c);
    case 28: return (uint32_t)((a > b ? a - b : b - a) + c);
    case 29: return (uint32_t)(sa / (int32_t)(b | 1));
    case 30: return (uint32_t)(sa % (int32_t)(b >> 7 | 1));
    case 31: return a / (b >> 9 | 1);
    case 32: return a % (b | 1);
    case 33: return (uint64_t)((int64_t)x / (int64_t)(y >> 17 | 1));
    case 34: return x % (y >> 33 | 1);
    case 35: return a >> (c & 31) | x >> (c & 63);
    case 36: return (uint32_t)((int32_t)a >> (c & 31)) ^ (uint64_t)((int64_t)x >> (c & 63));
    case 37: return x << (c & 63);
    case 38: return x * y + a;
    default: return (uint32_t)(sa < 0 ? -sa : sa) + (uint64_t)(int64_t)(sa < sb ? sa : sb) + (a > c ? a : c);
    }
}

// Shift amounts of the width and more: 0, or all signs. Done in PTX, since C leaves them undefined.
__global__ void shifts(uint32_t *out)
{
    uint32_t v = 0x80000001u, r, n = 32 + threadIdx.x;
    asm("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(n));
    out[3 * threadIdx.x] = r;
    asm("shr.u32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(n));
    out[3 * threadIdx.x + 1] = r;
    asm("shr.s32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(n));
    out[3 * threadIdx.x + 2] = r;
}

int main(void)
{
    const uint32_t edges[] = {0, 1, 2, 31, 32, 0x7fffffff, 0x80000000, 0xffffffff, 0x00ff00ff, 0xfffffffe};
    const int n = 1024, m = sizeof(edges) / sizeof(edges[0]);
    std::vector<uint32_t> in[3];
    unsigned seed = 4;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < n; i++)
            in[k].push_back(i < m * m ? edges[k == 0 ? i % m : k == 1 ? i / m : (i * 7 + 3) % m] : app_rand(&seed));
    std::vector<uint64_t> out(ROWS * n);
    uint32_t *d[3];
    uint64_t *dout;
    for (int k = 0; k < 3; k++)
        d[k] = app_to_device(in[k].data(), n);
    OK(cudaMalloc(&dout, out.size() * sizeof(uint64_t)));
    evaluate<<<n / 128, 128>>>(d[0], d[1], d[2], dout, n);
    OK_LAUNCH();
    app_to_host(out.data(), dout, out.size());
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < n; i++) {
            uint64_t want = reference(r, in[0][i], in[1][i], in[2][i]);
            EXPECT(out[r * n + i] == want, "row %d of %08x %08x %08x is %llx, not %llx", r, in[0][i], in[1][i], in[2][i],
                   (unsigned long long)out[r * n + i], (unsigned long long)want);
        }
    uint32_t s[96], *ds;
    OK(cudaMalloc(&ds, sizeof(s)));
    shifts<<<1, 32>>>(ds);
    OK_LAUNCH();
    app_to_host(s, ds, 96);
    for (int t = 0; t < 32; t++)
        EXPECT(s[3 * t] == 0 && s[3 * t + 1] == 0 && s[3 * t + 2] == 0xffffffff, "shift by %d: %x %x %x", 32 + t, s[3 * t],
               s[3 * t + 1], s[3 * t + 2]);
    printf("%d rows of %d\n", ROWS, n);
    return app_verdict();
}
