/* Modules: the top level of the text. Bodies are only measured here; body.c parses them when they are asked for. */
#include "ptx/parse.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct alias { int32_t sym; size_t at; uint32_t line, len; };

struct opener {
    struct parser p;
    ptx_vars vars;
    VEC(struct ptx_function) functions;
    VEC(struct ptx_symbol) symbols;
    VEC(struct ptx_file) files;
    VEC(struct alias) aliases;     /* resolved at the end: the target may stand below */
};

/* ---- symbols -------------------------------------------------------------------------------------- */

static bool add_symbol(struct opener *o, const char *name, enum ptx_symbol_kind kind, size_t index)
{
    struct ptx_symbol s = { (uint8_t)kind, (int32_t)index };
    if (!vec_push(&o->symbols, s) || !map_put_str(&o->p.m->names, name, strlen(name), o->symbols.n - 1))
        return parser_no_memory(&o->p);
    return true;
}

/* A variable may be declared extern any number of times, .common and .weak ones repeat too; the definition wins. */
static bool add_var(struct opener *o, const struct ptx_var *v, size_t at, int32_t *sym)
{
    *sym = ptx_symbol_find(o->p.m, v->name);
    if (*sym < 0) {
        *sym = (int32_t)o->symbols.n;
        return (vec_push(&o->vars, *v) || parser_no_memory(&o->p)) && add_symbol(o, v->name, PTX_SYMBOL_VAR, o->vars.n - 1);
    }
    struct ptx_symbol *s = &o->symbols.at[*sym];
    struct ptx_var *old = s->kind == PTX_SYMBOL_VAR ? &o->vars.at[s->index] : NULL;
    if (old && old->linkage == PTX_LINK_EXTERN)
        *old = *v;
    else if (!old || (v->linkage != PTX_LINK_EXTERN && v->linkage != PTX_LINK_COMMON && v->linkage != PTX_LINK_WEAK))
        return parser_fail_at(&o->p, at, v->line, "'%s' is declared twice", v->name);
    return true;
}

static bool parse_vars(struct opener *o, uint8_t space, uint8_t linkage)
{
    struct parser *p = &o->p;
    struct decl d = { .space = space, .linkage = linkage };
    if (space == PTX_SPACE_TEX) {                  /* .tex .u32 name: an older way to say .global .texref name */
        d.space = PTX_SPACE_GLOBAL;
        d.type = PTX_TEXREF;
    }
    if (space == PTX_SPACE_CONST && parser_take(p, '[')) {
        uint32_t bank = 0;
        if (!parse_count(p, &bank) || !parser_expect(p, ']'))
            return false;
        d.const_bank = (uint16_t)bank;
    }
    if (!parse_decl_words(p, &d))
        return false;
    if (space == PTX_SPACE_TEX)
        d.type = PTX_TEXREF;
    do {
        struct ptx_var v;
        int32_t sym;
        size_t at = p->t.at;
        if (!parse_declarator(p, &d, &v))
            return false;
        const char *base = v.name;
        for (uint32_t k = 0, n = parse_repeat(p); k < n; k++)
            if (!repeat_name(p, &v, base, k) || (k + 1 < n && !add_var(o, &v, at, &sym)))
                return false;
        if (p->failed || !add_var(o, &v, at, &sym))
            return false;
        if (token_punct(p, '=')) {                 /* entered before its initialiser, which may name it */
            if (!parse_initialiser(p, &v, &d))
                return false;
            o->vars.at[o->symbols.at[sym].index] = v;
        }
    } while (parser_take(p, ','));
    return parser_expect(p, ';');
}

/* ---- functions -------------------------------------------------------------------------------------- */

static bool parse_three(struct parser *p, uint32_t out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = 1;
    for (int i = 0; i < 3; i++)
        if (!parse_count(p, &out[i]))
            return false;
        else if (i == 2 || !parser_take(p, ','))
            break;
    return true;
}

enum header_kind { HEADER_THREE, HEADER_ONE, HEADER_FLAG, HEADER_IGNORE_ONE };
static const struct header_row { const char *word; uint8_t kind; uint16_t place; } header_rows[] = {
    { "maxntid", HEADER_THREE, offsetof(struct ptx_function, max_threads) },
    { "reqntid", HEADER_THREE, offsetof(struct ptx_function, req_threads) },
    { "reqnctapercluster", HEADER_THREE, offsetof(struct ptx_function, cluster) },
    { "minnctapersm", HEADER_ONE, offsetof(struct ptx_function, min_ctas_per_sm) },
    { "maxnctapersm", HEADER_IGNORE_ONE, 0 },
    { "maxnreg", HEADER_ONE, offsetof(struct ptx_function, max_regs) },
    { "maxclusterrank", HEADER_ONE, offsetof(struct ptx_function, max_cluster_rank) },
    { "explicitcluster", HEADER_FLAG, offsetof(struct ptx_function, explicit_cluster) },
    { "noreturn", HEADER_FLAG, offsetof(struct ptx_function, proto.noreturn) },
    { "blocksareclusters", HEADER_FLAG, offsetof(struct ptx_function, blocks_are_clusters) },
    { "abi_preserve", HEADER_IGNORE_ONE, 0 },
    { "abi_preserve_control", HEADER_IGNORE_ONE, 0 },
};

static bool parse_pragma(struct parser *p)
{
    do {
        if (p->t.kind != TOKEN_STRING)
            return parser_fail(p, "string expected behind .pragma");
        parser_next(p);
    } while (parser_take(p, ','));
    return parser_expect(p, ';');
}

static bool parse_header_row(struct parser *p, const struct header_row *r, struct ptx_function *f)
{
    char *field = (char *)f + r->place;
    uint32_t ignored;
    switch ((enum header_kind)r->kind) {
    case HEADER_THREE:       return parse_three(p, (uint32_t *)(void *)field);
    case HEADER_ONE:         return parse_count(p, (uint32_t *)(void *)field);
    case HEADER_IGNORE_ONE:  return parse_count(p, &ignored);
    case HEADER_FLAG:        *(bool *)field = true; return true;
    }
    return true;
}

static bool parse_header_words(struct parser *p, struct ptx_function *f)
{
    while (p->t.kind == TOKEN_DOT) {
        const struct header_row *r = NULL;
        for (size_t i = 0; i < sizeof header_rows / sizeof header_rows[0] && !r; i++)
            if (token_dot(p, header_rows[i].word))
                r = &header_rows[i];
        bool pragma = token_dot(p, "pragma"), attribute = token_dot(p, "attribute");
        if (!r && !pragma && !attribute)
            return parser_fail(p, "unknown directive '.%.*s'", (int)(p->t.len > 60 ? 60 : p->t.len), p->text + p->t.at);
        if (attribute) {                           /* nothing of a function's attributes matters here */
            struct decl d = { .type = PTX_B8 };
            if (!parse_decl_words(p, &d))
                return false;
            continue;
        }
        parser_next(p);
        if (pragma ? !parse_pragma(p) : !parse_header_row(p, r, f))
            return false;
    }
    return true;
}

/* Merges a declaration or definition with what was said before under the same name. */
static bool add_function(struct opener *o, const struct ptx_function *f, size_t at)
{
    int32_t sym = ptx_symbol_find(o->p.m, f->name);
    if (sym < 0)
        return (vec_push(&o->functions, *f) || parser_no_memory(&o->p)) && add_symbol(o, f->name, PTX_SYMBOL_FUNCTION, o->functions.n - 1);
    struct ptx_symbol *s = &o->symbols.at[sym];
    if (s->kind != PTX_SYMBOL_FUNCTION || (f->has_body && o->functions.at[s->index].has_body))
        return parser_fail_at(&o->p, at, f->line, "'%s' is defined twice", f->name);
    struct ptx_function *old = &o->functions.at[s->index];
    if (f->has_body) {
        uint8_t linkage = f->linkage == PTX_LINK_LOCAL && old->linkage != PTX_LINK_EXTERN ? old->linkage : f->linkage;
        *old = *f;
        old->linkage = linkage;
    } else if (old->linkage == PTX_LINK_EXTERN && f->linkage != PTX_LINK_EXTERN) {
        old->linkage = f->linkage;
    }
    return true;
}

/* .entry or .func: [returns] name [(params)] directives, then a body or ';'. */
static bool parse_function(struct opener *o, bool is_entry, uint8_t linkage)
{
    struct parser *p = &o->p;
    struct ptx_function f = { .is_entry = is_entry, .linkage = linkage };
    ptx_vars vars = { 0 };
    bool ok = parse_header_words(p, &f);
    ok = ok && parse_params(p, &vars, &f.proto.returns, &f.proto.n_returns, &f.proto.return_bytes);
    size_t at = p->t.at;
    if (ok && p->t.kind != TOKEN_IDENT)
        ok = parser_fail(p, "name of the function expected");
    f.line = p->token_line;
    f.name = ok ? arena_strndup(&p->m->arena, p->text + p->t.at, p->t.len) : NULL;
    if (ok && !f.name)
        ok = parser_no_memory(p);
    parser_next(p);
    ok = ok && parse_params(p, &vars, &f.proto.params, &f.proto.n_params, &f.proto.param_bytes) && parse_header_words(p, &f);
    if (ok && token_punct(p, '{')) {
        size_t close_at;
        f.has_body = true;
        f.body_at = p->at;
        f.body_line = p->line;
        uint32_t line = p->token_line;
        size_t open_at = p->t.at;
        if (!parser_skip_braces(p, &close_at))
            ok = parser_fail_at(p, open_at, line, "the body of '%s' is not closed", f.name);
        else
            f.body_bytes = close_at - f.body_at;
        parser_next(p);
    } else if (ok) {
        ok = parser_expect(p, ';');
    }
    if (ok && vars.n) {
        f.n_vars = (uint32_t)vars.n;
        f.vars = arena_dup(&p->m->arena, vars.at, vars.n * sizeof *f.vars);
        ok = f.vars || parser_no_memory(p);
    }
    vec_free(&vars);
    return ok && add_function(o, &f, at);
}

/* ---- directives ----------------------------------------------------------------------------------- */

static bool parse_version(struct parser *p)
{
    unsigned major = 0, minor = 0;
    char buf[16];
    snprintf(buf, sizeof buf, "%.*s", (int)(p->t.len < 15 ? p->t.len : 15), p->text + p->t.at);
    if (p->t.kind != TOKEN_F64 || sscanf(buf, "%u.%u", &major, &minor) != 2 || major > 99 || minor > 9)
        return parser_fail(p, "version number such as 9.0 expected");
    p->m->version = major * 10 + minor;
    parser_next(p);
    return true;
}

static bool parse_target(struct parser *p)
{
    do {
        unsigned sm;
        char suffix = 0, buf[24];
        if (p->t.kind != TOKEN_IDENT)
            return parser_fail(p, "target such as sm_80 expected");
        snprintf(buf, sizeof buf, "%.*s", (int)(p->t.len < 23 ? p->t.len : 23), p->text + p->t.at);
        if (sscanf(buf, "sm_%u%c", &sm, &suffix) >= 1 || sscanf(buf, "compute_%u%c", &sm, &suffix) >= 1) {
            p->m->target_sm = sm;
            p->m->target_suffix = suffix;
        } else if (token_is(p, "texmode_independent")) {
            p->m->texmode_independent = true;
        } else if (token_is(p, "debug")) {
            p->m->debug = true;
        } else if (!token_is(p, "texmode_unified") && !token_is(p, "map_f64_to_f32")) {
            return parser_fail(p, "unknown target '%s'", buf);
        }
        parser_next(p);
    } while (parser_take(p, ','));
    return true;
}

static bool parse_address_size(struct parser *p)
{
    size_t at = p->t.at;
    uint32_t line = p->token_line;
    if (!parse_count(p, &p->m->address_bits))
        return false;
    if (p->m->address_bits != 64 && p->m->address_bits != 32)
        return parser_fail_at(p, at, line, "address size must be 32 or 64");
    return true;
}

/* .file N "name" [, time, size] */
static bool parse_file(struct opener *o)
{
    struct parser *p = &o->p;
    struct ptx_file f = { 0 };
    uint64_t ignored;
    if (!parse_count(p, &f.number))
        return false;
    if (p->t.kind != TOKEN_STRING)
        return parser_fail(p, "file name expected");
    f.name = arena_strndup(&p->m->arena, p->text + p->t.at, p->t.len);
    if (!f.name || !vec_push(&o->files, f))
        return parser_no_memory(p);
    parser_next(p);
    while (parser_take(p, ','))
        if (!parse_integer(p, &ignored))
            return false;
    return true;
}

/* .section .name { ... }: debugging data, read over. */
static bool skip_section(struct parser *p)
{
    size_t close_at;
    while (p->t.kind == TOKEN_DOT || p->t.kind == TOKEN_IDENT)
        parser_next(p);
    if (!token_punct(p, '{'))
        return parser_fail(p, "'{' expected");
    if (!parser_skip_braces(p, &close_at))
        return parser_fail(p, "the section is not closed");
    parser_next(p);
    return true;
}

/* .loc file line column [, function_name label [+ n], inlined_at file line column] has no meaning outside of a body. */
static bool skip_loc(struct parser *p)
{
    while (p->t.kind == TOKEN_INT || p->t.kind == TOKEN_IDENT || token_punct(p, ',') || token_punct(p, '+'))
        parser_next(p);
    return true;
}

/* .alias name, target; both are functions. */
static bool parse_alias(struct opener *o)
{
    struct parser *p = &o->p;
    struct alias a = { .sym = -1 };
    if (p->t.kind == TOKEN_IDENT)
        a.sym = parser_symbol(p, p->text + p->t.at, p->t.len);
    if (a.sym < 0 || o->symbols.at[a.sym].kind != PTX_SYMBOL_FUNCTION)
        return parser_fail(p, "name of a declared function expected");
    parser_next(p);
    if (!parser_expect(p, ','))
        return false;
    a.at = p->t.at;
    a.len = p->t.len;
    a.line = p->token_line;
    if (p->t.kind != TOKEN_IDENT)
        return parser_fail(p, "name of a function expected");
    parser_next(p);
    return parser_expect(p, ';') && (vec_push(&o->aliases, a) || parser_no_memory(p));
}

static bool resolve_aliases(struct opener *o)
{
    for (size_t i = 0; i < o->aliases.n; i++) {
        const struct alias *a = &o->aliases.at[i];
        int32_t to = parser_symbol(&o->p, o->p.text + a->at, a->len);
        if (to < 0 || o->symbols.at[to].kind != PTX_SYMBOL_FUNCTION)
            return parser_fail_at(&o->p, a->at, a->line, "unknown function '%.*s'", (int)(a->len > 200 ? 200 : a->len), o->p.text + a->at);
        o->symbols.at[a->sym].index = o->symbols.at[to].index;
    }
    return true;
}

/* Linkage words, then what they belong to: a function or variables. */
static bool parse_linked(struct opener *o)
{
    static const struct { const char *word; uint8_t linkage; } links[] = {
        { "visible", PTX_LINK_VISIBLE }, { "extern", PTX_LINK_EXTERN }, { "weak", PTX_LINK_WEAK }, { "common", PTX_LINK_COMMON } };
    struct parser *p = &o->p;
    uint8_t linkage = PTX_LINK_LOCAL;
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        if (token_dot(p, links[i].word)) {
            linkage = links[i].linkage;
            parser_next(p);
            i = (size_t)-1;        /* .visible .weak: start over, the last one counts */
        }
    bool entry = token_dot(p, "entry");
    if (entry || token_dot(p, "func")) {
        parser_next(p);
        return parse_function(o, entry, linkage);
    }
    uint8_t space = p->t.kind == TOKEN_DOT ? (uint8_t)space_of_word(p->text + p->t.at, p->t.len) : (uint8_t)PTX_SPACE_GENERIC;
    if (space == PTX_SPACE_GENERIC || space == PTX_SPACE_REG || space == PTX_SPACE_SREG)
        return parser_fail(p, "unknown directive '%s%.*s'", p->t.kind == TOKEN_DOT ? "." : "", (int)(p->t.len > 60 ? 60 : p->t.len), p->text + p->t.at);
    parser_next(p);
    return parse_vars(o, space, linkage);
}

static bool parse_directive(struct opener *o)
{
    struct parser *p = &o->p;
    enum { VERSION, TARGET, ADDRESS_SIZE, FILE_NAME, SECTION, LOC, PRAGMA, ALIAS, COUNT };
    static const char *const words[COUNT] = { "version", "target", "address_size", "file", "section", "loc", "pragma", "alias" };
    int which = 0;
    if (parser_take(p, ';'))
        return true;
    if (token_punct(p, '@')) {                     /* @@DWARF lines of old compilers */
        uint32_t line = p->token_line;
        while (p->t.kind != TOKEN_END && p->token_line == line)
            parser_next(p);
        return !p->failed;
    }
    if (p->t.kind != TOKEN_DOT)
        return parser_fail(p, "directive expected before '%.*s'", (int)(p->t.len > 60 ? 60 : p->t.len), p->text + p->t.at);
    while (which < COUNT && !token_dot(p, words[which]))
        which++;
    if (which == COUNT)
        return parse_linked(o);
    parser_next(p);
    switch (which) {
    case VERSION:      return parse_version(p);
    case TARGET:       return parse_target(p);
    case ADDRESS_SIZE: return parse_address_size(p);
    case FILE_NAME:    return parse_file(o);
    case SECTION:      return skip_section(p);
    case LOC:          return skip_loc(p);
    case PRAGMA:       return parse_pragma(p);
    default:           return parse_alias(o);
    }
}

/* ---- opening and closing --------------------------------------------------------------------------- */

static bool parse_top(struct opener *o)
{
    struct parser *p = &o->p;
    while (!p->failed && p->t.kind != TOKEN_END)
        if (!parse_directive(o))
            return false;
    if (!p->failed && p->at < p->end)
        return parser_fail(p, "unexpected text");
    if (!p->failed && p->m->version == 0)
        return parser_fail(p, "this is no PTX: the text has no .version");
    return !p->failed && resolve_aliases(o);
}

#define KEEP(field, list) \
    (m->n_##field = (uint32_t)(list).n, \
     (list).n == 0 || (m->field = arena_dup(&m->arena, (list).at, (list).n * sizeof *m->field)) != NULL)

static bool keep_lists(struct opener *o)
{
    struct ptx_module *m = o->p.m;
    return (KEEP(vars, o->vars) && KEEP(functions, o->functions) && KEEP(symbols, o->symbols) && KEEP(files, o->files))
        || parser_no_memory(&o->p);
}

struct ptx_module *module_new(const char *name, size_t bytes, uint32_t n_units)
{
    struct ptx_module *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    char *copy = malloc(bytes + 1);
    pthread_mutex_t *lock = malloc(sizeof *lock);
    m->text = copy;
    m->lock = lock;
    m->name = arena_strndup(&m->arena, name, strlen(name));
    m->units = arena_alloc(&m->arena, n_units * sizeof *m->units);
    if (!copy || !lock || !m->name || !m->units) {
        free(copy);
        free(lock);
        arena_free(&m->arena);
        free(m);
        return NULL;
    }
    copy[bytes] = '\0';
    pthread_mutex_init(lock, NULL);
    m->text_bytes = bytes;
    m->address_bits = 32;
    m->n_units = n_units;
    for (uint32_t i = 0; i < n_units; i++)
        m->units[i].name = m->name;
    return m;
}

enum status ptx_module_open(struct ptx_module **out, const char *name, const char *text, size_t bytes, struct error *err)
{
    const char *bad;
    struct opener o = { 0 };
    *out = NULL;
    if (!ptx_isa_init(&bad))
        return error_set(err, ST_UNKNOWN, "instruction tables: bad row '%s'", bad);
    while (bytes && text[bytes - 1] == '\0')       /* containers pad and terminate */
        bytes--;
    struct ptx_module *m = module_new(name, bytes, 1);
    if (!m)
        return error_set(err, ST_OUT_OF_MEMORY, "%s: no memory for %zu bytes of PTX", name, bytes);
    memcpy((char *)(uintptr_t)m->text, text, bytes);
    parser_start(&o.p, m, &m->units[0], 0, m->text_bytes, 1, err);
    bool ok = parse_top(&o) && keep_lists(&o);
    vec_free(&o.vars);
    vec_free(&o.functions);
    vec_free(&o.symbols);
    vec_free(&o.files);
    vec_free(&o.aliases);
    if (!ok) {
        ptx_module_free(m);
        return o.p.status;
    }
    *out = m;
    return ST_OK;
}

void ptx_module_free(struct ptx_module *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->n_units; i++)
        map_free(&m->units[i].names);
    map_free(&m->names);
    if (m->lock) {
        pthread_mutex_destroy(m->lock);
        free(m->lock);
    }
    free((void *)(uintptr_t)m->text);
    arena_free(&m->arena);
    free(m);
}

int32_t ptx_symbol_find(const struct ptx_module *m, const char *name)
{
    uintptr_t v;
    return map_get_str(&m->names, name, strlen(name), &v) ? (int32_t)v : -1;
}

int32_t ptx_function_find(const struct ptx_module *m, const char *name)
{
    int32_t sym = ptx_symbol_find(m, name);
    return sym >= 0 && m->symbols[sym].kind == PTX_SYMBOL_FUNCTION ? m->symbols[sym].index : -1;
}

const struct ptx_var *ptx_symbol_var(const struct ptx_module *m, const struct ptx_function *f, int32_t sym)
{
    if (sym < 0)
        return NULL;
    if ((uint32_t)sym < m->n_symbols)
        return m->symbols[sym].kind == PTX_SYMBOL_VAR ? &m->vars[m->symbols[sym].index] : NULL;
    return f && (uint32_t)sym - m->n_symbols < f->n_vars ? &f->vars[(uint32_t)sym - m->n_symbols] : NULL;
}

const char *ptx_symbol_name(const struct ptx_module *m, const struct ptx_function *f, int32_t sym)
{
    const struct ptx_var *v = ptx_symbol_var(m, f, sym);
    if (v)
        return v->name;
    if (sym < 0 || (uint32_t)sym >= m->n_symbols)
        return "";
    return m->functions[m->symbols[sym].index].name;
}

const char *ptx_unit_text(const struct ptx_module *m, uint32_t i, size_t *bytes, const char **name)
{
    size_t at = m->units[i].text_at, end = i + 1 < m->n_units ? m->units[i + 1].text_at - 1 : m->text_bytes;    /* a line's end between two */
    *bytes = end - at;
    *name = m->units[i].name;
    return m->text + at;
}
