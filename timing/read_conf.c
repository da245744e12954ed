/* Our own language: lines `name = value unit`, `inherit = part`; # starts a comment; a value may stand in quotes. */
#include "timing/config_internal.h"

#include <stdio.h>
#include <string.h>

struct line { size_t from, end; };         /* in the source, without blanks at either side */

static struct line trim(const struct source *in, size_t from, size_t end)
{
    while (from < end && (in->text[from] == ' ' || in->text[from] == '\t'))
        from++;
    while (end > from && strchr(" \t\r", in->text[end - 1]))
        end--;
    return (struct line){from, end};
}

/* Where a comment outside quotes begins, else end. */
static size_t comment(const struct source *in, size_t from, size_t end)
{
    bool quoted = false;
    for (; from < end; from++) {
        quoted ^= in->text[from] == '"';
        if (in->text[from] == '#' && !quoted)
            break;
    }
    return from;
}

static bool make_value(struct timing_settings *s, const struct source *in, struct line l, const char *name, struct value *v)
{
    if (l.end - l.from >= 2 && in->text[l.from] == '"' && in->text[l.end - 1] == '"') {
        l.from++;
        l.end--;
    }
    size_t n = l.end - l.from;
    char *text = arena_strndup(&s->arena, in->text + l.from, n);
    uint32_t *at = arena_alloc(&s->arena, (n + 1) * sizeof *at);
    if (!text || !at) {
        s->no_memory = true;
        return false;
    }
    for (size_t i = 0; i <= n; i++)
        at[i] = (uint32_t)(l.from + i);
    *v = (struct value){text, (uint32_t)strlen(text), at, in, name};
    return true;
}

/* A built-in part, or a file beside this one. */
static void inherit(struct timing_settings *s, const struct value *v)
{
    char name[64];
    size_t bytes;
    const char *text = timing_part_text(v->text, &bytes);
    const struct source *in;
    if (!text) {
        read_named(s, v, read_own);
        return;
    }
    snprintf(name, sizeof name, "%.50s.conf", v->text);
    if (s->depth < 8 && (in = source_new(s, name, text, bytes, true, true))) {
        s->depth++;
        read_own(s, in);
        s->depth--;
    }
}

static void set_line(struct timing_settings *s, const struct source *in, struct line l, bool first)
{
    const char *eq = memchr(in->text + l.from, '=', l.end - l.from);
    if (!eq) {
        note_place(s, true, (struct place){in, (uint32_t)l.from}, "write  name = value unit", "this is no setting");
        return;
    }
    size_t at = (size_t)(eq - in->text);
    struct line left = trim(in, l.from, at);
    struct value name, v;
    if (!make_value(s, in, left, "", &name) || !make_value(s, in, trim(in, at + 1, l.end), name.text, &v))
        return;
    if (strcmp(name.text, "inherit") == 0) {
        if (!first)
            note_value(s, true, &name, 0, NULL, "inherit comes before all other settings, which it would undo");
        else
            inherit(s, &v);
        return;
    }
    struct meaning t = meaning_find(name.text);
    if (t.kind == MEANS_NONE) {
        const char *near = meaning_nearest(name.text, true);
        char hint[160];
        snprintf(hint, sizeof hint, near ? "did you mean '%s'?" : "timing/KNOBS.md lists all settings", near);
        note_value(s, true, &name, 0, hint, "unknown setting '%.80s'", name.text);
    } else
        meaning_set(s, t, &v);
}

bool read_own(struct timing_settings *s, const struct source *in)
{
    bool first = true;
    for (size_t at = 0; at < in->bytes;) {
        const char *nl = memchr(in->text + at, '\n', in->bytes - at);
        size_t end = nl ? (size_t)(nl - in->text) : in->bytes;
        struct line l = trim(in, at, comment(in, at, end));
        if (l.from < l.end) {
            set_line(s, in, l, first);
            first = false;
        }
        at = end + 1;
    }
    return true;
}
