/* Texel formats and the table of textures: what the instruction cases of tests/ptx do not reach. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emu/half.h"
#include "emu/tex.h"

static float channel(enum emu_texel t, const unsigned char *block, unsigned x, unsigned y, unsigned c)
{
    uint32_t out[4];
    texel_block(t, (const char *)block, x, y, out);
    return texel_float(out[c]);
}

#define CLOSE(got, want) ck_assert_float_eq_tol((float)(got), (float)(want), 1e-6f)

START_TEST(block_colours)
{
    /* red and blue, codes 0 1 2 3 across each row; colours in order: four of them; swapped: three and transparent black */
    unsigned char four[8] = { 0x00, 0xf8, 0x1f, 0x00, 0xe4, 0xe4, 0xe4, 0xe4 }, three[8] = { 0x1f, 0x00, 0x00, 0xf8, 0xe4, 0xe4, 0xe4, 0xe4 };
    static const double red[4] = { 1, 0, 2.0 / 3, 1.0 / 3 };
    for (unsigned x = 0; x < 4; x++) {
        CLOSE(channel(EMU_TEXEL_BC1, four, x, 3, 0), red[x]);
        CLOSE(channel(EMU_TEXEL_BC1, four, x, 0, 2), 1 - red[x]);
        CLOSE(channel(EMU_TEXEL_BC1, four, x, 1, 3), 1);
    }
    CLOSE(channel(EMU_TEXEL_BC1, three, 2, 0, 0), 0.5);
    CLOSE(channel(EMU_TEXEL_BC1, three, 2, 0, 2), 0.5);
    CLOSE(channel(EMU_TEXEL_BC1, three, 3, 0, 0), 0);
    CLOSE(channel(EMU_TEXEL_BC1, three, 3, 0, 3), 0);
    CLOSE(channel(EMU_TEXEL_BC1S, four, 0, 0, 0), 1);
    ck_assert_float_lt(channel(EMU_TEXEL_BC1S, four, 2, 0, 0), 0.5f);      /* sRGB: darker than its code says */
}
END_TEST

START_TEST(block_alpha)
{
    unsigned char bc2[16] = { 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0x00, 0xf8, 0x1f, 0x00, 0, 0, 0, 0 };
    for (unsigned i = 0; i < 16; i++)
        CLOSE(channel(EMU_TEXEL_BC2, bc2, i % 4, i / 4, 3), i / 15.0);
    CLOSE(channel(EMU_TEXEL_BC2, bc2, 1, 1, 0), 1);
    bc2[8] = 0x1f, bc2[9] = 0, bc2[10] = 0, bc2[11] = 0xf8, bc2[12] = 3;       /* no transparent black here: code 3 is a third of the first */
    CLOSE(channel(EMU_TEXEL_BC2, bc2, 0, 0, 2), 1.0 / 3);
    /* BC3: codes 0 to 7 in the first two rows, 3 bits each from the low end */
    uint64_t codes = 0;
    for (unsigned i = 0; i < 8; i++)
        codes |= (uint64_t)i << 3 * i;
    unsigned char bc3[16] = { 210, 70 };
    memcpy(bc3 + 2, &codes, 6);
    static const double eight[8] = { 210, 70, (6 * 210 + 70) / 7.0, (5 * 210 + 2 * 70) / 7.0, (4 * 210 + 3 * 70) / 7.0, (3 * 210 + 4 * 70) / 7.0,
                                     (2 * 210 + 5 * 70) / 7.0, (210 + 6 * 70) / 7.0 };
    for (unsigned i = 0; i < 8; i++)
        CLOSE(channel(EMU_TEXEL_BC3, bc3, i % 4, i / 4, 3), eight[i] / 255);
    bc3[0] = 70, bc3[1] = 210;
    static const double six[8] = { 70, 210, (4 * 70 + 210) / 5.0, (3 * 70 + 2 * 210) / 5.0, (2 * 70 + 3 * 210) / 5.0, (70 + 4 * 210) / 5.0, 0, 255 };
    for (unsigned i = 0; i < 8; i++)
        CLOSE(channel(EMU_TEXEL_BC3, bc3, i % 4, i / 4, 3), six[i] / 255);
    for (unsigned i = 0; i < 8; i++) {
        CLOSE(channel(EMU_TEXEL_BC4, bc3, i % 4, i / 4, 0), six[i] / 255);
        CLOSE(channel(EMU_TEXEL_BC4, bc3, i % 4, i / 4, 3), 1);
    }
    /* BC5, signed: the second channel is a ramp of its own; -128 is -1 */
    unsigned char bc5[16] = { 0x7f, 0x81 };                                    /* 127, -127 */
    memcpy(bc5 + 2, &codes, 6);
    memcpy(bc5 + 8, (unsigned char[8]){ 0x80, 0x40 }, 8);
    memcpy(bc5 + 10, &codes, 6);
    for (unsigned i = 0; i < 8; i++) {
        static const double ramp8[8] = { 7, -7, 5, 3, 1, -1, -3, -5 };
        double second[8] = { -127, 64, (4 * -127 + 64) / 5.0, (3 * -127 + 2 * 64) / 5.0, (2 * -127 + 3 * 64) / 5.0, (-127 + 4 * 64) / 5.0, -127, 127 };
        CLOSE(channel(EMU_TEXEL_BC5S, bc5, i % 4, i / 4, 0), ramp8[i] / 7);
        CLOSE(channel(EMU_TEXEL_BC5S, bc5, i % 4, i / 4, 1), second[i] / 127);
    }
}
END_TEST

START_TEST(halves)
{
    for (uint32_t h = 0; h < 65536; h++) {
        float f = half_value((uint16_t)h);
        if (isnan(f))
            ck_assert_uint_eq(half_code(f), 0x7fff);
        else
            ck_assert_uint_eq(half_code(f), h);
    }
    ck_assert_uint_eq(half_code(65519.0f), 0x7bff);
    ck_assert_uint_eq(half_code(65520.0f), 0x7c00);
    ck_assert_uint_eq(half_code(1 + 0x1p-11f), 0x3c00);           /* a tie goes to the even one */
    ck_assert_uint_eq(half_code(1 + 3 * 0x1p-11f), 0x3c02);
    ck_assert_uint_eq(half_code(0x1p-25f), 0);
    ck_assert_uint_eq(half_code(0x1.8p-25f), 1);
}
END_TEST

START_TEST(packed)
{
    uint32_t in[4] = { texel_bits(1), texel_bits(0.5f), texel_bits(-3), texel_bits(2 / 3.0f) }, word = 0, out[4];
    texel_store(EMU_TEXEL_RGB10A2, 4, (char *)&word, in, 4);
    ck_assert_uint_eq(word, 1023u | 512u << 10 | 0u << 20 | 2u << 30);
    texel_loader(EMU_TEXEL_RGB10A2, 4)((const char *)&word, out);
    CLOSE(texel_float(out[0]), 1);
    CLOSE(texel_float(out[1]), 512 / 1023.0);
    CLOSE(texel_float(out[3]), 2 / 3.0);
    CLOSE(texel_of_srgb(0), 0);
    CLOSE(texel_of_srgb(255), 1);
    CLOSE(texel_of_srgb(10), 10 / 255.0 / 12.92);
}
END_TEST

static struct emu_texture small(enum emu_texture_kind kind, void *memory)
{
    struct emu_texture t = { .kind = (uint8_t)kind, .texel = EMU_TEXEL_F32, .channels = 1, .n_levels = 1, .width = 4, .height = 4 };
    t.lo = (uintptr_t)memory;
    t.hi = t.lo + 64;
    t.level[0] = (struct emu_level){ t.lo, 16, 64, 4, 4, 1 };
    return t;
}

START_TEST(handles)
{
    float memory[16];
    uint64_t a, b, c;
    void *owner = NULL;
    struct emu_texture t = small(EMU_TEXTURE, memory), s = small(EMU_SURFACE, memory);
    t.owner = &a;
    ck_assert_int_eq(emu_texture_create(&a, &t, NULL), ST_OK);
    ck_assert_int_eq(emu_texture_create(&b, &s, NULL), ST_OK);
    ck_assert(a && b && a != b && a >> 32 == 0);
    ck_assert(emu_texture_owner(a, EMU_TEXTURE, &owner) && owner == &a);
    ck_assert(!emu_texture_owner(a, EMU_SURFACE, &owner));
    ck_assert(!emu_texture_destroy(a, EMU_SURFACE));
    ck_assert(emu_texture_destroy(a, EMU_TEXTURE));
    ck_assert(!emu_texture_destroy(a, EMU_TEXTURE));
    ck_assert(!texture_find(a));
    ck_assert_int_eq(emu_texture_create(&c, &t, NULL), ST_OK);     /* the same place, another name */
    ck_assert(c != a && texture_find(c) && !texture_find(a));
    t.width = 2;
    ck_assert_int_eq(emu_texture_change(c, &t, NULL), ST_OK);
    ck_assert_uint_eq(texture_find(c)->d.width, 2);
    ck_assert_int_eq(emu_texture_change(a, &t, NULL), ST_INVALID_HANDLE);
    t.level[0].height = 5;                                         /* beyond the memory */
    ck_assert_int_eq(emu_texture_create(&a, &t, NULL), ST_INVALID_VALUE);
    ck_assert(emu_texture_destroy(b, EMU_SURFACE));
    ck_assert(emu_texture_destroy(c, EMU_TEXTURE));
    ck_assert(!texture_find(0) && !texture_find(UINT64_MAX) && !texture_find(0x100000));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("emu_texel");
    TCase *t = tcase_create("all");
    tcase_add_test(t, block_colours);
    tcase_add_test(t, block_alpha);
    tcase_add_test(t, halves);
    tcase_add_test(t, packed);
    tcase_add_test(t, handles);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
