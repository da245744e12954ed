/* The table of built-in functions, and the short ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/builtin.h"
#include "emu/mem.h"

enum { STRING_MAX = 1 << 20 };                 /* a longer string is taken for one without an end */

bool text_room(struct text *t, size_t n)
{
    if (t->cap - t->n >= n)
        return true;
    size_t cap = 2 * t->cap + n + 256;
    char *at = realloc(t->at, cap);
    if (!at)
        return false;
    t->at = at;
    t->cap = cap;
    return true;
}

void text_add(struct text *t, const char *s, size_t n)
{
    if (!n || !text_room(t, n))
        return;
    memcpy(t->at + t->n, s, n);
    t->n += n;
}

void text_free(struct text *t)
{
    free(t->at);
    *t = (struct text){ 0 };
}

bool builtin_string(struct ctx *c, struct warp *w, uint32_t lane, uint64_t address, struct text *t)
{
    for (size_t total = 0; total < STRING_MAX;) {
        uint64_t room;
        const char *s = mem_at(w, c, lane, address, false, &room);
        if (!s)
            return false;
        size_t most = room < STRING_MAX ? (size_t)room : STRING_MAX, n = strnlen(s, most);
        text_add(t, s, n);
        if (n < most)
            return true;
        total += n;
        address += n;
    }
    return false;
}

/* int vprintf(const char *format, void *args) */
static enum status run_vprintf(struct ctx *c, struct warp *w, const struct insn *in, uint32_t mask, uint32_t (*params)[32], uint32_t (*returns)[32])
{
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        int32_t result;
        enum status st = builtin_vprintf(c, w, in, l, builtin_wide(params, 0, l), builtin_wide(params, 2, l), &result);
        if (st != ST_OK)
            return st;
        returns[0][l] = (uint32_t)result;
    }
    return ST_OK;
}

/* void *malloc(size_t bytes) */
static enum status run_malloc(struct ctx *c, struct warp *w, const struct insn *in, uint32_t mask, uint32_t (*params)[32], uint32_t (*returns)[32])
{
    (void)w;
    (void)in;
    const struct emu_host *host = &c->grid->launch.host;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        builtin_set_wide(returns, 0, l, host->heap_alloc ? host->heap_alloc(host->user, builtin_wide(params, 0, l)) : 0);
    }
    return ST_OK;
}

/* void free(void *block) */
static enum status run_free(struct ctx *c, struct warp *w, const struct insn *in, uint32_t mask, uint32_t (*params)[32], uint32_t (*returns)[32])
{
    (void)returns;
    const struct emu_host *host = &c->grid->launch.host;
    mem_sites_flush(c);                        /* the blocks may have been ranges of their own */
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        uint64_t block = builtin_wide(params, 0, l);
        if (!block || (host->heap_free && host->heap_free(host->user, block)))
            continue;
        insn_fault(in, w, c, l, ST_ILLEGAL_ADDRESS, "free of 0x%llx, which is not a block of the device heap (freed twice?)", (unsigned long long)block);
        return ST_ILLEGAL_ADDRESS;
    }
    return ST_OK;
}

static void assert_line(struct ctx *c, struct warp *w, uint32_t l, uint32_t (*params)[32], struct text *t)
{
    const uint32_t *block = c->grid->launch.block, *id = c->cta->ctaid;
    uint32_t thread = w->number * WARP_SIZE + l;
    char buf[200];
    if (!builtin_string(c, w, l, builtin_wide(params, 2, l), t))
        text_add(t, "?", 1);
    int n = snprintf(buf, sizeof buf, ":%u: ", params[4][l]);
    text_add(t, buf, (size_t)n);
    if (!builtin_string(c, w, l, builtin_wide(params, 6, l), t))
        text_add(t, "?", 1);
    n = snprintf(buf, sizeof buf, ": block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `", id[0], id[1], id[2], thread % block[0], thread / block[0] % block[1],
                 thread / block[0] / block[1]);
    text_add(t, buf, (size_t)n);
    if (!builtin_string(c, w, l, builtin_wide(params, 0, l), t))
        text_add(t, "?", 1);
    text_add(t, "` failed.", 9);
}

/* void __assertfail(const char *message, const char *file, unsigned line, const char *function, size_t char_size): a line per thread, as CUDA prints it. */
static enum status run_assertfail(struct ctx *c, struct warp *w, const struct insn *in, uint32_t mask, uint32_t (*params)[32], uint32_t (*returns)[32])
{
    (void)returns;
    struct text t = { 0 };
    uint32_t first = (uint32_t)__builtin_ctz(mask);
    for (uint32_t m = mask; m && t.n < 700; m &= m - 1) {      /* what a report has room for */
        if (t.n)
            text_add(&t, "\n", 1);
        assert_line(c, w, (uint32_t)__builtin_ctz(m), params, &t);
    }
    insn_fault(in, w, c, first, ST_ASSERT, "%.*s", (int)t.n, t.at ? t.at : "assertion failed");
    text_free(&t);
    return ST_ASSERT;
}

/* void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value): the handle is the value's address. */
static enum status run_set_conditional(struct ctx *c, struct warp *w, const struct insn *in, uint32_t mask, uint32_t (*params)[32], uint32_t (*returns)[32])
{
    (void)returns;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        uint64_t handle = builtin_wide(params, 0, l), room = 0;
        char *at = mem_at(w, c, l, handle, true, &room);
        if (!at || room < sizeof params[2][l] || handle % sizeof params[2][l]) {
            insn_fault(in, w, c, l, ST_ILLEGAL_ADDRESS, "cudaGraphSetConditional of 0x%llx, which is no condition", (unsigned long long)handle);
            return ST_ILLEGAL_ADDRESS;
        }
        __atomic_store_n((uint32_t *)(void *)at, params[2][l], __ATOMIC_RELEASE);
    }
    return ST_OK;
}

static const struct builtin table[] = {
    { "vprintf", run_vprintf, BUILTIN_ORDERED },
    { "malloc", run_malloc, BUILTIN_ORDERED },
    { "free", run_free, BUILTIN_ORDERED },
    { "__assertfail", run_assertfail, 0 },
    { "cudaGraphSetConditional", run_set_conditional, BUILTIN_ORDERED },
    { 0 },
};

static const struct builtin *const tables[] = { table, builtin_device };

builtin_fn builtin_find(const char *name)
{
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const struct builtin *b = tables[t]; b->name; b++)
            if (!strcmp(b->name, name)) return b->fn;
    return NULL;
}

unsigned builtin_traits(builtin_fn fn)
{
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const struct builtin *b = tables[t]; b->name; b++)
            if (b->fn == fn) return b->traits;
    return 0;
}
