/* Finding, running and explaining commands. */
#include "runtime/cli/debug.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/settings.h"

enum { NO, SAME, BARE };

const struct command commands[] = {
#define SECTION(title) {.section = title},
#define COMMAND(name, shortest, repeats, handler, word, syntax, help) {name, shortest, repeats, command_##handler, word, syntax, help, NULL},
#include "runtime/cli/debug.def"
    {0},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands - 1 };

void tell(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
}

void complain(struct session *s, const char *fmt, ...)
{
    va_list ap;
    char text[2048];
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    text[strcspn(text, "\n")] = 0;             /* one line, whatever was typed, and nothing that a terminal takes for an order */
    for (char *c = text; *c; c++)
        *c = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
    tell("%s\n", text);
    s->failed = true;
}

/* ---- finding ---- */

static void say_ambiguous(struct session *s, const char *word)
{
    char list[512] = "";
    for (int i = 0; i < N_COMMANDS; i++)
        if (commands[i].name && word_is(word, commands[i].name, 1) && strlen(list) + strlen(commands[i].name) + 3 < sizeof list) {
            strcat(list, *list ? ", " : "");
            strcat(list, commands[i].name);
        }
    complain(s, "'%s' may be %s", word, list);
}

static void say_unknown(struct session *s, const char *word)
{
    const char *near = NULL;
    unsigned best = 3;
    for (int i = 0; i < N_COMMANDS; i++) {
        unsigned d = commands[i].name && strlen(word) > 2 ? text_distance(commands[i].name, word) : best;
        if (d < best) {
            best = d;
            near = commands[i].name;
        }
    }
    if (near)
        complain(s, "there is no command '%.40s'; did you mean '%s'?", word, near);
    else
        complain(s, "there is no command '%.40s'; `help` lists them", word);
}

const struct command *command_find(struct session *s, const char *word)
{
    const struct command *found = NULL;
    unsigned n = 0;
    for (int i = 0; i < N_COMMANDS; i++)
        if (commands[i].name && (strcmp(word, commands[i].name) == 0 || strcmp(word, commands[i].shortest) == 0))
            return &commands[i];
    for (int i = 0; i < N_COMMANDS; i++) {
        const struct command *c = &commands[i];
        if (!c->name || !word_is(word, c->name, 1))
            continue;
        if (strncmp(word, c->shortest, strlen(c->shortest)) == 0)
            return c;
        found = c;
        n++;
    }
    if (n == 1)
        return found;
    if (n)
        say_ambiguous(s, word);
    else
        say_unknown(s, word);
    return NULL;
}

/* ---- running ---- */

/* The command's word ends where letters end, so that `x/16xw`, `p/x` and `print(1)` are understood. `reverse-step` keeps its hyphen. */
static size_t word_length(const char *line)
{
    size_t n = 0;
    while ((line[n] >= 'a' && line[n] <= 'z') || (line[n] >= 'A' && line[n] <= 'Z') || (n && (line[n] == '-' || line[n] == '_')))
        n++;
    return n ? n : strcspn(line, " \t");
}

static void run_one(struct session *s, const char *line)
{
    char *copy = strdup(line), word[64];
    if (!copy)
        return;
    char *at = word_skip(copy);
    size_t n = word_length(at), end = strlen(at);
    while (end && (at[end - 1] == ' ' || at[end - 1] == '\t' || at[end - 1] == '\r'))
        at[--end] = 0;
    s->failed = false;
    if (*at && *at != '#') {
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        const struct command *c = command_find(s, word);
        if (c) {
            if (c->repeats == NO)
                s->repeat[0] = 0;
            else
                snprintf(s->repeat, sizeof s->repeat, "%s", c->repeats == BARE ? c->name : at);
            c->run(s, c->word, word_skip(at + (n < end ? n : end)));
        }
    }
    free(copy);
}

/* The commands of the breakpoint that stopped us; one that runs on drops those behind it, as gdb does. */
static void run_breakpoint_commands(struct session *s)
{
    while (s->stopped_at && !s->quitting) {
        struct breakpoint *b = breakpoint_find(s, s->stopped_at);
        VEC(char *) lines = {0};
        s->stopped_at = 0;
        for (size_t i = 0; b && i < b->commands.n; i++) {
            char *copy = strdup(b->commands.at[i]);
            if (copy && !vec_push(&lines, copy))
                free(copy);
        }
        for (size_t i = 0; i < lines.n; i++) {
            uint64_t before = s->resumed;
            run_one(s, lines.at[i]);
            if (s->failed || s->resumed != before || s->quitting)
                break;
        }
        for (size_t i = 0; i < lines.n; i++)
            free(lines.at[i]);
        vec_free(&lines);
    }
}

void command_line(struct session *s, const char *line)
{
    run_one(s, line);
    bool failed = s->failed;
    run_breakpoint_commands(s);
    s->failed |= failed;
}

void command_file(struct session *s, const char *path)
{
    enum { DEEPEST = 16 };
    if (s->depth >= DEEPEST) {
        complain(s, "%s: command files in command files, %d deep", path, DEEPEST);
        return;
    }
    FILE *f = fopen(path, "re");
    bool folder = f && fseek(f, 0, SEEK_END) == 0 && ftell(f) == LONG_MAX;         /* what a folder's end is */
    if (!f || folder) {
        complain(s, "%s: %s", path, strerror(f ? EISDIR : errno));
        if (f)
            fclose(f);
        return;
    }
    rewind(f);
    struct input *in = input_plain(s, f, path), *before = s->input;
    const char *line;
    bool interrupted = false;
    s->input = in;
    s->depth++;
    s->failed_depth = 0;
    s->failed = false;
    while (in && !s->quitting && !s->failed && (line = input_line(in, "(heddle) ", &interrupted)))
        command_line(s, line);
    if (s->failed && s->failed_depth <= s->depth) {        /* the innermost file tells for those around it */
        tell("%s:%u: the rest of the file is left out\n", path, input_line_number(in));
        s->failed_depth = s->depth;
    }
    s->depth--;
    s->input = before;
    input_close(in);
}

/* ---- small commands ---- */

void command_source(struct session *s, const char *word, char *args)
{
    (void)word;
    if (*args)
        command_file(s, args);
    else
        complain(s, "source: which file?");
}

void command_echo(struct session *s, const char *word, char *args)
{
    (void)s;
    (void)word;
    for (const char *p = args; *p; p++) {
        if (*p != '\\' || !p[1]) {
            fputc(*p, stderr);
            continue;
        }
        p++;
        fputc(*p == 'n' ? '\n' : *p == 't' ? '\t' : *p, stderr);
    }
}

void command_quit(struct session *s, const char *word, char *args)
{
    uint64_t status;
    (void)word;
    if (*args && !(word_number(args, &status) && status < 256)) {
        complain(s, "quit: an exit status is a number from 0 to 255");
        return;
    }
    if (*args)
        s->exit_status = (int)status;
    s->status_given = *args != 0;
    s->quitting = true;
}

void command_directory(struct session *s, const char *word, char *args)
{
    (void)word;
    if (*args)
        source_folder(&s->sources, args);
    else
        complain(s, "directory: which folder?");
}

void command_show(struct session *s, const char *word, char *args)
{
    (void)word;
    if (word_is(args, "args", 1)) {
        for (char **a = s->argv + 1; *a; a++)
            tell("%s%s", *a, a[1] ? " " : "");
        for (int i = 0; i < 2; i++)
            if (s->redirect[i])
                tell(" %c%s", "<>"[i], s->redirect[i]);
        tell("\n");
    } else if (word_is(args, "directories", 1)) {
        for (size_t i = 0; i < s->sources.folders.n; i++)
            tell("%s\n", s->sources.folders.at[i]);
    } else if (word_is(args, "version", 1)) {
        tell("heddle " HEDDLE_VERSION "\n");
    } else {
        complain(s, "show takes one of: args, directories, version");
    }
}

/* ---- help ---- */

static void help_one(const struct command *c)
{
    tell("%s %s\n  %s", c->name, c->syntax, c->help);
    if (strcmp(c->shortest, c->name) != 0)
        tell("\n  short: %s", c->shortest);
    tell("\n");
}

/* The list of all commands has what stands before the first "; " or ": ". */
static size_t short_length(const char *help)
{
    size_t n = 0;
    while (help[n] && !((help[n] == ';' || help[n] == ':') && help[n + 1] == ' '))
        n++;
    return n;
}

void command_help(struct session *s, const char *word, char *args)
{
    char *name = word_next(&args);
    (void)word;
    if (name) {
        const struct command *c = command_find(s, name);
        if (c)
            help_one(c);
        if (c && c->run == command_info)
            info_help();
        return;
    }
    for (int i = 0; i < N_COMMANDS; i++) {
        const struct command *c = &commands[i];
        char left[64];
        if (c->section) {
            tell("%s%s%s%s\n", i ? "\n" : "", bold(stderr), c->section, plain(stderr));
            continue;
        }
        bool shorter = strcmp(c->shortest, c->name) != 0;
        snprintf(left, sizeof left, "%s%s%s", c->name, shorter ? ", " : "", shorter ? c->shortest : "");
        tell("  %-22s %.*s\n", left, (int)short_length(c->help), c->help);
    }
    tell("\n`help COMMAND` tells the whole; an empty line repeats the last command; any beginning that is unique will do.\n");
}
