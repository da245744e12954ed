/* Which of the host's vector instructions the lane handlers use. */
#include <cpuid.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "emu/emu.h"
#include "emu/isa.h"

static const struct { const char *word, *name; } levels[ISA_COUNT] = {
    [ISA_BASE]   = { "base", "baseline" },
    [ISA_AVX2]   = { "avx2", "AVX2" },
    [ISA_AVX512] = { "avx512", "AVX-512" } };

/* The compiler's own test asks cpuid, and xgetbv for what the system saves. The lists are those of the Makefile. */
bool isa_usable(int level) {
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                __builtin_cpu_supports("bmi2");
    unsigned a, b, c, d;                       /* f16c has no name for the test in every compiler */
    avx2 = avx2 && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
    switch (level) {
    case ISA_BASE: return true;
    case ISA_AVX2: return avx2;
    case ISA_AVX512:
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    default: return false;
    }
}

static int chosen;

static void choose(void) {
    const char *word = getenv("HEDDLE_ISA");
    int best = ISA_COUNT - 1;
    while (!isa_usable(best)) best--;
    chosen = best;
    for (int i = 0; word && i < best; i++)     /* an unknown or a better one than there is changes nothing */
        if (strcmp(word, levels[i].word) == 0) chosen = i;
}

int isa_level(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
    return chosen;
}

const char *emu_isa_name(void) { return levels[isa_level()].name; }
