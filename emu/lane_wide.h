/* Upper halves of 128-bit products, for lane bodies. */
#ifndef HEDDLE_EMU_LANE_WIDE_H
#define HEDDLE_EMU_LANE_WIDE_H
#include <stdint.h>

static inline uint64_t int_mul_hi_u64(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 u128;
    return (uint64_t)((u128)a * b >> 64);
}

static inline int64_t int_mul_hi_s64(int64_t a, int64_t b) {
    __extension__ typedef __int128 s128;
    return (int64_t)((s128)a * b >> 64);
}

#endif
