/* Kernels that stop in interesting states: for tests of snapshots and checkpoints. Each takes one pointer, to words. */
#ifndef HEDDLE_TESTS_SNAPSHOT_KERNELS_H
#define HEDDLE_TESTS_SNAPSHOT_KERNELS_H

#define SK_HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"
#define SK_ENTRY ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<8>; .reg .f64 %d<8>;\n" \
    "ld.param.u64 %rd1, [p]; mov.u32 %r9, %tid.x; mov.u32 %r8, %ctaid.x; mov.u32 %r7, %ntid.x; mad.lo.u32 %r6, %r8, %r7, %r9; mul.wide.u32 %rd8, %r6, 4; add.s64 %rd9, %rd1, %rd8; mov.u32 %r1, %r6;\n"
#define SK_END "st.global.u32 [%rd9], %r1; ret;\n}\n"

struct snapshot_kernel { const char *name, *text; unsigned threads, blocks, cluster; };

static const struct snapshot_kernel snapshot_kernels[] = {
    {"barriers in a loop, reductions, carries, doubles",
     SK_HEAD SK_ENTRY ".shared .align 8 .b8 box[1024]; mov.u32 %r2, 0; mov.u32 %r10, box; mul.lo.u32 %r3, %r9, 8; add.u32 %r3, %r3, %r10; mov.f64 %d1, 0d3FF0000000000000;\n"
     "LOOP: st.shared.u64 [%r3], %rd9; setp.lt.u32 %p2, %r9, %r2; bar.sync 0; xor.b32 %r4, %r3, 8; ld.shared.u64 %rd3, [%r4]; barrier.red.popc.u32 %r5, 1, %p2;"
     "add.cc.u32 %r1, %r1, %r5; addc.u32 %r1, %r1, 7; cvt.u32.u64 %r11, %rd3; xor.b32 %r1, %r1, %r11; cvt.rn.f64.u32 %d2, %r5; fma.rn.f64 %d1, %d1, %d1, %d2; sqrt.rn.f64 %d1, %d1;"
     "bar.sync 0; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 20; @%p1 bra LOOP; cvt.rzi.u32.f64 %r12, %d1; xor.b32 %r1, %r1, %r12;" SK_END, 100, 3, 1},
    {"recursion of different depths, local memory",
     SK_HEAD ".func (.param .b32 r) f(.param .b32 n)\n{ .reg .pred %p<3>; .reg .b32 %r<9>; .local .b32 keep[4]; ld.param.u32 %r1, [n]; mov.u32 %r2, 1; st.local.u32 [keep+4], %r1;"
     "setp.lt.u32 %p1, %r1, 2; @%p1 bra OUT; { .param .b32 a; .param .b32 b; sub.u32 %r3, %r1, 1; st.param.b32 [a], %r3; call (b), f, (a); ld.param.b32 %r4, [b]; }"
     "{ .param .b32 a; .param .b32 b; sub.u32 %r3, %r1, 2; st.param.b32 [a], %r3; call (b), f, (a); ld.param.b32 %r5, [b]; } ld.local.u32 %r6, [keep+4]; mad.lo.u32 %r2, %r4, %r6, %r5;"
     "OUT: st.param.b32 [r], %r2; ret; }\n" SK_ENTRY "rem.u32 %r2, %r9, 7; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call (b), f, (a); ld.param.b32 %r1, [b]; }" SK_END, 64, 2, 1},
    {"divergence in loops, lanes that meet in the middle of branches",
     SK_HEAD SK_ENTRY "mov.u32 %r2, 0;\nLOOP: and.b32 %r3, %r6, 7; add.u32 %r3, %r3, %r2; and.b32 %r4, %r3, 3; setp.eq.u32 %p1, %r4, 0; @%p1 bra A; setp.eq.u32 %p2, %r4, 1; @%p2 bra B;"
     "activemask.b32 %r5; shfl.sync.bfly.b32 %r10, %r1, 1, 0x1f, %r5; add.u32 %r1, %r1, 3; bra C;\nA: vote.sync.ballot.b32 %r10, %p1, 0xffffffff; mul.lo.u32 %r1, %r1, 5; bra C;\n"
     "B: vote.sync.ballot.b32 %r10, %p2, 0xffffffff; xor.b32 %r1, %r1, 0x55;\nC: setp.gt.u32 %p3, %r4, 1; @%p3 vote.sync.ballot.b32 %r10, %p3, 0xffffffff; bar.warp.sync 0xffffffff;"
     "add.u32 %r2, %r2, 1; rem.u32 %r11, %r9, 13; add.u32 %r11, %r11, 9; setp.ge.u32 %p4, %r2, %r11; vote.sync.all.pred %p5, %p4, 0xffffffff; @!%p5 bra LOOP;" SK_END, 64, 2, 1},
    {"an own stack", SK_HEAD SK_ENTRY "mov.u32 %r2, 0;\nLOOP: stacksave.u64 %rd3; mul.wide.u32 %rd4, %r9, 8; add.u64 %rd4, %rd4, 8; alloca.u64 %rd5, %rd4, 16; alloca.u64 %rd6, 16; st.local.u32 [%rd5], %r1;"
     "add.u32 %r3, %r9, 100; st.local.u32 [%rd6+4], %r3; and.b32 %r10, %r9, 1; setp.eq.u32 %p1, %r10, 0; @%p1 bra SKIP; add.u32 %r1, %r1, 9;\nSKIP: ld.local.u32 %r4, [%rd5]; ld.local.u32 %r5, [%rd6+4];"
     "add.u32 %r1, %r4, %r5; stackrestore.u64 %rd3; add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 9; @%p2 bra LOOP;" SK_END, 40, 2, 1},
    {"copies in flight, a pipeline over mbarriers",
     SK_HEAD SK_ENTRY ".shared .align 16 .b8 box[2048]; .shared .align 8 .b64 full; .shared .align 8 .b64 empty; setp.ne.u32 %p1, %r9, 0; @%p1 bra READY; mbarrier.init.shared.b64 [full], 32; mbarrier.init.shared.b64 [empty], 64;\n"
     "READY: bar.sync 0; mov.u32 %r2, 0; mov.u32 %r10, box; setp.ge.u32 %p2, %r9, 32; @%p2 bra TAKE;\n"
     "GIVE: and.b32 %r3, %r2, 1; mul.lo.u32 %r4, %r9, 16; add.u32 %r4, %r4, %r10; mul.wide.u32 %rd3, %r9, 16; add.u64 %rd3, %rd3, %rd1; cp.async.ca.shared.global [%r4], [%rd3], 16; cp.async.commit_group;"
     "cp.async.wait_group 0; ld.shared.u32 %r5, [%r4]; add.u32 %r5, %r5, %r2; st.shared.u32 [%r4], %r5; mbarrier.arrive.shared.b64 %rd4, [full];\n"
     "W1: mbarrier.try_wait.parity.shared.b64 %p3, [empty], %r3; @!%p3 bra W1; add.u32 %r2, %r2, 1; setp.lt.u32 %p4, %r2, 8; @%p4 bra GIVE; bra OUT;\n"
     "TAKE: and.b32 %r3, %r2, 1;\nW2: mbarrier.try_wait.parity.shared.b64 %p3, [full], %r3; @!%p3 bra W2; and.b32 %r4, %r9, 31; mul.lo.u32 %r4, %r4, 16; add.u32 %r4, %r4, %r10; ld.shared.u32 %r5, [%r4];"
     "mad.lo.u32 %r1, %r1, 31, %r5; mbarrier.arrive.shared.b64 %rd4, [empty]; add.u32 %r2, %r2, 1; setp.lt.u32 %p4, %r2, 8; @%p4 bra TAKE;\nOUT: bar.sync 0; add.s64 %rd9, %rd9, 4096;" SK_END, 96, 2, 1},
    {"a cluster", SK_HEAD SK_ENTRY ".shared .align 4 .b32 box[64]; mov.u32 %r2, 0; mov.u32 %r3, %cluster_ctarank; add.u32 %r3, %r3, 1; mov.u32 %r4, %cluster_nctarank; rem.u32 %r3, %r3, %r4; mov.u32 %r10, box;"
     "mul.lo.u32 %r5, %r9, 4; add.u32 %r5, %r5, %r10; mapa.shared::cluster.u32 %r11, %r5, %r3;\nLOOP: barrier.cluster.arrive; add.u32 %r1, %r1, %r2; barrier.cluster.wait; st.shared::cluster.u32 [%r11], %r1;"
     "barrier.cluster.arrive; barrier.cluster.wait; ld.shared.u32 %r12, [%r5]; mad.lo.u32 %r1, %r1, 3, %r12; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 6; @%p1 bra LOOP;" SK_END, 64, 8, 4},
    {"the barrier of a cluster that is a block", SK_HEAD SK_ENTRY "mov.u32 %r2, 0;\nLOOP: barrier.cluster.arrive; mad.lo.u32 %r1, %r1, 7, %r2; barrier.cluster.wait; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 9; @%p1 bra LOOP;" SK_END, 70, 2, 1},
    {"calls by address", SK_HEAD ".func (.param .b32 r) a(.param .b32 n) { .reg .b32 %r<3>; ld.param.u32 %r1, [n]; mul.lo.u32 %r1, %r1, 3; st.param.b32 [r], %r1; ret; }\n"
     ".func (.param .b32 r) b(.param .b32 n) { .reg .pred %p; .reg .b32 %r<3>; ld.param.u32 %r1, [n];\nL: add.u32 %r1, %r1, 17; setp.lt.u32 %p, %r1, 200; @%p bra L; st.param.b32 [r], %r1; ret; }\n"
     ".global .align 8 .u64 table[2] = {a, b};\n" SK_ENTRY "mov.u32 %r2, 0; P: .callprototype (.param .b32 _) _ (.param .b32 _);\nLOOP: and.b32 %r3, %r1, 1; mul.wide.u32 %rd3, %r3, 8; mov.u64 %rd4, table; add.u64 %rd4, %rd4, %rd3;"
     "ld.global.u64 %rd5, [%rd4]; { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), %rd5, (x), P; ld.param.b32 %r1, [y]; } add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 6; @%p1 bra LOOP;" SK_END, 64, 2, 1},
    {"spin locks between lanes", SK_HEAD SK_ENTRY "mov.u32 %r2, 0;\nLOOP: atom.global.cas.b32 %r3, [%rd1+8192], 0, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra LOOP; ld.volatile.global.u32 %r4, [%rd1+8196]; add.u32 %r4, %r4, 1;"
     "st.volatile.global.u32 [%rd1+8196], %r4; membar.gl; atom.global.exch.b32 %r3, [%rd1+8192], 0; mov.u32 %r1, 1;" SK_END, 48, 1, 1},
};
enum { SNAPSHOT_KERNELS = sizeof snapshot_kernels / sizeof snapshot_kernels[0] };

#endif
