/* `heddle config`: every setting, those of the simulated GPU included. */
#include "runtime/cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "timing/config.h"

/* Warnings and mistakes of the simulated GPU's settings. False: there are mistakes. */
static bool say_notes(const struct timing_settings *s, bool warnings)
{
    bool ok = true;
    for (size_t i = 0; i < timing_settings_notes(s); i++) {
        bool is_error;
        struct error err = {.status = ST_INVALID_VALUE};
        snprintf(err.text, sizeof err.text, "%s", timing_settings_note(s, i, &is_error));
        ok &= !is_error;
        if (is_error)
            say_status(&err);
        else if (warnings)
            say_warning("%s", err.text);
    }
    return ok;
}

bool cli_timing_check(const struct cli *c, bool warnings)
{
    static struct timing_config config;        /* large */
    struct error err = {0};
    struct timing_settings *s = knobs_timing(&c->knobs);
    if (!s) {
        say_error("no memory for the settings of the simulated GPU");
        return false;
    }
    enum status st = timing_settings_check(s, &config, &err);
    bool ok = say_notes(s, warnings) && st == ST_OK;
    if (st == ST_OUT_OF_MEMORY)
        say_status(&err);
    timing_settings_free(s);
    return ok;
}

/* GPGPU-Sim's way to ask for checkpoints. What the user says in ours counts more. */
static enum status take_checkpoint_options(struct cli *c, const struct timing_config *t, struct error *err)
{
    char where[96], path[PATH_MAX];
    enum status st = ST_OK;
    int n = snprintf(where, sizeof where, "kernel:%u", t->checkpoint.kernel);
    if (t->checkpoint.cta)
        n += snprintf(where + n, sizeof where - (size_t)n, ",cta:%u", t->checkpoint.cta);
    if (t->checkpoint.insn)
        snprintf(where + n, sizeof where - (size_t)n, ",insn:%u", t->checkpoint.insn);
    if (t->checkpoint.take && !*c->knobs.values.checkpoint)
        st = settings_set(&c->knobs.settings, "checkpoint", where, "-checkpoint_option", err);
    if (st != ST_OK || !t->checkpoint.resume || *c->knobs.values.resume)
        return st;
    if (!realpath(c->knobs.values.to, path))
        return error_set(err, ST_FILE_NOT_FOUND, "-resume_option 1: there is no checkpoint %s", c->knobs.values.to);
    return settings_set(&c->knobs.settings, "resume", path, "-resume_option", err);
}

bool cli_timing_checkpoint(struct cli *c)
{
    static struct timing_config config;        /* large */
    struct error err = {0};
    struct timing_settings *s = knobs_timing(&c->knobs);
    if (!s)
        return true;
    enum status st = timing_settings_check(s, &config, &err);
    timing_settings_free(s);
    if (st == ST_OK)
        st = take_checkpoint_options(c, &config, &err);
    if (st != ST_OK)
        say_status(&err);
    return st == ST_OK;
}

/* ---- the verb ---- */

static bool wanted(const char *name, int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strncmp(name, argv[i], strlen(argv[i])) == 0)
            return true;
    return argc == 0;
}

static void print_settings(struct cli *c, int argc, char **argv)
{
    for (size_t i = 0; i < c->knobs.settings.n; i++) {
        const struct knob *k = &c->knobs.settings.rows[i];
        char option[64], value[KNOB_TEXT_BYTES];
        settings_print(&c->knobs.settings, i, value, sizeof value);
        if (wanted(knob_option(k, option, sizeof option), argc, argv))
            printf("%-26s %-24s %-12s %s\n", option, *value ? value : "\"\"", k->type == KNOB_TYPE_CHOICE || !*k->unit ? "-" : k->unit, c->knobs.origins[i]);
    }
}

static void print_timing(const struct timing_settings *s, int argc, char **argv)
{
    for (size_t i = 0; i < timing_knob_count(); i++) {
        struct timing_knob k = timing_knob(i);
        char value[512], origin[512];
        if (wanted(k.name, argc, argv))
            printf("%-26s %-24s %-12s %s\n", k.name, timing_knob_print(s, i, value, sizeof value), *k.unit ? k.unit : "-",
                   timing_knob_origin(s, i, origin, sizeof origin));
    }
}

int verb_config(struct cli *c, int argc, char **argv)
{
    int at = 0;
    bool ended;
    if (argc > 0 && strcmp(argv[0], "--show") != 0) {
        say_error("heddle config knows --show only, not '%s'", argv[0]);
        return EXIT_OWN_FAILURE;
    }
    at = argc > 0;
    if (!cli_options(c, argc, argv, &at, &ended))
        return EXIT_OWN_FAILURE;
    static struct timing_config config;        /* large */
    struct error err = {0};
    struct timing_settings *s = knobs_timing(&c->knobs);
    if (!s) {
        say_error("no memory for the settings of the simulated GPU");
        return EXIT_OWN_FAILURE;
    }
    bool ok = timing_settings_check(s, &config, &err) == ST_OK;
    printf("%s%-26s %-24s %-12s %s%s\n", bold(stdout), "setting", "value", "unit", "origin", plain(stdout));
    print_settings(c, argc - at, argv + at);
    print_timing(s, argc - at, argv + at);
    fflush(stdout);
    ok &= say_notes(s, true);
    timing_settings_free(s);
    if (c->load_error.status != ST_OK) {
        say_status(&c->load_error);
        ok = false;
    }
    return ok ? 0 : EXIT_OWN_FAILURE;
}
