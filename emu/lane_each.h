/* Makes every kind of row of lane.def a LANE_ENTRY(name, ...), which the includer defines. No guard: lane_none.h takes it all back. */
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
