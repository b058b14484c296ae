/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the port must know of, and do to, a kernel interface that it shares with the kernel
 * (net_af_xdp, net_af_packet). Names are looked up in the caller's network namespace. Functions
 * return 0 or a negative errno unless they say otherwise. */
#ifndef NOF_PORT_NETIF_H
#define NOF_PORT_NETIF_H

#include <stdbool.h>
#include <stdint.h>

struct nof_netif_facts {
    uint8_t mac[6];
    uint32_t ip4; /* host byte order, 0: none */
    uint32_t mtu_bytes;
    uint32_t channels; /* receive queues */
    uint32_t
        pairs; /* of those, what net_af_xdp takes: receive and transmit in one; 1 of what has none such */
    uint64_t rate_bps; /* 0: unknown, or made up (veth says 10 Gbit/s) */
    bool virtual_device; /* no bus behind it: veth, tap, bridge */
    int ifindex;
};

/* A descriptor for the calls below; close() it. Bound to the network namespace of this moment. */
int nof_netif_open(int *fd_out);
int nof_netif_facts(int fd, const char *ifname, struct nof_netif_facts *facts_out);
/* The one fact, without a socket of the caller's. */
int nof_netif_mtu(const char *ifname, uint32_t *mtu_bytes_out);
/* False: no interface has that index (any more); a renamed one has. */
bool nof_netif_there(int fd, int ifindex);

/* Own the interface: a second caller in the same network namespace gets -EBUSY as long as *fd_out is
 * open anywhere. Leaves nothing behind, not even after SIGKILL. */
int nof_netif_claim(const char *ifname, int *fd_out);

/* Join a multicast group on the interface, or leave it: the kernel sets the filter and tells switches and routers
 * (IGMP). *fd is -1 at first, then a descriptor whose close() ends every membership. A group is joined once;
 * -ENOBUFS: more than net.ipv4.igmp_max_memberships. */
int nof_netif_group(int *fd, const char *ifname, uint32_t ip4, bool join);

/* Datagrams to ip4:port that still reach the kernel (af_packet sees copies, af_xdp frames come before
 * the first socket is in place) would be answered with ICMP port unreachable. A socket that is bound
 * there and whose filter drops everything keeps the kernel quiet. */
int nof_netif_hush(uint32_t ip4, uint16_t port, int *fd_out);

#endif
