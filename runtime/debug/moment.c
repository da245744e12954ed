/* A moment: see moment.h. Memory is kept as the pages that are not what they were at first. */
#include "runtime/debug/past.h"

#include <stdio.h>
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

/* Moments are written here first. */
static byte_list scratch, scratch_state;

void ground_forget(void)
{
    vec_free(&scratch);
    vec_free(&scratch_state);
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

static void put_page(struct sink *to, uint64_t address, uint64_t n)
{
    put_u64(to, address);
    put_u32(to, (uint32_t)n);
    put(to, (const void *)(uintptr_t)address, n);
}

static void put_pages(struct sink *to, const struct ground *g)
{
    for (size_t i = 0; i < g->copies.n && !to->failed; i++) {
        const struct copy *c = &g->copies.at[i];
        for (uint64_t at = 0; at < c->bytes; at += PAGE) {
            uint64_t n = c->bytes - at < PAGE ? c->bytes - at : PAGE;
            if (memcmp((const char *)(uintptr_t)(c->address + at), c->at + at, n) != 0)
                put_page(to, c->address + at, n);
        }
    }
}

/* Of malloc in kernels, which was called for the first time since: what it has given out. */
static void put_heaps(struct sink *to, const struct history *h, const struct ground *g)
{
    const struct rt_context *last = NULL;
    for (const struct debug_run *r = dbg.runs; r; r = r->next) {
        const struct rt_context *c = r->op->stream->context;
        bool known = r->history != h || c == last || !c->heap.base;
        last = c;
        for (size_t i = 0; i < g->copies.n && !known; i++)
            known = g->copies.at[i].address == c->heap.base;
        for (uint64_t at = c->heap.base; at < c->heap.top && !known; at += PAGE)
            put_page(to, at, c->heap.top - at < PAGE ? c->heap.top - at : PAGE);
    }
}

/* Pieces of zeros are left out: much of a GPU is empty most of the time. A bit for each piece, then those that are not. */
enum { PIECE = 64 };

static size_t pieces_of(size_t bytes) { return (bytes + PIECE - 1) / PIECE; }

static bool is_zero(const char *p)
{
    uint64_t w[PIECE / sizeof(uint64_t)], any = 0;
    memcpy(w, p, sizeof w);
    for (size_t i = 0; i < sizeof w / sizeof *w; i++)
        any |= w[i];
    return !any;
}

static bool pack(struct packed *p, byte_list *from)
{
    size_t n = pieces_of(from->n), at = (n + 63) / 64 * sizeof(uint64_t);
    if (!vec_reserve(from, n * PIECE + 1) || !(p->at = malloc(at + n * PIECE + 1)))
        return false;
    if (from->n)
        memset(from->at + from->n, 0, n * PIECE - from->n);
    for (size_t i = 0; i < n; i += 64) {
        uint64_t bits = 0;
        for (size_t k = i; k < n && k < i + 64; k++) {
            if (is_zero(from->at + k * PIECE))
                continue;
            memcpy(p->at + at, from->at + k * PIECE, PIECE);
            at += PIECE;
            bits |= 1ull << (k - i);
        }
        memcpy(p->at + i / 8, &bits, sizeof bits);
    }
    p->n = at;
    p->bytes = from->n;
    char *less = realloc(p->at, at + 1);
    p->at = less ? less : p->at;
    return true;
}

static bool unpack(byte_list *to, const struct packed *p)
{
    size_t n = pieces_of(p->bytes), at = (n + 63) / 64 * sizeof(uint64_t);
    if (!vec_reserve(to, n * PIECE + 1))
        return false;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, p->at + i / 64 * sizeof bits, sizeof bits);
        if (bits >> i % 64 & 1) {
            memcpy(to->at + i * PIECE, p->at + at, PIECE);
            at += PIECE;
        } else {
            memset(to->at + i * PIECE, 0, PIECE);
        }
    }
    to->n = p->bytes;
    return true;
}

void moment_free(struct moment *m)
{
    if (!m)
        return;
    free(m->blocks.at);
    free(m->state.at);
    vec_free(&m->pages);
    free(m);
}

uint64_t moment_bytes(const struct moment *m) { return sizeof *m + m->blocks.n + m->pages.n + m->state.n; }
uint64_t moment_work(const struct moment *m) { return m->blocks.bytes + m->state.bytes; }

struct moment *moment_take(const struct debug_run *r, const struct ground *g, uint64_t most)
{
    struct moment *m = calloc(1, sizeof *m);
    const struct grid_run *run = r->op->u.launch.run;
    if (!m)
        return NULL;
    struct growing blocks = {&scratch, most}, pages = {&m->pages, most}, state = {&scratch_state, most};
    scratch.n = scratch_state.n = 0;
    struct sink to = {.write = grow, .user = &blocks}, more = {.write = grow, .user = &pages}, model = {.write = grow, .user = &state};
    struct op *ops[RUNS_MOST];
    struct device *gpu = r->history->gpu;
    if (gpu) {
        m->cycle = sim_cycle(gpu);
        m->next = UINT64_MAX;                  /* of several kernels */
        model.failed = !sim_keep(gpu, ops, past_ops(r->history, ops), &to, &model);
    } else {
        m->next = atomic_load(&run->next);
        heap_keep(&r->op->stream->context->heap, &to);
        grid_keep(run, &to);
    }
    if (g) {
        put_pages(&more, g);
        put_heaps(&more, r->history, g);
    }
    if (!to.failed && !more.failed && !model.failed && pack(&m->blocks, &scratch) && pack(&m->state, &scratch_state))
        return m;
    moment_free(m);
    return NULL;
}

static bool sim_back(const struct debug_run *r)
{
    struct op *ops[RUNS_MOST];
    struct error err = {0};
    struct bytes blocks = {scratch.at, scratch.n}, state = {scratch_state.at, scratch_state.n};
    struct source from = bytes_source(&blocks), model = bytes_source(&state);
    if (sim_put_back(r->history->gpu, ops, past_ops(r->history, ops), &from, &model, &err) == ST_OK)
        return true;
    struct emu_fault *f = &r->op->u.launch.run->sim.fault;
    *f = (struct emu_fault){.status = err.status};
    snprintf(f->report, sizeof f->report, "the simulated GPU cannot be put back to an earlier moment: %.1000s", err.text);
    return false;
}

static bool no_memory(struct grid_run *run)
{
    run->fault = run->sim.fault = (struct emu_fault){.status = ST_OUT_OF_MEMORY, .report = "no host memory to go back"};
    atomic_store(&run->stop, 0);
    return false;
}

bool moment_back(const struct debug_run *r, const struct moment *m)
{
    struct bytes pages = {m->pages.at, m->pages.n};
    struct source memory = bytes_source(&pages);
    while (pages.n) {
        uint64_t at = get_u64(&memory);
        uint32_t n = get_u32(&memory);
        get(&memory, (void *)(uintptr_t)at, n);
    }
    if (!unpack(&scratch, &m->blocks) || !unpack(&scratch_state, &m->state))
        return no_memory(r->op->u.launch.run);
    if (r->history->gpu)
        return sim_back(r);
    struct bytes blocks = {scratch.at, scratch.n};
    struct source from = bytes_source(&blocks);
    heap_put_back(&r->op->stream->context->heap, &from);
    return grid_put_back(r->op->u.launch.run, &from);
}
