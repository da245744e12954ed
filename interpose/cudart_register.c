/* Runtime API: what nvcc's stubs call before main, and looking up kernels and variables by host address. Exported by hand. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/cudart.h"
#include "runtime/base/log.h"
#include "runtime/base/map.h"
#include "runtime/base/vec.h"

#define EXPORT __attribute__((visibility("default")))

/* A registered fat binary. Loaded when something in it is first used, so that programs start fast. */
struct fatbin {
    const void *wrapper;
    CUlibrary library;                         /* NULL: not loaded yet */
    enum status status;                        /* why it could not be loaded; tried once */
    bool managed_ready;
};
struct symbol {                                /* a kernel, a variable, or a texture or surface reference */
    struct fatbin *fatbin;
    const char *name;                          /* in the program's own read-only memory */
    uint64_t bytes;
    void **managed;                            /* where the host keeps a managed variable's address; NULL: not managed */
    CUkernel _Atomic kernel;
    bool normalized;                           /* of a texture reference */
};

static struct map kernels, variables, references;      /* host address -> struct symbol */
static VEC(struct symbol *) managed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

EXPORT void **__cudaRegisterFatBinary(void *wrapper);
EXPORT void **__cudaRegisterFatBinary2(void *wrapper);
EXPORT void **__cudaRegisterFatBinary3(void *wrapper);
EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
EXPORT void __cudaUnregisterFatBinary(void **handle);
EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit, void *tid, void *bid, void *block,
                                   void *grid, int *warp);
EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes, int constant, int global);
EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t bytes, int constant, int global);
EXPORT void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes);
EXPORT void __cudaRegisterUnifiedTable(void **handle, void *table);
EXPORT void __cudaRegisterTexture(void **handle, const void *host, const void **device, const char *name, int dim, int norm, int external);
EXPORT void __cudaRegisterSurface(void **handle, const void *host, const void **device, const char *name, int dim, int external);
EXPORT void __cudaRegisterShared(void **handle, void **device);
EXPORT void __cudaRegisterSharedVar(void **handle, void **device, size_t bytes, size_t align, int storage);
EXPORT char __cudaInitModule(void **handle);
EXPORT unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared_bytes, CUstream stream);

/* ---- registration ---- */

void **__cudaRegisterFatBinary(void *wrapper)
{
    struct fatbin *f = calloc(1, sizeof *f);
    if (f)
        f->wrapper = wrapper;
    return (void **)f;
}

void **__cudaRegisterFatBinary2(void *wrapper) { return __cudaRegisterFatBinary(wrapper); }
void **__cudaRegisterFatBinary3(void *wrapper) { return __cudaRegisterFatBinary(wrapper); }
void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }

/* Called when the program or one of its libraries goes; another thread may still be inside, so the record stays. */
void __cudaUnregisterFatBinary(void **handle)
{
    struct fatbin *f = (struct fatbin *)(void *)handle;
    pthread_mutex_lock(&lock);
    CUlibrary library = f ? f->library : NULL;
    if (f) {
        f->library = NULL;
        f->status = ST_DEINITIALIZED;
    }
    pthread_mutex_unlock(&lock);
    if (library && rt_started() && rt_is(library, RT_LIBRARY) && rt_library_unload(library) != ST_OK)
        log_debug("a fat binary could not be unloaded");
}

static struct symbol *enter(struct map *where, void **handle, const void *host, const char *name, size_t bytes)
{
    struct symbol *s = handle ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return NULL;
    s->fatbin = (struct fatbin *)(void *)handle;
    s->name = name;
    s->bytes = bytes;
    pthread_mutex_lock(&lock);
    bool ok = map_put_int(where, (uintptr_t)host, (uintptr_t)s);
    pthread_mutex_unlock(&lock);
    if (!ok)
        free(s);
    return ok ? s : NULL;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit, void *tid, void *bid, void *block, void *grid,
                            int *warp)
{
    (void)device, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    enter(&kernels, handle, host, name, 0);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes, int constant, int global)
{
    (void)device, (void)external, (void)constant, (void)global;
    enter(&variables, handle, host, name, bytes);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t bytes, int constant, int global)
{
    (void)device, (void)external, (void)constant, (void)global;
    struct symbol *s = enter(&variables, handle, host, name, bytes);
    if (!s)
        return;
    s->managed = host;
    pthread_mutex_lock(&lock);
    bool ok = vec_push(&managed, s);
    pthread_mutex_unlock(&lock);
    if (!ok)
        log_error("no memory to register the managed variable %s", name);
}

/* Host variables that device code may name, and tables of functions for both sides: nothing that loads here has any. */
void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes) { (void)handle, (void)name, (void)host, (void)bytes; }
void __cudaRegisterUnifiedTable(void **handle, void *table) { (void)handle, (void)table; }

/* Texture and surface references left CUDA with 12.0; programs of 11.x have them. norm: reads integers as floats from 0 (or -1) to 1. */
void __cudaRegisterTexture(void **handle, const void *host, const void **device, const char *name, int dim, int norm, int external)
{
    (void)device, (void)dim, (void)external;
    struct symbol *s = enter(&references, handle, host, name, 0);
    if (s)
        s->normalized = norm;
}

void __cudaRegisterSurface(void **handle, const void *host, const void **device, const char *name, int dim, int external)
{
    (void)device, (void)dim, (void)external;
    enter(&references, handle, host, name, 0);
}

void __cudaRegisterShared(void **handle, void **device) { (void)handle, (void)device; }
void __cudaRegisterSharedVar(void **handle, void **device, size_t bytes, size_t align, int storage)
{
    (void)handle, (void)device, (void)bytes, (void)align, (void)storage;
}

/* ---- loading ---- */

/* Loads f when that was not done. Inside the lock. */
static enum status load(struct fatbin *f)
{
    if (f->library || f->status != ST_OK)
        return f->status;
    struct error err = {0};
    f->status = api_report(rt_library_load(&f->library, f->wrapper, 0, NULL, &err), &err);
    return f->status;
}

/* Gives every managed variable of f its address, which host code reads through a pointer. Inside the lock. */
static enum status place_managed(struct fatbin *f)
{
    enum status st = load(f);
    if (st != ST_OK || f->managed_ready)
        return st;
    for (size_t i = 0; i < managed.n && st == ST_OK; i++) {
        struct symbol *s = managed.at[i];
        uint64_t address, bytes;
        struct error err = {0};
        if (s->fatbin != f)
            continue;
        st = api_report(rt_library_managed(f->library, s->name, &address, &bytes, &err), &err);
        if (st == ST_OK)
            *s->managed = (void *)(uintptr_t)address;
    }
    f->managed_ready = st == ST_OK;
    return st;
}

char __cudaInitModule(void **handle)
{
    enum status st = handle ? cudart_start() : ST_OUT_OF_MEMORY;
    if (st == ST_OK) {
        pthread_mutex_lock(&lock);
        st = place_managed((struct fatbin *)(void *)handle);
        pthread_mutex_unlock(&lock);
    }
    if (st != ST_OK)
        api_thread.last_error = status_cuda(st);
    return st == ST_OK;
}

/* ---- lookups ---- */

static struct symbol *find(const struct map *where, const void *host)
{
    uintptr_t at = 0;
    pthread_mutex_lock(&lock);
    map_get_int(where, (uintptr_t)host, &at);
    pthread_mutex_unlock(&lock);
    return (struct symbol *)at;
}

enum status cudart_kernel(const void *host, CUkernel *out)
{
    if (rt_is(host, RT_KERNEL)) {
        *out = (CUkernel)(uintptr_t)host;
        return ST_OK;
    }
    struct symbol *s = find(&kernels, host);
    if (!s)
        return ST_INVALID_DEVICE_FUNCTION;
    CUkernel k = s->kernel;
    if (!k || !rt_is(k, RT_KERNEL)) {
        struct error err = {0};
        pthread_mutex_lock(&lock);
        enum status st = place_managed(s->fatbin);
        if (st == ST_OK)
            st = api_report(rt_library_kernel(&k, s->fatbin->library, s->name, &err), &err);
        pthread_mutex_unlock(&lock);
        if (st != ST_OK)
            return st == ST_NOT_FOUND ? ST_INVALID_DEVICE_FUNCTION : st;
        s->kernel = k;
    }
    *out = k;
    return ST_OK;
}

enum status cudart_function(const void *host, CUfunction *out)
{
    if (rt_is(host, RT_FUNCTION)) {
        *out = (CUfunction)(uintptr_t)host;
        return ST_OK;
    }
    CUkernel k;
    enum status st = cudart_kernel(host, &k);
    if (st == ST_OK)
        *out = (CUfunction)(void *)k;
    return st;
}

/* Host code reaches a managed variable through its pointer, so &variable is the address that this variable was given. */
static struct symbol *find_managed(const void *address)
{
    struct symbol *found = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < managed.n && !found; i++)
        if (*managed.at[i]->managed == address && managed.at[i]->fatbin->managed_ready)
            found = managed.at[i];
    pthread_mutex_unlock(&lock);
    return found;
}

enum status cudart_symbol(const void *host, uint64_t *address, uint64_t *bytes)
{
    struct symbol *s = host ? find(&variables, host) : NULL;
    if (!s && host)
        s = find_managed(host);
    if (!s)
        return ST_INVALID_SYMBOL;
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    struct error err = {0};
    pthread_mutex_lock(&lock);
    st = place_managed(s->fatbin);
    if (st == ST_OK && s->managed)
        st = rt_library_managed(s->fatbin->library, s->name, address, bytes, &err);
    else if (st == ST_OK)
        st = rt_library_global(s->fatbin->library, c, s->name, address, bytes, &err);
    pthread_mutex_unlock(&lock);
    return st == ST_NOT_FOUND ? ST_INVALID_SYMBOL : api_report(st, &err);
}

enum status cudart_reference(const void *host, enum emu_texture_kind kind, struct rt_texref **out)
{
    struct symbol *s = find(&references, host);
    struct rt_context *c;
    struct rt_module *m;
    enum status st = s ? api_context(&c) : ST_INVALID_SYMBOL;
    if (st != ST_OK)
        return st;
    struct error err = {0};
    pthread_mutex_lock(&lock);
    st = place_managed(s->fatbin);
    if (st == ST_OK)
        st = api_report(rt_library_module(&m, s->fatbin->library, c, &err), &err);
    pthread_mutex_unlock(&lock);
    return st == ST_OK ? rt_texref_get(out, m, s->name, kind, NULL) : st;
}

bool cudart_reference_is_normalized(const void *host)
{
    const struct symbol *s = find(&references, host);
    return s && s->normalized;
}

/* ---- the configuration between <<<>>> and the kernel's stub ---- */

enum { NESTED = 32 };
static _Thread_local struct { struct dim3 grid, block; size_t shared_bytes; CUstream stream; } pushed[NESTED];
static _Thread_local unsigned n_pushed;

unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared_bytes, CUstream stream)
{
    if (n_pushed == NESTED)
        return (unsigned)status_cuda(ST_LAUNCH_OUT_OF_RESOURCES);
    pushed[n_pushed].grid = grid;
    pushed[n_pushed].block = block;
    pushed[n_pushed].shared_bytes = shared_bytes;
    pushed[n_pushed++].stream = stream;
    return 0;
}

enum status cuda_pop_call_configuration(struct dim3 *grid, struct dim3 *block, size_t *shared_bytes, void *stream)
{
    if (!n_pushed)
        return ST_MISSING_CONFIGURATION;
    n_pushed--;
    *grid = pushed[n_pushed].grid;
    *block = pushed[n_pushed].block;
    *shared_bytes = pushed[n_pushed].shared_bytes;
    memcpy(stream, &pushed[n_pushed].stream, sizeof(CUstream));
    return ST_OK;
}
