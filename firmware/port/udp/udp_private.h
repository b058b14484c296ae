/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the UDP port. udp_address.c reads what the user said, udp_port.c opens and closes, udp_tx.c and udp_rx.c are the
 * hot path, udp_peers.c is what is known of each address that we send to. */
#ifndef NOF_UDP_PRIVATE_H
#define NOF_UDP_PRIVATE_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "port/udp/udp_port.h"
#include "transport/wire.h"

#define UDP_IP_BYTES 28u /* IPv4 and UDP headers */
#define UDP_HEAD_BYTES 8u
#define UDP_DATAGRAM_MAX 65507u
#define UDP_PENDING_MAX 128u /* frames that wait for flush() */
#define UDP_TX_SEGMENTS 64u /* of a super-frame: what every kernel takes */
#define UDP_RX_MESSAGES 8u /* of one recvmmsg */
/* Of a super-frame that comes: UDP_MAX_SEGMENTS of new kernels. Slots are never smaller than a 128th of a datagram, so
 * there are enough of them for all that one message can be. */
#define UDP_RX_SEGMENTS 128u
#define UDP_RX_SLOT_LEAST 512u
#define UDP_HEAD_ROOM 64u /* in front of each slot: the 42 bytes of headers, at its end */
#define UDP_PEERS_LOG2 10u
#define UDP_MTU_LEAST 576u /* of a path of the core */
/* Super-frames that a peer gets over a virtual link for one datagram of its own. A path has 256 frames under way at most, so
 * who answers never runs out; a datagram that only claims to come from there costs no more than these. */
#define UDP_TRUSTED_RUNS 128u

/* Frames that may be cut, after a run of such was refused: then one is tried again. */
#define UDP_SINGLY_FRAMES 4096u

/* "udp:..." as read; nothing of it is looked up. */
struct udp_spec {
    char where[32]; /* an address or an interface */
    uint32_t ip4; /* 0: `where` is an interface */
    uint16_t port_first, port_last; /* equal: that one; 0: any */
    uint64_t rate_bps;
};

/* One of the core's frames. */
struct udp_frame {
    struct nof_frame frame; /* first */
    uint32_t refs;
    struct udp_frame *next_free;
};

struct udp_peer {
    uint32_t ip4; /* network byte order; 0: none */
    uint16_t udp_port;
    uint8_t
        trusted_runs; /* left since a frame came from the socket that we send to: it has a kernel, which cuts */
    bool no_segments; /* its device cannot cut */
    uint16_t
        singly; /* frames left that may be cut and go by themselves: the interface is narrower than they are */
};

/* A run of frames to one peer while it grows. */
struct udp_run {
    struct sockaddr_in to;
    uint32_t segment_bytes, bytes;
    uint8_t n, most; /* frames; 1 where nobody cuts */
    bool closed; /* ended with a shorter frame */
    bool pieces; /* of frames that may be cut */
    uint8_t frame[UDP_TX_SEGMENTS]; /* by number in `pending` */
};

/* What one system call sends. */
struct udp_tx {
    struct udp_run run[UDP_PENDING_MAX];
    struct mmsghdr msg[UDP_PENDING_MAX];
    struct sockaddr_in to[UDP_PENDING_MAX];
    struct iovec iov[UDP_PENDING_MAX];
    struct udp_frame *frame[UDP_PENDING_MAX]; /* as iov */
    bool pieces; /* now the socket lets frames go in fragments */
    union {
        char bytes[CMSG_SPACE(sizeof(uint16_t))];
        struct cmsghdr align;
    } control[UDP_PENDING_MAX];
};

struct udp_rx {
    struct mmsghdr msg[UDP_RX_MESSAGES];
    struct sockaddr_in from[UDP_RX_MESSAGES];
    struct iovec iov[UDP_RX_MESSAGES][UDP_RX_SEGMENTS];
    union {
        char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control[UDP_RX_MESSAGES];
    uint8_t *area; /* UDP_RX_MESSAGES * UDP_RX_SEGMENTS slots */
    size_t area_bytes;
    size_t stride_bytes; /* of a slot, with its headers */
    uint32_t expected_bytes; /* of a datagram: the size of the last super-frame's */
    struct nof_frame frame[UDP_RX_MESSAGES * UDP_RX_SEGMENTS];
    unsigned nframes, next; /* of those: fetched, lent */
    bool idle; /* the last look found nothing */
    uint8_t flat[UDP_DATAGRAM_MAX + 1u];
};

struct nof_udp_port {
    struct nof_udp_port_info info;
    int fd;
    int facts_fd;
    unsigned link_asked; /* interface_link.h */
    bool real_device; /* below the interface, which cuts super-frames whoever is at the other end */
    bool single;
    uint32_t payload_max; /* of a datagram, by our MTU */

    uint8_t *pool;
    size_t pool_bytes, frame_bytes; /* frame_bytes: with struct udp_frame */
    size_t pool_used; /* never touched behind it */
    struct udp_frame *free;

    struct udp_frame *pending[UDP_PENDING_MAX]; /* sent by the core, not yet by us */
    unsigned npending;
    bool full; /* the kernel has no room for the first of them */

    uint32_t refused_ip4; /* the last one, and why; 0: none since it was told */
    int refused_errno;

    struct udp_peer peers[1u << UDP_PEERS_LOG2];
    uint64_t counters[NOF_UDP_COUNTERS];
    struct udp_tx tx;
    struct udp_rx rx;
};

/* Fills the spec; 0, or a negative nof_status with a text in err. */
int udp_spec_read(const char *text, uint16_t default_port, struct udp_spec *spec_out, char *err,
                  size_t err_bytes);
/* Which interface has the address, or which address the interface has: info's ip4, ifname, mac, iface_mtu_bytes.
 * Likewise. */
int udp_facts(const struct udp_spec *spec, struct nof_udp_port_info *info, char *err, size_t err_bytes);
/* "what: text"; returns status. */
__attribute__((format(printf, 4, 5))) int udp_fail(int status, char *err, size_t err_bytes,
                                                   const char *format, ...);

/* The entry of an address in network byte order; that of another one may have gone for it. */
struct udp_peer *udp_peer_of(struct nof_udp_port *port, uint32_t ip4, uint16_t udp_port);

/* The vectors of what comes next, for datagrams of this size. */
void udp_rx_expect(struct udp_rx *rx, uint32_t bytes);

static inline void udp_frame_unref(struct nof_udp_port *port, struct udp_frame *f)
{
    if (--f->refs > 0)
        return;
    f->next_free = port->free;
    port->free = f;
}

/* Main thread reads what the core counts. */
static inline void udp_count(struct nof_udp_port *port, enum nof_udp_counter counter, uint64_t n)
{
    __atomic_store_n(&port->counters[counter], port->counters[counter] + n, __ATOMIC_RELAXED);
}

#endif
