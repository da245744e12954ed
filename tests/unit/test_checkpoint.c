/* Checkpoints of the device: kernels stopped anywhere, finished from the file alone in another process, on the host's engine and on the simulated GPU, give the memory
 * that an uninterrupted run gives. And what the settings may say. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/host_internal.h"
#include "runtime/checkpoint/plan.h"
#include "runtime/knobs.h"
#include "tests/unit/snapshot_kernels.h"

enum { OUT_BYTES = 1 << 16, POINTS = 4 };
static char folder[64], file[128], dump[128], report[128];
struct outcome { uint64_t insns, address; char memory[OUT_BYTES]; };
static struct outcome want, got;

static void setup(void)
{
    snprintf(folder, sizeof folder, "/tmp/heddle-ckpt-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/a.hck", folder);
    snprintf(dump, sizeof dump, "%s/dump", folder);
    snprintf(report, sizeof report, "%s/report", folder);
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void write_all(const char *path, const void *p, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(p, 1, n, f) != n || fclose(f) != 0)
        _exit(3);
}

static bool read_all(const char *path, void *p, size_t n)
{
    FILE *f = fopen(path, "rb");
    bool ok = f && fread(p, 1, n, f) == n;
    if (f)
        fclose(f);
    return ok;
}

/* In a process of its own, since a runtime starts once. */
static int in_child(void (*work)(const void *), const void *what, const char *settings)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        char all[512];
        snprintf(all, sizeof all, "quiet = on\nstats = off\nlog = error\nthreads = 2\n%s", settings);
        setenv(KNOBS_ENV_SETTINGS, all, 1);
        work(what);
        _exit(0);
    }
    int how;
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    return how;
}

static void check(enum status st, const struct error *err, const char *what)
{
    if (st == ST_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, err->text);
    _exit(2);
}

/* As the program's calls come in from interpose. */
static struct host_site site = {.symbol = "test"};
#define CALL(call, what) (check(host_enter(&site, NULL, 0), &err, what), check(host_leave(call), &err, what))

static void run_kernel(const void *what)
{
    const struct snapshot_kernel *k = what;
    struct error err = {0};
    struct rt_context *c;
    struct rt_module *m;
    struct rt_function *f;
    static struct outcome o;
    check(rt_start(&err), &err, "start");
    CALL(rt_primary_retain(&c, 0), "context");
    CALL(rt_alloc(c, OUT_BYTES, &o.address, &err), "alloc");
    CALL(rt_module_load(&m, c, k->text, 0, "test", &err), "module");
    CALL(rt_module_function(&f, m, "k", &err), "function");
    void *params[] = {&o.address};
    CALL(rt_launch(&(struct rt_launch){.function = f, .stream = rt_stream_legacy(c), .grid = {k->blocks, 1, 1}, .block = {k->threads, 1, 1}, .cluster = {k->cluster, 1, 1}, .params = params}, &err),
         "launch");
    CALL(rt_context_synchronize(c), "synchronize");
    struct rt_totals t;
    rt_totals(&t);
    o.insns = t.warp_insns;
    memcpy(o.memory, (const void *)(uintptr_t)o.address, OUT_BYTES);
    write_all(report, &o, sizeof o);
}

static void resume(const void *unused)
{
    (void)unused;
    struct error err = {0};
    check(checkpoint_resume(&(struct checkpoint_resume){.path = file, .dump = dump, .launches = RESUME_BEGUN}, &err), &err, "resume");
}

static void expect_resumed(const char *name, const char *where, const char *settings)
{
    char path[200];
    static char memory[OUT_BYTES];
    ck_assert_msg(in_child(resume, NULL, settings) == 0, "%s at %s: not resumed", name, where);
    snprintf(path, sizeof path, "%s/0x%llx.bin", dump, (unsigned long long)want.address);
    ck_assert_msg(read_all(path, memory, OUT_BYTES), "%s at %s: no dump", name, where);
    ck_assert_msg(memcmp(memory, want.memory, OUT_BYTES) == 0, "%s at %s, %s: another result", name, where, settings);
    unlink(path);
}

static void stop_at(const struct snapshot_kernel *k, const char *where, const char *more)
{
    char settings[300];
    snprintf(settings, sizeof settings, "checkpoint = %s\nto = %s\n%s", where, file, more);
    unlink(file);
    ck_assert_msg(in_child(run_kernel, k, settings) == 0, "%s at %s: did not run", k->name, where);
    ck_assert(read_all(report, &got, sizeof got));
    ck_assert_msg(memcmp(got.memory, want.memory, OUT_BYTES) == 0 && got.address == want.address, "%s at %s: the checkpoint changed the program's result", k->name, where);
    ck_assert_msg(access(file, R_OK) == 0, "%s at %s: no checkpoint", k->name, where);
}

START_TEST(finished_from_the_file)
{
    const struct snapshot_kernel *k = &snapshot_kernels[_i];
    char where[64];
    ck_assert_int_eq(in_child(run_kernel, k, ""), 0);
    ck_assert(read_all(report, &want, sizeof want));
    for (uint64_t i = 0; i < POINTS; i++) {
        snprintf(where, sizeof where, "kernel:1,insn:%llu", (unsigned long long)(want.insns * (2 * i + 1) / (2 * POINTS)));
        stop_at(k, where, "");
        expect_resumed(k->name, where, "");
        if (i % 2)
            expect_resumed(k->name, where, "mode = sim\ngpu = h100\n");
    }
}
END_TEST

START_TEST(stopped_on_the_simulated_gpu)
{
    const struct snapshot_kernel *k = &snapshot_kernels[_i];
    static const char *const places[] = {"kernel:1", "kernel:1,cycle:3000", "kernel:1,insn:100", "kernel:1,cta:1"};
    ck_assert_int_eq(in_child(run_kernel, k, ""), 0);
    ck_assert(read_all(report, &want, sizeof want));
    for (size_t i = 0; i < sizeof places / sizeof *places - (k->blocks == 1); i++) {
        stop_at(k, places[i], "mode = sim\n");
        expect_resumed(k->name, places[i], "");
        expect_resumed(k->name, places[i], "mode = sim\n");
    }
}
END_TEST

START_TEST(after_blocks)
{
    const struct snapshot_kernel *k = &snapshot_kernels[0];
    ck_assert_int_eq(in_child(run_kernel, k, ""), 0);
    ck_assert(read_all(report, &want, sizeof want));
    static const char *const places[] = {"kernel:1", "kernel:1,cta:1", "kernel:1,cta:2", "name:k,cta:1,insn:40", "insn:200"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        stop_at(k, places[i], "");
        expect_resumed(k->name, places[i], "");
    }
}
END_TEST

/* ---- what is free ---- */

static char state_bytes[1 << 16];
static size_t state_n;
static bool keep(void *user, const void *p, size_t n)
{
    (void)user;
    if (n > sizeof state_bytes - state_n)
        return false;
    memcpy(state_bytes + state_n, p, n);
    state_n += n;
    return true;
}

static void lock_memory(bool locks)
{
    (locks ? pthread_mutex_lock : pthread_mutex_unlock)(&the.lock);
    (locks ? pthread_mutex_lock : pthread_mutex_unlock)(&the.memory);
}

enum { NEXT = 9 };
static void next_addresses(struct rt_context *c, uint64_t *at)
{
    static const uint64_t sizes[NEXT] = {100, 600, 600, 600, 100 << 10, 3 << 20, 1 << 20, 9 << 20, 5000};
    struct error err;
    for (int i = 0; i < NEXT; i++)
        check(rt_alloc(c, sizes[i], &at[i], &err), &err, "alloc");
    pthread_mutex_lock(&the.lock);
    for (int i = 0; i < 4; i++)
        at[NEXT + i] = params_get(i % 2 ? 2000 : 20, i / 2);
    pthread_mutex_unlock(&the.lock);
}

/* What comes behind a checkpoint lies where it would have been, whatever was allocated and freed in between, and params that were in use are. */
static void free_memory(const void *unused)
{
    (void)unused;
    struct error err = {0};
    struct rt_context *c;
    struct sink to = {.write = keep};
    uint64_t some[12], then[NEXT + 4], now[NEXT + 4];
    check(rt_start(&err), &err, "start");
    check(rt_primary_retain(&c, 0), &err, "context");
    for (int i = 0; i < 12; i++)
        check(rt_alloc(c, i % 3 == 2 ? (uint64_t)i << 20 : 600, &some[i], &err), &err, "alloc");
    for (int i = 1; i < 12; i += 2)
        check(rt_free(some[i]), &err, "free");
    pthread_mutex_lock(&the.lock);
    uint64_t used = params_get(20, true), back = params_get(20, true);
    params_put(used, 20, true);
    pthread_mutex_unlock(&the.lock);
    lock_memory(true);
    block_save(&to);
    params_save(&to);
    lock_memory(false);
    next_addresses(c, then);
    for (int i = NEXT; i-- > 0;)
        check(rt_free(then[(i + 4) % NEXT]), &err, "free");
    struct bytes bytes = {state_bytes, state_n};
    struct source from = bytes_source(&bytes);
    lock_memory(true);
    params_forget();
    bool good = !to.failed && block_load(&from) && params_load(&from) && bytes.n == 0;
    lock_memory(false);
    if (!good)
        _exit(2);
    next_addresses(c, now);
    struct emu_range r;
    if (memcmp(now, then, sizeof now) != 0 || now[NEXT + 2] != used || now[NEXT + 2] == back || !emu_space_find(the.space, used, &r) || r.read_only)
        _exit(4);
    bytes = (struct bytes){state_bytes, state_n};            /* now there is something in it */
    lock_memory(true);
    good = block_load(&from);
    lock_memory(false);
    _exit(good ? 5 : 0);
}

START_TEST(what_is_free)
{
    ck_assert_int_eq(in_child(free_memory, NULL, ""), 0);
}
END_TEST

static const struct { const char *where, *every; bool good; uint64_t kernel, cta, insn; enum checkpoint_unit unit; uint64_t n; } settings[] = {
    {"", "", true, 1, 0, 0, EVERY_NEVER, 0}, {"kernel:5,cta:120", "", true, 5, 120, 0, EVERY_NEVER, 0}, {"name:*gemm*,insn:2M", "", true, 1, 0, 2000000, EVERY_NEVER, 0},
    {"insn:10k", "", true, 0, 0, 10000, EVERY_NEVER, 0}, {"", "5 kernels", true, 1, 0, 0, EVERY_KERNELS, 5}, {"", "100M insns", true, 1, 0, 0, EVERY_INSNS, 100000000},
    {"", "30s", true, 1, 0, 0, EVERY_SECONDS, 30}, {"", "1 second", true, 1, 0, 0, EVERY_SECONDS, 1},
    {"kernel", "", false, 0, 0, 0, EVERY_NEVER, 0}, {"kernel:x", "", false, 0, 0, 0, EVERY_NEVER, 0}, {"cta:1,,", "", false, 0, 0, 0, EVERY_NEVER, 0},
    {"kernel:99999999999999999999", "", false, 0, 0, 0, EVERY_NEVER, 0}, {"name:", "", false, 0, 0, 0, EVERY_NEVER, 0}, {"", "5", false, 0, 0, 0, EVERY_NEVER, 0},
    {"", "0 kernels", false, 0, 0, 0, EVERY_NEVER, 0}, {"", "5 weeks", false, 0, 0, 0, EVERY_NEVER, 0}, {"", "kernels", false, 0, 0, 0, EVERY_NEVER, 0},
};
START_TEST(plans)
{
    struct checkpoint_plan p;
    struct error err = {0};
    enum status st = checkpoint_plan_parse(&p, settings[_i].where, settings[_i].every, &err);
    ck_assert_msg((st == ST_OK) == settings[_i].good, "'%s' '%s': %s", settings[_i].where, settings[_i].every, err.text);
    if (st == ST_OK)
        ck_assert(p.kernel == settings[_i].kernel && p.cta == settings[_i].cta && p.insn == settings[_i].insn && p.unit == settings[_i].unit && p.every == settings[_i].n);
    else
        ck_assert_ptr_nonnull(strstr(err.text, "hint:"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("checkpoint");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 240);
    tcase_add_loop_test(t, finished_from_the_file, 0, SNAPSHOT_KERNELS);
    tcase_add_loop_test(t, stopped_on_the_simulated_gpu, 0, SNAPSHOT_KERNELS);
    tcase_add_test(t, after_blocks);
    tcase_add_test(t, what_is_free);
    tcase_add_loop_test(t, plans, 0, sizeof settings / sizeof settings[0]);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
