/* Constant expressions: C's operators over 64-bit integers, signed unless an operand is unsigned, and float literals. */
#include "ptx/parse.h"

#include <string.h>

enum { MAX_DEPTH = 100 };

static bool parse_binary(struct parser *p, struct constant *out, unsigned lowest, int depth);

static bool parse_ternary(struct parser *p, struct constant *out, int depth)
{
    if (depth > MAX_DEPTH)
        return parser_fail(p, "expression is nested too deep");
    if (!parse_binary(p, out, 1, depth))
        return false;
    if (!parser_take(p, '?'))
        return true;
    struct constant a, b;
    if (!parse_ternary(p, &a, depth + 1) || !parser_expect(p, ':') || !parse_ternary(p, &b, depth + 1))
        return false;
    bool first = out->bits != 0;
    *out = first ? a : b;
    return true;
}

static bool parse_cast(struct parser *p, struct constant *out, int depth);

static bool parse_primary(struct parser *p, struct constant *out, int depth)
{
    parser_dot_to_number(p);
    struct token t = p->t;
    switch ((enum token_kind)t.kind) {
    case TOKEN_INT:
        *out = (struct constant){ t.bits, PTX_OPERAND_IMM, t.is_unsigned };
        parser_next(p);
        return true;
    case TOKEN_F32:
    case TOKEN_F64:
        *out = (struct constant){ t.bits, t.kind == TOKEN_F32 ? PTX_OPERAND_F32 : PTX_OPERAND_F64, false };
        parser_next(p);
        return true;
    case TOKEN_IDENT:
        if (token_is(p, "WARP_SZ")) {
            *out = (struct constant){ 32, PTX_OPERAND_IMM, false };
            parser_next(p);
            return true;
        }
        return parser_fail(p, "constant expected before '%.*s'", (int)(t.len > 60 ? 60 : t.len), p->text + t.at);
    case TOKEN_PUNCT:
        if (t.punct == '(')
            return parse_cast(p, out, depth);
        break;
    case TOKEN_END:
    case TOKEN_DOT:
    case TOKEN_STRING:
        break;
    }
    return parser_fail(p, "constant expected");
}

/* ( .s64 ) x, ( .u64 ) x, or a parenthesis. */
static bool parse_cast(struct parser *p, struct constant *out, int depth)
{
    parser_next(p);
    if (p->t.kind != TOKEN_DOT)
        return parse_ternary(p, out, depth + 1) && parser_expect(p, ')');
    bool to_unsigned = token_dot(p, "u64");
    if (!to_unsigned && !token_dot(p, "s64"))
        return parser_fail(p, "casts are to .s64 or .u64");
    parser_next(p);
    if (!parser_expect(p, ')') || !parse_binary(p, out, 99, depth + 1))
        return false;
    out->is_unsigned = to_unsigned;
    return true;
}

static bool parse_unary(struct parser *p, struct constant *out, int depth)
{
    unsigned op = p->t.kind == TOKEN_PUNCT ? p->t.punct : 0;
    if (op != '-' && op != '+' && op != '~' && op != '!')
        return parse_primary(p, out, depth);
    if (depth > MAX_DEPTH)
        return parser_fail(p, "expression is nested too deep");
    parser_next(p);
    if (!parse_unary(p, out, depth + 1))
        return false;
    if (out->kind != PTX_OPERAND_IMM) {
        if (op == '-')
            out->bits ^= out->kind == PTX_OPERAND_F32 ? 1ull << 31 : 1ull << 63;
        else if (op != '+')
            return parser_fail(p, "'%c' needs an integer", (int)op);
        return true;
    }
    if (op == '-')
        out->bits = 0 - out->bits;
    else if (op == '~')
        out->bits = ~out->bits;
    else if (op == '!')
        *out = (struct constant){ out->bits == 0, PTX_OPERAND_IMM, false };
    return true;
}

static const struct { uint16_t op; uint8_t level; } binary_ops[] = {
    { '|' << 8 | '|', 1 }, { '&' << 8 | '&', 2 }, { '|', 3 }, { '^', 4 }, { '&', 5 }, { '=' << 8 | '=', 6 }, { '!' << 8 | '=', 6 },
    { '<', 7 }, { '>', 7 }, { '<' << 8 | '=', 7 }, { '>' << 8 | '=', 7 }, { '<' << 8 | '<', 8 }, { '>' << 8 | '>', 8 },
    { '+', 9 }, { '-', 9 }, { '*', 10 }, { '/', 10 }, { '%', 10 },
};

static unsigned level_of(const struct parser *p)
{
    if (p->t.kind == TOKEN_PUNCT)
        for (size_t i = 0; i < sizeof binary_ops / sizeof binary_ops[0]; i++)
            if (binary_ops[i].op == p->t.punct)
                return binary_ops[i].level;
    return 0;
}

static bool less(const struct constant *a, const struct constant *b)
{
    return a->is_unsigned || b->is_unsigned ? a->bits < b->bits : (int64_t)a->bits < (int64_t)b->bits;
}

static bool divide(struct parser *p, unsigned op, struct constant *a, const struct constant *b)
{
    if (b->bits == 0)
        return parser_fail(p, "division by zero in a constant expression");
    if (a->is_unsigned || b->is_unsigned)
        a->bits = op == '/' ? a->bits / b->bits : a->bits % b->bits;
    else if ((int64_t)b->bits == -1)
        a->bits = op == '/' ? 0 - a->bits : 0;
    else
        a->bits = (uint64_t)(op == '/' ? (int64_t)a->bits / (int64_t)b->bits : (int64_t)a->bits % (int64_t)b->bits);
    return true;
}

/* a = a op b, as C does on 64-bit integers; comparisons and logic are signed 0 or 1. */
static bool apply(struct parser *p, unsigned op, struct constant *a, const struct constant *b)
{
    uint64_t count = b->bits & 63;
    bool sign = !a->is_unsigned && (int64_t)a->bits < 0;
    int truth = -1;
    switch (op) {
    case '+': a->bits += b->bits; break;
    case '-': a->bits -= b->bits; break;
    case '*': a->bits *= b->bits; break;
    case '/':
    case '%':
        if (!divide(p, op, a, b))
            return false;
        break;
    case '&': a->bits &= b->bits; break;
    case '|': a->bits |= b->bits; break;
    case '^': a->bits ^= b->bits; break;
    case '<' << 8 | '<': a->bits <<= count; return true;
    case '>' << 8 | '>': a->bits = a->bits >> count | (sign && count ? ~0ull << (64 - count) : 0); return true;
    case '=' << 8 | '=': truth = a->bits == b->bits; break;
    case '!' << 8 | '=': truth = a->bits != b->bits; break;
    case '<': truth = less(a, b); break;
    case '>': truth = less(b, a); break;
    case '<' << 8 | '=': truth = !less(b, a); break;
    case '>' << 8 | '=': truth = !less(a, b); break;
    case '&' << 8 | '&': truth = a->bits && b->bits; break;
    case '|' << 8 | '|': truth = a->bits || b->bits; break;
    default: break;
    }
    a->is_unsigned |= b->is_unsigned;
    if (truth >= 0)
        *a = (struct constant){ (uint64_t)truth, PTX_OPERAND_IMM, false };
    return true;
}

static bool parse_binary(struct parser *p, struct constant *out, unsigned lowest, int depth)
{
    if (depth > MAX_DEPTH)
        return parser_fail(p, "expression is nested too deep");
    if (!parse_unary(p, out, depth))
        return false;
    for (unsigned level; (level = level_of(p)) >= lowest && level;) {
        unsigned op = p->t.punct;
        struct constant b;
        parser_next(p);
        if (!parse_binary(p, &b, level + 1, depth + 1))
            return false;
        if (out->kind != PTX_OPERAND_IMM || b.kind != PTX_OPERAND_IMM)
            return parser_fail(p, "constant expressions are of integers");
        if (!apply(p, op, out, &b))
            return false;
    }
    return true;
}

bool parse_constant(struct parser *p, struct constant *out) { return parse_ternary(p, out, 0); }

bool parse_integer(struct parser *p, uint64_t *out)
{
    struct constant c;
    size_t at = p->t.at;
    uint32_t line = p->token_line;
    if (!parse_constant(p, &c))
        return false;
    if (c.kind != PTX_OPERAND_IMM)
        return parser_fail_at(p, at, line, "integer expected");
    *out = c.bits;
    return true;
}

bool parse_count(struct parser *p, uint32_t *out)
{
    uint64_t v = 0;
    size_t at = p->t.at;
    uint32_t line = p->token_line;
    if (!parse_integer(p, &v))
        return false;
    if (v > UINT32_MAX)
        return parser_fail_at(p, at, line, "number between 0 and 4294967295 expected");
    *out = (uint32_t)v;
    return true;
}
