/* Any bytes as a saved block: refused, or they run without harm. The first byte chooses the kernel, the second how far it has come; the rest changes what is saved
 * there, in pairs of place and value, so that most inputs come far. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/snapshot.h"
#include "tests/unit/snapshot_kernels.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { OUT_BYTES = 1 << 16, ROOM = 1 << 22 };
struct kept { char *at; size_t n; };

static bool keep(void *user, const void *p, size_t n)
{
    struct kept *k = user;
    if (n > ROOM - k->n) return false;
    memcpy(k->at + k->n, p, n);
    k->n += n;
    return true;
}

static enum status place(void *user, const struct ptx_var *v, uint64_t *address, struct error *err)
{
    (void)user, (void)v, (void)err;
    *address = EMU_HEAP + OUT_BYTES;
    return ST_OK;
}

static struct emu_grid *grids[SNAPSHOT_KERNELS];

static void open_all(void)
{
    struct emu_space *space;
    uint64_t out = EMU_HEAP;
    if (emu_space_create(&space, NULL) != ST_OK || mmap((void *)EMU_HEAP, 2 * OUT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED
        || emu_space_add(space, &(struct emu_range){ .lo = EMU_HEAP, .hi = EMU_HEAP + 2 * OUT_BYTES }, NULL) != ST_OK)
        __builtin_trap();
    for (int i = 0; i < SNAPSHOT_KERNELS; i++) {
        const struct snapshot_kernel *k = &snapshot_kernels[i];
        struct ptx_module *m;
        struct emu_image *image;
        struct emu_kernel *kernel;
        struct emu_launch l = { .grid = { k->blocks, 1, 1 }, .block = { k->threads, 1, 1 }, .cluster = { k->cluster, 1, 1 }, .params = &out, .param_bytes = 8, .sm = 90, .n_sm = 4,
                                .max_shared_bytes = 1 << 16, .stack_bytes = 512 };
        if (ptx_module_open(&m, "fuzz", k->text, strlen(k->text), NULL) != ST_OK || emu_image_create(&image, m, space, place, NULL, NULL) != ST_OK
            || emu_kernel_get(&kernel, image, (uint32_t)ptx_function_find(m, "k"), NULL) != ST_OK || emu_grid_create(&grids[i], kernel, &l, NULL) != ST_OK)
            __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct emu_worker *w;
    struct emu_cta *cta;
    if (!grids[0]) open_all();
    if (n < 2 || emu_worker_create(&w, NULL) != ST_OK) return 0;
    struct emu_grid *g = grids[data[0] % SNAPSHOT_KERNELS];
    static char room[ROOM];
    struct kept kept = { room, 0 };
    struct sink to = { .write = keep, .user = &kept };
    if (emu_cta_start(&cta, g, w, 0, 0, NULL) == ST_OK) {
        if (emu_cta_run(cta, w, data[1] * 3) == EMU_YIELD) emu_cta_save(cta, w, &to);
        emu_cta_free(cta, w);
    }
    for (size_t i = 2; i + 3 < n && kept.n; i += 4) room[((size_t)data[i] | (size_t)data[i + 1] << 8 | (size_t)(data[i + 2] & 3) << 16) % kept.n] = (char)data[i + 3];
    struct bytes b = { room, kept.n };
    struct source from = bytes_source(&b);
    if (emu_cta_restore(&cta, g, w, 0, &from, NULL) == ST_OK) {
        for (int turn = 0; turn < 20 && emu_cta_run(cta, w, 100) == EMU_YIELD; turn++) { }
        emu_cta_free(cta, w);
    }
    emu_worker_free(w);
    return 0;
}
