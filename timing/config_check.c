/* What one setting means for another, and what follows from all of them. */
#include "timing/config_internal.h"

#include <stdio.h>
#include <string.h>

static bool pow2(uint64_t n) { return n && (n & (n - 1)) == 0; }

static uint32_t log2_of(uint64_t n)
{
    uint32_t k = 0;
    while (n > 1) {
        n >>= 1;
        k++;
    }
    return k;
}

/* Notes a broken rule where row was set; where it is a default, at `other`, the setting that does not go with it. */
static void rule(struct timing_settings *s, bool holds, bool is_error, unsigned row, unsigned other, const char *text)
{
    char value[160], other_value[160];
    if (holds)
        return;
    struct place p = s->places[row].in ? s->places[row] : s->places[other];
    timing_knob_print(s, row, value, sizeof value);
    timing_knob_print(s, other, other_value, sizeof other_value);
    if (row == other)
        note_place(s, is_error, p, NULL, "%s = %.100s: %s", timing_rows[row].name, value, text);
    else
        note_place(s, is_error, p, NULL, "%s = %.100s with %s = %.100s: %s", timing_rows[row].name, value, timing_rows[other].name, other_value, text);
}
#define RULE(row, holds, text) rule(s, holds, true, TIMING_KNOB_##row, TIMING_KNOB_##row, text)
#define RULE2(row, other, holds, text) rule(s, holds, true, TIMING_KNOB_##row, TIMING_KNOB_##other, text)
#define HINT2(row, other, holds, text) rule(s, holds, false, TIMING_KNOB_##row, TIMING_KNOB_##other, text)

/* ---- caches ---- */

/* Rows from the first one of the cache on. */
#define CACHE_RULE(a, b, holds, text) rule(s, holds, true, first + (unsigned)(TIMING_KNOB_l1i_##a - TIMING_KNOB_l1i_present), \
                                           first + (unsigned)(TIMING_KNOB_l1i_##b - TIMING_KNOB_l1i_present), text)

static void check_cache(struct timing_settings *s, const struct timing_cache *c, unsigned first, bool read_only)
{
    if (!c->present)
        return;
    bool fifo = c->mshr == TIMING_MSHR_FIFO || c->mshr == TIMING_MSHR_SECTOR_FIFO;
    bool fetches = c->write_allocate == TIMING_FETCH_ON_WRITE || c->write_allocate == TIMING_LAZY_FETCH;
    CACHE_RULE(line, line, pow2(c->line), "the bytes of a line are a power of two");
    CACHE_RULE(line, kind, c->kind != TIMING_CACHE_SECTORED || c->line == 4 * TIMING_SECTOR_BYTES, "a sectored line has 128 bytes, four sectors of 32");
    CACHE_RULE(sets, sets, pow2(c->sets), "the number of sets is a power of two");
    CACHE_RULE(sets, index, c->index != TIMING_SET_FERMI || c->sets == 32 || c->sets == 64, "the Fermi hash is made for 32 or 64 sets");
    CACHE_RULE(allocate, write, c->allocate != TIMING_ON_FILL || c->write != TIMING_WRITE_BACK,
               "a write-back cache cannot wait for the reply before it takes a line");
    CACHE_RULE(allocate, write_allocate, !fetches || c->allocate == TIMING_ON_MISS, "fetch-on-write and lazy-fetch need a line at the miss (on-miss)");
    CACHE_RULE(result_queue, mshr, !fifo || c->result_queue > 0, "a FIFO cache needs the length of its result queue, after the miss queue's");
    CACHE_RULE(write, write, !read_only || c->write == TIMING_READ_ONLY, "this cache is read-only");
}

static void check_caches(struct timing_settings *s, struct timing_config *c)
{
    check_cache(s, &c->l1i, TIMING_KNOB_l1i_present, true);
    check_cache(s, &c->l1d, TIMING_KNOB_l1d_present, false);
    check_cache(s, &c->l1d_prefer_l1, TIMING_KNOB_l1d_prefer_l1_present, false);
    check_cache(s, &c->l1d_prefer_shared, TIMING_KNOB_l1d_prefer_shared_present, false);
    check_cache(s, &c->l1c, TIMING_KNOB_l1c_present, true);
    check_cache(s, &c->l1t, TIMING_KNOB_l1t_present, true);
    check_cache(s, &c->l2, TIMING_KNOB_l2_present, false);
    rule(s, c->l1d.write_allocate == TIMING_NO_WRITE_ALLOCATE || c->l1d.write_allocate == TIMING_LAZY_FETCH, false, TIMING_KNOB_l1d_write_allocate, TIMING_KNOB_l1d_write_allocate,
         "L1 has no or lazy-fetch here: what is written is never fetched for that");
    RULE(l1i_present, c->l1i.present, "an SM needs an instruction cache; fetch.perfect = on makes it always hit");
    RULE(l1c_present, c->l1c.present, "an SM needs a constant cache");
    RULE(l1t_present, c->l1t.present, "an SM needs a texture cache");
    RULE(l2_present, c->l2.present, "a channel needs an L2 slice");
    RULE(l2_write, !c->l2.present || c->l2.write == TIMING_WRITE_BACK || c->l2.write == TIMING_WRITE_THROUGH, "L2 is write-back or write-through");
    RULE(l1d_write, !c->l1d.present || c->l1d.write != TIMING_READ_ONLY, "stores go through this cache");
}

/* ---- SM ---- */

/* With sub-cores each scheduler has one entry of every latch, so that widths of what is in use equal the schedulers. */
static void check_width(struct timing_settings *s, const struct timing_config *c, unsigned row, bool used)
{
    uint32_t width = *(uint32_t *)row_value(s, row);
    rule(s, !used || width > 0, true, row, row, "instructions for this unit need at least one entry");
    rule(s, !used || width == 0 || !c->issue.sub_cores || width == c->issue.schedulers, true, row, TIMING_KNOB_issue_schedulers,
         "with issue.sub_cores every width that is used equals the number of schedulers");
}

static void check_units(struct timing_settings *s, struct timing_config *c)
{
    bool tensor = c->units.has_tensor && c->units.tensor;
    const struct { unsigned id_oc, oc_ex; bool used; } widths[] = {
        {TIMING_KNOB_pipe_id_oc_sp, TIMING_KNOB_pipe_oc_ex_sp, true}, {TIMING_KNOB_pipe_id_oc_dp, TIMING_KNOB_pipe_oc_ex_dp, c->units.dp > 0},
        {TIMING_KNOB_pipe_id_oc_int, TIMING_KNOB_pipe_oc_ex_int, c->units.integer > 0},
        {TIMING_KNOB_pipe_id_oc_sfu, TIMING_KNOB_pipe_oc_ex_sfu, c->units.sfu > 0},
        {TIMING_KNOB_pipe_id_oc_mem, TIMING_KNOB_pipe_oc_ex_mem, true}, {TIMING_KNOB_pipe_id_oc_tensor, TIMING_KNOB_pipe_oc_ex_tensor, tensor},
    };
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        check_width(s, c, widths[i].id_oc, widths[i].used);
        check_width(s, c, widths[i].oc_ex, widths[i].used);
    }
    RULE(units_sp, c->units.sp > 0, "an SM needs a single-precision unit");
    RULE2(units_sfu, units_dp, c->units.sfu > 0 || c->units.dp > 0, "an SM needs special-function or double-precision units");
    RULE2(oc_generic, oc_by_unit, c->oc.by_unit || c->oc.generic > 0, "without collectors for each unit there are generic ones");
    RULE2(oc_in_generic, oc_generic, !c->oc.generic || c->oc.in_generic > 0, "the generic collectors need input ports");
    RULE2(oc_out_generic, oc_generic, !c->oc.generic || c->oc.out_generic > 0, "the generic collectors need output ports");
    RULE2(oc_dp, units_dp, !c->oc.by_unit || !c->units.dp || c->oc.dp || c->oc.generic, "double-precision units need collectors, their own or generic ones");
    RULE2(oc_integer, units_integer, !c->oc.by_unit || !c->units.integer || c->oc.integer || c->oc.generic,
          "integer units need collectors, their own or generic ones");
}

static void check_special(struct timing_settings *s, struct timing_config *c)
{
    enum { STRIDE = TIMING_KNOB_special2_enabled - TIMING_KNOB_special1_enabled };
    for (unsigned i = 0; i < TIMING_SPECIAL_MAX; i++) {
        const struct timing_special *u = &c->special[i];
        unsigned at = i * STRIDE;
        if (!u->enabled)
            continue;
        rule(s, i == 0 || c->special[i - 1].enabled, true, TIMING_KNOB_special1_enabled + at, TIMING_KNOB_special1_enabled + at,
             "specialised units are numbered from 1 without gaps");
        rule(s, u->units > 0, true, TIMING_KNOB_special1_units + at, TIMING_KNOB_special1_units + at, "an enabled unit exists at least once");
        rule(s, u->latency <= u->latency_max, true, TIMING_KNOB_special1_latency + at, TIMING_KNOB_special1_latency_max + at,
             "the latency is at most the depth of the unit");
        check_width(s, c, TIMING_KNOB_special1_id_oc + at, true);
        check_width(s, c, TIMING_KNOB_special1_oc_ex + at, true);
    }
}

static void check_sm(struct timing_settings *s, struct timing_config *c)
{
    const struct timing_kb_list *o = &c->smem.options;
    RULE2(sm_threads, sm_warp_size, c->sm.threads % c->sm.warp_size == 0, "an SM holds whole warps");
    RULE2(rf_banks, issue_schedulers, !c->issue.sub_cores || c->rf.banks % c->issue.schedulers == 0,
          "with issue.sub_cores each scheduler has the same number of banks");
    RULE(smem_banks, pow2(c->smem.banks), "the number of banks is a power of two");
    RULE(smem_warp_parts, pow2(c->smem.warp_parts), "a warp is cut into 1, 2, 4, 8, 16 or 32 parts");
    RULE(lsu_l1_banks, pow2(c->lsu.l1_banks), "the number of banks is a power of two");
    RULE(lsu_l1_bank_bytes, pow2(c->lsu.l1_bank_bytes), "the bytes of a bank are a power of two");
    if (!c->lsu.adaptive)
        return;
    RULE2(lsu_unified, lsu_adaptive, c->lsu.unified > 0, "memory that is divided for each kernel has a size");
    RULE2(lsu_adaptive, l1d_present, c->l1d.present, "without an L1 data cache there is nothing to divide");
    RULE2(smem_options, lsu_unified, o->n && o->at[o->n - 1] <= c->lsu.unified, "the largest share of shared memory is at most all of it");
    RULE2(smem_size, lsu_unified, c->smem.size <= (uint64_t)c->lsu.unified * 1024, "shared memory is at most all unified memory");
    RULE2(l1d_assoc, lsu_unified, (uint64_t)c->l1d.sets * c->l1d.line * c->l1d.assoc <= (uint64_t)c->lsu.unified * 1024,
          "the L1 data cache is at most all unified memory");
}

/* ---- memory ---- */

static void check_map(struct timing_settings *s, struct timing_config *c)
{
    const struct timing_address_map *m = &c->mem.map;
    uint64_t all = m->channel | m->bank | m->row | m->column | m->burst;
    unsigned banks = (unsigned)__builtin_popcountll(m->bank), channels = (unsigned)__builtin_popcountll(m->channel);
    unsigned high = all ? 63 - (unsigned)__builtin_clzll(all) : 0;
    RULE2(mem_map, dram_banks, banks < 32 && (UINT64_C(1) << banks) <= c->dram.banks, "the map has more bank bits than there are banks");
    RULE2(mem_map, mem_slices, c->mem.slices <= (UINT64_C(1) << banks), "the slice of a channel is chosen by bank bits, of which there are too few");
    RULE(mem_map, m->row && m->column, "a map has row and column bits");
    if (m->channel_bit < 0) {
        RULE2(mem_map, mem_channels, pow2(c->mem.channels) && channels == log2_of(c->mem.channels),
              "without dramid@ there is one D for each bit of the channel");
    } else {
        RULE(mem_map, channels == 0, "with dramid@ the map has no D");
        RULE2(mem_map, mem_channels, high + log2_of(c->mem.channels) < 64, "the channel's bits push the upper bits of the map out of the address");
    }
}

static void check_memory(struct timing_settings *s, struct timing_config *c)
{
    uint64_t atom = (uint64_t)c->dram.burst * c->dram.bus_bytes * c->mem.chips;
    RULE(mem_slices, pow2(c->mem.slices), "the slices of a channel are a power of two");
    check_map(s, c);
    RULE(dram_banks, pow2(c->dram.banks), "the number of banks is a power of two");
    RULE2(dram_bank_groups, dram_banks, pow2(c->dram.bank_groups) && c->dram.bank_groups <= c->dram.banks, "groups divide the banks evenly");
    RULE2(dram_tRC, dram_tRAS, c->dram.tRC >= c->dram.tRAS, "a row is open for tRAS, so that it cannot be opened again before");
    RULE2(dram_burst, dram_data_rate, c->dram.burst % c->dram.data_rate == 0, "a burst ends with a command clock");
    RULE2(dram_burst, dram_bus_bytes, pow2(atom) && atom <= 4096, "burst x bus x chips, the bytes of one access, is a power of two up to 4096");
    RULE2(dram_tRFC, dram_tREFI, !c->dram.tREFI || c->dram.tRFC < c->dram.tREFI, "a refresh ends before the next one");
    if (c->dram.write_queue) {
        RULE2(dram_write_queue_high, dram_write_queue_size, c->dram.write_queue_high <= c->dram.write_queue_size, "the high mark is within the queue");
        RULE2(dram_write_queue_low, dram_write_queue_high, c->dram.write_queue_low < c->dram.write_queue_high, "the low mark is below the high one");
    }
}

static void check_network(struct timing_settings *s, struct timing_config *c)
{
    if (c->noc.kind != TIMING_NOC_BOOKSIM)
        return;
    HINT2(noc_topology, noc_n, strcmp(c->noc.topology, "fly") == 0 && c->noc.n == 1, "has no model of its own; the interconnect is a crossbar");
    HINT2(noc_k, sm_clusters, !c->noc.k || c->noc.k == c->sm.clusters + c->mem.channels * c->mem.slices,
          "the network has as many nodes as there are clusters and L2 slices, whatever the file says");
}

/* ---- what follows ---- */

static bool is_set(const struct timing_settings *s, unsigned first, unsigned last)
{
    for (unsigned row = first; row <= last; row++)
        if (s->places[row].in)
            return true;
    return false;
}

/* Files have 0 for an interval, and mean that a unit takes an instruction each cycle. */
static void one_at_least(struct timing_settings *s)
{
    for (unsigned row = 0; row < TIMING_KNOB_COUNT; row++) {
        const char *name = timing_rows[row].name;
        uint32_t *value = row_value(s, row);
        if ((strncmp(name, "initiation.", 11) != 0 && !strstr(name, "initiation")) || *value)
            continue;
        rule(s, false, false, row, row, "an interval is at least 1, which is taken");
        *value = 1;
    }
}

static uint32_t positive(int64_t n) { return n > 0 ? (uint32_t)n : 0; }

static void derive(struct timing_settings *s, struct timing_config *c)
{
    struct timing_derived *d = &c->derived;
    if (!s->places[TIMING_KNOB_sass_given].in)
        c->sass.given = is_set(s, TIMING_KNOB_sass_int_latency, TIMING_KNOB_sass_tensor_initiation);
    d->sms = c->sm.clusters * c->sm.per_cluster;
    d->warps_per_sm = c->sm.threads / c->sm.warp_size;
    d->slices = c->mem.channels * c->mem.slices;
    d->l2_bytes = (uint64_t)d->slices * c->l2.sets * c->l2.line * c->l2.assoc;
    d->l1_ways_max = c->lsu.adaptive ? (uint32_t)((uint64_t)c->lsu.unified * 1024 / ((uint64_t)c->l1d.sets * c->l1d.line)) : c->l1d.assoc;
    d->dram_atom = (uint32_t)((uint64_t)c->dram.burst * c->dram.bus_bytes * c->mem.chips);
    d->dram_burst_clocks = c->dram.burst / c->dram.data_rate;
    int64_t burst = d->dram_burst_clocks, wl = c->dram.tWL;
    d->tRCDWR = positive(c->dram.tRCD - (wl + 1));
    d->tRTW = c->dram.no_turnaround ? 0 : positive(c->dram.tCL + burst + 2 - wl);
    d->tWTR = c->dram.no_turnaround ? 0 : positive(wl + burst + c->dram.tCDLR);
    d->tWTP = positive(wl + burst + c->dram.tWR);
    d->channel_gap = !pow2(c->mem.channels);
    d->channel_bits = d->channel_gap ? 0 : log2_of(c->mem.channels);
}

void check_all(struct timing_settings *s, struct timing_config *c)
{
    one_at_least(s);
    check_caches(s, c);
    check_units(s, c);
    check_special(s, c);
    check_sm(s, c);
    check_memory(s, c);
    check_network(s, c);
    derive(s, c);
}

/* Our own parts name what they know of a GPU, whether the model uses it or not. */
static bool from_part(const struct source *in)
{
    char name[64];
    size_t n = strlen(in->name), bytes;
    if (n < 6 || n >= sizeof name || strcmp(in->name + n - 5, ".conf") != 0)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)n - 5, in->name);
    const char *text = timing_part_text(name, &bytes);
    return text && bytes == in->bytes && memcmp(text, in->text, bytes) == 0;
}

/* One warning for all values that a user gave and the model does not use yet. */
static void note_planned(struct timing_settings *s)
{
    char names[700], value[TIMING_TEXT_BYTES];
    size_t used = 0, n = 0;
    for (unsigned row = 0; row < TIMING_KNOB_COUNT; row++) {
        const struct row *r = &timing_rows[row];
        if (!r->note || strcmp(r->note, TIMING_PLANNED) != 0 || !s->places[row].in || from_part(s->places[row].in) ||
            strcmp(timing_knob_print(s, row, value, sizeof value), r->standard) == 0)
            continue;
        n++;
        if (used + strlen(r->name) + 3 < sizeof names)
            used += (size_t)sprintf(names + used, "%s%s", used ? ", " : "", r->name);
    }
    if (n)
        note_place(s, false, (struct place){NULL, 0}, "heddle help NAME  explains each", "the model does not use these %zu settings yet: %s", n, names);
}

enum status timing_settings_check(struct timing_settings *s, struct timing_config *out, struct error *err)
{
    if (s->no_memory)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for the settings of the simulated GPU");
    check_all(s, &s->values);
    note_planned(s);
    *out = s->values;
    if (!s->errors)
        return ST_OK;
    char text[1200];
    size_t used = 0, shown = 0;
    for (size_t i = 0; i < s->notes.n; i++) {
        size_t n = strlen(s->notes.at[i].text);
        if (!s->notes.at[i].is_error || used + n + 2 > sizeof text)
            continue;
        used += (size_t)sprintf(text + used, "%s%s", used ? "\n" : "", s->notes.at[i].text);
        shown++;
    }
    text[used] = 0;
    error_set(err, ST_INVALID_VALUE, "%s", text);
    if (s->errors > shown)
        error_hint(err, "%zu mistakes in all; heddle config --show --config=FILE  tells each", s->errors);
    return ST_INVALID_VALUE;
}
