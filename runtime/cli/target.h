/* What kind of program is this? Facts about an executable file, for launching it and for `heddle info`. */
#ifndef HEDDLE_CLI_TARGET_H
#define HEDDLE_CLI_TARGET_H
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/error.h"

enum target_kind { TARGET_ELF, TARGET_SCRIPT, TARGET_OTHER };
enum { TARGET_NEEDED_MAX = 64 };

struct target_section { const unsigned char *data; size_t bytes; };

struct target {
    char path[PATH_MAX];
    enum target_kind kind;
    bool foreign_machine;      /* an ELF file, but not for 64-bit x86 */
    bool static_linked;        /* a program without a dynamic loader */
    bool library;              /* a shared library, no program */
    char loader[256];          /* PT_INTERP */
    char script[256];          /* interpreter after #! */
    bool privileged;           /* setuid, setgid or file capabilities: the loader ignores LD_PRELOAD */
    unsigned n_needed;
    const char *needed[TARGET_NEEDED_MAX];     /* DT_NEEDED, pointing into the image */
    struct target_section fatbin, relfatbin;   /* .nv_fatbin, __nv_relfatbin */
    bool static_cudart, static_driver;         /* NVIDIA's runtime or this library's seam linked into the file */
    bool imports_driver_api, imports_runtime_api;
    bool opens_libcuda_so;     /* dlopens "libcuda.so", a name that a preloaded libcuda.so.1 does not answer */
    const char *image;         /* the file, mapped */
    size_t image_bytes;
};

/* Looks PROGRAM up as execvp does (PATH when it has no slash). False: not found; then errno says why. */
bool target_find(const char *program, char path[PATH_MAX]);
/* Reads the facts. Only a file that cannot be opened is an error: an unreadable executable still runs. */
enum status target_read(struct target *t, const char *path, struct error *err) MUST_CHECK;
void target_close(struct target *t);
/* The shared cudart it needs ("libcudart.so.13"), or NULL. */
const char *target_shared_cudart(const struct target *t);
bool target_has(const struct target *t, const void *bytes, size_t n);          /* anywhere in the file */
/* One sentence why LD_PRELOAD cannot work with it; NULL when nothing speaks against it. buf may be used. */
const char *target_obstacle(const struct target *t, char *buf, size_t n);

#endif
