/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/clearance.h"

#define SMALL_BYTES 2048u
#define WINDOW_LEAST 16384u
#define ALONE_LEAST 131072u
#define BUDGET_MOST (1ull << 28)
#define UNKNOWN_RATE_BYTES (1ull << 20) /* with grant_us: what does not slow down copies within a machine */
#define UNLIMITED UINT64_MAX
#define LAPSE_NS 2000000u
#define LAPSES 64u /* at once */
#define UNKNOWN_RATE_LAPSE 40u /* budgets in the time of a lapse, as if each were 50 us of the link */
#define OWING_LOOKS 64u /* endpoints that give way at once */
#define PHASE_LOOKS 64u /* a step goes before so many at most: with more that wait the order is not exact */

enum { STEP, OTHER };
static_assert(OTHER + 1 == NOF_CLEAR_CLASSES, "a class has a name");
enum {
    USUAL,
    LONG
}; /* spans: of what is within the budget and a window, and of more, which only who is alone has */
static_assert(LONG + 1 == NOF_CLEAR_SPANS, "a span has a name");

/* Twice what the link needs for them. */
static uint64_t patience_ns(const struct nof_nic *nic, uint64_t bytes)
{
    uint64_t rate = nic->cfg.link_rate_bps;
    return rate > 0 ? 2 * 8 * bytes * 1000000 / (rate / 1000 + 1) : 0;
}

/* Up to so many bytes of one receive lapse together: where nothing else is under way, all that come at half of the link's rate
 * have come by then. Several of one NIC that is alone share the link, and may lapse while they come. */
static void set_span(struct nof_nic *nic, unsigned span, uint64_t bytes)
{
    struct nof_clear_span *s = &nic->clearance.span[span];
    uint64_t rate = nic->cfg.link_rate_bps;
    s->lapse_ns = LAPSE_NS + patience_ns(nic, bytes);
    uint64_t lost = rate > 0 ? rate / 1000 * (s->lapse_ns / 1000) / 8000
                             : UNKNOWN_RATE_LAPSE * nic->clearance.budget_bytes;
    s->lapse_bytes = (uint32_t)(lost < BUDGET_MOST ? lost : BUDGET_MOST);
}

void nof_clearance_set(struct nof_nic *nic)
{
    struct nof_clearance *c = &nic->clearance;
    uint64_t bytes = nic->features[NOF_F_GRANT_BYTES], us = nic->features[NOF_F_GRANT_US];
    uint64_t rate = nic->cfg.link_rate_bps;
    uint64_t carried = rate == 0 ? (us > 0 ? UNKNOWN_RATE_BYTES : 0) : rate / 1000 * us / 8000;
    c->budget_bytes = UNLIMITED;
    c->window_bytes = UINT32_MAX;
    c->alone_bytes = UINT32_MAX;
    if (bytes == 0)
        return;
    uint64_t budget = carried > bytes ? carried : bytes;
    if (budget > BUDGET_MOST)
        budget = BUDGET_MOST;
    c->budget_bytes = budget;
    c->window_bytes = budget / 2 > WINDOW_LEAST ? (uint32_t)budget / 2 : WINDOW_LEAST;
    c->alone_bytes = budget * 4 > ALONE_LEAST ? (uint32_t)budget * 4 : ALONE_LEAST;
    set_span(nic, USUAL, budget + c->window_bytes);
    set_span(nic, LONG, c->alone_bytes);
}

bool nof_clearance_holds(const struct nof_nic *nic, const struct nof_link *link, uint64_t bytes)
{
    uint64_t trip_us = link->path != NULL ? nof_path_least_rtt_ns(link->path) / 1000 : 0;
    uint64_t in_trip = nic->cfg.link_rate_bps / 1000 * trip_us / 8000, budget = nic->clearance.budget_bytes;
    return bytes > 0 && (bytes <= in_trip || bytes - in_trip <= budget);
}

/* Lists of receives: rings that are named by their tail, through a pair of links each. */
static struct nof_ties *ties(const struct nof_nic *nic, size_t list, uint32_t i)
{
    void *at = (unsigned char *)nof_recv_at(nic, i) + list;
    return at;
}

static void put_behind(const struct nof_nic *nic, size_t list, uint32_t at, uint32_t i)
{
    struct nof_ties *t = ties(nic, list, i);
    t->prev = at;
    t->next = ties(nic, list, at)->next;
    ties(nic, list, t->next)->prev = i;
    ties(nic, list, at)->next = i;
}

static void put_last(const struct nof_nic *nic, size_t list, uint32_t *tail, uint32_t i)
{
    if (*tail == NOF_NIL)
        *ties(nic, list, i) = (struct nof_ties){.next = i, .prev = i};
    else
        put_behind(nic, list, *tail, i);
    *tail = i;
}

static void take_out(const struct nof_nic *nic, size_t list, uint32_t *tail, uint32_t i)
{
    const struct nof_ties *t = ties(nic, list, i);
    ties(nic, list, t->prev)->next = t->next;
    ties(nic, list, t->next)->prev = t->prev;
    if (*tail == i)
        *tail = t->prev == i ? NOF_NIL : t->prev;
}

static uint32_t first_of(const struct nof_nic *nic, size_t list, uint32_t tail)
{
    return tail == NOF_NIL ? NOF_NIL : ties(nic, list, tail)->next;
}

#define OUT offsetof(struct nof_recv, clear_out) /* what counts, of a span in the order of clearing */
#define TURN offsetof(struct nof_recv, clear_turn) /* of an endpoint and class: whose turns come */
#define FLOW offsetof(struct nof_recv, clear_flow) /* of a flow, class OTHER: the first of it has a turn */

static unsigned class_of(const struct nof_recv *r)
{
    return r->opcode == NOF_RECV_STEP ? STEP : OTHER;
}

static uint32_t link_of(const struct nof_nic *nic, const struct nof_recv *r)
{
    return nof_peer_at(nic, r->peer)->link;
}

static bool is_active(const struct nof_recv *r)
{
    return r->clear_bytes > 0 || r->clear_waits;
}

static void activate(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_clearance *c = &nic->clearance;
    if (is_active(r))
        return;
    r->clear_link = link_of(nic, r);
    if (c->on_link[r->clear_link]++ == 0)
        c->links++;
}

/* It neither counts nor waits any more. */
static void deactivate(struct nof_nic *nic, const struct nof_recv *r)
{
    struct nof_clearance *c = &nic->clearance;
    if (--c->on_link[r->clear_link] == 0)
        c->links--;
}

/* Does all that is under way or waits come from the NIC that r comes from? */
static bool is_alone(const struct nof_nic *nic, const struct nof_recv *r)
{
    const struct nof_clearance *c = &nic->clearance;
    return c->links == (c->on_link[link_of(nic, r)] > 0 ? 1 : 0);
}

/* Of a delta send no more than a window: it computes, and what it has not made does not come. */
static uint64_t counted(const struct nof_nic *nic, const struct nof_recv *r, uint64_t bytes)
{
    uint64_t window_bytes = nic->clearance.window_bytes;
    uint64_t room = window_bytes > r->clear_bytes ? window_bytes - r->clear_bytes : 0;
    return r->unit_log2 != 0 && bytes > room ? room : bytes;
}

/* Who was alone may have more under way, and a lapse in the midst of it would let in another sender beside it. */
static unsigned span_of(const struct nof_nic *nic, const struct nof_recv *r)
{
    const struct nof_clearance *c = &nic->clearance;
    return r->clear_bytes > c->budget_bytes + c->window_bytes ? LONG : USUAL;
}

static void take_out_of_span(struct nof_nic *nic, uint32_t i)
{
    struct nof_clear_span *span = nic->clearance.span;
    /* Which ring it is in matters to its tail alone. */
    unsigned in = span[LONG].out == i ? LONG : USUAL;
    take_out(nic, OUT, &span[in].out, i);
}

static void count(struct nof_nic *nic, struct nof_recv *r, uint64_t cleared_bytes)
{
    struct nof_clearance *c = &nic->clearance;
    uint32_t i = nof_recv_index(nic, r);
    uint64_t bytes = counted(nic, r, cleared_bytes);
    activate(nic, r);
    if (r->clear_bytes > 0)
        take_out_of_span(nic, i);
    r->clear_bytes += (uint32_t)bytes;
    struct nof_clear_span *span = &c->span[span_of(nic, r)];
    put_last(nic, OUT, &span->out, i);
    r->lapses_ns = nic->now_ns + span->lapse_ns;
    c->out_bytes += bytes;
}

void nof_clearance_uncount(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_clearance *c = &nic->clearance;
    c->out_bytes -= r->clear_bytes;
    r->clear_bytes = 0;
    take_out_of_span(nic, nof_recv_index(nic, r));
    if (!r->clear_waits)
        deactivate(nic, r);
}

static uint32_t phase_of(const struct nof_nic *nic, uint32_t i)
{
    return nof_drive_step(nof_recv_at(nic, i)->cookie);
}

/* Behind those whose phase is not later. */
static void put_in_phase(const struct nof_nic *nic, uint32_t *tail, uint32_t i)
{
    uint32_t at = *tail;
    unsigned looks = 0;
    if (at == NOF_NIL || phase_of(nic, at) <= phase_of(nic, i)) {
        put_last(nic, TURN, tail, i);
        return;
    }
    /* bound: PHASE_LOOKS, 64; paid by the message */
    do {
        at = ties(nic, TURN, at)->prev;
    } while (++looks < PHASE_LOOKS && at != *tail && phase_of(nic, at) > phase_of(nic, i));
    put_behind(nic, TURN, at, i); /* round to the tail again: before the first */
}

static void take_turn(struct nof_nic *nic, struct nof_recv *r, unsigned class)
{
    struct nof_clearance *c = &nic->clearance;
    struct nof_clear_turns *t = &c->turns[class][r->ep];
    uint32_t i = nof_recv_index(nic, r);
    if (class == STEP)
        put_in_phase(nic, &t->recvs, i);
    else
        put_last(nic, TURN, &t->recvs, i);
    r->clear_stands = 1;
    if (t->listed)
        return;
    t->listed = 1;
    t->next = r->ep;
    if (c->eps[class] != NOF_NIL) {
        t->next = c->turns[class][c->eps[class]].next;
        c->turns[class][c->eps[class]].next = r->ep;
    }
    c->eps[class] = r->ep;
}

static void wait(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_clearance *c = &nic->clearance;
    unsigned class = class_of(r);
    activate(nic, r);
    r->clear_waits = 1;
    c->waiting++;
    nof_count(nic, &nic->eps[r->ep], NOF_C_CLEAR_WAITS, 1);
    if (class == STEP) {
        take_turn(nic, r, class);
        return;
    }
    bool first = c->flow[r->peer] == NOF_NIL;
    put_last(nic, FLOW, &c->flow[r->peer], nof_recv_index(nic, r));
    if (first)
        take_turn(nic, r, class);
}

/* r waits no longer; its flow's next has a turn. */
static void wait_no_more(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_clearance *c = &nic->clearance;
    unsigned class = class_of(r);
    uint32_t i = nof_recv_index(nic, r);
    bool stood = r->clear_stands;
    r->clear_waits = 0;
    r->clear_stands = 0;
    c->waiting--;
    if (r->clear_bytes == 0)
        deactivate(nic, r);
    if (stood)
        take_out(nic, TURN, &c->turns[class][r->ep].recvs, i);
    if (class == STEP)
        return;
    take_out(nic, FLOW, &c->flow[r->peer], i);
    uint32_t next = first_of(nic, FLOW, c->flow[r->peer]);
    if (stood && next != NOF_NIL)
        take_turn(nic, nof_recv_at(nic, next), class);
}

/* Before its budget is asked for: does it count at all? */
static bool counts(const struct nof_nic *nic, const struct nof_recv *r)
{
    const struct nof_peer *peer = nof_peer_at(nic, r->peer);
    return nic->clearance.budget_bytes != UNLIMITED && r->wanted > SMALL_BYTES &&
           !(peer->flags & NOF_PEER_F_DEAD) && nic->links[peer->link].path != NULL;
}

static uint64_t clear(struct nof_nic *nic, struct nof_recv *r, uint64_t end, uint32_t window_bytes)
{
    uint64_t to = end - r->received < window_bytes ? end : r->received + window_bytes;
    if (to <= r->allowed)
        return r->allowed;
    count(nic, r, to - r->allowed);
    return to;
}

uint64_t nof_clearance_ask(struct nof_nic *nic, struct nof_recv *r, uint64_t end)
{
    const struct nof_clearance *c = &nic->clearance;
    if (r->clear_waits || end <= r->allowed)
        return r->allowed;
    if (!counts(nic, r))
        return end;
    if (is_alone(nic, r))
        return clear(nic, r, end, c->alone_bytes);
    if (c->waiting == 0 && nof_clearance_room(nic))
        return clear(nic, r, end, c->window_bytes);
    if (r->allowed - r->received < c->window_bytes)
        wait(nic, r);
    return r->allowed;
}

uint64_t nof_clearance_give(struct nof_nic *nic, struct nof_recv *r, uint64_t end)
{
    struct nof_clearance *c = &nic->clearance;
    unsigned class = class_of(r);
    struct nof_clear_turns *t = &c->turns[class][r->ep];
    if (!counts(nic, r))
        return end > r->allowed ? end : r->allowed;
    uint64_t to = clear(nic, r, end, c->window_bytes);
    c->served[class] += to - r->allowed;
    t->spent += (uint32_t)(to - r->allowed);
    if (t->spent >= c->window_bytes) {
        t->spent = 0;
        if (c->eps[class] != NOF_NIL && c->turns[class][c->eps[class]].next == r->ep)
            c->eps[class] = r->ep; /* it was the first, and is the last now */
    }
    return to;
}

void nof_clearance_leave(struct nof_nic *nic, struct nof_recv *r)
{
    if (r->clear_waits)
        wait_no_more(nic, r);
    if (r->clear_bytes > 0)
        nof_clearance_uncount(nic, r);
}

/* The receive of this class whose turn it is, or NULL. */
static struct nof_recv *first_turn(struct nof_nic *nic, unsigned class)
{
    struct nof_clearance *c = &nic->clearance;
    unsigned looks = 0;
    /* bound: endpoints, each of which a receive has put there that waits no longer, and OWING_LOOKS, 64; paid by that message */
    while (c->eps[class] != NOF_NIL) {
        struct nof_clear_turns *last = &c->turns[class][c->eps[class]];
        uint32_t ep = last->next;
        struct nof_clear_turns *t = &c->turns[class][ep];
        if (t->recvs != NOF_NIL && t->owes > 0 && ep != c->eps[class] && looks++ < OWING_LOOKS) {
            t->owes -= t->owes < c->window_bytes ? t->owes : c->window_bytes;
            t->spent = 0;
            c->eps[class] = ep;
            continue;
        }
        if (t->recvs != NOF_NIL)
            return nof_recv_at(nic, first_of(nic, TURN, t->recvs));
        t->listed = 0;
        t->spent = 0;
        if (ep == c->eps[class])
            c->eps[class] = NOF_NIL;
        else
            last->next = t->next;
    }
    return NULL;
}

/* Its share of the link pays for the time in which others had to wait for it: once, however many lapse together. */
static void charge(struct nof_nic *nic, const struct nof_recv *r, uint32_t bytes)
{
    struct nof_clearance *c = &nic->clearance;
    unsigned class = class_of(r);
    struct nof_clear_turns *t = &c->turns[class][r->ep];
    if (t->owes < bytes) {
        c->served[class] += bytes - t->owes;
        t->owes = bytes;
    }
}

static void lapse(struct nof_nic *nic, const struct nof_clear_span *span)
{
    for (unsigned n = 0; n < LAPSES && span->out != NOF_NIL; n++) {
        struct nof_recv *r = nof_recv_at(nic, first_of(nic, OUT, span->out));
        if (nic->now_ns < r->lapses_ns)
            return;
        nof_count(nic, &nic->eps[r->ep], NOF_C_CLEAR_LAPSED, 1);
        charge(nic, r, span->lapse_bytes);
        nof_clearance_uncount(nic, r);
    }
}

struct nof_recv *nof_clearance_next(struct nof_nic *nic)
{
    struct nof_clearance *c = &nic->clearance;
    /* bound: NOF_CLEAR_SPANS, 2; paid by who waits */
    for (unsigned k = 0; k < NOF_CLEAR_SPANS && c->waiting > 0 && !nof_clearance_room(nic); k++)
        lapse(nic, &c->span[k]);
    if (!nof_clearance_ready(nic))
        return NULL;
    struct nof_recv *step = first_turn(nic, STEP), *other = first_turn(nic, OTHER);
    struct nof_recv *r = other == NULL ? step : other;
    if (step == NULL || other == NULL)
        c->served[STEP] = c->served[OTHER] = 0;
    else if (c->served[STEP] <= c->served[OTHER])
        r = step;
    wait_no_more(nic, r);
    return r;
}

uint64_t nof_clearance_deadline(const struct nof_nic *nic)
{
    const struct nof_clearance *c = &nic->clearance;
    uint64_t at = NOF_NO_DEADLINE;
    /* bound: NOF_CLEAR_SPANS, 2; paid by who waits */
    for (unsigned k = 0; k < NOF_CLEAR_SPANS && c->waiting > 0; k++) {
        uint32_t first = first_of(nic, OUT, c->span[k].out);
        if (first != NOF_NIL && nof_recv_at(nic, first)->lapses_ns < at)
            at = nof_recv_at(nic, first)->lapses_ns;
    }
    return at;
}
