/* wgmma.mma_async: descriptors, and the product of one warp's sixteen rows. */
#include "emu/wgmma.h"

#include <string.h>

struct desc { uint32_t start, leading, stride, swizzle /* bytes, 0 = none */, base; };

static struct desc desc_of(uint64_t bits)
{
    static const uint8_t swizzles[4] = { 0, 128, 64, 32 };
    return (struct desc){ .start = (uint32_t)(bits & 0x3fff) << 4, .leading = (uint32_t)(bits >> 16 & 0x3fff) << 4, .stride = (uint32_t)(bits >> 32 & 0x3fff) << 4,
                          .swizzle = swizzles[bits >> 62], .base = (uint32_t)(bits >> 49 & 7) };
}

/* The pattern of a swizzle repeats every eight lines of its width; base says in which line of 128 bytes it starts when that is not the first. */
static uint32_t swizzled(const struct desc *d, uint32_t address)
{
    uint32_t mask = d->swizzle ? d->swizzle / 16 - 1 : 0;
    return address ^ ((((address >> 7) - d->base) & mask) << 4);
}

static uint32_t piece_address(const struct desc *d, unsigned r, unsigned piece)
{
    if (!d->swizzle) return d->start + r / 8 * d->stride + r % 8 * 16 + piece * d->leading;
    unsigned per_line = d->swizzle / 16;
    return swizzled(d, d->start + r / 8 * d->stride + r % 8 * d->swizzle + piece / per_line * d->leading + piece % per_line * 16);
}

/* The piece of eight rows (from r, a multiple of 8) at k. */
static uint32_t turned_address(const struct desc *d, unsigned r, unsigned k)
{
    if (!d->swizzle) return d->start + r / 8 * d->stride + k / 8 * d->leading + k % 8 * 16;
    unsigned per_line = d->swizzle / 16, block = r / 8;
    return swizzled(d, d->start + block % per_line * 16 + block / per_line * d->leading + k / 8 * d->stride + k % 8 * d->swizzle);
}

static const char *at(const struct insn *in, struct warp *w, struct ctx *c, uint32_t address)
{
    if (c->shared_bytes >= 16 && address <= c->shared_bytes - 16) return c->shared + address;
    insn_fault(in, w, c, (uint32_t)__builtin_ctz(~w->exited), ST_ILLEGAL_ADDRESS, "matrix descriptor reaches shared address 0x%x: the block has %u bytes of shared memory",
               address, c->shared_bytes);
    return NULL;
}

/* n rows from row `first` on, `bytes` along k, of which `bits` make an element. */
static bool load(const struct insn *in, struct warp *w, struct ctx *c, uint64_t desc, bool turned, unsigned first, unsigned n, unsigned bytes, unsigned char *to)
{
    struct desc d = desc_of(desc);
    for (unsigned r = 0; r < n && !turned; r++)
        for (unsigned piece = 0; piece < bytes / 16; piece++) {
            const char *p = at(in, w, c, piece_address(&d, first + r, piece));
            if (!p) return false;
            memcpy(to + r * MMA_ROW + piece * 16, p, 16);
        }
    for (unsigned r = 0; r < n && turned; r += 8)
        for (unsigned k = 0; k < bytes / 2; k++) {
            const char *p = at(in, w, c, turned_address(&d, first + r, k));
            if (!p) return false;
            for (unsigned i = 0; i < 8; i++) memcpy(to + (r + i) * MMA_ROW + 2 * k, p + 2 * i, 2);
        }
    return true;
}

const struct insn *run_wgmma(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct wgmma *op = (const struct wgmma *)(uintptr_t)in->imm;
    const struct mma *m = &op->mma;
    struct mma_tile t;
    unsigned lane = (unsigned)__builtin_ctz(~w->exited);
    unsigned b_bytes = m->k * mma_elem_bits((enum mma_elem)m->b) / 8, a_bytes = m->unit ? b_bytes / 2 : b_bytes;
    if (op->a_in_memory) {
        uint64_t desc = ((const uint64_t *)row(w, op->a_desc))[lane];
        if (!load(in, w, c, desc, op->a_turned, w->number % 4 * 16, 16, a_bytes, t.a)) return NULL;
    } else {
        mma_load_a(m, w, &t);
    }
    if (!load(in, w, c, ((const uint64_t *)row(w, op->b_desc))[lane], op->b_turned, 0, m->n, b_bytes, t.b)) return NULL;
    if ((mask_at(w, op->scale_d) ^ op->scale_d_flip) >> lane & 1) mma_load_acc(m, w, &t);
    else memset(t.acc.f, 0, m->m * m->n * sizeof t.acc.f[0]);
    if (m->unit) mma_load_index(m, w, &t);
    mma_multiply(m, &t);
    mma_store_acc(m, w, &t);
    return in + 1;
}
