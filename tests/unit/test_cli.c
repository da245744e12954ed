/* The launcher as a user meets it: what passes through, what it says, and what it leaves alone. Runs build/heddle, so these tests are
 * skipped where only unit tests were built (sanitizers). */
#include <check.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/heddle-cli-XXXXXX";
static char heddle[4096], output[65536];

/* Runs a shell command; $H is the launcher, the folder is an empty one. Standard output and error go to `output`. */
static int sh(const char *command)
{
    char full[8192];
    snprintf(full, sizeof full, "cd %s && { %s\n} 2>&1", dir, command);
    FILE *f = popen(full, "r");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(output, 1, sizeof output - 1, f);
    output[n] = 0;
    int status = pclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void expect(const char *command, int status, const char *text)
{
    int got = sh(command);
    ck_assert_msg(got == status, "%s: status %d instead of %d\n%s", command, got, status, output);
    ck_assert_msg(strstr(output, text) != NULL, "%s: no '%s' in\n%s", command, text, output);
}

static void expect_exactly(const char *command, int status, const char *text)
{
    int got = sh(command);
    ck_assert_msg(got == status, "%s: status %d instead of %d\n%s", command, got, status, output);
    ck_assert_str_eq(output, text);
}

/* The library itself may print a summary for programs that call CUDA; none of these does. */
START_TEST(test_passes_through)
{
    expect_exactly("$H /bin/echo a 'b c'", 0, "a b c\n");
    expect_exactly("$H run /bin/echo --gpu=x", 0, "--gpu=x\n");
    expect_exactly("$H --gpu=a100 --threads 2 -- /bin/echo run", 0, "run\n");
    expect_exactly("printf 'one\\ntwo\\n' | $H cat", 0, "one\ntwo\n");
    expect_exactly("$H sh -c 'exit 42'", 42, "");
    expect_exactly("$H sh -c 'echo out; echo err >&2' 2>/dev/null", 0, "out\n");
    expect_exactly("printf 'echo from a script\\n' >s; chmod +x s; $H ./s", 0, "from a script\n");
    expect_exactly("printf '#!/bin/sh\\nexit 3\\n' >s; chmod +x s; $H ./s", 3, "");
    expect_exactly("mkdir bin; printf '#!/bin/sh\\necho $1\\n' >bin/tool; chmod +x bin/tool; PATH=$PWD/bin:$PATH $H tool 5", 0, "5\n");
}
END_TEST

/* The interpreter is a script of ours, so that no Python is needed. */
START_TEST(test_python)
{
    expect("mkdir -p py; printf '#!/bin/sh\\necho \"$TRITON_PTXAS_PATH $CUPY_CACHE_DIR $@\"\\n' >py/python3; chmod +x py/python3; XDG_CACHE_HOME=$PWD PATH=$PWD/py:$PATH $H python -c x",
           0, "shims/bin/ptxas");
    expect("XDG_CACHE_HOME=$PWD PATH=$PWD/py:$PATH $H python -c x", 0, "heddle/cupy -c x");
    expect("CUPY_CACHE_DIR=mine $H python $PWD/py/python3 a.py", 0, "mine a.py");
    static const char *const ptx = "printf '.version 8.0\\n.target sm_70\\n.address_size 64\\n.visible .entry k() { %s; }\\n' >k.ptx; "
                                   "XDG_CACHE_HOME=$PWD $H python $PWD/py/python3 >/dev/null; ln -sf $H ptxas; ./ptxas -v --gpu-name=sm_90 k.ptx -o k.o";
    char command[1024];
    snprintf(command, sizeof command, ptx, "ret");
    strcat(command, " && cat k.o | tr -d '\\0'");
    expect(command, 0, ".entry k()");
    snprintf(command, sizeof command, ptx, "no.such");
    expect(command, 255, "no.such");
    expect("./ptxas --version", 0, "release 13.0");
}
END_TEST

START_TEST(test_signals)
{
    static const int ends[] = {SIGTERM, SIGSEGV, SIGABRT, SIGKILL};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char command[128];                     /* the shell reports a signal's number only for a child that a signal ended */
        snprintf(command, sizeof command, "{ $H sh -c 'kill -%d $$' & } 2>/dev/null; wait $! 2>/dev/null", ends[i]);
        ck_assert_int_eq(sh(command), 128 + ends[i]);
    }
    /* What is sent to the launcher reaches the program, which may handle it. */
    expect_exactly("$H sh -c 'trap \"exit 9\" TERM; : >ready; while :; do sleep 0.05; done' & p=$!\n"
                   "while ! [ -e ready ]; do sleep 0.05; done; kill -TERM $p; wait $p", 9, "");
    /* A stopped program stops its launcher, and both go on. */
    expect_exactly("rm -f ready; $H sh -c ': >ready; kill -STOP $$; exit 4' & p=$!\n"
                   "while ! grep -q '^State:.T' /proc/$p/status; do sleep 0.05; done; kill -CONT $p; wait $p", 4, "");
}
END_TEST

START_TEST(test_own_failures)
{
    expect("$H no-such-program", 127, "not found");
    expect("$H ./no-such-program", 127, "not found");
    expect(": >here; chmod +x here; printf '#!/bin/sh\\n' >here; $H here", 127, "heddle ./here");
    expect("echo x >data; $H ./data", 126, "chmod +x ./data");
    expect("$H /", 126, "cannot be executed");
    expect("printf '#!/no/such/interpreter\\n' >s; chmod +x s; $H ./s", 126, "/no/such/interpreter");
    expect("$H", 125, "PROGRAM");
    expect("$H run", 125, "which program?");
    expect("$H --gup=a100 /bin/true", 125, "did you mean --gpu?");
    expect("$H --threads=many /bin/true", 125, "a number");
    expect("$H --log=loud /bin/true", 125, "error|warn|info|debug");
    expect("HEDDLE_OPTS=--nonsense $H /bin/true", 125, "HEDDLE_OPTS: unknown setting");
    expect("echo 'devices = 99' >heddle.conf; $H /bin/true; r=$?; rm heddle.conf; exit $r", 125, "heddle.conf:1: devices cannot be '99'");
    expect("$H inof x", 127, "heddle info");
    expect("$H debug", 125, "which program?");
    expect("$H debug -ex", 125, "-ex needs a command");
    expect("$H debug --nonsense /bin/true", 125, "unknown option '--nonsense'");
    expect("$H debug no-such-program", 127, "not found");
    expect("$H dap /bin/true", 125, "heddle debug /bin/true");
    expect("printf 'GET / HTTP/1.1\\r\\n\\r\\n' | $H dap", 125, "Content-Length");
    expect("$H dap </dev/null", 0, "");
    /* Without a CUDA call there is nothing to stop at: the program runs to its end, and its status is the session's. */
    expect("$H debug -batch -ex 'break x' -ex run sh -c 'exit 5'", 5, "ended with status 5");
    expect("$H debug -batch -ex nonsense /bin/true", 1, "no command 'nonsense'");
    expect("printf 'quit 7\\n' | $H debug /bin/true", 7, "");
    expect("$H debug -batch -x no-such-file /bin/true", 1, "no-such-file: No such file");
}
END_TEST

START_TEST(test_pages)
{
    expect("$H --version", 0, "heddle ");
    expect("$H --help", 0, "--api-trace");
    expect("$H help", 0, "HEDDLE_OPTS");
    expect("$H help gpu", 0, "default     h100");
    expect("$H help info", 0, "PROGRAM");
    expect("$H help inf", 125, "heddle help info");
    expect("$H help | grep -c '\033'", 1, "0");               /* no colour where there is no terminal */
}
END_TEST

START_TEST(test_origins)
{
    expect("printf 'gpu = t4\\ndevices = 2\\nthreads = 3\\n' >heddle.conf\n"
           "HEDDLE_OPTS='--devices=4 --threads=5' $H --threads=6 config --show | tr -s ' '; rm heddle.conf", 0, "gpu t4 name heddle.conf:1");
    ck_assert_ptr_nonnull(strstr(output, "devices 4 - HEDDLE_OPTS"));
    ck_assert_ptr_nonnull(strstr(output, "threads 6 - command line"));
    ck_assert_ptr_nonnull(strstr(output, "log warn - default"));
    expect("HEDDLE_LOG_FILE=x HEDDLE_UNKNOWN=1 $H /bin/true", 0, "HEDDLE_LOG_FILE is not read: HEDDLE_OPTS='--log-file=x' sets it");
    ck_assert_ptr_null(strstr(output, "UNKNOWN"));
}
END_TEST

START_TEST(test_simulated_gpu)
{
    expect("$H config --show --gpu=v100 --sm.clusters=4 sm. dram.tR | tr -s ' '", 0, "sm.clusters 4 - command line");
    ck_assert_ptr_nonnull(strstr(output, "dram.tRCD 12 DRAM clocks v100.conf:"));
    ck_assert_ptr_null(strstr(output, "clock.core"));
    /* An old configuration in the folder is taken as a whole; values of our own stand over it. */
    expect("printf -- '-gpgpu_n_clusters 3 # three\\n-gpgpu_n_mem 4\\n-gpgpu_num_sp_unit 1\\n' >gpgpusim.config; echo 'sm.ctas = 5' >heddle.conf\n"
           "HEDDLE_OPTS='--issue.policy lrr' $H config --show sm. mem. issue 2>&1 | tr -s ' '; rm gpgpusim.config heddle.conf", 0, "sm.clusters 3 - gpgpusim.config:1");
    ck_assert_ptr_nonnull(strstr(output, "sm.ctas 5 CTAs heddle.conf:1"));
    ck_assert_ptr_nonnull(strstr(output, "issue.policy lrr - HEDDLE_OPTS"));
    ck_assert_ptr_nonnull(strstr(output, "did you mean '-gpgpu_num_sp_units'?"));
    expect("printf 'inherit = a100\\nclock.core = 1 GHz\\n' >mine.conf; $H --config=mine.conf config --show clock mem.ch | tr -s ' '", 0, "clock.core 1000 MHz mine.conf:2");
    ck_assert_ptr_nonnull(strstr(output, "mem.channels 80 - a100.conf:"));
    expect("$H --config=rtx2060 config --show gpu.name | tr -s ' '", 0, "gpu.name GeForce RTX 2060");
    expect("$H --sm.clusters=many config --show sm.c", 125, "sm.clusters=many\n                ^");
    expect("$H --sm.klusters=3 /bin/true", 125, "did you mean 'sm.clusters'?");
    expect("$H --config=nowhere.conf config --show sm.c", 125, "nowhere.conf cannot be read");
    expect("$H --sm.clusters=2 sh -c 'echo \"$HEDDLE_SETTINGS\"'", 0, "sm.clusters = \"2\"");
    expect("$H help dram.tRCD", 0, "also by     dram.timing (-gpgpu_dram_timing_opt)");
    expect("$H help -gpgpu_n_mem", 0, "mem.channels: ");
    expect("$H help stats gpu_tot_sim_cycle", 0, "gpu.cycles: ");
    expect("$H help stats cyclones", 125, "heddle help stats");
}
END_TEST

START_TEST(test_environment)
{
    expect("$H sh -c 'echo $LD_PRELOAD'", 0, "/libheddle.so\n");
    expect("LD_PRELOAD=libm.so.6 $H sh -c 'echo $LD_PRELOAD'", 0, "/libheddle.so:libm.so.6\n");
    expect("$H $H sh -c 'echo $LD_PRELOAD' | grep -o libheddle.so | wc -l", 0, "1\n");
    expect("unset LD_LIBRARY_PATH; $H sh -c 'echo [$LD_LIBRARY_PATH]'", 0, "/shims/nvml]\n");         /* and no more: no shims where none are needed */
    ck_assert_ptr_null(strchr(output, ':'));
    expect("$H --gpu=a100 sh -c 'echo \"$HEDDLE_SETTINGS\"'", 0, "gpu = \"a100\"");
    /* The program finds the descriptors it would find without us, and nothing new in its folder. */
    expect_exactly("ls /proc/self/fd | wc -l >../n.$$; $H ls /proc/self/fd | wc -l | diff - ../n.$$; rm ../n.$$", 0, "");
    expect_exactly("mkdir empty; cd empty; $H -v /bin/true 2>/dev/null; ls -A", 0, "");
}
END_TEST

START_TEST(test_not_intercepted)
{
    if (sh("echo 'int main(void) { return 6; }' >m.c; gcc -static m.c -o static") != 0) {
        puts("SKIP test_cli test_not_intercepted: no static C library");
        fflush(stdout);
        return;
    }
    expect("$H ./static", 6, "statically linked");
    expect_exactly("$H -q ./static", 6, "");
    expect_exactly("$H /bin/true", 0, "");
    expect("$H -v /bin/true", 0, "called no CUDA function");
    expect("$H sh -c 'unset LD_PRELOAD; ./static'; :", 0, "");
    ck_assert_ptr_null(strstr(output, "intercepted"));         /* the shell had it */
    expect("gcc m.c -o dynamic; $H info ./static", 0, "statically linked");
    expect("$H info ./dynamic", 0, "no CUDA in this file");
}
END_TEST

/* A program linked with -cudart shared where no toolkit is installed: the loader is satisfied by our empty library. */
START_TEST(test_shims)
{
    static const char *const versions[] = {"11.0", "12", "13"};
    char command[8192];
    snprintf(command, sizeof command,
             "echo 'int main(void) { return 8; }' >m.c; S=$(dirname $H)/shims; gcc m.c -Wl,--no-as-needed $S/libcudart.so.%s -o needs\n"
             "readelf -d needs | grep -q 'libcudart.so.%s' || exit 99\n"
             "unset LD_LIBRARY_PATH; $H ./needs", versions[_i], versions[_i]);
    expect_exactly(command, 8, "");
    expect_exactly("echo 'const char *n = \"libcuda.so\"; int main(void) { return n[0] != 108; }' >m.c; gcc m.c -o opens\n"
                   "$H ./opens", 0, "");
}
END_TEST

/* The same with calls: they are bound to a version node of libcudart.so.N and must reach us. */
START_TEST(test_versioned_calls)
{
    static const char *const versions[] = {"11.0", "12", "13"};
    char command[8192];
    snprintf(command, sizeof command,
             "v=libcudart.so.%s; mkdir -p stub; echo \"$v { global: *; };\" >stub/map\n"
             "echo 'int cudaGetDeviceCount(int *n); int cudaGetDeviceCount(int *n) { *n = 77; return 1; }' >stub/s.c\n"
             "gcc -shared -fPIC -Wl,-soname,$v -Wl,--version-script,stub/map stub/s.c -o stub/$v || exit 99\n"
             "printf '#include <stdio.h>\nint cudaGetDeviceCount(int *n);\n"
             "int main(void) { int n = 0, e = cudaGetDeviceCount(&n); printf(\"%%%%d %%%%d\\\\n\", e, n); return 0; }\n' >p.c\n"
             "gcc p.c stub/$v -o p || exit 98; unset LD_LIBRARY_PATH; $H -q --devices=3 ./p && LD_LIBRARY_PATH=stub $H -q ./p",
             versions[_i]);
    expect_exactly(command, 0, "0 3\n0 1\n");
}
END_TEST

static bool ready(void)
{
    const char *build = getenv("HEDDLE_BUILD");
    char path[4096], library[4200];
    snprintf(path, sizeof path, "%s/heddle", build ? build : "build");
    snprintf(library, sizeof library, "%s/libheddle.so", build ? build : "build");
    return access(library, R_OK) == 0 && realpath(path, heddle) && mkdtemp(dir);
}

int main(void)
{
    if (!ready()) {
        puts("the launcher is not built here");
        return 77;
    }
    setenv("H", heddle, 1);
    unsetenv("HEDDLE_OPTS");
    Suite *s = suite_create("cli");
    TCase *t = tcase_create("cli");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_passes_through);
    tcase_add_test(t, test_python);
    tcase_add_test(t, test_signals);
    tcase_add_test(t, test_own_failures);
    tcase_add_test(t, test_pages);
    tcase_add_test(t, test_origins);
    tcase_add_test(t, test_simulated_gpu);
    tcase_add_test(t, test_environment);
    tcase_add_test(t, test_not_intercepted);
    tcase_add_loop_test(t, test_shims, 0, 3);
    tcase_add_loop_test(t, test_versioned_calls, 0, 3);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", dir);
    if (system(command) != 0)
        return 1;
    return failed != 0;
}
