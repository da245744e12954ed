/* The life of the program in an editor's hands: launch, go on, stop, end. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/cli/dap.h"

void dap_initialize(struct dap *d, const cJSON *request, const cJSON *args)
{
    static const char *const can[] = {
        "supportsConfigurationDoneRequest", "supportsFunctionBreakpoints", "supportsConditionalBreakpoints", "supportsHitConditionalBreakpoints",
        "supportsStepBack", "supportsSetVariable", "supportsSetExpression", "supportsCompletionsRequest", "supportsEvaluateForHovers",
        "supportsExceptionInfoRequest", "supportsTerminateRequest", "supportsDataBreakpoints", "supportsReadMemoryRequest",
        "supportsWriteMemoryRequest", "supportsDisassembleRequest", "supportsSteppingGranularity", "supportsInstructionBreakpoints",
        "supportTerminateDebuggee", "supportsRestartRequest",
    };
    static const struct { const char *filter, *label; bool standard; } filters[] = {
        {"error", "Errors in kernels", true}, {"divergence", "Divergence of a warp", false}, {"barrier", "Barriers", false}, {"entry", "Every kernel's entry", false},
    };
    const cJSON *lines = cJSON_GetObjectItemCaseSensitive(args, "linesStartAt1"), *columns = cJSON_GetObjectItemCaseSensitive(args, "columnsStartAt1");
    d->lines_from = !cJSON_IsFalse(lines);
    d->columns_from = !cJSON_IsFalse(columns);
    struct json *j = dap_reply(d, request);
    for (size_t i = 0; i < sizeof can / sizeof *can; i++)
        json_bool(j, can[i], true);
    json_array(j, "exceptionBreakpointFilters");
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        json_object(j, NULL);
        json_text(j, "filter", filters[i].filter);
        json_text(j, "label", filters[i].label);
        json_bool(j, "default", filters[i].standard);
        json_end(j);
    }
    json_end(j);
    dap_send(d);
}

/* ---- launch ---- */

static bool take_arguments(struct dap *d, const char *program, const cJSON *list)
{
    size_t n = (size_t)cJSON_GetArraySize(list), used = 0;
    const cJSON *word;
    d->s.argv = calloc(n + 2, sizeof *d->s.argv);
    if (!d->s.argv)
        return false;
    d->s.argv[used++] = strdup(program);
    cJSON_ArrayForEach(word, list)
        if (cJSON_IsString(word))
            d->s.argv[used++] = strdup(word->valuestring);
    return true;
}

/* `"env": {"NAME": "value"}`; null takes a variable away. */
static void take_environment(const cJSON *env)
{
    const cJSON *v;
    cJSON_ArrayForEach(v, env)
        if (cJSON_IsString(v))
            setenv(v->string, v->valuestring, 1);
        else if (cJSON_IsNull(v))
            unsetenv(v->string);
}

/* `"options": ["--gpu=a100"]`, and `"sim": true`. */
static bool take_options(struct dap *d, const cJSON *args)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(args, "options"), *word;
    cJSON_ArrayForEach(word, list) {
        char *argv[] = {cJSON_IsString(word) ? word->valuestring : (char[]){""}, NULL};
        int at = 0;
        bool ended = false;
        if (argv[0][0] != '-') {
            say_error("\"options\" takes options of heddle such as --gpu=a100, not '%s'", argv[0]);
            return false;
        }
        if (!cli_option(d->s.cli, 1, argv, &at, &ended))
            return false;
    }
    if (dap_flag(args, "sim"))
        (void)!settings_set(&d->s.cli->knobs.settings, "mode", "sim", "launch request", NULL);
    return true;
}

static bool start_program(struct dap *d)
{
    int out[2] = {-1, -1}, err[2] = {-1, -1}, nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), e = 0;
    bool ok = nothing >= 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0;
    ok = ok && process_start(&d->s.process, d->s.path, d->s.argv, (int[]){nothing, out[1], err[1]}, &e);
    if (!ok)
        say_error("%s could not be started: %s", d->s.path, strerror(e ? e : errno));
    int ours[] = {nothing, out[1], err[1]};
    for (int i = 0; i < 3; i++)
        if (ours[i] >= 0)
            close(ours[i]);
    if (d->program_out >= 0)
        close(d->program_out);
    if (d->program_err >= 0)
        close(d->program_err);
    d->program_out = out[0];
    d->program_err = err[0];
    if (ok) {
        fcntl(out[0], F_SETFL, O_NONBLOCK);
        fcntl(err[0], F_SETFL, O_NONBLOCK);
    }
    d->s.state = ok ? RUNNING : NO_PROGRAM;
    d->s.greeted = d->waiting_start = false;
    return ok;
}

static bool prepare(struct dap *d, const cJSON *args)
{
    const char *program = dap_text(args, "program", NULL), *cwd = dap_text(args, "cwd", NULL);
    if (!program || !*program) {
        say_error("launch: \"program\" is missing: the path of a CUDA program");
        return false;
    }
    if (cwd && chdir(cwd) != 0) {
        say_error("launch: \"cwd\": %s: %s", cwd, strerror(errno));
        return false;
    }
    take_environment(cJSON_GetObjectItemCaseSensitive(args, "env"));
    if (!take_options(d, args) || !take_arguments(d, program, cJSON_GetObjectItemCaseSensitive(args, "args")) ||
        run_prepare(d->s.cli, program, &d->s.target, d->s.path) != 0)
        return false;
    d->s.hello = run_offer_hello();
    const cJSON *folder;
    cJSON_ArrayForEach(folder, cJSON_GetObjectItemCaseSensitive(args, "sourceFolders"))
        if (cJSON_IsString(folder))
            source_folder(&d->s.sources, folder->valuestring);
    return start_program(d);
}

void dap_launch(struct dap *d, const cJSON *request, const cJSON *args)
{
    if (d->launched) {
        dap_refuse(d, request, "a program was launched already");
        return;
    }
    /* What these functions would tell on a terminal is the editor's to show. */
    char *text = NULL;
    size_t n = 0;
    FILE *before = stderr, *caught = open_memstream(&text, &n);
    if (caught)
        stderr = caught;
    d->launched = prepare(d, args);
    stderr = before;
    if (caught)
        fclose(caught);
    d->stop_on_entry = dap_flag(args, "stopOnEntry");
    if (text && n && text[n - 1] == '\n')
        text[n - 1] = 0;
    if (d->launched)
        dap_done(d, request);
    else
        dap_refuse(d, request, "%s", text && n ? text : "the program could not be launched");
    free(text);
    if (d->launched) {
        dap_event(d, "initialized");
        dap_send(d);
    }
}

/* ---- going on ---- */

static bool send_off(struct dap *d, const cJSON *request, const char *verb)
{
    struct wire_answer a;
    bool ok = dap_ask(d, request, &a, "%s", verb);
    wire_answer_free(&a);
    if (ok)
        d->s.state = RUNNING;
    return ok;
}

/* The library stands at its beginning and the editor has set its breakpoints. */
static void leave_start(struct dap *d)
{
    struct wire_answer a;
    d->waiting_start = false;
    (void)!wire_call(&d->s.process.wire, &a, "launches off");
    wire_answer_free(&a);
    if (d->stop_on_entry) {
        (void)!wire_call(&d->s.process.wire, &a, "break at=entry temporary=1");
        wire_answer_free(&a);
    }
    (void)!wire_call(&d->s.process.wire, &a, "continue");
    wire_answer_free(&a);
}

void dap_configured(struct dap *d, const cJSON *request, const cJSON *args)
{
    (void)args;
    d->configured = true;
    dap_done(d, request);
    if (d->waiting_start)
        leave_start(d);
}

void dap_continue(struct dap *d, const cJSON *request, const cJSON *args)
{
    (void)args;
    if (d->s.state == RUNNING) {
        dap_refuse(d, request, "the program runs already");
        return;
    }
    if (!send_off(d, request, "continue"))
        return;
    json_bool(dap_reply(d, request), "allThreadsContinued", true);
    dap_send(d);
}

/* A step was refused. Some editors take a thread for running as soon as they ask for a step, whatever the answer is: they hear again where it stands. */
static void still_stopped(struct dap *d)
{
    if (d->s.state != STOPPED || !has_kernel(&d->s))
        return;
    struct json *j = dap_event(d, "stopped");
    json_text(j, "reason", "pause");
    json_u64(j, "threadId", dap_thread_id(d, wire_text(&d->s.place, "block"), (unsigned)wire_number(&d->s.place, "warp", 0)));
    json_bool(j, "allThreadsStopped", true);
    dap_send(d);
}

void dap_step(struct dap *d, const cJSON *request, const cJSON *args)
{
    static const struct { const char *command, *by_line, *by_instruction; } steps[] = {
        {"next", "next", "nexti"}, {"stepIn", "step", "stepi"}, {"stepOut", "finish", "finish"},
        {"stepBack", "reverse-next", "reverse-stepi"}, {"reverseContinue", "reverse-continue", "reverse-continue"},
    };
    const char *command = dap_text(request, "command", "");
    bool instruction = strcmp(dap_text(args, "granularity", ""), "instruction") == 0;
    unsigned thread = (unsigned)dap_index(args, "threadId", 0);
    size_t i = 0;
    while (i < sizeof steps / sizeof *steps - 1 && strcmp(command, steps[i].command) != 0)
        i++;
    bool there = thread < DAP_FIRST_WARP || dap_focus(d, request, thread, 0);
    if (there && send_off(d, request, instruction ? steps[i].by_instruction : steps[i].by_line))
        dap_done(d, request);
    else
        still_stopped(d);
}

void dap_pause(struct dap *d, const cJSON *request, const cJSON *args)
{
    struct wire_answer a;
    (void)args;
    if (dap_ask(d, request, &a, "interrupt"))
        dap_done(d, request);
    wire_answer_free(&a);
}

/* ---- what the library says ---- */

/* The exact words of the protocol's `reason`, and a sentence. */
static const char *stop_reason(const struct wire_line *e, char text[1024])
{
    static const char *const reasons[][2] = {
        {"breakpoint", "breakpoint"}, {"watchpoint", "data breakpoint"}, {"step", "step"}, {"interrupt", "pause"},
        {"error", "exception"}, {"warp-done", "step"}, {"reverse", "step"},
    };
    const char *reason = wire_text(e, "reason"), *what = wire_text(e, "what");
    text[0] = 0;
    if (strcmp(reason, "watchpoint") == 0)
        snprintf(text, 1024, "%s: %s, old %s, new %s", wire_text(e, "expression"), wire_text(e, "access"), wire_text(e, "old"), wire_text(e, "new"));
    else if (strcmp(reason, "error") == 0)
        snprintf(text, 1024, "%s", wire_text(e, "report")[0] ? wire_text(e, "report") : wire_text(e, "name"));
    else if (strcmp(reason, "warp-done") == 0)
        snprintf(text, 1024, "the warp has ended");
    else if (wire_number(e, "end", 0))
        snprintf(text, 1024, "the beginning of the kernel");
    else if (strcmp(what, "brkpt") == 0)
        snprintf(text, 1024, "brkpt instruction");
    else if (strcmp(what, "divergence") == 0 || strcmp(what, "barrier") == 0)
        snprintf(text, 1024, "%s", what);
    text[strcspn(text, "\n")] = 0;
    if (strcmp(what, "entry") == 0)
        return "entry";
    if (strcmp(what, "error") == 0)
        return "exception";
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reason, reasons[i][0]) == 0)
            return reasons[i][1];
    return "pause";
}

static void on_stopped(struct dap *d, struct wire_line *e)
{
    char text[1024];
    dap_points_send(d);
    if (strcmp(wire_text(e, "reason"), "start") == 0) {
        d->waiting_start = true;
        if (d->configured)
            leave_start(d);
        return;
    }
    const struct breakpoint *b = breakpoint_of_server(&d->s, wire_number(e, "breakpoint", 0));
    unsigned thread = wire_get(e, "kernel") ? dap_thread_id(d, wire_text(e, "block"), (unsigned)wire_number(e, "warp", 0)) : DAP_HOST;
    const char *reason = stop_reason(e, text);
    struct json *j = dap_event(d, "stopped");
    json_text(j, "reason", reason);
    if (*text) {
        json_text(j, "description", text);
        json_text(j, "text", text);
    }
    json_u64(j, "threadId", thread);
    json_bool(j, "allThreadsStopped", true);
    if (b) {
        json_array(j, "hitBreakpointIds");
        json_u64(j, NULL, b->number);
        json_end(j);
    }
    d->s.state = STOPPED;
    place_take(&d->s, e);
    dap_send(d);
}

void dap_library_event(struct dap *d, struct wire_line *e)
{
    if (strcmp(e->kind, "hello") == 0) {
        breakpoints_lost(&d->s);               /* also when a script runs a second program */
        d->s.greeted = true;
        d->s.sim = strcmp(wire_text(e, "mode"), "sim") == 0;
    } else if (strcmp(e->kind, "resolved") == 0) {
        const struct breakpoint *b = breakpoint_of_server(&d->s, wire_number(e, "breakpoint", 0));
        if (!b)
            return;
        struct json *j = dap_event(d, "breakpoint");
        json_text(j, "reason", "changed");
        json_object(j, "breakpoint");
        json_u64(j, "id", b->number);
        json_bool(j, "verified", true);
        if (wire_get(e, "line"))
            json_u64(j, "line", wire_number(e, "line", 0) - 1 + d->lines_from);
        dap_send(d);
    } else if (strcmp(e->kind, "stopped") == 0) {
        on_stopped(d, e);
    }
}

/* ---- ending ---- */

static void forget(struct dap *d)
{
    struct wire_line none = {.kind = ""};
    wire_close(&d->s.process.wire);
    d->s.process.pid = 0;
    d->s.state = NO_PROGRAM;
    d->s.greeted = false;
    place_take(&d->s, &none);
    breakpoints_lost(&d->s);
}

void dap_program_over(struct dap *d)
{
    int status = d->s.process.wait_status;
    forget(d);
    struct json *j = dap_event(d, "exited");
    json_u64(j, "exitCode", (uint64_t)(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)));
    dap_send(d);
    dap_event(d, "terminated");
    dap_send(d);
}

void dap_restart(struct dap *d, const cJSON *request, const cJSON *args)
{
    (void)args;
    if (!d->launched) {
        dap_refuse(d, request, "nothing was launched");
        return;
    }
    if (d->s.state != NO_PROGRAM)
        process_kill(&d->s.process);
    forget(d);
    if (start_program(d))
        dap_done(d, request);
    else
        dap_refuse(d, request, "the program could not be started");
}

void dap_terminate(struct dap *d, const cJSON *request, const cJSON *args)
{
    (void)args;
    dap_done(d, request);
    if (d->s.state == NO_PROGRAM)
        return;
    process_kill(&d->s.process);
    dap_program_over(d);
}

void dap_disconnect(struct dap *d, const cJSON *request, const cJSON *args)
{
    struct wire_answer a;
    if (cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(args, "terminateDebuggee")) && d->s.greeted) {
        (void)!wire_call(&d->s.process.wire, &a, "detach");
        wire_answer_free(&a);
        forget(d);
    }
    dap_done(d, request);
    d->over = true;
}
