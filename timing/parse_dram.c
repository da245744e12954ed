/* DRAM: the timing string and the map of address bits. */
#include "timing/config_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- timing: "nbk=16:CCD=1:.." in any order, or the numbers alone in the order of the rows ---- */

static const struct { const char *name; unsigned row; } timings[] = {
    {"nbk", TIMING_KNOB_dram_banks}, {"CCD", TIMING_KNOB_dram_tCCD}, {"RRD", TIMING_KNOB_dram_tRRD}, {"RCD", TIMING_KNOB_dram_tRCD},
    {"RAS", TIMING_KNOB_dram_tRAS}, {"RP", TIMING_KNOB_dram_tRP}, {"RC", TIMING_KNOB_dram_tRC}, {"CL", TIMING_KNOB_dram_tCL},
    {"WL", TIMING_KNOB_dram_tWL}, {"CDLR", TIMING_KNOB_dram_tCDLR}, {"WR", TIMING_KNOB_dram_tWR}, {"nbkgrp", TIMING_KNOB_dram_bank_groups},
    {"CCDL", TIMING_KNOB_dram_tCCDL}, {"RTPL", TIMING_KNOB_dram_tRTPL},
};
enum { N_TIMINGS = sizeof timings / sizeof *timings };

static int timing_find(const char *name, uint32_t n)
{
    for (int i = 0; i < N_TIMINGS; i++)
        if (strlen(timings[i].name) == n && strncmp(timings[i].name, name, n) == 0)
            return i;
    return -1;
}

static bool set_named(struct timing_settings *s, const struct option *o, const struct value *v, uint32_t from, uint32_t to, unsigned *seen)
{
    uint32_t n = span_until(v, from, to, "=");
    uint32_t name = n;
    while (name && v->text[from + name - 1] == ' ')
        name--;
    int i = timing_find(v->text + from, name);
    if (i < 0) {
        note_value(s, true, v, from, NULL, "%s: there is no timing '%.*s'; the form is %s", v->name, (int)(name < 40 ? name : 40), v->text + from, o->help);
        return false;
    }
    if (*seen & 1u << i) {
        note_value(s, true, v, from, NULL, "%s: %s is given twice", v->name, timings[i].name);
        return false;
    }
    *seen |= 1u << i;
    return row_set(s, timings[i].row, v, from + n + 1, to);
}

bool timing_parse_dram_timing(struct timing_settings *s, const struct option *o, const struct value *v)
{
    bool named = memchr(v->text, '=', v->n) != NULL, ok = true;
    unsigned seen = 0, given = 0;
    for (uint32_t at = 0; at <= v->n; given++) {
        while (at < v->n && v->text[at] == ' ')
            at++;
        uint32_t n = span_until(v, at, v->n, ":,;");
        if (n == 0 && at == v->n && given)
            break;                                      /* a separator at the end */
        if (named)
            ok &= set_named(s, o, v, at, at + n, &seen);
        else if (given < N_TIMINGS)
            ok &= row_set(s, timings[given].row, v, at, at + n);
        else {
            note_value(s, true, v, at, NULL, "%s takes at most %d values: %s", v->name, N_TIMINGS, o->help);
            return false;
        }
        at += n + 1;
    }
    for (unsigned i = 0; i < o->min && ok; i++)
        if (named ? !(seen & 1u << i) : i >= given) {
            note_value(s, true, v, v->n, NULL, "%s: %s is missing; the form is %s", v->name, timings[i].name, o->help);
            ok = false;
        }
    return ok;
}

/* ---- address map: "dramid@8;00000000.0000.." ---- */

enum { MAP_BITS = 64 };

/* The mask that a letter stands for; NULL: none. */
static uint64_t *map_mask(struct timing_address_map *m, char letter, uint64_t *none)
{
    switch (letter) {
    case 'B': case 'b': return &m->bank;
    case 'R': case 'r': return &m->row;
    case 'C': case 'c': return &m->column;
    case 'S': case 's': return &m->burst;
    case 'D': case 'd': return &m->channel;
    case '0': return none;
    default: return NULL;
    }
}

static bool map_prefix(struct timing_settings *s, struct timing_address_map *m, const struct value *v, uint32_t *at, uint32_t to)
{
    static const char prefix[] = "dramid@";
    enum { N = sizeof prefix - 1, BIT_MAX = 40 };
    if (to - *at < N || strncmp(v->text + *at, prefix, N) != 0)
        return true;
    char *end;
    long bit = strtol(v->text + *at + N, &end, 10);
    if (end == v->text + *at + N || *end != ';' || bit < 0 || bit > BIT_MAX) {
        note_value(s, true, v, *at + N, NULL, "%s: the channel's bit is a number from 0 to %d and ends with a semicolon", v->name, BIT_MAX);
        return false;
    }
    m->channel_bit = (int)bit;
    *at = (uint32_t)(end + 1 - v->text);
    return true;
}

bool parse_address_map(struct timing_settings *s, struct timing_address_map *out, const struct value *v, uint32_t from, uint32_t to)
{
    struct timing_address_map m = {.channel_bit = -1};
    uint64_t none = 0;
    int bit = MAP_BITS;
    if (!map_prefix(s, &m, v, &from, to))
        return false;
    for (uint32_t at = from; at < to; at++) {
        char c = v->text[at];
        if (c == '.' || c == ' ' || c == '|')
            continue;
        uint64_t *mask = map_mask(&m, c, &none);
        if (!mask) {
            note_value(s, true, v, at, NULL, "%s: '%c' is none of B bank, R row, C column, S burst, D channel and 0", v->name, c >= ' ' ? c : '?');
            return false;
        }
        if (bit == 0) {
            note_value(s, true, v, at, NULL, "%s: an address has 64 bits, here are more letters", v->name);
            return false;
        }
        *mask |= UINT64_C(1) << --bit;
    }
    if (bit != 0) {
        note_value(s, true, v, to, NULL, "%s: an address has 64 bits, here are letters for %d", v->name, MAP_BITS - bit);
        return false;
    }
    *out = m;
    return true;
}
