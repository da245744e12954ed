/* Tells what the case files of tests/ptx prove: a line for each instruction of each case whose opcode is a word of the case's name,
 *     row of isa.def <tab> modifiers <tab> oracle <tab> file <tab> case
 * Rows count from 0. A case that does not parse, or proves nothing, is reported on stderr and makes the exit status 1.
 *   ptx-cover FILE... */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "ptx/ptx.h"
#include "tests/ptx/cases.h"

/* Whether text has the word; words are made of letters, digits and '_'. */
static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = text; (p = strstr(p, word)); p += n) {
        bool starts = p == text || !(isalnum((unsigned char)p[-1]) || p[-1] == '_');
        if (starts && !(isalnum((unsigned char)p[n]) || p[n] == '_'))
            return true;
    }
    return false;
}

static unsigned print_function(const struct test *t, const struct ptx_function *f)
{
    unsigned proved = 0;
    for (uint32_t k = 0; k < f->n_insns; k++) {
        const struct ptx_insn *in = &f->insns[k];
        if (!has_word(t->name, ptx_op_text((enum ptx_op)in->op)))
            continue;
        proved++;
        printf("%u\t", in->row);
        for (unsigned m = 0; m < in->n_mods; m++)
            printf("%s%s", m ? " " : "", ptx_mod_text((enum ptx_mod)in->mods[m]));
        printf("\t%s\t%s\t%s\n", oracle_names[t->oracle], t->file, t->name);
    }
    return proved;
}

/* Answers whether the case is as it should be. */
static bool print_case(const struct test *tests, size_t i)
{
    const struct test *t = &tests[i];
    char *text = cases_ptx(tests, i, 1);
    struct ptx_module *m = NULL;
    struct error err = {0};
    unsigned proved = 0;
    enum status st = ptx_module_open(&m, t->name, text, strlen(text), &err);
    for (uint32_t k = 0; st == ST_OK && k < m->n_functions; k++)
        if (m->functions[k].has_body && (st = ptx_function_body(m, k, &err)) == ST_OK)
            proved += print_function(t, &m->functions[k]);
    if (st != ST_OK)
        fprintf(stderr, "%s:%u: %s: %s\n", t->file, t->line, t->name, err.text);
    else if (!proved)
        fprintf(stderr, "%s:%u: the name '%s' has no opcode of the case's code\n", t->file, t->line, t->name);
    ptx_module_free(m);
    return st == ST_OK && proved;
}

int main(int argc, char **argv)
{
    struct test *tests = NULL;
    size_t n = 0;
    bool good = true;
    for (int i = 1; i < argc; i++)
        cases_read(argv[i], &tests, &n);
    for (size_t i = 0; i < n; i++)
        good &= print_case(tests, i);
    return good ? 0 : 1;
}
