/* Reports of the simulated GPU: after each kernel, periodic samples, and at the end of the run. Only what the settings ask for is written. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/bytes.h"
#include "runtime/base/symbol.h"
#include "runtime/internal.h"
#include "timing/timing.h"

struct report {                                /* of one device */
    struct timing_stats last, now, window;     /* at the end of the kernel before; now; the difference */
    struct timing_stats sampled;               /* at the last sample */
    uint64_t launches, next_sample, started_ns;
    uint64_t told;                             /* cycle up to which there are samples: a debugger may go back */
};
static struct report *reports[MAX_DEVICES];
static int stats_fd = -1, jsonl_fd = -1, samples_fd = -1;     /* -1: not wanted; stats: standard error */

/* Far from the numbers that programs count on. */
static int high_open(const char *path, struct error *err)
{
    enum { HIGH = 700 };
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, HIGH) : -1;
    if (high < 0)
        error_set(err, ST_INVALID_VALUE, "%s cannot be written: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return high;
}

static void write_all(int fd, const struct textbuf *t)
{
    if (fd < 0)
        log_text(t->at ? t->at : "");
    for (size_t at = 0; fd >= 0 && at < t->n;) {
        ssize_t n = write(fd, t->at + at, t->n - at);
        if (n <= 0)
            return;
        at += (size_t)n;
    }
}

static enum status folder_open(const char *dir, struct error *err)
{
    char path[KNOB_TEXT_BYTES + 32];
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return error_set(err, ST_INVALID_VALUE, "the folder %s cannot be made: %s", dir, strerror(errno));
    snprintf(path, sizeof path, "%s/stats.jsonl", dir);
    if ((jsonl_fd = high_open(path, err)) < 0)
        return err->status;
    snprintf(path, sizeof path, "%s/samples.csv", dir);
    samples_fd = high_open(path, err);
    return samples_fd < 0 ? err->status : ST_OK;
}

enum status report_open(struct device *d, struct error *err)
{
    static bool opened;
    const struct rt_knobs *k = rt_knobs();
    struct report *r = reports[d->ordinal] = calloc(1, sizeof *r);
    if (!r)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for the statistics of a simulated GPU");
    r->started_ns = now_ns();
    r->next_sample = *k->out && timing_gpu_config(d->gpu)->sample.every ? timing_gpu_config(d->gpu)->sample.every : UINT64_MAX;
    if (opened)
        return ST_OK;
    opened = true;
    if (*k->stats_file && (stats_fd = high_open(k->stats_file, err)) < 0)
        return err->status;
    if (*k->out && folder_open(k->out, err) != ST_OK)
        return err->status;
    struct textbuf t = {0};
    if (k->stats == KNOB_STATS_GPGPUSIM)
        timing_stats_gpgpusim_head(&t);
    if (k->stats == KNOB_STATS_CSV)
        timing_stats_csv_head(&t);
    write_all(stats_fd, &t);
    textbuf_free(&t);
    if (samples_fd >= 0) {
        timing_stats_csv_head(&t);
        write_all(samples_fd, &t);
        textbuf_free(&t);
    }
    return ST_OK;
}

static double value_of(const char *name, const struct timing_stats *s)
{
    int i = timing_stat_find(name);
    return i < 0 ? 0 : timing_stat_value((size_t)i, s);
}

/* Hits of all accesses that were decided, in percent. */
static double hit_percent(const struct timing_cache_stats *c)
{
    uint64_t hits = 0, all = 0;
    for (unsigned t = 0; t < TIMING_ACCESS_TYPES; t++)
        for (unsigned o = 0; o < TIMING_OUTCOMES; o++) {
            bool decided = o == TIMING_HIT || o == TIMING_HIT_RESERVED || o == TIMING_MISS || o == TIMING_SECTOR_MISS;
            if (!decided || t == TIMING_L1_WRBK_ACC || t == TIMING_L2_WRBK_ACC)
                continue;
            all += c->access[t][o];
            hits += o == TIMING_HIT ? c->access[t][o] : 0;
        }
    return all ? 100.0 * (double)hits / (double)all : 0;
}

static void line(struct textbuf *t, const struct sim_launch *l, const struct timing_stats *s)
{
    double cycles = l->cycles ? (double)l->cycles : 1;
    char name[256];
    textbuf_add(t, "heddle: %-48.48s %10" PRIu64 " cycles  IPC %7.1f  L1 hit %5.1f %%  L2 hit %5.1f %%  DRAM %5.1f %%  occupancy %5.1f %%\n", symbol_demangle(l->name, name, sizeof name), l->cycles,
                (double)l->thread_insns / cycles, hit_percent(&s->sm.l1d), hit_percent(&s->slice.l2), value_of("channel.utilisation", s), value_of("occupancy", s));
}

static void write_report(struct textbuf *t, int how, const struct timing_report *r)
{
    switch (how) {
    case KNOB_STATS_TEXT: timing_stats_text(t, r); break;
    case KNOB_STATS_JSON: timing_stats_json(t, r); break;
    case KNOB_STATS_CSV: timing_stats_csv(t, r); break;
    case KNOB_STATS_GPGPUSIM: timing_stats_gpgpusim(t, r); break;
    default: break;
    }
}

void report_kernel(struct device *d, const struct sim_launch *l)
{
    struct report *r = reports[d->ordinal];
    int how = rt_knobs()->stats;
    timing_gpu_stats(d->gpu, &r->now);
    timing_stats_subtract(&r->window, &r->now, &r->last);
    r->last = r->now;
    struct timing_report report = {.kernel = l->name, .launch = ++r->launches, .stream = l->stream, .window = &r->window, .total = &r->now,
                                   .config = timing_gpu_config(d->gpu), .host_seconds = (double)(now_ns() - r->started_ns) * 1e-9};
    r->window.gpu.cycles = l->cycles;          /* not what went by before, with copies or a launch's latency */
    r->window.channel.clocks = (uint64_t)((double)l->cycles * report.config->clock.dram / report.config->clock.core) * report.config->mem.channels;
    struct textbuf t = {0};
    if (how == KNOB_STATS_LINES && !the.quiet)
        line(&t, l, &r->window);
    write_report(&t, how, &report);
    write_all(stats_fd, &t);
    textbuf_free(&t);
    if (jsonl_fd >= 0) {
        timing_stats_json(&t, &report);
        write_all(jsonl_fd, &t);
        textbuf_free(&t);
    }
}

uint64_t report_next_sample(const struct device *d) { return reports[d->ordinal]->next_sample; }

void report_sample(struct device *d)
{
    struct report *r = reports[d->ordinal];
    if (timing_gpu_cycle(d->gpu) < r->next_sample)
        return;
    static struct timing_stats now, window;
    timing_gpu_stats(d->gpu, &now);
    timing_stats_subtract(&window, &now, &r->sampled);
    r->sampled = now;
    struct timing_report report = {.kernel = "sample", .launch = r->launches + 1, .window = &window, .total = &now, .config = timing_gpu_config(d->gpu)};
    struct textbuf t = {0};
    timing_stats_csv(&t, &report);
    if (samples_fd >= 0 && r->next_sample > r->told)   /* else the run before the checkpoint had them */
        write_all(samples_fd, &t);
    textbuf_free(&t);
    r->told = r->next_sample > r->told ? r->next_sample : r->told;
    while (r->next_sample <= timing_gpu_cycle(d->gpu))
        r->next_sample += timing_gpu_config(d->gpu)->sample.every;
}

void report_close(struct device *d)
{
    struct report *r = reports[d->ordinal];
    if (!r)
        return;
    struct textbuf t = {0};
    if (rt_knobs()->stats == KNOB_STATS_GPGPUSIM)
        timing_stats_gpgpusim_end(&t);
    write_all(stats_fd, &t);
    textbuf_free(&t);
    free(r);
    reports[d->ordinal] = NULL;
}

void report_save(const struct device *d, struct sink *to)
{
    const struct report *r = reports[d->ordinal];
    put(to, &r->last, sizeof r->last);
    put(to, &r->sampled, sizeof r->sampled);
    put_u64(to, r->launches);
    put_u64(to, r->next_sample);
}

bool report_restore(struct device *d, struct source *from)
{
    struct report *r = reports[d->ordinal];
    get(from, &r->last, sizeof r->last);
    get(from, &r->sampled, sizeof r->sampled);
    r->launches = get_u64(from);
    r->next_sample = get_u64(from);            /* windows end there, told or not */
    return !from->failed;
}
