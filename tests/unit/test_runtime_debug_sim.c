/* The debugger's server on the simulated GPU: what stops, what steps, cycles. */
#include "tests/unit/debug_kernels.h"

static void sim_start(void *(*program)(void *))
{
    setenv("HEDDLE_OPTS", "--mode=sim --gpu=v100 --stats=off --quiet", 1);
    client_start(program);
    has(client.events, "mode=sim");
}

START_TEST(warps_stop_and_step)
{
    sim_start(program_work);
    ask("break at=app.cu:13 block=1 warp=1");
    go("continue");
    is(client.stop, "reason", "breakpoint");
    is(client.stop, "block", "1,0,0");
    is(client.stop, "warp", "1");
    is(client.stop, "insn", "9");
    ck_assert_int_gt(atol(key(client.stop, "cycle")), 0);
    evals("%r6", "193");                       /* 2 * 96 + 1 */
    long cycle = atol(key(client.stop, "cycle"));
    go("stepi");
    is(client.stop, "reason", "step");
    is(client.stop, "insn", "10");
    ck_assert_int_gt(atol(key(client.stop, "cycle")), cycle);
    go("next");
    is(client.stop, "line", "14");
    go("next");
    is(client.stop, "line", "15");
    has(ask("info sm"), "scheduler 0");
    has(ask("info blocks"), "block=1,0,0 state=running");
    ck_assert_str_eq(eval("$cycle"), key(client.stop, "cycle"));
    cycle = atol(key(client.stop, "cycle"));
    go("reverse-stepi");
    is(client.stop, "reason", "reverse");
    is(client.stop, "line", "14");
    ck_assert_int_lt(atol(key(client.stop, "cycle")), cycle);
    go("stepi all");
    is(client.stop, "reason", "step");
    is(client.stop, "warp", "1");
    client_finish();
}
END_TEST

START_TEST(all_warps_of_a_block_step)
{
    char before[2][16];
    sim_start(program_work);
    ask("break at=work block=1 temporary=1");
    go("continue");
    for (int i = 0; i < 2; i++) {
        char focus[32];
        snprintf(focus, sizeof focus, "focus warp=%d", i);
        snprintf(before[i], sizeof before[i], "%s", key(ask(focus), "insn"));
    }
    go("stepi all 3");
    for (int i = 0; i < 2; i++) {
        char focus[32];
        snprintf(focus, sizeof focus, "focus warp=%d", i);
        ck_assert_int_ge(atoi(key(ask(focus), "insn")), atoi(before[i]) + 3);
    }
    client_finish();
}
END_TEST

START_TEST(cycles_are_stepped)
{
    sim_start(program_count);
    ask("break at=entry");
    go("continue");
    is(client.stop, "insn", "0");
    long first = atol(key(client.stop, "cycle"));
    go("cycle 40");
    long now = atol(key(client.stop, "now"));
    ck_assert_msg(now >= first + 40, "%s", client.stop);
    ck_assert_int_lt(now, first + 200);
    is(client.stop, "kernel", "count");
    char request[64];
    snprintf(request, sizeof request, "break at=cycle:%ld", now + 50);
    ask(request);
    go("continue");
    is(client.stop, "what", "cycle");
    ck_assert_int_ge(atol(key(client.stop, "now")), now + 50);
    client_finish();
}
END_TEST

START_TEST(errors_stop)
{
    sim_start(program_stray);
    go("continue");
    is(client.stop, "reason", "error");
    is(client.stop, "insn", "2");
    is(client.stop, "name", "CUDA_ERROR_ILLEGAL_ADDRESS");
    evals("(long)%rd1 == 0x1234560", "1");
    client_finish();
}
END_TEST

START_TEST(changes_are_watched)
{
    sim_start(program_count);
    ask("break at=count temporary=1");
    go("continue");
    ask("watch counter");
    go("continue");
    is(client.stop, "reason", "watchpoint");
    is(client.stop, "new", "0");
    go("continue");
    is(client.stop, "new", "1");
    client_finish();
}
END_TEST

START_TEST(a_kernel_is_interrupted_and_killed)
{
    sim_start(program_forever);
    ask("continue");
    wait_for_event("* launch");
    ask("interrupt");
    wait_for_event("* stopped");
    is(client.stop, "reason", "interrupt");
    is(client.stop, "kernel", "forever");
    ask("kill");
    wait_for_event("* finished");
    void *result;
    ck_assert_int_eq(pthread_join(client.program, &result), 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        warps_stop_and_step, all_warps_of_a_block_step, cycles_are_stepped, errors_stop, changes_are_watched, a_kernel_is_interrupted_and_killed};
    return client_tests("runtime_debug_sim", tests, sizeof tests / sizeof *tests);
}
