/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hot path: the core's frames to the kernel. Budget per frame: no lock, no copy, no allocation but from our list; one
 * system call for all that a turn has sent. */
#include "port/udp/udp_private.h"

#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <unistd.h>

#define TO_AT 30u /* of a frame: destination address; the port is at: */
#define TO_PORT_AT 36u
#define RUNS_LOOK_BACK 8u /* at the last runs, for one to the same peer */

static struct nof_frame *port_frame_alloc(void *of, uint32_t len_bytes)
{
    struct nof_udp_port *port = of;
    struct udp_frame *f = port->free;

    if (len_bytes > port->frame_bytes - sizeof(*f))
        return NULL;
    if (f != NULL) {
        port->free = f->next_free;
    } else {
        if (port->pool_used + port->frame_bytes > port->pool_bytes)
            return NULL;
        f = (struct udp_frame *)(void *)(port->pool + port->pool_used);
        port->pool_used += port->frame_bytes;
    }
    f->refs = 1;
    f->frame.data = (uint8_t *)(f + 1);
    f->frame.len_bytes = len_bytes;
    f->frame.cap_bytes = (uint32_t)(port->frame_bytes - sizeof(*f));
    return &f->frame;
}

static void port_frame_free(void *of, struct nof_frame *frame)
{
    udp_frame_unref(of, (struct udp_frame *)(void *)frame);
}

static unsigned port_send(void *of, struct nof_frame *const *frames, unsigned n)
{
    struct nof_udp_port *port = of;

    for (unsigned i = 0; i < n; i++) {
        struct udp_frame *f = (struct udp_frame *)(void *)frames[i];

        if (port->npending == UDP_PENDING_MAX) {
            nof_udp_port_flush(port);
            if (port->npending == UDP_PENDING_MAX)
                return i;
        }
        f->refs++;
        port->pending[port->npending++] = f;
    }
    return n;
}

const struct nof_port_ops nof_udp_port_ops = {
    .frame_alloc = port_frame_alloc,
    .frame_free = port_frame_free,
    .send = port_send,
};

static uint32_t payload_bytes(const struct udp_frame *f)
{
    return f->frame.len_bytes - NOF_WIRE_OUTER_BYTES;
}

static uint32_t to_ip4(const struct udp_frame *f)
{
    uint32_t ip4;

    memcpy(&ip4, f->frame.data + TO_AT, sizeof(ip4));
    return ip4;
}

static uint16_t to_port(const struct udp_frame *f)
{
    uint16_t udp_port;

    memcpy(&udp_port, f->frame.data + TO_PORT_AT, sizeof(udp_port));
    return udp_port;
}

/* A numbered frame must come as it is, or its path ends. Others are repeated by who sent them, in another size, unless
 * there is no smaller one. */
static bool must_go(const uint8_t *common, size_t bytes, uint32_t mtu_bytes)
{
    return common[NOF_WIRE_TYPE] >= NOF_WIRE_RELIABLE_FIRST ||
           (mtu_bytes < UDP_MTU_LEAST && bytes + UDP_IP_BYTES <= UDP_MTU_LEAST);
}

static bool may_join(const struct udp_run *run, uint32_t bytes)
{
    return !run->closed && run->n < run->most && bytes <= run->segment_bytes &&
           run->bytes + bytes <= UDP_DATAGRAM_MAX;
}

static void begin(struct nof_udp_port *port, struct udp_run *run, const struct udp_frame *f)
{
    struct udp_peer *peer = udp_peer_of(port, to_ip4(f), to_port(f));
    bool cut = !port->single && !peer->no_segments && (peer->trusted_runs > 0 || port->real_device);

    run->pieces = peer->pieces > 0 && must_go(f->frame.data + NOF_WIRE_OUTER_BYTES, payload_bytes(f), 0);
    run->large = run->pieces && payload_bytes(f) + UDP_IP_BYTES > peer->way_bytes;
    if (run->pieces)
        peer->pieces--;

    run->to = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = peer->udp_port, .sin_addr = {.s_addr = peer->ip4}};
    run->segment_bytes = payload_bytes(f);
    run->bytes = 0;
    run->n = 0;
    run->most = cut && !run->pieces ? UDP_TX_SEGMENTS : 1;
    run->closed = false;
}

/* Frames to one peer stay in order; those to others may come in between. */
static unsigned gather(struct nof_udp_port *port, struct udp_run *runs)
{
    unsigned nruns = 0;

    for (unsigned i = 0; i < port->npending; i++) {
        const struct udp_frame *f = port->pending[i];
        uint32_t bytes = payload_bytes(f), ip4 = to_ip4(f);
        uint16_t udp_port = to_port(f);
        struct udp_run *run = NULL;

        for (unsigned back = 1; back <= nruns && back <= RUNS_LOOK_BACK && run == NULL; back++)
            if (runs[nruns - back].to.sin_addr.s_addr == ip4 && runs[nruns - back].to.sin_port == udp_port)
                run = &runs[nruns - back];
        if (run == NULL || !may_join(run, bytes)) {
            run = &runs[nruns++];
            begin(port, run, f);
        }
        run->frame[run->n++] = (uint8_t)i;
        run->bytes += bytes;
        run->closed = bytes < run->segment_bytes;
    }
    return nruns;
}

static void fill(struct nof_udp_port *port, const struct udp_run *runs, unsigned nruns)
{
    struct udp_tx *tx = &port->tx;
    unsigned at = 0;

    for (unsigned r = 0; r < nruns; r++) {
        struct msghdr *h = &tx->msg[r].msg_hdr;

        tx->to[r] = runs[r].to;
        *h = (struct msghdr){
            .msg_name = &tx->to[r], .msg_namelen = sizeof(tx->to[r]), .msg_iov = &tx->iov[at]};
        h->msg_iovlen = runs[r].n;
        for (unsigned i = 0; i < runs[r].n; i++, at++) {
            struct udp_frame *f = port->pending[runs[r].frame[i]];

            tx->frame[at] = f;
            tx->iov[at].iov_base = f->frame.data + NOF_WIRE_OUTER_BYTES;
            tx->iov[at].iov_len = payload_bytes(f);
        }
        if (runs[r].n > 1) {
            struct cmsghdr *c = &tx->control[r].align;
            uint16_t segment = (uint16_t)runs[r].segment_bytes;

            c->cmsg_level = SOL_UDP;
            c->cmsg_type = UDP_SEGMENT;
            c->cmsg_len = CMSG_LEN(sizeof(segment));
            memcpy(CMSG_DATA(c), &segment, sizeof(segment));
            h->msg_control = c;
            h->msg_controllen = sizeof(tx->control[r].bytes);
        }
    }
}

/* The first of the iovs of message `m`, by its number. */
static unsigned first_of(const struct udp_tx *tx, unsigned m)
{
    return (unsigned)(tx->msg[m].msg_hdr.msg_iov - tx->iov);
}

/* From the port that the peer knows us by, since it answers a handshake there: one socket, which lets go of "don't fragment"
 * for a while. */
static void let_cut(struct nof_udp_port *port, bool pieces)
{
    int how = pieces ? IP_PMTUDISC_DONT : IP_PMTUDISC_DO;

    if (port->tx.pieces == pieces)
        return;
    udp_count(port, NOF_UDP_TX_CALLS, 1);
    if (setsockopt(port->fd, IPPROTO_IP, IP_MTU_DISCOVER, &how, sizeof(how)) == 0)
        port->tx.pieces = pieces;
}

static void lost(struct nof_udp_port *port, const struct sockaddr_in *to, int error, uint64_t frames)
{
    udp_count(port, NOF_UDP_TX_LOST, frames);
    port->refused_ip4 = ntohl(to->sin_addr.s_addr);
    port->refused_errno = error;
}

/* Alone, in fragments if need be. 0, or the errno of a kernel that has no room now. */
static int send_singly(struct nof_udp_port *port, const struct sockaddr_in *to, const struct iovec *iov,
                       uint32_t mtu_bytes)
{
    struct msghdr h = {.msg_name = (void *)(uintptr_t)to, .msg_namelen = sizeof(*to), .msg_iovlen = 1};
    bool large = mtu_bytes != 0 && iov->iov_len + UDP_IP_BYTES > mtu_bytes;

    h.msg_iov = (struct iovec *)(uintptr_t)iov;
    if (large && !must_go(iov->iov_base, iov->iov_len, mtu_bytes)) {
        udp_count(port, NOF_UDP_TX_LARGE, 1);
        return 0;
    }
    let_cut(port, large);
    udp_count(port, NOF_UDP_TX_CALLS, 1);
    if (sendmsg(port->fd, &h, MSG_DONTWAIT) >= 0) {
        udp_count(port, NOF_UDP_TX_RUNS, 1);
        if (large)
            udp_count(port, NOF_UDP_TX_FRAGMENTED, 1);
    } else if (errno == EAGAIN || errno == ENOBUFS) {
        return EAGAIN;
    } else if (errno == EMSGSIZE) {
        udp_count(port, NOF_UDP_TX_LARGE, 1);
    } else {
        lost(port, to, errno, 1);
    }
    return 0;
}

/* The message that the kernel refused, frame by frame. Returns how many of its frames are gone. */
static unsigned send_apart(struct nof_udp_port *port, unsigned m, uint32_t mtu_bytes)
{
    const struct msghdr *h = &port->tx.msg[m].msg_hdr;
    unsigned n = (unsigned)h->msg_iovlen;

    for (unsigned i = 0; i < n; i++)
        if (send_singly(port, &port->tx.to[m], &h->msg_iov[i], mtu_bytes) != 0)
            return i;
    return n;
}

/* What is to become of the message at which sendmmsg() stopped: how many of its frames are dealt with. */
static unsigned refused(struct nof_udp_port *port, unsigned m, int error)
{
    const struct msghdr *h = &port->tx.msg[m].msg_hdr;
    const struct sockaddr_in *to = &port->tx.to[m];
    bool run = h->msg_iovlen > 1;

    if (error == EAGAIN || error == ENOBUFS)
        return 0;
    if (error == EMSGSIZE || (error == EINVAL && run)) { /* the same, of a run: before Linux 6.14 */
        uint32_t mtu = udp_peer_narrowed(port, to);

        if (mtu >= h->msg_iov[0].iov_len + UDP_IP_BYTES || (mtu == 0 && error == EINVAL))
            udp_peer_of(port, to->sin_addr.s_addr, to->sin_port)->no_segments = true;
        return send_apart(port, m, mtu);
    }
    if (error == EIO && run) { /* nothing on that way computes checksums, which super-frames need */
        udp_peer_of(port, to->sin_addr.s_addr, to->sin_port)->no_segments = true;
        return send_apart(port, m, 0);
    }
    lost(port, to, error, h->msg_iovlen);
    return (unsigned)h->msg_iovlen;
}

/* Of messages that have left: their peers have had so many runs more. */
static void spend_trust(struct nof_udp_port *port, unsigned from, unsigned n)
{
    for (unsigned m = from; !port->real_device && m < from + n; m++) {
        const struct sockaddr_in *to = &port->tx.to[m];

        if (port->tx.msg[m].msg_hdr.msg_iovlen > 1) {
            struct udp_peer *peer = udp_peer_of(port, to->sin_addr.s_addr, to->sin_port);

            if (peer->trusted_runs > 0)
                peer->trusted_runs--;
        }
    }
}

/* Frames from `at` on stay, those before it are gone. */
static void settle(struct nof_udp_port *port, unsigned at)
{
    struct udp_tx *tx = &port->tx;

    for (unsigned i = 0; i < at; i++)
        udp_frame_unref(port, tx->frame[i]);
    memcpy(port->pending, tx->frame + at, (port->npending - at) * sizeof(tx->frame[0]));
    port->npending -= at;
}

/* Messages from `from` on, of one kind, by one call. As sendmmsg(). */
static int send_alike(struct nof_udp_port *port, unsigned from, unsigned nruns)
{
    const struct udp_run *run = port->tx.run;
    unsigned end = from + 1;
    int n;

    while (end < nruns && run[end].pieces == run[from].pieces)
        end++;
    let_cut(port, run[from].pieces);
    n = sendmmsg(port->fd, &port->tx.msg[from], end - from, MSG_DONTWAIT);
    udp_count(port, NOF_UDP_TX_CALLS, 1);
    if (n <= 0)
        return n;
    udp_count(port, NOF_UDP_TX_RUNS, (uint64_t)n);
    for (unsigned i = from; i < from + (unsigned)n; i++)
        if (run[i].large)
            udp_count(port, NOF_UDP_TX_FRAGMENTED, 1);
    spend_trust(port, from, (unsigned)n);
    return n;
}

/* Returns how many of the frames are gone. */
static unsigned send_runs(struct nof_udp_port *port, unsigned nruns)
{
    unsigned done = 0, gone;

    while (done < nruns) {
        int n = send_alike(port, done, nruns);

        if (n > 0) {
            done += (unsigned)n;
            continue;
        }
        gone = refused(port, done, errno);
        if (gone < port->tx.msg[done].msg_hdr.msg_iovlen)
            return first_of(&port->tx, done) + gone;
        done++;
    }
    return port->npending;
}

void nof_udp_port_flush(struct nof_udp_port *port)
{
    unsigned nruns;

    if (port->npending == 0)
        return;
    nruns = gather(port, port->tx.run);
    fill(port, port->tx.run, nruns);
    settle(port, send_runs(port, nruns));
    port->full = port->npending > 0;
    let_cut(port, false);
}
