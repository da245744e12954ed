/* Half precision in plain C, for what goes lane by lane; lane_float.h has the vectors' own. */
#ifndef HEDDLE_EMU_HALF_H
#define HEDDLE_EMU_HALF_H
#include <stdint.h>

static inline float half_float_of(uint32_t bits) { float f; __builtin_memcpy(&f, &bits, 4); return f; }
static inline uint32_t half_bits_of(float f) { uint32_t b; __builtin_memcpy(&b, &f, 4); return b; }

static inline float half_value(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = h >> 10 & 31, m = h & 0x3ffu;
    if (e == 31)
        return half_float_of(sign | 0x7f800000u | m << 13);
    if (e)
        return half_float_of(sign | (e + 112) << 23 | m << 13);
    float f = (float)m * 0x1p-24f;
    return sign ? -f : f;
}

/* Round to nearest even; NaN becomes the canonical one. */
static inline uint16_t half_code(float f)
{
    uint32_t b = half_bits_of(f), sign = b >> 16 & 0x8000u, a = b & 0x7fffffffu;
    if (a > 0x7f800000u)
        return 0x7fff;
    if (a >= 0x477ff000u)
        return (uint16_t)(sign | 0x7c00u);     /* 65520 and above round to infinity */
    if (a < 0x38800000u)                       /* below 2^-14: adding 0.5 puts the last bit of a subnormal in the last bit of the sum */
        return (uint16_t)(sign | (half_bits_of(half_float_of(a) + 0.5f) - 0x3f000000u));
    return (uint16_t)(sign | (a + 0xfffu + (a >> 13 & 1) - 0x38000000u) >> 13);
}

#endif
