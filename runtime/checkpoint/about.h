/* The first section of a checkpoint: facts in words, for `heddle info`, and for the launcher before it starts anything. */
#ifndef HEDDLE_RUNTIME_CHECKPOINT_ABOUT_H
#define HEDDLE_RUNTIME_CHECKPOINT_ABOUT_H
#include "runtime/checkpoint/file.h"

struct checkpoint_about {
    struct { char name[32], value[4200]; } fact[16];    /* in the order in which they are told */
    uint32_t n, devices;
};
enum status checkpoint_about(struct checkpoint_about *out, struct hck_reader *r, struct error *err) MUST_CHECK;
const char *about_fact(const struct checkpoint_about *a, const char *name);    /* "": it is not there */

#endif
