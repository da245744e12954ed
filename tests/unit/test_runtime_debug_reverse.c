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

int main(void)
{
    const TTest *const tests[] = {
        instructions_are_taken_back, the_breakpoint_before_is_found, the_write_before_is_found, lines_are_taken_back,
        what_was_stepped_and_set_is_done_again, the_way_to_an_error_is_seen, long_kernels_go_back_from_near};
    return client_tests("runtime_debug_reverse", tests, sizeof tests / sizeof *tests);
}
