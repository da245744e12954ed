/* Device printf against the host's, malloc, free, assert. */
#include "tests/unit/mem_rig.h"

#include <math.h>

#include "emu/builtin.h"

static char output[8192];
static size_t output_n, output_calls;

static void collect(void *user, const char *text, size_t n)
{
    (void)user;
    ck_assert(output_n + n < sizeof output);
    memcpy(output + output_n, text, n);
    output[output_n += n] = 0;
    output_calls++;
}

static void setup(void)
{
    rig_setup();
    rig.grid.launch.host.output = collect;
    output_n = output_calls = 0;
    output[0] = 0;
}

/* The format goes to device memory, arguments to the local memory of lane 3 at 64, as compilers do it. */
static struct { char at[512]; size_t n; } args;

static void pack(const void *p, size_t bytes)
{
    args.n = (args.n + bytes - 1) & ~(bytes - 1);
    memcpy(args.at + args.n, p, bytes);
    args.n += bytes;
}
static void pack_int(int x) { pack(&x, 4); }
static void pack_long(long long x) { pack(&x, 8); }
static void pack_double(double x) { pack(&x, 8); }

static int32_t say(const char *format)
{
    int32_t result = -99;
    strcpy((char *)(uintptr_t)rig.lo, format);
    memcpy(rig.w.local + 3 * RIG_LOCAL + 64, args.at, args.n);
    args.n = 0;
    output_n = 0;
    output[0] = 0;
    rig.status = ST_OK;
    enum status st = builtin_vprintf(&rig.c, &rig.w, rig.in, 3, rig.lo, EMU_LOCAL_WINDOW + 64, &result);
    ck_assert_int_eq(st, rig.status);
    return result;
}

static uint64_t device_string(size_t at, const char *s)
{
    strcpy((char *)(uintptr_t)(rig.lo + at), s);
    return rig.lo + at;
}

START_TEST(integers)
{
    pack_int(-5); pack_int(7); pack_int(-1); pack_int(255); pack_int(255); pack_int(255);
    ck_assert_int_eq(say("%d %i %u %o %x %X\n"), 6);
    ck_assert_str_eq(output, "-5 7 4294967295 377 ff FF\n");
    pack_int(42); pack_int(42); pack_int(42); pack_int(42); pack_int(42);
    say("[%5d] [%-5d] [%05d] [%+d] [% d]");
    ck_assert_str_eq(output, "[   42] [42   ] [00042] [+42] [ 42]");
    pack_int(255); pack_int(8); pack_int(42); pack_int(0);
    say("%#x %#o %.5d [%.0d]");
    ck_assert_str_eq(output, "0xff 010 00042 []");
    pack_int(300); pack_int(-1); pack_int(70000); pack_int(-1);
    say("%hhd %hhu %hd %hu");
    ck_assert_str_eq(output, "44 255 4464 65535");
    pack_int(1); pack_long(-1234567890123); pack_int(2); pack_long(-1); pack_long(-1); pack_long(5);
    ck_assert_int_eq(say("%d %lld %d %llu %lx %zu"), 6);
    ck_assert_str_eq(output, "1 -1234567890123 2 18446744073709551615 ffffffffffffffff 5");
}
END_TEST

START_TEST(stars)
{
    pack_int(6); pack_int(42); pack_int(-6); pack_int(42);
    ck_assert_int_eq(say("[%*d] [%*d]"), 4);
    ck_assert_str_eq(output, "[    42] [42    ]");
    pack_int(8); pack_int(3); pack_double(3.14159); pack_int(-1); pack_double(2.5);
    ck_assert_int_eq(say("[%*.*f] [%.*f]"), 5);
    ck_assert_str_eq(output, "[   3.142] [2.500000]");
}
END_TEST

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void print_host(char *to, size_t n, const char *format, double x) { snprintf(to, n, format, x); }
#pragma GCC diagnostic pop

START_TEST(floats)
{
    char want[400];
    static const char *const formats[] = { "%f", "%F", "%e", "%E", "%g", "%G", "%a", "%A", "%10.3f", "%-12.4e|", "%+.0f", "%#.0f", "%012.3f", "%.20g", "%lf" };
    static const double values[] = { 0, -0.0, 1, -1.5, 3.14159265358979, 1e300, 1e-310, 0.1, HUGE_VAL, -HUGE_VAL };
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
            pack_double(values[k]);
            ck_assert_int_eq(say(formats[i]), 1);
            print_host(want, sizeof want, formats[i], values[k]);
            ck_assert_str_eq(output, want);
        }
    pack_double(1e300);
    say("%.3f");
    ck_assert_uint_eq(output_n, 305);          /* longer than the small buffer */
}
END_TEST

START_TEST(characters_strings_pointers)
{
    uint64_t s = device_string(1024, "device");
    pack_int('A'); pack_int('z'); pack_long((long long)s); pack_long((long long)s); pack_long((long long)s); pack_long(0);
    ck_assert_int_eq(say("%c [%3c] %s [%10s] [%-8.3s] %s"), 6);
    ck_assert_str_eq(output, "A [  z] device [    device] [dev     ] (null)");
    pack_long(0x1234); pack_long(0);
    say("%p %p");
    ck_assert_str_eq(output, "0x1234 (nil)");
    pack_int(0);
    say("a%cb");
    ck_assert(output_n == 3 && !memcmp(output, "a\0b", 3));
}
END_TEST

START_TEST(percent_and_nonsense)
{
    ck_assert_int_eq(say("100%% sure"), 0);
    ck_assert_str_eq(output, "100% sure");
    ck_assert_int_eq(say("%"), 0);
    ck_assert_str_eq(output, "%");
    pack_int(5);
    ck_assert_int_eq(say("%y %n %d"), 1);
    ck_assert_str_eq(output, "%y %n 5");
    ck_assert_int_eq(say(""), 0);
    pack_int(1);
    ck_assert_int_eq(say("%7000d"), 1);
    ck_assert(output_n == 7000 && output[6999] == '1');
}
END_TEST

START_TEST(at_most_32_arguments)
{
    char format[200] = "", want[200] = "";
    for (int i = 0; i < 34; i++) {
        pack_int(i);
        strcat(format, "%d ");
        if (i < 32)
            snprintf(want + strlen(want), sizeof want - strlen(want), "%d ", i);
    }
    strcat(want, "%d %d ");
    ck_assert_int_eq(say(format), 32);
    ck_assert_str_eq(output, want);
}
END_TEST

START_TEST(memory_that_is_not_there)
{
    int32_t result;
    ck_assert(builtin_vprintf(&rig.c, &rig.w, rig.in, 0, 0, 0, &result) == ST_OK && result == -1);
    ck_assert(builtin_vprintf(&rig.c, &rig.w, rig.in, 9, rig.hi, 0, &result) == ST_ILLEGAL_ADDRESS && rig.lane == 9);
    strcpy((char *)(uintptr_t)rig.lo, "%d");
    ck_assert(builtin_vprintf(&rig.c, &rig.w, rig.in, 0, rig.lo, EMU_LOCAL_WINDOW + RIG_LOCAL - 2, &result) == ST_ILLEGAL_ADDRESS);
    pack_long(0x10);
    say("%s");
    ck_assert_int_eq(rig.status, ST_ILLEGAL_ADDRESS);
    memset((char *)(uintptr_t)rig.lo, 'x', 8192);                /* no end before the end of memory */
    ck_assert(builtin_vprintf(&rig.c, &rig.w, rig.in, 0, rig.lo, 0, &result) == ST_ILLEGAL_ADDRESS);
    ck_assert_uint_eq(output_calls, 0);
}
END_TEST

static uint32_t params[16][32], returns[4][32];

static void set_wide(unsigned word, uint32_t lane, uint64_t x)
{
    params[word][lane] = (uint32_t)x;
    params[word + 1][lane] = (uint32_t)(x >> 32);
}

START_TEST(a_warp_prints_in_lane_order)
{
    builtin_fn fn = builtin_find("vprintf");
    ck_assert(fn && (builtin_traits(fn) & BUILTIN_ORDERED));
    strcpy((char *)(uintptr_t)rig.lo, "%d,");
    for (uint32_t l = 0; l < WARP_SIZE; l++) {
        memcpy(rig.w.local + l * RIG_LOCAL, &l, 4);
        set_wide(0, l, rig.lo);
        set_wide(2, l, EMU_LOCAL_WINDOW);
        returns[0][l] = 77;
    }
    ck_assert(fn(&rig.c, &rig.w, rig.in, 0x8421, params, returns) == ST_OK);
    ck_assert_str_eq(output, "0,5,10,15,");
    ck_assert(output_calls == 4 && returns[0][5] == 1 && returns[0][6] == 77);
}
END_TEST

static uint64_t heap_next;
static uint64_t heap_alloc(void *user, uint64_t bytes)
{
    (void)user;
    return bytes > 100 ? 0 : (heap_next += 16);
}
static bool heap_free(void *user, uint64_t address)
{
    (void)user;
    return address < 0x100000;
}

START_TEST(the_heap)
{
    builtin_fn take = builtin_find("malloc"), give = builtin_find("free");
    rig.grid.launch.host.heap_alloc = heap_alloc;
    rig.grid.launch.host.heap_free = heap_free;
    for (uint32_t l = 0; l < WARP_SIZE; l++)
        set_wide(0, l, l == 7 ? 1000 : 10);
    ck_assert(take(&rig.c, &rig.w, rig.in, 0xf0, params, returns) == ST_OK);
    ck_assert(returns[0][4] == 16 && returns[0][5] == 32 && returns[0][6] == 48 && returns[0][7] == 0 && returns[1][4] == 0);
    for (uint32_t l = 0; l < WARP_SIZE; l++)
        set_wide(0, l, l == 9 ? 0x200000 : l == 8 ? 0 : 16);
    ck_assert(give(&rig.c, &rig.w, rig.in, 0xf0, params, returns) == ST_OK);
    ck_assert(give(&rig.c, &rig.w, rig.in, 0xf00, params, returns) == ST_ILLEGAL_ADDRESS && rig.lane == 9);
    rig.grid.launch.host.heap_alloc = NULL;
    ck_assert(take(&rig.c, &rig.w, rig.in, 1, params, returns) == ST_OK && returns[0][0] == 0);
}
END_TEST

START_TEST(an_assertion)
{
    builtin_fn fn = builtin_find("__assertfail");
    ck_assert(fn && !(builtin_traits(fn) & BUILTIN_ORDERED));
    rig.cta.ctaid[0] = 2;
    for (uint32_t l = 0; l < WARP_SIZE; l++) {
        set_wide(0, l, device_string(1024, "x > 0"));
        set_wide(2, l, device_string(1100, "file.cu"));
        params[4][l] = 47;
        set_wide(6, l, device_string(1200, "void kernel(int)"));
        set_wide(8, l, 1);
    }
    ck_assert(fn(&rig.c, &rig.w, rig.in, 0x300, params, returns) == ST_ASSERT);
    ck_assert_str_eq(rig.report, "file.cu:47: void kernel(int): block: [2,0,0], thread: [0,1,0] Assertion `x > 0` failed.\n"
                                 "file.cu:47: void kernel(int): block: [2,0,0], thread: [1,1,0] Assertion `x > 0` failed.");
    ck_assert(!builtin_find("no_such_function"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emu_builtin");
    TCase *t = tcase_create("builtins");
    tcase_add_checked_fixture(t, setup, rig_teardown);
    tcase_add_test(t, integers);
    tcase_add_test(t, stars);
    tcase_add_test(t, floats);
    tcase_add_test(t, characters_strings_pointers);
    tcase_add_test(t, percent_and_nonsense);
    tcase_add_test(t, at_most_32_arguments);
    tcase_add_test(t, memory_that_is_not_there);
    tcase_add_test(t, a_warp_prints_in_lane_order);
    tcase_add_test(t, the_heap);
    tcase_add_test(t, an_assertion);
    suite_add_tcase(s, t);
    return rig_main(s);
}
