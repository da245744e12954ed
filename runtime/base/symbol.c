#include "runtime/base/symbol.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *symbol_demangle(const char *name, char *buf, size_t n)
{
    char *(*cxa)(const char *, char *, size_t *, int *) = NULL;
    int status = -1;
    if (strncmp(name, "_Z", 2) == 0)           /* looked up, not linked: a C program must not be given libstdc++ */
        *(void **)&cxa = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    char *text = cxa ? cxa(name, NULL, NULL, &status) : NULL;
    snprintf(buf, n, "%s", status == 0 && text ? text : name);
    free(text);
    return buf;
}
