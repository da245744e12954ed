/* A simulated GPU that is saved between two windows and goes on in another one, made of the same configuration with another number of host threads, ends with the same
 * cycles and statistics; and nothing that is saved as a plain word points into this process. */
#include <inttypes.h>

#include "emu/snapshot.h"
#include "tests/unit/sim_run.h"
#include "tests/unit/suite.h"
#include "timing/state.h"

static struct { char *at; size_t n, room; } saved, blocks;
static struct { uint64_t lo, hi; } maps[4096];
static unsigned n_maps;
static char found[200];
static struct emu_grid *grid;
static struct bytes block_bytes;

static bool keep(void *user, const void *p, size_t n)
{
    __typeof__(saved) *to = user;
    if (to->n + n > to->room) {
        to->room = (to->n + n) * 2;
        to->at = realloc(to->at, to->room);
        ck_assert_ptr_nonnull(to->at);
    }
    memcpy(to->at + to->n, p, n);
    to->n += n;
    return true;
}

/* ---- pointers ---- */

static void read_maps(void)
{
    char line[600];
    FILE *f = fopen("/proc/self/maps", "r");
    ck_assert_ptr_nonnull(f);
    for (n_maps = 0; n_maps < 4096 && fgets(line, sizeof line, f);)
        n_maps += sscanf(line, "%" SCNx64 "-%" SCNx64, &maps[n_maps].lo, &maps[n_maps].hi) == 2;
    fclose(f);
}

static void suspect(void *user, const char *type, size_t offset, uint64_t word)
{
    (void)user;
    if (word >= EMU_BASE && word < EMU_BASE + EMU_SPAN) return;        /* the device's own addresses */
    for (unsigned i = 0; i < n_maps && !*found; i++)
        if (word >= maps[i].lo && word < maps[i].hi)
            snprintf(found, sizeof found, "%s, word at %zu: %#" PRIx64 " points into this process and is not in the table of its type (timing/state_model.c)", type, offset, word);
}

START_TEST(pointers_are_found)
{
    struct holder { uint64_t plain; void *pointer; } h = {7, malloc(1)};
    static const struct state_field fields[] = {{.kind = STATE_HOST, .offset = offsetof(struct holder, pointer), .bytes = sizeof h.pointer}};
    const struct state_type careless = {"holder", sizeof h, NULL, 0}, careful = {"holder", sizeof h, fields, 1};
    char room[sizeof h];
    struct sink to = {.write = keep, .user = &saved};
    struct state s = {.to = &to, .room = room, .suspect = suspect};
    read_maps();
    *found = 0;
    ck_assert(state_struct(&s, &careful, &h) && !*found);
    ck_assert(state_struct(&s, &careless, &h) && *found);
    *found = 0;
    ck_assert(state_layout(&careless, 0) != state_layout(&careful, 0));
    free(h.pointer);
}
END_TEST

/* ---- moving ---- */

static uint32_t kernel_number(void *user, const void *kernel) { (void)user; ck_assert_ptr_eq(kernel, &grid); return 0; }

static bool function_number(void *user, const struct ptx_function *f, uint32_t number[2])
{
    (void)user;
    number[1] = (uint32_t)(f - run.m->functions);
    return true;
}

static bool kernel(void *user, uint32_t number, struct timing_kernel_spec *spec)
{
    (void)user;
    spec->grid = grid;
    spec->name = "k";
    spec->user = &grid;
    return number == 0;
}

static const struct ptx_function *function(void *user, const uint32_t number[2]) { (void)user; return &run.m->functions[number[1]]; }

static struct emu_cta *resident(void *user, const void *k, struct emu_worker *w)
{
    (void)user, (void)k;
    struct error err;
    struct emu_cta *cta;
    struct source from = bytes_source(&block_bytes);
    ck_assert_msg(emu_cta_restore(&cta, grid, w, UINT32_MAX, &from, &err) == ST_OK, "%s", err.text);
    return cta;
}

static const struct timing_links links = {NULL, kernel_number, function_number, kernel, function, resident};

static struct timing_gpu *move(struct timing_gpu *g, unsigned threads)
{
    struct error err = {0};
    struct emu_cta *cta;
    struct sink state_sink = {.write = keep, .user = &saved}, block_sink = {.write = keep, .user = &blocks};
    saved.n = blocks.n = 0;
    for (uint64_t i = 0; (cta = timing_kernel_resident(g, &grid, i)); i++) emu_cta_save(cta, run.worker, &block_sink);
#ifndef __SANITIZE_ADDRESS__                   /* it maps so much that counters look like pointers */
    read_maps();
#endif
    *found = 0;
    ck_assert_msg(state_save(&(struct state){.gpu = g, .links = &links, .to = &state_sink, .err = &err, .suspect = suspect}) == ST_OK, "%s", err.text);
    ck_assert_msg(!*found, "%s", found);
    timing_gpu_free(g);
    g = sim_gpu(threads);
    struct bytes b = {saved.at, saved.n};
    struct source from = bytes_source(&b);
    block_bytes = (struct bytes){blocks.at, blocks.n};
    ck_assert_msg(timing_gpu_load(g, &links, &from, &err) == ST_OK, "%s", err.text);
    ck_assert(b.n == 0 && block_bytes.n == 0);
    return g;
}

static unsigned windows, next_halt;
static bool halt(void *user) { (void)user; return ++windows == next_halt; }

/* To the end; every so many windows in another GPU. 0: never. */
static struct outcome run_moved(uint32_t ctas, uint32_t threads, uint64_t n, unsigned every)
{
    struct outcome o;
    struct timing_kernel_result r;
    enum timing_stop stop;
    unsigned moves = 0;
    run_open(text);
    emu_image_late(run.image);
    struct timing_gpu *g = sim_gpu(1);
    uint64_t params[2] = {(uint64_t)(uintptr_t)run.out, n};
    struct error err;
    run.launch.params = params;
    run.launch.param_bytes = sizeof params;
    run.launch.grid[0] = ctas;
    run.launch.block[0] = threads;
    run.launch.n_sm = 80;
    run.launch.parallel = true;
    ck_assert_msg(emu_grid_create(&grid, run_get("k"), &run.launch, &err) == ST_OK, "%s", err.text);
    struct timing_kernel_spec spec = {.grid = grid, .name = "k", .grid_dim = {ctas, 1, 1}, .block_dim = {threads, 1, 1}, .threads = threads, .cluster = cluster, .regs = 16, .user = &grid};
    ck_assert_msg(timing_kernel_start(g, &spec, &err) == ST_OK, "%s", err.text);
    windows = 0;
    next_halt = every;
    do {
        timing_gpu_halt(g, halt, NULL);
        stop = timing_gpu_run(g, 100000000);
        if (stop == TIMING_HALTED) {
            g = move(g, getenv("ONE") ? 1 : 1 + moves % 3); moves++;
            next_halt = windows + every;
        }
    } while (stop == TIMING_HALTED);
    ck_assert_int_eq(stop, TIMING_KERNEL_ENDED);
    ck_assert(timing_kernel_take(g, &r));
    ck_assert(every == 0 || moves > 0);
    o.cycles = r.ended - r.started;
    o.thread_insns = r.thread_insns;
    timing_gpu_stats(g, &o.s);
    timing_gpu_free(g);
    emu_grid_free(grid);
    return o;
}

static void compare(uint32_t ctas, uint32_t threads, uint64_t n)
{
    static const unsigned every[] = {3, 7};
    static uint32_t memory[RUN_BYTES / 4];
    struct outcome want = run_moved(ctas, threads, n, 0);
    memcpy(memory, run.out, sizeof memory);
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        struct outcome got = run_moved(ctas, threads, n, every[i]);
        ck_assert_uint_eq(got.cycles, want.cycles);
        ck_assert_uint_eq(got.thread_insns, want.thread_insns);
        ck_assert_mem_eq(&got.s, &want.s, sizeof want.s);
        ck_assert_mem_eq(memory, run.out, sizeof memory);
    }
}

/* Something of everything that an SM and a channel have: misses, fills and write-backs, barriers, atomics with and without a result, calls, constants, divergence. */
START_TEST(a_moved_gpu_goes_on)
{
    static const char *const parts[] = {"v100", "a100", "rtx2060"}, *const policies[] = {"gto", "two_level", "lrr"};
    part = parts[_i];
    set("sm.clusters", "4");
    set("issue.policy", policies[_i]);
    set("rf.model", _i == 1 ? "detailed" : "simple");
    snprintf(text, sizeof text, PTX_HEAD
        ".const .align 4 .b32 table[64] = {1, 2, 3};\n"
        ".visible .func (.param .b32 r) twice(.param .b32 a)\n{\n.reg .b32 %%x<3>;\nld.param.b32 %%x1, [a]; add.u32 %%x2, %%x1, %%x1; st.param.b32 [r], %%x2; ret;\n}\n"
        ".visible .entry k(.param .u64 out, .param .u64 n) {\n.reg .b64 %%rd<12>; .reg .b32 %%r<30>; .reg .f64 %%d<4>; .reg .pred %%p<3>; .shared .align 4 .b32 s[128];\n"
        "ld.param.u64 %%rd1, [out]; ld.param.u64 %%rd2, [n]; cvt.u32.u64 %%r1, %%rd2; mov.u32 %%r2, %%tid.x; mov.u32 %%r3, %%ctaid.x; mov.u32 %%r20, %%ntid.x;\n"
        "mad.lo.u32 %%r4, %%r3, %%r20, %%r2;\n"
        "L: mad.lo.u32 %%r5, %%r1, 977, %%r4; and.b32 %%r5, %%r5, 0x3ffff; mul.wide.u32 %%rd3, %%r5, 4; add.s64 %%rd3, %%rd1, %%rd3; ld.global.u32 %%r6, [%%rd3];\n"
        "mov.u32 %%r7, s; mad.lo.u32 %%r8, %%r2, 4, %%r7; st.shared.u32 [%%r8], %%r6; bar.sync 0;\n"
        "add.u32 %%r9, %%r2, 33; and.b32 %%r9, %%r9, 127; mad.lo.u32 %%r9, %%r9, 4, %%r7; ld.shared.u32 %%r10, [%%r9];\n"
        "and.b32 %%r11, %%r5, 255; mul.wide.u32 %%rd4, %%r11, 4; add.s64 %%rd4, %%rd1, %%rd4; add.u32 %%r10, %%r10, 1; atom.global.add.u32 %%r12, [%%rd4], %%r10;\n"
        "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %%r12; call (b), twice, (a); ld.param.b32 %%r13, [b]; }\n"
        "and.b32 %%r14, %%r13, 63; mov.u32 %%r15, table; mad.lo.u32 %%r15, %%r14, 4, 0; mov.u64 %%rd5, table; cvt.u64.u32 %%rd6, %%r15; add.s64 %%rd5, %%rd5, %%rd6; ld.const.u32 %%r16, [%%rd5];\n"
        "cvt.rn.f64.u32 %%d1, %%r16; fma.rn.f64 %%d2, %%d1, %%d1, %%d1; cvt.rzi.u32.f64 %%r17, %%d2;\n"
        "and.b32 %%r18, %%r2, %%r1; and.b32 %%r18, %%r18, 1; setp.eq.u32 %%p1, %%r18, 0; @%%p1 bra M; add.u32 %%r17, %%r17, 5; st.global.u32 [%%rd3], %%r17;\n"
        "M: bar.sync 0; red.global.add.u32 [%%rd4+1024], 1; ld.volatile.global.u32 %%r19, [%%rd4+2048]; add.u32 %%r4, %%r4, %%r19;\n"
        "add.s32 %%r1, %%r1, -1; setp.ne.s32 %%p2, %%r1, 0; @%%p2 bra L;\nst.global.u32 [%%rd3], %%r17; red.global.add.u32 [%%rd4], %%r2; ret;\n}\n");
    compare(24, 128, 3);
}
END_TEST

START_TEST(clusters_move)
{
    snprintf(text, sizeof text, PTX_HEAD
        ".visible .entry k(.param .u64 out, .param .u64 n) .reqnctapercluster 8 {\n.reg .b64 %%rd<4>; .reg .b32 %%r<10>; .reg .pred %%p; .shared .align 4 .b32 box;\n"
        "ld.param.u64 %%rd1, [out]; ld.param.u64 %%rd2, [n]; cvt.u32.u64 %%r7, %%rd2;\n"
        "mov.u32 %%r1, %%cluster_ctarank; add.u32 %%r2, %%r1, 1; and.b32 %%r2, %%r2, 7; mov.u32 %%r3, box; mapa.shared::cluster.u32 %%r4, %%r3, %%r2; mov.u32 %%r5, %%ctaid.x;\n"
        "L: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\nst.shared::cluster.u32 [%%r4], %%r5;\n"
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\nld.shared.u32 %%r6, [box]; mul.wide.u32 %%rd2, %%r5, 4; add.s64 %%rd3, %%rd1, %%rd2; st.global.u32 [%%rd3], %%r6;\n"
        "add.u32 %%r5, %%r5, 8; add.s32 %%r7, %%r7, -1; setp.ne.s32 %%p, %%r7, 0; @%%p bra L; ret;\n}\n");
    part = "h100";
    run.launch.cluster[0] = cluster = 8;
    set("sm.clusters", "8");
    compare(48, 64, 3);
}
END_TEST

/* What was issued and not performed when a CTA goes on elsewhere without the GPU is performed there. */
START_TEST(what_is_pending_can_be_told)
{
    struct error err;
    struct timing_pending *list;
    size_t n, most = 0;
    snprintf(text, sizeof text, PTX_HEAD ".visible .entry k(.param .u64 out, .param .u64 n) {\n.reg .b64 %%rd<4>; .reg .b32 %%r<4>;\nld.param.u64 %%rd1, [out]; mov.u32 %%r1, %%tid.x;\n"
        "mul.wide.u32 %%rd2, %%r1, 4; add.s64 %%rd1, %%rd1, %%rd2; red.global.add.u32 [%%rd1], 3; red.global.add.u32 [%%rd1], 4; ret;\n}\n");
    run_open(text);
    emu_image_late(run.image);
    struct timing_gpu *g = sim_gpu(1);
    sim_start(g, &grid, 8, 64, 0);
    for (uint64_t until = 1;; until++) {
        enum timing_stop stop = timing_gpu_run(g, until);
        if (stop == TIMING_KERNEL_ENDED) break;
        ck_assert_int_eq(stop, TIMING_LIMIT);
        ck_assert_msg(timing_gpu_pending(g, &list, &n, &err) == ST_OK, "%s", err.text);
        uint64_t sum = 0, left = 0;            /* of all words: what was added and what is to be added */
        for (size_t i = 0; i < n; i++) {
            ck_assert_ptr_eq(list[i].resident, list[i].access.cta);
            left += (uint64_t)__builtin_popcount(list[i].access.mask);
        }
        for (unsigned i = 0; i < 64; i++) sum += run.out[i];
        most = n > most ? n : most;
        ck_assert_uint_ge(8 * 64 * 7, sum + 3 * left);
        free(list);
    }
    ck_assert_uint_eq(most, 32);               /* two of each of sixteen warps */
    timing_gpu_free(g);
    emu_grid_free(grid);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("state of the simulated GPU");
    TCase *c = tcase_create("state");
    tcase_add_checked_fixture(c, sim_setup, run_teardown);
    tcase_set_timeout(c, 300);
    tcase_add_test(c, pointers_are_found);
    tcase_add_loop_test(c, a_moved_gpu_goes_on, 0, 3);
    tcase_add_test(c, clusters_move);
    tcase_add_test(c, what_is_pending_can_be_told);
    suite_add_tcase(s, c);
    return suite_run(s);
}
