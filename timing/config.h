/* The configuration of the simulated GPU.
 *
 * Reading it:      const struct timing_config *cfg;  cfg->l1d.sets, cfg->dram.tRCD, cfg->clock.core ...
 *     timing/knobs.def says what each member means, its unit and its limits; KNOBS.md is the same as a page. Once it is checked
 *     (timing_settings_check), a configuration is consistent and cfg->derived is filled in: components check nothing again. It is
 *     plain data without pointers, constant from then on, and may be copied and read by any thread.
 *
 * Making one:      settings -> layers (part, files, single values; the last one wins) -> timing_settings_check -> struct timing_config
 *     A settings object has one owner at a time. Readers note every mistake and go on, so that the user sees all of them at once;
 *     the notes are text with file, line and caret. Nothing here prints.
 *
 * Two languages:   GPGPU-Sim's and Accel-Sim's (`-option value`, .icnt files) and our own (`name = value unit`, `inherit = part`).
 *     A file is in our own when its name ends in .conf, else in GPGPU-Sim's, and then it stands alone: what it does not say is what GPGPU-Sim takes for it. */
#ifndef HEDDLE_TIMING_CONFIG_H
#define HEDDLE_TIMING_CONFIG_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

/* The note of settings that the model does not use yet. */
#define TIMING_PLANNED "the model does not use it yet"

/* ---- words of the choices, in the order of their rows ---- */

enum timing_model { TIMING_MODEL_ACCELSIM, TIMING_MODEL_MODERN };                       /* gpu.model */
enum timing_divergence { TIMING_STACK, TIMING_ITS };                                    /* gpu.divergence */
enum timing_coherence { TIMING_COHERENCE_ACCELSIM, TIMING_COHERENCE_VIPER_NV, TIMING_COHERENCE_RFO };
enum timing_policy { TIMING_LRR, TIMING_GTO, TIMING_OLDEST, TIMING_RRR, TIMING_TWO_LEVEL, TIMING_LIMITED, TIMING_YOUNGEST };    /* issue.policy */
enum timing_order { TIMING_ORDER_LRR, TIMING_ORDER_RRR, TIMING_ORDER_GTO, TIMING_ORDER_GTLRR, TIMING_ORDER_GTY, TIMING_ORDER_OLDEST,
                    TIMING_ORDER_YOUNGEST };                                            /* issue.inner, issue.outer */
enum timing_l1_model { TIMING_L1_BANKED, TIMING_L1_WAVEFRONT };                         /* lsu.l1_model */
enum timing_bank_hash { TIMING_BANK_LINEAR, TIMING_BANK_XOR, TIMING_BANK_IPOLY, TIMING_BANK_FERMI };    /* lsu.l1_bank_hash */
enum timing_slice_hash { TIMING_SLICE_LINEAR, TIMING_SLICE_XOR, TIMING_SLICE_IPOLY, TIMING_SLICE_NONE, TIMING_SLICE_RANDOM,
                         TIMING_SLICE_IPOLY_MOD = 6 };                 /* mem.hash */
enum timing_dram_order { TIMING_FCFS, TIMING_FRFCFS };                                  /* dram.scheduler */
enum timing_collect { TIMING_COLLECT_DETAILED, TIMING_COLLECT_SIMPLE };                        /* rf.model */
enum timing_halves { TIMING_HALVES_HALVES, TIMING_HALVES_ALTERNATE };                             /* mem.partition_interleave */
enum timing_dram_hash { TIMING_DRAM_LINEAR, TIMING_DRAM_XOR, TIMING_DRAM_IPOLY };          /* dram.bank_hash */
enum timing_group_bits { TIMING_GROUP_HIGH, TIMING_GROUP_LOW };                         /* dram.group_bits */
enum timing_noc { TIMING_NOC_BOOKSIM = 1, TIMING_NOC_CROSSBAR };                        /* noc.kind */
enum timing_arbiter { TIMING_ARBITER_ROUND_ROBIN, TIMING_ARBITER_ISLIP };               /* noc.arbiter */
/* the letters of a cache string */
enum timing_cache_kind { TIMING_CACHE_NORMAL, TIMING_CACHE_SECTORED };
enum timing_replace { TIMING_REPLACE_LRU, TIMING_REPLACE_FIFO };
enum timing_write { TIMING_READ_ONLY, TIMING_WRITE_BACK, TIMING_WRITE_THROUGH, TIMING_WRITE_EVICT, TIMING_LOCAL_WRITE_BACK };
enum timing_allocate { TIMING_ON_MISS, TIMING_ON_FILL, TIMING_STREAMING };
enum timing_write_allocate { TIMING_NO_WRITE_ALLOCATE, TIMING_WRITE_ALLOCATE, TIMING_FETCH_ON_WRITE, TIMING_LAZY_FETCH };
enum timing_set_index { TIMING_SET_LINEAR, TIMING_SET_XOR, TIMING_SET_IPOLY, TIMING_SET_FERMI };
enum timing_mshr { TIMING_MSHR_ASSOC, TIMING_MSHR_SECTOR_ASSOC, TIMING_MSHR_FIFO, TIMING_MSHR_SECTOR_FIFO };

/* ---- plain parts ---- */

enum { TIMING_TEXT_BYTES = 128, TIMING_KB_MAX = 16, TIMING_SPECIAL_MAX = 8, TIMING_SECTOR_BYTES = 32 };

struct timing_cache {
    bool present;
    int kind;                        /* enum timing_cache_kind: a sectored line has sectors of TIMING_SECTOR_BYTES */
    uint32_t sets, line, assoc;      /* sets, bytes of a line, ways. An adaptive L1 has more ways at run time: derived.l1_ways_max */
    int replace, write, allocate, write_allocate, index;
    int mshr;
    uint32_t mshrs, merge;           /* entries, requests in one entry */
    uint32_t miss_queue;             /* requests that wait to leave */
    uint32_t result_queue;           /* of the FIFO kinds */
    uint32_t port;                   /* bytes of the data port in a cycle; 0: a line */
};

/* Unit for instructions of one kind, which the name chooses: BRA, TEX, TENSOR, UDP. */
struct timing_special {
    bool enabled;
    uint32_t units, latency_max, id_oc, oc_ex;     /* latency_max: cycles, the depth of its pipeline */
    char name[TIMING_TEXT_BYTES];
    uint32_t latency, initiation;                  /* cycles */
};

struct timing_kb_list { uint32_t n, at[TIMING_KB_MAX]; };    /* KB, ascending */

/* Which address bits are what, least significant bit first. Bits that the map names for nothing are in no mask. */
struct timing_address_map {
    int channel_bit;                 /* dramid@N; -1: the channel's bits are in `channel` */
    uint64_t channel, bank, row, column, burst;
};

/* What follows from the settings. */
struct timing_derived {
    uint32_t sms;                    /* sm.clusters * sm.per_cluster */
    uint32_t warps_per_sm;
    uint32_t slices;                 /* L2 slices of the GPU */
    uint64_t l2_bytes;               /* of the GPU */
    uint32_t l1_ways_max;            /* of l1d when all unified memory is cache; else l1d.assoc */
    uint32_t dram_atom;              /* bytes of one column access of a channel */
    uint32_t dram_burst_clocks;      /* DRAM clocks for which it holds the data bus */
    uint32_t tRCDWR, tRTW, tWTR, tWTP;     /* DRAM clocks: activate to write, read to write, write to read, write to precharge */
    uint32_t channel_bits;           /* log2 of the channels; 0 and channel_gap where they are no power of two */
    bool channel_gap;
};

typedef bool TIMING_FIELD_BOOL;
typedef uint32_t TIMING_FIELD_U32, TIMING_FIELD_HEX;
typedef int32_t TIMING_FIELD_I32;
typedef uint64_t TIMING_FIELD_U64;
typedef double TIMING_FIELD_F64;
typedef int TIMING_FIELD_CHOICE;
typedef char TIMING_FIELD_TEXT[TIMING_TEXT_BYTES];
typedef struct timing_kb_list TIMING_FIELD_KB_LIST;
typedef struct timing_address_map TIMING_FIELD_ADDRESS_MAP;

struct timing_config {
#define GROUP(g) struct {
#define END(g) } g;
#define KNOB(g, f, aliases, type, ...) TIMING_FIELD_##type f;
#define CACHE(g, ...) struct timing_cache g;
#include "timing/knobs.def"
    union {
        struct timing_special special[TIMING_SPECIAL_MAX];
        struct { struct timing_special special1, special2, special3, special4, special5, special6, special7, special8; };
    };
    struct timing_derived derived;
};

/* ---- settings ---- */

struct timing_settings;

/* Every setting at GPGPU-Sim's default. NULL: no host memory. */
struct timing_settings *timing_settings_new(void);
void timing_settings_free(struct timing_settings *s);

/* Layers, each over those before. False: there are new mistakes (timing_settings_check tells them all). */
bool timing_settings_part(struct timing_settings *s, const char *part);        /* "v100"; timing_part(i) lists them */
bool timing_settings_file(struct timing_settings *s, const char *path);
/* As if text were the file of that name. The text is copied. */
bool timing_settings_text(struct timing_settings *s, const char *name, const char *text, size_t bytes);
/* One value under our name (`sm.clusters`, `dram.timing`) or GPGPU-Sim's (`-gpgpu_n_clusters`). origin: "command line". */
bool timing_settings_set(struct timing_settings *s, const char *name, const char *value, const char *origin);

/* Checks what one setting means for another and fills *out in. ST_INVALID_VALUE when anything was wrong, in any layer: err then
 * has the first mistakes and their number. *out is written in any case, but may only be used after ST_OK. */
enum status timing_settings_check(struct timing_settings *s, struct timing_config *out, struct error *err) MUST_CHECK;

/* The notes so far, in order: mistakes and warnings, each of one or several lines ("file:line:column: ..", source, caret, "hint: .."). */
size_t timing_settings_notes(const struct timing_settings *s);
const char *timing_settings_note(const struct timing_settings *s, size_t i, bool *is_error);

/* ---- the table ---- */

struct timing_knob {
    const char *name;                /* "sm.clusters" */
    const char *aliases;             /* "-a -b @c", see knobs.def */
    const char *composite;           /* option that sets it together with others: "dram.timing (-gpgpu_dram_timing_opt)"; "" */
    const char *standard;            /* default */
    const char *unit, *words;        /* "" where there is none; words of a choice */
    const char *note, *help;         /* note: NULL when modelled */
    bool number;                     /* then it lies within: */
    int64_t min, max;
};
size_t timing_knob_count(void);
struct timing_knob timing_knob(size_t i);
int timing_knob_find(const char *name);                          /* our name or an alias; -1: none */
/* The value as our own language has it, without unit. Returns buf. */
char *timing_knob_print(const struct timing_settings *s, size_t i, char *buf, size_t n);
/* "default", "v100.conf:12", "command line". Returns buf. */
char *timing_knob_origin(const struct timing_settings *s, size_t i, char *buf, size_t n);

/* Options that set several rows, and behind them those that are accepted without effect. */
struct timing_option {
    const char *name, *aliases;      /* name: our own; NULL: accepted */
    const char *help, *note;         /* note: what a value that is not neutral does not change; NULL: nothing */
};
size_t timing_option_count(void);
struct timing_option timing_option(size_t i);
int timing_option_find(const char *name);                        /* our name or an alias; -1: none */

/* Named parts that are built in (timing/gpus). NULL behind the last one. */
const char *timing_part(size_t i);
/* The text of one; NULL: there is none of that name. */
const char *timing_part_text(const char *name, size_t *bytes);

#endif
