/* What the decoders of mma, wmma and wgmma share. */
#ifndef HEDDLE_EMU_DECODE_MMA_H
#define HEDDLE_EMU_DECODE_MMA_H
#include "emu/decode.h"
#include "emu/mma.h"

/* "m16n8k16" among the words of an instruction; false: none. */
bool decode_mma_shape(const struct ptx_insn *in, unsigned *m, unsigned *n, unsigned *k);
/* The layouts, .row or .col, in source order: true for .col. n of them. */
void decode_mma_layouts(const struct ptx_insn *in, bool *col, unsigned n);
/* Rows of the registers of a fragment: a vector or a single register, `width` bytes per lane. NULL: no memory. */
uint32_t *decode_mma_rows(struct decoder *d, const struct ptx_operand *o, unsigned width, bool dest, uint32_t *n);
unsigned decode_mma_width(enum mma_elem e);    /* bytes per lane of the registers that hold such elements */
/* A new instruction with shape, types and kind. NULL: no memory. */
struct mma *decode_mma_new(struct decoder *d, const struct ptx_insn *in, enum mma_elem type_d, enum mma_elem type_a, enum mma_elem type_b, enum mma_elem type_c);
/* The rows of o = { d, a, b, c }. False: no memory. */
bool decode_mma_operands(struct decoder *d, struct mma *op, const struct ptx_operand *o);
/* Whether d, a, b, c have the registers that the shape takes; a and b may have more. */
bool decode_mma_fits(const struct mma *op);

#endif
