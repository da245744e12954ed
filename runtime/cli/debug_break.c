/* break, watch and what is done with their numbers. */
#include "runtime/cli/debug.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- words behind a location ---- */

static const char *const filters[] = {"block", "thread", "warp", "launch", "kernel", "bytes"};
enum { N_FILTERS = sizeof filters / sizeof *filters };

static int filter_of(const char *word)
{
    for (int i = 0; i < N_FILTERS; i++)
        if (strcmp(word, filters[i]) == 0)
            return i;
    return -1;
}

/* The place where the words of options begin in a text: "out[3] + 1 if x" -> " if x". */
static char *options_begin(char *text)
{
    char *copy = strdup(text), *at = copy, *word, *found = text + strlen(text);
    while (copy && (word = word_next(&at))) {
        if (filter_of(word) < 0 && strcmp(word, "if") != 0 && strncmp(word, "if(", 3) != 0)
            continue;
        found = text + (word - copy);
        break;
    }
    free(copy);
    return found;
}

static void trim(char *text)
{
    size_t n = strlen(text);
    while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        text[--n] = 0;
}

/* `block 3,0 thread 12 if EXPR` appended as KEY=VALUE; the condition comes back. False: complained. */
static bool read_options(struct session *s, char *at, struct textbuf *request, char **condition)
{
    char *word, place[64];
    uint64_t n;
    *condition = NULL;
    while (*(at = word_skip(at))) {
        if (at[0] == 'i' && at[1] == 'f' && (at[2] == ' ' || at[2] == '(' || !at[2])) {
            *condition = word_skip(at + 2);
            if (!**condition)
                complain(s, "if: which condition?");
            return **condition != 0;
        }
        word = word_next(&at);
        int filter = filter_of(word);
        char *value = filter < 0 ? NULL : word_next(&at);
        if (filter < 0 || !value) {
            complain(s, filter < 0 ? "'%.60s' is none of: block, thread, warp, launch, kernel, if" : "%s: which one?", word);
            return false;
        }
        bool coordinates = filter < 2, name = strcmp(word, "kernel") == 0;
        if (coordinates ? !word_coordinates(value, place) : !name && !word_number(value, &n)) {
            complain(s, "%s %.60s: that is no %s", word, value, coordinates ? "place like 3,0,0" : "number");
            return false;
        }
        textbuf_add(request, " %s=", word);
        wire_add_word(request, coordinates ? place : value);
    }
    return true;
}

/* ---- break ---- */

/* GPGPU-Sim's `break FILE:LINE UID`: its threads are numbered from 1 in the order of blocks. Cuts the number off the location. */
static bool take_uid(char *location, char condition[512])
{
    char *blank = strrchr(location, ' ');
    uint64_t uid;
    if (!blank || !word_number(blank + 1, &uid) || !uid)
        return false;
    *blank = 0;
    trim(location);
    snprintf(condition, 512, "((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * (blockDim.x * blockDim.y * blockDim.z)"
             " + (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x == %" PRIu64, uid - 1);
    return true;
}

static void add_and_say(struct session *s, bool watch, const char *what, const char *request, const char *condition, bool temporary)
{
    struct wire_answer a = {0};
    struct breakpoint *b = breakpoint_add(s, watch, what, request);
    if (!b)
        return;
    b->temporary = temporary;
    b->condition = condition ? strdup(condition) : NULL;
    if (!s->greeted) {
        breakpoint_say(b, NULL);
        return;
    }
    if (breakpoint_send(s, b, &a)) {
        breakpoint_say(b, &a);
    } else {
        complain(s, "%s", a.error);
        breakpoint_spent(s, b);
        s->next_breakpoint--;
    }
    wire_answer_free(&a);
}

/* A line alone is one of the file that is shown now, also when the program runs again. */
static const char *whole_place(const struct session *s, const char *location, char *buf, size_t n)
{
    uint64_t line;
    if (!has_kernel(s) || !wire_get(&s->place, "file") || !word_number(location, &line))
        return location;
    snprintf(buf, n, "%s:%s", wire_text(&s->place, "file"), location);
    return buf;
}

void command_break(struct session *s, const char *word, char *args)
{
    struct textbuf request = {0};
    char uid[512], here[512], line[PATH_MAX], *condition;
    char *options = options_begin(args);
    char *rest = strdup(options);
    *options = 0;
    trim(args);
    bool by_uid = take_uid(args, uid);
    if (!*args && !has_kernel(s)) {
        complain(s, "%s: where? No kernel stands, so there is no `here`", word);
        free(rest);
        return;
    }
    snprintf(here, sizeof here, "*%s+%s", wire_text(&s->place, "function"), wire_text(&s->place, "insn"));
    textbuf_add(&request, "break at=");
    const char *at = *args ? whole_place(s, args, line, sizeof line) : here;
    wire_add_word(&request, at);
    if (rest && read_options(s, rest, &request, &condition) && !request.failed)
        add_and_say(s, false, *args ? args : here, request.at, condition ? condition : by_uid ? uid : NULL, *word == 't');
    textbuf_free(&request);
    free(rest);
}

void command_watch(struct session *s, const char *mode, char *args)
{
    struct textbuf request = {0};
    char address[64], *condition;
    uint64_t n;
    if (strncmp(args, "-l ", 3) == 0 || strncmp(args, "-location ", 10) == 0)
        args = word_skip(strchr(args, ' '));   /* gdb's word for what we always do */
    char *options = options_begin(args);
    char *rest = strdup(options);
    *options = 0;
    trim(args);
    snprintf(address, sizeof address, "*(int*)%.40s", args);
    char *expression = word_number(args, &n) ? address : args;
    if (!*args) {
        complain(s, "watch: what? A variable, out[3], *(float*)ADDRESS, @shared[0], an address");
        free(rest);
        return;
    }
    textbuf_add(&request, "watch ");
    wire_add_word(&request, expression);
    textbuf_add(&request, " mode=%s", mode);
    if (rest && read_options(s, rest, &request, &condition) && !request.failed)
        add_and_say(s, true, expression, request.at, condition, false);
    textbuf_free(&request);
    free(rest);
}

/* ---- by number ---- */

/* "3" or "3-7": from which breakpoint to which. */
static bool take_range(const char *word, uint64_t *from, uint64_t *to)
{
    char first[24];
    const char *dash = strchr(word, '-');
    size_t n = dash ? (size_t)(dash - word) : strlen(word);
    if (n >= sizeof first)
        return false;
    memcpy(first, word, n);
    first[n] = 0;
    return word_number(first, from) && word_number(dash ? dash + 1 : first, to) && *from <= *to;
}

/* Calls `each` for the breakpoints that args name; none named: all. False: complained, and nothing was done for that word. */
static bool for_numbers(struct session *s, char *args, void (*each)(struct session *, struct breakpoint *, const char *), const char *word)
{
    char *number;
    if (!*args) {
        for (size_t i = s->breakpoints.n; i-- > 0;)
            each(s, &s->breakpoints.at[i], word);
        return true;
    }
    while ((number = word_next(&args))) {
        uint64_t from, to;
        bool good = take_range(number, &from, &to), any = false;
        for (uint64_t n = good ? from : 0; good && n <= to && n <= s->next_breakpoint; n++) {
            struct breakpoint *b = breakpoint_find(s, n);
            any = any || b;
            if (b)
                each(s, b, word);
        }
        if (!any) {
            complain(s, "there is no breakpoint '%.40s'", number);
            return false;
        }
    }
    return true;
}

static void delete_one(struct session *s, struct breakpoint *b, const char *word)
{
    (void)word;
    breakpoint_remove(s, b);
}

void command_delete(struct session *s, const char *word, char *args)
{
    if (word_is(args, "display", 4) || strncmp(args, "display ", 8) == 0)
        command_undisplay(s, word, word_skip(args + strcspn(args, " ")));
    else if (strncmp(args, "breakpoints", 11) == 0)
        for_numbers(s, word_skip(args + 11), delete_one, word);
    else
        for_numbers(s, args, delete_one, word);
}

static void enable_one(struct session *s, struct breakpoint *b, const char *word)
{
    struct wire_answer a;
    b->disabled = *word == 'd';
    if (!b->server || !s->greeted)
        return;
    (void)!ask(s, &a, "%s %u", word, b->server);
    wire_answer_free(&a);
}

void command_enable(struct session *s, const char *word, char *args) { for_numbers(s, args, enable_one, word); }

/* The breakpoint a command's first word names; NULL: complained. */
static struct breakpoint *named(struct session *s, const char *command, char **args)
{
    uint64_t n;
    char *word = word_next(args);
    struct breakpoint *b = word && word_number(word, &n) ? breakpoint_find(s, n) : NULL;
    if (!word)
        complain(s, "%s: of which breakpoint?", command);
    else if (!b)
        complain(s, "there is no breakpoint '%.40s'", word);
    return b;
}

void command_condition(struct session *s, const char *word, char *args)
{
    struct wire_answer a = {0};
    struct textbuf quoted = {0};
    struct breakpoint *b = named(s, "condition", &args);
    (void)word;
    if (!b)
        return;
    args = word_skip(args);
    if (*args)
        wire_add_word(&quoted, args);
    bool ok = !quoted.failed && (!b->server || !s->greeted || ask(s, &a, "condition %u %s", b->server, *args ? quoted.at : ""));
    if (ok) {
        free(b->condition);
        b->condition = *args ? strdup(args) : NULL;
        tell(*args ? "Breakpoint %u stops only if %s\n" : "Breakpoint %u stops always\n", b->number, args);
    }
    wire_answer_free(&a);
    textbuf_free(&quoted);
}

void command_ignore(struct session *s, const char *word, char *args)
{
    struct wire_answer a = {0};
    struct breakpoint *b = named(s, "ignore", &args);
    uint64_t n;
    (void)word;
    if (!b)
        return;
    if (!word_number(word_skip(args), &n)) {
        complain(s, "ignore: how many times?");
        return;
    }
    if (!b->server || !s->greeted || ask(s, &a, "ignore %u %" PRIu64, b->server, n)) {
        b->ignore = n;
        tell("Breakpoint %u will be passed %" PRIu64 " %s\n", b->number, n, n == 1 ? "time" : "times");
    }
    wire_answer_free(&a);
}

/* ---- commands ---- */

static void clear_commands(struct breakpoint *b)
{
    for (size_t i = 0; i < b->commands.n; i++)
        free(b->commands.at[i]);
    b->commands.n = 0;
    b->silent = false;
}

void command_commands(struct session *s, const char *word, char *args)
{
    char number[16];
    const char *line;
    bool interrupted = false;
    (void)word;
    snprintf(number, sizeof number, "%u", s->next_breakpoint);
    char *at = *args ? args : number;
    struct breakpoint *b = named(s, "commands", &at);
    if (!s->input || (!b && !s->terminal && s->depth == 0 && s->batch))
        return;
    if (b)
        clear_commands(b);
    if (s->terminal && s->depth == 0 && b)
        tell("Commands for breakpoint %u, one a line; `end` ends them.\n", b->number);
    /* The lines of a breakpoint that there is not are read as well: they are no commands of the session. */
    while ((line = input_line(s->input, "> ", &interrupted))) {
        while (*line == ' ' || *line == '\t')
            line++;
        if (strncmp(line, "end", 3) == 0 && !*word_skip((char *)(uintptr_t)line + 3))
            return;
        char *copy = b ? strdup(line) : NULL;
        if (b && strcmp(line, "silent") == 0 && !b->commands.n)
            b->silent = true;
        else if (copy && *copy && vec_push(&b->commands, copy))
            continue;
        free(copy);
    }
    if (interrupted && b)
        clear_commands(b);
}
