/* Products of matrices: between the rows of a frame and the tile that the cores work on. */
#include "emu/mma.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "emu/isa.h"
#include "emu/lane_float.h"

static const struct { uint8_t bits, kind, type; } elems[MMA_ELEMS] = {
#define MMA_ELEM(id, type, bits, kind) [MMA_##id] = { bits, MMA_##kind, PTX_##type },
#define PTX_NONE PTX_TYPE_NONE
#include "emu/mma.def"
#undef PTX_NONE
#undef MMA_ELEM
};

unsigned mma_elem_bits(enum mma_elem e) { return elems[e].bits; }
enum mma_kind mma_elem_kind(enum mma_elem e) { return (enum mma_kind)elems[e].kind; }

enum mma_elem mma_elem_of(enum ptx_type t)
{
    for (unsigned e = 0; e < MMA_ELEMS; e++)
        if (t != PTX_TYPE_NONE && elems[e].type == t)
            return (enum mma_elem)e;
    return MMA_ELEMS;
}

/* ---- small floats --------------------------------------------------------------------------------------------------- */

float mma_small[MMA_ELEMS][256];

/* Sign, exponent and mantissa, the lowest bit at `shift`. e4m3 has no infinity and one NaN; e5m2 is as IEEE has it; the others have neither. */
static void fill_small(enum mma_elem e, int exponent_bits, int mantissa_bits, int shift)
{
    int bias = (1 << (exponent_bits - 1)) - 1, most = (1 << exponent_bits) - 1;
    for (int i = 0; i < 256; i++) {
        int x = i >> shift, mantissa = x & ((1 << mantissa_bits) - 1), exponent = x >> mantissa_bits & most;
        float f = exponent ? ldexpf((float)(mantissa + (1 << mantissa_bits)), exponent - bias - mantissa_bits) : ldexpf((float)mantissa, 1 - bias - mantissa_bits);
        if (e == MMA_E4M3 && exponent == most && mantissa == 7) f = NAN;
        if (e == MMA_E5M2 && exponent == most) f = mantissa ? NAN : INFINITY;
        mma_small[e][i] = x >> (mantissa_bits + exponent_bits) & 1 ? -f : f;
    }
}

static void fill_tables(void)
{
    fill_small(MMA_E4M3, 4, 3, 0);
    fill_small(MMA_E5M2, 5, 2, 0);
    fill_small(MMA_E3M2, 3, 2, 0);
    fill_small(MMA_E2M3, 2, 3, 0);
    fill_small(MMA_E2M1, 2, 1, 2);
    fill_small(MMA_E2M1_PACKED, 2, 1, 0);
}

void mma_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_tables);
}

/* ---- registers to tile and back --------------------------------------------------------------------------------------- */

static unsigned piece_bytes(const struct mma *op) { return op->kind == MMA_DOUBLE ? 32 : 16; }

/* Pieces of a row of A as stored, and of a column of B. */
static unsigned pieces_a(const struct mma *op) { return (unsigned)op->k * elems[op->a].bits / (op->unit ? 2 : 1) / 8 / piece_bytes(op); }
static unsigned pieces_b(const struct mma *op) { return (unsigned)op->k * elems[op->b].bits / 8 / piece_bytes(op); }

/* Eight rows of one piece. */
static void load_block(unsigned char *to, unsigned stride, const char *from, unsigned bytes)
{
    for (unsigned i = 0; i < 8; i++)
        memcpy(to + i * stride, from + i * bytes, bytes);
}

static unsigned stride_of(const struct mma *op) { return op->kind == MMA_DOUBLE ? 2 * MMA_ROW : MMA_ROW; }

void mma_load_a(const struct mma *op, const struct warp *w, struct mma_tile *t)
{
    unsigned pieces = pieces_a(op), bytes = piece_bytes(op), stride = stride_of(op);
    for (unsigned block = 0; block < op->m / 8u; block++)
        for (unsigned p = 0; p < pieces; p++)
            load_block(t->a + block * 8 * stride + p * bytes, stride, row(w, op->a_rows[mma_a_reg(op->m, pieces, block, p)]), bytes);
}

static void load_b(const struct mma *op, const struct warp *w, struct mma_tile *t)
{
    unsigned pieces = pieces_b(op), bytes = piece_bytes(op), stride = stride_of(op);
    for (unsigned block = 0; block < op->n / 8u; block++)
        for (unsigned p = 0; p < pieces; p++)
            load_block(t->b + block * 8 * stride + p * bytes, stride, row(w, op->b_rows[mma_b_reg(pieces, block, p)]), bytes);
}

/* Each call does one 8 x 8 block of accumulators. */
typedef uint16_t half_word __attribute__((may_alias));

static void load_half_block(float *to, const half_word *from)
{
    for (unsigned i = 0; i < 64; i++)
        to[i] = half_to_f32(from[(i & ~7u) + mma_order(i & 7)]);
}

static void store_half_block(half_word *to, const float *from)
{
    for (unsigned i = 0; i < 64; i++)
        to[(i & ~7u) + mma_order(i & 7)] = (uint16_t)half_from_f32(from[i]);
}

static void load_pair_block(char *to, const char *even, const char *odd, unsigned bytes)
{
    for (unsigned i = 0; i < 8; i++) {
        memcpy(to + i * 2 * bytes, even + i * bytes, bytes);
        memcpy(to + i * 2 * bytes + bytes, odd + i * bytes, bytes);
    }
}

static void store_pair_block(char *even, char *odd, const char *from, unsigned bytes)
{
    for (unsigned i = 0; i < 8; i++) {
        memcpy(even + i * bytes, from + i * 2 * bytes, bytes);
        memcpy(odd + i * bytes, from + i * 2 * bytes + bytes, bytes);
    }
}

static unsigned block_at(const struct mma *op, unsigned bm, unsigned bn) { return bn * op->m * 8u + bm * 64; }

void mma_load_acc(const struct mma *op, const struct warp *w, struct mma_tile *t)
{
    for (unsigned bn = 0; bn < op->n / 8u; bn++)
        for (unsigned bm = 0; bm < op->m / 8u; bm++) {
            unsigned r = mma_c_block(op->m, op->n / 8u, bm, bn), at = block_at(op, bm, bn);
            if (op->c == MMA_F16)
                load_half_block(t->acc.f + at, row(w, op->c_rows[r]));
            else if (op->c == MMA_F64)
                load_pair_block((char *)(t->acc.d + at), row(w, op->c_rows[2 * r]), row(w, op->c_rows[2 * r + 1]), 32);
            else
                load_pair_block((char *)(t->acc.f + at), row(w, op->c_rows[2 * r]), row(w, op->c_rows[2 * r + 1]), 16);
        }
}

void mma_store_acc(const struct mma *op, struct warp *w, const struct mma_tile *t)
{
    for (unsigned bn = 0; bn < op->n / 8u; bn++)
        for (unsigned bm = 0; bm < op->m / 8u; bm++) {
            unsigned r = mma_c_block(op->m, op->n / 8u, bm, bn), at = block_at(op, bm, bn);
            if (op->d == MMA_F16)
                store_half_block(row(w, op->d_rows[r]), t->acc.f + at);
            else if (op->d == MMA_F64)
                store_pair_block(row(w, op->d_rows[2 * r]), row(w, op->d_rows[2 * r + 1]), (const char *)(t->acc.d + at), 32);
            else
                store_pair_block(row(w, op->d_rows[2 * r]), row(w, op->d_rows[2 * r + 1]), (const char *)(t->acc.f + at), 16);
        }
}

/* ---- sparse A --------------------------------------------------------------------------------------------------------- */

/* Four bits of metadata say which two of four units are stored. A unit is 16 bits wide (f16, bf16, half a tf32) or 8 (an 8-bit element, a pair of 4-bit ones).
 * A thread's 32 bits cover, for units of 16 bits, 16 units of row g (low half) and of row g + 8 (high half); successive threads have successive columns. For
 * units of 8 bits they cover 32 units of one row: threads alternate between rows g and g + 8. The selector names the first thread of the quad. */
static uint32_t meta_of(const struct mma *op, const uint32_t *meta, unsigned m, unsigned chunk)
{
    unsigned quad = 4 * (m & 7), high = m >> 3;
    if (op->unit == 16) {
        unsigned columns = (unsigned)op->k * elems[op->a].bits / 16;
        unsigned first = columns == 16 ? op->selector : 2u * op->selector;
        return meta[quad + (first + chunk / 4) % 4] >> (16 * high + 4 * (chunk % 4)) & 15;
    }
    return meta[quad + (2u * op->selector + 2 * (chunk / 8) + high) % 4] >> 4 * (chunk % 8) & 15;
}

void mma_load_index(const struct mma *op, const struct warp *w, struct mma_tile *t)
{
    const uint32_t *meta = row(w, op->meta);
    unsigned bits = elems[op->a].bits, chunks = op->k * bits / op->unit / 4, per_unit = op->unit / bits;
    for (unsigned m = 0; m < 16; m++)
        for (unsigned chunk = 0; chunk < chunks; chunk++) {
            uint32_t x = meta_of(op, meta, m, chunk), at[2] = { x & 3, x >> 2 };
            unsigned char *to = t->index[m];
            if (bits == 32) {                  /* one tf32 of two: its two halves are stored */
                to[chunk] = (unsigned char)(chunk * 2 + (at[0] >> 1));
                continue;
            }
            for (unsigned i = 0; i < 2 * per_unit; i++)
                to[chunk * 2 * per_unit + i] = (unsigned char)((chunk * 4 + at[i / per_unit]) * per_unit + i % per_unit);
        }
}

/* ---- block scales -------------------------------------------------------------------------------------------------------- */

/* ue8m0: a power of two, 255 = NaN. ue4m3: as e4m3 without sign. */
static float scale_value(unsigned bits, unsigned type)
{
    if (type == PTX_UE4M3) return mma_small[MMA_E4M3][bits & 0x7f];
    return bits == 255 ? NAN : ldexpf(1.0f, (int)bits - 127);
}

/* Row g and row g + 8 of A have their scales in the first and second thread of the pair that thread_id names; column g of B in the thread it names. */
static void load_scales(const struct mma *op, const struct warp *w, struct mma_tile *t)
{
    const uint32_t *sa = row(w, op->scale[0]), *sb = row(w, op->scale[1]);
    unsigned byte_a = *(const uint16_t *)row(w, op->byte_id[0]) & 3, byte_b = *(const uint16_t *)row(w, op->byte_id[1]) & 3;
    unsigned thread_a = *(const uint16_t *)row(w, op->thread_id[0]) & 1, thread_b = *(const uint16_t *)row(w, op->thread_id[1]) & 3;
    for (unsigned s = 0; s < op->scales; s++) {
        for (unsigned m = 0; m < 16; m++)
            t->scale_a[m][s] = scale_value(sa[4 * (m & 7) + 2 * thread_a + (m >> 3)] >> 8 * ((byte_a + s) & 3) & 255, op->scale_type);
        for (unsigned n = 0; n < 8; n++)
            t->scale_b[n][s] = scale_value(sb[4 * n + thread_b] >> 8 * ((byte_b + s) & 3) & 255, op->scale_type);
    }
}

/* ---- the product ---------------------------------------------------------------------------------------------------------- */

void mma_multiply(const struct mma *op, struct mma_tile *t)
{
    static const mma_core *const cores[] = { mma_cores_base, mma_cores_avx2, mma_cores_avx512 };
    cores[isa_level()][op->kind](op, t);
}

/* The fast ones write the upper eight rows of D before they read the lower eight of C. */
static bool d_before_c(const struct mma *op)
{
    for (unsigned d = 0; d < op->n_d / 2; d++)
        for (unsigned c = op->n_c / 2; c < op->n_c; c++)
            if (op->d_rows[d] == op->c_rows[c])
                return true;
    return false;
}

static const mma_fast_table *const fast_tables[] = { &mma_fast_base, &mma_fast_avx2, &mma_fast_avx512 };

handler mma_fast(const struct mma *op)
{
    if ((op->a != MMA_F16 && op->a != MMA_BF16) || op->a != op->b || op->c != op->d || op->unit || op->m != 16 || op->n != 8 || d_before_c(op))
        return NULL;
    return op->k == 8 || op->k == 16 ? (*fast_tables[isa_level()])[op->a == MMA_BF16][op->k == 16][op->c == MMA_F16] : NULL;
}

bool mma_groups(const struct insn *in)
{
    const mma_fast_table *t = fast_tables[isa_level()];
    return in->full && (in->full == (*t)[0][1][0] || in->full == (*t)[1][1][0]);
}

const struct insn *run_mma(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct mma *op = (const struct mma *)(uintptr_t)in->imm;
    struct mma_tile t;
    (void)c;
    mma_load_a(op, w, &t);
    load_b(op, w, &t);
    mma_load_acc(op, w, &t);
    if (op->unit) mma_load_index(op, w, &t);
    if (op->scales) load_scales(op, w, &t);
    mma_multiply(op, &t);
    mma_store_acc(op, w, &t);
    return in + 1;
}
