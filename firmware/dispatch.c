/* SPDX-License-Identifier: BSD-3-Clause */
#include "dispatch.h"

#include "coll/drive.h"
#include "mcast/mcast.h"
#include "msg/cancel.h"
#include "compress/grant.h"
#include "compress/chunk.h"
#include "compress/defer.h"
#include "msg/data.h"
#include "msg/deliver.h"
#include "msg/eager.h"
#include "flows.h"
#include "flow/link.h"
#include "flow/peer.h"
#include "msg/rendezvous.h"
#include "msg/send.h"

/* A frame with payload, as it is or decoded. */
static int on_payload(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view, bool lent)
{
    if (view->type == NOF_WIRE_DATA)
        return nof_data_rx(nic, peer, view, lent);
    if (!(peer->flags & NOF_PEER_F_RX))
        return NOF_OK;
    return view->type == NOF_WIRE_MSG ? nof_eager_envelope_rx(nic, peer, view, lent)
                                      : nof_eager_more_rx(nic, peer, view, lent);
}

/* A frame whose payload is a chunk. It is decoded whatever becomes of it, now or later: the predictors must stay in
 * step. */
static int on_chunk(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view, bool lent)
{
    struct nof_wire_view plain;
    if (!(peer->flags & NOF_PEER_F_RX))
        return NOF_OK;
    if (nof_defer_takes(nic, peer, view, &plain)) {
        nic->grants.deferring = view;
        int taken = on_payload(nic, peer, &plain, false);
        nic->grants.deferring = NULL;
        return taken;
    }
    int rc = nof_grant_open_chunk(nic, peer, view, &plain);
    if (rc == NOF_OK)
        return on_payload(nic, peer, &plain, lent || plain.payload != view->payload + NOF_WIRE_PREFIX_BYTES);
    if (view->type == NOF_WIRE_DATA)
        return nof_data_broken_rx(nic, peer, &plain);
    return nof_eager_broken_rx(nic, peer, &plain);
}

/* A send or a receive ends, as the other side says. */
static int on_abort(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view)
{
    if (view->fields_bytes != NOF_WIRE_ABORT_BYTES)
        return NOF_EPROTO;
    uint64_t handle = nof_get64(view->fields + NOF_WIRE_ABORT_HANDLE);
    int status = (int)(int32_t)nof_get32(view->fields + NOF_WIRE_ABORT_STATUS);
    if (status >= NOF_OK || status < INT16_MIN)
        status = NOF_EPROTO;
    if (nof_get32(view->fields + NOF_WIRE_ABORT_SIDE) == NOF_WIRE_ABORT_SEND)
        nof_send_abort_rx(nic, peer, handle, status);
    else
        nof_rndv_abort_rx(nic, peer, handle, status);
    return NOF_OK;
}

int nof_dispatch_frame(struct nof_nic *nic, struct nof_link *link, const struct nof_wire_view *view,
                       bool lent)
{
    if (view->type == NOF_WIRE_FLOW_OPEN)
        return nof_peer_flow_open_rx(nic, link, view);
    if (view->type == NOF_WIRE_EP_DOWN)
        return nof_flows_ep_down_rx(nic, link, view);
    if (view->type == NOF_WIRE_FLOW_REFUSED)
        return nof_flows_refused_rx(nic, link, view);
    if (view->type == NOF_WIRE_MREPAIR)
        return nof_mcast_repair_rx(nic, view);
    if (view->type == NOF_WIRE_GACK)
        return nof_mcast_gack_rx(nic, link, view);
    if (view->type == NOF_WIRE_GDONE)
        return nof_mcast_done_rx(nic, link, view);
    struct nof_peer *peer = nof_peer_by_flow(nic, link, view->src_ep, view->dst_ep);
    if (peer == NULL || nic->eps[peer->ep].state == NOF_EP_CLOSING) { /* refused, or closed meanwhile */
        nic->counters[NOF_C_DROP_TYPE]++;
        return NOF_OK;
    }
    if (!nof_chunk_room(&nic->grants)) { /* so that whatever this frame wants decoded has its place */
        nof_deliver_flush(nic);
        nof_grant_burst_end(&nic->grants);
    }
    switch (view->type) {
    case NOF_WIRE_MSG:
    case NOF_WIRE_MSG_MORE:
    case NOF_WIRE_DATA:
        return view->flags & NOF_WIRE_F_CHUNK ? on_chunk(nic, peer, view, lent)
                                              : on_payload(nic, peer, view, lent);
    case NOF_WIRE_RTS:
        if (view->fields_bytes != NOF_WIRE_MSG_BYTES)
            return NOF_EPROTO;
        if (view->flags & NOF_WIRE_RTS_F_RESUME)
            return nof_rndv_resume_rx(nic, peer, view);
        return peer->flags & NOF_PEER_F_RX ? nof_eager_envelope_rx(nic, peer, view, lent) : NOF_OK;
    case NOF_WIRE_CTS:
        return nof_send_cts_rx(nic, link, peer, view);
    case NOF_WIRE_MATCHED:
        return nof_send_matched_rx(nic, peer, view);
    case NOF_WIRE_ABORT:
        return on_abort(nic, peer, view);
    case NOF_WIRE_CREDIT:
        return nof_send_credit_rx(nic, peer, view);
    case NOF_WIRE_CANCEL:
        return peer->flags & NOF_PEER_F_RX ? nof_cancel_rx(nic, peer, view) : NOF_OK;
    case NOF_WIRE_CANCELLED:
        return nof_cancel_answer_rx(nic, peer, view);
    case NOF_WIRE_CODEC_ASK:
        return nof_grant_ask_rx(nic, link, peer, view);
    case NOF_WIRE_CODEC_GRANT:
        return nof_grant_given_rx(nic, peer, view);
    case NOF_WIRE_CODEC_REVOKE:
        return nof_grant_revoke_rx(nic, peer, view);
    case NOF_WIRE_CODEC_END:
        return nof_grant_end_rx(nic, peer, view);
    case NOF_WIRE_COLL_ABORT:
        return peer->flags & NOF_PEER_F_RX ? nof_drive_abort_rx(nic, peer, view) : NOF_OK;
    default:
        return NOF_EPROTO;
    }
}

void nof_dispatch_local(struct nof_nic *nic)
{
    struct nof_local_batch batch = nof_local_take(nic);
    struct nof_wire_view view;
    struct nof_link *link;
    /* bound: frames of the loop-back pool; paid by who sent them, by their share of the link */
    while ((link = nof_local_next(nic, &batch, &view)) != NULL)
        nof_dispatch_frame(nic, link, &view, true);
    nof_deliver_flush(nic);
    nof_local_done(nic, &batch);
}
