/* The end of decoding: from the decoder's lists to a record that never changes. */
#include <string.h>

#include "emu/decoder.h"

static int by_cta(const struct fill *f) { return f->kind == FILL_SREG && sreg_is_cta((enum ptx_sreg)f->sreg); }

/* The same for every level of vector instructions. */
static uint64_t fingerprint(const struct code *c)
{
    uint64_t h = 0xcbf29ce484222325u ^ c->frame_bytes;
    for (uint32_t i = 0; i < c->n_insns; i++) {
        const struct insn *in = &c->insns[i];
        const uint32_t facts[] = { in->d, in->a, in->b, in->c, in->guard, in->guard_flip, in->target, in->ptx, (uint32_t)in->site << 16 | in->charge, in->extra };
        for (size_t k = 0; k < sizeof facts / sizeof *facts; k++) h = (h ^ facts[k]) * 0x100000001b3u;
        h ^= h >> 29;
    }
    return h;
}

const struct code *decode_seal(struct decoder *d)
{
    struct code *c = arena_alloc(d->keep, sizeof *c);
    struct insn *insns = arena_dup(d->keep, d->out.at, d->out.n * sizeof *insns);
    char *image = arena_alloc(d->keep, d->image.n + 1);
    struct fill *fills = arena_alloc(d->keep, (d->fills.n + 1) * sizeof *fills);
    if (!c || !insns || !image || !fills) return NULL;
    if (d->image.n) memcpy(image, d->image.at, d->image.n);
    uint32_t n = 0;
    for (int cta = 0; cta < 2; cta++) {
        if (cta) c->first_cta_fill = n;
        for (size_t i = 0; i < d->fills.n; i++)
            if (by_cta(&d->fills.at[i]) == cta) fills[n++] = d->fills.at[i];
    }
    c->insns = insns;
    c->n_insns = (uint32_t)d->out.n;
    c->function = d->f;
    c->number = d->number;
    c->const_at = d->const_at;
    c->const_bytes = (uint32_t)d->image.n;
    c->const_image = image;
    c->frame_bytes = (d->const_at + c->const_bytes + 63) & ~63u;
    c->fills = fills;
    c->n_fills = n;
    c->local_bytes = d->local_bytes;
    c->param_at = d->param_at;
    c->param_words = d->param_words;
    c->return_at = d->return_at;
    c->return_words = d->return_words;
    c->fingerprint = fingerprint(c);
    return c;
}
