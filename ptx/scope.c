/* Names of a function: registers, register ranges, variables and labels, in nested scopes. */
#include "ptx/body.h"

#include <stdio.h>
#include <string.h>

enum { MAX_SCOPES = 512, MAX_REGS = 1 << 22 };

static bool put(struct body *b, struct map *map, const char *key, uint32_t len, uintptr_t value)
{
    uintptr_t old = 0;
    map_get_str(map, key, len, &old);
    struct undo u = { map, key, len, old };
    if (b->scopes.n > 1 && !vec_push(&b->undos, u))
        return parser_no_memory(&b->p);
    return map_put_str(map, key, len, value) || parser_no_memory(&b->p);
}

bool scope_open(struct body *b)
{
    struct scope s = { b->undos.n, b->fixups.n, b->names.n, b->labels.n };
    if (b->scopes.n >= MAX_SCOPES)
        return parser_fail(&b->p, "blocks are nested too deep");
    return vec_push(&b->scopes, s) || parser_no_memory(&b->p);
}

static void resolve(struct body *b, const struct fixup *f, int32_t label)
{
    if (f->targets >= 0)
        b->targets.at[f->targets].index[f->element] = label;
    else
        b->insns.at[f->insn].operands[f->operand].index = label;
}

bool scope_close(struct body *b)
{
    struct scope s = b->scopes.at[b->scopes.n - 1];
    size_t kept = s.fixups;
    for (size_t i = s.fixups; i < b->fixups.n; i++) {
        struct fixup f = b->fixups.at[i];
        uintptr_t v = 0;
        map_get_str(&b->by_label, b->p.text + f.at, f.len, &v);
        if (v)
            resolve(b, &f, (int32_t)v - 1);
        else if (b->scopes.n == 1)
            return parser_fail_at(&b->p, f.at, f.line, "unknown label '%.*s'", (int)(f.len > 200 ? 200 : f.len), b->p.text + f.at);
        else
            b->fixups.at[kept++] = f;
    }
    b->fixups.n = kept;
    while (b->undos.n > s.undos) {
        const struct undo *u = &b->undos.at[--b->undos.n];
        if (!map_put_str(u->map, u->key, u->len, u->old))
            return parser_no_memory(&b->p);
    }
    b->scopes.n--;
    return true;
}

static bool add_name(struct body *b, struct map *map, const char *name, uint32_t len, struct name_entry e)
{
    uintptr_t old = 0;
    map_get_str(map, name, len, &old);
    if (old > b->scopes.at[b->scopes.n - 1].names)
        return parser_fail(&b->p, "'%.*s' is declared twice", (int)(len > 200 ? 200 : len), name);
    if (!vec_push(&b->names, e))
        return parser_no_memory(&b->p);
    return put(b, map, name, len, b->names.n);
}

bool scope_add_var(struct body *b, const struct ptx_var *v)
{
    struct name_entry e = { NAME_VAR, 1, (uint32_t)b->vars.n, 1 };
    uint32_t len = (uint32_t)strlen(v->name);
    if (len == 1 && v->name[0] == '_')             /* prototypes leave parameters without a name */
        return vec_push(&b->vars, *v) || parser_no_memory(&b->p);
    b->digits_in_names |= v->name[len - 1] >= '0' && v->name[len - 1] <= '9';
    return (vec_push(&b->vars, *v) || parser_no_memory(&b->p)) && add_name(b, &b->by_name, v->name, len, e);
}

/* Registers get the name they are written with: %r12, and v.x .. for the parts of a vector. */
static bool push_reg(struct body *b, const char *name, uint32_t len, enum ptx_type type, unsigned width, unsigned part, bool range, uint32_t number)
{
    static const char *const parts[] = { ".x", ".y", ".z", ".w", ".4", ".5", ".6", ".7" };
    char buf[1100];
    int n = range ? snprintf(buf, sizeof buf, "%.*s%u%s", (int)len, name, number, width > 1 ? parts[part] : "")
                  : snprintf(buf, sizeof buf, "%.*s%s", (int)len, name, width > 1 ? parts[part] : "");
    struct ptx_reg r = { arena_strndup(&b->p.m->arena, buf, (size_t)n < sizeof buf ? (size_t)n : sizeof buf - 1), (uint8_t)type };
    return (r.name && vec_push(&b->regs, r)) || parser_no_memory(&b->p);
}

bool scope_add_regs(struct body *b, const char *name, uint32_t len, enum ptx_type type, unsigned width, bool range, uint32_t count)
{
    struct name_entry e = { (uint8_t)(range ? NAME_RANGE : NAME_REG), (uint8_t)width, (uint32_t)b->regs.n, count };
    if (len > 1024)
        return parser_fail(&b->p, "the name is too long");
    if (count > MAX_REGS || b->regs.n + (size_t)count * width > MAX_REGS)
        return parser_fail(&b->p, "too many registers");
    for (uint32_t i = 0; i < count; i++)
        for (unsigned k = 0; k < width; k++)
            if (!push_reg(b, name, len, type, width, k, range, i))
                return false;
    b->digits_in_names |= !range && name[len - 1] >= '0' && name[len - 1] <= '9';
    return add_name(b, range ? &b->by_prefix : &b->by_name, name, len, e);
}

/* The range a name such as %r12 falls into: index + 1 in names, and the number; 0 when there is none. */
static uintptr_t find_range(const struct body *b, const char *name, size_t len, uint32_t *number)
{
    size_t digits = 0;
    while (digits < len && digits < 8 && name[len - 1 - digits] >= '0' && name[len - 1 - digits] <= '9')
        digits++;
    for (; digits > 0; digits--) {                 /* the prefix may itself end in digits */
        uintptr_t v = 0;
        const char *s = name + len - digits;
        if ((digits > 1 && *s == '0') || digits == len || !map_get_str(&b->by_prefix, name, len - digits, &v) || !v)
            continue;
        uint32_t n = 0;
        for (size_t i = 0; i < digits; i++)
            n = n * 10 + (uint32_t)(s[i] - '0');
        *number = n;
        if (n < b->names.at[v - 1].count)
            return v;
    }
    return 0;
}

static const struct name_entry *find_name(const struct body *b, const char *name, size_t len, uint32_t *number)
{
    uintptr_t single = 0, range = find_range(b, name, len, number);
    if (!range || b->digits_in_names)
        map_get_str(&b->by_name, name, len, &single);
    if (single < range)
        return &b->names.at[range - 1];
    *number = 0;
    return single ? &b->names.at[single - 1] : NULL;
}

unsigned scope_find_reg(const struct body *b, const char *name, size_t len, uint32_t *reg)
{
    uint32_t number;
    const struct name_entry *e = find_name(b, name, len, &number);
    if (!e || e->kind == NAME_VAR)
        return 0;
    *reg = e->first + number * e->width;
    return e->width;
}

int32_t scope_symbol(const struct parser *p, const char *name, size_t len)
{
    const struct body *b = p->scope;
    uint32_t number;
    const struct name_entry *e = find_name(b, name, len, &number);
    return e && e->kind == NAME_VAR ? (int32_t)(p->m->n_symbols + e->first) : -1;
}

bool scope_add_label(struct body *b, const char *name, uint32_t len, uint32_t line, uint32_t *number)
{
    uintptr_t old = 0;
    map_get_str(&b->by_label, name, len, &old);
    if (old > b->scopes.at[b->scopes.n - 1].labels)
        return parser_fail_at(&b->p, (size_t)(name - b->p.text), line, "label '%.*s' is defined twice", (int)(len > 200 ? 200 : len), name);
    struct ptx_label l = { arena_strndup(&b->p.m->arena, name, len), (uint32_t)b->insns.n };
    if (!l.name || !vec_push(&b->labels, l))
        return parser_no_memory(&b->p);
    *number = (uint32_t)b->labels.n - 1;
    return put(b, &b->by_label, name, len, b->labels.n);
}

bool scope_use_label(struct body *b, struct fixup f)
{
    return vec_push(&b->fixups, f) || parser_no_memory(&b->p);
}
