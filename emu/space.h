/* Look-ups for a kernel's accesses: what emu.h's table offers to the engine alone. */
#ifndef HEDDLE_EMU_SPACE_H
#define HEDDLE_EMU_SPACE_H
#include "emu/engine.h"

/* The range that holds address, without a lock and in any thread. *out stays as it was when no range does. */
bool space_lookup(const struct emu_space *s, uint64_t address, struct range_cache *out);

#endif
