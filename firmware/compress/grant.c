/* SPDX-License-Identifier: BSD-3-Clause */
#include "compress/grant.h"

#include "nic.h"

void nof_grants_set(struct nof_nic *nic)
{
    uint64_t mode = nic->features[NOF_F_COMPRESSION];
    bool never = mode == NOF_COMPRESSION_OFF ||
                 (mode == NOF_COMPRESSION_ADAPTIVE && !nof_adaptive_may_pay(nic->cfg.link_rate_bps));
    nic->grants.min_bytes = never ? UINT64_MAX : nic->features[NOF_F_COMPRESSION_MIN];
}

uint8_t nof_grants_log2(const struct nof_nic *nic)
{
    uint64_t wish = nic->features[NOF_F_COMPRESSION_TABLE];
    return (uint8_t)(wish < nic->cfg.predictor_log2 ? wish : nic->cfg.predictor_log2);
}

/* Consecutive numbers, as flows of one endpoint have them, are in different buckets. */
static uint16_t *bucket_of(uint16_t *index, uint32_t peer)
{
    return &index[peer % NOF_PREDICTORS_MAX];
}

void nof_grant_enter(uint16_t *index, struct nof_grant *table, struct nof_grant *ch)
{
    uint16_t *at = bucket_of(index, ch->peer);
    ch->next = *at;
    *at = (uint16_t)(ch - table + 1);
}

void nof_grant_leave(uint16_t *index, struct nof_grant *table, const struct nof_grant *ch)
{
    uint16_t *at = bucket_of(index, ch->peer);
    /* bound: predictors, 256, of flows with like numbers; paid by the flow that had one */
    while (&table[*at - 1] != ch)
        at = &table[*at - 1].next;
    *at = ch->next;
}

static void tell(const struct nof_nic *nic, const struct nof_grant *ch, bool sends,
                 struct nof_grant_info *out)
{
    const struct nof_peer *peer = nof_peer_at(nic, ch->peer);
    uint64_t mode = nic->features[NOF_F_COMPRESSION];
    *out = (struct nof_grant_info){
        .endpoint = peer->ep,
        .peer_rank = peer->rank,
        .sends = sends,
        .on = sends && (mode == NOF_COMPRESSION_ON || (mode == NOF_COMPRESSION_ADAPTIVE && ch->adaptive.on)),
        .table_log2 = ch->table_log2,
        .epoch = ch->epoch,
        .plain_bytes = ch->stats.plain_bytes,
        .wire_bytes = ch->stats.chunk_bytes + (ch->stats.coded + ch->stats.raw) * NOF_WIRE_PREFIX_BYTES,
        .chunks = ch->stats.coded,
        .raw = ch->stats.raw,
        .bad = ch->stats.bad,
        .cycles = ch->cycles};
    static_assert(sizeof out->hits == sizeof ch->stats.hits, "the codec's classes");
    memcpy(out->hits, ch->stats.hits, sizeof out->hits);
}

unsigned nof_nic_grants(const struct nof_nic *nic, struct nof_grant_info *out, unsigned max)
{
    unsigned n = 0;
    for (int sends = 0; sends < 2; sends++) {
        const struct nof_grant *table = sends ? nic->grants.tx : nic->grants.rx;
        /* bound: predictors, 256; paid by nobody: `nof status` asks */
        for (uint32_t i = 0; i < nic->grants.count; i++) {
            if (table[i].state == NOF_GRANT_FREE || table[i].state == NOF_GRANT_ASKING)
                continue;
            if (n < max)
                tell(nic, &table[i], sends, &out[n]);
            n++;
        }
    }
    return n;
}
