/* A tape: records, one after the other, that are only read when it is complete. It lies in an unnamed temporary file, packed with LZ4 a megabyte at a time, so that
 * writing costs little more than copying and a long run does not fill the memory.
 *
 * Threads: any thread may write to a shared tape; tape_open locks until tape_close. One that is not shared costs less and has one writer. Errors: the first one (no room, the program closed the file) makes the tape useless, and
 * tape_error says so; writing goes on and does nothing. */
#ifndef HEDDLE_RUNTIME_CHECKPOINT_TAPE_H
#define HEDDLE_RUNTIME_CHECKPOINT_TAPE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/bytes.h"
#include "runtime/base/error.h"

struct tape_head {                             /* of a record; type and the other fields are its writer's affair */
    uint8_t type, flags;
    uint16_t number;
    uint32_t step;
    uint64_t bytes;                            /* that follow, padded to a multiple of 8 */
};

struct tape;
enum status tape_create(struct tape **out, bool shared, struct error *err) MUST_CHECK;
void tape_free(struct tape *t);                /* NULL: nothing */

/* One record: its head, then exactly head->bytes in any number of pieces. */
void tape_open(struct tape *t, const struct tape_head *head);
void tape_add(struct tape *t, const void *p, size_t n);
void tape_close(struct tape *t);
void tape_put(struct tape *t, const struct tape_head *head, const void *p);    /* all of it at once */

/* Records that tape_save gave. */
void tape_append(struct tape *t, const char *bytes, uint64_t n);

uint64_t tape_bytes(struct tape *t);           /* of all records so far, heads and padding included */
/* Everything so far, unpacked. Nobody writes meanwhile. Not ST_OK: the tape is useless, or the sink failed. */
enum status tape_save(struct tape *t, struct sink *to, struct error *err) MUST_CHECK;
enum status tape_error(struct tape *t, struct error *err) MUST_CHECK;

/* The record at `at` in n bytes as tape_save gave them; NULL: there is no whole one, which at the end means that it is the end. *next: where the one behind begins. */
const struct tape_head *tape_record(const char *bytes, uint64_t n, uint64_t at, uint64_t *next);

#endif
