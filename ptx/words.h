/* The words of a body's text: what it may mention, without parsing it. For modules of which most is never executed. */
#ifndef HEDDLE_PTX_WORDS_H
#define HEDDLE_PTX_WORDS_H
#include "ptx/ptx.h"

/* Calls fn for each name, register, directive and mnemonic with its modifiers ("ld.shared.u32") in the text of m->functions[i], parsed or not, comments
 * included. symbol: what the word means at module scope, -1 = nothing; the body may have a name of its own that hides it. Ends when fn answers false, and
 * answers that. Any thread. */
typedef bool (*ptx_word_fn)(void *user, const char *word, size_t len, int32_t symbol);
bool ptx_function_words(const struct ptx_module *m, uint32_t i, ptx_word_fn fn, void *user);

#endif
