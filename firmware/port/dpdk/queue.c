/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hot path of the DPDK port. Budget per frame: no lock, no allocation beside the mempool's per-core
 * cache, no system call of our own, one atomic add per transmission (the driver's reference). */
#include "port/dpdk/port_private.h"

#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include <rte_ip.h>
#include <rte_udp.h>

struct nof_frame *nof_dpdk_frame_take(struct nof_dpdk_queue *q, uint32_t len_bytes)
{
    struct rte_mbuf *m = rte_pktmbuf_alloc(q->pool);
    struct nof_frame *frame;

    if (!m)
        return NULL;
    frame = nof_dpdk_frame(m);
    frame->data = rte_pktmbuf_mtod(m, uint8_t *);
    frame->cap_bytes = rte_pktmbuf_tailroom(m);
    frame->len_bytes = 0;
    if (frame->cap_bytes < len_bytes) {
        rte_pktmbuf_free(m);
        return NULL;
    }
    return frame;
}

struct nof_frame *nof_dpdk_frame_alloc(void *port, uint32_t len_bytes)
{
    struct nof_dpdk_queue *q = port;
    struct nof_frame *frame = nof_dpdk_frame_take(q, len_bytes);

    if (!frame)
        q->no_frames++;
    return frame;
}

static void queue_frame_free(void *port, struct nof_frame *frame)
{
    (void)port;
    rte_pktmbuf_free_seg(nof_dpdk_mbuf(frame));
}

/* Gives what is pending to the driver; what it does not take stays, in order. */
static void push_pending(struct nof_dpdk_queue *q)
{
    uint16_t n = q->npending;
    uint16_t sent = rte_eth_tx_burst(q->port_id, q->queue_id, q->pending, n);

    if (sent < n) {
        q->tx_full++;
        memmove(q->pending, q->pending + sent, (size_t)(n - sent) * sizeof(q->pending[0]));
    }
    q->npending = (uint16_t)(n - sent);
}

/* The device computes the checksum behind what its rules want there, that of the pseudo header: the same bytes whenever this
 * frame is sent. CRCs begin behind it. What is not UDP (ARP, IGMP) goes as it is. */
static void ask_for_sum(struct rte_mbuf *m)
{
    struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, RTE_ETHER_HDR_LEN);
    const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
    struct rte_udp_hdr *udp = (void *)(ip + 1);

    m->ol_flags &= ~(RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM);
    if (eth->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV4) || ip->next_proto_id != IPPROTO_UDP)
        return;
    m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM;
    m->l2_len = RTE_ETHER_HDR_LEN;
    m->l3_len = sizeof(*ip);
    udp->dgram_cksum = rte_ipv4_phdr_cksum(ip, m->ol_flags);
}

bool nof_dpdk_device_room(struct nof_dpdk_queue *q)
{
    if (q->npending == NOF_DPDK_BURST_MAX)
        push_pending(q);
    return q->npending < NOF_DPDK_BURST_MAX;
}

bool nof_dpdk_device_send(struct nof_dpdk_queue *q, struct nof_frame *frame)
{
    struct rte_mbuf *m = nof_dpdk_mbuf(frame);

    if (!nof_dpdk_device_room(q))
        return false;
    /* The same values when the frame is still under way from an earlier send. */
    m->data_off = (uint16_t)(frame->data - (uint8_t *)m->buf_addr);
    m->data_len = (uint16_t)frame->len_bytes;
    m->pkt_len = frame->len_bytes;
    if (q->sums)
        ask_for_sum(m);
    rte_mbuf_refcnt_update(m, 1);
    q->pending[q->npending++] = m;
    q->tx_frames++;
    q->tx_bytes += frame->len_bytes;
    return true;
}

static unsigned queue_send(void *port, struct nof_frame *const *frames, unsigned n)
{
    struct nof_dpdk_queue *q = port;
    unsigned done = 0;

    if (q->gone)
        return n; /* lost */
    while (done < n && nof_dpdk_device_send(q, frames[done]))
        done++;
    return done;
}

const struct nof_port_ops nof_dpdk_port_ops = {
    .frame_alloc = nof_dpdk_frame_alloc,
    .frame_free = queue_frame_free,
    .send = queue_send,
    .group = nof_dpdk_queue_group,
    .conn = nof_dpdk_queue_conn,
};

/* One frame of our own making (ARP): rare, so allocated and copied. */
static void send_small(struct nof_dpdk_queue *q, const uint8_t *bytes, uint32_t len_bytes)
{
    struct nof_frame *frame = nof_dpdk_frame_alloc(q, len_bytes);

    if (!frame)
        return;
    memcpy(frame->data, bytes, len_bytes);
    frame->len_bytes = len_bytes;
    (void)nof_dpdk_device_send(q, frame);
    queue_frame_free(q, frame);
}

/* True if the frame was ARP and needs no more. */
static bool take_arp(struct nof_dpdk_queue *q, const struct rte_mbuf *m)
{
    uint8_t reply[NOF_ARP_FRAME_BYTES];
    const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
    uint32_t len_bytes;

    if (!nof_arp_is(frame, m->data_len))
        return false;
    len_bytes = nof_arp_answer(&q->arp, frame, m->data_len, reply);
    if (len_bytes > 0) {
        send_small(q, reply, len_bytes);
        q->arp_replies++;
    }
    return true;
}

/* True if the frame asks for groups, and needs no more. */
static bool take_query(struct nof_dpdk_queue *q, const struct rte_mbuf *m)
{
    return q->igmp.ngroups > 0 && nof_igmp_hear(&q->igmp, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
}

/* What the last look before a sleep found. */
static uint16_t take_early(struct nof_dpdk_queue *q, struct rte_mbuf **mbufs, uint16_t burst)
{
    uint16_t n = q->nearly < burst ? q->nearly : burst;

    q->nearly = (uint16_t)(q->nearly - n);
    memcpy(mbufs, q->early, n * sizeof(mbufs[0]));
    memmove(q->early, q->early + n, q->nearly * sizeof(q->early[0]));
    return n;
}

static unsigned thrown_away(struct rte_mbuf *const *mbufs, uint16_t n)
{
    for (uint16_t i = 0; i < n; i++)
        rte_pktmbuf_free(mbufs[i]);
    return 0;
}

unsigned nof_dpdk_device_rx(struct nof_dpdk_queue *q, struct nof_frame **frames, unsigned max)
{
    struct rte_mbuf *mbufs[NOF_DPDK_BURST_MAX];
    uint16_t burst = (uint16_t)(max < NOF_DPDK_BURST_MAX ? max : NOF_DPDK_BURST_MAX);
    uint16_t n =
        q->nearly > 0 ? take_early(q, mbufs, burst) : rte_eth_rx_burst(q->port_id, q->queue_id, mbufs, burst);
    unsigned kept = 0;

    if (q->unplugged)
        return thrown_away(mbufs, n);
    for (uint16_t i = 0; i < n; i++) {
        struct rte_mbuf *m = mbufs[i];
        struct nof_frame *frame = nof_dpdk_frame(m);

        q->rx_bytes += m->pkt_len;
        /* The pool's buffers hold a full frame, so more segments mean a frame beyond our MTU. */
        if (m->nb_segs != 1 || (q->answers_arp && (take_arp(q, m) || take_query(q, m)))) {
            rte_pktmbuf_free(m);
            continue;
        }
        frame->data = rte_pktmbuf_mtod(m, uint8_t *);
        frame->len_bytes = m->data_len;
        frame->cap_bytes = m->data_len;
        frames[kept++] = frame;
    }
    q->rx_frames += n;
    return kept;
}

static void rx_done(struct nof_dpdk_queue *q, struct nof_frame *const *frames, unsigned n)
{
    (void)q;
    for (unsigned i = 0; i < n; i++)
        rte_pktmbuf_free_seg(nof_dpdk_mbuf(frames[i]));
}

static void announce(struct nof_dpdk_queue *q, uint64_t now_ns)
{
    uint8_t bytes[NOF_ARP_FRAME_BYTES];

    q->announce_left--;
    q->announce_next_ns = now_ns + NOF_ARP_ANNOUNCE_NS;
    send_small(q, bytes, nof_arp_announce(&q->arp, bytes));
}

static void report_groups(struct nof_dpdk_queue *q, uint64_t now_ns)
{
    uint8_t bytes[NOF_IGMP_FRAME_BYTES];

    send_small(q, bytes, nof_igmp_report(&q->igmp, now_ns, bytes));
}

void nof_dpdk_device_flush(struct nof_dpdk_queue *q, uint64_t now_ns)
{
    if (nof_igmp_due(&q->igmp, now_ns))
        report_groups(q, now_ns);
    if (q->announce_left > 0 && now_ns >= q->announce_next_ns)
        announce(q, now_ns);
    if (q->npending > 0)
        push_pending(q);
}

int nof_dpdk_queue_wait_fd(const struct nof_dpdk_queue *q)
{
    return q->wait_fd;
}

int nof_dpdk_device_sleep(struct nof_dpdk_queue *q)
{
    if (q->npending > 0)
        return 0;
    if (!q->wait_is_interrupt)
        return 1; /* a socket stays readable while frames wait: nothing to arm, nothing to miss */
    if (rte_eth_dev_rx_intr_enable(q->port_id, q->queue_id) != 0)
        q->wait_has_come = false; /* looked at from time to time, as if it never came */
    /* Frames that came before the interrupt was armed raise none. Not every driver (virtio) can count them. */
    if (q->nearly == 0)
        q->nearly = rte_eth_rx_burst(q->port_id, q->queue_id, q->early, NOF_DPDK_EARLY);
    return q->nearly == 0;
}

static unsigned flush(struct nof_dpdk_queue *q, uint64_t now_ns)
{
    nof_dpdk_device_flush(q, now_ns);
    return 0;
}

const struct nof_dpdk_turn nof_dpdk_turn_alone = {
    .rx = nof_dpdk_device_rx,
    .rx_done = rx_done,
    .flush = flush,
    .sleep = nof_dpdk_device_sleep,
};

unsigned nof_dpdk_queue_rx(struct nof_dpdk_queue *q, struct nof_frame **frames, unsigned max)
{
    return q->turn->rx(q, frames, max);
}

void nof_dpdk_queue_rx_done(struct nof_dpdk_queue *q, struct nof_frame *const *frames, unsigned n)
{
    q->turn->rx_done(q, frames, n);
}

unsigned nof_dpdk_queue_flush(struct nof_dpdk_queue *q, uint64_t now_ns)
{
    return q->turn->flush(q, now_ns);
}

int nof_dpdk_queue_sleep(struct nof_dpdk_queue *q)
{
    return q->turn->sleep(q);
}

void nof_dpdk_queue_unplug(struct nof_dpdk_queue *q, bool unplugged)
{
    q->unplugged = unplugged;
}

void nof_dpdk_queue_wake(struct nof_dpdk_queue *q)
{
    uint64_t interrupts;

    if (!q->wait_is_interrupt)
        return;
    (void)rte_eth_dev_rx_intr_disable(q->port_id, q->queue_id);
    /* An eventfd, not blocking, that stays readable until it is read: nobody could sleep on it again. */
    if (read(q->wait_fd, &interrupts, sizeof(interrupts)) == (ssize_t)sizeof(interrupts))
        q->wait_has_come = true;
}

bool nof_dpdk_queue_wakes(const struct nof_dpdk_queue *q)
{
    return !q->served || (q->wait_fd >= 0 && (!q->wait_is_interrupt || q->wait_has_come));
}

bool nof_dpdk_queue_naps(const struct nof_dpdk_queue *q)
{
    return q->served && q->wait_fd < 0;
}

void nof_dpdk_queue_stats(const struct nof_dpdk_queue *q, struct nof_dpdk_queue_stats *stats_out)
{
    stats_out->rx_frames = q->rx_frames;
    stats_out->rx_bytes = q->rx_bytes;
    stats_out->tx_frames = q->tx_frames;
    stats_out->tx_bytes = q->tx_bytes;
    stats_out->tx_full = q->tx_full;
    stats_out->no_frames = q->no_frames;
    stats_out->arp_replies = q->arp_replies;
    stats_out->frames_free = rte_mempool_avail_count(q->pool);
    stats_out->frames_total = q->pool->size;
}
