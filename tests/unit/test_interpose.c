/* interpose: the handshake, entry points by version, the table's own consistency, layouts, device attributes, status numbers. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/api.h"
#include "interpose/cudart_props.h"
#include "interpose/handshake.h"

/* ---- handshake ---- */

static const char *hex(const uint8_t d[16])
{
    static char text[33];
    for (int i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", d[i]);
    return text;
}

/* RFC 1319, appendix A.5. */
static const struct { const char *text, *digest; } md2_vectors[] = {
    {"", "8350e5a3e24c153df2275c9f80692773"},
    {"a", "32ec01ec4a6dac72c0ab96fb34c0b5d1"},
    {"abc", "da853b0d3f88d99b30283a69e6ded6bb"},
    {"message digest", "ab4f496bfb2a530b219ff33031fe06b0"},
    {"abcdefghijklmnopqrstuvwxyz", "4e8ddff3650292ab5a4108c3aa47940b"},
    {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "da33def2a42df13975352846c30338cd"},
    {"12345678901234567890123456789012345678901234567890123456789012345678901234567890", "d5976f79d83d3a0dc9806c3c66f3efd8"},
};

START_TEST(md2_of_the_rfc)
{
    uint8_t d[16];
    md2(md2_vectors[_i].text, strlen(md2_vectors[_i].text), d);
    ck_assert_str_eq(hex(d), md2_vectors[_i].digest);
}
END_TEST

START_TEST(hmac_is_hash_of_hash)
{
    uint8_t key[16], inner[16 + 3], outer[32], want[16], got[16];
    for (int i = 0; i < 16; i++) {
        key[i] = (uint8_t)(i * 7);
        inner[i] = key[i] ^ 0x36;
        outer[i] = key[i] ^ 0x5c;
    }
    memcpy(inner + 16, "abc", 3);
    md2(inner, sizeof inner, outer + 16);
    md2(outer, sizeof outer, want);
    hmac_md2(key, "abc", 3, got);
    ck_assert_mem_eq(want, got, 16);
}
END_TEST

START_TEST(handshake_by_last_digit)
{
    struct handshake_device dev[2] = {{.bus = 1}, {.bus = 2}};
    struct handshake h = {14000, 13000, 1, 2, NULL, NULL, NULL, 99, dev, 1};
    uint64_t a[2], b[2];
    handshake_answer(&h, a);
    ck_assert_uint_eq(a[0], 0x3341181C03CB675Cu);
    ck_assert_uint_eq(a[1], 0x8ED383AA1F4CD1E8u);
    h.version = 13001;
    handshake_answer(&h, a);
    ck_assert_uint_eq(a[0], 0x1841181C03CB675Cu);
    h.version = 13002;
    handshake_answer(&h, a);
    h.n_devices = 2;
    handshake_answer(&h, b);
    ck_assert(a[0] != b[0]);
    h.n_devices = 1;
    handshake_answer(&h, b);
    ck_assert(a[0] == b[0] && a[1] == b[1]);
}
END_TEST

/* ---- entry points ---- */

static const char *symbol_of(const void *entry, bool per_thread)
{
    for (size_t i = 0; i < proc_count; i++)
        if (proc_rows[i].entry == entry && proc_rows[i].per_thread == per_thread)
            return proc_rows[i].symbol;
    return NULL;
}

static const struct { const char *name; int version; unsigned flags; const char *symbol; } lookups[] = {
    {"cuInit", 2000, 0, "cuInit"},
    {"cuMemAlloc", 2000, 0, "cuMemAlloc"},
    {"cuMemAlloc", 3020, 0, "cuMemAlloc_v2"},
    {"cuMemAlloc", 14000, 0, "cuMemAlloc_v2"},
    {"cuCtxGetDevice", 2000, 0, "cuCtxGetDevice"},
    {"cuCtxGetDevice", 12090, 0, "cuCtxGetDevice"},
    {"cuCtxGetDevice", 13000, 0, "cuCtxGetDevice_v2"},
    {"cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2"},
    {"cuDevicePrimaryCtxReset", 7000, 0, "cuDevicePrimaryCtxReset"},
    {"cuStreamGetCaptureInfo", 10010, 0, "cuStreamGetCaptureInfo"},
    {"cuStreamGetCaptureInfo", 11030, 2, "cuStreamGetCaptureInfo_v2_ptsz"},
    {"cuStreamGetCaptureInfo", 12030, 0, "cuStreamGetCaptureInfo_v3"},
    {"cuMemcpyHtoD", 6000, 2, "cuMemcpyHtoD_v2"},              /* no per-thread streams before 7.0 */
    {"cuMemcpyHtoD", 7000, 2, "cuMemcpyHtoD_v2_ptds"},
    {"cuMemcpyHtoD", 7000, 1, "cuMemcpyHtoD_v2"},
    {"cuLaunchKernel", 7000, 2, "cuLaunchKernel_ptsz"},
    {"cuStreamCreate", 7000, 2, "cuStreamCreate"},             /* the name has no per-thread form */
    {"cuGetProcAddress", 11030, 0, "cuGetProcAddress"},
    {"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"},
};

START_TEST(version_chooses_signature)
{
    void *entry;
    ck_assert_int_eq(proc_find(lookups[_i].name, lookups[_i].version, lookups[_i].flags, &entry), PROC_FOUND);
    bool per_thread = strstr(lookups[_i].symbol, "_pts") || strstr(lookups[_i].symbol, "_ptds");
    ck_assert_str_eq(symbol_of(entry, per_thread), lookups[_i].symbol);
}
END_TEST

START_TEST(unknown_and_too_new)
{
    void *entry = &entry;
    int result = -1;
    ck_assert_int_eq(proc_find("cuNoSuchThing", 13000, 0, &entry), PROC_NOT_FOUND);
    ck_assert_ptr_null(entry);
    ck_assert_int_eq(proc_find("", 0, 0, &entry), PROC_NOT_FOUND);
    ck_assert_int_eq(proc_find("cuLibraryLoadData", 11080, 0, &entry), PROC_VERSION_TOO_LOW);
    ck_assert_int_eq(cu_get_proc_address_v2("cuLibraryLoadData", &entry, 11080, 0, &result), ST_NOT_FOUND);
    ck_assert_int_eq(result, PROC_VERSION_TOO_LOW);
    ck_assert_int_eq(cu_get_proc_address_v2(NULL, &entry, 11080, 0, &result), ST_INVALID_VALUE);
    ck_assert_int_eq(cu_get_proc_address("cuInit", &entry, 11080, 8), ST_INVALID_VALUE);
    ck_assert_int_eq(cu_get_proc_address("cuInit", &entry, 11080, 0), ST_OK);
}
END_TEST

/* Rows of one name stand together, oldest first, per-thread forms behind: what the lookup relies on. No symbol twice. */
START_TEST(table_is_in_order)
{
    for (size_t i = 0; i < proc_count; i++) {
        ck_assert_msg(strncmp(proc_rows[i].symbol, proc_rows[i].name, strlen(proc_rows[i].name)) == 0, "%s", proc_rows[i].symbol);
        ck_assert_ptr_nonnull(proc_rows[i].entry);
        bool together = true;
        for (size_t j = i + 1; j < proc_count; j++) {
            bool same = strcmp(proc_rows[i].name, proc_rows[j].name) == 0;
            if (same && strcmp(proc_rows[i].symbol, proc_rows[j].symbol) == 0)
                ck_abort_msg("%s stands twice", proc_rows[i].symbol);
            if (same && !together)
                ck_abort_msg("the rows of %s are apart", proc_rows[i].name);
            if (same && proc_rows[i].since > proc_rows[j].since)
                ck_abort_msg("%s is not in order", proc_rows[j].symbol);
            together = together && same;
        }
    }
}
END_TEST

/* What the runtime of CUDA 13.0 asks for at its start, as recorded beside the project. */
START_TEST(cudart_13_finds_everything)
{
    FILE *f = fopen("../shared/reference/cudart13_getprocaddress.txt", "r");
    if (!f)
        return;                                /* not there in a fresh clone */
    char line[256], name[96], symbol[96];
    int version, flags, asked = 0;
    while (fgets(line, sizeof line, f)) {
        void *entry;
        if (sscanf(line, "%95s ver=%d flags=%d -> %95s", name, &version, &flags, symbol) != 4)
            continue;
        asked++;
        ck_assert_msg(proc_find(name, version, (uint64_t)flags, &entry) == PROC_FOUND, "%s", name);
        bool per_thread = strstr(symbol, "_pts") || strstr(symbol, "_ptds");
        const char *got = symbol_of(entry, per_thread);
        ck_assert_msg(got && strcmp(got, symbol) == 0, "%s at %d is %s, not %s", name, version, got ? got : "something else", symbol);
    }
    fclose(f);
    ck_assert_int_ge(asked, 430);
}
END_TEST

/* ---- layouts: sizes on x86-64 Linux as public headers have them ---- */

START_TEST(struct_sizes)
{
    ck_assert_uint_eq(sizeof(CUDA_MEMCPY2D), 128);
    ck_assert_uint_eq(sizeof(CUDA_MEMCPY3D_PEER), 200);
    ck_assert_uint_eq(sizeof(CUDA_ARRAY_DESCRIPTOR), 24);
    ck_assert_uint_eq(sizeof(CUDA_ARRAY3D_DESCRIPTOR), 40);
    ck_assert_uint_eq(sizeof(CUmemAccessDesc), 12);
    ck_assert_uint_eq(sizeof(CUmemPoolProps), 88);
    ck_assert_uint_eq(sizeof(CUmemAllocationProp), 32);
    ck_assert_uint_eq(sizeof(CUlaunchAttribute), 72);
    ck_assert_uint_eq(sizeof(CUlaunchConfig), 56);
    ck_assert_uint_eq(sizeof(struct cudaMemcpy3DParms), 160);
    ck_assert_uint_eq(sizeof(struct cudaFuncAttributes), 144);
    ck_assert_uint_eq(sizeof(struct cudaLaunchConfig), 56);
    ck_assert_uint_eq(sizeof(CUdevprop), 56);
}
END_TEST

START_TEST(device_properties_by_version)
{
    size_t at = 0;
    ck_assert_uint_eq(cudart_props_layout(13, 0, NULL, "clusterLaunch", &at), 1008);
    ck_assert_uint_eq(at, 748);
    ck_assert_uint_eq(cudart_props_layout(12, 0, NULL, "clockRate", &at), 1032);
    ck_assert_uint_eq(at, 348);
    ck_assert_uint_eq(cudart_props_layout(11, 0, NULL, "multiProcessorCount", &at), 728);
    ck_assert_uint_eq(at, 388);
}
END_TEST

/* ---- devices ---- */

START_TEST(every_attribute_is_answered)
{
    enum { LAST = 255 };                       /* those of later toolkits answer 0 */
    ck_assert_int_eq(cu_init(0), ST_OK);
    for (int a = 1; a <= LAST; a++) {
        int v = -77;
        ck_assert_msg(cu_device_get_attribute(&v, a, 0) == ST_OK && v != -77, "attribute %d", a);
    }
    int v;
    ck_assert_int_eq(cu_device_get_attribute(&v, 0, 0), ST_INVALID_VALUE);
    ck_assert_int_eq(cu_device_get_attribute(&v, LAST + 1, 0), ST_INVALID_VALUE);
    ck_assert_int_eq(cu_device_get_attribute(&v, 1, 99), ST_INVALID_DEVICE);
}
END_TEST

START_TEST(pci_place_goes_both_ways)
{
    char text[32];
    CUdevice d = -1;
    ck_assert_int_eq(cu_init(0), ST_OK);
    ck_assert_int_eq(cu_device_get_pci_bus_id(text, sizeof text, 0), ST_OK);
    ck_assert_int_eq(cu_device_get_by_pci_bus_id(&d, text), ST_OK);
    ck_assert_int_eq(d, 0);
    ck_assert_int_eq(cu_device_get_pci_bus_id(text, 4, 0), ST_INVALID_VALUE);
    ck_assert_int_eq(cu_device_get_by_pci_bus_id(&d, "nonsense"), ST_INVALID_VALUE);
}
END_TEST

/* ---- errors ---- */

int cudaGetLastError(void);
int cudaPeekAtLastError(void);
const char *cudaGetErrorName(int error);
const char *cudaGetErrorString(int error);

START_TEST(names_and_texts)
{
    const char *s = NULL;
    ck_assert_int_eq(cu_get_error_name(700, &s), ST_OK);
    ck_assert_str_eq(s, "CUDA_ERROR_ILLEGAL_ADDRESS");
    ck_assert_int_eq(cu_get_error_string(1, &s), ST_OK);
    ck_assert_str_eq(s, "invalid argument");
    ck_assert_int_eq(cu_get_error_name(12345, &s), ST_INVALID_VALUE);
    ck_assert_ptr_null(s);
    ck_assert_str_eq(cudaGetErrorName(2), "cudaErrorMemoryAllocation");
    ck_assert_str_eq(cudaGetErrorString(0), "no error");
    ck_assert_str_eq(cudaGetErrorName(9), "cudaErrorInvalidConfiguration");
    ck_assert_str_eq(cudaGetErrorString(12345), "unrecognized error code");
}
END_TEST

int cudaMemcpy(void *dst, const void *src, size_t count, int kind);

START_TEST(last_error_is_kept_until_asked)
{
    char a[4] = "", b[4] = "";
    ck_assert_int_eq(cudaGetLastError(), 0);
    ck_assert_int_eq(cudaMemcpy(a, b, 4, 77), 21);
    ck_assert_int_eq(cudaMemcpy(a, b, 4, 0), 0);
    ck_assert_int_eq(cudaPeekAtLastError(), 21);
    ck_assert_int_eq(cudaGetLastError(), 21);
    ck_assert_int_eq(cudaGetLastError(), 0);
}
END_TEST

#define ROWS(a) (int)(sizeof(a) / sizeof(a)[0])

int main(void)
{
    Suite *s = suite_create("interpose");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, md2_of_the_rfc, 0, ROWS(md2_vectors));
    tcase_add_test(t, hmac_is_hash_of_hash);
    tcase_add_test(t, handshake_by_last_digit);
    tcase_add_loop_test(t, version_chooses_signature, 0, ROWS(lookups));
    tcase_add_test(t, unknown_and_too_new);
    tcase_add_test(t, table_is_in_order);
    tcase_add_test(t, cudart_13_finds_everything);
    tcase_add_test(t, struct_sizes);
    tcase_add_test(t, device_properties_by_version);
    tcase_add_test(t, every_attribute_is_answered);
    tcase_add_test(t, pci_place_goes_both_ways);
    tcase_add_test(t, names_and_texts);
    tcase_add_test(t, last_error_is_kept_until_asked);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
