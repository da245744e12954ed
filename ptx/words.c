/* See ptx/words.h. */
#include "ptx/words.h"
#include "ptx/parse.h"

/* Which characters begin a word and which go on with one. */
static bool begins(char c) { return ((unsigned char)c | 32u) - 'a' < 26u || c == '_' || c == '$' || c == '%' || c == '.'; }
static bool goes_on(char c) { return begins(c) || (c >= '0' && c <= '9'); }

static int32_t symbol_of(const struct ptx_module *m, const struct ptx_unit *unit, const char *word, size_t len)
{
    uintptr_t v;
    if (map_get_str(&unit->names, word, len, &v) || map_get_str(&m->names, word, len, &v)) return (int32_t)v;
    return -1;
}

bool ptx_function_words(const struct ptx_module *m, uint32_t i, ptx_word_fn fn, void *user)
{
    const struct ptx_function *f = &m->functions[i];
    const struct ptx_unit *unit = &m->units[f->unit];
    const char *at = m->text + f->body_at, *end = at + (f->has_body ? f->body_bytes : 0);
    while (at < end) {
        const char *word = at++;
        bool is_word = begins(*word), number = !is_word && goes_on(*word);
        if (!is_word && !number) continue;
        while (at < end && goes_on(*at)) at++;
        bool named = is_word && *word != '%' && *word != '.';
        if (is_word && !fn(user, word, (size_t)(at - word), named ? symbol_of(m, unit, word, (size_t)(at - word)) : -1)) return false;
    }
    return true;
}
