/* mov in all its forms, and the copies that other decoders need. */
#include "emu/decoder.h"
#include "emu/isa.h"

const struct mov_table *mov_handlers_table(void)
{
    static const struct mov_table *const levels[ISA_COUNT] = { &mov_table_base, &mov_table_avx2, &mov_table_avx512 };
    return levels[isa_level()];
}

static unsigned class_of(unsigned width) { return width == 2 ? 0 : width == 4 ? 1 : width == 8 ? 2 : 3; }

struct handlers mov_handlers(unsigned width) { return mov_handlers_table()->mov[class_of(width)]; }
struct handlers convert_handlers(unsigned to, unsigned from, bool sign) { return mov_handlers_table()->convert[class_of(to)][class_of(from)][sign]; }

static void emit2(struct decoder *d, struct handlers h, uint32_t to, uint32_t a, uint32_t b, uint64_t imm)
{
    struct insn *in = decode_emit(d, h.full, h.masked);
    if (!in) return;
    in->d = to;
    in->a = a;
    in->b = b;
    in->imm = imm;
}

void decode_copy(struct decoder *d, uint32_t to, uint32_t from, unsigned width) { emit2(d, mov_handlers(width), to, from, 0, 0); }

static const struct insn *run_copy_mask(const struct insn *in, struct warp *w, struct ctx *c)
{
    (void)c;
    uint32_t m = insn_mask(in, w), *d = row(w, in->d);
    *d = (*d & ~m) | ((mask_at(w, in->a) ^ (uint32_t)in->imm) & m);
    return in + 1;
}

static enum status mov_pred(struct decoder *d, const struct ptx_insn *in)
{
    uint32_t flip, a = decode_pred_flip(d, &in->operands[1], &flip);
    emit2(d, (struct handlers){ run_copy_mask, run_copy_mask }, decode_dest_pred(d, &in->operands[0]), a, 0, flip);
    return d->st;
}

/* The element of a vector is of the element's own width; 8-bit elements live in 2-byte rows. */
static enum ptx_type bits_type(unsigned bytes)
{
    return bytes == 1 ? PTX_B8 : bytes == 2 ? PTX_B16 : bytes == 4 ? PTX_B32 : bytes == 8 ? PTX_B64 : PTX_B128;
}

static enum status mov_pack(struct decoder *d, const struct ptx_insn *in, unsigned bytes)
{
    const struct ptx_operand *v = &in->operands[1];
    unsigned n = v->count, each = bytes / n, width = each < 2 ? 2 : each;
    uint32_t rows[16];
    for (unsigned i = 0; i < n; i++) rows[i] = decode_source(d, decode_element(d, v, i), bits_type(each), width);
    uint32_t to = decode_dest(d, &in->operands[0], bytes, false);
    const struct mov_table *t = mov_handlers_table();
    if (n == 2 && bytes == 8) emit2(d, t->pack4_8, to, rows[0], rows[1], 0);
    else if (n == 2 && bytes == 4) emit2(d, t->pack2_4, to, rows[0], rows[1], 0);
    else
        for (unsigned i = 0; i < n; i++) emit2(d, t->put, to, rows[i], 0, MOV_IMM(bytes, width, each, i * each, 0));
    return d->st;
}

static enum status mov_unpack(struct decoder *d, const struct ptx_insn *in, unsigned bytes)
{
    const struct ptx_operand *v = &in->operands[0];
    unsigned n = v->count, each = bytes / n, width = each < 2 ? 2 : each;
    uint32_t from = decode_source(d, &in->operands[1], bits_type(bytes), bytes);
    const struct mov_table *t = mov_handlers_table();
    for (unsigned i = 0; i < n; i++) {
        const struct ptx_operand *e = decode_element(d, v, i);
        if (e->kind == PTX_OPERAND_SINK) continue;
        uint32_t to = decode_dest(d, e, width, false);
        if (bytes == 8 && n == 2) emit2(d, i ? t->high8_4 : t->convert[1][2][0], to, from, 0, 0);
        else if (bytes == 4 && n == 2) emit2(d, i ? t->high4_2 : t->low4_2, to, from, 0, 0);
        else emit2(d, t->get, to, from, 0, MOV_IMM(width, bytes, each, i * each, 0));
    }
    return d->st;
}

/* mov.v2/.v4 of an old vector register, of %tid and its like, or {..} to {..}. */
static enum status mov_elements(struct decoder *d, const struct ptx_insn *in, enum ptx_type t)
{
    const struct ptx_operand *to = &in->operands[0], *from = &in->operands[1];
    unsigned width = decode_type_width(t);
    bool special = from->kind == PTX_OPERAND_SREG;
    if (!special && to->count != from->count) return decode_unsupported(d, in, "vectors of different lengths");
    uint32_t rows[16];
    for (unsigned i = 0; i < to->count; i++) {  /* first all out, then all in: {a, b} = {b, a} swaps */
        struct ptx_operand component = *from;
        component.component = (uint8_t)i;
        rows[i] = decode_scratch(d, width);
        decode_copy(d, rows[i], decode_source(d, special ? &component : decode_element(d, from, i), t, width), width);
    }
    for (unsigned i = 0; i < to->count; i++) decode_copy(d, decode_dest(d, decode_element(d, to, i), width, false), rows[i], width);
    return d->st;
}

enum status decode_mov(struct decoder *d, const struct ptx_insn *in)
{
    const struct ptx_operand *to = &in->operands[0], *from = &in->operands[1];
    enum ptx_type t = (enum ptx_type)in->types[0];
    unsigned bytes = ptx_type_bytes(t);
    bool unpack = to->kind == PTX_OPERAND_VEC && to->count > 1, pack = from->kind == PTX_OPERAND_VEC && from->count > 1;
    if (t == PTX_PRED) return mov_pred(d, in);
    if ((unpack && to->count > 16) || (pack && from->count > 16)) return decode_unsupported(d, in, "a vector of this length");
    if (unpack && (pack || (in->vec > 1 && from->kind == PTX_OPERAND_SREG))) return mov_elements(d, in, t);
    if ((unpack && bytes % to->count) || (pack && bytes % from->count)) return decode_unsupported(d, in, "a vector of this length");
    if (pack) return mov_pack(d, in, bytes);
    if (unpack) return mov_unpack(d, in, bytes);
    unsigned width = decode_type_width(t);
    uint32_t a = decode_source(d, from, t, width);
    decode_copy(d, decode_dest(d, to, width, ptx_type_kind(t) == PTX_KIND_SIGNED), a, width);
    return d->st;
}
