#include "runtime/cli/inspect.h"

#include <stdio.h>
#include <string.h>

#include "emu/builtin.h"

static const bool executed[PTX_OP_COUNT] = {
#define DECODE(op, fn) [PTX_OP_##op] = true,
#include "emu/decode.def"
#undef DECODE
};

enum { LARGE_BYTES = 8 << 20 };

static void note_bad(struct inspection *in, const struct error *err)
{
    if (!in->n_bad++)
        in->first_bad = *err;
}

static void inspect_function(struct inspection *in, struct ptx_module *m, uint32_t i)
{
    const struct ptx_function *f = &m->functions[i];
    struct error err;
    if (!f->has_body)
        return;
    if (ptx_function_body(m, i, &err) != ST_OK) {
        note_bad(in, &err);
        return;
    }
    for (uint32_t k = 0; k < f->n_insns; k++) {
        unsigned op = f->insns[k].op;
        if (op >= PTX_OP_COUNT || executed[op] || in->unexecuted[op])
            continue;
        in->unexecuted[op] = true;
        in->n_unexecuted++;
        snprintf(in->where[op], sizeof in->where[op], "%s", f->name);
    }
}

enum { CALLED = 1, DEFINED };

/* Without memory a name is not listed. */
static void note_function(struct inspection *in, const struct ptx_function *f)
{
    uintptr_t before = 0;
    size_t n = strlen(f->name);
    bool defined = f->has_body || builtin_find(f->name), known = map_get_str(&in->functions, f->name, n, &before);
    if (known && (before == DEFINED || !defined))
        return;
    char *name = strdup(f->name);              /* the map keeps it, as long as the launcher runs */
    if (name)
        (void)!map_put_str(&in->functions, name, n, defined ? DEFINED : CALLED);
}

unsigned inspect_undefined(const struct inspection *in, char *buf, size_t n)
{
    unsigned found = 0;
    size_t at = 0;
    buf[0] = 0;
    for (size_t i = 0; i < in->functions.cap; i++) {
        const struct map_slot *s = &in->functions.slots[i];
        if (!s->hash || s->value != CALLED)
            continue;
        if (at < n)
            at += (size_t)snprintf(buf + at, n - at, "%s%s", found ? ", " : "", s->key);
        found++;
    }
    return found;
}

void inspect_ptx(struct inspection *in, const char *name, const char *text, size_t bytes)
{
    struct ptx_module *m;
    struct error err;
    if (ptx_module_open(&m, name, text, bytes, &err) != ST_OK) {
        note_bad(in, &err);
        return;
    }
    for (uint32_t i = 0; i < m->n_functions && bytes < LARGE_BYTES; i++) {
        inspect_function(in, m, i);
        if (!m->functions[i].is_entry)
            note_function(in, &m->functions[i]);
    }
    ptx_module_free(m);
}
