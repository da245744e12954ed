/* What a conversion to or from a small floating-point format is, as the record's immediate tells the handler. */
#ifndef HEDDLE_EMU_LANE_SMALL_H
#define HEDDLE_EMU_LANE_SMALL_H
#include <stdint.h>

/* Kinds differ in their upper end: infinity and NaN; NaN alone, all ones (e4m3); neither (fp6, fp4). */
enum { SMALL_IEEE, SMALL_NAN_ONLY, SMALL_FINITE };
enum { SMALL_NEAREST, SMALL_DOWN, SMALL_UP, SMALL_ZERO, SMALL_AWAY /* nearest, ties away: .rna */, SMALL_RANDOM /* .rs */ };

#define SMALL_FORMAT(fraction, exponent, kind) ((uint64_t)(fraction) | (uint64_t)(exponent) << 8 | (uint64_t)(kind) << 16)
#define SMALL_ROUND(mode) ((uint64_t)(mode) << 20)
#define SMALL_SATFINITE ((uint64_t)1 << 24)    /* overflow and infinity give the largest number */
#define SMALL_RELU      ((uint64_t)1 << 25)    /* negative numbers give +0 */
#define SMALL_SAT       ((uint64_t)1 << 26)    /* to [0, 1], NaN to +0 */
#define SMALL_SHIFT(n)  ((uint64_t)(n) << 32)  /* encode: places to shift the result left; decode: to shift the source right before */
/* .rs: the random number is n bits of a word, from bit `from` on. */
#define SMALL_BITS(from, n) ((uint64_t)(from) << 40 | (uint64_t)(n) << 48)

#define SMALL_F16  SMALL_FORMAT(10, 5, SMALL_IEEE)
#define SMALL_BF16 SMALL_FORMAT(7, 8, SMALL_IEEE)
#define SMALL_TF32 SMALL_FORMAT(10, 8, SMALL_IEEE)
#define SMALL_E5M2 SMALL_FORMAT(2, 5, SMALL_IEEE)
#define SMALL_E4M3 SMALL_FORMAT(3, 4, SMALL_NAN_ONLY)
#define SMALL_E3M2 SMALL_FORMAT(2, 3, SMALL_FINITE)
#define SMALL_E2M3 SMALL_FORMAT(3, 2, SMALL_FINITE)
#define SMALL_E2M1 SMALL_FORMAT(1, 2, SMALL_FINITE)

#define SMALL_PACK_SIGNED ((uint64_t)1 << 8)

#endif
