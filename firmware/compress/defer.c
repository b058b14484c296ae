/* SPDX-License-Identifier: BSD-3-Clause */
#include "compress/defer.h"

#include "ahead/early.h"
#include "base/invariant.h"
#include "msg/unexpected.h"

#define RECORD_BYTES 2u /* before each frame's payload: its length */

/* --- packing -------------------------------------------------------------------------------------- */

/* Bytes that the blocks of a stored message hold. */
static uint32_t capacity(const struct nof_stored *st)
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

/* What a chunk says that it stands for; 0: it is none. */
static uint32_t plain_bytes(const struct nof_wire_view *view)
{
    if (view->payload_bytes <= NOF_WIRE_PREFIX_BYTES)
        return 0;
    uint32_t n = view->payload_bytes - NOF_WIRE_PREFIX_BYTES;
    if (view->payload[NOF_WIRE_PREFIX_ELEM] & NOF_WIRE_PREFIX_RAW)
        return n;
    return nof_dfcm_plain_bytes(view->payload + NOF_WIRE_PREFIX_BYTES, n);
}

/* A message begins: will it surely be stored in the envelope store, and not be wanted soon? */
static int takes_first(struct nof_nic *nic, const struct nof_peer *peer, const struct nof_wire_view *view,
                       const struct nof_grant *ch)
{
    struct nof_endpoint *ep = &nic->eps[peer->ep];
    if (view->fields_bytes != NOF_WIRE_MSG_BYTES || (view->flags & NOF_WIRE_F_FAILED) || ep->spilling)
        return 0;
    uint64_t len = nof_get64(view->fields + NOF_WIRE_MSG_LEN);
    uint32_t sync = view->flags & NOF_WIRE_MSG_F_SYNC;
    struct nof_match_key key = {.ep = peer->ep,
                                .ctx = nof_get32(view->fields + NOF_WIRE_MSG_CTX),
                                .source = (int32_t)peer->rank,
                                .tag = (int32_t)nof_get32(view->fields + NOF_WIRE_MSG_TAG)};
    uint32_t stored = peer->rx_seq - peer->rx_msgs_freed;
    if (key.tag < 0 || len > NOF_EAGER_LIMIT ||
        ch->packed_bytes + len > nic->features[NOF_F_DEFERRED_BYTES] ||
        2 * (stored + 1) > peer->rx_msgs_announced - peer->rx_msgs_freed)
        return 0;
    uint64_t room = (uint64_t)nof_netmem_charge(len, sync != 0) * NOF_NETMEM_BLOCK;
    if (room < NOF_STORED_BYTES + RECORD_BYTES + view->payload_bytes)
        return 0;
    return nof_match_posted(nic, ep, &key) == NULL && nof_match_probe(nic, ep, &key) == NULL &&
           nof_early_due(nic, ep, &key) == NOF_STAGE_NEVER;
}

/* More of a message: only if what came before is packed, too. */
static int takes_more(struct nof_nic *nic, const struct nof_peer *peer, const struct nof_wire_view *view)
{
    if (peer->rx_left == 0 || peer->rx_skip || peer->rx_target == NOF_NIL ||
        NOF_REF_KIND(peer->rx_target) != NOF_REF_ENV || (view->flags & NOF_WIRE_F_FAILED))
        return 0;
    const struct nof_stored *st = nof_stored_at(&nic->netmem, NOF_REF_INDEX(peer->rx_target));
    return (st->flags & NOF_STORED_F_PACKED) &&
           st->packed_bytes + RECORD_BYTES + view->payload_bytes <= capacity(st);
}

int nof_defer_takes(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view,
                    struct nof_wire_view *plain_out)
{
    uint64_t when = nic->features[NOF_F_DECODE];
    int wanted = when == NOF_DECODE_NEEDED || (when == NOF_DECODE_AUTO && nic->eps[peer->ep].watch != NULL);
    if (view->type == NOF_WIRE_DATA || !wanted)
        return 0;
    const struct nof_grant *ch = nof_grant_rx(nic, nof_peer_index(nic, peer));
    uint32_t n = plain_bytes(view);
    if (n == 0 || ch == NULL || ch->state == NOF_GRANT_BROKEN ||
        ch->slot != view->payload[NOF_WIRE_PREFIX_SLOT] ||
        ch->epoch != nof_get16(view->payload + NOF_WIRE_PREFIX_EPOCH))
        return 0;
    int takes = view->type == NOF_WIRE_MSG ? takes_first(nic, peer, view, ch) : takes_more(nic, peer, view);
    if (takes) {
        *plain_out = *view;
        plain_out->payload_bytes = n;
    }
    return takes;
}

void nof_defer_append(struct nof_nic *nic, uint32_t chain, uint32_t n)
{
    const struct nof_wire_view *view = nic->grants.deferring;
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    struct nof_grant *ch = nof_grant_rx(nic, st->peer);
    uint8_t head[RECORD_BYTES];
    nof_invariant(ch != NULL && st->packed_bytes + RECORD_BYTES + view->payload_bytes <= capacity(st));
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
    move(nic, chain, st->packed_bytes, head, RECORD_BYTES, 0);
    memcpy(nic->grants.packed, view->payload, view->payload_bytes);
    move(nic, chain, st->packed_bytes + RECORD_BYTES, nic->grants.packed, view->payload_bytes, 0);
    st->packed_bytes += RECORD_BYTES + view->payload_bytes;
    st->arrived += n;
    ch->packed_bytes += n;
    nof_count(nic, &nic->eps[st->ep], NOF_C_DEFERRED_BYTES, n);
}

/* --- decoding ------------------------------------------------------------------------------------- */

/* Decode the records in channels.packed to where the message belongs. NOF_OK or NOF_EPROTO. */
static int decode(struct nof_nic *nic, const struct nof_peer *peer, uint32_t chain, uint32_t packed)
{
    struct nof_grants *grants = &nic->grants;
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    /* bound: records of one message, 64 KiB; paid by the flow's bytes */
    for (uint32_t at = 0; at < packed;) {
        uint32_t n = nof_get16(grants->packed + at);
        uint32_t used = grants->plain_used;
        struct nof_wire_view plain;
        struct nof_wire_view view = {
            .type = NOF_WIRE_MSG_MORE, .payload = grants->packed + at + RECORD_BYTES, .payload_bytes = n};
        if (nof_grant_open_chunk(nic, peer, &view, &plain) != NOF_OK ||
            plain.payload_bytes > st->len - st->arrived)
            return NOF_EPROTO;
        (void)nof_early_append(nic, chain, plain.payload, plain.payload_bytes);
        if (grants->plain_used != used) /* it has been copied; what was lent before lies below, or is gone */
            grants->plain_used = used < grants->plain_used ? used : 0;
        at += RECORD_BYTES + n;
    }
    return NOF_OK;
}

/* It did not decode: whoever asks for it is told. */
static void fail(struct nof_nic *nic, uint32_t chain)
{
    struct nof_env *e = nof_env_at(nic, nof_stored_at(&nic->netmem, chain)->owner);
    e->flags |= NOF_ENV_F_FAILED;
    e->chain = NOF_NIL;
    nof_unexpected_discard(nic, chain);
}

/* The oldest packed message of the channel. NOF_OK, or NOF_EPROTO: its chain is gone. */
static int unpack_head(struct nof_nic *nic, struct nof_grant *ch, int forced)
{
    uint32_t chain = ch->packed_head;
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    const struct nof_peer *peer = nof_peer_at(nic, st->peer);
    const struct nof_wire_view *deferring = nic->grants.deferring;
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
    nic->grants.deferring = NULL;
    ch->unpacking = 1;
    int rc = decode(nic, peer, chain, packed);
    ch->unpacking = 0;
    nic->grants.deferring = deferring;
    if (rc == NOF_OK && st->arrived == arrived)
        return NOF_OK;
    fail(nic, chain);
    return NOF_EPROTO;
}

int nof_defer_open(struct nof_nic *nic, uint32_t chain)
{
    const struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    if (!(st->flags & NOF_STORED_F_PACKED))
        return NOF_OK;
    struct nof_grant *ch = nof_grant_rx(nic, st->peer);
    nof_invariant(ch != NULL);
    /* bound: messages deferred on one channel, 256 KiB in all; paid by the flow's bytes */
    for (;;) {
        uint32_t head = ch->packed_head;
        nof_invariant(head != NOF_NIL);
        int rc = unpack_head(nic, ch, head != chain);
        if (head == chain)
            return rc;
    }
}

void nof_defer_flush(struct nof_nic *nic, struct nof_grant *ch)
{
    if (nic->eps[nof_peer_at(nic, ch->peer)->ep].state == NOF_EP_CLOSING)
        ch->packed_head = NOF_NIL; /* nobody will ask for them, and where they would go is no longer ours */
    /* bound: messages deferred on one channel, 256 KiB in all; paid by the flow's bytes */
    while (ch->packed_head != NOF_NIL)
        (void)unpack_head(nic, ch, 1);
}
