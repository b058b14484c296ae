/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Acknowledgements, both ways. Every frame carries the next packet number expected; an ACKS frame
 * adds the bitmap of what came beyond a gap. Owed are: at once after a gap, a duplicate, or when
 * the sender asks; after NOF_ACK_EVERY frames; or ack_delay_us after the first, on a slow link the time of
 * NOF_ACK_SLOW_FRAMES, or there would be one for every frame. */
#include "transport/state.h"

static uint64_t delay_us(const struct nof_path *p)
{
    return (p->t->now_ns - p->reorder.newest_ns) / NOF_US;
}

void nof_ack_flush(struct nof_path *p)
{
    struct nof_transport *t = p->t;
    uint8_t f[NOF_WIRE_ACKS_BITMAP + 4 * NOF_WIRE_ACKS_WORDS_MAX];
    uint32_t n = nof_reorder_words(&p->reorder);
    uint64_t us = delay_us(p);

    if (!p->ack_now && (p->ack_pending == 0 || t->now_ns < p->ack_due_ns))
        return;
    nof_put32(f + NOF_WIRE_ACKS_DELAY, us < UINT32_MAX ? (uint32_t)us : UINT32_MAX);
    nof_put32(f + NOF_WIRE_ACKS_COUNT, n);
    nof_reorder_bits(&p->reorder, &t->slots, f + NOF_WIRE_ACKS_BITMAP, n);
    if (!nof_tx_unreliable(p, NOF_WIRE_ACKS, p->marked ? NOF_WIRE_ACKS_F_MARKED : 0, f,
                           NOF_WIRE_ACKS_BITMAP + 4 * n, 0)) {
        p->ack_now = 0;
        if (p->ack_pending == 0)
            p->ack_pending = 1;
        p->ack_due_ns = t->now_ns + NOF_PORT_RETRY_NS;
        return;
    }
    nof_transport_count(t, NOF_C_ACKS_TX, 1);
    p->marked = false;
    p->ack_now = 0;
    p->ack_pending = 0;
}

void nof_ack_rx(struct nof_path *p, uint32_t ack, const uint8_t *words, uint32_t nwords, uint64_t delay_ns)
{
    struct nof_acked acked;
    struct nof_cc_path cc;
    uint32_t highest = ack - 1;
    uint64_t rtt_ns = 0;

    if (ack == p->sent.cum_pn && nwords == 0)
        return;
    /* Older than what we know, or of packets never sent: nothing in it can be trusted. */
    if (nof_serial_before(ack, p->sent.cum_pn) || nof_serial_before(p->sent.next_pn, ack))
        return;
    /* bound: words of the window, 32; paid by the frame */
    for (uint32_t w = nwords; w-- > 0;) {
        uint32_t bits = nof_get32(words + 4 * w);

        if (bits == 0)
            continue;
        highest = ack + 32 * w + 1;
        /* bound: 64 bits; paid by the frame */
        for (; bits > 1; bits >>= 1)
            highest++;
        break;
    }
    if (!nof_serial_before(highest, p->sent.next_pn))
        return;
    if (ack != p->sent.cum_pn)
        nof_mtu_undoubt(p);
    nof_sentmap_ack(&p->sent, &p->t->sent, &p->rtt,
                    &(struct nof_sent_ack){.now_ns = p->t->now_ns,
                                           .words = words,
                                           .nwords = nwords,
                                           .cum_pn = ack,
                                           .timed_out = p->backoff > 0},
                    &acked);
    if (acked.bytes == 0)
        return;
    nof_tx_queue_release(p->t, acked.gone);
    p->backoff = 0;
    p->pto_base_ns = p->t->now_ns;
    if (acked.rtt_sent_ns != 0 && acked.rtt_pn == highest && delay_ns != NOF_ACK_DELAY_UNKNOWN)
        rtt_ns = nof_rtt_update(&p->rtt, p->t->now_ns - acked.rtt_sent_ns, delay_ns, p->t->now_ns);
    cc = nof_path_cc(p);
    if (nof_cc_on_ack(&p->cc, &cc, acked.bytes, acked.flight_before_bytes, rtt_ns))
        nof_sentmap_round(&p->sent);
    nof_recovery_detect(p);
    if (p->raise_at_ms != 0)
        nof_mtu_raise(p);
}

/* After what the same ACKS acknowledges, by which the round trip is known in which this counts. */
static void hear_mark(struct nof_path *p)
{
    struct nof_cc_path cc = nof_path_cc(p);

    nof_cc_on_mark(&p->cc, &cc);
}

bool nof_ack_rx_acks(struct nof_path *p, const struct nof_packet *packet)
{
    const uint8_t *f = packet->common + NOF_WIRE_COMMON_BYTES;
    uint32_t n;

    if (packet->fields_bytes < NOF_WIRE_ACKS_BITMAP)
        return false;
    n = nof_get32(f + NOF_WIRE_ACKS_COUNT);
    if (n > NOF_WIRE_ACKS_WORDS_MAX || packet->fields_bytes != NOF_WIRE_ACKS_BITMAP + 4 * n)
        return false;
    nof_ack_rx(p, nof_get32(packet->common + NOF_WIRE_ACK), f + NOF_WIRE_ACKS_BITMAP, n,
               (uint64_t)nof_get32(f + NOF_WIRE_ACKS_DELAY) * NOF_US);
    if ((packet->common[NOF_WIRE_FLAGS] & NOF_WIRE_ACKS_F_MARKED) && p->state == NOF_PATH_UP)
        hear_mark(p);
    return true;
}
