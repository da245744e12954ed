/* Accesses through a base register that is used more than once: the engine remembers the shape of its row (struct mem_shape). Every pattern of addresses, with
 * definitions under full masks, under guards and on one side of a branch, must give what lane-by-lane accesses give. */
#include <stdarg.h>

#include "tests/unit/emu_run.h"

enum { DATA = 1024, COPY = 4096, WORDS = 1024 };        /* words of run.out: what is loaded, what is stored */

/* Byte offset of a lane, as PTX from %r1 to %r2 (%r3 is free), and as C. */
struct pattern { const char *ptx; uint32_t (*offset)(uint32_t l); };
static uint32_t dense4(uint32_t l) { return 4 * l; }
static uint32_t dense8(uint32_t l) { return 8 * l; }
static uint32_t dense16(uint32_t l) { return 16 * l; }
static uint32_t same(uint32_t l) { return 64 + 0 * l; }
static uint32_t halves(uint32_t l) { return l / 16 * 256 + l % 16 * 4; }
static uint32_t halves_same(uint32_t l) { return l / 16 * 64; }
static uint32_t groups(uint32_t l) { return l / 8 * 512 + l % 8 * 4; }
static uint32_t groups_overlap(uint32_t l) { return l / 8 * 16 + l % 8 * 4; }
static uint32_t groups_down(uint32_t l) { return (3 - l / 8) * 32 + l % 8 * 4; }
static uint32_t reversed(uint32_t l) { return (31 - l) * 4; }
static uint32_t stride12(uint32_t l) { return 12 * l; }
static uint32_t scrambled(uint32_t l) { return l * 13 % 32 * 4; }
static uint32_t mixed(uint32_t l) { return l < 16 ? 4 * l : 128; }
static const struct pattern patterns[] = {
    { "shl.b32 %r2, %r1, 2;", dense4 },
    { "shl.b32 %r2, %r1, 3;", dense8 },
    { "shl.b32 %r2, %r1, 4;", dense16 },
    { "and.b32 %r2, %r1, 64; add.u32 %r2, %r2, 64;", same },
    { "shr.u32 %r2, %r1, 4; and.b32 %r3, %r1, 15; shl.b32 %r3, %r3, 2; mad.lo.u32 %r2, %r2, 256, %r3;", halves },
    { "shr.u32 %r2, %r1, 4; shl.b32 %r2, %r2, 6;", halves_same },
    { "shr.u32 %r2, %r1, 3; and.b32 %r3, %r1, 7; shl.b32 %r3, %r3, 2; mad.lo.u32 %r2, %r2, 512, %r3;", groups },
    { "shr.u32 %r2, %r1, 3; and.b32 %r3, %r1, 7; shl.b32 %r3, %r3, 2; mad.lo.u32 %r2, %r2, 16, %r3;", groups_overlap },
    { "shr.u32 %r2, %r1, 3; sub.u32 %r2, 3, %r2; and.b32 %r3, %r1, 7; shl.b32 %r3, %r3, 2; mad.lo.u32 %r2, %r2, 32, %r3;", groups_down },
    { "sub.u32 %r2, 31, %r1; shl.b32 %r2, %r2, 2;", reversed },
    { "mul.lo.u32 %r2, %r1, 12;", stride12 },
    { "mul.lo.u32 %r2, %r1, 13; and.b32 %r2, %r2, 31; shl.b32 %r2, %r2, 2;", scrambled },
    { "setp.lt.u32 %p1, %r1, 16; shl.b32 %r2, %r1, 2; selp.u32 %r2, %r2, 128, %p1;", mixed },
};
enum { N = sizeof patterns / sizeof *patterns };

static uint32_t data(uint32_t byte) { return byte / 4 * 7 + 1; }

/* A kernel whose body is the given texts one after the other, NULL last. %rd9 out, %rd1 out + 4 tid, %r1 tid; shared memory is a copy of the data. */
static void run_body(const char *body, ...)
{
    static char text[32768];
    size_t n = (size_t)snprintf(text, sizeof text, "%s.visible .entry k(.param .u64 out) {\n.reg .pred %%p<9>; .reg .b32 %%r<40>; .reg .b64 %%rd<40>;\n"
                                ".shared .align 16 .b8 s[4096];\nld.param.u64 %%rd9, [out];\nmov.u32 %%r1, %%tid.x;\nmul.wide.u32 %%rd2, %%r1, 4;\n"
                                "add.s64 %%rd1, %%rd9, %%rd2; mov.u32 %%r30, s; shl.b32 %%r31, %%r1, 2; add.u32 %%r31, %%r30, %%r31;\n", PTX_HEAD);
    for (unsigned i = 0; i < WORDS / 32; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "ld.global.u32 %%r32, [%%rd1+%u]; st.shared.u32 [%%r31+%u], %%r32;\n", 4 * DATA + 128 * i, 128 * i);
    va_list ap;
    va_start(ap, body);
    for (; body; body = va_arg(ap, const char *)) n += (size_t)snprintf(text + n, sizeof text - n, "%s\n", body);
    va_end(ap);
    snprintf(text + n, sizeof text - n, "ret;\n}\n");
    run_open(text);
    for (uint32_t i = 0; i < WORDS; i++) run.out[DATA + i] = data(4 * i);
    run_done("k");
}

static void expect(unsigned slot, uint32_t lane, uint32_t want, unsigned pattern)
{
    ck_assert_msg(run.out[32 * slot + lane] == want, "pattern %u, result %u, lane %u: %u, not %u", pattern, slot, lane, run.out[32 * slot + lane], want);
}

/* Base registers of both spaces from %r2: %rd4 global, %r4 shared. */
#define BASES "cvt.u64.u32 %rd3, %r2; add.s64 %rd4, %rd9, %rd3; add.u32 %r4, %r30, %r2;\n"
#define LOADS(a, b, c, d)                                                                                                        \
    "ld.global.u32 %r10, [%rd4+4096]; ld.global.u32 %r11, [%rd4+4100]; ld.shared.u32 %r12, [%r4]; ld.shared.u32 %r13, [%r4+4];\n" \
    "st.global.u32 [%rd1+" #a "], %r10; st.global.u32 [%rd1+" #b "], %r11; st.global.u32 [%rd1+" #c "], %r12; st.global.u32 [%rd1+" #d "], %r13;\n"

START_TEST(loads)
{
    run_body(patterns[_i].ptx, BASES LOADS(0, 128, 256, 384), NULL);
    for (uint32_t l = 0; l < 32; l++)
        for (unsigned k = 0; k < 4; k++) expect(k, l, data(patterns[_i].offset(l) + 4 * (k & 1)), (unsigned)_i);
}
END_TEST

START_TEST(stores)
{
    run_body(patterns[_i].ptx, BASES "st.global.u32 [%rd4+16384], %r1; st.global.u32 [%rd4+20480], %r1; st.shared.u32 [%r4], %r1; st.shared.u32 [%r4+4], %r1;\n"
             "ld.shared.u32 %r10, [%r4]; st.global.u32 [%rd1], %r10;", NULL);
    uint32_t want[WORDS] = { 0 };
    for (uint32_t l = 0; l < 32; l++) want[patterns[_i].offset(l) / 4] = l;
    for (uint32_t i = 0; i < WORDS; i++)
        ck_assert_msg(run.out[COPY + i] == want[i] && run.out[COPY + 1024 + i] == want[i], "pattern %d, word %u: %u, not %u", _i, i, run.out[COPY + i], want[i]);
}
END_TEST

START_TEST(vectors)
{
    run_body(patterns[_i].ptx, "shl.b32 %r2, %r2, 1;\n" BASES
             "ld.global.v2.u32 {%r10, %r11}, [%rd4+4096]; ld.global.u64 %rd10, [%rd4+4096]; ld.shared.v2.u32 {%r12, %r13}, [%r4]; shr.u64 %rd10, %rd10, 32; cvt.u32.u64 %r14, %rd10;\n"
             "st.global.u32 [%rd1], %r10; st.global.u32 [%rd1+128], %r11; st.global.u32 [%rd1+256], %r12; st.global.u32 [%rd1+384], %r13; st.global.u32 [%rd1+512], %r14;\n"
             "st.global.v2.u32 [%rd4+16384], {%r1, 5};", NULL);
    uint32_t want[WORDS] = { 0 };
    for (uint32_t l = 0; l < 32; l++) {
        uint32_t at = 2 * patterns[_i].offset(l);
        for (unsigned k = 0; k < 4; k++) expect(k, l, data(at + 4 * (k & 1)), (unsigned)_i);
        expect(4, l, data(at + 4), (unsigned)_i);
        want[at / 4] = l;
        want[at / 4 + 1] = 5;
    }
    ck_assert(!memcmp(&run.out[COPY], want, sizeof want));
}
END_TEST

/* The pattern is taken by lanes below 20 only, by a guard or by a branch; the others keep dense addresses. */
START_TEST(partial_definitions)
{
    for (int branch = 0; branch < 2; branch++) {
        if (branch)
            run_body("shl.b32 %r2, %r1, 2;\n" BASES "setp.ge.u32 %p2, %r1, 20; @%p2 bra OVER;", patterns[_i].ptx,
                     BASES LOADS(0, 128, 256, 384) "OVER:\n" LOADS(512, 640, 768, 896), NULL);
        else
            run_body(patterns[_i].ptx, "mov.u32 %r5, %r2; shl.b32 %r2, %r1, 2;\n" BASES "setp.lt.u32 %p2, %r1, 20;\n"
                     "@%p2 add.u32 %r4, %r30, %r5; cvt.u64.u32 %rd3, %r5; @%p2 add.s64 %rd4, %rd9, %rd3;\n" LOADS(512, 640, 768, 896), NULL);
        for (uint32_t l = 0; l < 32; l++)
            for (unsigned k = 0; k < 4; k++) {
                uint32_t at = (l < 20 ? patterns[_i].offset(l) : 4 * l) + 4 * (k & 1);
                expect(4 + k, l, data(at), (unsigned)_i);
                if (branch) expect(k, l, l < 20 ? data(at) : 0, (unsigned)_i);
            }
    }
}
END_TEST

START_TEST(moving_base)
{
    run_body(patterns[_i].ptx, BASES "mov.u32 %r20, 0; mov.u32 %r21, 0;\nLOOP:\n"
             "ld.global.u32 %r10, [%rd4+4096]; ld.global.u32 %r11, [%rd4+4100]; ld.shared.u32 %r12, [%r4]; ld.shared.u32 %r13, [%r4+4];\n"
             "mad.lo.u32 %r21, %r21, 3, %r10; add.u32 %r21, %r21, %r11; add.u32 %r21, %r21, %r12; sub.u32 %r21, %r21, %r13;\n"
             "add.s64 %rd4, %rd4, 4; add.u32 %r4, %r4, 4; add.u32 %r20, %r20, 1; setp.lt.u32 %p3, %r20, 5; @%p3 bra LOOP;\nst.global.u32 [%rd1], %r21;", NULL);
    for (uint32_t l = 0; l < 32; l++) {
        uint32_t want = 0, at = patterns[_i].offset(l);
        for (unsigned k = 0; k < 5; k++, at += 4) want = want * 3 + data(at) + data(at + 4) + data(at) - data(at + 4);
        expect(0, l, want, (unsigned)_i);
    }
}
END_TEST

START_TEST(up_to_the_last_word)
{
    run_body("shl.b32 %r2, %r1, 2;\n" BASES "ld.shared.u32 %r10, [%r4]; ld.shared.u32 %r11, [%r4+3968]; st.global.u32 [%rd1], %r11;", NULL);
    for (uint32_t l = 0; l < 32; l++) expect(0, l, data(4 * l + 3968), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emu_mem_shape");
    TCase *t = tcase_create("shape");
    tcase_add_checked_fixture(t, run_setup, run_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, loads, 0, N);
    tcase_add_loop_test(t, stores, 0, N);
    tcase_add_loop_test(t, vectors, 0, N);
    tcase_add_loop_test(t, partial_definitions, 0, N);
    tcase_add_loop_test(t, moving_base, 0, N);
    tcase_add_test(t, up_to_the_last_word);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
