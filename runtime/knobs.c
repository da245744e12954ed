#include "runtime/knobs.h"

#include <stdlib.h>

static const struct knob rows[KNOB_COUNT] = {
#define KNOB(...) KNOB_ROW(struct knobs, __VA_ARGS__)
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
