/* The setting `plugin` before the program starts: what is no library is refused, and names become independent of the folder the program goes to. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cli/cli.h"

static const char *obstacle(const char *path)
{
    Elf64_Ehdr h;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return strerror(errno);
    ssize_t n = read(fd, &h, sizeof h);
    close(fd);
    if (n < (ssize_t)sizeof h || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_type != ET_DYN)
        return "it is no shared library";
    return h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != EM_X86_64 ? "it is no library for 64-bit x86" : NULL;
}

/* False: reported. A name without a folder that is not here is left to the loader, which has folders of its own. */
static bool locate(const char *name, char out[PATH_MAX])
{
    bool bare = !strchr(name, '/') && access(name, F_OK) != 0;
    const char *why = bare ? NULL : obstacle(name);
    if (bare)
        snprintf(out, PATH_MAX, "%s", name);
    else if (!why && !realpath(name, out))
        why = strerror(errno);
    if (!why)
        return true;
    say_error("the plug-in %s cannot be loaded: %s", name, why);
    say_hint("cc -shared -fPIC plugin.c -o plugin.so  makes one of host functions (heddle_plugin.h)");
    return false;
}

bool cli_plugins(struct cli *c)
{
    char names[KNOB_TEXT_BYTES], origin[KNOB_ORIGIN_BYTES], path[PATH_MAX], *rest = names;
    struct error err;
    strcpy(names, c->knobs.values.plugin);
    strcpy(origin, c->knobs.origins[KNOB_ID_plugin]);
    if (!*names)
        return true;
    enum status st = settings_set(&c->knobs.settings, "plugin", "", origin, &err);
    for (char *name; st == ST_OK && (name = strsep(&rest, ","));) {
        if (!*name)
            continue;
        if (!locate(name, path))
            return false;
        st = settings_set(&c->knobs.settings, "plugin", path, origin, &err);
    }
    if (st != ST_OK)
        say_status(&err);
    return st == ST_OK;
}
