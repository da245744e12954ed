/* Forgets what the words of lane.def meant. No guard: included before each new meaning. */
#undef LANE1
#undef LANE2
#undef LANE3
#undef LANE4
#undef LANEP
#undef TEST1
#undef TEST2
#undef LANE_ROWS1
#undef ROUNDED
#undef WRITTEN
#undef LANE_ENTRY
