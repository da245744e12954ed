/* Entry points by name: cuGetProcAddress. A program names a function, the CUDA version that it was built for, and whether stream 0 is its
 * thread's; signatures differ by that version (cuCtxGetDevice took no context before 13.0). */
#include <pthread.h>
#include <string.h>

#include "interpose/api.h"
#include "runtime/base/map.h"

/* name -> index of its first row; rows of a name stand together in api.def, oldest first. */
static struct map names;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill(void)
{
    for (size_t i = proc_count; i-- > 0;)
        map_put_str(&names, proc_rows[i].name, strlen(proc_rows[i].name), i);
}

enum proc_result proc_find(const char *name, int version, uint64_t flags, void **entry)
{
    pthread_once(&once, fill);
    *entry = NULL;
    uintptr_t first;
    if (!map_get_str(&names, name, strlen(name), &first))
        return PROC_NOT_FOUND;
    const struct proc_row *best = NULL;
    bool per_thread = flags & PROC_PER_THREAD_STREAM;
    for (const struct proc_row *r = &proc_rows[first]; r < proc_rows + proc_count && strcmp(r->name, name) == 0; r++) {
        if (r->since > version || (r->per_thread && !per_thread))
            continue;
        if (!best || r->since >= best->since)  /* the newest signature; its per-thread form stands behind it */
            best = r;
    }
    if (!best)
        return PROC_VERSION_TOO_LOW;
    *entry = best->entry;
    return PROC_FOUND;
}

static enum status get(const char *symbol, void **out, int version, uint64_t flags, int *result)
{
    if (result)
        *result = PROC_NOT_FOUND;
    if (!symbol || !out || (flags & ~(uint64_t)(PROC_LEGACY_STREAM | PROC_PER_THREAD_STREAM)) || flags == 3)
        return ST_INVALID_VALUE;
    enum proc_result found = proc_find(symbol, version, flags, out);
    if (result)
        *result = (int)found;
    return found == PROC_FOUND ? ST_OK : ST_NOT_FOUND;
}

enum status cu_get_proc_address(const char *symbol, void **out, int cuda_version, uint64_t flags)
{
    return get(symbol, out, cuda_version, flags, NULL);
}

enum status cu_get_proc_address_v2(const char *symbol, void **out, int cuda_version, uint64_t flags, int *symbol_status)
{
    return get(symbol, out, cuda_version, flags, symbol_status);
}
