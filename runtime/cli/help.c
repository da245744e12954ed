/* `heddle help`: pages made from the tables of knobs, verbs, and settings and statistics of the simulated GPU. */
#include "runtime/cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "timing/stats.h"

static void print_option(FILE *f, const struct knob *k)
{
    char option[64], left[96];
    knob_option(k, option, sizeof option);
    const char *shorthand = strcmp(k->name, "quiet") == 0 ? "-q, " : strcmp(k->name, "verbose") == 0 ? "-v, " : "    ";
    const char *value = k->type == KNOB_TYPE_BOOL ? "" : k->type == KNOB_TYPE_INT ? "=N" : k->type == KNOB_TYPE_BYTES ? "=BYTES"
                        : k->type == KNOB_TYPE_CHOICE ? "=WORD" : *k->unit == 'p' ? "=PATH" : "=NAME";
    snprintf(left, sizeof left, "%s--%s%s", shorthand, option, value);
    fprintf(f, "  %-22s %s", left, k->help);
    if (k->type == KNOB_TYPE_CHOICE)
        fprintf(f, ": %s", k->unit);
    if (k->type != KNOB_TYPE_BOOL && *k->standard)
        fprintf(f, " (%s)", k->standard);
    fputc('\n', f);
}

static void print_overview(struct cli *c, FILE *f)
{
    const char *b = bold(f), *p = plain(f);
    fprintf(f, "%sheddle%s [VERB] [OPTIONS] PROGRAM [ARGS]\n\nRuns an unmodified CUDA program on a machine without a GPU.\n\n", b, p);
    fprintf(f, "%sVerbs%s\n", b, p);
    for (const struct verb *v = cli_verbs; v->name; v++)
        fprintf(f, "  %-8s %s\n", v->name, v->summary);
    fprintf(f, "\n%sOptions%s\n", b, p);
    for (size_t i = 0; i < c->knobs.settings.n; i++)
        print_option(f, &c->knobs.settings.rows[i]);
    fprintf(f, "  %-22s %s\n  %-22s %s\n", "-h, --help", "this page", "-V, --version", "the version");
    fprintf(f, "\n%sSettings%s are taken from, each overriding those before: defaults, ./%s (lines `name = value`),\n"
               "the environment variable %s (options as above), the command line.\n", b, p, KNOBS_CONF_FILE, KNOBS_ENV_OPTIONS);
    fprintf(f, "\n%sExit status%s: the program's; 125 when Heddle fails, 126 when the program cannot be executed, 127 when it is not\n"
               "found. A program that a signal ends ends heddle the same way.\n", b, p);
    fprintf(f, "\n%sExamples%s\n  nvcc -O2 vectorAdd.cu -o vectorAdd\n  heddle ./vectorAdd\n  heddle --gpu=a100 --threads=4 ./app args\n"
               "  heddle info ./app\n  heddle help sm.clusters       a setting of the simulated GPU (timing/KNOBS.md has all of them)\n"
               "  heddle help stats ipc         a statistic of the simulated GPU\n", b, p);
}

static void print_knob(struct cli *c, size_t i)
{
    const struct knob *k = &c->knobs.settings.rows[i];
    char option[64], value[KNOB_TEXT_BYTES];
    knob_option(k, option, sizeof option);
    printf("%s%s%s: %s\n\n", bold(stdout), option, plain(stdout), k->help);
    if (k->type == KNOB_TYPE_CHOICE)
        printf("  one of      %s\n", k->unit);
    else if (*k->unit)
        printf("  unit        %s\n", k->unit);
    if (k->type == KNOB_TYPE_INT || k->type == KNOB_TYPE_BYTES)
        printf("  range       %lld to %lld\n", (long long)k->min, (long long)k->max);
    printf("  default     %s\n", *k->standard ? k->standard : "(empty)");
    settings_print(&c->knobs.settings, i, value, sizeof value);
    printf("  now         %s   (%s)\n", *value ? value : "(empty)", c->knobs.origins[i]);
    printf("  option      --%s%s\n  in a file   %s = %s\n", option, k->type == KNOB_TYPE_BOOL ? "" : "=...", option,
           *k->standard ? k->standard : "...");
}

/* ---- the simulated GPU ---- */

static void print_timing_knob(struct cli *c, size_t i)
{
    struct timing_knob k = timing_knob(i);
    char value[512], origin[512];
    struct timing_settings *s = knobs_timing(&c->knobs);
    printf("%s%s%s: %s\n\n", bold(stdout), k.name, plain(stdout), k.help);
    if (*k.words)
        printf("  one of      %s\n", k.words);
    if (*k.unit)
        printf("  unit        %s\n", k.unit);
    if (*k.aliases)
        printf("  GPGPU-Sim   %s\n", k.aliases);
    if (*k.composite)
        printf("  also by     %s\n", k.composite);
    printf("  default     %s\n", *k.standard ? k.standard : "(empty)");
    if (s)
        printf("  now         %s   (%s)\n", timing_knob_print(s, i, value, sizeof value), timing_knob_origin(s, i, origin, sizeof origin));
    if (k.note)
        printf("  note        %s\n", k.note);
    printf("  option      --%s=...\n  in a file   %s = %s%s%s\n", k.name, k.name, *k.standard ? k.standard : "...", *k.unit ? " " : "", k.unit);
    timing_settings_free(s);
}

static void print_timing_option(size_t i)
{
    struct timing_option o = timing_option(i);
    printf("%s%s%s: %s\n\n", bold(stdout), o.name ? o.name : o.aliases, plain(stdout), o.help);
    if (o.name)
        printf("  GPGPU-Sim   %s\n  sets        ", o.aliases);
    for (size_t k = 0, n = 0; o.name && k < timing_knob_count(); k++) {
        struct timing_knob knob = timing_knob(k);
        size_t length = strlen(o.name);
        if (strncmp(knob.composite, o.name, length) == 0 && knob.composite[length] == ' ')
            printf("%s%s", n++ ? ", " : "", knob.name);
    }
    printf(o.name ? "\n" : "  note        %s\n", o.note ? o.note : "accepted; nothing here depends on it");
}

/* What a line is too short for. */
static const struct { const char *verb, *text; } more[] = {
    {"debug", "  -x FILE       take commands from a file, which ends at the first that fails\n"
              "  -ex COMMAND   one command; several, and -x, are done in their order\n"
              "  -batch        no commands from standard input; the exit status is the program's, or 1 when a command failed\n"
              "  --sim         on the simulated GPU, where there are cycles\n\n"
              "The program keeps its standard input and output; the debugger talks on standard error. `help` in it lists the commands.\n"},
    {"dap", "Members of the launch request: program, args, cwd, env, stopOnEntry, sim, options (of heddle, such as --gpu=a100), sourceFolders.\n"},
};

static void print_verb(const struct verb *v)
{
    printf("%sheddle %s%s %s\n\n%s\n", bold(stdout), v->name, plain(stdout), v->syntax, v->summary);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (strcmp(more[i].verb, v->name) == 0)
            printf("\n%s", more[i].text);
}

static int help_stats(const char *name)
{
    for (size_t i = 0; !name && i < timing_stat_count(); i++) {
        struct timing_stat s = timing_stat(i);
        printf("%-34s %-24s %s\n", s.name, s.unit, s.help);
    }
    if (!name)
        return 0;
    int i = timing_stat_find(name);
    if (i < 0) {
        say_error("no statistic is called '%s'", name);
        i = timing_stat_nearest(name);
        say_hint(i >= 0 ? "heddle help stats %s" : "heddle help stats  lists them", i >= 0 ? timing_stat((size_t)i).name : "");
        return EXIT_OWN_FAILURE;
    }
    struct textbuf text = {0};
    timing_stat_explain((size_t)i, &text);
    fputs(text.at ? text.at : "", stdout);
    textbuf_free(&text);
    return 0;
}

int verb_help(struct cli *c, int argc, char **argv)
{
    if (argc == 0) {
        print_overview(c, stdout);
        return 0;
    }
    if (strcmp(argv[0], "stats") == 0)
        return help_stats(argc > 1 ? argv[1] : NULL);
    int timing = timing_knob_find(argv[0]);
    if (timing < 0)
        timing = timing_knob_find(argv[0] + strspn(argv[0], "-"));
    if (timing >= 0) {
        print_timing_knob(c, (size_t)timing);
        return 0;
    }
    timing = timing_option_find(argv[0]);
    if (timing >= 0) {
        print_timing_option((size_t)timing);
        return 0;
    }
    const char *topic = argv[0] + strspn(argv[0], "-");
    const char *nearest = NULL;
    unsigned near = 1 + (unsigned)strlen(topic) / 3;
    for (const struct verb *v = cli_verbs; v->name; v++) {
        if (strcmp(v->name, topic) == 0) {
            print_verb(v);
            return 0;
        }
        unsigned d = text_distance(v->name, topic);
        if (d <= near) {
            near = d;
            nearest = v->name;
        }
    }
    int i = settings_find(&c->knobs.settings, topic);
    if (i >= 0) {
        print_knob(c, (size_t)i);
        return 0;
    }
    char option[64];
    int knob = settings_nearest(&c->knobs.settings, topic);
    say_error("no help on '%s'", topic);
    if (nearest || knob >= 0)
        say_hint("heddle help %s", nearest ? nearest : knob_option(&c->knobs.settings.rows[knob], option, sizeof option));
    else
        say_hint("heddle help  lists the verbs and settings; heddle help NAME  explains one");
    return EXIT_OWN_FAILURE;
}
