/* cuGetExportTable: the private tables by which CUDA's own runtime and libraries talk to the driver. What each slot must do was
 * established by running programs (no source of NVIDIA's was used); slots that nobody was seen to call answer NOT_SUPPORTED. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/api.h"
#include "interpose/handshake.h"

/* A table is an array of function addresses; most begin with their size in bytes. */
#define SLOT(f) ((void *)(uintptr_t)(f))

static int unused_slot(void)
{
    static bool told;
    return status_cu(api_unsupported("a function of a private driver table", &told));
}

/* ---- runtime interface ---- */

static int get_primary(CUcontext *out, CUdevice dev)
{
    enum status st = api_device(dev);
    if (st == ST_OK)
        st = out ? api_primary(dev, out) : ST_INVALID_VALUE;
    return status_cu(st);
}

/* The runtimes before 12.0 load their fat binaries here and not by cuLibraryLoadData. The last three arguments list host variables that device
 * code may name; no compiler was seen to make any. */
static int load_wrapper(CUmodule *out, const void *wrapper) { return status_cu(out && wrapper ? cu_module_load_data(out, wrapper) : ST_INVALID_VALUE); }

static int load_wrapper_host_vars(CUmodule *out, const void *wrapper, void *names, void *variables, uint32_t n)
{
    (void)names, (void)variables, (void)n;
    return load_wrapper(out, wrapper);
}

static int load_header(const void *header, CUmodule *out, void *names, void *variables, uint32_t n)
{
    return load_wrapper_host_vars(out, header, names, variables, n);
}

/* Told that a wrapper will not be loaded again; its modules are unloaded by cuModuleUnload. */
static int forget_wrapper(const void *wrapper)
{
    (void)wrapper;
    return 0;
}

/* The runtime of 13.5 begins with it, without arguments, and goes on if it answers success. */
static int begin(void) { return 0; }

enum { RUNTIME_SLOTS = 64 };
static void *runtime_table[RUNTIME_SLOTS] = {
    (void *)(RUNTIME_SLOTS * sizeof(void *)), SLOT(load_wrapper), SLOT(get_primary),
    [6] = SLOT(load_wrapper_host_vars), [7] = SLOT(forget_wrapper), [8] = SLOT(load_header), [12] = SLOT(begin),
};

/* ---- tools hooks: arrays of "is somebody listening", all zero ---- */

static uint32_t hooks_a[0x400], hooks_b[64];

static void hooks_first(uint32_t **array, size_t *n)
{
    if (array)
        *array = hooks_a;
    if (n)
        *n = sizeof hooks_a / sizeof hooks_a[0];
}

static void hooks_second(uint32_t **array, size_t *n)
{
    if (array)
        *array = hooks_b;
    if (n)
        *n = sizeof hooks_b / sizeof hooks_b[0];
}

enum { HOOK_SLOTS = 7 };                       /* exactly 56 bytes: the runtime checks */
static void *hook_table[HOOK_SLOTS] = {(void *)(HOOK_SLOTS * sizeof(void *)), NULL, SLOT(hooks_first), NULL, NULL, NULL, SLOT(hooks_second)};

/* ---- thread ---- */

static int thread_context(CUcontext *out) { return status_cu(cu_ctx_get_current(out)); }

enum { THREAD_SLOTS = 64 };
static void *thread_table[THREAD_SLOTS] = {(void *)(THREAD_SLOTS * sizeof(void *)), NULL, SLOT(thread_context)};

/* ---- context-local storage: no size word; ctx NULL is the current one ---- */

static int storage_put(CUcontext ctx, void *key, void *value, rt_dtor dtor)
{
    struct rt_context *c;
    enum status st = api_context_or_current(ctx, &c);
    return status_cu(st == ST_OK ? rt_context_put(c, key, value, dtor) : st);
}

static int storage_delete(CUcontext ctx, void *key)
{
    struct rt_context *c;
    enum status st = api_context_or_current(ctx, &c);
    return status_cu(st == ST_OK ? rt_context_delete(c, key) : st);
}

static int storage_get(void **value, CUcontext ctx, void *key)
{
    struct rt_context *c;
    enum status st = api_context_or_current(ctx, &c);
    if (st == ST_OK)
        st = value ? rt_context_get(c, key, value) : ST_INVALID_VALUE;
    return status_cu(st);
}

enum { STORAGE_SLOTS = 16 };
static void *storage_table[STORAGE_SLOTS] = {SLOT(storage_put), SLOT(storage_delete), SLOT(storage_get)};

/* ---- context checks ---- */

static int check_context(CUcontext ctx, uint32_t *out, void **more)
{
    (void)ctx, (void)more;
    if (out)
        *out = 0;
    return 0;
}

static int check_nothing(void) { return 0; }

enum { CHECK_SLOTS = 16 };
static void *check_table[CHECK_SLOTS] = {(void *)(CHECK_SLOTS * sizeof(void *)), NULL, SLOT(check_context), SLOT(check_nothing)};

/* ---- handshake ---- */

static int handshake(uint32_t version, uint64_t seconds, uint64_t out[2]);

enum { HANDSHAKE_SLOTS = 3 };                  /* exactly 24 bytes: cudart 11 expects the low byte of the size in the second constant */
static void *handshake_table[HANDSHAKE_SLOTS] = {(void *)(HANDSHAKE_SLOTS * sizeof(void *)), SLOT(handshake)};

static int handshake(uint32_t version, uint64_t seconds, uint64_t out[2])
{
    enum { MAX_DEVICES = 64 };
    if (!out)
        return status_cu(ST_INVALID_VALUE);
    struct handshake_device devices[MAX_DEVICES] = {0};
    int n = rt_started() ? rt_device_count() : 0;
    for (int i = 0; i < n && i < MAX_DEVICES; i++) {
        struct rt_pci pci = rt_device_pci(i);
        rt_device_uuid(i, devices[i].uuid);
        devices[i].domain = (int32_t)pci.domain, devices[i].bus = (int32_t)pci.bus, devices[i].device = (int32_t)pci.device;
    }
    struct handshake h = {
        API_DRIVER_VERSION, version, (uint32_t)getpid(), (uint32_t)(uintptr_t)pthread_self(),
        runtime_table, handshake_table, SLOT(handshake), seconds, devices, (size_t)n,
    };
    handshake_answer(&h, out);
    return 0;
}

/* ---- cuBLAS and cuFFT ---- */

static int context_number(CUcontext ctx, uint64_t *number)
{
    struct rt_context *c;
    enum status st = api_context_or_current(ctx, &c);
    if (st == ST_OK && !number)
        st = ST_INVALID_VALUE;
    if (st == ST_OK)
        *number = rt_context_id(c);
    return status_cu(st);
}

enum { LIBRARY_SLOTS = 95 };
static void *library_table[LIBRARY_SLOTS] = {
    (void *)(LIBRARY_SLOTS * sizeof(void *)), [4] = SLOT(context_number), [39] = SLOT(check_nothing), [51] = SLOT(check_nothing),
};

/* Calls back with each function of a module; 1 is success. cuFFT finds its kernels so. */
static int each_function(CUcontext ctx, CUmodule module, void (*cb)(void *user, CUfunction f), void *user)
{
    (void)ctx;
    if (!cb || api_check(module, RT_MODULE) != ST_OK)
        return 0;
    size_t n = rt_module_functions(module, NULL, 0);
    struct rt_function **all = calloc(n ? n : 1, sizeof *all);
    if (!all)
        return 0;
    n = rt_module_functions(module, all, n);
    for (size_t i = 0; i < n; i++)
        cb(user, all[i]);
    free(all);
    return 1;
}

enum { MODULE_SLOTS = 16 };
static void *module_table[MODULE_SLOTS] = {(void *)(MODULE_SLOTS * sizeof(void *)), [7] = SLOT(each_function)};

/* ---- which is which ---- */

static const struct { uint8_t id[16]; void **table; int slots; bool sized; } tables[] = {
    {{0x6B, 0xD5, 0xFB, 0x6C, 0x5B, 0xF4, 0xE7, 0x4A, 0x89, 0x87, 0xD9, 0x39, 0x12, 0xFD, 0x9D, 0xF9}, runtime_table, RUNTIME_SLOTS, true},
    {{0xA0, 0x94, 0x79, 0x8C, 0x2E, 0x74, 0x2E, 0x74, 0x93, 0xF2, 0x08, 0x00, 0x20, 0x0C, 0x0A, 0x66}, hook_table, HOOK_SLOTS, true},
    {{0x42, 0xD8, 0x5A, 0x81, 0x23, 0xF6, 0xCB, 0x47, 0x82, 0x98, 0xF6, 0xE7, 0x8A, 0x3A, 0xEC, 0xDC}, thread_table, THREAD_SLOTS, true},
    {{0xC6, 0x93, 0x33, 0x6E, 0x11, 0x21, 0xDF, 0x11, 0xA8, 0xC3, 0x68, 0xF3, 0x55, 0xD8, 0x95, 0x93}, storage_table, STORAGE_SLOTS, false},
    {{0x26, 0x3E, 0x88, 0x60, 0x7C, 0xD2, 0x61, 0x43, 0x92, 0xF6, 0xBB, 0xD5, 0x00, 0x6D, 0xFA, 0x7E}, check_table, CHECK_SLOTS, true},
    {{0xD4, 0x08, 0x20, 0x55, 0xBD, 0xE6, 0x70, 0x4B, 0x8D, 0x34, 0xBA, 0x12, 0x3C, 0x66, 0xE1, 0xF2}, handshake_table, HANDSHAKE_SLOTS, true},
    {{0x21, 0x31, 0x8C, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8C, 0xA6, 0x41, 0xFF, 0x73, 0x24, 0xC8, 0xF2}, library_table, LIBRARY_SLOTS, true},
    {{0x6E, 0x16, 0x3F, 0xBE, 0xB9, 0x58, 0x44, 0x4D, 0x83, 0x5C, 0xE1, 0x82, 0xAF, 0xF1, 0x99, 0x1E}, module_table, MODULE_SLOTS, true},
};
enum { TABLES = sizeof tables / sizeof tables[0] };

static void fill_slots(void)
{
    for (size_t t = 0; t < TABLES; t++)
        for (int i = tables[t].sized; i < tables[t].slots; i++)
            if (!tables[t].table[i])
                tables[t].table[i] = SLOT(unused_slot);       /* a NULL that is called would crash the program */
}

enum status cu_get_export_table(const void **out, const CUuuid *id)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_slots);
    if (!out || !id)
        return ST_INVALID_VALUE;
    for (size_t t = 0; t < TABLES; t++)
        if (memcmp(tables[t].id, id->bytes, sizeof tables[t].id) == 0) {
            *out = tables[t].table;
            return ST_OK;
        }
    *out = NULL;
    return ST_INVALID_VALUE;
}
