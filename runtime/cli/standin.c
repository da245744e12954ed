/* Stand-ins for two of NVIDIA's tools. Their callers want machine code; Heddle loads PTX wherever machine code may stand.
 *
 * ptxas    checks the PTX and gives it back as its output: the object file that Triton and others load
 * nvcc     runs the real one, with --ptx where --cubin was asked for */
#include "runtime/cli/standin.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ptx/ptx.h"

enum { EXIT_PTXAS = 255, EXIT_NO_TOOL = 127 };

/* ---- ptxas ---- */

static bool takes_value(const char *option)
{
    static const char *const options[] = {"-o", "--output-file", "-arch", "--gpu-name", "-O", "--opt-level", "-m", "--machine", "-maxrregcount", "--maxrregcount",
                                          "-regUsageLevel", "--register-usage-level", "-split-compile", "--split-compile", "-e", "--entry", "-optf", "--options-file"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(option, options[i]) == 0)
            return true;
    return false;
}

static char *read_text(const char *path, size_t *n)
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char *text = NULL;
    size_t room = 0, k = 1;
    for (*n = 0; f && k; *n += k) {
        if (room - *n < 2) {
            char *more = realloc(text, room = room ? 2 * room : 1 << 16);
            if (!more)
                break;
            text = more;
        }
        k = fread(text + *n, 1, room - *n - 1, f);
    }
    if (text)
        text[*n] = 0;
    if (f && f != stdin)
        fclose(f);
    return text;
}

static enum status check(const char *path, const char *text, size_t n, struct error *err)
{
    struct ptx_module *m;
    enum status st = ptx_module_open(&m, path, text, strnlen(text, n), err);
    if (st != ST_OK)
        return st;
    for (uint32_t i = 0; i < m->n_functions && st == ST_OK; i++)
        if (m->functions[i].has_body)
            st = ptx_function_body(m, i, err);
    ptx_module_free(m);
    return st;
}

static bool write_text(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(text, 1, n, f) == n;
    return f && fclose(f) == 0 && ok;
}

static int ptxas(int argc, char **argv)
{
    const char *in = NULL, *out = "elf.o";
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *value = takes_value(a) && i + 1 < argc ? argv[++i] : NULL;
        if (strcmp(a, "--version") == 0 || strcmp(a, "-V") == 0) {
            puts("ptxas: Heddle's stand-in: the object file is the PTX\nCuda compilation tools, release 13.0, V13.0.88");
            return 0;
        }
        if (strcmp(a, "-o") == 0 || strcmp(a, "--output-file") == 0)
            out = value ? value : out;
        else if (strncmp(a, "--output-file=", 14) == 0)
            out = a + 14;
        else if (a[0] != '-' || !a[1])
            in = a;
    }
    if (!in) {
        fprintf(stderr, "ptxas fatal   : no input file\n");
        return EXIT_PTXAS;
    }
    size_t n;
    struct error err = {0};
    char *text = read_text(in, &n);
    bool ok = text && check(in, text, n, &err) == ST_OK;
    if (!text || !ok)
        fprintf(stderr, "ptxas fatal   : %s\n", text ? err.text : strerror(errno));
    else if (!(ok = write_text(out, text, strnlen(text, n) + 1)))     /* its NUL is how a loader knows where the text ends */
        fprintf(stderr, "ptxas fatal   : %s: %s\n", out, strerror(errno));
    free(text);
    return ok ? 0 : EXIT_PTXAS;
}

/* ---- nvcc ---- */

static bool usable(const char *path)
{
    char self[PATH_MAX], real[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0 || access(path, X_OK) != 0 || !realpath(path, real))
        return false;
    self[n] = 0;
    return strcmp(self, real) != 0;
}

/* The first nvcc in PATH that is not us, then where toolkits are. */
static bool find_nvcc(char path[PATH_MAX])
{
    const char *folders[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (const char *at = getenv("PATH"); at && *at; at += strcspn(at, ":"), at += *at == ':')
        if (snprintf(path, PATH_MAX, "%.*s/nvcc", (int)strcspn(at, ":"), at) < PATH_MAX && usable(path))
            return true;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (folders[i] && snprintf(path, PATH_MAX, "%s/bin/nvcc", folders[i]) < PATH_MAX && usable(path))
            return true;
    return false;
}

/* The name that nvcc would give: the source's, in this folder, with .cubin. */
static char *cubin_name(const char *source)
{
    const char *slash = strrchr(source, '/'), *base = slash ? slash + 1 : source, *dot = strrchr(base, '.');
    char *name;
    return asprintf(&name, "%.*s.cubin", (int)(dot ? dot - base : (ptrdiff_t)strlen(base)), base) < 0 ? NULL : name;
}

static int nvcc(int argc, char **argv)
{
    static char path[PATH_MAX];
    char **args = calloc((size_t)argc + 3, sizeof *args);
    bool cubin = false, named = false;
    const char *source = NULL;
    if (!find_nvcc(path) || !args) {
        fprintf(stderr, "nvcc: no CUDA toolkit is in PATH, CUDA_HOME or /usr/local/cuda; Heddle's stand-in needs its compiler\n");
        return EXIT_NO_TOOL;
    }
    args[0] = path;
    for (int i = 1; i < argc; i++) {
        bool is = strcmp(argv[i], "--cubin") == 0 || strcmp(argv[i], "-cubin") == 0;
        const char *dot = strrchr(argv[i], '.');
        args[i] = is ? (char *)(uintptr_t)"--ptx" : argv[i];
        cubin |= is;
        named |= strcmp(argv[i], "-o") == 0 || strncmp(argv[i], "--output-file", 13) == 0;
        if (argv[i][0] != '-' && dot && strcmp(dot, ".cu") == 0)
            source = argv[i];
    }
    if (cubin && !named && source) {
        args[argc] = (char *)(uintptr_t)"-o";
        args[argc + 1] = cubin_name(source);
    }
    execv(path, args);
    fprintf(stderr, "nvcc: %s: %s\n", path, strerror(errno));
    return EXIT_NO_TOOL;
}

standin_fn *standin_find(const char *called)
{
    const char *slash = strrchr(called, '/'), *name = slash ? slash + 1 : called;
    return strcmp(name, "ptxas") == 0 ? ptxas : strcmp(name, "nvcc") == 0 ? nvcc : NULL;
}
