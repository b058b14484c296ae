/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reliable frames that are not simply the next one, and what happens to a peer that breaks the protocol. */
#include "transport/state.h"

void nof_receive_refused(struct nof_path *p)
{
    nof_transport_count(p->t, NOF_C_DROP_PROTO, 1);
    nof_path_log(p, 1, "peer broke the message protocol, path reset");
    nof_path_bury(p, NOF_EPROTO, true);
}

static void drain(struct nof_path *p)
{
    struct nof_reorder_pool *pool = &p->t->slots;
    uint32_t slot;
    bool go_on = true;

    /* bound: frames of one path that are in order now, its window; paid by the path */
    while (go_on && (slot = nof_reorder_take(&p->reorder, pool)) != NOF_NIL) {
        go_on = nof_receive_deliver(p, nof_reorder_bytes(pool, slot), pool->slot[slot].len_bytes, false);
        nof_reorder_release(pool, slot);
    }
}

void nof_receive_reordered(struct nof_path *p, const struct nof_packet *packet)
{
    struct nof_transport *t = p->t;
    uint32_t pn = nof_get32(packet->common + NOF_WIRE_PN);

    nof_ack_owe(p, true);
    switch (nof_reorder_rx(&p->reorder, &t->slots, pn, packet->common, packet->len_bytes, t->window_frames,
                           t->now_ns)) {
    case NOF_REORDER_NOW:
        if (nof_receive_deliver(p, packet->common, packet->len_bytes, true))
            drain(p);
        break;
    case NOF_REORDER_KEPT:
        nof_transport_count(t, NOF_C_REORDERED, 1);
        break;
    case NOF_REORDER_DUPLICATE:
        nof_transport_count(t, NOF_C_DROP_DUPLICATE, 1);
        break;
    case NOF_REORDER_BEYOND:
        nof_transport_count(t, NOF_C_DROP_WINDOW, 1);
        break;
    case NOF_REORDER_FULL:
        nof_transport_count(t, NOF_C_DROP_NOMEM, 1);
        break;
    }
}
