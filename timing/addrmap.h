/* Which memory partition, sub-partition (L2 slice), bank, row and column an address has. Built once from the bits that the
 * configuration names (mem.map). Immutable afterwards. */
#ifndef HEDDLE_TIMING_ADDRMAP_H
#define HEDDLE_TIMING_ADDRMAP_H
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "timing/config.h"
#include "timing/hash.h"

/* -gpgpu_memory_partition_indexing; the numbers are the configuration language's. */
enum partition_indexing { PARTITION_CONSECUTIVE = 0, PARTITION_XOR = 1, PARTITION_IPOLY = 2, PARTITION_NONE = 3, PARTITION_RANDOM = 4, PARTITION_IPOLY_MODULO = 6,
                          PARTITION_ROTATE = 7 /* ours: rounds of one block for each slice, each turned by a hash of its number: even, whatever their number */ };

struct dram_place { uint32_t channel, slice /* global: channel * slices per channel + sub */, bank; uint32_t row, column; };

struct bit_runs { unsigned n; struct { uint64_t mask; unsigned shift; } at[16]; };      /* a mask as runs of neighbouring bits */
struct addrmap {
    uint32_t channels, slices_per_channel;
    enum partition_indexing indexing;
    int channel_at;                            /* N of dramid@N; -1: by D letters */
    bool gap;                                  /* channel and slice are no bits of the address: their number is no power of two, or ROTATE */
    unsigned channel_bits, sub_bits;
    uint64_t bank, row, column, burst, channel; /* bit masks of the (rest of the) address */
    uint64_t squeeze;                          /* bits that say neither channel nor slice */
    struct bit_runs bank_runs, row_runs, column_runs, burst_runs, channel_runs, squeeze_runs;
    struct ipoly ipoly;
};

enum status addrmap_create(struct addrmap *m, const struct timing_address_map *bits, uint32_t channels, uint32_t slices_per_channel, enum partition_indexing indexing, struct error *err) MUST_CHECK;
struct dram_place addrmap_place(const struct addrmap *m, uint64_t address);
/* Parts of it, for less. */
uint32_t addrmap_slice(const struct addrmap *m, uint64_t address);
void addrmap_bank(const struct addrmap *m, uint64_t address, uint32_t *bank, uint32_t *row);
/* The address within the slice: channel and slice bits squeezed out. What an L2 slice takes its set from. */
uint64_t addrmap_local(const struct addrmap *m, uint64_t address);

#endif
