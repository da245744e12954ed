/* Copies, width conversions, packing: compiled once per ISA level of the host (LANE_ISA). */
#include <string.h>

#include "emu/mov.h"

#define PASTE2(a, b) a##_##b
#define PASTE(a, b) PASTE2(a, b)

typedef uint16_t row2 __attribute__((may_alias));
typedef uint32_t row4 __attribute__((may_alias));
typedef uint64_t row8 __attribute__((may_alias));
typedef int16_t srow2 __attribute__((may_alias));
typedef int32_t srow4 __attribute__((may_alias));
typedef int32_t drow4 __attribute__((may_alias));
typedef int64_t drow8 __attribute__((may_alias));
typedef struct { uint64_t lo, hi; } __attribute__((may_alias)) row16;

#define AT(T, off) ((T *)__builtin_assume_aligned(w->frame + (off), 64))
#define LANES _Pragma("GCC ivdep") for (unsigned l = 0; l < WARP_SIZE; l++)
#define ARGS const struct insn *in, struct warp *w, struct ctx *c

static const uint32_t bit4[WARP_SIZE] __attribute__((aligned(64))) = {
    1u << 0, 1u << 1, 1u << 2, 1u << 3, 1u << 4, 1u << 5, 1u << 6, 1u << 7, 1u << 8, 1u << 9, 1u << 10, 1u << 11, 1u << 12, 1u << 13,
    1u << 14, 1u << 15, 1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23, 1u << 24, 1u << 25, 1u << 26,
    1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31 };

/* A handler pair from the value of one lane. */
#define EACH(name, D, A, value)                                                                          \
    static const struct insn *name##_full(ARGS) {                                                        \
        (void)c;                                                                                         \
        D *const d = AT(D, in->d);                                                                       \
        const A *const a = AT(A, in->a);                                                                 \
        LANES d[l] = value;                                                                              \
        return in + 1;                                                                                   \
    }                                                                                                    \
    static const struct insn *name##_masked(ARGS) {                                                      \
        (void)c;                                                                                         \
        const uint32_t m = insn_mask(in, w);                                                             \
        D *const d = AT(D, in->d);                                                                       \
        const A *const a = AT(A, in->a);                                                                 \
        LANES d[l] = m & bit4[l] ? value : d[l];                                                         \
        return in + 1;                                                                                   \
    }

EACH(mov2, row2, row2, a[l])
EACH(mov4, row4, row4, a[l])
EACH(mov8, row8, row8, a[l])
EACH(mov16, row16, row16, a[l])
EACH(u2_4, row4, row2, a[l])
EACH(u2_8, row8, row2, a[l])
EACH(u4_8, row8, row4, a[l])
EACH(s2_4, drow4, srow2, a[l])
EACH(s2_8, drow8, srow2, a[l])
EACH(s4_8, drow8, srow4, a[l])
EACH(u4_2, row2, row4, (uint16_t)a[l])
EACH(u8_2, row2, row8, (uint16_t)a[l])
EACH(u8_4, row4, row8, (uint32_t)a[l])
EACH(u16_8, row8, row16, a[l].lo)
EACH(u8_16, row16, row8, ((row16){ a[l], 0 }))
EACH(u4_16, row16, row4, ((row16){ a[l], 0 }))
EACH(u16_4, row4, row16, (uint32_t)a[l].lo)
EACH(hi8_4, row4, row8, (uint32_t)(a[l] >> 32))
EACH(lo4_2, row2, row4, (uint16_t)a[l])
EACH(hi4_2, row2, row4, (uint16_t)(a[l] >> 16))

/* Packing: a value of two sources. */
#define PACK2(name, D, A, value)                                                                         \
    static const struct insn *name##_full(ARGS) {                                                        \
        (void)c;                                                                                         \
        D *const d = AT(D, in->d);                                                                       \
        const A *const a = AT(A, in->a), *const b = AT(A, in->b);                                        \
        LANES d[l] = value;                                                                              \
        return in + 1;                                                                                   \
    }                                                                                                    \
    static const struct insn *name##_masked(ARGS) {                                                      \
        (void)c;                                                                                         \
        const uint32_t m = insn_mask(in, w);                                                             \
        D *const d = AT(D, in->d);                                                                       \
        const A *const a = AT(A, in->a), *const b = AT(A, in->b);                                        \
        LANES d[l] = m & bit4[l] ? value : d[l];                                                         \
        return in + 1;                                                                                   \
    }

PACK2(pack4_8, row8, row4, (uint64_t)a[l] | (uint64_t)b[l] << 32)
PACK2(pack2_4, row4, row2, (uint32_t)a[l] | (uint32_t)b[l] << 16)

/* Any element of any row: element k of `bytes` bytes; imm packs the layout (emu/mov.h). */
static const struct insn *put(ARGS) {
    (void)c;
    const uint32_t m = insn_mask(in, w);
    const unsigned to = MOV_TO(in->imm), from = MOV_FROM(in->imm), bytes = MOV_BYTES(in->imm), at = MOV_AT(in->imm);
    for (unsigned l = 0; l < WARP_SIZE; l++)
        if (m >> l & 1) memcpy(w->frame + in->d + l * to + at, w->frame + in->a + l * from, bytes);
    return in + 1;
}

static const struct insn *get(ARGS) {
    (void)c;
    const uint32_t m = insn_mask(in, w);
    const unsigned to = MOV_TO(in->imm), from = MOV_FROM(in->imm), bytes = MOV_BYTES(in->imm), at = MOV_AT(in->imm);
    const bool sign = MOV_SIGN(in->imm);
    for (unsigned l = 0; l < WARP_SIZE; l++) {
        if (!(m >> l & 1)) continue;
        uint64_t v = 0;
        memcpy(&v, w->frame + in->a + l * from + at, bytes);
        if (sign) v = (uint64_t)((int64_t)(v << (64 - 8 * bytes)) >> (64 - 8 * bytes));
        memcpy(w->frame + in->d + l * to, &v, to);
    }
    return in + 1;
}

#define PAIR(name) { name##_full, name##_masked }
const struct mov_table PASTE(mov_table, LANE_ISA) = {
    .mov = { PAIR(mov2), PAIR(mov4), PAIR(mov8), PAIR(mov16) },
    .convert = {                               /* [to][from][sign], classes 2 4 8 16 */
        [0] = { [1] = { PAIR(u4_2), PAIR(u4_2) }, [2] = { PAIR(u8_2), PAIR(u8_2) } },
        [1] = { [0] = { PAIR(u2_4), PAIR(s2_4) }, [2] = { PAIR(u8_4), PAIR(u8_4) }, [3] = { PAIR(u16_4), PAIR(u16_4) } },
        [2] = { [0] = { PAIR(u2_8), PAIR(s2_8) }, [1] = { PAIR(u4_8), PAIR(s4_8) }, [3] = { PAIR(u16_8), PAIR(u16_8) } },
        [3] = { [1] = { PAIR(u4_16), PAIR(u4_16) }, [2] = { PAIR(u8_16), PAIR(u8_16) } },
    },
    .high8_4 = PAIR(hi8_4), .low4_2 = PAIR(lo4_2), .high4_2 = PAIR(hi4_2),
    .pack4_8 = PAIR(pack4_8), .pack2_4 = PAIR(pack2_4),
    .put = { put, put }, .get = { get, get },
};
