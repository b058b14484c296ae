/* SPDX-License-Identifier: BSD-3-Clause */
/* The channel of shared memory: messages between ranks of one host, past the NIC.
 *
 *   chan_shm.c      the table of the channel, its poll, sleeping and waking
 *   shm_gone.c      ranks that have died or left
 *   shm_post.c      receives, probes, cancel
 *   shm_in.c        what comes out of the lanes
 *   shm_bulk.c      messages that are copied once, or in cells, when their receive is there
 *   shm_pull.c      what is read out of a sender's memory, of delta messages as it becomes ready
 *   shm_move.c      a send whose receiver does not come goes into a cell
 *   shm_out.c       what goes into the lanes: sends, answers, the queue behind a full lane
 *   shm_now.c       the short path of blocking calls
 *   shm_open.c      parts of the segment; who takes messages this way
 *
 * Each calls those below it only.
 *
 * Values that know no MPI: lane.h, cells.h, hot.h, cma.h, barrier.h; shm_part.h says where they lie.
 *
 * How a message goes, unless its sender's way (chan/ways.h) or a table (chan/thresholds.h) says otherwise:
 *
 *   up to 40 bytes    in its slot; the send ends at once
 *   up to 6 KiB       in a cell that the slot names, behind others for the same receiver; likewise, unless no cell is free. Up to a
 *     cell one among several goes so, too
 *   else, and synchronous ones: the slot asks. When a receive is there its process
 *     reads the sender's memory, and says so (DONE); or,
 *     where the kernel forbids that, or of one among several for which both wait, it says READY, and the sender sends cells, of which the
 *     last ends the send; slots, while others keep all cells. One that a cell holds is moved to one if its receiver does not come soon
 *
 * A delta message asks at its begin, and names a board in its sender's part (nof/delta.h), on which its receiver sees what is ready, reads
 * that, and says DONE at its end. Where it cannot be read, or no board was free, READY is said, and pieces go at the end.
 *
 * What one side must remember has an *operation*, whose index and generation are its name in slots: a late or wrong one
 * finds nothing, and is dropped.
 *
 * This header is for these files only. */
#ifndef NOF_MPI_CHAN_SHM_H
#define NOF_MPI_CHAN_SHM_H

#include "chan/chan.h"
#include "chan/matcher.h"
#include "chan/shm/barrier.h"
#include "chan/shm/shm_part.h"
#include "chan/shm/shm.h"
#include "pmd_driver.h"

enum nof_shm_kind {
    NOF_SHM_SHORT = 1, /* the payload; `op` if SYNC */
    NOF_SHM_CELL, /* struct nof_shm_cell */
    NOF_SHM_ASK, /* struct nof_shm_ask; op: the send; arg: its key, if it may be moved (shm_move.c), or 0 */
    NOF_SHM_READY, /* op: the send; arg: the receive; struct nof_shm_ready */
    NOF_SHM_LENGTH, /* op: the receive; struct nof_shm_ready: so long is the message in the end */
    NOF_SHM_PIECE, /* op: the receive; struct nof_shm_cell, or, `len` not 0, the next bytes themselves */
    NOF_SHM_DONE, /* op: the send; arg: 0, or 1: its memory could not be read */
    NOF_SHM_REVOKE, /* op: the send */
    NOF_SHM_REVOKED, /* op: the send; arg: 1: nobody has received it, nor will; 0: too late */
};

#define NOF_SHM_F_SYNC 1u /* SHORT: say DONE when it is matched */
#define NOF_SHM_F_LATE 2u /* ASK: of a delta message, whose bytes are not all there: say READY, and wait */
#define NOF_SHM_F_APART 4u /* ASK: its bytes lie apart, or are not to be read: say READY */
#define NOF_SHM_F_MANY \
    8u /* ASK: one of several, or very long: say READY if both sides wait for it, so that both copy */
#define NOF_SHM_F_FIRST 16u /* ASK: as MANY, if others have followed it */

struct nof_shm_cell {
    uint32_t index;
    uint32_t generation;
    uint32_t place; /* in the cell: */
    uint32_t reserved;
    uint64_t len;
    uint64_t offset; /* of a PIECE in its message */
};

struct nof_shm_ask {
    uint64_t address;
    uint64_t len;
    uint32_t board; /* LATE: 1 + which of the sender's; 0: none */
    uint32_t unit_log2;
};

struct nof_shm_ready {
    uint64_t bytes;
};

static_assert(sizeof(struct nof_shm_cell) <= NOF_LANE_PAYLOAD &&
                  sizeof(struct nof_shm_ask) <= NOF_LANE_PAYLOAD,
              "they fit a slot");

enum nof_shm_phase {
    NOF_SHM_FREE,
    NOF_SHM_WAITS, /* SEND: for room in the lane */
    NOF_SHM_ASKED, /* SEND: for DONE or READY */
    NOF_SHM_MOVED, /* SEND: its request has ended; for DONE, which gives the cell back */
    NOF_SHM_LATE, /* SEND: READY has come, the end of the delta message has not */
    NOF_SHM_SENDS, /* SEND: pieces are on their way */
    NOF_SHM_RECEIVES, /* RECV: READY was said, or waits for room */
    NOF_SHM_PULLS, /* RECV: what is ready is read; `pull` */
    NOF_SHM_SAYS, /* nothing but what `note` has to say */
};

struct nof_shm_op {
    uint32_t index;
    uint32_t generation;
    enum nof_shm_phase phase;
    uint32_t slot; /* of the peer */
    bool queued; /* in its queue */
    bool sends; /* counted in its peer */
    bool cancel_asked;
    bool over; /* ASKED: its receiver was woken for the end of the delta message */
    struct nof_request *req;
    uint32_t key; /* of one that may be moved, or was; 0: it may not */
    uint32_t looks; /* ASKED: how often its receiver was not there */
    uint32_t cell; /* MOVED */
    uint32_t cell_generation;
    uint64_t len; /* RECEIVES: of the message; SENDS: what is wanted of it */
    uint64_t done; /* bytes that have gone, or come */
    uint32_t theirs; /* SENDS: the receive */
    int32_t tag; /* RECEIVES, PULLS */
    struct nof_shm_pull *pull; /* PULLS */
    struct nof_lane_slot note; /* what it says next; kind 0: nothing */
    struct nof_shm_op *next; /* free list, queue */
};

struct nof_shm_peer {
    struct nof_lane_out out;
    struct nof_lane_in in;
    struct nof_part *part;
    const struct nof_segment_bell *bell;
    struct nof_cma_peer cma;
    int32_t world_rank; /* -1: none that is reached this way */
    uint32_t place; /* among the hot lanes, NOF_HOT_NONE */
    bool gone; /* dead, or left: nothing comes after what was here */
    bool stuck; /* `kept` could not be taken for lack of memory */
    struct nof_lane_slot kept;
    uint32_t sends; /* to it, that have not ended */
    uint32_t cell; /* that it was lent last, of ours */
    struct nof_shm_op *first; /* wait for room */
    struct nof_shm_op *last;
    bool blocked; /* in the list of those with a queue */
    struct nof_shm_peer *next_blocked;
};

/* A message that no receive has wanted yet. */
struct nof_shm_envelope {
    struct nof_match_entry match; /* first: an entry is its envelope */
    uint32_t slot; /* of its sender */
    uint32_t op; /* of its sender; 0: none */
    uint8_t agreed;
    bool asks; /* the payload is with its sender: */
    uint8_t flags; /* of the ASK */
    uint32_t key;
    uint64_t address;
    uint64_t len;
    uint32_t board; /* likewise */
    uint32_t unit_log2;
    uint8_t payload[];
};

/* Sends that may be moved, by the line of their claim: `used` has a bit for each line that is not free, `waiting` for each whose receiver
 * has said nothing yet. */
struct nof_shm_moves {
    uint32_t used;
    uint32_t waiting;
    uint32_t count; /* keys, so far */
    struct nof_shm_op *op[NOF_PART_MOVES];
};

struct nof_shm {
    bool open;
    struct nof_pmd_segment memory;
    enum nof_channels way; /* of those whose communicator has none */
    uint32_t self; /* our slot */
    struct nof_shm_peer *peers; /* by slot */
    int32_t *slot_of; /* by job rank; -1: not this way */
    bool *started; /* likewise: collectives with a request, too */
    struct nof_part *part; /* ours */
    struct nof_cells cells;
    uint32_t *lent; /* cells, by slot; behind them those of MOVED: they are not back when a lane is empty */
    struct nof_shm_moves moves;
    struct nof_hot hot;
    uint32_t came; /* messages, modulo 2^32 */
    struct nof_shm_peer *blocked;
    struct nof_shm_pull *pulls;
    uint32_t stuck_count;
    uint32_t deaths; /* seen in the roster */
    struct nof_shm_op **chunks;
    uint32_t chunk_count;
    struct nof_shm_op *free;
    uint32_t in_use; /* operations; not those of MOVED */
    bool dead; /* the NIC is: everything ends with this code */
    int dead_code;
    bool closing;
};

extern struct nof_shm nof_shm __attribute__((visibility("hidden")));
extern struct nof_delta_board nof_shm_delta __attribute__((visibility("hidden")));

struct nof_shm_found;

/* Of shm_open.c. */
void nof_shm_open_peers(void);
struct nof_shm_op *nof_shm_op_new(enum nof_shm_phase phase, uint32_t slot, struct nof_request *req);
void nof_shm_op_free(struct nof_shm_op *op);
/* It asks, and may be moved: it has a key then, if a line is free. */
void nof_shm_op_may_move(struct nof_shm_op *op);
/* Its receiver has begun: it may not be moved any more. */
void nof_shm_op_stays(struct nof_shm_op *op);
/* It is in this cell, and has no request any more. */
void nof_shm_op_moved(struct nof_shm_op *op, uint32_t cell, uint32_t generation);
/* One after the other, while *at is 0 at first; NULL: there are no more. */
struct nof_shm_op *nof_shm_op_each(uint32_t *at);
uint32_t nof_shm_op_name(const struct nof_shm_op *op);
/* NULL: there is none of this name with this peer. */
struct nof_shm_op *nof_shm_op_of(uint32_t name, uint32_t slot);
static inline struct nof_shm_peer *nof_shm_peer_at(const struct nof_comm *comm, int peer)
{
    return &nof_shm.peers[nof_shm.slot_of[nof_comm_peer_world(comm, peer)]];
}
static inline struct nof_shm_peer *nof_shm_peer_of(const struct nof_request *req)
{
    return nof_shm_peer_at(req->comm, req->peer);
}
static inline uint32_t nof_shm_slot_of(const struct nof_shm_peer *peer)
{
    return (uint32_t)(peer - nof_shm.peers);
}
/* Behind whatever that rank may sleep without: wake it if it sleeps. */
void nof_shm_ring_asleep(uint32_t slot);
static inline bool nof_shm_sleeps(const struct nof_shm_peer *peer)
{
    return __atomic_load_n(&peer->bell->asleep, __ATOMIC_RELAXED) != 0;
}
/* It does not look at our lane: it is to, and the look at `asleep` comes behind that, too. */
static inline void nof_shm_tell(const struct nof_shm_peer *peer)
{
    nof_hot_tell(&peer->part->map, nof_shm.self);
    nof_barrier_light();
}
static inline void nof_shm_ring(const struct nof_shm_peer *peer)
{
    if (nof_shm_sleeps(peer))
        nof_shm_ring_asleep(nof_shm_slot_of(peer));
}
/* Behind what it may look at. */
static inline void nof_shm_wake(const struct nof_shm_peer *peer)
{
    nof_barrier_light();
    nof_shm_ring(peer);
}

/* Of shm_post.c. */
/* Why no message can come for it any more; MPI_SUCCESS: one may. */
int nof_shm_refusal(const struct nof_request *req);

/* Of shm_in.c. */
/* A receive or waiting probe, whose it was: out of both stores and away from the NIC, for a message of memory, or for none (NULL). False:
 * the NIC has it. */
bool nof_shm_take_from_nic(struct nof_request *req, const struct nof_shm_envelope *envelope);

/* Of shm_now.c. */
bool nof_shm_send_now(uint32_t ctx, int world_rank, int tag, const void *data, size_t bytes);
bool nof_shm_recv_now(uint32_t ctx, int world_rank, int tag, void *data, size_t bytes,
                      struct nof_chan_came *came_out);

/* Of shm_move.c. */
/* Sends whose receivers have let them wait for long, or all (`sleeps`: this process is about to) go into cells. How many did. */
int nof_shm_move(bool sleeps);
/* A receiver begins with a message that asks, which its sender cannot move then; or has moved, and *cell_out is where. */
bool nof_shm_was_moved(const struct nof_shm_found *found, struct nof_shm_cell *cell_out);

/* Of shm_out.c. */
/* The bytes of a send from that place on, into memory of ours. */
void nof_shm_get(const struct nof_request *req, uint64_t from, uint64_t len, void *to);
/* Into a slot that was claimed; flags, op, arg and len are 0. */
static inline void nof_shm_head(struct nof_lane_slot *slot, enum nof_shm_kind kind, uint32_t ctx, int32_t tag,
                                uint8_t agreed)
{
    slot->kind = (uint8_t)kind;
    slot->flags = 0;
    slot->agreed = agreed;
    slot->len = 0;
    slot->ctx = ctx;
    slot->tag = tag;
    slot->op = 0;
    slot->arg = 0;
}
/* The slot that was claimed is filled: it goes, and who would not look is told. */
static inline void nof_shm_put(struct nof_shm_peer *peer)
{
    nof_lane_publish(&peer->out);
    nof_barrier_light();
    if (!nof_lane_is_hot(&peer->out))
        nof_shm_tell(peer);
    nof_shm_ring(peer);
}
void nof_shm_send(struct nof_request *req);
void nof_shm_send_cancel(struct nof_request *req);
/* Every send that waits for its receiver is taken back, if that has not received it. */
void nof_shm_withdraw(void);
/* What op->note says goes out, and, of one that SENDS, its pieces. */
void nof_shm_say(struct nof_shm_op *op);
/* READY, for as many bytes of that send. */
void nof_shm_say_ready(struct nof_shm_op *op, uint32_t theirs, uint64_t bytes);
/* An answer by itself. */
void nof_shm_answer(struct nof_shm_peer *peer, enum nof_shm_kind kind, uint32_t op, uint32_t arg);
/* Out of its peer's queue, if it is there. */
void nof_shm_unqueue(struct nof_shm_op *op);
/* Whether anything of what is queued could go now. */
bool nof_shm_could_pump(void);
/* What was queued, as far as there is room; how many things happened. */
int nof_shm_pump(void);
/* Nothing goes to this peer any more; its requests end with this code. */
void nof_shm_out_fail(struct nof_shm_peer *peer, int code);

/* Where a receive finds what it has been matched with. */
struct nof_shm_found {
    struct nof_shm_peer *peer;
    int32_t tag;
    uint32_t op; /* 0: none */
    uint8_t agreed;
    bool asks;
    uint8_t flags;
    uint32_t key;
    uint64_t address;
    uint64_t len;
    uint32_t board;
    uint32_t unit_log2;
    const void *payload;
};

/* Of shm_pull.c. */
/* May this process read that one's memory? */
bool nof_shm_reads(struct nof_shm_peer *peer);
/* The first bytes of what asks. 0, or as nof_cma_read(). */
int nof_shm_read(struct nof_shm_peer *peer, const struct nof_shm_found *found, void *to, size_t bytes);
/* It could not be read. */
void nof_shm_read_failed(struct nof_request *req, const struct nof_shm_peer *peer, int rc);
/* A delta message is received as it becomes ready. False: it cannot be, and nothing has happened. */
bool nof_shm_pull(struct nof_request *req, const struct nof_shm_found *found);
/* Of an operation that ends: it reads no longer. */
void nof_shm_pull_forget(struct nof_shm_op *op);
/* How many of them had news. */
int nof_shm_pull_look(void);
bool nof_shm_pull_has_news(void);

/* Of shm_bulk.c. */
void nof_shm_deliver(struct nof_request *req, const struct nof_shm_found *found);
/* A cell has been read. */
void nof_shm_give_back(const struct nof_shm_peer *peer, const struct nof_shm_cell *cell);
/* A piece for a receive; READY, DONE, REVOKED for a send. */
void nof_shm_piece(struct nof_shm_peer *peer, const struct nof_lane_slot *slot);
void nof_shm_ready(struct nof_shm_peer *peer, const struct nof_lane_slot *slot);
void nof_shm_length(struct nof_shm_peer *peer, const struct nof_lane_slot *slot);
/* A delta message has ended. */
void nof_shm_delta_ended(void);
void nof_shm_done(struct nof_shm_peer *peer, const struct nof_lane_slot *slot);
void nof_shm_revoked(struct nof_shm_peer *peer, const struct nof_lane_slot *slot);

/* Of shm_in.c. */

/* What has come from this peer, `most` messages at most; how many. */
uint32_t nof_shm_drain(struct nof_shm_peer *peer, uint32_t most);
/* Give a waiting envelope to a receive, or to a probe. */
void nof_shm_consume(struct nof_request *req, struct nof_shm_envelope *envelope);
void nof_shm_answer_probe(struct nof_request *probe, struct nof_shm_envelope *envelope);
struct nof_shm_envelope *nof_shm_find(const struct nof_request *req);
int32_t nof_shm_wanted_source(const struct nof_request *req);
int32_t nof_shm_wanted_tag(const struct nof_request *req);

/* Of shm_post.c. */
/* A message that is here is received: true, and req may have ended. */
bool nof_shm_recv_here(struct nof_request *req);
void nof_shm_recv(struct nof_request *req);
void nof_shm_probe(struct nof_request *req);
void nof_shm_cancel(struct nof_request *req);
bool nof_shm_cancelling(const struct nof_request *req);

/* Of shm_gone.c. */
void nof_shm_gone(int world_rank, int status, int code);
void nof_shm_lost(int code);
/* Who is dead by the roster; with `left`, who has left, too. How many there were. */
int nof_shm_look_at_roster(bool left);

#endif
