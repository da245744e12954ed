/* The values of runtime/knobs.def and how a process gets them. */
#ifndef HEDDLE_RUNTIME_KNOBS_H
#define HEDDLE_RUNTIME_KNOBS_H
#include "runtime/base/settings.h"

struct rt_knobs {
#define KNOB(name, type, ...) KNOB_FIELD_##type name;
#include "runtime/knobs.def"
#undef KNOB
};

enum {
#define KNOB(name, ...) KNOB_ID_##name,
#include "runtime/knobs.def"
#undef KNOB
    KNOB_COUNT
};

enum knob_mode { KNOB_MODE_RUN, KNOB_MODE_SIM };                                     /* the words of `mode` */
enum knob_stats { KNOB_STATS_OFF, KNOB_STATS_LINES, KNOB_STATS_TEXT, KNOB_STATS_JSON, KNOB_STATS_CSV, KNOB_STATS_GPGPUSIM };
enum knob_lowering { KNOB_LOWERING_TABLE, KNOB_LOWERING_PTXAS, KNOB_LOWERING_NONE }; /* the words of `lowering` */
enum knob_log { KNOB_LOG_ERROR, KNOB_LOG_WARN, KNOB_LOG_INFO, KNOB_LOG_DEBUG };    /* the words of `log`, as enum log_level */

/* A set of settings over the table, with its own storage. Large: static or on the heap. */
struct knob_set {
    struct rt_knobs values;
    char origins[KNOB_COUNT][KNOB_ORIGIN_BYTES];
    struct settings_more more;             /* of the simulated GPU: names with a dot, timing/knobs.def */
    struct settings settings;
};

/* Points the parts at each other and gives every value its default. */
void knobs_init(struct knob_set *k);
/* Adds the layers below the command line: ./heddle.conf and the environment's HEDDLE_OPTS. */
enum status knobs_load(struct knob_set *k, struct error *err) MUST_CHECK;
/* What the library does at start: takes what the launcher resolved (environment HEDDLE_SETTINGS), or, preloaded by hand,
 * knobs_load. On an error the values set so far stay, so the caller may report it and go on. */
enum status knobs_library(struct knob_set *k, struct error *err) MUST_CHECK;

/* The settings of the simulated GPU, each layer over those before: the part that `gpu` names; what `config` names, else ./gpgpusim.config
 * where there is one; the dotted names of all layers. Mistakes are in its notes. The caller frees it; NULL: no host memory. */
struct timing_settings;
struct timing_settings *knobs_timing(const struct knob_set *k);

/* The same over the library's own values. */
struct timing_settings *rt_timing_settings(void);
/* The library's own values: read at the first call, then constant; any thread. Wrong settings are reported in the log, which is
 * pointed where log and log-file say on the way. */
const struct rt_knobs *rt_knobs(void);

#define KNOBS_ENV_OPTIONS "HEDDLE_OPTS"            /* for users */
#define KNOBS_ENV_SETTINGS "HEDDLE_SETTINGS"       /* from launcher to library: lines for settings_text */
#define KNOBS_CONF_FILE "heddle.conf"
#define KNOBS_GPGPUSIM_FILE "gpgpusim.config"

#endif
