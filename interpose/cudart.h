/* The runtime API for programs linked with a shared cudart: what its files share.
 *
 * Programs register their fat binaries, kernels and variables by host address before main (cudart_register.c); a fat binary becomes a
 * library of the driver at the first use of anything in it. Contexts are implicit: the primary one of the thread's device. */
#ifndef HEDDLE_CUDART_H
#define HEDDLE_CUDART_H
#include "interpose/api.h"
#include "runtime/texture.h"

enum status cudart_start(void) MUST_CHECK;             /* cuInit, once */
enum status cudart_context(void) MUST_CHECK;           /* and a current context for this thread */
/* 11, 12 or 13: which libcudart the process asked its loader for; layouts of structs depend on it. 13 when none. */
int cudart_major(void);

/* A kernel by its host function, or a cudaKernel_t or cudaFunction_t itself. ST_INVALID_DEVICE_FUNCTION when it is neither. */
enum status cudart_function(const void *host, CUfunction *out) MUST_CHECK;
enum status cudart_kernel(const void *host, CUkernel *out) MUST_CHECK;
/* The current context's copy of a registered variable. ST_INVALID_SYMBOL. */
enum status cudart_symbol(const void *host, uint64_t *address, uint64_t *bytes) MUST_CHECK;
/* The current context's reference for a registered texture or surface reference. ST_INVALID_SYMBOL. */
enum status cudart_reference(const void *host, enum emu_texture_kind kind, struct rt_texref **out) MUST_CHECK;
bool cudart_reference_is_normalized(const void *host);

#endif
