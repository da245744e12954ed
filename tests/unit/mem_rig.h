/* A warp, a frame and some device memory made by hand: for tests of the memory side that need no kernel. The insn_fault here takes the place of
 * the engine's, so that a test can look at what was reported. */
#ifndef HEDDLE_TESTS_MEM_RIG_H
#define HEDDLE_TESTS_MEM_RIG_H
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/mem.h"
#include "emu/space.h"

enum { RIG_ADDRESS = 1024, RIG_DATA = 2048, RIG_ROW = 512, RIG_SITES = 16, RIG_LOCAL = 1024, RIG_SHARED = 4096, RIG_FRAME = 1 << 15 };

struct rig {
    struct emu_space *space;
    struct emu_grid grid;
    struct emu_cta cta;
    struct ctx c;
    struct warp w;
    struct insn in[2];
    struct emu_event event;
    char *device;                              /* 64 KiB, mapped; the range is [device + 4096, device + 4096 + 8192) unless a test adds others */
    uint64_t lo, hi;
    enum status status;                        /* of the last fault, ST_OK when there was none */
    uint32_t lane;
    char report[1400];
};

static struct rig rig;

const struct insn *insn_fault(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lane, enum status st, const char *fmt, ...)
{
    (void)in;
    (void)c;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(rig.report, sizeof rig.report, fmt, ap);
    va_end(ap);
    rig.status = st;
    rig.lane = lane;
    w->state = WARP_FAULT;
    return NULL;
}

static void rig_range(uint64_t lo, uint64_t hi, bool read_only, const char *what)
{
    struct emu_range r = { .lo = lo, .hi = hi, .read_only = read_only };
    struct error err;
    snprintf(r.what, sizeof r.what, "%s", what);
    ck_assert_msg(emu_space_add(rig.space, &r, &err) == ST_OK, "%s", err.text);
}

static void rig_setup(void)
{
    struct error err;
    memset(&rig, 0, sizeof rig);
    ck_assert_msg(emu_space_create(&rig.space, &err) == ST_OK, "%s", err.text);
    void *at = mmap((void *)(uintptr_t)EMU_HEAP, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    ck_assert(at == (void *)(uintptr_t)EMU_HEAP);
    rig.device = at;
    rig.lo = EMU_HEAP + 4096;
    rig.hi = rig.lo + 8192;
    rig_range(rig.lo, rig.hi, false, "cudaMalloc #3");
    rig.w.frame = aligned_alloc(64, RIG_FRAME);
    memset(rig.w.frame, 0xa5, RIG_FRAME);
    memset(rig.w.frame, 0xff, 4);              /* FRAME_TRUE */
    rig.w.mask = FULL_MASK;
    rig.w.cta = &rig.cta;
    rig.w.local = aligned_alloc(64, WARP_SIZE * RIG_LOCAL);
    memset(rig.w.local, 0, WARP_SIZE * RIG_LOCAL);
    rig.w.local_stride = RIG_LOCAL;
    rig.c.grid = &rig.grid;
    rig.c.cta = &rig.cta;
    rig.c.space = rig.space;
    rig.c.sites = calloc(RIG_SITES, sizeof *rig.c.sites);
    rig.c.n_sites = RIG_SITES;
    mem_sites_flush(&rig.c);
    rig.c.shared = aligned_alloc(64, RIG_SHARED);
    memset(rig.c.shared, 0, RIG_SHARED);
    rig.c.shared_bytes = RIG_SHARED;
    rig.cta.shared = rig.c.shared;
    rig.cta.shared_bytes = RIG_SHARED;
    rig.cta.live_threads = 32;
    rig.grid.launch.block[0] = 8;
    rig.grid.launch.block[1] = 4;
    rig.grid.launch.block[2] = 1;
}

static void rig_teardown(void)
{
    emu_space_free(rig.space);
    munmap(rig.device, 65536);
    free(rig.w.frame);
    free(rig.w.local);
    free(rig.c.sites);
    free(rig.c.shared);
}

/* The address of each lane, in the record's form. */
static inline void rig_address(uint32_t extra, uint32_t lane, uint64_t x)
{
    if (MEM_FORM(extra) == MEM_ROW32)
        ((uint32_t *)row(&rig.w, RIG_ADDRESS))[lane] = (uint32_t)x;
    else
        ((uint64_t *)row(&rig.w, RIG_ADDRESS))[lane] = x;
}

/* Runs a record as the engine would: `full` when all lanes are there. */
static inline bool rig_run(struct mem_handlers h, uint32_t mask)
{
    rig.w.mask = mask;
    rig.w.state = WARP_RUN;
    rig.status = ST_OK;
    rig.report[0] = 0;
    const struct insn *next = (mask == FULL_MASK ? h.full : h.masked)(rig.in, &rig.w, &rig.c);
    ck_assert((next == rig.in + 1) == (rig.status == ST_OK));
    return next != NULL;
}

static inline int rig_main(Suite *s)
{
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_ENV);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed != 0;
}

#endif
