/* Memory instructions as PTX text, through parser, decoder and engine. */
#include "tests/unit/emu_run.h"

/* Kernels with one parameter, the address of run.out; out is run.out + 4 * tid in %rd1, tid in %r1. */
static void kernel(const char *globals, const char *body)
{
    static const char *const start =
        ".visible .entry k(.param .u64 out) {\n.reg .pred %p<9>; .reg .b16 %h<20>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<20>; .reg .f64 %d<9>;\n"
        ".reg .b128 %q<4>;\nld.param.u64 %rd9, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd1, %rd9, %rd2;\n";
    static char text[16384];
    snprintf(text, sizeof text, "%s%s\n%s%s\nret;\n}\n", PTX_HEAD, globals, start, body);
    run_open(text);
}

START_TEST(narrow_types_in_wide_registers)
{
    kernel("", "mov.u32 %r2, 0x8081fff3; st.global.u32 [%rd9+4096], %r2;\n"
               "ld.global.s8 %r3, [%rd9+4096]; st.global.u32 [%rd1], %r3;\n"
               "ld.global.u8 %r3, [%rd9+4096]; st.global.u32 [%rd1+128], %r3;\n"
               "ld.global.s16 %r3, [%rd9+4096]; st.global.u32 [%rd1+256], %r3;\n"
               "ld.global.u16 %r3, [%rd9+4098]; st.global.u32 [%rd1+384], %r3;\n"
               "ld.global.s32 %rd3, [%rd9+4096]; shr.u64 %rd4, %rd3, 32; cvt.u32.u64 %r3, %rd4; st.global.u32 [%rd1+512], %r3;\n"
               "ld.global.s8 %h1, [%rd9+4097]; cvt.s32.s16 %r3, %h1; st.global.u32 [%rd1+640], %r3;\n"
               "mov.u32 %r4, 0x12345678; st.global.u8 [%rd9+4099], %r4; st.global.u16 [%rd9+4096], %r4; ld.global.u32 %r3, [%rd9+4096]; st.global.u32 [%rd1+768], %r3;\n"
               "mov.u64 %rd5, 0x1122334455667788; st.global.u8 [%rd9+4099], %rd5; ld.global.u8 %rd6, [%rd9+4099]; st.global.u32 [%rd1+896], %rd6;");
    run_done("k");
    static const uint32_t want[] = { 0xfffffff3u, 0xf3, 0xfffffff3u, 0x8081, 0xffffffffu, 0xffffffffu, 0x78815678, 0x88 };
    for (unsigned i = 0; i < 8; i++)
        for (unsigned l = 0; l < 32; l += 31) ck_assert_msg(run.out[32 * i + l] == want[i], "%u: %x", i, run.out[32 * i + l]);
}
END_TEST

START_TEST(vectors)
{
    kernel("", "mul.wide.u32 %rd3, %r1, 32; add.s64 %rd4, %rd9, %rd3;\n"
               "add.u32 %r2, %r1, 100; add.u32 %r3, %r1, 200; add.u32 %r4, %r1, 300; add.u32 %r5, %r1, 400;\n"
               "st.global.v4.b32 [%rd4+4096], {%r2, %r3, %r4, %r5}; st.global.v2.u32 [%rd4+4112], {%r5, 7}; st.global.v2.u32 [%rd4+4120], {8, %r1};\n"
               "ld.global.v4.u32 {%r10, %r11, _, %r13}, [%rd4+4096]; ld.global.nc.v2.u32 {%r14, %r15}, [%rd4+4112];\n"
               "add.u32 %r6, %r10, %r11; add.u32 %r6, %r6, %r13; add.u32 %r6, %r6, %r14; add.u32 %r6, %r6, %r15; st.global.u32 [%rd1], %r6;\n"
               "ld.global.v4.u8 {%h1, %h2, %h3, %h4}, [%rd4+4120]; cvt.u32.u16 %r7, %h1; st.global.u32 [%rd1+128], %r7;\n"
               "ld.global.v2.b64 {%rd10, %rd11}, [%rd4+4112]; st.global.u64 [%rd4+8192], %rd11; ld.global.u32 %r8, [%rd4+8192]; st.global.u32 [%rd1+256], %r8;\n"
               "ld.global.v8.b32 {%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27}, [%rd4+4096]; st.global.v8.b32 [%rd4+16384], {%r27, %r26, %r25, %r24, %r23, %r22, %r21, %r20};\n"
               "ld.global.u32 %r9, [%rd4+16384]; st.global.u32 [%rd1+384], %r9; ld.global.u32 %r9, [%rd4+16412]; st.global.u32 [%rd1+512], %r9;\n"
               "ld.global.b128 %q1, [%rd4+4096]; st.global.b128 [%rd4+32768], %q1; ld.global.u32 %r9, [%rd4+32780]; st.global.u32 [%rd1+640], %r9;");
    run_done("k");
    for (unsigned l = 0; l < 32; l++) {
        ck_assert_uint_eq(run.out[l], 4 * l + 100 + 200 + 400 + 400 + 7);
        ck_assert(run.out[32 + l] == 8 && run.out[64 + l] == 8 && run.out[96 + l] == l && run.out[128 + l] == 100 + l && run.out[160 + l] == 400 + l);
    }
}
END_TEST

START_TEST(spaces_and_generic_addresses)
{
    kernel(".shared .align 4 .b8 other[64]; .shared .align 16 .b8 s[256]; .const .align 4 .u32 c[4] = {5, 6, 7, 8}; .global .align 4 .u32 g[32];",
           ".local .align 8 .b8 mine[64];\n"
           "mul.lo.u32 %r2, %r1, 4; mov.u32 %r3, s; add.u32 %r4, %r3, %r2; add.u32 %r5, %r1, 50;\n"
           "st.shared.u32 [%r4], %r5; mov.u64 %rd3, s; cvta.shared.u64 %rd4, %rd3; add.u64 %rd5, %rd4, %rd2; ld.u32 %r6, [%rd5]; st.global.u32 [%rd1], %r6;\n"
           "add.u32 %r5, %r5, 1; st.u32 [%rd5], %r5; ld.shared.u32 %r6, [%r4]; st.global.u32 [%rd1+128], %r6;\n"
           "mov.u64 %rd6, mine; cvta.local.u64 %rd7, %rd6; st.local.u32 [mine+8], %r1; ld.u32 %r6, [%rd7+8]; st.global.u32 [%rd1+256], %r6;\n"
           "st.u32 [%rd7+16], %r5; ld.local.u32 %r6, [%rd6+16]; st.global.u32 [%rd1+384], %r6;\n"
           "and.b32 %r7, %r1, 3; mul.wide.u32 %rd8, %r7, 4; mov.u64 %rd10, c; add.u64 %rd11, %rd10, %rd8; ld.const.u32 %r6, [%rd11]; ld.const.u32 %r8, [c+4]; add.u32 %r6, %r6, %r8; st.global.u32 [%rd1+512], %r6;\n"
           "mov.u64 %rd12, g; add.u64 %rd13, %rd12, %rd2; st.global.u32 [%rd13], %r1; ld.global.u32 %r6, [g+124]; st.global.u32 [%rd1+640], %r6;\n"
           "cvta.to.shared.u64 %rd14, %rd5; cvt.u32.u64 %r9, %rd14; sub.u32 %r9, %r9, %r4; st.global.u32 [%rd1+768], %r9;\n"
           "cvta.to.local.u64 %rd15, %rd7; sub.u64 %rd16, %rd15, %rd6; st.global.u32 [%rd1+896], %rd16;\n"
           /* isspacep: bits for shared, local, const, global of a shared, local, const, global address */
           "mov.u32 %r20, 0;\n"
#define ASK(reg, space, bit) "isspacep." space " %p1, " reg "; @%p1 or.b32 %r20, %r20, " bit ";\n"
           ASK("%rd5", "shared", "1") ASK("%rd5", "local", "2") ASK("%rd5", "const", "4") ASK("%rd5", "global", "8")
           ASK("%rd7", "shared", "16") ASK("%rd7", "local", "32") ASK("%rd7", "const", "64") ASK("%rd7", "global", "128")
           ASK("%rd10", "shared", "256") ASK("%rd10", "local", "512") ASK("%rd10", "const", "1024") ASK("%rd10", "global", "2048")
           ASK("%rd13", "shared", "4096") ASK("%rd13", "local", "8192") ASK("%rd13", "const", "16384") ASK("%rd13", "global", "32768")
           "st.global.u32 [%rd1+1024], %r20;");
    run_done("k");
    for (unsigned l = 0; l < 32; l++) {
        uint32_t want[] = { l + 50, l + 51, l, l + 51, 5 + (l & 3) + 6, 31, 0, 0, 1 | 32 | 1024 | 32768 };
        for (unsigned i = 0; i < 9; i++) ck_assert_msg(run.out[32 * i + l] == want[i], "%u lane %u: %x", i, l, run.out[32 * i + l]);
    }
}
END_TEST

START_TEST(strong_and_hinted_forms)
{
    kernel("", "createpolicy.fractional.L2::evict_last.b64 %rd3, 1.0; prefetch.global.L2 [%rd1]; prefetchu.L1 [%rd1];\n"
               "ld.volatile.global.u32 %r2, [%rd1]; st.volatile.global.u32 [%rd1], %r1; ld.relaxed.gpu.global.u32 %r3, [%rd1]; st.release.sys.global.u32 [%rd1+128], %r3;\n"
               "ld.acquire.gpu.global.v2.u32 {%r4, %r5}, [%rd9]; ld.global.ca.u32 %r6, [%rd9]; st.global.wt.u32 [%rd1+256], %r1; ldu.global.u32 %r7, [%rd9+4];\n"
               "ld.global.L1::evict_last.L2::cache_hint.u32 %r8, [%rd1], %rd3; st.global.L2::cache_hint.u32 [%rd1+384], %r8, %rd3; st.global.u32 [%rd1+512], %r5;\n"
               "membar.gl; membar.cta; fence.acq_rel.gpu; fence.sc.sys; st.global.u32 [%rd1+640], %r7;");
    run_done("k");
    for (unsigned l = 0; l < 32; l++)
        ck_assert(run.out[l] == l && run.out[32 + l] == l && run.out[64 + l] == l && run.out[96 + l] == l && run.out[128 + l] == 1 && run.out[160 + l] == 1);
    struct emu_kernel_facts facts;
    emu_kernel_facts(run_get("k"), &facts);
    ck_assert(facts.can_wait && facts.ordered);
}
END_TEST

START_TEST(atomics)
{
    kernel(".shared .align 8 .b8 s[64];",
           "st.shared.u64 [s], 0; mov.u32 %r30, 0; atom.shared.add.u32 %r2, [s], 1; st.global.u32 [%rd1], %r2; red.global.add.u32 [%rd9+4096], %r1;\n"
           "atom.global.max.s32 %r3, [%rd9+4100], %r1; atom.global.inc.u32 %r4, [%rd9+4104], 9; st.global.u32 [%rd1+128], %r4;\n"
           "atom.global.cas.b32 %r5, [%rd9+4108], %r1, 77; cvt.rn.f32.u32 %f1, %r1; atom.global.add.f32 %f2, [%rd9+4112], %f1; red.global.add.f64 [%rd9+4120], 0d3FE0000000000000;\n"
           "cvt.u64.u32 %rd3, %r1; atom.global.exch.b64 %rd4, [%rd9+4128], %rd3; cvt.u32.u64 %r6, %rd4; st.global.u32 [%rd1+256], %r6;\n"
           "mov.u32 %r7, 0x3c003c00; red.global.add.noftz.f16x2 [%rd9+4136], %r7; mov.b16 %h1, 0x3f80; atom.global.add.noftz.bf16 %h2, [%rd9+4140], %h1;\n"
           "cvta.shared.u64 %rd5, 0; atom.relaxed.cta.or.b32 %r8, [%rd5+8], 6; atom.acq_rel.gpu.global.and.b32 %r9, [%rd9+4144], 0; atom.shared::cta.dec.u32 %r10, [s+16], 3;\n"
           "red.relaxed.gpu.global.add.v4.f32 [%rd9+4160], {%f1, %f1, 0f3F800000, 0f40000000}; atom.global.v2.f32.add {%f3, %f4}, [%rd9+4176], {%f1, 0f3F800000}; st.global.f32 [%rd1+384], %f4;");
    run_done("k");
    const uint32_t *m = run.out + 1024;
    for (unsigned l = 0; l < 32; l++) {
        float order = (float)l;
        ck_assert(run.out[l] == l && run.out[32 + l] == l % 10 && run.out[64 + l] == (l ? l - 1 : 0));
        ck_assert(!memcmp(&run.out[96 + l], &order, 4));
    }
    float f[8];
    double half_sum;
    memcpy(f, (const char *)run.out + 4160, 24);
    memcpy(&half_sum, (const char *)run.out + 4120, 8);
    ck_assert(m[0] == 496 && m[1] == 31 && m[2] == 2 && m[3] == 77 && m[4] == 0x43f80000 && half_sum == 16 && m[8] == 31 && m[10] == 0x50005000);
    ck_assert(f[0] == 496 && f[1] == 496 && f[2] == 32 && f[3] == 64 && f[4] == 496 && f[5] == 32);
}
END_TEST

START_TEST(facts_of_atomics)
{
    struct emu_kernel_facts facts;
    kernel("", "atom.global.add.u32 %r2, [%rd9], 1;");        /* nobody reads %r2: a red */
    emu_kernel_facts(run_get("k"), &facts);
    ck_assert(!facts.can_wait && !facts.ordered);
    kernel("", "red.global.add.f32 [%rd9], 0f3F800000;");
    emu_kernel_facts(run_get("k"), &facts);
    ck_assert(facts.ordered);
    kernel("", "atom.global.add.u32 %r2, [%rd9], 1; st.global.u32 [%rd1], %r2;");
    emu_kernel_facts(run_get("k"), &facts);
    ck_assert(facts.can_wait && facts.ordered);
    kernel("", "ld.global.u32 %r2, [%rd9]; st.global.u32 [%rd1], %r2;");
    emu_kernel_facts(run_get("k"), &facts);
    ck_assert(!facts.can_wait && !facts.ordered);
}
END_TEST

static void faults(const char *body, enum status st, const char *says)
{
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    kernel(".shared .align 4 .b8 s[64]; .const .u32 c = 5;", body);
    ck_assert_int_eq(run_kernel("k", &out, 1), EMU_FAULT);
    const struct emu_fault *f = emu_worker_fault(run.worker);
    ck_assert_msg(f->status == st && strstr(f->report, says), "%s", f->report);
}

START_TEST(reports)
{
    faults("ld.global.u32 %r2, [%rd1-64]; st.global.u32 [%rd1], %r2;", ST_ILLEGAL_ADDRESS, "is 64 bytes before the start of out [0x");
    faults("st.global.u32 [%rd1+1], %r1;", ST_MISALIGNED_ADDRESS, "not a multiple of 4");
    faults("ld.shared.u32 %r2, [s+64]; st.global.u32 [%rd1], %r2;", ST_ILLEGAL_ADDRESS, "64 bytes of shared memory");
    faults("mov.u64 %rd3, 0; st.u32 [%rd3], %r1;", ST_ILLEGAL_ADDRESS, "null pointer");
    faults("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1]; st.global.u32 [%rd1], %r2;", ST_MISALIGNED_ADDRESS, "not a multiple of 16");
}
END_TEST

START_TEST(lanes_that_do_not_execute_do_not_fault)
{
    kernel("", "mov.u64 %rd3, 0xdeadbeef00000001; setp.lt.u32 %p1, %r1, 7; selp.b64 %rd4, %rd1, %rd3, %p1; @%p1 st.global.u32 [%rd4], %r1;\n"
               "@%p1 atom.global.add.u32 %r2, [%rd4+128], 1; @%p1 ld.global.u32 %r3, [%rd4+128]; @%p1 st.global.u32 [%rd4+256], %r3;");
    run_done("k");
    for (unsigned l = 0; l < 32; l++)
        ck_assert(run.out[l] == (l < 7 ? l : 0) && run.out[64 + l] == (l < 7));
}
END_TEST

static char said[1024];
static void output(void *user, const char *s, size_t n)
{
    (void)user;
    strncat(said, s, n);
}
static uint64_t heap_alloc(void *user, uint64_t bytes)
{
    (void)user;
    return (uint64_t)(uintptr_t)run.out + 65536 + bytes;
}
static bool heap_free(void *user, uint64_t address)
{
    (void)user;
    return address > (uint64_t)(uintptr_t)run.out;
}

#define EXTERNS ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n.extern .func (.param .b64 r) malloc (.param .b64 n);\n.extern .func free (.param .b64 p);\n" \
                ".extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s) .noreturn;\n"

START_TEST(builtins)
{
    run.launch.host = (struct emu_host){ .output = output, .heap_alloc = heap_alloc, .heap_free = heap_free };
    said[0] = 0;
    kernel(EXTERNS ".global .align 1 .b8 fmt[11] = {37, 100, 58, 37, 46, 49, 102, 59, 0};",         /* "%d:%.1f;" */
           ".local .align 8 .b8 buf[16];\nmov.u64 %rd3, buf; cvta.local.u64 %rd4, %rd3; setp.lt.u32 %p1, %r1, 3; @!%p1 bra SKIP;\n"
           "cvt.rn.f64.u32 %d1, %r1; st.local.u32 [buf], %r1; st.local.f64 [buf+8], %d1; mov.u64 %rd5, fmt; cvta.global.u64 %rd6, %rd5;\n"
           "{ .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %rd6; st.param.b64 [b], %rd4; call.uni (r), vprintf, (a, b); ld.param.b32 %r5, [r]; }\n"
           "st.global.u32 [%rd1], %r5;\nSKIP:\n"
           "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 256; call.uni (r), malloc, (n); ld.param.b64 %rd7, [r]; }\n"
           "st.u32 [%rd7], %r1; { .param .b64 p; st.param.b64 [p], %rd7; call.uni free, (p); }");
    run_done("k");
    ck_assert_str_eq(said, "0:0.0;1:1.0;2:2.0;");
    ck_assert(run.out[0] == 2 && run.out[2] == 2 && run.out[3] == 0 && run.out[(65536 + 256) / 4] == 31);
}
END_TEST

START_TEST(an_assertion_stops_the_kernel)
{
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    kernel(EXTERNS ".global .align 1 .b8 m[4] = {120, 60, 49, 0}; .global .align 1 .b8 f[4] = {97, 46, 99, 0};",
           "setp.ne.u32 %p1, %r1, 5; @%p1 bra DONE; mov.u64 %rd3, m; mov.u64 %rd4, f;\n"
           "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; st.param.b64 [a], %rd3; st.param.b64 [b], %rd4; st.param.b32 [c], 12; st.param.b64 [d], %rd4; st.param.b64 [e], 1;\n"
           "call.uni __assertfail, (a, b, c, d, e); }\nDONE:");
    ck_assert_int_eq(run_kernel("k", &out, 1), EMU_FAULT);
    const struct emu_fault *f = emu_worker_fault(run.worker);
    ck_assert_msg(f->status == ST_ASSERT && strstr(f->report, "a.c:12: a.c: block: [0,0,0], thread: [5,0,0] Assertion `x<1` failed."), "%s", f->report);
}
END_TEST

/* Variables of a body are placed once, and keep what was stored from launch to launch. */
START_TEST(variables_inside_a_body)
{
    kernel("", ".const .align 4 .u32 c[3] = {1, 2, 4}; .global .align 4 .u32 g[2] = {7, 8};\n"
               "ld.const.u32 %r5, [c+8]; ld.global.u32 %r6, [g+4]; mov.u64 %rd3, g; ld.global.u32 %r7, [%rd3]; add.u32 %r5, %r5, %r6; mad.lo.u32 %r5, %r7, 100, %r5;\n"
               "{ .global .u32 g; ld.global.u32 %r6, [g]; add.u32 %r5, %r5, %r6; st.global.u32 [g], 1000; }\nst.global.u32 [%rd1], %r5;");
    run_done("k");
    ck_assert_uint_eq(run.out[0], 712);
    run_done("k");
    ck_assert_uint_eq(run.out[0], 1712);
}
END_TEST

/* Dynamic arrays of several names begin at one place, behind the static ones and aligned for the strictest. */
START_TEST(shared_arrays_and_their_sizes)
{
    run.launch.dynamic_shared_bytes = 100;
    kernel(".shared .align 1 .b8 s1[5]; .extern .shared .align 32 .b8 d1[]; .extern .shared .align 4 .b32 d2[]; .extern .shared .align 8 .f64 d3[];",
           ".shared .align 2 .b16 inner[3]; mov.u32 %r5, s1; st.global.u32 [%rd1], %r5; mov.u32 %r5, inner; st.global.u32 [%rd1+4], %r5; mov.u32 %r5, d1; st.global.u32 [%rd1+8], %r5;\n"
           "mov.u32 %r5, d2; st.global.u32 [%rd1+12], %r5; mov.u32 %r5, d3; st.global.u32 [%rd1+16], %r5; mov.u32 %r5, %dynamic_smem_size; st.global.u32 [%rd1+20], %r5;\n"
           "mov.u32 %r5, %total_smem_size; st.global.u32 [%rd1+24], %r5;");
    run_done("k");
    const uint32_t at[] = { 0, 6, 32, 32, 32, 100, 256 };
    for (unsigned i = 0; i < sizeof at / sizeof at[0]; i++) ck_assert_msg(run.out[i] == at[i], "value %u is %u, not %u", i, run.out[i], at[i]);
}
END_TEST

/* 32 bits of an address find the variable, in each lane its own; behind the variable there is nothing. */
START_TEST(narrow_addresses_of_constants)
{
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    kernel(".const .u32 c[2] = {1, 2}; .const .u32 e[4] = {3, 4, 5, 6};",
           "mov.u32 %r5, c; ld.const.u32 %r6, [%r5+4]; st.global.u32 [%rd1], %r6; mov.u32 %r5, e; ld.const.v2.u32 {%r6, %r7}, [%r5+8]; st.global.u32 [%rd1+128], %r6; st.global.u32 [%rd1+256], %r7;");
    run_done("k");
    ck_assert_uint_eq(run.out[0], 2);
    ck_assert_uint_eq(run.out[32], 5);
    ck_assert_uint_eq(run.out[64], 6);
    kernel(".const .u32 c[2] = {1, 2};", "mov.u32 %r5, c; ld.const.u32 %r6, [%r5+4096]; st.global.u32 [%rd1], %r6;");
    ck_assert_int_eq(run_kernel("k", &out, 1), EMU_FAULT);
    ck_assert_int_eq(emu_worker_fault(run.worker)->status, ST_ILLEGAL_ADDRESS);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emu_mem_ptx");
    TCase *t = tcase_create("kernels");
    tcase_add_checked_fixture(t, run_setup, run_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, narrow_types_in_wide_registers);
    tcase_add_test(t, vectors);
    tcase_add_test(t, spaces_and_generic_addresses);
    tcase_add_test(t, strong_and_hinted_forms);
    tcase_add_test(t, atomics);
    tcase_add_test(t, facts_of_atomics);
    tcase_add_test(t, reports);
    tcase_add_test(t, lanes_that_do_not_execute_do_not_fault);
    tcase_add_test(t, builtins);
    tcase_add_test(t, an_assertion_stops_the_kernel);
    tcase_add_test(t, variables_inside_a_body);
    tcase_add_test(t, shared_arrays_and_their_sizes);
    tcase_add_test(t, narrow_addresses_of_constants);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_ENV);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed != 0;
}
