#include "runtime/base/map.h"

#include <stdlib.h>
#include <string.h>

/* Open addressing, linear probing; hash 0 marks an empty slot; deletion shifts followers back. */

static uint64_t mix(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    return h ? h : 1;
}

uint64_t hash_bytes(const void *p, size_t n)
{
    const unsigned char *s = p;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ s[i]) * 0x100000001b3u;
    return mix(h);
}

static bool same(const struct map_slot *s, uint64_t hash, const char *key, uint64_t len_or_int)
{
    if (s->hash != hash || s->len_or_int != len_or_int || !s->key != !key)
        return false;
    return !key || memcmp(s->key, key, len_or_int) == 0;
}

static struct map_slot *find(const struct map *m, uint64_t hash, const char *key, uint64_t len_or_int)
{
    size_t i = hash & (m->cap - 1);
    while (m->slots[i].hash && !same(&m->slots[i], hash, key, len_or_int))
        i = (i + 1) & (m->cap - 1);
    return &m->slots[i];
}

static bool grow(struct map *m)
{
    struct map bigger = {.cap = m->cap ? m->cap * 2 : 16, .n = m->n};
    bigger.slots = calloc(bigger.cap, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < m->cap; i++)
        if (m->slots[i].hash)
            *find(&bigger, m->slots[i].hash, m->slots[i].key, m->slots[i].len_or_int) = m->slots[i];
    free(m->slots);
    *m = bigger;
    return true;
}

static bool put(struct map *m, uint64_t hash, const char *key, uint64_t len_or_int, uintptr_t value)
{
    if (m->n * 4 >= m->cap * 3 && !grow(m))
        return false;
    struct map_slot *s = find(m, hash, key, len_or_int);
    if (!s->hash)
        m->n++;
    *s = (struct map_slot){hash, key, len_or_int, value};
    return true;
}

static bool get(const struct map *m, uint64_t hash, const char *key, uint64_t len_or_int, uintptr_t *value)
{
    if (!m->cap)
        return false;
    const struct map_slot *s = find(m, hash, key, len_or_int);
    if (!s->hash)
        return false;
    if (value)
        *value = s->value;
    return true;
}

bool map_put_str(struct map *m, const char *key, size_t len, uintptr_t value)
{
    return put(m, hash_bytes(key, len), key, len, value);
}

bool map_put_int(struct map *m, uint64_t key, uintptr_t value) { return put(m, mix(key), NULL, key, value); }

bool map_get_str(const struct map *m, const char *key, size_t len, uintptr_t *value)
{
    return get(m, hash_bytes(key, len), key, len, value);
}

bool map_get_int(const struct map *m, uint64_t key, uintptr_t *value) { return get(m, mix(key), NULL, key, value); }

bool map_del_int(struct map *m, uint64_t key)
{
    if (!m->cap)
        return false;
    struct map_slot *s = find(m, mix(key), NULL, key);
    if (!s->hash)
        return false;
    size_t hole = (size_t)(s - m->slots), mask = m->cap - 1;
    for (size_t i = (hole + 1) & mask; m->slots[i].hash; i = (i + 1) & mask) {
        size_t home = m->slots[i].hash & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole] = (struct map_slot){0};
    m->n--;
    return true;
}

void map_free(struct map *m)
{
    free(m->slots);
    *m = (struct map){0};
}
