#include "runtime/cli/target.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* ---- finding ---- */

static bool runnable(const char *path)
{
    struct stat s;
    if (stat(path, &s) != 0)
        return false;
    if (S_ISDIR(s.st_mode)) {
        errno = EACCES;
        return false;
    }
    return access(path, X_OK) == 0;
}

bool target_find(const char *program, char path[PATH_MAX])
{
    if (strchr(program, '/')) {
        snprintf(path, PATH_MAX, "%s", program);
        return runnable(path);
    }
    const char *dirs = getenv("PATH");
    int worst = ENOENT;
    for (dirs = dirs ? dirs : "/bin:/usr/bin"; *program;) {
        size_t n = strcspn(dirs, ":");
        snprintf(path, PATH_MAX, "%.*s/%s", n ? (int)n : 1, n ? dirs : ".", program);
        if (runnable(path))
            return true;
        if (errno == EACCES)
            worst = EACCES;
        if (!dirs[n])
            break;
        dirs += n + 1;
    }
    errno = worst;
    return false;
}

/* ---- reading ---- */

bool target_has(const struct target *t, const void *bytes, size_t n)
{
    return t->image_bytes && memmem(t->image, t->image_bytes, bytes, n);
}

static void copy_text(char *out, size_t out_bytes, const char *s, size_t n)
{
    if (n >= out_bytes)
        n = out_bytes - 1;
    memcpy(out, s, n);
    out[n] = 0;
}

static void read_segments(struct target *t, Elf *elf)
{
    size_t n = 0;
    bool interp = false;
    if (elf_getphdrnum(elf, &n) != 0)
        return;
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr p;
        if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_INTERP)
            continue;
        interp = true;
        if (p.p_offset < t->image_bytes && p.p_filesz <= t->image_bytes - p.p_offset)
            copy_text(t->loader, sizeof t->loader, t->image + p.p_offset, strnlen(t->image + p.p_offset, p.p_filesz));
    }
    t->static_linked = !interp;
}

static void read_dynamic(struct target *t, Elf *elf, Elf_Scn *scn, const GElf_Shdr *h)
{
    Elf_Data *d = elf_getdata(scn, NULL);
    GElf_Dyn dyn;
    bool pie = false;
    for (int i = 0; d && gelf_getdyn(d, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
        pie |= dyn.d_tag == DT_FLAGS_1 && dyn.d_un.d_val & DF_1_PIE;
        const char *s = dyn.d_tag == DT_NEEDED ? elf_strptr(elf, h->sh_link, dyn.d_un.d_val) : NULL;
        if (s && t->n_needed < TARGET_NEEDED_MAX)
            t->needed[t->n_needed++] = s;
    }
    /* A static-pie program has dynamic entries and no loader, too. */
    t->library = t->static_linked && !pie;
    t->static_linked &= pie;
}

/* Whether undefined names like cuInit or cudaMalloc occur, and whether a driver is defined inside. */
static void read_dynsym(struct target *t, Elf *elf, Elf_Scn *scn, const GElf_Shdr *h)
{
    Elf_Data *d = elf_getdata(scn, NULL);
    GElf_Sym sym;
    for (int i = 1; d && gelf_getsym(d, i, &sym); i++) {
        const char *s = elf_strptr(elf, h->sh_link, sym.st_name);
        if (!s || strncmp(s, "cu", 2) != 0 || sym.st_shndx != SHN_UNDEF)
            continue;
        if (s[2] >= 'A' && s[2] <= 'Z' && strncmp(s, "cuUnw", 5) != 0)
            t->imports_driver_api = true;
        else if (strncmp(s, "cuda", 4) == 0 && s[4] >= 'A' && s[4] <= 'Z')
            t->imports_runtime_api = true;
    }
}

static void read_symtab(struct target *t, Elf *elf, Elf_Scn *scn, const GElf_Shdr *h)
{
    Elf_Data *d = elf_getdata(scn, NULL);
    GElf_Sym sym;
    for (int i = 1; d && gelf_getsym(d, i, &sym); i++) {
        const char *s = elf_strptr(elf, h->sh_link, sym.st_name);
        if (s && strcmp(s, "cuInit") == 0 && sym.st_shndx != SHN_UNDEF && GELF_ST_TYPE(sym.st_info) == STT_FUNC)
            t->static_driver = true;
    }
}

static void read_sections(struct target *t, Elf *elf)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
        GElf_Shdr h;
        if (!gelf_getshdr(s, &h))
            continue;
        const char *name = elf_strptr(elf, names, h.sh_name);
        bool inside = h.sh_type != SHT_NOBITS && h.sh_offset <= t->image_bytes && h.sh_size <= t->image_bytes - h.sh_offset;
        struct target_section here = {(const unsigned char *)t->image + h.sh_offset, h.sh_size};
        if (h.sh_type == SHT_DYNAMIC)
            read_dynamic(t, elf, s, &h);
        else if (h.sh_type == SHT_DYNSYM)
            read_dynsym(t, elf, s, &h);
        else if (h.sh_type == SHT_SYMTAB)
            read_symtab(t, elf, s, &h);
        else if (name && inside && strcmp(name, ".nv_fatbin") == 0)
            t->fatbin = here;
        else if (name && inside && strcmp(name, "__nv_relfatbin") == 0)
            t->relfatbin = here;
    }
}

static void read_elf(struct target *t)
{
    const unsigned char *e = (const unsigned char *)t->image;
    t->kind = TARGET_ELF;
    t->foreign_machine = e[EI_CLASS] != ELFCLASS64 || (e[18] | e[19] << 8) != EM_X86_64;
    if (elf_version(EV_CURRENT) == EV_NONE)
        return;
    Elf *elf = elf_memory((char *)(uintptr_t)t->image, t->image_bytes);
    if (!elf)
        return;
    read_segments(t, elf);
    read_sections(t, elf);
    /* The strings that `needed` points at are in the mapped file itself (dynamic strings are never compressed). */
    elf_end(elf);
}

static void read_script(struct target *t)
{
    size_t n = t->image_bytes < 250 ? t->image_bytes : 250;
    const char *s = t->image + 2, *end = t->image + n;
    t->kind = TARGET_SCRIPT;
    while (s < end && (*s == ' ' || *s == '\t'))
        s++;
    const char *line_end = memchr(s, '\n', (size_t)(end - s));
    copy_text(t->script, sizeof t->script, s, (size_t)((line_end ? line_end : end) - s));
}

static bool map_file(struct target *t, struct error *err)
{
    int fd = open(t->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        error_set(err, ST_FILE_NOT_FOUND, "%s: %s", t->path, strerror(errno));
        return false;
    }
    struct stat s;
    if (fstat(fd, &s) == 0) {
        if (S_ISDIR(s.st_mode)) {
            close(fd);
            error_set(err, ST_FILE_NOT_FOUND, "%s is a folder", t->path);
            return false;
        }
        t->privileged = s.st_mode & (S_ISUID | S_ISGID) && (s.st_uid != geteuid() || s.st_gid != getegid());
        t->privileged |= fgetxattr(fd, "security.capability", NULL, 0) > 0 && geteuid() != 0;
        if (s.st_size > 0) {
            void *p = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
            if (p != MAP_FAILED) {
                t->image = p;
                t->image_bytes = (size_t)s.st_size;
            }
        }
    }
    close(fd);
    return true;
}

enum status target_read(struct target *t, const char *path, struct error *err)
{
    static const char cudart[] = "CUDA driver version is insufficient for CUDA runtime version";
    *t = (struct target){.kind = TARGET_OTHER};
    snprintf(t->path, sizeof t->path, "%s", path);
    if (!map_file(t, err))
        return ST_FILE_NOT_FOUND;
    if (t->image_bytes >= sizeof(Elf32_Ehdr) && memcmp(t->image, ELFMAG, SELFMAG) == 0) {
        read_elf(t);
        t->static_cudart = target_has(t, cudart, sizeof cudart);
        t->opens_libcuda_so = target_has(t, "\0libcuda.so", sizeof "\0libcuda.so");
    } else if (t->image_bytes > 2 && t->image[0] == '#' && t->image[1] == '!') {
        read_script(t);
    }
    return ST_OK;
}

void target_close(struct target *t)
{
    if (t->image)
        munmap((void *)(uintptr_t)t->image, t->image_bytes);
    t->image = NULL;
    t->image_bytes = 0;
}

const char *target_shared_cudart(const struct target *t)
{
    for (unsigned i = 0; i < t->n_needed; i++)
        if (strncmp(t->needed[i], "libcudart.so", 12) == 0)
            return t->needed[i];
    return NULL;
}

const char *target_obstacle(const struct target *t, char *buf, size_t n)
{
    if (t->kind != TARGET_ELF)
        return NULL;
    if (t->foreign_machine)
        return "it is not a program for 64-bit x86";
    if (t->static_linked)
        return "it is statically linked, so there is no dynamic loader that could load libheddle.so; link it without -static";
    if (t->privileged)
        return "it runs with another user's rights (setuid, setgid or file capabilities), and the loader ignores LD_PRELOAD then";
    if (t->loader[0] && !strstr(t->loader, "ld-linux-x86-64")) {
        snprintf(buf, n, "its loader is %s, not glibc's; libheddle.so needs glibc", t->loader);
        return buf;
    }
    if (t->static_driver)
        return "it contains a CUDA driver of its own (cuInit is defined in it)";
    return NULL;
}
