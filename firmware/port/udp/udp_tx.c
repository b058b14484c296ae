/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hot path: the core's frames to the kernel. Budget per frame: no lock, no copy, no allocation but from our list; one
 * system call for all that a turn has sent. */
#include "port/udp/udp_private.h"

#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <unistd.h>

#define FLAGS_AT 20u /* of a frame: of which */
#define DONT_FRAGMENT 0x40u
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

/* "Don't fragment", of the headers that the core wrote. */
static bool may_be_cut(const struct udp_frame *f)
{
    return (f->frame.data[FLAGS_AT] & DONT_FRAGMENT) == 0;
}

/* A router that gets a run uncut drops all of it where one frame is too large, and a probe asks for its own size. */
static bool is_probe(const struct udp_frame *f)
{
    return f->frame.data[NOF_WIRE_OUTER_BYTES + NOF_WIRE_TYPE] == NOF_WIRE_PROBE;
}

static bool may_join(const struct udp_run *run, const struct udp_frame *f)
{
    uint32_t bytes = payload_bytes(f);

    return !run->closed && run->n < run->most && bytes <= run->segment_bytes &&
           run->bytes + bytes <= UDP_DATAGRAM_MAX && run->pieces == may_be_cut(f) && !is_probe(f);
}

static void begin(struct nof_udp_port *port, struct udp_run *run, const struct udp_frame *f)
{
    struct udp_peer *peer = udp_peer_of(port, to_ip4(f), to_port(f));
    bool cut = !port->single && !peer->no_segments && (peer->trusted_runs > 0 || port->real_device);

    run->pieces = may_be_cut(f);
    if (run->pieces && peer->singly > 0) {
        peer->singly--;
        cut = false;
    }
    run->to = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = peer->udp_port, .sin_addr = {.s_addr = peer->ip4}};
    run->segment_bytes = payload_bytes(f);
    run->bytes = 0;
    run->n = 0;
    run->most = cut ? UDP_TX_SEGMENTS : 1;
    run->closed = is_probe(f);
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
        if (run == NULL || !may_join(run, f)) {
            run = &runs[nruns++];
            begin(port, run, f);
        }
        run->frame[run->n++] = (uint8_t)i;
        run->bytes += bytes;
        run->closed |= bytes < run->segment_bytes;
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

/* One socket, since the peer answers a handshake where it came from: it changes as frames want it. */
static void let_cut(struct nof_udp_port *port, bool pieces)
{
    int how = pieces ? IP_PMTUDISC_OMIT : IP_PMTUDISC_PROBE;

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

/* Messages of one kind that have left. */
static void count_sent(struct nof_udp_port *port, bool pieces, uint64_t runs, uint64_t frames)
{
    udp_count(port, NOF_UDP_TX_RUNS, runs);
    if (pieces)
        udp_count(port, NOF_UDP_TX_FRAGMENTED, frames);
}

/* Alone. What the interface does not carry does not go: the core finds out as of any way that is narrow. 0, or the errno. */
static int send_singly(struct nof_udp_port *port, const struct sockaddr_in *to, const struct iovec *iov)
{
    struct msghdr h = {.msg_name = (void *)(uintptr_t)to, .msg_namelen = sizeof(*to), .msg_iovlen = 1};

    h.msg_iov = (struct iovec *)(uintptr_t)iov;
    udp_count(port, NOF_UDP_TX_CALLS, 1);
    if (sendmsg(port->fd, &h, MSG_DONTWAIT) >= 0) {
        count_sent(port, port->tx.pieces, 1, 1);
        return 0;
    }
    if (errno == EMSGSIZE)
        udp_count(port, NOF_UDP_TX_LARGE, 1);
    else if (errno != EAGAIN && errno != ENOBUFS)
        lost(port, to, errno, 1);
    return errno;
}

/* The message that the kernel refused, frame by frame. Returns how many of its frames are gone. */
static unsigned send_apart(struct nof_udp_port *port, unsigned m)
{
    const struct msghdr *h = &port->tx.msg[m].msg_hdr;
    const struct sockaddr_in *to = &port->tx.to[m];
    struct udp_peer *peer = udp_peer_of(port, to->sin_addr.s_addr, to->sin_port);
    unsigned n = (unsigned)h->msg_iovlen, gone;
    bool whole = n > 1; /* each by itself it takes: what it did not like was the run */

    for (gone = 0; gone < n; gone++) {
        int error = send_singly(port, to, &h->msg_iov[gone]);

        if (error == EAGAIN || error == ENOBUFS)
            break;
        whole &= error == 0;
    }
    if (whole && gone > 0 && port->tx.pieces)
        peer->singly = UDP_SINGLY_FRAMES; /* as long as they are larger than the interface */
    else if (whole && gone > 0)
        peer->no_segments = true;
    return gone;
}

/* What is to become of the message at which sendmmsg() stopped: how many of its frames are dealt with. */
static unsigned refused(struct nof_udp_port *port, unsigned m, int error)
{
    const struct msghdr *h = &port->tx.msg[m].msg_hdr;
    const struct sockaddr_in *to = &port->tx.to[m];
    bool run = h->msg_iovlen > 1;

    if (error == EAGAIN || error == ENOBUFS)
        return 0;
    /* EINVAL: as EMSGSIZE, before Linux 6.14. EIO: nothing on that way computes checksums, which super-frames need. */
    if (error == EMSGSIZE || (run && (error == EINVAL || error == EIO)))
        return send_apart(port, m);
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
    for (unsigned i = from; i < from + (unsigned)n; i++)
        count_sent(port, run[i].pieces, 1, run[i].n);
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
}
