/* Control flow, post-dominators, what instructions read and write, liveness. */
#include "tests/unit/ptx_rig.h"

static struct arena arena;
static struct ptx_cfg cfg;

static const struct ptx_function *build(const char *insns)
{
    const struct ptx_function *f = rig_kernel(insns);
    ck_assert_msg(ptx_cfg_build(&cfg, f, &arena, &error) == ST_OK, "%s", error.text);
    return f;
}

static void done(void)
{
    arena_free(&arena);
    rig_close();
}

START_TEST(straight_line)
{
    build("add.s32 %r1, %r2, %r3; call.uni %d1, (%r1), P; P: .callprototype _ (.param .b32 _); ret;");
    ck_assert_uint_eq(cfg.n_blocks, 1);
    ck_assert(cfg.blocks[0].falls_out && cfg.blocks[0].n_succ == 0 && cfg.blocks[0].ipdom == -1);
    done();
}
END_TEST

START_TEST(diamond)
{
    build("setp.eq.s32 %p1, %r1, 0; @%p1 bra A; mov.u32 %r2, 1; bra B; A: mov.u32 %r2, 2; B: mov.u32 %r3, %r2; ret;");
    ck_assert_uint_eq(cfg.n_blocks, 4);
    ck_assert_uint_eq(cfg.blocks[0].n_succ, 2);
    ck_assert_uint_eq(cfg.blocks[0].succ[0], 2);
    ck_assert_uint_eq(cfg.blocks[0].succ[1], 1);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(cfg.blocks[i].ipdom, 3);
    ck_assert_int_eq(cfg.blocks[3].ipdom, -1);
    done();
}
END_TEST

START_TEST(loops)
{
    build("L: add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 9; @%p1 bra L; @%p2 exit; M: bra M;");
    ck_assert_uint_eq(cfg.n_blocks, 3);
    ck_assert_int_eq(cfg.blocks[0].ipdom, 1);
    ck_assert(cfg.blocks[1].falls_out && cfg.blocks[1].n_succ == 1);
    ck_assert_int_eq(cfg.blocks[1].ipdom, -1);
    ck_assert_int_eq(cfg.blocks[2].ipdom, -1);             /* never leaves */
    done();
}
END_TEST

START_TEST(indexed_branch)
{
    build("T: .branchtargets A, B, A, C;\nbrx.idx %r1, T; A: mov.u32 %r1, 1; bra C; B: mov.u32 %r1, 2; C: ret;");
    ck_assert_uint_eq(cfg.blocks[0].n_succ, 3);
    ck_assert_int_eq(cfg.blocks[0].ipdom, 3);
    done();
}
END_TEST

START_TEST(label_at_the_end)
{
    build("@%p1 bra E; mov.u32 %r1, 1; E:");
    ck_assert(cfg.blocks[0].falls_out && cfg.blocks[0].n_succ == 1 && cfg.blocks[0].ipdom == -1 && cfg.blocks[1].falls_out);
    done();
}
END_TEST

/* ---- reads and writes -------------------------------------------------------------------------------- */

static char seen[400];
static const struct ptx_function *seen_in;
static void note(void *user, int32_t reg, bool write)
{
    (void)user;
    snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s%s%s", *seen ? " " : "", write ? "=" : "", seen_in->regs[reg].name + 1);
}

START_TEST(reads_and_writes)
{
    static const struct { const char *insn, *regs; } rows[] = {
        { "add.s32 %r1, %r2, %r3;", "r2 r3 =r1" },
        { "@!%p1 add.s32 %r1, %r2, 3;", "p1 r1 r2 =r1" },
        { "st.global.v2.u32 [%d1+4], {%r1, %r2};", "d1 r1 r2" },
        { "ld.global.v2.u32 {%r1, _}, [%d1];", "d1 =r1" },
        { "setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;", "r1 r2 p3 =p1 =p2" },
        { "atom.global.add.u32 %r1, [%d1], %r2;", "d1 r2 =r1" },
        { "red.global.add.u32 [%d1], %r2;", "d1 r2" },
        { "bar.sync %r1, %r2;", "r1 r2" },
        { "bar.red.and.pred %p1, 0, %p2;", "p2 =p1" },
        { "shfl.sync.idx.b32 %r1|%p1, %r2, %r3, 31, -1;", "r2 r3 =r1 =p1" },
        { "vadd.u32.u32.u32 %r1.b0, %r2, %r3, %r4;", "r1 r2 r3 r4 =r1" },
        { "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5, %f6}];", "d1 f5 f6 =f1 =f2 =f3 =f4" },
        { "mbarrier.arrive.shared.b64 _, [%r1];", "r1" },
        { "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r1], {%r2, %r3};", "r1 r2 r3" },
        { "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r1, %r2}, %d1, %d2, %p1, 1, 1, 0, 0;", "r1 r2 d1 d2 p1 =r1 =r2" },
        { "call (%r1), %d1, (%r2, %r3), P; P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);", "d1 r2 r3 =r1" },
        { "mov.b64 {%r1, %r2}, %d1;", "d1 =r1 =r2" },
        { "tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r1}, [%r2];", "r2 =r1" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        seen_in = rig_kernel(rows[i].insn);
        seen[0] = '\0';
        ptx_insn_regs(seen_in, &seen_in->insns[0], note, NULL);
        ck_assert_str_eq(seen, rows[i].regs);
        rig_close();
    }
}
END_TEST

static bool live(const uint64_t *set, const struct ptx_function *f, uint32_t words, uint32_t block, const char *name)
{
    for (uint32_t r = 0; r < f->n_regs; r++)
        if (strcmp(f->regs[r].name, name) == 0)
            return set[(size_t)block * words + r / 64] >> (r % 64) & 1;
    return false;
}

START_TEST(liveness)
{
    struct ptx_liveness l;
    const struct ptx_function *f = build("mov.u32 %r1, 0; L: add.s32 %r1, %r1, %r2; @%p1 mov.u32 %r3, 1; setp.lt.s32 %p1, %r1, 9; @%p1 bra L; mov.u32 %r4, %r3; ret;");
    ck_assert(ptx_liveness_build(&l, f, &cfg, &arena, &error) == ST_OK);
    ck_assert_uint_eq(cfg.n_blocks, 3);
    ck_assert(!live(l.live_in, f, l.words, 0, "%r1") && live(l.live_out, f, l.words, 0, "%r1"));
    ck_assert(live(l.live_in, f, l.words, 0, "%r2") && live(l.live_in, f, l.words, 1, "%r2") && !live(l.live_in, f, l.words, 2, "%r2"));
    ck_assert(live(l.live_in, f, l.words, 0, "%r3"));      /* a guarded write keeps the old value alive */
    ck_assert(live(l.live_out, f, l.words, 1, "%r3") && !live(l.live_out, f, l.words, 2, "%r4"));
    done();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { straight_line, diamond, loops, indexed_branch, label_at_the_end, reads_and_writes, liveness };
    return rig_run("ptx_flow", tests, sizeof tests / sizeof tests[0]);
}
