/* interpose: the private tables, module and kernel handlers over a small PTX module, the runtime API's registration. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/api.h"
#include "interpose/cudart.h"

static const char two_kernels[] = ".version 8.0\n.target sm_70\n.address_size 64\n"
                                  ".visible .global .align 4 .u32 counter;\n"
                                  ".visible .entry first(.param .u64 out, .param .u32 value)\n{\n"
                                  "    .reg .b64 %rd<2>;\n    .reg .b32 %r<2>;\n"
                                  "    ld.param.u64 %rd1, [out];\n    ld.param.u32 %r1, [value];\n    st.global.u32 [%rd1], %r1;\n    ret;\n}\n"
                                  ".visible .entry second()\n{\n    ret;\n}\n";

static CUcontext context;

static void open_context(void)
{
    ck_assert_int_eq(cu_init(0), ST_OK);
    ck_assert_int_eq(cu_ctx_create(&context, 0, 0), ST_OK);
}

/* ---- private tables ---- */

static void **table(const uint8_t id[16])
{
    CUuuid u;
    const void *out = NULL;
    memcpy(u.bytes, id, 16);
    ck_assert_int_eq(cu_get_export_table(&out, &u), ST_OK);
    return (void **)(uintptr_t)out;
}

#define CALL(type, slot) ((type)(uintptr_t)(slot))
static const uint8_t runtime_id[16] = {0x6B, 0xD5, 0xFB, 0x6C, 0x5B, 0xF4, 0xE7, 0x4A, 0x89, 0x87, 0xD9, 0x39, 0x12, 0xFD, 0x9D, 0xF9};
static const uint8_t handshake_id[16] = {0xD4, 0x08, 0x20, 0x55, 0xBD, 0xE6, 0x70, 0x4B, 0x8D, 0x34, 0xBA, 0x12, 0x3C, 0x66, 0xE1, 0xF2};
static const uint8_t hooks_id[16] = {0xA0, 0x94, 0x79, 0x8C, 0x2E, 0x74, 0x2E, 0x74, 0x93, 0xF2, 0x08, 0x00, 0x20, 0x0C, 0x0A, 0x66};
static const uint8_t storage_id[16] = {0xC6, 0x93, 0x33, 0x6E, 0x11, 0x21, 0xDF, 0x11, 0xA8, 0xC3, 0x68, 0xF3, 0x55, 0xD8, 0x95, 0x93};
static const uint8_t module_id[16] = {0x6E, 0x16, 0x3F, 0xBE, 0xB9, 0x58, 0x44, 0x4D, 0x83, 0x5C, 0xE1, 0x82, 0xAF, 0xF1, 0x99, 0x1E};

START_TEST(tables_have_no_holes)
{
    const void *none;
    CUuuid unknown = {{1, 2, 3}};
    void **runtime = table(runtime_id), **hooks = table(hooks_id);
    ck_assert_int_eq(cu_get_export_table(&none, &unknown), ST_INVALID_VALUE);
    ck_assert_int_eq(cu_get_export_table(NULL, &unknown), ST_INVALID_VALUE);
    ck_assert_uint_eq((uintptr_t)hooks[0], 56);
    for (size_t i = 1; i < (uintptr_t)runtime[0] / sizeof(void *); i++)
        ck_assert_ptr_nonnull(runtime[i]);
    uint32_t *array;
    size_t n;
    CALL(void (*)(uint32_t **, size_t *), hooks[2])(&array, &n);
    ck_assert_uint_gt(n, 0x20a);
    ck_assert_uint_eq(array[n - 1], 0);
    ck_assert_int_eq(CALL(int (*)(void), runtime[3])(), 801);
    ck_assert_uint_eq((uintptr_t)table(handshake_id)[0], 24);      /* cudart 11 makes this number a part of what it expects */
}
END_TEST

static int destroyed;
static void dtor(void *ctx, void *key, void *value)
{
    (void)ctx, (void)key, (void)value;
    destroyed++;
}

START_TEST(values_on_a_context)
{
    open_context();
    void **t = table(storage_id), *value = NULL;
    static int key, other;
    ck_assert_int_eq(CALL(int (*)(CUcontext, void *, void *, rt_dtor), t[0])(NULL, &key, &other, dtor), 0);
    ck_assert_int_eq(CALL(int (*)(void **, CUcontext, void *), t[2])(&value, context, &key), 0);
    ck_assert_ptr_eq(value, &other);
    ck_assert_int_eq(CALL(int (*)(void **, CUcontext, void *), t[2])(&value, NULL, &other), 400);
    ck_assert_int_eq(cu_ctx_destroy(context), ST_OK);
    ck_assert_int_eq(destroyed, 1);
}
END_TEST

static void count_function(void *user, CUfunction f)
{
    ck_assert(rt_is(f, RT_FUNCTION));
    ++*(int *)user;
}

START_TEST(functions_of_a_module)
{
    CUmodule m;
    int n = 0;
    open_context();
    ck_assert_int_eq(cu_module_load_data(&m, two_kernels), ST_OK);
    void **t = table(module_id);
    ck_assert_int_eq(CALL(int (*)(CUcontext, CUmodule, void (*)(void *, CUfunction), void *), t[7])(context, m, count_function, &n), 1);
    ck_assert_int_eq(n, 2);
    ck_assert_int_eq(CALL(int (*)(CUcontext, CUmodule, void (*)(void *, CUfunction), void *), t[7])(context, NULL, count_function, &n), 0);
}
END_TEST

/* How the runtimes of CUDA 11 load a fat binary: three forms of one call. */
START_TEST(modules_of_cuda_11)
{
    typedef int (*load)(CUmodule *, const void *);
    typedef int (*load_with)(CUmodule *, const void *, void *, void *, uint32_t);
    typedef int (*load_from)(const void *, CUmodule *, void *, void *, uint32_t);
    void **t = table(runtime_id);
    CUmodule m[3];
    CUfunction f;
    open_context();
    ck_assert_int_eq(CALL(load, t[1])(&m[0], two_kernels), 0);
    ck_assert_int_eq(CALL(load_with, t[6])(&m[1], two_kernels, NULL, NULL, 0), 0);
    ck_assert_int_eq(CALL(load_from, t[8])(two_kernels, &m[2], NULL, NULL, 0), 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(cu_module_get_function(&f, m[i], "second"), ST_OK);
        ck_assert_int_eq(cu_module_unload(m[i]), ST_OK);
    }
    ck_assert_int_eq(CALL(load, t[1])(NULL, two_kernels), 1);
    ck_assert_int_eq(CALL(int (*)(const void *), t[7])(two_kernels), 0);
}
END_TEST

/* ---- modules, functions, launches ---- */

START_TEST(launch_from_a_module)
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr p, global;
    size_t bytes = 0, at = 0, size = 0;
    unsigned value = 0x1234, got = 0;
    const char *name;
    open_context();
    ck_assert_int_eq(cu_module_load_data(&m, two_kernels), ST_OK);
    ck_assert_int_eq(cu_module_get_function(&f, m, "none"), ST_NOT_FOUND);
    ck_assert_int_eq(cu_module_get_function(&f, m, "first"), ST_OK);
    ck_assert_int_eq(cu_module_get_global(&global, &bytes, m, "counter"), ST_OK);
    ck_assert_uint_eq(bytes, 4);
    ck_assert_int_eq(cu_func_get_name(&name, f), ST_OK);
    ck_assert_str_eq(name, "first");
    ck_assert_int_eq(cu_func_get_param_info(f, 1, &at, &size), ST_OK);
    ck_assert(at == 8 && size == 4);
    ck_assert_int_eq(cu_func_get_param_info(f, 2, &at, &size), ST_INVALID_VALUE);
    ck_assert_int_eq(cu_mem_alloc(&p, 4), ST_OK);
    void *params[] = {&p, &value};
    ck_assert_int_eq(cu_launch_kernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), ST_OK);
    ck_assert_int_eq(cu_memcpy_d2h(&got, p, 4), ST_OK);
    ck_assert_uint_eq(got, value);
    struct { CUdeviceptr p; unsigned v; } block = {p, 77};
    size_t block_bytes = sizeof block;
    void *extra[] = {(void *)1, &block, (void *)2, &block_bytes, NULL};
    ck_assert_int_eq(cu_launch_kernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), ST_OK);
    ck_assert_int_eq(cu_memcpy_d2h(&got, p, 4), ST_OK);
    ck_assert_uint_eq(got, 77);
    ck_assert_int_eq(cu_launch_kernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, extra), ST_INVALID_VALUE);
    ck_assert_int_eq(cu_launch_kernel(f, 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL), ST_INVALID_VALUE);
    ck_assert_int_eq(cu_launch_kernel(f, 1, 1, 1, 4096, 1, 1, 0, NULL, params, NULL), ST_INVALID_VALUE);
    ck_assert_int_eq(cu_module_unload(m), ST_OK);
    ck_assert_int_eq(cu_module_unload(m), ST_INVALID_HANDLE);
    ck_assert_int_eq(cu_launch_kernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), ST_INVALID_HANDLE);
}
END_TEST

/* The launches of CUDA 1: shape and parameters are set on the function. */
START_TEST(launch_the_old_way)
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr p;
    unsigned got = 0;
    open_context();
    ck_assert_int_eq(cu_module_load_data(&m, two_kernels), ST_OK);
    ck_assert_int_eq(cu_module_get_function(&f, m, "first"), ST_OK);
    ck_assert_int_eq(cu_mem_alloc(&p, 4), ST_OK);
    ck_assert_int_eq(cu_launch_grid(f, 1, 1), ST_INVALID_VALUE);
    ck_assert_int_eq(cu_func_set_block_shape(f, 1, 1, 1), ST_OK);
    ck_assert_int_eq(cu_param_setv(f, 0, &p, sizeof p), ST_OK);
    ck_assert_int_eq(cu_param_seti(f, 8, 5), ST_OK);
    ck_assert_int_eq(cu_param_set_size(f, 12), ST_OK);
    ck_assert_int_eq(cu_launch_grid(f, 1, 1), ST_OK);
    ck_assert_int_eq(cu_memcpy_d2h(&got, p, 4), ST_OK);
    ck_assert_uint_eq(got, 5);
    ck_assert_int_eq(cu_param_seti(f, 1 << 20, 5), ST_INVALID_VALUE);
}
END_TEST

/* ---- the runtime API's registration ---- */

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit, void *tid, void *bid, void *block, void *grid,
                            int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes, int constant, int global);
unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared_bytes, CUstream stream);

START_TEST(registered_by_host_address)
{
    static char host_first, host_none, host_counter, host_other;
    CUkernel k, again;
    uint64_t address, bytes;
    /* The wrapper that nvcc writes points to a fat binary; plain PTX is an image as well. */
    void **handle = __cudaRegisterFatBinary((void *)(uintptr_t)two_kernels);
    __cudaRegisterFunction(handle, &host_first, NULL, "first", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(handle, &host_none, NULL, "none", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(handle, &host_counter, NULL, "counter", 0, 4, 0, 0);
    ck_assert_int_eq(cudart_context(), ST_OK);
    ck_assert_int_eq(cudart_kernel(&host_first, &k), ST_OK);
    ck_assert_int_eq(cudart_kernel(&host_first, &again), ST_OK);
    ck_assert_ptr_eq(k, again);
    ck_assert_int_eq(cudart_kernel(k, &again), ST_OK);
    ck_assert_int_eq(cudart_kernel(&host_none, &k), ST_INVALID_DEVICE_FUNCTION);
    ck_assert_int_eq(cudart_kernel(&host_other, &k), ST_INVALID_DEVICE_FUNCTION);
    ck_assert_int_eq(cudart_symbol(&host_counter, &address, &bytes), ST_OK);
    ck_assert_uint_eq(bytes, 4);
    ck_assert_int_eq(cudart_symbol(&host_other, &address, &bytes), ST_INVALID_SYMBOL);
}
END_TEST

/* What nvcc 9.2 to 12 makes of kernel<<<2, 3>>>(p, v): configuration pushed, popped in the stub, cudaLaunchKernel. */
int cudaLaunchKernel(const void *func, struct dim3 grid, struct dim3 block, void **args, size_t shared, CUstream stream);
int __cudaPopCallConfiguration(struct dim3 *grid, struct dim3 *block, size_t *shared, void *stream);
int cudaDeviceSynchronize(void);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);

static int stub(CUdeviceptr p, unsigned v)
{
    void *args[] = {&p, &v};
    struct dim3 grid, block;
    size_t shared;
    CUstream stream;
    int e = __cudaPopCallConfiguration(&grid, &block, &shared, &stream);
    return e ? e : cudaLaunchKernel((const void *)(uintptr_t)stub, grid, block, args, shared, stream);
}

START_TEST(stubs_of_cuda_11_and_12)
{
    static struct { uint32_t magic, version; const void *data; void *units; } wrapper = {0x466243B1, 1, NULL, NULL};
    static struct {
        uint32_t magic; uint16_t version, header_bytes; uint64_t bytes;
        uint16_t kind, entry_version; uint32_t entry_bytes; uint64_t payload; uint32_t packed, options; uint16_t minor, major;
        uint32_t arch, name, name_bytes; uint64_t flags, key, unpacked;
        char text[1024];
    } fatbin = {.magic = 0xBA55ED50, .version = 1, .header_bytes = 16, .bytes = 64 + 1024, .kind = 1, .entry_version = 0x101, .entry_bytes = 64,
                .payload = 1024, .major = 8, .arch = 70, .flags = 0x11};
    _Static_assert(sizeof fatbin == 16 + 64 + 1024, "the layout of a fat binary has no holes");
    CUdeviceptr p;
    unsigned got = 0;
    ck_assert_uint_lt(strlen(two_kernels), sizeof fatbin.text);
    strncpy(fatbin.text, two_kernels, sizeof fatbin.text - 1);
    wrapper.data = &fatbin;
    void **handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, (const char *)(uintptr_t)stub, (char *)(uintptr_t)"first", "first", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(handle);
    ck_assert_int_eq(cudart_context(), ST_OK);
    ck_assert_int_eq(cu_mem_alloc(&p, 4), ST_OK);
    ck_assert_int_eq(stub(p, 1), 52);          /* nothing was pushed: cudaErrorMissingConfiguration */
    ck_assert_uint_eq(__cudaPushCallConfiguration((struct dim3){2, 1, 1}, (struct dim3){3, 1, 1}, 0, NULL), 0);
    ck_assert_int_eq(stub(p, 4711), 0);
    ck_assert_int_eq(cudaDeviceSynchronize(), 0);
    ck_assert_int_eq(cu_memcpy_d2h(&got, p, 4), ST_OK);
    ck_assert_uint_eq(got, 4711);
    __cudaUnregisterFatBinary(handle);
    ck_assert_uint_eq(__cudaPushCallConfiguration((struct dim3){2, 1, 1}, (struct dim3){3, 1, 1}, 0, NULL), 0);
    ck_assert_int_ne(stub(p, 1), 0);
}
END_TEST

START_TEST(call_configurations_nest)
{
    struct dim3 grid, block;
    size_t shared;
    CUstream s;
    ck_assert_uint_eq(__cudaPushCallConfiguration((struct dim3){1, 2, 3}, (struct dim3){4, 5, 6}, 7, NULL), 0);
    ck_assert_uint_eq(__cudaPushCallConfiguration((struct dim3){8, 1, 1}, (struct dim3){9, 1, 1}, 10, NULL), 0);
    ck_assert_int_eq(cuda_pop_call_configuration(&grid, &block, &shared, &s), ST_OK);
    ck_assert(grid.x == 8 && block.x == 9 && shared == 10);
    ck_assert_int_eq(cuda_pop_call_configuration(&grid, &block, &shared, &s), ST_OK);
    ck_assert(grid.z == 3 && block.y == 5 && shared == 7);
    ck_assert_int_eq(cuda_pop_call_configuration(&grid, &block, &shared, &s), ST_MISSING_CONFIGURATION);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("interpose tables");
    TCase *t = tcase_create("all");
    tcase_add_test(t, tables_have_no_holes);
    tcase_add_test(t, values_on_a_context);
    tcase_add_test(t, functions_of_a_module);
    tcase_add_test(t, modules_of_cuda_11);
    tcase_add_test(t, launch_from_a_module);
    tcase_add_test(t, launch_the_old_way);
    tcase_add_test(t, registered_by_host_address);
    tcase_add_test(t, stubs_of_cuda_11_and_12);
    tcase_add_test(t, call_configurations_nest);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
