/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Is the peer's NIC alive? Asked only while somebody waits: something is unacknowledged, or the
 * layer above expects this peer. A healthy silence costs one probe per quarter of dead_after;
 * after the first probe that stays unanswered they come eight times as often, so that 24 of them
 * must be lost in a row before a peer behind a lossy network is taken for dead. */
#include "transport/state.h"

#define FIRST_SHARE 4u
#define NEXT_SHARE 32u
#define PROBES_MIN 5u

void nof_live_settle(struct nof_path *p)
{
    bool waiting = !nof_sentmap_empty(&p->sent) || p->expect > 0;

    if (waiting && !p->waiting)
        nof_live_heard(p);
    p->waiting = waiting;
}

static uint64_t probe_at(const struct nof_path *p)
{
    uint64_t first = p->live_ns + nof_dead_after_ns(p->t) / FIRST_SHARE;

    /* With none unanswered, probe_at_ns is of the past, or the port took none and will be asked again. */
    return p->unanswered > 0 || p->probe_at_ns > first ? p->probe_at_ns : first;
}

uint64_t nof_live_deadline(const struct nof_path *p)
{
    if (!p->waiting || nof_path_unplugged(p))
        return NOF_NO_DEADLINE;

    uint64_t probe = probe_at(p);
    uint64_t dead = p->live_ns + nof_dead_after_ns(p->t);
    return p->unanswered >= PROBES_MIN && dead < probe ? dead : probe;
}

void nof_live_timer(struct nof_path *p)
{
    struct nof_transport *t = p->t;

    if (t->now_ns < nof_live_deadline(p))
        return;
    if (p->unanswered >= PROBES_MIN && t->now_ns >= p->live_ns + nof_dead_after_ns(t) &&
        !nof_live_excuse(p)) {
        nof_path_log(p, 1, "no sign of life, path given up: NIC gone, or the link loses all");
        nof_path_bury(p, NOF_EPEERDEAD, true);
        return;
    }
    if (t->now_ns < probe_at(p))
        return;
    p->probe_at_ns = t->now_ns + nof_dead_after_ns(t) / NEXT_SHARE;
    /* A probe that the port did not take is no unanswered probe. */
    if (!nof_tx_unreliable(p, NOF_WIRE_PROBE, 0, NULL, 0, 0))
        return;
    nof_transport_count(t, NOF_C_PROBES_TX, 1);
    if (p->unanswered < UINT8_MAX)
        p->unanswered++;
}
