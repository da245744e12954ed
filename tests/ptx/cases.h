/* The case files of tests/ptx: what they say (README.md tells the format), and the PTX made of them.
 * Plain C and libc alone: the runner is built on machines that have a GPU and nothing of Heddle.
 * Everything read stays allocated to the end of the program. Errors are printed as file:line: message; the program ends with status 2. */
#ifndef HEDDLE_TESTS_PTX_CASES_H
#define HEDDLE_TESTS_PTX_CASES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/ptx/images.h"

struct type {                          /* of an input or output */
    const char *name, *reg;            /* as in the file; the type of its register */
    const char *move;                  /* the type of the load and the store */
    unsigned bytes;                    /* in memory, and of a value in a row (2 digits each) */
    unsigned lanes;                    /* floats in it; 0 when it is none */
    unsigned exponent, fraction;       /* bits of each float */
};

struct field {                         /* one value of a row */
    char *name;                        /* without the %; an array a[4] makes a0 .. a3 */
    const struct type *type;
    unsigned offset;                   /* in the record of a thread */
};

enum expect { EXPECT_BITS, EXPECT_ANY, EXPECT_UNSET };
struct value {
    enum expect expect;
    uint64_t bits[2], care[2];         /* low word first; bits that are not in care do not matter */
    unsigned nan;                      /* bit i: float i of it (the lowest first) must be a NaN, whichever */
};

struct row { struct value *in, *out; unsigned line; };

enum oracle { ORACLE_ISA, ORACLE_PTXAS, ORACLE_EXACT, ORACLE_BOUND, ORACLE_COUNT };
extern const char *const oracle_names[ORACLE_COUNT];
enum { BOUND_ULP, BOUND_REL, BOUND_ABS, BOUND_COUNT };

struct bytes { uint8_t *at, *care; size_t size; };

struct test {
    const char *file, *name, *code;
    const char *target, *decl, *entry; /* sm_80; module-level text or NULL; directives of the entry or NULL */
    const char *map;                   /* the tensormap line, see map.h; NULL: there is none */
    const char *fault;                 /* name of the CUDA error that the launch ends with, or NULL */
    const char *note;                  /* what follows the oracle */
    unsigned version, line;            /* 90 = PTX ISA 9.0 */
    enum oracle oracle;
    double bound[BOUND_COUNT];         /* 0 where not given */
    struct field *in, *out;
    unsigned n_in, n_out, in_stride, out_stride;
    struct row *rows;
    unsigned n_rows;
    unsigned grid[3], block[3], cluster[3], shared;
    bool block_given;
    struct bytes buffer, expect;       /* expect.at compared where expect.care is 255 */
    bool has_buffer, has_after;        /* after: some surface is looked at in the end */
    struct image images[IMAGES];       /* textures and surfaces */
    unsigned n_images;
};

/* Appends the cases of a file to *tests. */
void cases_read(const char *path, struct test **tests, size_t *n);
unsigned case_threads(const struct test *t);
/* Whether what a thread does depends on its inputs alone: not on its number, the other threads, memory or a device variable. */
bool case_is_lanewise(const struct test *t);

/* A module of several cases; the kernel of tests[i] is called c<i - first>. They have target and version in common. */
char *cases_ptx(const struct test *tests, size_t first, size_t count);

/* A kernel c<i>, without a module's head, that does what case i does on constants instead of inputs: one row after the other, output k of
 * row r at p + 32 * (r * n_out + k). For a compiler that folds. */
char *case_ptx_constant(const struct test *tests, size_t i);

/* A value as bytes, and bytes as a value. */
void value_store(const struct field *f, const struct value *v, uint8_t *at);
void value_load(const struct field *f, const uint8_t *at, uint64_t bits[2]);
/* Whether got is what v asks for; unset holds what an untouched output has. */
bool value_agrees(const struct test *t, const struct field *f, const struct value *v, const uint64_t got[2], uint8_t unset);

/* p, which is no NULL: without memory the program says so and ends. */
void *cases_must(void *p);

#endif
