/* Fused handlers: see emu/fuse.h. Compiled once per ISA level of the host (LANE_ISA). */
#include "emu/fuse.h"
#include "emu/isa_mem.h"
#include "emu/lane_float.h"

#define ARGS const struct insn *in, struct warp *w, struct ctx *c

enum { FLOAT_BYTES = VEC_BYTES < 32 ? VEC_BYTES : 32, NF = FLOAT_BYTES / 4 };       /* no more than a group of lanes */
typedef float vf __attribute__((vector_size(FLOAT_BYTES), may_alias));
typedef float vf_in_memory __attribute__((vector_size(FLOAT_BYTES), aligned(4), may_alias));
typedef uint32_t vi __attribute__((vector_size(FLOAT_BYTES), may_alias));

INLINE vf fma_lanes(vf a, vf b, vf c)
{
#ifdef __FMA__
    __m256 r = _mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c), nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    return (vf)_mm256_blendv_ps(r, nan, _mm256_cmp_ps(r, r, _CMP_UNORD_Q));
#else
    vf r;
    for (int i = 0; i < NF; i++)
        r[i] = f32_canon(__builtin_fmaf(a[i], b[i], c[i]));
    return r;
#endif
}

/* ---- fma, fma ---------------------------------------------------------------------------------------------------- */

static const struct insn *fma_fma(ARGS)
{
    for (;; in++) {
        vf *d = row(w, in->d);
        const vf *a = row(w, in->a), *b = row(w, in->b), *e = row(w, in->c);
        for (int i = 0; i < WARP_SIZE / NF; i++)
            d[i] = fma_lanes(a[i], b[i], e[i]);
        if (in->full != fma_fma || UNLIKELY(c->event != NULL))     /* the last of a row of them is a plain one */
            return in + 1;
    }
}

/* ---- load, load, fma --------------------------------------------------------------------------------------------- */

struct known { const struct mem_shape *shape; const char *lowest; };

/* False: the load's own handler must see to it. */
INLINE bool known_load(const struct insn *in, const struct warp *w, const struct ctx *c, struct known *k)
{
    k->shape = row(w, in->charge * 64u);
    struct window o = window_of(w, c, in, MEM_SHARED, false);
    uint32_t lo = (uint32_t)(k->shape->lo + in->imm);
    k->lowest = pointer(&o, lo, 0);
    return ((k->shape->dense | k->shape->same) & 4) && holds(&o, lo, (uint64_t)k->shape->span + 4);
}

INLINE vf known_lanes(const struct known *k, uint32_t lane, bool dense)
{
    const char *p = k->lowest + k->shape->at[lane / SHAPE_GROUP];
    if (dense)
        return (vf)((const vf_in_memory *)(const void *)p)[lane % SHAPE_GROUP / NF];
    return (vf)((vi){ 0 } + *(const m32 *)(const void *)p);        /* as integers, which keep -0 and every NaN */
}

INLINE void multiply_add(const struct insn *in, struct warp *w, const struct known *x, const struct known *y, bool dense_x, bool dense_y, bool keep)
{
    char *x_row = row(w, in[0].d), *y_row = row(w, in[1].d), *d = row(w, in[2].d);
    const char *e = row(w, in[2].c);
    for (uint32_t l = 0; l < WARP_SIZE; l += NF) {
        vf a = known_lanes(x, l, dense_x), b = known_lanes(y, l, dense_y);
        if (keep) {
            *(vf *)(void *)(x_row + 4 * l) = a;
            *(vf *)(void *)(y_row + 4 * l) = b;
        }
        *(vf *)(void *)(d + 4 * l) = fma_lanes(a, b, *(const vf *)(const void *)(e + 4 * l));
    }
}

INLINE void multiply_add_shapes(const struct insn *in, struct warp *w, const struct known *x, const struct known *y, bool keep)
{
    bool dense_x = x->shape->dense & 4, dense_y = y->shape->dense & 4;
    if (dense_x)
        dense_y ? multiply_add(in, w, x, y, true, true, keep) : multiply_add(in, w, x, y, true, false, keep);
    else
        dense_y ? multiply_add(in, w, x, y, false, true, keep) : multiply_add(in, w, x, y, false, false, keep);
}

static const struct insn *load_load_fma(ARGS)
{
    struct known x, y;
    do {
        if (UNLIKELY(c->event != NULL || !known_load(in, w, c, &x) || !known_load(in + 1, w, c, &y)))
            return PASTE(mem_known, LANE_ISA)[0][MEM_SHARED][MEM_ROW32][MEM_32][0].full(in, w, c);
        if (in[0].extra & in[1].extra & FUSE_PASSED)
            multiply_add_shapes(in, w, &x, &y, false);
        else
            multiply_add_shapes(in, w, &x, &y, true);
        in += 3;
    } while (in->full == load_load_fma);
    return in;
}

/* ---- mul.wide, add; the product is passed ------------------------------------------------------------------------------ */

#define ROW(type, at) ((type *)__builtin_assume_aligned(row(w, at), 64))

INLINE const struct insn *wide_add(ARGS, bool sign)
{
    const m32 *a = ROW(const m32, in->a), *b = ROW(const m32, in->b);
    m64 *product = ROW(m64, in->d), *sum = ROW(m64, in[1].d);
    const m64 *e = ROW(const m64, in[1].a == in->d ? in[1].b : in[1].a);
#define PRODUCT(l) (sign ? (uint64_t)((int64_t)(int32_t)a[l] * (int32_t)b[l]) : (uint64_t)a[l] * b[l])
    if (UNLIKELY(c->event != NULL)) {
        _Pragma("GCC ivdep") for (unsigned l = 0; l < WARP_SIZE; l++) product[l] = PRODUCT(l);
        return in + 1;
    }
    _Pragma("GCC ivdep") for (unsigned l = 0; l < WARP_SIZE; l++) sum[l] = PRODUCT(l) + e[l];
#undef PRODUCT
    return in + 2;
}

static const struct insn *wide_add_u(ARGS) { return wide_add(in, w, c, false); }
static const struct insn *wide_add_s(ARGS) { return wide_add(in, w, c, true); }

const fuse_table PASTE(fuse, LANE_ISA) = { [FUSE_LOAD_LOAD_FMA] = load_load_fma, [FUSE_FMA_FMA] = fma_fma,
                                           [FUSE_WIDE_ADD_U] = wide_add_u, [FUSE_WIDE_ADD_S] = wide_add_s };
