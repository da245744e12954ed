/* A cache as GPGPU-Sim writes it:
 *     [<kind>:]<sets>:<line>:<ways>,<replace>:<write>:<allocate>:<write allocate>[:<index>],<mshr>:<entries>:<merge>,<miss queue>[:<result queue>][,<port>]
 * or `none`. What stands in square brackets may be missing: files of version 3 have no kind (normal) and no index (linear). */
#include "timing/config_internal.h"

#include <string.h>

/* Rows of a cache, counted from its first; the order is that of CACHE_KNOBS. */
enum { PRESENT, KIND, SETS, LINE, ASSOC, REPLACE, WRITE, ALLOCATE, WRITE_ALLOCATE, INDEX, MSHR, MSHRS, MERGE, MISS_QUEUE, RESULT_QUEUE, PORT };
static const struct group { unsigned first, last, optional; const char *form; } groups[] = {
    {KIND, ASSOC, 0, "[<kind>:]<sets>:<bytes of a line>:<ways>"},
    {REPLACE, INDEX, 1, "<replacement>:<write>:<allocate>:<write allocate>[:<set index>]"},
    {MSHR, MERGE, 0, "<MSHR kind>:<entries>:<requests in one>"},
    {MISS_QUEUE, RESULT_QUEUE, 1, "<miss queue>[:<result queue>]"},
    {PORT, PORT, 0, "<bytes of the data port>"},
};
enum { N_GROUPS = sizeof groups / sizeof *groups, N_NEEDED = 4 };

static void set_to(struct timing_settings *s, unsigned row, uint32_t number, const struct value *v)
{
    if (timing_rows[row].type == ROW_U32)
        *(uint32_t *)row_value(s, row) = number;
    else if (timing_rows[row].type == ROW_BOOL)
        *(bool *)row_value(s, row) = number != 0;
    else
        *(int *)row_value(s, row) = (int)number;
    s->places[row] = (struct place){v->in, v->at[0]};
}

/* Fields between colons in [from, to) go to the group's rows. */
static bool parse_group(struct timing_settings *s, const struct option *o, const struct group *g, const struct value *v, uint32_t from, uint32_t to)
{
    unsigned row = g->first;
    bool ok = true;
    if (row == KIND && from < to && v->text[from] >= '0' && v->text[from] <= '9')
        set_to(s, o->first + row++, TIMING_CACHE_NORMAL, v);
    for (uint32_t at = from; at <= to; row++) {
        uint32_t n = span_until(v, at, to, ":");
        if (row > g->last) {
            note_value(s, true, v, at, NULL, "%s: one field too many; this part is %s", v->name, g->form);
            return false;
        }
        ok &= row_set(s, o->first + row, v, at, at + n);
        at += n + 1;
    }
    if (row + g->optional <= g->last) {
        note_value(s, true, v, to, NULL, "%s: a field is missing; this part is %s", v->name, g->form);
        return false;
    }
    for (; row <= g->last; row++)
        set_to(s, o->first + row, 0, v);
    return ok;
}

bool timing_parse_cache(struct timing_settings *s, const struct option *o, const struct value *v)
{
    if (strcmp(v->text, "none") == 0) {
        set_to(s, o->first + PRESENT, 0, v);
        return true;
    }
    bool ok = true;
    unsigned group = 0;
    for (uint32_t at = 0; at <= v->n; group++) {
        uint32_t n = span_until(v, at, v->n, ",");
        if (group == N_GROUPS) {
            note_value(s, true, v, at, NULL, "%s: a cache has at most %d parts between commas", v->name, N_GROUPS);
            return false;
        }
        ok &= parse_group(s, o, &groups[group], v, at, at + n);
        at += n + 1;
    }
    if (group < N_NEEDED) {
        note_value(s, true, v, v->n, NULL, "%s: the part %s is missing", v->name, groups[group].form);
        return false;
    }
    if (group == N_NEEDED)
        set_to(s, o->first + PORT, 0, v);
    set_to(s, o->first + PRESENT, 1, v);
    return ok;
}
