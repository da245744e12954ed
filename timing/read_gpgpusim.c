/* The language of gpgpusim.config and trace.config.
 *
 * All lines are one stream of words between blanks; # starts a comment anywhere. A word that begins with a quote goes on to the
 * word that ends with one; its pieces are joined with one blank. A word `-option` is followed by its value, except that a flag
 * may stand alone. The last value wins. `-config FILE` reads that file at this point. */
#include "timing/config_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader { struct timing_settings *s; const struct source *in; size_t at; };

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

/* Bytes of the piece at `at`, which ends at a blank or a comment. */
static size_t piece_bytes(const struct source *in, size_t at)
{
    size_t n = 0;
    while (at + n < in->bytes && in->text[at + n] && !blank(in->text[at + n]) && in->text[at + n] != '#')
        n++;
    return n;
}

static size_t skip_blanks(const struct source *in, size_t at)
{
    while (at < in->bytes) {
        if (in->text[at] == '#')
            while (at < in->bytes && in->text[at] != '\n')
                at++;
        else if (blank(in->text[at]) || !in->text[at])
            at++;
        else
            break;
    }
    return at;
}

/* Where a quoted word ends: behind the piece that ends with a quote; 0: nowhere. */
static size_t quoted_end(const struct source *in, size_t at)
{
    size_t first = at;
    for (; at < in->bytes; at = skip_blanks(in, at)) {
        size_t n = piece_bytes(in, at);
        at += n;
        if (n && in->text[at - 1] == '"' && at - 1 > first)
            return at;
    }
    return 0;
}

/* Copies [from, end) without comments, runs of blanks becoming one. */
static bool word_copy(struct reader *r, size_t from, size_t end, struct value *v)
{
    size_t room = end - from + 1;
    char *text = arena_alloc(&r->s->arena, room);
    uint32_t *at = arena_alloc(&r->s->arena, room * sizeof *at);
    if (!text || !at) {
        r->s->no_memory = true;
        return false;
    }
    uint32_t n = 0;
    for (size_t i = from; i < end;) {
        size_t k = piece_bytes(r->in, i);
        for (size_t j = i; j < i + k && j < end; j++) {
            text[n] = r->in->text[j];
            at[n++] = (uint32_t)j;
        }
        i = skip_blanks(r->in, i + k);
        if (i < end) {
            text[n] = ' ';
            at[n++] = (uint32_t)(i - 1);
        }
    }
    text[n] = 0;
    at[n] = (uint32_t)end;
    *v = (struct value){text, n, at, r->in, text};
    return true;
}

/* Takes the next word; false at the end. quoted: it stood in quotes. */
static bool next_word(struct reader *r, struct value *v, bool *quoted)
{
    size_t from = skip_blanks(r->in, r->at);
    *quoted = false;
    if (from >= r->in->bytes) {
        r->at = from;
        return false;
    }
    size_t n = piece_bytes(r->in, from), end = from + n;
    if (r->in->text[from] == '"') {
        end = quoted_end(r->in, from);
        if (!end) {
            note_place(r->s, true, (struct place){r->in, (uint32_t)from}, NULL, "this quote is never closed");
            end = from + n;
        } else
            *quoted = true;
    }
    r->at = end;
    return *quoted ? word_copy(r, from + 1, end - 1, v) : word_copy(r, from, end, v);
}

/* -1 is a value, -x and -1x are options. */
static bool is_option(const struct value *v, bool quoted)
{
    return !quoted && v->text[0] == '-' && (isalpha((unsigned char)v->text[1]) || v->text[1] == '_');
}

static bool is_whole_number(const char *text)
{
    char *end;
    (void)strtoll(text, &end, 0);
    return end != text && *end == 0;
}

static void unknown_option(struct reader *r, const struct value *option)
{
    const char *near = meaning_nearest(option->text, false);
    char hint[160];
    snprintf(hint, sizeof hint, near ? "did you mean '%s'?" : "timing/KNOBS.md lists all options", near);
    note_value(r->s, false, option, 0, hint, "unknown option '%.80s', ignored", option->text);
    for (size_t back = r->at;; back = r->at) {                 /* its values, whatever they are */
        struct value v;
        bool quoted;
        if (!next_word(r, &v, &quoted))
            return;
        if (is_option(&v, quoted)) {
            r->at = back;
            return;
        }
    }
}

static void read_option(struct reader *r, const struct value *option)
{
    bool include = strcmp(option->text, "-config") == 0, quoted = false;
    struct meaning t = meaning_find(option->text);
    if (t.kind == MEANS_NONE && !include) {
        unknown_option(r, option);
        return;
    }
    size_t back = r->at;
    struct value v;
    bool any = next_word(r, &v, &quoted);
    if (meaning_is_flag(t) && (!any || quoted || !is_whole_number(v.text))) {
        r->at = back;
        v = (struct value){"1", 1, option->at, r->in, option->text};
    } else if (!any || is_option(&v, quoted)) {
        if (any)
            r->at = back;
        note_value(r->s, true, option, 0, NULL, "%.80s needs a value", option->text);
        return;
    }
    v.name = option->text;
    if (include)
        read_named(r->s, &v, read_gpgpusim);
    else
        meaning_set(r->s, t, &v);
}

/* Does it describe a whole GPU, which then is all that counts? */
static bool has_option(const struct source *in, const char *name)
{
    size_t n = strlen(name);
    for (size_t at = skip_blanks(in, 0); at < in->bytes; at = skip_blanks(in, at)) {
        size_t k = piece_bytes(in, at);
        if (k == n && memcmp(in->text + at, name, n) == 0)
            return true;
        at += k;
    }
    return false;
}

/* The interconnect's own file, when this one chose it. */
static void read_network(struct timing_settings *s, const struct source *in)
{
    struct place p = s->places[TIMING_KNOB_noc_file];
    const char *file = s->values.noc.file;
    uint32_t at[TIMING_TEXT_BYTES];
    if (p.in != in || s->values.noc.kind != TIMING_NOC_BOOKSIM || !*file)
        return;
    for (uint32_t i = 0; i < TIMING_TEXT_BYTES; i++)
        at[i] = p.at;
    struct value v = {file, (uint32_t)strlen(file), at, in, "-inter_config_file"};
    read_named(s, &v, read_icnt);
}

bool read_gpgpusim(struct timing_settings *s, const struct source *in)
{
    struct reader r = {s, in, 0};
    struct value v;
    bool quoted;
    if (s->depth == 1 && !s->files && has_option(in, "-gpgpu_n_clusters")) {
        settings_reset(s);
        snprintf(s->values.gpu.name, sizeof s->values.gpu.name, "%.120s", in->name);
    }
    s->files = true;
    while (next_word(&r, &v, &quoted)) {
        if (is_option(&v, quoted))
            read_option(&r, &v);
        else
            note_value(s, true, &v, 0, "a value with blanks stands in quotes", "'%.60s' is no option", v.text);
    }
    read_network(s, in);
    return true;
}
