/* atom, red. */
#include <string.h>

#include "emu/decode_async.h"
#include "emu/mem_atom.h"

static const struct { uint16_t mod; uint8_t op; } ops[] = {
    { PTX_MOD_ADD, ATOM_ADD }, { PTX_MOD_MIN, ATOM_MIN }, { PTX_MOD_MAX, ATOM_MAX }, { PTX_MOD_INC, ATOM_INC }, { PTX_MOD_DEC, ATOM_DEC },
    { PTX_MOD_AND, ATOM_AND }, { PTX_MOD_OR, ATOM_OR },   { PTX_MOD_XOR, ATOM_XOR }, { PTX_MOD_EXCH, ATOM_EXCH }, { PTX_MOD_CAS, ATOM_CAS },
};

static int op_of(const struct ptx_insn *in)
{
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (ptx_insn_has(in, ops[i].mod))
            return ops[i].op;
    return -1;
}

/* Bits and integers that are combined alike share a type: only min and max look at the sign. */
static int type_of(enum ptx_type t, int op)
{
    bool ordered = op == ATOM_MIN || op == ATOM_MAX;
    switch (t) {
    case PTX_U32: case PTX_B32: return ATOM_U32;
    case PTX_S32: return ordered ? ATOM_S32 : ATOM_U32;
    case PTX_U64: case PTX_B64: return ATOM_U64;
    case PTX_S64: return ordered ? ATOM_S64 : ATOM_U64;
    case PTX_F32: return ATOM_F32;
    case PTX_F64: return ATOM_F64;
    case PTX_F16: return ATOM_F16;
    case PTX_F16X2: return ATOM_F16X2;
    case PTX_BF16: return ATOM_BF16;
    case PTX_BF16X2: return ATOM_BF16X2;
    case PTX_B16: return ATOM_B16;
    case PTX_B128: return ATOM_B128;
    default: return -1;
    }
}

/* Lanes and CTAs may take effect in any order when nobody looks at the old value and the operation commutes. */
static bool commutes(int op, int type)
{
    bool real = type == ATOM_F32 || type == ATOM_F64 || type >= ATOM_F16;
    return op != ATOM_EXCH && op != ATOM_CAS && op != ATOM_INC && op != ATOM_DEC && !(op == ATOM_ADD && real);
}

static bool dead(const struct decoder *d, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPERAND_VEC) {
        for (unsigned i = 0; i < o->count; i++)
            if (!dead(d, decode_element(d, o, i)))
                return false;
        return true;
    }
    return o->kind == PTX_OPERAND_SINK || decode_is_dead(d, o);
}

struct shape { int op, type; unsigned n, width; enum ptx_type ptx; bool old; };   /* old: the old value is wanted */

static void rows_of(struct decoder *d, const struct ptx_operand *o, const struct shape *s, bool dest, uint32_t rows[8])
{
    for (unsigned i = 0; i < s->n; i++) {
        const struct ptx_operand *e = o->kind == PTX_OPERAND_VEC ? decode_element(d, o, i) : o;
        rows[i] = !dest ? decode_source(d, e, s->ptx, s->width) : e->kind == PTX_OPERAND_SINK ? 0 : decode_dest(d, e, s->width, false);
    }
}

/* mem: the address operand; before it the destination, behind it the operands. */
static enum status emit(struct decoder *d, const struct ptx_insn *in, const struct ptx_operand *mem, const struct shape *s)
{
    struct mem_wide rows = { 0 };
    uint32_t second = 0;
    struct mem_address a = decode_mem_address(d, mem, in->space);
    rows_of(d, mem + 1, s, false, rows.operands);
    if (s->op == ATOM_CAS)
        second = decode_source(d, mem + 2, s->ptx, s->width);
    if (s->old)
        rows_of(d, mem - 1, s, true, rows.rows);
    if (a.space == MEM_PARAM || a.space == MEM_LOCAL || a.read_only)
        return decode_unsupported(d, in, "atomics need global or shared memory");
    rows.offset = a.offset;
    struct mem_wide *wide = NULL;
    if (s->n > 1) {
        if (!(wide = decode_aux(d, sizeof *wide)))
            return ST_OUT_OF_MEMORY;
        *wide = rows;
    }
    uint16_t site = decode_site(d);
    handler h = atom_handler((enum atom_op)s->op, (enum atom_type)s->type);
    struct insn *r = decode_emit(d, h, h);
    if (!r)
        return ST_OUT_OF_MEMORY;
    r->a = a.row;
    r->imm = wide ? (uintptr_t)wide : (uint64_t)a.offset;
    r->d = rows.rows[0];
    r->b = rows.operands[0];
    r->c = second;
    r->site = site;
    unsigned logvec = s->n == 8 ? 3 : s->n >> 1;
    uint32_t sys = ptx_insn_has(in, PTX_MOD_SYS) ? MEM_STRONG : 0;     /* the host may take part */
    r->extra = MEM_EXTRA(decode_mem_kind(s->ptx), logvec, a.space, a.form, MEM_ATOMIC | sys | (wide ? MEM_WIDE : 0));
    return ST_OK;
}

static enum status atomic(struct decoder *d, const struct ptx_insn *in, bool red)
{
    if (ptx_insn_has(in, PTX_MOD_ASYNC))
        return decode_async_store(d, in, red);
    const struct ptx_operand *mem = &in->operands[red ? 0 : 1];
    struct shape s = { .op = op_of(in), .ptx = in->types[in->n_types - 1], .n = in->vec > 1 ? in->vec : 1 };
    s.type = s.op < 0 ? -1 : type_of(s.ptx, s.op);
    if (s.type < 0 || !atom_handler((enum atom_op)s.op, (enum atom_type)s.type))
        return decode_unsupported(d, in, "no such atomic operation");
    s.width = ptx_type_bytes(s.ptx);
    s.old = !red && !dead(d, &in->operands[0]);
    if (s.n > 1 && (mem[1].kind != PTX_OPERAND_VEC || mem[1].count != s.n))
        return decode_unsupported(d, in, "the vector does not have as many elements as the instruction says");
    if (s.old)
        decode_says_can_wait(d);
    if (in->space != PTX_SPACE_SHARED && (s.old || !commutes(s.op, s.type)))
        decode_says_ordered(d);
    return emit(d, in, mem, &s);
}

int decode_atom_op(const struct ptx_insn *in) { return op_of(in); }

atom_span decode_combine(struct decoder *d, const struct ptx_insn *in, enum ptx_type type, bool global)
{
    int op = op_of(in), t = op < 0 ? -1 : type_of(type, op);
    if (t < 0 || op == ATOM_CAS || op == ATOM_EXCH)
        return NULL;
    if (global && !commutes(op, t))
        decode_says_ordered(d);
    return atom_span_of((enum atom_op)op, (enum atom_type)t);
}

enum status decode_atom(struct decoder *d, const struct ptx_insn *in) { return atomic(d, in, false); }
enum status decode_red(struct decoder *d, const struct ptx_insn *in) { return atomic(d, in, true); }
