/* SPDX-License-Identifier: BSD-3-Clause */
#include "mcast/mcast_op.h"

#include "flow/chores.h"
#include "flow/link.h"

#define FRAME_STEPS 4u /* of a turn, for a frame that leaves */
#define FRAME_OVERHEAD \
    (60u + NOF_GROUP_HEAD_BYTES) /* of the MTU: headers of a repair, and of what is in it */
#define FRUITLESS 2u /* so many times the last frame is multicast again; then each member gets it */

static struct nof_frame **frame_of(struct nof_mcast_op *op, uint32_t frame)
{
    return &op->frame[frame % NOF_MCAST_WINDOW];
}

/* The bytes of a frame that every member can take, by unicast, too. 0: some path is not up yet. */
static uint32_t find_chunk(const struct nof_nic *nic, const struct nof_mcast_group *g)
{
    uint32_t chunk = nic->cfg.mtu_bytes - FRAME_OVERHEAD;
    /* bound: members of a group, 256; paid by the message */
    for (uint32_t i = 0; i < g->n; i++) {
        if (i == g->me)
            continue;
        const struct nof_link *link = nof_mcast_link(nic, g, i);
        if (link == NULL)
            return 0;
        uint32_t body = nof_link_body_max(link) - NOF_GROUP_HEAD_BYTES;
        chunk = body < chunk ? body : chunk;
    }
    return chunk;
}

/* Frames that may leave as far as members' room is concerned. */
static uint32_t allowed(const struct nof_mcast_op *op, bool ready)
{
    uint32_t room = NOF_MCAST_ROOM_BYTES / op->chunk;
    uint32_t most = op->msg.nframes - 1;
    if (ready)
        return op->msg.nframes;
    if (room > NOF_MCAST_SLOTS)
        room = NOF_MCAST_SLOTS;
    return room < most ? room : most;
}

static void seal(struct nof_mcast_group *g, struct nof_mcast_op *op)
{
    /* bound: frames of one read, 16; paid by the message */
    for (; op->reading > 0; op->reading--, op->read++) {
        struct nof_group_view v = {.len = op->len,
                                   .number = op->number,
                                   .frames = op->msg.nframes,
                                   .frame = op->read,
                                   .sender = op->sender,
                                   .chunk = (uint16_t)op->chunk};
        nof_group_seal(&g->dest, *frame_of(op, op->read), &v, g->ep);
        op->missed[op->read % NOF_MCAST_WINDOW] = 0;
        op->repaired_ns[op->read % NOF_MCAST_WINDOW] = 0;
    }
}

static void unread(struct nof_nic *nic, const struct nof_mcast_group *g, struct nof_mcast_op *op)
{
    /* bound: frames of one read, 16; paid by the message */
    for (; op->reading > 0; op->reading--)
        nof_mcast_frame_free(nic, g, *frame_of(op, op->read + op->reading - 1));
}

static uint64_t bytes_of(const struct nof_mcast_op *op, uint32_t frame)
{
    uint64_t left = op->len - (uint64_t)frame * op->chunk;
    return left < op->chunk ? left : op->chunk;
}

/* Fill the next frames, up to `end`. */
static void read_on(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op, uint32_t end)
{
    struct nof_endpoint *ep = &nic->eps[g->ep];
    struct nof_segment seg = {.addr = op->addr + (uint64_t)op->read * op->chunk};
    /* bound: NOF_MCAST_READ_FRAMES, 16; paid by the message */
    while (op->read + op->reading < end && op->reading < NOF_MCAST_READ_FRAMES) {
        uint64_t n = bytes_of(op, op->read + op->reading);
        uint8_t *at;
        if (seg.len_bytes + n > NOF_DMA_BLOCK_BYTES || ep->group_frames >= NOF_MCAST_EP_FRAMES)
            break;
        struct nof_frame *frame = nof_group_frame(nic->transport, (uint32_t)n, &at);
        if (frame == NULL)
            break;
        ep->group_frames++;
        nic->bufs[op->reading] = (struct nof_buf){.base = at, .len_bytes = n};
        *frame_of(op, op->read + op->reading++) = frame;
        seg.len_bytes += n;
    }
    if (op->reading == 0) {
        nof_mcast_due(nic, nic->now_ns + NOF_RETRY_NS);
        return;
    }
    int rc = op->len == 0 ? NOF_DMA_DONE
                          : nic->host_ops->dma_read(nic->host, g->ep, &seg, 1, nic->bufs, op->reading,
                                                    nof_mcast_token(nic, g, op, 0, true));
    if (rc == NOF_EAGAIN) {
        unread(nic, g, op);
        nof_mcast_due(nic, nic->now_ns + NOF_RETRY_NS);
        return;
    }
    nof_count(nic, ep, NOF_C_DMA_READS, op->len > 0);
    if (rc == NOF_DMA_PENDING) {
        op->dma++;
        ep->dma_pending++;
        return;
    }
    if (rc != NOF_DMA_DONE) {
        unread(nic, g, op);
        nof_count(nic, ep, NOF_C_DMA_FAULTS, 1);
        nof_mcast_op_end(nic, g, op, NOF_EFAULT);
        return;
    }
    nof_count(nic, ep, NOF_C_DMA_READ_BYTES, seg.len_bytes);
    seal(g, op);
}

void nof_mcast_send_read(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op, int status)
{
    if (op->state == NOF_MCAST_SEND && status == NOF_OK) {
        seal(g, op);
        return;
    }
    unread(nic, g, op);
    if (op->state == NOF_MCAST_SEND)
        nof_mcast_op_end(nic, g, op, status < 0 ? status : NOF_EFAULT);
}

/* The datagram as it is, inside a reliable frame. False: not now. */
static bool repair(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op, uint32_t member,
                   uint32_t frame)
{
    struct nof_link *link = nof_mcast_link(nic, g, member);
    uint32_t len;
    uint8_t *body;
    const uint8_t *datagram = nof_group_datagram(*frame_of(op, frame), &len);
    if (link == NULL || nof_link_window(nic, link, true) == 0 || len > nof_link_body_max(link))
        return false;
    struct nof_frame *copy = nof_link_frame(nic, link, len, &body);
    if (copy == NULL)
        return false;
    memcpy(body, datagram, len);
    nof_mcast_spend(nic, g, FRAME_STEPS);
    nof_link_send(nic, link, copy, NOF_WIRE_MREPAIR, 0, g->ep, 0, 0, len, 0);
    nic->counters[NOF_C_MCAST_REPAIRS_UNICAST]++;
    return true;
}

static bool is_apart(const struct nof_mcast_group *g, uint32_t member)
{
    return (g->apart[member / 64] >> member % 64 & 1) != 0;
}

/* To those that multicast does not reach. */
static void send_apart(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op,
                       uint32_t frame)
{
    /* bound: words for 256 members, 4; paid by the frame */
    for (uint32_t w = 0; w < NOF_MCAST_MEMBERS_MAX / 64; w++)
        /* bound: members that are served apart; paid by the endpoint's steps */
        for (uint64_t left = g->apart[w]; left != 0; left &= left - 1)
            (void)repair(nic, g, op, w * 64 + (uint32_t)__builtin_ctzll(left), frame);
}

static bool multicast(struct nof_nic *nic, struct nof_mcast_op *op, uint32_t frame)
{
    return nof_group_send(nic->transport, *frame_of(op, frame));
}

/* The first frame leaves: nobody tells anything before the last one of so many has come. */
static uint64_t first_again_ns(const struct nof_nic *nic, const struct nof_mcast_op *op)
{
    uint32_t frames = op->msg.nframes < NOF_MCAST_AGAIN_FRAMES ? op->msg.nframes : NOF_MCAST_AGAIN_FRAMES;
    return nic->now_ns + NOF_MCAST_AGAIN_NS + frames * nof_group_frame_ns(nic->transport);
}

/* As much as link, queue and steps allow. */
static void send_on(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op)
{
    struct nof_endpoint *ep = &nic->eps[g->ep];
    uint64_t at_ns;
    /* bound: NOF_MCAST_WINDOW, 128, as far as the steps reach; paid by the endpoint's steps */
    while (op->sent < op->read) {
        if (nof_steps_left(nic, ep) == 0) {
            nof_mcast_due(nic, nic->now_ns);
            return;
        }
        if (nof_group_window(nic->transport, &at_ns) == 0 || !multicast(nic, op, op->sent)) {
            nof_mcast_due(nic, at_ns);
            return;
        }
        nof_steps_spend(ep, FRAME_STEPS);
        nof_count(nic, ep, NOF_C_MCAST_TX_FRAMES, 1);
        send_apart(nic, g, op, op->sent);
        if (op->sent++ == 0 && !op->probe)
            op->again_ns = first_again_ns(nic, op);
    }
}

/* Nobody has said anything new for a while: those that have the last frame say so, the others see what they miss. */
static void poll_members(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op)
{
    bool each = op->again > FRUITLESS && !op->probe;
    if (op->again > 0 || op->probe) {
        if (multicast(nic, op, op->sent - 1))
            nof_count(nic, &nic->eps[g->ep], NOF_C_MCAST_REPAIRS_MULTICAST, 1);
    }
    /* bound: members of a group, 256, at most every 4 ms; paid by the group's endpoint */
    for (uint32_t i = 0; each && i < g->n; i++)
        if (i != g->me)
            (void)repair(nic, g, op, i, op->sent - 1);
}

static void on_time(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op)
{
    if (nic->now_ns < op->again_ns)
        return;
    if (nof_mcast_dead_member(nic, g, op) < g->n) {
        nof_mcast_op_end(nic, g, op, NOF_EPEERDEAD);
        return;
    }
    if (op->probe && op->sent > 0 && ++g->probes >= NOF_MCAST_PROBES) {
        nic->counters[NOF_C_MCAST_DEAF]++;
        nof_mcast_op_end(nic, g, op, NOF_ENOMATCH);
        return;
    }
    op->again++;
    if (op->sent > op->base)
        poll_members(nic, g, op);
    op->again_ns = op->probe ? nic->now_ns + NOF_MCAST_PROBE_NS : nof_mcast_again_ns(nic, op);
}

/* What everybody has is not needed any more. */
static void release(struct nof_nic *nic, const struct nof_mcast_group *g, struct nof_mcast_op *op,
                    uint32_t cum)
{
    uint32_t end = cum < op->sent ? cum : op->sent;
    if (op->base >= end)
        return;
    /* bound: NOF_MCAST_WINDOW, 128; paid by the message */
    for (; op->base < end; op->base++)
        nof_mcast_frame_free(nic, g, *frame_of(op, op->base));
    op->again = 0;
    op->again_ns = nof_mcast_again_ns(nic, op) + NOF_MCAST_AGAIN_NS;
}

void nof_mcast_send_run(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op)
{
    struct nof_mcast_part sum = nof_mcast_sum(&op->msg);
    if (op->chunk == 0) {
        op->chunk = find_chunk(nic, g);
        if (op->chunk != 0) {
            uint64_t frames = op->len == 0 ? 1 : (op->len + op->chunk - 1) / op->chunk;
            op->msg.nframes = frames < UINT32_MAX ? (uint32_t)frames : 0;
        }
    }
    if (op->chunk != 0 && op->msg.nframes == 0) {
        nof_mcast_op_end(nic, g, op, NOF_EINVAL);
        return;
    }
    if (op->chunk != 0) {
        release(nic, g, op, sum.cum);
        if (sum.done && op->sent == op->msg.nframes) {
            nof_mcast_op_end(nic, g, op, NOF_OK);
            return;
        }
        uint32_t end = allowed(op, sum.ready);
        if (end > op->base + NOF_MCAST_WINDOW)
            end = op->base + NOF_MCAST_WINDOW;
        /* bound: NOF_MCAST_WINDOW / NOF_MCAST_READ_FRAMES, 8; paid by the endpoint's steps */
        while (op->reading == 0 && op->read < end && op->state == NOF_MCAST_SEND) {
            uint32_t before = op->read;
            read_on(nic, g, op, end);
            if (op->state != NOF_MCAST_SEND)
                return;
            send_on(nic, g, op);
            if (op->read == before)
                break;
        }
        send_on(nic, g, op);
    }
    on_time(nic, g, op);
    if (op->state == NOF_MCAST_SEND)
        nof_mcast_due(nic, op->again_ns);
}

/* Has this member got it by unicast already? The path sees to it that it comes. */
static bool is_served(const struct nof_mcast_op *op, uint32_t w, uint32_t member)
{
    /* bound: NOF_MCAST_MEMBERS_MAX / NOF_MCAST_REPAIR_SHARE, 32; paid by the member that asks */
    for (uint32_t i = 0; i < op->missed[w]; i++)
        if (op->missed_by[w][i] == (uint8_t)member)
            return true;
    return false;
}

/* A member misses a frame. soon_ns: what was sent so long ago, or later, may still come. */
static void serve(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op, uint32_t member,
                  uint32_t frame, uint64_t soon_ns)
{
    uint32_t w = frame % NOF_MCAST_WINDOW;
    bool recent = op->repaired_ns[w] != 0 && nic->now_ns - op->repaired_ns[w] < soon_ns;
    if (recent && (op->missed[w] == 0 || is_served(op, w, member)))
        return;
    if (!recent)
        op->missed[w] = 0;
    if (op->missed[w] + 1u < nof_mcast_many(g->n)) {
        if (repair(nic, g, op, member, frame))
            op->missed_by[w][op->missed[w]++] = (uint8_t)member;
    } else if (multicast(nic, op, frame)) {
        nof_count(nic, &nic->eps[g->ep], NOF_C_MCAST_REPAIRS_MULTICAST, 1);
        nof_mcast_spend(nic, g, FRAME_STEPS);
        op->missed[w] = 0;
    }
    op->repaired_ns[w] = nic->now_ns;
}

void nof_mcast_send_nack(struct nof_nic *nic, struct nof_mcast_group *g, struct nof_mcast_op *op,
                         const struct nof_mcast_nack *nack)
{
    uint32_t end = nack->high < op->sent ? nack->high : op->sent, missing = 0;
    struct nof_link *link = nof_mcast_link(nic, g, nack->member);
    uint64_t rtt_ns = link != NULL ? nof_path_rtt_ns(link->path) : 0;
    uint64_t soon_ns =
        4 * rtt_ns + NOF_MCAST_AGAIN_NS + NOF_MCAST_WINDOW * nof_group_frame_ns(nic->transport);
    if (op->chunk == 0)
        return;
    /* bound: NOF_MCAST_WINDOW, 128; paid by the member that asks, and the sender's endpoint */
    for (uint32_t f = nack->cum > op->base ? nack->cum : op->base; f < end; f++) {
        uint32_t i = f - nack->cum;
        if (i >= NOF_WIRE_GACK_HAVE_FRAMES || (nack->have[i / 8] >> i % 8 & 1) != 0)
            continue;
        missing++;
        serve(nic, g, op, nack->member, f, soon_ns);
    }
    if (missing >= NOF_MCAST_DEAF_FRAMES && !is_apart(g, nack->member)) {
        g->apart[nack->member / 64] |= 1ull << nack->member % 64;
        nof_count(nic, &nic->eps[g->ep], NOF_C_MCAST_EJECTED, 1);
    }
}
