/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives and probes from any source in a communicator some of whose ranks memory reaches, and others the NIC. A receive stands in
 * both stores, in the order of the calls, and a word decides (chan/claims.h; decision 0039); a probe that waits is asked in both, and
 * the first answer calls the other off. What names its rank is that rank's channel's from the beginning (nof_chan_of_mixed()).
 *
 * A message of memory that is here already comes first, since MPI orders those of different ranks in no way; but after so many of them
 * in a row the NIC is asked before, so that a rank of this host that floods keeps nobody else out for ever. */
#include "chan/nic/chan_nic.h"
#include "chan/shm/chan_shm.h"
#include "comm/comm.h"

#define MEMORY_IN_A_ROW 32u

/* Memory has a message for req: is it the NIC's turn, and what does it have? A probe that has found something, the caller's; NULL. */
static struct nof_request *of_nic_in_turn(const struct nof_request *req, bool take)
{
    static unsigned in_a_row;
    struct nof_request *probe = NULL;
    /* In spill mode the answer may have to wait for others; and what polls must not wait. */
    bool answers = !nof_chan_nic.spill && nof_chan_nic.held_first == NULL && !nof_wait_polling();
    if (++in_a_row >= MEMORY_IN_A_ROW && answers)
        probe = nof_request_on(NOF_REQUEST_PROBE, req->comm, NULL);
    if (probe == NULL)
        return NULL;
    in_a_row = 0;
    probe->peer = MPI_ANY_SOURCE;
    probe->tag = req->tag;
    probe->probe_take = take;
    nof_chan_nic_post_probe(probe);
    if (nof_request_wait(probe) == MPI_SUCCESS && probe->found)
        return probe;
    nof_request_free(probe);
    return NULL;
}

static bool received_of_nic(struct nof_request *req)
{
    struct nof_request *probe = nof_shm_find(req) == NULL ? NULL : of_nic_in_turn(req, true);
    if (probe == NULL)
        return false;
    req->message = probe->message;
    nof_chan_by_nic.recv(req);
    req->message = NULL;
    nof_message_free(probe->message);
    nof_request_free(probe);
    return true;
}

static bool probed_of_nic(struct nof_request *req)
{
    struct nof_request *probe = nof_shm_find(req) == NULL ? NULL : of_nic_in_turn(req, req->probe_take);
    if (probe == NULL)
        return false;
    req->message = probe->message;
    req->found = true;
    nof_request_done(req, nof_comm_peer_world(req->comm, probe->status_source), probe->status_tag,
                     probe->status_bytes);
    nof_request_free(probe);
    return true;
}

/* An error of its own, or a message that was matched before. True: nothing is left to do. */
static bool refused(struct nof_request *req)
{
    int rc = nof_shm_refusal(req);
    if (rc != MPI_SUCCESS)
        nof_request_fail(req, rc);
    return rc != MPI_SUCCESS;
}

static void both_recv(struct nof_request *req)
{
    req->channel_op = NULL;
    if (req->message != NULL) {
        (req->message->by_memory ? &nof_chan_by_shm : &nof_chan_by_nic)->recv(req);
        return;
    }
    if (received_of_nic(req) || nof_shm_recv_here(req) || refused(req))
        return;
    if (nof_claim_post(&nof_chan_claims, &req->claim, req->ctx, NOF_MATCH_ANY, nof_shm_wanted_tag(req)) != 0)
        nof_request_fail(req, nof_error(MPI_ERR_NO_MEM, "no memory for a posted receive"));
    else
        nof_chan_nic_post_beside_memory(req);
}

/* Who asks again and again calls nothing else: what has come is taken first. */
static void both_probe(struct nof_request *req)
{
    if (!req->probe_wait && !nof_wait_polling())
        (void)nof_wait_poll();
    req->channel_op = NULL;
    if (probed_of_nic(req))
        return;
    struct nof_shm_envelope *envelope = nof_shm_find(req);
    if (envelope != NULL) {
        nof_shm_answer_probe(req, envelope);
    } else if (!req->probe_wait) {
        nof_chan_nic_post_probe(req);
    } else if (!refused(req)) {
        req->next = nof_chan_probes;
        nof_chan_probes = req;
        nof_chan_nic_post_beside_memory(req);
    }
}

static void both_cancel(struct nof_request *req)
{
    bool waits = req->kind == NOF_REQUEST_RECV && req->claim.memory.links > 0;
    if (!waits || !nof_shm_take_from_nic(req, NULL))
        return;
    req->cancelled = true;
    nof_request_done(req, 0, req->tag, 0);
}

static bool both_cancelling(const struct nof_request *req)
{
    (void)req;
    return false; /* the word has decided */
}

static bool both_streams(const struct nof_type *type, size_t bytes)
{
    return nof_chan_by_nic.streams(type, bytes) && nof_chan_by_shm.streams(type, bytes);
}

const struct nof_chan nof_chan_by_both = {
    .name = "shm and nic",
    .delta = &nof_shm_delta,
    .recv = both_recv,
    .cancel = both_cancel,
    .cancelling = both_cancelling,
    .probe = both_probe,
    .streams = both_streams,
};
