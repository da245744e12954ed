/* The `info` requests: tables of what there is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/debug/dwarf.h"

enum { MOST_BLOCKS = 8192 };

bool info_kernels(const struct request *q, struct out *o, struct error *err)
{
    (void)q, (void)err;
    for (const struct debug_run *r = dbg.runs; r; r = r->next) {
        const struct launch_op *l = &r->op->u.launch;
        struct grid_progress p = grid_progress(r->op);
        struct emu_cta *one;
        char name[1024];
        if (r == dbg.focus.run)
            run_start_more(dbg.focus.run);
        out_line(o);
        out_u64(o, "launch", r->launch);
        out_str(o, "kernel", rt_function_name(l->function));
        out_str(o, "kernel_name", name_readable(rt_function_name(l->function), name, sizeof name));
        out_xyz(o, "grid", l->grid);
        out_xyz(o, "block", l->block);
        out_u64(o, "stream", rt_stream_id(r->op->stream));
        out_u64(o, "blocks", p.ctas);
        out_u64(o, "done", p.done);
        out_u64(o, "resident", run_blocks(r, &one, 1));
        if (r == dbg.focus.run)
            out_u64(o, "focus", 1);
    }
    return true;
}

static const char *block_state(const struct emu_cta *cta)
{
    bool live = false, runs = false;
    for (uint32_t w = 0; w < emu_cta_warps(cta); w++) {
        live = live || emu_warp_live(cta, w);
        runs = runs || emu_warp_running(cta, w);
    }
    return !live ? "done" : runs ? "running" : "waiting";
}

bool info_blocks(const struct request *q, struct out *o, struct error *err)
{
    static struct emu_cta *all[MOST_BLOCKS];
    run_start_more(dbg.focus.run);
    size_t n = run_blocks(dbg.focus.run, all, MOST_BLOCKS);
    (void)q, (void)err;
    for (size_t i = 0; i < n && i < MOST_BLOCKS; i++) {
        uint32_t id[3], live = 0;
        emu_cta_id(all[i], id);
        for (uint32_t w = 0; w < emu_cta_warps(all[i]); w++)
            live += emu_warp_live(all[i], w) != 0;
        out_line(o);
        out_xyz(o, "block", id);
        out_str(o, "state", block_state(all[i]));
        out_u64(o, "warps", emu_cta_warps(all[i]));
        out_u64(o, "live", live);
        out_u64(o, "sm", emu_cta_sm(all[i]));
        if (all[i] == dbg.focus.cta)
            out_u64(o, "focus", 1);
    }
    return true;
}

bool info_warps(const struct request *q, struct out *o, struct error *err)
{
    struct emu_spot s[EMU_SPOTS];
    struct focus f = dbg.focus;
    (void)q, (void)err;
    for (f.warp = 0; f.cta && f.warp < emu_cta_warps(f.cta); f.warp++) {
        uint32_t n = emu_warp_spots(f.cta, f.warp, s);
        for (uint32_t i = 0; i < n; i++) {
            bool mine = f.warp == dbg.focus.warp && s[i].mask >> dbg.focus.lane & 1;
            f.lane = mine ? dbg.focus.lane : (uint32_t)__builtin_ctz(s[i].mask);
            out_line(o);
            spot_say(o, &f, &s[i]);
            if (mine)
                out_u64(o, "focus", 1);
        }
        if (n)
            continue;
        out_line(o);
        out_u64(o, "warp", f.warp);
        out_hex(o, "mask", 0);
        out_str(o, "state", "done");
    }
    return true;
}

bool info_lanes(const struct request *q, struct out *o, struct error *err)
{
    struct focus f = dbg.focus;
    const struct emu_launch *l = f.cta ? emu_cta_launch(f.cta) : NULL;
    (void)q, (void)err;
    for (f.lane = 0; l && f.lane < WARP_SIZE; f.lane++) {
        struct emu_spot s;
        uint32_t tid[3];
        if (focus_thread(&f, tid) >= l->block[0] * l->block[1] * l->block[2])
            break;
        bool alive = emu_lane_spot(f.cta, f.warp, f.lane, &s);
        out_line(o);
        out_u64(o, "lane", f.lane);
        out_xyz(o, "thread", tid);
        out_str(o, "state", alive ? emu_lane_state_text(s.state) : "done");
        if (alive) {
            struct site at = site_of_spot(f.run, &s);
            site_say(o, &at);
        }
        if (f.lane == dbg.focus.lane)
            out_u64(o, "focus", 1);
    }
    return true;
}

/* ---- registers and variables ---- */

static bool asked_for(const struct request *q, const char *name)
{
    if (!request_word(q, 1))
        return true;
    for (unsigned i = 1; request_word(q, i); i++)
        if (strcmp(request_word(q, i), name) == 0)
            return true;
    return false;
}

static void say_scalar(struct out *o, const char *key, const struct type *t, const void *bits, char format)
{
    struct textbuf text = {0};
    scalar_print(&text, t, bits, format);
    out_str(o, key, text.at ? text.at : "");
    textbuf_free(&text);
}

bool info_registers(const struct request *q, struct out *o, struct error *err)
{
    struct emu_frame frame;
    if (!focus_frame(&dbg.focus, &frame))
        return refuse(err, "the focused thread has ended");
    const struct ptx_function *f = &dbg.focus.run->module->code->ptx->functions[frame.function];
    bool all = request_option(q, "all") != NULL, any = false;
    for (uint32_t r = 0; r < f->n_regs; r++) {
        uint64_t bits[2];
        struct type t = reg_type(f, r);
        if (!asked_for(q, f->regs[r].name) || !emu_reg_read(&frame, dbg.focus.lane, r, bits))
            continue;
        any = true;
        out_line(o);
        out_str(o, "name", f->regs[r].name);
        out_str(o, "type", ptx_type_text((enum ptx_type)f->regs[r].type));
        if (reg_unwritten(f, frame.insn, r)) {
            out_str(o, "value", "not written yet");
            out_u64(o, "unwritten", 1);
            continue;
        }
        say_scalar(o, "value", &t, bits, 0);
        say_scalar(o, "hex", &t, bits, 'x');
        if (!all)
            continue;
        struct textbuf lanes = {0};
        for (uint32_t l = 0; l < WARP_SIZE && emu_reg_read(&frame, l, r, bits); l++) {
            textbuf_add(&lanes, "%s", l ? " " : "");
            scalar_print(&lanes, &t, bits, 0);
        }
        out_str(o, "lanes", lanes.at ? lanes.at : "");
        textbuf_free(&lanes);
    }
    return any || !request_word(q, 1) || refuse(err, "%s has no register %.40s", f->name, request_word(q, 1));
}

static void say_value(struct out *o, const char *name, const char *space, const struct value *v, uint64_t bytes)
{
    struct textbuf text = {0};
    char type[64];
    type_text(&v->type, type, sizeof type);
    value_print(&text, v, 0, &dbg.focus);
    out_line(o);
    out_str(o, "name", name);
    out_str(o, "space", space);
    out_str(o, "type", type);
    if (v->home == HOME_MEMORY)
        out_hex(o, "address", v->at);
    out_u64(o, "bytes", bytes);
    out_str(o, "value", text.at ? text.at : "");
    textbuf_free(&text);
}

static const char *space_text(uint8_t space)
{
    return space == PTX_SPACE_PARAM || space == PTX_SPACE_REG ? "param" : space == PTX_SPACE_SHARED ? "shared" : space == PTX_SPACE_LOCAL ? "local" : space == PTX_SPACE_CONST ? "const" : "global";
}

static void say_source_variable(void *user, const char *name, bool parameter, enum status st, const struct value *v, const struct error *err)
{
    struct out *o = user;
    const char *space = parameter ? "param" : v->home == HOME_MEMORY && v->at >= EMU_SHARED_WINDOW && v->at < EMU_LOCAL_WINDOW ? "shared" : "local";
    if (st == ST_OK) {
        say_value(o, name, space, v, type_bytes(&v->type));
        return;
    }
    out_line(o);
    out_str(o, "name", name);
    out_str(o, "space", space);
    out_fmt(o, "value", "<%s>", err->text);
}

bool info_locals(const struct request *q, struct out *o, struct error *err)
{
    struct emu_frame frame;
    struct value v;
    char name[64];
    (void)q;
    if (!focus_frame(&dbg.focus, &frame))
        return refuse(err, "the focused thread has ended");
    if (dwarf_locals(&dbg.focus, &frame, say_source_variable, o))
        return true;
    const struct ptx_module *m = dbg.focus.run->module->code->ptx;
    const struct ptx_function *f = &m->functions[frame.function];
    for (uint32_t i = 0; i < f->proto.n_params; i++) {
        snprintf(name, sizeof name, "@param%u", i);
        if (param_value(&v, &dbg.focus, &frame, i, NULL) == ST_OK)
            say_value(o, name, "param", &v, f->vars[f->proto.params[i]].bytes);
    }
    for (uint32_t i = 0; i < f->n_vars; i++) {
        size_t n;
        const char *base = name_base(f->vars[i].name, &n);
        if (f->vars[i].space != PTX_SPACE_SHARED && f->vars[i].space != PTX_SPACE_LOCAL)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)n, base);
        if (var_value(&v, &dbg.focus, &frame, &f->vars[i], (int32_t)(m->n_symbols + i), NULL) == ST_OK)
            say_value(o, name, space_text(f->vars[i].space), &v, f->vars[i].bytes);
    }
    for (uint32_t s = 0; s < m->n_symbols; s++) {              /* shared variables of the module that the kernel uses */
        const struct ptx_var *var = m->symbols[s].kind == PTX_SYMBOL_VAR ? &m->vars[m->symbols[s].index] : NULL;
        size_t n;
        if (!var || var->space != PTX_SPACE_SHARED || var_value(&v, &dbg.focus, &frame, var, (int32_t)s, NULL) != ST_OK)
            continue;
        const char *base = name_base(var->name, &n);
        snprintf(name, sizeof name, "%.*s", (int)n, base);
        say_value(o, name, "shared", &v, type_bytes(&v.type));
    }
    return true;
}

bool info_variables(const struct request *q, struct out *o, struct error *err)
{
    const char *match = request_word(q, 1);
    (void)err;
    for (size_t k = 0; k < dbg.n_modules; k++) {
        const struct ptx_module *m = dbg.modules[k]->code->ptx;
        for (uint32_t i = 0; i < m->n_vars; i++) {
            uint64_t address, bytes;
            const struct ptx_var *v = &m->vars[i];
            if ((v->space != PTX_SPACE_GLOBAL && v->space != PTX_SPACE_CONST) || (match && !strstr(v->name, match)) || !emu_image_symbol(dbg.modules[k]->image, v->name, &address, &bytes))
                continue;
            size_t n;
            const char *base = name_base(v->name, &n);
            out_line(o);
            out_fmt(o, "name", "%.*s", (int)n, base);
            out_str(o, "symbol", v->name);
            out_str(o, "space", v->managed ? "managed" : space_text(v->space));
            out_u64(o, "bytes", bytes);
            out_hex(o, "address", address);
            out_str(o, "type", ptx_type_text((enum ptx_type)v->type));
        }
    }
    return true;
}

/* ---- code ---- */

bool info_functions(const struct request *q, struct out *o, struct error *err)
{
    const char *match = request_word(q, 1);
    char name[1024];
    (void)err;
    for (size_t k = 0; k < dbg.n_modules; k++) {
        const struct ptx_module *m = dbg.modules[k]->code->ptx;
        for (uint32_t i = 0; i < m->n_functions; i++) {
            const struct ptx_function *f = &m->functions[i];
            if (!f->has_body || (match && !strstr(name_readable(f->name, name, sizeof name), match) && !strstr(f->name, match)))
                continue;
            out_line(o);
            out_str(o, "name", f->name);
            out_str(o, "readable", name_readable(f->name, name, sizeof name));
            out_str(o, "kind", f->is_entry ? "kernel" : "device");
            out_str(o, "module", m->name);
            if (!f->parsed)
                continue;
            struct site s = {dbg.modules[k], i, 0};
            out_u64(o, "insns", f->n_insns);
            for (s.insn = 0; s.insn < f->n_insns && !site_source(&s).line; s.insn++)
                ;
            struct source_line src = site_source(&s);
            if (src.line) {
                out_str(o, "file", src.file);
                out_u64(o, "line", src.line);
            }
        }
    }
    return true;
}

bool info_modules(const struct request *q, struct out *o, struct error *err)
{
    (void)q, (void)err;
    for (size_t k = 0; k < dbg.n_modules; k++) {
        const struct ptx_module *m = dbg.modules[k]->code->ptx;
        uint64_t kernels = 0, bodies = 0;
        for (uint32_t i = 0; i < m->n_functions; i++) {
            kernels += m->functions[i].is_entry && m->functions[i].has_body;
            bodies += m->functions[i].has_body;
        }
        out_line(o);
        out_str(o, "name", m->name);
        out_u64(o, "kernels", kernels);
        out_u64(o, "functions", bodies);
        out_u64(o, "ptx_version", m->version);
        out_u64(o, "target", m->target_sm);
        out_u64(o, "files", m->n_files);
    }
    return true;
}

bool info_line(const struct request *q, struct out *o, struct error *err)
{
    struct sites found = {0};
    enum break_what what;
    struct emu_frame frame;
    uint64_t n;
    const char *at = request_word(q, 1);
    bool good = true;
    if (at && location_find(&found, at, &what, &n, err) != ST_OK)
        return false;
    if (!at) {
        good = focus_frame(&dbg.focus, &frame) || refuse(err, "no kernel is stopped: info line LOCATION");
        struct site here = {good ? dbg.focus.run->module : NULL, frame.function, frame.insn};
        good = good && (vec_push(&found.at, here) || refuse(err, "no host memory"));
    }
    for (size_t i = 0; good && i < found.at.n; i++) {
        struct site first = found.at.at[i], last = first, next = first;
        struct source_line src = site_source(&first);
        const struct ptx_function *f = site_function(&first);
        for (; next.insn < f->n_insns && site_source(&next).line == src.line && strcmp(site_source(&next).file, src.file) == 0; next.insn++)
            last = next;
        out_line(o);
        out_str(o, "file", src.file);
        out_u64(o, "line", src.line);
        out_str(o, "function", f->name);
        out_u64(o, "first", first.insn);
        out_u64(o, "last", last.insn);
    }
    vec_free(&found.at);
    return good;
}

/* ---- the machine ---- */

bool info_barriers(const struct request *q, struct out *o, struct error *err)
{
    enum { BARRIERS = 16 };
    struct emu_spot s[EMU_SPOTS];
    const struct emu_cta *cta = dbg.focus.cta;
    (void)q, (void)err;
    for (uint32_t b = 0; cta && b < BARRIERS; b++) {
        struct emu_cta_barrier at = emu_cta_barrier_at(cta, b);
        struct textbuf warps = {0};
        uint32_t live = 0;
        if (!at.open)
            continue;
        for (uint32_t w = 0; w < emu_cta_warps(cta); w++) {
            uint32_t n = emu_warp_spots(cta, w, s);
            live += mask_count(emu_warp_live(cta, w));
            for (uint32_t i = 0; i < n; i++)
                if (s[i].state == EMU_LANE_BARRIER && s[i].wait == b) {
                    textbuf_add(&warps, "%s%u", warps.n ? " " : "", w);
                    break;
                }
        }
        out_line(o);
        out_u64(o, "barrier", b);
        out_u64(o, "arrived", at.arrived);
        out_u64(o, "need", at.need ? at.need : live);
        out_str(o, "warps", warps.at ? warps.at : "");
        textbuf_free(&warps);
    }
    return true;
}

bool info_devices(const struct request *q, struct out *o, struct error *err)
{
    (void)q, (void)err;
    for (int i = 0; i < the.n_devices; i++) {
        const struct rt_device_facts *f = the.devices[i].facts;
        out_line(o);
        out_u64(o, "device", (uint64_t)i);
        out_str(o, "name", f->name);
        out_u64(o, "sm", (uint64_t)f->sm);
        out_u64(o, "sms", (uint64_t)f->sm_count);
        out_u64(o, "bytes", f->memory_bytes);
        out_u64(o, "used", the.devices[i].used_bytes);
        out_str(o, "mode", sim_on() ? "sim" : "run");
    }
    return true;
}

static void say_allocation(void *user, const struct allocation *a)
{
    static const char *const kinds[] = {[RT_MEMORY_DEVICE] = "device", [RT_MEMORY_HOST] = "host", [RT_MEMORY_MANAGED] = "managed", [RT_MEMORY_VARIABLE] = "variable"};
    struct out *o = user;
    struct emu_range r;
    size_t n = sizeof kinds / sizeof *kinds;
    out_line(o);
    out_hex(o, "address", a->base);
    out_u64(o, "bytes", a->bytes);
    out_u64(o, "id", a->id);
    out_str(o, "kind", (size_t)a->kind < n && kinds[a->kind] ? kinds[a->kind] : "other");
    out_u64(o, "device", a->device ? (uint64_t)a->device->ordinal : 0);
    if (emu_space_find(the.space, a->base, &r))
        out_str(o, "what", r.what);
}

bool info_allocations(const struct request *q, struct out *o, struct error *err)
{
    (void)q, (void)err;
    allocations_visit(say_allocation, o);
    return true;
}

bool info_streams(const struct request *q, struct out *o, struct error *err)
{
    static const char *const ops[] = {"copy", "set", "record", "wait", "wait-value", "write-value", "free", "host", "callback", "launch"};
    (void)q;
    enum { TRIES = 1000 };                     /* whoever has the lock may be waiting for the debugger's */
    for (int i = 0; pthread_mutex_trylock(&the.lock) != 0; i++) {
        if (i == TRIES)
            return refuse(err, "the program is changing its streams: ask again");
        usleep(1000);
    }
    for (const struct rt_context *c = the.contexts; c; c = c->next)
        for (const struct rt_stream *s = c->streams; s; s = s->next_in_context) {
            uint64_t n = 0;
            for (const struct op *op = s->head; op; op = op->next)
                n++;
            out_line(o);
            out_u64(o, "stream", s->id);
            out_u64(o, "device", (uint64_t)c->device->ordinal);
            if (s->is_legacy)
                out_u64(o, "default", 1);
            out_u64(o, "pending", n);
            if (s->head)
                out_str(o, "head", ops[s->head->kind]);
            if (s->head && s->head->kind == OP_LAUNCH)
                out_str(o, "kernel", rt_function_name(s->head->u.launch.function));
        }
    pthread_mutex_unlock(&the.lock);
    return true;
}

bool info_sm(const struct request *q, struct out *o, struct error *err)
{
    uint64_t sm = 0;
    const char *text = request_word(q, 1);
    if (!sim_on())
        return refuse(err, "SMs have a pipeline on the simulated GPU alone (heddle debug --mode=sim)");
    if (text && !request_number(text, &sm))
        return refuse(err, "'%.40s' is no SM", text);
    char *state = sim_describe(dbg.focus.run ? dbg.focus.run->op->stream->context->device : &the.devices[0], text ? (uint32_t)sm : dbg.focus.cta ? emu_cta_sm(dbg.focus.cta) : 0);
    if (!state)
        return refuse(err, "the simulated GPU has no SM %llu, or has not run yet", (unsigned long long)sm);
    for (char *line = strtok(state, "\n"); line; line = strtok(NULL, "\n")) {
        out_line(o);
        out_str(o, "text", line);
    }
    free(state);
    return true;
}
