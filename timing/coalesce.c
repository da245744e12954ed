#include "timing/coalesce.h"

#include <string.h>

enum { LINE = 128 };

bool coalesce_by_sectors(const struct coalescer *c, bool bypass)
{
    return c->arch >= 40 || (c->arch >= 20 && c->arch < 39 && bypass);
}

static uint32_t segment_bytes(const struct lanes *in, bool sectors)
{
    if (sectors || in->bytes == 1)
        return 32;
    return in->bytes == 2 ? 64 : LINE;
}

static void mark(struct access *a, uint64_t from, uint32_t bytes)
{
    for (uint32_t at = (uint32_t)(from % LINE), end = at + bytes; at < end;) {
        uint32_t sector = at / SECTOR_BYTES, first = at % SECTOR_BYTES, n = end - at < SECTOR_BYTES - first ? end - at : SECTOR_BYTES - first;
        a->touched.sector[sector] |= (n == 32 ? UINT32_MAX : (1u << n) - 1) << first;
        at += n;
    }
}

static bool overlaps(const struct access *a, uint64_t from, uint32_t bytes)
{
    struct access probe = {.bytes = 0};
    mark(&probe, from, bytes);
    for (unsigned s = 0; s < LINE_SECTORS; s++)
        if (a->touched.sector[s] & probe.touched.sector[s])
            return true;
    return false;
}

/* Adds bytes [from, from + bytes), which lie in one segment, to the accesses from `start` on; start = n: it is a new one. apart: not to one that has some of them already. */
static uint32_t add(struct access *out, uint32_t start, uint32_t n, uint64_t from, uint32_t bytes, uint32_t segment, unsigned lane, bool apart)
{
    uint64_t base = from & ~(uint64_t)(segment - 1);
    for (uint32_t i = n; i-- > start;)         /* newest first: neighbours are the rule */
        if (out[i].address == base && !(apart && overlaps(&out[i], from, bytes))) {
            mark(&out[i], from, bytes);
            out[i].lanes |= 1u << lane;
            return n;
        }
    out[n] = (struct access){.address = base, .bytes = segment, .lanes = 1u << lane};
    mark(&out[n], from, bytes);
    return n + 1;
}

/* A segment of which only one half is used shrinks to it, twice at most, down to 32 bytes. */
static void shrink(struct access *a)
{
    while (a->bytes > SECTOR_BYTES) {
        uint32_t half = a->bytes / 2, first = (uint32_t)(a->address % LINE) / SECTOR_BYTES, n = half / SECTOR_BYTES;
        bool low = false, high = false;
        for (uint32_t s = 0; s < n; s++) {
            low = low || a->touched.sector[first + s];
            high = high || a->touched.sector[first + n + s];
        }
        if (low && high)
            return;
        if (high)
            a->address += half;
        a->bytes = half;
    }
}

/* Lanes side by side, or all at one address; aligned, so that none lies in two sectors. */
static bool affine(const struct lanes *in, uint64_t step)
{
    enum { WIDE = 4 };
    __extension__ typedef uint64_t wide __attribute__((vector_size(WIDE * sizeof(uint64_t))));
    uint64_t a = in->address[0];
    if (in->mask != UINT32_MAX || !is_power_of_2(in->bytes) || in->bytes > SECTOR_BYTES || a & (in->bytes - 1))
        return false;
    wide right = {a, a + step, a + 2 * step, a + 3 * step}, wrong = {0}, lanes;
    for (uint32_t lane = 0; lane < WARP_LANES; lane += WIDE, right += WIDE * step) {
        memcpy(&lanes, in->address + lane, sizeof lanes);
        wrong |= lanes ^ right;
    }
    return !(wrong[0] | wrong[1] | wrong[2] | wrong[3]);
}

static uint32_t sectors_of_stream(const struct lanes *in, struct access *out)
{
    uint64_t at = in->address[0], end = at + WARP_LANES * in->bytes;
    uint32_t n = 0, lane = 0;
    while (at < end) {
        uint64_t base = at & ~(uint64_t)(SECTOR_BYTES - 1), next = base + SECTOR_BYTES < end ? base + SECTOR_BYTES : end;
        uint32_t lanes = (uint32_t)(next - at) / in->bytes;
        out[n] = (struct access){.address = base, .bytes = SECTOR_BYTES, .lanes = (lanes == WARP_LANES ? UINT32_MAX : (1u << lanes) - 1) << lane};
        mark(&out[n++], at, (uint32_t)(next - at));
        lane += lanes;
        at = next;
    }
    return n;
}

static uint32_t gather(const struct coalescer *c, const struct lanes *in, bool sectors, bool apart, struct access *out)
{
    uint32_t n = 0, segment = segment_bytes(in, sectors), parts = c->warp_parts ? c->warp_parts : 1;
    if (sectors && parts == 1 && affine(in, in->bytes))
        return sectors_of_stream(in, out);
    for (uint32_t part = 0; part < parts; part++) {
        uint64_t seen = 0;                     /* segments, by some of their bits */
        uint32_t start = n, first = part * WARP_LANES / parts, end = (part + 1) * WARP_LANES / parts;
        for (uint32_t lane = first; lane < end; lane++) {
            if (!(in->mask >> lane & 1))
                continue;
            uint64_t a = in->address[lane];
            for (uint32_t left = in->bytes; left;) {
                uint32_t room = segment - (uint32_t)(a & (segment - 1)), k = left < room ? left : room;
                uint64_t bit = 1ull << (a / segment + (a >> 12)) % 64;
                n = add(out, seen & bit ? start : n, n, a, k, segment, lane, apart);
                seen |= bit;
                a += k;
                left -= k;
            }
        }
    }
    if (!sectors)
        for (uint32_t i = 0; i < n; i++)
            shrink(&out[i]);
    return n;
}

uint32_t coalesce(const struct coalescer *c, const struct lanes *in, bool sectors, struct access *out) { return gather(c, in, sectors, false, out); }
uint32_t coalesce_atomic(const struct coalescer *c, const struct lanes *in, bool sectors, struct access *out) { return gather(c, in, sectors, true, out); }

/* ---- banks ---- */

enum { MOST_BANKS = 128, L1_BANKS = 32 };

static uint32_t bank_of(uint64_t word, uint32_t banks) { return (uint32_t)(banks & (banks - 1) ? word % banks : word & (banks - 1)); }

/* Whether no bank has two distinct words among lanes first..first+count-1: mostly so, and seen without searching. False also where it was not looked. */
static bool one_word_a_bank(const struct lanes *in, uint32_t banks, uint32_t first, uint32_t count)
{
    uint32_t n_words = in->bytes <= 4 ? 1 : in->bytes / 4, active = in->mask >> first & (count == WARP_LANES ? UINT32_MAX : (1u << count) - 1);
    uint64_t last[MOST_BANKS], word[WARP_LANES * 8], clash = 0;
    if (!active || !is_power_of_2(banks) || n_words > 8)
        return false;
    const uint64_t *address = in->address + first, someone = address[__builtin_ctz(active)];   /* stands for lanes that do nothing */
    for (uint32_t k = 0, n = 0; k < n_words; k++)
        for (uint32_t lane = 0; lane < count; lane++, n++) {
            word[n] = (active >> lane & 1 ? address[lane] : someone) / 4 + k;
            last[word[n] & (banks - 1)] = word[n];
        }
    for (uint32_t n = 0; n < n_words * count; n++)
        clash |= last[word[n] & (banks - 1)] ^ word[n];
    return !clash;
}

/* The most distinct words in a bank among lanes first..first+count-1. */
static uint32_t phase_cycles(const struct lanes *in, uint32_t banks, uint32_t first, uint32_t count)
{
    uint32_t n_words = in->bytes <= 4 ? 1 : in->bytes / 4, most = 0;
    uint64_t words[MOST_BANKS][WARP_LANES];
    uint8_t n[MOST_BANKS] = {0};
    if (one_word_a_bank(in, banks, first, count))
        return 1;
    for (uint32_t lane = first; lane < first + count; lane++) {
        if (!(in->mask >> lane & 1))
            continue;
        for (uint32_t k = 0; k < n_words; k++) {
            uint64_t word = in->address[lane] / 4 + k;
            uint32_t bank = bank_of(word, banks), i = 0;
            while (i < n[bank] && words[bank][i] != word)
                i++;
            if (i == n[bank] && i < WARP_LANES) {
                words[bank][n[bank]++] = word;
                most = n[bank] > most ? n[bank] : most;
            }
        }
    }
    return most;
}

/* The same where one word alone is broadcast in a phase: the first that several lanes want; lanes that share another have their turns one after the other. */
static uint32_t phase_cycles_of_one(const struct lanes *in, uint32_t banks, uint32_t first, uint32_t count)
{
    uint32_t n_words = in->bytes <= 4 ? 1 : in->bytes / 4, n[MOST_BANKS] = {0}, most = 0;
    uint64_t shared = UINT64_MAX, words[WARP_LANES * 8];
    uint32_t total = 0;
    for (uint32_t lane = first; lane < first + count; lane++)
        for (uint32_t k = 0; in->mask >> lane & 1 && k < n_words && total < WARP_LANES * 8; k++) {
            uint64_t word = in->address[lane] / 4 + k;
            for (uint32_t i = 0; i < total && shared == UINT64_MAX; i++)
                if (words[i] == word)
                    shared = word;
            words[total++] = word;
        }
    bool counted = false;
    for (uint32_t i = 0; i < total; i++) {
        if (words[i] == shared && counted)
            continue;
        counted = counted || words[i] == shared;
        uint32_t k = ++n[bank_of(words[i], banks)];
        most = k > most ? k : most;
    }
    return most;
}

/* Consecutive or equal addresses, by far the most frequent, need no search. */
static bool conflict_free(const struct lanes *in)
{
    if (in->mask != UINT32_MAX || in->bytes > 4)
        return false;
    uint64_t a = in->address[0], step = in->address[1] - a;
    if (step > 4 || (step && step != in->bytes))
        return false;
    for (unsigned i = 2; i < WARP_LANES; i++)
        if (in->address[i] != a + i * step)
            return false;
    return step == 0 || a % in->bytes == 0;
}

/* Every lane has its turn, also where several have one word. */
uint32_t atomic_bank_cycles(const struct lanes *in, uint32_t banks)
{
    uint32_t n[MOST_BANKS] = {0}, most = 0;
    for (unsigned lane = 0; lane < WARP_LANES; lane++)
        if (in->mask >> lane & 1) {
            uint32_t k = ++n[bank_of(in->address[lane] / 4, banks)];
            most = k > most ? k : most;
        }
    return in->bytes > 4 ? most * (in->bytes / 4u) : most;
}

uint32_t bank_cycles_of_one(const struct lanes *in, uint32_t banks)
{
    uint32_t bytes = in->bytes < 4 ? 4 : in->bytes, per_phase = banks * 4 / bytes, sum = 0;
    per_phase = per_phase > WARP_LANES ? WARP_LANES : per_phase ? per_phase : 1;
    for (uint32_t first = 0; first < WARP_LANES; first += per_phase)
        sum += phase_cycles_of_one(in, banks, first, first + per_phase > WARP_LANES ? WARP_LANES - first : per_phase);
    return sum;
}

uint32_t bank_cycles(const struct lanes *in, uint32_t banks)
{
    if (banks >= WARP_LANES && conflict_free(in))
        return 1;
    uint32_t bytes = in->bytes < 4 ? 4 : in->bytes, per_phase = banks * 4 / bytes, sum = 0;
    per_phase = per_phase > WARP_LANES ? WARP_LANES : per_phase ? per_phase : 1;
    for (uint32_t first = 0; first < WARP_LANES; first += per_phase)
        sum += phase_cycles(in, banks, first, first + per_phase > WARP_LANES ? WARP_LANES - first : per_phase);
    return sum;
}

/* ---- first-level cache throughput ---- */

/* The tag bank of a line: the XOR of the 2-bit digits of its number. */
static unsigned tag_bank(uint64_t line)
{
    line ^= line >> 32;
    line ^= line >> 16;
    line ^= line >> 8;
    line ^= line >> 4;
    line ^= line >> 2;
    return line & 3;
}

/* Lanes side by side, words at most: each bank has one, a line's tag is looked up once. */
static uint32_t stream_quarter_cycles(const struct lanes *in, uint32_t port_bytes)
{
    uint64_t first = in->address[0] / LINE, last = (in->address[0] + WARP_LANES * in->bytes - 1) / LINE;      /* two lines at most */
    uint32_t tags = first == last ? 4 : tag_bank(first) == tag_bank(last) ? 8 : 5, port = (4 * WARP_LANES * in->bytes + port_bytes - 1) / port_bytes;
    return tags > port ? tags : port;
}

uint32_t wavefront_quarter_cycles(const struct lanes *in, uint32_t port_bytes)
{
    if (in->bytes <= 4 && affine(in, in->bytes))
        return stream_quarter_cycles(in, port_bytes);
    uint64_t lines[2 * WARP_LANES], seen = 0;  /* by some of their bits */
    uint32_t n = 0, in_bank[4] = {0}, active = 0, most = 0;
    for (unsigned lane = 0; lane < WARP_LANES; lane++) {
        if (!(in->mask >> lane & 1))
            continue;
        active++;
        for (uint64_t line = in->address[lane] / LINE; line <= (in->address[lane] + in->bytes - 1) / LINE; line++) {
            uint64_t bit = 1ull << (line + (line >> 6)) % 64;
            uint32_t i = seen & bit ? n : 0;
            seen |= bit;
            while (i > 0 && lines[i - 1] != line)
                i--;
            if (i == 0) {
                lines[n++] = line;
                uint32_t k = ++in_bank[tag_bank(line)];
                most = k > most ? k : most;
            }
        }
    }
    uint32_t quarters = 4 * bank_cycles(in, L1_BANKS);
    uint32_t tag = 3 + n > 4 * most ? 3 + n : 4 * most;
    uint32_t port = (4 * active * in->bytes + port_bytes - 1) / port_bytes;
    quarters = tag > quarters ? tag : quarters;
    quarters = port > quarters ? port : quarters;
    return quarters > 4 ? quarters : 4;
}
