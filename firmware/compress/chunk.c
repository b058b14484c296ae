/* SPDX-License-Identifier: BSD-3-Clause */
#include "compress/chunk.h"

#include "base/invariant.h"
#include "flow/link.h"

void nof_chunk_revoke(struct nof_nic *nic, struct nof_grant *ch, enum nof_grant_state state)
{
    const struct nof_peer *peer = nof_peer_at(nic, ch->peer);
    uint8_t fields[NOF_WIRE_CODEC_END_BYTES] = {[NOF_WIRE_CODEC_END_SLOT] = ch->slot};
    nof_put16(fields + NOF_WIRE_CODEC_END_EPOCH, ch->epoch);
    ch->state = (uint8_t)state;
    ch->revoked_ns = nic->now_ns;
    nof_count(nic, &nic->eps[peer->ep], NOF_C_CODEC_REVOKED, 1);
    nof_link_ctl(nic, &nic->links[peer->link], NOF_WIRE_CODEC_REVOKE, 0, peer->ep, peer->remote_ep, fields,
                 sizeof fields);
}

static int decode(struct nof_grant *ch, const uint8_t *prefix, const uint8_t *chunk, uint32_t n, uint8_t *to,
                  uint32_t *plain_out, struct nof_dfcm_stats *st)
{
    uint8_t kind = prefix[NOF_WIRE_PREFIX_ELEM];
    enum nof_elem elem = (enum nof_elem)(kind & ~NOF_WIRE_PREFIX_RAW);
    if (kind & NOF_WIRE_PREFIX_RAW) {
        *plain_out = n;
        return nof_dfcm_train(ch->predictor, elem, chunk, n, st);
    }
    return nof_dfcm_decode(ch->predictor, elem, chunk, n, to, NOF_DMA_BLOCK_BYTES, plain_out, st);
}

static void count(struct nof_nic *nic, struct nof_grant *ch, uint32_t ep_index,
                  const struct nof_dfcm_stats *st, uint64_t cycles)
{
    struct nof_endpoint *ep = &nic->eps[ep_index];
    ch->cycles += cycles;
    ch->stats.plain_bytes += st->plain_bytes;
    ch->stats.chunk_bytes += st->chunk_bytes;
    ch->stats.coded += st->coded;
    ch->stats.raw += st->raw;
    for (unsigned k = 0; k < NOF_DFCM_CLASSES; k++)
        ch->stats.hits[k] += st->hits[k];
    nof_count(nic, ep, NOF_C_CODEC_RX_PLAIN, st->plain_bytes);
    nof_count(nic, ep, NOF_C_CODEC_RX_BYTES, st->chunk_bytes + NOF_WIRE_PREFIX_BYTES);
    nof_count(nic, ep, NOF_C_CODEC_RX_CHUNKS, st->coded);
    nof_count(nic, ep, NOF_C_CODEC_RX_RAW, st->raw);
    nof_count(nic, ep, NOF_C_CODEC_RX_CYCLES, cycles);
}

/* The predictors are no longer in step, whoever is to blame; what came before is in order. */
static void bad(struct nof_nic *nic, struct nof_grant *ch, const struct nof_peer *peer)
{
    nof_count(nic, &nic->eps[peer->ep], NOF_C_CODEC_BAD, 1);
    if (ch == NULL)
        return;
    ch->stats.bad++;
    if (ch->state == NOF_GRANT_READY)
        nof_chunk_revoke(nic, ch, NOF_GRANT_BROKEN);
    ch->state = NOF_GRANT_BROKEN;
}

int nof_chunk_decode(struct nof_nic *nic, const struct nof_peer *peer, struct nof_grant *ch,
                     const struct nof_wire_view *view, struct nof_wire_view *plain_out)
{
    struct nof_grants *grants = &nic->grants;
    const uint8_t *prefix = view->payload;
    uint32_t plain_bytes = 0;
    *plain_out = *view;
    plain_out->payload_bytes = 0;
    if (ch == NULL || ch->state == NOF_GRANT_BROKEN || view->payload_bytes <= NOF_WIRE_PREFIX_BYTES ||
        ch->slot != prefix[NOF_WIRE_PREFIX_SLOT] || ch->epoch != nof_get16(prefix + NOF_WIRE_PREFIX_EPOCH)) {
        bad(nic, ch, peer);
        return NOF_EPROTO;
    }
    nof_invariant(nof_chunk_room(grants));
    const uint8_t *chunk = prefix + NOF_WIRE_PREFIX_BYTES;
    uint8_t *to = grants->plain + grants->plain_used;
    struct nof_dfcm_stats st = {0};
    uint64_t begin = nic->host_ops->cycles(nic->host);
    int rc = decode(ch, prefix, chunk, view->payload_bytes - NOF_WIRE_PREFIX_BYTES, to, &plain_bytes, &st);
    count(nic, ch, peer->ep, &st, nic->host_ops->cycles(nic->host) - begin);
    if (rc != NOF_OK) {
        bad(nic, ch, peer);
        return rc;
    }
    ch->used_ns = nic->now_ns;
    plain_out->payload_bytes = plain_bytes;
    plain_out->payload = chunk; /* raw, and lent as the frame is */
    if (st.coded > 0) {
        plain_out->payload = to;
        grants->plain_used += plain_bytes;
    }
    return NOF_OK;
}
