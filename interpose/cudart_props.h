/* The layouts of struct cudaDeviceProp. */
#ifndef HEDDLE_CUDART_PROPS_H
#define HEDDLE_CUDART_PROPS_H
#include "interpose/cudart.h"

/* Fills `to` (may be NULL) with the properties of a device as CUDA `major` lays them out; returns the struct's size. Where wanted names a
 * field (arrays by their parts: maxGridSize_y), *offset is where it stands. */
size_t cudart_props_layout(int major, int device, char *to, const char *wanted, size_t *offset);

#endif
