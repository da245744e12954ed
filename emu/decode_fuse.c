/* The last pass over the records of a function: groups that one handler runs. See emu/fuse.h. */
#include "emu/fuse.h"
#include "emu/decoder.h"
#include "emu/isa.h"
#include "emu/lane.h"
#include "emu/mem.h"
#include "emu/mma.h"

enum { MOST = 3 };                             /* records of a group */
enum part { PART_NONE, PART_LOAD, PART_FMA, PART_WIDE_U, PART_WIDE_S, PART_ADD64, PARTS };

const fuse_table *fuse_handlers(void)
{
    static const fuse_table *const tables[ISA_COUNT] = { &fuse_base, &fuse_avx2, &fuse_avx512 };
    return tables[isa_level()];
}

/* What the records must be to each other. A fused handler reads the sources of the last one before it writes anything, and writes in order. */
static bool multiplies_loads(const struct insn *in)
{
    uint32_t x = in[0].d, y = in[1].d;
    const struct insn *f = &in[2];
    return x != y && ((f->a == x && f->b == y) || (f->a == y && f->b == x)) && f->c != x && f->c != y;
}

static bool adds_product(const struct insn *in) { return (in[1].a == in[0].d) != (in[1].b == in[0].d); }

static const struct pattern {
    enum fuse_id id;
    enum part part[MOST];
    bool (*fits)(const struct insn *in);       /* NULL: they always do */
    bool all_passed;                           /* worth it only when nothing but the last record's value need be stored */
    uint32_t step;                             /* records to go on by: 1 where groups overlap */
} patterns[] = {
    { FUSE_LOAD_LOAD_FMA, { PART_LOAD, PART_LOAD, PART_FMA }, multiplies_loads, false, 3 },
    { FUSE_FMA_FMA, { PART_FMA, PART_FMA }, NULL, false, 1 },
    { FUSE_WIDE_ADD_U, { PART_WIDE_U, PART_ADD64 }, adds_product, true, 2 },
    { FUSE_WIDE_ADD_S, { PART_WIDE_S, PART_ADD64 }, adds_product, true, 2 } };

static uint32_t length_of(const struct pattern *p)
{
    uint32_t n = 1;
    while (n < MOST && p->part[n]) n++;
    return n;
}

static bool matches(const struct pattern *p, const struct insn *in, uint32_t left, const handler parts[PARTS])
{
    uint32_t n = length_of(p);
    if (n > left) return false;
    for (uint32_t i = 0; i < n; i++)
        if (in[i].full != parts[p->part[i]]) return false;
    return !p->fits || p->fits(in);
}

/* Whether nothing but record `user`, in the same stretch of straight code, reads what `in` writes. */
static bool is_passed(const struct decoder *d, const struct insn *in, const struct insn *user)
{
    const struct ptx_operand *to = &d->f->insns[in->ptx].operands[0];
    const struct ptx_insn *u = &d->f->insns[user->ptx];
    if (d->k->image->keep_rows || to->kind != PTX_OPERAND_REG || d->cfg.block_of[in->ptx] != d->cfg.block_of[user->ptx]) return false;
    const struct reg_info *r = &d->regs[to->index];
    if (r->n_defs != 1 || r->n_uses != 1 || r->row != in->d) return false;
    for (unsigned i = 1; i < u->n_operands; i++)
        if (u->operands[i].kind == PTX_OPERAND_REG && u->operands[i].index == to->index) return true;
    return false;                              /* read through a copy */
}

static uint32_t fuse_at(struct decoder *d, struct insn *in, uint32_t left, const handler parts[PARTS])
{
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        const struct pattern *p = &patterns[i];
        if (!matches(p, in, left, parts)) continue;
        uint32_t n = length_of(p), passed = 0;
        for (uint32_t k = 0; p->fits && k + 1 < n; k++)
            if (is_passed(d, &in[k], &in[n - 1])) {
                in[k].extra |= FUSE_PASSED;
                passed++;
            }
        if (p->all_passed && passed + 1 < n) continue;
        in->full = (*fuse_handlers())[p->id];
        return p->step;
    }
    return 1;
}

void decode_fuse(struct decoder *d)
{
    const handler parts[PARTS] = {
        [PART_LOAD] = mem_handlers_of(MEM_EXTRA(MEM_32, 0, MEM_SHARED, MEM_ROW32, MEM_KNOWN)).full, [PART_FMA] = lane_handlers(LANE_fma_f32).full,
        [PART_WIDE_U] = lane_handlers(LANE_mul_wide_u32).full, [PART_WIDE_S] = lane_handlers(LANE_mul_wide_s32).full,
        [PART_ADD64] = lane_handlers(LANE_add_u64).full };
    if (d->k->image->keep_copies) return;      /* a debugger stops at each of them */
    uint32_t n = (uint32_t)d->out.n;
    for (uint32_t i = 0; i < n;) {
        struct insn *in = &d->out.at[i];
        i += mma_groups(in) ? decode_mma_group(d, in, n - i) : fuse_at(d, in, n - i, parts);
    }
}
