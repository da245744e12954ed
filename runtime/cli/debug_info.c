/* The screens of `info`. Most are tables: a request, and which keys of its answer become columns. */
#include "runtime/cli/debug.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables ---- */

/* key: of the answer; "*" marks the focus; "lanes" are the masks as bits; "place" is function, instruction and line. */
struct column { const char *title, *key; bool right; };
enum { MOST_COLUMNS = 10, CELL = 512 };

static void place_text(const struct wire_line *l, char *out, size_t n)
{
    int used = snprintf(out, n, "%.200s%s%s", show_function(l), wire_get(l, "insn") ? "+" : "", wire_text(l, "insn"));
    if (wire_get(l, "file"))
        snprintf(out + used, n - (size_t)used, "  %.200s:%s", show_file(l), wire_text(l, "line"));
    else if (wire_get(l, "ptx_line"))
        snprintf(out + used, n - (size_t)used, "  ptx %s", wire_text(l, "ptx_line"));
}

static void readable_name(const struct wire_line *l, const char *key, char out[CELL])
{
    char readable_key[32];
    snprintf(readable_key, sizeof readable_key, "%s_name", key);
    if (wire_get(l, readable_key))
        snprintf(out, CELL, "%s", wire_text(l, readable_key));
    else
        demangle(wire_text(l, wire_get(l, key) ? key : "name"), out, CELL);
}

static void cell_text(const struct column *c, const struct wire_line *l, char out[CELL])
{
    if (strcmp(c->key, "*") == 0) {
        snprintf(out, CELL, "%s", wire_number(l, "focus", 0) ? "*" : "");
    } else if (strcmp(c->key, "lanes") == 0) {
        show_lanes_of(l, out);
    } else if (strcmp(c->key, "place") == 0) {
        place_text(l, out, CELL);
    } else if (strcmp(c->key, "base") == 0) {
        snprintf(out, CELL, "%s", show_file(l));
    } else if (strcmp(c->key, "kernel") == 0 || (strcmp(c->key, "function") == 0)) {
        readable_name(l, c->key, out);
    } else {
        snprintf(out, CELL, "%s", wire_text(l, c->key));
    }
}

/* Columns that no row fills are left out; the last is not padded. */
static void table(const struct wire_answer *a, const struct column *columns)
{
    size_t width[MOST_COLUMNS] = {0}, n = 0, last = 0;
    char cell[CELL];
    while (columns[n].title)
        n++;
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < a->lines.n; i++) {
            cell_text(&columns[k], &a->lines.at[i], cell);
            if (strlen(cell) > width[k])
                width[k] = strlen(cell);
        }
        if (width[k] && strlen(columns[k].title) > width[k])
            width[k] = strlen(columns[k].title);
        last = width[k] ? k : last;
    }
    for (size_t i = 0; i <= a->lines.n; i++) {
        for (size_t k = 0; k < n; k++) {
            if (!width[k])
                continue;
            if (i)
                cell_text(&columns[k], &a->lines.at[i - 1], cell);
            else
                snprintf(cell, CELL, "%s", columns[k].title);
            if (k == last)
                tell("%*s", columns[k].right ? (int)width[k] : 0, cell);
            else
                tell(columns[k].right ? "%*s  " : "%-*s  ", (int)width[k], cell);
        }
        tell("\n");
    }
}

/* A screen that needs no kernel can be had while the program runs, as far as the server allows. */
static void screen_table(struct session *s, const char *request, const struct column *columns, const char *nothing)
{
    struct wire_answer a;
    if (!need_program(s))
        return;
    if (ask(s, &a, "%s", request)) {
        if (a.lines.n)
            table(&a, columns);
        else
            tell("%s\n", nothing);
    }
    wire_answer_free(&a);
}

static void screen_matching(struct session *s, const char *what, const char *args, const struct column *columns, const char *nothing)
{
    struct textbuf request = {0};
    textbuf_add(&request, "info %s ", what);
    if (*args)
        wire_add_word(&request, args);
    if (!request.failed)
        screen_table(s, request.at, columns, nothing);
    textbuf_free(&request);
}

/* ---- screens that are tables ---- */

#define TABLE(name, nothing, ...)                                                               \
    static void screen_##name(struct session *s, char *args)                                    \
    {                                                                                           \
        static const struct column columns[] = {__VA_ARGS__, {0}};                              \
        screen_matching(s, #name, args, columns, nothing);                                      \
    }
TABLE(kernels, "no kernel runs or waits", {"", "*", false}, {"Launch", "launch", true}, {"Stream", "stream", true}, {"Grid", "grid", false},
      {"Block", "block", false}, {"Done", "done", true}, {"Of", "blocks", true}, {"Resident", "resident", true}, {"Kernel", "kernel", false})
TABLE(blocks, "no block is resident", {"", "*", false}, {"Block", "block", false}, {"State", "state", false}, {"Warps", "warps", true}, {"SM", "sm", true})
TABLE(warps, "no warp", {"", "*", false}, {"Warp", "warp", true}, {"Lanes", "lanes", false}, {"State", "state", false}, {"Where", "place", false})
TABLE(lanes, "no lane", {"", "*", false}, {"Lane", "lane", true}, {"Thread", "thread", false}, {"State", "state", false}, {"Insn", "insn", true},
      {"PTX", "ptx_line", true}, {"Line", "line", true})
TABLE(locals, "no parameters and no variables", {"Name", "name", false}, {"Space", "space", false}, {"Type", "type", false}, {"Bytes", "bytes", true},
      {"Address", "address", false}, {"Value", "value", false})
TABLE(streams, "no stream", {"Stream", "stream", true}, {"Pending", "pending", true}, {"First", "head", false})
TABLE(allocations, "nothing is allocated", {"Address", "address", false}, {"Bytes", "bytes", true}, {"Kind", "kind", false}, {"By", "what", false}, {"No", "id", true})
TABLE(functions, "no function", {"Kind", "kind", false}, {"Insns", "insns", true}, {"Name", "function", false}, {"File", "base", false}, {"Line", "line", true})
TABLE(devices, "no device", {"Device", "device", true}, {"Name", "name", false}, {"SMs", "sms", true}, {"sm_", "sm", true}, {"Bytes", "bytes", true})
TABLE(barriers, "no warp waits at a barrier", {"Barrier", "barrier", true}, {"Arrived", "arrived", true}, {"Of", "need", true}, {"Warps", "warps", false})
TABLE(modules, "no module is loaded", {"Kernels", "kernels", true}, {"Functions", "functions", true}, {"Module", "name", false}, {"PTX", "ptx", false})
TABLE(variables, "no variable", {"Space", "space", false}, {"Bytes", "bytes", true}, {"Address", "address", false}, {"Type", "type", false}, {"Name", "name", false})

/* ---- the others ---- */

static void screen_line(struct session *s, char *args)
{
    static const struct column columns[] = {{"File", "base", false}, {"Line", "line", true}, {"Function", "function", false},
                                            {"First", "first", true}, {"Last", "last", true}, {0}};
    screen_matching(s, "line", args, columns, "no instruction");
}

static void screen_source(struct session *s, char *args)
{
    static const struct column columns[] = {{"Source", "file", false}, {0}};
    (void)args;
    screen_table(s, "sources", columns, "no code with line information is loaded; compile with -lineinfo");
}

/* All lanes: eight values a row. */
static void register_lanes(const struct wire_line *l)
{
    char *copy = strdup(wire_text(l, "lanes")), *rest = copy, *value;
    tell(wire_get(l, "unwritten") ? "%s  %s  not written yet\n" : "%s  %s\n", wire_text(l, "name"), wire_text(l, "type"));
    for (unsigned lane = 0; copy && (value = word_next(&rest)); lane++) {
        if (lane % 8 == 0)
            tell("  %2u", lane);
        tell("  %12s%s", value, lane % 8 == 7 ? "\n" : "");
    }
    free(copy);
}

/* Takes away the lines of registers that have no value; how many. */
static size_t hide_unwritten(struct wire_answer *a)
{
    size_t kept = 0, all = a->lines.n;
    for (size_t i = 0; i < all; i++) {
        if (wire_get(&a->lines.at[i], "unwritten"))
            wire_line_free(&a->lines.at[i]);
        else
            a->lines.at[kept++] = a->lines.at[i];
    }
    a->lines.n = kept;
    return all - kept;
}

static void screen_registers(struct session *s, char *args)
{
    static const struct column columns[] = {{"Name", "name", false}, {"Type", "type", false}, {"Hex", "hex", true}, {"Value", "value", false}, {0}};
    struct wire_answer a;
    struct textbuf request = {0};
    char *word;
    bool all = false, named = false;
    if (!need_kernel(s))
        return;
    textbuf_add(&request, "info registers");
    while ((word = word_next(&args))) {
        if (strcmp(word, "-all") == 0 || strcmp(word, "-a") == 0) {
            all = true;
            continue;
        }
        named = true;
        textbuf_add(&request, " ");
        wire_add_word(&request, word);
    }
    if (all)
        textbuf_add(&request, " all=1");
    if (!request.failed && ask(s, &a, "%s", request.at)) {
        size_t hidden = named ? 0 : hide_unwritten(&a);
        for (size_t i = 0; all && i < a.lines.n; i++)
            register_lanes(&a.lines.at[i]);
        if (!all && a.lines.n)
            table(&a, columns);
        if (!a.lines.n && !hidden)
            tell("no register\n");
        if (hidden)
            tell("%zu that nothing has written yet\n", hidden);
    }
    if (!request.failed)
        wire_answer_free(&a);
    textbuf_free(&request);
}

static void screen_sm(struct session *s, char *args)
{
    struct wire_answer a;
    uint64_t n = 0;
    if (*args && !word_number(args, &n)) {
        complain(s, "SMs have numbers, not '%.40s'", args);
        return;
    }
    if (!need_program(s))
        return;
    if (ask(s, &a, *args ? "info sm %" PRIu64 : "info sm", n))
        for (size_t i = 0; i < a.lines.n; i++)
            tell("%s\n", wire_text(&a.lines.at[i], "text"));
    wire_answer_free(&a);
}

/* What the server counts, beside what is ours. */
static const struct wire_line *server_row(const struct wire_answer *a, unsigned server)
{
    for (size_t i = 0; server && i < a->lines.n; i++)
        if (wire_number(&a->lines.at[i], "breakpoint", 0) == server)
            return &a->lines.at[i];
    return NULL;
}

static void screen_breakpoints(struct session *s, char *args)
{
    struct wire_answer a = {0};
    (void)args;
    if (!s->breakpoints.n) {
        tell("no breakpoints\n");
        return;
    }
    if (s->greeted)
        (void)!wire_call(&s->process.wire, &a, "info breakpoints");
    tell("%3s  %-10s  %-7s  %5s  %s\n", "Num", "Kind", "Enabled", "Hits", "Where");
    for (size_t i = 0; i < s->breakpoints.n; i++) {
        const struct breakpoint *b = &s->breakpoints.at[i];
        const struct wire_line *l = server_row(&a, b->server);
        tell("%3u  %-10s  %-7s  %5s  %s", b->number, b->watch ? "watchpoint" : "breakpoint", b->disabled ? "no" : "yes", l ? wire_text(l, "hits") : "0", b->what);
        if (b->watch && strstr(b->request, " mode=read"))
            tell(", read");
        if (b->watch && strstr(b->request, " mode=access"))
            tell(", read or written");
        if (l && wire_number(l, "places", 1) == 0)
            tell(", pending");
        if (l && wire_number(l, "places", 1) > 1)
            tell(", %s places", wire_text(l, "places"));
        if (b->temporary)
            tell(", once");
        tell("\n");
        if (b->condition)
            tell("%33s if %s\n", "", b->condition);
        uint64_t ignore = l ? wire_number(l, "ignore", 0) : b->ignore;
        if (ignore)
            tell("%33s passed %" PRIu64 " more %s\n", "", ignore, ignore == 1 ? "time" : "times");
        for (size_t k = 0; k < b->commands.n; k++)
            tell("%33s > %s\n", "", b->commands.at[k]);
    }
    wire_answer_free(&a);
}

static void screen_display(struct session *s, char *args)
{
    (void)args;
    if (!s->displays.n)
        tell("nothing is displayed\n");
    for (size_t i = 0; i < s->displays.n; i++) {
        const struct display *d = &s->displays.at[i];
        tell("%u: %s%s%s%s\n", d->number, d->format[0] ? "/" : "", d->format, d->format[0] ? " " : "", d->expression);
    }
}

static void screen_program(struct session *s, char *args)
{
    (void)args;
    tell("program  %s\n", s->path);
    if (s->state == NO_PROGRAM)
        tell("state    does not run\n");
    else
        tell("process  %d\nstate    %s\nmode     %s\n", (int)s->process.pid, s->state == RUNNING ? "running" : has_kernel(s) ? "stopped in a kernel" : "stopped",
             s->sim ? "simulated GPU" : "functional");
}

/* ---- the command ---- */

struct screen { const char *name, *syntax, *help; void (*show)(struct session *, char *args); };
static const struct screen screens[] = {
#define SCREEN(name, syntax, handler, help) {name, syntax, help, screen_##handler},
#include "runtime/cli/debug_info.def"
};
enum { N_SCREENS = sizeof screens / sizeof *screens };

void info_help(void)
{
    tell("\n");
    for (int i = 0; i < N_SCREENS; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", screens[i].name, screens[i].syntax);
        tell("  info %-27s %s\n", left, screens[i].help);
    }
}

/* `info b`: the first screen in the table's order that has it as a beginning, except that the usual ones come first. */
static const struct screen *screen_find(const char *word)
{
    static const char *const usual[] = {"breakpoints", "registers", "locals", "lanes", "warps", "streams", "functions", "devices", "modules", "kernels"};
    for (size_t u = 0; u < sizeof usual / sizeof *usual; u++)
        for (int i = 0; i < N_SCREENS; i++)
            if (strcmp(screens[i].name, usual[u]) == 0 && word_is(word, usual[u], 1))
                return &screens[i];
    for (int i = 0; i < N_SCREENS; i++)
        if (word_is(word, screens[i].name, 1))
            return &screens[i];
    return NULL;
}

void command_info(struct session *s, const char *unused, char *args)
{
    char *word = word_next(&args);
    (void)unused;
    if (word && strcmp(word, "cuda") == 0)     /* cuda-gdb's `info cuda warps` */
        word = word_next(&args);
    if (!word) {
        complain(s, "info: what? `help info` lists the screens");
        return;
    }
    const struct screen *screen = NULL;
    for (int i = 0; i < N_SCREENS && !screen; i++)
        if (strcmp(word, screens[i].name) == 0)
            screen = &screens[i];
    screen = screen ? screen : screen_find(word);
    if (screen)
        screen->show(s, word_skip(args));
    else
        complain(s, "there is no screen '%.40s'; `help info` lists them", word);
}

void command_info_sm(struct session *s, const char *word, char *args)
{
    (void)word;
    screen_sm(s, args);
}
