/* Conditions that look at nothing but the thread's registers, special registers and the kernel's parameters, as code for all lanes of a warp at once: where
 * every warp comes to a breakpoint, walking over the expression for each lane costs more than the kernel. What such code cannot say stays with eval.c. */
#ifndef HEDDLE_DEBUG_QUICK_H
#define HEDDLE_DEBUG_QUICK_H
#include "runtime/debug/eval.h"

/* For one instruction of a function, where f's lane stands. NULL: it cannot be told this way, or there is no host memory. */
struct quick;
struct quick *quick_make(const struct expr *e, const struct focus *f);
/* For which lanes it is true; those that are not at the spot mean nothing. */
uint32_t quick_lanes(const struct quick *q, struct emu_worker *w, const struct focus *f, const struct emu_spot *at);     /* w: which runs the block; any number of threads */
void quick_free(struct quick *q);

#endif
