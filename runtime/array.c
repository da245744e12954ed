/* Arrays: a shape and the linear memory behind it. */
#include "runtime/internal.h"

enum { ROW_GRAIN = 512 };

struct rt_array {
    struct object object;
    struct rt_array_shape shape;
    struct allocation *allocation;
    uint64_t pitch;
};
_Static_assert(sizeof(struct rt_array) <= 192, "object_bytes in process.c");

enum status rt_array_create(struct rt_array **out, struct rt_context *c, const struct rt_array_shape *shape, struct error *err)
{
    *out = NULL;
    enum status st = context_status(c);
    if (st != ST_OK)
        return st;
    uint64_t row, bytes;
    uint64_t rows = (shape->height ? shape->height : 1), slices = shape->depth ? shape->depth : 1;
    if (!shape->width || !shape->texel_bytes || __builtin_mul_overflow(shape->width, shape->texel_bytes, &row) || row > EMU_SPAN)
        return error_set(err, ST_INVALID_VALUE, "an array of width %llu", (unsigned long long)shape->width);
    uint64_t pitch = (row + ROW_GRAIN - 1) / ROW_GRAIN * ROW_GRAIN;
    if (__builtin_mul_overflow(pitch, rows, &bytes) || __builtin_mul_overflow(bytes, slices, &bytes))
        return error_set(err, ST_OUT_OF_MEMORY, "an array of that size does not fit any memory");
    struct rt_array *a = object_new(RT_ARRAY);
    if (!a)
        return error_set(err, ST_OUT_OF_MEMORY, "no memory for an array");
    st = allocation_make(&a->allocation, &(struct allocation_request){.context = c, .device = c->device, .kind = RT_MEMORY_ARRAY, .bytes = bytes}, err);
    if (st != ST_OK) {
        object_free(a);
        return st;
    }
    a->shape = *shape;
    a->pitch = pitch;
    *out = a;
    return ST_OK;
}

enum status rt_array_destroy(struct rt_array *a)
{
    enum status st = rt_context_synchronize(a->allocation->context);
    if (st != ST_OK)
        return st;
    allocation_drop(a->allocation);
    object_free(a);
    return ST_OK;
}

const struct rt_array_shape *rt_array_shape(const struct rt_array *a) { return &a->shape; }

void rt_array_storage(const struct rt_array *a, uint64_t *address, uint64_t *pitch)
{
    *address = a->allocation->base;
    *pitch = a->pitch;
}
