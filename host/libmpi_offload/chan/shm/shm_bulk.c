/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "chan/nic/chan_nic.h"
#include "chan/shm/chan_shm.h"
#include "comm/comm.h"
#include "delta/delta_count.h"
#include "delta/delta_in.h"
#include "delta/delta_out.h"

/* The sender sends it in cells. */
static void ask_for_pieces(struct nof_request *req, const struct nof_shm_found *found, uint64_t want)
{
    struct nof_shm_op *op = nof_shm_op_new(NOF_SHM_RECEIVES, nof_shm_slot_of(found->peer), req);
    if (op == NULL) {
        nof_shm_answer(found->peer, NOF_SHM_DONE, found->op, 0);
        nof_request_fail(req, nof_error(MPI_ERR_NO_MEM, "no memory for a receive"));
        return;
    }
    op->len = found->len;
    op->tag = found->tag;
    nof_shm_say_ready(op, found->op, want);
}

/* Its sender is in a call that ends with its sends only: what it counts was written before the question. */
static bool sender_awaits(const struct nof_shm_peer *peer)
{
    return __atomic_load_n(&peer->part->head.unawaited, __ATOMIC_RELAXED) == 0;
}

/* One of several comes while its sender begins the others. It is given 4 % of what one copy takes: a look (a pause instruction, 15 ns
 * where that was measured) for each 4 KiB, but for no more than 4 MiB, whatever the question says; of what is shorter than 128 KiB so
 * many are on their way that the first ones do not count. */
#define FIRST_LEAST (128u << 10)
#define LOOK_BYTES 4096u
#define LOOKS_MOST 1024u
static void let_others_begin(const struct nof_shm_found *found)
{
    uint64_t looks = found->len / LOOK_BYTES;
    for (looks = looks < LOOKS_MOST ? looks : LOOKS_MOST; looks > 0 && !sender_awaits(found->peer); looks--)
        nof_wait_pause();
}

/* One of several: its sender said so, or more of it has come, and is wanted. */
static bool among_several(const struct nof_shm_found *found)
{
    const struct nof_match_table *posted = &nof_chan_claims.memory.posted;
    bool many = (found->flags & NOF_SHM_F_MANY) != 0;
    if (found->len < FIRST_LEAST)
        return many;
    bool first = (found->flags & NOF_SHM_F_FIRST) != 0 && posted->count > posted->standing;
    if (many || first)
        let_others_begin(found);
    return many || (first && nof_lane_has(&found->peer->in));
}

/* It would be read, but its sender can copy, too, and neither side leaves its call before that is done: who computes holds nobody up.
 * Of long ones that go both ways each side has one to read, and no CPU to spare:
 * 8 of 64 KiB each way take 77 us in cells and 87 read, of 256 KiB 381 and 351, of 2 MiB 3683 and 2339. */
#define BOTH_WAYS_MOST (128u << 10)
static bool both_copy(const struct nof_request *req, const struct nof_shm_found *found)
{
    const struct nof_shm_peer *peer = found->peer;
    return req->awaited && nof_shm_slot_of(peer) != nof_shm.self &&
           (peer->sends == 0 || found->len <= BOTH_WAYS_MOST) && among_several(found) && sender_awaits(peer);
}

/* both_copy() may wait for a while: it is asked last. */
static bool goes_in_cells(const struct nof_request *req, const struct nof_shm_found *found)
{
    return req->streamed || (found->flags & NOF_SHM_F_APART) != 0 || both_copy(req, found);
}

#define WITHOUT_UNITS 64u /* the end tells what has come */

/* Its sender did not wait any longer, and may be gone. */
static bool take_moved(struct nof_request *req, const struct nof_shm_found *found)
{
    struct nof_shm_peer *peer = found->peer;
    struct nof_shm_cell cell;
    int32_t tag = found->tag;
    uint64_t len = found->len;
    if (!nof_shm_was_moved(found, &cell))
        return false;
    const void *data = nof_cell_read(nof_part_cells(peer->part), cell.index, 0, len);
    if (data != NULL)
        nof_request_store(req, data, len < req->bytes ? len : req->bytes);
    nof_shm_answer(peer, NOF_SHM_DONE, found->op, 0);
    if (data != NULL)
        nof_request_done(req, peer->world_rank, tag, len);
    else /* that cannot be */
        nof_request_fail(req, nof_chan_nic_status_code(NOF_EPROTO, peer->world_rank));
    return true;
}

static void fetch(struct nof_request *req, const struct nof_shm_found *found)
{
    struct nof_shm_peer *peer = found->peer;
    uint64_t take = found->len < req->bytes ? found->len : req->bytes;
    int32_t world_rank = peer->world_rank, tag = found->tag;
    uint64_t len = found->len;
    bool late = (found->flags & NOF_SHM_F_LATE) != 0;
    if (found->key != 0 && take_moved(req, found))
        return;
    if ((take > 0 || late) && peer->gone) {
        nof_request_fail(req, nof_chan_nic_dead_code(world_rank));
        return;
    }
    if (late && !nof_shm.dead && nof_shm_pull(req, found))
        return;
    bool at_once = !late && (take == 0 || (!goes_in_cells(req, found) && nof_shm_reads(peer)));
    int rc = take > 0 && at_once ? nof_shm_read(peer, found, req->data, take) : 0;
    if (rc == -EPERM) { /* it is no longer allowed */
        nof_cma_close(&peer->cma);
        at_once = false;
    }
    if (!at_once && nof_shm.dead) {
        nof_request_fail(req, nof_shm.dead_code);
        return;
    }
    if (late && req->delta != 0) {
        nof_delta_in_matched(nof_delta_in_at(req->delta - 1), world_rank, tag, len, WITHOUT_UNITS);
        nof_delta_count(NOF_DELTA_COUNT_RECEIVES_PLAIN, 1);
    }
    if (!at_once) {
        ask_for_pieces(req, found, take);
        return;
    }
    nof_chan_count(NOF_CHAN_COUNT_MEMORY_SINGLE_COPIES, rc == 0 && take > 0);
    nof_shm_answer(peer, NOF_SHM_DONE, found->op, rc == -EFAULT);
    if (rc == 0)
        nof_request_done(req, world_rank, tag, len);
    else
        nof_shm_read_failed(req, peer, rc);
}

/* It has failed then. */
static bool disagrees(struct nof_request *req, const struct nof_shm_found *found)
{
    if (req->agreed == found->agreed || req->agreed == 0 || found->agreed == 0)
        return false;
    if (found->op != 0)
        nof_shm_answer(found->peer, NOF_SHM_DONE, found->op, 0);
    nof_request_fail(req, nof_chan_nic_status_code(NOF_EDISAGREE, found->peer->world_rank));
    return true;
}

void nof_shm_deliver(struct nof_request *req, const struct nof_shm_found *found)
{
    struct nof_shm_peer *peer = found->peer;
    if (disagrees(req, found))
        return;
    if (found->asks) {
        fetch(req, found);
        return;
    }
    int32_t tag = found->tag;
    uint64_t len = found->len;
    nof_request_store(req, found->payload, len < req->bytes ? len : req->bytes);
    if (found->op != 0)
        nof_shm_answer(peer, NOF_SHM_DONE, found->op, 0);
    nof_request_done(req, peer->world_rank, tag, len);
}

static struct nof_shm_op *op_in(uint32_t name, struct nof_shm_peer *peer, enum nof_shm_phase phase)
{
    struct nof_shm_op *op = nof_shm_op_of(name, nof_shm_slot_of(peer));
    return op != NULL && op->phase == phase ? op : NULL;
}

/* Ended: out of the queue, where a REVOKE may be, and its request is the caller's. */
static struct nof_request *end(struct nof_shm_op *op)
{
    struct nof_request *req = op->req;
    nof_shm_unqueue(op);
    nof_shm_op_free(op);
    return req;
}

static void put(const struct nof_request *req, uint64_t from, uint64_t len, const void *data)
{
    if (req->streamed)
        nof_type_unpack(req->type, req->buf, req->count, from, len, data);
    else
        memcpy((uint8_t *)req->data + from, data, len);
}

void nof_shm_give_back(const struct nof_shm_peer *peer, const struct nof_shm_cell *cell)
{
    nof_cell_return(&peer->part->words, cell->index, cell->generation);
    nof_barrier_light();
    nof_shm_ring(peer);
}

void nof_shm_piece(struct nof_shm_peer *peer, const struct nof_lane_slot *slot)
{
    struct nof_shm_op *op = op_in(slot->op, peer, NOF_SHM_RECEIVES);
    struct nof_shm_cell cell = {.len = slot->len, .offset = op == NULL ? 0 : op->done};
    const void *data = slot->payload;
    bool in_cell = slot->len == 0;
    if (in_cell) {
        memcpy(&cell, slot->payload, sizeof(cell));
        data = nof_cell_read(nof_part_cells(peer->part), cell.index, cell.place, cell.len);
    }
    uint64_t want = op == NULL ? 0 : op->len < op->req->bytes ? op->len : op->req->bytes;
    bool good = op != NULL && data != NULL && cell.offset == op->done && cell.len > 0 &&
                (in_cell || cell.len <= NOF_LANE_PAYLOAD) && cell.len <= want - op->done;
    if (good) {
        put(op->req, op->done, cell.len, data);
        op->done += cell.len;
    }
    if (in_cell && data != NULL)
        nof_shm_give_back(peer, &cell);
    if (op == NULL || (good && op->done < want))
        return;
    uint64_t len = op->len;
    int32_t tag = op->tag;
    struct nof_request *req = end(op);
    if (good)
        nof_request_done(req, peer->world_rank, tag, len);
    else
        nof_request_fail(req, nof_chan_nic_status_code(NOF_EPROTO, peer->world_rank));
}

static void send(struct nof_shm_op *op)
{
    op->phase = NOF_SHM_SENDS;
    op->done = 0;
    nof_shm_say(op);
}

/* A delta message, whose length is known once it is over. */
static void send_if_over(struct nof_shm_op *op)
{
    size_t bytes = 0;
    if (!nof_delta_out_over(op->req->delta_out, &bytes))
        return;
    const struct nof_shm_ready length = {.bytes = bytes};
    op->len = bytes < op->len ? bytes : op->len;
    op->note = (struct nof_lane_slot){.kind = NOF_SHM_LENGTH, .op = op->theirs};
    memcpy(op->note.payload, &length, sizeof(length));
    send(op);
}

void nof_shm_ready(struct nof_shm_peer *peer, const struct nof_lane_slot *slot)
{
    struct nof_shm_op *op = op_in(slot->op, peer, NOF_SHM_ASKED);
    struct nof_shm_op *moved = op_in(slot->op, peer, NOF_SHM_MOVED);
    struct nof_shm_ready ready;
    if (moved != NULL) { /* its receiver did not find that out: somebody wrote over the word */
        (void)end(moved);
        nof_shm_answer(peer, NOF_SHM_DONE, slot->arg, 1);
    }
    if (op == NULL)
        return;
    memcpy(&ready, slot->payload, sizeof(ready));
    op->len = ready.bytes < op->req->bytes ? ready.bytes : op->req->bytes;
    op->theirs = slot->arg;
    op->phase = NOF_SHM_LATE;
    if (op->req->delta_out == NULL) {
        send(op);
        return;
    }
    nof_delta_count(NOF_DELTA_COUNT_SENDS_PLAIN, op->req->delta_out->looked_at); /* else it is counted */
    send_if_over(op);
}

void nof_shm_delta_ended(void)
{
    uint32_t at = 0;
    for (struct nof_shm_op *op; (op = nof_shm_op_each(&at)) != NULL;) {
        size_t bytes;
        if (op->phase == NOF_SHM_LATE)
            send_if_over(op);
        else if (op->phase == NOF_SHM_ASKED && !op->over && op->req != NULL && op->req->delta_out != NULL &&
                 nof_delta_out_over(op->req->delta_out, &bytes)) {
            op->over = true;
            nof_shm_wake(&nof_shm.peers[op->slot]); /* who reads it may sleep until then */
        }
    }
}

void nof_shm_length(struct nof_shm_peer *peer, const struct nof_lane_slot *slot)
{
    struct nof_shm_op *op = op_in(slot->op, peer, NOF_SHM_RECEIVES);
    struct nof_shm_ready length;
    if (op == NULL || op->done > 0)
        return;
    memcpy(&length, slot->payload, sizeof(length));
    op->len = length.bytes < op->len ? length.bytes : op->len;
    if (op->len > 0 && op->req->bytes > 0)
        return;
    uint64_t len = op->len;
    int32_t tag = op->tag;
    nof_request_done(end(op), peer->world_rank, tag, len);
}

void nof_shm_done(struct nof_shm_peer *peer, const struct nof_lane_slot *slot)
{
    struct nof_shm_op *op = op_in(slot->op, peer, NOF_SHM_ASKED);
    struct nof_shm_op *moved = op_in(slot->op, peer, NOF_SHM_MOVED);
    struct nof_shm_op *never = slot->arg == 0 ? NULL : op_in(slot->op, peer, NOF_SHM_RECEIVES);
    if (moved != NULL)
        (void)end(moved);
    if (never != NULL)
        nof_request_fail(end(never), nof_chan_nic_status_code(NOF_EPROTO, peer->world_rank));
    if (op == NULL)
        return;
    struct nof_request *req = end(op);
    if (slot->arg == 0)
        nof_request_done(req, peer->world_rank, req->tag, req->bytes);
    else
        nof_request_fail(req, nof_chan_nic_status_code(NOF_EFAULT, peer->world_rank));
}

void nof_shm_revoked(struct nof_shm_peer *peer, const struct nof_lane_slot *slot)
{
    struct nof_shm_op *op = nof_shm_op_of(slot->op, nof_shm_slot_of(peer));
    if (op == NULL || !op->cancel_asked)
        return;
    op->cancel_asked = false;
    if (slot->arg == 0 || op->phase != NOF_SHM_ASKED) { /* READY may have been said before */
        nof_wait_signal(); /* who cancelled may wait for this answer */
        return;
    }
    struct nof_request *req = end(op);
    req->cancelled = true;
    nof_request_done(req, 0, req->tag, 0);
}
