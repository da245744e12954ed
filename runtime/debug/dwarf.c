/* See dwarf.h. The sections are lists of .b8, .b32 .. in the PTX text; here they become bytes again, with the names that stand in place of addresses beside. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/debug/dwarf.h"

enum {
    TAG_ARRAY = 0x01, TAG_ENUM = 0x04, TAG_PARAMETER = 0x05, TAG_BLOCK = 0x0b, TAG_POINTER = 0x0f, TAG_REFERENCE = 0x10, TAG_STRUCT = 0x13, TAG_TYPEDEF = 0x16, TAG_UNION = 0x17,
    TAG_SUBRANGE = 0x21, TAG_BASE = 0x24, TAG_CONST = 0x26, TAG_FUNCTION = 0x2e, TAG_VARIABLE = 0x34, TAG_VOLATILE = 0x35, TAG_CLASS = 0x02,
    TAG_MEMBER = 0x0d, TAG_INHERITANCE = 0x1c, AT_MEMBER = 0x38, 
    AT_LOCATION = 0x02, AT_NAME = 0x03, AT_BYTES = 0x0b, AT_LOW = 0x11, AT_HIGH = 0x12, AT_UPPER = 0x2f, AT_COUNT = 0x37, AT_ENCODING = 0x3e, AT_TYPE = 0x49, AT_LINKAGE = 0x2007,
    OP_ADDR = 0x03, OP_PLUS = 0x23, OP_REGX = 0x90,
    ENCODING_FLOAT = 4, ENCODING_SIGNED = 5, ENCODING_SIGNED_CHAR = 6, ENCODING_BOOL = 2,
    ATTRS = 24, DEPTH = 64 };

struct fixup { uint32_t at; const char *name; };
struct section { VEC(uint8_t) bytes; VEC(struct fixup) names; };
struct abbrev { uint32_t code, tag, n; bool children; struct { uint32_t at, form; } attr[ATTRS]; };

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
    struct arena arena;
    struct section info, abbrevs, loc;
    VEC(struct abbrev) table;
    VEC(struct variable) variables;
    struct known_record *records;              /* in the arena */
};
static struct dwarf *all;

/* ---- text to bytes ---- */

struct text { const char *at, *end; };

static bool section_read(struct dwarf *d, struct section *s, const struct text *text, const char *name)
{
    static const char directive[] = ".section";
    const char *at = text->at, *end;
    while ((at = memmem(at, (size_t)(text->end - at), directive, strlen(directive)))) {      /* and blanks, and the name */
        at += strlen(directive);
        at += strspn(at, " \t");
        if (strncmp(at, name, strlen(name)) == 0 && isspace((unsigned char)at[strlen(name)]))
            break;
    }
    at = at ? memchr(at, '{', (size_t)(text->end - at)) : NULL;
    end = at ? memchr(at, '}', (size_t)(text->end - at)) : NULL;
    if (!end)
        return false;
    for (at++; at < end;) {
        unsigned bytes = 0;
        while (at < end && (isspace((unsigned char)*at)))
            at++;
        if (strncmp(at, "//", 2) == 0 || at >= end) {
            while (at < end && *at != '\n')
                at++;
            continue;
        }
        if (at[0] != '.' || at[1] != 'b')
            return false;
        bytes = (unsigned)strtoul(at + 2, (char **)(uintptr_t)&at, 10) / 8;
        do {
            while (at < end && (*at == ' ' || *at == '\t' || *at == ','))
                at++;
            const char *word = at;
            uint64_t v = 0;
            while (at < end && *at != ',' && !isspace((unsigned char)*at))
                at++;
            if (isdigit((unsigned char)*word) || *word == '-') {
                v = *word == '-' ? (uint64_t)strtoll(word, NULL, 0) : strtoull(word, NULL, 0);
            } else {                           /* NAME or NAME+NUMBER, which is then what the bytes are */
                const char *plus = memchr(word, '+', (size_t)(at - word));
                v = plus ? strtoull(plus + 1, NULL, 0) : 0;
                struct fixup x = {(uint32_t)s->bytes.n, arena_strndup(&d->arena, word, (size_t)((plus ? plus : at) - word))};
                if (!x.name || !vec_push(&s->names, x))
                    return false;
            }
            for (unsigned i = 0; i < bytes; i++)
                if (!vec_push(&s->bytes, (uint8_t)(i < 8 ? v >> (8 * i) : 0)))
                    return false;
        } while (at < end && *at == ',');
    }
    return s->bytes.n != 0;
}

static const char *name_at(const struct section *s, uint32_t at)
{
    for (size_t i = 0; i < s->names.n; i++)
        if (s->names.at[i].at == at)
            return s->names.at[i].name;
    return NULL;
}

/* ---- reading ---- */

struct cursor { const uint8_t *p; uint32_t n, at; bool bad; };

static uint64_t take(struct cursor *c, unsigned bytes)
{
    uint64_t v = 0;
    if (c->n - c->at < bytes || c->at > c->n) {
        c->bad = true;
        c->at = c->n;
        return 0;
    }
    for (unsigned i = 0; i < bytes && i < 8; i++)
        v |= (uint64_t)c->p[c->at + i] << (8 * i);
    c->at += bytes;
    return v;
}

static uint64_t uleb(struct cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t b = take(c, 1);
        if (shift < 64)
            v |= (b & 0x7f) << shift;
        if (!(b & 0x80))
            return v;
    }
}

static struct cursor cursor_at(const struct section *s, uint32_t at) { return (struct cursor){s->bytes.at, (uint32_t)s->bytes.n, at, false}; }

static bool abbrevs_read(struct dwarf *d)
{
    struct cursor c = cursor_at(&d->abbrevs, 0);
    while (c.at < c.n) {
        struct abbrev a = {.code = (uint32_t)uleb(&c)};
        if (!a.code)
            break;
        a.tag = (uint32_t)uleb(&c);
        a.children = take(&c, 1) != 0;
        for (;;) {
            uint32_t at = (uint32_t)uleb(&c), form = (uint32_t)uleb(&c);
            if ((!at && !form) || c.bad)
                break;
            if (a.n == ATTRS)
                return false;
            a.attr[a.n].at = at;
            a.attr[a.n++].form = form;
        }
        if (!vec_push(&d->table, a))
            return false;
    }
    return !c.bad;
}

struct die {
    uint32_t tag, next;                        /* tag 0: the end of children; next: behind it */
    bool children;
    const char *name, *linkage, *low, *high;
    uint32_t type, bytes, encoding, expr, expr_bytes, list;
    uint64_t count; bool has_count;
    uint32_t offset;                           /* of a member */
};

static void attribute(struct dwarf *d, struct cursor *c, uint32_t at, uint32_t form, struct die *out)
{
    uint32_t from = c->at;
    uint64_t v = 0;
    bool block = false;
    switch (form) {
    case 0x01: v = take(c, 8); break;
    case 0x03: v = take(c, 2), block = true; break;
    case 0x04: v = take(c, 4), block = true; break;
    case 0x09: case 0x18: v = uleb(c), block = true; break;
    case 0x0a: v = take(c, 1), block = true; break;
    case 0x05: v = take(c, 2); break;
    case 0x06: case 0x0e: case 0x13: case 0x17: v = take(c, 4); break;
    case 0x07: case 0x14: case 0x10: v = take(c, 8); break;
    case 0x08: while (take(c, 1)) ; break;
    case 0x0b: case 0x0c: v = take(c, 1); break;
    case 0x0d: case 0x0f: v = uleb(c); break;
    case 0x19: v = 1; break;
    default: c->bad = true; return;
    }
    if (block) {
        from = c->at;
        c->at = v <= c->n - c->at ? c->at + (uint32_t)v : (c->bad = true, c->n);
    }
    const char *text = form == 0x08 ? (const char *)c->p + from : NULL;
    switch (at) {
    case AT_NAME: out->name = text; break;
    case AT_LINKAGE: out->linkage = text; break;
    case AT_LOW: out->low = name_at(&d->info, from); break;
    case AT_HIGH: out->high = name_at(&d->info, from); break;
    case AT_TYPE: out->type = (uint32_t)v; break;
    case AT_BYTES: out->bytes = (uint32_t)v; break;
    case AT_ENCODING: out->encoding = (uint32_t)v; break;
    case AT_COUNT: out->count = v, out->has_count = true; break;
    case AT_UPPER: out->count = v + 1, out->has_count = true; break;
    case AT_MEMBER: {
        struct cursor e = {c->p, c->n, from, false};
        out->offset = (uint32_t)(!block ? v : take(&e, 1) == OP_PLUS ? uleb(&e) : 0);
        break;
    }
    case AT_LOCATION:
        if (block)
            out->expr = from, out->expr_bytes = (uint32_t)v;
        else
            out->list = (uint32_t)v + 1;
        break;
    default: break;
    }
}

static bool die_read(struct dwarf *d, uint32_t at, struct die *out)
{
    struct cursor c = cursor_at(&d->info, at);
    uint32_t code = (uint32_t)uleb(&c);
    *out = (struct die){.next = c.at};
    if (!code)
        return !c.bad;
    for (size_t i = 0; i < d->table.n; i++) {
        const struct abbrev *a = &d->table.at[i];
        if (a->code != code)
            continue;
        out->tag = a->tag;
        out->children = a->children;
        for (uint32_t k = 0; k < a->n && !c.bad; k++)
            attribute(d, &c, a->attr[k].at, a->attr[k].form, out);
        out->next = c.at;
        return !c.bad;
    }
    return false;
}

/* ---- types ---- */

static const struct record *record_at(struct dwarf *d, uint32_t at, const struct die *e)
{
    struct known_record *r = d->records;
    while (r && r->at != at)
        r = r->next;
    if (r || !e->bytes || !e->children)
        return r ? &r->record : NULL;
    r = arena_alloc(&d->arena, sizeof *r);
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
    if (!at || depth > DEPTH || !die_read(d, at, &e))
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
        for (uint32_t next = e.next; die_read(d, next, &child) && child.tag == TAG_SUBRANGE; next = child.next)
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
    while (depth && die_read(d, at, &child)) {
        depth = child.tag ? depth + child.children : depth - 1;
        at = child.next;
    }
    return at;
}

bool record_member(const struct record *r, unsigned i, const char **name, uint32_t *offset, struct type *type)
{
    const struct known_record *k = (const struct known_record *)(const void *)r;       /* its first member */
    struct die e;
    if (!die_read(k->of, k->at, &e))
        return false;
    for (uint32_t at = e.next; die_read(k->of, at, &e) && e.tag; at = behind(k->of, &e)) {
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
    for (uint32_t at = HEAD; at < d->info.bytes.n && die_read(d, at, &e); at = e.next) {
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
    const struct text whole = {at, at + bytes}, *text = &whole;
    d->module = m;
    d->unit = f->unit;
    d->next = all;
    all = d;
    d->any = section_read(d, &d->abbrevs, text, ".debug_abbrev") && section_read(d, &d->info, text, ".debug_info") && abbrevs_read(d) && tree_read(d);
    if (d->any)
        (void)section_read(d, &d->loc, text, ".debug_loc");
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
        vec_free(&d->info.bytes), vec_free(&d->abbrevs.bytes), vec_free(&d->loc.bytes);
        vec_free(&d->info.names), vec_free(&d->abbrevs.names), vec_free(&d->loc.names);
        vec_free(&d->table);
        vec_free(&d->variables);
        arena_free(&d->arena);
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
    uint64_t packed = uleb(c);
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
    struct cursor c = cursor_at(s, at);
    const struct ptx_function *fn = &f->run->module->code->ptx->functions[frame->function];
    uint64_t op = bytes ? take(&c, 1) : 0, offset = 0;
    if (op == OP_REGX)
        return register_value(out, &c, fn, f, err);
    if (op != OP_ADDR)
        return error_set(err, ST_NOT_SUPPORTED, "its place is told in a way that is not understood");
    const char *symbol = name_at(s, c.at);
    take(&c, 8);
    if (c.at < at + bytes && take(&c, 1) == OP_PLUS)
        offset = uleb(&c);
    return symbol_value(out, symbol, offset, f, frame, err);
}

static enum status variable_value(struct dwarf *d, struct value *out, const struct variable *v, const struct focus *f, const struct emu_frame *frame, struct error *err)
{
    const struct ptx_function *fn = &f->run->module->code->ptx->functions[frame->function];
    *out = (struct value){.type = type_at(d, v->type, 0)};
    if (!v->list)
        return located(out, &d->info, v->expr, v->expr_bytes, f, frame, err);
    struct cursor c = cursor_at(&d->loc, v->list - 1);
    while (!c.bad) {
        const char *low = name_at(&d->loc, c.at), *high = name_at(&d->loc, c.at + 8);
        uint32_t from, to;
        take(&c, 16);
        if (!low || !high)
            break;
        uint32_t n = (uint32_t)take(&c, 2);
        if (label_insn(fn, low, &from) && label_insn(fn, high, &to) && frame->insn >= from && frame->insn < to)
            return located(out, &d->loc, c.at, n, f, frame, err);
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
