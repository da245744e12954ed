/* Handlers of address conversion and queries: emu/mem_addr.c, used by emu/decode_mem_addr.c. */
#ifndef HEDDLE_EMU_MEM_ADDR_H
#define HEDDLE_EMU_MEM_ADDR_H
#include "emu/engine.h"

/* d, a: rows of 8 bytes a lane. */
const struct insn *addr_copy(const struct insn *in, struct warp *w, struct ctx *c);          /* d = a */
const struct insn *addr_add(const struct insn *in, struct warp *w, struct ctx *c);           /* d = a + imm */
const struct insn *addr_from_shared(const struct insn *in, struct warp *w, struct ctx *c);   /* to generic */
const struct insn *addr_from_param(const struct insn *in, struct warp *w, struct ctx *c);
const struct insn *addr_to_shared(const struct insn *in, struct warp *w, struct ctx *c);     /* from generic */
const struct insn *addr_to_local(const struct insn *in, struct warp *w, struct ctx *c);
const struct insn *addr_to_param(const struct insn *in, struct warp *w, struct ctx *c);

/* isspacep, istypep: d is a mask; extra = enum addr_query; imm points at a struct addr_ranges. */
enum addr_query { ADDR_SHARED, ADDR_SHARED_CTA, ADDR_LOCAL, ADDR_PARAM, ADDR_GLOBAL, ADDR_LISTED };
struct addr_ranges { uint32_t n; struct { uint64_t lo, hi; } at[]; };    /* constant variables, or those of a type */
const struct insn *addr_query(const struct insn *in, struct warp *w, struct ctx *c);

/* d = a, of which the lower 32 bits are given, as an address of constant memory; imm points at the variables there (struct addr_ranges). */
const struct insn *addr_const32(const struct insn *in, struct warp *w, struct ctx *c);

/* A full fence between host threads. */
const struct insn *addr_fence(const struct insn *in, struct warp *w, struct ctx *c);

#endif
