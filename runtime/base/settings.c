#include "runtime/base/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- names ---- */

char *knob_option(const struct knob *k, char *buf, size_t n)
{
    snprintf(buf, n, "%s", k->name);
    for (char *p = buf; *p; p++)
        if (*p == '_')
            *p = '-';
    return buf;
}

static bool same_name(const char *knob, const char *name)
{
    for (; *knob && *name; knob++, name++)
        if (*knob != (*name == '-' ? '_' : *name))
            return false;
    return *knob == *name;
}

int settings_find(const struct settings *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (same_name(s->rows[i].name, name))
            return (int)i;
    return -1;
}

/* Optimal string alignment over the first 31 letters, which is more than any name here has. */
unsigned text_distance(const char *a, const char *b)
{
    enum { MAX = 31 };
    unsigned d[MAX + 1][MAX + 1];
    size_t na = strnlen(a, MAX), nb = strnlen(b, MAX);
    for (size_t i = 0; i <= na; i++)
        d[i][0] = (unsigned)i;
    for (size_t j = 0; j <= nb; j++)
        d[0][j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++)
        for (size_t j = 1; j <= nb; j++) {
            unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[na][nb];
}

int settings_nearest(const struct settings *s, const char *name)
{
    int best = -1;
    unsigned near = 0;
    for (size_t i = 0; i < s->n; i++) {
        char option[64];
        unsigned d = text_distance(name, knob_option(&s->rows[i], option, sizeof option));
        if (d <= 1 + strlen(name) / 3 && (best < 0 || d < near)) {
            best = (int)i;
            near = d;
        }
    }
    return best;
}

static enum status unknown_name(const struct settings *s, const char *name, const char *origin, struct error *err)
{
    char option[64];
    int near = settings_nearest(s, name);
    error_set(err, ST_INVALID_VALUE, "%s: unknown setting '%s'", origin, name);
    if (near >= 0)
        error_hint(err, "did you mean '%s'?", knob_option(&s->rows[near], option, sizeof option));
    else
        error_hint(err, "heddle config --show  lists all of them");
    return ST_INVALID_VALUE;
}

/* ---- values ---- */

static void *value_at(const struct settings *s, const struct knob *k) { return (char *)s->values + k->offset; }

static bool parse_bool(const char *text, bool *out)
{
    static const char *const words[2][4] = {{"off", "false", "no", "0"}, {"on", "true", "yes", "1"}};
    for (int v = 0; v < 2; v++)
        for (int i = 0; i < 4; i++)
            if (strcasecmp(text, words[v][i]) == 0) {
                *out = v;
                return true;
            }
    return false;
}

/* A decimal or 0x number; with_unit allows K, M or G behind it. False when it is none or does not fit. */
static bool parse_number(const char *text, bool with_unit, int64_t *out)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, strncasecmp(text, "0x", 2) == 0 ? 16 : 10);
    if (errno || end == text)
        return false;
    unsigned shift = 0;
    if (with_unit && *end) {
        static const char units[] = "KMG";
        const char *u = strchr(units, *end >= 'a' ? *end - 32 : *end);
        if (u) {
            shift = 10 * (unsigned)(u - units + 1);
            end++;
        }
    }
    if (*end || v > INT64_MAX >> shift || v < INT64_MIN >> shift)
        return false;
    *out = v * ((int64_t)1 << shift);
    return true;
}

/* Index of a word in "a|b|c", -1 when it is not there. */
static int choice_find(const char *words, const char *text)
{
    size_t n = strlen(text);
    for (int i = 0; *words; i++) {
        size_t k = strcspn(words, "|");
        if (k == n && strncmp(words, text, n) == 0)
            return i;
        words += k + (words[k] == '|');
    }
    return -1;
}

static enum status refuse(const struct knob *k, const char *value, const char *origin, const char *wanted, struct error *err)
{
    char option[64];
    return error_set(err, ST_INVALID_VALUE, "%s: %s cannot be '%s'; it is %s", origin, knob_option(k, option, sizeof option), value,
                     wanted);
}

static enum status set_number(const struct knob *k, int64_t v, const char *value, const char *origin, void *at, struct error *err)
{
    if (v < k->min || v > k->max) {
        char range[96];
        snprintf(range, sizeof range, "a number from %lld to %lld", (long long)k->min, (long long)k->max);
        return refuse(k, value, origin, range, err);
    }
    if (k->type == KNOB_TYPE_INT)
        *(int64_t *)at = v;
    else
        *(uint64_t *)at = (uint64_t)v;
    return ST_OK;
}

static enum status set_list(const struct knob *k, const char *value, const char *origin, char *at, struct error *err)
{
    size_t n = *value ? strlen(at) : 0;
    if (n + 1 + strlen(value) >= KNOB_TEXT_BYTES || strpbrk(value, "\n\""))
        return refuse(k, "...", origin, "a list of less than 512 characters without double quotes", err);
    snprintf(at + n, KNOB_TEXT_BYTES - n, "%s%s", n ? "," : "", value);
    return ST_OK;
}

static enum status set_row(struct settings *s, const struct knob *k, const char *value, const char *origin, struct error *err)
{
    void *at = value_at(s, k);
    int64_t number;
    char wanted[160];
    switch (k->type) {
    case KNOB_TYPE_BOOL:
        return parse_bool(value, at) ? ST_OK : refuse(k, value, origin, "on or off", err);
    case KNOB_TYPE_INT:
    case KNOB_TYPE_BYTES:
        if (!parse_number(value, k->type == KNOB_TYPE_BYTES, &number))
            return refuse(k, value, origin, k->type == KNOB_TYPE_INT ? "a number" : "a number of bytes, such as 64M", err);
        return set_number(k, number, value, origin, at, err);
    case KNOB_TYPE_CHOICE: {
        int i = choice_find(k->unit, value);
        snprintf(wanted, sizeof wanted, "one of %s", k->unit);
        if (i < 0)
            return refuse(k, value, origin, wanted, err);
        *(int *)at = i;
        return ST_OK;
    }
    case KNOB_TYPE_TEXT:
        if (strlen(value) >= KNOB_TEXT_BYTES || strpbrk(value, "\n\""))
            return refuse(k, "...", origin, "a text of one line without double quotes", err);
        strcpy(at, value);
        return ST_OK;
    case KNOB_TYPE_LIST:
        return set_list(k, value, origin, at, err);
    }
    return ST_OK;
}

/* Keeps a setting of another room. */
static enum status keep_more(struct settings *s, const char *name, const char *value, const char *origin, struct error *err)
{
    struct settings_more *m = s->more;
    if (m->n == KNOB_MORE_MAX)
        return error_set(err, ST_INVALID_VALUE, "%s: more than %d settings like '%s'; put them into a file and name it with config", origin,
                         KNOB_MORE_MAX, name);
    if (strlen(name) >= sizeof m->at->name || strlen(value) >= sizeof m->at->value)
        return error_set(err, ST_INVALID_VALUE, "%s: '%.60s' is too long", origin, name);
    snprintf(m->at[m->n].name, sizeof m->at->name, "%s", name);
    snprintf(m->at[m->n].value, sizeof m->at->value, "%s", value);
    snprintf(m->at[m->n].origin, sizeof m->at->origin, "%s", origin);
    m->n++;
    return ST_OK;
}

enum status settings_set(struct settings *s, const char *name, const char *value, const char *origin, struct error *err)
{
    int i = settings_find(s, name);
    if (i < 0)
        return s->more && strchr(name, '.') ? keep_more(s, name, value, origin, err) : unknown_name(s, name, origin, err);
    enum status st = set_row(s, &s->rows[i], value, origin, err);
    if (st == ST_OK)
        snprintf(s->origins[i], sizeof s->origins[i], "%s", origin);
    return st;
}

enum status settings_defaults(struct settings *s, struct error *err)
{
    enum status first = ST_OK;
    for (size_t i = 0; i < s->n; i++) {
        enum status st = settings_set(s, s->rows[i].name, s->rows[i].standard, "default", first == ST_OK ? err : NULL);
        if (first == ST_OK)
            first = st;
    }
    return first;
}

/* ---- files ---- */

static char *trim(char *s)
{
    while (*s == ' ' || *s == '\t')
        s++;
    size_t n = strlen(s);
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t' || s[n - 1] == '\r'))
        s[--n] = 0;
    return s;
}

/* Cuts a comment that stands outside quotes. */
static void cut_comment(char *s)
{
    bool quoted = false;
    for (; *s; s++) {
        if (*s == '"')
            quoted = !quoted;
        if (*s == '#' && !quoted)
            *s = 0;
        if (!*s)
            return;
    }
}

static enum status set_line(struct settings *s, char *line, const char *origin, struct error *err)
{
    cut_comment(line);
    line = trim(line);
    if (!*line)
        return ST_OK;
    char *eq = strchr(line, '=');
    if (!eq) {
        error_set(err, ST_INVALID_VALUE, "%s: '%s' is no setting", origin, line);
        error_hint(err, "write  name = value");
        return ST_INVALID_VALUE;
    }
    *eq = 0;
    char *value = trim(eq + 1);
    size_t n = strlen(value);
    if (n >= 2 && value[0] == '"' && value[n - 1] == '"') {
        value[n - 1] = 0;
        value++;
    }
    return settings_set(s, trim(line), value, origin, err);
}

enum status settings_text(struct settings *s, const char *text, const char *file, struct error *err)
{
    for (unsigned number = 1; *text; number++) {
        size_t n = strcspn(text, "\n");
        char line[KNOB_TEXT_BYTES + 128], origin[KNOB_ORIGIN_BYTES];
        snprintf(origin, sizeof origin, "%s:%u", file, number);
        if (n >= sizeof line)
            return error_set(err, ST_INVALID_VALUE, "%s: the line is too long", origin);
        memcpy(line, text, n);
        line[n] = 0;
        enum status st = set_line(s, line, origin, err);
        if (st != ST_OK)
            return st;
        text += n + (text[n] == '\n');
    }
    return ST_OK;
}

enum status settings_file(struct settings *s, const char *path, bool *found, struct error *err)
{
    if (found)
        *found = false;
    FILE *f = fopen(path, "re");
    if (!f)
        return errno == ENOENT || errno == ENOTDIR
                   ? ST_OK : error_set(err, ST_INVALID_VALUE, "%s: cannot be read: %s", path, strerror(errno));
    if (found)
        *found = true;
    char text[16384];
    size_t n = fread(text, 1, sizeof text, f);
    bool failed = ferror(f);
    fclose(f);
    if (failed)
        return error_set(err, ST_INVALID_VALUE, "%s: cannot be read", path);
    if (n == sizeof text)
        return error_set(err, ST_INVALID_VALUE, "%s: is too long for a file of settings", path);
    text[n] = 0;
    return settings_text(s, text, path, err);
}

/* ---- options ---- */

/* The row that an option names: "--log-file=x", "--quiet", "--no-quiet". -1: none. */
static int option_row(const struct settings *s, const char *arg, const char **value, bool *negated)
{
    char name[64];
    const char *eq = strchr(arg, '=');
    size_t n = eq ? (size_t)(eq - arg) : strlen(arg);
    *value = eq ? eq + 1 : NULL;
    *negated = false;
    if (n < 3 || n - 2 >= sizeof name)
        return -1;
    memcpy(name, arg + 2, n - 2);
    name[n - 2] = 0;
    int i = settings_find(s, name);
    if (i < 0 && !eq && strncmp(name, "no-", 3) == 0) {
        i = settings_find(s, name + 3);
        *negated = i >= 0 && s->rows[i].type == KNOB_TYPE_BOOL;
        return *negated ? i : -1;
    }
    return i;
}

/* --name.part=value or --name.part value, when such names are kept; *taken says whether it is one. */
static enum status more_option(struct settings *s, int argc, char *const *argv, int *at, const char *origin, bool *taken, struct error *err)
{
    const char *arg = argv[*at] + 2;
    size_t n = strcspn(arg, "=");
    char name[sizeof s->more->at->name];
    *taken = s->more && memchr(arg, '.', n) && n < sizeof name;
    if (!*taken)
        return ST_OK;
    ++*at;
    memcpy(name, arg, n);
    name[n] = 0;
    const char *value = arg[n] ? arg + n + 1 : *at < argc ? argv[(*at)++] : NULL;
    return value ? settings_set(s, name, value, origin, err) : error_set(err, ST_INVALID_VALUE, "%s: --%s needs a value", origin, name);
}

enum status settings_args(struct settings *s, int argc, char *const *argv, int *at, const char *origin, struct error *err)
{
    while (*at < argc && strncmp(argv[*at], "--", 2) == 0) {
        const char *arg = argv[*at], *value;
        bool negated;
        if (arg[2] == 0) {
            ++*at;
            return ST_OK;
        }
        int i = option_row(s, arg, &value, &negated);
        if (i < 0) {
            bool taken;
            enum status st = more_option(s, argc, argv, at, origin, &taken, err);
            if (st != ST_OK || !taken)
                return st;
            continue;
        }
        ++*at;
        if (!value && s->rows[i].type == KNOB_TYPE_BOOL)
            value = negated ? "off" : "on";
        else if (!value && *at < argc)
            value = argv[(*at)++];
        if (!value)
            return error_set(err, ST_INVALID_VALUE, "%s: %s needs a value", origin, arg);
        enum status st = settings_set(s, s->rows[i].name, value, origin, err);
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

/* Takes one word off *p into out; false at the end. An unclosed quote ends with the text. */
static bool next_word(const char **p, char *out, size_t n, bool *fits)
{
    size_t k = 0;
    char quote = 0;
    const char *s = *p + strspn(*p, " \t\n");
    bool any = *s != 0;
    *fits = true;
    for (; *s && (quote || !strchr(" \t\n", *s)); s++) {
        if (quote ? *s == quote : *s == '"' || *s == '\'')
            quote = quote ? 0 : *s;
        else if (k + 1 < n)
            out[k++] = *s;
        else
            *fits = false;
    }
    out[k] = 0;
    *p = s;
    return any;
}

enum status settings_words(struct settings *s, const char *words, const char *origin, struct error *err)
{
    enum { MAX = 64 };
    static const size_t word_bytes = KNOB_TEXT_BYTES + 64;
    char *store = malloc(MAX * word_bytes);
    if (!store)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for the settings");
    char *argv[MAX];
    int argc = 0, at = 0;
    bool fits = true;
    while (fits && argc < MAX && next_word(&words, store + (size_t)argc * word_bytes, word_bytes, &fits)) {
        argv[argc] = store + (size_t)argc * word_bytes;
        argc++;
    }
    enum status st = fits && !words[strspn(words, " \t\n")]
                         ? settings_args(s, argc, argv, &at, origin, err)
                         : error_set(err, ST_INVALID_VALUE, "%s: is too long", origin);
    if (st == ST_OK && at < argc) {
        argv[at][strcspn(argv[at], "=")] = 0;
        st = unknown_name(s, argv[at] + strspn(argv[at], "-"), origin, err);
    }
    free(store);
    return st;
}

/* ---- printing ---- */

char *settings_print(const struct settings *s, size_t row, char *buf, size_t n)
{
    const struct knob *k = &s->rows[row];
    const void *at = value_at(s, k);
    switch (k->type) {
    case KNOB_TYPE_BOOL: snprintf(buf, n, "%s", *(const bool *)at ? "on" : "off"); break;
    case KNOB_TYPE_INT: snprintf(buf, n, "%lld", (long long)*(const int64_t *)at); break;
    case KNOB_TYPE_TEXT:
    case KNOB_TYPE_LIST: snprintf(buf, n, "%s", (const char *)at); break;
    case KNOB_TYPE_BYTES: {
        uint64_t v = *(const uint64_t *)at;
        unsigned unit = 0;
        while (unit < 3 && v && v % 1024 == 0) {
            v /= 1024;
            unit++;
        }
        snprintf(buf, n, "%llu%.1s", (unsigned long long)v, &"\0KMG"[unit]);
        break;
    }
    case KNOB_TYPE_CHOICE: {
        const char *w = k->unit;
        for (int i = *(const int *)at; i > 0; i--)
            w += strcspn(w, "|") + 1;
        snprintf(buf, n, "%.*s", (int)strcspn(w, "|"), w);
        break;
    }
    }
    return buf;
}

size_t settings_pack(const struct settings *s, char *buf, size_t n)
{
    size_t used = 0;
    if (n)
        buf[0] = 0;
    for (size_t i = 0; i < s->n; i++) {
        char value[KNOB_TEXT_BYTES];
        if (strcmp(s->origins[i], "default") == 0)
            continue;
        int k = snprintf(used < n ? buf + used : NULL, used < n ? n - used : 0, "%s = \"%s\"\n", s->rows[i].name,
                         settings_print(s, i, value, sizeof value));
        used += (size_t)k;
    }
    for (size_t i = 0; s->more && i < s->more->n; i++)
        used += (size_t)snprintf(used < n ? buf + used : NULL, used < n ? n - used : 0, "%s = \"%s\"\n", s->more->at[i].name, s->more->at[i].value);
    return used;
}
