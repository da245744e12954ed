/* The memory of the simulated GPU: where latency comes from, what bounds bandwidth, what policies send on. Properties, never golden totals. */
#include "tests/unit/sim_run.h"
#include "tests/unit/suite.h"
#include "timing/model.h"

static size_t at;
#define PUT(...) at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__)

/* k(out, n): %rd1 is out, %rd2 is n, %r1 the number of the thread in the grid. */
static void head(void)
{
    at = 0;
    one_for_one = true;
    PUT(PTX_HEAD ".visible .entry k(.param .u64 out, .param .u64 n) {\n.reg .b64 %%rd<50>; .reg .b32 %%r<50>; .reg .pred %%p<4>;\n"
        "ld.param.u64 %%rd1, [out]; ld.param.u64 %%rd2, [n]; mov.u32 %%r2, %%ctaid.x; mov.u32 %%r3, %%ntid.x; mov.u32 %%r4, %%tid.x; mad.lo.s32 %%r1, %%r2, %%r3, %%r4;\n");
}

static void tail(void) { PUT("ret;\n}\n"); }

/* ---- latency ---------------------------------------------------------------------------------------------------------------------- */

/* Each load's address waits for the one before, whose value is 0. */
static uint64_t chase(const char *load, unsigned loads, unsigned step)
{
    head();
    PUT("mov.u64 %%rd4, %%rd1;\n");
    for (unsigned i = 0; i < loads; i++) PUT("%s.u64 %%rd5, [%%rd4]; add.s64 %%rd4, %%rd4, %%rd5; add.s64 %%rd4, %%rd4, %u;\n", load, step);
    tail();
    return simulate(1, 1, 0, 1).cycles;
}

/* How much a setting that is `more` greater than standard adds to each load. */
static const struct { const char *knob, *standard, *greater, *load; unsigned step, adds; } latencies[] = {
    {"lsu.l1_latency", "27", "77", "ld.global.ca", 0, 50},   {"lsu.l1_latency", "27", "77", "ld.global.cg", 0, 50},
    {"mem.l2_latency", "200", "260", "ld.global.cg", 0, 60}, {"mem.l2_latency", "200", "260", "ld.global.ca", 0, 0},
    {"dram.latency", "155", "225", "ld.global.ca", 8192, 70}, {"dram.latency", "155", "225", "ld.global.cg", 0, 0},
};

START_TEST(latencies_add_up)
{
    uint64_t each[2];
    for (int k = 0; k < 2; k++) {
        set(latencies[_i].knob, k ? latencies[_i].greater : latencies[_i].standard);
        each[k] = chase(latencies[_i].load, 110, latencies[_i].step) - chase(latencies[_i].load, 10, latencies[_i].step);
    }
    ck_assert_double_eq_tol((double)(each[1] - each[0]) / 100, latencies[_i].adds, 1.5);
}
END_TEST

/* Atomics whose address waits for the one before. */
START_TEST(atomics_take_longer_by_their_latency)
{
    uint64_t each[2];
    for (int k = 0; k < 2; k++) {
        uint64_t took[2];
        set("mem.atomic_latency", k ? "90" : "40");
        for (int i = 0; i < 2; i++) {
            head();
            PUT("mov.u64 %%rd4, %%rd1;\n");
            for (int n = 0; n < (i ? 60 : 10); n++) PUT("atom.global.add.u64 %%rd5, [%%rd4], 0; add.s64 %%rd4, %%rd4, %%rd5;\n");
            tail();
            took[i] = simulate(1, 1, 0, 1).cycles;
        }
        each[k] = took[1] - took[0];
    }
    ck_assert_double_eq_tol((double)(each[1] - each[0]) / 50, 50, 1.5);
}
END_TEST

/* ---- bandwidth ------------------------------------------------------------------------------------------------------------------------ */

/* Every thread loads 16 bytes of its own: a megabyte in all. */
static void stream(void)
{
    head();
    PUT("mul.wide.s32 %%rd4, %%r1, 16; add.s64 %%rd4, %%rd4, %%rd1; ld.global.v4.u32 {%%r10, %%r11, %%r12, %%r13}, [%%rd4]; add.s32 %%r10, %%r10, %%r11; setp.eq.s32 %%p1, %%r10, 77; "
        "@%%p1 st.global.u32 [%%rd1], %%r10;\n");
    tail();
}

START_TEST(streams_are_bound_by_the_channels)
{
    static const char *const channels[] = {"2", "4", "8"};
    uint64_t took[3];
    stream();
    for (int i = 0; i < 3; i++) {
        set("mem.channels", channels[i]);
        took[i] = simulate(256, 256, 0, 2).cycles;
        double least = RUN_BYTES / (8.0 * 2 * atoi(channels[i])) * 1380 / 877;        /* 8 bytes twice a DRAM clock */
        ck_assert_double_ge((double)took[i], least);
        ck_assert_double_le((double)took[i], least * 1.3 + 3000);
    }
}
END_TEST

/* With one entry for misses they come one after the other. */
START_TEST(misses_in_flight_are_as_many_as_there_are_entries)
{
    static const char *const l1d[] = {"S:4:128:64,L:T:m:L:L,A:1:8,16:0,32", "S:4:128:64,L:T:m:L:L,A:4:8,16:0,32", "S:4:128:64,L:T:m:L:L,A:64:8,16:0,32"};
    uint64_t took[3];
    for (int k = 0; k < 3; k++) {
        set("l1d", l1d[k]);
        head();
        for (unsigned i = 0; i < 32; i++) PUT("ld.global.u32 %%r%u, [%%rd1+%u];\n", 10 + i, i * 4096);
        tail();
        took[k] = simulate(1, 1, 0, 1).cycles;
    }
    ck_assert_uint_gt(took[0], 3 * took[1]);
    ck_assert_uint_gt(took[1], 3 * took[2]);
}
END_TEST

/* ---- what a write sends on -------------------------------------------------------------------------------------------------------------- */

/* 1024 threads write 4 bytes of 32, or all 32. */
static struct outcome writes(bool whole, const char *l2)
{
    set("l2", l2);
    head();
    PUT("mul.wide.s32 %%rd4, %%r1, %d; add.s64 %%rd4, %%rd4, %%rd1; st.global.u32 [%%rd4], %%r1; membar.gl;\n", whole ? 4 : 32);
    for (int i = 0; i < 800; i++) PUT("add.s32 %%r5, %%r5, %%r1;\n");          /* until all is where it goes */
    tail();
    return simulate(8, 128, 0, 1);
}

START_TEST(write_allocation_reads_what_its_policy_says)
{
    enum { SECTORS = 1024 };
    static const char *const l2[] = {"S:32:128:24,L:B:m:L:P,A:192:4,32:0,32", "S:32:128:24,L:B:m:W:P,A:192:4,32:0,32", "S:32:128:24,L:B:m:F:P,A:192:4,32:0,32",
                                     "S:32:128:24,L:B:m:N:P,A:192:4,32:0,32"};
    static const struct { uint64_t part_reads, part_writes, whole_reads, whole_writes; } want[] = {{0, 0, 0, 0}, {SECTORS, 0, SECTORS / 8, 0}, {SECTORS, 0, 0, 0}, {0, SECTORS, 0, SECTORS / 8}};
    struct outcome part_of = writes(false, l2[_i]), all_of = writes(true, l2[_i]);
    ck_assert_uint_eq(part_of.s.channel.reads, want[_i].part_reads);
    ck_assert_uint_eq(part_of.s.channel.writes, want[_i].part_writes);
    ck_assert_uint_eq(all_of.s.channel.reads, want[_i].whole_reads);
    ck_assert_uint_eq(all_of.s.channel.writes, want[_i].whole_writes);
}
END_TEST

/* A set whose only way is being fetched refuses a write that would allocate. However often it tries, the rest of its sector is read once. */
START_TEST(a_refused_write_reads_once)
{
    enum { PAIRS = 32 };
    set("l2", "S:1:128:1,L:B:m:W:P,A:192:4,32:0,32");
    set("mem.channels", "2");
    head();
    for (unsigned i = 0; i < PAIRS; i++) PUT("ld.global.cg.u32 %%r%u, [%%rd1+%u];\nst.global.u32 [%%rd1+%u], %%r1;\n", 10 + i, i * 1024, 65536 + i * 1024);
    PUT("membar.gl;\n");
    for (int i = 0; i < 2000; i++) PUT("add.s32 %%r5, %%r5, %%r1;\n");
    tail();
    struct outcome o = simulate(1, 1, 0, 1);
    uint64_t refused = o.s.slice.l2.fail[TIMING_GLOBAL_ACC_W][TIMING_LINE_ALLOC_FAIL];
    ck_assert_uint_gt(refused, PAIRS);
    ck_assert_uint_eq(o.s.channel.reads, 2 * PAIRS);
}
END_TEST

/* Nothing that a kernel does makes such a packet; it must not be lost all the same. */
START_TEST(a_write_of_no_bytes_is_answered)
{
    struct timing_gpu *g = sim_gpu(1);
    struct sm *s = &g->sms[0];
    const struct packet none = {.address = (uint64_t)(uintptr_t)run.out, .tag = TAG_NOBODY, .pending = -1, .kind = REQUEST_WRITE, .source = SOURCE_DATA, .type = TIMING_GLOBAL_ACC_W, .sectors = 4};
    ck_assert(lsu_send(s, &none, 0));
    ck_assert_uint_eq(s->n_pool_free, s->pool_size - 1);
    for (int i = 0; i < 8; i++)
        gpu_window(g, g->now + g->window);
    ck_assert_uint_eq(s->n_pool_free, s->pool_size);
    ck_assert_uint_eq(s->in_network, 0);
    timing_gpu_free(g);
}
END_TEST

/* ---- an L2 in two halves ------------------------------------------------------------------------------------------------------------------------- */

/* Cycles of a load that hits L2, `first` bytes into the memory; one warp on SM 0. */
static double hit_at(unsigned first)
{
    uint64_t took[2];
    for (int k = 0; k < 2; k++) {
        head();
        PUT("add.s64 %%rd4, %%rd1, %u;\n", first);
        for (int i = 0; i < (k ? 60 : 10); i++) PUT("ld.global.cg.u64 %%rd5, [%%rd4]; add.s64 %%rd4, %%rd4, %%rd5;\n");
        tail();
        took[k] = simulate(1, 1, 0, 1).cycles;
    }
    return (double)(took[1] - took[0]) / 50;
}

/* Without copies an address belongs to a half, and its way is longer by both crossings from the other one. */
START_TEST(the_far_half_is_further_away)
{
    enum { STRIDE = 4096 };
    double whole = hit_at(0);
    set("mem.partitions", "2");
    set("mem.partition_stride", "4096");
    set("mem.partition_latency", "70");
    unsigned first = (uintptr_t)run.out / STRIDE % 2;
    ck_assert_double_eq_tol(hit_at(first * STRIDE), whole, 0.1);
    ck_assert_double_eq_tol(hit_at((1 - first) * STRIDE), whole + 140, 1);
}
END_TEST

/* With copies a sector is far once for each half: what the SMs of one half have read is near to all of it. */
START_TEST(a_half_keeps_what_it_read)
{
    enum { SECTORS = 64 };
    static const char *const ctas[] = {"1", "4"};      /* on the first half; on both */
    part = "a100";
    set("sm.clusters", "4");
    set("l1d", "none");
    set("lsu.adaptive", "off");
    set("lsu.unified", "0");
    for (unsigned k = 0; k < 2; k++) {
        head();
        PUT("mul.lo.s32 %%r5, %%r4, 32; cvt.u64.u32 %%rd4, %%r5; add.s64 %%rd4, %%rd4, %%rd1; ld.global.cg.u32 %%r6, [%%rd4]; bar.sync 0;\n");        /* from DRAM */
        for (int i = 0; i < 400; i++) PUT("add.s32 %%r7, %%r7, %%r6;\n");
        PUT("ld.global.cg.u32 %%r8, [%%rd4+4096]; bar.sync 0; add.s32 %%r7, %%r7, %%r8; ld.global.cg.u32 %%r8, [%%rd4]; add.s32 %%r7, %%r7, %%r8; bar.sync 0; ld.global.cg.u32 %%r8, [%%rd4+4096];\n");
        tail();
        run_open(text);
        struct timing_gpu *g = sim_gpu(1);
        struct emu_grid *grid;
        struct timing_stats st;
        for (unsigned i = 0; i < SECTORS; i++)
            timing_touch(g, (uint64_t)(uintptr_t)run.out + 4096 + i * 32);
        sim_start(g, &grid, (uint32_t)atoi(ctas[k]), SECTORS, 0);
        ck_assert_int_eq(timing_gpu_run(g, 100000000), TIMING_KERNEL_ENDED);
        timing_gpu_stats(g, &st);
        ck_assert_uint_eq(st.slice.far_hits, (k + 1) * SECTORS);
        timing_gpu_free(g);
        emu_grid_free(grid);
    }
}
END_TEST

/* ---- small settings ------------------------------------------------------------------------------------------------------------------------------ */

/* Misses cost what L1 costs, and nothing goes to L2. */
START_TEST(perfect_memory_answers_at_once)
{
    double hit = (double)(chase("ld.global.ca", 110, 0) - chase("ld.global.ca", 10, 0)) / 100;
    set("lsu.perfect", "on");
    double miss = (double)(chase("ld.global.ca", 110, 4096) - chase("ld.global.ca", 10, 4096)) / 100;
    ck_assert_double_ge(miss, hit);
    ck_assert_double_le(miss, hit + 4);
    head();
    PUT("ld.global.u32 %%r5, [%%rd1]; st.global.u32 [%%rd1+4096], %%r5; membar.gl; atom.global.add.u32 %%r6, [%%rd1], 1;\n");
    tail();
    struct outcome o = simulate(2, 64, 0, 1);
    ck_assert_uint_eq(o.s.slice.requests, 2 * 64);     /* atomics on one word */
    ck_assert_uint_eq(run.out[0], 2 * 64);
}
END_TEST

/* What one kernel read is not there for the next. */
START_TEST(l2_is_flushed_behind_the_last_kernel)
{
    head();
    PUT("mul.wide.s32 %%rd4, %%r1, 32; add.s64 %%rd4, %%rd4, %%rd1; ld.global.cg.u32 %%r5, [%%rd4];\n");
    tail();
    for (unsigned flush = 0; flush < 2; flush++) {
        set("mem.flush_l2", flush ? "on" : "off");
        run_open(text);
        struct timing_gpu *g = sim_gpu(1);
        struct timing_stats st;
        for (unsigned k = 0; k < 2; k++) {
            struct emu_grid *grid;
            struct timing_kernel_result r;
            sim_start(g, &grid, 4, 64, 0);
            ck_assert_int_eq(timing_gpu_run(g, 100000000), TIMING_KERNEL_ENDED);
            ck_assert(timing_kernel_take(g, &r));
            emu_grid_free(grid);
        }
        timing_gpu_stats(g, &st);
        ck_assert_uint_eq(st.channel.reads, 256 * (1 + flush));
        timing_gpu_free(g);
    }
}
END_TEST

/* ---- copies without waiting, matrices ----------------------------------------------------------------------------------------------------------- */

/* Cycles from two copies, a group each, to behind the wait; out[0], out[1]: what arrived. */
static uint64_t copies(const char *wait)
{
    head();
    PUT(".shared .align 16 .b8 box[64];\nmov.u32 %%r5, box; mov.u32 %%r6, %%clock; cp.async.cg.shared.global [%%r5], [%%rd1+65536], 16; cp.async.commit_group;\n"
        "cp.async.cg.shared.global [%%r5+16], [%%rd1+131072], 16; cp.async.commit_group;\n%s\nmov.u32 %%r7, %%clock; sub.s32 %%r7, %%r7, %%r6; st.global.u32 [%%rd1], %%r7;\n", wait);
    tail();
    simulate(1, 1, 0, 1);
    return run.out[0];
}

START_TEST(copies_are_waited_for_by_group)
{
    uint64_t none = copies(""), one = copies("cp.async.wait_group 1;"), both = copies("cp.async.wait_group 0;"), all = copies("cp.async.wait_all;");
    ck_assert_uint_lt(none, 60);               /* DRAM is some 425 cycles away */
    ck_assert_uint_gt(one, 380);
    ck_assert_uint_ge(both, one);
    ck_assert_uint_le(all > both ? all - both : both - all, 8);
    set("dram.latency", "355");                /* 200 more */
    ck_assert_uint_lt(copies(""), 60);
    ck_assert_uint_ge(copies("cp.async.wait_group 0;"), both + 195);
    ck_assert_uint_ge(copies("cp.async.wait_group 2; cp.async.wait_group 1;"), one + 195);
    ck_assert_uint_lt(copies("cp.async.wait_group 2;"), 80);
}
END_TEST

/* A fragment of 16 x 16 halves is 16 lines of 32 bytes: a sector each; four tiles of ldmatrix are 32 rows of 16 bytes: four cycles without conflicts. */
START_TEST(fragments_are_memory_traffic)
{
    head();
    PUT("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%%r10,%%r11,%%r12,%%r13,%%r14,%%r15,%%r16,%%r17}, [%%rd1+4096], 64; "
        "add.s32 %%r10, %%r10, %%r17; st.global.u32 [%%rd1], %%r10;\n");
    tail();
    struct outcome o = simulate(1, 32, 0, 1);
    ck_assert_uint_eq(o.s.sm.sent_read_global, 16);
    for (unsigned pitch = 16; pitch <= 128; pitch *= 8) {          /* rows one after the other, or all in the same banks */
        head();
        PUT(".shared .align 128 .b8 box[8192];\nmov.u32 %%r5, box; and.b32 %%r6, %%r4, 31; mad.lo.s32 %%r5, %%r6, %u, %%r5;\n"
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%%r10,%%r11,%%r12,%%r13}, [%%r5]; add.s32 %%r10, %%r10, %%r13; st.global.u32 [%%rd1], %%r10;\n", pitch);
        tail();
        o = simulate(1, 32, 0, 1);
        ck_assert_uint_eq(o.s.sm.shared_bank_conflicts, pitch == 16 ? 3 : 31);
    }
}
END_TEST

/* ---- any number of host threads ------------------------------------------------------------------------------------------------------------- */

START_TEST(memory_is_the_same_for_any_number_of_host_threads)
{
    part = _i ? "a100" : "v100";
    head();
    PUT("mul.lo.s32 %%r5, %%r1, 2654435; and.b32 %%r5, %%r5, 262140; cvt.u64.u32 %%rd4, %%r5; add.s64 %%rd4, %%rd4, %%rd1; ld.global.u32 %%r6, [%%rd4]; add.s32 %%r6, %%r6, 1;\n"
        "st.global.u32 [%%rd4+262144], %%r6; atom.global.add.u32 %%r7, [%%rd1+%u], 1;\nred.global.add.u32 [%%rd4+524288], %%r7;\n", 1 << 19);
    tail();
    (void)simulate_alike(300, 128, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("simulated memory");
    TCase *c = tcase_create("memory");
    tcase_add_checked_fixture(c, sim_setup, run_teardown);
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, latencies_add_up, 0, sizeof latencies / sizeof *latencies);
    tcase_add_test(c, atomics_take_longer_by_their_latency);
    tcase_add_test(c, streams_are_bound_by_the_channels);
    tcase_add_test(c, misses_in_flight_are_as_many_as_there_are_entries);
    tcase_add_loop_test(c, write_allocation_reads_what_its_policy_says, 0, 4);
    tcase_add_test(c, a_refused_write_reads_once);
    tcase_add_test(c, a_write_of_no_bytes_is_answered);
    tcase_add_test(c, the_far_half_is_further_away);
    tcase_add_test(c, a_half_keeps_what_it_read);
    tcase_add_test(c, perfect_memory_answers_at_once);
    tcase_add_test(c, l2_is_flushed_behind_the_last_kernel);
    tcase_add_test(c, copies_are_waited_for_by_group);
    tcase_add_test(c, fragments_are_memory_traffic);
    tcase_add_loop_test(c, memory_is_the_same_for_any_number_of_host_threads, 0, 2);
    suite_add_tcase(s, c);
    return suite_run(s);
}
