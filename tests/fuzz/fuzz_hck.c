/* Any bytes as a checkpoint file. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/checkpoint/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct error err;
    struct hck_reader *r;
    const struct hck_entry *x;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, n) != (ssize_t)n || hck_open_fd(&r, fd, "fuzz", &err) != ST_OK)
        return 0;
    for (size_t i = hck_entries(r, &x); i-- > 0;) {
        struct source *s = hck_enter(r, i);
        get_nothing(s, x[i].raw_bytes < 1 << 20 ? x[i].raw_bytes : 1 << 20);
        if (s->failed && hck_error(r, &err) == ST_OK)
            __builtin_trap();
    }
    hck_close(r);
    return 0;
}
