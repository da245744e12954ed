/* Runs the case files of tests/ptx through the CUDA driver API: on a GPU, or under heddle.
 *   ptx-run [-a] [-v] [-p] [-c TEXT] FILE...
 *     -a       all: a case that the device or the driver is too old for fails instead of being skipped
 *     -v       a line for every case           -p   print the PTX instead of running it
 *     -c TEXT  only cases whose name contains TEXT
 * Prints `ok FILE (cases)`, `not ok FILE:LINE case: what` and `SKIP FILE: why`; the last line is `N passed, N failed, N skipped`.
 *
 * The cases run in a child process. When one ends with an error the device's context is lost, so the child ends too and a new one goes on
 * behind it; the same when a case kills the child or does not end (ALARM seconds). What the children found is in shared memory.
 * The prototypes are declared by hand: the program needs no header of NVIDIA and links libcuda and libc alone. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/ptx/cases.h"
#include "tests/ptx/map.h"

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;

CUresult cuInit(unsigned flags);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDeviceGetName(char *name, int bytes, CUdevice device);
CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device);
CUresult cuDriverGetVersion(int *version);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxSynchronize(void);
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, int *options, void **values);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value);
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared_bytes, CUstream stream, void **params, void **extra);
CUresult cuGetErrorName(CUresult error, const char **text);

enum { ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76, FUNC_MAX_DYNAMIC_SHARED = 8, JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6 };
enum { UNSET = 0xA5, GROUP = 100, ROWS_SHOWN = 4, ALARM = 60 };
enum verdict { PENDING, PASSED, FAILED, SKIPPED };

static struct test *tests;
static size_t n_tests;
static bool all, verbose;
static struct shared {
    size_t running;                    /* the case that the child is at */
    bool ended;                        /* the child went through all cases */
    bool alone[1 << 16];               /* cases that go into a module of their own */
    unsigned char verdict[1 << 16];
} *shared;
static int device_sm;

/* ---- reports ---- */

static const char *error_name(CUresult e)
{
    const char *name = NULL;
    return cuGetErrorName(e, &name) == 0 && name ? name : "unknown error";
}

static void fail(size_t i, const char *what, const char *more)
{
    printf("not ok %s:%u %s: %s%s%s\n", tests[i].file, tests[i].line, tests[i].name, what, *more ? " " : "", more);
    shared->verdict[i] = FAILED;
}

static void hex(char *out, const struct field *f, const uint64_t bits[2])
{
    unsigned digits = 2 * f->type->bytes;
    if (strcmp(f->type->name, "pred") == 0)
        digits = 1;
    if (digits > 16)
        sprintf(out, "%016llx%016llx", (unsigned long long)bits[1], (unsigned long long)bits[0]);
    else
        sprintf(out, "%0*llx", (int)digits, (unsigned long long)bits[0]);
}

static void wanted(char *out, const struct field *f, const struct value *v)
{
    unsigned lanes = f->type->lanes, digits = lanes ? 2 * f->type->bytes / lanes : 1;
    hex(out, f, v->bits);
    size_t n = strlen(out);
    for (size_t k = 0; k < n; k++)
        if (!(v->care[(n - 1 - k) / 16] >> (4 * ((n - 1 - k) % 16)) & 1))
            out[k] = 'x';
    for (unsigned i = 0; i < lanes; i++)
        if (v->nan >> i & 1) {
            char *part = out + (lanes - 1 - i) * digits;
            memcpy(memset(part, '.', digits), "nan", 3);
        }
    if (v->expect == EXPECT_UNSET)
        strcpy(out, "unset");
}

static void row_differs(const struct test *t, unsigned r, const struct field *f, const struct value *v, const uint64_t got[2])
{
    char g[40], w[40];
    printf("not ok %s:%u %s: row %u", t->file, t->rows[r].line, t->name, r);
    for (unsigned k = 0; k < t->n_in && k < 6; k++) {
        hex(g, &t->in[k], t->rows[r].in[k].bits);
        printf("%s%s=%s", k ? " " : " (", t->in[k].name, g);
    }
    hex(g, f, got);
    wanted(w, f, v);
    printf("%s: %s is %s, expected %s\n", t->n_in > 6 ? " ..)" : t->n_in ? ")" : "", f->name, g, w);
}

/* ---- one case ---- */

struct memory { CUdeviceptr at; size_t bytes; uint8_t *host; };
static struct memory input, output;

static CUresult memory_fit(struct memory *m, size_t bytes)
{
    if (m->bytes >= bytes)
        return 0;
    if (m->bytes)
        cuMemFree_v2(m->at);
    free(m->host);
    m->bytes = bytes < 65536 ? 65536 : bytes;
    m->host = malloc(m->bytes);
    return cuMemAlloc_v2(&m->at, m->bytes);
}

static bool buffer_agrees(const struct test *t, const uint8_t *got)
{
    for (size_t k = 0; t->expect.at && k < t->expect.size; k++)
        if ((got[k] ^ t->expect.at[k]) & t->expect.care[k]) {
            printf("not ok %s:%u %s: byte %zu of the buffer is %02x, expected %02x\n", t->file, t->line, t->name, k, got[k], t->expect.at[k]);
            return false;
        }
    return true;
}

static struct made made[IMAGES];

/* Textures and surfaces before a launch, and away with them behind it. False: the context is lost, or the case failed. */
static bool images_make(size_t i, CUmodule module)
{
    const char *what = "";
    CUresult e = 0;
    for (unsigned k = 0; k < tests[i].n_images && !e; k++)
        e = image_make(&tests[i].images[k], module, &made[k], &what);
    if (e) {
        char text[200];
        snprintf(text, sizeof text, "%s: %s", what, error_name(e));
        fail(i, "texture or surface:", text);
    }
    return e == 0;
}

static void images_free(size_t i)
{
    for (unsigned k = 0; k < tests[i].n_images; k++)
        image_free(&tests[i].images[k], &made[k]);
    memset(made, 0, sizeof made);
}

static bool images_agree(const struct test *t)
{
    for (unsigned k = 0; k < t->n_images; k++) {
        const struct image *im = &t->images[k];
        uint8_t *got = im->after ? malloc(im->bytes) : NULL;
        if (got && image_fetch(im, &made[k], got) != 0)
            memset(got, ~im->after[0], im->bytes);
        for (size_t b = 0; got && b < im->bytes; b++)
            if (got[b] != im->after[b]) {
                printf("not ok %s:%u %s: byte %zu of surface %s is %02x, expected %02x\n", t->file, t->line, t->name, b, im->name, got[b], im->after[b]);
                free(got);
                return false;
            }
        free(got);
    }
    return true;
}

/* The row of a thread; where more threads run than there are rows, they begin again. */
static unsigned row_of(const struct test *t, size_t thread) { return (unsigned)(thread % t->n_rows); }

static bool rows_agree(const struct test *t, size_t threads)
{
    unsigned wrong = 0;
    for (size_t r = 0; r < threads; r++)
        for (unsigned k = 0; k < t->n_out; k++) {
            uint64_t got[2];
            const struct value *want = &t->rows[row_of(t, r)].out[k];
            value_load(&t->out[k], output.host + r * t->out_stride + t->out[k].offset, got);
            if (!value_agrees(t, &t->out[k], want, got, UNSET) && wrong++ < ROWS_SHOWN)
                row_differs(t, row_of(t, r), &t->out[k], want, got);
        }
    if (wrong > ROWS_SHOWN)
        printf("    and %u more values of %s\n", wrong - ROWS_SHOWN, t->name);
    return wrong == 0;
}

/* What a failed call on the way to a result means: the device is lost. */
static bool lost(size_t i, CUresult e, const char *call)
{
    if (e)
        fail(i, call, error_name(e));
    return e != 0;
}

/* Runs one case with so many threads in x, the first `with_row` of the launch with rows; false when the context is lost. */
static bool case_launch(size_t i, CUfunction kernel, unsigned block, size_t with_row)
{
    const struct test *t = &tests[i];
    size_t threads = case_threads(t) / t->block[0] * block, in_bytes = threads * t->in_stride, out_bytes = threads * t->out_stride;
    CUdeviceptr buffer = 0;
    if (lost(i, memory_fit(&input, in_bytes), "cuMemAlloc") || lost(i, memory_fit(&output, out_bytes), "cuMemAlloc"))
        return false;
    memset(input.host, 0, in_bytes);
    memset(output.host, UNSET, out_bytes);
    for (size_t r = 0; r < with_row; r++)
        for (unsigned k = 0; k < t->n_in; k++)
            value_store(&t->in[k], &t->rows[row_of(t, r)].in[k], input.host + r * t->in_stride + t->in[k].offset);
    if ((in_bytes && lost(i, cuMemcpyHtoD_v2(input.at, input.host, in_bytes), "cuMemcpyHtoD")) ||
        (out_bytes && lost(i, cuMemcpyHtoD_v2(output.at, output.host, out_bytes), "cuMemcpyHtoD")))
        return false;
    if (t->buffer.size && (lost(i, cuMemAlloc_v2(&buffer, t->buffer.size), "cuMemAlloc") ||
                           lost(i, cuMemcpyHtoD_v2(buffer, t->buffer.at, t->buffer.size), "cuMemcpyHtoD")))
        return false;
    if (t->shared > 48 << 10 && lost(i, cuFuncSetAttribute(kernel, FUNC_MAX_DYNAMIC_SHARED, (int)t->shared), "cuFuncSetAttribute"))
        return false;
    _Alignas(64) char map[128];
    if (t->map && lost(i, map_encode(map, t->map, buffer), "cuTensorMapEncode"))
        return false;
    void *params[4 + IMAGES] = {&input.at, &output.at, &buffer};
    for (unsigned k = 0; k < t->n_images; k++)
        params[3 + k] = &made[k].handle;
    params[3 + t->n_images] = map;
    CUresult e = cuLaunchKernel(kernel, t->grid[0], t->grid[1], t->grid[2], block, t->block[1], t->block[2], t->shared, NULL, params, NULL);
    if (!e)
        e = cuCtxSynchronize();
    if (t->fault && e && strcmp(error_name(e), t->fault) == 0) {
        shared->verdict[i] = PASSED;
        return false;
    }
    if (t->fault) {
        fail(i, e ? "ends with another error:" : "ends without its fault", e ? error_name(e) : "");
        return e == 0;
    }
    if (lost(i, e, "launch ends with") || (out_bytes && lost(i, cuMemcpyDtoH_v2(output.host, output.at, out_bytes), "cuMemcpyDtoH")))
        return false;
    bool good = rows_agree(t, with_row) & images_agree(t);
    if (t->buffer.size) {
        uint8_t *got = malloc(t->buffer.size);
        if (!got || lost(i, cuMemcpyDtoH_v2(got, buffer, t->buffer.size), "cuMemcpyDtoH"))
            return false;
        good &= buffer_agrees(t, got);
        free(got);
        cuMemFree_v2(buffer);
    }
    shared->verdict[i] = good ? PASSED : FAILED;
    return true;
}

/* A warp with fewer threads and a full one may go different ways through the machine, so lanewise cases run with both. */
static bool case_run(size_t i, CUfunction kernel)
{
    const struct test *t = &tests[i];
    unsigned full = (t->block[0] + 31) / 32 * 32;
    if (!case_launch(i, kernel, t->block[0], t->n_rows))
        return false;
    return shared->verdict[i] != PASSED || !case_is_lanewise(t) || full == t->block[0] || case_launch(i, kernel, full, full);
}

/* ---- modules ---- */

/* An sm with a letter needs exactly that family. */
static bool too_new(const struct test *t)
{
    unsigned sm = (unsigned)strtoul(t->target + 3, NULL, 10);
    return (int)sm > device_sm || (strpbrk(t->target + 3, "af") && (int)sm / 10 != device_sm / 10);
}

/* Cases from i on that go into one module: the same target and version, and nothing that could clash or leave damage behind. */
static size_t group_end(size_t i)
{
    size_t end = i + 1;
    for (const struct test *a = &tests[i], *b; end < n_tests && end < i + GROUP && !shared->alone[i]; end++) {
        b = &tests[end];
        if (shared->alone[end] || a->version != b->version || strcmp(a->target, b->target) != 0 || strcmp(a->file, b->file) != 0)
            break;
    }
    return end;
}

static CUresult load(size_t first, size_t count, CUmodule *module, char *log, size_t log_bytes)
{
    int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)log_bytes};
    char *text = cases_ptx(tests, first, count);
    *log = 0;
    CUresult e = cuModuleLoadDataEx(module, text, 2, options, values);
    free(text);
    return e;
}

/* Runs the cases of one module; false when the context is lost. from: the first that has not been run. */
static bool group_run(size_t first, size_t end, size_t from)
{
    char log[4096];
    CUmodule module;
    enum { UNSUPPORTED_PTX_VERSION = 222, NO_BINARY = 209 };
    if (!all && too_new(&tests[first])) {
        memset(shared->verdict + first, SKIPPED, end - first);
        return true;
    }
    CUresult e = load(first, end - first, &module, log, sizeof log);
    if (e && end - first > 1) {
        for (size_t i = first; i < end; i++)
            shared->alone[i] = true;
        for (size_t i = from; i < end; i++) {
            shared->running = i;
            if (!group_run(i, i + 1, i))
                return false;
        }
        return true;
    }
    if (e && !all && (e == UNSUPPORTED_PTX_VERSION || e == NO_BINARY))
        shared->verdict[first] = SKIPPED;
    else if (e) {
        fail(first, "does not load:", error_name(e));
        for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n"))
            printf("    %s\n", line);
    }
    if (e)
        return true;
    for (size_t i = from; i < end; i++) {
        char name[32];
        CUfunction kernel;
        shared->running = i;
        alarm(ALARM);
        snprintf(name, sizeof name, "c%zu", i - first);
        if ((e = cuModuleGetFunction(&kernel, module, name)) != 0)
            fail(i, "cuModuleGetFunction:", error_name(e));
        else if (images_make(i, module) && !case_run(i, kernel))
            return false;
        images_free(i);
    }
    cuModuleUnload(module);
    return true;
}

/* ---- processes ---- */

static void must(CUresult e, const char *call)
{
    if (!e)
        return;
    printf("ptx-run: %s: %s\n", call, error_name(e));
    fflush(stdout);
    _exit(3);
}

static void child(size_t from)
{
    CUdevice device;
    CUcontext context;
    int major = 0, minor = 0, driver = 0;
    char name[256] = "";
    must(cuInit(0), "cuInit");
    must(cuDeviceGet(&device, 0), "cuDeviceGet");
    must(cuDeviceGetAttribute(&major, ATTRIBUTE_MAJOR, device), "cuDeviceGetAttribute");
    must(cuDeviceGetAttribute(&minor, ATTRIBUTE_MINOR, device), "cuDeviceGetAttribute");
    must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    device_sm = 10 * major + minor;
    if (from == 0) {
        cuDeviceGetName(name, sizeof name, device);
        cuDriverGetVersion(&driver);
        printf("# %s, sm_%d, driver API %d.%d\n", name, device_sm, driver / 1000, driver % 1000 / 10);
    }
    /* Groups are counted from the start, so that a module is the same, and compiled once, whichever of its cases runs first. */
    for (size_t i = 0, end; i < n_tests; i = end) {
        end = group_end(i);
        if (end <= from)
            continue;
        shared->running = i > from ? i : from;
        if (!group_run(i, end, shared->running)) {
            fflush(stdout);
            _exit(0);
        }
    }
    shared->ended = true;
    fflush(stdout);
    _exit(0);
}

/* Runs children until one has gone through all cases. */
static bool run_all(void)
{
    for (size_t from = 0; from < n_tests && !shared->ended; from = shared->running + 1) {
        int status = 0;
        shared->running = from;
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0)
            child(from);
        if (pid < 0 || waitpid(pid, &status, 0) < 0) {
            perror("ptx-run");
            return false;
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
            return false;
        if (WIFSIGNALED(status)) {
            char what[64];
            snprintf(what, sizeof what, "killed the program with signal %d", WTERMSIG(status));
            fail(shared->running, WTERMSIG(status) == SIGALRM ? "does not end" : what, "");
        } else if (!shared->ended && shared->verdict[shared->running] == PENDING)
            fail(shared->running, "ended the program", "");
    }
    return true;
}

static bool summary(void)
{
    unsigned count[4] = {0};
    for (size_t i = 0, end; i < n_tests; i = end) {
        unsigned of[4] = {0};
        for (end = i; end < n_tests && strcmp(tests[end].file, tests[i].file) == 0; end++) {
            of[shared->verdict[end]]++;
            if (verbose && shared->verdict[end] == PASSED)
                printf("ok %s:%u %s\n", tests[end].file, tests[end].line, tests[end].name);
        }
        if (of[SKIPPED])
            printf("SKIP %s: %u cases for a newer target or another family\n", tests[i].file, of[SKIPPED]);
        if (of[FAILED] + of[PENDING])
            printf("FAIL %s: %u of %zu\n", tests[i].file, of[FAILED] + of[PENDING], end - i);
        else
            printf("ok   %s (%u)\n", tests[i].file, of[PASSED]);
        for (int k = 0; k < 4; k++)
            count[k] += of[k];
    }
    printf("%u passed, %u failed, %u skipped\n", count[PASSED], count[FAILED] + count[PENDING], count[SKIPPED]);
    return count[FAILED] + count[PENDING] == 0;
}

int main(int argc, char **argv)
{
    bool print = false;
    const char *only = NULL;
    for (int o; (o = getopt(argc, argv, "avpc:")) != -1;) {
        if (o == '?') {
            fputs("usage: ptx-run [-a] [-v] [-p] [-c TEXT] FILE...\n", stderr);
            return 2;
        }
        all |= o == 'a', verbose |= o == 'v', print |= o == 'p';
        only = o == 'c' ? optarg : only;
    }
    for (int i = optind; i < argc; i++)
        cases_read(argv[i], &tests, &n_tests);
    size_t kept = 0;
    for (size_t i = 0; i < n_tests; i++)
        if (!only || strstr(tests[i].name, only))
            tests[kept++] = tests[i];
    n_tests = kept;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || n_tests > sizeof shared->verdict) {
        fputs("ptx-run: no memory, or too many cases\n", stderr);
        return 2;
    }
    for (size_t i = 0; i < n_tests; i++)
        shared->alone[i] = tests[i].decl || tests[i].entry || tests[i].fault;
    for (size_t i = 0, end; print && i < n_tests; i = end) {
        end = group_end(i);
        fputs(cases_ptx(tests, i, end - i), stdout);
    }
    if (print)
        return 0;
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    bool ran = run_all();
    return (int)!(summary() && ran);
}
