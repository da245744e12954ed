/* The debugger's server: expressions, memory, tables, watchpoints. */
#include "emu/emu.h"
#include "tests/unit/debug_kernels.h"

static void stop_in_work(void)
{
    client_start(program_work);
    ask("break at=*work+14 temporary=1");
    go("continue");
    is(client.stop, "insn", "14");
}

START_TEST(expressions_are_c)
{
    client_start(program_work);
    static const struct { const char *text, *value; } all[] = {
        {"1 + 2 * 3", "7"}, {"(1 + 2) * 3", "9"}, {"7 / 2", "3"}, {"-7 / 2", "-3"}, {"-7 % 3", "-1"}, {"7.0 / 2", "3.5"}, {"1.5f + 1", "2.5"}, {"1 << 4 | 1", "17"}, {"5 & 6 ^ 1", "5"},
        {"~0", "-1"}, {"!3", "0"}, {"3 > 2 && 2 > 1", "1"}, {"0 || 0", "0"}, {"0 && 1 / 0", "0"}, {"1 ? 2 : 3", "2"}, {"0 ? 2 : 0 ? 3 : 4", "4"}, {"0xffffffff", "4294967295"}, {"4000000000u + 500000000u", "205032704"},
        {"2147483647 + 1", "-2147483648"}, {"1l << 40", "1099511627776"}, {"(char)65", "65 'A'"}, {"'a' + 1", "98"}, {"(unsigned char)300", "44"}, {"(int)3.9", "3"}, {"(float)1 / 3", "0.333333343"},
        {"(double)1 / 3", "0.33333333333333331"}, {"-1 < 1u", "0"}, {"(short)40000", "-25536"}, {"sizeof(float4)", "16"}, {"1 == 1.0", "1"}, {"(long)1 << 63 >> 63", "-1"}, {"1u << 31", "2147483648"},
        {"$_ + 1", "2147483649"}, {"sizeof(int *)", "8"}, {"(half)1.5", "1.5"}, {"1e3", "1000"}, {".5", "0.5"}, {"(-9223372036854775807l - 1) / -1 < 0", "1"}, {"1 << 200", "0"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *v = eval(all[i].text);
        ck_assert_msg(strcmp(v, all[i].value) == 0, "%s is %s, not %s", all[i].text, v, all[i].value);
    }
    ck_assert_str_eq(eval_as("255", "x"), "0xff");
    ck_assert_str_eq(eval_as("8", "o"), "010");
    ck_assert_str_eq(eval_as("5", "t"), "101");
    ck_assert_str_eq(eval_as("(int)-1", "u"), "4294967295");
    ck_assert_str_eq(eval_as("0x3f800000", "f"), "1");
    ck_assert_str_eq(eval_as("65", "c"), "65 'A'");
    client_finish();
}
END_TEST

START_TEST(names_stand_for_what_a_thread_sees)
{
    stop_in_work();
    evals("%r5", "0");
    evals("%r6 + 1", "2");
    evals("%f1", "1");
    is(ask("eval %f1"), "type", "float");
    is(ask("eval %r6"), "type", "int");
    is(ask("eval %r6"), "hex", "01000000");
    evals("%p1", "0");
    evals("%tid.x", "0");
    evals("%tid", "{x = 0, y = 0, z = 0}");
    evals("threadIdx.x + blockIdx.x * blockDim.x", "0");
    evals("%ntid.x", "64");
    evals("gridDim.x", "2");
    evals("%laneid", "0");
    evals("warpSize", "32");
    evals("counter", "5");
    evals("factor * 2", "6");
    evals("grid_of", "{1, 2, 3, 4}");
    evals("grid_of[2]", "3");
    evals("*(grid_of + 1)", "2");
    evals("*(float4 *)grid_of", "{x = 1, y = 2, z = 3, w = 4}");
    evals("(*(float4 *)grid_of).w", "4");
    evals("&grid_of[1] - &grid_of[0]", "1");
    evals("@param1", "100");
    is(ask("eval @param1"), "type", "unsigned int");
    is(ask("eval @param0"), "type", "int *");
    evals("_Z4workPij_param_1", "100");
    evals("*@param0", "0");
    evals("buf[0]", "1");
    evals("buf[31]", "63");
    evals("buf[32]", "0");
    evals("((int *)@shared)[3]", "7");
    evals("@shared[4]", "3");
    evals("*(int *)&buf[2]", "5");
    is(ask("eval buf"), "type", "int [128]");
    char code[32];
    snprintf(code, sizeof code, "0x%llx", (unsigned long long)EMU_CODE_WINDOW);         /* function 0; elsewhere under TSan */
    evals("twice", code);
    evals("$launch", "1");
    ask("focus thread=5");
    evals("%r5", "5");
    evals("threadIdx.x", "5");
    ask("focus block=1");
    is(ask("where"), "block", "1,0,0");
    evals("blockIdx.x", "1");
    evals("buf[0]", "0");
    client_finish();
}
END_TEST

START_TEST(values_are_set)
{
    stop_in_work();
    evals("%r5 = 77", "77");
    evals("%r5", "77");
    evals("%r5 += 3", "80");
    evals("%f1 = 2.5", "2.5");
    evals("%f1", "2.5");
    evals("%p1 = 1", "1");
    evals("%p1", "1");
    evals("buf[1] = -4", "-4");
    evals("buf[1]", "-4");
    evals("counter = counter * 2", "10");
    evals("grid_of[0] = 0.5", "0.5");
    evals("grid_of[0]", "0.5");
    evals("*(short *)&counter = 7", "7");
    ask("write at=grid_of hex=0000803f");
    evals("grid_of[0]", "1");
    is(ask("read at=&counter bytes=4"), "hex", "07000000");
    is(ask("read at=4 space=shared bytes=4"), "hex", "fcffffff");
    /* %r5 is the index: the program would see it. Put it back; line 17 reads it. */
    evals("%r5 = 0", "0");
    evals("buf[1] = 3", "3");
    client_finish();
}
END_TEST

START_TEST(memory_is_shown)
{
    stop_in_work();
    const char *v = ask("values at=grid_of count=4 size=4 format=x");
    has(v, "values=\"0x3f800000 0x40000000 0x40400000 0x40800000\"");
    has(ask("values at=grid_of count=4 size=4 format=f"), "values=\"1 2 3 4\"");
    has(ask("values at=grid_of count=2 size=8"), "values=\"0x400000003f800000 0x4080000040400000\"") ;
    has(ask("values at=&counter count=2 size=1 format=d"), "values=\"5 0\"");
    client_finish();
}
END_TEST

START_TEST(tables_tell)
{
    stop_in_work();
    const char *t = ask("info kernels");
    is(t, "launch", "1");
    is(t, "grid", "2,1,1");
    is(t, "blocks", "2");
    is(t, "resident", "2");
    t = ask("info blocks");
    has(t, "block=0,0,0 state=running");
    has(t, "block=1,0,0 state=running");
    t = ask("info warps");
    has(t, "warp=0 lane=0 mask=0xffffffff");
    has(t, "focus=1");
    has(t, "warp=1 lane=0 mask=0xffffffff exited=0x0 function=_Z4workPij");
    t = ask("info lanes");
    has(t, "lane=31 thread=31,0,0 state=running");
    t = ask("info registers %r6 %rd1");
    has(t, "name=%r6 type=b32 value=1 hex=0x1");
    has(t, "name=%rd1 type=b64");
    has(ask("info registers %r5 all=1"), "lanes=\"0 1 2 3 4 5 ");
    t = ask("info locals");
    has(t, "name=@param0 space=param type=\"int *\"");
    has(t, "name=buf space=shared type=\"int [128]\"");
    has(ask("info functions twice"), "name=twice readable=twice kind=device");
    has(ask("info functions"), "name=_Z4workPij");
    has(ask("info devices"), "device=0");
    has(ask("info allocations"), "what=\"cudaMalloc #");
    has(ask("info variables"), "name=counter symbol=counter space=global bytes=4");
    has(ask("info modules"), "name=app.ptx kernels=6");
    has(ask("info streams"), "head=launch");
    has(ask("info line app.cu:13"), "file=src/app.cu line=13 function=_Z4workPij first=9 last=13");
    is(ask("info line"), "line", "14");
    t = ask("disassemble");
    has(t, "insn=14 ");
    has(t, "current=1");
    has(t, "text=\"call (res), twice, (arg);\"");
    t = ask("disassemble at=twice count=1");
    has(t, "text=\"ld.param.u32 %r1, [x];\"");
    has(ask("lines file=app.cu"), "file=src/app.cu line=18 function=_Z4workPij insn=22");
    has(ask("sources"), "file=src/app.cu");
    has(ask("ptx count=3"), "current=1");
    has(ask("complete wo"), "word=work kind=kernel");
    has(ask("complete %r1"), "word=%r10 kind=register");
    has(ask("complete %tid"), "word=%tid kind=sreg");
    ask("break at=app.cu:18 if=\"%r5 > 2\"");
    t = ask("info breakpoints");
    has(t, "breakpoint=2 at=app.cu:18 what=line enabled=1 hits=0 condition=\"%r5 > 2\" places=1");
    client_finish();
}
END_TEST

START_TEST(frames_have_their_own_registers)
{
    client_start(program_work);
    ask("break at=*twice+2 temporary=1");
    go("continue");
    ask("focus thread=3");
    evals("%r1", "3");
    evals("@param0", "3");
    evals("x", "3");
    ask("focus frame=1");
    evals("%r5", "3");
    evals("%r3", "64");
    ask("focus frame=0");
    evals("%r2", "6");
    client_finish();
}
END_TEST

START_TEST(watchpoints_see_kernels)
{
    client_start(program_count);
    ask("break at=count temporary=1");
    go("continue");
    const char *w = ask("watch counter");
    is(w, "mode", "change");
    is(w, "bytes", "4");
    is(w, "space", "global");
    go("continue");
    is(client.stop, "reason", "watchpoint");
    is(client.stop, "old", "5");
    is(client.stop, "new", "0");
    is(client.stop, "insn", "3");
    is(client.stop, "next_insn", "4");
    is(client.stop, "thread", "0,0,0");
    go("continue");
    is(client.stop, "old", "0");
    is(client.stop, "new", "1");
    ask("condition 2 \"%r2 == 7\"");
    go("continue");
    is(client.stop, "new", "7");
    go("stepi 3");                             /* a step over nothing that is watched */
    is(client.stop, "reason", "step");
    go("stepi 5");
    is(client.stop, "reason", "step");
    ask("condition 2");
    go("continue");
    is(client.stop, "new", "10");
    ask("delete");
    ask("watch counter mode=write ignore=2");
    go("continue");
    is(client.stop, "new", "13");
    client_finish();
}
END_TEST

START_TEST(shared_memory_is_watched)
{
    client_start(program_work);
    ask("break at=work block=1 warp=0 temporary=1");
    go("continue");
    ask("watch buf[34]");
    go("continue");
    is(client.stop, "reason", "watchpoint");
    is(client.stop, "block", "1,0,0");
    is(client.stop, "thread", "34,0,0");
    is(client.stop, "new", "197");             /* 2 * (64 + 34) + 1 */
    is(client.stop, "insn", "13");
    ask("delete");
    ask("watch buf[33] mode=read");
    go("continue");
    is(client.stop, "access", "read");
    is(client.stop, "thread", "33,0,0");
    is(client.stop, "insn", "18");
    client_finish();
}
END_TEST

START_TEST(host_copies_are_watched)
{
    client_start(program_work);
    ask("break at=work temporary=1");
    go("continue");
    ask("watch \"*(int *)@param0\"");
    ask("watch \"*(int *)(@param0 + 99)\" mode=access");
    go("continue");
    is(client.stop, "reason", "watchpoint");
    is(client.stop, "thread", "0,0,0");
    is(client.stop, "new", "1");
    go("continue");
    is(client.stop, "breakpoint", "3");
    is(client.stop, "block", "1,0,0");
    is(client.stop, "thread", "35,0,0");
    client_finish();
}
END_TEST

static void *program_copies(void *unused)
{
    (void)unused;
    program_begin();
    uint32_t n = 3, value[2] = {41, 42};
    uint64_t at = program_alloc(8);
    ck_assert_int_eq(program_launch("count", 1, 1, (void *[]){&n}), ST_OK);
    ck_assert_int_eq(rt_memcpy_linear(rt_stream_legacy(context), at, (uint64_t)(uintptr_t)value, 8, RT_SYNC), ST_OK);
    ck_assert_int_eq(rt_memset(rt_stream_legacy(context), at, 0, 0, 1, 8, 1, RT_SYNC), ST_OK);
    return NULL;
}

START_TEST(the_hosts_writes_stop)
{
    client_start(program_copies);
    ask("break at=count temporary=1");
    go("continue");
    char request[128];
    snprintf(request, sizeof request, "watch \"*(int *)(%s + 4)\"", key(strstr(ask("info allocations"), "cudaMalloc") ? client.answer : "", "address"));
    /* The newest allocation comes first: it is the program's. */
    ask(request);
    go("continue");
    is(client.stop, "reason", "watchpoint");
    is(client.stop, "by", "host");
    is(client.stop, "new", "42");
    ck_assert_str_eq(ask("where"), "");
    refused("stepi");
    go("continue");
    is(client.stop, "old", "42");
    is(client.stop, "new", "0");
    client_finish();
}
END_TEST

static void *program_stores(void *unused)
{
    (void)unused;
    program_begin();
    uint32_t n = 1;
    uint64_t at;
    ck_assert_int_eq(rt_alloc_managed(context, 4, 1, &at, NULL), ST_OK);
    ck_assert_int_eq(program_launch("count", 1, 1, (void *[]){&n}), ST_OK);
    *(volatile uint32_t *)(uintptr_t)at = 42;
    ck_assert_int_eq(program_launch("count", 1, 1, (void *[]){&n}), ST_OK);
    return NULL;
}

START_TEST(the_hosts_plain_stores_stop)
{
    char request[128];
    client_start(program_stores);
    ask("break at=count temporary=1");
    go("continue");
    const char *all = ask("info allocations"), *mine = strstr(all, "cudaMallocManaged");
    ck_assert_msg(mine != NULL, "%s", all);
    while (mine > all && mine[-1] != '\n')
        mine--;
    snprintf(request, sizeof request, "watch \"*(int *)%s\"", key(mine, "address"));
    ask(request);
    go("continue");
    is(client.stop, "by", "host");
    is(client.stop, "new", "42");
    client_finish();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        expressions_are_c, names_stand_for_what_a_thread_sees, values_are_set, memory_is_shown, tables_tell, frames_have_their_own_registers,
        watchpoints_see_kernels, shared_memory_is_watched, host_copies_are_watched, the_hosts_writes_stop, the_hosts_plain_stores_stop};
    return client_tests("runtime_debug_look", tests, sizeof tests / sizeof *tests);
}
