/* Handlers of conversions. Compiled once for each level of host vector instructions. */
#include "emu/lane_loop.h"
#include "emu/lane_float.h"

/* Hosts convert signed words well; two exact halves and one rounding addition make the unsigned, -0 kept out under rounding down. */
static inline float cvt_f32_u32_body(uint32_t a) {
    float r = (float)(int32_t)(a >> 16) * 65536.0f + (float)(int32_t)(a & 0xffffu);
    return r;
}

/* Conversions that C leaves undefined out of range get clamped values. NaN fails every comparison. */
static inline int32_t cvt_clamp_f32(float a, float low, float high) {
    float x = a > low ? a : low;
    x = x < high ? x : high;
    return a == a ? (int32_t)x : 0;
}
static inline int32_t cvt_clamp_f64(double a, double low, double high, int32_t nan) {
    double x = a > low ? a : low;
    x = x < high ? x : high;
    return a == a ? (int32_t)x : nan;
}

static inline int32_t cvt_s32_f32_body(float a) {
    int32_t r = cvt_clamp_f32(a, -2147483648.0f, 2147483520.0f);
    return a >= 2147483648.0f ? INT32_MAX : r;
}
static inline uint32_t cvt_u32_f32_body(float a) {
    bool high = a >= 2147483648.0f;
    float x = high ? a - 2147483648.0f : a;
    uint32_t r = (uint32_t)cvt_clamp_f32(x, 0.0f, 2147483520.0f) | (high ? 0x80000000u : 0u);
    return a >= 4294967296.0f ? UINT32_MAX : r;
}
static inline uint32_t cvt_u32_f64_body(double a) {
    double x = a > 0.0 ? a : 0.0;
    x = x < 4294967295.0 ? x : 4294967295.0;
    uint32_t r = (uint32_t)(int32_t)(__builtin_floor(x) - 2147483648.0) ^ 0x80000000u;
    return a == a ? r : 0x80000000u;
}
static inline int64_t cvt_s64_f64_body(double a) {
    if (!(a > -9223372036854775808.0)) return INT64_MIN;            /* NaN too */
    return a < 9223372036854775808.0 ? (int64_t)a : INT64_MAX;
}
static inline uint64_t cvt_u64_f64_body(double a) {
    if (!(a > 0.0)) return a == a ? 0 : 0x8000000000000000u;
    if (a < 9223372036854775808.0) return (uint64_t)(int64_t)a;
    return a < 18446744073709551616.0 ? (uint64_t)(int64_t)(a - 9223372036854775808.0) | 0x8000000000000000u : UINT64_MAX;
}

#include "emu/lane_rows.h"
#include "emu/lane_cvt.def"

const struct lane_pair LANE_TABLE(lane_cvt)[] = {
#include "emu/lane_table.h"
#include "emu/lane_cvt.def"
};
