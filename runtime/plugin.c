/* The libraries of the setting `plugin`: loaded at the first CUDA call, they stay as long as the process. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEDDLE_PLUGIN_TYPES_ONLY
#include "emu/heddle_plugin.h"
#include "runtime/internal.h"
#include "runtime/knobs.h"

struct library { void *handle; char *name; };
static struct { VEC(struct library) at; } libraries;

/* A library that wants to be told how to ask us has the variable of emu/heddle_plugin.h. */
static void introduce(void *handle)
{
    const struct heddle_plugin_host **host = dlsym(handle, "heddle_plugin");
    if (host)
        *host = &emu_plugin_host;
}

static enum status load(const char *path, struct error *err)
{
    struct library l = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL), .name = strdup(path)};
    if (!l.handle) {
        const char *why = dlerror();
        free(l.name);
        return error_set(err, ST_SHARED_OBJECT_INIT_FAILED, "the plug-in %s cannot be loaded: %s", path, why ? why : "?");
    }
    if (!l.name || !vec_push(&libraries.at, l))
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for a plug-in");
    introduce(l.handle);
    return ST_OK;
}

/* Not what one of its own libraries has: a kernel's function is not to become the C library's by chance. */
static void *own_symbol(const struct library *l, const char *name)
{
    void *at = dlsym(l->handle, name);
    struct link_map *own, *of;
    Dl_info info;
    return at && dlinfo(l->handle, RTLD_DI_LINKMAP, &own) == 0 && dladdr1(at, &info, (void **)&of, RTLD_DL_LINKMAP) && of == own ? at : NULL;
}

enum status plugins_load(struct error *err)
{
    enum status st = ST_OK;
    for (const char *p = rt_knobs()->plugin; *p && st == ST_OK;) {
        char path[KNOB_TEXT_BYTES];
        size_t n = strcspn(p, ",");
        snprintf(path, sizeof path, "%.*s", (int)n, p);
        if (n)
            st = load(path, err);
        p += n + (p[n] == ',');
    }
    return st;
}

bool plugins_find(void *user, const char *name, struct emu_extern *out)
{
    char signature[512];
    (void)user;
    snprintf(signature, sizeof signature, "heddle_signature_%s", name);
    for (size_t i = 0; i < libraries.at.n; i++) {
        const struct library *l = &libraries.at.at[i];
        void *function = own_symbol(l, name);
        if (!function)
            continue;
        *out = (struct emu_extern){.signature = own_symbol(l, signature), .library = l->name};
        memcpy(&out->function, &function, sizeof function);    /* ISO C has no cast for it */
        return true;
    }
    return false;
}
