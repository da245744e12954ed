/* Moments of a kernel that runs on one thread: its blocks and the device's memory, so that it can go on from there once more. */
#ifndef HEDDLE_DEBUG_MOMENT_H
#define HEDDLE_DEBUG_MOMENT_H
#include "runtime/debug/state.h"

/* Memory as it was when the history of a kernel began: every allocation of ours. */
struct copy { uint64_t address, bytes; char *at; };
struct ground { VEC(struct copy) copies; uint64_t bytes; bool with_host /* the host may write there as well, or not all was copied that the kernel may write */; };
/* NULL, or why it cannot be had. most: bytes. */
const char *ground_take(struct ground *g, uint64_t most);
uint64_t ground_bytes(void);                            /* that ground_take would copy */
void ground_back(const struct ground *g);
void ground_free(struct ground *g);
void ground_forget(void);                               /* gives memory that was kept for the next one back to the host */

typedef VEC(char) byte_list;
struct moment {
    uint64_t insns;                                     /* warp instructions of the kernel's worker since its history began */
    size_t cursor;                                      /* entries of the log that were before */
    uint64_t next;                                      /* blocks from here on had not begun */
    struct device_heap heap;
    byte_list blocks, pages;                            /* what dispatch.h's grid_keep wrote; pages that differ from the ground: address and bytes of each */
};
/* Between two turns of blocks. g NULL: memory is left out. NULL: no host memory, or more than `most` bytes. */
struct moment *moment_take(const struct debug_run *r, const struct ground *g, uint64_t most);
/* Memory is the ground's already. False: no host memory; the kernel has failed. */
bool moment_back(const struct debug_run *r, const struct moment *m);
uint64_t moment_bytes(const struct moment *m);
void moment_free(struct moment *m);

#endif
