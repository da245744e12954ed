/* nvJitLink: its PTX inputs are linked by Heddle; LTO-IR goes to the library, which is told to stop at PTX, and what it gives is one more input.
 * The "cubin" is then a linked image (rt_link_complete). The library's own handle stays the program's. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/api.h"
#include "interpose/jit.h"
#include "runtime/base/log.h"
#include "runtime/base/map.h"
#include "runtime/runtime.h"

enum { SUCCESS = 0, INVALID_INPUT = 3, PTX_COMPILE = 4, INTERNAL = 6, NULL_INPUT = 10 };       /* nvJitLinkResult */
enum { INPUT_LTOIR = 3 };                      /* nvJitLinkInputType */

struct link {
    struct rt_link *ours;
    bool lto, ptx_wanted;                      /* options -lto and -ptx */
    unsigned n_lto;                            /* inputs that the library has */
    void *image; size_t bytes;                 /* of ours, once complete */
    struct error err;                          /* the first failure of ours */
};

static struct map links;                       /* handle -> struct link */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct link *find(const void *handle)
{
    uintptr_t at;
    pthread_mutex_lock(&lock);
    struct link *k = map_get_int(&links, (uintptr_t)handle, &at) ? (struct link *)at : NULL;
    pthread_mutex_unlock(&lock);
    return k;
}

static void drop(struct link *k)
{
    if (k->ours)
        (void)!rt_link_destroy(k->ours);
    free(k);
}

/* The library's function by its name, with its type. */
#define REAL(l, name, ...) ((int (*)(__VA_ARGS__))(uintptr_t)jit_real((l), (name)))

int jit_link_create(const struct jit_library *l, void **handle, uint32_t num_options, const char **options)
{
    int (*create)(void **, uint32_t, const char **) = REAL(l, "nvJitLinkCreate", void **, uint32_t, const char **);
    if (!create)
        return INTERNAL;
    struct link *k = calloc(1, sizeof *k);
    const char **more = calloc((size_t)num_options + 1, sizeof *more);
    int rc = INTERNAL;
    if (k && more && rt_start(&k->err) == ST_OK && rt_link_create(&k->ours, NULL) == ST_OK) {
        for (uint32_t i = 0; options && i < num_options; i++) {
            more[i] = options[i];
            k->lto |= strcmp(options[i], "-lto") == 0 || strcmp(options[i], "-dlto") == 0;
            k->ptx_wanted |= strcmp(options[i], "-ptx") == 0;
        }
        more[num_options] = "-ptx";
        bool add = options && k->lto && !k->ptx_wanted;
        rc = create(handle, num_options + add, add ? more : options);
    }
    free(more);
    if (rc == SUCCESS) {
        pthread_mutex_lock(&lock);
        rc = map_put_int(&links, (uintptr_t)*handle, (uintptr_t)k) ? SUCCESS : INTERNAL;
        pthread_mutex_unlock(&lock);
    }
    if (rc != SUCCESS && k)
        drop(k);
    return rc;
}

int jit_link_destroy(const struct jit_library *l, void **handle)
{
    int (*destroy)(void **) = REAL(l, "nvJitLinkDestroy", void **);
    uintptr_t at;
    if (!destroy)
        return INTERNAL;
    if (handle && *handle) {
        pthread_mutex_lock(&lock);
        if (map_get_int(&links, (uintptr_t)*handle, &at) && map_del_int(&links, (uintptr_t)*handle))
            drop((struct link *)at);
        pthread_mutex_unlock(&lock);
    }
    return destroy(handle);
}

/* The first failure is the one to tell. */
static int failed(struct link *k, const struct error *err, int rc)
{
    if (!k->err.text[0])
        k->err = *err;
    log_debug("nvJitLink: %s", err->text);
    return rc;
}

/* With -lto the library gets what is LTO-IR, or what holds nothing that we can use. */
static bool for_the_library(const struct link *k, int type, const void *data, size_t size, const char *name, struct error *err, enum status *st)
{
    *st = ST_OK;
    if (k->ptx_wanted || (k->lto && type == INPUT_LTOIR))
        return true;
    *st = rt_link_add(k->ours, data, size, name, err);
    return *st != ST_OK && k->lto;
}

int jit_link_add_data(const struct jit_library *l, void *handle, int type, const void *data, size_t size, const char *name)
{
    int (*add)(void *, int, const void *, size_t, const char *) = REAL(l, "nvJitLinkAddData", void *, int, const void *, size_t, const char *);
    struct link *k = find(handle);
    struct error err = {0};
    enum status st;
    if (!add || !k)
        return add ? add(handle, type, data, size, name) : INTERNAL;
    if (!data || !size)
        return NULL_INPUT;
    if (!for_the_library(k, type, data, size, name, &err, &st))
        return st == ST_OK ? SUCCESS : failed(k, &err, st == ST_INVALID_PTX ? PTX_COMPILE : INVALID_INPUT);
    k->n_lto++;
    return add(handle, type, data, size, name);
}

int jit_link_add_file(const struct jit_library *l, void *handle, int type, const char *path)
{
    void *data;
    size_t bytes;
    if (!path)
        return NULL_INPUT;
    if (api_read_file(path, &data, &bytes) != ST_OK)
        return INVALID_INPUT;
    int rc = jit_link_add_data(l, handle, type, data, bytes, path);
    free(data);
    return rc;
}

/* What the library made of its inputs becomes one of ours. */
static int take_ptx(const struct jit_library *l, void *handle, struct link *k, struct error *err)
{
    int (*get_size)(void *, size_t *) = REAL(l, "nvJitLinkGetLinkedPtxSize", void *, size_t *), (*get)(void *, char *) = REAL(l, "nvJitLinkGetLinkedPtx", void *, char *);
    size_t n = 0;
    int rc = get_size && get ? get_size(handle, &n) : INTERNAL;
    if (rc != SUCCESS)
        return rc;
    char *text = calloc(n + 1, 1);
    if (!text)
        return INTERNAL;
    rc = get(handle, text);
    if (rc == SUCCESS && rt_link_add(k->ours, text, n + 1, "nvJitLink output", err) != ST_OK)
        rc = failed(k, err, PTX_COMPILE);
    free(text);
    return rc;
}

int jit_link_complete(const struct jit_library *l, void *handle)
{
    int (*complete)(void *) = REAL(l, "nvJitLinkComplete", void *), rc = SUCCESS;
    struct link *k = find(handle);
    struct error err = {0};
    if (!complete || !k || k->ptx_wanted)
        return complete ? complete(handle) : INTERNAL;
    if (k->n_lto && (rc = complete(handle)) == SUCCESS)
        rc = take_ptx(l, handle, k, &err);
    if (rc == SUCCESS && rt_link_complete(k->ours, &k->image, &k->bytes, &err) != ST_OK)
        rc = failed(k, &err, PTX_COMPILE);
    return rc;
}

int jit_link_cubin_size(const struct jit_library *l, void *handle, size_t *size)
{
    int (*own)(void *, size_t *) = REAL(l, "nvJitLinkGetLinkedCubinSize", void *, size_t *);
    const struct link *k = find(handle);
    if (!k || !k->image || !size)
        return own ? own(handle, size) : INTERNAL;
    *size = k->bytes;
    return SUCCESS;
}

int jit_link_cubin(const struct jit_library *l, void *handle, void *cubin)
{
    int (*own)(void *, void *) = REAL(l, "nvJitLinkGetLinkedCubin", void *, void *);
    const struct link *k = find(handle);
    if (!k || !k->image || !cubin)
        return own ? own(handle, cubin) : INTERNAL;
    memcpy(cubin, k->image, k->bytes);
    return SUCCESS;
}

int jit_link_log_size(const struct jit_library *l, void *handle, size_t *size)
{
    int (*own)(void *, size_t *) = REAL(l, "nvJitLinkGetErrorLogSize", void *, size_t *);
    const struct link *k = find(handle);
    if (!k || !k->err.text[0] || !size)
        return own ? own(handle, size) : INTERNAL;
    *size = strlen(k->err.text) + 1;
    return SUCCESS;
}

int jit_link_log(const struct jit_library *l, void *handle, char *log)
{
    int (*own)(void *, char *) = REAL(l, "nvJitLinkGetErrorLog", void *, char *);
    const struct link *k = find(handle);
    if (!k || !k->err.text[0] || !log)
        return own ? own(handle, log) : INTERNAL;
    strcpy(log, k->err.text);
    return SUCCESS;
}
