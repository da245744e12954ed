/* Functions that are called through their addresses: see struct addressed. */
#include <stdlib.h>
#include <string.h>

#include "emu/decoder.h"
#include "ptx/words.h"

enum { LATE_BYTES = 4 << 20 };                 /* more text than this is not decoded in advance: some 100,000 instructions, half a second */

struct look {                                  /* through the text of the functions */
    struct emu_image *im;
    uint8_t *seen;                             /* per symbol: met before */
    VEC(uint32_t) todo;
    uint32_t function;                         /* whose text it is */
    bool own_shared;                           /* it declares shared variables */
};

static bool take_function(struct look *l, uint32_t function)
{
    return !l->im->m->functions[function].has_body || vec_push(&l->todo, function);
}

static bool look_at_word(void *user, const char *word, size_t len, int32_t symbol)
{
    static const char reserved[] = "%reserved_smem";
    struct look *l = user;
    struct addressed *a = &l->im->addressed;
    if (symbol < 0) {
        l->own_shared |= len == 7 && !memcmp(word, ".shared", 7);
        a->reserves |= len >= sizeof reserved - 1 && !memcmp(word, reserved, sizeof reserved - 1);
        return true;
    }
    if (l->seen[symbol]) return true;
    l->seen[symbol] = 1;
    const struct ptx_symbol *s = &l->im->m->symbols[symbol];
    if (s->kind == PTX_SYMBOL_FUNCTION)
        return l->im->called_by_address[s->index] || take_function(l, (uint32_t)s->index);         /* those are on the list */
    struct shared_use use = { l->function, symbol };
    return l->im->m->vars[s->index].space != PTX_SPACE_SHARED || vec_push(&a->shared, use);
}

/* A body with shared variables of its own is parsed. One that does not parse will say so when it is called. */
static bool look_at_own(struct look *l)
{
    struct ptx_module *m = l->im->m;
    const struct ptx_function *f = &m->functions[l->function];
    if (ptx_function_body(m, l->function, NULL)) return true;
    for (uint32_t i = 0; i < f->n_vars; i++) {
        struct shared_use use = { l->function, (int32_t)(m->n_symbols + i) };
        if (f->vars[i].space == PTX_SPACE_SHARED && !vec_push(&l->im->addressed.shared, use)) return false;
    }
    return true;
}

static bool look_at_all(struct look *l)
{
    l->seen = calloc(l->im->m->n_symbols + 1u, 1);
    if (!l->seen) return false;
    for (uint32_t i = 0; i < l->im->m->n_functions; i++)
        if (l->im->called_by_address[i] && !take_function(l, i)) return false;
    for (size_t i = 0; i < l->todo.n; i++) {
        l->function = l->todo.at[i];
        l->own_shared = false;
        if (!ptx_function_words(l->im->m, l->function, look_at_word, l)) return false;
        if (l->own_shared && !look_at_own(l)) return false;
    }
    return true;
}

bool image_addressed(struct emu_image *im, const struct addressed **out)
{
    struct addressed *a = &im->addressed;
    *out = a;
    if (a->known) return true;
    size_t bytes = 0;
    for (uint32_t i = 0; i < im->m->n_functions; i++)
        if (im->called_by_address[i]) bytes += im->m->functions[i].body_bytes;
    a->late = bytes > LATE_BYTES && !im->keep_rows;        /* a debugger puts its breaks into what is decoded */
    struct look l = { .im = im };
    a->known = !a->late || look_at_all(&l);
    free(l.seen);
    vec_free(&l.todo);
    return a->known;
}
