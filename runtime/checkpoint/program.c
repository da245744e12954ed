#include "runtime/checkpoint/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { MAX_ARGS_BYTES = 4 << 20 };

static void hash_file(struct program *p, const char *path)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0) {
        void *all = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (all != MAP_FAILED) {
            p->bytes = (uint64_t)s.st_size;
            p->hash = XXH3_64bits(all, (size_t)s.st_size);
            munmap(all, (size_t)s.st_size);
        }
    }
    if (fd >= 0)
        close(fd);
}

static enum status add_args(struct program *p, const char *from, size_t n, struct error *err)
{
    char *grown = n <= MAX_ARGS_BYTES - p->args_bytes ? realloc(p->args, p->args_bytes + n + 1) : NULL;
    if (!grown)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for the program's arguments");
    memcpy(grown + p->args_bytes, from, n);
    p->args = grown;
    p->args_bytes += (uint32_t)n;
    return ST_OK;
}

/* The words of /proc/self/cmdline behind the first. */
static enum status own_args(struct program *p, struct error *err)
{
    char buf[4096];
    bool first = true;
    enum status st = ST_OK;
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    for (ssize_t n; fd >= 0 && st == ST_OK && (n = read(fd, buf, sizeof buf)) > 0;) {
        size_t from = 0;
        while (first && from < (size_t)n)
            first = buf[from++] != 0;
        st = add_args(p, buf + from, (size_t)n - from, err);
    }
    if (fd >= 0)
        close(fd);
    return st;
}

enum status program_self(struct program *out, const struct rt_knobs *knobs, struct error *err)
{
    *out = (struct program){.devices = (uint32_t)knobs->devices};
    ssize_t n = readlink("/proc/self/exe", out->path, sizeof out->path - 1);
    out->path[n > 0 ? n : 0] = 0;
    hash_file(out, "/proc/self/exe");
    snprintf(out->gpu, sizeof out->gpu, "%.*s", (int)sizeof out->gpu - 1, knobs->gpu);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    out->visible_set = visible;
    snprintf(out->visible, sizeof out->visible, "%s", visible ? visible : "");
    enum status st = own_args(out, err);
    if (st != ST_OK)
        program_free(out);
    return st;
}

enum status program_of(struct program *out, const char *path, char **argv, struct error *err)
{
    enum status st = ST_OK;
    *out = (struct program){.devices = 0};
    snprintf(out->path, sizeof out->path, "%s", path);
    hash_file(out, path);
    for (int i = 1; argv[0] && argv[i] && st == ST_OK; i++)
        st = add_args(out, argv[i], strlen(argv[i]) + 1, err);
    if (st != ST_OK)
        program_free(out);
    return st;
}

void program_free(struct program *p)
{
    free(p->args);
    p->args = NULL;
    p->args_bytes = 0;
}

void program_put(const struct program *p, struct sink *to)
{
    put_text(to, p->path);
    put_u64(to, p->hash);
    put_u64(to, p->bytes);
    put_u32(to, p->args_bytes);
    put(to, p->args, p->args_bytes);
    put_text(to, p->gpu);
    put_u32(to, p->devices);
    put_u8(to, p->visible_set);
    put_text(to, p->visible);
}

enum status program_get(struct program *p, struct source *from, struct error *err)
{
    *p = (struct program){.devices = 0};
    get_text(from, p->path, sizeof p->path);
    p->hash = get_u64(from);
    p->bytes = get_u64(from);
    uint32_t n = get_below(from, MAX_ARGS_BYTES + 1);
    p->args = malloc(n + 1);
    if (!p->args)
        return error_set(err, ST_OUT_OF_MEMORY, "no host memory for a program's arguments");
    p->args_bytes = n;
    get(from, p->args, n);
    p->args[n] = 0;
    get_text(from, p->gpu, sizeof p->gpu);
    p->devices = get_u32(from);
    p->visible_set = get_u8(from);
    get_text(from, p->visible, sizeof p->visible);
    if (!from->failed && (!n || !p->args[n - 1]))
        return ST_OK;
    program_free(p);
    return error_set(err, ST_INVALID_VALUE, "what the checkpoint says about its program makes no sense");
}

/* The k-th word; NULL: there are not so many. */
static const char *word(const struct program *p, unsigned k)
{
    const char *at = p->args, *end = p->args + p->args_bytes;
    while (k-- && at < end)
        at += strlen(at) + 1;
    return at && at < end ? at : NULL;
}

enum status program_compare(const struct program *then, const struct program *now, struct error *err)
{
    if (then->bytes && now->bytes && (then->bytes != now->bytes || then->hash != now->hash)) {
        error_set(err, ST_INVALID_VALUE, "%s is not the program of the checkpoint, which was %s (%llu bytes, xxhash %016llx; this one: %llu, %016llx)", now->path, then->path,
                  (unsigned long long)then->bytes, (unsigned long long)then->hash, (unsigned long long)now->bytes, (unsigned long long)now->hash);
        error_hint(err, "a checkpoint goes on only in the very executable that it was taken of; build that one again, or take a new checkpoint");
        return ST_INVALID_VALUE;
    }
    for (unsigned k = 0;; k++) {
        const char *a = word(then, k), *b = word(now, k);
        if (!a && !b)
            return ST_OK;
        if (a && b && strcmp(a, b) == 0)
            continue;
        return error_set(err, ST_INVALID_VALUE, "the program's argument %u is %s%s%s, at the checkpoint it was %s%s%s", k + 1, b ? "'" : "", b ? b : "missing", b ? "'" : "",
                         a ? "'" : "", a ? a : "missing", a ? "'" : "");
    }
}
