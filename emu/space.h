/* Look-ups for a kernel's accesses: what emu.h's table offers to the engine alone. */
#ifndef HEDDLE_EMU_SPACE_H
#define HEDDLE_EMU_SPACE_H
#include "emu/engine.h"

/* The range that holds address, without a lock and in any thread. *out stays as it was when no range does. For a store of stored_bytes
 * (0: it is none) into a watched range: the part around address that counts as written, as what is stored does from now on. */
bool space_lookup(const struct emu_space *s, uint64_t address, uint32_t stored_bytes, struct range_cache *out);

/* Where address is on each device, when emu_space_replicate made it an address of several; 0: it is none. */
uint32_t space_replicas(const struct emu_space *s, uint64_t address, uint64_t at[EMU_REPLICAS]);

#endif
