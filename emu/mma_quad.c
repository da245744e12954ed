/* mma.m8n8k4 with f16: four products 8 x 8 x 4. Product q is that of lanes 4q .. 4q + 3 and 16 + 4q .. 16 + 4q + 3, numbered 0 to 7. */
#include "emu/lane_float.h"
#include "emu/mma.h"

typedef uint16_t half_word __attribute__((may_alias));
typedef float float_word __attribute__((may_alias));

static unsigned lane_of(unsigned q, unsigned i) { return 4 * q + (i & 3) + 16 * (i >> 2); }

/* Four halves of a thread, in two registers: a row of A (column of B), all four k; or, in the other layout, four rows of one half at k = i % 4. */
static void load_operand(unsigned char *to, const struct warp *w, const uint32_t *rows, unsigned q, bool across)
{
    for (unsigned i = 0; i < 8; i++)
        for (unsigned e = 0; e < 4; e++) {
            uint16_t x = ((const half_word *)row(w, rows[e / 2]))[2 * lane_of(q, i) + e % 2];
            unsigned line = across ? 4 * (i >> 2) + e : i, k = across ? i & 3 : e;
            *(half_word *)(void *)(to + line * MMA_ROW + 2 * k) = x;
        }
}

/* Where accumulator e of thread i lies: f16 have a row each; f32 are spread over two rows and pairs of columns. */
static unsigned place(bool half, unsigned i, unsigned e)
{
    unsigned m = half ? i : (i & 1) + 4 * (i >> 2) + (e & 2), n = half ? e : (e & 1) + (i & 2) + (e & 4);
    return m * 8 + (n & 1 ? 4 + n / 2 : n / 2);
}

static void load_acc(const struct mma *op, const struct warp *w, struct mma_tile *t, unsigned q)
{
    bool half = op->c == MMA_F16;
    for (unsigned i = 0; i < 8; i++)
        for (unsigned e = 0; e < 8; e++) {
            unsigned lane = lane_of(q, i);
            t->acc.f[place(half, i, e)] = half ? half_to_f32(((const half_word *)row(w, op->c_rows[e / 2]))[2 * lane + e % 2])
                                               : ((const float_word *)row(w, op->c_rows[e]))[lane];
        }
}

static void store_acc(const struct mma *op, struct warp *w, const struct mma_tile *t, unsigned q)
{
    bool half = op->d == MMA_F16;
    for (unsigned i = 0; i < 8; i++)
        for (unsigned e = 0; e < 8; e++) {
            float x = t->acc.f[place(half, i, e)];
            unsigned lane = lane_of(q, i);
            if (half)
                ((half_word *)row(w, op->d_rows[e / 2]))[2 * lane + e % 2] = (uint16_t)half_from_f32(x);
            else
                ((float_word *)row(w, op->d_rows[e]))[lane] = x;
        }
}

const struct insn *run_mma_quad(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct mma *op = (const struct mma *)(uintptr_t)in->imm;
    struct mma_tile t[4];
    (void)c;
    for (unsigned q = 0; q < 4; q++) {         /* the destination may be a source */
        load_operand(t[q].a, w, op->a_rows, q, op->flags & MMA_QUAD_A_COL);
        load_operand(t[q].b, w, op->b_rows, q, op->flags & MMA_QUAD_B_ROW);
        load_acc(op, w, &t[q], q);
    }
    for (unsigned q = 0; q < 4; q++) {
        mma_multiply(op, &t[q]);
        store_acc(op, w, &t[q], q);
    }
    return in + 1;
}
