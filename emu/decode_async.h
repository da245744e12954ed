/* What the decoders of asynchronous instructions share. */
#ifndef HEDDLE_EMU_DECODE_ASYNC_H
#define HEDDLE_EMU_DECODE_ASYNC_H
#include "emu/async.h"
#include "emu/decode_mem.h"
#include "emu/mem_atom.h"

/* An address operand of an instruction that has several. */
struct mem_place decode_place(struct decoder *d, const struct ptx_operand *o, enum ptx_space space, bool store);
/* decode_async.c: asynchronous st and red; called by decode_mem.c and decode_atom.c. */
enum status decode_async_store(struct decoder *d, const struct ptx_insn *in, bool red);
/* mbarrier.c: cp.async.mbarrier.arrive */
enum status decode_copies_arrive(struct decoder *d, const struct ptx_insn *in);
/* decode_bulk.c: cp.async.bulk and its relatives; st.bulk */
enum status decode_cp_bulk(struct decoder *d, const struct ptx_insn *in);
enum status decode_bulk_zero(struct decoder *d, const struct ptx_insn *in);
/* decode_atom.c: the operation that the instruction names, -1: none; the same on spans of memory, NULL: none for the type. global: others see the order. */
int decode_atom_op(const struct ptx_insn *in);
atom_span decode_combine(struct decoder *d, const struct ptx_insn *in, enum ptx_type type, bool global);

#endif
