/* Variables of the source by name, from the DWARF sections that nvcc -G writes into PTX (version 2; its registers are named, not numbered). */
#ifndef HEDDLE_DEBUG_DWARF_H
#define HEDDLE_DEBUG_DWARF_H
#include "runtime/debug/eval.h"

/* A variable as the frame sees it. ST_NOT_FOUND with no message: there is none of that name. */
enum status dwarf_value(struct value *out, const char *name, const struct focus *f, const struct emu_frame *frame, struct error *err);
/* Calls fn for each variable of the frame's function whose scope the instruction is in, innermost scopes last. False: the module has no such sections. */
bool dwarf_locals(const struct focus *f, const struct emu_frame *frame, void (*fn)(void *user, const char *name, bool parameter, enum status st, const struct value *v, const struct error *err),
                  void *user);
bool dwarf_any(const struct focus *f, const struct emu_frame *frame);   /* whether the frame's function has such sections */
/* The i-th member of a struct; its name is "" for a base class or a struct without a name. False: there are not so many. */
bool record_member(const struct record *r, unsigned i, const char **name, uint32_t *offset, struct type *type);
void dwarf_forget(const struct rt_module *m);           /* the module goes */

#endif
