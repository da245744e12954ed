/* Launches that both APIs make. */
#ifndef HEDDLE_LAUNCH_H
#define HEDDLE_LAUNCH_H
#include "interpose/api.h"

/* Launches func (a function or a kernel) on stream. attrs as in CUlaunchConfig and cudaLaunchConfig. Dimensions that the GPU does not have
 * are ST_INVALID_CONFIGURATION for kernels, which is what the runtime API reports, and ST_INVALID_VALUE for driver functions. */
struct launch {
    CUfunction func;
    CUstream stream;
    unsigned grid[3], block[3];
    size_t shared_bytes;
    void **params, **extra;
    const CUlaunchAttribute *attrs;
    unsigned n_attrs;
    bool cooperative;
};
enum status api_launch(const struct launch *l);
/* Sets the parameter block of `to`. extra: a list of tagged pointers that ends with NULL: the block and a pointer to its size. */
enum status api_parameter_block(struct rt_launch *to, void **extra) MUST_CHECK;

#endif
