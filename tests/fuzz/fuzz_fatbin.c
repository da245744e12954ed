/* Any bytes as a fat binary: walked, unpacked, and a choice made. */
#include <stddef.h>
#include <stdint.h>

#include "ptx/cubin.h"
#include "ptx/fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fatbin_iter it;
    struct fatbin_entry e;
    struct fatbin_pick pick;
    struct error err;
    bool more = true;
    enum status st = fatbin_open(&it, data, n, &err);
    while (st == ST_OK && (st = fatbin_next(&it, &e, &more, &err)) == ST_OK && more) {
        struct fatbin_blob b;
        struct cubin c;
        if (fatbin_unpack(&e, &b, &err) != ST_OK)
            continue;
        if (e.kind == FATBIN_ELF && cubin_read(&c, b.data, b.bytes, &err) == ST_OK)
            cubin_free(&c);
        fatbin_blob_free(&b);
    }
    if (fatbin_pick(&pick, data, n, 90, &err) == ST_OK)
        (void)fatbin_no_ptx(&pick, "x", 90, &err);
    return 0;
}
