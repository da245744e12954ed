/* From what a program says of a texture to the descriptor that kernels see. */
#ifndef HEDDLE_RUNTIME_TEXTURE_SHAPE_H
#define HEDDLE_RUNTIME_TEXTURE_SHAPE_H
#include "runtime/texture.h"

/* ST_INVALID_VALUE with the reason, ST_NOT_SUPPORTED. owner is left NULL. */
enum status texture_shape(struct emu_texture *t, const struct rt_device_facts *gpu, const struct rt_resource *r, const struct rt_sampling *s,
                          const struct rt_view *view, struct error *err) MUST_CHECK;
enum status surface_shape(struct emu_texture *t, const struct rt_resource *r, struct error *err) MUST_CHECK;

#endif
