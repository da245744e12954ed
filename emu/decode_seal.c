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

static const struct code_names *names_of(const struct decoder *d)
{
    const struct ptx_function *f = d->f;
    struct code_names *c = arena_alloc(d->keep, sizeof *c);
    if (!c) return NULL;
    c->first = arena_dup(d->keep, d->record_of, (f->n_insns + 1) * sizeof *c->first);
    c->reg_row = arena_alloc(d->keep, (f->n_regs + 1) * sizeof *c->reg_row);
    c->var_row = arena_dup(d->keep, d->var_row, (f->n_vars + 1) * sizeof *c->var_row);
    c->local_at = arena_dup(d->keep, d->local_at, (f->n_vars + 1) * sizeof *c->local_at);
    if (!c->first || !c->reg_row || !c->var_row || !c->local_at) return NULL;
    for (uint32_t i = 0; i < f->n_regs; i++) c->reg_row[i] = d->regs[i].row;
    for (uint32_t i = 0; i < f->n_insns; i++) {
        const struct insn *r = &d->out.at[c->first[i]];
        while (r->full == run_meet || r->full == run_count) r++;
        c->first[i] = (uint32_t)(r - d->out.at);
    }
    return c;
}

const struct code *decode_seal(struct decoder *d)
{
    struct code *c = arena_alloc(d->keep, sizeof *c);
    struct insn *insns = arena_dup(d->keep, d->out.at, d->out.n * sizeof *insns);
    char *image = arena_alloc(d->keep, d->image.n + 1);
    struct fill *fills = arena_alloc(d->keep, (d->fills.n + 1) * sizeof *fills);
    if (!c || !insns || !image || !fills) return NULL;
    bool named = d->k->image->keep_rows && d->k->image->keep_copies;
    if (named && !(c->names = names_of(d))) return NULL;
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
