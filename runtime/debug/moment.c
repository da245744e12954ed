/* A moment: see moment.h. Memory is kept as the pages that are not what they were at first. */
#include "runtime/debug/moment.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/dispatch.h"

enum { PAGE = 4096 };

/* ---- the ground ---- */

/* Memory for a copy: most often the one of the last launch, which the host has given pages already. */
static VEC(struct copy) spare;

static char *copy_room(uint64_t bytes)
{
    for (size_t i = 0; i < spare.n; i++)
        if (spare.at[i].bytes == bytes) {
            char *at = spare.at[i].at;
            spare.at[i] = spare.at[--spare.n];
            return at;
        }
    return malloc(bytes ? bytes : 1);
}

static void copy_free(const struct copy *c)
{
    enum { MOST_SPARE = 64 };
    if (spare.n >= MOST_SPARE || !vec_push(&spare, *c))
        free(c->at);
}

void ground_forget(void)
{
    for (size_t i = 0; i < spare.n; i++)
        free(spare.at[i].at);
    spare.n = 0;
}

struct taking { struct ground *g; uint64_t most; const char *why_not; };

static void copy_one(void *user, const struct allocation *a)
{
    struct taking *t = user;
    struct copy c = {a->base, a->bytes, NULL};
    t->g->with_host = t->g->with_host || !a->block || (a->kind != RT_MEMORY_VARIABLE && memory_side(a->kind) == BLOCK_HOST);
    if (!a->block || t->why_not)
        return;
    t->g->bytes += a->bytes;
    if (t->g->bytes > t->most)
        t->why_not = "the program's device memory was too large to keep a copy (1 GiB)";
    else if (!(c.at = copy_room(a->bytes)) || !vec_push(&t->g->copies, c))
        t->why_not = "no host memory for a copy of the device's";
    else
        memcpy(c.at, (const void *)(uintptr_t)a->base, a->bytes);
}

const char *ground_take(struct ground *g, uint64_t most)
{
    struct taking t = {g, most, NULL};
    ground_free(g);
    allocations_visit(copy_one, &t);
    if (t.why_not)
        ground_free(g);
    return t.why_not;
}

static void count_one(void *user, const struct allocation *a)
{
    if (a->block)
        *(uint64_t *)user += a->bytes;
}

uint64_t ground_bytes(void)
{
    uint64_t bytes = 0;
    allocations_visit(count_one, &bytes);
    return bytes;
}

void ground_back(const struct ground *g)
{
    for (size_t i = 0; i < g->copies.n; i++)
        memcpy((void *)(uintptr_t)g->copies.at[i].address, g->copies.at[i].at, g->copies.at[i].bytes);
}

void ground_free(struct ground *g)
{
    for (size_t i = 0; i < g->copies.n; i++)
        copy_free(&g->copies.at[i]);
    vec_free(&g->copies);
    *g = (struct ground){0};
}

/* ---- moments ---- */

struct growing { byte_list *at; uint64_t most; };

static bool grow(void *user, const void *p, size_t n)
{
    struct growing *g = user;
    if (g->at->n + n > g->most || !vec_reserve(g->at, g->at->n + n))
        return false;
    memcpy(g->at->at + g->at->n, p, n);
    g->at->n += n;
    return true;
}

static void put_pages(struct sink *to, const struct ground *g)
{
    for (size_t i = 0; i < g->copies.n && !to->failed; i++) {
        const struct copy *c = &g->copies.at[i];
        for (uint64_t at = 0; at < c->bytes; at += PAGE) {
            uint64_t n = c->bytes - at < PAGE ? c->bytes - at : PAGE;
            const char *now = (const char *)(uintptr_t)(c->address + at);
            if (memcmp(now, c->at + at, n) == 0)
                continue;
            put_u64(to, c->address + at);
            put_u32(to, (uint32_t)n);
            put(to, now, n);
        }
    }
}

void moment_free(struct moment *m)
{
    if (!m)
        return;
    vec_free(&m->blocks);
    vec_free(&m->pages);
    free(m);
}

uint64_t moment_bytes(const struct moment *m) { return sizeof *m + m->blocks.n + m->pages.n; }

struct moment *moment_take(const struct debug_run *r, const struct ground *g, uint64_t most)
{
    struct moment *m = calloc(1, sizeof *m);
    const struct grid_run *run = r->op->u.launch.run;
    if (!m)
        return NULL;
    struct growing blocks = {&m->blocks, most}, pages = {&m->pages, most};
    struct sink to = {.write = grow, .user = &blocks}, more = {.write = grow, .user = &pages};
    m->next = atomic_load(&run->next);
    m->heap = r->op->stream->context->heap;
    grid_keep(run, &to);
    if (g)
        put_pages(&more, g);
    if (!to.failed && !more.failed)
        return m;
    moment_free(m);
    return NULL;
}

bool moment_back(const struct debug_run *r, const struct moment *m)
{
    struct device_heap *heap = &r->op->stream->context->heap;
    struct bytes blocks = {m->blocks.at, m->blocks.n}, pages = {m->pages.at, m->pages.n};
    struct source from = bytes_source(&blocks), memory = bytes_source(&pages);
    while (pages.n) {
        uint64_t at = get_u64(&memory);
        uint32_t n = get_u32(&memory);
        get(&memory, (void *)(uintptr_t)at, n);
    }
    if (heap->base == m->heap.base) {
        heap->top = m->heap.top;
        memcpy(heap->free_head, m->heap.free_head, sizeof heap->free_head);
    }
    return grid_put_back(r->op->u.launch.run, &from);
}
