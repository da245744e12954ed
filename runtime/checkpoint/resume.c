/* A checkpoint without its program: this process gets contexts, modules, memory and streams as the file has them, and runs the kernels that were under way. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/host.h"
#include "runtime/checkpoint/restore.h"
#include "runtime/checkpoint/timing.h"
#include "runtime/checkpoint/warm.h"

/* ---- contexts ---- */

static enum status make_contexts(struct hck_reader *r, struct error *err)
{
    struct source *from = hck_find(r, HCK_DEVICE);
    bool primary_taken[MAX_DEVICES] = {false};
    if (!from)
        return error_set(err, ST_INVALID_IMAGE, "the checkpoint has no section \"device\"");
    for (uint32_t n = get_u32(from); n && !from->failed; n--) {
        struct rt_context *c;
        uint64_t id = get_u64(from);
        uint32_t device = get_u32(from);
        struct device_heap h;
        get_nothing(from, RT_LIMITS * sizeof(uint64_t) + 3 * sizeof(uint64_t) + sizeof h.free_head);
        get_nothing(from, get_u64(from));
        if (from->failed)
            break;
        if (device >= MAX_DEVICES || !device_at((int)device))
            return error_set(err, ST_INVALID_DEVICE, "the checkpoint uses device %u, there are %d", device, the.n_devices);
        enum status st = primary_taken[device] ? rt_context_create(&c, (int)device, 0) : rt_primary_retain(&c, (int)device);
        if (st != ST_OK)
            return error_set(err, st, "no host memory for a context of the checkpoint");
        primary_taken[device] = true;
        restore_map_context(id, c);
    }
    return from->failed ? hck_error(r, err) : ST_OK;
}

/* ---- modules ---- */

struct loaded { VEC(struct rt_module *) modules; VEC(struct code *) codes; };

/* The units of a module as the image of a finished link, which is what code_load takes for several texts. */
static enum status get_code(struct source *from, struct code **out, struct error *err)
{
    enum { UNITS_MOST = 1 << 16 };
    char name[96];
    VEC(char) image = {0};
    get_text(from, name, sizeof name);
    uint64_t n = get_below(from, UNITS_MOST), total = 24;
    bool memory = vec_reserve(&image, total);
    for (uint64_t i = 0; i < n && memory && !from->failed; i++) {
        char unit[512];
        get_text(from, unit, sizeof unit);
        uint64_t bytes = get_u64(from);
        if (from->failed || bytes > (uint64_t)1 << 32)
            break;
        memory = vec_reserve(&image, total + bytes + 9);
        if (!memory || !get(from, image.at + total + 8, bytes))
            break;
        memcpy(image.at + total, &bytes, 8);
        image.at[total + 8 + bytes] = 0;
        total += bytes + 9;
    }
    enum status st = memory ? ST_OK : error_set(err, ST_OUT_OF_MEMORY, "no host memory for the code in the checkpoint");
    if (st == ST_OK && from->failed)
        st = error_set(err, ST_INVALID_IMAGE, "the code in the checkpoint makes no sense");
    if (st == ST_OK) {
        memcpy(image.at, "HEDDLELK", 8);
        memcpy(image.at + 8, &total, 8);
        memcpy(image.at + 16, &n, 8);
        st = code_load(out, image.at, total, name, (unsigned)the.devices[0].facts->sm, err);
    }
    vec_free(&image);
    return st;
}

/* What machine code said of a kernel; it lives as long as the process. */
static enum status get_function(struct source *from, struct rt_module *m, struct error *err)
{
    struct cubin_kernel *k = calloc(1, sizeof *k);
    uint32_t index = get_u32(from);
    bool has = get_u8(from);
    if (k)
        *k = (struct cubin_kernel){.registers = get_u32(from), .shared_bytes = get_u64(from), .local_bytes = get_u64(from), .max_threads = get_u32(from)};
    uint32_t dynamic = get_u32(from), carveout = get_u32(from), cluster[3];
    get(from, cluster, sizeof cluster);
    bool non_portable = get_u8(from);
    struct rt_function *f = k && !from->failed && index < m->n_slots ? module_function_at(m, index) : NULL;
    if (!f) {
        free(k);
        return error_set(err, ST_INVALID_IMAGE, "the kernels in the checkpoint make no sense");
    }
    if (has && !f->cubin) {
        k->name = m->code->ptx->functions[index].name;
        f->cubin = k;
    } else {
        free(k);
    }
    enum status st = m->code->ptx->functions[index].is_entry ? function_ready(f, err) : error_set(err, ST_INVALID_IMAGE, "a kernel in the checkpoint is none");
    f->max_dynamic_shared_bytes = dynamic;
    f->carveout = (int)carveout;
    memcpy(f->cluster, cluster, sizeof cluster);
    f->non_portable = non_portable;
    return st;
}

static enum status get_module(struct source *from, struct loaded *in, struct error *err)
{
    uint32_t code = get_below(from, (uint32_t)in->codes.n);
    struct rt_context *c = restore_context(get_u64(from));
    VEC(struct placed_again) where = {0};
    struct rt_module *m = NULL;
    bool memory = true;
    for (uint32_t n = get_u32(from); n && memory && !from->failed; n--) {
        struct placed_again p = {.key = {get_u32(from), get_u32(from)}, .address = get_u64(from)};
        struct emu_range e;
        if (!emu_space_find(the.space, p.address, &e))
            from->failed = true;
        memory = vec_push(&where, p);
    }
    enum status st = !memory ? error_set(err, ST_OUT_OF_MEMORY, "no host memory for a module of the checkpoint")
                     : from->failed || !c ? error_set(err, ST_INVALID_IMAGE, "the modules in the checkpoint make no sense") : ST_OK;
    if (st == ST_OK) {
        pthread_mutex_lock(&the.code);
        st = module_make_again(&m, c, in->codes.at[code], NULL, where.at, where.n, err);
        pthread_mutex_unlock(&the.code);
    }
    if (st == ST_OK && !vec_push(&in->modules, m))
        st = error_set(err, ST_OUT_OF_MEMORY, "no host memory for a module of the checkpoint");
    for (uint32_t n = st == ST_OK ? get_u32(from) : 0; n && st == ST_OK; n--)
        st = get_function(from, m, err);
    vec_free(&where);
    return st;
}

static enum status make_modules(struct hck_reader *r, struct loaded *in, struct error *err)
{
    struct source *from = hck_find(r, HCK_MODULES);
    enum status st = from ? ST_OK : error_set(err, ST_INVALID_IMAGE, "the checkpoint has no section \"modules\"");
    while (st == ST_OK && get_u8(from) == 1) {
        struct code *code = NULL;
        if (get_u8(from)) {
            pthread_mutex_lock(&the.code);
            st = get_code(from, &code, err);
            pthread_mutex_unlock(&the.code);
            if (st == ST_OK && !vec_push(&in->codes, code))
                st = error_set(err, ST_OUT_OF_MEMORY, "no host memory for the code in the checkpoint");
        }
        if (st == ST_OK)
            st = get_module(from, in, err);
    }
    return st == ST_OK && from->failed ? hck_error(r, err) : st;
}

/* ---- launches ---- */

static VEC(struct { uint64_t id; struct rt_stream *stream; }) streams;

static struct rt_stream *stream_for(uint64_t id, struct rt_context *c)
{
    struct rt_stream *s;
    for (size_t i = 0; i < streams.n; i++)
        if (streams.at[i].id == id)
            return streams.at[i].stream;
    if (!vec_reserve(&streams, streams.n + 1) || rt_stream_create(&s, c, RT_STREAM_NON_BLOCKING, 0) != ST_OK)
        return NULL;
    streams.at[streams.n].id = id;
    streams.at[streams.n++].stream = s;
    return s;
}

/* begun: those before it that had begun, to which it is added when it had, too. */
typedef VEC(struct op *) op_list;

static enum status launch(const struct saved_launch *l, const struct loaded *in, const char *path, op_list *begun, struct error *err)
{
    if (l->module >= in->modules.n || l->function >= in->modules.at[l->module]->n_slots)
        return error_set(err, ST_INVALID_IMAGE, "the launch of %s in the checkpoint makes no sense", l->name);
    struct rt_module *m = in->modules.at[l->module];
    struct rt_function *f = module_function_at(m, l->function);
    struct emu_range e;
    struct rt_stream *s = stream_for(l->stream, m->context);
    enum status st = f && s ? function_ready(f, err) : error_set(err, ST_OUT_OF_MEMORY, "no host memory for a launch of the checkpoint");
    if (st == ST_OK && l->param_bytes && (!emu_space_find(the.space, l->params, &e) || l->param_bytes > e.hi - l->params))
        st = error_set(err, ST_INVALID_IMAGE, "the parameters of %s are not in the checkpoint", l->name);
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&the.lock);
    struct op *op = op_new(s, OP_LAUNCH);
    pthread_mutex_unlock(&the.lock);
    if (!op)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for a launch of the checkpoint");
    op->u.launch = (struct launch_op){.function = f, .dynamic_shared_bytes = l->dynamic_shared_bytes, .param_bytes = l->param_bytes, .explicit_cluster = l->explicit_cluster,
                                      .params = l->params, .cooperative = l->cooperative};
    memcpy(op->u.launch.grid, l->grid, sizeof l->grid);
    memcpy(op->u.launch.block, l->block, sizeof l->block);
    memcpy(op->u.launch.cluster, l->cluster, sizeof l->cluster);
    st = l->begun ? restore_grid(op, l, path, begun->n, err) : ST_OK;
    if (st == ST_OK && l->begun && !vec_push(begun, op))
        st = error_set(err, ST_OUT_OF_MEMORY, "no host memory for a launch of the checkpoint");
    pthread_mutex_lock(&the.lock);
    if (st == ST_OK) {
        op->started = l->begun;
        op_push(op);
        if (l->begun)
            queue_resume(op);
    } else {
        op_drop(op);
    }
    pthread_mutex_unlock(&the.lock);
    return st;
}

static enum status launch_all(struct hck_reader *r, const struct loaded *in, const struct checkpoint_resume *q, struct error *err)
{
    struct saved_launch *l;
    size_t n;
    bool timing = false;
    op_list begun = {0};
    enum status st = restore_launches(r, &l, &n, err);
    uint64_t most = q->launches;
    if (most == RESUME_BEGUN) {
        most = 0;
        for (size_t i = 0; i < n; i++)
            most += l[i].begun;
        most = most ? most : 1;
    }
    streams_pause();                           /* all of them are there before the first goes on */
    pthread_mutex_unlock(&the.lock);
    if (st == ST_OK && most)
        st = timing_wanted(r, &timing, err);
    if (st == ST_OK && most && !timing)
        st = warm_restore(r, err);
    for (size_t i = 0; i < n && i < most && st == ST_OK; i++)
        st = launch(&l[i], in, q->path, &begun, err);
    if (st == ST_OK && timing)
        st = timing_load(r, &(struct timing_names){begun.at, begun.n, in->modules.at, in->modules.n}, err);
    vec_free(&begun);
    pthread_mutex_lock(&the.lock);
    streams_resume();
    free(l);
    return st;
}

static enum status finish_all(struct error *err)
{
    enum status st = ST_OK;
    for (struct rt_context *c = the.contexts; c; c = c->next) {
        enum status one = rt_context_synchronize(c);
        st = st == ST_OK ? one : st;
    }
    return st == ST_OK ? ST_OK : error_set(err, st, "the kernel ended with an error: %s", status_text(st));
}

/* ---- dump ---- */

static bool dump_range(const char *folder, const struct emu_range *r, FILE *index)
{
    char path[4400];
    snprintf(path, sizeof path, "%s/0x%" PRIx64 ".bin", folder, r->lo);
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite((const void *)(uintptr_t)r->lo, 1, r->hi - r->lo, f) == r->hi - r->lo;
    ok = f && fclose(f) == 0 && ok;
    return ok && fprintf(index, "0x%" PRIx64 ".bin %" PRIu64 " %s\n", r->lo, r->hi - r->lo, r->what) > 0;
}

static enum status dump_all(const char *folder, struct error *err)
{
    char path[4400];
    struct emu_range r;
    snprintf(path, sizeof path, "%s/index.txt", folder);
    FILE *index = mkdir(folder, 0777) == 0 || errno == EEXIST ? fopen(path, "w") : NULL;
    bool ok = index;
    for (uint64_t at = 0; ok && emu_space_after(the.space, at, &r); at = r.hi)
        if (r.kind != EMU_RANGE_PARAM)
            ok = dump_range(folder, &r, index);
    int e = errno;
    ok = index && fclose(index) == 0 && ok;
    return ok ? ST_OK : error_set(err, ST_OPERATING_SYSTEM, "memory cannot be written into the folder %s: %s", folder, strerror(e));
}

/* ---- all of it ---- */

static enum status resume(struct hck_reader *r, const struct checkpoint_resume *q, struct error *err)
{
    struct loaded in = {0};
    if (hck_head(r)->layout != hck_layout())
        return error_set(err, ST_NOT_SUPPORTED, "%s was written by %s, whose memory is laid out in another way", q->path, hck_head(r)->build);
    enum status st = checkpoint_decode_as(r, err);
    if (st == ST_OK)
        st = rt_start(err);
    if (st == ST_OK)
        st = make_contexts(r, err);
    if (st == ST_OK)
        st = restore_ranges(r, err);
    if (st == ST_OK)
        st = make_modules(r, &in, err);
    if (st == ST_OK)
        st = restore_device(r, err);
    if (st == ST_OK)
        st = restore_memory(r, err);
    if (st == ST_OK)
        st = launch_all(r, &in, q, err);
    if (st == ST_OK)
        st = finish_all(err);
    if (st == ST_OK && q->dump && *q->dump)
        st = dump_all(q->dump, err);
    vec_free(&in.modules);
    vec_free(&in.codes);
    return st;
}

enum status checkpoint_resume(const struct checkpoint_resume *q, struct error *err)
{
    struct hck_reader *r;
    enum status st = hck_open(&r, q->path, err);
    if (st != ST_OK)
        return st;
    summary_subject(q->path);
    st = hck_check(r, err);
    if (st == ST_OK)
        st = resume(r, q, err);
    hck_close(r);
    return st;
}

int cuHeddleResume(const struct checkpoint_resume *q, struct error *err) { return (int)checkpoint_resume(q, err); }
