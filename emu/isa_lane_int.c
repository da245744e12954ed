/* Handlers of the integer rows. Compiled once for each level of host vector instructions. */
#include "emu/lane_loop.h"
#include "emu/lane_wide.h"

static inline int32_t int_add_sat(int32_t a, int32_t b) {
    uint32_t r = (uint32_t)a + (uint32_t)b;
    uint32_t overflow = ((uint32_t)a ^ r) & ((uint32_t)b ^ r);
    return (int32_t)(overflow >> 31 ? (uint32_t)(a >> 31) ^ 0x7fffffffu : r);
}

static inline int32_t int_sub_sat(int32_t a, int32_t b) {
    uint32_t r = (uint32_t)a - (uint32_t)b;
    uint32_t overflow = ((uint32_t)a ^ (uint32_t)b) & ((uint32_t)a ^ r);
    return (int32_t)(overflow >> 31 ? (uint32_t)(a >> 31) ^ 0x7fffffffu : r);
}

/* The 48-bit product of sign-extended 24-bit values. */
static inline int64_t int_mul24(uint32_t a, uint32_t b) {
    return (int64_t)((int32_t)(a << 8) >> 8) * ((int32_t)(b << 8) >> 8);
}

/* Quotients. Division by zero gives all ones, for the quotient and for the remainder, signed and unsigned: PTX leaves it open, ptxas 13.0 folds
 * div and rem of 32 bits so. INT_MIN / -1 is INT_MIN. Up to 32 bits the division is one of doubles: the exact quotient of such integers is either an
 * integer or at least 2^-32 away from the next, relative to it 2^-33 at least, so 53 bits round to the right side and truncating is exact. */
static inline uint32_t int_div_u32(uint32_t a, uint32_t b) {
    /* shifted by 2^31: conversions between double and unsigned are slow or missing in vectors */
    double x = (double)(int32_t)(a ^ 0x80000000u) + 2147483648.0;
    double y = (double)(int32_t)(b ^ 0x80000000u) + 2147483648.0;
    double q = __builtin_floor(x / (b ? y : 1.0));
    uint32_t r = (uint32_t)(int32_t)(q - 2147483648.0) ^ 0x80000000u;
    return b ? r : 0xffffffffu;
}

static inline int32_t int_div_s32(int32_t a, int32_t b) {
    bool wraps = a == INT32_MIN && b == -1;
    int32_t q = (int32_t)((double)a / (double)(b == 0 || wraps ? 1 : b));
    return b ? q : -1;
}

static inline uint16_t int_div_u16(uint16_t a, uint16_t b) {
    int32_t q = (int32_t)((float)(int32_t)a / (float)(int32_t)(b ? b : 1));   /* 2^-17 apart at least: floats do */
    return (uint16_t)(b ? q : 0xffff);
}

static inline int16_t int_div_s16(int16_t a, int16_t b) {
    int32_t q = (int32_t)((float)a / (float)(b ? b : 1));
    return (int16_t)(b ? q : -1);
}

static inline uint64_t int_div_u64(uint64_t a, uint64_t b) { return b ? a / b : UINT64_MAX; }

static inline int64_t int_div_s64(int64_t a, int64_t b) {
    if (b == 0) return -1;
    if (b == -1) return (int64_t)(0u - (uint64_t)a);
    return a / b;
}

static inline int64_t int_rem_s64(int64_t a, int64_t b) {
    if (b == 0) return -1;
    if (b == -1) return 0;
    return a % b;
}

static inline int32_t int_relu(int32_t a) { return a < 0 ? 0 : a; }

/* In 32 bits: gcc 12 has no pattern for the masked 16-bit AVX-512 instructions and stops with an internal error. */
static inline int32_t int_min16(int32_t a, int32_t b) { int32_t over = a - b; return a - (over > 0 ? over : 0); }
static inline int32_t int_max16(int32_t a, int32_t b) { int32_t over = a - b; return a - (over < 0 ? over : 0); }

/* Both 16-bit halves: an expression in x and y. */
#define INT_X2(T, a_, b_, body) __extension__({                                                                                 \
        uint32_t x2_;                                                                                                           \
        { const VAL_##T x = (VAL_##T)(a_), y = (VAL_##T)(b_); x2_ = (uint16_t)(body); }                                         \
        { const VAL_##T x = (VAL_##T)((a_) >> 16), y = (VAL_##T)((b_) >> 16); x2_ |= (uint32_t)(uint16_t)(body) << 16; }        \
        x2_; })

#define INT_DP4A(A, B) c + (uint32_t)((A)a * (B)b) + (uint32_t)((A)(a >> 8) * (B)(b >> 8)) +                                    \
                       (uint32_t)((A)(a >> 16) * (B)(b >> 16)) + (uint32_t)((A)(a >> 24) * (B)(b >> 24))
#define INT_DP2A(A, B, from) c + (uint32_t)((A)a * (B)(b >> from)) + (uint32_t)((A)(a >> 16) * (B)(b >> (from + 8)))

/* Bit 4a + 2b + c of the table, for all bits at once. */
static inline uint32_t int_lop3(uint32_t a, uint32_t b, uint32_t c, uint64_t lut) {
    uint32_t r = 0;
    for (unsigned i = 0; i < 8; i++) {
        uint32_t term = (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
        r |= term & (uint32_t)-(int32_t)(lut >> i & 1);
    }
    return r;
}

static inline uint32_t int_bfind(uint64_t a) { return a ? 63u - (uint32_t)__builtin_clzll(a) : 0xffffffffu; }
static inline uint32_t int_bfind_shift(uint64_t a, uint32_t msb) { return a ? msb - int_bfind(a) : 0xffffffffu; }

static inline uint32_t int_fns(uint32_t mask, uint32_t base, int32_t offset) {
    if (base > 31) return 0xffffffffu;                   /* undefined in PTX */
    if (offset == 0) return mask >> base & 1 ? base : 0xffffffffu;
    uint32_t count = offset < 0 ? 0u - (uint32_t)offset : (uint32_t)offset;
    int step = offset < 0 ? -1 : 1;
    for (int pos = (int)base; pos >= 0 && pos < 32; pos += step)
        if (mask >> pos & 1 && --count == 0) return (uint32_t)pos;
    return 0xffffffffu;
}

static inline uint32_t int_brev32(uint32_t a) {
    a = (a & 0x55555555u) << 1 | (a >> 1 & 0x55555555u);
    a = (a & 0x33333333u) << 2 | (a >> 2 & 0x33333333u);
    a = (a & 0x0f0f0f0fu) << 4 | (a >> 4 & 0x0f0f0f0fu);
    a = (a & 0x00ff00ffu) << 8 | (a >> 8 & 0x00ff00ffu);
    return a << 16 | a >> 16;
}

/* Fields. Bits that the field takes from beyond the top are the sign (bfe.s) or zero; the sign of an empty field is zero. */
static inline uint32_t int_bfe_u32(uint32_t a, uint32_t pos, uint32_t len) {
    uint32_t field = pos < 32 ? a >> (pos & 31) : 0;
    return len < 32 ? field & ((1u << (len & 31)) - 1) : field;
}

static inline int32_t int_bfe_s32(int32_t a, uint32_t pos, uint32_t len) {
    int32_t field = a >> (pos < 31 ? pos : 31);
    uint32_t drop = len < 32 ? 32 - len : 0;
    int32_t r = (int32_t)((uint32_t)field << (drop & 31)) >> (drop & 31);
    return len ? r : 0;
}

static inline uint64_t int_bfe_u64(uint64_t a, uint32_t pos, uint32_t len) {
    uint64_t field = pos < 64 ? a >> (pos & 63) : 0;
    return len < 64 ? field & (((uint64_t)1 << (len & 63)) - 1) : field;
}

static inline int64_t int_bfe_s64(int64_t a, uint32_t pos, uint32_t len) {
    int64_t field = a >> (pos < 63 ? pos : 63);
    uint32_t drop = len < 64 ? 64 - len : 0;
    int64_t r = (int64_t)((uint64_t)field << (drop & 63)) >> (drop & 63);
    return len ? r : 0;
}

static inline uint32_t int_bfi_b32(uint32_t a, uint32_t b, uint32_t pos, uint32_t len) {
    uint32_t ones = len < 32 ? (1u << (len & 31)) - 1 : 0xffffffffu;
    uint32_t mask = pos < 32 ? ones << (pos & 31) : 0;
    return (b & ~mask) | (a << (pos & 31) & mask);
}

static inline uint64_t int_bfi_b64(uint64_t a, uint64_t b, uint32_t pos, uint32_t len) {
    uint64_t ones = len < 64 ? ((uint64_t)1 << (len & 63)) - 1 : UINT64_MAX;
    uint64_t mask = pos < 64 ? ones << (pos & 63) : 0;
    return (b & ~mask) | (a << (pos & 63) & mask);
}

/* Ones from place `at`, `width` of them; what would pass bit 31 gives all the ones up to it. */
static inline uint32_t int_bmsk(uint32_t at, uint32_t width, bool in_range) {
    uint32_t from = at & 31, n = width & 31, sum = from + n;
    uint32_t below = in_range && sum < 32 ? (1u << (sum & 31)) - 1 : 0xffffffffu;
    uint32_t above = 0xffffffffu << from;
    return in_range || at < 32 ? above & below : 0;
}

static inline uint32_t int_sext(uint32_t a, uint32_t n) {
    uint32_t mask = 0xffffffffu << n, sign = n && a >> ((n - 1) & 31) & 1 ? mask : 0;
    return (a & ~mask) | sign;
}

static inline uint32_t int_prmt(uint64_t bytes, uint32_t selectors, bool signs) {
    uint32_t r = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint32_t s = selectors >> (4 * i) & 15;
        uint32_t byte = (uint32_t)(bytes >> (8 * (s & 7))) & 255;
        uint32_t sign = byte >> 7 ? 255u : 0u;
        r |= (signs && s & 8 ? sign : byte) << (8 * i);
    }
    return r;
}

#include "emu/lane_rows.h"
#include "emu/lane_int.def"

const struct lane_pair LANE_TABLE(lane_int)[] = {
#include "emu/lane_table.h"
#include "emu/lane_int.def"
};
