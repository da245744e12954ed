/* Bytes, instructions and PTX for an editor. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/dap.h"

static const char digits64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum { MOST_BYTES = 1 << 20, A_READ = 16384, MOST_INSTRUCTIONS = 4096 };     /* a line of the protocol is at most 64 KiB */

static void add_base64(struct textbuf *out, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i += 3) {
        unsigned v = (unsigned)p[i] << 16 | (i + 1 < n ? (unsigned)p[i + 1] << 8 : 0) | (i + 2 < n ? p[i + 2] : 0);
        char four[4] = {digits64[v >> 18], digits64[v >> 12 & 63], i + 1 < n ? digits64[v >> 6 & 63] : '=', i + 2 < n ? digits64[v & 63] : '='};
        textbuf_add_bytes(out, four, 4);
    }
}

/* Appends as hexadecimal digits. False: no base64. */
static bool hex_of_base64(const char *text, struct textbuf *hex)
{
    unsigned bits = 0, value = 0;
    for (; *text && *text != '='; text++) {
        const char *digit = strchr(digits64, *text);
        if (!digit)
            return false;
        value = (value << 6 | (unsigned)(digit - digits64)) & 0xffff;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            textbuf_add(hex, "%02x", value >> bits & 0xff);
        }
    }
    return text[strspn(text, "=")] == 0;
}

static uint64_t address_of(const cJSON *args)
{
    return strtoull(dap_text(args, "memoryReference", "0"), NULL, 0) + (uint64_t)dap_number(args, "offset", 0);
}

/* As many bytes as can be read from an address on, up to `count`: an allocation may end before. */
static size_t read_bytes(struct dap *d, uint64_t address, size_t count, unsigned char *out)
{
    size_t done = 0, want = count;
    while (done < count && want) {
        struct wire_answer a;
        size_t now = want < count - done ? want : count - done;
        now = now < A_READ ? now : A_READ;
        bool ok = wire_call(&d->s.process.wire, &a, "read at=0x%" PRIx64 " bytes=%zu", address + done, now) && a.lines.n;
        const char *hex = ok ? wire_text(&a.lines.at[0], "hex") : "";
        for (size_t i = 0; ok && i < now && hex[2 * i] && hex[2 * i + 1]; i++)
            out[done + i] = (unsigned char)strtoul((char[]){hex[2 * i], hex[2 * i + 1], 0}, NULL, 16);
        done += ok ? now : 0;
        want = ok ? want : now / 2;            /* the last part: halves, down to a byte */
        wire_answer_free(&a);
    }
    return done;
}

void dap_read_memory(struct dap *d, const cJSON *request, const cJSON *args)
{
    uint64_t address = address_of(args), count = dap_index(args, "count", 0);
    if (count > MOST_BYTES) {
        dap_refuse(d, request, "readMemory: at most %d bytes at a time", MOST_BYTES);
        return;
    }
    unsigned char *bytes = malloc(count + 1);
    size_t n = bytes ? read_bytes(d, address, count, bytes) : 0;
    struct textbuf data = {0};
    char text[32];
    if (n)
        add_base64(&data, bytes, n);
    snprintf(text, sizeof text, "0x%" PRIx64, address);
    struct json *j = dap_reply(d, request);
    json_text(j, "address", text);
    if (n < count)
        json_u64(j, "unreadableBytes", count - n);
    if (n && !data.failed)
        json_text(j, "data", data.at);
    dap_send(d);
    textbuf_free(&data);
    free(bytes);
}

void dap_write_memory(struct dap *d, const cJSON *request, const cJSON *args)
{
    struct textbuf hex = {0};
    struct wire_answer a;
    textbuf_add(&hex, "%s", "");
    if (!hex_of_base64(dap_text(args, "data", ""), &hex) || hex.failed || hex.n > 2 * A_READ) {
        dap_refuse(d, request, "writeMemory: the data is no base64, or more than %d bytes", A_READ);
        textbuf_free(&hex);
        return;
    }
    if (dap_ask(d, request, &a, "write at=0x%" PRIx64 " hex=%s", address_of(args), hex.at)) {
        json_u64(dap_reply(d, request), "bytesWritten", hex.n / 2);
        dap_send(d);
    }
    wire_answer_free(&a);
    textbuf_free(&hex);
}

/* ---- instructions ---- */

static const struct wire_line *instruction_at(const struct wire_answer *a, uint64_t pc)
{
    for (size_t i = 0; i < a->lines.n; i++)
        if (wire_number(&a->lines.at[i], "pc", 0) == pc)
            return &a->lines.at[i];
    return NULL;
}

/* Editors ask for so many before and behind an address and want exactly as many: what no function has is marked as invalid. */
void dap_disassemble(struct dap *d, const cJSON *request, const cJSON *args)
{
    uint64_t pc = address_of(args), count = dap_index(args, "instructionCount", 0);
    uint64_t first = pc + (uint64_t)dap_number(args, "instructionOffset", 0);
    struct wire_answer a;
    if (count > MOST_INSTRUCTIONS) {
        dap_refuse(d, request, "disassemble: at most %d instructions at a time", MOST_INSTRUCTIONS);
        return;
    }
    /* The whole function: its number stands in the high half of a pc, the instruction in the low one. */
    if (!dap_ask(d, request, &a, "disassemble at=*0x%" PRIx64, pc & ~UINT64_C(0xffffffff))) {
        wire_answer_free(&a);
        return;
    }
    struct json *j = dap_reply(d, request);
    json_array(j, "instructions");
    for (uint64_t i = 0; i < count; i++) {
        const struct wire_line *l = instruction_at(&a, first + i);
        char text[32];
        json_object(j, NULL);
        snprintf(text, sizeof text, "0x%" PRIx64, first + i);
        json_text(j, "address", text);
        json_text(j, "instruction", l ? wire_text(l, "text") : "");
        if (!l)
            json_text(j, "presentationHint", "invalid");
        if (l && wire_get(l, "line")) {
            dap_source_named(d, j, "location", l);
            json_u64(j, "line", wire_number(l, "line", 1) - 1 + d->lines_from);
        }
        json_end(j);
    }
    dap_send(d);
    wire_answer_free(&a);
}

/* The PTX around the focus, for functions without lines of a source. */
void dap_ptx_source(struct dap *d, const cJSON *request, const cJSON *args)
{
    struct textbuf text = {0};
    struct wire_answer a;
    (void)args;
    textbuf_add(&text, "%s", "");
    if (!dap_ask(d, request, &a, "ptx from=1 count=100000")) {
        wire_answer_free(&a);
        return;
    }
    for (size_t i = 0; i < a.lines.n; i++)
        textbuf_add(&text, "%s\n", wire_text(&a.lines.at[i], "text"));
    struct json *j = dap_reply(d, request);
    json_text(j, "content", text.failed ? "" : text.at);
    json_text(j, "mimeType", "text/x-asm");
    dap_send(d);
    wire_answer_free(&a);
    textbuf_free(&text);
}
