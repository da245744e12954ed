/* wgmma. */
#include "emu/decode_mma.h"
#include "emu/wgmma.h"
#include "emu/whole.h"

/* Constants behind the predicate: signs of A and B, then which of them are m- or n-major; in registers A has no such. */
static void constants(const struct ptx_insn *in, unsigned at, struct wgmma *op)
{
    const struct ptx_operand *o = in->operands;
    bool negate = false;
    for (unsigned i = 0; i < 2 && at < in->n_operands; i++, at++) negate ^= (int64_t)o[at].bits < 0;
    op->mma.flags |= negate ? MMA_NEGATE_A : 0;
    if (op->a_in_memory && at < in->n_operands) op->a_turned = o[at++].bits & 1;
    if (at < in->n_operands) op->b_turned = o[at].bits & 1;
}

static enum status product(struct decoder *d, const struct ptx_insn *in)
{
    const struct ptx_operand *o = in->operands;
    enum mma_elem t[3];
    for (unsigned i = 0; i < 3; i++)
        if ((t[i] = mma_elem_of((enum ptx_type)in->types[i])) == MMA_ELEMS) return decode_unsupported(d, in, "a matrix product of these types");
    struct wgmma *op = decode_aux(d, sizeof *op);
    struct mma *m = decode_mma_new(d, in, t[0], t[1], t[2], t[0]);
    if (!op || !m) return ST_OUT_OF_MEMORY;
    *op = (struct wgmma){ .mma = *m, .a_in_memory = o[1].kind != PTX_OPERAND_VEC };
    m = &op->mma;
    m->run = run_wgmma;
    m->m = 16;
    unsigned next = 3;
    if (ptx_insn_has(in, PTX_MOD_SP)) {
        m->meta = decode_source(d, &o[3], PTX_B32, 4);
        m->selector = (uint8_t)(o[4].bits & 3);
        m->unit = mma_elem_bits(t[1]) >= 16 ? 16 : 8;
        next = 5;
    }
    op->scale_d = decode_pred_flip(d, &o[next], &op->scale_d_flip);
    constants(in, next + 1, op);
    op->b_desc = decode_source(d, &o[2], PTX_B64, 8);
    if (op->a_in_memory) op->a_desc = decode_source(d, &o[1], PTX_B64, 8);
    else m->a_rows = decode_mma_rows(d, &o[1], 4, false, &m->n_a);
    m->c_rows = decode_mma_rows(d, &o[0], 4, false, &m->n_c);
    m->d_rows = decode_mma_rows(d, &o[0], 4, true, &m->n_d);
    uint32_t want = m->n / 8u * (t[0] == MMA_F16 ? 2 : 4);
    if (m->n_d != want || (!op->a_in_memory && m->n_a != 4)) return decode_unsupported(d, in, "fragments with another number of registers than the shape and types take");
    return decode_emit_whole(d, (struct whole *)op, run_wgmma) ? ST_OK : ST_OUT_OF_MEMORY;
}

enum status decode_wgmma(struct decoder *d, const struct ptx_insn *in)
{
    return ptx_insn_has(in, PTX_MOD_MMA_ASYNC) ? product(d, in) : ST_OK;
}
