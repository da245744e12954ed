/* Where the model has the machine instructions of a function from. */
#ifndef HEDDLE_TIMING_LOWERING_H
#define HEDDLE_TIMING_LOWERING_H
#include "ptx/lower.h"

/* Lowers f: *out from a. Without a cost for whatever reason: *out is all zero, and each PTX instruction is one machine instruction. Called once for each
 * function that is executed, by one thread at a time. */
typedef void timing_lower_fn(void *user, const struct ptx_function *f, const struct ptx_cfg *cfg, struct arena *a, struct ptx_lowering *out);

#endif
