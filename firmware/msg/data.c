/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/data.h"

#include "msg/deliver.h"
#include "msg/delta_slots.h"
#include "msg/granted.h"
#include "msg/recv.h"
#include "msg/rendezvous.h"

/* It is kept, until all is here and a receive wants it. */
static void take_early(struct nof_nic *nic, struct nof_recv *r, uint64_t offset, const uint8_t *data,
                       uint32_t n)
{
    nof_granted_put(nic, r, offset, data, n);
    if (!r->arrived)
        return;
    nof_recv_unlist(nic, r); /* the sender's death is of no interest any more */
    if (nof_granted_whole(nic, r))
        nof_deliver_granted(nic, r);
}

/* May n bytes come there? A parked sender has not come back for the grant. */
static bool fits_in(struct nof_nic *nic, struct nof_recv *r, uint64_t offset, uint32_t n, bool ranged)
{
    if (r->parked || n > r->allowed - r->received)
        return false;
    if (ranged != nof_recv_is_ranged(r))
        return false;
    if (!ranged)
        return offset == r->received;
    return !r->early && offset <= r->wanted && n <= r->wanted - offset &&
           (!r->delta || nof_delta_recv_comes(nic, r, offset, n));
}

int nof_data_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view, bool lent)
{
    bool last = (view->flags & NOF_WIRE_DATA_F_LAST) != 0;
    bool failed = (view->flags & NOF_WIRE_F_FAILED) != 0;
    bool fits = view->fields_bytes == (last ? NOF_WIRE_DATA_LAST_BYTES : NOF_WIRE_DATA_BYTES);
    if (!fits && !(failed && view->fields_bytes == NOF_WIRE_DATA_LAST_BYTES))
        return NOF_EPROTO;
    struct nof_recv *r = nof_recv_by_handle(nic, peer, nof_get64(view->fields + NOF_WIRE_DATA_RECEIVER));
    if (r == NULL || r->arrived)
        return NOF_OK; /* it has ended here, and the sender has been told */
    if (failed) {
        nof_recv_end(nic, r, view->flags & NOF_WIRE_F_GONE ? NOF_EPEERDEAD : NOF_EFAULT);
        return NOF_OK;
    }
    uint32_t n = view->payload_bytes;
    uint64_t offset = nof_get64(view->fields + NOF_WIRE_DATA_OFFSET);
    bool ranged = (view->flags & NOF_WIRE_DATA_F_RANGE) != 0;
    uint64_t len = last ? nof_get64(view->fields + NOF_WIRE_DATA_LEN) : r->len;
    uint64_t wanted = len < r->wanted ? len : r->wanted;
    if (!fits_in(nic, r, offset, n, ranged) || (ranged ? len > r->len : len != r->len) ||
        (last && r->received + n != wanted)) {
        nof_count(nic, &nic->eps[peer->ep], NOF_C_MSGS_BROKEN, 1);
        nof_recv_abort(nic, r, NOF_EPROTO);
        return NOF_OK;
    }
    nof_recv_came(r, n);
    if (!r->early && n > 0)
        nof_recv_came_to(r, offset + n);
    if (last) {
        nof_recv_shorter(r, len);
        nof_recv_arrived(r);
    }
    nof_rndv_came(nic, r, n);
    if (last && ranged)
        nof_clearance_leave(nic, r); /* more may be cleared, or asked for, than came */
    if (r->early)
        take_early(nic, r, offset, view->payload, n);
    else if (n > 0)
        nof_deliver_piece(nic, r, offset, view->payload, n, lent);
    else
        nof_deliver_rest(nic, r);
    return NOF_OK;
}

int nof_data_broken_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view)
{
    if (view->fields_bytes < NOF_WIRE_DATA_BYTES)
        return NOF_EPROTO;
    struct nof_recv *r = nof_recv_by_handle(nic, peer, nof_get64(view->fields + NOF_WIRE_DATA_RECEIVER));
    if (r != NULL && !r->arrived)
        nof_recv_abort(nic, r, NOF_EPROTO);
    return NOF_OK;
}
