/* Parameter blocks: slots in ranges that kernels may read, and write where they fill them themselves for kernels that they launch. */
#include "runtime/base/bytes.h"
#include "runtime/internal.h"

enum { SLOT_CLASSES = 2, LISTS = 2 * SLOT_CLASSES /* the host's, then those that kernels fill */ };
static const struct { uint32_t bytes, per_chunk; } slot_class[SLOT_CLASSES] = {{1024, 256}, {36864, 16}};   /* kernels take up to 32764 bytes */
static VEC(uint64_t) slots[LISTS];             /* free ones; the last goes first */
static VEC(uint64_t) chunks[LISTS];

static uint64_t chunk_bytes(unsigned list) { return (uint64_t)slot_class[list % SLOT_CLASSES].bytes * slot_class[list % SLOT_CLASSES].per_chunk; }

/* Under the.memory. */
static bool chunk_add(unsigned list, uint64_t at)
{
    struct emu_range r = {.lo = at, .hi = at + chunk_bytes(list), .kind = EMU_RANGE_PARAM, .read_only = list < SLOT_CLASSES, .what = "kernel parameters"};
    return at && vec_reserve(&slots[list], (chunks[list].n + 1) * slot_class[list % SLOT_CLASSES].per_chunk) && vec_reserve(&chunks[list], chunks[list].n + 1) &&
           emu_space_add(the.space, &r, NULL) == ST_OK && vec_push(&chunks[list], at);
}

static bool slots_grow(unsigned list)
{
    pthread_mutex_lock(&the.memory);
    uint64_t at = block_get_high(chunk_bytes(list));
    bool ok = chunk_add(list, at);
    pthread_mutex_unlock(&the.memory);
    for (uint32_t i = slot_class[list % SLOT_CLASSES].per_chunk; ok && i-- > 0;)
        slots[list].at[slots[list].n++] = at + (uint64_t)i * slot_class[list % SLOT_CLASSES].bytes;
    return ok;
}

static unsigned slot_list(uint32_t bytes, bool nested) { return (bytes > slot_class[0].bytes ? 1u : 0u) + (nested ? SLOT_CLASSES : 0u); }

uint64_t params_get(uint32_t bytes, bool nested)
{
    unsigned k = slot_list(bytes, nested);
    if (bytes > slot_class[k % SLOT_CLASSES].bytes || (!slots[k].n && !slots_grow(k)))
        return 0;
    return slots[k].at[--slots[k].n];
}

void params_put(uint64_t address, uint32_t bytes, bool nested)
{
    (void)vec_push(&slots[slot_list(bytes, nested)], address);         /* there is room: it came from there */
}

/* ---- checkpoints ---- */

void params_save(struct sink *to)
{
    for (unsigned k = 0; k < LISTS; k++) {
        put_u32(to, (uint32_t)chunks[k].n);
        put(to, chunks[k].at, chunks[k].n * sizeof *chunks[k].at);
        put_u32(to, (uint32_t)slots[k].n);
        put(to, slots[k].at, slots[k].n * sizeof *slots[k].at);
    }
}

void params_forget(void)
{
    struct emu_range was;
    for (unsigned k = 0; k < LISTS; k++) {
        for (size_t i = 0; i < chunks[k].n; i++)
            (void)emu_space_remove(the.space, chunks[k].at[i], &was);
        chunks[k].n = slots[k].n = 0;
    }
}

static bool is_slot(unsigned list, uint64_t at)
{
    bool is = false;
    for (size_t i = 0; i < chunks[list].n; i++)
        is = is || (at - chunks[list].at[i] < chunk_bytes(list) && (at - chunks[list].at[i]) % slot_class[list % SLOT_CLASSES].bytes == 0);
    return is;
}

static bool load_list(unsigned list, struct source *from)
{
    enum { CHUNKS_MOST = 1 << 16 };
    for (uint32_t n = get_below(from, CHUNKS_MOST); n && !from->failed; n--) {
        uint64_t at = get_u64(from);
        if (!block_take_high(at, chunk_bytes(list)) || !chunk_add(list, at))
            return false;
    }
    for (uint32_t n = get_below(from, (uint32_t)chunks[list].n * slot_class[list % SLOT_CLASSES].per_chunk + 1); n && !from->failed; n--) {
        uint64_t at = get_u64(from);
        if (!is_slot(list, at))
            return false;
        slots[list].at[slots[list].n++] = at;
    }
    return !from->failed;
}

bool params_load(struct source *from)
{
    bool good = true;
    for (unsigned k = 0; k < LISTS && good; k++)
        good = load_list(k, from);
    return good;
}
