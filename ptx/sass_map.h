/* The exact lowering: which machine instructions ptxas made of each line of PTX.
 *
 * `ptxas -lineinfo` leaves a line program in the cubin (section .nv_debug_line_sass, in DWARF's form) that gives every machine instruction its line of
 * the PTX text. The code itself is that of a build without it.
 *
 * Instructions count as they execute: subroutines for rare cases (division by a denormal number) and the stubs that call them do not. The subroutine of
 * a 64-bit integer division, which is always called, counts at the division.
 * Reading is thread-safe, and safe with any bytes. */
#ifndef HEDDLE_PTX_SASS_MAP_H
#define HEDDLE_PTX_SASS_MAP_H
#include "ptx/lower.h"

struct sass_insn {
    uint32_t line;                             /* of the text that ptxas read; 0: none */
    uint8_t class;                             /* enum ptx_class */
    bool rare;                                 /* part of a stub that calls a subroutine: executed in rare cases, but for 64-bit integer divisions */
    bool texture;                              /* those do not have their lines, but keep their order */
    uint8_t callee;                            /* instructions of the subroutine that it calls; 0: calls none */
};
struct sass_kernel { const char *name; uint32_t registers; struct sass_insn *insns; uint32_t n; };
struct sass_map { struct sass_kernel *kernels; uint32_t n; struct arena arena; };

/* ST_INVALID_IMAGE: no cubin, damaged, or without line program; then *out is empty. The image may go afterwards. */
enum status sass_map_read(struct sass_map *out, const void *cubin, size_t bytes, struct error *err) MUST_CHECK;
void sass_map_free(struct sass_map *m);
const struct sass_kernel *sass_map_find(const struct sass_map *m, const char *kernel);         /* NULL: no such kernel */

/* What ptxas reads instead of a PTX text: a statement per line, so that each has lines of its own. */
struct sass_text { char *text; size_t bytes; uint32_t *breaks; uint32_t n_breaks; };   /* breaks: private */
/* From malloc; sass_text_free. */
enum status sass_text_make(struct sass_text *out, const char *ptx, size_t bytes, struct error *err) MUST_CHECK;
void sass_text_free(struct sass_text *t);
/* The line there of what stands in the PTX text at a line and column. */
uint32_t sass_text_line(const struct sass_text *t, uint32_t line, uint32_t column);

/* The lowering of f, whose machine code is k. The body of a loop that ptxas copied several times counts once. Allocated from a. */
enum status sass_map_lower(struct ptx_lowering *out, const struct sass_kernel *k, const struct sass_text *t, const struct ptx_function *f,
                           const struct ptx_cfg *cfg, struct arena *a, struct error *err) MUST_CHECK;

#endif
