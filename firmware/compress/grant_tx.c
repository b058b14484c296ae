/* SPDX-License-Identifier: BSD-3-Clause */
#include "compress/grant.h"

#include "base/invariant.h"
#include "flow/link.h"
#include "nic.h"
#include "flow/peer.h"

#define REFUSAL_NS 5000000u /* an answer may change when somebody else's grant falls idle */

static struct nof_grant *find(const struct nof_nic *nic, uint32_t peer)
{
    return nof_grant_find(nic->grants.tx_index, nic->grants.tx, peer);
}

static void release(struct nof_nic *nic, struct nof_grant *ch)
{
    ch->state = NOF_GRANT_FREE;
    nof_grant_leave(nic->grants.tx_index, nic->grants.tx, ch);
    nic->grants.tx_used--;
    nic->counters[NOF_C_CODEC_PREDICTORS]--;
}

void nof_grant_tx_forget(struct nof_nic *nic, uint32_t peer)
{
    struct nof_grant *ch = find(nic, peer);
    if (ch != NULL)
        release(nic, ch);
    if (nic->grants.refused[peer % NOF_REFUSALS].peer == peer)
        nic->grants.refused[peer % NOF_REFUSALS].until_ns = 0;
}

/* No chunk follows. In order: control frames go before data that has not left, and this one is made before any
 * further frame is encoded. */
static void say_end(struct nof_nic *nic, const struct nof_peer *peer, uint8_t slot, uint16_t epoch)
{
    uint8_t fields[NOF_WIRE_CODEC_END_BYTES] = {[NOF_WIRE_CODEC_END_SLOT] = slot};
    nof_put16(fields + NOF_WIRE_CODEC_END_EPOCH, epoch);
    nof_link_ctl(nic, &nic->links[peer->link], NOF_WIRE_CODEC_END, 0, peer->ep, peer->remote_ep, fields,
                 sizeof fields);
}

static void end(struct nof_nic *nic, struct nof_grant *ch)
{
    say_end(nic, nof_peer_at(nic, ch->peer), ch->slot, ch->epoch);
    release(nic, ch);
}

/* A free entry; else that of the grant which was idle longest, or has waited longest for its answer, if that is long
 * enough. */
static struct nof_grant *take(struct nof_nic *nic)
{
    struct nof_grant *oldest = NULL;
    /* bound: predictors, 256; paid by the flow that asks */
    for (uint32_t i = 0; i < nic->grants.count; i++) {
        struct nof_grant *ch = &nic->grants.tx[i];
        if (ch->state == NOF_GRANT_FREE)
            return ch;
        if (oldest == NULL || ch->used_ns < oldest->used_ns)
            oldest = ch;
    }
    if (oldest == NULL || nic->now_ns - oldest->used_ns < nic->cfg.predictor_idle_ns)
        return NULL;
    if (oldest->state == NOF_GRANT_READY)
        end(nic, oldest);
    else
        release(nic, oldest);
    return oldest;
}

static struct nof_refusal *refusal(struct nof_nic *nic, uint32_t peer)
{
    return &nic->grants.refused[peer % NOF_REFUSALS];
}

static void refuse_until(struct nof_nic *nic, uint32_t peer)
{
    *refusal(nic, peer) = (struct nof_refusal){.peer = peer, .until_ns = nic->now_ns + REFUSAL_NS};
}

static void ask(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer)
{
    uint32_t index = nof_peer_index(nic, peer);
    const struct nof_refusal *no = refusal(nic, index);
    if (peer->codec_asked || (no->peer == index && nic->now_ns < no->until_ns))
        return;
    struct nof_grant *ch = take(nic);
    if (ch == NULL) {
        refuse_until(nic, index);
        return;
    }
    ch->state = NOF_GRANT_ASKING;
    ch->peer = index;
    nof_grant_enter(nic->grants.tx_index, nic->grants.tx, ch);
    ch->used_ns = nic->now_ns;
    peer->codec_asked = 1;
    nic->grants.tx_used++;
    nic->counters[NOF_C_CODEC_PREDICTORS]++;
    uint8_t fields[NOF_WIRE_CODEC_ASK_BYTES] = {
        [NOF_WIRE_CODEC_ASK_FORMAT] = NOF_DFCM_FAST, [NOF_WIRE_CODEC_ASK_LOG2] = nof_grants_log2(nic)};
    nof_link_ctl(nic, link, NOF_WIRE_CODEC_ASK, 0, peer->ep, peer->remote_ep, fields, sizeof fields);
}

static bool adaptive(const struct nof_nic *nic)
{
    return nic->features[NOF_F_COMPRESSION] == NOF_COMPRESSION_ADAPTIVE;
}

static struct nof_grant *granted(const struct nof_nic *nic, const struct nof_peer *peer)
{
    struct nof_grant *ch = find(nic, nof_peer_index(nic, peer));
    return ch != NULL && ch->state == NOF_GRANT_READY ? ch : NULL;
}

struct nof_grant *nof_grant_tx(const struct nof_nic *nic, const struct nof_peer *peer)
{
    struct nof_grant *ch = granted(nic, peer);
    if (ch == NULL || nic->features[NOF_F_COMPRESSION] == NOF_COMPRESSION_OFF)
        return NULL;
    return !adaptive(nic) || nof_adaptive_goes_on(&ch->adaptive) ? ch : NULL;
}

int nof_grant_pays(struct nof_nic *nic, struct nof_grant *ch, uint64_t bytes)
{
    int probe;
    if (!adaptive(nic))
        return 1;
    nof_adaptive_clock(&nic->grants.cost, nic->now_ns, nic->host_ops->cycles(nic->host));
    int pays = nof_adaptive_decide(&ch->adaptive, &nic->grants.cost, nic->cfg.link_rate_bps, bytes, &probe);
    if (probe)
        nic->counters[NOF_C_CODEC_PROBES]++;
    return pays;
}

struct nof_grant *nof_grant_of_send(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                                    const struct nof_send *s)
{
    if (!nof_dfcm_knows((enum nof_elem)s->elem))
        return NULL;
    struct nof_grant *ch = find(nic, nof_peer_index(nic, peer));
    if (ch == NULL)
        ask(nic, link, peer);
    if (ch == NULL || ch->state != NOF_GRANT_READY)
        return NULL;
    return ch;
}

void nof_grant_announced(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                         const struct nof_send *s)
{
    (void)nof_grant_of_send(nic, link, peer, s);
}

int nof_grant_given_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view)
{
    struct nof_grant *ch = find(nic, nof_peer_index(nic, peer));
    if (view->fields_bytes != NOF_WIRE_CODEC_GRANT_BYTES || !peer->codec_asked)
        return NOF_EPROTO;
    peer->codec_asked = 0;
    if (ch == NULL) { /* too late: its place was wanted */
        if (!(view->flags & NOF_WIRE_CODEC_GRANT_F_REFUSED))
            say_end(nic, peer, view->fields[NOF_WIRE_CODEC_GRANT_SLOT],
                    nof_get16(view->fields + NOF_WIRE_CODEC_GRANT_EPOCH));
        return NOF_OK;
    }
    if (view->flags & NOF_WIRE_CODEC_GRANT_F_REFUSED) {
        refuse_until(nic, ch->peer);
        release(nic, ch);
        return NOF_OK;
    }
    uint8_t log2 = view->fields[NOF_WIRE_CODEC_GRANT_LOG2];
    if (log2 < NOF_DFCM_TABLE_LOG2_MIN || log2 > nic->cfg.predictor_log2)
        return NOF_EPROTO;
    ch->predictor = nof_dfcm_place(ch->mem, log2, NOF_DFCM_FAST, nic->grants.kernel);
    ch->state = NOF_GRANT_READY;
    ch->slot = view->fields[NOF_WIRE_CODEC_GRANT_SLOT];
    ch->table_log2 = log2;
    ch->epoch = nof_get16(view->fields + NOF_WIRE_CODEC_GRANT_EPOCH);
    ch->used_ns = nic->now_ns;
    ch->cycles = 0;
    ch->stats = (struct nof_dfcm_stats){0};
    ch->adaptive = (struct nof_adaptive){0};
    return NOF_OK;
}

int nof_grant_revoke_rx(struct nof_nic *nic, const struct nof_peer *peer, const struct nof_wire_view *view)
{
    struct nof_grant *ch = granted(nic, peer);
    if (view->fields_bytes != NOF_WIRE_CODEC_END_BYTES)
        return NOF_EPROTO;
    if (ch == NULL || ch->slot != view->fields[NOF_WIRE_CODEC_END_SLOT] ||
        ch->epoch != nof_get16(view->fields + NOF_WIRE_CODEC_END_EPOCH))
        return NOF_OK; /* our END has crossed it */
    refuse_until(nic, ch->peer);
    end(nic, ch);
    return NOF_OK;
}

static void count(struct nof_nic *nic, struct nof_grant *ch, const struct nof_dfcm_stats *st, uint64_t cycles)
{
    struct nof_endpoint *ep = &nic->eps[nof_peer_at(nic, ch->peer)->ep];
    ch->cycles += cycles;
    ch->stats.plain_bytes += st->plain_bytes;
    ch->stats.chunk_bytes += st->chunk_bytes;
    ch->stats.coded += st->coded;
    ch->stats.raw += st->raw;
    nof_count(nic, ep, NOF_C_CODEC_TX_PLAIN, st->plain_bytes);
    nof_count(nic, ep, NOF_C_CODEC_TX_BYTES, st->chunk_bytes + NOF_WIRE_PREFIX_BYTES);
    nof_count(nic, ep, NOF_C_CODEC_TX_CHUNKS, st->coded);
    nof_count(nic, ep, NOF_C_CODEC_TX_RAW, st->raw);
    nof_count(nic, ep, NOF_C_CODEC_TX_CYCLES, cycles);
    for (unsigned k = 0; k < NOF_DFCM_CLASSES; k++) {
        ch->stats.hits[k] += st->hits[k];
        nof_count(nic, ep, (enum nof_counter)(NOF_C_CODEC_HITS_0 + k), st->hits[k]);
    }
}

uint32_t nof_grant_encode(struct nof_nic *nic, struct nof_grant *ch, uint8_t elem, const uint8_t *in,
                          uint32_t in_bytes, uint8_t *out, uint32_t room, uint32_t *plain_out)
{
    struct nof_dfcm_stats st = {0};
    struct nof_dfcm_chunk chunk;
    uint64_t begin = nic->host_ops->cycles(nic->host);
    int rc = nof_dfcm_encode(ch->predictor, (enum nof_elem)elem, in, in_bytes, out + NOF_WIRE_PREFIX_BYTES,
                             room - NOF_WIRE_PREFIX_BYTES, &chunk, &st);
    nof_invariant(rc == NOF_OK); /* type and capacity were checked */
    uint64_t cycles = nic->host_ops->cycles(nic->host) - begin;
    count(nic, ch, &st, cycles);
    nof_adaptive_measured(&ch->adaptive, &nic->grants.cost, chunk.plain_bytes, chunk.len_bytes, cycles);
    out[NOF_WIRE_PREFIX_SLOT] = ch->slot;
    out[NOF_WIRE_PREFIX_ELEM] = (uint8_t)(elem | (chunk.raw ? NOF_WIRE_PREFIX_RAW : 0));
    nof_put16(out + NOF_WIRE_PREFIX_EPOCH, ch->epoch);
    ch->used_ns = nic->now_ns;
    *plain_out = chunk.plain_bytes;
    return NOF_WIRE_PREFIX_BYTES + chunk.len_bytes;
}
