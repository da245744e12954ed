/* Values: print, display, set, x. */
#include "runtime/cli/debug.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- expressions ---- */

/* $1, $ (the last), $$ (the one before), $$3 (three before): how many bytes name a printed value, and which it is (from 1). 0: none. */
static size_t history_name(const struct session *s, const char *p, size_t *index)
{
    size_t dollars = *p == '$' ? 1 + (p[1] == '$') : 0, digits = strspn(p + dollars, "0123456789");
    size_t n = digits ? strtoul(p + dollars, NULL, 10) : dollars - 1, last = s->values.n;
    if (!dollars || (!digits && (isalnum((unsigned char)p[dollars]) || p[dollars] == '_')))
        return 0;
    *index = dollars == 1 && digits ? n : n < last ? last - n : 0;
    return *index && *index <= last ? dollars + digits : 0;
}

/* Replaces the names of printed values, and $pc; what else begins with $ is the server's. */
void print_expand(const struct session *s, const char *text, struct textbuf *out)
{
    for (const char *p = text; *p;) {
        size_t index, used = history_name(s, p, &index);
        if (used) {
            textbuf_add(out, "(%s)", s->values.at[index - 1]);
            p += used;
        } else if (strncmp(p, "$pc", 3) == 0 && !isalnum((unsigned char)p[3]) && wire_get(&s->place, "pc")) {
            textbuf_add(out, "%s", wire_text(&s->place, "pc"));
            p += 3;
        } else {
            textbuf_add_bytes(out, p++, 1);
        }
    }
}

/* Evaluates in the focus. False: complained. *a is to be freed either way. */
static bool evaluate(struct session *s, const char *expression, const char *format, struct wire_answer *a)
{
    struct textbuf expanded = {0}, word = {0};
    *a = (struct wire_answer){0};
    print_expand(s, expression, &expanded);
    if (!expanded.failed && expanded.at)
        wire_add_word(&word, expanded.at);
    bool ok = word.at && !word.failed && ask(s, a, *format ? "eval %s format=%s" : "eval %s", word.at, format);
    textbuf_free(&expanded);
    textbuf_free(&word);
    return ok;
}

/* "/x rest" -> "x"; false: complained. Without a slash the format is empty. */
static bool take_format(struct session *s, char **args, char format[16])
{
    format[0] = 0;
    if (**args != '/')
        return true;
    char *word = word_next(args) + 1;
    *args = word_skip(*args);
    if (strlen(word) != 1 || !strchr("xduotfcasi", *word)) {
        complain(s, "a format is one of x d u o t f c a s, not '%.20s'", word);
        return false;
    }
    snprintf(format, 16, "%s", word);
    return true;
}

static void remember(struct session *s, const char *value)
{
    bool number = isdigit((unsigned char)*value) || *value == '-';
    char *copy = strndup(value, number ? strcspn(value, " ") : strlen(value));     /* 65 'A' is 65 */
    if (copy && !vec_push(&s->values, copy))
        free(copy);
}

/* gdb's `EXPR@COUNT`: cuts the count off. 0: it has none (`@shared` and its like have no number). */
static uint64_t take_count(char *expression)
{
    char *at = strrchr(expression, '@');
    uint64_t n;
    if (!at || at == expression || !word_number(at + 1, &n) || !n)
        return 0;
    *at = 0;
    return n;
}

/* As many things as lie behind each other where the expression is. False: complained. */
static bool array_text(struct session *s, const char *expression, uint64_t count, const char *format, struct textbuf *out)
{
    enum { MOST_ELEMENTS = 200 };
    for (uint64_t i = 0; i < count && i < MOST_ELEMENTS; i++) {
        struct wire_answer a;
        struct textbuf element = {0};
        textbuf_add(&element, "(&(%s))[%" PRIu64 "]", expression, i);
        bool ok = !element.failed && evaluate(s, element.at, format, &a) && a.lines.n;
        if (ok)
            textbuf_add(out, "%s%s", i ? ", " : "{", wire_text(&a.lines.at[0], "value"));
        if (!element.failed)
            wire_answer_free(&a);
        textbuf_free(&element);
        if (!ok)
            return false;
    }
    textbuf_add(out, count > MOST_ELEMENTS ? ", ...}" : "}");
    return !out->failed;
}

/* What `print` shows. False: complained. */
static bool value_text(struct session *s, char *expression, const char *format, struct textbuf *out)
{
    struct wire_answer a;
    uint64_t count = take_count(expression);
    if (count)
        return array_text(s, expression, count, format, out);
    bool ok = evaluate(s, expression, format, &a) && a.lines.n;
    if (ok)
        textbuf_add(out, "%s", wire_text(&a.lines.at[0], "value"));
    wire_answer_free(&a);
    return ok && !out->failed;
}

void command_print(struct session *s, const char *word, char *args)
{
    struct textbuf value = {0};
    char format[16], last[] = "$";
    (void)word;
    if (!take_format(s, &args, format))
        return;
    if (!*args)
        args = last;
    if (strcmp(args, "$") == 0 && !s->values.n) {
        complain(s, "print: what? Nothing has been printed yet that could be printed again");
        return;
    }
    if (!need_program(s))
        return;
    size_t index, used = history_name(s, args, &index);
    if (used && !args[used] && !*format && *s->values.at[index - 1] == '{') {          /* no expression can be made of it */
        textbuf_add(&value, "%s", s->values.at[index - 1]);
        remember(s, value.at);
        tell("$%zu = %s\n", s->values.n, value.at);
    } else if (value_text(s, args, format, &value)) {
        remember(s, value.at);
        tell("$%zu = %s\n", s->values.n, value.at);
    }
    textbuf_free(&value);
}

static void set_arguments_of(struct session *s, char *args)
{
    if (!arguments_set(s, args))
        complain(s, "no memory");
}

void command_set(struct session *s, const char *word, char *args)
{
    /* Scripts for gdb begin with these; here nothing pages and nothing asks. */
    static const char *const accepted[] = {"pagination", "confirm", "width", "height", "print", "logging", "style", "history", "listsize", "cuda"};
    struct wire_answer a;
    char first[32];
    (void)word;
    snprintf(first, sizeof first, "%.*s", (int)strcspn(args, " \t="), args);
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++)
        if (strcmp(first, accepted[i]) == 0 && args[strlen(first)] != '=')
            return;
    if (strcmp(first, "trace-commands") == 0) {
        s->trace_commands = strstr(args, "off") == NULL;
        return;
    }
    if (strcmp(first, "args") == 0) {
        set_arguments_of(s, word_skip(args + 4));
        return;
    }
    if (strcmp(first, "var") == 0 || strcmp(first, "variable") == 0)
        args = word_skip(args + strlen(first));
    if (!strchr(args, '=')) {
        complain(s, "set: what? For example: set %%r1 = 5, set *(float*)0x201000000000 = 1, set args 100");
        return;
    }
    if (need_program(s)) {
        (void)!evaluate(s, args, "", &a);
        wire_answer_free(&a);
    }
}

/* ---- display ---- */

static void show_display(struct session *s, const struct display *d)
{
    if (d->format[0] == 'i' || d->format[0] == 's' || strpbrk(d->format, "0123456789")) {
        char *copy;
        tell("%u: x/%s %s\n", d->number, d->format, d->expression);
        if (asprintf(&copy, "/%s %s", d->format, d->expression) >= 0) {
            command_examine(s, "", copy);
            free(copy);
        }
        return;
    }
    struct textbuf value = {0};
    char *expression = strdup(d->expression);
    tell("%u: %s = ", d->number, d->expression);
    if (expression && value_text(s, expression, d->format, &value))       /* it complains in the same line */
        tell("%s\n", value.at);
    textbuf_free(&value);
    free(expression);
}

void show_displays(struct session *s)
{
    bool failed = s->failed;
    for (size_t i = 0; i < s->displays.n && s->state == STOPPED; i++)
        show_display(s, &s->displays.at[i]);
    s->failed = failed;                        /* a name that means nothing here ends no script */
}

void command_display(struct session *s, const char *word, char *args)
{
    struct display d = {0};
    (void)word;
    if (!*args) {
        show_displays(s);
        return;
    }
    if (*args == '/') {
        char *format = word_next(&args) + 1;
        args = word_skip(args);
        if (strlen(format) >= sizeof d.format || strspn(format, "0123456789xduotfcasibhwg") != strlen(format)) {
            complain(s, "'%.20s' is no format", format);
            return;
        }
        snprintf(d.format, sizeof d.format, "%s", format);
    }
    if (!*args) {
        complain(s, "display: which expression?");
        return;
    }
    d.expression = strdup(args);
    d.number = ++s->next_display;
    if (!d.expression || !vec_push(&s->displays, d)) {
        free(d.expression);
        complain(s, "no memory");
    } else if (has_kernel(s)) {
        show_display(s, &d);
    }
}

void command_undisplay(struct session *s, const char *word, char *args)
{
    char *number;
    (void)word;
    if (!*args) {
        for (size_t i = 0; i < s->displays.n; i++)
            free(s->displays.at[i].expression);
        s->displays.n = 0;
    }
    while ((number = word_next(&args))) {
        uint64_t n;
        size_t i = 0;
        if (!word_number(number, &n))
            n = 0;
        while (i < s->displays.n && s->displays.at[i].number != n)
            i++;
        if (i == s->displays.n) {
            complain(s, "there is no display '%.40s'", number);
            return;
        }
        free(s->displays.at[i].expression);
        memmove(&s->displays.at[i], &s->displays.at[i + 1], (s->displays.n - i - 1) * sizeof *s->displays.at);
        s->displays.n--;
    }
}
