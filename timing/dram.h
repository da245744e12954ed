/* One DRAM channel: request queue, FCFS or FR-FCFS scheduling, banks, bank groups, command and data buses. All times are DRAM command cycles.
 * A request is one atom (32 bytes: burst length x bus x chips). Absolute "not before" times stand where hardware has counters.
 * The row is left open after an access. No refresh, as published models have it. One thread at a time. */
#ifndef HEDDLE_TIMING_DRAM_H
#define HEDDLE_TIMING_DRAM_H
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "timing/stats.h"

enum { DRAM_MAX_BANKS = 64 };

struct dram_order;                             /* timing/dram_order/: fcfs, frfcfs */
struct dram_spec {
    uint32_t banks, groups;                    /* groups: 1 = none */
    bool group_low_bits;                       /* the group of a bank: its low bits, else its high bits */
    uint32_t ccd, ccdl, rrd, rcd, ras, rp, rc, cl, wl, cdlr, wr, rtpl;   /* cycles; as in -gpgpu_dram_timing_opt */
    uint32_t burst_cycles;                     /* burst length / data-to-command clock ratio */
    uint32_t atom_bytes;
    const struct dram_order *order;
    uint32_t queue;                            /* requests; 0: no limit */
    uint32_t write_queue, write_high, write_low;   /* 0: writes share the queue */
    uint32_t return_queue;                     /* reads that wait for their slice; 0: no limit */
    bool no_turnaround;                        /* reads and writes follow each other as if they were alike */
    bool dual_bus;                             /* HBM: a row and a column command in one cycle */
};

struct dram_request { uint64_t id; uint32_t bank, row, slice /* the caller's */; bool write; };

struct dram_node { uint32_t row, next, prev; };  /* of a request that waits: what schedulers go through, close together */
struct dram_queued { struct dram_request r; uint64_t order, pushed; };         /* the rest of it */
struct dram_list { uint32_t first, last, n; };  /* of nodes, oldest first */

enum { DRAM_NONE = UINT32_MAX };
#define DRAM_NO_READ UINT64_MAX
struct dram_bank {
    uint32_t row;                              /* that is open, or was */
    uint32_t current;                          /* node under way, when it is in a set of those */
    uint64_t activate_from, column_from, write_from, precharge_from;   /* not before these cycles */
    struct dram_list waiting[2];               /* reads (or everything), writes of the write queue */
};

struct dram {
    struct dram_spec spec;
    uint64_t cycle;                            /* next to be simulated */
    struct dram_bank banks[DRAM_MAX_BANKS];
    uint8_t group[DRAM_MAX_BANKS];             /* of each bank */
    uint64_t group_from[DRAM_MAX_BANKS];       /* column commands of a group: CCDL */
    uint64_t from[DRAM_MAX_BANKS];             /* of a bank in `hits` or `misses`: the time of its own for the next command */
    uint64_t any_column_from, any_activate_from, read_from, write_from;    /* CCD, RRD, bus turnarounds */
    uint32_t rotate;                           /* bank scanned first */
    uint64_t waiting[2];                       /* sets of banks: with waiting requests; */
    uint64_t open;                             /* with an open row; */
    uint64_t hits, misses;                     /* whose current request needs a column command next; a row command; */
    uint64_t writing;                          /* of these: it is a write */
    uint64_t column_next, row_next;            /* no column command goes before this cycle; no row command */
    uint64_t quiet;                            /* before this cycle nothing happens, unless somebody pushes or takes */
    struct dram_node *nodes; struct dram_queued *queued; uint32_t n_nodes, free_node;
    uint32_t n_reads, n_writes;                /* queued or under way; n_writes: of the write queue */
    bool draining;                             /* the write queue has its turn */
    uint64_t serial;
    uint64_t issued;                           /* id of the read that was issued last, until the owner has seen it; DRAM_NO_READ: none */
    uint32_t issued_slice;
    struct dram_back { uint64_t id, there; uint32_t slice; } *back; uint32_t back_first, back_n;   /* ring: issued reads that nobody has taken, and when their data is there */
    struct timing_channel_stats stats;         /* clocks is left to the owner: d->cycle */
};

enum status dram_create(struct dram *d, const struct dram_spec *spec, struct error *err) MUST_CHECK;
void dram_destroy(struct dram *d);
bool dram_room(const struct dram *d, bool write);
void dram_push(struct dram *d, const struct dram_request *r);    /* only with room */
bool dram_busy(const struct dram *d);          /* something is queued or under way */
void dram_tick(struct dram *d);                /* one command cycle */
void dram_run(struct dram *d, uint64_t until); /* up to d->cycle = until; cycles in which nothing happens cost nothing */
/* The first cycle after which the next read may be there; UINT64_MAX: none is under way. */
uint64_t dram_next_return(const struct dram *d);
const struct dram_back *dram_there(const struct dram *d);    /* the oldest read whose data is there and that was not taken; NULL: none. Writes are never returned */
bool dram_returned(struct dram *d, uint64_t *id);   /* takes it */

/* Scheduling order: which waiting request a free bank takes. list: oldest first. A policy is one file of timing/dram_order/. */
struct dram_order {
    const char *name;
    uint32_t (*choose)(const struct dram *d, uint32_t bank, const struct dram_list *list);   /* a node, or DRAM_NONE */
};
extern const struct dram_order dram_fcfs, dram_frfcfs;

#endif
