/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/stored.h"

#include "base/invariant.h"
#include "flow/credit.h"
#include "flow/incoming.h"
#include "flow/link.h"
#include "flow/peer.h"
#include "match/expect.h"
#include "msg/granted.h"
#include "msg/taps.h"

uint32_t nof_stored_capacity(const struct nof_stored *st)
{
    return st->blocks * NOF_NETMEM_BLOCK - NOF_STORED_BYTES;
}

/* Copy into (or out of) the blocks, from byte `at` of the payload on. */
static void move(struct nof_nic *nic, uint32_t chain, uint32_t at, uint8_t *bytes, uint32_t n, int out)
{
    /* bound: blocks of one message, 64 KiB; paid by the flow's bytes */
    for (at += NOF_STORED_BYTES; at >= NOF_NETMEM_BLOCK; at -= NOF_NETMEM_BLOCK)
        chain = nic->netmem.next[chain];
    /* bound: bytes of one frame or message, 64 KiB; paid by the flow's bytes */
    while (n > 0) {
        uint8_t *there = nof_netmem_at(&nic->netmem, chain) + at;
        uint32_t piece = NOF_NETMEM_BLOCK - at < n ? NOF_NETMEM_BLOCK - at : n;
        memcpy(out ? bytes : there, out ? there : bytes, piece);
        bytes += piece;
        n -= piece;
        at = 0;
        chain = nic->netmem.next[chain];
    }
}

static void pack(struct nof_nic *nic, uint32_t chain, uint32_t n)
{
    const struct nof_wire_view *view = nic->grants.deferring;
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    struct nof_grant *ch = nof_grant_rx(&nic->grants, st->peer);
    uint8_t head[NOF_RECORD_BYTES];
    nof_invariant(ch != NULL &&
                  st->packed_bytes + NOF_RECORD_BYTES + view->payload_bytes <= nof_stored_capacity(st));
    if (!(st->flags & NOF_STORED_F_PACKED)) {
        st->flags |= NOF_STORED_F_PACKED;
        st->next_packed = NOF_NIL;
        if (ch->packed_head == NOF_NIL)
            ch->packed_head = chain;
        else
            nof_stored_at(&nic->netmem, ch->packed_tail)->next_packed = chain;
        ch->packed_tail = chain;
    }
    nof_put16(head, (uint16_t)view->payload_bytes);
    move(nic, chain, st->packed_bytes, head, NOF_RECORD_BYTES, 0);
    memcpy(nic->grants.packed, view->payload, view->payload_bytes);
    move(nic, chain, st->packed_bytes + NOF_RECORD_BYTES, nic->grants.packed, view->payload_bytes, 0);
    st->packed_bytes += NOF_RECORD_BYTES + view->payload_bytes;
    st->arrived += n;
    ch->packed_bytes += n;
    nof_count(nic, &nic->eps[st->ep], NOF_C_DEFERRED_BYTES, n);
}

/* To where they are readable: a line or blocks. */
static void put_plain(struct nof_nic *nic, uint32_t chain, const uint8_t *data, uint32_t n)
{
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    if (st->line == NOF_NIL) {
        nof_stored_append(&nic->netmem, chain, data, n);
        return;
    }
    memcpy(nof_stage_touch(&nic->eps[st->ep].stage, st->line, st->arrived, n), data, n);
    st->arrived += n;
}

/* Decode the records in grants.packed to where the message belongs. NOF_OK or NOF_EPROTO. */
static int decode(struct nof_nic *nic, const struct nof_peer *peer, struct nof_grant *ch, uint32_t chain,
                  uint32_t packed)
{
    struct nof_grants *grants = &nic->grants;
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    /* bound: records of one message, 64 KiB; paid by the flow's bytes */
    for (uint32_t at = 0; at < packed;) {
        uint32_t n = nof_get16(grants->packed + at);
        uint32_t used = grants->plain_used;
        struct nof_wire_view plain;
        struct nof_wire_view view = {
            .type = NOF_WIRE_MSG_MORE, .payload = grants->packed + at + NOF_RECORD_BYTES, .payload_bytes = n};
        if (nic->taps->decodes(nic, peer, ch, &view, &plain) != NOF_OK ||
            plain.payload_bytes > st->len - st->arrived)
            return NOF_EPROTO;
        put_plain(nic, chain, plain.payload, plain.payload_bytes);
        grants->plain_used = used; /* it has been copied */
        at += NOF_RECORD_BYTES + n;
    }
    return NOF_OK;
}

/* It did not decode: whoever asks for it is told. */
static void fail(struct nof_nic *nic, uint32_t chain)
{
    struct nof_env *e = nof_env_at(nic, nof_stored_at(&nic->netmem, chain)->owner);
    e->flags |= NOF_ENV_F_FAILED;
    e->chain = NOF_NIL;
    nof_stored_discard(nic, chain);
}

/* The oldest packed message of the grant. NOF_OK, or NOF_EPROTO: its chain is gone. */
static int unpack_head(struct nof_nic *nic, struct nof_grant *ch, bool forced)
{
    uint32_t chain = ch->packed_head;
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    const struct nof_peer *peer = nof_peer_at(nic, st->peer);
    uint32_t packed = st->packed_bytes;
    uint32_t arrived = st->arrived;
    ch->packed_head = st->next_packed;
    if (ch->packed_head == NOF_NIL)
        ch->packed_tail = NOF_NIL;
    ch->packed_bytes -= arrived;
    if (forced)
        nof_count(nic, &nic->eps[st->ep], NOF_C_FORCED_DECODE_BYTES, arrived);
    move(nic, chain, 0, nic->grants.packed, packed, 1);
    st->flags &= (uint8_t)~NOF_STORED_F_PACKED;
    st->packed_bytes = 0;
    nof_stored_rewind(&nic->netmem, chain);
    int rc = decode(nic, peer, ch, chain, packed);
    if (rc == NOF_OK && st->arrived == arrived)
        return NOF_OK;
    fail(nic, chain);
    return NOF_EPROTO;
}

int nof_stored_open(struct nof_nic *nic, uint32_t chain)
{
    const struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    if (!(st->flags & NOF_STORED_F_PACKED))
        return NOF_OK;
    struct nof_grant *ch = nof_grant_rx(&nic->grants, st->peer);
    nof_invariant(ch != NULL);
    /* bound: messages deferred on one grant, 256 KiB in all; paid by the flow's bytes */
    for (;;) {
        uint32_t head = ch->packed_head;
        nof_invariant(head != NOF_NIL);
        int rc = unpack_head(nic, ch, head != chain);
        if (head == chain)
            return rc;
    }
}

void nof_stored_flush(struct nof_nic *nic, struct nof_grant *ch)
{
    if (nic->eps[nof_peer_at(nic, ch->peer)->ep].state == NOF_EP_CLOSING)
        ch->packed_head = NOF_NIL; /* nobody will ask for them, and where they would go is no longer ours */
    /* bound: messages deferred on one grant, 256 KiB in all; paid by the flow's bytes */
    while (ch->packed_head != NOF_NIL)
        (void)unpack_head(nic, ch, true);
}

uint32_t nof_stored_begin(struct nof_nic *nic, struct nof_peer *peer, const struct nof_arrival *a,
                          uint8_t owner_kind, uint32_t owner)
{
    uint32_t chain = nof_stored_take(&nic->netmem, a->len, (a->flags & NOF_ENV_F_SYNC) != 0);
    if (chain == NOF_NIL)
        return NOF_NIL;
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    st->owner_kind = owner_kind;
    st->owner = owner;
    st->ep = peer->ep;
    st->peer = nof_peer_index(nic, peer);
    st->ctx = a->key.ctx;
    st->tag = a->key.tag;
    st->handle = a->handle;
    st->flags = a->flags & NOF_ENV_F_SYNC ? NOF_STORED_F_SYNC : 0;
    if (peer->rx_left > 0)
        nof_incoming_goes_to(peer, NOF_REF(NOF_REF_ENV, chain));
    return chain;
}

bool nof_stored_put(struct nof_nic *nic, uint32_t chain, const uint8_t *data, uint32_t n)
{
    if (nic->grants.deferring != NULL) {
        pack(nic, chain, n);
        return true;
    }
    if (nof_stored_open(nic, chain) != NOF_OK)
        return false;
    put_plain(nic, chain, data, n);
    return true;
}

static void forget_line(struct nof_nic *nic, uint32_t chain)
{
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    if (st->line == NOF_NIL)
        return;
    nof_stage_close(&nic->eps[st->ep].stage, st->line);
    st->line = NOF_NIL;
}

void nof_stored_drop(struct nof_nic *nic, uint32_t chain)
{
    struct nof_peer *peer = nof_peer_at(nic, nof_stored_at(&nic->netmem, chain)->peer);
    if (nic->eps[peer->ep].state != NOF_EP_CLOSING && nof_stored_open(nic, chain) != NOF_OK)
        return; /* it has gone that way */
    forget_line(nic, chain);
    nof_credit_free(nic, peer, 0, nof_netmem_free(&nic->netmem, chain));
}

void nof_stored_discard(struct nof_nic *nic, uint32_t chain)
{
    struct nof_peer *peer = nof_peer_at(nic, nof_stored_at(&nic->netmem, chain)->peer);
    nof_incoming_leaves(peer, NOF_REF(NOF_REF_ENV, chain));
    nof_stored_drop(nic, chain);
    nof_link_update_credit(nic, peer);
}

/* Could e, which can be matched, be brought nearer than it is? Where nothing could, nobody asks what is expected. */
void nof_stored_note(struct nof_nic *nic, struct nof_env *e)
{
    int near = e->early != NOF_NIL || e->state != NOF_ENV_STORED;
    if (e->chain != NOF_NIL)
        near = nof_stored_at(&nic->netmem, e->chain)->line != NOF_NIL;
    else if (!(e->flags & NOF_ENV_F_RTS))
        near = 1;
    if (near == !(e->flags & NOF_ENV_F_FAR))
        return;
    e->flags ^= NOF_ENV_F_FAR;
    nic->eps[e->key.ep].far += near ? UINT32_MAX : 1; /* one less, or more */
}

static uint32_t write_back_stored(struct nof_nic *nic, uint32_t chain, const uint8_t *from)
{
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    uint32_t n = st->arrived;
    st->line = NOF_NIL;
    nof_stored_rewind(&nic->netmem, chain);
    nof_stored_append(&nic->netmem, chain, from, n);
    if (st->owner_kind == NOF_STORED_ENV && nof_env_at(nic, st->owner)->state == NOF_ENV_STORED)
        nof_stored_note(nic, nof_env_at(nic, st->owner));
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
        n = r->early ? nof_granted_leave_line(nic, r, from) : write_back_stored(nic, r->chain, from);
    }
    nof_stage_close(&ep->stage, line);
    nof_count(nic, ep, NOF_C_STAGE_EVICTED, 1);
    nof_count(nic, ep, NOF_C_STAGE_EVICTED_BYTES, n);
}

/* A line for this message, if need be in the place of others that are wanted later; or NOF_STAGE_NONE. */
uint32_t nof_stored_line(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_match_key *key,
                         uint32_t network, uint64_t len, uint64_t due)
{
    struct nof_message_id id = nof_expect_id(key);
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

void nof_stored_bring(struct nof_nic *nic, uint32_t chain, uint32_t line)
{
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    bool packed = (st->flags & NOF_STORED_F_PACKED) != 0;
    if (!packed)
        nof_stored_copy(&nic->netmem, chain, nof_stage_touch(&nic->eps[st->ep].stage, line, 0, st->arrived),
                        st->arrived);
    st->line = line;
    if (packed)
        (void)nof_stored_open(nic, chain); /* into the line; if it fails, the line went with it */
}
