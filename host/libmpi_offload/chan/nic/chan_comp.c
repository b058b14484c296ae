/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/nic/chan_nic.h"
#include "base/error.h"

static void of_operation(const struct nof_comp *comp)
{
    struct nof_chan_nic_op *op = nof_chan_nic_op_of(comp->cookie);
    if (op == NULL)
        return; /* it ended another way meanwhile (cancelled, peer dead) */
    switch (comp->opcode) {
    case NOF_COMP_SEND:
        if (op->phase == NOF_OP_SEND)
            nof_chan_nic_send_done(op, comp);
        break;
    case NOF_COMP_GRANT:
        if (op->phase == NOF_OP_SEND && op->parked &&
            op->peer == comp->peer) /* a peer NIC names it: it may be any */
            nof_chan_nic_send_granted(op, comp);
        break;
    case NOF_COMP_SEND_CANCEL:
        if (op->phase == NOF_OP_SEND)
            nof_chan_nic_send_cancelled(op, comp->status);
        break;
    case NOF_COMP_PARKED: /* the operation stays until it is granted */
        if (op->phase == NOF_OP_SEND)
            nof_chan_nic_send_parked(op);
        break;
    case NOF_COMP_RECV:
        nof_chan_nic.came += (comp->status == NOF_OK || comp->status == NOF_ETRUNC) && !op->pulled;
        if (op->phase == NOF_OP_RECV)
            nof_chan_nic_recv_done(op, comp);
        else if (op->phase == NOF_OP_ACK)
            nof_chan_nic_op_free(op);
        break;
    case NOF_COMP_PROBE:
    case NOF_COMP_MPROBE:
        if (op->phase == NOF_OP_PROBE)
            nof_chan_nic_probe_done(op, comp);
        break;
    case NOF_COMP_CANCEL:
        if (op->phase != NOF_OP_SEND)
            nof_chan_nic_cancel_done(op, comp->status);
        break;
    case NOF_COMP_LAYOUT:
        if (op->phase == NOF_OP_LAYOUT)
            nof_chan_nic_layout_done(op, comp->status);
        break;
    case NOF_COMP_SCHED_OPEN:
        if (op->phase == NOF_OP_SCHED_OPEN)
            nof_chan_nic_sched_opened(op, comp->status);
        break;
    case NOF_COMP_SCHED_HOST:
        if (op->phase == NOF_OP_SCHED)
            nof_chan_nic_sched_asked(op, comp);
        break;
    case NOF_COMP_SCHED:
        if (op->phase == NOF_OP_SCHED)
            nof_chan_nic_sched_done(op, comp);
        break;
    case NOF_COMP_FLUSH:
        if (op->phase == NOF_OP_FLUSH)
            nof_chan_nic_op_free(op);
        break;
    default:
        nof_chan_nic_group_complete(op, comp);
        break;
    }
}

static bool known_rank(int32_t rank)
{
    return rank >= 0 && rank < nof_lib.world_size;
}

static void failure_heard(const struct nof_comp *comp)
{
    struct nof_chan_failure failure = {.ctx = comp->ctx,
                                       .tag = comp->tag,
                                       .number = (uint32_t)comp->len,
                                       .status = comp->status,
                                       .rank = comp->peer};
    bool asks = comp->status == NOF_EAGAIN;
    if (asks) {
        failure.agreed = (uint8_t)comp->handle;
        failure.unread = (comp->handle & NOF_COLL_UNREAD) != 0;
    }
    nof_chan_failure(&failure, asks ? MPI_SUCCESS : nof_chan_nic_failure_code(comp->status, comp->peer));
}

void nof_chan_nic_complete(const struct nof_comp *comp)
{
    switch (comp->opcode) {
    case NOF_COMP_SPILL:
        nof_chan_nic.came++;
        if (known_rank(comp->peer))
            nof_chan_nic_spilled(comp);
        break;
    case NOF_COMP_REVOKE:
        if (known_rank(comp->peer))
            nof_chan_nic_revoke(comp);
        break;
    case NOF_COMP_SPILL_END:
        nof_chan_nic_spill_end_done(comp->status);
        break;
    case NOF_COMP_PEER_DEAD:
        if (known_rank(comp->peer))
            nof_chan_nic_peer_died(comp->peer, comp->status);
        break;
    case NOF_COMP_PEER: /* only on failure: the peer cannot be made known */
        if (known_rank(comp->peer)) {
            nof_chan_nic.peers[comp->peer].known = false;
            nof_chan_nic_peer_died(comp->peer, comp->status);
        }
        break;
    case NOF_COMP_COLL_ABORT:
        if (known_rank(comp->peer))
            failure_heard(comp);
        break;
    case NOF_COMP_FAILED:
        nof_chan_nic_died(comp->status == NOF_EUNPLUGGED
                              ? nof_strstatus(comp->status)
                              : "the NIC gave up this rank's endpoint (broken queue or descriptor)");
        break;
    default:
        of_operation(comp);
    }
}
