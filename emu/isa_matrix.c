/* ldmatrix, stmatrix, movmatrix. Compiled once for each level of host vector instructions. */
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "emu/matrix.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define INLINE static inline __attribute__((always_inline))

INLINE const struct matrix *op_of(const struct insn *in) { return (const struct matrix *)(uintptr_t)in->imm; }

/* 16 bytes of a row of the frame, and of memory: a NULL address is that of a lane that is not there. */
INLINE void copy16(char *to, const char *from) { memcpy(to, from, 16); }

/* In shared memory, with 32-bit addresses that are right, all rows are found without looking further. */
INLINE bool quick_addresses(const struct insn *in, const struct warp *w, const struct ctx *c, char *at[WARP_SIZE])
{
    const struct matrix *op = op_of(in);
    if (MEM_SPACE(in->extra) != MEM_SHARED || MEM_FORM(in->extra) != MEM_ROW32 || c->event || w->exited || c->shared_bytes < 16) return false;
    const uint32_t *a = (const uint32_t *)row(w, in->a);
    uint32_t offset = (uint32_t)op->offset, most = c->shared_bytes - 16, bad = 0;
    for (unsigned i = 0; i < op->n_rows; i++) {
        uint32_t x = a[i] + offset;
        bad |= (x & 15) | (uint32_t)(x > most);
        at[i] = c->shared + x;
    }
    return !bad;
}

/* A matrix of 8 x 8 16-bit elements, rows of 16 bytes, transposed. */
INLINE void transpose(char *to, const char *const from[8])
{
    static const char nothing[16];
    __m128i x[8], y[8];
    for (unsigned i = 0; i < 8; i++)
        x[i] = _mm_loadu_si128((const __m128i *)(const void *)(from[i] ? from[i] : nothing));
    for (unsigned i = 0; i < 4; i++) {
        y[2 * i] = _mm_unpacklo_epi16(x[2 * i], x[2 * i + 1]);
        y[2 * i + 1] = _mm_unpackhi_epi16(x[2 * i], x[2 * i + 1]);
    }
    for (unsigned i = 0; i < 2; i++)
        for (unsigned h = 0; h < 2; h++) {
            x[4 * i + 2 * h] = _mm_unpacklo_epi32(y[4 * i + h], y[4 * i + 2 + h]);
            x[4 * i + 2 * h + 1] = _mm_unpackhi_epi32(y[4 * i + h], y[4 * i + 2 + h]);
        }
    for (unsigned i = 0; i < 4; i++) {
        _mm_store_si128((__m128i *)(void *)(to + 32 * i), _mm_unpacklo_epi64(x[i], x[4 + i]));
        _mm_store_si128((__m128i *)(void *)(to + 32 * i + 16), _mm_unpackhi_epi64(x[i], x[4 + i]));
    }
}

/* Sixteen elements of 6 or 4 bits, each into the low bits of a byte. */
static void unpack(unsigned char to[16], const char *from, unsigned packing)
{
    uint64_t x[2];
    memcpy(x, from, 16);
    if (packing == MATRIX_B4) {
        for (unsigned i = 0; i < 16; i++) to[i] = x[0] >> 4 * i & 15;
        return;
    }
    for (unsigned i = 0; i < 16; i++) {
        unsigned bit = 6 * i;
        uint64_t v = bit < 64 ? x[0] >> bit | (bit > 58 ? x[1] << (64 - bit) : 0) : x[1] >> (bit - 64);
        to[i] = v & 63;
    }
}

INLINE void load_row(char *to, const char *from, unsigned packing)
{
    unsigned char bytes[16];
    if (!from) {
        memset(to, 0, 16);
    } else if (packing == MATRIX_B8) {
        copy16(to, from);
    } else {
        unpack(bytes, from, packing);
        memcpy(to, bytes, 16);
    }
}

static const struct insn *load_plain(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct matrix *op = op_of(in);
    char *at[WARP_SIZE];
    if (__builtin_expect(quick_addresses(in, w, c, at) && op->packing == MATRIX_B8, 1)) {
        for (unsigned r = 0; r < op->n_regs; r++) {
            char *to = row(w, op->regs[r]);
            for (unsigned i = 0; i < 8; i++) copy16(to + 16 * i, at[8 * r + i]);
        }
        return in + 1;
    }
    if (!matrix_addresses(in, w, c, at)) return NULL;
    for (unsigned r = 0; r < op->n_regs; r++)
        for (unsigned i = 0; i < 8; i++) load_row((char *)row(w, op->regs[r]) + 16 * i, at[8 * r + i], op->packing);
    return in + 1;
}

static const struct insn *load_trans(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct matrix *op = op_of(in);
    char *at[WARP_SIZE];
    if (!quick_addresses(in, w, c, at) && !matrix_addresses(in, w, c, at)) return NULL;
    for (unsigned r = 0; r < op->n_regs; r++) transpose(row(w, op->regs[r]), (const char *const *)at + 8 * r);
    return in + 1;
}

/* m16n16: register 2i + r of lane 4g + t has byte g + 8r of rows 4t .. 4t + 3 of matrix i. */
static const struct insn *load_bytes(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct matrix *op = op_of(in);
    char *at[WARP_SIZE];
    if (!matrix_addresses(in, w, c, at)) return NULL;
    for (unsigned i = 0; i < op->n_regs / 2u; i++) {
        char x[16][16];
        for (unsigned k = 0; k < 16; k++) load_row(x[k], at[16 * i + k], op->packing);
        for (unsigned r = 0; r < 2; r++)
            for (unsigned g = 0; g < 8; g++)
                for (unsigned k = 0; k < 16; k++) ((char *)row(w, op->regs[2 * i + r]))[16 * g + k] = x[k][g + 8 * r];
    }
    return in + 1;
}

static const struct insn *store_plain(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct matrix *op = op_of(in);
    char *at[WARP_SIZE];
    if (!quick_addresses(in, w, c, at) && !matrix_addresses(in, w, c, at)) return NULL;
    for (unsigned r = 0; r < op->n_regs; r++)
        for (unsigned i = 0; i < 8; i++)
            if (at[8 * r + i]) copy16(at[8 * r + i], (const char *)row(w, op->regs[r]) + 16 * i);
    return in + 1;
}

static const struct insn *store_trans(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct matrix *op = op_of(in);
    char *at[WARP_SIZE];
    if (!quick_addresses(in, w, c, at) && !matrix_addresses(in, w, c, at)) return NULL;
    for (unsigned r = 0; r < op->n_regs; r++) {
        _Alignas(16) char x[128];
        const char *rows[8];
        for (unsigned i = 0; i < 8; i++) rows[i] = (const char *)row(w, op->regs[r]) + 16 * i;
        transpose(x, rows);
        for (unsigned i = 0; i < 8; i++)
            if (at[8 * r + i]) copy16(at[8 * r + i], x + 16 * i);
    }
    return in + 1;
}

/* m16n8: byte e of lane 4g + t is row g + 8 * (e / 2) and column 2t + e % 2 of a matrix that memory has column after column, 16 bytes each. */
static const struct insn *store_bytes(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct matrix *op = op_of(in);
    char *at[WARP_SIZE];
    if (!matrix_addresses(in, w, c, at)) return NULL;
    for (unsigned r = 0; r < op->n_regs; r++) {
        const char *from = row(w, op->regs[r]);
        for (unsigned column = 0; column < 8; column++) {
            char x[16];
            for (unsigned m = 0; m < 16; m++) x[m] = from[4 * (4 * (m & 7) + column / 2) + 2 * (m >> 3) + column % 2];
            if (at[8 * r + column]) copy16(at[8 * r + column], x);
        }
    }
    return in + 1;
}

static const struct insn *move(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct matrix *op = op_of(in);
    const char *rows[8];
    (void)c;
    for (unsigned i = 0; i < 8; i++) rows[i] = (const char *)row(w, op->regs[1]) + 16 * i;
    transpose(row(w, op->regs[0]), rows);
    return in + 1;
}

const struct matrix_table PASTE(matrix_table, LANE_ISA) = { { load_plain, load_trans, load_bytes }, { store_plain, store_trans, store_bytes }, move };
