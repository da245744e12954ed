/* Arithmetic, logic and shifts: instructions whose operands are the operands of a row of lane.def, in order. */
#include "emu/decode_lane.h"

static bool is_type(unsigned mod) { return mod < PTX_TYPE_COUNT; }     /* mods.def starts with the types */

static int rounding(unsigned mod) {
    switch (mod) {
    case PTX_MOD_RN: return LANE_ROUND_NEAREST;
    case PTX_MOD_RZ: return LANE_ROUND_ZERO;
    case PTX_MOD_RM: return LANE_ROUND_DOWN;
    case PTX_MOD_RP: return LANE_ROUND_UP;
    default: return -1;
    }
}

/* Whether the rule answers for the modifier; *step and *imm take its effect. */
static bool rule_takes(const struct lane_rule *r, unsigned mod, unsigned *step, uint64_t *imm) {
    if (is_type(mod)) return true;
    for (unsigned k = 0; k < 3; k++) if (r->need[k] == mod) return true;
    if (r->may & MAY_ANY) return true;
    if (mod == PTX_MOD_FTZ && r->may & MAY_FTZ) { *step += 1; return true; }
    if (mod == PTX_MOD_PROPNAN && r->may & MAY_NAN) { *step += r->may & MAY_FTZ ? 2 : 1; return true; }
    if (mod == PTX_MOD_SAT && r->may & MAY_SAT) { *step += r->may & MAY_ROUND ? 4 : r->may & MAY_FTZ ? 2 : 1; return true; }
    if (mod == PTX_MOD_RN && r->may & (MAY_RN | MAY_ROUND)) return true;
    if (rounding(mod) > 0 && r->may & MAY_ROUND) {
        *step += r->may & MAY_FTZ ? 2 : 1;
        *imm |= (uint64_t)rounding(mod);
        return true;
    }
    return false;
}

const struct lane_rule *lane_rule_find(const struct lane_rules *rules, const struct ptx_insn *in, enum lane_id *id, uint64_t *imm) {
    type_set first = in->n_types > 0 ? (type_set)1 << in->types[0] : 0, second = in->n_types > 1 ? (type_set)1 << in->types[1] : 0;
    for (const struct lane_rule *r = rules->rule; r < rules->rule + rules->n; r++) {
        if (!(r->types & first) || (r->second ? !(r->second & second) : second != 0)) continue;
        bool fits = true;
        for (unsigned k = 0; k < 3 && fits; k++) fits = r->need[k] == 0 || ptx_insn_has(in, (enum ptx_mod)r->need[k]);
        unsigned step = 0;
        uint64_t value = r->imm;
        for (unsigned k = 0; k < in->n_mods && fits; k++) fits = rule_takes(r, in->mods[k], &step, &value);
        if (!fits) continue;
        *id = (enum lane_id)(r->lane + step);
        *imm = value;
        return r;
    }
    return NULL;
}

static const struct { uint8_t width, ptx; bool is_signed, is_float; } lane_types[] = {
    [LANE_TYPE_U8]  = { 2, PTX_U8,  false, false }, [LANE_TYPE_S8]  = { 2, PTX_S8,  true, false },
    [LANE_TYPE_U16] = { 2, PTX_U16, false, false }, [LANE_TYPE_S16] = { 2, PTX_S16, true, false },
    [LANE_TYPE_U32] = { 4, PTX_U32, false, false }, [LANE_TYPE_S32] = { 4, PTX_S32, true, false },
    [LANE_TYPE_U64] = { 8, PTX_U64, false, false }, [LANE_TYPE_S64] = { 8, PTX_S64, true, false },
    [LANE_TYPE_F32] = { 4, PTX_F32, false, true },  [LANE_TYPE_F64] = { 8, PTX_F64, false, true },
    [LANE_TYPE_P]   = { 0, PTX_PRED, false, false } };

static unsigned shape_source(enum lane_id id, unsigned k) {
    const struct lane_shape *s = lane_shape(id);
    switch (k) {
    case 0: return s->a;
    case 1: return s->b;
    case 2: return s->c;
    default: return s->e;
    }
}

uint32_t lane_source(struct decoder *d, const struct ptx_insn *in, enum lane_id id, unsigned k, const struct ptx_operand *o) {
    unsigned t = shape_source(id, k);
    if (t == LANE_TYPE_P) return decode_pred(d, o);
    enum ptx_type type = (enum ptx_type)lane_types[t].ptx, last = in->n_types ? (enum ptx_type)in->types[in->n_types - 1] : type;
    /* rows that move bits (selp, copysign) leave it to the instruction how a float literal is meant */
    if (!lane_types[t].is_float && decode_type_width(last) == lane_types[t].width) type = last;
    return decode_source(d, o, type, lane_types[t].width);
}

uint32_t lane_dest(struct decoder *d, enum lane_id id, const struct ptx_operand *o) {
    unsigned t = lane_shape(id)->d;
    return t == LANE_TYPE_P ? decode_dest_pred(d, o) : decode_dest(d, o, lane_types[t].width, lane_types[t].is_signed);
}

enum status lane_emit(struct decoder *d, enum lane_id id, uint32_t dest, uint32_t a, uint32_t b, uint32_t c, uint64_t imm) {
    struct lane_pair h = lane_handlers(id);
    struct insn *r = decode_emit(d, h.full, h.masked);
    if (!r) return ST_OUT_OF_MEMORY;
    r->d = dest;
    r->a = a;
    r->b = b;
    r->c = c;
    r->imm = imm;
    return ST_OK;
}

enum status lane_lower(struct decoder *d, const struct ptx_insn *in, enum lane_id id, uint64_t imm) {
    uint32_t source[4] = { 0 };
    for (unsigned k = 0; k < 4 && shape_source(id, k); k++) {
        if (k + 1 >= in->n_operands) return decode_unsupported(d, in, "too few operands");
        source[k] = lane_source(d, in, id, k, &in->operands[k + 1]);
    }
    uint32_t dest = lane_dest(d, id, &in->operands[0]);
    struct lane_pair h = lane_handlers(id);
    struct insn *r = decode_emit(d, h.full, h.masked);
    if (!r) return ST_OUT_OF_MEMORY;
    r->d = dest;
    r->a = source[0];
    r->b = source[1];
    r->c = source[2];
    r->extra = source[3];
    r->imm = imm;
    return ST_OK;
}

/* ---- the rules ---------------------------------------------------------------------------------------------------- */

#define I16 (TYPES(U16) | TYPES(S16) | TYPES(B16))
#define I32 (TYPES(U32) | TYPES(S32) | TYPES(B32))
#define I64 (TYPES(U64) | TYPES(S64) | TYPES(B64))
#define R(types, lane) { types, 0, { 0 }, LANE_##lane, 0, 0 }
#define RM(types, mod, lane) { types, 0, { PTX_MOD_##mod }, LANE_##lane, 0, 0 }                  /* with a modifier */
#define RM2(types, mod, mod2, lane) { types, 0, { PTX_MOD_##mod, PTX_MOD_##mod2 }, LANE_##lane, 0, 0 }
#define RF(types, lane, may) { types, 0, { 0 }, LANE_##lane, may, 0 }                             /* a family */
#define RMF(types, mod, lane, may) { types, 0, { PTX_MOD_##mod }, LANE_##lane, may, 0 }
#define SIX(op) R(TYPES(U16), op##_u16), R(TYPES(U32), op##_u32), R(TYPES(U64), op##_u64),                                      \
                R(TYPES(S16), op##_s16), R(TYPES(S32), op##_s32), R(TYPES(S64), op##_s64)
#define SIX_MOD(mod, op) RM(TYPES(U16), mod, op##_u16), RM(TYPES(U32), mod, op##_u32), RM(TYPES(U64), mod, op##_u64),           \
                         RM(TYPES(S16), mod, op##_s16), RM(TYPES(S32), mod, op##_s32), RM(TYPES(S64), mod, op##_s64)
#define THREE(op) R(I16, op##_b16), R(I32, op##_b32), R(I64, op##_b64)
#define FLOAT_OP(op) RF(TYPES(F32X2), op##_f32x2, MAY_FTZ | MAY_ROUND), RF(TYPES(F32), op##_f32, MAY_FTZ | MAY_ROUND | MAY_SAT),    \
                     RF(TYPES(F64), op##_f64, MAY_ROUND)
#define FLOAT_NOSAT(op) RF(TYPES(F32), op##_f32, MAY_FTZ | MAY_ROUND), RF(TYPES(F64), op##_f64, MAY_ROUND)

/* with carry: _IN for addc and its like, _OUT for .cc */
#define CARRY(types, mod, mod2, lane, io) { types, 0, { mod, mod2 }, LANE_##lane, 0, io }
#define CARRY_OUT(op, mod)                                                                                                      \
    CARRY(I32, PTX_MOD_CC, mod, op##_carry_u32, LANE_CARRY_OUT), CARRY(I64, PTX_MOD_CC, mod, op##_carry_u64, LANE_CARRY_OUT)
#define CARRY_IN(op, mod)                                                                                                       \
    CARRY(I32, 0, mod, op##_carry_u32, LANE_CARRY_IN), CARRY(I64, 0, mod, op##_carry_u64, LANE_CARRY_IN),                       \
    CARRY(I32, PTX_MOD_CC, mod, op##_carry_u32, LANE_CARRY_IN | LANE_CARRY_OUT),                                                \
    CARRY(I64, PTX_MOD_CC, mod, op##_carry_u64, LANE_CARRY_IN | LANE_CARRY_OUT)
#define CARRY_HI(cc, io)                                                                                                        \
    CARRY(TYPES(U32), cc, PTX_MOD_HI, mad_hi_carry_u32, io), CARRY(TYPES(S32), cc, PTX_MOD_HI, mad_hi_carry_s32, io),           \
    CARRY(TYPES(U64), cc, PTX_MOD_HI, mad_hi_carry_u64, io), CARRY(TYPES(S64), cc, PTX_MOD_HI, mad_hi_carry_s64, io)

static const struct lane_rule add[] = {
    CARRY_OUT(add, 0),
    R(I16, add_u16), R(I32, add_u32), R(I64, add_u64), RM(TYPES(S32), SAT, add_sat_s32), R(TYPES(U16X2) | TYPES(S16X2), add_u16x2),
    FLOAT_OP(add) };
static const struct lane_rule sub[] = {
    CARRY_OUT(sub, 0),
    R(I16, sub_u16), R(I32, sub_u32), R(I64, sub_u64), RM(TYPES(S32), SAT, sub_sat_s32), FLOAT_OP(sub) };
static const struct lane_rule mul[] = {
    RM(I16, LO, mul_lo_u16), RM(I32, LO, mul_lo_u32), RM(I64, LO, mul_lo_u64), SIX_MOD(HI, mul_hi),
    RM(TYPES(U16), WIDE, mul_wide_u16), RM(TYPES(S16), WIDE, mul_wide_s16), RM(TYPES(U32), WIDE, mul_wide_u32),
    RM(TYPES(S32), WIDE, mul_wide_s32), FLOAT_OP(mul) };
static const struct lane_rule addc[] = { CARRY_IN(add, 0) };
static const struct lane_rule subc[] = { CARRY_IN(sub, 0) };
static const struct lane_rule madc[] = {
    CARRY_IN(mad_lo, PTX_MOD_LO), CARRY_HI(0, LANE_CARRY_IN), CARRY_HI(PTX_MOD_CC, LANE_CARRY_IN | LANE_CARRY_OUT) };
static const struct lane_rule mad[] = {
    CARRY_OUT(mad_lo, PTX_MOD_LO), CARRY_HI(PTX_MOD_CC, LANE_CARRY_OUT),
    RM(I16, LO, mad_lo_u16), RM(I32, LO, mad_lo_u32), RM(I64, LO, mad_lo_u64), SIX_MOD(HI, mad_hi),
    RM2(TYPES(S32), HI, SAT, mad_hi_sat_s32),
    RM(TYPES(U16), WIDE, mad_wide_u16), RM(TYPES(S16), WIDE, mad_wide_s16), RM(TYPES(U32), WIDE, mad_wide_u32),
    RM(TYPES(S32), WIDE, mad_wide_s32), FLOAT_OP(fma) };
static const struct lane_rule mul24[] = {
    RM(TYPES(U32), LO, mul24_lo_u32), RM(TYPES(U32), HI, mul24_hi_u32), RM(TYPES(S32), LO, mul24_lo_s32), RM(TYPES(S32), HI, mul24_hi_s32) };
static const struct lane_rule mad24[] = {
    RM(TYPES(U32), LO, mad24_lo_u32), RM(TYPES(U32), HI, mad24_hi_u32), RM(TYPES(S32), LO, mad24_lo_s32),
    RM(TYPES(S32), HI, mad24_hi_s32), RM2(TYPES(S32), HI, SAT, mad24_hi_sat_s32) };
static const struct lane_rule sad[] = { SIX(sad) };
static const struct lane_rule div_[] = {
    SIX(div), RMF(TYPES(F32), APPROX, div_approx_f32, MAY_FTZ), RMF(TYPES(F32), FULL, div_full_f32, MAY_FTZ), FLOAT_NOSAT(div) };
static const struct lane_rule rem_[] = { SIX(rem) };
static const struct lane_rule abs_[] = {
    R(TYPES(S16), abs_s16), R(TYPES(S32), abs_s32), R(TYPES(S64), abs_s64), RF(TYPES(F32), abs_f32, MAY_FTZ), R(TYPES(F64), abs_f64) };
static const struct lane_rule neg[] = {
    R(TYPES(S16), neg_s16), R(TYPES(S32), neg_s32), R(TYPES(S64), neg_s64), RF(TYPES(F32), neg_f32, MAY_FTZ), R(TYPES(F64), neg_f64) };
#define MIN_MAX(op)                                                                                                             \
    SIX(op), RM(TYPES(S32), RELU, op##_relu_s32), R(TYPES(U16X2), op##_u16x2), R(TYPES(S16X2), op##_s16x2),                     \
    RM(TYPES(S16X2), RELU, op##_relu_s16x2), RF(TYPES(F32), op##_f32, MAY_FTZ | MAY_NAN),                                       \
    { TYPES(F32), 0, { PTX_MOD_XORSIGN, PTX_MOD_ABS }, LANE_##op##_xorsign_f32, MAY_FTZ | MAY_NAN, 0 }, R(TYPES(F64), op##_f64)
static const struct lane_rule min[] = { MIN_MAX(min) };
static const struct lane_rule max[] = { MIN_MAX(max) };
static const struct lane_rule min3[] = { RF(TYPES(F32), min3_f32, MAY_FTZ | MAY_NAN), RMF(TYPES(F32), ABS, min3_abs_f32, MAY_FTZ | MAY_NAN) };
static const struct lane_rule max3[] = { RF(TYPES(F32), max3_f32, MAY_FTZ | MAY_NAN), RMF(TYPES(F32), ABS, max3_abs_f32, MAY_FTZ | MAY_NAN) };
#define DOT(op, t, u, T, U) { TYPES(T), TYPES(U), { 0 }, LANE_##op##_##t##_##u, 0, 0 }
#define DOT_MOD(op, mod, t, u, T, U) { TYPES(T), TYPES(U), { PTX_MOD_##mod }, LANE_##op##_##t##_##u, 0, 0 }
static const struct lane_rule dp4a[] = {
    DOT(dp4a, u32, u32, U32, U32), DOT(dp4a, u32, s32, U32, S32), DOT(dp4a, s32, u32, S32, U32), DOT(dp4a, s32, s32, S32, S32) };
static const struct lane_rule dp2a[] = {
    DOT_MOD(dp2a_lo, LO, u32, u32, U32, U32), DOT_MOD(dp2a_lo, LO, u32, s32, U32, S32), DOT_MOD(dp2a_lo, LO, s32, u32, S32, U32),
    DOT_MOD(dp2a_lo, LO, s32, s32, S32, S32), DOT_MOD(dp2a_hi, HI, u32, u32, U32, U32), DOT_MOD(dp2a_hi, HI, u32, s32, U32, S32),
    DOT_MOD(dp2a_hi, HI, s32, u32, S32, U32), DOT_MOD(dp2a_hi, HI, s32, s32, S32, S32) };
static const struct lane_rule and_[] = { THREE(and), R(TYPES(PRED), and_pred) };
static const struct lane_rule or_[] = { THREE(or), R(TYPES(PRED), or_pred) };
static const struct lane_rule xor_[] = { THREE(xor), R(TYPES(PRED), xor_pred) };
static const struct lane_rule not_[] = { THREE(not), R(TYPES(PRED), not_pred) };
static const struct lane_rule cnot[] = { THREE(cnot) };
static const struct lane_rule shl[] = { THREE(shl) };
static const struct lane_rule shr[] = {
    R(TYPES(U16) | TYPES(B16), shr_u16), R(TYPES(U32) | TYPES(B32), shr_u32), R(TYPES(U64) | TYPES(B64), shr_u64),
    R(TYPES(S16), shr_s16), R(TYPES(S32), shr_s32), R(TYPES(S64), shr_s64) };
static const struct lane_rule shf[] = {
    RM2(TYPES(B32), L, CLAMP, shf_l_clamp), RM2(TYPES(B32), R, CLAMP, shf_r_clamp),
    RM2(TYPES(B32), L, WRAP, shf_l_wrap), RM2(TYPES(B32), R, WRAP, shf_r_wrap) };
static const struct lane_rule popc[] = { R(TYPES(B32), popc_b32), R(TYPES(B64), popc_b64) };
static const struct lane_rule clz[] = { R(TYPES(B32), clz_b32), R(TYPES(B64), clz_b64) };
static const struct lane_rule bfind[] = {
    R(TYPES(U32), bfind_u32), R(TYPES(U64), bfind_u64), R(TYPES(S32), bfind_s32), R(TYPES(S64), bfind_s64),
    RM(TYPES(U32), SHIFTAMT, bfind_shiftamt_u32), RM(TYPES(U64), SHIFTAMT, bfind_shiftamt_u64),
    RM(TYPES(S32), SHIFTAMT, bfind_shiftamt_s32), RM(TYPES(S64), SHIFTAMT, bfind_shiftamt_s64) };
static const struct lane_rule fns[] = { R(TYPES(B32), fns_b32) };
static const struct lane_rule brev[] = { R(TYPES(B32), brev_b32), R(TYPES(B64), brev_b64) };
static const struct lane_rule bfe[] = { R(TYPES(U32), bfe_u32), R(TYPES(U64), bfe_u64), R(TYPES(S32), bfe_s32), R(TYPES(S64), bfe_s64) };
static const struct lane_rule bfi[] = { R(TYPES(B32), bfi_b32), R(TYPES(B64), bfi_b64) };
static const struct lane_rule bmsk[] = { RM(TYPES(B32), CLAMP, bmsk_clamp), RM(TYPES(B32), WRAP, bmsk_wrap) };
static const struct lane_rule szext[] = {
    RM(TYPES(U32), CLAMP, szext_clamp_u32), RM(TYPES(S32), CLAMP, szext_clamp_s32),
    RM(TYPES(U32), WRAP, szext_wrap_u32), RM(TYPES(S32), WRAP, szext_wrap_s32) };
/* prmt modes: the selectors for c & 3 = 3, 2, 1, 0, four nibbles each */
#define PRMT(mod, selectors) { TYPES(B32), 0, { PTX_MOD_##mod }, LANE_prmt_mode_b32, 0, selectors }
static const struct lane_rule prmt[] = {
    R(TYPES(B32), prmt_b32),
    PRMT(F4E, 0x6543543243213210u), PRMT(B4E, 0x0123701267015670u), PRMT(RC8, 0x3333222211110000u),
    PRMT(ECL, 0x3333322232113210u), PRMT(ECR, 0x3210221011100000u), PRMT(RC16, 0x3232101032321010u) };
static const struct lane_rule fma_[] = { FLOAT_OP(fma) };
#define APPROX(op) RMF(TYPES(F32), APPROX, op##_f32, MAY_FTZ), RF(TYPES(F32), op##_f32, MAY_FTZ)
static const struct lane_rule ex2[] = { APPROX(ex2) };
static const struct lane_rule lg2[] = { APPROX(lg2) };
static const struct lane_rule sin_[] = { APPROX(sin) };
static const struct lane_rule cos_[] = { APPROX(cos) };
static const struct lane_rule tanh_[] = { RM(TYPES(F32), APPROX, tanh_f32) };
static const struct lane_rule rsqrt[] = {
    APPROX(rsqrt), RMF(TYPES(F64), APPROX, rsqrt_approx_f64, MAY_FTZ), RF(TYPES(F64), rsqrt_approx_f64, MAY_FTZ) };
static const struct lane_rule rcp[] = {
    RMF(TYPES(F32), APPROX, rcp_approx_f32, MAY_FTZ), RM2(TYPES(F64), APPROX, FTZ, rcp_approx_f64_ftz), FLOAT_NOSAT(rcp) };
static const struct lane_rule sqrt_[] = { RMF(TYPES(F32), APPROX, sqrt_approx_f32, MAY_FTZ), FLOAT_NOSAT(sqrt) };
static const struct lane_rule testp[] = {
#define TESTP(mod, op) RM(TYPES(F32), mod, testp_##op##_f32), RM(TYPES(F64), mod, testp_##op##_f64)
    TESTP(FINITE, finite), TESTP(INFINITE, infinite), TESTP(NUMBER, number), TESTP(NOTANUMBER, notanumber), TESTP(NORMAL, normal),
    TESTP(SUBNORMAL, subnormal) };
static const struct lane_rule copysign_[] = { R(TYPES(F32), copysign_f32), R(TYPES(F64), copysign_f64) };
#define BITS32 (I32 | TYPES(F32))
#define BITS64 (I64 | TYPES(F64))
static const struct lane_rule selp[] = { R(I16, selp_b16), R(BITS32, selp_b32), R(BITS64, selp_b64) };
#define SLCT(types, mod, type2, lane) { types, TYPES(type2), { mod }, LANE_##lane, 0, 0 }
static const struct lane_rule slct[] = {
    SLCT(I16, 0, S32, slct_b16_s32), SLCT(BITS32, 0, S32, slct_b32_s32), SLCT(BITS64, 0, S32, slct_b64_s32),
    SLCT(I16, 0, F32, slct_b16_f32), SLCT(BITS32, 0, F32, slct_b32_f32), SLCT(BITS64, 0, F32, slct_b64_f32),
    SLCT(I16, PTX_MOD_FTZ, F32, slct_ftz_b16_f32), SLCT(BITS32, PTX_MOD_FTZ, F32, slct_ftz_b32_f32),
    SLCT(BITS64, PTX_MOD_FTZ, F32, slct_ftz_b64_f32) };

static const struct lane_rules rules_of[PTX_OP_COUNT] = {
    [PTX_OP_ADD] = RULES(add), [PTX_OP_SUB] = RULES(sub), [PTX_OP_MUL] = RULES(mul), [PTX_OP_MAD] = RULES(mad), [PTX_OP_ADDC] = RULES(addc),
    [PTX_OP_SUBC] = RULES(subc), [PTX_OP_MADC] = RULES(madc), [PTX_OP_MUL24] = RULES(mul24), [PTX_OP_MAD24] = RULES(mad24),
    [PTX_OP_SAD] = RULES(sad), [PTX_OP_DIV] = RULES(div_), [PTX_OP_REM] = RULES(rem_), [PTX_OP_ABS] = RULES(abs_),
    [PTX_OP_NEG] = RULES(neg), [PTX_OP_MIN] = RULES(min), [PTX_OP_MAX] = RULES(max), [PTX_OP_DP4A] = RULES(dp4a),
    [PTX_OP_DP2A] = RULES(dp2a), [PTX_OP_AND] = RULES(and_), [PTX_OP_OR] = RULES(or_), [PTX_OP_XOR] = RULES(xor_),
    [PTX_OP_NOT] = RULES(not_), [PTX_OP_CNOT] = RULES(cnot), [PTX_OP_SHL] = RULES(shl), [PTX_OP_SHR] = RULES(shr),
    [PTX_OP_SHF] = RULES(shf), [PTX_OP_POPC] = RULES(popc), [PTX_OP_CLZ] = RULES(clz), [PTX_OP_BFIND] = RULES(bfind),
    [PTX_OP_FNS] = RULES(fns), [PTX_OP_BREV] = RULES(brev), [PTX_OP_BFE] = RULES(bfe), [PTX_OP_BFI] = RULES(bfi),
    [PTX_OP_BMSK] = RULES(bmsk), [PTX_OP_SZEXT] = RULES(szext), [PTX_OP_PRMT] = RULES(prmt), [PTX_OP_FMA] = RULES(fma_),
    [PTX_OP_RCP] = RULES(rcp), [PTX_OP_SQRT] = RULES(sqrt_), [PTX_OP_EX2] = RULES(ex2), [PTX_OP_LG2] = RULES(lg2),
    [PTX_OP_SIN] = RULES(sin_), [PTX_OP_COS] = RULES(cos_), [PTX_OP_TANH] = RULES(tanh_), [PTX_OP_RSQRT] = RULES(rsqrt),
    [PTX_OP_TESTP] = RULES(testp), [PTX_OP_COPYSIGN] = RULES(copysign_), [PTX_OP_SELP] = RULES(selp), [PTX_OP_SLCT] = RULES(slct) };

enum status decode_lane(struct decoder *d, const struct ptx_insn *in) {
    static const struct lane_rules three[] = { RULES(min3), RULES(max3) };
    const struct lane_rules *rules = &rules_of[in->op];
    if (in->n_operands == 4 && in->op == PTX_OP_MIN) rules = &three[0];
    if (in->n_operands == 4 && in->op == PTX_OP_MAX) rules = &three[1];
    if (in->n_types == 1 && lane_is_half((enum ptx_type)in->types[0])) return lane_half_lower(d, in);
    if (in->n_types == 2 && in->types[0] == PTX_F32 && lane_is_half((enum ptx_type)in->types[1])) return lane_mixed_lower(d, in, rules);
    enum lane_id id;
    uint64_t imm;
    if (!lane_rule_find(rules, in, &id, &imm)) return decode_unsupported(d, in, "this form of the instruction");
    return lane_lower(d, in, id, imm);
}
