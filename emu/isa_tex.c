/* Textures in one and two dimensions and 3D, all lanes side by side: the common forms of tex (level 0, one texture for the whole warp). The results are those of emu/tex_sample.c to the bit; whatever else there is goes there (tex_run). Compiled once per ISA level (LANE_ISA). */
#include <string.h>

#include "emu/tex.h"

#define PASTE2(a, b) a##_##b
#define PASTE(a, b) PASTE2(a, b)
#define LANES _Pragma("GCC ivdep") for (unsigned l = 0; l < WARP_SIZE; l++)

typedef uint32_t word4 __attribute__((may_alias));
typedef int32_t int4 __attribute__((may_alias));
typedef float real4 __attribute__((may_alias));

enum { FRACTION = 256 };
struct axis { int32_t first[WARP_SIZE], second[WARP_SIZE], weight[WARP_SIZE]; };       /* texels, -1: the border; weight of the second in 1/256 */

/* ---- coordinates ---- */

static inline double floor_of(double v)        /* of values below 2^31; the baseline host has no instruction for it */
{
    double t = (double)(int32_t)v;
    return t - (double)(t > v);
}

/* Texels. Further out than 4 all is the same edge or border: a value may be cut there. Floats of 2^24 and more are whole, of 2^25 and more even. */
static inline __attribute__((always_inline)) void texels(const real4 *x, double n, unsigned mode, bool normalized, double u[WARP_SIZE])
{
    if (!normalized) {
        LANES u[l] = (double)x[l];
    } else if (mode == EMU_ADDRESS_WRAP) {
        LANES {
            double v = (double)x[l], a = v < 0 ? -v : v, small = a < 0x1p24 ? v : 0;
            u[l] = (small - floor_of(small)) * n;
        }
    } else if (mode == EMU_ADDRESS_MIRROR) {
        LANES {
            double v = (double)x[l], a = v < 0 ? -v : v, small = a < 0x1p25 ? v : 0;
            u[l] = (small - 2 * floor_of(small / 2)) * n;
        }
    } else {
        LANES u[l] = (double)x[l] * n;
    }
    if (normalized && (mode == EMU_ADDRESS_WRAP || mode == EMU_ADDRESS_MIRROR))
        return;
    LANES {
        double v = u[l];
        v = v > n + 4 ? n + 4 : v;
        u[l] = v >= -4 ? v : v < -4 ? -4 : 0;  /* NaN is 0 */
    }
}

/* Indices from -5 to n + 4, or, when wrapped or mirrored, -1 to 2n. */
static inline __attribute__((always_inline)) void addresses(int32_t i[WARP_SIZE], int32_t n, unsigned mode)
{
    switch (mode) {
    case EMU_ADDRESS_CLAMP:
        LANES {
            int32_t v = i[l] < n ? i[l] : n - 1;
            i[l] = v < 0 ? 0 : v;
        }
        break;
    case EMU_ADDRESS_BORDER: LANES i[l] = i[l] < 0 || i[l] >= n ? -1 : i[l]; break;
    case EMU_ADDRESS_WRAP:
        LANES {
            int32_t v = i[l] < 0 ? i[l] + n : i[l];
            i[l] = v >= n ? v - n : v;
        }
        break;
    default:
        LANES {
            int32_t v = i[l] < 0 ? -1 - i[l] : i[l];
            v = v >= 2 * n ? v - 2 * n : v;
            i[l] = v >= n ? 2 * n - 1 - v : v;
        }
        break;
    }
}

/* Integer coordinates; those outside read the first texel, and zero says so. */
static void axis_of_integers(struct axis *a, const int4 *x, uint32_t size, uint32_t zero[WARP_SIZE])
{
    LANES {
        bool in = (uint32_t)x[l] < size;
        a->first[l] = in ? x[l] : 0;
        zero[l] |= in ? 0 : ~0u;
    }
}

static void axis_of(struct axis *a, const real4 *x, uint32_t size, unsigned mode, bool normalized, bool linear)
{
    double u[WARP_SIZE];
    int32_t n = (int32_t)size;
    texels(x, (double)n, mode, normalized, u);
    if (!linear) {
        LANES a->first[l] = (int32_t)floor_of(u[l]);
    } else {
        LANES {
            double whole = floor_of(u[l] - 0.5), part = u[l] - 0.5 - whole;
            int32_t fixed = (int32_t)(part * FRACTION + 0.5);      /* 0 to 256 */
            a->first[l] = (int32_t)whole + (fixed >> 8);
            a->weight[l] = fixed & (FRACTION - 1);
            a->second[l] = a->first[l] + 1;
        }
        addresses(a->second, n, mode);
    }
    addresses(a->first, n, mode);
}

/* ---- texels ---- */

typedef uint32_t texel_rows[4][WARP_SIZE];

/* offset: bytes from the image's start; always inside it. */
#define LOAD(type, c, value)                                                        \
    for (unsigned l = 0; l < WARP_SIZE; l++) {                                      \
        type x;                                                                     \
        memcpy(&x, image + offset[l] + (c) * sizeof x, sizeof x);                   \
        v[c][l] = (value);                                                          \
    }
static void load(const struct texture *t, const char *image, const uint64_t offset[WARP_SIZE], texel_rows v)
{
    unsigned n = t->d.channels;
    switch (t->d.texel) {
    case EMU_TEXEL_F32: case EMU_TEXEL_U32: case EMU_TEXEL_S32:
        for (unsigned c = 0; c < n; c++)
            LOAD(uint32_t, c, x)
        return;
    case EMU_TEXEL_U8:
        for (unsigned c = 0; c < n; c++)
            LOAD(uint8_t, c, x)
        return;
    case EMU_TEXEL_UN8: {
        float f[WARP_SIZE];
        for (unsigned c = 0; c < n; c++) {
            LOAD(uint8_t, c, x)
            LANES f[l] = (float)(int32_t)v[c][l] / 255.0f;
            memcpy(v[c], f, sizeof f);
        }
        return;
    }
    default: break;
    }
    for (unsigned l = 0; l < WARP_SIZE; l++) {
        uint32_t one[4];
        t->load(image + offset[l], one);
        for (unsigned c = 0; c < n; c++)
            v[c][l] = one[c];
    }
}

/* The texels at (x, y, z) or (x, y) of the slice; y, z NULL in fewer dimensions. */
static void fetch(const struct texture *t, const struct emu_sampler *s, const uint32_t slice[WARP_SIZE], const int32_t *x, const int32_t *y, const int32_t *z, texel_rows v)
{
    const struct emu_level *level = &t->d.level[0];
    uint64_t offset[WARP_SIZE];
    uint32_t out[WARP_SIZE], any = 0;
    LANES {
        int32_t i = x[l];
        out[l] = (uint32_t)(i >> 31);
        offset[l] = (uint64_t)(uint32_t)(i < 0 ? 0 : i) * t->texel_bytes;
    }
    if (y)
        LANES {
            int32_t i = y[l];
            out[l] |= (uint32_t)(i >> 31);
            offset[l] += (uint64_t)(uint32_t)(i < 0 ? 0 : i) * level->pitch;
        }
    if (z)
        LANES {
            int32_t i = z[l];
            out[l] |= (uint32_t)(i >> 31);
            offset[l] += (uint64_t)(uint32_t)(i < 0 ? 0 : i) * level->slice;
        }
    if (slice)
        LANES offset[l] += slice[l] * level->slice;
    load(t, (const char *)(uintptr_t)level->base, offset, v);
    LANES any |= out[l];
    for (unsigned c = 0; any && c < t->d.channels; c++)
        LANES v[c][l] = out[l] ? s->border[c] : v[c][l];
}

/* ---- filters ---- */

static void blend(const struct texture *t, const struct emu_sampler *s, unsigned dims, const uint32_t *slice, const struct axis a[3], texel_rows result)
{
    static const double scale[4] = { 0, 1.0 / 256, 1.0 / 65536, 1.0 / 16777216 };
    double sum[4][WARP_SIZE];
    memset(sum, 0, t->d.channels * sizeof sum[0]);
    for (unsigned k = 0; k < 1u << dims; k++) {
        texel_rows v;
        int32_t weight[WARP_SIZE];
        const int32_t *at[3] = { NULL, NULL, NULL };
        LANES weight[l] = 1;
        for (unsigned i = 0; i < dims; i++) {
            bool second = k >> i & 1;
            at[i] = second ? a[i].second : a[i].first;
            if (second)
                LANES weight[l] *= a[i].weight[l];
            else
                LANES weight[l] *= FRACTION - a[i].weight[l];
        }
        fetch(t, s, slice, at[0], at[1], at[2], v);
        for (unsigned c = 0; c < t->d.channels; c++) {
            float f[WARP_SIZE];
            memcpy(f, v[c], sizeof f);
            LANES {
                double part = (double)weight[l] * (double)f[l];
                sum[c][l] += weight[l] ? part : 0; /* what has no part in it must not make it NaN */
            }
        }
    }
    for (unsigned c = 0; c < t->d.channels; c++) {
        float f[WARP_SIZE];
        LANES f[l] = (float)(sum[c][l] * scale[dims]);
        memcpy(result[c], f, sizeof f);
    }
}

/* zero: lanes that found no texel at all, ~0 each; NULL for none. */
static void put(const struct tex_op *op, struct warp *w, uint32_t mask, const struct texture *t, const uint32_t *zero, texel_rows v)
{
    uint32_t one = t->filters ? 0x3f800000u : 1;
    for (unsigned c = 0; c < 4; c++) {
        word4 *d = row(w, op->d[c]);
        uint32_t missing = c == 3 ? one : 0;
        if (c >= t->d.channels)
            LANES v[c][l] = missing;
        if (zero)
            LANES v[c][l] &= ~zero[l];
        if (mask == FULL_MASK)
            memcpy(d, v[c], sizeof v[c]);
        else
            LANES d[l] = mask >> l & 1 ? v[c][l] : d[l];
    }
}

/* ---- the handler ---- */

static bool uniform(const uint64_t *handle, uint32_t mask)
{
    uint64_t differ = 0, first = handle[__builtin_ctz(mask)];
    for (unsigned l = 0; l < WARP_SIZE; l++)
        differ |= mask >> l & 1 ? handle[l] ^ first : 0;
    return !differ;
}

/* The slice of each lane; NULL when it is 0. With integer coordinates a layer that is not there is no layer. */
static const uint32_t *slices_of(const struct tex_op *op, const struct warp *w, const struct texture *t, uint32_t *zero, uint32_t out[WARP_SIZE])
{
    bool sliced = (t->d.layered || t->d.cube) && t->d.layers;
    uint32_t last = sliced ? t->d.layers - 1 : 0;
    if (!op->layered)
        return NULL;
    const word4 *layer = row(w, op->layer);
    LANES out[l] = layer[l] < last ? layer[l] : last;
    if (op->integer && sliced)
        LANES zero[l] |= layer[l] > last ? ~0u : 0;
    return out;
}

const struct insn *PASTE(tex_plain, LANE_ISA)(const struct insn *in, struct warp *w, struct ctx *c)
{
    const struct tex_op *op = (const struct tex_op *)(uintptr_t)in->imm;
    const uint64_t *handle = row(w, op->texture);
    uint32_t mask = insn_mask(in, w);
    if (!mask)
        return in + 1;
    if (c->event || !uniform(handle, mask))
        return tex_run(in, w, c);
    const struct texture *t = texture_find(handle[__builtin_ctz(mask)]);
    if (!t || t->d.kind != EMU_TEXTURE || (t->d.n_levels > 1 && !op->integer) || !t->load || !texture_alive(t, c))
        return tex_run(in, w, c);
    const struct emu_sampler *s = &t->d.sampler;
    const uint32_t size[3] = { t->d.level[0].width, t->d.level[0].height, t->d.level[0].depth };
    bool linear = s->linear && t->filters && !op->integer;
    struct axis a[3];
    uint32_t slices[WARP_SIZE], zero[WARP_SIZE];
    texel_rows v;
    memset(zero, 0, sizeof zero);
    for (unsigned i = 0; i < op->dims; i++)
        if (op->integer)
            axis_of_integers(&a[i], row(w, op->coord[i]), size[i], zero);
        else
            axis_of(&a[i], row(w, op->coord[i]), size[i], s->address[i], s->normalized, linear);
    const uint32_t *slice = slices_of(op, w, t, zero, slices);
    if (linear)
        blend(t, s, op->dims, slice, a, v);
    else
        fetch(t, s, slice, a[0].first, op->dims > 1 ? a[1].first : NULL, op->dims > 2 ? a[2].first : NULL, v);
    put(op, w, mask, t, op->integer ? zero : NULL, v);
    if (op->resident)
        *(uint32_t *)row(w, op->resident) |= mask;
    return in + 1;
}
