/* Moments of a kernel that runs on one thread, or of a simulated GPU with all its kernels: blocks and the device's memory, so that all can go on from there once more. */
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
struct packed { char *at; size_t n, bytes; };           /* n: packed */
struct moment {
    uint64_t insns;                                     /* warp instructions since its history began; on the simulated GPU ever, of all kernels */
    uint64_t cycle;                                     /* of the simulated GPU */
    size_t cursor;                                      /* entries of the log that were before */
    uint64_t next;                                      /* blocks from here on had not begun */
    struct packed blocks, state;                        /* what dispatch.h's grid_keep or sim_keep wrote; state: of the simulated GPU */
    byte_list pages;                                    /* that differ from the ground: address and bytes of each */
};
/* Between two turns of blocks, or two windows of the simulated GPU. g NULL: memory is left out. NULL: no host memory, or more than `most` bytes. */
struct moment *moment_take(const struct debug_run *r, const struct ground *g, uint64_t most);
/* Memory is the ground's already. False: no host memory; the kernel has failed. */
bool moment_back(const struct debug_run *r, const struct moment *m);
uint64_t moment_bytes(const struct moment *m);          /* of host memory */
uint64_t moment_work(const struct moment *m);           /* bytes that were written to make it */
void moment_free(struct moment *m);

#endif
