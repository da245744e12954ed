/* Floating-point helpers of the lane bodies: branch-free, so that loops over them vectorise. */
#ifndef HEDDLE_EMU_LANE_FLOAT_H
#define HEDDLE_EMU_LANE_FLOAT_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t f32_bits(float x) { uint32_t u; memcpy(&u, &x, sizeof u); return u; }
static inline float f32_from(uint32_t u) { float x; memcpy(&x, &u, sizeof x); return x; }
static inline uint64_t f64_bits(double x) { uint64_t u; memcpy(&u, &x, sizeof u); return u; }
static inline double f64_from(uint64_t u) { double x; memcpy(&x, &u, sizeof x); return x; }

/* Every NaN that single precision arithmetic makes is this one. */
static inline float f32_canon(float r) { return r == r ? r : f32_from(0x7fffffffu); }
static inline float f32_abs(float a) { return __builtin_fabsf(a); }
/* Subnormals become zeros of the same sign. */
static inline float f32_ftz(float a) { return f32_abs(a) < 0x1p-126f ? f32_from(f32_bits(a) & 0x80000000u) : a; }
/* The same for a result, `times` being the result times 2^32. The hardware decides by the result rounded as if exponents had no lower end (ptxas
 * 13.0 folds so): 2^-126 - 2^-150 is flushed although it would round to 2^-126 on the grid of subnormals. Scaled up there is no such grid. */
static inline float f32_flush(float r, float times) { return f32_abs(times) < 0x1p-94f ? f32_from(f32_bits(r) & 0x80000000u) : r; }
/* To [0, 1]; NaN and -0 become +0. */
static inline float f32_sat(float r) { float low = r > 0.0f ? r : 0.0f; return low < 1.0f ? low : 1.0f; }

/* Bits of an f16 as a float. Subnormals by a subtraction that normalises them. */
static inline float half_to_f32(uint32_t h) {
    uint32_t magnitude = (h & 0x7fffu) << 13, exponent = magnitude & 0x0f800000u, sign = (h & 0x8000u) << 16;
    uint32_t normal = magnitude + (112u << 23);
    float tiny = f32_from(magnitude + (113u << 23)) - f32_from(113u << 23);
    uint32_t r = exponent == 0 ? f32_bits(tiny) : normal;
    r = exponent == 0x0f800000u ? (magnitude & 0x007fffffu ? 0x7fffffffu : 0x7f800000u) : r;
    return f32_from(r | sign);
}

/* Nearest, ties to even. Below 2^-14 the addition of 0.5 rounds to the grid of subnormals. */
static inline uint32_t half_from_f32(float x) {
    uint32_t bits = f32_bits(x), magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
    uint32_t normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1)) >> 13;
    uint32_t tiny = f32_bits(f32_from(magnitude < 0x38800000u ? magnitude : 0u) + 0.5f) - 0x3f000000u;
    uint32_t r = magnitude < 0x38800000u ? tiny : normal;
    r = magnitude >= 0x47800000u ? 0x7c00u : r;
    return magnitude > 0x7f800000u ? 0x7fffu : r | sign;
}

/* A NaN loses against a number; -0 is less than +0. */
static inline float f32_min(float a, float b) {
    float r = a < b ? a : b;
    r = b == b ? r : a;
    r = a == b ? f32_from(f32_bits(a) | f32_bits(b)) : r;
    return f32_canon(r);
}
static inline float f32_max(float a, float b) {
    float r = a > b ? a : b;
    r = b == b ? r : a;
    r = a == b ? f32_from(f32_bits(a) & f32_bits(b)) : r;
    return f32_canon(r);
}
static inline float f32_min_nan(float a, float b) { float r = f32_min(a, b); return a == a && b == b ? r : f32_from(0x7fffffffu); }
static inline float f32_max_nan(float a, float b) { float r = f32_max(a, b); return a == a && b == b ? r : f32_from(0x7fffffffu); }
static inline float f32_xorsign(float r, float a, float b) {
    return r == r ? f32_from(f32_bits(r) | ((f32_bits(a) ^ f32_bits(b)) & 0x80000000u)) : r;
}

/* Double precision keeps the payload of a NaN; one that arises is 0xfff8000000000000, as on hosts. Of two the host may take either, after the compiler
 * has ordered a sum: the first counts here. */
static inline double f64_nan(double r, double first) { return first == first ? r : f64_from(f64_bits(first) | 0x0008000000000000u); }
static inline double f64_min(double a, double b) {
    double r = a < b ? a : b;
    r = b == b ? r : a;
    return a == b ? f64_from(f64_bits(a) | f64_bits(b)) : r;
}
static inline double f64_max(double a, double b) {
    double r = a > b ? a : b;
    r = b == b ? r : a;
    return a == b ? f64_from(f64_bits(a) & f64_bits(b)) : r;
}

#endif
