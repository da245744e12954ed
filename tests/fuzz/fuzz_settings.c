/* Any text as heddle.conf and as HEDDLE_OPTS; and what was understood survives being packed and read again. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/knobs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct knob_set k, again;
    static char packed[8192];
    struct error err;
    char *text = malloc(n + 1);
    memcpy(text, data, n);
    text[n] = 0;
    knobs_init(&k);
    (void)!settings_text(&k.settings, text, "fuzz", &err);
    (void)!settings_words(&k.settings, text, "fuzz", &err);
    free(text);
    settings_pack(&k.settings, packed, sizeof packed);
    knobs_init(&again);
    if (settings_text(&again.settings, packed, "packed", &err) != ST_OK || strcmp(k.values.gpu, again.values.gpu) != 0
        || k.values.devices != again.values.devices)
        __builtin_trap();
    return 0;
}
