/* `heddle debug`: options, the session's beginning and end, and the loop that reads commands. */
#include "runtime/cli/debug.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What -x and -ex ask for, in their order, as lines of one text. */
struct wishes { struct textbuf commands; bool batch; };

/* gdb's words: -x FILE, -ex COMMAND, -batch (with one or two hyphens), and --sim. False: it is none of them. */
static bool own_option(struct cli *c, int argc, char **argv, int *at, struct wishes *w, bool *bad)
{
    const char *arg = argv[*at] + 1;
    if (*arg == '-')
        arg++;
    bool file = strcmp(arg, "x") == 0 || strcmp(arg, "command") == 0, command = strcmp(arg, "ex") == 0 || strcmp(arg, "eval-command") == 0;
    *bad = (file || command) && *at + 1 >= argc;
    if (*bad) {
        say_error("%s needs a %s behind it", argv[*at], file ? "file" : "command");
        return true;
    }
    if (file || command)
        textbuf_add(&w->commands, "%s%s\n", file ? "source " : "", argv[++*at]);
    else if (strcmp(arg, "batch") == 0)
        w->batch = true;
    else if (strcmp(argv[*at], "--sim") == 0)
        (void)!settings_set(&c->knobs.settings, "mode", "sim", "--sim", NULL);
    else if (strcmp(argv[*at], "--args") != 0)             /* accepted: what follows the program is always its own */
        return false;
    ++*at;
    return true;
}

static bool read_options(struct cli *c, int argc, char **argv, int *at, struct wishes *w)
{
    bool ended = false, bad = false;
    while (!ended && *at < argc && argv[*at][0] == '-' && argv[*at][1]) {
        if (own_option(c, argc, argv, at, w, &bad)) {
            if (bad)
                return false;
        } else if (!cli_option(c, argc, argv, at, &ended)) {
            return false;
        }
    }
    return true;
}

/* ---- the loop ---- */

static void run_wishes(struct session *s, struct textbuf *text)
{
    FILE *f = text->n ? fmemopen(text->at, text->n, "r") : NULL;
    struct input *in = f ? input_plain(s, f, "-ex") : NULL;
    bool interrupted = false;
    const char *line;
    s->input = in;
    while (in && !s->quitting && (line = input_line(in, "(heddle) ", &interrupted))) {
        command_line(s, line);
        s->any_failed |= s->failed;
    }
    s->input = NULL;
    input_close(in);
}

/* An empty line repeats the last command on a terminal, as in gdb; in a script it does nothing. */
static void read_commands(struct session *s)
{
    struct input *in = s->terminal ? input_terminal(s) : input_plain(s, NULL, "standard input");
    bool interrupted = false;
    s->input = in;
    while (in && !s->quitting) {
        const char *line = input_line(in, "(heddle) ", &interrupted);
        if (!line && interrupted && s->terminal)
            continue;
        if (!line)
            break;
        program_events(s);
        char repeated[sizeof s->repeat];
        if (s->terminal && !line[strspn(line, " \t")]) {
            memcpy(repeated, s->repeat, sizeof repeated);
            line = repeated;
        }
        command_line(s, line);
    }
    if (s->terminal && !s->quitting)
        tell("\n");
    s->input = NULL;
    input_close(in);
}

/* ---- the session ---- */

static bool session_begin(struct session *s, struct cli *c, int argc, char **argv)
{
    s->cli = c;
    s->process.wire = wire_open(-1);
    s->place.kind = "";
    s->argv = calloc((size_t)argc + 1, sizeof *s->argv);
    for (int i = 0; s->argv && i < argc; i++)
        s->argv[i] = strdup(argv[i]);
    s->exit_status = run_prepare(c, argv[0], &s->target, s->path);
    if (s->exit_status || !s->argv)
        return false;
    s->hello = run_offer_hello();
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", s->path);
    char *slash = strrchr(folder, '/');
    if (slash) {
        *slash = 0;
        source_folder(&s->sources, folder);
    }
    process_signals();
    return true;
}

static void session_end(struct session *s)
{
    program_end(s);
    breakpoints_free(s);
    char all[] = "";
    command_undisplay(s, "", all);
    vec_free(&s->displays);
    for (size_t i = 0; i < s->values.n; i++)
        free(s->values.at[i]);
    vec_free(&s->values);
    for (char **a = s->argv; a && *a; a++)
        free(*a);
    free(s->argv);
    free(s->redirect[0]);
    free(s->redirect[1]);
    sources_free(&s->sources);
    wire_line_free(&s->place);
    target_close(&s->target);
}

int verb_debug(struct cli *c, int argc, char **argv)
{
    static struct session s;
    struct wishes w = {0};
    int at = 0;
    if (!read_options(c, argc, argv, &at, &w))
        return EXIT_OWN_FAILURE;
    if (c->help_wanted)
        return verb_help(c, 1, (char *[]){(char *)(uintptr_t)"debug", NULL});
    if (at == argc) {
        say_error("which program?");
        say_hint("heddle debug ./app args");
        return EXIT_OWN_FAILURE;
    }
    if (!session_begin(&s, c, argc - at, argv + at))
        return s.exit_status ? s.exit_status : EXIT_OWN_FAILURE;
    s.batch = w.batch;
    s.terminal = !w.batch && isatty(STDIN_FILENO);
    if (s.terminal)
        tell("heddle debug: %s. `help` lists the commands, `run` starts the program.\n", s.path);
    run_wishes(&s, &w.commands);
    textbuf_free(&w.commands);
    if (!s.batch && !s.quitting)
        read_commands(&s);
    session_end(&s);
    if (s.status_given || (s.batch && s.exit_status))
        return s.exit_status;
    return s.batch && s.any_failed;            /* scripts see the program's status, or that a command failed */
}
