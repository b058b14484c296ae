/* SPDX-License-Identifier: BSD-3-Clause */
#include "ahead/early.h"

#include "flow/credit.h"
#include "compress/defer.h"
#include "base/invariant.h"
#include "msg/recv.h"
#include "msg/rendezvous.h"
#include "msg/unexpected.h"
#include "msg/write.h"

#define LOOKAHEAD_MAX 64u /* bound of feature lookahead */
#define ROOM_MOST 256u /* receives that a host may have been promised when one is taken here (nic.c) */

/* --- what is expected ----------------------------------------------------------------------------- */

static int is_same(const struct nof_message_id *a, const struct nof_message_id *b)
{
    return a->ctx == b->ctx && a->source == b->source && a->tag == b->tag;
}

static struct nof_message_id id_of(const struct nof_match_key *key)
{
    return (struct nof_message_id){.ctx = key->ctx, .source = key->source, .tag = key->tag};
}

/* The message ids of the next receives, in order. */
static uint32_t foresee(const struct nof_nic *nic, const struct nof_endpoint *ep, struct nof_message_id *ids)
{
    uint64_t most = nic->features[NOF_F_LOOKAHEAD];
    return nof_watch_predict(ep, most < LOOKAHEAD_MAX ? (uint32_t)most : LOOKAHEAD_MAX, ids);
}

/* The n-th message (from 0) with this id that can be matched, or NULL. */
static struct nof_env *nth(struct nof_nic *nic, const struct nof_endpoint *ep,
                           const struct nof_message_id *id, uint32_t n)
{
    struct nof_match_key key = {.ep = ep->index, .ctx = id->ctx, .source = id->source, .tag = id->tag};
    struct nof_env *e = nof_match_find(nic, &key);
    /* bound: lookahead, 64; paid by the endpoint's receives */
    while (e != NULL && n-- > 0)
        e = nof_match_after(nic, e);
    return e;
}

/* The number of the receive that is predicted to take the message that comes with this key behind
 * `before` others that bear it. */
static uint64_t due_of(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_match_key *key,
                       uint32_t before)
{
    struct nof_message_id ids[LOOKAHEAD_MAX];
    struct nof_message_id id = id_of(key);
    uint32_t n = foresee(nic, ep, ids);
    /* bound: lookahead, 64; paid by the endpoint's receives */
    for (uint32_t i = 0; i < n; i++)
        if (is_same(&ids[i], &id) && before-- == 0)
            return ep->receives + i + 1;
    return NOF_STAGE_NEVER;
}

/* Messages with this key that wait already, except one that is in the tables itself. */
static uint32_t waiting_before(struct nof_nic *nic, const struct nof_match_key *key,
                               const struct nof_env *except)
{
    uint32_t n = 0;
    for (const struct nof_env *e = nof_match_find(nic, key); e != NULL && e != except && n < LOOKAHEAD_MAX;
         e = nof_match_after(nic, e))
        n++;
    return n;
}

uint64_t nof_early_due(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_match_key *key)
{
    return nof_early_on(ep) ? due_of(nic, ep, key, waiting_before(nic, key, NULL)) : NOF_STAGE_NEVER;
}

/* Could e, which can be matched, be brought nearer than it is? Where nothing could, nobody asks what is expected. */
static void note(struct nof_nic *nic, struct nof_env *e)
{
    int near = e->early != NOF_NIL || e->state != NOF_ENV_STORED;
    if (e->chain != NOF_NIL)
        near = nof_stored_at(&nic->netmem, e->chain)->line != NOF_NIL;
    else if (!(e->flags & NOF_ENV_F_RTS))
        near = 1;
    if (near == !(e->flags & NOF_ENV_F_FAR))
        return;
    e->flags ^= NOF_ENV_F_FAR;
    nic->eps[e->ep].far += near ? UINT32_MAX : 1; /* one less, or more */
}

/* --- lines ---------------------------------------------------------------------------------------- */

/* Bytes of a granted message go into the blocks that were reserved for it, without gaps. */
static void collect(struct nof_nic *nic, struct nof_recv *r, const uint8_t *data, uint32_t n)
{
    /* bound: bytes of one frame or line; paid by the flow's bytes */
    while (n > 0) {
        if (r->hold_bytes % NOF_NETMEM_BLOCK == 0) {
            uint32_t b = nof_netmem_take(&nic->netmem, 1);
            nof_invariant(b != NOF_NIL && r->used_blocks < r->reserved_blocks);
            r->used_blocks++;
            if (r->hold_bytes == 0)
                r->hold_chain = b;
            else
                nic->netmem.next[r->hold_tail] = b;
            r->hold_tail = b;
        }
        uint32_t at = r->hold_bytes % NOF_NETMEM_BLOCK;
        uint32_t piece = NOF_NETMEM_BLOCK - at < n ? NOF_NETMEM_BLOCK - at : n;
        memcpy(nof_netmem_at(&nic->netmem, r->hold_tail) + at, data, piece);
        r->hold_bytes += piece;
        data += piece;
        n -= piece;
    }
}

static uint32_t write_back_granted(struct nof_nic *nic, struct nof_recv *r, const uint8_t *from)
{
    r->stage_offset = NOF_STAGE_NONE;
    collect(nic, r, from, (uint32_t)r->received);
    return (uint32_t)r->received;
}

static uint32_t write_back_stored(struct nof_nic *nic, uint32_t chain, const uint8_t *from)
{
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    uint32_t n = st->arrived;
    st->line = NOF_NIL;
    nof_stored_rewind(&nic->netmem, chain);
    nof_stored_append(&nic->netmem, chain, from, n);
    if (st->owner_kind == NOF_STORED_ENV && nof_env_at(nic, st->owner)->state == NOF_ENV_STORED)
        note(nic, nof_env_at(nic, st->owner));
    return n;
}

/* The line makes room: its bytes go to the place in network memory that is theirs anyway. */
static void write_back(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t line)
{
    const struct nof_stage_line *l = &ep->stage.line[line];
    const uint8_t *from = ep->stage.area + l->offset;
    uint32_t owner = l->process != NOF_STAGE_NONE ? NOF_REF(NOF_REF_RECV, l->process) : l->network;
    uint32_t n;
    if (NOF_REF_KIND(owner) == NOF_REF_ENV) {
        n = write_back_stored(nic, NOF_REF_INDEX(owner), from);
    } else {
        struct nof_recv *r = nof_recv_at(nic, NOF_REF_INDEX(owner));
        n = r->flags & NOF_RECV_F_EARLY ? write_back_granted(nic, r, from)
                                        : write_back_stored(nic, r->stage_offset, from);
    }
    nof_stage_close(&ep->stage, line);
    nof_count(nic, ep, NOF_C_STAGE_EVICTED, 1);
    nof_count(nic, ep, NOF_C_STAGE_EVICTED_BYTES, n);
}

/* A line for this message, if need be in the place of others that are wanted later; or NOF_STAGE_NONE. */
static uint32_t make_line(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_match_key *key,
                          uint32_t network, uint64_t len, uint64_t due)
{
    struct nof_message_id id = id_of(key);
    uint64_t limit = (uint64_t)ep->stage.granules << ep->stage.granule_shift;
    if (limit > nic->features[NOF_F_STAGE_BYTES])
        limit = nic->features[NOF_F_STAGE_BYTES];
    uint64_t left_over = len & (ep->stage.granule_bytes - 1);
    uint64_t room = left_over == 0 ? len : len + ep->stage.granule_bytes - left_over;
    if (len == 0 || len > limit || room > limit)
        return NOF_STAGE_NONE; /* not even in the place of all others */
    /* bound: lines of the staging area, 64; paid by the endpoint's receives */
    for (;;) {
        uint32_t line = nof_stage_open(&ep->stage, &id, network, (uint32_t)len, due, (uint32_t)limit);
        if (line != NOF_STAGE_NONE) {
            nof_count(nic, ep, NOF_C_STAGE_AHEAD, 1);
            return line;
        }
        line = nof_stage_victim(&ep->stage, (enum nof_stage_policy)nic->features[NOF_F_STAGE_POLICY],
                                ep->receives, due);
        if (line == NOF_STAGE_NONE)
            return NOF_STAGE_NONE;
        write_back(nic, ep, line);
    }
}

/* --- eager messages ------------------------------------------------------------------------------- */

void nof_early_store(struct nof_nic *nic, const struct nof_env *e, uint32_t chain)
{
    struct nof_endpoint *ep = &nic->eps[e->ep];
    uint64_t due = nof_early_due(nic, ep, &e->key);
    if (due == NOF_STAGE_NEVER)
        return;
    uint32_t line = make_line(nic, ep, &e->key, NOF_REF(NOF_REF_ENV, chain), e->len, due);
    nof_stored_at(&nic->netmem, chain)->line = line;
}

int nof_early_append(struct nof_nic *nic, uint32_t chain, const uint8_t *data, uint32_t n)
{
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    if (nic->grants.deferring != NULL) {
        nof_defer_append(nic, chain, n);
        return 1;
    }
    if (nof_defer_open(nic, chain) != NOF_OK)
        return 0;
    if (st->line == NOF_NIL) {
        nof_stored_append(&nic->netmem, chain, data, n);
        return 1;
    }
    memcpy(nof_stage_touch(&nic->eps[st->ep].stage, st->line, st->arrived, n), data, n);
    st->arrived += n;
    return 1;
}

void nof_early_forget(struct nof_nic *nic, uint32_t chain)
{
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    if (st->line == NOF_NIL)
        return;
    nof_stage_close(&nic->eps[st->ep].stage, st->line);
    st->line = NOF_NIL;
}

/* A message that waits in network memory is expected now. */
static void fetch(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_env *e, uint64_t due)
{
    uint32_t line = make_line(nic, ep, &e->key, NOF_REF(NOF_REF_ENV, e->chain), e->len, due);
    if (line == NOF_STAGE_NONE)
        return;
    struct nof_stored *st = nof_stored_at(&nic->netmem, e->chain);
    if (st->flags & NOF_STORED_F_PACKED) {
        st->line = line;
        (void)nof_defer_open(nic, e->chain); /* into the line; if it fails, the line went with it */
        return;
    }
    nof_stored_copy(&nic->netmem, e->chain, nof_stage_touch(&ep->stage, line, 0, st->arrived), st->arrived);
    st->line = line;
}

void nof_early_deliver(struct nof_nic *nic, struct nof_recv *r, uint32_t chain)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    struct nof_peer *peer = nof_peer_at(nic, r->peer);
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    uint32_t line = st->line;
    uint8_t small[NOF_INLINE_BYTES];
    int is_small = r->wanted <= NOF_INLINE_BYTES;
    if (is_small)
        memcpy(small, nof_stage_touch(&ep->stage, line, 0, (uint32_t)r->wanted), (size_t)r->wanted);
    else
        r->stage_offset = nof_stage_give(&ep->stage, line);
    if (is_small)
        nof_stage_close(&ep->stage, line);
    st->line = NOF_NIL;
    nof_credit_free(nic, peer, 0, nof_netmem_free(&nic->netmem, chain));
    nof_count(nic, ep, NOF_C_STAGE_COPIES_AVOIDED, 1);
    if (is_small)
        nof_recv_inline(nic, r, small);
    else
        nof_recv_give_staged(nic, r);
}

/* --- rendezvous ----------------------------------------------------------------------------------- */

/* May another rendezvous of this length be granted before its receive? Its object must be none that a
 * host has been promised, see nof_nic_host_room(). */
static int may_grant(const struct nof_nic *nic, const struct nof_endpoint *ep, const struct nof_env *e)
{
    uint64_t limit = nic->features[NOF_F_EARLY_BYTES];
    uint32_t kept = nic->cfg.max_endpoints * nic->recvs_min + ROOM_MOST;
    return ep->early < NOF_EARLY_MAX && nof_pool_free(&nic->recvs) > kept && e->len > 0 && e->len <= limit &&
           ep->early_bytes <= limit - e->len &&
           (e->flags & (NOF_ENV_F_PARKED | NOF_ENV_F_FAILED | NOF_ENV_F_MATCH_FIRST)) == 0 &&
           !(nof_peer_at(nic, e->peer)->flags & NOF_PEER_F_DEAD);
}

static void grant(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_env *e, uint64_t due)
{
    if (!may_grant(nic, ep, e))
        return;
    struct nof_recv *r = nof_recv_take(nic, ep, NOF_COMP_RECV);
    if (r == NULL)
        return;
    uint32_t i = nof_recv_index(nic, r);
    if (!nof_write_borrow(nic, r, (uint32_t)((e->len + NOF_NETMEM_BLOCK - 1) / NOF_NETMEM_BLOCK))) {
        nof_recv_free(nic, r);
        return;
    }
    r->capacity = e->len;
    nof_recv_matched(nic, r, nof_peer_at(nic, e->peer), &e->key, e->len);
    r->flags = NOF_RECV_F_EARLY;
    r->order = nof_env_index(nic, e);
    r->stage_offset = make_line(nic, ep, &e->key, NOF_REF(NOF_REF_RECV, i), e->len, due);
    e->early = i;
    ep->early++;
    ep->early_bytes += e->len;
    nof_count(nic, ep, NOF_C_STAGE_GRANTED, 1);
    nof_rndv_early(nic, r, e->handle);
}

void nof_early_arrived(struct nof_nic *nic, struct nof_env *e)
{
    struct nof_endpoint *ep = &nic->eps[e->ep];
    if ((e->flags & NOF_ENV_F_RTS) && nof_early_on(ep)) {
        uint64_t due = due_of(nic, ep, &e->key, waiting_before(nic, &e->key, e));
        if (due != NOF_STAGE_NEVER)
            grant(nic, ep, e, due);
    }
    note(nic, e);
}

/* Everything is here, and so is its receive. */
static void finish(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    uint8_t small[NOF_INLINE_BYTES];
    uint32_t n;
    int in_line = r->stage_offset != NOF_STAGE_NONE;
    uint64_t here = r->received;
    r->wanted = here < r->capacity ? here : r->capacity;
    int is_small = r->wanted <= NOF_INLINE_BYTES;
    r->flags &= (uint8_t)~NOF_RECV_F_EARLY;
    if (is_small && in_line) {
        memcpy(small, nof_stage_touch(&ep->stage, r->stage_offset, 0, (uint32_t)r->wanted),
               (size_t)r->wanted);
        nof_stage_close(&ep->stage, r->stage_offset);
    } else if (in_line) {
        r->stage_offset = nof_stage_give(&ep->stage, r->stage_offset);
    } else if (!is_small) {
        r->state = NOF_RECV_STORED;
        r->received = r->wanted;
        r->hold_bytes = 0;
        nof_write_chain(nic, r, r->hold_chain, 0, (uint32_t)r->wanted, 0, NOF_NIL);
        return;
    } else if (r->hold_bytes > 0) {
        if (r->wanted > 0) {
            nof_chain_bufs(&nic->netmem, r->hold_chain, 0, (uint32_t)r->wanted, nic->bufs, 1, &n);
            memcpy(small, nic->bufs[0].base, (size_t)r->wanted);
        }
        r->used_blocks -= nof_netmem_free(&nic->netmem, r->hold_chain);
        r->hold_bytes = 0;
    }
    if (is_small)
        nof_recv_inline(nic, r, small);
    else
        nof_recv_give_staged(nic, r);
}

/* It has its receive now, or none any more. */
static void leave(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    struct nof_env *e = nof_env_at(nic, (uint32_t)r->order);
    ep->early--;
    ep->early_bytes -= e->len;
    e->early = NOF_NIL;
    r->order = NOF_NIL;
    if (r->flags & NOF_RECV_F_ARRIVED)
        nic->early_whole--;
    nof_write_claim(nic, r);
}

void nof_early_bind(struct nof_nic *nic, struct nof_recv *r, struct nof_env *e)
{
    struct nof_recv *g = nof_recv_at(nic, e->early);
    struct nof_endpoint *ep = &nic->eps[e->ep];
    leave(nic, g);
    g->cookie = r->cookie;
    g->addr = r->addr;
    g->capacity = r->capacity;
    g->layout = r->layout;
    nof_recv_free(nic, r);
    if (g->stage_offset != NOF_STAGE_NONE) {
        nof_stage_remap(&ep->stage, g->stage_offset, nof_recv_index(nic, g));
        nof_count(nic, ep, NOF_C_STAGE_COPIES_AVOIDED, 1);
    }
    if (g->flags & NOF_RECV_F_ARRIVED)
        finish(nic, g);
}

void nof_early_data(struct nof_nic *nic, struct nof_recv *r, uint64_t offset, const uint8_t *data, uint32_t n)
{
    if (r->stage_offset != NOF_STAGE_NONE)
        memcpy(nof_stage_touch(&nic->eps[r->ep].stage, r->stage_offset, (uint32_t)offset, n), data, n);
    else
        collect(nic, r, data, n);
    if (!(r->flags & NOF_RECV_F_ARRIVED))
        return;
    nof_recv_unlist(nic, r); /* the sender's death is of no interest any more */
    if (r->order == NOF_NIL)
        finish(nic, r);
    else
        nic->early_whole++;
}

int nof_early_end(struct nof_nic *nic, struct nof_recv *r)
{
    int unbound = r->order != NOF_NIL;
    if (r->stage_offset != NOF_STAGE_NONE)
        nof_stage_close(&nic->eps[r->ep].stage, r->stage_offset);
    else if (r->hold_bytes > 0)
        r->used_blocks -= nof_netmem_free(&nic->netmem, r->hold_chain);
    r->hold_bytes = 0;
    if (unbound) {
        nof_env_at(nic, (uint32_t)r->order)->flags |= NOF_ENV_F_FAILED; /* nothing that could be nearer */
        leave(nic, r);
    }
    r->flags &= (uint8_t)~NOF_RECV_F_EARLY;
    if (unbound) {
        nof_write_unreserve(nic, r);
        nof_recv_free(nic, r);
    }
    return unbound;
}

/* --- the prediction moves on ---------------------------------------------------------------------- */

/* What lies in the envelope itself is as near as can be and not counted. */
void nof_early_found(struct nof_nic *nic, const struct nof_env *e)
{
    struct nof_endpoint *ep = &nic->eps[e->ep];
    int near = e->early != NOF_NIL;
    if (e->chain != NOF_NIL)
        near = nof_stored_at(&nic->netmem, e->chain)->line != NOF_NIL;
    else if (!(e->flags & NOF_ENV_F_RTS))
        return;
    nof_count(nic, ep, near ? NOF_C_STAGE_HITS : NOF_C_STAGE_MISSED, 1);
}

/* A message that waits is predicted to be taken by receive number `due`. */
static void expect(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_env *e, uint64_t due)
{
    uint32_t line = NOF_NIL;
    if (e->chain != NOF_NIL) {
        line = nof_stored_at(&nic->netmem, e->chain)->line;
        if (line == NOF_NIL)
            fetch(nic, ep, e, due);
    } else if (e->early != NOF_NIL) {
        line = nof_recv_at(nic, e->early)->stage_offset;
    } else if (e->flags & NOF_ENV_F_RTS) {
        grant(nic, ep, e, due);
    }
    if (line != NOF_NIL)
        ep->stage.line[line].due = due;
    note(nic, e);
}

void nof_early_ahead(struct nof_nic *nic, struct nof_endpoint *ep)
{
    struct nof_message_id ids[LOOKAHEAD_MAX];
    if (ep->far == 0 || ep->receives == ep->ahead || !nof_early_on(ep))
        return;
    ep->ahead = ep->receives;
    uint32_t n = foresee(nic, ep, ids);
    /* bound: lookahead, 64; paid by the endpoint's receives */
    for (uint32_t i = 0; i < n; i++) {
        uint32_t same = 0;
        /* bound: lookahead, 64; paid by the endpoint's receives */
        for (uint32_t j = 0; j < i; j++)
            same += (uint32_t)is_same(&ids[j], &ids[i]);
        struct nof_env *e = nth(nic, ep, &ids[i], same);
        if (e != NULL)
            expect(nic, ep, e, ep->receives + i + 1);
    }
}
