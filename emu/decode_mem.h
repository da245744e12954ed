/* What the decoders of memory instructions share. */
#ifndef HEDDLE_EMU_DECODE_MEM_H
#define HEDDLE_EMU_DECODE_MEM_H
#include "emu/decode.h"
#include "emu/mem.h"

/* An address operand: fields for a record. */
struct mem_address { enum mem_space space; enum mem_form form; uint32_t row; int64_t offset; bool read_only;
                     uint32_t shape; /* frame offset of the row's struct mem_shape, 0 = none */ };
/* named: the space that the instruction names, or GENERIC. */
struct mem_address decode_mem_address(struct decoder *d, const struct ptx_operand *o, enum ptx_space named);

/* The row of a 32-bit address register of constant memory, made 64 bits wide. */
uint32_t decode_const_address(struct decoder *d, const struct ptx_operand *o);

enum mem_kind decode_mem_kind(enum ptx_type t);
bool decode_is_entry_param(const struct decoder *d, int32_t sym);    /* sym is a parameter of this entry function */

#endif
