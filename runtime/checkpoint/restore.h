/* What resume.c (without the program) and restore.c (both ways) share. */
#ifndef HEDDLE_RUNTIME_CHECKPOINT_RESTORE_H
#define HEDDLE_RUNTIME_CHECKPOINT_RESTORE_H
#include "runtime/checkpoint/file.h"
#include "runtime/dispatch.h"

struct saved_launch {
    uint64_t stream;                           /* its id then */
    uint32_t module, function;                 /* number in the file's list of modules; of the function in it */
    char name[1024];
    uint32_t grid[3], block[3], cluster[3], dynamic_shared_bytes, param_bytes;
    bool explicit_cluster, cooperative, begun;
    uint64_t params;
    struct grid_state at;                      /* begun: without its functions */
};

/* Each reads one section whole. */
enum status restore_ranges(struct hck_reader *r, struct error *err) MUST_CHECK;       /* those that are not there yet; contexts must be */
enum status restore_device(struct hck_reader *r, struct error *err) MUST_CHECK;       /* state of contexts, textures that are not there, clocks */
enum status restore_memory(struct hck_reader *r, struct error *err) MUST_CHECK;
/* All launches, malloc'd; *n of them. */
enum status restore_launches(struct hck_reader *r, struct saved_launch **out, size_t *n, struct error *err) MUST_CHECK;
/* Begins one that had begun: o and stream are filled in. path: the file, read once more as its blocks are wanted; which: how many of the launches before it had begun. */
enum status restore_grid(struct op *op, const struct saved_launch *l, const char *path, size_t which, struct error *err) MUST_CHECK;
struct rt_context *restore_context(uint64_t id);        /* NULL: there is none */
void restore_map_context(uint64_t id, struct rt_context *c);      /* without the program: whose place it takes */

#endif
