/* Rows become handlers. No guard: included before each reading of a part of lane.def. */
#include "emu/lane_none.h"
#define LANE1 LANE_HANDLER1
#define LANE2 LANE_HANDLER2
#define LANE3 LANE_HANDLER3
#define LANE4 LANE_HANDLER4
#define LANEP LANE_HANDLERP
#define TEST1 LANE_HANDLERT1
#define TEST2 LANE_HANDLERT2
#define LANE_ROWS1 LANE_HANDLER_ROWS1
#define ROUNDED LANE_ROUNDED
#define WRITTEN(...)
