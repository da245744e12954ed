/* cuTensorMapEncode*, cuTensorMapReplaceAddress: checks as the driver API documents them, and our own form of the 128 bytes (emu/tensormap.h). */
#include <string.h>

#include "emu/tensormap.h"
#include "interpose/api.h"
#include "runtime/base/log.h"

/* The driver's numbers of element types and swizzles are not those of the ISA. */
static const uint8_t types[] = { TENSOR_U8, TENSOR_U16, TENSOR_U32, TENSOR_S32, TENSOR_U64, TENSOR_S64, TENSOR_F16, TENSOR_F32, TENSOR_F64, TENSOR_BF16,
                                 TENSOR_F32_FTZ, TENSOR_TF32, TENSOR_TF32_FTZ, TENSOR_B4X16, TENSOR_B4X16_P64, TENSOR_B6X16_P32 };
static const struct { uint8_t swizzle, atom; } swizzles[] = {
    { TENSOR_SWIZZLE_NONE, TENSOR_ATOM_16B },  { TENSOR_SWIZZLE_32B, TENSOR_ATOM_16B },  { TENSOR_SWIZZLE_64B, TENSOR_ATOM_16B },
    { TENSOR_SWIZZLE_128B, TENSOR_ATOM_16B },  { TENSOR_SWIZZLE_128B, TENSOR_ATOM_32B }, { TENSOR_SWIZZLE_128B, TENSOR_ATOM_32B_FLIP_8B },
    { TENSOR_SWIZZLE_128B, TENSOR_ATOM_64B },
};
enum { SM_LEAST = 90, PROMOTIONS = 4 };

struct request {                               /* what the three calls have in common */
    void *map;
    int type; unsigned rank; void *address;
    const uint64_t *dims, *strides; const unsigned *steps;
    int interleave, swizzle, promotion, fill;
};

static enum status refuse(const char *why)
{
    log_info("tensor map: %s", why);
    return ST_INVALID_VALUE;
}

/* Maps are plain data, so a context is not needed; but a device that cannot use them is told at once. */
static enum status device_has_maps(void)
{
    struct rt_context *c;
    enum status st = api_context(&c);
    if (st == ST_NOT_INITIALIZED || st == ST_DEINITIALIZED)
        return st;
    return st == ST_OK && rt_device_facts(rt_context_device(c))->sm < SM_LEAST ? ST_NOT_SUPPORTED : ST_OK;
}

static enum status common(const struct request *q, struct tensor_map *m)
{
    enum status st = device_has_maps();
    if (st != ST_OK)
        return st;
    if (!q->map || (uintptr_t)q->map % TENSOR_MAP_ALIGN)
        return refuse("the object is not aligned to 64 bytes");
    if (q->type < 0 || (size_t)q->type >= sizeof types || q->swizzle < 0 || (size_t)q->swizzle >= sizeof swizzles / sizeof swizzles[0] ||
        q->interleave < 0 || q->interleave > TENSOR_INTERLEAVE_32B || q->promotion < 0 || q->promotion >= PROMOTIONS || q->fill < 0 || q->fill > TENSOR_FILL_NAN)
        return refuse("an enumerator is none");
    if (!q->rank || q->rank > TENSOR_RANK_MOST)
        return refuse("the rank is not 1 to 5");
    if (!q->address || !q->dims || !q->steps || (q->rank > 1 && !q->strides))
        return refuse("an argument is missing");
    m->magic = TENSOR_MAP_MAGIC;
    m->address = (uintptr_t)q->address;
    m->rank = (uint8_t)q->rank;
    m->type = types[q->type];
    m->interleave = (uint8_t)q->interleave;
    m->swizzle = swizzles[q->swizzle].swizzle;
    m->atom = swizzles[q->swizzle].atom;
    m->fill = (uint8_t)q->fill;
    for (unsigned i = 0; i < q->rank; i++) {
        if (!q->dims[i] || q->dims[i] > (uint64_t)1 << 32)
            return refuse("a global dimension is not 1 to 2^32");
        if (!q->steps[i] || q->steps[i] > 8)
            return refuse("an element stride is not 1 to 8");
        m->last[i] = (uint32_t)(q->dims[i] - 1);
        m->step[i] = (uint8_t)q->steps[i];
        if (i + 1 < q->rank)
            m->stride[i] = q->strides[i];
    }
    return ST_OK;
}

static enum status finish(const struct request *q, const struct tensor_map *m)
{
    const char *why = tensor_map_check(m);
    if (why)
        return refuse(why);
    memset(q->map, 0, TENSOR_MAP_BYTES);
    memcpy(q->map, m, sizeof *m);
    return ST_OK;
}

enum status cu_tensor_map_encode_tiled(void *map, int type, unsigned rank, void *address, const uint64_t *dims, const uint64_t *strides, const unsigned *box,
                                       const unsigned *steps, int interleave, int swizzle, int promotion, int fill)
{
    struct request q = { map, type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill };
    struct tensor_map m = { .mode = TENSOR_TILED };
    enum status st = common(&q, &m);
    if (st != ST_OK)
        return st;
    if (!box)
        return refuse("an argument is missing");
    for (unsigned i = 0; i < rank; i++)
        if (box[i] > UINT16_MAX)
            return refuse("a box dimension is not 1 to 256");
        else
            m.box[i] = (uint16_t)box[i];
    return finish(&q, &m);
}

static enum status im2col(const struct request *q, struct tensor_map *m, const int *lower, const int *upper, unsigned corners, unsigned channels, unsigned pixels)
{
    enum status st = common(q, m);
    if (st != ST_OK)
        return st;
    if (!lower || !upper)
        return refuse("an argument is missing");
    if (q->rank < 3)
        return refuse("im2col needs 3 dimensions or more");
    if (channels > UINT16_MAX || pixels > UINT16_MAX)
        return refuse("channels per pixel are not 1 to 256, or pixels per column not 1 to 1024");
    m->channels = (uint16_t)channels;
    m->pixels = (uint16_t)pixels;
    for (unsigned i = 0; i < corners && i + 2 < q->rank; i++) {
        if (lower[i] < INT16_MIN || lower[i] > INT16_MAX || upper[i] < INT16_MIN || upper[i] > INT16_MAX)
            return refuse("a corner of the bounding box is out of range");
        m->lower[i] = (int16_t)lower[i];
        m->upper[i] = (int16_t)upper[i];
    }
    return finish(q, m);
}

enum status cu_tensor_map_encode_im2col(void *map, int type, unsigned rank, void *address, const uint64_t *dims, const uint64_t *strides, const int *lower,
                                        const int *upper, unsigned channels, unsigned pixels, const unsigned *steps, int interleave, int swizzle, int promotion,
                                        int fill)
{
    struct request q = { map, type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill };
    struct tensor_map m = { .mode = TENSOR_IM2COL };
    return im2col(&q, &m, lower, upper, 3, channels, pixels);
}

enum status cu_tensor_map_encode_im2col_wide(void *map, int type, unsigned rank, void *address, const uint64_t *dims, const uint64_t *strides, int lower, int upper,
                                             unsigned channels, unsigned pixels, const unsigned *steps, int interleave, int mode, int swizzle, int promotion,
                                             int fill)
{
    enum { WIDE_MODE_W, WIDE_MODE_W128, PIXELS_W128 = 128 };
    struct request q = { map, type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill };
    struct tensor_map m = { .mode = TENSOR_IM2COL_WIDE };
    if (mode != WIDE_MODE_W && mode != WIDE_MODE_W128)
        return refuse("an enumerator is none");
    return im2col(&q, &m, &lower, &upper, 1, channels, mode == WIDE_MODE_W128 ? PIXELS_W128 : pixels);
}

enum status cu_tensor_map_replace_address(void *map, void *address)
{
    struct tensor_map m;
    enum status st = device_has_maps();
    if (st != ST_OK)
        return st;
    if (!map || (uintptr_t)map % TENSOR_MAP_ALIGN || !address)
        return refuse("an argument is missing, or the object is not aligned to 64 bytes");
    memcpy(&m, map, sizeof m);
    m.address = (uintptr_t)address;
    const char *why = tensor_map_check(&m);
    if (why)
        return refuse(why);
    memcpy(map, &m, sizeof m);
    return ST_OK;
}
