/* What is in a .hck, byte for byte: for those who write and read them. Bytes of a section come in chunks, each with a head that says how many they are and how many
 * of them are stored: fewer, as LZ4 packs them, or as many as there are, as they are. */
#ifndef HEDDLE_RUNTIME_CHECKPOINT_FILE_FORMAT_H
#define HEDDLE_RUNTIME_CHECKPOINT_FILE_FORMAT_H
#include "runtime/checkpoint/file.h"

#define HCK_HEAD_MAGIC "\x89HCK\r\n\x1a\n"          /* a transfer as text would change it */
#define HCK_END_MAGIC  "HCK.END\n"
enum { HCK_MAGIC_BYTES = 8, HCK_CHUNK_BYTES = 1 << 18, HCK_MAX_ENTRIES = 1 << 16 };

struct hck_head_on_disk { char magic[HCK_MAGIC_BYTES]; uint32_t version, bytes; uint64_t layout; char build[48]; uint64_t hash; };
struct hck_chunk_on_disk { uint32_t raw, stored; };     /* stored == raw: they are not packed */
struct hck_end_on_disk { uint64_t directory, entries, hash; char magic[HCK_MAGIC_BYTES]; };
_Static_assert(sizeof(struct hck_head_on_disk) == 80 && sizeof(struct hck_end_on_disk) == 32 && sizeof(struct hck_entry) == 40, "files have no padding");

#endif
