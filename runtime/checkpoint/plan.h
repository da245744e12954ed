/* What the settings checkpoint and checkpoint_every say. */
#ifndef HEDDLE_RUNTIME_CHECKPOINT_PLAN_H
#define HEDDLE_RUNTIME_CHECKPOINT_PLAN_H
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"

enum checkpoint_unit { EVERY_NEVER, EVERY_KERNELS, EVERY_INSNS, EVERY_SECONDS };
struct checkpoint_plan {
    bool once, by_cta, by_insn, by_cycle;
    uint64_t kernel, cta, insn, cycle;                /* kernel 0: insn is of the whole run */
    char name[256];                            /* glob; "": any */
    enum checkpoint_unit unit; uint64_t every;
};
enum status checkpoint_plan_parse(struct checkpoint_plan *p, const char *where, const char *every, struct error *err) MUST_CHECK;

/* Once, when the runtime is made. */
enum status checkpoint_start(struct error *err) MUST_CHECK;

#endif
