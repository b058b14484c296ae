/* SPDX-License-Identifier: BSD-3-Clause */
/* Notices of death. A NIC tells its host of peers it has a path to; a rank that waits for somebody who
 * waits for the dead one (in a collective, say) may have none. So the first time a rank hears that
 * another died, it tells those 1, 2, 4, ... places after it in MPI_COMM_WORLD, and they do the same:
 * every living rank hears of it through many chains, with log(size) messages each.
 *
 * Notices travel in a context of their own, into one receive that every rank keeps posted. */
#include <stdlib.h>
#include <string.h>

#include "chan/nic/chan_nic.h"
#include "comm/comm.h"
#include "p2p/pt2pt.h"

struct notice {
    int32_t rank; /* job rank that died */
    int32_t status; /* what its NIC said */
};

static struct notice incoming;
static bool posting; /* the receive of it is being posted again */

static void received(struct nof_request *req)
{
    struct notice notice = incoming;
    bool good = req->error == MPI_SUCCESS && req->status_bytes == sizeof(notice);
    /* Any other error (a broken message, no room in the NIC) must not make later deaths unheard.
     * One that comes from within the posting would only come again. */
    if (nof_chan.nic_dead || req->cancelled || posting) {
        nof_request_free(req);
        return;
    }
    nof_request_reset(req);
    posting = true;
    nof_chan_recv(req);
    posting = false;
    if (good && notice.rank >= 0 && notice.rank < nof_lib.world_size && notice.rank != nof_lib.world_rank)
        nof_chan_peer_died(notice.rank, notice.status);
}

void nof_chan_notice_start(void)
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
    nof_chan_recv(req);
}

void nof_chan_notice_spread(int world_rank, int status)
{
    struct notice notice = {.rank = world_rank, .status = status};
    for (int distance = 1; distance < nof_lib.world_size; distance *= 2) {
        int to = (nof_lib.world_rank + distance) % nof_lib.world_size;
        if (to == world_rank || nof_chan.peers[to].dead)
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
        nof_chan_send(req);
    }
}
