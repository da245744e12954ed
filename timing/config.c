/* The table of settings, and one value of it. */
#include "timing/config_internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct row timing_rows[TIMING_KNOB_COUNT] = {
#define KNOB(g, f, aliases, type, standard, unit, min, max, note, help) \
    {#g "." #f, aliases, ROW_##type, standard, unit, min, max, note, help, offsetof(struct timing_config, g.f)},
#define CACHE(...) CACHE_KNOBS(__VA_ARGS__)
#define UNIT_ROW(n) UNIT_KNOBS(n)
#include "timing/knobs.def"
};

void *row_value(struct timing_settings *s, unsigned row) { return (char *)&s->values + timing_rows[row].offset; }

/* ---- words and numbers ---- */

uint32_t span_until(const struct value *v, uint32_t from, uint32_t to, const char *separators)
{
    uint32_t n = 0;
    while (from + n < to && !strchr(separators, v->text[from + n]))
        n++;
    return n;
}

static bool same_word(const char *a, size_t na, const char *b, size_t nb) { return na == nb && strncasecmp(a, b, na) == 0; }

int choice_find(const char *words, const char *text, size_t n, bool letters)
{
    for (int i = 0; *words; i++) {
        size_t k = strcspn(words, "|");
        const char *eq = memchr(words, '=', k);
        const char *word = eq ? eq + 1 : words;
        size_t n_word = k - (size_t)(word - words);
        if (!same_word(word, n_word, "-", 1) && same_word(word, n_word, text, n))
            return i;
        if (letters && eq && n == 1 && *text == *words)
            return i;
        words += k + (words[k] == '|');
    }
    return -1;
}

static const char *choice_word(const char *words, int index, int *n)
{
    for (; index > 0 && *words; index--) {
        words += strcspn(words, "|");
        words += *words == '|';
    }
    *n = (int)strcspn(words, "|");
    const char *eq = memchr(words, '=', (size_t)*n);
    if (eq) {
        *n -= (int)(eq + 1 - words);
        words = eq + 1;
    }
    return words;
}

/* "normal (N), sectored (S)" and "fcfs (0), frfcfs (1)": what a message offers. */
static void choice_list(const char *words, char *buf, size_t n)
{
    size_t used = 0;
    buf[0] = 0;
    for (int i = 0; *words && used < n; i++) {
        int k;
        const char *word = choice_word(words, 0, &k);
        const char *comma = used ? ", " : "";
        if (*word == '-' && k == 1)
            k = 0;
        else if (word != words)
            used += (size_t)snprintf(buf + used, n - used, "%s%.*s (%c)", comma, k, word, *words);
        else
            used += (size_t)snprintf(buf + used, n - used, "%s%.*s (%d)", comma, k, word, i);
        words += strcspn(words, "|");
        words += *words == '|';
    }
}

static const struct { const char *unit, *of; double factor; } units[] = {
    {"KB", "B", 1024}, {"KiB", "B", 1024}, {"MB", "B", 1048576}, {"MiB", "B", 1048576}, {"GB", "B", 1073741824}, {"GiB", "B", 1073741824},
    {"KiB", "KB", 1}, {"MB", "KB", 1024}, {"MiB", "KB", 1024}, {"GHz", "MHz", 1000}, {"kHz", "MHz", 0.001}, {"Hz", "MHz", 0.000001},
    {"cycle", "cycles", 1}, {"cycles", "core cycles", 1}, {"cycle", "core cycles", 1}, {"clocks", "DRAM clocks", 1},
};

/* The factor of what stands behind a number; 0: the row has no such unit. */
static double unit_factor(const struct row *r, const char *text, size_t n)
{
    if (n == 0 || (*r->unit && same_word(text, n, r->unit, strlen(r->unit))))
        return 1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].of, r->unit) == 0 && strlen(units[i].unit) == n && strncmp(units[i].unit, text, n) == 0)
            return units[i].factor;
    return 0;
}

/* ---- one row ---- */

/* Who is meant: the setting as it was written, and the part of it when that has several. */
static const char *who(const struct value *v, const struct row *r, char *buf, size_t n)
{
    bool part = strcmp(v->name, r->name) != 0 && !strstr(r->aliases, v->name);
    snprintf(buf, n, "%s%s%s", v->name, part ? ": " : "", part ? r->name : "");
    return buf;
}

static bool refuse(struct timing_settings *s, const struct row *r, const struct value *v, uint32_t from, uint32_t to, const char *wanted)
{
    char name[200];
    note_value(s, true, v, from, NULL, "%s cannot be '%.*s'; it is %s", who(v, r, name, sizeof name), (int)(to - from), v->text + from, wanted);
    return false;
}

static bool set_bool(struct timing_settings *s, const struct row *r, const struct value *v, uint32_t from, uint32_t to, bool *out)
{
    static const char words[] = "off|on|false|true|no|yes|0|1";
    int i = choice_find(words, v->text + from, to - from, false);
    if (i >= 0) {
        *out = i & 1;
        return true;
    }
    char *end;
    long long n = strtoll(v->text + from, &end, 0);
    if (v->in->own || end != v->text + to)
        return refuse(s, r, v, from, to, "on or off");
    *out = n != 0;
    return true;
}

static bool set_choice(struct timing_settings *s, const struct row *r, const struct value *v, uint32_t from, uint32_t to, int *out)
{
    bool letters = strchr(r->unit, '=') != NULL;
    int i = choice_find(r->unit, v->text + from, to - from, letters);
    if (i < 0 && !letters) {                /* GPGPU-Sim counts them */
        char *end;
        int k;
        long n = strtol(v->text + from, &end, 0);
        const char *word = n >= 0 && n < 64 ? choice_word(r->unit, (int)n, &k) : "";
        if (end == v->text + to && *word && *word != '-')
            i = (int)n;
    }
    if (i < 0) {
        char wanted[300];
        choice_list(r->unit, wanted, sizeof wanted);
        return refuse(s, r, v, from, to, wanted);
    }
    *out = i;
    return true;
}

/* Takes a number off the text; *end is behind it. False: there is none that fits. */
static bool take_number(const struct row *r, const struct value *v, uint32_t from, double *real, int64_t *whole, char **end)
{
    const char *text = v->text + from;
    errno = 0;
    if (r->type == ROW_F64) {
        *real = strtod(text, end);
        return *end != text && !errno && *real == *real;
    }
    int base = r->type == ROW_HEX ? 16 : !v->in->own ? 0 : strncasecmp(text, "0x", 2) == 0 ? 16 : 10;
    *whole = strtoll(text, end, base);
    *real = (double)*whole;
    return *end != text && !errno && !isspace((unsigned char)*text);
}

static bool set_number(struct timing_settings *s, const struct row *r, const struct value *v, uint32_t from, uint32_t to, void *out)
{
    double real;
    int64_t whole = 0;
    char *end, wanted[160], name[200];
    snprintf(wanted, sizeof wanted, "a %snumber from %" PRId64 " to %" PRId64, r->type == ROW_F64 ? "" : "whole ", r->min, r->max);
    if (!take_number(r, v, from, &real, &whole, &end) || end > v->text + to)
        return refuse(s, r, v, from, to, wanted);
    const char *unit = end;
    while (unit < v->text + to && (*unit == ' ' || *unit == '\t'))
        unit++;
    size_t n = (size_t)(v->text + to - unit);
    double factor = v->in->own || n == 0 ? unit_factor(r, unit, n) : 0;
    if (factor == 0 && v->in->own && isalpha((unsigned char)*unit)) {
        note_value(s, true, v, (uint32_t)(unit - v->text), NULL, "%s: '%.*s' is not its unit; that is %s", who(v, r, name, sizeof name), (int)n, unit,
                   *r->unit ? r->unit : "none");
        return false;
    }
    double scaled = real * factor;
    if (factor == 0 || scaled < (double)r->min || scaled > (double)r->max || (r->type != ROW_F64 && factor == 1 && (whole < r->min || whole > r->max)))
        return refuse(s, r, v, from, to, wanted);
    int64_t result = factor == 1 ? whole : (int64_t)scaled;
    switch (r->type) {
    case ROW_F64: *(double *)out = scaled; break;
    case ROW_U64: *(uint64_t *)out = (uint64_t)result; break;
    case ROW_I32: *(int32_t *)out = (int32_t)result; break;
    default: *(uint32_t *)out = (uint32_t)result; break;
    }
    return true;
}

static bool set_text(struct timing_settings *s, const struct row *r, const struct value *v, uint32_t from, uint32_t to, char *out)
{
    if (to - from >= TIMING_TEXT_BYTES)
        return refuse(s, r, v, from, from + 20, "too long");
    memset(out, 0, TIMING_TEXT_BYTES);
    memcpy(out, v->text + from, to - from);
    return true;
}

static bool set_kb_list(struct timing_settings *s, const struct row *r, const struct value *v, uint32_t from, uint32_t to, struct timing_kb_list *out)
{
    struct row one = *r;
    one.type = ROW_U32;
    struct timing_kb_list list = {0};
    for (uint32_t at = from; at <= to;) {
        uint32_t n = span_until(v, at, to, ",");
        uint32_t kb;
        if (list.n == TIMING_KB_MAX)
            return refuse(s, r, v, at, to, "at most 16 sizes");
        if (!set_number(s, &one, v, at, at + n, &kb))
            return false;
        if (list.n && kb <= list.at[list.n - 1])
            return refuse(s, r, v, at, at + n, "a list of ascending sizes");
        list.at[list.n++] = kb;
        at += n + 1;
        while (at < to && v->text[at] == ' ')
            at++;
    }
    *out = list;
    return true;
}

bool row_set(struct timing_settings *s, unsigned row, const struct value *v, uint32_t from, uint32_t to)
{
    const struct row *r = &timing_rows[row];
    void *out = row_value(s, row);
    while (from < to && (v->text[from] == ' ' || v->text[from] == '\t'))
        from++;
    while (from < to && (v->text[to - 1] == ' ' || v->text[to - 1] == '\t'))
        to--;
    bool ok;
    switch (r->type) {
    case ROW_BOOL: ok = set_bool(s, r, v, from, to, out); break;
    case ROW_CHOICE: ok = set_choice(s, r, v, from, to, out); break;
    case ROW_TEXT: ok = set_text(s, r, v, from, to, out); break;
    case ROW_KB_LIST: ok = set_kb_list(s, r, v, from, to, out); break;
    case ROW_ADDRESS_MAP: ok = parse_address_map(s, out, v, from, to); break;
    default: ok = set_number(s, r, v, from, to, out); break;
    }
    if (ok)
        s->places[row] = (struct place){v->in, v->at[from]};
    return ok;
}

/* ---- the table from outside ---- */

size_t timing_knob_count(void) { return TIMING_KNOB_COUNT; }

struct timing_knob timing_knob(size_t i)
{
    const struct row *r = &timing_rows[i];
    bool choice = r->type == ROW_CHOICE;
    return (struct timing_knob){r->name, r->aliases, meaning_composite((unsigned)i), r->standard, choice ? "" : r->unit, choice ? r->unit : "", r->note, r->help,
                                r->min < r->max, r->min, r->max};
}

int timing_knob_find(const char *name)
{
    struct meaning t = meaning_find(name);
    return t.kind == MEANS_ROW ? (int)t.index : -1;
}

static char *print_kb_list(const struct timing_kb_list *list, char *buf, size_t n)
{
    size_t used = 0;
    buf[0] = 0;
    for (uint32_t i = 0; i < list->n && used < n; i++)
        used += (size_t)snprintf(buf + used, n - used, "%s%u", i ? "," : "", list->at[i]);
    return buf;
}

static char *print_address_map(const struct timing_address_map *m, char *buf, size_t n)
{
    size_t used = 0;
    buf[0] = 0;
    if (m->channel_bit >= 0)
        used = (size_t)snprintf(buf, n, "dramid@%d;", m->channel_bit);
    for (int bit = 63; bit >= 0 && used + 2 < n; bit--) {
        uint64_t b = UINT64_C(1) << bit;
        /* S bits low in the address are column bits as well. */
        buf[used++] = m->burst & b ? 'S' : m->bank & b ? 'B' : m->row & b ? 'R' : m->column & b ? 'C' : m->channel & b ? 'D' : '0';
        if (bit % 8 == 0 && bit)
            buf[used++] = '.';
        buf[used] = 0;
    }
    return buf;
}

char *timing_knob_print(const struct timing_settings *s, size_t i, char *buf, size_t n)
{
    const struct row *r = &timing_rows[i];
    const void *at = (const char *)&s->values + r->offset;
    int k;
    const char *word;
    switch (r->type) {
    case ROW_BOOL: snprintf(buf, n, "%s", *(const bool *)at ? "on" : "off"); break;
    case ROW_U32: snprintf(buf, n, "%" PRIu32, *(const uint32_t *)at); break;
    case ROW_HEX: snprintf(buf, n, "%" PRIx32, *(const uint32_t *)at); break;
    case ROW_I32: snprintf(buf, n, "%" PRId32, *(const int32_t *)at); break;
    case ROW_U64: snprintf(buf, n, "%" PRIu64, *(const uint64_t *)at); break;
    case ROW_F64:
        snprintf(buf, n, "%.15g", *(const double *)at);
        if (strtod(buf, NULL) != *(const double *)at)
            snprintf(buf, n, "%.17g", *(const double *)at);
        break;
    case ROW_TEXT: snprintf(buf, n, "%s", (const char *)at); break;
    case ROW_KB_LIST: return print_kb_list(at, buf, n);
    case ROW_ADDRESS_MAP: return print_address_map(at, buf, n);
    case ROW_CHOICE:
        word = choice_word(r->unit, *(const int *)at, &k);
        snprintf(buf, n, "%.*s", k, word);
        break;
    }
    return buf;
}
