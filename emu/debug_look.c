/* What a warp has, for debuggers: where its lanes are, their calls, registers, variables. Changes nothing but what it is told to write. */
#include <stdatomic.h>
#include <string.h>

#include "emu/cluster.h"
#include "emu/debug.h"
#include "emu/decoder.h"

uint64_t emu_cta_index(const struct emu_cta *cta) { return cta->index; }
uint32_t emu_cta_sm(const struct emu_cta *cta) { return cta->smid; }
uint32_t emu_cta_warps(const struct emu_cta *cta) { return cta->n_warps; }
uint32_t emu_cta_ranks(const struct emu_cta *cta) { return cta->cluster ? cta->cluster->n : 1; }
const struct emu_launch *emu_cta_launch(const struct emu_cta *cta) { return &cta->grid->launch; }
struct emu_kernel *emu_cta_kernel(const struct emu_cta *cta) { return cta->grid->kernel; }
uint32_t emu_warp_live(const struct emu_cta *cta, uint32_t warp) { return ~cta->warps[warp].exited; }

void emu_cta_id(const struct emu_cta *cta, uint32_t ctaid[3]) { memcpy(ctaid, cta->ctaid, sizeof cta->ctaid); }

bool emu_warp_running(const struct emu_cta *cta, uint32_t warp)
{
    const struct warp *w = &cta->warps[warp];
    return w->state != WARP_DONE && ((w->mask && !w->flow->barrier) || flow_has_ready(w));
}

struct emu_cta_barrier emu_cta_barrier_at(const struct emu_cta *cta, uint32_t id)
{
    const struct cta_barrier *b = &cta->barriers[id];
    return (struct emu_cta_barrier){ b->arrived, b->need, cta->barriers_open >> id & 1 };
}

const char *emu_lane_state_text(enum emu_lane_state s)
{
    static const char *const text[] = { "running", "ready", "join", "barrier", "sync", "sleep", "cluster", "mbarrier", "done" };
    return text[s];
}

/* ---- spots ------------------------------------------------------------------------------------------------------------- */

struct spots { struct emu_spot *at; uint32_t n; };

static struct emu_spot *add(struct spots *s, enum emu_lane_state state, uint32_t mask, const struct insn *next, const struct activation *a)
{
    static struct emu_spot beyond;             /* a warp has 32 lanes, each in one place */
    struct emu_spot *p = s->n < EMU_SPOTS ? &s->at[s->n++] : &beyond;
    const struct code *code = a->code;
    while (next && (next->full == run_meet || next->full == run_count)) next++;
    bool inside = next && next >= code->insns && next < code->insns + code->n_insns;
    *p = (struct emu_spot){ .state = state, .mask = mask, .active = mask, .function = code->number, .insn = inside ? next->ptx : code->function->n_insns, .place = a };
    if (inside && state <= EMU_LANE_READY) p->active = mask & (*(const uint32_t *)(const void *)(a->frame + next->guard) ^ next->guard_flip);
    return p;
}

static void add_joins(struct spots *s, const struct join *j, uint32_t *seen)
{
    for (; j; j = j->parent) {
        uint32_t lanes = j->arrived & ~*seen;
        if (!lanes) continue;
        *seen |= lanes;
        if (j->at) add(s, EMU_LANE_JOIN, lanes, j->at + 1, j->act);
        else add(s, EMU_LANE_JOIN, lanes, j->act->back, j->act->parent);
    }
}

static enum emu_lane_state state_of(enum split_state s)
{
    static const uint8_t states[] = { [SPLIT_READY] = EMU_LANE_READY, [SPLIT_JOIN] = EMU_LANE_JOIN, [SPLIT_BARRIER] = EMU_LANE_BARRIER, [SPLIT_SYNC] = EMU_LANE_SYNC,
                                      [SPLIT_SLEEP] = EMU_LANE_SLEEP, [SPLIT_CLUSTER] = EMU_LANE_CLUSTER, [SPLIT_MBARRIER] = EMU_LANE_MBARRIER };
    return (enum emu_lane_state)states[s];
}

uint32_t emu_warp_spots(const struct emu_cta *cta, uint32_t warp, struct emu_spot out[EMU_SPOTS])
{
    const struct warp *w = &cta->warps[warp];
    const struct warp_flow *f = w->flow;
    struct spots s = { out, 0 };
    uint32_t seen = 0;
    if (w->state == WARP_DONE) return 0;
    if (w->mask) {
        struct emu_spot *p = add(&s, f->barrier ? EMU_LANE_BARRIER : EMU_LANE_RUNNING, w->mask, w->next, f->act);
        if (f->barrier) p->wait = f->barrier - 1;
    }
    for (uint32_t i = f->n; i-- > 0;) {
        const struct split *x = &f->waiting[i];
        struct emu_spot *p = add(&s, state_of((enum split_state)x->state), x->mask, x->next, x->act);
        p->wait = x->sync_mask;
        bool next = x->state == SPLIT_READY && s.n > 1 && s.at[0].state != EMU_LANE_RUNNING && s.at[0].state != EMU_LANE_READY;
        if (next) {                            /* the one that runs next comes first */
            struct emu_spot t = s.at[0];
            s.at[0] = *p;
            *p = t;
        }
    }
    for (uint32_t i = 0; i < s.n; i++) seen |= s.at[i].mask;
    if (w->mask) add_joins(&s, f->join, &seen);
    for (uint32_t i = 0; i < f->n; i++) add_joins(&s, f->waiting[i].join, &seen);
    return s.n;
}

bool emu_lane_spot(const struct emu_cta *cta, uint32_t warp, uint32_t lane, struct emu_spot *out)
{
    struct emu_spot all[EMU_SPOTS];
    uint32_t n = emu_warp_spots(cta, warp, all);
    for (uint32_t i = 0; i < n; i++)
        if (all[i].mask >> lane & 1) {
            *out = all[i];
            return true;
        }
    return false;
}

uint32_t emu_spot_frames(const struct emu_spot *s, struct emu_frame *out, uint32_t n)
{
    const struct activation *a = s->place;
    uint32_t insn = s->insn, count = 0;
    for (; a; a = a->parent) {
        if (count < n) out[count] = (struct emu_frame){ a->code->number, insn, a };
        count++;
        insn = a->back ? (a->back - 1)->ptx : 0;
    }
    return count;
}

/* ---- registers --------------------------------------------------------------------------------------------------------------- */

static char *reg_at(const struct emu_frame *f, uint32_t reg, unsigned *width)
{
    const struct activation *a = f->place;
    const struct code *c = a->code;
    if (!c->names || reg >= c->function->n_regs || !c->names->reg_row[reg]) return NULL;
    *width = decode_type_width((enum ptx_type)c->function->regs[reg].type);
    return a->frame + c->names->reg_row[reg];
}

bool emu_reg_read(const struct emu_frame *f, uint32_t lane, uint32_t reg, uint64_t value[2])
{
    unsigned width;
    const char *row_ = reg_at(f, reg, &width);
    value[0] = value[1] = 0;
    if (!row_) return false;
    if (width) memcpy(value, row_ + (size_t)width * lane, width);
    else value[0] = *(const uint32_t *)(const void *)row_ >> lane & 1;
    return true;
}

bool emu_reg_read_row(const struct emu_frame *f, uint32_t reg, uint64_t out[WARP_SIZE])
{
    unsigned width;
    const char *row_ = reg_at(f, reg, &width);
    if (!row_) return false;
    const uint32_t *words = (const void *)row_;
    const uint64_t *longs = (const void *)row_;
    for (unsigned l = 0; l < WARP_SIZE; l++) {
        if (width == 4) out[l] = words[l];
        else if (width == 8) out[l] = longs[l];
        else if (!width) out[l] = words[0] >> l & 1;
        else {
            out[l] = 0;
            memcpy(&out[l], row_ + (size_t)width * l, width < 8 ? width : 8);
        }
    }
    return true;
}

bool emu_reg_write(const struct emu_frame *f, uint32_t lane, uint32_t reg, const uint64_t value[2])
{
    unsigned width;
    char *row_ = reg_at(f, reg, &width);
    if (!row_) return false;
    uint32_t *mask = (void *)row_;
    if (width) memcpy(row_ + (size_t)width * lane, value, width);
    else *mask = (*mask & ~(1u << lane)) | (uint32_t)(value[0] & 1) << lane;
    return true;
}

uint64_t emu_sreg_read(struct emu_worker *w, const struct emu_cta *cta, uint32_t warp, uint32_t lane, enum ptx_sreg s, unsigned component)
{
    return sreg_show(s, component, (struct ctx *)(void *)w, &cta->warps[warp], lane);
}

/* ---- memory -------------------------------------------------------------------------------------------------------------------- */

char *emu_shared_bytes(const struct emu_cta *cta, uint32_t *bytes)
{
    *bytes = cta->shared_bytes;
    return cta->shared_bytes ? cta->shared : NULL;
}

uint64_t emu_shared_address(const struct emu_cta *cta) { return cluster_generic(cta->cluster_rank, 0); }

char *emu_local_bytes(const struct emu_cta *cta, uint32_t warp, uint32_t lane, uint32_t *bytes)
{
    const struct warp *w = &cta->warps[warp];
    *bytes = w->local_stride;
    return w->local && w->local_stride ? w->local + (size_t)lane * w->local_stride : NULL;
}

const char *emu_param_bytes(const struct emu_cta *cta, uint32_t *bytes)
{
    *bytes = cta->grid->launch.param_bytes;
    return cta->grid->launch.params;
}

static char *in_range(const struct emu_space *space, uint64_t address, uint64_t bytes, bool *writable)
{
    struct emu_range r;
    if (!space || !emu_space_find(space, address, &r) || r.hi - address < bytes) return NULL;
    *writable = !r.read_only;
    return (char *)(uintptr_t)address;
}

char *emu_generic_bytes(const struct emu_cta *cta, uint32_t warp, uint32_t lane, uint64_t address, uint64_t bytes, bool *writable)
{
    struct cluster_place place;
    uint32_t have;
    *writable = true;
    if (address >= EMU_SHARED_WINDOW && address - EMU_SHARED_WINDOW < EMU_WINDOW_BYTES) {
        struct emu_cta *self = (struct emu_cta *)(uintptr_t)cta;   /* the translation is everybody's */
        return bytes <= UINT32_MAX ? cluster_at(self, cluster_of_generic(address, cta->cluster_rank), (uint32_t)bytes, &place) : NULL;
    }
    if (address >= EMU_LOCAL_WINDOW && address - EMU_LOCAL_WINDOW < EMU_WINDOW_BYTES) {
        char *p = emu_local_bytes(cta, warp, lane, &have);
        uint64_t at = address - EMU_LOCAL_WINDOW;
        return p && at <= have && have - at >= bytes ? p + at : NULL;
    }
    return in_range(kernel_space(cta->grid->kernel), address, bytes, writable);
}

/* ---- variables ------------------------------------------------------------------------------------------------------------------ */

static enum emu_var_space own_var(const struct emu_cta *cta, const struct activation *a, uint32_t own, int32_t sym, uint64_t *at)
{
    const struct code *c = a->code;
    const struct ptx_var *v = &c->function->vars[own];
    uint32_t offset;
    uintptr_t address;
    switch (v->space) {
    case PTX_SPACE_SHARED:
        *at = kernel_shared_at(cta->grid->kernel, c->number, sym, &offset) ? offset : 0;
        return EMU_VAR_SHARED;
    case PTX_SPACE_LOCAL:
        *at = c->names ? a->local_sp + c->names->local_at[own] : 0;
        return c->names ? EMU_VAR_LOCAL : EMU_VAR_NONE;
    case PTX_SPACE_PARAM:
        *at = c->function->is_entry ? v->offset : c->names ? c->names->var_row[own] : 0;
        for (uint32_t i = 0; i < c->function->proto.n_params; i++)
            if ((uint32_t)c->function->proto.params[i] == own && c->function->is_entry) return EMU_VAR_PARAM;
        *at = c->names ? c->names->var_row[own] : 0;
        return *at ? EMU_VAR_WORDS : EMU_VAR_NONE;
    case PTX_SPACE_GLOBAL: case PTX_SPACE_CONST:
        if (!map_get_int(&cta->grid->kernel->image->body_variables, (uint64_t)c->number << 32 | own, &address)) return EMU_VAR_NONE;
        *at = address;
        return EMU_VAR_GLOBAL;
    default: return EMU_VAR_NONE;
    }
}

enum emu_var_space emu_var_find(const struct emu_cta *cta, const struct emu_frame *f, int32_t sym, uint64_t *at)
{
    const struct activation *a = f->place;
    struct emu_kernel *k = cta->grid->kernel;
    const struct ptx_module *m = k->image->m;
    uint32_t offset;
    *at = 0;
    if (sym < 0) return EMU_VAR_NONE;
    if ((uint32_t)sym >= m->n_symbols) return (uint32_t)sym - m->n_symbols < a->code->function->n_vars ? own_var(cta, a, (uint32_t)sym - m->n_symbols, sym, at) : EMU_VAR_NONE;
    if (m->symbols[sym].kind != PTX_SYMBOL_VAR) return EMU_VAR_NONE;
    const struct ptx_var *v = &m->vars[m->symbols[sym].index];
    if (v->space == PTX_SPACE_SHARED) {
        if (!kernel_shared_at(k, a->code->number, sym, &offset)) return EMU_VAR_NONE;
        *at = offset;
        return EMU_VAR_SHARED;
    }
    *at = k->image->var_address[m->symbols[sym].index];
    return *at ? EMU_VAR_GLOBAL : EMU_VAR_NONE;
}

bool emu_words_read(const struct emu_frame *f, uint64_t at, uint32_t lane, void *out, uint32_t bytes)
{
    const struct activation *a = f->place;
    for (uint32_t done = 0; done < bytes; done += 4) {
        uint64_t word = at + (uint64_t)done / 4 * 4 * WARP_SIZE;
        if (word + 4 * WARP_SIZE > a->code->frame_bytes) return false;
        memcpy((char *)out + done, a->frame + word + 4u * lane, bytes - done < 4 ? bytes - done : 4);
    }
    return true;
}
