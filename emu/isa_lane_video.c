/* Handlers of the video instructions: scalars of selected bytes, halves and words, and two halves or four bytes at once. Compiled once for each
 * level of host vector instructions.
 *
 * The PTX text computes in 33 and 34 bits; 64 hold that. What is selected is the same in all lanes, so that loops over lanes have no branches. */
#include "emu/lane_loop.h"
#include "emu/lane_video.h"

__extension__ typedef __int128 int128_t;
__extension__ typedef unsigned __int128 uint128_t;

enum op { VADD, VSUB, VABSDIFF, VMIN, VMAX, VSHL, VSHR, VSET, VAVRG };
#define ALWAYS static inline __attribute__((always_inline))

/* ---- parts of words ---- */

struct part { unsigned shift, bits; int64_t mask, sign; };     /* sign: the sign bit of a signed part, else 0 */
ALWAYS struct part part_of(uint64_t field)
{
    struct part p = { .shift = field & 31, .bits = 8u << (field >> 5 & 3) };
    p.mask = (int64_t)(((uint64_t)1 << p.bits) - 1);
    p.sign = field >> 7 & 1 ? (int64_t)1 << (p.bits - 1) : 0;
    return p;
}
ALWAYS int64_t part_get(struct part p, uint32_t x) { return (((int64_t)(x >> p.shift) & p.mask) ^ p.sign) - p.sign; }
ALWAYS int64_t part_clamp(struct part p, int64_t x)
{
    const int64_t low = -p.sign, high = p.sign ? p.sign - 1 : p.mask;
    return x < low ? low : x > high ? high : x;
}

ALWAYS int64_t compare(unsigned how, int64_t a, int64_t b)
{
    const int64_t less = a < b, equal = a == b;
    switch (how) {
    case VIDEO_EQ: return equal;
    case VIDEO_NE: return !equal;
    case VIDEO_LT: return less;
    case VIDEO_LE: return less | equal;
    case VIDEO_GT: return !(less | equal);
    default:       return !less;
    }
}

/* 33 bits to the left by up to 32: where the result would not fit, one of the same sign, as far beyond every range and with the same low word. */
ALWAYS int64_t shift_left(int64_t a, int64_t by)
{
    const int64_t near_top = (int64_t)1 << 30;
    if (by == 32) a = a > near_top ? near_top : a < -near_top ? -near_top : a;
    return (int64_t)((uint64_t)a << by);
}

ALWAYS int64_t operate(enum op op, int64_t a, int64_t b, uint64_t imm)
{
    switch (op) {
    case VADD:     return a + b;
    case VSUB:     return a - b;
    case VABSDIFF: return a < b ? b - a : a - b;
    case VMIN:     return a < b ? a : b;
    case VMAX:     return a > b ? a : b;
    case VSHL:     return shift_left(a, imm & VIDEO_WRAP ? b & 31 : b > 32 ? 32 : b);
    case VSHR:     return a >> (imm & VIDEO_WRAP ? b & 31 : b > 32 ? 32 : b);
    case VAVRG:    return (a + b + (a + b >= 0)) >> 1;
    default:       return compare((unsigned)(imm >> 29) & 7, a, b);
    }
}

ALWAYS uint32_t scalar(enum op op, uint32_t ra, uint32_t rb, uint32_t rc, struct part pa, struct part pb, struct part pd, uint64_t imm)
{
    int64_t t = operate(op, part_get(pa, ra), part_get(pb, rb), imm);
    const int64_t c = pd.sign ? (int64_t)(int32_t)rc : (int64_t)rc;
    if (imm & VIDEO_SAT) t = part_clamp(pd, t);
    switch (imm >> 24 & 3) {
    case VIDEO_SECOND_ADD: t += c; break;
    case VIDEO_SECOND_MIN: t = t < c ? t : c; break;
    case VIDEO_SECOND_MAX: t = t > c ? t : c; break;
    default: break;
    }
    const uint32_t place = (uint32_t)pd.mask << pd.shift;
    return imm & VIDEO_MERGE ? ((uint32_t)t << pd.shift & place) | (rc & ~place) : (uint32_t)t;
}

#define HEAD                                                                                                                    \
    (void)ctx;                                                                                                                  \
    const uint32_t m = insn_mask(in, w);                                                                                        \
    if (m == 0) return in + 1;                                                                                                  \
    const uint64_t imm = in->imm;                                                                                               \
    const ROW_U32 *const ra = LANE_ROW(U32, in->a), *const rb = LANE_ROW(U32, in->b), *const rc = LANE_ROW(U32, in->c);         \
    ROW_U32 *const rd = LANE_ROW(U32, in->d);

#define SCALAR(name, op)                                                                                                        \
    static const struct insn *name##_masked(LANE_ARGS)                                                                          \
    {                                                                                                                           \
        HEAD                                                                                                                    \
        const struct part pa = part_of(imm), pb = part_of(imm >> 8), pd = part_of(imm >> 16);                                   \
        LANE_FOR { uint32_t r = scalar(op, ra[l], rb[l], rc[l], pa, pb, pd, imm); rd[l] = LANE_ON_U32(m, l) ? r : rd[l]; }      \
        return in + 1;                                                                                                          \
    }
SCALAR(vadd, VADD)
SCALAR(vsub, VSUB)
SCALAR(vabsdiff, VABSDIFF)
SCALAR(vmin, VMIN)
SCALAR(vmax, VMAX)
SCALAR(vshl, VSHL)
SCALAR(vshr, VSHR)
SCALAR(vset, VSET)

/* ---- vmad: the text's 128 bits ---- */

static uint32_t multiply_add(uint32_t a, uint32_t b, uint32_t c, struct part pa, struct part pb, uint64_t imm)
{
    int128_t t = (int128_t)part_get(pa, a) * part_get(pb, b);
    const bool sign = imm & VIDEO_FINAL_SIGNED, plus_one = imm & VIDEO_PLUS_ONE, minus = imm & VIDEO_MINUS_PRODUCT, minus_c = imm & VIDEO_MINUS_C;
    if (!plus_one && minus) t = ~t;
    else if (!plus_one && minus_c) c = ~c;
    t += sign ? (int128_t)(int32_t)c : (int128_t)c;
    t += plus_one || minus || minus_c;
    const uint64_t r = (uint64_t)((uint128_t)t >> (imm >> 36 & 15));
    if (!(imm & VIDEO_SAT)) return (uint32_t)r;
    if (!sign) return r > UINT32_MAX ? UINT32_MAX : (uint32_t)r;
    const int64_t s = (int64_t)r;
    return (uint32_t)(s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s);
}

static const struct insn *vmad_masked(LANE_ARGS)
{
    HEAD
    const struct part pa = part_of(imm), pb = part_of(imm >> 8);
    for (unsigned l = 0; l < WARP_SIZE; l++)
        if (m >> l & 1) rd[l] = multiply_add(ra[l], rb[l], rc[l], pa, pb, imm);
    return in + 1;
}

/* ---- two halves, four bytes ---- */

/* Element i of a pair of sources: digit i of the selector. */
struct element { const ROW_U32 *row; struct part part; };
ALWAYS struct element element_of(const ROW_U32 *ra, const ROW_U32 *rb, unsigned digits, unsigned i, unsigned n, bool sign)
{
    const unsigned digit = digits >> (4 * i) & 7, bytes = 4 / n;
    return (struct element){ digit < n ? ra : rb, part_of(VIDEO_PART(8 * bytes * (digit % n), n == 2 ? 1 : 0, sign)) };
}

ALWAYS const struct insn *simd(LANE_ARGS, enum op op, unsigned n)
{
    HEAD
    const unsigned bits = 32 / n;
    const uint32_t ones = (1u << bits) - 1;
    const bool add = imm & SIMD_ADD;
    uint32_t r[WARP_SIZE] __attribute__((aligned(64)));
    LANE_FOR r[l] = add ? rc[l] : 0;
    for (unsigned i = 0; i < n; i++) {
        const struct element a = element_of(ra, rb, (unsigned)(imm & 0xffff), i, n, imm & SIMD_A_SIGNED);
        const struct element b = element_of(ra, rb, (unsigned)(imm >> 16 & 0xffff), i, n, imm & SIMD_B_SIGNED);
        const struct part d = part_of(VIDEO_PART(0, n == 2 ? 1 : 0, imm & SIMD_D_SIGNED));
        const bool written = imm >> (32 + i) & 1;
        if (!written && add) continue;
        if (!written) {
            LANE_FOR r[l] |= rc[l] & ones << (bits * i);
            continue;
        }
        const uint64_t how = (imm >> 41 & 7) << 29;        /* where operate looks for the comparison */
        LANE_FOR {
            int64_t t = operate(op, part_get(a.part, a.row[l]), part_get(b.part, b.row[l]), how);
            if (imm & SIMD_SAT) t = part_clamp(d, t);
            r[l] = add ? r[l] + (uint32_t)t : r[l] | ((uint32_t)t & ones) << (bits * i);
        }
    }
    LANE_FOR rd[l] = LANE_ON_U32(m, l) ? r[l] : rd[l];
    return in + 1;
}

#define SIMD(name, op)                                                                                                          \
    static const struct insn *name##2_masked(LANE_ARGS) { return simd(in, w, ctx, op, 2); }                                     \
    static const struct insn *name##4_masked(LANE_ARGS) { return simd(in, w, ctx, op, 4); }
SIMD(vadd, VADD)
SIMD(vsub, VSUB)
SIMD(vavrg, VAVRG)
SIMD(vabsdiff, VABSDIFF)
SIMD(vmin, VMIN)
SIMD(vmax, VMAX)
SIMD(vset, VSET)

const struct lane_pair LANE_TABLE(lane_video)[] = {
#include "emu/lane_none.h"
#define WRITTEN(name, ...) { name##_masked, name##_masked },
#include "emu/lane_video.def"
};
