/* `heddle run`: prepares the environment, runs the program, and says why interception cannot have happened when it has not. */
#include "runtime/cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/hello.h"
#include "runtime/cli/launch.h"
#include "runtime/cli/target.h"

/* ---- environment ---- */

/* value = first, between, old value; without an old value just first. */
static bool env_prepend(const char *name, const char *first)
{
    const char *old = getenv(name);
    if (!old || !*old)
        return setenv(name, first, 1) == 0;
    char *joined;
    if (asprintf(&joined, "%s:%s", first, old) < 0)
        return false;
    bool ok = setenv(name, joined, 1) == 0;
    free(joined);
    return ok;
}

/* A sanitizer's run-time insists on being the first library of all. */
static const char *needed_sanitizer(const struct target *t)
{
    for (unsigned i = 0; i < t->n_needed; i++)
        if (strncmp(t->needed[i], "libasan.so", 10) == 0 || strncmp(t->needed[i], "libtsan.so", 10) == 0)
            return t->needed[i];
    return NULL;
}

static bool set_preload(const struct cli *c, const struct target *t)
{
    if (strpbrk(c->library, " :")) {
        say_error("the path of libheddle.so has a blank or a colon in it, which LD_PRELOAD cannot express: %s", c->library);
        say_hint("make install PREFIX=/a/path/without/blanks");
        return false;
    }
    const char *old = getenv("LD_PRELOAD"), *sanitizer = needed_sanitizer(t);
    if (!(old && strstr(old, c->library)) && !env_prepend("LD_PRELOAD", c->library))
        return false;
    return !sanitizer || env_prepend("LD_PRELOAD", sanitizer);
}

static bool ordinary_library(const char *name)
{
    static const char *const names[] = {"libc.so", "libm.so", "libstdc++.so", "libgcc_s.so", "libdl.so", "librt.so", "libpthread.so",
                                        "ld-linux", "libcuda.so", "libgomp.so", "libz.so", "libasan.so", "libtsan.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Asks the program's own loader whether some library needs a libcudart.so.N that it does not find. */
static bool loader_misses_cudart(const struct target *t)
{
    char command[PATH_MAX + 64], line[PATH_MAX];
    bool missing = false;
    if (strchr(t->path, '\''))
        return true;
    /* What ldd does; ld.so --list gives up at the first library that is missing. */
    snprintf(command, sizeof command, "LD_TRACE_LOADED_OBJECTS=1 '%s' 2>/dev/null </dev/null", t->path);
    FILE *f = popen(command, "re");
    while (f && fgets(line, sizeof line, f))
        if (strstr(line, "libcudart.so") && strstr(line, "not found"))
            missing = true;
    if (f)
        pclose(f);
    return missing;
}

static bool needs_shims(const struct target *t)
{
    if (t->kind != TARGET_ELF || t->static_linked || t->foreign_machine)
        return false;
    bool ask = false;
    for (unsigned i = 0; i < t->n_needed; i++)
        ask |= !ordinary_library(t->needed[i]);
    return t->opens_libcuda_so || (ask && loader_misses_cudart(t));
}

bool run_export_settings(const struct cli *c)
{
    size_t n = settings_pack(&c->knobs.settings, NULL, 0) + 1;
    char *text = malloc(n);
    if (!text)
        return false;
    settings_pack(&c->knobs.settings, text, n);
    bool ok = setenv(KNOBS_ENV_SETTINGS, text, 1) == 0;
    free(text);
    return ok;
}

/* NULL where it cannot be had (no /proc): then nothing is claimed at the end. */
struct hello_page *run_offer_hello(void)
{
    char path[64];
    int fd = memfd_create("heddle-hello", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, sizeof(struct hello_page)) != 0)
        return NULL;
    struct hello_page *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
    if (p == MAP_FAILED || access(path, R_OK | W_OK) != 0 || setenv(HELLO_ENV, path, 1) != 0)
        return NULL;
    p->magic = HELLO_MAGIC;
    return p;
}

/* ---- afterwards ---- */

void run_explain(const struct cli *c, const struct target *t, const struct hello_page *hello, int wait_status)
{
    char buf[512];
    if (!hello || c->knobs.values.quiet)
        return;
    unsigned loaded = atomic_load(&hello->loaded), called = atomic_load(&hello->cuda_calls);
    if (loaded && !called && c->knobs.values.verbose)
        say_warning("%s called no CUDA function", t->path);
    if (loaded)
        return;
    const char *why = target_obstacle(t, buf, sizeof buf);
    if (!why && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 127)
        why = "the loader gave up before that (see its message above)";
    else if (!why && t->kind == TARGET_SCRIPT)
        why = "its interpreter did not load libheddle.so; it may be statically linked or run with other rights";
    else if (!why)
        why = "its loader did not load libheddle.so; something may have cleared LD_PRELOAD";
    say_warning("CUDA calls of %s could not be intercepted: %s", t->path, why);
}

int run_exec_failed(const char *program, const struct target *t, int e)
{
    if (e == ENOENT && t->kind == TARGET_ELF && t->loader[0])
        say_error("%s cannot be executed: its loader %s is not on this machine", program, t->loader);
    else if (e == ENOENT && t->kind == TARGET_SCRIPT)
        say_error("%s cannot be executed: its interpreter '%s' is not on this machine", program, t->script);
    else if (e == ENOEXEC && t->foreign_machine)
        say_error("%s cannot be executed: it is not a program for 64-bit x86", program);
    else
        say_error("%s cannot be executed: %s", program, strerror(e));
    return e == ENOENT && t->kind == TARGET_OTHER ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* ---- the verb ---- */

static int not_found(const char *program)
{
    int e = errno;
    struct stat s;
    if (strchr(program, '/') && stat(program, &s) == 0 && S_ISDIR(s.st_mode)) {
        say_error("%s cannot be executed: it is a folder", program);
        return EXIT_NOT_EXECUTABLE;
    }
    if (e == EACCES) {
        say_error("%s cannot be executed: %s", program, strerror(e));
        if (strchr(program, '/'))
            say_hint("chmod +x %s", program);
        return EXIT_NOT_EXECUTABLE;
    }
    say_error("%s: not found", program);
    if (strchr(program, '/'))
        return EXIT_NOT_FOUND;
    if (access(program, X_OK) == 0) {
        say_hint("heddle ./%s  runs the one in this folder", program);
        return EXIT_NOT_FOUND;
    }
    for (const struct verb *v = cli_verbs; v->name; v++)
        if (text_distance(v->name, program) <= 1) {
            say_hint("did you mean  heddle %s?", v->name);
            return EXIT_NOT_FOUND;
        }
    say_hint("it is neither a verb (heddle help  lists them) nor a program in PATH");
    return EXIT_NOT_FOUND;
}

/* HEDDLE_THREADS=2 and the like, which nobody reads. */
static void misplaced_settings(const struct cli *c)
{
    for (char **e = environ; *e; e++) {
        char name[64], option[64];
        size_t n = strcspn(*e, "=");
        if (strncmp(*e, "HEDDLE_", 7) || n - 7 >= sizeof name)
            continue;
        for (size_t i = 7; i <= n; i++)
            name[i - 7] = i < n ? (char)tolower((unsigned char)(*e)[i]) : 0;
        int row = settings_find(&c->knobs.settings, name);
        if (row >= 0)
            say_warning("%.*s is not read: %s='--%s%s' sets it", (int)n, *e, KNOBS_ENV_OPTIONS, knob_option(&c->knobs.settings.rows[row], option, sizeof option), *e + n);
    }
}

static bool prepare(struct cli *c, const struct target *t)
{
    misplaced_settings(c);
    if (c->load_error.status != ST_OK) {
        say_status(&c->load_error);
        return false;
    }
    bool timing = c->knobs.more.n || c->knobs.values.mode == KNOB_MODE_SIM;
    if (!cli_gpu(c) || !cli_plugins(c) || (timing && !(cli_timing_check(c, false) && cli_timing_checkpoint(c))))
        return false;
    if (!c->library[0]) {
        say_error("libheddle.so is neither beside the launcher nor in ../lib/heddle");
        say_hint("make  builds it; make install PREFIX=...  puts both in place");
        return false;
    }
    if (needs_shims(t) && !env_prepend("LD_LIBRARY_PATH", c->shims))   /* asks without our preload */
        return false;
    char nvml[sizeof c->shims + 8];
    snprintf(nvml, sizeof nvml, "%s/nvml", c->shims);
    if (!env_prepend("LD_LIBRARY_PATH", nvml))
        return false;
    return set_preload(c, t) && run_export_settings(c);
}

int run_prepare(struct cli *c, const char *program, struct target *t, char path[PATH_MAX])
{
    struct error err;
    if (!target_find(program, path))
        return not_found(program);
    if (target_read(t, path, &err) != ST_OK)
        t->kind = TARGET_OTHER;                /* executable but not readable: run it, know nothing about it */
    return prepare(c, t) ? 0 : EXIT_OWN_FAILURE;
}

/* A program that is resumed, or may be, finds its memory where it was, if the system lets it. */
static void keep_addresses(void)
{
    int now = personality(0xffffffff);
    if (now != -1)
        (void)personality((unsigned long)now | ADDR_NO_RANDOMIZE);
}

int verb_run(struct cli *c, int argc, char **argv)
{
    static struct target t;
    char path[PATH_MAX];
    struct child_end end;
    if (argc == 0) {
        say_error("which program?");
        say_hint("heddle ./app args");
        return EXIT_OWN_FAILURE;
    }
    int refused = run_prepare(c, argv[0], &t, path);
    if (refused)
        return refused;
    struct hello_page *hello = run_offer_hello();
    if (*c->knobs.values.resume || *c->knobs.values.checkpoint || *c->knobs.values.checkpoint_every)
        keep_addresses();
    fflush(NULL);
    if (!child_run(path, argv, &end)) {
        say_error("no process could be started: %s", strerror(errno));
        return EXIT_OWN_FAILURE;
    }
    if (end.exec_errno)
        return run_exec_failed(argv[0], &t, end.exec_errno);
    run_explain(c, &t, hello, end.wait_status);
    target_close(&t);
    if (hello && atomic_load(&hello->failed))  /* a resume; the library has said why */
        return EXIT_OWN_FAILURE;
    if (hello && atomic_load(&hello->stopped))
        return 0;                              /* ended at its checkpoint, as it was asked */
    return child_pass_on(end.wait_status);
}

int verb_sim(struct cli *c, int argc, char **argv)
{
    (void)!settings_set(&c->knobs.settings, "mode", "sim", "heddle sim", NULL);
    return verb_run(c, argc, argv);
}
