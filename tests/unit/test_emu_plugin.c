/* Device code calls functions of this file: every type as the host's C compiler passes it, what a function may ask, and what is refused. */
#include "tests/unit/emu_run.h"

#include "emu/heddle_plugin.h"
#include "emu/plugin.h"

__extension__ typedef _Float16 f16;
__extension__ typedef unsigned __int128 u128;

static char log_text[4096];
static uint32_t calls;

struct pair { float x, y; };
struct mix { int32_t i; float f; double d; };              /* an integer and a float share 8 bytes */
struct big { double d[3]; int8_t c; };
struct odd { int8_t c[3]; };
struct half2 { f16 a, b; };
struct wide { float f[4]; };

static float take_scalars(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f, int64_t g, uint64_t h, float i, double j, f16 k, bool p)
{
    calls++;
    return a == -3 && b == 200 && c == -300 && d == 60000 && e == -70000 && f == 4000000000u && g == -5000000000 && h == UINT64_MAX && i == 1.5f && j == -2.25 &&
           k == (f16)0.5f && p ? 42.5f : -1.0f;
}
static f16 twice_half(f16 h) { return h + h; }
static double sum_many(float a, float b, float c, float d, float e, float f, float g, float h, float i, float j, int64_t k, int64_t l, int64_t m, int64_t n, int64_t o, int64_t p, int64_t q)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + (double)(k + 2 * l + 3 * m + 4 * n + 5 * o + 6 * p + 7 * q);
}
static struct pair swap(struct pair p) { return (struct pair){ p.y, p.x }; }
static struct mix grow(struct mix m) { return (struct mix){ m.i + 1, m.f + 1, m.d + 1 }; }
static struct big turn(struct big b, struct odd o) { return (struct big){ { b.d[2], b.d[1], b.d[0] }, (int8_t)(b.c + o.c[0] + o.c[1] + o.c[2]) }; }
static struct half2 turn_halves(struct half2 h) { return (struct half2){ h.b, h.a }; }
static struct wide turn_wide(struct wide w, struct odd o) { return (struct wide){ { w.f[3], w.f[2], w.f[1], w.f[0] + o.c[1] } }; }
static u128 shift_wide(u128 x, int32_t by) { return x << by; }
static int8_t narrow(int8_t x) { return (int8_t)(x - 1); }
static void nothing(void) { calls++; }

static void tell(const uint32_t *shared, const uint32_t *local)
{
    struct heddle_thread t = heddle_thread();
    const uint32_t *s = heddle_at(shared, 4, 0), *l = heddle_at(local, 4, 0);
    size_t n = strlen(log_text);
    snprintf(log_text + n, sizeof log_text - n, "%s block %u of %u thread %u,%u warp %u lane %u lanes %x shared %u local %u again %u\n", t.kernel, t.block_index[0], t.grid[0], t.thread_index[0],
             t.thread_index[1], t.warp, t.lane, t.lanes, s ? *s : 0, l ? *l : 0, t.again);
    uint32_t *to = heddle_at(local, 4, 1);
    if (to) *to += 1;
    ck_assert(!heddle_at((const char *)shared + (1 << 20), 4, 0));
    ck_assert(!heddle_at(shared, 1 << 20, 0));
    ck_assert(!heddle_at(NULL, 1, 0));
}

static void fail_at_five(uint32_t x)
{
    calls++;
    if (x == 5) heddle_fail("five is right out");
    if (x == 5) heddle_fail("and so is this");
}

static const struct { const char *name; void (*fn)(void); const char *signature; } functions[] = {
#define FUNCTION(f, s) { #f, (void (*)(void))f, s },
    FUNCTION(take_scalars, NULL)
    FUNCTION(twice_half, NULL)
    FUNCTION(sum_many, NULL)
    FUNCTION(swap, NULL)
    FUNCTION(grow, NULL)
    FUNCTION(turn, "{f64[3], s8} ({f64[3], s8}, {s8[3]})")
    FUNCTION(turn_halves, "{f16, f16} ({f16, f16})")
    FUNCTION(turn_wide, "{f32[4]} ({f32[4]}, {b8[3]})")
    FUNCTION(shift_wide, NULL)
    FUNCTION(narrow, "s8 (s8)")
    FUNCTION(nothing, "void ()")
    FUNCTION(tell, NULL)
    FUNCTION(fail_at_five, NULL)
#undef FUNCTION
    { "mistaken", (void (*)(void))nothing, "f32 (f32)" },
    { "garbled", (void (*)(void))nothing, "f32 (f33)" },
};

static bool find(void *user, const char *name, struct emu_extern *out)
{
    ck_assert_ptr_eq(user, log_text);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name)) {
            *out = (struct emu_extern){ functions[i].fn, functions[i].signature, "this.so" };
            return true;
        }
    return false;
}

static void setup(void)
{
    run_setup();
    heddle_plugin = &emu_plugin_host;
    log_text[0] = 0;
    calls = 0;
}

static void open_with(const char *text)
{
    run_open(text);
    emu_image_externs(run.image, find, log_text);
}

#define KERNEL(regs, body) ".visible .entry k(.param .u64 out) { .reg .u64 %p; .reg .b32 %t;" regs "ld.param.u64 %p, [out]; mov.u32 %t, %tid.x;" body " ret; }\n"

START_TEST(scalars)
{
    open_with(PTX_HEAD ".extern .func (.param .f32 r) take_scalars(.param .s8 a, .param .u8 b, .param .s16 c, .param .u16 d, .param .s32 e, .param .u32 f, .param .s64 g, .param .u64 h,"
                       " .param .f32 i, .param .f64 j, .param .f16 k, .param .u8 p);\n"
              KERNEL(".reg .f32 %f; .reg .f16 %h; .reg .b16 %s; ",
                     "{ .param .s8 a; .param .u8 b; .param .s16 c; .param .u16 d; .param .s32 e; .param .u32 f; .param .s64 g; .param .u64 h; .param .f32 i; .param .f64 j; .param .f16 k;"
                     ".param .u8 p; .param .f32 r; mov.b16 %s, 0x3800; mov.b16 %h, %s; st.param.s8 [a], -3; st.param.u8 [b], 200; st.param.s16 [c], -300; st.param.u16 [d], 60000;"
                     "st.param.s32 [e], -70000; st.param.u32 [f], 4000000000; st.param.s64 [g], -5000000000; st.param.u64 [h], -1; st.param.f32 [i], 0f3FC00000;"
                     "st.param.f64 [j], 0dC002000000000000; st.param.b16 [k], %h; st.param.u8 [p], 1;"
                     "call (r), take_scalars, (a, b, c, d, e, f, g, h, i, j, k, p); ld.param.f32 %f, [r]; } mad.wide.u32 %p, %t, 4, %p; st.global.f32 [%p], %f;"));
    run_done("k");
    for (int i = 0; i < 32; i++) ck_assert_float_eq(((float *)(void *)run.out)[i], 42.5f);
    ck_assert_uint_eq(calls, 32);
}
END_TEST

/* As nvcc has it: the declaration says .b32, the loads and stores say float. Arguments beyond the registers lie on the stack. */
START_TEST(floats_by_use)
{
    char text[8192], *p = text;
    p += sprintf(p, "%s.extern .func (.param .b64 r) sum_many(", PTX_HEAD);
    for (int i = 0; i < 17; i++) p += sprintf(p, ".param .b%d p%d%s", i < 10 ? 32 : 64, i, i < 16 ? ", " : ");\n.visible .entry k(.param .u64 out) { .reg .u64 %p; .reg .f64 %d; ld.param.u64 %p, [out]; {");
    double sum = 0;
    for (int i = 0; i < 17; i++) {
        float f = (float)i + 0.5f;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        if (i < 10) p += sprintf(p, ".param .b32 a%d; st.param.f32 [a%d], 0f%08X;", i, i, bits);
        else p += sprintf(p, ".param .b64 a%d; st.param.b64 [a%d], %d;", i, i, 100 * i);
        sum += i < 10 ? (double)(i + 1) * f : (i - 9) * 100 * i;
    }
    p += sprintf(p, ".param .b64 r; call (r), sum_many, (");
    for (int i = 0; i < 17; i++) p += sprintf(p, "a%d%s", i, i < 16 ? ", " : "); ld.param.f64 %d, [r]; st.global.f64 [%p], %d; } ret; }\n");
    open_with(text);
    run.launch.block[0] = 1;
    run_done("k");
    ck_assert_double_eq(*(double *)(void *)run.out, sum);
}
END_TEST

START_TEST(structures)
{
    open_with(PTX_HEAD ".extern .func (.param .align 4 .b8 r[8]) swap(.param .align 4 .b8 p[8]);\n"
                       ".extern .func (.param .align 8 .b8 r[16]) grow(.param .align 8 .b8 p[16]);\n"
                       ".extern .func (.param .align 8 .b8 r[32]) turn(.param .align 8 .b8 p[32], .param .align 1 .b8 o[3]);\n"
                       ".extern .func (.param .align 2 .b8 r[4]) turn_halves(.param .align 2 .b8 p[4]);\n"
                       ".extern .func (.param .align 4 .b8 r[16]) turn_wide(.param .align 4 .b8 p[16], .param .align 1 .b8 o[3]);\n"
                       ".extern .func (.param .align 16 .b8 r[16]) shift_wide(.param .align 16 .b8 p[16], .param .b32 by);\n"
              KERNEL(".reg .f32 %f<5>; .reg .f64 %d<5>; .reg .b32 %r<5>; .reg .b16 %s<5>; .reg .b64 %x<3>;",
                     "{ .param .align 4 .b8 p[8]; .param .align 4 .b8 r[8]; st.param.v2.f32 [p], {0f3F800000, 0f40000000}; call (r), swap, (p); ld.param.v2.f32 {%f1, %f2}, [r];"
                     "  st.global.f32 [%p], %f1; st.global.f32 [%p+4], %f2; }"
                     "{ .param .align 8 .b8 p[16]; .param .align 8 .b8 r[16]; st.param.b32 [p], 7; st.param.f32 [p+4], 0f3F800000; st.param.f64 [p+8], 0d4000000000000000; call (r), grow, (p);"
                     "  ld.param.b32 %r1, [r]; ld.param.f32 %f1, [r+4]; ld.param.f64 %d1, [r+8]; st.global.b32 [%p+8], %r1; st.global.f32 [%p+12], %f1; st.global.f64 [%p+16], %d1; }"
                     "{ .param .align 8 .b8 p[32]; .param .align 1 .b8 o[3]; .param .align 8 .b8 r[32]; st.param.b64 [p], 1; st.param.b64 [p+8], 2; st.param.b64 [p+16], 3; st.param.b8 [p+24], 4;"
                     "  st.param.b8 [o], 10; st.param.b8 [o+1], 20; st.param.b8 [o+2], -3; call (r), turn, (p, o); ld.param.b64 %x1, [r]; ld.param.b64 %x2, [r+16]; ld.param.s8 %s1, [r+24];"
                     "  st.global.b64 [%p+24], %x1; st.global.b64 [%p+32], %x2; cvt.s32.s16 %r1, %s1; st.global.b32 [%p+40], %r1; }"
                     "{ .param .align 2 .b8 p[4]; .param .align 2 .b8 r[4]; st.param.b16 [p], 1; st.param.b16 [p+2], 2; call (r), turn_halves, (p); ld.param.b16 %s1, [r]; ld.param.b16 %s2, [r+2];"
                     "  st.global.b16 [%p+44], %s1; st.global.b16 [%p+46], %s2; }"
                     "{ .param .align 4 .b8 p[16]; .param .align 1 .b8 o[3]; .param .align 4 .b8 r[16]; st.param.f32 [p], 0f3F800000; st.param.f32 [p+4], 0f40000000; st.param.f32 [p+8], 0f40400000;"
                     "  st.param.f32 [p+12], 0f40800000; st.param.b8 [o+1], 1; call (r), turn_wide, (p, o); ld.param.f32 %f1, [r]; ld.param.f32 %f2, [r+12]; st.global.f32 [%p+48], %f1;"
                     "  st.global.f32 [%p+52], %f2; }"
                     "{ .param .align 16 .b8 p[16]; .param .b32 by; .param .align 16 .b8 r[16]; st.param.v2.b64 [p], {5, 0}; st.param.b32 [by], 65; call (r), shift_wide, (p, by);"
                     "  ld.param.v2.b64 {%x1, %x2}, [r]; st.global.b64 [%p+56], %x1; st.global.b64 [%p+64], %x2; }"));
    run.launch.block[0] = 1;
    run_done("k");
    const char *at = (const char *)run.out;
    struct pair swapped;
    struct mix grown;
    uint64_t turned[2], shifted[2];
    int32_t c;
    uint16_t halves[2];
    float wide[2];
    memcpy(&swapped, at, 8);
    memcpy(&grown, at + 8, 16);
    memcpy(turned, at + 24, 16);
    memcpy(&c, at + 40, 4);
    memcpy(halves, at + 44, 4);
    memcpy(wide, at + 48, 8);
    memcpy(shifted, at + 56, 16);
    ck_assert(swapped.x == 2 && swapped.y == 1);
    ck_assert(grown.i == 8 && grown.f == 2 && grown.d == 3);
    ck_assert(turned[0] == 3 && turned[1] == 1 && c == 31);
    ck_assert(halves[0] == 2 && halves[1] == 1);
    ck_assert(wide[0] == 4 && wide[1] == 2);
    ck_assert(shifted[0] == 0 && shifted[1] == 10);
}
END_TEST

/* Registers instead of variables, guards, and an integer narrower than declared. */
START_TEST(forms)
{
    open_with(PTX_HEAD ".extern .func (.reg .b32 r) narrow(.reg .b32 x);\n.extern .func nothing();\n.extern .func (.param .f16 r) twice_half(.param .f16 h);\n"
              KERNEL(".reg .b32 %r<3>; .reg .pred %q; .reg .b16 %h; ", "mov.u32 %r1, 0x7f; call (%r1), narrow, (%r1); setp.lt.u32 %q, %t, 7; @%q call nothing; @%q call nothing, ();"
                     "{ .param .f16 a; .param .f16 r; st.param.b16 [a], 0x3C00; call (r), twice_half, (a); ld.param.b16 %h, [r]; } mad.wide.u32 %p, %t, 4, %p; st.global.b16 [%p+2], %h;"
                     "st.global.u8 [%p], %r1;"));
    run_done("k");
    for (int i = 0; i < 32; i++) ck_assert_uint_eq(run.out[i], 0x4000007e);
    ck_assert_uint_eq(calls, 14);
    struct emu_kernel_facts facts;
    emu_kernel_facts(run_get("k"), &facts);
    ck_assert(facts.calls_host && facts.ordered);
}
END_TEST

START_TEST(who_calls)
{
    open_with(PTX_HEAD ".extern .func tell(.param .b64 s, .param .b64 l);\n"
              KERNEL(".shared .b32 word; .local .b32 mine; .reg .u64 %s, %l; .reg .b32 %r, %b; .reg .pred %q; ",
                     "mov.u32 %b, %ctaid.x; mov.u32 %r, %tid.y; mad.lo.u32 %t, %r, 3, %t; add.u32 %r, %b, 70; st.shared.u32 [word], %r; add.u32 %r, %t, 500; st.local.u32 [mine], %r;"
                     "cvta.shared.u64 %s, word; cvta.local.u64 %l, mine; setp.gt.u32 %q, %t, 3; { .param .b64 s; .param .b64 l; st.param.b64 [s], %s; st.param.b64 [l], %l; @%q call tell, (s, l); }"
                     "ld.local.u32 %r, [mine]; mad.wide.u32 %p, %t, 4, %p; st.global.u32 [%p], %r;"));
    run.launch.grid[0] = 2;
    run.launch.block[0] = 3;
    run.launch.block[1] = 2;
    run_done("k");
    ck_assert_str_eq(log_text, "k block 0 of 2 thread 1,1 warp 0 lane 4 lanes 30 shared 70 local 504 again 0\nk block 0 of 2 thread 2,1 warp 0 lane 5 lanes 30 shared 70 local 505 again 0\n"
                               "k block 1 of 2 thread 1,1 warp 0 lane 4 lanes 30 shared 71 local 504 again 0\nk block 1 of 2 thread 2,1 warp 0 lane 5 lanes 30 shared 71 local 505 again 0\n");
    ck_assert_uint_eq(run.out[3], 503);
    ck_assert_uint_eq(run.out[5], 506);
    ck_assert_ptr_null(heddle_thread().kernel);            /* outside a call */
    ck_assert_ptr_null(heddle_at(run.out, 4, 0));
}
END_TEST

static void check_fault(const char *text, enum status st, const char *part)
{
    open_with(text);
    uint64_t out = (uint64_t)(uintptr_t)run.out;
    ck_assert_int_eq(run_kernel("k", &out, 1), EMU_FAULT);
    const struct emu_fault *f = emu_worker_fault(run.worker);
    ck_assert_int_eq(f->status, st);
    ck_assert_msg(strstr(f->report, part) != NULL, "%s", f->report);
}

START_TEST(errors)
{
    check_fault(PTX_HEAD ".extern .func fail_at_five(.param .b32 x);\n" KERNEL("", "{ .param .b32 x; st.param.b32 [x], %t; call fail_at_five, (x); }"), ST_LAUNCH_FAILED,
                "fail_at_five of plug-in this.so: five is right out\n");
    ck_assert_uint_eq(calls, 6);
    ck_assert_uint_eq(emu_worker_fault(run.worker)->tid[0], 5);
    check_fault(PTX_HEAD ".extern .func absent(.param .b32 x);\n" KERNEL("", "{ .param .b32 x; call absent, (x); }"), ST_NOT_SUPPORTED,
                ".extern .func absent, which no linked module defines and no plug-in has; --plugin=");
    check_fault(PTX_HEAD ".extern .func mistaken(.param .b32 x);\n" KERNEL("", "{ .param .b32 x; call mistaken, (x); }"), ST_NOT_SUPPORTED,
                "mistaken is f32 (f32) in this.so, and called as void (b32)");
    check_fault(PTX_HEAD ".extern .func garbled();\n" KERNEL("", "call garbled;"), ST_NOT_SUPPORTED, "the signature of garbled in this.so, \"f32 (f33)\", has a word that is no type");
}
END_TEST

START_TEST(signatures)
{
    static const struct { const char *text, *printed; } good[] = {
        { "void ()", "void ()" },
        { "f32(f32,f64 , b64)", "f32 (f32, f64, b64)" },
        { " {f32, {s8, s16[3]}[2]} ( pred, b128 ) ", "{20 bytes} (b8, b128)" },
    };
    static const struct { const char *text, *why; } bad[] = {
        { "", "has a word that is no type" },          { "f32", "lacks the ( of its parameters" },           { "f32 (f32", "lacks its last )" },
        { "f32 () x", "goes on behind its end" },      { "f32 (void)", "has a parameter that is void; none is ()" }, { "{f32 ()", "lacks a }" },
        { "f32 ({void})", "has a void inside" },       { "f32 ({f32[]})", "has an array without a length" }, { "{f64[600]} ()", "has a structure of more than 4096 bytes" },
        { "{{{{{{{{{{f32}}}}}}}}}} ()", "has structures in structures too deep" },
    };
    struct plugin_type types[1 + PLUGIN_PARAMS];
    unsigned n;
    const char *why;
    char buf[200];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert_msg(plugin_signature(good[i].text, types, &n, &why), "%s: %s", good[i].text, why);
        ck_assert_str_eq(plugin_print(types, n, buf, sizeof buf), good[i].printed);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(!plugin_signature(bad[i].text, types, &n, &why), "%s", bad[i].text);
        ck_assert_str_eq(why, bad[i].why);
    }
    char many[8 * 300] = "void (b8", *p = many + strlen(many);
    for (int i = 0; i < 260; i++) p += sprintf(p, ", b8");
    strcpy(p, ")");
    ck_assert(!plugin_signature(many, types, &n, &why));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emu_plugin");
    TCase *t = tcase_create("emu_plugin");
    tcase_add_checked_fixture(t, setup, run_teardown);
    tcase_add_test(t, scalars);
    tcase_add_test(t, floats_by_use);
    tcase_add_test(t, structures);
    tcase_add_test(t, forms);
    tcase_add_test(t, who_calls);
    tcase_add_test(t, errors);
    tcase_add_test(t, signatures);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
