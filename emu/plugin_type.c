/* Types of what device code and host functions pass each other: declared, seen in use, or stated by a plug-in. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "emu/plugin.h"

static uint32_t bits_of(uint64_t at, uint64_t bytes)
{
    if (at >= 32) return 0;
    uint64_t all = bytes >= 32 ? UINT32_MAX : (UINT64_C(1) << bytes) - 1;
    return (uint32_t)(all << at);
}

struct plugin_type plugin_type_of(enum ptx_type t, uint64_t bytes, uint32_t align)
{
    struct plugin_type p = { .kind = PLUGIN_UNSIGNED, .bytes = (uint32_t)bytes, .align = align };
    enum ptx_type_kind kind = ptx_type_kind(t);
    if (bytes != ptx_type_bytes(t)) p.kind = PLUGIN_STRUCT;
    else if (kind == PTX_KIND_SIGNED) p.kind = PLUGIN_SIGNED;
    else if (kind == PTX_KIND_FLOAT && t != PTX_F16X2 && t != PTX_BF16X2) p.kind = PLUGIN_FLOAT;
    return p;
}

void plugin_type_access(struct plugin_type *p, enum ptx_type t, uint64_t at)
{
    uint32_t bytes = ptx_type_bytes(t), bits = bits_of(at, bytes);
    if (t == PTX_F32 || t == PTX_F64 || t == PTX_F16) p->floats |= bits;
    else p->others |= bits;
    if (p->kind == PLUGIN_UNSIGNED && p->floats && !p->others && bytes == p->bytes) p->kind = PLUGIN_FLOAT;
    else if (p->kind == PLUGIN_FLOAT && p->others && p->floats) p->kind = PLUGIN_UNSIGNED;
}

/* ---- signatures ----------------------------------------------------------------------------------------------------- */

struct reader { const char *at, *why; };

static void blanks(struct reader *r)
{
    while (*r->at == ' ') r->at++;
}

static bool taken(struct reader *r, char c)
{
    blanks(r);
    if (*r->at != c) return false;
    r->at++;
    return true;
}

static bool wrong(struct reader *r, const char *why)
{
    r->why = why;
    return false;
}

static bool read_word(struct reader *r, struct plugin_type *out)
{
    static const struct { const char *word; uint8_t kind, bytes; } words[] = {
        { "void", PLUGIN_VOID, 0 },      { "pred", PLUGIN_UNSIGNED, 1 }, { "f16", PLUGIN_FLOAT, 2 },     { "f32", PLUGIN_FLOAT, 4 },     { "f64", PLUGIN_FLOAT, 8 },
        { "s8", PLUGIN_SIGNED, 1 },      { "s16", PLUGIN_SIGNED, 2 },    { "s32", PLUGIN_SIGNED, 4 },    { "s64", PLUGIN_SIGNED, 8 },    { "u8", PLUGIN_UNSIGNED, 1 },
        { "u16", PLUGIN_UNSIGNED, 2 },   { "u32", PLUGIN_UNSIGNED, 4 },  { "u64", PLUGIN_UNSIGNED, 8 },  { "b8", PLUGIN_UNSIGNED, 1 },   { "b16", PLUGIN_UNSIGNED, 2 },
        { "b32", PLUGIN_UNSIGNED, 4 },   { "b64", PLUGIN_UNSIGNED, 8 },  { "b128", PLUGIN_UNSIGNED, 16 },
    };
    size_t n = 0;
    while (isalnum((unsigned char)r->at[n])) n++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == n && !strncmp(words[i].word, r->at, n)) {
            *out = (struct plugin_type){ .kind = words[i].kind, .bytes = words[i].bytes, .align = words[i].bytes };
            r->at += n;
            return true;
        }
    return wrong(r, "has a word that is no type");
}

/* Puts field f into the structure, `count` times. */
static bool add_field(struct reader *r, struct plugin_type *s, const struct plugin_type *f, unsigned count)
{
    if (f->kind == PLUGIN_VOID) return wrong(r, "has a void inside");
    if (f->align > s->align) s->align = f->align;
    for (unsigned i = 0; i < count; i++) {
        uint32_t at = (s->bytes + f->align - 1) / f->align * f->align, bits = bits_of(at, f->bytes);
        if (at + f->bytes > PLUGIN_BYTES) return wrong(r, "has a structure of more than 4096 bytes");
        if (f->kind == PLUGIN_FLOAT) s->floats |= bits;
        else if (f->kind != PLUGIN_STRUCT) s->others |= bits;
        else if (at < 32) {
            s->floats |= f->floats << at;
            s->others |= f->others << at;
        }
        s->bytes = at + f->bytes;
    }
    return true;
}

static bool read_type(struct reader *r, struct plugin_type *out, unsigned depth);

static bool read_struct(struct reader *r, struct plugin_type *out, unsigned depth)
{
    *out = (struct plugin_type){ .kind = PLUGIN_STRUCT, .align = 1 };
    do {
        struct plugin_type f;
        unsigned count = 1;
        int n = 0;
        if (!read_type(r, &f, depth + 1)) return false;
        if (taken(r, '[')) {
            if (sscanf(r->at, "%4u%n", &count, &n) != 1 || !count) return wrong(r, "has an array without a length");
            r->at += n;
            if (!taken(r, ']')) return wrong(r, "lacks a ]");
        }
        if (!add_field(r, out, &f, count)) return false;
    } while (taken(r, ','));
    if (!taken(r, '}')) return wrong(r, "lacks a }");
    out->bytes = (out->bytes + out->align - 1) / out->align * out->align;
    return true;
}

static bool read_type(struct reader *r, struct plugin_type *out, unsigned depth)
{
    if (depth > 8) return wrong(r, "has structures in structures too deep");
    return taken(r, '{') ? read_struct(r, out, depth) : read_word(r, out);
}

bool plugin_signature(const char *text, struct plugin_type types[1 + PLUGIN_PARAMS], unsigned *n_params, const char **why)
{
    struct reader r = { text, NULL };
    *n_params = 0;
    bool ok = read_type(&r, &types[0], 0) && (taken(&r, '(') || wrong(&r, "lacks the ( of its parameters"));
    if (ok && !taken(&r, ')')) {
        do {
            ok = *n_params < PLUGIN_PARAMS || wrong(&r, "has too many parameters");
            ok = ok && read_type(&r, &types[1 + *n_params], 0);
            if (ok && types[1 + *n_params].kind == PLUGIN_VOID) ok = wrong(&r, "has a parameter that is void; none is ()");
            *n_params += ok;
        } while (ok && taken(&r, ','));
        ok = ok && (taken(&r, ')') || wrong(&r, "lacks its last )"));
    }
    blanks(&r);
    if (ok && *r.at) ok = wrong(&r, "goes on behind its end");
    *why = r.why;
    return ok;
}

static void say_type(const struct plugin_type *p, char *buf, size_t n)
{
    static const char letters[] = { [PLUGIN_UNSIGNED] = 'b', [PLUGIN_SIGNED] = 's', [PLUGIN_FLOAT] = 'f' };
    if (p->kind == PLUGIN_VOID) snprintf(buf, n, "void");
    else if (p->kind == PLUGIN_STRUCT) snprintf(buf, n, "{%u bytes}", p->bytes);
    else snprintf(buf, n, "%c%u", letters[p->kind], 8 * p->bytes);
}

char *plugin_print(const struct plugin_type *types, unsigned n_params, char *buf, size_t n)
{
    char one[32];
    size_t at = 0;
    for (unsigned i = 0; i <= n_params && at < n; i++) {
        say_type(&types[i], one, sizeof one);
        at += (size_t)snprintf(buf + at, n - at, "%s%s%s", i > 1 ? ", " : "", one, i ? "" : " (");
    }
    if (at < n) snprintf(buf + at, n - at, ")");
    return buf;
}
