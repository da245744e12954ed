/* Reports: what went wrong, in which thread, at which instruction. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emu/flow.h"
#include "runtime/base/symbol.h"

struct text { char *at; size_t left; };

static void __attribute__((format(printf, 2, 3))) say(struct text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(t->at, t->left, fmt, ap);
    va_end(ap);
    size_t used = n < 0 ? 0 : (size_t)n < t->left ? (size_t)n : t->left - (t->left > 0);
    t->at += used;
    t->left -= used;
}

static void say_place(struct text *t, const struct insn *in, const struct warp *w, const struct emu_grid *g)
{
    const struct ptx_module *m = kernel_module(g->kernel);
    const struct ptx_function *f = w->code->function;
    if (in->ptx >= f->n_insns) return;
    const struct ptx_insn *p = &f->insns[in->ptx];
    char insn[256], source[256];
    ptx_insn_print(m, f, p, insn, sizeof insn);
    ptx_source_line(m, f, p, source, sizeof source);
    say(t, "\n  instruction  %s", insn);
    if (source[0]) say(t, "\n  source       %s", source);
    say(t, "\n  ptx          %s:%u", m->name, p->line);
    if (f != g->code->function) say(t, ", in %s", f->name);
}

static void say_calls(struct text *t, const struct warp *w)
{
    unsigned depth = 0;
    for (const struct activation *a = w->flow->act; a && a->parent; a = a->parent)
        if (depth++ < 4) say(t, "\n  called from  %s", a->parent->code->function->name);
    if (depth > 4) say(t, "\n  .. and %u more calls", depth - 4);
}

const struct insn *insn_fault(const struct insn *in, struct warp *w, struct ctx *c, uint32_t lane, enum status st, const char *fmt, ...)
{
    struct emu_fault *f = &c->fault;
    const struct emu_launch *l = &c->grid->launch;
    uint32_t thread = w->number * WARP_SIZE + lane;
    *f = (struct emu_fault){ .status = st };
    memcpy(f->ctaid, w->cta->ctaid, sizeof f->ctaid);
    f->tid[0] = thread % l->block[0];
    f->tid[1] = thread / l->block[0] % l->block[1];
    f->tid[2] = thread / l->block[0] / l->block[1];
    struct text t = { f->report, sizeof f->report };
    va_list ap;
    say(&t, "%s: ", status_text(st));
    va_start(ap, fmt);
    int n = vsnprintf(t.at, t.left, fmt, ap);
    va_end(ap);
    size_t used = n < 0 ? 0 : (size_t)n < t.left ? (size_t)n : t.left - 1;
    t.at += used;
    t.left -= used;
    char kernel[256];
    say(&t, "\n  kernel       %s", symbol_demangle(c->grid->code->function->name, kernel, sizeof kernel));
    say(&t, "\n  block        (%u, %u, %u) of (%u, %u, %u)", f->ctaid[0], f->ctaid[1], f->ctaid[2], l->grid[0], l->grid[1], l->grid[2]);
    say(&t, "\n  thread       (%u, %u, %u) of (%u, %u, %u)", f->tid[0], f->tid[1], f->tid[2], l->block[0], l->block[1], l->block[2]);
    say_place(&t, in, w, c->grid);
    say_calls(&t, w);
    w->state = WARP_FAULT;
    w->next = in;
    return NULL;
}
