/* SPDX-License-Identifier: BSD-3-Clause
 *
 * World: the model hosts on a cluster, and what they know to be true. A rank plays an MPI library
 * over one endpoint: it submits descriptors, reaps completions, runs the library's matcher in spill
 * mode and owns the memory that the NIC reads and writes. The world remembers every message and
 * every receive, so that verify.c can say at the end whether MPI's rules were kept.
 *
 *   rank.c      endpoint, rings, completions     rank_ops.c  operations and their descriptors
 *   matcher.c   host half of spill and parking   memory.c    buffers, DMA, staging
 *   workload.c  what is sent and received when   faults.c    what goes wrong when
 *   delta.c     delta messages         lane.c       messages past the NIC, and who has a receive from any source
 *   verify.c    the rules                        sim.c       one seed from begin to end
 *
 * Everything here runs in one thread; a failed allocation ends the program. */
#ifndef NOF_SIM_WORLD_H
#define NOF_SIM_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chan/claims.h"
#include "cluster.h"
#include "nof/delta.h"
#include "nof/layout.h"
#include "rng.h"

#define NOF_WORLD_RANKS_MAX 64u
#define NOF_WORLD_JOBS_MAX 8u
#define NOF_WORLD_CTXS 2u /* contexts 1..n are used */
#define NOF_WORLD_TAGS 5u /* tags 0..n-1 */
#define NOF_MESSAGE_MAX_BYTES 262144u
#define NOF_RANK_LAYOUTS 3u
#define NOF_RANK_VAIN 8u
#define NOF_RANK_RING_MAX 256u
#define NOF_RANK_SLOTS_MAX 1024u
#define NOF_BOUNCE_SLOTS 8u
#define NOF_BOUNCE_SLOT_BYTES 16384u

struct nof_rank;
struct nof_world;
struct nof_lane_message;

/* A layout as the model sees it: the emitted pieces of one run. */
struct nof_layout_ref {
    struct nof_layout_head head;
    struct nof_layout_op op[2];
    unsigned nsegments;
    struct {
        int64_t offset;
        uint64_t len;
    } segment[64];
};

/* Memory of a rank that a descriptor names. `mem` holds `span` bytes; address 0 of the descriptor
 * is mem + base. Without a layout base is 0 and span is len. */
struct nof_buffer {
    uint8_t *mem;
    uint64_t span;
    uint64_t base;
    uint64_t len; /* bytes of message that fit */
    uint64_t fault_at; /* from this byte of mem on nothing can be read or written; UINT64_MAX: none */
    const struct nof_layout_ref *layout;
};

struct nof_message {
    uint64_t id; /* index + 1 in the world: seeds the payload */
    struct nof_rank *src;
    struct nof_rank *dst;
    uint32_t ctx;
    int32_t tag;
    uint64_t len;
    uint32_t order; /* n-th from src to dst */
    bool sync;
    bool submitted;
    bool delta; /* in units of 2^unit_log2 bytes, announced with `bound` */
    uint32_t unit_log2;
    uint64_t bound;
    bool cancelled; /* its SEND_CANCEL was answered OK: nobody may have it */
    bool after_death; /* submitted when the receiver had taken the sender for dead */
    uint64_t done_ns; /* its SEND ended well; 0: it did not */
    struct nof_op *match; /* set by verify */
};

enum nof_op_state {
    NOF_OP_NIC, /* submitted */
    NOF_OP_LIBRARY, /* in the library's matcher */
    NOF_OP_PARKED, /* SEND: announced, waits for GRANT; or by a lane, for its match */
    NOF_OP_HELD, /* not submitted yet: words of claims are used up */
    NOF_OP_DONE,
};

struct nof_op {
    struct nof_rank *rank;
    uint32_t index; /* in the rank's operations; order of posting */
    uint8_t opcode;
    enum nof_op_state state;
    bool wait; /* PROBE, MPROBE */
    bool cancel_out; /* a CANCEL or SEND_CANCEL is under way */
    bool cancelled;
    bool found; /* matched something: got_* are valid */
    bool pulling; /* matched by the library, payload on its way */
    bool internal; /* PULL that only tells a synchronous sender */
    bool drain; /* posted by the last phases */
    uint32_t ctx;
    int32_t peer;
    int32_t tag;
    struct nof_buffer buf;
    struct nof_message *msg;
    struct nof_desc desc;
    int bounce; /* slot, or -1 */
    struct nof_op *parent; /* MRECV: its MPROBE */
    struct nof_envelope *envelope; /* MPROBE that the library answered */
    uint64_t handle; /* MPROBE */
    uint64_t asked_at; /* PROBE, MPROBE: match.unexpected when it was submitted */
    uint64_t expect_len; /* RECV after PROBE: what must come; UINT64_MAX: anything */

    uint64_t posted_ns;
    uint64_t cancel_ns; /* when its CANCEL was submitted */
    uint64_t done_ns;
    uint32_t done_index; /* operations that the rank had begun by then */
    int status;
    int32_t got_peer;
    int32_t got_tag;
    uint64_t got_len;
    uint64_t word; /* first bytes of the payload */
    unsigned word_bytes; /* how many of them were there */
    uint64_t capacity;
    struct nof_op *next; /* in the matcher's list */

    struct nof_claim_recv claim; /* in a world with lanes */
    struct nof_lane_message *local; /* SEND: it went by a lane; MPROBE: it has taken this one */
    struct nof_op *next_probe; /* that waits for lanes, too */
    bool answered; /* PROBE: by a lane; what the NIC says of it is nothing any more */

    unsigned delta; /* its slot + 1; 0: none, or none any more */
    unsigned groups, group_log2; /* SEND: in so many does it become ready */
    bool wanted; /* SEND that was parked: it is granted, and waits until it is whole: */
    uint64_t grant_handle, grant_len;
    uint8_t *flat; /* the payload, of a RECV that of delta_msg */
    bool delta_taken; /* RECV: the NIC has posted it */
    const struct nof_message *delta_msg;
    struct nof_delta_arrival *arrived; /* as it was seen last */
};

/* A spilled envelope in the library's heap. */
struct nof_envelope {
    uint32_t ctx;
    int32_t peer;
    int32_t tag;
    uint64_t len;
    int status;
    bool remote, sync;
    uint64_t handle;
    uint64_t sender_handle;
    uint8_t *payload; /* local ones: `stored` bytes */
    uint64_t stored;
    struct nof_envelope *next;
};

struct nof_desc_queue {
    struct nof_desc *desc;
    unsigned head, count, room; /* ring; room is a power of two */
};

struct nof_rank {
    struct nof_world *world;
    struct nof_job *job;
    unsigned uid; /* in the world */
    int32_t number; /* job rank */
    char name[24];
    unsigned nic;
    uint32_t incarnation; /* of the NIC */
    uint32_t endpoint;
    struct nof_card card;
    bool alive;
    struct nof_rng rng;

    struct nof_desc_queue queue;
    struct nof_op **op;
    unsigned nops, op_room;
    unsigned open_ops; /* not done */
    unsigned open_matches; /* of them: RECV, PROBE, MPROBE */
    unsigned open_sends;
    unsigned open_cancels; /* of sends, without answer */
    bool waited_mprobe; /* an MPROBE with WAIT was used */

    struct nof_comp ring[NOF_RANK_RING_MAX];
    unsigned ring_size, ring_head, ring_count;
    uint64_t clogged_until_ns;
    bool reap_planned;
    uint64_t reap_max_ns;

    struct nof_op *posted; /* library's matcher, oldest first */
    struct nof_envelope *spilled;
    bool spilling;
    bool end_out; /* SPILL_END without answer */
    bool end_planned;
    uint64_t spills_seen;
    uint64_t nomatches_seen;

    uint8_t *staging;
    uint32_t staging_bytes;
    struct {
        uint32_t offset, len;
    } slot[NOF_RANK_SLOTS_MAX]; /* lent to us and not given back */
    unsigned nslots;
    uint8_t *bounce;
    bool bounce_used[NOF_BOUNCE_SLOTS];
    uint8_t *program_area;
    struct nof_layout_ref layout[NOF_RANK_LAYOUTS];
    unsigned layouts_ready; /* bit mask */
    uint64_t counters[NOF_COUNTER_COUNT];
    struct nof_vain_probe {
        uint32_t ctx;
        int32_t peer, tag;
        uint64_t asked_at;
    } vain[NOF_RANK_VAIN]; /* the last probes that were answered "nothing", nvain in all */
    unsigned nvain;
    struct nof_delta_host *delta_host; /* NULL, both: a NIC without boards */
    struct nof_delta_nic *delta_nic;
    bool delta_boards_taken;
    struct nof_op *delta_send[NOF_DELTA_SLOTS], *delta_recv[NOF_DELTA_SLOTS];

    struct nof_claim_words claim_words;
    struct nof_claims claims;
    struct nof_op *held; /* in the order of the calls */
    struct nof_op *probes;
    struct nof_lane_message *lane; /* on their way, by when they come */
    struct nof_lane_message *local; /* that no receive wanted yet */
    uint64_t lane_ns[NOF_WORLD_RANKS_MAX]; /* when the last one of that job rank comes */
    unsigned owed; /* CANCELs of what lanes have served, without answer */

    bool introduced[NOF_WORLD_RANKS_MAX]; /* by job rank */
    bool dead[NOF_WORLD_RANKS_MAX]; /* PEER_DEAD came */
    uint32_t sent[NOF_WORLD_RANKS_MAX]; /* to that job rank */
    uint32_t taken_back[NOF_WORLD_RANKS_MAX]; /* of those, cancelled */
    uint32_t got[NOF_WORLD_RANKS_MAX]; /* matched from it, payload included */
    bool sweep_done;
    unsigned sweep_ctx;
    bool dma_inline;
    bool dma_sums;
    bool cyclic; /* gets the messages of one cycle and few others */
};

struct nof_job {
    uint64_t id;
    uint8_t key[NOF_JOB_KEY_BYTES];
    unsigned size;
    struct nof_rank *rank[NOF_WORLD_RANKS_MAX];
};

enum nof_world_phase { NOF_PHASE_TRAFFIC, NOF_PHASE_DRAIN, NOF_PHASE_SWEEP, NOF_PHASE_END };

struct nof_world {
    struct nof_cluster *cluster;
    struct nof_rng rng;
    enum nof_world_phase phase;
    struct nof_job *job[NOF_WORLD_JOBS_MAX];
    unsigned njobs;
    struct nof_rank *rank[NOF_WORLD_RANKS_MAX];
    unsigned nranks;
    struct nof_message **message;
    unsigned nmessages, message_room;
    bool suspect[NOF_WORLD_RANKS_MAX][NOF_WORLD_RANKS_MAX]; /* by uid: something broke between them */
    uint8_t *pool[24]; /* free buffers by power of two, chained through their first bytes */
    uint64_t digest;
    uint64_t bytes; /* payload submitted */
    uint64_t tick_ns;
    bool last_sweep; /* begun when all was quiet: nothing can come late any more */

    struct nof_fabric_link link; /* without faults */
    struct nof_rng codec_rng;
    uint64_t traffic_until_ns;
    unsigned cycles; /* pairs of ranks that repeat themselves, for the predictors */
    bool tiny_staging;
    uint64_t partitions;
    uint64_t long_side; /* NICs on one side of a long partition that stands; 0: none stands */
    uint64_t long_down; /* NICs that are unplugged for long */
    unsigned fault_kinds;
    bool respawned;
    unsigned faulty_percent; /* buffers that the kernel refuses */
    unsigned dma_late_percent;
    unsigned cancel_percent; /* sends that their rank wants back */
    struct nof_rng local_rng;
    bool locals; /* ranks of one NIC reach each other by lanes */
    uint32_t claim_slots;
    struct nof_lane_message *local; /* all */
    struct nof_rng delta_rng;
    unsigned delta_percent; /* operations that are delta messages */
    unsigned delta_slots; /* of a rank that are used */
};

/* Of memory.c. */

void *nof_world_alloc(struct nof_world *w, size_t bytes);
void nof_world_free(struct nof_world *w, void *mem, size_t bytes);

void nof_buffer_open(struct nof_world *w, struct nof_buffer *b, uint64_t len,
                     const struct nof_layout_ref *layout);
void nof_buffer_close(struct nof_world *w, struct nof_buffer *b);
/* Payload of message `id`, its first len bytes. */
void nof_payload_fill(uint8_t *to, uint64_t id, uint64_t len);
void nof_buffer_fill(struct nof_world *w, struct nof_buffer *b, uint64_t id, uint64_t len);
void nof_buffer_store(struct nof_buffer *b, const uint8_t *from, uint64_t len);
/* len bytes of the message from byte `at` on: written there; are they there? */
void nof_buffer_put(struct nof_buffer *b, const uint8_t *from, uint64_t at, uint64_t len);
bool nof_buffer_holds(const struct nof_buffer *b, const uint8_t *bytes, uint64_t at, uint64_t len);
/* Are these bytes the beginning of some payload? The first up to 8 go to *word_out. */
bool nof_payload_check(const uint8_t *from, uint64_t len, uint64_t *word_out, unsigned *word_bytes_out);
bool nof_buffer_check(struct nof_world *w, const struct nof_buffer *b, uint64_t len, uint64_t *word_out,
                      unsigned *word_bytes_out);
uint64_t nof_payload_word(uint64_t id, unsigned bytes);

void nof_layout_ref_make(struct nof_layout_ref *l, struct nof_rng *rng);
size_t nof_layout_ref_bytes(const struct nof_layout_ref *l);

int nof_rank_dma(void *host, bool write, const struct nof_segment *remote, unsigned nremote,
                 const struct nof_buf *local, unsigned nlocal, uint64_t token);
/* A completion lends us these bytes of the staging area; NULL and a violation if it must not. */
const uint8_t *nof_rank_slot_take(struct nof_rank *r, uint32_t offset, uint32_t len);
void nof_rank_slots_release(struct nof_rank *r, bool all);

/* Of rank.c. */

struct nof_rank *nof_rank_create(struct nof_world *w, struct nof_job *job, int32_t number, unsigned nic);
void nof_rank_destroy(struct nof_rank *r);
/* The endpoint closes, as if its process had died. */
void nof_rank_kill(struct nof_rank *r, int reason);
/* The NIC under it restarts: no close. */
void nof_rank_lose(struct nof_rank *r);
void nof_rank_submit(struct nof_rank *r, const struct nof_desc *d);

/* Of rank_ops.c. */

/* Each answers the new operation, or NULL if the rank is dead. */
struct nof_op *nof_rank_send(struct nof_rank *r, struct nof_message *m);
struct nof_op *nof_rank_recv(struct nof_rank *r, uint32_t ctx, int32_t peer, int32_t tag, uint64_t capacity);
struct nof_op *nof_rank_probe(struct nof_rank *r, uint8_t opcode, bool wait, uint32_t ctx, int32_t peer,
                              int32_t tag);
struct nof_op *nof_rank_mrecv(struct nof_op *mprobe, uint64_t capacity);
struct nof_op *nof_rank_flush(struct nof_rank *r);
void nof_rank_layouts(struct nof_rank *r);
void nof_rank_cancel(struct nof_op *op);
void nof_rank_tell_sync(struct nof_rank *r, const struct nof_envelope *e);
void nof_rank_introduce(struct nof_rank *r, int32_t peer);
/* Submit (again) what op->desc says. */
void nof_op_start(struct nof_op *op);
/* A parked send may go on: submit it again. */
void nof_op_granted(struct nof_op *op, uint64_t handle, uint64_t granted_len);
void nof_op_finish(struct nof_op *op, int status);
/* The payload of op has come into its buffer (len: of the message as sent). */
void nof_op_received(struct nof_op *op, int status, int32_t peer, int32_t tag, uint64_t len);
bool nof_op_is_match(const struct nof_op *op);
bool nof_pattern_accepts(uint32_t ctx, int32_t peer, int32_t tag, uint32_t m_ctx, int32_t m_peer,
                         int32_t m_tag);

/* Of matcher.c. */

/* The NIC found nothing for op (NOF_ENOMATCH). */
void nof_heap_post(struct nof_op *op);
void nof_heap_spill(struct nof_rank *r, const struct nof_comp *c);
void nof_heap_ended(struct nof_rank *r, int status);
bool nof_heap_cancel(struct nof_op *op);
/* REVOKE: is the message still here? */
void nof_heap_revoke(struct nof_rank *r, const struct nof_comp *c);
void nof_heap_peer_dead(struct nof_rank *r, int32_t peer);
/* Leave spill mode if that is possible now. */
void nof_heap_settle(struct nof_rank *r);
/* MRECV of an envelope that the library holds. */
void nof_heap_mrecv(struct nof_op *mrecv, struct nof_envelope *e);
void nof_heap_clear(struct nof_rank *r);

/* op waits in none of its lists any more. */
void nof_heap_leave(struct nof_op *op);

/* Of lane.c. All but plan() and pair() in a world with lanes. */

void nof_lane_plan(struct nof_world *w, uint64_t seed);
bool nof_lane_pair(const struct nof_rank *a, const struct nof_rank *b);
void nof_lane_set_up(struct nof_rank *r);
/* A new operation begins, and is submitted, held, or has ended. */
void nof_lane_send(struct nof_op *op);
void nof_lane_recv(struct nof_op *op);
void nof_lane_probe(struct nof_op *op);
void nof_lane_mrecv(struct nof_op *mrecv, struct nof_lane_message *l);
void nof_lane_send_cancel(struct nof_op *op);
/* False: the NIC must be asked. */
bool nof_lane_cancel(struct nof_op *op);
/* The NIC has answered op; true: it is nothing to op any more. */
bool nof_lane_zombie(struct nof_op *op, const struct nof_comp *c);
void nof_lane_answered(struct nof_op *op, const struct nof_comp *c);
/* op ends. */
void nof_lane_finish(struct nof_op *op);
/* What is on its way to r by a lane may come at this moment. */
void nof_lane_hurry(struct nof_rank *r);
bool nof_lane_settled(const struct nof_rank *r);
/* Its process is gone. */
void nof_lane_end(struct nof_rank *r);
void nof_lane_clear(struct nof_world *w);

/* Of workload.c. */

struct nof_message *nof_world_message(struct nof_world *w, struct nof_rank *src, struct nof_rank *dst);
void nof_workload_plan(struct nof_world *w, unsigned nmessages);
/* An operation has ended (or a probe was answered): what the program does next. */
void nof_workload_done(struct nof_op *op);
/* Phase two: heal and drain. */
void nof_workload_drain(struct nof_world *w);
bool nof_workload_finished(void *world);
/* What has not ended, for the report of a run that is stuck. */
void nof_workload_stuck(struct nof_world *w, char *text, size_t bytes);
struct nof_job *nof_world_job(struct nof_world *w);

/* Of faults.c. */

void nof_faults_plan(struct nof_world *w);
void nof_faults_heal(struct nof_world *w);

/* Of delta.c. */

void nof_delta_plan(struct nof_world *w);
void nof_delta_boards(struct nof_rank *r);
/* Its endpoint is closed; nothing was written to them since. */
void nof_delta_boards_taken(struct nof_rank *r);
void nof_delta_boards_verify(const struct nof_rank *r);
void nof_delta_boards_free(struct nof_rank *r);
/* op becomes a delta message, or not. A SEND: then its buffer is opened, and the rest planned. */
bool nof_delta_send_take(struct nof_op *op);
void nof_delta_send_plan(struct nof_op *op);
/* It was parked, and is granted: it goes when it is whole. */
void nof_delta_granted(struct nof_op *op, uint64_t handle, uint64_t granted_len);
void nof_delta_recv_take(struct nof_op *op);
/* Look at all arrivals of r; told: its NIC has said that one has changed. */
void nof_delta_look(struct nof_rank *r, bool told);
/* Does the completion of a RECV agree with its arrival? It is no delta receive from then on. */
void nof_delta_recv_done(struct nof_op *op, const struct nof_comp *c);
/* op ends: its slot is free. */
void nof_delta_finish(struct nof_op *op);

/* Of verify.c. */

void nof_verify(struct nof_world *w);

#endif
