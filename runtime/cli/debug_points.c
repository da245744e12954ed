/* The table of breakpoints: ours outlive the program, the server's numbers do not. */
#include "runtime/cli/debug.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void forget(struct breakpoint *b)
{
    for (size_t i = 0; i < b->commands.n; i++)
        free(b->commands.at[i]);
    vec_free(&b->commands);
    free(b->what);
    free(b->request);
    free(b->condition);
}

struct breakpoint *breakpoint_add(struct session *s, bool watch, const char *what, const char *request)
{
    struct breakpoint b = {.watch = watch, .what = strdup(what), .request = strdup(request)};
    if (!b.what || !b.request || !vec_push(&s->breakpoints, b)) {
        forget(&b);
        complain(s, "no memory");
        return NULL;
    }
    struct breakpoint *added = &s->breakpoints.at[s->breakpoints.n - 1];
    added->number = ++s->next_breakpoint;
    return added;
}

struct breakpoint *breakpoint_find(struct session *s, uint64_t number)
{
    for (size_t i = 0; i < s->breakpoints.n; i++)
        if (s->breakpoints.at[i].number == number)
            return &s->breakpoints.at[i];
    return NULL;
}

struct breakpoint *breakpoint_of_server(struct session *s, uint64_t server)
{
    for (size_t i = 0; server && i < s->breakpoints.n; i++)
        if (s->breakpoints.at[i].server == server)
            return &s->breakpoints.at[i];
    return NULL;
}

void breakpoint_spent(struct session *s, struct breakpoint *b)
{
    size_t i = (size_t)(b - s->breakpoints.at);
    forget(b);
    memmove(b, b + 1, (s->breakpoints.n - i - 1) * sizeof *b);
    s->breakpoints.n--;
}

void breakpoint_remove(struct session *s, struct breakpoint *b)
{
    struct wire_answer a;
    if (b->server && s->greeted) {
        (void)!wire_call(&s->process.wire, &a, "delete %u", b->server);
        wire_answer_free(&a);
    }
    breakpoint_spent(s, b);
}

bool breakpoint_send(struct session *s, struct breakpoint *b, struct wire_answer *a)
{
    struct textbuf request = {0};
    textbuf_add(&request, "%s", b->request);
    if (b->condition) {
        textbuf_add(&request, " if=");
        wire_add_word(&request, b->condition);
    }
    if (b->ignore)
        textbuf_add(&request, " ignore=%" PRIu64, b->ignore);
    if (b->temporary)
        textbuf_add(&request, " temporary=1");
    if (b->disabled && !b->watch)
        textbuf_add(&request, " disabled=1");
    bool ok = !request.failed && wire_call(&s->process.wire, a, "%s", request.at);
    textbuf_free(&request);
    if (ok && a->lines.n)
        b->server = (unsigned)wire_number(&a->lines.at[0], "breakpoint", 0);
    b->pending = ok && a->lines.n && wire_number(&a->lines.at[0], "pending", 0);
    return ok;
}

void breakpoints_send(struct session *s)
{
    struct wire_answer a, off;
    for (size_t i = 0; i < s->breakpoints.n && s->greeted; i++) {
        struct breakpoint *b = &s->breakpoints.at[i];
        if (b->server)
            continue;
        if (breakpoint_send(s, b, &a)) {
            b->refused = false;
            if (b->watch && b->disabled) {
                (void)!wire_call(&s->process.wire, &off, "disable %u", b->server);
                wire_answer_free(&off);
            }
        } else if (!b->refused && !b->watch) {  /* what is watched may come into being later */
            tell("breakpoint %u (%s): %s\n", b->number, b->what, a.error);
            b->refused = true;
        }
        wire_answer_free(&a);
    }
}

void breakpoints_lost(struct session *s)
{
    for (size_t i = 0; i < s->breakpoints.n; i++) {
        s->breakpoints.at[i].server = 0;
        s->breakpoints.at[i].refused = s->breakpoints.at[i].pending = false;
    }
}

void breakpoint_say(const struct breakpoint *b, const struct wire_answer *a)
{
    const struct wire_line *first = a && a->lines.n ? &a->lines.at[0] : NULL;
    const char *kind = b->watch ? "Watchpoint" : b->temporary ? "Temporary breakpoint" : "Breakpoint";
    if (!first) {
        tell("%s %u: %s, looked up when the program runs\n", kind, b->number, b->what);
        return;
    }
    if (b->watch) {
        tell("%s %u: %s, %s bytes at %s (%s)\n", kind, b->number, b->what, wire_text(first, "bytes"), wire_text(first, "address"), wire_text(first, "space"));
        return;
    }
    if (wire_number(first, "pending", 0))
        tell("%s %u: %s, pending: no code that is loaded has it\n", kind, b->number, b->what);
    else if (a->lines.n == 1)
        tell("%s %u: %s\n", kind, b->number, b->what);
    for (size_t i = 1; i < a->lines.n; i++) {
        const struct wire_line *l = &a->lines.at[i];
        char head[64];
        int n = snprintf(head, sizeof head, "%s %u: ", kind, b->number);
        tell("%*s%s+%s", n, i == 1 ? head : "", wire_text(l, "function"), wire_text(l, "insn"));
        if (wire_get(l, "file"))
            tell(", %s:%s\n", show_file(l), wire_text(l, "line"));
        else
            tell(", ptx line %s\n", wire_text(l, "ptx_line"));
    }
}

void breakpoints_free(struct session *s)
{
    for (size_t i = 0; i < s->breakpoints.n; i++)
        forget(&s->breakpoints.at[i]);
    vec_free(&s->breakpoints);
}
