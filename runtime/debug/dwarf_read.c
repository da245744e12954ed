/* See dwarf_read.h. The sections are lists of .b8, .b32 .. in the PTX text. */
#include "runtime/debug/dwarf_read.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    AT_LOCATION = 0x02, AT_NAME = 0x03, AT_BYTES = 0x0b, AT_LOW = 0x11, AT_HIGH = 0x12, AT_UPPER = 0x2f, AT_COUNT = 0x37, AT_MEMBER = 0x38, AT_ENCODING = 0x3e, AT_TYPE = 0x49,
    AT_LINKAGE = 0x2007, ATTRS = 24 };
struct abbrev { uint32_t code, tag, n; bool children; struct { uint32_t at, form; } attr[ATTRS]; };
struct text { const char *at, *end; };

/* ---- text to bytes ---- */

static bool section_read(struct dwarf_sections *d, struct section *s, const struct text *text, const char *name)
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

const char *dwarf_name_at(const struct section *s, uint32_t at)
{
    for (size_t i = 0; i < s->names.n; i++)
        if (s->names.at[i].at == at)
            return s->names.at[i].name;
    return NULL;
}

/* ---- reading ---- */

uint64_t dwarf_take(struct cursor *c, unsigned bytes)
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

uint64_t dwarf_uleb(struct cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t b = dwarf_take(c, 1);
        if (shift < 64)
            v |= (b & 0x7f) << shift;
        if (!(b & 0x80))
            return v;
    }
}

struct cursor dwarf_cursor_at(const struct section *s, uint32_t at) { return (struct cursor){s->bytes.at, (uint32_t)s->bytes.n, at, false}; }

static bool abbrevs_read(struct dwarf_sections *d)
{
    struct cursor c = dwarf_cursor_at(&d->abbrevs, 0);
    while (c.at < c.n) {
        struct abbrev a = {.code = (uint32_t)dwarf_uleb(&c)};
        if (!a.code)
            break;
        a.tag = (uint32_t)dwarf_uleb(&c);
        a.children = dwarf_take(&c, 1) != 0;
        for (;;) {
            uint32_t at = (uint32_t)dwarf_uleb(&c), form = (uint32_t)dwarf_uleb(&c);
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

static void attribute(struct dwarf_sections *d, struct cursor *c, uint32_t at, uint32_t form, struct die *out)
{
    uint32_t from = c->at;
    uint64_t v = 0;
    bool block = false;
    switch (form) {
    case 0x01: v = dwarf_take(c, 8); break;
    case 0x03: v = dwarf_take(c, 2), block = true; break;
    case 0x04: v = dwarf_take(c, 4), block = true; break;
    case 0x09: case 0x18: v = dwarf_uleb(c), block = true; break;
    case 0x0a: v = dwarf_take(c, 1), block = true; break;
    case 0x05: v = dwarf_take(c, 2); break;
    case 0x06: case 0x0e: case 0x13: case 0x17: v = dwarf_take(c, 4); break;
    case 0x07: case 0x14: case 0x10: v = dwarf_take(c, 8); break;
    case 0x08: while (dwarf_take(c, 1)) ; break;
    case 0x0b: case 0x0c: v = dwarf_take(c, 1); break;
    case 0x0d: case 0x0f: v = dwarf_uleb(c); break;
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
    case AT_LOW: out->low = dwarf_name_at(&d->info, from); break;
    case AT_HIGH: out->high = dwarf_name_at(&d->info, from); break;
    case AT_TYPE: out->type = (uint32_t)v; break;
    case AT_BYTES: out->bytes = (uint32_t)v; break;
    case AT_ENCODING: out->encoding = (uint32_t)v; break;
    case AT_COUNT: out->count = v, out->has_count = true; break;
    case AT_UPPER: out->count = v + 1, out->has_count = true; break;
    case AT_MEMBER: {
        struct cursor e = {c->p, c->n, from, false};
        out->offset = (uint32_t)(!block ? v : dwarf_take(&e, 1) == OP_PLUS ? dwarf_uleb(&e) : 0);
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

bool dwarf_die(struct dwarf_sections *d, uint32_t at, struct die *out)
{
    struct cursor c = dwarf_cursor_at(&d->info, at);
    uint32_t code = (uint32_t)dwarf_uleb(&c);
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

bool dwarf_sections_read(struct dwarf_sections *d, const char *at, size_t bytes)
{
    const struct text text = {at, at + bytes};
    if (!section_read(d, &d->abbrevs, &text, ".debug_abbrev") || !section_read(d, &d->info, &text, ".debug_info") || !abbrevs_read(d))
        return false;
    (void)section_read(d, &d->loc, &text, ".debug_loc");
    return true;
}

void dwarf_sections_free(struct dwarf_sections *d)
{
    vec_free(&d->info.bytes), vec_free(&d->abbrevs.bytes), vec_free(&d->loc.bytes);
    vec_free(&d->info.names), vec_free(&d->abbrevs.names), vec_free(&d->loc.names);
    vec_free(&d->table);
    arena_free(&d->arena);
}
