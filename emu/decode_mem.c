/* ld, ldu, st: to records for emu/isa_mem.c and emu/mem.c. */
#include <string.h>

#include "emu/decode_async.h"

enum mem_kind decode_mem_kind(enum ptx_type t)
{
    switch (ptx_type_bytes(t)) {
    case 1: return ptx_type_kind(t) == PTX_KIND_SIGNED ? MEM_S8 : MEM_U8;
    case 2: return MEM_16;
    case 4: return MEM_32;
    case 8: return MEM_64;
    default: return MEM_128;
    }
}

static enum mem_space space_of(enum ptx_space space)
{
    switch (space) {
    case PTX_SPACE_SHARED: return MEM_SHARED;
    case PTX_SPACE_LOCAL: return MEM_LOCAL;
    case PTX_SPACE_PARAM: return MEM_PARAM;
    case PTX_SPACE_GENERIC: return MEM_GENERIC;
    default: return MEM_GLOBAL;                /* const included: its addresses are device addresses */
    }
}

bool decode_is_entry_param(const struct decoder *d, int32_t sym)
{
    const struct ptx_function *f = decode_function(d);
    int32_t own = sym - (int32_t)decode_module(d)->n_symbols;
    if (!f->is_entry || own < 0)
        return false;
    for (uint32_t i = 0; i < f->proto.n_params; i++)
        if (f->proto.params[i] == own)
            return true;
    return false;
}

/* A symbol used without its space named stands for the address in its own space. */
static enum ptx_space symbol_space(const struct decoder *d, const struct ptx_operand *o, enum ptx_space named)
{
    const struct ptx_var *v = o->sym >= 0 ? ptx_symbol_var(decode_module(d), decode_function(d), o->sym) : NULL;
    return v && named == PTX_SPACE_GENERIC && v->space != PTX_SPACE_REG ? (enum ptx_space)v->space : named;
}

struct mem_address decode_mem_address(struct decoder *d, const struct ptx_operand *o, enum ptx_space named)
{
    struct mem_address a = { .form = MEM_FIXED, .offset = (int64_t)o->bits };
    enum ptx_space space = symbol_space(d, o, named);
    a.space = space_of(space);
    a.read_only = space == PTX_SPACE_CONST || space == PTX_SPACE_PARAM;
    if (space == PTX_SPACE_PARAM && o->index >= 0 && !decode_function(d)->is_entry)
        a.space = MEM_LOCAL;                   /* see decode_param_copy */
    if (o->index >= 0) {
        struct ptx_operand reg = { .kind = PTX_OPERAND_REG, .index = o->index, .sym = -1 };
        bool narrow = decode_reg_width(d, o->index) <= 4 && (a.space == MEM_SHARED || a.space == MEM_LOCAL);
        a.form = narrow ? MEM_ROW32 : MEM_ROW64;
        a.row = decode_source(d, &reg, narrow ? PTX_U32 : PTX_U64, narrow ? 4 : 8);
        if (space == PTX_SPACE_CONST && decode_reg_width(d, o->index) <= 4) a.row = decode_const_address(d, &reg);
        a.shape = decode_reg_width(d, o->index) == (narrow ? 4 : 8) ? decode_shape(d, o->index) : 0;
    } else if (o->sym >= 0) {
        const struct ptx_var *v = a.space == MEM_PARAM ? ptx_symbol_var(decode_module(d), decode_function(d), o->sym) : NULL;
        a.offset += v ? (int64_t)v->offset : (int64_t)decode_symbol(d, o->sym);
    } else if (a.space == MEM_LOCAL) {         /* [imm] counts from the start of local memory, a symbol from the activation's */
        a.form = MEM_ROW64;
        a.row = decode_const(d, (uint64_t)a.offset, 8);
        a.offset = 0;
    }
    return a;
}

bool decode_is_strong(const struct ptx_insn *in)
{
    return ptx_insn_has(in, PTX_MOD_VOLATILE) || ptx_insn_has(in, PTX_MOD_RELAXED) || ptx_insn_has(in, PTX_MOD_ACQUIRE) ||
           ptx_insn_has(in, PTX_MOD_RELEASE) || ptx_insn_has(in, PTX_MOD_MMIO);
}

/* The rows of a data operand: a register, or a vector of n. */
static void data_rows(struct decoder *d, const struct ptx_operand *o, unsigned n, enum ptx_type type, unsigned width, bool store, uint32_t rows[8])
{
    bool sign = ptx_type_kind(type) == PTX_KIND_SIGNED;
    for (unsigned i = 0; i < n; i++) {
        const struct ptx_operand *e = o->kind == PTX_OPERAND_VEC ? decode_element(d, o, i) : o;
        rows[i] = store ? decode_source(d, e, type, width) : decode_dest(d, e, width, sign);
    }
}

static unsigned log2_of(unsigned n) { return n >= 8 ? 3 : n >> 1; }

static enum status emit(struct decoder *d, const struct mem_address *a, uint32_t extra, const uint32_t rows[8])
{
    if (a->shape && !(extra & MEM_WIDE) && (uint64_t)a->offset % mem_access_bytes(extra) == 0)
        extra |= MEM_KNOWN;
    struct mem_handlers h = mem_handlers_of(extra);
    struct mem_wide *wide = NULL;
    if (extra & MEM_WIDE) {
        if (!(wide = decode_aux(d, sizeof *wide)))
            return ST_OUT_OF_MEMORY;
        wide->offset = a->offset;
        memcpy(wide->rows, rows, sizeof wide->rows);
    }
    uint16_t site = decode_site(d);
    struct insn *r = decode_emit(d, h.full, h.masked);
    if (!r)
        return ST_OUT_OF_MEMORY;
    r->a = a->row;
    r->imm = wide ? (uintptr_t)wide : (uint64_t)a->offset;
    r->d = rows[0];
    r->b = rows[1];
    r->c = rows[2];
    r->target = rows[3];
    r->extra = extra;
    r->site = site;
    r->charge = (uint16_t)(a->shape / 64);
    return ST_OK;
}

static enum status access(struct decoder *d, const struct ptx_insn *in, bool store)
{
    const struct ptx_operand *mem = &in->operands[store ? 0 : 1], *data = &in->operands[store ? 1 : 0];
    enum ptx_type type = in->types[in->n_types - 1];
    unsigned n = in->vec > 1 ? in->vec : 1;
    if (data->kind == PTX_OPERAND_VEC ? data->count != n : n > 1)
        return decode_unsupported(d, in, "the vector does not have as many elements as the instruction says");
    if (ptx_type_bytes(type) * n > 32)
        return decode_unsupported(d, in, "no access is wider than 32 bytes");
    enum mem_kind kind = decode_mem_kind(type);
    uint32_t rows[8] = { 0 };
    struct mem_address a = decode_mem_address(d, mem, in->space);
    if (store && a.read_only)
        return decode_unsupported(d, in, "constant and parameter memory cannot be stored to");
    data_rows(d, data, n, type, mem_row_bytes(kind), store, rows);
    bool strong = decode_is_strong(in);
    if (strong && a.space != MEM_LOCAL) {
        decode_says_can_wait(d);
        if (a.space != MEM_SHARED)             /* who shares it runs on one host thread */
            decode_says_ordered(d);
    }
    uint32_t flags = (store ? MEM_STORE : 0) | (strong ? MEM_STRONG : 0) | (n == 8 ? MEM_WIDE : 0);
    return emit(d, &a, MEM_EXTRA(kind, log2_of(n), a.space, a.form, flags), rows);
}

/* .param: of the kernel itself, or of a call (emu/decode_call.c). */
static bool is_call_param(const struct decoder *d, const struct ptx_insn *in, const struct ptx_operand *mem)
{
    if (mem->sym < 0)
        return false;
    const struct ptx_var *v = ptx_symbol_var(decode_module(d), decode_function(d), mem->sym);
    return v && v->space == PTX_SPACE_PARAM && (in->space == PTX_SPACE_PARAM || in->space == PTX_SPACE_GENERIC) && !decode_is_entry_param(d, mem->sym);
}

static enum status load_or_store(struct decoder *d, const struct ptx_insn *in, bool store)
{
    if (is_call_param(d, in, &in->operands[store ? 0 : 1])) {
        bool handled = false;
        enum status st = decode_call_param(d, in, &handled);
        if (st != ST_OK || handled)
            return st;
    }
    return access(d, in, store);
}

enum status decode_ld(struct decoder *d, const struct ptx_insn *in) { return load_or_store(d, in, false); }

enum status decode_st(struct decoder *d, const struct ptx_insn *in)
{
    if (ptx_insn_has(in, PTX_MOD_ASYNC))
        return decode_async_store(d, in, false);
    if (ptx_insn_has(in, PTX_MOD_BULK))
        return decode_bulk_zero(d, in);
    return load_or_store(d, in, true);
}
