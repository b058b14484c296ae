/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives: from the RECV, MRECV or PULL descriptor to the completion. (Waiting probes and FLUSH use
 * the same objects, because they need what a receive needs: a place and a completion.)
 *
 *   POSTED -> matched -> payload inline ----------------------------------> complete
 *                     -> STAGE   (pieces copied to a staging slot) --------> complete
 *                     -> DIRECT  (pieces written as they come) ------------> complete
 *                     -> STORED  (pieces collected, then delivered) -------> complete
 *                     -> RNDV    (CTS, DATA, written as it comes) ---------> complete
 *   POSTED -> the host has claimed it: TAKEN, until its CANCEL (recv_claim.h)
 *   any of them, when something fails -> ENDING until no write is under way -> complete */
#ifndef NOF_RECV_H
#define NOF_RECV_H

#include "flow/completion.h"
#include "flow/peer.h"
#include "match/match.h"
#include "match/recv_watch.h"
#include "nic.h"

/* Descriptors of any kind that this endpoint may still submit: each needs at most one object. */
uint32_t nof_recv_room(const struct nof_nic *nic, const struct nof_endpoint *ep);
/* What is there beside what every endpoint can count on. */
uint32_t nof_recv_spare(const struct nof_nic *nic);
/* May this endpoint put one more into the posted table? No: spill. Those that are matched count as well: they may
 * wait for a parked send, which comes back through the ring of its host, and that ring stands still when
 * the other side's receives, matched likewise, have used up its room. */
static inline bool nof_recv_may_post(const struct nof_nic *nic, const struct nof_endpoint *ep)
{
    return nic->recvs.used + nic->promised_recvs < nic->posted_limit ||
           ep->recvs_used - ep->driven_recvs < nic->posted_min;
}

/* May one more of this endpoint wait for a parked send? As above, or within half of what every endpoint is promised,
 * whose other half keeps its ring going. */
static inline bool nof_recv_may_wait(const struct nof_nic *nic, const struct nof_endpoint *ep)
{
    return nof_recv_may_post(nic, ep) || ep->recvs_used - ep->posted_total < nic->recvs_min / 2;
}

/* A fresh object for a descriptor, not posted; NULL: none left. */
static inline struct nof_recv *nof_recv_take(struct nof_nic *nic, struct nof_endpoint *ep, uint8_t opcode)
{
    uint32_t i = nof_pool_take(&nic->recvs);
    if (i == NOF_NIL)
        return NULL;
    struct nof_recv *r = nof_recv_at(nic, i);
    r->state = NOF_RECV_DONE;
    r->marks = 0;
    r->opcode = opcode;
    r->ep = (uint16_t)ep->index;
    r->writes = 0;
    r->peer = NOF_NIL;
    r->layout = NOF_NIL;
    r->len = 0;
    r->allowed = 0;
    r->reserved_blocks = 0;
    r->used_blocks = 0;
    r->special = 0;
    r->write_queue = NOF_NIL;
    r->status = NOF_OK;
    ep->recvs_used++;
    return r;
}

/* Nothing of it may go through a completion: bytes are to be in its buffer. */
static inline bool nof_recv_is_step(const struct nof_recv *r)
{
    return r->opcode == NOF_RECV_STEP;
}

/* Likewise: where they lie is told before its completion. */
static inline bool nof_recv_in_buffer(const struct nof_recv *r)
{
    return nof_recv_is_step(r) || r->delta;
}

static inline void nof_recv_free_at(struct nof_nic *nic, struct nof_recv *r, uint32_t index)
{
    r->state = NOF_RECV_FREE;
    nic->eps[r->ep].recvs_used--;
    nof_pool_put(&nic->recvs, &r->obj, index);
}
static inline void nof_recv_free(struct nof_nic *nic, struct nof_recv *r)
{
    nof_recv_free_at(nic, r, nof_recv_index(nic, r));
}
/* What a step has waited for; the object is free. */
void nof_recv_step_ended(struct nof_nic *nic, struct nof_recv *r, const struct nof_comp *comp);
/* The last word about it; the object is free when the host has heard it. */
static inline void nof_recv_say(struct nof_nic *nic, struct nof_recv *r, const struct nof_comp *comp)
{
    if (nof_recv_is_step(r))
        nof_recv_step_ended(nic, r, comp);
    else if (nof_completion_say(nic, &nic->eps[r->ep], comp))
        nof_recv_free(nic, r);
    else
        nof_completion_keep(nic, &nic->eps[r->ep], comp, NOF_REF(NOF_REF_RECV, nof_recv_index(nic, r)));
}
/* Are pieces written into its buffer straight from the frame? Not where many small pieces of a layout may make that
 * long: those go through network memory, piece by piece as the endpoint has turns. */
static inline bool nof_recv_is_direct(const struct nof_nic *nic, const struct nof_recv *r)
{
    return nic->eps[r->ep].dma_inline && r->layout == NOF_NIL;
}
/* On the list of those that end when r->peer dies. */
static inline void nof_recv_list(struct nof_nic *nic, struct nof_recv *r)
{
    r->listed = 1;
    nof_peer_list(nic, nof_peer_at(nic, r->peer), NOF_REF(NOF_REF_RECV, nof_recv_index(nic, r)), &r->wait);
}
static inline void nof_recv_unlist(struct nof_nic *nic, struct nof_recv *r)
{
    if (!r->listed)
        return;
    r->listed = 0;
    nof_peer_unlist(nic, nof_peer_at(nic, r->peer), &r->wait);
}
/* A posted one waits for a message of this peer; NOF_NIL: of a rank for which there is no room. */
static inline void nof_recv_await(struct nof_nic *nic, struct nof_recv *r, uint32_t peer)
{
    r->peer = peer;
    if (peer != NOF_NIL)
        nof_recv_list(nic, r);
    else
        nic->eps[r->ep].unmet++;
}
/* It does not any more. */
static inline void nof_recv_unawait(struct nof_nic *nic, struct nof_recv *r)
{
    if (r->listed) {
        struct nof_peer *peer = nof_peer_at(nic, r->peer);
        r->listed = 0;
        r->peer = peer->flags & NOF_PEER_F_AWAITED ? NOF_NIL : r->peer;
        nof_peer_unlist(nic, peer, &r->wait);
    } else if (!(r->kind & NOF_MATCH_ANY_SOURCE)) {
        nic->eps[r->ep].unmet--;
    }
}
/* It goes into the matching tables; it is out of them. */
static inline void nof_recv_posted(struct nof_recv *r)
{
    r->state = NOF_RECV_POSTED;
}
static inline void nof_recv_unposted(struct nof_nic *nic, struct nof_recv *r)
{
    nof_recv_unawait(nic, r);
    nic->eps[r->ep].driven_posted -= nof_recv_is_step(r);
    r->state = NOF_RECV_DONE;
}
/* The host may serve it as well; it has, or will. */
static inline void nof_recv_claim(struct nof_recv *r, uint64_t handle)
{
    r->claimed = 1;
    r->claim = handle;
}
static inline void nof_recv_taken(struct nof_recv *r)
{
    r->state = NOF_RECV_TAKEN;
}
/* Into the matching tables, and out again. post: NOF_OK, or why the source is dead. */
int nof_recv_post(struct nof_nic *nic, struct nof_recv *r);
static inline void nof_recv_unpost(struct nof_nic *nic, struct nof_recv *r)
{
    nof_match_unpost(nic, r);
    if (r->kind != 0 && nic->eps[r->ep].watch != NULL)
        nof_watch_gone(nic, &nic->eps[r->ep], nof_recv_index(nic, r));
    nof_recv_unposted(nic, r);
}

/* What becomes of r, one state each. A FLUSH, which waits for the sends that came before it; a SCHED_START, until all its
 * steps are done; a CANCEL, which looks for the receive that it means; a SEND_CANCEL, which asks the receiver. */
static inline void nof_recv_flush(struct nof_recv *r, uint64_t sends)
{
    r->state = NOF_RECV_FLUSH;
    r->sends = sends;
}
static inline void nof_recv_scheduled(struct nof_recv *r)
{
    r->state = NOF_RECV_SCHED;
}
static inline void nof_recv_cookie(struct nof_recv *r, uint64_t cookie)
{
    r->cookie = cookie;
}
static inline void nof_recv_seek(struct nof_recv *r, uint64_t len)
{
    r->state = NOF_RECV_SEEK;
    r->len = len;
}
static inline void nof_recv_question(struct nof_recv *r, uint32_t peer)
{
    r->state = NOF_RECV_CANCEL;
    r->peer = peer;
}
/* The message that is asked about; its sender, or if it is parked the sender's host, knows it by this handle. */
static inline void nof_recv_question_about(struct nof_recv *r, uint32_t ctx, int32_t tag, uint64_t handle,
                                           bool parked)
{
    r->key.ctx = ctx;
    r->key.tag = tag;
    r->remote = handle;
    r->parked = parked != 0;
}
/* Its payload comes by rendezvous, likewise. */
static inline void nof_recv_rendezvous(struct nof_recv *r, uint64_t handle, bool parked)
{
    r->state = NOF_RECV_RNDV;
    r->remote = handle;
    r->parked = parked != 0;
}
/* Its pieces are written as they come: 1, or collected first: 0. */
static inline int nof_recv_pieces(const struct nof_nic *nic, struct nof_recv *r)
{
    int direct = nof_recv_is_direct(nic, r);
    r->state = direct ? NOF_RECV_DIRECT : NOF_RECV_STORED;
    return direct;
}
/* Its payload is a stored message that has not all come. */
static inline void nof_recv_collect(struct nof_recv *r, uint32_t chain)
{
    r->state = NOF_RECV_STORED;
    r->chain = chain;
}

/* Its slot of the endpoint's boards + 1 (msg/delta_slots.h), or 0. */
static inline void nof_recv_delta(struct nof_recv *r, uint8_t slot_and_1)
{
    r->delta = slot_and_1;
}
/* A rendezvous with a delta send, which has these units; 0: with another. */
static inline void nof_recv_units(struct nof_recv *r, uint32_t unit_log2)
{
    r->unit_log2 = (uint8_t)unit_log2;
}
/* Each of its payloads has a place of its own in the message. */
static inline bool nof_recv_is_ranged(const struct nof_recv *r)
{
    return r->unit_log2 != 0;
}
/* A rendezvous whose next byte belongs there; its message ends here, before the length announced. */
static inline void nof_recv_came_to(struct nof_recv *r, uint64_t at)
{
    r->at = at;
}
static inline void nof_recv_shorter(struct nof_recv *r, uint64_t len)
{
    r->len = len;
    if (r->wanted > len)
        r->wanted = len;
}

/* Progress, in bytes: some have come, the last ones have come; all are here and only wait to be written; some have been. */
static inline void nof_recv_came(struct nof_recv *r, uint64_t n)
{
    r->received += n;
}
static inline void nof_recv_arrived(struct nof_recv *r)
{
    r->arrived = 1;
}
static inline void nof_recv_all_here(struct nof_recv *r)
{
    r->state = NOF_RECV_STORED;
    r->received = r->wanted;
    nof_recv_arrived(r);
}
static inline void nof_recv_wrote(struct nof_recv *r, uint64_t n)
{
    r->written += n;
}
/* Of a message of `len` bytes it wants what it has room for. */
static inline void nof_recv_want(struct nof_recv *r, uint64_t len)
{
    r->wanted = len < r->capacity ? len : r->capacity;
}
/* The receive call, or what stands for one, is this. */
static inline void nof_recv_call(struct nof_recv *r, const struct nof_match_key *key, uint64_t cookie,
                                 uint64_t addr, uint64_t capacity, uint32_t layout)
{
    r->key = *key;
    r->cookie = cookie;
    r->addr = addr;
    r->capacity = capacity;
    r->layout = layout;
}

/* It is of a collective on which the ranks must agree (desc.h). */
static inline void nof_recv_agree(struct nof_recv *r, uint8_t agreed)
{
    r->agreed = agreed;
}
/* g goes on in place of r, which has found the message that g was granted for. */
static inline void nof_recv_inherit(struct nof_recv *g, const struct nof_recv *r)
{
    g->status = r->status;
    g->agreed = r->agreed;
}
/* Do a receive and a message say the same of it? */
static inline bool nof_recv_agrees(const struct nof_recv *r, uint8_t agreed)
{
    return r->agreed == agreed || r->agreed == 0 || agreed == 0;
}
/* May the message go through a completion at once, if it fits? */
static inline bool nof_recv_is_plain(const struct nof_recv *r, uint8_t agreed)
{
    return !nof_recv_is_step(r) &&
           ((r->special | agreed) == 0 || (!r->delta && !r->claimed && nof_recv_agrees(r, agreed)));
}

/* Complete without payload. */
void nof_recv_answer(struct nof_nic *nic, struct nof_recv *r, int status);
/* A waiting probe (not posted any more) has found a message. */
void nof_recv_probe_answer(struct nof_nic *nic, struct nof_recv *r, const struct nof_match_key *key,
                           uint64_t len, uint64_t handle);
/* r (not posted any more) has found its message. agreed: what that says of its collective; where r says another, r ends with
 * NOF_EDISAGREE and wants nothing of it. */
void nof_recv_matched(struct nof_nic *nic, struct nof_recv *r, struct nof_peer *peer,
                      const struct nof_match_key *key, uint64_t len, uint8_t agreed);
/* Complete with the payload in the completion; r->wanted <= NOF_INLINE_BYTES. */
void nof_recv_inline(struct nof_nic *nic, struct nof_recv *r, const uint8_t *data);
/* A staging slot for r->wanted bytes: true and state STAGE, or false. */
bool nof_recv_stage(struct nof_nic *nic, struct nof_recv *r);
/* Complete with the payload in the slot at this offset, which is the host's from now on. */
void nof_recv_give_staged(struct nof_nic *nic, struct nof_recv *r, uint32_t offset);
/* n more bytes of a receive in state STAGE; completes with the last. */
void nof_recv_staged(struct nof_nic *nic, struct nof_recv *r, const uint8_t *data, uint32_t n);
/* The last word: `comp` has flags and payload place; everything else is filled here. */
void nof_recv_complete(struct nof_nic *nic, struct nof_recv *r, struct nof_comp *comp);
/* Complete if everything wanted is with the host. */
void nof_recv_progress(struct nof_nic *nic, struct nof_recv *r);
/* End with an error, as soon as no write is under way. abort: the sender is told as well. */
void nof_recv_end(struct nof_nic *nic, struct nof_recv *r, int status);
void nof_recv_abort(struct nof_nic *nic, struct nof_recv *r, int status);
/* A write has ended: complete an ENDING receive after the last. */
void nof_recv_write_ended(struct nof_nic *nic, struct nof_recv *r);

/* The answer to a synchronous eager send. */
void nof_recv_tell_matched(struct nof_nic *nic, struct nof_peer *peer, uint64_t handle);
/* The send of this handle ends at its NIC, too. */
void nof_recv_tell_aborted(struct nof_nic *nic, const struct nof_peer *peer, uint64_t handle, int status);
/* The receive of this flow that a handle from the peer names, or NULL. */
struct nof_recv *nof_recv_by_handle(struct nof_nic *nic, const struct nof_peer *peer, uint64_t handle);

#endif
