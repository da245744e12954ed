/* Handlers of conversions to and from small formats, lane by lane. Compiled once for each level of host vector instructions. */
#include "emu/lane_loop.h"
#include "emu/lane_float.h"
#include "emu/lane_small.h"

__extension__ typedef unsigned __int128 uint128_t;

struct format { unsigned fraction, exponent, kind; };
static inline struct format format_of(uint64_t imm) {
    return (struct format){ (unsigned)(imm & 255), (unsigned)(imm >> 8 & 255), (unsigned)(imm >> 16 & 15) };
}
/* Codes without the sign: the largest finite number, and NaN. */
static inline uint32_t format_max(struct format f) {
    uint32_t all = (1u << (f.fraction + f.exponent)) - 1;
    return f.kind == SMALL_IEEE ? (all & ~((1u << f.fraction) - 1)) - 1 : f.kind == SMALL_NAN_ONLY ? all - 1 : all;
}
static inline uint32_t format_nan(struct format f) {
    uint32_t all = (1u << (f.fraction + f.exponent)) - 1;
    return f.kind == SMALL_FINITE ? format_max(f) : all;
}

/* Whether a magnitude that has `rest` (of `unit`) beyond the last place kept goes up; odd: that place is 1. */
static inline bool rounds_up(unsigned mode, bool negative, bool odd, uint64_t rest, uint64_t unit) {
    switch (mode) {
    case SMALL_NEAREST: return rest > unit / 2 || (rest == unit / 2 && odd);
    case SMALL_AWAY:    return rest >= unit / 2;
    case SMALL_DOWN:    return negative && rest;
    case SMALL_UP:      return !negative && rest;
    default:            return false;
    }
}

/* Stochastic rounding: the random number is a fraction of the last place kept; it is added, and what is then beyond that place is cut off. */
static inline uint32_t add_random(uint64_t significand, int drop, uint64_t imm, uint32_t random) {
    const unsigned n = (unsigned)(imm >> 48) & 31;
    if (drop > 100) return 0;
    return (uint32_t)(((uint128_t)significand + ((uint128_t)random << (drop - (int)n))) >> drop);
}

/* random: for SMALL_RANDOM */
static inline uint32_t small_code(double x, uint64_t imm, uint32_t random) {
    const struct format f = format_of(imm);
    const unsigned mode = imm >> 20 & 15, shift = (unsigned)(imm >> 32) & 31;
    const int bias = (1 << (f.exponent - 1)) - 1;
    if (imm & SMALL_SAT) x = x > 0.0 ? x < 1.0 ? x : 1.0 : 0.0;
    if (x != x) return format_nan(f) << shift;
    if (imm & SMALL_RELU && !(x > 0.0)) return 0;

    const uint64_t bits = f64_bits(x);
    const bool negative = bits >> 63;
    const uint32_t sign = negative ? 1u << (f.fraction + f.exponent) : 0;
    const int e = (int)(bits >> 52 & 2047) - 1023;
    uint32_t code;
    if (e == 1024) code = UINT32_MAX;                      /* infinity: over the top */
    else if (e == -1023) code = 0;                         /* zero, or so small a double that only directed rounding sees it */
    else {
        const uint64_t significand = (bits & 0xfffffffffffffu) | (uint64_t)1 << 52;
        const int from = e < 1 - bias ? 1 - bias : e;      /* exponent of the grid's binade */
        const int drop = 52 - (int)f.fraction + (from - e);
        if (mode == SMALL_RANDOM) code = add_random(significand, drop, imm, random) + ((uint32_t)(from - (1 - bias)) << f.fraction);
        else if (drop > 62) code = rounds_up(mode, negative, false, 1, UINT64_MAX);
        else {
            const uint64_t unit = (uint64_t)1 << drop;
            code = (uint32_t)(significand >> drop) + ((uint32_t)(from - (1 - bias)) << f.fraction);
            code += rounds_up(mode, negative, code & 1, significand & (unit - 1), unit);
        }
    }
    if (e == -1023 && x != 0.0) code = rounds_up(mode, negative, false, 1, UINT64_MAX);
    if (code > format_max(f)) {
        const bool towards_zero = e != 1024 && (mode == SMALL_ZERO || (mode == SMALL_DOWN && !negative) || (mode == SMALL_UP && negative));
        if (imm & SMALL_SATFINITE || f.kind == SMALL_FINITE || towards_zero) code = format_max(f);
        else code = f.kind == SMALL_IEEE ? format_max(f) + 1 : format_nan(f);
    }
    return (code | sign) << shift;
}

static uint32_t small_encode(double x, uint64_t imm) { return small_code(x, imm, 0); }
static uint32_t small_random(float x, uint32_t bits, uint64_t imm) {
    return small_code((double)x, imm, bits >> (imm >> 40 & 31) & ((1u << (imm >> 48 & 31)) - 1));
}

static double small_decode(uint32_t a, uint64_t imm) {
    const struct format f = format_of(imm);
    const int bias = (1 << (f.exponent - 1)) - 1;
    const uint32_t v = a >> (imm >> 32 & 31), code = v & ((1u << (f.fraction + f.exponent)) - 1);
    const bool negative = v >> (f.fraction + f.exponent) & 1;
    const int exponent = (int)(code >> f.fraction);
    const uint32_t fraction = code & ((1u << f.fraction) - 1);
    double r;
    if (code > format_max(f)) {
        if (f.kind == SMALL_IEEE && fraction == 0) r = (double)__builtin_inff();
        else return (double)f32_from(0x7fffffffu);
    } else {
        const uint32_t n = exponent ? fraction | 1u << f.fraction : fraction;
        const int scale = (exponent ? exponent : 1) - bias - (int)f.fraction;
        r = (double)(int32_t)n * f64_from((uint64_t)(scale + 1023) << 52);
    }
    return negative ? -r : r;
}

/* Powers of two from 2^-127 (code 0): of the magnitude, towards zero or up. */
static uint32_t small_ue8m0(uint32_t bits, uint64_t imm) {
    const uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t code = magnitude >> 23;
    if (magnitude > 0x7f800000u) return 0xff;
    /* subnormals: 2^-127 is 0x00400000; up from beyond it is code 1 */
    if ((imm >> 20 & 15) == SMALL_UP && magnitude & 0x007fffffu && magnitude > 0x00400000u) code++;
    if (code >= 0xff) code = imm & SMALL_SATFINITE ? 0xfe : 0xff;
    return code;
}
static uint32_t small_bf16_of_ue8m0(uint32_t code) {
    code &= 255;
    return code == 255 ? 0x7fffu : code == 0 ? 0x0040u : code << 7;
}

static double small_odd_u64(uint64_t a) {
    const unsigned drop = a >> 53 ? 11u - (unsigned)__builtin_clzll(a) : 0;
    const uint64_t lost = a & (((uint64_t)1 << drop) - 1);
    return (double)(int64_t)(a >> drop | (lost != 0)) * (double)((uint64_t)1 << drop);
}

static uint32_t small_pack(int32_t a, int32_t b, uint32_t c, uint64_t imm) {
    const unsigned bits = (unsigned)imm & 31;
    const bool sign = imm & SMALL_PACK_SIGNED;
    const int64_t low = sign ? -((int64_t)1 << (bits - 1)) : 0, high = ((int64_t)1 << (sign ? bits - 1 : bits)) - 1;
    const uint32_t mask = (1u << bits) - 1;
    const uint32_t ta = (uint32_t)(a < low ? low : a > high ? high : a) & mask, tb = (uint32_t)(b < low ? low : b > high ? high : b) & mask;
    return (bits < 16 ? c << (2 * bits) : 0) | ta << bits | tb;
}

#include "emu/lane_rows.h"
#include "emu/lane_small.def"

const struct lane_pair LANE_TABLE(lane_small)[] = {
#include "emu/lane_table.h"
#include "emu/lane_small.def"
};
