/* `heddle resume`: runs the program of a checkpoint again, which the library takes to where it was. What can be refused before that is refused here. */
#include <stdlib.h>
#include <string.h>

#include "runtime/checkpoint/file.h"
#include "runtime/checkpoint/program.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/target.h"

static bool given(const struct cli *c, int knob) { return strcmp(c->knobs.origins[knob], "command line") == 0; }

static enum status set(struct cli *c, const char *name, const char *value, struct error *err)
{
    return settings_set(&c->knobs.settings, name, value, "the checkpoint", err);
}

/* The program sees the GPU that it saw. Another one may give the times, and, by force, be seen. */
static enum status choose_gpu(struct cli *c, const struct program *then, struct error *err)
{
    char devices[16];
    const struct rt_knobs *k = &c->knobs.values;
    bool other = given(c, KNOB_ID_gpu) && strcmp(k->gpu, then->gpu) != 0;
    snprintf(devices, sizeof devices, "%u", then->devices);
    if (other && k->force)
        return ST_OK;
    if (other && k->mode != KNOB_MODE_SIM) {
        error_set(err, ST_INVALID_VALUE, "the checkpoint was taken on %s, not on %s", then->gpu, k->gpu);
        error_hint(err, "--mode=sim --gpu=%s  times it on that GPU; the program goes on seeing %s (--force lets it see the other)", k->gpu, then->gpu);
        return ST_INVALID_VALUE;
    }
    enum status st = other && !*k->config ? set(c, "config", k->gpu, err) : ST_OK;
    if (st == ST_OK)
        st = set(c, "gpu", then->gpu, err);
    return st == ST_OK ? set(c, "devices", devices, err) : st;
}

static enum status check(struct cli *c, struct hck_reader *r, const char *file, char **argv, struct error *err)
{
    struct program then, now;
    char path[PATH_MAX];
    struct source *from = hck_find(r, HCK_CALLS);
    if (!from) {
        error_set(err, ST_NOT_SUPPORTED, "%s: the calls of the program are not in this checkpoint", file);
        error_hint(err, "heddle resume --kernel-only %s  goes on without the program", file);
        return ST_NOT_SUPPORTED;
    }
    enum status st = program_get(&then, from, err);
    if (st != ST_OK)
        return st;
    st = choose_gpu(c, &then, err);
    if (then.visible_set ? setenv("CUDA_VISIBLE_DEVICES", then.visible, 1) != 0 : unsetenv("CUDA_VISIBLE_DEVICES") != 0)
        st = error_set(err, ST_OUT_OF_MEMORY, "no memory for the environment");
    /* A script's interpreter is the library's to compare. */
    static struct target t;
    if (st == ST_OK && target_find(argv[0], path) && target_read(&t, path, err) == ST_OK && t.kind == TARGET_ELF && !c->knobs.values.force) {
        st = program_of(&now, path, argv, err);
        if (st == ST_OK) {
            st = program_compare(&then, &now, err);
            program_free(&now);
        }
    }
    program_free(&then);
    return st;
}

int verb_resume(struct cli *c, int argc, char **argv)
{
    struct error err = {0};
    struct hck_reader *r;
    char file[PATH_MAX];
    int at = 1;
    bool ended = false;
    if (argc == 0) {
        say_error("which checkpoint?");
        say_hint("heddle resume FILE -- ./app args");
        return EXIT_OWN_FAILURE;
    }
    if (!cli_options(c, argc, argv, &at, &ended))
        return EXIT_OWN_FAILURE;
    if (c->knobs.values.kernel_only)
        return resume_alone(c, argv[0]);
    if (at >= argc) {
        say_error("which program? It is run again from its start, without the kernels before the checkpoint");
        say_hint("heddle resume %s -- ./app args", argv[0]);
        return EXIT_OWN_FAILURE;
    }
    if (hck_open(&r, argv[0], &err) != ST_OK) {
        say_status(&err);
        return EXIT_OWN_FAILURE;
    }
    enum status st = check(c, r, argv[0], argv + at, &err);
    hck_close(r);
    if (st == ST_OK && !realpath(argv[0], file))
        st = error_set(&err, ST_FILE_NOT_FOUND, "%s: not found", argv[0]);
    if (st == ST_OK)
        st = settings_set(&c->knobs.settings, "resume", file, "heddle resume", &err);
    if (st != ST_OK) {
        say_status(&err);
        return EXIT_OWN_FAILURE;
    }
    return verb_run(c, argc - at, argv + at);
}
