/* Handlers of arithmetic with carry. Compiled once for each level of host vector instructions. */
#include "emu/lane_loop.h"
#include "emu/lane_wide.h"

/* `first` and `second` are what is added or subtracted, in a, b, c. Inactive lanes keep their carry too. A carry comes out of the top place where both
 * terms have a one, or one has and the sum has not.
 * The flag is the carry of an adder: a subtraction runs as x + ~y + 1 and leaves 1 where it did NOT borrow, and subc reads it so.
 * The PTX text speaks of a borrow, but addc after sub.cc sees the flag itself, and nvcc's 128-bit division branches on that. */
#define CARRY(name, T, SRC, VALUES, flip, first, second, sum, carries)                                                          \
    static inline void name##_run(const struct insn *in, struct warp *w, uint32_t m) {                                          \
        ROW_##T *const rd = LANE_ROW(T, in->d);                                                                                 \
        SRC                                                                                                                     \
        LANE_SEL_##T(m, sel);                                                                                                   \
        LANE_SEL_##T(in->imm & LANE_CARRY_IN ? w->carry ^ (flip) : 0, carry_in);                                                \
        VAL_##T out = 0;                                                                                                        \
        LANE_FOR {                                                                                                              \
            VALUES                                                                                                              \
            const VAL_##T bit = LANE_BIT_##T[l], x = (VAL_##T)(first), y = (VAL_##T)(second), k = carry_in & bit ? 1 : 0;       \
            const VAL_##T r = sum, carry = (VAL_##T)(carries) >> LANE_TOP_##T ? bit : 0, old = rd[l];                                                    \
            out |= carry;                                                                                                       \
            rd[l] = sel & bit ? r : old;                                                                                        \
        }                                                                                                                       \
        if (in->imm & LANE_CARRY_OUT) w->carry = (w->carry & ~m) | ((uint32_t)out & m);                                         \
    }                                                                                                                           \
    static const struct insn *name##_full(LANE_ARGS) {                                                                          \
        (void)ctx;                                                                                                              \
        name##_run(in, w, FULL_MASK);                                                                                           \
        return in + 1;                                                                                                          \
    }                                                                                                                           \
    static const struct insn *name##_masked(LANE_ARGS) {                                                                        \
        (void)ctx;                                                                                                              \
        name##_run(in, w, insn_mask(in, w));                                                                                    \
        return in + 1;                                                                                                          \
    }
#define LANE_BIT_U32 lane_bit4
#define LANE_BIT_U64 lane_bit8
#define LANE_TOP_U32 31
#define LANE_TOP_U64 63

#define ADD_CARRY(name, T, SRC, VALUES, first, second)                                                                          \
    CARRY(name, T, SRC, VALUES, 0, first, second, x + y + k, (x & y) | ((x | y) & ~r))
#define SUB_CARRY(name, T, SRC, VALUES, first, second)                                                                          \
    CARRY(name, T, SRC, VALUES, FULL_MASK, first, second, x - y - k, (x & ~y) | ((x | ~y) & ~r))
ADD_CARRY(add_carry_u32, U32, LANE_SRC2(U32, U32), LANE_VAL2(U32, U32), a, b)
ADD_CARRY(add_carry_u64, U64, LANE_SRC2(U64, U64), LANE_VAL2(U64, U64), a, b)
SUB_CARRY(sub_carry_u32, U32, LANE_SRC2(U32, U32), LANE_VAL2(U32, U32), a, b)
SUB_CARRY(sub_carry_u64, U64, LANE_SRC2(U64, U64), LANE_VAL2(U64, U64), a, b)
ADD_CARRY(mad_lo_carry_u32, U32, LANE_SRC3(U32, U32, U32), LANE_VAL3(U32, U32, U32), a * b, c)
ADD_CARRY(mad_lo_carry_u64, U64, LANE_SRC3(U64, U64, U64), LANE_VAL3(U64, U64, U64), a * b, c)
ADD_CARRY(mad_hi_carry_u32, U32, LANE_SRC3(U32, U32, U32), LANE_VAL3(U32, U32, U32), (uint64_t)a * b >> 32, c)
ADD_CARRY(mad_hi_carry_s32, U32, LANE_SRC3(S32, S32, U32), LANE_VAL3(S32, S32, U32), (int64_t)a * b >> 32, c)
ADD_CARRY(mad_hi_carry_u64, U64, LANE_SRC3(U64, U64, U64), LANE_VAL3(U64, U64, U64), int_mul_hi_u64(a, b), c)
ADD_CARRY(mad_hi_carry_s64, U64, LANE_SRC3(S64, S64, U64), LANE_VAL3(S64, S64, U64), int_mul_hi_s64(a, b), c)

#include "emu/lane_rows.h"
#include "emu/lane_carry.def"

const struct lane_pair LANE_TABLE(lane_carry)[] = {
#include "emu/lane_table.h"
#include "emu/lane_carry.def"
};
