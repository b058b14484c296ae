/* SPDX-License-Identifier: BSD-3-Clause */
/* The death of a peer, and of the NIC: what ends with it, and telling others.
 *
 * A NIC tells its host of peers it has a path to; a rank that waits for somebody who
 * waits for the dead one (in a collective, say) may have none. So the first time a rank hears that
 * another died, it tells those 1, 2, 4, ... places after it in MPI_COMM_WORLD, and they do the same:
 * every living rank hears of it through many chains, with log(size) messages each.
 *
 * Notices travel in a context of their own, into one receive that every rank keeps posted. */
#include <stdlib.h>
#include <string.h>

#include "chan/nic/chan_nic.h"
#include "comm/comm.h"
#include "base/error.h"

struct notice {
    int32_t rank; /* job rank that died */
    int32_t status; /* what its NIC said */
};

static struct notice incoming;
static bool posting; /* the receive of it is being posted again */

static void spread(int world_rank, int status)
{
    struct notice notice = {.rank = world_rank, .status = status};
    for (int distance = 1; distance < nof_lib.world_size; distance *= 2) {
        int to = (nof_lib.world_rank + distance) % nof_lib.world_size;
        if (to == world_rank || nof_chan_nic.peers[to].dead)
            continue;
        struct nof_request *req = nof_request_internal(NOF_REQUEST_SEND, nof_comm_world(), &notice,
                                                       sizeof(notice), nof_type_byte(), to, 0);
        if (req == NULL)
            return;
        req->ctx = nof_comm_notice_ctx();
        /* Small enough to travel in the descriptor, unless it has to wait for its turn. */
        req->packed = malloc(sizeof(notice));
        if (req->packed == NULL) {
            nof_request_free(req);
            return;
        }
        memcpy(req->packed, &notice, sizeof(notice));
        req->data = req->packed;
        req->bytes = sizeof(notice);
        req->orphan = true;
        nof_chan_nic_send(req);
    }
}

/* Receives from anybody cannot tell whether the dead one was meant: they end too. */
static bool concerns(const struct nof_chan_nic_op *op, int world_rank, bool left)
{
    if (op->req == NULL || nof_request_is_own(op->req) || op->phase == NOF_OP_GROUP ||
        (op->req->kind != NOF_REQUEST_RECV && op->req->kind != NOF_REQUEST_PROBE))
        return false;
    if (op->peer != NOF_ANY_SOURCE || left)
        return op->peer == world_rank;
    return nof_comm_has(op->req->comm, world_rank);
}

void nof_chan_nic_peer_died(int world_rank, int status)
{
    struct nof_chan_nic_peer *peer = &nof_chan_nic.peers[world_rank];
    if (peer->dead)
        return;
    bool left = status == NOF_OK;
    peer->dead = true;
    peer->left = left;
    if (!left) {
        nof_chan_nic.dead_count++;
        if (!nof_chan_nic.closing)
            spread(world_rank, status);
    }
    int code = nof_chan_nic_status_code(left ? NOF_EPEERDEAD : status, world_rank);
    nof_chan_gone(world_rank, status, code);
    nof_chan_nic_send_fail_waiting(peer, code);
    /* Ending one request may end others (a collective): begin again after each. */
    for (struct nof_chan_nic_op *op = nof_chan_nic.active; op != NULL;) {
        if (op->fail_code == MPI_SUCCESS && concerns(op, world_rank, left)) {
            nof_chan_nic_recv_fail(op, code);
            op = nof_chan_nic.active;
        } else if (op->phase == NOF_OP_SEND && op->parked && op->peer == world_rank) {
            nof_chan_nic_send_lost(op, code);
            op = nof_chan_nic.active;
        } else {
            op = op->next_active;
        }
    }
    if (!left)
        nof_chan_death(world_rank, code);
}

static void received(struct nof_request *req)
{
    struct notice notice = incoming;
    bool good = req->error == MPI_SUCCESS && req->status_bytes == sizeof(notice);
    /* Any other error (a broken message, no room in the NIC) must not make later deaths unheard.
     * One that comes from within the posting would only come again. */
    if (nof_chan_nic.nic_dead || req->cancelled || posting) {
        nof_request_free(req);
        return;
    }
    nof_request_reset(req);
    posting = true;
    nof_chan_nic_recv(req);
    posting = false;
    if (good && notice.rank >= 0 && notice.rank < nof_lib.world_size && notice.rank != nof_lib.world_rank)
        nof_chan_nic_peer_died(notice.rank, notice.status);
}

void nof_chan_nic_notice_start(void)
{
    struct nof_request *req =
        nof_request_internal(NOF_REQUEST_RECV, nof_comm_world(), &incoming, sizeof(incoming), nof_type_byte(),
                             MPI_ANY_SOURCE, MPI_ANY_TAG);
    if (req == NULL)
        return;
    req->ctx = nof_comm_notice_ctx();
    req->data = &incoming;
    req->bytes = sizeof(incoming);
    req->on_done = received;
    nof_chan_nic_recv(req);
}

void nof_chan_nic_died(const char *why)
{
    if (nof_chan_nic.nic_dead)
        return;
    nof_chan_nic.nic_dead = true;
    nof_chan_nic.nic_dead_code =
        nof_error(MPIX_ERR_PROC_FAILED, "the NIC of rank %d (%s on %s) is gone: %s", nof_lib.world_rank,
                  nof_chan_nic.identity->nic_name, nof_lib.host, why);
    nof_chan_nic.queue_count = 0;
    nof_chan_nic.pulls_first = NULL;
    nof_chan_nic.pulls_last = NULL;
    nof_chan_nic.pulls_retry_ns = 0;
    for (int i = 0; i < nof_lib.world_size; i++)
        nof_chan_nic_send_fail_waiting(&nof_chan_nic.peers[i], nof_chan_nic.nic_dead_code);
    while (nof_chan_nic.active != NULL) {
        struct nof_chan_nic_op *op = nof_chan_nic.active;
        struct nof_request *req = op->req;
        if (op->phase == NOF_OP_SCHED_OPEN || op->phase == NOF_OP_SCHED) {
            nof_chan_nic_sched_lost(op, nof_chan_nic.nic_dead_code);
            continue;
        }
        if (op->phase == NOF_OP_LOCAL || op->phase == NOF_OP_HELD)
            nof_chan_nic_local_remove(op);
        if (op->phase == NOF_OP_GROUP_OPEN)
            nof_chan_nic_group_lost(op);
        nof_chan_nic_op_free(op);
        if (req != NULL) {
            nof_chan_left(req);
            nof_request_fail(req, nof_chan_nic.nic_dead_code);
        }
    }
    nof_chan_lost(nof_chan_nic.nic_dead_code);
}
