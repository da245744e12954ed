/* Modules, libraries, and linking at run time: where code comes from. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/api.h"
#include "runtime/base/log.h"
#include "runtime/base/map.h"

/* ---- modules ---- */

enum status api_read_file(const char *path, void **data, size_t *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ST_FILE_NOT_FOUND;
    struct stat s;
    enum status st = ST_FILE_NOT_FOUND;
    char *p = NULL;
    size_t n = 0;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && (p = malloc((size_t)s.st_size + 1))) {
        ssize_t k;
        while (n < (size_t)s.st_size && (k = read(fd, p + n, (size_t)s.st_size - n)) > 0)
            n += (size_t)k;
        p[n] = 0;
        st = ST_OK;
    }
    close(fd);
    *data = p;
    *bytes = n;
    return st;
}

static enum status load(CUmodule *module, const void *image, size_t bytes, const char *name)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (!module || !image)
        return ST_INVALID_VALUE;
    struct error err = {0};
    return api_report(rt_module_load(module, c, image, bytes, name, &err), &err);
}

enum status cu_module_load(CUmodule *module, const char *fname)
{
    if (!fname)
        return ST_INVALID_VALUE;
    void *image;
    size_t bytes;
    enum status st = api_read_file(fname, &image, &bytes);
    if (st != ST_OK)
        return st;
    st = load(module, image, bytes, fname);
    free(image);
    return st;
}

enum status cu_module_load_data(CUmodule *module, const void *image) { return load(module, image, 0, NULL); }
enum status cu_module_load_fat_binary(CUmodule *module, const void *fat_cubin) { return load(module, fat_cubin, 0, NULL); }

/* CUjit_option: those that return something. The compiler's log goes into the caller's buffers. */
enum { JIT_WALL_TIME = 2, JIT_INFO_LOG = 3, JIT_INFO_LOG_BYTES = 4, JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6 };
struct jit_log { char *info, *error; size_t info_room, error_room; void **info_size, **error_size; bool failed; };

static enum status jit_options(unsigned n, const int *options, void **values, struct jit_log *log)
{
    *log = (struct jit_log){0};
    if (n && (!options || !values))
        return ST_INVALID_VALUE;
    for (unsigned i = 0; i < n; i++)
        switch (options[i]) {
        case JIT_WALL_TIME: memset(&values[i], 0, sizeof(float)); break;
        case JIT_INFO_LOG: log->info = values[i]; break;
        case JIT_INFO_LOG_BYTES: log->info_size = &values[i]; log->info_room = (uint32_t)(uintptr_t)values[i]; break;
        case JIT_ERROR_LOG: log->error = values[i]; break;
        case JIT_ERROR_LOG_BYTES: log->error_size = &values[i]; log->error_room = (uint32_t)(uintptr_t)values[i]; break;
        default: break;                        /* optimisation levels and the like */
        }
    return ST_OK;
}

static void put_log(char *buf, size_t room, void **size, const char *text)
{
    size_t n = 0;
    if (buf && room) {
        n = strnlen(text, room - 1);
        memcpy(buf, text, n);
        buf[n] = 0;
    }
    if (size)
        *size = (void *)(uintptr_t)n;
}

static void jit_done(const struct jit_log *log, const struct error *err)
{
    put_log(log->info, log->info_room, log->info_size, "");
    put_log(log->error, log->error_room, log->error_size, err->text);
}

enum status cu_module_load_data_ex(CUmodule *module, const void *image, unsigned num_options, int *options, void **option_values)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    struct jit_log log;
    if (!module || !image || jit_options(num_options, options, option_values, &log) != ST_OK)
        return ST_INVALID_VALUE;
    struct error err = {0};
    st = api_report(rt_module_load(module, c, image, 0, NULL, &err), &err);
    jit_done(&log, &err);
    return st;
}

enum status cu_module_unload(CUmodule module)
{
    enum status st = api_check(module, RT_MODULE);
    return st == ST_OK ? rt_module_unload(module) : st;
}

enum status cu_module_get_function(CUfunction *func, CUmodule module, const char *name)
{
    enum status st = api_check(module, RT_MODULE);
    if (st != ST_OK)
        return st;
    if (!func || !name)
        return ST_INVALID_VALUE;
    struct error err = {0};
    st = rt_module_function(func, module, name, &err);
    return st == ST_NOT_FOUND ? st : api_report(st, &err);       /* programs probe for names */
}

enum status cu_module_get_global(CUdeviceptr *out, size_t *bytes, CUmodule module, const char *name)
{
    enum status st = api_check(module, RT_MODULE);
    if (st != ST_OK)
        return st;
    if (!name || (!out && !bytes))
        return ST_INVALID_VALUE;
    uint64_t address, size;
    struct error err = {0};
    st = rt_module_global(module, name, &address, &size, &err);
    if (st != ST_OK)
        return st == ST_NOT_FOUND ? st : api_report(st, &err);
    if (out)
        *out = address;
    if (bytes)
        *bytes = size;
    return ST_OK;
}

enum status cu_module_get_loading_mode(int *mode)
{
    enum { EAGER = 1, LAZY = 2 };
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    if (!mode)
        return ST_INVALID_VALUE;
    const char *wish = getenv("CUDA_MODULE_LOADING");
    *mode = wish && strcmp(wish, "EAGER") == 0 ? EAGER : LAZY;
    return ST_OK;
}

enum status cu_module_get_function_count(unsigned *count, CUmodule module)
{
    enum status st = api_check(module, RT_MODULE);
    if (st != ST_OK)
        return st;
    if (!count)
        return ST_INVALID_VALUE;
    *count = (unsigned)rt_module_functions(module, NULL, 0);
    return ST_OK;
}

enum status cu_module_enumerate_functions(CUfunction *functions, unsigned num_functions, CUmodule module)
{
    enum status st = api_check(module, RT_MODULE);
    if (st != ST_OK)
        return st;
    if (!functions || !num_functions)
        return ST_INVALID_VALUE;
    rt_module_functions(module, functions, num_functions);
    return ST_OK;
}

/* ---- libraries ---- */

static enum status load_library(CUlibrary *library, const void *code, size_t bytes, const char *name, int *jit, void **jit_values, unsigned n_jit,
                                const int *options, void **option_values, unsigned n_options)
{
    enum { HOST_TABLE = 0, BINARY_IS_PRESERVED = 1 };
    if (!rt_started())
        return ST_NOT_INITIALIZED;
    struct jit_log log;
    if (!library || !code || (n_options && !options) || jit_options(n_jit, jit, jit_values, &log) != ST_OK)
        return ST_INVALID_VALUE;
    (void)option_values;
    for (unsigned i = 0; i < n_options; i++)
        if (options[i] != HOST_TABLE && options[i] != BINARY_IS_PRESERVED)
            return ST_INVALID_VALUE;
    struct error err = {0};
    enum status st = rt_library_load(library, code, bytes, name, &err);
    if (st == ST_NO_BINARY_FOR_GPU && api_caller_sm())
        log_info("%s", err.text);              /* libraries try kernels for GPUs that this one is not, and do without */
    else
        st = api_report(st, &err);
    jit_done(&log, &err);
    return st;
}

enum status cu_library_load_data(CUlibrary *library, const void *code, int *jit_options_, void **jit_options_values, unsigned num_jit_options,
                                 int *library_options, void **library_option_values, unsigned num_library_options)
{
    return load_library(library, code, 0, NULL, jit_options_, jit_options_values, num_jit_options, library_options, library_option_values,
                        num_library_options);
}

enum status cu_library_load_from_file(CUlibrary *library, const char *file_name, int *jit_options_, void **jit_options_values, unsigned num_jit_options,
                                      int *library_options, void **library_option_values, unsigned num_library_options)
{
    if (!file_name)
        return ST_INVALID_VALUE;
    void *image;
    size_t bytes;
    enum status st = api_read_file(file_name, &image, &bytes);
    if (st != ST_OK)
        return st;
    st = load_library(library, image, bytes, file_name, jit_options_, jit_options_values, num_jit_options, library_options, library_option_values,
                      num_library_options);
    free(image);
    return st;
}

enum status cu_library_unload(CUlibrary library)
{
    enum status st = api_check(library, RT_LIBRARY);
    return st == ST_OK ? rt_library_unload(library) : st;
}

enum status cu_library_get_kernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    enum status st = api_check(library, RT_LIBRARY);
    if (st != ST_OK)
        return st;
    if (!kernel || !name)
        return ST_INVALID_VALUE;
    struct error err = {0};
    st = rt_library_kernel(kernel, library, name, &err);
    return st == ST_NOT_FOUND ? st : api_report(st, &err);
}

enum status cu_library_get_module(CUmodule *module, CUlibrary library)
{
    enum status st = api_check(library, RT_LIBRARY);
    struct rt_context *c;
    if (st == ST_OK)
        st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (!module)
        return ST_INVALID_VALUE;
    struct error err = {0};
    return api_report(rt_library_module(module, library, c, &err), &err);
}

static enum status give(enum status st, uint64_t address, uint64_t size, CUdeviceptr *out, size_t *bytes, const struct error *err)
{
    if (st != ST_OK)
        return st == ST_NOT_FOUND ? st : api_report(st, err);
    if (out)
        *out = address;
    if (bytes)
        *bytes = size;
    return ST_OK;
}

enum status cu_library_get_global(CUdeviceptr *out, size_t *bytes, CUlibrary library, const char *name)
{
    enum status st = api_check(library, RT_LIBRARY);
    struct rt_context *c;
    if (st == ST_OK)
        st = api_context(&c);
    if (st != ST_OK)
        return st;
    if (!name || (!out && !bytes))
        return ST_INVALID_VALUE;
    uint64_t address = 0, size = 0;
    struct error err = {0};
    st = rt_library_global(library, c, name, &address, &size, &err);
    return give(st, address, size, out, bytes, &err);
}

/* Needs no context: programs ask before they have one. */
enum status cu_library_get_managed(CUdeviceptr *out, size_t *bytes, CUlibrary library, const char *name)
{
    enum status st = api_check(library, RT_LIBRARY);
    if (st != ST_OK)
        return st;
    if (!name || (!out && !bytes))
        return ST_INVALID_VALUE;
    uint64_t address = 0, size = 0;
    struct error err = {0};
    st = rt_library_managed(library, name, &address, &size, &err);
    return give(st, address, size, out, bytes, &err);
}

enum status cu_library_get_unified_function(void **fptr, CUlibrary library, const char *symbol)
{
    enum status st = api_check(library, RT_LIBRARY);
    return st != ST_OK ? st : fptr && symbol ? ST_NOT_FOUND : ST_INVALID_VALUE;    /* host code in fat binaries: none has it */
}

enum status cu_library_get_kernel_count(unsigned *count, CUlibrary library)
{
    enum status st = api_check(library, RT_LIBRARY);
    if (st != ST_OK)
        return st;
    if (!count)
        return ST_INVALID_VALUE;
    *count = (unsigned)rt_library_kernels(library, NULL, 0);
    return ST_OK;
}

enum status cu_library_enumerate_kernels(CUkernel *kernels, unsigned num_kernels, CUlibrary library)
{
    enum status st = api_check(library, RT_LIBRARY);
    if (st != ST_OK)
        return st;
    if (!kernels || !num_kernels)
        return ST_INVALID_VALUE;
    rt_library_kernels(library, kernels, num_kernels);
    return ST_OK;
}

/* ---- linking ---- */

/* Where each link's log goes: the buffers that cuLinkCreate was given, which are the link's until it is destroyed. */
static struct map link_logs;                   /* CUlinkState -> struct jit_log */
static pthread_mutex_t link_lock = PTHREAD_MUTEX_INITIALIZER;

/* The first failure is the one to tell: what fails behind it follows from it. */
static void link_done(CUlinkState state, const struct error *err)
{
    uintptr_t at;
    pthread_mutex_lock(&link_lock);
    struct jit_log *log = map_get_int(&link_logs, (uintptr_t)state, &at) ? (struct jit_log *)at : NULL;
    if (log && !log->failed) {
        jit_done(log, err);
        log->failed = err->text[0] != 0;
    }
    pthread_mutex_unlock(&link_lock);
}

static enum status remember_log(CUlinkState state, const struct jit_log *log)
{
    struct jit_log *kept = malloc(sizeof *kept);
    if (!kept)
        return ST_OUT_OF_MEMORY;
    *kept = *log;
    pthread_mutex_lock(&link_lock);
    bool ok = map_put_int(&link_logs, (uintptr_t)state, (uintptr_t)kept);
    pthread_mutex_unlock(&link_lock);
    if (!ok)
        free(kept);
    return ok ? ST_OK : ST_OUT_OF_MEMORY;
}

static void forget_log(CUlinkState state)
{
    uintptr_t log;
    pthread_mutex_lock(&link_lock);
    if (map_get_int(&link_logs, (uintptr_t)state, &log) && map_del_int(&link_logs, (uintptr_t)state))
        free((void *)log);
    pthread_mutex_unlock(&link_lock);
}

enum status cu_link_create(unsigned num_options, int *options, void **option_values, CUlinkState *state_out)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st != ST_OK)
        return st;
    struct jit_log log;
    if (!state_out || jit_options(num_options, options, option_values, &log) != ST_OK)
        return ST_INVALID_VALUE;
    st = rt_link_create(state_out, c);
    if (st == ST_OK && (st = remember_log(*state_out, &log)) != ST_OK)
        rt_link_destroy(*state_out);
    if (st == ST_OK)
        link_done(*state_out, &(struct error){0});
    return st;
}

/* CUjitInputType: cubin, PTX, fatbin, object, library, NVVM. All but the last are told apart by their contents. */
static bool input_type(int type) { return type >= 0 && type <= 4; }

static enum status link_add(CUlinkState state, const void *data, size_t bytes, const char *name)
{
    struct error err = {0};
    enum status st = api_report(rt_link_add(state, data, bytes, name, &err), &err);
    if (st != ST_OK)
        link_done(state, &err);
    return st;
}

enum status cu_link_add_data(CUlinkState state, int type, void *data, size_t size, const char *name, unsigned num_options, int *options,
                             void **option_values)
{
    enum status st = api_check(state, RT_LINK);
    if (st != ST_OK)
        return st;
    struct jit_log log;
    if (!data || !size || !input_type(type) || jit_options(num_options, options, option_values, &log) != ST_OK)
        return ST_INVALID_VALUE;
    return link_add(state, data, size, name);
}

enum status cu_link_add_file(CUlinkState state, int type, const char *path, unsigned num_options, int *options, void **option_values)
{
    enum status st = api_check(state, RT_LINK);
    if (st != ST_OK)
        return st;
    struct jit_log log;
    if (!path || !input_type(type) || jit_options(num_options, options, option_values, &log) != ST_OK)
        return ST_INVALID_VALUE;
    void *data;
    size_t bytes;
    st = api_read_file(path, &data, &bytes);
    if (st != ST_OK)
        return st;
    st = link_add(state, data, bytes, path);
    free(data);
    return st;
}

enum status cu_link_complete(CUlinkState state, void **cubin_out, size_t *size_out)
{
    enum status st = api_check(state, RT_LINK);
    if (st != ST_OK)
        return st;
    if (!cubin_out)
        return ST_INVALID_VALUE;
    size_t bytes = 0;
    struct error err = {0};
    st = api_report(rt_link_complete(state, cubin_out, &bytes, &err), &err);
    link_done(state, &err);
    if (st == ST_OK && size_out)
        *size_out = bytes;
    return st;
}

enum status cu_link_destroy(CUlinkState state)
{
    enum status st = api_check(state, RT_LINK);
    if (st != ST_OK)
        return st;
    forget_log(state);
    return rt_link_destroy(state);
}
