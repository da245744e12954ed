/* The answer that the runtime inside CUDA programs expects of a driver before it talks to it. Needed for interoperability; how it is
 * made is public (reference: RFC 1319, RFC 2104, and other open reimplementations of the driver). */
#ifndef HEDDLE_HANDSHAKE_H
#define HEDDLE_HANDSHAKE_H
#include <stddef.h>
#include <stdint.h>

void md2(const void *data, size_t n, uint8_t digest[16]);
void hmac_md2(const uint8_t key[16], const void *data, size_t n, uint8_t digest[16]);

struct handshake_device { uint8_t uuid[16]; int32_t domain, bus, device; };
struct handshake {
    uint32_t driver_version, version, pid, thread;
    const void *runtime_table, *own_table, *own_function;
    uint64_t seconds;
    const struct handshake_device *devices; size_t n_devices;
};
void handshake_answer(const struct handshake *h, uint64_t out[2]);

#endif
