/* The driver of decoding: operands to rows, instructions to records, labels to distances. */
#include "emu/decode_call.h"
#include "emu/mem.h"

#include <stdio.h>
#include <string.h>

#define DECODE(op, fn) [PTX_OP_##op] = fn,
static const decode_fn decode_table[PTX_OP_COUNT] = {
#include "emu/decode.def"
};
#undef DECODE

enum { SCRATCH_BYTES = 4096 };

static const char out_of_memory[] = "the host has no memory left for decoding";

const struct ptx_function *decode_function(const struct decoder *d) { return d->f; }
const struct ptx_module *decode_module(const struct decoder *d) { return d->m; }
const struct ptx_operand *decode_element(const struct decoder *d, const struct ptx_operand *o, unsigned k) { return &d->f->vec_pool[o->first + k]; }

/* What is so already is not written again: with a function that is decoded late, others may be reading it. */
void decode_says_can_wait(struct decoder *d)
{
    if (!d->k->can_wait) d->k->can_wait = true;
    d->waits[d->index] = true;
}

void decode_says_ordered(struct decoder *d) { if (!d->k->ordered) d->k->ordered = true; }
void decode_says_stacks(struct decoder *d) { if (!d->k->stacks) d->k->stacks = true; }

void decode_says_calls_host(struct decoder *d)
{
    decode_says_ordered(d);
    if (!d->k->calls_host) d->k->calls_host = true;
}

void *decode_aux(struct decoder *d, size_t bytes)
{
    void *p = arena_alloc(d->keep, bytes);
    if (!p) d->st = ST_OUT_OF_MEMORY;
    return p;
}

uint16_t decode_site(struct decoder *d)
{
    return (uint16_t)(d->k->n_sites < UINT16_MAX ? d->k->n_sites++ : d->index % UINT16_MAX);
}

/* ---- widths ---------------------------------------------------------------------------------------------------- */

unsigned decode_type_width(enum ptx_type t)
{
    if (t == PTX_PRED) return 0;
    unsigned n = ptx_type_bytes(t);
    return n < 2 ? 2 : n;
}

unsigned decode_reg_width(const struct decoder *d, int32_t reg) { return d->regs[reg].width; }

static unsigned row_bytes(unsigned width) { return width ? width * WARP_SIZE : 64; }

/* ---- constant rows ------------------------------------------------------------------------------------------------ */

static uint32_t const_room(struct decoder *d, unsigned width)
{
    uint32_t at = (uint32_t)d->image.n, n = row_bytes(width);
    if (!vec_reserve(&d->image, d->image.n + n)) {
        d->st = ST_OUT_OF_MEMORY;
        return FRAME_TRUE;
    }
    memset(d->image.at + at, 0, n);
    d->image.n += n;
    return d->const_at + at;
}

static unsigned width_class(unsigned width) { return width == 0 ? 0 : width == 2 ? 1 : width == 4 ? 2 : width == 8 ? 3 : 4; }

uint32_t decode_const(struct decoder *d, uint64_t bits, unsigned width)
{
    if (width && width < 8) bits &= (1ull << (8 * width)) - 1;
    struct map *m = &d->bits_rows[width_class(width)];
    uintptr_t found;
    if (map_get_int(m, bits, &found)) return (uint32_t)found - 1;
    uint32_t at = const_room(d, width);
    if (d->st) return at;
    char *r = d->image.at + (at - d->const_at);
    if (!width) memset(r, bits ? 0xff : 0, 4);
    for (unsigned l = 0; l < WARP_SIZE && width; l++) memcpy(r + l * width, &bits, width < 8 ? width : 8);
    if (!map_put_int(m, bits, (uintptr_t)at + 1)) d->st = ST_OUT_OF_MEMORY;
    return at;
}

uint32_t decode_const_row(struct decoder *d, const struct const_desc *k, unsigned width)
{
    if (k->kind == CONST_BITS) return decode_const(d, k->bits, width);
    uint8_t kind = k->kind == CONST_SREG ? FILL_SREG : k->kind == CONST_PARAM ? FILL_PARAM : FILL_LOCAL;
    struct fill want = { .kind = kind, .width = (uint8_t)width, .bytes = k->bytes, .sign = k->sign, .sreg = k->sreg, .component = k->component,
                         .offset = (uint32_t)k->bits };
    for (size_t i = 0; i < d->fills.n; i++) {
        const struct fill *f = &d->fills.at[i];
        if (f->kind == kind && f->width == width && f->bytes == want.bytes && f->sign == want.sign && f->sreg == want.sreg &&
            f->component == want.component && f->offset == want.offset)
            return f->at;
    }
    want.at = const_room(d, width);
    if (!d->st && !vec_push(&d->fills, want)) d->st = ST_OUT_OF_MEMORY;
    return want.at;
}

uint32_t decode_scratch(struct decoder *d, unsigned width)
{
    uint32_t at = d->scratch_next, n = row_bytes(width);
    if (at + n > d->scratch_end) return const_room(d, width);      /* more than any usual instruction takes */
    d->scratch_next += n;
    return at;
}

/* ---- records ------------------------------------------------------------------------------------------------------ */

static struct insn *emit(struct decoder *d, handler full, handler masked, bool guarded)
{
    static const struct insn zero;
    if (!vec_push(&d->out, zero)) {
        d->st = ST_OUT_OF_MEMORY;
        return NULL;
    }
    struct insn *in = &d->out.at[d->out.n - 1];
    in->full = full;
    in->masked = masked;
    in->guard = FRAME_TRUE;
    in->ptx = d->index;
    if (guarded && d->in && d->in->guard >= 0) {
        in->guard = d->regs[d->in->guard].row;
        in->guard_flip = d->in->guard_negated ? FULL_MASK : 0;
        in->full = masked;
    }
    return in;
}

struct insn *decode_emit(struct decoder *d, handler full, handler masked) { return emit(d, full, masked, !d->bare); }

struct insn *decode_emit_control(struct decoder *d, handler full, handler masked)
{
    struct insn *in = emit(d, full, masked, !d->bare);
    if (in) {
        in->charge = (uint16_t)d->charge;
        d->charge = 0;
    }
    return in;
}

void decode_marker(struct decoder *d) { emit(d, run_meet, run_meet, false); }

uint32_t decode_word_rows(struct decoder *d, unsigned n)
{
    uint32_t at = const_room(d, 4);
    for (unsigned i = 1; i < n; i++) const_room(d, 4);
    return at;
}

void decode_jump(struct decoder *d, const struct insn *record, uint32_t insn)
{
    struct fix fix = { (uint32_t)(record - d->out.at), insn };
    if (!vec_push(&d->fixes, fix)) d->st = ST_OUT_OF_MEMORY;
}

void decode_meet(struct decoder *d, const struct insn *record)
{
    struct meet meet = { (uint32_t)(record - d->out.at), d->cfg.blocks[d->cfg.block_of[d->index]].ipdom };
    if (!vec_push(&d->meets, meet)) d->st = ST_OUT_OF_MEMORY;
}

void decode_convert(struct decoder *d, uint32_t to, unsigned to_width, uint32_t from, unsigned from_width, bool sign)
{
    struct handlers h = to_width == from_width ? mov_handlers(to_width) : convert_handlers(to_width, from_width, sign);
    if (!h.full) {
        d->refused = "an operand of another width than the instruction can read";
        return;
    }
    struct insn *in = decode_emit(d, h.full, h.masked);
    if (!in) return;
    in->d = to;
    in->a = from;
}

static const struct insn *run_unsupported(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t m = insn_mask(in, w);
    if (!m) return in + 1;
    return insn_fault(in, w, c, (uint32_t)__builtin_ctz(m), ST_NOT_SUPPORTED, "not emulated yet: %s", (const char *)(uintptr_t)in->imm);
}

enum status decode_unsupported(struct decoder *d, const struct ptx_insn *in, const char *why)
{
    (void)in;
    const char *keep = arena_strndup(d->keep, why, strlen(why));
    struct insn *r = decode_emit(d, run_unsupported, run_unsupported);
    if (!r || !keep) return ST_OUT_OF_MEMORY;
    r->imm = (uintptr_t)keep;
    return ST_OK;
}

/* ---- operands -------------------------------------------------------------------------------------------------------- */

const struct ptx_var *decode_own_var(const struct decoder *d, int32_t sym, uint32_t *index)
{
    if (sym < 0 || (uint32_t)sym < d->m->n_symbols) return NULL;
    *index = (uint32_t)sym - d->m->n_symbols;
    return *index < d->f->n_vars ? &d->f->vars[*index] : NULL;
}

bool decode_symbol_desc(struct decoder *d, int32_t sym, uint64_t offset, struct const_desc *out)
{
    *out = (struct const_desc){ .kind = CONST_BITS };
    uint32_t own = 0, at;
    const struct ptx_var *v = decode_own_var(d, sym, &own);
    if (!v && (uint32_t)sym < d->m->n_symbols) {
        const struct ptx_symbol *s = &d->m->symbols[sym];
        if (s->kind == PTX_SYMBOL_FUNCTION) {
            out->bits = EMU_CODE_WINDOW + 16u * (uint64_t)(uint32_t)s->index + offset;
            return true;
        }
        v = &d->m->vars[s->index];
        if (v->space == PTX_SPACE_GLOBAL || v->space == PTX_SPACE_CONST || v->space == PTX_SPACE_REG) {
            out->bits = d->k->image->var_address[s->index] + offset;
            return d->k->image->var_address[s->index] != 0;
        }
    }
    if (!v) return false;
    switch (v->space) {
    case PTX_SPACE_GLOBAL: case PTX_SPACE_CONST:
        out->bits = image_body_variable(d->k->image, d->number, own, NULL);
        if (!out->bits) return false;
        out->bits += offset;
        return true;
    case PTX_SPACE_SHARED:
        if (!kernel_shared_at(d->k, d->number, sym, &at)) return false;
        out->bits = at + offset;
        return true;
    case PTX_SPACE_LOCAL:
        if (v < d->f->vars || v >= d->f->vars + d->f->n_vars) return false;
        out->kind = CONST_LOCAL;
        out->bits = d->local_at[own] + offset;
        return true;
    case PTX_SPACE_PARAM:
        out->bits = (d->f->is_entry ? v->offset : decode_param_copy(d, own)) + offset;
        if (!d->f->is_entry) out->kind = CONST_LOCAL;
        return d->f->is_entry || decode_is_parameter(d, own);
    default: return false;
    }
}

uint64_t decode_symbol(struct decoder *d, int32_t sym)
{
    struct const_desc k;
    if (!decode_symbol_desc(d, sym, 0, &k)) d->refused = "the address of this symbol";
    return k.bits;
}

static uint32_t read_at_width(struct decoder *d, uint32_t row_, unsigned have, unsigned width)
{
    if (have == width) return row_;
    uint32_t s = decode_scratch(d, width);
    bool bare = d->bare;
    d->bare = true;                            /* a scratch row may be written in all lanes */
    decode_convert(d, s, width, row_, have, false);
    d->bare = bare;
    return s;
}

static const struct insn *run_sreg4(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint32_t *r = row(w, in->d);
    flow_charge(in, w, c);                     /* the clock counts what ran before it, this instruction included */
    uint32_t v = (uint32_t)sreg_volatile((enum ptx_sreg)in->extra, c, w);
    for (int l = 0; l < WARP_SIZE; l++) r[l] = v;
    return in + 1;
}

static const struct insn *run_sreg8(const struct insn *in, struct warp *w, struct ctx *c)
{
    uint64_t *r = row(w, in->d);
    flow_charge(in, w, c);
    uint64_t v = sreg_volatile((enum ptx_sreg)in->extra, c, w);
    for (int l = 0; l < WARP_SIZE; l++) r[l] = v;
    return in + 1;
}

static uint32_t source_sreg(struct decoder *d, const struct ptx_operand *o, unsigned width)
{
    enum ptx_sreg s = (enum ptx_sreg)o->index;
    unsigned have = decode_type_width(ptx_sreg_type(s));
    if (sreg_is_constant(s)) {
        struct const_desc k = { .kind = CONST_SREG, .sreg = (uint16_t)s, .component = o->component };
        return read_at_width(d, decode_const_row(d, &k, have), have, width);
    }
    if (sreg_is_clock(s)) decode_says_ordered(d);      /* what it reads must not depend on how blocks are spread over threads */
    uint32_t r = decode_scratch(d, have);
    handler h = have == 8 ? run_sreg8 : run_sreg4;
    struct insn *in = emit(d, h, h, false);
    if (!in) return r;
    in->d = r;
    in->extra = (uint32_t)s;
    in->charge = (uint16_t)d->charge;
    d->charge = 0;
    return read_at_width(d, r, have, width);
}

static uint64_t literal_bits(const struct ptx_operand *o, enum ptx_type type, unsigned width)
{
    float f;
    double g;
    uint32_t b;
    bool narrow = type == PTX_F32 || type == PTX_TF32 || (o->kind == PTX_OPERAND_F64 && width == 4);
    if (o->kind == PTX_OPERAND_F64 && narrow) {
        memcpy(&g, &o->bits, 8);
        f = (float)g;
        memcpy(&b, &f, 4);
        return b;
    }
    if (o->kind == PTX_OPERAND_F32 && (type == PTX_F64 || width == 8)) {
        b = (uint32_t)o->bits;
        memcpy(&f, &b, 4);
        g = f;
        uint64_t wide;
        memcpy(&wide, &g, 8);
        return wide;
    }
    return o->bits;
}

static uint32_t source_reg(struct decoder *d, int32_t reg, unsigned width)
{
    const struct reg_info *r = &d->regs[reg];
    unsigned have = r->width;
    while (r->alias.kind == ALIAS_REG) r = &d->regs[r->alias.reg];
    if (have == 0 || width == 0) {
        d->refused = "a predicate where a value is wanted";
        return FRAME_TRUE;
    }
    if (r->alias.kind == ALIAS_ROW) return read_at_width(d, r->alias.row, have, width);
    if (r->alias.kind == ALIAS_CONST) {
        if (r->alias.k.kind == CONST_BITS && width <= 8) return decode_const(d, r->alias.k.bits, width);
        return read_at_width(d, decode_const_row(d, &r->alias.k, have), have, width);
    }
    return read_at_width(d, r->row, have, width);
}

uint32_t decode_source(struct decoder *d, const struct ptx_operand *o, enum ptx_type type, unsigned width)
{
    struct const_desc k;
    switch (o->kind) {
    case PTX_OPERAND_REG:
        if (o->component) break;
        return source_reg(d, o->index, width);
    case PTX_OPERAND_IMM: return decode_const(d, o->bits, width);
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64: return decode_const(d, literal_bits(o, type, width), width);
    case PTX_OPERAND_SREG: return source_sreg(d, o, width);
    case PTX_OPERAND_VEC:
        if (o->count == 1) return decode_source(d, decode_element(d, o, 0), type, width);
        break;
    case PTX_OPERAND_SYM:
        if (decode_symbol_desc(d, o->sym, o->bits, &k)) return decode_const_row(d, &k, width);
        d->refused = "the address of a variable that has none (extern, or a variable of a call)";
        return FRAME_TRUE;
    default: break;
    }
    d->refused = "an operand of this kind here";
    return FRAME_TRUE;
}

/* ---- predicates ---- */

static const struct insn *run_not_mask(const struct insn *in, struct warp *w, struct ctx *c)
{
    (void)c;
    *(uint32_t *)row(w, in->d) = ~mask_at(w, in->a);
    return in + 1;
}

uint32_t decode_pred_flip(struct decoder *d, const struct ptx_operand *o, uint32_t *flip)
{
    *flip = o->negated ? FULL_MASK : 0;
    if (o->kind == PTX_OPERAND_REG && d->regs[o->index].width == 0) return d->regs[o->index].row;
    if (o->kind == PTX_OPERAND_IMM) return decode_const(d, o->bits != 0, 0);
    if (o->kind == PTX_OPERAND_SREG && ptx_sreg_type((enum ptx_sreg)o->index) == PTX_PRED) {
        struct const_desc k = { .kind = CONST_SREG, .sreg = (uint16_t)o->index };
        return decode_const_row(d, &k, 0);
    }
    d->refused = "an operand that is no predicate";
    return FRAME_TRUE;
}

uint32_t decode_pred(struct decoder *d, const struct ptx_operand *o)
{
    uint32_t flip, m = decode_pred_flip(d, o, &flip);
    if (!flip) return m;
    uint32_t s = decode_scratch(d, 0);
    struct insn *in = emit(d, run_not_mask, run_not_mask, false);
    if (in) {
        in->d = s;
        in->a = m;
    }
    return s;
}

/* ---- destinations ---- */

uint32_t decode_dest(struct decoder *d, const struct ptx_operand *o, unsigned width, bool sign)
{
    if (o->kind == PTX_OPERAND_VEC && o->count == 1) o = decode_element(d, o, 0);
    if (o->kind == PTX_OPERAND_SINK) return decode_scratch(d, width);
    if (o->kind != PTX_OPERAND_REG || o->component || d->regs[o->index].width == 0) {
        d->refused = "a destination of this kind";
        return decode_scratch(d, width);
    }
    const struct reg_info *r = &d->regs[o->index];
    if (r->width == width) return r->row;
    struct post p = { r->row, decode_scratch(d, width), r->width, (uint8_t)width, sign };
    if (!vec_push(&d->posts, p)) d->st = ST_OUT_OF_MEMORY;
    return p.from;
}

uint32_t decode_dest_pred(struct decoder *d, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPERAND_REG && d->regs[o->index].width == 0) return d->regs[o->index].row;
    if (o->kind != PTX_OPERAND_SINK) d->refused = "a destination that is no predicate";
    return decode_scratch(d, 0);
}

bool decode_is_dead(const struct decoder *d, const struct ptx_operand *o)
{
    return o->kind == PTX_OPERAND_SINK || (o->kind == PTX_OPERAND_REG && d->regs[o->index].n_uses == 0);
}

/* ---- the walk -------------------------------------------------------------------------------------------------------- */

static const struct insn *run_nothing(const struct insn *in, struct warp *w, struct ctx *c)
{
    (void)w, (void)c;
    return in + 1;
}

uint32_t decode_shape(const struct decoder *d, int32_t reg)
{
    const struct reg_info *r = &d->regs[reg];
    while (r->alias.kind == ALIAS_REG) r = &d->regs[r->alias.reg];
    return r->shape;
}

static void emit_shape(void *user, int32_t reg, bool write)
{
    struct decoder *d = user;
    const struct reg_info *r = &d->regs[reg];
    if (!write || !r->shape) return;
    struct mem_handlers h = mem_shape_handlers(r->width);
    struct insn *in = decode_emit(d, h.full, h.masked);
    if (!in) return;
    in->d = r->shape;
    in->a = r->row;
}

static void decode_one(struct decoder *d, const struct ptx_insn *in)
{
    size_t before = d->out.n, posts = d->posts.n;
    uint32_t charge = d->charge;
    d->in = in;
    d->refused = NULL;
    d->bare = false;
    d->scratch_next = d->scratch_at;
    if (d->folded[d->index]) return;
    decode_fn fn = decode_table[in->op];
    enum status st = fn ? fn(d, in) : decode_unsupported(d, in, ptx_op_text((enum ptx_op)in->op));
    for (size_t i = posts; i < d->posts.n && !d->refused; i++) {
        const struct post p = d->posts.at[i];
        decode_convert(d, p.row, p.width, p.from, p.from_width, p.sign);
    }
    d->posts.n = posts;
    if (!d->refused) ptx_insn_regs(d->f, in, emit_shape, d);
    if (d->refused && !st) {                   /* whatever was emitted for it would be wrong */
        d->out.n = before;
        d->charge = charge;
        while (d->fixes.n && d->fixes.at[d->fixes.n - 1].record >= before) d->fixes.n--;
        while (d->tables.n && d->tables.at[d->tables.n - 1].record >= before) d->tables.n--;
        while (d->meets.n && d->meets.at[d->meets.n - 1].record >= before) d->meets.n--;
        st = decode_unsupported(d, in, d->refused);
    }
    if (d->out.n == before && !st && d->k->image->keep_copies && !emit(d, run_nothing, run_nothing, false)) st = ST_OUT_OF_MEMORY;
    if (st && !d->st) d->st = st;
}

/* What stands at the head of a block: the count of those who fall into it, then the marker, where jumps arrive. */
static void decode_block_head(struct decoder *d, uint32_t block)
{
    d->in = NULL;
    if ((d->is_target[block] || d->is_meet[block]) && d->charge) decode_emit_control(d, run_count, run_count);
    d->record_of[d->index] = (uint32_t)d->out.n;
    if (d->is_meet[block]) emit(d, run_meet, run_meet, false);
}

static void decode_walk(struct decoder *d)
{
    uint32_t block = UINT32_MAX;
    for (d->index = 0; d->index < d->f->n_insns && !d->st; d->index++) {
        if (d->cfg.block_of[d->index] != block) {
            block = d->cfg.block_of[d->index];
            decode_block_head(d, block);
        } else {
            d->record_of[d->index] = (uint32_t)d->out.n;
        }
        if (d->charge >= UINT16_MAX - 1) {     /* a very long stretch without control flow */
            d->in = NULL;
            decode_emit_control(d, run_count, run_count);
        }
        d->charge++;
        decode_one(d, &d->f->insns[d->index]);
    }
    d->in = NULL;
    d->record_of[d->f->n_insns] = (uint32_t)d->out.n;
    d->index = d->f->n_insns ? d->f->n_insns - 1 : 0;
    decode_end(d);
}

static void decode_distances(struct decoder *d)
{
    for (size_t i = 0; i < d->fixes.n; i++) {
        const struct fix *x = &d->fixes.at[i];
        d->out.at[x->record].imm = (uint64_t)((int64_t)d->record_of[x->insn] - x->record);
    }
    for (size_t i = 0; i < d->tables.n; i++) {
        const struct table_fix *x = &d->tables.at[i];
        *x->entry = (int32_t)((int64_t)d->record_of[x->insn] - x->record);
    }
    for (size_t i = 0; i < d->meets.n; i++) {
        const struct meet *x = &d->meets.at[i];
        int64_t to = x->block < 0 ? x->record : d->record_of[d->cfg.blocks[x->block].first];
        d->out.at[x->record].extra = (uint32_t)(int32_t)(to - x->record);
    }
}

/* Blocks where lanes of a branch meet again, and blocks that something jumps to. */
static void decode_mark_blocks(struct decoder *d)
{
    for (uint32_t b = 0; b < d->cfg.n_blocks; b++) {
        const struct ptx_block *blk = &d->cfg.blocks[b];
        for (uint32_t s = 0; s < blk->n_succ; s++)
            if (blk->n_succ > 1 || d->cfg.blocks[blk->succ[s]].first != blk->last) d->is_target[blk->succ[s]] = true;
        if (blk->last == blk->first) continue;
        const struct ptx_insn *last = &d->f->insns[blk->last - 1];
        if ((blk->n_succ > 1 || last->op == PTX_OP_BRX) && blk->ipdom >= 0 && !ptx_insn_has(last, PTX_MOD_UNI)) d->is_meet[blk->ipdom] = true;
    }
}

static enum status decode_prepare(struct decoder *d, struct error *err)
{
    uint32_t n = d->f->n_insns;
    enum status st = ptx_cfg_build(&d->cfg, d->f, &d->tmp, err);
    if (st) return st;
    d->record_of = arena_alloc(&d->tmp, (n + 1) * sizeof *d->record_of);
    d->folded = arena_alloc(&d->tmp, n + 1);
    d->waits = arena_alloc(&d->tmp, n + 1);
    d->is_meet = arena_alloc(&d->tmp, d->cfg.n_blocks + 1);
    d->is_target = arena_alloc(&d->tmp, d->cfg.n_blocks + 1);
    if (!d->record_of || !d->folded || !d->waits || !d->is_meet || !d->is_target)
        return error_set(err, ST_OUT_OF_MEMORY, "%s", out_of_memory);
    decode_mark_blocks(d);
    return decode_rows(d, err);
}

enum status decode_function_body(struct emu_kernel *k, uint32_t number, const struct code **out, struct error *err)
{
    struct decoder d = { .k = k, .m = k->image->m, .f = &k->image->m->functions[number], .number = number, .keep = &k->arena };
    *out = NULL;
    enum status st = decode_prepare(&d, err);
    if (!st) {
        d.scratch_at = d.scratch_next = (d.frame_end + 63) & ~63u;
        d.scratch_end = d.const_at = d.scratch_at + SCRATCH_BYTES;
        st = d.f->has_body ? decode_prologue(&d) : decode_host_body(&d);
        if (!st) decode_walk(&d);
        if (!st) st = d.st;
        if (!st) decode_distances(&d);
        if (!st) decode_fuse(&d);
        if (!st && !(*out = decode_seal(&d))) st = ST_OUT_OF_MEMORY;
        if (st) error_set(err, st, "%s: %s", d.f->name, out_of_memory);
        k->n_records += (uint32_t)d.out.n;
    }
    for (unsigned i = 0; i < 5; i++) map_free(&d.bits_rows[i]);
    vec_free(&d.image);
    vec_free(&d.fills);
    vec_free(&d.out);
    vec_free(&d.posts);
    vec_free(&d.fixes);
    vec_free(&d.meets);
    vec_free(&d.tables);
    arena_free(&d.tmp);
    return st;
}
