/* cvt to or from formats smaller than single precision: f16, bf16, tf32, fp8, fp6, fp4, ue8m0, and cvt.pack. Common cases have a row; the others go
 * through doubles, which hold every source exactly (64-bit integers rounded to odd), and are rounded once, by small16_f64 or small32_f64. */
#include "emu/decode_lane.h"
#include "emu/lane_small.h"

struct format_row { uint8_t packed, single; uint64_t format; uint8_t bits; };  /* type of a pair, of one; bits of one */
static const struct format_row formats[] = {
    { PTX_F16X2,  PTX_F16,  SMALL_F16,  16 }, { PTX_BF16X2, PTX_BF16, SMALL_BF16, 16 }, { PTX_E4M3X2, PTX_E4M3, SMALL_E4M3, 8 },
    { PTX_E5M2X2, PTX_E5M2, SMALL_E5M2, 8 },  { PTX_E3M2X2, PTX_E3M2, SMALL_E3M2, 8 },  { PTX_E2M3X2, PTX_E2M3, SMALL_E2M3, 8 },
    { PTX_E2M1X2, PTX_E2M1, SMALL_E2M1, 4 } };

static const struct format_row *format_find(enum ptx_type t) {
    for (unsigned k = 0; k < sizeof formats / sizeof formats[0]; k++)
        if (formats[k].packed == t || formats[k].single == t) return &formats[k];
    return NULL;
}

static uint64_t small_flags(const struct ptx_insn *in) {
    static const struct { uint16_t mod; uint64_t flag; } known[] = {
        { PTX_MOD_RZ, SMALL_ROUND(SMALL_ZERO) }, { PTX_MOD_RM, SMALL_ROUND(SMALL_DOWN) }, { PTX_MOD_RP, SMALL_ROUND(SMALL_UP) },
        { PTX_MOD_RNA, SMALL_ROUND(SMALL_AWAY) }, { PTX_MOD_SATFINITE, SMALL_SATFINITE }, { PTX_MOD_RELU, SMALL_RELU },
        { PTX_MOD_SAT, SMALL_SAT } };
    uint64_t flags = 0;
    for (unsigned k = 0; k < sizeof known / sizeof known[0]; k++) if (ptx_insn_has(in, (enum ptx_mod)known[k].mod)) flags |= known[k].flag;
    return flags;
}

static bool takes_relu_only(uint64_t flags) { return (flags & ~SMALL_RELU) == 0; }

/* Emits a row from `source` into a fresh scratch row of `width`; *out is that. */
static enum status to_scratch(struct decoder *d, enum lane_id id, uint32_t source, unsigned width, uint64_t imm, uint32_t *out) {
    uint32_t to = decode_scratch(d, width);
    *out = to;
    return lane_emit(d, id, to, source, 0, 0, imm);
}

/* One float row as a piece of a packed destination: a 16-bit row that holds the code. */
static enum status encode_piece(struct decoder *d, const struct format_row *f, uint32_t source, uint64_t flags, uint32_t *piece) {
    uint32_t wide;
    enum status st = to_scratch(d, LANE_cvt_f64_f32, source, 8, 0, &wide);
    return st != ST_OK ? st : to_scratch(d, LANE_small16_f64, wide, 2, f->format | flags, piece);
}

/* d = {a, b}, from two floats, or from the halves of a packed register. */
static enum status packed_lower(struct decoder *d, const struct ptx_insn *in, const struct format_row *f) {
    enum ptx_type from = (enum ptx_type)in->types[1];
    uint64_t flags = small_flags(in);
    uint32_t source[2], piece[2];
    for (unsigned k = 0; k < 2; k++) {                     /* [0]: a, the upper one */
        if (lane_is_half(from)) {
            enum status st = lane_half_to_f32(d, in, &in->operands[1], from, 1 - k, false, &source[k]);
            if (st != ST_OK) return st;
        } else if (in->n_operands < 3) return decode_unsupported(d, in, "this conversion");
        else source[k] = decode_source(d, &in->operands[1 + k], PTX_F32, 4);
    }
    if (f->bits == 16 && takes_relu_only(flags)) {
        unsigned row = (f->packed == PTX_F16X2 ? LANE_cvt_f16x2_f32 : LANE_cvt_bf16x2_f32) + (flags ? 1u : 0u);
        return lane_emit(d, (enum lane_id)row, decode_dest(d, &in->operands[0], 4, false), source[0], source[1], 0, 0);
    }
    for (unsigned k = 0; k < 2; k++) {
        enum status st = encode_piece(d, f, source[k], flags, &piece[k]);
        if (st != ST_OK) return st;
    }
    enum lane_id pack = f->bits == 16 ? LANE_pack_16x2 : f->bits == 8 ? LANE_pack_8x2 : LANE_pack_4x2;
    return lane_emit(d, pack, decode_dest(d, &in->operands[0], f->bits == 16 ? 4 : 2, false), piece[0], piece[1], 0, 0);
}

/* f16x2 from a pair of smaller ones. */
static enum status unpack_lower(struct decoder *d, const struct ptx_insn *in, const struct format_row *f) {
    uint32_t source = decode_source(d, &in->operands[1], PTX_B16, 2), part[2];
    for (unsigned k = 0; k < 2; k++) {
        enum status st = to_scratch(d, LANE_small_f32, source, 4, f->format | SMALL_SHIFT(k * f->bits), &part[k]);
        if (st != ST_OK) return st;
    }
    enum lane_id id = ptx_insn_has(in, PTX_MOD_RELU) ? LANE_cvt_f16x2_f32_relu : LANE_cvt_f16x2_f32;
    return lane_emit(d, id, decode_dest(d, &in->operands[0], 4, false), part[1], part[0], 0, 0);
}

/* The operand as a row of floats or doubles. *type: which. */
static enum status float_source(struct decoder *d, const struct ptx_insn *in, enum ptx_type from, enum ptx_type *type, uint32_t *row) {
    static const uint16_t ints[] = { LANE_cvt_f64_u8, LANE_cvt_f64_s8, LANE_cvt_f64_u16, LANE_cvt_f64_s16, LANE_cvt_f64_u32, LANE_cvt_f64_s32,
                                     LANE_odd_f64_u64, LANE_odd_f64_s64 };
    *type = PTX_F32;
    if (lane_is_half(from)) return lane_half_to_f32(d, in, &in->operands[1], from, 0, false, row);
    uint32_t source = decode_source(d, &in->operands[1], from, decode_type_width(from));
    *row = source;
    if (from == PTX_F32) return ptx_insn_has(in, PTX_MOD_FTZ) ? to_scratch(d, LANE_cvt_f32_f32_ftz, source, 4, 0, row) : ST_OK;
    *type = PTX_F64;
    if (from == PTX_F64) return ST_OK;
    unsigned bytes = ptx_type_bytes(from), log = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
    return to_scratch(d, (enum lane_id)ints[2 * log + (ptx_type_kind(from) == PTX_KIND_SIGNED)], source, 8, 0, row);
}

/* f16, bf16 or tf32 from one number of any type. */
static enum status single_lower(struct decoder *d, const struct ptx_insn *in, uint64_t format, unsigned width) {
    static const uint16_t integral[] = { PTX_MOD_RNI, PTX_MOD_RZI, PTX_MOD_RMI, PTX_MOD_RPI };   /* in the order of the round_ rows */
    uint64_t flags = small_flags(in);
    enum ptx_type type;
    uint32_t row;
    enum status st = float_source(d, in, (enum ptx_type)in->types[1], &type, &row);
    for (unsigned k = 0; k < 4 && st == ST_OK; k++)
        if (ptx_insn_has(in, (enum ptx_mod)integral[k]))
            st = to_scratch(d, (enum lane_id)(type == PTX_F64 ? LANE_round_rni_f64 + k : LANE_round_rni_f32 + 2 * k), row,
                            type == PTX_F64 ? 8 : 4, 0, &row);
    if (st != ST_OK) return st;
    if (type == PTX_F32 && width == 2 && takes_relu_only(flags)) {
        unsigned id = (format == SMALL_F16 ? LANE_cvt_f16_f32 : LANE_cvt_bf16_f32) + (flags ? 1u : 0u);
        return lane_emit(d, (enum lane_id)id, decode_dest(d, &in->operands[0], 2, false), row, 0, 0, 0);
    }
    if (type == PTX_F32) st = to_scratch(d, LANE_cvt_f64_f32, row, 8, 0, &row);
    if (st != ST_OK) return st;
    uint64_t shift = width == 4 ? SMALL_SHIFT(13) : 0;     /* tf32: the upper 19 bits of a float */
    return lane_emit(d, width == 4 ? LANE_small32_f64 : LANE_small16_f64, decode_dest(d, &in->operands[0], width, false), row, 0, 0,
                     format | flags | shift);
}

/* ue8m0x2 from two floats or bf16x2, and back. */
static enum status ue8m0_lower(struct decoder *d, const struct ptx_insn *in) {
    enum ptx_type to = (enum ptx_type)in->types[0], from = (enum ptx_type)in->types[1];
    uint32_t piece[2], row = 0;
    for (unsigned k = 0; k < 2; k++) {
        enum status st = ST_OK;
        if (to == PTX_BF16X2) {
            row = decode_source(d, &in->operands[1], PTX_B16, 2);
            st = to_scratch(d, LANE_bf16_ue8m0, row, 2, k ? 0 : 8, &piece[k]);
        } else {
            if (from == PTX_BF16X2) st = lane_half_to_f32(d, in, &in->operands[1], from, 1 - k, false, &row);
            else row = decode_source(d, &in->operands[1 + k], PTX_F32, 4);
            if (st == ST_OK) st = to_scratch(d, LANE_ue8m0_f32, row, 2, small_flags(in), &piece[k]);
        }
        if (st != ST_OK) return st;
    }
    bool back = to == PTX_BF16X2;
    return lane_emit(d, back ? LANE_pack_16x2 : LANE_pack_8x2, decode_dest(d, &in->operands[0], back ? 4 : 2, false), piece[0], piece[1], 0, 0);
}

static enum status pack_lower(struct decoder *d, const struct ptx_insn *in) {
    enum ptx_type to = (enum ptx_type)in->types[0];
    unsigned bits = to == PTX_U16 || to == PTX_S16 ? 16 : to == PTX_U8 || to == PTX_S8 ? 8 : to == PTX_U4 || to == PTX_S4 ? 4 : 2;
    uint32_t a = decode_source(d, &in->operands[1], PTX_S32, 4), b = decode_source(d, &in->operands[2], PTX_S32, 4);
    uint32_t c = in->n_operands > 3 ? decode_source(d, &in->operands[3], PTX_B32, 4) : decode_const(d, 0, 4);
    uint64_t sign = ptx_type_kind(to) == PTX_KIND_SIGNED ? SMALL_PACK_SIGNED : 0;
    return lane_emit(d, LANE_cvt_pack, decode_dest(d, &in->operands[0], 4, false), a, b, c, bits | sign);
}

/* .rs: two or four floats, packed from the top down. Where each takes its random bits from the word: the PTX text tells it for pairs; of four, the first
 * two share the upper 16 bits and the others the lower (fp8, fp6), or each has a byte, those of the first two above the others' in both halves (fp4). */
struct random_row { uint8_t packed, n, stride; uint64_t format; uint8_t from[4], random; };
static enum status random_lower(struct decoder *d, const struct ptx_insn *in)
{
    static const struct random_row rows[] = {
        { PTX_F16X2,  2, 16, SMALL_F16,  { 16, 0 }, 13 },        { PTX_BF16X2, 2, 16, SMALL_BF16, { 16, 0 }, 16 },
        { PTX_E4M3X4, 4, 8,  SMALL_E4M3, { 16, 16, 0, 0 }, 16 }, { PTX_E5M2X4, 4, 8,  SMALL_E5M2, { 16, 16, 0, 0 }, 16 },
        { PTX_E2M3X4, 4, 8,  SMALL_E2M3, { 16, 16, 0, 0 }, 16 }, { PTX_E3M2X4, 4, 8,  SMALL_E3M2, { 16, 16, 0, 0 }, 16 },
        { PTX_E2M1X4, 4, 4,  SMALL_E2M1, { 24, 8, 16, 0 }, 8 } };
    const struct random_row *r = rows;
    while (r < rows + sizeof rows / sizeof rows[0] && r->packed != in->types[0]) r++;
    const bool vector = in->operands[1].kind == PTX_OPERAND_VEC;
    if (r == rows + sizeof rows / sizeof rows[0] || vector != (r->n == 4) || (vector && in->operands[1].count != 4))
        return decode_unsupported(d, in, "this conversion");
    const uint32_t random = decode_source(d, &in->operands[in->n_operands - 1], PTX_B32, 4);
    const bool narrow = r->packed == PTX_E2M1X4;
    uint32_t sum = decode_const(d, 0, 4);
    for (unsigned k = 0; k < r->n; k++) {
        const struct ptx_operand *o = vector ? decode_element(d, &in->operands[1], k) : &in->operands[1 + k];
        const uint32_t source = decode_source(d, o, PTX_F32, 4);
        const uint32_t to = k + 1 < r->n || narrow ? decode_scratch(d, 4) : decode_dest(d, &in->operands[0], 4, false);
        const uint64_t imm = r->format | small_flags(in) | SMALL_ROUND(SMALL_RANDOM) | SMALL_BITS(r->from[k], r->random) | SMALL_SHIFT((r->n - 1 - k) * r->stride);
        enum status st = lane_emit(d, LANE_small_random, to, source, random, sum, imm);
        if (st != ST_OK) return st;
        sum = to;
    }
    return narrow ? lane_emit(d, LANE_low_16, decode_dest(d, &in->operands[0], 2, false), sum, 0, 0, 0) : ST_OK;
}

enum status lane_small_lower(struct decoder *d, const struct ptx_insn *in) {
    enum ptx_type to = (enum ptx_type)in->types[0], from = (enum ptx_type)in->types[1];
    if (ptx_insn_has(in, PTX_MOD_PACK)) return pack_lower(d, in);
    if (ptx_insn_has(in, PTX_MOD_RS)) return random_lower(d, in);
    if (to == PTX_UE8M0X2 || from == PTX_UE8M0X2) return ue8m0_lower(d, in);
    if (to == PTX_TF32) return single_lower(d, in, SMALL_TF32, 4);
    const struct format_row *f = format_find(to), *g = format_find(from);
    if (to == PTX_F16 || to == PTX_BF16) return single_lower(d, in, f->format, 2);
    if (to == PTX_F16X2 && g && g->bits < 16) return unpack_lower(d, in, g);
    if (f && f->packed == to && (from == PTX_F32 || from == PTX_F16X2)) return packed_lower(d, in, f);
    return decode_unsupported(d, in, "this conversion");
}
