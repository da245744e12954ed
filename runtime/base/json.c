#include "runtime/base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct json json_to(struct textbuf *out) { return (struct json){.out = out}; }

/* Bytes of a UTF-8 sequence at p; 0: it is none. */
static unsigned utf8_bytes(const unsigned char *p)
{
    unsigned n = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;
    for (unsigned i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xf0 && p[1] < 0x90);
    bool outside = (*p == 0xed && p[1] >= 0xa0) || (*p == 0xf4 && p[1] >= 0x90);
    return n > 2 && (overlong || outside) ? 0 : n;
}

static void quoted(struct textbuf *out, const char *s)
{
    textbuf_add_bytes(out, "\"", 1);
    for (const unsigned char *p = (const unsigned char *)s; *p;) {
        unsigned n = utf8_bytes(p);
        if (*p == '"' || *p == '\\')
            textbuf_add(out, "\\%c", *p);
        else if (*p < 0x20)
            textbuf_add(out, "\\u%04x", *p);
        else if (n)
            textbuf_add_bytes(out, (const char *)p, n);
        else
            textbuf_add(out, "\\ufffd");
        p += n ? n : 1;
    }
    textbuf_add_bytes(out, "\"", 1);
}

/* What stands in front of a value: comma, line, name. */
static void member(struct json *j, const char *name)
{
    unsigned level = j->depth < JSON_DEPTH ? j->depth : JSON_DEPTH - 1;
    if (j->depth) {
        textbuf_add(j->out, "%s\n%*s", j->any[level] ? "," : "", (int)(2 * j->depth), "");
        j->any[level] = true;
    }
    if (name && !j->array[level]) {
        quoted(j->out, name);
        textbuf_add_bytes(j->out, ": ", 2);
    }
}

static void open(struct json *j, const char *name, bool array)
{
    member(j, name);
    textbuf_add_bytes(j->out, array ? "[" : "{", 1);
    if (++j->depth < JSON_DEPTH) {
        j->array[j->depth] = array;
        j->any[j->depth] = false;
    }
}

void json_object(struct json *j, const char *name) { open(j, name, false); }
void json_array(struct json *j, const char *name) { open(j, name, true); }

void json_end(struct json *j)
{
    if (!j->depth)
        return;
    unsigned level = j->depth < JSON_DEPTH ? j->depth : JSON_DEPTH - 1;
    j->depth--;
    if (j->any[level])
        textbuf_add(j->out, "\n%*s", (int)(2 * j->depth), "");
    textbuf_add_bytes(j->out, j->array[level] ? "]" : "}", 1);
    if (!j->depth)
        textbuf_add_bytes(j->out, "\n", 1);
}

void json_text(struct json *j, const char *name, const char *value)
{
    member(j, name);
    if (value)
        quoted(j->out, value);
    else
        textbuf_add_bytes(j->out, "null", 4);
}

void json_u64(struct json *j, const char *name, uint64_t value)
{
    member(j, name);
    textbuf_add(j->out, "%" PRIu64, value);
}

void json_real(struct json *j, const char *name, double value)
{
    member(j, name);
    if (!isfinite(value))
        textbuf_add_bytes(j->out, "null", 4);
    else
        textbuf_add(j->out, "%.12g", value);
}

void json_bool(struct json *j, const char *name, bool value)
{
    member(j, name);
    textbuf_add(j->out, "%s", value ? "true" : "false");
}
