/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What follows from a loss: the window shrinks, frames are sent again. Who is lost: sentmap.h. */
#include "transport/state.h"

/* With so many timeouts in a row, for most of which the longest is waited, nothing was acknowledged for some 16 dead_after_ms, though the
 * peer answers probes: its network does not carry frames of this size any more. One that loses nine of ten is not taken for that. */
#define STUCK_TIMEOUTS 128u
/* Of the oldest frame, all in vain but perhaps the last: where one of ten frames is lost this comes with one in ten thousand. */
#define DOUBT_RETX 3u

void nof_recovery_detect(struct nof_path *p)
{
    uint32_t lost = nof_sentmap_detect(&p->sent, &p->t->sent, &p->rtt, p->t->now_ns);

    if (lost > 0) {
        struct nof_cc_path cc = nof_path_cc(p);

        nof_cc_on_loss(&p->cc, &cc, lost);
    }
}

bool nof_recovery_may_retransmit(const struct nof_path *p)
{
    return p->sent.lost > 0 && (p->sent.flight_bytes == 0 || p->sent.flight_bytes < nof_path_cwnd(p));
}

/* What is larger than its path has become is cut by routers, or does not arrive. Of what the port has been given a copy: it may
 * hold it still. */
static bool cut(struct nof_path *p, struct nof_sent *e)
{
    struct nof_transport *t = p->t;
    struct nof_frame *copy;

    if (nof_packet_is_cut(e->frame->data) ||
        (e->len_bytes <= nof_path_mss(p) && p->mtu_bytes > NOF_MTU_MIN_BYTES))
        return true;
    copy = nof_tx_alloc(t, e->len_bytes, true);
    if (copy == NULL)
        return false;
    memcpy(copy->data, e->frame->data, e->len_bytes);
    nof_tx_cut(t, copy);
    t->cfg.port_ops->frame_free(t->cfg.port, e->frame);
    e->frame = copy;
    return true;
}

static bool transmit_again(struct nof_path *p, uint32_t index)
{
    struct nof_transport *t = p->t;
    struct nof_sent *e = &t->sent.entry[index];

    if (nof_tx_queue_holds(t, index))
        return false;
    if (!cut(p, e) || !nof_tx_queue_add(t, e->frame, index))
        return false;
    nof_sentmap_again(&p->sent, &t->sent, index, t->now_ns);
    t->room_path = NULL;
    nof_transport_count(t, NOF_C_RETRANSMITS, 1);
    if (index == p->sent.head && e->retx > DOUBT_RETX)
        nof_mtu_doubt(p, e->len_bytes);
    return true;
}

void nof_recovery_retransmit(struct nof_path *p)
{
    struct nof_transport *t = p->t;
    uint32_t index = p->sent.head;

    /* bound: window of the path, 1024, and the frames of one turn; paid by the path */
    while (t->budget > 0 && nof_recovery_may_retransmit(p)) {
        index = nof_sent_next_lost(&t->sent, index);
        if (index == NOF_NIL || !transmit_again(p, index))
            return;
        index = t->sent.entry[index].next;
        t->budget--;
        nof_transport_count(t, NOF_C_RETRANSMITS_FAST, 1);
    }
}

void nof_recovery_timeout(struct nof_path *p)
{
    struct nof_transport *t = p->t;
    struct nof_cc_path cc = nof_path_cc(p);

    nof_transport_count(t, NOF_C_TIMEOUTS, 1);
    p->pto_base_ns = t->now_ns;
    if (++p->backoff >= STUCK_TIMEOUTS) {
        nof_path_log(p, 1,
                     "the peer answers, but frames do not arrive (is the network narrower than before?), "
                     "path given up");
        nof_path_bury(p, NOF_ELINKDOWN, true);
        return;
    }
    nof_cc_on_timeout(&p->cc, &cc, p->backoff);
    /* The oldest one: its acknowledgement moves the window, and tells by the order of
     * transmissions which of the others are lost. */
    (void)transmit_again(p, p->sent.head);
}
