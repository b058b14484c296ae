/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hot path: datagrams from the kernel. Budget per frame: 42 bytes of headers written, none copied; one system call for
 * eight messages, each a datagram or a super-frame.
 *
 * The kernel fills the parts of a vector one after the other, so a super-frame of the expected size falls apart into
 * slots by itself. One of another size is put right by copying, and expected from then on. */
#include "port/udp/udp_private.h"

#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ECN_MASK 3 /* RFC 3168: of the traffic class */
#define EXPECT_FROM_BYTES 4096u /* a super-frame that is shorter does not say what is to come */

enum { ETH_BYTES = 14, IP_BYTES = 20, UDP_BYTES = 8 };

static uint8_t *slot(const struct udp_rx *rx, unsigned m, unsigned segment)
{
    return rx->area + (m * UDP_RX_SEGMENTS + segment) * rx->stride_bytes + UDP_HEAD_ROOM;
}

/* The vector of message m, for datagrams of this size. */
static void aim(struct udp_rx *rx, unsigned m, uint32_t bytes)
{
    struct msghdr *h = &rx->msg[m].msg_hdr;
    unsigned n = (UDP_DATAGRAM_MAX + bytes - 1) / bytes;

    if (n > UDP_RX_SEGMENTS)
        n = UDP_RX_SEGMENTS;
    for (unsigned i = 0; i < n; i++) {
        rx->iov[m][i].iov_base = slot(rx, m, i);
        rx->iov[m][i].iov_len = bytes;
    }
    h->msg_iov = rx->iov[m];
    h->msg_iovlen = n;
}

void udp_rx_expect(struct udp_rx *rx, uint32_t bytes)
{
    rx->expected_bytes = bytes < UDP_RX_SLOT_LEAST ? UDP_RX_SLOT_LEAST : bytes;
    for (unsigned m = 0; m < UDP_RX_MESSAGES; m++)
        aim(rx, m, rx->expected_bytes);
}

/* As the core knows a frame. */
static void write_head(uint8_t *head, const struct nof_udp_port *port, const struct sockaddr_in *from,
                       uint32_t bytes, uint8_t traffic_class)
{
    uint8_t *ip = head + ETH_BYTES, *udp = ip + IP_BYTES;
    uint32_t sum = 0;

    memcpy(head, port->info.mac, 6);
    head[6] =
        0x02; /* the kernel keeps it to itself, and sends to addresses: one that is the same each time */
    head[7] = 0x6e;
    memcpy(head + 8, &from->sin_addr.s_addr, 4);
    nof_put_be16(head + 12, 0x0800);
    memset(ip, 0, IP_BYTES + UDP_BYTES);
    ip[0] = 0x45;
    ip[1] = traffic_class;
    nof_put_be16(ip + 2, IP_BYTES + UDP_BYTES + bytes);
    nof_put_be16(ip + 6, 0x4000);
    ip[8] = 64;
    ip[9] = IPPROTO_UDP;
    memcpy(ip + 12, &from->sin_addr.s_addr, 4);
    nof_put_be32(ip + 16, port->info.ip4);
    for (unsigned i = 0; i < IP_BYTES; i += 2)
        sum += nof_get_be16(ip + i);
    sum = (sum & 0xffffu) + (sum >> 16);
    sum = (sum & 0xffffu) + (sum >> 16);
    nof_put_be16(ip + 10, ~sum & 0xffffu);
    memcpy(udp, &from->sin_port, 2);
    nof_put_be16(udp + 2, port->info.udp_port);
    nof_put_be16(udp + 4, UDP_BYTES + bytes);
}

/* What the kernel says beside a message: the size of its datagrams, its traffic class. */
static void read_control(struct msghdr *h, uint32_t *segment_bytes_out, uint8_t *traffic_class_out)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c != NULL; c = CMSG_NXTHDR(h, c)) {
        int value = 0;

        if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
            memcpy(&value, CMSG_DATA(c), sizeof(value));
            if (value > 0)
                *segment_bytes_out = (uint32_t)value;
        } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
            memcpy(traffic_class_out, CMSG_DATA(c), 1);
        }
    }
}

/* The bytes of a message, which lie in slots of another size, into slots of this one. */
static void move(struct nof_udp_port *port, unsigned m, uint32_t bytes, uint32_t segment_bytes)
{
    struct udp_rx *rx = &port->rx;
    uint32_t at = 0;

    for (unsigned i = 0; at < bytes; i++) {
        uint32_t part = bytes - at < rx->expected_bytes ? bytes - at : rx->expected_bytes;

        memcpy(rx->flat + at, slot(rx, m, i), part);
        at += part;
    }
    at = 0;
    for (unsigned i = 0; at < bytes; i++) {
        uint32_t part = bytes - at < segment_bytes ? bytes - at : segment_bytes;

        memcpy(slot(rx, m, i), rx->flat + at, part);
        at += part;
    }
    udp_count(port, NOF_UDP_RX_MOVED, 1);
}

static void lend(struct udp_rx *rx, uint8_t *payload, uint32_t bytes)
{
    struct nof_frame *frame = &rx->frame[rx->nframes++];

    frame->data = payload - NOF_WIRE_OUTER_BYTES;
    frame->len_bytes = frame->cap_bytes = bytes + NOF_WIRE_OUTER_BYTES;
}

/* Only who sends from the socket that we send to has a kernel that cuts super-frames. Handshakes come from there in any
 * case (docs/WIRE.md, section 1). Anybody can send in its name, so that is believed for a while only. */
static void learn(struct nof_udp_port *port, const struct sockaddr_in *from, const uint8_t *common,
                  uint32_t bytes)
{
    if (bytes >= NOF_WIRE_COMMON_BYTES && common[NOF_WIRE_TYPE] != NOF_WIRE_HELLO)
        udp_peer_of(port, from->sin_addr.s_addr, from->sin_port)->trusted_runs = UDP_TRUSTED_RUNS;
}

/* Returns the size of datagrams that is to be expected now, 0: as it is. */
static uint32_t take(struct nof_udp_port *port, unsigned m)
{
    struct udp_rx *rx = &port->rx;
    struct msghdr *h = &rx->msg[m].msg_hdr;
    const struct sockaddr_in *from = &rx->from[m];
    uint32_t bytes = rx->msg[m].msg_len, segment = bytes, at = 0;
    uint8_t traffic_class = 0, head[NOF_WIRE_OUTER_BYTES];

    read_control(h, &segment, &traffic_class);
    if ((traffic_class & ECN_MASK) == ECN_MASK)
        udp_count(port, NOF_UDP_RX_MARKED, 1);
    if ((h->msg_flags & MSG_TRUNC) != 0 || segment > port->payload_max ||
        (segment > 0 && (bytes + segment - 1) / segment > UDP_RX_SEGMENTS)) {
        udp_count(port, NOF_UDP_RX_LARGE, 1);
        return 0;
    }
    if (segment != rx->expected_bytes && (bytes > segment || bytes > rx->expected_bytes))
        move(port, m, bytes, segment);
    learn(port, from, slot(rx, m, 0), bytes);
    write_head(head, port, from, segment, traffic_class);
    for (unsigned i = 0; at < bytes || i == 0; i++) {
        uint32_t part = bytes - at < segment ? bytes - at : segment;
        uint8_t *payload = slot(rx, m, i);

        if (part == segment)
            memcpy(payload - NOF_WIRE_OUTER_BYTES, head, NOF_WIRE_OUTER_BYTES);
        else
            write_head(payload - NOF_WIRE_OUTER_BYTES, port, from, part, traffic_class);
        lend(rx, payload, part);
        at += part;
    }
    if (bytes > segment)
        return bytes >= EXPECT_FROM_BYTES ? segment : 0;
    return bytes > rx->expected_bytes ? bytes : 0;
}

/* Has anything come? A core that spins asks so for nothing most of the time, and the vectors are what costs then. Not by
 * libc's function: that is a point of cancellation, which costs as much again. */
static bool waits(struct nof_udp_port *port)
{
    udp_count(port, NOF_UDP_RX_CALLS, 1);
    return syscall(SYS_recvfrom, port->fd, NULL, 0, MSG_PEEK | MSG_DONTWAIT, NULL, NULL) >= 0;
}

static void fetch(struct nof_udp_port *port)
{
    struct udp_rx *rx = &port->rx;
    uint32_t expect = 0;
    int n;

    rx->nframes = rx->next = 0;
    if (rx->idle && !waits(port))
        return;
    udp_count(port, NOF_UDP_RX_CALLS, 1);
    /* The first one after a pause is mostly alone: it is not to wait for a look for more. */
    n = recvmmsg(port->fd, rx->msg, rx->idle ? 1 : UDP_RX_MESSAGES, MSG_DONTWAIT, NULL);
    rx->idle = n <= 0;
    for (int m = 0; m < n; m++) {
        uint32_t size = take(port, (unsigned)m);

        if (size != 0)
            expect = size;
        rx->msg[m].msg_hdr.msg_namelen = sizeof(rx->from[m]);
        rx->msg[m].msg_hdr.msg_controllen = sizeof(rx->control[m].bytes);
    }
    if (n > 0)
        udp_count(port, NOF_UDP_RX_RUNS, (uint64_t)n);
    if (expect != 0 && expect != rx->expected_bytes)
        udp_rx_expect(rx, expect);
}

unsigned nof_udp_port_rx(struct nof_udp_port *port, struct nof_frame **frames, unsigned max)
{
    struct udp_rx *rx = &port->rx;
    unsigned n = 0;

    if (rx->next == rx->nframes)
        fetch(port);
    while (n < max && rx->next < rx->nframes)
        frames[n++] = &rx->frame[rx->next++];
    return n;
}

bool nof_udp_port_sleep(const struct nof_udp_port *port)
{
    return port->rx.next == port->rx.nframes && (port->npending == 0 || port->full);
}

bool nof_udp_port_full(const struct nof_udp_port *port)
{
    return port->full;
}
