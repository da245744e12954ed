/* Instructions as text again. */
#include "ptx/ptx.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct out { char *buf; size_t n, at; const struct ptx_module *m; const struct ptx_function *f; };

static void put(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct out *o, const char *fmt, ...)
{
    va_list ap;
    if (o->at + 1 >= o->n)
        return;
    va_start(ap, fmt);
    int k = vsnprintf(o->buf + o->at, o->n - o->at, fmt, ap);
    va_end(ap);
    o->at += k > 0 ? (size_t)k : 0;
    if (o->at >= o->n)
        o->at = o->n - 1;
}

static const char *reg_name(const struct out *o, int32_t r)
{
    return r >= 0 && (uint32_t)r < o->f->n_regs ? o->f->regs[r].name : "?";
}

static void put_offset(struct out *o, uint64_t bits)
{
    if (bits)
        put(o, "+%" PRId64, (int64_t)bits);
}

static void put_operand(struct out *o, const struct ptx_operand *x, int depth);

static void put_elements(struct out *o, const struct ptx_operand *x, const char *open, const char *close, int depth)
{
    put(o, "%s", open);
    for (uint32_t i = 0; i < x->count && depth < 8; i++) {
        put(o, "%s", i ? ", " : "");
        put_operand(o, &o->f->vec_pool[x->first + i], depth + 1);
    }
    put(o, "%s", close);
}

static void put_sreg(struct out *o, const struct ptx_operand *x)
{
    static const uint8_t components[] = {
#define SREG(id, text, type, n) n,
#include "ptx/sregs.def"
#undef SREG
    };
    bool part = x->index >= 0 && x->index < PTX_SREG_COUNT && components[x->index] > 1;
    put(o, "%s", ptx_sreg_text((enum ptx_sreg)x->index));
    if (part)
        put(o, ".%c", "xyzw"[x->component & 3]);
}

static void put_reg(struct out *o, const struct ptx_operand *x)
{
    static const struct { char letter; int digits; } selectors[] = { { 0, 0 }, { 'b', 1 }, { 'b', 2 }, { 'b', 3 }, { 'b', 4 }, { 'h', 1 }, { 'h', 2 } };
    put(o, "%s", reg_name(o, x->index));
    if (x->component != PTX_SELECT_NONE && x->component < sizeof selectors / sizeof selectors[0])
        put(o, ".%c%0*" PRIx64, selectors[x->component].letter, selectors[x->component].digits, x->bits);
}

static void put_operand(struct out *o, const struct ptx_operand *x, int depth)
{
    bool predicate = x->kind == PTX_OPERAND_REG && x->index >= 0 && (uint32_t)x->index < o->f->n_regs && o->f->regs[x->index].type == PTX_PRED;
    if (x->negated)
        put(o, predicate ? "!" : "-");
    switch ((enum ptx_operand_kind)x->kind) {
    case PTX_OPERAND_REG:    put_reg(o, x); break;
    case PTX_OPERAND_IMM:    put(o, "%" PRId64, (int64_t)x->bits); break;
    case PTX_OPERAND_F32:    put(o, "0f%08" PRIX64, x->bits); break;
    case PTX_OPERAND_F64:    put(o, "0d%016" PRIX64, x->bits); break;
    case PTX_OPERAND_SREG:   put_sreg(o, x); break;
    case PTX_OPERAND_SYM:    put(o, "%s", ptx_symbol_name(o->m, o->f, x->sym)); put_offset(o, x->bits); break;
    case PTX_OPERAND_LABEL:  put(o, "%s", (uint32_t)x->index < o->f->n_labels ? o->f->labels[x->index].name : "?"); break;
    case PTX_OPERAND_VEC:    put_elements(o, x, "{", "}", depth); break;
    case PTX_OPERAND_TEXMEM: put_elements(o, x, "[", "]", depth); break;
    case PTX_OPERAND_LIST:   put_elements(o, x, "(", ")", depth); break;
    case PTX_OPERAND_SINK:
    case PTX_OPERAND_NONE:   put(o, "_"); break;
    case PTX_OPERAND_MEM:
        if (x->index < 0 && x->sym < 0) {
            put(o, "[%" PRId64 "]", (int64_t)x->bits);
            break;
        }
        put(o, "[%s", x->index >= 0 ? reg_name(o, x->index) : ptx_symbol_name(o->m, o->f, x->sym));
        put_offset(o, x->bits);
        put(o, "]");
        break;
    }
}

char *ptx_insn_print(const struct ptx_module *m, const struct ptx_function *f, const struct ptx_insn *in, char *buf, size_t n)
{
    struct out o = { buf, n, 0, m, f };
    if (n == 0)
        return buf;
    buf[0] = '\0';
    if (in->guard >= 0)
        put(&o, "@%s%s ", in->guard_negated ? "!" : "", reg_name(&o, in->guard));
    put(&o, "%s", ptx_op_text((enum ptx_op)in->op));
    for (unsigned i = 0; i < in->n_mods; i++)
        put(&o, ".%s", ptx_mod_text((enum ptx_mod)in->mods[i]));
    for (unsigned i = 0; i < in->n_operands; i++) {
        put(&o, "%s", i == 0 ? " " : i == 1 && in->has_pair ? "|" : ", ");
        put_operand(&o, &in->operands[i], 0);
    }
    put(&o, ";");
    return buf;
}

char *ptx_source_line(const struct ptx_module *m, const struct ptx_function *f, const struct ptx_insn *in, char *buf, size_t n)
{
    if (n == 0)
        return buf;
    buf[0] = '\0';
    if (in->loc == 0 || in->loc >= f->n_locs)
        return buf;
    const struct ptx_loc *l = &f->locs[in->loc];
    const char *file = NULL;
    for (uint32_t i = 0; i < m->n_files && !file; i++)
        if (m->files[i].number == l->file)
            file = m->files[i].name;
    const char *slash = file ? strrchr(file, '/') : NULL;
    if (file)
        snprintf(buf, n, "%s:%u", slash ? slash + 1 : file, l->line);
    return buf;
}
