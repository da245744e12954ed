/* Text to tree: the expressions of C that a debugger needs. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/debug/parse.h"

enum { DEPTH = 100, NODES = 1000 };            /* parentheses and such in each other; operators all together, since a + b + c .. is deep, too */

struct parser {
    const char *text, *at;
    struct arena *arena;
    struct error *err;
    unsigned depth, nodes;
};

static struct node *assignment(struct parser *p);
static struct node *unary(struct parser *p);

static void blanks(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static struct node *fail(struct parser *p, const char *what)
{
    if (!p->err->status)
        error_set(p->err, ST_INVALID_VALUE, "%s at '%.40s' in '%.200s'", what, *p->at ? p->at : "the end", p->text);
    return NULL;
}

static struct node *node(struct parser *p, enum node_op op, struct node *a, struct node *b)
{
    if (p->nodes++ == NODES)
        return fail(p, "too long an expression");
    struct node *n = arena_alloc(p->arena, sizeof *n);
    if (!n) {
        error_set(p->err, ST_OUT_OF_MEMORY, "no host memory for an expression");
        return NULL;
    }
    n->op = op;
    n->compound = NODE_ASSIGN;
    n->a = a;
    n->b = b;
    return n;
}

/* Takes the word if it is there and no longer operator begins with it. */
static bool take(struct parser *p, const char *op)
{
    size_t n = strlen(op);
    blanks(p);
    if (strncmp(p->at, op, n) != 0)
        return false;
    char next = p->at[n];
    bool longer = n == 1 && ((strchr("<>=!+-*/%&|^", *op) && next == '=') || ((*op == '&' || *op == '|' || *op == '<' || *op == '>') && next == *op));
    if (n == 2 && (strcmp(op, "<<") == 0 || strcmp(op, ">>") == 0))
        longer = next == '=';
    if (longer)
        return false;
    p->at += n;
    return true;
}

/* ---- primaries ---- */

static struct node *number(struct parser *p)
{
    struct node *n = node(p, NODE_NUMBER, NULL, NULL);
    char *end, *real_end;
    if (!n)
        return NULL;
    errno = 0;
    bool hex = p->at[0] == '0' && (p->at[1] == 'x' || p->at[1] == 'X');
    double d = hex ? 0 : strtod(p->at, &real_end);
    uint64_t v = strtoull(p->at, &end, 0);
    if (!hex && real_end > end) {
        float f = (float)d;
        bool single = *real_end == 'f' || *real_end == 'F';
        n->number.type = (struct type){.kind = TYPE_FLOAT, .bytes = single ? 4 : 8, .sign = true, .lanes = 1};
        memcpy(n->number.bits, single ? (void *)&f : (void *)&d, single ? 4 : 8);
        p->at = real_end + single;
    } else {
        if (errno == ERANGE)
            return fail(p, "a number too large");
        bool is_unsigned = false, is_long = false;
        for (; *end == 'u' || *end == 'U' || *end == 'l' || *end == 'L'; end++) {
            is_unsigned = is_unsigned || *end == 'u' || *end == 'U';
            is_long = is_long || *end == 'l' || *end == 'L';
        }
        bool wide = is_long || v > (hex || is_unsigned ? UINT32_MAX : INT32_MAX), top = v >> 63;
        n->number.type = (struct type){.kind = TYPE_INT, .bytes = wide ? 8 : 4, .sign = !is_unsigned && !top && (wide || v <= INT32_MAX), .lanes = 1};
        n->number.bits[0] = v;
        p->at = end;
    }
    if (isalnum((unsigned char)*p->at) || *p->at == '_')
        return fail(p, "no number");
    return n;
}

static struct node *character(struct parser *p)
{
    struct node *n = node(p, NODE_NUMBER, NULL, NULL);
    static const char from[] = "ntr0\\'\"", to[] = "\n\t\r\0\\'\"";
    if (!n)
        return NULL;
    p->at++;
    char c = *p->at;
    if (c == '\\') {
        const char *e = p->at[1] ? strchr(from, p->at[1]) : NULL;
        if (!e)
            return fail(p, "an unknown escape");
        c = to[e - from];
        p->at++;
    }
    if (!*p->at || p->at[1] != '\'')
        return fail(p, "a character that does not end");
    p->at += 2;
    n->number.type = (struct type){.kind = TYPE_INT, .bytes = 1, .sign = true, .lanes = 1, .character = true};
    n->number.bits[0] = (uint8_t)c;
    return n;
}

static bool in_name(const char *s) { return isalnum((unsigned char)*s) || *s == '_' || *s == '$' || (s[0] == ':' && s[1] == ':'); }

static struct node *name(struct parser *p)
{
    const char *start = p->at;
    p->at += *p->at == '%' || *p->at == '@' || *p->at == '$';
    while (in_name(p->at))
        p->at += *p->at == ':' ? 2 : 1;
    if (p->at == start || p->at == start + (strchr("%@", *start) != NULL))
        return fail(p, "a name, a number or a parenthesis is missing");
    struct node *n = node(p, NODE_NAME, NULL, NULL);
    if (n && !(n->name = arena_strndup(p->arena, start, (size_t)(p->at - start))))
        return fail(p, "no host memory");
    return n;
}

/* "(float *)": the type, if that is what stands here; then p is behind it. */
static bool cast_type(struct parser *p, struct type *out)
{
    char text[64];
    const char *end = p->at[0] == '(' ? strchr(p->at, ')') : NULL;
    size_t n = end ? (size_t)(end - p->at - 1) : 0;
    if (!n || n >= sizeof text)
        return false;
    memcpy(text, p->at + 1, n);
    text[n] = 0;
    if (!type_parse(text, out))
        return false;
    p->at = end + 1;
    return true;
}

static struct node *primary(struct parser *p)
{
    blanks(p);
    if (isdigit((unsigned char)*p->at) || (*p->at == '.' && isdigit((unsigned char)p->at[1])))
        return number(p);
    if (*p->at == '\'')
        return character(p);
    if (*p->at != '(')
        return name(p);
    p->at++;
    struct node *n = assignment(p);
    if (n && !take(p, ")"))
        return fail(p, "a ')' is missing");
    return n;
}

static struct node *postfix(struct parser *p)
{
    struct node *n = primary(p);
    for (;;) {
        if (!n)
            return NULL;
        if (take(p, "[")) {
            struct node *i = assignment(p);
            if (!i)
                return NULL;
            if (!take(p, "]"))
                return fail(p, "a ']' is missing");
            n = node(p, NODE_INDEX, n, i);
        } else if (strncmp((blanks(p), p->at), "->", 2) == 0 || *p->at == '.') {
            bool arrow = *p->at == '-';
            p->at += arrow ? 2 : 1;
            n = arrow ? node(p, NODE_DEREF, n, NULL) : n;
            if (!n)
                return NULL;
            blanks(p);
            const char *start = p->at;
            while (isalnum((unsigned char)*p->at) || *p->at == '_')
                p->at++;
            if (p->at == start)
                return fail(p, "the name of a member is missing");
            n = node(p, NODE_MEMBER, n, NULL);
            if (n && !(n->name = arena_strndup(p->arena, start, (size_t)(p->at - start))))
                return fail(p, "no host memory");
        } else {
            return n;
        }
    }
}

static struct node *prefixed(struct parser *p, enum node_op op)
{
    struct node *a = unary(p);
    return a ? node(p, op, a, NULL) : NULL;
}

static struct node *unary_inner(struct parser *p)
{
    struct type type;
    blanks(p);
    if (cast_type(p, &type)) {
        struct node *n = prefixed(p, NODE_CAST);
        if (n)
            n->type = type;
        return n;
    }
    if (strncmp(p->at, "sizeof", 6) == 0 && !in_name(p->at + 6)) {
        p->at += 6;
        blanks(p);
        if (!cast_type(p, &type))
            return prefixed(p, NODE_SIZEOF);
        struct node *n = node(p, NODE_SIZEOF, NULL, NULL);
        if (n)
            n->type = type;
        return n;
    }
    if (take(p, "-"))
        return prefixed(p, NODE_MINUS);
    if (take(p, "+"))
        return unary(p);
    if (take(p, "!"))
        return prefixed(p, NODE_NOT);
    if (take(p, "~"))
        return prefixed(p, NODE_INVERT);
    if (take(p, "*"))
        return prefixed(p, NODE_DEREF);
    if (take(p, "&"))
        return prefixed(p, NODE_ADDRESS);
    return postfix(p);
}

static struct node *unary(struct parser *p)
{
    if (p->depth++ >= DEPTH)
        return fail(p, "too deep");
    struct node *n = unary_inner(p);
    p->depth--;
    return n;
}

/* ---- operators by rank ---- */

enum { RANKS = 10 };
static const struct { const char *text; enum node_op op; int rank; } binary[] = {
    {"||", NODE_LOR, 0},  {"&&", NODE_LAND, 1}, {"|", NODE_OR, 2},   {"^", NODE_XOR, 3},  {"&", NODE_AND, 4},   {"==", NODE_EQ, 5},  {"!=", NODE_NE, 5},
    {"<=", NODE_LE, 6},   {">=", NODE_GE, 6},   {"<", NODE_LT, 6},   {">", NODE_GT, 6},   {"<<", NODE_SHL, 7},  {">>", NODE_SHR, 7},
    {"+", NODE_ADD, 8},   {"-", NODE_SUB, 8},   {"*", NODE_MUL, 9},  {"/", NODE_DIV, 9},  {"%", NODE_MOD, 9}};

static struct node *ranked(struct parser *p, int rank)
{
    struct node *n = rank < RANKS ? ranked(p, rank + 1) : unary(p);
    while (n && rank < RANKS) {
        size_t i = 0;
        while (i < sizeof binary / sizeof *binary && (binary[i].rank != rank || !take(p, binary[i].text)))
            i++;
        if (i == sizeof binary / sizeof *binary)
            return n;
        struct node *b = ranked(p, rank + 1);
        n = b ? node(p, binary[i].op, n, b) : NULL;
    }
    return n;
}

static struct node *choice(struct parser *p)
{
    struct node *n = ranked(p, 0);
    if (!n || !take(p, "?"))
        return n;
    struct node *b = assignment(p);
    if (!b)
        return NULL;
    if (!take(p, ":"))
        return fail(p, "a ':' is missing");
    struct node *c = choice(p);
    n = c ? node(p, NODE_CHOOSE, n, b) : NULL;
    if (n)
        n->c = c;
    return n;
}

static struct node *assignment(struct parser *p)
{
    static const struct { const char *text; enum node_op op; } assign[] = {
        {"+=", NODE_ADD}, {"-=", NODE_SUB}, {"*=", NODE_MUL}, {"/=", NODE_DIV}, {"%=", NODE_MOD}, {"<<=", NODE_SHL}, {">>=", NODE_SHR},
        {"&=", NODE_AND}, {"|=", NODE_OR},  {"^=", NODE_XOR}, {"=", NODE_ASSIGN}};
    if (p->depth++ >= DEPTH)
        return fail(p, "too deep");
    struct node *n = choice(p);
    for (size_t i = 0; n && i < sizeof assign / sizeof *assign; i++)
        if (take(p, assign[i].text)) {
            struct node *b = assignment(p);
            n = b ? node(p, NODE_ASSIGN, n, b) : NULL;
            if (n)
                n->compound = assign[i].op;
            break;
        }
    p->depth--;
    return n;
}

enum status expr_parse(struct expr **out, const char *text, struct error *err)
{
    struct error own = {0};
    struct expr *e = calloc(1, sizeof *e);
    *out = NULL;
    if (!e)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for an expression");
    struct parser p = {.text = text, .at = text, .arena = &e->arena, .err = &own};
    e->root = assignment(&p);
    blanks(&p);
    if (e->root && *p.at)
        e->root = fail(&p, "an operator is missing");
    if (!e->root) {
        expr_free(e);
        if (err)
            *err = own;
        return own.status ? own.status : ST_OUT_OF_MEMORY;
    }
    *out = e;
    return ST_OK;
}

void expr_free(struct expr *e)
{
    if (!e)
        return;
    arena_free(&e->arena);
    free(e);
}
