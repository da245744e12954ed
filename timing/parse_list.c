/* Options that are lists: numbers between colons or commas, and the scheduler's name with its numbers. */
#include "timing/config_internal.h"

#include <stdio.h>
#include <string.h>

static bool parse_list(struct timing_settings *s, const struct option *o, const struct value *v, const char *separator)
{
    unsigned row = o->first, given = 0;
    bool ok = true;
    for (uint32_t at = 0; at <= v->n; given++) {
        uint32_t n = span_until(v, at, v->n, separator);
        if (row > o->last) {
            note_value(s, true, v, at, NULL, "%s takes at most %u values: %s", v->name, o->last - o->first + 1, o->help);
            return false;
        }
        ok &= row_set(s, row++, v, at, at + n);
        at += n + 1;
    }
    if (given < o->min) {
        note_value(s, true, v, v->n, NULL, "%s takes %u values, not %u: %s", v->name, o->min, given, o->help);
        return false;
    }
    uint32_t at[8] = {0};
    for (uint32_t i = 0; i < 8; i++)
        at[i] = v->at[0];
    for (; o->rest && row <= o->last; row++) {
        struct value rest = {o->rest, (uint32_t)strlen(o->rest), at, v->in, v->name};
        ok &= row_set(s, row, &rest, 0, rest.n);
    }
    return ok;
}

bool timing_parse_colons(struct timing_settings *s, const struct option *o, const struct value *v) { return parse_list(s, o, v, ":"); }
bool timing_parse_commas(struct timing_settings *s, const struct option *o, const struct value *v) { return parse_list(s, o, v, ","); }
bool timing_parse_runtime_stat(struct timing_settings *s, const struct option *o, const struct value *v) { return parse_list(s, o, v, ":,"); }

/* GPGPU-Sim's names; only the first two have numbers behind them. */
static const struct scheduler { const char *name; enum timing_policy policy; unsigned rows[3], n; } schedulers[] = {
    {"two_level_active", TIMING_TWO_LEVEL, {TIMING_KNOB_issue_active_warps, TIMING_KNOB_issue_inner, TIMING_KNOB_issue_outer}, 3},
    {"warp_limiting", TIMING_LIMITED, {TIMING_KNOB_issue_inner, TIMING_KNOB_issue_limit, 0}, 2},
    {"lrr", TIMING_LRR, {0}, 0}, {"gto", TIMING_GTO, {0}, 0}, {"rrr", TIMING_RRR, {0}, 0},
    {"oldest", TIMING_OLDEST, {0}, 0}, {"old", TIMING_OLDEST, {0}, 0},
};

bool timing_parse_scheduler(struct timing_settings *s, const struct option *o, const struct value *v)
{
    uint32_t n = span_until(v, 0, v->n, ":"), at = n;
    const struct scheduler *found = NULL;
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers && !found; i++)
        if (strlen(schedulers[i].name) == n && strncmp(schedulers[i].name, v->text, n) == 0)
            found = &schedulers[i];
    if (!found) {
        note_value(s, true, v, 0, NULL, "%s: there is no scheduler '%.*s'; it is one of %s", v->name, (int)(n < 60 ? n : 60), v->text, o->help);
        return false;
    }
    bool ok = true;
    for (unsigned i = 0; i < found->n; i++) {
        if (at >= v->n) {
            note_value(s, true, v, v->n, NULL, "%s: %s has %u values behind it: %s", v->name, found->name, found->n, o->help);
            return false;
        }
        n = span_until(v, ++at, v->n, ":");
        ok &= row_set(s, found->rows[i], v, at, at + n);
        at += n;
    }
    if (at < v->n) {
        note_value(s, true, v, at, NULL, "%s: %s has no more values: %s", v->name, found->name, o->help);
        return false;
    }
    s->values.issue.policy = (int)found->policy;
    s->places[TIMING_KNOB_issue_policy] = (struct place){v->in, v->at[0]};
    return ok;
}
