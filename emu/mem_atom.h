/* atom and red: the handlers of emu/mem_atom.c, used by emu/decode_atom.c.
 *
 * A record: address as in emu/mem.h, d = row for the old value (0: nobody wants it), b and c = operand rows.
 * A vector (MEM_WIDE) is its elements one after the other: rows of the old values, then rows of the operands, in a struct mem_wide. */
#ifndef HEDDLE_EMU_MEM_ATOM_H
#define HEDDLE_EMU_MEM_ATOM_H
#include "emu/engine.h"

enum atom_op { ATOM_ADD, ATOM_MIN, ATOM_MAX, ATOM_INC, ATOM_DEC, ATOM_AND, ATOM_OR, ATOM_XOR, ATOM_EXCH, ATOM_CAS, ATOM_OPS };
enum atom_type { ATOM_U32, ATOM_S32, ATOM_U64, ATOM_S64, ATOM_F32, ATOM_F64, ATOM_F16, ATOM_F16X2, ATOM_BF16, ATOM_BF16X2, ATOM_B16, ATOM_B128,
                 ATOM_TYPES };
handler atom_handler(enum atom_op op, enum atom_type type);     /* NULL: there is no such operation */

/* to[i] = op(to[i], from[i]) for n elements; parallel: each as one host atomic. Additions of f32 keep subnormals, unlike those of red. NULL: there is no such operation. */
typedef void (*atom_span)(void *to, const void *from, size_t n, bool parallel);
atom_span atom_span_of(enum atom_op op, enum atom_type type);

#endif
