/* Growable array of any element type: `struct { T *at; size_t n, cap; }` via VEC(T). Starts as {0}. */
#ifndef HEDDLE_BASE_VEC_H
#define HEDDLE_BASE_VEC_H
#include <stddef.h>
#include <stdbool.h>

#define VEC(T) struct { T *at; size_t n, cap; }

/* Makes room for one more; false when the host has no memory. */
bool vec_grow_(void **at, size_t *cap, size_t n, size_t elem_bytes);
/* Makes room for `want` in all, at least one. */
#define vec_reserve(v, want) vec_grow_((void **)&(v)->at, &(v)->cap, (want) - ((want) != 0), sizeof *(v)->at)
/* Appends x; evaluates to false (and leaves v as it was) when the host has no memory. */
#define vec_push(v, x) \
    (vec_grow_((void **)&(v)->at, &(v)->cap, (v)->n, sizeof *(v)->at) ? ((v)->at[(v)->n++] = (x), true) : false)
#define vec_free(v) (vec_free_((v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)
void vec_free_(void *at);

#endif
