/* Words of a command line. */
#include "runtime/cli/debug.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

char *word_skip(char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

char *word_next(char **at)
{
    char *start = word_skip(*at), *p = start, quote = 0;
    int depth = 0;
    if (!*start)
        return NULL;
    for (; *p && (quote || depth || (*p != ' ' && *p != '\t')); p++) {
        if (quote)
            quote = *p == quote ? 0 : quote;
        else if (*p == '"' || *p == '\'')
            quote = *p;
        else if (*p == '(' || *p == '[')
            depth++;
        else if ((*p == ')' || *p == ']') && depth)
            depth--;
    }
    *at = *p ? p + 1 : p;
    *p = 0;
    return start;
}

bool word_number(const char *word, uint64_t *n)
{
    char *end;
    if (!word || *word < '0' || *word > '9')
        return false;
    errno = 0;
    *n = strtoull(word, &end, 0);
    return !*end && errno == 0;
}

bool word_is(const char *word, const char *full, size_t shortest)
{
    size_t n = strlen(word);
    return n >= shortest && strncmp(word, full, n) == 0;
}

bool word_coordinates(const char *word, char out[64])
{
    size_t n = 0;
    int parts = 0;
    const char *p = word + (*word == '(');
    for (;;) {
        while (*p == ' ')
            p++;
        size_t digits = strspn(p, "0123456789");
        if (!digits || digits > 10 || ++parts > 3)
            return false;
        memcpy(out + n, p, digits);
        n += digits;
        p += digits;
        while (*p == ' ')
            p++;
        if (*p != ',')
            break;
        out[n++] = *p++;
    }
    out[n] = 0;
    return *word == '(' ? strcmp(p, ")") == 0 : !*p;
}
