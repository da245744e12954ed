/* The decoder's own state: decode.c, decode_rows.c, decode_mov.c, decode_flow.c, decode_call.c, decode_sync.c, kernel.c. Families of arithmetic
 * and memory see only decode.h.
 *
 * Decoding a function takes two passes. The first (decode_rows.c) looks at registers: copies that need no record become aliases, liveness gives
 * every other register a row. The second (decode.c) walks the instructions and emits records whose operands are those rows. */
#ifndef HEDDLE_EMU_DECODER_H
#define HEDDLE_EMU_DECODER_H
#include "emu/decode.h"
#include "emu/flow.h"
#include "emu/mov.h"
#include "runtime/base/vec.h"

enum const_kind { CONST_BITS, CONST_SREG, CONST_PARAM, CONST_LOCAL };
struct const_desc {                            /* what a constant row holds */
    uint8_t kind, bytes, component;            /* bytes, sign: PARAM */
    bool sign;
    uint16_t sreg;
    uint64_t bits;                             /* BITS: the value; PARAM, LOCAL: offset */
};

enum alias_kind { ALIAS_NONE, ALIAS_REG, ALIAS_CONST, ALIAS_ROW };
struct alias { uint8_t kind; int32_t reg; uint32_t row; struct const_desc k; };

struct reg_info {
    uint32_t n_defs, n_uses, def_at;
    bool partial;                              /* some definition is guarded or writes a part */
    bool pinned;                               /* a row of its own: an access that may be performed later uses it, or callers do */
    uint8_t width;                             /* bytes per lane, 0 = predicate */
    uint32_t lo, hi;                           /* instructions between which the row is taken; lo > hi: never */
    uint32_t row;
    uint32_t n_bases, shape;                   /* accesses that have it as base; frame offset of its struct mem_shape, 0 = none */
    struct alias alias;
};

struct post { uint32_t row, from; uint8_t width, from_width; bool sign; };
struct fix { uint32_t record; uint32_t insn; };             /* imm becomes the distance in records to instruction insn */
struct table_fix { int32_t *entry; uint32_t record, insn; };  /* an entry of a branch table, relative to the record */
struct meet { uint32_t record; int32_t block; };            /* extra becomes the distance to the marker of block; 0 = none */

/* Functions whose addresses initialisers hold, and what they call by name: any of them may be called by a kernel that calls through a pointer. Tables of
 * them can be so large (NCCL's has five million instructions) that each is parsed and decoded when it is called first, and only its text is looked at before. */
struct shared_use { uint32_t function; int32_t sym; };
struct addressed {                             /* addressed.c */
    bool known;                                /* the rest is filled in */
    bool late;                                 /* they are decoded when they are called */
    bool reserves;                             /* late: one may name the shared memory that the system reserves */
    VEC(struct shared_use) shared;             /* late: shared variables that they may name */
};

struct emu_image {                             /* image.c, kernel.c */
    struct ptx_module *m;
    struct emu_space *space;
    uint64_t *var_address;                     /* per module variable; 0 = none */
    bool *called_by_address;                   /* functions that initialisers name */
    struct addressed addressed;
    emu_place_fn place; void *place_user;      /* as emu_image_create got them */
    emu_extern_fn find; void *find_user;       /* see emu_image_externs; NULL: nothing is found */
    struct map body_variables;                 /* function << 32 | own variable -> address */
    struct map kernels;                        /* function number -> struct emu_kernel * */
    bool late;                                 /* see emu_image_late */
    bool keep_copies, keep_rows;               /* see emu_image_tune */
    void *lock;
};

struct emu_kernel {
    struct emu_image *image;
    uint32_t entry;
    struct arena arena;
    _Atomic(const struct code *) *codes;       /* per function of the module; NULL = not decoded yet */
    struct map shared;                         /* shared symbol -> 1 + offset; see kernel_shared_key */
    uint32_t shared_bytes, dynamic_align, local_bytes;
    _Atomic uint32_t n_sites;                  /* grows with functions that are decoded late */
    uint32_t n_records, n_regs;
    bool can_wait, ordered, calls_host, launches, stacks;
    _Atomic bool brkpt;                        /* some function has that instruction; set late, too, by functions that are decoded late */
    struct emu_kernel_facts facts;             /* as they were when the kernel was made: what a launch goes by */
    bool reserves;                             /* names the shared memory that the system reserves */
    void *lock;
};

struct decoder {
    struct emu_kernel *k;
    struct ptx_module *m;
    const struct ptx_function *f;
    uint32_t number;
    struct arena *keep;                        /* lives as long as the kernel */
    struct arena tmp;
    struct ptx_cfg cfg;
    struct reg_info *regs;
    bool *folded;                              /* per instruction: needs no record */
    uint32_t *var_row, *var_word;              /* per own variable: .param rows; first word among parameters or returns */
    uint32_t *local_at;                        /* per own variable: .local offset; parameters: 1 + offset of their copy, see decode_param_copy */
    uint32_t local_bytes;
    uint32_t param_at, param_words, return_at, return_words;
    uint32_t frame_end;                        /* rows before the scratch part */
    uint32_t scratch_at, scratch_end, scratch_next;
    uint32_t const_at;
    VEC(char) image;                           /* of the constant part */
    VEC(struct fill) fills;
    struct map bits_rows[5];                   /* value -> 1 + offset, one per width 0 2 4 8 16 */
    VEC(struct insn) out;
    VEC(struct post) posts;
    VEC(struct fix) fixes;
    VEC(struct meet) meets;
    VEC(struct table_fix) tables;
    uint32_t *record_of;                       /* per instruction: its first record; [n_insns] = the end */
    bool *is_meet, *is_target, *waits;         /* per block: a join is there; something jumps there; per instruction: may wait for another thread */
    const struct ptx_insn *in; uint32_t index;
    uint32_t charge;
    bool bare;                                 /* the next records are not guarded */
    enum status st;
    const char *refused;                       /* an operand that cannot be: the instruction becomes a record that faults */
};

/* decode_rows.c */
enum status decode_rows(struct decoder *d, struct error *err);
/* decode.c */
enum status decode_function_body(struct emu_kernel *k, uint32_t number, const struct code **out, struct error *err);
uint32_t decode_const_row(struct decoder *d, const struct const_desc *k, unsigned width);
bool decode_symbol_desc(struct decoder *d, int32_t sym, uint64_t offset, struct const_desc *out);   /* false: no such address */
struct insn *decode_emit_control(struct decoder *d, handler full, handler masked);    /* carries the charge so far */
void decode_jump(struct decoder *d, const struct insn *record, uint32_t insn);         /* record->imm: distance to that instruction's records */
void decode_meet(struct decoder *d, const struct insn *record);                        /* record->extra: distance to the marker at the branch's post-dominator */
void decode_marker(struct decoder *d);         /* a place where lanes meet */
uint32_t decode_word_rows(struct decoder *d, unsigned n);      /* rows of 4 bytes a lane that keep their values; n in a row */
void decode_convert(struct decoder *d, uint32_t to, unsigned to_width, uint32_t from, unsigned from_width, bool sign);
const struct ptx_var *decode_own_var(const struct decoder *d, int32_t sym, uint32_t *index);   /* NULL: not the function's own */
/* decode_mov.c */
void decode_copy(struct decoder *d, uint32_t to, uint32_t from, unsigned width);
const struct mov_table *mov_handlers_table(void);
struct handlers mov_handlers(unsigned width);
struct handlers convert_handlers(unsigned to, unsigned from, bool sign);
/* decode_call.c */
void decode_pin_own(struct decoder *d);                     /* rows for registers that parameters arrive in and results leave from, as no instruction says */
enum status decode_prologue(struct decoder *d);            /* records before the first instruction */
bool decode_is_parameter(const struct decoder *d, uint32_t own);       /* of a function that is no kernel, in the .param space */
uint32_t decode_param_copy(struct decoder *d, uint32_t own);           /* a parameter with an address lies in local memory: its offset there */
/* decode_mma_group.c: of records from in on, the first of which mma_groups() is true for, how many are a group or stay as they are */
uint32_t decode_mma_group(struct decoder *d, struct insn *in, uint32_t left);
/* decode_fuse.c */
void decode_fuse(struct decoder *d);           /* the records are final but for their handlers */
/* decode_seal.c */
const struct code *decode_seal(struct decoder *d);         /* NULL: no memory */
/* cluster_barrier.c */
enum status decode_cluster_barrier(struct decoder *d, const struct ptx_insn *in);
/* decode_flow.c */
void decode_end(struct decoder *d);            /* the end of the text: as ret */
/* image.c: .global and .const variables declared inside a body are placed when the function is decoded; 0: no storage, or no memory */
uint64_t image_body_variable(struct emu_image *im, uint32_t function, uint32_t own, struct error *err);
/* addressed.c: with the image's lock held; false: no memory */
bool image_addressed(struct emu_image *im, const struct addressed **out);
/* kernel.c */
void kernel_free(struct emu_kernel *k);
uint64_t kernel_shared_key(const struct emu_kernel *k, uint32_t function, int32_t sym);
bool kernel_shared_at(struct emu_kernel *k, uint32_t function, int32_t sym, uint32_t *offset);

#endif
