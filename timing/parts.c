/* The GPUs that are built in. Their texts are inside the library, which searches no files. */
#include "timing/config.h"

#include <string.h>

/* .incbin looks in the folder of the compilation, the repository's root. */
#define PART(name) \
    __asm__(".section .rodata\n" \
            ".local timing_part_" #name "\n.local timing_part_" #name "_end\n" \
            "timing_part_" #name ":\n.incbin \"timing/gpus/" #name ".conf\"\ntiming_part_" #name "_end:\n.byte 0\n.previous\n"); \
    extern const char timing_part_##name[] __attribute__((visibility("hidden"))); \
    extern const char timing_part_##name##_end[] __attribute__((visibility("hidden")));
#include "timing/parts.def"
#undef PART

static const struct { const char *name, *text, *end; } parts[] = {
#define PART(name) {#name, timing_part_##name, timing_part_##name##_end},
#include "timing/parts.def"
#undef PART
};
enum { N_PARTS = sizeof parts / sizeof *parts };

const char *timing_part(size_t i) { return i < N_PARTS ? parts[i].name : NULL; }

const char *timing_part_text(const char *name, size_t *bytes)
{
    for (size_t i = 0; i < N_PARTS; i++)
        if (strcmp(parts[i].name, name) == 0) {
            *bytes = (size_t)(parts[i].end - parts[i].text);
            return parts[i].text;
        }
    return NULL;
}
