/* Names: settings of our own, options of GPGPU-Sim that set several, options that have no effect. */
#include "timing/config_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIT_OPTIONS(n) \
    OPTION("special" #n, "-specialized_unit_" #n, commas, TIMING_KNOB_special##n##_enabled, TIMING_KNOB_special##n##_name, 6, NULL, \
           "unit " #n " for one kind of instructions: enabled,units,greatest latency,ID_OC width,OC_EX width,name") \
    OPTION("special" #n ".timing", "-trace_opcode_latency_initiation_spec_op_" #n, commas, TIMING_KNOB_special##n##_latency, \
           TIMING_KNOB_special##n##_initiation, 2, NULL, "unit " #n ": latency,initiation interval")

static const struct option options[] = {
#define OPTION(name, aliases, parser, first, last, min, rest, help) {name, aliases, timing_parse_##parser, first, last, min, rest, help},
#define CACHE(g, aliases, what, ...) OPTION(#g, aliases, cache, TIMING_KNOB_##g##_present, TIMING_KNOB_##g##_port, 12, NULL, what)
#define UNIT_ROW(n) UNIT_OPTIONS(n)
#include "timing/knobs.def"
};
enum { N_OPTIONS = sizeof options / sizeof *options };

static const struct accepted { const char *aliases; enum row_type type; const char *neutral, *note, *help; } accepted[] = {
#define ACCEPT(aliases, type, neutral, note, help) {aliases, ROW_##type, neutral, note, help},
#include "timing/knobs.def"
};
enum { N_ACCEPTED = sizeof accepted / sizeof *accepted };

/* Is name one of the words in a list separated by blanks? */
static bool in_words(const char *words, const char *name)
{
    size_t n = strlen(name);
    for (const char *w = words; *w; w += w[strcspn(w, " ")] ? strcspn(w, " ") + 1 : strcspn(w, " "))
        if (strncmp(w, name, n) == 0 && strcspn(w, " ") == n)
            return true;
    return false;
}

struct meaning meaning_find(const char *name)
{
    if (*name != '-' && *name != '@') {
        for (unsigned i = 0; i < TIMING_KNOB_COUNT; i++)
            if (strcmp(timing_rows[i].name, name) == 0)
                return (struct meaning){MEANS_ROW, i};
        for (unsigned i = 0; i < N_OPTIONS; i++)
            if (strcmp(options[i].name, name) == 0)
                return (struct meaning){MEANS_OPTION, i};
        return (struct meaning){MEANS_NONE, 0};
    }
    for (unsigned i = 0; i < TIMING_KNOB_COUNT; i++)
        if (in_words(timing_rows[i].aliases, name))
            return (struct meaning){MEANS_ROW, i};
    for (unsigned i = 0; i < N_OPTIONS; i++)
        if (in_words(options[i].aliases, name))
            return (struct meaning){MEANS_OPTION, i};
    for (unsigned i = 0; i < N_ACCEPTED; i++)
        if (in_words(accepted[i].aliases, name))
            return (struct meaning){MEANS_ACCEPTED, i};
    return (struct meaning){MEANS_NONE, 0};
}

const char *meaning_composite(unsigned row)
{
    static _Thread_local char found[120];
    for (unsigned i = 0; i < N_OPTIONS; i++)
        if (options[i].first <= row && row <= options[i].last) {
            snprintf(found, sizeof found, "%s (%.*s)", options[i].name, (int)strcspn(options[i].aliases, " "), options[i].aliases);
            return found;
        }
    return "";
}

bool meaning_is_flag(struct meaning t)
{
    return (t.kind == MEANS_ROW && timing_rows[t.index].type == ROW_BOOL) || (t.kind == MEANS_ACCEPTED && accepted[t.index].type == ROW_BOOL);
}

size_t timing_option_count(void) { return N_OPTIONS + N_ACCEPTED; }

struct timing_option timing_option(size_t i)
{
    const struct option *o = &options[i < N_OPTIONS ? i : 0];
    const struct accepted *a = &accepted[i < N_OPTIONS ? 0 : i - N_OPTIONS];
    return i < N_OPTIONS ? (struct timing_option){o->name, o->aliases, o->help, NULL} : (struct timing_option){NULL, a->aliases, a->help, a->note};
}

int timing_option_find(const char *name)
{
    struct meaning m = meaning_find(name);
    return m.kind == MEANS_OPTION ? (int)m.index : m.kind == MEANS_ACCEPTED ? (int)(N_OPTIONS + m.index) : -1;
}

/* ---- suggestions ---- */

/* Letters to insert, delete or replace: two rows of the table, for names up to 63 letters. */
static unsigned distance(const char *a, size_t na, const char *b, size_t nb)
{
    enum { MAX = 63 };
    unsigned row[MAX + 1];
    na = na < MAX ? na : MAX;
    nb = nb < MAX ? nb : MAX;
    for (size_t j = 0; j <= nb; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[nb];
}

struct nearest { const char *name; size_t n; unsigned distance; };

static void consider(struct nearest *near, const char *words, const char *name)
{
    while (*words) {
        size_t n = strcspn(words, " ");
        unsigned d = n ? distance(name, strlen(name), words, n) : 1000;
        if (d < near->distance)
            *near = (struct nearest){words, n, d};
        words += n + (words[n] == ' ');
    }
}

const char *meaning_nearest(const char *name, bool own)
{
    static _Thread_local char found[80];
    struct nearest near = {NULL, 0, 2 + (unsigned)strlen(name) / 4};
    for (unsigned i = 0; i < TIMING_KNOB_COUNT; i++)
        consider(&near, own ? timing_rows[i].name : timing_rows[i].aliases, name);
    for (unsigned i = 0; i < N_OPTIONS; i++)
        consider(&near, own ? options[i].name : options[i].aliases, name);
    for (unsigned i = 0; i < N_ACCEPTED && !own; i++)
        consider(&near, accepted[i].aliases, name);
    if (!near.name)
        return NULL;
    snprintf(found, sizeof found, "%.*s", (int)near.n, near.name);
    return found;
}

/* ---- setting ---- */

static bool set_accepted(struct timing_settings *s, unsigned i, const struct value *v)
{
    const struct accepted *a = &accepted[i];
    char *end = NULL;
    bool number = a->type != ROW_TEXT;
    long long given = number ? strtoll(v->text, &end, 0) : 0;
    if (number && v->n && *end) {
        note_value(s, true, v, 0, NULL, "%s cannot be '%.60s'; it is a number", v->name, v->text);
        return false;
    }
    if (!a->note || (a->neutral && number && given == strtoll(a->neutral, NULL, 0)) || s->warned[TIMING_KNOB_COUNT + i])
        return true;
    s->warned[TIMING_KNOB_COUNT + i] = true;
    note_value(s, false, v, 0, NULL, "%s has no effect: %s", v->name, a->note);
    return true;
}

static void warn_unmodelled(struct timing_settings *s, unsigned row, const struct value *v)
{
    const struct row *r = &timing_rows[row];
    char value[TIMING_TEXT_BYTES];
    if (!r->note || strcmp(r->note, TIMING_PLANNED) == 0 || s->warned[row] || strcmp(timing_knob_print(s, row, value, sizeof value), r->standard) == 0)
        return;
    s->warned[row] = true;
    note_value(s, false, v, 0, NULL, "%s = %s has no effect: %s", v->name, value, r->note);
}

bool meaning_set(struct timing_settings *s, struct meaning t, const struct value *v)
{
    bool ok = true;
    switch (t.kind) {
    case MEANS_NONE: return false;
    case MEANS_ROW:
        ok = row_set(s, t.index, v, 0, v->n);
        if (ok)
            warn_unmodelled(s, t.index, v);
        break;
    case MEANS_OPTION:
        ok = options[t.index].parse(s, &options[t.index], v);
        for (unsigned row = options[t.index].first; ok && row <= options[t.index].last; row++)
            warn_unmodelled(s, row, v);
        break;
    case MEANS_ACCEPTED: ok = set_accepted(s, t.index, v); break;
    }
    return ok;
}

/* ---- life ---- */

/* A default is set as a line of our own language is; a wrong one is a mistake in the table, which the unit test finds. */
static void set_defaults(struct timing_settings *s)
{
    static const struct source defaults = {"default", "", 0, false, true};
    uint32_t at[TIMING_TEXT_BYTES] = {0};
    for (unsigned i = 0; i < TIMING_KNOB_COUNT; i++) {
        const struct row *r = &timing_rows[i];
        struct value v = {r->standard, (uint32_t)strlen(r->standard), at, &defaults, r->name};
        row_set(s, i, &v, 0, v.n);
    }
    memset(s->places, 0, sizeof s->places);
}

struct timing_settings *timing_settings_new(void)
{
    struct timing_settings *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->warned = arena_alloc(&s->arena, TIMING_KNOB_COUNT + N_ACCEPTED);
    if (!s->warned) {
        timing_settings_free(s);
        return NULL;
    }
    set_defaults(s);
    return s;
}

void timing_settings_free(struct timing_settings *s)
{
    if (!s)
        return;
    vec_free(&s->notes);
    arena_free(&s->arena);
    free(s);
}

void settings_reset(struct timing_settings *s) { set_defaults(s); }
