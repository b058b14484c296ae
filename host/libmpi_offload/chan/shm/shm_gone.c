/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that have died or left: what they had sent is there still, and comes first. */
#include "chan/nic/chan_nic.h"
#include "chan/shm/chan_shm.h"
#include "comm/comm.h"

static struct nof_request *request_of(struct nof_match_entry *entry)
{
    return nof_request_of_claim(nof_claim_of_memory(entry));
}

/* As in the NIC's channel: a receive from anybody cannot tell whether the dead one was meant, and ends too. */
static bool concerns(const struct nof_request *req, int world_rank, bool left)
{
    if (nof_request_is_own(req))
        return false;
    if (req->peer != MPI_ANY_SOURCE)
        return nof_comm_peer_world(req->comm, req->peer) == world_rank;
    return !left && nof_comm_has(req->comm, world_rank);
}

/* Ending one request may end others (a collective): these begin again after each. */
static void fail_posted(int world_rank, bool left, int code)
{
    for (struct nof_match_entry *e = nof_chan_claims.memory.posted.first; e != NULL;) {
        struct nof_request *req = request_of(e);
        e = e->next;
        if (!concerns(req, world_rank, left))
            continue;
        if (nof_shm_take_from_nic(req, NULL)) /* else the NIC has a message for it */
            nof_request_fail(req, code);
        e = nof_chan_claims.memory.posted.first;
    }
}

static void fail_probes(int world_rank, bool left, int code)
{
    for (struct nof_request **at = &nof_chan_probes; *at != NULL;) {
        struct nof_request *req = *at;
        if (!concerns(req, world_rank, left)) {
            at = &req->next;
            continue;
        }
        *at = req->next;
        if (nof_shm_take_from_nic(req, NULL))
            nof_request_fail(req, code);
        at = &nof_chan_probes;
    }
}

static void fail_ops(uint32_t slot, int code)
{
    uint32_t at = 0;
    for (struct nof_shm_op *op; (op = nof_shm_op_each(&at)) != NULL;) {
        struct nof_request *req = op->req;
        if (op->slot != slot)
            continue;
        nof_shm_unqueue(op);
        nof_shm_pull_forget(op);
        nof_shm_op_free(op);
        if (req != NULL)
            nof_request_fail(req, code);
    }
}

void nof_shm_gone(int world_rank, int status, int code)
{
    int32_t slot = nof_shm.open ? nof_shm.slot_of[world_rank] : -1;
    bool left = status == NOF_OK;
    if (slot >= 0 && !nof_shm.peers[slot].gone) {
        struct nof_shm_peer *peer = &nof_shm.peers[slot];
        (void)nof_shm_drain(
            peer, NOF_LANE_SLOTS); /* all that a lane holds: who can write still is not listened to */
        peer->gone = true;
        nof_shm_out_fail(peer, code);
        fail_ops((uint32_t)slot, code);
    }
    if (nof_shm.open) {
        fail_posted(world_rank, left, code);
        fail_probes(world_rank, left, code);
    }
}

void nof_shm_lost(int code)
{
    if (!nof_shm.open || nof_shm.dead)
        return;
    nof_shm.dead = true;
    nof_shm.dead_code = code;
    for (uint32_t slot = 0; slot < nof_shm.memory.nslots; slot++) {
        nof_shm_out_fail(&nof_shm.peers[slot], code);
        fail_ops(slot, code);
    }
    while (nof_chan_claims.memory.posted.first != NULL) {
        struct nof_request *req = request_of(nof_chan_claims.memory.posted.first);
        nof_matcher_unpost(&nof_chan_claims.memory, &req->claim.memory);
        nof_request_fail(req, code);
    }
    while (nof_chan_probes != NULL) {
        struct nof_request *req = nof_chan_probes;
        nof_chan_probes = req->next;
        nof_request_fail(req, code);
    }
}

int nof_shm_look_at_roster(bool left)
{
    const struct nof_roster *roster = nof_shm.memory.roster;
    const struct nof_roster_rank *entries = (const struct nof_roster_rank *)(const void *)(roster + 1);
    int n = 0;
    nof_shm.deaths = __atomic_load_n(&roster->deaths, __ATOMIC_ACQUIRE);
    for (uint32_t slot = 0; slot < nof_shm.memory.nslots; slot++) {
        const struct nof_shm_peer *peer = &nof_shm.peers[slot];
        uint32_t state = __atomic_load_n(&entries[slot].state, __ATOMIC_ACQUIRE);
        if (peer->gone || peer->world_rank < 0 || slot == nof_shm.self ||
            (state != NOF_ROSTER_DEAD && (!left || state != NOF_ROSTER_LEFT)))
            continue;
        nof_chan_nic_peer_died(peer->world_rank, state == NOF_ROSTER_DEAD ? NOF_EPEERDEAD : NOF_OK);
        n++;
    }
    return n;
}
