/* SPDX-License-Identifier: BSD-3-Clause
 *
 * State of the transport, seen by the files of this folder only.
 *
 * Values, which know no path: rtt.h, congestion.h, pacer.h, sentmap.h, reorder.h. Then, each knows those before it:
 *
 *   timers.c       heap of deadlines                tx_queue.c    frames towards the port
 *   unreliable.c   unreliable frames                path.c        table of paths: making, death, tombs
 *   multicast.c    datagrams to many, their acknowledgements
 *   admission.c    what may leave now               transmit.c    frame, send
 *   receive.c      what did not come in order       liveness.c    probes, death by silence
 *   mtu.c          MTU after the handshake          recovery.c    what follows from a loss
 *   ack.c          acknowledgements out and in      handshake.c   HELLO
 *   transport.c    init, rx, poll, flush, deadline
 *
 * A file tells those above it what is to be done by what it returns, or by a time or a flag in the path.
 * Indices, never pointers, link the pools; NOF_NIL ends a list. Nothing here is shared between
 * threads. A path that was touched in a call is in `dirty` until the flush. */
#ifndef NOF_TRANSPORT_STATE_H
#define NOF_TRANSPORT_STATE_H

#include <stdbool.h>

#include "transport/congestion.h"
#include "transport/pacer.h"
#include "transport/packet.h"
#include "transport/reorder.h"
#include "transport/rtt.h"
#include "transport/sentmap.h"
#include "transport/serial.h"
#include "transport/transport.h"

#define NOF_MTU_MIN_BYTES 576u /* RFC 791: what every host takes, if need be in fragments */
#define NOF_TXQ_FRAMES 128u /* gathered in one call, or kept while the port is busy */
#define NOF_TXQ_KEPT (NOF_NIL - 1) /* in place of an entry of the sent map: a group keeps the frame */
#define NOF_TXQ_URGENT 16u /* of these, kept for control frames, retransmissions, acknowledgements */
#define NOF_SENT_SLACK 64u /* sent map entries beyond the configured number, for urgent frames */
#define NOF_URGENT_FRAMES 8u /* frames beyond the congestion window for urgent ones, per path */
#define NOF_TOMBSTONES 64u
static_assert(NOF_TOMBSTONES == NOF_PORT_CONN_DEAD, "the port has a slot for each");
#define NOF_ACK_SLOW_FRAMES 4u /* of a link so slow that they take longer than ack_delay_us, and that: */
#define NOF_ACK_SLOW_NS 500000u /* is how long they may take: half of the least timeout */
#define NOF_ACK_EVERY 16u /* frames that are acknowledged at the latest together */
#define NOF_SPARE_FRAMES 4u
#define NOF_PORT_RETRY_NS 5000u /* port busy or frame pool empty: look again after this */
#define NOF_US 1000u
#define NOF_MS 1000000u

enum nof_path_state {
    NOF_PATH_FREE = 0,
    NOF_PATH_OPENING,
    NOF_PATH_UP,
    NOF_PATH_DEAD, /* waits for on_dead() */
};

struct nof_txq {
    uint32_t count;
    uint32_t to_free; /* of these, unreliable ones and zombies */
    uint64_t since_ns; /* no frame in it was put there before */
    uint32_t sent[NOF_TXQ_FRAMES]; /* NOF_NIL: freed once the port has it */
    struct nof_frame *frame[NOF_TXQ_FRAMES];
};

struct nof_timer {
    uint64_t at_ns;
    uint32_t path;
};

struct nof_tombstone {
    uint64_t conn;
    uint64_t closed_ns; /* last CLOSE sent */
    uint16_t ip_sum;
    uint8_t flags; /* of CLOSE */
    uint8_t head[NOF_PACKET_HEAD_BYTES];
};

/* Who writes which field: tests/lint/writers.txt. */
struct nof_path {
    struct nof_transport *t;
    void *user;
    uint64_t job_id;
    uint64_t peer_nic;
    uint64_t local_conn; /* 0 unless OPENING or UP; its low 16 bits are our index */
    uint64_t nonce;
    uint64_t peer_nonce; /* 0: unknown */

    uint8_t head[NOF_PACKET_HEAD_BYTES];
    uint16_t ip_sum;
    uint16_t mtu_bytes; /* IP MTU towards the peer: under test while OPENING, may grow while UP */
    uint16_t peer_mtu_bytes; /* what the peer can take; 0: unknown */

    uint8_t state;
    bool ours : 1; /* nof_path_open() was called: on_dead() is owed */
    bool starved : 1; /* in the list of those that wait for a resource of the NIC */
    bool waiting : 1; /* silence counts */
    bool bad_key : 1; /* a handshake with another key came */
    bool closed_by_peer : 1;
    bool orderly : 1; /* nobody's death: nof_path_close(), here or there */
    bool inside : 1; /* to another core of our own NIC (its address is ours), which needs no link */
    bool long_more : 1; /* the peer takes a MSG_MORE with longer fields */
    bool dirty;
    bool want_ready : 1;
    bool asking : 1; /* nof_mtu_doubt() waits for the answer to its last probe */
    uint8_t doubts : 2; /* times in a row that the size in use did not pass, though the peer answered */
    bool ack_now;
    bool marked; /* of a frame since the last ACKS that left: a router said that it is congested */
    uint8_t backoff; /* timeouts in a row; OPENING: MTU levels tried */
    uint8_t unanswered; /* probes (UP), HELLOs (OPENING) */

    struct nof_sentmap sent;
    struct nof_reorder reorder;
    union {
        struct nof_rtt rtt; /* UP */
        struct nof_packet_addr
            other; /* OPENING: where another HELLO of the peer's came from; port 0: there was none */
    };
    struct nof_cc cc;

    uint64_t ack_due_ns; /* while ack_pending */
    uint64_t pto_base_ns; /* OPENING: when the only HELLO was sent; UINT64_MAX: several */
    uint64_t live_ns; /* last sign of life, or begin of the wait; OPENING: begin */
    uint64_t probe_at_ns; /* while unanswered > 0; OPENING: next HELLO */

    uint32_t ack_req_bytes; /* sent since we last asked for an acknowledgement */
    uint16_t ack_pending; /* frames not acknowledged yet */
    uint16_t window_frames; /* the smaller of our sent window and the peer's receive window */
    uint32_t flow_msgs, flow_bytes;
    uint32_t expect;

    union {
        uint32_t raise_at_ms; /* UP: try larger sizes when something is acknowledged after this; 0: never */
        int32_t reason; /* DEAD: for on_dead() */
    };
    uint16_t passed_bytes; /* largest size answered since nof_mtu_doubt() asked; 0: none */
    uint16_t asked_ms; /* when that was */
    uint32_t heap_pos; /* plus 1; 0: no timer */
    uint32_t starved_next;
    uint32_t next; /* hash chain, free list or list of the dead */
};
static_assert(sizeof(struct nof_path) <= 328,
              "size of a path; what a silent peer is in all: struct nof_peer");

struct nof_transport {
    struct nof_transport_config cfg;
    struct nof_packet_addr self;
    struct nof_packet_self rx_self;
    struct nof_crc32c_join join; /* for the payload of a full DATA frame */
    uint64_t now_ns;
    uint64_t *counters;
    const uint64_t *features;

    struct nof_path *paths;
    uint32_t max_paths;
    uint32_t window_frames;
    uint32_t high_path; /* places below this were used at least once; those above are not even touched */
    uint32_t free_path;
    uint32_t dead_head;
    uint32_t passive_opening;
    uint32_t *buckets; /* by (job, NIC) */
    uint32_t bucket_mask;

    uint32_t *dirty;
    uint32_t dirty_count;
    uint32_t starved_head, starved_tail;
    uint32_t near_wrap; /* not 0: numbers of packets begin so far before they wrap (tests) */
    bool room_wanted; /* since the last poll somebody has asked for room of the NIC, and there was none */
    bool starved_ready; /* at the last flush: there is room for one who starves, or has asked */

    struct nof_timer *heap;
    uint32_t heap_count;

    struct nof_sent_pool sent;

    struct nof_reorder_pool slots;

    struct nof_txq tx;
    /* Full frames kept back for acknowledgements and HELLOs: if all NICs had all their frames in the
     * sent map, none could tell another that it may free some. */
    uint32_t spare_count;
    struct nof_frame *spare[NOF_SPARE_FRAMES];
    uint64_t tx_retry_ns; /* the port was busy: not before */
    uint64_t alloc_retry_ns; /* the frame pool was empty: not before */

    /* What nof_path_window() found, so that it need not look again for every frame of a burst. */
    struct nof_path *room_path;
    uint32_t room_frames;
    uint32_t queued_bytes; /* put into `tx` and not counted yet */
    uint32_t queued_frames;
    uint32_t paced_bytes; /* of these, what the pacer knows of */
    uint32_t paced_frames;

    struct nof_pacer pacer;

    uint64_t random_counter;
    uint16_t ip_id; /* of the next frame that may go in fragments */
    uint64_t link_down_ns; /* 0: link is up */
    uint64_t late_ns; /* when others of this machine were late; 0: never */
    unsigned sent_in_poll;
    unsigned budget; /* frames that may still be sent again in this call */

    uint32_t tomb_next;
    struct nof_tombstone tomb[NOF_TOMBSTONES];
};

static inline struct nof_path *nof_path_at(const struct nof_transport *t, uint32_t index)
{
    return &t->paths[index];
}

static inline uint32_t nof_path_index(const struct nof_path *p)
{
    return (uint32_t)(p - p->t->paths);
}

/* The time of this call. */
static inline void nof_tick(struct nof_transport *t, uint64_t now_ns)
{
    t->now_ns = now_ns;
    t->room_path = NULL;
}

static inline void nof_transport_count(struct nof_transport *t, enum nof_counter c, uint64_t n)
{
    t->counters[c] += n;
}

/* Probes: 24 in the first dead_after, 32 in each one more. */
#define NOF_EXCUSED_MOST (24u + 4u * 32u)

static inline uint64_t nof_dead_after_ns(const struct nof_transport *t)
{
    return t->features[NOF_F_DEAD_AFTER] * NOF_MS;
}

/* Nothing goes or comes: nobody's silence counts. */
static inline bool nof_path_unplugged(const struct nof_path *p)
{
    return p->t->link_down_ns != 0 && !p->inside;
}

static inline uint32_t nof_path_mss(const struct nof_path *p)
{
    return p->mtu_bytes + 14u;
}

/* What has the MTU that every network has, or is larger than its path has become, goes in fragments if need be. */
static inline void nof_tx_cut(struct nof_transport *t, struct nof_frame *frame)
{
    nof_packet_cut(frame->data, t->ip_id++);
}

void nof_path_dirty(struct nof_path *p); /* out of line half of nof_path_touch() */

static inline void nof_path_touch(struct nof_path *p)
{
    if (!p->dirty)
        nof_path_dirty(p);
}

/* The small steps that every frame takes. */

static inline void nof_live_heard(struct nof_path *p)
{
    p->live_ns = p->t->now_ns;
    p->unanswered = 0;
}

/* The peer is silent for dead_after. Gives it a quarter of that more, if others of this machine, who may be the peer or what
 * is between, were late meanwhile, and that has not been reason for four times dead_after already. */
static inline bool nof_live_excuse(struct nof_path *p)
{
    uint64_t dead_after_ns = nof_dead_after_ns(p->t);

    if (p->t->late_ns <= p->live_ns || p->unanswered > NOF_EXCUSED_MOST)
        return false;
    p->live_ns = p->t->now_ns - dead_after_ns / 4 * 3;
    return true;
}

/* Congestion window now in force, bytes; UINT32_MAX when switched off. */
static inline uint32_t nof_path_cwnd(const struct nof_path *p)
{
    return p->t->features[NOF_F_CONGESTION] == 0 ? UINT32_MAX : nof_cc_window(&p->cc, nof_path_mss(p));
}

static inline struct nof_cc_path nof_path_cc(const struct nof_path *p)
{
    return (struct nof_cc_path){
        .mss_bytes = nof_path_mss(p),
        .window_frames = p->window_frames,
        .frame_ns = p->t->pacer.frame_ns,
        .min_rtt_ns = p->rtt.min_ns,
        .xn = p->sent.next_xn,
        .delivered_xn = p->sent.delivered_xn,
    };
}

/* Tell the pacer what was put into the queue. Within the call in which it was. */
static inline void nof_tx_book(struct nof_transport *t)
{
    nof_pacer_book(&t->pacer, t->queued_bytes - t->paced_bytes, t->queued_frames - t->paced_frames,
                   t->now_ns);
    t->paced_bytes = t->queued_bytes;
    t->paced_frames = t->queued_frames;
}

void nof_tx_queue_push(struct nof_transport *t);

/* False: there was no room; `frame` stays the caller's. With NOF_NIL the caller counts to_free. */
static inline int nof_tx_queue_add(struct nof_transport *t, struct nof_frame *frame, uint32_t sent_index)
{
    struct nof_txq *q = &t->tx;

    if (q->count == NOF_TXQ_FRAMES) {
        nof_tx_queue_push(t);
        if (q->count == NOF_TXQ_FRAMES)
            return false;
    }
    if (q->count == 0)
        q->since_ns = t->now_ns;
    q->sent[q->count] = sent_index;
    q->frame[q->count++] = frame;
    t->queued_bytes += frame->len_bytes;
    t->queued_frames++;
    return true;
}

/* What a frame that we send says of the delay of its acknowledgement. */
static inline uint16_t nof_ack_delay_field(const struct nof_path *p)
{
    uint64_t us;

    /* With a gap the newest packet is not among those that the field ACK covers. */
    if (p->ack_pending == 0 || nof_reorder_gap(&p->reorder))
        return UINT16_MAX;
    us = (p->t->now_ns - p->reorder.newest_ns) / NOF_US;
    return us < UINT16_MAX ? (uint16_t)us : UINT16_MAX;
}

/* How long an acknowledgement may wait. */
static inline uint64_t nof_ack_delay_ns(const struct nof_transport *t)
{
    uint64_t ns = t->features[NOF_F_ACK_DELAY] * NOF_US;
    uint64_t slow_ns = (uint64_t)NOF_ACK_SLOW_FRAMES * t->pacer.frame_ns;

    if (slow_ns > NOF_ACK_SLOW_NS)
        slow_ns = NOF_ACK_SLOW_NS;
    return ns == 0 || ns >= slow_ns ? ns : slow_ns;
}

/* A reliable frame has come. The rules are in ack.c. */
static inline void nof_ack_owe(struct nof_path *p, bool at_once)
{
    if (p->ack_pending == 0)
        p->ack_due_ns = p->t->now_ns + nof_ack_delay_ns(p->t);
    if (++p->ack_pending >= NOF_ACK_EVERY || at_once)
        p->ack_now = true;
}

/* Whoever sent it is to hear of that before more of its window comes. */
static inline void nof_ack_mark(struct nof_path *p)
{
    p->marked = true;
    p->ack_now = true;
}

unsigned nof_tx_admit(struct nof_path *path, bool urgent); /* admission.c */

/* nof_path_window(). What was found a moment ago for this path, less what was sent since, still holds. */
static inline unsigned nof_tx_room(struct nof_path *path, bool urgent)
{
    const struct nof_transport *t = path->t;

    if (t->room_path == path && t->room_frames > 0 && !urgent)
        return t->room_frames;
    return nof_tx_admit(path, urgent);
}

void nof_receive_refused(struct nof_path *p); /* receive.c; it broke the protocol of the layer above */

/* Hand one frame up, in its turn. 0: the path is gone. */
static inline bool nof_receive_deliver(struct nof_path *p, const uint8_t *common, uint32_t len_bytes,
                                       bool lent)
{
    struct nof_transport *t = p->t;
    uint32_t fields = common[NOF_WIRE_FIELDS];
    struct nof_wire_view view = {
        .type = common[NOF_WIRE_TYPE],
        .flags = common[NOF_WIRE_FLAGS] & (uint8_t)~NOF_WIRE_F_ACK_NOW,
        .src_ep = nof_get16(common + NOF_WIRE_SRC_EP),
        .dst_ep = nof_get16(common + NOF_WIRE_DST_EP),
        .fields = common + NOF_WIRE_COMMON_BYTES,
        .fields_bytes = fields,
        .payload = common + NOF_WIRE_COMMON_BYTES + fields,
        .payload_bytes = len_bytes - NOF_WIRE_COMMON_BYTES - fields,
        .user = p->user,
    };

    if (t->cfg.ops->on_frame(t->cfg.up, p, &view, lent) != NOF_OK)
        nof_receive_refused(p);
    return p->state == NOF_PATH_UP;
}

/* timers.c */
void nof_timer_set(struct nof_path *p, uint64_t at_ns); /* NOF_NO_DEADLINE: none */
struct nof_path *
nof_timer_pop(struct nof_transport *t); /* whose time has come, and is set no more; NULL: nobody's */

/* tx_queue.c */
/* Does this entry of the sent map wait for the port? */
bool nof_tx_queue_holds(const struct nof_transport *t, uint32_t sent_index);
/* Of nof_acked.gone and nof_sentmap_clear(): each is freed now, or once the port has it. */
void nof_tx_queue_release(struct nof_transport *t, uint32_t gone);
/* The end: nothing in it will be sent. */
void nof_tx_queue_drop(struct nof_transport *t);

/* unreliable.c */
void nof_tx_stock(struct nof_transport *t);
/* spare: one of those kept back, if there is no other. */
struct nof_frame *nof_tx_alloc(struct nof_transport *t, uint32_t len_bytes, bool spare);
/* Send an unreliable frame of this path: fields are copied. false: there is no frame or no room. */
bool nof_tx_unreliable(struct nof_path *p, uint8_t type, uint8_t flags, const uint8_t *fields,
                       uint32_t fields_bytes, uint32_t pad_bytes);

/* path.c */
void nof_paths_init(struct nof_transport *t);
struct nof_path *nof_path_alloc(struct nof_transport *t, uint64_t job_id, uint64_t peer_nic);
/* Next path of this (job, NIC) after `after` (NULL: the first); NULL at the end. */
struct nof_path *nof_path_find(struct nof_transport *t, uint64_t job_id, uint64_t peer_nic,
                               const struct nof_path *after);
void nof_path_set_peer(struct nof_path *p, const struct nof_packet_addr *to, uint64_t conn);
void nof_path_address(const struct nof_path *p, struct nof_packet_addr *to_out);
void nof_path_bury(struct nof_path *p, int reason, bool tell_peer);
void nof_paths_deliver_dead(struct nof_transport *t);
/* A frame with an id that no live path has. `packet` has not been checked for its CRC. */
void nof_path_unknown(struct nof_transport *t, const struct nof_packet *packet);
/* text, and behind it the peer, by its address and its NIC. level: that of nof_host_ops.log(). */
void nof_path_log(const struct nof_path *p, int level, const char *text);
uint64_t nof_transport_random(struct nof_transport *t);

/* admission.c */
void nof_tx_starve(struct nof_path *p); /* the NIC lacked something: it is told in its turn */
void nof_tx_ready(struct nof_path *p); /* tell it if it waits and may send */
void nof_tx_starved(struct nof_transport *t);
bool nof_tx_awaited_now(struct nof_transport *t); /* there is room, and somebody who waits for it */

/* receive.c */
/* A reliable frame that nof_reorder_next() has refused. */
void nof_receive_reordered(struct nof_path *p, const struct nof_packet *packet);

/* liveness.c */
void nof_live_settle(struct nof_path *p); /* does silence count from now on? */
uint64_t nof_live_deadline(const struct nof_path *p);
void nof_live_timer(struct nof_path *p);

/* mtu.c */
/* The largest MTU below this one that handshakes test; this one itself: none. */
uint16_t nof_mtu_level_below(uint16_t mtu_bytes);
void nof_mtu_settled(struct nof_path *p); /* the handshake is done */
void nof_mtu_raise(struct nof_path *p); /* something was acknowledged, and raise_at_ms is not 0 */
/* The oldest frame, of len_bytes, was sent several times in vain: asks which sizes still pass. */
void nof_mtu_doubt(struct nof_path *p, uint32_t len_bytes);
/* It has come: two doubts of two incidents are not twice in a row. */
void nof_mtu_undoubt(struct nof_path *p);
void nof_mtu_probe_rx(struct nof_path *p, const struct nof_packet *packet); /* answers it */
void nof_mtu_probe_ack_rx(struct nof_path *p, const struct nof_packet *packet);

/* recovery.c */
void nof_recovery_detect(struct nof_path *p); /* something was acknowledged, or loss_at_ns has come */
void nof_recovery_retransmit(struct nof_path *p);
bool nof_recovery_may_retransmit(const struct nof_path *p);
void nof_recovery_timeout(struct nof_path *p); /* retransmission timeout; something is unacknowledged */

/* ack.c */
#define NOF_ACK_DELAY_UNKNOWN UINT64_MAX
/* nwords: little-endian words of a bitmap, bit i for packet ack + 1 + i. What cannot be is ignored. */
void nof_ack_rx(struct nof_path *p, uint32_t ack, const uint8_t *words, uint32_t nwords, uint64_t delay_ns);
bool nof_ack_rx_acks(struct nof_path *p, const struct nof_packet *packet); /* false: its lengths are wrong */
void nof_ack_flush(struct nof_path *p); /* send what is due */

/* handshake.c */
void nof_handshake_timer(struct nof_path *p);
uint64_t nof_handshake_deadline(const struct nof_path *p);
void nof_handshake_rx(struct nof_transport *t, const struct nof_packet *packet);

#endif
