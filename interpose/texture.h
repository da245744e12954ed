/* Textures and surfaces: what the two APIs share. */
#ifndef HEDDLE_INTERPOSE_TEXTURE_H
#define HEDDLE_INTERPOSE_TEXTURE_H
#include "interpose/api.h"
#include "runtime/texture.h"

/* Between the ABI's structs and the runtime's. ST_INVALID_HANDLE: no such array. */
enum status api_resource(const CUDA_RESOURCE_DESC *d, struct rt_resource *out) MUST_CHECK;
void api_resource_desc(const struct rt_resource *r, CUDA_RESOURCE_DESC *out);

#endif
