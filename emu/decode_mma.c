/* mma.sync, dense, sparse and with block scales, and wmma.mma. */
#include "emu/decode_mma.h"

#include <stdio.h>

#include "emu/whole.h"
#include "ptx/isa.h"

bool decode_mma_shape(const struct ptx_insn *in, unsigned *m, unsigned *n, unsigned *k)
{
    for (unsigned i = 0; i < in->n_mods; i++)
        if (ptx_mod_category((enum ptx_mod)in->mods[i]) == PTX_CAT_SHAPE && sscanf(ptx_mod_text((enum ptx_mod)in->mods[i]), "m%un%uk%u", m, n, k) == 3)
            return true;
    return false;
}

void decode_mma_layouts(const struct ptx_insn *in, bool *col, unsigned n)
{
    unsigned have = 0;
    for (unsigned i = 0; i < in->n_mods && have < n; i++)
        if (in->mods[i] == PTX_MOD_ROW || in->mods[i] == PTX_MOD_COL)
            col[have++] = in->mods[i] == PTX_MOD_COL;
    while (have < n)
        col[have++] = false;
}

unsigned decode_mma_width(enum mma_elem e) { return e == MMA_F64 ? 8 : 4; }

uint32_t *decode_mma_rows(struct decoder *d, const struct ptx_operand *o, unsigned width, bool dest, uint32_t *n)
{
    *n = o->kind == PTX_OPERAND_VEC ? o->count : 1;
    uint32_t *rows = decode_aux(d, *n * sizeof *rows);
    for (uint32_t i = 0; rows && i < *n; i++) {
        const struct ptx_operand *e = o->kind == PTX_OPERAND_VEC ? decode_element(d, o, i) : o;
        rows[i] = dest ? decode_dest(d, e, width, false) : decode_source(d, e, width == 8 ? PTX_F64 : PTX_B32, width);
    }
    return rows;
}

struct mma *decode_mma_new(struct decoder *d, const struct ptx_insn *in, enum mma_elem type_d, enum mma_elem type_a, enum mma_elem type_b, enum mma_elem type_c)
{
    unsigned m = 0, n = 0, k = 0;
    struct mma *op = decode_aux(d, sizeof *op);
    if (!op) return NULL;
    mma_prepare();
    decode_mma_shape(in, &m, &n, &k);
    *op = (struct mma){ .run = run_mma, .m = (uint16_t)m, .n = (uint16_t)n, .k = (uint16_t)k, .d = (uint8_t)type_d, .a = (uint8_t)type_a, .b = (uint8_t)type_b,
                        .c = (uint8_t)type_c, .kind = (uint8_t)mma_elem_kind(type_a) };
    if (ptx_insn_has(in, PTX_MOD_SATFINITE) && op->kind == MMA_INT) op->flags |= MMA_SATFINITE;
    if (ptx_insn_has(in, PTX_MOD_AND)) op->flags |= MMA_AND;
    op->rounding = ptx_insn_has(in, PTX_MOD_RM) ? 1 : ptx_insn_has(in, PTX_MOD_RP) ? 2 : ptx_insn_has(in, PTX_MOD_RZ) ? 3 : 0;
    return op;
}

static uint32_t acc_regs(const struct mma *op, enum mma_elem e) { return op->m * op->n / 64u * (e == MMA_F16 ? 1 : 2); }

bool decode_mma_fits(const struct mma *op)
{
    unsigned lane_bits = op->kind == MMA_DOUBLE ? 64 : 32;
    uint32_t n_a = op->m * op->k * mma_elem_bits(op->a) / 32 / lane_bits / (op->unit ? 2 : 1), n_b = op->n * op->k * mma_elem_bits(op->b) / 32 / lane_bits;
    return op->n_a >= n_a && op->n_b >= n_b && op->n_c == acc_regs(op, op->c) && op->n_d == acc_regs(op, op->d);
}

bool decode_mma_operands(struct decoder *d, struct mma *op, const struct ptx_operand *o)
{
    op->a_rows = decode_mma_rows(d, &o[1], decode_mma_width(op->a), false, &op->n_a);
    op->b_rows = decode_mma_rows(d, &o[2], decode_mma_width(op->b), false, &op->n_b);
    op->c_rows = decode_mma_rows(d, &o[3], decode_mma_width(op->c), false, &op->n_c);
    op->d_rows = decode_mma_rows(d, &o[0], decode_mma_width(op->d), true, &op->n_d);
    return op->a_rows && op->b_rows && op->c_rows && op->d_rows;
}

static enum status emit(struct decoder *d, struct mma *op)
{
    handler fast = op->run == run_mma ? mma_fast(op) : NULL;
    if (fast) op->run = fast;
    return decode_emit_whole(d, (struct whole *)op, op->run) ? ST_OK : ST_OUT_OF_MEMORY;
}

static const char wrong_registers[] = "a matrix product whose fragments have another number of registers than its shape and types take";

/* ---- mma ------------------------------------------------------------------------------------------------------------------- */

/* Index pairs {byte id, thread id} and the data of one scale operand. */
static void scale_operand(struct decoder *d, struct mma *op, const struct ptx_operand *data, const struct ptx_operand *ids, unsigned which)
{
    op->scale[which] = decode_source(d, data, PTX_B32, 4);
    op->byte_id[which] = decode_source(d, decode_element(d, ids, 0), PTX_U16, 2);
    op->thread_id[which] = decode_source(d, decode_element(d, ids, 1), PTX_U16, 2);
}

static bool scales(struct decoder *d, const struct ptx_insn *in, struct mma *op, const struct ptx_operand *o)
{
    if (o[1].kind != PTX_OPERAND_VEC || o[1].count != 2 || o[3].kind != PTX_OPERAND_VEC || o[3].count != 2) return false;
    bool packed = !ptx_insn_has(in, PTX_MOD_KIND_MXF8F6F4);
    op->scales = ptx_insn_has(in, PTX_MOD_SCALE_VEC_4X) ? 4 : packed ? 2 : 1;
    op->scale_type = in->types[4];
    if (packed) op->a = op->b = MMA_E2M1_PACKED;
    scale_operand(d, op, &o[0], &o[1], 0);
    scale_operand(d, op, &o[2], &o[3], 1);
    return true;
}

/* m8n8k4 with f16 is four products, with registers of its own: two of A and B, and of C and D 8 (f32) or 4 (f16). */
static enum status quad(struct decoder *d, const struct ptx_insn *in, struct mma *op)
{
    bool col[2];
    decode_mma_layouts(in, col, 2);
    op->run = run_mma_quad;
    op->flags = (uint8_t)((col[0] ? MMA_QUAD_A_COL : 0) | (col[1] ? 0 : MMA_QUAD_B_ROW));
    if (op->n_a != 2 || op->n_b != 2 || op->n_c != (op->c == MMA_F16 ? 4 : 8) || op->n_d != (op->d == MMA_F16 ? 4 : 8)) return decode_unsupported(d, in, wrong_registers);
    return emit(d, op);
}

enum status decode_mma(struct decoder *d, const struct ptx_insn *in)
{
    enum mma_elem t[4];
    for (unsigned i = 0; i < 4; i++)
        if ((t[i] = mma_elem_of((enum ptx_type)in->types[i])) == MMA_ELEMS) return decode_unsupported(d, in, "a matrix product of these types");
    struct mma *op = decode_mma_new(d, in, t[0], t[1], t[2], t[3]);
    const struct ptx_operand *o = in->operands;
    if (!op || !decode_mma_operands(d, op, o)) return ST_OUT_OF_MEMORY;
    if (op->m == 8 && op->k == 4 && op->a == MMA_F16) return quad(d, in, op);
    unsigned next = 4;
    if (ptx_insn_has(in, PTX_MOD_SP) || ptx_insn_has(in, PTX_MOD_SP_ORDERED_METADATA)) {
        op->meta = decode_source(d, &o[4], PTX_B32, 4);
        op->selector = (uint8_t)(o[5].bits & 3);
        op->unit = mma_elem_bits(op->a) >= 16 ? 16 : 8;
        next = 6;
    }
    if (ptx_insn_has(in, PTX_MOD_BLOCK_SCALE) && !scales(d, in, op, &o[next])) return decode_unsupported(d, in, "scale selectors that are no pair");
    if (!decode_mma_fits(op)) return decode_unsupported(d, in, wrong_registers);
    return emit(d, op);
}
