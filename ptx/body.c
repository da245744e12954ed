/* Function bodies: statements, directives, and the one call that parses a body on demand. */
#include "ptx/body.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- declarations ---------------------------------------------------------------------------------- */

/* .reg .type [.v4] a, %r<10>; */
static bool parse_regs(struct body *b)
{
    struct parser *p = &b->p;
    struct decl d = { .space = PTX_SPACE_REG };
    if (!parse_decl_words(p, &d))
        return false;
    do {
        const char *name = p->text + p->t.at;
        uint32_t len = p->t.len, count = 1;
        if (p->t.kind != TOKEN_IDENT)
            return parser_fail(p, "name of a register expected");
        parser_next(p);
        bool range = parser_take(p, '<');
        if (range) {
            if (p->t.kind != TOKEN_INT || p->t.bits > UINT32_MAX)
                return parser_fail(p, "number of registers expected");
            count = (uint32_t)p->t.bits;
            parser_next(p);
            if (!parser_expect(p, '>'))
                return false;
        }
        if (!scope_add_regs(b, name, len, (enum ptx_type)d.type, d.vec ? d.vec : 1, range, count))
            return false;
    } while (parser_take(p, ','));
    return parser_expect(p, ';');
}

static bool parse_variables(struct body *b, enum ptx_space space, uint8_t linkage)
{
    struct parser *p = &b->p;
    struct decl d = { .space = (uint8_t)space, .linkage = linkage };
    if (!parse_decl_words(p, &d))
        return false;
    do {
        struct ptx_var v;
        if (!parse_declarator(p, &d, &v))
            return false;
        const char *base = v.name;
        for (uint32_t k = 0, n = parse_repeat(p); k < n; k++)
            if (!repeat_name(p, &v, base, k) || (k + 1 < n && !scope_add_var(b, &v)))
                return false;
        if (p->failed || !scope_add_var(b, &v))
            return false;
        size_t index = b->vars.n - 1;
        if (!parse_initialiser(p, &v, &d))
            return false;
        b->vars.at[index] = v;
    } while (parser_take(p, ','));
    return parser_expect(p, ';');
}

/* ---- lines ------------------------------------------------------------------------------------------- */

static bool parse_position(struct body *b, struct ptx_loc *out)
{
    struct parser *p = &b->p;
    if (!parse_count(p, &out->file) || !parse_count(p, &out->line) || !parse_count(p, &out->column))
        return false;
    out->file += p->unit->file_base;
    return true;
}

/* The latest .loc of the same place, so that a chain of inlining can be followed; else a new one. */
static bool find_loc(struct body *b, struct ptx_loc l, uint32_t *index)
{
    for (size_t i = b->locs.n, tries = 0; i-- > 1 && tries < 256; tries++) {
        const struct ptx_loc *o = &b->locs.at[i];
        if (o->file == l.file && o->line == l.line && o->column == l.column) {
            *index = (uint32_t)i;
            return true;
        }
    }
    *index = (uint32_t)b->locs.n;
    return vec_push(&b->locs, l) || parser_no_memory(&b->p);
}

/* .loc file line column [, function_name label [+ n], inlined_at file line column] */
static bool parse_loc(struct body *b)
{
    struct parser *p = &b->p;
    struct ptx_loc l = { 0 };
    if (!parse_position(b, &l))
        return false;
    while (parser_take(p, ',')) {
        struct ptx_loc outer = { 0 };
        if (token_is(p, "inlined_at")) {
            parser_next(p);
            if (!parse_position(b, &outer) || !find_loc(b, outer, &l.inlined_at))
                return false;
            continue;
        }
        if (!token_is(p, "function_name"))
            return parser_fail(p, "function_name or inlined_at expected");
        parser_next(p);                            /* a place in .debug_str: not needed, the inlined lines suffice */
        parser_next(p);
        while (token_punct(p, '+') || token_punct(p, '-')) {
            uint64_t ignored;
            parser_next(p);
            if (!parse_integer(p, &ignored))
                return false;
        }
    }
    b->loc = (uint32_t)b->locs.n;
    return vec_push(&b->locs, l) || parser_no_memory(p);
}

/* ---- what labels may stand before -------------------------------------------------------------------- */

/* name: .branchtargets L1, L2;   name: .calltargets f, g; */
static bool parse_targets(struct body *b, uint32_t label, bool calls)
{
    struct parser *p = &b->p;
    struct ptx_targets t = { .name = b->labels.at[label].name, .calls = calls, .at_label = label };
    VEC(int32_t) list = { 0 };
    bool ok = true;
    do {
        int32_t index = -1;
        if (p->t.kind != TOKEN_IDENT) {
            ok = parser_fail(p, calls ? "function expected" : "label expected");
        } else if (calls) {
            index = parser_symbol(p, p->text + p->t.at, p->t.len);
            if (index < 0)
                ok = parser_fail(p, "unknown function '%.*s'", (int)(p->t.len > 200 ? 200 : p->t.len), p->text + p->t.at);
        } else {
            struct fixup f = { .targets = (int32_t)b->targets.n, .element = (uint32_t)list.n, .at = p->t.at, .line = p->token_line, .len = p->t.len };
            ok = scope_use_label(b, f);
        }
        ok = ok && (vec_push(&list, index) || parser_no_memory(p));
        parser_next(p);
    } while (ok && parser_take(p, ','));
    if (ok) {
        t.n = (uint32_t)list.n;
        t.index = arena_dup(&p->m->arena, list.at, list.n * sizeof *list.at);
        ok = (t.index && vec_push(&b->targets, t)) || parser_no_memory(p);
    }
    vec_free(&list);
    return ok && parser_expect(p, ';');
}

/* name: .callprototype (returns) _ (params) [.noreturn] [.abi_preserve n]; */
static bool parse_prototype(struct body *b, uint32_t label)
{
    struct parser *p = &b->p;
    struct ptx_proto proto = { .name = b->labels.at[label].name, .at_label = label };
    if (!parse_params(p, &b->vars, &proto.returns, &proto.n_returns, &proto.return_bytes))
        return false;
    if (p->t.kind != TOKEN_IDENT)
        return parser_fail(p, "'_' expected");
    parser_next(p);
    if (!parse_params(p, &b->vars, &proto.params, &proto.n_params, &proto.param_bytes))
        return false;
    while (p->t.kind == TOKEN_DOT) {
        uint32_t ignored;
        bool noreturn = token_dot(p, "noreturn");
        proto.noreturn |= noreturn;
        if (!noreturn && !token_dot(p, "abi_preserve") && !token_dot(p, "abi_preserve_control"))
            return parser_fail(p, "unknown directive '.%.*s'", (int)(p->t.len > 60 ? 60 : p->t.len), p->text + p->t.at);
        parser_next(p);
        if (!noreturn && !parse_count(p, &ignored))
            return false;
    }
    return (vec_push(&b->protos, proto) || parser_no_memory(p)) && parser_expect(p, ';');
}

static bool parse_labelled(struct body *b, const char *name, uint32_t len, uint32_t line)
{
    struct parser *p = &b->p;
    uint32_t label;
    if (!scope_add_label(b, name, len, line, &label))
        return false;
    bool branches = token_dot(p, "branchtargets"), calls = token_dot(p, "calltargets"), proto = token_dot(p, "callprototype");
    if (!branches && !calls && !proto)
        return true;
    parser_next(p);
    return proto ? parse_prototype(b, label) : parse_targets(b, label, calls);
}

/* ---- instructions ------------------------------------------------------------------------------------ */

struct words { size_t at[PTX_MAX_MODS]; };

static bool unknown_word(struct body *b)
{
    struct parser *p = &b->p;
    const char *word = p->text + p->t.at, *near = ptx_mod_nearest(word, p->t.len);
    parser_fail_at(p, p->t.at - 1, p->token_line, "unknown modifier '.%.*s'", (int)(p->t.len > 60 ? 60 : p->t.len), word);
    if (near)
        error_hint(p->err, "did you mean '.%s'?", near);
    return false;
}

static bool parse_words(struct body *b, struct ptx_insn *in, struct words *w)
{
    static const uint8_t vec_of[] = { 2, 4, 8 };
    struct parser *p = &b->p;
    for (; p->t.kind == TOKEN_DOT; parser_next(p)) {
        enum ptx_mod m = ptx_mod_find(p->text + p->t.at, p->t.len);
        if (m == PTX_MOD_NONE)
            return unknown_word(b);
        if (in->n_mods == PTX_MAX_MODS)
            return parser_fail(p, "too many modifiers");
        w->at[in->n_mods] = p->t.at - 1;
        in->mods[in->n_mods++] = (uint16_t)m;
        if ((unsigned)m < PTX_TYPE_COUNT && in->n_types < PTX_MAX_TYPES)
            in->types[in->n_types++] = (uint8_t)m;
        if (ptx_mod_category(m) == PTX_CAT_VEC)
            in->vec = vec_of[m - PTX_MOD_V2];
        if (ptx_mod_category(m) == PTX_CAT_SPACE) {
            uint8_t space = (uint8_t)space_of_word(p->text + p->t.at, p->t.len);
            *(in->space == PTX_SPACE_GENERIC ? &in->space : &in->space_to) = space;
        }
    }
    return true;
}

/* "add.f32" as written, for messages. */
static void head_text(const struct ptx_insn *in, char *buf, size_t n)
{
    size_t used = (size_t)snprintf(buf, n, "%s", ptx_op_text((enum ptx_op)in->op));
    for (unsigned i = 0; i < in->n_mods && used < n; i++)
        used += (size_t)snprintf(buf + used, n - used, ".%s", ptx_mod_text((enum ptx_mod)in->mods[i]));
}

static bool no_form(struct body *b, const struct ptx_insn *in, const struct words *w, enum ptx_match match, size_t at)
{
    char head[200];
    head_text(in, head, sizeof head);
    if (match == PTX_MATCH_OPERANDS) {
        const struct ptx_form *f = ptx_form_at(in->row);
        parser_fail_at(&b->p, at, in->line, "'%s' does not take these operands", head);
        error_hint(b->p.err, "its operands are: %s", *f->operands ? f->operands : "none");
        return false;
    }
    for (unsigned i = 0; i < in->n_mods; i++)
        if (!ptx_op_takes((enum ptx_op)in->op, (enum ptx_mod)in->mods[i]))
            return parser_fail_at(&b->p, w->at[i], in->line, "'%s' has no modifier '.%s'", ptx_op_text((enum ptx_op)in->op),
                                  ptx_mod_text((enum ptx_mod)in->mods[i]));
    parser_fail_at(&b->p, at, in->line, "'%s' is no form of '%s'", head, ptx_op_text((enum ptx_op)in->op));
    uint32_t first, count;
    ptx_op_rows((enum ptx_op)in->op, &first, &count);
    if (count)
        error_hint(b->p.err, "one form is: %s %s", ptx_op_text((enum ptx_op)in->op), ptx_form_at(first)->syntax);
    return false;
}

/* A name where an address belongs (ld.global.u32 r, table[2]) is that address. */
static void names_to_addresses(struct ptx_insn *in)
{
    const struct ptx_form *f = ptx_form_at(in->row);
    for (unsigned i = 0; i < in->n_operands && i < f->n_places; i++)
        if (f->places[i].kind == PTX_PLACE_MEMORY && in->operands[i].kind == PTX_OPERAND_SYM) {
            in->operands[i].kind = PTX_OPERAND_MEM;
            in->operands[i].index = -1;
        }
}

/* opcode and the rest, the guard already read. */
static bool parse_insn(struct body *b, struct ptx_insn *in)
{
    struct parser *p = &b->p;
    struct words w;
    size_t at = p->t.at;
    enum ptx_op op = p->t.kind == TOKEN_IDENT ? ptx_op_find(p->text + at, p->t.len) : PTX_OP_COUNT;
    if (op == PTX_OP_COUNT) {
        const char *near = p->t.kind == TOKEN_IDENT ? ptx_op_nearest(p->text + at, p->t.len) : NULL;
        if (p->t.kind != TOKEN_IDENT)
            return parser_fail(p, "instruction expected");
        parser_fail(p, "unknown instruction '%.*s'", (int)(p->t.len > 60 ? 60 : p->t.len), p->text + at);
        if (near)
            error_hint(p->err, "did you mean '%s'?", near);
        return false;
    }
    in->op = (uint16_t)op;
    in->line = p->token_line;
    in->column = (uint32_t)(at - p->token_line_at) + 1;
    in->loc = b->loc;
    in->vec = 1;
    parser_next(p);
    if (!parse_words(b, in, &w) || !(op == PTX_OP_CALL ? parse_call(b, in) : parse_operands(b, in)) || !parser_expect(p, ';'))
        return false;
    enum ptx_match match = ptx_insn_match(in);
    if (match != PTX_MATCH_OK)
        return no_form(b, in, &w, match, at);
    names_to_addresses(in);
    return vec_push(&b->insns, *in) || parser_no_memory(p);
}

/* @p or @!p */
static bool parse_guard(struct body *b, struct ptx_insn *in)
{
    struct parser *p = &b->p;
    uint32_t reg;
    in->guard_negated = parser_take(p, '!');
    if (p->t.kind != TOKEN_IDENT || scope_find_reg(b, p->text + p->t.at, p->t.len, &reg) != 1)
        return parser_fail(p, "predicate register expected behind '@'");
    in->guard = (int32_t)reg;
    parser_next(p);
    return true;
}

/* ---- statements --------------------------------------------------------------------------------------- */

static bool parse_body_directive(struct body *b)
{
    struct parser *p = &b->p;
    uint8_t linkage = PTX_LINK_LOCAL;
    if (token_dot(p, "loc")) {
        parser_next(p);
        return parse_loc(b);
    }
    if (token_dot(p, "pragma")) {                  /* hints: nothing of what they say changes a result */
        parser_next(p);
        while (p->t.kind == TOKEN_STRING || token_punct(p, ','))
            parser_next(p);
        return parser_expect(p, ';');
    }
    while (token_dot(p, "extern") || token_dot(p, "visible") || token_dot(p, "weak")) {
        linkage = token_dot(p, "extern") ? PTX_LINK_EXTERN : PTX_LINK_LOCAL;
        parser_next(p);
    }
    enum ptx_space space = p->t.kind == TOKEN_DOT ? space_of_word(p->text + p->t.at, p->t.len) : PTX_SPACE_GENERIC;
    if (space == PTX_SPACE_GENERIC || space == PTX_SPACE_TEX || space == PTX_SPACE_SREG)
        return parser_fail(p, "unknown directive '.%.*s'", (int)(p->t.len > 60 ? 60 : p->t.len), p->text + p->t.at);
    parser_next(p);
    return space == PTX_SPACE_REG ? parse_regs(b) : parse_variables(b, space, linkage);
}

static bool parse_statement(struct body *b)
{
    struct parser *p = &b->p;
    struct ptx_insn in = { .guard = -1 };
    if (p->t.kind == TOKEN_DOT)
        return parse_body_directive(b);
    if (p->t.kind == TOKEN_PUNCT) {
        switch (p->t.punct) {
        case ';': parser_next(p); return true;
        case '{': parser_next(p); return scope_open(b);
        case '}':
            parser_next(p);
            return b->scopes.n > 1 ? scope_close(b) : parser_fail(p, "'}' without '{'");
        case '@': parser_next(p); return parse_guard(b, &in) && parse_insn(b, &in);
        default: break;
        }
    }
    if (p->t.kind == TOKEN_IDENT && parser_peek_char(p) == ':') {
        const char *name = p->text + p->t.at;
        uint32_t len = p->t.len, line = p->token_line;
        parser_next(p);
        parser_next(p);
        return parse_labelled(b, name, len, line);
    }
    return parse_insn(b, &in);
}

/* Parameters and returns passed in registers are registers of the body too. */
static bool add_params(struct body *b)
{
    for (uint32_t i = 0; i < b->f->n_vars; i++) {
        const struct ptx_var *v = &b->f->vars[i];
        uint32_t len = (uint32_t)strlen(v->name);
        uint32_t size = ptx_type_bytes((enum ptx_type)v->type);
        bool ok = v->space == PTX_SPACE_REG
                ? (vec_push(&b->vars, *v) || parser_no_memory(&b->p)) &&
                  scope_add_regs(b, v->name, len, (enum ptx_type)v->type, size ? (unsigned)(v->bytes / size) : 1, false, 1)
                : scope_add_var(b, v);
        if (!ok)
            return false;
    }
    return true;
}

#define KEEP(field) \
    (f->n_##field = (uint32_t)b->field.n, \
     b->field.n == 0 || (f->field = arena_dup(&m->arena, b->field.at, b->field.n * sizeof *f->field)) != NULL)

static bool keep_lists(struct body *b)
{
    struct ptx_function *f = b->f;
    struct ptx_module *m = b->p.m;
    f->n_vec_pool = (uint32_t)b->pool.n;
    bool pool = b->pool.n == 0 || (f->vec_pool = arena_dup(&m->arena, b->pool.at, b->pool.n * sizeof *f->vec_pool)) != NULL;
    return (pool && KEEP(insns) && KEEP(regs) && KEEP(labels) && KEEP(targets) && KEEP(protos) && KEEP(locs) && KEEP(vars))
        || parser_no_memory(&b->p);
}

static void free_lists(struct body *b)
{
    vec_free(&b->insns);
    vec_free(&b->pool);
    vec_free(&b->scratch);
    vec_free(&b->regs);
    vec_free(&b->labels);
    vec_free(&b->targets);
    vec_free(&b->protos);
    vec_free(&b->locs);
    vec_free(&b->vars);
    vec_free(&b->names);
    vec_free(&b->undos);
    vec_free(&b->fixups);
    vec_free(&b->scopes);
    map_free(&b->by_name);
    map_free(&b->by_prefix);
    map_free(&b->by_label);
}

static enum status parse_body(struct ptx_module *m, struct ptx_function *f, struct error *err)
{
    struct body b = { .f = f };
    struct ptx_loc none = { 0 };
    size_t at = f->has_body ? f->body_at : m->units[f->unit].text_at;
    parser_start(&b.p, m, &m->units[f->unit], at, f->has_body ? at + f->body_bytes : at, f->body_line, err);
    b.p.scope = &b;
    bool ok = (vec_push(&b.locs, none) || parser_no_memory(&b.p)) && scope_open(&b) && add_params(&b);
    while (ok && b.p.t.kind != TOKEN_END)
        ok = parse_statement(&b);
    ok = ok && !b.p.failed;
    if (ok && !f->has_body)
        ok = vec_push(&b.insns, ((struct ptx_insn){ .op = PTX_OP_RET, .guard = -1 })) || parser_no_memory(&b.p);
    if (ok && b.scopes.n > 1)
        ok = parser_fail(&b.p, "'}' expected");
    ok = ok && scope_close(&b) && keep_lists(&b);
    free_lists(&b);
    return ok ? ST_OK : b.p.status;
}

static enum status complete(struct ptx_module *m, struct ptx_function *f, struct error *err)
{
    enum status st;
    pthread_mutex_lock(m->lock);
    if (!f->parsed) {
        struct error local = { 0 };
        f->module = m;
        f->body_status = parse_body(m, f, &local);
        f->parsed = true;
        if (f->body_status != ST_OK)
            f->body_error = arena_dup(&m->arena, &local, sizeof local);
    }
    st = f->body_status;
    if (st != ST_OK && err) {
        if (f->body_error)
            *err = *f->body_error;
        else
            error_set(err, st, "%s: '%s' did not parse", m->name, f->name);
    }
    pthread_mutex_unlock(m->lock);
    return st;
}

enum status ptx_function_body(struct ptx_module *m, uint32_t i, struct error *err)
{
    struct ptx_function *f = i < m->n_functions ? &m->functions[i] : NULL;
    return f && f->has_body ? complete(m, f, err) : error_set(err, ST_INVALID_VALUE, "%s: function '%s' has no body", m->name, f ? f->name : "?");
}

enum status ptx_function_stub(struct ptx_module *m, uint32_t i, struct error *err)
{
    struct ptx_function *f = i < m->n_functions ? &m->functions[i] : NULL;
    return f && !f->is_entry && !f->has_body ? complete(m, f, err) : error_set(err, ST_INVALID_VALUE, "%s: no declared function", m->name);
}
