/* A few host threads that do the same thing to many objects, each always to the same ones. The caller is one of them. Between runs the others sleep. */
#ifndef HEDDLE_TIMING_TEAM_H
#define HEDDLE_TIMING_TEAM_H
#include "emu/emu.h"

enum { TEAM_MOST = 64 };                       /* host threads */
struct team;
enum status team_create(struct team **out, unsigned threads, struct error *err) MUST_CHECK;
void team_free(struct team *t);
/* fn(user, i) for i = 0 .. n-1; thread k does those with i mod threads = k. Returns when all are done. */
void team_run(struct team *t, uint32_t n, void (*fn)(void *user, uint32_t i), void *user);
unsigned team_size(const struct team *t);      /* host threads, the caller among them */
/* The emulation worker of the thread that does object i. */
struct emu_worker *team_worker(const struct team *t, uint32_t i);

#endif
