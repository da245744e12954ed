/* Which program a checkpoint belongs to, and what it saw: what must be the same when it is run again. */
#ifndef HEDDLE_RUNTIME_CHECKPOINT_PROGRAM_H
#define HEDDLE_RUNTIME_CHECKPOINT_PROGRAM_H
#include "runtime/base/bytes.h"
#include "runtime/base/error.h"
#include "runtime/knobs.h"

struct program {
    char path[1024];                           /* of the executable */
    uint64_t hash, bytes;                      /* of its contents; 0: unknown */
    char *args; uint32_t args_bytes;           /* argv[1] and the following, each with its NUL. Owned */
    char gpu[64];                              /* as the setting gpu has it */
    uint32_t devices;
    bool visible_set; char visible[256];       /* CUDA_VISIBLE_DEVICES */
};

/* The calling process. ST_OUT_OF_MEMORY; what cannot be found out is left empty. */
enum status program_self(struct program *out, const struct rt_knobs *knobs, struct error *err) MUST_CHECK;
/* One that would be run: `path` with argv (NULL at the end). */
enum status program_of(struct program *out, const char *path, char **argv, struct error *err) MUST_CHECK;
void program_free(struct program *p);
void program_put(const struct program *p, struct sink *to);
enum status program_get(struct program *p, struct source *from, struct error *err) MUST_CHECK;    /* ST_INVALID_VALUE: it makes no sense */
/* Whether `now` can take the place of `then`: the same executable and arguments. ST_INVALID_VALUE: no, err says what differs. */
enum status program_compare(const struct program *then, const struct program *now, struct error *err) MUST_CHECK;

#endif
