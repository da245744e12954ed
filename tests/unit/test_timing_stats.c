/* Statistics: sums and differences by the table, ratios, and the forms in which they are written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/json.h"
#include "timing/stats.h"
#include "tests/unit/suite.h"

static struct timing_stats total, window;
static struct timing_config config;
static struct timing_sm_stats sms[2];
static struct timing_slice_stats slices[2];
static struct timing_channel_stats channels[1];
static struct textbuf out;

static struct timing_report report(const char *kernel)
{
    return (struct timing_report){kernel, 3, 7, &window, &total, &config, 2.5, sms, slices, channels, 2, 2, 1};
}

static void begin(void)
{
    total = window = (struct timing_stats){0};
    struct timing_settings *s = timing_settings_new();
    struct error err;
    ck_assert(timing_settings_part(s, "v100"));
    ck_assert_int_eq(timing_settings_check(s, &config, &err), ST_OK);
    timing_settings_free(s);
    window.gpu.cycles = 1000;
    window.gpu.time_ps = 500000;
    window.sm.instructions = 2500;
    window.sm.resident_warp_cycles = 30;
    window.sm.warp_slot_cycles = 40;
    window.slice.replies = 250;
    total = window;
    total.gpu.cycles = 5000;
    total.sm.warp_instructions = 77;
    total.channel.reads = 11;
    total.channel.writes = 12;
    total.slice.l2.access[TIMING_GLOBAL_ACC_R][TIMING_HIT] = 5;
    total.slice.l2.access[TIMING_GLOBAL_ACC_R][TIMING_MISS] = 2;
    total.slice.l2.access[TIMING_GLOBAL_ACC_R][TIMING_SECTOR_MISS] = 1;
    total.slice.l2.access[TIMING_GLOBAL_ACC_R][TIMING_MSHR_HIT] = 1;
    total.slice.l2.access[TIMING_GLOBAL_ACC_W][TIMING_HIT_RESERVED] = 4;
    total.slice.l2.access[TIMING_GLOBAL_ACC_W][TIMING_RESERVATION_FAIL] = 9;
    total.slice.l2.fail[TIMING_GLOBAL_ACC_W][TIMING_MSHR_ENRTY_FAIL] = 9;
    total.sm.l1d.access[TIMING_GLOBAL_ACC_R][TIMING_HIT] = 6;
    total.sm.l1i.access[TIMING_INST_ACC_R][TIMING_HIT] = 8;
    total.sm.fetches = 4;
    total.sm.fetch_latency = 2002;
    total.sm.sent[TIMING_GLOBAL_ACC_R][0] = 3;
    total.sm.sent[TIMING_GLOBAL_ACC_W][1] = 2;
}

static void end(void) { textbuf_free(&out); }

static void has(const char *text) { ck_assert_msg(out.at && strstr(out.at, text), "'%s' is not in\n%.3000s", text, out.at ? out.at : ""); }
static void has_not(const char *text) { ck_assert_msg(!out.at || !strstr(out.at, text), "'%s'", text); }

static double value(const char *name, const struct timing_stats *s)
{
    int i = timing_stat_find(name);
    ck_assert_msg(i >= 0, "%s", name);
    return timing_stat_value((size_t)i, s);
}

START_TEST(rows_are_sound)
{
    for (size_t i = 0; i < timing_stat_count(); i++) {
        struct timing_stat s = timing_stat(i);
        ck_assert_int_eq(timing_stat_find(s.name), (int)i);          /* no name twice */
        ck_assert(*s.help);
        textbuf_free(&out);
        timing_stat_explain(i, &out);
        has(s.help);
    }
    /* every word belongs to one row */
    static struct timing_stats from, to;
    memset(&from, 1, sizeof from);
    timing_stats_add(TIMING_STATS_gpu, &to.gpu, &from.gpu);
    timing_stats_add(TIMING_STATS_sm, &to.sm, &from.sm);
    timing_stats_add(TIMING_STATS_slice, &to.slice, &from.slice);
    timing_stats_add(TIMING_STATS_channel, &to.channel, &from.channel);
    timing_stats_add(TIMING_STATS_noc, &to.noc, &from.noc);
    ck_assert_int_eq(memcmp(&from, &to, sizeof from), 0);
}
END_TEST

START_TEST(ratios_name_rows)
{
    static struct timing_stats ones;
    for (size_t i = 0; i < sizeof ones / 8; i++)
        ((uint64_t *)&ones)[i] = 1;
    for (size_t i = 0; i < timing_stat_count(); i++) {
        struct timing_stat s = timing_stat(i);
        if (s.kind == TIMING_STAT_RATIO || s.kind == TIMING_STAT_SUM) {
            ck_assert_msg(timing_stat_value(i, &ones) > 0, "%s", s.name);
            ck_assert_msg(!(timing_stat_value(i, &window) < 0), "%s", s.name);
        }
    }
}
END_TEST

START_TEST(sums_and_differences)
{
    struct timing_sm_stats a = {.instructions = 5, .fetch_latency_max = 30}, b = {.instructions = 7, .fetch_latency_max = 20};
    a.l1d.access[2][1] = 3;
    b.l1d.access[2][1] = 4;
    timing_stats_add(TIMING_STATS_sm, &a, &b);
    ck_assert_uint_eq(a.instructions, 12);
    ck_assert_uint_eq(a.fetch_latency_max, 30);
    ck_assert_uint_eq(a.l1d.access[2][1], 7);
    struct timing_stats later = {.gpu = {.cycles = 9}, .sm = a}, earlier = {.gpu = {.cycles = 2}, .sm = b};
    timing_stats_subtract(&later, &later, &earlier);
    ck_assert_uint_eq(later.gpu.cycles, 7);
    ck_assert_uint_eq(later.sm.instructions, 5);
    ck_assert_uint_eq(later.sm.fetch_latency_max, 30);
    ck_assert_uint_eq(later.sm.l1d.access[2][1], 3);
}
END_TEST

START_TEST(values)
{
    ck_assert(value("ipc", &window) > 2.499 && value("ipc", &window) < 2.501);
    ck_assert(value("occupancy", &window) > 74.9 && value("occupancy", &window) < 75.1);
    ck_assert(value("slice.bandwidth", &window) > 15.9 && value("slice.bandwidth", &window) < 16.1);     /* 250 x 32 B in 0.5 us */
    ck_assert_int_eq((int)value("slice.l2.accesses", &total), 12);
    ck_assert_int_eq((int)value("slice.l2.misses", &total), 3);
    ck_assert_int_eq((int)value("slice.l2.reservation_fails", &total), 9);
    ck_assert(value("slice.l2.miss_rate", &total) > 0.249 && value("slice.l2.miss_rate", &total) < 0.251);
    ck_assert(!(value("slice.l2.miss_rate", &window) > 0));
    uint64_t buckets[TIMING_BUCKETS] = {0};
    const uint64_t v[] = {0, 1, 2, 3, 4, 7, 8, UINT64_MAX};
    for (int i = 0; i < 8; i++)
        timing_histogram_count(buckets, v[i]);
    ck_assert(buckets[0] == 2 && buckets[1] == 2 && buckets[2] == 2 && buckets[3] == 1 && buckets[31] == 1);
}
END_TEST

START_TEST(gpgpusim_form)
{
    struct timing_report r = report("_Z3addPf");
    sms[1].l1d.access[TIMING_GLOBAL_ACC_R][TIMING_MISS] = 2;
    timing_stats_gpgpusim_head(&out);
    timing_stats_gpgpusim(&out, &r);
    timing_stats_gpgpusim_end(&out);
    static const char *const lines[] = {
        "*** GPGPU-Sim Simulator Version 4.2.0  [build heddle-", "Accel-Sim [build heddle-",
        "\nkernel_name = _Z3addPf\nkernel_launch_uid = 3\nkernel_stream_id = 7\ngpu_sim_cycle = 1000\ngpu_sim_insn = 2500\ngpu_ipc =       2.5000\ngpu_tot_sim_cycle = 5000\n",
        "\ngpu_occupancy = 75.0000% \n", "\nL2_BW  =      16.0000 GB/Sec\n", "\n\tL1I_total_cache_accesses = 8\n\tL1I_total_cache_misses = 0\n\tL1I_total_cache_miss_rate = 0.0000\n",
        "\n\tL1C_total_cache_misses = 0\n\tL1C_total_cache_pending_hits = 0\n", "\n\tTotal_core_cache_stats_breakdown[GLOBAL_ACC_R][HIT] = 6\n",
        "\n\tTotal_core_cache_stats_breakdown[INST_ACC_R][TOTAL_ACCESS] = 8\n", "\ngpgpu_n_tot_w_icount = 77\n", "\ntotal dram reads = 11\ntotal dram writes = 12\n",
        "\n\tL2_cache_stats_breakdown[GLOBAL_ACC_R][HIT] = 5\n\tL2_cache_stats_breakdown[GLOBAL_ACC_R][MISS] = 2\n", "[GLOBAL_ACC_R][MSHR_HIT] = 1\n",
        "\n\tL2_cache_stats_breakdown[GLOBAL_ACC_R][TOTAL_ACCESS] = 8\n", "\n\tL2_cache_stats_breakdown[GLOBAL_ACC_W][TOTAL_ACCESS] = 4\n",
        "\n\tL2_cache_stats_fail_breakdown[GLOBAL_ACC_W][MSHR_ENRTY_FAIL] = 9\n", "\n\tL1D_cache_core[1]: Access = 2, Miss = 2, Miss_rate = 1.000, Pending_hits = 0, Reservation_fails = 0\n",
        "\naveragemflatency = 500 \n", "\ntraffic_breakdown_coretomem[GLOBAL_ACC_R] = 3 {8:3,}\ntraffic_breakdown_coretomem[GLOBAL_ACC_W] = 2 {40:2,}\n",
        "\nDRAM[0]: 16 bks, busW=8", "\ngpgpu_simulation_time = 0 days, 0 hrs, 0 min, 2 sec (2 sec)\n", "\ngpgpu_simulation_rate = 1000 (inst/sec)\ngpgpu_simulation_rate = 2000 (cycle/sec)\n",
        "\nWarp Occupancy Distribution:\nStall:0\tW0_Idle:0\tW0_Scoreboard:0\tW1:0", "\nGPGPU-Sim: *** exit detected ***\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        has(lines[i]);
    has_not("nan");
    has_not("L1C_total_cache_miss_rate");
    has_not("stats_breakdown[LOCAL_ACC_R]");
}
END_TEST

/* The list of what scripts parse, where it is at hand: each of those names is printed, and explained under that name. */
START_TEST(gpgpusim_names)
{
    FILE *f = fopen("../shared/reference/stats.tsv", "r");
    if (!f) {
        printf("skipped: ../shared/reference/stats.tsv is not there\n");
        return;
    }
    for (size_t i = 0; i < sizeof total / 8; i++)
        ((uint64_t *)&total)[i] = 1;
    struct timing_report r = report("k");
    timing_stats_gpgpusim_head(&out);
    timing_stats_gpgpusim(&out, &r);
    timing_stats_gpgpusim_end(&out);
    char line[4000];
    size_t n = 0;
    while (fgets(line, sizeof line, f)) {
        char *form = line, *mark = strrchr(line, '\t');
        for (int i = 0; i < 4; i++)
            form = strchr(form, '\t') + 1;
        if (!mark[1] || mark[1] == '\n' || strncmp(line, "name\t", 5) == 0)
            continue;
        *strchr(line, '\t') = 0;
        form[strcspn(form, "%<\t\n")] = 0;                     /* up to the value */
        if (strncmp(form, "\\t", 2) == 0)
            *++form = '\t';
        if (strcmp(line, "build banner") != 0 && strcmp(line, "limit marker") != 0) {
            has(form);
            n++;
        }
        if (strchr(line, '_') && strncmp(line, "kernel", 6) != 0 && strncmp(line, "gpgpu_simulation", 16) != 0 && strcmp(line, "gpgpu_silicon_slowdown") != 0)
            ck_assert_msg(timing_stat_find(line) >= 0, "%s", line);
    }
    fclose(f);
    ck_assert_uint_ge(n, 20);
}
END_TEST

START_TEST(json_form)
{
    struct timing_report r = report("a \"b\"");
    timing_stats_json(&out, &r);
    has("{\n  \"schema\": 1,\n  \"gpu\": \"Tesla V100\",\n  \"kernel\": \"a \\\"b\\\"\",\n  \"launch\": 3,\n  \"stream\": 7,\n  \"window\": {\n    \"gpu.cycles\": 1000,\n");
    has("\"ipc\": 2.5");
    has("\"slice.l2.access\": {\n      \"GLOBAL_ACC_R\": {\n        \"HIT\": 5,\n");
    ck_assert_str_eq(out.at + out.n - 4, "  }\n}\n" + 2);
}
END_TEST

START_TEST(csv_form)
{
    struct timing_report r = report("f(int, \"x\")");
    timing_stats_csv_head(&out);
    size_t head = out.n, commas[2] = {0};
    timing_stats_csv(&out, &r);
    ck_assert_int_eq(strncmp(out.at, "kernel,launch,stream,gpu.cycles,", 32), 0);
    static const char line[] = "\"f(int, \"\"x\"\")\",3,7,1000,";
    ck_assert_int_eq(strncmp(out.at + head, line, sizeof line - 1), 0);
    for (size_t i = 0; i < out.n; i++)
        commas[i >= head] += out.at[i] == ',';
    ck_assert_uint_eq(commas[0] + 1, commas[1]);             /* the one inside the name */
}
END_TEST

START_TEST(text_form)
{
    struct timing_report r = report("k");
    timing_stats_text(&out, &r);
    has("kernel k, launch 3, stream 7\n");
    has("  gpu.cycles                                      1000  core cycles\n");
    has_not("channel.refreshes");
}
END_TEST

START_TEST(explanations)
{
    timing_stat_explain((size_t)timing_stat_find("gpu_tot_sim_cycle"), &out);
    has("gpu.cycles: ");
    has("GPGPU-Sim   gpu_sim_cycle, gpu_tot_sim_cycle\n");
    textbuf_free(&out);
    timing_stat_explain((size_t)timing_stat_find("L2_cache_stats_breakdown[GLOBAL_ACC_R][HIT]"), &out);
    has("    HIT_RESERVED           it was on its way\n");
    ck_assert_int_eq(timing_stat_find("nonsense"), -1);
    ck_assert_int_ge(timing_stat_nearest("miss_rate"), 0);
}
END_TEST

START_TEST(json_values)
{
    struct json j = json_to(&out);
    json_array(&j, NULL);
    json_real(&j, NULL, 0.5);
    json_real(&j, NULL, 1e300 * 1e300);
    json_bool(&j, NULL, true);
    json_text(&j, NULL, NULL);
    json_text(&j, NULL, "\x01 \xc3\xa9 \xff \xed\xa0\x80 \\");
    json_array(&j, NULL);
    json_end(&j);
    json_object(&j, NULL);
    json_u64(&j, "n", UINT64_MAX);
    json_end(&j);
    json_end(&j);
    json_end(&j);
    ck_assert_str_eq(out.at, "[\n  0.5,\n  null,\n  true,\n  null,\n  \"\\u0001 \xc3\xa9 \\ufffd \\ufffd\\ufffd\\ufffd \\\\\",\n  [],\n  {\n    \"n\": 18446744073709551615\n  }\n]\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timing stats");
    TCase *t = tcase_create("stats");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, rows_are_sound);
    tcase_add_test(t, ratios_name_rows);
    tcase_add_test(t, sums_and_differences);
    tcase_add_test(t, values);
    tcase_add_test(t, gpgpusim_form);
    tcase_add_test(t, gpgpusim_names);
    tcase_add_test(t, json_form);
    tcase_add_test(t, csv_form);
    tcase_add_test(t, text_form);
    tcase_add_test(t, explanations);
    tcase_add_test(t, json_values);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
