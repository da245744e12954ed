/* Blocks saved at any moment and restored into a fresh worker go on as the uninterrupted ones; and no bytes harm whoever restores them. */
#include "emu/snapshot.h"
#include "tests/unit/emu_run.h"
#include "tests/unit/snapshot_kernels.h"

static struct { char *at; size_t n, room; } saved;

static bool keep(void *user, const void *p, size_t n)
{
    (void)user;
    if (saved.n + n > saved.room) {
        saved.room = (saved.n + n) * 2;
        saved.at = realloc(saved.at, saved.room);
        ck_assert_ptr_nonnull(saved.at);
    }
    memcpy(saved.at + saved.n, p, n);
    saved.n += n;
    return true;
}

static void save(const struct emu_cta *cta)
{
    struct sink s = { .write = keep };
    saved.n = 0;
    emu_cta_save(cta, run.worker, &s);
    emu_worker_save(run.worker, &s);
    ck_assert(!s.failed);
}

static uint32_t seed;
static uint32_t rnd(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static struct emu_grid *grid_of(const struct snapshot_kernel *k)
{
    struct error err;
    struct emu_grid *g;
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    run.launch.stack_bytes = 1024;
    run.launch.grid[0] = k->blocks;
    run.launch.block[0] = k->threads;
    run.launch.cluster[0] = k->cluster;
    run.launch.params = &out;
    run.launch.param_bytes = 8;
    ck_assert_msg(emu_grid_create(&g, run_get("k"), &run.launch, &err) == ST_OK, "%s", err.text);
    return g;
}

/* Another worker, another launch, other memory; what was saved there is what was saved here. */
static struct emu_cta *move(struct emu_cta *cta, struct emu_grid **g, const struct snapshot_kernel *k)
{
    struct error err;
    save(cta);
    emu_cta_free(cta, run.worker);
    emu_worker_free(run.worker);
    emu_grid_free(*g);
    *g = grid_of(k);
    ck_assert(emu_worker_create(&run.worker, &err) == ST_OK);
    char *before = malloc(saved.n);
    size_t n = saved.n;
    memcpy(before, saved.at, n);
    struct bytes b = { before, n };
    struct source from = bytes_source(&b);
    ck_assert_msg(emu_cta_restore(&cta, *g, run.worker, UINT32_MAX, &from, &err) == ST_OK, "%s: %s", k->name, err.text);
    ck_assert(emu_worker_restore(run.worker, &from) && b.n == 0);
    save(cta);
    ck_assert_msg(n == saved.n && memcmp(before, saved.at, n) == 0, "%s: saved again it is different", k->name);
    free(before);
    return cta;
}

/* All blocks in quanta of random length. moves: how many in a hundred of the stops move the block. */
static void run_all(const struct snapshot_kernel *k, uint32_t s, unsigned moves)
{
    struct error err;
    static const uint32_t longest[] = { 3, 17, 90, 700 };
    seed = s;
    memset(run.out, 0, RUN_BYTES);
    struct emu_grid *g = grid_of(k);
    for (uint64_t i = 0; i < emu_grid_clusters(g); i++) {
        struct emu_cta *cta;
        enum emu_result how = EMU_YIELD;
        ck_assert_msg(emu_cta_start(&cta, g, run.worker, i, (uint32_t)i, &err) == ST_OK, "%s", err.text);
        for (unsigned turn = 0; how == EMU_YIELD; turn++) {
            bool moved = rnd(100) < moves;
            if (moved) cta = move(cta, &g, k);
            how = emu_cta_run(cta, run.worker, 1 + rnd(longest[s % 4]));
            ck_assert_msg(turn < 200000, "%s: does not end", k->name);
        }
        emu_cta_explain(cta, run.said, sizeof run.said);
        ck_assert_msg(how == EMU_DONE, "%s: %d %s %s", k->name, (int)how, emu_worker_fault(run.worker)->report, run.said);
        ck_assert_uint_eq(emu_cta_number(cta), i);
        emu_cta_free(cta, run.worker);
    }
    emu_grid_free(g);
}

static void open_kernel(const struct snapshot_kernel *k, int i)
{
    run.launch.policy = i & 1 ? EMU_STACK : EMU_ITS;
    run_open(k->text);
    if (i & 2) emu_image_late(run.image);
}

START_TEST(moved_blocks_go_on)
{
    const struct snapshot_kernel *k = &snapshot_kernels[_i / 4];
    static uint32_t want[RUN_BYTES / 4];
    if (_i % 4 & 1 && (k == &snapshot_kernels[2] || k == &snapshot_kernels[8])) return;      /* lanes that wait for lanes of other branches need independent threads */
    open_kernel(k, _i % 4);
    for (uint32_t s = 0; s < 4; s++) {
        run_all(k, s, 0);
        memcpy(want, run.out, RUN_BYTES);
        run_all(k, s, s < 2 ? 10 : 50);
        ck_assert_msg(memcmp(want, run.out, RUN_BYTES) == 0, "%s: another result", k->name);
    }
}
END_TEST

/* One instruction at a time, as debuggers and timing models do. */
START_TEST(moved_between_steps)
{
    const struct snapshot_kernel *k = &snapshot_kernels[_i];
    struct error err;
    static uint32_t want[RUN_BYTES / 4];
    if (k->cluster > 1 || k == &snapshot_kernels[8]) return;      /* emu_warp_step has no patience with spinning lanes */
    open_kernel(k, 0);
    for (int moves = 0; moves < 2; moves++) {
        memset(run.out, 0, RUN_BYTES);
        seed = 5;
        struct emu_grid *g = grid_of(k);
        struct emu_cta *cta;
        ck_assert(emu_cta_start(&cta, g, run.worker, 0, 0, &err) == ST_OK);
        for (unsigned done = 0, warps = (k->threads + 31) / 32; done < warps;) {
            done = 0;
            for (uint32_t w = 0; w < warps; w++) {
                struct emu_event e;
                enum emu_result how = emu_warp_step(cta, run.worker, w, &e);
                ck_assert(how != EMU_FAULT);
                done += how == EMU_DONE;
            }
            bool now = rnd(20) == 0;
            if (now && moves) cta = move(cta, &g, k);
        }
        emu_cta_free(cta, run.worker);
        emu_grid_free(g);
        if (!moves) memcpy(want, run.out, RUN_BYTES);
    }
    ck_assert_msg(memcmp(want, run.out, RUN_BYTES) == 0, "%s: another result", k->name);
}
END_TEST

static enum emu_result restore_and_run(struct emu_grid *g, const char *at, size_t n)
{
    struct error err = { 0 };
    struct bytes b = { at, n };
    struct source from = bytes_source(&b);
    struct emu_cta *cta;
    if (emu_cta_restore(&cta, g, run.worker, 0, &from, &err) != ST_OK) {
        ck_assert(err.text[0] && !cta);
        return EMU_FAULT;
    }
    enum emu_result how = EMU_YIELD;
    for (unsigned turn = 0; how == EMU_YIELD && turn < 50; turn++) how = emu_cta_run(cta, run.worker, 100);
    emu_cta_free(cta, run.worker);
    return how;
}

/* Truncated and changed bytes are refused or run, but do no harm: the sanitizers watch. */
START_TEST(damaged_bytes)
{
    const struct snapshot_kernel *k = &snapshot_kernels[_i];
    struct error err;
    open_kernel(k, 0);
    struct emu_grid *g = grid_of(k);
    struct emu_cta *cta;
    for (uint32_t stop = 1; stop < 400; stop += 133) {
        ck_assert(emu_cta_start(&cta, g, run.worker, 0, 0, &err) == ST_OK);
        if (emu_cta_run(cta, run.worker, stop) == EMU_FAULT) ck_abort_msg("%s", emu_worker_fault(run.worker)->report);
        save(cta);
        emu_cta_free(cta, run.worker);
        char *bytes = malloc(saved.n);
        size_t n = saved.n;
        seed = stop;
        for (int i = 0; i < 80; i++) {
            memcpy(bytes, saved.at, n);
            for (uint32_t j = rnd(3) + 1; j--;) bytes[i < 40 ? rnd((uint32_t)(n < 400 ? n : 400)) : rnd((uint32_t)n)] = (char)rnd(256);
            restore_and_run(g, bytes, n);
            size_t cut = rnd((uint32_t)n);
            ck_assert(restore_and_run(g, saved.at, cut) == EMU_FAULT || cut + 24 >= n);
        }
        free(bytes);
    }
    emu_grid_free(g);
}
END_TEST

START_TEST(another_kernel_is_refused)
{
    struct error err;
    struct emu_cta *cta;
    open_kernel(&snapshot_kernels[0], 0);
    struct emu_grid *g = grid_of(&snapshot_kernels[0]);
    ck_assert(emu_cta_start(&cta, g, run.worker, 0, 0, &err) == ST_OK);
    ck_assert(emu_cta_run(cta, run.worker, 50) == EMU_YIELD);
    save(cta);
    emu_cta_free(cta, run.worker);
    emu_grid_free(g);
    open_kernel(&snapshot_kernels[1], 0);
    g = grid_of(&snapshot_kernels[1]);
    struct bytes b = { saved.at, saved.n };
    struct source from = bytes_source(&b);
    ck_assert(emu_cta_restore(&cta, g, run.worker, 0, &from, &err) != ST_OK && strstr(err.text, "another kernel"));
    emu_grid_free(g);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emu snapshot");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, run_setup, run_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, moved_blocks_go_on, 0, 4 * SNAPSHOT_KERNELS);
    tcase_add_loop_test(t, moved_between_steps, 0, SNAPSHOT_KERNELS);
    tcase_add_loop_test(t, damaged_bytes, 0, SNAPSHOT_KERNELS);
    tcase_add_test(t, another_kernel_is_refused);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
