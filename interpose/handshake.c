/* MD2 (RFC 1319), HMAC (RFC 2104), and the message that is authenticated with them. */
#include "interpose/handshake.h"

#include <string.h>

enum { BLOCK = 16 };

/* The RFC's permutation of 0..255, made of the digits of pi. */
static const uint8_t pi_subst[256] = {
    41,  46,  67,  201, 162, 216, 124, 1,   61,  54,  84,  161, 236, 240, 6,   19,  98,  167, 5,   243, 192, 199, 115, 140, 152, 147, 43,  217, 188, 76,
    130, 202, 30,  155, 87,  60,  253, 212, 224, 22,  103, 66,  111, 24,  138, 23,  229, 18,  190, 78,  196, 214, 218, 158, 222, 73,  160, 251, 245, 142,
    187, 47,  238, 122, 169, 104, 121, 145, 21,  178, 7,   63,  148, 194, 16,  137, 11,  34,  95,  33,  128, 127, 93,  154, 90,  144, 50,  39,  53,  62,
    204, 231, 191, 247, 151, 3,   255, 25,  48,  179, 72,  165, 181, 209, 215, 94,  146, 42,  172, 86,  170, 198, 79,  184, 56,  210, 150, 164, 125, 182,
    118, 252, 107, 226, 156, 116, 4,   241, 69,  157, 112, 89,  100, 113, 135, 32,  134, 91,  207, 101, 230, 45,  168, 2,   27,  96,  37,  173, 174, 176,
    185, 246, 28,  70,  97,  105, 52,  64,  126, 15,  85,  71,  163, 35,  221, 81,  175, 58,  195, 92,  249, 206, 186, 197, 234, 38,  44,  83,  13,  110, 133,
    40,  132, 9,   211, 223, 205, 244, 65,  129, 77,  82,  106, 220, 55,  200, 108, 193, 171, 250, 36,  225, 123, 8,   12,  189, 177, 74,  120, 136, 149,
    139, 227, 99,  232, 109, 233, 203, 213, 254, 59,  0,   29,  57,  242, 239, 183, 14,  102, 88,  208, 228, 166, 119, 114, 248, 235, 117, 75,  10,  49,
    68,  80,  180, 143, 237, 31,  26,  219, 153, 141, 51,  159, 17,  131, 20,
};

struct md2_state { uint8_t x[48], checksum[BLOCK], pending[BLOCK]; size_t n; };

static void absorb(struct md2_state *s, const uint8_t block[BLOCK])
{
    uint8_t last = s->checksum[BLOCK - 1];
    for (int i = 0; i < BLOCK; i++)
        last = s->checksum[i] ^= pi_subst[block[i] ^ last];
    for (int i = 0; i < BLOCK; i++) {
        s->x[BLOCK + i] = block[i];
        s->x[2 * BLOCK + i] = (uint8_t)(block[i] ^ s->x[i]);
    }
    unsigned t = 0;
    for (unsigned round = 0; round < 18; round++) {
        for (int i = 0; i < 3 * BLOCK; i++)
            t = s->x[i] ^= pi_subst[t];
        t = (t + round) & 0xff;
    }
}

static void add(struct md2_state *s, const void *data, size_t n)
{
    for (const uint8_t *p = data; n; n--) {
        s->pending[s->n++] = *p++;
        if (s->n == BLOCK) {
            absorb(s, s->pending);
            s->n = 0;
        }
    }
}

static void finish(struct md2_state *s, uint8_t digest[16])
{
    uint8_t pad[BLOCK], checksum[BLOCK];
    size_t n = BLOCK - s->n;
    memset(pad, (int)n, n);
    add(s, pad, n);
    memcpy(checksum, s->checksum, BLOCK);
    absorb(s, checksum);
    memcpy(digest, s->x, 16);
}

void md2(const void *data, size_t n, uint8_t digest[16])
{
    struct md2_state s = {0};
    add(&s, data, n);
    finish(&s, digest);
}

void hmac_md2(const uint8_t key[16], const void *data, size_t n, uint8_t digest[16])
{
    uint8_t inner[BLOCK], outer[BLOCK], hash[16];
    for (int i = 0; i < BLOCK; i++) {
        inner[i] = key[i] ^ 0x36;
        outer[i] = key[i] ^ 0x5c;
    }
    struct md2_state s = {0};
    add(&s, inner, BLOCK);
    add(&s, data, n);
    finish(&s, hash);
    s = (struct md2_state){0};
    add(&s, outer, BLOCK);
    add(&s, hash, sizeof hash);
    finish(&s, digest);
}

static char *put(char *at, const void *data, size_t n)
{
    memcpy(at, data, n);
    return at + n;
}

void handshake_answer(const struct handshake *h, uint64_t out[2])
{
    enum { MAX_DEVICES = 64, HEAD_BYTES = 48, DEVICE_BYTES = 28 };
    static const uint8_t key[16] = {0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52, 0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f};
    unsigned kind = h->version % 10;
    if (kind < 2) {
        out[0] = kind == 0 ? 0x3341181C03CB675Cu : 0x1841181C03CB675Cu;
        out[1] = 0x8ED383AA1F4CD1E8u;
        return;
    }
    char message[HEAD_BYTES + MAX_DEVICES * DEVICE_BYTES], *at = message;
    at = put(at, &h->driver_version, 4);
    at = put(at, &h->version, 4);
    at = put(at, &h->pid, 4);
    at = put(at, &h->thread, 4);
    at = put(at, &h->runtime_table, 8);
    at = put(at, &h->own_table, 8);
    at = put(at, &h->own_function, 8);
    at = put(at, &h->seconds, 8);
    for (size_t i = 0; i < h->n_devices && i < MAX_DEVICES; i++) {
        const struct handshake_device *d = &h->devices[i];
        at = put(at, d->uuid, 16);
        at = put(at, &d->domain, 4);
        at = put(at, &d->bus, 4);
        at = put(at, &d->device, 4);
    }
    uint8_t digest[16];
    hmac_md2(key, message, (size_t)(at - message), digest);
    memcpy(out, digest, sizeof digest);
}
