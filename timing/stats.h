/* Statistics of the simulated GPU.
 *
 * A component counts in plain uint64_t fields of its own struct (struct timing_sm_stats in an SM, and so on: timing/stats.def says what each
 * means), which only the thread that runs it touches. Between windows the components are summed into one struct timing_stats:
 *
 *     timing_stats_add(TIMING_STATS_sm, &all.sm, &sm->stats);
 *
 * What a kernel or a sample did is the difference of two such sums (timing_stats_subtract). Counters never go back. The writers make
 * text of a report: for people, as JSON, as CSV, and in the form and with the names that GPGPU-Sim prints, for its result scripts.
 * Nothing here depends on the host or on how many threads simulate, except host_seconds, which only GPGPU-Sim's form has. */
#ifndef HEDDLE_TIMING_STATS_H
#define HEDDLE_TIMING_STATS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/textbuf.h"
#include "timing/config.h"

/* Kinds of accesses and what became of them; the names are those that GPGPU-Sim prints. */
#define TIMING_ACCESS_TYPE_LIST(X) \
    X(GLOBAL_ACC_R, "global loads and atomics") X(LOCAL_ACC_R, "local loads") X(CONST_ACC_R, "constant reads") X(TEXTURE_ACC_R, "texture reads") \
    X(GLOBAL_ACC_W, "global stores") X(LOCAL_ACC_W, "local stores") X(L1_WRBK_ACC, "dirty lines leaving L1") X(L2_WRBK_ACC, "dirty lines leaving L2") \
    X(INST_ACC_R, "instruction fetches") X(L1_WR_ALLOC_R, "reads that L1 made for a write") X(L2_WR_ALLOC_R, "reads that L2 made for a write")
#define TIMING_OUTCOME_LIST(X) \
    X(HIT, "the sector was there") X(HIT_RESERVED, "it was on its way") X(MISS, "its line was not there") \
    X(RESERVATION_FAIL, "something was full; counted at each try") X(SECTOR_MISS, "its line was there, the sector not") \
    X(MSHR_HIT, "the miss joined another one; counted as a miss as well")
/* Two of the names are spelt as GPGPU-Sim spells them. */
#define TIMING_FAIL_LIST(X) \
    X(LINE_ALLOC_FAIL, "all ways of the set are on their way") X(MISS_QUEUE_FULL, "the miss queue is full") X(MSHR_ENRTY_FAIL, "no MSHR entry is free") \
    X(MSHR_MERGE_ENRTY_FAIL, "the MSHR entry takes no more requests") X(MSHR_RW_PENDING, "a store met a sector that is being read")
#define TIMING_ENUM(name, text) TIMING_##name,
enum timing_access_type { TIMING_ACCESS_TYPE_LIST(TIMING_ENUM) TIMING_ACCESS_TYPES };
enum timing_outcome { TIMING_OUTCOME_LIST(TIMING_ENUM) TIMING_OUTCOMES };
enum timing_fail { TIMING_FAIL_LIST(TIMING_ENUM) TIMING_FAILS };
#undef TIMING_ENUM
enum { TIMING_LANES = 33, TIMING_SCHEDULERS = 8 /* i mod 8 */, TIMING_BUCKETS = 32, TIMING_PACKET_SIZES = 6 /* [k]: 8 + 32 k bytes */ };

struct timing_cache_stats {
    uint64_t access[TIMING_ACCESS_TYPES][TIMING_OUTCOMES];     /* sectors of a sectored cache, otherwise lines */
    uint64_t fail[TIMING_ACCESS_TYPES][TIMING_FAILS];
    uint64_t port_cycles, data_port_busy, fill_port_busy;      /* cycles that ports had, and used */
};
struct timing_network_stats {
    uint64_t packets, cycles, busy_cycles;                     /* busy: with a packet waiting */
    uint64_t conflicts, outputs;                               /* inputs that waited for an output; outputs that were wanted: summed over cycles */
    uint64_t input_full, input_fill, output_full, output_fill; /* full buffers, packets in buffers: summed over cycles */
};

#define GROUP(g, what) struct timing_##g##_stats {
#define END(g) };
#define COUNTER(g, f, unit, help) uint64_t f;
#define MAXIMUM(g, f, unit, help) uint64_t f;
#define VECTOR(g, f, names, unit, help) uint64_t f[TIMING_##names];
#define TABLE(g, f, rows, columns, unit, help) uint64_t f[TIMING_##rows][TIMING_##columns];
#define HISTOGRAM(g, f, unit, help) uint64_t f[TIMING_BUCKETS];
#define CACHE_STATS(g, cache, what) struct timing_cache_stats cache;
#define NETWORK_STATS(g, network, what) struct timing_network_stats network;
#include "timing/stats.def"

struct timing_stats {
#define GROUP(g, what) struct timing_##g##_stats g;
#include "timing/stats.def"
};
enum timing_stats_group {
#define GROUP(g, what) TIMING_STATS_##g,
#include "timing/stats.def"
    TIMING_STATS_GROUPS
};

/* Adds what a component of the group counted. */
void timing_stats_add(enum timing_stats_group group, void *to, const void *from);
/* *out = later - earlier: what was counted between. A maximum is that of `later`, since the beginning. out may be one of them. */
void timing_stats_subtract(struct timing_stats *out, const struct timing_stats *later, const struct timing_stats *earlier);
/* Counts a value in a histogram. */
static inline void timing_histogram_count(uint64_t buckets[TIMING_BUCKETS], uint64_t value)
{
    unsigned k = value < 2 ? 0 : 63 - (unsigned)__builtin_clzll(value);
    buckets[k < TIMING_BUCKETS ? k : TIMING_BUCKETS - 1]++;
}

/* ---- the table ---- */

enum timing_stat_kind { TIMING_STAT_COUNTER, TIMING_STAT_MAXIMUM, TIMING_STAT_VECTOR, TIMING_STAT_TABLE, TIMING_STAT_HISTOGRAM, TIMING_STAT_SUM, TIMING_STAT_RATIO };
struct timing_stat { const char *name, *unit, *help; enum timing_stat_kind kind; };
size_t timing_stat_count(void);
struct timing_stat timing_stat(size_t i);
/* By our name or by what GPGPU-Sim prints ("gpu_tot_sim_cycle", "L2_cache_stats_breakdown[GLOBAL_ACC_R][HIT]"); -1: none. */
int timing_stat_find(const char *name);
int timing_stat_nearest(const char *name);                 /* for a mistyped one; -1: none is near */
/* Explains it: what, unit, kind, how it is made, what GPGPU-Sim calls it. */
void timing_stat_explain(size_t i, struct textbuf *out);
/* Value of a counter, maximum, sum or ratio; 0 where a ratio's denominator is 0 and for the other kinds. */
double timing_stat_value(size_t i, const struct timing_stats *s);

/* ---- reports ---- */

struct timing_report {
    const char *kernel;                                    /* NULL: the end of the run */
    uint64_t launch, stream;                               /* number of the launch, from 1 */
    const struct timing_stats *window, *total;             /* of the kernel; since the start of the run */
    const struct timing_config *config;
    double host_seconds;                                   /* since the start; 0: unknown */
    /* The components, where lines for each of them are wanted; NULL: none. */
    const struct timing_sm_stats *sms; const struct timing_slice_stats *slices; const struct timing_channel_stats *channels;
    uint32_t n_sms, n_slices, n_channels;
};

/* For people: aligned name, value and unit of what is not zero, without vectors and tables. */
void timing_stats_text(struct textbuf *out, const struct timing_report *r);
/* One JSON object: schema, kernel, launch, stream, and objects `window` and `total` with the names of stats.def as keys. Zeros of tables are left out. */
void timing_stats_json(struct textbuf *out, const struct timing_report *r);
/* A line of names, and a line of values (of the window) for each report: counters, maxima, sums and ratios. */
void timing_stats_csv_head(struct textbuf *out);
void timing_stats_csv(struct textbuf *out, const struct timing_report *r);
/* As GPGPU-Sim prints after a kernel. _head comes within the first 100 lines, _end once at the end; result scripts look for both. */
void timing_stats_gpgpusim_head(struct textbuf *out);
void timing_stats_gpgpusim(struct textbuf *out, const struct timing_report *r);
void timing_stats_gpgpusim_end(struct textbuf *out);

#endif
