/* SPDX-License-Identifier: BSD-3-Clause */
/* The NIC channel: requests become descriptors, completions end requests.
 *
 *   chan_nic.c      open, close, poll, the bell
 *   chan_comp.c     one handler per kind of completion
 *   chan_delta.c    boards of delta messages
 *   chan_death.c    death of a peer or of the NIC, and telling others of it
 *   chan_group.c    multicast groups
 *   chan_sched.c    programs: collectives that the NIC runs by itself
 *   chan_recv.c     what becomes of receives and probes; cancel
 *   chan_spill.c    what the NIC spilled into the library's matcher
 *   chan_post.c     receives and probes
 *   chan_send.c     sends: window per peer, bounce arena, parked sends
 *   chan_layout.c   datatypes that the NIC walks by itself
 *   chan_area.c     room for layouts and programs on their way to the NIC
 *   chan_place.c    who is on which NIC
 *   chan_peer.c     business cards; who is dead
 *   chan_submit.c   operations under way, the queue behind a full ring
 *
 * Each calls those below it only.
 *
 * Every descriptor that is answered belongs to an *operation*, whose index and generation are the
 * cookie: a late or repeated completion finds a stale generation and is dropped.
 *
 * This header is for these files only; the rest of the library sees chan.h. */
#ifndef NOF_MPI_CHAN_NIC_H
#define NOF_MPI_CHAN_NIC_H

#include "chan/chan.h"
#include "launch/launch.h"
#include "chan/matcher.h"
#include "chan/nic/vain.h"
#include "nof/counters.h"
#include "nof/desc.h"
#include "pmd_driver.h"

/* Small sends handed to the NIC and not yet answered, per peer; the rest waits in the heap, so that
 * one slow peer does not fill the NIC's table of sends. A send for which the peer's NIC has no
 * credit is announced and answered only when its receive is there, which may be after one that
 * still waits here: when nothing is answered for a while, the window doubles. */
#define NOF_CHAN_NIC_WINDOW 64u
#define NOF_CHAN_NIC_WINDOW_STALL_NS (1000u * 1000u)
/* PULLs with the NIC at a time, at most: each may wait for what its sender's program does after another one has ended. */
#define NOF_CHAN_NIC_PULLS 65536u

enum nof_op_phase {
    NOF_OP_FREE,
    NOF_OP_SEND, /* with the NIC, or parked */
    NOF_OP_RECV, /* with the NIC: RECV, MRECV or PULL */
    NOF_OP_PROBE, /* with the NIC */
    NOF_OP_LOCAL, /* receive or waiting probe in the library's matcher */
    NOF_OP_HELD, /* receive or probe that waits for the end of spill mode */
    NOF_OP_ACK, /* tells a synchronous sender that its spilled message was matched */
    NOF_OP_LAYOUT, /* of `type` */
    NOF_OP_FLUSH,
    NOF_OP_SCHED_OPEN, /* of `program`; NULL: it was closed meanwhile */
    NOF_OP_SCHED, /* a run of `program` */
    NOF_OP_GROUP_OPEN, /* of `group`; NULL: it was closed meanwhile */
    NOF_OP_GROUP /* a message of a group */
};

struct nof_chan_nic_op {
    uint32_t index;
    uint32_t generation;
    enum nof_op_phase phase;
    bool windowed; /* counts in its peer's window */
    bool bounced; /* holds `bounce` */
    bool cancel_asked;
    bool parked; /* SEND: only its peer's NIC has its envelope, until it is submitted again: */
    bool granted; /* it may be; a delta send, once it is over */
    bool pulled; /* RECV by PULL: source, tag and length are those of the spilled envelope */
    bool unended; /* PULL: of a parked delta send */
    bool claims; /* RECV, MPROBE that waits: memory may serve it, too; submitted with a word (nof/claim.h) */
    bool
        let_go; /* RECV, PROBE: its request goes on, or went, without the NIC; this waits for the answer to its CANCEL */
    int32_t peer; /* job rank, NOF_ANY_SOURCE */
    uint64_t asked_at; /* PROBE: nof_pmd_unexpected() when it was submitted */
    int32_t tag; /* SEND, PULL */
    uint32_t ctx; /* SEND */
    uint64_t len; /* SEND: bytes; PULL: of the message */
    uint64_t bounce;
    uint64_t
        handle; /* PULL; SEND that is granted: of its receive; SCHED_OPEN: name and generation; let_go: of its word, or 0 */
    uint64_t granted_len; /* SEND that is granted */
    int fail_code; /* a cancel for this reason ends the request with this code */
    uint64_t area; /* LAYOUT, SCHED_OPEN, GROUP_OPEN: the room it holds */
    struct nof_type *type; /* LAYOUT */
    struct nof_chan_program *program; /* SCHED_OPEN, SCHED */
    struct nof_chan_group *group; /* GROUP_OPEN */
    struct nof_request *req; /* NULL: the program does not wait for it any more */
    struct nof_chan_nic_op *next; /* free list; held list; PULLs that wait */
    struct nof_chan_nic_op *next_active;
    struct nof_chan_nic_op *prev_active;
};

struct nof_chan_nic_peer {
    bool known; /* the NIC has its card */
    bool dead; /* or left through MPI_Finalize */
    bool left;
    bool blocked; /* in the list of peers with waiting sends */
    uint32_t in_window;
    uint32_t window; /* NOF_CHAN_NIC_WINDOW, or more while stalled */
    uint64_t stalled_ns; /* the window has been full, without an answer, since then */
    struct nof_request *first; /* sends that wait, in order */
    struct nof_request *last;
    uint32_t nic; /* 1 + the number of its NIC; 0: not asked for yet */
    char *place; /* "pid 12 on host", NULL if not asked for yet */
    bool elsewhere; /* that is another host, over a real network */
    struct nof_chan_nic_peer *next_blocked;
};

/* A message that the NIC gave to the library's matcher. */
struct nof_chan_nic_envelope {
    struct nof_match_entry match; /* first: an entry is its envelope */
    uint64_t len;
    uint64_t handle;
    uint64_t sender_handle; /* what a REVOKE calls it */
    bool remote; /* payload is not here: PULL */
    bool unended; /* remote: it is a parked delta send */
    int status; /* not NOF_OK: the payload is lost */
    bool sync; /* the sender wants to know of the match */
    uint32_t stored; /* bytes in payload */
    uint8_t payload[];
};

struct nof_chan_nic {
    struct nof_pmd *pmd;
    /* In jobs of NOF_CHAN_PLACES_MIN ranks and more: what has been read, a text a block (chan_cards.c). */
    char **cards;
    const struct nof_bar_identity *identity;
    bool nic_dead;
    int nic_dead_code; /* MPI code */
    uint32_t came; /* messages that have come: for receives, or spilled; modulo 2^32 */
    struct nof_chan_nic_peer *peers; /* by job rank */
    uint32_t dead_count; /* without those that left */
    bool closing; /* MPI_Finalize: nobody needs notices any more */
    struct nof_chan_nic_peer *blocked;

    struct nof_chan_nic_op **op_chunks;
    uint32_t op_chunk_count;
    struct nof_chan_nic_op *op_free;
    struct nof_chan_nic_op *active;

    struct nof_desc *queue; /* descriptors behind a full ring: circular, capacity a power of two */
    size_t queue_capacity;
    size_t queue_head;
    size_t queue_count;
    uint64_t queue_left; /* that have gone into the ring, in all */

    uint64_t area_taken; /* of the program area: chan_area.c */

    uint32_t release[NOF_RELEASE_MAX];
    uint32_t release_count;

    bool spill;
    bool spill_ending; /* SPILL_END is with the NIC: receives and probes are held */
    uint64_t spill_retry_ns; /* not before, after EAGAIN */
    uint64_t spill_retry_wait_ns; /* between the last EAGAIN and that */
    uint64_t spills_seen;
    uint64_t nomatches_seen; /* to RECV, and to PROBE and MPROBE that wait */
    struct nof_chan_nic_op *local_probes;
    struct nof_vain vain; /* answers to probes that do not wait */
    uint32_t vain_answers; /* given here since the NIC was asked last */
    struct nof_chan_nic_op *held_first;
    struct nof_chan_nic_op *held_last;
    struct nof_chan_nic_op *pulls_first; /* not yet with the NIC */
    struct nof_chan_nic_op *pulls_last;
    uint32_t pulls_out; /* with the NIC */
    uint32_t pulls_most; /* that may be: fewer after a refusal, one more for each that ends */
    uint64_t pulls_retry_ns; /* when those that wait are tried again; 0: none was refused since one ended */
};

extern struct nof_chan_nic nof_chan_nic __attribute__((visibility("hidden")));

/* Of chan_nic.c. */

/* way: unless it is NIC, with a part of the segment of this host, if there is one; NULL: as feature "channels" says. 0;
 * NOF_LAUNCH_GONE: the daemon has ended; -1; with a sentence in text. */
int nof_chan_nic_attach(const struct nof_launch_job *job, const enum nof_channels *way, char *text,
                        size_t text_bytes);
bool nof_chan_nic_attached(void);
/* After it. Behind it all ranks of the job are attached. */
int nof_chan_nic_open(char *text, size_t text_bytes);
/* Counter of this endpoint by name. 0, or -1 if there is none or no NIC. */
int nof_chan_nic_counter(const char *name, uint64_t *value_out);
/* As nof_pmd_library_counts(); NULL as well without a NIC. */
uint64_t *nof_chan_nic_library_counts(uint32_t n);

/* Of chan_polling.c. */

/* Reads the environment. 0, or -1 and a sentence. */
int nof_chan_nic_polling_open(char *text, size_t text_bytes);
/* As the source's polling(). */
void nof_chan_nic_polling(struct nof_polling_set *set_out);

/* Of chan_cards.c: what the launcher is told of ranks, and says of them. */
#define NOF_CARD_HEX 64

/* Our own, before a fence. 0, or -1. */
int nof_chan_nic_put_card(void);
/* What a rank has published: "<card in hex>:<pid>:<version of the wire>:<host>". 0, or the errno of the launcher's refusal. */
int nof_chan_nic_card_text(int world_rank, char value[NOF_LAUNCH_VALUE_BYTES]);
/* Those of many at a time: first of all, 0, or -1 without memory. */
int nof_chan_nic_cards_open(void);
/* Rank 0, before another fence: 0, or -1. */
int nof_chan_nic_put_cards(void);
/* nof_chan_nic_card_text() from there, behind it. ENOENT: it is not in there. */
int nof_chan_nic_card_together(int world_rank, char value[NOF_LAUNCH_VALUE_BYTES]);

/* Of chan_peer.c. */
int nof_chan_nic_publish_card(char *text, size_t text_bytes);
/* The NIC knows this peer from now on; or the code why it cannot. */
int nof_chan_nic_peer_open(int world_rank);
/* The id of its NIC. 0, or the code why that is not known. */
int nof_chan_nic_peer_id(int world_rank, uint64_t *id_out);
/* "rank 3 (pid 12 on host)" into a static buffer. */
const char *nof_chan_nic_peer_name(int world_rank);
/* The code for an operation that a dead peer ended. */
int nof_chan_nic_dead_code(int world_rank);
/* The code for any other failed status. */
int nof_chan_nic_status_code(int status, int world_rank);
/* Of a collective that failed at that rank. */
int nof_chan_nic_failure_code(int status, int world_rank);

/* Of chan_place.c. */

/* Behind the cards; and behind it, where there are two ranks or more, whatever any of them did before is done. */
int nof_chan_nic_publish_places(char *text, size_t text_bytes);
/* As the channel's nic_of(). */
int nof_chan_nic_place_of(int world_rank, uint32_t *nic_out);

/* As the channel's dead_member(). */
int nof_chan_nic_dead_member(struct nof_comm *comm);

/* Of chan_death.c. */

/* Post the receive for notices. */
void nof_chan_nic_notice_start(void);
/* status NOF_OK: it left in order, which ends only what names it. */
void nof_chan_nic_peer_died(int world_rank, int status);
/* The NIC is gone: everything under way ends with an error that says so. */
void nof_chan_nic_died(const char *why);

/* Of chan_submit.c. */
struct nof_chan_nic_op *nof_chan_nic_op_new(enum nof_op_phase phase, struct nof_request *req);
void nof_chan_nic_op_free(struct nof_chan_nic_op *op);
struct nof_chan_nic_op *nof_chan_nic_op_of(uint64_t cookie);
uint64_t nof_chan_nic_cookie(const struct nof_chan_nic_op *op);
/* Into the ring, or into the queue behind it. */
void nof_chan_nic_submit(const struct nof_desc *desc);
/* Move queued descriptors into the ring. */
void nof_chan_nic_submit_queued(void);
/* Give a staging slot back, with others. */
void nof_chan_nic_release_staged(uint32_t offset);
void nof_chan_nic_release_flush(void);

/* Of chan_send.c. */
void nof_chan_nic_send(struct nof_request *req);
void nof_chan_nic_send_cancel(struct nof_request *req);
/* Cancel all that were handed over, but for the library's own barrier. */
void nof_chan_nic_send_withdraw(void);
void nof_chan_nic_send_done(struct nof_chan_nic_op *op, const struct nof_comp *comp);
void nof_chan_nic_send_granted(struct nof_chan_nic_op *op, const struct nof_comp *comp);
void nof_chan_nic_send_cancelled(struct nof_chan_nic_op *op, int status);
void nof_chan_nic_send_parked(struct nof_chan_nic_op *op);
/* A delta send that was parked is over. */
void nof_chan_nic_send_ended(void);
/* A parked send whose peer is gone: the NIC has forgotten it, and will never say so. */
void nof_chan_nic_send_lost(struct nof_chan_nic_op *op, int code);
/* Hand over what windows allow. */
void nof_chan_nic_send_pump(void);
void nof_chan_nic_send_fail_waiting(struct nof_chan_nic_peer *peer, int code);

/* Of chan_post.c. */
void nof_chan_nic_post_recv(struct nof_request *req);
/* One that does not wait moves what can move first: who asks again and again calls nothing else. post_probe(): that has been done. */
void nof_chan_nic_probe(struct nof_request *req);
void nof_chan_nic_post_probe(struct nof_request *req);
/* The same for one from any source that stands in nof_chan_claims.memory already, or among the probes of memory: whoever has a message
 * first serves it. What fails it leaves nowhere. */
void nof_chan_nic_post_beside_memory(struct nof_request *req);
/* Submit what is held, as far as it may go: a word is free, or spill mode has ended. */
void nof_chan_nic_release_held(void);
/* Receive a message that the NIC holds for MPI_Mprobe. */
void nof_chan_nic_post_message(struct nof_request *req, const struct nof_message *message);
/* The next receive comes from this place; of no use, and no harm, when it does not. */
void nof_chan_nic_hint(uint64_t callsite);
/* Submit an operation (again). */
void nof_chan_nic_submit_recv(struct nof_chan_nic_op *op);
void nof_chan_nic_submit_probe(struct nof_chan_nic_op *op);
int32_t nof_chan_nic_wanted_tag(const struct nof_request *req);
struct nof_vain_question nof_chan_nic_question(const struct nof_request *req, int32_t source);
/* Why a receive or probe that no message here fits would never end: somebody died. MPI_SUCCESS: it may. */
int nof_chan_nic_lost_code(const struct nof_request *req, int32_t source);

/* Of chan_recv.c. */
void nof_chan_nic_recv(struct nof_request *req);
void nof_chan_nic_cancel(struct nof_request *req);
bool nof_chan_nic_cancelling(const struct nof_request *req);
void nof_chan_nic_recv_done(struct nof_chan_nic_op *op, const struct nof_comp *comp);
void nof_chan_nic_probe_done(struct nof_chan_nic_op *op, const struct nof_comp *comp);
void nof_chan_nic_cancel_done(struct nof_chan_nic_op *op, int status);
/* Of one beside memory, which is in no store any more and whose claim, if it has one, the host has won: its request is the caller's.
 * message: memory has one of `peer` with `tag` for it; else nobody will serve it. */
void nof_chan_nic_let_go(struct nof_chan_nic_op *op, bool message, int32_t peer, int32_t tag);
/* End a receive or probe in whatever phase it is with this code (a CANCEL first if need be). */
void nof_chan_nic_recv_fail(struct nof_chan_nic_op *op, int code);

/* Of chan_layout.c. */
void nof_chan_nic_commit(struct nof_type *type);
bool nof_chan_nic_streams(const struct nof_type *type, size_t bytes);
void nof_chan_nic_layout_done(struct nof_chan_nic_op *op, int status);
/* Where the request's bytes lie in the program's memory, into a descriptor. */
void nof_chan_nic_place(struct nof_desc *desc, const struct nof_request *req);

/* Of chan_sched.c. */
extern const struct nof_chan_programs nof_chan_nic_programs __attribute__((visibility("hidden")));
void nof_chan_nic_tell_failure(int to, const struct nof_chan_failure *failure);
uint32_t nof_chan_nic_coll_patience_ms(void);
uint32_t nof_chan_nic_away_ms(void);
bool nof_chan_nic_heard(void);
void nof_chan_nic_sched_opened(struct nof_chan_nic_op *op, int status);
void nof_chan_nic_sched_asked(struct nof_chan_nic_op *op, const struct nof_comp *comp);
void nof_chan_nic_sched_done(struct nof_chan_nic_op *op, const struct nof_comp *comp);
/* Of a run: whom it has messages of, as far as the host knows, onto the board. */
void nof_chan_nic_sched_describe(const struct nof_chan_nic_op *op);
/* The NIC is gone. */
void nof_chan_nic_sched_lost(struct nof_chan_nic_op *op, int code);

/* Of chan_group.c. */
extern const struct nof_chan_groups nof_chan_nic_groups __attribute__((visibility("hidden")));
/* A request with a group in `multicast`; its end, and that of the group, before its time; what the NIC says. */
void nof_chan_nic_group_transfer(struct nof_request *req);
void nof_chan_nic_group_cancel(struct nof_request *req);
void nof_chan_nic_group_complete(struct nof_chan_nic_op *op, const struct nof_comp *comp);
/* The NIC is gone. */
void nof_chan_nic_group_lost(struct nof_chan_nic_op *op);

/* Of chan_delta.c. */
extern const struct nof_delta_board nof_chan_nic_delta __attribute__((visibility("hidden")));
/* A request with a slot, into its descriptor, which says where its bytes lie. */
void nof_chan_nic_place_delta(struct nof_desc *desc, const struct nof_request *req);

/* Of chan_area.c. */

/* All there is. */
size_t nof_chan_nic_area_bytes(void);
/* Room until it is given back; 0: not now. */
uint64_t nof_chan_nic_area_take(size_t bytes);
/* From the begin of the program area. */
size_t nof_chan_nic_area_offset(uint64_t taken);
void nof_chan_nic_area_give(uint64_t taken);

/* Of chan_spill.c. */
void nof_chan_nic_spilled(const struct nof_comp *comp);
/* Its sender wants a spilled message back. */
void nof_chan_nic_revoke(const struct nof_comp *comp);
/* RECV or PROBE answered NOMATCH: it lives in the library's matcher from now on. */
void nof_chan_nic_local_recv(struct nof_chan_nic_op *op);
void nof_chan_nic_local_probe(struct nof_chan_nic_op *op);
/* Take it out of the matcher or the list it is in. */
void nof_chan_nic_local_remove(struct nof_chan_nic_op *op);
/* Receive a spilled envelope that is in no list any more. */
void nof_chan_nic_consume(struct nof_request *req, struct nof_chan_nic_envelope *envelope);
/* One that was pulled has ended: the next may go. */
void nof_chan_nic_pull_done(void);
/* The NIC has no room for one that waits for a parked send (NOF_EAGAIN): it goes again when another has ended, or later. */
void nof_chan_nic_pull_refused(struct nof_chan_nic_op *op);
/* On each turn while any waits. */
void nof_chan_nic_pull_check(void);
void nof_chan_nic_spill_end_done(int status);
/* Leave spill mode when nothing is left in the matcher. */
void nof_chan_nic_spill_check(void);
/* How long a sleeping rank may leave the question of its end unasked; UINT64_MAX: there is none. */
uint64_t nof_chan_nic_spill_nap_ns(void);

/* Of chan_comp.c. */
void nof_chan_nic_complete(const struct nof_comp *comp);

#endif
