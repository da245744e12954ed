/* Reading case files; see cases.h. */
#include "tests/ptx/cases.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const oracle_names[ORACLE_COUNT] = {"isa", "ptxas", "exact", "bound"};

static const struct type types[] = {
    /* name    register move  bytes floats exponent fraction */
    {"pred",   "pred", "u32",  4, 0, 0, 0},
    {"b8",     "b16",  "b8",   1, 0, 0, 0}, {"u8",  "u16", "u8",  1, 0, 0, 0}, {"s8",  "s16", "s8",  1, 0, 0, 0},
    {"b16",    "b16",  "b16",  2, 0, 0, 0}, {"u16", "u16", "u16", 2, 0, 0, 0}, {"s16", "s16", "s16", 2, 0, 0, 0},
    {"b32",    "b32",  "b32",  4, 0, 0, 0}, {"u32", "u32", "u32", 4, 0, 0, 0}, {"s32", "s32", "s32", 4, 0, 0, 0},
    {"b64",    "b64",  "b64",  8, 0, 0, 0}, {"u64", "u64", "u64", 8, 0, 0, 0}, {"s64", "s64", "s64", 8, 0, 0, 0},
    {"b128",   "b128", "b64", 16, 0, 0, 0},
    {"f16",    "b16",  "b16",  2, 1, 5, 10}, {"f16x2",  "b32", "b32", 4, 2, 5, 10},
    {"bf16",   "b16",  "b16",  2, 1, 8, 7},  {"bf16x2", "b32", "b32", 4, 2, 8, 7},
    {"f32",    "f32",  "f32",  4, 1, 8, 23}, {"f32x2",  "b64", "b64", 8, 2, 8, 23},
    {"tf32",   "b32",  "b32",  4, 1, 8, 23}, {"f64",    "f64", "f64", 8, 1, 11, 52},
};

/* ---- text ---- */

struct reader {
    const char *file;
    unsigned line;
    struct test *tests;
    size_t n, first;                   /* first: of this file */
    char *target;
    unsigned version;
};

__attribute__((format(printf, 2, 3), noreturn)) static void bad(const struct reader *r, const char *fmt, ...)
{
    va_list args;
    fprintf(stderr, "%s:%u: ", r->file, r->line);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    exit(2);
}

void *cases_must(void *p)
{
    if (!p) {
        fputs("out of memory\n", stderr);
        exit(2);
    }
    return p;
}

static void *grown(void *p, size_t n, size_t size) { return cases_must(realloc(p, (n + 1) * size)); }

/* The next word of *s, NUL-terminated in place; NULL at the end. */
static char *word(char **s)
{
    char *p = *s + strspn(*s, " \t\n");
    if (!*p)
        return NULL;
    char *end = p + strcspn(p, " \t\n");
    *s = *end ? end + 1 : end;
    *end = 0;
    return p;
}

static unsigned number(const struct reader *r, const char *s)
{
    char *end;
    errno = 0;
    unsigned long v = strtoul(s, &end, 0);
    if (end == s || *end || errno || v > 1u << 30)
        bad(r, "not a number: '%s'", s);
    return (unsigned)v;
}

/* 3, 0.5 or 2^-22.5 */
static double real(const struct reader *r, const char *s)
{
    char *end;
    double v = strncmp(s, "2^", 2) == 0 ? exp2(strtod(s + 2, &end)) : strtod(s, &end);
    if (end == s || *end || !(v > 0))
        bad(r, "not a bound: '%s'", s);
    return v;
}

/* ---- values ---- */

/* One number (n characters of s) with so many bytes, added to v above what it has from bit `at` on. */
static void digits_read(const struct reader *r, struct value *v, const char *s, size_t n, unsigned bytes, unsigned at, bool expected)
{
    if (n == 0 || n > 2 * bytes)
        bad(r, "'%s' has not 1 to %u digits", s, 2 * bytes);
    for (size_t i = 0; i < n; i++) {
        unsigned place = at / 4 + (unsigned)(n - 1 - i), shift = 4 * (place % 16);
        uint64_t digit = 0;
        if (s[i] == 'x' && expected)
            v->care[place / 16] &= ~(15ull << shift);
        else if (isxdigit((unsigned char)s[i]))
            digit = (uint64_t)(isdigit((unsigned char)s[i]) ? s[i] - '0' : tolower((unsigned char)s[i]) - 'a' + 10);
        else
            bad(r, "'%s' is not hexadecimal", s);
        v->bits[place / 16] |= digit << shift;
    }
}

static struct value value_read(const struct reader *r, const char *s, unsigned bytes, unsigned lanes, bool expected)
{
    struct value v = {.expect = EXPECT_BITS, .care = {~0ull, ~0ull}};
    if (expected && (strcmp(s, "-") == 0 || strcmp(s, "unset") == 0)) {
        v.expect = *s == '-' ? EXPECT_ANY : EXPECT_UNSET;
        return v;
    }
    if (expected && lanes && strcmp(s, "nan") == 0) {
        v.nan = (1u << lanes) - 1;
        return v;
    }
    /* Parts of a packed value, the high one first: 3c00:nan */
    unsigned parts = strchr(s, ':') && lanes ? lanes : 1, width = bytes / parts;
    for (unsigned i = parts; i-- > 0;) {
        size_t n = strcspn(s, ":");
        if (expected && parts > 1 && n == 3 && strncmp(s, "nan", 3) == 0)
            v.nan |= 1u << i;
        else
            digits_read(r, &v, s, n, width, 8 * width * i, expected);
        s += n + (s[n] == ':');
    }
    if (*s)
        bad(r, "'%s' is one part too many", s);
    return v;
}

void value_store(const struct field *f, const struct value *v, uint8_t *at) { memcpy(at, v->bits, f->type->bytes); }

void value_load(const struct field *f, const uint8_t *at, uint64_t bits[2])
{
    bits[0] = bits[1] = 0;
    memcpy(bits, at, f->type->bytes);
}

static bool is_nan(const struct type *t, uint64_t bits)
{
    uint64_t fraction = bits & ((1ull << t->fraction) - 1), exponent = bits >> t->fraction & ((1ull << t->exponent) - 1);
    return exponent == (1ull << t->exponent) - 1 && fraction != 0;
}

static double decoded(const struct type *t, uint64_t bits)
{
    int bias = (1 << (t->exponent - 1)) - 1, e = (int)(bits >> t->fraction & ((1ull << t->exponent) - 1));
    double fraction = (double)(bits & ((1ull << t->fraction) - 1));
    double v = e == 2 * bias + 1 ? INFINITY
             : e ? ldexp(fraction + ldexp(1, (int)t->fraction), e - bias - (int)t->fraction) : ldexp(fraction, 1 - bias - (int)t->fraction);
    return bits >> (t->exponent + t->fraction) & 1 ? -v : v;
}

/* Floats as integers in their order, so that the difference of two counts the steps between them. */
static int64_t ordered(const struct type *t, uint64_t bits)
{
    uint64_t sign = 1ull << (t->exponent + t->fraction), magnitude = bits & (sign - 1);
    return bits & sign ? -(int64_t)magnitude : (int64_t)magnitude;
}

static bool float_agrees(const struct test *c, const struct type *t, uint64_t want, uint64_t care, uint64_t got)
{
    if (((got ^ want) & care) == 0)
        return true;
    if (is_nan(t, want) && c->oracle == ORACLE_BOUND)
        return is_nan(t, got);
    if (is_nan(t, got) || c->oracle != ORACLE_BOUND)
        return false;
    double w = decoded(t, want), g = decoded(t, got);
    if (isinf(w) || isinf(g))
        return want == got;
    if (c->bound[BOUND_ABS] > 0 && fabs(g - w) <= c->bound[BOUND_ABS])
        return true;
    if (w == 0)
        return want == got;
    if (c->bound[BOUND_REL] > 0 && fabs(g - w) <= c->bound[BOUND_REL] * fabs(w))
        return true;
    return c->bound[BOUND_ULP] > 0 && fabs((double)ordered(t, got) - (double)ordered(t, want)) <= c->bound[BOUND_ULP];
}

bool value_agrees(const struct test *c, const struct field *f, const struct value *v, const uint64_t got[2], uint8_t unset)
{
    const struct type *t = f->type;
    if (v->expect == EXPECT_ANY)
        return true;
    if (v->expect == EXPECT_UNSET) {
        for (unsigned i = 0; i < t->bytes; i++)
            if ((got[i / 8] >> (8 * (i % 8)) & 255) != unset)
                return false;
        return true;
    }
    if (!t->lanes)
        return !(((got[0] ^ v->bits[0]) & v->care[0]) | ((got[1] ^ v->bits[1]) & v->care[1]));
    unsigned width = 8 * t->bytes / t->lanes;
    uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
    for (unsigned i = 0, at = 0; i < t->lanes; i++, at += width) {
        uint64_t part = got[0] >> at & mask;
        if (v->nan >> i & 1 ? !is_nan(t, part) : !float_agrees(c, t, v->bits[0] >> at & mask, v->care[0] >> at & mask, part))
            return false;
    }
    return true;
}

/* ---- one keyword each ---- */

static struct field *fields_read(const struct reader *r, char *s, unsigned *n, unsigned *stride)
{
    struct field *fields = NULL;
    unsigned at = 0;
    for (char *w; (w = word(&s));) {
        char *colon = strchr(w, ':'), *bracket = strchr(w, '[');
        unsigned count = 1;
        const struct type *type = NULL;
        if (!colon)
            bad(r, "'%s' has no type; write %s:b32", w, w);
        *colon = 0;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (strcmp(types[i].name, colon + 1) == 0)
                type = &types[i];
        if (!type)
            bad(r, "unknown type '%s'", colon + 1);
        if (bracket) {
            *bracket = 0;
            count = number(r, strtok(bracket + 1, "]"));
        }
        for (unsigned i = 0; i < count; i++) {
            char name[64];
            fields = grown(fields, *n, sizeof *fields);
            struct field *f = &fields[(*n)++];
            snprintf(name, sizeof name, bracket ? "%s%u" : "%s", w, i);
            at = (at + type->bytes - 1) / type->bytes * type->bytes;
            *f = (struct field){cases_must(strdup(name)), type, at};
            at += type->bytes;
        }
    }
    *stride = (at + 15) / 16 * 16;
    return fields;
}

static void rows_read(const struct reader *r, struct test *t, char *s, unsigned times)
{
    struct row row = {.line = r->line, .in = cases_must(calloc(t->n_in + 1, sizeof *row.in)), .out = cases_must(calloc(t->n_out + 1, sizeof *row.out))};
    char *w;
    for (unsigned i = 0; i < t->n_in; i++) {
        if (!(w = word(&s)) || strcmp(w, "->") == 0)
            bad(r, "%u inputs are missing before '->'", t->n_in - i);
        row.in[i] = value_read(r, w, t->in[i].type->bytes, t->in[i].type->lanes, false);
    }
    if ((w = word(&s)) ? strcmp(w, "->") != 0 : t->n_out != 0)
        bad(r, "'->' must follow the %u inputs, not '%s'", t->n_in, w ? w : "end of line");
    for (unsigned i = 0; i < t->n_out; i++) {
        if (!(w = word(&s)))
            bad(r, "%u outputs are missing", t->n_out - i);
        row.out[i] = value_read(r, w, t->out[i].type->bytes, t->out[i].type->lanes, true);
    }
    if ((w = word(&s)))
        bad(r, "'%s' is one value too many", w);
    for (unsigned i = 0; i < times; i++) {
        t->rows = grown(t->rows, t->n_rows, sizeof *t->rows);
        t->rows[t->n_rows++] = row;
    }
}

static void oracle_read(const struct reader *r, struct test *t, char *s)
{
    static const char *const bounds[BOUND_COUNT] = {"ulp", "rel", "abs"};
    char *w = word(&s);
    t->oracle = ORACLE_COUNT;
    for (int i = 0; w && i < ORACLE_COUNT; i++)
        if (strcmp(w, oracle_names[i]) == 0)
            t->oracle = (enum oracle)i;
    if (t->oracle == ORACLE_COUNT)
        bad(r, "the oracle is one of isa, ptxas, exact, bound");
    for (bool any = false; t->oracle == ORACLE_BOUND; any = true) {
        char *rest = s;
        int kind = 0;
        size_t n = strcspn(s += strspn(s, " "), " \n");
        while (kind < BOUND_COUNT && !(n == strlen(bounds[kind]) && strncmp(s, bounds[kind], n) == 0))
            kind++;
        if (kind == BOUND_COUNT) {
            if (!any)
                bad(r, "a bound is 'ulp N', 'rel X' or 'abs X'");
            s = rest;
            break;
        }
        s += n;
        if (!(w = word(&s)))
            bad(r, "%s of what?", bounds[kind]);
        t->bound[kind] = real(r, w);
    }
    t->note = s + strspn(s, " ");
}

static void launch_read(const struct reader *r, struct test *t, char *s)
{
    for (char *w; (w = word(&s));) {
        char *value = strchr(w, '=');
        if (!value)
            bad(r, "'%s': write grid=2x1 block=64 cluster=2 shared=1024", w);
        *value++ = 0;
        unsigned *to = strcmp(w, "grid") == 0 ? t->grid : strcmp(w, "block") == 0 ? t->block : strcmp(w, "cluster") == 0 ? t->cluster : NULL;
        if (strcmp(w, "shared") == 0)
            t->shared = number(r, value);
        else if (!to)
            bad(r, "unknown '%s'; there are grid, block, cluster and shared", w);
        t->block_given |= to == t->block;
        for (int i = 0; to && i < 3 && (w = strtok(i ? NULL : value, "x")); i++)
            to[i] = number(r, w);
    }
}

/* Numbers of 2, 4, 8 or 16 digits, each stored as 1, 2, 4 or 8 bytes, low byte first; @N goes to byte N; V*N repeats. */
static void bytes_read(const struct reader *r, struct bytes *b, char *s, bool expected)
{
    size_t at = 0;
    for (char *w; (w = word(&s));) {
        if (*w == '@') {
            at = number(r, w + 1);
            continue;
        }
        char *star = strchr(w, '*');
        unsigned times = star ? number(r, star + 1) : 1;
        if (star)
            *star = 0;
        size_t n = strlen(w) / 2;
        if (n * 2 != strlen(w) || (n != 1 && n != 2 && n != 4 && n != 8))
            bad(r, "'%s' has not 2, 4, 8 or 16 digits", w);
        struct value v = value_read(r, w, (unsigned)n, 0, expected);
        for (unsigned i = 0; i < times; i++, at += n) {
            if (at + n > b->size)
                bad(r, "the buffer has %zu bytes; '%s' is beyond", b->size, w);
            memcpy(b->at + at, &v.bits[0], n);
            memcpy(b->care + at, &v.care[0], n);
        }
    }
}

static struct bytes bytes_new(size_t size)
{
    return (struct bytes){cases_must(calloc(size + 1, 1)), cases_must(calloc(size + 1, 1)), size};
}

static const char *joined(const char *before, const char *text)
{
    char *s = cases_must(malloc((before ? strlen(before) : 0) + strlen(text) + 2));
    sprintf(s, "%s%s%s", before ? before : "", before ? "\n" : "", text);
    return s;
}

/* ---- files ---- */

static void case_begin(struct reader *r, const char *name)
{
    for (size_t i = r->first; i < r->n; i++)
        if (strcmp(r->tests[i].name, name) == 0)
            bad(r, "case '%s' is there already, in line %u", name, r->tests[i].line);
    if (!r->target)
        bad(r, "a case needs a target before it: target sm_80");
    if (!*name)
        bad(r, "a case needs a name");
    r->tests = grown(r->tests, r->n, sizeof *r->tests);
    r->tests[r->n++] = (struct test){.file = r->file, .name = cases_must(strdup(name)), .target = r->target, .version = r->version,
                                     .line = r->line, .grid = {1, 1, 1}, .block = {1, 1, 1}, .oracle = ORACLE_COUNT};
}

static void case_end(struct reader *r)
{
    if (r->n == r->first)
        return;
    struct test *t = &r->tests[r->n - 1];
    unsigned here = r->line;
    r->line = t->line;
    if (t->oracle == ORACLE_COUNT)
        bad(r, "case '%s' names no oracle", t->name);
    if (!t->code)
        bad(r, "case '%s' has no code", t->name);
    if (!t->block_given)
        t->block[0] = t->n_rows ? t->n_rows : 1;
    if (case_threads(t) < t->n_rows)
        bad(r, "case '%s' has %u rows but only %u threads", t->name, t->n_rows, case_threads(t));
    if (!t->n_rows && !t->expect.at && !t->fault && !t->has_after)
        bad(r, "case '%s' expects nothing: it has no row, expect, after or fault", t->name);
    r->line = here;
}

static void keyword(struct reader *r, const char *key, char *rest)
{
    if (strcmp(key, "target") == 0) {
        r->target = cases_must(strdup(rest));
        return;
    }
    if (strcmp(key, "version") == 0) {
        r->version = (unsigned)(10 * real(r, rest) + 0.5);
        return;
    }
    if (strcmp(key, "case") == 0) {
        case_end(r);
        case_begin(r, rest);
        return;
    }
    if (r->n == r->first)
        bad(r, "'%s' before the first case", key);
    struct test *t = &r->tests[r->n - 1];
    char *text = cases_must(strdup(rest));
    if (strcmp(key, "oracle") == 0)
        oracle_read(r, t, text);
    else if (strcmp(key, "in") == 0 && !t->n_rows)
        t->in = fields_read(r, text, &t->n_in, &t->in_stride);
    else if (strcmp(key, "out") == 0 && !t->n_rows)
        t->out = fields_read(r, text, &t->n_out, &t->out_stride);
    else if (strcmp(key, "code") == 0)
        t->code = joined(t->code, text);
    else if (strcmp(key, "decl") == 0)
        t->decl = joined(t->decl, text);
    else if (strcmp(key, "entry") == 0)
        t->entry = text;
    else if (strncmp(key, "row", 3) == 0 && (!key[3] || key[3] == '*'))
        rows_read(r, t, text, key[3] ? number(r, key + 4) : 1);
    else if (strcmp(key, "launch") == 0)
        launch_read(r, t, text);
    else if (strcmp(key, "fault") == 0)
        t->fault = text;
    else if (strcmp(key, "tensormap") == 0)
        t->map = text;
    else if (strcmp(key, "buffer") == 0 && !t->has_buffer) {
        char *size = word(&text);
        t->has_buffer = true;
        t->buffer = bytes_new(size ? number(r, size) : 0);
        bytes_read(r, &t->buffer, text, false);
    } else if (strcmp(key, "texture") == 0 || strcmp(key, "surface") == 0) {
        if (t->n_images == IMAGES)
            bad(r, "a case has at most %d textures and surfaces", IMAGES);
        image_read(&t->images[t->n_images++], text, *key == 's', r->file, r->line);
    } else if (strcmp(key, "after") == 0) {
        image_read_after(t->images, t->n_images, text, r->file, r->line);
        t->has_after = true;
    } else if (strcmp(key, "expect") == 0 && t->has_buffer) {
        if (!t->expect.at)
            t->expect = bytes_new(t->buffer.size);
        bytes_read(r, &t->expect, text, true);
    } else
        bad(r, "'%s' is no keyword, or not at this place", key);
}

void cases_read(const char *path, struct test **tests, size_t *n)
{
    struct reader r = {.file = path, .tests = *tests, .n = *n, .first = *n, .version = 90};
    FILE *f = fopen(path, "r");
    char *text = NULL, *line = NULL;
    size_t room = 0, used = 0;
    unsigned at = 0;
    if (!f) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
    /* A line goes together with the indented ones behind it; comments end at the line's end, where `row` has them behind its values too. */
    for (bool more = true; more;) {
        ssize_t len = getline(&line, &room, f);
        more = len >= 0;
        at++;
        while (more && len > 0 && isspace((unsigned char)line[len - 1]))
            line[--len] = 0;
        if (more && (!line[0] || line[0] == '#'))
            continue;
        if (more && isspace((unsigned char)line[0]) && text) {
            text = grown(text, used + (size_t)len + 1, 1);
            used += (size_t)sprintf(text + used, "\n%s", line + strspn(line, " \t"));
            continue;
        }
        if (text) {
            size_t key = strcspn(text, " \t\n");
            char *rest = text + key + strspn(text + key, " \t\n"), *comment;
            if (strncmp(text, "row", 3) == 0 && (comment = strchr(rest, '#')))
                *comment = 0;
            text[key] = 0;
            keyword(&r, text, rest);
            free(text);
            text = NULL;
        }
        if (more) {
            r.line = at;
            text = cases_must(strdup(line));
            used = (size_t)len;
        }
    }
    case_end(&r);
    free(line);
    fclose(f);
    *tests = r.tests;
    *n = r.n;
}

unsigned case_threads(const struct test *t)
{
    unsigned n = 1;
    for (int i = 0; i < 3; i++)
        n *= t->grid[i] * t->block[i];
    return n;
}

bool case_is_lanewise(const struct test *t)
{
    /* Instructions that look at other threads, ends of threads, and special registers: %tid, %ctaid, %laneid, %clock .. */
    static const char *const words[] = {"sync", "vote", "activemask", "elect", "bar", "fence", "exit", "ret", "trap", ".shared", "atom",
                                        "%tid", "%ntid", "%ctaid", "%nctaid", "%lane", "%warp", "%nwarp", "%sm", "%nsm", "%grid", "%clock", "%globaltimer", "%pm", "%env", "%cluster",
                                        "%ncluster", "%is_", "%total", "%dynamic", "%aggr", "%reserved", "%current"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(t->code, words[i]))
            return false;
    for (unsigned i = 0; i < t->n_images; i++)
        if (t->images[i].surface)
            return false;
    return t->n_out && t->n_rows && !t->has_buffer && !t->fault && !t->decl && !t->entry && !t->block_given && !t->cluster[0] && !t->shared &&
           t->grid[0] * t->grid[1] * t->grid[2] == 1;
}
