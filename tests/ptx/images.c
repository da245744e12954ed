/* Reading `texture` and `surface` lines; see images.h. */
#include "tests/ptx/images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof (a) / sizeof *(a))

static const struct { const char *word; enum image_memory memory; unsigned flags; } shapes[] = {
    {"1d", IMAGE_ARRAY, 0}, {"2d", IMAGE_ARRAY, 0}, {"3d", IMAGE_ARRAY, 0}, {"a1d", IMAGE_ARRAY, 1}, {"a2d", IMAGE_ARRAY, 1}, {"cube", IMAGE_ARRAY, 4},
    {"acube", IMAGE_ARRAY, 5}, {"linear", IMAGE_LINEAR, 0}, {"pitch", IMAGE_PITCH, 0}};
/* bytes of a channel; formats that say the number of channels have one for each of 1, 2 and 4 */
static const struct { const char *word; int format[3]; unsigned bytes; } formats[] = {
    {"u8", {0x01, 0x01, 0x01}, 1}, {"u16", {0x02, 0x02, 0x02}, 2}, {"u32", {0x03, 0x03, 0x03}, 4}, {"s8", {0x08, 0x08, 0x08}, 1}, {"s16", {0x09, 0x09, 0x09}, 2},
    {"s32", {0x0a, 0x0a, 0x0a}, 4}, {"f16", {0x10, 0x10, 0x10}, 2}, {"f32", {0x20, 0x20, 0x20}, 4}, {"un8", {0xc0, 0xc1, 0xc2}, 1},
    {"un16", {0xc3, 0xc4, 0xc5}, 2}, {"sn8", {0xc6, 0xc7, 0xc8}, 1}, {"sn16", {0xc9, 0xca, 0xcb}, 2}};
static const char *const address_modes[] = {"wrap", "clamp", "mirror", "border"};
static const struct { const char *word; unsigned flag; } flags[] = {{"norm", 2}, {"srgb", 0x10}, {"seamless", 0x40}};

struct place { const char *file; unsigned line; };

__attribute__((noreturn)) static void bad(const struct place *p, const char *what, const char *word)
{
    fprintf(stderr, "%s:%u: %s '%s'\n", p->file, p->line, what, word);
    exit(2);
}

static char *word(char **s)
{
    char *p = *s + strspn(*s, " \t\n");
    if (!*p)
        return NULL;
    char *end = p + strcspn(p, " \t\n");
    *s = *end ? end + 1 : end;
    *end = 0;
    return p;
}

static bool address_mode(const char *w, int *mode)
{
    for (size_t i = 0; i < COUNT(address_modes); i++)
        if (strcmp(w, address_modes[i]) == 0) {
            *mode = (int)i;
            return true;
        }
    return false;
}

void image_level(const struct image *im, unsigned level, unsigned size[3])
{
    bool layers = im->flags & 5;
    size[0] = im->width >> level ? im->width >> level : 1;
    size[1] = im->height ? im->height >> level ? im->height >> level : 1 : 1;
    size[2] = !im->depth ? 1 : layers ? im->depth : im->depth >> level ? im->depth >> level : 1;
}

/* Hexadecimal numbers of 2, 4, 8 or 16 digits, low byte first; V*N repeats. */
static void values(const struct place *p, char *s, uint8_t *to, size_t bytes)
{
    size_t at = 0;
    for (char *w; (w = word(&s));) {
        char *star = strchr(w, '*'), *end;
        unsigned long times = star ? strtoul(star + 1, NULL, 0) : 1;
        if (star)
            *star = 0;
        size_t n = strlen(w) / 2;
        unsigned long long v = strtoull(w, &end, 16);
        if (*end || n * 2 != strlen(w) || (n != 1 && n != 2 && n != 4 && n != 8))
            bad(p, "not 2, 4, 8 or 16 hexadecimal digits:", w);
        for (; times; times--, at += n) {
            if (at + n > bytes)
                bad(p, "beyond the image:", w);
            memcpy(to + at, &v, n);
        }
    }
    if (at && at != bytes)
        bad(p, "the image is larger than its values", "");
}

static void option(struct image *im, char *w, const struct place *p)
{
    char *value = strchr(w, '=');
    int mode;
    if (value)
        *value++ = 0;
    for (size_t i = 0; i < COUNT(flags); i++)
        if (strcmp(w, flags[i].word) == 0) {
            im->texture_flags |= flags[i].flag;
            return;
        }
    if (!value && address_mode(w, &mode))
        im->address[0] = im->address[1] = im->address[2] = mode;
    else if (strcmp(w, "linear") == 0 || strcmp(w, "point") == 0)
        im->filter = *w == 'l';
    else if (strcmp(w, "float") == 0)
        im->texture_flags &= ~1u;
    else if (strcmp(w, "miplinear") == 0)
        im->mip_filter = 1;
    else if (strcmp(w, "gather") == 0)
        im->flags |= 8;
    else if (value && strcmp(w, "address") == 0) {
        char *part = strtok(value, ",");
        for (int i = 0; i < 3 && part; i++, part = strtok(NULL, ","))
            if (!address_mode(part, &im->address[i]))
                bad(p, "no address mode:", part);
    } else if (value && strcmp(w, "border") == 0) {
        char *part = strtok(value, ",");
        for (int i = 0; i < 4 && part; i++, part = strtok(NULL, ","))
            im->border[i] = (uint32_t)strtoul(part, NULL, 16);
    } else if (value && strcmp(w, "levels") == 0)
        im->levels = (unsigned)strtoul(value, NULL, 0);
    else if (value && strcmp(w, "view") == 0)
        im->view = (int)strtol(value, NULL, 0);
    else if (value && strcmp(w, "bias") == 0)
        im->bias = strtof(value, NULL);
    else if (value && strcmp(w, "min") == 0)
        im->min_lod = strtof(value, NULL);
    else if (value && strcmp(w, "max") == 0)
        im->max_lod = strtof(value, NULL);
    else
        bad(p, "unknown option", w);
}

static void type_read(struct image *im, char *w, const struct place *p)
{
    char *x = strchr(w, 'x');
    im->channels = x ? (unsigned)strtoul(x + 1, NULL, 10) : 1;
    if (x)
        *x = 0;
    if (im->channels != 1 && im->channels != 2 && im->channels != 4)
        bad(p, "1, 2 or 4 channels, not those of", w);
    for (size_t i = 0; i < COUNT(formats); i++)
        if (strcmp(w, formats[i].word) == 0) {
            im->format = formats[i].format[im->channels >> 1];
            im->texel_bytes = formats[i].bytes * im->channels;
            return;
        }
    bad(p, "unknown type", w);
}

void image_read(struct image *im, char *s, bool surface, const char *file, unsigned line)
{
    struct place p = {file, line};
    char *colon = strchr(s, ':'), *name, *shape, *type, *size;
    if (colon)
        *colon++ = 0;
    if (!(name = word(&s)) || !(shape = word(&s)) || !(type = word(&s)) || !(size = word(&s)))
        bad(&p, "write: NAME SHAPE TYPE WIDTHxHEIGHTxDEPTH OPTIONS : VALUES, not", s);
    *im = (struct image){.surface = surface, .reference = *name == '&', .name = strdup(name + (*name == '&')), .levels = 1, .address = {1, 1, 1},
                         .texture_flags = 1, .max_lod = 16, .flags = surface ? 2 : 0};
    size_t i = 0;
    while (i < COUNT(shapes) && strcmp(shape, shapes[i].word) != 0)
        i++;
    if (i == COUNT(shapes))
        bad(&p, "unknown shape", shape);
    im->memory = shapes[i].memory;
    im->flags |= shapes[i].flags;
    type_read(im, type, &p);
    unsigned *sizes[] = {&im->width, &im->height, &im->depth};
    int k = strcmp(shape, "a1d") == 0 ? 2 : 1;
    char *part = strtok(size, "x");
    im->width = (unsigned)strtoul(part, NULL, 10);
    while ((part = strtok(NULL, "x")) && k < 3)
        *sizes[k++] = (unsigned)strtoul(part, NULL, 10);
    for (char *w; (w = word(&s));)
        option(im, w, &p);
    for (unsigned l = 0; l < im->levels; l++) {
        unsigned n[3];
        image_level(im, l, n);
        im->bytes += (size_t)n[0] * n[1] * n[2] * im->texel_bytes;
    }
    im->data = calloc(im->bytes + 1, 1);
    if (colon && im->data)
        values(&p, colon, im->data, im->bytes);
}

void image_read_after(struct image *images, unsigned n, char *s, const char *file, unsigned line)
{
    struct place p = {file, line};
    char *colon = strchr(s, ':'), *name;
    if (!colon)
        bad(&p, "write: NAME : VALUES, not", s);
    *colon++ = 0;
    if (!(name = word(&s)))
        bad(&p, "whose values are these?", colon);
    for (unsigned i = 0; i < n; i++)
        if (strcmp(images[i].name, name) == 0) {
            images[i].after = calloc(images[i].bytes + 1, 1);
            values(&p, colon, images[i].after, images[i].bytes);
            return;
        }
    bad(&p, "no surface", name);
}
