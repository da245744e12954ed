/* The functions of jit.def: exported, and one set for each copy of a library that a program opened. */
#include "interpose/jit.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum {
#define JIT(name, handler, versions, params) JIT_##name,
#include "interpose/jit.def"
    JIT_COUNT
};

enum { COPIES = 4 };                           /* NVRTC and nvJitLink of two CUDA versions */
static struct jit_library copies[COPIES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *jit_real(const struct jit_library *l, const char *name) { return l ? jit_dlsym(l->handle, name) : NULL; }

/* The library that an address lies in. NULL: none, ourselves, or one copy too many. */
static const struct jit_library *library_at(const void *address)
{
    Dl_info it, us;
    if (!address || !dladdr(address, &it) || !dladdr(&copies, &us) || it.dli_fbase == us.dli_fbase)
        return NULL;
    const struct jit_library *found = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < COPIES && !found; i++) {
        if (!copies[i].base && (copies[i].handle = dlopen(it.dli_fname, RTLD_LAZY | RTLD_NOLOAD)))
            copies[i].base = it.dli_fbase;
        if (copies[i].base == it.dli_fbase)
            found = &copies[i];
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- a program that is linked with the library ---- */

struct search { const char *file; char path[512]; };

static int look(struct dl_phdr_info *in, size_t bytes, void *user)
{
    (void)bytes;
    struct search *s = user;
    const char *slash = strrchr(in->dlpi_name, '/'), *file = slash ? slash + 1 : in->dlpi_name;
    if (strncmp(file, s->file, strlen(s->file)) != 0 || strlen(in->dlpi_name) >= sizeof s->path)
        return 0;
    strcpy(s->path, in->dlpi_name);
    return 1;
}

/* The one behind us in the order of symbols; of a library that was opened with what needs it, the first that is loaded. */
static const struct jit_library *library_linked(const char *name)
{
    void *real = jit_dlsym(RTLD_NEXT, name);
    if (!real) {
        struct search s = {.file = name[2] == 'r' ? "libnvrtc.so" : "libnvJitLink.so"};
        void *handle = dl_iterate_phdr(look, &s) ? dlopen(s.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
        real = handle ? jit_dlsym(handle, name) : NULL;
    }
    return library_at(real);
}

#define JIT(name, handler, versions, params)                                                                      \
    EXPORT int name(PARAMS params);                                                                               \
    EXPORT int name(PARAMS params) { return handler(library_linked(#name), NAMES params); }                       \
    versions(name)
#define PLAIN(name)
#define ALIAS(name, version) EXPORT extern __typeof__(name) __##name##version __attribute__((alias(#name)));
#define VERSIONED(name)                                                                                           \
    ALIAS(name, _12_0) ALIAS(name, _12_1) ALIAS(name, _12_2) ALIAS(name, _12_3) ALIAS(name, _12_4)                \
    ALIAS(name, _12_5) ALIAS(name, _12_6) ALIAS(name, _12_7) ALIAS(name, _12_8) ALIAS(name, _12_9)                \
    ALIAS(name, _13_0) ALIAS(name, _13_1) ALIAS(name, _13_2) ALIAS(name, _13_3) ALIAS(name, _13_4)                \
    ALIAS(name, _13_5) ALIAS(name, _13_6) ALIAS(name, _13_7) ALIAS(name, _13_8) ALIAS(name, _13_9)
#include "interpose/jit.def"

/* ---- a program that opens it ---- */

#define JIT(name, handler, versions, params)                                                                      \
    static int name##_0(PARAMS params) { return handler(&copies[0], NAMES params); }                              \
    static int name##_1(PARAMS params) { return handler(&copies[1], NAMES params); }                              \
    static int name##_2(PARAMS params) { return handler(&copies[2], NAMES params); }                              \
    static int name##_3(PARAMS params) { return handler(&copies[3], NAMES params); }
#include "interpose/jit.def"

static const struct { const char *name; void *entry[COPIES]; } answers[JIT_COUNT] = {
#define ENTRY(name, i) (void *)(uintptr_t)name##_##i
#define JIT(name, handler, versions, params) {#name, {ENTRY(name, 0), ENTRY(name, 1), ENTRY(name, 2), ENTRY(name, 3)}},
#include "interpose/jit.def"
};

void *jit_answer(const char *name, void *real)
{
    bool versioned = strncmp(name, "__", 2) == 0;
    const char *plain = versioned ? name + 2 : name;
    for (int i = 0; i < JIT_COUNT; i++) {
        size_t n = strlen(answers[i].name);
        if (strncmp(plain, answers[i].name, n) != 0 || (plain[n] && !(versioned && plain[n] == '_')))
            continue;
        const struct jit_library *l = library_at(real);
        return l ? answers[i].entry[l - copies] : NULL;
    }
    return NULL;
}
