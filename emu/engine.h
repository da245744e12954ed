/* The engine's own structures: shared by the files of emu/, seen by nobody else.
 *
 * A function is decoded once into an array of 64-byte records (`struct insn`). Registers of a warp are rows in a frame:
 * 32 lanes side by side, 2, 4, 8 or 16 bytes each (8-bit registers live in 2-byte rows); predicates are 32-bit lane masks.
 * Constants (immediates, kernel parameters that are read whole, special registers) are rows of the same frame, filled when the
 * warp starts, so that a handler never asks what kind of operand it has:
 *
 *     frame + in->a  ->  32 values of the first source
 *
 * A record has two handlers: `full` when all 32 lanes are active and nothing guards it, `masked` for every other case. Inactive lanes
 * never fault and never change. A handler returns the next record, or NULL when the warp cannot just go on: then it has set
 * warp->state and warp->next. */
#ifndef HEDDLE_EMU_ENGINE_H
#define HEDDLE_EMU_ENGINE_H
#include "emu/emu.h"
#include "emu/record.h"

/* One more warp_state: the warp stands before w->next, and the debugger is to be asked (emu/debug.h). Here, so that lane handlers need not know. */
enum { WARP_BREAK = WARP_YIELD + 1 };

/* A decoded function. Records never change after decoding, but for breaks. */
struct code {
    struct insn *insns; uint32_t n_insns;
    const struct ptx_function *function;
    uint32_t number;                           /* function number in the image: EMU_CODE_WINDOW + 16 * number */
    uint32_t frame_bytes;                      /* rows, multiple of 64 */
    uint32_t const_at, const_bytes;            /* part of the frame that holds constant rows, and its image: */
    const char *const_image;                   /* copied into the frame when it is entered */
    const struct fill *fills; uint32_t n_fills;/* rows of the constant part that depend on launch, warp or CTA; those of the CTA last */
    uint32_t first_cta_fill;
    uint32_t local_bytes;                      /* local memory of one activation, multiple of 16 */
    /* parameters and returns: word rows (4 bytes x 32), see decode_call.c */
    uint32_t param_at, return_at, param_words, return_words;
    uint64_t fingerprint;                      /* of the records, handlers and tables aside: two decodings with the same one have the same places in frames */
    const struct code_names *names;            /* for debuggers, see emu/debug.h; NULL: the image was not tuned for them */
    struct insn *plain;                        /* copy of the records as decoding made them, once a break was put into insns; NULL: none ever was */
};

/* Where a debugger finds what the text names: kept when every register has a row of its own (emu_image_tune). */
struct code_names {
    uint32_t *first;                           /* per instruction: its first record, markers left out */
    uint32_t *reg_row;                         /* per register: offset of its row or mask in the frame; 0: it is never used */
    uint32_t *var_row, *local_at;              /* per own variable: .param words in the frame, 0 = none; .local: offset in the activation's local memory */
};

/* A constant row whose value is known only at run time (emu/sreg.c writes it). */
enum fill_kind { FILL_SREG, FILL_PARAM, FILL_LOCAL };
struct fill {
    uint32_t at;                               /* offset in the frame */
    uint8_t kind, width;                       /* enum fill_kind; bytes per lane, 0 = a mask */
    uint8_t bytes; bool sign;                  /* PARAM: bytes read from the block, and how they are widened */
    uint16_t sreg; uint8_t component;          /* SREG */
    uint32_t offset;                           /* PARAM: in the block; LOCAL: in the activation's local memory */
};

/* Divergence. A warp is a set of splits with disjoint masks; one runs, the others are ready or wait. A join collects the lanes that
 * reach a reconvergence point until all expected ones are there (or, under ITS, until nothing else in the warp can run). */
enum split_state { SPLIT_READY, SPLIT_JOIN /* waits in a join */, SPLIT_BARRIER /* CTA barrier */, SPLIT_SYNC /* .sync with member mask */, SPLIT_SLEEP,
                   SPLIT_CLUSTER /* barrier of the cluster */, SPLIT_MBARRIER /* mbarrier.try_wait, test_wait */ };

struct range_cache {                           /* last range an access site hit; lo = 1, hi = 0 when empty */
    uint64_t lo, hi;
    bool writable;
    uint16_t leader;                           /* for looking ahead: 1 + number of the warp whose steps count, 0 = none yet; */
    uint32_t last;                             /* low half of the last address it had here, */
    int32_t step;                              /* and how far that was from the one before */
};

struct ctx {                                   /* one per worker */
    struct emu_grid *grid;
    struct emu_cta *cta;
    const struct emu_space *space;
    struct range_cache *sites; uint32_t n_sites;
    uint64_t space_generation;                 /* of the table when sites were filled */
    int64_t budget;                            /* warp instructions left in this quantum; control records take from it */
    uint64_t thread_insns, warp_insns;
    struct emu_fault fault;
    struct emu_event *event;                   /* filled by memory handlers when not NULL (stepping) */
    uint64_t event_address[WARP_SIZE];
    bool defer;                                /* stepping: strong accesses to global memory are not done, */
    const struct insn *deferred;               /* but noted here */
    uint64_t cycle;                            /* stepping for a timing model: what %clock reads; 0: the clock counts instructions */
    char *shared; uint32_t shared_bytes;       /* of the running CTA */
    bool parallel;
    bool spun;                                 /* a loop that may wait for another lane went round: waiting lanes may leave their joins early */
    const void *sites_kernel;                  /* whose sites they are */
    const struct emu_hook *hook;               /* emu/debug.h; NULL: no debugger */
    const struct insn *pass;                   /* the break that pass_warp stands at and has told of */
    const struct warp *pass_warp;
    bool quiet;                                /* breaks are passed without a word */
    bool let;                                  /* the next instruction has been told of */
};

/* One launch: emu/grid.c. Immutable once made, but for the lazily decoded callees of its kernel and the clock. */
struct emu_grid {
    struct emu_kernel *kernel;
    const struct code *code;                   /* of the entry function */
    struct emu_launch launch;                  /* params points to the grid's copy */
    uint64_t serial;                           /* never the same twice in a process */
    uint64_t n_ctas;
    uint32_t threads, warps;                   /* per CTA */
    uint32_t cluster_ctas;                     /* per cluster, 1 = there are none */
    uint32_t shared_bytes;                     /* static, rounded up, and dynamic */
    uint32_t static_shared_bytes;
    uint32_t local_stride;                     /* bytes of local memory per thread, stack included */
    uint64_t clock_offset;                     /* %clock less the worker's count of warp instructions */
};

struct cta_barrier { uint32_t arrived, need /* 0: all live threads */, popc; bool all, any; };

struct emu_cta {                               /* emu/cta.c */
    struct emu_grid *grid;
    uint64_t index;
    uint32_t ctaid[3], smid;
    char *shared; uint32_t shared_bytes;
    struct warp *warps; uint32_t n_warps;
    struct cta_barrier *barriers;              /* 16 named barriers */
    uint32_t live_threads;
    uint32_t next_warp;                        /* round robin */
    uint32_t cluster_rank;
    struct cluster *cluster;                   /* emu/cluster.h; NULL: a block of its own */
    struct cluster *cluster_room;              /* memory of the cluster in which this block has rank 0 */
    struct emu_cta *next_free;                 /* the worker's list of recycled CTAs */
    uint64_t grid_serial;                      /* launch whose constants the frames hold */
    char *frames, *local; size_t frames_bytes, local_bytes, shared_room; uint32_t warps_room;
    struct cta_barrier barrier_room[16];
    uint32_t barriers_open;                    /* some barrier has arrivals */
    uint32_t mbarrier_waits;                   /* splits that wait at an mbarrier; and how often all of them failed in a row: */
    uint32_t failures; uint64_t failed_at;     /* see emu/mbarrier.h */
    struct warp_flow *flows;
};

/* Stops the warp with a fault: fills ctx->fault with a report for `lane` (status, kernel, block, thread, PTX instruction, source line, what) and returns NULL.
 * emu/fault.c */
const struct insn *insn_fault(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lane, enum status st, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

/* ---- decoding: emu/decode.c drives, decode_*.c lower one family each ------------------------------------------------
 * decode.def has DECODE(OPCODE, function) rows; an opcode without a row, and whatever a decode function refuses, becomes a record that
 * faults with a located message when executed. */
struct decoder;                                /* emu/decode.h */
typedef enum status (*decode_fn)(struct decoder *d, const struct ptx_insn *in);

#endif
