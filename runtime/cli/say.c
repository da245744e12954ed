#include "runtime/cli/cli.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/symbol.h"

bool colour_on(FILE *f)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && *no) && term && strcmp(term, "dumb") != 0 && isatty(fileno(f));
}

const char *bold(FILE *f) { return colour_on(f) ? "\033[1m" : ""; }
const char *plain(FILE *f) { return colour_on(f) ? "\033[0m" : ""; }

static void say(const char *colour, const char *word, const char *fmt, va_list ap)
{
    bool colours = colour_on(stderr);
    fprintf(stderr, "heddle: %s%s:%s ", colours ? colour : "", word, colours ? "\033[0m" : "");
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
}

#define SAY(name, colour, word)             \
    void name(const char *fmt, ...)         \
    {                                       \
        va_list ap;                         \
        va_start(ap, fmt);                  \
        say(colour, word, fmt, ap);         \
        va_end(ap);                         \
    }
SAY(say_error, "\033[1;31m", "error")
SAY(say_warning, "\033[1;33m", "warning")
SAY(say_hint, "\033[1;36m", "hint")

void say_status(const struct error *err)
{
    const char *text = err->text, *hint;
    while ((hint = strstr(text, "\nhint: "))) {
        if (text == err->text)
            say_error("%.*s", (int)(hint - text), text);
        text = hint + strlen("\nhint: ");
        say_hint("%.*s", (int)strcspn(text, "\n"), text);
    }
    if (text == err->text)
        say_error("%s", text);
}

char *demangle(const char *name, char *buf, size_t n)
{
    static bool looked;
    if (!looked) {
        looked = true;
        dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_GLOBAL);
    }
    symbol_demangle(name, buf, n);
    return buf;
}
