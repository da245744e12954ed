/* Calls of host functions through libffi, and what a function may ask of Heddle meanwhile. */
#include "emu/plugin.h"

#include <ffi.h>
#include <stdio.h>
#include <string.h>

#define HEDDLE_PLUGIN_TYPES_ONLY
#include "emu/heddle_plugin.h"
#include "emu/mem.h"

enum { WORD_ROW = 4 * WARP_SIZE };

struct plugin_call {
    ffi_cif cif;
    void (*function)(void);
    const char *name, *library;
    unsigned n_params;
    uint32_t *param_bytes;                     /* as declared, which may be wider than what the function takes */
    uint32_t return_bytes;
};

/* ---- types ---------------------------------------------------------------------------------------------------------- */

/* What C calls _Float16 travels as a float does, in fewer bytes. */
static ffi_type half_type = { 2, 2, FFI_TYPE_FLOAT, NULL };

static ffi_type *integer_type(uint32_t bytes, bool is_signed)
{
    switch (bytes) {
    case 1: return is_signed ? &ffi_type_sint8 : &ffi_type_uint8;
    case 2: return is_signed ? &ffi_type_sint16 : &ffi_type_uint16;
    case 4: return is_signed ? &ffi_type_sint32 : &ffi_type_uint32;
    default: return is_signed ? &ffi_type_sint64 : &ffi_type_uint64;
    }
}

static ffi_type *float_type(uint32_t bytes) { return bytes == 2 ? &half_type : bytes == 4 ? &ffi_type_float : &ffi_type_double; }

/* The ABI looks at each 8 bytes of a small structure: floating point alone, or not. Larger ones lie in memory, whatever they hold. */
static ffi_type *struct_type(const struct plugin_type *p, void *(*alloc)(void *, size_t), void *user)
{
    enum { ELEMENTS = 32 };
    ffi_type *t = alloc(user, sizeof *t);
    ffi_type **elements = alloc(user, (ELEMENTS + 1) * sizeof *elements);
    if (!t || !elements) return NULL;
    unsigned n = 0;
    for (uint32_t at = 0; at < p->bytes && at < 32; at += 8) {
        uint32_t left = p->bytes - at < 8 ? p->bytes - at : 8, bits = ((1u << left) - 1) << at;
        bool floats = (p->floats & bits) && !(p->others & bits) && (left == 8 || left == 4 || left == 2);
        if (floats) elements[n++] = float_type(left);
        else if (left == 8) elements[n++] = &ffi_type_uint64;
        else
            for (uint32_t k = 0; k < left; k++) elements[n++] = &ffi_type_uint8;
    }
    elements[n] = NULL;
    *t = (ffi_type){ p->bytes, (unsigned short)p->align, FFI_TYPE_STRUCT, elements };
    return t;
}

static ffi_type *type_for(const struct plugin_type *p, void *(*alloc)(void *, size_t), void *user)
{
    if (p->kind == PLUGIN_VOID) return &ffi_type_void;
    if (p->kind == PLUGIN_FLOAT) return float_type(p->bytes);
    if (p->kind == PLUGIN_STRUCT || p->bytes == 16) return struct_type(p, alloc, user);     /* __int128 goes as two integers */
    return integer_type(p->bytes, p->kind == PLUGIN_SIGNED);
}

/* ---- preparing ------------------------------------------------------------------------------------------------------ */

static bool fits(const struct plugin_type *says, const struct plugin_type *declared)
{
    bool integers = (says->kind == PLUGIN_UNSIGNED || says->kind == PLUGIN_SIGNED) && declared->kind != PLUGIN_STRUCT && declared->kind != PLUGIN_VOID;
    return says->bytes == declared->bytes || (integers && says->bytes < declared->bytes && declared->bytes <= 4);
}

static enum status take_signature(const struct emu_extern *fn, const char *name, const struct plugin_type *declared, unsigned n_params, struct plugin_type *says,
                                  struct error *err)
{
    unsigned n;
    const char *why;
    char text[300];
    plugin_print(declared, n_params, text, sizeof text);
    if (!plugin_signature(fn->signature, says, &n, &why))
        return error_set(err, ST_INVALID_VALUE, "the signature of %s in %s, \"%.200s\", %s", name, fn->library, fn->signature, why);
    bool same = n == n_params && fits(&says[0], &declared[0]);
    for (unsigned i = 0; i < n && same; i++) same = fits(&says[1 + i], &declared[1 + i]);
    if (!same) return error_set(err, ST_INVALID_VALUE, "%s is %.200s in %s, and called as %s", name, fn->signature, fn->library, text);
    return ST_OK;
}

static struct plugin_call *no_memory(struct error *err)
{
    error_set(err, ST_OUT_OF_MEMORY, "the host has no memory left for decoding");
    return NULL;
}

struct plugin_call *plugin_prepare(const struct emu_extern *fn, const char *name, const struct plugin_type *types, unsigned n_params,
                                   void *(*alloc)(void *user, size_t bytes), void *user, struct error *err)
{
    struct plugin_type says[1 + PLUGIN_PARAMS];
    if (n_params > PLUGIN_PARAMS) {
        error_set(err, ST_INVALID_VALUE, "%s has more than %d parameters", name, PLUGIN_PARAMS);
        return NULL;
    }
    memcpy(says, types, (1 + n_params) * sizeof *says);
    if (fn->signature && take_signature(fn, name, types, n_params, says, err)) return NULL;
    struct plugin_call *call = alloc(user, sizeof *call);
    ffi_type **args = alloc(user, (n_params + 1) * sizeof *args), *result = type_for(&says[0], alloc, user);
    if (!call || !args || !result) return no_memory(err);
    *call = (struct plugin_call){ .function = fn->function, .name = name, .library = fn->library, .n_params = n_params, .return_bytes = types[0].bytes,
                                  .param_bytes = alloc(user, (n_params + 1) * sizeof(uint32_t)) };
    if (!call->param_bytes) return no_memory(err);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < n_params; i++) {
        args[i] = type_for(&says[1 + i], alloc, user);
        if (!args[i]) return no_memory(err);
        call->param_bytes[i] = types[1 + i].bytes;
        bytes += (types[1 + i].bytes + 15u) & ~15u;
    }
    if (bytes > PLUGIN_BYTES || types[0].bytes > PLUGIN_BYTES) {
        error_set(err, ST_INVALID_VALUE, "%s passes more than %d bytes", name, PLUGIN_BYTES);
        return NULL;
    }
    if (ffi_prep_cif(&call->cif, FFI_DEFAULT_ABI, n_params, result, args) != FFI_OK) {
        error_set(err, ST_INVALID_VALUE, "libffi cannot call %s", name);
        return NULL;
    }
    return call;
}

/* ---- what a function may ask ----------------------------------------------------------------------------------------- */

static _Thread_local struct { struct ctx *c; struct warp *w; uint32_t lane, lanes; bool failed; char text[512]; } now;

static void now_thread(struct heddle_thread *out, size_t bytes)
{
    struct heddle_thread t = { 0 };
    if (now.c) {
        const struct emu_grid *g = now.c->grid;
        const struct emu_launch *l = &g->launch;
        uint32_t thread = now.w->number * WARP_SIZE + now.lane;
        t = (struct heddle_thread){ .kernel = g->code->function->name, .launch = l->grid_id, .warp = now.w->number, .lane = now.lane, .sm = now.w->cta->smid,
                                    .lanes = now.lanes, .clock = now.c->cycle ? now.c->cycle : g->clock_offset + now.c->warp_insns,
                                    .thread_index = { thread % l->block[0], thread / l->block[0] % l->block[1], thread / l->block[0] / l->block[1] },
                                    .again = l->host.again && l->host.again(l->host.user) };
        memcpy(t.grid, l->grid, sizeof t.grid);
        memcpy(t.block, l->block, sizeof t.block);
        memcpy(t.block_index, now.w->cta->ctaid, sizeof t.block_index);
    }
    memset(out, 0, bytes);
    memcpy(out, &t, bytes < sizeof t ? bytes : sizeof t);      /* a plug-in may be older than we are, or newer */
}

static void *now_at(const void *address, size_t bytes, int write)
{
    uint64_t from = (uint64_t)(uintptr_t)address, room;
    char *at = now.c ? mem_at(now.w, now.c, now.lane, from, false, &room) : NULL;
    if (!at || bytes > room) return NULL;
    for (size_t done = 0; write && done < bytes; done += room)         /* each piece counts as written, see emu_space_written */
        if (!mem_at(now.w, now.c, now.lane, from + done, true, &room)) return NULL;
    return at;
}

static void now_fail(const char *text)
{
    if (now.failed) return;
    now.failed = true;
    snprintf(now.text, sizeof now.text, "%s", text ? text : "");
}

const struct heddle_plugin_host emu_plugin_host = { HEDDLE_PLUGIN_VERSION, now_thread, now_at, now_fail };

/* ---- running -------------------------------------------------------------------------------------------------------- */

static void word_get(char *to, const char *frame, const uint32_t *rows, uint32_t bytes, uint32_t lane)
{
    for (uint32_t k = 0; k * 4 < bytes; k++) memcpy(to + (size_t)k * 4, frame + rows[k] + 4 * lane, 4);
}

static void word_put(char *frame, const char *from, const uint32_t *rows, uint32_t bytes, uint32_t lane)
{
    for (uint32_t k = 0; k * 4 < bytes; k++) memcpy(frame + rows[k] + 4 * lane, from + (size_t)k * 4, 4);
}

bool plugin_run(const struct plugin_call *call, const struct insn *in, struct warp *w, struct ctx *c, uint32_t mask, const uint32_t *params, const uint32_t *returns)
{
    _Alignas(16) char values[PLUGIN_BYTES + 16], result[PLUGIN_BYTES + 16];
    void *args[PLUGIN_PARAMS];
    ffi_cif cif = call->cif;                   /* ffi_call takes it without const */
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m), word = 0, at = 0;
        for (unsigned i = 0; i < call->n_params; i++) {
            uint32_t bytes = call->param_bytes[i];
            args[i] = values + at;
            word_get(values + at, w->frame, params + word, bytes, l);
            word += (bytes + 3) / 4;
            at += (bytes + 15) & ~15u;
        }
        memset(result, 0, 16);
        now.c = c;
        now.w = w;
        now.lane = l;
        now.lanes = mask;
        now.failed = false;
        ffi_call(&cif, call->function, result, args);
        now.c = NULL;
        if (now.failed) {
            insn_fault(in, w, c, l, ST_LAUNCH_FAILED, "%s of plug-in %s: %s", call->name, call->library, now.text);
            return false;
        }
        word_put(w->frame, result, returns, call->return_bytes, l);
    }
    return true;
}
