/* The debugger's server: going back. */
#include "tests/unit/debug_kernels.h"

START_TEST(instructions_are_taken_back)
{
    client_start(program_count);
    ask("break at=*count+4 if=\"%r2 == 5\"");
    go("continue");
    evals("counter", "5");
    go("reverse-stepi");
    is(client.stop, "reason", "reverse");
    is(client.stop, "insn", "3");
    evals("%r2", "5");
    evals("counter", "4");                     /* memory goes back, too */
    go("reverse-stepi 4");
    is(client.stop, "insn", "3");
    evals("counter", "3");
    evals("%r2", "4");
    go("stepi 4");
    is(client.stop, "insn", "3");
    evals("%r2", "5");
    go("reverse-stepi");                       /* from a place that was stepped to */
    is(client.stop, "insn", "6");
    go("reverse-stepi 1000");
    is(client.stop, "insn", "0");
    is(client.stop, "end", "1");
    evals("counter", "5");
    go("continue");                            /* forwards again, to the same place */
    evals("%r2", "5");
    evals("counter", "5");
    client_finish();
}
END_TEST

START_TEST(the_breakpoint_before_is_found)
{
    client_start(program_count);
    ask("break at=*count+4");
    for (int i = 0; i < 8; i++)
        go("continue");
    evals("%r2", "7");
    is(client.stop, "hits", "8");
    go("reverse-continue");
    is(client.stop, "reason", "breakpoint");
    evals("%r2", "6");
    go("reverse-continue 3");
    evals("%r2", "3");
    ask("condition 1 \"%r2 == 1\"");
    go("reverse-continue");
    evals("%r2", "1");
    go("reverse-continue");
    is(client.stop, "reason", "reverse");
    is(client.stop, "end", "1");
    is(client.stop, "insn", "0");
    client_finish();
}
END_TEST

START_TEST(the_write_before_is_found)
{
    client_start(program_count);
    ask("break at=*count+6 if=\"%r2 == 10\" temporary=1");
    go("continue");
    ask("watch counter");
    evals("counter", "9");
    go("reverse-continue");
    is(client.stop, "reason", "watchpoint");
    is(client.stop, "insn", "3");              /* before the store of 9 */
    evals("counter", "8");
    evals("%r2", "9");
    go("reverse-continue");
    evals("counter", "7");
    go("continue");
    is(client.stop, "new", "8");
    client_finish();
}
END_TEST

START_TEST(lines_are_taken_back)
{
    client_start(program_work);
    ask("break at=app.cu:15 block=1 warp=1 temporary=1");
    go("continue");
    is(client.stop, "line", "15");
    go("reverse-step");
    is(client.stop, "line", "14");
    is(client.stop, "warp", "1");
    go("reverse-next");
    is(client.stop, "line", "13");
    is(client.stop, "insn", "9");
    go("reverse-next");                        /* over the call */
    is(client.stop, "line", "12");
    is(client.stop, "insn", "6");
    go("next");
    is(client.stop, "line", "13");
    go("reverse-step");                        /* into it, from behind */
    is(client.stop, "function", "twice");
    is(client.stop, "line", "4");
    go("reverse-step");
    is(client.stop, "line", "3");
    client_finish();
}
END_TEST

START_TEST(what_was_stepped_and_set_is_done_again)
{
    client_start(program_work);
    ask("break at=*work+6 temporary=1");
    go("continue");
    ask("focus block=1 warp=1 lane=0");        /* another block, out of its turn */
    go("stepi 3");
    is(client.stop, "insn", "3");
    evals("%r2", "1");
    evals("%r2 = 1000", "1000");
    go("stepi 3");
    is(client.stop, "insn", "6");
    evals("%r5", "64032");
    go("reverse-stepi");
    is(client.stop, "insn", "5");
    is(client.stop, "block", "1,0,0");
    evals("%r2", "1000");
    go("reverse-stepi 3");
    is(client.stop, "insn", "2");
    go("stepi 4");
    is(client.stop, "insn", "6");
    evals("%r5", "96");                        /* what was set later is gone: the kernel goes its own way again */
    go("reverse-continue");
    is(client.stop, "end", "1");
    client_finish();
}
END_TEST

START_TEST(the_way_to_an_error_is_seen)
{
    client_start(program_stray);
    go("continue");
    is(client.stop, "reason", "error");
    is(client.stop, "insn", "2");
    go("reverse-stepi");
    is(client.stop, "insn", "1");
    evals("(long)%rd1 == 0x1234560", "1");
    go("stepi");
    is(client.stop, "insn", "2");
    go("stepi");
    is(client.stop, "reason", "error");
    client_finish();
}
END_TEST

static void *program_count_long(void *unused)
{
    uint32_t n = 600000;                      /* several moments are kept on the way */
    (void)unused;
    program_begin();
    ck_assert_int_eq(program_launch("count", 1, 1, (void *[]){&n}), ST_OK);
    return NULL;
}

START_TEST(long_kernels_go_back_from_near)
{
    client_start(program_count_long);
    ask("break at=*count+7 temporary=1");
    go("continue");
    evals("counter", "599999");
    go("reverse-stepi 5");
    is(client.stop, "insn", "6");
    evals("counter", "599998");
    evals("%r2", "599999");
    go("reverse-stepi 4000");                  /* beyond the moments that the way here has left */
    is(client.stop, "insn", "6");
    evals("%r2", "598999");
    evals("counter = 7", "7");
    go("stepi 2");
    go("reverse-stepi 400002");                /* what was set counts as one */
    is(client.stop, "insn", "3");
    evals("%r2", "498999");
    evals("counter", "498998");
    ask("break at=*count+4 if=\"%r2 == 100000\"");
    go("reverse-continue");                    /* through several stretches */
    is(client.stop, "reason", "breakpoint");
    evals("counter", "100000");
    go("reverse-continue");
    is(client.stop, "end", "1");
    go("continue");
    evals("counter", "100000");
    ask("delete");
    ask("break at=*count+7 temporary=1");
    go("continue");
    evals("counter", "599999");
    client_finish();
}
END_TEST

/* Three times: four lanes print a line. */
static const char printing_ptx[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);\n"
    ".global .align 1 .b8 text[4] = {104, 105, 10, 0};\n"
    ".visible .entry printing()\n{\n"
    "  .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<3>;\n"
    "  mov.u32 %r1, 0;\n"
    "  mov.u64 %rd1, text;\n"
    "  cvta.global.u64 %rd2, %rd1;\n"
    "loop:\n"
    "  {\n  .param .b64 f; .param .b64 a; .param .b32 r;\n"
    "  st.param.b64 [f], %rd2;\n"
    "  st.param.b64 [a], 0;\n"
    "  call (r), vprintf, (f, a);\n  }\n"
    "  add.s32 %r1, %r1, 1;\n"                                                                                  /* insn 6 */
    "  setp.lt.u32 %p1, %r1, 3;\n"
    "  @%p1 bra loop;\n"
    "  ret;\n}\n";

static int printed_to = -1;

static void *program_printing(void *unused)
{
    struct rt_module *m;
    struct error err;
    char path[] = "/tmp/heddle-printed-XXXXXX";
    (void)unused;
    program_begin();
    ck_assert_msg(rt_module_load(&m, context, printing_ptx, 0, "printing.ptx", &err) == ST_OK, "%s", err.text);
    module = m;
    printed_to = mkstemp(path);
    ck_assert_int_ge(printed_to, 0);
    unlink(path);
    fflush(stdout);
    int before = dup(STDOUT_FILENO);
    dup2(printed_to, STDOUT_FILENO);
    ck_assert_int_eq(program_launch("printing", 1, 4, (void *[]){NULL}), ST_OK);
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    return NULL;
}

START_TEST(texts_are_printed_once)
{
    client_start(program_printing);
    ask("break at=*printing+6");
    go("continue");
    go("continue");
    go("reverse-continue");
    evals("%r1", "0");
    go("reverse-stepi 2");
    go("continue");
    go("continue");
    evals("%r1", "1");
    client_finish();
    ck_assert_int_eq(lseek(printed_to, 0, SEEK_END), 3 * 4 * 3);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        instructions_are_taken_back, the_breakpoint_before_is_found, the_write_before_is_found, lines_are_taken_back,
        what_was_stepped_and_set_is_done_again, the_way_to_an_error_is_seen, long_kernels_go_back_from_near,
        texts_are_printed_once};
    return client_tests("runtime_debug_reverse", tests, sizeof tests / sizeof *tests);
}
