/* Any bytes as PTX: opening, bodies, flow, printing and linking must answer, never crash. */
#include "ptx/ptx.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(void *user, int32_t reg, bool write)
{
    *(uint64_t *)user += (uint64_t)reg + write;
}

static void walk(struct ptx_module *m)
{
    struct error err;
    for (uint32_t i = 0; i < m->n_functions; i++) {
        struct ptx_function *f = &m->functions[i];
        struct arena a = { 0 };
        struct ptx_cfg cfg;
        struct ptx_liveness live;
        uint64_t sum = 0;
        char buf[120];
        if (!f->has_body || ptx_function_body(m, i, &err) != ST_OK)
            continue;
        for (uint32_t k = 0; k < f->n_insns; k++) {
            ptx_insn_print(m, f, &f->insns[k], buf, sizeof buf);
            ptx_source_line(m, f, &f->insns[k], buf, sizeof buf);
            ptx_insn_regs(f, &f->insns[k], ignore, &sum);
        }
        if (ptx_cfg_build(&cfg, f, &a, &err) == ST_OK && (uint64_t)cfg.n_blocks * f->n_regs < 1u << 24 &&
            ptx_liveness_build(&live, f, &cfg, &a, &err) != ST_OK)
            sum++;
        arena_free(&a);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ptx_module *m, *linked;
    struct error err;
    if (ptx_module_open(&m, "fuzz", (const char *)data, size, &err) != ST_OK)
        return 0;
    walk(m);
    struct ptx_module *both[2] = { m, m };
    if (ptx_link(&linked, "linked", both, 2, &err) == ST_OK) {
        walk(linked);
        ptx_module_free(linked);
    }
    if (ptx_link(&linked, "linked", both, 1, &err) == ST_OK) {
        walk(linked);
        ptx_module_free(linked);
    }
    ptx_module_free(m);
    return 0;
}
