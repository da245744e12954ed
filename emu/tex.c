/* tex, tld4, txq, suq: records to sampling and back. */
#include <string.h>

#include "emu/half.h"
#include "emu/space.h"
#include "emu/tex.h"
#include "ptx/sampler.h"

/* ---- handles ---- */

static const char *const kind_names[] = { "texture", "surface" };

/* The eight bytes of a .texref, .samplerref or .surfref variable. False: no memory there. */
static bool variable(const struct ctx *c, uint64_t address, uint64_t *value)
{
    struct range_cache r;
    if (address & 7 || !space_lookup(c->space, address, 0, &r) || r.hi - address < 8)
        return false;
    memcpy(value, (const void *)(uintptr_t)address, 8);
    return true;
}

const struct texture *tex_resolve(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lane, uint64_t handle, enum emu_texture_kind kind)
{
    const struct texture *t = texture_find(handle);
    uint64_t bound = handle;
    const char *name = kind_names[kind];
    if (!t && variable(c, handle, &bound)) {
        if (!bound) {
            insn_fault(in, w, c, lane, ST_ILLEGAL_ADDRESS, "the %s reference at 0x%llx: nothing is bound to it", name, (unsigned long long)handle);
            return NULL;
        }
        t = texture_find(bound);
    }
    if (!t) {
        insn_fault(in, w, c, lane, ST_ILLEGAL_ADDRESS, "0x%llx is no %s object: it was never created, or it was destroyed", (unsigned long long)bound, name);
        return NULL;
    }
    if (t->d.kind != kind) {
        insn_fault(in, w, c, lane, ST_ILLEGAL_ADDRESS, "0x%llx is a %s object where a %s is wanted", (unsigned long long)bound, kind_names[t->d.kind], name);
        return NULL;
    }
    if (!texture_alive(t, c) && (!t->d.linear_memory || texture_reach(t, c) == t->d.lo)) {
        insn_fault(in, w, c, lane, ST_ILLEGAL_ADDRESS, "the memory of %s 0x%llx, [0x%llx, 0x%llx), was freed", name, (unsigned long long)bound,
                   (unsigned long long)t->d.lo, (unsigned long long)t->d.hi);
        return NULL;
    }
    return t;
}

/* A sampler operand: the address of a .samplerref, whose bytes are PTX_SAMPLER fields; or a handle, for the sampler of that texture. */
static bool sampler_of(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lane, uint64_t value, const struct texture *t, struct emu_sampler *out)
{
    static const uint8_t modes[8] = { EMU_ADDRESS_WRAP, EMU_ADDRESS_MIRROR, EMU_ADDRESS_CLAMP, EMU_ADDRESS_CLAMP, EMU_ADDRESS_BORDER };
    uint64_t fields = value;
    const struct texture *other = texture_find(value);
    *out = t->d.sampler;
    if (!other && !variable(c, value, &fields)) {
        insn_fault(in, w, c, lane, ST_ILLEGAL_ADDRESS, "0x%llx is no sampler", (unsigned long long)value);
        return false;
    }
    if (!other && fields && !(fields & PTX_SAMPLER_MARK))
        other = texture_find(fields);
    if (other) {
        *out = other->d.sampler;
        return true;
    }
    out->linear = fields & PTX_SAMPLER_LINEAR;
    out->normalized = t->d.sampler.normalized && !(fields & PTX_SAMPLER_FORCE_UNNORMALIZED);
    for (unsigned i = 0; i < 3; i++) {
        out->address[i] = modes[fields >> PTX_SAMPLER_ADDRESS(i) & 7];
        if (!out->normalized && out->address[i] != EMU_ADDRESS_BORDER)
            out->address[i] = EMU_ADDRESS_CLAMP;
    }
    return true;
}

/* What the lanes of a warp sample: nearly always one texture, looked up once. */
struct source {
    uint64_t texture, sampler;
    const struct texture *t;
    const struct emu_sampler *s;
    struct emu_sampler own;
    uint64_t reach;                            /* linear memory may end before the texture does, which CUDA does not look at: texels from here on fault */
};

static bool source_of(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lane, const struct tex_op *op, struct source *now)
{
    uint64_t texture = ((const uint64_t *)row(w, op->texture))[lane], sampler = op->sampler ? ((const uint64_t *)row(w, op->sampler))[lane] : 0;
    if (now->t && now->texture == texture && now->sampler == sampler)
        return true;
    now->texture = texture;
    now->sampler = sampler;
    now->t = tex_resolve(in, w, c, lane, texture, EMU_TEXTURE);
    if (!now->t)
        return false;
    now->reach = texture_alive(now->t, c) ? UINT64_MAX : texture_reach(now->t, c);
    now->s = &now->t->d.sampler;
    if (!op->sampler)
        return true;
    now->s = &now->own;
    return sampler_of(in, w, c, lane, sampler, now->t, &now->own);
}

/* ---- places ---- */

static inline uint32_t word(const struct warp *w, uint32_t at, uint32_t lane) { return ((const uint32_t *)(const void *)(w->frame + at))[lane]; }

/* Layers beyond the last are the last. Of cubes, layer is the number of the cube. */
static uint32_t clamped_layer(const struct texture *t, const struct tex_op *op, uint32_t layer)
{
    uint32_t n = t->d.layered || t->d.cube ? t->d.layers : 1;
    n = op->cube ? n / 6 : n;
    return layer < n ? layer : n ? n - 1 : 0;
}

static void place_of(const struct tex_op *op, const struct warp *w, uint32_t lane, const struct source *src, struct tex_place *q)
{
    float v[3] = { 0, 0, 0 }, g[2][3];
    double gradient[2][3];
    unsigned dims = op->cube ? 3 : op->dims;
    for (unsigned i = 0; i < dims; i++)
        v[i] = texel_float(word(w, op->coord[i], lane));
    bool grad = op->lod == TEX_LOD_GRAD;
    for (unsigned k = 0; grad && k < 2; k++)
        for (unsigned i = 0; i < dims; i++)
            gradient[k][i] = (double)(g[k][i] = texel_float(word(w, op->gradient[k][i], lane)));
    q->slice = op->layered ? clamped_layer(src->t, op, word(w, op->layer, lane)) : 0;
    if (op->cube) {
        const float *const both[2] = { g[0], g[1] };
        q->slice = q->slice * 6 + tex_cube_face(v, q->x, grad ? both : NULL, gradient);
        if (src->t->d.layers < 6)
            q->slice = 0;                      /* no cube at all */
    } else {
        for (unsigned i = 0; i < dims; i++)
            q->x[i] = (double)v[i];
    }
    for (unsigned i = 0; i < op->dims && op->offset[0]; i++)
        q->offset[i] = (int32_t)word(w, op->offset[i], lane);
    if (op->lod == TEX_LOD_LEVEL)
        q->lod = (double)texel_float(word(w, op->level, lane));
    else if (grad)
        q->lod = tex_gradient_lod(src->t, src->s, op->dims, gradient);
    if (op->reference)
        q->reference = texel_float(word(w, op->reference, lane));
}

struct texel_place {
    int64_t at[3], level;
    uint32_t slice;
};

static struct texel_place texel_place_of(const struct tex_op *op, const struct warp *w, uint32_t lane)
{
    struct texel_place p = { .slice = op->layered ? word(w, op->layer, lane) : 0 };
    for (unsigned i = 0; i < op->dims; i++)
        p.at[i] = (int64_t)(int32_t)word(w, op->coord[i], lane) + (op->offset[0] ? (int32_t)word(w, op->offset[i], lane) : 0);
    p.level = op->lod == TEX_LOD_LEVEL ? (int32_t)word(w, op->level, lane) : 0;
    if (op->samples && word(w, op->sample, lane))
        p.level = -1;                          /* there is one sample: nothing is found */
    return p;
}

/* ---- results ---- */

static inline void put(const struct tex_op *op, struct warp *w, uint32_t lane, const struct texture *t, const uint32_t v[4])
{
    uint16_t h[4];
    if (op->result == TEX_WORDS) {
        for (unsigned i = 0; i < 4; i++)
            ((uint32_t *)row(w, op->d[i]))[lane] = v[i];
        return;
    }
    for (unsigned i = 0; i < 4; i++)
        h[i] = t->filters ? half_code(texel_float(v[i])) : (uint16_t)v[i];
    for (unsigned i = 0; i < 4 && op->result == TEX_HALVES; i++)
        ((uint16_t *)row(w, op->d[i]))[lane] = h[i];
    for (unsigned i = 0; i < 2 && op->result == TEX_HALF_PAIRS; i++)
        ((uint32_t *)row(w, op->d[i]))[lane] = (uint32_t)h[2 * i + 1] << 16 | h[2 * i];
}

/* Steppers see an access of the nearest texel, or of address 0 outside of the image: which other texels a filter takes is the texture unit's affair. */
static void note(struct ctx *c, uint32_t lane, const struct texture *t, uint64_t where)
{
    c->event->space = PTX_SPACE_TEX;
    c->event->bytes = (uint8_t)t->texel_bytes;
    c->event->store = c->event->atomic = false;
    c->event->address = c->event_address;
    c->event_address[lane] = where;
}

/* A texel at address `where`; 0: outside of the image. */
static bool reached(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lane, const struct source *src, uint64_t where)
{
    if (where < src->reach && src->reach - where >= src->t->texel_bytes)
        return true;
    insn_fault(in, w, c, lane, ST_ILLEGAL_ADDRESS, "the texel at 0x%llx of texture 0x%llx, [0x%llx, 0x%llx): its memory ends at 0x%llx", (unsigned long long)where,
               (unsigned long long)src->t->handle, (unsigned long long)src->t->d.lo, (unsigned long long)src->t->d.hi, (unsigned long long)src->reach);
    return false;
}

static const struct insn *run(const struct insn *in, struct warp *w, struct ctx *c, bool gather)
{
    const struct tex_op *op = (const struct tex_op *)(uintptr_t)in->imm;
    uint32_t mask = insn_mask(in, w), v[4];
    uint64_t where = 0;
    struct source src = { 0 };
    struct tex_place q = { .compare = op->reference != TEX_NO_ROW };
    struct texel_place p = { 0 };
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        if (!source_of(in, w, c, lane, op, &src))
            return NULL;
        bool locate = c->event || src.reach != UINT64_MAX;
        if (op->integer) {
            p = texel_place_of(op, w, lane);
            if (locate)
                where = tex_texel_address(src.t, p.at, p.slice, p.level);
        } else {
            place_of(op, w, lane, &src, &q);
            if (op->cube && !src.s->normalized) {      /* a direction has no size */
                src.own = *src.s;
                src.own.normalized = true;
                src.s = &src.own;
            }
            if (locate)
                where = tex_sample_address(src.t, src.s, op->dims, &q);
        }
        if (locate && !reached(in, w, c, lane, &src, where))
            return NULL;
        if (op->integer)
            tex_texel(src.t, p.at, p.slice, p.level, v);
        else if (gather)
            tex_gather(src.t, src.s, op->channel, &q, v);
        else
            tex_sample(src.t, src.s, op->dims, &q, v);
        put(op, w, lane, src.t, v);
        if (c->event)
            note(c, lane, src.t, where);
    }
    if (op->resident)
        *(uint32_t *)row(w, op->resident) |= mask;     /* memory that is there at all is there whole */
    return in + 1;
}

const struct insn *tex_run(const struct insn *in, struct warp *w, struct ctx *c) { return run(in, w, c, false); }
const struct insn *tex_run_gather(const struct insn *in, struct warp *w, struct ctx *c) { return run(in, w, c, true); }

/* ---- queries ---- */

static uint32_t level_size(const struct texture *t, enum tex_query q, uint32_t level)
{
    uint32_t whole = q == TEXQ_WIDTH ? t->d.width : q == TEXQ_HEIGHT ? t->d.height : t->d.depth;
    if (!whole || level >= t->d.n_levels)
        return 0;
    const struct emu_level *l = &t->d.level[level];
    return q == TEXQ_WIDTH ? l->width : q == TEXQ_HEIGHT ? l->height : l->depth;
}

static uint32_t answer(const struct texture *t, const struct emu_sampler *s, enum tex_query q, uint32_t level)
{
    static const uint32_t order[5] = { 0, 0x10b0, 0x10b2, 0, 0x10b5 };             /* OpenCL's R, RG, RGBA */
    static const uint32_t address_mode[4] = { 0, 3, 1, 4 };                        /* PTX counts wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border */
    switch (q) {
    case TEXQ_WIDTH: case TEXQ_HEIGHT: case TEXQ_DEPTH: return level_size(t, q, level);
    case TEXQ_DATA_TYPE: return emu_texel_facts[t->d.texel].cl;
    case TEXQ_ORDER: return order[t->d.channels];
    case TEXQ_NORMALIZED: return s->normalized;
    case TEXQ_ARRAY_SIZE: return t->d.layered || t->d.cube ? t->d.layers : 0;
    case TEXQ_LEVELS: return t->d.n_levels;
    case TEXQ_SAMPLES: return 1;
    case TEXQ_FORCE_UNNORMALIZED: return 0;
    case TEXQ_FILTER: return s->linear;
    case TEXQ_ADDRESS_0: case TEXQ_ADDRESS_1: case TEXQ_ADDRESS_2: return address_mode[s->address[q - TEXQ_ADDRESS_0]];
    case TEXQ_MEMORY_LAYOUT: break;
    }
    return t->d.linear_memory;
}

/* Of a .samplerref: its fields as they are. */
static bool sampler_answer(const struct ctx *c, uint64_t value, enum tex_query q, uint32_t *out)
{
    uint64_t fields;
    if (q < TEXQ_FORCE_UNNORMALIZED || q > TEXQ_ADDRESS_2 || !variable(c, value, &fields) || (fields && !(fields & PTX_SAMPLER_MARK)))
        return false;
    *out = q == TEXQ_FORCE_UNNORMALIZED ? (fields & PTX_SAMPLER_FORCE_UNNORMALIZED) != 0
         : q == TEXQ_FILTER ? (fields & PTX_SAMPLER_LINEAR) != 0 : (uint32_t)(fields >> PTX_SAMPLER_ADDRESS(q - TEXQ_ADDRESS_0) & 7);
    return true;
}

const struct insn *tex_run_query(const struct insn *in, struct warp *w, struct ctx *c)
{
    enum emu_texture_kind kind = in->target ? EMU_SURFACE : EMU_TEXTURE;
    const uint64_t *handle = row(w, in->a);
    uint32_t *d = row(w, in->d);
    for (uint32_t m = insn_mask(in, w); m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        if (kind == EMU_TEXTURE && sampler_answer(c, handle[lane], (enum tex_query)in->extra, &d[lane]))
            continue;
        const struct texture *t = tex_resolve(in, w, c, lane, handle[lane], kind);
        if (!t)
            return NULL;
        d[lane] = answer(t, &t->d.sampler, (enum tex_query)in->extra, in->b ? word(w, in->b, lane) : 0);
    }
    return in + 1;
}
