/* Rows become entries of a table of struct lane_pair. No guard: included before each reading of a part of lane.def. */
#include "emu/lane_none.h"
#define LANE_ENTRY(name, ...) { name##_full, name##_masked },
#include "emu/lane_each.h"
