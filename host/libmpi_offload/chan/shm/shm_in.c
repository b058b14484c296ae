/* SPDX-License-Identifier: BSD-3-Clause */
/* What comes out of the lanes. Each slot is copied once, and the copy is what is believed, or not. */
#include <stdlib.h>
#include <string.h>

#include "chan/nic/chan_nic.h"
#include "chan/shm/chan_shm.h"
#include "comm/comm.h"

int32_t nof_shm_wanted_tag(const struct nof_request *req)
{
    return req->tag == MPI_ANY_TAG ? NOF_MATCH_ANY : req->tag;
}

int32_t nof_shm_wanted_source(const struct nof_request *req)
{
    return req->peer == MPI_ANY_SOURCE ? NOF_MATCH_ANY : nof_comm_peer_world(req->comm, req->peer);
}

struct nof_shm_envelope *nof_shm_find(const struct nof_request *req)
{
    return (struct nof_shm_envelope *)(void *)nof_matcher_find(
        &nof_chan_claims.memory, req->ctx, nof_shm_wanted_source(req), nof_shm_wanted_tag(req));
}

void nof_shm_consume(struct nof_request *req, struct nof_shm_envelope *envelope)
{
    const struct nof_shm_found found = {.peer = &nof_shm.peers[envelope->slot],
                                        .tag = envelope->match.tag,
                                        .op = envelope->op,
                                        .agreed = envelope->agreed,
                                        .asks = envelope->asks,
                                        .flags = envelope->flags,
                                        .key = envelope->key,
                                        .address = envelope->address,
                                        .len = envelope->len,
                                        .board = envelope->board,
                                        .unit_log2 = envelope->unit_log2,
                                        .payload = envelope->payload};
    nof_shm_deliver(req, &found);
    free(envelope);
}

void nof_shm_answer_probe(struct nof_request *probe, struct nof_shm_envelope *envelope)
{
    int32_t source = envelope->match.source, tag = envelope->match.tag;
    uint64_t len = envelope->len;
    probe->found = true;
    if (probe->probe_take) {
        probe->message = nof_message_new(probe->comm, source, tag);
        if (probe->message == NULL) {
            nof_request_fail(probe, nof_error(MPI_ERR_NO_MEM, "no memory for a message handle"));
            return;
        }
        probe->message->envelope = envelope;
        probe->message->by_memory = true;
        nof_matcher_remove(&nof_chan_claims.memory, &envelope->match);
    }
    nof_request_done(probe, source, tag, len);
}

bool nof_shm_take_from_nic(struct nof_request *req, const struct nof_shm_envelope *envelope)
{
    struct nof_chan_nic_op *op = req->channel_op;
    if (!nof_claim_cancel(&nof_chan_claims, &req->claim))
        return false;
    if (op != NULL && envelope != NULL)
        nof_chan_nic_let_go(op, true, envelope->match.source, envelope->match.tag);
    else if (op != NULL)
        nof_chan_nic_let_go(op, false, 0, 0);
    return true;
}

/* Waiting probes are few (one per thread): a list will do. */
static void run_probes(void)
{
    struct nof_request **at = &nof_chan_probes;
    while (*at != NULL) {
        struct nof_request *probe = *at;
        struct nof_shm_envelope *envelope = nof_shm_find(probe);
        if (envelope == NULL) {
            at = &probe->next;
            continue;
        }
        *at = probe->next;
        if (nof_shm_take_from_nic(probe, envelope)) /* else the NIC answers it */
            nof_shm_answer_probe(probe, envelope);
        at = &nof_chan_probes; /* whoever heard of it may have put others there */
    }
}

/* No receive wants it yet. False: no memory. */
static bool keep(const struct nof_shm_found *found, uint32_t ctx)
{
    size_t stored = found->asks ? 0 : found->len;
    struct nof_shm_envelope *envelope = malloc(sizeof(*envelope) + stored);
    if (envelope == NULL)
        return false;
    *envelope =
        (struct nof_shm_envelope){.match = {.ctx = ctx, .source = found->peer->world_rank, .tag = found->tag},
                                  .slot = nof_shm_slot_of(found->peer),
                                  .op = found->op,
                                  .agreed = found->agreed,
                                  .asks = found->asks,
                                  .flags = found->flags,
                                  .key = found->key,
                                  .address = found->address,
                                  .len = found->len,
                                  .board = found->board,
                                  .unit_log2 = found->unit_log2};
    if (stored > 0)
        memcpy(envelope->payload, found->payload, stored);
    if (nof_matcher_add(&nof_chan_claims.memory, &envelope->match) != 0) {
        free(envelope);
        return false;
    }
    run_probes();
    return true;
}

/* Whose it is, posted no longer; NULL: nobody's yet. */
static struct nof_request *posted_for(const struct nof_shm_found *found, uint32_t ctx)
{
    struct nof_claim_recv *posted =
        nof_claim_by_memory(&nof_chan_claims, ctx, found->peer->world_rank, found->tag);
    if (posted == NULL)
        return NULL;
    struct nof_request *req = nof_request_of_claim(posted);
    if (req->channel_op != NULL)
        nof_chan_nic_let_go(req->channel_op, true, found->peer->world_rank, found->tag);
    return req;
}

/* A message; false: no memory for it. */
static bool match(const struct nof_shm_found *found, uint32_t ctx)
{
    nof_shm.came++;
    struct nof_request *req = posted_for(found, ctx);
    if (req == NULL && found->agreed == NOF_AGREED_NO_MORE && found->len == 0)
        return true; /* nobody waits for what was never sent (nof/desc.h, "Agreement") */
    if (req == NULL)
        return keep(found, ctx);
    nof_shm_deliver(req, found);
    return true;
}

static bool take_short(struct nof_shm_peer *peer, const struct nof_lane_slot *slot)
{
    const struct nof_shm_found found = {.peer = peer,
                                        .tag = slot->tag,
                                        .op = (slot->flags & NOF_SHM_F_SYNC) != 0 ? slot->op : 0,
                                        .agreed = slot->agreed,
                                        .len = slot->len,
                                        .payload = slot->payload};
    return slot->len > NOF_LANE_PAYLOAD || slot->tag < 0 || match(&found, slot->ctx);
}

static bool take_cell(struct nof_shm_peer *peer, const struct nof_lane_slot *slot)
{
    struct nof_shm_cell cell;
    memcpy(&cell, slot->payload, sizeof(cell));
    const struct nof_shm_found found = {
        .peer = peer,
        .tag = slot->tag,
        .agreed = slot->agreed,
        .len = cell.len,
        .payload = nof_cell_read(nof_part_cells(peer->part), cell.index, cell.place, cell.len)};
    if (found.payload == NULL)
        return true;
    if (slot->tag >= 0 && !match(&found, slot->ctx))
        return false;
    nof_shm_give_back(peer, &cell);
    return true;
}

static bool take_ask(struct nof_shm_peer *peer, const struct nof_lane_slot *slot)
{
    struct nof_shm_ask ask;
    memcpy(&ask, slot->payload, sizeof(ask));
    const struct nof_shm_found found = {.peer = peer,
                                        .tag = slot->tag,
                                        .op = slot->op,
                                        .agreed = slot->agreed,
                                        .asks = true,
                                        .flags = slot->flags,
                                        .key = slot->arg,
                                        .address = ask.address,
                                        .len = ask.len,
                                        .board = ask.board,
                                        .unit_log2 = ask.unit_log2};
    return slot->tag < 0 || match(&found, slot->ctx);
}

/* The sender would take a message back, which it can as long as nothing was done with it. */
static void revoke(struct nof_shm_peer *peer, uint32_t name)
{
    uint32_t slot = nof_shm_slot_of(peer);
    struct nof_match_entry *entry = nof_chan_claims.memory.waiting.first;
    for (; entry != NULL; entry = entry->next) {
        struct nof_shm_envelope *envelope = (struct nof_shm_envelope *)(void *)entry;
        if (envelope->slot != slot || envelope->op != name || name == 0)
            continue;
        nof_matcher_remove(&nof_chan_claims.memory, entry);
        free(envelope);
        break;
    }
    nof_shm_answer(peer, NOF_SHM_REVOKED, name, entry != NULL);
}

/* False: no memory; it must be taken later. What makes no sense is dropped: its sender has written over its lane.
 * A tag below 0 would be the matcher's NOF_MATCH_ANY. */
static bool take(struct nof_shm_peer *peer, const struct nof_lane_slot *slot)
{
    switch (slot->kind) {
    case NOF_SHM_SHORT:
        return take_short(peer, slot);
    case NOF_SHM_CELL:
        return take_cell(peer, slot);
    case NOF_SHM_ASK:
        return take_ask(peer, slot);
    case NOF_SHM_READY:
        nof_shm_ready(peer, slot);
        return true;
    case NOF_SHM_LENGTH:
        nof_shm_length(peer, slot);
        return true;
    case NOF_SHM_PIECE:
        nof_shm_piece(peer, slot);
        return true;
    case NOF_SHM_DONE:
        nof_shm_done(peer, slot);
        return true;
    case NOF_SHM_REVOKE:
        revoke(peer, slot->op);
        return true;
    case NOF_SHM_REVOKED:
        nof_shm_revoked(peer, slot);
        return true;
    default:
        return true;
    }
}

uint32_t nof_shm_drain(struct nof_shm_peer *peer, uint32_t most)
{
    const struct nof_lane_slot *slot;
    uint32_t n = 0;
    if (peer->stuck) {
        if (!take(peer, &peer->kept))
            return 0;
        peer->stuck = false;
        nof_shm.stuck_count--;
        n = 1;
    }
    while (n < most && !peer->gone && (slot = nof_lane_peek(&peer->in)) != NULL) {
        struct nof_lane_slot copy = *slot;
        __asm__ volatile(
            "" ::
                : "memory"); /* what is checked is the copy, whatever the compiler would read again */
        if (nof_lane_pop(&peer->in)) {
            nof_barrier_light();
            nof_shm_ring(peer);
        }
        n++;
        if (take(peer, &copy))
            continue;
        peer->kept = copy;
        peer->stuck = true;
        nof_shm.stuck_count++;
        break;
    }
    return n;
}
