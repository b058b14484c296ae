/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes into the lanes. Budget of a short send: no allocation, no system call unless its receiver sleeps, no locked operation
 * while it looks at our lane. */
#include <string.h>

#include "chan/nic/chan_nic.h"
#include "chan/shm/chan_shm.h"
#include "chan/thresholds.h"
#include "comm/comm.h"
#include "delta/delta_out.h"

/* Looks for such as were returned before it says no, and before a stripe is allocated. */
static bool may_take_cell(uint32_t slot)
{
    if (nof_shm.cells.free_count == 0 || !nof_cells_may_lend(&nof_shm.cells, nof_shm.lent[slot]))
        (void)nof_cells_reclaim(&nof_shm.cells, nof_shm.lent);
    return nof_cells_may_lend(&nof_shm.cells, nof_shm.lent[slot]);
}

/* Room for cell->len: of streams of short messages most are behind one another. False: no cell is free. */
static bool find_room(uint32_t slot, struct nof_shm_cell *cell)
{
    struct nof_shm_peer *peer = &nof_shm.peers[slot];
    int place = nof_cells_behind(&nof_shm.cells, peer->cell, slot, cell->len, &cell->generation);
    if (place < 0) {
        int index =
            may_take_cell(slot) ? nof_cells_take(&nof_shm.cells, slot, cell->len, &cell->generation) : -1;
        if (index < 0)
            return false;
        nof_shm.lent[slot]++;
        peer->cell = (uint32_t)index;
    }
    cell->index = peer->cell;
    cell->place = place < 0 ? 0 : (uint32_t)place;
    return true;
}

static void head(struct nof_lane_slot *slot, enum nof_shm_kind kind, const struct nof_request *req)
{
    nof_shm_head(slot, kind, req->ctx, req->tag, req->agreed);
}

void nof_shm_get(const struct nof_request *req, uint64_t from, uint64_t len, void *to)
{
    if (req->streamed)
        nof_type_pack(req->type, req->buf, req->count, from, len, to);
    else if (len > 0)
        memcpy(to, (const uint8_t *)req->data + from, len);
}

static void copied(struct nof_shm_peer *peer, struct nof_request *req, struct nof_shm_op *op)
{
    if (op != NULL)
        nof_shm_op_free(op);
    nof_request_done(req, peer->world_rank, req->tag, req->bytes);
}

/* Its receiver must say something before it ends. False: no memory, and it has ended. */
static bool asked(struct nof_shm_peer *peer, struct nof_request *req, struct nof_shm_op **op)
{
    if (*op == NULL)
        *op = nof_shm_op_new(NOF_SHM_ASKED, nof_shm_slot_of(peer), req);
    if (*op == NULL) {
        nof_request_fail(req, nof_error(MPI_ERR_NO_MEM, "no memory for a send"));
        return false;
    }
    (*op)->phase = NOF_SHM_ASKED;
    return true;
}

static void enqueue(struct nof_shm_peer *peer, struct nof_shm_op *op)
{
    op->queued = true;
    op->next = NULL;
    if (peer->last == NULL)
        peer->first = op;
    else
        peer->last->next = op;
    peer->last = op;
    if (!peer->blocked) {
        peer->blocked = true;
        peer->next_blocked = nof_shm.blocked;
        nof_shm.blocked = peer;
    }
}

/* It would be taken back, which its receiver may refuse. */
static void revoke(struct nof_shm_op *op)
{
    op->cancel_asked = true;
    op->note = (struct nof_lane_slot){.kind = NOF_SHM_REVOKE, .op = nof_shm_op_name(op)};
}

/* The question is on its way; of one that waited for room until all are in MPI_Finalize it is the second that goes at once. Not here:
 * this may be the doing of the queue. */
static void ask_back_if_closing(struct nof_shm_peer *peer, struct nof_shm_op *op)
{
    if (!nof_shm.closing)
        return;
    revoke(op);
    enqueue(peer, op);
}

static enum nof_channels asked_way(const struct nof_request *req)
{
    return req->comm->way_said ? req->comm->way : nof_shm.way;
}

static bool fits_slot(const struct nof_request *req)
{
    return req->bytes == 0 || (req->bytes <= NOF_LANE_PAYLOAD && asked_way(req) != NOF_CHANNELS_SINGLE_COPY);
}

/* SHM, SINGLE_COPY, or AUTO: as it comes. Why is counted. */
static enum nof_channels way_of(const struct nof_request *req)
{
    bool tabled;
    enum nof_channels way = asked_way(req);
    if (way != NOF_CHANNELS_AUTO) {
        nof_chan_count(NOF_CHAN_COUNT_MEMORY_AS_ASKED, 1);
        return way;
    }
    way = nof_thresholds_way(req->bytes, &tabled);
    nof_chan_count(tabled ? NOF_CHAN_COUNT_MEMORY_BY_TABLE : NOF_CHAN_COUNT_MEMORY_BY_DEFAULT, 1);
    return way;
}

static void send_short(struct nof_shm_peer *peer, struct nof_request *req, struct nof_shm_op *op)
{
    struct nof_lane_slot *slot = nof_lane_claim(&peer->out);
    bool sync = req->mode == NOF_SEND_SYNC;
    if (sync && !asked(peer, req, &op))
        return;
    head(slot, NOF_SHM_SHORT, req);
    slot->len = (uint8_t)req->bytes;
    nof_shm_get(req, 0, req->bytes, slot->payload);
    if (sync) {
        slot->flags = NOF_SHM_F_SYNC;
        slot->op = nof_shm_op_name(op);
    }
    nof_shm_put(peer);
    if (sync)
        ask_back_if_closing(peer, op);
    else
        copied(peer, req, op);
}

static void send_in_cell(struct nof_shm_peer *peer, struct nof_request *req, struct nof_shm_op *op,
                         const struct nof_shm_cell *cell)
{
    struct nof_lane_slot *slot = nof_lane_claim(&peer->out);
    nof_shm_get(req, 0, req->bytes, nof_cells_at(&nof_shm.cells, cell->index, cell->place));
    head(slot, NOF_SHM_CELL, req);
    memcpy(slot->payload, cell, sizeof(*cell));
    nof_shm_put(peer);
    copied(peer, req, op);
}

/* One that comes alone is there sooner if its receiver copies it once, from 6 KiB on; of several, more get across if both sides copy,
 * each on a CPU of its own, a cell at a time. So does what caches do not hold: where each core has 2 MiB of L2, 1 MiB alone takes 57 us
 * read and 85 in cells, 2 MiB 184 and 171. */
#define READ_MOST (1u << 20)
static bool is_alone(const struct nof_shm_peer *peer, const struct nof_request *req,
                     const struct nof_shm_op *op)
{
    return peer->sends == (op != NULL) && req->bytes <= READ_MOST;
}

/* Copied into a cell, if there is one, before its receiver is there. */
static bool goes_ahead(const struct nof_shm_peer *peer, const struct nof_request *req,
                       const struct nof_shm_op *op, enum nof_channels way)
{
    const struct nof_match_table *posted = &nof_chan_claims.memory.posted;
    if (req->bytes > NOF_CELL_BYTES || req->mode == NOF_SEND_SYNC || way == NOF_CHANNELS_SINGLE_COPY)
        return false;
    if (way == NOF_CHANNELS_SHM || req->streamed || !is_alone(peer, req, op))
        return true;
    /* Who receives, too, has another message to copy meanwhile; and who waits for a receiver without a CPU waits for its turn of one. */
    return posted->count > posted->standing || !nof_lib.seated;
}

/* Whoever sends it may have counted on a buffer, as the NIC has one. */
static bool may_move(const struct nof_request *req)
{
    return req->bytes <= NOF_CELL_BYTES && req->mode != NOF_SEND_SYNC && req->delta_out == NULL &&
           asked_way(req) != NOF_CHANNELS_SINGLE_COPY;
}

static uint8_t read_or_not(const struct nof_shm_peer *peer, const struct nof_request *req,
                           const struct nof_shm_op *op, enum nof_channels way)
{
    if (way == NOF_CHANNELS_SHM && (req->bytes > NOF_CELL_BYTES || asked_way(req) == NOF_CHANNELS_SHM))
        return NOF_SHM_F_APART;
    bool follows = way == NOF_CHANNELS_SHM && nof_shm.lent[nof_shm_slot_of(peer)] > 0;
    bool alone = is_alone(peer, req, op) && !follows;
    return way == NOF_CHANNELS_SINGLE_COPY || !nof_lib.seated ? 0 : alone ? NOF_SHM_F_FIRST : NOF_SHM_F_MANY;
}

static void send_ask(struct nof_shm_peer *peer, struct nof_request *req, struct nof_shm_op *op, uint8_t flags)
{
    struct nof_lane_slot *slot = nof_lane_claim(&peer->out);
    struct nof_delta_out *late = req->delta_out;
    struct nof_shm_ask ask = {.address = (uint64_t)(uintptr_t)req->data, .len = req->bytes};
    if (!asked(peer, req, &op))
        return;
    head(slot, NOF_SHM_ASK, req);
    slot->flags = req->streamed ? NOF_SHM_F_APART : flags;
    if (late != NULL) {
        slot->flags |= NOF_SHM_F_LATE;
        ask.board =
            late->looked_at && asked_way(req) != NOF_CHANNELS_SHM ? 1 + late->slot - NOF_DELTA_SLOTS : 0;
        ask.unit_log2 = late->unit_log2;
        nof_delta_out_parked(req->delta_out);
    }
    if (may_move(req))
        nof_shm_op_may_move(op);
    slot->op = nof_shm_op_name(op);
    slot->arg = op->key;
    memcpy(slot->payload, &ask, sizeof(ask));
    nof_shm_put(peer);
    ask_back_if_closing(peer, op);
}

/* There is room in the lane. op: what it waited with, or NULL. */
static void transmit(struct nof_shm_peer *peer, struct nof_request *req, struct nof_shm_op *op)
{
    if (req->delta_out != NULL) {
        send_ask(peer, req, op, 0);
        return;
    }
    if (fits_slot(req)) {
        send_short(peer, req, op);
        return;
    }
    enum nof_channels way = way_of(req);
    struct nof_shm_cell cell = {.len = req->bytes};
    if (goes_ahead(peer, req, op, way) && find_room(nof_shm_slot_of(peer), &cell)) {
        send_in_cell(peer, req, op, &cell);
        return;
    }
    /* Of cells that are all lent a receiver reads rather than wait for who does not, unless it must not. */
    send_ask(peer, req, op, read_or_not(peer, req, op, way));
}

void nof_shm_unqueue(struct nof_shm_op *op)
{
    struct nof_shm_peer *peer = &nof_shm.peers[op->slot];
    struct nof_shm_op *before = NULL, *at = peer->first;
    if (!op->queued)
        return;
    for (; at != op; at = at->next)
        before = at;
    if (before == NULL)
        peer->first = op->next;
    else
        before->next = op->next;
    if (peer->last == op)
        peer->last = before;
    op->queued = false;
}

/* The next piece; false: it waits for one that is there already to be read. Where others keep all cells it goes in its slot: its
 * receiver, who does look, waits for none of them. Nor does this process for itself: what is back others could have written. */
static bool fill_piece(struct nof_shm_op *op, struct nof_lane_slot *slot)
{
    uint64_t left = op->len - op->done;
    struct nof_shm_cell cell = {.offset = op->done, .len = left < NOF_CELL_BYTES ? left : NOF_CELL_BYTES};
    bool in_cell = find_room(op->slot, &cell);
    if (!in_cell && op->slot != nof_shm.self && nof_shm.lent[op->slot] > 0)
        return false;
    head(slot, NOF_SHM_PIECE, op->req);
    slot->op = op->theirs;
    if (!in_cell) {
        cell.len = left < NOF_LANE_PAYLOAD ? left : NOF_LANE_PAYLOAD;
        slot->len = (uint8_t)cell.len;
        nof_shm_get(op->req, op->done, cell.len, slot->payload);
    } else {
        nof_shm_get(op->req, op->done, cell.len, nof_cells_at(&nof_shm.cells, cell.index, cell.place));
        memcpy(slot->payload, &cell, sizeof(cell));
    }
    op->done += cell.len;
    return true;
}

/* True: all of them. */
static bool send_pieces(struct nof_shm_peer *peer, struct nof_shm_op *op)
{
    while (op->done < op->len) {
        struct nof_lane_slot *slot = nof_lane_claim(&peer->out);
        if (slot == NULL || !fill_piece(op, slot))
            return false;
        nof_shm_put(peer);
        nof_chan_count(NOF_CHAN_COUNT_MEMORY_PIECES, 1);
    }
    return true;
}

static bool say_note(struct nof_shm_peer *peer, struct nof_shm_op *op)
{
    struct nof_lane_slot *slot = nof_lane_claim(&peer->out);
    if (slot == NULL)
        return false;
    memcpy((uint8_t *)slot + sizeof(slot->number), (const uint8_t *)&op->note + sizeof(slot->number),
           sizeof(*slot) - sizeof(slot->number));
    op->note.kind = 0;
    nof_shm_put(peer);
    return true;
}

/* What op, the first of the queue, has to say. False: there is no room. It is not in the queue any more when its request
 * ends, and whoever hears of that may send. */
static bool go(struct nof_shm_peer *peer, struct nof_shm_op *op)
{
    struct nof_request *req = op->req;
    if (op->note.kind != 0 && !say_note(peer, op))
        return false;
    switch (op->phase) {
    case NOF_SHM_SENDS:
        if (!send_pieces(peer, op))
            return false;
        nof_shm_unqueue(op);
        copied(peer, req, op);
        break;
    case NOF_SHM_WAITS:
        if (nof_lane_claim(&peer->out) == NULL)
            return false;
        nof_shm_unqueue(op);
        transmit(peer, req, op);
        break;
    case NOF_SHM_SAYS:
        nof_shm_unqueue(op);
        nof_shm_op_free(op);
        break;
    case NOF_SHM_ASKED:
    case NOF_SHM_MOVED:
    case NOF_SHM_LATE:
    case NOF_SHM_RECEIVES:
    case NOF_SHM_PULLS:
    case NOF_SHM_FREE:
        nof_shm_unqueue(op);
        break;
    }
    return true;
}

static int flush(struct nof_shm_peer *peer)
{
    int n = 0;
    while (peer->first != NULL && go(peer, peer->first))
        n++;
    return n;
}

int nof_shm_pump(void)
{
    struct nof_shm_peer *peer = nof_shm.blocked;
    int n = 0;
    nof_shm.blocked = NULL;
    while (peer != NULL) {
        struct nof_shm_peer *next = peer->next_blocked;
        n += flush(peer);
        peer->blocked = peer->first != NULL;
        if (peer->blocked) {
            peer->next_blocked = nof_shm.blocked;
            nof_shm.blocked = peer;
        }
        peer = next;
    }
    return n;
}

bool nof_shm_could_pump(void)
{
    for (struct nof_shm_peer *peer = nof_shm.blocked; peer != NULL; peer = peer->next_blocked) {
        uint32_t slot = nof_shm_slot_of(peer);
        if (peer->first != NULL && nof_lane_look(&peer->out) > 0 &&
            (peer->first->phase != NOF_SHM_SENDS || may_take_cell(slot) || nof_shm.lent[slot] == 0))
            return true;
    }
    return false;
}

void nof_shm_send(struct nof_request *req)
{
    if (req->multicast.group != NULL) {
        nof_chan_by_nic.send(req);
        return;
    }
    struct nof_shm_peer *peer = nof_shm_peer_of(req);
    req->channel_op = NULL;
    if (nof_shm.dead || peer->gone) {
        nof_request_fail(req, nof_shm.dead ? nof_shm.dead_code : nof_chan_nic_dead_code(peer->world_rank));
        return;
    }
    nof_chan_count(NOF_CHAN_COUNT_MEMORY_SENDS, 1);
    nof_chan_count(NOF_CHAN_COUNT_MEMORY_BYTES, req->bytes);
    if (peer->first == NULL && nof_lane_claim(&peer->out) != NULL) {
        transmit(peer, req, NULL);
        return;
    }
    struct nof_shm_op *op = nof_shm_op_new(NOF_SHM_WAITS, nof_shm_slot_of(peer), req);
    if (op == NULL)
        nof_request_fail(req, nof_error(MPI_ERR_NO_MEM, "no memory for a send"));
    else
        enqueue(peer, op);
}

void nof_shm_send_cancel(struct nof_request *req)
{
    struct nof_shm_op *op = req->channel_op;
    if (op == NULL || op->cancel_asked)
        return;
    if (op->phase == NOF_SHM_WAITS) {
        nof_shm_unqueue(op);
        nof_shm_op_free(op);
        req->cancelled = true;
        nof_request_done(req, 0, req->tag, 0);
    } else if (op->phase == NOF_SHM_ASKED) {
        revoke(op);
        nof_shm_say(op);
    }
}

void nof_shm_withdraw(void)
{
    uint32_t at = 0;
    for (struct nof_shm_op *op; (op = nof_shm_op_each(&at)) != NULL;)
        if (op->phase == NOF_SHM_ASKED && op->req != NULL)
            nof_shm_send_cancel(op->req);
}

void nof_shm_say(struct nof_shm_op *op)
{
    struct nof_shm_peer *peer = &nof_shm.peers[op->slot];
    if (!op->queued)
        enqueue(peer, op);
    (void)flush(peer);
}

void nof_shm_say_ready(struct nof_shm_op *op, uint32_t theirs, uint64_t bytes)
{
    const struct nof_shm_ready ready = {.bytes = bytes};
    op->note = (struct nof_lane_slot){.kind = NOF_SHM_READY, .op = theirs, .arg = nof_shm_op_name(op)};
    memcpy(op->note.payload, &ready, sizeof(ready));
    nof_shm_say(op);
}

void nof_shm_answer(struct nof_shm_peer *peer, enum nof_shm_kind kind, uint32_t op, uint32_t arg)
{
    if (peer->gone)
        return;
    struct nof_shm_op *answer = nof_shm_op_new(NOF_SHM_SAYS, nof_shm_slot_of(peer), NULL);
    if (answer == NULL)
        nof_lib_die(1, "no memory for an answer to rank %d", peer->world_rank);
    answer->note = (struct nof_lane_slot){.kind = (uint8_t)kind, .op = op, .arg = arg};
    nof_shm_say(answer);
}

void nof_shm_out_fail(struct nof_shm_peer *peer, int code)
{
    nof_cells_forget(&nof_shm.cells, nof_shm_slot_of(peer));
    nof_shm.lent[nof_shm_slot_of(peer)] = 0;
    while (peer->first != NULL) {
        struct nof_shm_op *op = peer->first;
        struct nof_request *req = op->req;
        nof_shm_unqueue(op);
        op->note.kind = 0;
        if (op->phase != NOF_SHM_WAITS && op->phase != NOF_SHM_SAYS && op->phase != NOF_SHM_SENDS)
            continue;
        nof_shm_op_free(op);
        if (req != NULL)
            nof_request_fail(req, code);
    }
}
