/* cp.async.bulk.tensor, cp.reduce.async.bulk.tensor: boxes of tensors between global and shared memory.
 *
 * A box is a list of rows: elements side by side along dimension 0. In shared memory rows follow each other, at a distance of their own length or of the
 * swizzle span if that is wider (the CUDA programming guide: shared memory holds the full swizzle width). A row passes through a buffer: global to buffer
 * with the elements outside the tensor filled in, buffer to shared through the swizzle, and back.
 *
 * What NVIDIA leaves open, and what we do: elements outside are filled with the halfword 0x7ff7, repeated, where NaN is asked for; tf32 elements are rounded to
 * nearest even when loaded, .ftz ones flushed; interleaved tensors are addressed as written, dimension 0 being the slice of 16 or 32 bytes;
 * the halo of im2col::w follows the last pixel along W, without regard to the bounding box; a copy of packed elements counts their bytes in global memory. */
#include "emu/tma.h"

#include <string.h>

#include "emu/bulk.h"
#include "emu/cluster.h"
#include "emu/mbarrier.h"

enum { ROW_MOST = 256 * 8, SHARED_ALIGN = 128 };

struct walk {
    const struct insn *in; struct warp *w; struct ctx *c; uint32_t lane;
    const struct tma *t;
    const struct tensor_map *m;
    struct tensor_unit u;
    atom_span combine;
    struct mem_place global;
    uint32_t n;                                /* units of a row */
    uint32_t row_bytes, pitch;                 /* in shared memory */
    uint32_t rows;
    char *shared; uint32_t shared_at;          /* the box, and its offset in the block's shared memory */
    uint32_t done;                             /* rows */
    int64_t start[5];
    uint8_t row[ROW_MOST];
};

/* ---- one row ------------------------------------------------------------------------------------------------------------ */

/* Units first .. end - 1 of a row that begins at element `at` along dimension 0 lie in the tensor. */
static void clip(const struct walk *k, const int64_t at[5], uint32_t *first, uint32_t *end)
{
    const struct tensor_map *m = k->m;
    int64_t step = m->interleave ? m->step[0] : k->u.n, size = (int64_t)m->last[0] + 1, lo, hi;
    *first = *end = 0;
    for (unsigned i = 1; i < m->rank; i++)
        if (at[i] < 0 || at[i] > (int64_t)m->last[i])
            return;
    lo = at[0] < 0 ? (-at[0] + step - 1) / step : 0;
    hi = at[0] < size ? (size - at[0] + step - 1) / step : 0;
    if (hi > k->n)
        hi = k->n;
    if (lo < hi) {
        *first = (uint32_t)lo;
        *end = (uint32_t)hi;
    }
}

static uint64_t address_of(const struct walk *k, const int64_t at[5], uint32_t unit)
{
    const struct tensor_map *m = k->m;
    int64_t first = at[0] / k->u.n + (int64_t)unit * (m->interleave ? m->step[0] : 1);
    uint64_t x = m->address + (uint64_t)(first * k->u.global);
    for (unsigned i = 1; i < m->rank; i++)
        x += (uint64_t)at[i] * m->stride[i - 1];
    return x;
}

/* Checked memory of units `first` on; their bytes in global memory lie side by side. */
static char *global_at(struct walk *k, const int64_t at[5], uint32_t first, uint32_t units)
{
    return mem_span(k->in, &k->global, k->w, k->c, k->lane, address_of(k, at, first), units * k->u.global, 1);
}

static bool strided(const struct walk *k) { return k->m->interleave && k->m->step[0] > 1; }

static void spread(const struct walk *k, uint8_t *to, const char *from, uint32_t units)
{
    for (uint32_t i = 0; i < units; i++)
        memcpy(to + i * k->u.shared, from + i * k->u.global, k->u.global);
}

/* b6p2x16: sixteen bytes with six bits each become twelve bytes. */
static void squeeze(char *to, const uint8_t *from, uint32_t units)
{
    for (uint32_t i = 0; i < units; i++)
        for (unsigned e = 0; e < 16; e += 4) {
            const uint8_t *x = from + i * 16 + e;
            uint32_t b = (x[0] & 63u) | (x[1] & 63u) << 6 | (x[2] & 63u) << 12 | (x[3] & 63u) << 18;
            char *y = to + i * 12 + e / 4 * 3;
            y[0] = (char)b;
            y[1] = (char)(b >> 8);
            y[2] = (char)(b >> 16);
        }
}

static void fill(struct walk *k, uint32_t first, uint32_t end)
{
    uint8_t *p = k->row + first * k->u.shared, *q = k->row + end * k->u.shared;
    if (k->m->fill == TENSOR_FILL_ZERO)
        memset(p, 0, (size_t)(q - p));
    else
        for (bool high = false; p < q; high = !high)
            *p++ = high ? 0x7f : 0xf7;
}

static uint32_t loaded(uint32_t x, enum tensor_type type)
{
    uint32_t exponent = x & 0x7f800000u;
    if ((type == TENSOR_F32_FTZ || type == TENSOR_TF32_FTZ) && !exponent)
        return x & 0x80000000u;
    if (type != TENSOR_TF32 && type != TENSOR_TF32_FTZ)
        return x;
    if (exponent == 0x7f800000u)
        return x & 0x7fffffu ? x | 0x400000u : x;
    return (x + 0xfffu + (x >> 13 & 1)) & ~0x1fffu;
}

static void convert(struct walk *k, uint32_t first, uint32_t end)
{
    enum tensor_type type = (enum tensor_type)k->m->type;
    if (type != TENSOR_F32_FTZ && type != TENSOR_TF32 && type != TENSOR_TF32_FTZ)
        return;
    for (uint32_t i = first; i < end; i++) {
        uint32_t x;
        memcpy(&x, k->row + 4 * i, 4);
        x = loaded(x, type);
        memcpy(k->row + 4 * i, &x, 4);
    }
}

static bool global_to_row(struct walk *k, const int64_t at[5], uint32_t first, uint32_t end)
{
    for (uint32_t i = first; strided(k) && i < end; i++) {
        const char *p = global_at(k, at, i, 1);
        if (!p)
            return false;
        spread(k, k->row + i * k->u.shared, p, 1);
    }
    if (!strided(k) && first < end) {
        const char *p = global_at(k, at, first, end - first);
        if (!p)
            return false;
        if (k->u.global == k->u.shared)
            memcpy(k->row + first * k->u.shared, p, (size_t)(end - first) * k->u.shared);
        else
            spread(k, k->row + first * k->u.shared, p, end - first);
    }
    convert(k, first, end);
    fill(k, 0, first);
    fill(k, end, k->n);
    return true;
}

static bool row_to_global(struct walk *k, const int64_t at[5], uint32_t first, uint32_t end)
{
    uint32_t each = strided(k) ? 1 : end - first;
    for (uint32_t i = first; i < end; i += each) {
        char *p = global_at(k, at, i, each);
        const uint8_t *from = k->row + i * k->u.shared;
        if (!p)
            return false;
        if (k->combine)
            k->combine(p, from, each, k->c->parallel);
        else if (k->u.global == k->u.shared)
            memcpy(p, from, (size_t)each * k->u.global);
        else
            squeeze(p, from, each);
    }
    return true;
}

/* Between the buffer and the present row of shared memory. */
static void row_and_shared(struct walk *k, bool to_shared)
{
    uint32_t at = k->done * k->pitch;
    unsigned piece = k->m->swizzle == TENSOR_SWIZZLE_NONE ? k->row_bytes
                   : k->m->swizzle == TENSOR_SWIZZLE_128B && k->m->atom == TENSOR_ATOM_32B_FLIP_8B ? 8 : 16;
    for (uint32_t i = 0; i < k->row_bytes; i += piece) {
        char *p = k->shared + (tensor_swizzled(k->m, k->shared_at + at + i) - k->shared_at);
        uint32_t bytes = k->row_bytes - i < piece ? k->row_bytes - i : piece;
        if (to_shared)
            memcpy(p, k->row + i, bytes);
        else
            memcpy(k->row + i, p, bytes);
    }
}

static bool move_row(struct walk *k, const int64_t at[5])
{
    uint32_t first, end;
    clip(k, at, &first, &end);
    if (k->t->direction == TMA_LOAD) {
        if (!global_to_row(k, at, first, end))
            return false;
        row_and_shared(k, true);
    } else {
        row_and_shared(k, false);
        if (!row_to_global(k, at, first, end))
            return false;
    }
    k->done++;
    return true;
}

/* ---- which rows ------------------------------------------------------------------------------------------------------------ */

static uint32_t steps(const struct tensor_map *m, unsigned i) { return (m->box[i] + m->step[i] - 1u) / m->step[i]; }

static bool walk_tile(struct walk *k)
{
    uint32_t count[5] = { 0 };
    int64_t at[5];
    memcpy(at, k->start, sizeof at);
    for (uint32_t r = 0; r < k->rows; r++) {
        if (!move_row(k, at))
            return false;
        for (unsigned i = 1; i < k->m->rank; i++) {
            at[i] += k->m->step[i];
            if (++count[i] < steps(k->m, i))
                break;
            count[i] = 0;
            at[i] = k->start[i];
        }
    }
    return true;
}

static bool walk_rows(struct walk *k)
{
    for (unsigned r = 0; r < 4; r++) {
        int64_t at[5] = { k->start[0], k->start[1 + r] };
        if (!move_row(k, at))
            return false;
    }
    return true;
}

/* The next pixel of a column: on along W, then H, then D, each within the bounding box, then the next image. wide: H and D stay. */
static void next_pixel(const struct tensor_map *m, int64_t at[5], bool wide, int64_t shift)
{
    unsigned n = m->rank - 1u;                 /* the dimension of images */
    for (unsigned i = 1; i < n; i++) {
        at[i] += m->step[i];
        if (at[i] <= (int64_t)m->last[i] + m->upper[i - 1] + shift)
            return;
        at[i] = m->lower[i - 1] + shift;
        if (wide)
            break;
    }
    at[n]++;
}

static bool walk_im2col(struct walk *k, const uint32_t offsets[3])
{
    int64_t base[5], at[5];
    memcpy(base, k->start, sizeof base);
    for (uint32_t p = 0; p < k->rows; p++) {
        memcpy(at, base, sizeof at);
        for (unsigned i = 0; i + 2u < k->m->rank; i++)
            at[1 + i] += offsets[i];
        if (!move_row(k, at))
            return false;
        next_pixel(k->m, base, false, 0);
    }
    return true;
}

/* offsets: halo, and the shift along W. */
static bool walk_wide(struct walk *k, const uint32_t offsets[3])
{
    bool fixed = k->t->mode == TMA_IM2COL_W128;
    uint32_t pixels = fixed ? 128 : k->m->pixels, group = fixed ? 32 : pixels;
    int64_t at[5], halo[5];
    memcpy(at, k->start, sizeof at);
    at[1] += offsets[1];
    for (uint32_t p = 1; p <= pixels; p++) {
        if (!move_row(k, at))
            return false;
        memcpy(halo, at, sizeof halo);
        for (uint32_t h = 0; p % group == 0 && h < offsets[0]; h++) {
            halo[1] += k->m->step[1];
            if (!move_row(k, halo))
                return false;
        }
        next_pixel(k->m, at, true, offsets[1]);
    }
    return true;
}

/* ---- the whole copy ----------------------------------------------------------------------------------------------------------- */

static uint32_t rows_of(const struct walk *k, const uint32_t offsets[3])
{
    uint32_t n = 1;
    switch ((enum tma_mode)k->t->mode) {
    case TMA_ROWS: return 4;
    case TMA_IM2COL: return k->m->pixels;
    case TMA_IM2COL_W: return k->m->pixels + offsets[0];
    case TMA_IM2COL_W128: return 128 + 4 * offsets[0];
    case TMA_TILE: break;
    }
    for (unsigned i = 1; i < k->m->rank; i++)
        n *= steps(k->m, i);
    return n;
}

static const char *fits(const struct tma *t, const struct tensor_map *m)
{
    const char *why = tensor_map_check(m);
    if (why)
        return why;
    if (m->rank != t->dims && t->mode != TMA_ROWS)
        return "the tensor map has another rank than the instruction says";
    if (t->mode == TMA_ROWS && (m->rank != 2 || m->mode != TENSOR_TILED || m->box[1] != 1 || m->interleave))
        return "four rows need a tiled map of rank 2, one row high, without interleave";
    if ((t->mode == TMA_TILE || t->mode == TMA_ROWS) != (m->mode == TENSOR_TILED) || (t->mode >= TMA_IM2COL_W) != (m->mode == TENSOR_IM2COL_WIDE))
        return "the tensor map was made for another mode (tiled, im2col, im2col::w)";
    if (t->direction != TMA_LOAD && (m->type == TENSOR_B4X16_P64 || (m->swizzle == TENSOR_SWIZZLE_128B && m->atom == TENSOR_ATOM_32B_FLIP_8B)))
        return "element type or swizzle of the tensor map serve loads only";
    return NULL;
}

/* The reduction for elements of the map's type. Floats of 16 bits keep subnormals, and so do those of 32. */
static atom_span combine_of(const struct tma *t, const struct tensor_map *m)
{
    static const int8_t types[TENSOR_TYPES] = { -1, -1, ATOM_U32, ATOM_S32, ATOM_U64, ATOM_S64, ATOM_F16, ATOM_F32, ATOM_F32, ATOM_F64, ATOM_BF16, -1, -1, -1, -1, -1 };
    int type = types[m->type];
    bool ordered = t->op == ATOM_MIN || t->op == ATOM_MAX;
    if (!ordered && (type == ATOM_S32 || type == ATOM_S64))
        type--;                                /* the sign matters to nobody else */
    return type < 0 ? NULL : atom_span_of((enum atom_op)t->op, (enum atom_type)type);
}

static bool refuse(struct walk *k, const char *why)
{
    insn_fault(k->in, k->w, k->c, k->lane, ST_ILLEGAL_INSTRUCTION, "tensor copy: %s", why);
    return false;
}

static bool measure(struct walk *k, const uint32_t offsets[3])
{
    const struct tensor_map *m = k->m;
    uint32_t n = m->mode == TENSOR_TILED ? m->interleave ? steps(m, 0) : m->box[0] : m->channels, span = tensor_swizzle_span((enum tensor_swizzle)m->swizzle);
    k->u = tensor_unit((enum tensor_type)m->type);
    k->n = n / k->u.n;
    k->row_bytes = k->n * k->u.shared;
    k->pitch = k->row_bytes;
    if (m->interleave)
        k->pitch = m->interleave == TENSOR_INTERLEAVE_16B ? 16 : 32;
    else if (span > k->pitch)
        k->pitch = span;
    if (k->row_bytes > k->pitch)
        return refuse(k, "the box is wider than the slice of an interleaved tensor");
    k->rows = rows_of(k, offsets);
    k->combine = NULL;
    if (k->t->direction == TMA_REDUCE && !(k->combine = combine_of(k->t, m)))
        return refuse(k, "no such reduction for the element type of the tensor map");
    if (k->start[0] % k->u.n || (k->u.shared != k->u.global && k->start[0] % 128))
        return refuse(k, "the first coordinate does not fit the packed element type");
    return true;
}

static bool walk(struct walk *k, const uint32_t offsets[3])
{
    k->done = 0;
    return k->t->mode == TMA_TILE ? walk_tile(k) : k->t->mode == TMA_ROWS ? walk_rows(k) : k->t->mode == TMA_IM2COL ? walk_im2col(k, offsets) : walk_wide(k, offsets);
}

/* To or from the shared memory of one block. rank: UINT32_MAX: as the addresses say; else that block, and its mbarrier (or, of a pair, that of the block with the
 * parity of barrier_rank). */
static bool copy_block(struct walk *k, const uint32_t offsets[3], uint32_t rank)
{
    const struct tma *t = k->t;
    uint64_t at = mem_place_address(&t->shared, k->w, k->lane), barrier = t->direction == TMA_LOAD ? mem_place_address(&t->mbarrier, k->w, k->lane) : 0;
    uint32_t bytes = k->rows * k->pitch;
    char *tell = NULL;
    if (rank != UINT32_MAX) {
        uint32_t own = k->w->cta->cluster_rank;
        uint32_t told = t->pair ? (rank & ~1u) | (cluster_rank_of((uint32_t)barrier, own) & 1) : rank;
        at = cluster_address(rank, (uint32_t)at, own);
        barrier = cluster_address(told, (uint32_t)barrier, own);
    }
    k->shared_at = (uint32_t)at & CLUSTER_MASK;
    struct mem_place shared = t->shared, told = t->mbarrier;
    shared.space = told.space = MEM_SHARED;
    if (!(k->shared = mem_span(k->in, &shared, k->w, k->c, k->lane, at, bytes, SHARED_ALIGN)))
        return false;
    if (t->direction == TMA_LOAD && !(tell = mem_span(k->in, &told, k->w, k->c, k->lane, barrier, 8, 8)))
        return false;
    if (!walk(k, offsets))
        return false;
    const char *why = tell ? mbarrier_update(k->c, tell, -(int64_t)k->rows * k->n * k->u.global, 0, 0, false) : NULL;
    return !why || mbarrier_fault(k->in, k->w, k->c, k->lane, why);
}

/* m: room for the map, to which k->m points. */
static bool copy_lane(struct walk *k, struct tensor_map *m)
{
    const struct tma *t = k->t;
    uint32_t offsets[3] = { 0 };
    const char *map = mem_span(k->in, &t->map, k->w, k->c, k->lane, mem_place_address(&t->map, k->w, k->lane), TENSOR_MAP_BYTES, TENSOR_MAP_ALIGN);
    if (!map)
        return false;
    memcpy(m, map, sizeof *m);
    const char *why = fits(t, m);
    if (why)
        return refuse(k, why);
    memset(k->start, 0, sizeof k->start);
    for (unsigned i = 0; i < t->n_coords; i++)
        k->start[i] = ((const int32_t *)row(k->w, t->coords[i]))[k->lane];
    for (unsigned i = 0; i < t->n_offsets; i++)
        offsets[i] = ((const uint32_t *)row(k->w, t->offsets[i]))[k->lane] & 0xffff;
    if (!measure(k, offsets))
        return false;
    if (!t->ctas)
        return copy_block(k, offsets, UINT32_MAX);
    for (uint32_t left = ((const uint32_t *)row(k->w, t->ctas))[k->lane] & 0xffff; left; left &= left - 1)
        if (!copy_block(k, offsets, (uint32_t)__builtin_ctz(left)))
            return false;
    return true;
}

const struct insn *tma_copy(const struct insn *in, struct warp *w, struct ctx *c)
{
    struct tensor_map map;
    struct walk k = { .in = in, .w = w, .c = c, .t = (const struct tma *)(uintptr_t)in->imm, .m = &map };
    k.global = (struct mem_place){ .site = in->site, .space = MEM_GLOBAL, .form = MEM_ROW64, .store = k.t->direction != TMA_LOAD };
    for (uint32_t m = insn_mask(in, w); m; m &= m - 1) {
        k.lane = (uint32_t)__builtin_ctz(m);
        if (!copy_lane(&k, &map))
            return NULL;
    }
    return in + 1;
}
