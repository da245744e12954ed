/* Operands of instructions. */
#include "ptx/body.h"

#include <string.h>

enum { MAX_NESTING = 4 };

static bool parse_vector(struct body *b, struct ptx_operand *o, int nesting);

/* Moves what was gathered in scratch since mark into the pool, as the elements of o. */
static bool keep_elements(struct body *b, struct ptx_operand *o, size_t mark)
{
    size_t n = b->scratch.n - mark;
    if (n > 255)
        return parser_fail(&b->p, "more than 255 elements");
    o->first = (uint32_t)b->pool.n;
    o->count = (uint8_t)n;
    for (size_t i = 0; i < n; i++)
        if (!vec_push(&b->pool, b->scratch.at[mark + i]))
            return parser_no_memory(&b->p);
    b->scratch.n = mark;
    return true;
}

/* The component a word names: 1..4, 0 for none. */
static unsigned component_of(const struct parser *p)
{
    static const char letters[] = "xyzwrgba";
    const char *s = p->t.kind == TOKEN_DOT && p->t.len == 1 ? strchr(letters, p->text[p->t.at]) : NULL;
    return s && *s ? (unsigned)(s - letters) % 4 + 1 : 0;
}

/* .b0 .. .b7654, .h0 .. .h32 behind a register of a video instruction. */
static bool parse_selector(struct body *b, struct ptx_operand *o)
{
    struct parser *p = &b->p;
    const char *s = p->text + p->t.at;
    unsigned digits = p->t.len - 1, most = *s == 'b' ? 4 : 2;
    bool ok = (*s == 'b' || *s == 'h') && digits >= 1 && digits <= most;
    for (unsigned i = 1; ok && i <= digits; i++) {
        ok = s[i] >= '0' && s[i] <= '7';
        o->bits = o->bits << 4 | (uint64_t)(s[i] - '0');
    }
    if (!ok)
        return parser_fail(p, "selector such as .b0 or .h1 expected");
    o->component = (uint8_t)((*s == 'b' ? PTX_SELECT_B1 : PTX_SELECT_H1) + digits - 1);
    parser_next(p);
    return true;
}

/* Behind a register name: a component of a vector register, a selector, or nothing. */
static bool finish_reg(struct body *b, struct ptx_operand *o, uint32_t reg, unsigned width, bool selector)
{
    struct parser *p = &b->p;
    unsigned c = width > 1 ? component_of(p) : 0;
    *o = (struct ptx_operand){ .kind = PTX_OPERAND_REG, .negated = o->negated, .index = (int32_t)reg, .sym = -1 };
    if (width > 1 && c) {
        if (c > width)
            return parser_fail(p, "the vector has %u components", width);
        o->index += (int32_t)c - 1;
        parser_next(p);
    } else if (width > 1) {
        size_t mark = b->scratch.n;
        for (unsigned i = 0; i < width; i++, o->index++)
            if (!vec_push(&b->scratch, *o))
                return parser_no_memory(p);
        *o = (struct ptx_operand){ .kind = PTX_OPERAND_VEC, .index = -1, .sym = -1 };
        return keep_elements(b, o, mark);
    } else if (selector && p->t.kind == TOKEN_DOT) {
        return parse_selector(b, o);
    }
    return true;
}

/* "+ n", "- n" behind a base, any number of times; and [n] behind a name, which counts elements. */
static bool parse_offset(struct body *b, struct ptx_operand *o)
{
    struct parser *p = &b->p;
    if (o->sym >= 0 && parser_take(p, '[')) {
        const struct ptx_var *v = (uint32_t)o->sym < p->m->n_symbols ? ptx_symbol_var(p->m, NULL, o->sym)
                                                                     : &b->vars.at[(uint32_t)o->sym - p->m->n_symbols];
        uint64_t n = 0;
        if (!parse_integer(p, &n) || !parser_expect(p, ']'))
            return false;
        o->bits += n * (v ? ptx_type_bytes((enum ptx_type)v->type) : 1);
    }
    while (token_punct(p, '+') || token_punct(p, '-')) {
        bool minus = token_punct(p, '-');
        uint64_t n = 0;
        parser_next(p);
        if (!parse_integer(p, &n))
            return false;
        o->bits += minus ? 0 - n : n;
    }
    return true;
}

/* A name: register, special register, variable or function. */
static bool parse_name(struct body *b, struct ptx_operand *o, bool selector)
{
    struct parser *p = &b->p;
    const char *name = p->text + p->t.at;
    size_t len = p->t.len;
    uint32_t reg;
    unsigned width;
    if (len == 1 && *name == '_') {
        o->kind = PTX_OPERAND_SINK;
        parser_next(p);
        return true;
    }
    if ((width = scope_find_reg(b, name, len, &reg)) != 0) {
        parser_next(p);
        return finish_reg(b, o, reg, width, selector);
    }
    if (*name == '%') {
        enum ptx_sreg s = ptx_sreg_find(name, len);
        if (s == PTX_SREG_COUNT)
            return parser_fail(p, "unknown register '%.*s'", (int)(len > 200 ? 200 : len), name);
        o->kind = PTX_OPERAND_SREG;
        o->index = (int32_t)s;
        parser_next(p);
        unsigned c = component_of(p);
        if (c) {
            o->component = (uint8_t)(c - 1);
            parser_next(p);
        }
        return true;
    }
    o->sym = parser_symbol(p, name, len);
    if (o->sym < 0)
        return parser_fail(p, "unknown name '%.*s'", (int)(len > 200 ? 200 : len), name);
    o->kind = PTX_OPERAND_SYM;
    parser_next(p);
    return parse_offset(b, o);
}

static bool parse_constant_operand(struct body *b, struct ptx_operand *o)
{
    struct constant c;
    if (!parse_constant(&b->p, &c))
        return false;
    o->kind = c.kind;
    o->bits = c.bits;
    return true;
}

/* [base + offset], or [base, {..}] and the like with coordinates. */
static bool parse_address(struct body *b, struct ptx_operand *o, int nesting)
{
    struct parser *p = &b->p;
    parser_next(p);
    if (p->t.kind == TOKEN_IDENT && !token_is(p, "WARP_SZ")) {
        if (!parse_name(b, o, false) || (o->kind == PTX_OPERAND_REG && !parse_offset(b, o)))
            return false;
        if (o->kind != PTX_OPERAND_REG && o->kind != PTX_OPERAND_SYM)
            return parser_fail(p, "an address starts with a register, a name or a number");
    } else {
        o->index = -1;
        if (!parse_integer(p, &o->bits))
            return false;
    }
    struct ptx_operand base = *o;
    if (base.kind == PTX_OPERAND_SYM || base.kind == PTX_OPERAND_NONE)
        o->index = -1;
    o->kind = PTX_OPERAND_MEM;
    if (token_punct(p, ',')) {
        size_t mark = b->scratch.n;
        if (base.kind == PTX_OPERAND_NONE || (base.kind == PTX_OPERAND_REG && base.bits))
            base = *o;
        if (!vec_push(&b->scratch, base))
            return parser_no_memory(p);
        while (parser_take(p, ',')) {
            struct ptx_operand e = { .index = -1, .sym = -1 };
            bool ok = token_punct(p, '{') ? parse_vector(b, &e, nesting + 1) : parse_operand(b, &e, false);
            if (!ok)
                return false;
            if (!vec_push(&b->scratch, e))
                return parser_no_memory(p);
        }
        *o = (struct ptx_operand){ .kind = PTX_OPERAND_TEXMEM, .index = -1, .sym = -1 };
        if (!keep_elements(b, o, mark))
            return false;
    }
    if (!parser_expect(p, ']'))
        return false;
    if (token_dot(p, "unified"))                   /* a promise about addresses that are the same on all devices */
        parser_next(p);
    return true;
}

static bool parse_vector(struct body *b, struct ptx_operand *o, int nesting)
{
    struct parser *p = &b->p;
    size_t mark = b->scratch.n;
    if (nesting > MAX_NESTING)
        return parser_fail(p, "operands are nested too deep");
    parser_next(p);
    do {
        struct ptx_operand e = { .index = -1, .sym = -1 };
        bool ok = token_punct(p, '{') ? parse_vector(b, &e, nesting + 1) : parse_operand(b, &e, false);
        if (!ok)
            return false;
        if (!vec_push(&b->scratch, e))
            return parser_no_memory(p);
    } while (parser_take(p, ','));
    *o = (struct ptx_operand){ .kind = PTX_OPERAND_VEC, .index = -1, .sym = -1 };
    return keep_elements(b, o, mark) && parser_expect(p, '}');
}

bool parse_operand(struct body *b, struct ptx_operand *o, bool selector)
{
    struct parser *p = &b->p;
    *o = (struct ptx_operand){ .index = -1, .sym = -1 };
    if (token_punct(p, '{'))
        return parse_vector(b, o, 0);
    if (token_punct(p, '['))
        return parse_address(b, o, 0);
    if (token_punct(p, '!') || token_punct(p, '-')) {
        int next = parser_peek_char(p);            /* the character behind the sign decides: a name or a constant */
        bool name = next == '%' || next == '_' || next == '$' || (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
        if (name && p->text[p->at] != 'W') {
            parser_next(p);
            if (!parse_name(b, o, selector))
                return false;
            o->negated = true;
            return o->kind == PTX_OPERAND_REG || o->kind == PTX_OPERAND_SREG || parser_fail(p, "only registers can be negated");
        }
    }
    if (p->t.kind == TOKEN_IDENT && !token_is(p, "WARP_SZ"))
        return parse_name(b, o, selector);
    return parse_constant_operand(b, o);
}

/* ---- lists ------------------------------------------------------------------------------------------- */

static bool parse_label(struct body *b, struct ptx_insn *in)
{
    struct parser *p = &b->p;
    struct fixup f = { .insn = (uint32_t)b->insns.n, .operand = in->n_operands, .targets = -1, .at = p->t.at, .line = p->token_line, .len = p->t.len };
    if (p->t.kind != TOKEN_IDENT)
        return parser_fail(p, "label expected");
    in->operands[in->n_operands++] = (struct ptx_operand){ .kind = PTX_OPERAND_LABEL, .index = -1, .sym = -1 };
    parser_next(p);
    return scope_use_label(b, f);
}

/* The comma separated operands up to the semicolon. */
bool parse_operands(struct body *b, struct ptx_insn *in)
{
    struct parser *p = &b->p;
    bool selector = ptx_op_unit((enum ptx_op)in->op) == PTX_UNIT_VIDEO;
    if (token_punct(p, ';'))
        return true;
    do {
        bool label = in->op == PTX_OP_BRA || (in->op == PTX_OP_BRX && in->n_operands == 1);
        if (in->n_operands == PTX_MAX_OPERANDS)
            return parser_fail(p, "too many operands");
        if (label) {
            if (!parse_label(b, in))
                return false;
            continue;
        }
        if (!parse_operand(b, &in->operands[in->n_operands], selector))
            return false;
        in->n_operands++;
        if (in->n_operands == 1 && parser_take(p, '|')) {
            in->has_pair = true;
            if (!parse_operand(b, &in->operands[in->n_operands++], false))
                return false;
        }
    } while (parser_take(p, ','));
    return true;
}

static bool parse_list(struct body *b, struct ptx_insn *in)
{
    struct parser *p = &b->p;
    struct ptx_operand *o = &in->operands[in->n_operands++];
    size_t mark = b->scratch.n;
    *o = (struct ptx_operand){ .kind = PTX_OPERAND_LIST, .index = -1, .sym = -1 };
    parser_next(p);
    while (!token_punct(p, ')')) {
        struct ptx_operand e;
        if (!parse_operand(b, &e, false))
            return false;
        if (!vec_push(&b->scratch, e))
            return parser_no_memory(p);
        if (!parser_take(p, ',') && !token_punct(p, ')'))
            return parser_fail(p, "',' or ')' expected");
    }
    return keep_elements(b, o, mark) && parser_expect(p, ')');
}

/* [(returns),] function or register [, (arguments)] [, prototype or target list] */
bool parse_call(struct body *b, struct ptx_insn *in)
{
    struct parser *p = &b->p;
    if (token_punct(p, '(') && (!parse_list(b, in) || !parser_expect(p, ',')))
        return false;
    if (p->t.kind != TOKEN_IDENT)
        return parser_fail(p, "function or register expected");
    if (!parse_operand(b, &in->operands[in->n_operands++], false))
        return false;
    if (!parser_take(p, ','))
        return true;
    if (token_punct(p, '(')) {
        if (!parse_list(b, in))
            return false;
        if (!parser_take(p, ','))
            return true;
    }
    return parse_label(b, in);
}
