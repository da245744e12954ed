/* What is wrong, and where: lines with a caret. */
#include "timing/config_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct source *source_new(struct timing_settings *s, const char *name, const char *text, size_t bytes, bool lines, bool own)
{
    struct source *in = arena_alloc(&s->arena, sizeof *in);
    if (in)
        *in = (struct source){arena_strndup(&s->arena, name, strlen(name)), arena_strndup(&s->arena, text, bytes), bytes, lines, own};
    if (!in || !in->name || !in->text) {
        s->no_memory = true;
        return NULL;
    }
    return in;
}

/* Line and column of a place, from 1, and the line's bounds. */
struct where { unsigned line, column; const char *text; size_t bytes; };

static struct where place_where(struct place p)
{
    struct where w = {1, 1, p.in->text, 0};
    size_t at = p.at < p.in->bytes ? p.at : p.in->bytes;
    for (size_t i = 0; i < at; i++)
        if (p.in->text[i] == '\n') {
            w.line++;
            w.text = p.in->text + i + 1;
        }
    w.column = (unsigned)(p.in->text + at - w.text) + 1;
    const char *end = memchr(w.text, '\n', p.in->bytes - (size_t)(w.text - p.in->text));
    w.bytes = (size_t)((end ? end : p.in->text + p.in->bytes) - w.text);
    return w;
}

/* The line and a caret under the column; of a long line the part around it. */
static size_t print_caret(char *buf, size_t n, struct where w)
{
    enum { WIDTH = 140 };
    size_t skip = w.column > WIDTH - 40 ? w.column - (WIDTH - 40) : 0, k = 0;
    size_t bytes = w.bytes > skip ? w.bytes - skip : 0;
    if (bytes > WIDTH)
        bytes = WIDTH;
    if (n < bytes + WIDTH + 24)
        return 0;
    k += (size_t)sprintf(buf, "\n    %s", skip ? ".." : "");
    for (size_t i = 0; i < bytes; i++) {
        char c = w.text[skip + i];
        buf[k++] = c >= ' ' && c != 127 ? c : ' ';
    }
    k += (size_t)sprintf(buf + k, "\n    %s%*s^", skip ? "  " : "", (int)(w.column - 1 - skip), "");
    return k;
}

static void note_add(struct timing_settings *s, bool is_error, struct place p, const char *hint, const char *fmt, va_list ap)
{
    char buf[1200];
    size_t n = 0;
    if (is_error)
        s->errors++;
    if (s->notes.n >= NOTES_MAX)
        return;
    struct where w = {0};
    if (p.in) {
        w = place_where(p);
        n = (size_t)snprintf(buf, sizeof buf, "%.200s:", p.in->name);
        n += (size_t)(p.in->lines ? snprintf(buf + n, sizeof buf - n, "%u:%u: ", w.line, w.column) : snprintf(buf + n, sizeof buf - n, " "));
    }
    n += (size_t)vsnprintf(buf + n, 600, fmt, ap);
    n = strlen(buf);
    if (p.in)
        n += print_caret(buf + n, sizeof buf - n, w);
    if (hint && n < sizeof buf)
        snprintf(buf + n, sizeof buf - n, "\nhint: %s", hint);
    const char *text = arena_strndup(&s->arena, buf, strlen(buf));
    if (!text || !vec_push(&s->notes, ((struct note){text, is_error})))
        s->no_memory = true;
}

void note_place(struct timing_settings *s, bool is_error, struct place p, const char *hint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    note_add(s, is_error, p, hint, fmt, ap);
    va_end(ap);
}

void note_value(struct timing_settings *s, bool is_error, const struct value *v, uint32_t at, const char *hint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    note_add(s, is_error, (struct place){v->in, v->at[at < v->n ? at : v->n]}, hint, fmt, ap);
    va_end(ap);
}

size_t timing_settings_notes(const struct timing_settings *s) { return s->notes.n; }

const char *timing_settings_note(const struct timing_settings *s, size_t i, bool *is_error)
{
    if (is_error)
        *is_error = s->notes.at[i].is_error;
    return s->notes.at[i].text;
}

char *timing_knob_origin(const struct timing_settings *s, size_t i, char *buf, size_t n)
{
    struct place p = s->places[i];
    if (!p.in)
        snprintf(buf, n, "default");
    else if (p.in->lines)
        snprintf(buf, n, "%s:%u", p.in->name, place_where(p).line);
    else
        snprintf(buf, n, "%s", p.in->name);
    return buf;
}
