/* Floating-point rows against the host's own arithmetic: correctly rounded in every mode, wider types for halves, libm for the approximate functions. */
#include <check.h>
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "emu/isa.h"
#include "emu/lane.h"
#include "emu/lane_small.h"

enum { ROUNDS = 400, AT_D = 64, AT_A = 576, AT_B = 1088, AT_C = 1600 };
static _Alignas(64) char frame[4096];
static uint64_t seed = 1;
static uint64_t next_random(void) { seed = seed * 6364136223846793005u + 1442695040888963407u; return seed ^ seed >> 29; }

static void run(enum lane_id id, int level, uint64_t imm)
{
    struct insn in = { .d = AT_D, .a = AT_A, .b = AT_B, .c = AT_C, .imm = imm };
    struct warp w = { .frame = frame, .mask = FULL_MASK };
    memcpy(frame + FRAME_TRUE, &w.mask, sizeof w.mask);
    ck_assert_ptr_eq(lane_handlers_of(id, level).full(&in, &w, NULL), &in + 1);
}

static float *floats(unsigned at) { return (float *)(void *)(frame + at); }
static double *doubles(unsigned at) { return (double *)(void *)(frame + at); }
static uint16_t *halves(unsigned at) { return (uint16_t *)(void *)(frame + at); }
static uint32_t bits32(float x) { uint32_t u; memcpy(&u, &x, 4); return u; }

/* Any bits; often close to one another in size, so that sums cancel and products land near the limits. */
static void random_floats(unsigned at)
{
    for (unsigned l = 0; l < WARP_SIZE; l++) {
        uint32_t u = (uint32_t)next_random();
        switch (next_random() % 4) {
        case 0: u = (u & 0x807fffffu) | (uint32_t)(100 + next_random() % 50) << 23; break;
        case 1: u = (u & 0x807fffffu) | (uint32_t)(next_random() % 30) << 23; break;
        case 2: u &= 0xffff0000u; break;
        default: break;
        }
        memcpy(frame + at + 4 * l, &u, 4);
    }
}
static void random_doubles(unsigned at)
{
    for (unsigned l = 0; l < WARP_SIZE; l++) {
        uint64_t u = next_random() << 32 ^ next_random();
        if (next_random() % 2) u = (u & 0x800fffffffffffffu) | (1000 + next_random() % 50) << 52;
        memcpy(frame + at + 8 * l, &u, 8);
    }
}

static const int modes[] = { [LANE_ROUND_NEAREST] = FE_TONEAREST, [LANE_ROUND_DOWN] = FE_DOWNWARD, [LANE_ROUND_UP] = FE_UPWARD,
                             [LANE_ROUND_ZERO] = FE_TOWARDZERO };
enum op { ADD, SUB, MUL, FMA, DIV, RCP, SQRT, N_OPS };

static float want_f32(enum op op, volatile float a, volatile float b, volatile float c)
{
    switch (op) {
    case ADD: return a + b;
    case SUB: return a - b;
    case MUL: return a * b;
    case FMA: return fmaf(a, b, c);
    case DIV: return a / b;
    case RCP: return 1.0f / a;
    default:  return sqrtf(a);
    }
}
static double want_f64(enum op op, volatile double a, volatile double b, volatile double c)
{
    switch (op) {
    case ADD: return a + b;
    case SUB: return a - b;
    case MUL: return a * b;
    case FMA: return fma(a, b, c);
    case DIV: return a / b;
    case RCP: return 1.0 / a;
    default:  return sqrt(a);
    }
}

START_TEST(rounds_as_ieee)
{
    static const uint16_t single[] = { LANE_add_f32, LANE_sub_f32, LANE_mul_f32, LANE_fma_f32, LANE_div_f32, LANE_rcp_f32, LANE_sqrt_f32 };
    static const uint16_t twice[] = { LANE_add_f64, LANE_sub_f64, LANE_mul_f64, LANE_fma_f64, LANE_div_f64, LANE_rcp_f64, LANE_sqrt_f64 };
    int level = _i;
    if (!isa_usable(level)) return;
    for (unsigned round = 0; round < ROUNDS; round++)
        for (enum op op = 0; op < N_OPS; op++) {
            unsigned mode = round % 4;
            random_floats(AT_A), random_floats(AT_B), random_floats(AT_C);
            run((enum lane_id)(single[op] + (mode ? 2 : 0)), level, mode);
            fesetround(modes[mode]);
            for (unsigned l = 0; l < WARP_SIZE; l++) {
                float want = want_f32(op, floats(AT_A)[l], floats(AT_B)[l], floats(AT_C)[l]), got = floats(AT_D)[l];
                uint32_t w = isnan(want) ? 0x7fffffffu : bits32(want);
                ck_assert_msg(bits32(got) == w, "op %d mode %u: %a %a %a gives %a, not %a", op, mode, (double)floats(AT_A)[l],
                              (double)floats(AT_B)[l], (double)floats(AT_C)[l], (double)got, (double)want);
            }
            fesetround(FE_TONEAREST);
            random_doubles(AT_A), random_doubles(AT_B), random_doubles(AT_C);
            run((enum lane_id)(twice[op] + (mode ? 1 : 0)), level, mode);
            fesetround(modes[mode]);
            for (unsigned l = 0; l < WARP_SIZE; l++) {
                double want = want_f64(op, doubles(AT_A)[l], doubles(AT_B)[l], doubles(AT_C)[l]), got = doubles(AT_D)[l];
                ck_assert_msg(isnan(want) ? isnan(got) : memcmp(&got, &want, 8) == 0, "op %d mode %u: %a, not %a", op, mode, got, want);
            }
            fesetround(FE_TONEAREST);
        }
}
END_TEST

/* .ftz is what the host does with its own flushing on (denormals-are-zero and flush-to-zero). */
START_TEST(flushes_as_the_host)
{
    static const uint16_t ftz[] = { LANE_add_f32_ftz, LANE_sub_f32_ftz, LANE_mul_f32_ftz, LANE_fma_f32_ftz, LANE_div_f32_ftz, LANE_rcp_f32_ftz,
                                    LANE_sqrt_f32_ftz };
    for (unsigned round = 0; round < ROUNDS; round++)
        for (enum op op = 0; op < N_OPS; op++) {
            if (op == FMA && !isa_usable(ISA_AVX2)) continue;      /* libm's fma is not made for flushing */
            random_floats(AT_A), random_floats(AT_B), random_floats(AT_C);
            for (unsigned l = 0; l < WARP_SIZE; l++) {             /* products and quotients around 2^-126 */
                floats(AT_A)[l] = ldexpf(1.0f + (float)(next_random() % 0x800000) * 0x1p-23f, (int)(next_random() % 3) - 64);
                if (op == RCP) floats(AT_A)[l] *= 0x1p125f, floats(AT_A)[l] *= 0x1p65f;
                floats(AT_B)[l] = ldexpf(1.0f + (float)(next_random() % 64) * 0x1p-23f, op == DIV ? 62 : -62);
                if (next_random() % 2) floats(AT_C)[l] = 0.0f;
            }
            run((enum lane_id)ftz[op], ISA_BASE, 0);
            unsigned old = __builtin_ia32_stmxcsr();
            __builtin_ia32_ldmxcsr(old | 0x8040u);
            float want[WARP_SIZE];
            for (unsigned l = 0; l < WARP_SIZE; l++) want[l] = want_f32(op, floats(AT_A)[l], floats(AT_B)[l], floats(AT_C)[l]);
            __builtin_ia32_ldmxcsr(old);
            for (unsigned l = 0; l < WARP_SIZE; l++) {
                uint32_t w = isnan(want[l]) ? 0x7fffffffu : bits32(want[l]);
                ck_assert_msg(bits32(floats(AT_D)[l]) == w, "op %d: %a %a %a gives %a, not %a", op, (double)floats(AT_A)[l], (double)floats(AT_B)[l],
                              (double)floats(AT_C)[l], (double)floats(AT_D)[l], (double)want[l]);
            }
        }
}
END_TEST

static double half_value(uint32_t h, bool bf16)
{
    if (bf16) { uint32_t u = h << 16; float f; memcpy(&f, &u, 4); return (double)f; }
    int e = (int)(h >> 10 & 31);
    double m = (double)(h & 1023);
    double v = e == 31 ? ((h & 1023) ? (double)NAN : (double)INFINITY) : e ? ldexp(1024.0 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}

/* The nearest half of an exact value, by trying the neighbours of a first guess. */
static uint32_t half_nearest(__float128 v, bool bf16)
{
    uint32_t sign = v < 0 || (v == 0 && signbit((double)v)) ? 0x8000u : 0, inf = bf16 ? 0x7f80u : 0x7c00u, low = 0, high = inf;
    if (v < 0) v = -v;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if ((__float128)half_value(middle, bf16) <= v) low = middle; else high = middle;
    }
    __float128 below = (__float128)half_value(low, bf16), above = (__float128)half_value(high, bf16);
    if (high == inf) above = bf16 ? (__float128)0x1p128 : (__float128)65536.0;
    bool up = v - below > above - v || (v - below == above - v && (low & 1));
    return sign | (up ? high : low);
}

static uint32_t half_of_float(float f, bool bf16)
{
    if (isnan(f)) return 0x7fff;
    if (isinf(f)) return (bf16 ? 0x7f80u : 0x7c00u) | (f < 0 ? 0x8000u : 0);
    return half_nearest((__float128)f, bf16);
}

START_TEST(halves_round_once)
{
    static const uint16_t rows[][2] = { { LANE_add_f16, LANE_add_bf16 }, { LANE_sub_f16, LANE_sub_bf16 }, { LANE_mul_f16, LANE_mul_bf16 },
                                        { LANE_fma_f16, LANE_fma_bf16 } };
    int level = _i;
    if (!isa_usable(level)) return;
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned op = 0; op < 4; op++)
            for (unsigned bf16 = 0; bf16 < 2; bf16++) {
                for (unsigned l = 0; l < WARP_SIZE; l++) {
                    halves(AT_A)[l] = (uint16_t)next_random();
                    halves(AT_B)[l] = (uint16_t)(next_random() % 2 ? next_random() : 0x3c00u + next_random() % 64);
                    halves(AT_C)[l] = (uint16_t)(next_random() % 3 ? next_random() : next_random() % 64 | (next_random() & 0x8000));
                }
                run((enum lane_id)rows[op][bf16], level, 0);
                for (unsigned l = 0; l < WARP_SIZE; l++) {
                    double a = half_value(halves(AT_A)[l], bf16), b = half_value(halves(AT_B)[l], bf16), c = half_value(halves(AT_C)[l], bf16);
                    if (op == 3 && c != 0.0 && fabs(c) < fabs(a * b) * 0x1p-80) continue;    /* 113 bits do not hold the sum */
                    double rough = want_f64((enum op[]){ ADD, SUB, MUL, FMA }[op], a, b, c);
                    __float128 exact = op == 0 ? (__float128)a + b : op == 1 ? (__float128)a - b : op == 2 ? (__float128)a * b : (__float128)a * b + c;
                    uint32_t want = isnan(rough) ? 0x7fff : isinf(rough) ? (bf16 ? 0x7f80u : 0x7c00u) | (rough < 0 ? 0x8000u : 0)
                                  : half_nearest(rough == 0.0 && exact == 0 ? (__float128)rough : exact, bf16);
                    ck_assert_msg(halves(AT_D)[l] == want, "op %u bf16 %u: %a %a %a gives %04x, not %04x", op, bf16, a, b, c, halves(AT_D)[l], want);
                }
            }
}
END_TEST

/* Every f16 there and back, by the fast rows and by the general ones. */
START_TEST(halves_convert)
{
    int level = _i;
    if (!isa_usable(level)) return;
    for (uint32_t h = 0; h < 0x10000; h += WARP_SIZE) {
        for (unsigned l = 0; l < WARP_SIZE; l++) halves(AT_A)[l] = (uint16_t)(h + l);
        run(LANE_cvt_f32_f16, level, 0);
        float f[WARP_SIZE];
        memcpy(f, frame + AT_D, sizeof f);
        for (unsigned l = 0; l < WARP_SIZE; l++) {
            double want = half_value(h + l, false);
            ck_assert(isnan(want) ? bits32(f[l]) == 0x7fffffffu : (double)f[l] == want && !signbit(f[l]) == !signbit(want));
            doubles(AT_B)[l] = (double)f[l];
        }
        memcpy(frame + AT_A, f, sizeof f);
        run(LANE_cvt_f16_f32, level, 0);
        for (unsigned l = 0; l < WARP_SIZE; l++) ck_assert_uint_eq(halves(AT_D)[l], isnan(f[l]) ? 0x7fff : h + l);
        memcpy(frame + AT_A, frame + AT_B, 256);
        run(LANE_small16_f64, level, SMALL_F16);
        for (unsigned l = 0; l < WARP_SIZE; l++) ck_assert_uint_eq(halves(AT_D)[l], isnan(f[l]) ? 0x7fff : h + l);
    }
    for (unsigned round = 0; round < 4 * ROUNDS; round++) {
        random_floats(AT_A);
        for (unsigned l = 0; l < WARP_SIZE; l++) if (round % 2) floats(AT_A)[l] = ldexpf(floats(AT_A)[l], 0) * 0x1p10f;
        float f[WARP_SIZE];
        memcpy(f, frame + AT_A, sizeof f);
        run(LANE_cvt_f16_f32, level, 0);
        for (unsigned l = 0; l < WARP_SIZE; l++) ck_assert_uint_eq(halves(AT_D)[l], half_of_float(f[l], false));
        run(LANE_cvt_bf16_f32, level, 0);
        for (unsigned l = 0; l < WARP_SIZE; l++) ck_assert_uint_eq(halves(AT_D)[l], half_of_float(f[l], true));
    }
}
END_TEST

/* fp8, fp6, fp4: every code survives decoding and encoding in every rounding mode. */
START_TEST(small_formats_survive)
{
    static const struct { uint64_t format; unsigned bits; } formats[] = { { SMALL_E5M2, 8 }, { SMALL_E4M3, 8 }, { SMALL_E3M2, 6 }, { SMALL_E2M3, 6 },
                                                                          { SMALL_E2M1, 4 }, { SMALL_BF16, 16 } };
    for (unsigned k = 0; k < sizeof formats / sizeof formats[0]; k++)
        for (unsigned mode = SMALL_NEAREST; mode <= SMALL_AWAY; mode++)
            for (uint32_t code = 0; code < 1u << formats[k].bits; code += WARP_SIZE) {
                for (unsigned l = 0; l < WARP_SIZE; l++) halves(AT_A)[l] = (uint16_t)((code + l) & ((1u << formats[k].bits) - 1));
                uint16_t codes[WARP_SIZE];
                memcpy(codes, frame + AT_A, sizeof codes);
                run(LANE_small_f32, ISA_BASE, formats[k].format);
                float f[WARP_SIZE];
                memcpy(f, frame + AT_D, sizeof f);
                for (unsigned l = 0; l < WARP_SIZE; l++) doubles(AT_A)[l] = (double)f[l];
                run(LANE_small16_f64, ISA_BASE, formats[k].format | SMALL_ROUND(mode));
                for (unsigned l = 0; l < WARP_SIZE; l++)
                    if (!isnan(f[l])) ck_assert_msg(halves(AT_D)[l] == codes[l], "format %u code %x mode %u: %x", k, codes[l], mode, halves(AT_D)[l]);
            }
}
END_TEST

/* Approximate functions: within 0.51 units in the last place of libm in double precision (0.75 where single precision is a step). */
START_TEST(functions_are_close)
{
    static const struct { uint16_t lane; double (*f)(double); float low, high; double ulps; } functions[] = {
        { LANE_ex2_f32, exp2, -126.0f, 127.9f, 0.51 }, { LANE_lg2_f32, log2, 0x1p-140f, 0x1p120f, 0.51 }, { LANE_lg2_f32, log2, 0.9f, 1.1f, 0.51 },
        { LANE_sin_f32, sin, -3.2f, 3.2f, 0.51 }, { LANE_cos_f32, cos, -3.2f, 3.2f, 0.51 }, { LANE_sin_f32, sin, -1e6f, 1e6f, 4.0 },
        { LANE_cos_f32, cos, 1e6f, 1e30f, 0.51 }, { LANE_tanh_f32, tanh, -12.0f, 12.0f, 0.6 } };
    int level = _i;
    if (!isa_usable(level)) return;
    for (unsigned k = 0; k < sizeof functions / sizeof functions[0]; k++)
        for (unsigned round = 0; round < ROUNDS; round++) {
            for (unsigned l = 0; l < WARP_SIZE; l++) {
                float u = (float)(next_random() % 0x1000000) * 0x1p-24f;
                floats(AT_A)[l] = functions[k].low > 0.0f && functions[k].high > 2.0f * functions[k].low
                                ? (float)(functions[k].low * exp2((double)u * log2((double)functions[k].high / functions[k].low)))
                                : functions[k].low + u * (functions[k].high - functions[k].low);
            }
            run((enum lane_id)functions[k].lane, level, 0);
            for (unsigned l = 0; l < WARP_SIZE; l++) {
                double want = functions[k].f((double)floats(AT_A)[l]), unit = ldexp(1.0, ilogb(want) - 23);
                if (unit < 0x1p-149) unit = 0x1p-149;
                double off = fabs((double)floats(AT_D)[l] - want) / unit;
                ck_assert_msg(off <= functions[k].ulps, "function %u of %a: %a, %g units off", k, (double)floats(AT_A)[l], (double)floats(AT_D)[l], off);
            }
        }
    for (unsigned round = 0; round < ROUNDS; round++) {
        random_floats(AT_A);
        for (unsigned l = 0; l < WARP_SIZE; l++) floats(AT_A)[l] = fabsf(floats(AT_A)[l]);
        run(LANE_rsqrt_f32, level, 0);
        for (unsigned l = 0; l < WARP_SIZE; l++) {
            float a = floats(AT_A)[l];
            if (isnan(a) || isinf(a) || a == 0.0f) continue;
            double want = 1.0 / sqrt((double)a), off = fabs((double)floats(AT_D)[l] - want) / ldexp(1.0, ilogb(want) - 23);
            ck_assert_msg(off <= 0.51, "rsqrt of %a: %g units off", (double)a, off);
        }
    }
}
END_TEST

/* 32-bit quotients by way of doubles, against the host's division. */
START_TEST(quotients_are_exact)
{
    int level = _i;
    if (!isa_usable(level)) return;
    for (unsigned round = 0; round < 10 * ROUNDS; round++) {
        uint32_t a[WARP_SIZE], b[WARP_SIZE], q[WARP_SIZE];
        for (unsigned l = 0; l < WARP_SIZE; l++) {
            b[l] = (uint32_t)next_random() >> next_random() % 32;
            if (b[l] == 0) b[l] = 1;
            a[l] = next_random() % 2 ? (uint32_t)next_random() : b[l] * (uint32_t)(next_random() % (0xffffffffu / b[l] + 1ull)) - (uint32_t)(next_random() % 2);
        }
        memcpy(frame + AT_A, a, sizeof a), memcpy(frame + AT_B, b, sizeof b);
        run(LANE_div_u32, level, 0);
        memcpy(q, frame + AT_D, sizeof q);
        for (unsigned l = 0; l < WARP_SIZE; l++) ck_assert_msg(q[l] == a[l] / b[l], "%u / %u = %u", a[l], b[l], q[l]);
        run(LANE_div_s32, level, 0);
        memcpy(q, frame + AT_D, sizeof q);
        for (unsigned l = 0; l < WARP_SIZE; l++) ck_assert(q[l] == (uint32_t)((int64_t)(int32_t)a[l] / (int32_t)b[l]));
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emu lane floats");
    TCase *t = tcase_create("floats");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, rounds_as_ieee, 0, ISA_COUNT);
    tcase_add_test(t, flushes_as_the_host);
    tcase_add_loop_test(t, halves_round_once, 0, ISA_COUNT);
    tcase_add_loop_test(t, halves_convert, 0, ISA_COUNT);
    tcase_add_test(t, small_formats_survive);
    tcase_add_loop_test(t, functions_are_close, 0, ISA_COUNT);
    tcase_add_loop_test(t, quotients_are_exact, 0, ISA_COUNT);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
