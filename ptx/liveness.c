/* Which registers an instruction reads and writes, and which are live where. */
#include "ptx/isa.h"

#include <stdlib.h>
#include <string.h>

typedef void reg_fn(void *user, int32_t reg, bool write);

struct visit { const struct ptx_function *f; reg_fn *fn; void *user; bool write; };

static void visit_reg(const struct visit *v, int32_t reg)
{
    if (reg < 0 || (uint32_t)reg >= v->f->n_regs)
        return;
    v->fn(v->user, reg, v->write);
}

/* Registers of an operand. The base of an address is only ever read. */
static void visit_operand(const struct visit *v, const struct ptx_operand *o, int depth)
{
    switch ((enum ptx_operand_kind)o->kind) {
    case PTX_OPERAND_REG:
        visit_reg(v, o->index);
        break;
    case PTX_OPERAND_MEM:
        if (!v->write)
            visit_reg(v, o->index);
        break;
    case PTX_OPERAND_VEC:
    case PTX_OPERAND_LIST:
    case PTX_OPERAND_TEXMEM:
        for (uint32_t i = 0; depth < 8 && i < o->count; i++)
            visit_operand(v, &v->f->vec_pool[o->first + i], depth + 1);
        break;
    case PTX_OPERAND_NONE:
    case PTX_OPERAND_IMM:
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64:
    case PTX_OPERAND_SREG:
    case PTX_OPERAND_SYM:
    case PTX_OPERAND_LABEL:
    case PTX_OPERAND_SINK:
        break;
    }
}

/* How many operands from the left are written, and whether they are read too. */
static unsigned written(const struct ptx_insn *in, bool *read_too)
{
    const struct ptx_form *form = ptx_form_at(in->row);
    *read_too = false;
    if (in->op == PTX_OP_CALL)
        return in->operands[0].kind == PTX_OPERAND_LIST;
    if (!form || form->n_places == 0 || !form->places[0].writes)
        return 0;
    *read_too = form->places[0].reads;
    unsigned n = in->has_pair ? 2 : 1;
    return n + (form->n_places > 1 && form->places[1].writes);
}

void ptx_insn_regs(const struct ptx_function *f, const struct ptx_insn *in, reg_fn *fn, void *user)
{
    struct visit v = { f, fn, user, false };
    bool read_too;
    unsigned n = written(in, &read_too);
    if (in->guard >= 0)
        fn(user, in->guard, false);
    for (unsigned i = 0; i < in->n_operands; i++) {
        const struct ptx_operand *o = &in->operands[i];
        bool part = o->kind == PTX_OPERAND_REG && o->component != PTX_SELECT_NONE;
        if (i >= n || read_too || part || in->guard >= 0)
            visit_operand(&v, o, 0);
    }
    v.write = true;
    for (unsigned i = 0; i < n; i++)
        visit_operand(&v, &in->operands[i], 0);
}

/* ---- liveness ----------------------------------------------------------------------------------------- */

struct marks { uint64_t *use, *def; };

static void mark(void *user, int32_t reg, bool write)
{
    struct marks *m = user;
    uint64_t bit = 1ull << ((unsigned)reg % 64), *word = &m->def[(unsigned)reg / 64];
    if (write)
        *word |= bit;
    else if (!(*word & bit))
        m->use[(unsigned)reg / 64] |= bit;
}

/* One backward step of a block; true when its live-in grew. */
static bool flow(struct ptx_liveness *l, const struct ptx_cfg *cfg, uint32_t b, const uint64_t *use, const uint64_t *def)
{
    uint64_t *in = l->live_in + (size_t)b * l->words, *out = l->live_out + (size_t)b * l->words;
    bool grew = false;
    for (uint32_t s = 0; s < cfg->blocks[b].n_succ; s++) {
        const uint64_t *from = l->live_in + (size_t)cfg->blocks[b].succ[s] * l->words;
        for (uint32_t w = 0; w < l->words; w++)
            out[w] |= from[w];
    }
    for (uint32_t w = 0; w < l->words; w++) {
        uint64_t now = use[w] | (out[w] & ~def[w]);
        grew |= now != in[w];
        in[w] = now;
    }
    return grew;
}

enum status ptx_liveness_build(struct ptx_liveness *out, const struct ptx_function *f, const struct ptx_cfg *cfg, struct arena *a,
                               struct error *err)
{
    uint32_t words = (f->n_regs + 63) / 64;
    size_t n = (size_t)words * cfg->n_blocks;
    *out = (struct ptx_liveness){ .words = words };
    if (n == 0)
        return ST_OK;
    uint64_t *sets = calloc(2 * n, sizeof *sets);
    out->live_in = arena_alloc(a, n * sizeof *out->live_in);
    out->live_out = arena_alloc(a, n * sizeof *out->live_out);
    if (!sets || !out->live_in || !out->live_out) {
        free(sets);
        return error_set(err, ST_OUT_OF_MEMORY, "no memory for the liveness of '%s'", f->name);
    }
    for (uint32_t b = 0; b < cfg->n_blocks; b++) {
        struct marks m = { sets + (size_t)b * words, sets + n + (size_t)b * words };
        for (uint32_t i = cfg->blocks[b].first; i < cfg->blocks[b].last; i++)
            ptx_insn_regs(f, &f->insns[i], mark, &m);
    }
    for (bool grew = true; grew;) {
        grew = false;
        for (uint32_t b = cfg->n_blocks; b-- > 0;)
            grew |= flow(out, cfg, b, sets + (size_t)b * words, sets + n + (size_t)b * words);
    }
    free(sets);
    return ST_OK;
}
