/* What a stop looks like: why, who, which lanes, the source line, the instruction.
 *
 *     Breakpoint 1, saxpy(int, float, float*)
 *       launch 1  block 0,0,0  thread 5,0,0  warp 0 lane 5  lanes 11111111 ........ ........ ........
 *     17          y[i] = a * x[i];
 *     => saxpy+12                  mul.f32 %f3, %f1, %f2;
 *
 * Lanes: 1 executes the instruction (a guarded branch: jumps), 0 is there but its guard is off, . is elsewhere, - has exited; lane 0
 * comes first. */
#include "runtime/cli/debug.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void show_lanes(char out[64], uint64_t here, uint64_t active, uint64_t exited)
{
    char *o = out;
    for (unsigned lane = 0; lane < 32; lane++) {
        uint64_t bit = UINT64_C(1) << lane;
        if (lane && lane % 8 == 0)
            *o++ = ' ';
        *o++ = here & active & bit ? '1' : here & bit ? '0' : exited & bit ? '-' : '.';
    }
    *o = 0;
}

void show_lanes_of(const struct wire_line *p, char out[64])
{
    uint64_t mask = wire_number(p, "mask", 0);
    show_lanes(out, mask, wire_number(p, "taken", wire_number(p, "active", mask)), wire_number(p, "exited", 0));
}

/* The library demangles only in a program that has libstdc++; we look for one ourselves. */
const char *show_function(const struct wire_line *p)
{
    static char readable[1024];
    const char *name = wire_get(p, "function_name");
    return name ? name : demangle(wire_text(p, "function"), readable, sizeof readable);
}

static void say_who(const struct session *s)
{
    const struct wire_line *p = &s->place;
    char lanes[64];
    show_lanes_of(p, lanes);
    tell("  launch %s  block %s  thread %s  warp %s lane %s", wire_text(p, "launch"), wire_text(p, "block"), wire_text(p, "thread"),
         wire_text(p, "warp"), wire_text(p, "lane"));
    if (s->sim && wire_get(p, "sm"))
        tell("  sm %s", wire_text(p, "sm"));
    if (s->sim && wire_get(p, "cycle"))
        tell("  cycle %s", wire_text(p, "cycle"));
    tell("\n  lanes %s\n", lanes);
}

static void say_instruction(const struct session *s)
{
    const struct wire_line *p = &s->place;
    char where[PATH_MAX];
    snprintf(where, sizeof where, "%s+%s", wire_text(p, "function"), wire_text(p, "insn"));
    if (wire_get(p, "text"))
        tell("=> %-22s %s\n", where, wire_text(p, "text"));
}

/* On screens a file goes by its last name: compilers put whole paths into line tables. */
const char *show_file(const struct wire_line *p)
{
    const char *file = wire_text(p, "file"), *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

void show_source_line(struct session *s, const char *file, unsigned line)
{
    const struct source_file *f = source_open(&s->sources, file);
    const char *text = source_line(f, line);
    if (text)
        tell("%u\t%s\n", line, text);
    else
        tell("%u\tin %s\n", line, file);
}

void show_place(struct session *s, bool whole)
{
    const struct wire_line *p = &s->place;
    if (!has_kernel(s)) {
        tell("no kernel runs\n");
        return;
    }
    unsigned line = (unsigned)wire_number(p, "line", 0);
    if (whole) {
        say_who(s);
        show_lanes_of(p, s->lanes_shown);
    }
    if (line)
        show_source_line(s, wire_text(p, "file"), line);
    say_instruction(s);
    if (line) {
        snprintf(s->list_file, sizeof s->list_file, "%s", wire_text(p, "file"));
        s->list_first = s->list_last = 0;
    }
    s->ptx_next = 0;
}

/* ---- reasons ---- */

static void say_in(const struct wire_line *p)
{
    if (!wire_get(p, "kernel")) {              /* a cycle in which no warp runs */
        tell("no warp runs here\n");
        return;
    }
    tell("%s", show_function(p));
    if (wire_get(p, "file"))
        tell(", %s:%s", show_file(p), wire_text(p, "line"));
    tell("\n");
}

static void say_breakpoint(struct session *s, const struct wire_line *p)
{
    const struct breakpoint *b = breakpoint_of_server(s, wire_number(p, "breakpoint", 0));
    const char *what = wire_text(p, "what");
    if (strcmp(what, "brkpt") == 0) {
        tell("\nbrkpt instruction, ");
        say_in(p);
        return;
    }
    static const char *const special[] = {"entry", "launch", "cycle", "error", "divergence", "barrier"};
    bool plain = true;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        plain &= strcmp(what, special[i]) != 0;
    tell("\n%s %u, ", b && b->temporary ? "Temporary breakpoint" : "Breakpoint", b ? b->number : 0);
    if (!plain)
        tell("%s: ", what);
    say_in(p);
    if (wire_get(p, "condition_error"))
        tell("  its condition cannot be evaluated: %s\n", wire_text(p, "condition_error"));
}

static const char *who_wrote(const char *by, char *buf, size_t n)
{
    if (strcmp(by, "host") == 0 || !*by)
        return *by ? " by the host" : "";
    if (strcmp(by, "kernel") == 0)
        return " before the kernel ended";
    snprintf(buf, n, "\n  by %s, which has ended since", by);
    return buf;
}

static void say_watchpoint(struct session *s, const struct wire_line *p)
{
    char by[512];
    const struct breakpoint *b = breakpoint_of_server(s, wire_number(p, "breakpoint", 0));
    const char *expression = wire_get(p, "expression");
    tell("\nWatchpoint %u: %s", b ? b->number : 0, expression ? expression : b ? b->what : "");
    if (!wire_get(p, "access"))                /* come to backwards: what it was about is to come again */
        tell("\n");
    else
        tell(", %s of %s bytes at %s%s\n", wire_text(p, "access"), wire_text(p, "bytes"), wire_text(p, "address"), who_wrote(wire_text(p, "by"), by, sizeof by));
    if (strcmp(wire_text(p, "access"), "read") == 0)
        tell("  value  %s\n", wire_text(p, "new"));
    else if (wire_get(p, "old"))
        tell("  old  %s\n  new  %s\n", wire_text(p, "old"), wire_text(p, "new"));
    if (wire_get(p, "kernel"))
        say_in(p);
}

static void say_error_stop(struct session *s, const struct wire_line *p)
{
    (void)s;
    tell("\n%s (%s): ", wire_text(p, "name"), wire_text(p, "status"));
    say_in(p);
    /* Its first line: the others say again where we are. */
    const char *report = wire_text(p, "report");
    if (*report)
        tell("  %.*s\n", (int)strcspn(report, "\n"), report);
}

static void say_interrupt(struct session *s, const struct wire_line *p)
{
    (void)s;
    tell("\nInterrupted, ");
    say_in(p);
}

static void say_warp_done(struct session *s, const struct wire_line *p)
{
    (void)s;
    tell("the warp has ended; the focus is now on block %s thread %s\n", wire_text(p, "block"), wire_text(p, "thread"));
}

static void say_reverse(struct session *s, const struct wire_line *p)
{
    const struct breakpoint *b = breakpoint_of_server(s, wire_number(p, "breakpoint", 0));
    if (wire_number(p, "end", 0) && wire_get(p, "before"))
        tell("as far back as it goes: before, %s\n", wire_text(p, "before"));
    else if (wire_number(p, "end", 0))
        tell("the beginning of the kernel: nothing lies before\n");
    else if (wire_get(p, "access"))
        say_watchpoint(s, p);
    else if (b)
        say_breakpoint(s, p);
}

static void say_step(struct session *s, const struct wire_line *p)
{
    (void)s;
    if (wire_get(p, "returned"))
        tell("returned %s\n", wire_text(p, "returned"));
}

static const struct { const char *reason; void (*say)(struct session *, const struct wire_line *); bool whole; } reasons[] = {
    {"breakpoint", say_breakpoint, true}, {"watchpoint", say_watchpoint, true}, {"error", say_error_stop, true},
    {"interrupt", say_interrupt, true},   {"warp-done", say_warp_done, true},   {"reverse", say_reverse, false},
    {"step", say_step, false},
};

/* After a step only what has changed is told: the lanes when they are others, the function when it is another. */
static bool lanes_changed(struct session *s)
{
    char lanes[64];
    show_lanes_of(&s->place, lanes);
    bool changed = strcmp(lanes, s->lanes_shown) != 0;
    memcpy(s->lanes_shown, lanes, sizeof lanes);
    return changed;
}

void show_stop(struct session *s)
{
    const struct wire_line *p = &s->place;
    const char *reason = wire_text(p, "reason");
    bool whole = true;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reason, reasons[i].reason) == 0) {
            reasons[i].say(s, p);
            whole = reasons[i].whole;
        }
    if (!has_kernel(s)) {
        if (!whole)
            tell("cycle %s, no warp runs here\n", wire_text(p, "cycle"));
        return;
    }
    bool changed = lanes_changed(s);
    if (!whole && changed)
        tell("  lanes %s\n", s->lanes_shown);
    show_place(s, whole);
}
