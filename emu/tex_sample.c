/* Sampling: coordinates to texels, filters, levels. emu/texture.h says what was decided where the CUDA guide is silent. */
#include <math.h>
#include <string.h>

#include "emu/tex.h"

enum { FRACTION = 256 };                       /* a weight has 8 bits behind the point and may be 1 */
#define FAR 0x1p30                             /* texels; no texture is that large, and all its multiples of 1/256 are exact */

/* ---- coordinates ---- */

static int64_t floor_mod(int64_t i, int64_t n)
{
    int64_t m = i % n;
    return m < 0 ? m + n : m;
}

/* The texel that index i means, or -1: the border. */
static inline int32_t address(int64_t i, int32_t n, unsigned mode)
{
    if (i >= 0 && i < n)
        return (int32_t)i;
    if (mode == EMU_ADDRESS_CLAMP)
        return i < 0 ? 0 : n - 1;
    if (mode == EMU_ADDRESS_BORDER)
        return -1;
    if (mode == EMU_ADDRESS_WRAP)
        return (int32_t)floor_mod(i, n);
    int64_t m = floor_mod(i, 2 * (int64_t)n);
    return (int32_t)(m < n ? m : 2 * (int64_t)n - 1 - m);
}

/* In texels, not further away than indices can say. */
static inline double texels(double x, int32_t n, unsigned mode, bool normalized)
{
    if (normalized) {
        if (mode == EMU_ADDRESS_WRAP)
            x -= floor(x);
        else if (mode == EMU_ADDRESS_MIRROR)
            x -= 2 * floor(x / 2);
        x *= n;
    }
    return x > FAR ? FAR : x >= -FAR ? x : x < -FAR ? -FAR : 0;        /* NaN is 0, and infinity modulo 1 is NaN */
}

struct foot { int32_t at[2]; int32_t weight; };    /* two texels of a dimension; weight of the second in 1/256 */

static inline int64_t foot_first(double u, int32_t offset, int32_t *weight)
{
    double whole = floor(u - 0.5);
    int32_t fixed = (int32_t)((u - 0.5 - whole) * FRACTION + 0.5);     /* 0 to 256 */
    *weight = fixed & (FRACTION - 1);
    return (int64_t)whole + (fixed >> 8) + offset;
}

static inline void foot_linear(struct foot *f, double u, int32_t n, unsigned mode, int32_t offset)
{
    int64_t i = foot_first(u, offset, &f->weight);
    f->at[0] = address(i, n, mode);
    f->at[1] = address(i + 1, n, mode);
}

/* ---- texels ---- */

static inline uint32_t one_of(const struct texture *t) { return t->filters ? 0x3f800000u : 1; }

static uint64_t place(const struct texture *t, const struct emu_level *l, int32_t x, int32_t y, uint32_t slice)
{
    uint32_t block = t->load ? 1 : 4;
    return l->base + slice * l->slice + (uint64_t)((uint32_t)y / block) * l->pitch + (uint64_t)((uint32_t)x / block) * t->texel_bytes;
}

static void fetch(const struct texture *t, const struct emu_level *l, int32_t x, int32_t y, uint32_t slice, uint32_t out[4])
{
    const char *image = (const char *)(uintptr_t)(l->base + slice * l->slice);
    if (t->load)
        t->load(image + (uint64_t)(uint32_t)y * l->pitch + (uint64_t)(uint32_t)x * t->texel_bytes, out);
    else
        texel_block(t->d.texel, image + (uint64_t)(uint32_t)(y / 4) * l->pitch + (uint64_t)(uint32_t)(x / 4) * t->texel_bytes, x & 3, y & 3, out);
}

static void border(const struct texture *t, const struct emu_sampler *s, uint32_t out[4])
{
    for (unsigned c = 0; c < 4; c++)
        out[c] = c < t->d.channels ? s->border[c] : c == 3 ? one_of(t) : 0;
}

static void compare(const struct texture *t, const struct tex_place *q, uint32_t out[4])
{
    for (unsigned c = 0; c < t->d.channels && t->filters; c++)
        out[c] = q->reference <= texel_float(out[c]) ? 0x3f800000u : 0;
}

static inline void texel_or_border(const struct texture *t, const struct emu_sampler *s, const struct emu_level *l, const struct tex_place *q, int32_t x,
                                   int32_t y, int32_t slice, uint32_t out[4])
{
    if (x < 0 || y < 0 || slice < 0)
        border(t, s, out);
    else
        fetch(t, l, x, y, (uint32_t)slice, out);
    if (q->compare)
        compare(t, q, out);
}

/* ---- cubes ---- */

/* Faces +x -x +y -y +z -z: major axis and sign; which component, with which sign, goes across and which down. */
static const struct { uint8_t major, s, t; int8_t sign, s_sign, t_sign; } faces[6] = {
    { 0, 2, 1, 1, -1, -1 }, { 0, 2, 1, -1, 1, -1 }, { 1, 0, 2, 1, 1, 1 }, { 1, 0, 2, -1, 1, -1 }, { 2, 0, 1, 1, 1, -1 }, { 2, 0, 1, -1, -1, -1 } };

unsigned tex_cube_face(const float v[3], double x[2], const float *const gradient[2], double scaled[2][3])
{
    float ax = fabsf(v[0]), ay = fabsf(v[1]), az = fabsf(v[2]);
    unsigned axis = az >= ax && az >= ay ? 2 : ay >= ax ? 1 : 0, face = 2 * axis + (v[axis] < 0);
    double m = fabs((double)v[axis]), s = faces[face].s_sign * (double)v[faces[face].s], t = faces[face].t_sign * (double)v[faces[face].t];
    if (m == 0 || m != m)
        m = 1;                                 /* no direction at all */
    x[0] = (s / m + 1) / 2;
    x[1] = (t / m + 1) / 2;
    for (unsigned g = 0; gradient && g < 2; g++) {
        double dm = faces[face].sign * (double)gradient[g][axis];
        double ds = faces[face].s_sign * (double)gradient[g][faces[face].s], dt = faces[face].t_sign * (double)gradient[g][faces[face].t];
        scaled[g][0] = (ds * m - s * dm) / (m * m) / 2;
        scaled[g][1] = (dt * m - t * dm) / (m * m) / 2;
        scaled[g][2] = 0;
    }
    return face;
}

/* The texel beside the edge of a face is on the neighbouring face: follow its centre's direction there. */
static void over_edge(const struct texture *t, const struct emu_level *l, int32_t x, int32_t y, uint32_t slice, uint32_t out[4])
{
    int32_t n = (int32_t)l->width;
    unsigned face = slice % 6;
    float v[3];
    double to[2];
    v[faces[face].major] = faces[face].sign;
    v[faces[face].s] = (float)(faces[face].s_sign * ((2.0 * x + 1) / n - 1));
    v[faces[face].t] = (float)(faces[face].t_sign * ((2.0 * y + 1) / n - 1));
    unsigned other = tex_cube_face(v, to, NULL, NULL);
    fetch(t, l, address((int64_t)(to[0] * n), n, EMU_ADDRESS_CLAMP), address((int64_t)(to[1] * n), n, EMU_ADDRESS_CLAMP), slice - face + other, out);
}

/* Of a seamless cube: indices -1 to n. Three faces meet in a corner: the mean of the three texels stands for the fourth. */
static void cube_texel(const struct texture *t, const struct emu_level *l, int32_t x, int32_t y, uint32_t slice, uint32_t out[4])
{
    int32_t n = (int32_t)l->width, ix = address(x, n, EMU_ADDRESS_CLAMP), iy = address(y, n, EMU_ADDRESS_CLAMP);
    if (x == ix && y == iy) {
        fetch(t, l, x, y, slice, out);
    } else if (x == ix || y == iy) {
        over_edge(t, l, x, y, slice, out);
    } else {
        uint32_t near[3][4];
        fetch(t, l, ix, iy, slice, near[0]);
        over_edge(t, l, x, iy, slice, near[1]);
        over_edge(t, l, ix, y, slice, near[2]);
        for (unsigned c = 0; c < 4; c++)
            out[c] = texel_bits((float)(((double)texel_float(near[0][c]) + texel_float(near[1][c]) + texel_float(near[2][c])) / 3));
    }
}

/* ---- one level ---- */

/* The weighted sum of the texels around, as doubles; of channels that the texture has. */
static inline __attribute__((always_inline)) void blend(const struct texture *t, const struct emu_sampler *s, const struct emu_level *l, unsigned dims,
                                                        const struct foot f[3], const struct tex_place *q, double sum[4])
{
    unsigned n = t->d.channels, corners = 1u << dims;
    uint32_t v[4];
    sum[0] = sum[1] = sum[2] = sum[3] = 0;
    for (unsigned k = 0; k < corners; k++) {
        unsigned i = k & 1, j = k >> 1 & 1, m = k >> 2 & 1;
        double weight = i ? f[0].weight : FRACTION - f[0].weight;
        if (dims > 1)
            weight *= j ? f[1].weight : FRACTION - f[1].weight;
        if (dims > 2)
            weight *= m ? f[2].weight : FRACTION - f[2].weight;
        if (weight == 0)                       /* what has no part in it must not make it NaN */
            continue;
        texel_or_border(t, s, l, q, f[0].at[i], dims > 1 ? f[1].at[j] : 0, dims > 2 ? f[2].at[m] : (int32_t)q->slice, v);
        for (unsigned c = 0; c < n; c++)
            sum[c] += weight * texel_float(v[c]);
    }
    static const double scale[4] = { 0, 1.0 / 256, 1.0 / 65536, 1.0 / 16777216 };
    for (unsigned c = 0; c < n; c++)
        sum[c] *= scale[dims];
}

static void blend_seamless(const struct texture *t, const struct emu_level *l, const double u[2], const struct tex_place *q, double sum[4])
{
    int32_t weight[2], at[2];
    for (unsigned i = 0; i < 2; i++)
        at[i] = (int32_t)foot_first(u[i], 0, &weight[i]);
    sum[0] = sum[1] = sum[2] = sum[3] = 0;
    for (unsigned k = 0; k < 4; k++) {
        uint32_t v[4];
        double part = (double)(k & 1 ? weight[0] : FRACTION - weight[0]) * (k >> 1 ? weight[1] : FRACTION - weight[1]);
        if (part == 0)
            continue;
        cube_texel(t, l, at[0] + (int32_t)(k & 1), at[1] + (int32_t)(k >> 1), q->slice, v);
        if (q->compare)
            compare(t, q, v);
        for (unsigned c = 0; c < t->d.channels; c++)
            sum[c] += part / 65536 * texel_float(v[c]);
    }
}

static void level_linear(const struct texture *t, const struct emu_sampler *s, const struct emu_level *l, unsigned dims, const struct tex_place *q, double sum[4])
{
    const uint32_t size[3] = { l->width, l->height, l->depth };
    struct foot f[3];
    double u[3];
    for (unsigned i = 0; i < dims; i++)
        u[i] = texels(q->x[i], (int32_t)size[i], s->address[i], s->normalized);
    if (t->d.cube && s->seamless) {
        blend_seamless(t, l, u, q, sum);
        return;
    }
    for (unsigned i = 0; i < dims; i++)
        foot_linear(&f[i], u[i], (int32_t)size[i], s->address[i], q->offset[i]);
    switch (dims) {
    case 1: blend(t, s, l, 1, f, q, sum); break;
    case 2: blend(t, s, l, 2, f, q, sum); break;
    default: blend(t, s, l, 3, f, q, sum); break;
    }
}

static void nearest(const struct emu_sampler *s, const struct emu_level *l, unsigned dims, const struct tex_place *q, int32_t at[3])
{
    const uint32_t size[3] = { l->width, l->height, l->depth };
    at[0] = at[1] = 0;
    at[2] = (int32_t)q->slice;
    for (unsigned i = 0; i < dims; i++)
        at[i] = address((int64_t)floor(texels(q->x[i], (int32_t)size[i], s->address[i], s->normalized)) + q->offset[i], (int32_t)size[i], s->address[i]);
}

static void level_point(const struct texture *t, const struct emu_sampler *s, const struct emu_level *l, unsigned dims, const struct tex_place *q, uint32_t out[4])
{
    int32_t at[3];
    nearest(s, l, dims, q, at);
    texel_or_border(t, s, l, q, at[0], at[1], at[2], out);
}

/* ---- levels ---- */

/* The level below, and how far it is to the next in 1/256. */
static unsigned level_of(const struct texture *t, const struct emu_sampler *s, double lod, int32_t *fraction)
{
    double top = t->d.n_levels - 1;
    *fraction = 0;
    if (top <= 0)
        return 0;
    lod += (double)s->bias;
    lod = lod > (double)s->min_lod ? lod : (double)s->min_lod;
    lod = lod < (double)s->max_lod ? lod : (double)s->max_lod;
    lod = lod > 0 ? lod < top ? lod : top : 0;
    if (!s->mip_linear)
        return (unsigned)(lod + 0.5);
    int32_t fixed = (int32_t)(lod * FRACTION + 0.5);
    *fraction = fixed & (FRACTION - 1);
    return (unsigned)fixed / FRACTION;
}

static void level_any(const struct texture *t, const struct emu_sampler *s, unsigned level, unsigned dims, const struct tex_place *q, double sum[4])
{
    uint32_t v[4];
    if (s->linear) {
        level_linear(t, s, &t->d.level[level], dims, q, sum);
        return;
    }
    level_point(t, s, &t->d.level[level], dims, q, v);
    for (unsigned c = 0; c < 4; c++)
        sum[c] = texel_float(v[c]);
}

void tex_sample(const struct texture *t, const struct emu_sampler *s, unsigned dims, const struct tex_place *q, uint32_t out[4])
{
    int32_t fraction;
    unsigned level = level_of(t, s, q->lod, &fraction);
    if (!t->filters || (!s->linear && !fraction)) {
        level_point(t, s, &t->d.level[level], dims, q, out);
        return;
    }
    double sum[4], next[4];
    level_any(t, s, level, dims, q, sum);
    if (fraction) {
        level_any(t, s, level + 1, dims, q, next);
        for (unsigned c = 0; c < t->d.channels; c++)
            sum[c] = (sum[c] * (FRACTION - fraction) + next[c] * fraction) / FRACTION;
    }
    for (unsigned c = 0; c < 4; c++)
        out[c] = c < t->d.channels ? texel_bits((float)sum[c]) : c == 3 ? one_of(t) : 0;
}

uint64_t tex_sample_address(const struct texture *t, const struct emu_sampler *s, unsigned dims, const struct tex_place *q)
{
    int32_t fraction, at[3];
    const struct emu_level *l = &t->d.level[level_of(t, s, q->lod, &fraction)];
    nearest(s, l, dims, q, at);
    return at[0] < 0 || at[1] < 0 || at[2] < 0 ? 0 : place(t, l, at[0], at[1], (uint32_t)at[2]);
}

void tex_gather(const struct texture *t, const struct emu_sampler *s, unsigned channel, const struct tex_place *q, uint32_t out[4])
{
    static const uint8_t corner[4][2] = { { 0, 1 }, { 1, 1 }, { 1, 0 }, { 0, 0 } };
    const struct emu_level *l = &t->d.level[0];
    const uint32_t size[2] = { l->width, l->height };
    struct foot f[2];
    uint32_t v[4];
    double u[2];
    int64_t at[2];
    for (unsigned i = 0; i < 2; i++) {
        u[i] = texels(q->x[i], (int32_t)size[i], s->address[i], s->normalized);
        foot_linear(&f[i], u[i], (int32_t)size[i], s->address[i], q->offset[i]);
        at[i] = foot_first(u[i], 0, &f[i].weight);
    }
    for (unsigned k = 0; k < 4; k++) {
        if (t->d.cube && s->seamless && t->filters)
            cube_texel(t, l, (int32_t)at[0] + corner[k][0], (int32_t)at[1] + corner[k][1], q->slice, v);
        else
            texel_or_border(t, s, l, &(struct tex_place){ 0 }, f[0].at[corner[k][0]], f[1].at[corner[k][1]], (int32_t)q->slice, v);
        if (q->compare)
            compare(t, q, v);
        out[k] = v[channel];
    }
}

/* The level and slice of a texel; NULL: there is none. */
static const struct emu_level *level_with(const struct texture *t, const int64_t at[3], uint64_t slice, int64_t level, uint32_t *z_out)
{
    if (level < 0 || level >= t->d.n_levels)
        return NULL;
    const struct emu_level *l = &t->d.level[level];
    bool sliced = t->d.layered || t->d.cube;
    int64_t z = sliced ? (int64_t)slice : at[2];
    *z_out = (uint32_t)z;
    bool out = at[0] < 0 || at[0] >= l->width || at[1] < 0 || at[1] >= l->height || z < 0 || z >= (sliced ? t->d.layers : l->depth);
    return out ? NULL : l;
}

void tex_texel(const struct texture *t, const int64_t at[3], uint64_t slice, int64_t level, uint32_t out[4])
{
    uint32_t z;
    const struct emu_level *l = level_with(t, at, slice, level, &z);
    out[0] = out[1] = out[2] = out[3] = 0;
    if (l)
        fetch(t, l, (int32_t)at[0], (int32_t)at[1], z, out);
}

uint64_t tex_texel_address(const struct texture *t, const int64_t at[3], uint64_t slice, int64_t level)
{
    uint32_t z;
    const struct emu_level *l = level_with(t, at, slice, level, &z);
    return l ? place(t, l, (int32_t)at[0], (int32_t)at[1], z) : 0;
}

double tex_gradient_lod(const struct texture *t, const struct emu_sampler *s, unsigned dims, double gradient[2][3])
{
    const uint32_t size[3] = { t->d.level[0].width, t->d.level[0].height, t->d.level[0].depth };
    double longest = 0;
    for (unsigned g = 0; g < 2; g++) {
        double square = 0;
        for (unsigned i = 0; i < dims; i++) {
            double d = gradient[g][i] * (s->normalized ? size[i] : 1);
            square += d * d;
        }
        longest = square > longest ? square : longest;
    }
    return longest > 0 ? log2(longest) / 2 : -FAR;
}
