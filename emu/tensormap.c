/* Tensor maps: element types, and the rules that the driver API documents for their fields. */
#include "emu/tensormap.h"

static const struct { struct tensor_unit unit; bool real; } types[TENSOR_TYPES] = {
    [TENSOR_U8]   = { { 1, 1, 1 }, false }, [TENSOR_U16] = { { 1, 2, 2 }, false }, [TENSOR_U32]      = { { 1, 4, 4 }, false },
    [TENSOR_S32]  = { { 1, 4, 4 }, false }, [TENSOR_U64] = { { 1, 8, 8 }, false }, [TENSOR_S64]      = { { 1, 8, 8 }, false },
    [TENSOR_F16]  = { { 1, 2, 2 }, true },  [TENSOR_F32] = { { 1, 4, 4 }, true },  [TENSOR_F32_FTZ]  = { { 1, 4, 4 }, true },
    [TENSOR_F64]  = { { 1, 8, 8 }, true },  [TENSOR_BF16] = { { 1, 2, 2 }, true }, [TENSOR_TF32]     = { { 1, 4, 4 }, true },
    [TENSOR_TF32_FTZ] = { { 1, 4, 4 }, true },
    [TENSOR_B4X16] = { { 2, 1, 1 }, false }, [TENSOR_B4X16_P64] = { { 16, 8, 16 }, false }, [TENSOR_B6X16_P32] = { { 16, 12, 16 }, false },
};

struct tensor_unit tensor_unit(enum tensor_type type) { return types[type].unit; }
bool tensor_type_is_float(enum tensor_type type) { return types[type].real; }

unsigned tensor_swizzle_span(enum tensor_swizzle s)
{
    static const uint8_t span[] = { 0, 32, 64, 128, 96 };
    return span[s];
}

/* Types whose elements lie apart in shared memory have stricter rules. */
static bool is_spread(const struct tensor_map *m) { return m->type == TENSOR_B4X16_P64 || m->type == TENSOR_B6X16_P32; }

static const char *check_memory(const struct tensor_map *m)
{
    uint64_t align = m->interleave == TENSOR_INTERLEAVE_32B || is_spread(m) ? 32 : 16;
    if (m->address % align)
        return "the global address is not aligned to 16 bytes (32 with 32-byte interleave and for spread types)";
    for (unsigned i = 0; i + 1 < m->rank; i++)
        if (m->stride[i] % align || m->stride[i] >= (uint64_t)1 << 40)
            return "a global stride is not a multiple of 16 bytes (32 with 32-byte interleave and for spread types) below 2^40";
    uint64_t size = (uint64_t)m->last[0] + 1;
    if ((is_spread(m) && size % 128) || (m->type == TENSOR_B4X16 && size % 2))
        return "the size of dimension 0 does not fit the packed element type";
    return NULL;
}

static const char *check_box(const struct tensor_map *m)
{
    for (unsigned i = 0; i < m->rank; i++)
        if (!m->step[i] || m->step[i] > 8)
            return "an element stride is not 1 to 8";
    if (m->mode != TENSOR_TILED)
        return !m->channels || m->channels > 256 ? "channels per pixel are not 1 to 256"
             : !m->pixels || m->pixels > 1024 ? "pixels per column are not 1 to 1024"
             : is_spread(m) && m->channels != 128 ? "channels per pixel must be 128 for this element type" : NULL;
    for (unsigned i = 0; i < m->rank; i++)
        if (!m->box[i] || m->box[i] > 256)
            return "a box dimension is not 1 to 256";
    return is_spread(m) && m->box[0] != 128 ? "box dimension 0 must be 128 for this element type" : NULL;
}

/* The inner dimension of the box against interleave and swizzle. */
static const char *check_inner(const struct tensor_map *m)
{
    struct tensor_unit u = types[m->type].unit;
    unsigned n = m->mode == TENSOR_TILED ? m->box[0] : m->channels, bytes = n / u.n * u.shared, span = tensor_swizzle_span((enum tensor_swizzle)m->swizzle);
    if (m->interleave == TENSOR_FLAT && (n % u.n || bytes % 16))
        return "the inner dimension of the box is not a multiple of 16 bytes";
    if (m->interleave == TENSOR_FLAT && span && bytes > span)
        return "the inner dimension of the box is wider than the swizzle span";
    if (m->interleave == TENSOR_INTERLEAVE_32B && m->swizzle != TENSOR_SWIZZLE_32B)
        return "32-byte interleave needs 32-byte swizzle";
    return NULL;
}

static const char *check_spread(const struct tensor_map *m)
{
    if (!is_spread(m))
        return NULL;
    if (m->interleave != TENSOR_FLAT && m->type == TENSOR_B6X16_P32)
        return "this element type cannot be interleaved";
    if (m->swizzle != TENSOR_SWIZZLE_NONE && (m->swizzle != TENSOR_SWIZZLE_128B || m->atom == TENSOR_ATOM_32B_FLIP_8B))
        return "this element type takes no swizzle or that of 128 bytes";
    return m->type == TENSOR_B4X16_P64 && m->atom == TENSOR_ATOM_64B ? "this element type has no swizzle of 64-byte atoms" : NULL;
}

static const char *check_corners(const struct tensor_map *m)
{
    static const int16_t most[] = { INT16_MAX, 127, 15 };
    unsigned n = m->mode == TENSOR_IM2COL_WIDE ? 1 : m->rank - 2u;
    int limit = m->mode == TENSOR_IM2COL_WIDE ? INT16_MAX : most[n - 1];
    for (unsigned i = 0; i < n; i++) {
        if (m->lower[i] > limit || m->lower[i] < -limit - 1 || m->upper[i] > limit || m->upper[i] < -limit - 1)
            return "a corner of the bounding box is out of range";
        if ((int64_t)m->last[i + 1] + m->upper[i] < m->lower[i])
            return "the bounding box is empty";
    }
    return NULL;
}

const char *tensor_map_check(const struct tensor_map *m)
{
    if (m->magic != TENSOR_MAP_MAGIC)
        return "there is no tensor map";
    if (!m->rank || m->rank > TENSOR_RANK_MOST)
        return "the rank is not 1 to 5";
    if (m->type >= TENSOR_TYPES || m->interleave > TENSOR_INTERLEAVE_32B || m->swizzle > TENSOR_SWIZZLE_96B || m->atom > TENSOR_ATOM_64B ||
        m->fill > TENSOR_FILL_NAN || m->mode > TENSOR_IM2COL_WIDE)
        return "a field has a value that means nothing";
    if (m->rank < 3 && (m->interleave != TENSOR_FLAT || m->mode != TENSOR_TILED))
        return "interleaved and im2col tensors have at least 3 dimensions";
    if (m->fill == TENSOR_FILL_NAN && !types[m->type].real)
        return "only floating-point elements can be filled with NaN";
    if (m->mode == TENSOR_IM2COL_WIDE && (m->interleave != TENSOR_FLAT || m->swizzle == TENSOR_SWIZZLE_NONE || m->swizzle == TENSOR_SWIZZLE_32B ||
                                          m->atom == TENSOR_ATOM_32B_FLIP_8B))
        return "im2col along W takes no interleave, and swizzles of 64 or 128 bytes without the flip of 8 bytes";
    const char *why = check_memory(m);
    why = why ? why : check_box(m);
    why = why ? why : check_inner(m);
    why = why ? why : check_spread(m);
    return why || m->mode == TENSOR_TILED ? why : check_corners(m);
}
