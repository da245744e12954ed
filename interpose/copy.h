/* Copies and fills that both APIs make. */
#ifndef HEDDLE_COPY_H
#define HEDDLE_COPY_H
#include "interpose/api.h"
#include "runtime/texture.h"

/* One end of a copy: an address, or a place in an array. */
struct place {
    uint64_t address;                          /* of the first byte that is copied */
    uint64_t pitch, slice;                     /* bytes from row to row, from slice to slice; 0: rows and slices stand dense */
};
/* A byte offset and rows in an array. ST_INVALID_HANDLE, or ST_INVALID_VALUE when width x height x depth from there leaves it. */
enum status api_array_place(CUarray array, size_t x_bytes, size_t y, size_t z, size_t width_bytes, size_t height, size_t depth, struct place *out) MUST_CHECK;
/* Copies depth slices of height rows of width bytes. A pitch shorter than a row is ST_INVALID_VALUE (ST_INVALID_PITCH_VALUE from the runtime API). */
enum status copy_places(CUstream stream, const struct place *dst, const struct place *src, size_t width_bytes, size_t height, size_t depth, enum rt_wait wait);
/* The same as the runtime's description, for graphs. */
enum status copy_shape(const struct place *dst, const struct place *src, size_t width_bytes, size_t height, size_t depth, struct rt_copy *out) MUST_CHECK;
enum status api_copy_3d_shape(const CUDA_MEMCPY3D_PEER *copy, struct rt_copy *out) MUST_CHECK;
enum status cudart_copy_shape(const struct cudaMemcpy3DParms *p, struct rt_copy *out) MUST_CHECK;
/* Of a variable, count bytes from offset on. ST_INVALID_SYMBOL, ST_INVALID_VALUE. */
enum status cudart_symbol_part(const void *symbol, size_t offset, size_t count, uint64_t *address) MUST_CHECK;
enum status cudart_directed(uint64_t dst, uint64_t src, int kind) MUST_CHECK;      /* a cudaMemcpyKind that fits the addresses */
enum status api_copy_linear(CUstream stream, uint64_t dst, uint64_t src, size_t bytes, enum rt_wait wait);
enum status api_copy_3d(const CUDA_MEMCPY3D_PEER *copy, CUstream stream, enum rt_wait wait);
/* height rows of width elements of elem_bytes. */
enum status api_fill(CUstream stream, uint64_t dst, size_t pitch, uint32_t value, uint32_t elem_bytes, size_t width, size_t height, enum rt_wait wait);

#endif
