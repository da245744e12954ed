/* Breakpoints of an editor: each request replaces what it set before. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/dap.h"

/* ---- the table ---- */

static struct dap_point *point_of(struct dap *d, unsigned number)
{
    for (size_t i = 0; i < d->points.n; i++)
        if (d->points.at[i].number == number)
            return &d->points.at[i];
    return NULL;
}

static void remove_points(struct dap *d, enum dap_origin origin, const char *file)
{
    for (size_t i = 0; i < d->points.n;) {
        struct dap_point *p = &d->points.at[i];
        if (p->origin != origin || (file && strcmp(p->file, file) != 0)) {
            i++;
            continue;
        }
        struct breakpoint *b = breakpoint_find(&d->s, p->number);
        if (b)
            breakpoint_remove(&d->s, b);
        free(p->file);
        d->points.at[i] = d->points.at[--d->points.n];
    }
}

void dap_points_free(struct dap *d)
{
    for (size_t i = 0; i < d->points.n; i++)
        free(d->points.at[i].file);
    vec_free(&d->points);
}

/* One `Breakpoint` of the protocol, as members of the object that is open. message: why it is not verified. */
static void point_members(struct dap *d, struct json *j, const struct dap_point *p, const struct wire_answer *a, const char *message)
{
    const struct wire_line *place = a && a->lines.n > 1 ? &a->lines.at[1] : NULL;
    const struct wire_line *first = a && a->lines.n ? &a->lines.at[0] : NULL;
    bool pending = first && (wire_number(first, "pending", 0) || (wire_get(first, "places") && !wire_number(first, "places", 1)));
    if (p->number)
        json_u64(j, "id", p->number);
    json_bool(j, "verified", first && !pending);
    if (message)
        json_text(j, "message", message);
    else if (pending || !a)
        json_text(j, "message", "no code that is loaded has it yet");
    if (place && wire_get(place, "line")) {
        json_u64(j, "line", wire_number(place, "line", 1) - 1 + d->lines_from);
        dap_source_named(d, j, "source", place);
    } else if (p->line) {
        json_u64(j, "line", p->line - 1 + d->lines_from);
    }
}

/* Adds one and writes it into the array that is open. request NULL: it was refused already, `message` says why. */
static void add_point(struct dap *d, struct json *j, struct dap_point p, const char *what, const char *request, const char *condition, uint64_t ignore)
{
    struct wire_answer a = {0};
    bool watch = p.origin == FROM_DATA;
    char message[1024] = "";
    struct breakpoint *b = breakpoint_add(&d->s, watch, what, request);
    if (b) {
        b->condition = condition && *condition ? strdup(condition) : NULL;
        b->ignore = ignore;
        p.number = b->number;
        if (d->s.greeted && !breakpoint_send(&d->s, b, &a)) {
            snprintf(message, sizeof message, "%s", a.error);
            breakpoint_spent(&d->s, b);
        }
    }
    json_object(j, NULL);
    point_members(d, j, &p, d->s.greeted && !*message ? &a : NULL, *message ? message : NULL);
    json_end(j);
    p.file = strdup(p.file ? p.file : "");
    if (!b || *message || !p.file || !vec_push(&d->points, p))
        free(p.file);
    wire_answer_free(&a);
}

void dap_points_send(struct dap *d)
{
    for (size_t i = 0; i < d->s.breakpoints.n; i++) {
        struct breakpoint *b = &d->s.breakpoints.at[i];
        struct dap_point *p = point_of(d, b->number);
        struct wire_answer a;
        if (b->server || b->refused || !p)
            continue;
        bool ok = breakpoint_send(&d->s, b, &a);
        b->refused = !ok && !b->watch;
        if ((ok || b->refused) && p->origin != FROM_EXCEPTIONS) {
            struct json *j = dap_event(d, "breakpoint");
            json_text(j, "reason", "changed");
            json_object(j, "breakpoint");
            point_members(d, j, p, ok ? &a : NULL, ok ? NULL : a.error);
            dap_send(d);
        }
        wire_answer_free(&a);
    }
}

/* "3": pass twice; what else editors write there (">= 3", "% 2") is not known here. */
static uint64_t hit_count(const cJSON *breakpoint)
{
    const char *text = dap_text(breakpoint, "hitCondition", "");
    uint64_t n;
    text += strspn(text, ">= ");
    return word_number(text, &n) && n ? n - 1 : 0;
}

static void location_request(struct textbuf *request, const char *location)
{
    request->n = 0;
    textbuf_add(request, "break at=");
    wire_add_word(request, location);
}

/* ---- requests ---- */

static struct json *begin_list(struct dap *d, const cJSON *request)
{
    struct json *j = dap_reply(d, request);
    json_array(j, "breakpoints");
    return j;
}

void dap_lines(struct dap *d, const cJSON *request, const cJSON *args)
{
    const cJSON *source = cJSON_GetObjectItemCaseSensitive(args, "source"), *list = cJSON_GetObjectItemCaseSensitive(args, "breakpoints"), *item;
    bool ptx = dap_index(source, "sourceReference", 0) != 0;
    const char *path = ptx ? "ptx" : dap_text(source, "path", dap_text(source, "name", NULL));
    struct textbuf wire = {0}, location = {0};
    if (!path) {
        dap_refuse(d, request, "setBreakpoints: the source has no path");
        return;
    }
    remove_points(d, FROM_LINES, path);
    struct json *j = begin_list(d, request);
    cJSON_ArrayForEach(item, list) {
        unsigned line = (unsigned)dap_index(item, "line", 0) + 1 - d->lines_from;
        location.n = 0;
        textbuf_add(&location, "%s:%u", path, line);
        location_request(&wire, location.at);
        if (!wire.failed)
            add_point(d, j, (struct dap_point){.origin = FROM_LINES, .file = (char *)(uintptr_t)path, .line = line}, location.at, wire.at,
                      dap_text(item, "condition", NULL), hit_count(item));
    }
    dap_send(d);
    textbuf_free(&wire);
    textbuf_free(&location);
}

/* Function and instruction breakpoints: a list of places by name. */
static void named_points(struct dap *d, const cJSON *request, const cJSON *args, enum dap_origin origin, const char *member)
{
    const cJSON *item;
    struct textbuf wire = {0};
    char location[512];
    remove_points(d, origin, NULL);
    struct json *j = begin_list(d, request);
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(args, "breakpoints")) {
        int64_t offset = dap_number(item, "offset", 0);
        snprintf(location, sizeof location, "%s", dap_text(item, member, ""));
        if (origin == FROM_INSTRUCTIONS)
            snprintf(location, sizeof location, "*0x%" PRIx64, (uint64_t)strtoull(dap_text(item, member, "0"), NULL, 0) + (uint64_t)offset);
        location_request(&wire, location);
        if (!wire.failed)
            add_point(d, j, (struct dap_point){.origin = origin}, location, wire.at, dap_text(item, "condition", NULL), hit_count(item));
    }
    dap_send(d);
    textbuf_free(&wire);
}

void dap_functions(struct dap *d, const cJSON *request, const cJSON *args) { named_points(d, request, args, FROM_FUNCTIONS, "name"); }

void dap_instructions(struct dap *d, const cJSON *request, const cJSON *args) { named_points(d, request, args, FROM_INSTRUCTIONS, "instructionReference"); }

void dap_exceptions(struct dap *d, const cJSON *request, const cJSON *args)
{
    static const char *const known[] = {"error", "divergence", "barrier", "entry"};
    const cJSON *filter;
    bool errors = false;
    remove_points(d, FROM_EXCEPTIONS, NULL);
    struct json *j = begin_list(d, request);
    cJSON_ArrayForEach(filter, cJSON_GetObjectItemCaseSensitive(args, "filters")) {
        const char *name = cJSON_IsString(filter) ? filter->valuestring : "";
        char wire[64];
        size_t i = 0;
        while (i < 4 && strcmp(name, known[i]) != 0)
            i++;
        errors |= i == 0;
        snprintf(wire, sizeof wire, "break at=%s", i < 4 ? name : "error");
        if (i < 4)
            add_point(d, j, (struct dap_point){.origin = FROM_EXCEPTIONS}, name, wire, NULL, 0);
    }
    dap_send(d);
    if (errors)
        return;
    /* On unless it is said otherwise. */
    struct breakpoint *off = breakpoint_add(&d->s, false, "error", "break at=error");
    struct dap_point p = {.origin = FROM_EXCEPTIONS, .file = strdup("")};
    struct wire_answer a = {0};
    if (!off)
        return;
    off->disabled = true;
    p.number = off->number;
    if (!p.file || !vec_push(&d->points, p))
        free(p.file);
    if (d->s.greeted)
        (void)!breakpoint_send(&d->s, off, &a);
    wire_answer_free(&a);
}

/* ---- watchpoints ---- */

void dap_data_info(struct dap *d, const cJSON *request, const cJSON *args)
{
    const char *name = dap_text(args, "name", "");
    struct wire_answer a = {0};
    struct textbuf word = {0};
    wire_add_word(&word, name);
    bool place = !word.failed && has_kernel(&d->s) && wire_call(&d->s.process.wire, &a, "eval %s", word.at) && a.lines.n && wire_get(&a.lines.at[0], "address");
    struct json *j = dap_reply(d, request);
    json_text(j, "dataId", place ? name : NULL);
    json_text(j, "description", place ? name : "it is no place in memory");
    if (place) {
        json_array(j, "accessTypes");
        json_text(j, NULL, "read");
        json_text(j, NULL, "write");
        json_text(j, NULL, "readWrite");
        json_end(j);
    }
    dap_send(d);
    wire_answer_free(&a);
    textbuf_free(&word);
}

void dap_data(struct dap *d, const cJSON *request, const cJSON *args)
{
    const cJSON *item;
    struct textbuf wire = {0};
    remove_points(d, FROM_DATA, NULL);
    struct json *j = begin_list(d, request);
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(args, "breakpoints")) {
        const char *id = dap_text(item, "dataId", ""), *access = dap_text(item, "accessType", "write");
        wire.n = 0;
        textbuf_add(&wire, "watch ");
        wire_add_word(&wire, id);
        textbuf_add(&wire, " mode=%s", strcmp(access, "read") == 0 ? "read" : strcmp(access, "readWrite") == 0 ? "access" : "change");
        if (!wire.failed)
            add_point(d, j, (struct dap_point){.origin = FROM_DATA}, id, wire.at, dap_text(item, "condition", NULL), hit_count(item));
    }
    dap_send(d);
    textbuf_free(&wire);
}
