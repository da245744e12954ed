/* NVML: what changes, and what several devices are to each other. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "interpose/nvml.h"

/* ---- memory ---- */

/* Bytes that this process has on the GPU; it has none where it does not see it or has not used CUDA. */
static uint64_t used_bytes(int number)
{
    int ordinal = rt_started() ? rt_machine_ordinal(number) : -1;
    uint64_t free_bytes = 0, total = 0;
    if (ordinal >= 0)
        rt_device_memory(ordinal, &free_bytes, &total);
    return total - free_bytes;
}

enum nvml_result nvml_memory(nvmlDevice_t device, struct nvml_memory *m)
{
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !m)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    uint64_t total = nvml_facts()->memory_bytes, used = used_bytes(number);
    *m = (struct nvml_memory){total, total - used, used};
    return NVML_SUCCESS;
}

enum nvml_result nvml_memory_v2(nvmlDevice_t device, struct nvml_memory_v2 *m)
{
    enum { VERSION = 2 << 24 | 40 };
    struct nvml_memory v1;
    enum nvml_result r = nvml_memory(device, m ? &v1 : NULL);
    if (r != NVML_SUCCESS)
        return r;
    if (m->version != VERSION)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    *m = (struct nvml_memory_v2){VERSION, v1.total, 0, v1.free, v1.used};
    return NVML_SUCCESS;
}

/* The window through which the host sees a GPU's memory: as large as that, and not in use. */
enum nvml_result nvml_bar1(nvmlDevice_t device, struct nvml_memory *m)
{
    enum nvml_result r = nvml_memory(device, m);
    if (r == NVML_SUCCESS)
        *m = (struct nvml_memory){m->total, m->total, 0};
    return r;
}

/* ---- load ---- */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The kernels of all devices count together: the runtime keeps no account of each. */
unsigned nvml_busy_percent(int number)
{
    enum { LEAST_MS = 20 };
    static _Atomic double asked_ms, busy_ms;
    static atomic_uint last;
    struct rt_totals t = {0};
    if (rt_started() && rt_machine_ordinal(number) >= 0)
        rt_totals(&t);
    double now = now_ms(), since = atomic_load(&asked_ms), span = since > 0 ? now - since : now;
    if (span < LEAST_MS)
        return atomic_load(&last);
    double share = (t.kernel_ms - atomic_load(&busy_ms)) / (span < 1000 ? span : 1000);
    atomic_store(&asked_ms, now);
    atomic_store(&busy_ms, t.kernel_ms);
    atomic_store(&last, share <= 0 ? 0 : share >= 1 ? 100 : (unsigned)(share * 100));
    return atomic_load(&last);
}

/* A tenth of the limit at rest. */
unsigned nvml_power_mw(int number)
{
    uint64_t limit = nvml_facts()->power_limit_mw;
    return (unsigned)(limit / 10 + limit * 9 / 10 * nvml_busy_percent(number) / 100);
}

enum nvml_result nvml_utilization(nvmlDevice_t device, struct nvml_utilization *u)
{
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !u)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    u->gpu = u->memory = nvml_busy_percent(number);
    return NVML_SUCCESS;
}

enum nvml_result nvml_idle_unit(nvmlDevice_t device, unsigned *percent, unsigned *period_us)
{
    enum { PERIOD_US = 167000 };
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !percent || !period_us)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    *percent = 0;
    *period_us = PERIOD_US;
    return NVML_SUCCESS;
}

enum nvml_result nvml_temperature(nvmlDevice_t device, int sensor, unsigned *celsius)
{
    enum { AT_REST = 30, MORE_BUSY = 40 };
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !celsius || sensor)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    *celsius = AT_REST + MORE_BUSY * nvml_busy_percent(number) / 100;
    return NVML_SUCCESS;
}

enum nvml_result nvml_temperature_v(nvmlDevice_t device, struct nvml_temperature *t)
{
    enum { VERSION = 1 << 24 | 12 };
    unsigned celsius = 0;
    if (t && t->version != VERSION)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    enum nvml_result r = nvml_temperature(device, t ? t->sensor : 0, t ? &celsius : NULL);
    if (r == NVML_SUCCESS)
        t->celsius = (int)celsius;
    return r;
}

enum nvml_result nvml_energy(nvmlDevice_t device, unsigned long long *millijoules)
{
    static _Atomic double first_ms;
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !millijoules)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    double now = now_ms(), none = 0, limit_w = (double)nvml_facts()->power_limit_mw * 1e-3;
    (void)atomic_compare_exchange_strong(&first_ms, &none, now);
    struct rt_totals t = {0};
    if (rt_started())
        rt_totals(&t);
    *millijoules = (unsigned long long)(limit_w * 0.1 * (now - atomic_load(&first_ms)) + limit_w * 0.9 * t.kernel_ms);
    return NVML_SUCCESS;
}

/* ---- clocks: they do not change ---- */

enum nvml_result nvml_clock(nvmlDevice_t device, int type, unsigned *mhz)
{
    enum { GRAPHICS, SM, MEMORY, VIDEO };
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !mhz || type < GRAPHICS || type > VIDEO)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    *mhz = (unsigned)((type == MEMORY ? nvml_facts()->memory_clock_khz : nvml_facts()->clock_khz) / 1000);
    return NVML_SUCCESS;
}

enum nvml_result nvml_clock_id(nvmlDevice_t device, int type, int id, unsigned *mhz)
{
    enum { CUSTOMER_BOOST_MAX = 3 };
    return id < 0 || id > CUSTOMER_BOOST_MAX ? NVML_INVALID_ARGUMENT : nvml_clock(device, type, mhz);
}

static enum nvml_result one_clock(nvmlDevice_t device, int type, unsigned *n, unsigned *mhz)
{
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !n)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    bool room = *n >= 1 && mhz;
    *n = 1;
    return room ? nvml_clock(device, type, mhz) : NVML_INSUFFICIENT_SIZE;
}

enum nvml_result nvml_memory_clocks(nvmlDevice_t device, unsigned *n, unsigned *mhz) { return one_clock(device, 2, n, mhz); }

enum nvml_result nvml_graphics_clocks(nvmlDevice_t device, unsigned memory_mhz, unsigned *n, unsigned *mhz)
{
    unsigned own;
    enum nvml_result r = nvml_clock(device, 2, &own);
    return r != NVML_SUCCESS ? r : memory_mhz != own ? NVML_NOT_FOUND : one_clock(device, 0, n, mhz);
}

enum nvml_result nvml_reasons(nvmlDevice_t device, unsigned long long *reasons)
{
    enum { IDLE = 1 };
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !reasons)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    *reasons = nvml_busy_percent(number) ? 0 : IDLE;
    return NVML_SUCCESS;
}

/* ---- errors, modes, limits ---- */

/* Two answers at once. */
static enum nvml_result pair(nvmlDevice_t device, unsigned *a, unsigned *b, unsigned x, unsigned y)
{
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !a || !b)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    *a = x;
    *b = y;
    return NVML_SUCCESS;
}

static bool has_ecc(void) { return nvml_facts() && nvml_facts()->ecc; }

enum nvml_result nvml_ecc(nvmlDevice_t device, unsigned *current, unsigned *pending)
{
    enum nvml_result r = pair(device, current, pending, 1, 1);
    return r == NVML_SUCCESS && !has_ecc() ? NVML_NOT_SUPPORTED : r;
}

enum nvml_result nvml_ecc_errors(nvmlDevice_t device, int type, int counter, unsigned long long *n)
{
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !n || (type | counter) & ~1)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    if (!has_ecc())
        return NVML_NOT_SUPPORTED;
    *n = 0;
    return NVML_SUCCESS;
}

enum nvml_result nvml_ecc_counter(nvmlDevice_t device, int type, int counter, int location, unsigned long long *n)
{
    enum { LOCATIONS = 8 };
    return location < 0 || location >= LOCATIONS ? NVML_INVALID_ARGUMENT : nvml_ecc_errors(device, type, counter, n);
}

enum nvml_result nvml_remapped(nvmlDevice_t device, unsigned *correctable, unsigned *uncorrectable, unsigned *pending, unsigned *failed)
{
    enum nvml_result r = pair(device, correctable, uncorrectable, 0, 0);
    return r == NVML_SUCCESS ? pair(device, pending, failed, 0, 0) : r;
}

enum nvml_result nvml_retired(nvmlDevice_t device, int cause, unsigned *n, unsigned long long *addresses)
{
    (void)addresses;
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !n || cause & ~1)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    *n = 0;
    return NVML_SUCCESS;
}

enum nvml_result nvml_mig_mode(nvmlDevice_t device, unsigned *current, unsigned *pending)
{
    enum { FIRST_WITH_MIG = 80 };
    enum nvml_result r = pair(device, current, pending, 0, 0);
    bool has = nvml_facts() && (nvml_facts()->sm == FIRST_WITH_MIG || nvml_facts()->sm >= 90);
    return r == NVML_SUCCESS && !has ? NVML_NOT_SUPPORTED : r;
}

enum nvml_result nvml_power_limits(nvmlDevice_t device, unsigned *least, unsigned *most)
{
    unsigned limit = nvml_facts() ? (unsigned)nvml_facts()->power_limit_mw : 0;
    return pair(device, least, most, limit, limit);
}

enum nvml_result nvml_pcie_throughput(nvmlDevice_t device, int counter, unsigned *kib_per_s)
{
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !kib_per_s || counter & ~1)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    *kib_per_s = 0;                            /* one memory: nothing crosses a bus */
    return NVML_SUCCESS;
}

/* ---- fields by number ---- */

static enum nvml_result field(nvmlDevice_t device, int number, struct nvml_field *f)
{
    enum { ECC_CURRENT = 1, ECC_PENDING, ECC_FIRST, ECC_LAST = 28, ENERGY = 83, POWER_AVERAGE = 185, POWER_INSTANT = 186 };
    enum { UNSIGNED_INT = 1, UNSIGNED_LONG_LONG = 3 };
    unsigned long long wide = 0;
    enum nvml_result r = NVML_SUCCESS;
    f->type = UNSIGNED_INT;
    f->value.ull = 0;
    if (f->id == ECC_CURRENT || f->id == ECC_PENDING) {
        f->value.ui = has_ecc();
    } else if (f->id >= ECC_FIRST && f->id <= ECC_LAST) {
        r = nvml_ecc_errors(device, 0, 0, &wide);
        f->type = UNSIGNED_LONG_LONG;
    } else if (f->id == ENERGY) {
        r = nvml_energy(device, &wide);
        f->type = UNSIGNED_LONG_LONG;
    } else if (f->id == POWER_AVERAGE || f->id == POWER_INSTANT) {
        f->value.ui = nvml_power_mw(number);
    } else {
        r = NVML_NOT_SUPPORTED;
    }
    if (f->type == UNSIGNED_LONG_LONG)
        f->value.ull = wide;
    return r;
}

enum nvml_result nvml_fields(nvmlDevice_t device, int n, struct nvml_field *values)
{
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || n < 1 || !values)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    for (int i = 0; i < n; i++) {
        values[i].timestamp_us = (int64_t)(now_ms() * 1e3);
        values[i].latency_us = 0;
        values[i].result = (int)field(device, number, &values[i]);
    }
    return NVML_SUCCESS;
}

/* ---- processes: this one ---- */

static enum nvml_result processes(nvmlDevice_t device, unsigned *n, unsigned *room, uint64_t *bytes)
{
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !n)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    *bytes = used_bytes(number);
    *room = *n;
    *n = rt_started() && rt_machine_ordinal(number) >= 0;
    return *n > *room ? NVML_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

enum nvml_result nvml_processes(nvmlDevice_t device, unsigned *n, struct nvml_process *infos)
{
    enum { NO_INSTANCE = -1 };
    unsigned room;
    uint64_t bytes;
    enum nvml_result r = processes(device, n, &room, &bytes);
    if (r != NVML_SUCCESS || !*n)
        return r;
    if (!infos)
        return NVML_INVALID_ARGUMENT;
    infos[0] = (struct nvml_process){(unsigned)getpid(), bytes, (unsigned)NO_INSTANCE, (unsigned)NO_INSTANCE};
    return NVML_SUCCESS;
}

enum nvml_result nvml_processes_v1(nvmlDevice_t device, unsigned *n, void *infos)
{
    struct { unsigned pid; uint64_t used_bytes; } info = {.pid = (unsigned)getpid()};
    unsigned room;
    enum nvml_result r = processes(device, n, &room, &info.used_bytes);
    if (r != NVML_SUCCESS || !*n)
        return r;
    if (!infos)
        return NVML_INVALID_ARGUMENT;
    memcpy(infos, &info, sizeof info);
    return NVML_SUCCESS;
}

enum nvml_result nvml_no_processes(nvmlDevice_t device, unsigned *n, void *infos)
{
    (void)infos;
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !n)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    *n = 0;
    return NVML_SUCCESS;
}

/* ---- topology: all under one host bridge ---- */

enum { TOPOLOGY_INTERNAL = 0, TOPOLOGY_HOSTBRIDGE = 30, TOPOLOGY_SYSTEM = 50 };

static enum nvml_result both(nvmlDevice_t a, nvmlDevice_t b, const void *out)
{
    int number;
    enum nvml_result r = nvml_device(a, &number);
    if (r == NVML_SUCCESS)
        r = nvml_device(b, &number);
    return r != NVML_SUCCESS ? r : out ? NVML_SUCCESS : NVML_INVALID_ARGUMENT;
}

enum nvml_result nvml_ancestor(nvmlDevice_t a, nvmlDevice_t b, int *level)
{
    enum nvml_result r = both(a, b, level);
    if (r == NVML_SUCCESS)
        *level = a == b ? TOPOLOGY_INTERNAL : TOPOLOGY_HOSTBRIDGE;
    return r;
}

enum nvml_result nvml_same_board(nvmlDevice_t a, nvmlDevice_t b, int *same)
{
    enum nvml_result r = both(a, b, same);
    if (r == NVML_SUCCESS)
        *same = a == b;
    return r;
}

enum nvml_result nvml_p2p(nvmlDevice_t a, nvmlDevice_t b, int index, int *link)
{
    enum { STATUS_OK = 0, CAPABILITIES = 5 };
    enum nvml_result r = both(a, b, link);
    if (r != NVML_SUCCESS || index < 0 || index >= CAPABILITIES)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    *link = STATUS_OK;
    return NVML_SUCCESS;
}

enum nvml_result nvml_nearest(nvmlDevice_t device, int level, unsigned *n, nvmlDevice_t *devices)
{
    int number;
    unsigned all, found = 0;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !n || level < TOPOLOGY_INTERNAL || level > TOPOLOGY_SYSTEM || (*n && !devices))
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    r = nvml_count(&all);
    for (unsigned i = 0; r == NVML_SUCCESS && level == TOPOLOGY_HOSTBRIDGE && i < all; i++) {
        if (i == (unsigned)number)
            continue;
        if (found < *n)
            r = nvml_by_index(i, &devices[found]);
        found++;
    }
    *n = found;
    return r;
}

/* ---- near processors and memory ---- */

enum nvml_result nvml_cpus(nvmlDevice_t device, unsigned words, unsigned long *set)
{
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !words || !set)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    cpu_set_t own;
    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof own, &own) != 0)
        return NVML_UNKNOWN;
    memset(set, 0, words * sizeof *set);
    for (unsigned i = 0; i < words * 64 && i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &own))
            set[i / 64] |= 1ul << i % 64;
    return NVML_SUCCESS;
}

enum nvml_result nvml_cpus_in(nvmlDevice_t device, unsigned words, unsigned long *set, int scope)
{
    return scope & ~1 ? NVML_INVALID_ARGUMENT : nvml_cpus(device, words, set);
}

enum nvml_result nvml_nodes(nvmlDevice_t device, unsigned words, unsigned long *set, int scope)
{
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !words || !set || scope & ~1)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    memset(set, 0, words * sizeof *set);
    set[0] = 1;
    return NVML_SUCCESS;
}
