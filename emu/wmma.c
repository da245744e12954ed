/* wmma.load and wmma.store. */
#include "emu/wmma.h"

#include <string.h>

enum { MAX_LINES = 128 };

/* A matrix in memory: lines of contiguous elements. */
struct lines { char *at[MAX_LINES]; unsigned n, elements; };

static unsigned bytes_of(const struct wmma *op, unsigned elements) { return elements * mma_elem_bits((enum mma_elem)op->elem) / 8; }

/* How many lines there are and how long they are. */
static void shape_of(const struct wmma *op, struct lines *l)
{
    unsigned across = op->role == WMMA_B ? op->n : op->m, along = op->role == WMMA_C ? op->n : op->k;
    l->n = op->turned ? along : across;
    l->elements = op->turned ? across : along;
}

static uint64_t lane_address(const struct insn *in, const struct warp *w, const struct wmma *op, unsigned lane)
{
    uint64_t base = MEM_FORM(in->extra) == MEM_ROW32 ? ((const uint32_t *)row(w, in->a))[lane] : ((const uint64_t *)row(w, in->a))[lane];
    base += (uint64_t)op->offset;
    return MEM_SPACE(in->extra) == MEM_SHARED ? (uint32_t)base : base;
}

/* The first and the last element of a line, one after the other, so that the report names what is wrong. */
static bool check_line(const struct insn *in, struct warp *w, struct ctx *c, const struct wmma *op, unsigned lane, uint64_t address, unsigned bytes, char **at)
{
    char *found[WARP_SIZE];
    unsigned one = bytes_of(op, 1) ? bytes_of(op, 1) : 4;      /* sub-byte elements come in words */
    struct insn access = *in;
    access.extra = MEM_EXTRA(MEM_32, 0, MEM_SPACE(in->extra), MEM_FIXED, op->store ? MEM_STORE : 0);
    access.site = (uint16_t)in->b;
    access.imm = address + bytes - one;
    if (!mem_resolve(&access, w, c, 1u << lane, one, found)) return false;
    access.imm = address;
    if (!mem_resolve(&access, w, c, 1u << lane, one, found)) return false;
    *at = found[lane];
    return true;
}

/* What a timing model sees: the lines in pieces of 16 bytes, or of as many as make no more than a warp has lanes. */
static void note_lines(struct ctx *c, uint64_t first, uint64_t stride, unsigned bytes, unsigned n)
{
    unsigned piece = bytes < 16 ? bytes : 16, at = 0;
    while (n * (bytes / piece) > WARP_SIZE) piece *= 2;
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < bytes / piece; k++) c->event_address[at++] = first + i * stride + k * piece;
    c->event->bytes = (uint8_t)piece;
    c->event->lanes = at < WARP_SIZE ? (1u << at) - 1 : FULL_MASK;
}

static bool find_lines(const struct insn *in, struct warp *w, struct ctx *c, struct lines *l)
{
    const struct wmma *op = (const struct wmma *)(uintptr_t)in->imm;
    unsigned lane = (unsigned)__builtin_ctz(~w->exited);
    shape_of(op, l);
    uint64_t address = lane_address(in, w, op, lane), room = 0;
    uint64_t stride = bytes_of(op, op->stride ? ((const uint32_t *)row(w, op->stride))[lane] : l->elements);
    unsigned bytes = bytes_of(op, l->elements), one = bytes_of(op, 1) ? bytes_of(op, 1) : 4;
    uint64_t generic = MEM_SPACE(in->extra) == MEM_SHARED ? EMU_SHARED_WINDOW + address : address;
    char *base = c->event || address % one || stride % one ? NULL : mem_at(w, c, lane, generic, op->store, &room);
    if (base && room >= (l->n - 1) * stride + bytes) {
        for (unsigned i = 0; i < l->n; i++) l->at[i] = base + i * stride;
        return true;
    }
    for (unsigned i = l->n; i-- > 0;)
        if (!check_line(in, w, c, op, lane, address + i * stride, bytes, &l->at[i])) return false;
    if (c->event) note_lines(c, c->event_address[lane], stride, bytes, l->n);
    return true;
}

/* Sixteen bytes (f64: 32) of a fragment along k, or of f16 accumulators along n: elements `from` and following of line `line`, or across lines. */
static void move_piece(const struct wmma *op, const struct lines *l, char *piece, unsigned bytes, unsigned line, unsigned from)
{
    unsigned one = bytes_of(op, 1);
    if (!op->turned) {
        char *p = l->at[line] + bytes_of(op, from);
        if (op->store) memcpy(p, piece, bytes);
        else memcpy(piece, p, bytes);
        return;
    }
    for (unsigned i = 0; i < bytes / one; i++) {
        char *p = l->at[from + i] + line * one;
        if (op->store) memcpy(p, piece + i * one, one);
        else memcpy(piece + i * one, p, one);
    }
}

static void move_operand(const struct wmma *op, struct warp *w, const struct lines *l)
{
    unsigned bytes = op->elem == MMA_F64 ? 32 : 16, per = bytes * 8 / mma_elem_bits((enum mma_elem)op->elem), pieces = op->k / per;
    for (unsigned block = 0; block < (op->role == WMMA_A ? op->m : op->n) / 8u; block++)
        for (unsigned p = 0; p < pieces; p++) {
            unsigned reg = op->role == WMMA_A ? mma_a_reg(op->m, pieces, block, p) : mma_b_reg(pieces, block, p);
            for (unsigned g = 0; g < 8; g++) move_piece(op, l, (char *)row(w, op->regs[reg]) + g * bytes, bytes, block * 8 + g, p * per);
        }
}

/* Accumulators of 4 or 8 bytes: register h of a block has columns 2t + h. */
static void move_block(const struct wmma *op, struct warp *w, const struct lines *l, unsigned bm, unsigned bn, unsigned reg)
{
    unsigned one = bytes_of(op, 1);
    for (unsigned h = 0; h < 2; h++)
        for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
            unsigned m = bm * 8 + lane / 4, n = bn * 8 + lane % 4 * 2 + h;
            char *x = (char *)row(w, op->regs[reg + h]) + lane * one, *p = op->turned ? l->at[n] + m * one : l->at[m] + n * one;
            if (op->store) memcpy(p, x, one);
            else memcpy(x, p, one);
        }
}

static void move_accumulators(const struct wmma *op, struct warp *w, const struct lines *l)
{
    for (unsigned bm = 0; bm < op->m / 8u; bm++)
        for (unsigned bn = 0; bn < op->n / 8u; bn++) {
            unsigned block = mma_c_block(op->m, op->n / 8u, bm, bn);
            if (op->elem != MMA_F16) {
                move_block(op, w, l, bm, bn, 2 * block);
                continue;
            }
            for (unsigned g = 0; g < 8; g++) move_piece(op, l, (char *)row(w, op->regs[block]) + g * 16, 16, bm * 8 + g, bn * 8);
        }
}

const struct insn *run_wmma(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct wmma *op = (const struct wmma *)(uintptr_t)in->imm;
    struct lines l;
    if (!find_lines(in, w, c, &l)) return NULL;
    if (op->role == WMMA_C) move_accumulators(op, w, &l);
    else move_operand(op, w, &l);
    for (unsigned i = op->n_needed; i < op->n_regs && !op->store; i++) memcpy(row(w, op->regs[i]), row(w, op->regs[i % op->n_needed]), WARP_SIZE * 4);
    return in + 1;
}
