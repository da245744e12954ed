/* A module in memory: its variables placed and initialised. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "emu/decoder.h"

static bool has_storage(const struct ptx_var *v)
{
    return (v->space == PTX_SPACE_GLOBAL || v->space == PTX_SPACE_CONST || v->space == PTX_SPACE_REG) && v->bytes && v->linkage != PTX_LINK_EXTERN;
}

static enum status place_all(struct emu_image *im, emu_place_fn place, void *user, struct error *err)
{
    for (uint32_t i = 0; i < im->m->n_vars; i++) {
        if (!has_storage(&im->m->vars[i])) continue;
        enum status st = place(user, &im->m->vars[i], &im->var_address[i], err);
        if (st) return st;
    }
    return ST_OK;
}

/* The value of one initialiser. False: it names something without an address. */
static bool init_value(struct emu_image *im, const struct ptx_init *init, uint64_t *value)
{
    *value = init->value;
    if (init->sym < 0) return true;
    if ((uint32_t)init->sym >= im->m->n_symbols) return false;
    const struct ptx_symbol *s = &im->m->symbols[init->sym];
    if (s->kind == PTX_SYMBOL_FUNCTION) {
        *value += EMU_CODE_WINDOW + 16u * (uint64_t)(uint32_t)s->index;
        im->called_by_address[s->index] = true;
    } else if (im->var_address[s->index]) {
        *value += im->var_address[s->index];
    } else {
        return false;
    }
    *value >>= init->shift;
    return true;
}

static enum status initialise(struct emu_image *im, const struct ptx_var *v, uint64_t address, struct error *err)
{
    for (uint32_t k = 0; address && k < v->n_init; k++) {
        const struct ptx_init *init = &v->init[k];
        uint64_t value;
        if (init->bytes > 8 || init->offset > v->bytes || v->bytes - init->offset < init->bytes)
            return error_set(err, ST_INVALID_PTX, "%s:%u: the initialiser of %s is larger than the variable", im->m->name, v->line, v->name);
        if (!init_value(im, init, &value))
            return error_set(err, ST_INVALID_PTX, "%s:%u: the initialiser of %s names %s, which is not defined in this module", im->m->name, v->line, v->name,
                             ptx_symbol_name(im->m, NULL, init->sym));
        memcpy((char *)(uintptr_t)address + init->offset, &value, init->bytes);
    }
    return ST_OK;
}

uint64_t image_body_variable(struct emu_image *im, uint32_t function, uint32_t own, struct error *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;       /* kernels of one image may be decoded by several threads */
    const struct ptx_var *v = &im->m->functions[function].vars[own];
    uint64_t key = (uint64_t)function << 32 | own, address = 0;
    uintptr_t found;
    if (!has_storage(v)) return 0;
    pthread_mutex_lock(&lock);
    if (map_get_int(&im->body_variables, key, &found)) address = found;
    else if (im->place(im->place_user, v, &address, err) || initialise(im, v, address, err) || !map_put_int(&im->body_variables, key, (uintptr_t)address))
        address = 0;
    pthread_mutex_unlock(&lock);
    return address;
}

enum status emu_image_create(struct emu_image **out, struct ptx_module *m, struct emu_space *space, emu_place_fn place, void *user,
                             struct error *err)
{
    struct emu_image *im = calloc(1, sizeof *im);
    *out = NULL;
    if (im) {
        im->m = m;
        im->space = space;
        im->place = place;
        im->place_user = user;
        im->var_address = calloc(m->n_vars + 1u, sizeof *im->var_address);
        im->called_by_address = calloc(m->n_functions + 1u, sizeof *im->called_by_address);
        im->lock = malloc(sizeof(pthread_mutex_t));
        if (im->lock) pthread_mutex_init(im->lock, NULL);
    }
    if (!im || !im->var_address || !im->called_by_address || !im->lock) {
        emu_image_free(im);
        return error_set(err, ST_OUT_OF_MEMORY, "the host has no memory left for module %s", m->name);
    }
    enum status st = place_all(im, place, user, err);
    for (uint32_t i = 0; i < m->n_vars && !st; i++) st = initialise(im, &m->vars[i], im->var_address[i], err);
    if (st) {
        emu_image_free(im);
        return st;
    }
    *out = im;
    return ST_OK;
}

void emu_image_free(struct emu_image *im)
{
    if (!im) return;
    for (size_t i = 0; i < im->kernels.cap; i++)
        if (im->kernels.slots[i].value) kernel_free((struct emu_kernel *)im->kernels.slots[i].value);
    map_free(&im->kernels);
    map_free(&im->body_variables);
    vec_free(&im->addressed.shared);
    if (im->lock) pthread_mutex_destroy(im->lock);
    free(im->lock);
    free(im->var_address);
    free(im->called_by_address);
    free(im);
}

struct ptx_module *emu_image_module(const struct emu_image *im) { return im->m; }

void emu_image_tune(struct emu_image *im, bool keep_copies, bool keep_rows)
{
    im->keep_copies = keep_copies;
    im->keep_rows = keep_rows;
}

void emu_image_externs(struct emu_image *im, emu_extern_fn find, void *user)
{
    im->find = find;
    im->find_user = user;
}

void emu_image_late(struct emu_image *im) { im->late = true; }

bool emu_image_symbol(const struct emu_image *im, const char *name, uint64_t *address, uint64_t *bytes)
{
    int32_t sym = ptx_symbol_find(im->m, name);
    if (sym < 0 || im->m->symbols[sym].kind != PTX_SYMBOL_VAR) return false;
    int32_t i = im->m->symbols[sym].index;
    *address = im->var_address[i];
    *bytes = im->m->vars[i].bytes;
    return *address != 0;
}
