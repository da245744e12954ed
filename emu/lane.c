/* Finding the handlers and the shape of a lane row. */
#include "emu/isa.h"
#include "emu/lane.h"

/* Rounded rows have the shape of the row they wrap. */
static const struct { struct lane_shape shape; uint16_t wraps; } rows[LANE_COUNT] = {
#include "emu/lane_none.h"
#define T_(x) LANE_TYPE_##x
#define LANE1(name, D, A, body)          { { #name, T_(D), T_(A), 0, 0, 0 }, 0 },
#define LANE2(name, D, A, B, body)       { { #name, T_(D), T_(A), T_(B), 0, 0 }, 0 },
#define LANE3(name, D, A, B, C, body)    { { #name, T_(D), T_(A), T_(B), T_(C), 0 }, 0 },
#define LANE4(name, D, A, B, C, E, body) { { #name, T_(D), T_(A), T_(B), T_(C), T_(E) }, 0 },
#define LANEP(name, D, A, B, body)       { { #name, T_(D), T_(A), T_(B), T_(P), 0 }, 0 },
#define TEST1(name, A, body)             { { #name, T_(P), T_(A), 0, 0, 0 }, 0 },
#define TEST2(name, A, B, body)          { { #name, T_(P), T_(A), T_(B), 0, 0 }, 0 },
#define LANE_ROWS1(name, D, A)           { { #name, T_(D), T_(A), 0, 0, 0 }, 0 },
#define ROUNDED(name)                    { { #name "_dir", 0, 0, 0, 0, 0 }, LANE_##name },
#define WRITTEN(name, D, A, B, C)        { { #name, T_(D), T_(A), T_(B), T_(C), 0 }, 0 },
#include "emu/lane.def"
#include "emu/lane_none.h"
#undef T_
};

const struct lane_shape *lane_shape(enum lane_id id) { return &rows[rows[id].wraps ? rows[id].wraps : id].shape; }
const char *lane_name(enum lane_id id) { return rows[id].shape.name; }

/* Identifiers count through the parts of lane.def; each part has its own tables. */
enum {
#define LANE_ENTRY(name, ...) AT_##name,
#include "emu/lane_each.h"
#define LANE_PART(part) END_##part, LAST_##part = END_##part - 1,
#include "emu/lane.def"
#undef LANE_PART
#include "emu/lane_none.h"
};

#define LANE_PART(part) extern const struct lane_pair part##_base[], part##_avx2[], part##_avx512[];
#include "emu/lane_parts.def"
#undef LANE_PART

static const struct { unsigned end; const struct lane_pair *table[ISA_COUNT]; } parts[] = {
#define LANE_PART(part) { END_##part, { part##_base, part##_avx2, part##_avx512 } },
#include "emu/lane_parts.def"
#undef LANE_PART
};

struct lane_pair lane_handlers_of(enum lane_id id, int level) {
    unsigned part = 0, start = 0;
    while (id >= parts[part].end) start = parts[part++].end;
    return parts[part].table[level][id - start];
}

struct lane_pair lane_handlers(enum lane_id id) { return lane_handlers_of(id, isa_level()); }
