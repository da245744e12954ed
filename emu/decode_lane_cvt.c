/* cvt: one record where a row does it, otherwise a chain over scratch rows. Every step but the last is exact, or rounds to an integer as the
 * instruction says, so that the chain rounds once. */
#include "emu/decode_lane.h"

static const uint8_t round_step[] = { [LANE_ROUND_NEAREST] = 0, [LANE_ROUND_ZERO] = 1, [LANE_ROUND_DOWN] = 2, [LANE_ROUND_UP] = 3 };

struct cvt {                                   /* one conversion under way */
    struct decoder *d;
    const struct ptx_insn *in;
    enum ptx_type to, from;
    bool ftz, sat;
    int round, to_integral;                    /* enum lane_round, or -1: not said */
};

/* The value as it goes along the chain. */
struct value { enum ptx_type type; uint32_t row; };

static int integral_of(const struct ptx_insn *in) {
    if (ptx_insn_has(in, PTX_MOD_RNI)) return LANE_ROUND_NEAREST;
    if (ptx_insn_has(in, PTX_MOD_RZI)) return LANE_ROUND_ZERO;
    if (ptx_insn_has(in, PTX_MOD_RMI)) return LANE_ROUND_DOWN;
    return ptx_insn_has(in, PTX_MOD_RPI) ? LANE_ROUND_UP : -1;
}

static int round_of(const struct ptx_insn *in) {
    if (ptx_insn_has(in, PTX_MOD_RZ)) return LANE_ROUND_ZERO;
    if (ptx_insn_has(in, PTX_MOD_RM)) return LANE_ROUND_DOWN;
    if (ptx_insn_has(in, PTX_MOD_RP)) return LANE_ROUND_UP;
    return ptx_insn_has(in, PTX_MOD_RN) ? LANE_ROUND_NEAREST : -1;
}

static unsigned row_width(enum ptx_type t) { return decode_type_width(t); }
static bool is_float(enum ptx_type t) { return ptx_type_kind(t) == PTX_KIND_FLOAT; }
static bool is_signed(enum ptx_type t) { return ptx_type_kind(t) == PTX_KIND_SIGNED; }

/* Where the step writes: the instruction's destination when it is the last. */
static uint32_t step_dest(const struct cvt *c, enum ptx_type type, bool last) {
    return last ? decode_dest(c->d, &c->in->operands[0], row_width(type), is_signed(type)) : decode_scratch(c->d, row_width(type));
}

static enum status step(const struct cvt *c, struct value *v, enum lane_id id, enum ptx_type type, bool last, uint64_t imm) {
    uint32_t dest = step_dest(c, type, last);
    enum status st = lane_emit(c->d, id, dest, v->row, 0, 0, imm);
    *v = (struct value){ type, dest };
    return st;
}

/* Index of an integer type among the rows that go by it: u8 s8 u16 s16 u32 s32 u64 s64. */
static unsigned int_index(enum ptx_type t) {
    unsigned width = ptx_type_bytes(t), log = width == 1 ? 0 : width == 2 ? 1 : width == 4 ? 2 : 3;
    return 2 * log + (is_signed(t) ? 1 : 0);
}

/* The row between integers without saturation. From 64 bits the sign does not matter, nor to 16 bits and more. */
static enum lane_id int_row(enum ptx_type to, enum ptx_type from) {
    static const uint16_t first[] = { LANE_cvt_u8_u8, LANE_cvt_s8_u8, LANE_cvt_u16_u8, LANE_cvt_u16_u8, LANE_cvt_u32_u8, LANE_cvt_u32_u8,
                                      LANE_cvt_u64_u8, LANE_cvt_u64_u8 };
    unsigned k = int_index(from);
    return (enum lane_id)(first[int_index(to)] + (k > 6 ? 6 : k));
}

static enum status int_to_int(const struct cvt *c, struct value v) {
    if (!c->sat) return step(c, &v, int_row(c->to, v.type), c->to, true, 0);
    static const uint16_t sat[] = { LANE_sat_u8_s64, LANE_sat_s8_s64, LANE_sat_u16_s64, LANE_sat_s16_s64, LANE_sat_u32_s64, LANE_sat_s32_s64,
                                    0, LANE_sat_s64_s64 };
    bool sign = is_signed(v.type);
    if (c->to == PTX_U64 && !sign) return step(c, &v, int_row(PTX_U64, v.type), c->to, true, 0);
    enum status st = step(c, &v, int_row(PTX_U64, v.type), sign ? PTX_S64 : PTX_U64, false, 0);
    if (st != ST_OK) return st;
    if (c->to == PTX_U64) return step(c, &v, LANE_sat_u64_s64, c->to, true, 0);
    return step(c, &v, (enum lane_id)(sat[int_index(c->to)] + (sign ? 0 : 1)), c->to, true, 0);
}

static enum status float_to_int(const struct cvt *c, struct value v) {
    static const uint16_t to32[] = { LANE_cvt_u8_f32, LANE_cvt_s8_f32, LANE_cvt_u16_f32, LANE_cvt_s16_f32, LANE_cvt_u32_f32, LANE_cvt_s32_f32,
                                     LANE_cvt_u64_f32, LANE_cvt_s64_f32 };
    enum status st = ST_OK;
    bool wide = v.type == PTX_F64;
    if (c->to_integral >= 0 && (c->to_integral != LANE_ROUND_ZERO)) {
        unsigned k = round_step[c->to_integral];
        st = step(c, &v, (enum lane_id)(wide ? LANE_round_rni_f64 + k : LANE_round_rni_f32 + 2 * k + (c->ftz ? 1u : 0u)), v.type, false, 0);
    }
    if (st != ST_OK) return st;
    return step(c, &v, (enum lane_id)(to32[int_index(c->to)] + (wide ? LANE_cvt_u8_f64 - LANE_cvt_u8_f32 : 0)), c->to, true, 0);
}

static enum status int_to_float(const struct cvt *c, struct value v) {
    static const uint16_t f32[] = { LANE_cvt_f32_u8, LANE_cvt_f32_s8, LANE_cvt_f32_u16, LANE_cvt_f32_s16, LANE_cvt_f32_u32, LANE_cvt_f32_s32,
                                    LANE_cvt_f32_u64, LANE_cvt_f32_s64 };
    static const uint16_t f64[] = { LANE_cvt_f64_u8, LANE_cvt_f64_s8, LANE_cvt_f64_u16, LANE_cvt_f64_s16, LANE_cvt_f64_u32, LANE_cvt_f64_s32,
                                    LANE_cvt_f64_u64, LANE_cvt_f64_s64 };
    unsigned k = int_index(v.type);
    unsigned row = c->to == PTX_F64 ? f64[k] : f32[k];
    bool inexact = k >= (c->to == PTX_F64 ? 6 : 4);
    if (c->round > 0 && inexact) row++;                    /* ROUNDED */
    enum status st = step(c, &v, (enum lane_id)row, c->to, !c->sat, c->round > 0 ? (uint64_t)c->round : 0);
    if (st == ST_OK && c->sat) st = step(c, &v, c->to == PTX_F64 ? LANE_sat_f64 : LANE_sat_f32, c->to, true, 0);
    return st;
}

static enum status float_to_float(const struct cvt *c, struct value v) {
    enum status st = ST_OK;
    unsigned ftz = c->ftz ? 1 : 0;
    if (c->to_integral >= 0) {
        unsigned k = round_step[c->to_integral];
        bool last = v.type == c->to && !c->sat;
        st = step(c, &v, (enum lane_id)(v.type == PTX_F64 ? LANE_round_rni_f64 + k : LANE_round_rni_f32 + 2 * k + ftz), v.type, last, 0);
        if (st != ST_OK || last) return st;
    }
    if (v.type != c->to || (!c->sat && c->to_integral < 0)) {
        bool last = !c->sat;
        unsigned row;
        if (c->to == PTX_F64) row = v.type == PTX_F64 ? LANE_cvt_f64_f64 : LANE_cvt_f64_f32 + ftz;
        else if (v.type == PTX_F32) row = LANE_cvt_f32_f32 + ftz;
        else row = LANE_cvt_f32_f64 + ftz + (c->round > 0 ? 2u : 0u);
        st = step(c, &v, (enum lane_id)row, c->to, last, c->round > 0 ? (uint64_t)c->round : 0);
        if (st != ST_OK || last) return st;
    }
    return step(c, &v, (enum lane_id)(c->to == PTX_F64 ? LANE_sat_f64 : LANE_sat_f32 + ftz), c->to, true, 0);
}

/* To and from integers, f32 and f64. Sources of half precision become floats first, which is exact. */
enum status decode_lane_cvt(struct decoder *d, const struct ptx_insn *in) {
    struct cvt c = { .d = d, .in = in, .to = (enum ptx_type)in->types[0], .from = (enum ptx_type)in->types[1],
                     .ftz = ptx_insn_has(in, PTX_MOD_FTZ), .sat = ptx_insn_has(in, PTX_MOD_SAT),
                     .round = round_of(in), .to_integral = integral_of(in) };
    bool plain_to = !is_float(c.to) || c.to == PTX_F32 || c.to == PTX_F64;
    bool plain_from = !is_float(c.from) || c.from == PTX_F32 || c.from == PTX_F64 || c.from == PTX_F16 || c.from == PTX_BF16;
    if (!plain_to || !plain_from || ptx_insn_has(in, PTX_MOD_PACK)) return lane_small_lower(d, in);
    struct value v = { c.from, 0 };
    if (c.from == PTX_F16 || c.from == PTX_BF16) {
        v.type = PTX_F32;
        enum status st = lane_half_to_f32(d, in, &in->operands[1], c.from, 0, false, &v.row);
        if (st != ST_OK) return st;
    } else v.row = decode_source(d, &in->operands[1], c.from, row_width(c.from));
    if (is_float(c.to)) return is_float(c.from) ? float_to_float(&c, v) : int_to_float(&c, v);
    return is_float(c.from) ? float_to_int(&c, v) : int_to_int(&c, v);
}
