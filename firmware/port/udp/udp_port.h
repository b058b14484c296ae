/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A port on a UDP socket of the kernel: no device, no privileges. The wire protocol is IPv4/UDP as it is, so the other
 * side may be a port of any kind.
 *
 *      core                     port                              kernel
 *      frames  --send-->  runs of equal frames      --sendmmsg--> UDP_SEGMENT cuts a run into datagrams
 *      frames  <---rx---  a slot for each datagram  <-recvmmsg--- UDP_GRO joins them again
 *
 * Sent: what stands in front of the UDP payload is not sent, the kernel writes its own; the payload is read where the
 * core has it. Received: the kernel puts each datagram of a run into a slot of its own, with room for the headers that
 * the port writes in front, as the core expects them. Nothing else is copied.
 *
 *   nof_udp_port_open()                         main thread
 *     nof_udp_port_ops                          for nof_nic_init(), with the port as `void *port`
 *     loop: n = nof_udp_port_rx(p, frames, max)
 *           nof_nic_rx(nic, now, frames, n)     lent until the next rx
 *           nof_udp_port_flush(p)               after the core's poll, every turn
 *           to sleep: nof_udp_port_sleep(p), epoll on wait_fd, which stays readable while datagrams wait
 *   nof_nic_fini()
 *   nof_udp_port_close()                        main thread, no core runs any more
 *
 * MTU: "don't fragment" is set where the core has set it in the frame's header; what a path carries is the core's to find,
 * and what ICMP or a route says of it is not listened to (IP_PMTUDISC_PROBE): anybody can forge it.
 * Super-frames go only to who has answered from the socket that it is addressed by, thus to a kernel, or over a real
 * device: a virtual link hands them as they are to whom no kernel cuts them (XDP, AF_PACKET).
 *
 * Threads: one at a time. Memory: its own, allocated at open. No clock. */
#ifndef NOF_UDP_PORT_H
#define NOF_UDP_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nof/port.h"

struct nof_udp_port;

struct nof_udp_port_config {
    /* "udp:10.0.0.1", "udp:10.0.0.1:48621", "udp:eth0:48700-48799" (the first that is free), "udp:10.0.0.1:0" (any that
     * is free). ",rate=1g" behind it: the link's rate, to which the NIC paces. */
    const char *spec;
    uint32_t mtu_bytes; /* IP MTU wanted, 576..9216; 0: the interface's, 9216 at most */
    uint16_t udp_port; /* where spec names none; 0: 48620 */
    unsigned
        core; /* of its NIC: a port that spec, or udp_port, names is the first core's, and the next ones follow */
    uint32_t core_frames; /* that the core may hold at once; 0: 16384 */
    bool single; /* no super-frames, either way: for tests */
};

struct nof_udp_port_info {
    char ifname[32]; /* that has the address */
    uint8_t mac[6]; /* the interface's; made up of the address where it has none */
    uint32_t ip4; /* host byte order */
    uint16_t udp_port;
    uint32_t mtu_bytes;
    uint32_t iface_mtu_bytes;
    uint64_t rate_bps; /* 0: not given */
    uint32_t receive_bytes; /* that the kernel keeps for us, by its own count */
    int wait_fd;
};

/* Is this for this port, rather than for DPDK? */
bool nof_udp_port_is(const char *spec);

/* 0, or a negative nof_status with a text in err (what happened, what to type): NOF_EINVAL for the spec, NOF_EAGAIN: the
 * port is taken, NOF_EPERM, NOF_ENOTSUP: the address is none of this host, NOF_ENOMEM. */
int nof_udp_port_open(const struct nof_udp_port_config *cfg, struct nof_udp_port **port_out, char *err,
                      size_t err_bytes);
/* All frames must have been freed (nof_nic_fini). NULL is allowed. */
void nof_udp_port_close(struct nof_udp_port *port);
const struct nof_udp_port_info *nof_udp_port_info(const struct nof_udp_port *port);

/* Their `void *port` is a struct nof_udp_port *. No multicast. */
extern const struct nof_port_ops nof_udp_port_ops;

/* Up to max frames, lent until the next call. */
unsigned nof_udp_port_rx(struct nof_udp_port *port, struct nof_frame **frames, unsigned max);
/* Gives what send() gathered to the kernel. What it has no room for stays, in order. */
void nof_udp_port_flush(struct nof_udp_port *port);
/* One address (host byte order) that the kernel would not send to since, and its errno (EHOSTUNREACH, EPERM, ...). False: none. */
bool nof_udp_port_refused(struct nof_udp_port *port, uint32_t *ip4_out, int *errno_out);
/* May the caller sleep on wait_fd? Not while frames wait here, in either direction, unless the kernel has no room for them. */
bool nof_udp_port_sleep(const struct nof_udp_port *port);
/* It has none: wait_fd becomes writable when it has. */
bool nof_udp_port_full(const struct nof_udp_port *port);
/* Is the interface up, with carrier? A system call, or two. */
bool nof_udp_port_link(struct nof_udp_port *port);

enum nof_udp_counter {
    NOF_UDP_TX_CALLS, /* system calls to send: sendmmsg, and what frames that are too large take beside it */
    NOF_UDP_RX_CALLS, /* recvmmsg, those that found nothing as well */
    NOF_UDP_TX_RUNS, /* datagrams or super-frames */
    NOF_UDP_RX_RUNS,
    NOF_UDP_TX_LOST, /* frames that the kernel refused: no route, no permission */
    NOF_UDP_TX_LARGE, /* frames beyond the interface's MTU, which did not go */
    NOF_UDP_TX_FRAGMENTED, /* frames that went without "don't fragment" */
    NOF_UDP_RX_LARGE, /* datagrams beyond our MTU, dropped */
    NOF_UDP_RX_MOVED, /* super-frames of another size than the one before: copied once more */
    NOF_UDP_RX_MARKED, /* datagrams with "congestion experienced" (RFC 3168) */
    NOF_UDP_RX_DROPPED, /* by the kernel: of another protocol or version, or beyond what it keeps for us */
    NOF_UDP_COUNTERS,
};
/* "udp.tx_calls" ... Any thread may read; RX_DROPPED is a system call. */
const char *nof_udp_port_counter_name(unsigned counter);
uint64_t nof_udp_port_counter(const struct nof_udp_port *port, unsigned counter);

#endif
