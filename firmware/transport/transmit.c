/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hot path of the send side: window, frame, send, and (inline) the queue towards the port. No lock, no
 * allocation but the port's frame, no system call, no division. Touches of
 * state per frame: the path (3 cache lines), one sent map entry, one slot of the queue. */
#include "transport/state.h"

/* Also without the sender's asking, frames are acknowledged by number (ack.c); a sender asks so
 * that at least this many acknowledgements come per window. */
#define ACKS_PER_WINDOW 4u

unsigned nof_path_window(struct nof_path *path, bool urgent)
{
    return nof_tx_room(path, urgent);
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

    if ((p->ack_req_bytes < share || p->sent.flight_bytes < share) && p->sent.flight_bytes < p->cc.cwnd_bytes)
        return 0;
    p->ack_req_bytes = 0;
    return NOF_WIRE_F_ACK_NOW;
}

uint32_t nof_path_send(struct nof_path *path, struct nof_frame *frame, uint8_t type, uint8_t flags,
                       uint16_t src_ep, uint16_t dst_ep, uint32_t fields_bytes, uint32_t body_bytes,
                       int summed)
{
    struct nof_transport *t = path->t;
    uint32_t pn = path->sent.next_pn;
    uint32_t index = path->state == NOF_PATH_UP ? nof_sent_get(&t->sent) : NOF_NIL;

    if (index == NOF_NIL) {
        /* Only when the caller sends without asking for the window: a frame must not be lost
         * from the middle of an ordered stream, so the stream ends here. */
        nof_path_frame_drop(path, frame);
        nof_path_bury(path, NOF_ENOMEM, true);
        return pn;
    }

    frame->len_bytes = NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES + body_bytes;
    if (t->room_path == path && t->room_frames > 0)
        t->room_frames--;
    else
        t->room_path = NULL;
    if (nof_sentmap_empty(&path->sent))
        path->pto_base_ns = t->now_ns;
    nof_sentmap_add(&path->sent, &t->sent, index, frame, t->now_ns);
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
    if (path->mtu_bytes == NOF_MTU_MIN_BYTES)
        nof_tx_cut(t, frame);
    /* The frame acknowledges all that came in order; a gap still wants its bitmap, and a mark its flag. */
    if (!path->marked)
        path->ack_pending = 0;
    if (!nof_reorder_gap(&path->reorder) && !path->marked)
        path->ack_now = false;

    /* The port may be busy beyond what the queue holds. */
    if (!nof_tx_queue_add(t, frame, index))
        nof_sentmap_stuck(&path->sent, &t->sent, index);
    nof_path_touch(path);
    return pn;
}
