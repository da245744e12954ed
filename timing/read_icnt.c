/* The interconnect's file, as BookSim has it: `key = value;`, comments behind two slashes. */
#include "timing/config_internal.h"

#include <stdio.h>
#include <string.h>

/* Keys that say nothing about a network between SMs and memory, or that have one meaning here whatever they say. */
static const char inert[] =
    " use_map network_count routing_function wait_for_tail_credit vc_allocator sw_allocator alloc_iters input_speedup output_speedup"
    " traffic packet_size packet_size_rate sim_type injection_rate use_read_write perm_seed watch_out print_activity"
    " read_request_subnet read_reply_subnet write_request_subnet write_reply_subnet read_request_begin_vc read_request_end_vc"
    " write_request_begin_vc write_request_end_vc read_reply_begin_vc read_reply_end_vc write_reply_begin_vc write_reply_end_vc ";

struct reader { struct timing_settings *s; const struct source *in; size_t at; char unknown[300]; };

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == 0; }

static void skip(struct reader *r)
{
    const struct source *in = r->in;
    for (;;) {
        while (r->at < in->bytes && blank(in->text[r->at]))
            r->at++;
        if (r->at + 1 >= in->bytes || in->text[r->at] != '/' || in->text[r->at + 1] != '/')
            return;
        while (r->at < in->bytes && in->text[r->at] != '\n')
            r->at++;
    }
}

static bool make_value(struct reader *r, size_t from, size_t end, const char *name, struct value *v)
{
    while (end > from && blank(r->in->text[end - 1]))
        end--;
    size_t n = end - from;
    char *text = arena_strndup(&r->s->arena, r->in->text + from, n);
    uint32_t *at = arena_alloc(&r->s->arena, (n + 1) * sizeof *at);
    if (!text || !at) {
        r->s->no_memory = true;
        return false;
    }
    for (size_t i = 0; i <= n; i++)
        at[i] = (uint32_t)(from + i);
    *v = (struct value){text, (uint32_t)strlen(text), at, r->in, name};
    return true;
}

static void set_key(struct reader *r, const char *key, size_t from, size_t end)
{
    char alias[80], word[80];
    struct value v;
    snprintf(alias, sizeof alias, "@%.70s", key);
    snprintf(word, sizeof word, " %.70s ", key);
    struct meaning t = meaning_find(alias);
    if (t.kind == MEANS_NONE) {
        size_t used = strlen(r->unknown);
        if (!strstr(inert, word))
            snprintf(r->unknown + used, sizeof r->unknown - used, "%s%.70s", used ? ", " : "", key);
    } else if (make_value(r, from, end, key, &v))
        meaning_set(r->s, t, &v);
}

bool read_icnt(struct timing_settings *s, const struct source *in)
{
    struct reader r = {.s = s, .in = in};
    for (skip(&r); r.at < in->bytes; skip(&r)) {
        size_t from = r.at, n = 0;
        char key[71];
        while (from + n < in->bytes && !blank(in->text[from + n]) && !strchr("=;", in->text[from + n]))
            n++;
        snprintf(key, sizeof key, "%.*s", (int)(n < 70 ? n : 70), in->text + from);
        r.at = from + n;
        skip(&r);
        if (n == 0 || r.at >= in->bytes || in->text[r.at] != '=') {
            note_place(s, true, (struct place){in, (uint32_t)from}, NULL, "this is no setting of an interconnect; write  key = value;");
            while (r.at < in->bytes && in->text[r.at] != '\n')
                r.at++;
            continue;
        }
        r.at++;
        skip(&r);
        size_t value = r.at;
        while (r.at < in->bytes && !strchr(";\n", in->text[r.at]))
            r.at++;
        set_key(&r, key, value, r.at);
        if (r.at < in->bytes)
            r.at++;
    }
    if (*r.unknown)
        note_place(s, false, (struct place){in, 0}, NULL, "settings of the interconnect without effect here: %s", r.unknown);
    return true;
}
