/* Calls of host functions: the public side is emu/heddle_plugin.h, loading libraries is the runtime's (runtime/plugin.c).
 *
 * A call is prepared when its instruction is decoded: what the PTX declares, what the loads and stores around the call say, and what the plug-in states
 * become types of libffi. */
#ifndef HEDDLE_EMU_PLUGIN_H
#define HEDDLE_EMU_PLUGIN_H
#include "emu/engine.h"

enum { PLUGIN_PARAMS = 255, PLUGIN_BYTES = 4096 /* of all parameters, and of the result */ };

enum plugin_kind { PLUGIN_VOID, PLUGIN_UNSIGNED, PLUGIN_SIGNED, PLUGIN_FLOAT, PLUGIN_STRUCT };
struct plugin_type {                           /* {0}: void */
    uint8_t kind;                              /* enum plugin_kind */
    uint32_t bytes, align;
    uint32_t floats, others;                   /* bits per byte of the first 32: belongs to a floating-point field; to another one */
};

/* What a declaration says: a scalar's type, or PTX_B8 of many bytes. */
struct plugin_type plugin_type_of(enum ptx_type t, uint64_t bytes, uint32_t align);
/* An access of the device code to a parameter or result: only what the type leaves open changes. */
void plugin_type_access(struct plugin_type *p, enum ptx_type t, uint64_t at);

/* A signature as HEDDLE_SIGNATURE has it; types[0] is the result, types[1 + i] a parameter. False: *why says what is wrong, in static text. */
bool plugin_signature(const char *text, struct plugin_type types[1 + PLUGIN_PARAMS], unsigned *n_params, const char **why);
/* "f32 (f32, {16}, b64)". Returns buf. */
char *plugin_print(const struct plugin_type *types, unsigned n_params, char *buf, size_t n);

struct plugin_call;
/* types as above; those that fn's signature has count, if they fit. Memory comes from alloc(user, bytes) and is never given back.
 * NULL: err says why. */
struct plugin_call *plugin_prepare(const struct emu_extern *fn, const char *name, const struct plugin_type *types, unsigned n_params,
                                   void *(*alloc)(void *user, size_t bytes), void *user, struct error *err);
/* Calls it for the lanes of mask, in their order. params, returns: frame offsets of word rows, each value from a new word on. False: a lane has failed,
 * and insn_fault has been called. */
bool plugin_run(const struct plugin_call *call, const struct insn *in, struct warp *w, struct ctx *c, uint32_t mask, const uint32_t *params, const uint32_t *returns);

#endif
