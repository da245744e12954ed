/* NVML: start, finding devices, what a device is. */
#include "interpose/nvml.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "interpose/api.h"

enum { MAX_DEVICES = 16 };
struct nvml_device { char unused; };           /* only its address means something */
static const struct nvml_device all[MAX_DEVICES];
static atomic_int initialized;

#define DRIVER_VERSION "600.00"

static int count(void)
{
    int n = rt_machine_devices();
    return n < MAX_DEVICES ? n : MAX_DEVICES;
}

const struct rt_device_facts *nvml_facts(void) { return rt_gpu_find(rt_knobs()->gpu); }

enum nvml_result nvml_device(nvmlDevice_t device, int *number)
{
    if (!atomic_load(&initialized))
        return NVML_UNINITIALIZED;
    uintptr_t at = (uintptr_t)device, first = (uintptr_t)all;
    if (at < first || at >= first + (uintptr_t)count())
        return NVML_INVALID_ARGUMENT;
    *number = (int)(at - first);
    return NVML_SUCCESS;
}

enum nvml_result nvml_text(char *out, unsigned length, const char *text)
{
    if (!out)
        return NVML_INVALID_ARGUMENT;
    size_t n = strlen(text) + 1;
    if (length < n)
        return NVML_INSUFFICIENT_SIZE;
    memcpy(out, text, n);
    return NVML_SUCCESS;
}

static enum nvml_result ready(const void *out) { return !atomic_load(&initialized) ? NVML_UNINITIALIZED : out ? NVML_SUCCESS : NVML_INVALID_ARGUMENT; }

/* ---- start ---- */

enum nvml_result nvml_init(void)
{
    if (!nvml_facts())
        return NVML_DRIVER_NOT_LOADED;
    atomic_fetch_add(&initialized, 1);
    return NVML_SUCCESS;
}

enum nvml_result nvml_init_flags(unsigned flags)
{
    enum { NO_GPUS = 1, NO_ATTACH = 2 };
    return flags & ~(unsigned)(NO_GPUS | NO_ATTACH) ? NVML_INVALID_ARGUMENT : nvml_init();
}

enum nvml_result nvml_shutdown(void)
{
    int n = atomic_load(&initialized);
    while (n > 0 && !atomic_compare_exchange_weak(&initialized, &n, n - 1))
        ;
    return n > 0 ? NVML_SUCCESS : NVML_UNINITIALIZED;
}

enum nvml_result nvml_driver_version(char *version, unsigned length)
{
    enum nvml_result r = ready(version);
    return r == NVML_SUCCESS ? nvml_text(version, length, DRIVER_VERSION) : r;
}

enum nvml_result nvml_version(char *version, unsigned length)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%s", API_DRIVER_VERSION / 1000, DRIVER_VERSION);
    return nvml_text(version, length, text);   /* answered before nvmlInit, too */
}

enum nvml_result nvml_cuda_version(int *version)
{
    if (!version)
        return NVML_INVALID_ARGUMENT;
    *version = API_DRIVER_VERSION;
    return NVML_SUCCESS;
}

/* As much of the command line as fits. */
enum nvml_result nvml_process_name(unsigned pid, char *name, unsigned length)
{
    enum nvml_result r = ready(name);
    if (r != NVML_SUCCESS || !length)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    char path[32];
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return NVML_NOT_FOUND;
    size_t n = fread(name, 1, length - 1, f);
    fclose(f);
    name[n] = '\0';
    return NVML_SUCCESS;
}

enum nvml_result nvml_none(unsigned *out)
{
    enum nvml_result r = ready(out);
    if (r == NVML_SUCCESS)
        *out = 0;
    return r;
}

/* ---- finding ---- */

enum nvml_result nvml_count(unsigned *out)
{
    enum nvml_result r = ready(out);
    if (r == NVML_SUCCESS)
        *out = (unsigned)count();
    return r;
}

enum nvml_result nvml_by_index(unsigned index, nvmlDevice_t *device)
{
    enum nvml_result r = ready(device);
    if (r != NVML_SUCCESS || index >= (unsigned)count())
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    *device = &all[index];
    return NVML_SUCCESS;
}

static void uuid_text(int number, char out[48])
{
    uint8_t u[16];
    rt_machine_uuid(number, u);
    int at = snprintf(out, 48, "GPU-");
    for (int i = 0; i < 16; i++)
        at += snprintf(out + at, 48 - (size_t)at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
}

static struct rt_pci pci_of(int number) { return (struct rt_pci){.bus = 1 + (uint32_t)number}; }

static void pci_text(int number, char out[32])
{
    struct rt_pci p = pci_of(number);
    snprintf(out, 32, "%08X:%02X:%02X.0", p.domain, p.bus, p.device);
}

enum nvml_result nvml_by_uuid(const char *uuid, nvmlDevice_t *device)
{
    enum nvml_result r = ready(device);
    if (r != NVML_SUCCESS || !uuid)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    for (int i = 0; i < count(); i++) {
        char own[48];
        uuid_text(i, own);
        if (strcasecmp(own, uuid) == 0)
            return nvml_by_index((unsigned)i, device);
    }
    return NVML_NOT_FOUND;
}

enum nvml_result nvml_by_pci(const char *bus_id, nvmlDevice_t *device)
{
    enum nvml_result r = ready(device);
    if (r != NVML_SUCCESS || !bus_id)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    unsigned domain, bus, slot, end;
    if (sscanf(bus_id, "%x:%x:%x.%u", &domain, &bus, &slot, &end) < 3) {
        domain = 0;
        if (sscanf(bus_id, "%x:%x.%u", &bus, &slot, &end) < 2)
            return NVML_INVALID_ARGUMENT;
    }
    for (int i = 0; i < count(); i++)
        if (pci_of(i).domain == domain && pci_of(i).bus == bus && pci_of(i).device == slot)
            return nvml_by_index((unsigned)i, device);
    return NVML_NOT_FOUND;
}

enum nvml_result nvml_no_mig_device(nvmlDevice_t device, unsigned index, nvmlDevice_t *mig)
{
    int number;
    (void)index;
    enum nvml_result r = nvml_device(device, &number);
    return r != NVML_SUCCESS ? r : mig ? NVML_NOT_FOUND : NVML_INVALID_ARGUMENT;
}

/* ---- what it is ---- */

enum nvml_result nvml_name(nvmlDevice_t device, char *name, unsigned length)
{
    int number;
    enum nvml_result r = nvml_device(device, &number);
    return r == NVML_SUCCESS ? nvml_text(name, length, nvml_facts()->name) : r;
}

enum nvml_result nvml_uuid(nvmlDevice_t device, char *uuid, unsigned length)
{
    int number;
    char text[48];
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS)
        return r;
    uuid_text(number, text);
    return nvml_text(uuid, length, text);
}

enum nvml_result nvml_pci(nvmlDevice_t device, struct nvml_pci *pci)
{
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !pci)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    struct rt_pci p = pci_of(number);
    *pci = (struct nvml_pci){.domain = p.domain, .bus = p.bus, .device = p.device, .pci_device_id = (unsigned)nvml_facts()->pci_device_id};
    pci_text(number, pci->bus_id);
    snprintf(pci->legacy_id, sizeof pci->legacy_id, "%04X:%02X:%02X.0", p.domain & 0xffff, p.bus & 0xff, p.device & 0xff);
    return NVML_SUCCESS;
}

enum nvml_result nvml_capability(nvmlDevice_t device, int *major, int *minor)
{
    int number;
    enum nvml_result r = nvml_device(device, &number);
    if (r != NVML_SUCCESS || !major || !minor)
        return r != NVML_SUCCESS ? r : NVML_INVALID_ARGUMENT;
    *major = (int)nvml_facts()->sm / 10;
    *minor = (int)nvml_facts()->sm % 10;
    return NVML_SUCCESS;
}

enum nvml_result nvml_device_check(nvmlDevice_t device)
{
    int number;
    return nvml_device(device, &number);
}

/* ---- facts that are one number ---- */

enum { BUS_PCIE = 2, PCIE_LANES = 16 };

static unsigned architecture(const struct rt_device_facts *f)
{
    enum { VOLTA = 5, TURING, AMPERE, ADA, HOPPER, BLACKWELL };
    return f->sm >= 100 ? BLACKWELL : f->sm >= 90 ? HOPPER : f->sm == 89 ? ADA : f->sm >= 80 ? AMPERE : f->sm >= 75 ? TURING : VOLTA;
}

static unsigned brand(const struct rt_device_facts *f)
{
    enum { TESLA = 2, GEFORCE = 5, NVIDIA = 14 };
    return strstr(f->name, "GeForce") ? GEFORCE : strncmp(f->name, "Tesla", 5) == 0 ? TESLA : NVIDIA;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT const char *nvmlErrorString(int result);
EXPORT const char *nvmlErrorString(int result)
{
    static const struct { int code; const char *text; } texts[] = {
        {NVML_SUCCESS, "The operation was successful"}, {NVML_UNINITIALIZED, "NVML was not first initialized with nvmlInit()"},
        {NVML_INVALID_ARGUMENT, "A supplied argument is invalid"}, {NVML_NOT_SUPPORTED, "The requested operation is not available on target device"},
        {NVML_NO_PERMISSION, "The current user does not have permission for operation"}, {NVML_ALREADY_INITIALIZED, "NVML has already been initialized"},
        {NVML_NOT_FOUND, "A query to find an object was unsuccessful"}, {NVML_INSUFFICIENT_SIZE, "An input argument is not large enough"},
        {NVML_DRIVER_NOT_LOADED, "NVIDIA driver is not loaded"}, {NVML_ARGUMENT_VERSION_MISMATCH, "The provided version is invalid/unsupported"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].code == result)
            return texts[i].text;
    return "An unknown error has occurred";
}

static int leave(const char *symbol, const struct api_arg *args, enum nvml_result r)
{
    if (__builtin_expect(api_tracing, 0))
        api_trace(symbol, args, r == NVML_SUCCESS ? "NVML_SUCCESS" : nvmlErrorString((int)r));
    return (int)r;
}

#define NVML(symbol, handler, params)                                                                      \
    EXPORT int symbol(PARAMS params);                                                                      \
    EXPORT int symbol(PARAMS params)                                                                       \
    {                                                                                                      \
        enum nvml_result r = handler(NAMES params);                                                        \
        return leave(#symbol, (const struct api_arg[]){TRACED params {0}}, r);                             \
    }
#define NVML_FACT(symbol, value)                                                                           \
    EXPORT int symbol(nvmlDevice_t device, unsigned *out);                                                 \
    EXPORT int symbol(nvmlDevice_t device, unsigned *out)                                                  \
    {                                                                                                      \
        int at;                                                                                            \
        enum nvml_result r = nvml_device(device, &at);                                                     \
        if (r == NVML_SUCCESS && !out)                                                                     \
            r = NVML_INVALID_ARGUMENT;                                                                     \
        if (r == NVML_SUCCESS) {                                                                           \
            const struct rt_device_facts *f = nvml_facts();                                                \
            unsigned number = (unsigned)at;                                                                \
            (void)f, (void)number;                                                                         \
            *out = (unsigned)(value);                                                                      \
        }                                                                                                  \
        return leave(#symbol, (const struct api_arg[]){TRACED(nvmlDevice_t, device, unsigned *, out) {0}}, r); \
    }
#define NVML_NO(symbol)                                                                                    \
    EXPORT int symbol(void);                                                                               \
    EXPORT int symbol(void) { return leave(#symbol, (const struct api_arg[]){{0}}, atomic_load(&initialized) ? NVML_NOT_SUPPORTED : NVML_UNINITIALIZED); }

#define power_mw(number) nvml_power_mw((int)(number))
#include "interpose/nvml.def"
