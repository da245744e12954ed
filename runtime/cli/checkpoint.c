/* Checkpoints as the launcher sees them: asking for one, looking into one, running its kernels without the program. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/checkpoint/about.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/request.h"
#include "runtime/cli/cli.h"

/* ---- heddle checkpoint PID [FILE] ---- */

int verb_checkpoint(struct cli *c, int argc, char **argv)
{
    char path[PATH_MAX] = "", answer[1400];
    struct error err = {0};
    char *end = NULL;
    long pid = argc ? strtol(argv[0], &end, 10) : 0;
    if (argc < 1 || argc > 2 || !end || *end || pid <= 0 || pid > INT_MAX) {
        say_error("which process?");
        say_hint("heddle checkpoint PID [FILE]");
        return EXIT_OWN_FAILURE;
    }
    if (argc == 2 && argv[1][0] == '/')
        snprintf(path, sizeof path, "%s", argv[1]);
    else if (argc == 2 && getcwd(path, sizeof path) && strlen(path) + strlen(argv[1]) + 2 < sizeof path)
        snprintf(path + strlen(path), sizeof path - strlen(path), "/%s", argv[1]);
    if (request_ask((int)pid, path, -1, answer, sizeof answer, &err) != ST_OK) {
        say_status(&err);
        return EXIT_OWN_FAILURE;
    }
    if (!c->knobs.values.quiet)
        printf("%s\n", answer);
    return 0;
}

/* ---- heddle info FILE.hck ---- */

static bool looks_like_one(const char *path)
{
    char magic[4] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is = fd >= 0 && read(fd, magic, sizeof magic) == (ssize_t)sizeof magic && memcmp(magic, "\x89HCK", 4) == 0;
    if (fd >= 0)
        close(fd);
    return is;
}

static void print_size(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes;
    int i = 0;
    for (; v >= 1024 && i < 4; i++)
        v /= 1024;
    printf(i ? "%9.1f %-3s" : "%9.0f %-3s", v, units[i]);
}

static int print_checkpoint(struct hck_reader *r, const char *path)
{
    static struct checkpoint_about about;
    struct error err = {0};
    const struct hck_entry *x;
    size_t n = hck_entries(r, &x);
    if (checkpoint_about(&about, r, &err) != ST_OK) {
        say_status(&err);
        return EXIT_OWN_FAILURE;
    }
    printf("%s%s%s: a checkpoint of format %u, written by %s%s\n", bold(stdout), path, plain(stdout), hck_head(r)->version, hck_head(r)->build,
           hck_head(r)->layout == hck_layout() ? "" : " with another layout of memory: this build cannot go on from it");
    for (uint32_t i = 0; i < about.n; i++)
        if (about.fact[i].value[0])
            printf("  %-12s %s\n", about.fact[i].name, about.fact[i].value);
    printf("  %-12s %13s %13s\n", "section", "bytes", "in the file");
    for (size_t i = 0; i < n; i++) {
        printf("  %-12s ", hck_section_name(x[i].id));
        print_size(x[i].raw_bytes);
        printf(" ");
        print_size(x[i].stored_bytes);
        printf("\n");
    }
    if (strcmp(about_fact(&about, "host calls"), "recorded") == 0)
        printf("next: heddle resume %s -- %s\n", path, about_fact(&about, "command"));
    else
        printf("next: heddle resume --kernel-only --mode=sim %s\n", path);
    return 0;
}

int info_checkpoint(const char *path)
{
    struct hck_reader *r;
    struct error err = {0};
    if (!looks_like_one(path))
        return -1;
    if (hck_open(&r, path, &err) != ST_OK) {
        say_status(&err);
        return EXIT_OWN_FAILURE;
    }
    bool whole = hck_check(r, &err) == ST_OK;
    if (!whole)
        say_status(&err);
    int status = whole ? print_checkpoint(r, path) : EXIT_OWN_FAILURE;
    hck_close(r);
    return status;
}

/* ---- heddle resume --kernel-only FILE ---- */

/* What the file says counts where the user says nothing. */
static bool settings_of(struct cli *c, struct hck_reader *r, struct error *err)
{
    static struct checkpoint_about about;
    char devices[16];
    if (checkpoint_about(&about, r, err) != ST_OK)
        return false;
    const char *gpu = about_fact(&about, "gpu");
    snprintf(devices, sizeof devices, "%u", about.devices);
    bool given = strcmp(c->knobs.origins[KNOB_ID_gpu], "command line") == 0;
    return (given || !*gpu || settings_set(&c->knobs.settings, "gpu", gpu, "the checkpoint", err) == ST_OK)
           && settings_set(&c->knobs.settings, "devices", devices, "the checkpoint", err) == ST_OK && settings_set(&c->knobs.settings, "checkpoint", "", "resume", err) == ST_OK
           && settings_set(&c->knobs.settings, "checkpoint_every", "", "resume", err) == ST_OK;
}

/* The runtime is in the library alone. */
static bool resume_in_library(const struct cli *c, const struct checkpoint_resume *q, struct error *err)
{
    (void)!dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL);       /* for the names of kernels; they are mangled without it */
    void *library = c->library[0] ? dlopen(c->library, RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*resume)(const struct checkpoint_resume *, struct error *) = NULL;
    if (library)
        *(void **)&resume = dlsym(library, "cuHeddleResume");
    if (resume)
        return resume(q, err) == ST_OK;
    error_set(err, ST_NOT_FOUND, "libheddle.so is not to be had: %s", c->library[0] ? dlerror() : "it is neither beside the launcher nor in ../lib/heddle");
    return false;
}

int resume_alone(struct cli *c, const char *file)
{
    struct hck_reader *r;
    struct error err = {0};
    if (hck_open(&r, file, &err) != ST_OK) {
        say_status(&err);
        return EXIT_OWN_FAILURE;
    }
    bool ok = settings_of(c, r, &err);
    hck_close(r);
    if (!ok) {
        say_status(&err);
        return EXIT_OWN_FAILURE;
    }
    bool timing = c->knobs.more.n || c->knobs.values.mode == KNOB_MODE_SIM;
    if (!cli_gpu(c) || !cli_plugins(c) || (timing && !cli_timing_check(c, false)))
        return EXIT_OWN_FAILURE;
    if (!run_export_settings(c) || unsetenv("CUDA_VISIBLE_DEVICES") != 0) {
        say_error("no memory for the environment");
        return EXIT_OWN_FAILURE;
    }
    const struct rt_knobs *k = &c->knobs.values;
    struct checkpoint_resume q = {.path = file, .dump = k->dump, .launches = k->launches < 0 ? RESUME_BEGUN : (uint64_t)k->launches};
    if (!resume_in_library(c, &q, &err)) {
        say_status(&err);
        return EXIT_OWN_FAILURE;
    }
    return 0;
}
