/* What a run amounted to: the lines at the end, and the line that shows a long kernel under way. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/internal.h"

#define PROGRESS_AFTER_NS 1000000000u
#define PROGRESS_EVERY_NS 200000000u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rt_totals totals;
static uint64_t shown_ns;                      /* when the progress line was last written; 0: none stands */

static bool terminal(void)
{
    static int is = -1;
    if (is < 0)
        is = isatty(2) && !the.quiet && !*rt_knobs()->log_file;
    return is;
}

void summary_kernel(const struct emu_counters *c, uint64_t ns)
{
    if (shown_ns) {
        log_text("\r\033[K");
        shown_ns = 0;
    }
    pthread_mutex_lock(&lock);
    totals.kernels++;
    totals.ctas += c->ctas;
    totals.thread_insns += c->thread_insns;
    totals.warp_insns += c->warp_insns;
    totals.kernel_ms += (double)ns * 1e-6;
    pthread_mutex_unlock(&lock);
}

void summary_cycles(uint64_t cycles)
{
    pthread_mutex_lock(&lock);
    totals.cycles += cycles;
    pthread_mutex_unlock(&lock);
}

bool summary_progress_due(uint64_t started_ns, uint64_t every_ns)
{
    if (!terminal())
        return false;
    uint64_t now = now_ns();
    return now - started_ns >= PROGRESS_AFTER_NS && now - shown_ns >= every_ns;
}

/* more: what else there is to say. */
static void progress_line(const char *kernel, uint64_t done, uint64_t total, uint64_t started_ns, const char *more)
{
    char line[192];
    shown_ns = now_ns();
    snprintf(line, sizeof line, "\r\033[Kheddle: %.48s  %3d%%  %" PRIu64 " of %" PRIu64 " blocks%s  %" PRIu64 " s", kernel, (int)(done * 100 / total), done, total, more,
             (shown_ns - started_ns) / 1000000000u);
    log_text(line);
}

void summary_progress(const char *kernel, uint64_t done, uint64_t total, uint64_t started_ns)
{
    if (summary_progress_due(started_ns, PROGRESS_EVERY_NS))
        progress_line(kernel, done, total, started_ns, "");
}

void summary_sim_progress(const char *kernel, uint64_t done, uint64_t total, uint64_t started_ns, uint64_t cycle, uint64_t warp_insns)
{
    char more[96];
    double seconds = (double)(now_ns() - started_ns) * 1e-9;
    int n = snprintf(more, sizeof more, "  cycle %" PRIu64 "  %.2f M warp instr/s", cycle, (double)warp_insns / seconds * 1e-6);
    if (done)
        snprintf(more + n, sizeof more - (size_t)n, "  %.0f s to go after", seconds * (double)(total - done) / (double)done);
    progress_line(kernel, done, total, started_ns, more);
}

void rt_totals(struct rt_totals *out)
{
    pthread_mutex_lock(&lock);
    *out = totals;
    pthread_mutex_unlock(&lock);
    out->memory_peak_bytes = 0;
    pthread_mutex_lock(&the.memory);
    for (int i = 0; i < the.n_devices; i++)
        out->memory_peak_bytes += the.devices[i].peak_bytes;
    pthread_mutex_unlock(&the.memory);
}

/* ---- the summary ---- */

struct text { char at[1600]; size_t n; };

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(t->at + t->n, sizeof t->at - t->n, fmt, ap);
    va_end(ap);
    if (n > 0)
        t->n = t->n + (size_t)n < sizeof t->at ? t->n + (size_t)n : sizeof t->at - 1;
}

static void line(struct text *t, const char *name, double value, const char *unit)
{
    int digits = value < 10 && value != (double)(uint64_t)value ? 2 : value < 100 && value != (double)(uint64_t)value ? 1 : 0;
    add(t, "heddle: %-20s %10.*f%s%s\n", name, digits, value, *unit ? " " : "", unit);
}

/* Scales by powers of `step` and names the unit with the prefix. */
static void scaled(struct text *t, const char *name, double value, double step, const char *const units[4])
{
    int k = 0;
    while (k < 3 && value >= step) {
        value /= step;
        k++;
    }
    line(t, name, value, units[k]);
}

static void times(struct text *t, const char *name, double ms)
{
    static const char *const units[4] = {"us", "ms", "s", "ks"};
    scaled(t, name, ms * 1000, 1000, units);
}

static char subject[512];                      /* what was run when it was no program */
void summary_subject(const char *path) { snprintf(subject, sizeof subject, "%s", path); }

/* The program's own path, as the user could type it. */
static void next_command(struct text *t)
{
    char path[512];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    if (*subject) {
        add(t, "heddle: next: heddle info %s\n", subject);
        return;
    }
    char here[512];
    size_t h = getcwd(here, sizeof here) ? strlen(here) : 0;
    bool below = h > 1 && strncmp(path, here, h) == 0 && path[h] == '/';
    add(t, "heddle: next: heddle info %s%s\n", below ? "." : "", below ? path + h : path);
}

void summary_print(void)
{
    static const char *const counts[4] = {"", "thousand", "million", "billion"};
    static const char *const rates[4] = {"thread instr/s", "K thread instr/s", "M thread instr/s", "G thread instr/s"};
    static const char *const bytes[4] = {"B", "KiB", "MiB", "GiB"};
    struct rt_totals sum;
    rt_totals(&sum);
    struct text t = {.n = 0};
    if (!the.n_devices)
        return;
    add(&t, "heddle: %-20s %s\n", "GPU", the.devices[0].facts->name);
    line(&t, "kernels launched", (double)sum.kernels, "");
    if (sum.kernels) {
        scaled(&t, "thread instructions", (double)sum.thread_insns, 1000, counts);
        if (sum.cycles)
            line(&t, "cycles", (double)sum.cycles, "");
        times(&t, "time in kernels", sum.kernel_ms);
        if (sum.kernel_ms > 0)
            scaled(&t, "rate", (double)sum.thread_insns / sum.kernel_ms * 1000, 1000, rates);
    }
    scaled(&t, "device memory, peak", (double)sum.memory_peak_bytes, 1024, bytes);
    if (rt_knobs()->verbose) {
        line(&t, "blocks", (double)sum.ctas, "");
        scaled(&t, "warp instructions", (double)sum.warp_insns, 1000, counts);
        line(&t, "host threads", the.n_workers, "");
        add(&t, "heddle: %-20s %s\n", "lane handlers", emu_isa_name());
    }
    if (streams_left())
        line(&t, "launches never run", (double)streams_left(), "(the program ended without waiting for them)");
    if (log_warnings())
        line(&t, "warnings", (double)log_warnings(), "");
    next_command(&t);
    log_text(t.at);
}
