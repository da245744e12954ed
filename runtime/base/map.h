/* Hash map from a byte string or a 64-bit integer to a pointer-sized value. Not thread-safe.
 * Keys are not copied: a string key must outlive the map. Starts as {0}. */
#ifndef HEDDLE_BASE_MAP_H
#define HEDDLE_BASE_MAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot { uint64_t hash; const char *key; uint64_t len_or_int; uintptr_t value; };
struct map { struct map_slot *slots; size_t n, cap; };

/* put returns false when the host has no memory; an existing key gets the new value. */
bool map_put_str(struct map *m, const char *key, size_t len, uintptr_t value);
bool map_put_int(struct map *m, uint64_t key, uintptr_t value);
/* get returns true and sets *value when the key is there. */
bool map_get_str(const struct map *m, const char *key, size_t len, uintptr_t *value);
bool map_get_int(const struct map *m, uint64_t key, uintptr_t *value);
bool map_del_int(struct map *m, uint64_t key);
void map_free(struct map *m);
uint64_t hash_bytes(const void *p, size_t n);  /* FNV-1a 64 with a final mix */

#endif
