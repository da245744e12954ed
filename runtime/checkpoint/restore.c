/* Puts back what save.c wrote: the device's part of it. With the program, its calls have made contexts, streams, modules and most allocations again by now, at the
 * same addresses; without it, resume.c makes what kernels need. Nothing runs meanwhile. */
#include "runtime/checkpoint/restore.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/snapshot.h"
#include "emu/texture.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/host.h"
#include "runtime/checkpoint/pages.h"
#include "runtime/checkpoint/timing.h"
#include "runtime/checkpoint/warm.h"

static enum status no_section(const char *name, struct error *err)
{
    return error_set(err, ST_INVALID_IMAGE, "the checkpoint has no section \"%s\"", name);
}

/* ---- contexts ---- */

static VEC(struct { uint64_t id; struct rt_context *context; }) mapped;

void restore_map_context(uint64_t id, struct rt_context *c)
{
    if (vec_reserve(&mapped, mapped.n + 1)) {
        mapped.at[mapped.n].id = id;
        mapped.at[mapped.n++].context = c;
    }
}

struct rt_context *restore_context(uint64_t id)
{
    for (size_t i = 0; i < mapped.n; i++)
        if (mapped.at[i].id == id)
            return mapped.at[i].context;
    struct rt_context *c = the.contexts;
    while (c && c->id != id)
        c = c->next;
    return mapped.n ? NULL : c;
}

/* ---- allocations ---- */

struct saved_range { uint64_t lo, hi, block, block_bytes, context; uint32_t device, flags; uint8_t memory; char what[64]; };

static bool get_range(struct source *from, struct saved_range *r)
{
    if (get_u8(from) != 1)
        return false;
    *r = (struct saved_range){.lo = get_u64(from), .hi = get_u64(from)};
    get_text(from, r->what, sizeof r->what);
    r->memory = get_u8(from);
    r->flags = get_u32(from);
    r->block = get_u64(from);
    r->block_bytes = get_u64(from);
    r->context = get_u64(from);
    r->device = get_u32(from);
    if (r->hi <= r->lo || r->memory > RT_MEMORY_MAPPED)
        from->failed = true;
    return !from->failed;
}

static enum status in_the_way(const struct saved_range *r, struct error *err)
{
    return error_set(err, ST_MAP_FAILED, "%s at [0x%llx, 0x%llx) of the checkpoint cannot be mapped there again: the addresses are taken", r->what, (unsigned long long)r->lo,
                     (unsigned long long)r->hi);
}

/* The program's own memory, registered: in a process without the program it is mapped. */
static enum status make_registered(const struct saved_range *r, struct rt_context *c, struct error *err)
{
    uint64_t lo = r->lo / 4096 * 4096, hi = (r->hi + 4095) / 4096 * 4096;
    if (r->lo >= EMU_BASE && r->lo < EMU_BASE + EMU_SPAN)
        return in_the_way(r, err);
    void *at = mmap((void *)(uintptr_t)lo, hi - lo, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (at != (void *)(uintptr_t)lo) {
        if (at != MAP_FAILED)
            munmap(at, hi - lo);
        return in_the_way(r, err);
    }
    return rt_host_register(c, (void *)(uintptr_t)r->lo, r->hi - r->lo, r->flags);
}

static enum status make_range(const struct saved_range *r, struct error *err)
{
    struct rt_context *c = restore_context(r->context);
    struct device *d = device_at((int)r->device);
    if (r->memory == RT_MEMORY_REGISTERED && c && host_mode() == HOST_FREE)
        return make_registered(r, c, err);
    if (r->memory == RT_MEMORY_REGISTERED || !d)
        return error_set(err, ST_MAP_FAILED, "memory of the program's own at [0x%llx, 0x%llx), registered at the checkpoint, is not there now", (unsigned long long)r->lo, (unsigned long long)r->hi);
    uint64_t block = r->block ? r->block : r->lo, bytes = r->block ? r->block_bytes : r->hi - r->lo;
    enum rt_memory_kind kind = r->memory == RT_MEMORY_MAPPED ? RT_MEMORY_DEVICE : (enum rt_memory_kind)r->memory;
    pthread_mutex_lock(&the.memory);
    bool taken = block_take(block, memory_side(kind), bytes);
    pthread_mutex_unlock(&the.memory);
    if (!taken)
        return in_the_way(r, err);
    struct allocation *a;
    return allocation_make(&a, &(struct allocation_request){.context = c, .device = d, .kind = kind, .bytes = r->hi - r->lo, .flags = r->flags, .what = r->what, .block = block,
                                                            .block_bytes = bytes, .base = r->lo}, err);
}

static bool is_there(const struct saved_range *r)
{
    struct emu_range e;
    return emu_space_find(the.space, r->lo, &e) && e.lo == r->lo && e.hi == r->hi;
}

/* What comes next is as it would have come: addresses decide about caches and channels. */
static enum status restore_free(struct hck_reader *r, struct source *from, struct error *err)
{
    pthread_mutex_lock(&the.lock);
    pthread_mutex_lock(&the.memory);
    params_forget();
    bool good = block_load(from) && params_load(from);
    pthread_mutex_unlock(&the.memory);
    pthread_mutex_unlock(&the.lock);
    if (good)
        return ST_OK;
    return from->failed ? hck_error(r, err) : error_set(err, ST_INVALID_IMAGE, "what is free of the device's memory in the checkpoint is in use now");
}

enum status restore_ranges(struct hck_reader *r, struct error *err)
{
    struct source *from = hck_find(r, HCK_RANGES);
    VEC(struct saved_range) missing = {0};
    struct saved_range x;
    enum status st = from ? ST_OK : no_section("ranges", err);
    while (st == ST_OK && get_range(from, &x))
        if (!is_there(&x) && !vec_push(&missing, x))
            st = error_set(err, ST_OUT_OF_MEMORY, "no host memory for the allocations of the checkpoint");
    if (st == ST_OK && from->failed)
        st = hck_error(r, err);
    for (size_t i = 0; i < missing.n && st == ST_OK; i++)
        st = make_range(&missing.at[i], err);
    vec_free(&missing);
    return st == ST_OK ? restore_free(r, from, err) : st;
}

/* What is left out in the file. */
static void clear(uint64_t lo, uint64_t hi)
{
    static struct pages pages;
    pages_open(&pages);
    for (uint64_t at = lo, next; at < hi; at = next) {
        next = (at / PAGE_BYTES + 1) * PAGE_BYTES < hi ? (at / PAGE_BYTES + 1) * PAGE_BYTES : hi;
        if (!pages_are_zero(&pages, at, next))
            memset((void *)(uintptr_t)at, 0, next - at);
    }
    pages_close(&pages);
}

enum status restore_memory(struct hck_reader *r, struct error *err)
{
    struct source *from = hck_find(r, HCK_MEMORY);
    struct emu_range e;
    if (!from)
        return no_section("memory", err);
    for (uint64_t at = 0; emu_space_after(the.space, at, &e); at = e.hi)
        clear(e.lo, e.hi);
    for (uint64_t at; (at = get_u64(from)) && !from->failed;) {
        uint64_t n = get_u64(from);
        if (!emu_space_find(the.space, at, &e) || n > e.hi - at || !get(from, (void *)(uintptr_t)at, n))
            return hck_error(r, err);
    }
    return from->failed ? hck_error(r, err) : ST_OK;
}

/* ---- contexts' state, textures, clocks ---- */

static bool get_output(struct source *from, struct rt_context *c)
{
    uint64_t n = get_u64(from);
    if (!c) {
        get_nothing(from, n);
        return !from->failed;
    }
    c->output.n = 0;
    for (char piece[4096]; n && !from->failed; n -= n < sizeof piece ? n : sizeof piece) {
        size_t k = n < sizeof piece ? (size_t)n : sizeof piece;
        if (!get(from, piece, k) || !vec_reserve(&c->output, c->output.n + k))
            return false;
        memcpy(c->output.at + c->output.n, piece, k);
        c->output.n += k;
    }
    return !from->failed;
}

static bool get_context(struct source *from)
{
    struct rt_context *c = restore_context(get_u64(from));
    size_t limits[RT_LIMITS];
    (void)get_u32(from);
    for (int i = 0; i < RT_LIMITS; i++)
        limits[i] = get_u64(from);
    struct device_heap h = {.base = get_u64(from), .bytes = get_u64(from), .top = get_u64(from)};
    get(from, h.free_head, sizeof h.free_head);
    if (from->failed || h.top < h.base || h.top - h.base > h.bytes)
        return false;
    if (c) {
        memcpy(c->limits, limits, sizeof limits);
        c->heap.base = h.base;
        c->heap.bytes = h.bytes;
        c->heap.top = h.top;
        memcpy(c->heap.free_head, h.free_head, sizeof h.free_head);
    }
    return get_output(from, c);
}

static enum status get_textures(struct source *from, const struct hck_reader *r, struct error *err)
{
    struct emu_texture t;
    void *owner;
    if (get_u32(from) != sizeof t)
        return hck_error(r, err);
    while (get_u8(from) == 1) {
        uint64_t handle = get_u64(from);
        if (!get(from, &t, sizeof t))
            break;
        t.owner = NULL;
        if (emu_texture_owner(handle, EMU_TEXTURE, &owner) || emu_texture_owner(handle, EMU_SURFACE, &owner))
            continue;
        enum status st = emu_texture_put(handle, &t, err);
        if (st != ST_OK)
            return st;
    }
    return from->failed ? hck_error(r, err) : ST_OK;
}

enum status restore_device(struct hck_reader *r, struct error *err)
{
    struct source *from = hck_find(r, HCK_DEVICE);
    struct dispatch_clock k;
    if (!from)
        return no_section("device", err);
    for (uint32_t n = get_u32(from); n && !from->failed; n--)
        if (!get_context(from))
            return hck_error(r, err);
    get(from, &k, sizeof k);
    bool clock = get_u8(from);
    struct emu_worker *w = dispatch_worker();
    if (from->failed || !w || (clock && !emu_worker_restore(w, from)))
        return hck_error(r, err);
    dispatch_clock_set(k);
    return get_textures(from, r, err);
}

/* ---- launches ---- */

static bool get_launch(struct source *from, struct saved_launch *l)
{
    uint64_t facts[9];
    *l = (struct saved_launch){.stream = get_u64(from), .module = get_u32(from), .function = get_u32(from)};
    get_text(from, l->name, sizeof l->name);
    get(from, l->grid, sizeof l->grid);
    get(from, l->block, sizeof l->block);
    get(from, l->cluster, sizeof l->cluster);
    l->explicit_cluster = get_u8(from);
    l->cooperative = get_u8(from);
    l->dynamic_shared_bytes = get_u32(from);
    l->param_bytes = get_u32(from);
    l->params = get_u64(from);
    l->begun = get_u8(from);
    if (l->begun) {
        get(from, facts, sizeof facts);
        l->at = (struct grid_state){facts[0], facts[1], facts[2], facts[3], facts[4], facts[5], facts[6], facts[7], facts[8], NULL, NULL, NULL};
    }
    uint64_t ctas = 1;
    for (int i = 0; i < 3; i++)
        if (!l->cluster[i] || !l->grid[i] || !l->block[i] || l->grid[i] % l->cluster[i] || __builtin_mul_overflow(ctas, l->grid[i] / l->cluster[i], &ctas))
            from->failed = true;
    if (l->at.next > ctas || l->at.done + l->at.n_residents > l->at.next)
        from->failed = true;
    return !from->failed;
}

enum status restore_launches(struct hck_reader *r, struct saved_launch **out, size_t *n, struct error *err)
{
    enum { MOST = 1 << 20 };
    struct source *from = hck_find(r, HCK_LAUNCHES);
    VEC(struct saved_launch) all = {0};
    *out = NULL;
    *n = 0;
    if (!from)
        return no_section("launches", err);
    for (uint32_t left = get_below(from, MOST); left && !from->failed; left--) {
        struct saved_launch l;
        if (get_launch(from, &l) && !vec_push(&all, l)) {
            vec_free(&all);
            return error_set(err, ST_OUT_OF_MEMORY, "no host memory for the launches of the checkpoint");
        }
    }
    if (from->failed) {
        vec_free(&all);
        return hck_error(r, err);
    }
    *out = all.at;
    *n = all.n;
    return ST_OK;
}

/* ---- grids that had begun ---- */

struct blocks { struct hck_reader *file; struct source *from; };

static struct source *next_resident(void *user, uint64_t *index, int64_t *quantum, bool *started)
{
    struct blocks *b = user;
    *index = get_u64(b->from);
    *quantum = (int64_t)get_u64(b->from);
    *started = get_u8(b->from);
    return b->from->failed || *quantum <= 0 ? NULL : b->from;
}

static void blocks_free(void *user)
{
    struct blocks *b = user;
    hck_close(b->file);
    free(b);
}

static enum status blocks_open(struct blocks **out, const char *path, size_t which, uint64_t grid_id, struct error *err)
{
    const struct hck_entry *x;
    struct blocks *b = *out = calloc(1, sizeof *b);
    if (!b)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory to read %s", path);
    enum status st = hck_open(&b->file, path, err);
    size_t n = st == ST_OK ? hck_entries(b->file, &x) : 0, i = 0;
    for (; i < n; i++)
        if (x[i].id == HCK_BLOCKS && which-- == 0)
            break;
    if (st == ST_OK && i < n)
        b->from = hck_enter(b->file, i);
    if (st == ST_OK && (!b->from || get_u64(b->from) != grid_id))
        st = hck_error(b->file, err);
    if (st != ST_OK) {
        blocks_free(b);
        *out = NULL;
    }
    return st;
}

enum status restore_grid(struct op *op, const struct saved_launch *l, const char *path, size_t which, struct error *err)
{
    struct blocks *b;
    enum status st = blocks_open(&b, path, which, l->at.grid_id, err);
    if (st != ST_OK)
        return st;
    struct grid_state *from = malloc(sizeof *from);
    if (!from) {
        blocks_free(b);
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for a kernel of the checkpoint");
    }
    *from = l->at;
    from->resident = next_resident;
    from->free = blocks_free;
    from->user = b;
    return grid_begin_from(op, from, err);
}

/* Accesses that it had issued: their order among blocks is nobody's, and its own is kept. */
static bool take_pending(struct emu_cta *cta, struct emu_worker *w, bool perform, struct source *from)
{
    for (uint32_t n = get_u32(from); n && !from->failed; n--) {
        struct emu_pending p;
        if (!emu_pending_restore(&p, cta, from) || (perform && emu_warp_perform(&p, w, p.mask) == EMU_FAULT))
            return false;
    }
    return !from->failed;
}

enum status grid_next_resident(const struct grid_run *r, struct emu_worker *w, uint32_t smid, bool perform, struct resident *out, struct error *err)
{
    bool started = false;
    *out = (struct resident){0};
    struct source *bytes = r->from->resident(r->from->user, &out->index, &out->quantum, &started);
    if (!bytes || out->index >= r->n_ctas)
        return error_set(err, ST_INVALID_IMAGE, "the blocks of %s in the checkpoint make no sense", rt_function_name(r->function));
    enum status st = started ? emu_cta_restore(&out->cta, r->grid, w, smid, bytes, err) : ST_OK;
    if (st == ST_OK && started && !take_pending(out->cta, w, perform, bytes)) {
        emu_cta_free(out->cta, w);
        out->cta = NULL;
        st = error_set(err, ST_INVALID_IMAGE, "accesses under way of %s in the checkpoint make no sense", rt_function_name(r->function));
    }
    return st;
}

enum status grid_take_up(struct grid_run *r, struct error *err)
{
    const struct grid_state *from = r->from;
    atomic_store(&r->next, from->next);
    atomic_store(&r->done, from->done);
    atomic_store(&r->thread_insns, from->thread_insns);
    atomic_store(&r->warp_insns, from->warp_insns);
    r->clock_from = from->clock_from;
    for (uint64_t i = 0; i < from->n_residents && !sim_on(); i++) {
        struct resident c;
        enum status st = grid_next_resident(r, dispatch_worker(), UINT32_MAX, true, &c, err);
        if (st == ST_OK && !vec_push(&r->residents, c)) {
            emu_cta_free(c.cta, dispatch_worker());
            st = error_set(err, ST_OUT_OF_MEMORY, "no host memory for resident blocks");
        }
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

/* ---- with the program ---- */

static bool same_launch(const struct op *op, const struct saved_launch *l)
{
    const struct launch_op *o = &op->u.launch;
    return memcmp(o->grid, l->grid, sizeof l->grid) == 0 && memcmp(o->block, l->block, sizeof l->block) == 0 && memcmp(o->cluster, l->cluster, sizeof l->cluster) == 0 &&
           o->param_bytes == l->param_bytes && o->dynamic_shared_bytes == l->dynamic_shared_bytes && o->cooperative == l->cooperative &&
           strcmp(rt_function_name(o->function), l->name) == 0;
}

/* Parameter blocks are where they were: kernels may hold their addresses. */
static void move_params(struct op *const *ops, const struct saved_launch *l, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ops[i]->u.launch.params = l[i].params;
}

static enum status take_up_launch(struct op *op, const struct saved_launch *l, size_t begun_before, struct error *err)
{
    enum status st = restore_grid(op, l, rt_knobs()->resume, begun_before, err);
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&the.lock);
    op->started = true;
    queue_resume(op);
    pthread_mutex_unlock(&the.lock);
    return ST_OK;
}

/* In the order in which the file numbers them. */
static bool all_modules(struct timing_names *names)
{
    static VEC(struct rt_module *) all;
    all.n = 0;
    for (const struct rt_context *c = the.contexts; c; c = c->next)
        for (struct rt_module *m = c->modules; m; m = m->next)
            if (!vec_push(&all, m))
                return false;
    names->modules = all.at;
    names->n_modules = all.n;
    return true;
}

static enum status take_up_launches(struct hck_reader *r, struct op *const *ops, const struct saved_launch *l, size_t n, struct error *err)
{
    bool timing;
    struct timing_names names = {.n_begun = 0};
    VEC(struct op *) begun = {0};
    enum status st = timing_wanted(r, &timing, err);
    if (st == ST_OK && !timing)
        st = warm_restore(r, err);
    for (size_t i = 0; i < n && st == ST_OK; i++)
        if (l[i].begun && (st = take_up_launch(ops[i], &l[i], begun.n, err)) == ST_OK && !vec_push(&begun, ops[i]))
            st = ST_OUT_OF_MEMORY;
    if (st == ST_OK && timing && !all_modules(&names))
        st = ST_OUT_OF_MEMORY;
    if (st == ST_OUT_OF_MEMORY)
        error_set(err, st, "no host memory for the launches of the checkpoint");
    names.begun = begun.at;
    names.n_begun = begun.n;
    if (st == ST_OK && timing)
        st = timing_load(r, &names, err);
    vec_free(&begun);
    return st;
}

enum status device_restore(struct hck_reader *r, struct op *const *launches, size_t n, struct error *err)
{
    struct saved_launch *l;
    size_t n_saved;
    if (hck_head(r)->layout != hck_layout())
        return error_set(err, ST_NOT_SUPPORTED, "the checkpoint was written by %s, whose memory is laid out in another way", hck_head(r)->build);
    enum status st = restore_launches(r, &l, &n_saved, err);
    if (st == ST_OK && n_saved != n)
        st = error_set(err, ST_INVALID_VALUE, "the program has %zu launches under way, the checkpoint %zu", n, n_saved);
    for (size_t i = 0; i < n && st == ST_OK; i++)
        if (!same_launch(launches[i], &l[i]))
            st = error_set(err, ST_INVALID_VALUE, "launch %zu under way is %s, in the checkpoint it is %s, or of another shape", i + 1, rt_function_name(launches[i]->u.launch.function), l[i].name);
    if (st == ST_OK)
        st = restore_ranges(r, err);
    if (st == ST_OK)
        st = restore_device(r, err);
    if (st == ST_OK)
        st = restore_memory(r, err);
    if (st == ST_OK) {
        pthread_mutex_lock(&the.lock);
        move_params(launches, l, n);
        pthread_mutex_unlock(&the.lock);
        st = take_up_launches(r, launches, l, n, err);
    }
    free(l);
    return st;
}
