/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/read.h"

#include "flow/link.h"
#include "msg/send.h"

struct piece {
    uint32_t fields_bytes;
    uint32_t payload_bytes;
};

static uint32_t least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

/* The most that a frame of an eager message has, so that all of them are alike. Frames of one size leave as one run where a
 * kernel cuts them (docs/decisions/0066), and there are no more of them than if all but the last were full. */
static uint32_t even_body(const struct nof_send *s, uint32_t body_max)
{
    uint32_t more = NOF_WIRE_MSG_MORE_BYTES, room = body_max - more;
    uint32_t bytes = (uint32_t)s->len + NOF_WIRE_MSG_BYTES - more;
    if (bytes <= room)
        return body_max;
    uint32_t n = (bytes + room - 1) / room;
    return (bytes + n - 1) / n + more;
}

/* The frame that carries the message from byte `offset` on, behind `before` bytes of this read; limit: bytes that may be taken
 * now. */
static struct piece plan(const struct nof_send *s, uint64_t offset, uint64_t before, uint64_t limit,
                         uint32_t body_max, bool even)
{
    if (s->state != NOF_SEND_DATA) {
        uint32_t fields = offset == 0 ? NOF_WIRE_MSG_BYTES : NOF_WIRE_MSG_MORE_BYTES;
        struct piece p = {fields, least(limit, body_max - fields)};
        if (even && offset > 0 && offset + p.payload_bytes == s->len &&
            body_max - fields - p.payload_bytes < NOF_READ_FRAMES)
            p.fields_bytes = body_max - p.payload_bytes;
        return p;
    }
    uint64_t rest = s->wanted - s->sent - before;
    if (s->delta && !s->ended)
        rest = UINT64_MAX; /* nothing of it is the last */
    if (rest <= limit && rest <= body_max - NOF_WIRE_DATA_LAST_BYTES)
        return (struct piece){NOF_WIRE_DATA_LAST_BYTES, (uint32_t)rest};
    uint32_t room = body_max - NOF_WIRE_DATA_BYTES;
    if (room >= rest) /* all but the room of the longer fields of the last frame */
        room = body_max - NOF_WIRE_DATA_LAST_BYTES;
    return (struct piece){NOF_WIRE_DATA_BYTES, least(limit, room)};
}

void nof_read_fields(const struct nof_nic *nic, const struct nof_send *s, uint64_t offset,
                     uint32_t fields_bytes, uint8_t *at)
{
    if (s->state == NOF_SEND_DATA) {
        nof_put64(at + NOF_WIRE_DATA_RECEIVER, s->remote);
        nof_put64(at + NOF_WIRE_DATA_OFFSET, offset);
        if (fields_bytes == NOF_WIRE_DATA_LAST_BYTES)
            nof_put64(at + NOF_WIRE_DATA_LEN, s->len);
    } else if (offset == 0) {
        uint64_t handle = 0;
        if (s->flags & NOF_DESC_F_SYNC)
            handle = nof_handle(nof_send_index(nic, s), s->obj.gen) | NOF_HANDLE_SYNC;
        nof_put32(at + NOF_WIRE_MSG_CTX, s->ctx);
        nof_put32(at + NOF_WIRE_MSG_TAG, (uint32_t)s->tag);
        nof_put64(at + NOF_WIRE_MSG_LEN, s->len);
        nof_put32(at + NOF_WIRE_MSG_SEQ, s->seq);
        nof_put32(at + NOF_WIRE_MSG_ELEM, s->elem | (uint32_t)s->agreed << 8);
        nof_put64(at + NOF_WIRE_MSG_HANDLE, handle);
    } else {
        nof_put32(at + NOF_WIRE_MORE_SEQ, s->seq);
        nof_put32(at + NOF_WIRE_MORE_PAD, 0);
        nof_put64(at + NOF_WIRE_MORE_OFFSET, offset);
        memset(at + NOF_WIRE_MSG_MORE_BYTES, 0, fields_bytes - NOF_WIRE_MSG_MORE_BYTES);
    }
}

/* Fill r with frames for up to `limit` bytes; where the payload goes is in nic->bufs. Returns the
 * bytes; r->nframes == 0: the port has no frame. */
static uint32_t lay_out(struct nof_nic *nic, struct nof_link *link, const struct nof_send *s,
                        struct nof_read *r, unsigned window, uint64_t limit)
{
    uint32_t body_max = nof_link_body_max(link);
    uint64_t end = nof_send_until(s);
    uint32_t sum_bytes = 0;
    uint64_t left = limit;
    uint64_t offset = nof_send_at_byte(s);
    unsigned n = 0;
    r->summed = link->path != NULL && nic->eps[s->ep].dma_read_sums &&
                (s->flags & (NOF_DESC_F_INLINE | NOF_DESC_F_BOUNCE)) == 0;
    if (r->summed)
        sum_bytes = nof_path_sum_bytes(link->path);
    bool even =
        s->state != NOF_SEND_DATA && link->path != NULL && !r->summed && nof_path_long_more(link->path);
    if (even)
        body_max = even_body(s, body_max);
    r->last = r->longer = 0;
    /* bound: NOF_READ_FRAMES, 64; paid by the flow's share of the link */
    do {
        struct piece p = plan(s, offset, limit - left, left, body_max, even);
        uint8_t *body;
        if (n > 0 && p.payload_bytes == left && offset + left < end)
            break; /* what does not fill a frame goes with the next block */
        struct nof_frame *frame = nof_link_frame(nic, link, p.fields_bytes + p.payload_bytes, &body);
        if (frame == NULL)
            break;
        nof_read_fields(nic, s, offset, p.fields_bytes, body);
        r->frame[n] = frame;
        r->body_bytes[n] = (uint16_t)(p.fields_bytes + p.payload_bytes);
        if (s->state == NOF_SEND_DATA)
            r->last = p.fields_bytes == NOF_WIRE_DATA_LAST_BYTES;
        else if (offset > 0)
            r->longer = (uint8_t)(p.fields_bytes - NOF_WIRE_MSG_MORE_BYTES);
        nic->bufs[n] = (struct nof_buf){.base = body + p.fields_bytes,
                                        .len_bytes = p.payload_bytes,
                                        .sum = p.payload_bytes == sum_bytes ? nof_path_sum_at(body) : NULL};
        n++;
        offset += p.payload_bytes;
        left -= p.payload_bytes;
    } while (left > 0 && n < window);
    r->nframes = (uint8_t)n;
    r->raw = NOF_NIL;
    r->gone = 0;
    r->failed = 0;
    r->orphan = 0;
    r->done = 0;
    r->local = link->path == NULL;
    r->sync = (s->flags & NOF_DESC_F_SYNC) != 0;
    r->ranged = s->delta != 0;
    r->first_type = NOF_WIRE_DATA;
    if (s->state != NOF_SEND_DATA)
        r->first_type = s->sent == 0 ? NOF_WIRE_MSG : NOF_WIRE_MSG_MORE;
    return (uint32_t)(limit - left);
}

/* Frames from number `from` on go back to the pool that they came from; their path may be gone. */
static void drop_frames(struct nof_nic *nic, struct nof_read *r, unsigned from)
{
    /* bound: NOF_READ_FRAMES, 64; paid by the flow */
    for (unsigned k = from; k < r->nframes; k++) {
        if (r->local)
            nof_local_drop(nic, r->frame[k]);
        else
            nic->port_ops->frame_free(nic->port, r->frame[k]);
    }
    r->nframes = (uint8_t)from;
}

/* The payload cannot be read: the first frame goes without it and says so. */
void nof_read_fail(struct nof_nic *nic, struct nof_read *r, int status)
{
    r->failed = NOF_WIRE_F_FAILED | (status == NOF_EPEERDEAD ? NOF_WIRE_F_GONE : 0);
    if (r->raw != NOF_NIL) {
        r->last = 0;
        return;
    }
    bool single = r->nframes == 1;
    drop_frames(nic, r, 1);
    r->last = r->last && single;
    uint32_t fields = NOF_WIRE_MSG_MORE_BYTES;
    if (r->first_type == NOF_WIRE_MSG)
        fields = NOF_WIRE_MSG_BYTES;
    else if (r->last)
        fields = NOF_WIRE_DATA_LAST_BYTES;
    r->longer = 0;
    r->body_bytes[0] = (uint16_t)fields;
}

static inline void emit_frame(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                              const struct nof_read *r, unsigned k)
{
    uint8_t type = r->first_type;
    uint8_t flags = r->failed;
    uint32_t fields = NOF_WIRE_MSG_MORE_BYTES;
    bool final = k + 1u == r->nframes;
    static_assert(NOF_WIRE_MSG_MORE_BYTES == NOF_WIRE_DATA_BYTES, "one default for both");
    if (type == NOF_WIRE_MSG && k == 0) {
        fields = NOF_WIRE_MSG_BYTES;
        flags |= r->sync ? NOF_WIRE_MSG_F_SYNC : 0;
    } else if (type == NOF_WIRE_MSG) {
        type = NOF_WIRE_MSG_MORE;
    } else if (r->last && final) {
        fields = NOF_WIRE_DATA_LAST_BYTES;
        flags |= r->failed ? 0 : NOF_WIRE_DATA_F_LAST;
    }
    flags |= r->ranged ? NOF_WIRE_DATA_F_RANGE : 0;
    if (type == NOF_WIRE_MSG_MORE && final)
        fields += r->longer;
    nof_link_send(nic, link, r->frame[k], type, flags, peer->ep, peer->remote_ep, fields, r->body_bytes[k],
                  r->summed);
}

/* n frames from the k-th on. */
static void emit(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer, const struct nof_read *r,
                 unsigned k, unsigned n)
{
    /* bound: NOF_READ_FRAMES, 64; paid by the flow's share of the link */
    for (unsigned end = k + n; k < end; k++)
        emit_frame(nic, link, peer, r, k);
}

static void give_back(struct nof_nic *nic, uint32_t index)
{
    struct nof_read *r = nof_read_at(nic, index);
    nic->eps[r->ep].local_held = (uint16_t)(nic->eps[r->ep].local_held - r->held);
    if (r->raw != NOF_NIL)
        nof_pool_give(&nic->grants.raws, r->raw);
    nof_pool_give(&nic->reads, index);
}

enum nof_pump nof_read_emit(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                            unsigned budget, unsigned *frames)
{
    uint32_t i = nof_queue_head(&nic->reads, peer->readq);
    struct nof_read *r = nof_read_at(nic, i);
    /* bound: NOF_READ_FRAMES, 64; paid by the flow's share of the link */
    while (r->gone < r->nframes) {
        /* Loop-back frames are held already: waiting for more of them could wait for ever. */
        unsigned window = r->local ? NOF_READ_FRAMES : nof_link_window(nic, link, false);
        if (window == 0)
            return NOF_PUMP_BLOCKED; /* on_ready() will come, because the window was 0 */
        if (budget == 0)
            return NOF_PUMP_MORE;
        unsigned n = (unsigned)(r->nframes - r->gone);
        n = n < window ? n : window;
        n = n < budget ? n : budget;
        emit(nic, link, peer, r, r->gone, n);
        r->gone = (uint8_t)(r->gone + n);
        *frames += n;
        budget -= n;
    }
    nof_queue_pop(&nic->reads, &peer->readq);
    give_back(nic, i);
    return NOF_PUMP_IDLE;
}

static void copy_in(struct nof_nic *nic, const uint8_t *from, unsigned n)
{
    /* bound: NOF_READ_FRAMES, 64; paid by the flow's bytes */
    for (unsigned k = 0; k < n; k++) {
        memcpy(nic->bufs[k].base, from, nic->bufs[k].len_bytes);
        from += nic->bufs[k].len_bytes;
    }
}

/* All frames of a read that needs no waiting. */
static void emit_all(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                     const struct nof_read *r, unsigned *frames)
{
    emit(nic, link, peer, r, 0, r->nframes);
    *frames += r->nframes;
}

void nof_read_keep(struct nof_nic *nic, struct nof_peer *peer, struct nof_send *s, uint32_t index)
{
    struct nof_endpoint *ep = &nic->eps[s->ep];
    nof_queue_push(&nic->reads, &peer->readq, index);
    nof_send_reading(s, 1);
    ep->reads++;
    ep->dma_pending++;
    nic->reads_pending += !nof_read_at(nic, index)->local;
}

void nof_read_kept(struct nof_nic *nic, struct nof_send *s, uint32_t index)
{
    struct nof_endpoint *ep = &nic->eps[s->ep];
    struct nof_read *r = nof_read_at(nic, index);
    r->done = 1;
    nof_send_reading(s, -1);
    ep->reads--;
    ep->dma_pending--;
    nic->reads_pending -= !r->local;
}

/* The request is under way: keep the frames in the flow's queue. */
static void keep(struct nof_nic *nic, struct nof_peer *peer, struct nof_send *s, uint32_t index)
{
    struct nof_read *r = nof_read_at(nic, index);
    struct nof_endpoint *ep = &nic->eps[s->ep];
    struct nof_obj obj = r->obj;
    *r = *nic->scratch;
    r->obj = obj;
    r->peer = nof_peer_index(nic, peer);
    r->send = nof_send_index(nic, s);
    r->ep = s->ep;
    r->held = r->local ? r->nframes : 0;
    ep->local_held = (uint16_t)(ep->local_held + r->held);
    nof_read_keep(nic, peer, s, index);
}

uint64_t nof_read_bytes(const struct nof_send *s)
{
    uint64_t left = (s->state == NOF_SEND_DATA ? s->allowed : s->len) - s->sent;
    uint64_t run = nof_send_until(s) - nof_send_at_byte(s);
    if (left > run)
        left = run;
    return left < NOF_DMA_BLOCK_BYTES ? left : NOF_DMA_BLOCK_BYTES;
}

/* Frames are laid out: have the host copy. */
static enum nof_pump request(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                             struct nof_send *s, uint32_t index, unsigned nsegs, uint32_t total,
                             unsigned *frames)
{
    struct nof_read *r = nic->scratch;
    struct nof_endpoint *ep = &nic->eps[s->ep];
    uint64_t token =
        nof_handle(index == NOF_NIL ? 0 : index, index == NOF_NIL ? 0 : nof_read_at(nic, index)->obj.gen);
    int rc = nic->host_ops->dma_read(nic->host, s->ep, nic->segs, nof_segments_trim(nic->segs, nsegs, total),
                                     nic->bufs, r->nframes, token);
    if (rc == NOF_EAGAIN) {
        drop_frames(nic, r, 0);
        if (index != NOF_NIL)
            nof_pool_give(&nic->reads, index);
        return NOF_PUMP_BUSY;
    }
    nof_count(nic, ep, NOF_C_DMA_READS, 1);
    nof_send_taken(s, total, r->last);
    r->bytes = total;
    if (rc == NOF_DMA_DONE) {
        nof_count(nic, ep, NOF_C_DMA_READ_BYTES, total);
    } else if (rc != NOF_DMA_PENDING || index == NOF_NIL) {
        nof_count(nic, ep, NOF_C_DMA_FAULTS, 1);
        nof_read_fail(nic, r, rc);
        nof_send_broken(s, rc);
    }
    if (index != NOF_NIL && (rc == NOF_DMA_PENDING || peer->readq != NOF_NIL)) {
        keep(nic, peer, s, index); /* also if it is done: earlier ones leave before it */
        if (rc != NOF_DMA_PENDING)
            nof_read_kept(nic, s, index);
        return NOF_PUMP_IDLE;
    }
    if (index != NOF_NIL)
        nof_pool_give(&nic->reads, index);
    emit_all(nic, link, peer, r, frames);
    return NOF_PUMP_IDLE;
}

unsigned nof_read_segments(struct nof_nic *nic, const struct nof_send *s, uint64_t n, uint64_t *n_out,
                           uint32_t *cost)
{
    uint32_t steps;
    if (s->layout == NOF_NIL) {
        nic->segs[0] = (struct nof_segment){.addr = s->addr + nof_send_at_byte(s), .len_bytes = n};
        *n_out = n;
        *cost += NOF_STEP_COST;
        return 1;
    }
    unsigned nsegs = nof_buffer_segments(&nic->layouts, s->layout, s->addr, nof_send_at_byte(s), n, nic->segs,
                                         n_out, &steps);
    nof_steps_spend(&nic->eps[s->ep], steps);
    *cost += steps * NOF_STEP_COST;
    return nsegs;
}

enum nof_pump nof_read_start(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                             struct nof_send *s, unsigned window, uint32_t *bytes, unsigned *frames)
{
    struct nof_read *r = nic->scratch;
    struct nof_endpoint *ep = &nic->eps[s->ep];
    uint64_t limit = nof_read_bytes(s);
    bool copied = limit == 0 || (s->flags & (NOF_DESC_F_INLINE | NOF_DESC_F_BOUNCE)) != 0;
    uint32_t index = NOF_NIL;
    unsigned nsegs = 0;
    if (window > NOF_READ_FRAMES)
        window = NOF_READ_FRAMES;
    if (!copied) {
        if (!ep->dma_read_inline) {
            unsigned room = link->path != NULL ? NOF_READ_FRAMES : NOF_LOCAL_HELD - ep->local_held;
            if (ep->reads >= NOF_READS_PER_EP)
                return NOF_PUMP_READING;
            index = room > 0 ? nof_pool_take(&nic->reads) : NOF_NIL;
            if (index == NOF_NIL)
                return NOF_PUMP_BUSY;
            window = window < room ? window : room;
        }
        nsegs = nof_read_segments(nic, s, limit, &limit, bytes);
    }
    uint32_t total = lay_out(nic, link, s, r, window, limit);
    if (r->nframes == 0) {
        if (index != NOF_NIL)
            nof_pool_give(&nic->reads, index);
        return NOF_PUMP_BUSY;
    }
    *bytes += total + r->nframes * NOF_WIRE_COMMON_BYTES;
    if (!copied)
        return request(nic, link, peer, s, index, nsegs, total, frames);
    if (s->flags & NOF_DESC_F_INLINE)
        copy_in(nic, s->inline_data + s->sent, r->nframes);
    else if (total > 0)
        copy_in(nic, ep->bounce + s->addr + s->sent, r->nframes);
    nof_send_taken(s, total, r->last);
    emit_all(nic, link, peer, r, frames);
    return NOF_PUMP_IDLE;
}

void nof_read_orphan(struct nof_nic *nic, struct nof_peer *peer)
{
    uint32_t i;
    /* bound: NOF_READS_PER_FLOW and those that are done; paid by the flow that ends */
    while ((i = nof_queue_pop(&nic->reads, &peer->readq)) != NOF_NIL) {
        struct nof_read *r = nof_read_at(nic, i);
        if (!r->done) {
            r->orphan = 1;
            continue;
        }
        drop_frames(nic, r, r->gone);
        give_back(nic, i);
    }
}

/* A read of this send has failed: those that came after it must not leave. */
static void orphan_rest(struct nof_nic *nic, struct nof_peer *peer, uint32_t index)
{
    uint32_t send = nof_read_at(nic, index)->send;
    uint32_t all = peer->readq;
    uint32_t i;
    bool after = false;
    peer->readq = NOF_NIL;
    /* bound: NOF_READS_PER_FLOW and those that are done; paid by the send that fails */
    while ((i = nof_queue_pop(&nic->reads, &all)) != NOF_NIL) {
        struct nof_read *r = nof_read_at(nic, i);
        if (!after || r->send != send) {
            nof_queue_push(&nic->reads, &peer->readq, i);
        } else if (r->done) {
            drop_frames(nic, r, 0);
            give_back(nic, i);
        } else {
            r->orphan = 1;
        }
        after |= i == index;
    }
}

void nof_read_done(struct nof_nic *nic, uint32_t index, int status)
{
    struct nof_read *r = nof_read_at(nic, index);
    struct nof_endpoint *ep = &nic->eps[r->ep];
    ep->reads--;
    ep->dma_pending--;
    nic->reads_pending -= !r->local;
    r->done = 1;
    if (status != NOF_OK)
        nof_count(nic, ep, NOF_C_DMA_FAULTS, 1);
    else
        nof_count(nic, ep, NOF_C_DMA_READ_BYTES, r->bytes);
    if (r->orphan) {
        drop_frames(nic, r, r->gone);
        give_back(nic, index);
    } else {
        struct nof_peer *peer = nof_peer_at(nic, r->peer);
        if (status != NOF_OK) {
            nof_read_fail(nic, r, status);
            orphan_rest(nic, peer, index);
        }
        nof_scheduler_activate(nic, peer);
    }
    if (nic->busy_flows != NOF_NIL)
        nof_scheduler_retry(nic);
}
