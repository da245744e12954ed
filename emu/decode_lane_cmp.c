/* lop3 with its predicate, and setp and set: a comparison, perhaps combined with a predicate, into one or two predicates or a value. */
#include "emu/decode_lane.h"

/* Places of the comparisons among the rows of one type: as COMPARE in lane_f32.def, and as the integer rows in lane_int.def. */
enum { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_EQU, CMP_NEU, CMP_LTU, CMP_LEU, CMP_NUM, CMP_NAN };

static const struct { uint16_t mod; uint8_t cmp; bool swap, is_unsigned; } compares[] = {
    { PTX_MOD_EQ, CMP_EQ, false, false },   { PTX_MOD_NE, CMP_NE, false, false },   { PTX_MOD_LT, CMP_LT, false, false },
    { PTX_MOD_LE, CMP_LE, false, false },   { PTX_MOD_GT, CMP_LT, true, false },    { PTX_MOD_GE, CMP_LE, true, false },
    { PTX_MOD_LO, CMP_LT, false, true },    { PTX_MOD_LS, CMP_LE, false, true },    { PTX_MOD_HI, CMP_LT, true, true },
    { PTX_MOD_HS, CMP_LE, true, true },     { PTX_MOD_EQU, CMP_EQU, false, false }, { PTX_MOD_NEU, CMP_NEU, false, false },
    { PTX_MOD_LTU, CMP_LTU, false, false }, { PTX_MOD_LEU, CMP_LEU, false, false }, { PTX_MOD_GTU, CMP_LTU, true, false },
    { PTX_MOD_GEU, CMP_LEU, true, false },  { PTX_MOD_NUM, CMP_NUM, false, false }, { PTX_MOD_NAN, CMP_NAN, false, false } };

static bool compare_find(const struct ptx_insn *in, unsigned *which) {
    for (unsigned k = 0; k < in->n_mods; k++)
        for (unsigned i = 0; i < sizeof compares / sizeof compares[0]; i++)
            if (compares[i].mod == in->mods[k]) { *which = i; return true; }
    return false;
}

/* The row that compares values of the type. False: there is none (lt of bits, num of integers). */
static bool compare_row(enum ptx_type type, unsigned which, bool ftz, enum lane_id *id) {
    unsigned cmp = compares[which].cmp;
    if (type == PTX_F32 || type == PTX_F64) {
        *id = (enum lane_id)((type == PTX_F64 ? LANE_setp_eq_f64 : ftz ? LANE_setp_eq_f32_ftz : LANE_setp_eq_f32) + cmp);
        return true;
    }
    unsigned width = decode_type_width(type);
    enum ptx_type_kind kind = ptx_type_kind(type);
    if (cmp > CMP_LE || width < 2 || width > 8 || (cmp >= CMP_LT && kind == PTX_KIND_BITS)) return false;
    unsigned row = width == 2 ? LANE_setp_eq_16 : width == 4 ? LANE_setp_eq_32 : LANE_setp_eq_64;
    bool sign = kind == PTX_KIND_SIGNED && !compares[which].is_unsigned;
    *id = (enum lane_id)(row + cmp + (cmp >= CMP_LT && sign ? 2 : 0));
    return true;
}

static enum lane_bool bool_find(const struct ptx_insn *in) {
    if (ptx_insn_has(in, PTX_MOD_AND)) return LANE_BOOL_AND;
    if (ptx_insn_has(in, PTX_MOD_OR)) return LANE_BOOL_OR;
    return ptx_insn_has(in, PTX_MOD_XOR) ? LANE_BOOL_XOR : LANE_BOOL_NONE;
}

/* Emits the comparison of in's operands `at` and `at` + 1 into mask `dest`. Halves are compared as floats: half 0 is the low or only one. */
static enum status compare_emit(struct decoder *d, const struct ptx_insn *in, unsigned at, enum ptx_type type, unsigned half, uint32_t dest) {
    unsigned which;
    enum lane_id id;
    bool ftz = ptx_insn_has(in, PTX_MOD_FTZ);
    bool halves = type == PTX_F16 || type == PTX_BF16 || type == PTX_F16X2 || type == PTX_BF16X2;
    if (at + 1 >= in->n_operands || !compare_find(in, &which) || !compare_row(halves ? PTX_F32 : type, which, ftz, &id))
        return decode_unsupported(d, in, "this comparison");
    uint32_t source[2];
    for (unsigned k = 0; k < 2; k++) {
        const struct ptx_operand *o = &in->operands[at + k];
        if (!halves) { source[k] = lane_source(d, in, id, k, o); continue; }
        enum status st = lane_half_to_f32(d, in, o, type, half, ftz, &source[k]);
        if (st != ST_OK) return st;
    }
    bool swap = compares[which].swap;
    return lane_emit(d, id, dest, source[swap], source[!swap], 0, 0);
}

enum status decode_lane_setp(struct decoder *d, const struct ptx_insn *in) {
    enum ptx_type type = (enum ptx_type)in->types[0];
    bool packed = type == PTX_F16X2 || type == PTX_BF16X2;
    unsigned at = in->has_pair ? 2 : 1;
    enum lane_bool op = bool_find(in);
    uint32_t p = decode_dest_pred(d, &in->operands[0]);
    if (!in->has_pair && op == LANE_BOOL_NONE) return compare_emit(d, in, at, type, 0, p);

    uint32_t q = in->has_pair ? decode_dest_pred(d, &in->operands[1]) : decode_scratch(d, 0);
    uint32_t low = decode_scratch(d, 0), high = low, c = FRAME_TRUE;
    if (op != LANE_BOOL_NONE) {
        if (at + 2 >= in->n_operands) return decode_unsupported(d, in, "too few operands");
        c = decode_pred(d, &in->operands[at + 2]);
    }
    enum status st = compare_emit(d, in, at, type, 0, low);
    if (st == ST_OK && packed) {
        high = decode_scratch(d, 0);
        st = compare_emit(d, in, at, type, 1, high);
    }
    if (st != ST_OK) return st;
    /* p: the comparison (of the low halves), q: its complement, or the comparison of the high halves */
    enum lane_id id = packed ? LANE_both_pred : LANE_pair_pred;
    struct lane_pair h = lane_handlers(id);
    struct insn *r = decode_emit(d, h.full, h.masked);
    if (!r) return ST_OUT_OF_MEMORY;
    r->d = p;
    r->extra = q;
    r->a = low;
    r->c = high;
    r->b = c;
    r->imm = op;
    return ST_OK;
}

/* set: what the type writes for true */
static uint64_t set_true(enum ptx_type type) {
    switch (type) {
    case PTX_F32:    return 0x3f800000u;
    case PTX_F16:    return 0x3c00u;
    case PTX_F16X2:  return 0x3c003c00u;
    case PTX_BF16:   return 0x3f80u;
    case PTX_BF16X2: return 0x3f803f80u;
    default:         return 0xffffffffu;
    }
}

enum status decode_lane_set(struct decoder *d, const struct ptx_insn *in) {
    enum ptx_type to = (enum ptx_type)in->types[0], type = (enum ptx_type)in->types[1];
    bool packed = type == PTX_F16X2 || type == PTX_BF16X2;
    unsigned width = decode_type_width(to);
    enum lane_bool op = bool_find(in);
    uint32_t truth[2] = { decode_scratch(d, 0), packed ? decode_scratch(d, 0) : 0 }, c = FRAME_TRUE;
    if (op != LANE_BOOL_NONE) {
        if (in->n_operands < 4) return decode_unsupported(d, in, "too few operands");
        c = decode_pred(d, &in->operands[3]);
    }
    for (unsigned half = 0; half < (packed ? 2u : 1u); half++) {
        enum status st = compare_emit(d, in, 1, type, half, truth[half]);
        enum lane_id bool_row = op == LANE_BOOL_AND ? LANE_and_pred : op == LANE_BOOL_OR ? LANE_or_pred : LANE_xor_pred;
        if (st == ST_OK && op != LANE_BOOL_NONE) st = lane_emit(d, bool_row, truth[half], truth[half], c, 0, 0);
        if (st != ST_OK) return st;
    }
    enum lane_id select = width == 2 ? LANE_selp_b16 : LANE_selp_b32;
    uint64_t one = set_true(to);
    uint32_t zero = decode_const(d, 0, width), dest = decode_dest(d, &in->operands[0], width, false);
    if (!packed) return lane_emit(d, select, dest, decode_const(d, width == 2 ? one & 0xffff : one, width), zero, truth[0], 0);
    uint32_t low = decode_const(d, one & 0xffff, 4), high = decode_const(d, one & 0xffff0000u, 4), part = decode_scratch(d, 4);
    enum status st = lane_emit(d, LANE_selp_b32, part, low, zero, truth[0], 0);
    if (st == ST_OK) st = lane_emit(d, LANE_selp_or_b32, dest, high, part, truth[1], 0);
    return st;
}

/* lop3: the table is an immediate. With .and, .or, .xor a predicate p = (d != 0) op q is written too. */
enum status decode_lane_lop3(struct decoder *d, const struct ptx_insn *in) {
    unsigned at = in->has_pair ? 2 : 1;
    if (in->n_operands < at + 4u || in->operands[at + 3].kind != PTX_OPERAND_IMM) return decode_unsupported(d, in, "lop3 without a constant table");
    uint32_t source[3];
    for (unsigned k = 0; k < 3; k++) source[k] = lane_source(d, in, LANE_lop3_b32, k, &in->operands[at + k]);
    uint64_t table = in->operands[at + 3].bits & 255;
    enum lane_bool op = bool_find(in);
    if (op == LANE_BOOL_NONE) return lane_emit(d, LANE_lop3_b32, lane_dest(d, LANE_lop3_b32, &in->operands[0]), source[0], source[1], source[2], table);

    /* the predicate comes from the bits before d is written, which may be a source or, through p, the guard */
    static const uint16_t combine[] = { [LANE_BOOL_AND] = LANE_and_pred, [LANE_BOOL_OR] = LANE_or_pred, [LANE_BOOL_XOR] = LANE_xor_pred };
    if (in->n_operands < at + 5u) return decode_unsupported(d, in, "too few operands");
    uint32_t q = decode_pred(d, &in->operands[at + 4]), bits = decode_scratch(d, 4), set = decode_scratch(d, 0), zero = decode_const(d, 0, 4);
    enum status st = lane_emit(d, LANE_lop3_b32, bits, source[0], source[1], source[2], table);
    if (st == ST_OK) st = lane_emit(d, LANE_setp_ne_32, set, bits, zero, 0, 0);
    if (st == ST_OK) st = lane_emit(d, LANE_or_b32, lane_dest(d, LANE_or_b32, &in->operands[0]), bits, zero, 0, 0);
    if (st == ST_OK) st = lane_emit(d, (enum lane_id)combine[op], decode_dest_pred(d, &in->operands[1]), set, q, 0, 0);
    return st;
}
