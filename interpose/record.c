/* The arguments of a call as words that are the same in every run of the program: what is recorded of them, and compared in a replay. */
#include <string.h>

#include "emu/emu.h"
#include "interpose/api.h"
#include "runtime/base/map.h"

enum { MAX_ARGS = 16 };

static void name_args(struct host_site *site, const struct api_arg *args)
{
    size_t at = 0;
    for (const struct api_arg *a = args; a->name && at + strlen(a->name) + 3 < sizeof site->args; a++) {
        if (at) {
            memcpy(site->args + at, ", ", 2);
            at += 2;
        }
        memcpy(site->args + at, a->name, strlen(a->name));
        at += strlen(a->name);
    }
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

static uint64_t steady(const struct api_arg *a)
{
    uint64_t v = 0;
    if (a->bytes > sizeof v)
        return steady_struct(a);
    memcpy(&v, a->at, a->bytes);
    if (strcmp(a->type, "const char *") == 0)
        return v ? hash_bytes((const char *)(uintptr_t)v, strlen((const char *)(uintptr_t)v)) : 0;
    bool pointer = a->bytes == sizeof v && (a->type[strlen(a->type) - 1] == '*' || (a->type[0] == 'C' && a->type[1] == 'U'));
    return pointer ? steady_pointer(v) : v;
}

enum status api_enter(struct host_site *site, const struct api_arg *args)
{
    uint64_t words[MAX_ARGS];
    unsigned n = 0;
    if (!site->args[0] && args->name)
        name_args(site, args);
    for (; args[n].name && n < MAX_ARGS; n++)
        words[n] = steady(&args[n]);
    return host_enter(site, words, n);
}
