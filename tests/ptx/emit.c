/* Making PTX of cases; see cases.h. */
#include "tests/ptx/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* %_t = the number of the thread in the launch, x first, blocks one after the other. */
static void put_thread_number(FILE *o, const struct test *t)
{
    static const char *const parts[] = {"%tid.y", "%tid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z"};
    const unsigned sizes[] = {t->block[1], t->block[2], t->grid[0], t->grid[1], t->grid[2]};
    unsigned step = t->block[0];
    fputs("mov.u32 %_t, %tid.x;\n", o);
    for (int i = 0; i < 5; step *= sizes[i++])
        if (sizes[i] > 1)
            fprintf(o, "mov.u32 %%_u, %s;\nmad.lo.u32 %%_t, %%_u, %u, %%_t;\n", parts[i], step);
}

static void put_load(FILE *o, const struct field *f)
{
    if (strcmp(f->type->name, "pred") == 0)
        fprintf(o, "ld.global.u32 %%_u, [%%_i+%u];\nsetp.ne.u32 %%%s, %%_u, 0;\n", f->offset, f->name);
    else if (strcmp(f->type->name, "b128") == 0)
        fprintf(o, "ld.global.v2.b64 {%%_x, %%_y}, [%%_i+%u];\nmov.b128 %%%s, {%%_x, %%_y};\n", f->offset, f->name);
    else
        fprintf(o, "ld.global.%s %%%s, [%%_i+%u];\n", f->type->move, f->name, f->offset);
}

static void put_store(FILE *o, const struct field *f, unsigned offset)
{
    if (strcmp(f->type->name, "pred") == 0)
        fprintf(o, "selp.u32 %%_u, 1, 0, %%%s;\nst.global.u32 [%%_o+%u], %%_u;\n", f->name, offset);
    else if (strcmp(f->type->name, "b128") == 0)
        fprintf(o, "mov.b128 {%%_x, %%_y}, %%%s;\nst.global.v2.b64 [%%_o+%u], {%%_x, %%_y};\n", f->name, offset);
    else
        fprintf(o, "st.global.%s [%%_o+%u], %%%s;\n", f->type->move, offset, f->name);
}

static void put_constant(FILE *o, const struct field *f, const struct value *v)
{
    unsigned long long low = v->bits[0], high = v->bits[1];
    if (strcmp(f->type->name, "pred") == 0)
        fprintf(o, "setp.ne.u32 %%%s, %llu, 0;\n", f->name, low);
    else if (strcmp(f->type->name, "b128") == 0)
        fprintf(o, "mov.b64 %%_x, 0x%llx;\nmov.b64 %%_y, 0x%llx;\nmov.b128 %%%s, {%%_x, %%_y};\n", low, high, f->name);
    else
        fprintf(o, "mov.b%u %%%s, 0x%llx;\n", f->type->bytes < 2 ? 16 : 8 * f->type->bytes, f->name, low);
}

static void put_registers(FILE *o, const struct test *t)
{
    fputs(".reg .b64 %_i, %_o, %_x, %_y, %buf;\n.reg .b32 %_t, %_u;\n", o);
    for (unsigned i = 0; i < t->n_in; i++)
        fprintf(o, ".reg .%s %%%s;\n", t->in[i].type->reg, t->in[i].name);
    for (unsigned i = 0; i < t->n_out; i++)
        fprintf(o, ".reg .%s %%%s;\n", t->out[i].type->reg, t->out[i].name);
    for (unsigned i = 0; i < t->n_images; i++)
        if (!t->images[i].reference)
            fprintf(o, ".reg .b64 %%%s;\n", t->images[i].name);
}

static void put_entry(FILE *o, const struct test *t, size_t number)
{
    fprintf(o, "// %s: %s\n.visible .entry c%zu(.param .u64 p_in, .param .u64 p_out, .param .u64 p_buf", t->file, t->name, number);
    for (unsigned i = 0; i < t->n_images; i++)
        fprintf(o, ", .param .u64 p_image%u", i);
    fputs(t->map ? ", .param .align 64 .b8 p_map[128])\n" : ")\n", o);
    if (t->cluster[0])
        fprintf(o, ".explicitcluster .reqnctapercluster %u, %u, %u\n", t->cluster[0], t->cluster[1] ? t->cluster[1] : 1,
                t->cluster[2] ? t->cluster[2] : 1);
    if (t->entry)
        fprintf(o, "%s\n", t->entry);
    fputs("{\n", o);
    put_registers(o, t);
    fputs("ld.param.u64 %_i, [p_in];\nld.param.u64 %_o, [p_out];\nld.param.u64 %buf, [p_buf];\n", o);
    for (unsigned i = 0; i < t->n_images; i++)
        if (!t->images[i].reference)
            fprintf(o, "ld.param.u64 %%%s, [p_image%u];\n", t->images[i].name, i);
    if (t->map)
        fputs(".reg .b64 %map;\nmov.b64 %map, p_map;\ncvta.param.u64 %map, %map;\n", o);
    put_thread_number(o, t);
    fprintf(o, "mad.wide.u32 %%_i, %%_t, %u, %%_i;\nmad.wide.u32 %%_o, %%_t, %u, %%_o;\n", t->in_stride, t->out_stride);
    for (unsigned i = 0; i < t->n_in; i++)
        put_load(o, &t->in[i]);
    fprintf(o, "%s\n", t->code);
    for (unsigned i = 0; i < t->n_out; i++)
        put_store(o, &t->out[i], t->out[i].offset);
    fputs("ret;\n}\n", o);
}

char *cases_ptx(const struct test *tests, size_t first, size_t count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *o = cases_must(open_memstream(&text, &size));
    fprintf(o, ".version %u.%u\n.target %s\n.address_size 64\n", tests[first].version / 10, tests[first].version % 10, tests[first].target);
    for (size_t i = 0; i < count; i++)
        if (tests[first + i].decl)
            fprintf(o, "%s\n", tests[first + i].decl);
    for (size_t i = 0; i < count; i++)
        put_entry(o, &tests[first + i], i);
    fclose(o);
    return cases_must(text);
}

char *case_ptx_constant(const struct test *tests, size_t i)
{
    const struct test *t = &tests[i];
    char *text = NULL;
    size_t size = 0;
    FILE *o = cases_must(open_memstream(&text, &size));
    fprintf(o, ".visible .entry c%zu(.param .u64 p)\n{\n", i);
    for (unsigned r = 0; r < t->n_rows; r++) {
        fputs("{\n", o);
        put_registers(o, t);
        fputs("ld.param.u64 %_o, [p];\n", o);
        for (unsigned k = 0; k < t->n_in; k++)
            put_constant(o, &t->in[k], &t->rows[r].in[k]);
        fprintf(o, "%s\n", t->code);
        for (unsigned k = 0; k < t->n_out; k++)
            put_store(o, &t->out[k], 32 * (r * t->n_out + k));
        fputs("}\n", o);
    }
    fputs("ret;\n}\n", o);
    fclose(o);
    return cases_must(text);
}
