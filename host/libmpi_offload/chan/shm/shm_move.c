/* SPDX-License-Identifier: BSD-3-Clause */
/* A send that asked, and that a cell could hold, does not wait for its receiver as long as that likes: it is moved to a cell, if one is
 * free, and has ended. Its receiver may begin to read at the same time. So both exchange the word of its claim, in the sender's part:
 *
 *   receiver first    the sender finds it begun, and waits for what its receiver says
 *   sender first      the receiver finds the cell, and takes the bytes from there; its DONE gives the cell back
 *
 * A sender that does not move anything never touches that line, so that it stays in its receiver's cache, whom the exchange costs a
 * hundredth of what it reads then. */
#include "chan/shm/chan_shm.h"

/* Some 10 us of a wait: 128 turns that do nothing but look (base/wait.c), 3 us, and others of 0.25 us each. */
#define PATIENCE_LOOKS 160u

static uint64_t exchange(struct nof_part *part, uint32_t key, uint32_t state)
{
    return __atomic_exchange_n(&part->moves[key % NOF_PART_MOVES].word, (uint64_t)key << 32 | state,
                               __ATOMIC_ACQ_REL);
}

/* A whole cell, as of nobody: cells of a peer are back when that has looked at its lane. */
static bool take_cell(struct nof_shm_cell *cell_out)
{
    uint32_t nobody = nof_shm.memory.nslots;
    (void)nof_cells_reclaim(&nof_shm.cells, nof_shm.lent);
    if (nof_cells_left(&nof_shm.cells) <= NOF_CELLS_KEPT ||
        !nof_cells_may_lend(&nof_shm.cells, nof_shm.lent[nobody]))
        return false;
    int index = nof_cells_take(&nof_shm.cells, nobody, NOF_CELL_BYTES, &cell_out->generation);
    if (index < 0)
        return false;
    nof_shm.lent[nobody]++;
    cell_out->index = (uint32_t)index;
    return true;
}

/* False: its receiver has begun, or no cell is free. */
static bool move(struct nof_shm_op *op)
{
    struct nof_request *req = op->req;
    const struct nof_shm_peer *peer = &nof_shm.peers[op->slot];
    struct nof_shm_cell cell;
    if (op->cancel_asked || !take_cell(&cell))
        return false;
    nof_shm_get(req, 0, req->bytes, nof_cells_at(&nof_shm.cells, cell.index, 0));
    if (op->slot != nof_shm.self && exchange(nof_shm.part, op->key, 1 + cell.index) == (uint64_t)op->key
                                                                                           << 32) {
        nof_cells_take_back(&nof_shm.cells, cell.index, cell.generation, nof_shm.lent);
        nof_shm_op_stays(op);
        return false;
    }
    nof_shm_op_moved(op, cell.index, cell.generation);
    nof_chan_count(NOF_CHAN_COUNT_MEMORY_MOVED, 1);
    nof_request_done(req, peer->world_rank, req->tag, req->bytes);
    return true;
}

/* Whoever hears of an end may send, and what is moved then is looked at next time. */
int nof_shm_move(bool sleeps)
{
    int n = 0;
    for (uint32_t left = nof_shm.moves.waiting; left != 0; left &= left - 1) {
        struct nof_shm_op *op = nof_shm.moves.op[__builtin_ctz(left)];
        if ((nof_shm.moves.waiting & left & -left) == 0 || op->phase != NOF_SHM_ASKED ||
            (++op->looks < PATIENCE_LOOKS && !sleeps))
            continue;
        op->looks = 0; /* where no cell is free it is tried again */
        n += move(op);
    }
    return n;
}

/* To oneself: both are under the one lock, and nobody else has a say. */
static bool own_was_moved(const struct nof_shm_found *found, struct nof_shm_cell *cell_out)
{
    struct nof_shm_op *op = nof_shm_op_of(found->op, nof_shm.self);
    if (op == NULL || op->key != found->key)
        return false;
    if (op->phase != NOF_SHM_MOVED) {
        nof_shm_op_stays(op);
        return false;
    }
    cell_out->index = op->cell;
    return true;
}

bool nof_shm_was_moved(const struct nof_shm_found *found, struct nof_shm_cell *cell_out)
{
    if (nof_shm_slot_of(found->peer) == nof_shm.self)
        return own_was_moved(found, cell_out);
    uint64_t was = exchange(found->peer->part, found->key, 0);
    if (was >> 32 != found->key || (uint32_t)was == 0)
        return false;
    cell_out->index = (uint32_t)was - 1;
    return true;
}
