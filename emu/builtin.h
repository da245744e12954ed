/* Functions that PTX calls but no module defines: device printf, malloc, free, assert, and the system calls of the device runtime. */
#ifndef HEDDLE_EMU_BUILTIN_H
#define HEDDLE_EMU_BUILTIN_H
#include "emu/engine.h"

/* Runs the function for the lanes of mask, in lane order. params and returns are word rows: byte 4 * i of the parameter block (natural alignment, as
 * .param declarations lay it out) is params[i][lane]. On a fault answers its status; insn_fault has then been called. */
typedef enum status (*builtin_fn)(struct ctx *c, struct warp *w, const struct insn *in, uint32_t mask, uint32_t (*params)[32], uint32_t (*returns)[32]);

enum { BUILTIN_ORDERED = 1 /* its results depend on the order of CTAs */, BUILTIN_LAUNCHES = 2 /* other kernels */ };
struct builtin { const char *name; builtin_fn fn; unsigned traits; };
extern const struct builtin builtin_device[];  /* builtin_device.c; ends with a name of NULL */

builtin_fn builtin_find(const char *name);     /* NULL: there is no such function */
unsigned builtin_traits(builtin_fn fn);

/* A 64-bit parameter or result, from word i on. */
static inline uint64_t builtin_wide(uint32_t (*rows)[32], unsigned i, uint32_t lane) { return rows[i][lane] | (uint64_t)rows[i + 1][lane] << 32; }
static inline void builtin_set_wide(uint32_t (*rows)[32], unsigned i, uint32_t lane, uint64_t x)
{
    rows[i][lane] = (uint32_t)x;
    rows[i + 1][lane] = (uint32_t)(x >> 32);
}

/* One printf as vprintf does it (emu/builtin_printf.c): format and arguments at generic addresses of lane `lane`. The text goes to the launch's output.
 * *result: number of arguments, or -1 for a null format. */
enum status builtin_vprintf(struct ctx *c, struct warp *w, const struct insn *in, uint32_t lane, uint64_t format, uint64_t args, int32_t *result);

/* Text that grows. Starts as {0}; when the host has no memory it is cut short. */
struct text { char *at; size_t n, cap; };
bool text_room(struct text *t, size_t n);       /* room for n more bytes */
void text_add(struct text *t, const char *s, size_t n);
void text_free(struct text *t);

/* Appends the string at a generic address. False: no NUL before the end of memory that lane may read. */
bool builtin_string(struct ctx *c, struct warp *w, uint32_t lane, uint64_t address, struct text *t);

#endif
