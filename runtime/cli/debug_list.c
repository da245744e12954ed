/* Texts of the program: source lines, PTX, instructions; and the calls that led here. */
#include "runtime/cli/debug.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SCREEN_LINES = 10 };

/* ---- list ---- */

static void list_lines(struct session *s, const char *file, uint64_t first, uint64_t last)
{
    const struct source_file *f = source_open(&s->sources, file);
    if (!f) {
        complain(s, "%s is not here; `directory FOLDER` says where it is", file);
        return;
    }
    if (first > f->lines.n) {
        complain(s, "%s has %zu lines", file, f->lines.n);
        return;
    }
    bool here = has_kernel(s) && strcmp(wire_text(&s->place, "file"), file) == 0;
    uint64_t current = here ? wire_number(&s->place, "line", 0) : 0;
    const char *text;
    for (uint64_t n = first; n <= last && (text = source_line(f, n)); n++)
        tell("%s%" PRIu64 "\t%s\n", n == current ? "=>" : "  ", n, text);
    if (s->list_file != file)
        snprintf(s->list_file, sizeof s->list_file, "%s", file);
    s->list_first = (unsigned)first;
    s->list_last = (unsigned)(last < f->lines.n ? last : f->lines.n);
}

static void list_around(struct session *s, const char *file, uint64_t line)
{
    uint64_t first = line > SCREEN_LINES / 2 ? line - SCREEN_LINES / 2 : 1;
    list_lines(s, file, first, first + SCREEN_LINES - 1);
}

/* A function's name: the server knows where it begins. */
static void list_function(struct session *s, const char *name)
{
    struct wire_answer a;
    struct textbuf word = {0};
    if (!need_program(s))
        return;
    wire_add_word(&word, name);
    if (!word.failed && ask(s, &a, "info line %s", word.at)) {
        const struct wire_line *l = a.lines.n ? &a.lines.at[0] : NULL;
        if (l && wire_get(l, "file"))
            list_around(s, wire_text(l, "file"), wire_number(l, "line", 1));
        else
            complain(s, "%s has no line information; compile it with -lineinfo", name);
    }
    if (!word.failed)
        wire_answer_free(&a);
    textbuf_free(&word);
}

static void list_more(struct session *s, bool back)
{
    uint64_t line = wire_number(&s->place, "line", 0);
    if (!s->list_file[0])
        complain(s, "list: of which file? No line is known yet; `list FILE:LINE`");
    else if (!s->list_first)
        list_around(s, s->list_file, has_kernel(s) && line ? line : 1);
    else if (!back)
        list_lines(s, s->list_file, s->list_last + 1, s->list_last + SCREEN_LINES);
    else if (s->list_first > 1)
        list_lines(s, s->list_file, s->list_first > SCREEN_LINES ? s->list_first - SCREEN_LINES : 1, s->list_first - 1);
    else
        complain(s, "line 1 is the first");
}

void command_list(struct session *s, const char *word, char *args)
{
    uint64_t from, to;
    char *comma = strchr(args, ','), *colon = strrchr(args, ':');
    (void)word;
    if (!*args || strcmp(args, "-") == 0) {
        list_more(s, *args == '-');
    } else if (colon && word_number(colon + 1, &from)) {
        *colon = 0;
        list_around(s, args, from);
    } else if (comma && (*comma = 0, word_number(args, &from)) && word_number(word_skip(comma + 1), &to) && s->list_file[0]) {
        list_lines(s, s->list_file, from ? from : 1, to);
    } else if (word_number(args, &from)) {
        if (s->list_file[0])
            list_around(s, s->list_file, from);
        else
            complain(s, "list: of which file? No line is known yet; `list FILE:LINE`");
    } else {
        if (comma)
            *comma = ',';
        list_function(s, args);
    }
}

/* ---- PTX and instructions ---- */

void command_ptx(struct session *s, const char *word, char *args)
{
    struct wire_answer a;
    uint64_t from = s->ptx_next, current = wire_number(&s->place, "ptx_line", 0);
    (void)word;
    if (*args && !word_number(args, &from)) {
        complain(s, "ptx takes the number of a line, not '%.40s'", args);
        return;
    }
    if (!need_kernel(s))
        return;
    if (!from)
        from = current > SCREEN_LINES / 2 ? current - SCREEN_LINES / 2 : 1;
    if (ask(s, &a, "ptx from=%" PRIu64 " count=%d", from, SCREEN_LINES)) {
        if (!a.lines.n)
            complain(s, "the PTX ends before line %" PRIu64, from);
        for (size_t i = 0; i < a.lines.n; i++) {
            const struct wire_line *l = &a.lines.at[i];
            bool here = wire_number(l, "ptx_line", 0) == current;
            tell("%s%s\t%s\n", here ? "=>" : "  ", wire_text(l, "ptx_line"), wire_text(l, "text"));
        }
        s->ptx_next = (unsigned)(from + a.lines.n);
    }
    wire_answer_free(&a);
}

void show_code(const struct wire_answer *a)
{
    const char *file = "", *line = "";
    for (size_t i = 0; i < a->lines.n; i++) {
        const struct wire_line *l = &a->lines.at[i];
        if (wire_get(l, "line") && (strcmp(wire_text(l, "line"), line) != 0 || strcmp(wire_text(l, "file"), file) != 0)) {
            file = wire_text(l, "file");
            line = wire_text(l, "line");
            tell("%s:%s\n", show_file(l), line);
        }
        tell("%s%c +%-4s %5s  %s\n", wire_number(l, "current", 0) ? "=>" : "  ", wire_get(l, "breakpoint") ? 'b' : ' ', wire_text(l, "insn"),
             wire_text(l, "ptx_line"), wire_text(l, "text"));
    }
}

void command_disassemble(struct session *s, const char *word, char *args)
{
    struct wire_answer a;
    struct textbuf at = {0};
    (void)word;
    if (!need_program(s))
        return;
    if (*args) {
        textbuf_add(&at, " at=");
        wire_add_word(&at, args);
    }
    if (!at.failed && ask(s, &a, "disassemble%s", *args ? at.at : ""))
        show_code(&a);
    if (!at.failed)
        wire_answer_free(&a);
    textbuf_free(&at);
}

/* ---- calls ---- */

static void say_frame(const struct wire_line *l)
{
    tell("#%-2s %s+%s", wire_text(l, "frame"), show_function(l), wire_text(l, "insn"));
    if (wire_get(l, "file"))
        tell("  %s:%s", show_file(l), wire_text(l, "line"));
    else
        tell("  ptx line %s", wire_text(l, "ptx_line"));
    tell("\n");
}

void command_backtrace(struct session *s, const char *word, char *args)
{
    struct wire_answer a;
    (void)word;
    (void)args;
    if (!need_kernel(s))
        return;
    if (ask(s, &a, "backtrace"))
        for (size_t i = 0; i < a.lines.n; i++)
            say_frame(&a.lines.at[i]);
    wire_answer_free(&a);
}

void command_frame(struct session *s, const char *word, char *args)
{
    struct wire_answer a;
    uint64_t n = *word ? 1 : s->frame;
    if (!need_kernel(s))
        return;
    if (*args && (!word_number(args, &n) || n > UINT32_MAX / 2)) {
        complain(s, "frames have numbers, not '%.40s'", args);
        return;
    }
    if (*word == 'd' && n > s->frame) {
        complain(s, "this is the innermost call");
        return;
    }
    uint64_t want = *word == 'u' ? s->frame + n : *word == 'd' ? s->frame - n : n;
    bool ok = ask(s, &a, "focus frame=%" PRIu64, want);
    wire_answer_free(&a);
    if (ok && ask(s, &a, "backtrace") && want < a.lines.n) {
        const struct wire_line *l = &a.lines.at[want];
        say_frame(l);
        if (wire_get(l, "line")) {
            show_source_line(s, wire_text(l, "file"), (unsigned)wire_number(l, "line", 0));
            snprintf(s->list_file, sizeof s->list_file, "%s", wire_text(l, "file"));
            s->list_first = 0;
        }
        s->frame = (unsigned)want;
        wire_answer_free(&a);
    }
}

/* ---- focus ---- */

void command_focus(struct session *s, const char *cuda, char *args)
{
    static const char *const words[] = {"block", "thread", "warp", "lane", "launch", "kernel", "grid", "device", "sm"};
    struct wire_answer a;
    struct textbuf request = {0};
    char *word, place[64];
    if (!need_kernel(s))
        return;
    textbuf_add(&request, "focus");
    while ((word = word_next(&args))) {
        size_t i = 0, n = sizeof words / sizeof *words;
        while (i < n && strcmp(word, words[i]) != 0)
            i++;
        if (i == n || (!*cuda && i > 4)) {
            complain(s, "'%.40s' is none of: block, thread, warp, lane, launch", word);
            goto out;
        }
        char *value = word_next(&args);
        if (!value && *cuda)
            break;                             /* `cuda block` asks */
        if (!value || !word_coordinates(value, place)) {
            complain(s, "%s: which one? For example %s", word, i < 2 ? "3,0,0" : "1");
            goto out;
        }
        if (i < 7)                             /* cuda-gdb's kernel and grid are our launch; there is no choice of device and SM */
            textbuf_add(&request, " %s=%s", i > 4 ? "launch" : word, place);
    }
    bool ok = !request.failed && ask(s, &a, "%s", request.n > 5 ? request.at : "where");
    if (ok && a.lines.n) {
        place_take(s, &a.lines.at[0]);
        tell("%s\n", show_function(&s->place));
        show_place(s, true);
    }
    wire_answer_free(&a);
out:
    textbuf_free(&request);
}
