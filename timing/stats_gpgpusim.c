/* Statistics in the form and with the names that GPGPU-Sim prints, so that result scripts made for it work. */
#include "timing/stats_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one value in a printf form ---- */

/* The form has one conversion, d or u with any length, or f with width and precision, and %% for a percent sign. */
static void print_form(struct textbuf *out, const char *form, struct stat_number v)
{
    for (const char *p = form; *p; p++) {
        if (*p != '%' || p[1] == '%') {
            textbuf_add_bytes(out, p, 1);
            p += *p == '%';
            continue;
        }
        char *end;
        int width = (int)strtol(p + 1, &end, 10), precision = 6;
        if (*end == '.')
            precision = (int)strtol(end + 1, &end, 10);
        while (*end == 'l')
            end++;
        if (*end == 'f')
            textbuf_add(out, "%*.*f", width, precision, v.d);
        else if (v.whole)
            textbuf_add(out, "%*" PRIu64, width, v.u);
        else
            textbuf_add(out, "%*" PRIu64, width, (uint64_t)v.d);
        p = end;
    }
    textbuf_add_bytes(out, "\n", 1);
}

static struct stat_number number(const char *name, const struct timing_stats *s)
{
    int i = stat_row_find(name, strlen(name));
    return i < 0 ? (struct stat_number){true, 0, 0} : stat_number((size_t)i, s);
}

static uint64_t whole(const char *name, const struct timing_stats *s) { return number(name, s).u; }

/* ---- sections ---- */

static void section_kernel(struct textbuf *out, const struct timing_report *r)
{
    if (r->kernel)
        textbuf_add(out, "kernel_name = %s\nkernel_launch_uid = %" PRIu64 "\nkernel_stream_id = %" PRIu64 "\n", r->kernel, r->launch, r->stream);
}

static uint64_t per_second(double n, double seconds) { return seconds > 0 ? (uint64_t)(n / seconds) : 0; }

static void section_total_rate(struct textbuf *out, const struct timing_report *r)
{
    textbuf_add(out, "gpu_total_sim_rate=%" PRIu64 "\n", per_second((double)r->total->sm.instructions, r->host_seconds));
}

static void section_l1i_head(struct textbuf *out, const struct timing_report *r)
{
    (void)r;
    textbuf_add(out, "\n========= Core cache stats =========\nL1I_cache:\n");
}
static void section_l1c_head(struct textbuf *out, const struct timing_report *r) { (void)r; textbuf_add(out, "L1C_cache:\n"); }
static void section_l1t_head(struct textbuf *out, const struct timing_report *r) { (void)r; textbuf_add(out, "L1T_cache:\n"); }
static void section_sstarr(struct textbuf *out, const struct timing_report *r) { (void)r; textbuf_add(out, "gpgpu_n_sstarr_insn = 0\n"); }

/* Sums of a cache's table over all kinds of accesses. */
static uint64_t outcomes(const struct timing_cache_stats *c, unsigned mask)
{
    uint64_t sum = 0;
    for (unsigned type = 0; type < TIMING_ACCESS_TYPES; type++)
        for (unsigned o = 0; o < TIMING_OUTCOMES; o++)
            sum += mask >> o & 1 ? c->access[type][o] : 0;
    return sum;
}

static void cache_line(struct textbuf *out, const char *name, unsigned i, const struct timing_cache_stats *c)
{
    uint64_t misses = outcomes(c, 1u << TIMING_MISS | 1u << TIMING_SECTOR_MISS), pending = outcomes(c, 1u << TIMING_HIT_RESERVED);
    uint64_t all = misses + pending + outcomes(c, 1u << TIMING_HIT);
    textbuf_add(out, "%s[%u]: Access = %" PRIu64 ", Miss = %" PRIu64 ", Miss_rate = %.3f, Pending_hits = %" PRIu64 ", Reservation_fails = %" PRIu64 "\n", name, i, all,
             misses, all ? (double)misses / (double)all : 0, pending, outcomes(c, 1u << TIMING_RESERVATION_FAIL));
}

static void section_l1d_cores(struct textbuf *out, const struct timing_report *r)
{
    textbuf_add(out, "L1D_cache:\n");
    for (uint32_t i = 0; r->sms && i < r->n_sms; i++)
        cache_line(out, "\tL1D_cache_core", i, &r->sms[i].l1d);
}

/* A line for each cell that is not zero, and for each kind of access the sum of what counts as an access. */
static void breakdown(struct textbuf *out, const char *name, const struct timing_cache_stats *c)
{
    char row[32], column[32];
    for (unsigned type = 0; type < TIMING_ACCESS_TYPES; type++) {
        uint64_t all = 0;
        const char *row_name = stat_cell_name(NAMES_ACCESS_TYPES, type, row, sizeof row);
        for (unsigned o = 0; o < TIMING_OUTCOMES; o++) {
            uint64_t n = c->access[type][o];
            if (n)
                textbuf_add(out, "\t%s[%s][%s] = %" PRIu64 "\n", name, row_name, stat_cell_name(NAMES_OUTCOMES, o, column, sizeof column), n);
            if (o != TIMING_RESERVATION_FAIL && o != TIMING_MSHR_HIT)
                all += n;
        }
        if (all)
            textbuf_add(out, "\t%s[%s][TOTAL_ACCESS] = %" PRIu64 "\n", name, row_name, all);
    }
}

static void fail_breakdown(struct textbuf *out, const char *name, const struct timing_cache_stats *c)
{
    char row[32], column[32];
    for (unsigned type = 0; type < TIMING_ACCESS_TYPES; type++)
        for (unsigned f = 0; f < TIMING_FAILS; f++)
            if (c->fail[type][f])
                textbuf_add(out, "\t%s[%s][%s] = %" PRIu64 "\n", name, stat_cell_name(NAMES_ACCESS_TYPES, type, row, sizeof row),
                         stat_cell_name(NAMES_FAILS, f, column, sizeof column), c->fail[type][f]);
}

/* All four first-level caches together, as GPGPU-Sim merges them. */
static void section_core_breakdown(struct textbuf *out, const struct timing_report *r)
{
    const struct timing_cache_stats *all[] = {&r->total->sm.l1i, &r->total->sm.l1d, &r->total->sm.l1c, &r->total->sm.l1t};
    struct timing_cache_stats sum = {0};
    for (unsigned i = 0; i < 4; i++)
        for (unsigned type = 0; type < TIMING_ACCESS_TYPES; type++) {
            for (unsigned o = 0; o < TIMING_OUTCOMES; o++)
                sum.access[type][o] += all[i]->access[type][o];
            for (unsigned f = 0; f < TIMING_FAILS; f++)
                sum.fail[type][f] += all[i]->fail[type][f];
        }
    textbuf_add(out, "\nTotal_core_cache_stats:\n");
    breakdown(out, "Total_core_cache_stats_breakdown", &sum);
    textbuf_add(out, "\nTotal_core_cache_fail_stats:\n");
    fail_breakdown(out, "Total_core_cache_fail_stats_breakdown", &sum);
    textbuf_add(out, "\n");
}

static void section_warp_occupancy(struct textbuf *out, const struct timing_report *r)
{
    const struct timing_sm_stats *s = &r->total->sm;
    textbuf_add(out, "Warp Occupancy Distribution:\nStall:%" PRIu64 "\tW0_Idle:%" PRIu64 "\tW0_Scoreboard:%" PRIu64, s->stall_pipeline, s->stall_idle, s->stall_scoreboard);
    for (unsigned i = 1; i < TIMING_LANES; i++)
        textbuf_add(out, "\tW%u:%" PRIu64, i, s->issued_lanes[i]);
    textbuf_add(out, "\nsingle_issue_nums: ");
    uint32_t n = r->config->issue.schedulers < TIMING_SCHEDULERS ? r->config->issue.schedulers : TIMING_SCHEDULERS;
    for (unsigned i = 0; i < n; i++)
        textbuf_add(out, "WS%u:%" PRIu64 "\t", i, s->single_issue[i]);
    textbuf_add(out, "\ndual_issue_nums: ");
    for (unsigned i = 0; i < n; i++)
        textbuf_add(out, "WS%u:%" PRIu64 "\t", i, s->dual_issue[i]);
    textbuf_add(out, "\n");
}

static void traffic(struct textbuf *out, const char *name, const uint64_t packets[TIMING_ACCESS_TYPES][TIMING_PACKET_SIZES])
{
    char row[32];
    for (unsigned type = 0; type < TIMING_ACCESS_TYPES; type++) {
        uint64_t sum = 0;
        for (unsigned k = 0; k < TIMING_PACKET_SIZES; k++)
            sum += packets[type][k];
        if (!sum)
            continue;
        textbuf_add(out, "%s[%s] = %" PRIu64 " {", name, stat_cell_name(NAMES_ACCESS_TYPES, type, row, sizeof row), sum);
        for (unsigned k = 0; k < TIMING_PACKET_SIZES; k++)
            if (packets[type][k])
                textbuf_add(out, "%u:%" PRIu64 ",", 8 + 32 * k, packets[type][k]);
        textbuf_add(out, "}\n");
    }
}

static void section_traffic(struct textbuf *out, const struct timing_report *r)
{
    traffic(out, "traffic_breakdown_coretomem", r->total->sm.sent);
    traffic(out, "traffic_breakdown_memtocore", r->total->sm.received);
}

static void latency_table(struct textbuf *out, const char *name, const uint64_t buckets[TIMING_BUCKETS])
{
    textbuf_add(out, "%s:", name);
    for (unsigned i = 0; i < TIMING_BUCKETS; i++)
        textbuf_add(out, "%" PRIu64 " \t", buckets[i]);
    textbuf_add(out, "\n");
}

static void section_latency_tables(struct textbuf *out, const struct timing_report *r)
{
    latency_table(out, "mrq_lat_table", r->total->channel.queue_latencies);
    latency_table(out, "mf_lat_table", r->total->sm.fetch_latencies);
    latency_table(out, "icnt2mem_lat_table", r->total->slice.arrival_latencies);
    latency_table(out, "icnt2sh_lat_table", r->total->sm.return_latencies);
}

static void section_row_locality(struct textbuf *out, const struct timing_report *r)
{
    uint64_t accesses = whole("channel.requests", r->total), activates = whole("channel.activates", r->total);
    textbuf_add(out, "average row locality = %" PRIu64 "/%" PRIu64 " = %f\n", accesses, activates, activates ? (double)accesses / (double)activates : 0);
}

static double share(uint64_t a, uint64_t b) { return b ? (double)a / (double)b : 0; }

static void section_channels(struct textbuf *out, const struct timing_report *r)
{
    const struct timing_config *c = r->config;
    for (uint32_t i = 0; r->channels && i < r->n_channels; i++) {
        const struct timing_channel_stats *s = &r->channels[i];
        textbuf_add(out, "DRAM[%u]: %u bks, busW=%u BL=%u CL=%u, tRRD=%u tCCD=%u, tRCD=%u tRAS=%u tRP=%u tRC=%u\n", i, c->dram.banks, c->dram.bus_bytes, c->dram.burst,
                 c->dram.tCL, c->dram.tRRD, c->dram.tCCD, c->dram.tRCD, c->dram.tRAS, c->dram.tRP, c->dram.tRC);
        textbuf_add(out, "n_cmd=%" PRIu64 " n_nop=%" PRIu64 " n_act=%" PRIu64 " n_pre=%" PRIu64 " n_ref_event=%" PRIu64 " n_req=%" PRIu64 " n_rd=%" PRIu64
                 " n_rd_L2_A=%" PRIu64 " n_write=%" PRIu64 " n_wr_bk=%" PRIu64 " bw_util=%.4g\n", s->clocks, s->idle_commands, s->activates, s->precharges, s->refreshes,
                 s->requests, s->reads, s->reads_for_writes, s->writes - s->write_backs, s->write_backs, share(s->busy_clocks, s->clocks));
        textbuf_add(out, "n_activity=%" PRIu64 " dram_eff=%.4g\nRow_Buffer_Locality = %.6f\nBank_Level_Parallism = %.6f\nGrpLevelPara = %.6f\n", s->active_clocks,
                 share(s->busy_clocks, s->active_clocks), share(s->row_hits, s->row_hits + s->row_misses), share(s->bank_clocks, s->active_clocks),
                 share(s->group_clocks, s->active_clocks));
        textbuf_add(out, "bwutil = %.6f\ntotal_CMD = %" PRIu64 "\nutil_bw = %" PRIu64 "\nWasted_Col = %" PRIu64 "\nWasted_Row = %" PRIu64 "\nIdle = %" PRIu64 "\n",
                 share(s->busy_clocks, s->clocks), s->clocks, s->busy_clocks, s->wait_column, s->wait_row, s->clocks - s->active_clocks);
        textbuf_add(out, "RCDc_limit = %" PRIu64 "\nRCDWRc_limit = %" PRIu64 "\nWTRc_limit = %" PRIu64 "\nRTWc_limit = %" PRIu64 "\nCCDLc_limit = %" PRIu64 "\nrwq = %" PRIu64 "\n",
                 s->wait_tRCD, s->wait_tRCDWR, s->wait_tWTR, s->wait_tRTW, s->wait_tCCDL, s->wait_return);
        textbuf_add(out, "issued_total_row = %" PRIu64 "\nissued_total_col = %" PRIu64 "\nqueue_avg = %.6f\nmrqq: max=%" PRIu64 " avg=%g\n", s->row_commands, s->column_commands,
                 share(s->queue_sum, s->clocks), s->queue_max, share(s->queue_sum, s->clocks));
    }
}

static void section_slices(struct textbuf *out, const struct timing_report *r)
{
    textbuf_add(out, "\n========= L2 cache stats =========\n");
    for (uint32_t i = 0; r->slices && i < r->n_slices; i++)
        cache_line(out, "L2_cache_bank", i, &r->slices[i].l2);
}

static void section_l2_breakdown(struct textbuf *out, const struct timing_report *r)
{
    textbuf_add(out, "L2_total_cache_breakdown:\n");
    breakdown(out, "L2_cache_stats_breakdown", &r->total->slice.l2);
    textbuf_add(out, "L2_total_cache_reservation_fail_breakdown:\n");
    fail_breakdown(out, "L2_cache_stats_fail_breakdown", &r->total->slice.l2);
}

static void section_host(struct textbuf *out, const struct timing_report *r)
{
    unsigned s = r->host_seconds > 0 ? (unsigned)r->host_seconds : 0;
    uint64_t cycles = per_second((double)r->total->gpu.cycles, r->host_seconds);
    textbuf_add(out, "gpgpu_simulation_time = %u days, %u hrs, %u min, %u sec (%u sec)\n", s / 86400, s / 3600 % 24, s / 60 % 60, s % 60, s);
    textbuf_add(out, "gpgpu_simulation_rate = %" PRIu64 " (inst/sec)\n", per_second((double)r->total->sm.instructions, r->host_seconds));
    textbuf_add(out, "gpgpu_simulation_rate = %" PRIu64 " (cycle/sec)\n", cycles);
    textbuf_add(out, "gpgpu_silicon_slowdown = %" PRIu64 "x\n", cycles ? (uint64_t)(r->config->clock.core * 1e6) / cycles : 0);
}

/* ---- the table of lines ---- */

enum scope { KERNEL, TOTAL, RATE, SECTION_ };
static const struct line { enum scope scope; const char *form, *stat; void (*section)(struct textbuf *, const struct timing_report *); } lines[] = {
#define LINE(scope, form, stat) {scope, form, stat, NULL},
#define SECTION(name) {SECTION_, "", "", section_##name},
#include "timing/stats_gpgpusim.def"
};
enum { N_LINES = sizeof lines / sizeof *lines };

void timing_stats_gpgpusim_head(struct textbuf *out)
{
    textbuf_add(out, "Accel-Sim [build heddle-" HEDDLE_VERSION "]\n\n        *** GPGPU-Sim Simulator Version 4.2.0  [build heddle-" HEDDLE_VERSION "] ***\n\n");
}

void timing_stats_gpgpusim(struct textbuf *out, const struct timing_report *r)
{
    for (size_t i = 0; i < N_LINES; i++) {
        const struct line *l = &lines[i];
        if (l->section) {
            l->section(out, r);
            continue;
        }
        int row = stat_row_find(l->stat, strlen(l->stat));
        if (row < 0 || (l->scope == RATE && number(timing_stat_rows[row].by, r->total).d == 0))
            continue;
        print_form(out, l->form, stat_number((size_t)row, l->scope == KERNEL && r->kernel ? r->window : r->total));
    }
}

void timing_stats_gpgpusim_end(struct textbuf *out) { textbuf_add(out, "GPGPU-Sim: *** simulation thread exiting ***\nGPGPU-Sim: *** exit detected ***\n"); }

/* ---- names ---- */

/* The name at the head of a form: without the tab, up to what stands around the value. */
static size_t form_name(const char *form, const char **name)
{
    *name = form + (*form == '\t');
    size_t n = strcspn(*name, "=:%");
    while (n && (*name)[n - 1] == ' ')
        n--;
    return n;
}

const char *gpgpusim_name(size_t i, bool total)
{
    static _Thread_local char names[2][100];
    const char *name;
    for (size_t k = 0; k < N_LINES; k++)
        if ((lines[k].scope == KERNEL) != total && strcmp(lines[k].stat, timing_stat_rows[i].name) == 0) {
            size_t n = form_name(lines[k].form, &name);
            snprintf(names[total], sizeof names[total], "%.*s", (int)n, name);
            return names[total];
        }
    return NULL;
}

int gpgpusim_find(const char *name)
{
    static const struct { const char *begin, *stat; } tables[] = {
        {"Total_core_cache_stats_breakdown[", "sm.l1d.access"}, {"Total_core_cache_fail_stats_breakdown[", "sm.l1d.fail"}, {"L1D_cache_core[", "sm.l1d.access"},
        {"L2_cache_stats_breakdown[", "slice.l2.access"}, {"L2_cache_stats_fail_breakdown[", "slice.l2.fail"}, {"L2_cache_bank[", "slice.l2.access"},
        {"traffic_breakdown_coretomem[", "sm.sent"}, {"traffic_breakdown_memtocore[", "sm.received"}, {"Warp Occupancy Distribution", "sm.issued_lanes"},
        {"single_issue_nums", "sm.single_issue"}, {"dual_issue_nums", "sm.dual_issue"}, {"mrq_lat_table", "channel.queue_latencies"},
        {"mf_lat_table", "sm.fetch_latencies"}, {"icnt2mem_lat_table", "slice.arrival_latencies"}, {"icnt2sh_lat_table", "sm.return_latencies"},
        {"average row locality", "channel.row_locality"},
    };
    for (size_t i = 0; i < N_LINES; i++) {
        const char *form;
        size_t n = form_name(lines[i].form, &form);
        if (n && n == strlen(name) && strncmp(form, name, n) == 0)
            return stat_row_find(lines[i].stat, strlen(lines[i].stat));
    }
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (strncmp(name, tables[i].begin, strlen(tables[i].begin)) == 0)
            return stat_row_find(tables[i].stat, strlen(tables[i].stat));
    return -1;
}
