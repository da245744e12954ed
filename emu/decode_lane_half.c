/* Half precision: arithmetic through the rows of lane_half.def; functions through single precision. */
#include "emu/decode_lane.h"

static int half_index(enum ptx_type t) {
    switch (t) {
    case PTX_F16:    return 0;
    case PTX_F16X2:  return 1;
    case PTX_BF16:   return 2;
    case PTX_BF16X2: return 3;
    default:         return -1;
    }
}

bool lane_is_half(enum ptx_type t) { return half_index(t) >= 0; }

enum status lane_half_to_f32(struct decoder *d, const struct ptx_insn *in, const struct ptx_operand *o, enum ptx_type type, unsigned half,
                             bool ftz, uint32_t *row) {
    (void)in;
    static const uint16_t rows[4][2] = { { LANE_cvt_f32_f16, LANE_cvt_f32_f16 },   { LANE_cvt_f32_f16_low, LANE_cvt_f32_f16_high },
                                         { LANE_cvt_f32_bf16, LANE_cvt_f32_bf16 }, { LANE_cvt_f32_bf16_low, LANE_cvt_f32_bf16_high } };
    int index = half_index(type);
    unsigned width = index & 1 ? 4 : 2;
    uint32_t source = decode_source(d, o, type, width);
    if (ftz && index < 2) {                                /* subnormal halves; those of bf16 are subnormal floats */
        uint32_t flushed = decode_scratch(d, width);
        enum status st = lane_emit(d, index ? LANE_flush_f16x2 : LANE_flush_f16, flushed, source, 0, 0, 0);
        if (st != ST_OK) return st;
        source = flushed;
    }
    *row = decode_scratch(d, 4);
    enum status st = lane_emit(d, (enum lane_id)rows[index][half], *row, source, 0, 0, 0);
    if (st == ST_OK && ftz && index >= 2) st = lane_emit(d, LANE_cvt_f32_f32_ftz, *row, *row, 0, 0, 0);
    return st;
}

/* Flags for the rows of lane_half.def. False: a modifier that they do not have. */
static bool half_flags(const struct ptx_insn *in, uint64_t *flags) {
    static const struct { uint16_t mod; uint8_t flag; } known[] = {
        { PTX_MOD_RN, 0 }, { PTX_MOD_APPROX, 0 }, { PTX_MOD_FTZ, HALF_FTZ }, { PTX_MOD_SAT, HALF_SAT }, { PTX_MOD_RELU, HALF_RELU },
        { PTX_MOD_PROPNAN, HALF_NAN }, { PTX_MOD_OOB, HALF_OOB }, { PTX_MOD_XORSIGN, HALF_ABS }, { PTX_MOD_ABS, HALF_ABS } };
    *flags = 0;
    for (unsigned k = 0; k < in->n_mods; k++) {
        if (in->mods[k] < PTX_TYPE_COUNT) continue;
        unsigned i = 0, n = sizeof known / sizeof known[0];
        while (i < n && known[i].mod != in->mods[k]) i++;
        if (i == n) return false;
        *flags |= known[i].flag;
    }
    return true;
}

/* abs, neg: of the bits */
static enum status half_sign(struct decoder *d, const struct ptx_insn *in, int index, uint64_t flags) {
    bool packed = index & 1;
    unsigned width = packed ? 4 : 2;
    uint32_t source = decode_source(d, &in->operands[1], (enum ptx_type)in->types[0], width);
    if (flags & HALF_FTZ) {
        uint32_t flushed = decode_scratch(d, width);
        enum status st = lane_emit(d, packed ? LANE_flush_f16x2 : LANE_flush_f16, flushed, source, 0, 0, 0);
        if (st != ST_OK) return st;
        source = flushed;
    }
    uint32_t dest = decode_dest(d, &in->operands[0], width, false);
    enum lane_id id = in->op == PTX_OP_ABS ? packed ? LANE_abs_b16x2 : LANE_abs_b16 : packed ? LANE_neg_b16x2 : LANE_neg_b16;
    return lane_emit(d, id, dest, source, 0, 0, 0);
}

/* ex2, tanh: each half through the function of single precision, which is far more exact than the bound, then rounded. */
static enum status half_function(struct decoder *d, const struct ptx_insn *in, int index, enum lane_id function) {
    bool packed = index & 1, bf16 = index >= 2;
    uint32_t part[2] = { 0, 0 };
    for (unsigned half = 0; half < (packed ? 2u : 1u); half++) {
        enum status st = lane_half_to_f32(d, in, &in->operands[1], (enum ptx_type)in->types[0], half, false, &part[half]);
        if (st == ST_OK) st = lane_emit(d, function, part[half], part[half], 0, 0, 0);
        if (st != ST_OK) return st;
    }
    uint32_t dest = decode_dest(d, &in->operands[0], packed ? 4 : 2, false);
    if (packed) return lane_emit(d, bf16 ? LANE_cvt_bf16x2_f32 : LANE_cvt_f16x2_f32, dest, part[1], part[0], 0, 0);
    return lane_emit(d, bf16 ? LANE_cvt_bf16_f32 : LANE_cvt_f16_f32, dest, part[0], 0, 0, 0);
}

enum status lane_half_lower(struct decoder *d, const struct ptx_insn *in) {
    static const uint16_t rows[PTX_OP_COUNT] = { [PTX_OP_ADD] = LANE_add_f16, [PTX_OP_SUB] = LANE_sub_f16, [PTX_OP_MUL] = LANE_mul_f16,
                                                 [PTX_OP_FMA] = LANE_fma_f16, [PTX_OP_MIN] = LANE_min_f16, [PTX_OP_MAX] = LANE_max_f16 };
    int index = half_index((enum ptx_type)in->types[0]);
    uint64_t flags;
    if (!half_flags(in, &flags)) return decode_unsupported(d, in, "this modifier in half precision");
    if (in->op == PTX_OP_ABS || in->op == PTX_OP_NEG) return half_sign(d, in, index, flags);
    if (in->op == PTX_OP_EX2) return half_function(d, in, index, flags & HALF_FTZ ? LANE_ex2_f32_ftz : LANE_ex2_f32);
    if (in->op == PTX_OP_TANH) return half_function(d, in, index, LANE_tanh_f32);
    if (!rows[in->op] || in->n_operands > 4) return decode_unsupported(d, in, "this operation in half precision");
    return lane_lower(d, in, (enum lane_id)(rows[in->op] + index), flags);
}

/* add, sub, fma of .f32.f16 or .f32.bf16: every source but the last is a half. */
enum status lane_mixed_lower(struct decoder *d, const struct ptx_insn *in, const struct lane_rules *rules) {
    struct ptx_insn plain = *in;
    plain.n_types = 1;
    enum lane_id id;
    uint64_t imm;
    if (!lane_rule_find(rules, &plain, &id, &imm)) return decode_unsupported(d, in, "this form of the instruction");
    uint32_t source[3] = { 0 };
    unsigned n = in->n_operands - 1u;
    for (unsigned k = 0; k < n && k < 3; k++) {
        if (k + 1 == n) { source[k] = lane_source(d, &plain, id, k, &in->operands[k + 1]); break; }
        enum status st = lane_half_to_f32(d, in, &in->operands[k + 1], (enum ptx_type)in->types[1], 0, false, &source[k]);
        if (st != ST_OK) return st;
    }
    return lane_emit(d, id, lane_dest(d, id, &in->operands[0]), source[0], source[1], source[2], imm);
}
