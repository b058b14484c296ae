/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receive window: hands frames up in order and exactly once. What comes beyond a gap is copied into
 * a slot of the NIC's pool; with no slot left it is dropped and will be sent again (the frame that
 * fills the gap never needs a slot, so there is always progress). */
#include "transport/state.h"

void nof_reorder_init(struct nof_transport *t)
{
    uint32_t n = t->cfg.nic->reorder_frames;

    /* bound: frames out of order; paid by set-up */
    for (uint32_t i = 0; i < n; i++)
        t->slots[i].next = i + 1 < n ? i + 1 : NOF_NONE;
    t->slot_free = n > 0 ? 0 : NOF_NONE;
}

static void slot_release(struct nof_transport *t, uint32_t index)
{
    t->slots[index].next = t->slot_free;
    t->slot_free = index;
}

void nof_reorder_clear(struct nof_path *p)
{
    /* bound: frames of one path out of order, its window; paid by the path that ends */
    while (p->slot_head != NOF_NONE) {
        uint32_t index = p->slot_head;

        p->slot_head = p->t->slots[index].next;
        slot_release(p->t, index);
    }
    p->slot_tail = NOF_NONE;
}

void nof_reorder_bits(const struct nof_path *p, uint8_t *words, uint32_t nwords)
{
    const struct nof_slot *slots = p->t->slots;

    memset(words, 0, 4 * nwords);
    /* bound: frames of one path out of order, its window; paid by the acknowledgement */
    for (uint32_t index = p->slot_head; index != NOF_NONE; index = slots[index].next) {
        uint32_t i = slots[index].pn - p->rcv_nxt - 1;

        words[i / 8] |= (uint8_t)(1u << (i % 8)); /* little-endian words: bit i is in byte i / 8 */
    }
}

void nof_reorder_refused(struct nof_path *p)
{
    nof_transport_count(p->t, NOF_C_DROP_PROTO, 1);
    nof_path_log(p, 1, "peer broke the message protocol, path reset");
    nof_path_bury(p, NOF_EPROTO, 1);
}

static void drain(struct nof_path *p)
{
    struct nof_transport *t = p->t;

    /* bound: frames of one path that are in order now, its window; paid by the path */
    while (p->slot_head != NOF_NONE && t->slots[p->slot_head].pn == p->rcv_nxt) {
        uint32_t index = p->slot_head;
        struct nof_slot *slot = &t->slots[index];
        int go_on;

        p->slot_head = slot->next;
        if (p->slot_head == NOF_NONE)
            p->slot_tail = NOF_NONE;
        go_on = nof_reorder_deliver(p, t->slot_data + (size_t)index * t->slot_bytes, slot->len_bytes, 0);
        slot_release(t, index);
        if (!go_on)
            return;
    }
}

static void keep(struct nof_path *p, const struct nof_packet *packet, uint32_t pn)
{
    struct nof_transport *t = p->t;
    uint32_t index = t->slot_free;
    uint32_t *link = &p->slot_head;

    /* Mostly they come in order behind the gap. */
    if (p->slot_tail != NOF_NONE && nof_serial_before(t->slots[p->slot_tail].pn, pn))
        link = &t->slots[p->slot_tail].next;
    /* bound: frames of one path out of order, its window; paid by the frame */
    while (*link != NOF_NONE && nof_serial_before(t->slots[*link].pn, pn))
        link = &t->slots[*link].next;
    if (*link != NOF_NONE && t->slots[*link].pn == pn) {
        nof_transport_count(t, NOF_C_DROP_DUPLICATE, 1);
        return;
    }
    if (index == NOF_NONE || packet->len_bytes > t->slot_bytes) {
        nof_transport_count(t, NOF_C_DROP_NOMEM, 1);
        return;
    }
    struct nof_slot *slot = &t->slots[index];
    t->slot_free = slot->next;
    memcpy(t->slot_data + (size_t)index * t->slot_bytes, packet->common, packet->len_bytes);
    slot->pn = pn;
    slot->len_bytes = packet->len_bytes;
    slot->next = *link;
    *link = index;
    if (slot->next == NOF_NONE)
        p->slot_tail = index;
    if (!nof_serial_before(pn, p->rcv_high)) {
        p->rcv_high = pn + 1;
        p->newest_ns = t->now_ns;
    }
    nof_transport_count(t, NOF_C_REORDERED, 1);
}

void nof_reorder_rx(struct nof_path *p, const struct nof_packet *packet)
{
    struct nof_transport *t = p->t;
    uint32_t pn = nof_get32(packet->common + NOF_WIRE_PN);
    uint32_t ahead = pn - p->rcv_nxt;

    nof_ack_owe(p, 1);
    if (ahead == 0) { /* it closes a gap, or makes it smaller: else it was nof_reorder_next()'s */
        if (nof_reorder_deliver(p, packet->common, packet->len_bytes, 1))
            drain(p);
        return;
    }
    if ((int32_t)ahead < 0)
        nof_transport_count(t, NOF_C_DROP_DUPLICATE, 1);
    else if (ahead >= t->window_frames)
        nof_transport_count(t, NOF_C_DROP_WINDOW, 1);
    else
        keep(p, packet, pn);
}
