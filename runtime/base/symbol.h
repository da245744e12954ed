/* Names of C++ functions as their author wrote them. */
#ifndef HEDDLE_BASE_SYMBOL_H
#define HEDDLE_BASE_SYMBOL_H
#include <stddef.h>

/* "read_past(int const*, int, int*)" for "_Z9read_pastPKiPii", where the process has libstdc++'s demangler (any program that nvcc
 * linked); else the name as it is. Cut to n bytes. Returns buf. Any thread; allocates, so for messages only. */
const char *symbol_demangle(const char *name, char *buf, size_t n);

#endif
