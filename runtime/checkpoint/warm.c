#include "runtime/checkpoint/warm.h"

#include <stdlib.h>

#include "runtime/checkpoint/checkpoint.h"
#include "timing/timing.h"

enum { WARM_SECTORS = 1 << 21, SECTOR = 32 };  /* 64 MiB */

static uint64_t sectors[WARM_SECTORS], n_noted;            /* a ring; pages that are never touched cost nothing */

bool warm_on(void) { return rt_knobs()->warm && checkpoint_armed() && !sim_on(); }

static void note(uint64_t sector)
{
    if (n_noted == 0 || sectors[(n_noted - 1) % WARM_SECTORS] != sector)
        sectors[n_noted++ % WARM_SECTORS] = sector;
}

void warm_note(const struct emu_event *e)
{
    if (!e->bytes || (e->space != PTX_SPACE_GLOBAL && e->space != PTX_SPACE_TEX))
        return;
    for (uint32_t m = e->lanes; m; m &= m - 1) {
        uint64_t address = e->address[__builtin_ctz(m)];
        if (address)                           /* 0: outside of an image */
            note(address / SECTOR * SECTOR);
    }
}

void warm_save(struct hck_writer *w)
{
    uint64_t n = n_noted < WARM_SECTORS ? n_noted : WARM_SECTORS, first = (n_noted - n) % WARM_SECTORS, front = n < WARM_SECTORS - first ? n : WARM_SECTORS - first;
    if (!n)
        return;
    struct sink *to = hck_section(w, HCK_WARM);
    put_u64(to, n);
    put(to, sectors + first, front * sizeof *sectors);
    put(to, sectors, (n - front) * sizeof *sectors);
}

enum status warm_restore(struct hck_reader *r, struct error *err)
{
    struct source *from = sim_on() && !rt_knobs()->cold ? hck_find(r, HCK_WARM) : NULL;
    struct emu_range range = {.lo = 0, .hi = 0};
    if (!from)
        return ST_OK;
    for (uint64_t n = get_u64(from); n && !from->failed; n--) {
        uint64_t sector = get_u64(from);
        if ((sector < range.lo || sector >= range.hi) && !emu_space_find(the.space, sector, &range))
            continue;                          /* it was freed since */
        struct device *d = device_at(range.device);
        if (!d || !sim_ready(d))
            return error_set(err, ST_NOT_READY, "the simulated GPU cannot be made");
        timing_touch(d->gpu, sector);
    }
    return from->failed ? hck_error(r, err) : ST_OK;
}
