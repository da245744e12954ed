/* Rows of the table of statistics; for timing/stats*.c only. */
#ifndef HEDDLE_TIMING_STATS_INTERNAL_H
#define HEDDLE_TIMING_STATS_INTERNAL_H
#include "timing/stats.h"

/* Names of the cells of vectors and tables. */
enum stat_names { NAMES_NONE, NAMES_ACCESS_TYPES, NAMES_OUTCOMES, NAMES_FAILS, NAMES_LANES, NAMES_SCHEDULERS, NAMES_PACKET_SIZES, NAMES_BUCKETS };
struct stat_row {
    const char *name, *unit, *help;
    enum timing_stat_kind kind;
    size_t offset;                         /* of its words in struct timing_stats */
    unsigned rows, columns;                /* how many words: rows * columns */
    enum stat_names row_names, column_names;
    const char *of, *by;                   /* RATIO: two rows; SUM: of a table */
    double scale;
    uint32_t row_mask, column_mask;        /* SUM */
};
extern const struct stat_row timing_stat_rows[];

/* A value as a whole number where it is one. */
struct stat_number { bool whole; uint64_t u; double d; };
struct stat_number stat_number(size_t i, const struct timing_stats *s);
bool stat_is_number(size_t i);             /* counter, maximum, sum, ratio */
const uint64_t *stat_words(size_t i, const struct timing_stats *s);
/* The name of cell i. Returns buf or a constant. */
const char *stat_cell_name(enum stat_names names, unsigned i, char *buf, size_t n);
int stat_row_find(const char *name, size_t n);     /* our names only */
/* The statistic that GPGPU-Sim prints under this name; -1: none. And its name there, NULL: it has none. */
int gpgpusim_find(const char *name);
const char *gpgpusim_name(size_t i, bool total);

#endif
