/* The simulated GPU behind the stream manager: kernels go to the device's timing model instead of the functional dispatcher, and time is its time. */
#include <stdio.h>

#include "runtime/debug/debug.h"
#include "emu/snapshot.h"
#include "runtime/dispatch.h"
#include "runtime/lowering.h"
#include "timing/timing.h"

enum { SLICE_CYCLES = 20000 };

static bool inside;                            /* a window, perhaps */
static bool awaits_state;                      /* kernels that begin are in the state that will be loaded */

bool sim_on(void) { return rt_knobs()->mode == KNOB_MODE_SIM; }

uint64_t device_now_ns(const struct device *d) { return sim_on() ? atomic_load(&d->sim_ns) : now_ns(); }

/* The part that --gpu names and what stands over it; mistakes are gathered and told by the check. */
static enum status configuration(struct timing_config *out, struct error *err)
{
    struct timing_settings *s = rt_timing_settings();
    if (!s)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for the configuration of the simulated GPU");
    enum status st = timing_settings_check(s, out, err);
    for (size_t i = 0; i < timing_settings_notes(s); i++) {
        bool is_error;
        const char *note = timing_settings_note(s, i, &is_error);
        if (!is_error)
            log_warn("%s", note);
    }
    timing_settings_free(s);
    return st;
}

static enum status gpu_ready(struct device *d, struct error *err)
{
    static struct timing_config config;        /* large */
    if (d->gpu)
        return ST_OK;
    enum status st = configuration(&config, err);
    if (st == ST_OK)
        st = timing_gpu_create(&d->gpu, &config, (unsigned)the.n_workers, err);
    if (st == ST_OK)
        timing_gpu_lowering(d->gpu, lowering_fn(), NULL);
    if (st == ST_OK && debug_on())
        timing_debug_hook(d->gpu, debug_hook(false));
    if (st == ST_OK)
        timing_gpu_halt(d->gpu, sim_due, d);
    return st == ST_OK ? report_open(d, err) : st;
}

bool sim_ready(struct device *d)
{
    struct error e = {0};
    if (gpu_ready(d, &e) == ST_OK)
        return true;
    log_error("%s", e.text);
    return false;
}

enum emu_policy sim_policy(struct device *d)
{
    return gpu_ready(d, NULL) == ST_OK && timing_gpu_config(d->gpu)->gpu.divergence == TIMING_STACK ? EMU_STACK : EMU_ITS;
}

/* CTAs of a checkpoint first, then those that had not started. */
static enum status start_restored(void *user, struct emu_cta **out, struct emu_worker *w, uint64_t i, uint32_t smid, struct error *err)
{
    const struct grid_run *r = user;
    struct grid_state *from = r->from;
    uint64_t index = from->next + (i - from->n_residents);
    struct resident c = {0};
    if (i < from->n_residents) {
        enum status st = grid_next_resident(r, w, smid, true, &c, err);
        index = c.index;
        if (st != ST_OK || c.cta) {
            *out = c.cta;
            return st;
        }
    }
    return emu_cta_start(out, r->grid, w, index, smid, err);
}

enum status sim_start(struct device *d, struct grid_run *r, const struct launch_op *o, const struct rt_stream *s, struct error *err)
{
    struct sim_launch *out = &r->sim;
    const struct rt_function *f = o->function;
    *out = (struct sim_launch){.name = rt_function_name(f), .stream = rt_stream_id(s)};
    enum status st = gpu_ready(d, err);
    if (st != ST_OK)
        return st;
    struct timing_kernel_spec spec = {
        .grid = r->grid, .name = rt_function_name(f), .threads = o->block[0] * o->block[1] * o->block[2], .regs = f->regs, .user = out,
        .grid_dim = {o->grid[0], o->grid[1], o->grid[2]}, .block_dim = {o->block[0], o->block[1], o->block[2]},
        .cluster = o->cluster[0] * o->cluster[1] * o->cluster[2], .shared_bytes = f->facts.shared_bytes + o->dynamic_shared_bytes, .calls_host = f->calls_host, .ready_cycle = o->nested ? o->ready_cycle : timing_gpu_cycle(d->gpu)};
    const struct rt_green *green = rt_stream_green(s);
    if (green && timing_gpu_config(d->gpu)->derived.sms == (uint32_t)d->facts->sm_count) {   /* another GPU has no such parts */
        out->sms = *rt_green_sms(green);
        spec.sms = out->sms.bits;
    }
    if (r->from) {
        spec.start = start_restored;
        spec.start_user = r;
        spec.n_starts = r->from->n_residents + r->n_ctas - r->from->next;
    }
    return awaits_state ? ST_OK : timing_kernel_start(d->gpu, &spec, err);
}

static void take_ended(struct device *d)
{
    struct timing_kernel_result r;
    while (timing_kernel_take(d->gpu, &r)) {
        struct sim_launch *l = r.user;
        l->done = true;
        l->cycles = r.ended - r.started;
        l->thread_insns = r.thread_insns;
        l->warp_insns = r.warp_insns;
        l->ctas = r.ctas;
        report_kernel(d, l);
    }
}

static uint64_t ns_of(const struct device *d) { return (uint64_t)((double)timing_gpu_cycle(d->gpu) * 1000.0 / timing_gpu_config(d->gpu)->clock.core); }

void sim_pass(struct device *d, uint64_t cycle)
{
    timing_gpu_pass(d->gpu, cycle);
    atomic_store(&d->sim_ns, ns_of(d));
}

static void deadlock(const struct device *d, struct sim_launch *l)
{
    struct error e = {0};
    char who[900];
    timing_explain(d->gpu, who, sizeof who);
    error_set(&e, ST_LAUNCH_FAILED, "deadlock on the simulated GPU: no warp can ever go on\n%s", who);
    l->fault = (struct emu_fault){.status = ST_LAUNCH_FAILED};
    snprintf(l->fault.report, sizeof l->fault.report, "%s", e.text);
}

/* The kernel is given up as one that runs for too long. */
static void stopped(const struct device *d, struct sim_launch *l)
{
    l->fault = (struct emu_fault){.status = ST_LAUNCH_TIMEOUT};
    timing_stopped(d->gpu, l->fault.report, sizeof l->fault.report);
}

enum slice sim_slice(struct device *d, struct sim_launch *l)
{
    if (l->done)
        return SLICE_DONE;
    uint64_t now = timing_gpu_cycle(d->gpu), until = d->slice_end ? d->slice_end : now + SLICE_CYCLES, sample = report_next_sample(d);
    until = sample < until ? sample : until;
    if (debug_on())
        until = debug_turn_end(d, now, until);
    inside = true;
    enum timing_stop stop = timing_gpu_run(d->gpu, until);
    inside = false;
    d->slice_end = stop == TIMING_HALTED ? until : 0;
    if (stop == TIMING_HALTED)
        return SLICE_HALTED;
    if (debug_on() && debug_restarting())      /* what the window has led to is given up */
        return SLICE_AGAIN;
    take_ended(d);
    if (debug_on() && stop == TIMING_KERNEL_ENDED)
        debug_kernels_ended(d);
    report_sample(d);
    atomic_store(&d->sim_ns, ns_of(d));
    if (stop == TIMING_FAULT)
        l->fault = *timing_fault(d->gpu);
    if (stop == TIMING_DEADLOCK)
        deadlock(d, l);
    if (stop == TIMING_STOPPED)
        stopped(d, l);
    return l->done ? SLICE_DONE : l->fault.status != ST_OK ? SLICE_FAULT : SLICE_AGAIN;
}

void sim_stop(void)
{
    for (int i = 0; i < the.n_devices; i++) {
        if (the.devices[i].gpu)
            report_close(&the.devices[i]);
        timing_gpu_free(the.devices[i].gpu);
        the.devices[i].gpu = NULL;
    }
}

size_t sim_residents(const struct device *d, uint64_t grid_id, struct emu_cta **out, size_t n)
{
    return d->gpu ? timing_debug_blocks(d->gpu, grid_id, out, n) : 0;
}

char *sim_describe(const struct device *d, uint32_t sm) { return d->gpu ? timing_debug_sm(d->gpu, sm) : NULL; }

void sim_progress(const struct grid_run *r)
{
    const struct device *d = r->context->device;
    struct timing_progress p;
    if (summary_progress_due(r->started_ns, timing_gpu_config(d->gpu)->sample.progress_seconds * 1000000000u) && timing_kernel_progress(d->gpu, &r->sim, &p))
        summary_sim_progress(r->sim.name, p.ended, r->n_ctas * r->cluster_ctas, r->started_ns, timing_gpu_cycle(d->gpu), p.warp_insns);
}

/* ---- for checkpoints ---- */

enum status sim_configuration(struct textbuf *out, struct error *err)
{
    char value[TIMING_TEXT_BYTES + 64];
    struct timing_settings *s = rt_timing_settings();
    if (!s)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for the configuration of the simulated GPU");
    for (size_t i = 0; i < timing_knob_count(); i++)
        if (strncmp(timing_knob(i).name, "sample.", 7) != 0)       /* what is told, not what is so */
            textbuf_add(out, "%s = %s\n", timing_knob(i).name, timing_knob_print(s, i, value, sizeof value));
    timing_settings_free(s);
    textbuf_add(out, "lowering = %d\n", (int)rt_knobs()->lowering);
    return ST_OK;
}

bool sim_inside(void) { return inside; }

void sim_await_state(bool on) { awaits_state = on; }

enum status sim_save(struct device *d, const struct timing_links *links, struct sink *to, struct error *err)
{
    put_u64(to, atomic_load(&d->sim_ns));
    put_u64(to, d->slice_end);
    report_save(d, to);
    return timing_gpu_save(d->gpu, links, to, err);
}

enum status sim_load(struct device *d, const struct timing_links *links, struct source *from, struct error *err)
{
    enum status st = gpu_ready(d, err);
    if (st != ST_OK)
        return st;
    atomic_store(&d->sim_ns, get_u64(from));
    d->slice_end = get_u64(from);
    return report_restore(d, from) ? timing_gpu_load(d->gpu, links, from, err) : ST_INVALID_IMAGE;
}

void sim_links(struct grid_run *r, struct timing_kernel_spec *spec)
{
    spec->grid = r->grid;
    spec->name = r->sim.name;
    spec->user = &r->sim;
    spec->start = r->from ? start_restored : NULL;
    spec->start_user = r;
    for (size_t i = 0; i < RT_SM_WORDS; i++)
        if (r->sim.sms.bits[i])
            spec->sms = r->sim.sms.bits;
}

uint64_t sim_cycle(const struct device *d) { return d->gpu ? timing_gpu_cycle(d->gpu) : 0; }
struct emu_cta *sim_resident(const struct grid_run *r, uint64_t i) { return timing_kernel_resident(r->context->device->gpu, &r->sim, i); }

bool sim_state(const struct grid_run *r, struct grid_state *out)
{
    struct timing_progress p;
    const struct grid_state *from = r->from;
    *out = (struct grid_state){.next = r->n_ctas, .done = r->n_ctas, .thread_insns = r->sim.thread_insns, .warp_insns = r->sim.warp_insns};
    if (timing_kernel_progress(r->context->device->gpu, &r->sim, &p)) {
        if (from && p.starts < from->n_residents)
            return false;
        *out = (struct grid_state){.next = from ? from->next + p.starts - from->n_residents : p.starts, .done = (from ? from->done : 0) + p.starts - p.residents, .n_residents = p.residents,
                                   .thread_insns = p.thread_insns, .warp_insns = p.warp_insns};
    }
    if (from) {
        out->thread_insns += from->thread_insns;
        out->warp_insns += from->warp_insns;
    }
    return true;
}
