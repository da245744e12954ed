/* The table of statistics: sums, differences, values, names. */
#include "timing/stats_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WORDS(name, unit, help, kind, member, rows, columns, row_names, column_names) \
    {name, unit, help, TIMING_STAT_##kind, offsetof(struct timing_stats, member), rows, columns, NAMES_##row_names, NAMES_##column_names, NULL, NULL, 0, 0, 0},
#define MADE(name, unit, help, kind, of, by, scale, rows, columns) \
    {name, unit, help, TIMING_STAT_##kind, 0, 0, 0, NAMES_NONE, NAMES_NONE, of, by, scale, rows, columns},
#define BIT(x) (1u << TIMING_##x)
enum { ALL = -1 };
#define ACCESSES (BIT(HIT) | BIT(HIT_RESERVED) | BIT(MISS) | BIT(SECTOR_MISS))

#define COUNTER(g, f, unit, help) WORDS(#g "." #f, unit, help, COUNTER, g.f, 1, 1, NONE, NONE)
#define MAXIMUM(g, f, unit, help) WORDS(#g "." #f, unit, help, MAXIMUM, g.f, 1, 1, NONE, NONE)
#define VECTOR(g, f, names, unit, help) WORDS(#g "." #f, unit, help, VECTOR, g.f, TIMING_##names, 1, names, NONE)
#define TABLE(g, f, r, c, unit, help) WORDS(#g "." #f, unit, help, TABLE, g.f, TIMING_##r, TIMING_##c, r, c)
#define HISTOGRAM(g, f, unit, help) WORDS(#g "." #f, unit, help, HISTOGRAM, g.f, TIMING_BUCKETS, 1, BUCKETS, NONE)
#define SUM(name, table, rows, columns, unit, help) MADE(name, unit, help, SUM, table, NULL, 0, (uint32_t)(rows), (uint32_t)(columns))
#define RATIO(name, numerator, denominator, scale, unit, help) MADE(name, unit, help, RATIO, numerator, denominator, scale, 0, 0)
#define IN(g, c, field) #g "." #c "." field
#define CACHE_STATS(g, c, what) \
    WORDS(IN(g, c, "access"), "accesses", what ": accesses by kind and outcome; sectors where the cache has sectors, otherwise lines", TABLE, g.c.access, \
          TIMING_ACCESS_TYPES, TIMING_OUTCOMES, ACCESS_TYPES, OUTCOMES) \
    WORDS(IN(g, c, "fail"), "tries", what ": tries that found something full, by kind and reason", TABLE, g.c.fail, TIMING_ACCESS_TYPES, TIMING_FAILS, ACCESS_TYPES, FAILS) \
    COUNTER_IN(g, c, port_cycles, "cycles", what ": cycles in which its ports could have been used") \
    COUNTER_IN(g, c, data_port_busy, "cycles", what ": cycles in which its data port was used") \
    COUNTER_IN(g, c, fill_port_busy, "cycles", what ": cycles in which its fill port was used") \
    SUM(IN(g, c, "accesses"), IN(g, c, "access"), ALL, ACCESSES, "accesses", what ": accesses") \
    SUM(IN(g, c, "hits"), IN(g, c, "access"), ALL, BIT(HIT), "accesses", what ": accesses that found what they wanted") \
    SUM(IN(g, c, "pending_hits"), IN(g, c, "access"), ALL, BIT(HIT_RESERVED), "accesses", what ": accesses that found it on its way") \
    SUM(IN(g, c, "misses"), IN(g, c, "access"), ALL, BIT(MISS) | BIT(SECTOR_MISS), "accesses", what ": accesses that did not find it") \
    SUM(IN(g, c, "reservation_fails"), IN(g, c, "access"), ALL, BIT(RESERVATION_FAIL), "tries", what ": tries that found something full") \
    RATIO(IN(g, c, "miss_rate"), IN(g, c, "misses"), IN(g, c, "accesses"), 1, "", what ": misses of all accesses") \
    RATIO(IN(g, c, "data_port_share"), IN(g, c, "data_port_busy"), IN(g, c, "port_cycles"), 1, "", what ": part of the time in which the data port was used") \
    RATIO(IN(g, c, "fill_port_share"), IN(g, c, "fill_port_busy"), IN(g, c, "port_cycles"), 1, "", what ": part of the time in which the fill port was used")
#define COUNTER_IN(g, c, f, unit, help) WORDS(#g "." #c "." #f, unit, help, COUNTER, g.c.f, 1, 1, NONE, NONE)
#define PER_CYCLE(g, n, field, of, unit, help) RATIO(IN(g, n, field), IN(g, n, of), IN(g, n, "cycles"), 1, unit, help)
#define NETWORK_STATS(g, n, what) \
    COUNTER_IN(g, n, packets, "packets", what ": packets") \
    COUNTER_IN(g, n, cycles, "interconnect cycles", what ": cycles") \
    COUNTER_IN(g, n, busy_cycles, "interconnect cycles", what ": cycles with a packet waiting") \
    COUNTER_IN(g, n, conflicts, "packets", what ": inputs that waited for their output, summed over cycles") \
    COUNTER_IN(g, n, outputs, "outputs", what ": outputs that were wanted, summed over cycles") \
    COUNTER_IN(g, n, input_full, "buffers", what ": full input buffers, summed over cycles") \
    COUNTER_IN(g, n, input_fill, "packets", what ": packets in input buffers, summed over cycles") \
    COUNTER_IN(g, n, output_full, "buffers", what ": full output buffers, summed over cycles") \
    COUNTER_IN(g, n, output_fill, "packets", what ": packets in output buffers, summed over cycles") \
    PER_CYCLE(g, n, "packets_per_cycle", "packets", "packets/cycle", what ": packets in a cycle") \
    PER_CYCLE(g, n, "conflicts_per_cycle", "conflicts", "packets/cycle", what ": inputs that wait for their output") \
    RATIO(IN(g, n, "conflicts_per_busy_cycle"), IN(g, n, "conflicts"), IN(g, n, "busy_cycles"), 1, "packets/cycle", what ": the same, over busy cycles") \
    RATIO(IN(g, n, "parallelism"), IN(g, n, "outputs"), IN(g, n, "busy_cycles"), 1, "outputs", what ": different outputs that are wanted in a busy cycle") \
    PER_CYCLE(g, n, "mean_input_full", "input_full", "buffers", what ": full input buffers") \
    PER_CYCLE(g, n, "mean_input_fill", "input_fill", "packets", what ": packets in input buffers") \
    PER_CYCLE(g, n, "mean_output_full", "output_full", "buffers", what ": full output buffers") \
    PER_CYCLE(g, n, "mean_output_fill", "output_fill", "packets", what ": packets in output buffers")

const struct stat_row timing_stat_rows[] = {
#include "timing/stats.def"
};
enum { N_ROWS = sizeof timing_stat_rows / sizeof *timing_stat_rows };

static const struct { size_t offset, bytes; } groups[TIMING_STATS_GROUPS] = {
#define GROUP(g, what) {offsetof(struct timing_stats, g), sizeof(struct timing_##g##_stats)},
#include "timing/stats.def"
};

/* ---- sums ---- */

static bool is_words(const struct stat_row *r) { return r->kind != TIMING_STAT_SUM && r->kind != TIMING_STAT_RATIO; }

void timing_stats_add(enum timing_stats_group group, void *to, const void *from)
{
    size_t first = groups[group].offset, end = first + groups[group].bytes;
    for (size_t i = 0; i < N_ROWS; i++) {
        const struct stat_row *r = &timing_stat_rows[i];
        if (!is_words(r) || r->offset < first || r->offset >= end)
            continue;
        uint64_t *a = (uint64_t *)((char *)to + (r->offset - first));
        const uint64_t *b = (const uint64_t *)((const char *)from + (r->offset - first));
        if (r->kind == TIMING_STAT_MAXIMUM)
            *a = *b > *a ? *b : *a;
        else
            for (unsigned k = 0; k < r->rows * r->columns; k++)
                a[k] += b[k];
    }
}

void timing_stats_subtract(struct timing_stats *out, const struct timing_stats *later, const struct timing_stats *earlier)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const struct stat_row *r = &timing_stat_rows[i];
        if (!is_words(r))
            continue;
        uint64_t *o = (uint64_t *)((char *)out + r->offset);
        const uint64_t *a = stat_words(i, later), *b = stat_words(i, earlier);
        for (unsigned k = 0; k < r->rows * r->columns; k++)
            o[k] = r->kind == TIMING_STAT_MAXIMUM ? a[k] : a[k] - b[k];
    }
}

/* ---- values ---- */

const uint64_t *stat_words(size_t i, const struct timing_stats *s) { return (const uint64_t *)((const char *)s + timing_stat_rows[i].offset); }

bool stat_is_number(size_t i)
{
    enum timing_stat_kind k = timing_stat_rows[i].kind;
    return k == TIMING_STAT_COUNTER || k == TIMING_STAT_MAXIMUM || k == TIMING_STAT_SUM || k == TIMING_STAT_RATIO;
}

static double value_of(const char *name, const struct timing_stats *s)
{
    int i = stat_row_find(name, strlen(name));
    return i < 0 ? 0 : timing_stat_value((size_t)i, s);
}

static uint64_t sum_of(const struct stat_row *r, const struct timing_stats *s)
{
    int i = stat_row_find(r->of, strlen(r->of));
    if (i < 0)
        return 0;
    const struct stat_row *table = &timing_stat_rows[i];
    const uint64_t *words = stat_words((size_t)i, s);
    uint64_t sum = 0;
    for (unsigned row = 0; row < table->rows; row++)
        for (unsigned column = 0; column < table->columns; column++)
            if (r->row_mask >> row & r->column_mask >> column & 1)
                sum += words[row * table->columns + column];
    return sum;
}

struct stat_number stat_number(size_t i, const struct timing_stats *s)
{
    const struct stat_row *r = &timing_stat_rows[i];
    uint64_t u = 0;
    switch (r->kind) {
    case TIMING_STAT_COUNTER:
    case TIMING_STAT_MAXIMUM: u = *stat_words(i, s); break;
    case TIMING_STAT_SUM: u = sum_of(r, s); break;
    case TIMING_STAT_RATIO: {
        double by = value_of(r->by, s);
        return (struct stat_number){false, 0, by != 0 ? value_of(r->of, s) / by * r->scale : 0};
    }
    default: break;
    }
    return (struct stat_number){true, u, (double)u};
}

double timing_stat_value(size_t i, const struct timing_stats *s) { return stat_number(i, s).d; }

/* ---- names ---- */

size_t timing_stat_count(void) { return N_ROWS; }

struct timing_stat timing_stat(size_t i)
{
    const struct stat_row *r = &timing_stat_rows[i];
    return (struct timing_stat){r->name, r->unit, r->help, r->kind};
}

int stat_row_find(const char *name, size_t n)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (strncmp(timing_stat_rows[i].name, name, n) == 0 && timing_stat_rows[i].name[n] == 0)
            return (int)i;
    return -1;
}

int timing_stat_find(const char *name)
{
    int i = stat_row_find(name, strlen(name));
    return i >= 0 ? i : gpgpusim_find(name);
}

/* By words in common: a mistyped name, or the end of one ("miss_rate"). */
int timing_stat_nearest(const char *name)
{
    int best = -1;
    size_t length = 0;
    for (size_t i = 0; i < N_ROWS; i++) {
        const char *row = timing_stat_rows[i].name, *dot = strrchr(row, '.');
        bool near = strstr(row, name) || (dot && strlen(dot + 1) > 3 && strstr(name, dot + 1)) || (strlen(name) > 4 && strncmp(row, name, strlen(name) - 2) == 0);
        if (near && (best < 0 || strlen(row) < length)) {
            best = (int)i;
            length = strlen(row);
        }
    }
    return best;
}

#define NAME(name, text) #name,
const char *stat_cell_name(enum stat_names names, unsigned i, char *buf, size_t n)
{
    static const char *const types[] = {TIMING_ACCESS_TYPE_LIST(NAME)}, *const outcomes[] = {TIMING_OUTCOME_LIST(NAME)}, *const fails[] = {TIMING_FAIL_LIST(NAME)};
    switch (names) {
    case NAMES_ACCESS_TYPES: return types[i];
    case NAMES_OUTCOMES: return outcomes[i];
    case NAMES_FAILS: return fails[i];
    case NAMES_PACKET_SIZES: snprintf(buf, n, "%u", 8 + 32 * i); break;
    case NAMES_BUCKETS: snprintf(buf, n, "%" PRIu64, i ? UINT64_C(1) << i : 0); break;
    default: snprintf(buf, n, "%u", i); break;
    }
    return buf;
}

/* ---- explanations ---- */

#define PAIR(name, text) {#name, text},
static void explain_cells(struct textbuf *out, enum stat_names names)
{
    static const struct pair { const char *name, *text; } types[] = {TIMING_ACCESS_TYPE_LIST(PAIR)}, outcomes[] = {TIMING_OUTCOME_LIST(PAIR)},
                                                           fails[] = {TIMING_FAIL_LIST(PAIR)};
    const struct pair *p = names == NAMES_ACCESS_TYPES ? types : names == NAMES_OUTCOMES ? outcomes : names == NAMES_FAILS ? fails : NULL;
    unsigned n = names == NAMES_ACCESS_TYPES ? TIMING_ACCESS_TYPES : names == NAMES_OUTCOMES ? TIMING_OUTCOMES : TIMING_FAILS;
    for (unsigned i = 0; p && i < n; i++)
        textbuf_add(out, "    %-22s %s\n", p[i].name, p[i].text);
}

void timing_stat_explain(size_t i, struct textbuf *out)
{
    static const char *const kinds[] = {"counter", "maximum", "vector", "table", "histogram, by powers of two", "sum", "ratio"};
    const struct stat_row *r = &timing_stat_rows[i];
    const char *kernel = gpgpusim_name(i, false), *total = gpgpusim_name(i, true);
    textbuf_add(out, "%s: %s\n\n  kind        %s\n", r->name, r->help, kinds[r->kind]);
    if (*r->unit)
        textbuf_add(out, "  unit        %s\n", r->unit);
    if (r->kind == TIMING_STAT_RATIO && r->scale == 1)
        textbuf_add(out, "  made of     %s / %s\n", r->of, r->by);
    else if (r->kind == TIMING_STAT_RATIO)
        textbuf_add(out, "  made of     %s / %s x %g\n", r->of, r->by, r->scale);
    if (r->kind == TIMING_STAT_SUM)
        textbuf_add(out, "  made of     cells of %s\n", r->of);
    if (kernel || total)
        textbuf_add(out, "  GPGPU-Sim   %s%s%s\n", kernel ? kernel : "", kernel && total ? ", " : "", total ? total : "");
    if (r->row_names != NAMES_NONE && r->row_names != NAMES_BUCKETS)
        textbuf_add(out, "\n  cells\n");
    explain_cells(out, r->row_names);
    explain_cells(out, r->column_names);
}
