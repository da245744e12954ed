/* Facts out of a cubin (machine code for one architecture): what cudaFuncGetAttributes answers and `heddle info` prints.
 * The code itself is not looked at. Thread-safe. Sizes in bytes, registers per thread. */
#ifndef HEDDLE_PTX_CUBIN_H
#define HEDDLE_PTX_CUBIN_H
#include <stddef.h>

#include "runtime/base/arena.h"
#include "runtime/base/error.h"

struct cubin_kernel {
    const char *name;          /* mangled */
    unsigned registers;
    size_t shared_bytes;       /* static shared memory as declared (without the 1 KB that sm_90 and later reserve) */
    size_t local_bytes;        /* stack frame per thread */
    size_t param_bytes;
    unsigned max_threads;      /* __launch_bounds__ or .reqntid; 0 = not given */
};

struct cubin {
    unsigned arch;             /* 90 = sm_90 */
    size_t const_bytes;        /* __constant__ variables of the module */
    struct cubin_kernel *kernels;
    size_t n_kernels;
    struct arena arena;        /* owns all of the above */
};

/* Reads a cubin that lies in `bytes` of memory, which may go afterwards. ST_INVALID_IMAGE when it is none or is damaged; then
 * *out is empty. Free with cubin_free. */
enum status cubin_read(struct cubin *out, const void *image, size_t bytes, struct error *err) MUST_CHECK;
void cubin_free(struct cubin *c);
const struct cubin_kernel *cubin_find(const struct cubin *c, const char *kernel);  /* NULL: no such kernel */

/* The length of a cubin given by its address alone (cuModuleLoadData), believing its own header; 0 when it is no ELF file. */
size_t cubin_bytes(const void *image);

#endif
