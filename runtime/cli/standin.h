/* The launcher under another name: programs that call NVIDIA's tools at run time find these first (`heddle python`). */
#ifndef HEDDLE_CLI_STANDIN_H
#define HEDDLE_CLI_STANDIN_H

/* What the launcher does when it was called by this name ("ptxas", "nvcc"; a path's folders do not count). NULL: it is itself. */
typedef int standin_fn(int argc, char **argv);
standin_fn *standin_find(const char *called);

#endif
