/* How settings are kept and set; for timing/config_*.c, read_*.c and parse_*.c only. */
#ifndef HEDDLE_TIMING_CONFIG_INTERNAL_H
#define HEDDLE_TIMING_CONFIG_INTERNAL_H
#include "runtime/base/arena.h"
#include "runtime/base/vec.h"
#include "timing/config.h"

/* ---- rows ---- */

/* A cache and a specialised unit are rows too. */
#define CACHE_KNOBS(g, aliases, what, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16) \
    KNOB(g, present, "", BOOL, d1, "", 0, 0, NULL, what) \
    KNOB(g, kind, "", CHOICE, d2, "N=normal|S=sectored", 0, 0, NULL, "lines as a whole, or in sectors of 32 bytes") \
    KNOB(g, sets, "", U32, d3, "", 1, 1048576, NULL, "sets") \
    KNOB(g, line, "", U32, d4, "B", 4, 4096, NULL, "bytes of a line") \
    KNOB(g, assoc, "", U32, d5, "", 1, 65536, NULL, "ways of a set") \
    KNOB(g, replace, "", CHOICE, d6, "L=lru|F=fifo", 0, 0, NULL, "which line makes room") \
    KNOB(g, write, "", CHOICE, d7, "R=read-only|B=write-back|T=write-through|E=write-evict|L=local-write-back", 0, 0, NULL, "what a store does") \
    KNOB(g, allocate, "", CHOICE, d8, "m=on-miss|f=on-fill|s=streaming", 0, 0, NULL, "when a line is taken: at the miss, at the reply, or as the kernel's use of shared memory allows") \
    KNOB(g, write_allocate, "", CHOICE, d9, "N=no|W=write-allocate|F=fetch-on-write|L=lazy-fetch", 0, 0, NULL, "what a store that misses does") \
    KNOB(g, index, "", CHOICE, d10, "L=linear|X=xor|P=ipoly|H=fermi", 0, 0, NULL, "how an address finds its set") \
    KNOB(g, mshr, "", CHOICE, d11, "A=assoc|S=sector-assoc|F=fifo|T=sector-fifo", 0, 0, NULL, "how outstanding misses are kept") \
    KNOB(g, mshrs, "", U32, d12, "", 1, 1048576, NULL, "outstanding misses") \
    KNOB(g, merge, "", U32, d13, "", 1, 1048576, NULL, "requests that wait for one of them") \
    KNOB(g, miss_queue, "", U32, d14, "", 1, 1048576, NULL, "requests that wait to leave the cache") \
    KNOB(g, result_queue, "", U32, d15, "", 0, 1048576, NULL, "results that wait, of the FIFO kinds") \
    KNOB(g, port, "", U32, d16, "B/cycle", 0, 4096, NULL, "width of the data port; 0: a line")
#define UNIT_KNOBS(n) \
    KNOB(special##n, enabled, "", BOOL, "off", "", 0, 0, NULL, "there is such a unit") \
    KNOB(special##n, units, "", U32, "4", "", 0, 64, NULL, "units of an SM") \
    KNOB(special##n, latency_max, "", U32, "4", "cycles", 1, 100000, NULL, "depth of its pipeline") \
    KNOB(special##n, id_oc, "", U32, "4", "instructions", 0, 64, NULL, "issue to collection") \
    KNOB(special##n, oc_ex, "", U32, "4", "instructions", 0, 64, NULL, "collection to execution") \
    KNOB(special##n, name, "", TEXT, "BRA", "", 0, 0, NULL, "which instructions: BRA branches, TEX textures, TENSOR matrices, UDP uniform") \
    KNOB(special##n, latency, "", U32, "4", "cycles", 1, 100000, NULL, "result latency") \
    KNOB(special##n, initiation, "", U32, "4", "cycles", 0, 100000, NULL, "initiation interval")

enum {
#define KNOB(g, f, ...) TIMING_KNOB_##g##_##f,
#define CACHE(...) CACHE_KNOBS(__VA_ARGS__)
#define UNIT_ROW(n) UNIT_KNOBS(n)
#include "timing/knobs.def"
    TIMING_KNOB_COUNT
};

enum row_type { ROW_BOOL, ROW_U32, ROW_HEX, ROW_I32, ROW_U64, ROW_F64, ROW_CHOICE, ROW_TEXT, ROW_KB_LIST, ROW_ADDRESS_MAP };
struct row {
    const char *name, *aliases;
    enum row_type type;
    const char *standard, *unit;
    int64_t min, max;
    const char *note, *help;
    size_t offset;
};
extern const struct row timing_rows[TIMING_KNOB_COUNT];

/* ---- texts and places ---- */

struct source {
    const char *name;                /* of the file; "command line" */
    const char *text;
    size_t bytes;
    bool lines;                      /* a file, whose lines are counted */
    bool own;                        /* in our own language: numbers are decimal, units are allowed */
};
struct place { const struct source *in; uint32_t at; };    /* in NULL: nowhere, a default */

/* A value as it was written, with the place of each of its bytes, since comments and line ends may stand between them. */
struct value {
    const char *text;                /* n bytes and a NUL */
    uint32_t n;
    const uint32_t *at;              /* offset of each byte in the source, and of the end: n + 1 */
    const struct source *in;
    const char *name;                /* of the setting, as the user wrote it */
};

/* ---- state ---- */

struct note { const char *text; bool is_error; };
enum { NOTES_MAX = 200 };            /* then they are counted only */

struct timing_settings {
    struct timing_config values;
    struct place places[TIMING_KNOB_COUNT];
    struct arena arena;              /* texts, notes */
    VEC(struct note) notes;
    size_t errors;                   /* all of them */
    unsigned depth;                  /* of files that name files */
    unsigned n_texts;                /* read in all, which is limited */
    bool no_memory;
    bool files;                      /* a file was read: the next one is a layer over it */
    bool *warned;                    /* one for each accepted option */
};

/* Notes. at: byte of v, or of the source. hint may be NULL. */
void note_value(struct timing_settings *s, bool is_error, const struct value *v, uint32_t at, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
void note_place(struct timing_settings *s, bool is_error, struct place p, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* ---- setting ---- */

/* Sets a row from v's bytes [from, to). False: noted. */
bool row_set(struct timing_settings *s, unsigned row, const struct value *v, uint32_t from, uint32_t to);
void *row_value(struct timing_settings *s, unsigned row);
int choice_find(const char *words, const char *text, size_t n, bool letters);      /* index; -1: not there */
/* Length of the number or word at `from` up to one of the separators or `to`. */
uint32_t span_until(const struct value *v, uint32_t from, uint32_t to, const char *separators);

/* An option that sets several rows. */
struct option;
typedef bool option_parser(struct timing_settings *s, const struct option *o, const struct value *v);
struct option {
    const char *name, *aliases;
    option_parser *parse;
    unsigned first, last, min;
    const char *rest, *help;
};
option_parser timing_parse_colons, timing_parse_commas, timing_parse_scheduler, timing_parse_runtime_stat, timing_parse_dram_timing, timing_parse_cache;
bool parse_address_map(struct timing_settings *s, struct timing_address_map *out, const struct value *v, uint32_t from, uint32_t to);

/* What a name means. */
struct meaning { enum { MEANS_NONE, MEANS_ROW, MEANS_OPTION, MEANS_ACCEPTED } kind; unsigned index; };
struct meaning meaning_find(const char *name);
bool meaning_is_flag(struct meaning t);                       /* BOOL: its value may be missing */
const char *meaning_composite(unsigned row);                /* the option that sets the row together with others; "" */
const char *meaning_nearest(const char *name, bool own);     /* a name close to a mistyped one; NULL */
bool meaning_set(struct timing_settings *s, struct meaning t, const struct value *v);

/* ---- readers ---- */

const struct source *source_new(struct timing_settings *s, const char *name, const char *text, size_t bytes, bool lines, bool own);
bool read_gpgpusim(struct timing_settings *s, const struct source *in);
bool read_icnt(struct timing_settings *s, const struct source *in);
bool read_own(struct timing_settings *s, const struct source *in);
/* Reads the file that another one names: beside that, else where the program runs. Noted at `v` when there is none. */
bool read_named(struct timing_settings *s, const struct value *v, bool (*reader)(struct timing_settings *, const struct source *));

void check_all(struct timing_settings *s, struct timing_config *c);
/* Back to defaults: what a file describes is a whole GPU. */
void settings_reset(struct timing_settings *s);

#endif
