/* Names: what people type, and what the compiler made of it. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/symbol.h"
#include "runtime/debug/state.h"

/* ---- mangled names: as much of their grammar as the last component needs ---- */

static const char *component(const char *at, const char **name, size_t *n)
{
    size_t len = 0;
    while (isdigit((unsigned char)*at) && len < 4096)
        len = len * 10 + (size_t)(*at++ - '0');
    if (!len || strlen(at) < len)
        return NULL;
    *name = at;
    *n = len;
    return at + len;
}

/* From behind an I to behind its E; what it holds is not looked at. NULL: it does not end. */
static const char *skip_arguments(const char *at)
{
    int depth = 1;
    while (*at && depth) {
        const char *name;
        size_t n;
        if (isdigit((unsigned char)*at)) {
            const char *next = component(at, &name, &n);
            at = next ? next : at + 1;
            continue;
        }
        depth += *at == 'I' || *at == 'N' || *at == 'L' || *at == 'X' || *at == 'J';
        depth -= *at == 'E';
        at++;
    }
    return depth ? NULL : at;
}

const char *name_base(const char *symbol, size_t *n)
{
    const char *at = symbol, *last = symbol;
    *n = strlen(symbol);
    if (strncmp(symbol, "_Z", 2) != 0)
        return symbol;
    size_t last_n = *n;
    for (at += 2; *at;) {
        const char *name;
        size_t len;
        if (isdigit((unsigned char)*at)) {
            const char *next = component(at, &name, &len);
            if (!next)
                break;
            last = name;
            last_n = len;
            at = next;
            bool nested = symbol[2] == 'N' || symbol[2] == 'Z';
            if (!nested && *at != 'I')
                break;
        } else if (*at == 'I') {
            if (!(at = skip_arguments(at + 1)))
                break;
        } else if (*at == 'E') {               /* of a nested name: done; of a function, in whose scope the rest is: on */
            const char *local = at + 1;
            if (symbol[2] != 'Z' || !isdigit((unsigned char)*local))
                break;
            if (component(local, &name, &len)) {
                last = name;
                last_n = len;
            }
            break;
        } else if ((*at == 'S' || *at == 'T') && (at[1] == '_' || isdigit((unsigned char)at[1]) || isupper((unsigned char)at[1]))) {
            at += strcspn(at, "_");            /* S_, S0_, T_: something that stood before */
            at += *at == '_';
        } else {
            at++;                              /* N, K, L, and in the scope's function its parameters */
        }
    }
    *n = last_n;
    return last;
}

const char *name_readable(const char *symbol, char *buf, size_t n) { return symbol_demangle(symbol, buf, n); }

/* The readable name without its parameters and what stands before the name ("void " of templates). */
static void without_parameters(char *text)
{
    int angle = 0;
    char *start = text;
    for (char *p = text; *p; p++) {
        if (*p == '<')
            angle++;
        if (*p == '>')
            angle--;
        if (*p == ' ' && !angle)
            start = p + 1;
        if (*p == '(' && !angle && strncmp(p, "(anonymous", 10) != 0) {
            *p = 0;
            break;
        }
    }
    memmove(text, start, strlen(start) + 1);
}

bool name_matches(const char *symbol, const char *name)
{
    char readable[1024], bare[1024];
    size_t n;
    if (strcmp(symbol, name) == 0)
        return true;
    const char *base = name_base(symbol, &n);
    if (n == strlen(name) && memcmp(base, name, n) == 0)
        return true;
    if (strncmp(symbol, "_Z", 2) != 0)
        return false;
    name_readable(symbol, readable, sizeof readable);
    if (strcmp(readable, name) == 0)
        return true;
    snprintf(bare, sizeof bare, "%s", readable);
    without_parameters(bare);
    if (strcmp(bare, name) == 0)
        return true;
    char *angle = strchr(bare, '<');
    if (angle)
        *angle = 0;
    return strcmp(bare, name) == 0;
}

/* ---- parameters of a mangled name, for programs without a demangler: builtin types, pointers to them, names such as float4 ---- */

enum { TYPES = 16, TYPE_TEXT = 64 };
struct types { char text[TYPES][TYPE_TEXT]; unsigned n; };       /* what S_, S0_ .. stand for */

static bool remember_type(struct types *s, const char *text)
{
    if (s->n < TYPES)
        snprintf(s->text[s->n++], TYPE_TEXT, "%s", text);
    return true;
}

static bool one_type(const char **at, struct types *s, char *out, unsigned depth)
{
    static const char letters[] = "bcahstijlmxyfd";
    static const char *const words[] = {"bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int", "long", "unsigned long", "long long",
                                        "unsigned long long", "float", "double"};
    char inner[TYPE_TEXT];
    const char *name;
    size_t n;
    char c = **at;
    const char *letter = c ? strchr(letters, c) : NULL;
    if (letter) {
        ++*at;
        snprintf(out, TYPE_TEXT, "%s", words[letter - letters]);
        return true;
    }
    if (depth > 8 || !c)
        return false;
    if (c == 'P' || c == 'R' || c == 'K' || c == 'V') {
        ++*at;
        if (c == 'P' && **at == 'v') {
            ++*at;
            snprintf(inner, sizeof inner, "void");
        } else if (!one_type(at, s, inner, depth + 1)) {
            return false;
        }
        snprintf(out, TYPE_TEXT, c == 'P' || c == 'R' ? "%.50s*" : c == 'K' ? "%.50s const" : "%.50s volatile", inner);
        return remember_type(s, out);
    }
    if (isdigit((unsigned char)c) && (*at = component(*at, &name, &n))) {
        snprintf(out, TYPE_TEXT, "%.*s", (int)(n < TYPE_TEXT ? n : TYPE_TEXT - 1), name);
        return remember_type(s, out);
    }
    if (c != 'S')
        return false;
    unsigned i = 0;
    ++*at;
    if (isdigit((unsigned char)**at))
        i = (unsigned)(*(*at)++ - '0') + 1;
    if (*(*at)++ != '_' || i >= s->n)
        return false;
    snprintf(out, TYPE_TEXT, "%s", s->text[i]);
    return true;
}

static void mangled_parameter(const char *symbol, uint32_t i, char *buf, size_t n)
{
    struct types s = {0};
    char text[TYPE_TEXT];
    size_t len;
    const char *base = name_base(symbol, &len), *at = base + len;
    bool plain = isdigit((unsigned char)symbol[2]) || (symbol[2] == 'L' && isdigit((unsigned char)symbol[3]));
    for (uint32_t k = 0; plain && one_type(&at, &s, text, 0); k++)
        if (k == i) {
            snprintf(buf, n, "%s", text);
            return;
        }
}

void name_parameter(const char *symbol, uint32_t i, char *buf, size_t n)
{
    char readable[2048];
    int depth = 0;
    name_readable(symbol, readable, sizeof readable);
    snprintf(buf, n, "%s", "");
    if (strncmp(symbol, "_Z", 2) != 0)
        return;
    if (strcmp(readable, symbol) == 0) {
        mangled_parameter(symbol, i, buf, n);
        return;
    }
    char *open = NULL;                         /* the last parenthesis at the outer level */
    for (char *p = readable; *p; p++) {
        if (*p == '(' && depth == 0 && strncmp(p, "(anonymous", 10) != 0)
            open = p;
        depth += *p == '(' || *p == '<';
        depth -= *p == ')' || *p == '>';
    }
    if (!open)
        return;
    depth = 0;
    const char *start = open + 1;
    for (const char *p = start;; p++) {
        bool end = !*p || (depth == 0 && (*p == ',' || *p == ')'));
        if (end && i-- == 0) {
            while (*start == ' ')
                start++;
            snprintf(buf, n, "%.*s", (int)(p - start), start);
            return;
        }
        if (!*p || (end && *p == ')'))
            return;
        if (end)
            start = p + 1;
        depth += *p == '(' || *p == '<';
        depth -= *p == ')' || *p == '>';
    }
}

/* ---- files ---- */

const char *file_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool path_ends(const char *path, const char *tail)
{
    size_t n = strlen(path), k = strlen(tail);
    return n >= k && strcmp(path + n - k, tail) == 0 && (n == k || path[n - k - 1] == '/');
}

static const char *without_dots(const char *path)
{
    for (size_t n; (n = strspn(path, ".")) > 0 && n < 3 && path[n] == '/';)
        path += n + 1;
    return path;
}

/* Users name the end of a path; editors the whole of one of which the compiler may have seen the end. */
bool file_matches(const char *path, const char *wanted)
{
    path = without_dots(path);
    wanted = without_dots(wanted);
    return path_ends(path, wanted) || (*path != '/' && path_ends(wanted, path));
}
