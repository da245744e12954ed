/* `heddle dap`: the Debug Adapter Protocol on standard input and output. Warps are threads, a block's warps are those that are listed;
 * the program's own output goes to the editor as `output` events. Built on the session of `heddle debug` (breakpoints, place, sources).
 * One thread. */
#ifndef HEDDLE_CLI_DAP_H
#define HEDDLE_CLI_DAP_H
#include <cjson/cJSON.h>

#include "runtime/base/json.h"
#include "runtime/cli/debug.h"

/* Ids of threads: 1 is the host, warps follow in the order in which they were first seen. */
struct dap_thread { char block[64]; unsigned warp; };
enum { DAP_HOST = 1, DAP_FIRST_WARP = 2, DAP_FRAMES = 1000 };  /* frame id = thread * DAP_FRAMES + frame */

/* Which request set a breakpoint: it replaces what the same request (for the same file) set before. */
enum dap_origin { FROM_LINES, FROM_FUNCTIONS, FROM_EXCEPTIONS, FROM_INSTRUCTIONS, FROM_DATA };
struct dap_point { unsigned number; enum dap_origin origin; char *file; unsigned line; };

struct dap {
    struct session s;
    struct textbuf in;                         /* bytes of the editor that make no message yet */
    struct textbuf out;                        /* the message that is being written */
    struct json json;
    unsigned seq;
    bool launched, configured, initialized, stop_on_entry, waiting_start;
    bool over;                                 /* end the loop */
    bool broken;                               /* what the editor sent was no message */
    unsigned lines_from, columns_from;         /* how the editor counts: 0 or 1 */
    int program_out, program_err;              /* pipes; -1: none */
    VEC(struct dap_thread) threads;
    VEC(struct dap_point) points;
};

struct dap_request { const char *name; void (*answer)(struct dap *, const cJSON *request, const cJSON *args); int needs; };

/* Opens an answer's or event's body; the caller adds members and calls dap_send. */
struct json *dap_reply(struct dap *d, const cJSON *request);
struct json *dap_event(struct dap *d, const char *name);
void dap_send(struct dap *d);
void dap_done(struct dap *d, const cJSON *request);        /* an answer without a body */
void dap_refuse(struct dap *d, const cJSON *request, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void dap_output(struct dap *d, const char *category, const char *text);
/* A request to the library; false: the editor was told. *a is to be freed either way. */
bool dap_ask(struct dap *d, const cJSON *request, struct wire_answer *a, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Members of a request's arguments; a missing or wrong one gives `otherwise`. */
const char *dap_text(const cJSON *args, const char *name, const char *otherwise);
int64_t dap_number(const cJSON *args, const char *name, int64_t otherwise);
uint64_t dap_index(const cJSON *args, const char *name, uint64_t otherwise);       /* not negative */
bool dap_flag(const cJSON *args, const char *name);

/* dap_run.c */
void dap_library_event(struct dap *d, struct wire_line *e);
void dap_program_over(struct dap *d);
/* dap_points.c */
void dap_points_send(struct dap *d);           /* to a library that said hello; the editor hears what became of them */
void dap_points_free(struct dap *d);
/* dap_look.c */
unsigned dap_thread_id(struct dap *d, const char *block, unsigned warp);
/* Puts the focus on a thread or frame. False: the editor was told. */
bool dap_focus(struct dap *d, const cJSON *request, unsigned thread, unsigned frame);
void dap_source_named(struct dap *d, struct json *j, const char *name, const struct wire_line *place);

#define REQUEST(name, handler, needs) void dap_##handler(struct dap *, const cJSON *, const cJSON *);
#include "runtime/cli/dap.def"

#endif
