/* The arguments of a call as words that are the same in every run of the program: what is recorded of them, and compared in a replay. */
#include <string.h>

#include "emu/emu.h"
#include "interpose/api.h"
#include "runtime/base/map.h"

enum { MAX_ARGS = 16 };
enum kind { NUMBER, POINTER, TEXT, STRUCTURE };

static enum kind kind_of(const struct api_arg *a)
{
    if (a->bytes > sizeof(uint64_t))
        return STRUCTURE;
    if (strcmp(a->type, "const char *") == 0)
        return TEXT;
    bool pointer = a->bytes == sizeof(uint64_t) && (a->type[strlen(a->type) - 1] == '*' || (a->type[0] == 'C' && a->type[1] == 'U'));
    return pointer ? POINTER : NUMBER;
}

/* Once a function. Two threads that do it at the same time do the same. */
static void know(struct host_site *site, const struct api_arg *args)
{
    size_t at = 0;
    for (unsigned i = 0; args[i].name && i < MAX_ARGS; i++)
        site->kind[i] = (uint8_t)kind_of(&args[i]);
    for (const struct api_arg *a = args; a->name && at + strlen(a->name) + 3 < sizeof site->args; a++) {
        if (at) {
            memcpy(site->args + at, ", ", 2);
            at += 2;
        }
        memcpy(site->args + at, a->name, strlen(a->name));
        at += strlen(a->name);
    }
    site->poll = host_polls(site->symbol);
    __atomic_store_n(&site->known, 1, __ATOMIC_RELEASE);
}

/* A handle is its number, a device address itself; where the program keeps its own things differs from run to run. */
static uint64_t steady_pointer(uint64_t v)
{
    enum { NUMBERS = 0x10000 };                /* special streams and the like */
    if (v < NUMBERS || v - EMU_BASE < EMU_SPAN)
        return v;
    uint64_t number = rt_handle_number((const void *)(uintptr_t)v);
    return number ? number : NUMBERS;
}

/* Structures that are passed by value: their words may be pointers. */
static uint64_t steady_struct(const struct api_arg *a)
{
    enum { WORDS = 32 };
    uint64_t words[WORDS] = {0};
    size_t n = a->bytes < sizeof words ? a->bytes : sizeof words;
    memcpy(words, a->at, n);
    for (size_t i = 0; i < n / 8; i++)
        if (a->bytes % 8 == 0 && host_address(words[i]))
            words[i] = steady_pointer(words[i]);
    return hash_bytes(words, n);
}

static uint64_t steady(const struct api_arg *a, enum kind kind)
{
    uint64_t v = 0;
    if (kind == STRUCTURE)
        return steady_struct(a);
    if (a->bytes == sizeof v)
        memcpy(&v, a->at, sizeof v);
    else
        memcpy(&v, a->at, a->bytes);
    if (kind == TEXT)
        return v ? hash_bytes((const char *)(uintptr_t)v, strlen((const char *)(uintptr_t)v)) : 0;
    return kind == POINTER ? steady_pointer(v) : v;
}

enum status api_enter(struct host_site *site, const struct api_arg *args)
{
    uint64_t words[MAX_ARGS];
    unsigned n = 0;
    if (!__atomic_load_n(&site->known, __ATOMIC_ACQUIRE))
        know(site, args);
    for (; args[n].name && n < MAX_ARGS; n++)
        words[n] = steady(&args[n], (enum kind)site->kind[n]);
    return host_enter(site, words, n);
}
