/* preload: what somebody else preloads into the program; preload.cu looks for it. */
int app_preloaded(void);
int app_preloaded(void) { return 4711; }
