/* cvta, isspacep, istypep, fences, and the instructions that only advise caches. */
#include "emu/decode_mem.h"
#include "emu/decoder.h"
#include "emu/mem_addr.h"

static enum status emit(struct decoder *d, handler h, uint32_t dest, uint32_t source, uint64_t imm, uint32_t extra)
{
    struct insn *r = decode_emit(d, h, h);
    if (!r)
        return ST_OUT_OF_MEMORY;
    r->d = dest;
    r->a = source;
    r->imm = imm;
    r->extra = extra;
    return ST_OK;
}

enum status decode_cvta(struct decoder *d, const struct ptx_insn *in)
{
    enum ptx_type type = in->types[in->n_types - 1];
    bool to = ptx_insn_has(in, PTX_MOD_TO);
    handler h = addr_copy;                     /* global and constant addresses are generic addresses */
    uint64_t imm = 0;
    bool copied = in->space == PTX_SPACE_PARAM && !decode_function(d)->is_entry;       /* see decode_param_copy */
    if (in->space == PTX_SPACE_SHARED) {
        h = to ? addr_to_shared : addr_from_shared;
    } else if (in->space == PTX_SPACE_LOCAL || copied) {
        h = to ? addr_to_local : addr_add;
        imm = EMU_LOCAL_WINDOW;
    } else if (in->space == PTX_SPACE_PARAM) {
        h = to ? addr_to_param : addr_from_param;
    }
    const struct ptx_operand *o = &in->operands[1];
    bool param = in->space == PTX_SPACE_PARAM && o->kind == PTX_OPERAND_SYM && decode_is_entry_param(d, o->sym);
    uint32_t source = param ? decode_const(d, ptx_symbol_var(decode_module(d), decode_function(d), o->sym)->offset + o->bits, 8)
                            : decode_source(d, o, type, 8);
    uint32_t dest = decode_dest(d, &in->operands[0], 8, false);
    if (h != addr_copy)
        return emit(d, h, dest, source, imm, 0);
    decode_copy(d, dest, source, 8);
    return ST_OK;
}

/* The variables of the module for which want() holds. */
static struct addr_ranges *ranges_of(struct decoder *d, bool (*want)(const struct ptx_var *v, const struct ptx_insn *in), const struct ptx_insn *in)
{
    const struct ptx_module *m = decode_module(d);
    struct addr_ranges *r = decode_aux(d, sizeof *r + m->n_vars * sizeof r->at[0]);
    if (!r)
        return NULL;
    for (uint32_t s = 0; s < m->n_symbols; s++) {
        const struct ptx_var *v = ptx_symbol_var(m, decode_function(d), (int32_t)s);
        if (!v || !v->bytes || v->linkage == PTX_LINK_EXTERN || !want(v, in) || r->n == m->n_vars)
            continue;
        uint64_t lo = decode_symbol(d, (int32_t)s);
        r->at[r->n].lo = lo;
        r->at[r->n++].hi = lo + v->bytes;
    }
    return r;
}

static bool is_const(const struct ptx_var *v, const struct ptx_insn *in)
{
    (void)in;
    return v->space == PTX_SPACE_CONST;
}

uint32_t decode_const_address(struct decoder *d, const struct ptx_operand *o)
{
    struct addr_ranges *r = ranges_of(d, is_const, NULL);
    uint32_t narrow = decode_source(d, o, PTX_U64, 8), wide = decode_scratch(d, 8);
    if (r)
        (void)emit(d, addr_const32, wide, narrow, (uintptr_t)r, 0);
    return wide;
}

static bool is_of_type(const struct ptx_var *v, const struct ptx_insn *in) { return v->type == in->types[0]; }

enum status decode_isspacep(struct decoder *d, const struct ptx_insn *in)
{
    enum addr_query q = ADDR_GLOBAL;
    switch (in->space) {
    case PTX_SPACE_SHARED: q = ptx_insn_has(in, PTX_MOD_SHARED_CLUSTER) ? ADDR_SHARED : ADDR_SHARED_CTA; break;
    case PTX_SPACE_LOCAL: q = ADDR_LOCAL; break;
    case PTX_SPACE_PARAM: q = ADDR_PARAM; break;
    case PTX_SPACE_CONST: q = ADDR_LISTED; break;
    default: break;
    }
    struct addr_ranges *r = ranges_of(d, is_const, in);
    if (!r)
        return ST_OUT_OF_MEMORY;
    uint32_t source = decode_source(d, &in->operands[1], PTX_U64, 8);
    return emit(d, addr_query, decode_dest_pred(d, &in->operands[0]), source, (uintptr_t)r, q);
}

enum status decode_istypep(struct decoder *d, const struct ptx_insn *in)
{
    struct addr_ranges *r = ranges_of(d, is_of_type, in);
    if (!r)
        return ST_OUT_OF_MEMORY;
    uint32_t source = decode_source(d, &in->operands[1], PTX_U64, 8);
    return emit(d, addr_query, decode_dest_pred(d, &in->operands[0]), source, (uintptr_t)r, ADDR_LISTED);
}

/* A CTA runs on one host thread and the host orders stores among themselves and loads among themselves, so that only
 * sequentially consistent fences between CTAs are anything at all. */
enum status decode_fence(struct decoder *d, const struct ptx_insn *in)
{
    bool light = ptx_insn_has(in, PTX_MOD_CTA) || ptx_insn_has(in, PTX_MOD_PROXY) || ptx_insn_has(in, PTX_MOD_MBARRIER_INIT) ||
                 ptx_insn_has(in, PTX_MOD_ACQUIRE) || ptx_insn_has(in, PTX_MOD_RELEASE) || ptx_insn_has(in, PTX_MOD_ACQ_REL);
    return light ? ST_OK : emit(d, addr_fence, 0, 0, 0, 0);
}

/* prefetch, prefetchu, applypriority, discard: nothing that a program can see. (discard leaves the contents undefined: they stay.) */
enum status decode_advice(struct decoder *d, const struct ptx_insn *in)
{
    (void)d;
    (void)in;
    return ST_OK;
}

/* Cache policies are opaque; these are the values that published code writes for full-fraction policies. */
enum status decode_createpolicy(struct decoder *d, const struct ptx_insn *in)
{
    uint32_t source;
    if (ptx_insn_has(in, PTX_MOD_CVT))
        source = decode_source(d, &in->operands[1], PTX_B64, 8);
    else
        source = decode_const(d, ptx_insn_has(in, PTX_MOD_L2_EVICT_LAST) ? 0x14F0000000000000u
                               : ptx_insn_has(in, PTX_MOD_L2_EVICT_FIRST) ? 0x12F0000000000000u : 0x1000000000000000u, 8);
    return emit(d, addr_copy, decode_dest(d, &in->operands[0], 8, false), source, 0, 0);
}
