/* Any line as a request of the debugger's protocol, and any of its words as an expression. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/debug/eval.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return emu_space_create(&the.space, NULL) != ST_OK;
}

static void evaluate(const char *text)
{
    struct focus none = {0};
    struct error err = {0};
    struct expr *e;
    struct value v;
    struct textbuf shown = {0};
    if (expr_parse(&e, text, &err) != ST_OK)
        return;
    if (expr_eval(&v, e, &none, &err) == ST_OK)
        value_print(&shown, &v, 0, &none);
    textbuf_free(&shown);
    expr_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct request q;
    const char *why;
    char *line = malloc(n + 1);
    uint32_t xyz[3];
    uint64_t number;
    memcpy(line, data, n);
    line[n] = 0;
    if (request_parse(&q, line, &why)) {
        (void)request_option(&q, "at");
        for (unsigned i = 0; i < q.n; i++) {
            (void)request_number(q.words[i].text, &number);
            (void)request_xyz(q.words[i].text, xyz);
            evaluate(q.words[i].text);
        }
    }
    free(line);
    return 0;
}
