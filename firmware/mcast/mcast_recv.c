/* SPDX-License-Identifier: BSD-3-Clause */
#include "mcast/mcast_op.h"

#include "flow/chores.h"
#include "flow/link.h"

#define FRAME_STEPS 2u
#define RTT_NS 200000u /* as long as it is not measured */

static uint32_t slots_of(const struct nof_mcast_op *op)
{
    uint32_t n = NOF_MCAST_ROOM_BYTES / op->chunk;
    return n < NOF_MCAST_SLOTS ? n : NOF_MCAST_SLOTS;
}

/* Bytes of this frame that the host wants. */
static uint64_t wanted(const struct nof_mcast_op *op, uint32_t frame, uint64_t bytes)
{
    uint64_t at = (uint64_t)frame * op->chunk;
    if (at >= op->capacity || op->status == NOF_EFAULT)
        return 0;
    return bytes < op->capacity - at ? bytes : op->capacity - at;
}

static int write_to(struct nof_nic *nic, const struct nof_mcast_group *g, const struct nof_mcast_op *op,
                    uint32_t frame, const struct nof_buf *buf, uint64_t token)
{
    struct nof_segment seg = {.addr = op->addr + (uint64_t)frame * op->chunk, .len_bytes = buf->len_bytes};
    int rc = nic->host_ops->dma_write(nic->host, g->ep, &seg, 1, buf, 1, token);
    if (rc == NOF_EAGAIN)
        return rc;
    nof_count(nic, &nic->eps[g->ep], NOF_C_DMA_WRITES, 1);
    if (rc < 0)
        nof_count(nic, &nic->eps[g->ep], NOF_C_DMA_FAULTS, 1);
    else
        nof_count(nic, &nic->eps[g->ep], NOF_C_DMA_WRITE_BYTES, buf->len_bytes);
    return rc;
}

void nof_mcast_recv_written(struct nof_mcast_op *op, uint32_t slot, int status)
{
    op->slots &= ~(1u << slot);
    if (status != NOF_OK)
        op->status = NOF_EFAULT;
}

/* What is in the room goes to the host. */
static void write_room(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op)
{
    uint8_t *room = nof_mcast_room(nic, g, op);
    /* bound: NOF_MCAST_SLOTS, 32; paid by the frames in it */
    for (uint32_t left = op->unwritten; left != 0; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctz(left), frame = op->slot_frame[slot];
        uint64_t at = (uint64_t)frame * op->chunk;
        uint64_t bytes = op->len - at < op->chunk ? op->len - at : op->chunk;
        struct nof_buf buf = {.base = room + (size_t)slot * op->chunk, .len_bytes = wanted(op, frame, bytes)};
        int rc = buf.len_bytes == 0
                     ? NOF_DMA_DONE
                     : write_to(nic, g, op, frame, &buf, nof_mcast_token(nic, g, op, slot, false));
        if (rc == NOF_EAGAIN) {
            nof_mcast_due(nic, nic->now_ns + NOF_RETRY_NS);
            return;
        }
        op->unwritten &= ~(1u << slot);
        if (rc == NOF_DMA_PENDING) {
            op->dma++;
            nic->eps[g->ep].dma_pending++;
        } else {
            nof_mcast_recv_written(op, slot, rc == NOF_DMA_DONE ? NOF_OK : rc);
        }
    }
}

/* Keep a frame in the room. False: there is none. */
static bool keep(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op,
                 const struct nof_group_view *v)
{
    uint32_t n = slots_of(op), all = n == 32 ? UINT32_MAX : (1u << n) - 1, free = ~op->slots & all;
    /* Before the receive, each frame has its own place: what does not fit shall not take that of one that does. */
    uint32_t slot = op->state == NOF_MCAST_EARLY ? v->frame
                    : free != 0                  ? (uint32_t)__builtin_ctz(free)
                                                 : NOF_MCAST_SLOTS;
    if (slot >= n || !(free >> slot & 1))
        return false;
    memcpy(nof_mcast_room(nic, g, op) + (size_t)slot * op->chunk, v->payload, v->payload_bytes);
    op->slots |= 1u << slot;
    op->unwritten |= 1u << slot;
    op->slot_frame[slot] = v->frame;
    return true;
}

/* False: it cannot be taken now. */
static bool place(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op,
                  const struct nof_group_view *v)
{
    if (op->state == NOF_MCAST_EARLY)
        return keep(nic, g, op, v);
    uint64_t bytes = wanted(op, v->frame, v->payload_bytes);
    if (bytes == 0)
        return true;
    if (nic->eps[g->ep].dma_inline) {
        union {
            const uint8_t *from;
            void *to;
        } payload = {.from = v->payload}; /* only read */
        struct nof_buf buf = {.base = payload.to, .len_bytes = bytes};
        int rc = write_to(nic, g, op, v->frame, &buf, 0);
        if (rc != NOF_EAGAIN) {
            op->status = rc == NOF_DMA_DONE ? op->status : NOF_EFAULT;
            return true;
        }
    }
    if (!keep(nic, g, op, v))
        return false;
    write_room(nic, g, op);
    return true;
}

/* What is expected is not what is sent: it is cut, or the rest of the buffer stays as it was. */
static void compare_lengths(struct nof_mcast_op *op)
{
    if (op->state == NOF_MCAST_RECV && op->chunk != 0 && op->len != op->capacity && op->status == NOF_OK)
        op->status = NOF_ETRUNC;
}

void nof_mcast_recv_frame(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op,
                          const struct nof_group_view *v)
{
    if (op->chunk == 0) {
        op->chunk = v->chunk;
        op->len = v->len;
        op->msg.nframes = v->frames;
        compare_lengths(op);
    }
    if (op->chunk != v->chunk || op->len != v->len || op->msg.nframes != v->frames) {
        nic->counters[NOF_C_DROP_PROTO]++;
        return;
    }
    nof_mcast_spend(nic, g, FRAME_STEPS);
    enum nof_mcast_taken look = nof_mcast_look(&op->msg, v->frame);
    nof_mcast_due(nic, nic->now_ns);
    if (look == NOF_MCAST_BEYOND)
        nic->counters[NOF_C_DROP_WINDOW]++;
    else if (look == NOF_MCAST_NEW && !place(nic, g, op, v))
        nic->counters[NOF_C_DROP_NOMEM]++;
    else if (nof_mcast_take(&op->msg, v->frame) == NOF_MCAST_AGAIN)
        nic->counters[NOF_C_DROP_DUPLICATE]++;
}

/* Whose words these are: GACK and GDONE begin alike. */
static void fill_head(const struct nof_mcast_group *g, const struct nof_mcast_op *op, uint8_t *f)
{
    nof_put64(f + NOF_WIRE_GACK_GROUP, g->dest.id);
    nof_put32(f + NOF_WIRE_GACK_NUMBER, op->number);
    nof_put16(f + NOF_WIRE_GACK_SENDER, op->sender);
    nof_put16(f + NOF_WIRE_GACK_MEMBER, g->me);
}

/* To the parent, or with `nack` what is missing to the sender. */
static void tell(struct nof_nic *nic, const struct nof_mcast_group *g, const struct nof_mcast_op *op,
                 const struct nof_mcast_part *sum, bool nack)
{
    uint32_t to = nack ? op->sender : nof_mcast_parent(g->n, op->sender, g->me);
    struct nof_link *link = nof_mcast_link(nic, g, to);
    uint8_t f[NOF_WIRE_GACK_BYTES] = {0};
    if (link == NULL)
        return;
    fill_head(g, op, f);
    nof_put32(f + NOF_WIRE_GACK_CUM, nack ? op->msg.own.cum : sum->cum);
    if (nack) {
        nof_put32(f + NOF_WIRE_GACK_HIGH, op->msg.high);
        nof_put64(f + NOF_WIRE_GACK_HAVE, op->msg.have[0]);
        nof_put64(f + NOF_WIRE_GACK_HAVE + 8, op->msg.have[1]);
    }
    (void)nof_path_gack(link->path,
                        (uint8_t)(nack         ? NOF_WIRE_GACK_F_NACK
                                  : sum->ready ? NOF_WIRE_GACK_F_READY
                                               : 0),
                        f);
}

static void tell_done(struct nof_nic *nic, const struct nof_mcast_group *g, const struct nof_mcast_op *op)
{
    struct nof_link *link = nof_mcast_link(nic, g, nof_mcast_parent(g->n, op->sender, g->me));
    uint8_t f[NOF_WIRE_GDONE_BYTES];
    if (link == NULL)
        return;
    fill_head(g, op, f);
    nof_link_ctl(nic, link, NOF_WIRE_GDONE, 0, g->ep, 0, f, sizeof f);
}

/* Not the same for all that miss the same frame. */
static uint64_t jitter(const struct nof_nic *nic, const struct nof_mcast_group *g, uint64_t rtt_ns)
{
    uint64_t h = (nic->now_ns ^ nic->seed) * 0x9e3779b97f4a7c15ull + g->me * 0xd6e8feb86659fd93ull;
    return (h >> 32) * rtt_ns >> 32;
}

static void ask_for_missing(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op)
{
    const struct nof_link *link = nof_mcast_link(nic, g, op->sender);
    uint64_t rtt_ns = link != NULL ? nof_path_rtt_ns(link->path) : 0;
    if (!nof_mcast_gap(&op->msg)) {
        op->nack_ns = 0;
        return;
    }
    if (rtt_ns == 0)
        rtt_ns = RTT_NS;
    if (op->nack_ns == 0) {
        op->nack_ns = nic->now_ns + jitter(nic, g, rtt_ns);
    } else if (nic->now_ns >= op->nack_ns) {
        tell(nic, g, op, &op->msg.own, true);
        op->nack_ns = nic->now_ns + 2 * rtt_ns + NOF_MCAST_AGAIN_NS + jitter(nic, g, rtt_ns);
    }
    nof_mcast_due(nic, op->nack_ns);
}

void nof_mcast_recv_run(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op)
{
    struct nof_mcast_msg *m = &op->msg;
    if (op->state == NOF_MCAST_RECV) {
        compare_lengths(op);
        if (op->unwritten != 0)
            write_room(nic, g, op);
        m->own.ready = true;
        m->own.done |= m->nframes > 0 && m->own.cum == m->nframes && op->slots == 0 && op->dma == 0;
    }
    struct nof_mcast_part sum = nof_mcast_sum(m);
    if (sum.done) {
        tell_done(nic, g, op);
        nof_mcast_op_end(nic, g, op, NOF_OK);
        return;
    }
    if (nof_mcast_news(m, &sum)) {
        tell(nic, g, op, &sum, false);
        op->again = 0;
        op->again_ns = nof_mcast_again_ns(nic, op);
    } else if (nic->now_ns >= op->again_ns) {
        if (op->state == NOF_MCAST_RECV && nof_mcast_dead_member(nic, g, op) < g->n) {
            nof_mcast_op_end(nic, g, op, NOF_EPEERDEAD);
            return;
        }
        tell(nic, g, op, &sum, false);
        op->again++;
        op->again_ns = nof_mcast_again_ns(nic, op);
    }
    if (g->me != op->sender)
        ask_for_missing(nic, g, op);
    nof_mcast_due(nic, op->again_ns);
}
