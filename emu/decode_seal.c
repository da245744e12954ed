/* The end of decoding: from the decoder's lists to a record that never changes. */
#include <string.h>

#include "emu/decoder.h"

static int by_cta(const struct fill *f) { return f->kind == FILL_SREG && sreg_is_cta((enum ptx_sreg)f->sreg); }

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
    return c;
}
