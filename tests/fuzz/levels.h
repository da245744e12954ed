/* Runs random programs on every level of host vector instructions, under both divergence policies and all ways to decode, all threads at once and one by
 * one, and compares all registers bit by bit. A level belongs to a process, so each has a child of its own. */
#ifndef HEDDLE_TESTS_FUZZ_LEVELS_H
#define HEDDLE_TESTS_FUZZ_LEVELS_H
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/emu.h"
#include "emu/isa.h"
#include "tests/fuzz/random_ptx.h"

enum { LEVELS_BATCH = 32, LEVELS_WAYS = 9, LEVELS_ALONE = 8 /* the way in which threads run one by one */, LEVELS_MEMORY = 1 << 20, LEVELS_MOST_INSNS = 1 << 22 };
static const char *const level_words[ISA_COUNT] = { "base", "avx2", "avx512" };

struct level_result {                          /* of one program on one level */
    bool ran;                                  /* else the child died in it */
    int bad;                                   /* a way to run it that failed or differs from way 0, or -1 */
    uint64_t out[RANDOM_THREADS * RANDOM_WORDS], other[RANDOM_THREADS * RANDOM_WORDS];     /* of way 0; of the bad one */
    char said[700];                            /* a fault's report */
};
struct level_results { struct level_result of[ISA_COUNT][LEVELS_BATCH]; };

struct level_device { struct emu_space *space; struct emu_worker *worker; char *memory; };

static inline bool level_open(struct level_device *d)
{
    struct error err;
    struct emu_range r = { .lo = EMU_HEAP, .hi = EMU_HEAP + LEVELS_MEMORY, .what = "out" };
    if (emu_space_create(&d->space, &err) != ST_OK || emu_worker_create(&d->worker, &err) != ST_OK) return false;
    d->memory = mmap((void *)(uintptr_t)EMU_HEAP, LEVELS_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return d->memory != MAP_FAILED && emu_space_add(d->space, &r, &err) == ST_OK;
}

static inline enum status level_place(void *user, const struct ptx_var *v, uint64_t *address, struct error *err)
{
    (void)user, (void)v, (void)address;
    return error_set(err, ST_NOT_SUPPORTED, "the programs have no variables");
}

static inline enum status level_launch(struct level_device *d, struct emu_kernel *k, unsigned threads, unsigned one, unsigned way, struct level_result *r,
                                       struct error *err)
{
    struct { uint64_t out; uint32_t one, unused; } params = { .out = EMU_HEAP, .one = one };
    struct emu_launch l = { .grid = { 1, 1, 1 }, .block = { threads, 1, 1 }, .cluster = { 1, 1, 1 }, .params = &params, .param_bytes = 12, .n_sm = 4,
                            .max_warps_per_sm = 64, .sm = 100, .max_shared_bytes = 227 * 1024, .stack_bytes = 4096, .policy = way & 1 ? EMU_STACK : EMU_ITS };
    struct emu_grid *g;
    struct emu_cta *cta;
    enum status st = emu_grid_create(&g, k, &l, err);
    if (st != ST_OK) return st;
    st = emu_cta_start(&cta, g, d->worker, 0, 0, err);
    if (st == ST_OK) {
        enum emu_result how = emu_cta_run(cta, d->worker, LEVELS_MOST_INSNS);
        if (how == EMU_FAULT) snprintf(r->said, sizeof r->said, "%.*s", (int)sizeof r->said - 1, emu_worker_fault(d->worker)->report);
        if (how != EMU_DONE) st = error_set(err, ST_LAUNCH_FAILED, "%s", how == EMU_FAULT ? r->said : "it does not end");
        emu_cta_free(cta, d->worker);
    }
    emu_grid_free(g);
    return st;
}

/* way: bit 0 the policy, bits 1 and 2 as emu_image_tune; or LEVELS_ALONE. */
static inline enum status level_run(struct level_device *d, const char *text, unsigned threads, unsigned way, struct level_result *r, struct error *err)
{
    struct ptx_module *m;
    struct emu_image *image;
    struct emu_kernel *k;
    enum status st = ptx_module_open(&m, "random", text, strlen(text), err);
    if (st != ST_OK) return st;
    st = emu_image_create(&image, m, d->space, level_place, NULL, err);
    if (st == ST_OK) {
        emu_image_tune(image, way & 2, way & 4);
        st = emu_kernel_get(&k, image, 0, err);
        for (unsigned t = 0; t < threads && st == ST_OK && way == LEVELS_ALONE; t++) st = level_launch(d, k, threads, t, way, r, err);
        if (st == ST_OK && way != LEVELS_ALONE) st = level_launch(d, k, threads, UINT32_MAX, way, r, err);
        emu_image_free(image);
    }
    ptx_module_free(m);
    return st;
}

static inline void level_program(struct level_device *d, uint64_t seed, const bool *drop, struct level_result *r)
{
    static struct random_program g;
    static uint64_t in[RANDOM_THREADS * RANDOM_WORDS];
    random_program(&g, seed, drop);
    unsigned threads = random_inputs(seed, in);
    r->bad = -1;
    r->said[0] = 0;
    for (unsigned way = 0; way < LEVELS_WAYS && r->bad < 0; way++) {
        struct error err = { 0 };
        memset(d->memory, 0xcc, sizeof r->out);
        memcpy(d->memory + RANDOM_INPUT, in, sizeof in);
        enum status st = level_run(d, g.text, threads, way, r, &err);
        memcpy(way ? r->other : r->out, d->memory, sizeof r->out);
        if (st != ST_OK) {
            r->bad = (int)way;
            snprintf(r->said, sizeof r->said, "%.*s", (int)sizeof r->said - 1, err.text);
        } else if (way && memcmp(r->other, r->out, sizeof r->out) != 0) {
            r->bad = (int)way;
        }
    }
    r->ran = true;
}

/* Programs seed .. seed + n - 1 on a level. */
static inline bool level_batch(int level, uint64_t seed, unsigned n, const bool *drop, struct level_results *all)
{
    for (unsigned i = 0; i < n; i++) all->of[level][i].ran = false;
    pid_t child = fork();
    if (child < 0) return false;
    if (child == 0) {
        struct level_device d;
        setenv("HEDDLE_ISA", level_words[level], 1);
        if (!level_open(&d)) _exit(2);
        for (unsigned i = 0; i < n; i++) level_program(&d, seed + i, drop, &all->of[level][i]);
        _exit(0);
    }
    int status;
    return waitpid(child, &status, 0) == child && (!WIFEXITED(status) || WEXITSTATUS(status) != 2);
}

static inline bool level_results_agree(const struct level_results *all, unsigned i)
{
    for (int level = 0; level < ISA_COUNT; level++) {
        const struct level_result *r = &all->of[level][i];
        if (!isa_usable(level)) continue;
        if (!r->ran || r->bad >= 0 || memcmp(r->out, all->of[ISA_BASE][i].out, sizeof r->out) != 0) return false;
    }
    return true;
}

static inline bool levels_agree(uint64_t seed, const bool *drop, struct level_results *all)
{
    for (int level = 0; level < ISA_COUNT; level++) if (isa_usable(level) && !level_batch(level, seed, 1, drop, all)) return false;
    return level_results_agree(all, 0);
}

static inline void level_tell_difference(const char *what, const uint64_t *a, const uint64_t *b)
{
    unsigned shown = 0;
    for (unsigned t = 0; t < RANDOM_THREADS; t++)
        for (unsigned k = 0; k < RANDOM_WORDS; k++) {
            unsigned at = t * RANDOM_WORDS + k;
            if (a[at] != b[at] && shown++ < 6)
                printf("  %s: thread %u %%%c%u: 0x%llx, not 0x%llx\n", what, t, "hrdp"[k / RANDOM_REGS], k % RANDOM_REGS, (unsigned long long)b[at],
                       (unsigned long long)a[at]);
        }
}

/* Leaves out every step that the disagreement does not need, and prints what remains. */
static inline void levels_explain(uint64_t seed, struct level_results *all)
{
    static struct random_program g;
    bool drop[RANDOM_STEPS] = { false };
    random_program(&g, seed, NULL);
    unsigned steps = g.steps < RANDOM_STEPS ? g.steps : RANDOM_STEPS;
    for (unsigned i = 0; i < steps; i++) {
        drop[i] = true;
        if (levels_agree(seed, drop, all)) drop[i] = false;
    }
    (void)levels_agree(seed, drop, all);
    random_program(&g, seed, drop);
    printf("seed %llu:\n%s", (unsigned long long)seed, g.text);
    for (int level = 0; level < ISA_COUNT; level++) {
        const struct level_result *r = &all->of[level][0];
        if (!isa_usable(level)) continue;
        if (!r->ran) printf("  %s: died\n", level_words[level]);
        else if (r->said[0]) printf("  %s, way %d: %s\n", level_words[level], r->bad, r->said);
        else if (r->bad >= 0) printf("  %s, way %d against way 0\n", level_words[level], r->bad);
        if (r->ran && r->bad > 0 && !r->said[0]) level_tell_difference(level_words[level], r->out, r->other);
        level_tell_difference(level_words[level], all->of[ISA_BASE][0].out, r->out);
    }
    fflush(stdout);
}

/* n programs from seed on. How many disagree; the first `tell` of them are explained. -1: no host resources. */
static inline int levels_round(uint64_t seed, unsigned n, unsigned tell)
{
    struct level_results *all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || !ptx_isa_init(NULL)) return -1;
    int wrong = 0;
    for (unsigned at = 0; at < n && wrong >= 0; at += LEVELS_BATCH) {
        unsigned count = n - at < LEVELS_BATCH ? n - at : LEVELS_BATCH;
        bool fine[LEVELS_BATCH], ran = true;
        for (int level = 0; level < ISA_COUNT; level++) ran &= !isa_usable(level) || level_batch(level, seed + at, count, NULL, all);
        for (unsigned i = 0; i < count; i++) fine[i] = level_results_agree(all, i);
        for (unsigned i = 0; i < count && ran; i++)
            if (!fine[i] && (unsigned)++wrong <= tell) levels_explain(seed + at + i, all);
        if (!ran) wrong = -1;
    }
    munmap(all, sizeof *all);
    return wrong;
}

/* "base and avx2; avx512: not on this host" */
static inline const char *levels_text(void)
{
    static char text[100];
    size_t n = 0;
    for (int level = 0; level < ISA_COUNT; level++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s%s", level ? ", " : "", level_words[level], isa_usable(level) ? "" : " (skipped: not on this host)");
    return text;
}

#endif
