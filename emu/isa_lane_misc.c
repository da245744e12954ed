/* Handlers on predicates: a mask is one word, so these are the same for every level of host vector instructions. */
#include "emu/lane_loop.h"

#define MASKS(name, body)                                                                                                       \
    static const struct insn *name##_full(LANE_ARGS) {                                                                          \
        (void)ctx;                                                                                                              \
        const uint32_t a = mask_at(w, in->a), b = mask_at(w, in->b);                                                            \
        (void)b;                                                                                                                \
        *lane_mask_row(w, in->d) = (body);                                                                                      \
        return in + 1;                                                                                                          \
    }                                                                                                                           \
    static const struct insn *name##_masked(LANE_ARGS) {                                                                        \
        (void)ctx;                                                                                                              \
        const uint32_t a = mask_at(w, in->a), b = mask_at(w, in->b), m = insn_mask(in, w);                                      \
        (void)b;                                                                                                                \
        uint32_t *const d = lane_mask_row(w, in->d);                                                                            \
        *d = (*d & ~m) | ((body) & m);                                                                                          \
        return in + 1;                                                                                                          \
    }
MASKS(and_pred, a & b)
MASKS(or_pred, a | b)
MASKS(xor_pred, a ^ b)
MASKS(not_pred, ~a)

static uint32_t pair_bool(uint64_t op, uint32_t t, uint32_t c) {
    switch (op) {
    case LANE_BOOL_AND: return t & c;
    case LANE_BOOL_OR:  return t | c;
    case LANE_BOOL_XOR: return t ^ c;
    default:            return t;
    }
}

/* One record writes both, since either may be the guard. */
static const struct insn *write_pair(const struct insn *in, struct warp *w, uint32_t first, uint32_t second) {
    const uint32_t c = mask_at(w, in->b), m = insn_mask(in, w);
    uint32_t *const p = lane_mask_row(w, in->d), *const q = lane_mask_row(w, in->extra);
    const uint32_t new_p = pair_bool(in->imm, first, c), new_q = pair_bool(in->imm, second, c);
    *p = (*p & ~m) | (new_p & m);
    *q = (*q & ~m) | (new_q & m);
    return in + 1;
}
static const struct insn *pair_pred_masked(LANE_ARGS) {
    (void)ctx;
    return write_pair(in, w, mask_at(w, in->a), ~mask_at(w, in->a));
}
static const struct insn *both_pred_masked(LANE_ARGS) {
    (void)ctx;
    return write_pair(in, w, mask_at(w, in->a), mask_at(w, in->c));
}
#define pair_pred_full pair_pred_masked
#define both_pred_full both_pred_masked

#include "emu/lane_rows.h"
#include "emu/lane_misc.def"

const struct lane_pair LANE_TABLE(lane_misc)[] = {
#include "emu/lane_table.h"
#include "emu/lane_misc.def"
};
