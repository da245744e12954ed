/* Where things are: instructions, source lines, the focus; and what a location in a request names. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/debug/state.h"

const struct ptx_function *site_function(const struct site *s) { return &s->module->code->ptx->functions[s->function]; }

struct site site_of_spot(const struct debug_run *r, const struct emu_spot *s) { return (struct site){r->module, s->function, s->insn}; }

static const char *file_name(const struct ptx_module *m, uint32_t number)
{
    for (uint32_t i = 0; i < m->n_files; i++)
        if (m->files[i].number == number)
            return m->files[i].name;
    return "";
}

struct source_line site_source(const struct site *s)
{
    const struct ptx_function *f = site_function(s);
    const struct ptx_loc *l = s->insn < f->n_insns ? &f->locs[f->insns[s->insn].loc] : NULL;
    if (!l || !f->insns[s->insn].loc)
        return (struct source_line){"", 0};
    return (struct source_line){file_name(s->module->code->ptx, l->file), l->line};
}

static uint64_t pc_of(const struct site *s) { return (uint64_t)s->function << 32 | s->insn; }

void site_say(struct out *o, const struct site *s)
{
    const struct ptx_function *f = site_function(s);
    char name[1024], text[512];
    out_str(o, "function", f->name);
    if (strcmp(name_readable(f->name, name, sizeof name), f->name) != 0)
        out_str(o, "function_name", name);
    out_u64(o, "insn", s->insn);
    out_hex(o, "pc", pc_of(s));
    if (s->insn >= f->n_insns) {
        out_str(o, "text", "(end of the function)");
        return;
    }
    struct source_line at = site_source(s);
    out_u64(o, "ptx_line", f->insns[s->insn].line);
    out_str(o, "text", ptx_insn_print(s->module->code->ptx, f, &f->insns[s->insn], text, sizeof text));
    if (at.line) {
        out_str(o, "file", at.file);
        out_u64(o, "line", at.line);
    }
}

/* ---- the focus ---- */

uint32_t focus_thread(const struct focus *f, uint32_t tid[3])
{
    const struct emu_launch *l = emu_cta_launch(f->cta);
    uint32_t t = f->warp * WARP_SIZE + f->lane;
    tid[0] = t % l->block[0];
    tid[1] = t / l->block[0] % l->block[1];
    tid[2] = t / l->block[0] / l->block[1];
    return t;
}

bool focus_spot(const struct focus *f, struct emu_spot *out) { return f->run && f->cta && emu_lane_spot(f->cta, f->warp, f->lane, out); }

bool focus_frame(const struct focus *f, struct emu_frame *out)
{
    struct emu_spot s;
    enum { DEPTH = 256 };
    struct emu_frame frames[DEPTH];
    if (!focus_spot(f, &s))
        return false;
    uint32_t n = emu_spot_frames(&s, frames, DEPTH);
    if (f->frame >= n || f->frame >= DEPTH)
        return false;
    *out = frames[f->frame];
    return true;
}

void spot_say(struct out *o, const struct focus *f, const struct emu_spot *s)
{
    uint32_t tid[3], id[3];
    char name[1024];
    const char *kernel = rt_function_name(f->run->op->u.launch.function);
    struct site at = site_of_spot(f->run, s);
    focus_thread(f, tid);
    emu_cta_id(f->cta, id);
    out_u64(o, "launch", f->run->launch);
    out_str(o, "kernel", kernel);
    if (strcmp(name_readable(kernel, name, sizeof name), kernel) != 0)
        out_str(o, "kernel_name", name);
    out_xyz(o, "block", id);
    out_xyz(o, "thread", tid);
    out_u64(o, "warp", f->warp);
    out_u64(o, "lane", f->lane);
    out_hex(o, "mask", s->mask);
    const struct ptx_function *fn = site_function(&at);
    bool branch = s->insn < fn->n_insns && fn->insns[s->insn].op == PTX_OP_BRA;
    if (branch && fn->insns[s->insn].guard >= 0)
        out_hex(o, "taken", s->active);
    else if (s->active != s->mask)
        out_hex(o, "active", s->active);
    out_hex(o, "exited", ~emu_warp_live(f->cta, f->warp));
    site_say(o, &at);
    out_str(o, "ptx", f->run->module->code->ptx->name);
    out_str(o, "state", emu_lane_state_text(s->state));
    if (s->state == EMU_LANE_BARRIER)
        out_u64(o, "barrier", s->wait);
    if (s->state == EMU_LANE_SYNC)
        out_hex(o, "members", s->wait);
    out_u64(o, "sm", emu_cta_sm(f->cta));
    if (dbg.cycle)
        out_u64(o, "cycle", dbg.cycle);
}

void focus_say(struct out *o, const struct focus *f)
{
    struct emu_spot s;
    if (!f->run || !f->cta)
        return;
    if (!emu_lane_spot(f->cta, f->warp, f->lane, &s)) {
        uint32_t tid[3], id[3];
        focus_thread(f, tid);
        emu_cta_id(f->cta, id);
        out_u64(o, "launch", f->run->launch);
        out_str(o, "kernel", rt_function_name(f->run->op->u.launch.function));
        out_xyz(o, "block", id);
        out_xyz(o, "thread", tid);
        out_u64(o, "warp", f->warp);
        out_u64(o, "lane", f->lane);
        out_str(o, "state", "done");
        return;
    }
    spot_say(o, f, &s);
    if (f->frame)
        out_u64(o, "frame", f->frame);
}

/* ---- locations ---- */

#define NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$:<>,*&()[]~ +-=!|^%"

static bool add(struct sites *out, struct rt_module *m, uint32_t function, uint32_t insn)
{
    struct site s = {m, function, insn};
    for (size_t i = 0; i < out->at.n; i++)
        if (out->at.at[i].module == m && out->at.at[i].function == function && out->at.at[i].insn == insn)
            return true;
    return vec_push(&out->at, s);
}

static bool has_code(struct rt_module *m, uint32_t i)
{
    struct ptx_module *p = m->code->ptx;
    return p->functions[i].has_body && ptx_function_body(p, i, NULL) == ST_OK && p->functions[i].n_insns;
}

static bool knows_file(const struct ptx_module *m, const char *file)
{
    for (uint32_t i = 0; i < m->n_files; i++)
        if (file_matches(m->files[i].name, file))
            return true;
    return false;
}

static uint32_t line_at(const struct ptx_module *m, const struct ptx_function *f, uint32_t insn, const char *file)
{
    uint32_t loc = f->insns[insn].loc;
    return loc && file_matches(file_name(m, f->locs[loc].file), file) ? f->locs[loc].line : 0;
}

/* ---- where a line begins ---- */

/* In a function: at its first instruction of each basic block that can be reached without having come to it before, so that no way through the function misses
 * it: loops that were unrolled have several. Each place that it was inlined at counts for itself. */
struct line_search { const struct ptx_module *m; const struct ptx_function *f; const char *file; uint32_t line, inlined_at; };

static bool is_of_line(const struct line_search *s, uint32_t insn)
{
    return line_at(s->m, s->f, insn, s->file) == s->line && s->f->locs[s->f->insns[insn].loc].inlined_at == s->inlined_at;
}

static uint32_t first_in(const struct line_search *s, const struct ptx_block *b)
{
    uint32_t i = b->first;
    while (i < b->last && !is_of_line(s, i))
        i++;
    return i;
}

/* passed[b]: every way to block b has come to the line. Starts with "all have" and takes back what a predecessor disproves. */
static void ways_pass(const struct line_search *s, const struct ptx_cfg *cfg, bool *passed)
{
    for (uint32_t b = 0; b < cfg->n_blocks; b++)
        passed[b] = b != 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < cfg->n_blocks; b++) {
            const struct ptx_block *block = &cfg->blocks[b];
            bool out = passed[b] || first_in(s, block) < block->last;
            for (uint32_t k = 0; k < block->n_succ && !out; k++) {
                changed = changed || passed[block->succ[k]];
                passed[block->succ[k]] = false;
            }
        }
    }
}

static bool add_inlined(struct sites *out, struct rt_module *m, uint32_t function, const struct line_search *s, const struct ptx_cfg *cfg, bool *passed)
{
    bool good = true;
    ways_pass(s, cfg, passed);
    for (uint32_t b = 0; b < cfg->n_blocks && good; b++) {
        uint32_t i = first_in(s, &cfg->blocks[b]);
        if (!passed[b] && i < cfg->blocks[b].last)
            good = add(out, m, function, i);
    }
    return good;
}

static bool add_line(struct sites *out, struct rt_module *m, uint32_t function, const char *file, uint32_t line)
{
    struct line_search s = {m->code->ptx, &m->code->ptx->functions[function], file, line, 0};
    struct arena a = {0};
    struct ptx_cfg cfg = {0};
    VEC(uint32_t) seen = {0};
    bool good = true, *passed = NULL;
    for (uint32_t i = 0; i < s.f->n_insns && good; i++) {
        bool old = line_at(s.m, s.f, i, file) != line;
        for (size_t k = 0; k < seen.n && !old; k++)
            old = seen.at[k] == s.f->locs[s.f->insns[i].loc].inlined_at;
        if (old)
            continue;
        s.inlined_at = s.f->locs[s.f->insns[i].loc].inlined_at;
        if (!passed)
            passed = ptx_cfg_build(&cfg, s.f, &a, NULL) == ST_OK ? arena_alloc(&a, cfg.n_blocks + 1) : NULL;
        good = vec_push(&seen, s.inlined_at) && (passed ? add_inlined(out, m, function, &s, &cfg, passed) : add(out, m, function, i));
    }
    vec_free(&seen);
    arena_free(&a);
    return good;
}

/* The line itself, or the next one that has code. */
static enum status find_line(struct sites *out, const char *file, uint32_t line, struct error *err)
{
    uint32_t best = UINT32_MAX;
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < dbg.n_modules; k++) {
            struct rt_module *m = dbg.modules[k];
            struct ptx_module *p = m->code->ptx;
            for (uint32_t f = 0; knows_file(p, file) && f < p->n_functions; f++) {
                if (!has_code(m, f))
                    continue;
                for (uint32_t i = 0; !pass && i < p->functions[f].n_insns; i++) {
                    uint32_t l = line_at(p, &p->functions[f], i, file);
                    best = l >= line && l < best ? l : best;
                }
                if (pass && best != UINT32_MAX && !add_line(out, m, f, file, best))
                    return error_set(err, ST_OUT_OF_MEMORY, "no host memory");
            }
        }
    return out->at.n ? ST_OK : error_set(err, ST_NOT_FOUND, "no code for line %u of %s (compile with -lineinfo or -G)", line, file);
}

static enum status find_function(struct sites *out, const char *name, uint32_t insn, struct error *err)
{
    uint32_t most = 0;
    bool any = false;
    for (size_t k = 0; k < dbg.n_modules; k++) {
        const struct ptx_module *p = dbg.modules[k]->code->ptx;
        for (uint32_t f = 0; f < p->n_functions; f++) {
            if (!p->functions[f].has_body || !name_matches(p->functions[f].name, name) || !has_code(dbg.modules[k], f))
                continue;
            any = true;
            most = p->functions[f].n_insns > most ? p->functions[f].n_insns : most;
            if (insn < p->functions[f].n_insns && !add(out, dbg.modules[k], f, insn))
                return error_set(err, ST_OUT_OF_MEMORY, "no host memory");
        }
    }
    if (any && !out->at.n)
        return error_set(err, ST_INVALID_VALUE, "%s has %u instructions, there is no number %u", name, most, insn);
    return out->at.n ? ST_OK : error_set(err, ST_NOT_FOUND, "no function named %s in the loaded code", name);
}

/* The first instruction at the PTX line or behind it. name: of the function; NULL: in the focused module. */
static enum status find_ptx(struct sites *out, const char *name, uint32_t line, struct error *err)
{
    for (size_t k = 0; k < dbg.n_modules; k++) {
        struct rt_module *m = dbg.modules[k];
        const struct ptx_module *p = m->code->ptx;
        if (!name && dbg.focus.run && dbg.focus.run->module != m)
            continue;
        for (uint32_t f = 0; f < p->n_functions; f++) {
            if ((name && !name_matches(p->functions[f].name, name)) || !has_code(m, f))
                continue;
            const struct ptx_function *fn = &p->functions[f];
            if (line < fn->body_line || line > fn->insns[fn->n_insns - 1].line)
                continue;
            uint32_t i = 0;
            while (fn->insns[i].line < line)
                i++;
            if (!add(out, m, f, i))
                return error_set(err, ST_OUT_OF_MEMORY, "no host memory");
        }
    }
    return out->at.n ? ST_OK : error_set(err, ST_NOT_FOUND, "no instruction at line %u of the PTX text%s%s", line, name ? " of " : "", name ? name : "");
}

static enum status find_star(struct sites *out, const char *text, struct error *err)
{
    char name[1024];
    uint64_t v = 0;
    const char *plus = strrchr(text, '+');
    if (isdigit((unsigned char)*text)) {
        struct rt_module *m = dbg.focus.run ? dbg.focus.run->module : dbg.n_modules ? dbg.modules[0] : NULL;
        uint32_t function = request_number(text, &v) ? (uint32_t)(v >> 32) : UINT32_MAX, insn = (uint32_t)v;
        if (!m || function >= m->code->ptx->n_functions || !has_code(m, function) || insn >= m->code->ptx->functions[function].n_insns)
            return error_set(err, ST_INVALID_VALUE, "%s is no code address", text);
        return add(out, m, function, insn) ? ST_OK : error_set(err, ST_OUT_OF_MEMORY, "no host memory");
    }
    if (plus && (!request_number(plus + 1, &v) || v > UINT32_MAX))
        return error_set(err, ST_INVALID_VALUE, "'%s' is no instruction number", plus + 1);
    snprintf(name, sizeof name, "%.*s", plus ? (int)(plus - text) : (int)strlen(text), text);
    return find_function(out, name, (uint32_t)v, err);
}

static bool number_behind(const char *text, const char *prefix, uint64_t *n)
{
    size_t k = strlen(prefix);
    return strncmp(text, prefix, k) == 0 && request_number(text + k, n);
}

static bool is_number(const char *s)
{
    if (!*s)
        return false;
    while (isdigit((unsigned char)*s))
        s++;
    return !*s;
}

static enum status find_source(struct sites *out, const char *text, const char *colon, struct error *err)
{
    char file[1024];
    uint64_t line;
    struct emu_spot s;
    if (!request_number(colon ? colon + 1 : text, &line) || line > UINT32_MAX)
        return error_set(err, ST_INVALID_VALUE, "'%s' is no line number", colon ? colon + 1 : text);
    snprintf(file, sizeof file, "%.*s", colon ? (int)(colon - text) : 0, text);
    if (!colon && focus_spot(&dbg.focus, &s)) {
        struct site at = site_of_spot(dbg.focus.run, &s);
        snprintf(file, sizeof file, "%s", site_source(&at).file);
    }
    if (!*file)
        return error_set(err, ST_INVALID_VALUE, "line %llu of which file? Say FILE:LINE", (unsigned long long)line);
    return find_line(out, file, (uint32_t)line, err);
}

enum status location_find(struct sites *out, const char *text, enum break_what *what, uint64_t *n, struct error *err)
{
    static const struct { const char *word; enum break_what what; } words[] = {
        {"entry", BREAK_ENTRY}, {"error", BREAK_ERROR}, {"divergence", BREAK_DIVERGENCE}, {"barrier", BREAK_BARRIER}};
    uint64_t line;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i].word) == 0) {
            *what = words[i].what;
            return ST_OK;
        }
    const char *colon = strrchr(text, ':'), *at = strstr(text, "@ptx:");
    *what = BREAK_LAUNCH;
    if (number_behind(text, "launch:", n))
        return ST_OK;
    *what = BREAK_CYCLE;
    if (number_behind(text, "cycle:", n))
        return ST_OK;
    *what = BREAK_PTX;
    if (number_behind(text, "ptx:", &line) && line <= UINT32_MAX)
        return find_ptx(out, NULL, (uint32_t)line, err);
    if (at && request_number(at + 5, &line) && line <= UINT32_MAX) {
        char name[1024];
        snprintf(name, sizeof name, "%.*s", (int)(at - text), text);
        return find_ptx(out, name, (uint32_t)line, err);
    }
    *what = BREAK_OFFSET;
    if (*text == '*')
        return find_star(out, text + 1, err);
    *what = BREAK_LINE;
    if (is_number(text) || (colon && colon > text && colon[-1] != ':' && is_number(colon + 1)))
        return find_source(out, text, is_number(text) ? NULL : colon, err);
    *what = BREAK_FUNCTION;
    if (!*text || (strspn(text, NAME_BYTES) != strlen(text)))
        return error_set(err, ST_INVALID_VALUE, "a location is FILE:LINE, a function, *FUNCTION+N, ptx:LINE, entry, launch:N, cycle:N, error, divergence or barrier");
    return find_function(out, text, 0, err);
}
