/* Texel formats: what memory holds to what a fetch gives, and back. */
#include <math.h>
#include <string.h>

#include "emu/half.h"
#include "emu/texel.h"

const struct emu_texel_facts emu_texel_facts[EMU_TEXELS] = {
#define TEXEL(id, bytes, channels, class, cl, text) { bytes, channels, EMU_CLASS_##class, cl, text },
#include "emu/texel.def"
#undef TEXEL
};

unsigned emu_texel_bytes(enum emu_texel t, unsigned channels)
{
    const struct emu_texel_facts *f = &emu_texel_facts[t];
    return f->channels ? f->bytes : f->bytes * channels;
}

/* ---- numbers ---- */

static float signed_unit(int v, int top) { return v < -top ? -1.0f : (float)v / (float)top; }      /* the lowest integer is -1 too */

float texel_of_srgb(unsigned v)
{
    double s = (double)v / 255.0;
    return (float)(s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4));
}

/* ---- loads ---- */

/* name, type in memory, what v gives, one */
#define ONE_FLOAT 0x3f800000u
#define LOAD(name, type, value, one)                                                                    \
    static inline uint32_t name##_channel(const char *p, unsigned c)                                    \
    {                                                                                                   \
        type v;                                                                                         \
        memcpy(&v, p + c * sizeof v, sizeof v);                                                         \
        (void)c;                                                                                        \
        return (value);                                                                                 \
    }                                                                                                   \
    static void name##_1(const char *p, uint32_t out[4])                                                \
    {                                                                                                   \
        out[0] = name##_channel(p, 0), out[1] = out[2] = 0, out[3] = one;                               \
    }                                                                                                   \
    static void name##_2(const char *p, uint32_t out[4])                                                \
    {                                                                                                   \
        out[0] = name##_channel(p, 0), out[1] = name##_channel(p, 1), out[2] = 0, out[3] = one;         \
    }                                                                                                   \
    static void name##_4(const char *p, uint32_t out[4])                                                \
    {                                                                                                   \
        for (unsigned c = 0; c < 4; c++)                                                                \
            out[c] = name##_channel(p, c);                                                              \
    }

LOAD(U8, uint8_t, v, 1)
LOAD(U16, uint16_t, v, 1)
LOAD(U32, uint32_t, v, 1)
LOAD(S8, int8_t, (uint32_t)(int32_t)v, 1)
LOAD(S16, int16_t, (uint32_t)(int32_t)v, 1)
LOAD(S32, uint32_t, v, 1)
LOAD(F16, uint16_t, texel_bits(half_value(v)), ONE_FLOAT)
LOAD(F32, uint32_t, v, ONE_FLOAT)
LOAD(UN8, uint8_t, texel_bits((float)v / 255.0f), ONE_FLOAT)
LOAD(UN16, uint16_t, texel_bits((float)v / 65535.0f), ONE_FLOAT)
LOAD(SN8, int8_t, texel_bits(signed_unit(v, 127)), ONE_FLOAT)
LOAD(SN16, int16_t, texel_bits(signed_unit(v, 32767)), ONE_FLOAT)
LOAD(SRGB8, uint8_t, texel_bits(c == 3 ? (float)v / 255.0f : texel_of_srgb(v)), ONE_FLOAT)

static void RGB10A2_4(const char *p, uint32_t out[4])
{
    uint32_t v;
    memcpy(&v, p, 4);
    for (unsigned c = 0; c < 3; c++)
        out[c] = texel_bits((float)(v >> 10 * c & 1023) / 1023.0f);
    out[3] = texel_bits((float)(v >> 30) / 3.0f);
}

texel_load texel_loader(enum emu_texel t, unsigned channels)
{
#define ROW(name) [EMU_TEXEL_##name] = { name##_1, name##_2, name##_4 }
    static const texel_load loads[EMU_TEXEL_BC1][3] = {
        ROW(U8), ROW(U16), ROW(U32), ROW(S8), ROW(S16), ROW(S32), ROW(F16), ROW(F32), ROW(UN8), ROW(UN16), ROW(SN8), ROW(SN16), ROW(SRGB8),
        [EMU_TEXEL_RGB10A2] = { RGB10A2_4, RGB10A2_4, RGB10A2_4 } };
#undef ROW
    return emu_texel_is_block(t) ? NULL : loads[t][channels >> 1];
}

/* ---- stores ---- */

static uint32_t unit_of(float f, float low, float top)
{
    f = f != f ? 0.0f : f < low ? low : f > 1.0f ? 1.0f : f;
    return (uint32_t)(int32_t)lrint((double)f * (double)top);          /* to nearest even: the mode that nobody changes */
}

static uint32_t channel_of(enum emu_texel t, uint32_t v, unsigned bits)
{
    int32_t s = (int32_t)v, top = (int32_t)((1u << (bits - 1)) - 1);
    switch ((enum emu_texel_class)emu_texel_facts[t].class) {
    case EMU_CLASS_UINT: return bits < 32 && v >> bits ? (1u << bits) - 1 : v;
    case EMU_CLASS_SINT: return (uint32_t)(bits == 32 ? s : s > top ? top : s < -top - 1 ? -top - 1 : s);
    case EMU_CLASS_UNORM: return unit_of(texel_float(v), 0.0f, (float)((1u << bits) - 1));
    case EMU_CLASS_SNORM: return unit_of(texel_float(v), -1.0f, (float)top);
    case EMU_CLASS_FLOAT: break;
    }
    return bits == 16 ? half_code(texel_float(v)) : v;
}

void texel_store(enum emu_texel t, unsigned channels, char *p, const uint32_t *in, unsigned n)
{
    if (t == EMU_TEXEL_RGB10A2) {
        uint32_t v = 0;
        for (unsigned c = 0; c < 4 && c < n; c++)
            v |= unit_of(texel_float(in[c]), 0.0f, c == 3 ? 3.0f : 1023.0f) << 10 * c;
        memcpy(p, &v, 4);
        return;
    }
    unsigned bytes = emu_texel_facts[t].bytes;
    for (unsigned c = 0; c < channels; c++) {
        uint32_t v = c < n ? channel_of(t, in[c], bytes * 8) : 0;
        memcpy(p + c * bytes, &v, bytes);      /* little-endian: the low bytes are first */
    }
}
