/* wmma: load, store, mma. */
#include "emu/decode_mem.h"
#include "emu/decode_mma.h"
#include "emu/whole.h"
#include "emu/wmma.h"

static const char wrong_registers[] = "a fragment with another number of registers than its shape and type take";

static enum status access(struct decoder *d, const struct ptx_insn *in, bool store)
{
    const struct ptx_operand *mem = &in->operands[store ? 0 : 1], *data = &in->operands[store ? 1 : 0];
    unsigned m, n, k;
    bool col;
    struct wmma *op = decode_aux(d, sizeof *op);
    enum mma_elem elem = mma_elem_of((enum ptx_type)in->types[0]);
    if (!op) return ST_OUT_OF_MEMORY;
    if (elem == MMA_ELEMS || !decode_mma_shape(in, &m, &n, &k)) return decode_unsupported(d, in, "a fragment of this type");
    decode_mma_layouts(in, &col, 1);
    *op = (struct wmma){ .run = run_wmma, .elem = (uint8_t)elem, .store = store, .m = (uint8_t)m, .n = (uint8_t)n, .k = (uint16_t)k };
    op->role = (uint8_t)(ptx_insn_has(in, PTX_MOD_A) ? WMMA_A : ptx_insn_has(in, PTX_MOD_B) ? WMMA_B : WMMA_C);
    op->turned = op->role == WMMA_B ? !col : col;
    struct mem_address a = decode_mem_address(d, mem, in->space);
    if (a.form == MEM_FIXED) {
        a.row = decode_const(d, (uint64_t)a.offset, 8);
        a.form = MEM_ROW64;
        a.offset = 0;
    }
    op->offset = a.offset;
    op->stride = in->n_operands > 2 ? decode_source(d, &in->operands[2], PTX_U32, 4) : 0;
    op->regs = decode_mma_rows(d, data, decode_mma_width(elem), !store, &op->n_regs);
    if (!op->regs) return ST_OUT_OF_MEMORY;
    unsigned elements = op->role == WMMA_A ? m * k : op->role == WMMA_B ? k * n : m * n;
    op->n_needed = elements * mma_elem_bits(elem) / 32 / (elem == MMA_F64 ? 64 : 32);
    if (op->n_regs < op->n_needed || (op->turned && mma_elem_bits(elem) < 8)) return decode_unsupported(d, in, wrong_registers);
    uint16_t site = decode_site(d);
    struct insn *r = decode_emit_whole(d, (struct whole *)op, run_wmma);
    if (!r) return ST_OUT_OF_MEMORY;
    r->a = a.row;
    r->b = site;
    r->extra = MEM_EXTRA(MEM_32, 0, a.space, a.form, store ? MEM_STORE : 0);
    return ST_OK;
}

static bool overlap(const uint32_t *x, uint32_t n_x, const uint32_t *y, uint32_t n_y)
{
    for (uint32_t i = 0; i < n_x * n_y; i++)
        if (x[i / n_y] == y[i % n_y]) return true;
    return false;
}

/* Halves are multiplied fastest as mma.m16n8k16, one after the other: their registers follow each other. Each must leave alone what the next ones read.
 * False: it does not work out, nothing is emitted. */
static bool split(struct decoder *d, const struct mma *op)
{
    unsigned across = op->n / 8u, parts = op->m / 16u * across, per_c = op->n_c / (parts ? parts : 1);
    struct mma *part[4] = { 0 };
    if (op->m < 16 || parts > 4 || op->k != 16 || op->n_c != op->n_d) return false;
    for (unsigned i = 0; i < parts; i++) {
        if (!(part[i] = decode_aux(d, sizeof *op))) return false;
        *part[i] = *op;
        part[i]->m = 16;
        part[i]->n = 8;
        part[i]->n_a = 4;
        part[i]->n_b = 2;
        part[i]->n_c = part[i]->n_d = per_c;
        part[i]->a_rows += 4 * (i / across);
        part[i]->b_rows += 2 * (i % across);
        part[i]->c_rows += per_c * i;
        part[i]->d_rows += per_c * i;
        if (!(part[i]->run = mma_fast(part[i]))) return false;
        uint32_t *d_rows = part[i]->d_rows, left = parts - 1 - i;
        if (left && (overlap(d_rows, per_c, op->a_rows, op->n_a) || overlap(d_rows, per_c, op->b_rows, op->n_b) || overlap(d_rows, per_c, d_rows - op->d_rows + op->c_rows + per_c, left * per_c)))
            return false;
    }
    for (unsigned i = 0; i < parts; i++) decode_emit_whole(d, (struct whole *)part[i], part[i]->run);
    return true;
}

/* Types in the order of the words are d, a, b, c; with f16 only d and c are named. */
static enum status product(struct decoder *d, const struct ptx_insn *in)
{
    enum mma_elem t[4] = { MMA_F16, MMA_F16, MMA_F16, MMA_F16 };
    for (unsigned i = 0; i < in->n_types && i < 4; i++) t[in->n_types == 2 ? 3 * i : i] = mma_elem_of((enum ptx_type)in->types[i]);
    struct mma *op = decode_mma_new(d, in, t[0], t[1], t[2], t[3]);
    if (!op || !decode_mma_operands(d, op, in->operands)) return ST_OUT_OF_MEMORY;
    if (!decode_mma_fits(op)) return decode_unsupported(d, in, wrong_registers);
    if (split(d, op)) return ST_OK;
    return decode_emit_whole(d, (struct whole *)op, op->run) ? ST_OK : ST_OUT_OF_MEMORY;
}

enum status decode_wmma(struct decoder *d, const struct ptx_insn *in)
{
    if (ptx_insn_has(in, PTX_MOD_MMA)) return product(d, in);
    return access(d, in, ptx_insn_has(in, PTX_MOD_STORE));
}
