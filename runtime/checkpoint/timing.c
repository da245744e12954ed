#include "runtime/checkpoint/timing.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/textbuf.h"
#include "timing/timing.h"

static struct grid_run *run_of(const struct op *op) { return op->u.launch.run; }

/* ---- names of what the state refers to ---- */

static uint32_t kernel_number(void *user, const void *kernel)
{
    const struct timing_names *n = user;
    uint32_t i = 0;
    while (i < n->n_begun && &run_of(n->begun[i])->sim != kernel)
        i++;
    return i;
}

static bool function_number(void *user, const struct ptx_function *f, uint32_t number[2])
{
    const struct timing_names *n = user;
    for (uint32_t i = 0; i < n->n_modules; i++) {
        const struct ptx_module *m = n->modules[i]->code->ptx;
        if (f >= m->functions && f < m->functions + m->n_functions) {
            number[0] = i;
            number[1] = (uint32_t)(f - m->functions);
            return true;
        }
    }
    return false;
}

static bool kernel(void *user, uint32_t number, struct timing_kernel_spec *spec)
{
    const struct timing_names *n = user;
    if (number >= n->n_begun)
        return false;
    sim_links(run_of(n->begun[number]), spec);
    return true;
}

static const struct ptx_function *function(void *user, const uint32_t number[2])
{
    const struct timing_names *n = user;
    struct ptx_module *m = number[0] < n->n_modules ? n->modules[number[0]]->code->ptx : NULL;
    return m && number[1] < m->n_functions && ptx_function_body(m, number[1], NULL) == ST_OK ? &m->functions[number[1]] : NULL;
}

static struct emu_cta *resident(void *user, const void *kernel, struct emu_worker *w)
{
    const struct timing_names *n = user;
    struct resident c = {0};
    uint32_t i = kernel_number(user, kernel);
    return i < n->n_begun && grid_next_resident(run_of(n->begun[i]), w, UINT32_MAX, false, &c, NULL) == ST_OK ? c.cta : NULL;
}

static struct timing_links links_of(const struct timing_names *n)
{
    return (struct timing_links){(void *)(uintptr_t)n, kernel_number, function_number, kernel, function, resident};
}

/* ---- launches: what of them is the simulated GPU's ---- */

/* Where the numbers of its starts and instructions begin: those of a run that went on from a checkpoint without a state count from there. */
static void put_begun(struct sink *to, const struct grid_run *r)
{
    const struct grid_state *f = r->from;
    const uint64_t facts[] = {f ? f->next - f->n_residents : 0, f ? f->done : 0, f ? f->thread_insns : 0, f ? f->warp_insns : 0,
                              r->sim.done, r->sim.cycles, r->sim.thread_insns, r->sim.warp_insns, r->sim.ctas, r->sim.stream};
    put(to, facts, sizeof facts);
    put(to, &r->sim.sms, sizeof r->sim.sms);
}

static bool get_begun(struct source *from, struct grid_run *r)
{
    uint64_t facts[10];
    get(from, facts, sizeof facts);
    r->from->next = facts[0];
    r->from->n_residents = 0;
    r->from->done = facts[1];
    r->from->thread_insns = facts[2];
    r->from->warp_insns = facts[3];
    r->sim.done = facts[4] != 0;
    r->sim.cycles = facts[5];
    r->sim.thread_insns = facts[6];
    r->sim.warp_insns = facts[7];
    r->sim.ctas = facts[8];
    r->sim.stream = facts[9];
    return get(from, &r->sim.sms, sizeof r->sim.sms);
}

/* ---- whose turn it is ---- */

static size_t place_of(const struct timing_names *n, const struct op *op)
{
    size_t i = 0;
    while (i < n->n_begun && n->begun[i] != op)
        i++;
    return i;
}

static bool put_turns(struct sink *to, const struct timing_names *n)
{
    struct queue_turns t;
    bool good = queue_turns(&t);
    put_u32(to, (uint32_t)t.streams.n);
    for (size_t i = 0; i < t.streams.n; i++)
        put_u64(to, t.streams.at[i]);
    put_u32(to, (uint32_t)t.running.n);
    for (size_t i = 0; i < t.running.n; i++)
        put_u32(to, (uint32_t)place_of(n, t.running.at[i]));
    put_u32(to, (uint32_t)t.turn);
    queue_turns_free(&t);
    return good;
}

static bool get_turns(struct source *from, const struct timing_names *n, struct queue_turns *t)
{
    *t = (struct queue_turns){.turn = 0};
    for (uint32_t k = get_u32(from); k && !from->failed; k--)
        if (!vec_push(&t->streams, get_u64(from)))
            return false;
    for (uint32_t k = get_u32(from); k && !from->failed; k--) {
        uint32_t i = get_below(from, (uint32_t)n->n_begun);
        if (!from->failed && !vec_push(&t->running, n->begun[i]))
            return false;
    }
    t->turn = get_u32(from);
    return !from->failed;
}

/* ---- the section ---- */

static enum status put_gpus(struct sink *to, const struct timing_names *n, struct error *err)
{
    struct timing_links links = links_of(n);
    enum status st = ST_OK;
    for (int i = 0; i < the.n_devices && st == ST_OK; i++) {
        if (!the.devices[i].gpu)
            continue;
        put_u8(to, 1);
        put_u32(to, (uint32_t)i);
        st = sim_save(&the.devices[i], &links, to, err);
    }
    put_u8(to, 0);
    return st;
}

enum status timing_save(struct hck_writer *w, const struct timing_names *names, struct error *err)
{
    struct textbuf configuration = {0};
    enum status st = sim_configuration(&configuration, err);
    if (st != ST_OK)
        return st;
    struct sink *to = hck_section(w, HCK_TIMING);
    put_u64(to, configuration.n);
    put(to, configuration.at, configuration.n);
    textbuf_free(&configuration);
    put_u32(to, (uint32_t)names->n_begun);
    for (size_t i = 0; i < names->n_begun; i++)
        put_begun(to, run_of(names->begun[i]));
    transfers_save(to);
    if (!put_turns(to, names))
        to->failed = true;
    return put_gpus(to, names, err);
}

/* The first line that differs. */
static enum status compare(const char *then, const char *now, struct error *err)
{
    while (*then && *now) {
        size_t a = strcspn(then, "\n"), b = strcspn(now, "\n");
        if (a != b || memcmp(then, now, a) != 0) {
            error_set(err, ST_INVALID_VALUE, "the timing state in the checkpoint is of another simulated GPU: %.*s there, %.*s here", (int)a, then, (int)b, now);
            error_hint(err, "--cold goes on with the blocks alone, in cold caches");
            return ST_INVALID_VALUE;
        }
        then += a + (then[a] != 0);
        now += b + (now[b] != 0);
    }
    return ST_OK;
}

/* The section from behind the configuration on; NULL: err. then: may be NULL. */
static enum status open_section(struct source *from, char **then, struct error *err)
{
    enum { MOST = 1 << 20 };
    uint64_t n = get_u64(from);
    *then = n < MOST ? calloc(n + 1, 1) : NULL;
    return *then && get(from, *then, n) ? ST_OK : error_set(err, ST_INVALID_IMAGE, "the timing state in the checkpoint makes no sense");
}

static const char build[] = "heddle " HEDDLE_VERSION;      /* as file.c has it */

enum status timing_wanted(struct hck_reader *r, bool *wanted, struct error *err)
{
    struct source *from = sim_on() && !rt_knobs()->cold ? hck_find(r, HCK_TIMING) : NULL;
    struct textbuf now = {0};
    char *then = NULL;
    *wanted = false;
    if (!from)
        return ST_OK;
    if (strcmp(hck_head(r)->build, build) != 0) {
        error_set(err, ST_NOT_SUPPORTED, "the timing state in the checkpoint was written by %s, this is %s: cycles may mean something else", hck_head(r)->build, build);
        error_hint(err, "--cold goes on with the blocks alone, in cold caches");
        return ST_NOT_SUPPORTED;
    }
    enum status st = open_section(from, &then, err);
    if (st == ST_OK)
        st = sim_configuration(&now, err);
    if (st == ST_OK)
        st = compare(then, now.at ? now.at : "", err);
    free(then);
    textbuf_free(&now);
    *wanted = st == ST_OK;
    sim_await_state(*wanted);
    return st;
}

static enum status get_gpus(struct source *from, const struct timing_names *n, struct error *err)
{
    struct timing_links links = links_of(n);
    while (get_u8(from) == 1) {
        struct device *d = device_at((int)get_u32(from));
        enum status st = d ? sim_load(d, &links, from, err) : ST_INVALID_DEVICE;
        if (st != ST_OK)
            return st;
    }
    return from->failed ? ST_INVALID_IMAGE : ST_OK;
}

static enum status take_all(struct source *from, const struct timing_names *names, struct error *err)
{
    struct queue_turns turns = {.turn = 0};
    bool good = true;
    for (size_t i = 0; i < names->n_begun && good; i++)
        good = get_begun(from, run_of(names->begun[i]));
    good = good && transfers_restore(from) && get_turns(from, names, &turns);
    enum status st = good ? get_gpus(from, names, err) : ST_INVALID_IMAGE;
    if (st == ST_OK) {
        pthread_mutex_lock(&the.lock);
        queue_turns_set(&turns);
        pthread_mutex_unlock(&the.lock);
    }
    queue_turns_free(&turns);
    return st;
}

enum status timing_load(struct hck_reader *r, const struct timing_names *names, struct error *err)
{
    char *then = NULL;
    struct error own = {0};
    struct source *from = hck_find(r, HCK_TIMING);
    sim_await_state(false);
    enum status st = from ? open_section(from, &then, &own) : ST_INVALID_IMAGE;
    free(then);
    if (st == ST_OK && get_u32(from) != names->n_begun) {
        st = error_set(&own, ST_INVALID_VALUE, "the timing state in the checkpoint is of all kernels that were under way, which do not all go on");
        error_hint(&own, "--cold goes on with the blocks alone, in cold caches");
    }
    if (st == ST_OK)
        st = take_all(from, names, &own);
    if (st == ST_OK)
        return ST_OK;
    if (own.status == ST_OK)
        error_set(&own, st, "the timing state in the checkpoint makes no sense");
    if (err)
        *err = own;
    return st;
}
