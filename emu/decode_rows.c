/* Registers to rows: the first pass over a function.
 *
 * Copies fold. A register with one unguarded definition that copies a constant, a special register, a whole kernel parameter or another such register
 * becomes an alias, and its instruction needs no record. A copy of a register r stays valid as long as r is not written again: that
 * needs r to have one definition too, and the copy to be dead whenever that one runs (a loop may run it twice).
 *
 * Rows are shared between registers of the same width whose live ranges, in instruction order, do not meet. Divergence needs nothing more: lane l
 * of a row is written only when lane l executes, and what lane l executes is a path of the control-flow graph, for which liveness holds. Rows of different
 * widths never share memory, because there lane l of one overlaps other lanes of the other. */
#include <stdlib.h>
#include <string.h>

#include "emu/decoder.h"

enum {
    SHAPE_USES = 2,                            /* accesses through one register that make it worth knowing the shape of its row */
    SHAPE_FRAME = 64 * UINT16_MAX              /* shapes lie below, so that a record can name them */
};

struct scan { struct decoder *d; uint32_t at; };

static void scan_reg(void *user, int32_t reg, bool write)
{
    struct scan *s = user;
    struct reg_info *r = &s->d->regs[reg];
    if (write) {
        r->n_defs++;
        r->def_at = s->at;
    } else {
        r->n_uses++;
    }
    if (s->at < r->lo) r->lo = s->at;
    if (s->at > r->hi || r->hi == UINT32_MAX) r->hi = s->at;
}

static void scan_registers(struct decoder *d)
{
    const struct ptx_function *f = d->f;
    for (uint32_t i = 0; i < f->n_regs; i++)
        d->regs[i] = (struct reg_info){ .width = (uint8_t)decode_type_width((enum ptx_type)f->regs[i].type), .lo = UINT32_MAX, .hi = 0 };
    struct scan s = { d, 0 };
    for (; s.at < f->n_insns; s.at++) ptx_insn_regs(f, &f->insns[s.at], scan_reg, &s);
}

bool decode_is_late(const struct ptx_insn *in)
{
    bool access = in->op == PTX_OP_LD || in->op == PTX_OP_ST;
    return in->op == PTX_OP_ATOM || in->op == PTX_OP_RED || (access && decode_is_strong(in));
}

static void pin(void *user, int32_t reg, bool write)
{
    (void)write;
    ((struct decoder *)user)->regs[reg].pinned = true;
}

static void pin_registers(struct decoder *d)
{
    for (uint32_t i = 0; i < d->f->n_insns; i++)
        if (decode_is_late(&d->f->insns[i])) ptx_insn_regs(d->f, &d->f->insns[i], pin, d);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static bool single(const struct decoder *d, const struct ptx_operand *o)
{
    return o->kind == PTX_OPERAND_REG && !o->component && d->regs[o->index].n_defs == 1 && d->regs[o->index].width && !d->regs[o->index].pinned;
}

static bool live_in(const struct ptx_liveness *live, uint32_t block, int32_t reg)
{
    return live->live_in[(size_t)block * live->words + (uint32_t)reg / 64] >> ((uint32_t)reg % 64) & 1;
}

static bool fold_register(struct decoder *d, const struct ptx_liveness *live, uint32_t at, int32_t to, int32_t from)
{
    const struct reg_info *root = &d->regs[from];
    if (root->n_defs != 1 || root->def_at > at || root->width != d->regs[to].width) return false;
    int32_t r = from;
    while (root->alias.kind == ALIAS_REG) root = &d->regs[r = root->alias.reg];
    if (root->alias.kind != ALIAS_NONE) {
        d->regs[to].alias = root->alias;
        return true;
    }
    uint32_t block = d->cfg.block_of[root->def_at];
    if (d->f->insns[root->def_at].guard >= 0 || live_in(live, block, to)) return false;
    if (d->cfg.block_of[at] == block && at < root->def_at) return false;
    d->regs[to].alias = (struct alias){ .kind = ALIAS_REG, .reg = r };
    return true;
}

static bool fold_constant(struct decoder *d, int32_t to, const struct const_desc *k)
{
    d->regs[to].alias = (struct alias){ .kind = ALIAS_CONST, .k = *k };
    return true;
}

static uint64_t cut(uint64_t bits, unsigned width) { return width < 8 ? bits & ((1ull << (8 * width)) - 1) : bits; }

static bool fold_mov(struct decoder *d, const struct ptx_liveness *live, uint32_t at, const struct ptx_insn *in)
{
    const struct ptx_operand *o = &in->operands[1];
    enum ptx_type t = (enum ptx_type)in->types[0];
    int32_t to = in->operands[0].index;
    unsigned width = d->regs[to].width;
    struct const_desc k = { .kind = CONST_BITS };
    if (decode_type_width(t) != width || width > 8) return false;
    switch (o->kind) {
    case PTX_OPERAND_REG: return !o->component && fold_register(d, live, at, to, o->index);
    case PTX_OPERAND_IMM: k.bits = cut(o->bits, width); return fold_constant(d, to, &k);
    case PTX_OPERAND_F32: k.bits = o->bits; return width == 4 && fold_constant(d, to, &k);
    case PTX_OPERAND_F64: k.bits = o->bits; return width == 8 && fold_constant(d, to, &k);
    case PTX_OPERAND_SYM: return decode_symbol_desc(d, o->sym, o->bits, &k) && (k.bits = cut(k.bits, width), fold_constant(d, to, &k));
    case PTX_OPERAND_SREG:
        if (!sreg_is_constant((enum ptx_sreg)o->index) || decode_type_width(ptx_sreg_type((enum ptx_sreg)o->index)) != width) return false;
        k = (struct const_desc){ .kind = CONST_SREG, .sreg = (uint16_t)o->index, .component = o->component };
        return fold_constant(d, to, &k);
    default: return false;
    }
}

/* Global and constant addresses are generic addresses. */
static bool fold_cvta(struct decoder *d, const struct ptx_liveness *live, uint32_t at, const struct ptx_insn *in)
{
    const struct ptx_operand *o = &in->operands[1];
    int32_t to = in->operands[0].index;
    struct const_desc k;
    if (in->space != PTX_SPACE_GLOBAL && in->space != PTX_SPACE_CONST) return false;
    if (d->regs[to].width != 8) return false;
    if (o->kind == PTX_OPERAND_REG && !o->component) return fold_register(d, live, at, to, o->index);
    return o->kind == PTX_OPERAND_SYM && decode_symbol_desc(d, o->sym, o->bits, &k) && k.kind == CONST_BITS && fold_constant(d, to, &k);
}

static bool fold_param_one(struct decoder *d, const struct ptx_insn *in, const struct ptx_operand *to, const struct ptx_var *v, uint32_t own,
                           uint32_t at, bool apply)
{
    enum ptx_type t = (enum ptx_type)in->types[0];
    unsigned bytes = ptx_type_bytes(t);
    if (!single(d, to) || bytes > 8) return false;
    struct reg_info *r = &d->regs[to->index];
    if (d->f->is_entry) {
        struct const_desc k = { .kind = CONST_PARAM, .bytes = (uint8_t)bytes, .sign = ptx_type_kind(t) == PTX_KIND_SIGNED, .bits = v->offset + at };
        return r->width >= bytes && (!apply || fold_constant(d, to->index, &k));
    }
    if (bytes != 4 || r->width != 4 || at % 4 || !d->var_row[own]) return false;
    if (apply) r->alias = (struct alias){ .kind = ALIAS_ROW, .row = d->var_row[own] + at / 4 * 128 };
    return true;
}

static bool is_own_param(const struct decoder *d, uint32_t own)
{
    for (uint32_t i = 0; i < d->f->proto.n_params; i++)
        if ((uint32_t)d->f->proto.params[i] == own) return true;
    return false;
}

static bool fold_param(struct decoder *d, const struct ptx_insn *in)
{
    const struct ptx_operand *to = &in->operands[0], *o = &in->operands[1];
    uint32_t own;
    if (in->space != PTX_SPACE_PARAM || o->kind != PTX_OPERAND_MEM || o->index >= 0) return false;
    const struct ptx_var *v = decode_own_var(d, o->sym, &own);
    if (!v || v->space != PTX_SPACE_PARAM || !is_own_param(d, own)) return false;
    unsigned n = to->kind == PTX_OPERAND_VEC ? to->count : 1, bytes = ptx_type_bytes((enum ptx_type)in->types[0]);
    for (int apply = 0; apply < 2; apply++)
        for (unsigned i = 0; i < n; i++)
            if (!fold_param_one(d, in, to->kind == PTX_OPERAND_VEC ? decode_element(d, to, i) : to, v, own, (uint32_t)o->bits + i * bytes, apply))
                return false;
    return true;
}

static void fold_copies(struct decoder *d, const struct ptx_liveness *live)
{
    for (uint32_t i = 0; i < d->f->n_insns; i++) {
        const struct ptx_insn *in = &d->f->insns[i];
        if (in->guard >= 0) continue;
        if (in->op == PTX_OP_LD) d->folded[i] = fold_param(d, in);
        else if (in->n_operands != 2 || in->vec > 1 || !single(d, &in->operands[0])) continue;
        else if (in->op == PTX_OP_MOV) d->folded[i] = fold_mov(d, live, i, in);
        else if (in->op == PTX_OP_CVTA) d->folded[i] = fold_cvta(d, live, i, in);
    }
}

/* ---- rows --------------------------------------------------------------------------------------------------------- */

/* Ranges grow over the blocks into and out of which a register lives; an alias lends its range to what it stands for. */
static void widen_ranges(struct decoder *d, const struct ptx_liveness *live)
{
    for (uint32_t b = 0; b < d->cfg.n_blocks; b++) {
        const struct ptx_block *blk = &d->cfg.blocks[b];
        if (blk->first == blk->last) continue;
        for (uint32_t word = 0; word < live->words; word++)
            for (int out = 0; out < 2; out++) {
                uint32_t at = out ? blk->last - 1 : blk->first;
                uint64_t bits = (out ? live->live_out : live->live_in)[(size_t)b * live->words + word];
                for (; bits; bits &= bits - 1) {
                    struct reg_info *r = &d->regs[word * 64 + (uint32_t)__builtin_ctzll(bits)];
                    if (at < r->lo) r->lo = at;
                    if (at > r->hi) r->hi = at;
                }
            }
    }
    for (uint32_t i = 0; i < d->f->n_regs; i++) {
        const struct reg_info *r = &d->regs[i];
        if (r->alias.kind != ALIAS_REG || r->lo > r->hi) continue;
        struct reg_info *root = &d->regs[r->alias.reg];
        while (root->alias.kind == ALIAS_REG) root = &d->regs[root->alias.reg];
        if (r->lo < root->lo) root->lo = r->lo;
        if (r->hi > root->hi) root->hi = r->hi;
    }
}

static uint32_t new_row(struct decoder *d, unsigned width)
{
    uint32_t at = d->frame_end;
    d->frame_end += width * WARP_SIZE;
    return at;
}

static bool needs_row(const struct reg_info *r) { return r->width && r->alias.kind == ALIAS_NONE && r->lo <= r->hi; }

static unsigned pool_of(unsigned width) { return width == 2 ? 0 : width == 4 ? 1 : width == 8 ? 2 : 3; }

/* Linear scan: starts[i] and ends[i] list the registers whose range starts or ends at instruction i; free rows form lists too. */
static enum status share_rows(struct decoder *d, struct error *err)
{
    uint32_t n = d->f->n_regs, at_most = d->f->n_insns;
    uint32_t *next_start = arena_alloc(&d->tmp, (n + 1) * 4), *next_end = arena_alloc(&d->tmp, (n + 1) * 4);
    uint32_t *starts = arena_alloc(&d->tmp, (at_most + 1) * 4), *ends = arena_alloc(&d->tmp, (at_most + 1) * 4);
    uint32_t *stack = arena_alloc(&d->tmp, (n + 1) * 4 * 4), depth[4] = { 0 };
    if (!next_start || !next_end || !starts || !ends || !stack) return error_set(err, ST_OUT_OF_MEMORY, "the host has no memory left for decoding");
    for (uint32_t i = n; i-- > 0;) {           /* backwards, so that lists come out in register order; 0 ends a list */
        const struct reg_info *r = &d->regs[i];
        if (!needs_row(r)) continue;
        next_start[i] = starts[r->lo];
        starts[r->lo] = i + 1;
        next_end[i] = ends[r->hi];
        ends[r->hi] = i + 1;
    }
    uint32_t live = 0;
    for (uint32_t at = 0; at < at_most; at++) {
        for (uint32_t i = starts[at]; i; i = next_start[i - 1]) {
            struct reg_info *r = &d->regs[i - 1];
            unsigned p = pool_of(r->width);
            if (!r->row) r->row = depth[p] && !r->pinned ? stack[p * (n + 1) + --depth[p]] : new_row(d, r->width);
            live += r->width > 4 ? r->width / 4u : 1;
            if (live > d->k->n_regs) d->k->n_regs = live;
        }
        for (uint32_t i = ends[at]; i; i = next_end[i - 1]) {
            const struct reg_info *r = &d->regs[i - 1];
            unsigned p = pool_of(r->width);
            if (!d->k->image->keep_rows && !r->pinned) stack[p * (n + 1) + depth[p]++] = r->row;
            live -= r->width > 4 ? r->width / 4u : 1;
        }
    }
    return ST_OK;
}

/* ---- shapes: see struct mem_shape ---------------------------------------------------------------------------------------- */

static void give_shapes(struct decoder *d)
{
    for (uint32_t i = 0; i < d->f->n_insns; i++) {
        const struct ptx_insn *in = &d->f->insns[i];
        if (in->op != PTX_OP_LD && in->op != PTX_OP_ST) continue;
        const struct ptx_operand *o = &in->operands[in->op == PTX_OP_LD];
        if (o->kind != PTX_OPERAND_MEM || o->index < 0 || in->space == PTX_SPACE_LOCAL || in->space == PTX_SPACE_PARAM) continue;
        struct reg_info *r = &d->regs[o->index];
        while (r->alias.kind == ALIAS_REG) r = &d->regs[r->alias.reg];
        if (!needs_row(r) || (r->width != 8 && (r->width != 4 || in->space != PTX_SPACE_SHARED))) continue;
        if (++r->n_bases != SHAPE_USES || d->frame_end >= SHAPE_FRAME) continue;
        r->shape = d->frame_end;
        d->frame_end += 64;
    }
}

/* ---- variables: words of parameters, places in local memory ---------------------------------------------------------- */

static uint32_t var_words(const struct ptx_var *v) { return (uint32_t)((v->bytes + 3) / 4); }

static void lay_out_list(struct decoder *d, const int32_t *vars, uint32_t n, uint32_t *at, uint32_t *words)
{
    *at = d->frame_end;
    *words = 0;
    for (uint32_t i = 0; i < n; i++) {
        d->var_word[vars[i]] = *words;
        d->var_row[vars[i]] = d->frame_end;
        d->frame_end += var_words(&d->f->vars[vars[i]]) * 128;
        *words += var_words(&d->f->vars[vars[i]]);
    }
}

/* Argument and result variables of calls. Those that are mentioned in one block only share rows with others, as registers do. */
struct mention { uint32_t lo, hi; bool local; };

static void mention(struct decoder *d, struct mention *m, const struct ptx_operand *o, uint32_t at)
{
    uint32_t own;
    if (o->kind == PTX_OPERAND_LIST)
        for (unsigned i = 0; i < o->count; i++) mention(d, m, decode_element(d, o, i), at);
    if ((o->kind != PTX_OPERAND_MEM && o->kind != PTX_OPERAND_SYM) || !decode_own_var(d, o->sym, &own)) return;
    struct mention *x = &m[own];
    if (x->lo == UINT32_MAX) *x = (struct mention){ at, at, true };
    x->hi = at;
    if (d->cfg.block_of[x->lo] != d->cfg.block_of[at]) x->local = false;
}

static enum status lay_out_calls(struct decoder *d, struct error *err)
{
    const struct ptx_function *f = d->f;
    struct mention *m = arena_alloc(&d->tmp, (f->n_vars + 1) * sizeof *m);
    uint32_t *slots = arena_alloc(&d->tmp, (f->n_vars + 1) * sizeof *slots), n = 0;        /* variables that own their rows */
    uint32_t *busy = arena_alloc(&d->tmp, (f->n_vars + 1) * sizeof *busy);                 /* last instruction that needs the slot's rows */
    if (!m || !slots || !busy) return error_set(err, ST_OUT_OF_MEMORY, "the host has no memory left for decoding");
    for (uint32_t i = 0; i < f->n_vars; i++) m[i].lo = UINT32_MAX;
    for (uint32_t at = 0; at < f->n_insns; at++)
        for (unsigned k = 0; k < f->insns[at].n_operands; k++) mention(d, m, &f->insns[at].operands[k], at);
    for (uint32_t i = 0; i < f->n_vars; i++) {
        const struct ptx_var *v = &f->vars[i];
        if (v->space != PTX_SPACE_PARAM || d->var_row[i] || (f->is_entry && is_own_param(d, i))) continue;
        uint32_t s = m[i].local && !d->k->image->keep_rows ? 0 : n;
        while (s < n && (var_words(&f->vars[slots[s]]) != var_words(v) || busy[s] >= m[i].lo)) s++;
        if (s == n) {
            slots[n++] = i;
            d->var_row[i] = d->frame_end;
            d->frame_end += var_words(v) * 128;
        } else {
            d->var_row[i] = d->var_row[slots[s]];
        }
        busy[s] = m[i].local ? m[i].hi : UINT32_MAX;
    }
    return ST_OK;
}

static enum status lay_out_vars(struct decoder *d, struct error *err)
{
    const struct ptx_function *f = d->f;
    d->var_row = arena_alloc(&d->tmp, (f->n_vars + 1) * sizeof(uint32_t));
    d->var_word = arena_alloc(&d->tmp, (f->n_vars + 1) * sizeof(uint32_t));
    d->local_at = arena_alloc(&d->tmp, (f->n_vars + 1) * sizeof(uint32_t));
    if (!d->var_row || !d->var_word || !d->local_at) return error_set(err, ST_OUT_OF_MEMORY, "the host has no memory left for decoding");
    if (!f->is_entry) {
        lay_out_list(d, f->proto.params, f->proto.n_params, &d->param_at, &d->param_words);
        lay_out_list(d, f->proto.returns, f->proto.n_returns, &d->return_at, &d->return_words);
    }
    for (uint32_t i = 0; i < f->n_vars; i++) {
        const struct ptx_var *v = &f->vars[i];
        if (v->space == PTX_SPACE_LOCAL) {
            uint32_t align = v->align ? v->align : 1;
            d->local_at[i] = (d->local_bytes + align - 1) & ~(align - 1);
            d->local_bytes = d->local_at[i] + (uint32_t)v->bytes;
        }
    }
    d->local_bytes = (d->local_bytes + 15) & ~15u;
    return lay_out_calls(d, err);
}

enum status decode_rows(struct decoder *d, struct error *err)
{
    struct ptx_liveness live;
    d->regs = arena_alloc(&d->tmp, (d->f->n_regs + 1) * sizeof *d->regs);
    if (!d->regs) return error_set(err, ST_OUT_OF_MEMORY, "the host has no memory left for decoding");
    enum status st = ptx_liveness_build(&live, d->f, &d->cfg, &d->tmp, err);
    if (st) return st;
    scan_registers(d);
    if (d->k->image->late) pin_registers(d);
    d->frame_end = 64;                         /* FRAME_TRUE */
    decode_pin_own(d);
    for (uint32_t i = 0; i < d->f->n_regs; i++)
        if (!d->regs[i].width) {
            d->regs[i].row = d->frame_end;
            d->frame_end += 4;
        }
    d->frame_end = (d->frame_end + 63) & ~63u;
    st = lay_out_vars(d, err);
    if (st) return st;
    if (!d->k->image->keep_copies) fold_copies(d, &live);
    widen_ranges(d, &live);
    st = share_rows(d, err);
    if (!st) give_shapes(d);
    return st;
}
