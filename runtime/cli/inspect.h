/* What the engine would say about PTX, without running it. */
#ifndef HEDDLE_CLI_INSPECT_H
#define HEDDLE_CLI_INSPECT_H
#include <stdbool.h>

#include "ptx/ptx.h"

struct inspection {
    bool unexecuted[PTX_OP_COUNT];     /* opcodes that occur and that the engine cannot execute yet */
    char where[PTX_OP_COUNT][96];      /* the first function that has one */
    unsigned n_unexecuted, n_bad;      /* functions and modules that do not parse */
    struct error first_bad;
    struct map functions;              /* of all texts, by name: 1 = called and not defined yet, 2 = defined, or the emulator's own */
};

/* Adds the findings of one PTX text. Texts beyond some megabytes are only scanned for declarations. */
void inspect_ptx(struct inspection *in, const char *name, const char *text, size_t bytes);

/* Names of functions that nobody defines, in one line, cut short where it is long. Returns their number. */
unsigned inspect_undefined(const struct inspection *in, char *buf, size_t n);

#endif
