/* The cases of tests/ptx for a compiler that folds; scripts/ptxas-suite stands between the two uses.
 *   ptx-fold FILE...      prints `= case target version values place name` and the PTX of each case: on constants, or, where values is 0, the case itself
 *   ptx-fold -j FILE...   reads lines `case number value` (number = row * outputs + output, value in hexadecimal or ? where nothing was
 *                         folded) and judges: `agree N`, `differ N`, each difference with its name; `open FILE: case` when a case whose oracle is
 *                         ptxas has an output that was not folded. Exit status 1 when anything differs or is open. A case whose note says
 *                         "ptxas differs" has a reason; it is counted as `known N`. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/ptx/cases.h"

/* How many values a compiler can fold. */
static unsigned values(const struct test *t) { return case_is_lanewise(t) && !t->n_images ? t->n_rows * t->n_out : 0; }

static void print(const struct test *tests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        printf("= %zu %s %u.%u %u %s:%u %s\n", i, tests[i].target, tests[i].version / 10, tests[i].version % 10, values(&tests[i]), tests[i].file,
               tests[i].line, tests[i].name);
        fputs(values(&tests[i]) ? case_ptx_constant(tests, i) : cases_ptx(tests, i, 1), stdout);
    }
}

static int judge(const struct test *tests, size_t n)
{
    size_t i, number, agree = 0, differ = 0, open = 0, known = 0;
    char text[64];
    while (scanf("%zu %zu %63s", &i, &number, text) == 3) {
        const struct test *t = i < n ? &tests[i] : NULL;
        if (!t || number >= (size_t)t->n_rows * t->n_out)
            continue;
        const struct row *row = &t->rows[number / t->n_out];
        const struct field *f = &t->out[number % t->n_out];
        const struct value *v = &row->out[number % t->n_out];
        if (v->expect == EXPECT_ANY)
            continue;
        if (*text == '?') {
            open += t->oracle == ORACLE_PTXAS;
            if (t->oracle == ORACLE_PTXAS)
                printf("open %s:%u %s: %s does not fold\n", t->file, row->line, t->name, f->name);
            continue;
        }
        uint64_t got[2] = {0};
        size_t digits = strlen(text);
        if (digits > 16) {
            sscanf(text + digits - 16, "%" SCNx64, &got[0]);
            text[digits - 16] = 0;
            sscanf(text, "%" SCNx64, &got[1]);
        } else
            sscanf(text, "%" SCNx64, &got[0]);
        bool good = value_agrees(t, f, v, got, 0), excused = !good && strstr(t->note, "ptxas differs");
        agree += good, known += excused, differ += !good && !excused;
        if (!good && !excused)
            printf("differ %s:%u %s: %s folds to %s, the file has %0*" PRIx64 "\n", t->file, row->line, t->name, f->name, text,
                   (int)(2 * f->type->bytes), v->bits[0]);
    }
    printf("agree %zu\ndiffer %zu\nknown %zu\n", agree, differ, known);
    return differ || open;
}

int main(int argc, char **argv)
{
    struct test *tests = NULL;
    size_t n = 0;
    int judging = argc > 1 && strcmp(argv[1], "-j") == 0;
    for (int i = 1 + judging; i < argc; i++)
        cases_read(argv[i], &tests, &n);
    if (judging)
        return judge(tests, n);
    print(tests, n);
    return 0;
}
