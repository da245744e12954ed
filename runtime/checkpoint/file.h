/* Checkpoint files (.hck): a head, sections, a directory, an end.
 *
 *     head        magic, format version, hash of the layout, build; hash of all that
 *     sections    chunks packed by LZ4 or as they are (file_format.h), in the order in which they were written
 *     directory   for each section: id, offset, stored and raw bytes, xxhash of the stored bytes
 *     end         where the directory is, its hash, magic
 *
 * Writing streams: nothing is kept but a block of a megabyte. The file is written under another name beside the wanted one and takes its place in one step when it is
 * complete and on disk; a process that is killed before leaves the old file as it was. A section is read when its hash is right, so that nothing is done on the
 * word of a damaged file; hck_check looks at all of them at once, which takes as long as reading the file. What is in a section is its owner's affair (runtime/base/bytes.h); the table of sections is sections.def.
 *
 * Threads: a writer or reader belongs to one thread at a time. Units: bytes. Errors: writers and readers remember the first one; hck_commit and hck_error tell. */
#ifndef HEDDLE_RUNTIME_CHECKPOINT_FILE_H
#define HEDDLE_RUNTIME_CHECKPOINT_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/bytes.h"
#include "runtime/base/error.h"

enum { HCK_VERSION = 4 };

enum hck_section {
#define SECTION(id, number, name, help) HCK_##id = number,
#include "runtime/checkpoint/sections.def"
#undef SECTION
};
const char *hck_section_name(uint32_t number);          /* "?" for one of a newer version */

/* ---- writing ---- */

struct hck_writer;
/* Begins a file that will be `path`. A limit on the path: some room for ".PID.tmp". */
enum status hck_create(struct hck_writer **out, const char *path, struct error *err) MUST_CHECK;
/* Ends the section before and begins this one. A sink whose user sets `failed` spoils the file. The sink is good until the next call on w; a section may come more than once. */
struct sink *hck_section(struct hck_writer *w, enum hck_section id);
/* Ends the last section, puts the file in place, frees w. Not ST_OK: there is no new file, and an old one is as it was. */
enum status hck_commit(struct hck_writer *w, struct error *err) MUST_CHECK;
void hck_abandon(struct hck_writer *w);                 /* no file; frees w. NULL: nothing */

/* ---- reading ---- */

struct hck_head {
    uint32_t version;
    uint64_t layout;                                    /* hck_layout() of the build that wrote it */
    char build[48];
};
struct hck_entry { uint32_t id, pad; uint64_t offset, stored_bytes, raw_bytes, hash; };

struct hck_reader;
/* Opens and checks head and directory. The message says what is wrong: no such file, not a checkpoint, newer, truncated, damaged. A file of another build opens; who
 * depends on the layout compares it. */
enum status hck_open(struct hck_reader **out, const char *path, struct error *err) MUST_CHECK;
enum status hck_open_fd(struct hck_reader **out, int fd, const char *name, struct error *err) MUST_CHECK;   /* takes the descriptor, also on failure */
enum status hck_check(struct hck_reader *r, struct error *err) MUST_CHECK;    /* every section's hash, once */
void hck_close(struct hck_reader *r);
const struct hck_head *hck_head(const struct hck_reader *r);
uint64_t hck_layout(void);                              /* of this build: files with the same one agree on every section's contents */
size_t hck_entries(const struct hck_reader *r, const struct hck_entry **out);
/* Begins to read entry number `i` (of hck_entries), which checks its hash the first time. Good until the next call on r; ends, with a failure, behind its last byte. */
struct source *hck_enter(struct hck_reader *r, size_t i);
struct source *hck_find(struct hck_reader *r, enum hck_section id);     /* the first such section; NULL: there is none */
/* Why a source of r failed: always an error, one that says that the contents make no sense when reading itself did not fail. */
enum status hck_error(const struct hck_reader *r, struct error *err);

#endif
