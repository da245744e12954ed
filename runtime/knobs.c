#include "runtime/knobs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/log.h"

static const struct knob rows[KNOB_COUNT] = {
#define KNOB(...) KNOB_ROW(struct rt_knobs, __VA_ARGS__)
#include "runtime/knobs.def"
#undef KNOB
};

void knobs_init(struct knob_set *k)
{
    *k = (struct knob_set){0};
    k->settings = (struct settings){rows, KNOB_COUNT, &k->values, k->origins};
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
