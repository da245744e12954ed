/* Control flow of one body: blocks, successors, immediate post-dominators. */
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

static bool ends_block(const struct ptx_insn *in)
{
    return in->op == PTX_OP_BRA || in->op == PTX_OP_BRX || in->op == PTX_OP_RET || in->op == PTX_OP_EXIT || in->op == PTX_OP_TRAP;
}

/* Instruction numbers that a branch may go to: n of them from *list. */
static uint32_t branch_targets(const struct ptx_function *f, const struct ptx_insn *in, const int32_t **list)
{
    if (in->op == PTX_OP_BRA) {
        *list = &in->operands[0].index;
        return 1;
    }
    for (uint32_t i = 0; in->op == PTX_OP_BRX && i < f->n_targets; i++)
        if (!f->targets[i].calls && f->targets[i].at_label == (uint32_t)in->operands[1].index) {
            *list = f->targets[i].index;
            return f->targets[i].n;
        }
    return 0;
}

static uint32_t target_insn(const struct ptx_function *f, int32_t label)
{
    return label >= 0 && (uint32_t)label < f->n_labels ? f->labels[label].insn : f->n_insns;
}

/* block_of as 0/1 marks of first instructions, then as numbers. */
static uint32_t number_blocks(const struct ptx_function *f, uint32_t *block_of)
{
    const int32_t *list = NULL;
    uint32_t n = 0;
    if (f->n_insns)
        block_of[0] = 1;
    for (uint32_t i = 0; i < f->n_insns; i++) {
        const struct ptx_insn *in = &f->insns[i];
        if (ends_block(in) && i + 1 < f->n_insns)
            block_of[i + 1] = 1;
        for (uint32_t k = branch_targets(f, in, &list); k-- > 0;)
            if (target_insn(f, list[k]) < f->n_insns)
                block_of[target_insn(f, list[k])] = 1;
    }
    for (uint32_t i = 0; i < f->n_insns; i++) {
        n += block_of[i];
        block_of[i] = n - 1;
    }
    return n;
}

/* Adds the block of an instruction to b's successors, once; beyond the last one the path leaves. */
static void add_succ(const struct ptx_function *f, const struct ptx_cfg *c, struct ptx_block *b, uint32_t insn)
{
    if (insn >= f->n_insns) {
        b->falls_out = true;
        return;
    }
    uint32_t to = c->block_of[insn];
    for (uint32_t i = 0; i < b->n_succ; i++)
        if (b->succ[i] == to)
            return;
    b->succ[b->n_succ++] = to;
}

static bool find_succs(const struct ptx_function *f, const struct ptx_cfg *c, struct ptx_block *b, struct arena *a)
{
    const struct ptx_insn *in = &f->insns[b->last - 1];
    const int32_t *list = NULL;
    uint32_t n = branch_targets(f, in, &list);
    b->succ = arena_alloc(a, (n + 1) * sizeof *b->succ);
    if (!b->succ)
        return false;
    for (uint32_t i = 0; i < n; i++)
        add_succ(f, c, b, target_insn(f, list[i]));
    if (in->op == PTX_OP_RET || in->op == PTX_OP_EXIT || in->op == PTX_OP_TRAP)
        b->falls_out = true;
    if (!ends_block(in) || in->guard >= 0)
        add_succ(f, c, b, b->last);
    return true;
}

/* ---- post-dominators: Cooper, Harvey and Kennedy over the reversed graph; node n is the exit ---------------- */

struct reverse { uint32_t *first, *pred, *order, *rank, *stack, *cursor; int32_t *ipdom; uint32_t n; };

static void count_preds(const struct ptx_cfg *c, struct reverse *r)
{
    for (uint32_t b = 0; b < r->n; b++) {
        for (uint32_t i = 0; i < c->blocks[b].n_succ; i++)
            r->first[c->blocks[b].succ[i] + 1]++;
        r->first[r->n + 1] += c->blocks[b].falls_out;
    }
    for (uint32_t b = 0; b <= r->n; b++)
        r->first[b + 1] += r->first[b];
    memcpy(r->cursor, r->first, (r->n + 1) * sizeof *r->cursor);
    for (uint32_t b = 0; b < r->n; b++) {
        for (uint32_t i = 0; i < c->blocks[b].n_succ; i++)
            r->pred[r->cursor[c->blocks[b].succ[i]]++] = b;
        if (c->blocks[b].falls_out)
            r->pred[r->cursor[r->n]++] = b;
    }
}

/* Postorder of the reversed graph from the exit; rank is the place in it, UINT32_MAX for blocks that never leave. */
static uint32_t walk(struct reverse *r)
{
    uint32_t depth = 0, n = 0;
    memset(r->rank, 0xff, (r->n + 1) * sizeof *r->rank);
    memcpy(r->cursor, r->first, (r->n + 1) * sizeof *r->cursor);
    r->stack[depth++] = r->n;
    r->rank[r->n] = 0;             /* seen */
    while (depth) {
        uint32_t b = r->stack[depth - 1];
        if (r->cursor[b] < r->first[b + 1]) {
            uint32_t to = r->pred[r->cursor[b]++];
            if (r->rank[to] == UINT32_MAX) {
                r->rank[to] = 0;
                r->stack[depth++] = to;
            }
        } else {
            depth--;
            r->order[n] = b;
            r->rank[b] = n++;
        }
    }
    return n;
}

static int32_t meet(const struct reverse *r, int32_t a, int32_t b)
{
    while (a != b) {
        while (r->rank[a] < r->rank[b])
            a = r->ipdom[a];
        while (r->rank[b] < r->rank[a])
            b = r->ipdom[b];
    }
    return a;
}

static void post_dominate(struct ptx_cfg *c, struct reverse *r)
{
    count_preds(c, r);
    uint32_t n = walk(r);
    for (uint32_t b = 0; b <= r->n; b++)
        r->ipdom[b] = -1;
    r->ipdom[r->n] = (int32_t)r->n;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = n - 1; k-- > 0;) {       /* reverse postorder, the exit left out */
            uint32_t b = r->order[k];
            const struct ptx_block *block = &c->blocks[b];
            int32_t d = block->falls_out ? (int32_t)r->n : -1;
            for (uint32_t i = 0; i < block->n_succ; i++) {
                int32_t s = (int32_t)block->succ[i];
                if (r->ipdom[s] >= 0)
                    d = d < 0 ? s : meet(r, d, s);
            }
            changed |= d != r->ipdom[b];
            r->ipdom[b] = d;
        }
    }
    for (uint32_t b = 0; b < r->n; b++)
        c->blocks[b].ipdom = r->ipdom[b] == (int32_t)r->n ? -1 : r->ipdom[b];
}

static bool find_ipdoms(struct ptx_cfg *c)
{
    size_t n = c->n_blocks, edges = 0;
    for (size_t b = 0; b < n; b++)
        edges += c->blocks[b].n_succ + 1;
    uint32_t *memory = calloc(6 * (n + 2) + edges, sizeof *memory);
    if (!memory)
        return false;
    struct reverse r = { .n = (uint32_t)n, .first = memory, .order = memory + (n + 2), .rank = memory + 2 * (n + 2), .stack = memory + 3 * (n + 2),
                         .cursor = memory + 4 * (n + 2), .ipdom = (int32_t *)(memory + 5 * (n + 2)), .pred = memory + 6 * (n + 2) };
    post_dominate(c, &r);
    free(memory);
    return true;
}

enum status ptx_cfg_build(struct ptx_cfg *out, const struct ptx_function *f, struct arena *a, struct error *err)
{
    bool ok = true;
    *out = (struct ptx_cfg){ 0 };
    if (!f->parsed || f->body_status != ST_OK)
        return error_set(err, ST_INVALID_VALUE, "the body of '%s' is not parsed", f->name);
    if (f->n_insns == 0)
        return ST_OK;
    out->block_of = arena_alloc(a, f->n_insns * sizeof *out->block_of);
    if (out->block_of) {
        out->n_blocks = number_blocks(f, out->block_of);
        out->blocks = arena_alloc(a, out->n_blocks * sizeof *out->blocks);
    }
    if (!out->block_of || !out->blocks)
        return error_set(err, ST_OUT_OF_MEMORY, "no memory for the control flow of '%s'", f->name);
    for (uint32_t i = 0; i < f->n_insns; i++) {
        struct ptx_block *b = &out->blocks[out->block_of[i]];
        if (b->last == 0)
            b->first = i;
        b->last = i + 1;
    }
    for (uint32_t b = 0; b < out->n_blocks && ok; b++)
        ok = find_succs(f, out, &out->blocks[b], a);
    if (!ok || !find_ipdoms(out))
        return error_set(err, ST_OUT_OF_MEMORY, "no memory for the control flow of '%s'", f->name);
    return ST_OK;
}
