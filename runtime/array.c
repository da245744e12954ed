/* Arrays and mipmapped arrays: shapes and the linear memory behind them. */
#include "runtime/internal.h"
#include "runtime/texture.h"

enum { ROW_GRAIN = 512 };

struct rt_array {
    struct object object;
    struct rt_array *next, *prev;                       /* of the context: arrays that own their memory */
    struct rt_context *context;
    struct rt_array_shape shape;
    struct allocation *allocation;                      /* NULL: a level, whose memory is the mipmapped array's */
    uint64_t base, pitch;
    bool is_level;
};
_Static_assert(sizeof(struct rt_array) <= 192, "object_bytes in process.c");

struct rt_mipmap {
    struct object object;
    struct rt_mipmap *next, *prev;                      /* of the context */
    struct rt_context *context;
    struct allocation *allocation;
    uint32_t levels;
    struct rt_array *level[EMU_LEVELS];
};
_Static_assert(sizeof(struct rt_mipmap) <= 256, "object_bytes in process.c");

static struct rt_array *arrays;                         /* all of the process; under `lock` */
static struct rt_mipmap *mipmaps;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- layout ---- */

static uint64_t rows_of(const struct rt_array_shape *s)
{
    uint64_t rows = s->height ? s->height : 1;
    return s->blocks ? (rows + 3) / 4 : rows;
}

static uint64_t row_bytes_of(const struct rt_array_shape *s) { return (s->blocks ? (s->width + 3) / 4 : s->width) * s->texel_bytes; }

/* Bytes of the image, and of a row with what fills it up. */
static enum status layout(const struct rt_array_shape *s, uint64_t *pitch, uint64_t *bytes, struct error *err)
{
    uint64_t row, slices = s->depth ? s->depth : 1;
    if (!s->width || !s->texel_bytes || __builtin_mul_overflow(s->width, s->texel_bytes, &row) || row > EMU_SPAN)
        return error_set(err, ST_INVALID_VALUE, "an array of width %llu", (unsigned long long)s->width);
    *pitch = (row_bytes_of(s) + ROW_GRAIN - 1) / ROW_GRAIN * ROW_GRAIN;
    if (__builtin_mul_overflow(*pitch, rows_of(s), bytes) || __builtin_mul_overflow(*bytes, slices, bytes))
        return error_set(err, ST_OUT_OF_MEMORY, "an array of that size does not fit any memory");
    return ST_OK;
}

static struct rt_array_shape level_shape(const struct rt_array_shape *s, uint32_t level)
{
    struct rt_array_shape l = *s;
    l.width = s->width >> level ? s->width >> level : 1;
    if (s->height)
        l.height = s->height >> level ? s->height >> level : 1;
    if (s->depth && !(s->flags & (RT_ARRAY_LAYERED | RT_ARRAY_CUBE)))
        l.depth = s->depth >> level ? s->depth >> level : 1;
    return l;
}

/* ---- arrays ---- */

enum status rt_array_create(struct rt_array **out, struct rt_context *c, const struct rt_array_shape *shape, struct error *err)
{
    *out = NULL;
    uint64_t pitch, bytes;
    enum status st = context_status(c);
    if (st == ST_OK)
        st = layout(shape, &pitch, &bytes, err);
    if (st != ST_OK)
        return st;
    struct rt_array *a = object_new(RT_ARRAY);
    if (!a)
        return error_set(err, ST_OUT_OF_MEMORY, "no memory for an array");
    st = allocation_make(&a->allocation, &(struct allocation_request){.context = c, .device = c->device, .kind = RT_MEMORY_ARRAY, .bytes = bytes}, err);
    if (st != ST_OK) {
        object_free(a);
        return st;
    }
    a->context = c;
    a->shape = *shape;
    a->base = a->allocation->base;
    a->pitch = pitch;
    pthread_mutex_lock(&lock);
    a->next = arrays;
    if (arrays)
        arrays->prev = a;
    arrays = a;
    pthread_mutex_unlock(&lock);
    *out = a;
    return ST_OK;
}

/* Under the lock. */
static void unlink_array(struct rt_array *a)
{
    if (a->next)
        a->next->prev = a->prev;
    if (a->prev)
        a->prev->next = a->next;
    else
        arrays = a->next;
}

enum status rt_array_destroy(struct rt_array *a)
{
    if (a->is_level)
        return ST_INVALID_VALUE;
    enum status st = context_finish(a->context);
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&lock);
    unlink_array(a);
    pthread_mutex_unlock(&lock);
    allocation_drop(a->allocation);
    object_free(a);
    return ST_OK;
}

const struct rt_array_shape *rt_array_shape(const struct rt_array *a) { return &a->shape; }
struct rt_context *rt_array_context(const struct rt_array *a) { return a->context; }
bool rt_array_is_level(const struct rt_array *a) { return a->is_level; }
uint64_t rt_array_rows(const struct rt_array *a) { return rows_of(&a->shape); }
uint64_t rt_array_row_bytes(const struct rt_array *a) { return row_bytes_of(&a->shape); }
uint64_t rt_array_bytes(const struct rt_array *a) { return a->pitch * rows_of(&a->shape) * (a->shape.depth ? a->shape.depth : 1); }

void rt_array_storage(const struct rt_array *a, uint64_t *address, uint64_t *pitch)
{
    *address = a->base;
    *pitch = a->pitch;
}

/* ---- mipmapped arrays ---- */

static void drop_levels(struct rt_mipmap *m)
{
    for (uint32_t i = 0; i < m->levels; i++)
        if (m->level[i])
            object_free(m->level[i]);
}

static enum status make_levels(struct rt_mipmap *m, const struct rt_array_shape *shape, uint64_t *bytes, struct error *err)
{
    *bytes = 0;
    for (uint32_t i = 0; i < m->levels; i++) {
        struct rt_array *a = m->level[i] = object_new(RT_ARRAY);
        if (!a)
            return error_set(err, ST_OUT_OF_MEMORY, "no memory for an array");
        uint64_t own;
        a->context = m->context;
        a->is_level = true;
        a->shape = level_shape(shape, i);
        enum status st = layout(&a->shape, &a->pitch, &own, err);
        if (st != ST_OK)
            return st;
        a->base = *bytes;                      /* the offset, until the memory is there */
        *bytes += own;
    }
    return ST_OK;
}

enum status rt_mipmap_create(struct rt_mipmap **out, struct rt_context *c, const struct rt_array_shape *shape, uint32_t levels, struct error *err)
{
    *out = NULL;
    enum status st = context_status(c);
    if (st != ST_OK)
        return st;
    struct rt_mipmap *m = object_new(RT_MIPMAP);
    if (!m)
        return error_set(err, ST_OUT_OF_MEMORY, "no memory for a mipmapped array");
    uint64_t bytes;
    m->context = c;
    m->levels = levels < EMU_LEVELS ? levels : EMU_LEVELS;
    st = make_levels(m, shape, &bytes, err);
    if (st == ST_OK)
        st = allocation_make(&m->allocation, &(struct allocation_request){.context = c, .device = c->device, .kind = RT_MEMORY_ARRAY, .bytes = bytes}, err);
    if (st != ST_OK) {
        drop_levels(m);
        object_free(m);
        return st;
    }
    for (uint32_t i = 0; i < m->levels; i++)
        m->level[i]->base += m->allocation->base;
    pthread_mutex_lock(&lock);
    m->next = mipmaps;
    if (mipmaps)
        mipmaps->prev = m;
    mipmaps = m;
    pthread_mutex_unlock(&lock);
    *out = m;
    return ST_OK;
}

/* Under the lock. */
static void unlink_mipmap(struct rt_mipmap *m)
{
    if (m->next)
        m->next->prev = m->prev;
    if (m->prev)
        m->prev->next = m->next;
    else
        mipmaps = m->next;
}

enum status rt_mipmap_destroy(struct rt_mipmap *m)
{
    enum status st = context_finish(m->context);
    if (st != ST_OK)
        return st;
    pthread_mutex_lock(&lock);
    unlink_mipmap(m);
    pthread_mutex_unlock(&lock);
    drop_levels(m);
    allocation_drop(m->allocation);
    object_free(m);
    return ST_OK;
}

uint32_t rt_mipmap_levels(const struct rt_mipmap *m) { return m->levels; }
struct rt_array *rt_mipmap_level(struct rt_mipmap *m, uint32_t level) { return level < m->levels ? m->level[level] : NULL; }

/* Their memory is the context's and goes with it. */
void context_free_arrays(struct rt_context *c)
{
    pthread_mutex_lock(&lock);
    for (struct rt_array *a = arrays, *next; a; a = next) {
        next = a->next;
        if (a->context == c) {
            unlink_array(a);
            object_free(a);
        }
    }
    for (struct rt_mipmap *m = mipmaps, *next; m; m = next) {
        next = m->next;
        if (m->context == c) {
            unlink_mipmap(m);
            drop_levels(m);
            object_free(m);
        }
    }
    pthread_mutex_unlock(&lock);
}
