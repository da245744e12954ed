/* Private to the map: the line program, and the sections of a cubin. */
#ifndef HEDDLE_PTX_SASS_READ_H
#define HEDDLE_PTX_SASS_READ_H
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sass_bytes { const unsigned char *at; size_t n; };

/* A row of the line program: the machine instruction at address, of the function of symbol number `symbol`, comes from `line`. */
struct sass_row { uint32_t symbol; uint64_t address; uint32_t line; };
/* Calls fn for each row until it answers false. relocations: pairs of offset and info, `step` bytes each, sorted or not. False: damaged. */
bool sass_lines(struct sass_bytes program, struct sass_bytes relocations, size_t step, bool (*fn)(void *user, const struct sass_row *row), void *user);

#endif
