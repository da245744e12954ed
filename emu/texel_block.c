/* Block compression 1 to 5: 4 x 4 texels in 8 or 16 bytes. Interpolated values are exact fractions, rounded to f32 once. */
#include <string.h>

#include "emu/texel.h"

static uint64_t little(const char *p, unsigned bytes)
{
    uint64_t v = 0;
    memcpy(&v, p, bytes);
    return v;
}

/* Channel c of a colour in 5:6:5 bits, as a fraction of *top. */
static unsigned part565(unsigned colour, unsigned c, unsigned *top)
{
    *top = c == 1 ? 63 : 31;
    return colour >> (c == 0 ? 11 : c == 1 ? 5 : 0) & *top;
}

/* sRGB-encoded colours are decoded from the 8-bit value that is nearest. */
static uint32_t colour_of(unsigned sum, unsigned whole, bool srgb)
{
    if (srgb)
        return texel_bits(texel_of_srgb((2 * 255 * sum + whole) / (2 * whole)));
    return texel_bits((float)((double)sum / (double)whole));
}

/* The colours of BC1 to BC3. Only BC1 has the form of three colours and transparent black (when the first is not the greater). */
static void colours(const char *p, unsigned at, bool three, bool srgb, uint32_t out[4])
{
    unsigned c0 = (unsigned)little(p, 2), c1 = (unsigned)little(p + 2, 2), code = (unsigned)(little(p + 4, 4) >> 2 * at & 3);
    bool four = !three || c0 > c1;
    static const uint8_t share4[4] = { 3, 0, 2, 1 }, share3[4] = { 2, 0, 1, 0 };   /* of the first colour, in thirds or halves */
    unsigned whole = four ? 3 : 2, share = four ? share4[code] : share3[code];
    for (unsigned c = 0; c < 3; c++) {
        unsigned top, sum = part565(c0, c, &top) * share + part565(c1, c, &top) * (whole - share);
        out[c] = !four && code == 3 ? 0 : colour_of(sum, whole * top, srgb);
    }
    out[3] = !four && code == 3 ? 0 : texel_bits(1.0f);
}

/* One interpolated channel: two bytes and 3 bits a texel. */
static uint32_t ramp(const char *p, unsigned at, bool is_signed)
{
    int a = is_signed ? (int8_t)p[0] : (uint8_t)p[0], b = is_signed ? (int8_t)p[1] : (uint8_t)p[1], top = is_signed ? 127 : 255;
    unsigned code = (unsigned)(little(p + 2, 6) >> 3 * at & 7);
    bool eight = a > b;
    a = a < -top ? -top : a;
    b = b < -top ? -top : b;
    int whole = eight ? 7 : 5, share;          /* of a */
    if (code < 2)
        share = code ? 0 : whole;
    else if (!eight && code >= 6)
        return texel_bits(code == 7 ? 1.0f : is_signed ? -1.0f : 0.0f);
    else
        share = whole + 1 - (int)code;
    return texel_bits((float)((double)(a * share + b * (whole - share)) / (double)(whole * top)));
}

void texel_block(enum emu_texel t, const char *p, unsigned x, unsigned y, uint32_t out[4])
{
    unsigned at = 4 * y + x;
    bool srgb = t == EMU_TEXEL_BC1S || t == EMU_TEXEL_BC2S || t == EMU_TEXEL_BC3S;
    switch (t) {
    case EMU_TEXEL_BC1: case EMU_TEXEL_BC1S: colours(p, at, true, srgb, out); break;
    case EMU_TEXEL_BC2: case EMU_TEXEL_BC2S:
        colours(p + 8, at, false, srgb, out);
        out[3] = texel_bits((float)(little(p, 8) >> 4 * at & 15) / 15.0f);
        break;
    case EMU_TEXEL_BC3: case EMU_TEXEL_BC3S:
        colours(p + 8, at, false, srgb, out);
        out[3] = ramp(p, at, false);
        break;
    default:                                   /* BC4, BC5 */
        out[1] = out[2] = 0;
        out[3] = texel_bits(1.0f);
        out[0] = ramp(p, at, t == EMU_TEXEL_BC4S || t == EMU_TEXEL_BC5S);
        if (emu_texel_facts[t].channels == 2)
            out[1] = ramp(p + 8, at, t == EMU_TEXEL_BC5S);
        break;
    }
}
