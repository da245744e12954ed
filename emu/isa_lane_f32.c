/* Handlers of single and double precision arithmetic. Compiled once for each level of host vector instructions. */
#include "emu/lane_loop.h"
#include "emu/lane_float.h"

/* Each operation, and what decides whether its result is flushed: the result times 2^32 (see f32_flush), in which nothing that could be tiny
 * overflows: where 2^32 a does, a result below 2^-126 would need a factor below 2^-126, or a sum to cancel below the unit of its terms. */
static inline float f32_add(float a, float b) { return a + b; }
static inline float f32_sub(float a, float b) { return a - b; }
static inline float f32_mul(float a, float b) { return a * b; }
static inline float f32_div(float a, float b) { return a / b; }
static inline float f32_rcp(float a) { return 1.0f / a; }
static inline float f32_sqrt(float a) { return __builtin_sqrtf(a); }
static inline float f32_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }   /* libm's where the host has no instruction */
static inline float f32_add_tiny(float a, float b) { return a * 0x1p32f + b * 0x1p32f; }
static inline float f32_sub_tiny(float a, float b) { return a * 0x1p32f - b * 0x1p32f; }
static inline float f32_mul_tiny(float a, float b) { return a * 0x1p32f * b; }
static inline float f32_div_tiny(float a, float b) { return a * 0x1p32f / b; }
static inline float f32_rcp_tiny(float a) { return 0x1p32f / a; }
static inline float f32_sqrt_tiny(float a) { return a * 0x1p32f; }
static inline float f32_fma_tiny(float a, float b, float c) { return __builtin_fmaf(a * 0x1p32f, b, c * 0x1p32f); }

#define PAIR_OP(op, params, plain_args, ftz_args)                                                                               \
    static inline float f32_##op##_plain params { return f32_canon(f32_##op plain_args); }                                      \
    static inline float f32_##op##_flushed params { return f32_canon(f32_flush(f32_##op ftz_args, f32_##op##_tiny ftz_args)); }
PAIR_OP(add, (float a, float b), (a, b), (f32_ftz(a), f32_ftz(b)))
PAIR_OP(sub, (float a, float b), (a, b), (f32_ftz(a), f32_ftz(b)))
PAIR_OP(mul, (float a, float b), (a, b), (f32_ftz(a), f32_ftz(b)))
PAIR_OP(fma, (float a, float b, float c), (a, b, c), (f32_ftz(a), f32_ftz(b), f32_ftz(c)))
static inline float f32_low(uint64_t x) { return f32_from((uint32_t)x); }
static inline float f32_high(uint64_t x) { return f32_from((uint32_t)(x >> 32)); }
static inline uint64_t f32_join(float high, float low) { return (uint64_t)f32_bits(high) << 32 | f32_bits(low); }
#define f32_pair2(op, a, b) f32_join(op(f32_high(a), f32_high(b)), op(f32_low(a), f32_low(b)))
#define f32_pair3(op, a, b, c) f32_join(op(f32_high(a), f32_high(b), f32_high(c)), op(f32_low(a), f32_low(b), f32_low(c)))

#include "emu/lane_rows.h"
#include "emu/lane_f32.def"

const struct lane_pair LANE_TABLE(lane_f32)[] = {
#include "emu/lane_table.h"
#include "emu/lane_f32.def"
};
