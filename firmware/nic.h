/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of one NIC core, shared by the modules of firmware/. Nothing outside includes it.
 *
 *   nic ── job ── endpoint ──(rank)── peer ──┐             peer: one flow, both directions
 *                                            link ── path  link: one other NIC (or ourselves)
 *   send  SEND descriptor until its completion             queues: peer.sendq (envelope to go),
 *   recv  RECV, PROBE, MRECV, ... until its completion              peer.dataq (granted)
 *   env   an unexpected message that can be matched
 *   read  frames that wait for a dma_read    write  network memory on its way to a dma_write
 *
 * All live in pools; they name each other by index, and by *ref* (kind and index) where the kind
 * varies. Handles on the wire and in completions are index and generation. */
#ifndef NOF_NIC_H
#define NOF_NIC_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nof/core.h"
#include "coll/drive_state.h"
#include "coll_engine.h"
#include "compress/grant_state.h"
#include "base/layout_table.h"
#include "match/match_state.h"
#include "mcast/mcast_state.h"
#include "base/netmem.h"
#include "base/pool.h"
#include "base/share.h"
#include "stage_cache.h"
#include "transport/transport.h"
#include "transport/wire.h"

#define NOF_FLOW_MSGS_MAX 256u /* most envelopes that one flow may have on credit beyond the initial */
#define NOF_FLOW_BLOCKS_MAX 512u /* most network memory blocks, likewise */
#define NOF_EAGER_LIMIT 65536u /* bound of feature eager_max_bytes */
#define NOF_READ_FRAMES 64u
#define NOF_READS_PER_FLOW 2u /* requests of a flow that may be under way at once */
#define NOF_READS_PER_EP 4u
/* What one endpoint may make the core do in a turn beside what its share of the link pays for: looking at pieces of
 * receive buffers, at posted receives, at flows. The rest is done in the next turn. */
#define NOF_TURN_STEPS 256u
#define NOF_STEP_COST 64u /* bytes that a step on the way to user memory (layout_table.h) counts for */
#define NOF_LOCAL_FRAMES 32u /* beside NOF_LOCAL_HELD for each endpoint */
/* Loop-back frames that the unfinished reads of one endpoint may hold: a page that blocks holds up nobody else. */
#define NOF_LOCAL_HELD 4u
#define NOF_LOCAL_BODY 16448u /* 16 KiB payload and any fixed fields */
#define NOF_ROOM_MOST \
    256u /* descriptors of one endpoint that are let in at once: what they need is not taken yet */
#define NOF_RETRY_NS 50000u /* look again after the port, the DMA queue or the host took nothing */

/* What a handle or a ref names. */
enum nof_ref_kind { NOF_REF_SEND = 0, NOF_REF_RECV = 1, NOF_REF_ENV = 2, NOF_REF_PEER = 3 };
#define NOF_REF(kind, index) ((uint32_t)(kind) << 30 | (index))
#define NOF_REF_INDEX(ref) ((ref)&0x3fffffffu)
#define NOF_REF_KIND(ref) ((ref) >> 30)

#define NOF_HANDLE_PARKED (1ull << 63) /* the rest is the sending host's cookie */
#define NOF_HANDLE_SYNC (1ull << 62) /* a synchronous eager send, wants MATCHED */
#define NOF_HANDLE_HELD (1ull << 61) /* a stored message in our own network memory */
#define NOF_HANDLE_KINDS (7ull << 61)
/* A DMA token: handle of a write, of a piece of a step of schedules, of a request of a group, else of a read. */
#define NOF_TOKEN_WRITE (1ull << 63)
#define NOF_TOKEN_COMBINE (1ull << 62)
#define NOF_TOKEN_MCAST (1ull << 61)

/* Of an operation's cookie at an endpoint. The seed is secret and every bit of the cookie counts, so that a host cannot
 * choose cookies that collide. */
static inline uint32_t nof_cookie_hash(uint64_t seed, uint32_t ep, uint64_t cookie)
{
    uint64_t h = (cookie ^ seed) * 0x9e3779b97f4a7c15ull; /* constants as in match.c */
    h ^= h >> 32;
    h = (h + ep) * 0xd6e8feb86659fd93ull;
    return (uint32_t)(h >> 32);
}

static inline uint64_t nof_handle(uint32_t index, uint32_t gen)
{
    return (uint64_t)gen << 32 | index;
}

enum nof_send_state {
    NOF_SEND_FREE = 0,
    NOF_SEND_QUEUED, /* in sendq; `sent` > 0: an eager message of several reads */
    NOF_SEND_CTS_WAIT,
    NOF_SEND_DATA, /* granted; in dataq while something may be sent */
    NOF_SEND_LATER, /* a delta send whose receiver has no room for one that computes: it comes back when it has ended */
    NOF_SEND_MATCH_WAIT, /* synchronous eager, all read */
    NOF_SEND_ENDING, /* status is known; reads are still under way */
    NOF_SEND_DONE, /* completion waits for room in the ring */
    NOF_SEND_GONE, /* cancelled, while it still stands in sendq */
};

enum nof_send_mark {
    NOF_SEND_M_IN_DATAQ = 1,
    NOF_SEND_M_LISTED = 2, /* on the peer's list of operations */
    NOF_SEND_M_MATCHED = 4, /* synchronous: the receiver has matched it */
    NOF_SEND_M_ASKING = 16, /* nothing happens until the receiver has matched it */
    NOF_SEND_M_ISSUED = 8, /* every byte is in a frame or on its way into one */
    NOF_SEND_M_INDEXED = 32, /* in the table of cookies */
    NOF_SEND_M_EXTRA = 128, /* a delta send beyond its endpoint's guarantee (msg/delta_slots.c) */
    NOF_SEND_M_CANCEL = 64, /* `question` is with the receiver, or waits for the frames to leave */
};

#define NOF_SEND_F_STEP (1u << 7) /* of send.flags: a step of a schedule, whose end the host is not told */
#define NOF_RECV_STEP 255u /* recv.opcode: likewise */

/* Links of a list whose members leave it in any order (flow/peer.h, flow/clearance.c). */
struct nof_ties {
    uint32_t next, prev;
};

/* send.c writes it, but for its links in the peer's list of operations (peer.c) and its waiting completion. Who writes
 * what of this struct, of receives and of peers is in tests/lint/writers.txt. */
struct nof_send {
    struct nof_obj obj;
    uint8_t state;
    uint8_t flags; /* enum nof_desc_flags, NOF_SEND_F_STEP */
    uint8_t elem;
    uint8_t marks; /* enum nof_send_mark */
    uint16_t ep;
    uint16_t reads; /* under way */
    uint32_t peer;
    union {
        uint32_t seq; /* of its envelope in the flow */
        uint32_t data_prev; /* DATA: in dataq, beside obj.next */
    };
    uint32_t ep_next, ep_prev; /* live sends of the endpoint, oldest first */
    uint64_t order;
    union {
        struct {
            uint64_t cookie;
            uint32_t ctx;
            int32_t tag;
            uint64_t len;
            uint64_t sent; /* bytes put into frames */
            union {
                uint64_t meets; /* QUEUED, ANNOUNCED: bytes of all that meet on the way there */
                uint64_t wanted; /* bytes that the receiver wants in all */
            };
            uint64_t allowed; /* bytes that it wants now */
            uint64_t remote; /* its handle */
            struct nof_ties wait; /* on the peer's list of operations */
            uint32_t cookie_next, cookie_prev;
            uint64_t question; /* handle, see cancel.c */
            int32_t status;
            uint32_t layout; /* index, or NOF_NIL */
            uint8_t agreed; /* desc.h */
            uint8_t delta; /* its slot + 1 (nof/delta.h); 0: not in increments, and of meaning if not: */
            uint8_t unit_log2;
            uint8_t ended; /* `len` is the message's, no bound any more */
            union {
                struct {
                    uint64_t addr;
                    uint64_t at,
                        run_end; /* delta: the run that is being sent; where the next byte is, and the end */
                };
                uint8_t inline_data[NOF_INLINE_BYTES];
            };
        };
        struct nof_comp comp;
    };
};

enum nof_recv_state {
    NOF_RECV_FREE = 0,
    NOF_RECV_POSTED, /* receive or probe in the matching tables */
    NOF_RECV_TAKEN, /* likewise, that the host has claimed: in none, until its CANCEL */
    NOF_RECV_STAGE, /* eager pieces go to a staging slot */
    NOF_RECV_DIRECT, /* eager pieces go to the buffer as they come */
    NOF_RECV_STORED, /* eager pieces are collected in network memory */
    NOF_RECV_RNDV, /* rendezvous */
    NOF_RECV_ENDING, /* status is known; DMA writes are still under way */
    NOF_RECV_FLUSH, /* a FLUSH descriptor */
    NOF_RECV_SEEK, /* a CANCEL descriptor, until all posted receives can be found by cookie */
    NOF_RECV_SCHED, /* a SCHED_START, see coll/drive.h */
    NOF_RECV_CANCEL, /* a SEND_CANCEL descriptor: what the receiver is asked, see cancel.c */
    NOF_RECV_DONE, /* completion waits for room in the ring */
};

/* What a receive that needs blocks has of them while its delta send's program computes (msg/rendezvous.c). */
enum nof_recv_unended {
    NOF_RECV_ORDINARY = 0, /* as any other */
    NOF_RECV_AHEAD, /* blocks, which endpoint.ahead_blocks counts */
    NOF_RECV_LATER, /* none: its sender comes back when it has ended */
    NOF_RECV_BACK /* it is back, and ordinary */
};

/* recv.h and recv.c write it, but for what it goes through on its way: matching (match.c), waiting (recv_wait.c), blocks
 * (reserve.h), pieces that are held (gather.c), a grant before its call (granted.c), writes (write.c), what is allowed
 * (rendezvous.c), what counts of that (clearance.c), a question (question.c). */
struct nof_recv {
    struct nof_obj obj;
    uint8_t state;
    union {
        uint8_t marks; /* all of them: */
        struct {
            uint8_t arrived : 1; /* every wanted byte is here, some may still be on their way to the host */
            uint8_t waiting : 1; /* in endpoint.recv_wait: for DMA blocks */
            uint8_t
                again : 1; /* in endpoint.again: the other side's host had no room for a GRANT or REVOKE */
            uint8_t parked : 1; /* the sender's host holds the message */
            uint8_t listed : 1; /* on the peer's list of operations */
            uint8_t indexed : 1; /* in the table of cookies */
            uint8_t asked : 1; /* CANCEL: the question has left */
            uint8_t
                early : 1; /* RNDV: granted before its receive, nothing is written before all is here (granted.h) */
        };
    };
    uint8_t opcode; /* NOF_COMP_RECV, PROBE, MPROBE, FLUSH, SCHED, or NOF_RECV_STEP */
    uint8_t kind; /* POSTED: where it is counted in endpoint.posted */
    uint16_t ep;
    uint16_t writes; /* under way */
    uint32_t peer; /* source, once known */
    uint32_t layout; /* index, or NOF_NIL */
    union {
        struct {
            struct nof_match_key key;
            union {
                struct nof_match_node node; /* POSTED */
                struct { /* RNDV: what came and waits to be written, see gather.h */
                    uint64_t hold_at; /* in the message */
                    uint32_t hold_chain, hold_tail, hold_fill;
                    uint32_t hold_bytes; /* 0 while one of those: */
                };
                struct { /* waiting: in endpoint.recv_wait */
                    uint32_t blocks_next, blocks_prev;
                };
                uint32_t again_prev; /* again: in endpoint.again, beside obj.next */
            };
            union {
                uint64_t order; /* POSTED: of posting */
                uint64_t sends; /* FLUSH: endpoint.send_order when it came */
                uint64_t at; /* RNDV, not early: in the message, behind the byte that came last */
                uint32_t envelope; /* early: its own, or NOF_NIL once it has its receive */
            };
            uint64_t cookie;
            uint32_t cookie_next, cookie_prev;
            uint64_t addr;
            uint64_t capacity;
            uint64_t len; /* of the message */
            uint64_t wanted; /* min(len, capacity) */
            uint64_t received; /* bytes that have come, in order */
            uint64_t written; /* bytes that the host has */
            uint64_t allowed; /* bytes that the sender may send */
            union {
                uint64_t remote; /* its handle */
                uint64_t claim; /* POSTED, TAKEN: nof_claim_handle(), if claimed */
            };
            struct nof_ties wait;
            uint32_t reserved_blocks; /* of nic->dma_free */
            uint32_t used_blocks;
            union {
                uint32_t stage_offset; /* STAGE */
                uint32_t line; /* early; NOF_STAGE_NONE: what has come is held */
                uint32_t chain; /* STORED: the one that is still coming in */
            };
            int32_t status;
            uint32_t clear_bytes; /* RNDV: cleared, and counted until they come (flow/clearance.h) */
            uint64_t lapses_ns; /* when they do not count any more, if they have not come */
            struct nof_ties clear_out, clear_turn, clear_flow;
            uint32_t clear_link; /* that it came over when it began to count or wait */
            uint32_t
                write_queue; /* writes that wait for the one under way, where all are written in order (msg/deliver.c) */
            union {
                uint64_t special; /* 0: none of them */
                struct {
                    uint8_t clear_waits; /* until more may be cleared; and: */
                    uint8_t clear_stands; /* in clear_turn, too */
                    uint8_t cts_waits; /* RNDV: its CTS waits for the link */
                    uint8_t agreed; /* desc.h */
                    uint8_t
                        delta; /* its slot + 1 (nof/delta.h); 0: what has come of it is not told before its end */
                    uint8_t unit_log2; /* RNDV: of a delta send, else 0 */
                    uint8_t claimed; /* POSTED, TAKEN: the host may serve it, too (msg/recv_claim.h) */
                    uint8_t unended; /* RNDV: enum nof_recv_unended */
                };
            };
        };
        struct nof_comp comp;
    };
};

enum nof_env_state { NOF_ENV_FREE = 0, NOF_ENV_STORED, NOF_ENV_MPROBED, NOF_ENV_DONE };
enum nof_env_flag {
    NOF_ENV_F_RTS = 1,
    NOF_ENV_F_SYNC = 2, /* eager, wants MATCHED */
    NOF_ENV_F_PARKED = 4,
    NOF_ENV_F_FAILED = 8,
    NOF_ENV_F_MATCH_FIRST = 16, /* RTS of a synchronous send: no grant before its match */
    NOF_ENV_F_GONE = 64, /* FAILED because the sender's process is gone */
    NOF_ENV_F_FAR = 32, /* counted in endpoint.far */
    NOF_ENV_F_UNENDED = 128, /* PARKED delta send: its program may be long in ending it */
};

struct nof_env {
    struct nof_obj obj;
    uint8_t state;
    uint8_t flags;
    uint8_t agreed; /* desc.h */
    uint8_t unit_log2; /* RTS of a delta send; else 0 */
    uint32_t peer;
    struct nof_match_key key;
    uint64_t len;
    uint64_t handle; /* the sender's */
    uint32_t chain; /* stored payload, or NOF_NIL: in data[] */
    uint32_t early; /* RTS: receive that was granted beforehand, or NOF_NIL */
    union {
        struct nof_match_node node[NOF_MATCH_KINDS];
        struct nof_comp comp;
    };
    uint8_t data[NOF_INLINE_BYTES];
};

enum nof_peer_flag {
    NOF_PEER_F_KNOWN = 1, /* by a PEER descriptor: we open a flow to it */
    NOF_PEER_F_TX = 2, /* FLOW_OPEN sent, credit known */
    NOF_PEER_F_RX = 4, /* FLOW_OPEN received */
    NOF_PEER_F_DEAD = 8,
    NOF_PEER_F_ORDERLY = 16, /* dead, and closed in order: the host is told NOF_OK */
    NOF_PEER_F_AWAITED = 32, /* named by a receive, and not known: it has no link yet */
};
enum nof_peer_sched {
    NOF_SCHED_IDLE = 0,
    NOF_SCHED_ACTIVE, /* among the flows of its endpoint to the wire, or, next, of the loop-back */
    NOF_SCHED_LOOPS,
    NOF_SCHED_BULK, /* among those of its endpoint that have nothing for the wire but granted payload */
    NOF_SCHED_BLOCKED,
    NOF_SCHED_BUSY,
    NOF_SCHED_LATER,
};

/* peer.c writes it, but for its place in the scheduler, credit (credit.h) in both directions, what is to be sent (send.c,
 * read.c) and what comes in (incoming.h, eager.c). */
struct nof_peer {
    struct nof_obj obj;
    uint32_t rank;
    uint32_t link; /* NOF_NIL once dead, and while it is only awaited */
    uint16_t ep;
    uint16_t remote_ep;
    uint16_t remote_generation;
    uint8_t flags : 7;
    uint8_t data_turn : 1; /* dataq is served next */
    uint8_t sched : 3; /* enum nof_peer_sched */
    uint8_t used : 1;
    uint8_t rx_skip : 1; /* a chunk did not decode: the rest of its message is nobody's */
    uint8_t codec_asked : 1; /* a CODEC_ASK of ours has no answer yet */
    uint8_t credit_waits : 1; /* a CREDIT frame waits in the link's queue */
    uint8_t stalled : 1; /* waits for envelope credit */
    uint32_t rank_next, flow_next; /* hash chains */
    uint32_t sched_prev; /* in the queue that `sched` names, beside obj.next */
    uint32_t ep_next; /* of the same endpoint, the one made before */
    union {
        int32_t deficit; /* bytes */
        int32_t status; /* DEAD: why */
    };
    uint32_t sendq, dataq, readq; /* tails of queues; dataq is a ring */
    uint32_t waiting; /* operations that end when the peer dies: refs, tied by their `wait` */
    uint32_t expects; /* how many wait for it: those, what is still to come in, and: */
    uint32_t parked; /* sends that the host keeps until a GRANT */
    uint32_t tx_seq, tx_msgs_allowed;
    uint32_t tx_blocks_used, tx_blocks_allowed;
    uint32_t rx_seq, rx_msgs_announced, rx_msgs_freed;
    uint32_t rx_msgs_held; /* the initial credit and what is borrowed (credit.h) */
    uint32_t rx_blocks_used, rx_blocks_announced, rx_blocks_freed;
    uint32_t rx_target; /* where the pieces of the message that is coming in go */
    uint16_t rx_left; /* bytes of that message to come; 0: none is coming in */
    uint16_t rx_pos; /* bytes that have come */
};
/* A silent peer is one of these, a link and a path: 512 bytes in all. */
static_assert(sizeof(struct nof_peer) <= 120, "size of a flow");

struct nof_job {
    uint64_t id;
    uint8_t key[NOF_JOB_KEY_BYTES];
    uint32_t size;
    uint32_t endpoints; /* open ones */
    uint32_t local_link;
    uint32_t paths_used;
    uint32_t told; /* links below this one have heard of all its closing endpoints (job.c) */
    uint32_t used;
};

enum nof_drain { NOF_DRAIN_NONE = 0, NOF_DRAIN_ASKED, NOF_DRAIN_RESET /* on_dead() follows */ };

struct nof_link {
    struct nof_path *path; /* NULL: frames loop back inside this NIC */
    uint32_t flows;
    uint32_t blocked; /* queue tail of flows that wait for the window (scheduler.c) */
    uint32_t ctl; /* queue tail of control frames that wait */
    uint32_t last_peer; /* of the last received frame: a guess for the next */
    union {
        uint32_t last_pn; /* packet number of the last frame sent, if there was one */
        int32_t status; /* gone: why */
    };
    uint16_t job; /* NOF_JOB_NONE: of no job that we know */
    uint8_t gone : 1; /* its path has ended, and its flows have not all been looked at (flows.h) */
    uint8_t used : 1;
    uint8_t up : 1;
    uint8_t sent_any : 1;
    uint8_t draining : 2; /* enum nof_drain: its job has no endpoint here any more (job.c) */
};
static_assert(sizeof(struct nof_link) <= 32, "size of a link");
#define NOF_JOB_NONE UINT16_MAX

#define NOF_CTL_FIELDS_MAX 32u
struct nof_ctl { /* a control frame that could not leave at once */
    struct nof_obj obj;
    uint32_t peer; /* CREDIT: values are taken when it leaves; else NOF_NIL */
    uint32_t recv; /* CTS: likewise, as long as it waits for its payload; else NOF_NIL */
    uint16_t src_ep, dst_ep;
    uint8_t type, flags, fields_bytes, reserved;
    uint8_t fields[NOF_CTL_FIELDS_MAX];
};

struct nof_read { /* consecutive frames of one send */
    struct nof_obj obj;
    uint32_t peer;
    uint32_t send; /* of meaning until `done` */
    uint16_t ep;
    uint8_t nframes;
    uint8_t gone; /* frames that have left */
    uint8_t done;
    uint8_t failed; /* flags of the frame that says so, or 0 */
    uint8_t orphan; /* flow or endpoint is gone: drop the frames when the read is done */
    uint8_t first_type; /* of the first frame; MSG is followed by MSG_MORE */
    uint8_t last; /* the last frame is a DATA with F_LAST */
    uint8_t sync;
    uint8_t local; /* frames of the loop-back pool */
    uint8_t held; /* of those, counted in the endpoint's local_held */
    uint8_t summed; /* the host gives the CRCs of full frames */
    uint8_t ranged; /* of a delta send: each DATA says where it belongs */
    uint8_t longer; /* bytes more in the last MSG_MORE's fields: its frame is as large as the others */
    uint32_t bytes; /* of payload, in all frames */
    /* Where it is packed (pack.h): the payload lies in block `raw`, and frames are made as they leave. */
    uint32_t raw; /* NOF_NIL: the payload is in frame[] */
    uint32_t raw_pos; /* of it, in frames that have left */
    uint32_t seq;
    uint64_t offset; /* in the message */
    uint8_t elem;
    uint8_t begun;
    uint8_t ended;
    uint8_t head[NOF_WIRE_MSG_BYTES]; /* fields of the first frame; of DATA, those of the last */
    uint16_t body_bytes[NOF_READ_FRAMES];
    struct nof_frame *frame[NOF_READ_FRAMES];
};

struct nof_write { /* part of a receive, from network memory to the host */
    struct nof_obj obj;
    uint32_t recv;
    uint32_t peer; /* whose block credit the chain is; NOF_NIL: blocks of the receive's reserve */
    uint32_t chain;
    uint32_t skip; /* bytes of the chain before the payload */
    uint32_t bytes;
    uint32_t done;
    uint32_t issued; /* bytes of the request that is under way */
    uint16_t ep;
    uint64_t offset; /* in the receive's buffer */
};

enum nof_ep_state { NOF_EP_FREE = 0, NOF_EP_OPEN, NOF_EP_FAILED, NOF_EP_CLOSING };

struct nof_watch;

/* Flows to other NICs share the link; those of the loop-back do not wait for it. */
enum nof_sched_way { NOF_SCHED_WIRE, NOF_SCHED_LOOP, NOF_SCHED_WAYS };

/* The scheduler's, of an endpoint and a way. */
struct nof_sched_turns {
    uint32_t active; /* ring's tail of flows with something to send, but for: */
    uint32_t bulk; /* those with granted payload only, in the order of their messages */
    uint32_t next; /* endpoint with active flows */
    int64_t deficit; /* bytes */
    uint8_t listed; /* the endpoint is among those, or has its turn */
    uint8_t bulk_turn; /* one of `bulk` is next */
};

struct nof_endpoint {
    uint32_t index; /* of this struct; for good */
    uint8_t state;
    uint8_t spilling;
    uint8_t dma_inline; /* writes are never pending */
    uint8_t dma_read_inline; /* nor reads */
    uint8_t dma_read_sums;
    uint16_t generation;
    uint16_t reads; /* read requests under way */
    uint16_t local_held; /* loop-back frames in reads that have not left */
    uint32_t job;
    uint32_t rank;
    uint32_t size;
    int32_t reason; /* CLOSING: why, for the peers */
    const uint8_t *bounce;
    size_t bounce_bytes;
    const uint8_t *program_area;
    size_t program_area_bytes;
    struct nof_delta_host *delta_host; /* boards of delta messages (msg/delta_slots.h), or NULL */
    struct nof_delta_nic *delta_nic;
    uint32_t delta_send[NOF_DELTA_SLOTS]; /* the send that has the slot: its index + 1, or 0 */
    uint32_t delta_sends; /* how many; and if any: */
    uint32_t delta_extra; /* of those: NOF_SEND_M_EXTRA */
    uint32_t delta_at; /* in nic->delta_ep */
    uint64_t delta_recvs; /* slots of receives that are taken */
    uint64_t *counters;
    uint32_t comp_head, comp_tail; /* completions that wait for the ring: refs through obj.next */
    uint32_t posted[2 * NOF_MATCH_KINDS]; /* posted receives by kind, then waiting probes by kind */
    uint32_t posted_total; /* with those that are TAKEN */
    uint32_t claims; /* of those: claimed */
    uint32_t claim_slots; /* so many, at most */
    uint32_t last_queue; /* of posted receives, see match_last.h */
    uint32_t sends_used;
    uint32_t sends_asking; /* of those: NOF_SEND_M_ASKING */
    uint32_t recvs_used; /* posted ones included */
    uint32_t admitted; /* descriptors that were let in and are not taken yet: each may need an object */
    uint32_t driven_sends; /* of sends_used: those of schedules (coll/drive.h) */
    uint32_t driven_recvs; /* of recvs_used: those of schedules, and their STARTs */
    uint32_t driven_posted; /* of posted_total, likewise */
    uint32_t peers_used;
    uint32_t last_rank; /* index of the peer of the last descriptor: a guess for the next */
    uint32_t stored; /* unexpected envelopes that can be matched */
    uint32_t cookies_indexed; /* it has cancelled: receives are put into the table of cookies (walk.h) */
    uint32_t revokes; /* REVOKE completions that the host has not answered */
    uint32_t sends_head, sends_tail; /* live sends, oldest first */
    uint32_t peers; /* the newest of its flows */
    uint32_t flushes; /* queue tail of FLUSH descriptors */
    uint32_t flush_peer; /* flow that the oldest one looks at next */
    uint32_t flush_pn;
    uint8_t flush_armed;
    uint8_t in_chores;
    uint32_t chore_next; /* in the ring of endpoints that go on in the next turn (chores.h) */
    uint32_t unmet; /* posted receives that name a rank and found no room for its peer */
    uint32_t walk_at; /* receive that the walk over them (walk.h) looks at next */
    uint32_t walk_left; /* receives that this walk has still to look at; 0: none goes on */
    uint32_t unindexed; /* posted receives that are not in the table of cookies, if cookies_indexed */
    uint32_t seeks; /* queue tail of CANCEL descriptors that wait until all are */
    uint32_t tells; /* queue tail of COLL_ABORTs that were put off (coll/abort.h) */
    uint32_t drives; /* queue tail of programs that go on in the next turn (coll/drive.h) */
    uint32_t works; /* the last of those whose REDUCE and COPY steps wait, through works_next */
    uint32_t groups; /* multicast groups (mcast/mcast.h), and: */
    uint32_t group_frames; /* frames of the port that they hold */
    uint32_t combines; /* pieces of such steps that are under way */
    uint32_t dying; /* queue tail of dead peers whose operations have not all ended (flows.h) */
    uint32_t look; /* the flow that is looked at next (flows.h) */
    uint8_t look_again; /* when the looks at flows are through, all are looked at once more */
    struct nof_sched_turns sched[NOF_SCHED_WAYS];
    uint32_t turn; /* of nic->turn: the one to which `steps` belongs */
    uint32_t steps; /* that are left in it */
    uint32_t dma_used; /* blocks of nic->dma_total */
    uint32_t ahead_blocks; /* of those: NOF_RECV_AHEAD */
    uint32_t dma_pending; /* requests under way */
    uint32_t recv_wait; /* the oldest of the receives that wait for blocks (recv_wait.h) */
    uint32_t again; /* tail of the ring of receives whose grant or question is repeated (recv_wait.h) */
    uint32_t told; /* CLOSING: links below this index have been told, and: */
    uint32_t close_at; /* what close.c looks at next */
    uint8_t close_piece;
    uint32_t mprobed; /* unexpected envelopes that an MPROBE has taken */
    uint32_t held; /* stored messages whose payload the host left with us when they were spilled */
    uint64_t spills_given;
    uint64_t nomatch_given;
    uint64_t send_order;
    struct nof_watch *watch; /* of its receive calls (recv_watch.h); NULL: prediction is off */
    uint64_t receives; /* that the predictor has seen, and: */
    uint64_t ahead; /* when it was last asked what is to be staged */
    uint64_t early_bytes; /* of rendezvous that are granted and have no receive yet, and: */
    uint32_t early; /* how many */
    uint32_t far; /* envelopes that can be matched, and whose payload could be brought nearer */
    struct nof_stage stage;
};

struct nof_local_head { /* what the common header says on a wire */
    uint32_t fields_bytes;
    uint32_t body_bytes;
    uint16_t src_ep, dst_ep;
    uint8_t type, flags;
};

struct nof_local_frame {
    struct nof_obj obj;
    struct nof_frame frame;
    uint32_t link;
    struct nof_local_head head;
    uint8_t *body;
};

enum { NOF_CLEAR_CLASSES = 2 }; /* steps of schedules, and all others */
enum { NOF_CLEAR_SPANS = 2 }; /* for which what is cleared counts: flow/clearance.h */

struct nof_clear_turns { /* of an endpoint, in one class */
    uint32_t recvs; /* tail of those whose turns come, through clear_turn */
    uint32_t next; /* in the ring of endpoints, and: */
    uint32_t listed;
    uint32_t spent; /* bytes of this turn of it */
    uint32_t owes; /* bytes that others go first, because its senders were silent */
};

/* What senders of other NICs may have under way to us, see flow/clearance.h. */
/* Receives of which something counts, of all for as long. */
struct nof_clear_span {
    uint64_t lapse_ns; /* how long */
    uint32_t lapse_bytes; /* what the link carries in that time */
    uint32_t out; /* their tail, in the order of their lapses, through clear_out */
};

struct nof_clearance {
    uint64_t budget_bytes; /* UINT64_MAX: none */
    uint32_t window_bytes, alone_bytes; /* that one receive may be ahead: among others, and alone */
    struct nof_clear_span span[NOF_CLEAR_SPANS];
    uint64_t out_bytes; /* cleared, counted, not here */
    uint32_t *on_link; /* of each link: receives that come over it and count or wait */
    uint32_t links; /* with some of those */
    uint32_t waiting; /* receives that wait */
    uint32_t eps[NOF_CLEAR_CLASSES]; /* tails of the rings of endpoints with receives that wait */
    uint64_t served[NOF_CLEAR_CLASSES]; /* bytes, since both classes have some that wait */
    struct nof_clear_turns *turns[NOF_CLEAR_CLASSES]; /* of each endpoint */
    uint32_t *flow; /* of each peer: tail of its receives that wait, through clear_flow */
};

/* Pieces for one receive that will be written with one request. */
struct nof_gather {
    uint32_t recv; /* NOF_NIL: empty */
    uint32_t bytes;
    uint32_t nbufs;
    uint64_t offset;
    uint32_t chain, chain_tail, chain_fill; /* endpoints whose DMA may be pending: copied pieces */
    struct nof_buf *buf; /* NOF_DMA_SEGMENTS_MAX */
};

struct nof_nic {
    struct nof_nic_config cfg;
    const struct nof_port_ops *port_ops;
    void *port;
    const struct nof_host_ops *host_ops;
    void *host;
    const struct nof_taps *taps; /* what msg/ calls upwards (taps.h) */
    struct nof_transport *transport;
    uint64_t now_ns;
    uint64_t retry_ns; /* 0: nothing to try again */
    uint64_t seed;
    uint64_t features[NOF_FEATURE_COUNT];
    uint64_t counters[NOF_COUNTER_COUNT];
    uint64_t *no_counters; /* of endpoints that have none */

    struct nof_endpoint *eps;
    unsigned char *watches; /* one of nof_watch_mem_size() for each */
    struct nof_job *jobs;
    struct nof_link *links;
    uint32_t nlinks; /* first cfg.max_paths for paths, then one per job */
    uint32_t peer_mask;
    uint32_t *peer_by_rank, *peer_by_flow; /* buckets */
    struct nof_pool sends, recvs, envs, peers, ctls, reads, writes, locals;
    struct nof_layouts layouts;
    struct nof_colls colls;
    struct nof_drive *drives; /* one for each program */
    struct nof_pool combines;
    uint8_t *combine_mem;
    struct nof_aborts aborts;
    struct nof_mcast mcast;
    struct nof_netmem netmem;
    struct nof_match match;
    uint32_t *send_cookies; /* buckets: sends by (endpoint, cookie), see cancel.c */
    uint32_t send_cookies_mask;

    uint32_t posted_total;
    uint32_t promised_sends, promised_recvs; /* to schedules that run, and not taken (coll/drive.h) */
    uint32_t *delta_ep; /* endpoints with delta sends under way (msg/delta_slots.h) */
    uint32_t delta_eps;
    uint32_t rung_late; /* an endpoint had no steps left for those that its host has rung for */
    uint32_t sends_min, recvs_min, posted_min, dma_min; /* what every endpoint can count on */
    struct nof_share peers_share; /* of endpoints */
    struct nof_share paths_share; /* of jobs */
    uint32_t paths_used; /* links that have a path */
    uint32_t posted_limit; /* of recvs in use when one is posted, without what is kept for the others */
    uint32_t flow_msgs, flow_blocks; /* initial credit of a flow */
    uint32_t first_seq; /* what a flow counts from: 0, but in tests */
    uint32_t half_msgs, half_blocks; /* half of the largest credit that a flow can have */
    uint32_t msgs_free, blocks_free; /* credit beyond that, not given to any flow */
    uint32_t dma_total, dma_free; /* blocks for rendezvous payload whose write may be pending */

    uint32_t reads_pending; /* of data for the wire, by hosts */
    uint32_t turn; /* goes up by one in each poll */
    uint32_t ring[NOF_SCHED_WAYS]; /* queue tail of endpoints with active flows, through sched[way].next */
    uint32_t busy_flows; /* queue tail: found no frame or no DMA request */
    uint32_t later_flows; /* queue tail: their endpoints have no steps left in this turn */
    uint32_t chores; /* queue tail of endpoints, through chore_next */
    uint32_t stale_ctls; /* queue tail: control frames of links that are no more */
    /* Some link has control frames that found no frame to travel in, or flows that go on. */
    uint32_t links_later;
    uint32_t local_queue; /* loop-back frames on their way */
    uint32_t again; /* receives in those rings of all endpoints */
    uint32_t recvs_waiting; /* in the recv_wait queues of all endpoints */
    uint32_t dma_released; /* blocks came back since those were looked at */
    uint32_t write_retry; /* queue tail: the host took no request */
    uint32_t write_later; /* queue tail: the endpoint has no steps left in this turn */
    uint32_t combine_retry, combine_later; /* likewise, of pieces of steps */
    uint32_t stalled_comps; /* endpoints whose completions wait for the ring */
    uint32_t flushing; /* endpoints with FLUSH descriptors */
    uint32_t draining; /* links that are being closed: looked at once a turn */
    uint32_t drain_turn; /* the turn in which they were looked at last */
    uint32_t drain_late; /* since that look there was reason for another one */
    uint32_t closing; /* endpoints in NOF_EP_CLOSING */
    uint32_t sends_live; /* not completed yet */
    uint32_t early_whole; /* receives that were granted early and wait for nothing but their receive */
    struct nof_grants grants;
    uint64_t patience_ns, patience_at_ns; /* coll/patience.h */
    uint64_t
        turn_bytes; /* that a run may have announced when it begins the next IN_TURN step (coll/in_turn.h) */
    struct nof_clearance clearance;
    struct nof_gather gather;
    struct nof_read *scratch; /* for reads that are done at once */
    struct nof_segment *segs; /* both lists of the request that is being made */
    struct nof_buf *bufs;
};

static inline struct nof_send *nof_send_at(const struct nof_nic *nic, uint32_t i)
{
    return (struct nof_send *)nic->sends.base + i;
}
static inline struct nof_recv *nof_recv_at(const struct nof_nic *nic, uint32_t i)
{
    return (struct nof_recv *)nic->recvs.base + i;
}
static inline struct nof_env *nof_env_at(const struct nof_nic *nic, uint32_t i)
{
    return (struct nof_env *)nic->envs.base + i;
}
static inline struct nof_peer *nof_peer_at(const struct nof_nic *nic, uint32_t i)
{
    return (struct nof_peer *)nic->peers.base + i;
}
static inline struct nof_read *nof_read_at(const struct nof_nic *nic, uint32_t i)
{
    return (struct nof_read *)nic->reads.base + i;
}
static inline struct nof_write *nof_write_at(const struct nof_nic *nic, uint32_t i)
{
    return (struct nof_write *)nic->writes.base + i;
}
static inline uint32_t nof_send_index(const struct nof_nic *nic, const struct nof_send *s)
{
    return (uint32_t)(s - (struct nof_send *)nic->sends.base);
}
static inline uint32_t nof_recv_index(const struct nof_nic *nic, const struct nof_recv *r)
{
    return (uint32_t)(r - (struct nof_recv *)nic->recvs.base);
}
static inline uint32_t nof_env_index(const struct nof_nic *nic, const struct nof_env *e)
{
    return (uint32_t)(e - (struct nof_env *)nic->envs.base);
}
static inline uint32_t nof_peer_index(const struct nof_nic *nic, const struct nof_peer *p)
{
    return (uint32_t)(p - (struct nof_peer *)nic->peers.base);
}
static inline uint32_t nof_link_index(const struct nof_nic *nic, const struct nof_link *l)
{
    return (uint32_t)(l - nic->links);
}

static inline uint32_t nof_steps_left(const struct nof_nic *nic, struct nof_endpoint *ep)
{
    if (ep->turn != nic->turn) {
        ep->turn = nic->turn;
        ep->steps = NOF_TURN_STEPS;
    }
    return ep->steps;
}

/* nof_steps_left() has been asked in this turn. */
static inline void nof_steps_spend(struct nof_endpoint *ep, uint32_t n)
{
    ep->steps -= n < ep->steps ? n : ep->steps;
}

static inline void nof_count(struct nof_nic *nic, struct nof_endpoint *ep, enum nof_counter c, uint64_t n)
{
    nic->counters[c] += n;
    ep->counters[c] += n;
}

/* Something did not go now for a reason that nobody will announce: poll again soon. */
static inline void nof_retry(struct nof_nic *nic)
{
    if (nic->retry_ns == 0)
        nic->retry_ns = nic->now_ns + NOF_RETRY_NS;
}

#endif
