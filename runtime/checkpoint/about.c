#include "runtime/checkpoint/about.h"

#include <string.h>

enum status checkpoint_about(struct checkpoint_about *out, struct hck_reader *r, struct error *err)
{
    *out = (struct checkpoint_about){0};
    struct source *from = hck_find(r, HCK_ABOUT);
    if (!from)
        return error_set(err, ST_INVALID_IMAGE, "the checkpoint does not say what it is of");
    out->n = get_below(from, sizeof out->fact / sizeof *out->fact + 1);
    for (uint32_t i = 0; i < out->n && !from->failed; i++) {
        get_text(from, out->fact[i].name, sizeof out->fact[i].name);
        get_text(from, out->fact[i].value, sizeof out->fact[i].value);
    }
    out->devices = get_u32(from);
    return from->failed ? hck_error(r, err) : ST_OK;
}

const char *about_fact(const struct checkpoint_about *a, const char *name)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (strcmp(a->fact[i].name, name) == 0)
            return a->fact[i].value;
    return "";
}
