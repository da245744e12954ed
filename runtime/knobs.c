#include "runtime/knobs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "timing/config.h"

static const struct knob rows[KNOB_COUNT] = {
#define KNOB(...) KNOB_ROW(struct rt_knobs, __VA_ARGS__)
#include "runtime/knobs.def"
#undef KNOB
};

void knobs_init(struct knob_set *k)
{
    *k = (struct knob_set){0};
    k->settings = (struct settings){rows, KNOB_COUNT, &k->values, k->origins, &k->more};
    /* A wrong row is a mistake of ours that test_base_settings finds; the value then stays zero. */
    (void)!settings_defaults(&k->settings, NULL);
}

enum status knobs_load(struct knob_set *k, struct error *err)
{
    enum status st = settings_file(&k->settings, KNOBS_CONF_FILE, NULL, err);
    const char *words = getenv(KNOBS_ENV_OPTIONS);
    return st == ST_OK && words ? settings_words(&k->settings, words, KNOBS_ENV_OPTIONS, err) : st;
}

enum status knobs_library(struct knob_set *k, struct error *err)
{
    const char *resolved = getenv(KNOBS_ENV_SETTINGS);
    return resolved ? settings_text(&k->settings, resolved, "launcher", err) : knobs_load(k, err);
}

/* ---- the simulated GPU ---- */

/* One of the things that `config` names: a built-in part, a folder with GPGPU-Sim's two files, a file. */
static void timing_layer(struct timing_settings *s, const char *name)
{
    char path[PATH_MAX];
    size_t bytes;
    struct stat st;
    if (timing_part_text(name, &bytes)) {
        timing_settings_part(s, name);
        return;
    }
    if (stat(name, &st) != 0 || !S_ISDIR(st.st_mode)) {
        timing_settings_file(s, name);
        return;
    }
    snprintf(path, sizeof path, "%s/" KNOBS_GPGPUSIM_FILE, name);
    timing_settings_file(s, path);
    snprintf(path, sizeof path, "%s/trace.config", name);
    if (access(path, F_OK) == 0)
        timing_settings_file(s, path);
}

struct timing_settings *knobs_timing(const struct knob_set *k)
{
    struct timing_settings *s = timing_settings_new();
    size_t bytes;
    if (!s)
        return NULL;
    if (timing_part_text(k->values.gpu, &bytes) || !*k->values.config)
        timing_settings_part(s, k->values.gpu);
    if (!*k->values.config && access(KNOBS_GPGPUSIM_FILE, F_OK) == 0)
        timing_layer(s, KNOBS_GPGPUSIM_FILE);
    for (const char *p = k->values.config; *p;) {
        char name[KNOB_TEXT_BYTES];
        size_t n = strcspn(p, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        timing_layer(s, name);
        p += n + (p[n] == ',');
    }
    for (size_t i = 0; i < k->more.n; i++)
        timing_settings_set(s, k->more.at[i].name, k->more.at[i].value, k->more.at[i].origin);
    return s;
}

/* ---- the library's own ---- */

static struct knob_set own;

/* The log gets a descriptor of its own, far from the numbers that programs count on, and stays where it was when the program
 * closes or redirects its standard error. */
static void log_open(const char *path, enum log_level level)
{
    enum { HIGH = 700 };
    int fd = *path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : 2;
    int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, HIGH) : -1;
    if (high >= 0 && fd != 2)
        close(fd);
    log_set(level, high >= 0 ? high : fd);
    if (fd < 0)
        log_warn("the log file %s cannot be opened: %s", path, strerror(errno));
}

static void own_load(void)
{
    struct error err = {0};
    knobs_init(&own);
    enum status st = knobs_library(&own, &err);
    const struct rt_knobs *v = &own.values;
    log_open(v->log_file, v->quiet && (enum log_level)v->log > LOG_ERROR ? LOG_ERROR : (enum log_level)v->log);
    if (st != ST_OK)
        log_error("%s", err.text);
}

const struct rt_knobs *rt_knobs(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, own_load);
    return &own.values;
}

struct timing_settings *rt_timing_settings(void)
{
    (void)rt_knobs();
    return knobs_timing(&own);
}
