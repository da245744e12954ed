/* Any bytes as a cubin. */
#include <stddef.h>
#include <stdint.h>

#include "ptx/cubin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cubin c;
    struct error err;
    if (cubin_read(&c, data, n, &err) == ST_OK) {
        (void)cubin_find(&c, "k");
        cubin_free(&c);
    }
    return 0;
}
