/* Lanes of one atomic, for values of BITS bits. Included by emu/mem_atom.c once per size; no include guard on purpose. */
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define T JOIN(JOIN(uint, BITS), _t)
#define FN(name) JOIN(name, BITS)

typedef T FN(step)(T old, T x, T y);

/* One element of the lanes in mask. d (NULL: not wanted), x and y are rows. The first look at memory may be stale: swap checks it. */
static inline __attribute__((always_inline)) void FN(combine)(FN(step) *step, char *const at[], uint32_t mask, T *d, const T *x, const T *y, bool parallel)
{
    bool same = true;
    T *p = (T *)(void *)at[__builtin_ctz(mask)];
    for (uint32_t m = mask; m; m &= m - 1)
        same &= at[__builtin_ctz(m)] == (char *)p;
    if (same) {                                /* combine in registers, write once */
        T before[WARP_SIZE], old = FN(peek)(p), now;
        do {
            now = old;
            for (uint32_t m = mask; m; m &= m - 1) {
                uint32_t l = (uint32_t)__builtin_ctz(m);
                before[l] = now;
                now = step(now, x[l], y[l]);
            }
        } while (parallel && !FN(swap)(p, &old, now));
        if (!parallel)
            *p = now;
        for (uint32_t m = d ? mask : 0; m; m &= m - 1)
            d[__builtin_ctz(m)] = before[__builtin_ctz(m)];
        return;
    }
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(m);
        p = (T *)(void *)at[l];
        T old = FN(peek)(p);
        if (parallel) {
            while (!FN(swap)(p, &old, step(old, x[l], y[l])))
                ;
        } else {
            *p = step(old, x[l], y[l]);
        }
        if (d)
            d[l] = old;
    }
}

/* step for global memory, step_shared for shared memory: they differ for f32 only. */
static inline __attribute__((always_inline)) const struct insn *FN(run)(FN(step) *step, FN(step) *step_shared, const struct insn *in, struct warp *w,
                                                                        struct ctx *c)
{
    struct lanes a;
    if (!begin(in, w, c, sizeof(T), &a))
        return a.mask ? NULL : in + 1;
    uint32_t shared = 0;
    if (step != step_shared)
        for (uint32_t m = a.mask; m; m &= m - 1)
            shared |= (uint32_t)cluster_has(c->cta, a.at[__builtin_ctz(m)]) << __builtin_ctz(m);
    for (unsigned i = 0; i < a.n; i++) {
        T *d = a.d[i] ? row(w, a.d[i]) : NULL;
        const T *x = row(w, a.x[i]), *y = row(w, a.y);
        if (a.mask & ~shared)
            FN(combine)(step, a.at, a.mask & ~shared, d, x, y, a.parallel);
        if (step != step_shared && shared)
            FN(combine)(step_shared, a.at, shared, d, x, y, a.parallel);
        for (uint32_t m = a.n > 1 ? a.mask : 0; m; m &= m - 1)
            a.at[__builtin_ctz(m)] += sizeof(T);
    }
    return in + 1;
}

#undef FN
#undef T
#undef JOIN
#undef JOIN_
#undef BITS
