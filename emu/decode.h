/* What a decode function may use to turn one PTX instruction into records. */
#ifndef HEDDLE_EMU_DECODE_H
#define HEDDLE_EMU_DECODE_H
#include "emu/engine.h"

/* Width of a row per lane in bytes: 2, 4, 8, 16; 0 stands for a predicate (a 32-bit mask). */
unsigned decode_type_width(enum ptx_type t);                       /* F16X2 4, U8 2, F64 8, PRED 0 .. */
bool decode_is_strong(const struct ptx_insn *in);                  /* volatile, relaxed, acquire, release or mmio */
bool decode_is_late(const struct ptx_insn *in);                    /* an access to global memory that a timing model performs late */
unsigned decode_reg_width(const struct decoder *d, int32_t reg);   /* of the register's declared type */

/* Offset of a row that holds the operand's value with `width` bytes per lane. Registers give their own row (when the register is wider or narrower than
 * width, a converting record is emitted into a scratch row: zero-extended or truncated); immediates, addresses of symbols and special registers
 * give a constant row (shared within the function). type tells how to read a float literal (0d constant used as f32 is rounded). */
uint32_t decode_source(struct decoder *d, const struct ptx_operand *o, enum ptx_type type, unsigned width);
/* Offset of the mask of a predicate operand; a negated one gets its own mask record (or use decode_pred_flip to fold the negation). */
uint32_t decode_pred(struct decoder *d, const struct ptx_operand *o);
/* The same without a record: the lanes are mask ^ *flip. */
uint32_t decode_pred_flip(struct decoder *d, const struct ptx_operand *o, uint32_t *flip);
/* Offset of a row to write with `width` bytes per lane. A sink gives a scratch row. When the register is wider or narrower than width, the value is moved into it
 * (zero-extended, or sign-extended when sign is true, or truncated) by a record that decode_end emits after the present instruction. */
uint32_t decode_dest(struct decoder *d, const struct ptx_operand *o, unsigned width, bool sign);
uint32_t decode_dest_pred(struct decoder *d, const struct ptx_operand *o);
uint32_t decode_const(struct decoder *d, uint64_t bits, unsigned width);   /* a row with the same value in every lane */
uint32_t decode_scratch(struct decoder *d, unsigned width);                /* valid within the present PTX instruction */

/* Appends a record guarded as the present PTX instruction is; operand offsets are filled in by the caller. Valid until the next decode call. NULL: no memory. */
struct insn *decode_emit(struct decoder *d, handler full, handler masked);
/* The pool element k of a VEC, TEXMEM or LIST operand. */
const struct ptx_operand *decode_element(const struct decoder *d, const struct ptx_operand *o, unsigned k);
const struct ptx_function *decode_function(const struct decoder *d);
const struct ptx_module *decode_module(const struct decoder *d);
/* Address of a symbol as its own space sees it: global/const: the device address; shared: offset in the CTA's shared memory; local: offset in the activation's local memory. */
uint64_t decode_symbol(struct decoder *d, int32_t sym);
uint32_t decode_shape(const struct decoder *d, int32_t reg);       /* frame offset of the struct mem_shape of an address register; 0: none */
uint16_t decode_site(struct decoder *d);                           /* a fresh range-cache entry for a memory record */
void *decode_aux(struct decoder *d, size_t bytes);                 /* memory that lives as long as the code */
/* Facts that a decode function states about the kernel: see emu_kernel_facts. */
void decode_says_can_wait(struct decoder *d);
void decode_says_ordered(struct decoder *d);
void decode_says_stacks(struct decoder *d);
void decode_says_calls_host(struct decoder *d);                   /* which is ordered, too */
/* True when the register is read nowhere in the function (an atom whose result is unused is a red). */
bool decode_is_dead(const struct decoder *d, const struct ptx_operand *o);
/* ld.param and st.param of a function's own parameters and of calls: emu/decode_call.c. *handled: false when it is no such access. */
enum status decode_call_param(struct decoder *d, const struct ptx_insn *in, bool *handled);
/* "not emulated yet: ..." : the record that faults when reached. Always returns ST_OK unless out of memory. */
enum status decode_unsupported(struct decoder *d, const struct ptx_insn *in, const char *why);

/* One per family; rows in emu/decode.def name them. */
#define DECODE(op, fn) enum status fn(struct decoder *d, const struct ptx_insn *in);
#include "emu/decode.def"
#undef DECODE

#endif
