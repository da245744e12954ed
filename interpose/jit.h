/* Compilers in the program's process. NVRTC and nvJitLink end in machine code; Heddle executes PTX, which both have on the way there. So where a program
 * asks for a cubin it gets PTX (NVRTC) or a linked image of PTX texts (nvJitLink), which the module loader takes wherever a cubin may stand.
 *
 * A program that is linked with them calls our exported functions, since we are preloaded. One that opens them gets ours from dlsym, which we export too
 * (jit_dlsym.c). Several copies of a library may be open: each has its own functions here (jit.c), which know whose handles they are given. */
#ifndef HEDDLE_JIT_H
#define HEDDLE_JIT_H
#include <stddef.h>
#include <stdint.h>

#include "interpose/args.h"

/* A loaded libnvrtc or libnvJitLink. */
struct jit_library {
    void *handle;                              /* of dlopen, kept */
    const void *base;                          /* where it is loaded: what tells copies apart */
};

/* The library's own function of that name; NULL: it has none. */
void *jit_real(const struct jit_library *l, const char *name);
/* dlsym of the C library, whatever stands in front of it. */
void *jit_dlsym(void *handle, const char *name);
/* Our function for `name` (with or without a version) of the library that `real` lies in; NULL: it is none of ours to answer. */
void *jit_answer(const char *name, void *real);

/* Handlers; they return the library's own codes. Thread-safe as far as the library is: one handle, one thread. */
#define JIT(name, handler, versions, params) int handler(const struct jit_library *l, PARAMS params);
#include "interpose/jit.def"

#endif
