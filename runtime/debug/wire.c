#include "runtime/debug/wire.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- requests ---- */

static int hex_digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

/* A C string from behind its opening quote, unescaped in place. NULL: it does not end. */
static char *unquote(char *from, char **to)
{
    char *w = *to;
    for (char *r = from; *r; r++) {
        if (*r == '"') {
            *to = w;
            return r + 1;
        }
        if (*r != '\\') {
            *w++ = *r;
            continue;
        }
        r++;
        if (*r == 'n')
            *w++ = '\n';
        else if (*r == 't')
            *w++ = '\t';
        else if (*r == 'x' && hex_digit(r[1]) >= 0 && hex_digit(r[2]) >= 0) {
            *w++ = (char)(hex_digit(r[1]) << 4 | hex_digit(r[2]));
            r += 2;
        } else if (*r)
            *w++ = *r;
        else
            break;
    }
    return NULL;
}

/* The word at *at, which moves behind it. NULL: a quote is not closed. quoted: it begins with one. */
static char *next_word(char **at, bool *quoted)
{
    char *r = *at, *start = r, *w = r;
    *quoted = *r == '"';
    while (*r && *r != ' ') {
        if (*r == '"') {
            r = unquote(r + 1, &w);
            if (!r)
                return NULL;
        } else {
            *w++ = *r++;
        }
    }
    *at = *r ? r + 1 : r;
    *w = 0;
    return start;
}

static bool is_key(const char *s, size_t n)
{
    if (!n || !islower((unsigned char)*s))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!islower((unsigned char)s[i]) && s[i] != '_')
            return false;
    return true;
}

bool request_parse(struct request *q, char *line, const char **why)
{
    char *end;
    *q = (struct request){0};
    *why = "a request is:  NUMBER VERB [WORD | KEY=VALUE]...";
    errno = 0;
    if (!isdigit((unsigned char)*line))
        return false;
    q->number = strtoull(line, &end, 10);
    if (errno || *end != ' ')
        return false;
    for (char *at = end + 1; *at;) {
        bool quoted;
        if (*at == ' ') {
            at++;
            continue;
        }
        char *word = next_word(&at, &quoted), *equals;
        if (!word) {
            *why = "a quote that is not closed";
            return false;
        }
        if (!q->verb) {
            q->verb = word;
            continue;
        }
        if (q->n == WIRE_WORDS) {
            *why = "more words than a request may have";
            return false;
        }
        struct word *w = &q->words[q->n++];
        equals = quoted ? NULL : strchr(word, '=');
        *w = (struct word){NULL, word};
        if (equals && is_key(word, (size_t)(equals - word))) {
            *equals = 0;
            *w = (struct word){word, equals + 1};
        }
    }
    return q->verb != NULL;
}

const char *request_option(const struct request *q, const char *key)
{
    for (unsigned i = 0; i < q->n; i++)
        if (q->words[i].key && strcmp(q->words[i].key, key) == 0)
            return q->words[i].text;
    return NULL;
}

const char *request_word(const struct request *q, unsigned i)
{
    for (unsigned k = 0; k < q->n; k++)
        if (!q->words[k].key && i-- == 0)
            return q->words[k].text;
    return NULL;
}

bool request_number(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    if (!text || !isdigit((unsigned char)*text))
        return false;
    *out = strtoull(text, &end, 0);
    return !errno && !*end;
}

bool request_xyz(const char *text, uint32_t out[3])
{
    out[0] = out[1] = out[2] = 0;
    const char *at = text;
    while (*at == '(' || *at == ' ')
        at++;
    for (int i = 0; i < 3; i++) {
        char *end;
        errno = 0;
        if (!isdigit((unsigned char)*at))
            return false;
        unsigned long long v = strtoull(at, &end, 10);
        if (errno || v > UINT32_MAX)
            return false;
        out[i] = (uint32_t)v;
        at = end;
        while (*at == ' ' || *at == ')')
            at++;
        if (!*at)
            return true;
        if (*at++ != ',')
            return false;
        while (*at == ' ')
            at++;
    }
    return false;
}

/* ---- answers ---- */

void out_end(struct out *o)
{
    if (o->open)
        textbuf_add_bytes(&o->text, "\n", 1);
    o->open = false;
}

void out_line(struct out *o)
{
    out_end(o);
    textbuf_add(&o->text, "%s", o->tag);
    o->open = true;
}

void out_str(struct out *o, const char *key, const char *value)
{
    bool plain = *value != 0;
    for (const char *p = value; *p; p++)
        plain = plain && (unsigned char)*p > ' ' && *p != '"' && *p != '=' && *p != '\\' && *p != 127;
    textbuf_add(&o->text, " %s=", key);
    if (plain) {
        textbuf_add(&o->text, "%s", value);
        return;
    }
    textbuf_add(&o->text, "\"");
    for (const char *p = value; *p; p++) {
        if (*p == '"' || *p == '\\')
            textbuf_add(&o->text, "\\%c", *p);
        else if (*p == '\n')
            textbuf_add(&o->text, "\\n");
        else if (*p == '\t')
            textbuf_add(&o->text, "\\t");
        else if ((unsigned char)*p < ' ' || *p == 127)
            textbuf_add(&o->text, "\\x%02x", (unsigned)(unsigned char)*p);
        else
            textbuf_add_bytes(&o->text, p, 1);
    }
    textbuf_add(&o->text, "\"");
}

void out_fmt(struct out *o, const char *key, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    out_str(o, key, text);
}

void out_u64(struct out *o, const char *key, uint64_t value) { textbuf_add(&o->text, " %s=%llu", key, (unsigned long long)value); }
void out_hex(struct out *o, const char *key, uint64_t value) { textbuf_add(&o->text, " %s=0x%llx", key, (unsigned long long)value); }
void out_xyz(struct out *o, const char *key, const uint32_t v[3]) { textbuf_add(&o->text, " %s=%u,%u,%u", key, v[0], v[1], v[2]); }
