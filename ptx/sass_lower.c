/* The lowering of a function from its machine code. */
#include <stdlib.h>
#include <string.h>

#include "ptx/sass_map.h"

/* ---- a statement per line ---------------------------------------------------------------------------------------------------------------- */

struct scan { const char *at, *end; uint32_t line, column; };

static void step(struct scan *s)
{
    s->column++;
    if (*s->at++ == '\n') {
        s->line++;
        s->column = 1;
    }
}

static bool begins(const struct scan *s, const char *two) { return s->end - s->at >= 2 && s->at[0] == two[0] && s->at[1] == two[1]; }

/* Behind a comment or string that begins here; false: none does. */
static bool skip(struct scan *s)
{
    bool line = begins(s, "//"), block = begins(s, "/*"), string = s->at < s->end && *s->at == '"';
    if (!line && !block && !string)
        return false;
    step(s);
    if (block)
        step(s);
    while (s->at < s->end && !(line && *s->at == '\n') && !(block && begins(s, "*/")) && !(string && *s->at == '"'))
        step(s);
    for (int n = block ? 2 : string ? 1 : 0; n && s->at < s->end; n--)
        step(s);
    return true;
}

enum status sass_text_make(struct sass_text *out, const char *ptx, size_t bytes, struct error *err)
{
    size_t most = 1;
    for (size_t i = 0; i < bytes; i++)
        most += ptx[i] == ';';
    *out = (struct sass_text){malloc(bytes + most + 1), 0, malloc(2 * most * sizeof *out->breaks), 0};
    if (!out->text || !out->breaks) {
        sass_text_free(out);
        return error_set(err, ST_OUT_OF_MEMORY, "no memory for the text that ptxas reads");
    }
    for (struct scan s = {ptx, ptx + bytes, 1, 1}; s.at < s.end;) {
        const char *from = s.at;
        if (skip(&s)) {
            memcpy(out->text + out->bytes, from, (size_t)(s.at - from));
            out->bytes += (size_t)(s.at - from);
            continue;
        }
        bool ends = *s.at == ';';
        out->text[out->bytes++] = *s.at;
        step(&s);
        if (ends) {
            out->text[out->bytes++] = '\n';
            out->breaks[2 * out->n_breaks] = s.line;
            out->breaks[2 * out->n_breaks++ + 1] = s.column;
        }
    }
    return ST_OK;
}

void sass_text_free(struct sass_text *t)
{
    free(t->text);
    free(t->breaks);
    *t = (struct sass_text){0};
}

uint32_t sass_text_line(const struct sass_text *t, uint32_t line, uint32_t column)
{
    uint32_t low = 0, high = t->n_breaks;      /* breaks at or before that place */
    while (low < high) {
        uint32_t m = (low + high) / 2, l = t->breaks[2 * m], c = t->breaks[2 * m + 1];
        if (l < line || (l == line && c <= column))
            low = m + 1;
        else
            high = m;
    }
    return line + low;
}

/* ---- counts ---------------------------------------------------------------------------------------------------------------------------------- */

struct place { uint32_t line, insn; };
struct counts { uint32_t of[PTX_CLASS_COUNT]; };

static int by_line(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->line != y->line ? (x->line < y->line ? -1 : 1) : x->insn < y->insn ? -1 : x->insn > y->insn;
}

/* Instruction at a line; n: none. */
static uint32_t find(const struct place *places, uint32_t n, uint32_t line)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t m = (low + high) / 2;
        if (places[m].line < line)
            low = m + 1;
        else
            high = m;
    }
    return low < n && places[low].line == line ? places[low].insn : n;
}

static bool is_texture(const struct ptx_insn *in) { return in->op == PTX_OP_TEX || in->op == PTX_OP_TLD4; }

static bool divides_64(const struct ptx_insn *in)
{
    return (in->op == PTX_OP_DIV || in->op == PTX_OP_REM) && in->n_types && ptx_type_bytes((enum ptx_type)in->types[0]) == 8 && in->types[0] != PTX_F64;
}

/* counts[n_insns]: of what belongs to no instruction. */
static void count(struct counts *counts, const struct sass_kernel *k, const struct place *places, const struct ptx_function *f)
{
    uint32_t texture = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        const struct sass_insn *s = &k->insns[i];
        uint32_t insn = find(places, f->n_insns, s->line);
        bool divides = insn < f->n_insns && divides_64(&f->insns[insn]);
        if (s->rare && !divides)
            continue;
        if (s->texture) {
            while (texture < f->n_insns && !is_texture(&f->insns[texture]))
                texture++;
            insn = texture < f->n_insns ? texture++ : insn;
        }
        counts[insn].of[s->class]++;
        if (divides)
            counts[insn].of[PTX_CLASS_INT] += s->callee;
    }
}

/* ---- loops that were copied ------------------------------------------------------------------------------------------------------------------- */

/* What becomes one machine instruction for each copy. */
static bool is_anchor(const struct ptx_insn *in)
{
    bool global = in->space == PTX_SPACE_GLOBAL || in->space == PTX_SPACE_SHARED;
    bool adds = (in->op == PTX_OP_ADD || in->op == PTX_OP_SUB) && in->n_types && ptx_type_kind((enum ptx_type)in->types[0]) == PTX_KIND_FLOAT;
    return in->op == PTX_OP_FMA || in->op == PTX_OP_ATOM || is_texture(in) || adds || ((in->op == PTX_OP_LD || in->op == PTX_OP_ST) && global);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* How often the body of a block that loops to itself is there: the median of its anchors. */
static uint32_t copies_of(const struct ptx_function *f, const struct ptx_block *b, const struct counts *counts)
{
    uint32_t seen[64], n = 0;
    const struct ptx_insn *last = &f->insns[b->last - 1];
    if (last->op != PTX_OP_BRA || last->operands[0].kind != PTX_OPERAND_LABEL || f->labels[last->operands[0].index].insn != b->first)
        return 1;
    for (uint32_t i = b->first; i < b->last && n < 64; i++) {
        uint32_t sum = 0;
        for (unsigned c = 0; c < PTX_CLASS_COUNT; c++)
            sum += c == PTX_CLASS_MOVE ? 0 : counts[i].of[c];
        if (is_anchor(&f->insns[i]) && sum)
            seen[n++] = sum;
    }
    qsort(seen, n, sizeof *seen, by_value);
    return n && seen[(n - 1) / 2] ? seen[(n - 1) / 2] : 1;
}

/* ---- groups ------------------------------------------------------------------------------------------------------------------------------------ */

/* Classes join others of the same unit until four are left. */
static void join(uint32_t n[PTX_CLASS_COUNT])
{
    static const uint8_t into[][2] = {{PTX_CLASS_SYNC, PTX_CLASS_CTRL}, {PTX_CLASS_UNIFORM, PTX_CLASS_INT}, {PTX_CLASS_MOVE, PTX_CLASS_INT}, {PTX_CLASS_FP16, PTX_CLASS_FP32},
                                      {PTX_CLASS_CTRL, PTX_CLASS_INT}};
    for (size_t i = 0; i < sizeof into / sizeof *into; i++) {
        unsigned present = 0;
        for (unsigned k = 0; k < PTX_CLASS_COUNT; k++)
            present += n[k] != 0;
        if (present <= PTX_GROUPS)
            return;
        n[into[i][1]] += n[into[i][0]];
        n[into[i][0]] = 0;
    }
}

/* At most four, those that have most first. */
static void groups_of(struct ptx_lowered *out, const struct counts *c, uint32_t copies, uint32_t carry[PTX_CLASS_COUNT])
{
    uint32_t n[PTX_CLASS_COUNT], rest = 0;
    *out = (struct ptx_lowered){0};
    for (unsigned k = 0; k < PTX_CLASS_COUNT; k++) {
        uint32_t sum = 100 * c->of[k] / copies + carry[k];
        n[k] = copies == 1 ? c->of[k] : (sum + 50) / 100;
        carry[k] = copies == 1 ? carry[k] : sum > 100 * n[k] ? sum - 100 * n[k] : 0;
        rest += n[k];
    }
    join(n);
    while (out->n_groups < PTX_GROUPS) {
        unsigned best = 0;
        for (unsigned k = 1; k < PTX_CLASS_COUNT; k++)
            best = n[k] > n[best] ? k : best;
        if (!n[best])
            break;
        uint32_t some = n[best] < 255 ? n[best] : 255;
        out->groups[out->n_groups++] = (struct ptx_group){(uint8_t)best, (uint8_t)some};
        n[best] -= some;
        rest -= some;
    }
    if (rest) {
        struct ptx_group *last = &out->groups[out->n_groups - 1];
        last->count = (uint8_t)(last->count + rest < 255 ? last->count + rest : 255);
    }
    out->folded = out->n_groups == 0;
}

static void fill(struct ptx_lowering *out, const struct counts *counts, const struct ptx_function *f, const struct ptx_cfg *cfg)
{
    uint32_t carry[PTX_CLASS_COUNT] = {0};
    for (uint32_t b = 0; b < cfg->n_blocks; b++) {
        const struct ptx_block *block = &cfg->blocks[b];
        uint32_t copies = block->last > block->first ? copies_of(f, block, counts) : 1;
        for (uint32_t i = block->first; i < block->last; i++)
            groups_of(&out->insns[i], &counts[i], copies, carry);
    }
    groups_of(&out->entry, &counts[f->n_insns], 1, carry);
}

enum status sass_map_lower(struct ptx_lowering *out, const struct sass_kernel *k, const struct sass_text *t, const struct ptx_function *f,
                           const struct ptx_cfg *cfg, struct arena *a, struct error *err)
{
    struct place *places = malloc((f->n_insns + 1) * sizeof *places);
    struct counts *counts = calloc(f->n_insns + 1, sizeof *counts);
    *out = (struct ptx_lowering){.insns = arena_alloc(a, (f->n_insns + 1) * sizeof *out->insns), .n_insns = f->n_insns};
    enum status st = places && counts && out->insns ? ST_OK : error_set(err, ST_OUT_OF_MEMORY, "no memory for the lowering of '%s'", f->name);
    if (st == ST_OK) {
        for (uint32_t i = 0; i < f->n_insns; i++)
            places[i] = (struct place){sass_text_line(t, f->insns[i].line, f->insns[i].column), i};
        qsort(places, f->n_insns, sizeof *places, by_line);
        count(counts, k, places, f);
        fill(out, counts, f, cfg);
    }
    free(places);
    free(counts);
    return st;
}
