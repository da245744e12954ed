/* The section "timing": the complete state of the simulated GPUs, so that a resumed run has the cycles and statistics that the uninterrupted one has. */
#ifndef HEDDLE_RUNTIME_CHECKPOINT_TIMING_H
#define HEDDLE_RUNTIME_CHECKPOINT_TIMING_H
#include "runtime/checkpoint/file.h"
#include "runtime/dispatch.h"

/* begun: the launches that the file has as begun, in their order; modules: in the order of their numbers in the file. Under the.lock. */
struct timing_names { struct op *const *begun; size_t n_begun; struct rt_module *const *modules; size_t n_modules; };
enum status timing_save(struct hck_writer *w, const struct timing_names *names, struct error *err) MUST_CHECK;

/* Whether this run takes the state up: it is on the simulated GPU, the file has a state, the settings want it. Not ST_OK: it does not fit, err says why. Before any grid is
 * begun; from then on those that begin wait for timing_load. */
enum status timing_wanted(struct hck_reader *r, bool *wanted, struct error *err) MUST_CHECK;
enum status timing_load(struct hck_reader *r, const struct timing_names *names, struct error *err) MUST_CHECK;

#endif
