/* The program's life: starting, going on, waiting for a stop, ending. */
#include "runtime/cli/debug.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- requests ---- */

bool need_program(struct session *s)
{
    if (s->state == NO_PROGRAM)
        complain(s, "the program does not run; `run` starts it");
    else if (!s->greeted)
        complain(s, "the program has called no CUDA function yet; `continue` waits");
    else
        return true;
    return false;
}

bool has_kernel(const struct session *s) { return s->state == STOPPED && wire_get(&s->place, "kernel"); }

bool need_kernel(struct session *s)
{
    if (!need_program(s))
        return false;
    if (s->state == RUNNING)
        complain(s, "the program runs; `continue` waits, Ctrl-C then stops the kernel");
    else if (!has_kernel(s))
        complain(s, "no kernel runs");
    else
        return true;
    return false;
}

bool ask(struct session *s, struct wire_answer *a, const char *fmt, ...)
{
    va_list ap;
    char *request = NULL;
    va_start(ap, fmt);
    int n = vasprintf(&request, fmt, ap);
    va_end(ap);
    *a = (struct wire_answer){0};
    bool ok = n >= 0 && wire_call(&s->process.wire, a, "%s", request);
    if (!ok)
        complain(s, "%s", a->error);
    if (n >= 0)
        free(request);
    return ok;
}

/* ---- place ---- */

void place_take(struct session *s, struct wire_line *l)
{
    wire_line_free(&s->place);
    s->place = *l;
    *l = (struct wire_line){.kind = ""};
    s->frame = 0;
}

void place_refresh(struct session *s)
{
    struct wire_answer a;
    struct wire_line none = {.kind = ""};
    if (wire_call(&s->process.wire, &a, "where"))
        place_take(s, a.lines.n ? &a.lines.at[0] : &none);
    wire_answer_free(&a);
}

/* ---- events ---- */

static void forget_program(struct session *s)
{
    struct wire_line none = {.kind = ""};
    wire_close(&s->process.wire);
    s->process.pid = 0;
    s->state = NO_PROGRAM;
    s->greeted = false;
    s->stopped_at = s->last_hit = 0;
    place_take(s, &none);
    breakpoints_lost(s);
}

static void say_end(struct session *s)
{
    int status = s->process.wait_status;
    for (size_t i = 0; i < s->breakpoints.n; i++)
        if (s->breakpoints.at[i].pending)
            tell("breakpoint %u (%s): no code that was loaded has it\n", s->breakpoints.at[i].number, s->breakpoints.at[i].what);
    if (!s->greeted && s->hello)
        run_explain(s->cli, &s->target, s->hello, status);
    if (WIFSIGNALED(status))
        tell("[the program was ended by signal %d, %s]\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        tell("[the program has ended with status %d]\n", WEXITSTATUS(status));
    if (!s->status_given)
        s->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void on_hello(struct session *s, const struct wire_line *e)
{
    if (s->greeted)
        breakpoints_lost(s);                   /* another process of a script: it knows nothing yet */
    s->greeted = true;
    s->sim = strcmp(wire_text(e, "mode"), "sim") == 0;
    if (wire_number(e, "protocol", 1) != 1)
        tell("the library speaks protocol %s, this launcher 1: expect misunderstandings\n", wire_text(e, "protocol"));
}

/* False: the server has gone on by itself (the first stop of all), or the user need not hear of it. */
static void on_stopped(struct session *s, struct wire_line *e)
{
    struct wire_answer a;
    bool start = strcmp(wire_text(e, "reason"), "start") == 0;
    struct breakpoint *b = breakpoint_of_server(s, wire_number(e, "breakpoint", 0));
    breakpoints_send(s);
    if (start) {
        (void)!ask(s, &a, "launches off");
        wire_answer_free(&a);
        (void)!ask(s, &a, "continue");
        wire_answer_free(&a);
        return;
    }
    s->state = STOPPED;
    place_take(s, e);
    s->stopped_at = s->last_hit = b ? b->number : 0;
    if (!b || !b->silent) {
        show_stop(s);
        show_displays(s);
    }
    if (b && b->ignore)
        b->ignore = 0;
    if (b && b->temporary)
        breakpoint_spent(s, b);
}

static void on_resolved(struct session *s, const struct wire_line *e)
{
    struct breakpoint *b = breakpoint_of_server(s, wire_number(e, "breakpoint", 0));
    if (b)
        b->pending = false;
}

static void on_event(struct session *s, struct wire_line *e)
{
    if (strcmp(e->kind, "hello") == 0)
        on_hello(s, e);
    else if (strcmp(e->kind, "stopped") == 0)
        on_stopped(s, e);
    else if (strcmp(e->kind, "resolved") == 0)
        on_resolved(s, e);
    else if (strcmp(e->kind, "finished") == 0 && s->stepping)
        tell("[launch %s, %s, has finished]\n", wire_text(e, "launch"), wire_text(e, "kernel"));
    wire_line_free(e);
}

void program_events(struct session *s)
{
    struct wire_line e;
    enum wire_got got = WIRE_NOTHING;
    while (s->state != NO_PROGRAM && (got = wire_event(&s->process.wire, &e)) == WIRE_EVENT)
        on_event(s, &e);
    if (got == WIRE_CLOSED && s->process.wire.fd >= 0)
        wire_close(&s->process.wire);
    if (s->state != NO_PROGRAM && process_over(&s->process)) {
        /* What it said last may have come after we looked. */
        while (wire_event(&s->process.wire, &e) == WIRE_EVENT)
            on_event(s, &e);
        say_end(s);
        forget_program(s);
    }
}

/* ---- waiting ---- */

/* Ctrl-C while the program runs. False: give the prompt although nothing has stopped. */
static bool on_interrupt(struct session *s, int presses)
{
    struct wire_answer a;
    if (presses > 1) {
        tell("the program goes on; `continue` waits for it, `kill` ends it\n");
        return false;
    }
    if (!s->greeted) {
        tell("the program has called no CUDA function yet; Ctrl-C again gives the prompt\n");
    } else {
        (void)!wire_call(&s->process.wire, &a, "interrupt");
        wire_answer_free(&a);
        if (!s->process.wire.events.n)
            process_wait(&s->process, -1, 300);
        if (!s->process.wire.events.n && !process_wait(&s->process, -1, 0))
            tell("no kernel runs now: the next one will be stopped at its start; Ctrl-C again gives the prompt\n");
    }
    return true;
}

static void wait_for_stop(struct session *s)
{
    int presses = 0;
    for (;;) {
        program_events(s);
        if (s->state != RUNNING)
            return;
        process_wait(&s->process, -1, -1);
        int now = interrupts_taken();
        presses += now;
        if (now && !on_interrupt(s, presses))
            return;
    }
}

/* Sends a request that lets the program run, and waits for what comes of it. */
static void go(struct session *s, const char *request)
{
    struct wire_answer a;
    if (ask(s, &a, "%s", request)) {
        s->state = RUNNING;
        s->resumed++;
        s->stopped_at = 0;
        interrupts_taken();
    }
    wire_answer_free(&a);
    if (s->state == RUNNING)
        wait_for_stop(s);
}

/* ---- starting and ending ---- */

void program_end(struct session *s)
{
    if (s->state == NO_PROGRAM)
        return;
    process_kill(&s->process);
    forget_program(s);
}

/* `<FILE`, `> FILE`: what becomes the program's standard input or output, as in a shell. False: the word is none of these. */
static bool take_redirection(struct session *s, const char *word, char **rest)
{
    int which = *word == '<' ? 0 : *word == '>' ? 1 : -1;
    if (which < 0)
        return false;
    const char *file = word[1] ? word + 1 : word_next(rest);
    free(s->redirect[which]);
    s->redirect[which] = file ? strdup(file) : NULL;
    return true;
}

bool arguments_set(struct session *s, char *text)
{
    VEC(char *) words = {0};
    char *program = s->argv[0], *word;
    bool ok = vec_push(&words, program);
    for (int i = 0; i < 2; i++) {
        free(s->redirect[i]);
        s->redirect[i] = NULL;
    }
    while ((word = word_next(&text))) {
        size_t n = strlen(word);
        bool quoted = n > 1 && (*word == '"' || *word == '\'') && word[n - 1] == *word;
        if (take_redirection(s, word, &text))
            continue;
        char *copy = quoted ? strndup(word + 1, n - 2) : strdup(word);
        ok = copy && vec_push(&words, copy) && ok;
    }
    ok = vec_push(&words, NULL) && ok;
    if (ok) {
        for (char **a = s->argv + 1; *a; a++)
            free(*a);
        free(s->argv);
        s->argv = words.at;
    }
    return ok;
}

/* The program's standard files. False: complained. */
static bool open_files(struct session *s, int fds[3])
{
    static const int flags[] = {O_RDONLY | O_CLOEXEC, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC};
    for (int i = 0; i < 3; i++) {
        const char *file = i < 2 ? s->redirect[i] : NULL;
        fds[i] = file ? open(file, flags[i], 0666) : i;
        if (fds[i] < 0) {
            complain(s, "%s: %s", file, strerror(errno));
            if (i == 1 && fds[0] > 2)
                close(fds[0]);
            return false;
        }
    }
    return true;
}

void command_run(struct session *s, const char *word, char *args)
{
    int e, fds[3];
    (void)word;
    if (*args && !arguments_set(s, args)) {
        complain(s, "no memory");
        return;
    }
    if (s->state != NO_PROGRAM) {
        tell("[the program is started again]\n");
        program_end(s);
    }
    fflush(NULL);
    if (!open_files(s, fds))
        return;
    bool started = process_start(&s->process, s->path, s->argv, fds, &e);
    int why = e ? e : errno;
    for (int i = 0; i < 3; i++)
        if (fds[i] > 2)
            close(fds[i]);
    if (!started) {
        complain(s, "the program could not be started: %s", strerror(why));
        return;
    }
    s->state = RUNNING;
    s->resumed++;
    interrupts_taken();
    wait_for_stop(s);
}

void command_start(struct session *s, const char *word, char *args)
{
    struct breakpoint *b = breakpoint_add(s, false, "entry", "break at=entry");
    if (!b)
        return;
    b->temporary = true;
    command_run(s, word, args);
}

void command_kill(struct session *s, const char *word, char *args)
{
    (void)word;
    if (*args && word_is(args, "kernel", 1)) {
        if (need_kernel(s))
            go(s, "kill");
        return;
    }
    if (s->state == NO_PROGRAM) {
        complain(s, "the program does not run");
        return;
    }
    program_end(s);
    tell("[the program was killed]\n");
}

void command_detach(struct session *s, const char *word, char *args)
{
    struct wire_answer a;
    (void)word;
    (void)args;
    if (!need_program(s))
        return;
    if (ask(s, &a, "detach")) {
        s->state = RUNNING;
        tell("[the program runs on without a debugger]\n");
    }
    wire_answer_free(&a);
    if (s->state == RUNNING)
        wait_for_stop(s);
}

/* ---- going on ---- */

/* continue N: pass the breakpoint we are at N - 1 times. False: complained. */
static bool pass_times(struct session *s, uint64_t n)
{
    struct breakpoint *b = breakpoint_find(s, s->last_hit);
    struct wire_answer a;
    if (!b) {
        complain(s, "continue N: no breakpoint is here to be passed");
        return false;
    }
    bool ok = n < 2 || ask(s, &a, "ignore %u %llu", b->server, (unsigned long long)n - 1);
    if (n > 1) {
        tell("breakpoint %u will be passed %llu times\n", b->number, (unsigned long long)n - 1);
        wire_answer_free(&a);
    }
    return ok;
}

static bool takes_location(const char *verb) { return strcmp(verb, "until") == 0 || strcmp(verb, "advance") == 0; }

void command_resume(struct session *s, const char *verb, char *args)
{
    struct textbuf request = {0};
    uint64_t n;
    bool plain = strcmp(verb, "continue") == 0, anywhere = plain || strcmp(verb, "cycle") == 0;
    if (s->state == RUNNING && plain) {
        wait_for_stop(s);
        return;
    }
    if (anywhere ? !need_program(s) : !need_kernel(s))
        return;
    if (*args && !takes_location(verb) && !word_number(args, &n)) {
        complain(s, "%s takes a number, not '%.40s'", verb, args);
        return;
    }
    if (plain && *args) {
        if (!pass_times(s, n))
            return;
        args += strlen(args);                  /* it is not for the server */
    }
    if (strcmp(verb, "advance") == 0 && !*args) {
        complain(s, "advance: to which place?");
        return;
    }
    textbuf_add(&request, "%s", verb);
    if (*args) {
        textbuf_add(&request, " ");
        wire_add_word(&request, args);
    }
    s->stepping = !plain;
    if (!request.failed)
        go(s, request.at);
    textbuf_free(&request);
}

void command_stepi(struct session *s, const char *verb, char *args)
{
    if (strncmp(args, "-a", 2) != 0 && strncmp(args, "all", 3) != 0) {
        command_resume(s, verb, args);
        return;
    }
    char request[64];
    uint64_t n = 1;
    (void)word_next(&args);
    args = word_skip(args);
    if (*args && (!word_number(args, &n) || !n)) {
        complain(s, "stepi -all takes a number, not '%.40s'", args);
        return;
    }
    snprintf(request, sizeof request, "stepi all %" PRIu64, n);
    s->stepping = true;
    if (need_kernel(s))
        go(s, request);
}

void command_checkpoint(struct session *s, const char *word, char *args)
{
    struct wire_answer a;
    struct textbuf file = {0};
    (void)word;
    if (!*args) {
        complain(s, "checkpoint: into which file?");
        return;
    }
    if (!need_kernel(s))
        return;
    wire_add_word(&file, args);
    if (!file.failed && ask(s, &a, "checkpoint %s", file.at))
        tell(a.lines.n && *wire_text(&a.lines.at[0], "written") ? "[%s is written within some hundred cycles, when the kernel goes on]\n" : "[written: %s]\n", args);
    if (!file.failed)
        wire_answer_free(&a);
    textbuf_free(&file);
}
