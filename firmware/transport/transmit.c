/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hot path of the send side: window, frame, send, and the queue towards the port. No lock, no
 * allocation but the port's frame, no system call; one division only while pacing. Touches of
 * state per frame: the path (3 cache lines), one sent map entry, one slot of the queue. */
#include "transport/state.h"

/* Also without the sender's asking, frames are acknowledged by number (ack.c); a sender asks so
 * that at least this many acknowledgements come per window. */
#define ACKS_PER_WINDOW 4u

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
        if (q->sent[i] == NOF_NONE)
            t->cfg.port_ops->frame_free(t->cfg.port, q->frame[i]);
        else if (t->sent[q->sent[i]].flags & NOF_SENT_ZOMBIE)
            nof_sent_free(t, q->sent[i]);
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

unsigned nof_path_window(struct nof_path *path, int urgent)
{
    struct nof_transport *t = path->t;

    /* What was found a moment ago for this path, less what was sent since, still holds. */
    if (t->room_path == path && t->room_frames > 0 && !urgent)
        return t->room_frames;
    return nof_tx_admit(path, urgent);
}

struct nof_frame *nof_path_frame(struct nof_path *path, uint32_t body_bytes, uint8_t **body_out)
{
    struct nof_transport *t = path->t;
    uint32_t len = NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES + body_bytes;
    struct nof_frame *frame = t->cfg.port_ops->frame_alloc(t->cfg.port, len);

    if (frame == NULL) {
        t->alloc_retry_ns = t->now_ns + NOF_PORT_RETRY_NS;
        nof_tx_starve(path);
        return NULL;
    }
    frame->len_bytes = len;
    *body_out = frame->data + NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES;
    return frame;
}

void nof_path_frame_drop(struct nof_path *path, struct nof_frame *frame)
{
    path->t->cfg.port_ops->frame_free(path->t->cfg.port, frame);
}

/* Ask for an acknowledgement when the window is used up by this frame, and a few times before;
 * but not while next to nothing is in flight. */
static uint8_t ack_request(struct nof_path *p)
{
    uint32_t share = p->cc.cwnd_bytes / ACKS_PER_WINDOW;

    if ((p->ack_req_bytes < share || p->flight_bytes < share) && p->flight_bytes < p->cc.cwnd_bytes)
        return 0;
    p->ack_req_bytes = 0;
    return NOF_WIRE_F_ACK_NOW;
}

uint32_t nof_path_send(struct nof_path *path, struct nof_frame *frame, uint8_t type, uint8_t flags,
                       uint16_t src_ep, uint16_t dst_ep, uint32_t fields_bytes, uint32_t body_bytes,
                       int summed)
{
    struct nof_transport *t = path->t;
    uint32_t pn = path->snd_nxt;
    uint32_t index = path->state == NOF_PATH_UP ? nof_sent_get(t) : NOF_NONE;

    if (index == NOF_NONE) {
        /* Only when the caller sends without asking for the window: a frame must not be lost
         * from the middle of an ordered stream, so the stream ends here. */
        nof_path_frame_drop(path, frame);
        nof_path_bury(path, NOF_ENOMEM, 1);
        return pn;
    }

    struct nof_sent *e = &t->sent[index];

    frame->len_bytes = NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES + body_bytes;
    if (t->room_path == path && t->room_frames > 0)
        t->room_frames--;
    else
        t->room_path = NULL;
    path->snd_nxt = pn + 1;
    path->flight_bytes += frame->len_bytes;
    path->ack_req_bytes += frame->len_bytes;

    struct nof_packet_fill fill = {
        .type = type,
        .flags = flags | ack_request(path),
        .fields_bytes = (uint8_t)fields_bytes,
        .pn = pn,
        .ack = path->reorder.next_pn,
        .ack_delay_us = nof_ack_delay_field(path),
        .src_ep = src_ep,
        .dst_ep = dst_ep,
    };
    if (summed && body_bytes - fields_bytes == t->join.len_bytes)
        nof_packet_finish_summed(frame->data, path->head, path->ip_sum, &fill, body_bytes, &t->join);
    else
        nof_packet_finish(frame->data, path->head, path->ip_sum, &fill, body_bytes);
    /* The frame acknowledges all that came in order; a gap still wants its bitmap. */
    path->ack_pending = 0;
    if (!nof_reorder_gap(&path->reorder))
        path->ack_now = false;

    e->frame = frame;
    e->sent_ns = t->now_ns;
    e->pn = pn;
    e->xn = path->xn++;
    e->next = NOF_NONE;
    e->len_bytes = (uint16_t)frame->len_bytes;
    e->flags = 0;
    e->retx = 0;
    nof_sent_append(path, index);
    if (!nof_tx_queue_add(t, frame, index)) {
        /* The port is busy beyond what the queue holds: it will be sent as if it had been lost. */
        e->flags = NOF_SENT_LOST;
        path->lost_frames++;
        path->flight_bytes -= e->len_bytes;
    }
    nof_path_touch(path);
    return pn;
}
