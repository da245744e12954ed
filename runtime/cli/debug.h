/* `heddle debug`: the session. The program keeps its standard input and output; the debugger reads its commands from standard input
 * while the program stands, and writes on standard error. One thread. What a command has to say of a mistake is one line (complain). */
#ifndef HEDDLE_CLI_DEBUG_H
#define HEDDLE_CLI_DEBUG_H
#include <stdbool.h>
#include <stdio.h>

#include "runtime/cli/cli.h"
#include "runtime/cli/debug_process.h"
#include "runtime/cli/debug_source.h"
#include "runtime/cli/target.h"

/* ---- breakpoints (debug_break.c): ours outlive the program and are set again in the next one ---- */

struct breakpoint {
    unsigned number, server;                   /* the server's number for it; 0: it does not have it (yet) */
    bool watch, temporary, disabled, silent;
    bool refused;                              /* the server's objection was told */
    bool pending;                              /* no code that was loaded has it */
    uint64_t ignore;
    char *what;                                /* as it was typed, for lists */
    char *request;                             /* for the server, without condition, ignore and temporary */
    char *condition;                           /* NULL: none */
    VEC(char *) commands;
};

struct display { unsigned number; char format[16]; char *expression; };

enum session_state { NO_PROGRAM, RUNNING, STOPPED };

struct session {
    struct cli *cli;
    struct target target;
    char path[PATH_MAX];
    char **argv;                               /* of the program, ours; ends with NULL */
    char *redirect[2];                         /* files for its standard input and output; NULL: ours */
    struct process process;
    struct hello_page *hello;
    enum session_state state;
    bool greeted;                              /* the server said hello: it takes requests */
    bool sim;
    bool batch, terminal;
    bool quitting;
    bool trace_commands;                       /* show commands that come from files and pipes */
    int exit_status;                           /* of the session, when status_given */
    bool status_given;
    unsigned depth, failed_depth;              /* command files in command files; of the last one that was not read to its end */
    uint64_t resumed;                          /* how often the program was let run */
    bool failed;                               /* the command at hand complained */
    bool any_failed;                           /* one of -x and -ex did */
    VEC(struct breakpoint) breakpoints;
    unsigned next_breakpoint;
    unsigned stopped_at;                       /* the breakpoint whose commands are to be run next; 0: none's */
    unsigned last_hit;                         /* the breakpoint that stopped us last */
    bool stepping;                             /* what runs is a step: the end of its kernel is worth a word */
    VEC(struct display) displays;
    unsigned next_display;
    VEC(char *) values;                        /* what print showed: $1 is the first */
    struct wire_line place;                    /* of the focus; no pairs: no kernel */
    struct sources sources;
    char list_file[PATH_MAX];                  /* where `list` goes on */
    unsigned list_first, list_last;
    unsigned ptx_next;
    char examine_format[2];                    /* of the last x, its size, and where it goes on */
    unsigned examine_size;
    uint64_t examine_next;
    unsigned frame;
    char lanes_shown[64];                      /* at the last stop */
    struct input *input;                       /* where further lines of a command come from */
    char repeat[4096];                         /* what an empty line does */
};

/* ---- commands (debug_command.c) ---- */

struct command { const char *name, *shortest; int repeats; void (*run)(struct session *, const char *word, char *args); const char *word, *syntax, *help; const char *section; };
extern const struct command commands[];        /* ends with a NULL name; rows of debug.def */
/* The command a word means; NULL: complained. */
const struct command *command_find(struct session *s, const char *word);
void command_line(struct session *s, const char *line);
/* Takes commands of a file; stops at the first that fails. */
void command_file(struct session *s, const char *path);

#define SECTION(title)
#define COMMAND(name, shortest, repeats, handler, word, syntax, help) void command_##handler(struct session *, const char *, char *);
#include "runtime/cli/debug.def"

/* ---- talking ---- */

void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void complain(struct session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- words of a line (debug_words.c) ---- */

/* The next word of *at (ends at blanks; brackets, quotes keep blanks inside), cut off with a NUL; NULL: none. */
char *word_next(char **at);
char *word_skip(char *at);                     /* behind blanks */
/* A number without sign (decimal, 0x); false: it is none, or does not fit. */
bool word_number(const char *word, uint64_t *n);
bool word_is(const char *word, const char *full, size_t shortest);      /* a beginning of `full` with so many letters */
/* "(3,0,0)", "3,0", "3" -> "3,0,0" or "3,0", "3"; false: no coordinates. */
bool word_coordinates(const char *word, char out[64]);

/* ---- the program (debug_run.c) ---- */

/* One request. False: complained, unless `quiet`. *a is to be freed either way. */
bool ask(struct session *s, struct wire_answer *a, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool need_program(struct session *s);          /* false: complained */
bool need_kernel(struct session *s);
bool arguments_set(struct session *s, char *text);         /* of the program; false: no memory */
/* Ends the program, if there is one. */
void program_end(struct session *s);
/* Takes what the server has to say without waiting. */
void program_events(struct session *s);
/* Where the focus is from now on; empties *l. */
void place_take(struct session *s, struct wire_line *l);
void place_refresh(struct session *s);         /* asks */
bool has_kernel(const struct session *s);

/* ---- breakpoints (debug_break.c: commands; debug_points.c: the table) ---- */

void breakpoints_send(struct session *s);      /* those that the server does not have */
void breakpoints_lost(struct session *s);      /* the program is gone */
struct breakpoint *breakpoint_find(struct session *s, uint64_t number);        /* NULL: none */
struct breakpoint *breakpoint_of_server(struct session *s, uint64_t server);
/* Not sent yet; takes copies. NULL: no memory. Pointers last until the next one is added or removed. */
struct breakpoint *breakpoint_add(struct session *s, bool watch, const char *what, const char *request);
bool breakpoint_send(struct session *s, struct breakpoint *b, struct wire_answer *a);
void breakpoint_remove(struct session *s, struct breakpoint *b);                 /* tells the server */
void breakpoint_spent(struct session *s, struct breakpoint *b);                  /* the server has forgotten it by itself */
void breakpoint_say(const struct breakpoint *b, const struct wire_answer *a);    /* "Breakpoint 1: ..." */
void breakpoints_free(struct session *s);

/* ---- screens ---- */

void show_stop(struct session *s);             /* debug_stop.c: why (keys of the stop are in s->place) and where */
void show_place(struct session *s, bool whole);
const char *show_function(const struct wire_line *p);                   /* the readable name where there is one */
const char *show_file(const struct wire_line *p);                       /* without its folders; "" where there is none */
void show_lanes(char out[64], uint64_t here, uint64_t active, uint64_t exited);
void show_lanes_of(const struct wire_line *place, char out[64]);
void info_help(void);                                                   /* debug_info.c */
void show_displays(struct session *s);                                  /* debug_print.c */
void show_code(const struct wire_answer *a);                            /* debug_list.c: lines of `disassemble` */
/* Appends the expression with $1, $, $$ and $pc replaced (debug_print.c). */
void print_expand(const struct session *s, const char *text, struct textbuf *out);
void show_source_line(struct session *s, const char *file, unsigned line);

/* ---- input (debug_input.c) ---- */

struct input;
struct input *input_terminal(struct session *s);           /* libedit; NULL: no memory */
/* NULL file: standard input, byte by byte: the rest is the program's. What is read is shown while the session traces commands. */
struct input *input_plain(struct session *s, FILE *file, const char *name);
void input_close(struct input *in);
/* The next line without its end; NULL: the end, or (interrupted) Ctrl-C. Stays until the next one is read. */
const char *input_line(struct input *in, const char *prompt, bool *interrupted);
unsigned input_line_number(const struct input *in);

/* Completions of the word that ends at line[at] (debug_complete.c). Words are to be freed. */
struct completions { VEC(char *) words; size_t typed; };
void complete(struct session *s, const char *line, struct completions *out);
void completions_free(struct completions *c);

#endif
