/* What is known of the registers of a function: how often each is written and read, by whom, and whether it is a constant, a parameter, or uniform. */
#include "ptx/lower_form.h"

/* What a register that the instruction reads as a source is used for. */
static unsigned use_of(const struct ptx_insn *in)
{
    enum ptx_type t = lower_first_type(in);
    switch ((enum ptx_op)in->op) {
    case PTX_OP_ADD:
    case PTX_OP_SUB:
        return lower_is_float(t) ? USE_FADD : ptx_type_bytes(t) == 8 ? USE_ADD64 : USE_ADD32;
    case PTX_OP_AND:
    case PTX_OP_OR:
    case PTX_OP_XOR:
    case PTX_OP_NOT:
        return t == PTX_PRED ? USE_PRED : USE_LOGIC;
    case PTX_OP_SHL:
    case PTX_OP_SHR:
        return USE_SHIFT;
    case PTX_OP_MUL:
    case PTX_OP_MAD:
        return USE_MUL;
    case PTX_OP_SETP:
        return USE_SETP;
    case PTX_OP_SELP:
        return USE_SELP;
    case PTX_OP_ST:
        return USE_STORED;
    default:
        return USE_OTHER;
    }
}

struct scan { struct lower_view *v; uint32_t at; };

static void scan_reg(void *user, int32_t reg, bool write)
{
    struct scan *s = user;
    struct lower_reg *r = &s->v->regs[reg];
    const struct ptx_insn *in = &s->v->f->insns[s->at];
    if (write) {
        r->defs++;
        r->def = s->at;
        return;
    }
    r->uses++;
    if (reg == in->guard) {
        r->use |= in->op == PTX_OP_BRA ? USE_BRA : USE_OTHER;
        return;
    }
    bool base = false;
    for (unsigned i = 0; i < in->n_operands; i++)
        base |= in->operands[i].kind == PTX_OPERAND_MEM && in->operands[i].index == reg;
    r->use |= (uint16_t)(base ? USE_ADDRESS : use_of(in));
}

const struct lower_reg *lower_single(const struct lower_view *v, const struct ptx_operand *o)
{
    return o->kind == PTX_OPERAND_REG && v->regs[o->index].defs == 1 ? &v->regs[o->index] : NULL;
}

const struct ptx_insn *lower_maker(const struct lower_view *v, const struct ptx_operand *o)
{
    const struct lower_reg *r = lower_single(v, o);
    return r ? &v->f->insns[r->def] : NULL;
}

struct all { const struct lower_view *v; bool uniform; };

static void all_uniform(void *user, int32_t reg, bool write)
{
    struct all *a = user;
    if (!write)
        a->uniform &= a->v->regs[reg].uniform;
}

static bool uniform_sreg(enum ptx_sreg s)
{
    return s == PTX_SREG_CTAID || s == PTX_SREG_NTID || s == PTX_SREG_NCTAID;
}

/* Marks the result of an instruction that alone writes it. Definitions stand before their uses in what compilers make. */
static void mark_result(struct lower_view *v, const struct ptx_insn *in)
{
    const struct ptx_operand *d = &in->operands[0], *s = &in->operands[1];
    if (in->n_operands < 2 || d->kind != PTX_OPERAND_REG || v->regs[d->index].defs != 1 || in->guard >= 0)
        return;
    struct lower_reg *r = &v->regs[d->index];
    const struct lower_reg *from = lower_single(v, s);
    bool copies = in->op == PTX_OP_MOV || in->op == PTX_OP_CVTA;
    r->param = (in->op == PTX_OP_LD && in->space == PTX_SPACE_PARAM && v->f->is_entry) || (copies && from && from->param) ||
               (in->op == PTX_OP_MOV && s->kind == PTX_OPERAND_SREG && (s->index == PTX_SREG_NTID || s->index == PTX_SREG_NCTAID));
    r->constant = copies && (lower_is_immediate(s) || (from && from->constant));
    r->symbol = copies && (s->kind == PTX_OPERAND_SYM || (from && from->symbol));
    struct all a = {v, true};
    ptx_insn_regs(v->f, in, all_uniform, &a);
    r->uniform = a.uniform && in->op != PTX_OP_ATOM && in->op != PTX_OP_SHFL && in->op != PTX_OP_CALL && (in->op != PTX_OP_LD || r->param) &&
                 (s->kind != PTX_OPERAND_SREG || uniform_sreg((enum ptx_sreg)s->index));
}

enum status lower_view_make(struct lower_view *out, const struct ptx_function *f, const struct ptx_cfg *cfg, struct arena *a, struct error *err)
{
    *out = (struct lower_view){f, cfg, arena_alloc(a, (f->n_regs + 1) * sizeof *out->regs), arena_alloc(a, PTX_SREG_COUNT * 4)};
    if (!out->regs || !out->sreg_seen)
        return error_set(err, ST_OUT_OF_MEMORY, "no memory for the lowering of '%s'", f->name);
    for (uint32_t i = 0; i < f->n_insns; i++)
        ptx_insn_regs(f, &f->insns[i], scan_reg, &(struct scan){out, i});
    for (uint32_t i = 0; i < f->n_insns; i++)
        mark_result(out, &f->insns[i]);
    return ST_OK;
}
