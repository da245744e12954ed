/* Video instructions: selectors, masks and modifiers become the immediate of a row of lane_video.def. */
#include "emu/decode_lane.h"
#include "emu/lane_video.h"

static bool is_signed(const struct ptx_insn *in, unsigned k) { return k < in->n_types && in->types[k] == PTX_S32; }

/* The operand without what the immediate says. */
static struct ptx_operand plain(const struct ptx_operand *o)
{
    struct ptx_operand p = *o;
    if (p.kind == PTX_OPERAND_REG) {
        p.component = 0;
        p.negated = false;
        p.bits = 0;
    }
    return p;
}

static uint32_t source(struct decoder *d, const struct ptx_operand *o)
{
    struct ptx_operand p = plain(o);
    return decode_source(d, &p, PTX_B32, 4);
}

static enum status emit(struct decoder *d, const struct ptx_insn *in, enum lane_id id, const uint32_t rows[3], uint64_t imm)
{
    struct ptx_operand to = plain(&in->operands[0]);
    return lane_emit(d, id, decode_dest(d, &to, 4, false), rows[0], rows[1], rows[2], imm);
}

/* The part that a selector of one digit names; the whole word when there is none. */
static uint64_t part_of(const struct ptx_operand *o, bool sign)
{
    unsigned selector = o->kind == PTX_OPERAND_REG ? o->component : PTX_SELECT_NONE, digit = (unsigned)o->bits & 3;
    switch (selector) {
    case PTX_SELECT_B1: return VIDEO_PART(8 * digit, 0, sign);
    case PTX_SELECT_H1: return VIDEO_PART(16 * (digit & 1), 1, sign);
    default:            return VIDEO_PART(0, 2, sign);
    }
}

static bool selects_one(const struct ptx_operand *o)
{
    return o->kind != PTX_OPERAND_REG || o->component == PTX_SELECT_NONE || o->component == PTX_SELECT_B1 || o->component == PTX_SELECT_H1;
}

static uint64_t comparison(const struct ptx_insn *in)
{
    static const struct { uint16_t mod; uint8_t how; } known[] = {
        { PTX_MOD_EQ, VIDEO_EQ }, { PTX_MOD_NE, VIDEO_NE }, { PTX_MOD_LT, VIDEO_LT },
        { PTX_MOD_LE, VIDEO_LE }, { PTX_MOD_GT, VIDEO_GT }, { PTX_MOD_GE, VIDEO_GE } };
    for (unsigned k = 0; k < sizeof known / sizeof known[0]; k++) if (ptx_insn_has(in, (enum ptx_mod)known[k].mod)) return known[k].how;
    return VIDEO_EQ;
}

static unsigned second_op(const struct ptx_insn *in)
{
    return ptx_insn_has(in, PTX_MOD_ADD) ? VIDEO_SECOND_ADD : ptx_insn_has(in, PTX_MOD_MIN) ? VIDEO_SECOND_MIN
         : ptx_insn_has(in, PTX_MOD_MAX) ? VIDEO_SECOND_MAX : VIDEO_SECOND_NONE;
}

static const uint16_t rows_of[PTX_OP_COUNT] = {
    [PTX_OP_VADD] = LANE_vadd, [PTX_OP_VSUB] = LANE_vsub, [PTX_OP_VABSDIFF] = LANE_vabsdiff, [PTX_OP_VMIN] = LANE_vmin, [PTX_OP_VMAX] = LANE_vmax,
    [PTX_OP_VSHL] = LANE_vshl, [PTX_OP_VSHR] = LANE_vshr, [PTX_OP_VSET] = LANE_vset, [PTX_OP_VMAD] = LANE_vmad,
    [PTX_OP_VADD2] = LANE_vadd2, [PTX_OP_VSUB2] = LANE_vsub2, [PTX_OP_VAVRG2] = LANE_vavrg2, [PTX_OP_VABSDIFF2] = LANE_vabsdiff2,
    [PTX_OP_VMIN2] = LANE_vmin2, [PTX_OP_VMAX2] = LANE_vmax2, [PTX_OP_VSET2] = LANE_vset2,
    [PTX_OP_VADD4] = LANE_vadd4, [PTX_OP_VSUB4] = LANE_vsub4, [PTX_OP_VAVRG4] = LANE_vavrg4, [PTX_OP_VABSDIFF4] = LANE_vabsdiff4,
    [PTX_OP_VMIN4] = LANE_vmin4, [PTX_OP_VMAX4] = LANE_vmax4, [PTX_OP_VSET4] = LANE_vset4 };

enum status decode_video(struct decoder *d, const struct ptx_insn *in)
{
    const bool set = in->op == PTX_OP_VSET;                /* whose destination has no type: it is unsigned */
    const struct ptx_operand *to = &in->operands[0], *a = &in->operands[1], *b = &in->operands[2];
    if (!selects_one(to) || !selects_one(a) || !selects_one(b)) return decode_unsupported(d, in, "this selector");
    const bool merge = to->kind == PTX_OPERAND_REG && to->component != PTX_SELECT_NONE;
    if (merge && in->n_operands < 4) return decode_unsupported(d, in, "a merge without what to merge into");
    uint64_t imm = VIDEO_A(part_of(a, is_signed(in, set ? 0 : 1))) | VIDEO_B(part_of(b, is_signed(in, set ? 1 : 2))) |
                   VIDEO_D(part_of(to, !set && is_signed(in, 0))) | VIDEO_SECOND(second_op(in));
    if (ptx_insn_has(in, PTX_MOD_SAT)) imm |= VIDEO_SAT;
    if (ptx_insn_has(in, PTX_MOD_WRAP)) imm |= VIDEO_WRAP;
    if (merge) imm |= VIDEO_MERGE;
    if (set) imm |= VIDEO_COMPARE(comparison(in));
    const uint32_t rows[3] = { source(d, a), source(d, b), in->n_operands > 3 ? source(d, &in->operands[3]) : decode_const(d, 0, 4) };
    return emit(d, in, (enum lane_id)rows_of[in->op], rows, imm);
}

enum status decode_vmad(struct decoder *d, const struct ptx_insn *in)
{
    const struct ptx_operand *a = &in->operands[1], *b = &in->operands[2], *c = &in->operands[3];
    if (!selects_one(a) || !selects_one(b)) return decode_unsupported(d, in, "this selector");
    const bool minus = a->negated != b->negated, sa = is_signed(in, 1), sb = is_signed(in, 2);
    uint64_t imm = VIDEO_A(part_of(a, sa)) | VIDEO_B(part_of(b, sb));
    if (ptx_insn_has(in, PTX_MOD_PO)) imm |= VIDEO_PLUS_ONE;
    if (ptx_insn_has(in, PTX_MOD_SAT)) imm |= VIDEO_SAT;
    if (ptx_insn_has(in, PTX_MOD_SHR7)) imm |= VIDEO_SCALE(7);
    if (ptx_insn_has(in, PTX_MOD_SHR15)) imm |= VIDEO_SCALE(15);
    if (minus) imm |= VIDEO_MINUS_PRODUCT;
    if (c->negated) imm |= VIDEO_MINUS_C;
    if (sa || sb || minus || c->negated) imm |= VIDEO_FINAL_SIGNED;
    const uint32_t rows[3] = { source(d, a), source(d, b), source(d, c) };
    return emit(d, in, LANE_vmad, rows, imm);
}

/* The digits of a selector of n elements, or those meant when there is none. */
static bool digits_of(const struct ptx_operand *o, unsigned n, unsigned otherwise, unsigned *digits)
{
    const unsigned selector = o->kind == PTX_OPERAND_REG ? o->component : PTX_SELECT_NONE;
    *digits = selector == PTX_SELECT_NONE ? otherwise : (unsigned)o->bits;
    return selector == PTX_SELECT_NONE || selector == (n == 2 ? PTX_SELECT_H2 : PTX_SELECT_B4);
}

/* Which elements of the destination are written: all of them when nothing is said. */
static bool mask_of(const struct ptx_operand *o, unsigned n, unsigned *mask)
{
    const unsigned selector = o->kind == PTX_OPERAND_REG ? o->component : PTX_SELECT_NONE;
    *mask = (1u << n) - 1;
    if (selector == PTX_SELECT_NONE) return true;
    if (n == 2 ? selector < PTX_SELECT_H1 : selector > PTX_SELECT_B4) return false;
    const unsigned digits = n == 2 ? selector - PTX_SELECT_H1 + 1 : selector - PTX_SELECT_B1 + 1;
    *mask = 0;
    for (unsigned k = 0; k < digits; k++) {
        const unsigned digit = (unsigned)(o->bits >> (4 * k)) & 15;
        if (digit >= n) return false;
        *mask |= 1u << digit;
    }
    return true;
}

static enum status simd(struct decoder *d, const struct ptx_insn *in, unsigned n)
{
    const bool set = in->op == PTX_OP_VSET2 || in->op == PTX_OP_VSET4;
    unsigned da, db, mask;
    if (!digits_of(&in->operands[1], n, n == 2 ? 0x10 : 0x3210, &da) || !digits_of(&in->operands[2], n, n == 2 ? 0x32 : 0x7654, &db) ||
        !mask_of(&in->operands[0], n, &mask))
        return decode_unsupported(d, in, "this selector");
    uint64_t imm = SIMD_A(da) | SIMD_B(db) | SIMD_MASK(mask);
    if (is_signed(in, set ? 0 : 1)) imm |= SIMD_A_SIGNED;
    if (is_signed(in, set ? 1 : 2)) imm |= SIMD_B_SIGNED;
    if (!set && is_signed(in, 0)) imm |= SIMD_D_SIGNED;
    if (ptx_insn_has(in, PTX_MOD_SAT)) imm |= SIMD_SAT;
    if (ptx_insn_has(in, PTX_MOD_ADD)) imm |= SIMD_ADD;
    if (set) imm |= SIMD_COMPARE(comparison(in));
    const uint32_t rows[3] = { source(d, &in->operands[1]), source(d, &in->operands[2]), source(d, &in->operands[3]) };
    return emit(d, in, (enum lane_id)rows_of[in->op], rows, imm);
}

enum status decode_video2(struct decoder *d, const struct ptx_insn *in) { return simd(d, in, 2); }
enum status decode_video4(struct decoder *d, const struct ptx_insn *in) { return simd(d, in, 4); }
