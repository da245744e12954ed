/* Fat binaries: what nvcc puts into an executable, and what cuModuleLoadData and cuLibraryLoadData accept.
 *
 *   wrapper -> header -> entry, entry, ..     an entry is one PTX text, cubin or LTO-IR, for one architecture
 *
 * Nothing is copied: entries point into the caller's image, which must outlive them. Every function is thread-safe.
 * Where an image comes from memory without a known size (a registered wrapper), pass FATBIN_TRUSTED as its size: the header's
 * own sizes are then believed, as the driver does. Where it comes from a file, pass the bytes that are there; then no input,
 * however broken, is read beyond them. Sizes in bytes; architectures as 10 * major + minor (90 = compute capability 9.0). */
#ifndef HEDDLE_PTX_FATBIN_H
#define HEDDLE_PTX_FATBIN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

#define FATBIN_TRUSTED SIZE_MAX

/* What a pointer given to cuModuleLoadData points at. */
enum fatbin_image_kind {
    FATBIN_IMAGE_UNKNOWN,
    FATBIN_IMAGE_WRAPPER,      /* struct __fatBinC_Wrapper_t: fatbin_wrapper_* */
    FATBIN_IMAGE_HEADER,       /* fatbin_open */
    FATBIN_IMAGE_ELF,          /* a plain cubin: cubin_read */
    FATBIN_IMAGE_PTX,          /* NUL-terminated text; also text that is no PTX, so that the parser can say what is wrong */
};
/* Reads byte by byte and stops at the first NUL, so any valid image may be passed without its size. */
enum fatbin_image_kind fatbin_kind_of(const void *image);

/* ---- wrapper ----
 * Version 1 names one header. Version 2 (-rdc=true) names the linked cubins, and behind `prelinked` the header of every
 * translation unit with its relocatable PTX, to be linked by ptx_link. */
bool fatbin_wrapper_is_linked(const void *wrapper);            /* version 2 with units */
const void *fatbin_wrapper_data(const void *wrapper);          /* the one header, or that of the linked cubins; NULL if none */
const void *fatbin_wrapper_unit(const void *wrapper, size_t i);/* version 2: i-th unit's header; NULL behind the last */

/* ---- header and entries ---- */
enum fatbin_entry_kind { FATBIN_PTX = 1, FATBIN_ELF = 2, FATBIN_LTOIR = 8 };   /* other values are passed through */
enum fatbin_packing { FATBIN_RAW, FATBIN_LZ4, FATBIN_ZSTD };

struct fatbin_entry {
    unsigned kind;             /* enum fatbin_entry_kind */
    unsigned arch;             /* 90 */
    char suffix;               /* 'a', 'f' or 0 */
    unsigned isa_major, isa_minor;             /* PTX ISA version of the text; for cubins the ELF ABI's */
    uint64_t flags;            /* as stored */
    bool debug;                /* compiled with -G */
    enum fatbin_packing packing;
    const void *payload;       /* as stored: payload_bytes of it; unpacked it has `bytes` */
    size_t payload_bytes, bytes;
    const char *options; size_t options_bytes; /* ptxas options, not NUL-terminated */
    const char *name; size_t name_bytes;       /* source file (-lineinfo, -G), not NUL-terminated */
};

struct fatbin_iter { const unsigned char *at, *end; };

/* Starts at the first entry of a header. */
enum status fatbin_open(struct fatbin_iter *it, const void *header, size_t bytes, struct error *err) MUST_CHECK;
/* Gets the next entry; *more is false (and *e untouched) behind the last. After an error the iteration is over. */
enum status fatbin_next(struct fatbin_iter *it, struct fatbin_entry *e, bool *more, struct error *err) MUST_CHECK;
/* Header and entries together. ST_INVALID_IMAGE when `bytes` do not hold them. For walking a section with several fatbins. */
enum status fatbin_bytes(const void *header, size_t bytes, size_t *total, struct error *err) MUST_CHECK;

/* The unpacked payload. Raw entries are not copied: then `owned` is NULL and data points into the image. Otherwise data is
 * NUL-terminated one byte behind its end. PTX text ends at its first NUL. Free with fatbin_blob_free in both cases. */
struct fatbin_blob { const char *data; size_t bytes; void *owned; };
enum status fatbin_unpack(const struct fatbin_entry *e, struct fatbin_blob *out, struct error *err) MUST_CHECK;
void fatbin_blob_free(struct fatbin_blob *b);

/* ---- choice ----
 * The best PTX for a GPU is the highest architecture it can run: sm_90a only on 9.0, sm_100f within its family, others on their
 * own and all later ones. Without such a one, the PTX that comes closest (`foreign`: say so once): the lowest newer one, or the
 * highest architecture-specific older one. The best cubin (same major, minor not above) serves for register counts. */
struct fatbin_pick {
    bool has_ptx, foreign, has_cubin;
    struct fatbin_entry ptx, cubin;
    char seen[160];            /* what was there, for messages: "sm_80 cubin, sm_90 PTX" */
};
/* ST_OK even when there is nothing to pick: look at has_ptx. */
enum status fatbin_pick(struct fatbin_pick *out, const void *header, size_t bytes, unsigned gpu, struct error *err) MUST_CHECK;
/* ST_NO_BINARY_FOR_GPU with the reason and the -gencode option to add. what: the module, "./app". */
enum status fatbin_no_ptx(const struct fatbin_pick *p, const char *what, unsigned gpu, struct error *err);

#endif
