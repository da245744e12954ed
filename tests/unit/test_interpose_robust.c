/* interpose: every exported function of both APIs, called in a child process with NULLs, garbage, objects that are gone, and good objects with senseless
 * numbers. None may crash or hang, and each answers a code that the API has. The child notes what it calls, so that a crash names the function; the
 * next child goes on behind it. The arguments are made from the types in api.def. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/emu.h"
#include "interpose/api.h"
#include "interpose/cudart.h"
#include "interpose/graph.h"
#include "runtime/base/log.h"

typedef int (*any_fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
struct call { const char *symbol; void *entry; bool driver; const char *types[17]; };

#define TYPES(...) ARGS_JOIN(TYPES_, ARGS_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define TYPES_1(v)
#define TYPES_2(t, n) #t,
#define TYPES_4(t, n, ...) #t, TYPES_2(__VA_ARGS__)
#define TYPES_6(t, n, ...) #t, TYPES_4(__VA_ARGS__)
#define TYPES_8(t, n, ...) #t, TYPES_6(__VA_ARGS__)
#define TYPES_10(t, n, ...) #t, TYPES_8(__VA_ARGS__)
#define TYPES_12(t, n, ...) #t, TYPES_10(__VA_ARGS__)
#define TYPES_14(t, n, ...) #t, TYPES_12(__VA_ARGS__)
#define TYPES_16(t, n, ...) #t, TYPES_14(__VA_ARGS__)
#define TYPES_18(t, n, ...) #t, TYPES_16(__VA_ARGS__)
#define TYPES_20(t, n, ...) #t, TYPES_18(__VA_ARGS__)
#define TYPES_22(t, n, ...) #t, TYPES_20(__VA_ARGS__)
#define TYPES_24(t, n, ...) #t, TYPES_22(__VA_ARGS__)
#define TYPES_26(t, n, ...) #t, TYPES_24(__VA_ARGS__)
#define TYPES_28(t, n, ...) #t, TYPES_26(__VA_ARGS__)
#define TYPES_30(t, n, ...) #t, TYPES_28(__VA_ARGS__)
#define TYPES_32(t, n, ...) #t, TYPES_30(__VA_ARGS__)

#define CU(name, suffix, since, variant, handler, params) int name##suffix(PARAMS params);
#define CU_NO(name, suffix, since, variant) int name##suffix(void);
#define CUDA(symbol, variant, context, handler, params) int symbol(PARAMS params);
#define CUDA_NO(symbol, variant) int symbol(void);
#include "interpose/api.def"

static const struct call calls[] = {
#define CU(name, suffix, since, variant, handler, params) {#name #suffix, (void *)(uintptr_t)name##suffix, true, {TYPES params NULL}},
#define CU_NO(name, suffix, since, variant) {#name #suffix, (void *)(uintptr_t)name##suffix, true, {NULL}},
#define CUDA(symbol, variant, context, handler, params) {#symbol, (void *)(uintptr_t)symbol, false, {TYPES params NULL}},
#define CUDA_NO(symbol, variant) {#symbol, (void *)(uintptr_t)symbol, false, {NULL}},
#include "interpose/api.def"
};
enum { CALLS = sizeof calls / sizeof calls[0] };

enum mode { NULLS, GARBAGE, GONE, LIVE, MODES };
static const char *const mode_names[MODES] = {"NULLs", "garbage", "objects that are gone", "good objects"};
static const uint64_t numbers[] = {0, 1, 3, UINT32_MAX, (uint64_t)1 << 40};
enum { NUMBERS = sizeof numbers / sizeof numbers[0], FEW_NUMBERS = 3 };

struct progress { int call, mode, number, answer; };
static struct progress *at;

/* ---- objects ---- */

static const char kernel_text[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .u32 word;\n.visible .entry nothing()\n{\nret;\n}\n";

struct objects {
    CUcontext context; CUstream stream; CUevent event; CUmemoryPool pool; CUarray array; CUmipmappedArray mipmap; CUlinkState link; CUmodule module; CUlibrary library;
    CUkernel kernel; CUfunction function; CUtexref texref; CUgraph graph; CUgraphNode node; CUgraphExec exec; CUuserObject user; struct rt_mapping *mapping; CUdeviceptr memory; CUgreenCtx green;
};
static struct objects live, gone;

static void host_fn(void *user) { (void)user; }

static void make(struct objects *o)
{
    CUdevResource sms;
    CUdevResourceDesc desc;
    CUmemPoolProps pool = {.alloc_type = 1, .location = {LOCATION_DEVICE, 0}};
    CUmemAllocationProp physical = {.type = 1, .location = {LOCATION_DEVICE, 0}};
    CUDA_ARRAY_DESCRIPTOR flat = {.width = 16, .height = 16, .format = 0x20, .channels = 1};
    CUDA_ARRAY3D_DESCRIPTOR levels = {.width = 16, .height = 16, .format = 0x20, .channels = 1};
    CUmemGenericAllocationHandle handle = 0;
    CUcontext other;
    while (cu_ctx_pop_current(&other) == ST_OK)      /* what calls before have left on the stack */
        ;
    enum status st = ST_OK;
    int step = 0;
    st = st ? st : (step++, cu_ctx_create(&o->context, 0, 0));
    st = st ? st : (step++, cu_stream_create(&o->stream, 1));
    st = st ? st : (step++, cu_event_create(&o->event, 0));
    st = st ? st : (step++, cu_mem_pool_create(&o->pool, &pool));
    st = st ? st : (step++, cu_array_create(&o->array, &flat));
    st = st ? st : (step++, cu_mipmapped_array_create(&o->mipmap, &levels, 3));
    st = st ? st : (step++, cu_link_create(0, NULL, NULL, &o->link));
    st = st ? st : (step++, cu_module_load_data(&o->module, kernel_text));
    st = st ? st : (step++, cu_library_load_data(&o->library, kernel_text, NULL, NULL, 0, NULL, NULL, 0));
    st = st ? st : (step++, cu_library_get_kernel(&o->kernel, o->library, "nothing"));
    st = st ? st : (step++, cu_module_get_function(&o->function, o->module, "nothing"));
    st = st ? st : (step++, cu_tex_ref_create(&o->texref));
    st = st ? st : (step++, cu_graph_create(&o->graph, 0));
    st = st ? st : (step++, cu_graph_add_empty_node(&o->node, o->graph, NULL, 0));
    st = st ? st : (step++, cu_graph_instantiate_with_flags(&o->exec, o->graph, 0));
    st = st ? st : (step++, cu_user_object_create(&o->user, NULL, host_fn, 1, 1));
    st = st ? st : (step++, cu_mem_create(&handle, RT_GRANULARITY, &physical, 0));
    st = st ? st : (step++, cu_mem_alloc(&o->memory, 1 << 16));
    o->mapping = (struct rt_mapping *)(uintptr_t)handle;
    st = st ? st : (step++, cu_device_get_dev_resource(0, &sms, 1));
    st = st ? st : (step++, cu_dev_resource_generate_desc(&desc, &sms, 1));
    st = st ? st : (step++, cu_green_ctx_create(&o->green, desc, 0, 1));
    if (st != ST_OK) {
        fprintf(stderr, "object %d cannot be made: %s\n", step, status_text(st));
        _exit(90);
    }
}

static void unmake(struct objects *o)
{
    enum status st[] = {cu_green_ctx_destroy(o->green), cu_mem_release((uintptr_t)o->mapping), cu_user_object_release(o->user, 1), cu_graph_exec_destroy(o->exec), cu_graph_destroy(o->graph),
                        cu_tex_ref_destroy(o->texref), cu_library_unload(o->library), cu_module_unload(o->module), cu_link_destroy(o->link),
                        cu_mipmapped_array_destroy(o->mipmap), cu_array_destroy(o->array), cu_mem_pool_destroy(o->pool), cu_event_destroy(o->event),
                        cu_stream_destroy(o->stream), cu_ctx_destroy(o->context)};
    for (size_t i = 0; i < sizeof st / sizeof st[0]; i++)
        if (st[i] != ST_OK)
            _exit(91);
}

static bool whole(const struct objects *o)
{
    return rt_is(o->context, RT_CONTEXT) && rt_context_error(o->context) == ST_OK && rt_is(o->stream, RT_STREAM) && rt_is(o->event, RT_EVENT) && rt_is(o->pool, RT_POOL) &&
           rt_is(o->array, RT_ARRAY) && rt_is(o->mipmap, RT_MIPMAP) && rt_is(o->link, RT_LINK) && rt_is(o->module, RT_MODULE) && rt_is(o->library, RT_LIBRARY) &&
           rt_is(o->texref, RT_TEXREF) && rt_is(o->graph, RT_GRAPH) && rt_is(o->node, RT_GRAPH_NODE) && rt_is(o->exec, RT_GRAPH_EXEC) && rt_is(o->user, RT_USER_OBJECT) &&
           rt_is(o->mapping, RT_MAPPING) && rt_is(o->green, RT_GREEN) && rt_current() == o->context;
}

/* ---- arguments ---- */

enum { BUFFERS = 16, BUFFER_BYTES = 8192 };
static uint64_t buffers[BUFFERS][BUFFER_BYTES / 8];

static bool handle_of(const char *type, const struct objects *o, uint64_t *value)
{
    const struct { const char *type; const void *handle; } rows[] = {
        {"CUcontext", o->context}, {"CUstream", o->stream}, {"CUevent", o->event}, {"CUmemoryPool", o->pool}, {"CUarray", o->array}, {"CUmipmappedArray", o->mipmap},
        {"CUlinkState", o->link}, {"CUmodule", o->module}, {"CUlibrary", o->library}, {"CUkernel", o->kernel}, {"CUfunction", o->function}, {"CUtexref", o->texref},
        {"CUsurfref", o->texref}, {"CUgraph", o->graph}, {"CUgraphNode", o->node}, {"CUgraphExec", o->exec}, {"CUuserObject", o->user},
        {"CUmemGenericAllocationHandle", o->mapping}, {"CUgreenCtx", o->green}, {"CUdeviceptr", (void *)(uintptr_t)o->memory},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(type, rows[i].type) == 0) {
            *value = (uintptr_t)rows[i].handle;
            return true;
        }
    return false;
}

static bool is_function(const char *type)
{
    return strcmp(type, "CUhostFn") == 0 || strcmp(type, "CUstreamCallback") == 0 || strcmp(type, "logs_callback") == 0 || strstr(type, "dtor") != NULL;
}

static uint64_t argument(const char *type, enum mode mode, uint64_t number, int slot)
{
    const uint64_t no_memory = EMU_BASE + EMU_SPAN - 0x10000;        /* inside the reserved range, nothing there */
    uint64_t v;
    if (handle_of(type, mode == LIVE ? &live : &gone, &v)) {
        uint64_t garbage = strcmp(type, "CUdeviceptr") == 0 ? no_memory : 0x123456789abcdef0u;
        return mode == NULLS ? 0 : mode == GARBAGE ? garbage : v;
    }
    if (is_function(type))
        return mode == NULLS ? 0 : (uintptr_t)host_fn;
    if (strcmp(type, "CUoccupancyB2DSize") == 0)
        return 0;
    if (strchr(type, '*'))
        return mode == NULLS ? 0 : (uintptr_t)buffers[slot];
    return number;
}

/* Calls that do what they say with these arguments: they wait for memory to change that nobody changes. */
static bool waits(const struct call *c, enum mode mode) { return mode >= GONE && strstr(c->symbol, "StreamWaitValue"); }

/* Arrays in pageable memory are the program's own: with a count beyond them the program is wrong, and crashes on a GPU, too. */
static bool reads_pageable(const struct call *c)
{
    return strstr(c->symbol, "ModuleLoadData") || strstr(c->symbol, "LibraryLoadData") || strstr(c->symbol, "LinkCreate") || strstr(c->symbol, "cudaMemcpy");
}

/* What CUDA documents for handles that are none. */
static bool refusal(int answer)
{
    static const enum status allowed[] = {ST_INVALID_VALUE, ST_INVALID_HANDLE, ST_INVALID_CONTEXT, ST_CONTEXT_IS_DESTROYED, ST_NOT_SUPPORTED, ST_INVALID_DEVICE,
                                          ST_INVALID_DEVICE_FUNCTION, ST_NOT_FOUND, ST_INVALID_SYMBOL, ST_INVALID_TEXTURE, ST_INVALID_SURFACE,
                                          ST_INVALID_MEMCPY_DIRECTION};
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
        if (status_cuda(allowed[i]) == answer)
            return true;
    return false;
}

static bool has_handle(const struct call *c)
{
    uint64_t v;
    for (int i = 0; i < 16 && c->types[i]; i++)
        if (strcmp(c->types[i], "CUdeviceptr") != 0 && handle_of(c->types[i], &live, &v))
            return true;
    return false;
}

static bool known(const struct call *c, int answer)
{
    if (!c->driver)
        return answer == 0 || status_cuda(status_from_cu(answer)) == answer || status_from_cu(answer) != ST_UNKNOWN;
    return status_cu(status_from_cu(answer)) == answer;
}

static void run(const struct call *c, enum mode mode, uint64_t number)
{
    uint64_t a[16] = {0};
    any_fn f;
    for (int i = 0; i < 16 && c->types[i]; i++)
        a[i] = argument(c->types[i], mode, number, i);
    memset(buffers, 0, sizeof buffers);
    memcpy(&f, &c->entry, sizeof f);
    alarm(20);
    at->answer = f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15]);
    alarm(0);
    if (!known(c, at->answer) && strcmp(c->symbol, "cudaGetLastError") && strcmp(c->symbol, "cudaPeekAtLastError"))
        _exit(92);
    bool nothing = !number || strstr(c->symbol, "cudaMemcpy3D") || strstr(c->symbol, "cudaMemset3D");       /* to copy: nobody asks where */
    if (mode == GARBAGE && !nothing && has_handle(c) && !refusal(at->answer))
        _exit(94);
}

static void child(int from)
{
    signal(SIGALRM, SIG_DFL);
    log_set(LOG_ERROR, open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (cu_init(0) != ST_OK)
        _exit(93);
    make(&gone);
    make(&live);
    unmake(&gone);
    for (at->call = from; at->call < CALLS; at->call++) {
        const struct call *c = &calls[at->call];
        for (at->mode = NULLS; at->mode < MODES; at->mode++)
            for (at->number = 0; at->number < (reads_pageable(c) ? FEW_NUMBERS : NUMBERS); at->number++) {
                if (waits(c, (enum mode)at->mode))
                    continue;
                if (!whole(&live))
                    make(&live);
                run(c, (enum mode)at->mode, numbers[at->number]);
            }
    }
    _exit(0);
}

START_TEST(nothing_crashes)
{
    at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(at != MAP_FAILED);
    int bad = 0;
    for (int from = 0; from < CALLS && bad < 50;) {
        pid_t pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0)
            child(from);
        int status = 0;
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            break;
        bad++;
        fprintf(stderr, "%s with %s, number %d: %s %d\n", calls[at->call].symbol, mode_names[at->mode], at->number,
                WIFSIGNALED(status) ? (WTERMSIG(status) == SIGALRM ? "it hangs, signal" : "it dies of signal") : WEXITSTATUS(status) == 92 || WEXITSTATUS(status) == 94 ? "it answers" : "the test's own end",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) == 92 || WEXITSTATUS(status) == 94 ? at->answer : WEXITSTATUS(status));
        from = at->call + 1;
    }
    ck_assert_int_ge(at->call, CALLS);
    ck_assert_msg(bad == 0, "%d functions crash, hang or answer what is no error, or none for this", bad);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("interpose robustness");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, nothing_crashes);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
