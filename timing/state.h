/* The state of the model as bytes: a struct is saved whole, but for the members that its table names. So a plain member that is added somewhere is saved without a
 * word about it; a pointer must be in the table, and tests/unit/test_timing_state.c fails while one is not (`suspect`).
 *
 * Loading puts bytes over a struct that was made from the same configuration: arrays are there and keep their place. */
#ifndef HEDDLE_TIMING_STATE_H
#define HEDDLE_TIMING_STATE_H
#include "runtime/base/bytes.h"
#include "timing/model.h"

struct state {
    struct sink *to; struct source *from;      /* one of them: it is saved, or loaded */
    struct timing_gpu *gpu;
    const struct timing_links *links;
    struct sm *sm;                             /* the one that is visited */
    const struct ptx_function **functions; size_t n_functions;     /* that warps execute */
    struct cluster_run **clusters; size_t n_clusters;
    char *room;                                /* for one struct */
    struct error *err;                         /* says more than that the bytes make no sense; status ST_OK: nothing */
    /* For tests: told of each word that is saved as a plain one. */
    void (*suspect)(void *user, const char *type, size_t offset, uint64_t word); void *suspect_user;
};

enum state_kind {
    STATE_HOST,                                /* this process's own, or made from the configuration: kept as it is */
    STATE_ARRAY,                               /* pointer to elements whose number follows from the configuration */
    STATE_GROWN,                               /* pointer to elements whose number changes: of slab_alloc */
    STATE_VECTOR,                              /* VEC() */
    STATE_PART,                                /* a struct with a table of its own, or an array of them */
    STATE_CALL,                                /* what `call` writes and reads in place of it */
};
struct state_type;
struct state_field {
    enum state_kind kind;
    size_t offset, bytes;                      /* bytes of the member */
    size_t element;                            /* bytes of an element */
    size_t (*count)(const struct state *s, const void *owner);     /* elements of ARRAY and GROWN */
    const struct state_type *type;             /* of elements or part; NULL: plain bytes */
    bool (*call)(struct state *s, void *owner, void *member);      /* false: what was read makes no sense, or something cannot be saved */
};
struct state_type { const char *name; size_t bytes; const struct state_field *fields; size_t n; };

bool state_bytes(struct state *s, void *p, size_t n);        /* plain ones; false: it failed, now or before */
bool state_u32(struct state *s, uint32_t *v);
bool state_struct(struct state *s, const struct state_type *t, void *p);
uint64_t state_layout(const struct state_type *t, uint64_t hash);            /* of everything below t */
static inline bool state_loads(const struct state *s) { return s->from != NULL; }

/* state_model.c */
enum status state_save(struct state *s);       /* gpu, links, to and err are set */
extern const struct state_type state_gpu;

#endif
