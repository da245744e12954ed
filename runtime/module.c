/* Code: from any image to a parsed module, to modules of contexts, to functions. Everything here runs under the.code. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/fatbin.h"
#include "runtime/debug/debug.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/nest.h"
#include "runtime/lowering.h"
#include "timing/timing.h"

/* ---- images ----
 * A linked image (rt_link_complete) is our own form: a head, then for each text its size and the text, NUL-terminated. */

static const char link_magic[8] = "HEDDLELK";

struct parts { VEC(struct ptx_module *) at; };

static enum status part_open(struct parts *p, const char *name, const char *text, size_t bytes, struct error *err)
{
    struct ptx_module *m;
    enum status st = ptx_module_open(&m, name, text, bytes, err);
    if (st != ST_OK)
        return st;
    if (vec_push(&p->at, m))
        return ST_OK;
    ptx_module_free(m);
    return error_set(err, ST_OUT_OF_MEMORY, "no host memory for module %s", name);
}

static void parts_free(struct parts *p)
{
    for (size_t i = 0; i < p->at.n; i++)
        ptx_module_free(p->at.at[i]);
    vec_free(&p->at);
}

/* The reader of fat binaries knows what is wrong, not whose it is. */
static enum status name_damage(const char *name, struct error *err)
{
    struct error what = *err;
    error_set(err, what.status, "%s: %.1000s", name, what.text);
    error_hint(err, "the file is incomplete or was changed: build or copy it again;  heddle info PROGRAM  lists what is readable");
    return what.status;
}

static enum status part_unpack(struct parts *p, const struct fatbin_pick *pick, const char *name, struct error *err)
{
    struct fatbin_blob blob;
    enum status st = fatbin_unpack(&pick->ptx, &blob, err);
    if (st != ST_OK)
        return name_damage(name, err);
    const struct fatbin_entry *e = &pick->ptx;
    char full[160];
    snprintf(full, sizeof full, "%s (%.*s%ssm_%u%.1s)", name, (int)e->name_bytes, e->name_bytes ? e->name : "", e->name_bytes ? ", " : "", e->arch, &e->suffix);
    st = part_open(p, full, blob.data, blob.bytes, err);
    fatbin_blob_free(&blob);
    return st;
}

/* Register counts are a convenience: a damaged cubin costs them, nothing else. */
static void cubin_take(struct code *c, const struct fatbin_pick *pick)
{
    struct fatbin_blob blob;
    if (c->has_cubin || !pick->has_cubin || fatbin_unpack(&pick->cubin, &blob, NULL) != ST_OK)
        return;
    c->has_cubin = cubin_read(&c->cubin, blob.data, blob.bytes, NULL) == ST_OK;
    fatbin_blob_free(&blob);
}

/* PyTorch is not rebuilt as easily as a program. */
static enum status no_ptx(const struct code *c, const struct fatbin_pick *pick, unsigned gpu, struct error *err)
{
    enum status st = fatbin_no_ptx(pick, c->name, gpu, err);
    char *hint = err && strstr(c->name, " of libtorch") ? strstr(err->text, "\nhint: ") : NULL;
    if (hint) {
        *hint = 0;
        error_hint(err, "`heddle python` computes PyTorch's own operations on the host, and runs what torch.compile makes; in a build of PyTorch with TORCH_CUDA_ARCH_LIST=%u.%u+PTX they run here",
                   gpu / 10, gpu % 10);
    }
    return st;
}

static enum status load_header(struct code *c, struct parts *p, const void *header, size_t bytes, unsigned gpu, struct error *err)
{
    struct fatbin_pick pick;
    enum status st = fatbin_pick(&pick, header, bytes, gpu, err);
    if (st != ST_OK)
        return name_damage(c->name, err);
    if (!pick.has_ptx)
        return no_ptx(c, &pick, gpu, err);
    cubin_take(c, &pick);
    return part_unpack(p, &pick, c->name, err);
}

/* A device-link stub or a unit without device code has no entries: nothing to add. */
static enum status load_units(struct code *c, struct parts *p, const void *wrapper, unsigned gpu, struct error *err)
{
    struct fatbin_pick pick;
    const void *linked = fatbin_wrapper_data(wrapper), *unit;
    if (linked && fatbin_pick(&pick, linked, FATBIN_TRUSTED, gpu, NULL) == ST_OK)
        cubin_take(c, &pick);
    for (size_t i = 0; (unit = fatbin_wrapper_unit(wrapper, i)); i++) {
        enum status st = fatbin_pick(&pick, unit, FATBIN_TRUSTED, gpu, err);
        if (st != ST_OK)
            st = name_damage(c->name, err);
        else if (pick.has_ptx)
            st = part_unpack(p, &pick, c->name, err);
        else if (*pick.seen)
            st = no_ptx(c, &pick, gpu, err);
        if (st != ST_OK)
            return st;
    }
    return p->at.n ? ST_OK : error_set(err, ST_INVALID_IMAGE, "%s holds no device code", c->name);
}

static enum status load_cubin(struct code *c, const void *image, size_t bytes, unsigned gpu, struct error *err)
{
    struct cubin cubin;
    enum status st = cubin_read(&cubin, image, bytes ? bytes : cubin_bytes(image), err);
    if (st != ST_OK)
        return st;
    unsigned arch = cubin.arch;
    cubin_free(&cubin);
    error_set(err, ST_NO_BINARY_FOR_GPU, "%s is a cubin for sm_%u, which holds no PTX; Heddle executes PTX, not machine code", c->name, arch);
    error_hint(err, "a file from nvcc: build it with -ptx or -fatbin instead of -cubin; NVRTC: compile for --gpu-architecture=compute_%u and load what "
               "nvrtcGetPTX gives", arch < gpu ? arch : gpu);
    return ST_NO_BINARY_FOR_GPU;
}

static enum status load_linked(struct code *c, struct parts *p, const char *image, size_t bytes, struct error *err)
{
    uint64_t total, n;
    memcpy(&total, image + 8, 8);
    memcpy(&n, image + 16, 8);
    if (bytes && bytes < total)
        return error_set(err, ST_INVALID_IMAGE, "%s: a linked image of %llu bytes, %zu are there", c->name, (unsigned long long)total, bytes);
    const char *at = image + 24, *end = image + total;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t size;
        if ((size_t)(end - at) < 8)
            return error_set(err, ST_INVALID_IMAGE, "%s: a damaged linked image", c->name);
        memcpy(&size, at, 8);
        at += 8;
        if (size >= (size_t)(end - at))
            return error_set(err, ST_INVALID_IMAGE, "%s: a damaged linked image", c->name);
        enum status st = part_open(p, c->name, at, size, err);
        if (st != ST_OK)
            return st;
        at += size + 1;
    }
    return n ? ST_OK : error_set(err, ST_INVALID_IMAGE, "%s: an empty linked image", c->name);
}

static enum status load_parts(struct code *c, struct parts *p, const void *image, size_t bytes, unsigned gpu, struct error *err)
{
    if ((!bytes || bytes >= 24) && strncmp(image, link_magic, sizeof link_magic) == 0)
        return load_linked(c, p, image, bytes, err);
    switch (fatbin_kind_of(image)) {
    case FATBIN_IMAGE_WRAPPER:
        if (fatbin_wrapper_is_linked(image))
            return load_units(c, p, image, gpu, err);
        if (!fatbin_wrapper_data(image))
            return error_set(err, ST_INVALID_IMAGE, "%s: a fatbin wrapper without data", c->name);
        return load_header(c, p, fatbin_wrapper_data(image), FATBIN_TRUSTED, gpu, err);
    case FATBIN_IMAGE_HEADER:
        return load_header(c, p, image, bytes ? bytes : FATBIN_TRUSTED, gpu, err);
    case FATBIN_IMAGE_ELF:
        return load_cubin(c, image, bytes, gpu, err);
    case FATBIN_IMAGE_PTX:
        return part_open(p, c->name, image, bytes ? strnlen(image, bytes) : strlen(image), err);
    case FATBIN_IMAGE_UNKNOWN:
        break;
    }
    return error_set(err, ST_INVALID_IMAGE, "%s is neither PTX, a fatbin nor a cubin", c->name);
}

static void warn_newer(const struct code *c, unsigned gpu)
{
    static bool once;
    if (c->ptx->target_sm > gpu && !c->has_cubin && log_first(&once))      /* with a cubin for this GPU a real one would not look at the PTX */
        log_warn("%s is PTX for sm_%u; the GPU is sm_%u and runs it all the same (a real one would refuse)", c->name, c->ptx->target_sm, gpu);
}

/* A real driver compiles at load, and a program expects a bad PTX text to be refused then. Up to this many bytes parsing everything costs
 * a few milliseconds; the tens of megabytes of NVIDIA's libraries are parsed function by function, when one is used. */
enum { EAGER_TEXT_BYTES = 1 << 20 };

static enum status parse_bodies(struct ptx_module *m, struct error *err)
{
    for (uint32_t i = 0; i < m->n_functions && m->text_bytes <= EAGER_TEXT_BYTES; i++) {
        enum status st = m->functions[i].has_body ? ptx_function_body(m, i, err) : ST_OK;
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

/* The file that an image is part of: the program, or a library of it. */
static const char *file_of(const void *image)
{
    Dl_info in;
    const char *slash = dladdr(image, &in) && in.dli_fname ? strrchr(in.dli_fname, '/') : NULL;
    return slash ? slash + 1 : program_invocation_short_name;
}

enum status code_load(struct code **out, const void *image, size_t bytes, const char *name, unsigned gpu, struct error *err)
{
    *out = NULL;
    struct code *c = calloc(1, sizeof *c);
    if (!c)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for a module");
    static unsigned count;
    if (name)
        snprintf(c->name, sizeof c->name, "%s", name);
    else
        snprintf(c->name, sizeof c->name, "module %u of %.64s", ++count, file_of(image));
    struct parts parts = {0};
    enum status st = load_parts(c, &parts, image, bytes, gpu, err);
    if (st == ST_OK && parts.at.n == 1) {
        c->ptx = parts.at.at[0];
        parts.at.n = 0;
    } else if (st == ST_OK) {
        st = ptx_link(&c->ptx, c->name, parts.at.at, parts.at.n, err);
    }
    parts_free(&parts);
    c->refs = 1;
    if (st == ST_OK)
        st = parse_bodies(c->ptx, err);
    if (st != ST_OK) {
        code_unref(c);
        return st;
    }
    warn_newer(c, gpu);
    *out = c;
    return ST_OK;
}

void code_unref(struct code *c)
{
    if (--c->refs)
        return;
    if (c->ptx)
        timing_forget(c->ptx);
    lowering_forget(c->ptx);
    ptx_module_free(c->ptx);
    if (c->has_cubin)
        cubin_free(&c->cubin);
    free(c);
}

/* ---- modules ---- */

struct variable_key module_variable_key(const struct ptx_module *m, const struct ptx_var *v)
{
    for (uint32_t f = 0; f < m->n_functions; f++)
        if (m->functions[f].vars && v >= m->functions[f].vars && v < m->functions[f].vars + m->functions[f].n_vars)
            return (struct variable_key){f, (uint32_t)(v - m->functions[f].vars)};
    return (struct variable_key){UINT32_MAX, (uint32_t)(v - m->vars)};
}

static enum status place_new(struct rt_module *m, const struct ptx_var *v, uint64_t *address, struct error *err)
{
    if (v->managed && m->library)
        return library_place(m->library, m->context, v, address, err);
    char what[64];
    snprintf(what, sizeof what, "%s variable %s", v->managed ? "managed" : v->space == PTX_SPACE_CONST ? "constant" : "device", v->name);
    struct allocation *a;
    struct allocation_request q = {.context = m->context, .device = m->context->device, .kind = v->managed ? RT_MEMORY_MANAGED : RT_MEMORY_VARIABLE,
                                   .bytes = v->bytes, .flags = 1 /* attached to all streams */, .what = what};
    enum status st = allocation_make(&a, &q, err);
    if (st != ST_OK)
        return st;
    if (!vec_push(&m->variables, a)) {
        allocation_drop(a);
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for variable %s", v->name);
    }
    *address = a->base;
    return ST_OK;
}

/* Where it was when the module was saved. */
static enum status place_again(const struct rt_module *m, const struct ptx_var *v, uint64_t *address, struct error *err)
{
    struct variable_key k = module_variable_key(m->code->ptx, v);
    for (size_t i = 0; i < m->again.n; i++)
        if (m->again.at[i].key.function == k.function && m->again.at[i].key.index == k.index) {
            *address = m->again.at[i].address;
            return ST_OK;
        }
    return error_set(err, ST_NOT_FOUND, "variable %s of %s is not in the checkpoint", v->name, m->code->name);
}

static enum status place(void *user, const struct ptx_var *v, uint64_t *address, struct error *err)
{
    struct rt_module *m = user;
    enum status st = m->again.n ? place_again(m, v, address, err) : place_new(m, v, address, err);
    if (st == ST_OK)
        (void)vec_push(&m->placed, ((struct placed){v, *address}));    /* without memory for it, the kernel cannot be resumed alone: the restore says so */
    return st;
}

static void module_free(struct rt_module *m)
{
    if (debug_on())
        debug_module_gone(m);
    texref_forget_module(m);
    for (size_t i = 0; i < m->n_slots; i++)
        if (m->slots[i])
            object_free(m->slots[i]);
    free(m->slots);
    emu_image_free(m->image);
    for (size_t i = 0; i < m->variables.n; i++)
        allocation_drop(m->variables.at[i]);
    vec_free(&m->variables);
    vec_free(&m->placed);
    vec_free(&m->again);
    code_unref(m->code);
    object_free(m);
}

enum status module_make(struct rt_module **out, struct rt_context *c, struct code *code, struct rt_library *l, struct error *err)
{
    return module_make_again(out, c, code, l, NULL, 0, err);
}

enum status module_make_again(struct rt_module **out, struct rt_context *c, struct code *code, struct rt_library *l, const struct placed_again *where, size_t n, struct error *err)
{
    *out = NULL;
    struct rt_module *m = object_new(RT_MODULE);
    if (!m)
        return error_set(err, ST_OUT_OF_MEMORY, "no memory for a module");
    m->context = c;
    m->library = l;
    m->code = code;
    code->refs++;
    m->n_slots = code->ptx->n_functions;
    m->slots = calloc(m->n_slots + 1, sizeof *m->slots);
    bool memory = m->slots && (!n || vec_reserve(&m->again, n));
    for (size_t i = 0; i < n && memory; i++)
        m->again.at[m->again.n++] = where[i];
    enum status st = memory ? emu_image_create(&m->image, code->ptx, the.space, place, m, err)
                              : error_set(err, ST_OUT_OF_MEMORY, "no host memory for a module");
    if (st != ST_OK) {
        m->image = NULL;
        module_free(m);
        return st;
    }
    emu_image_externs(m->image, plugins_find, NULL);
    emu_image_late(m->image);                  /* also where nothing is late: a checkpoint may go on on a simulated GPU, where registers must have the same rows */
    if (checkpoint_whole_rows(debug_on()))
        emu_image_tune(m->image, true, true);
    m->next = c->modules;
    if (c->modules)
        c->modules->prev = m;
    c->modules = m;
    *out = m;
    nest_module(m);
    if (debug_on())
        debug_module(m);
    return ST_OK;
}

static void module_unlink_free(struct rt_module *m)
{
    if (m->next)
        m->next->prev = m->prev;
    if (m->prev)
        m->prev->next = m->next;
    else
        m->context->modules = m->next;
    module_free(m);
}

void context_free_modules(struct rt_context *c)
{
    while (c->modules)
        module_unlink_free(c->modules);
}

enum status rt_module_load(struct rt_module **out, struct rt_context *c, const void *image, size_t bytes, const char *name, struct error *err)
{
    *out = NULL;
    enum status st = context_status(c);
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&the.code);
    struct code *code;
    st = code_load(&code, image, bytes, name, (unsigned)c->device->facts->sm, err);
    if (st == ST_OK) {
        st = module_make(out, c, code, NULL, err);
        code_unref(code);
    }
    pthread_mutex_unlock(&the.code);
    return st;
}

void module_unload(struct rt_module *m)
{
    pthread_mutex_lock(&the.lock);
    context_wind_up(m->context);
    pthread_mutex_unlock(&the.lock);
    module_unlink_free(m);
}

enum status rt_module_unload(struct rt_module *m)
{
    if (m->library)
        return ST_INVALID_HANDLE;
    pthread_mutex_lock(&the.code);
    module_unload(m);
    pthread_mutex_unlock(&the.code);
    return ST_OK;
}

/* ---- functions ---- */

/* Under the.code. */
struct rt_function *module_function_at(struct rt_module *m, uint32_t index)
{
    const struct ptx_module *ptx = m->code->ptx;
    struct rt_function *f = m->slots[index];
    if (f)
        return f;
    f = m->slots[index] = object_new(RT_FUNCTION);
    if (!f)
        return NULL;
    f->module = m;
    f->index = index;
    f->carveout = -1;
    f->cubin = m->code->has_cubin ? cubin_find(&m->code->cubin, ptx->functions[index].name) : NULL;
    return f;
}

static bool is_kernel(const struct ptx_function *f) { return f->is_entry && f->has_body; }

enum status rt_module_function(struct rt_function **out, struct rt_module *m, const char *name, struct error *err)
{
    *out = NULL;
    pthread_mutex_lock(&the.code);
    int32_t index = ptx_function_find(m->code->ptx, name);
    if (index >= 0 && is_kernel(&m->code->ptx->functions[index]))
        *out = module_function_at(m, (uint32_t)index);
    pthread_mutex_unlock(&the.code);
    if (*out)
        return ST_OK;
    return error_set(err, ST_NOT_FOUND, "%s has no kernel named %s", m->code->name, name);
}

size_t rt_module_functions(struct rt_module *m, struct rt_function **out, size_t n)
{
    size_t count = 0;
    pthread_mutex_lock(&the.code);
    for (uint32_t i = 0; i < m->n_slots; i++)
        if (is_kernel(&m->code->ptx->functions[i])) {
            if (count < n)
                out[count] = module_function_at(m, i);
            count++;
        }
    pthread_mutex_unlock(&the.code);
    return count;
}

enum status rt_module_global(struct rt_module *m, const char *name, uint64_t *address, uint64_t *bytes, struct error *err)
{
    if (emu_image_symbol(m->image, name, address, bytes))
        return ST_OK;
    return error_set(err, ST_NOT_FOUND, "%s has no variable named %s", m->code->name, name);
}

struct rt_module *rt_function_module(const struct rt_function *f) { return f->module; }
struct rt_context *rt_function_context(const struct rt_function *f) { return f->module->context; }
const char *rt_function_name(const struct rt_function *f) { return f->module->code->ptx->functions[f->index].name; }

/* ---- linking at run time ---- */

struct rt_link {
    struct object object;
    unsigned sm;                               /* of the GPU, for the choice among a fat binary's texts */
    VEC(char) image;
    uint64_t n;
};

enum status rt_link_create(struct rt_link **out, struct rt_context *c)
{
    *out = object_new(RT_LINK);
    if (!*out)
        return ST_OUT_OF_MEMORY;
    (*out)->sm = (unsigned)(c ? c->device->facts : rt_gpu_find(rt_knobs()->gpu))->sm;
    return ST_OK;
}

static bool append(struct rt_link *l, const void *p, size_t n)
{
    if (!vec_reserve(&l->image, l->image.n + n))
        return false;
    memcpy(l->image.at + l->image.n, p, n);
    l->image.n += n;
    return true;
}

static bool append_module(struct rt_link *l, const struct ptx_module *m)
{
    uint64_t size = m->text_bytes;
    l->n++;
    return append(l, &size, 8) && append(l, m->text, size) && append(l, "", 1);
}

enum status rt_link_add(struct rt_link *l, const void *image, size_t bytes, const char *name, struct error *err)
{
    struct code c = {0};
    snprintf(c.name, sizeof c.name, "%s", name ? name : "link input");
    struct parts parts = {0};
    bool ok = l->image.n || append(l, "HEDDLELK\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
    pthread_mutex_lock(&the.code);
    enum status st = ok ? load_parts(&c, &parts, image, bytes, l->sm, err) : ST_OUT_OF_MEMORY;
    for (size_t i = 0; i < parts.at.n && st == ST_OK; i++)
        if (!append_module(l, parts.at.at[i]))
            st = error_set(err, ST_OUT_OF_MEMORY, "no host memory for link input %s", c.name);
    parts_free(&parts);
    if (c.has_cubin)
        cubin_free(&c.cubin);
    pthread_mutex_unlock(&the.code);
    return st;
}

enum status rt_link_complete(struct rt_link *l, void **image, size_t *bytes, struct error *err)
{
    if (!l->n)
        return error_set(err, ST_INVALID_VALUE, "nothing to link");
    uint64_t total = l->image.n;
    memcpy(l->image.at + 8, &total, 8);
    memcpy(l->image.at + 16, &l->n, 8);
    pthread_mutex_lock(&the.code);
    struct code *trial;                        /* so that what cannot be linked is known now */
    enum status st = code_load(&trial, l->image.at, total, "linked module", l->sm, err);
    if (st == ST_OK)
        code_unref(trial);
    pthread_mutex_unlock(&the.code);
    *image = l->image.at;
    *bytes = total;
    return st;
}

enum status rt_link_destroy(struct rt_link *l)
{
    vec_free(&l->image);
    object_free(l);
    return ST_OK;
}
