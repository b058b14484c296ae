/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What may leave now: the windows of the path, the pools, the queue and the pace of the NIC. Who
 * got nothing is told later: by the path's own events, or, when it was the NIC that lacked
 * something, in turn with the others that starve. */
#include "transport/state.h"

static uint32_t queue_room(const struct nof_transport *t, uint32_t reserve)
{
    uint32_t used = t->tx.count + reserve;

    return used >= NOF_TXQ_FRAMES ? 0 : NOF_TXQ_FRAMES - used;
}

/* What the path itself allows. */
static uint32_t path_room(const struct nof_path *p, bool urgent)
{
    uint32_t out = p->sent.next_pn - p->sent.cum_pn;
    uint32_t window = p->window_frames - (urgent ? 0u : NOF_URGENT_FRAMES);
    uint32_t cwnd = nof_path_cwnd(p);
    uint32_t n;

    if (out >= window)
        return 0;
    n = window - out;
    if (cwnd == UINT32_MAX)
        return n;
    if (urgent)
        cwnd += NOF_URGENT_FRAMES * nof_path_mss(p);
    if (p->sent.flight_bytes >= cwnd)
        return 0;
    /* Full frames, rounded to a power of two so as not to divide; at least one. */
    uint32_t frames = ((cwnd - p->sent.flight_bytes) >> (p->mtu_bytes > 2034 ? 14 : 11)) + 1;
    return frames < n ? frames : n;
}

static uint32_t paced_room(struct nof_transport *t)
{
    if (t->features[NOF_F_PACING] == 0)
        return UINT32_MAX;
    nof_tx_book(t);
    return nof_pacer_ask(&t->pacer, t->now_ns);
}

/* What the NIC allows. */
static uint32_t nic_room(struct nof_transport *t, bool urgent)
{
    uint32_t n = queue_room(t, urgent ? 0 : NOF_TXQ_URGENT);
    uint32_t entries = t->sent.free_count;
    uint32_t paced = urgent ? UINT32_MAX : paced_room(t);

    if (t->now_ns < t->alloc_retry_ns)
        return 0;
    if (!urgent)
        entries = entries > NOF_SENT_SLACK ? entries - NOF_SENT_SLACK : 0;
    if (entries < n)
        n = entries;
    return paced < n ? paced : n;
}

void nof_tx_starve(struct nof_path *p)
{
    struct nof_transport *t = p->t;
    uint32_t index = nof_path_index(p);

    p->want_ready = true;
    if (p->starved)
        return;
    p->starved = 1;
    p->starved_next = NOF_NIL;
    if (t->starved_head == NOF_NIL)
        t->starved_head = index;
    else
        nof_path_at(t, t->starved_tail)->starved_next = index;
    t->starved_tail = index;
}

unsigned nof_tx_admit(struct nof_path *path, bool urgent)
{
    uint32_t n;
    uint32_t global;

    if (path->state != NOF_PATH_UP) {
        path->want_ready = true;
        return 0;
    }
    n = path_room(path, urgent);
    if (n == 0) {
        path->want_ready = true;
        nof_cc_refused(&path->cc);
        return 0;
    }
    global = nic_room(path->t, urgent);
    if (global == 0) {
        nof_tx_starve(path);
        return 0;
    }
    if (n > global)
        n = global;
    if (!urgent) {
        path->t->room_path = path;
        path->t->room_frames = n;
    }
    return n;
}

void nof_tx_ready(struct nof_path *p)
{
    if (!p->want_ready || p->state != NOF_PATH_UP || nof_tx_room(p, false) == 0)
        return;
    p->want_ready = false;
    p->t->cfg.ops->on_ready(p->t->cfg.up, p);
}

bool nof_transport_room(struct nof_transport *t)
{
    if (nic_room(t, false) > 0)
        return true;
    t->room_wanted = true;
    return false;
}

bool nof_transport_waits(const struct nof_transport *t)
{
    return t->room_wanted;
}

void nof_transport_await(struct nof_transport *t)
{
    nof_pacer_await(&t->pacer);
}

bool nof_tx_awaited_now(struct nof_transport *t)
{
    return (t->starved_head != NOF_NIL || t->room_wanted) && nic_room(t, false) > 0;
}

void nof_tx_starved(struct nof_transport *t)
{
    uint32_t last = t->starved_tail;

    /* In turn, each at most once per call: who starves again goes to the end. */
    /* bound: paths that wait for frames, as long as there are some; paid by all, in turn */
    while (t->starved_head != NOF_NIL && nic_room(t, false) > 0) {
        uint32_t index = t->starved_head;
        struct nof_path *p = nof_path_at(t, index);

        t->starved_head = p->starved_next;
        p->starved = 0;
        nof_tx_ready(p);
        if (index == last)
            break;
    }
}
