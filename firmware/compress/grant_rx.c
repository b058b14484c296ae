/* SPDX-License-Identifier: BSD-3-Clause */
#include "compress/grant.h"

#include "compress/chunk.h"
#include "flow/link.h"
#include "nic.h"
#include "msg/stored.h"

#define REVOKE_PATIENCE 4u /* times dead_after_ms: a peer that lives has answered long since */
/* A grant, and a chunk that does not decode, clear a table: 512 KiB for one small frame. In the long run one grant in
 * GRANT_NS, so that nobody keeps the core busy with that; as many as there are predictors at once. */
#define GRANT_NS 500000u

static void release(struct nof_nic *nic, struct nof_grant *ch)
{
    nof_stored_flush(nic, ch); /* the last chunk of the epoch is decoded while there is a predictor */
    ch->state = NOF_GRANT_FREE;
    nof_grant_leave(nic->grants.rx_index, nic->grants.rx, ch);
    nic->grants.rx_used--;
    nic->counters[NOF_C_CODEC_PREDICTORS]--;
}

/* A predictor for a new grant, or NULL: then one that has been idle is asked back, and whoever asks again finds
 * it free. */
static struct nof_grant *take(struct nof_nic *nic)
{
    uint64_t patience = REVOKE_PATIENCE * nic->features[NOF_F_DEAD_AFTER] * 1000000u;
    struct nof_grant *oldest = NULL;
    bool revoked = false;
    /* bound: predictors, 256; paid by the flow that asks */
    for (uint32_t i = 0; i < nic->grants.count; i++) {
        struct nof_grant *ch = &nic->grants.rx[i];
        if (ch->state == NOF_GRANT_FREE)
            return ch;
        if (ch->state != NOF_GRANT_READY) {
            revoked = true;
            if (nic->now_ns - ch->revoked_ns > patience) {
                release(nic, ch);
                return ch;
            }
        } else if (oldest == NULL || ch->used_ns < oldest->used_ns) {
            oldest = ch;
        }
    }
    if (!revoked && oldest != NULL && nic->now_ns - oldest->used_ns >= nic->cfg.predictor_idle_ns)
        nof_chunk_revoke(nic, oldest, NOF_GRANT_REVOKED);
    return NULL;
}

void nof_grants_stalled(struct nof_nic *nic, uint64_t stalled_ns)
{
    /* bound: predictors, 256; paid by the core that was not scheduled */
    for (uint32_t i = 0; i < nic->grants.count; i++) {
        struct nof_grant *ch = &nic->grants.rx[i];
        uint64_t revoked_ns = ch->revoked_ns + stalled_ns;
        ch->revoked_ns = revoked_ns < nic->now_ns ? revoked_ns : nic->now_ns;
    }
}

/* Is it time for another grant? It is counted then. */
static bool may_grant(struct nof_nic *nic)
{
    uint64_t *due = &nic->grants.grant_due_ns;
    uint64_t ahead = (uint64_t)nic->grants.count * GRANT_NS;
    if (*due < nic->now_ns)
        *due = nic->now_ns;
    if (*due - nic->now_ns >= ahead)
        return false;
    *due += GRANT_NS;
    return true;
}

int nof_grant_ask_rx(struct nof_nic *nic, struct nof_link *link, const struct nof_peer *peer,
                     const struct nof_wire_view *view)
{
    uint32_t index = nof_peer_index(nic, peer);
    uint8_t fields[NOF_WIRE_CODEC_GRANT_BYTES] = {0};
    if (view->fields_bytes != NOF_WIRE_CODEC_ASK_BYTES || !(peer->flags & NOF_PEER_F_RX) ||
        view->fields[NOF_WIRE_CODEC_ASK_LOG2] < NOF_DFCM_TABLE_LOG2_MIN ||
        nof_grant_rx(&nic->grants, index) != NULL)
        return NOF_EPROTO;
    bool speaks = view->fields[NOF_WIRE_CODEC_ASK_FORMAT] == NOF_DFCM_FAST ||
                  view->fields[NOF_WIRE_CODEC_ASK_FORMAT] == NOF_DFCM_PAPER;
    struct nof_grant *ch = NULL;
    if (speaks && nic->features[NOF_F_COMPRESSION] != NOF_COMPRESSION_OFF)
        ch = take(nic);
    if (ch == NULL || !may_grant(nic)) {
        nof_count(nic, &nic->eps[peer->ep], NOF_C_CODEC_REFUSED, 1);
        nof_link_ctl(nic, link, NOF_WIRE_CODEC_GRANT, NOF_WIRE_CODEC_GRANT_F_REFUSED, peer->ep,
                     peer->remote_ep, fields, sizeof fields);
        return NOF_OK;
    }
    uint8_t log2 = nof_grants_log2(nic);
    if (log2 > view->fields[NOF_WIRE_CODEC_ASK_LOG2])
        log2 = view->fields[NOF_WIRE_CODEC_ASK_LOG2];
    void *mem = ch->mem;
    if (++nic->grants.epoch == ch->epoch)
        nic->grants.epoch++; /* the numbers have gone round */
    *ch = (struct nof_grant){
        .peer = index,
        .state = NOF_GRANT_READY,
        .slot = (uint8_t)(ch - nic->grants.rx),
        .table_log2 = log2,
        .epoch = nic->grants.epoch,
        .used_ns = nic->now_ns,
        .predictor = nof_dfcm_place(mem, log2, (enum nof_dfcm_format)view->fields[NOF_WIRE_CODEC_ASK_FORMAT],
                                    nic->grants.kernel),
        .mem = mem,
        .packed_head = NOF_NIL,
        .packed_tail = NOF_NIL};
    nof_grant_enter(nic->grants.rx_index, nic->grants.rx, ch);
    nic->grants.rx_used++;
    nic->counters[NOF_C_CODEC_PREDICTORS]++;
    nof_count(nic, &nic->eps[peer->ep], NOF_C_CODEC_GRANTED, 1);
    fields[NOF_WIRE_CODEC_GRANT_SLOT] = ch->slot;
    fields[NOF_WIRE_CODEC_GRANT_LOG2] = log2;
    nof_put16(fields + NOF_WIRE_CODEC_GRANT_EPOCH, ch->epoch);
    nof_link_ctl(nic, link, NOF_WIRE_CODEC_GRANT, 0, peer->ep, peer->remote_ep, fields, sizeof fields);
    return NOF_OK;
}

int nof_grant_end_rx(struct nof_nic *nic, const struct nof_peer *peer, const struct nof_wire_view *view)
{
    if (view->fields_bytes != NOF_WIRE_CODEC_END_BYTES)
        return NOF_EPROTO;
    struct nof_grant *ch = nof_grant_rx(&nic->grants, nof_peer_index(nic, peer));
    if (ch != NULL && ch->slot == view->fields[NOF_WIRE_CODEC_END_SLOT] &&
        ch->epoch == nof_get16(view->fields + NOF_WIRE_CODEC_END_EPOCH))
        release(nic, ch);
    return NOF_OK;
}

void nof_grant_rx_forget(struct nof_nic *nic, uint32_t peer)
{
    struct nof_grant *ch = nof_grant_rx(&nic->grants, peer);
    if (ch != NULL)
        release(nic, ch);
}

int nof_grant_open_chunk(struct nof_nic *nic, const struct nof_peer *peer, const struct nof_wire_view *view,
                         struct nof_wire_view *plain_out)
{
    struct nof_grant *ch = nof_grant_rx(&nic->grants, nof_peer_index(nic, peer));
    if (ch != NULL)
        nof_stored_flush(nic, ch); /* in the order in which they came */
    return nof_chunk_decode(nic, peer, ch, view, plain_out);
}
