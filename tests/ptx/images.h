/* The textures and surfaces of a case: what a `texture` or `surface` line says (README.md tells the format), and making them with the driver API. */
#ifndef HEDDLE_TESTS_PTX_IMAGES_H
#define HEDDLE_TESTS_PTX_IMAGES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IMAGES = 4 };                   /* of a case */
enum image_memory { IMAGE_ARRAY, IMAGE_LINEAR, IMAGE_PITCH };

struct image {
    char *name;                        /* register %name, or the module's variable */
    bool surface, reference;           /* reference: bound to the variable instead of being a handle */
    enum image_memory memory;
    unsigned flags;                    /* CUDA_ARRAY3D_ */
    unsigned width, height, depth;     /* 0: not there; layers are depth */
    int format;                        /* CUarray_format */
    unsigned channels, texel_bytes, levels;
    int address[3], filter, mip_filter;
    unsigned texture_flags;            /* CU_TRSF_ */
    float bias, min_lod, max_lod;
    uint32_t border[4];
    int view;                          /* CUresourceViewFormat, or 0 */
    uint8_t *data, *after;             /* all levels, dense; after: NULL where nobody looks */
    size_t bytes;
};

/* Reads one line without its keyword; file and line for messages (a bad line ends the program with status 2). */
void image_read(struct image *image, char *text, bool surface, const char *file, unsigned line);
/* Values that must be in it at the end: `NAME : values`, of one of n images. */
void image_read_after(struct image *images, unsigned n, char *text, const char *file, unsigned line);
/* Size of a level. */
void image_level(const struct image *image, unsigned level, unsigned size[3]);

/* ---- images_make.c: with a CUDA driver ---- */
struct made { unsigned long long handle; void *array, *mipmap; unsigned long long memory; };
/* module: a CUmodule, for references. Answers a CUresult; *what names the call that failed. */
int image_make(const struct image *image, void *module, struct made *made, const char **what);
int image_fetch(const struct image *image, const struct made *made, uint8_t *to);      /* level 0, dense */
void image_free(const struct image *image, const struct made *made);

#endif
