/* Rows become entries of a table of struct lane_pair. No guard: included before each reading of a part of lane.def. */
#include "emu/lane_none.h"
#define LANE_ENTRY(name, ...) { name##_full, name##_masked },
#define LANE1 LANE_ENTRY
#define LANE2 LANE_ENTRY
#define LANE3 LANE_ENTRY
#define LANE4 LANE_ENTRY
#define LANEP LANE_ENTRY
#define LANE_ROWS1 LANE_ENTRY
#define TEST1 LANE_ENTRY
#define TEST2 LANE_ENTRY
#define ROUNDED(name) LANE_ENTRY(name##_dir, 0)
#define WRITTEN LANE_ENTRY
