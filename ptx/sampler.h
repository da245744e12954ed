/* Samplers: what the eight bytes of a .samplerref variable say, from its initialiser { addr_mode_0 = wrap, filter_mode = linear .. }.
 *
 * Address modes are numbered as PTX lists them: wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border. A sampler without an initialiser is all
 * zeros; other opaque variables have no initialiser that counts. */
#ifndef HEDDLE_PTX_SAMPLER_H
#define HEDDLE_PTX_SAMPLER_H

#define PTX_SAMPLER_MARK ((uint64_t)1 << 63)   /* there was an initialiser */
#define PTX_SAMPLER_ADDRESS(i) (3 * (i))       /* 3 bits each, i = 0 to 2 */
#define PTX_SAMPLER_LINEAR ((uint64_t)1 << 9)
#define PTX_SAMPLER_FORCE_UNNORMALIZED ((uint64_t)1 << 10)

#endif
