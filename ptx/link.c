/* Linking relocatable modules. The texts are laid behind one another and the symbol tables merged; bodies stay unparsed,
 * and each knows its unit, whose names say which symbol of the whole a name means there. So private names may repeat. */
#include "ptx/parse.h"

#include <stdlib.h>
#include <string.h>

struct input {
    const struct ptx_module *m;
    size_t text_at;                /* of its text in the whole */
    uint32_t first_unit, file_base;
    const char **names;            /* of its symbols */
    int32_t *to;                   /* its symbol -> symbol of the whole */
};

struct origin { uint32_t input; uint8_t strength; };

struct linker {
    struct ptx_module *out;
    struct input *in;
    size_t n;
    VEC(struct ptx_var) vars;
    VEC(struct ptx_function) functions;
    VEC(struct ptx_symbol) symbols;
    VEC(struct origin) origins;    /* per symbol: which input its contents come from, and how strong they are */
    VEC(struct ptx_file) files;
    struct map globals;            /* name -> symbol, those that other modules can see */
    struct error *err;
};

enum { STRENGTH_NONE, STRENGTH_COMMON, STRENGTH_WEAK, STRENGTH_STRONG };

static enum status no_memory(struct linker *l)
{
    return error_set(l->err, ST_OUT_OF_MEMORY, "%s: no memory to link", l->out->name);
}

/* ---- texts, units, files --------------------------------------------------------------------------- */

static enum status lay_out(struct linker *l)
{
    struct ptx_module *out = l->out;
    uint32_t unit = 0, files = 0;
    for (size_t i = 0; i < l->n; i++) {
        struct input *in = &l->in[i];
        const struct ptx_module *m = in->m;
        char *text = (char *)(uintptr_t)out->text + in->text_at;
        memcpy(text, m->text, m->text_bytes);
        text[m->text_bytes] = '\n';
        in->first_unit = unit;
        in->file_base = files;
        for (uint32_t u = 0; u < m->n_units; u++, unit++) {
            const char *name = arena_strndup(&out->arena, m->units[u].name, strlen(m->units[u].name));
            if (!name)
                return no_memory(l);
            out->units[unit] = (struct ptx_unit){ name, in->text_at + m->units[u].text_at, in->file_base + m->units[u].file_base, { 0 } };
        }
        for (uint32_t k = 0; k < m->n_files; k++) {
            struct ptx_file f = { in->file_base + m->files[k].number, arena_strndup(&out->arena, m->files[k].name, strlen(m->files[k].name)) };
            if (!f.name || !vec_push(&l->files, f))
                return no_memory(l);
            if (f.number >= files)
                files = f.number + 1;
        }
        out->version = m->version > out->version ? m->version : out->version;
        if (m->target_sm > out->target_sm) {
            out->target_sm = m->target_sm;
            out->target_suffix = m->target_suffix;
        }
        out->texmode_independent |= m->texmode_independent;
        out->debug |= m->debug;
        out->address_bits = m->address_bits;
        if (m->address_bits != l->in[0].m->address_bits)
            return error_set(l->err, ST_INVALID_PTX, "%s: '%s' has %u-bit addresses, '%s' %u-bit ones", out->name, l->in[0].m->name,
                             l->in[0].m->address_bits, m->name, m->address_bits);
    }
    return ST_OK;
}

/* ---- symbols ------------------------------------------------------------------------------------------ */

/* Names of an input's symbols: an alias is known under another name than its function. */
static bool name_symbols(struct input *in)
{
    const struct ptx_module *m = in->m;
    in->names = calloc(m->n_symbols + 1, sizeof *in->names);
    in->to = calloc(m->n_symbols + 1, sizeof *in->to);
    if (!in->names || !in->to)
        return false;
    for (uint32_t s = 0; s < m->n_symbols; s++)
        in->names[s] = ptx_symbol_name(m, NULL, (int32_t)s);
    for (size_t i = 0; i < m->names.cap; i++) {
        const struct map_slot *slot = &m->names.slots[i];
        if (slot->hash && ptx_symbol_find(m, in->names[slot->value]) != (int32_t)slot->value)
            in->names[slot->value] = slot->key;
    }
    return true;
}

static bool is_alias(const struct input *in, uint32_t s)
{
    const struct ptx_symbol *sym = &in->m->symbols[s];
    return sym->kind == PTX_SYMBOL_FUNCTION && strcmp(in->names[s], in->m->functions[sym->index].name) != 0;
}

static uint8_t linkage_of(const struct ptx_module *m, const struct ptx_symbol *s)
{
    return s->kind == PTX_SYMBOL_VAR ? m->vars[s->index].linkage : m->functions[s->index].linkage;
}

/* How much a module's word about a symbol counts. */
static uint8_t strength_of(const struct ptx_module *m, const struct ptx_symbol *s)
{
    uint8_t linkage = linkage_of(m, s);
    if (linkage == PTX_LINK_EXTERN || (s->kind == PTX_SYMBOL_FUNCTION && !m->functions[s->index].has_body))
        return STRENGTH_NONE;
    return linkage == PTX_LINK_COMMON ? STRENGTH_COMMON : linkage == PTX_LINK_WEAK ? STRENGTH_WEAK : STRENGTH_STRONG;
}

static bool copy_vars(struct arena *a, struct ptx_var *vars, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct ptx_var *v = &vars[i];
        v->name = arena_strndup(a, v->name, strlen(v->name));
        if (v->n_init)
            v->init = arena_dup(a, v->init, v->n_init * sizeof *v->init);
        if (!v->name || (v->n_init && !v->init))
            return false;
    }
    return true;
}

/* A function as it is before its body was parsed, in the arena of the whole. */
static bool copy_function(const struct linker *l, const struct input *in, const struct ptx_function *from, struct ptx_function *to)
{
    struct arena *a = &l->out->arena;
    const struct ptx_proto *p = &from->proto;
    *to = (struct ptx_function){ .is_entry = from->is_entry, .has_body = from->has_body, .linkage = from->linkage, .proto = *p,
                                 .max_cluster_rank = from->max_cluster_rank, .min_ctas_per_sm = from->min_ctas_per_sm,
                                 .max_regs = from->max_regs, .explicit_cluster = from->explicit_cluster, .blocks_are_clusters = from->blocks_are_clusters, .line = from->line,
                                 .body_at = from->body_at + in->text_at, .body_bytes = from->body_bytes, .body_line = from->body_line,
                                 .unit = in->first_unit + from->unit };
    memcpy(to->max_threads, from->max_threads, sizeof to->max_threads);
    memcpy(to->req_threads, from->req_threads, sizeof to->req_threads);
    memcpy(to->cluster, from->cluster, sizeof to->cluster);
    to->name = arena_strndup(a, from->name, strlen(from->name));
    to->n_vars = p->n_params + p->n_returns;       /* those of the body come behind and are not wanted */
    if (to->n_vars)
        to->vars = arena_dup(a, from->vars, to->n_vars * sizeof *to->vars);
    if (p->n_params)
        to->proto.params = arena_dup(a, p->params, p->n_params * sizeof *p->params);
    if (p->n_returns)
        to->proto.returns = arena_dup(a, p->returns, p->n_returns * sizeof *p->returns);
    return to->name && (!to->n_vars || to->vars) && (!p->n_params || to->proto.params) && (!p->n_returns || to->proto.returns)
        && copy_vars(a, to->vars, to->n_vars);
}

/* Puts the contents of an input's symbol into a symbol of the whole, new or already there. */
static bool place(struct linker *l, const struct input *in, const struct ptx_symbol *s, int32_t sym, bool fresh)
{
    struct ptx_symbol *to = &l->symbols.at[sym];
    if (s->kind == PTX_SYMBOL_VAR) {
        struct ptx_var v = in->m->vars[s->index];
        if (!copy_vars(&l->out->arena, &v, 1))
            return false;
        if (!fresh)
            l->vars.at[to->index] = v;
        to->index = fresh ? (int32_t)l->vars.n : to->index;
        return !fresh || vec_push(&l->vars, v);
    }
    struct ptx_function f;
    if (!copy_function(l, in, &in->m->functions[s->index], &f))
        return false;
    if (!fresh)
        l->functions.at[to->index] = f;
    to->index = fresh ? (int32_t)l->functions.n : to->index;
    return !fresh || vec_push(&l->functions, f);
}

static enum status add_symbol(struct linker *l, uint32_t i, uint32_t s, uint8_t strength, bool global)
{
    struct input *in = &l->in[i];
    const struct ptx_symbol *from = &in->m->symbols[s];
    struct ptx_symbol fresh = { from->kind, 0 };
    struct origin o = { i, strength };
    const char *name = arena_strndup(&l->out->arena, in->names[s], strlen(in->names[s]));
    int32_t sym = (int32_t)l->symbols.n;
    uintptr_t known;
    if (!name || !vec_push(&l->symbols, fresh) || !vec_push(&l->origins, o) || !place(l, in, from, sym, true))
        return no_memory(l);
    bool first = !map_get_str(&l->out->names, name, strlen(name), &known);
    if ((global && !map_put_str(&l->globals, name, strlen(name), (uintptr_t)sym)) ||
        ((global || first) && !map_put_str(&l->out->names, name, strlen(name), (uintptr_t)sym)))
        return no_memory(l);
    in->to[s] = sym;
    return ST_OK;
}

/* A second word about a symbol that the whole knows. */
static enum status merge_symbol(struct linker *l, uint32_t i, uint32_t s, uint8_t strength, int32_t sym)
{
    struct input *in = &l->in[i];
    const struct ptx_symbol *from = &in->m->symbols[s];
    struct origin *o = &l->origins.at[sym];
    const char *other = l->in[o->input].m->name;
    in->to[s] = sym;
    if (from->kind != l->symbols.at[sym].kind)
        return error_set(l->err, ST_INVALID_PTX, "%s: '%s' is a function in one of '%s' and '%s', a variable in the other", l->out->name,
                         in->names[s], other, in->m->name);
    if (strength == STRENGTH_STRONG && o->strength == STRENGTH_STRONG) {
        error_set(l->err, ST_INVALID_PTX, "%s: '%s' is defined in '%s' and again in '%s'", l->out->name, in->names[s], other, in->m->name);
        error_hint(l->err, "make one of them static, or declare it extern there");
        return ST_INVALID_PTX;
    }
    bool larger = strength == STRENGTH_COMMON && o->strength == STRENGTH_COMMON &&
                  in->m->vars[from->index].bytes > l->vars.at[l->symbols.at[sym].index].bytes;
    if (strength <= o->strength && !larger)
        return ST_OK;
    *o = (struct origin){ i, strength };
    return place(l, in, from, sym, false) ? ST_OK : no_memory(l);
}

static enum status merge_module(struct linker *l, uint32_t i)
{
    struct input *in = &l->in[i];
    for (uint32_t s = 0; s < in->m->n_symbols; s++) {
        const struct ptx_symbol *sym = &in->m->symbols[s];
        uint8_t strength = strength_of(in->m, sym);
        bool global = strength == STRENGTH_NONE || linkage_of(in->m, sym) != PTX_LINK_LOCAL;
        uintptr_t known;
        enum status st;
        if (is_alias(in, s))
            continue;
        if (global && map_get_str(&l->globals, in->names[s], strlen(in->names[s]), &known))
            st = merge_symbol(l, i, s, strength, (int32_t)known);
        else
            st = add_symbol(l, i, s, strength, global);
        if (st != ST_OK)
            return st;
    }
    for (uint32_t s = 0; s < in->m->n_symbols; s++) {          /* an alias is what its function became */
        for (uint32_t k = 0; is_alias(in, s) && k < in->m->n_symbols; k++)
            if (!is_alias(in, k) && in->m->symbols[k].kind == PTX_SYMBOL_FUNCTION && in->m->symbols[k].index == in->m->symbols[s].index)
                in->to[s] = in->to[k];
        if (is_alias(in, s)) {
            const char *name = arena_strndup(&l->out->arena, in->names[s], strlen(in->names[s]));
            if (!name || !map_put_str(&l->out->names, name, strlen(name), (uintptr_t)in->to[s]) ||
                !map_put_str(&l->globals, name, strlen(name), (uintptr_t)in->to[s]))
                return no_memory(l);
        }
    }
    return ST_OK;
}

/* ---- what refers to symbols ---------------------------------------------------------------------------- */

static bool copy_names(struct linker *l, const struct input *in, const struct map *from, struct map *to)
{
    for (size_t i = 0; i < from->cap; i++) {
        const struct map_slot *s = &from->slots[i];
        if (!s->hash)
            continue;
        const char *key = arena_strndup(&l->out->arena, s->key, s->len_or_int);
        if (!key || !map_put_str(to, key, s->len_or_int, (uintptr_t)in->to[s->value]))
            return false;
    }
    return true;
}

static enum status finish(struct linker *l)
{
    struct ptx_module *out = l->out;
    for (size_t i = 0; i < l->n; i++)
        for (uint32_t u = 0; u < l->in[i].m->n_units; u++) {
            struct map *to = &out->units[l->in[i].first_unit + u].names;
            if (!copy_names(l, &l->in[i], &l->in[i].m->names, to) || !copy_names(l, &l->in[i], &l->in[i].m->units[u].names, to))
                return no_memory(l);
        }
    for (size_t s = 0; s < l->symbols.n; s++) {
        if (l->symbols.at[s].kind != PTX_SYMBOL_VAR)
            continue;
        struct ptx_var *v = &l->vars.at[l->symbols.at[s].index];
        for (uint32_t k = 0; k < v->n_init; k++)
            if (v->init[k].sym >= 0)
                v->init[k].sym = l->in[l->origins.at[s].input].to[v->init[k].sym];
    }
    out->n_vars = (uint32_t)l->vars.n;
    out->n_functions = (uint32_t)l->functions.n;
    out->n_symbols = (uint32_t)l->symbols.n;
    out->n_files = (uint32_t)l->files.n;
    out->vars = arena_dup(&out->arena, l->vars.at, (l->vars.n) * sizeof *out->vars);
    out->functions = arena_dup(&out->arena, l->functions.at, l->functions.n * sizeof *out->functions);
    out->symbols = arena_dup(&out->arena, l->symbols.at, l->symbols.n * sizeof *out->symbols);
    out->files = arena_dup(&out->arena, l->files.at, l->files.n * sizeof *out->files);
    if ((l->vars.n && !out->vars) || (l->functions.n && !out->functions) || (l->symbols.n && !out->symbols) || (l->files.n && !out->files))
        return no_memory(l);
    return ST_OK;
}

static enum status link_all(struct linker *l)
{
    enum status st = lay_out(l);
    for (size_t i = 0; i < l->n && st == ST_OK; i++)
        st = name_symbols(&l->in[i]) ? merge_module(l, (uint32_t)i) : no_memory(l);
    return st == ST_OK ? finish(l) : st;
}

enum status ptx_link(struct ptx_module **out, const char *name, struct ptx_module *const *in, size_t n, struct error *err)
{
    struct linker l = { .n = n, .err = err };
    size_t bytes = 0;
    uint32_t units = 0;
    *out = NULL;
    if (n == 0)
        return error_set(err, ST_INVALID_VALUE, "%s: nothing to link", name);
    l.in = calloc(n, sizeof *l.in);
    for (size_t i = 0; i < n && l.in; i++) {
        l.in[i].m = in[i];
        l.in[i].text_at = bytes;
        bytes += in[i]->text_bytes + 1;
        units += in[i]->n_units;
    }
    l.out = l.in ? module_new(name, bytes, units) : NULL;
    if (!l.out) {
        free(l.in);
        return error_set(err, ST_OUT_OF_MEMORY, "%s: no memory to link", name);
    }
    enum status st = link_all(&l);
    for (size_t i = 0; i < n; i++) {
        free(l.in[i].names);
        free(l.in[i].to);
    }
    free(l.in);
    vec_free(&l.vars);
    vec_free(&l.functions);
    vec_free(&l.symbols);
    vec_free(&l.origins);
    vec_free(&l.files);
    map_free(&l.globals);
    if (st == ST_OK)
        *out = l.out;
    else
        ptx_module_free(l.out);
    return st;
}
