/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The queue towards the port: frames gathered in one call, or kept while the port is busy. */
#include "transport/state.h"

void nof_tx_queue_push(struct nof_transport *t)
{
    struct nof_txq *q = &t->tx;
    unsigned done;

    if (q->count == 0 || t->now_ns < t->tx_retry_ns)
        return;
    done = t->cfg.port_ops->send(t->cfg.port, q->frame, q->count);
    t->sent_in_poll += done;
    nof_transport_count(t, NOF_C_TX_FRAMES, done);
    nof_transport_count(t, NOF_C_TX_BYTES, t->queued_bytes);
    nof_tx_book(t);
    t->queued_bytes = t->queued_frames = 0;
    t->paced_bytes = t->paced_frames = 0;
    /* bound: frames that the port took; paid by the frames */
    for (unsigned i = 0; i < done && q->to_free > 0; i++) {
        if (q->sent[i] == NOF_NIL)
            t->cfg.port_ops->frame_free(t->cfg.port, q->frame[i]);
        else if (q->sent[i] != NOF_TXQ_KEPT && (t->sent.entry[q->sent[i]].flags & NOF_SENT_ZOMBIE))
            nof_sent_free(&t->sent, q->sent[i]);
        else
            continue;
        q->to_free--;
    }
    q->count -= done;
    t->room_path = NULL;
    if (q->count == 0)
        return;
    memmove(q->frame, q->frame + done, q->count * sizeof(q->frame[0]));
    memmove(q->sent, q->sent + done, q->count * sizeof(q->sent[0]));
    nof_transport_count(t, NOF_C_TX_BUSY, 1);
    t->tx_retry_ns = t->now_ns + NOF_PORT_RETRY_NS;
}

/* Only what was put there since the queue last was empty can be in it, so the search is rare. */
bool nof_tx_queue_holds(const struct nof_transport *t, uint32_t sent_index)
{
    if (t->sent.entry[sent_index].sent_ns < t->tx.since_ns)
        return false;
    /* bound: frames of one turn; paid by the path that ends */
    for (uint32_t i = 0; i < t->tx.count; i++)
        if (t->tx.sent[i] == sent_index)
            return true;
    return false;
}

void nof_tx_queue_release(struct nof_transport *t, uint32_t gone)
{
    if (t->tx.count == 0) {
        nof_sent_free_all(&t->sent, gone);
        return;
    }
    /* bound: window of the path, 1024; paid by the acknowledgement, or the path that ends */
    while (gone != NOF_NIL) {
        uint32_t next = t->sent.entry[gone].next;

        if (nof_tx_queue_holds(t, gone)) {
            t->sent.entry[gone].flags |= NOF_SENT_ZOMBIE;
            t->tx.to_free++;
        } else {
            nof_sent_free(&t->sent, gone);
        }
        gone = next;
    }
}

void nof_tx_queue_drop(struct nof_transport *t)
{
    struct nof_txq *q = &t->tx;

    /* bound: frames of one turn; paid by the end of the NIC */
    for (uint32_t i = 0; i < q->count; i++) {
        if (q->sent[i] == NOF_NIL)
            t->cfg.port_ops->frame_free(t->cfg.port, q->frame[i]);
        else if (q->sent[i] != NOF_TXQ_KEPT && (t->sent.entry[q->sent[i]].flags & NOF_SENT_ZOMBIE))
            nof_sent_free(&t->sent, q->sent[i]);
    }
    q->count = 0;
}
