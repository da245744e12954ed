/* Threads that meet: barriers, warp-wide instructions with member masks, locks and handshakes inside one warp. */
#include "tests/unit/emu_run.h"

#define BEGIN(regs) PTX_HEAD ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<8>;\n" regs \
    "ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1; mov.u32 %r9, %tid.x; mul.wide.u32 %rd8, %r9, 4; add.s64 %rd9, %rd2, %rd8;\n"
#define END "st.global.u32 [%rd9], %r1; ret;\n}\n"

static void expect(const char *text, unsigned threads, uint32_t (*value)(uint32_t tid))
{
    run_open(text);
    run.launch.block[0] = threads;
    run_done("k");
    for (uint32_t t = 0; t < threads; t++) ck_assert_msg(run.out[t] == value(t), "thread %u: 0x%x, expected 0x%x", t, run.out[t], value(t));
}

/* ---- locks and handshakes ---- */

static uint32_t v_lock(uint32_t t) { (void)t; return 40; }
START_TEST(spin_lock_in_one_warp)
{
    /* word 1000 is the lock, 1001 the count; the winner leaves the loop and the others spin */
    expect(BEGIN("") "LOCK: atom.global.cas.b32 %r2, [%rd2+4000], 0, 1; setp.ne.s32 %p1, %r2, 0; @%p1 bra LOCK;"
           "ld.volatile.global.u32 %r3, [%rd2+4004]; add.u32 %r3, %r3, 1; st.volatile.global.u32 [%rd2+4004], %r3; membar.gl;"
           "atom.global.exch.b32 %r4, [%rd2+4000], 0;"
           "bar.sync 0; ld.volatile.global.u32 %r1, [%rd2+4004];" END, 40, v_lock);
}
END_TEST

START_TEST(spin_lock_that_stays_in_the_loop)
{
    /* done = false; while (!done) if (lock taken) { count; unlock; done = true } */
    expect(BEGIN("") "L: atom.global.cas.b32 %r2, [%rd2+4000], 0, 1; setp.ne.s32 %p1, %r2, 0; @%p1 bra AGAIN;"
           "ld.volatile.global.u32 %r3, [%rd2+4004]; add.u32 %r3, %r3, 1; st.volatile.global.u32 [%rd2+4004], %r3; atom.global.exch.b32 %r4, [%rd2+4000], 0; bra OUT;"
           "AGAIN: bra L; OUT: bar.sync 0; ld.volatile.global.u32 %r1, [%rd2+4004];" END, 40, v_lock);
}
END_TEST

static uint32_t v_chain(uint32_t t) { return t + 1; }
START_TEST(each_lane_waits_for_the_one_before)
{
    expect(BEGIN("") "setp.eq.u32 %p1, %r9, 0; @%p1 bra GO;"
           "WAIT: ld.volatile.global.u32 %r2, [%rd9+3996]; setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT; bra NEXT; GO: mov.u32 %r2, 0;"
           "NEXT: add.u32 %r1, %r2, 1; st.volatile.global.u32 [%rd9+4000], %r1;" END, 64, v_chain);
}
END_TEST

static uint32_t v_sleep(uint32_t t) { return t == 31 ? 5 : 6; }
START_TEST(waits_with_nanosleep)
{
    expect(BEGIN("") "setp.eq.u32 %p1, %r9, 31; @!%p1 bra WAIT; mov.u32 %r1, 5; st.volatile.global.u32 [%rd2+4000], %r1; bra OUT;"
           "WAIT: ld.volatile.global.u32 %r1, [%rd2+4000]; nanosleep.u32 100; setp.eq.u32 %p2, %r1, 0; @%p2 bra WAIT; add.u32 %r1, %r1, 1; OUT:" END, 32, v_sleep);
}
END_TEST

/* ---- barriers of the CTA ---- */

static uint32_t v_rev(uint32_t t) { return 255 - t; }
START_TEST(barrier_exchange)
{
    expect(BEGIN(".shared .align 4 .b8 s[1024];") "mov.u32 %r2, s; shl.b32 %r3, %r9, 2; add.u32 %r4, %r2, %r3; st.shared.u32 [%r4], %r9; bar.sync 0;"
           "sub.u32 %r5, 1020, %r3; add.u32 %r5, %r5, %r2; ld.shared.u32 %r1, [%r5];" END, 256, v_rev);
}
END_TEST

static uint32_t v_exits(uint32_t t) { return t < 20 || t > 90 ? 0 : 71; }
START_TEST(exited_threads_release_barriers)
{
    expect(BEGIN("") "setp.lt.u32 %p1, %r9, 20; @%p1 exit; setp.gt.u32 %p1, %r9, 90; @%p1 bra OUT; mov.pred %p2, -1; bar.red.popc.u32 %r1, 0, %p2; st.global.u32 [%rd9], %r1; OUT: ret; }\n",
           128, v_exits);
}
END_TEST

static uint32_t v_red(uint32_t t) { (void)t; return 32 * 1000 + 0 + 10; }
START_TEST(barrier_reductions)
{
    expect(BEGIN("") "and.b32 %r2, %r9, 3; setp.eq.u32 %p1, %r2, 0; bar.red.popc.u32 %r3, 1, %p1; bar.red.and.pred %p2, 2, %p1; bar.red.or.pred %p3, 3, 128, %p1;"
           "mul.lo.u32 %r1, %r3, 1000; selp.u32 %r4, 1, 0, %p2; selp.u32 %r5, 10, 0, %p3; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r5;" END, 128, v_red);
}
END_TEST

static uint32_t v_div(uint32_t t) { return t % 2 ? 64 : 64; }
START_TEST(barrier_in_divergent_code)
{
    expect(BEGIN("") "and.b32 %r2, %r9, 1; setp.eq.u32 %p1, %r2, 0; mov.pred %p3, -1; @%p1 bra EVEN; barrier.sync 0; barrier.red.popc.u32 %r1, 0, %p3; bra OUT;"
           "EVEN: barrier.sync 0; barrier.red.popc.u32 %r1, 0, %p3; OUT:" END, 64, v_div);
}
END_TEST

static uint32_t v_prod(uint32_t t) { return t < 32 ? 0 : t - 32 + 100; }
START_TEST(arrive_and_sync)
{
    expect(BEGIN(".shared .align 4 .b8 s[256];") "mov.u32 %r2, s; shl.b32 %r3, %r9, 2; add.u32 %r4, %r2, %r3; mov.u32 %r1, 0; setp.ge.u32 %p1, %r9, 32; @%p1 bra CONSUME;"
           "add.u32 %r5, %r9, 100; st.shared.u32 [%r4], %r5; bar.arrive 5, 64; bra OUT; CONSUME: bar.sync 5, 64; ld.shared.u32 %r1, [%r4+-128]; OUT:" END, 64, v_prod);
}
END_TEST

START_TEST(barrier_that_cannot_complete)
{
    run_open(BEGIN("") "setp.ge.u32 %p1, %r9, 32; @%p1 bra B; bar.sync 1, 64; B: mov.u32 %r1, 1;" END);
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    run.launch.block[0] = 64;
    ck_assert_int_eq(run_kernel("k", &out, 1), EMU_BLOCKED);
    ck_assert_ptr_nonnull(strstr(run.said, "barrier 1"));
    run_open(BEGIN("") "mov.u32 %r1, 3;" END);             /* what was left behind does no harm */
    run_done("k");
    ck_assert_uint_eq(run.out[63], 3);
}
END_TEST

static uint32_t v_yields(uint32_t t) { return t < 32 ? 3000 : 3000 + t; }
START_TEST(yields_while_others_wait_at_a_barrier)
{
    /* the first warp is slow; the quantum ends in it, and the others have nothing to do */
    run.quantum = 1000;
    expect(BEGIN("") "mov.u32 %r1, 0; setp.ge.u32 %p1, %r9, 32; @%p1 bra MEET; L: add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 3000; @%p2 bra L; st.global.u32 [%rd2+4000], %r1;"
           "MEET: bar.sync 0; @!%p1 bra OUT; ld.global.u32 %r1, [%rd2+4000]; add.u32 %r1, %r1, %r9; OUT:" END, 128, v_yields);
}
END_TEST

/* ---- warp-wide ---- */

static uint32_t v_shfl(uint32_t t)
{
    uint32_t l = t % 32, up = l >= 3 ? l - 3 : l, down = l + 5 < 32 ? l + 5 : l, fly = l ^ 9, idx = (l & 24) | 3, seg = (l & 7) + 2 < 8 ? l + 2 : l;
    return up + (down << 5) + (fly << 10) + (idx << 15) + (seg << 20) + ((l & 7) + 2 < 8 ? 1u << 25 : 0);
}
START_TEST(shuffles)
{
    expect(BEGIN("") "mov.u32 %r2, %laneid; shfl.sync.up.b32 %r3, %r2, 3, 0, -1; shfl.sync.down.b32 %r4, %r2, 5, 31, -1; shfl.sync.bfly.b32 %r5, %r2, 9, 31, -1;"
           "shfl.sync.idx.b32 %r6, %r2, 3, 0x181f, -1; shfl.sync.down.b32 %r7|%p1, %r2, 2, 0x181f, -1; selp.u32 %r8, 1, 0, %p1;"
           "shl.b32 %r4, %r4, 5; shl.b32 %r5, %r5, 10; shl.b32 %r6, %r6, 15; shl.b32 %r7, %r7, 20; shl.b32 %r8, %r8, 25;"
           "add.u32 %r1, %r3, %r4; add.u32 %r1, %r1, %r5; add.u32 %r1, %r1, %r6; add.u32 %r1, %r1, %r7; add.u32 %r1, %r1, %r8;" END, 64, v_shfl);
}
END_TEST

static uint32_t v_votes(uint32_t t) { (void)t; return 0x000000ff ^ (0u << 29 | 1u << 30 | 0u << 31); }
START_TEST(votes)
{
    expect(BEGIN("") "setp.lt.u32 %p1, %r9, 8; vote.sync.ballot.b32 %r1, %p1, -1; vote.sync.all.pred %p2, %p1, -1; vote.sync.any.pred %p3, %p1, -1; vote.sync.uni.pred %p4, %p1, -1;"
           "selp.u32 %r2, 0x20000000, 0, %p2; selp.u32 %r3, 0x40000000, 0, %p3; selp.u32 %r4, 0x80000000, 0, %p4; xor.b32 %r1, %r1, %r2; xor.b32 %r1, %r1, %r3; xor.b32 %r1, %r1, %r4;" END, 32, v_votes);
}
END_TEST

static uint32_t v_partial(uint32_t t) { return t < 16 ? (t < 8 ? 0xff : 0xff00) : 0xffff0000; }
START_TEST(votes_with_partial_masks)
{
    expect(BEGIN("") "mov.pred %p4, -1; setp.lt.u32 %p1, %r9, 8; setp.lt.u32 %p2, %r9, 16; @%p2 bra LOW; vote.sync.ballot.b32 %r1, %p4, 0xffff0000; bra OUT;"
           "LOW: @%p1 bra LOWEST; vote.sync.ballot.b32 %r1, %p4, 0xff00; bra OUT; LOWEST: vote.sync.ballot.b32 %r1, %p4, 0xff; OUT:" END, 32, v_partial);
}
END_TEST

static uint32_t v_gather(uint32_t t) { return t < 16 ? (t + 16) * 2 : (t - 16) * 3; }
START_TEST(shuffle_between_two_branches)
{
    /* both sides name all 32 lanes: they wait for each other at different instructions and different registers */
    expect(BEGIN("") "mov.u32 %r2, %laneid; setp.lt.u32 %p1, %r2, 16; @%p1 bra LOW; mul.lo.u32 %r3, %r2, 2; shfl.sync.bfly.b32 %r1, %r3, 16, 31, -1; bra OUT;"
           "LOW: mul.lo.u32 %r5, %r2, 3; shfl.sync.bfly.b32 %r1, %r5, 16, 31, -1; OUT:" END, 32, v_gather);
}
END_TEST

static uint32_t v_groups(uint32_t t) { return t % 2 ? 0xaaaaaaaa : 0x55555555; }
START_TEST(groups_that_are_not_complete)
{
    /* the low half names its members in one split, the high half in another: odd lanes wait for odd ones, even for even ones */
    expect(BEGIN("") "mov.pred %p4, -1; and.b32 %r2, %r9, 1; setp.eq.u32 %p1, %r2, 0; selp.b32 %r3, 0x55555555, 0xaaaaaaaa, %p1; setp.lt.u32 %p2, %r9, 16; @%p2 bra LOW;"
           "vote.sync.ballot.b32 %r1, %p4, %r3; bra OUT; LOW: vote.sync.ballot.b32 %r1, %p4, %r3; OUT:" END, 32, v_groups);
}
END_TEST

static uint32_t v_match(uint32_t t) { return 0x11111111u << (t % 4); }
START_TEST(matches)
{
    expect(BEGIN("") "and.b32 %r2, %r9, 3; match.any.sync.b32 %r1, %r2, -1; mov.b64 %rd3, {%r2, %r2}; match.any.sync.b64 %r3, %rd3, -1; match.all.sync.b32 %r4|%p1, %r2, -1;"
           "setp.ne.u32 %p2, %r3, %r1; setp.ne.u32 %p3, %r4, 0; or.pred %p2, %p2, %p3; or.pred %p2, %p2, %p1; @%p2 mov.u32 %r1, 0;" END, 64, v_match);
}
END_TEST

static uint32_t v_redux(uint32_t t) { (void)t; return 496 + 31 - 5; }
START_TEST(reductions)
{
    expect(BEGIN("") "mov.u32 %r2, %laneid; sub.s32 %r3, %r2, 5; redux.sync.add.u32 %r4, %r2, -1; redux.sync.min.s32 %r5, %r3, -1; redux.sync.or.b32 %r6, %r2, -1; redux.sync.and.b32 %r7, %r2, -1;"
           "add.u32 %r1, %r4, %r5; add.u32 %r1, %r1, %r6; add.u32 %r1, %r1, %r7;" END, 32, v_redux);
}
END_TEST

static uint32_t v_active(uint32_t t) { return t % 2 ? 0xaaaaaaaa : 0x55555555; }
START_TEST(active_lanes)
{
    expect(BEGIN("") "and.b32 %r2, %r9, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra E; activemask.b32 %r1; bra OUT; E: activemask.b32 %r1; OUT:" END, 32, v_active);
}
END_TEST

static uint32_t v_elect(uint32_t t) { return t == 4 ? 1004 : 4; }
START_TEST(elections)
{
    expect(BEGIN("") "mov.u32 %r1, 4; setp.lt.u32 %p1, %r9, 4; @%p1 bra OUT; elect.sync %r1|%p2, 0xfffffff0; @%p2 add.u32 %r1, %r1, 1000; OUT: bar.warp.sync -1;" END, 32, v_elect);
}
END_TEST

Suite *sync_suite(void);
Suite *sync_suite(void)
{
    const TTest *const all[] = {
        spin_lock_in_one_warp, spin_lock_that_stays_in_the_loop, each_lane_waits_for_the_one_before, waits_with_nanosleep,
        barrier_exchange, exited_threads_release_barriers, barrier_reductions, barrier_in_divergent_code, arrive_and_sync,
        barrier_that_cannot_complete, yields_while_others_wait_at_a_barrier, shuffles, votes, votes_with_partial_masks, shuffle_between_two_branches, groups_that_are_not_complete, matches,
        reductions, active_lanes, elections };
    Suite *s = suite_create("emu_flow_sync");
    TCase *t = tcase_create("sync");
    tcase_add_checked_fixture(t, run_setup, run_teardown);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) tcase_add_test(t, all[i]);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *r = srunner_create(sync_suite());
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
