/* What a video instruction selects and does, as the record's immediate tells the handler. */
#ifndef HEDDLE_EMU_LANE_VIDEO_H
#define HEDDLE_EMU_LANE_VIDEO_H
#include <stdint.h>

/* A part of a word: eight bits. */
#define VIDEO_PART(shift, log_bytes, sign) ((uint64_t)(shift) | (uint64_t)(log_bytes) << 5 | (uint64_t)((sign) != 0) << 7)

/* Scalar: parts of a, b and d (the latter's sign is that of the destination type), then */
#define VIDEO_A(part) (part)
#define VIDEO_B(part) ((part) << 8)
#define VIDEO_D(part) ((part) << 16)
enum { VIDEO_SECOND_NONE, VIDEO_SECOND_ADD, VIDEO_SECOND_MIN, VIDEO_SECOND_MAX };
#define VIDEO_SECOND(op)  ((uint64_t)(op) << 24)
#define VIDEO_SAT         ((uint64_t)1 << 26)
#define VIDEO_WRAP        ((uint64_t)1 << 27)
#define VIDEO_MERGE       ((uint64_t)1 << 28)  /* into c */
enum { VIDEO_EQ, VIDEO_NE, VIDEO_LT, VIDEO_LE, VIDEO_GT, VIDEO_GE };
#define VIDEO_COMPARE(op) ((uint64_t)(op) << 29)
/* vmad */
#define VIDEO_PLUS_ONE       ((uint64_t)1 << 32)
#define VIDEO_MINUS_PRODUCT  ((uint64_t)1 << 33)
#define VIDEO_MINUS_C        ((uint64_t)1 << 34)
#define VIDEO_FINAL_SIGNED   ((uint64_t)1 << 35)
#define VIDEO_SCALE(places)  ((uint64_t)(places) << 36)

/* Two halves or four bytes at once: a selector digit for each element of a and of b (digits count through a, then b), elements that are written, signs. */
#define SIMD_A(digits)    ((uint64_t)(digits) & 0xffff)
#define SIMD_B(digits)    (((uint64_t)(digits) & 0xffff) << 16)
#define SIMD_MASK(bits)   ((uint64_t)(bits) << 32)
#define SIMD_A_SIGNED     ((uint64_t)1 << 36)
#define SIMD_B_SIGNED     ((uint64_t)1 << 37)
#define SIMD_D_SIGNED     ((uint64_t)1 << 38)
#define SIMD_SAT          ((uint64_t)1 << 39)
#define SIMD_ADD          ((uint64_t)1 << 40)
#define SIMD_COMPARE(op)  ((uint64_t)(op) << 41)

#endif
