/* Loads, stores and atomics: what the files of the memory side share.
 *
 * A memory record: a = address row, imm = offset (int64_t) or the whole address, d b c target = data rows (a vector has up to
 * four; a .v8 keeps them in a struct mem_wide that imm points at), extra = MEM_* fields below, site = range cache.
 *
 * Two layers. emu/isa_mem.c has the fast handlers, one per (space, address form, size, vector), which know contiguous and
 * uniform addresses; whatever they cannot prove harmless they hand to mem_lanes (emu/mem.c), which takes lane by lane, checks
 * everything, reports faults exactly and fills stepping events. */
#ifndef HEDDLE_EMU_MEM_H
#define HEDDLE_EMU_MEM_H
#include "emu/engine.h"

enum mem_space { MEM_GLOBAL, MEM_SHARED, MEM_LOCAL, MEM_GENERIC, MEM_PARAM };    /* const is global that decode keeps from being stored to */
enum mem_form { MEM_ROW64, MEM_ROW32, MEM_FIXED };                               /* address row of 8 or 4 bytes a lane; no row, imm is all */
enum mem_kind { MEM_U8, MEM_S8, MEM_16, MEM_32, MEM_64, MEM_128, MEM_KINDS };    /* element in memory; rows hold 2 2 2 4 8 16 bytes a lane */

/* Fields of insn.extra. */
#define MEM_KIND(x)   ((x) & 7u)
#define MEM_LOGVEC(x) ((x) >> 3 & 3u)
#define MEM_SPACE(x)  ((x) >> 5 & 7u)
#define MEM_FORM(x)   ((x) >> 8 & 3u)
#define MEM_STORE     (1u << 10)
#define MEM_STRONG    (1u << 11)               /* volatile, relaxed, acquire, release, mmio */
#define MEM_ATOMIC    (1u << 12)
#define MEM_WIDE      (1u << 13)               /* imm points at a struct mem_wide: .v8, and vector atomics */
#define MEM_KNOWN     (1u << 14)               /* the address row has a struct mem_shape */
#define MEM_EXTRA(kind, logvec, space, form, flags) \
    ((uint32_t)(kind) | (uint32_t)(logvec) << 3 | (uint32_t)(space) << 5 | (uint32_t)(form) << 8 | (uint32_t)(flags))

/* What is known of a row of addresses: written behind every definition of a register that several accesses use as their base, so that they need not look
 * at the row. Only ever true of a row that all 32 lanes wrote at once; a definition under a partial mask makes it unknown. 64 bytes of the frame. */
enum { SHAPE_GROUP = 8 };                      /* lanes; each group of a known row has a start of its own and the common step */
struct mem_shape {
    uint64_t lo;                               /* lowest address of the row */
    uint32_t span;                             /* highest address of the row - lo */
    uint32_t at[4];                            /* first address of each group - lo */
    uint8_t dense, same;                       /* access sizes (1 | 2 | 4 | 8 | 16) to which the row is aligned and for which lanes are side by side in each
                                                  group, or all at one address; both 0: nothing is known */
    bool whole;                                /* the step holds between groups too */
};
_Static_assert(sizeof(struct mem_shape) <= 64, "a shape has 64 bytes of the frame");

struct mem_wide { int64_t offset; uint32_t rows[8], operands[8]; };

static inline unsigned mem_kind_bytes(unsigned kind) { return kind < MEM_16 ? 1 : 1u << (kind - 1); }
static inline unsigned mem_row_bytes(unsigned kind) { return kind < MEM_16 ? 2 : 1u << (kind - 1); }
static inline unsigned mem_access_bytes(uint32_t extra) { return mem_kind_bytes(MEM_KIND(extra)) << MEM_LOGVEC(extra); }

/* Turns the lanes of mask into host pointers and returns true; or faults and returns false. bytes is the size and alignment of the whole
 * access per lane. addr receives the addresses as the record's space counts them. Fills the stepping event. Lanes outside mask are untouched. */
bool mem_resolve(const struct insn *in, struct warp *w, struct ctx *c, uint32_t mask, unsigned bytes, char *at[WARP_SIZE]);

/* An address operand of an instruction that has several: they do not all fit into the record. */
struct mem_place { int64_t offset; uint32_t row; uint16_t site; uint8_t space, form; /* enum mem_space, enum mem_form */ bool store; };
/* As mem_resolve, for the place; in is the record that a fault names. */
bool mem_place_resolve(const struct insn *in, const struct mem_place *p, struct warp *w, struct ctx *c, uint32_t mask, unsigned bytes, char *at[WARP_SIZE]);
/* The lane's address as the place's space counts it. */
uint64_t mem_place_address(const struct mem_place *p, const struct warp *w, uint32_t lane);
/* Host pointer to `bytes` (at least 1) at `address` of the place's space, a multiple of align, as lane sees them; or faults and returns NULL. */
char *mem_span(const struct insn *in, const struct mem_place *p, struct warp *w, struct ctx *c, uint32_t lane, uint64_t address, uint32_t bytes, unsigned align);

/* Load of a kernel parameter at a fixed offset. */
const struct insn *mem_param(const struct insn *in, struct warp *w, struct ctx *c);
/* Stepping: fills the event of a load or store whose addresses say it all. False: only mem_lanes can, which also does what the event calls for. */
bool mem_describe(const struct insn *in, const struct warp *w, struct ctx *c);
/* The load or store of any record, lane by lane; full and masked form. */
const struct insn *mem_lanes(const struct insn *in, struct warp *w, struct ctx *c);

/* One checked access of n bytes from generic address `address` as lane `lane` sees it (device built-ins): host pointer, and in *room how many bytes may be
 * touched from there. NULL: no such memory (nothing is reported). */
char *mem_at(struct warp *w, struct ctx *c, uint32_t lane, uint64_t address, bool store, uint64_t *room);

/* Empties the range caches: after a range went away. */
void mem_sites_flush(struct ctx *c);

struct mem_handlers { handler full, masked; };
/* The fast handlers for a load or store with these fields, or mem_lanes. */
struct mem_handlers mem_handlers_of(uint32_t extra);
struct mem_handlers mem_shape_handlers(unsigned width);    /* of the address row: 4 or 8 */

/* Tables of emu/isa_mem.c, one per ISA level: [store][space 0..2][form][kind][log vector]; NULL where there is no fast handler. */
typedef struct mem_handlers mem_table[2][3][3][MEM_KINDS][3];
extern const mem_table mem_table_base, mem_table_avx2, mem_table_avx512;
/* For addresses whose shape is known; spaces global and shared only. */
typedef struct mem_handlers mem_known_table[2][2][2][MEM_KINDS][3];
extern const mem_known_table mem_known_base, mem_known_avx2, mem_known_avx512;
/* Writes the shape (d) of the address row (a): of 4-byte and of 8-byte rows. */
extern const struct mem_handlers mem_shape_base[2], mem_shape_avx2[2], mem_shape_avx512[2];

#endif
