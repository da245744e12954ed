/* Reading and writing single texels. */
#ifndef HEDDLE_EMU_TEXEL_H
#define HEDDLE_EMU_TEXEL_H
#include "emu/texture.h"

/* Four channels of the texel at p: integers, or the bits of floats. Missing channels: 0, 0, 1. */
typedef void (*texel_load)(const char *p, uint32_t out[4]);
texel_load texel_loader(enum emu_texel t, unsigned channels);          /* not for blocks */

/* Texel (x, y), each 0 to 3, of the block at p. */
void texel_block(enum emu_texel t, const char *p, unsigned x, unsigned y, uint32_t out[4]);

/* sust.p: n values to the channels of the texel at p. Floats to floats (rounded to nearest even) and to normalized integers (to nearest even, NaN 0);
 * integers saturate. Channels without a value become 0. */
void texel_store(enum emu_texel t, unsigned channels, char *p, const uint32_t *in, unsigned n);

static inline float texel_float(uint32_t bits) { float f; __builtin_memcpy(&f, &bits, 4); return f; }
static inline uint32_t texel_bits(float f) { uint32_t b; __builtin_memcpy(&b, &f, 4); return b; }
float texel_of_srgb(unsigned v);               /* 0 to 255 */

#endif
