/* Forms: what an instruction is, what feeds it and what it feeds. */
#include "ptx/lower_form.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- pieces of a form ----------------------------------------------------------------------------------------------------------------- */

struct text { char *at; size_t n, room; bool context; };

static void put(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(t->at + t->n, t->room - t->n, fmt, args);
    va_end(args);
    t->n = n < 0 ? t->n : t->n + (size_t)n < t->room ? t->n + (size_t)n : t->room - 1;
}

/* One word of the context. */
static void word(struct text *t, const char *w)
{
    put(t, "%s%s", t->context ? "." : "|", w);
    t->context = true;
}

static const struct lower_reg *result(const struct lower_view *v, const struct ptx_insn *in)
{
    return in->n_operands && in->operands[0].kind == PTX_OPERAND_REG ? &v->regs[in->operands[0].index] : NULL;
}

static bool only(const struct lower_reg *r, unsigned uses) { return r && r->defs == 1 && r->uses && !(r->use & ~uses); }

/* The register that it writes is one of its sources: it needs no other place, and no move. */
static bool in_place(const struct ptx_insn *in)
{
    bool again = false;
    for (unsigned i = 1; i < in->n_operands; i++)
        again |= in->operands[i].kind == PTX_OPERAND_REG && in->operands[i].index == in->operands[0].index;
    return again && in->operands[0].kind == PTX_OPERAND_REG;
}

/* Common tail: written several times, all for addresses, uniform. */
static void tail(struct text *t, const struct lower_view *v, const struct ptx_insn *in)
{
    const struct lower_reg *r = result(v, in);
    if (r && r->defs > 1 && !in_place(in))
        word(t, "phi");
    else if (r && r->uniform)
        word(t, "U");
}

enum { MOST_FOLDED = 2 };                      /* sums that take a product in rather than share it */

static bool folds(const struct lower_view *v, const struct ptx_insn *in)
{
    const struct lower_reg *r = result(v, in);
    switch ((enum ptx_op)in->op) {
    case PTX_OP_MUL:
        return !lower_is_float(lower_first_type(in)) && only(r, USE_ADD32 | USE_ADD64) && (ptx_insn_has(in, PTX_MOD_WIDE) || r->uses <= MOST_FOLDED);
    case PTX_OP_SHL:
        return only(r, USE_ADD32 | USE_ADD64);
    case PTX_OP_CVT:
        return only(r, USE_ADD64 | USE_SHIFT | USE_MUL);
    default:
        return false;
    }
}

bool lower_folds_into_users(const struct lower_view *v, int32_t reg)
{
    const struct lower_reg *r = &v->regs[reg];
    return r->defs == 1 && folds(v, &v->f->insns[r->def]) && v->f->insns[r->def].op != PTX_OP_SHL;
}

/* The letter of a source: i immediate, p parameter, y address of a variable, W widening product, L shifted, M product, A sum, X extended, r other. */
static char letter(const struct lower_view *v, const struct ptx_operand *o)
{
    const struct lower_reg *r = lower_single(v, o);
    if (lower_is_immediate(o) || (r && r->constant))
        return 'i';
    if (o->kind == PTX_OPERAND_SYM || (r && r->symbol))
        return 'y';
    if (!r)
        return 'r';
    if (r->param)
        return 'p';
    const struct ptx_insn *in = &v->f->insns[r->def];
    if (in->op == PTX_OP_MUL && folds(v, in))
        return ptx_insn_has(in, PTX_MOD_WIDE) ? 'W' : 'M';
    if (in->op == PTX_OP_SHL && folds(v, in))
        return 'L';
    if (in->op == PTX_OP_ADD && r->uses == 1 && !lower_is_float(lower_first_type(in)))
        return 'A';
    if (in->op == PTX_OP_CVT && in->n_types == 2 && ptx_type_bytes((enum ptx_type)in->types[0]) == 8 && ptx_type_bytes((enum ptx_type)in->types[1]) == 4)
        return 'X';
    return 'r';
}

/* Sources that are immediates or parameters: machine instructions take one such operand. One register in two places counts once: it is loaded ahead of
 * its users, and then each of them takes one operand from it. */
static unsigned constants(const struct lower_view *v, const struct ptx_insn *in)
{
    unsigned n = 0;
    for (unsigned i = 1; i < in->n_operands; i++) {
        const struct ptx_operand *o = &in->operands[i];
        const struct lower_reg *r = lower_single(v, o);
        bool again = r && i > 1 && in->operands[i - 1].kind == PTX_OPERAND_REG && in->operands[i - 1].index == o->index;
        n += lower_is_immediate(o) || (r && (r->param || r->constant) && !again);
    }
    return n;
}

static void words_of_types(struct text *t, const struct ptx_insn *in)
{
    for (unsigned i = 0; i < in->n_types; i++)
        put(t, ".%s", ptx_type_text((enum ptx_type)in->types[i]));
}

/* The modifiers that make another instruction, in their order. */
static void words_of_mods(struct text *t, const struct ptx_insn *in)
{
    for (unsigned i = 0; i < in->n_mods; i++) {
        enum ptx_mod_category c = ptx_mod_category((enum ptx_mod)in->mods[i]);
        if (in->mods[i] != PTX_MOD_FTZ && in->mods[i] != PTX_MOD_SAT && c != PTX_CAT_SEM && c != PTX_CAT_SCOPE)
            put(t, ".%s", ptx_mod_text((enum ptx_mod)in->mods[i]));
    }
}

/* ---- forms by kind of instruction ----------------------------------------------------------------------------------------------------- */

typedef void form_fn(struct text *t, const struct lower_view *v, const struct ptx_insn *in, uint32_t at);

static void form_plain(struct text *t, const struct lower_view *v, const struct ptx_insn *in, uint32_t at)
{
    (void)at;
    put(t, "%s", ptx_op_text((enum ptx_op)in->op));
    words_of_mods(t, in);
    if (ptx_insn_has(in, PTX_MOD_FTZ))
        word(t, "ftz");
    tail(t, v, in);
}

static void form_float(struct text *t, const struct lower_view *v, const struct ptx_insn *in)
{
    const struct lower_reg *r = result(v, in);
    put(t, "%s.%s", ptx_op_text((enum ptx_op)in->op), ptx_type_text(lower_first_type(in)));
    unsigned n = constants(v, in);
    if (n)
        word(t, n == 1 ? "c1" : "c2");
    if (in->op == PTX_OP_MUL && !ptx_insn_has(in, PTX_MOD_RN) && only(r, USE_FADD))
        word(t, "fma");
}

static void form_add(struct text *t, const struct lower_view *v, const struct ptx_insn *in, uint32_t at)
{
    (void)at;
    enum ptx_type type = lower_first_type(in);
    if (lower_is_float(type)) {
        form_float(t, v, in);
        return;
    }
    const struct lower_reg *r = result(v, in);
    put(t, "%s.%u", ptx_op_text((enum ptx_op)in->op), 8 * ptx_type_bytes(type));
    char a = letter(v, &in->operands[1]), b = letter(v, &in->operands[2]);
    char pair[3] = {a < b ? a : b, a < b ? b : a, 0};
    word(t, pair);
    if (r && r->defs == 1 && only(r, USE_ADDRESS))
        word(t, "addr");
    else if (r && only(r, USE_ADD32) && r->uses == 1)
        word(t, "chain");
    tail(t, v, in);
}

static void form_mul(struct text *t, const struct lower_view *v, const struct ptx_insn *in, uint32_t at)
{
    (void)at;
    enum ptx_type type = lower_first_type(in);
    if (lower_is_float(type)) {
        form_float(t, v, in);
        return;
    }
    bool wide = ptx_insn_has(in, PTX_MOD_WIDE), hi = ptx_insn_has(in, PTX_MOD_HI);
    put(t, "%s.%s.%s", ptx_op_text((enum ptx_op)in->op), wide ? "wide" : hi ? "hi" : "lo",
        wide || hi ? ptx_type_text(type) : ptx_type_bytes(type) == 8 ? "64" : ptx_type_bytes(type) == 4 ? "32" : "16");
    if (folds(v, in))
        word(t, "fold");
    if (constants(v, in))
        word(t, "i");
    tail(t, v, in);
}

static void form_shift(struct text *t, const struct lower_view *v, const struct ptx_insn *in, uint32_t at)
{
    (void)at;
    put(t, "%s.%s", ptx_op_text((enum ptx_op)in->op), ptx_type_text(lower_first_type(in)));
    if (in->op == PTX_OP_SHL)
        word(t, folds(v, in) ? "fold" : "free");
    if (lower_is_immediate(&in->operands[2]))
        word(t, "i");
    else if (in->op == PTX_OP_SHL)
        word(t, "r");
    tail(t, v, in);
}

static void form_logic(struct text *t, const struct lower_view *v, const struct ptx_insn *in, uint32_t at)
{
    (void)at;
    enum ptx_type type = lower_first_type(in);
    const struct lower_reg *r = result(v, in);
    if (type == PTX_PRED || in->op == PTX_OP_NOT) {
        put(t, "%s.%s", ptx_op_text((enum ptx_op)in->op), ptx_type_text(type));
        if (only(r, USE_LOGIC))
            word(t, "chain");
        return;
    }
    put(t, "logic.%s", ptx_type_text(type));
    if (only(r, USE_LOGIC))
        word(t, "chain");
    else if (only(r, USE_SETP))
        word(t, "setp");
    if (lower_is_immediate(&in->operands[2]))
        word(t, "i");
    tail(t, v, in);
}

static void form_setp(struct text *t, const struct lower_view *v, const struct ptx_insn *in, uint32_t at)
{
    (void)at;
    enum ptx_type type = lower_first_type(in);
    const struct lower_reg *r = result(v, in);
    const struct ptx_insn *from = lower_maker(v, &in->operands[in->has_pair ? 2 : 1]);
    if (lower_is_float(type))
        put(t, "setp.%s", ptx_type_text(type));
    else
        put(t, "setp.int%u", 8 * ptx_type_bytes(type));
    if (from && from->op == PTX_OP_AND && v->regs[from->operands[0].index].uses == 1 && ptx_type_bytes(type) == 4 && !lower_is_float(type))
        word(t, "and");
    word(t, only(r, USE_BRA) ? "bra" : only(r, USE_PRED) ? "pl" : only(r, USE_SELP) ? "selp" : "x");
    if (constants(v, in) > 1)
        word(t, "cc");
    else if (r && r->uniform)
        word(t, "U");
}

static void form_selp(struct text *t, const struct lower_view *v, const struct ptx_insn *in, uint32_t at)
{
    (void)at;
    const struct lower_reg *r = result(v, in);
    put(t, "selp.b%u", 8 * ptx_type_bytes(lower_first_type(in)));
    char a = letter(v, &in->operands[1]), b = letter(v, &in->operands[2]);
    word(t, a == 'i' ? b == 'i' ? "ii" : "ir" : b == 'i' ? "ri" : "rr");
    if (only(r, USE_SETP))
        word(t, "setp");
    tail(t, v, in);
}

/* A move of a constant: c or 0; where it goes. */
static void form_mov_immediate(struct text *t, const struct lower_view *v, const struct ptx_insn *in)
{
    const struct lower_reg *r = result(v, in);
    word(t, in->operands[1].bits ? "immc" : "imm0");
    if (r && r->defs > 1)
        word(t, "phi");
    else if (only(r, USE_STORED))
        word(t, "st");
}

static void form_mov_copy(struct text *t, const struct lower_view *v, const struct ptx_insn *in)
{
    const struct lower_reg *r = result(v, in), *from = &v->regs[in->operands[1].index];
    word(t, "copy");
    if (!r || r->defs == 1)
        return;
    word(t, "phi");
    word(t, from->defs > 1 ? "phi" : from->uses > 1 ? "live" : "dies");
}

static void form_mov(struct text *t, const struct lower_view *v, const struct ptx_insn *in, uint32_t at)
{
    (void)at;
    const struct ptx_operand *s = &in->operands[1];
    enum ptx_type type = lower_first_type(in);
    put(t, type == PTX_PRED ? "mov.pred" : "mov.b%u", 8 * ptx_type_bytes(type));
    if (in->operands[0].kind == PTX_OPERAND_VEC)
        word(t, "unpack");
    else if (s->kind == PTX_OPERAND_VEC)
        word(t, "pack");
    else if (s->kind == PTX_OPERAND_SREG) {
        static const char axis[] = "xyzw";
        bool several = s->index == PTX_SREG_TID || s->index == PTX_SREG_CTAID || s->index == PTX_SREG_NTID || s->index == PTX_SREG_NCTAID;
        word(t, "sreg");
        put(t, ".%s", ptx_sreg_text((enum ptx_sreg)s->index) + 1);
        if (several)
            put(t, ".%c", axis[s->component & 3]);
        uint8_t *seen = &v->sreg_seen[s->index * 4 + (s->component & 3)];
        if (*seen)
            word(t, "again");
        *seen = 1;
    } else if (s->kind == PTX_OPERAND_SYM) {
        word(t, "addr");
    } else if (lower_is_immediate(s)) {
        form_mov_immediate(t, v, in);
    } else if (s->kind == PTX_OPERAND_REG) {
        form_mov_copy(t, v, in);
    }
}

static void form_cvt(struct text *t, const struct lower_view *v, const struct ptx_insn *in, uint32_t at)
{
    (void)at;
    bool whole = false;
    for (unsigned i = 0; i < in->n_mods; i++)
        whole |= in->mods[i] == PTX_MOD_RNI || in->mods[i] == PTX_MOD_RZI || in->mods[i] == PTX_MOD_RMI || in->mods[i] == PTX_MOD_RPI;
    put(t, "%s", in->op == PTX_OP_CVTA ? "cvta" : "cvt");
    if (whole && in->n_types == 2 && lower_is_float((enum ptx_type)in->types[0]))
        put(t, ".whole");
    if (in->op == PTX_OP_CVTA && in->n_mods && in->mods[0] == PTX_MOD_TO)
        put(t, ".to");
    words_of_types(t, in);
    if (in->op == PTX_OP_CVTA) {
        char source[2] = {letter(v, &in->operands[1]), 0};
        word(t, source);
        return;
    }
    if (folds(v, in))
        word(t, "fold");
    tail(t, v, in);
}

static const char *space_text(enum ptx_space s)
{
    switch (s) {
    case PTX_SPACE_CONST: return "const";
    case PTX_SPACE_GLOBAL: return "global";
    case PTX_SPACE_LOCAL: return "local";
    case PTX_SPACE_PARAM: return "param";
    case PTX_SPACE_SHARED: return "shared";
    default: return "generic";
    }
}

/* The address of a load or store: a register, a variable, or a sum that it takes in. */
static void word_of_address(struct text *t, const struct lower_view *v, const struct ptx_operand *o)
{
    struct ptx_operand base = {.kind = PTX_OPERAND_REG, .index = o->index};
    bool fixed = o->kind == PTX_OPERAND_MEM && (o->index < 0 || letter(v, &base) == 'y');
    word(t, fixed ? "Ay" : "Ar");
}

static void form_memory(struct text *t, const struct lower_view *v, const struct ptx_insn *in, uint32_t at)
{
    (void)at;
    put(t, "%s.%s", ptx_op_text((enum ptx_op)in->op), space_text((enum ptx_space)in->space));
    if (in->space == PTX_SPACE_PARAM && !v->f->is_entry)
        put(t, ".fn");
    for (unsigned i = 0; i < in->n_mods; i++)
        if (ptx_mod_category((enum ptx_mod)in->mods[i]) == PTX_CAT_ATOMIC)
            put(t, ".%s", ptx_mod_text((enum ptx_mod)in->mods[i]));
    if (in->vec > 1)
        put(t, ".v%u", in->vec);
    words_of_types(t, in);
    word_of_address(t, v, &in->operands[in->op == PTX_OP_ST || in->op == PTX_OP_RED ? 0 : 1]);
    if (in->op == PTX_OP_ST)
        word(t, letter(v, &in->operands[1]) == 'y' ? "Vy" : in->space == PTX_SPACE_PARAM && letter(v, &in->operands[1]) == 'i' ? "Vi" : "Vr");     /* of others lower_moves has immediates */
}

/* ---- branches -------------------------------------------------------------------------------------------------------------------------- */

static bool complex_insn(const struct ptx_insn *in)
{
    enum ptx_unit_class u = ptx_op_unit((enum ptx_op)in->op);
    return u == PTX_UNIT_BRANCH || u == PTX_UNIT_BARRIER || u == PTX_UNIT_WARP || u == PTX_UNIT_ATOMIC || u == PTX_UNIT_TENSOR || u == PTX_UNIT_ASYNC ||
           in->op == PTX_OP_DIV || in->op == PTX_OP_REM;
}

static bool leaves(const struct ptx_function *f, uint32_t insn)
{
    return insn >= f->n_insns || f->insns[insn].op == PTX_OP_RET || f->insns[insn].op == PTX_OP_EXIT;
}

static void form_bra(struct text *t, const struct lower_view *v, const struct ptx_insn *in, uint32_t at)
{
    uint32_t target = in->operands[0].kind == PTX_OPERAND_LABEL ? v->f->labels[in->operands[0].index].insn : at + 1;
    put(t, "bra");
    if (target <= at) {
        word(t, "back");
        if (in->guard >= 0)
            word(t, "c");
        if (target < v->f->n_insns && v->cfg->block_of[target] == v->cfg->block_of[at])
            word(t, "self");
        return;
    }
    if (in->guard < 0) {
        word(t, target == at + 1 ? "next" : "fwd");
        return;
    }
    uint32_t body = target - at - 1, n = 0;
    bool simple = true;
    for (uint32_t i = at + 1; i < target && i < v->f->n_insns; i++) {
        simple &= !complex_insn(&v->f->insns[i]);
        n++;
    }
    word(t, body <= 4 ? "if.0-4" : body <= 8 ? "if.5-8" : body <= 16 ? "if.9-16" : "if.17+");
    if (simple)
        word(t, "s");
    else if (v->regs[in->guard].uniform)
        word(t, "u");
    if (leaves(v->f, target))
        word(t, "ex");
}

static void form_leave(struct text *t, const struct lower_view *v, const struct ptx_insn *in, uint32_t at)
{
    (void)v, (void)at;
    put(t, "%s", ptx_op_text((enum ptx_op)in->op));
}

/* ptxas inlines functions of the module; the others are the driver's (malloc, vprintf). */
static void form_call(struct text *t, const struct lower_view *v, const struct ptx_insn *in, uint32_t at)
{
    (void)at;
    put(t, "%s", ptx_op_text((enum ptx_op)in->op));
    const struct ptx_module *m = v->f->module;
    const struct ptx_function *callee = NULL;
    for (unsigned i = 0; i < in->n_operands; i++) {
        const struct ptx_operand *o = &in->operands[i];
        if (o->kind == PTX_OPERAND_SYM && (uint32_t)o->sym < m->n_symbols && m->symbols[o->sym].kind == PTX_SYMBOL_FUNCTION)
            callee = &m->functions[m->symbols[o->sym].index];
    }
    word(t, !callee ? "indirect" : callee->has_body ? "own" : "driver");
}

/* A fence by its scope: that of a CTA is one instruction, wider ones look after caches. */
static void form_fence(struct text *t, const struct lower_view *v, const struct ptx_insn *in, uint32_t at)
{
    (void)v, (void)at;
    put(t, "%s", ptx_op_text((enum ptx_op)in->op));
    words_of_mods(t, in);
    word(t, ptx_insn_has(in, PTX_MOD_CTA) ? "cta" : "far");
}

static void form_divide(struct text *t, const struct lower_view *v, const struct ptx_insn *in, uint32_t at)
{
    (void)at;
    put(t, "%s", ptx_op_text((enum ptx_op)in->op));
    words_of_mods(t, in);
    if (lower_is_float(lower_first_type(in)) && ptx_insn_has(in, PTX_MOD_FTZ))
        word(t, "ftz");
    else if (!lower_is_float(lower_first_type(in)) && constants(v, in) && letter(v, &in->operands[2]) == 'i')
        word(t, "i");
}

static const struct { uint16_t op; form_fn *form; } by_op[] = {
    {PTX_OP_ADD, form_add}, {PTX_OP_SUB, form_add}, {PTX_OP_MUL, form_mul}, {PTX_OP_MAD, form_mul}, {PTX_OP_FMA, form_mul},
    {PTX_OP_SHL, form_shift}, {PTX_OP_SHR, form_shift},
    {PTX_OP_AND, form_logic}, {PTX_OP_OR, form_logic}, {PTX_OP_XOR, form_logic}, {PTX_OP_NOT, form_logic},
    {PTX_OP_SETP, form_setp}, {PTX_OP_SELP, form_selp}, {PTX_OP_MOV, form_mov}, {PTX_OP_CVT, form_cvt}, {PTX_OP_CVTA, form_cvt},
    {PTX_OP_LD, form_memory}, {PTX_OP_LDU, form_memory}, {PTX_OP_ST, form_memory}, {PTX_OP_ATOM, form_memory}, {PTX_OP_RED, form_memory},
    {PTX_OP_BRA, form_bra}, {PTX_OP_CALL, form_call}, {PTX_OP_RET, form_leave}, {PTX_OP_EXIT, form_leave}, {PTX_OP_MEMBAR, form_fence}, {PTX_OP_FENCE, form_fence}, {PTX_OP_DIV, form_divide}, {PTX_OP_REM, form_divide},
};

const char *ptx_lower_entry_form(const struct ptx_function *f)
{
    for (uint32_t i = 0; i < f->n_vars; i++)
        if (f->vars[i].space == PTX_SPACE_LOCAL)
            return "entry|frame";
    return "entry";
}

static bool moved_first(const struct lower_view *v, int32_t reg)
{
    bool before = v->regs[reg].moved;
    v->regs[reg].moved = true;
    return !before;
}

unsigned lower_moves(const struct lower_view *v, const struct ptx_insn *in)
{
    enum ptx_op op = (enum ptx_op)in->op;
    unsigned n = 0;
    if ((op != PTX_OP_LD && op != PTX_OP_ST && op != PTX_OP_ATOM && op != PTX_OP_RED) || in->space == PTX_SPACE_PARAM || in->n_operands < 2)
        return 0;
    const struct ptx_operand *address = &in->operands[op == PTX_OP_ST || op == PTX_OP_RED ? 0 : 1], *value = &in->operands[1];
    struct ptx_operand base = {.kind = PTX_OPERAND_REG, .index = address->index};
    if (address->kind == PTX_OPERAND_MEM && address->index >= 0 && letter(v, &base) == 'p' && moved_first(v, address->index))
        n += ptx_type_bytes((enum ptx_type)v->f->regs[address->index].type) / 4;
    if (op != PTX_OP_ST || letter(v, value) != 'i')
        return n;
    const struct ptx_insn *from = lower_maker(v, value);
    uint64_t bits = lower_is_immediate(value) ? value->bits : from && lower_is_immediate(&from->operands[1]) ? from->operands[1].bits : 1;
    unsigned words = (ptx_type_bytes(lower_first_type(in)) + 3) / 4;
    if (value->kind == PTX_OPERAND_REG && !moved_first(v, value->index))
        return n;
    return n + ((uint32_t)bits != 0) + (words == 2 && bits >> 32);
}

void lower_form(const struct lower_view *v, uint32_t insn, char form[PTX_FORM_BYTES])
{
    const struct ptx_insn *in = &v->f->insns[insn];
    struct text t = {form, 0, PTX_FORM_BYTES, false};
    form_fn *fn = form_plain;
    for (size_t i = 0; i < sizeof by_op / sizeof *by_op; i++)
        if (by_op[i].op == in->op)
            fn = by_op[i].form;
    form[0] = 0;
    fn(&t, v, in, insn);
}
