/* Types of expressions, and values as text. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "emu/half.h"
#include "runtime/debug/dwarf.h"

static struct type scalar(enum type_kind kind, uint8_t bytes, bool sign) { return (struct type){.kind = (uint8_t)kind, .bytes = bytes, .sign = sign, .lanes = 1}; }

uint64_t type_bytes(const struct type *t)
{
    uint64_t one = t->pointers ? 8 : t->kind == TYPE_RECORD ? t->record->bytes : (uint64_t)t->bytes * t->lanes;
    return t->count ? one * t->count : one;
}

bool type_is_record(const struct type *t) { return t->kind == TYPE_RECORD && !t->pointers && !t->count; }

struct type type_element(const struct type *t)
{
    struct type e = *t;
    if (e.count)
        e.count = 0;
    else if (e.pointers)
        e.pointers--;
    else
        e.lanes = 1;
    return e;
}

static const struct { const char *name; uint8_t kind, bytes; bool sign; } names[] = {
    {"void", TYPE_VOID, 1, false},     {"char", TYPE_INT, 1, true},       {"short", TYPE_INT, 2, true},      {"int", TYPE_INT, 4, true},
    {"long", TYPE_INT, 8, true},       {"float", TYPE_FLOAT, 4, true},    {"double", TYPE_FLOAT, 8, true},   {"half", TYPE_FLOAT, 2, true},
    {"bool", TYPE_INT, 1, false},      {"uchar", TYPE_INT, 1, false},     {"ushort", TYPE_INT, 2, false},    {"uint", TYPE_INT, 4, false},
    {"ulong", TYPE_INT, 8, false},     {"longlong", TYPE_INT, 8, true},   {"ulonglong", TYPE_INT, 8, false}, {"size_t", TYPE_INT, 8, false},
    {"int8_t", TYPE_INT, 1, true},     {"int16_t", TYPE_INT, 2, true},    {"int32_t", TYPE_INT, 4, true},    {"int64_t", TYPE_INT, 8, true},
    {"uint8_t", TYPE_INT, 1, false},   {"uint16_t", TYPE_INT, 2, false},  {"uint32_t", TYPE_INT, 4, false},  {"uint64_t", TYPE_INT, 8, false},
    {"u8", TYPE_INT, 1, false},        {"u16", TYPE_INT, 2, false},       {"u32", TYPE_INT, 4, false},       {"u64", TYPE_INT, 8, false},
    {"s8", TYPE_INT, 1, true},         {"s16", TYPE_INT, 2, true},        {"s32", TYPE_INT, 4, true},        {"s64", TYPE_INT, 8, true},
    {"b8", TYPE_INT, 1, false},        {"b16", TYPE_INT, 2, false},       {"b32", TYPE_INT, 4, false},       {"b64", TYPE_INT, 8, false},
    {"f16", TYPE_FLOAT, 2, true},      {"f32", TYPE_FLOAT, 4, true},      {"f64", TYPE_FLOAT, 8, true},      {"bf16", TYPE_BFLOAT, 2, true},
    {"__half", TYPE_FLOAT, 2, true},   {"__nv_bfloat16", TYPE_BFLOAT, 2, true}, {"b128", TYPE_BYTES, 16, false}, {"pred", TYPE_INT, 1, false},
};

static bool named(const char *word, size_t n, struct type *out)
{
    uint8_t lanes = 1;
    if (n > 1 && word[n - 1] >= '1' && word[n - 1] <= '4' && isalpha((unsigned char)word[n - 2]) && n != 2 && word[0] != '_')
        lanes = (uint8_t)(word[n - 1] - '0');  /* float4, but not u8 or s32 */
    for (int vector = 0; vector < 2; vector++) {
        size_t k = vector ? n - 1 : n;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strlen(names[i].name) == k && memcmp(names[i].name, word, k) == 0) {
                *out = scalar((enum type_kind)names[i].kind, names[i].bytes, names[i].sign);
                out->lanes = vector ? lanes : 1;
                out->character = k == 4 && memcmp(word, "char", 4) == 0 && !vector;
                return !vector || lanes > 1 || word[n - 1] == '1';
            }
        if (lanes == 1 && word[n - 1] != '1')
            return false;
    }
    return false;
}

bool type_parse(const char *text, struct type *out)
{
    bool is_unsigned = false, is_signed = false, any = false;
    *out = scalar(TYPE_INT, 4, true);
    for (const char *p = text; *p;) {
        size_t n = 0;
        if (*p == ' ' || *p == '.') {
            p++;
            continue;
        }
        if (*p == '*' || *p == '&') {
            if (!any && !is_unsigned && !is_signed)
                return false;
            if (++out->pointers > 4)
                return false;
            p++;
            continue;
        }
        while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == ':')
            n++;
        if (!n)
            return false;
        uint8_t pointers = out->pointers;
        if ((n == 5 && memcmp(p, "const", 5) == 0) || (n == 8 && memcmp(p, "volatile", 8) == 0) || (n == 12 && memcmp(p, "__restrict__", 12) == 0)) {
        } else if (n == 8 && memcmp(p, "unsigned", 8) == 0) {
            is_unsigned = true;
        } else if (n == 6 && memcmp(p, "signed", 6) == 0) {
            is_signed = true;
        } else if (any && out->bytes == 8 && out->kind == TYPE_INT && ((n == 4 && memcmp(p, "long", 4) == 0) || (n == 3 && memcmp(p, "int", 3) == 0))) {
        } else if (any && out->bytes == 2 && out->kind == TYPE_INT && n == 3 && memcmp(p, "int", 3) == 0) {
        } else if (pointers || any || !named(p, n, out)) {
            return false;
        } else {
            any = true;
        }
        out->pointers = pointers;
        p += n;
    }
    if (is_unsigned)
        out->sign = false;
    if (out->character && (is_unsigned || is_signed))
        out->character = out->sign;
    return any || is_unsigned || is_signed;
}

struct type type_of_ptx(enum ptx_type t)
{
    unsigned bytes = ptx_type_bytes(t);
    switch (ptx_type_kind(t)) {
    case PTX_KIND_FLOAT:
        if (t == PTX_BF16)
            return scalar(TYPE_BFLOAT, 2, true);
        if (bytes == 2 || bytes == 8 || t == PTX_F32)
            return scalar(TYPE_FLOAT, (uint8_t)bytes, true);
        return scalar(TYPE_INT, (uint8_t)bytes, false);
    case PTX_KIND_SIGNED:
        return scalar(TYPE_INT, (uint8_t)bytes, true);
    case PTX_KIND_PRED:
        return scalar(TYPE_INT, 1, false);
    default:
        return bytes > 8 ? scalar(TYPE_BYTES, 16, false) : scalar(TYPE_INT, (uint8_t)bytes, false);
    }
}

void type_text(const struct type *t, char *buf, size_t n)
{
    static const char *const ints[2][4] = {{"unsigned char", "unsigned short", "unsigned int", "unsigned long"}, {"signed char", "short", "int", "long"}};
    static const char *const vectors[2][4] = {{"uchar", "ushort", "uint", "ulong"}, {"char", "short", "int", "long"}};
    int log = t->bytes == 1 ? 0 : t->bytes == 2 ? 1 : t->bytes == 4 ? 2 : 3;
    const char *base = "void";
    if (t->kind == TYPE_FLOAT)
        base = t->bytes == 2 ? "half" : t->bytes == 4 ? "float" : "double";
    if (t->kind == TYPE_BFLOAT)
        base = "bf16";
    if (t->kind == TYPE_BYTES)
        base = "b128";
    if (t->kind == TYPE_RECORD)
        base = t->record->name ? t->record->name : "struct";
    if (t->kind == TYPE_INT)
        base = t->character ? "char" : t->lanes > 1 ? vectors[t->sign][log] : ints[t->sign][log];
    char lanes[4] = "", stars[8] = "", array[16] = "";
    if (t->lanes > 1)
        snprintf(lanes, sizeof lanes, "%u", t->lanes);
    for (unsigned i = 0; i < t->pointers && i < 5; i++)
        strcat(stars, i ? "*" : " *");
    if (t->count)
        snprintf(array, sizeof array, " [%u]", t->count);
    snprintf(buf, n, "%s%s%s%s", base, lanes, stars, array);
}

/* ---- values as text ---- */

static void print_float(struct textbuf *out, const struct type *t, const void *bytes)
{
    double d = 0;
    float f = 0;
    uint16_t h = 0;
    if (t->bytes == 8)
        memcpy(&d, bytes, 8);
    else if (t->bytes == 4)
        memcpy(&f, bytes, 4), d = (double)f;
    else
        memcpy(&h, bytes, 2), d = t->kind == TYPE_BFLOAT ? (double)half_float_of((uint32_t)h << 16) : (double)half_value(h);
    textbuf_add(out, "%.*g", t->bytes == 8 ? 17 : t->bytes == 4 ? 9 : 5, d);
}

static void print_char(struct textbuf *out, uint64_t v)
{
    unsigned c = (unsigned)(v & 0xff);
    textbuf_add(out, "%d ", (int)(int8_t)c);
    if (c == '\'' || c == '\\')
        textbuf_add(out, "'\\%c'", (int)c);
    else if (c >= ' ' && c < 127)
        textbuf_add(out, "'%c'", (int)c);
    else
        textbuf_add(out, "'\\%03o'", c);
}

static void print_binary(struct textbuf *out, uint64_t v)
{
    char text[65];
    int n = 64;
    text[64] = 0;
    do {
        text[--n] = (char)('0' + (v & 1));
        v >>= 1;
    } while (v);
    textbuf_add(out, "%s", text + n);
}

void scalar_print(struct textbuf *out, const struct type *t, const void *bytes, char format)
{
    uint64_t v[2] = {0, 0};
    bool pointer = t->pointers != 0;
    unsigned n = pointer ? 8 : t->bytes;
    memcpy(v, bytes, n > 16 ? 16 : n);
    int64_t s = n < 8 ? (int64_t)(v[0] << (64 - 8 * n)) >> (64 - 8 * n) : (int64_t)v[0];
    struct type as = *t;
    if (format == 'f' && (n == 4 || n == 8 || n == 2)) {
        as.kind = t->kind == TYPE_BFLOAT ? TYPE_BFLOAT : TYPE_FLOAT;
        print_float(out, &as, bytes);
    } else if (n > 8) {
        textbuf_add(out, "0x%016" PRIx64 "%016" PRIx64, v[1], v[0]);
    } else if (format == 'x') {
        textbuf_add(out, "0x%" PRIx64, v[0]);
    } else if (format == 'a') {
        textbuf_add(out, "0x%" PRIx64, v[0]);
    } else if (format == 'z') {
        textbuf_add(out, "0x%0*" PRIx64, (int)(2 * n), v[0]);
    } else if (format == 'o') {
        textbuf_add(out, v[0] ? "0%" PRIo64 : "%" PRIo64, v[0]);
    } else if (format == 't') {
        print_binary(out, v[0]);
    } else if (format == 'd') {
        textbuf_add(out, "%" PRId64, s);
    } else if (format == 'u') {
        textbuf_add(out, "%" PRIu64, v[0]);
    } else if (format == 'c') {
        print_char(out, v[0]);
    } else if (pointer) {
        textbuf_add(out, "0x%" PRIx64, v[0]);
    } else if (t->kind == TYPE_FLOAT || t->kind == TYPE_BFLOAT) {
        print_float(out, t, bytes);
    } else if (t->character) {
        print_char(out, v[0]);
    } else if (t->sign) {
        textbuf_add(out, "%" PRId64, s);
    } else {
        textbuf_add(out, "%" PRIu64, v[0]);
    }
}

static void print_lanes(struct textbuf *out, const struct type *t, const char *bytes, char format)
{
    static const char *const names_of[] = {"x", "y", "z", "w"};
    struct type one = *t;
    one.lanes = 1;
    if (t->pointers || t->lanes == 1) {
        scalar_print(out, t, bytes, format);
        return;
    }
    textbuf_add(out, "{");
    for (unsigned i = 0; i < t->lanes; i++) {
        textbuf_add(out, "%s%s = ", i ? ", " : "", names_of[i & 3]);
        scalar_print(out, &one, bytes + (size_t)i * t->bytes, format);
    }
    textbuf_add(out, "}");
}

static void print_string(struct textbuf *out, const char *p, uint64_t n)
{
    textbuf_add(out, "\"");
    for (uint64_t i = 0; i < n && p[i]; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c == '"' || c == '\\')
            textbuf_add(out, "\\%c", c);
        else if (c >= ' ' && c < 127)
            textbuf_add(out, "%c", c);
        else
            textbuf_add(out, c == '\n' ? "\\n" : "\\%03o", c);
    }
    textbuf_add(out, "\"");
}

enum { MOST_ELEMENTS = 200 };

static void print_record(struct textbuf *out, const struct value *v, char format, const struct focus *f, unsigned depth);

static void print_array(struct textbuf *out, const struct value *v, char format, const struct focus *f)
{
    struct type e = type_element(&v->type);
    struct error err = {0};
    uint64_t bytes = type_bytes(&v->type), one = type_bytes(&e);
    uint32_t n = v->type.count < MOST_ELEMENTS ? v->type.count : MOST_ELEMENTS;
    struct value first = {.type = e, .home = v->home, .at = v->at};
    if (v->home == HOME_MEMORY) {
        const char *p = memory_at(f, v->at, bytes, false, &err);
        if (p && (format == 's' || (e.character && !format))) {
            print_string(out, p, v->type.count);
            return;
        }
        if (!p) {
            textbuf_add(out, "<%s>", err.text);
            return;
        }
    }
    textbuf_add(out, "{");
    for (uint32_t i = 0; i < n; i++) {
        first.at = v->at + i * one;
        textbuf_add(out, "%s", i ? ", " : "");
        if (type_is_record(&e))
            print_record(out, &first, format, f, 0);
        else if (value_load(&first, f, &err) == ST_OK)
            print_lanes(out, &e, (const char *)first.bits, format);
        else
            textbuf_add(out, "?");
    }
    textbuf_add(out, "%s}", n < v->type.count ? ", .." : "");
}

static void print_record(struct textbuf *out, const struct value *v, char format, const struct focus *f, unsigned depth)
{
    enum { DEEPEST = 8 };
    const char *name;
    struct value member = {.home = v->home};
    struct error err;
    uint32_t offset;
    textbuf_add(out, "{");
    for (unsigned i = 0; depth < DEEPEST && record_member(v->type.record, i, &name, &offset, &member.type); i++) {
        member.at = v->at + offset;
        textbuf_add(out, *name ? "%s%s = " : "%s", i ? ", " : "", name);
        if (type_is_record(&member.type))
            print_record(out, &member, format, f, depth + 1);
        else if (value_load(&member, f, &err) == ST_OK)
            value_print(out, &member, format, f);
        else
            textbuf_add(out, "?");
    }
    textbuf_add(out, "}");
}

void value_print(struct textbuf *out, const struct value *v, char format, const struct focus *f)
{
    struct error err;
    if (v->type.count) {
        print_array(out, v, format, f);
        return;
    }
    if (type_is_record(&v->type)) {
        print_record(out, v, format, f, 0);
        return;
    }
    if (v->type.kind == TYPE_VOID && !v->type.pointers) {
        textbuf_add(out, "void");
        return;
    }
    if (format == 's' && v->type.pointers == 1) {
        const char *p = memory_at(f, v->bits[0], 1, false, &err);
        uint64_t n = 0;
        while (p && n < MOST_ELEMENTS && memory_at(f, v->bits[0], n + 1, false, &err) && p[n])
            n++;
        if (p) {
            print_string(out, p, n);
            return;
        }
    }
    print_lanes(out, &v->type, (const char *)v->bits, format == 's' ? 0 : format);
}
