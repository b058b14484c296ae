/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sockets inside net_af_xdp and net_af_packet. The drivers of DPDK 22.11 offer no receive
 * interrupt, but both wait on an ordinary socket that epoll understands. They hide its descriptor, so
 * we look which descriptors of the family appear while the driver creates its queues. See
 * docs/decisions/0005-dpdk-port.md.
 *
 *   nof_sockfd_watch_begin(w, family);  ...driver opens...  n = nof_sockfd_watch_end(w, fds, max)
 *
 * No other thread may open sockets of that family meanwhile. */
#ifndef NOF_PORT_SOCKFD_H
#define NOF_PORT_SOCKFD_H

#include <stdbool.h>
#include <stdint.h>

#define NOF_SOCKFD_MAX 4096u /* descriptors looked at */

struct nof_sockfd_watch {
    int family;
    uint64_t seen[NOF_SOCKFD_MAX / 64u];
};

void nof_sockfd_watch_begin(struct nof_sockfd_watch *w, int family);
/* New descriptors in ascending order; returns how many, at most max. */
unsigned nof_sockfd_watch_end(const struct nof_sockfd_watch *w, int *fds, unsigned max);

/* Does an AF_XDP socket that is bound share its frames with the device, rather than have them copied? */
bool nof_sockfd_zero_copy(int fd);

/* A packet socket sees every frame of the interface. This filter leaves it IPv4 UDP datagrams to
 * `port` and the n - 1 ports behind it that came from outside, so that other traffic neither wakes nor costs the NIC core.
 * Returns 0 or a negative errno. */
int nof_sockfd_packet_filter(int fd, uint16_t port, uint32_t n);

#endif
