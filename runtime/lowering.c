#include "runtime/lowering.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ptx/sass_map.h"
#include "runtime/base/log.h"
#include "runtime/knobs.h"

enum { PATH_BYTES = 4096, REGS_UNKNOWN = 32 };

/* A module for which ptxas was asked. Without kernels: it was of no use. */
struct exact { const struct ptx_module *m; struct sass_map map; struct sass_text text; struct exact *next; };
static struct { pthread_mutex_t lock; struct exact *first; } all = {.lock = PTHREAD_MUTEX_INITIALIZER};

extern char **environ;

/* ---- ptxas ---------------------------------------------------------------------------------------------------------------------------------- */

/* The program: of the setting, else the first one in PATH. */
static bool find_ptxas(char path[PATH_BYTES])
{
    const char *set = rt_knobs()->ptxas, *at = getenv("PATH");
    if (*set) {
        snprintf(path, PATH_BYTES, "%s", set);
        return !access(path, X_OK);
    }
    while (at && *at) {
        size_t n = strcspn(at, ":");
        snprintf(path, PATH_BYTES, "%.*s/ptxas", (int)n, at);
        if (n && !access(path, X_OK))
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}

/* The environment without what makes a child load this library. From malloc; the strings are environ's. */
static char **clean_environment(void)
{
    size_t n = 0, kept = 0;
    while (environ && environ[n])
        n++;
    char **e = malloc((n + 1) * sizeof *e);
    for (size_t i = 0; e && i < n; i++)
        if (strncmp(environ[i], "LD_PRELOAD=", 11) && strncmp(environ[i], "HEDDLE_", 7))
            e[kept++] = environ[i];
    if (e)
        e[kept] = NULL;
    return e;
}

/* Runs it, silently. The program may reap our child first: then only the output tells. */
static bool run_ptxas(char *ptxas, char *arch, char *in, char *out)
{
    static char lineinfo[] = "-lineinfo", o[] = "-o";
    char *argv[] = {ptxas, lineinfo, arch, in, o, out, NULL};
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status = 0;
    char **env = clean_environment();
    if (!env || posix_spawn_file_actions_init(&files)) {
        free(env);
        return false;
    }
    bool started = !posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) && !posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0) &&
                   !posix_spawn_file_actions_adddup2(&files, 1, 2) && !posix_spawn(&pid, ptxas, &files, NULL, argv, env);
    posix_spawn_file_actions_destroy(&files);
    free(env);
    if (!started)
        return false;
    pid_t r;
    while ((r = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
        ;
    return r == pid ? WIFEXITED(status) && WEXITSTATUS(status) == 0 : !access(out, R_OK);
}

/* ---- files ---------------------------------------------------------------------------------------------------------------------------------- */

static bool cache_folder(char path[PATH_BYTES])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache)
        snprintf(path, PATH_BYTES, "%s", cache);
    else if (home && *home)
        snprintf(path, PATH_BYTES, "%s/.cache", home);
    else
        return false;
    (void)mkdir(path, 0700);
    size_t n = strlen(path);
    snprintf(path + n, PATH_BYTES - n, "/heddle");
    (void)mkdir(path, 0700);
    return !access(path, W_OK | X_OK);
}

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}

static bool write_file(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "wbe");
    bool good = f && fwrite(text, 1, n, f) == n;
    return f ? fclose(f) == 0 && good : false;
}

static char *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rbe");
    struct stat st;
    char *text = f && !fstat(fileno(f), &st) && st.st_size > 0 ? malloc((size_t)st.st_size) : NULL;
    *n = text ? fread(text, 1, (size_t)st.st_size, f) : 0;
    if (f)
        fclose(f);
    return text;
}

/* ---- a module ------------------------------------------------------------------------------------------------------------------------------- */

/* What ptxas makes of the text for an architecture, out of the cache or new. From malloc; NULL: it does not take it. */
static char *cubin_of(const struct sass_text *t, char *ptxas, const char *arch, size_t *bytes)
{
    char folder[PATH_BYTES], kept[PATH_BYTES + 64], in[PATH_BYTES + 96], out[PATH_BYTES + 96], option[40];
    struct stat program;
    if (!cache_folder(folder) || stat(ptxas, &program))
        return NULL;
    uint64_t key[2] = {0xcbf29ce484222325ull, 0x9e3779b97f4a7c15ull};
    for (int i = 0; i < 2; i++) {
        key[i] = mix(key[i], t->text, t->bytes);
        key[i] = mix(key[i], arch, strlen(arch) + 1);
        key[i] = mix(key[i], ptxas, strlen(ptxas) + 1);
        key[i] = mix(key[i], &program.st_size, sizeof program.st_size);
        key[i] = mix(key[i], &program.st_mtim, sizeof program.st_mtim);
    }
    snprintf(kept, sizeof kept, "%s/%016" PRIx64 "%016" PRIx64 ".cubin", folder, key[0], key[1]);
    char *image = read_file(kept, bytes);
    if (image)
        return image;
    snprintf(in, sizeof in, "%s.%ld.ptx", kept, (long)getpid());
    snprintf(out, sizeof out, "%s.%ld", kept, (long)getpid());
    snprintf(option, sizeof option, "-arch=%s", arch);
    if (write_file(in, t->text, t->bytes) && run_ptxas(ptxas, option, in, out) && !rename(out, kept))
        image = read_file(kept, bytes);
    unlink(in);
    unlink(out);
    return image;
}

/* For the GPU itself, where ptxas and the PTX allow it, else for what the PTX was made for, else for the oldest that one table serves. */
static bool make_map(struct exact *x, char *ptxas, unsigned sm, struct error *err)
{
    char arch[3][16] = {"", "", "sm_80"};
    if (sm >= x->m->target_sm && !x->m->target_suffix)
        snprintf(arch[0], sizeof arch[0], "sm_%u", sm);
    snprintf(arch[1], sizeof arch[1], x->m->target_suffix ? "sm_%u%c" : "sm_%u", x->m->target_sm, x->m->target_suffix);
    for (int i = 0; i < 3; i++) {
        size_t bytes;
        char *image = *arch[i] ? cubin_of(&x->text, ptxas, arch[i], &bytes) : NULL;
        bool good = image && sass_map_read(&x->map, image, bytes, err) == ST_OK;
        free(image);
        if (good)
            return true;
    }
    return false;
}

static void warn(const struct ptx_module *m, const char *why)
{
    static bool once;
    if (log_first(&once))
        log_warn("%s: %s; its machine instructions come from the table (--lowering=table says that it is meant)", m->name, why);
}

/* Under the lock. */
static struct exact *exact_of(const struct ptx_module *m)
{
    for (struct exact *x = all.first; x; x = x->next)
        if (x->m == m)
            return x;
    return NULL;
}

static void ask_ptxas(const struct ptx_module *m, unsigned sm)
{
    char ptxas[PATH_BYTES];
    struct error err;
    struct exact *x = calloc(1, sizeof *x);
    if (!x)
        return;
    x->m = m;
    x->next = all.first;
    all.first = x;
    if (!find_ptxas(ptxas))
        warn(m, *rt_knobs()->ptxas ? "the ptxas of the setting cannot be executed" : "no ptxas in PATH");
    else if (!m->text_bytes)
        warn(m, "linked from several modules, of which ptxas sees only one at a time");
    else if (sass_text_make(&x->text, m->text, m->text_bytes, &err) != ST_OK || !make_map(x, ptxas, sm, &err))
        warn(m, "ptxas does not take it, or its cubin cannot be kept");
}

static uint32_t estimate(const struct ptx_function *f)
{
    struct arena a = {0};
    struct ptx_cfg cfg;
    uint32_t regs = REGS_UNKNOWN;
    if (ptx_cfg_build(&cfg, f, &a, NULL) == ST_OK)
        (void)(ptx_lower_registers(&regs, f, &cfg, NULL) == ST_OK);
    arena_free(&a);
    return regs;
}

uint32_t lowering_prepare(struct ptx_module *m, uint32_t function, unsigned sm, const struct cubin_kernel *own)
{
    const struct ptx_function *f = &m->functions[function];
    uint32_t regs = 0;
    if (rt_knobs()->lowering == KNOB_LOWERING_PTXAS) {
        pthread_mutex_lock(&all.lock);
        if (!exact_of(m))
            ask_ptxas(m, sm);
        const struct exact *x = exact_of(m);
        const struct sass_kernel *k = x ? sass_map_find(&x->map, f->name) : NULL;
        regs = k ? k->registers : 0;
        pthread_mutex_unlock(&all.lock);
    }
    return own ? own->registers : regs ? regs : estimate(f);
}

void lowering_forget(const struct ptx_module *m)
{
    pthread_mutex_lock(&all.lock);
    for (struct exact **x = &all.first; *x; x = &(*x)->next)
        if ((*x)->m == m) {
            struct exact *gone = *x;
            *x = gone->next;
            sass_map_free(&gone->map);
            sass_text_free(&gone->text);
            free(gone);
            break;
        }
    pthread_mutex_unlock(&all.lock);
}

/* ---- for the model ---------------------------------------------------------------------------------------------------------------------------- */

/* From the map of its module where that has the function, else by the table. */
static void lower(void *user, const struct ptx_function *f, const struct ptx_cfg *cfg, struct arena *a, struct ptx_lowering *out)
{
    (void)user;
    enum status st = ST_FILE_NOT_FOUND;
    pthread_mutex_lock(&all.lock);
    for (const struct exact *x = all.first; x && st != ST_OK; x = x->next) {
        bool its = f >= x->m->functions && f < x->m->functions + x->m->n_functions;
        const struct sass_kernel *k = its ? sass_map_find(&x->map, f->name) : NULL;
        if (k)
            st = sass_map_lower(out, k, &x->text, f, cfg, a, NULL);
    }
    pthread_mutex_unlock(&all.lock);
    if (st != ST_OK && ptx_lower(out, f, cfg, a, NULL) != ST_OK)
        *out = (struct ptx_lowering){0};
}

timing_lower_fn *lowering_fn(void) { return rt_knobs()->lowering == KNOB_LOWERING_NONE ? NULL : lower; }
