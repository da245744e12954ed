/* Writes a checkpoint. One pass, straight from where things are: nothing is copied but into the writer's block. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/snapshot.h"
#include "emu/texture.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/file.h"
#include "runtime/checkpoint/host.h"
#include "runtime/checkpoint/pages.h"
#include "runtime/checkpoint/timing.h"
#include "runtime/checkpoint/warm.h"
#include "runtime/debug/debug.h"
#include "runtime/dispatch.h"
#include "runtime/nest.h"
#include "timing/timing.h"

typedef VEC(const struct code *) code_list;
typedef VEC(struct rt_module *) module_list;
typedef VEC(struct op *) launch_list;

/* ---- about ---- */

struct build_id { char text[2 * 64 + 1]; };

/* Of the program itself, which comes first. */
static int find_build_id(struct dl_phdr_info *info, size_t bytes, void *user)
{
    (void)bytes;
    struct build_id *id = user;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;
        while (p->p_type == PT_NOTE && (size_t)(end - at) > sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *n = (const void *)at;
            const char *name = at + sizeof *n, *desc = name + ((n->n_namesz + 3) & ~3u);
            if (desc > end || n->n_descsz > (size_t)(end - desc))
                break;
            for (unsigned k = 0; n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && memcmp(name, "GNU", 4) == 0 && k < n->n_descsz && k < 64; k++)
                snprintf(id->text + 2 * k, 3, "%02x", (unsigned char)desc[k]);
            at = desc + ((n->n_descsz + 3) & ~3u);
        }
    }
    return 1;
}

/* /proc/self/cmdline: arguments with their ends. */
static size_t command_line(char *buf, size_t n)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t k = fd >= 0 ? read(fd, buf, n - 1) : 0;
    if (fd >= 0)
        close(fd);
    size_t used = k > 0 ? (size_t)k : 0;
    buf[used] = 0;
    for (size_t i = 0; i + 1 < used; i++)
        if (!buf[i])
            buf[i] = ' ';
    return used;
}

static void put_about(struct sink *to, const char *note)
{
    char path[4096], command[4096];
    struct build_id id = {{0}};
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    command_line(command, sizeof command);
    dl_iterate_phdr(find_build_id, &id);
    const char *const facts[][2] = {
        {"program", path}, {"command", command}, {"build-id", id.text}, {"gpu", rt_knobs()->gpu}, {"GPU", the.devices[0].facts ? the.devices[0].facts->name : ""},
        {"mode", sim_on() ? "sim" : "run"}, {"taken", note ? note : ""}, {"registers", checkpoint_whole_rows(debug_on()) ? "a row each" : ""}, {"number", checkpoint_number()}, {"host calls", host_mode() == HOST_RECORDED ? "recorded" : "not recorded"},
    };
    put_u32(to, (uint32_t)(sizeof facts / sizeof *facts));
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        put_text(to, facts[i][0]);
        put_text(to, facts[i][1]);
    }
    put_u32(to, (uint32_t)the.n_devices);
}

/* ---- code ---- */

static void put_code(struct sink *to, const struct code *c)
{
    put_text(to, c->name);
    put_u32(to, c->ptx->n_units);
    for (uint32_t i = 0; i < c->ptx->n_units; i++) {
        size_t bytes;
        const char *name, *text = ptx_unit_text(c->ptx, i, &bytes, &name);
        put_text(to, name);
        put_u64(to, bytes);
        put(to, text, bytes);
    }
}

static void put_function(struct sink *to, const struct rt_function *f)
{
    put_u32(to, f->index);
    put_u8(to, f->cubin != NULL);
    put_u32(to, f->cubin ? f->cubin->registers : 0);
    put_u64(to, f->cubin ? f->cubin->shared_bytes : 0);
    put_u64(to, f->cubin ? f->cubin->local_bytes : 0);
    put_u32(to, f->cubin ? f->cubin->max_threads : 0);
    put_u32(to, f->max_dynamic_shared_bytes);
    put_u32(to, (uint32_t)f->carveout);
    put(to, f->cluster, sizeof f->cluster);
    put_u8(to, f->non_portable);
}

static void put_module(struct sink *to, const struct rt_module *m, uint32_t code)
{
    uint32_t n = 0;
    for (size_t i = 0; i < m->n_slots; i++)
        n += m->slots[i] && m->slots[i]->kernel;
    put_u32(to, code);
    put_u64(to, m->context->id);
    put_u32(to, (uint32_t)m->placed.n);
    for (size_t i = 0; i < m->placed.n; i++) {
        struct variable_key k = module_variable_key(m->code->ptx, m->placed.at[i].variable);
        put_u32(to, k.function);
        put_u32(to, k.index);
        put_u64(to, m->placed.at[i].address);
    }
    put_u32(to, n);
    for (size_t i = 0; i < m->n_slots; i++)
        if (m->slots[i] && m->slots[i]->kernel)
            put_function(to, m->slots[i]);
}

static uint32_t code_number(code_list *codes, const struct code *c, bool *fresh)
{
    uint32_t i = 0;
    while (i < codes->n && codes->at[i] != c)
        i++;
    *fresh = i == codes->n;
    return *fresh && !vec_push(codes, c) ? UINT32_MAX : i;
}

/* Each text stands before the first module of it. */
static bool put_modules(struct sink *to, module_list *modules)
{
    code_list codes = {0};
    bool ok = true;
    for (const struct rt_context *c = the.contexts; c; c = c->next)
        for (struct rt_module *m = c->modules; m && ok; m = m->next) {
            bool fresh;
            uint32_t number = code_number(&codes, m->code, &fresh);
            put_u8(to, 1);
            put_u8(to, fresh);
            if (fresh)
                put_code(to, m->code);
            put_module(to, m, number);
            ok = number != UINT32_MAX && vec_push(modules, m);
        }
    put_u8(to, 0);
    vec_free(&codes);
    return ok;
}

/* ---- contexts, textures, counters ---- */

static void put_device(struct sink *to)
{
    uint32_t n = 0, cursor = 0;
    for (const struct rt_context *c = the.contexts; c; c = c->next)
        n++;
    put_u32(to, n);
    for (struct rt_context *c = the.contexts; c; c = c->next) {
        put_u64(to, c->id);
        put_u32(to, (uint32_t)c->device->ordinal);
        for (int i = 0; i < RT_LIMITS; i++)
            put_u64(to, c->limits[i]);
        put_u64(to, c->heap.base);
        put_u64(to, c->heap.bytes);
        put_u64(to, c->heap.top);
        put(to, c->heap.free_head, sizeof c->heap.free_head);
        put_u64(to, c->output.n);
        put(to, c->output.at, c->output.n);
    }
    struct dispatch_clock k = dispatch_clock();
    put(to, &k, sizeof k);
    struct emu_worker *w = dispatch_worker();
    put_u8(to, w != NULL);
    if (w)
        emu_worker_save(w, to);
    put_u32(to, sizeof(struct emu_texture));
    struct emu_texture t;
    for (uint64_t handle; emu_texture_next(&cursor, &handle, &t);) {
        t.owner = NULL;
        put_u8(to, 1);
        put_u64(to, handle);
        put(to, &t, sizeof t);
    }
    put_u8(to, 0);
}

/* ---- memory ---- */

static void put_ranges(struct sink *to)
{
    struct emu_range r;
    for (uint64_t at = 0; emu_space_after(the.space, at, &r); at = r.hi) {
        const struct allocation *a = r.owner;
        if (!a)
            continue;                          /* of parameters */
        put_u8(to, 1);
        put_u64(to, r.lo);
        put_u64(to, r.hi);
        put_text(to, r.what);
        put_u8(to, (uint8_t)a->kind);
        put_u32(to, a->flags);
        put_u64(to, a->block);
        put_u64(to, a->block_bytes);
        put_u64(to, a->context ? a->context->id : 0);
        put_u32(to, a->device ? (uint32_t)a->device->ordinal : 0);
    }
    put_u8(to, 0);
    block_save(to);
    params_save(to);
}

enum { RUN_MAX = 1 << 20 };

static void put_run(struct sink *to, uint64_t at, uint64_t end)
{
    if (at == end)
        return;
    put_u64(to, at);
    put_u64(to, end - at);
    put(to, (const void *)(uintptr_t)at, end - at);
}

static void put_contents(struct sink *to, struct pages *pages, uint64_t lo, uint64_t hi)
{
    uint64_t run = lo;
    for (uint64_t at = lo, next; at < hi && !to->failed; at = next) {
        next = (at / PAGE_BYTES + 1) * PAGE_BYTES < hi ? (at / PAGE_BYTES + 1) * PAGE_BYTES : hi;
        bool nothing = pages_are_zero(pages, at, next);
        if (!nothing && next - run < RUN_MAX)
            continue;
        put_run(to, run, nothing ? at : next);
        run = next;
    }
    put_run(to, run, hi);
}

static void put_memory(struct sink *to)
{
    static struct pages pages;
    struct emu_range r;
    pages_open(&pages);
    for (uint64_t at = 0; emu_space_after(the.space, at, &r) && !to->failed; at = r.hi)
        put_contents(to, &pages, r.lo, r.hi);
    put_u64(to, 0);
    pages_close(&pages);
}

/* ---- launches ---- */

static launch_list found;

static void find_launch(void *unused, struct op *op)
{
    (void)unused;
    if (op->kind == OP_LAUNCH)
        (void)vec_push(&found, op);
}

static int by_seq(const void *a, const void *b)
{
    const struct op *x = *(struct op *const *)a, *y = *(struct op *const *)b;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static uint32_t module_number(const module_list *modules, const struct rt_module *m)
{
    uint32_t i = 0;
    while (i < modules->n && modules->at[i] != m)
        i++;
    return i;
}

static struct grid_state grid_now(const struct grid_run *r)
{
    struct grid_state now = {.next = atomic_load(&r->next), .done = atomic_load(&r->done), .thread_insns = atomic_load(&r->thread_insns), .warp_insns = atomic_load(&r->warp_insns),
                             .n_residents = r->residents.n};
    if (sim_on())
        (void)sim_state(r, &now);              /* put_launches has seen that it can be told */
    return now;
}

static void put_launch(struct sink *to, const struct op *op, const module_list *modules)
{
    const struct launch_op *o = &op->u.launch;
    const struct grid_run *r = op->started ? o->run : NULL;
    put_u64(to, op->stream->id);
    put_u32(to, module_number(modules, o->function->module));
    put_u32(to, o->function->index);
    put_text(to, rt_function_name(o->function));
    put(to, o->grid, sizeof o->grid);
    put(to, o->block, sizeof o->block);
    put(to, o->cluster, sizeof o->cluster);
    put_u8(to, o->explicit_cluster);
    put_u8(to, o->cooperative);
    put_u32(to, o->dynamic_shared_bytes);
    put_u32(to, o->param_bytes);
    put_u64(to, o->params);
    put_u8(to, r != NULL);
    if (!r)
        return;
    struct grid_state now = grid_now(r);
    const uint64_t facts[] = {now.next, now.done, now.thread_insns, now.warp_insns, r->clock_from, r->grid_id, r->number, r->workspace_at, now.n_residents};
    put(to, facts, sizeof facts);
}

/* Accesses that a simulated GPU has not performed yet; none of others. */
struct under_way { struct timing_pending *at; size_t n; };

static void put_block(struct sink *to, const struct emu_cta *cta, uint64_t index, int64_t quantum, const struct under_way *u)
{
    uint32_t n = 0;
    put_u64(to, index);
    put_u64(to, (uint64_t)quantum);
    put_u8(to, cta != NULL);
    if (!cta)
        return;
    emu_cta_save(cta, dispatch_worker(), to);
    for (size_t i = 0; i < u->n; i++)
        n += u->at[i].resident == cta;
    put_u32(to, n);
    for (size_t i = 0; i < u->n; i++)
        if (u->at[i].resident == cta)
            emu_pending_save(&u->at[i].access, u->at[i].access.mask, to);
}

static enum status put_blocks(struct sink *to, const struct grid_run *r, struct error *err)
{
    enum { QUANTUM = 1 << 15 };                /* of a block that had none: on the simulated GPU */
    struct under_way u = {0};
    const struct emu_cta *cta;
    enum status st = sim_on() ? timing_gpu_pending(r->context->device->gpu, &u.at, &u.n, err) : ST_OK;
    put_u64(to, r->grid_id);
    for (uint64_t i = 0; st == ST_OK && sim_on() && (cta = sim_resident(r, i)); i++)
        put_block(to, cta, emu_cta_number(cta), QUANTUM, &u);
    for (size_t i = 0; i < r->residents.n; i++)
        put_block(to, r->residents.at[i].cta, r->residents.at[i].index, r->residents.at[i].quantum, &u);
    free(u.at);
    return st;
}

/* The launches that had begun. */
static enum status put_begun(struct hck_writer *w, const module_list *modules, struct error *err)
{
    enum status st = ST_OK;
    size_t n = 0;
    for (size_t i = 0; i < found.n && st == ST_OK; i++)
        if (found.at[i]->started) {
            st = put_blocks(hck_section(w, HCK_BLOCKS), found.at[i]->u.launch.run, err);
            found.at[n++] = found.at[i];
        }
    if (st == ST_OK && n && sim_on() && rt_knobs()->timing)
        st = timing_save(w, &(struct timing_names){found.at, n, modules->at, modules->n}, err);
    return st;
}

/* Under the.lock. */
static enum status put_launches(struct hck_writer *w, const module_list *modules, struct error *err)
{
    found.n = 0;
    queue_each(find_launch, NULL);
    if (found.n)
        qsort(found.at, found.n, sizeof found.at[0], by_seq);
    for (size_t i = 0; i < found.n && sim_on(); i++) {
        struct grid_state now;
        if (found.at[i]->started && !sim_state(found.at[i]->u.launch.run, &now))
            return error_set(err, ST_NOT_READY, "blocks of the checkpoint that this run goes on from still wait for their SM");
    }
    struct sink *to = hck_section(w, HCK_LAUNCHES);
    put_u32(to, (uint32_t)found.n);
    for (size_t i = 0; i < found.n; i++)
        put_launch(to, found.at[i], modules);
    enum status st = put_begun(w, modules, err);
    vec_free(&found);
    return st;
}

/* ---- all of it ---- */

/* What fails in a section the writer knows. */
static enum status put_all(struct hck_writer *w, const char *note, struct error *err)
{
    module_list modules = {0};
    put_about(hck_section(w, HCK_ABOUT), note);
    put_device(hck_section(w, HCK_DEVICE));
    put_ranges(hck_section(w, HCK_RANGES));
    struct sink *to = hck_section(w, HCK_MODULES);
    if (!put_modules(to, &modules))
        to->failed = true;
    enum status st = put_launches(w, &modules, err);
    if (st == ST_OK)
        put_memory(hck_section(w, HCK_MEMORY));
    if (st == ST_OK)
        warm_save(w);
    vec_free(&modules);
    return st;
}

/* Other threads of the program may be loading a module, or wait for us with the.code held. */
static bool lock_code(void)
{
    enum { PATIENCE_S = 2 };
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    return pthread_mutex_timedlock(&the.code, &until) == 0;
}

static enum status write_file(const char *path, const char *note, bool host, struct error *err)
{
    struct hck_writer *w;
    enum status st = hck_create(&w, path, err);
    if (st != ST_OK)
        return st;
    if (!lock_code()) {
        hck_abandon(w);
        return error_set(err, ST_NOT_READY, "no checkpoint: another thread of the program is loading or unloading code");
    }
    pthread_mutex_lock(&the.lock);
    pthread_mutex_lock(&the.memory);
    st = put_all(w, note, err);
    pthread_mutex_unlock(&the.memory);
    pthread_mutex_unlock(&the.lock);
    pthread_mutex_unlock(&the.code);
    if (st == ST_OK && host)
        st = host_save(w, err);
    if (st != ST_OK) {
        hck_abandon(w);
        return st;
    }
    return hck_commit(w, err);                 /* which says what failed */
}

enum status checkpoint_save(const char *path, const char *note, struct error *err)
{
    struct error own;
    if (!err)
        err = &own;
    if (nest_any())
        return error_set(err, ST_NOT_READY, "no checkpoint while kernels run that launched others, or were launched by others");
    bool host = host_mode() == HOST_RECORDED;
    if (host) {
        enum status st = host_stop(err);
        if (st != ST_OK && st != ST_NOT_SUPPORTED)
            return st;
        if (st != ST_OK)
            log_warn("the checkpoint %s holds the device alone: %s", path, err->text);
        host = st == ST_OK;
    }
    enum status st = write_file(path, note, host, err);
    if (host)
        host_let_go();
    return st;
}
