/* levels [SECONDS [SEED]]: random programs must give the same registers on every level of host vector instructions, under both policies. */
#include <time.h>

#include "tests/fuzz/levels.h"

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 10.0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) << 20, first = seed;
    time_t end = time(NULL) + (time_t)(seconds < 1.0 ? 1.0 : seconds);
    int wrong = 0;
    do {
        int n = levels_round(seed, LEVELS_BATCH, 3);
        if (n < 0) return 2;
        wrong += n;
        seed += LEVELS_BATCH;
    } while (time(NULL) < end && wrong < 3);
    printf("levels: %s: %llu programs from seed %llu, %d disagree\n", levels_text(), (unsigned long long)(seed - first), (unsigned long long)first, wrong);
    return wrong != 0;
}
