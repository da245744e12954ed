/* What the decoders of asynchronous instructions share. */
#ifndef HEDDLE_EMU_DECODE_ASYNC_H
#define HEDDLE_EMU_DECODE_ASYNC_H
#include "emu/async.h"
#include "emu/decode_mem.h"

/* An address operand of an instruction that has several. */
struct mem_place decode_place(struct decoder *d, const struct ptx_operand *o, enum ptx_space space, bool store);
/* decode_async.c: asynchronous st and red; called by decode_mem.c and decode_atom.c. */
enum status decode_async_store(struct decoder *d, const struct ptx_insn *in, bool red);
/* mbarrier.c: cp.async.mbarrier.arrive */
enum status decode_copies_arrive(struct decoder *d, const struct ptx_insn *in);
/* decode_atom.c: the reduction that the instruction names, on memory; NULL: there is none. */
typedef void (*combine_fn)(void *to, const void *from, size_t n, bool parallel);
combine_fn decode_combine(const struct ptx_insn *in, enum ptx_type type);

#endif
