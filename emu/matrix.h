/* ldmatrix, stmatrix, movmatrix: 8 x 8 matrices of 16 bits, and their relatives with smaller elements, between shared memory and registers.
 *
 * A register of such a matrix, as a row of the frame, is the matrix, row after row of 16 bytes. Only transposed ones take any work. */
#ifndef HEDDLE_EMU_MATRIX_H
#define HEDDLE_EMU_MATRIX_H
#include "emu/mem.h"

enum matrix_format {
    MATRIX_PLAIN,          /* 8 rows of 16 bytes */
    MATRIX_TRANS,          /* the same, 16-bit elements transposed */
    MATRIX_BYTES,          /* 16 rows of 16 bytes, transposed, in two registers (ldmatrix m16n16); 16 rows of 8 in one (stmatrix m16n8) */
};
enum matrix_packing { MATRIX_B8, MATRIX_B6 /* 16 of them in 96 bits */, MATRIX_B4 /* in 64 */ };

/* One instruction. The record's imm points at it; a = address row, b = range cache, extra = MEM_* fields. */
struct matrix {
    handler run;                               /* see emu/whole.h */
    int64_t offset;
    uint8_t format, packing, store;
    uint8_t n_rows;                            /* lanes that bring an address */
    uint8_t n_regs;
    uint32_t regs[4];                          /* rows */
};

/* Where the rows of the matrices are; true: at[0 .. n_rows) are set. False: a fault. A lane that has exited brings none: at is NULL there. emu/matrix.c */
bool matrix_addresses(const struct insn *in, struct warp *w, struct ctx *c, char *at[WARP_SIZE]);
/* Handlers of emu/isa_matrix.c: [format] for loads and for stores, and movmatrix. */
struct matrix_table { handler load[3], store[3], move; };
extern const struct matrix_table matrix_table_base, matrix_table_avx2, matrix_table_avx512;
const struct matrix_table *matrix_handlers(void);

#endif
