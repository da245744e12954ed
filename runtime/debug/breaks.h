/* Between the files of breakpoints: breaks.c, break_hits.c, break_serve.c. */
#ifndef HEDDLE_DEBUG_BREAKS_H
#define HEDDLE_DEBUG_BREAKS_H
#include "runtime/debug/state.h"

void break_free(struct breakpoint *b);
void break_remove(struct breakpoint *b);                /* from the list, and frees it */
void break_unquicken(struct breakpoint *b);             /* its condition, or code, is another */
bool break_takes_sites(enum break_what w);              /* places in the code, which are looked up in each module */
bool break_at_branch(const struct ptx_insn *in);        /* one that may part lanes */
bool break_at_barrier(const struct ptx_insn *in);

#endif
