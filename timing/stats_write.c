/* Statistics as text, JSON and CSV. */
#include "timing/stats_internal.h"

#include <inttypes.h>

#include "runtime/base/json.h"

static void number_text(struct textbuf *out, struct stat_number v)
{
    if (v.whole)
        textbuf_add(out, "%20" PRIu64, v.u);
    else
        textbuf_add(out, "%20.4f", v.d);
}

void timing_stats_text(struct textbuf *out, const struct timing_report *r)
{
    if (r->kernel)
        textbuf_add(out, "kernel %s, launch %" PRIu64 ", stream %" PRIu64 "\n", r->kernel, r->launch, r->stream);
    for (size_t i = 0; i < timing_stat_count(); i++) {
        struct stat_number v = stat_number(i, r->kernel ? r->window : r->total);
        if (!stat_is_number(i) || v.d == 0)
            continue;
        textbuf_add(out, "  %-32s", timing_stat_rows[i].name);
        number_text(out, v);
        textbuf_add(out, "%s%s\n", *timing_stat_rows[i].unit ? "  " : "", timing_stat_rows[i].unit);
    }
}

/* ---- JSON ---- */

static void json_cells(struct json *j, size_t i, const struct timing_stats *s)
{
    const struct stat_row *r = &timing_stat_rows[i];
    const uint64_t *words = stat_words(i, s);
    char name[32], column_name[32];
    json_object(j, r->name);
    for (unsigned row = 0; row < r->rows; row++) {
        bool open = false;
        for (unsigned column = 0; column < r->columns; column++) {
            uint64_t v = words[row * r->columns + column];
            if (!v)
                continue;
            const char *row_name = stat_cell_name(r->row_names, row, name, sizeof name);
            if (r->columns == 1) {
                json_u64(j, row_name, v);
                continue;
            }
            if (!open)
                json_object(j, row_name);
            open = true;
            json_u64(j, stat_cell_name(r->column_names, column, column_name, sizeof column_name), v);
        }
        if (open)
            json_end(j);
    }
    json_end(j);
}

static void json_stats(struct json *j, const char *name, const struct timing_stats *s)
{
    json_object(j, name);
    for (size_t i = 0; i < timing_stat_count(); i++) {
        if (!stat_is_number(i)) {
            json_cells(j, i, s);
            continue;
        }
        struct stat_number v = stat_number(i, s);
        if (v.whole)
            json_u64(j, timing_stat_rows[i].name, v.u);
        else
            json_real(j, timing_stat_rows[i].name, v.d);
    }
    json_end(j);
}

void timing_stats_json(struct textbuf *out, const struct timing_report *r)
{
    struct json j = json_to(out);
    json_object(&j, NULL);
    json_u64(&j, "schema", 1);
    json_text(&j, "gpu", r->config->gpu.name);
    json_text(&j, "kernel", r->kernel);
    if (r->kernel) {
        json_u64(&j, "launch", r->launch);
        json_u64(&j, "stream", r->stream);
        json_stats(&j, "window", r->window);
    }
    json_stats(&j, "total", r->total);
    json_end(&j);
}

/* ---- CSV ---- */

void timing_stats_csv_head(struct textbuf *out)
{
    textbuf_add(out, "kernel,launch,stream");
    for (size_t i = 0; i < timing_stat_count(); i++)
        if (stat_is_number(i))
            textbuf_add(out, ",%s", timing_stat_rows[i].name);
    textbuf_add(out, "\n");
}

void timing_stats_csv(struct textbuf *out, const struct timing_report *r)
{
    textbuf_add_bytes(out, "\"", 1);
    for (const char *p = r->kernel ? r->kernel : ""; *p; p++)
        textbuf_add(out, *p == '"' ? "\"\"" : "%c", *p);
    textbuf_add(out, "\",%" PRIu64 ",%" PRIu64, r->launch, r->stream);
    for (size_t i = 0; i < timing_stat_count(); i++) {
        if (!stat_is_number(i))
            continue;
        struct stat_number v = stat_number(i, r->kernel ? r->window : r->total);
        if (v.whole)
            textbuf_add(out, ",%" PRIu64, v.u);
        else
            textbuf_add(out, ",%.9g", v.d);
    }
    textbuf_add(out, "\n");
}
