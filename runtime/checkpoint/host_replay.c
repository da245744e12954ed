/* Turns of a replay: which thread's call goes on.
 *
 * Each thread has its own sequence of calls on the tape, and they are made in the order in which they were made then. Where threads race for a lock of theirs around calls,
 * as for the start of a library, another one may get it than did then, and the thread whose turn it is waits for that lock, held by one that waits for its turn. So when
 * the one whose turn it is cannot come, the one that it waits for goes first: with its own next call, or, where they changed places, with the very call that another one
 * was to make, which then makes the call that is left over.
 * What calls answer is on the tape, whoever makes them, so that handles and addresses are those of then. */
#include <string.h>
#include <time.h>

#include "runtime/checkpoint/host_internal.h"

static const uint64_t ms = 1000000;
enum { SHORT_MS = 20, LONG_MS = 1000, CERTAIN_MS = 3000, WARN_MS = 20000, LAST_MS = 60000 };

static struct lane *lane_of(uint16_t number) { return number - 1u < host.lanes.n ? &host.lanes.at[number - 1] : NULL; }
static const char *name_of(uint16_t number) { return number - 1u < host.thread_names.n ? host.thread_names.at[number - 1] : "?"; }

/* Under host.lock. */
static struct host_thread *thread_of(uint32_t number)
{
    for (size_t i = 0; i < host.threads.n; i++)
        if (host.threads.at[i]->number == number)
            return host.threads.at[i];
    return NULL;
}

/* ---- the tape ---- */

static bool nobodys(const struct tape_head *h) { return h->type == REC_NAME || h->type == REC_OP_COPY || h->type == REC_OP_FAULT || h->type == REC_THREAD; }

/* The next record of its turn; NULL: there is none. */
static const struct tape_head *peek(struct lane *l)
{
    const struct tape_head *h;
    uint64_t next;
    while (l->turn != NO_TURN && (h = tape_record(host.bytes, host.turns.at[l->turn].end, l->at, &next))) {
        if (!nobodys(h))
            return h;
        l->at = next;
    }
    return NULL;
}

static void next_turn(struct lane *l)
{
    l->turn = host.turns.at[l->turn].next;
    if (l->turn == NO_TURN)
        return;
    l->at = host.turns.at[l->turn].at;
    l->calls = host.turns.at[l->turn].calls;
}

static void pass(struct lane *l)
{
    l->calls += peek(l)->type == REC_CALL;
    (void)tape_record(host.bytes, host.n, l->at, &l->at);
}

/* Between calls: behind those that never happened, and turns in which nothing is left to do. */
static void settle(struct lane *l)
{
    const struct tape_head *h;
    while (l->turn != NO_TURN)
        if (!(h = peek(l)))
            next_turn(l);
        else if (h->type == REC_CALL && host_open(l->calls + 1))
            pass(l);
        else
            break;
}

const struct tape_head *host_peek(const char **contents)
{
    struct lane *l = host_me.thread ? lane_of(host_me.thread->as) : NULL;
    const struct tape_head *h = l ? peek(l) : NULL;
    *contents = h ? (const char *)(h + 1) : NULL;
    return h;
}

const struct tape_head *host_next(enum record type, const char **contents)
{
    const struct tape_head *h = host_peek(contents);
    if (!h || h->type != type)
        return NULL;
    pass(lane_of(host_me.thread->as));
    return h;
}

uint64_t host_call_number(void)
{
    struct lane *l = lane_of(host_me.thread->as);
    return l ? l->calls + 1 : 0;
}

bool host_gave_up(const struct host_thread *t, enum yield how, uint32_t step)
{
    struct lane *l = lane_of(t->as);
    return l && l->turn != NO_TURN && !peek(l) && host.turns.at[l->turn].how == how && host.turns.at[l->turn].step == step;
}

static bool add_turn(const struct tape_head *h, uint64_t at, uint64_t calls)
{
    struct turn t = {.at = at, .end = host.n, .calls = calls, .next = NO_TURN, .owner = h->number, .how = 0xff};
    struct lane none = {.turn = NO_TURN};
    while (host.lanes.n < host.thread_names.n)
        if (!vec_push(&host.lanes, none))
            return false;
    if (host.turns.n) {
        struct turn *before = &host.turns.at[host.turns.n - 1];
        before->end = at - sizeof *h;
        before->how = h->flags;
        before->step = h->step;
    }
    return lane_of(t.owner) && host.turns.n + 1 < NO_TURN && vec_push(&host.turns, t);
}

bool host_turns_load(void)
{
    const struct tape_head *h;
    uint64_t calls = 0;
    for (uint64_t at = 0; (h = tape_record(host.bytes, host.n, at, &at));) {
        if (h->type == REC_TURN && (h->bytes || !add_turn(h, at, calls)))
            return false;
        if (h->type == REC_CALL && !host.turns.n)
            return false;
        calls += h->type == REC_CALL;
    }
    host.on_tape = calls;
    for (uint32_t i = (uint32_t)host.turns.n; i-- > 0;) {
        struct turn *t = &host.turns.at[i];
        struct lane *l = lane_of(t->owner);
        t->next = l->turn;
        *l = (struct lane){.turn = i, .at = t->at, .calls = t->calls};
    }
    for (size_t i = 0; i < host.lanes.n; i++)
        settle(&host.lanes.at[i]);
    return true;
}

/* The first turn that is not over; NULL: the end. */
static const struct turn *head(void)
{
    while (host.head < host.turns.n && lane_of(host.turns.at[host.head].owner)->turn > host.head)
        host.head++;
    return host.head < host.turns.n ? &host.turns.at[host.head] : NULL;
}

/* ---- who may go ---- */

static bool is_wish(struct lane *l, const struct host_wish *w) { return l && !l->lent && host_is_call(peek(l), w->site, w->words, w->n); }

/* It asks, or was to ask, whether something is over: host.c lets those agree. */
static bool asks(struct lane *l, const struct host_wish *w) { return l && !l->lent && peek(l) && (w->site->poll || host_is_poll(peek(l))); }

/* What a call left to do behind the checkpoint keeps its order. */
static bool keeps_order(const struct lane *l)
{
    uintptr_t i;
    if (!map_get_int(&host.held, host_key(l->calls + 1, HOST_ALL_STEPS), &i))
        return true;
    for (size_t k = 0; k < host.survivors.n && host.survivors.at[k].call <= l->calls; k++)
        if (!host.survivors.at[k].made)
            return false;
    return true;
}

/* Of a thread that waits for its turn: since when the head cannot come, as long as nothing else happens. */
struct waiting { uint64_t moves, from_ns, stuck_ns; struct sleep last; bool asleep; unsigned naps; };
static bool stuck(const struct waiting *w, uint64_t for_ms) { return w->stuck_ns && now_ns() - w->stuck_ns >= for_ms * ms; }

static bool at_gate(const struct host_thread *t) { return t && !t->gone && host_place(t) == AT_GATE; }
static bool own_next(const struct host_thread *t) { return at_gate(t) && is_wish(lane_of(t->number), &t->wish); }
static bool displaced(const struct host_thread *t) { return at_gate(t) && !own_next(t); }

/* Whose call t makes, when it is not its own: of one that wants another call now, before one that is elsewhere. */
static uint16_t changed_places(const struct host_thread *t)
{
    uint16_t best = 0;
    for (int elsewhere = 0; elsewhere < 2 && !best; elsewhere++)
        for (uint16_t k = 1; k <= host.lanes.n; k++) {
            struct lane *l = lane_of(k);
            const struct host_thread *whose = thread_of(k);
            bool may = elsewhere ? !whose || whose->gone || host_place(whose) == OUTSIDE : displaced(whose);
            if (may && k != t->number && is_wish(l, &t->wish) && keeps_order(l) && (!best || l->turn < lane_of(best)->turn))
                best = k;
        }
    return best;
}

static uint16_t as_whom(const struct host_thread *t, uint16_t owner)
{
    struct lane *own = lane_of(t->number), *first = lane_of(owner);
    if (own_next(t))
        return keeps_order(own) ? t->number : 0;
    return is_wish(first, &t->wish) && keeps_order(first) ? owner : changed_places(t);
}

/* A lock that is none of ours: the caller may hold that only for a moment. */
static bool waits_for_lock(int tid, int *holder)
{
    uint64_t at = thread_waits_for_lock(tid, holder);
    return at && at - (uint64_t)(uintptr_t)&host >= sizeof host;
}

/* The thread at the gate that the one with this number waits for, through others that wait, too; NULL: it is not known. */
static struct host_thread *holder(int tid)
{
    for (int links = 0; links < 8 && waits_for_lock(tid, &tid) && tid; links++)
        for (size_t i = 0; i < host.threads.n; i++)
            if (host.threads.at[i]->tid == tid && at_gate(host.threads.at[i]))
                return host.threads.at[i];
    return NULL;
}

/* It changes nothing but for the calling thread, and answers the same at any time: as a last resort it is made though it is not on the tape. */
static bool is_harmless(const char *symbol)
{
    static const char *const all[] = {"cuCtxGetCurrent", "cuCtxSetCurrent", "cuCtxGetApiVersion", "cuCtxGetDevice", "cuDeviceGet", "cuDriverGetVersion"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strncmp(symbol, all[i], strlen(all[i])) == 0)
            return true;
    return false;
}

/* One that wants the very call of the head, and none of its own. */
static struct host_thread *twin(const struct turn *first, bool beyond /* the tape has nothing more of it, either */)
{
    for (size_t i = 0; i < host.threads.n; i++) {
        struct host_thread *t = host.threads.at[i];
        struct lane *own = lane_of(t->number);
        if (displaced(t) && is_wish(lane_of(first->owner), &t->wish) && (beyond || (own && own->turn != NO_TURN)))
            return t;
    }
    return NULL;
}

static bool goes_beside(struct host_thread *t)
{
    t->beside = displaced(t) && is_harmless(t->wish.site->symbol);
    return t->beside;
}

/* The head waits for a lock. Who holds it cannot let it go before his call is made: no patience would help. */
static struct host_thread *instead_of_sleeper(const struct turn *first, int tid, const struct waiting *w, uint16_t *as)
{
    int known;
    struct host_thread *t;
    if (!waits_for_lock(tid, &known))
        return NULL;
    if ((t = holder(tid)) && ((*as = as_whom(t, first->owner)) || (goes_beside(t) && (*as = t->number ? t->number : first->owner))))
        return t;
    if (!known && (t = twin(first, true)) && (t->as == first->owner ? t->moved == host.moves /* and it does so still */ : w->naps && stuck(w, SHORT_MS)) &&
        (*as = as_whom(t, first->owner)))
        return t;
    return NULL;
}

/* The head cannot come: who goes instead, and as whom (0: nobody yet). */
static struct host_thread *instead(const struct turn *first, const struct waiting *w, uint16_t *as)
{
    struct host_thread *owner = thread_of(first->owner), *t;
    int tid = owner ? owner->tid : thread_tid(name_of(first->owner));
    if (!at_gate(owner) && tid && (t = instead_of_sleeper(first, tid, w, as)))
        return t;
    if (!stuck(w, SHORT_MS))
        return NULL;
    if (displaced(owner) && ((*as = changed_places(owner)) || (goes_beside(owner) && (*as = owner->number))))
        return owner;
    if ((t = twin(first, stuck(w, LONG_MS))) && (*as = as_whom(t, first->owner)))
        return t;
    for (size_t i = 0; i < host.threads.n && stuck(w, LONG_MS); i++)
        if ((t = host.threads.at[i]) != owner && at_gate(t) && (*as = as_whom(t, first->owner)))
            return t;
    return NULL;
}

/* As whom t may make its call now; 0: not yet. Under host.lock, with nobody at it. */
static uint16_t may_go(struct host_thread *t, const struct waiting *w)
{
    t->beside = false;
    const struct turn *first = head();
    struct lane *own = lane_of(t->number);
    uint16_t as = 0;
    if (!first || lane_of(first->owner)->lent)
        return 0;
    bool ours = first->owner == t->number;
    if (ours && (is_wish(own, &t->wish) || asks(own, &t->wish) || host.lanes.n == 1))
        return t->number;
    if (instead(first, w, &as) == t)
        return as;
    return ours && stuck(w, CERTAIN_MS) ? t->number : 0;               /* what differs is reported there */
}

/* Every thread is where it was at the checkpoint. */
static bool all_there(void)
{
    bool all = true;
    for (size_t i = 0; i < host.stood.n; i++) {
        struct host_thread *t = thread_of(host.stood.at[i].number);
        all = t && all && (host_place(t) == AT_GATE || (host.stood.at[i].outside && (t->gone || (host_place(t) == OUTSIDE && thread_sleeps_on(t->tid, &t->sleep)))));
    }
    return all;
}

/* The turn of the caller has not come. Under host.lock, which it gives up for a while. */
static enum status wait_for_others(struct waiting *w)
{
    host_wait_a_little();
    const struct turn *first = host.active ? NULL : head();
    if (w->moves != host.moves || !w->from_ns)
        *w = (struct waiting){.moves = host.moves, .from_ns = now_ns()};
    if (!host_replayed() || host.ending || !first || lane_of(first->owner)->lent) {
        w->stuck_ns = 0;
        return ST_OK;
    }
    struct host_thread *next = thread_of(first->owner);
    int tid = next ? next->tid : thread_tid(name_of(first->owner));
    bool here = next && host_place(next) != OUTSIDE, gone = next && next->gone;
    w->asleep = !here && !gone && tid && thread_sleeps_on(tid, &w->last);
    w->naps = w->asleep ? w->naps + 1 : 0;
    if (!(w->asleep || gone || !tid || (here && host_place(next) == AT_GATE)))
        w->stuck_ns = 0;
    else if (!w->stuck_ns)
        w->stuck_ns = now_ns();
    unsigned long long call = (unsigned long long)lane_of(first->owner)->calls + 1;
    if (gone && stuck(w, CERTAIN_MS))
        return host_diverged("thread %s has ended, and at the checkpoint it made call %llu", name_of(first->owner), call);
    if (stuck(w, LAST_MS))
        return host_diverged("call %llu was made by thread %s, which waits for another one now: threads of the program race for a lock in another order than they did", call,
                             name_of(first->owner));
    if (w->from_ns != UINT64_MAX && now_ns() - w->from_ns > WARN_MS * ms) {
        log_warn("resume: call %llu was made by thread %s of the program, which %s; the others wait for it", call, name_of(first->owner),
                 w->asleep ? "waits for something else" : next ? "is busy with other things" : "has not come yet");
        w->from_ns = UINT64_MAX;
    }
    return ST_OK;
}

/* ---- turns ---- */

static void begin_turn(struct host_thread *t, uint16_t as)
{
    t->was_as = t->as;
    t->as = as;
    host.active = true;
    t->moved = ++host.moves;
}

enum status host_gate(struct host_thread *t, const struct host_site *site, const uint64_t *words, unsigned n)
{
    enum status st = ST_OK;
    struct waiting w = {.moves = 0};
    uint16_t as = 0;
    pthread_mutex_lock(&host.lock);
    t->wish = (struct host_wish){site, words, n};
    __atomic_store_n(&t->place, AT_GATE, __ATOMIC_SEQ_CST);
    pthread_cond_broadcast(&host.changed);
    while (host_replayed() && st == ST_OK) {
        if (host.diverged) {
            st = ST_UNKNOWN;
        } else if (!host.active && (as = may_go(t, &w))) {
            begin_turn(t, as);
            host_me.hold = HOLDS_TURN;
            break;
        } else if (!host.active && !host.ending && !head() && all_there()) {
            host.ending = true;
            pthread_mutex_unlock(&host.lock);
            st = host_finish_replay();
            pthread_mutex_lock(&host.lock);
            pthread_cond_broadcast(&host.changed);
        } else {
            st = wait_for_others(&w);
        }
    }
    __atomic_store_n(&t->place, INSIDE, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&host.lock);
    return st;
}

void host_turn_over(struct host_thread *t, bool lent)
{
    struct lane *l = lane_of(t->as);
    pthread_mutex_lock(&host.lock);
    host.active = false;
    if (l && lent && l->turn != NO_TURN)
        next_turn(l);
    else if (l)
        settle(l);
    if (l)
        l->lent = lent;
    if (host.threads.n > 1)
        pthread_cond_broadcast(&host.changed);
    pthread_mutex_unlock(&host.lock);
}

void host_lets_others(void)
{
    struct lane *l = host_replayed() && host_me.hold == HOLDS_TURN ? lane_of(host_me.thread->as) : NULL;
    pthread_mutex_lock(&host.lock);
    if (l) {
        host.active = false;
        l->lent = true;
        pthread_cond_broadcast(&host.changed);
    }
    do
        host_wait_a_little();
    while (l && host.active && host_replayed());
    if (l) {
        host.active = true;
        l->lent = false;
    }
    pthread_mutex_unlock(&host.lock);
}

void host_turn_again(struct host_thread *t)
{
    struct waiting w = {.moves = 0};
    struct lane *l = lane_of(t->as);
    pthread_mutex_lock(&host.lock);
    while (host_replayed() && !host.diverged) {
        const struct turn *first = host.active ? NULL : head();
        if (first && (l->turn == host.head || stuck(&w, LONG_MS)))
            break;
        (void)(wait_for_others(&w) == ST_OK);  /* else host.diverged tells all of them */
    }
    host.active = true;
    host.moves++;
    if (host_replayed())                       /* else they are gone */
        l->lent = false;
    __atomic_store_n(&t->place, INSIDE, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&host.lock);
}
