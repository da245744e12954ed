/* Any bytes as a cubin with a line program, and as the line program itself. */
#include <stddef.h>
#include <stdint.h>

#include "ptx/sass_map.h"
#include "ptx/sass_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool take(void *user, const struct sass_row *row)
{
    *(uint64_t *)user += row->line;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sass_map m;
    struct error err;
    uint64_t lines = 0;
    if (sass_map_read(&m, data, n, &err) == ST_OK) {
        (void)sass_map_find(&m, "k");
        sass_map_free(&m);
    }
    (void)sass_lines((struct sass_bytes){data, n}, (struct sass_bytes){data, n / 2}, n & 1 ? 16 : 24, take, &lines);
    return 0;
}
