/* SPDX-License-Identifier: BSD-3-Clause */
#include "compress/defer.h"

#include "match/expect.h"
#include "match/match.h"
#include "msg/stored.h"

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
static bool takes_first(struct nof_nic *nic, const struct nof_peer *peer, const struct nof_wire_view *view,
                        const struct nof_grant *ch)
{
    struct nof_endpoint *ep = &nic->eps[peer->ep];
    if (view->fields_bytes != NOF_WIRE_MSG_BYTES || (view->flags & NOF_WIRE_F_FAILED) || ep->spilling)
        return false;
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
        return false;
    uint64_t room = (uint64_t)nof_netmem_charge(len, sync != 0) * NOF_NETMEM_BLOCK;
    if (room < NOF_STORED_BYTES + NOF_RECORD_BYTES + view->payload_bytes)
        return false;
    return nof_match_posted(nic, ep, &key) == NULL && nof_match_probe(nic, ep, &key) == NULL &&
           nof_expect_due(nic, ep, &key, NULL) == NOF_STAGE_NEVER;
}

/* More of a message: only if what came before is packed, too. */
static bool takes_more(struct nof_nic *nic, const struct nof_peer *peer, const struct nof_wire_view *view)
{
    if (peer->rx_left == 0 || peer->rx_skip || peer->rx_target == NOF_NIL ||
        NOF_REF_KIND(peer->rx_target) != NOF_REF_ENV || (view->flags & NOF_WIRE_F_FAILED))
        return false;
    const struct nof_stored *st = nof_stored_at(&nic->netmem, NOF_REF_INDEX(peer->rx_target));
    return (st->flags & NOF_STORED_F_PACKED) &&
           st->packed_bytes + NOF_RECORD_BYTES + view->payload_bytes <= nof_stored_capacity(st);
}

int nof_defer_takes(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view,
                    struct nof_wire_view *plain_out)
{
    uint64_t when = nic->features[NOF_F_DECODE];
    bool wanted = when == NOF_DECODE_NEEDED || (when == NOF_DECODE_AUTO && nic->eps[peer->ep].watch != NULL);
    if (view->type == NOF_WIRE_DATA || !wanted)
        return 0;
    const struct nof_grant *ch = nof_grant_rx(&nic->grants, nof_peer_index(nic, peer));
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
