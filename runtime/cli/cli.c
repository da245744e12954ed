#include "runtime/cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cli/target.h"
#include "runtime/runtime.h"

const struct verb cli_verbs[] = {
    {"run", verb_run, "[OPTIONS] PROGRAM [ARGS]", "run a CUDA program without a GPU (the verb may be left out)"},
    {"sim", verb_sim, "[OPTIONS] PROGRAM [ARGS]", "run it on the simulated GPU: the same results, and the cycles they take"},
    {"debug", verb_debug, "[-x FILE] [-ex COMMAND] [-batch] [--sim] [OPTIONS] PROGRAM [ARGS]", "run it under the debugger for kernels"},
    {"dap", verb_dap, "[OPTIONS]", "the same for editors: the Debug Adapter Protocol on standard input and output"},
    {"resume", verb_resume, "[OPTIONS] FILE [-- PROGRAM [ARGS]]", "go on from a checkpoint: the program runs again, without the kernels before it"},
    {"checkpoint", verb_checkpoint, "PID [FILE]", "have a running program write a checkpoint, in the middle of its kernel"},
    {"python", verb_python, "[PYTHON] [ARGS]", "run a Python interpreter (python3 of PATH) with what its CUDA packages need"},
    {"info", verb_info, "PROGRAM", "what is inside: kernels, architectures, registers, and what would go wrong"},
    {"config", verb_config, "[--show [OPTIONS] [NAMES]]", "every setting with its value, unit and origin; NAMES: those that begin so"},
    {"help", verb_help, "[TOPIC]", "this page, a verb, a setting, or a statistic (help stats NAME)"},
    {0},
};

/* ---- paths ---- */

static bool try_library(struct cli *c, const char *dir, const char *relative)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, relative) >= sizeof path || !realpath(path, c->library))
        return false;
    snprintf(c->shims, sizeof c->shims, "%s", c->library);
    char *slash = strrchr(c->shims, '/');
    snprintf(slash, sizeof c->shims - (size_t)(slash - c->shims), "/shims");
    return true;
}

/* Next to the launcher (a build folder), or where `make install` puts it. */
static void find_library(struct cli *c)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = 0;
        *strrchr(self, '/') = 0;
        if (try_library(c, self, "libheddle.so") || try_library(c, self, "../lib/heddle/libheddle.so"))
            return;
    }
    c->library[0] = 0;
}

void cli_init(struct cli *c)
{
    knobs_init(&c->knobs);
    c->load_error = (struct error){0};
    (void)!knobs_load(&c->knobs, &c->load_error);  /* reported by the verbs that need the settings */
    find_library(c);
}

/* ---- options ---- */

static bool short_option(struct cli *c, const char *arg)
{
    for (const char *p = arg + 1; *p; p++) {
        const char *name = *p == 'q' ? "quiet" : *p == 'v' ? "verbose" : NULL;
        if (name)
            (void)!settings_set(&c->knobs.settings, name, "on", "command line", NULL);
        else if (*p == 'h')
            c->help_wanted = true;
        else if (*p == 'V')
            c->version_wanted = true;
        else
            return false;
    }
    return true;
}

static void refuse_option(struct cli *c, const char *arg)
{
    char name[64], option[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(arg, "="), arg);
    say_error("unknown option '%s'", name);
    int near = name[1] == '-' ? settings_nearest(&c->knobs.settings, name + 2) : -1;
    if (near >= 0)
        say_hint("did you mean --%s?", knob_option(&c->knobs.settings.rows[near], option, sizeof option));
    else
        say_hint("heddle help  lists the options; the program's own go behind its name");
}

bool cli_option(struct cli *c, int argc, char **argv, int *at, bool *ended)
{
    struct error err = {0};
    const char *arg = argv[*at];
    int before = *at;
    if (settings_args(&c->knobs.settings, argc, argv, at, "command line", &err) != ST_OK) {
        say_status(&err);
        return false;
    }
    if (*at > before) {
        *ended = strcmp(argv[*at - 1], "--") == 0;
        return true;
    }
    if (strcmp(arg, "--help") == 0)
        c->help_wanted = true;
    else if (strcmp(arg, "--version") == 0)
        c->version_wanted = true;
    else if (arg[1] == '-' || !short_option(c, arg)) {
        refuse_option(c, arg);
        return false;
    }
    ++*at;
    return true;
}

bool cli_options(struct cli *c, int argc, char **argv, int *at, bool *ended)
{
    *ended = false;
    while (!*ended && *at < argc && argv[*at][0] == '-' && argv[*at][1])
        if (!cli_option(c, argc, argv, at, ended))
            return false;
    return true;
}

const struct rt_device_facts *cli_gpu(const struct cli *c)
{
    const struct rt_device_facts *gpu = rt_gpu_find(c->knobs.values.gpu);
    if (gpu)
        return gpu;
    char keys[256];
    say_error("%s: there is no GPU '%s'", c->knobs.origins[KNOB_ID_gpu], c->knobs.values.gpu);
    say_hint("--gpu= takes one of %s", rt_gpu_keys(keys, sizeof keys));
    return NULL;
}

/* ---- verbs ---- */

static const struct verb *verb_find(const char *name)
{
    for (const struct verb *v = cli_verbs; v->name; v++)
        if (strcmp(v->name, name) == 0)
            return v;
    return NULL;
}

/* `config --show`, `help --gpu`, `debug -ex` and `python -c` have words of their own. */
static bool own_words(const struct verb *v)
{
    return v->run == verb_config || v->run == verb_help || v->run == verb_debug || v->run == verb_python;
}

int cli_main(int argc, char **argv)
{
    static struct cli c;
    int at = 1;
    bool ended;
    const struct verb *verb = NULL;
    cli_init(&c);
    if (!cli_options(&c, argc, argv, &at, &ended))
        return EXIT_OWN_FAILURE;
    if (!ended && at < argc && (verb = verb_find(argv[at]))) {
        at++;
        if (!own_words(verb) && !cli_options(&c, argc, argv, &at, &ended))
            return EXIT_OWN_FAILURE;
    }
    if (c.version_wanted) {
        puts("heddle " HEDDLE_VERSION);
        return 0;
    }
    if (c.help_wanted) {
        char *topic[] = {verb ? (char *)(uintptr_t)verb->name : NULL, NULL};
        return verb_help(&c, verb ? 1 : 0, topic);
    }
    if (!verb && at >= argc) {
        verb_help(&c, 0, argv + at);
        return EXIT_OWN_FAILURE;
    }
    return (verb ? verb->run : verb_run)(&c, argc - at, argv + at);
}
