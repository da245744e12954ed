/* Products of matrices: mma, wmma, wgmma.
 *
 * One picture serves nearly all of them. A 32-bit register of a fragment, as a row of the frame, is eight rows of 16 bytes: lane 4g + t holds bytes
 * 4t .. 4t + 3 of row g. (f64: 32 bytes.) So for A a register is 8 rows of the matrix and 16 bytes along k, and for B 8 columns and 16 bytes along k.
 * An accumulator of 32 bits takes two registers for 8 x 8: the even columns and the odd ones; f16 accumulators have both in one.
 * Blocks of 8 rows or columns and pieces of 16 bytes are counted from 0; mma_a_reg, mma_b_reg and mma_c_reg say which register has which.
 * The fragments of wmma, which PTX leaves open, are the same (as they are on hardware from sm_75 on), whatever the layout in memory was.
 * Only mma.m8n8k4 with f16 has its own: four products, one for each pair of quads.
 *
 * What is computed where NVIDIA leaves it open:
 *   floats    Products are exact. They are added to the accumulator one after the other, k ascending, each addition rounded to nearest even in f32 (a fused
 *             multiply-add). Accumulators in f16 are widened before and rounded once, after the last. Tensor cores instead align a group of products and
 *             cut off low bits; against exact arithmetic the rule here errs by at most K * 2^-24 of the sum of the magnitudes, and less than they do.
 *             NaN is 7fffffff (f16: 7fff). tf32 is read without its low 13 bits.
 *   f64       Fused multiply-add, k ascending, in the given rounding.
 *   integers  The exact sum of all products is added to c: modulo 2^32, or clamped with .satfinite.
 *   scales    The products of one scale block are added exactly (in f64, e5m2 rounded), scaled, added to the accumulator, and rounded to f32.
 */
#ifndef HEDDLE_EMU_MMA_H
#define HEDDLE_EMU_MMA_H
#include "emu/engine.h"

enum mma_kind { MMA_FLOAT, MMA_DOUBLE, MMA_INT, MMA_BIT, MMA_KINDS };
enum mma_elem {
#define MMA_ELEM(id, type, bits, kind) MMA_##id,
#include "emu/mma.def"
#undef MMA_ELEM
    MMA_ELEMS
};

enum { MMA_SATFINITE = 1, MMA_AND = 2 /* of bits; otherwise xor */, MMA_NEGATE_A = 4, MMA_NEGATE_B = 8,
       MMA_QUAD_A_COL = 16, MMA_QUAD_B_ROW = 32 /* of m8n8k4 with f16 */ };
enum { MMA_REGS = 128 };                       /* of an operand, at most */

/* One instruction. The record's imm points at it. */
struct mma {
    handler run;                               /* does the whole warp: see emu/whole.h */
    uint16_t m, n, k;                          /* of the product that one warp computes; m = 16 for wgmma */
    uint8_t a, b, c, d;                        /* enum mma_elem */
    uint8_t kind, flags;
    uint8_t rounding;                          /* f64: as bits 13 and 14 of MXCSR */
    uint8_t unit;                              /* sparse A: bits of what an index selects, 8 or 16 (a pair of s4 or of e2m1, half a tf32); 0 = dense */
    uint8_t selector;                          /* which threads of a quad have the metadata */
    uint8_t scales, scale_type;                /* per row of A and column of B, 0 = none; enum ptx_type */
    uint32_t meta, scale[2], byte_id[2], thread_id[2];     /* rows */
    uint32_t n_a, n_b, n_c, n_d;               /* registers; rows: */
    uint32_t *a_rows, *b_rows, *c_rows, *d_rows;
    const struct mma_group *group;             /* that begins with this one, or NULL */
};

static inline unsigned mma_a_reg(unsigned m, unsigned pieces, unsigned block, unsigned piece)
{
    return m == 8 ? piece : (block >> 1) * 2 * pieces + piece * 2 + (block & 1);
}
static inline unsigned mma_b_reg(unsigned pieces, unsigned block, unsigned piece) { return block * pieces + piece; }
/* Number of the 8 x 8 block of accumulators; its registers are 2 * that and the next, or for f16 that alone. */
static inline unsigned mma_c_block(unsigned m, unsigned blocks_n, unsigned bm, unsigned bn)
{
    return m == 8 ? bn : ((bm >> 1) * blocks_n + bn) * 2 + (bm & 1);
}
unsigned mma_elem_bits(enum mma_elem e);
enum mma_kind mma_elem_kind(enum mma_elem e);
enum mma_elem mma_elem_of(enum ptx_type t);    /* MMA_ELEMS: none */

/* A product taken out of registers and memory. Rows of a and b are MMA_ROW bytes apart (f64: twice that); those of a are rows of A as stored (without the zeros of a sparse
 * matrix), those of b are columns of B. Accumulators: per block of 8 columns, m rows of 8, in the order of mma_order; f32, s32 or f64. */
enum { MMA_ROW = 64, MMA_MAX_M = 32, MMA_MAX_N = 256, MMA_MAX_K = 128 };
struct mma_tile {
    _Alignas(64) unsigned char a[MMA_MAX_M * MMA_ROW], b[MMA_MAX_N * MMA_ROW];
    union { float f[16 * MMA_MAX_N]; int32_t s[16 * MMA_MAX_N]; double d[16 * 8]; } acc;
    unsigned char index[16][MMA_MAX_K / 2];    /* sparse: the column of A that each stored element stands for */
    float scale_a[16][4], scale_b[8][4];
};
/* Column of the place i among eight accumulators: even ones first, as registers have them. */
#define mma_order(i) ((i) < 4 ? 2 * (i) : 2 * (i) - 7)

/* acc += a * b, NaN made canonical, integers clamped if asked. One per enum mma_kind and level of host instructions: emu/isa_mma.c */
typedef void (*mma_core)(const struct mma *op, struct mma_tile *t);
extern const mma_core mma_cores_base[MMA_KINDS], mma_cores_avx2[MMA_KINDS], mma_cores_avx512[MMA_KINDS];
void mma_multiply(const struct mma *op, struct mma_tile *t);

/* Handlers for the most frequent products, straight from rows: f16 or bf16, m16n8k8 and m16n8k16. [bf16][k16][f16 accumulators]; NULL: none. */
typedef handler mma_fast_table[2][2][2];
extern const mma_fast_table mma_fast_base, mma_fast_avx2, mma_fast_avx512;

/* Products that follow each other and share operands, as the inner loops of matrix kernels have them, run by one handler: an operand becomes floats once, and
 * stays in a slot as long as products use it. m16n8k16 of f16 or bf16 with f32 accumulators. Made as the groups of emu/fuse.h are, by decode_mma_group.c. */
enum { MMA_GROUP = 32, MMA_A_SLOTS = 4, MMA_B_SLOTS = 8 };
struct mma_group {
    uint32_t n;
    struct mma_part { const struct mma *op; uint8_t a, b /* slots */; bool new_a, new_b /* to be filled */; } of[MMA_GROUP];
};
typedef handler mma_group_table[2];            /* [bf16]; NULL: none */
extern const mma_group_table mma_group_base, mma_group_avx2, mma_group_avx512;

/* emu/mma.c */
void mma_prepare(void);                        /* tables that the cores read; before the first one runs */
extern float mma_small[MMA_ELEMS][256];        /* values of small floats */
handler mma_fast(const struct mma *op);        /* or NULL */
bool mma_groups(const struct insn *in);        /* a product of the kind that groups are made of */
const struct insn *run_mma(const struct insn *in, struct warp *w, struct ctx *c);
void mma_load_acc(const struct mma *op, const struct warp *w, struct mma_tile *t);
void mma_store_acc(const struct mma *op, struct warp *w, const struct mma_tile *t);
/* Rows of 16-byte pieces from registers: blocks of 8 rows. */
void mma_load_a(const struct mma *op, const struct warp *w, struct mma_tile *t);
void mma_load_index(const struct mma *op, const struct warp *w, struct mma_tile *t);
/* emu/mma_quad.c: mma.m8n8k4 with f16 */
const struct insn *run_mma_quad(const struct insn *in, struct warp *w, struct ctx *c);

#endif
