/* The debugger's server through its protocol: stops, steps, breakpoints, errors. Looking and going back have files of their own. */
#include "tests/unit/debug_kernels.h"

START_TEST(a_breakpoint_on_a_line_stops_each_warp)
{
    client_start(program_work);
    const char *b = ask("break at=app.cu:13");
    is(b, "breakpoint", "1");
    is(b, "pending", "1");
    go("continue");
    has(client.events, "* module name=app.ptx kernels=");
    has(client.events, "* resolved breakpoint=1 places=1");
    has(client.events, "* launch launch=1 kernel=_Z4workPij");
    is(client.stop, "reason", "breakpoint");
    is(client.stop, "breakpoint", "1");
    is(client.stop, "hits", "1");
    is(client.stop, "block", "0,0,0");
    is(client.stop, "thread", "0,0,0");
    is(client.stop, "mask", "0xffffffff");
    is(client.stop, "insn", "9");
    is(client.stop, "line", "13");
    is(client.stop, "file", "src/app.cu");
    is(client.stop, "text", "cvt.rn.f32.s32 %f1, %r6;");
    evals("%r6", "1");
    evals("%r5", "0");
    go("continue");
    is(client.stop, "warp", "1");
    is(client.stop, "thread", "32,0,0");
    evals("%r6", "65");
    go("continue");
    is(client.stop, "block", "1,0,0");
    evals("%r5", "64");
    go("continue");
    is(client.stop, "hits", "4");
    client_finish();
}
END_TEST

START_TEST(instructions_are_stepped)
{
    client_start(program_work);
    ask("break at=work");
    go("continue");
    is(client.stop, "insn", "0");
    is(client.stop, "what", "function");
    for (int i = 1; i < 6; i++) {
        char text[8];
        snprintf(text, sizeof text, "%d", i);
        go("stepi");
        is(client.stop, "reason", "step");
        is(client.stop, "insn", text);
    }
    go("stepi 2");
    is(client.stop, "insn", "7");
    go("stepi");                               /* into the call */
    is(client.stop, "function", "twice");
    is(client.stop, "insn", "0");
    evals("$lane", "0");
    client_finish();
}
END_TEST

START_TEST(lines_are_stepped)
{
    client_start(program_work);
    ask("break at=work temporary=1");
    go("continue");
    is(client.stop, "temporary", "1");
    go("step");
    is(client.stop, "line", "11");
    go("step");
    is(client.stop, "line", "12");
    go("step");                                /* into twice */
    is(client.stop, "function", "twice");
    is(client.stop, "line", "3");
    const char *bt = ask("backtrace");
    has(bt, "frame=0 function=twice");
    has(bt, "frame=1 function=_Z4workPij");
    has(bt, "line=12");
    go("step");
    is(client.stop, "line", "4");
    go("step");                                /* back, and on to the next line of the kernel */
    is(client.stop, "function", "_Z4workPij");
    is(client.stop, "line", "13");
    go("next");
    is(client.stop, "line", "14");
    go("next");                                /* over the barrier: the other warp goes there meanwhile */
    is(client.stop, "line", "15");
    go("next");                                /* lane 0 is even: it skips line 16, which the odd lanes run first */
    is(client.stop, "line", "17");
    is(client.stop, "lane", "0");
    client_finish();
}
END_TEST

START_TEST(calls_are_passed_and_finished)
{
    client_start(program_work);
    ask("break at=app.cu:12 temporary=1");
    go("continue");
    go("next");                                /* over twice */
    is(client.stop, "function", "_Z4workPij");
    is(client.stop, "line", "13");
    ask("break at=twice temporary=1 block=1");
    go("continue");
    is(client.stop, "block", "1,0,0");
    is(client.stop, "function", "twice");
    go("finish");
    is(client.stop, "function", "_Z4workPij");
    is(client.stop, "insn", "8");
    is(client.stop, "returned", "129");
    go("nexti");
    is(client.stop, "insn", "9");
    evals("%r6", "129");
    has(refused("finish"), "called by nobody");
    go("advance app.cu:18");
    is(client.stop, "line", "18");
    go("until");
    is(client.stop, "line", "19");
    client_finish();
}
END_TEST

START_TEST(a_round_steps_all_warps)
{
    client_start(program_work);
    ask("break at=work temporary=1");
    go("continue");
    go("stepi all");
    is(client.stop, "insn", "1");
    go("stepi all 2");
    is(client.stop, "insn", "3");
    const char *w = ask("info warps");
    has(w, "warp=0 lane=0");
    has(w, "warp=1 lane=0");
    ck_assert_ptr_nonnull(strstr(strstr(w, "insn=3") + 1, "insn=3"));          /* both */
    client_finish();
}
END_TEST

START_TEST(conditions_filters_and_counts)
{
    client_start(program_work);
    ask("break at=app.cu:13 if=\"%r5 == 70\"");
    go("continue");
    is(client.stop, "block", "1,0,0");
    is(client.stop, "thread", "6,0,0");
    is(client.stop, "lane", "6");
    ask("condition 1");
    ask("delete");
    ask("break at=app.cu:18 thread=33 block=1 ignore=0");
    go("continue");
    is(client.stop, "thread", "33,0,0");
    client_finish();
}
END_TEST

START_TEST(hits_are_ignored_and_counted)
{
    client_start(program_count);
    ask("break at=*count+4 ignore=3");
    go("continue");
    is(client.stop, "hits", "4");
    evals("%r2", "3");
    ask("ignore 1 10");
    go("continue");
    is(client.stop, "hits", "15");
    evals("%r2", "14");
    ask("condition 1 \"$hits > 17\"");
    go("continue");
    evals("%r2", "17");
    is(client.stop, "hits", "16");             /* those that the condition held for */
    ask("disable 1");
    ask("break at=launch:2");
    go("continue");
    has(client.events, "* finished launch=1 kernel=count");
    is(client.stop, "what", "launch");
    is(client.stop, "launch", "2");
    is(client.stop, "insn", "0");
    ask("enable 1");
    ask("condition 1 \"%nothing == 1\"");
    go("continue");
    has(key(client.stop, "condition_error"), "no register %nothing");
    client_finish();
}
END_TEST

START_TEST(kernels_stop_at_entry)
{
    client_start(program_count);
    ask("break at=entry");
    for (int i = 1; i <= 2; i++) {
        char text[8];
        snprintf(text, sizeof text, "%d", i);
        go("continue");
        is(client.stop, "what", "entry");
        is(client.stop, "launch", text);
        is(client.stop, "insn", "0");
    }
    client_finish();
}
END_TEST

START_TEST(divergence_and_barriers_stop)
{
    client_start(program_work);
    ask("break at=divergence");
    go("continue");
    is(client.stop, "what", "divergence");
    is(client.stop, "insn", "17");
    is(client.stop, "taken", "0x55555555");
    go("stepi");
    is(client.stop, "insn", "18");
    is(client.stop, "mask", "0xaaaaaaaa");
    is(client.stop, "lane", "1");              /* the focus goes with the lanes that run */
    const char *w = ask("info warps");
    has(w, "state=join");
    ask("delete");
    ask("break at=barrier block=1");
    go("continue");
    is(client.stop, "what", "barrier");
    is(client.stop, "insn", "14");
    go("stepi");
    is(client.stop, "state", "barrier");
    has(ask("info barriers"), "barrier=0 arrived=32 need=64 warps=0");
    client_finish();
}
END_TEST

START_TEST(errors_stop_where_they_happen)
{
    client_start(program_stray);
    go("continue");
    is(client.stop, "reason", "error");
    is(client.stop, "name", "CUDA_ERROR_ILLEGAL_ADDRESS");
    is(client.stop, "insn", "2");
    is(client.stop, "line", "41");
    is(client.stop, "kernel", "stray");
    has(key(client.stop, "report"), "0x1234560");
    evals("(long)%rd1 == 0x1234560", "1");
    has(refused("stepi"), "has failed");
    client_finish();
}
END_TEST

START_TEST(a_deadlock_stops)
{
    client_start(program_stuck);
    go("continue");
    is(client.stop, "reason", "error");
    has(key(client.stop, "report"), "deadlock");
    is(client.stop, "state", "barrier");
    has(ask("info barriers"), "barrier=1 arrived=64 need=96");
    client_finish();
}
END_TEST

START_TEST(blocks_that_wait_for_each_other_all_run)
{
    client_start(program_relay);
    ask("break at=app.cu:71");
    go("continue");                            /* the last block has the first turn */
    is(client.stop, "block", "149,0,0");
    go("continue");
    is(client.stop, "block", "148,0,0");
    go("next");
    ask("delete");
    ask("break at=app.cu:71 block=3");
    go("continue");
    is(client.stop, "block", "3,0,0");
    evals("%r4", "146");
    ask("focus block=1");
    evals("%r3", "148");
    client_finish();
}
END_TEST

START_TEST(blocks_of_a_cluster_are_told_apart)
{
    client_start(program_pair);
    ask("break at=*pair+6");
    go("continue");
    is(client.stop, "block", "1,0,0");         /* it came last to the cluster's barrier */
    evals("mine", "41");
    const char *t = ask("info blocks");
    has(t, "block=1,0,0 state=");
    has(t, "block=3,0,0 state=");
    ask("focus block=0");
    evals("mine", "40");
    evals("%r2", "40");
    go("continue");
    is(client.stop, "block", "0,0,0");
    go("reverse-stepi 2");
    is(client.stop, "block", "0,0,0");
    is(client.stop, "insn", "4");
    client_finish();
}
END_TEST

START_TEST(a_running_kernel_is_interrupted)
{
    client_start(program_forever);
    ask("continue");
    wait_for_event("* launch");
    has(refused("eval 1"), "the program runs");
    ask("interrupt");
    wait_for_event("* stopped");
    is(client.stop, "reason", "interrupt");
    is(client.stop, "kernel", "forever");
    ask("break at=*forever+1");                /* while it stands, and then one while it runs */
    go("continue");
    is(client.stop, "insn", "1");
    ask("delete");
    ask("continue");
    ask("break at=*forever+2 temporary=1");
    wait_for_event("* stopped");
    is(client.stop, "insn", "2");
    ask("eval \"*(int *)%rd1 = 1\"");
    client_finish();
}
END_TEST

START_TEST(a_kernel_is_killed)
{
    client_start(program_forever);
    ask("break at=forever");
    go("continue");
    ask("kill");
    wait_for_event("* finished");
    void *result;
    ck_assert_int_eq(pthread_join(client.program, &result), 0);
}
END_TEST

START_TEST(a_lost_interface_lets_the_program_go_on)
{
    client_start(program_work);
    ask("break at=app.cu:13");
    go("continue");
    close(client.fd);
    void *result;
    ck_assert_int_eq(pthread_join(client.program, &result), 0);
}
END_TEST

START_TEST(detaching_lets_it_go_on)
{
    client_start(program_work);
    ask("break at=app.cu:13");
    go("continue");
    ask("detach");
    void *result;
    ck_assert_int_eq(pthread_join(client.program, &result), 0);
}
END_TEST

START_TEST(bad_requests_give_one_line)
{
    static const char *const bad[] = {
        "nonsense", "break at=", "break at=nowhere.cu:x1y", "break at=*work+", "break at=*work+99999", "break at=*work+9999999999999999999999", "break at=app.cu:0xffffffffffff",
        "break at=work frob=1", "break at=work warp=99", "break at=work block=a", "break at=work thread=1,2,3,4", "break at=work if=\"(\"", "break at=work if=\"1 +\"", "break at=cycle:5",
        "break at=work if=\"((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1\"", "break \"open",
        "delete 77", "delete x", "enable 5", "condition 5 1", "condition", "ignore 1 x", "ignore", "watch", "watch 5", "watch %r1", "watch \"*(int*)0x10\"", "watch nothing", "watch counter mode=sometimes",
        "watch counter bytes=99999999999", "eval", "eval \"\"", "eval \"1 / 0\"", "eval \"%r99\"", "eval \"nothing_here\"", "eval \"1 +\"", "eval \"*(int *)0x10\"", "eval \"@nothing\"",
        "eval \"1 2\"", "eval \"(1\"", "eval 1 format=q", "eval \"99999999999999999999999\"", "eval \"'a\"", "eval \"1 = 2\"", "eval \"%tid.q\"", "read at=0 bytes=4", "read at=counter bytes=0",
        "read at=counter bytes=99999", "read at=counter bytes=-1", "read", "values at=counter size=3", "values at=counter count=0", "write at=counter", "write at=counter hex=1", "write at=counter hex=zz", "write at=0 hex=00",
        "focus block=9", "focus block=x", "focus thread=64", "focus warp=2", "focus lane=32", "focus frame=1", "focus launch=9", "info", "info nothing", "info registers %r99", "info sm 0", "disassemble at=nothing",
        "stepi 0", "stepi x", "step -1", "advance", "advance nowhere", "advance entry", "finish", "cycle 1", "ptx from=x", "checkpoint", "checkpoint /no/such/folder/x", "until nowhere:1", "stepi 99999999999999999999999999", "info line nothing:1"};
    client_start(program_work);
    refused("stepi");
    refused("info warps");
    ask("break at=work");
    go("continue");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        refused(bad[i]);
        ck_assert_msg(*client.line && !strchr(client.line, '\n'), "%s", bad[i]);
        is(ask("where"), "insn", "0");
    }
    /* Lines that are no requests at all are answered with number 0. */
    static const char *const worse[] = {"", "x", "12", "99999999999999999999 info", "-1 info", " ", "5", "\x01\x02"};
    for (size_t i = 0; i < sizeof worse / sizeof *worse; i++) {
        char text[128];
        int n = snprintf(text, sizeof text, "%s\n", worse[i]);
        ck_assert_int_eq(send(client.fd, text, (size_t)n, 0), n);
        has(client_line(), " error ");
    }
    static char longest[70000];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 2] = '\n';
    ck_assert_int_eq(send(client.fd, longest, sizeof longest - 1, 0), (ssize_t)sizeof longest - 1);
    has(client_line(), " error ");
    evals("1 + 1", "2");
    client_finish();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_breakpoint_on_a_line_stops_each_warp, instructions_are_stepped, lines_are_stepped, calls_are_passed_and_finished, a_round_steps_all_warps,
        conditions_filters_and_counts, hits_are_ignored_and_counted, kernels_stop_at_entry, divergence_and_barriers_stop,
        errors_stop_where_they_happen, a_deadlock_stops, blocks_that_wait_for_each_other_all_run, blocks_of_a_cluster_are_told_apart,
        a_running_kernel_is_interrupted, a_kernel_is_killed, a_lost_interface_lets_the_program_go_on, detaching_lets_it_go_on,
        bad_requests_give_one_line};
    return client_tests("runtime_debug", tests, sizeof tests / sizeof *tests);
}
