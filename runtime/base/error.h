/* Status codes and the message object that travels with them.
 *
 * Every function that can fail returns `enum status` (ST_OK is 0) and, where a user will read the reason,
 * takes a `struct error *` last. An error says what, where, and what to do; it is a value: nothing in the
 * library aborts, exits or prints on its own. `struct error` lives on the caller's stack; no ownership. */
#ifndef HEDDLE_BASE_ERROR_H
#define HEDDLE_BASE_ERROR_H

enum status {
#define STATUS(id, cu, cuda, cu_name, cuda_name, text) ST_##id,
#include "runtime/base/status.def"
#undef STATUS
    ST_COUNT
};

struct error {
    enum status status;
    char text[1400];          /* one or several lines, no trailing newline; "" when status is ST_OK */
};

#define MUST_CHECK __attribute__((warn_unused_result))

/* Sets *err (when not NULL) and returns st, so that `return error_set(err, ST_X, "...", ...)` reads well. */
enum status error_set(struct error *err, enum status st, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Adds a line "\nhint: ..." to a message that error_set made. */
void error_hint(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

const char *status_text(enum status st);       /* the sentence cuGetErrorString gives */
int status_cu(enum status st);                 /* CUresult */
int status_cuda(enum status st);               /* cudaError_t */
const char *status_cu_name(enum status st);    /* "CUDA_ERROR_..." */
const char *status_cuda_name(enum status st);  /* "cudaError..." */
enum status status_from_cu(int cu);            /* ST_UNKNOWN when no row has it */
enum status status_from_cuda(int cuda);

#endif
