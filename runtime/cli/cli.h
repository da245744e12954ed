/* The launcher: `heddle [VERB] [OPTIONS] PROGRAM ARGS`. Everything here runs in the launcher's own process, which may print and
 * exit; nothing of it is in libheddle.so. Single-threaded. */
#ifndef HEDDLE_CLI_CLI_H
#define HEDDLE_CLI_CLI_H
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "runtime/knobs.h"

/* Heddle's own failures, numbered as env(1) and nohup(1) do; every other status is the program's. */
enum { EXIT_OWN_FAILURE = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

struct cli {
    struct knob_set knobs;
    struct error load_error;       /* of ./heddle.conf or HEDDLE_OPTS */
    char library[PATH_MAX];        /* libheddle.so; "" when it is not found */
    char shims[PATH_MAX];          /* the folder with libcudart.so.N */
    bool help_wanted, version_wanted;
};

/* Fills in the paths and the layers of settings below the command line. */
void cli_init(struct cli *c);
/* Takes options from argv[*at] on; stops at the first word that is none, or behind "--" (*ended says so). False: reported. */
bool cli_options(struct cli *c, int argc, char **argv, int *at, bool *ended);
/* The same for the one option at argv[*at], which begins with '-'. */
bool cli_option(struct cli *c, int argc, char **argv, int *at, bool *ended);
/* The GPU that the settings name; NULL: there is no such one, reported. */
const struct rt_device_facts *cli_gpu(const struct cli *c);
/* Tells the mistakes in the settings of the simulated GPU, and its warnings when they are wanted. False: there are mistakes. */
bool cli_timing_check(const struct cli *c, bool warnings);
/* Takes over what GPGPU-Sim's options say of checkpoints. False: reported. */
bool cli_timing_checkpoint(struct cli *c);
/* Checks the plug-ins and makes their paths absolute. False: reported. */
bool cli_plugins(struct cli *c);
int cli_main(int argc, char **argv);

struct verb { const char *name; int (*run)(struct cli *, int argc, char **argv); const char *syntax, *summary; };
extern const struct verb cli_verbs[];              /* ends with a NULL name */

/* argv[0] is the first word behind the verb and its options. They return the exit status. */
int verb_sim(struct cli *c, int argc, char **argv);
int verb_checkpoint(struct cli *c, int argc, char **argv);
int verb_run(struct cli *c, int argc, char **argv);
int verb_resume(struct cli *c, int argc, char **argv);
int verb_python(struct cli *c, int argc, char **argv);
int verb_info(struct cli *c, int argc, char **argv);
int verb_config(struct cli *c, int argc, char **argv);
int verb_help(struct cli *c, int argc, char **argv);
int verb_debug(struct cli *c, int argc, char **argv);
int verb_dap(struct cli *c, int argc, char **argv);

/* The parts of verb_run, for verbs that run a program in their own way. */
struct target;
struct hello_page;
/* Finds and reads the program, checks the settings, and makes the environment such that it runs with the library. Not 0: the exit
 * status, and the reason is told. Once a process. */
int run_prepare(struct cli *c, const char *program, struct target *t, char path[PATH_MAX]);
struct hello_page *run_offer_hello(void);          /* NULL where it cannot be had; then nothing is claimed at the end */
int run_exec_failed(const char *program, const struct target *t, int exec_errno);
void run_explain(const struct cli *c, const struct target *t, const struct hello_page *hello, int wait_status);

bool run_export_settings(const struct cli *c);      /* into the environment, where the library finds them; false: no memory */
/* checkpoint.c. The kernels of a checkpoint without their program; and what `heddle info` says of one: -1: it is no checkpoint. */
int resume_alone(struct cli *c, const char *file);
int info_checkpoint(const char *path);

/* Messages on stderr, in colour on a terminal unless NO_COLOR is set. */
void say_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_status(const struct error *err);          /* its text, "hint:" lines marked */
bool colour_on(FILE *f);
const char *bold(FILE *f);                         /* "" where there is no colour */
const char *plain(FILE *f);

/* A C++ name as its author wrote it when libstdc++ is at hand; else the mangled one. Returns buf. */
char *demangle(const char *name, char *buf, size_t n);

#endif
