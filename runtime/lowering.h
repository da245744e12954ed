/* The machine instructions of the simulated GPU: by the rules of ptx/lower.def, by what a ptxas makes of the program's PTX, or one for one (setting `lowering`).
 *
 * The exact map costs a run of ptxas for each module, whose cubin is kept under $XDG_CACHE_HOME/heddle (~/.cache/heddle) by what went in. Where there is no
 * ptxas, or it does not take the module, the rules serve, and one warning says so. Thread-safe. */
#ifndef HEDDLE_RUNTIME_LOWERING_H
#define HEDDLE_RUNTIME_LOWERING_H
#include "ptx/cubin.h"
#include "timing/lowering.h"

/* Before a function's first launch on the simulated GPU; its body is parsed. sm: 10 * major + minor of the GPU. Returns the registers per thread of its machine
 * code: of the program's own cubin where there is one, else of ptxas's, else an estimate. */
uint32_t lowering_prepare(struct ptx_module *m, uint32_t function, unsigned sm, const struct cubin_kernel *own);
/* Before the module goes. */
void lowering_forget(const struct ptx_module *m);
/* For timing_gpu_lowering: NULL for one for one. */
timing_lower_fn *lowering_fn(void);

#endif
