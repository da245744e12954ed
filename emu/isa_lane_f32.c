/* Handlers of single and double precision arithmetic. Compiled once for each level of host vector instructions. */
#include "emu/lane_loop.h"
#include "emu/lane_float.h"

static inline float f32_add(float a, float b) { return a + b; }
static inline float f32_sub(float a, float b) { return a - b; }
static inline float f32_mul(float a, float b) { return a * b; }
static inline float f32_div(float a, float b) { return a / b; }
static inline float f32_rcp(float a) { return 1.0f / a; }
static inline float f32_sqrt(float a) { return __builtin_sqrtf(a); }
static inline float f32_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }   /* libm's where the host has no instruction */

#include "emu/lane_rows.h"
#include "emu/lane_f32.def"

const struct lane_pair LANE_TABLE(lane_f32)[] = {
#include "emu/lane_table.h"
#include "emu/lane_f32.def"
};
