/* Requests that look and set: where, focus, backtrace, eval, memory, code, sources. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/debug/dwarf.h"

bool serve_where(const struct request *q, struct out *o, struct error *err)
{
    (void)q, (void)err;
    if (!dbg.focus.run)
        return true;
    out_line(o);
    focus_say(o, &dbg.focus);
    return true;
}

/* ---- focus ---- */

static bool focus_thread_at(struct focus *f, const uint32_t tid[3], struct error *err)
{
    const struct emu_launch *l = emu_cta_launch(f->cta);
    for (int i = 0; i < 3; i++)
        if (tid[i] >= l->block[i])
            return refuse(err, "no thread (%u,%u,%u) in blocks of (%u,%u,%u)", tid[0], tid[1], tid[2], l->block[0], l->block[1], l->block[2]);
    uint32_t t = tid[0] + l->block[0] * (tid[1] + l->block[1] * tid[2]);
    f->warp = t / WARP_SIZE;
    f->lane = t % WARP_SIZE;
    return true;
}

static bool focus_block_at(struct focus *f, const uint32_t id[3], struct error *err)
{
    const struct launch_op *l = &f->run->op->u.launch;
    for (int i = 0; i < 3; i++)
        if (id[i] >= l->grid[i])
            return refuse(err, "no block (%u,%u,%u) in a grid of (%u,%u,%u)", id[0], id[1], id[2], l->grid[0], l->grid[1], l->grid[2]);
    run_start_more(f->run);
    struct emu_cta *cta = run_block(f->run, id[0] + (uint64_t)l->grid[0] * (id[1] + (uint64_t)l->grid[1] * id[2]));
    if (!cta)
        return refuse(err, "block (%u,%u,%u) is not resident: it has not begun, or has ended (info blocks)", id[0], id[1], id[2]);
    *f = (struct focus){.run = f->run, .cta = cta};
    return true;
}

static bool focus_launch_at(struct focus *f, uint64_t launch, struct error *err)
{
    struct emu_cta *cta;
    for (struct debug_run *r = dbg.runs; r; r = r->next)
        if (r->launch == launch) {
            if (!run_blocks(r, &cta, 1))
                return refuse(err, "launch %llu has no resident block", (unsigned long long)launch);
            *f = (struct focus){.run = r, .cta = cta};
            return true;
        }
    return refuse(err, "no launch %llu is under way", (unsigned long long)launch);
}

static bool focus_number(const char *text, uint64_t most, const char *what, uint64_t *n, struct error *err)
{
    return (request_number(text, n) && *n <= most) || refuse(err, "%s=%.40s is no such number", what, text);
}

bool serve_focus(const struct request *q, struct out *o, struct error *err)
{
    struct focus f = dbg.focus;
    struct emu_spot s;
    uint32_t xyz[3];
    uint64_t n;
    const char *launch = request_option(q, "launch"), *block = request_option(q, "block"), *thread = request_option(q, "thread");
    const char *warp = request_option(q, "warp"), *lane = request_option(q, "lane"), *frame = request_option(q, "frame");
    f.frame = frame ? f.frame : 0;
    if (launch && (!focus_number(launch, UINT64_MAX, "launch", &n, err) || !focus_launch_at(&f, n, err)))
        return false;
    if (!f.cta)
        return refuse(err, "no block is resident");
    if (block && !request_xyz(block, xyz))
        return refuse(err, "block=%.40s: it takes x, or x,y, or x,y,z", block);
    if (block && !focus_block_at(&f, xyz, err))
        return false;
    if (warp) {
        if (!focus_number(warp, emu_cta_warps(f.cta) - 1, "warp", &n, err))
            return false;
        struct focus at;
        f.warp = (uint32_t)n;
        if (focus_default(&at, f.cta, f.warp))
            f.lane = at.lane;
    }
    if (thread && !request_xyz(thread, xyz))
        return refuse(err, "thread=%.40s: it takes x, or x,y, or x,y,z", thread);
    if (thread && !focus_thread_at(&f, xyz, err))
        return false;
    if (lane) {
        const struct emu_launch *l = emu_cta_launch(f.cta);
        if (!focus_number(lane, WARP_SIZE - 1, "lane", &n, err))
            return false;
        if (f.warp * WARP_SIZE + n >= (uint64_t)l->block[0] * l->block[1] * l->block[2])
            return refuse(err, "warp %u has no lane %llu", f.warp, (unsigned long long)n);
        f.lane = (uint32_t)n;
    }
    if (frame) {
        if (!focus_number(frame, UINT32_MAX, "frame", &n, err))
            return false;
        if (!focus_spot(&f, &s) || n >= emu_spot_frames(&s, NULL, 0))
            return refuse(err, "there is no frame %llu", (unsigned long long)n);
        f.frame = (uint32_t)n;
    }
    dbg.focus = f;
    return serve_where(q, o, err);
}

bool serve_backtrace(const struct request *q, struct out *o, struct error *err)
{
    enum { DEPTH = 256 };
    struct emu_frame frames[DEPTH];
    struct emu_spot s;
    (void)q;
    if (!focus_spot(&dbg.focus, &s))
        return refuse(err, "the focused thread has ended");
    uint32_t n = emu_spot_frames(&s, frames, DEPTH);
    for (uint32_t i = 0; i < n && i < DEPTH; i++) {
        struct site at = {dbg.focus.run->module, frames[i].function, frames[i].insn};
        out_line(o);
        out_u64(o, "frame", i);
        site_say(o, &at);
        if (i == dbg.focus.frame)
            out_u64(o, "focus", 1);
    }
    return true;
}

/* ---- values ---- */

static bool evaluate(struct value *v, const char *text, struct error *err)
{
    struct expr *e;
    if (!text)
        return refuse(err, "an expression is missing");
    if (expr_parse(&e, text, err) != ST_OK)
        return false;
    enum status st = expr_eval(v, e, &dbg.focus, err);
    expr_free(e);
    return st == ST_OK;
}

bool serve_eval(const struct request *q, struct out *o, struct error *err)
{
    struct value v;
    struct textbuf text = {0};
    char type[64], hex[2 * sizeof v.bits + 1];
    const char *format = request_option(q, "format");
    if (format && (!*format || format[1] || !strchr("xduotfcas", *format)))
        return refuse(err, "format=%.20s: one of x d u o t f c a s", format);
    if (!evaluate(&v, request_word(q, 0), err))
        return false;
    value_remember(&v);
    value_print(&text, &v, format ? *format : 0, &dbg.focus);
    type_text(&v.type, type, sizeof type);
    out_line(o);
    out_str(o, "value", text.at ? text.at : "");
    out_str(o, "type", type);
    if (v.home == HOME_MEMORY)
        out_hex(o, "address", v.at);
    if (!v.type.count && !type_is_record(&v.type) && type_bytes(&v.type) <= sizeof v.bits) {
        for (size_t i = 0; i < type_bytes(&v.type); i++)
            snprintf(hex + 2 * i, 3, "%02x", ((const unsigned char *)v.bits)[i]);
        out_str(o, "hex", hex);
    }
    textbuf_free(&text);
    return true;
}

/* The bytes that at= (or the first word) and space= name. */
static char *range(const struct request *q, uint64_t bytes, bool write, uint64_t *address, struct error *err)
{
    struct value v;
    const char *space = request_option(q, "space"), *text = request_option(q, "at") ? request_option(q, "at") : request_word(q, 0);
    if (!evaluate(&v, text, err))
        return NULL;
    if (!value_integer(&v, address)) {
        if (v.home != HOME_MEMORY)
            return refuse(err, "'%.80s' is no address", text), NULL;
        *address = v.at;
    }
    if (space && strcmp(space, "shared") == 0 && dbg.focus.cta)
        *address += emu_shared_address(dbg.focus.cta);
    else if (space && strcmp(space, "local") == 0)
        *address += EMU_LOCAL_WINDOW;
    else if (space && strcmp(space, "param") == 0 && dbg.focus.cta)
        *address += emu_cta_launch(dbg.focus.cta)->param_address;
    else if (space && strcmp(space, "global") != 0 && strcmp(space, "generic") != 0)
        return refuse(err, "space=%.20s: global, shared, local or param", space), NULL;
    return memory_at(&dbg.focus, *address, bytes, write, err);
}

static bool number_of(const struct request *q, const char *key, uint64_t missing, uint64_t most, uint64_t *n, struct error *err)
{
    const char *text = request_option(q, key);
    *n = missing;
    return !text || (request_number(text, n) && *n && *n <= most) || refuse(err, "%s=%.40s: a number from 1 to %llu", key, text, (unsigned long long)most);
}

enum { MOST_BYTES = 4096, ROW = 16 };

bool serve_read(const struct request *q, struct out *o, struct error *err)
{
    uint64_t n, address;
    char hex[2 * MOST_BYTES + 1];
    if (!number_of(q, "bytes", 4, MOST_BYTES, &n, err))
        return false;
    const char *p = range(q, n, false, &address, err);
    if (!p)
        return false;
    for (uint64_t i = 0; i < n; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)p[i]);
    out_line(o);
    out_hex(o, "address", address);
    out_u64(o, "bytes", n);
    out_str(o, "hex", hex);
    return true;
}

bool serve_values(const struct request *q, struct out *o, struct error *err)
{
    uint64_t count, size, address;
    const char *format = request_option(q, "format");
    char f = format ? *format : 'x';
    if (!number_of(q, "count", 1, MOST_BYTES, &count, err) || !number_of(q, "size", 4, 8, &size, err))
        return false;
    if ((size & (size - 1)) || !f || !strchr("xduotfca", f) || (format && format[1]))
        return refuse(err, "size is 1, 2, 4 or 8, format one of x d u o t f c a");
    const char *p = range(q, count * size, false, &address, err);
    if (!p)
        return false;
    struct type t = {.kind = TYPE_INT, .bytes = (uint8_t)size, .sign = f == 'd', .lanes = 1};
    for (uint64_t i = 0; i < count; i += ROW / size) {
        struct textbuf row = {0};
        for (uint64_t k = i; k < count && k < i + ROW / size; k++) {
            textbuf_add(&row, "%s", k > i ? " " : "");
            scalar_print(&row, &t, p + k * size, f == 'x' ? 'z' : f);
        }
        out_line(o);
        out_hex(o, "address", address + i * size);
        out_str(o, "values", row.at ? row.at : "");
        textbuf_free(&row);
    }
    return true;
}

static int hex_value(char c) { return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1; }

bool serve_write(const struct request *q, struct out *o, struct error *err)
{
    const char *hex = request_option(q, "hex");
    uint64_t address;
    size_t n = hex ? strlen(hex) : 0;
    (void)o;
    for (size_t i = 0; i < n; i++)
        if (hex_value(hex[i]) < 0)
            n = 1;
    if (!n || n % 2)
        return refuse(err, "hex=: two hexadecimal digits for each byte");
    char *p = range(q, n / 2, true, &address, err);
    if (!p)
        return false;
    for (size_t i = 0; i < n / 2; i++)
        p[i] = (char)(hex_value(hex[2 * i]) << 4 | hex_value(hex[2 * i + 1]));
    if (dbg.focus.run)
        past_wrote(dbg.focus.run, &dbg.focus, address, p, n / 2);
    return true;
}

/* ---- code ---- */

/* The function that at= names, or the focused one; *insn: where. */
static bool code_at(const struct request *q, struct site *out, struct error *err)
{
    const char *at = request_option(q, "at") ? request_option(q, "at") : request_word(q, 0);
    struct sites found = {0};
    struct emu_frame frame;
    enum break_what what;
    uint64_t n;
    if (!at) {
        if (!focus_frame(&dbg.focus, &frame))
            return refuse(err, "no kernel is stopped: at=LOCATION");
        *out = (struct site){dbg.focus.run->module, frame.function, frame.insn};
        return true;
    }
    if (location_find(&found, at, &what, &n, err) != ST_OK)
        return false;
    if (!found.at.n)
        return refuse(err, "'%.80s' is no place in the code", at);
    *out = found.at.at[0];
    vec_free(&found.at);
    return true;
}

static const struct breakpoint *break_at(const struct site *s)
{
    for (size_t i = 0; i < dbg.breaks.n; i++)
        for (size_t k = 0; k < dbg.breaks.at[i]->sites.n; k++) {
            const struct site *x = &dbg.breaks.at[i]->sites.at[k];
            if (x->module == s->module && x->function == s->function && x->insn == s->insn)
                return dbg.breaks.at[i];
        }
    return NULL;
}

bool serve_disassemble(const struct request *q, struct out *o, struct error *err)
{
    struct site at;
    struct emu_frame frame;
    uint64_t count;
    bool around = request_option(q, "at") || request_word(q, 0) || request_option(q, "count");
    if (!code_at(q, &at, err) || !number_of(q, "count", UINT32_MAX, UINT32_MAX, &count, err))
        return false;
    const struct ptx_function *f = site_function(&at);
    bool here = focus_frame(&dbg.focus, &frame) && dbg.focus.run->module == at.module && frame.function == at.function;
    uint32_t first = around ? at.insn : 0;
    for (uint32_t i = first; i < f->n_insns && i - first < count; i++) {
        struct site s = {at.module, at.function, i};
        const struct breakpoint *b = break_at(&s);
        out_line(o);
        site_say(o, &s);
        if (here && i == frame.insn)
            out_u64(o, "current", 1);
        if (b)
            out_u64(o, "breakpoint", b->number);
    }
    return true;
}

bool serve_ptx(const struct request *q, struct out *o, struct error *err)
{
    struct site at;
    uint64_t from, count, line = 1;
    if (!number_of(q, "from", 0, UINT32_MAX, &from, err) || !number_of(q, "count", 10, 100000, &count, err) || !code_at(q, &at, err))
        return false;
    const struct ptx_module *m = at.module->code->ptx;
    const struct ptx_function *f = site_function(&at);
    uint64_t current = at.insn < f->n_insns ? f->insns[at.insn].line : 0;
    if (!from)
        from = current > count / 2 ? current - count / 2 : 1;
    size_t bytes;
    const char *name, *p = ptx_unit_text(m, f->unit, &bytes, &name), *stop = p + bytes;
    for (; line < from && (p = memchr(p, '\n', (size_t)(stop - p))); line++)
        p++;
    for (; p && p < stop && *p && count--; line++) {
        const char *end = memchr(p, '\n', (size_t)(stop - p));
        char *text = strndup(p, end ? (size_t)(end - p) : (size_t)(stop - p));
        out_line(o);
        out_u64(o, "ptx_line", line);
        out_str(o, "text", text ? text : "");
        if (line == current)
            out_u64(o, "current", 1);
        free(text);
        p = end ? end + 1 : NULL;
    }
    return true;
}

bool serve_sources(const struct request *q, struct out *o, struct error *err)
{
    (void)q, (void)err;
    for (size_t k = 0; k < dbg.n_modules; k++) {
        const struct ptx_module *m = dbg.modules[k]->code->ptx;
        for (uint32_t i = 0; i < m->n_files; i++) {
            out_line(o);
            out_str(o, "file", m->files[i].name);
        }
    }
    return true;
}

bool serve_lines(const struct request *q, struct out *o, struct error *err)
{
    const char *wanted = request_option(q, "file") ? request_option(q, "file") : request_word(q, 0);
    (void)err;
    for (size_t k = 0; k < dbg.n_modules; k++) {
        struct ptx_module *m = dbg.modules[k]->code->ptx;
        for (uint32_t f = 0; f < m->n_functions; f++) {
            struct source_line last = {"", 0};
            if (!m->functions[f].has_body || ptx_function_body(m, f, NULL) != ST_OK)
                continue;
            for (uint32_t i = 0; i < m->functions[f].n_insns; i++) {
                struct site s = {dbg.modules[k], f, i};
                struct source_line src = site_source(&s);
                bool same = src.line == last.line && strcmp(src.file, last.file) == 0;
                last = src;
                if (!src.line || same || (wanted && !file_matches(src.file, wanted)))
                    continue;
                out_line(o);
                out_str(o, "file", src.file);
                out_u64(o, "line", src.line);
                out_str(o, "function", m->functions[f].name);
                out_u64(o, "insn", i);
            }
        }
    }
    return true;
}

/* ---- completion ---- */

static void offer(struct out *o, const char *prefix, const char *word, size_t n, const char *kind)
{
    char text[1024];
    if (n >= sizeof text || strncmp(word, prefix, strlen(prefix)) != 0 || strlen(prefix) > n)
        return;
    memcpy(text, word, n);
    text[n] = 0;
    out_line(o);
    out_str(o, "word", text);
    out_str(o, "kind", kind);
}

struct offering { struct out *o; const char *prefix; };

static void offer_source_variable(void *user, const char *name, bool parameter, enum status st, const struct value *v, const struct error *err)
{
    const struct offering *to = user;
    (void)st, (void)v, (void)err;
    offer(to->o, to->prefix, name, strlen(name), parameter ? "param" : "variable");
}

bool serve_complete(const struct request *q, struct out *o, struct error *err)
{
    static const char *const built_in[] = {"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"};
    const char *prefix = request_word(q, 0) ? request_word(q, 0) : "";
    struct emu_frame frame;
    size_t n;
    (void)err;
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
        offer(o, prefix, built_in[i], strlen(built_in[i]), "sreg");
    for (size_t k = 0; k < dbg.n_modules; k++) {
        const struct ptx_module *m = dbg.modules[k]->code->ptx;
        for (uint32_t i = 0; i < m->n_functions; i++) {
            const char *base = name_base(m->functions[i].name, &n);
            if (m->functions[i].has_body)
                offer(o, prefix, base, n, m->functions[i].is_entry ? "kernel" : "function");
        }
        for (uint32_t i = 0; i < m->n_vars; i++) {
            const char *base = name_base(m->vars[i].name, &n);
            offer(o, prefix, base, n, "variable");
        }
        for (uint32_t i = 0; i < m->n_files; i++)
            offer(o, prefix, file_base(m->files[i].name), strlen(file_base(m->files[i].name)), "file");
    }
    if (focus_frame(&dbg.focus, &frame)) {
        (void)dwarf_locals(&dbg.focus, &frame, offer_source_variable, &(struct offering){o, prefix});
        const struct ptx_function *f = &dbg.focus.run->module->code->ptx->functions[frame.function];
        for (uint32_t i = 0; i < f->n_regs; i++)
            offer(o, prefix, f->regs[i].name, strlen(f->regs[i].name), "register");
        for (uint32_t i = 0; i < f->n_vars; i++) {
            const char *base = name_base(f->vars[i].name, &n);
            offer(o, prefix, base, n, f->vars[i].space == PTX_SPACE_PARAM ? "param" : "variable");
        }
    }
    for (int s = 0; s < PTX_SREG_COUNT && *prefix; s++)
        offer(o, prefix, ptx_sreg_text((enum ptx_sreg)s), strlen(ptx_sreg_text((enum ptx_sreg)s)), "sreg");
    return true;
}
