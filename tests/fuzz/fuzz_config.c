/* Any text as a configuration of the simulated GPU, in each language; and what was understood survives being printed and read again. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "timing/config_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_again(const struct timing_settings *s, const struct timing_config *want)
{
    static struct timing_config got;
    struct error err;
    char value[256];
    struct timing_settings *again = timing_settings_new();
    for (size_t i = 0; i < timing_knob_count(); i++)
        if (!timing_settings_set(again, timing_knob(i).name, timing_knob_print(s, i, value, sizeof value), "again"))
            __builtin_trap();
    if (timing_settings_check(again, &got, &err) != ST_OK || memcmp(&got, want, sizeof got) != 0)
        __builtin_trap();
    timing_settings_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const names[] = {"f.config", "f.conf", "f.icnt"};
    static struct timing_config c;
    struct error err;
    if (n == 0)
        return 0;
    struct timing_settings *s = timing_settings_new();
    s->depth = 7;                            /* no further files: the fuzzer shall not open what it likes */
    timing_settings_text(s, names[data[0] % 3], (const char *)data + 1, n - 1);
    s->depth = 0;
    for (size_t i = 0; i < timing_settings_notes(s); i++)
        if (!*timing_settings_note(s, i, NULL))
            __builtin_trap();
    if (timing_settings_check(s, &c, &err) == ST_OK)
        read_again(s, &c);
    timing_settings_free(s);
    return 0;
}
