/* Lowering: the machine instructions that each PTX instruction of a function becomes.
 *
 * PTX is not machine code: parameters, constants and address arithmetic disappear into the instructions that use them, products into
 * fused multiply-adds, short branches into predicates; 64-bit integers take pairs, division and square roots sequences. The lowering
 * finds the *form* of an instruction (what it is, what feeds it, what it feeds, e.g. "add.64|Wp": a 64-bit addition of a widening
 * product and a parameter) and looks its cost up in ptx/lower.def.
 *
 * Costs there are averages, in hundredths. The result has integers whose sum over a function is that of the costs, to within an instruction
 * or so: what rounding left over is carried to the next instruction in program order. Deterministic.
 *
 * Nothing here knows cycles, or a GPU: the rules are those of sm_80 and sm_86; later architectures take some 5 % more.
 * Pure functions of an immutable function; any thread. */
#ifndef HEDDLE_PTX_LOWER_H
#define HEDDLE_PTX_LOWER_H
#include "ptx/ptx.h"

#define PTX_CLASSES(X) \
    X(INT) X(FP32) X(FP64) X(FP16) X(SFU) X(MEM) X(TENSOR) X(MOVE) X(CTRL) X(SYNC) X(UNIFORM) X(BAR)
enum ptx_class {
#define CLASS(id) PTX_CLASS_##id,
    PTX_CLASSES(CLASS)
#undef CLASS
    PTX_CLASS_COUNT
};
const char *ptx_class_text(enum ptx_class c);  /* "INT" */

enum { PTX_GROUPS = 4, PTX_FORM_BYTES = 96 };

struct ptx_lowered {
    uint8_t n_groups;
    bool folded;                               /* it became part of others: n_groups is 0 */
    struct ptx_group { uint8_t class, count; } groups[PTX_GROUPS];   /* in the order in which they issue; count is not 0 */
};

struct ptx_lowering {
    struct ptx_lowered *insns; uint32_t n_insns;       /* by instruction of the function */
    struct ptx_lowered entry;                  /* what a kernel begins with, of no instruction: stack pointer, descriptors */
};

/* Allocated from a. Instructions that access memory, barriers and tensor products never fold. f is parsed, cfg is its. */
enum status ptx_lower(struct ptx_lowering *out, const struct ptx_function *f, const struct ptx_cfg *cfg, struct arena *a, struct error *err) MUST_CHECK;

/* The same, and the form of each instruction, n_insns texts of PTX_FORM_BYTES: for reports and tests. */
enum status ptx_lower_forms(struct ptx_lowering *out, char (**forms)[PTX_FORM_BYTES], const struct ptx_function *f, const struct ptx_cfg *cfg, struct arena *a,
                            struct error *err) MUST_CHECK;

const char *ptx_lower_entry_form(const struct ptx_function *f);   /* of what a kernel begins with */

/* Machine instructions of all its groups. */
static inline uint32_t ptx_lowered_count(const struct ptx_lowered *l)
{
    uint32_t n = 0;
    for (unsigned i = 0; i < l->n_groups; i++)
        n += l->groups[i].count;
    return n;
}

/* An estimate of the registers per thread that the machine code needs, from how many are live at once: half of the kernels are within
 * 16 %, one in ten is off by 40 %. At least 8, at most 255. For lack of a cubin. */
enum status ptx_lower_registers(uint32_t *out, const struct ptx_function *f, const struct ptx_cfg *cfg, struct error *err) MUST_CHECK;

#endif
