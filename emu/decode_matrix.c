/* ldmatrix, stmatrix, movmatrix. */
#include "emu/decode_mem.h"
#include "emu/matrix.h"
#include "emu/whole.h"

static enum status access(struct decoder *d, const struct ptx_insn *in, bool store)
{
    const struct ptx_operand *mem = &in->operands[store ? 0 : 1], *data = &in->operands[store ? 1 : 0];
    bool small = ptx_insn_has(in, PTX_MOD_M16N16) || ptx_insn_has(in, PTX_MOD_M16N8);
    unsigned count = ptx_insn_has(in, PTX_MOD_X4) ? 4 : ptx_insn_has(in, PTX_MOD_X2) ? 2 : 1, have = data->kind == PTX_OPERAND_VEC ? data->count : 1;
    unsigned n_regs = ptx_insn_has(in, PTX_MOD_M16N16) ? 2 * count : count;
    if (have != n_regs) return decode_unsupported(d, in, "the vector does not have a register for each matrix");
    struct matrix *op = decode_aux(d, sizeof *op);
    if (!op) return ST_OUT_OF_MEMORY;
    struct mem_address a = decode_mem_address(d, mem, in->space);
    if (a.form == MEM_FIXED) {
        a.row = decode_const(d, (uint64_t)a.offset, a.space == MEM_SHARED ? 4 : 8);
        a.form = a.space == MEM_SHARED ? MEM_ROW32 : MEM_ROW64;
        a.offset = 0;
    }
    *op = (struct matrix){ .offset = a.offset, .store = store, .n_regs = (uint8_t)n_regs, .n_rows = (uint8_t)(ptx_insn_has(in, PTX_MOD_M16N16) ? 16 * count : 8 * count) };
    op->format = small ? MATRIX_BYTES : ptx_insn_has(in, PTX_MOD_TRANS) ? MATRIX_TRANS : MATRIX_PLAIN;
    op->packing = ptx_insn_has(in, PTX_MOD_B6X16_P32) ? MATRIX_B6 : ptx_insn_has(in, PTX_MOD_B4X16_P64) ? MATRIX_B4 : MATRIX_B8;
    for (unsigned i = 0; i < n_regs; i++) {
        const struct ptx_operand *e = data->kind == PTX_OPERAND_VEC ? decode_element(d, data, i) : data;
        op->regs[i] = store ? decode_source(d, e, PTX_B32, 4) : decode_dest(d, e, 4, false);
    }
    uint16_t site = decode_site(d);
    op->run = store ? matrix_handlers()->store[op->format] : matrix_handlers()->load[op->format];
    struct insn *r = decode_emit_whole(d, (struct whole *)op, op->run);
    if (!r) return ST_OUT_OF_MEMORY;
    r->a = a.row;
    r->b = site;
    r->extra = MEM_EXTRA(MEM_128, 0, a.space, a.form, store ? MEM_STORE : 0);
    return ST_OK;
}

enum status decode_ldmatrix(struct decoder *d, const struct ptx_insn *in) { return access(d, in, false); }
enum status decode_stmatrix(struct decoder *d, const struct ptx_insn *in) { return access(d, in, true); }

enum status decode_movmatrix(struct decoder *d, const struct ptx_insn *in)
{
    struct matrix *op = decode_aux(d, sizeof *op);
    if (!op) return ST_OUT_OF_MEMORY;
    *op = (struct matrix){ .run = matrix_handlers()->move, .n_regs = 2 };
    op->regs[1] = decode_source(d, &in->operands[1], PTX_B32, 4);
    op->regs[0] = decode_dest(d, &in->operands[0], 4, false);
    return decode_emit_whole(d, (struct whole *)op, op->run) ? ST_OK : ST_OUT_OF_MEMORY;
}
