/* SPDX-License-Identifier: BSD-3-Clause */
#include "compress/pack.h"

#include "compress/grant.h"
#include "flow/link.h"
#include "msg/read.h"
#include "msg/send.h"

static uint8_t *block_of(const struct nof_nic *nic, const struct nof_read *r)
{
    return nic->grants.raw + (size_t)r->raw * NOF_DMA_BLOCK_BYTES;
}

/* Bytes of the next block: whole words, but at the message's end. */
static uint64_t block_bytes(struct nof_nic *nic, const struct nof_send *s, unsigned *nsegs, uint32_t *cost)
{
    uint64_t n = nof_read_bytes(s);
    if (s->flags & NOF_DESC_F_BOUNCE)
        *nsegs = 0;
    else
        *nsegs = nof_read_segments(nic, s, n, &n, cost);
    if (nof_send_at_byte(s) + n < nof_send_until(s))
        n -= n % nof_dfcm_word_bytes((enum nof_elem)s->elem);
    return n;
}

static enum nof_pump take(struct nof_nic *nic, const struct nof_send *s, uint32_t *read_out,
                          uint32_t *raw_out)
{
    if (nic->eps[s->ep].reads >= NOF_READS_PER_EP)
        return NOF_PUMP_READING;
    *read_out = nof_pool_take(&nic->reads);
    if (*read_out == NOF_NIL)
        return NOF_PUMP_BUSY;
    *raw_out = nof_pool_take(&nic->grants.raws);
    if (*raw_out != NOF_NIL)
        return NOF_PUMP_IDLE;
    nof_pool_give(&nic->reads, *read_out);
    return NOF_PUMP_BUSY;
}

static void fill(const struct nof_nic *nic, const struct nof_peer *peer, const struct nof_send *s,
                 struct nof_read *r, uint32_t raw, uint32_t bytes)
{
    struct nof_obj obj = r->obj;
    bool data = s->state == NOF_SEND_DATA;
    *r = (struct nof_read){.obj = obj,
                           .peer = nof_peer_index(nic, peer),
                           .send = nof_send_index(nic, s),
                           .ep = s->ep,
                           .bytes = bytes,
                           .raw = raw,
                           .offset = nof_send_at_byte(s),
                           .elem = s->elem,
                           .last = nof_send_ends(s, bytes),
                           .ranged = s->delta != 0,
                           .sync = (s->flags & NOF_DESC_F_SYNC) != 0,
                           .first_type = NOF_WIRE_DATA};
    if (!data)
        r->first_type = s->sent == 0 ? NOF_WIRE_MSG : NOF_WIRE_MSG_MORE;
    uint32_t head_bytes = r->first_type == NOF_WIRE_MSG ? NOF_WIRE_MSG_BYTES : NOF_WIRE_MSG_MORE_BYTES;
    nof_read_fields(nic, s, nof_send_at_byte(s), data ? NOF_WIRE_DATA_LAST_BYTES : head_bytes, r->head);
    r->seq = s->seq;
}

/* The bytes on their way into the block: NOF_DMA_DONE, PENDING, or why not. */
static int fetch(struct nof_nic *nic, const struct nof_send *s, uint8_t *block, uint32_t bytes,
                 unsigned nsegs, uint64_t token)
{
    struct nof_buf buf = {.base = block, .len_bytes = bytes};
    if (s->flags & NOF_DESC_F_BOUNCE) {
        memcpy(block, nic->eps[s->ep].bounce + s->addr + s->sent, bytes);
        return NOF_DMA_DONE;
    }
    return nic->host_ops->dma_read(nic->host, s->ep, nic->segs, nof_segments_trim(nic->segs, nsegs, bytes),
                                   &buf, 1, token);
}

static enum nof_pump start(struct nof_nic *nic, struct nof_peer *peer, struct nof_send *s, uint32_t bytes,
                           unsigned nsegs)
{
    uint32_t index = NOF_NIL;
    uint32_t raw = NOF_NIL;
    enum nof_pump state = take(nic, s, &index, &raw);
    if (state != NOF_PUMP_IDLE)
        return state;
    struct nof_read *r = nof_read_at(nic, index);
    fill(nic, peer, s, r, raw, bytes);
    int rc = fetch(nic, s, block_of(nic, r), bytes, nsegs, nof_handle(index, r->obj.gen));
    if (rc == NOF_EAGAIN) {
        nof_pool_give(&nic->grants.raws, raw);
        nof_pool_give(&nic->reads, index);
        return NOF_PUMP_BUSY;
    }
    if (nsegs > 0)
        nof_count(nic, &nic->eps[s->ep], NOF_C_DMA_READS, 1);
    nof_send_taken(s, bytes, r->last);
    nof_read_keep(nic, peer, s, index);
    if (rc == NOF_DMA_PENDING)
        return NOF_PUMP_IDLE;
    nof_read_kept(nic, s, index);
    if (rc == NOF_DMA_DONE && nsegs > 0) {
        nof_count(nic, &nic->eps[s->ep], NOF_C_DMA_READ_BYTES, bytes);
    } else if (rc != NOF_DMA_DONE) {
        nof_count(nic, &nic->eps[s->ep], NOF_C_DMA_FAULTS, 1);
        nof_read_fail(nic, r, rc);
        nof_send_broken(s, rc);
    }
    return NOF_PUMP_IDLE;
}

bool nof_pack_start(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer, struct nof_send *s,
                    uint32_t *bytes, enum nof_pump *rc_out)
{
    unsigned nsegs;
    if (s->len < nic->grants.min_bytes || link->path == NULL || (s->flags & NOF_DESC_F_INLINE))
        return false;
    struct nof_grant *ch = nof_grant_of_send(nic, link, peer, s);
    if (ch == NULL)
        return false;
    uint32_t n = (uint32_t)block_bytes(nic, s, &nsegs, bytes);
    if (n == 0 || !nof_grant_pays(nic, ch, n))
        return false;
    *rc_out = start(nic, peer, s, n, nsegs);
    if (*rc_out == NOF_PUMP_IDLE)
        *bytes += n;
    return true;
}

struct out {
    uint8_t *body;
    uint32_t fields_bytes;
    uint32_t len; /* of the payload */
    uint8_t type;
    uint8_t flags;
};

/* The next bytes of the block, as they are or as a chunk. */
static void put_payload(struct nof_nic *nic, const struct nof_peer *peer, struct nof_read *r, uint32_t room,
                        struct out *o)
{
    const uint8_t *from = block_of(nic, r) + r->raw_pos;
    uint32_t left = r->bytes - r->raw_pos;
    uint32_t word = nof_dfcm_word_bytes((enum nof_elem)r->elem);
    uint32_t off = (uint32_t)((r->offset + r->raw_pos) % word);
    uint8_t *to = o->body + o->fields_bytes;
    uint32_t n = left < room ? left : room;
    struct nof_grant *ch = nof_grant_tx(nic, peer);
    if (ch != NULL && off == 0) {
        o->len = nof_grant_encode(nic, ch, r->elem, from, left, to, room, &n);
        o->flags |= NOF_WIRE_F_CHUNK;
    } else {
        if (ch != NULL && n > word - off) /* from then on by words */
            n = word - off;
        memcpy(to, from, n);
        o->len = n;
    }
    r->raw_pos += n;
}

static void put_fields(const struct nof_read *r, uint64_t offset, struct out *o)
{
    if (o->type == NOF_WIRE_MSG_MORE) {
        nof_put32(o->body + NOF_WIRE_MORE_SEQ, r->seq);
        nof_put32(o->body + NOF_WIRE_MORE_PAD, 0);
        nof_put64(o->body + NOF_WIRE_MORE_OFFSET, offset);
        return;
    }
    memcpy(o->body, r->head, o->fields_bytes);
    if (o->type == NOF_WIRE_DATA)
        nof_put64(o->body + NOF_WIRE_DATA_OFFSET, offset);
}

static void emit_one(struct nof_nic *nic, struct nof_link *link, const struct nof_peer *peer,
                     struct nof_read *r, struct nof_frame *frame, uint8_t *body)
{
    uint32_t body_max = nof_link_body_max(link);
    uint64_t offset = r->offset + r->raw_pos;
    struct out o = {.body = body, .fields_bytes = NOF_WIRE_DATA_BYTES, .type = r->first_type};
    o.flags = r->ranged ? NOF_WIRE_DATA_F_RANGE : 0;
    static_assert(NOF_WIRE_MSG_MORE_BYTES == NOF_WIRE_DATA_BYTES, "one default for both");
    if (o.type == NOF_WIRE_MSG && r->begun)
        o.type = NOF_WIRE_MSG_MORE;
    if (o.type == NOF_WIRE_MSG) {
        o.fields_bytes = NOF_WIRE_MSG_BYTES;
        o.flags |= r->sync ? NOF_WIRE_MSG_F_SYNC : 0;
    }
    r->begun = 1;
    if (r->failed) {
        o.flags |= r->failed;
        r->ended = 1;
    } else if (r->raw_pos < r->bytes) {
        put_payload(nic, peer, r, body_max - o.fields_bytes, &o);
    }
    if (r->raw_pos == r->bytes && !r->last) {
        r->ended = 1;
    } else if (r->raw_pos == r->bytes && NOF_WIRE_DATA_LAST_BYTES + o.len <= body_max) {
        /* The last frame has longer fields; where they do not fit, an empty one follows. */
        memmove(body + NOF_WIRE_DATA_LAST_BYTES, body + o.fields_bytes, o.len);
        o.fields_bytes = NOF_WIRE_DATA_LAST_BYTES;
        o.flags |= NOF_WIRE_DATA_F_LAST;
        r->ended = 1;
    }
    put_fields(r, offset, &o);
    nof_link_send(nic, link, frame, o.type, o.flags, peer->ep, peer->remote_ep, o.fields_bytes,
                  o.fields_bytes + o.len, 0);
}

enum nof_pump nof_pack_emit(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                            struct nof_read *r, unsigned budget, unsigned *frames)
{
    /* bound: frames of one turn; paid by the flow's share of the link */
    while (!r->ended) {
        uint8_t *body;
        if (nof_link_window(nic, link, false) == 0)
            return NOF_PUMP_BLOCKED;
        if (budget-- == 0)
            return NOF_PUMP_MORE;
        struct nof_frame *frame = nof_link_frame(nic, link, nof_link_body_max(link), &body);
        if (frame == NULL)
            return NOF_PUMP_BUSY;
        emit_one(nic, link, peer, r, frame, body);
        (*frames)++;
    }
    return NOF_PUMP_IDLE;
}
