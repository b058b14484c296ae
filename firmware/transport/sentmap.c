/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frames that are not acknowledged yet: one pool for the NIC, one list per path in the order of
 * packet numbers. What is acknowledged selectively leaves the list at once (the receiver never
 * takes it back), so the list holds exactly what may have to be sent again.
 *
 * Loss is found as in RFC 8985 (RACK), in the order of transmissions: a frame is lost when one that
 * was transmitted at least `threshold` transmissions later has arrived, or any later one has and
 * more than a round trip and a bit has passed. A retransmission is a transmission like any other. */
#include "transport/state.h"

#define THRESHOLD 3u
#define LEVEL_MAX 5u
#define LEVEL_ROUNDS 64u /* reordering tolerance is worn off by one level in so many rounds */
#define DOUBT_MIN_NS 300000u /* acknowledgements of a burst come within this */

void nof_sent_init(struct nof_transport *t)
{
    uint32_t n = t->cfg.nic->sent_frames + NOF_SENT_SLACK;

    /* bound: unacknowledged frames; paid by set-up */
    for (uint32_t i = 0; i < n; i++)
        t->sent[i].next = i + 1 < n ? i + 1 : NOF_NONE;
    t->sent_free = 0;
    t->sent_free_count = n;
}

void nof_sent_free(struct nof_transport *t, uint32_t index)
{
    struct nof_sent *e = &t->sent[index];

    t->cfg.port_ops->frame_free(t->cfg.port, e->frame);
    e->next = t->sent_free;
    t->sent_free = index;
    t->sent_free_count++;
}

/* Does this frame still wait for the port? Only one that was put there since the queue last was
 * empty can, so the search is rare. */
static int queued(const struct nof_transport *t, uint32_t index)
{
    if (t->tx.count == 0 || t->sent[index].sent_ns < t->tx.since_ns)
        return 0;
    /* bound: frames of one turn; paid by the path that ends */
    for (uint32_t i = 0; i < t->tx.count; i++)
        if (t->tx.sent[i] == index)
            return 1;
    return 0;
}

void nof_sent_release(struct nof_transport *t, uint32_t index)
{
    if (!queued(t, index)) {
        nof_sent_free(t, index);
        return;
    }
    t->sent[index].flags |= NOF_SENT_ZOMBIE;
    t->tx.to_free++;
}

void nof_sent_clear(struct nof_path *p)
{
    /* bound: window of the path, 1024; paid by the path that ends */
    while (p->sent_head != NOF_NONE) {
        uint32_t index = p->sent_head;

        p->sent_head = p->t->sent[index].next;
        nof_sent_release(p->t, index);
    }
    p->sent_tail = NOF_NONE;
    p->sent_frames = p->lost_frames = 0;
    p->flight_bytes = 0;
}

/* An acknowledgement of a frame that was sent again, or given up, has come. Returns 0 if it tells
 * nothing of when that transmission arrived. */
static int arrived_late(struct nof_path *p, const struct nof_sent *e)
{
    uint64_t age_ns = p->t->now_ns - e->sent_ns;
    int lost = e->flags & NOF_SENT_LOST;
    int too_soon = e->retx > 0 && age_ns < p->rtt.min_ns - p->rtt.min_ns / 8;

    /* The answer to a timeout: was the frame lost, or was the peer's core only not scheduled? In the
     * latter case what was sent after it is acknowledged right behind (the idea of RFC 5682). */
    if (e->retx > 0 && p->backoff > 0)
        p->doubt_ns = p->t->now_ns + (p->rtt.srtt_ns > DOUBT_MIN_NS ? p->rtt.srtt_ns : DOUBT_MIN_NS);
    if (lost) {
        p->lost_frames--;
        p->flight_bytes += e->len_bytes; /* the caller takes it off again */
    }
    /* Declared lost and here all the same, or too soon for the retransmission: the original had
     * only been overtaken. */
    if ((lost || too_soon) && p->reorder_level < LEVEL_MAX)
        p->reorder_level++;
    return !too_soon && !(lost && e->retx > 0);
}

/* An acknowledgement of e has come. */
static inline void arrived(struct nof_path *p, const struct nof_sent *e, struct nof_acked *acked)
{
    acked->rtt_pn = e->pn;
    acked->rtt_sent_ns = e->sent_ns;
    if (e->flags != 0 || e->retx != 0) {
        if (e->retx != 0)
            acked->rtt_sent_ns = 0; /* Karn */
        if (arrived_late(p, e) && nof_serial_before(p->delivered_xn, e->xn + 1))
            p->delivered_xn = e->xn + 1;
    } else if (nof_serial_before(p->delivered_xn, e->xn + 1)) {
        p->delivered_xn = e->xn + 1;
    }
    p->flight_bytes -= e->len_bytes;
    p->sent_frames--;
    acked->bytes += e->len_bytes;
}

static int bit(const uint8_t *words, uint32_t i)
{
    return words[i / 8] >> (i % 8) & 1; /* little-endian words: bit i is in byte i / 8 */
}

/* Walk to the highest bit that is set; unlink what has arrived. */
static void ack_selected(struct nof_path *p, uint32_t ack, const uint8_t *words, uint32_t nwords,
                         struct nof_acked *acked)
{
    struct nof_transport *t = p->t;
    uint32_t before = NOF_NONE;
    uint32_t index = p->sent_head;

    /* bound: window of the path, 1024; paid by the acknowledgement */
    while (index != NOF_NONE) {
        struct nof_sent *e = &t->sent[index];
        uint32_t next = e->next;
        uint32_t i = e->pn - ack - 1; /* UINT32_MAX for the packet `ack` itself */

        if (i != UINT32_MAX && i >= 32 * nwords)
            break;
        if (i == UINT32_MAX || !bit(words, i)) {
            before = index;
            index = next;
            continue;
        }
        arrived(p, e, acked);
        if (before == NOF_NONE)
            p->sent_head = next;
        else
            t->sent[before].next = next;
        if (next == NOF_NONE)
            p->sent_tail = before;
        nof_sent_release(t, index);
        index = next;
    }
}

void nof_sent_ack(struct nof_path *p, uint32_t ack, const uint8_t *words, uint32_t nwords,
                  struct nof_acked *acked_out)
{
    struct nof_transport *t = p->t;

    acked_out->bytes = 0;
    acked_out->rtt_pn = 0;
    acked_out->rtt_sent_ns = 0;
    acked_out->flight_before_bytes = p->flight_bytes;
    /* bound: window of the path, 1024; paid by the acknowledgement */
    while (p->sent_head != NOF_NONE) {
        uint32_t index = p->sent_head;
        struct nof_sent *e = &t->sent[index];

        if (!nof_serial_before(e->pn, ack))
            break;
        p->sent_head = e->next;
        arrived(p, e, acked_out);
        if (t->tx.count != 0) {
            nof_sent_release(t, index);
            continue;
        }
        t->cfg.port_ops->frame_free(t->cfg.port, e->frame);
        e->next = t->sent_free;
        t->sent_free = index;
        t->sent_free_count++;
    }
    if (p->sent_head == NOF_NONE)
        p->sent_tail = NOF_NONE;
    p->snd_cum = ack;
    if (nwords > 0)
        ack_selected(p, ack, words, nwords, acked_out);
}

void nof_sent_detect(struct nof_path *p)
{
    struct nof_transport *t = p->t;
    uint32_t threshold = THRESHOLD << p->reorder_level;
    uint64_t wait_ns =
        p->rtt.srtt_ns + ((uint64_t)(p->rtt.srtt_ns / 8 + p->rtt.rttvar_ns) << p->reorder_level);
    uint32_t lost = 0;

    p->loss_at_ns = NOF_NO_DEADLINE;
    if (t->now_ns < p->doubt_ns) {
        if (p->sent_head != NOF_NONE)
            p->loss_at_ns = p->doubt_ns;
        return;
    }
    /* bound: window of the path, 1024; paid by the time-out of the path */
    for (uint32_t index = p->sent_head; index != NOF_NONE; index = t->sent[index].next) {
        struct nof_sent *e = &t->sent[index];
        uint32_t behind = p->delivered_xn - e->xn; /* 1: the newest that arrived */

        if (!nof_serial_before(e->xn, p->delivered_xn)) {
            if (e->retx == 0)
                break; /* so were all that follow: sent later, or sent again later still */
            continue;
        }
        if (e->flags & NOF_SENT_LOST)
            continue;
        if (behind > threshold || t->now_ns >= e->sent_ns + wait_ns) {
            e->flags |= NOF_SENT_LOST;
            p->flight_bytes -= e->len_bytes;
            p->lost_frames++;
            lost++;
        } else if (e->sent_ns + wait_ns < p->loss_at_ns) {
            p->loss_at_ns = e->sent_ns + wait_ns;
        }
    }
    if (lost > 0) {
        struct nof_cc_path cc = nof_path_cc(p);

        nof_cc_on_loss(&p->cc, &cc, lost);
    }
}

void nof_sent_round(struct nof_path *p)
{
    if (++p->level_rounds % LEVEL_ROUNDS == 0 && p->reorder_level > 0)
        p->reorder_level--;
}

int nof_sent_may_retransmit(const struct nof_path *p)
{
    return p->lost_frames > 0 && (p->flight_bytes == 0 || p->flight_bytes < nof_path_cwnd(p));
}

static int transmit_again(struct nof_path *p, uint32_t index)
{
    struct nof_transport *t = p->t;
    struct nof_sent *e = &t->sent[index];

    if (queued(t, index) || !nof_tx_queue_add(t, e->frame, index))
        return 0;
    if (e->flags & NOF_SENT_LOST) {
        p->flight_bytes += e->len_bytes;
        p->lost_frames--;
    }
    e->flags = 0;
    t->room_path = NULL;
    e->sent_ns = t->now_ns;
    e->xn = p->xn++;
    if (e->retx < UINT8_MAX)
        e->retx++;
    nof_transport_count(t, NOF_C_RETRANSMITS, 1);
    return 1;
}

void nof_sent_retransmit(struct nof_path *p)
{
    struct nof_transport *t = p->t;

    /* bound: window of the path, 1024, and the frames of one turn; paid by the path */
    for (uint32_t index = p->sent_head; index != NOF_NONE && t->budget > 0 && nof_sent_may_retransmit(p);
         index = t->sent[index].next) {
        if (!(t->sent[index].flags & NOF_SENT_LOST))
            continue;
        if (!transmit_again(p, index))
            return;
        t->budget--;
        nof_transport_count(t, NOF_C_RETRANSMITS_FAST, 1);
    }
}

void nof_sent_probe(struct nof_path *p)
{
    struct nof_transport *t = p->t;

    nof_transport_count(t, NOF_C_TIMEOUTS, 1);
    p->pto_base_ns = t->now_ns;
    if (p->backoff < 16)
        p->backoff++;
    struct nof_cc_path cc = nof_path_cc(p);
    nof_cc_on_timeout(&p->cc, &cc, p->backoff);
    /* The oldest one: its acknowledgement moves the window, and tells by the order of
     * transmissions which of the others are lost. */
    (void)transmit_again(p, p->sent_head);
}
