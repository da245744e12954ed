/* `heddle python`: a Python interpreter under Heddle, with what its CUDA packages need so that PTX reaches us: stand-ins for the tools that they call, and
 * caches of their own, since what they keep there is no machine code for a GPU. What the user has set stays. runtime/cli/python/ is what the interpreter itself is given. */
#include "runtime/cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* @ is the folder of shims, ~ Heddle's cache; anything else stands for itself. */
static const struct { const char *name, *value; } settings[] = {
    {"TRITON_PTXAS_PATH", "@/bin/ptxas"},
    {"TRITON_PTXAS_BLACKWELL_PATH", "@/bin/ptxas"},
    {"TRITON_LIBCUDA_PATH", "@/driver"},
    {"TRITON_CACHE_DIR", "~/triton"},
    {"TORCHINDUCTOR_CACHE_DIR", "~/inductor"},
    {"TORCHINDUCTOR_DETERMINISTIC", "1"},      /* it does not measure kernels to choose among them: here that says nothing, and takes long */
    {"TORCHINDUCTOR_SHAPE_PADDING", "0"},      /* as the one above, before PyTorch 2.10 */
    {"CUPY_CACHE_DIR", "~/cupy"},
    {"NUMBA_CACHE_DIR", "~/numba"},
    {"WARP_CACHE_PATH", "~/warp"},
    {"XLA_FLAGS", "--xla_gpu_autotune_level=0"},        /* JAX: as with PyTorch's inductor */
    {"JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1"},  /* of CUDA's libraries; CUPTI 13 says no version without NVIDIA's driver */
    {"XLA_PYTHON_CLIENT_PREALLOCATE", "false"},         /* else it takes three quarters of the GPU's memory at once, and the summary says so */
};

static bool is_python(const char *word)
{
    const char *slash = strrchr(word, '/');
    return strncmp(slash ? slash + 1 : word, "python", 6) == 0 && (!slash || access(word, X_OK) == 0) && !strstr(slash ? slash : word, ".py");
}

/* $XDG_CACHE_HOME/heddle or ~/.cache/heddle, made if need be. */
static bool cache_folder(char *out, size_t n)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char base[PATH_MAX];
    if ((!xdg || !*xdg) && !home)
        return false;
    snprintf(base, sizeof base, "%s%s", xdg && *xdg ? xdg : home, xdg && *xdg ? "" : "/.cache");
    (void)!mkdir(base, 0777);
    snprintf(out, n, "%.*s/heddle", (int)n - 8, base);
    return mkdir(out, 0777) == 0 || access(out, W_OK) == 0;
}

/* A folder of the shims in front of a list of folders, unless it is there. */
static bool prepend(const struct cli *c, const char *list, const char *folder)
{
    char *joined;
    const char *old = getenv(list);
    if (asprintf(&joined, "%s/%s%s%s", c->shims, folder, old && *old ? ":" : "", old ? old : "") < 0)
        return false;
    char *end = joined + strlen(c->shims) + 1 + strlen(folder);
    bool there = old && strncmp(old, joined, (size_t)(end - joined)) == 0;
    bool ok = there || setenv(list, joined, 1) == 0;
    free(joined);
    return ok;
}

static bool prepare_python(const struct cli *c)
{
    char cache[PATH_MAX / 2], value[2 * PATH_MAX];
    bool cached = cache_folder(cache, sizeof cache), ok = true;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *v = settings[i].value;
        if (*v == '~' && !cached)
            continue;
        const char *folder = *v == '@' ? c->shims : *v == '~' ? cache : "";
        snprintf(value, sizeof value, "%s%s", folder, v + (*folder != 0));
        ok &= setenv(settings[i].name, value, 0) == 0;
    }
    return ok && prepend(c, "PATH", "bin") && prepend(c, "LD_LIBRARY_PATH", "driver") && prepend(c, "PYTHONPATH", "python");
}

int verb_python(struct cli *c, int argc, char **argv)
{
    static char *words[PATH_MAX];
    if (!c->library[0] || !prepare_python(c))
        return verb_run(c, argc, argv);        /* which says what is missing */
    if (argc && is_python(argv[0]))
        return verb_run(c, argc, argv);
    if ((size_t)argc + 2 > sizeof words / sizeof *words) {
        say_error("too many arguments");
        return EXIT_OWN_FAILURE;
    }
    /* As a shell would find it: an active virtual environment is in front of PATH. */
    words[0] = (char *)(uintptr_t)"python3";
    memcpy(words + 1, argv, (size_t)argc * sizeof *argv);
    return verb_run(c, argc + 1, words);
}
