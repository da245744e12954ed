/* Declarations of variables and parameters, and their initialisers. */
#include "ptx/parse.h"
#include "ptx/sampler.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NESTING = 32 };
static const uint64_t MAX_BYTES = 1ull << 40;      /* of one variable: far beyond any device, far below overflow */

enum ptx_space space_of_word(const char *s, size_t len)
{
    static const struct { const char *word; uint8_t space; } rows[] = {
        { "global", PTX_SPACE_GLOBAL }, { "shared", PTX_SPACE_SHARED }, { "const", PTX_SPACE_CONST }, { "local", PTX_SPACE_LOCAL },
        { "param", PTX_SPACE_PARAM }, { "reg", PTX_SPACE_REG }, { "sreg", PTX_SPACE_SREG }, { "tex", PTX_SPACE_TEX },
        { "shared::cta", PTX_SPACE_SHARED }, { "shared::cluster", PTX_SPACE_SHARED }, { "param::entry", PTX_SPACE_PARAM },
        { "param::func", PTX_SPACE_PARAM },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strlen(rows[i].word) == len && memcmp(rows[i].word, s, len) == 0)
            return (enum ptx_space)rows[i].space;
    return PTX_SPACE_GENERIC;
}

int32_t parser_symbol(const struct parser *p, const char *name, size_t len)
{
    uintptr_t v;
    int32_t own = p->scope ? scope_symbol(p, name, len) : -1;
    if (own >= 0)
        return own;
    if (p->unit && map_get_str(&p->unit->names, name, len, &v))
        return (int32_t)v;
    return map_get_str(&p->m->names, name, len, &v) ? (int32_t)v : -1;
}

/* ---- words ------------------------------------------------------------------------------------------ */

/* ( .managed , .unified(a, b) ): of these only .managed has a meaning here. */
static bool parse_attribute(struct parser *p, struct decl *d)
{
    if (!parser_expect(p, '('))
        return false;
    do {
        if (token_dot(p, "managed"))
            d->managed = true;
        else if (p->t.kind != TOKEN_DOT)
            return parser_fail(p, "attribute expected");
        parser_next(p);
        if (parser_take(p, '(')) {
            uint64_t ignored;
            do {
                if (!parse_integer(p, &ignored))
                    return false;
            } while (parser_take(p, ','));
            if (!parser_expect(p, ')'))
                return false;
        }
    } while (parser_take(p, ','));
    return parser_expect(p, ')');
}

static bool parse_align(struct parser *p, struct decl *d)
{
    uint32_t n = 0, line = p->token_line;
    size_t at = p->t.at;
    if (!parse_count(p, &n))
        return false;
    if (n == 0 || n & (n - 1) || n > 1u << 20)
        return parser_fail_at(p, at, line, "alignment must be a power of two");
    if (!d->ptr)                   /* behind .ptr it is the alignment of what the pointer points to */
        d->align = n;
    return true;
}

bool parse_decl_words(struct parser *p, struct decl *d)
{
    while (p->t.kind == TOKEN_DOT) {
        const char *word = p->text + p->t.at;
        size_t len = p->t.len;
        enum ptx_mod m = ptx_mod_find(word, len);
        if (token_dot(p, "align")) {
            parser_next(p);
            if (!parse_align(p, d))
                return false;
            continue;
        }
        if (token_dot(p, "attribute")) {
            parser_next(p);
            if (!parse_attribute(p, d))
                return false;
            continue;
        }
        if (m != PTX_MOD_NONE && (unsigned)m < PTX_TYPE_COUNT)
            d->type = (uint8_t)m;
        else if (m == PTX_MOD_V2 || m == PTX_MOD_V4 || m == PTX_MOD_V8)
            d->vec = m == PTX_MOD_V2 ? 2 : m == PTX_MOD_V4 ? 4 : 8;
        else if (token_dot(p, "ptr"))
            d->ptr = true;
        else if (!d->ptr || space_of_word(word, len) == PTX_SPACE_GENERIC)
            return parser_fail(p, "unknown word '.%.*s' in a declaration", (int)(len > 60 ? 60 : len), word);
        parser_next(p);
    }
    if (d->type == PTX_TYPE_NONE)
        return parser_fail(p, "the declaration has no type");
    return true;
}

/* ---- declarator ------------------------------------------------------------------------------------- */

static bool parse_dims(struct parser *p, struct decl *d, uint64_t *elements, bool *open)
{
    *elements = 1;
    *open = false;
    for (d->n_dims = 0; parser_take(p, '['); d->n_dims++) {
        uint64_t n = 0;
        if (d->n_dims == MAX_DIMS)
            return parser_fail(p, "arrays have at most %d dimensions", MAX_DIMS);
        if (token_punct(p, ']') && d->n_dims == 0) {
            *open = true;
        } else {
            size_t at = p->t.at;
            uint32_t line = p->token_line;
            if (!parse_integer(p, &n))
                return false;
            if (n > MAX_BYTES || (n && *elements > MAX_BYTES / n))
                return parser_fail_at(p, at, line, "array is too large");
            *elements *= n;
        }
        d->dims[d->n_dims] = n;
        if (!parser_expect(p, ']'))
            return false;
    }
    return true;
}

bool parse_declarator(struct parser *p, struct decl *d, struct ptx_var *out)
{
    uint32_t element = ptx_type_bytes((enum ptx_type)d->type) * (d->vec ? d->vec : 1u);
    *out = (struct ptx_var){ .space = d->space, .type = d->type, .linkage = d->linkage, .managed = d->managed,
                             .const_bank = d->const_bank, .line = p->token_line };
    if (p->t.kind != TOKEN_IDENT)
        return parser_fail(p, "name expected");
    out->name = arena_strndup(&p->m->arena, p->text + p->t.at, p->t.len);
    if (!out->name)
        return parser_no_memory(p);
    size_t at = p->t.at;
    parser_next(p);
    uint64_t elements;
    if (!parse_dims(p, d, &elements, &out->unsized))
        return false;
    if (elements > MAX_BYTES / element)
        return parser_fail_at(p, at, out->line, "variable is too large");
    out->bytes = out->unsized ? 0 : elements * element;
    out->align = d->align > element ? d->align : element;
    while (out->align & (out->align - 1))          /* .v3 does not exist, but keep the promise of a power of two */
        out->align &= out->align - 1;
    return true;
}

uint32_t parse_repeat(struct parser *p)
{
    uint32_t n = 0;
    if (!parser_take(p, '<'))
        return 0;
    if (p->t.kind != TOKEN_INT || p->t.bits == 0 || p->t.bits > 1u << 20) {
        parser_fail(p, "number of variables expected");
        return 0;
    }
    n = (uint32_t)p->t.bits;
    parser_next(p);
    return parser_expect(p, '>') ? n : 0;
}

bool repeat_name(struct parser *p, struct ptx_var *v, const char *base, uint32_t k)
{
    char digits[16];
    size_t len = strlen(base), n = (size_t)snprintf(digits, sizeof digits, "%u", k);
    char *name = arena_alloc(&p->m->arena, len + n + 1);
    if (!name)
        return parser_no_memory(p);
    memcpy(name, base, len);
    memcpy(name + len, digits, n + 1);
    v->name = name;
    return true;
}

/* ---- initialisers ----------------------------------------------------------------------------------- */

struct init_list {
    VEC(struct ptx_init) items;
    uint64_t limit;                /* bytes of the variable, UINT64_MAX when its first dimension is open */
    uint64_t reach;                /* end of the last element written */
    uint32_t element;              /* bytes of a scalar */
    bool has_symbols;
};

/* The bits of a constant as an element of that type. */
static uint64_t convert(const struct constant *c, enum ptx_type type)
{
    double d;
    float f;
    uint64_t bits = 0;
    uint32_t narrow;
    if (ptx_type_kind(type) != PTX_KIND_FLOAT || (type != PTX_F32 && type != PTX_F64))
        return c->bits;
    if (c->kind == PTX_OPERAND_F32) {
        narrow = (uint32_t)c->bits;
        if (type == PTX_F32)
            return narrow;
        memcpy(&f, &narrow, sizeof f);
        d = (double)f;
    } else if (c->kind == PTX_OPERAND_F64) {
        memcpy(&d, &c->bits, sizeof d);
    } else {
        d = c->is_unsigned ? (double)c->bits : (double)(int64_t)c->bits;
    }
    if (type == PTX_F64) {
        memcpy(&bits, &d, sizeof bits);
        return bits;
    }
    f = (float)d;
    memcpy(&narrow, &f, sizeof narrow);
    return narrow;
}

/* generic(name), name, either with "+ constant". */
static bool parse_address(struct parser *p, struct ptx_init *out, int depth)
{
    if (token_is(p, "generic") && parser_peek_char(p) == '(') {
        parser_next(p);
        parser_next(p);
        out->generic = true;
        if (depth > MAX_NESTING || !parse_address(p, out, depth + 1) || !parser_expect(p, ')'))
            return parser_fail(p, "address expected");
    } else {
        if (p->t.kind != TOKEN_IDENT)
            return parser_fail(p, "name of a variable or function expected");
        out->sym = parser_symbol(p, p->text + p->t.at, p->t.len);
        if (out->sym < 0)
            return parser_fail(p, "unknown name '%.*s'", (int)(p->t.len > 200 ? 200 : p->t.len), p->text + p->t.at);
        parser_next(p);
    }
    while (token_punct(p, '+') || token_punct(p, '-')) {
        bool minus = token_punct(p, '-');
        uint64_t n = 0;
        parser_next(p);
        if (!parse_integer(p, &n))
            return false;
        out->value += minus ? 0 - n : n;
    }
    return true;
}

static bool parse_scalar(struct parser *p, struct ptx_init *out, enum ptx_type type)
{
    out->sym = -1;
    if (p->t.kind == TOKEN_IDENT && !token_is(p, "WARP_SZ"))
        return parse_address(p, out, 0);
    if (p->t.kind == TOKEN_INT && parser_peek_char(p) == '(') {            /* 0xFF00(name): one byte of an address */
        uint64_t mask = p->t.bits;
        if (mask == 0)
            return parser_fail(p, "the mask of an address is zero");
        out->shift = (uint8_t)__builtin_ctzll(mask);
        parser_next(p);
        parser_next(p);
        return parse_address(p, out, 0) && parser_expect(p, ')');
    }
    struct constant c;
    int next = p->t.kind == TOKEN_INT || p->t.kind == TOKEN_F32 || p->t.kind == TOKEN_F64 ? parser_peek_char(p) : 0;
    if (next == ',' || next == '}') {              /* tables of many thousands: a bare number needs no expression */
        c = (struct constant){ p->t.bits, p->t.kind == TOKEN_INT ? PTX_OPERAND_IMM : p->t.kind == TOKEN_F32 ? PTX_OPERAND_F32 : PTX_OPERAND_F64,
                               p->t.is_unsigned };
        parser_next(p);
    } else if (!parse_constant(p, &c)) {
        return false;
    }
    out->value = convert(&c, type);
    return true;
}

static bool parse_braces(struct parser *p, struct init_list *l, const struct decl *d, uint32_t depth, uint64_t pos, int nesting)
{
    uint64_t stride = l->element;                  /* bytes of one braced item at this depth */
    for (uint32_t i = depth + 1; i < d->n_dims; i++)
        stride *= d->dims[i];
    if (depth < d->n_dims && d->vec)
        stride *= d->vec;
    if (nesting > MAX_NESTING)
        return parser_fail(p, "initialiser is nested too deep");
    parser_next(p);
    while (!token_punct(p, '}')) {
        if (token_punct(p, '{')) {
            if (!parse_braces(p, l, d, depth + 1, pos, nesting + 1))
                return false;
            pos += stride;
        } else {
            struct ptx_init one = { .offset = pos, .bytes = (uint8_t)(l->element > 8 ? 8 : l->element) };
            if (l->limit - l->element < pos || l->limit < l->element)
                return parser_fail(p, "more initialisers than elements");
            if (!parse_scalar(p, &one, (enum ptx_type)d->type))
                return false;
            l->has_symbols |= one.sym >= 0;
            if (!vec_push(&l->items, one))
                return parser_no_memory(p);
            pos += l->element;
        }
        l->reach = pos > l->reach ? pos : l->reach;
        if (!parser_take(p, ',') && !token_punct(p, '}'))
            return parser_fail(p, "',' or '}' expected in the initialiser");
    }
    parser_next(p);
    return true;
}

/* { addr_mode_0 = clamp_to_border, ... } of a sampler; the fields of a texture or surface are read over, for the host sets them. */
static bool parse_sampler(struct parser *p, uint64_t *bits)
{
    static const struct { const char *field, *value; uint64_t bits; } rows[] = {
#define MODES(i) { "addr_mode_" #i, "wrap", 0 }, { "addr_mode_" #i, "mirror", 1u << PTX_SAMPLER_ADDRESS(i) },                       \
        { "addr_mode_" #i, "clamp_ogl", 2u << PTX_SAMPLER_ADDRESS(i) }, { "addr_mode_" #i, "clamp_to_edge", 3u << PTX_SAMPLER_ADDRESS(i) }, \
        { "addr_mode_" #i, "clamp_to_border", 4u << PTX_SAMPLER_ADDRESS(i) }
        MODES(0), MODES(1), MODES(2),
#undef MODES
        { "filter_mode", "nearest", 0 }, { "filter_mode", "linear", PTX_SAMPLER_LINEAR },
        { "force_unnormalized_coords", "0", 0 }, { "force_unnormalized_coords", "1", PTX_SAMPLER_FORCE_UNNORMALIZED } };
    *bits = PTX_SAMPLER_MARK;
    if (!parser_expect(p, '{'))
        return false;
    while (!token_punct(p, '}')) {
        const char *field = p->text + p->t.at;
        size_t field_len = p->t.len;
        parser_next(p);
        if (!parser_expect(p, '='))
            return false;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            if (strlen(rows[i].field) == field_len && !memcmp(rows[i].field, field, field_len) && strlen(rows[i].value) == p->t.len &&
                !memcmp(rows[i].value, p->text + p->t.at, p->t.len))
                *bits |= rows[i].bits;
        parser_next(p);
        if (p->failed || (!parser_take(p, ',') && !token_punct(p, '}')))
            return parser_fail(p, "',' or '}' expected in the initialiser");
    }
    parser_next(p);
    return true;
}

static bool initialise_sampler(struct parser *p, struct ptx_var *v)
{
    uint64_t bits;
    if (!parse_sampler(p, &bits))
        return false;
    if (v->type != PTX_SAMPLERREF || v->unsized || v->bytes < 8)
        return true;
    struct ptx_init one = { .bytes = 8, .sym = -1, .value = bits };
    v->init = arena_dup(&p->m->arena, &one, sizeof one);
    v->n_init = v->init != NULL;
    return v->init || parser_no_memory(p);
}

/* Large tables of bytes come as a scalar each: eight bytes without symbols become one, zeros none. */
static void pack_items(struct init_list *l)
{
    size_t kept = 0;
    uint64_t end = l->limit == UINT64_MAX ? l->reach : l->limit;
    for (size_t i = 0; i < l->items.n;) {
        struct ptx_init x = l->items.at[i++];
        if (!l->has_symbols && x.bytes < 8 && x.offset % 8 == 0 && x.offset + 8 <= end) {
            uint64_t keep = (1ull << (x.bytes * 8)) - 1;
            x.value &= keep;
            for (; i < l->items.n && l->items.at[i].offset - x.offset < 8; i++)
                x.value |= (l->items.at[i].value & keep) << ((l->items.at[i].offset - x.offset) * 8);
            x.bytes = 8;
        }
        if (x.sym >= 0 || x.value)
            l->items.at[kept++] = x;
    }
    l->items.n = kept;
}

bool parse_initialiser(struct parser *p, struct ptx_var *v, const struct decl *d)
{
    struct init_list l = { .element = ptx_type_bytes((enum ptx_type)d->type), .limit = v->unsized ? UINT64_MAX : v->bytes };
    bool ok;
    if (!parser_take(p, '='))
        return true;
    if (ptx_type_kind((enum ptx_type)d->type) == PTX_KIND_OPAQUE)
        return initialise_sampler(p, v);
    if (token_punct(p, '{')) {
        ok = parse_braces(p, &l, d, 0, 0, 0);
    } else {
        struct ptx_init one = { .bytes = (uint8_t)(l.element > 8 ? 8 : l.element) };
        ok = parse_scalar(p, &one, (enum ptx_type)d->type) && (vec_push(&l.items, one) || parser_no_memory(p));
        l.has_symbols = one.sym >= 0;
        l.reach = l.element;
    }
    if (ok && v->unsized) {
        uint64_t row = l.element * (d->vec ? d->vec : 1u);
        for (uint32_t i = 1; i < d->n_dims; i++)
            row *= d->dims[i];
        v->bytes = row ? (l.reach + row - 1) / row * row : 0;
        v->unsized = false;
    }
    if (ok) {
        pack_items(&l);
        v->n_init = (uint32_t)l.items.n;
        v->init = l.items.n ? arena_dup(&p->m->arena, l.items.at, l.items.n * sizeof *v->init) : NULL;
        ok = v->init || !l.items.n || parser_no_memory(p);
    }
    vec_free(&l.items);
    return ok;
}

/* ---- parameters ------------------------------------------------------------------------------------- */

bool parse_params(struct parser *p, ptx_vars *vars, int32_t **index, uint32_t *n, uint32_t *bytes)
{
    VEC(int32_t) list = { 0 };
    uint64_t at = 0;
    bool ok = true;
    *index = NULL;
    *n = *bytes = 0;
    if (!parser_take(p, '('))
        return true;
    while (ok && !token_punct(p, ')')) {
        struct decl d = { .space = PTX_SPACE_GENERIC };
        struct ptx_var v;
        if (p->t.kind == TOKEN_DOT)
            d.space = (uint8_t)space_of_word(p->text + p->t.at, p->t.len);
        if (d.space != PTX_SPACE_PARAM && d.space != PTX_SPACE_REG) {
            ok = parser_fail(p, "'.param' or '.reg' expected");
            break;
        }
        parser_next(p);
        ok = parse_decl_words(p, &d) && parse_declarator(p, &d, &v);
        if (!ok)
            break;
        at = (at + v.align - 1) / v.align * v.align;
        v.offset = (uint32_t)at;
        at += v.bytes;
        if (at > 1u << 30)
            ok = parser_fail(p, "the parameters are too large");
        else if (!vec_push(&list, (int32_t)vars->n) || !vec_push(vars, v))
            ok = parser_no_memory(p);
        else if (!parser_take(p, ',') && !token_punct(p, ')'))
            ok = parser_fail(p, "',' or ')' expected behind a parameter");
    }
    ok = ok && parser_expect(p, ')');
    if (ok && list.n) {
        *index = arena_dup(&p->m->arena, list.at, list.n * sizeof **index);
        ok = *index || parser_no_memory(p);
    }
    *n = (uint32_t)list.n;
    *bytes = (uint32_t)at;
    vec_free(&list);
    return ok;
}
