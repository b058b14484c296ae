/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unreliable frames: HELLO, ACKS, PROBE, CLOSE. Kept apart from transmit.c, whose one caller of
 * nof_packet_finish() is to have it inline. */
#include "transport/state.h"

struct nof_frame *nof_tx_alloc(struct nof_transport *t, uint32_t len_bytes, bool spare)
{
    struct nof_frame *frame = t->cfg.port_ops->frame_alloc(t->cfg.port, len_bytes);

    if (frame == NULL && spare && t->spare_count > 0 && len_bytes <= t->spare[t->spare_count - 1]->cap_bytes)
        frame = t->spare[--t->spare_count];
    if (frame != NULL)
        frame->len_bytes = len_bytes;
    return frame;
}

void nof_tx_stock(struct nof_transport *t)
{
    /* bound: NOF_SPARE_FRAMES; paid by the NIC */
    while (t->spare_count < NOF_SPARE_FRAMES) {
        struct nof_frame *frame = t->cfg.port_ops->frame_alloc(t->cfg.port, t->cfg.nic->mtu_bytes + 14u);

        if (frame == NULL)
            return;
        t->spare[t->spare_count++] = frame;
    }
}

bool nof_tx_unreliable(struct nof_path *p, uint8_t type, uint8_t flags, const uint8_t *fields,
                       uint32_t fields_bytes, uint32_t pad_bytes)
{
    struct nof_transport *t = p->t;
    uint32_t body = fields_bytes + pad_bytes;
    uint32_t len = NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES + body;
    bool sized = type == NOF_WIRE_PROBE && pad_bytes > 0; /* whole or not at all, and never urgent */
    struct nof_frame *frame;
    struct nof_packet_fill fill = {
        .type = type,
        .flags = flags,
        .fields_bytes = (uint8_t)fields_bytes,
        .ack = type == NOF_WIRE_HELLO ? 0 : p->reorder.next_pn,
        .ack_delay_us = type == NOF_WIRE_HELLO ? 0 : nof_ack_delay_field(p),
    };

    if (t->tx.count == NOF_TXQ_FRAMES)
        nof_tx_queue_push(t);
    if (t->tx.count == NOF_TXQ_FRAMES)
        return false;
    frame = nof_tx_alloc(t, len, !sized);
    if (frame == NULL)
        return false;
    if (fields_bytes > 0)
        memcpy(frame->data + NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES, fields, fields_bytes);
    if (pad_bytes > 0)
        memset(frame->data + len - pad_bytes, 0, pad_bytes);
    nof_packet_finish(frame->data, p->head, p->ip_sum, &fill, body);
    if (p->mtu_bytes == NOF_MTU_MIN_BYTES && !sized)
        nof_tx_cut(t, frame);
    (void)nof_tx_queue_add(t, frame, NOF_NIL);
    t->tx.to_free++;
    return true;
}
