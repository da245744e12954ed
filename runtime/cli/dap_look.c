/* Threads, calls and values for an editor. A variables reference is frame id * KINDS + kind: nothing has to be remembered. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cli/dap.h"

enum kind { LOCALS, REGISTERS, THREAD, SHARED, N_KINDS };

/* ---- threads ---- */

unsigned dap_thread_id(struct dap *d, const char *block, unsigned warp)
{
    struct dap_thread t = {.warp = warp};
    snprintf(t.block, sizeof t.block, "%s", block);
    for (size_t i = 0; i < d->threads.n; i++)
        if (d->threads.at[i].warp == warp && strcmp(d->threads.at[i].block, t.block) == 0)
            return DAP_FIRST_WARP + (unsigned)i;
    return vec_push(&d->threads, t) ? DAP_FIRST_WARP + (unsigned)d->threads.n - 1 : DAP_HOST;
}

static void one_thread(struct json *j, unsigned id, const char *name)
{
    json_object(j, NULL);
    json_u64(j, "id", id);
    json_text(j, "name", name);
    json_end(j);
}

void dap_threads(struct dap *d, const cJSON *request, const cJSON *args)
{
    struct wire_answer a = {0};
    (void)args;
    bool kernel = has_kernel(&d->s) && wire_call(&d->s.process.wire, &a, "info warps");
    struct json *j = dap_reply(d, request);
    json_array(j, "threads");
    one_thread(j, DAP_HOST, "host");
    const char *last = "";
    for (size_t i = 0; kernel && i < a.lines.n; i++) {
        const struct wire_line *l = &a.lines.at[i];
        char name[256], lanes[64];
        if (strcmp(wire_text(l, "warp"), last) == 0)
            continue;                          /* a second split of the same warp */
        last = wire_text(l, "warp");
        const char *block = wire_get(l, "block") ? wire_text(l, "block") : wire_text(&d->s.place, "block");
        show_lanes_of(l, lanes);
        snprintf(name, sizeof name, "block %s warp %s  %s  %s", block, last, lanes, wire_text(l, "state"));
        one_thread(j, dap_thread_id(d, block, (unsigned)wire_number(l, "warp", 0)), name);
    }
    dap_send(d);
    wire_answer_free(&a);
}

bool dap_focus(struct dap *d, const cJSON *request, unsigned thread, unsigned frame)
{
    struct wire_answer a;
    size_t i = thread - DAP_FIRST_WARP;
    if (thread < DAP_FIRST_WARP || i >= d->threads.n || !has_kernel(&d->s)) {
        dap_refuse(d, request, "there is no warp with the id %u", thread);
        return false;
    }
    const struct dap_thread *t = &d->threads.at[i];
    bool same = strcmp(wire_text(&d->s.place, "block"), t->block) == 0 && wire_number(&d->s.place, "warp", UINT64_MAX) == t->warp;
    if (same && d->s.frame == frame)
        return true;
    bool ok = same ? dap_ask(d, request, &a, "focus frame=%u", frame)
                   : dap_ask(d, request, &a, "focus block=%s warp=%u", t->block, t->warp);
    if (ok && a.lines.n)
        place_take(&d->s, &a.lines.at[0]);
    wire_answer_free(&a);
    if (ok && !same && frame)
        return dap_focus(d, request, thread, frame);
    d->s.frame = ok ? frame : 0;
    return ok;
}

static bool focus_frame(struct dap *d, const cJSON *request, uint64_t frame_id)
{
    return dap_focus(d, request, (unsigned)(frame_id / DAP_FRAMES), (unsigned)(frame_id % DAP_FRAMES));
}

/* ---- calls ---- */

void dap_source_named(struct dap *d, struct json *j, const char *name, const struct wire_line *place)
{
    char path[PATH_MAX], whole[PATH_MAX];
    const char *file = wire_get(place, "file");
    json_object(j, name);
    if (!file) {
        json_text(j, "name", wire_get(place, "ptx") ? wire_text(place, "ptx") : "PTX");
        json_u64(j, "sourceReference", 1);     /* the one around the focus */
    } else {
        const char *base = strrchr(file, '/');
        json_text(j, "name", base ? base + 1 : file);
        json_text(j, "path", source_find(&d->s.sources, file, path, sizeof path) && realpath(path, whole) ? whole : file);
    }
    json_end(j);
}

static void one_frame(struct dap *d, struct json *j, const struct wire_line *l, uint64_t id)
{
    bool source = wire_get(l, "file") != NULL;
    json_object(j, NULL);
    json_u64(j, "id", id);
    json_text(j, "name", show_function(l));
    dap_source_named(d, j, "source", l);
    json_u64(j, "line", wire_number(l, source ? "line" : "ptx_line", 1) - 1 + d->lines_from);
    json_u64(j, "column", d->columns_from);
    if (wire_get(l, "pc"))
        json_text(j, "instructionPointerReference", wire_text(l, "pc"));
    json_end(j);
}

void dap_stack(struct dap *d, const cJSON *request, const cJSON *args)
{
    struct wire_answer a = {0};
    unsigned thread = (unsigned)dap_index(args, "threadId", 0);
    uint64_t first = dap_index(args, "startFrame", 0), levels = dap_index(args, "levels", 0);
    if (thread >= DAP_FIRST_WARP && (!dap_focus(d, request, thread, 0) || !dap_ask(d, request, &a, "backtrace"))) {
        wire_answer_free(&a);
        return;
    }
    struct json *j = dap_reply(d, request);
    json_array(j, "stackFrames");
    for (size_t i = first; i < a.lines.n && i < DAP_FRAMES && (!levels || i < first + levels); i++)
        one_frame(d, j, &a.lines.at[i], (uint64_t)thread * DAP_FRAMES + i);
    json_end(j);
    json_u64(j, "totalFrames", a.lines.n);
    dap_send(d);
    wire_answer_free(&a);
}

/* ---- values ---- */

void dap_scopes(struct dap *d, const cJSON *request, const cJSON *args)
{
    static const struct { const char *name, *hint; enum kind kind; bool expensive; } scopes[] = {
        {"Parameters and variables", "locals", LOCALS, false}, {"Registers", "registers", REGISTERS, false},
        {"Thread", NULL, THREAD, false}, {"Shared memory", NULL, SHARED, true},
    };
    uint64_t frame = dap_index(args, "frameId", 0);
    if (!focus_frame(d, request, frame))
        return;
    struct json *j = dap_reply(d, request);
    json_array(j, "scopes");
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        json_object(j, NULL);
        json_text(j, "name", scopes[i].name);
        if (scopes[i].hint)
            json_text(j, "presentationHint", scopes[i].hint);
        json_u64(j, "variablesReference", frame * N_KINDS + scopes[i].kind);
        json_bool(j, "expensive", scopes[i].expensive);
        json_end(j);
    }
    dap_send(d);
}

static void one_value(struct json *j, const char *name, const char *value, const char *type, const char *address)
{
    json_object(j, NULL);
    json_text(j, "name", name);
    json_text(j, "value", value);
    if (type)
        json_text(j, "type", type);
    if (address)
        json_text(j, "memoryReference", address);
    json_text(j, "evaluateName", name);
    json_u64(j, "variablesReference", 0);
    json_end(j);
}

static void thread_values(struct dap *d, struct json *j)
{
    static const char *const keys[] = {"block", "thread", "warp", "lane", "launch", "kernel", "sm", "cycle", "text"};
    const struct wire_line *p = &d->s.place;
    char lanes[64];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (wire_get(p, keys[i]))
            one_value(j, strcmp(keys[i], "text") == 0 ? "instruction" : keys[i], wire_text(p, keys[i]), NULL, NULL);
    show_lanes_of(p, lanes);
    one_value(j, "lanes", lanes, NULL, NULL);
}

static void shared_values(struct json *j, const struct wire_answer *a)
{
    for (size_t i = 0; i < a->lines.n; i++)
        one_value(j, wire_text(&a->lines.at[i], "address"), wire_text(&a->lines.at[i], "values"), NULL, wire_text(&a->lines.at[i], "address"));
}

void dap_variables(struct dap *d, const cJSON *request, const cJSON *args)
{
    uint64_t reference = dap_index(args, "variablesReference", 0);
    enum kind kind = (enum kind)(reference % N_KINDS);
    struct wire_answer a = {0};
    if (!focus_frame(d, request, reference / N_KINDS))
        return;
    bool ok = kind == THREAD || (kind == SHARED ? wire_call(&d->s.process.wire, &a, "values at=@shared") || true
                                                : dap_ask(d, request, &a, kind == LOCALS ? "info locals" : "info registers"));
    if (ok) {
        struct json *j = dap_reply(d, request);
        json_array(j, "variables");
        for (size_t i = 0; kind <= REGISTERS && i < a.lines.n; i++) {
            const struct wire_line *l = &a.lines.at[i];
            one_value(j, wire_text(l, "name"), wire_text(l, "value"), wire_text(l, "type"), kind == LOCALS ? wire_get(l, "address") : NULL);
        }
        if (kind == THREAD)
            thread_values(d, j);
        if (kind == SHARED)
            shared_values(j, &a);
        dap_send(d);
    }
    wire_answer_free(&a);
}

/* Evaluates a text; the answer's members are `value_name`, type and where it lies. */
static void answer_value(struct dap *d, const cJSON *request, const char *text, const char *value_name)
{
    struct wire_answer a;
    struct textbuf word = {0};
    wire_add_word(&word, text);
    if (!word.failed && dap_ask(d, request, &a, "eval %s", word.at)) {
        const struct wire_line none = {.kind = ""}, *l = a.lines.n ? &a.lines.at[0] : &none;
        struct json *j = dap_reply(d, request);
        json_text(j, value_name, wire_text(l, "value"));
        if (wire_get(l, "type"))
            json_text(j, "type", wire_text(l, "type"));
        if (wire_get(l, "address"))
            json_text(j, "memoryReference", wire_text(l, "address"));
        json_u64(j, "variablesReference", 0);
        dap_send(d);
    }
    if (!word.failed)
        wire_answer_free(&a);
    textbuf_free(&word);
}

static void assign(struct dap *d, const cJSON *request, const char *to, const char *value)
{
    struct textbuf text = {0};
    textbuf_add(&text, "%s = %s", to, value);
    if (!text.failed)
        answer_value(d, request, text.at, "value");
    textbuf_free(&text);
}

void dap_set_variable(struct dap *d, const cJSON *request, const cJSON *args)
{
    if (focus_frame(d, request, dap_index(args, "variablesReference", 0) / N_KINDS))
        assign(d, request, dap_text(args, "name", ""), dap_text(args, "value", ""));
}

void dap_set_expression(struct dap *d, const cJSON *request, const cJSON *args)
{
    uint64_t frame = dap_index(args, "frameId", 0);
    if (!frame || focus_frame(d, request, frame))
        assign(d, request, dap_text(args, "expression", ""), dap_text(args, "value", ""));
}

/* In the debug console the commands that look at things are understood, too: `info warps`, `x/16xw ADDR`. */
static bool console_command(struct dap *d, const cJSON *request, const char *text)
{
    static void (*const lookers[])(struct session *, const char *, char *) = {
        command_info, command_examine, command_list, command_ptx, command_disassemble, command_backtrace, command_focus, command_print, command_help,
    };
    char word[64], *said = NULL;
    size_t n = 0;
    const struct command *found = NULL;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(text, " /\t"), text);
    for (const struct command *c = commands; (c->name || c->section) && !found; c++)
        if (c->name && (strcmp(word, c->name) == 0 || strcmp(word, c->shortest) == 0))
            for (size_t i = 0; i < sizeof lookers / sizeof *lookers; i++)
                found = c->run == lookers[i] ? c : found;
    if (!found)
        return false;
    FILE *before = stderr, *caught = open_memstream(&said, &n);
    if (!caught)
        return false;
    stderr = caught;
    command_line(&d->s, text);
    stderr = before;
    fclose(caught);
    while (n && said[n - 1] == '\n')
        said[--n] = 0;
    struct json *j = dap_reply(d, request);
    json_text(j, "result", said ? said : "");
    json_u64(j, "variablesReference", 0);
    dap_send(d);
    free(said);
    return true;
}

void dap_evaluate(struct dap *d, const cJSON *request, const cJSON *args)
{
    const char *text = dap_text(args, "expression", "");
    uint64_t frame = dap_index(args, "frameId", 0);
    if (frame && !focus_frame(d, request, frame))
        return;
    if (strcmp(dap_text(args, "context", ""), "repl") == 0 && console_command(d, request, text))
        return;
    answer_value(d, request, text, "result");
}

static void say_completions(const struct dap *d, struct json *j, const char *line, const struct completions *c)
{
    for (size_t i = 0; i < c->words.n; i++) {
        json_object(j, NULL);
        json_text(j, "label", c->words.at[i]);
        json_u64(j, "start", strlen(line) - c->typed + d->columns_from);
        json_u64(j, "length", c->typed);
        json_end(j);
    }
}

void dap_completions(struct dap *d, const cJSON *request, const cJSON *args)
{
    struct completions c, names = {0};
    char line[512], print[512 + 8];
    uint64_t column = dap_index(args, "column", d->columns_from);
    snprintf(line, sizeof line, "%s", dap_text(args, "text", ""));
    if (column >= d->columns_from && column - d->columns_from < strlen(line))
        line[column - d->columns_from] = 0;
    complete(&d->s, line, &c);
    if (!strchr(line, ' ')) {                  /* a command, or the beginning of an expression */
        snprintf(print, sizeof print, "print %s", line);
        complete(&d->s, print, &names);
    }
    struct json *j = dap_reply(d, request);
    json_array(j, "targets");
    say_completions(d, j, line, &c);
    say_completions(d, j, line, &names);
    dap_send(d);
    completions_free(&c);
    completions_free(&names);
}

void dap_exception_info(struct dap *d, const cJSON *request, const cJSON *args)
{
    const struct wire_line *p = &d->s.place;
    (void)args;
    struct json *j = dap_reply(d, request);
    json_text(j, "exceptionId", wire_get(p, "name") ? wire_text(p, "name") : wire_text(p, "reason"));
    json_text(j, "description", wire_text(p, "report"));
    json_text(j, "breakMode", "always");
    dap_send(d);
}
