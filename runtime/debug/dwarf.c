/* See dwarf.h. */
#include <stdlib.h>
#include <string.h>

#include "runtime/debug/dwarf.h"
#include "runtime/debug/dwarf_read.h"

enum { DEPTH = 64 };

struct variable {
    const char *name;
    const char *function;                      /* linkage name; NULL: the variable is the program's */
    const char *low, *high;                    /* labels of its scope; NULL: all of the function */
    uint32_t type, expr, expr_bytes, list;     /* expr: offset of its location in info; or list: 1 + offset in loc */
    bool parameter;
};

struct known_record { struct record record; struct known_record *next; struct dwarf *of; uint32_t at; };
struct dwarf {                                 /* of one text of a module; linked ones have several */
    struct dwarf *next;
    const struct rt_module *module;
    uint32_t unit;
    bool any;
    struct dwarf_sections in;
    VEC(struct variable) variables;
    struct known_record *records;              /* in the arena */
};
static struct dwarf *all;

/* ---- types ---- */

static const struct record *record_at(struct dwarf *d, uint32_t at, const struct die *e)
{
    struct known_record *r = d->records;
    while (r && r->at != at)
        r = r->next;
    if (r || !e->bytes || !e->children)
        return r ? &r->record : NULL;
    r = arena_alloc(&d->in.arena, sizeof *r);
    if (!r)
        return NULL;
    *r = (struct known_record){{e->name, e->bytes}, d->records, d, at};
    d->records = r;
    return &r->record;
}

static struct type type_at(struct dwarf *d, uint32_t at, unsigned depth)
{
    struct type t = {.kind = TYPE_VOID, .bytes = 1, .lanes = 1}, parsed;
    struct die e, child;
    if (!at || depth > DEPTH || !dwarf_die(&d->in, at, &e))
        return t;
    switch (e.tag) {
    case TAG_BASE:
        t.kind = e.encoding == ENCODING_FLOAT ? TYPE_FLOAT : TYPE_INT;
        t.bytes = (uint8_t)(e.bytes == 2 || e.bytes == 4 || e.bytes == 8 ? e.bytes : 1);
        t.sign = e.encoding == ENCODING_FLOAT || e.encoding == ENCODING_SIGNED || e.encoding == ENCODING_SIGNED_CHAR;
        t.character = e.bytes == 1 && e.encoding != ENCODING_BOOL && e.name && strcmp(e.name, "char") == 0;
        return t;
    case TAG_POINTER: case TAG_REFERENCE:
        t = type_at(d, e.type, depth + 1);
        if (t.count)
            t.count = 0;                       /* a pointer to an array: to its elements */
        t.pointers++;
        return t;
    case TAG_ENUM:
        t = (struct type){.kind = TYPE_INT, .bytes = 4, .sign = true, .lanes = 1};
        return t;
    case TAG_ARRAY: {
        uint64_t n = 1;
        t = type_at(d, e.type, depth + 1);
        for (uint32_t next = e.next; dwarf_die(&d->in, next, &child) && child.tag == TAG_SUBRANGE; next = child.next)
            n *= child.has_count ? child.count : 0;
        t.count = t.count ? t.count * (uint32_t)n : (uint32_t)n;
        return t;
    }
    case TAG_STRUCT: case TAG_CLASS: case TAG_UNION:
        if (e.name && type_parse(e.name, &parsed) && type_bytes(&parsed) == e.bytes)
            return parsed;                     /* float4 .. */
        t.record = record_at(d, at, &e);
        return t.record ? (struct type){.kind = TYPE_RECORD, .lanes = 1, .record = t.record} : (struct type){.kind = TYPE_INT, .bytes = 1, .lanes = 1, .count = e.bytes};
    default:                                   /* typedef, const, volatile */
        return type_at(d, e.type, depth + 1);
    }
}

/* Behind a die and all that is below it. */
static uint32_t behind(struct dwarf *d, const struct die *e)
{
    struct die child;
    uint32_t at = e->next;
    unsigned depth = e->children;
    while (depth && dwarf_die(&d->in, at, &child)) {
        depth = child.tag ? depth + child.children : depth - 1;
        at = child.next;
    }
    return at;
}

bool record_member(const struct record *r, unsigned i, const char **name, uint32_t *offset, struct type *type)
{
    const struct known_record *k = (const struct known_record *)(const void *)r;       /* its first member */
    struct die e;
    if (!dwarf_die(&k->of->in, k->at, &e))
        return false;
    for (uint32_t at = e.next; dwarf_die(&k->of->in, at, &e) && e.tag; at = behind(k->of, &e)) {
        if ((e.tag != TAG_MEMBER && e.tag != TAG_INHERITANCE) || i--)
            continue;
        bool base = e.tag == TAG_INHERITANCE || !e.name || strncmp(e.name, "__b_", 4) == 0;     /* so nvcc has it */
        *name = base ? "" : e.name;
        *offset = e.offset;
        *type = type_at(k->of, e.type, 0);
        return true;
    }
    return false;
}

/* ---- the tree ---- */

struct scope { const char *low, *high, *function; };

static bool variable_add(struct dwarf *d, const struct die *e, const struct scope *s)
{
    struct variable v = {.name = e->name, .function = s->function, .low = s->low, .high = s->high, .type = e->type, .expr = e->expr, .expr_bytes = e->expr_bytes,
                         .list = e->list, .parameter = e->tag == TAG_PARAMETER};
    return !e->name || (!s->function && e->tag == TAG_PARAMETER) || (!e->expr && !e->list) || vec_push(&d->variables, v);
}

static bool tree_read(struct dwarf *d)
{
    enum { HEAD = 11 };
    struct scope stack[DEPTH] = {{0}};
    unsigned depth = 0;
    struct die e;
    for (uint32_t at = HEAD; at < d->in.info.bytes.n && dwarf_die(&d->in, at, &e); at = e.next) {
        if (!e.tag) {
            if (depth)
                depth--;
            if (!depth)
                break;
            continue;
        }
        if ((e.tag == TAG_VARIABLE || e.tag == TAG_PARAMETER) && !variable_add(d, &e, &stack[depth]))
            return false;
        if (!e.children)
            continue;
        if (depth + 1 == DEPTH)
            return false;
        stack[depth + 1] = stack[depth];
        depth++;
        if (e.tag == TAG_FUNCTION)
            stack[depth] = (struct scope){NULL, NULL, e.linkage ? e.linkage : e.name};
        else if (e.tag == TAG_BLOCK && e.low && e.high)
            stack[depth] = (struct scope){e.low, e.high, stack[depth].function};
    }
    return true;
}

/* Of the text that a function is from. */
static struct dwarf *dwarf_of(const struct rt_module *m, const struct ptx_function *f)
{
    for (struct dwarf *d = all; d; d = d->next)
        if (d->module == m && d->unit == f->unit)
            return d;
    struct dwarf *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    size_t bytes;
    const char *name, *at = ptx_unit_text(m->code->ptx, f->unit, &bytes, &name);
    d->module = m;
    d->unit = f->unit;
    d->next = all;
    all = d;
    d->any = dwarf_sections_read(&d->in, at, bytes) && tree_read(d);
    return d;
}

void dwarf_forget(const struct rt_module *m)
{
    for (struct dwarf **at = &all; *at;) {
        struct dwarf *d = *at;
        if (d->module != m) {
            at = &d->next;
            continue;
        }
        *at = d->next;
        vec_free(&d->variables);
        dwarf_sections_free(&d->in);
        free(d);
    }
}

/* ---- where a variable is ---- */

static bool label_insn(const struct ptx_function *f, const char *label, uint32_t *insn)
{
    for (uint32_t i = 0; label && i < f->n_labels; i++)
        if (strcmp(f->labels[i].name, label) == 0) {
            *insn = f->labels[i].insn;
            return true;
        }
    return false;
}

static bool in_scope(const struct variable *v, const struct ptx_function *f, uint32_t insn)
{
    uint32_t low, high;
    if (!v->function || strcmp(v->function, f->name) != 0)
        return false;
    return !v->low || !label_insn(f, v->low, &low) || !label_insn(f, v->high, &high) || (insn >= low && insn < high);
}

static enum status register_value(struct value *out, struct cursor *c, const struct ptx_function *f, const struct focus *focus, struct error *err)
{
    uint64_t packed = dwarf_uleb(c);
    char name[9] = "";
    unsigned n = 0;
    for (int shift = 56; shift >= 0; shift -= 8)
        if (packed >> shift & 0xff)
            name[n++] = (char)(packed >> shift & 0xff);
    for (uint32_t i = 0; i < f->n_regs; i++)
        if (strcmp(f->regs[i].name, name) == 0) {
            out->home = HOME_REGISTER;
            out->at = i;
            return value_load(out, focus, err);
        }
    return error_set(err, ST_INVALID_VALUE, "it is in a register that this function has not");
}

static enum status symbol_value(struct value *out, const char *symbol, uint64_t offset, const struct focus *f, const struct emu_frame *frame, struct error *err)
{
    const struct ptx_module *m = f->run->module->code->ptx;
    const struct ptx_function *fn = &m->functions[frame->function];
    struct value v;
    enum status st = ST_NOT_FOUND;
    for (uint32_t i = 0; symbol && i < fn->n_vars && st == ST_NOT_FOUND; i++)
        if (strcmp(fn->vars[i].name, symbol) == 0)
            st = var_value(&v, f, frame, &fn->vars[i], (int32_t)(m->n_symbols + i), err);
    int32_t s = symbol && st == ST_NOT_FOUND ? ptx_symbol_find(m, symbol) : -1;
    if (s >= 0 && m->symbols[s].kind == PTX_SYMBOL_VAR)
        st = var_value(&v, f, frame, &m->vars[m->symbols[s].index], s, err);
    if (st != ST_OK)
        return error_set(err, ST_INVALID_VALUE, "its place has no address here");
    out->home = v.home;
    out->at = v.at + offset;
    return value_load(out, f, err);
}

static enum status located(struct value *out, const struct section *s, uint32_t at, uint32_t bytes, const struct focus *f, const struct emu_frame *frame, struct error *err)
{
    struct cursor c = dwarf_cursor_at(s, at);
    const struct ptx_function *fn = &f->run->module->code->ptx->functions[frame->function];
    uint64_t op = bytes ? dwarf_take(&c, 1) : 0, offset = 0;
    if (op == OP_REGX)
        return register_value(out, &c, fn, f, err);
    if (op != OP_ADDR)
        return error_set(err, ST_NOT_SUPPORTED, "its place is told in a way that is not understood");
    const char *symbol = dwarf_name_at(s, c.at);
    dwarf_take(&c, 8);
    if (c.at < at + bytes && dwarf_take(&c, 1) == OP_PLUS)
        offset = dwarf_uleb(&c);
    return symbol_value(out, symbol, offset, f, frame, err);
}

static enum status variable_value(struct dwarf *d, struct value *out, const struct variable *v, const struct focus *f, const struct emu_frame *frame, struct error *err)
{
    const struct ptx_function *fn = &f->run->module->code->ptx->functions[frame->function];
    *out = (struct value){.type = type_at(d, v->type, 0)};
    if (!v->list)
        return located(out, &d->in.info, v->expr, v->expr_bytes, f, frame, err);
    struct cursor c = dwarf_cursor_at(&d->in.loc, v->list - 1);
    while (!c.bad) {
        const char *low = dwarf_name_at(&d->in.loc, c.at), *high = dwarf_name_at(&d->in.loc, c.at + 8);
        uint32_t from, to;
        dwarf_take(&c, 16);
        if (!low || !high)
            break;
        uint32_t n = (uint32_t)dwarf_take(&c, 2);
        if (label_insn(fn, low, &from) && label_insn(fn, high, &to) && frame->insn >= from && frame->insn < to)
            return located(out, &d->in.loc, c.at, n, f, frame, err);
        c.at = n <= c.n - c.at ? c.at + n : c.n;
    }
    return error_set(err, ST_INVALID_VALUE, "%s has no value here", v->name);
}

enum status dwarf_value(struct value *out, const char *name, const struct focus *f, const struct emu_frame *frame, struct error *err)
{
    const struct ptx_function *fn = &f->run->module->code->ptx->functions[frame->function];
    struct dwarf *d = dwarf_of(f->run->module, fn);
    for (size_t i = d && d->any ? d->variables.n : 0; i-- > 0;)        /* inner scopes come later */
        if (strcmp(d->variables.at[i].name, name) == 0 && in_scope(&d->variables.at[i], fn, frame->insn))
            return variable_value(d, out, &d->variables.at[i], f, frame, err);
    for (size_t i = 0; d && d->any && i < d->variables.n; i++)
        if (!d->variables.at[i].function && strcmp(d->variables.at[i].name, name) == 0)
            return variable_value(d, out, &d->variables.at[i], f, frame, err);
    return ST_NOT_FOUND;
}

bool dwarf_any(const struct focus *f, const struct emu_frame *frame)
{
    const struct dwarf *d = dwarf_of(f->run->module, &f->run->module->code->ptx->functions[frame->function]);
    return d && d->any;
}

bool dwarf_locals(const struct focus *f, const struct emu_frame *frame, void (*fn)(void *user, const char *name, bool parameter, enum status st, const struct value *v, const struct error *err),
                  void *user)
{
    const struct ptx_function *code = &f->run->module->code->ptx->functions[frame->function];
    struct dwarf *d = dwarf_of(f->run->module, code);
    bool any = false;
    for (size_t i = 0; d && d->any && i < d->variables.n; i++) {
        struct value v;
        struct error err = {0};
        if (!in_scope(&d->variables.at[i], code, frame->insn))
            continue;
        any = true;
        enum status st = variable_value(d, &v, &d->variables.at[i], f, frame, &err);
        fn(user, d->variables.at[i].name, d->variables.at[i].parameter, st, &v, &err);
    }
    return any;
}
